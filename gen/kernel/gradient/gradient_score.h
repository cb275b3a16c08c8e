/*
 * P and dS of some elements of a lane, with every score feature. kernarg.h has the order of the
 * terms.
 *
 *     P = exp(s - lse),  P~ = kept ? P * dropout_scale : 0          (what multiplied V)
 *     dS = P * ((kept ? dropout_scale * dP : 0) - delta),  dP = dO . V
 *     dX = dS * (1 - tanh(x / softcap)^2)                           (x = scale * q . k)
 *
 * What the features need is read from the arguments where they are: all of it at once is more than
 * there are scalar registers, and most problems have none of them.
 */
#ifndef AOTHIP_ATTN_BWD_SCORE_H
#define AOTHIP_ATTN_BWD_SCORE_H

#include "gradient_rows.h"
#include "philox.h"
#include "score.h"

/*
 * gfx90a takes subnormal f16 operands of its matrix instructions for 0: what is below 2^-14.
 * Gradients without loss scaling lie there, at about 2^-16, and so do the weights of long
 * sequences. So the kernels lift, by powers of two, which is exact and undone in f32:
 *
 *     dO to 2^lift.d_o dO, and with it dP and delta
 *     P to 2^lift.p P, by lse; so also dS, to 2^(lift.d_o + lift.p) dS
 *
 * such that the largest |dO| is at least 2^LIFT_TO, and dS as large as for a dO of 2^LIFTED, unless
 * it is by itself: the larger dO, the less it is lifted, lest dS overflow. The sums over elements
 * take P back to 2^-lift.d_o P, and so get dS as it is.
 *
 * The largest |dO| is that of a row where rows are owned, else that of all rows which the
 * workgroup's keys are seen by; what is below 2^-12 of it may count as 0 in dK and dV. In the
 * forward pass the P are lifted by softmax.h. Q, K and V are as they are.
 */
#if defined(__gfx90a__) && KERNEL_DTYPE == 2
#define LIFTS 1
#else
#define LIFTS 0
#endif

#if LIFTS

constexpr int LIFT_TO = -2; /* exponent of the largest dO, at least */
constexpr int LIFTED = 6;   /* exponent of dO that leaves dS alone */
/* The largest power of two in f16; it lifts the smallest f16 to 2^-9. */
constexpr int LIFT_DO_MOST = 15;
constexpr int LIFT_P_MOST = 8; /* P and its factor for dropout are below 2^8 each */

typedef _Float16 lift_pair __attribute__((ext_vector_type(2)));

struct lift {
    int d_o, p;
};

DEVICE int limited(int x, int most)
{
    x = x < most ? x : most;
    return x > 0 ? x : 0;
}

DEVICE float power_of_two(int exponent)
{
    return __builtin_bit_cast(float, (u32)(127 + exponent) << 23);
}

/* For the bits of the largest |dO|: nothing for infinity and NaN. */
DEVICE struct lift lift_of(u32 largest, const struct attn_problem &a)
{
    float x = (float)__builtin_bit_cast(_Float16, (u16)largest);
    int exponent = (int)(__builtin_bit_cast(u32, x) >> 23) - 127;
    int p = limited(LIFTED - exponent, LIFT_P_MOST);
    if (KERNEL_SCORE && (a.flags & KERNARG_DROPOUT) && !(a.dropout_scale < 0x1p8f))
        p = 0;
    return {limited(LIFT_TO - exponent, LIFT_DO_MOST), p};
}

/* The larger of x and the magnitudes in a chunk, but NaN: an instruction takes two of them. */
DEVICE u32 largest_of(u32 x, u32x4 chunk)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const u32 pair = chunk[i];
        asm("v_max3_f16 %0, |%1|, |%1|, %0 op_sel:[0,1,0,0]" : "+v"(x) : "v"(pair));
    }
    return x;
}

/* The largest of all lanes. Uniform: of numbers that are not, the compiler would make an atomic
 * operation by a loop over the lanes. */
DEVICE u32 largest_in_wave(u32 x)
{
    const auto take = [&](u32 other) { x = x > other ? x : other; };
    take((u32)__builtin_amdgcn_mov_dpp((int)x, 0x111, 0xf, 0xf, true)); /* row_shr:1 */
    take((u32)__builtin_amdgcn_mov_dpp((int)x, 0x112, 0xf, 0xf, true));
    take((u32)__builtin_amdgcn_mov_dpp((int)x, 0x114, 0xf, 0xf, true));
    take((u32)__builtin_amdgcn_mov_dpp((int)x, 0x118, 0xf, 0xf, true));
    take((u32)__builtin_amdgcn_mov_dpp((int)x, 0x142, 0xf, 0xf, true)); /* row_bcast:15 */
    take((u32)__builtin_amdgcn_mov_dpp((int)x, 0x143, 0xf, 0xf, true)); /* row_bcast:31 */
    return (u32)__builtin_amdgcn_readlane((int)x, KERNEL_WAVE - 1);
}

/* A pair of 2^exponent in f16. */
DEVICE u32 lift_pair_of(int exponent)
{
    return (u32)(15 + exponent) * 0x04000400u;
}

/* A pair of 2^-exponent in f16, up to 24. */
DEVICE u32 lowering_pair_of(int exponent)
{
    return exponent <= 14 ? (u32)(15 - exponent) * 0x04000400u : 0x04000400u >> (exponent - 14);
}

DEVICE u32x4 lift_chunk(u32x4 chunk, u32 pair)
{
    const lift_pair factor = __builtin_bit_cast(lift_pair, pair);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u32 x = chunk[i];
        chunk[i] = __builtin_bit_cast(u32, __builtin_bit_cast(lift_pair, x) * factor);
    }
    return chunk;
}

#endif

/* Of x: dX. Of the terms that are added to the score, such as the bias: dS. */
enum gradient { OF_PRODUCT, OF_TERMS };

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

/* A query row and a key, which exist. */
struct element {
    int row, key;
};

DEVICE struct score_terms terms_here(const struct place &p)
{
    return score_terms_of(args_here().problem, p.sequence, p.head);
}

/* Elements of a vector. */
template <class V> DEVICE constexpr int elements_of()
{
    return (int)(sizeof(V) / sizeof(float));
}

/* Calls f(i) for each element, few at a time: the addresses of all would not fit the registers. */
template <int count, class F> DEVICE void each_element(F f)
{
#pragma unroll
    for (int i = 0; i < count; i++) {
        if (i % 4 == 0)
            __builtin_amdgcn_sched_barrier(0);
        f(i);
    }
}

/* s, scale * q . k, becomes the score. Soft-capping multiplies its slope to dp if that is wanted.
 */
template <enum gradient of, int count, class V, class At>
DEVICE void add_terms(V &s, V &dp, const struct place &p, At at)
{
    if (args_here().problem.softcap > 0) {
        const struct score_terms t = terms_here(p);
        each_element<count>([&](int i) {
            float capped = tanh_of(s[i] * t.softcap_inverse);
            s[i] = t.softcap * capped;
            if (of == OF_PRODUCT)
                dp[i] *= 1 - capped * capped;
        });
    }
    if (args_here().problem.alibi) {
        const struct score_terms t = terms_here(p);
        const int diagonal = diagonal_of(p);
        each_element<count>([&](int i) {
            s[i] -= t.slope * __builtin_fabsf((float)(at(i).row + diagonal - at(i).key));
        });
    }
    if (args_here().problem.bias.data) {
        const struct score_terms t = terms_here(p);
        each_element<count>([&](int i) { s[i] += bias_at(t, at(i).row, at(i).key); });
    }
    if (args_here().problem.keep.data) {
        const struct score_terms t = terms_here(p);
        each_element<count>([&](int i) {
            const GLOBAL char *keep = (const GLOBAL char *)t.keep + at(i).row * t.keep_row;
            s[i] = keep[at(i).key * t.keep_key] ? s[i] : -__builtin_inff();
        });
    }
}

/* exp(less), times 2^raise for a lift. */
DEVICE float weight_below(float less, float raise)
{
    return __builtin_amdgcn_exp2f(LIFTS ? __builtin_fmaf(less, LOG2_E, raise) : less * LOG2_E);
}

/*
 * exp(score - lse), times 2^raise for a lift. Without that it is 1 at most; but
 * where scores are large, lse is rounded to less than them.
 */
DEVICE float weight_of(float score, float lse, float raise = 0)
{
    float less = score - lse;
    less = less > 0 ? 0 : less; /* NaN stays NaN */
    return weight_below(less, raise);
}

/*
 * In place, s = q . k to P~ and dp = dO . V to the gradient; both 0 where seen(i) is not. at(i) is
 * the element, or another one that exists where it does not. Bit i of kept_of(dropout) says whether
 * dropout keeps it.
 */
template <enum gradient of, int count, class V, class At, class Seen, class Kept>
DEVICE void differentiate(V &s, V &dp, const V &lse, const V &delta, float raise,
                          const struct place &p, At at, Seen seen, Kept kept_of)
{
    u32 kept = ~0u;
    float kept_scale = 1;
    if (args_here().problem.flags & KERNARG_DROPOUT) {
        const struct attn_problem &a = args_here().problem;
        kept = kept_of(dropout_of(a, p.sequence.number, p.head));
        kept_scale = a.dropout_scale;
        each_element<count>([&](int i) { dp[i] = kept >> i & 1 ? dp[i] * kept_scale : 0; });
    }
    s *= args_here().problem.scale;
    dp -= delta;
    add_terms<of, count>(s, dp, p, at);
    each_element<count>([&](int i) {
        float weight = weight_of(s[i], lse[i], raise);
        weight = seen(i) ? weight : 0;
        dp[i] = seen(i) ? weight * dp[i] : 0;
        s[i] = kept >> i & 1 ? weight * kept_scale : 0;
    });
}

/*
 * P and dS of single elements in f32, each by one lane that reads its rows from memory: not every
 * GPU has a matrix product in f32.
 */

/* The keys that row `row` sees: first .. last. */
struct key_range {
    int first, last;
};

DEVICE struct key_range keys_of_row(const struct sequence &s, int row)
{
    int first = __builtin_elementwise_add_sat(row, s.key_first);
    int last = __builtin_elementwise_add_sat(row, s.key_last);
    return {first > 0 ? first : 0, last < s.seq_k - 1 ? last : s.seq_k - 1};
}

/* Row `row` of x times row `other` of y; y's channels lie one next to the other. */
DEVICE float dot_of(const struct rows &x, int row, const struct rows &y, int other)
{
    typedef float f32x4 __attribute__((ext_vector_type(4)));
    typedef const GLOBAL f32x4 f32x4_anywhere __attribute__((aligned(4)));
    const GLOBAL char *a = (const GLOBAL char *)x.base + row * x.pitch;
    const GLOBAL char *b = (const GLOBAL char *)y.base + other * y.pitch;
    int channel = 0;
    f32x4 sum = 0;
    if (x.channel == 4)
#pragma unroll 1
        for (; channel + 4 <= x.dim; channel += 4)
            sum = __builtin_elementwise_fma(*(f32x4_anywhere *)(a + channel * 4),
                                            *(f32x4_anywhere *)(b + channel * 4), sum);
#pragma unroll 1
    for (; channel < x.dim; channel++)
        sum.x = __builtin_fmaf(*(const GLOBAL float *)(a + channel * x.channel),
                               *(const GLOBAL float *)(b + channel * 4), sum.x);
    return (sum.x + sum.y) + (sum.z + sum.w);
}

struct weights {
    float p; /* P~ */
    float d; /* dX or dS, as is asked for */
};

/* Zeros for an element that does not exist or is not visible. */
template <enum gradient of>
DEVICE struct weights weights_at(const struct place &p, int row, int key)
{
    typedef float one __attribute__((ext_vector_type(1)));
    const struct sequence &q = p.sequence;
    const struct weights none = {0, 0};
    if (row < 0 || row >= q.seq_q)
        return none;
    struct key_range keys = keys_of_row(q, row);
    if (key < keys.first || key > keys.last)
        return none;
    one s, dp, lse, delta;
    s.x = dot_of(q_rows(args_here(), p), row, k_rows(args_here(), p), key);
    dp.x = dot_of(do_rows(args_here(), p), row, v_rows(args_here(), p), key);
    const struct attn_bwd_args &args = args_here();
    const struct vector_place vectors = vector_of(args.problem, p);
    lse.x = lse_at(args, vectors, row, q.seq_q);
    delta.x = delta_at(args, vectors, row, q.seq_q);
    differentiate<of, 1>(
        s, dp, lse, delta, 0, p,
        [&](int) {
            return element{row, key};
        },
        [](int) { return true; },
        [&](const struct dropout &d) { return kept_quad(d, row, (u32)key / 4) >> (key % 4) & 1; });
    return {s.x, dp.x};
}

#endif
