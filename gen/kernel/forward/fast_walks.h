/*
 * The fast form's walks over the keys, from one tile to the next; padded_walk.h has those that
 * leave tiles out.
 */
#ifndef AOTHIP_FWD_FAST_WALKS_H
#define AOTHIP_FWD_FAST_WALKS_H

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

#if SLICES_FIRST

#if SLICES_TURN

/* The views of tile `following`, or where that is none, -1, of no rows. */
DEVICE struct tile_views views_behind(struct key_tiles &keys, const struct sequence &sequence,
                                      int tile, int following)
{
    struct tile_views next = views_at(keys, sequence, following < 0 ? tile : following);
    if (following < 0)
        next.k[0].rows = next.v[0].rows = 0;
    return next;
}

/* The steps of `left` tiles from `tile` on, the first of which is in LDS, as general ones. Tile
 * `behind` follows, or nothing: -1. */
DEVICE void general_steps(struct progress &p, const struct courier &courier,
                          const struct place &place, bool wide, const struct turned_walk &walk,
                          struct key_tiles &keys, int tile, int left, int behind = -1)
{
#pragma unroll 1
    for (; left > 0; left--) {
        const int following = left > 1 ? next_tile(walk, tile) : behind;
        const struct tile_views next = views_behind(keys, place.sequence, tile, following);
        struct ahead none;
        step<STEP_GENERAL>(p, courier, place, (u32)tile * KERNEL_TILE_K, 0,
                           is_full_tile(walk, tile), wide, keys, next, none);
        tile = following;
    }
}

/* As sliced_steps(), but that after `until_turn` tiles comes the one at `turned`, which is `count`
 * tiles before the next one. */
template <class B>
DEVICE void turned_steps(struct progress &x, const struct courier &courier, float factor,
                         const struct key_tiles &keys, struct tile_views &next, int tile, int count,
                         B behind, int until_turn, const struct tile_views &turned)
{
    struct half_tile half[2];
    struct operands_ahead a;
    struct half_terms terms;
    struct sliced_run r = {x, courier, keys, next, factor, half, a, tile + count - 1, terms};
    half[0].one = half[1].one = unknown_one();
    begin_slopes(terms.slopes, x.terms, tile * KERNEL_TILE_K);
    terms.slopes.until = until_turn;
    terms.slopes.back = count * KERNEL_TILE_K;
    terms.slopes.turn = tile + until_turn;
    terms.slopes.turned = turned;
    sliced_walk(r, tile, count, behind);
}

/*
 * The walk over the keys. It begins on the diagonal: where that is behind the full tiles, with all
 * that are; then the full ones, from there or from the first one on, and on from the first one;
 * then the others.
 */
DEVICE void walk_keys(struct progress &p, const struct courier &courier, const struct place &place,
                      bool, const struct turned_walk &walk, struct key_tiles &keys)
{
    const struct sequence &sequence = place.sequence;
    const int full = walk.count ? walk.fast_count + 1 : 0, full_end = walk.full + full;
    const bool late = walk.first >= full_end;
    const int before = late ? walk.end - walk.first : 0;
    const int first = !late && walk.first > walk.full ? walk.first : walk.full; /* of full ones */
    struct turned_walk begun = walk, others = walk;
    others.end = late ? walk.first : walk.end;
    begun.first = late ? walk.first : first;
    const int left = walk.count - full - before;
    const int other = left == 0 ? -1 : full_end < others.end ? full_end : walk.begin;
    begin_walk(p, false, courier, sequence, begun, keys);
    general_steps(p, courier, place, false, walk, keys, walk.first, before,
                  full > 0 ? first : other);
    if (full > 0) {
        struct tile_views next = views_at(keys, sequence, first);
        turned_steps(
            p, courier, place.factor, keys, next, first, full,
            [&]() {
                return views_behind(keys, sequence, computed_here(first), computed_here(other));
            },
            full_end - first, views_at(keys, sequence, walk.full));
    }
    general_steps(p, courier, place, false, others, keys, other, left, -1);
}

#else

/* The steps of `left` tiles from `tile` on, the first of which is in LDS, as general ones. */
DEVICE void general_steps(struct progress &p, const struct courier &courier,
                          const struct place &place, bool wide, const struct turned_walk &walk,
                          struct key_tiles &keys, int tile, int left)
{
#pragma unroll 1
    for (; left > 0; left--) {
        const struct tile_views next = next_views(keys, place.sequence, walk, tile, left);
        struct ahead none;
        step<STEP_GENERAL>(p, courier, place, (u32)tile * KERNEL_TILE_K, 0,
                           KERNEL_SCORE && fast_from(walk, tile) >= 0, wide, keys, next, none);
        tile = next_tile(walk, tile);
    }
}

/* The walk over the keys: the full tiles, then the others. */
DEVICE void walk_keys(struct progress &p, const struct courier &courier, const struct place &place,
                      bool, const struct turned_walk &walk, struct key_tiles &keys)
{
    const struct sequence &sequence = place.sequence;
#if SLICES_DROPOUT
    struct half_terms terms;
    const bool sliced = !begin_drops(terms, p.terms, walk.first * KERNEL_TILE_K, walk.count);
    const int full = walk.count && sliced ? walk.fast_count + 1 : 0;
#else
    const int full = walk.count ? walk.fast_count + 1 : 0;
#endif
    int tile = walk.first, left = walk.count - full;
    struct tile_views next;
    begin_loads(p, false, courier, sequence, walk, keys, next, [&]() {
        if (!KERNEL_SCORE)
            load_q(p.q, place.job, sequence, place.problem);
    });
    if (full > 0) {
        if (!PLANS_LEAN)
            next = views_at(keys, sequence, tile);
        end_loads(p, courier);
        tile += full - 1;
        const auto behind = [&]() {
            return next_views(keys, sequence, walk, computed_here(tile), computed_here(left) + 1);
        };
#if SLICES_DROPOUT
        sliced_steps(p, courier, place.factor, keys, next, walk.first, full, terms, behind);
#else
        sliced_steps(p, courier, place.factor, keys, next, walk.first, full, behind);
#endif
        tile = next_tile(walk, tile);
    } else if (left) {
        end_loads(p, courier);
    }
    general_steps(p, courier, place, false, walk, keys, tile, left);
}

#endif

#if SLICES_TERMS

/* Once more, where that has shown the need of the wide form, or of isolating V. */
DEVICE void walk_again(struct progress &p, const struct courier &courier, const struct place &place,
                       bool wide, const struct turned_walk &walk, struct key_tiles &keys)
{
    begin_walk(p, wide, courier, place.sequence, walk, keys);
    general_steps(p, courier, place, wide, walk, keys, walk.first, walk.count);
}

#endif

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
        const bool to_end =
            (ENDS_FAST || (SLICES_LAST && late_problem().block_table)) && fast == left - 1;
        int reach = fast_reach(keys, tile, to_end ? fast : fast - 1);
        if (MAY_TURN && reach > left - 2)
            reach = left - 2; /* the walk's last tile has no next one */
#if FAST_SLICED
        if (reach > 0 && !(SLICES_TERMS && wide)) {
            sliced_steps(p, courier, place.factor, keys, next, tile, reach, [&]() { return next; });
            fast -= reach, left -= reach, tile += reach;
            if (SLICES_LAST && STAGE_DIM > 64 && left == 1)
                lds_barrier(); /* operands of no next step were read where K goes */
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

#endif
