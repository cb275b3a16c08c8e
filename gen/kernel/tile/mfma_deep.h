/* mma() of gfx950: one matrix instruction of depth 16. Included by mma_mfma.h. */
#ifndef AOTHIP_MFMA_DEEP_H
#define AOTHIP_MFMA_DEEP_H

#if !KERNEL_FP8

typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));

DEVICE void mma(block_acc &c, block_frag a, block_frag b)
{
#if KERNEL_DTYPE == MMA_F16
    c = __builtin_amdgcn_mfma_f32_32x32x16_f16(__builtin_bit_cast(f16x8, a),
                                               __builtin_bit_cast(f16x8, b), c, 0, 0, 0);
#else
    c = __builtin_amdgcn_mfma_f32_32x32x16_bf16(__builtin_bit_cast(bf16x8, a),
                                                __builtin_bit_cast(bf16x8, b), c, 0, 0, 0);
#endif
}

constexpr int MMA_PARTS = 1;

/* With a call beside it. */
template <class F> DEVICE void mma_beside(block_acc &c, block_frag a, block_frag b, F beside)
{
    mma(c, a, b);
    beside(constant<0>());
}

#endif

/* This value in the lane that holds the other rows of the same column. */
DEVICE float other_half(float x)
{
    /* Of two equal registers the swap makes the lower half twice, and the upper half twice. */
    const u32 bits = __builtin_bit_cast(u32, x);
    const auto halves = __builtin_amdgcn_permlane32_swap(bits, bits, false, false);
    return __builtin_bit_cast(float, halves[0] ^ halves[1] ^ bits);
}

#endif
