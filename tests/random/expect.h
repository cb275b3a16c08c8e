/*
 * What attention is, in double, from the text of aothip.h alone: a second reading of it beside
 * tools/ref, simple and slow. With each result comes the error that a plain attention has which
 * computes in F32, and rounds P, and dS, to the tensors' type for its matrix products.
 *
 *     sums      Each step rounds what there is by then: a random walk that has come as far as the
 *               root of the products' squares, on a way that leads to the total.
 *     scores    Each further step is off by a unit of what it yields. exp turns the error of a
 *               score into a relative one of P; where it is no small one P may be all or nothing.
 *     rounding  Many roundings of one sum are independent: three times the root of the sum of
 *               their squares, and never more than the sum of all.
 */
#ifndef RANDOM_EXPECT_H
#define RANDOM_EXPECT_H

#include "place.h"

#include "aothip/aothip.h"

#include <stdbool.h>

/* How the device's matrix instructions treat 16-bit numbers. */
struct expect_device {
    double flush; /* those below are taken for 0 */
};

/* Keys and values that the query heads of one key head read in sequence b. */
struct expect_head {
    const struct aothip_attn_fwd_params *p;
    struct expect_device device;
    int64_t b;
    struct place q, k;
    double *key, *value; /* (keys, dim_qk) and (keys, dim_v), rotated */
    bool *exists;
};

enum expect_kind { EXPECT_NUMBER, EXPECT_NONFINITE, EXPECT_ANYTHING };

/* One row of one query head. Arrays count its sequence's keys. */
struct expect_row {
    bool undefined; /* the header says nothing of it */
    bool nan;       /* a score that it sees is NaN */
    bool blind;     /* it sees no key */
    double lse, lse_error;
    double largest; /* of the scores' errors */
    double *score;  /* -infinity where not seen */
    double *error;  /* of the score */
    double *slope;  /* of the soft cap there: d score / d (scale q . k) */
    double *p, *p_error;
    double sink_error; /* of the sink's share of the sum */
    double *kept; /* what dropout makes of P: times this */
    double *o, *o_error;
    enum expect_kind *o_kind;
    double *q; /* rotated */
};

void expect_head_make(const struct aothip_attn_fwd_params *p, struct expect_device device,
                      int64_t b, int64_t key_head, struct expect_head *x);
void expect_head_free(struct expect_head *x);

void expect_row_make(const struct expect_head *x, int64_t head, int64_t m, struct expect_row *r);
void expect_row_free(struct expect_row *r);

/* An element of k (which 0) or v (1) of a sequence, as attention sees it: new rows rotated. */
double expect_key(const struct expect_head *x, int which, int64_t key_head, int64_t n, int64_t c);

/* An element of bias or keep; false if it has none there. */
bool expect_score_input(const struct aothip_tensor *t, int64_t b, int64_t head, int64_t m,
                        int64_t n, double *value);

/* Whether dropout keeps an element of P. */
bool expect_kept(const struct aothip_attn_fwd_params *p, int64_t b, int64_t head, int64_t m,
                 int64_t n);

/* What F32 does to a sum of `count` products, from the sum of their squares and their total. */
double expect_sum_error(int64_t count, double squares, double total);

/* What rounding does to a sum of which `sizes` is that of all sizes, `squares` of all squares. */
double expect_rounding(double unit, double sizes, double squares);

/* A gradient; elements in the order of the tensor's sizes, without gaps. */
struct expect_grad {
    int64_t size[4];
    double *value, *error;   /* an infinite error: it may be anything */
    double *errors;          /* squares of small ones of the summands */
    double *sizes, *squares; /* of what rounding in 16 bits meets */
    bool *met;               /* some row, or pair of a row and a key, contributes */
};

struct expect_bwd {
    struct expect_grad dq, dk, dv, dbias, dsinks, dalibi; /* the last two: size[3] is the head */
};

void expect_bwd_make(const struct aothip_attn_bwd_params *b, struct expect_device device,
                     struct expect_bwd *x);
void expect_bwd_free(struct expect_bwd *x);

#endif
