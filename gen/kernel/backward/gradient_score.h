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

#include "gradient_lift.h"
#include "gradient_rows.h"
#include "philox.h"
#include "score.h"

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

/*
 * exp(score - lse), times 2^raise for a lift (gradient_lift.h). Without that it is 1 at most; but
 * where scores are large, lse is rounded to less than them.
 */
DEVICE float weight_of(float score, float lse, float raise = 0)
{
    float less = score - lse;
    less = less > 0 ? 0 : less; /* NaN stays NaN */
    return __builtin_amdgcn_exp2f(LIFTS ? __builtin_fmaf(less, LOG2_E, raise) : less * LOG2_E);
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

#endif
