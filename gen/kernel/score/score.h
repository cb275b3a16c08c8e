/*
 * What turns q . k into a score beside the scale: soft-cap, ALiBi, bias, boolean mask. One element
 * at a time; kernarg.h has the order and the formulas. Everything but row and key is uniform.
 */
#ifndef AOTHIP_SCORE_H
#define AOTHIP_SCORE_H

#include "sequence.h"
#include "tile.h"

/* What one (sequence, head) adds to its scores. Uniform. */
struct score_terms {
    const char *bias, *keep;                            /* of row 0 and key 0; NULL: none */
    kernarg_i64 bias_row, bias_key, keep_row, keep_key; /* in bytes */
    float slope;                                        /* 0: no ALiBi */
    float softcap, softcap_inverse;                     /* softcap 0: none */
    int diagonal;                                       /* seq_k - seq_q */
    bool bias_f32;
};

DEVICE struct score_terms score_terms_of(const struct attn_problem &a,
                                         const struct sequence &sequence, int head)
{
    typedef const __attribute__((address_space(4))) float *const_float;
    struct score_terms t = {};
    int size = KERNEL_DTYPE == 1 || a.flags & KERNARG_BIAS_F32 ? 4 : 2;
    if (a.bias.data) {
        t.bias = (const char *)a.bias.data +
                 (sequence.number * a.bias.stride[0] + head * a.bias.stride[1]) * size;
        t.bias_row = a.bias.stride[2] * size;
        t.bias_key = a.bias.stride[3] * size;
    }
    if (a.keep.data) {
        t.keep = (const char *)a.keep.data + sequence.number * a.keep.stride[0] +
                 head * a.keep.stride[1];
        t.keep_row = a.keep.stride[2];
        t.keep_key = a.keep.stride[3];
    }
    if (a.alibi)
        t.slope = ((const_float)a.alibi)[sequence.number * a.alibi_stride + head];
    t.softcap = a.softcap;
    t.softcap_inverse = a.softcap > 0 ? 1 / a.softcap : 0;
    t.diagonal = sequence.seq_k - sequence.seq_q;
    t.bias_f32 = size == 4;
    return t;
}

DEVICE bool any_terms(const struct score_terms &t)
{
    return t.bias || t.keep || t.slope != 0 || t.softcap > 0;
}

/* tanh; its error is a few units in the last place of 1, absolute. */
DEVICE float tanh_of(float x)
{
    float e = __builtin_amdgcn_exp2f(__builtin_fabsf(x) * -2.88539008177792681472f);
    return __builtin_copysignf((1 - e) * __builtin_amdgcn_rcpf(1 + e), x);
}

/* A bias of the same type as q, f16 or bf16. */
DEVICE float bias_as_q(const char *at)
{
#if KERNEL_DTYPE == 2
    return (float)*(const GLOBAL _Float16 *)at;
#else
    return __builtin_bit_cast(float, (u32) * (const GLOBAL u16 *)at << 16);
#endif
}

DEVICE float bias_at(const struct score_terms &t, int row, int key)
{
    const GLOBAL char *at = (const GLOBAL char *)t.bias + row * t.bias_row + key * t.bias_key;
    if (t.bias_f32)
        return *(const GLOBAL float *)at;
    return bias_as_q((const char *)at);
}

/* The score of an element that exists (row and key within the sequence), from scale * q . k. */
DEVICE float score_of(const struct score_terms &t, float s, int row, int key)
{
    if (t.softcap > 0)
        s = t.softcap * tanh_of(s * t.softcap_inverse);
    if (t.slope != 0) {
        int distance = row + t.diagonal - key;
        s -= t.slope * (float)(distance < 0 ? -distance : distance);
    }
    if (t.bias)
        s += bias_at(t, row, key);
    if (t.keep && !((const GLOBAL char *)t.keep)[row * t.keep_row + key * t.keep_key])
        s = -__builtin_inff();
    return s;
}

#endif
