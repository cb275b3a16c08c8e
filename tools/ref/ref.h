/*
 * The arbiter: attention in double precision, written naively, forward and backward, and how far
 * from it a correct implementation may be.
 *
 * Problems are what the library takes, struct aothip_attn_fwd_params and _bwd_params, with host
 * pointers everywhere, also where the library wants device memory. F32, F16, BF16 and FP8 are read
 * exactly. Everything in aothip.h is computed; struct_size, splits and the workspace mean nothing
 * here.
 *
 * The tolerance comes from the data and not from taste. A second attention, the plain one, does
 * what any straightforward implementation of the same precision does: inputs in the I/O type,
 * scores in float, P (backward: dS too) rounded to the type of q, sums in float, the output rounded
 * to that of o. An element of o may then be wrong by twice the largest error of the plain one
 * plus half a unit in the last place of the output, an element of a gradient by four times it plus
 * that. "Largest" is taken over the rows that see about as many keys (the same power of two), so
 * that the large outputs of a causal mask's first rows do not excuse errors in its last ones.
 *
 * NaN and infinity: a row of o that sees NaN in q, k, bias or v must be NaN (in that channel, for
 * v). A row that sees an infinity may be anything. A row that sees neither must be as good as ever:
 * what is masked, and rows of k and v that belong to no sequence, have no effect at all.
 */
#ifndef AOTHIP_REF_H
#define AOTHIP_REF_H

#include "aothip/aothip.h"

#include <stddef.h>
#include <stdint.h>

/* Query row m sees the keys lo <= n < hi; none if lo == hi. Always 0 <= lo <= hi <= seq_k. */
struct ref_interval {
    int64_t lo, hi;
};
/* Of the params only mask, window_left and window_right are read. */
struct ref_interval ref_visible(const struct aothip_attn_fwd_params *params, int64_t m,
                                int64_t seq_q, int64_t seq_k);

/*
 * Whether the matrix unit takes f16 subnormals (below 6.1e-5) for zero, as gfx90a's does. Those of
 * q, k, v and of the forward pass's P are lost then; a backward pass keeps its own.
 */
enum ref_subnormals { REF_SUBNORMALS_KEPT, REF_SUBNORMALS_FLUSHED };
enum ref_subnormals ref_subnormals_of(const char *target); /* "gfx942:sramecc+:xnack-" */

/* The four words of Philox4x32-10 (Salmon et al. 2011); lower halves of key and counter first. */
void ref_philox(uint64_t seed, const uint32_t counter[4], uint32_t words[4]);

/* How many elements lse has in the layout of the params; 0 where there are no rows. */
int64_t ref_lse_count(const struct aothip_attn_fwd_params *params);

/* What outputs must hold before a launch for ref_strays_*(): all bytes 0xff, which is NaN. */
enum { REF_POISON = 0xff };

/*
 * The answer. Arrays are contiguous and belong to the struct: o and o_allowed have the shape of the
 * tensor o, all others one element a row of it, (batch, heads_q, seq_q). lse is in the unit of the
 * params. Rows that see no key have o = 0 and lse = +infinity (or the sink), and no error is
 * allowed there. An allowance of infinity admits anything, NaN included; a negative one marks a row
 * that belongs to no sequence.
 */
struct ref_fwd {
    int64_t size[4]; /* of o */
    double *o, *lse;
    double *o_allowed, *lse_allowed; /* largest |error| of each element */
    int64_t *lse_at;                 /* index of a row's lse in the caller's array; -1: none */
};

/*
 * Solves the problem. `subnormals` widens the tolerance only; the reference itself is exact.
 * Returns 0, or -1 with *answer zeroed if memory ran out or the shapes or dtypes do not fit
 * together.
 */
int ref_attn_fwd(const struct aothip_attn_fwd_params *params, enum ref_subnormals subnormals,
                 struct ref_fwd *answer);
void ref_free(struct ref_fwd *answer); /* a zeroed struct is fine */

/*
 * What aothip_attn_merge() makes of o and lse, which it is to be asked before they change; for
 * ref_judge_o() and, with lse.data, ref_judge_lse(). An element may be wrong by twice the largest
 * error of a plain merge in float, beside rounding; rows that one of the two says nothing about by
 * nothing. Returns 0, or -1 with *answer zeroed if memory ran out.
 */
int ref_attn_merge(const struct aothip_attn_merge_params *params, struct ref_fwd *answer);

/*
 * The plain same-precision attention by itself: o and lse in the shapes of struct ref_fwd; either
 * may be NULL. Rows of no sequence are left alone. Returns 0 or -1 as above.
 */
int ref_plain_fwd(const struct aothip_attn_fwd_params *params, enum ref_subnormals subnormals,
                  double *o, double *lse);

/*
 * One gradient: values and allowances in the shape `size`, contiguous. A negative allowance marks
 * what may hold anything or must not be touched: rows of no sequence, entries of dbias outside all
 * of them.
 */
struct ref_grad {
    int64_t size[4];
    double *value, *allowed;
};

/* dsinks is (1, 1, 1, heads_q), dalibi (1, 1, batch or 1, heads_q); what was not asked for is 0. */
struct ref_bwd {
    struct ref_grad dq, dk, dv, dbias, dsinks, dalibi;
};

/*
 * The gradients of sum(o * d_o). o and lse in the params are not read: the reference and the plain
 * backward use what their own forward gives, but for lse, which the plain one has as every backward
 * pass has it: the exact one rounded to f32. A gradient is computed if it has a destination in the
 * params. Returns 0 or -1 as ref_attn_fwd().
 */
int ref_attn_bwd(const struct aothip_attn_bwd_params *params, enum ref_subnormals subnormals,
                 struct ref_bwd *answer);
void ref_free_bwd(struct ref_bwd *answer);

/* How an output compares with the reference. */
struct ref_verdict {
    int64_t wrong;  /* elements beyond their allowance; 0 is a pass */
    int64_t at[4];  /* the worst element, the one with the largest error / allowed */
    double error;   /* there: |got - expected|, infinite for NaN */
    double allowed; /* there */
    double got, expected;
    double largest; /* largest |error| anywhere */
};

/* Judges an output tensor; its shape must be that of the answer, its strides and dtype are free. */
struct ref_verdict ref_judge_o(const struct ref_fwd *answer, const struct aothip_tensor *o);

/* Judges lse, in the layout that the problem of the answer had; `at` is (batch, head, row of q). */
struct ref_verdict ref_judge_lse(const struct ref_fwd *answer, const float *lse);

/* Judges a gradient; dsinks and dalibi are float arrays with the strides of the params. */
struct ref_verdict ref_judge_grad(const struct ref_grad *grad, const struct aothip_tensor *tensor);

/*
 * Judges params->probs, within the sequences: `at` is (sequence, head, m, n). What lies beyond a
 * sequence's rows or keys may be anything. Returns a verdict with wrong = -1 if memory ran out.
 */
struct ref_verdict ref_judge_probs(const struct aothip_attn_fwd_params *params);

/*
 * Judges the caches k and v after the rows of k_new and v_new were appended: `before` is the
 * problem with the caches as they were, k and v as they are now, of the same shapes and strides.
 * at[3] counts elements of the span. wrong is -1 if memory ran out or the shapes differ.
 */
struct ref_verdict ref_judge_append(const struct aothip_attn_fwd_params *before,
                                    const struct aothip_tensor *k, const struct aothip_tensor *v);

/*
 * Elements that belong to no row of a sequence, or lie between rows, and are not REF_POISON any
 * more: in the whole span of o, in `count` elements of lse, in the span of a gradient.
 */
int64_t ref_strays_o(const struct ref_fwd *answer, const struct aothip_tensor *o);
int64_t ref_strays_lse(const struct ref_fwd *answer, const float *lse, int64_t count);
int64_t ref_strays_grad(const struct ref_grad *grad, const struct aothip_tensor *tensor);

/* One element, exactly; NaN for an unknown dtype. index counts elements. */
double ref_load(const void *data, int64_t index, int dtype);
/* Stores with rounding to nearest even; FP8 ends at its largest number. */
void ref_store(void *data, int64_t index, int dtype, double value);
/* value as dtype would hold it. */
double ref_round(double value, int dtype);
/* Bytes of one element: 1, 2 or 4; 0 for an unknown dtype. */
size_t ref_dtype_size(int dtype);
/* Half a unit in the last place of dtype at this magnitude: the largest error of one rounding. */
double ref_half_ulp(double value, int dtype);

/* Where element (b, h, s, d) lies; the stride of a dimension of size 1 is ignored. */
int64_t ref_offset(const struct aothip_tensor *t, int64_t b, int64_t h, int64_t s, int64_t d);
/* From the first to the last element, in elements; what lies between rows is counted. */
int64_t ref_span(const struct aothip_tensor *t);

#endif
