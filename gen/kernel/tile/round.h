/*
 * f32 to the 16 bits of KERNEL_DTYPE, two at a time, and how halves of registers are put together.
 */
#ifndef AOTHIP_ROUND_H
#define AOTHIP_ROUND_H

#include "tile.h"

#define MMA_F16 2 /* values of KERNEL_DTYPE, enum aothip_dtype */
#define MMA_BF16 3

/* v_perm: the lower or the upper halves of two registers, those of the second argument first. */
#define LOWER_HALVES 0x05040100u
#define UPPER_HALVES 0x07060302u

/*
 * P to 16 bits in two parts: begin_round() once it is summed up, end_round_pair() when it becomes
 * an operand. To nearest: f16 ties to even, bf16 too where there is an instruction for it (gfx950),
 * and else ties away from 0. P is never negative.
 */
DEVICE float begin_round(float p);
DEVICE u32 end_round_pair(float low, float high);

/* Two f32 to 16 bits each, to nearest even. */
DEVICE u32 round_pair_even(float low, float high);

/* The same of their products with `factor`, where NaNs are ones that arithmetic makes. */
DEVICE u32 round_products(f32x2 x, float factor);

/* Whether that matters: adding to the bits of others may make numbers of them. */
#if KERNEL_DTYPE == MMA_BF16 && !KERNEL_FP8 && !defined(__gfx950__)
#define NANS_MATTER 1
#else
#define NANS_MATTER 0
#endif

#if KERNEL_FP8
#include "round_8.h"
#elif defined(__gfx950__)
#include "round_packed.h"
#elif KERNEL_DTYPE == MMA_F16

typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));

DEVICE float begin_round(float p)
{
    return p;
}

/*
 * Multiplied by a 1 that the compiler does not know, rounding is v_fma_mixlo_f16 and
 * v_fma_mixhi_f16: one instruction an element, without a third one that packs.
 */
DEVICE float unknown_one()
{
#if defined(__GFX12__)
    float one = 1; /* by the compiler, which does not look for hazards in statements of assembly */
    asm("" : "+s"(one));
#else
    float one;
    asm("s_mov_b32 %0, 1.0" : "=s"(one));
#endif
    return one;
}

DEVICE u32 end_round_pair(float low, float high, float one)
{
    f16x2 pair = {(_Float16)(low * one), (_Float16)(high * one)};
    return __builtin_bit_cast(u32, pair);
}

DEVICE u32 end_round_pair(float low, float high)
{
    return end_round_pair(low, high, unknown_one());
}

DEVICE u32 round_pair_even(float low, float high)
{
    /*
     * Or the rounding would be fused with the multiplication that made its operand, into
     * v_fma_mixhi_f16, whose result gfx942 may not use in the very next instruction.
     */
    asm("" : "+v"(low), "+v"(high));
    f16x2 pair = {(_Float16)low, (_Float16)high};
    return __builtin_bit_cast(u32, pair);
}

DEVICE u32 round_products(f32x2 x, float factor)
{
    /* As with unknown_one(). */
    f16x2 pair = {(_Float16)(x.x * factor), (_Float16)(x.y * factor)};
    return __builtin_bit_cast(u32, pair);
}

#elif KERNEL_DTYPE == MMA_BF16

DEVICE float begin_round(float p)
{
    return __builtin_bit_cast(float, __builtin_bit_cast(u32, p) + 0x8000);
}

DEVICE u32 end_round_pair(float low, float high)
{
    return __builtin_amdgcn_perm(__builtin_bit_cast(u32, high), __builtin_bit_cast(u32, low),
                                 UPPER_HALVES);
}

DEVICE u32 round_even(float value)
{
    u32 x = __builtin_bit_cast(u32, value);
    u32 rounded = x + 0x7fff + (x >> 16 & 1);
    asm("" : "+v"(rounded)); /* or the compiler branches around it where the value is a NaN */
    return value == value ? rounded : x | 0x00400000;
}

DEVICE u32 round_pair_even(float low, float high)
{
    return __builtin_amdgcn_perm(round_even(high), round_even(low), UPPER_HALVES);
}

DEVICE u32 round_products(f32x2 x, float factor)
{
    x *= factor;
    const float first = x.x, second = x.y; /* a bit cast of an element takes the first one */
    u32 low = __builtin_bit_cast(u32, first), high = __builtin_bit_cast(u32, second);
    low += 0x7fff + (low >> 16 & 1);
    high += 0x7fff + (high >> 16 & 1);
    return __builtin_amdgcn_perm(high, low, UPPER_HALVES);
}

#else
#error "KERNEL_DTYPE must be 2 (f16), 3 (bf16) or of 8 bits"
#endif

/*
 * round_pair_even() by fewer instructions, of numbers after settle_four(): of two NaN v_min takes
 * the second one, and of one the number, so that what rounding adds never carries a NaN into the
 * sign.
 */
#if KERNEL_DTYPE == MMA_BF16 && KERNEL_WAVE == 64 && !KERNEL_FP8 && !defined(__gfx950__)
DEVICE void settle_four(float &a, float &b, float &c, float &d)
{
    float w, x, y, z; /* or each would be copied first, where it is wanted elsewhere, too */
    asm("v_min_f32_e64 %0, %4, %8\n\t"
        "v_min_f32_e64 %1, %5, %8\n\t"
        "v_min_f32_e64 %2, %6, %8\n\t"
        "v_min_f32_e64 %3, %7, %8"
        : "=&v"(w), "=&v"(x), "=&v"(y), "=v"(z)
        : "v"(a), "v"(b), "v"(c), "v"(d), "s"(0x7fc00000));
    a = w;
    b = x;
    c = y;
    d = z;
}

DEVICE float round_settled(float value)
{
    const u32 x = __builtin_bit_cast(u32, value);
    return __builtin_bit_cast(float, x + 0x7fff + (x >> 16 & 1));
}

DEVICE u32 round_settled_pair(float low, float high)
{
    return end_round_pair(round_settled(low), round_settled(high));
}
#else
DEVICE void settle_four(float &, float &, float &, float &)
{
}

DEVICE u32 round_settled_pair(float low, float high)
{
    return round_pair_even(low, high);
}
#endif

#if !KERNEL_FP8 && (KERNEL_DTYPE != MMA_F16 || defined(__gfx950__))
/* What others want for end_round_pair(): nothing. */
DEVICE float unknown_one()
{
    return 1;
}

DEVICE u32 end_round_pair(float low, float high, float)
{
    return end_round_pair(low, high);
}
#endif

#if KERNEL_FP8 || defined(__gfx950__)
DEVICE u32 round_products(f32x2 x, float factor)
{
    x *= factor;
    return round_pair_even(x.x, x.y);
}
#endif

#endif
