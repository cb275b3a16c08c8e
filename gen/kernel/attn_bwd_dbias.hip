/*
 * Backward attention, the gradient of the bias:  dB = dS, summed over what the bias is broadcast
 * along, by one thread an element and in a fixed order.
 *
 * A workgroup has TILE_Q x TILE_K elements of one (batch, head) of dB: workgroup x has head
 * x % dbias_heads, key tile x / dbias_heads % tiles, query tile x / dbias_heads / tiles, where
 * tiles = ceil(dbias_keys / TILE_K).
 */
#include "attn_bwd_element.h"

enum { ELEMENTS = KERNEL_TILE_Q * KERNEL_TILE_K / THREADS }; /* of a thread */

/* first .. end - 1 of one dimension: all of it where dB has size 1, else number `at`. */
struct span {
    int first, end;
};

DEVICE struct span span_of(int at, int size, int all)
{
    return {size == 1 ? 0 : at, size == 1 ? all : at + 1};
}

/* Element (row, key) summed over the sequences, heads, rows and keys that share it. */
DEVICE float sum_of(const struct attn_bwd_args &args, int entry, int head, int row, int key)
{
    const struct attn_problem &a = args.problem;
    struct span entries = span_of(entry, args.dbias_batch, a.batch);
    struct span heads = span_of(head, args.dbias_heads, a.heads_q);
    float sum = 0;
#pragma unroll 1
    for (int b = entries.first; b < entries.end; b++)
#pragma unroll 1
        for (int h = heads.first; h < heads.end; h++) {
            const struct element_inputs x = element_inputs_of(args, place_of(a, b, h));
            struct span rows = span_of(row, args.dbias_rows, x.sequence.seq_q);
            struct span keys = span_of(key, args.dbias_keys, x.sequence.seq_k);
#pragma unroll 1
            for (int m = rows.first; m < rows.end; m++)
#pragma unroll 1
                for (int n = keys.first; n < keys.end; n++)
                    sum += element_of(args, x, m, n).ds;
        }
    return sum;
}

DEVICE void store_dbias(const struct attn_bwd_args &args, kernarg_i64 at, float value)
{
#if KERNEL_DTYPE != 1
    if (!(args.problem.flags & KERNARG_BIAS_F32)) {
#if KERNEL_DTYPE == 2
        ((GLOBAL _Float16 *)args.dbias.data)[at] = (_Float16)value;
#else
        u32 x = __builtin_bit_cast(u32, value);
        x = value == value ? x + 0x7fff + (x >> 16 & 1) : x | 0x00400000;
        ((GLOBAL u16 *)args.dbias.data)[at] = (u16)(x >> 16);
#endif
        return;
    }
#endif
    ((GLOBAL float *)args.dbias.data)[at] = value;
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_bwd_args args)
{
    const kernarg_i64 *stride = args.dbias.stride;
    u32 entry = __builtin_amdgcn_workgroup_id_z() * (u32)args.problem.grid_y +
                __builtin_amdgcn_workgroup_id_y();
    u32 x = __builtin_amdgcn_workgroup_id_x();

    if (entry >= (u32)args.dbias_batch)
        return;
    u32 tile = uniform(x / (u32)args.dbias_heads);
    int head = (int)(x - tile * (u32)args.dbias_heads);
    u32 tiles_k = ((u32)args.dbias_keys + KERNEL_TILE_K - 1) / KERNEL_TILE_K;
    u32 tile_q = uniform(tile / tiles_k), tile_k = tile - tile_q * tiles_k;
#pragma unroll 1
    for (u32 i = 0; i < ELEMENTS; i++) {
        u32 at = thread_id() + i * THREADS;
        int row = (int)(tile_q * KERNEL_TILE_Q + at / KERNEL_TILE_K);
        int key = (int)(tile_k * KERNEL_TILE_K + at % KERNEL_TILE_K);
        if (row < args.dbias_rows && key < args.dbias_keys)
            store_dbias(
                args, (int)entry * stride[0] + head * stride[1] + row * stride[2] + key * stride[3],
                sum_of(args, (int)entry, head, row, key));
    }
}
