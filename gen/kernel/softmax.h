/*
 * Online softmax on columns of S^T (Milakov and Gimelshein 2018), with a lazy maximum.
 *
 * A column keeps a reference score, the shift, and accumulates
 *
 *     P   = exp2(S * factor - shift),     factor = |scale| * log2(e)
 *     sum = sum of P,   O^T += V^T P^T
 *
 * where shift = m * factor - BIAS for a score m of this column, its largest one when m was set. Any
 * shift gives the same O / sum; it must only keep P within range. So m moves, and O and sum are
 * rescaled, only when some score exceeds it by more than 2^SLACK: rarely after the first tiles,
 * decided for the whole wave by one branch.
 *
 *     f16    BIAS + SLACK = 15: P stays below 65504, while P of the largest score is at least 2^9,
 *            which moves the subnormals of f16, which gfx90a flushes, down to 2^-23 of it
 *     bf16   has the exponents of f32
 *
 * The scale's sign has been moved into Q (see attn_fwd.hip), so factor >= 0 and the largest S has
 * the largest exponent. NaN is not seen by the maximum and passes through P into O and sum of its
 * own column only.
 */
#ifndef AOTHIP_SOFTMAX_H
#define AOTHIP_SOFTMAX_H

#include "mma.h"

#if KERNEL_DTYPE == MMA_F16
#define SOFTMAX_BIAS 9.0f
#define SOFTMAX_UNBIAS 0x1p-9f
#define SOFTMAX_SLACK 6.0f
#else
#define SOFTMAX_BIAS 0.0f
#define SOFTMAX_UNBIAS 1.0f
#define SOFTMAX_SLACK 8.0f
#endif

#define LOG2_E 1.44269504088896340736f
#define LN_2 0.69314718055994530942f

enum { KEY_BLOCKS = KERNEL_TILE_K / BLOCK, DIM_BLOCKS = KERNEL_DIM / BLOCK };

/* The same for all columns. */
struct softmax_scale {
    float factor;
    float slack; /* SOFTMAX_SLACK in units of scores; infinite for a tiny factor */
};

DEVICE struct softmax_scale softmax_scale_of(float scale)
{
    /*
     * Scale 0 becomes the smallest subnormal: the product with any finite score still rounds to a
     * P of 1, but a masked score, -infinity, gives 0 and not NaN.
     */
    float factor = __builtin_fabsf(scale) * LOG2_E;
    factor = factor > 0x1p-149f ? factor : 0x1p-149f;
    return {factor, SOFTMAX_SLACK / factor};
}

/* Wave64 hardware adds pairs of f32 in one instruction, wave32 hardware does not. */
#if KERNEL_WAVE == 64
typedef f32x2 partial_sum;
DEVICE void add_pair(partial_sum &sum, f32x2 pair)
{
    sum += pair;
}
DEVICE float total(partial_sum sum)
{
    return sum.x + sum.y;
}
#else
typedef float partial_sum;
DEVICE void add_pair(partial_sum &sum, f32x2 pair)
{
    sum += pair.x;
    sum += pair.y;
}
DEVICE float total(partial_sum sum)
{
    return sum;
}
#endif

/* One column, as its lane(s) keep it. Both halves of a column agree on limit and shift. */
struct softmax_state {
    float limit; /* m + slack; -infinity before any key was seen */
    float shift;
    partial_sum sum; /* of this lane's rows */
};

DEVICE struct softmax_state softmax_start()
{
    return {-__builtin_inff(), 0, {}};
}

/*
 * log2 of the sum over the column of exp2(S * factor), `sum` being that of both halves. The bias is
 * taken out of both terms first, lest it cost digits of a small result.
 */
DEVICE float log2_sum_exp(const struct softmax_state &x, float sum)
{
    return x.shift + SOFTMAX_BIAS + __builtin_amdgcn_logf(sum * SOFTMAX_UNBIAS);
}

/* Largest of this lane's scores of one column. */
DEVICE float column_max(const block_acc (&s)[KEY_BLOCKS])
{
    float largest = -__builtin_inff();
#pragma unroll
    for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
        for (int i = 0; i < ACC; i++)
            largest = __builtin_fmaxf(largest, s[block][i]);
    return largest;
}

/* Moves the shift of a column, if `largest` calls for it, and rescales what was summed so far. */
DEVICE void rescale_column(struct softmax_state &x, block_acc (&o)[DIM_BLOCKS], float largest,
                           struct softmax_scale scale)
{
    largest = __builtin_fmaxf(largest, other_half(largest));

    bool exceeds = largest > x.limit, first = x.limit == -__builtin_inff();
    float shift = exceeds ? largest * scale.factor - SOFTMAX_BIAS : x.shift;
    float ratio = exceeds && first ? 0 : __builtin_amdgcn_exp2f(x.shift - shift);
    x.limit = exceeds ? largest + scale.slack : x.limit;
    x.shift = shift;
    x.sum *= ratio;
#pragma unroll
    for (int block = 0; block < DIM_BLOCKS; block++)
        o[block] *= ratio;
}

/* S to P in place, adding up the sum. */
DEVICE void exponentiate(struct softmax_state &x, block_acc (&s)[KEY_BLOCKS],
                         struct softmax_scale scale)
{
    f32x2 factor = {scale.factor, scale.factor}, shift = {-x.shift, -x.shift};
#pragma unroll
    for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
        for (int i = 0; i < ACC; i += 2) {
            f32x2 pair = {s[block][i], s[block][i + 1]};
            pair = __builtin_elementwise_fma(pair, factor, shift);
            pair.x = __builtin_amdgcn_exp2f(pair.x);
            pair.y = __builtin_amdgcn_exp2f(pair.y);
            add_pair(x.sum, pair);
            s[block][i] = pair.x;
            s[block][i + 1] = pair.y;
        }
}

#endif
