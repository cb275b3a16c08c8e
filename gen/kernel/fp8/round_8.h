/*
 * The roundings of kernels whose q, k and v are FP8: P is rounded as it becomes an operand
 * (mma_fp8.h), and O, whose type is known at run time, by fp8_scales.h. Included by round.h.
 */
#ifndef AOTHIP_ROUND_8_H
#define AOTHIP_ROUND_8_H

DEVICE float begin_round(float p)
{
    return p;
}

#endif
