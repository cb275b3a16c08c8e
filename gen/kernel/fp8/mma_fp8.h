/*
 * FP8 as operands: what mma.h has for 16 bits. Included by it.
 *
 *     KERNEL_DTYPE    5 e4m3, 6 e5m2 (OCP)    7 e4m3, 8 e5m2 (FNUZ: no infinity, no -0)
 *
 * A mma() contracts 32 k: two of v_mfma_f32_32x32x16_{fp8,bf8}_{fp8,bf8} (gfx942) or of
 * v_wmma_f32_16x16x16_{fp8,bf8}_{fp8,bf8} (RDNA 4); or 64: v_mfma_f32_32x32x64_f8f6f4 (gfx950), of
 * twice the rate, for which two fragments make an operand. (Which k those 32 bytes of a lane are is
 * the same for A and B.) One of the former, l = lane, h = lane_half():
 *
 *     A   row i = l % BLOCK       k = 8h + e    byte e of two registers
 *     B   column j = l % BLOCK    k = 8h + e    byte e of two registers
 *     C   as with 16 bits
 *
 * So one 16-byte load per lane feeds two instructions, the first with its lower half:
 *
 *     S^T:  lane half h holds channels 16h .. 16h + 15 of a group of 32
 *     O^T:  lane half h holds what S^T leaves there of the keys of a group of 32, in this order
 *
 * P is e4m3, whatever the type of V: it has a bit more than e5m2, and softmax.h keeps P in the
 * range that e4m3 has.
 */
#ifndef AOTHIP_MMA_FP8_H
#define AOTHIP_MMA_FP8_H

#define FP8_E5M2 (KERNEL_DTYPE == 6 || KERNEL_DTYPE == 8)
#define FP8_FNUZ (KERNEL_DTYPE >= 7)

#if defined(__gfx950__)

constexpr int FRAGS = 2;
typedef u32 operand __attribute__((ext_vector_type(8)));
typedef int fp8_operand __attribute__((ext_vector_type(8)));

#define OPERAND_OF(frag, i) join_frags(frag(i), frag(i + 1))

DEVICE operand join_frags(block_frag low, block_frag high)
{
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

constexpr int OF_FP8 = 0, OF_BF8 = 1;

/* Without scales: of 0 the compiler makes the instruction that takes none. */
template <int a_type, int b_type> DEVICE void mma_of(block_acc &c, operand a, operand b)
{
    c = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(__builtin_bit_cast(fp8_operand, a),
                                                        __builtin_bit_cast(fp8_operand, b), c,
                                                        a_type, b_type, 0, 0, 0, 0);
}

/* K Q^T */
DEVICE void mma(block_acc &c, operand a, operand b)
{
    mma_of<FP8_E5M2 ? OF_BF8 : OF_FP8, FP8_E5M2 ? OF_BF8 : OF_FP8>(c, a, b);
}

/* V^T P^T */
DEVICE void mma_vp(block_acc &c, operand a, operand b)
{
    mma_of<FP8_E5M2 ? OF_BF8 : OF_FP8, OF_FP8>(c, a, b);
}

#else

#if KERNEL_WAVE == 64
typedef long fp8_frag; /* eight */
#define FP8_MMA(a_type, b_type)                                                                    \
    DEVICE void mma_##a_type##_##b_type(block_acc &c, fp8_frag a, fp8_frag b)                      \
    {                                                                                              \
        c = __builtin_amdgcn_mfma_f32_32x32x16_##a_type##_##b_type(a, b, c, 0, 0, 0);              \
    }
#else
typedef int fp8_frag __attribute__((ext_vector_type(2)));
#define FP8_MMA(a_type, b_type)                                                                    \
    DEVICE void mma_##a_type##_##b_type(block_acc &c, fp8_frag a, fp8_frag b)                      \
    {                                                                                              \
        c = __builtin_amdgcn_wmma_f32_16x16x16_##a_type##_##b_type##_w32_gfx12(a, b, c);           \
    }
#endif

#if FP8_E5M2
FP8_MMA(bf8, bf8)
FP8_MMA(bf8, fp8)
#define FP8_MMA_KQ mma_bf8_bf8
#define FP8_MMA_VP mma_bf8_fp8
#else
FP8_MMA(fp8, fp8)
#define FP8_MMA_KQ mma_fp8_fp8
#define FP8_MMA_VP mma_fp8_fp8
#endif

/* (Clang 22 takes the lower half of a vector for either in a cast of the expression itself.) */
DEVICE fp8_frag lower_frag(block_frag x)
{
    const u32x2 half = x.lo;
    return __builtin_bit_cast(fp8_frag, half);
}

DEVICE fp8_frag upper_frag(block_frag x)
{
    const u32x2 half = x.hi;
    return __builtin_bit_cast(fp8_frag, half);
}

/* K Q^T */
DEVICE void mma(block_acc &c, block_frag a, block_frag b)
{
    FP8_MMA_KQ(c, lower_frag(a), lower_frag(b));
    FP8_MMA_KQ(c, upper_frag(a), upper_frag(b));
}

/* V^T P^T */
DEVICE void mma_vp(block_acc &c, block_frag a, block_frag b)
{
    FP8_MMA_VP(c, lower_frag(a), lower_frag(b));
    FP8_MMA_VP(c, upper_frag(a), upper_frag(b));
}

#endif

/* Four f32 to nearest even: the instructions round two each into a half of the register. */
DEVICE u32 round_four(float x0, float x1, float x2, float x3)
{
    int x = __builtin_nondeterministic_value(0);
    x = __builtin_amdgcn_cvt_pk_fp8_f32(x0, x1, x, false);
    return (u32)__builtin_amdgcn_cvt_pk_fp8_f32(x2, x3, x, true);
}

/* Keys 32 * group .. + 31 of P^T as a B fragment: what the lane has of them, in its order. */
DEVICE block_frag pack_group(const block_acc *p, int group, u32)
{
    const int per_block = ACC / 4; /* words of four */
    block_frag b;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const block_acc &x = p[(4 * group + i) / per_block];
        const int first = (4 * group + i) % per_block * 4;
        b[i] = round_four(x[first], x[first + 1], x[first + 2], x[first + 3]);
    }
    return b;
}

#define SIGN_BITS 0x80808080u
#define TIMES_SIGN(x, sign) times_sign(x, sign)

/* There is no -0 in FNUZ: those bits are NaN. */
DEVICE u32x4 times_sign(u32x4 x, u32 sign)
{
    if (!FP8_FNUZ)
        return x ^ sign;
    return x ^ (((x & 0x7f7f7f7fu) + 0x7f7f7f7fu) & sign);
}

#endif
