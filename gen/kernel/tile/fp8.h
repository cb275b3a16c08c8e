/*
 * K and V of FP8, and perhaps q, by kernels that have KERNEL_CACHE defined: codes to elements of
 * the kernel's type, which holds each of their values, and the scales. Where the GPU has no
 * instructions for it, by arithmetic that every GPU has: the code's exponent and fraction, moved to
 * where f32 has them, make a number that is off by the difference of the exponents' biases,
 * subnormal ones included, and a product puts that right. NaN is seen by its code, and so is
 * infinity, which becomes NaN, too.
 */
#ifndef AOTHIP_TILE_FP8_H
#define AOTHIP_TILE_FP8_H

#include "element.h"
#include "kernarg_fp8.h"

#define FP8_NAN 0x7fc00000u /* its upper half is NaN in f16 and bf16 */

enum fp8_type { FP8_E4M3 = 5, FP8_E5M2, FP8_E4M3_FNUZ, FP8_E5M2_FNUZ }; /* enum aothip_dtype */

typedef const GLOBAL unsigned char fp8_codes;

/* Whether q may have one of them, too: of GPUs whose matrix instructions take it. */
#if defined(__gfx942__) || defined(__gfx950__) || defined(__GFX12__)
#define FP8_OF_Q 1
#else
#define FP8_OF_Q 0
#endif

/* Those that such a GPU has instructions for. */
#if defined(__gfx942__)
constexpr int FP8_NATIVE_E4M3 = FP8_E4M3_FNUZ, FP8_NATIVE_E5M2 = FP8_E5M2_FNUZ;
#else
constexpr int FP8_NATIVE_E4M3 = FP8_E4M3, FP8_NATIVE_E5M2 = FP8_E5M2;
#endif

/* Whether it has. */
DEVICE bool fp8_of_q(const struct kernarg_fp8 &x)
{
    return FP8_OF_Q && x.q_dtype >= FP8_E4M3;
}

/*
 * Single codes: what distinguishes their types, the same in all lanes. In vector registers, for
 * kernels whose scalar ones are all taken.
 */
struct fp8_reader {
    u32 down, mask, addend, magnitudes, special;
    float factor;
};

DEVICE struct fp8_reader fp8_reader_of(int type)
{
    const bool fnuz = type >= FP8_E4M3_FNUZ, e4m3 = type == FP8_E4M3 || type == FP8_E4M3_FNUZ;
    const u32 bias = (e4m3 ? 7 : 15) + fnuz;
    struct fp8_reader x = {e4m3 ? 4u : 3u,
                           e4m3 ? 0x87f00000u : 0x8fe00000u,
                           fnuz ? 0x7fu : 0,
                           fnuz ? 0xffu : 0x7fu,
                           fnuz ? 0xffu : e4m3 ? 0x7fu : 0x7cu,
                           __builtin_bit_cast(float, (127 + 127 - bias) << 23)};
    asm volatile("" : "+v"(x.down), "+v"(x.mask), "+v"(x.addend));
    asm volatile("" : "+v"(x.magnitudes), "+v"(x.special), "+v"(x.factor));
    return x;
}

/* One matrix of K or V. */
DEVICE struct slice fp8_slice_of(kernarg_u64 data, const struct kernarg_strides &stride,
                                 const struct sequence &sequence, int head, int dim)
{
    const kernarg_i64 first =
        sequence.batch_k * stride.batch + head * stride.head + sequence.start_k * stride.seq;
    return {(char *)data + first, stride.seq, dim};
}

/* Row m of q. */
DEVICE char *fp8_row_of_q(const struct attn_problem &a, const struct sequence &sequence, int head,
                          int m)
{
    const struct kernarg_strides &stride = a.q_stride;
    return (char *)a.q + sequence.batch_q * stride.batch + head * stride.head +
           ((kernarg_i64)sequence.start_q + m) * stride.seq;
}

/* One code as an element. */
DEVICE u32 fp8_element(const struct fp8_reader &x, u32 code)
{
    const u32 bits = (u32)((int)(code << 24) >> x.down) & x.mask;
    const float number = __builtin_bit_cast(float, bits) * x.factor;
    const bool special = ((code + x.addend) & x.magnitudes) >= x.special;
#if KERNEL_DTYPE == ELEMENT_F16
    const u32 element = element_to_f16(number);
#else
    const u32 element = __builtin_bit_cast(u32, number) >> 16;
#endif
    return special ? FP8_NAN >> 16 : element; /* chosen, not branched for: it may be unwritten */
}

/* A pair of numbers that the type of elements holds as they are. */
DEVICE u32 fp8_pair(float low, float high)
{
#if KERNEL_DTYPE == ELEMENT_F16
    return __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pkrtz(low, high));
#else
    return __builtin_amdgcn_perm(__builtin_bit_cast(u32, high), __builtin_bit_cast(u32, low),
                                 0x07060302u);
#endif
}

#define FP8_SIGNS 0x80808080u /* of a word's four codes */

/* The codes of a word, whatever their type. Uniform. */
struct fp8_words {
    u32 down, mask; /* from a code's place at the top to f32's exponent and fraction */
    u32 addend;     /* a magnitude plus this has its highest bit where the code is not a number, */
    u32 flip;       /* or with that has it not, where it is not */
    u32 any_sign;   /* and where that is so with any sign, or with a negative one alone */
    float factor;
};

DEVICE struct fp8_words fp8_words_of(int type)
{
    const bool fnuz = type >= FP8_E4M3_FNUZ, e4m3 = type == FP8_E4M3 || type == FP8_E4M3_FNUZ;
    const u32 bias = (e4m3 ? 7 : 15) + fnuz;
    const u32 below = e4m3 ? 0x01010101u : 0x04040404u; /* what is beyond the largest number */
    return {e4m3 ? 4u : 3u,
            e4m3 ? 0x87f00000u : 0x8fe00000u,
            fnuz ? ~FP8_SIGNS : below,
            fnuz ? FP8_SIGNS : 0,
            fnuz ? 0 : FP8_SIGNS,
            __builtin_bit_cast(float, (127 + 127 - bias) << 23)};
}

/* The highest bit of each byte of a word: whether its code is NaN or infinity. */
DEVICE u32 fp8_special(const struct fp8_words &x, u32 word)
{
    return (((word & ~FP8_SIGNS) + x.addend) ^ x.flip) & ((word & FP8_SIGNS) | x.any_sign);
}

/* In f32. */
DEVICE void fp8_floats(float (&to)[4], const struct fp8_words &x, u32 word)
{
    const u32 special = fp8_special(x, word);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int up = 24 - 8 * i;
        const u32 bits = (u32)((int)(word << up) >> x.down) & x.mask;
        const float number = __builtin_bit_cast(float, bits) * x.factor;
        to[i] = __builtin_bit_cast(float, __builtin_bit_cast(u32, number) |
                                              ((u32)((int)(special << up) >> 31) & FP8_NAN));
    }
}

#if FP8_OF_Q

/*
 * Those of a type that the GPU has instructions for, which CDNA 3 and 4 and RDNA 4 have for those
 * of their matrix instructions: two codes each, NaN included; what is infinite stays so.
 */
template <int type> struct fp8_native {
};

template <int type> DEVICE u32 fp8_special(const fp8_native<type> &, u32 word)
{
    return fp8_special(fp8_words_of(type), word);
}

template <int type> DEVICE void fp8_floats(float (&to)[4], const fp8_native<type> &, u32 word)
{
    const bool e4m3 = type == FP8_NATIVE_E4M3;
    const f32x2 low = e4m3 ? __builtin_amdgcn_cvt_pk_f32_fp8((int)word, false)
                           : __builtin_amdgcn_cvt_pk_f32_bf8((int)word, false);
    const f32x2 high = e4m3 ? __builtin_amdgcn_cvt_pk_f32_fp8((int)word, true)
                            : __builtin_amdgcn_cvt_pk_f32_bf8((int)word, true);
    to[0] = low.x;
    to[1] = low.y;
    to[2] = high.x;
    to[3] = high.y;
}

#endif

/* Four codes as two pairs of elements. */
template <class codes> DEVICE u32x2 fp8_elements(const codes &of, u32 word)
{
    float x[4];
    fp8_floats(x, of, word);
    return {fp8_pair(x[0], x[1]), fp8_pair(x[2], x[3])};
}

/* What code is worth: one for all types; others for those that the GPU has instructions for; one
 * for each. */
enum fp8_worth { FP8_SELDOM, FP8_USUAL, FP8_OFTEN };

/* Calls `f` with what makes numbers of codes of a type, which is uniform. */
template <enum fp8_worth worth, class F> DEVICE void with_fp8_type(int type, F f)
{
#if FP8_OF_Q
    /* Foreign ones. */
    constexpr int E4M3 = FP8_E4M3 + FP8_E4M3_FNUZ - FP8_NATIVE_E4M3, E5M2 = E4M3 + 1;
    if (worth != FP8_SELDOM && type == FP8_NATIVE_E4M3)
        return f(fp8_native<FP8_NATIVE_E4M3>());
    if (worth != FP8_SELDOM && type == FP8_NATIVE_E5M2)
        return f(fp8_native<FP8_NATIVE_E5M2>());
    if (worth == FP8_OFTEN)
        return type == E4M3 ? f(fp8_words_of(E4M3)) : f(fp8_words_of(E5M2));
#else
    if (worth == FP8_OFTEN) {
        if (type == FP8_E4M3)
            f(fp8_words_of(FP8_E4M3));
        else if (type == FP8_E5M2)
            f(fp8_words_of(FP8_E5M2));
        else if (type == FP8_E4M3_FNUZ)
            f(fp8_words_of(FP8_E4M3_FNUZ));
        else
            f(fp8_words_of(FP8_E5M2_FNUZ));
        return;
    }
#endif
#if KERNEL_WAVE == 64 || defined(__GFX12__) /* what follows from it is computed here, not kept */
    asm volatile("" : "+s"(type));
#endif
    f(fp8_words_of(type));
}

/* The arguments of such kernels: those of others, and what kernarg_fp8.h puts behind them. */
template <class args> struct with_fp8 : args {
    struct kernarg_fp8 fp8;
};

/*
 * The code of a number, rounded to nearest even, and of the largest one beyond it. A code without
 * its sign counts units of its exponent's last place, from the smallest exponent's on.
 */
DEVICE u32 fp8_code(float x, int type)
{
    const bool fnuz = type >= FP8_E4M3_FNUZ, e4m3 = type == FP8_E4M3 || type == FP8_E4M3_FNUZ;
    const int fraction = e4m3 ? 3 : 2, smallest = 1 - (e4m3 ? 7 : 15) - fnuz;
    const float most = !e4m3 ? 57344 : fnuz ? 240 : 448;
    const float magnitude = __builtin_fminf(__builtin_fabsf(x), most);
    int exponent = (int)(__builtin_bit_cast(u32, magnitude) >> 23) - 127;
    exponent = exponent < smallest ? smallest : exponent;
    const float units = __builtin_rintf(__builtin_amdgcn_ldexpf(magnitude, fraction - exponent));
    const u32 code = (u32)((exponent - smallest) << fraction) + (u32)units;
    if (x != x)
        return fnuz ? 0x80 : 0x7f;
    return code | (x < 0 && (code || !fnuz) ? 0x80 : 0);
}

static_assert(sizeof(with_fp8<struct attn_fwd_args>) == sizeof(struct attn_fwd_fp8_args) &&
                  sizeof(with_fp8<struct attn_split_args>) == sizeof(struct attn_split_fp8_args),
              "the same layout");

DEVICE float fp8_scale(const struct kernarg_scale &x, int sequence, int head)
{
    return x.data ? ((const_float)x.data)[sequence * x.batch + head * x.head] : 1;
}

/* What the products of K and q are to be multiplied by. */
DEVICE float fp8_scale_of_scores(const struct kernarg_fp8 &x, int sequence, int head)
{
    const float scale = fp8_scale(x.k, sequence, head);
    return FP8_OF_Q ? scale * fp8_scale(x.q, sequence, head) : scale;
}

#endif
