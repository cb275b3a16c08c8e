/*
 * dQ, or dK and dV, in f32 on the plain vector units. A wave computes one row of the results after
 * the other: ROWS = TILE / WAVES of them. For each WAVE rows of the other side, first each lane
 * computes the element of one of them, then each lane owns channels and adds all of them up:
 *
 *     dq      dQ[m] = scale * sum over n of dS[m, n] K[n]
 *     dkdv    dK[n] = scale * sum over m of dS[m, n] Q[m],   dV[n] = sum over m of P~[m, n] dO[m]
 *
 * OWNS_KEYS says which, and is 1 for attn_bwd_dkdv.
 */
#ifndef AOTHIP_ATTN_BWD_F32_H
#define AOTHIP_ATTN_BWD_F32_H

#include "attn_bwd_element.h"

enum {
    OWNED_ROWS = OWNS_KEYS ? KERNEL_TILE_K : KERNEL_TILE_Q,
    ROWS = OWNED_ROWS / KERNEL_WAVES,
    CHANNELS = (KERNEL_DIM + KERNEL_WAVE - 1) / KERNEL_WAVE, /* of a lane */
};

struct channels {
    float x[CHANNELS];
};

/* to += sum over lanes of weight * row first + lane; only `count` rows count. */
DEVICE void add_rows(struct channels &to, float weight, const struct rows &x, int first, int count)
{
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        float w = __builtin_bit_cast(float,
                                     __builtin_amdgcn_readlane(__builtin_bit_cast(int, weight), i));
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
            int channel = (int)lane_id() + c * KERNEL_WAVE;
            if (channel < x.dim)
                to.x[c] = __builtin_fmaf(w, element_at(x, first + i, channel), to.x[c]);
        }
    }
}

DEVICE void store_channels(const struct channels &from, float factor, const struct rows &x, int row)
{
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        int channel = (int)lane_id() + c * KERNEL_WAVE;
        if (channel < x.dim)
            *(GLOBAL float *)(x.base + row * x.pitch + channel * 4) = from.x[c] * factor;
    }
}

DEVICE int smaller(int a, int b)
{
    return a < b ? a : b;
}

#if OWNS_KEYS

DEVICE void compute_row(const struct attn_bwd_args &args, const struct sequence &s, int kv_head,
                        int key)
{
    const struct attn_problem &a = args.problem;
    struct channels dk = {}, dv = {};
    int first = __builtin_elementwise_sub_sat(key, s.key_last);
    int last = smaller(__builtin_elementwise_sub_sat(key, s.key_first), s.seq_q - 1);
#pragma unroll 1
    for (int i = 0; i < a.group; i++) {
        const struct element_inputs x =
            element_inputs_of(args, {s, kv_head * a.group + i, kv_head});
#pragma unroll 1
        for (int m = first > 0 ? first : 0; m <= last; m += KERNEL_WAVE) {
            struct score_gradient g = element_of(args, x, m + (int)lane_id(), key);
            int count = smaller(last - m + 1, KERNEL_WAVE);
            add_rows(dv, g.p_kept, x.d_o, m, count);
            add_rows(dk, g.dx, x.q, m, count);
        }
    }
    if (args.dk)
        store_channels(dk, a.scale,
                       rows_of(args.dk, args.dk_stride, s.batch_k, s.start_k, kv_head, a.dim_qk),
                       key);
    if (args.dv)
        store_channels(
            dv, 1, rows_of(args.dv, args.dv_stride, s.batch_k, s.start_k, kv_head, a.dim_v), key);
}

#else

DEVICE void compute_row(const struct attn_bwd_args &args, const struct sequence &s, int head,
                        int row)
{
    const struct attn_problem &a = args.problem;
    const struct element_inputs x =
        element_inputs_of(args, {s, head, (int)uniform((u32)head / (u32)a.group)});
    struct key_range keys = keys_of_row(s, row);
    struct channels dq = {};
#pragma unroll 1
    for (int n = keys.first; n <= keys.last; n += KERNEL_WAVE) {
        struct score_gradient g = element_of(args, x, row, n + (int)lane_id());
        add_rows(dq, g.dx, x.k, n, smaller(keys.last - n + 1, KERNEL_WAVE));
    }
    store_channels(dq, a.scale,
                   rows_of(args.dq, args.dq_stride, s.batch_q, s.start_q, head, a.dim_qk), row);
}

#endif

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_bwd_args args)
{
    const struct attn_problem &a = args.problem;
    u32 entry =
        __builtin_amdgcn_workgroup_id_z() * (u32)a.grid_y + __builtin_amdgcn_workgroup_id_y();
    u32 x = __builtin_amdgcn_workgroup_id_x(), heads = (u32)(OWNS_KEYS ? a.heads_k : a.heads_q);

    if (entry >= (u32)a.batch)
        return;
    const struct sequence s = sequence_of(a, (int)entry);
    u32 tile = uniform(x / heads), head = x - tile * heads;
    if (!OWNS_KEYS)
        tile = ((u32)a.seq_q + OWNED_ROWS - 1) / OWNED_ROWS - 1 - tile;
    int first = (int)(tile * OWNED_ROWS + wave_id() * ROWS), end = OWNS_KEYS ? s.seq_k : s.seq_q;
    end = smaller(first + ROWS, end);
#pragma unroll 1
    for (int row = first; row < end; row++)
        compute_row(args, s, (int)head, row);
}

#endif
