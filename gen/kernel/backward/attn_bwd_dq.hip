/*
 * Backward attention, the gradient of Q:  dQ = scale * dS K   (stream_walk.h has the rest)
 *
 *     Q (seq_q, dim_qk)   K (seq_k, dim_qk)   V (seq_k, dim_v)   dO (seq_q, dim_v)
 *
 * A workgroup owns TILE_Q rows of one head and walks over the keys they see.
 */
#define SUMS_ELEMENTS 0
#include "query_walk.h"

/* Whether the wave's columns ask for the wide form: see WIDE_LSE. Then makes lse natural. */
DEVICE bool turn_wide(struct column &column, const struct place &p)
{
    const float size = __builtin_fabsf(column.lse);
    if (LSE_USUAL == LSE_NATURAL || !in_any_lane(size > WIDE_LSE && size < __builtin_inff()))
        return false;
    const struct attn_bwd_args &args = args_here();
    struct vector_place vectors = vector_of(args.problem, p);
    vectors.lse_unit = lse_unit_of(args.problem, LSE_NATURAL);
    column.lse = lse_at(args, vectors, column.index, p.sequence.seq_q);
    return true;
}

DEVICE void compute_dq(const struct job &job)
{
    const struct place &p = job.place;
    struct stream stream = stream_of(p);
    struct walk walk = plan_walk(p.sequence, job.first_row, job.end_row - 1);
    struct column column = column_of(job);
    struct owned y = owned_of(job, column);
    const bool wide = turn_wide(column, p);
    const int begin = wait_apart(walk.begin);
    int slab = wait_apart(0);
#pragma unroll 1
    do {
        struct results r = {};
        walk.begin = awaited(begin);
        rewind(stream, walk.begin, p.sequence.seq_k);
        if (walk.begin < walk.end && !wide)
            walk_stream<OF_PRODUCT>(r, y, stream, context_of(args_here().problem, p), column, walk,
                                    awaited(slab));
        else if (walk.begin < walk.end)
            walk_stream<OF_PRODUCT, LSE_NATURAL>(r, y, stream,
                                                 context_of(args_here().problem, p, LSE_NATURAL),
                                                 column, walk, awaited(slab));
        const struct attn_bwd_args &now = args_here();
        struct rows dq = dq_rows(now, p);
        store_result(r.r[0], now.problem.scale * lowered(y), dq, view_of(dq, y.first, y.end),
                     awaited(slab));
        slab = wait_apart(slab + 1);
    } while (KERNEL_DIM > SLAB && awaited(slab) * SLAB < args_here().problem.dim_qk);
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
    const struct deal deal = deal_queries(&a, x);
    const struct place p = {promised_sequence(a, (int)entry), (int)deal.part, (int)deal.kv_head};
    const int first = (int)(tiles - 1 - deal.tile) * KERNEL_TILE_Q;
    if (first < p.sequence.seq_q)
        compute_dq(job_of(p, first));
}
