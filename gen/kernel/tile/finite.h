/*
 * Elements that are NaN or infinite, in the 32 bits that a register holds of a row: one of f32, a
 * pair of 16-bit ones or four of FP8.
 */
#ifndef AOTHIP_FINITE_H
#define AOTHIP_FINITE_H

#include "tile.h"

#if KERNEL_DTYPE == 1

#define WORD_ONES 0x3f800000u

/* Ones in all bits if it is. Without comparisons, which would need a scalar register each. */
DEVICE u32 select_nonfinite(u32 word)
{
    return (u32)((int)((word & 0x7fffffffu) + 0x00800000u) >> 31);
}

#elif KERNEL_FP8

/* Ones in all bits of those bytes. */
DEVICE u32 select_nonfinite(u32 four)
{
    const u32 magnitudes = four & 0x7f7f7f7fu;
#if KERNEL_DTYPE == 5 /* NaN is 7f */
    const u32 top = magnitudes + 0x01010101u;
#elif KERNEL_DTYPE == 6 /* infinity is 7c, NaN beyond */
    const u32 top = magnitudes + 0x04040404u;
#else /* NaN is 80 */
    const u32 top = four & ~(magnitudes + 0x7f7f7f7fu);
#endif
    return (top >> 7 & 0x01010101u) * 0xffu;
}

#else

/* Exponents of the pair, their lowest bits, and the number 1. */
#if KERNEL_DTYPE == 2
#define PAIR_EXPONENTS 0x7c007c00u
#define PAIR_EXPONENT_UNITS 0x04000400u
#define WORD_ONES 0x3c003c00u
#else
#define PAIR_EXPONENTS 0x7f807f80u
#define PAIR_EXPONENT_UNITS 0x00800080u
#define WORD_ONES 0x3f803f80u
#endif

/* Ones in all bits of those halves. */
DEVICE u32 select_nonfinite(u32 pair)
{
    u32 signs = (pair & PAIR_EXPONENTS) + PAIR_EXPONENT_UNITS;
    return (signs >> 15 & 0x00010001u) * 0xffffu;
}

#endif

#endif
