/*
 * Attention problems for tests, from a short description: tensors in every layout with NaN in
 * whatever no sequence owns, one run on a device, and the judgement of everything that came back.
 */
#ifndef AOTHIP_TEST_PROBLEM_H
#define AOTHIP_TEST_PROBLEM_H

#include "attn.h"
#include "ref.h"

#include <stdbool.h>

enum layout {
    BHSD,
    BSHD,
    QKV,       /* row pitch of three tensors */
    ODD_ROWS,  /* three elements between rows */
    ODD_BASE,  /* data one element off */
    ONE_HEAD,  /* k and v: stride 0 over the heads */
    ONE_BATCH, /* q, k and v: stride 0 over the batch */
    LAYOUTS
};

enum values { NORMAL, UNIFORM, POSITIVE, RISING, LARGE, TINY, VALUES };

enum seqs {
    DENSE,
    COMPACT,
    PADDED,
    STRIDED,
    USED_K, /* lengths of k only */
    SEQS
};

enum extent { NONE, FULL, PER_BATCH, PER_HEAD, PER_ROW, PER_KEY, ONE, EXTENTS };

enum holes { NO_HOLES, SOME_INFINITE, ROWS_INFINITE }; /* -infinity in the bias */

enum alibi { NO_ALIBI, ALIBI_HEAD, ALIBI_BATCH };

enum dropout { NO_DROPOUT, DROPOUT_VALUE, DROPOUT_POINTER, DROPOUT_ALL };

enum probs { NO_PROBS, PROBS_MASK, PROBS_DROPPED };

enum cache { NO_CACHE, PAGES, INDEX, APPEND, ROTARY, ROTARY_PAIRS };

enum scales { NO_SCALES, SCALES_ONE, SCALES_HEAD, SCALES_BATCH };

struct test_case {
    int dtype; /* enum aothip_dtype */
    int batch, heads_k, group, seq_q, seq_k, dim_qk, dim_v;
    enum layout layout;
    int mask, left, right; /* enum aothip_mask */
    double scale;
    enum values values;
    enum seqs seqs;
    bool index64;
    bool no_lse;
    int lse_layout, lse_base2;
    enum extent bias;
    bool bias_f32, bias_odd; /* odd: a channel stride of 2 elements, data off by one */
    enum holes holes;
    enum extent keep;
    enum alibi alibi;
    float softcap;
    bool sinks;
    enum dropout dropout;
    enum probs probs;
    enum cache cache;
    int page;
    int fp8;    /* the type of k and v, if it is one of FP8 */
    bool fp8_q; /* and of q; o is of dtype */
    enum scales scales;
    int splits;
    int d_o_exponent; /* dO is made so many powers of two larger */
    uint64_t seed;
};

enum { PROBLEM_BLOCKS = 64 };

struct problem {
    const struct test_case *c;
    struct aothip_attn_fwd_params fwd;
    struct aothip_attn_bwd_params bwd;
    struct aothip_tensor k_before, v_before; /* caches that grow, as they were */
    uint64_t seed, state_outputs[2];
    int64_t lengths_q[16], lengths_k[16];
    void *blocks[PROBLEM_BLOCKS];
    int count;
};

/* At most so many sequences. */
enum { PROBLEM_BATCH_MAX = 8 };

/* Makes q, k, v, o, lse and what goes with them; memory running out aborts. */
void problem_make(const struct test_case *c, struct problem *p);

/*
 * Makes, from the reference's forward pass, o and lse as a backward pass takes them, d_o, and the
 * gradients to be written. The case has neither probs nor cache, and has lse.
 */
void problem_make_bwd(struct problem *p);

void problem_free(struct problem *p);

/*
 * Runs the problem and judges all that it wrote. What is wrong is printed as TAP diagnostics, with
 * the case's description. Returns whether all was right.
 */
bool problem_check_fwd(const struct device *device, struct aothip_context *context,
                       const struct test_case *c);
bool problem_check_bwd(const struct device *device, struct aothip_context *context,
                       const struct test_case *c);

/* Bytes of workspace that the library asks for, for the backward pass; 0 after a failure. */
size_t problem_workspace_bwd(const struct device *device, struct aothip_context *context,
                             const struct test_case *c);

/* The parts of these that more special tests need. */
bool problem_judge_fwd(const struct problem *p, const char *target);
bool problem_judge_bwd(const struct problem *p, const char *target);

/* One line that tells the case. */
void problem_describe(const struct test_case *c);

#endif
