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
#define SUMS_ELEMENTS 0

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
    const struct sequence &s = job.sequence;
    struct walk walk = plan_walk(s, job.first_key, job.end_key - 1);
    struct column column = column_of(job);
    struct place p = {s, 0, job.kv_head};
    struct owned y;
    y.first = job.first_key + (int)wave_id() * BLOCK;
    y.end = job.end_key;
    if (KERNEL_DIM <= SLAB) {
        load_owned(y, p, 0, 0);
        load_owned(y, p, 1, 0);
    }

    const int begin = wait_apart(walk.begin);
    int slab = wait_apart(0);
#pragma unroll 1
    do {
        struct results r = {};
        if (awaited(begin) < walk.end) {
            int left = wait_apart(args.problem.group);
#pragma unroll 1
            do {
                const struct attn_bwd_args &now = args_here();
                p.head = (job.kv_head + 1) * now.problem.group - awaited(left);
                struct rows q = q_rows(now, p), d_o = do_rows(now, p);
                struct vector_place vectors = vector_of(now.problem, p);
                bool lower = carrier() == 0;
                struct stream stream;
                stream.mine = lower ? q : d_o;
                stream.vector = describe_vector(lower ? now.lse : now.delta, vectors, s.seq_q);
                stream.vector_pitch = (u32)vectors.step * 4;
                stream.factor = lower ? vectors.to_log2 : DELTA_FIRST ? -1.0f : 1.0f;
                walk.begin = awaited(begin);
                rewind(stream, walk.begin, s.seq_q);
                walk_stream<OF_PRODUCT>(r, y, stream, context_of(now.problem, p), column, walk,
                                        awaited(slab));
                left = wait_apart(left - 1);
            } while (awaited(left) > 0);
        }
        const struct attn_bwd_args &now = args_here();
        struct rows dk = dk_rows(now, p), dv = dv_rows(now, p);
        if (now.dk)
            store_result(r.r[0], now.problem.scale, dk, view_of(dk, y.first, y.end), awaited(slab));
        if (now.dv)
            store_result(r.r[1], 1, dv, view_of(dv, y.first, y.end), awaited(slab));
        slab = wait_apart(slab + 1);
    } while (awaited(slab) < slabs_of(args_here().problem));
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
    struct job job = {promised_sequence(a, (int)entry), (int)(x - tile * (u32)a.heads_k),
                      (int)tile * KERNEL_TILE_K, 0};
    int left = job.sequence.seq_k - job.first_key;
    job.end_key = job.first_key + (left < KERNEL_TILE_K ? left : KERNEL_TILE_K);
    if (left > 0)
        compute_dkdv(args, job);
}
#endif
