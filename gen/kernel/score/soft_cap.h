/*
 * Soft-cap on columns of S^T, for the forward kernel's fast form.
 */
#ifndef AOTHIP_SOFT_CAP_H
#define AOTHIP_SOFT_CAP_H

#include "softmax.h"

DEVICE float fused(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}

/*
 * Elements that are capped together: on RDNA 3 what is alike and side by side is issued two as one.
 * Kernels for all terms have no registers for more than two; on RDNA 4 it takes longer.
 */
#if FOLDS_TERMS && !defined(__GFX12__)
#define CAP_BLOCKS 1
typedef block_acc cap_run;
#else
#define CAP_BLOCKS 0
typedef f32x2 cap_run;
#endif
constexpr int CAP_RUN = sizeof(cap_run) / sizeof(float);

DEVICE cap_run side_by_side(cap_run x)
{
#if CAP_BLOCKS
    asm("" : "+v"(x));
#endif
    return x;
}

/* What s is multiplied by inside of the exponential function; of |scale|. */
DEVICE float inside_cap(const struct attn_problem &a, float scale)
{
    return 2 * LOG2_E * scale / a.softcap;
}

/* The CAP_RUN elements of x from the i-th on become most - 2 * cap / (exp2(x * inside) + 1): cap *
 * tanh(), where most is cap. */
DEVICE void cap_elements(block_acc &x, int i, float inside, float cap, float most)
{
    cap_run run;
#pragma unroll
    for (int j = 0; j < CAP_RUN; j++)
        run[j] = x[i + j];
    run = side_by_side(run * inside);
#pragma unroll
    for (int j = 0; j < CAP_RUN; j++)
        run[j] = __builtin_amdgcn_exp2f(run[j]);
    run = side_by_side(side_by_side(run) + 1);
#pragma unroll
    for (int j = 0; j < CAP_RUN; j++)
        run[j] = __builtin_amdgcn_rcpf(run[j]);
    run = side_by_side(__builtin_elementwise_fma(run, cap_run(-2 * cap), cap_run(most)));
#pragma unroll
    for (int j = 0; j < CAP_RUN; j++)
        x[i + j] = run[j];
}

DEVICE void cap_block(block_acc &x, float inside, float cap, float most)
{
#pragma unroll
    for (int i = 0; i < ACC; i += CAP_RUN)
        cap_elements(x, i, inside, cap, most);
}

/*
 * s becomes cap * tanh(s * scale / softcap); where shifts are given, less those and, with a cap in
 * such units, as exponents of 2: tanh(x) = 1 - 2 / (exp(2 x) + 1).
 */
template <int columns>
DEVICE void cap_scores(block_acc (&s)[columns][KEY_BLOCKS], float inside, float cap,
                       const struct softmax_state *softmax = nullptr)
{
#pragma unroll
    for (int column = 0; column < columns; column++) {
        const float most = softmax ? fused(-LOG2_E, softmax[column].shift, cap) : cap;
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
            cap_block(s[column][block], inside, cap, most);
    }
}

#endif
