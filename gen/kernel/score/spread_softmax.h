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

#if FAST_SPREAD /* fast_step.h */

/* Pairs of scores from one's exponents to its powers, and from there to its sum. */
enum { SPREAD_AHEAD = 2, SPREAD_LAG = 2 };

/* Slices of the softmax of `columns` columns. */
DEVICE constexpr int spread_slices(int columns)
{
    return columns * KEY_BLOCKS * ACC;
}

/* P of S, rounded, and sums of what is not. Calls beside(i) in slice i. */
template <enum score_kind kind, int columns, class F>
DEVICE void spread_exponentiate(block_frag (&p)[columns][KEY_BLOCKS], partial_sum (&sum)[columns],
                                const block_acc (&s)[columns][KEY_BLOCKS],
                                const struct softmax_state (&x)[columns], float factor, F beside)
{
    const int pairs = spread_slices(columns) / 2, column_pairs = pairs / columns;
    f32x2 made[spread_slices(columns) / 2];
    auto begin = [&](int pair) {
        const int column = pair / column_pairs;
        const block_acc &block = s[column][pair % column_pairs / (ACC / 2)];
        const int i = pair * 2 % ACC;
        made[pair] = exponents<kind>(f32x2{block[i], block[i + 1]}, x[column].shift, factor);
        asm("" : "+v"(made[pair])); /* together, for two operations as one */
    };
#pragma unroll
    for (int pair = 0; pair < SPREAD_AHEAD; pair++)
        begin(pair);
#pragma unroll
    for (int column = 0; column < columns; column++)
        sum[column] = {};
#pragma unroll
    for (int i = 0; i < 2 * (pairs + SPREAD_LAG + 1); i++) {
        const int pair = i / 2, old = pair - SPREAD_LAG, oldest = old - 1;
        if (i % 2 == 0) {
            if (pair < pairs) {
                made[pair].x = __builtin_amdgcn_exp2f(made[pair].x);
                __builtin_amdgcn_sched_barrier(0);
            }
            if (pair + SPREAD_AHEAD < pairs)
                begin(pair + SPREAD_AHEAD);
            if (oldest >= 0) {
                u32 both = end_round_pair(begin_round(made[oldest].x), begin_round(made[oldest].y));
                asm volatile("" : "+v"(both)); /* here, and not behind a branch */
                p[oldest / column_pairs][oldest % column_pairs / (ACC / 2)][oldest % (ACC / 2)] =
                    both;
            }
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
        }
        beside(i);
        __builtin_amdgcn_sched_barrier(0);
    }
}

/* The same; `stores`: beside it V that has arrived goes to LDS. */
template <enum score_kind kind, bool stores, int columns>
DEVICE void spread_with_v(block_frag (&p)[columns][KEY_BLOCKS], partial_sum (&sum)[columns],
                          const block_acc (&s)[columns][KEY_BLOCKS],
                          const struct softmax_state (&x)[columns], float factor, char *tile,
                          const struct cargo &cargo, const struct courier &courier)
{
    u32x2 quad[2];
    spread_exponentiate<kind>(p, sum, s, x, factor, [&](int i) {
        const int each = spread_slices(columns) / CHUNK, n = i / each;
        if (!stores || i % each != each - 1 || n >= CHUNK)
            return;
        quad[n % 2] = v_quad(cargo, n);
        if (n % 2) { /* two are one instruction */
            store_v_quad(tile, courier, n - 1, quad[0]);
            store_v_quad(tile, courier, n, quad[1]);
        }
    });
}

#endif

#endif
