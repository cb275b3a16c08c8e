/*
 * One block of rows where a step of the walk has no slabs and no score terms, on wave64 hardware:
 * its products in a row, and between their instructions what is to be done element by element.
 * A matrix instruction leaves the issue port free for most of its time, but the compiler would not
 * mix the two by itself. So
 *
 *     S
 *     dP          P from S
 *     dkdv: R1    the rest of P as operands; dS from P and dP, as operands
 *     R0
 *
 * An operand from LDS is loaded one product ahead.
 */
#ifndef AOTHIP_ATTN_BWD_PRODUCTS_BESIDE_H
#define AOTHIP_ATTN_BWD_PRODUCTS_BESIDE_H

#include "packed_block.h"

enum { PAIRS = ACC / 2 };

/* Pairs beginning with the first one that a share of the work, the n-th of `of`, has; their end. */
DEVICE constexpr int share_begin(int n, int of)
{
    return n * PAIRS / of;
}

/* Pair i of S becomes P. */
template <enum lse_form form>
DEVICE void weigh_pair(block_acc &s, f32x2 lse, int i, const struct context &context,
                       const struct column &column)
{
    const f32x2 x = weights_of<form>(f32x2{s[2 * i], s[2 * i + 1]}, lse, context, column);
    s[2 * i] = x.x;
    s[2 * i + 1] = x.y;
}

/* A pair as part of an operand. */
DEVICE void pack_pair(struct packed_block &to, f32x2 x, int i)
{
    to.group[i / 4][i % 4] = end_round_pair(begin_round(x.x), begin_round(x.y));
}

static_assert(!OWNED_AGAIN || KEPT_STEPS > 1, "what multiply_rows_beside() knows");

/*
 * S or dP += X Y^T, with load(n) before each product and beside(n) after it, n < SLAB_STEPS. Y1
 * from memory is loaded two products ahead, the first of it as soon as there are registers.
 */
template <class Load, class Beside>
DEVICE void multiply_rows_beside(block_acc &s, const struct owned &y, int t, int block, Load load,
                                 Beside beside)
{
    const int at_hand = OWNED_AGAIN && t == 1 ? KEPT_STEPS : SLAB_STEPS;
    block_frag a = row_frag(row_tile[t], block, 0), b[SLAB_STEPS];
    b[0] = owned_frag(y, t, 0, 0);
#pragma unroll
    for (int step = 0; step < SLAB_STEPS; step++) {
        const block_frag now = a;
        const int next = step + 1, far = step == 0 ? at_hand : step + 2;
        if (far < SLAB_STEPS && (step == 0 || far > at_hand))
            b[far] = owned_frag(y, t, 0, far);
        if (next < SLAB_STEPS)
            a = row_frag(row_tile[t], block, next);
        if (next < at_hand)
            b[next] = owned_frag(y, t, 0, next);
        load(step);
        in_order();
        mma(s, now, b[step]);
        beside(step);
        in_order();
    }
}

/* R^T += X^T W of a block of rows, with beside(n), n = 0 .. TURNED_PRODUCTS - 1. */
enum { TURNED_PRODUCTS = BLOCK_GROUPS * WALK_BLOCKS };

template <class Beside>
DEVICE void multiply_turned_beside(block_acc (&r)[WALK_BLOCKS], const struct packed_block &w, int t,
                                   int block, Beside beside)
{
    block_frag a = turned_frag(turned_tile[t], 0, block * BLOCK_GROUPS);
#pragma unroll
    for (int n = 0; n < TURNED_PRODUCTS; n++) {
        const block_frag now = a;
        const int next = n + 1;
        if (next < TURNED_PRODUCTS)
            a = turned_frag(turned_tile[t], next % WALK_BLOCKS,
                            block * BLOCK_GROUPS + next / WALK_BLOCKS);
        in_order();
        mma(r[n % WALK_BLOCKS], now, w.group[n / WALK_BLOCKS]);
        beside(n);
        in_order();
    }
}

/* dS of a pair, as part of an operand. */
DEVICE void differentiate_pair(struct packed_block &ds, const block_acc &p, const block_acc &dp,
                               int i, const struct column &column)
{
    f32x2 x = {dp[2 * i], dp[2 * i + 1]};
#if !DELTA_FIRST
    x -= f32x2(column.delta);
#else
    (void)column;
#endif
    pack_pair(ds, x * f32x2{p[2 * i], p[2 * i + 1]}, i);
}

#if OWNS_KEYS
/* R1 += X1^T P of a block, and dS. P becomes an operand one group after the other. */
DEVICE void multiply_weights(struct results &to, struct packed_block &ds, const block_acc &p,
                             const block_acc &dp, int block, const struct column &column)
{
    enum { GROUP_PAIRS = PAIRS / BLOCK_GROUPS };
    struct packed_block packed;
    const auto pack = [&](int i) { pack_pair(packed, f32x2{p[2 * i], p[2 * i + 1]}, i); };
#pragma unroll
    for (int i = 0; i < GROUP_PAIRS; i++)
        pack(i);
    multiply_turned_beside(to.r[1], packed, 1, block, [&](int n) {
        const int next = n + WALK_BLOCKS; /* the product that wants what is packed */
        if (next < TURNED_PRODUCTS)
#pragma unroll
            for (int j = share_begin(next, TURNED_PRODUCTS);
                 j < share_begin(next + 1, TURNED_PRODUCTS); j++)
                pack(j);
#pragma unroll
        for (int j = share_begin(n, TURNED_PRODUCTS); j < share_begin(n + 1, TURNED_PRODUCTS); j++)
            differentiate_pair(ds, p, dp, j, column);
    });
}
#endif

#if SUMS_DQ
#define ADDED_DQ , const block_acc &dq, __amdgpu_buffer_rsrc_t to_dq
#else
#define ADDED_DQ
#endif

/*
 * What a block of rows, the first of which is row `row`, adds to the results. With SUMS_DQ also
 * adds dq, beside S.
 */
template <enum lse_form form>
DEVICE void add_block(struct results &to, struct owned &y, const struct context &context,
                      const struct column &column, int row, int block ADDED_DQ)
{
    block_acc s = zero_acc();
#if SUMS_DQ
    multiply_rows_beside(
        s, y, 0, block, [](int) {}, [&](int n) { add_dq(dq, to_dq, n, SLAB_STEPS); });
#else
    multiply_rows(s, y, 0, 0, block);
#endif
    find_again(y);
    hide_rows(s, context, column, row);
    block_acc dp = first_dp(block);
#if OWNS_KEYS
    f32x4 lse[2] = {row_four(0, block, 0)};
    const auto load = [&](int n) {
        const int next = share_begin(n + 1, SLAB_STEPS);
        if (next < PAIRS && next % 2 == 0)
            lse[next / 2 % 2] = row_four(0, block, next / 2);
    };
    const auto lse_of = [&](int i) {
        const f32x4 four = lse[i / 2 % 2];
        return i % 2 ? four.hi : four.lo;
    };
#else
    const auto load = [](int) {};
    const auto lse_of = [&](int) { return f32x2(column.lse); };
#endif
    in_order();
    multiply_rows_beside(dp, y, 1, block, load, [&](int n) {
#pragma unroll
        for (int i = share_begin(n, SLAB_STEPS); i < share_begin(n + 1, SLAB_STEPS); i++)
            weigh_pair<form>(s, lse_of(i), i, context, column);
    });
    struct packed_block ds;
#if OWNS_KEYS
    multiply_weights(to, ds, s, dp, block, column);
#else
#pragma unroll
    for (int i = 0; i < PAIRS; i++)
        differentiate_pair(ds, s, dp, i, column);
#endif
#if SUMS_DQ
    store_ds(ds);
#endif
    multiply_turned_beside(to.r[0], ds, 0, block, [](int) {});
}

#endif
