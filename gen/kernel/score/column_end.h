/*
 * What the sums of a column come to once its keys are over.
 */
#ifndef AOTHIP_COLUMN_END_H
#define AOTHIP_COLUMN_END_H

#include "softmax.h"

/* The factor that makes O of it, and lse. */
struct column_end {
    float inverse, lse;
    bool blind; /* no term but the sink: O = 0 */
};

/* `sum` is that of both halves, of exp(score - top). */
DEVICE struct column_end end_column(float top, float sum, const struct attn_problem &a, int head)
{
    asm("" : "+v"(top)); /* rounded like any score, so that a large one is not below lse */
    float ratio = 1;
    bool blind = sum == 0;
    if (a.sinks) {
        float sink = ((const_float)a.sinks)[head], higher = __builtin_fmaxf(top, sink);
        higher = higher == -__builtin_inff() ? 0 : higher;
        ratio = __builtin_amdgcn_exp2f((top - higher) * LOG2_E);
        sum = sum * ratio + __builtin_amdgcn_exp2f((sink - higher) * LOG2_E);
        top = higher;
    }
    float lse = (top + __builtin_amdgcn_logf(sum) * LN_2) * a.lse_unit;
    return {ratio * __builtin_amdgcn_rcpf(sum), sum == 0 ? __builtin_inff() : lse, blind};
}

#endif
