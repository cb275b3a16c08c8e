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

#include "fast_step.h"

#if FAST_SLICED
#include "sliced_step.h"
#endif

/* Where it is noted what of V is not finite, when K or Q is no longer needed there. */
#define NOTES (ONE_TILE ? q_tile : k_tile)

#if KERNEL_PADDING
#include "padded_walk.h"
#else

/* The walk over the keys once more, in the softmax's wide form. */
DEVICE void walk_wide(struct progress &x, const struct courier &courier, const struct place &place,
                      const struct key_walk &first_walk, struct key_tiles &keys)
{
    const struct sequence &sequence = place.sequence;
    struct key_walk walk = first_walk;
    walk.count = computed_here(walk.count);
    walk.first = computed_here(walk.first);
    int tile = walk.first;
    lds_barrier(); /* what was found has been read where K goes */
    begin_walk(x, true, courier, sequence, walk, keys);
#pragma unroll 1
    for (int i = 0; i < walk.count; i++) {
        const u32 missing = missing_in(keys, sequence, tile);
        struct tile_views next = next_views(keys, sequence, walk, tile, walk.count - i);
        struct ahead none;
        step<STEP_WIDE>(x, courier, place, (u32)tile * KERNEL_TILE_K, missing, i <= walk.fast_count,
                        true, keys, next, none);
        tile = next_tile(walk, tile);
    }
}

/* Another walk over the tiles whose V was isolated, for O to tell who sees it. */
DEVICE void mark_all(struct progress &x, const struct courier &courier, const struct place &place,
                     const struct turned_walk &walk, struct key_tiles &keys)
{
    const struct sequence &sequence = place.sequence;
    const bool hides = has(x.terms, TERMS_HIDING);
    const int count = computed_here(walk.count);
    struct key_interval visible[Q_BLOCKS];
    int tile = walk.first;
    see_keys(visible, x.terms, place);
    tile_barrier(); /* what was found has been read where V goes */
#pragma unroll 1
    for (int i = 0; i < count; i++, tile = next_tile(walk, tile)) {
        if (is_full(walk, tile, i) && !hides)
            continue;
        load_v<ROWS_SOME>(x.cargo, courier, keys.v, views_at(keys, sequence, tile));
        store_v(vt_tile, x.cargo, courier);
        note_nonfinite(vt_tile, NOTES);
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++) {
            struct sight sight = sight_of(visible[column], (u32)tile * KERNEL_TILE_K);
            if (hides)
                blind_sight(sight, late_problem(), sequence, place.job, column,
                            tile * KERNEL_TILE_K);
            mark_o(x.o[column], NOTES, sight);
        }
        lds_barrier();
    }
}

#endif

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
#if KERNEL_SCALES
    const float kept = output_scale(sequence.number, job.kv_head);
#else
    const float kept = has(x.terms, TERM_DROPOUT) ? a.dropout_scale : 1;
#endif
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const struct softmax_state &state = x.softmax[column];
        u32 thread = thread_id();
        if (KERNEL_SCORE) /* computed here, and not kept in a register */
            asm volatile("" : "+v"(thread));
        u32 row =
            uniform(thread / KERNEL_WAVE) / KEY_SHARES * COLUMNS + column * BLOCK + thread % BLOCK;
        float sum = total(state.sum);
        sum = (sum + other_half(sum)) * SOFTMAX_UNBIAS;
        float top = (scaled_shift(state.shift, factor) + SOFTMAX_BIAS) * LN_2;
        if (wide)
            top = sum == 0 ? -__builtin_inff() : state.shift * SCORE_UNIT(a, sequence, job);
        struct column_end end = end_column(top, sum, a, job.head);
        float to_o = end.inverse * SOFTMAX_UNBIAS * kept;
#if ENDS_LEAN
        clean_o(x.o[column], to_o, end.blind);
#endif
        store_o(x.o[column], to_o, end.blind, view, slice, row, 0);
        store_lse(args, sequence, job, row, end.lse);
    }
}

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
    x.factor = softmax_factor(SCORE_UNIT(a, sequence, x.job));
    if (KERNEL_WAVE == 32) /* operations issued two as one can share a scalar register only */
        x.factor = __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, x.factor)));
#if FOLDS_TERMS
    x.fast_factor = __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, fast_factor_of(a))));
#endif
    const struct key_walk walk = plan_walk(sequence, x.job.first_row, x.job.last_row);
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
    x.factor = softmax_factor(SCORE_UNIT(late_problem(), x.sequence, x.job));
}

#else

#if SLICES_FIRST

/* The walk over the keys: the full tiles, then the others. */
DEVICE void walk_keys(struct progress &p, const struct courier &courier, const struct place &place,
                      bool, const struct turned_walk &walk, struct key_tiles &keys)
{
    const struct sequence &sequence = place.sequence;
    const int full = walk.count ? walk.fast_count + 1 : 0;
    int tile = walk.first, left = walk.count - full;
    struct tile_views next;
    begin_loads(p, false, courier, sequence, walk, keys, next,
                [&]() { load_q(p.q, place.job, sequence, place.problem); });
    if (full > 0) {
        if (!PLANS_LEAN)
            next = views_at(keys, sequence, tile);
        end_loads(p, courier);
        tile += full - 1;
        sliced_steps(p, courier, place.factor, keys, next, walk.first, full, [&]() {
            return next_views(keys, sequence, walk, computed_here(tile), computed_here(left) + 1);
        });
        tile = next_tile(walk, tile);
    } else if (left) {
        end_loads(p, courier);
    }
#pragma unroll 1
    for (; left > 0; left--) {
        next = next_views(keys, sequence, walk, tile, left);
        struct ahead none;
        step<STEP_GENERAL>(p, courier, place, (u32)tile * KERNEL_TILE_K, 0, false, false, keys,
                           next, none);
        tile = next_tile(walk, tile);
    }
}

#else

#if TURNS_FAST

/*
 * The fast steps of a walk that may have begun with another tile than the first one: from `tile`,
 * which is in `next`, to the keys' end and on from their begin. `left` counts the tiles from the
 * one before it on. Ends with the tile whose step is not a fast one, or turned out not to be.
 */
DEVICE void turned_steps(struct progress &p, const struct courier &courier,
                         const struct place &place, const struct turned_walk &walk,
                         struct key_tiles &keys, struct tile_views &next, int &tile, int &left,
                         bool wide)
{
    const struct sequence &sequence = place.sequence;
    const int full = fast_from(walk, tile) + 1; /* tiles from this one on */
    const bool to_end = full >= left - 1;
    const bool turns = !to_end && walk.full == walk.begin && tile + full == walk.end;
    const int stop = to_end || turns ? 1 : left - full + 1; /* of `left` */
    int special = turns ? left - full + 1 : to_end ? 2 : 0; /* where other views follow */
    struct ahead none;
    if (left <= stop || wide)
        return;
    begin_folding(p.folded, p.terms, tile * KERNEL_TILE_K);
#pragma unroll 1
    for (; left > stop; left--, tile++) {
        advance(next, keys, tile + 1);
        if (left == special) {
            /* By selections: branches would copy all of it on each way. */
            const bool turn = tile + 1 == walk.end && left > 2, turned = tile == walk.end;
            const struct tile_views first = views_at(keys, sequence, walk.begin);
            next.k[0].first = turn ? first.k[0].first : next.k[0].first;
            next.v[0].first = turn ? first.v[0].first : next.v[0].first;
            special = turn ? left - 1 : 2;
            move_folding(p.folded, turned ? (walk.end - walk.begin) * KERNEL_TILE_K : 0,
                         turned ? 0 : p.folded.sign);
            tile = turned ? walk.begin : tile;
            if (left == 2) /* nothing follows */
                next.k[0].rows = next.v[0].rows = 0;
        }
        if (!step<STEP_FAST>(p, courier, place, (u32)tile * KERNEL_TILE_K, 0, true, false, keys,
                             next, none))
            break;
    }
}

#endif

/* The walk over the keys. `wide`: in the wide form; kernels without score terms have walk_wide().
 */
DEVICE void walk_keys(struct progress &p, const struct courier &courier, const struct place &place,
                      bool wide, const struct turned_walk &walk, struct key_tiles &keys)
{
    const struct sequence &sequence = place.sequence;
    int tile = walk.first, fast = MAY_TURN ? fast_from(walk, tile) : walk.fast_count;
    begin_walk(p, wide, courier, sequence, walk, keys);
#if FAST_PACED
    find_lines(p.lines);
#endif
#pragma unroll 1
    for (int left = walk.count; left > 0; left--, fast--) {
        const u32 missing = missing_in(keys, sequence, tile);
        struct tile_views next = next_views(keys, sequence, walk, tile, left);
        struct ahead none;
        step<STEP_GENERAL>(p, courier, place, (u32)tile * KERNEL_TILE_K, missing, fast >= 0, wide,
                           keys, next, none);
        tile = next_tile(walk, tile);
#if TURNS_FAST
        turned_steps(p, courier, place, walk, keys, next, tile, left, wide);
        fast = fast_from(walk, tile) + 1;
#else
        if (MAY_TURN)
            fast = fast_from(walk, tile) + 1;
        const bool to_end = ENDS_FAST && fast == left - 1;
        int reach = fast_reach(keys, tile, to_end ? fast : fast - 1);
        if (MAY_TURN && reach > left - 2)
            reach = left - 2; /* the walk's last tile has no next one */
#if FAST_SLICED
        if (reach > 0) {
            sliced_steps(p, courier, place.factor, keys, next, tile, reach, [&]() { return next; });
            fast -= reach, left -= reach, tile += reach;
        }
#else
        const int until = fast - reach;
        struct ahead ahead;
        settle_shifts(p);
#if FOLDS_TERMS
        if (fast <= until || wide)
            continue;
        if (has(p.terms, TERM_DROPOUT) &&
            begin_drops(p.drops, p.terms, tile * KERNEL_TILE_K, fast - until))
            continue;
        load_ahead(ahead, p.terms, {tile * KERNEL_TILE_K, sequence.seq_k});
        begin_folding(p.folded, p.terms, tile * KERNEL_TILE_K);
        const int last = to_end ? 2 : 0; /* of `left` */
#endif
#pragma unroll 1
        for (; fast > until && !wide; fast--, left--, tile++) {
            advance(next, keys, tile + 1);
#if FOLDS_TERMS
            if (ENDS_FAST && left == last) /* nothing follows */
#else
            if (to_end && left == 2) /* nothing follows */
#endif
#pragma unroll
                for (int run = 0; run < RUNS; run++)
                    next.k[run].rows = next.v[run].rows = 0;
            if (!step<STEP_FAST>(p, courier, place, (u32)tile * KERNEL_TILE_K, 0, true, false, keys,
                                 next, ahead))
                break;
        }
#endif
#endif
    }
}

#endif

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
#elif P_IN_LDS /* six of 128 channels, but those with dropout need more registers */
#define WAVES_MOST 6
#define WAVES_LEAST (TERMS_CERTAIN & TERM_DROPOUT ? KERNEL_WAVES_PER_EU : 6)
#else
#define WAVES_LEAST KERNEL_WAVES_PER_EU
#define WAVES_MOST KERNEL_WAVES_PER_EU
#endif

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(WAVES_LEAST, WAVES_MOST))) void
KERNEL_SYMBOL(KERNEL_ARGUMENTS)
{
#if KERNEL_SCALES
    const struct attn_fwd_args &args = all.fwd;
#endif
    const struct attn_problem &a = args.problem;
    struct errand e;
    struct courier courier;
    struct progress p;
    struct key_interval visible[Q_BLOCKS];
    if (KERNEL_SCORE)
        write_seed_once(a, args);
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
    bool again;
    u32 done = 0; /* what the walk before had found */
#pragma unroll 1
    do {
        walk_keys(p, courier, {e.sequence, e.job, e.factor, e.fast_factor, visible, a}, wide,
                  e.walk, e.keys);
        if (any_ignored(p.softmax))
            p.found |= FOUND_WIDE;
        if (is_spoilt(p))
            p.found |= FOUND_SPOILT;
        const u32 before = done;
        p.found = done = any_wave(p.found);
        again = (p.found & ~before & (FOUND_WIDE | FOUND_SPOILT)) != 0;
        wide = p.found & FOUND_WIDE;
        recall_errand(e, p.terms);
        lds_barrier(); /* what was found has been read where K goes */
    } while (again);
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
