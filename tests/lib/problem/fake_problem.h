/* Sound problems for the C API at made-up addresses; no GPU memory stands behind them. */
#ifndef AOTHIP_FAKE_PROBLEM_H
#define AOTHIP_FAKE_PROBLEM_H

#include <stdint.h>

#include "aothip/aothip.h"

/* A packed BHSD tensor at `address`, F16. */
struct aothip_tensor problem_tensor(uint64_t address, int64_t batch, int64_t heads, int64_t seq,
                                    int64_t dim);

/* Batch 2, 8 query and 2 key heads, 100 queries, 300 keys, head dim 64; lse is written. */
struct aothip_attn_fwd_params problem_make(void);

/* What may be added to it. */
void problem_pack(struct aothip_attn_fwd_params *p); /* its rows as three packed sequences */
void problem_page(struct aothip_attn_fwd_params *p); /* pages of 64 rows */
void problem_add_bias(struct aothip_attn_fwd_params *p);
void problem_add_keep(struct aothip_attn_fwd_params *p);
void problem_drop(struct aothip_attn_fwd_params *p);
void problem_add_probs(struct aothip_attn_fwd_params *p);
void problem_append(struct aothip_attn_fwd_params *p); /* four new rows of k and v */
void problem_rotate(struct aothip_attn_fwd_params *p); /* the same, and q, rotated */
void problem_decode(struct aothip_attn_fwd_params *p); /* one query a head, 8192 keys */

/* The backward pass of problem_make(), for dq, dk and dv. b.fwd points at fwd beside it. */
struct problem_gradients {
    struct aothip_attn_fwd_params fwd;
    struct aothip_attn_bwd_params b;
};
void problem_gradients(struct problem_gradients *g);

/* A partial result for the o and lse of problem_make(). */
struct aothip_attn_merge_params problem_merge(void);

#endif
