/*
 * The fast form's walks over the keys where a mask says which tiles are worth a step
 * (key_padding.h). The walks that go to one tile after the other are in fast_walks.h.
 */
#ifndef AOTHIP_FWD_PADDED_WALK_H
#define AOTHIP_FWD_PADDED_WALK_H

#include "fast_step.h"

/*
 * The walk's first tile from `tile` on of which a key is kept; -1: none. `turned`: the walk has
 * been at its last tile, and ends before its first one.
 */
DEVICE int next_kept(struct padding &x, const struct terms &t, const struct turned_walk &walk,
                     int tile, bool turned)
{
#pragma unroll 1
    for (;; tile = walk.begin, turned = true) {
        const int found = first_kept(x, t, tile, turned ? walk.first : walk.end);
        if (found >= 0 || turned)
            return found;
    }
}

/* A step in its general form, or the wide one: the tile in LDS is `tile`. Returns the next one. */
template <enum step_kind kind>
DEVICE int padded_step(struct progress &x, const struct courier &courier, const struct place &place,
                       const struct turned_walk &walk, struct key_tiles &keys,
                       struct tile_views &next, int tile)
{
    enter_tile(keys.padding, tile);
    const int then = next_kept(keys.padding, x.terms, walk, tile + 1, tile < walk.first);
    next = views_at(keys, place.sequence, then < 0 ? tile : then);
    if (then < 0)
        next.k[0].rows = next.v[0].rows = 0;
    struct ahead none;
    step<kind>(x, courier, place, (u32)tile * KERNEL_TILE_K, 0, fast_from(walk, tile) >= 0,
               kind == STEP_WIDE, keys, next, none);
    return then;
}

/*
 * Brings the walk's first tile to LDS, and returns it; -1: all keys are hidden. What it would be
 * without a mask is on its way before it is known, for that is what it mostly is.
 */
DEVICE int begin_padded(struct progress &x, bool wide, const struct courier &courier,
                        const struct sequence &sequence, const struct turned_walk &walk,
                        struct key_tiles &keys)
{
    const bool early = !Q_IN_LDS || STAGE_DIM <= 64; /* elsewhere registers are short */
    struct tile_views first = views_at(keys, sequence, walk.first);
    begin_walk(x, wide, courier, sequence, {}, keys);
    if (walk.count == 0)
        return -1;
    if (early) {
        load_k<ROWS_SOME>(x.cargo, courier, keys.k, first);
        load_v<ROWS_SOME>(x.cargo, courier, keys.v, first);
        __builtin_amdgcn_sched_barrier(0);
    }
    fill_window(keys.padding, late_problem());
    const int tile = next_kept(keys.padding, x.terms, walk, walk.first, false);
    if (tile < 0)
        return tile;
    if (!early || tile != walk.first) {
        first = views_at(keys, sequence, tile);
        load_k<ROWS_SOME>(x.cargo, courier, keys.k, first);
        load_v<ROWS_SOME>(x.cargo, courier, keys.v, first);
    }
    store_k(k_tile, x.cargo, courier);
    lds_barrier();
    return tile;
}

/* The walk over the keys. */
DEVICE void walk_keys(struct progress &x, const struct courier &courier, const struct place &place,
                      bool, const struct turned_walk &walk, struct key_tiles &keys)
{
#if FAST_PACED
    find_lines(x.lines);
#endif
    int tile = begin_padded(x, false, courier, place.sequence, walk, keys);
#pragma unroll 1
    while (tile >= 0) {
        struct tile_views next;
        tile = padded_step<STEP_GENERAL>(x, courier, place, walk, keys, next, tile);
        if (tile < 0)
            break;
        const int until = tile + whole_tiles(keys.padding, x.terms, tile, fast_from(walk, tile));
#if FAST_SLICED
        if (tile < until) {
            sliced_steps(x, courier, place.factor, keys, next, tile, until - tile,
                         [&]() { return next; });
            tile = until;
        }
#else
#pragma unroll 1
        for (; tile < until; tile++) {
            struct ahead none;
            advance(next, keys, tile + 1);
            if (!step<STEP_FAST>(x, courier, place, (u32)tile * KERNEL_TILE_K, 0, true, false, keys,
                                 next, none))
                break;
        }
#endif
    }
}

/* The same once more, in the softmax's wide form. */
DEVICE void walk_wide(struct progress &x, const struct courier &courier, const struct place &place,
                      const struct turned_walk &walk, struct key_tiles &keys)
{
    struct tile_views next;
    lds_barrier(); /* what was found has been read where K goes */
    int tile = begin_padded(x, true, courier, place.sequence, walk, keys);
#pragma unroll 1
    while (tile >= 0)
        tile = padded_step<STEP_WIDE>(x, courier, place, walk, keys, next, tile);
}

/* Another walk over the tiles whose V was isolated, for O to tell who sees it. */
DEVICE void mark_all(struct progress &x, const struct courier &courier, const struct place &place,
                     const struct turned_walk &walk, struct key_tiles &keys)
{
    tile_barrier();               /* what was found has been read where V goes */
    keys.padding.first = -WINDOW; /* it was asked for, and perhaps not filled */
    int tile = next_kept(keys.padding, x.terms, walk, walk.first, false);
#pragma unroll 1
    for (; tile >= 0; tile = next_kept(keys.padding, x.terms, walk, tile + 1, tile < walk.first)) {
        enter_tile(keys.padding, tile);
        if (fast_from(walk, tile) >= 0 && is_whole(keys.padding))
            continue;
        load_v<ROWS_SOME>(x.cargo, courier, keys.v, views_at(keys, place.sequence, tile));
        store_v(vt_tile, x.cargo, courier);
        note_nonfinite(vt_tile, NOTES);
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++) {
            struct sight sight = sight_of(place.visible[column], (u32)tile * KERNEL_TILE_K);
#pragma unroll
            for (int i = 0; i < SIGHT_WORDS; i++)
                sight.word[i] &= kept_word(keys.padding, i);
            mark_o(x.o[column], NOTES, sight);
        }
        lds_barrier();
    }
}

#endif
