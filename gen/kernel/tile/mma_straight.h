/*
 * Where what a lane has of a column of C is what B wants of it, in the order of the keys: CDNA and
 * RDNA 4. Included by their files; mma.h says what each of these is for.
 */
#ifndef AOTHIP_MMA_STRAIGHT_H
#define AOTHIP_MMA_STRAIGHT_H

#define MMA_STRAIGHT 1

DEVICE block_acc zero_acc()
{
    return 0;
}

/* A C of 0 needs no instruction of its own: mma_wmma11.h, where it does. */
#define MMA_BEGINS 0
#define mma_begin(begins, c, a, b) mma(c, a, b)

/* What pack_p() wants to know of the lane: here, nothing. */
DEVICE u32 pack_half()
{
    return 0;
}

#if !KERNEL_FP8

/* Keys 16 * group .. + 15 of a block of P^T as a B fragment. */
DEVICE block_frag pack_p(const block_acc &p, int group, u32)
{
    block_frag b;
#pragma unroll
    for (int i = 0; i < 4; i++)
        b[i] = end_round_pair(p[8 * group + 2 * i], p[8 * group + 2 * i + 1]);
    return b;
}

#endif

/* Pairs of keys within a quad, in the order in which pack_p() leaves them. */
constexpr int VT_PAIR_STEP = 1; /* (0, 1), (2, 3) */

#endif
