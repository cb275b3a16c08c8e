/*
 * One step of the forward kernel's fast form, what a wave carries from one to the next, and what it
 * begins with. fast_form.h has the order of things.
 */
#ifndef AOTHIP_FWD_FAST_STEP_H
#define AOTHIP_FWD_FAST_STEP_H

/*
 * Where the waves are more than the blocks of queries, those that have the same block share the
 * keys of each tile, and add up what they found at the end (key_shares.h).
 */
#define KEY_SHARES (KERNEL_WAVES * BLOCK > KERNEL_TILE_Q ? KERNEL_WAVES * BLOCK / KERNEL_TILE_Q : 1)
#define TEAMS (KERNEL_WAVES / KEY_SHARES)
#define TEAM_ID (wave_id() / KEY_SHARES)

#include "tile.h"

/*
 * Short rows of Q on RDNA 4: the operands of the first steps of Q K^T stay in registers, so that
 * LDS has room for five workgroups and not three. Waves that share keys have too few rows for it.
 */
#if defined(__GFX12__) && KERNEL_DIM == 64 && !KERNEL_SCORE && !KERNEL_FP8 && !KERNEL_PADDING &&   \
    !KERNEL_UNALIGNED && !KERNEL_PAGED && !KERNEL_CACHE && KERNEL_WAVES * 16 <= KERNEL_TILE_Q
#define Q_HELD 3
#endif

#include "key_tiles.h"
#include "key_shares.h"
#include "score_runs.h"

/* Loading V only after the last use of P saves the registers of one of them. */
#define LATE_V Q_IN_LDS

/* For sched_barrier: VALU, SALU, VMEM and reads of LDS may pass, products and stores to LDS may
 * not. */
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
    FOUND_SPOILT = 4,    /* O that is not finite, while terms hide keys: V is to be isolated */
};

/* What a wave carries along the keys. */
struct progress {
    struct queries q;
    struct cargo cargo;
    struct softmax_state softmax[Q_BLOCKS];
    output_blocks o;
    u32 found; /* enum found. Uniform */
    struct terms terms;
};

/* Where in the problem the workgroup is, for what is computed of a tile. */
struct place {
    const struct sequence &sequence;
    const struct job &job;
    float factor; /* of the softmax */
    const struct key_interval *visible;
};

/* A walk that may begin with another tile than `full`, its first full one if there is one. */
struct turned_walk : key_walk {
    int full;
};

/* Kernels that know all terms have no registers for it. */
#if KERNEL_SCORE == 1
#define MAY_TURN 0
#else
#define MAY_TURN (TERMS_KNOWN & TERM_SLOPE)
#endif

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

/* What comes before the walk over the keys, the first of which it brings to LDS. */
DEVICE void begin_walk(struct progress &x, bool wide, const struct courier &courier,
                       const struct sequence &sequence, const struct key_walk &walk,
                       struct key_tiles &keys)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        x.softmax[column] = wide ? softmax_start<SCORE_WIDE>() : softmax_start<SCORE_PLAIN>();
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++)
            x.o[column][block] = {};
    }
    if (walk.count == 0)
        return;
    const struct tile_views first = views_at(keys, sequence, walk.first);
    load_k<ROWS_SOME>(x.cargo, courier, keys.k, first);
    load_v<ROWS_SOME>(x.cargo, courier, keys.v, first);
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
 * Whether a general step does not ask who sees keys that all see: worth a branch where steps are
 * general for another reason, too. With score terms wave64 has no registers for it.
 */
#define SPARES_FULL (KERNEL_PADDING || (KERNEL_SCORE && KERNEL_WAVE == 32))

/* What each column sees. With score terms vector registers are short: found anew. */
DEVICE void see_keys(struct key_interval (&visible)[Q_BLOCKS], const struct terms &terms,
                     const struct place &place)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        visible[column] =
            KERNEL_SCORE ? visible_keys(place.sequence, row_of_column(recall(terms).job, column))
                         : place.visible[column];
}

/* S to P in place, sums of it. Beside the fast step, moves the shifts; whether to go for wide ones.
 */
template <enum step_kind kind, enum score_kind scores>
DEVICE bool weigh(struct progress &x, score_blocks &s, partial_sum (&sum)[Q_BLOCKS], float factor)
{
    bool wide = false;
#pragma unroll
    for (int column = 0; kind != STEP_FAST && column < Q_BLOCKS; column++)
        wide |= move_shift<scores>(x.softmax[column], x.o[column], s[column], factor);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        sum[column] = exponentiate<scores>(x.softmax[column], s[column], factor);
        if (kind != STEP_FAST)
            keep_shift<scores>(x.softmax[column]);
    }
    return kind != STEP_FAST && in_any_lane(wide);
}

/*
 * One step: the tile in LDS, whose first key is `key`, is computed on; the next one is fetched.
 * `full`: all queries of the workgroup see all keys of the tile, but for what terms or padding hide.
 * `wide`: in the wide form, where the kind does not say it. `missing`: see missing_in().
 * Returns false, with nothing changed, if the step turns out not to be a fast one.
 */
template <enum step_kind kind>
DEVICE bool step(struct progress &x, const struct courier &courier, const struct place &place,
                 u32 key, u32 missing, bool full, bool wide, const struct key_tiles &keys,
                 const struct tile_views &next)
{
    const enum score_kind scores = kind == STEP_WIDE                      ? SCORE_WIDE
                                   : kind == STEP_FAST && SHIFT_OF_SCORES ? SCORE_SHIFTED
                                                                          : SCORE_PLAIN;
    const enum rows_exist exist = kind == STEP_FAST ? ROWS_ALL : ROWS_SOME;
    const bool whole = kind == STEP_FAST;
    const struct term_tile tile = {(int)key, place.sequence.seq_k};
    struct ahead ahead;
    score_blocks s;
    partial_sum sum[Q_BLOCKS];
    float largest = 0;

    if (whole)
        load_ahead(ahead, x.terms, tile);
    begin_scores<scores>(s, x.softmax);
    multiply_kq(s, x.q, 0, kind != STEP_FAST || STAGE_DIM > 64);
    add_terms<whole>(s, ahead, x.terms, tile);
    if (kind != STEP_FAST && (!SPARES_FULL || !full)) {
        struct key_interval visible[Q_BLOCKS];
        see_keys(visible, x.terms, place);
        mask_scores(s, visible, key + (u32)key_share() * (KERNEL_TILE_K / KEY_SHARES));
    }
    if (kind != STEP_FAST) {
        hide_pages(s, missing);
#if KERNEL_PADDING
        hide_keys(s, keys.padding);
#endif
    }
    bool asks = KERNEL_SCORE && wide ? weigh<kind, SCORE_WIDE>(x, s, sum, place.factor)
                                     : weigh<kind, scores>(x, s, sum, place.factor);
    if (kind == STEP_GENERAL)
        x.found |= asks && !wide ? FOUND_WIDE : 0;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#if KERNEL_FP8
        largest = __builtin_fmaxf(largest, column_max(s[column]));
#else
        largest = __builtin_fmaxf(largest, total(sum[column]));
#endif
    if (kind == STEP_FAST && in_any_lane(largest > SOFTMAX_LIMIT))
        return false;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        x.softmax[column].sum += sum[column];
    if (has(x.terms, TERM_DROPOUT))
        drop_tile(s, x.terms, (int)key);

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
    store_v(vt_tile, x.cargo, courier);
    load_k<exist>(x.cargo, courier, keys.k, next);
    /* The descriptors of K and V, one a load, are too many scalar registers together. */
    if (kind != STEP_FAST)
        __builtin_amdgcn_sched_barrier(0);
    if (!LATE_V)
        load_v<exist>(x.cargo, courier, keys.v, next);
    lds_barrier();
    multiply_vp(x.o, s);
    /* Clang 22 would store K, and wait for it, before the products. (RDNA 3 has lds_barrier() for
     * it, but where a wave multiplies with few keys.) */
    if (KERNEL_WAVE == 64 || KEY_SHARES > 1 || MMA_STRAIGHT)
        __builtin_amdgcn_sched_barrier(BARRIER_OF_STORES);
    store_k(k_tile, x.cargo, courier);
    if (LATE_V)
        load_v<exist>(x.cargo, courier, keys.v, next);
    lds_barrier();
    return true;
}

#endif
