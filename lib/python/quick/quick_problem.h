#ifndef QUICK_PROBLEM_H
#define QUICK_PROBLEM_H

#include "quick_tensor.h"

/* The fields of aothip.Problem that are looked at; of others there are none, or they mean nothing.
 */
#define QUICK_FIELDS(FIELD)                                                                        \
    FIELD(scale)                                                                                   \
    FIELD(causal)                                                                                  \
    FIELD(window)                                                                                  \
    FIELD(top_left)                                                                                \
    FIELD(softcap)                                                                                 \
    FIELD(alibi_slopes)                                                                            \
    FIELD(sinks)                                                                                   \
    FIELD(bias)                                                                                    \
    FIELD(keep)                                                                                    \
    FIELD(dropout_p)                                                                               \
    FIELD(cu_seqlens_q)                                                                            \
    FIELD(cu_seqlens_k)                                                                            \
    FIELD(max_seqlen_q)                                                                            \
    FIELD(max_seqlen_k)                                                                            \
    FIELD(seqused_k)                                                                               \
    FIELD(leftpad_k)                                                                               \
    FIELD(lengths)                                                                                 \
    FIELD(starts)                                                                                  \
    FIELD(block_table)                                                                             \
    FIELD(batch_index)                                                                             \
    FIELD(k_new)                                                                                   \
    FIELD(v_new)                                                                                   \
    FIELD(rotary)                                                                                  \
    FIELD(splits)                                                                                  \
    FIELD(fp8)                                                                                     \
    FIELD(q_scale)                                                                                 \
    FIELD(k_scale)                                                                                 \
    FIELD(v_scale)                                                                                 \
    FIELD(out_dtype)

enum quick_field {
#define FIELD(name) QUICK_##name,
    QUICK_FIELDS(FIELD)
#undef FIELD
        QUICK_FIELD_COUNT
};

/* One call: its arguments as Python has them, and as the C API wants them. */
struct quick_problem {
    struct aothip_attn_fwd_params p;
    struct quick_tensor q, k, v, o, lse;
    PyObject *field[QUICK_FIELD_COUNT]; /* borrowed; NULL: absent or None */
    PyObject *device;                   /* owned */
    int packed;                         /* sequences behind each other: order "shd" */
    int whole;                          /* every row of q, k and v belongs to a sequence */
    const int *axes, *key_axes;
    int64_t batch;
};

/* Names of fields, once. 0, or -1 with an exception. */
int quick_problem_setup(void);

/*
 * Fills all of c but its stream and results. 1, or 0 where this is no such plain problem as needs
 * nothing converted, copied or drawn: the module in Python then does it, or says what is wrong.
 * quick_problem_clear() either way.
 */
int quick_problem_describe(struct quick_problem *c, PyObject *const tensors[3], PyObject *order,
                           PyObject *fields);
void quick_problem_clear(struct quick_problem *c);

#endif
