/*
 * Masks: the visible keys of a query row are an interval, and the walk over the key tiles.
 *
 *     row m sees the keys max(0, m + key_first) <= n <= min(seq_k - 1, m + key_last)
 *
 *     none              causal top-left   causal bottom-right   sliding window
 *     first -inf        first -inf        first -inf            first -left
 *     last  +inf        last  0           last  seq_k - seq_q   last  right
 *
 *       n  0 1 2 3 4      0 1 2 3 4         0 1 2 3 4             0 1 2 3 4
 *     m 0  x x x x x      x . . . .         x x x . .             x x . . .
 *       1  x x x x x      x x . . .         x x x x .             x x x . .
 *       2  x x x x x      x x x . .         x x x x x             . x x x .
 *
 * The rows of a workgroup see, as a band of two slanted edges at most:
 *
 *     tile of keys     0        1        2        3        4
 *     first row     . . x x  x x x x  x x x x  x x . .  . . . .
 *     ...           . . . x  x x x x  x x x x  x x x .  . . . .
 *     last row      . . . .  x x x x  x x x x  x x x x  x . . .
 *                    edge      full     full     edge     edge
 *
 * Full tiles need no comparison. They are walked first, in the loop that matters; the last of them
 * and then the edge tiles follow in a second loop, which compares every element:
 *
 *     full loop  1        edge loop  2 3 4 0
 */
#ifndef AOTHIP_MASK_H
#define AOTHIP_MASK_H

#include "tile.h"

/* Keys first .. first + count - 1. */
struct key_interval {
    u32 first, count;
};

DEVICE int clamp_index(kernarg_i64 i, int last)
{
    return i < 0 ? 0 : i > last ? last : (int)i;
}

DEVICE struct key_interval visible_keys(const struct attn_fwd_args &a, int row)
{
#if KERNEL_MASK
    int first = __builtin_elementwise_add_sat(row, a.key_first);
    int last = __builtin_elementwise_add_sat(row, a.key_last);
    first = first > 0 ? first : 0;
    last = last < a.seq_k - 1 ? last : a.seq_k - 1;
    return {(u32)first, first <= last ? (u32)(last - first) + 1 : 0};
#else
    (void)row;
    return {0, (u32)a.seq_k};
#endif
}

DEVICE bool sees(const struct key_interval &keys, u32 key)
{
    return key - keys.first < keys.count;
}

/*
 * Which tiles to walk, in units of tiles. The full loop walks full_begin .. full_end - 1. The edge
 * loop walks edge_begin .. end - 1 and then begin .. full_begin - 1, edge_count in all; the first of
 * them, if any is full, is the last full tile, so that the full loop always knows its next tile to
 * be full.
 */
struct key_walk {
    int full_begin, full_count; /* tiles of the full loop */
    int edge_begin, edge_count; /* tiles of the edge loop */
    int begin, end;             /* all tiles that any row sees */
};

/* The walk of the rows first_row .. last_row, both of which exist. Uniform. */
DEVICE struct key_walk plan_walk(const struct attn_fwd_args &a, int first_row, int last_row)
{
    struct key_interval upper = visible_keys(a, first_row), lower = visible_keys(a, last_row);
    struct key_walk walk = {};
#if KERNEL_MASK
    /* The interval's ends only ever grow with the row, so these two rows bound all of them. */
    int first = __builtin_elementwise_add_sat(first_row, a.key_first);
    int last = __builtin_elementwise_add_sat(last_row, a.key_last);
    first = first > 0 ? first : 0;
    last = last < a.seq_k - 1 ? last : a.seq_k - 1;
    if (first > last)
        return walk;
#else
    int first = 0, last = a.seq_k - 1;
#endif
    walk.begin = first / KERNEL_TILE_K;
    walk.end = last / KERNEL_TILE_K + 1;

    /* Keys that every row sees. */
    u32 common_end = upper.first + upper.count;
    int full_begin = (int)((lower.first + KERNEL_TILE_K - 1) / KERNEL_TILE_K);
    int full_end = (int)(common_end / KERNEL_TILE_K);
    bool any_full = upper.count && lower.count && full_begin < full_end;

    walk.full_begin = any_full ? full_begin : walk.begin;
    walk.full_count = any_full ? full_end - full_begin - 1 : 0;
    walk.edge_begin = walk.full_begin + walk.full_count;
    walk.edge_count = walk.end - walk.begin - walk.full_count;
    return walk;
}

#endif
