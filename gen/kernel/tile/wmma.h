/*
 * v_wmma_f32_16x16x16_{f16,bf16} of RDNA 3 and RDNA 4, wave32: what mma_wmma.h and mma_16.h have in
 * common. Both declare block_acc, a lane's eight f32 of C, before they include this.
 */
#ifndef AOTHIP_WMMA_H
#define AOTHIP_WMMA_H

/*
 * What a lane has of its row of A or its column of B: RDNA 3 all sixteen k, the same in both halves
 * of the lanes, RDNA 4 eight, k = 8h .. 8h + 7 in half h.
 */
#if defined(__GFX12__)
constexpr int FRAG_K = 8;
#define WMMA(type) __builtin_amdgcn_wmma_f32_16x16x16_##type##_w32_gfx12
#else
constexpr int FRAG_K = 16;
#define WMMA(type) __builtin_amdgcn_wmma_f32_16x16x16_##type##_w32
#endif

typedef u32 block_frag __attribute__((ext_vector_type(FRAG_K / 2)));
typedef _Float16 f16_frag __attribute__((ext_vector_type(FRAG_K)));
typedef short bf16_frag __attribute__((ext_vector_type(FRAG_K)));

#if !KERNEL_FP8 /* mma_fp8.h */

DEVICE void mma(block_acc &c, block_frag a, block_frag b)
{
#if KERNEL_DTYPE == MMA_F16
    c = WMMA(f16)(__builtin_bit_cast(f16_frag, a), __builtin_bit_cast(f16_frag, b), c);
#else
    c = WMMA(bf16)(__builtin_bit_cast(bf16_frag, a), __builtin_bit_cast(bf16_frag, b), c);
#endif
}

#endif

/*
 * This value in lane l ^ 16. `dying` is any value of no further use: the instruction overwrites its
 * register, and the compiler would have to copy one that lives on.
 */
DEVICE u32 exchange_halves(u32 x, u32 dying)
{
    return __builtin_amdgcn_permlanex16(dying, x, 0x76543210, 0xfedcba98, false, false);
}

#endif
