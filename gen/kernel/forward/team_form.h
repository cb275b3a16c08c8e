/*
 * The forward kernel's form for rows of more than 128 channels that can be loaded in chunks
 * (team_keys.h): S is computed once. Kernels with score terms know all of them (team_terms.h).
 *
 * The waves of a team have the same queries. Each computes some blocks of S^T and makes P of them;
 * through LDS all of the team come by all of it. K and V come to LDS in parts of 128 channels, and
 * of each part of O a wave has its share of the blocks. LDS has one buffer for parts of K, which P
 * passes through as well, and one for parts of V; while one part is multiplied, the next one is on
 * its way from memory to registers:
 *
 *     for each part of K    barrier   store K   barrier   load what is next   S += K Q^T
 *     softmax
 *                           barrier   store P and the first part of V         barrier
 *     for each part of V    load what is next   O += V^T P^T   barrier   store V   barrier
 *
 * The softmax, and how P comes to all of the team: team_softmax.h. A team may be a single wave,
 * whose steps are others: alone_step.h.
 */
#ifndef AOTHIP_FWD_TEAM_H
#define AOTHIP_FWD_TEAM_H

/* Waves of a team, which has 32 queries; teams of a workgroup; blocks that a wave has of a part. */
#define TEAM (32 * KERNEL_WAVES / KERNEL_TILE_Q)
#define TEAMS (KERNEL_WAVES / TEAM)
#define TEAM_ID (wave_id() / TEAM)
#define Q_SHARES TEAM
#define O_BLOCKS (DIM_BLOCKS / TEAM)
/* Half of them are of a part's first half, which may be all that exists of the last one. */
#define O_BLOCK(block) (block / (O_BLOCKS / 2) * (DIM_BLOCKS / 2) + block % (O_BLOCKS / 2))
#include "team_keys.h"

constexpr int HALVES = 2 * STAGES;                      /* of parts of V */
constexpr int SHARE = O_BLOCKS;                         /* blocks of a wave of each part of O */
constexpr int KEY_SHARERS = TEAM == 1 ? 1 : KEY_BLOCKS; /* waves that share the keys of S */
constexpr int COLUMN_SHARES = TEAM / KEY_SHARERS;       /* and that have the same ones */
constexpr int OWN = Q_BLOCKS / COLUMN_SHARES; /* blocks of a wave of S: of one block of keys */
/* A single one is not cleared before it is summed up. */
constexpr int BEGINS = MMA_BEGINS && OWN == 1;

static_assert(STAGES % 2 == 0 && SHARE * TEAM == DIM_BLOCKS && OWN * COLUMN_SHARES == Q_BLOCKS,
              "equal shares");
static_assert(SHARE % 2 == 0, "equal shares of half a part, too");

#include "team_blocks.h"

#if KERNEL_SCORE
#include "team_terms.h"
#endif

struct progress : carried {
    struct queries q;
    struct team_softmax softmax;
    block_acc o[STAGES][Q_BLOCKS][SHARE];
    u32 found; /* bits of V that was not finite where not all see it, as this lane carried it */
};

/* What is the same throughout the walk. */
struct setting {
    team_keys keys;
    struct courier courier; /* as if all channels of a part existed */
    struct places at;
    const struct sequence &sequence;
    const struct job &job;
    float factor; /* of the softmax */
#if KERNEL_SCORE
    struct own_terms terms;
#endif
};

/*
 * What leaves memory once part `part` of K is in LDS: what comes two parts later. (Parts that do
 * not exist are fetched, too, without more memory being touched: branches would cost copies.)
 */
DEVICE void fetch_behind_k(struct progress &x, const struct setting &scene, tile_rows k_rows,
                           tile_rows v_rows, int part)
{
    if (part + 2 < STAGES)
        fetch_k(x, scene.keys, scene.courier, k_rows, part + 2);
    else
        fetch_v(x, scene.keys, scene.courier, v_rows, part + 2 - STAGES);
}

/* The same of V; `k_rows` are those of the next tile. */
template <int parts>
DEVICE void fetch_behind_v(struct progress &x, const struct setting &scene, tile_rows k_rows,
                           tile_rows v_rows, int part)
{
    if (part + 2 < parts)
        fetch_v(x, scene.keys, scene.courier, v_rows, part + 2);
    else
        fetch_k(x, scene.keys, scene.courier, k_rows, part % 2);
    if (parts == 1)
        fetch_k(x, scene.keys, scene.courier, k_rows, 1);
}

/* A part of V that has arrived goes to LDS. `full`: all queries see all keys of the tile. */
template <bool full>
DEVICE void deliver_v(struct progress &x, const struct courier &courier, int part)
{
    await(x.cargo[part % CARGOES].v);
    if (!full)
        x.found |= isolate_all(x.cargo[part % CARGOES].v);
    store_v WORTH(full)(vt_tile, x.cargo[part % CARGOES], courier);
}

DEVICE void rescale_o(struct progress &x, int column, float ratio)
{
#pragma unroll
    for (int part = 0; part < STAGES; part++)
#pragma unroll
        for (int block = 0; block < SHARE; block++)
            x.o[part][column][block] *= ratio;
}

/* A step's tile, where its rows are and those of K of the next one. */
struct stride {
    int tile;
    tile_rows k, v, next;
    u32 missing; /* bits of keys in pages that do not exist */
};

#if TEAM == 1
#include "alone_step.h"
#else

/* Nothing is read from LDS before the step that it is for. */
struct operands_ahead {
};

DEVICE void begin_steps(struct operands_ahead &)
{
}

/* S of the tile whose first key is `key`. */
template <bool full>
DEVICE void score(struct progress &x, const struct setting &scene, block_acc (&own)[OWN],
                  tile_rows k_rows, tile_rows v_rows, int key)
{
#if KERNEL_SCORE
    struct own_ahead ahead;
#endif
#pragma unroll
    for (int i = 0; i < OWN && !BEGINS; i++)
        own[i] = zero_acc();
#pragma unroll
    for (int part = 0; part < STAGES; part++) {
        lds_barrier();
        if (OWN == 1)
            await(x.cargo[part % CARGOES].k);
        deliver_k<full>(x, scene.keys, scene.courier, part);
        lds_barrier();
        fetch_behind_k(x, scene, k_rows, v_rows, part);
#if KERNEL_SCORE
        if (full && part == STAGES - 1)
            load_own_ahead(ahead, scene.terms, scene.sequence, scene.job, key);
#endif
        const int left = scene.keys.k.dim - part * STAGE_DIM;
        if (part == 0)
            multiply_own(own, x.q, scene.at, part, false);
        else if (left > 0)
            multiply_own(own, x.q, scene.at, part, STAGES == 2 && left <= STAGE_DIM / 2);
    }
#if KERNEL_SCORE
    add_own_terms<full>(own, ahead, scene.terms, scene.sequence, scene.job, key);
#endif
    if (!full)
        mask_own(own, scene.sequence, scene.job, key);
}

/* P of own scores to where all of the team see it. */
DEVICE void show(const u32x4 (&p)[OWN][P_GROUPS], const struct setting &scene, int key)
{
    show_weights(p, scene.at.own_p);
#if KERNEL_SCORE
    drop_own(scene.at.own_p, scene.terms, scene.sequence, scene.job, key);
#endif
    (void)key;
}

/* One step, with `halves` halves of parts of V. */
template <int halves, bool full>
DEVICE void step(struct progress &x, const struct setting &scene, struct operands_ahead &,
                 const struct stride &t)
{
    const int parts = (halves + 1) / 2, key = t.tile * KERNEL_TILE_K;
    block_acc own[OWN];
    u32x4 own_p[OWN][P_GROUPS];
    partial_sum sum[OWN];
    score<full>(x, scene, own, t.k, t.v, key);
    hide_own(own, t.missing);
    weigh(own_p, sum, own, x.softmax.own_base, scene.factor);
    lds_barrier();
    show(own_p, scene, key);
    show_far(own, x.softmax.own_base, scene.factor);
    deliver_v<full>(x, scene.courier, 0);
    lds_barrier();
    if (is_any_far()) {
        move_bases(x.softmax, own, scene.factor,
                   [&](int column, float ratio) { rescale_o(x, column, ratio); });
        weigh(own_p, sum, own, x.softmax.own_base, scene.factor);
        show(own_p, scene, key);
        lds_barrier();
    }
#pragma unroll
    for (int i = 0; i < OWN; i++)
        x.softmax.sum[i] += sum[i];
    __builtin_amdgcn_sched_barrier(0);
    block_frag p[PV_GROUPS][Q_BLOCKS];
#pragma unroll
    for (int part = 0; part < parts; part++) {
        if (part > 0) {
            lds_barrier();
            deliver_v<full>(x, scene.courier, part);
            lds_barrier();
        }
        fetch_behind_v<parts>(x, scene, t.next, t.v, part);
        if (2 * part + 1 == halves)
            multiply_share<SHARE / 2>(x.o[part], scene.at, p, part == 0);
        else
            multiply_share<SHARE>(x.o[part], scene.at, p, part == 0);
    }
}

#endif

/* How many of a walk's tiles, its first ones, all queries see. */
DEVICE int full_tiles(const struct key_walk &walk)
{
    return walk.fast_count < walk.count ? walk.fast_count + 1 : walk.count;
}

/*
 * The tile that a walk begins with. With ALiBi scores fall from the diagonal on: then it is that of
 * the full ones which is nearest to it, lest bases move tile by tile.
 */
DEVICE int first_tile(const struct setting &scene, const struct key_walk &walk)
{
#if KERNEL_SCORE
    if (which_now(scene.terms) & TERM_SLOPE) {
        const int key = scene.job.first_row + scene.sequence.seq_k - scene.sequence.seq_q;
        const int tile = (key > 0 ? key : 0) / KERNEL_TILE_K, last = walk.first + walk.fast_count;
        if (tile > walk.first)
            return tile < last ? tile : last > walk.first ? last : walk.first;
    }
#else
    (void)scene;
#endif
    return walk.first;
}

/* The one behind `tile`, the i-th: that of a turned walk goes through all full ones first. */
DEVICE int tile_behind(const struct key_walk &walk, int tile, int i)
{
#if KERNEL_SCORE
    const int full = full_tiles(walk), end = walk.first + full;
    if (i + 1 < full)
        return tile + 1 < end ? tile + 1 : walk.first;
    if (i + 1 == full)
        tile = end - 1;
#endif
    return KERNEL_PAGED && i + 1 == walk.count ? tile : next_tile(walk, tile);
}

/* The steps from the walk's i-th tile on, below the `end`-th. */
template <int halves, bool full>
DEVICE void take_steps(struct progress &x, struct setting &scene, const struct key_walk &walk,
                       int &tile, int &i, int end)
{
    struct stride t;
    t.tile = tile;
    t.k = k_rows_of(scene.keys, scene.sequence, tile);
    struct operands_ahead operands;
    begin_steps(operands);
#pragma unroll 1
    for (; i < end; i++) {
        const int next = tile_behind(walk, t.tile, i);
        t.v = v_rows_of(scene.keys, scene.sequence, t.tile);
        t.missing = missing_in(scene.keys, scene.sequence, t.tile);
        t.next = k_rows_of(scene.keys, scene.sequence, next);
        step<halves, full>(x, scene, operands, t);
        t.tile = next;
        t.k = t.next;
    }
    tile = t.tile;
}

/* What comes before a walk, which begins with `tile`: K's first parts leave memory. Returns whether
 * there are any keys. */
DEVICE bool begin_walk(struct progress &x, struct setting &scene, const struct key_walk &walk,
                       int tile)
{
    x.found = 0;
    start_softmax(x.softmax);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
#pragma unroll
        for (int part = 0; part < STAGES; part++)
#pragma unroll
            for (int block = 0; block < SHARE; block++)
                x.o[part][column][block] = {};
    }
    if (walk.count == 0)
        return false;
    const tile_rows k_rows = k_rows_of(scene.keys, scene.sequence, tile);
#pragma unroll
    for (int part = 0; part < CARGOES; part++)
        fetch_k(x, scene.keys, scene.courier, k_rows, part);
#if TEAM == 1
    begin_stages(x, scene, k_rows);
#endif
    return true;
}

/* Whether V that is not finite is taken for 0 in all tiles, not only in those that not all queries
 * see. */
DEVICE bool isolates(const struct setting &scene)
{
#if KERNEL_SCORE
    return scene.terms.isolates;
#else
    (void)scene;
    return false;
#endif
}

/* A walk with `halves` halves of parts of V; `full`: which may have steps for tiles that all
 * queries see. */
template <int halves, bool full = true>
DEVICE void walk_keys(struct progress &x, struct setting &scene, const struct key_walk &walk)
{
    int tile = first_tile(scene, walk), i = 0;
    if (!begin_walk(x, scene, walk, tile))
        return;
    if (full && !isolates(scene))
        take_steps<halves, true>(x, scene, walk, tile, i, full_tiles(walk));
    take_steps<halves, false>(x, scene, walk, tile, i, walk.count);
}

/* Whether there are steps of one number of halves only: of more, registers spill where there are
 * terms and pages, and those of FP8 are long, with code for each type. Few v's have half of more
 * than 256 channels: that is worth code in RDNA's plain kernel alone. */
#if KERNEL_CACHE
#define ONE_WIDTH 1
#else
#define ONE_WIDTH                                                                                  \
    ((STAGES > 2 && (KERNEL_WAVE == 64 || KERNEL_SCORE || KERNEL_PAGED)) ||                        \
     (KERNEL_SCORE && (KERNEL_PAGED || KERNEL_UNALIGNED)))
#endif

/* Whether a walk that is done once more is the same code, a quarter less: of several widths it
 * spills, and pages on wave64 take 3 % longer. */
#define LOOKS_IN_LOOP                                                                              \
    (KERNEL_SCORE && ONE_WIDTH && !(KERNEL_WAVE == 64 && KERNEL_PAGED && !KERNEL_SPLIT))

/* As many as there are: a branch for each part would cost copies of O. */
DEVICE void walk_all(struct progress &x, struct setting &scene, const struct key_walk &walk)
{
    const int dim = scene.keys.v.dim;
    if (!ONE_WIDTH && !KERNEL_UNALIGNED && dim <= KERNEL_DIM / 2) /* seldom but v's, otherwise */
        walk_keys<HALVES / 2>(x, scene, walk);
    else if (!KERNEL_SCORE && !ONE_WIDTH && STAGES == 2 && dim <= STAGE_DIM + STAGE_DIM / 2)
        walk_keys<HALVES - 1>(x, scene, walk);
    else
        walk_keys<HALVES>(x, scene, walk);
    lds_barrier();
}

/* Bits of what a wave has come across. */
constexpr int FOUND_NONFINITE = 1; /* V that is not finite and that not all queries see */
/* O that is not finite, while terms hide keys: V is to be isolated. */
constexpr int FOUND_SPOILT = 2;

/* `hides`: whether terms do. */
DEVICE u32 found_by(const struct progress &x, bool hides)
{
    float any = 0;
    if (hides)
#pragma unroll
        for (int part = 0; part < STAGES; part++)
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
                for (int block = 0; block < SHARE; block++)
#pragma unroll
                    for (int i = 0; i < ACC; i++)
                        any = __builtin_fmaf(x.o[part][column][block][i], 0, any);
    return (in_any_lane(x.found != 0) ? FOUND_NONFINITE : 0) |
           (in_any_lane(any != 0) ? FOUND_SPOILT : 0);
}

/* Another walk over the tiles whose V was isolated, for O to tell who sees it. */
DEVICE void mark_all(struct progress &x, struct setting &scene, const struct key_walk &walk)
{
    struct key_interval visible[Q_BLOCKS];
    int tile = walk.first;
    find_visible(visible, scene.sequence, scene.job);
#if KERNEL_SCORE
    const bool hides = scene.terms.isolates;
#else
    const bool hides = false;
#endif
#pragma unroll 1
    for (int i = 0; i < walk.count; i++, tile = next_tile(walk, tile)) {
        if (i <= walk.fast_count && !hides)
            continue; /* full */
#pragma unroll
        for (int part = 0; part < STAGES; part++) {
            lds_barrier();
            fetch_v(x, scene.keys, scene.courier, v_rows_of(scene.keys, scene.sequence, tile),
                    part);
            store_v WORTH(false)(vt_tile, x.cargo[part % CARGOES], scene.courier);
            note_nonfinite(vt_tile, k_tile);
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++) {
                struct sight sight = sight_of(visible[column], (u32)tile * KERNEL_TILE_K);
#if KERNEL_SCORE
                if (scene.terms.which & TERMS_HIDING)
                    blind_sight(sight, late_problem(), scene.sequence, scene.job, column,
                                tile * KERNEL_TILE_K);
#endif
                mark_o(x.o[part][column], k_tile + first_block() * (BLOCK * SIGHT_WORDS * 4),
                       sight);
            }
        }
    }
}

/* What bases are multiplied by to be in natural units. */
DEVICE float base_unit(const struct attn_problem &a, const struct sequence &sequence,
                       const struct job &job)
{
#if KERNEL_SCORE
    return score_unit(which_terms(a), a, sequence, job);
#else
    (void)sequence, (void)job;
    return SCORE_SCALE(a, sequence, job);
#endif
}

/* And O, by dropout and FP8. */
DEVICE float output_factor(const struct attn_problem &a, const struct sequence &sequence,
                           const struct job &job)
{
#if KERNEL_SCORE
    float factor = a.flags & KERNARG_DROPOUT ? a.dropout_scale : 1;
#else
    float factor = 1;
#endif
    (void)a, (void)sequence, (void)job;
#if KERNEL_SCALES
    factor *= output_scale(sequence.number, job.kv_head);
#endif
    return factor;
}

#if KERNEL_SPLIT

#include "split_end.h"

/* Rows of partial_o, divided by their sums, and what the rows are worth (kernarg.h). */
DEVICE void finish(const struct progress &x, const struct job &job, const struct sequence &sequence,
                   const struct attn_fwd_args &args)
{
    const struct attn_problem &a = args.problem;
    const struct attn_split_args &split = late_arguments<struct attn_split_args>();
    float sums[Q_BLOCKS];
    const float unit = base_unit(a, sequence, job), keep = output_factor(a, sequence, job);
    add_up(sums, x.softmax.sum);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const struct row_place at = place_of_column(job, column);
        const kernarg_i64 row = partial_row(a, sequence, at, split, job);
        const float sum = sums[column] * SOFTMAX_UNBIAS;
        if (number_of_lane(job, column) > job.rows.last)
            continue;
        if (share_id() == 0 && lane_half() == 0)
            store_sum(split, row, x.softmax.base[column] * unit, sum);
        if (sum == 0) /* attn_merge does not look at O */
            continue;
        const float inverse = SOFTMAX_UNBIAS * __builtin_amdgcn_rcpf(sum) * keep;
#pragma unroll
        for (int part = 0; part < STAGES; part++)
            store_partial(x.o[part][column], inverse, split, row, a.dim_v,
                          (u32)part * STAGE_DIM + first_block() * BLOCK + ACC * lane_half());
    }
}

#else

/* Divides O by the sums, rounds and stores it; then lse. */
DEVICE void finish(struct progress &x, const struct job &job, const struct sequence &sequence,
                   const struct attn_fwd_args &args)
{
    const struct attn_problem &a = args.problem;
    const struct slice slice =
        slice_of(args.o, args.o_stride, sequence.batch_q, sequence.start_q, job.head, a.dim_v);
    struct tile_view view = {row_at(slice, job.first_row), rows_of(job)};
    float sums[Q_BLOCKS];
    const float unit = base_unit(a, sequence, job), keep = output_factor(a, sequence, job);
    add_up(sums, x.softmax.sum);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        u32 row = TEAM_ID * COLUMNS + column * BLOCK + lane_column();
        const float sum = sums[column] * SOFTMAX_UNBIAS;
        /* Not -infinity times a scale of 0. */
        float top = sum == 0 ? -__builtin_inff() : x.softmax.base[column] * unit;
        struct column_end end = end_column(top, sum, a, job.head);
        float factor = end.inverse * SOFTMAX_UNBIAS * keep;
#pragma unroll
        for (int part = 0; part < STAGES; part++) {
#if ENDS_LEAN
            clean_o(x.o[part][column], factor, end.blind);
#endif
            store_o(x.o[part][column], factor, end.blind, view, slice, row,
                    (u32)part * STAGE_DIM + first_block() * BLOCK);
        }
        if (share_id() == 0)
            store_lse(args, sequence, job, row, end.lse);
    }
}

#endif

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(KERNEL_ARGUMENTS)
{
    const struct attn_problem &a = FWD_ARGUMENTS.problem;
    struct sequence sequence;
    struct job job;
    struct progress p;
#if KERNEL_SCORE && !KERNEL_SPLIT /* else attn_merge does */
    write_seed_once(a, FWD_ARGUMENTS);
#endif
    if (!find_job(a, sequence, job))
        return;

#if TEAM == 1
    fetch_q(p.q, job, sequence, a);
#else
    load_q(p.q, job, sequence, a);
#endif
    struct key_walk walk = plan_walk(sequence, job.first_row, job.last_row);
#if KERNEL_SPLIT
    walk = part_of_walk(walk, job);
#endif
#if KERNEL_SCORE
    const struct own_terms terms = own_terms_of(a, sequence, job);
    struct setting scene = {
        {},   {}, {}, sequence, job, softmax_factor(score_unit(terms.which, a, sequence, job)),
        terms};
#else
    struct setting scene = {{},       {},  {},
                            sequence, job, softmax_factor(SIGNED_SCALE(a, sequence, job))};
#endif
#if TEAM == 1 /* or it would take vector registers */
    scene.factor = __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, scene.factor)));
#endif
    find_tiles(scene.keys, a, sequence, job);
    if (TEAM > 1)
        find_places(scene.at);
    const struct slice whole_k = {scene.keys.k.base, scene.keys.k.pitch, STAGE_DIM};
    const struct slice whole_v = {scene.keys.v.base, scene.keys.v.pitch, STAGE_DIM};
    hire(scene.courier, whole_k, whole_v);
    begin_parts(p, scene.keys, scene.courier);
#if LOOKS_IN_LOOP
    u32 found;
#pragma unroll 1
    for (;;) {
        walk_all(p, scene, walk);
        found = any_wave(found_by(p, terms.which & TERMS_HIDING && !isolates(scene)));
        if (__builtin_expect(!(found & FOUND_SPOILT), 1))
            break;
        scene.terms.isolates = true;
    }
#elif KERNEL_SCORE
    walk_all(p, scene, walk);
    u32 found = any_wave(found_by(p, terms.which & TERMS_HIDING));
    if (RARELY(found & FOUND_SPOILT)) {
        scene.terms.isolates = true;
        walk_keys<HALVES, false>(p, scene, walk);
        lds_barrier();
        found = any_wave(found_by(p, false));
    }
#else
    walk_all(p, scene, walk);
    const u32 found = any_wave(found_by(p, false));
#endif
    if (RARELY(found))
        mark_all(p, scene, walk);
    lds_barrier();
    finish(p, computed_here(job), computed_here(sequence), late_arguments<struct attn_fwd_args>());
}

#endif
