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
 * Full tiles need no comparison. The walk begins with them, goes on to the edge tiles behind them
 * and ends with those before them: 1 2 3 4 0. So a full tile that is followed by another one knows
 * that the next tile exists whole, and needs no care at all: all but the last one are fast.
 */
#ifndef AOTHIP_MASK_H
#define AOTHIP_MASK_H

#include "sequence.h"
#include "tile.h"

/* Of kernarg.h, where a side is unbounded. */
constexpr int SEES_ALL = 1 << 30;

/* Keys first .. first + count - 1. */
struct key_interval {
    u32 first, count;
};

/* The interval's ends; it is empty where the first one exceeds the last one. */
DEVICE int interval_first(const struct sequence &a, int row)
{
    int first = __builtin_elementwise_add_sat(row, a.key_first);
    return first > 0 ? first : 0;
}

DEVICE int interval_last(const struct sequence &a, int row)
{
    int last = __builtin_elementwise_add_sat(row, a.key_last);
    return last < a.seq_k - 1 ? last : a.seq_k - 1;
}

DEVICE struct key_interval visible_keys(const struct sequence &a, int row)
{
    int first = interval_first(a, row), last = interval_last(a, row);
    return {(u32)first, first <= last ? (u32)(last - first) + 1 : 0};
}

DEVICE bool sees(const struct key_interval &keys, u32 key)
{
    return key - keys.first < keys.count;
}

/*
 * first, first + 1 .. end - 1, begin .. first - 1: `count` tiles, the first fast_count of them fast
 * and the next one full as well; fast_count is -1 if none is full.
 */
struct key_walk {
    int first, fast_count, count;
    int begin, end;
};

/* The walk of the rows first_row .. last_row, both of which exist. Uniform. */
DEVICE struct key_walk plan_walk(const struct sequence &a, int first_row, int last_row)
{
    /* Sides are as far apart only if both are unbounded. */
    if (PLANS_LEAN &&
        __builtin_expect((u32)a.key_last - (u32)a.key_first == 2u * SEES_ALL, 1)) { /* shorter */
        const int whole = (int)((u32)a.seq_k / KERNEL_TILE_K);
        const int count = (int)(((u32)a.seq_k + KERNEL_TILE_K - 1) / KERNEL_TILE_K);
        return {0, whole - 1, count, 0, count};
    }
    /* The ends of the interval only grow with the row, so these two rows bound all of them. */
    struct key_interval upper = visible_keys(a, first_row), lower = visible_keys(a, last_row);
    int first_key = interval_first(a, first_row), last_key = interval_last(a, last_row);
    if (first_key > last_key)
        return {};

    int begin = first_key / KERNEL_TILE_K, end = last_key / KERNEL_TILE_K + 1;
    int full_begin = (int)((lower.first + KERNEL_TILE_K - 1) / KERNEL_TILE_K);
    int full_end = (int)((upper.first + upper.count) / KERNEL_TILE_K);
    bool any_full = upper.count && lower.count && full_begin < full_end;

    return {any_full ? full_begin : begin, any_full ? full_end - full_begin - 1 : -1, end - begin,
            begin, end};
}

DEVICE int next_tile(const struct key_walk &walk, int tile)
{
    return tile + 1 < walk.end ? tile + 1 : walk.begin;
}

#endif
