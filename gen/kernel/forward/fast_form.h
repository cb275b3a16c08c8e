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
#include "query_rows.h"

/* Loading V only after the last use of P saves the registers of one of them. */
#define LATE_V Q_IN_LDS

/* Tile `tile` of the keys. */
DEVICE struct tile_view tile_at(const struct sequence &sequence, const struct slice &x, int tile)
{
    int left = sequence.seq_k - tile * KERNEL_TILE_K;
    return {row_at(x, (kernarg_i64)tile * KERNEL_TILE_K),
            left < KERNEL_TILE_K ? left : KERNEL_TILE_K};
}

/* For sched_barrier: VALU, SALU, VMEM and reads of LDS may pass, products and stores to LDS may not. */
enum { BARRIER_OF_STORES = 0x2 | 0x4 | 0x10 | 0x100 | 0x400 };

/*
 * FAST: every key of the tile is visible, the next tile exists whole, the shifts are to stay.
 * WIDE: a general one in the softmax's wide form.
 */
enum step_kind { STEP_GENERAL, STEP_FAST, STEP_WIDE };

/* Bits of what a wave has come across. */
enum found {
    FOUND_NONFINITE = 1, /* V that is not finite and that not all queries see */
    FOUND_WIDE = 2,      /* scores for the wide form */
};

/* What a wave carries along the keys. */
struct progress {
    struct queries q;
    struct cargo cargo;
    struct softmax_state softmax[Q_BLOCKS];
    output_blocks o;
    u32 found; /* enum found. Uniform */
};

/* What comes before the walk over the keys, the first of which it brings to LDS. */
template <enum score_kind kind>
DEVICE void begin_walk(struct progress &x, const struct courier &courier,
                       const struct key_walk &walk, const struct slice &k, struct tile_view first_k,
                       const struct slice &v, struct tile_view first_v)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        x.softmax[column] = softmax_start<kind>();
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++)
            x.o[column][block] = {};
    }
    if (walk.count == 0)
        return;
    load_k<ROWS_SOME>(x.cargo, courier, k, first_k);
    load_v<ROWS_SOME>(x.cargo, courier, v, first_v);
    store_k(k_tile, x.cargo, courier);
    lds_barrier();
}

/* What the products are added to. */
template <enum score_kind kind>
DEVICE void begin_scores(score_blocks &s, const struct softmax_state (&softmax)[Q_BLOCKS])
{
    if (kind != SCORE_SHIFTED)
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
    const enum score_kind scores = kind == STEP_WIDE                      ? SCORE_WIDE
                                   : kind == STEP_FAST && SHIFT_OF_SCORES ? SCORE_SHIFTED
                                                                          : SCORE_PLAIN;
    const enum rows_exist exist = kind == STEP_FAST ? ROWS_ALL : ROWS_SOME;
    score_blocks s;
    partial_sum sum[Q_BLOCKS];
    float largest = 0;

    begin_scores<scores>(s, x.softmax);
    multiply_kq(s, x.q, 0, kind != STEP_FAST || STAGE_DIM > 64);
    if (kind != STEP_FAST) {
        bool wide = false;
        mask_scores(s, visible, key);
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            wide |= move_shift<scores>(x.softmax[column], x.o[column], s[column], factor);
        if (kind == STEP_GENERAL)
            x.found |= in_any_lane(wide) ? FOUND_WIDE : 0;
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

    if (kind != STEP_FAST) {
        x.found |= isolate_v(x.cargo, !full) ? FOUND_NONFINITE : 0;
        if (STAGE_DIM <= 64)
            x.found = uniform(x.found); /* vector registers are short */
    }
    store_v(vt_tile, x.cargo, courier);
    load_k<exist>(x.cargo, courier, k, next_k);
    /* The descriptors of K and V, one a load, are too many scalar registers together. */
    if (kind != STEP_FAST)
        __builtin_amdgcn_sched_barrier(0);
    if (!LATE_V)
        load_v<exist>(x.cargo, courier, v, next_v);
    lds_barrier();
    multiply_vp(x.o, s);
    /* Clang 22 would store K, and wait for it, before the products. (Wave32 has lds_barrier() for it.) */
    if (KERNEL_WAVE == 64)
        __builtin_amdgcn_sched_barrier(BARRIER_OF_STORES);
    store_k(k_tile, x.cargo, courier);
    if (LATE_V)
        load_v<exist>(x.cargo, courier, v, next_v);
    lds_barrier();
    return true;
}

/* The walk over the keys once more, in the softmax's wide form. */
DEVICE void walk_wide(struct progress &x, const struct courier &courier, float factor,
                      const struct key_interval *visible, const struct key_walk &first_walk,
                      const struct sequence &sequence, const struct slice &k, const struct slice &v)
{
    struct key_walk walk = first_walk;
    walk.count = computed_here(walk.count);
    walk.first = computed_here(walk.first);
    int tile = walk.first;
    lds_barrier(); /* what was found has been read where K goes */
    begin_walk<SCORE_WIDE>(x, courier, walk, k, tile_at(sequence, k, tile), v,
                           tile_at(sequence, v, tile));
#pragma unroll 1
    for (int i = 0; i < walk.count; i++) {
        int next = next_tile(walk, tile);
        struct tile_view next_k = tile_at(sequence, k, next), next_v = tile_at(sequence, v, next);
        if (i + 1 == walk.count)
            next_k.rows = next_v.rows = 0;
        step<STEP_WIDE>(x, courier, factor, visible, (u32)tile * KERNEL_TILE_K,
                        i <= walk.fast_count, k, next_k, v, next_v);
        tile = next;
    }
}

/* Another walk over the tiles whose V was isolated, for O to tell who sees it. */
DEVICE void mark_all(struct progress &x, const struct courier &courier,
                     const struct key_interval *visible, const struct key_walk &walk,
                     const struct sequence &sequence, const struct slice &v)
{
    const int count = computed_here(walk.count);
    int tile = walk.first;
#pragma unroll 1
    for (int i = 0; i < count; i++, tile = next_tile(walk, tile)) {
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
                   float factor, bool wide, const struct attn_fwd_args &args)
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
        if (wide)
            top = sum == 0 ? -__builtin_inff() : state.shift * __builtin_fabsf(a.scale);
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
    p.found = 0;
    load_q(p.q, job, sequence, a);
    struct key_interval visible[Q_BLOCKS];
    find_visible(visible, sequence, job);
    begin_walk<SCORE_PLAIN>(p, courier, walk, k, tile_at(sequence, k, walk.first), v,
                            tile_at(sequence, v, walk.first));

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
    const u32 found = any_wave(p.found);
    if (found & FOUND_WIDE)
        walk_wide(p, courier, factor, visible, walk, sequence, k, v);
    if (found & FOUND_NONFINITE)
        mark_all(p, courier, visible, walk, sequence, v);
    finish(p, computed_here(job), computed_here(sequence), factor, found & FOUND_WIDE,
           late_arguments<struct attn_fwd_args>());
}

#endif
