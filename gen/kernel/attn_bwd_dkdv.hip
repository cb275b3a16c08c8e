/*
 * Backward attention, the gradients of K and V:  dK = scale * dS^T Q,  dV = P~^T dO
 * (attn_bwd_walk.h has the rest)
 *
 *     Q (seq_q, dim_qk)   K (seq_k, dim_qk)   V (seq_k, dim_v)   dO (seq_q, dim_v)
 *
 * A workgroup owns TILE_K keys of one key head and walks over the queries that see them, for one
 * query head of the group after the other: the sums over a group have a fixed order. A lane's
 * column is a key; lse and delta of the rows lie in LDS.
 */
#define OWNS_KEYS 1

#if KERNEL_DTYPE == 1
#include "attn_bwd_f32.h"
#else

#define STREAM_ROWS KERNEL_TILE_Q
#define OWNED_ROWS KERNEL_TILE_K
#include "attn_bwd_walk.h"

/* The workgroup's keys of the sequence. Uniform. */
struct job {
    struct sequence sequence;
    int kv_head;
    int first_key, end_key;
};

DEVICE struct column column_of(const struct job &job)
{
    const struct sequence &s = job.sequence;
    int last = s.seq_k - 1, first = job.first_key + (int)wave_id() * BLOCK;
    struct row_interval low = visible_rows(s, first < last ? first : last),
                        high = visible_rows(s, first + BLOCK - 1 < last ? first + BLOCK - 1 : last);
    int index = first + (int)lane_column();
    struct row_interval visible = visible_rows_below(s, index, s.seq_k);
    return {index,
            visible,
            visible.first <= visible.last ? (u32)(visible.last - visible.first) + 1 : 0,
            {high.first, low.last},
            {low.first, high.last}};
}

DEVICE void compute_dkdv(const struct attn_bwd_args &args, const struct job &job)
{
    const struct attn_problem &a = args.problem;
    const struct sequence &s = job.sequence;
    struct walk walk = plan_walk(s, job.first_key, job.end_key - 1);
    struct column column = column_of(job);
    struct place p = {s, 0, job.kv_head};
    int first = job.first_key + (int)wave_id() * BLOCK;
    struct owned y;
    y.x[0] = k_rows(args, p);
    y.x[1] = v_rows(args, p);
    y.view[0] = view_of(y.x[0], first, job.end_key);
    y.view[1] = view_of(y.x[1], first, job.end_key);
    if (KERNEL_DIM <= SLAB)
        load_owned(y, 0);

    int dim = a.dim_qk > a.dim_v ? a.dim_qk : a.dim_v, slabs = (dim + SLAB - 1) / SLAB;
#pragma unroll 1
    for (int slab = 0; slab < slabs; slab++) {
        struct results r = {};
#pragma unroll 1
        for (int i = 0; i < a.group; i++) {
            struct attn_bwd_args now;
            read_again(now);
            p.head = job.kv_head * now.problem.group + i;
            struct rows q = q_rows(now, p), d_o = do_rows(now, p);
            struct vector_place vectors = vector_of(now.problem, p);
            bool lower = carrier() == 0;
            struct stream stream;
            stream.mine = lower ? q : d_o;
            stream.vector = describe_vector(lower ? now.lse : now.delta, vectors, s.seq_q);
            stream.vector_pitch = (u32)vectors.step * 4;
            stream.factor = lower ? vectors.to_log2 : DELTA_FIRST ? -1.0f : 1.0f;
            rewind(stream, walk.begin, s.seq_q);
            walk_stream(r, y, stream, context_of(now.problem, p), column, walk, slab, slabs);
        }
        struct attn_bwd_args now;
        read_again(now);
        struct rows dk =
            rows_of(now.dk, now.dk_stride, s.batch_k, s.start_k, p.kv_head, now.problem.dim_qk);
        struct rows dv =
            rows_of(now.dv, now.dv_stride, s.batch_k, s.start_k, p.kv_head, now.problem.dim_v);
        if (now.dk)
            store_result(r.r[0], now.problem.scale, dk, view_of(dk, first, job.end_key), slab);
        if (now.dv)
            store_result(r.r[1], 1, dv, view_of(dv, first, job.end_key), slab);
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

    if (entry >= (u32)a.batch)
        return;
    u32 tile = uniform(x / (u32)a.heads_k);
    struct job job = {sequence_of(a, (int)entry), (int)(x - tile * (u32)a.heads_k),
                      (int)tile * KERNEL_TILE_K, 0};
    int left = job.sequence.seq_k - job.first_key;
    job.end_key = job.first_key + (left < KERNEL_TILE_K ? left : KERNEL_TILE_K);
    if (left > 0)
        compute_dkdv(args, job);
}
#endif
