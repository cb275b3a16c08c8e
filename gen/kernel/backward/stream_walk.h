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
 * Head dims beyond SLAB are cut into slabs of it. Where there are registers for all WALK_SLABS of
 * them, one walk computes the results; else a walk computes one slab of them: on each tile it adds
 * up S and dP over all slabs, its own one last, which so lies in LDS when the results want it. On
 * wave64 hardware whole_walk.h has all slabs of one result, and pair_walk.h those of both.
 *
 * Compile-time parameters beside those of images/matrix.def: OWNS_KEYS (dkdv), STREAM_ROWS,
 * OWNED_ROWS = WAVES * BLOCK, SUMS_ELEMENTS (no results, but sums over elements of dS), SUMS_DQ
 * (dkdv: dQ, too; fused_walk.h).
 */
#ifndef AOTHIP_ATTN_BWD_WALK_H
#define AOTHIP_ATTN_BWD_WALK_H

#include "gradient_block.h"
#include "lds_tiles.h"
#if TERMS_NEAR && DBIAS_BESIDE
#include "dbias_beside.h"
#endif

/* Whether the blocks of a tile stand one after another, all places in LDS known, and nothing of
 * one waits for the next. */
#define UNROLLS_TILE (KERNEL_WAVE == 32 && !KERNEL_SCORE && KERNEL_DIM == 64)

constexpr int STREAM_BLOCKS = STREAM_ROWS / BLOCK;
/* Sums have registers of their own. */
constexpr int BLOCKS_AT_ONCE = SUMS_ELEMENTS || UNROLLS_TILE ? STREAM_BLOCKS : 1;
/* streamed tensors wanted in both orders */
constexpr int TURNED = SUMS_ELEMENTS ? 0 : GRADIENTS_APART ? 1 : 1 + OWNS_KEYS;
constexpr int CARRIERS = CARRIES_BOTH ? THREADS : THREADS / 2; /* threads that carry one tensor */
/* rows whose chunk, or quad, a thread carries */
constexpr int UNIT_ROWS = STREAM_ROWS * (CARRIES_BOTH ? SLAB / 4 : SLAB_CHUNKS) / CARRIERS;

/*
 * On wave32 hardware the owned operands of more than 64 channels do not fit into registers beside
 * the results, but for FITS_128. Each wave keeps its own in LDS, but for teams, which share them.
 * For OWNED_AGAIN see gradient_rows.h.
 */
#define OWNED_IN_LDS (KERNEL_WAVE == 32 && KERNEL_DIM > (FITS_128 ? 128 : 64) && !SHARES_CHANNELS)

/* Waves that own the same columns, where each has SLICE channels of one tensor: team_walk.h. */
constexpr int SLICE = SHARES_CHANNELS && SLAB > 128 ? 128 : SLAB;
constexpr int SLICES = SHARES_CHANNELS ? SLAB / SLICE : 1;
constexpr int SLICE_STEPS = SLICE / 16;
constexpr int TEAM = SHARES_CHANNELS || IN_PAIRS ? 2 * SLICES : 1;

/* Whether LDS has room for the tile in one order at a time only. */
#define TILES_IN_TURN (SHARES_CHANNELS && KERNEL_DIM > 256)

static_assert(KERNEL_DIM <= WALK_DIM || KERNEL_SCORE, "walks for slabs come with all features");
static_assert(OWNED_ROWS * TEAM == KERNEL_WAVES * BLOCK, "a wave or a team owns one block");
static_assert(UNIT_ROWS == 4 || UNIT_ROWS == (KERNEL_WAVE == 64 ? 2 : 8), "what duty_of() knows");
static_assert(KERNEL_WAVES % 2 == 0, "a wave carries one tensor");

#if TILES_IN_TURN
static SHARED union __attribute__((aligned(16))) {
    struct {
        char row[2][STREAM_ROWS * ROW_BYTES];
        float part[KERNEL_WAVES][ACC * KERNEL_WAVE]; /* of S and dP: team_walk.h */
    };
    char turned[TURNED][WALK_BLOCKS * LINE_BLOCK_BYTES];
} tiles;
#define row_tile tiles.row
#define turned_tile tiles.turned
#elif IN_PAIRS
/* Of a slab, as rows or as columns. */
static SHARED union __attribute__((aligned(16))) {
    char row[2][STREAM_ROWS * ROW_BYTES];
    char turned[2][SLAB / BLOCK * LINE_BLOCK_BYTES];
} stage_tile[2];
#define row_tile stage_tile[0].row
#define turned_tile stage_tile[0].turned
#else
static SHARED __attribute__((aligned(16))) char row_tile[2][STREAM_ROWS * ROW_BYTES];
static SHARED __attribute__((aligned(
    16))) char turned_tile[TURNED ? TURNED : 1][TURNED ? WALK_DIM / BLOCK * LINE_BLOCK_BYTES : 16];
#endif
static SHARED
    __attribute__((aligned(16))) char owned_tile[2][OWNED_IN_LDS ? OWNED_ROWS * ROW_BYTES : 16];

#if !KERNEL_SCORE
/* Of natural scores and -lse; see weight_of(). The scores are rounded as lse was. */
DEVICE f32x2 wide_exponents(f32x2 scores, f32x2 negative_lse, float raise)
{
    asm("" : "+v"(scores));
    f32x2 less = scores + negative_lse;
    less = f32x2{less.x > 0 ? 0 : less.x, less.y > 0 ? 0 : less.y};
    return LIFTS ? less * LOG2_E + raise : less * LOG2_E;
}

/* A score that gives P = 0 wherever a column of S does not see the row. */
template <class V>
DEVICE void mask_rows(V &s, const struct context &context, const struct column &column, int row)
{
    const float masked = stay_here(context.masked);
#pragma unroll
    for (int i = 0; i < elements_of<V>(); i++)
        s[i] = sees(column, row, i) ? s[i] : masked;
}

/* The same, of a block that may be one which all columns of the wave see. */
template <class V>
DEVICE void hide_rows(V &s, const struct context &context, const struct column &column, int row)
{
    if (row < awaited_long(column.full.first) || row + BLOCK - 1 > awaited_long(column.full.last))
        mask_rows(s, context, column, row);
}

/* Each element by itself: where some of them change, the compiler would copy the others. */
template <class V> DEVICE void stay_elements(V &x)
{
#pragma unroll
    for (int i = 0; i < elements_of<V>(); i++) {
        float one = x[i];
        asm volatile("" : "+v"(one));
        x[i] = one;
    }
}

/* Exponents of P of two scores and their lse, which is negated. Pairs: wave64 hardware has
 * instructions for them. */
template <enum lse_form form>
DEVICE f32x2 exponents_of(f32x2 x, f32x2 negative_lse, const struct context &context,
                          const struct column &column)
{
#if OWNED_AGAIN
    const f32x2 factor = context.factor_pair;
#else
    const f32x2 factor = context.factor;
#endif
    return form == LSE_BASE2 ? __builtin_elementwise_fma(x, factor, negative_lse)
                             : wide_exponents(x * factor, negative_lse, raise_of(column));
}

template <enum lse_form form>
DEVICE f32x2 weights_of(f32x2 x, f32x2 negative_lse, const struct context &context,
                        const struct column &column)
{
    x = exponents_of<form>(x, negative_lse, context, column);
    return f32x2{__builtin_amdgcn_exp2f(x.x), __builtin_amdgcn_exp2f(x.y)};
}

/* lse of a block of rows, or of some of them: `vector` is as in row_values(). */
template <class V> DEVICE V lse_values(const struct column &column, int block, const char *vector)
{
#if OWNS_KEYS
    (void)column;
    return row_values<V>(0, block, vector);
#else
    (void)block;
    (void)vector;
    return column.lse;
#endif
}

/*
 * S to P and dP to dS, after begin_round(), in place, for a block of rows or for some of them,
 * which have `lse`.
 */
template <enum gradient of, enum lse_form form, class V>
DEVICE void differentiate_part(V &s, V &dp, const struct context &context,
                               const struct column &column, const V &lse)
{
#pragma unroll
    for (int i = 0; i < elements_of<V>(); i += 2) {
        const int j = i + 1 < elements_of<V>() ? i + 1 : i;
        const f32x2 x =
            weights_of<form>(f32x2{s[i], s[j]}, -LSE_SIGN * f32x2{lse[i], lse[j]}, context, column);
        f32x2 y = {dp[i], dp[j]};
#if !DELTA_FIRST
        y -= f32x2(column.delta);
#endif
#if FOLDS_PRODUCT
        s[i] = x.x;
        s[j] = x.y;
        dp[i] = y.x;
        dp[j] = y.y;
#else
        y *= x;
        s[i] = begin_round(x.x);
        s[j] = begin_round(x.y);
        dp[i] = begin_round(y.x);
        dp[j] = begin_round(y.y);
#endif
    }
}

template <enum gradient of, enum lse_form form>
DEVICE void differentiate_block(block_acc &s, block_acc &dp, const struct context &context,
                                const struct column &column, int row, int block)
{
    if (KERNEL_WAVE == 32)
        stay_elements(s);
    hide_rows(s, context, column, row);
    differentiate_part<of, form>(s, dp, context, column,
                                 lse_values<block_acc>(column, block, nullptr));
}
#endif

#define HOLDS_STORES                                                                               \
    (SHARES_CHANNELS || (KERNEL_WAVE == 32 && KERNEL_DIM == 64 && !KERNEL_SCORE && !SUMS_ELEMENTS))

#include "walk_operands.h"
#include "walk_places.h"
#if SUMS_DQ
#include "fused_walk.h"
#endif

/* Slabs of the larger head dim. */
DEVICE int used_slabs(const struct attn_problem &a)
{
    return ((a.dim_qk > a.dim_v ? a.dim_qk : a.dim_v) + SLAB - 1) / SLAB;
}

/* The same, but as many as a walk has where that suffices. */
DEVICE int slabs_of(const struct attn_problem &a)
{
    return KERNEL_DIM <= WALK_DIM ? WALK_SLABS : used_slabs(a);
}

#if SHARES_CHANNELS
#include "team_walk.h"
#else

#include "walk_products.h"

#if !SUMS_ELEMENTS
/* What a walk computes of the gradients, and what one block of rows adds to it. */
struct results {
    block_acc r[IN_PAIRS ? 1 : TURNED][WALK_BLOCKS];
};

#if WALKS_WHOLE || IN_PAIRS
/* See whole_walk.h, pair_walk.h. */
#elif TERMS_NEAR && !OWNS_KEYS
DEVICE void take_block(struct results &to, block_acc &p, block_acc &ds,
                       const struct context &context, const struct column &column, int row,
                       int block)
{
    const u32 half = pack_half();
    (void)half;
    (void)context;
    (void)column;
    (void)row;
#if ROUNDS_PRODUCTS
#if DBIAS_BESIDE
    if (has_term(context.terms, KERNARG_TERM_DBIAS_F32))
        store_wide_dbias(p * ds, context, column, row);
#endif
    const struct packed_block packed = pack_products(p, ds);
#else
    (void)p;
#if DBIAS_BESIDE
    if (has_term(context.terms, KERNARG_TERM_DBIAS_F32))
        store_wide_dbias(ds, context, column, row);
#endif
    no_further();
    begin_block(ds);
    const struct packed_block packed = pack_block(ds, half);
#endif
#if DBIAS_BESIDE
    if (has_term(context.terms, KERNARG_TERM_DBIAS))
        store_dbias(packed, context, column, row, half);
#endif
    multiply_turned(to.r[0], 0, block, [&](int group) { return packed.group[group]; });
}
#else
/* pack_half(), by scalar instructions alone where the compiler has a way to say so. */
DEVICE u32 pack_half_here()
{
#if UNROLLS_TILE && __has_builtin(__builtin_amdgcn_inverse_ballot_w32)
    return !__builtin_amdgcn_inverse_ballot_w32(hold_scalar(0xffffu));
#else
    return pack_half();
#endif
}

DEVICE void take_block(struct results &to, block_acc &p, block_acc &ds, const struct context &,
                       const struct column &, int, int block)
{
#if ROUNDS_PRODUCTS
    multiply_turned(to.r[1], p, 1, block);
    multiply_turned(to.r[0], 0, block, [&](int group) { return packed_products(ds, group); });
    return;
#endif
#if TERMS_NEAR
    begin_block(p);
    begin_block(ds);
#endif
    no_further();
#if FOLDS_PRODUCT
    const u32 half = pack_half_here();
#if OWNS_KEYS
    multiply_turned(to.r[1], 1, block, [&](int) {
        return pack_pairs(
            half, [&](int i) { return round_weights(p[2 * i], p[2 * i + 1]); },
            [](int) { return dying_one(); });
    });
#endif
    multiply_turned(to.r[0], 0, block, [&](int) {
        return pack_pairs(
            half,
            [&](int i) {
                return round_products(f32x2{p[2 * i], p[2 * i + 1]},
                                      f32x2{ds[2 * i], ds[2 * i + 1]});
            },
            [](int) { return dying_one(); });
    });
#else
#if OWNS_KEYS
    multiply_turned(to.r[1], p, 1, block);
#else
    (void)p;
#endif
    multiply_turned(to.r[0], ds, 0, block);
#endif
}
#endif
#endif

#if UNROLLS_TILE
/* As stay_product(), for what a block of rows has added. */
DEVICE void stay_results(struct results &to)
{
#pragma unroll
    for (int t = 0; t < TURNED; t++)
#pragma unroll
        for (int i = 0; i < WALK_BLOCKS; i++)
            asm volatile("" : "+v"(to.r[t][i]));
}
#endif

#if MIXES_PRODUCTS
#include "products_beside.h"
#elif IN_PAIRS
#include "pair_walk.h"
#elif WALKS_WHOLE
#include "whole_walk.h"
#endif

/*
 * One pass over the stream, of one tile at least, for one head and one slab of the results, which
 * take each block of P~ and dS.
 */
template <enum gradient of, enum lse_form form = LSE_USUAL, class R>
DEVICE void walk_stream(R &to, struct owned &y, struct stream &x, const struct context &context,
                        const struct column &column, struct walk walk, int slab)
{
#if MIXES_PRODUCTS
    (void)slab;
    walk_mixed<form>(to, y, x, context, column, walk);
#elif IN_PAIRS
    (void)slab;
    walk_pairs<form>(to, y, x, context, column, walk);
#elif WALKS_WHOLE
    walk_whole<of, form>(to, y, x, context, column, walk, slab);
#else
    struct cargo cargo;
    const struct start start = start_of(column);
    (void)start; /* with slabs */
#if UNROLLS_TILE
    const struct seen_rows seen = seen_by_all(column, STREAM_ROWS);
#endif
    int next = KERNEL_DIM > WALK_DIM && slab + 1 < slabs_of(args_here().problem) ? slab + 1 : 0;
    const u32 packed_duty = pack_duty(duty_of(thread_id() % CARRIERS));
#if HOLDS_STORES
    const struct stores stores = find_stores(unpack_duty(packed_duty));
#endif
    load_cargo(cargo, unpack_duty(packed_duty), x, next);
    int tile = walk.begin;
#pragma unroll 1
    do {
        int row = tile * STREAM_ROWS;
#if OWNED_PER_TILE
        block_acc s[STREAM_BLOCKS], dp[STREAM_BLOCKS];
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++)
            s[block] = dp[block] = zero_acc();
        const int slabs = slabs_of(args_here().problem);
#pragma unroll 1
        for (int left = slabs; left > 0; left--) {
            int now = next;
            next = now + 1 < slabs ? now + 1 : 0;
            const struct duty duty = unpack_duty(packed_duty);
            lds_barrier();
            store_cargo<form>(cargo, duty, x, 0);
            if (left == 1)
                advance(x);
            load_cargo(cargo, duty, x, next);
            load_owned(args_here(), y, context.place, 0, now);
            lds_barrier();
#pragma unroll
            for (int block = 0; block < STREAM_BLOCKS; block++)
                multiply_rows(s[block], y, 0, 0, block);
            __builtin_amdgcn_sched_barrier(0); /* registers are short: one tensor at a time */
            load_owned(args_here(), y, context.place, 1, now);
#pragma unroll
            for (int block = 0; block < STREAM_BLOCKS; block++)
                multiply_rows(dp[block], y, 1, 0, block);
        }
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++) {
            no_further();
            differentiate_block<of, form>(s[block], dp[block], context, column, row + block * BLOCK,
                                          block);
            take_block(to, s[block], dp[block], context, column, row + block * BLOCK, block);
        }
#elif WALK_SLABS > 1
        const struct duty duty = unpack_duty(packed_duty);
        block_acc s = zero_acc(), dp;
#if READS_AHEAD && OWNS_KEYS && PINS_RESULTS
#pragma unroll
        for (int t = 0; t < TURNED; t++)
#pragma unroll
            for (int i = 1; i < WALK_BLOCKS; i++)
                asm volatile("" : "+a"(to.r[t][i]));
#endif
#pragma unroll
        for (int now = 0; now < WALK_SLABS; now++) {
            lds_barrier();
            store_cargo<form>(cargo, duty, x, now);
            if (now + 1 == WALK_SLABS)
                advance(x);
            load_cargo(cargo, duty, x, (now + 1) % WALK_SLABS);
            lds_barrier();
            if (now == 0)
                dp = first_dp(0, start);
#if READS_AHEAD
            if (now + 1 < WALK_SLABS)
                multiply_slab<SLAB_STEPS>(s, dp, y, now);
            else
                multiply_slab<LAST_STEPS>(s, dp, y, now);
#else
            multiply_rows(s, y, 0, now, 0);
            find_again(y);
            multiply_rows(dp, y, 1, now, 0);
            __builtin_amdgcn_sched_barrier(0); /* registers are short */
#endif
        }
        differentiate_block<of, form>(s, dp, context, column, row, 0);
        take_block(to, s, dp, context, column, row, 0);
#else
        const struct duty duty = unpack_duty(packed_duty);
        lds_barrier();
#if HOLDS_STORES
        store_cargo<form>(cargo, duty, x, stores);
#if LSE_IN_LANES
        const float lse = cargo.lse * x.lse_factor;
#endif
#else
        store_cargo<form>(cargo, duty, x, 0);
#endif
        advance(x);
        load_cargo(cargo, duty, x, 0);
        lds_barrier();
#if UNROLLS_TILE
        const bool whole = is_seen(seen, row);
#endif
#pragma unroll BLOCKS_AT_ONCE
        for (int block = 0; block < STREAM_BLOCKS; block++) {
            block_acc s = first_s(start), dp = first_dp(block, start);
            struct context now = context;
#if TERMS_NEAR && KEEP_AHEAD
            now.ahead =
                fetch_keep(now.keep, now.place, now.terms, column.index, row + block * BLOCK);
#elif TERMS_NEAR
            now.ahead = fetch_bias(now.terms, row + block * BLOCK);
#endif
#if READS_PAIRS && MMA_STRAIGHT
            multiply_both(s, dp, y, block);
            stay_product(s);
#else
            multiply_rows(s, y, 0, 0, block);
            stay_product(s);
            find_again(y);
            multiply_rows(dp, y, 1, 0, block);
#endif
            stay_product(dp);
            no_further();
#if UNROLLS_TILE
            stay_elements(s);
            if (!whole)
                mask_rows(s, now, column, hold_scalar(row + block * BLOCK));
#if LSE_IN_LANES
            differentiate_part<of, form>(s, dp, now, column, lane_values(lse, block));
#else
            differentiate_part<of, form>(s, dp, now, column,
                                         lse_values<block_acc>(column, block, nullptr));
#endif
#else
            differentiate_block<of, form>(s, dp, now, column, row + block * BLOCK, block);
#endif
            take_block(to, s, dp, context, column, row + block * BLOCK, block);
#if UNROLLS_TILE
            stay_results(to);
#endif
        }
#endif
    } while (++tile < walk.end);
#endif
}

#endif

/* Rounds blocks of one result times `factor`, from channel `first` on, and stores the columns. */
template <int blocks>
DEVICE void store_result(const block_acc (&r)[blocks], float factor, const struct rows &x,
                         struct rows_view view, int first)
{
    u32 lane = lane_id();
    asm volatile("" : "+v"(lane)); /* or channels would be kept from load_owned() on */
    u32 column = lane % BLOCK, half = lane / BLOCK;
    if (KERNEL_DIM > WALK_DIM) /* or the place of each store would be counted along with slabs */
        asm volatile("" : "+s"(first));
#pragma unroll
    for (int block = 0; block < blocks; block++)
#pragma unroll
        for (int run = 0; run < ACC / RESULT_RUN; run++) {
            result_pairs pairs;
#pragma unroll
#if SUMS_DQ
            for (int i = 0; i < RESULT_RUN; i += 4) {
                f32x2 x[2];
#pragma unroll
                for (int j = 0; j < 2; j++)
                    x[j] = f32x2{r[block][result_element(run, i + 2 * j)],
                                 r[block][result_element(run, i + 2 * j + 1)]} *
                           factor;
                float a = x[0].x, b = x[0].y, c = x[1].x, d = x[1].y;
                settle_four(a, b, c, d);
                pairs[i / 2] = round_settled_pair(a, b);
                pairs[i / 2 + 1] = round_settled_pair(c, d);
            }
#else
            for (int i = 0; i < RESULT_RUN; i += 2)
                pairs[i / 2] = round_pair_even(r[block][result_element(run, i)] * factor,
                                               r[block][result_element(run, i + 1)] * factor);
#endif
            store_chunk(view, x, column, (u32)first + result_channel(block, run, half), pairs);
        }
}

#endif
