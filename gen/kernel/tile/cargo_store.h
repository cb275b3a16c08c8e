/*
 * From registers to LDS: what cargo_aligned.h and cargo_unaligned.h, which include it, have in
 * common.
 */
#ifndef AOTHIP_CARGO_STORE_H
#define AOTHIP_CARGO_STORE_H

DEVICE void store_k_chunk(char *tile, const struct cargo &from, const struct courier &c, int i)
{
#if KERNEL_WHOLE /* lines of a row come first */
    *(u32x4 *)(tile + k_tile_below(c.k_at, i / LINES * PASS_KEYS) +
               i % LINES * LINE_CHUNKS * CHUNK_BYTES) = from.k[i];
#else
    *(u32x4 *)(tile + k_tile_below(c.k_at, key_line(i * KEYS_PER_LOAD))) = from.k[i];
#endif
}

DEVICE void store_k(char *tile, const struct cargo &from, const struct courier &c)
{
#pragma unroll
    for (int i = 0; i < K_LOADS; i++)
        store_k_chunk(tile, from, c, i);
}

#if KERNEL_FP8
#include "cargo_groups.h"
#else

/* The larger magnitudes of two pairs; what is not finite is larger than what is. */
DEVICE u32 larger_pair(u32 magnitudes, u32 pair)
{
    typedef u16 u16x2 __attribute__((ext_vector_type(2)));
    return __builtin_bit_cast(
        u32, __builtin_elementwise_max(__builtin_bit_cast(u16x2, magnitudes),
                                       __builtin_bit_cast(u16x2, pair & 0x7fff7fffu)));
}

/* If asked to, makes V that is not finite 0; returns whether any lane had to. See contain.h. */
DEVICE bool isolate_v(struct cargo &x, bool wanted)
{
    u32 largest = 0;
    if (KERNEL_SCORE && !wanted) /* elsewhere a branch costs more registers than it saves */
        return false;
#pragma unroll
    for (int i = 0; i < V_ROWS; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            largest = larger_pair(largest, x.v[i][j]);
    if (!in_any_lane(wanted && select_nonfinite(largest) != 0))
        return false;
#pragma unroll
    for (int i = 0; i < V_ROWS; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            x.v[i][j] &= ~select_nonfinite(x.v[i][j]);
    return true;
}

/* Stores of V that a thread does: of eight channels, of one quad of keys or two. */
constexpr int V_STORES = V_ROWS == 8 ? 2 * CHUNK : CHUNK;

#if V_ROWS == 2

/* Channel `i` of the eight of two rows, a pair of keys. */
DEVICE void store_v_channel(char *tile, const struct cargo &from, const struct courier &c, int i)
{
    static_assert(KEY_PAIR_STEP == 1, "a pair is of rows that follow each other");
    const u32 select = i % 2 ? UPPER_HALVES : LOWER_HALVES;
    *(u32 *)(tile + c.vt_at[i % VT_COLUMNS] + vt_channel_step(i)) =
        __builtin_amdgcn_perm(from.v[1][i / 2], from.v[0][i / 2], select);
}

#else

/* Channel `i` of the eight of four rows from `first` on, a quad of keys: its first pair, or the
 * other one. */
DEVICE u32 v_quad_half(const struct cargo &from, int i, int half, int first = 0)
{
    const int pair = KEY_PAIR_STEP, next = 3 - pair; /* quad = (0, pair), (next, 3) */
    const u32x4 *const v = from.v + first;
    u32 select = i % 2 ? UPPER_HALVES : LOWER_HALVES;
    return half ? __builtin_amdgcn_perm(v[3][i / 2], v[next][i / 2], select)
                : __builtin_amdgcn_perm(v[pair][i / 2], v[0][i / 2], select);
}

DEVICE u32x2 v_quad(const struct cargo &from, int i, int first = 0)
{
    return {v_quad_half(from, i, 0, first), v_quad_half(from, i, 1, first)};
}

DEVICE void store_v_quad(char *tile, const struct courier &c, int i, u32x2 quad)
{
    *(u32x2 *)(tile + c.vt_at[i % VT_COLUMNS] + vt_channel_step(i)) = quad;
}

/* Store `i` of V_STORES. */
DEVICE void store_v_channel(char *tile, const struct cargo &from, const struct courier &c, int i)
{
#if V_ROWS == 8
    if (i >= CHUNK) {
        i -= CHUNK;
        *(u32x2 *)(tile + vt_tile_further(c.vt_at[i % VT_COLUMNS]) + vt_channel_step(i)) =
            v_quad(from, i, 4);
        return;
    }
#endif
    store_v_quad(tile, c, i, v_quad(from, i));
}

#endif

/* Four rows of eight channels become eight rows of a quad of keys. */
DEVICE void store_v(char *tile, const struct cargo &from, const struct courier &c)
{
#pragma unroll
    for (int i = 0; i < V_STORES; i++)
        store_v_channel(tile, from, c, i);
}

#endif

#endif
