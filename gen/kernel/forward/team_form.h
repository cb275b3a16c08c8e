/*
 * The forward kernel's form for aligned rows of more than 128 channels: S is computed once.
 *
 * The waves of a team have the same queries. Each computes some blocks of S^T; through LDS all of
 * the team come by all of them, and each makes P of it for itself. K and V come to LDS in parts of
 * 128 channels, and of each part of O a wave has its share of the blocks. LDS has one buffer for
 * parts of K, which S passes through as well, and one for parts of V; while one part is multiplied,
 * the next one is on its way from memory to registers:
 *
 *     for each part of K    barrier   store K   barrier   load what is next   S += K Q^T
 *                           barrier   store S and the first part of V         barrier
 *     softmax
 *     for each part of V    load what is next   O += V^T P^T   barrier   store V   barrier
 *
 * The softmax keeps a base for each query and P = exp2((S - base) * factor + BIAS). The base is the
 * largest score, but for its growing by less than SOFTMAX_SLACK: then neither it nor O changes.
 */
#ifndef AOTHIP_FWD_TEAM_H
#define AOTHIP_FWD_TEAM_H

/* Waves of a team, which has 32 queries; teams of a workgroup; blocks that a wave has of a part. */
#define TEAM (32 * KERNEL_WAVES / KERNEL_TILE_Q)
#define TEAMS (KERNEL_WAVES / TEAM)
#define TEAM_ID (wave_id() / TEAM)
#define O_BLOCKS (DIM_BLOCKS / TEAM)
#include "key_parts.h"

enum {
    SHARE = O_BLOCKS,                      /* blocks of a wave of each part of O */
    COLUMN_SHARES = TEAM / KEY_BLOCKS,     /* waves that have the same keys of S */
    OWN = Q_BLOCKS * KEY_BLOCKS / TEAM,    /* blocks of a wave of S: of one block of keys */
    S_BLOCK_BYTES = ACC * KERNEL_WAVE * 4, /* in LDS */
    S_TEAM_BYTES = Q_BLOCKS * KEY_BLOCKS * S_BLOCK_BYTES,
};

static_assert(SHARE * TEAM == DIM_BLOCKS && OWN * COLUMN_SHARES == Q_BLOCKS, "equal shares");
static_assert(TEAMS * S_TEAM_BYTES <= K_TILE_BYTES, "S fits where K was");

typedef float f32x4 __attribute__((ext_vector_type(4)));

/* What the base may fall behind, in exponents; not where its unit in the last place matters. */
#define SOFTMAX_SLACK 4.0f
#define SLACK_MOST 1024.0f

/* One column. Both halves agree on the base; -infinity before any key is seen. */
struct running {
    float base;
    partial_sum sum; /* of this lane's rows */
};

struct progress {
    struct queries q;
    struct cargo cargo;
    struct running running[Q_BLOCKS];
    block_acc o[STAGES][Q_BLOCKS][SHARE];
    bool isolated; /* whether this wave carried V that was not finite where not all see it */
};

/* Which of its team a wave is. */
DEVICE u32 share_id()
{
    return wave_id() % TEAM;
}

/* What is the same throughout the walk. */
struct scene {
    struct keys keys;
    struct courier courier; /* as if all channels of a part existed */
    const struct sequence &sequence;
    const struct job &job;
    float factor; /* of the softmax */
};

DEVICE bool has_k(const struct keys &keys, int part)
{
    return part < STAGES && part * STAGE_DIM < keys.k.dim;
}

/* What follows from it is computed here, and not kept in scalar registers. */
DEVICE struct slice computed_here(struct slice x)
{
    asm volatile("" : "+s"(x.base), "+s"(x.pitch), "+s"(x.dim));
    return x;
}

/* What is at `from`, if the channel that it begins with is one of `slice`. */
DEVICE u32 offset_in(const struct slice &slice, u32 from, u32 channel)
{
    asm volatile("" : "+v"(channel)); /* compared here, and the result not kept */
    return (int)channel < slice.dim ? from : NOWHERE;
}

/* In a block of its own each: the descriptors of more loads are too many scalar registers. */
DEVICE void fetch_k(struct progress &x, const struct scene &scene, int tile, int part)
{
    const struct slice k = part_of(computed_here(scene.keys.k), part);
    const struct tile_view view = tile_at(k, computed_here(scene.keys.seq_k), tile);
    struct courier courier = scene.courier;
    courier.k_from = offset_in(k, courier.k_from, thread_id() % CHUNKS * CHUNK);
    load_k<ROWS_SOME>(x.cargo, courier, k, {{view}, {}});
    __builtin_amdgcn_sched_barrier(0);
}

DEVICE void fetch_v(struct progress &x, const struct scene &scene, int tile, int part)
{
    const struct slice v = part_of(computed_here(scene.keys.v), part);
    const struct tile_view view = tile_at(v, computed_here(scene.keys.seq_k), tile);
    struct courier courier = scene.courier;
    courier.v_from = offset_in(v, courier.v_from, vt_duty_of(thread_id()).channel);
    load_v<ROWS_SOME>(x.cargo, courier, v, {{}, {view}});
    __builtin_amdgcn_sched_barrier(0);
}

/* This wave's blocks of S, over part `part` of the channels. */
DEVICE void multiply_own(block_acc (&s)[OWN], const struct queries &q, int part)
{
    const int keys = (int)share_id() % KEY_BLOCKS, column = (int)share_id() / KEY_BLOCKS * OWN;
#pragma unroll
    for (int step = 0; step < QK_STEPS; step++) {
        if (KERNEL_WAVE == 32) /* registers are short */
            __builtin_amdgcn_sched_barrier(0);
        block_frag a = k_tile_frag(k_tile, keys, step);
#pragma unroll
        for (int i = 0; i < OWN; i++)
            mma(s[i], a, q_frag(q, part, step, column + i));
    }
}

/* Where a team keeps four registers of a block of S. */
DEVICE f32x4 *place_of_s(int column, int keys, int i)
{
    const u32 team = TEAM_ID * S_TEAM_BYTES;
    return (f32x4 *)(k_tile + team + (column * KEY_BLOCKS + keys) * S_BLOCK_BYTES +
                     i * KERNEL_WAVE * 4 + lane_id() * 16);
}

DEVICE void show_scores(const block_acc (&s)[OWN])
{
    const int keys = (int)share_id() % KEY_BLOCKS, column = (int)share_id() / KEY_BLOCKS * OWN;
#pragma unroll
    for (int own = 0; own < OWN; own++)
#pragma unroll
        for (int i = 0; i < ACC; i += 4)
            *place_of_s(column + own, keys, i) =
                f32x4{s[own][i], s[own][i + 1], s[own][i + 2], s[own][i + 3]};
}

DEVICE void see_scores(score_blocks &s)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i += 4) {
                const f32x4 four = *place_of_s(column, block, i);
#pragma unroll
                for (int j = 0; j < 4; j++)
                    s[column][block][i + j] = four[j];
            }
}

/* Moves the bases up to the largest scores, and rescales what was summed so far. */
DEVICE void move_bases(struct progress &x, const float (&largest)[Q_BLOCKS], float factor)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        struct running &running = x.running[column];
        const float next = __builtin_fmaxf(running.base, largest[column]);
        const float ratio =
            next == running.base ? 1 : __builtin_amdgcn_exp2f((running.base - next) * factor);
        running.base = next;
        running.sum *= ratio;
#pragma unroll
        for (int part = 0; part < STAGES; part++)
#pragma unroll
            for (int block = 0; block < SHARE; block++)
                x.o[part][column][block] *= ratio;
    }
}

/* S to P in place, sums of it. */
DEVICE void weigh(struct progress &x, score_blocks &s, float factor)
{
    float largest[Q_BLOCKS];
    bool far = false;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const float own = column_max(s[column]), most = __builtin_fmaxf(own, other_half(own));
        const float slack = __builtin_fabsf(most) * factor < SLACK_MOST ? SOFTMAX_SLACK : 0;
        largest[column] = most;
        far |= (most - x.running[column].base) * factor > slack;
    }
    if (in_any_lane(far))
        move_bases(x, largest, factor);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        struct running &running = x.running[column];
        const float base = running.base == -__builtin_inff() ? 0 : running.base;
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i += 2) {
                f32x2 pair = {s[column][block][i], s[column][block][i + 1]};
                pair = exponents<SCORE_WIDE>(pair, base, factor);
                pair.x = __builtin_amdgcn_exp2f(pair.x);
                pair.y = __builtin_amdgcn_exp2f(pair.y);
                running.sum += pair;
                s[column][block][i] = begin_round(pair.x);
                s[column][block][i + 1] = begin_round(pair.y);
            }
        asm volatile("" : "+v"(running.sum)); /* added here, lest all P stay until later */
    }
}

/* P^T as operands. */
DEVICE void pack_scores(block_frag (&p)[PV_GROUPS][Q_BLOCKS], const score_blocks &s)
{
    const int per_block = BLOCK / 16;
    const u32 half = pack_half();
#pragma unroll
    for (int group = 0; group < PV_GROUPS; group++)
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            p[group][column] = pack_keys(s[column][group / per_block], group % per_block, half);
}

/* This wave's share of one part of O^T += V^T P^T */
DEVICE void multiply_share(block_acc (&o)[Q_BLOCKS][SHARE],
                           const block_frag (&p)[PV_GROUPS][Q_BLOCKS])
{
    const int first = (int)share_id() * SHARE;
#pragma unroll
    for (int group = 0; group < PV_GROUPS; group++)
#pragma unroll
        for (int block = 0; block < SHARE; block++) {
            if (KERNEL_WAVE == 32 && block % 2 == 0) /* registers are short */
                __builtin_amdgcn_sched_barrier(0);
            block_frag a = vt_tile_frag(vt_tile, first + block, group);
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++)
                mma(o[column][block], a, p[group][column]);
        }
}

/* The part of V that has arrived goes to LDS. `full`: all queries see all keys of the tile. */
DEVICE void deliver_v(struct progress &x, const struct courier &courier, bool full)
{
    if (!full)
        x.isolated |= isolate_v(x.cargo, true);
    store_v(vt_tile, x.cargo, courier);
}

/* S of a tile whose first part of K has arrived; the first part of V leaves memory. */
DEVICE void score(struct progress &x, const struct scene &scene, block_acc (&own)[OWN], int tile)
{
#pragma unroll
    for (int i = 0; i < OWN; i++)
        own[i] = zero_acc();
#pragma unroll
    for (int part = 0; part < STAGES; part++) {
        if (part > 0 && !has_k(scene.keys, part))
            break;
        lds_barrier();
        store_k(k_tile, x.cargo, scene.courier);
        lds_barrier();
        if (has_k(scene.keys, part + 1))
            fetch_k(x, scene, tile, part + 1);
        multiply_own(own, x.q, part);
    }
    fetch_v(x, scene, tile, 0);
}

/* One step, with `parts` parts of V; `next` is the tile of the one after it. */
template <int parts>
DEVICE void step(struct progress &x, const struct scene &scene, int tile, int next, bool full)
{
    block_acc own[OWN];
    score_blocks s;
    block_frag p[PV_GROUPS][Q_BLOCKS];
    score(x, scene, own, tile);
    lds_barrier();
    show_scores(own);
    deliver_v(x, scene.courier, full);
    lds_barrier();
    see_scores(s);
    if (!full) {
        struct key_interval visible[Q_BLOCKS];
        find_visible(visible, scene.sequence, scene.job);
        mask_scores(s, visible, (u32)tile * KERNEL_TILE_K);
    }
    weigh(x, s, scene.factor);
    pack_scores(p, s);
    __builtin_amdgcn_sched_barrier(0);
#pragma unroll
    for (int part = 0; part < parts; part++) {
        if (part > 0) {
            lds_barrier();
            deliver_v(x, scene.courier, full);
            lds_barrier();
        }
        if (part + 1 < parts)
            fetch_v(x, scene, tile, part + 1);
        else
            fetch_k(x, scene, next, 0);
        multiply_share(x.o[part], p);
    }
}

template <int parts>
DEVICE void walk_keys(struct progress &x, const struct scene &scene, const struct key_walk &walk)
{
    int tile = walk.first;
    x.isolated = false;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        x.running[column] = {-__builtin_inff(), {}};
#pragma unroll
        for (int part = 0; part < STAGES; part++)
#pragma unroll
            for (int block = 0; block < SHARE; block++)
                x.o[part][column][block] = {};
    }
    if (walk.count)
        fetch_k(x, scene, tile, 0);
#pragma unroll 1
    for (int i = 0; i < walk.count; i++) {
        const int next = next_tile(walk, tile);
        step<parts>(x, scene, tile, next, i <= walk.fast_count);
        tile = next;
    }
}

/* Another walk over the tiles whose V was isolated, for O to tell who sees it. */
DEVICE void mark_all(struct progress &x, const struct scene &scene, const struct key_walk &walk)
{
    struct key_interval visible[Q_BLOCKS];
    int tile = walk.first;
    find_visible(visible, scene.sequence, scene.job);
#pragma unroll 1
    for (int i = 0; i < walk.count; i++, tile = next_tile(walk, tile)) {
        if (i <= walk.fast_count)
            continue; /* full */
#pragma unroll
        for (int part = 0; part < STAGES; part++) {
            lds_barrier();
            fetch_v(x, scene, tile, part);
            store_v(vt_tile, x.cargo, scene.courier);
            note_nonfinite(vt_tile, k_tile);
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++)
                mark_o(x.o[part][column], k_tile + share_id() * (SHARE * BLOCK * SIGHT_WORDS * 4),
                       sight_of(visible[column], (u32)tile * KERNEL_TILE_K));
        }
    }
}

/* Divides O by the sums, rounds and stores it; then lse. */
DEVICE void finish(const struct progress &x, const struct job &job, const struct sequence &sequence,
                   const struct attn_fwd_args &args)
{
    const struct attn_problem &a = args.problem;
    const struct slice slice =
        slice_of(args.o, args.o_stride, sequence.batch_q, sequence.start_q, job.head, a.dim_v);
    struct tile_view view = {row_at(slice, job.first_row), rows_of(job)};
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        u32 row = TEAM_ID * COLUMNS + column * BLOCK + lane_column();
        const struct running &running = x.running[column];
        float sum = total(running.sum);
        sum = (sum + other_half(sum)) * SOFTMAX_UNBIAS;
        /* Not -infinity times a scale of 0. */
        float top = sum == 0 ? -__builtin_inff() : running.base * __builtin_fabsf(a.scale);
        struct column_end end = end_column(top, sum, a, job.head);
#pragma unroll
        for (int part = 0; part < STAGES; part++)
            store_o(x.o[part][column], end.inverse * SOFTMAX_UNBIAS, end.blind, view, slice, row,
                    (u32)part * STAGE_DIM + share_id() * SHARE * BLOCK);
        if (share_id() == 0)
            store_lse(args, sequence, job, row, end.lse);
    }
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_fwd_args args)
{
    const struct attn_problem &a = args.problem;
    struct sequence sequence;
    struct job job;
    struct progress p;
    if (!find_job(a, sequence, job))
        return;

    load_q(p.q, job, sequence, a);
    const struct key_walk walk = plan_walk(sequence, job.first_row, job.last_row);
    struct scene scene = {keys_of(a, sequence, job), {}, sequence, job, softmax_factor(a.scale)};
    const struct slice whole_k = {scene.keys.k.base, scene.keys.k.pitch, STAGE_DIM};
    const struct slice whole_v = {scene.keys.v.base, scene.keys.v.pitch, STAGE_DIM};
    hire(scene.courier, whole_k, whole_v);
    /* A branch for each part would cost copies of O. */
    if (scene.keys.v.dim <= KERNEL_DIM / 2)
        walk_keys<STAGES / 2>(p, scene, walk);
    else
        walk_keys<STAGES>(p, scene, walk);
    lds_barrier();
    if (any_wave(p.isolated))
        mark_all(p, scene, walk);
    finish(p, computed_here(job), computed_here(sequence), late_arguments<struct attn_fwd_args>());
}

#endif
