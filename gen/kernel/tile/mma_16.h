/*
 * Products of 16x16 blocks of 16-bit elements, sums in f32, in the interface of mma_f32.h, for what
 * comes from memory straight into registers: v_wmma_f32_16x16x16_{f16,bf16} (RDNA 3, wave32).
 *
 *     C[16, 16] += A[16, 16] B[16, 16]        l = lane
 *
 *     C   column l % 16, rows 2i + l/16
 *     A   row l % 16, all k, the same in both halves
 *     B   column l % 16, all k, the same in both halves
 *
 * The rows of A are free: a lane takes row a_row() there, so that C is as block_16.h has it. So is
 * the order of k, if A and B agree. Each half of the lanes brings half of A from memory, and they
 * exchange. So a lane has chunks of eight channels of K, part a_part() of A_PARTS; of V, rows
 * c_row(0 .. B_OF_C - 1).
 */
#ifndef AOTHIP_MMA_16_H
#define AOTHIP_MMA_16_H

#include "block_16.h"
#include "round.h"

enum { A_PARTS = 2, B_OF_C = ACC };

typedef u32 block_frag __attribute__((ext_vector_type(8)));
typedef _Float16 f16_frag __attribute__((ext_vector_type(16)));
typedef short bf16_frag __attribute__((ext_vector_type(16)));

DEVICE void mma(block_acc &c, block_frag a, block_frag b)
{
#if KERNEL_DTYPE == MMA_F16
    c = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(f16_frag, a),
                                                   __builtin_bit_cast(f16_frag, b), c);
#else
    c = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_bit_cast(bf16_frag, a),
                                                    __builtin_bit_cast(bf16_frag, b), c);
#endif
}

DEVICE u32 a_row()
{
    return ACC * (lane_id() % 2) + lane_column() / 2;
}

DEVICE u32 a_part()
{
    return lane_group();
}

DEVICE u32 c_row(int t)
{
    return ACC * lane_group() + (u32)t;
}

/* For the selections of join(); as pack_half() of mma_wmma.h. */
DEVICE u32 join_half()
{
    u32 half = lane_group();
    asm volatile("" : "+v"(half));
    return half;
}

/* What the lower half has, then what the upper half has. */
DEVICE block_frag join(u32x4 own, u32 half)
{
    block_frag x;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const u32 mine = own[i];
        const u32 other =
            __builtin_amdgcn_permlanex16(mine, mine, 0x76543210, 0xfedcba98, false, false);
        x[i] = half ? other : mine;
        x[4 + i] = half ? mine : other;
    }
    return x;
}

/* A column of C, none of it negative, rounded: the B of a second product. */
struct b_column {
    block_frag frag;
};

DEVICE struct b_column spread(const block_acc &c)
{
    u32x4 own;
#pragma unroll
    for (int i = 0; i < ACC / 2; i++)
        own[i] = end_round_pair(begin_round(c[2 * i]), begin_round(c[2 * i + 1]));
    return {join(own, join_half())};
}

/* Element `i` of the B_OF_C rows that a lane has: a row of A. */
template <class words> DEVICE block_frag transposed(const words (&x)[B_OF_C], int i, u32 half)
{
    u32x4 own;
#pragma unroll
    for (int t = 0; t < ACC / 2; t++)
        own[t] = __builtin_amdgcn_perm(x[2 * t + 1][i / 2], x[2 * t][i / 2],
                                       i % 2 ? UPPER_HALVES : LOWER_HALVES);
    return join(own, half);
}

#endif
