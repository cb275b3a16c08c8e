/*
 * Backward attention, the gradient of Q:  dQ = scale * dS K   (attn_bwd_walk.h has the rest)
 *
 *     Q (seq_q, dim_qk)   K (seq_k, dim_qk)   V (seq_k, dim_v)   dO (seq_q, dim_v)
 *
 * A workgroup owns TILE_Q rows of one head and walks over the keys they see.
 */
#if KERNEL_DTYPE == 1
#define OWNS_KEYS 0
#include "attn_bwd_f32.h"
#else
#define SUMS_ELEMENTS 0
#include "attn_bwd_queries.h"

DEVICE void compute_dq(const struct job &job)
{
    const struct place &p = job.place;
    struct stream stream = stream_of(p);
    struct walk walk = plan_walk(p.sequence, job.first_row, job.end_row - 1);
    struct column column = column_of(job);
    struct context context = context_of(args_here().problem, p);
    struct owned y = owned_of(job);
    const int wanted = KERNEL_DIM <= SLAB ? 1 : (args_here().problem.dim_qk + SLAB - 1) / SLAB;
#pragma unroll 1
    for (int slab = 0; slab < wanted; slab++) {
        struct results r = {};
        rewind(stream, walk.begin, p.sequence.seq_k);
        if (walk.begin < walk.end)
            walk_stream<OF_PRODUCT>(r, y, stream, context, column, walk, slab);
        const struct attn_bwd_args &now = args_here();
        struct rows dq = dq_rows(now, p);
        store_result(r.r[0], now.problem.scale, dq, view_of(dq, y.first, y.end), slab);
    }
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_bwd_args args)
{
    const struct attn_problem &a = args.problem;
    u32 entry =
        __builtin_amdgcn_workgroup_id_z() * (u32)a.grid_y + __builtin_amdgcn_workgroup_id_y();
    u32 x = __builtin_amdgcn_workgroup_id_x();
    u32 tiles = ((u32)a.seq_q + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;

    if (entry >= (u32)a.batch)
        return;
    u32 before = uniform(x / (u32)a.heads_q);
    const struct place p = place_of(a, (int)entry, (int)(x - before * (u32)a.heads_q));
    const int first = (int)(tiles - 1 - before) * KERNEL_TILE_Q;
    if (first < p.sequence.seq_q)
        compute_dq(job_of(p, first));
}
#endif
