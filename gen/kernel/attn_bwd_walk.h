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

/*
 * On wave64 hardware they do, but for V beside dK and dV of 128 channels: two waves a SIMD leave
 * 256 registers, of which the results take half. V comes from memory, where it is in the cache,
 * again for every block of rows.
 */
#define OWNED_AGAIN (OWNS_KEYS && KERNEL_WAVE == 64 && KERNEL_DIM == 128 && !KERNEL_UNALIGNED)

/* dP starts from -delta, which saves subtracting it. Dropout scales dP, but not delta. */
#define DELTA_FIRST (OWNS_KEYS && !KERNEL_SCORE)

static_assert(KERNEL_DIM <= SLAB || KERNEL_SCORE, "slabs come with all features");
static_assert(OWNED_ROWS == KERNEL_WAVES * BLOCK, "a wave owns one block");
static_assert(UNIT_ROWS % 4 == 0 || (UNIT_ROWS == 2 && KERNEL_WAVE == 64),
              "quads or pairs of rows");
static_assert(KERNEL_WAVES % 2 == 0, "a wave carries one tensor");

static SHARED __attribute__((aligned(16))) char row_tile[2][STREAM_ROWS * ROW_BYTES];
static SHARED __attribute__((aligned(16))) char turned_tile[TURNED][SLAB * LINE_BYTES];
static SHARED
    __attribute__((aligned(16))) char owned_tile[2][OWNED_IN_LDS ? OWNED_ROWS * ROW_BYTES : 16];
#if OWNS_KEYS
static SHARED __attribute__((aligned(16))) float row_vector[2][STREAM_ROWS]; /* lse2, delta */
#endif

typedef float f32x4 __attribute__((ext_vector_type(4)));

/*
 * The kernel's arguments, read again from here on. What a walk does not need then waits in memory
 * meanwhile: held in scalar registers, it would be more than there are.
 */
DEVICE void read_again(struct attn_bwd_args &args)
{
    kernarg_u64 from = (kernarg_u64)__builtin_amdgcn_kernarg_segment_ptr();
    asm volatile("" : "+s"(from));
#pragma unroll
    for (u32 i = 0; i < sizeof(args) / 8; i++) {
        kernarg_u64 word = ((const __attribute__((address_space(4))) kernarg_u64 *)from)[i];
        __builtin_memcpy((char *)&args + i * 8, &word, 8);
    }
}

/* What streams by, for one query head. Uniform. */
struct stream {
    struct rows mine;      /* of the tensor that this wave carries */
    struct rows_view view; /* of it, from the next tile to load on */
#if OWNS_KEYS
    __amdgpu_buffer_rsrc_t vector; /* the wave carries lse with X0, delta with X1 */
    u32 vector_pitch, vector_from; /* bytes from row to row; of the next tile */
    float factor; /* for it: lse becomes a logarithm to base 2, delta maybe -delta */
#endif
};

/* Goes to tile `tile`; to the next one. */
DEVICE void rewind(struct stream &x, int tile, int end)
{
    x.view = view_of(x.mine, tile * STREAM_ROWS, end);
#if OWNS_KEYS
    x.vector_from = (u32)tile * STREAM_ROWS * x.vector_pitch;
#endif
}

DEVICE void advance(struct stream &x)
{
    x.view.first += x.mine.pitch * STREAM_ROWS;
    x.view.count -= STREAM_ROWS;
#if OWNS_KEYS
    x.vector_from += x.vector_pitch * STREAM_ROWS;
#endif
}

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
    if (KERNEL_UNALIGNED || OWNED_AGAIN)
        asm volatile("" : "+v"(x));
    return x;
}

/* Slab `slab` of the stream's tile, on its way. */
DEVICE void load_cargo(struct cargo &to, const struct stream &x, int slab)
{
    u32 unit = stay_here(thread_id() % CARRIERS);
    load_chunks<UNIT_ROWS>(to.chunk, x.view, x.mine, unit / SLAB_CHUNKS * UNIT_ROWS,
                           (u32)slab * SLAB + unit % SLAB_CHUNKS * CHUNK);
#if OWNS_KEYS
    u32 offset = unit % STREAM_ROWS * x.vector_pitch + x.vector_from;
    to.vector = __builtin_bit_cast(
        float, __builtin_amdgcn_raw_buffer_load_b32(x.vector, (int)offset, 0, 0));
#endif
}

/* Place of row `row` in row_vector: a lane's rows of a block one after another. */
DEVICE u32 vector_slot(u32 row)
{
    return KERNEL_WAVE == 64 ? row : row / 16 * 16 + row % 2 * 8 + row % 16 / 2;
}

/* Rows first .. of the unit, the first of which is row `row` of the tile, as columns. */
DEVICE void turn_rows(char *tile, const struct cargo &from, int first, u32 row, u32 chunk)
{
    /* A quad is (0, pair), (next, last); a unit of two rows is half of one. */
    const int pair = VT_PAIR_STEP, last = UNIT_ROWS == 2 ? 1 : 3,
              next = UNIT_ROWS == 2 ? 0 : 3 - pair;
    const u32x4 *x = from.chunk + first;
    char *to = tile + turned_quad_at(chunk * CHUNK, row / 4);
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
        u32 select = i % 2 ? UPPER_HALVES : LOWER_HALVES;
        u32 low = __builtin_amdgcn_perm(x[pair][i / 2], x[0][i / 2], select);
        if (UNIT_ROWS == 2)
            *(u32 *)(to + i * TURNED_STEP + row % 4 * 2) = low;
        else
            *(u32x2 *)(to + i * TURNED_STEP) =
                u32x2{low, __builtin_amdgcn_perm(x[last][i / 2], x[next][i / 2], select)};
    }
}

DEVICE void store_cargo(const struct cargo &from, const struct stream &x)
{
    u32 unit = stay_here(thread_id() % CARRIERS), chunk = unit % SLAB_CHUNKS, which = carrier();
    u32 row = unit / SLAB_CHUNKS * UNIT_ROWS;
#pragma unroll
    for (int i = 0; i < UNIT_ROWS; i++)
        *(u32x4 *)(row_tile[which] + row_chunk_at(row + i, chunk)) = from.chunk[i];
    if (OWNS_KEYS || which == 0) {
#pragma unroll
        for (int first = 0; first < UNIT_ROWS; first += 4)
            turn_rows(turned_tile[TURNED == 2 ? which : 0], from, first, row + first, chunk);
    }
#if OWNS_KEYS
    if (unit < STREAM_ROWS)
        row_vector[which][vector_slot(unit)] = from.vector * x.factor;
#else
    (void)x;
#endif
}

/* The owned tensors and what the wave knows of its columns. */
struct owned {
    struct rows x[2];
    struct rows_view view[2]; /* of the wave's columns */
    block_frag frag[2][OWNED_IN_LDS ? 1 : SLAB_STEPS];
#if OWNED_AGAIN
    __amdgpu_buffer_rsrc_t buffer; /* of V */
    u32 again;                     /* where the lane's first chunk of V lies in it */
    int room;                      /* channels from there to the row's end */
#endif
};

/* Slab `slab` of the wave's columns. */
DEVICE void load_owned(struct owned &y, int slab)
{
#pragma unroll
    for (int t = 0; t < 2 - OWNED_AGAIN; t++) {
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
#if OWNED_AGAIN
    y.buffer = describe(y.view[1], y.x[1]);
#endif
}

DEVICE block_frag owned_frag(const struct owned &y, int t, int step)
{
    if (OWNED_IN_LDS)
        return row_frag(owned_tile[t], (int)wave_id(), step);
#if OWNED_AGAIN
    if (t == 1)
        return load_chunk_at(y.buffer, 16 * step < y.room ? y.again : NOWHERE, 32 * step);
#endif
    return y.frag[t][step];
}

/*
 * On wave32 hardware operands are the largest thing in the registers: those of one instruction are
 * there while those of the next one are on their way, and the compiler may not load more ahead.
 */
DEVICE void no_further()
{
    if (KERNEL_WAVE == 32)
        __builtin_amdgcn_sched_barrier(0);
}

/* S or dP += X Y^T */
DEVICE void multiply_rows(block_acc &s, const struct owned &y, int t, int block)
{
    block_frag a = row_frag(row_tile[t], block, 0), b = owned_frag(y, t, 0);
#pragma unroll
    for (int step = 0; step < SLAB_STEPS; step++) {
        block_frag now_a = a, now_b = b;
        if (step + 1 < SLAB_STEPS) {
            a = row_frag(row_tile[t], block, step + 1);
            b = owned_frag(y, t, step + 1);
        }
        no_further();
        mma(s, now_a, now_b);
    }
}

/* R^T += X^T W, where W is P~ or dS of one block of rows, after begin_round(). */
DEVICE void multiply_turned(block_acc (&r)[SLAB_BLOCKS], const block_acc &w, int t, int block)
{
    const int groups = BLOCK / 16;
    const u32 half = pack_half();
    no_further();
#pragma unroll
    for (int group = 0; group < groups; group++) {
        int at = block * groups + group;
        block_frag b = pack_p(w, group, half), a = turned_frag(turned_tile[t], 0, at);
#pragma unroll
        for (int i = 0; i < SLAB_BLOCKS; i++) {
            block_frag now = a;
            if (i + 1 < SLAB_BLOCKS)
                a = turned_frag(turned_tile[t], i + 1, at);
            no_further();
            mma(r[i], now, b);
        }
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
    u32 count;                /* rows in it */
    struct row_interval full; /* rows that all columns of the wave see. Uniform */
    struct row_interval any;  /* rows that some column of the wave sees. Uniform */
#if !OWNS_KEYS
    float lse2, delta;
#endif
};

/* Everything that turns S and dP of one head into P~ and dS. Uniform. */
struct context {
#if KERNEL_SCORE
    struct score_context score;
#else
    float factor; /* scale * log2(e), not 0: the smallest number does to a score what 0 would */
    float masked; /* a score that gives P = 0 */
#endif
};

DEVICE struct context context_of(const struct attn_problem &a, const struct place &p)
{
    struct context c = {};
#if KERNEL_SCORE
    c.score = score_context_of(a, p.sequence, p.head);
#else
    (void)p;
    c.factor = a.scale * LOG2_E;
    if (__builtin_fabsf(c.factor) < 0x1p-149f)
        c.factor = 0x1p-149f;
    c.masked = c.factor > 0 ? -__builtin_inff() : __builtin_inff();
#endif
    return c;
}

#if OWNS_KEYS
/* What row_vector[which] has for this lane's rows of a block. */
DEVICE block_acc row_values(int which, int block)
{
    block_acc x;
#pragma unroll
    for (int i = 0; i < ACC; i += 4) {
        u32 slot = block * BLOCK + vector_slot(acc_row(i));
        f32x4 four = *(const f32x4 *)&row_vector[which][slot];
#pragma unroll
        for (int j = 0; j < 4; j++)
            x[i + j] = four[j];
    }
    return x;
}
#endif

/* What dP starts from. */
DEVICE block_acc first_dp(int block)
{
#if DELTA_FIRST
    return row_values(1, block);
#else
    (void)block;
    return zero_acc();
#endif
}

/* Whether the column sees row `row` + acc_row(i). */
DEVICE bool sees(const struct column &column, int row, int i)
{
    u32 above = (u32)(row + (int)acc_row(0) - column.visible.first);
    return above + (acc_row(i) - acc_row(0)) < column.count;
}

#if KERNEL_SCORE

/* S to P~ and dP to dX, in place, for the block whose first row is `row`. */
DEVICE void differentiate_block(block_acc &s, block_acc &dp, const struct context &context,
                                const struct column &column, int row, int block)
{
#if OWNS_KEYS
    const block_acc lse2 = row_values(0, block), delta = row_values(1, block);
#else
    const block_acc lse2 = column.lse2, delta = column.delta;
    (void)block;
#endif
#pragma unroll
    for (int i = 0; i < ACC; i++) {
        __builtin_amdgcn_sched_barrier(0);
        struct score_gradient g = {0, 0, 0};
        int r = row + (int)acc_row(i);
        if (sees(column, row, i)) {
            int m = OWNS_KEYS ? r : column.index, n = OWNS_KEYS ? column.index : r;
            g = differentiate(context.score, s[i], dp[i], lse2[i], delta[i], m, n);
        }
        s[i] = begin_round(g.p_kept);
        dp[i] = begin_round(g.dx);
    }
}

#else

/* S to P and dP to dS, in place, for the block whose first row is `row`. */
DEVICE void differentiate_block(block_acc &s, block_acc &dp, const struct context &context,
                                const struct column &column, int row, int block)
{
    /* On wave32 hardware always: the registers do not suffice for two ways through the loop. */
    if (KERNEL_WAVE == 32 || row < column.full.first || row + BLOCK - 1 > column.full.last)
#pragma unroll
        for (int i = 0; i < ACC; i++)
            s[i] = sees(column, row, i) ? s[i] : context.masked;
#if OWNS_KEYS
    const block_acc lse2 = row_values(0, block);
#else
    const block_acc lse2 = column.lse2;
    (void)block;
#endif
#pragma unroll
    for (int i = 0; i < ACC; i += 2) { /* pairs: wave64 hardware has instructions for them */
        f32x2 x = {s[i], s[i + 1]}, y = {dp[i], dp[i + 1]}, l = {lse2[i], lse2[i + 1]};
        x = __builtin_elementwise_fma(x, f32x2(context.factor), -l);
        x = f32x2{__builtin_amdgcn_exp2f(x.x), __builtin_amdgcn_exp2f(x.y)};
#if !DELTA_FIRST
        y -= f32x2(column.delta);
#endif
        y *= x;
        s[i] = begin_round(x.x);
        s[i + 1] = begin_round(x.y);
        dp[i] = begin_round(y.x);
        dp[i + 1] = begin_round(y.y);
    }
}

#endif

struct results {
    block_acc r[TURNED][SLAB_BLOCKS];
};

/* The tile in LDS: its results. */
DEVICE void compute_block(struct results &to, block_acc &s, block_acc &dp,
                          const struct context &context, const struct column &column, int row,
                          int block)
{
    no_further();
    differentiate_block(s, dp, context, column, row, block);
    no_further();
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
DEVICE void walk_stream(struct results &to, struct owned &y, struct stream &x,
                        const struct context &context, const struct column &column,
                        struct walk walk, int slab, int slabs)
{
    struct cargo cargo;
    if (walk.begin >= walk.end)
        return;
    int next = slab + 1 < slabs ? slab + 1 : 0;
    load_cargo(cargo, x, next);
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
            store_cargo(cargo, x);
            load_owned(y, now);
            if (left == 1)
                advance(x);
            load_cargo(cargo, x, next);
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
        store_cargo(cargo, x);
        advance(x);
        load_cargo(cargo, x, 0);
        lds_barrier();
#pragma unroll 1
        for (int block = 0; block < STREAM_BLOCKS; block++) {
            block_acc s = zero_acc(), dp = first_dp(block);
            multiply_rows(s, y, 0, block);
#if OWNED_AGAIN
            u32 lane = stay_here(lane_id()); /* or V would be loaded once, and spilled */
            y.again = lane % BLOCK * (u32)y.x[1].pitch + CHUNK_BYTES * (lane / BLOCK);
            y.room = y.x[1].dim - CHUNK * (int)(lane / BLOCK);
#endif
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
