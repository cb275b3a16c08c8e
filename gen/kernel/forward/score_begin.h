/*
 * The term of a fast step on RDNA 3, in kernels for one term. What is added to the scores is where
 * the sums of K Q^T begin, in units of those and less the shift, so that behind the products only
 * the factor is left:
 *
 *     S = (bias + slope - shift) / |scale| + K Q^T,    P = exp2(S * |scale| * log2(e))
 *
 * Soft-cap comes behind the products, and takes the shift off, too. The bias has arrived when the
 * step begins. The kernels for bias are not for scales near 0 (select.c).
 */
#ifndef AOTHIP_FWD_SCORE_BEGIN_H
#define AOTHIP_FWD_SCORE_BEGIN_H

#include "score_runs.h"

#if FOLDS_TERMS

/* The softmax's factor for fast steps. */
DEVICE float fast_factor_of(const struct attn_problem &a)
{
    return softmax_factor(TERMS_CERTAIN & TERM_CAP ? 1 : a.scale);
}

DEVICE void splat_scores(score_blocks &s, const float (&begin)[Q_BLOCKS])
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
            s[column][block] = begin[column];
}

/* Of keys on one side of the diagonal: `away` is how far the lane's first one is from it. */
DEVICE void fall_away(score_blocks &s, const float (&begin)[Q_BLOCKS], float slope, int away)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++) {
            const float first =
                fused((float)(away + (column - block) * BLOCK), slope, begin[column]);
            f32x2 pair = {first, first - slope};
            block_acc x;
#pragma unroll
            for (int i = 0; i < ACC; i += 2) {
                x[i] = pair.x;
                x[i + 1] = pair.y;
                pair -= 2 * slope;
            }
            s[column][block] = x;
        }
}

/* As slope_scores() of kernels for slopes alone, of sums that begin. */
DEVICE void begin_slopes(score_blocks &s, const float (&begin)[Q_BLOCKS], const struct terms &t,
                         int key)
{
    const struct scene scene = recall(t);
    const struct away away = away_of(scene, key);
    if (!is_between(away))
        return fall_away(s, begin, away.first < 0 ? -scene.slope : scene.slope, away.own);
    splat_scores(s, begin);
    add_slopes<DISTANCE_ABSOLUTE, false>(s, 1, scene.slope, away.own);
}

DEVICE void begin_bias(score_blocks &s, const float (&begin)[Q_BLOCKS], float unit,
                       const struct ahead &ahead)
{
    splat_scores(s, begin); /* as whole vectors, lest the compiler make a single one of all */
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i++)
                s[column][block][i] = fused(bias_element(ahead.word[column] + block * ACC / 2, i),
                                            unit, s[column][block][i]);
}

/* What the products are added to. */
DEVICE void begin_with_term(score_blocks &s, const struct softmax_state (&softmax)[Q_BLOCKS],
                            const struct ahead &ahead, const struct terms &t, int key)
{
    if (TERMS_CERTAIN & TERM_CAP)
        return clear_scores(s);
    const float inverse = TERMS_CERTAIN & TERM_BIAS
                              ? __builtin_amdgcn_rcpf(__builtin_fabsf(late_problem().scale))
                              : 1;
    float begin[Q_BLOCKS];
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        begin[column] = -softmax[column].shift;
        if (TERMS_CERTAIN & TERM_BIAS) /* not infinite, which a bias may be, too */
            begin[column] = __builtin_fminf(begin[column] * inverse, 0x1p126f);
    }
    if (TERMS_CERTAIN & TERM_SLOPE)
        begin_slopes(s, begin, t, key);
    else if (TERMS_CERTAIN & TERM_BIAS)
        begin_bias(s, begin, inverse, ahead);
    else
        splat_scores(s, begin);
}

/* Dropout of a fast step. */
struct drops {
    struct dropout dropout;
    struct philox_run run[Q_BLOCKS];
};

/* Returns whether counters' upper words differ in the tile, which is then for a general step. */
DEVICE bool begin_drops(struct drops &x, const struct terms &t, int key)
{
    const struct scene scene = recall(t);
    bool differ = false;
    x.dropout = dropout_of(late_problem(), scene.number, scene.job.head);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const kernarg_u64 counter = first_counter(x.dropout, scene.job, column, (u32)key);
        differ |= (u32)counter > 0xffffffffu - KERNEL_TILE_K / 4;
        x.run[column] = begin_philox(x.dropout.seed, counter);
    }
    return differ;
}

/* As drop_tile(). */
DEVICE void drop_run(score_blocks &p, const struct drops &x)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i += 4) {
                __builtin_amdgcn_sched_barrier(0); /* few at a time, for the registers */
                drop_quad(p[column][block], i, x.dropout,
                          philox_at(x.run[column], x.dropout.seed,
                                    (u32)(block * BLOCK + key_step(i)) / 4));
            }
}

#endif

#endif
