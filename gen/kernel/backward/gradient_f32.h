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

#include "gradient_element.h"

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

DEVICE void compute_row(struct place p, int key)
{
    const struct sequence &s = p.sequence;
    struct channels dk = {}, dv = {};
    const int first = __builtin_elementwise_sub_sat(key, s.key_last);
    const int last = smaller(__builtin_elementwise_sub_sat(key, s.key_first), s.seq_q - 1);
#pragma unroll 1
    for (int left = args_here().problem.group; left > 0; left--) {
        p.head = (p.kv_head + 1) * args_here().problem.group - left;
#pragma unroll 1
        for (int m = first > 0 ? first : 0; m <= last; m += KERNEL_WAVE) {
            const struct weights w = weights_of<OF_PRODUCT>(p, m + (int)lane_id(), key);
            int count = smaller(last - m + 1, KERNEL_WAVE);
            add_rows(dv, w.p, do_rows(args_here(), p), m, count);
            add_rows(dk, w.d, q_rows(args_here(), p), m, count);
        }
    }
    const struct attn_bwd_args &args = args_here();
    if (args.dk)
        store_channels(dk, args.problem.scale, dk_rows(args, p), key);
    if (args.dv)
        store_channels(dv, 1, dv_rows(args, p), key);
}

#else

DEVICE void compute_row(const struct place &p, int row)
{
    struct key_range keys = keys_of_row(p.sequence, row);
    struct channels dq = {};
#pragma unroll 1
    for (int n = keys.first; n <= keys.last; n += KERNEL_WAVE) {
        const struct weights w = weights_of<OF_PRODUCT>(p, row, n + (int)lane_id());
        add_rows(dq, w.d, k_rows(args_here(), p), n, smaller(keys.last - n + 1, KERNEL_WAVE));
    }
    const struct attn_bwd_args &args = args_here();
    store_channels(dq, args.problem.scale, dq_rows(args, p), row);
}

#endif

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
    const struct deal deal = OWNS_KEYS ? deal_keys(&a, x) : deal_queries(&a, x);
    const u32 tiles = ((u32)a.seq_q + OWNED_ROWS - 1) / OWNED_ROWS;
    const struct place p = {promised_sequence(a, (int)entry),
                            (int)(OWNS_KEYS ? deal.kv_head * (u32)a.group : deal.part),
                            (int)deal.kv_head};
    int first =
        (int)((OWNS_KEYS ? deal.tile : tiles - 1 - deal.tile) * OWNED_ROWS + wave_id() * ROWS);
    int end = smaller(first + ROWS, OWNS_KEYS ? p.sequence.seq_k : p.sequence.seq_q);
#pragma unroll 1
    for (int row = first; row < end; row++)
        compute_row(p, row);
}

#endif
