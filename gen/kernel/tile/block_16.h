/*
 * Blocks of 16 x 16 in the layout of C that mma_f32.h and mma_16.h share: this lane has column
 * lane_column(), rows acc_row(0 .. ACC - 1), which are consecutive.
 *
 *     wave64   column l % 16, rows 4(l/16) + i
 *     wave32   column l % 16, rows 8(l/16) + i
 */
#ifndef AOTHIP_BLOCK_16_H
#define AOTHIP_BLOCK_16_H

#include "tile.h"

constexpr int SIDE = 16, ACC = SIDE * SIDE / KERNEL_WAVE;

typedef float block_acc __attribute__((ext_vector_type(ACC)));

DEVICE u32 lane_column()
{
    return lane_id() % SIDE;
}

DEVICE u32 lane_group()
{
    return lane_id() / SIDE;
}

DEVICE u32 acc_row(u32 i)
{
    return ACC * lane_group() + i;
}

#if KERNEL_WAVE == 64

/* The largest, or the sum, of a value of all lanes of a column. */
DEVICE float other_lane(float x, u32 distance)
{
    int from = (int)(lane_id() ^ distance) * 4;
    return __builtin_bit_cast(float,
                              __builtin_amdgcn_ds_bpermute(from, __builtin_bit_cast(int, x)));
}

DEVICE float column_max(float x)
{
    x = __builtin_fmaxf(x, other_lane(x, 16));
    return __builtin_fmaxf(x, other_lane(x, 32));
}

DEVICE float column_sum(float x)
{
    x += other_lane(x, 16);
    return x + other_lane(x, 32);
}

#else

DEVICE float other_half(float x)
{
    u32 bits = __builtin_bit_cast(u32, x);
    bits = __builtin_amdgcn_permlanex16(bits, bits, 0x76543210, 0xfedcba98, false, false);
    asm volatile("" : "+v"(bits)); /* or the compiler moves it to where only half the lanes are */
    return __builtin_bit_cast(float, bits);
}

DEVICE float column_max(float x)
{
    return __builtin_fmaxf(x, other_half(x));
}

DEVICE float column_sum(float x)
{
    return x + other_half(x);
}

#endif

#endif
