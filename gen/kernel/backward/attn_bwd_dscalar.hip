/*
 * Backward attention, the gradients of what a head has one of:
 *
 *     dsink[h]      = -sum over sequences and rows of exp(sink[h] - lse) * delta
 *     dalibi[b, h]  = -sum over rows and keys of dS * |m + seq_k - seq_q - n|
 *
 * A workgroup computes those of one head, of one sequence for ALiBi; where all sequences share the
 * slopes (stride 0), that of sequence 0 sums over all of them. The order of all sums is fixed.
 */
#if KERNEL_DTYPE == 1
#include "gradient_score.h"
#else
#define SUMS_ELEMENTS 1
#define SUMS_DQ 0
#include "query_walk.h"
#endif

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

DEVICE float dsink_of(int head)
{
    const float sink = ((const GLOBAL float *)args_here().problem.sinks)[head];
    const int batch = args_here().problem.batch;
    float sum = 0;
#pragma unroll 1
    for (int b = 0; b < batch; b++) {
        const struct attn_bwd_args &args = args_here();
        const struct place p = place_of(args.problem, b, head);
        const struct vector_place vectors = vector_of(args.problem, p);
#pragma unroll 1
        for (int m = (int)thread_id(); m < p.sequence.seq_q; m += THREADS)
            sum -= weight_of(sink, lse_at(args, vectors, m, p.sequence.seq_q)) *
                   delta_at(args, vectors, m, p.sequence.seq_q);
    }
    return sum_up(sum);
}

/* dS times the distance of query and key. */
struct moment {
    float sum;
};

#if KERNEL_DTYPE == 1

DEVICE void add_place(struct moment &to, const struct place &p)
{
#pragma unroll 1
    for (int m = 0; m < p.sequence.seq_q; m++) {
        const int diagonal = m + diagonal_of(p);
        struct key_range keys = keys_of_row(p.sequence, m);
#pragma unroll 1
        for (int n = keys.first + (int)thread_id(); n <= keys.last; n += THREADS)
            to.sum += weights_at<OF_TERMS>(p, m, n).d * __builtin_fabsf((float)(diagonal - n));
    }
}

#else

DEVICE void take_block(struct moment &to, block_acc &, block_acc &ds, const struct context &context,
                       const struct column &column, int row, int)
{
    const int diagonal = column.index + diagonal_of(context.place) - row;
#pragma unroll
    for (int i = 0; i < ACC; i++)
        to.sum += ds[i] * __builtin_fabsf((float)(diagonal - (int)acc_row(i)));
}

DEVICE void add_place(struct moment &to, const struct place &p)
{
#pragma unroll 1
    for (int first = 0; first < p.sequence.seq_q; first += KERNEL_TILE_Q) {
        const struct job job = job_of(p, first);
        add_elements(to, job, plan_walk(p.sequence, first, job.end_row - 1));
    }
}

#endif

DEVICE float dalibi_of(int first, int end, int head)
{
    struct moment moment = {0};
#pragma unroll 1
    for (int b = first; b < end; b++)
        add_place(moment, place_of(args_here().problem, b, head));
    return sum_up(-moment.sum);
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
        float sum = dsink_of(head);
        if (thread_id() == 0)
            ((GLOBAL float *)args.dsinks)[head] = sum;
    }
    if (args.dalibi && entry < (a.alibi_stride ? a.batch : 1)) {
        float sum = dalibi_of(entry, a.alibi_stride ? entry + 1 : a.batch, head);
        if (thread_id() == 0)
            ((GLOBAL float *)args.dalibi)[entry * a.alibi_stride + head] = sum;
    }
}
