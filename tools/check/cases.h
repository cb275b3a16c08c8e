/* The attention problems that aothip-check tries, and one run of one of them. */
#ifndef AOTHIP_CHECK_CASES_H
#define AOTHIP_CHECK_CASES_H

#include "attn.h"
#include "ref.h"

/* How a case's tensors lie in memory. */
enum check_layout { CHECK_BHSD, CHECK_BSHD, CHECK_QKV, CHECK_PADDED };

enum check_pass { CHECK_FORWARD, CHECK_BACKWARD };

struct check_case {
    int dtype;
    int kv; /* the type of k and v where it is not dtype: one of FP8 */
    int batch, heads_q, heads_k, seq_q, seq_k, dim_qk, dim_v;
    int mask;
    enum check_layout layout;
    int quick; /* 1: also part of --quick */
    enum check_pass pass;
};

enum { CHECK_CASES_MAX = 64 };
extern const struct check_case check_cases[];
extern const int check_case_count; /* at most CHECK_CASES_MAX */

struct check_result {
    int tried, passed;
    struct ref_verdict o, lse; /* backward: o is the worst of dq, dk and dv, lse is not judged */
    int64_t stray;             /* elements between the rows of an output that were written to */
    struct status why;         /* why it could not be computed */
};

/* Whether the GPU is to be tried: a case whose q is of FP8 goes where there is a kernel for it. */
int check_applies(const struct check_case *c, const char *target, struct aothip_context *context);

/* Runs the case on the device. Inputs are the same every time. */
void check_run(const struct check_case *c, const struct device *device,
               struct aothip_context *context, struct check_result *result);

const char *check_dtype_name(int dtype);                 /* "f16" */
const char *check_type_name(const struct check_case *c); /* the same in four columns */
const char *check_mask_name(int mask);                   /* "none", "tl", "br", "win" */
const char *check_pass_name(enum check_pass pass);       /* "fwd" */
const char *check_layout_name(enum check_layout layout); /* "bhsd" */

#endif
