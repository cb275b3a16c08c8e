/*
 * Backward attention, the pre-pass:  delta[m] = sum over channels of dO[m] * O[m], in f32
 *
 * A workgroup computes TILE_Q rows of one head. LANES lanes share a row and are summed up by
 * halving, so the order is fixed. With CLEARS_DQ it is attn_bwd_begin.
 */
#include "gradient_rows.h"

#ifndef CLEARS_DQ
#define CLEARS_DQ 0
#endif

enum {
    LANES = THREADS / KERNEL_TILE_Q,
    STEP = KERNEL_DTYPE == 1 ? 1 : CHUNK, /* channels of a lane at a time */
};

static_assert(LANES * KERNEL_TILE_Q == THREADS && KERNEL_WAVE % LANES == 0,
              "a wave has whole rows");

/* Sum of the products of channels channel .. channel + STEP - 1. */
DEVICE float product_of(const struct rows &o, const struct rows &d_o, int row, int channel)
{
#if KERNEL_DTYPE == 1
    return element_at(o, row, channel) * element_at(d_o, row, channel);
#else
    u32x4 x = load_one_chunk({o.base, row + 1}, o, (u32)row, (u32)channel);
    u32x4 y = load_one_chunk({d_o.base, row + 1}, d_o, (u32)row, (u32)channel);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
#if KERNEL_DTYPE == 2
        typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
        u32 pair_x = x[i], pair_y = y[i]; /* a bit cast takes element 0 of an unnamed x[i] */
        f16x2 a = __builtin_bit_cast(f16x2, pair_x), b = __builtin_bit_cast(f16x2, pair_y);
        sum += (float)a.x * (float)b.x + (float)a.y * (float)b.y;
#else
        const u32 upper = 0xffff0000u;
        sum += __builtin_bit_cast(float, x[i] << 16) * __builtin_bit_cast(float, y[i] << 16) +
               __builtin_bit_cast(float, x[i] & upper) * __builtin_bit_cast(float, y[i] & upper);
#endif
    }
    return sum;
#endif
}

#if CLEARS_DQ
static_assert(KERNEL_TILE_Q % SUMS_SIDE == 0, "whole bands");

/* Zeros where dQ of the workgroup's rows, from row `first` on, is going to be summed. */
DEVICE void clear_dq(const struct attn_bwd_share_args &args, const struct place &p, int first)
{
    const struct dq_blocks dq = blocks_of(args, p);
    const int left = p.sequence.seq_q - first;
    const u32 rows = (u32)(left < KERNEL_TILE_Q ? left : KERNEL_TILE_Q);
    GLOBAL char *const to = dq.first + (kernarg_i64)(first / SUMS_SIDE) * dq.band_bytes;
    if (left <= 0)
        return;
    const u32 bytes = (rows + SUMS_SIDE - 1) / SUMS_SIDE * dq.band_bytes;
#pragma unroll 1
    for (u32 at = thread_id() * CHUNK_BYTES; at < bytes; at += THREADS * CHUNK_BYTES)
        *(GLOBAL u32x4 *)(to + at) = u32x4{};
}

typedef struct attn_bwd_share_args delta_args;
#else
typedef struct attn_bwd_args delta_args;
#endif

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(delta_args given)
{
#if CLEARS_DQ
    const struct attn_bwd_args &args = given.bwd;
#else
    const struct attn_bwd_args &args = given;
#endif
    const struct attn_problem &a = args.problem;
    u32 entry =
        __builtin_amdgcn_workgroup_id_z() * (u32)a.grid_y + __builtin_amdgcn_workgroup_id_y();
    u32 x = __builtin_amdgcn_workgroup_id_x();
    u32 tiles = ((u32)a.seq_q + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;

    if (entry >= (u32)a.batch)
        return;
    u32 before = uniform(x / (u32)a.heads_q);
    struct place p = {promised_sequence(a, (int)entry), (int)(x - before * (u32)a.heads_q), 0};
    const int first = (int)((tiles - 1 - before) * KERNEL_TILE_Q);
    const int row = first + (int)(thread_id() / LANES);
    struct rows o = o_rows(args, p), d_o = do_rows(args, p);

#if CLEARS_DQ
    clear_dq(given, p, first);
#endif
    float sum = 0;
    if (row < p.sequence.seq_q)
#pragma unroll 1
        for (int channel = (int)(thread_id() % LANES) * STEP; channel < a.dim_v;
             channel += LANES * STEP)
            sum += product_of(o, d_o, row, channel);
#pragma unroll
    for (int apart = LANES / 2; apart > 0; apart /= 2)
        sum += __builtin_bit_cast(float,
                                  __builtin_amdgcn_ds_bpermute((int)(lane_id() ^ (u32)apart) * 4,
                                                               __builtin_bit_cast(int, sum)));

    struct vector_place place = vector_of(a, p);
    kernarg_i64 at = place.first + row * place.step;
    if (row < p.sequence.seq_q && thread_id() % LANES == 0 &&
        (kernarg_u64)at < (kernarg_u64)place.size)
        ((GLOBAL float *)args.delta)[at] =
            keep_delta(sum, ((const GLOBAL float *)args.lse)[at] * lse_unit_of(a, LSE_NATURAL));
}
