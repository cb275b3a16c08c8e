/*
 * The arbiter: attention in double precision, written naively, and how far from it a correct
 * 16-bit implementation may be.
 *
 * All tensors here are in host memory; otherwise struct aothip_tensor means what it means in
 * aothip.h: views (batch, head, sequence, channel) with strides in elements. F32, F16 and BF16 are
 * read exactly.
 *
 * The tolerance comes from the data and not from taste. A second attention, the plain one, does
 * what any straightforward 16-bit implementation does: inputs in the I/O type, S in float, P
 * rounded to the I/O type, sums in float, the output rounded to the I/O type. An element may then
 * be wrong by twice the largest error of the plain one plus half a unit in the last place of the
 * output. "Largest" is taken over the rows that see about as many keys (the same power of two), so
 * that the large outputs of a causal mask's first rows do not excuse errors in its last ones.
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
struct ref_interval ref_visible(int mask, int64_t m, int64_t seq_q, int64_t seq_k);

/* Whether the matrix unit takes f16 subnormals (below 6.1e-5) for zero, as gfx90a's does. */
enum ref_subnormals { REF_SUBNORMALS_KEPT, REF_SUBNORMALS_FLUSHED };
enum ref_subnormals ref_subnormals_of(const char *target); /* "gfx942:sramecc+:xnack-" */

/* One forward problem. Shapes as in struct aothip_attn_fwd_params; q, k and v of one dtype. */
struct ref_problem {
    struct aothip_tensor q, k, v;
    double scale;
    int mask;                       /* enum aothip_mask */
    enum ref_subnormals subnormals; /* widens the tolerance only; the reference itself is exact */
};

/*
 * The answer. Arrays are contiguous and belong to the struct: o and o_allowed are (batch, heads_q,
 * seq_q, dim_v), lse and lse_allowed (batch, heads_q, seq_q). lse is natural. Rows that see no key
 * have o = 0 and lse = +infinity, and no error is allowed there.
 */
struct ref_fwd {
    int64_t size[4]; /* of o */
    double *o, *lse;
    double *o_allowed, *lse_allowed; /* largest |error| of each element */
};

/*
 * Solves the problem. Returns 0, or -1 with *answer zeroed if memory ran out or the shapes or
 * dtypes do not fit together.
 */
int ref_attn_fwd(const struct ref_problem *problem, struct ref_fwd *answer);
void ref_free(struct ref_fwd *answer); /* a zeroed struct is fine */

/*
 * The plain same-precision attention by itself: o and lse as in struct ref_fwd, lse may be NULL.
 * Returns 0 or -1 as above.
 */
int ref_plain_fwd(const struct ref_problem *problem, double *o, double *lse);

/* How an output compares with the reference. NaN is always wrong. */
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

/* Judges lse (batch, heads_q, seq_q), contiguous. */
struct ref_verdict ref_judge_lse(const struct ref_fwd *answer, const float *lse);

/* One element, exactly; NaN for an unknown dtype. index counts elements. */
double ref_load(const void *data, int64_t index, int dtype);
/* Stores with rounding to nearest even. */
void ref_store(void *data, int64_t index, int dtype, double value);
/* value as dtype would hold it. */
double ref_round(double value, int dtype);
/* Bytes of one element: 2 or 4; 0 for an unknown dtype. */
size_t ref_dtype_size(int dtype);

#endif
