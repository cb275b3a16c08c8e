/*
 * Puts the results of attn_split together, split after split, adds the sink, rounds and writes o
 * and lse. One workgroup a row:
 *
 *     o = sum of w[i] o[i] / sum of w[i],   w[i] = sum[i] exp(top[i] - max top)
 *
 * Splits that see no key (sum 0) have no o. Workgroup x: row x % seq_q of head x / seq_q.
 */
#include "element.h"

#define LOG2_E 1.44269504088896340736f
#define LN_2 0.69314718055994530942f

enum { CHANNELS = KERNEL_DIM / THREADS }; /* of a thread */

static_assert(CHANNELS * THREADS == KERNEL_DIM, "whole channels");

DEVICE float exponential(float x)
{
    return __builtin_amdgcn_exp2f(x * LOG2_E);
}

/* Of one split: kernarg.h. */
struct partial_sum {
    float top, sum;
};
typedef const __attribute__((address_space(4))) struct partial_sum *partial_sums;

/* What the splits say of a row. */
struct merged {
    float o[CHANNELS]; /* channels thread_id() + i * THREADS, not yet divided */
    float largest;     /* top */
    float sum;         /* of the weights; 0 where no key is seen */
};

/*
 * The loop over the splits has no branch, so that their loads are in flight together; where a split
 * has no o, one that has is read in its place, and counts nothing.
 */
DEVICE void merge(struct merged &x, const GLOBAL float *o, partial_sums part, int splits, int dim)
{
    int any = -1;
    x = {};
    x.largest = -__builtin_inff();
    for (int i = 0; i < splits; i++) {
        const bool has = part[i].sum != 0;
        x.largest = has ? __builtin_fmaxf(x.largest, part[i].top) : x.largest;
        any = has ? i : any;
    }
    if (any < 0)
        return;
#pragma unroll 4
    for (int i = 0; i < splits; i++) {
        const bool has = part[i].sum != 0;
        const float weight = has ? part[i].sum * exponential(part[i].top - x.largest) : 0;
        const GLOBAL float *row = o + (kernarg_i64)(has ? i : any) * dim;
        x.sum += weight;
#pragma unroll
        for (int j = 0; j < CHANNELS; j++) {
            int channel = (int)thread_id() + j * THREADS;
            x.o[j] = __builtin_fmaf(weight, row[channel < dim ? channel : 0], x.o[j]);
        }
    }
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_split_args args)
{
    const struct attn_problem &a = args.fwd.problem;
    u32 number = sequence_number(a), x = __builtin_amdgcn_workgroup_id_x();
    if (number >= (u32)a.batch)
        return;
    if (x == 0 && number == 0 && thread_id() == 0)
        write_seed(a, args.fwd.seed_output, args.fwd.offset_output);

    const struct sequence sequence = sequence_of(a, (int)number);
    int head = (int)uniform(x / (u32)a.seq_q), row = (int)x - head * a.seq_q;
    if (row >= sequence.seq_q)
        return;

    kernarg_i64 first = (((kernarg_i64)number * a.heads_q + head) * a.seq_q + row) * args.splits;
    struct merged m;
    merge(m, (const GLOBAL float *)args.partial_o + first * a.dim_v,
          (partial_sums)args.partial_sums + first, args.splits, a.dim_v);

    const float infinity = __builtin_inff();
    float sink = a.sinks ? ((const GLOBAL float *)a.sinks)[head] : -infinity;
    const bool blind = m.sum == 0, has_sink = sink > -infinity;
    float top = has_sink ? __builtin_fmaxf(m.largest, sink) : m.largest;
    float weight = blind ? 0 : exponential(m.largest - top);
    float total = m.sum * weight + (has_sink ? exponential(sink - top) : 0);
    float factor = blind ? 0 : weight / total;
    float lse = blind && !has_sink ? infinity : top + __builtin_amdgcn_logf(total) * LN_2;

    GLOBAL char *o = query_row(args.fwd.o, args.fwd.o_stride, sequence, head, row);
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) {
        int channel = (int)thread_id() + j * THREADS;
        if (channel < a.dim_v)
            store_element(o + channel * ELEMENT_BYTES, m.o[j] * factor);
    }
    GLOBAL float *at = args.fwd.lse ? lse_of(a, args.fwd.lse, sequence, head, row) : nullptr;
    if (at && thread_id() == 0)
        *at = lse * a.lse_unit;
}
