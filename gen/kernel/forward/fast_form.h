/*
 * The forward kernel's fast form: one step of the key loop. K and V have one buffer each in LDS;
 * while a tile is computed on, the next one is on its way from memory to registers:
 *
 *                      registers       LDS
 *     S = K Q^T        V(t) arriving   K(t) is there, V(t-1) has been read by all; read K(t)
 *     softmax
 *     store V                          write V(t)
 *     load K, V        K, V(t+1) leave memory (V only at the end, where registers are short)
 *     barrier                          V(t) is there, K(t) has been read by all
 *     O += V^T P^T     arriving        read V(t)
 *     store K                          write K(t+1)
 *     barrier
 */
#ifndef AOTHIP_FWD_FAST_H
#define AOTHIP_FWD_FAST_H

#include "cargo_aligned.h"
#include "fwd_common.h"

/* Loading V only after the last use of P saves the registers of one of them. */
#define LATE_V Q_IN_LDS

/* Tile `tile` of the keys. */
DEVICE struct tile_view tile_at(const struct sequence &sequence, const struct slice &x, int tile)
{
    int left = sequence.seq_k - tile * KERNEL_TILE_K;
    return {row_at(x, (kernarg_i64)tile * KERNEL_TILE_K),
            left < KERNEL_TILE_K ? left : KERNEL_TILE_K};
}

/* FAST: every key of the tile is visible, the next tile exists whole, the shifts are to stay. */
enum step_kind { STEP_GENERAL, STEP_FAST };

/* What a wave carries along the keys. */
struct progress {
    struct queries q;
    struct cargo cargo;
    struct softmax_state softmax[Q_BLOCKS];
    output_blocks o;
    bool isolated; /* whether this wave carried V that was not finite where not all see it */
};

/* What the products are added to. */
template <enum score_kind kind>
DEVICE void begin_scores(score_blocks &s, const struct softmax_state (&softmax)[Q_BLOCKS])
{
    if (kind == SCORE_PLAIN)
        return clear_scores(s);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
            s[column][block] = -softmax[column].shift;
}

/*
 * One step: the tile in LDS, whose first key is `key`, is computed on; the next one is fetched.
 * `full`: all queries of the workgroup see all keys of the tile.
 * Returns false, with nothing changed, if the step turns out not to be a fast one.
 */
template <enum step_kind kind>
DEVICE bool step(struct progress &x, const struct courier &courier, float factor,
                 const struct key_interval *visible, u32 key, bool full, const struct slice &k,
                 struct tile_view next_k, const struct slice &v, struct tile_view next_v)
{
    const enum score_kind scores =
        kind == STEP_FAST && SHIFT_OF_SCORES ? SCORE_SHIFTED : SCORE_PLAIN;
    const enum rows_exist exist = kind == STEP_FAST ? ROWS_ALL : ROWS_SOME;
    score_blocks s;
    partial_sum sum[Q_BLOCKS];
    float largest = 0;

    begin_scores<scores>(s, x.softmax);
    multiply_kq(s, x.q, 0);
    if (kind == STEP_GENERAL) {
        mask_scores(s, visible, key);
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            move_shift(x.softmax[column], x.o[column], s[column], factor);
    }
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        sum[column] = exponentiate<scores>(x.softmax[column], s[column], factor);
        largest = __builtin_fmaxf(largest, total(sum[column]));
    }
    if (kind == STEP_FAST && in_any_lane(largest > SOFTMAX_LIMIT))
        return false;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        x.softmax[column].sum += sum[column];

    if (kind == STEP_GENERAL)
        x.isolated |= isolate_v(x.cargo, !full);
    store_v(vt_tile, x.cargo, courier);
    load_k<exist>(x.cargo, courier, k, next_k);
    if (!LATE_V)
        load_v<exist>(x.cargo, courier, v, next_v);
    lds_barrier();
    multiply_vp(x.o, s);
    store_k(k_tile, x.cargo, courier);
    if (LATE_V)
        load_v<exist>(x.cargo, courier, v, next_v);
    lds_barrier();
    return true;
}

/* Another walk over the tiles whose V was isolated, for O to tell who sees it. */
DEVICE void mark_all(struct progress &x, const struct courier &courier,
                     const struct key_interval *visible, const struct key_walk &walk,
                     const struct sequence &sequence, const struct slice &v)
{
    int tile = walk.first;
#pragma unroll 1
    for (int i = 0; i < walk.count; i++, tile = next_tile(walk, tile)) {
        if (i <= walk.fast_count)
            continue; /* full */
        load_v<ROWS_SOME>(x.cargo, courier, v, tile_at(sequence, v, tile));
        store_v(vt_tile, x.cargo, courier);
        note_nonfinite(vt_tile, k_tile);
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            mark_o(x.o[column], k_tile, sight_of(visible[column], (u32)tile * KERNEL_TILE_K));
        lds_barrier();
    }
}

/* Divides by the sum, rounds and stores O; then lse. */
DEVICE void finish(const struct progress &x, const struct job &job, const struct sequence &sequence,
                   float factor, const struct attn_fwd_args &args)
{
    const struct attn_problem &a = args.problem;
    const struct slice slice =
        slice_of(args.o, args.o_stride, sequence.batch_q, sequence.start_q, job.head, a.dim_v);
    struct tile_view view = {row_at(slice, job.first_row), rows_of(job)};
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const struct softmax_state &state = x.softmax[column];
        u32 row = wave_id() * COLUMNS + column * BLOCK + lane_column();
        float sum = total(state.sum);
        sum = (sum + other_half(sum)) * SOFTMAX_UNBIAS;
        float top = (scaled_shift(state.shift, factor) + SOFTMAX_BIAS) * LN_2;
        struct column_end end = end_column(top, sum, a, job.head);
        store_o(x.o[column], end.inverse * SOFTMAX_UNBIAS, end.blind, view, slice, row, 0);
        store_lse(args, sequence, job, row, end.lse);
    }
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_fwd_args args)
{
    const struct attn_problem &a = args.problem;
    struct sequence sequence;
    struct job job;
    if (!find_job(a, sequence, job))
        return;

    float factor = softmax_factor(a.scale);
    if (KERNEL_WAVE == 32) /* operations issued two as one can share a scalar register only */
        factor = __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, factor)));
    struct key_walk walk = plan_walk(sequence, job.first_row, job.last_row);
    struct courier courier;
    struct progress p;

    struct slice k =
        slice_of(a.k, a.k_stride, sequence.batch_k, sequence.start_k, job.kv_head, a.dim_qk);
    struct slice v =
        slice_of(a.v, a.v_stride, sequence.batch_k, sequence.start_k, job.kv_head, a.dim_v);
    hire(courier, k, v);
    p.isolated = false;
    load_q(p.q, job, sequence, a);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        p.softmax[column] = softmax_start();
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++)
            p.o[column][block] = {};
    }

    struct key_interval visible[Q_BLOCKS];
    find_visible(visible, sequence, job);

    if (walk.count > 0) {
        struct tile_view tile_k = tile_at(sequence, k, walk.first),
                         tile_v = tile_at(sequence, v, walk.first);
        load_k<ROWS_SOME>(p.cargo, courier, k, tile_k);
        load_v<ROWS_SOME>(p.cargo, courier, v, tile_v);
        store_k(k_tile, p.cargo, courier);
        lds_barrier();
    }

    int tile = walk.first, fast = walk.fast_count;
#pragma unroll 1
    for (int left = walk.count; left > 0; left--, fast--) {
        int next = next_tile(walk, tile);
        struct tile_view next_k = tile_at(sequence, k, next), next_v = tile_at(sequence, v, next);
        if (left == 1)
            next_k.rows = next_v.rows = 0;
        step<STEP_GENERAL>(p, courier, factor, visible, (u32)tile * KERNEL_TILE_K, fast >= 0, k,
                           next_k, v, next_v);
        tile = next;
#pragma unroll 1
        for (; fast > 1; fast--, left--, tile++) {
            next_k.first += k.pitch * KERNEL_TILE_K;
            next_v.first += v.pitch * KERNEL_TILE_K;
            if (!step<STEP_FAST>(p, courier, factor, nullptr, 0, true, k,
                                 {next_k.first, KERNEL_TILE_K}, v, {next_v.first, KERNEL_TILE_K}))
                break;
        }
    }
    if (any_wave(p.isolated))
        mark_all(p, courier, visible, walk, sequence, v);
    finish(p, job, sequence, factor, late_arguments<struct attn_fwd_args>());
}

#endif
