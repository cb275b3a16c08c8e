/*
 * Operands that are read from LDS some products ahead, and products with something beside their
 * instructions: what products_beside.h is made of.
 */
#ifndef AOTHIP_ATTN_BWD_OPERANDS_AHEAD_H
#define AOTHIP_ATTN_BWD_OPERANDS_AHEAD_H

#include "packed_block.h"

constexpr int PAIRS = ACC / 2; /* of elements that a lane has of a block */
constexpr int GROUP_PAIRS = PAIRS / BLOCK_GROUPS;
constexpr int ROW_SLICES = MMA_PARTS * SLAB_STEPS;
constexpr int ROW_PRODUCTS = STREAM_BLOCKS * 2 * SLAB_STEPS;
constexpr int RESULT_PRODUCTS = BLOCK_GROUPS * WALK_BLOCKS; /* of a block of rows */
constexpr int RESULT_SLICES = MMA_PARTS * RESULT_PRODUCTS;
constexpr int TURNED_PRODUCTS = STREAM_BLOCKS * TURNED * RESULT_PRODUCTS;
constexpr int MEETS_ON_SIMD = KERNEL_WAVES > 4;
constexpr int AWAITS_PAIRS = HOLDS_PLACES; /* operands, with one wait */
/* Operands read from LDS before they are needed. */
constexpr int FRAGS_AHEAD = AWAITS_PAIRS ? 3 : 2;
constexpr int KEPT_AHEAD = KEPT_STEPS == SLAB_STEPS ? 1 : 2; /* V from LDS */
constexpr int AGAIN_AHEAD = 4;                               /* V from memory */
constexpr int BEHIND = 2;                                    /* products behind a barrier */
/* Once V takes no registers any more. */
constexpr int LATE_FETCH = OWNED_AGAIN && KEPT_STEPS < SLAB_STEPS;
constexpr int CARGO_ROWS = RUNS * RUN_ROWS;
constexpr int CARGO_CHANNELS = RUNS * CHUNK;
/* Slices beside which the cargo is loaded, the first that loads some. */
constexpr int CARGO_SLICES = LATE_FETCH ? RESULT_SLICES : ROW_SLICES;
constexpr int FIRST_LOAD = CARGO_SLICES > CARGO_ROWS + MEETS_ON_SIMD ? 1 : 0;

static_assert(RUNS == 1, "one place of columns");
static_assert(FRAGS_AHEAD >= BEHIND, "what a barrier waits for has been read");
static_assert(CARGO_SLICES >= FIRST_LOAD + CARGO_ROWS + OWNS_KEYS, "each load has a slice");

/* Operands in their order. */
struct operands_ahead {
    block_frag row[ROW_PRODUCTS], again[SLAB_STEPS], turned[TURNED_PRODUCTS];
    u32 row_at; /* in a tile, of the row that is read next, where registers are short */
#if SUMS_DQ
    block_frag ds[RUN_GROUPS];
#endif
#if HOLDS_PLACES
    u32 frag_at[4]; /* row_frag_at() */
#endif
};

/* Before the first read_row(). */
DEVICE void find_rows(struct operands_ahead &a)
{
    if (OWNED_AGAIN)
        a.row_at = row_frag_at(0);
#if HOLDS_PLACES
#pragma unroll
    for (int i = 0; i < 4; i++) {
        a.frag_at[i] = row_frag_at(i);
        asm volatile("" : "+v"(a.frag_at[i]));
    }
#endif
}

DEVICE void read_row(struct operands_ahead &a, int i)
{
#if OWNED_AGAIN
    a.row[i] = *(const block_frag *)(row_tile[i / SLAB_STEPS] + a.row_at +
                                     row_frag_offset(0, i % SLAB_STEPS));
    a.row_at = stay_here(a.row_at ^ row_frag_turn(i) ^ row_frag_turn(i + 1));
    return;
#endif
#if HOLDS_PLACES
    a.row[i] = *(const block_frag *)(row_tile[i / SLAB_STEPS] + a.frag_at[i % 4] +
                                     row_frag_offset(0, i % SLAB_STEPS));
    return;
#endif
    a.row[i] = row_frag(row_tile[i / SLAB_STEPS % 2], i / SLAB_STEPS / 2, i % SLAB_STEPS);
}

/* Of each block those of R1 come first. */
DEVICE void read_turned(struct operands_ahead &a, int i)
{
    const int result = i / RESULT_PRODUCTS, n = i % RESULT_PRODUCTS;
    a.turned[i] = turned_frag(turned_tile[TURNED - 1 - result % TURNED], n % WALK_BLOCKS,
                              result / TURNED * BLOCK_GROUPS + n / WALK_BLOCKS);
}

#if SUMS_DQ
/* The same of dS. */
DEVICE void read_ds(struct operands_ahead &a, int i)
{
#if HOLDS_PLACES
    static_assert(ROW_BYTES == DS_ROW_BYTES && RUN_KEYS == OWNED_ROWS, "as rows");
    a.ds[i] = *(const block_frag *)(ds_tile + a.frag_at[i % 4] + row_frag_offset(0, i));
#else
    a.ds[i] = ds_frag(i);
#endif
}
#endif

/* What a step begins with. */
DEVICE void read_first(struct operands_ahead &a, int i)
{
#if SUMS_DQ
    read_ds(a, i);
#else
    read_row(a, i);
#endif
}

/* V from memory or LDS for products from i on, which count from S on. */
DEVICE void read_again(struct operands_ahead &a, const struct owned &y, int i)
{
#pragma unroll
    for (int ahead = KEPT_AHEAD; ahead <= AGAIN_AHEAD; ahead++) {
        const int step = i - SLAB_STEPS + ahead;
        if (OWNED_AGAIN && step >= 0 && step < SLAB_STEPS &&
            ahead == (is_kept(step) ? KEPT_AHEAD : AGAIN_AHEAD))
            a.again[step] = owned_frag(y, 1, 0, step);
    }
}

/*
 * What is read before product i of `count`, with a barrier behind all but the last BEHIND of them:
 * of these products, and of those that follow.
 */
template <class Now, class Next> DEVICE void read_ahead(int i, int count, Now now, Next next)
{
    if (i + FRAGS_AHEAD < count)
        now(i + FRAGS_AHEAD);
    else
#pragma unroll
        for (int j = i == count - BEHIND ? 0 : i + FRAGS_AHEAD - count;
             j <= i + FRAGS_AHEAD - count && i >= count - BEHIND; j++)
            next(j);
}

/* Where operands are awaited in pairs: operand i and the one behind it. */
DEVICE void await_pair(block_frag *operand, int i)
{
    if (AWAITS_PAIRS && i % 2 == 0) {
        asm volatile("" : : "v"(operand[i]), "v"(operand[i + 1]));
        in_order();
    }
}

DEVICE void meet_behind(int i, int count)
{
    if (i == count - BEHIND - 1)
        lds_barrier();
    in_order();
}

/* S or dP += X Y^T of a block of rows, with beside(n), n < ROW_SLICES. */
template <class Beside>
DEVICE void multiply_rows_beside(block_acc &s, struct operands_ahead &a, const struct owned &y,
                                 int t, int block, Beside beside)
{
#pragma unroll
    for (int step = 0; step < SLAB_STEPS; step++) {
        const int i = (2 * block + t) * SLAB_STEPS + step;
        read_ahead(
            i, ROW_PRODUCTS, [&](int j) { read_row(a, j); }, [&](int j) { read_turned(a, j); });
        read_again(a, y, i);
        in_order();
        await_pair(a.row, i);
        mma_beside(s, a.row[i], OWNED_AGAIN && t == 1 ? a.again[step] : owned_frag(y, t, 0, step),
                   [&](int part) {
                       in_order();
                       beside(MMA_PARTS * step + part);
                       in_order();
                   });
        meet_behind(i, ROW_PRODUCTS);
    }
}

/* R^T += X^T W of a block of rows, with beside(n), n < RESULT_SLICES. */
template <class Beside>
DEVICE void multiply_turned_beside(block_acc (&r)[WALK_BLOCKS], struct operands_ahead &a,
                                   const struct packed_block &w, int t, int block, Beside beside)
{
#pragma unroll
    for (int n = 0; n < RESULT_PRODUCTS; n++) {
        const int i = (block * TURNED + TURNED - 1 - t) * RESULT_PRODUCTS + n;
        read_ahead(
            i, TURNED_PRODUCTS, [&](int j) { read_turned(a, j); },
            [&](int j) { read_first(a, j); });
        in_order();
        await_pair(a.turned, i);
        mma_beside(r[n % WALK_BLOCKS], a.turned[i], w.group[n / WALK_BLOCKS], [&](int part) {
            in_order();
            beside(MMA_PARTS * n + part);
            in_order();
        });
        meet_behind(i, TURNED_PRODUCTS);
    }
}

#if SUMS_DQ
/* What the wave has of the dQ of the step before, with beside(n), n < DQ_SLICES. */
constexpr int DQ_SLICES = MMA_PARTS * RUN_GROUPS;

template <class Beside>
DEVICE block_acc multiply_ds(struct operands_ahead &a, const struct owned &y, Beside beside)
{
    block_acc dq = zero_acc();
#pragma unroll
    for (int i = 0; i < RUN_GROUPS; i++) {
        if (i + FRAGS_AHEAD < RUN_GROUPS)
            read_ds(a, i + FRAGS_AHEAD);
        else
            read_row(a, i + FRAGS_AHEAD - RUN_GROUPS);
        in_order();
        await_pair(a.ds, i);
        mma_beside(dq, a.ds[i], y.turned[i], [&](int part) {
            in_order();
            beside(MMA_PARTS * i + part);
            in_order();
        });
    }
    return dq;
}
#endif

#endif
