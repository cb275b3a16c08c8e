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
 *
 * Where K and V have one buffer together (ONE_TILE), a barrier comes before each of the stores,
 * too.
 *
 * sliced_step.h has another order, of most fast steps on CDNA; paced_products.h says how RDNA 3
 * multiplies, spread_softmax.h what runs beside the softmax on RDNA 4.
 */
#ifndef AOTHIP_FWD_FAST_H
#define AOTHIP_FWD_FAST_H

#include "fast_walks.h"

/* Whether terms may hide keys, and O has become NaN or infinite. */
DEVICE bool is_spoilt(const struct progress &x)
{
    float any = 0;
    if (!has(x.terms, TERMS_HIDING))
        return false;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i++)
                any = __builtin_fmaf(x.o[column][block][i], 0, any);
    return in_any_lane(any != 0);
}

#if KERNEL_SPLIT

#include "split_end.h"

/* Divides by the sum and stores O, in f32; then the shift and the sum. */
DEVICE void finish(struct progress &x, const struct job &job, const struct sequence &sequence,
                   float factor, bool wide, const struct attn_fwd_args &args)
{
    const struct attn_problem &a = args.problem;
    const struct attn_split_args &split = late_arguments<struct attn_split_args>();
    const struct softmax_state &state = x.softmax[0];
    u32 lane = lane_id();
    asm volatile("" : "+v"(lane)); /* computed here, and not kept in registers */
    const int number = number_of_lane(job), half = (int)lane / BLOCK;
    const struct row_place at = place_of_row(job.rows, number, job.kv_head);
    const kernarg_i64 row = partial_row(a, sequence, at, split, job);
    float sum = total(state.sum);
    sum = (sum + other_half(sum)) * SOFTMAX_UNBIAS;
    float top = (scaled_shift(state.shift, factor) + SOFTMAX_BIAS) * LN_2;
    if (wide)
        top = state.shift * score_unit(a, sequence, job);
    if (number > job.rows.last)
        return;
    if (half == 0)
        store_sum(split, row, top, sum);
    if (sum == 0) /* attn_merge does not look at O */
        return;
    float inverse = SOFTMAX_UNBIAS * __builtin_amdgcn_rcpf(sum);
#if KERNEL_SCALES
    inverse *= output_scale(sequence.number, job.kv_head);
#endif
    if (has(x.terms, TERM_DROPOUT))
        inverse *= a.dropout_scale;
    store_partial(x.o[0], inverse, split, row, a.dim_v, ACC * half);
}

#else

/* As read_problem(), what comes behind the last step. */
DEVICE void read_ending(const struct attn_fwd_args &args)
{
    const struct attn_problem &a = args.problem;
    asm volatile("" ::"s"(args.o), "s"(args.o_stride.batch), "s"(args.o_stride.head),
                 "s"(args.o_stride.seq), "s"(args.lse), "s"(a.dim_v), "s"(a.flags), "s"(a.lse_unit),
                 "s"(a.lse_stride.batch), "s"(a.lse_stride.head), "s"(a.lse_stride.seq),
                 "s"(a.lse_size), "s"(a.sinks));
}

/* Divides by the sum, rounds and stores O; then lse. */
DEVICE void finish(struct progress &x, const struct job &job, const struct sequence &sequence,
                   float factor, bool wide, const struct attn_fwd_args &args)
{
    const struct attn_problem &a = args.problem;
    if (ENDS_LEAN || READS_TOGETHER)
        read_ending(args);
#if KERNEL_FP8
    const struct slice slice = output_slice(args, sequence, job.head);
#else
    const struct slice slice =
        slice_of(args.o, args.o_stride, sequence.batch_q, sequence.start_q, job.head, a.dim_v);
#endif
    struct tile_view view = {row_at(slice, job.first_row), rows_of(job)};
    float kept = has(x.terms, TERM_DROPOUT) ? a.dropout_scale : 1;
#if KERNEL_SCALES
    kept *= output_scale(sequence.number, job.kv_head);
#endif
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const struct softmax_state &state = x.softmax[column];
        u32 thread = thread_id();
        if (KERNEL_SCORE || (KERNEL_FP8 && KERNEL_PAGED)) /* computed here, not kept */
            asm volatile("" : "+v"(thread));
        u32 row =
            uniform(thread / KERNEL_WAVE) / KEY_SHARES * COLUMNS + column * BLOCK + thread % BLOCK;
        float sum = total(state.sum);
        sum = (sum + other_half(sum)) * SOFTMAX_UNBIAS;
        float top = (scaled_shift(state.shift, factor) + SOFTMAX_BIAS) * LN_2;
        if (wide)
            top = sum == 0 ? -__builtin_inff() : state.shift * score_unit(a, sequence, job);
        struct column_end end = end_column(top, sum, a, job.head);
        float to_o = end.inverse * SOFTMAX_UNBIAS * kept;
#if ENDS_LEAN
        clean_o(x.o[column], to_o, end.blind);
#endif
#if P_IN_LDS && KERNEL_DTYPE == MMA_BF16 /* f16 is multiplied as it is rounded */
        scale_in_twos(x.o[column], to_o);
        to_o = 1;
#endif
        store_o(x.o[column], to_o, end.blind, view, slice, row, 0);
        store_lse(args, sequence, job, row, end.lse);
    }
}

#endif

/* What a workgroup has to do, and where. Uniform. */
struct errand {
    struct sequence sequence;
    struct job job;
    struct turned_walk walk;
    struct key_tiles keys;
    float factor, fast_factor;
};

/*
 * With ALiBi the scores fall from the diagonal on: a walk that begins there has its largest ones
 * first, and need not move the shift tile by tile.
 */
DEVICE void begin_at_diagonal(struct turned_walk &walk, const struct sequence &sequence,
                              const struct job &job)
{
    int tile = job.first_row + sequence.seq_k - sequence.seq_q;
    tile = (tile > 0 ? tile : 0) / KERNEL_TILE_K;
    tile = tile < walk.end ? tile : walk.end - 1;
    walk.first = tile > walk.begin ? tile : walk.begin;
}

/*
 * Whether that is worth a general step more: scores would leave the range of P's exponents within
 * about two tiles. Kernels for slopes alone do not ask, but on RDNA whether scores fall at all.
 */
DEVICE bool is_steep(const struct attn_problem &a, const struct errand &x)
{
    const struct scene scene = {x.sequence.number, x.job, 0, 0};
    if (FOLDS_TERMS)
        return slope_of(a, scene) < 0;
    return TERMS_CERTAIN & TERM_SLOPE || slope_of(a, scene) * KERNEL_TILE_K < -2;
}

/* What follows from the problem and its own part of it. */
DEVICE void plan_errand(struct errand &x, const struct attn_problem &a)
{
    const struct sequence &sequence = x.sequence;
    x.factor = softmax_factor(score_unit(a, sequence, x.job));
    if (KERNEL_WAVE == 32) /* operations issued two as one can share a scalar register only */
        x.factor = __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, x.factor)));
#if FOLDS_TERMS
    x.fast_factor = __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, fast_factor_of(a))));
#endif
    struct key_walk walk = plan_walk(sequence, x.job.first_row, x.job.last_row);
#if KERNEL_SPLIT
    walk = part_of_walk(walk, x.job);
#endif
    x.walk = {walk, walk.first};
    find_tiles(x.keys, a, sequence, x.job);
#if KERNEL_PADDING
    ask_window(x.keys.padding, a, sequence.number, x.job.head, x.walk.first);
#endif
    if (MAY_TURN && a.alibi && is_steep(a, x))
        begin_at_diagonal(x.walk, sequence, x.job);
}

/*
 * All of it anew, with score terms or a mask: what is not used before the walk's end would
 * otherwise occupy scalar registers throughout, of which these leave too few.
 */
DEVICE void recall_errand(struct errand &x, const struct terms &t)
{
    const struct scene scene = recall(t);
    x.sequence = sequence_of(late_problem(), scene.number);
    x.job = scene.job;
    plan_errand(x, late_problem());
}

#if KERNEL_PADDING

/* What finish() wants of it. */
DEVICE void recall_rows(struct errand &x, const struct terms &t)
{
    const struct scene scene = recall(t);
    x.sequence = sequence_of(late_problem(), scene.number);
    x.job = scene.job;
    x.factor = softmax_factor(score_unit(late_problem(), x.sequence, x.job));
}

#endif

#if KERNEL_SCORE

/* Whether the walk just done is to be done again: `wide`, how. `done`: what those before it found.
 */
DEVICE bool look_again(struct progress &p, struct errand &e, u32 &done, bool &wide)
{
    if (any_ignored(p.softmax))
        p.found |= FOUND_WIDE;
    if (is_spoilt(p))
        p.found |= FOUND_SPOILT;
    const u32 before = done;
    p.found = done = any_wave(p.found);
    wide = p.found & FOUND_WIDE;
    recall_errand(e, p.terms);
    lds_barrier(); /* what was found has been read where K goes */
    return p.found & ~before & (FOUND_WIDE | FOUND_SPOILT);
}

#endif

/*
 * Up to how many waves a SIMD may hold: registers are given out for as many, and no more. Tiles of
 * 64 rows and up to 64 channels on RDNA 3 have LDS for seven, and with terms that take a few
 * registers too many for it, if they may, are to be as many.
 */
#if (KERNEL_SCORE || P_IN_LDS) && KERNEL_WAVE == 32 && !defined(__GFX12__) && KERNEL_DIM <= 64 &&  \
    KERNEL_TILE_Q == 64
#define WAVES_MOST 7
#define WAVES_LEAST (TERMS_CERTAIN & ~(TERM_SLOPE | TERM_CAP) ? 7 : KERNEL_WAVES_PER_EU)
#elif P_IN_LDS && (!KERNEL_CACHE || KERNEL_PAGED || __clang_major__ >= 22) /* six of 128 */
#define WAVES_MOST 6
#define WAVES_LEAST 6
#else
#define WAVES_LEAST KERNEL_WAVES_PER_EU
#define WAVES_MOST KERNEL_WAVES_PER_EU
#endif

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(WAVES_LEAST, WAVES_MOST))) void
KERNEL_SYMBOL(KERNEL_ARGUMENTS)
{
    const struct attn_problem &a = FWD_ARGUMENTS.problem;
    struct errand e;
    struct courier courier;
    struct progress p;
    struct key_interval visible[Q_BLOCKS];
    if ((TERMS_KNOWN & TERM_DROPOUT) && !KERNEL_SPLIT) /* else attn_merge does */
        write_seed_once(a, FWD_ARGUMENTS);
    if (STARTS_LEAN || READS_TOGETHER)
        read_problem(a);
    if (!find_job(a, e.sequence, e.job))
        return;
    p.found = 0;
    if (KERNEL_SCORE) {
        load_q(p.q, e.job, e.sequence, a);
        p.terms = terms_of(late_problem(), e.sequence, e.job);
#if P_IN_LDS /* scalar registers suffice until the walk is over */
        plan_errand(e, late_problem());
#else
        recall_errand(e, p.terms);
#endif
        hire(courier, e.keys.k, e.keys.v);
    } else {
        plan_errand(e, a);
        hire(courier, e.keys.k, e.keys.v);
        if (!SLICES_FIRST)
            load_q(p.q, e.job, e.sequence, a);
        find_visible(visible, e.sequence, e.job);
#if KERNEL_PADDING
        p.terms = terms_of(late_problem(), e.sequence, e.job);
#endif
    }

    bool wide = false;
#if KERNEL_SCORE
    u32 done = 0; /* what the walk before had found */
#if SLICES_TERMS && SLICES_FIRST
    walk_keys(p, courier, {e.sequence, e.job, e.factor, e.fast_factor, visible, a}, false, e.walk,
              e.keys);
    bool again = look_again(p, e, done, wide); /* not in the loop alone: registers */
    while (SELDOM(again)) {
        walk_again(p, courier, {e.sequence, e.job, e.factor, e.fast_factor, visible, a}, wide,
                   e.walk, e.keys);
        again = look_again(p, e, done, wide);
    }
#else
#pragma unroll 1
    do {
        walk_keys(p, courier, {e.sequence, e.job, e.factor, e.fast_factor, visible, a}, wide,
                  e.walk, e.keys);
    } while (look_again(p, e, done, wide));
#endif
    const struct place place = {e.sequence, e.job, e.factor, e.fast_factor, visible, a};
#elif KERNEL_PADDING
    const struct place place = {e.sequence, e.job, e.factor, e.fast_factor, visible, a};
    walk_keys(p, courier, place, false, e.walk, e.keys);
    p.found = any_wave(p.found);
    wide = p.found & FOUND_WIDE;
    if (p.found) {
        recall_errand(e, p.terms);
        if (wide)
            walk_wide(p, courier, place, e.walk, e.keys);
        if (p.found & FOUND_NONFINITE)
            mark_all(p, courier, place, e.walk, e.keys);
    }
    recall_rows(e, p.terms);
#else
    const struct place place = {e.sequence, e.job, e.factor, e.fast_factor, visible, a};
    walk_keys(p, courier, place, false, e.walk, e.keys);
    p.found = any_wave(p.found);
    wide = p.found & FOUND_WIDE;
    if (SELDOM(wide))
        walk_wide(p, courier, place, e.walk, e.keys);
#endif
#if !KERNEL_PADDING
    if (SELDOM(p.found & FOUND_NONFINITE))
        mark_all(p, courier, place, e.walk, e.keys);
#endif
    if (KEY_SHARES > 1 && !add_shares(p.softmax, p.o, e.factor, wide))
        return;
    finish(p, computed_here(e.job), computed_here(e.sequence), e.factor, wide,
           late_arguments<struct attn_fwd_args>());
}

#endif
