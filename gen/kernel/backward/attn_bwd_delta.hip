/*
 * Backward attention, the pre-pass:  delta[m] = sum over channels of dO[m] * O[m], in f32
 *
 * A workgroup computes TILE_Q rows of one head. LANES lanes share a row and are summed up by
 * halving, so the order is fixed. With CLEARS_DQ it is attn_bwd_begin.
 */
#include "gradient_parts.h"

#ifndef CLEARS_DQ
#define CLEARS_DQ 0
#endif

constexpr int LANES = THREADS / KERNEL_TILE_Q;
constexpr int STEP = KERNEL_DTYPE == 1 ? 1 : CHUNK; /* channels of a lane at a time */
constexpr int TILES = CLEARS_DQ ? BEGIN_TILES : 1;  /* of TILE_Q rows, one after the other */
constexpr int ALL_ROWS = TILES * KERNEL_TILE_Q;

static_assert(LANES * KERNEL_TILE_Q == THREADS && KERNEL_WAVE % LANES == 0,
              "a wave has whole rows");

#if KERNEL_DTYPE != 1
/* Adds the products of eight channels, those of even and of odd ones by themselves. */
DEVICE void add_products(f32x2 &sum, u32x4 x, u32x4 y)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const u32 pair_x = x[i], pair_y = y[i]; /* a bit cast takes element 0 of an unnamed x[i] */
#if KERNEL_DTYPE == 2
        typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
        const f16x2 a = __builtin_bit_cast(f16x2, pair_x), b = __builtin_bit_cast(f16x2, pair_y);
        sum.x = __builtin_fmaf((float)a.x, (float)b.x, sum.x);
        sum.y = __builtin_fmaf((float)a.y, (float)b.y, sum.y);
#else
        const u32 upper = 0xffff0000u;
        sum.x = __builtin_fmaf(__builtin_bit_cast(float, pair_x << 16),
                               __builtin_bit_cast(float, pair_y << 16), sum.x);
        sum.y = __builtin_fmaf(__builtin_bit_cast(float, pair_x &upper),
                               __builtin_bit_cast(float, pair_y &upper), sum.y);
#endif
    }
}

/* The lane's part of a row's sum. Where chunks exist whole, some of them are loaded at a time. */
DEVICE float part_of(const struct rows &o, const struct rows &d_o, int row)
{
    constexpr int AT_ONCE = KERNEL_WAVE == 32 ? 4 : 2; /* by their registers */
    int channel = (int)(thread_id() % LANES) * STEP;
    f32x2 sum = 0;
    if (o.channel == ELEMENT_BYTES && d_o.channel == ELEMENT_BYTES && o.dim % CHUNK == 0) {
        const GLOBAL char *const x = (const GLOBAL char *)o.base + row * o.pitch;
        const GLOBAL char *const y = (const GLOBAL char *)d_o.base + row * d_o.pitch;
#pragma unroll 1
        for (int last; (last = channel + (AT_ONCE - 1) * LANES * STEP) < o.dim;
             channel = last + LANES * STEP) {
            u32x4 a[AT_ONCE], b[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const int at = (channel + i * LANES * STEP) * ELEMENT_BYTES;
                a[i] = *(const u32x4_anywhere *)(x + at);
                b[i] = *(const u32x4_anywhere *)(y + at);
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                add_products(sum, a[i], b[i]);
        }
    }
#pragma unroll 1
    for (; channel < o.dim; channel += LANES * STEP)
        add_products(sum, load_one_chunk({o.base, row + 1}, o, (u32)row, (u32)channel),
                     load_one_chunk({d_o.base, row + 1}, d_o, (u32)row, (u32)channel));
    return sum.x + sum.y;
}
#else
/* The lane's part of a row's sum. */
DEVICE float part_of(const struct rows &o, const struct rows &d_o, int row)
{
    float sum = 0;
#pragma unroll 1
    for (int channel = (int)(thread_id() % LANES) * STEP; channel < o.dim; channel += LANES * STEP)
        sum += element_at(o, row, channel) * element_at(d_o, row, channel);
    return sum;
}
#endif

#if CLEARS_DQ
static_assert(ALL_ROWS % SUMS_SIDE == 0, "whole bands");

/* Zeros where dQ of the workgroup's rows, from row `first` on, is going to be summed. */
DEVICE void clear_dq(const struct attn_bwd_share_args &args, const struct place &p, int first)
{
    const struct dq_blocks dq = blocks_of(args, p);
    constexpr int AT_ONCE = 4; /* of a band of 128 channels */
    const int left = p.sequence.seq_q - first;
    const u32 rows = (u32)(left < ALL_ROWS ? left : ALL_ROWS);
    GLOBAL char *const to = dq.first + (kernarg_i64)(first / SUMS_SIDE) * dq.band_bytes;
    if (left <= 0)
        return;
    const u32 bytes = (rows + SUMS_SIDE - 1) / SUMS_SIDE * dq.band_bytes;
    const __amdgpu_buffer_rsrc_t buffer =
        __builtin_amdgcn_make_buffer_rsrc(to, 0, (int)bytes, DESCRIPTOR_WORD3);
    const u32 own = thread_id() * CHUNK_BYTES;
#pragma unroll 1
    for (u32 at = 0; at < bytes; at += AT_ONCE * THREADS * CHUNK_BYTES)
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++)
            __builtin_amdgcn_raw_buffer_store_b128(u32x4{}, buffer, (int)own,
                                                   (int)(at + i * THREADS * CHUNK_BYTES), 0);
}

typedef struct attn_bwd_share_args delta_args;
#else
typedef struct attn_bwd_args delta_args;
#endif

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU))) void
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
    u32 tiles = ((u32)a.seq_q + ALL_ROWS - 1) / ALL_ROWS;

    if (entry >= (u32)a.batch)
        return;
    u32 before = uniform(x / (u32)a.heads_q);
    struct place p = {promised_sequence(a, (int)entry), (int)(x - before * (u32)a.heads_q), 0};
    const int first = (int)((tiles - 1 - before) * ALL_ROWS);
    const int own = first + (int)(thread_id() / LANES);
    struct rows o = o_rows(args, p), d_o = do_rows(args, p);

#if CLEARS_DQ
    clear_dq(given, p, first);
#endif
    const auto find = [&](int row) {
        float sum = 0;
        if (row < p.sequence.seq_q)
            sum = part_of(o, d_o, row);
#pragma unroll
        for (int apart = LANES / 2; apart > 0; apart /= 2)
            sum += __builtin_bit_cast(
                float, __builtin_amdgcn_ds_bpermute((int)(lane_id() ^ (u32)apart) * 4,
                                                    __builtin_bit_cast(int, sum)));

        struct vector_place place = vector_of(a, p);
        kernarg_i64 at = place.first + row * place.step;
        if (row < p.sequence.seq_q && thread_id() % LANES == 0 &&
            (kernarg_u64)at < (kernarg_u64)place.size)
            ((GLOBAL float *)args.delta)[at] =
                keep_delta(sum, ((const GLOBAL float *)args.lse)[at] * lse_unit_of(a, LSE_NATURAL));
    };
    if (TILES == 1)
        find(own);
    else
#pragma unroll 1
        for (int tile = 0; tile < TILES; tile++)
            find(own + tile * KERNEL_TILE_Q);
}
