/*
 * Rows on their way between global memory and LDS, whatever their alignment, stride and dim: the
 * slower counterpart of cargo_aligned.h, with the same functions.
 *
 * A wave takes whole rows, TILE_K / WAVES of them, so that the 64-bit address of a row is scalar
 * and a lane adds no more than its channels. Each element is loaded by itself. Where a channel does
 * not exist, the last one that does is loaded in its place; it becomes 0 in K, and in V it only
 * reaches channels of O that do not exist either. Rows that do not exist are replaced by the last
 * one that does (by the view's first one if none is counted); their scores are masked.
 */
#ifndef AOTHIP_CARGO_ANY_H
#define AOTHIP_CARGO_ANY_H

#include "mma.h"

enum {
    ROWS = KERNEL_TILE_K / KERNEL_WAVES,
    CHANNELS = KERNEL_DIM / KERNEL_WAVE, /* of one row per lane */
    KEYS_PER_LOAD = THREADS / CHUNKS,
};

static_assert(ROWS % 4 == 0 && CHANNELS % 2 == 0, "whole quads of keys and pairs of channels");

typedef GLOBAL u32x4 u32x4_anywhere __attribute__((aligned(2)));

/* How many of the chunk's channels exist, and where they begin. */
struct chunk_place {
    GLOBAL char *at;
    int size;
};

DEVICE struct chunk_place place_chunk(struct tile_view view, const struct slice &x, u32 row,
                                      u32 channel)
{
    return {(GLOBAL char *)view.first + row * x.pitch + channel * 2,
            (int)row < view.rows ? x.dim - (int)channel : 0};
}

/* One chunk; for what is done once. */
DEVICE u32x4 load_chunk(struct tile_view view, const struct slice &slice, u32 row, u32 channel)
{
    struct chunk_place from = place_chunk(view, slice, row, channel);
    u32x4 x = {};

    if (from.size >= CHUNK)
        return *(u32x4_anywhere *)from.at;
#pragma unroll 1
    for (int i = from.size - 1; i >= 0; i--)
        x = u32x4{x.x << 16 | ((GLOBAL u16 *)from.at)[i], __builtin_amdgcn_alignbit(x.y, x.x, 16),
                  __builtin_amdgcn_alignbit(x.z, x.y, 16), __builtin_amdgcn_alignbit(x.w, x.z, 16)};
    return x;
}

DEVICE void store_chunk(struct tile_view view, const struct slice &slice, u32 row, u32 channel,
                        u32x4 x)
{
    struct chunk_place to = place_chunk(view, slice, row, channel);

    if (to.size >= CHUNK) {
        *(u32x4_anywhere *)to.at = x;
        return;
    }
#pragma unroll 1
    for (int i = 0; i < to.size; i++) {
        ((GLOBAL u16 *)to.at)[i] = (u16)x.x;
        x = u32x4{__builtin_amdgcn_alignbit(x.y, x.x, 16), __builtin_amdgcn_alignbit(x.z, x.y, 16),
                  __builtin_amdgcn_alignbit(x.w, x.z, 16), x.w >> 16};
    }
}

/* Where this thread reads, in bytes from the row's beginning. */
struct courier {
    u32 k_from[CHANNELS], v_from[CHANNELS];
    u32 k_keep[CHANNELS / 2]; /* ones where a pair of channels exists */
};

struct cargo {
    u32 k[ROWS][CHANNELS]; /* channels k_channel(c) of the wave's rows */
    u32 v[ROWS][CHANNELS]; /* channels v_channel(c) */
};

DEVICE u32 k_channel(int c)
{
    return 2 * lane_id() + c / 2 * (2 * KERNEL_WAVE) + c % 2;
}

DEVICE u32 v_channel(int c)
{
    return lane_id() + c * KERNEL_WAVE;
}

DEVICE u32 existing(u32 channel, const struct slice &x)
{
    return (int)channel < x.dim ? channel : (u32)x.dim - 1;
}

DEVICE void hire(struct courier &courier, const struct slice &k, const struct slice &v)
{
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        courier.k_from[c] = existing(k_channel(c), k) * 2;
        courier.v_from[c] = existing(v_channel(c), v) * 2;
    }
#pragma unroll
    for (int c = 0; c < CHANNELS; c += 2)
        courier.k_keep[c / 2] = ((int)k_channel(c) < k.dim ? 0xffffu : 0) |
                                ((int)k_channel(c + 1) < k.dim ? 0xffff0000u : 0);
}

template <enum rows_exist exist>
DEVICE void load_rows(u32 (&to)[ROWS][CHANNELS], const u32 (&from)[CHANNELS], const struct slice &x,
                      struct tile_view view)
{
    int row = (int)wave_id() * ROWS, last = view.rows - 1;
    if (exist == ROWS_SOME) {
        row = row < last ? row : last;
        row = row > 0 ? row : 0;
    }
    const GLOBAL char *at = (const GLOBAL char *)view.first + row * x.pitch;
    kernarg_i64 pitch = x.pitch;
    asm volatile("" : "+s"(pitch)); /* keeps its multiples out of registers across the key loop */
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            to[i][c] = *(const GLOBAL u16 *)(at + from[c]);
        at += exist == ROWS_ALL || row + i < last ? pitch : 0;
    }
}

template <enum rows_exist exist>
DEVICE void load_k(struct cargo &to, const struct courier &c, const struct slice &k,
                   struct tile_view view)
{
    load_rows<exist>(to.k, c.k_from, k, view);
}

template <enum rows_exist exist>
DEVICE void load_v(struct cargo &to, const struct courier &c, const struct slice &v,
                   struct tile_view view)
{
    load_rows<exist>(to.v, c.v_from, v, view);
}

DEVICE void store_k(char *tile, const struct cargo &from, const struct courier &courier)
{
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int c = 0; c < CHANNELS; c += 2) {
            u32 channel = k_channel(c);
            *(u32 *)(tile + k_tile_at(wave_id() * ROWS + i, channel / CHUNK) +
                     channel % CHUNK * 2) =
                (from.k[i][c] | from.k[i][c + 1] << 16) & courier.k_keep[c / 2];
        }
}

DEVICE void store_v(char *tile, const struct cargo &from, const struct courier &)
{
    const int pair = VT_PAIR_STEP, next = 3 - pair; /* quad = (0, pair), (next, 3) */
    u32 channel = v_channel(0);
    asm volatile("" : "+v"(channel)); /* keeps the addresses out of registers in the key loop */
#pragma unroll
    for (int i = 0; i < ROWS; i += 4)
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
            u32x2 quad = {from.v[i][c] | from.v[i + pair][c] << 16,
                          from.v[i + next][c] | from.v[i + 3][c] << 16};
            *(u32x2 *)(tile + vt_tile_at(channel + c * KERNEL_WAVE, (wave_id() * ROWS + i) / 4)) =
                quad;
        }
}

#endif
