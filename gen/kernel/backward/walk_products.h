/*
 * The products of a step of a walk whose waves own columns by themselves: S and dP of a slab, and
 * what they add to the results.
 */
#ifndef AOTHIP_ATTN_BWD_WALK_PRODUCTS_H
#define AOTHIP_ATTN_BWD_WALK_PRODUCTS_H

#include "lds_tiles.h"
#include "walk_operands.h"

/* Whether operands come in pairs: multiply_pairs(). */
#define READS_PAIRS (KERNEL_WAVE == 32 && !KERNEL_SCORE && !OWNED_IN_LDS)

#if READS_PAIRS && MMA_STRAIGHT
/* S and dP += X Y^T of the only slab. RDNA 3 takes longer so. */
DEVICE void multiply_both(block_acc &s, block_acc &dp, const struct owned &y, int block)
{
    multiply_pairs<2 * SLAB_STEPS>(
        [&](int i) { return row_frag(row_tile[i / SLAB_STEPS], block, i % SLAB_STEPS); },
        [&](int i, const block_frag &a) {
            mma(i < SLAB_STEPS ? s : dp, a, owned_frag(y, i / SLAB_STEPS, 0, i % SLAB_STEPS));
        });
}
#endif

/* S or dP += X Y^T of a slab */
DEVICE void multiply_rows(block_acc &s, const struct owned &y, int t, int slab, int block)
{
#if READS_PAIRS
    multiply_pairs<SLAB_STEPS>(
        [&](int step) { return row_frag(row_tile[t], block, step); },
        [&](int step, const block_frag &a) { mma(s, a, owned_frag(y, t, slab, step)); });
    return;
#endif
    block_frag a = row_frag(row_tile[t], block, 0), b = owned_frag(y, t, slab, 0);
#pragma unroll
    for (int step = 0; step < SLAB_STEPS; step++) {
        block_frag now_a = a, now_b = b;
        if (step + 1 < SLAB_STEPS) {
            a = row_frag(row_tile[t], block, step + 1);
            b = owned_frag(y, t, slab, step + 1);
        }
        no_further();
        mma(s, now_a, now_b);
    }
}

/*
 * Where one wave a SIMD would wait for each operand, those of 256 channels are read some products
 * before they are needed; but for dK and dV with score terms, where some registers would be
 * spilled.
 */
#define READS_AHEAD (WALK_SLABS == 2 && !(KERNEL_SCORE && OWNS_KEYS))

#if READS_AHEAD
/* Whether results are told to stay in accumulation registers, or some would be spilled. */
#if defined(__gfx950__)
#define PINS_RESULTS (!KERNEL_SCORE)
#else
#define PINS_RESULTS (!KERNEL_SCORE && KERNEL_DTYPE == 3)
#endif

/*
 * Operands that are waited for at once, behind which as many more are asked for: the compiler would
 * wait for each of them. Four take too many registers.
 */
constexpr int AT_A_TIME = 2;

DEVICE void wait_for_some(int i, int all)
{
    static_assert(AT_A_TIME == 2, "lgkmcnt(2)");
    if (i < 0)
        return;
    if (i + AT_A_TIME < all)
        __builtin_amdgcn_s_waitcnt(0xc27f); /* lgkmcnt(2) */
    else
        __builtin_amdgcn_s_waitcnt(0xc07f); /* lgkmcnt(0) */
    in_order();
}

/* S and dP += X Y^T of the first `steps` operands of a slab. */
template <int steps>
DEVICE void multiply_slab(block_acc &s, block_acc &dp, struct owned &y, int slab)
{
    constexpr int ALL = 2 * steps, AHEAD = AT_A_TIME;
    block_frag a[ALL], again[steps];
    find_again(y);
#pragma unroll
    for (int i = -AHEAD; i < ALL; i += AT_A_TIME) {
        in_order();
#pragma unroll
        for (int row = i + AHEAD; row < i + AHEAD + AT_A_TIME; row++)
            if (row < ALL)
                a[row] = row_frag(row_tile[row / steps], 0, row % steps);
                /* V comes again all the time, not beside dP alone. */
#pragma unroll
        for (int step = 0; step < steps; step++)
            if (OWNED_AGAIN && step * 3 / 2 >= i && step * 3 / 2 < i + AT_A_TIME)
                again[step] = owned_frag(y, 1, slab, step);
        in_order();
        wait_for_some(i, ALL);
#pragma unroll
        for (int j = i; j < i + AT_A_TIME; j++)
            if (j >= 0)
                mma(j < steps ? s : dp, a[j],
                    OWNED_AGAIN && j >= steps ? again[j - steps]
                                              : owned_frag(y, j / steps, slab, j % steps));
    }
    in_order();
}
#endif

/*
 * Where a branch comes before a product is used, the compiler would move it there, but not the
 * loads of its operands, which would take the registers of all of them meanwhile.
 */
DEVICE void stay_product(block_acc &s)
{
    if (KERNEL_WAVE == 32)
        asm volatile("" : "+v"(s));
}

/* R^T += X^T W, where W is P~ or dS of a block of rows; pack(group) is the operand of 16 of them.
 */
template <class Pack>
DEVICE void multiply_turned(block_acc (&r)[WALK_BLOCKS], int t, int block, Pack pack)
{
    const int groups = BLOCK / 16;
#if READS_AHEAD
    constexpr int ALL = BLOCK / 16 * WALK_BLOCKS, AHEAD = AT_A_TIME;
    block_frag ahead[ALL], b;
#pragma unroll
    for (int i = -AHEAD; i < ALL; i += AT_A_TIME) {
        in_order();
#pragma unroll
        for (int next = i + AHEAD; next < i + AHEAD + AT_A_TIME; next++)
            if (next < ALL)
                ahead[next] = turned_frag(turned_tile[t], next % WALK_BLOCKS,
                                          block * groups + next / WALK_BLOCKS);
        if (i >= 0 && i % WALK_BLOCKS == 0)
            b = pack(i / WALK_BLOCKS);
        in_order();
        wait_for_some(i, ALL);
#pragma unroll
        for (int j = i; j < i + AT_A_TIME; j++)
            if (j >= 0)
                mma(r[j % WALK_BLOCKS], ahead[j], b);
    }
    in_order();
    return;
#endif
#if READS_PAIRS
    static_assert(groups == 1, "one operand for all");
    const block_frag all = pack(0);
    multiply_pairs<WALK_BLOCKS>([&](int i) { return turned_frag(turned_tile[t], i, block); },
                                [&](int i, const block_frag &a) { mma(r[i], a, all); });
    return;
#endif
#pragma unroll
    for (int group = 0; group < groups; group++) {
        int at = block * groups + group;
        block_frag b = pack(group), a = turned_frag(turned_tile[t], 0, at);
#pragma unroll
        for (int i = 0; i < WALK_BLOCKS; i++) {
            block_frag now = a;
            if (i + 1 < WALK_BLOCKS)
                a = turned_frag(turned_tile[t], i + 1, at);
            no_further();
            mma(r[i], now, b);
        }
    }
}

/* The same, where W is after begin_round(). */
DEVICE void multiply_turned(block_acc (&r)[WALK_BLOCKS], const block_acc &w, int t, int block)
{
    const u32 half = pack_half();
    no_further();
    multiply_turned(r, t, block, [&](int group) { return pack_p(w, group, half); });
}

#endif
