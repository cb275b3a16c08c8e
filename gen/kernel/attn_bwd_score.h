/*
 * One element of P and dS, with every score feature. kernarg.h has the order of the terms.
 *
 *     P = exp(s - lse),  P~ = kept ? P * dropout_scale : 0          (what multiplied V)
 *     dS = P * ((kept ? dropout_scale * dP : 0) - delta),  dP = dO . V
 *     dX = dS * (1 - tanh(x / softcap)^2)                           (x = scale * q . k)
 */
#ifndef AOTHIP_ATTN_BWD_SCORE_H
#define AOTHIP_ATTN_BWD_SCORE_H

#include "philox.h"
#include "score.h"

struct score_context {
    struct score_terms terms; /* with softcap 0: capping is done here */
    struct dropout dropout;
    float scale, softcap, softcap_inverse;
    float dropout_scale;
    bool dropping;
};

DEVICE struct score_context score_context_of(const struct attn_problem &a,
                                             const struct sequence &sequence, int head)
{
    struct score_context c = {};
    c.terms = score_terms_of(a, sequence, head);
    c.softcap = c.terms.softcap;
    c.softcap_inverse = c.terms.softcap_inverse;
    c.terms.softcap = 0;
    c.dropout = dropout_of(a, sequence.number, head);
    c.scale = a.scale;
    c.dropout_scale = a.dropout_scale;
    c.dropping = a.flags & KERNARG_DROPOUT;
    return c;
}

struct score_gradient {
    float p_kept; /* P~ */
    float ds;     /* dS: the gradient of bias, and of the ALiBi term */
    float dx;     /* dX: the gradient of scale * q . k */
};

/* For an element that exists and is visible. */
DEVICE struct score_gradient differentiate(const struct score_context &c, float qk, float dp,
                                           float lse2, float delta, int row, int key)
{
    float s = c.scale * qk, slope = 1;
    if (c.softcap > 0) {
        float t = tanh_of(s * c.softcap_inverse);
        s = c.softcap * t;
        slope = 1 - t * t;
    }
    s = score_of(c.terms, s, row, key);
    float p = __builtin_amdgcn_exp2f(__builtin_fmaf(s, LOG2_E, -lse2));
    float p_kept = p;
    if (c.dropping) {
        bool kept = kept_quad(c.dropout, row, (u32)key / 4) >> (key % 4) & 1;
        p_kept = kept ? p * c.dropout_scale : 0;
        dp = kept ? dp * c.dropout_scale : 0;
    }
    float ds = p * (dp - delta);
    return {p_kept, ds, ds * slope};
}

#endif
