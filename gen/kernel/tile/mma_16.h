/*
 * Products of 16x16 blocks of 16-bit elements, sums in f32, in the interface of mma_f32.h, for what
 * comes from memory straight into registers: v_wmma_f32_16x16x16_{f16,bf16} (RDNA, wave32) and
 * v_mfma_f32_16x16x16_{f16,bf16_1k} (CDNA, wave64).
 *
 *     C[16, 16] += A[16, 16] B[16, 16]        l = lane
 *
 *         RDNA 3                       RDNA 4                    CDNA
 *     C   column l % 16,               column l % 16,            column l % 16,
 *         rows 2i + l/16               rows 8(l/16) + i          rows 4(l/16) + i
 *     A   row l % 16, all k,           row l % 16,               row l % 16,
 *         the same in both halves      k = 8(l/16) ..            k = 4(l/16) ..
 *     B   column l % 16, all k,        column l % 16,            column l % 16,
 *         the same in both             k = 8(l/16) ..            k = 4(l/16) ..
 *
 * The rows of A are free: a lane takes row a_row() there, so that C is as block_16.h has it. So is
 * the order of k, if A and B agree. Each half of the lanes brings half of A from memory, and on
 * RDNA 3 they exchange by way of LDS, which takes a quarter of the instructions that it takes from
 * lane to lane. So a lane has chunks of eight channels of K, part a_part() of A_PARTS, of
 * which on CDNA each half is an operand; of V, rows c_row(0 .. B_OF_C - 1).
 */
#ifndef AOTHIP_MMA_16_H
#define AOTHIP_MMA_16_H

#include "block_16.h"
#include "round.h"
#if KERNEL_WAVE == 32
#include "wmma.h"
#endif

constexpr int A_PARTS = KERNEL_WAVE / SIDE, B_OF_C = ACC;

DEVICE u32 a_part()
{
    return lane_group();
}

DEVICE u32 c_row(int t)
{
    return ACC * lane_group() + (u32)t;
}

#if KERNEL_WAVE == 64

typedef u32x2 block_frag;
typedef u32x2 own_frag; /* what a lane brings of it */
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef short s16x4 __attribute__((ext_vector_type(4)));

DEVICE u32 a_row()
{
    return lane_column();
}

DEVICE void mma(block_acc &c, block_frag a, block_frag b)
{
#if KERNEL_DTYPE == MMA_F16
    c = __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(f16x4, a),
                                              __builtin_bit_cast(f16x4, b), c, 0, 0, 0);
#else
    c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(s16x4, a),
                                                  __builtin_bit_cast(s16x4, b), c, 0, 0, 0);
#endif
}

DEVICE void share(own_frag, int)
{
}

DEVICE block_frag joined(own_frag own, int)
{
    return own;
}

#elif defined(__GFX12__)

typedef u32x4 own_frag;

DEVICE u32 a_row()
{
    return lane_column();
}

DEVICE void share(own_frag, int)
{
}

DEVICE block_frag joined(own_frag own, int)
{
    return own;
}

/* Two chunks of channels of a column as B. */
DEVICE block_frag join_column(u32x4 lower, u32x4 upper)
{
    return lane_group() ? upper : lower;
}

#else

typedef u32x4 own_frag;

DEVICE u32 a_row()
{
    return ACC * (lane_id() % 2) + lane_column() / 2;
}

/* What the lanes of a wave exchange: SHARES things at once. */
constexpr int SHARES = 8;

static SHARED u32x4 shares[KERNEL_WAVES][SHARES][KERNEL_WAVE];

/* Half of an operand, number `number`, for the other half of the lanes. */
DEVICE void share(own_frag own, int number)
{
    shares[wave_id()][number][lane_id()] = own;
}

/* Both halves: what the lower lanes have, then what the upper ones have. */
DEVICE block_frag joined(own_frag, int number)
{
    const u32x4 *from = &shares[wave_id()][number][lane_column()];
    return __builtin_shufflevector(from[0], from[SIDE], 0, 1, 2, 3, 4, 5, 6, 7);
}

/* Two chunks of channels of a column as B. */
DEVICE block_frag join_column(u32x4 lower, u32x4 upper)
{
    return __builtin_shufflevector(lower, upper, 0, 1, 2, 3, 4, 5, 6, 7);
}

#endif

/* A column of C, none of it negative, rounded: the B of a second product. */
struct b_column {
    block_frag frag;
};

DEVICE struct b_column spread(const block_acc &c)
{
    own_frag own;
#pragma unroll
    for (int i = 0; i < ACC / 2; i++)
        own[i] = end_round_pair(begin_round(c[2 * i]), begin_round(c[2 * i + 1]));
    share(own, 0);
    return {joined(own, 0)};
}

/* Element `i` of the B_OF_C rows that a lane has: what it brings of a row of A. */
template <class words> DEVICE own_frag transposed(const words (&x)[B_OF_C], int i)
{
    own_frag own;
#pragma unroll
    for (int t = 0; t < ACC / 2; t++)
        own[t] = __builtin_amdgcn_perm(x[2 * t + 1][i / 2], x[2 * t][i / 2],
                                       i % 2 ? UPPER_HALVES : LOWER_HALVES);
    return own;
}

#endif
