/*
 * Where the tiles of K and V are that the fast form walks over: one after the other, or in pages.
 *
 * Each wave has a run or two of up to 16 rows of a tile in pages (cargo_aligned.h), and knows where
 * they are some tiles ahead: lane j of a window has the addresses for the window's tile j. So a
 * step reads lanes, and neither loads an entry nor multiplies. Whether any page of these tiles does
 * not exist is found out for all of them at once; where one does not, the steps are general ones,
 * which look again.
 */
#ifndef AOTHIP_FWD_KEY_TILES_H
#define AOTHIP_FWD_KEY_TILES_H

#if KERNEL_UNALIGNED
#include "cargo_unaligned.h"
#else
#include "cargo_aligned.h"
#endif
#include "query_rows.h"
#include "score_columns.h"
#if KERNEL_PADDING
#include "key_padding.h"
#endif

/* Of K and V in memory. */
#if KERNEL_CACHE
#define KEY_CHANNEL_BYTES 1
#else
#define KEY_CHANNEL_BYTES CHANNEL_BYTES
#endif

struct key_tiles {
    struct slice k, v;
#if KERNEL_PAGED
    int kv_head;
    u32x2 k_at[RUNS], v_at[RUNS]; /* the window: addresses */
    int first, last;              /* its tiles; last < first: some of their pages do not exist */
#endif
#if KERNEL_PADDING
    struct padding padding;
#endif
};

#if !KERNEL_PAGED

DEVICE void find_tiles(struct key_tiles &x, const struct attn_problem &a,
                       const struct sequence &sequence, const struct job &job)
{
#if KERNEL_CACHE
    x.k = fp8_slice_of(a.k, a.k_stride, sequence, job.kv_head, a.dim_qk);
    x.v = fp8_slice_of(a.v, a.v_stride, sequence, job.kv_head, a.dim_v);
#else
    x.k = slice_of(a.k, a.k_stride, sequence.batch_k, sequence.start_k, job.kv_head, a.dim_qk);
    x.v = slice_of(a.v, a.v_stride, sequence.batch_k, sequence.start_k, job.kv_head, a.dim_v);
#endif
}

DEVICE struct tile_view tile_at(const struct sequence &sequence, const struct slice &x, int tile)
{
    int left = sequence.seq_k - tile * KERNEL_TILE_K;
    return {row_at(x, (kernarg_i64)tile * KERNEL_TILE_K),
            left < KERNEL_TILE_K ? left : KERNEL_TILE_K};
}

/* Tile `tile` of the keys. */
DEVICE struct tile_views views_at(struct key_tiles &x, const struct sequence &sequence, int tile)
{
    return {{tile_at(sequence, x.k, tile)}, {tile_at(sequence, x.v, tile)}};
}

/* From a tile to the next one, which exists whole and is `tile`. */
DEVICE void advance(struct tile_views &views, const struct key_tiles &x, int)
{
    views.k[0] = {views.k[0].first + x.k.pitch * KERNEL_TILE_K, KERNEL_TILE_K};
    views.v[0] = {views.v[0].first + x.v.pitch * KERNEL_TILE_K, KERNEL_TILE_K};
}

/* How many of `count` steps from `tile` on, to which advance() leads, may be fast. */
DEVICE int fast_reach(const struct key_tiles &, int, int count)
{
    return count;
}

/* hide_pages() wants it of a tile whose views were had. */
DEVICE u32 missing_in(const struct key_tiles &, const struct sequence &, int)
{
    return 0;
}

#else

DEVICE void find_tiles(struct key_tiles &x, const struct attn_problem &a, const struct sequence &,
                       const struct job &job)
{
    /* A pitch has 32 bits, as the compiler cannot know. */
    x.k = {nullptr, (u32)a.k_stride.seq * KEY_CHANNEL_BYTES, a.dim_qk};
    x.v = {nullptr, (u32)a.v_stride.seq * KEY_CHANNEL_BYTES, a.dim_v};
    x.kv_head = job.kv_head;
    x.first = -KERNEL_WAVE;
}

DEVICE bool all_exist(const struct key_tiles &x)
{
    return x.last >= x.first;
}

DEVICE u32 entry_of(const struct attn_problem &a, const struct sequence &sequence, int key)
{
    const int last = sequence.seq_k - 1;
    key = key < last ? key : last;
    if (a.block_table)
        return ((const GLOBAL u32 *)
                    a.block_table)[sequence.number * a.block_table_stride + (key >> a.page_shift)];
    return (u32)(a.batch_index ? batch_entry(a, sequence.number) : sequence.batch_k);
}

/* Row `row` of a page. */
DEVICE u32x2 address_of(kernarg_u64 data, const struct kernarg_strides &stride, int head, u32 page,
                        u32 row)
{
    kernarg_u64 first = data + (kernarg_u64)(head * stride.head) * KEY_CHANNEL_BYTES;
    return __builtin_bit_cast(u32x2, first + page * (kernarg_u64)stride.batch * KEY_CHANNEL_BYTES +
                                         row * (kernarg_u64)stride.seq * KEY_CHANNEL_BYTES);
}

/*
 * Lets the window begin with `tile`, of a sequence that has keys. Keys that are not in pages are in
 * one of all rows.
 */
DEVICE void look_ahead(struct key_tiles &x, const struct sequence &sequence, int tile)
{
    const struct attn_problem &a = late_problem();
    const u32 start = a.block_table ? 0 : (u32)sequence.start_k;
    const u32 row_bits = a.block_table ? (1u << a.page_shift) - 1 : 0x7fffffffu;
    u32 lane = lane_id(), highest = 0;
    asm volatile("" : "+v"(lane)); /* computed here, and not kept in a register */
    const int key = (tile + (int)lane) * KERNEL_TILE_K;
#pragma unroll
    for (int run = 0; run < RUNS; run++) {
        const int own = key + (int)first_own_key() + run * RUN_KEYS;
        const u32 page = entry_of(a, sequence, own), row = start + ((u32)own & row_bits);
        x.k_at[run] = address_of(a.k, a.k_stride, x.kv_head, page, row);
        x.v_at[run] = address_of(a.v, a.v_stride, x.kv_head, page, row);
    }
#pragma unroll 1
    for (int i = 0; i < KERNEL_TILE_K; i += 16) {
        u32 page = entry_of(a, sequence, key + i);
        highest = highest > page ? highest : page;
    }
    x.first = tile;
    const bool missing = a.block_table && in_any_lane(highest >= (u32)a.pages);
    x.last = tile + (missing ? -1 : KERNEL_WAVE - 1);
}

/* What one lane of a window knows. */
DEVICE char *address_in(u32x2 window, int lane)
{
    const u32x2 at = {(u32)__builtin_amdgcn_readlane(window.x, lane),
                      (u32)__builtin_amdgcn_readlane(window.y, lane)};
    return (char *)__builtin_bit_cast(kernarg_u64, at);
}

DEVICE struct tile_views views_at(struct key_tiles &x, const struct sequence &sequence, int tile)
{
    struct tile_views views;
    if ((u32)(tile - x.first) >= KERNEL_WAVE)
        look_ahead(x, sequence, tile);
#pragma unroll
    for (int run = 0; run < RUNS; run++) {
        const int key = tile * KERNEL_TILE_K + (int)first_own_key() + run * RUN_KEYS;
        int left = sequence.seq_k - key;
        left = left < RUN_KEYS ? left : RUN_KEYS;
        if (!all_exist(x) && left > 0 && !page_exists(late_problem(), sequence, key))
            left = 0;
        views.k[run] = {address_in(x.k_at[run], tile - x.first), left};
        views.v[run] = {address_in(x.v_at[run], tile - x.first), left};
    }
    return views;
}

DEVICE void advance(struct tile_views &views, const struct key_tiles &x, int tile)
{
#pragma unroll
    for (int run = 0; run < RUNS; run++) {
        views.k[run] = {address_in(x.k_at[run], tile - x.first), RUN_KEYS};
        views.v[run] = {address_in(x.v_at[run], tile - x.first), RUN_KEYS};
    }
}

DEVICE int fast_reach(const struct key_tiles &x, int tile, int count)
{
    return count < x.last - tile ? count : x.last - tile;
}

DEVICE u32 missing_in(const struct key_tiles &x, const struct sequence &sequence, int tile)
{
    return all_exist(x) ? 0 : missing_pages(late_problem(), sequence, tile * KERNEL_TILE_K);
}

#endif

/* The views of the tile behind `tile`, which is the last one where `left` is 1. */
DEVICE struct tile_views next_views(struct key_tiles &keys, const struct sequence &sequence,
                                    const struct key_walk &walk, int tile, int left)
{
    const bool last = left == 1;
    struct tile_views next =
        views_at(keys, sequence, KERNEL_PAGED && last ? tile : next_tile(walk, tile));
#pragma unroll
    for (int run = 0; last && run < RUNS; run++)
        next.k[run].rows = next.v[run].rows = 0;
    return next;
}

#endif
