/*
 * The softmax of fast steps on RDNA 4, in slices. No WMMA of any wave begins before the pipe of the
 * transcendental instructions is empty, which is busy for four clocks with each: but plain vector
 * instructions do. So each slice has one of the former and up to three of the latter: what comes
 * before it and behind it of other scores, and what else the step has, which the caller puts there.
 * A barrier for the scheduler follows.
 */
#ifndef AOTHIP_SPREAD_SOFTMAX_H
#define AOTHIP_SPREAD_SOFTMAX_H

#include "softmax.h"

#if FAST_SPREAD /* fast_traits.h */

/*
 * Pairs of scores from one's exponents to its powers, and from there to its sum and to P. One pair
 * is the least that powers take; with a score term, a longer way is the faster one.
 */
constexpr int SPREAD_AHEAD = 2, SUM_LAG = FAST_MOVES ? 1 : 2, PACK_LAG = FAST_MOVES ? 1 : 3;

/* Slices of the softmax of `columns` columns. */
DEVICE constexpr int spread_slices(int columns)
{
    return columns * KEY_BLOCKS * ACC;
}

/* A pair of P as it is rounded: in two instructions to f16, in two and one to bf16. */
#if KERNEL_DTYPE == MMA_F16

typedef f16x2 begun_pair;

DEVICE float hidden_one()
{
    float one = 1; /* see end_round_pair() */
    asm("" : "+s"(one));
    return one;
}

DEVICE begun_pair begin_half_pair(f32x2 x)
{
    begun_pair begun;
    begun.x = (_Float16)(x.x * hidden_one()); /* the other one follows */
    return begun;
}

DEVICE u32 end_half_pair(begun_pair begun, f32x2 x)
{
    begun.y = (_Float16)(x.y * hidden_one());
    return __builtin_bit_cast(u32, begun);
}

#else

typedef f32x2 begun_pair;

DEVICE begun_pair begin_half_pair(f32x2 x)
{
    return {begin_round(x.x), begin_round(x.y)};
}

DEVICE u32 end_half_pair(begun_pair begun, f32x2)
{
    return end_round_pair(begun.x, begun.y);
}

#endif

/* P of S, rounded, and sums of what is not. Calls beside(i) in slice i. */
template <enum score_kind kind, int columns, class F>
DEVICE void spread_exponentiate(block_frag (&p)[columns][KEY_BLOCKS], partial_sum (&sum)[columns],
                                const block_acc (&s)[columns][KEY_BLOCKS],
                                const struct softmax_state (&x)[columns], float factor, F beside)
{
    const int pairs = spread_slices(columns) / 2, column_pairs = pairs / columns;
    f32x2 made[spread_slices(columns) / 2];
    begun_pair packed[spread_slices(columns) / 2];
    auto begin = [&](int pair) {
        const int column = pair / column_pairs;
        const block_acc &block = s[column][pair % column_pairs / (ACC / 2)];
        const int i = pair * 2 % ACC;
        made[pair] = exponents<kind>(f32x2{block[i], block[i + 1]}, x[column].shift, factor);
        asm("" : "+v"(made[pair])); /* together, for two operations as one */
    };
    auto begin_pack = [&](int pair) { packed[pair] = begin_half_pair(made[pair]); };
    auto end_pack = [&](int pair) {
        u32 both = end_half_pair(packed[pair], made[pair]);
        asm volatile("" : "+v"(both)); /* here, and not behind a branch */
        p[pair / column_pairs][pair % column_pairs / (ACC / 2)][pair % (ACC / 2)] = both;
    };
#pragma unroll
    for (int pair = 0; pair < SPREAD_AHEAD; pair++)
        begin(pair);
#pragma unroll
    for (int column = 0; column < columns; column++)
        sum[column] = {};
#pragma unroll
    for (int i = 0; i < 2 * (pairs + PACK_LAG); i++) {
        const int pair = i / 2, old = pair - SUM_LAG, oldest = pair - PACK_LAG;
        if (i % 2 == 0) {
            if (pair < pairs) {
                made[pair].x = __builtin_amdgcn_exp2f(made[pair].x);
                __builtin_amdgcn_sched_barrier(0);
            }
            if (pair + SPREAD_AHEAD < pairs)
                begin(pair + SPREAD_AHEAD);
            if (oldest >= 0)
                begin_pack(oldest);
        } else {
            if (pair < pairs) {
                made[pair].y = __builtin_amdgcn_exp2f(made[pair].y);
                asm("" : "+v"(made[pair]));
                __builtin_amdgcn_sched_barrier(0);
            }
            if (old >= 0 && old < pairs) {
                sum[old / column_pairs] += made[old];
                asm("" : "+v"(sum[old / column_pairs]));
            }
            if (oldest >= 0)
                end_pack(oldest);
        }
        beside(i);
        __builtin_amdgcn_sched_barrier(0);
    }
}

/* The same; `stores`: beside it V that has arrived goes to LDS, a pair of keys after the other. */
template <enum score_kind kind, bool stores, int columns>
DEVICE void spread_with_v(block_frag (&p)[columns][KEY_BLOCKS], partial_sum (&sum)[columns],
                          const block_acc (&s)[columns][KEY_BLOCKS],
                          const struct softmax_state (&x)[columns], float factor, char *tile,
                          const struct cargo &cargo, const struct courier &courier)
{
    const int slices = spread_slices(columns), all = 2 * CHUNK;
    const int each = slices > all ? slices / all : 1, together = slices < all ? all / slices : 1;
    u32x2 quad[2];
    spread_exponentiate<kind>(p, sum, s, x, factor, [&](int i) {
        const int made = i / each * together, quads = made / 2;
        if (!stores)
            return;
        if (i % each == 0 && made && made % 4 == 0 && made <= all) { /* two are one instruction */
            store_v_quad(tile, courier, quads - 2, quad[0]);
            store_v_quad(tile, courier, quads - 1, quad[1]);
        }
#pragma unroll
        for (int half = 0; half < together; half++)
            if (i % each == each - 1 && made < all) {
                const int n = made + half;
                quad[n / 2 % 2][n % 2] = v_quad_half(cargo, n / 2, n % 2);
                asm("" : "+v"(quad[n / 2 % 2])); /* here, and not where it is stored */
            }
    });
}

#endif

#endif
