/*
 * Online softmax on columns of S^T (Milakov and Gimelshein 2018) without a running maximum.
 *
 * A column keeps a shift and accumulates
 *
 *     P   = exp2(S * factor - shift),     factor = |scale| * log2(e)
 *     sum = sum of P,   O^T += V^T P^T
 *
 * Any shift gives the same O / sum, as long as P stays within range. So a step is tried with the
 * shift as it is. Only if the P of some lane then add up to more than LIMIT (a sum that is needed
 * anyway, while a maximum would cost an instruction for every two scores), which is rare after the
 * first tile, the step is done again in its general form: it moves the shift up such that the
 * largest P is 2^BIAS, and rescales O and sum. The wave decides as a whole. (The step of
 * sliced_step.h does this itself, for half of a tile.)
 *
 *     f16    P below 2^15, and the largest at least 2^8, so that what falls among the subnormals,
 *            which gfx90a takes for 0, is below 2^-22 of it
 *     bf16   P below 2^7: exponents near 0 are the most exact, and only values of V within 2^7 of
 * the end of the range could overflow O
 *     FP8    P of e4m3, see mma_fp8.h: from the largest P there are 18 binary places down to half
 *            of the smallest one. None may exceed the range, so the limit is held against each P,
 *            and not against their sum. The sum that O is divided by is of P before rounding:
 *            rounded ones would have to be converted back, and errors cancel over the keys.
 *
 * The scale's sign has been moved into Q (see attn_fwd.hip), so factor >= 0 and the largest S has
 * the largest exponent. NaN is seen neither by the maximum nor by the limit, and passes through P
 * into O and sum of its own column only.
 *
 * A shift beyond SHIFT_MOST is rounded so coarsely that P would leave its range by that alone.
 * Where scores lead there, which they hardly ever do, the walk over the keys is done once more in
 * the wide form, which costs an instruction for every two scores more: instead of a shift it keeps
 * the largest score, M, and P = exp2((S - M) * factor + BIAS), right for all finite scores.
 */
#ifndef AOTHIP_SOFTMAX_H
#define AOTHIP_SOFTMAX_H

#include "mma.h"

#if KERNEL_DTYPE == MMA_F16
#define SOFTMAX_BIAS 8.0f
#define SOFTMAX_UNBIAS 0x1p-8f
#define SOFTMAX_LIMIT 0x1p15f
#elif KERNEL_FP8 /* e4m3 has 448, FNUZ 240 */
#define SOFTMAX_BIAS (FP8_FNUZ ? 7.0f : 8.0f)
#define SOFTMAX_UNBIAS (FP8_FNUZ ? 0x1p-7f : 0x1p-8f)
#define SOFTMAX_LIMIT (FP8_FNUZ ? 240.0f : 448.0f)
#else
#define SOFTMAX_BIAS 0.0f
#define SOFTMAX_UNBIAS 1.0f
#define SOFTMAX_LIMIT 0x1p7f
#endif

/* The next tile may be like this one. */
#if KERNEL_FP8
static_assert(1 < SOFTMAX_LIMIT * SOFTMAX_UNBIAS, "equal scores are in the limit");
#else
static_assert(KERNEL_TILE_K / 2 < SOFTMAX_LIMIT * SOFTMAX_UNBIAS, "equal scores are in the limit");
#endif

/*
 * The shift's unit. In units of S, P = exp2((S - shift) * factor): the matrix instructions begin
 * their sums with -shift and leave a multiplication, of which wave32 hardware issues two as one,
 * but not of the fused multiply-add that the other form takes. The sums' begin occupies a vector of
 * registers for each column, which there are not at head dim 128, but on RDNA 4 for one column.
 */
#ifndef FOLDS_TERMS /* fast_traits.h */
#define FOLDS_TERMS 0
#endif
#ifndef P_IN_LDS /* fast_traits.h */
#define P_IN_LDS 0
#endif
#ifndef SHIFT_OF_SCORES /* fast_traits.h */
#define SHIFT_OF_SCORES ((KERNEL_WAVE == 32 && STAGE_DIM <= 64 && !KERNEL_SCORE) || FOLDS_TERMS)
#endif

/*
 * Before any key is seen: every score that is not masked exceeds the limit. Or, in units of S, the
 * scale is so small that any shift is as good as this one.
 */
#define SHIFT_UNSET (SHIFT_OF_SCORES ? -0x1p126f : -0x1p100f)

#define SHIFT_MOST 0x1p20f /* 1/16 is the last place there */

/* Below it, in exponents, a score of another size has lost places that matter to its shift. */
#define SHIFT_LOW -0x1p10f

/*
 * Scores as low as that are what masks given as a bias make: while a column has seen no other, they
 * count as 0, and its shift says so. If it ends so, they matter: that is for the wide form.
 */
#define SHIFT_IGNORED -0x1p99f
#define SHIFT_IGNORING 0x1p100f /* while they are */

/* The wide form's M before any key is seen; no finite score is below it. */
#define WIDE_UNSET -0x1.fffffep127f

#define LOG2_E 1.44269504088896340736f
#define LN_2 0.69314718055994530942f

/* Waves that share the keys of a tile (fast_form.h); elsewhere each has all of them. */
#ifndef KEY_SHARES
#define KEY_SHARES 1
#endif

constexpr int KEY_BLOCKS = KERNEL_TILE_K / BLOCK / KEY_SHARES, DIM_BLOCKS = USED_DIM_V / BLOCK;

/* |scale| * log2(e) */
DEVICE float softmax_factor(float scale)
{
    /*
     * Scale 0 becomes the smallest subnormal: the product with any finite score still rounds to a
     * P of 1, but a masked score, -infinity, gives 0 and not NaN. Nor may it be infinite, for
     * differences of 0.
     */
    float factor = __builtin_fabsf(scale) * LOG2_E;
    factor = factor < 0x1.fffffep127f ? factor : 0x1.fffffep127f;
    return factor > 0x1p-149f ? factor : 0x1p-149f;
}

typedef f32x2 partial_sum;

DEVICE float total(partial_sum sum)
{
    return sum.x + sum.y;
}

/*
 * Wave64 hardware has instructions for pairs of f32. Wave32 hardware issues two operations as one
 * if their operands are in different banks of registers. Elements of one vector are, so P is held
 * together by whole vectors there.
 */
constexpr int HELD = KERNEL_WAVE == 64 ? 2 : ACC;

/* On RDNA 3 exponents are held together, too: more of them are then made by two as one. */
#define HOLDS_EXPONENTS (HELD == ACC && !MMA_STRAIGHT)

/* One column. Both halves agree on the shift. */
struct softmax_state {
    float shift;     /* wide: M */
    partial_sum sum; /* of this lane's rows */
};

/* What a block of S holds: scores, scores minus the shift, or scores for the wide form. */
enum score_kind { SCORE_PLAIN, SCORE_SHIFTED, SCORE_WIDE };

template <enum score_kind kind> DEVICE struct softmax_state softmax_start()
{
    return {kind == SCORE_WIDE ? WIDE_UNSET : SHIFT_UNSET, {}};
}

/* Largest of this lane's scores of one column. */
template <int blocks> DEVICE float column_max(const block_acc (&s)[blocks])
{
    float largest = -__builtin_inff();
#pragma unroll
    for (int block = 0; block < blocks; block++)
#pragma unroll
        for (int i = 0; i < ACC; i++)
            largest = __builtin_fmaxf(largest, s[block][i]);
    return largest;
}

#if P_IN_LDS

/* O times `factor`, which is in two registers: operations issued two as one have one each. */
DEVICE void scale_in_twos(block_acc (&o)[DIM_BLOCKS], float factor)
{
    float other = factor;
    asm("" : "+v"(other));
#pragma unroll
    for (int block = 0; block < DIM_BLOCKS; block++) {
#pragma unroll
        for (int i = 0; i < ACC; i++)
            o[block][i] *= i % 2 ? other : factor;
        asm("" : "+v"(o[block])); /* in place */
    }
}

#endif

/* The shift in exponents. */
DEVICE float scaled_shift(float shift, float factor)
{
    return SHIFT_OF_SCORES ? shift * factor : shift;
}

/* The shift that makes the P of this score 2^BIAS, or lower where that is out of range. */
DEVICE float shift_for(float score, float factor)
{
    if (!SHIFT_OF_SCORES)
        return score * factor - SOFTMAX_BIAS;
    return SOFTMAX_BIAS > 0 ? score - SOFTMAX_BIAS * __builtin_amdgcn_rcpf(factor) : score;
}

/*
 * Moves the shift up to this tile's largest score and rescales what was summed so far. Returns
 * whether the score asks for the wide form. `begins`: nothing was, in no lane.
 */
template <enum score_kind kind, int blocks>
DEVICE bool move_shift(struct softmax_state &x, block_acc (&o)[DIM_BLOCKS],
                       const block_acc (&s)[blocks], float factor, bool begins = false)
{
    float largest = column_max(s);
#if KERNEL_SCORE > 1 && KERNEL_WAVE == 64 && !defined(__gfx950__)
    u32 lane = lane_id();
    asm volatile("" : "+v"(lane)); /* computed here, and not kept in a register */
    const int other =
        __builtin_amdgcn_ds_bpermute((int)(lane ^ BLOCK) * 4, __builtin_bit_cast(int, largest));
    largest = __builtin_fmaxf(largest, __builtin_bit_cast(float, other));
#else
    largest = __builtin_fmaxf(largest, other_half(largest));
#endif

    float shift =
        __builtin_fmaxf(x.shift, kind == SCORE_WIDE ? largest : shift_for(largest, factor));
    const bool ignored = KERNEL_SCORE && kind != SCORE_WIDE && largest > -__builtin_inff() &&
                         largest * factor < -SHIFT_MOST && x.shift <= SHIFT_IGNORED;
    shift = ignored ? SHIFT_IGNORING : shift;
    const float before = x.shift, moved = before - shift;
    float ratio =
        __builtin_amdgcn_exp2f(kind == SCORE_WIDE ? moved * factor : scaled_shift(moved, factor));
    x.shift = shift;
    x.sum *= ratio;
#if P_IN_LDS && !KERNEL_SCORE /* where `begins` is not known, but seen */
    if (!begins && in_any_lane(before != (kind == SCORE_WIDE ? WIDE_UNSET : SHIFT_UNSET)))
        scale_in_twos(o, ratio);
#else
#pragma unroll
    for (int block = 0; !begins && block < DIM_BLOCKS; block++)
        o[block] *= ratio;
#endif
    float far = KERNEL_SCORE ? largest : __builtin_fabsf(largest);
    return __builtin_fabsf(largest) < __builtin_inff() && far * factor > SHIFT_MOST;
}

/* After the P of the step: the shift to go on with. */
template <enum score_kind kind> DEVICE void keep_shift(struct softmax_state &x)
{
    if (KERNEL_SCORE && kind != SCORE_WIDE)
        x.shift = x.shift == SHIFT_IGNORING ? SHIFT_IGNORED : x.shift;
}

template <enum score_kind kind> DEVICE f32x2 exponents(f32x2 scores, float shift, float factor)
{
    if (kind == SCORE_WIDE)
        return __builtin_elementwise_fma(scores - shift, f32x2(factor), f32x2(SOFTMAX_BIAS));
    if (kind == SCORE_SHIFTED)
        return scores * factor;
    if (SHIFT_OF_SCORES)
        return (scores - shift) * factor;
    return __builtin_elementwise_fma(scores, f32x2(factor), f32x2(-shift));
}

#if P_IN_LDS

/*
 * S to P in place. Returns the sum of this lane's P. A block's P are added up between the exponents
 * of the next one, to two sums in turn, lest each addition wait for the one before.
 */
template <enum score_kind kind>
DEVICE partial_sum exponentiate(const struct softmax_state &x, block_acc (&s)[KEY_BLOCKS],
                                float factor)
{
    partial_sum sums[2] = {};
#pragma unroll
    for (int block = 0; block <= KEY_BLOCKS; block++) {
        block_acc &p = s[block < KEY_BLOCKS ? block : 0];
        block_acc &before = s[block > 0 ? block - 1 : 0];
#pragma unroll
        for (int i = 0; block < KEY_BLOCKS && i < ACC; i += 2) {
            const f32x2 pair = exponents<kind>(f32x2{p[i], p[i + 1]}, x.shift, factor);
            p[i] = pair.x;
            p[i + 1] = pair.y;
        }
        if (block < KEY_BLOCKS)
            asm("" : "+v"(p));
#pragma unroll
        for (int i = 0; i < ACC; i += 2) {
            if (block < KEY_BLOCKS) {
                p[i] = __builtin_amdgcn_exp2f(p[i]);
                p[i + 1] = __builtin_amdgcn_exp2f(p[i + 1]);
            }
            if (block == 0)
                continue;
            const f32x2 pair = {before[i], before[i + 1]};
            partial_sum &sum = sums[i / 2 % 2];
            if (block == 1 && i >= 4)
                sum = f32x2{before[i - 4], before[i - 3]} + pair;
            else if (block > 1)
                sum += pair;
            asm("" : "+v"(sum)); /* in neighbouring registers, for two operations as one */
            __builtin_amdgcn_sched_barrier(0);
        }
        if (block < KEY_BLOCKS)
            asm("" : "+v"(p));
#pragma unroll
        for (int i = 0; block > 0 && i < ACC; i++)
            before[i] = begin_round(before[i]);
    }
    return sums[0] + sums[1];
}

#else

/* S to P in place. Returns the sum of this lane's P. */
template <enum score_kind kind>
DEVICE partial_sum exponentiate(const struct softmax_state &x, block_acc (&s)[KEY_BLOCKS],
                                float factor)
{
    partial_sum sum = {};
#pragma unroll
    for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
        for (int first = 0; first < ACC; first += HELD) {
            block_acc &p = s[block];
#pragma unroll
            for (int i = first; i < first + HELD; i += 2) {
                f32x2 pair = exponents<kind>(f32x2{p[i], p[i + 1]}, x.shift, factor);
                p[i] = HOLDS_EXPONENTS ? pair.x : __builtin_amdgcn_exp2f(pair.x);
                p[i + 1] = HOLDS_EXPONENTS ? pair.y : __builtin_amdgcn_exp2f(pair.y);
            }
            if (HOLDS_EXPONENTS)
                asm("" : "+v"(p));
#pragma unroll
            for (int i = first; HOLDS_EXPONENTS && i < first + HELD; i++)
                p[i] = __builtin_amdgcn_exp2f(p[i]);
            if (HELD == ACC)
                asm("" : "+v"(p));
#pragma unroll
            for (int i = first; i < first + HELD; i += 2) {
                sum += f32x2{p[i], p[i + 1]};
                p[i] = begin_round(p[i]);
                p[i + 1] = begin_round(p[i + 1]);
            }
        }
    return sum;
}

#endif

/* Whether some column has only seen scores that were ignored. */
template <int columns> DEVICE bool any_ignored(const struct softmax_state (&softmax)[columns])
{
    bool any = false;
#pragma unroll
    for (int column = 0; column < columns; column++)
        any |= softmax[column].shift == SHIFT_IGNORED;
    return in_any_lane(any);
}

#endif
