/*
 * The dropout mask as a matrix, +0.5 or -0.5, or the probabilities with their sign:
 *
 *     probs (batch, heads_q, rows, keys)     one thread an element
 *
 * Workgroup x has THREADS keys of one row: chunk x % chunks of the keys, row x / chunks % seq_q,
 * head x / chunks / seq_q. Elements outside the sequence are not touched.
 */
#include "element.h"
#include "mask.h"
#include "philox.h"
#include "score.h"

#define LOG2_E 1.44269504088896340736f

/* P of an existing element, before dropout. */
DEVICE float probability(const struct attn_probs_args &args, const struct sequence &sequence,
                         int head, int row, int key)
{
    const struct attn_problem &a = args.problem;
    const GLOBAL float *lse = lse_of(a, args.lse, sequence, head, row);
    if (!lse || !sees(visible_keys(sequence, row), (u32)key))
        return 0;

    const GLOBAL char *q = query_row(a.q, a.q_stride, sequence, head, row);
    const GLOBAL char *k = key_row(a, a.k, a.k_stride, sequence, head / a.group, key);
    float sum = 0;
    for (int i = 0; i < a.dim_qk; i++)
        sum = __builtin_fmaf(load_element(q + i * ELEMENT_BYTES),
                             load_element(k + i * ELEMENT_BYTES), sum);
    const struct attn_problem &late = late_arguments<struct attn_probs_args>().problem;
    if (late.block_table && !page_exists(late, sequence, key))
        return 0;
    float s = score_of(score_terms_of(late, sequence, head), a.scale * sum, row, key);
    float less = s - *lse / a.lse_unit;
    /*
     * A row that sees no key has lse = +infinity; -infinity less that is no number. Where lse is so
     * large that it is rounded to less than a score, that has P = 1.
     */
    return s > -__builtin_inff() || s != s ? __builtin_amdgcn_exp2f(less > 0 ? 0 : less * LOG2_E)
                                           : 0;
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_probs_args args)
{
    const struct attn_problem &a = args.problem;
    u32 number = sequence_number(a), x = __builtin_amdgcn_workgroup_id_x();
    if (number >= (u32)a.batch)
        return;

    const struct sequence sequence = sequence_of(a, (int)number);
    u32 chunks = ((u32)args.probs_k + THREADS - 1) / THREADS;
    u32 line = uniform(x / chunks);
    int key = (int)((x - line * chunks) * THREADS + thread_id());
    int head = (int)uniform(line / (u32)a.seq_q), row = (int)(line - (u32)head * (u32)a.seq_q);
    if (row >= sequence.seq_q || key >= sequence.seq_k || key >= args.probs_k)
        return;

    bool kept = true;
    if (a.flags & KERNARG_DROPOUT)
        kept = kept_quad(dropout_of(a, sequence.number, head), row, (u32)key / 4) >> key % 4 & 1;
    float p = 0.5f;
    if (a.flags & KERNARG_PROBS_DROPPED)
        p = probability(late_arguments<struct attn_probs_args>(), sequence, head, row, key) *
            (a.flags & KERNARG_DROPOUT ? a.dropout_scale : 1);

    const kernarg_i64 *stride = args.probs.stride;
    store_element_as(args.probs_dtype, (GLOBAL char *)args.probs.data,
                     number * stride[0] + head * stride[1] + row * stride[2] + key * stride[3],
                     kept ? p : -p);
}
