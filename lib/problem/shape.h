/* Sizes that follow from the arguments of a forward problem, the same for every room. Pure. */
#ifndef AOTHIP_SHAPE_H
#define AOTHIP_SHAPE_H

#include "aothip/aothip.h"

static inline int shape_is_fp8(int32_t dtype)
{
    return dtype >= AOTHIP_FP8_E4M3 && dtype <= AOTHIP_FP8_E5M2_FNUZ;
}

/* Whether k and v alone are FP8, to be converted as they are loaded. */
static inline int shape_is_fp8_cache(const struct aothip_attn_fwd_params *p)
{
    return shape_is_fp8(p->k.dtype) && !shape_is_fp8(p->q.dtype);
}

/* How many sequences there are. */
static inline int64_t shape_sequences(const struct aothip_attn_fwd_params *p)
{
    return p->sequences ? p->sequences : p->q.size[0];
}

/* Rows of the longest query sequence as the caller counts them: the pitch of lse and dropout. */
static inline int64_t shape_max_q(const struct aothip_attn_fwd_params *p)
{
    return p->q_seqs.max ? p->q_seqs.max : p->q.size[2];
}

/* Whether `max` is the length of all sequences of a side. */
static inline int shape_max_is_length(const struct aothip_seqs *seqs)
{
    return seqs->max && seqs->starts && !seqs->lengths && !seqs->cumulative;
}

/* Query rows that a launch covers: no sequence reaches beyond the tensor. */
static inline int64_t shape_grid_q(const struct aothip_attn_fwd_params *p)
{
    const int64_t max = shape_max_q(p);
    return max < p->q.size[2] ? max : p->q.size[2];
}

/* Rows that a sequence of k and v has room for; any number where the arguments are not sound. */
static inline int64_t shape_rows_k(const struct aothip_attn_fwd_params *p)
{
    const uint64_t rows = (uint64_t)p->k.size[2];
    return (int64_t)(p->block_table ? (uint64_t)p->block_table_columns * rows : rows);
}

/* Keys that bias and keep have room for. */
static inline int64_t shape_most_keys(const struct aothip_attn_fwd_params *p)
{
    const int64_t bias = p->bias.data && p->bias.size[3] != 1 ? p->bias.size[3] : INT32_MAX;
    const int64_t keep = p->keep.data && p->keep.size[3] != 1 ? p->keep.size[3] : INT32_MAX;
    return bias < keep ? bias : keep;
}

/* Length of the key sequences where no array gives it, without what is appended. */
static inline int64_t shape_length_k(const struct aothip_attn_fwd_params *p)
{
    const int64_t rows = shape_rows_k(p), max = p->k_seqs.max, most = shape_most_keys(p);
    const int limits = p->block_table || shape_max_is_length(&p->k_seqs);
    const int64_t length = limits && max && max < rows ? max : rows;
    return length < most ? length : most;
}

/* The same of query sequences. */
static inline int64_t shape_length_q(const struct aothip_attn_fwd_params *p)
{
    return shape_max_is_length(&p->q_seqs) ? shape_grid_q(p) : p->q.size[2];
}

/* Rows of k_new. */
static inline int64_t shape_new_rows(const struct aothip_attn_fwd_params *p)
{
    return p->k_new.data ? p->k_new.size[2] : 0;
}

/* Keys of the longest sequence as the caller counts them. */
static inline int64_t shape_max_k(const struct aothip_attn_fwd_params *p)
{
    return p->k_seqs.max ? p->k_seqs.max : shape_rows_k(p);
}

/* Keys of the longest sequence: no sequence reaches beyond the tensor. */
static inline int64_t shape_grid_k(const struct aothip_attn_fwd_params *p)
{
    const int64_t rows = shape_rows_k(p), max = shape_max_k(p);
    return max < rows ? max : rows;
}

/* Which part of all keys a row sees on average with a causal mask; 1 with any other. */
static inline double shape_seen(const struct aothip_attn_fwd_params *p)
{
    const double rows = (double)shape_grid_q(p), keys = (double)shape_grid_k(p);
    if (p->mask == AOTHIP_MASK_CAUSAL_TOP_LEFT)
        return rows <= keys ? (keys > 0 ? rows / keys / 2 : 1) : 1 - keys / rows / 2;
    if (p->mask == AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT)
        return rows <= keys ? (keys > 0 ? 1 - rows / keys / 2 : 1) : keys / rows / 2;
    return 1;
}

/* Elements of lse by its layout; INT64_MAX where 64 bits do not hold their number. */
static inline int64_t shape_lse_elements(const struct aothip_attn_fwd_params *p)
{
    const int rows = p->lse_layout == AOTHIP_LSE_ROWS || !p->q_seqs.packed;
    int64_t count = p->q.size[1];
    if (__builtin_mul_overflow(count, rows ? shape_max_q(p) : p->q.size[2], &count) ||
        (rows && __builtin_mul_overflow(count, shape_sequences(p), &count)))
        return INT64_MAX;
    return count;
}

/* Elements of lse that may be accessed. */
static inline int64_t shape_lse_room(const struct aothip_attn_fwd_params *p)
{
    const int64_t whole = shape_lse_elements(p);
    return p->lse_size && p->lse_size < whole ? p->lse_size : whole;
}

/* Whether there is no row of o at all. */
static inline int shape_is_empty(const struct aothip_attn_fwd_params *p)
{
    return !(p->o.size[0] && p->o.size[1] && p->o.size[2]);
}

#endif
