/*
 * One step of the forward kernel's fast form, what a wave carries from one to the next, and what it
 * begins with. fast_form.h has the order of things.
 */
#ifndef AOTHIP_FWD_FAST_STEP_H
#define AOTHIP_FWD_FAST_STEP_H

#include "fast_traits.h"

#include "key_tiles.h"
#include "key_shares.h"
#include "score_runs.h"
#include "spread_softmax.h"

#if FAST_PACED
#include "paced_products.h"
#endif

/* Loading V only after the last use of P saves the registers of one of them. */
#define LATE_V (KERNEL_WAVE == 32)

/* For sched_barrier: VALU, SALU, VMEM and reads of LDS may pass, products and stores to LDS may
 * not. */
constexpr int BARRIER_OF_STORES = 0x2 | 0x4 | 0x10 | 0x100 | 0x400;

/*
 * FAST: every key of the tile is visible, the next tile exists whole, the shifts are to stay.
 * WIDE: a general one in the softmax's wide form.
 */
enum step_kind { STEP_GENERAL, STEP_FAST, STEP_WIDE };

/* What a step's stores are worth, where codes become elements in them. Of 64 channels without
 * pages, RDNA 3 has no scalar register left for more. */
#if KERNEL_CACHE && KERNEL_WAVE == 32 && !defined(__GFX12__) && KERNEL_DIM == 64 && !KERNEL_PAGED
#define WORTH(kind)
#elif KERNEL_CACHE && KERNEL_SCORE && !defined(__GFX12__)
#define WORTH(kind) <kind == STEP_FAST ? FP8_OFTEN : FP8_SELDOM>
#elif KERNEL_CACHE
#define WORTH(kind) <kind == STEP_FAST ? FP8_OFTEN : FP8_USUAL>
#else
#define WORTH(kind)
#endif

/* Bits of what a wave has come across. */
constexpr int FOUND_NONFINITE = 1; /* V that is not finite and that not all queries see */
constexpr int FOUND_WIDE = 2;      /* scores for the wide form */
/* O that is not finite, while terms hide keys: V is to be isolated. */
constexpr int FOUND_SPOILT = 4;

/* Whether what fast steps add their products to is held, lest they copy it: settle_shifts(), which
 * padded walks do not call. */
#if FAST_MOVES || (FAST_PACED && !FOLDS_TERMS && !KERNEL_PADDING)
#define HOLDS_BEGIN SHIFT_OF_SCORES
#else
#define HOLDS_BEGIN 0
#endif

/* Whether what a row sees is found anew for each tile that asks. */
#define SEES_ANEW ((SLICES_FIRST && PLANS_LEAN) || KERNEL_SPLIT || (KERNEL_FP8 && KERNEL_PAGED))

/* What a wave carries along the keys. */
struct progress {
    struct queries q;
    struct cargo cargo;
    struct softmax_state softmax[Q_BLOCKS];
    output_blocks o;
    u32 found; /* FOUND_NONFINITE and so on. Uniform */
    struct terms terms;
#if FOLDS_TERMS
    struct folded folded;
    struct drops drops;
#endif
#if FAST_PACED
    struct operand_lines lines;
#endif
#if HOLDS_BEGIN
    block_acc begin[Q_BLOCKS]; /* what fast steps add their products to */
#endif
};

/* Where in the problem the workgroup is, for what is computed of a tile. */
struct place {
    const struct sequence &sequence;
    const struct job &job;
    float factor;      /* of the softmax */
    float fast_factor; /* of fast steps with terms */
    const struct key_interval *visible;
    const struct attn_problem &problem; /* as it was read first */
};

/* A walk that may begin with another tile than `full`, its first full one if there is one. */
struct turned_walk : key_walk {
    int full;
};

/* Those of wave64 that know all terms have no registers for it; packed rows have no diagonal. */
#if (KERNEL_SCORE == 1 && KERNEL_WAVE == 64) || KERNEL_SPLIT
#define MAY_TURN 0
#else
#define MAY_TURN (TERMS_KNOWN & TERM_SLOPE)
#endif

/* Whether fast steps go on from the keys' end to their begin: where they can end a walk, too. */
#define TURNS_FAST (ENDS_FAST && FOLDS_TERMS && KERNEL_SCORE == 3 && !KERNEL_PAGED)

/* How many fast tiles come from `tile` on; 0 also if that is the last full one, else -1. */
DEVICE int fast_from(const struct turned_walk &walk, int tile)
{
    return tile < walk.full ? -1 : walk.full + walk.fast_count - tile;
}

/* Whether all rows see all keys of a tile, the walk's i-th. */
DEVICE bool is_full(const struct turned_walk &walk, int tile, int i)
{
    return MAY_TURN ? fast_from(walk, tile) >= 0 : i <= walk.fast_count;
}

/* The same, whatever the order. */
DEVICE bool is_full_tile(const struct turned_walk &walk, int tile)
{
    return tile >= walk.full && tile <= walk.full + walk.fast_count;
}

DEVICE void nothing_seen(struct progress &x, bool wide)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        x.softmax[column] = wide ? softmax_start<SCORE_WIDE>() : softmax_start<SCORE_PLAIN>();
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++)
            x.o[column][block] = {};
    }
}

/* Whether a tile has all of its rows, where that is asked to load it with fewer instructions. */
DEVICE bool comes_whole(const struct tile_views &views)
{
    return P_IN_LDS && RUNS == 1 && views.k[0].rows == KERNEL_TILE_K;
}

/*
 * What comes before the walk over the keys, the first of which leave memory, where `first` says;
 * before V the call's loads do. Returns whether there are any.
 */
template <class F>
DEVICE bool begin_loads(struct progress &x, bool wide, const struct courier &courier,
                        const struct sequence &sequence, const struct key_walk &walk,
                        struct key_tiles &keys, struct tile_views &first, F before_v)
{
    nothing_seen(x, wide);
    if (walk.count == 0)
        return false;
    first = views_at(keys, sequence, walk.first);
#if SLICES_FIRST && PLANS_LEAN
    /* Or where the next ones are would be found by multiplying again. */
    asm volatile("" : "+s"(first.k[0].first), "+s"(first.v[0].first));
#endif
    const bool whole =
        STARTS_LEAN && !STEPS_BY_LANE && RUNS == 1 && first.k[0].rows == KERNEL_TILE_K;
    if (whole)
        load_k<ROWS_ALL>(x.cargo, courier, keys.k, first);
    else
        load_k<ROWS_SOME>(x.cargo, courier, keys.k, first);
    if (STARTS_LEAN) /* V is the last that is wanted */
        __builtin_amdgcn_sched_barrier(0);
    before_v();
    if (STARTS_LEAN)
        __builtin_amdgcn_sched_barrier(0);
    if (whole)
        load_v<ROWS_ALL>(x.cargo, courier, keys.v, first);
    else
        load_v<ROWS_SOME>(x.cargo, courier, keys.v, first);
    return true;
}

/* They arrive; K in LDS. */
DEVICE void end_loads(struct progress &x, const struct courier &courier)
{
#if STARTS_LEAN
    u32x2 none = 0;
#pragma unroll
    for (int i = 0; i < DIM_BLOCKS; i++) { /* cleared while K is on its way */
        if (CLEARS_BY_PRODUCT)
            x.o[0][i] = zero_product(none);
        asm volatile("" : "+v"(x.o[0][i]));
    }
#endif
    store_k(k_tile, x.cargo, courier);
    lds_barrier();
}

DEVICE void begin_walk(struct progress &x, bool wide, const struct courier &courier,
                       const struct sequence &sequence, const struct key_walk &walk,
                       struct key_tiles &keys)
{
#if STARTS_LEAN
    struct tile_views first;
    if (begin_loads(x, wide, courier, sequence, walk, keys, first, []() {}))
        end_loads(x, courier);
#else /* in one piece, or RDNA's compiler runs out of registers */
    nothing_seen(x, wide);
    if (walk.count == 0)
        return;
    const struct tile_views first = views_at(keys, sequence, walk.first);
    if (comes_whole(first)) {
        load_k<ROWS_ALL>(x.cargo, courier, keys.k, first);
        load_v<ROWS_ALL>(x.cargo, courier, keys.v, first);
    } else {
        load_k<ROWS_SOME>(x.cargo, courier, keys.k, first);
        load_v<ROWS_SOME>(x.cargo, courier, keys.v, first);
    }
    store_k(k_tile, x.cargo, courier);
    lds_barrier();
#endif
}

/* For shifts that fast steps are to begin with. */
DEVICE void settle_shifts(struct progress &x)
{
#if HOLDS_BEGIN
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        x.begin[column] = -x.softmax[column].shift;
        asm volatile("" : "+v"(x.begin[column])); /* here, and not in each step */
    }
#else
    (void)x;
#endif
}

/* What the products are added to. */
template <enum score_kind kind> DEVICE void begin_scores(score_blocks &s, const struct progress &x)
{
    if (kind != SCORE_SHIFTED)
        return clear_scores(s);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#if HOLDS_BEGIN
            s[column][block] = x.begin[column];
#else
            s[column][block] = -x.softmax[column].shift;
#endif
}

/*
 * Whether a general step does not ask who sees keys that all see: worth a branch where steps are
 * general for another reason, too, such as a walk's first one. With score terms wave64 has no
 * registers for it, nor has RDNA 3 with pages.
 */
#define SPARES_FULL                                                                                \
    (KERNEL_PADDING || (KERNEL_WAVE == 32 && (!KERNEL_PAGED || KERNEL_SCORE || FAST_MOVES)))

/* What each column sees: found anew with score terms, for vector registers are short, and where it
 * is seldom asked. */
DEVICE void see_keys(struct key_interval (&visible)[Q_BLOCKS], const struct terms &terms,
                     const struct place &place)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        visible[column] =
            KERNEL_SCORE ? visible_keys(place.sequence, row_of_column(recall(terms).job, column))
            : SEES_ANEW  ? visible_of_column(place.sequence, place.job, column)
                         : place.visible[column];
}

/* Moves the shifts. Whether to go for wide ones, for this lane. */
template <enum score_kind scores>
DEVICE bool move_shifts(struct progress &x, const score_blocks &s, float factor)
{
    bool wide = false;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        wide |= move_shift<scores>(x.softmax[column], x.o[column], s[column], factor);
    return wide;
}

/* S to P in place, sums of it. Beside the fast step, moves the shifts; whether to go for wide ones.
 */
template <enum step_kind kind, enum score_kind scores>
DEVICE bool weigh(struct progress &x, score_blocks &s, partial_sum (&sum)[Q_BLOCKS], float factor)
{
    const bool wide = kind != STEP_FAST && move_shifts<scores>(x, s, factor);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        sum[column] = exponentiate<scores>(x.softmax[column], s[column], factor);
        if (kind != STEP_FAST)
            keep_shift<scores>(x.softmax[column]);
    }
    return kind != STEP_FAST && in_any_lane(wide);
}

#if FAST_MOVES

/*
 * The same of a fast step's scores, less shifts that turned out too low, for which P was made;
 * false, with nothing changed, where the shifts are so low that scores have lost places to them.
 */
DEVICE bool weigh_again(struct progress &x, score_blocks &s, partial_sum (&sum)[Q_BLOCKS],
                        block_frag (&p)[Q_BLOCKS][KEY_BLOCKS], float factor,
                        const struct courier &courier)
{
    bool low = false;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        low |= !(x.softmax[column].shift * factor > SHIFT_LOW);
    if (in_any_lane(low))
        return false;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
            s[column][block] += x.softmax[column].shift;
    x.found |= in_any_lane(move_shifts<SCORE_PLAIN>(x, s, factor)) ? FOUND_WIDE : 0;
    spread_with_v<SCORE_PLAIN, false>(p, sum, s, x.softmax, factor, vt_tile, x.cargo, courier);
    settle_shifts(x);
    return true;
}

#endif

/*
 * One step: the tile in LDS, whose first key is `key`, is computed on; the next one is fetched.
 * `full`: all queries of the workgroup see all keys of the tile, but for what terms or padding
 * hide. `wide`: in the wide form, where the kind does not say it. `missing`: see missing_in().
 * `arrived`: in kernels for one term on RDNA, what has arrived of the tile for fast steps, and
 * then of the next one. Returns false, with nothing changed, if the step turns out not to be a fast
 * one.
 */
template <enum step_kind kind>
DEVICE bool step(struct progress &x, const struct courier &courier, const struct place &place,
                 u32 key, u32 missing, bool full, bool wide, const struct key_tiles &keys,
                 const struct tile_views &next, struct ahead &arrived)
{
    const enum score_kind scores = kind == STEP_WIDE                      ? SCORE_WIDE
                                   : kind == STEP_FAST && SHIFT_OF_SCORES ? SCORE_SHIFTED
                                                                          : SCORE_PLAIN;
    const bool folds = FOLDS_TERMS && kind == STEP_FAST;
    const float factor = !folds ? place.factor
                         : TERMS_CERTAIN & (TERM_CAP | (FAST_SPREAD ? TERM_KEEP : 0))
                             ? 1
                             : place.fast_factor;
    const enum rows_exist exist = kind == STEP_FAST ? ROWS_ALL : ROWS_SOME;
    const bool whole = kind == STEP_FAST;
    const u32 own_key = key + (u32)key_share() * (KERNEL_TILE_K / KEY_SHARES);
    const struct term_tile tile = {(int)own_key, place.sequence.seq_k};
#if FOLDS_TERMS
    struct ahead &ahead = arrived;
    const int following = ENDS_FAST && next.k[0].rows == 0 ? 0 : KERNEL_TILE_K;
#else
    struct ahead ahead;
    (void)arrived;
#endif
    score_blocks s;
    partial_sum sum[Q_BLOCKS];
    float largest = 0;

#if FOLDS_TERMS
    if (folds)
        begin_with_term(s, x.softmax, ahead, x.folded);
    else if (!FAST_PACED)
        clear_scores(s);
#else
    if (RANKED && KERNEL_WAVE == 64 && kind == STEP_FAST)
        __builtin_amdgcn_s_setprio(0);
    if (whole)
        load_ahead(ahead, x.terms, tile);
    if (!FAST_PACED || scores == SCORE_SHIFTED)
        begin_scores<scores>(s, x);
#endif
#if FAST_PACED
    u32 seen = ALL_SEEN;
    if (kind != STEP_FAST && !full) {
        struct key_interval visible[Q_BLOCKS];
        see_keys(visible, x.terms, place);
        seen = blocks_seen(visible[0], own_key);
    }
    if (kind == STEP_FAST)
        multiply_kq_paced<scores == SCORE_PLAIN && !folds>(s, x.q, x.lines);
    else
        multiply_kq_seen(s, x.q, x.lines, seen);
#else
    multiply_kq(s, x.q, 0, kind != STEP_FAST || STAGE_DIM > 64);
#endif
    if (RANKED && kind == STEP_FAST)
        __builtin_amdgcn_s_setprio(1);
#if FOLDS_TERMS
    if (folds && has(x.terms, TERM_CAP))
        cap_scores(s, x.folded.inside, x.folded.cap, x.softmax);
#if FAST_SPREAD
    if (folds && has(x.terms, TERM_KEEP))
        bound_exponents(s, arrived, place.fast_factor);
#endif
#endif
    if (!folds)
        add_terms<whole>(s, ahead, x.terms, tile);
    if (kind != STEP_FAST && (!SPARES_FULL || !full)) {
        struct key_interval visible[Q_BLOCKS];
        see_keys(visible, x.terms, place);
        mask_scores(s, visible, own_key);
    }
    if (kind != STEP_FAST) {
        hide_pages(s, missing >> (own_key - key) / 16);
#if KERNEL_PADDING
        hide_keys(s, keys.padding);
#endif
    }
    const bool spread = FAST_SPREAD && (kind == STEP_FAST || (FAST_MOVES && kind == STEP_GENERAL));
    const bool early =
        kind == STEP_FAST && spread && !(TERMS_KNOWN & TERMS_HIDING); /* V is as it goes to LDS */
    bool asks = false;
#if FAST_SPREAD
    block_frag p[Q_BLOCKS][KEY_BLOCKS];
    if (spread && kind != STEP_FAST)
        asks = in_any_lane(move_shifts<scores>(x, s, factor));
    if (spread)
        spread_with_v<scores, early>(p, sum, s, x.softmax, factor, vt_tile, x.cargo, courier);
#endif
#if FOLDS_TERMS && !FAST_SPREAD
    const bool kept = folds && has(x.terms, TERM_KEEP);
#pragma unroll
    for (int column = 0; kept && column < Q_BLOCKS; column++)
        sum[column] = exponentiate_kept(s[column], ahead.word[column], factor);
#else
    const bool kept = false;
#endif
    if (!spread && !kept)
        asks = KERNEL_SCORE && wide ? weigh<kind, SCORE_WIDE>(x, s, sum, place.factor)
                                    : weigh<kind, scores>(x, s, sum, factor);
    if (kind == STEP_GENERAL)
        x.found |= asks && !wide ? FOUND_WIDE : 0;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#if KERNEL_FP8
        largest = __builtin_fmaxf(largest, column_max(s[column]));
#else
        largest = FOLDS_TERMS && MMA_STRAIGHT && column == 0 /* on RDNA 3 it does not pay */
                      ? total(sum[column])
                      : __builtin_fmaxf(largest, total(sum[column]));
#endif
    const bool slow = largest > SOFTMAX_LIMIT;
#if FAST_MOVES
    if (kind == STEP_FAST && __builtin_expect(in_any_lane(slow), 0) &&
        !weigh_again(x, s, sum, p, factor, courier))
        return false;
#else
    if (kind == STEP_FAST && in_any_lane(slow))
        return false;
#endif
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        x.softmax[column].sum += sum[column];
#if FOLDS_TERMS
    if (folds && has(x.terms, TERM_DROPOUT))
        drop_run(s, x.drops);
#endif
    if (!folds && has(x.terms, TERM_DROPOUT))
        drop_tile(s, x.terms, (int)own_key);

    if (kind != STEP_FAST || TERMS_KNOWN & TERMS_HIDING) {
#if KERNEL_PADDING
        const bool all = full && is_whole(keys.padding);
#else
        const bool all = full;
#endif
        bool some = x.found & FOUND_SPOILT || (kind != STEP_FAST && !all);
        x.found |= isolate_v(x.cargo, some) ? FOUND_NONFINITE : 0;
        if (STAGE_DIM <= 64)
            x.found = uniform(x.found); /* vector registers are short */
    }
#if P_IN_LDS
    store_p(s, x.lines);
#endif
    tile_barrier();
    if (!early)
        store_v WORTH(kind)(vt_tile, x.cargo, courier);
    if (kind != STEP_FAST && comes_whole(next))
        load_k<ROWS_ALL>(x.cargo, courier, keys.k, next);
    else
        load_k<exist>(x.cargo, courier, keys.k, next);
#if FOLDS_TERMS
    if (folds && !(TERMS_CERTAIN & TERM_KEEP)) /* behind K, which is waited for first */
        load_ahead(ahead, x.terms, {tile.key + following, tile.seq_k});
#endif
    /* The descriptors of K and V, one a load, are too many scalar registers together. */
    if (kind != STEP_FAST)
        __builtin_amdgcn_sched_barrier(0);
    if (!LATE_V)
        load_v<exist>(x.cargo, courier, keys.v, next);
    lds_barrier();
    if (RANKED && kind == STEP_FAST)
        __builtin_amdgcn_s_setprio(KERNEL_WAVE == 32 ? 0 : 2);
#if FAST_PACED
    if (kind == STEP_FAST)
        multiply_vp_paced(x.o, s, x.lines);
    else
        multiply_vp_seen(x.o, s, x.lines, seen);
#elif FAST_SPREAD
    spread ? multiply_vp(x.o, [&](int i, int group) { return p[i][group]; }) : multiply_vp(x.o, s);
#else
    multiply_vp(x.o, s);
#endif
    /* Clang 22 would store K, and wait for it, before the products. (RDNA 3 has lds_barrier() for
     * it, but where a wave multiplies with few keys.) */
    if (KERNEL_WAVE == 64 || KEY_SHARES > 1 || MMA_STRAIGHT)
        __builtin_amdgcn_sched_barrier(BARRIER_OF_STORES);
    tile_barrier();
#pragma unroll
    for (int i = K_LOADS - 1; P_IN_LDS && kind == STEP_FAST && i >= 0; i--)
        asm volatile("" : "+v"(x.cargo.k[i])); /* waited for once, with the last one */
    store_k WORTH(kind)(k_tile, x.cargo, courier);
    if (LATE_V) {
        if (kind != STEP_FAST && comes_whole(next))
            load_v<ROWS_ALL>(x.cargo, courier, keys.v, next);
        else
            load_v<exist>(x.cargo, courier, keys.v, next);
    }
#if FOLDS_TERMS
    if (folds && TERMS_CERTAIN & TERM_KEEP) /* which the next products hide */
        load_ahead(ahead, x.terms, {tile.key + following, tile.seq_k});
#endif
    lds_barrier();
    return true;
}

#endif
