/*
 * Backward attention, the gradients of what a head has one of:
 *
 *     dsink[h]      = -sum over sequences and rows of exp(sink[h] - lse) * delta
 *     dalibi[b, h]  = -sum over rows and keys of dS * |m + seq_k - seq_q - n|
 *
 * A workgroup computes those of one head, of one sequence for ALiBi; where all sequences share the
 * slopes (stride 0), that of sequence 0 sums over all of them. The order of all sums is fixed.
 */
#include "attn_bwd_element.h"

static SHARED float partial[THREADS];

/* Sum over the workgroup; thread 0 has it. */
DEVICE float sum_up(float x)
{
    u32 thread = thread_id();
    partial[thread] = x;
    lds_barrier();
#pragma unroll 1
    for (u32 apart = THREADS / 2; apart > 0; apart /= 2) {
        if (thread < apart)
            partial[thread] += partial[thread + apart];
        lds_barrier();
    }
    x = partial[0];
    lds_barrier();
    return x;
}

DEVICE float dsink_of(const struct attn_bwd_args &args, int head)
{
    const struct attn_problem &a = args.problem;
    float sink2 = ((const GLOBAL float *)a.sinks)[head] * LOG2_E, sum = 0;
#pragma unroll 1
    for (int b = 0; b < a.batch; b++) {
        const struct place p = place_of(a, b, head);
        const struct vector_place vectors = vector_of(a, p);
#pragma unroll 1
        for (int m = (int)thread_id(); m < p.sequence.seq_q; m += THREADS)
            sum -= __builtin_amdgcn_exp2f(sink2 - lse2_at(args, vectors, m, p.sequence.seq_q)) *
                   delta_at(args, vectors, m, p.sequence.seq_q);
    }
    return sum_up(sum);
}

DEVICE float dalibi_of(const struct attn_bwd_args &args, int first, int end, int head)
{
    float sum = 0;
#pragma unroll 1
    for (int b = first; b < end; b++) {
        const struct element_inputs x = element_inputs_of(args, place_of(args.problem, b, head));
        int from_end = x.sequence.seq_k - x.sequence.seq_q;
#pragma unroll 1
        for (int m = 0; m < x.sequence.seq_q; m++) {
            struct key_range keys = keys_of_row(x.sequence, m);
#pragma unroll 1
            for (int n = keys.first + (int)thread_id(); n <= keys.last; n += THREADS) {
                int distance = m + from_end - n;
                sum -= element_of(args, x, m, n).ds * (float)(distance < 0 ? -distance : distance);
            }
        }
    }
    return sum_up(sum);
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_bwd_args args)
{
    const struct attn_problem &a = args.problem;
    int entry = (int)(__builtin_amdgcn_workgroup_id_z() * (u32)a.grid_y +
                      __builtin_amdgcn_workgroup_id_y());
    int head = (int)__builtin_amdgcn_workgroup_id_x();

    if (args.dsinks && entry == 0) {
        float sum = dsink_of(args, head);
        if (thread_id() == 0)
            ((GLOBAL float *)args.dsinks)[head] = sum;
    }
    if (args.dalibi && entry < (a.alibi_stride ? a.batch : 1)) {
        float sum = dalibi_of(args, entry, a.alibi_stride ? entry + 1 : a.batch, head);
        if (thread_id() == 0)
            ((GLOBAL float *)args.dalibi)[entry * a.alibi_stride + head] = sum;
    }
}
