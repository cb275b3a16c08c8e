/* What the parts of the reference share: a problem's shape, its sequences, one head at hand. */
#ifndef AOTHIP_REF_PROBLEM_H
#define AOTHIP_REF_PROBLEM_H

#include "ref.h"

/* The exact attention, or the plain one: every step rounded to float, inputs flushed if asked. */
enum ref_precision { REF_EXACT, REF_PLAIN };

/* What is computed, and how: the arguments of every function below. */
struct ref_problem {
    const struct aothip_attn_fwd_params *params;
    enum ref_precision precision;
    enum ref_subnormals subnormals;
    int64_t batch; /* sequences */
    int64_t heads_q, heads_k, group, dim_qk, dim_v;
    int64_t rows;          /* at most so many rows of a sequence are computed: M of aothip.h */
    int64_t words;         /* counters of a row of the dropout mask: W of aothip.h */
    int64_t seq_new;       /* rows of k_new */
    int64_t most_k;        /* keys of the longest sequence */
    int appended_exactly;  /* rows of k_new are read as they are before they become FP8 */
    uint64_t seed, offset; /* of dropout, the pointers followed */
};

/* Fills *p. Returns -1 if shapes or dtypes do not fit together. */
int ref_problem_open(const struct aothip_attn_fwd_params *params, enum ref_precision precision,
                     enum ref_subnormals subnormals, struct ref_problem *p);

/* One sequence: its lengths, and where its rows lie. */
struct ref_seq {
    int64_t b;
    int64_t seq_q, seq_k;     /* lengths; the masks and ALiBi see these */
    int64_t rows;             /* rows that are computed: seq_q, or problem.rows if that is less */
    int64_t q_entry, q_start; /* row m is row q_start + m of this batch entry */
    int64_t k_entry, k_start; /* without block_table */
    int64_t old, grown;       /* rows of the cache before k_new, and with it */
};
void ref_problem_seq(const struct ref_problem *p, int64_t b, struct ref_seq *seq);

/* Whether row n of k and v lies in a page, or a batch entry, that the tensors have. */
int ref_problem_key_exists(const struct ref_problem *p, const struct ref_seq *seq, int64_t n);

/* Index of row m's lse in the caller's array, or -1 where it has none. */
int64_t ref_problem_lse_at(const struct ref_problem *p, const struct ref_seq *seq, int64_t h,
                           int64_t m);

/* Element of k or v where row n < seq_k of the sequence begins in tensor t. */
int64_t ref_problem_key_offset(const struct ref_problem *p, const struct ref_seq *seq,
                               const struct aothip_tensor *t, int64_t h, int64_t n);

/* What elements of sequence b and key head g are multiplied by. */
double ref_problem_scale(const struct aothip_scale *scale, int64_t b, int64_t g);

/* Row m of q, and row n of k, as they enter the scores: rotated if asked. */
void ref_problem_read_q(const struct ref_problem *p, const struct ref_seq *seq, int64_t h,
                        int64_t m, double *row);
void ref_problem_read_k(const struct ref_problem *p, const struct ref_seq *seq, int64_t h,
                        int64_t n, double *row);
void ref_problem_read_v(const struct ref_problem *p, const struct ref_seq *seq, int64_t h,
                        int64_t n, double *row);

/* value, in REF_PLAIN as a float. */
static inline double ref_narrow(const struct ref_problem *p, double value)
{
    return p->precision == REF_PLAIN ? (double)(float)value : value;
}

/* An operand of a matrix product in the I/O type: rounded to it, and perhaps flushed. */
double ref_problem_operand(const struct ref_problem *p, double value);
/* One that a kernel lifts out of the subnormals: dO, and the P and dS of a backward pass. */
double ref_problem_lifted(const struct ref_problem *p, double value);

/* count doubles, a multiple of another count; NULL if that is no memory's size. */
double *ref_new_doubles(int64_t a, int64_t b);

/* The log-sum-exp's error in float, in units of half an ulp of its magnitude: see allow(). */
double ref_problem_score_units(const struct ref_problem *p);

/* What an input row holds. */
enum ref_kind { REF_FINITE, REF_INFINITE, REF_NAN };

/*
 * One head of one sequence: inputs as doubles, and room for one row of the computation. K and V lie
 * both ways, so that the inner loop of every product runs along memory.
 */
struct ref_head {
    struct ref_seq seq;
    int64_t h;
    double *q, *k, *kt, *v, *vt; /* q (dim_qk): one row; (seq_k, dim), (dim, seq_k) */
    unsigned char *k_kind, *v_kind;

    /* of row m, over the keys; valid from ref_head_row() to its next call */
    int64_t m, lo, hi;
    double *s;           /* scores, -infinity where masked; not valid outside [lo, hi) */
    double *p;           /* exp(s - max) */
    double *capped;      /* derivative of the soft-cap */
    double *magnitude;   /* of what s was summed up from */
    unsigned char *kept; /* 0 where dropped */
    double max, sum;     /* P is p / sum; sum is 0 where the row sees nothing */
    double lse;          /* natural */
    double scale;        /* that of magnitudes which matter */
    int64_t seen;        /* keys with a finite score, or NaN */
    enum ref_kind kind;  /* what the row sees in q, k and bias */
};

/* Room for the longest sequence. Returns 0, or -1 with everything freed. */
int ref_head_new(const struct ref_problem *p, struct ref_head *head);
void ref_head_free(struct ref_head *head);
void ref_head_read(const struct ref_problem *p, const struct ref_seq *seq, int64_t h,
                   struct ref_head *head);

/* Scores and probabilities of row m. */
void ref_head_row(const struct ref_problem *p, struct ref_head *head, int64_t m);

/* Factor of kept elements of P: 1 / (1 - dropout_p), 0 where all are dropped. */
double ref_dropout_scale(const struct ref_problem *p);

/* kept[n] for lo <= n < hi. */
void ref_dropout_row(const struct ref_problem *p, int64_t b, int64_t h, int64_t m, int64_t lo,
                     int64_t hi, unsigned char *kept);

/* Rows are grouped by the power of two of the number of keys they see; -1: none. */
enum { REF_GROUPS = 64 };
int ref_group(int64_t seen);

#endif
