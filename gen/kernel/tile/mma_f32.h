/*
 * Products of 16x16 blocks in f32, in one interface for v_mfma_f32_16x16x4f32 (CDNA, wave64) and
 * for plain FMAs (RDNA 3, wave32, which has no matrix instruction for f32):
 *
 *     C[16, 16] += A[16, A_PARTS] B[A_PARTS, 16]
 *
 *     C   this lane has column lane_column(), rows acc_row(0 .. ACC - 1), which are consecutive
 *     A   this lane has the one element of row a_row() and part a_part()
 *     B   this lane has column lane_column(), parts b_part(0 .. B_PARTS - 1)
 *
 *             MFMA, l = lane                     FMA, l = lane
 *     C       column l % 16, rows 4(l/16) + i    column l % 16, rows 8(l/16) + i
 *     A       row l % 16, part l/16              row 8(l/16) + l % 8, part l/8 % 2
 *     B       column l % 16, part l/16           column l % 16, parts 0 and 1
 *
 * The FMA takes the row of A that it wants from the lane that has it, by DPP's row_share (a row of
 * DPP is 16 lanes), so that A needs no LDS and no further instruction.
 *
 * A column of C that becomes B of a second product: B_OF_C products contract its 16 rows. Product t
 * takes the parts spread_part(c, t), which are the rows of C that c_row(t) names in A's lanes.
 */
#ifndef AOTHIP_MMA_F32_H
#define AOTHIP_MMA_F32_H

#include "block_16.h"

constexpr int B_OF_C = ACC;

#if KERNEL_WAVE == 64

constexpr int A_PARTS = 4, B_PARTS = 1;

struct b_operand {
    float part[B_PARTS];
};

DEVICE u32 a_row()
{
    return lane_column();
}

DEVICE u32 a_part()
{
    return lane_group();
}

DEVICE u32 b_part(int)
{
    return lane_group();
}

DEVICE void mma(block_acc &c, float a, const struct b_operand &b)
{
    c = __builtin_amdgcn_mfma_f32_16x16x4f32(a, b.part[0], c, 0, 0, 0);
}

/* A column of C as B operands. */
struct b_column {
    block_acc row;
};

DEVICE struct b_column spread(const block_acc &c)
{
    return {c};
}

DEVICE struct b_operand spread_part(const struct b_column &x, int t)
{
    return {{x.row[t]}};
}

DEVICE u32 c_row(int t)
{
    return ACC * lane_group() + t;
}

#else

constexpr int A_PARTS = 2, B_PARTS = 2;

struct b_operand {
    float part[B_PARTS];
};

DEVICE u32 a_row()
{
    return 8 * lane_group() + lane_id() % 8;
}

DEVICE u32 a_part()
{
    return lane_id() / 8 % 2;
}

DEVICE u32 b_part(int i)
{
    return (u32)i;
}

/*
 * In assembly, because the compiler does not fold row_share into an FMA. It does not look into it
 * for hazards either, hence spread()'s care.
 */
#define MMA_FMAC(i, lane)                                                                          \
    "v_fmac_f32_dpp %" i ", %8, %9 row_share:" lane " row_mask:0xf bank_mask:0xf\n"
#define MMA_PART(c, a, b, l0, l1, l2, l3, l4, l5, l6, l7)                                          \
    asm(MMA_FMAC("0", l0) MMA_FMAC("1", l1) MMA_FMAC("2", l2) MMA_FMAC("3", l3) MMA_FMAC("4", l4)  \
            MMA_FMAC("5", l5) MMA_FMAC("6", l6) MMA_FMAC("7", l7)                                  \
        : "+v"(c[0]), "+v"(c[1]), "+v"(c[2]), "+v"(c[3]), "+v"(c[4]), "+v"(c[5]), "+v"(c[6]),      \
          "+v"(c[7])                                                                               \
        : "v"(a), "v"(b))

DEVICE void mma(block_acc &c, float a, const struct b_operand &b)
{
    float x[ACC];
#pragma unroll
    for (int i = 0; i < ACC; i++)
        x[i] = c[i];
    MMA_PART(x, a, b.part[0], "0", "1", "2", "3", "4", "5", "6", "7");
    MMA_PART(x, a, b.part[1], "8", "9", "10", "11", "12", "13", "14", "15");
#pragma unroll
    for (int i = 0; i < ACC; i++)
        c[i] = x[i];
}

/* A column of C: this half's rows, then those of the other half. */
struct b_column {
    float row[SIDE];
};

/*
 * x, moved. gfx11 may not use the result of v_exp_f32 in the next few instructions without a wait,
 * which the compiler only inserts before instructions that it knows.
 */
DEVICE float moved(float x)
{
    return __builtin_bit_cast(float,
                              __builtin_amdgcn_mov_dpp8(__builtin_bit_cast(u32, x), 0xfac688));
}

DEVICE struct b_column spread(const block_acc &c)
{
    struct b_column x;
#pragma unroll
    for (int i = 0; i < ACC; i++) {
        x.row[i] = moved(c[i]);
        x.row[ACC + i] = other_half(c[i]);
    }
    return x;
}

DEVICE struct b_operand spread_part(const struct b_column &x, int t)
{
    return {{x.row[2 * t], x.row[2 * t + 1]}};
}

/* Each half has its own order of the rows; A and B agree, since row_share stays within a half. */
DEVICE u32 c_row(int t)
{
    return (ACC * lane_group() + 2 * (u32)t + a_part()) % SIDE;
}

#endif

#endif
