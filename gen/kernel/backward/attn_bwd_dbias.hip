/*
 * Backward attention, the gradient of the bias:  dB = dS, summed over what the bias is broadcast
 * along, in a fixed order.
 *
 * A workgroup has TILE_Q x TILE_K elements of one (batch, head) of dB: workgroup x has head
 * x % dbias_heads, key tile x / dbias_heads % tiles, query tile x / dbias_heads / tiles, where
 * tiles = ceil(dbias_keys / TILE_K). It adds up dS of that tile in all sequences and heads that
 * share it; where rows or keys share an element, dS of all tiles of rows or keys, and in the end
 * the rows or keys of the sum. In f32 a thread has one element after the other.
 */
#if KERNEL_DTYPE == 1
#include "attn_bwd_element.h"
#else
#define SUMS_ELEMENTS 1
#include "attn_bwd_queries.h"
#endif

/* first .. end - 1 of one dimension: all of it where dB has size 1, else number `at`. */
struct span {
    int first, end;
};

DEVICE struct span span_of(int at, int size, int all)
{
    return {size == 1 ? 0 : at, size == 1 ? all : at + 1};
}

/* The workgroup's part of dB. Uniform. */
struct part {
    int entry, head, tile_q, tile_k;
};

DEVICE void store_dbias(const struct part &part, int row, int key, float value)
{
    const struct attn_bwd_args &args = args_here();
    row += part.tile_q * KERNEL_TILE_Q;
    key += part.tile_k * KERNEL_TILE_K;
    if (row >= args.dbias_rows || key >= args.dbias_keys)
        return;
    const kernarg_i64 *stride = args.dbias.stride;
    kernarg_i64 at =
        part.entry * stride[0] + part.head * stride[1] + row * stride[2] + key * stride[3];
#if KERNEL_DTYPE != 1
    if (!(args.problem.flags & KERNARG_BIAS_F32)) {
        ((GLOBAL u16 *)args.dbias.data)[at] = (u16)round_pair_even(value, 0);
        return;
    }
#endif
    ((GLOBAL float *)args.dbias.data)[at] = value;
}

#if KERNEL_DTYPE == 1

/* One element, counted within the part. */
struct sums {
    int row, key;
    float x;
};

DEVICE void add_place(struct sums &to, const struct part &part, const struct place &p)
{
    struct span rows =
        span_of(part.tile_q * KERNEL_TILE_Q + to.row, args_here().dbias_rows, p.sequence.seq_q);
#pragma unroll 1
    for (int m = rows.first; m < rows.end; m++) {
        struct span keys =
            span_of(part.tile_k * KERNEL_TILE_K + to.key, args_here().dbias_keys, p.sequence.seq_k);
#pragma unroll 1
        for (int n = keys.first; n < keys.end; n++)
            to.x += weights_of<OF_TERMS>(p, m, n).d;
    }
}

#else

static_assert(sizeof(row_tile) >= KERNEL_TILE_Q * KERNEL_TILE_K * 4, "sums fit there");
static_assert(KERNEL_DIM > 128, "the walk unrolls blocks");

/* dS of the wave's rows and the tile's keys. */
struct sums {
    block_acc x[STREAM_BLOCKS];
};

DEVICE void take_block(struct sums &to, block_acc &, block_acc &ds, const struct context &,
                       const struct column &, int, int block)
{
    to.x[block] += ds;
}

DEVICE void add_place(struct sums &to, const struct part &part, const struct place &p)
{
    const int tiles = (p.sequence.seq_q + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;
    struct span span = span_of(part.tile_q, args_here().dbias_rows, tiles);
    span.end = span.end < tiles ? span.end : tiles;
#pragma unroll 1
    for (int tile = span.first; tile < span.end; tile++) {
        const struct job job = job_of(p, tile * KERNEL_TILE_Q);
        struct walk walk = plan_walk(p.sequence, job.first_row, job.end_row - 1);
        struct span keys = span_of(part.tile_k, args_here().dbias_keys, walk.end);
        walk.begin = walk.begin > keys.first ? walk.begin : keys.first;
        walk.end = walk.end < keys.end ? walk.end : keys.end;
        add_elements(to, job, walk);
    }
}

/* Where the sum of row `row` and key `key` lies in LDS: rows side by side do not meet in a bank. */
DEVICE float *sum_at(int row, int key)
{
    return (float *)row_tile[0] + row * KERNEL_TILE_K + (key ^ row % KERNEL_TILE_K);
}

DEVICE void store_sums(const struct sums &from, const struct part &part)
{
    const int thread = (int)thread_id();
    const int rows = args_here().dbias_rows, keys = args_here().dbias_keys;
    lds_barrier();
#pragma unroll
    for (int block = 0; block < STREAM_BLOCKS; block++)
#pragma unroll
        for (int i = 0; i < ACC; i++)
            *sum_at((int)(wave_id() * BLOCK + lane_column()), block * BLOCK + (int)acc_row(i)) =
                from.x[block][i];
    lds_barrier();
    if (keys == 1) {
        if (thread < KERNEL_TILE_Q)
#pragma unroll 1
            for (int key = 1; key < KERNEL_TILE_K; key++)
                *sum_at(thread, 0) += *sum_at(thread, key);
        lds_barrier();
    }
    if (rows == 1) {
        if (thread < (keys == 1 ? 1 : KERNEL_TILE_K))
#pragma unroll 1
            for (int row = 1; row < KERNEL_TILE_Q; row++)
                *sum_at(0, thread) += *sum_at(row, thread);
        lds_barrier();
    }
#pragma unroll 1
    for (int at = thread; at < KERNEL_TILE_Q * KERNEL_TILE_K; at += THREADS)
        store_dbias(part, at / KERNEL_TILE_K, at % KERNEL_TILE_K,
                    *sum_at(at / KERNEL_TILE_K, at % KERNEL_TILE_K));
}

#endif

/* Adds up what all sequences and heads have that share the part. */
DEVICE void add_places(struct sums &to, const struct part &part)
{
    struct span entries = span_of(part.entry, args_here().dbias_batch, args_here().problem.batch);
#pragma unroll 1
    for (int b = entries.first; b < entries.end; b++) {
        struct span heads =
            span_of(part.head, args_here().dbias_heads, args_here().problem.heads_q);
#pragma unroll 1
        for (int h = heads.first; h < heads.end; h++)
            add_place(to, part, place_of(args_here().problem, b, h));
    }
}

DEVICE void compute_dbias(const struct part &part)
{
#if KERNEL_DTYPE == 1
    const int rows = args_here().dbias_rows - part.tile_q * KERNEL_TILE_Q;
    const int keys = args_here().dbias_keys - part.tile_k * KERNEL_TILE_K;
#pragma unroll 1
    for (int at = (int)thread_id(); at < KERNEL_TILE_Q * KERNEL_TILE_K; at += THREADS) {
        struct sums sums = {at / KERNEL_TILE_K, at % KERNEL_TILE_K, 0};
        if (sums.row >= rows || sums.key >= keys)
            continue;
        add_places(sums, part);
        store_dbias(part, sums.row, sums.key, sums.x);
    }
#else
    struct sums sums = {};
    add_places(sums, part);
    store_sums(sums, part);
#endif
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_bwd_args args)
{
    u32 entry = __builtin_amdgcn_workgroup_id_z() * (u32)args.problem.grid_y +
                __builtin_amdgcn_workgroup_id_y();
    u32 x = __builtin_amdgcn_workgroup_id_x();

    if (entry >= (u32)args.dbias_batch)
        return;
    u32 tile = uniform(x / (u32)args.dbias_heads);
    u32 tiles_k = ((u32)args.dbias_keys + KERNEL_TILE_K - 1) / KERNEL_TILE_K;
    u32 tile_q = uniform(tile / tiles_k);
    compute_dbias({(int)entry, (int)(x - tile * (u32)args.dbias_heads), (int)tile_q,
                   (int)(tile - tile_q * tiles_k)});
}
