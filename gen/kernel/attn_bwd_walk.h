/*
 * The machinery that attn_bwd_dq and attn_bwd_dkdv share. One side of the problem is owned by the
 * workgroup, the other one streams by in tiles of STREAM_ROWS rows:
 *
 *                 owned (columns)     stream (rows)    results
 *     dq          Q, dO               K, V             dQ^T += K^T dS^T
 *     dkdv        K, V                Q, dO            dV^T += dO^T P~     dK^T += Q^T dS
 *
 * so that, with X0, X1 the streamed tensors and Y0, Y1 the owned ones, both are
 *
 *     S [STREAM_ROWS, BLOCK] = X0 Y0^T         a wave owns BLOCK columns
 *     dP[STREAM_ROWS, BLOCK] = X1 Y1^T
 *     P, dS from S, dP element by element, in the registers
 *     R0^T[SLAB, BLOCK] += X0^T dS,   dkdv: R1^T[SLAB, BLOCK] += X1^T P~
 *
 * The gradients need X0 (and X1) in both orders, which the threads make while they carry them to
 * LDS: the lower half of the workgroup carries X0, the upper one X1.
 *
 * Head dims beyond SLAB are cut into slabs of it. A walk computes one slab of the results; on
 * each tile it adds up S and dP over all slabs, its own one last, which so lies in LDS when the
 * results want it.
 *
 * Compile-time parameters beside those of images/matrix.def: OWNS_KEYS (dkdv), STREAM_ROWS,
 * OWNED_ROWS = WAVES * BLOCK.
 */
#ifndef AOTHIP_ATTN_BWD_WALK_H
#define AOTHIP_ATTN_BWD_WALK_H

#include "attn_bwd_rows.h"
#include "attn_bwd_lds.h"
#if KERNEL_SCORE
#include "attn_bwd_score.h"
#endif

enum {
    STREAM_BLOCKS = STREAM_ROWS / BLOCK,
    TURNED = OWNS_KEYS ? 2 : 1, /* streamed tensors that are wanted in both orders */
    CARRIERS = THREADS / 2,     /* threads that carry one tensor */
    UNIT_ROWS = STREAM_ROWS * SLAB_CHUNKS / CARRIERS, /* rows whose chunk a thread carries */
};

/*
 * On wave32 hardware the owned operands do not fit into registers beside the results. Each wave
 * keeps its own in LDS.
 */
#define OWNED_IN_LDS (KERNEL_WAVE == 32)

static_assert(OWNED_ROWS == KERNEL_WAVES * BLOCK, "a wave owns one block");
static_assert(UNIT_ROWS == 4 || (UNIT_ROWS == 2 && KERNEL_WAVE == 64), "pairs or quads of rows");
static_assert(KERNEL_WAVES % 2 == 0, "a wave carries one tensor");

static SHARED __attribute__((aligned(16))) char row_tile[2][STREAM_ROWS * ROW_BYTES];
static SHARED __attribute__((aligned(16))) char turned_tile[TURNED][SLAB * LINE_BYTES];
static SHARED
    __attribute__((aligned(16))) char owned_tile[2][OWNED_IN_LDS ? OWNED_ROWS * ROW_BYTES : 16];
#if OWNS_KEYS
static SHARED __attribute__((aligned(16))) float row_vector[2][STREAM_ROWS]; /* lse2, delta */
#endif

typedef float f32x4 __attribute__((ext_vector_type(4)));

/* What streams by, for one query head. Uniform. */
struct stream {
    struct rows mine; /* of the tensor that this wave carries */
    int end;          /* rows that exist */
    struct vector_place vectors;
};

struct cargo {
    u32x4 chunk[UNIT_ROWS];
#if OWNS_KEYS
    float vector; /* lse2 or delta of one row */
#endif
};

DEVICE u32 carrier()
{
    return wave_id() / (KERNEL_WAVES / 2);
}

/*
 * Where registers are short, what follows from x is computed anew in every step rather than held
 * throughout the walk.
 */
DEVICE u32 stay_here(u32 x)
{
    if (KERNEL_UNALIGNED)
        asm volatile("" : "+v"(x));
    return x;
}

/* Slab `slab` of tile `tile`, on its way. */
DEVICE void load_cargo(struct cargo &to, const struct stream &x, const struct attn_bwd_args &args,
                       int tile, int slab)
{
    u32 unit = stay_here(thread_id() % CARRIERS);
    struct rows_view view = view_of(x.mine, tile * STREAM_ROWS, x.end);
    load_chunks<UNIT_ROWS>(to.chunk, view, x.mine, unit / SLAB_CHUNKS * UNIT_ROWS,
                           (u32)slab * SLAB + unit % SLAB_CHUNKS * CHUNK);
#if OWNS_KEYS
    int row = tile * STREAM_ROWS + (int)(unit % STREAM_ROWS);
    if (unit < STREAM_ROWS)
        to.vector = carrier() == 0 ? lse2_at(args, x.vectors, row, x.end)
                                   : delta_at(args, x.vectors, row, x.end);
#else
    (void)args;
#endif
}

/* Place of row `row` in row_vector: a lane's rows of a block one after another. */
DEVICE u32 vector_slot(u32 row)
{
    return KERNEL_WAVE == 64 ? row : row / 16 * 16 + row % 2 * 8 + row % 16 / 2;
}

DEVICE void store_cargo(const struct cargo &from)
{
    u32 unit = stay_here(thread_id() % CARRIERS), chunk = unit % SLAB_CHUNKS, which = carrier();
    u32 row = unit / SLAB_CHUNKS * UNIT_ROWS;
#pragma unroll
    for (int i = 0; i < UNIT_ROWS; i++)
        *(u32x4 *)(row_tile[which] + row_chunk_at(row + i, chunk)) = from.chunk[i];
    if (OWNS_KEYS || which == 0) {
        char *to = turned_tile[TURNED == 2 ? which : 0] + turned_quad_at(chunk * CHUNK, row / 4);
#pragma unroll
        for (int i = 0; i < CHUNK; i++) {
            u32 select = i % 2 ? UPPER_HALVES : LOWER_HALVES;
#if KERNEL_WAVE == 64
            u32 pair = __builtin_amdgcn_perm(from.chunk[1][i / 2], from.chunk[0][i / 2], select);
            if (UNIT_ROWS == 2) {
                *(u32 *)(to + i * TURNED_STEP + row % 4 * 2) = pair;
                continue;
            }
            u32 next = __builtin_amdgcn_perm(from.chunk[UNIT_ROWS - 1][i / 2],
                                             from.chunk[UNIT_ROWS - 2][i / 2], select);
#else
            u32 pair = __builtin_amdgcn_perm(from.chunk[2][i / 2], from.chunk[0][i / 2], select);
            u32 next = __builtin_amdgcn_perm(from.chunk[3][i / 2], from.chunk[1][i / 2], select);
#endif
            *(u32x2 *)(to + i * TURNED_STEP) = u32x2{pair, next};
        }
    }
#if OWNS_KEYS
    if (unit < STREAM_ROWS)
        row_vector[which][vector_slot(unit)] = from.vector;
#endif
}

/* The owned tensors and what the wave knows of its columns. */
struct owned {
    struct rows x[2];
    struct rows_view view[2]; /* of the wave's columns */
    block_frag frag[2][OWNED_IN_LDS ? 1 : SLAB_STEPS];
};

/* Slab `slab` of the wave's columns. */
DEVICE void load_owned(struct owned &y, int slab)
{
#pragma unroll
    for (int t = 0; t < 2; t++) {
#if OWNED_IN_LDS
#pragma unroll 1
        for (u32 at = lane_id(); at < BLOCK * SLAB_CHUNKS; at += KERNEL_WAVE) {
            u32 row = at / SLAB_CHUNKS, chunk = at % SLAB_CHUNKS;
            *(u32x4 *)(owned_tile[t] + row_chunk_at(wave_id() * BLOCK + row, chunk)) =
                load_chunk(y.view[t], y.x[t], row, (u32)slab * SLAB + chunk * CHUNK);
        }
#else
#pragma unroll
        for (int step = 0; step < SLAB_STEPS; step++)
            y.frag[t][step] = load_chunk(y.view[t], y.x[t], lane_column(),
                                         (u32)slab * SLAB + 16 * step + CHUNK * lane_half());
#endif
    }
}

DEVICE block_frag owned_frag(const struct owned &y, int t, int step)
{
    if (OWNED_IN_LDS)
        return row_frag(owned_tile[t], (int)wave_id(), step);
    return y.frag[t][step];
}

/* On wave32 hardware, no operand is loaded before this point is reached: they are the largest. */
DEVICE void few_operands()
{
    if (KERNEL_WAVE == 32)
        __builtin_amdgcn_sched_barrier(0);
}

/* S or dP += X Y^T */
DEVICE void multiply_rows(block_acc &s, const struct owned &y, int t, int block)
{
#pragma unroll
    for (int step = 0; step < SLAB_STEPS; step++) {
        few_operands();
        mma(s, row_frag(row_tile[t], block, step), owned_frag(y, t, step));
    }
}

/* R^T += X^T W, where W is P~ or dS of one block of rows, after begin_round(). */
DEVICE void multiply_turned(block_acc (&r)[SLAB_BLOCKS], const block_acc &w, int t, int block)
{
    const int groups = BLOCK / 16;
    const u32 half = pack_half();
#pragma unroll
    for (int group = 0; group < groups; group++) {
        few_operands();
        block_frag b = pack_p(w, group, half);
#pragma unroll
        for (int i = 0; i < SLAB_BLOCKS; i++)
            mma(r[i], turned_frag(turned_tile[t], i, block * groups + group), b);
    }
}

/*
 * Rows of the stream that a column sees: first .. last. Both grow with the column.
 *
 *     dq      row = key,   column = query:  m + key_first <= n <= m + key_last
 *     dkdv    row = query, column = key:    n - key_last <= m <= n - key_first
 */
struct row_interval {
    int first, last;
};

DEVICE struct row_interval visible_rows(const struct sequence &s, int column)
{
#if OWNS_KEYS
    int first = __builtin_elementwise_sub_sat(column, s.key_last);
    int last = __builtin_elementwise_sub_sat(column, s.key_first), end = s.seq_q - 1;
#else
    int first = __builtin_elementwise_add_sat(column, s.key_first);
    int last = __builtin_elementwise_add_sat(column, s.key_last), end = s.seq_k - 1;
#endif
    return {first > 0 ? first : 0, last < end ? last : end};
}

/* The same for a column that may not exist, and then sees nothing. */
DEVICE struct row_interval visible_rows_below(const struct sequence &s, int column, int columns)
{
    struct row_interval none = {0, -1};
    return column < columns ? visible_rows(s, column) : none;
}

/* What a lane knows of its column. */
struct column {
    int index;
    struct row_interval visible;
    struct row_interval full; /* rows that all columns of the wave see. Uniform */
    struct row_interval any;  /* rows that some column of the wave sees. Uniform */
#if !OWNS_KEYS
    float lse2, delta;
#endif
};

/* Everything that turns S and dP of one head into P~ and dS. Uniform. */
struct context {
    float factor; /* scale * log2(e) */
#if KERNEL_SCORE
    struct score_context score;
#endif
};

DEVICE struct context context_of(const struct attn_problem &a, const struct place &p)
{
    struct context c = {};
    c.factor = a.scale * LOG2_E;
#if KERNEL_SCORE
    c.score = score_context_of(a, p.sequence, p.head);
#else
    (void)p;
#endif
    return c;
}

DEVICE void row_values(float (&lse2)[ACC], float (&delta)[ACC], const struct column &column,
                       int block)
{
#if OWNS_KEYS
    (void)column;
#pragma unroll
    for (int i = 0; i < ACC; i += 4) {
        u32 slot = block * BLOCK + vector_slot(acc_row(i));
        f32x4 l = *(const f32x4 *)&row_vector[0][slot], d = *(const f32x4 *)&row_vector[1][slot];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            lse2[i + j] = l[j];
            delta[i + j] = d[j];
        }
    }
#else
    (void)block;
#pragma unroll
    for (int i = 0; i < ACC; i++) {
        lse2[i] = column.lse2;
        delta[i] = column.delta;
    }
#endif
}

/*
 * S to P~ and dP to dS (without softmax scale), in place, for the block whose first row is `row`.
 * MASKED: some columns do not see some rows.
 */
template <bool MASKED>
DEVICE void differentiate_block(block_acc &s, block_acc &dp, const struct context &context,
                                const struct column &column, int row, int block)
{
    float lse2[ACC], delta[ACC];
    row_values(lse2, delta, column, block);
#pragma unroll
    for (int i = 0; i < ACC; i++) {
        int r = row + (int)acc_row(i);
        bool visible = !MASKED || (r >= column.visible.first && r <= column.visible.last);
#if KERNEL_SCORE
        __builtin_amdgcn_sched_barrier(0);
        float p = 0, ds = 0;
        if (visible) {
            int m = OWNS_KEYS ? r : column.index, n = OWNS_KEYS ? column.index : r;
            struct score_gradient g =
                differentiate(context.score, s[i], dp[i], lse2[i], delta[i], m, n);
            p = g.p_kept;
            ds = g.dx;
        }
#else
        float p = __builtin_amdgcn_exp2f(__builtin_fmaf(s[i], context.factor, -lse2[i]));
        p = visible ? p : 0;
        float ds = p * (dp[i] - delta[i]);
#endif
        s[i] = begin_round(p);
        dp[i] = begin_round(ds);
    }
}

struct results {
    block_acc r[TURNED][SLAB_BLOCKS];
};

/* The tile in LDS: its results. */
DEVICE void compute_block(struct results &to, block_acc &s, block_acc &dp,
                          const struct context &context, const struct column &column, int row,
                          int block)
{
    bool full = !KERNEL_SCORE && row >= column.full.first && row + BLOCK - 1 <= column.full.last;
    if (full)
        differentiate_block<false>(s, dp, context, column, row, block);
    else
        differentiate_block<true>(s, dp, context, column, row, block);
#if OWNS_KEYS
    multiply_turned(to.r[1], s, 1, block);
#endif
    multiply_turned(to.r[0], dp, 0, block);
}

/* Tiles of the stream that some column of the workgroup sees. Uniform. */
struct walk {
    int begin, end;
};

DEVICE struct walk plan_walk(const struct sequence &s, int first_column, int last_column)
{
    int first = visible_rows(s, first_column).first, last = visible_rows(s, last_column).last;
    if (first > last)
        return {0, 0};
    return {first / STREAM_ROWS, last / STREAM_ROWS + 1};
}

/* One pass over the stream for one head and one slab of the results. */
DEVICE void walk_stream(struct results &to, struct owned &y, const struct stream &x,
                        const struct attn_bwd_args &args, const struct context &context,
                        const struct column &column, struct walk walk, int slab, int slabs)
{
    struct cargo cargo;
    if (walk.begin >= walk.end)
        return;
    int next = slab + 1 < slabs ? slab + 1 : 0;
    load_cargo(cargo, x, args, walk.begin, next);
#pragma unroll 1
    for (int tile = walk.begin; tile < walk.end; tile++) {
        int row = tile * STREAM_ROWS;
#if KERNEL_DIM > 128
        block_acc s[STREAM_BLOCKS], dp[STREAM_BLOCKS];
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++)
            s[block] = dp[block] = zero_acc();
#pragma unroll 1
        for (int left = slabs; left > 0; left--) {
            int now = next;
            next = now + 1 < slabs ? now + 1 : 0;
            lds_barrier();
            store_cargo(cargo);
            load_owned(y, now);
            int ahead = left > 1 ? tile : tile + 1 < walk.end ? tile + 1 : tile;
            load_cargo(cargo, x, args, ahead, next);
            lds_barrier();
#pragma unroll
            for (int block = 0; block < STREAM_BLOCKS; block++) {
                multiply_rows(s[block], y, 0, block);
                multiply_rows(dp[block], y, 1, block);
            }
        }
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++)
            compute_block(to, s[block], dp[block], context, column, row + block * BLOCK, block);
#else
        lds_barrier();
        store_cargo(cargo);
        load_cargo(cargo, x, args, tile + 1 < walk.end ? tile + 1 : tile, 0);
        lds_barrier();
#pragma unroll 1
        for (int block = 0; block < STREAM_BLOCKS; block++) {
            block_acc s = zero_acc(), dp = zero_acc();
            multiply_rows(s, y, 0, block);
            multiply_rows(dp, y, 1, block);
            compute_block(to, s, dp, context, column, row + block * BLOCK, block);
        }
#endif
    }
}

/* Rounds one result times `factor` and stores the wave's columns of it. */
DEVICE void store_result(const block_acc (&r)[SLAB_BLOCKS], float factor, const struct rows &x,
                         struct rows_view view, int slab)
{
    u32 column = stay_here(lane_column()), half = stay_here(lane_half());
#pragma unroll
    for (int block = 0; block < SLAB_BLOCKS; block++)
#pragma unroll
        for (int i = 0; i < ACC; i += 4) {
            u32x2 four = {round_pair_even(r[block][i] * factor, r[block][i + 1] * factor),
                          round_pair_even(r[block][i + 2] * factor, r[block][i + 3] * factor)};
            store_half_chunk(view, x, column, (u32)slab * SLAB + result_channel(block, i, half),
                             four);
        }
}

#endif
