/*
 * To 16 bits by instructions that round two f32 to nearest even and pack them: gfx950 has
 * v_cvt_pk_f16_f32 and v_cvt_pk_bf16_f32. Included by round.h.
 */
#ifndef AOTHIP_ROUND_PACKED_H
#define AOTHIP_ROUND_PACKED_H

#if KERNEL_DTYPE == MMA_F16
typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
typedef f16x2 rounded_pair;
#else
typedef __bf16 rounded_pair __attribute__((ext_vector_type(2)));
#endif

DEVICE float begin_round(float p)
{
    return p;
}

DEVICE u32 round_pair_even(float low, float high)
{
    /* Or the rounding would be fused with the multiplication that made its operand, and an
     * instruction taken for each of the two. */
    asm("" : "+v"(low), "+v"(high));
    f32x2 pair = {low, high};
    return __builtin_bit_cast(u32, __builtin_convertvector(pair, rounded_pair));
}

DEVICE u32 end_round_pair(float low, float high)
{
    return round_pair_even(low, high);
}

#endif
