/*
 * P and dS of single elements in f32, each by one lane that reads its rows from memory: not every
 * GPU has a matrix product in f32.
 */
#ifndef AOTHIP_ATTN_BWD_ELEMENT_H
#define AOTHIP_ATTN_BWD_ELEMENT_H

#include "gradient_rows.h"
#include "gradient_score.h"

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
DEVICE struct weights weights_of(const struct place &p, int row, int key)
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
        s, dp, lse, delta, 0, p, [&](int) { return element{row, key}; }, [](int) { return true; },
        [&](const struct dropout &d) { return kept_quad(d, row, (u32)key / 4) >> (key % 4) & 1; });
    return {s.x, dp.x};
}

#endif
