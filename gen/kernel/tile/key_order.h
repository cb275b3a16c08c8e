/*
 * The forward kernels' order of keys: which keys the rows of S^T are and where K lies in LDS for
 * it. A lane has runs of KEY_RUN consecutive keys of its column, for what comes by key and row.
 *
 *     first_key()  the key of a block that this lane's first element is
 *     key_step(i)  how much further element i is
 *     key_line(n)  the line of K in LDS that holds key n of the tile
 *     pack_keys()  pack_p() of mma.h for S^T in this order
 */
#ifndef AOTHIP_KEY_ORDER_H
#define AOTHIP_KEY_ORDER_H

#include "mma.h"

constexpr int KEY_PAIR_STEP = 1; /* as VT_PAIR_STEP: pairs (0, 1), (2, 3) */

#if MMA_STRAIGHT

/* The order in which the rows of C lie in the lanes. */
constexpr int KEY_RUN = KERNEL_WAVE == 64 ? 4 : 8;

DEVICE constexpr int key_step(int i)
{
    return 8 * (i / KEY_RUN) + i % KEY_RUN;
}

DEVICE constexpr u32 key_line(u32 key)
{
    return key;
}

#if !KERNEL_FP8
DEVICE block_frag pack_keys(const block_acc &p, int group, u32 half)
{
    return pack_p(p, group, half);
}
#endif

#else

/* Row 2r + h of a block, h = lane_half(), is key 8h + r, so that the halves have 0 .. 7, 8 .. 15.
 */
constexpr int KEY_RUN = 8;

DEVICE constexpr int key_step(int i)
{
    return i;
}

DEVICE constexpr u32 key_line(u32 key)
{
    return (key & ~15u) | key % 8 * 2 | key / 8 % 2;
}

DEVICE block_frag pack_keys(const block_acc &p, int, u32 half)
{
    block_frag b;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        u32 own[2], other[2];
#pragma unroll
        for (int j = 0; j < 2; j++) {
            float low = p[2 * (i + j)], high = p[2 * (i + j) + 1];
            own[j] = end_round_pair(low, high);
            other[j] = exchange_halves(own[j], __builtin_bit_cast(u32, low));
        }
        b[i] = half ? other[0] : own[0];
        b[i + 1] = half ? other[1] : own[1];
        b[4 + i] = half ? own[0] : other[0];
        b[4 + i + 1] = half ? own[1] : other[1];
    }
    return b;
}

#endif

DEVICE u32 first_key()
{
    u32 half = lane_half();
    if (KERNEL_WAVE == 64 && KERNEL_PAGED && KERNEL_SCORE && !KERNEL_UNALIGNED)
        asm volatile("" : "+v"(half)); /* computed here: registers are too short to keep it */
    return KEY_RUN * half;
}

#endif
