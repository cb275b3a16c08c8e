/*
 * Backward attention, the gradient of Q:  dQ = scale * dS K   (attn_bwd_walk.h has the rest)
 *
 *     Q (seq_q, dim_qk)   K (seq_k, dim_qk)   V (seq_k, dim_v)   dO (seq_q, dim_v)
 *
 * A workgroup owns TILE_Q rows of one head and walks over the keys they see. A lane's column is a
 * query, so lse and delta are one number each.
 */
#define OWNS_KEYS 0

#if KERNEL_DTYPE == 1
#include "attn_bwd_f32.h"
#else

#define STREAM_ROWS KERNEL_TILE_K
#define OWNED_ROWS KERNEL_TILE_Q
#include "attn_bwd_walk.h"

/* The workgroup's rows of the sequence. Uniform. */
struct job {
    struct place place;
    int first_row, end_row;
};

DEVICE struct column column_of(const struct attn_bwd_args &args, const struct job &job)
{
    const struct sequence &s = job.place.sequence;
    int last = s.seq_q - 1, first = job.first_row + (int)wave_id() * BLOCK;
    struct row_interval low = visible_rows(s, first < last ? first : last),
                        high = visible_rows(s, first + BLOCK - 1 < last ? first + BLOCK - 1 : last);
    struct vector_place vectors = vector_of(args.problem, job.place);
    int index = first + (int)lane_column();
    struct row_interval visible = visible_rows_below(s, index, s.seq_q);
    return {index,
            visible,
            visible.first <= visible.last ? (u32)(visible.last - visible.first) + 1 : 0,
            {high.first, low.last},
            {low.first, high.last},
            lse2_at(args, vectors, index, s.seq_q),
            delta_at(args, vectors, index, s.seq_q)};
}

DEVICE void compute_dq(const struct attn_bwd_args &args, const struct job &job)
{
    const struct attn_problem &a = args.problem;
    const struct place &p = job.place;
    struct rows k = k_rows(args, p), v = v_rows(args, p);
    struct stream stream;
    stream.mine = carrier() == 0 ? k : v;
    struct walk walk = plan_walk(p.sequence, job.first_row, job.end_row - 1);
    struct column column = column_of(args, job);
    struct context context = context_of(a, p);
    int first = job.first_row + (int)wave_id() * BLOCK;
    struct owned y;
    y.x[0] = q_rows(args, p);
    y.x[1] = do_rows(args, p);
    y.view[0] = view_of(y.x[0], first, job.end_row);
    y.view[1] = view_of(y.x[1], first, job.end_row);
    if (KERNEL_DIM <= SLAB)
        load_owned(y, 0);

    int wanted = (a.dim_qk + SLAB - 1) / SLAB, other = (a.dim_v + SLAB - 1) / SLAB;
    int slabs = wanted > other ? wanted : other;
#pragma unroll 1
    for (int slab = 0; slab < wanted; slab++) {
        struct results r = {};
        rewind(stream, walk.begin, p.sequence.seq_k);
        walk_stream(r, y, stream, context, column, walk, slab, slabs);
        struct attn_bwd_args now;
        read_again(now);
        struct rows dq = rows_of(now.dq, now.dq_stride, p.sequence.batch_q, p.sequence.start_q,
                                 p.head, now.problem.dim_qk);
        store_result(r.r[0], now.problem.scale, dq, view_of(dq, first, job.end_row), slab);
        if (KERNEL_DIM <= SLAB)
            break;
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
    int head = (int)(x - before * (u32)a.heads_q),
        first = (int)(tiles - 1 - before) * KERNEL_TILE_Q;
    struct job job = {
        {sequence_of(a, (int)entry), head, (int)uniform((u32)head / (u32)a.group)}, first, 0};
    int left = job.place.sequence.seq_q - first;
    job.end_row = first + (left < KERNEL_TILE_Q ? left : KERNEL_TILE_Q);
    if (left > 0)
        compute_dq(args, job);
}
#endif
