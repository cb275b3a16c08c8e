/*
 * P and dS of single elements, each by one lane that reads its rows from memory: for the results
 * that have no matrix product worth a name, and for f32, of which not every GPU has one.
 */
#ifndef AOTHIP_ATTN_BWD_ELEMENT_H
#define AOTHIP_ATTN_BWD_ELEMENT_H

#include "attn_bwd_rows.h"
#include "attn_bwd_score.h"

/* The inputs of one (sequence, head). Uniform. */
struct element_inputs {
    struct sequence sequence;
    struct rows q, k, v, d_o;
    struct vector_place vectors;
    struct score_context score;
};

DEVICE struct element_inputs element_inputs_of(const struct attn_bwd_args &args,
                                               const struct place &p)
{
    return {p.sequence,
            q_rows(args, p),
            k_rows(args, p),
            v_rows(args, p),
            do_rows(args, p),
            vector_of(args.problem, p),
            score_context_of(args.problem, p.sequence, p.head)};
}

DEVICE struct place place_of(const struct attn_problem &a, int entry, int head)
{
    return {sequence_of(a, entry), head, (int)uniform((u32)head / (u32)a.group)};
}

/* The keys that row `row` sees: first .. last. */
struct key_range {
    int first, last;
};

DEVICE struct key_range keys_of_row(const struct sequence &s, int row)
{
    int first = __builtin_elementwise_add_sat(row, s.key_first);
    int last = __builtin_elementwise_add_sat(row, s.key_last);
    return {first > 0 ? first : 0, last < s.seq_k - 1 ? last : s.seq_k - 1};
}

DEVICE float dot_of(const struct rows &x, int row, const struct rows &y, int other)
{
    float sum = 0;
#pragma unroll 1
    for (int channel = 0; channel < x.dim; channel++)
        sum = __builtin_fmaf(element_at(x, row, channel), element_at(y, other, channel), sum);
    return sum;
}

/* Zeros for an element that does not exist or is not visible. */
DEVICE struct score_gradient element_of(const struct attn_bwd_args &args,
                                        const struct element_inputs &x, int row, int key)
{
    struct score_gradient none = {0, 0, 0};
    if (row < 0 || row >= x.sequence.seq_q)
        return none;
    struct key_range keys = keys_of_row(x.sequence, row);
    if (key < keys.first || key > keys.last)
        return none;
    return differentiate(x.score, dot_of(x.q, row, x.k, key), dot_of(x.d_o, row, x.v, key),
                         lse2_at(args, x.vectors, row, x.sequence.seq_q),
                         delta_at(args, x.vectors, row, x.sequence.seq_q), row, key);
}

#endif
