/*
 * gfx90a takes subnormal f16 operands of its matrix instructions for 0: what is below 2^-14.
 * Gradients without loss scaling lie there, at about 2^-16, and so do the weights of long
 * sequences. So the kernels lift, by powers of two, which is exact and undone in f32:
 *
 *     dO to 2^lift.d_o dO, and with it dP and delta
 *     P to 2^lift.p P, by lse; so also dS, to 2^(lift.d_o + lift.p) dS
 *
 * such that the largest |dO| is at least 2^LIFT_TO, and dS as large as for a dO of 2^LIFTED, unless
 * it is by itself: the larger dO, the less it is lifted, lest dS overflow. The sums over elements
 * take P back to 2^-lift.d_o P, and so get dS as it is.
 *
 * The largest |dO| is that of a row where rows are owned, else that of all rows which the
 * workgroup's keys are seen by; what is below 2^-12 of it may count as 0 in dK and dV. In the
 * forward pass the P are lifted by softmax.h. Q, K and V are as they are.
 */
#ifndef AOTHIP_ATTN_BWD_LIFT_H
#define AOTHIP_ATTN_BWD_LIFT_H

#include "gradient_rows.h"

#if defined(__gfx90a__) && KERNEL_DTYPE == 2
#define LIFTS 1
#else
#define LIFTS 0
#endif

#if LIFTS

enum {
    LIFT_TO = -2,      /* exponent of the largest dO, at least */
    LIFTED = 6,        /* exponent of dO that leaves dS alone */
    LIFT_DO_MOST = 15, /* the largest power of two in f16; it lifts the smallest f16 to 2^-9 */
    LIFT_P_MOST = 8,   /* P and its factor for dropout are below 2^8 each */
};

typedef u16 u16x2 __attribute__((ext_vector_type(2)));
typedef _Float16 lift_pair __attribute__((ext_vector_type(2)));

struct lift {
    int d_o, p;
};

DEVICE int limited(int x, int most)
{
    x = x < most ? x : most;
    return x > 0 ? x : 0;
}

DEVICE float power_of_two(int exponent)
{
    return __builtin_bit_cast(float, (u32)(127 + exponent) << 23);
}

/* For the bits of the largest |dO|: nothing for infinity and NaN. */
DEVICE struct lift lift_of(u32 largest, const struct attn_problem &a)
{
    float x = (float)__builtin_bit_cast(_Float16, (u16)largest);
    int exponent = (int)(__builtin_bit_cast(u32, x) >> 23) - 127;
    int p = limited(LIFTED - exponent, LIFT_P_MOST);
    if (KERNEL_SCORE && (a.flags & KERNARG_DROPOUT) && !(a.dropout_scale < 0x1p8f))
        p = 0;
    return {limited(LIFT_TO - exponent, LIFT_DO_MOST), p};
}

/* The larger of each half of x and the magnitudes in a chunk. */
DEVICE u32 largest_of(u32 x, u32x4 chunk)
{
    u16x2 m = __builtin_bit_cast(u16x2, x);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u32 magnitudes = chunk[i] & 0x7fff7fffu;
        m = __builtin_elementwise_max(m, __builtin_bit_cast(u16x2, magnitudes));
    }
    return __builtin_bit_cast(u32, m);
}

DEVICE u32 larger_half(u32 x)
{
    u32 low = x & 0xffff, high = x >> 16;
    return low > high ? low : high;
}

/* A pair of 2^exponent in f16. */
DEVICE u32 lift_pair_of(int exponent)
{
    return (u32)(15 + exponent) * 0x04000400u;
}

/* A pair of 2^-exponent in f16, up to 24. */
DEVICE u32 lowering_pair_of(int exponent)
{
    return exponent <= 14 ? (u32)(15 - exponent) * 0x04000400u : 0x04000400u >> (exponent - 14);
}

DEVICE u32x4 lift_chunk(u32x4 chunk, u32 pair)
{
    const lift_pair factor = __builtin_bit_cast(lift_pair, pair);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u32 x = chunk[i];
        chunk[i] = __builtin_bit_cast(u32, __builtin_bit_cast(lift_pair, x) * factor);
    }
    return chunk;
}

#endif

#endif
