/*
 * What the two forms of the forward kernel share: which rows a workgroup has, Q as operands, the
 * products from LDS, and what is done once the keys are over.
 */
#ifndef AOTHIP_FWD_COMMON_H
#define AOTHIP_FWD_COMMON_H

#include "column_end.h"
#include "contain.h"
#if PLANS_LEAN
#include "quotient.h"
#define DEAL_QUOTIENT(n, d) quotient_of(n, d)
#endif
#include "deal.h"
#include "element.h"
#include "fp8_scales.h"

/* Whether rows are packed ones of several heads, and the keys a part of all: attn_split.hip. */
#ifndef KERNEL_SPLIT
#define KERNEL_SPLIT 0
#endif

/* Waves that have the same rows are a team (team_form.h); elsewhere each wave has its own. */
#ifndef TEAMS
#define TEAMS KERNEL_WAVES
#define TEAM_ID wave_id()
#endif

/* Waves that share out bringing their rows of Q. Others that have the same rows all bring them. */
#ifndef Q_SHARES
#define Q_SHARES 1
#endif

/* Whether K and V^T have one place in LDS, in turns. */
#ifndef ONE_TILE
#define ONE_TILE 0
#endif

/* Parts of K, or of V, that are in LDS at once (team_keys.h). */
#ifndef PARTS_IN_PLACE
#define PARTS_IN_PLACE 1
#endif

constexpr int COLUMNS = KERNEL_TILE_Q / TEAMS; /* queries of a wave */
constexpr int Q_BLOCKS = COLUMNS / BLOCK;
constexpr int QK_STEPS = USED_DIM / DEPTH;                    /* of DEPTH channels */
constexpr int PV_GROUPS = KERNEL_TILE_K / DEPTH / KEY_SHARES; /* of as many keys */

/* Which of the keys of a tile a wave has. */
DEVICE int key_share()
{
    return KEY_SHARES > 1 ? (int)(wave_id() % KEY_SHARES) : 0;
}

/*
 * Beside the O of two blocks of queries Q does not fit into wave32's registers, with one it does
 * (fast_traits.h).
 */
#ifndef Q_IN_LDS
#define Q_IN_LDS (KERNEL_WAVE == 32)
#endif

/* But for the channels of its first steps, where they are held in registers (fast_traits.h). */
#ifndef Q_HELD
#define Q_HELD 0
#endif

/* Or some parts of its channels (team_keys.h). */
#ifndef Q_PARTS_IN_LDS
#define Q_PARTS_IN_LDS 0
#endif

static_assert(Q_IN_LDS || Q_BLOCKS == 1, "Q in registers is one block");
static_assert(Q_BLOCKS * BLOCK * TEAMS == KERNEL_TILE_Q, "waves own whole blocks of queries");
static_assert(KERNEL_TILE_K % BLOCK == 0 && KERNEL_DIM % USED_DIM == 0, "whole blocks");

typedef block_acc score_blocks[Q_BLOCKS][KEY_BLOCKS];
typedef block_acc output_blocks[Q_BLOCKS][DIM_BLOCKS];

constexpr int STAGES = KERNEL_DIM / USED_DIM; /* parts of the channels of Q and K */
constexpr int Q_HELD_CHUNKS = 2 * Q_HELD;     /* of a row of Q, which are not in LDS */
constexpr int Q_ROW_BYTES = K_ROW_BYTES - Q_HELD_CHUNKS * CHUNK_BYTES;
constexpr int Q_STAGE_BYTES = KERNEL_TILE_Q * Q_ROW_BYTES; /* in LDS */

constexpr int Q_TILE_BYTES = Q_IN_LDS         ? STAGES * Q_STAGE_BYTES
                             : Q_PARTS_IN_LDS ? Q_PARTS_IN_LDS * Q_STAGE_BYTES
                             : ONE_TILE       ? STAGE_DIM_V * KERNEL_TILE_K / 8 /* contain.h */
                                              : 16;

static SHARED __attribute__((aligned(16))) char k_tile[PARTS_IN_PLACE * K_TILE_BYTES];
#if ONE_TILE
#define vt_tile k_tile
#else
static SHARED __attribute__((aligned(16))) char vt_tile[PARTS_IN_PLACE * VT_TILE_BYTES];
#endif
static SHARED __attribute__((aligned(16))) char q_tile[Q_TILE_BYTES];

/*
 * The same value, but what is computed of it is computed here: the compiler would do that once,
 * before the key loop, and keep the result in registers that the loop has not.
 */
DEVICE int computed_here(int x)
{
    asm volatile("" : "+s"(x));
    return x;
}

DEVICE struct sequence computed_here(struct sequence x)
{
    x.number = computed_here(x.number);
    x.batch_q = computed_here(x.batch_q);
    x.batch_k = computed_here(x.batch_k);
    x.start_q = computed_here(x.start_q);
    x.start_k = computed_here(x.start_k);
    return x;
}

/* The problem, read anew. */
DEVICE const struct attn_problem &late_problem()
{
    return late_arguments<struct attn_fwd_args>().problem;
}

/* Before what goes where all have read something else. */
DEVICE void tile_barrier()
{
    if (ONE_TILE)
        lds_barrier();
}

/*
 * Reads together what is wanted of the problem before the first step: not a little at a time,
 * behind one branch after the other, for each of which scalar loads are waited for.
 */
DEVICE void read_problem(const struct attn_problem &a)
{
    const struct kernarg_seqs &q = a.q_seqs, &k = a.k_seqs;
    asm volatile("" ::"s"(a.batch), "s"(a.heads_x), "s"(a.heads_k), "s"(a.group), "s"(a.seq_q),
                 "s"(a.grid_y), "s"(a.key_first), "s"(a.key_last), "s"(a.flags), "s"(a.scale),
                 "s"(q.cumulative), "s"(q.lengths), "s"(q.starts), "s"(q.max), "s"(q.rows),
                 "s"(q.extra), "s"(q.packed), "s"(k.cumulative), "s"(k.lengths), "s"(k.starts),
                 "s"(k.max), "s"(k.rows), "s"(k.extra), "s"(k.packed));
    asm volatile("" ::"s"(a.q), "s"(a.q_stride.batch), "s"(a.q_stride.head), "s"(a.q_stride.seq),
                 "s"(a.dim_qk), "s"(a.dim_v), "s"(a.k), "s"(a.k_stride.batch), "s"(a.k_stride.head),
                 "s"(a.k_stride.seq));
}

#if KERNEL_SPLIT
#include "split_job.h"
#else

/* Which part of the problem this workgroup has. Uniform. */
struct job {
    int head, kv_head;
    int first_row, last_row; /* of Q and O, both existing */
};

DEVICE struct job computed_here(struct job x)
{
    x.first_row = computed_here(x.first_row);
    x.last_row = computed_here(x.last_row);
    return x;
}

DEVICE struct job job_of(const struct attn_problem &a, const struct sequence &sequence,
                         const struct deal &deal, int tile)
{
    /* A caller who promised fewer rows than a sequence has gets those that it promised. */
    int rows = sequence.seq_q < a.seq_q ? sequence.seq_q : a.seq_q;
    int first_row = tile * KERNEL_TILE_Q, left = rows - first_row;
    return {(int)deal.part, (int)deal.kv_head, first_row,
            left > KERNEL_TILE_Q ? first_row + KERNEL_TILE_Q - 1 : rows - 1};
}

/* How many of the tile's rows exist. */
DEVICE int rows_of(const struct job &job)
{
    return job.last_row - job.first_row + 1;
}

/*
 * What a workgroup of the grid has to do (kernarg.h). Returns false if that is nothing.
 */
DEVICE bool find_job(const struct attn_problem &a, struct sequence &sequence, struct job &job)
{
    u32 number = sequence_number(a), x = __builtin_amdgcn_workgroup_id_x();
    if (number >= (u32)a.batch)
        return false;
    u32 tiles_q = ((u32)a.seq_q + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;
    const struct deal deal =
        deal_queries(&a, x, __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    sequence = sequence_of(a, (int)number);
    job = job_of(a, sequence, deal, (int)(tiles_q - 1 - deal.tile));
    return job.first_row <= job.last_row;
}

DEVICE struct key_interval visible_of_column(const struct sequence &sequence, const struct job &job,
                                             int column)
{
    int row = job.first_row + (int)(TEAM_ID * COLUMNS + column * BLOCK + lane_column());
    return visible_keys(sequence, row < job.last_row ? row : job.last_row);
}

#endif

DEVICE void find_visible(struct key_interval (&visible)[Q_BLOCKS], const struct sequence &sequence,
                         const struct job &job)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        visible[column] = visible_of_column(sequence, job, column);
}

/* Q as B operands, with the scale's sign. */
struct queries {
    block_frag frag[Q_HELD ? Q_BLOCKS * Q_HELD : Q_IN_LDS ? 1 : STAGES * QK_STEPS];
};

#if KERNEL_SPLIT
#define Q_CHUNK(channel) chunk_of_q(row, dim, channel)

/* Q from rows of several heads. To LDS each wave brings its share of its rows' chunks, or all. */
DEVICE void load_q(struct queries &q, const struct job &job, const struct sequence &sequence,
                   const struct attn_problem &a)
{
    const int dim = a.dim_qk;
#if Q_IN_LDS
    const u32 sign = SIGNED_SCALE(a, sequence, job) < 0 ? SIGN_BITS : 0;
    const u32 team = thread_id() / KERNEL_WAVE / (KERNEL_WAVES / TEAMS);
    (void)q;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const struct row_place at = place_of_column(job, column);
        const GLOBAL char *row =
            (const GLOBAL char *)a.q + row_of_q(a, sequence, at.row, at.head) * CHANNEL_BYTES;
        char *line = q_tile + (team * COLUMNS + column * BLOCK + lane_column()) * K_ROW_BYTES;
#pragma unroll
        for (u32 i = 0; i < STAGES * CHUNKS; i += 2 * Q_SHARES) {
            const u32 chunk =
                i % CHUNKS + lane_half() + (Q_SHARES > 1 ? wave_id() % Q_SHARES * 2 : 0);
            *(u32x4 *)(line + i / CHUNKS * Q_STAGE_BYTES + chunk * CHUNK_BYTES) =
                TIMES_SIGN(Q_CHUNK(i / CHUNKS * STAGE_DIM + chunk * CHUNK), sign);
        }
    }
#else
    const struct row_place at = place_of_column(job);
    const GLOBAL char *row =
        (const GLOBAL char *)a.q + row_of_q(a, sequence, at.row, at.head) * CHANNEL_BYTES;
#pragma unroll
    for (u32 step = 0; step < STAGES * QK_STEPS; step++)
#if MMA_STRAIGHT || KERNEL_WAVE == 64
        q.frag[step] = Q_CHUNK(DEPTH * step + CHUNK * lane_half());
#else
        q.frag[step] = join_chunks(Q_CHUNK(DEPTH * step), Q_CHUNK(DEPTH * step + CHUNK));
#endif
    if (RARELY(SIGNED_SCALE(a, sequence, job) < 0))
#pragma unroll
        for (int step = 0; step < STAGES * QK_STEPS; step++)
            q.frag[step] = TIMES_SIGN(q.frag[step], SIGN_BITS);
#endif
}

#else

#if Q_HELD

/* The first steps' channels to registers, the others to LDS. */
DEVICE void split_q(struct queries &q, const struct tile_view &view, const struct slice &slice,
                    u32 sign)
{
    const u32 chunks = CHUNKS - Q_HELD_CHUNKS;
    static_assert(KERNEL_TILE_Q * chunks % THREADS == 0, "each thread brings as many chunks");
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const u32 row = TEAM_ID * COLUMNS + column * BLOCK + lane_column();
#pragma unroll
        for (int step = 0; step < Q_HELD; step++)
            q.frag[column * Q_HELD + step] =
                TIMES_SIGN(load_chunk(view, slice, row, DEPTH * step + CHUNK * lane_half()), sign);
    }
#pragma unroll
    for (u32 i = 0; i < KERNEL_TILE_Q * chunks / THREADS; i++) {
        const u32 n = i * THREADS + thread_id(), row = n / chunks, chunk = n % chunks;
        u32x4 x = load_chunk(view, slice, row, (Q_HELD_CHUNKS + chunk) * CHUNK);
        *(u32x4 *)(q_tile + row * Q_ROW_BYTES + chunk * CHUNK_BYTES) = TIMES_SIGN(x, sign);
    }
}

#endif

#if KERNEL_CACHE && !KERNEL_UNALIGNED && Q_OF_CODES
#include "query_codes.h"
#endif

#if !Q_IN_LDS

/* What a lane has of its row of Q; the slice may be one of codes. */
template <class S>
DEVICE block_frag load_q_frag(const struct tile_view &view, const S &slice, u32 row, int step)
{
#if KERNEL_WAVE == 32 && !MMA_STRAIGHT
    return join_chunks(load_chunk(view, slice, row, DEPTH * step),
                       load_chunk(view, slice, row, DEPTH * step + CHUNK));
#else
    return load_chunk(view, slice, row, DEPTH * step + CHUNK * lane_half());
#endif
}

#endif

DEVICE void load_q(struct queries &q, const struct job &job, const struct sequence &sequence,
                   const struct attn_problem &a)
{
    const u32 sign = SIGNED_SCALE(a, sequence, job) < 0 ? SIGN_BITS : 0;
#if KERNEL_CACHE && !KERNEL_UNALIGNED && Q_OF_CODES
    if (fp8_of_q(late_fp8()))
        return load_q_codes(q, job, sequence, a, sign);
#endif
#if KERNEL_CACHE && KERNEL_UNALIGNED && FP8_OF_Q
    const struct query_slice slice = query_slice_of(a, sequence, job.head);
#else
    const struct slice slice =
        slice_of(a.q, a.q_stride, sequence.batch_q, sequence.start_q, job.head, a.dim_qk);
#endif
    struct tile_view view = {row_at(slice, job.first_row), rows_of(job)};
#if Q_HELD
    split_q(q, view, slice, sign);
#elif Q_IN_LDS
    const u32 rows_per_load = THREADS / CHUNKS, chunk = thread_id() % CHUNKS;
    const u32 loads = KERNEL_TILE_Q / rows_per_load, first = thread_id() / CHUNKS;
    u32x4 x[STAGES * loads];
    (void)q;
#pragma unroll
    for (u32 i = 0; i < STAGES * loads; i++) {
        x[i] = load_chunk(view, slice, first + i % loads * rows_per_load,
                          i / loads * STAGE_DIM + chunk * CHUNK);
        if (!ENDS_LEAN)
            x[i] = TIMES_SIGN(x[i], sign);
    }
    if (ENDS_LEAN && RARELY(sign))
#pragma unroll
        for (u32 i = 0; i < STAGES * loads; i++)
            x[i] = TIMES_SIGN(x[i], sign);
#pragma unroll
    for (u32 i = 0; i < STAGES * loads; i++)
        *(u32x4 *)(q_tile + i / loads * Q_STAGE_BYTES +
                   (first + i % loads * rows_per_load) * K_ROW_BYTES + chunk * CHUNK_BYTES) = x[i];
#else
    u32 row = TEAM_ID * COLUMNS + lane_column();
#if WHOLE_Q
    const bool whole = !RARELY(slice.dim != USED_DIM);
#pragma unroll
    for (int step = 0; whole && step < QK_STEPS; step++)
#if KERNEL_WAVE == 32 && !MMA_STRAIGHT
        q.frag[step] = join_chunks(load_whole_chunk(view, slice, row, 0, DEPTH * step),
                                   load_whole_chunk(view, slice, row, CHUNK, DEPTH * step));
#else
        q.frag[step] = load_whole_chunk(view, slice, row, CHUNK * lane_half(), DEPTH * step);
#endif
#else
    const bool whole = false;
#endif
#pragma unroll
    for (int step = 0; step < STAGES * QK_STEPS; step++) {
        if (!whole)
            q.frag[step] = load_q_frag(view, slice, row, step);
        if (!ENDS_LEAN)
            q.frag[step] = TIMES_SIGN(q.frag[step], sign);
    }
    if (ENDS_LEAN && RARELY(sign))
#pragma unroll
        for (int step = 0; step < STAGES * QK_STEPS; step++)
            q.frag[step] = TIMES_SIGN(q.frag[step], sign);
#endif
}

#endif

DEVICE block_frag q_frag(const struct queries &q, int stage, int step, int block)
{
#if Q_HELD
    if (step < Q_HELD)
        return q.frag[block * Q_HELD + step];
    const u32 row = (TEAM_ID * Q_BLOCKS + block) * BLOCK + lane_column();
    const char *line = q_tile + row * Q_ROW_BYTES;
    return load_frag(line, 2 * (step - Q_HELD), 2 * (step - Q_HELD) + 1);
#endif
    if (Q_IN_LDS)
        return k_tile_frag(q_tile + stage * Q_STAGE_BYTES, (int)TEAM_ID * Q_BLOCKS + block, step);
    return q.frag[stage * QK_STEPS + step];
}

static_assert(QK_STEPS % FRAGS == 0 && PV_GROUPS % FRAGS == 0, "whole products");

DEVICE void clear_scores(score_blocks &s)
{
    const block_acc zero = zero_acc();
#pragma unroll
    for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            s[column][block] = zero;
}

/*
 * S^T += K Q^T, over the channels in LDS, which are part `stage` of all. Singly: with the operands
 * of one step at a time, where on wave32 there are no registers for more. Or of two where they are
 * half as large (RDNA 4).
 */
#define Q_FRAG(i) q_frag(q, stage, i, column)
#define K_FRAG(i) k_tile_frag(k_tile, key_share() * KEY_BLOCKS + block, i)
DEVICE void multiply_kq(score_blocks &s, const struct queries &q, int stage,
                        bool singly = STAGE_DIM > 64)
{
#pragma unroll
    for (int step = 0; step < QK_STEPS; step += FRAGS) {
        if (KERNEL_WAVE == 32 && (singly || (MMA_STRAIGHT && step % 2 == 0)))
            __builtin_amdgcn_sched_barrier(0);
        operand b[Q_BLOCKS];
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            b[column] = OPERAND_OF(Q_FRAG, step);
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++) {
            operand a = OPERAND_OF(K_FRAG, step);
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++)
                mma(s[column][block], a, b[column]);
        }
    }
}

/* O^T += V^T P^T */
#define V_FRAG(i) vt_tile_frag(vt_tile, block, key_share() * PV_GROUPS + i)
#if defined(__GFX12__)

/* p_of(column, group) is an operand of P^T, which may be rounded already. */
#define P_FRAG(i) p_of(column, i)
template <class F> DEVICE void multiply_vp(output_blocks &o, F p_of)
{
#pragma unroll
    for (int group = 0; group < PV_GROUPS; group += FRAGS) {
        /* Operands of one group at a time; those of all of them exceed the registers. */
        __builtin_amdgcn_sched_barrier(0);
        operand b[Q_BLOCKS];
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            b[column] = OPERAND_OF(P_FRAG, group);
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++) {
            operand a = OPERAND_OF(V_FRAG, group);
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++)
                mma_vp(o[column][block], a, b[column]);
        }
    }
}

/* The same, of P that is not rounded. */
DEVICE void multiply_vp(output_blocks &o, const score_blocks &p)
{
    const u32 half = pack_half();
    multiply_vp(o, [&](int column, int group) {
#if KERNEL_FP8
        return pack_group(p[column], group, half);
#else
        const int per_block = BLOCK / 16;
        return pack_keys(p[column][group / per_block], group % per_block, half);
#endif
    });
}

#else

#define P_FRAG(i) pack_group(p[column], i, half)
DEVICE void multiply_vp(output_blocks &o, const score_blocks &p)
{
    const u32 half = pack_half();
#pragma unroll
    for (int group = 0; group < PV_GROUPS; group += FRAGS) {
        /* Operands of one group at a time; those of all of them exceed the registers. */
        if (KERNEL_WAVE == 32)
            __builtin_amdgcn_sched_barrier(0);

#if KERNEL_FP8
        operand b[Q_BLOCKS];
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            b[column] = OPERAND_OF(P_FRAG, group);
#else
        const int per_block = BLOCK / 16;
        block_frag b[Q_BLOCKS];
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            b[column] = pack_keys(p[column][group / per_block], group % per_block, half);
#endif
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++) {
            operand a = OPERAND_OF(V_FRAG, group);
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++)
                mma_vp(o[column][block], a, b[column]);
        }
    }
}

#endif

/* Scores of keys that a query does not see become -infinity. */
DEVICE void mask_scores(score_blocks &s, const struct key_interval *visible, u32 key)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i++)
                if (!sees(visible[column], key + block * BLOCK + first_key() + key_step(i)))
                    s[column][block][i] = -__builtin_inff();
}

/* The bits that any wave of the workgroup has. The waves find the same. */
DEVICE u32 any_wave(u32 mine)
{
    u32 any = 0;
    ((u32 *)k_tile)[PLANS_LEAN ? thread_id() / KERNEL_WAVE : wave_id()] = mine;
    lds_barrier();
#pragma unroll
    for (int i = 0; i < KERNEL_WAVES; i++)
        any |= ((u32 *)k_tile)[i];
    return uniform(any);
}

/* The lane's half, as computed_here(). */
DEVICE u32 half_here()
{
    u32 half = KERNEL_SCORE ? thread_id() : lane_half();
    asm volatile("" : "+v"(half));
    return KERNEL_SCORE ? half % KERNEL_WAVE / BLOCK : half;
}

/* Stores one column of O, times `factor`, from channel `first_channel` on. */
DEVICE void store_o(const block_acc (&o)[O_BLOCKS], float factor, bool blind, struct tile_view view,
                    const struct slice &slice, u32 row, u32 first_channel)
{
    const u32 keep = blind ? 0 : 0xffffffffu, half = KERNEL_SCORE ? half_here() : lane_half();
#if WHOLE_ROWS && !KERNEL_FP8 /* whose O has two units for each channel */
#pragma unroll
    for (int i = 0; slice.dim == USED_DIM_V && i < USED_DIM_V / 2; i += O_CHUNK) {
        const block_acc &x = o[i / ACC];
        u32x4 chunk;
#pragma unroll
        for (int j = i % ACC; j < i % ACC + O_CHUNK; j += 2)
            chunk[j / 2 % 4] = round_products(f32x2{x[j], x[j + 1]}, factor);
        store_whole_chunk(view, slice, row, ACC * half, i / ACC * BLOCK + i % ACC, chunk);
    }
    if (!RARELY(slice.dim != USED_DIM_V))
        return;
#endif
#pragma unroll
    for (int block = 0; block < O_BLOCKS; block++)
#pragma unroll
        for (int i = 0; i < ACC; i += O_CHUNK) {
            u32 channel = first_channel + O_BLOCK(block) * BLOCK + ACC * half + i;
            u32x4 chunk;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const f32x2 x = {o[block][i + 2 * j], o[block][i + 2 * j + 1]};
                chunk[j] = ENDS_LEAN ? round_products(x, factor)
                                     : keep & round_pair_even(x.x * factor, x.y * factor);
            }
            store_chunk(view, slice, row, O_CHANNEL(channel), chunk);
        }
}

#if !KERNEL_SPLIT

/* One lane of each column writes its lse. */
DEVICE void store_lse(const struct attn_fwd_args &args, const struct sequence &sequence,
                      const struct job &job, u32 row, float lse)
{
    u32 half = half_here();
    if (!args.lse || half || (int)row >= rows_of(job))
        return;
    const struct attn_problem &a = args.problem;
    if (ASKS_ALIKE && __builtin_expect(a.flags & KERNARG_ALIKE, 1)) { /* 32 bits suffice */
        const u32 head =
            (u32)sequence.number * (u32)a.lse_stride.batch + (u32)job.head * (u32)a.lse_stride.head;
        ((GLOBAL float *)args.lse)[head + ((u32)job.first_row + row) * (u32)a.lse_stride.seq] = lse;
        return;
    }
    GLOBAL float *at = lse_of(a, args.lse, sequence, job.head, job.first_row + (int)row);
    if (at)
        *at = lse;
}

#endif

#endif
