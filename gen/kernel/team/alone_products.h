/*
 * The matrix products of a wave whose O occupies all accumulation registers (alone_step.h), as
 * statements in assembly: their constraints say which registers are meant. Left to themselves,
 * compilers want all sums in the same kind of them, S, too (clang 19 in these, 22 in the others),
 * copy to and fro, and spill what there is no room for.
 *
 * Nor do compilers see what is in a statement, so that wait states are left to this file: the
 * emulator's strict mode counts them.
 */
#ifndef AOTHIP_ALONE_PRODUCTS_H
#define AOTHIP_ALONE_PRODUCTS_H

#if defined(__gfx950__)
#define PRODUCT_SIZE "32x32x16_"
#elif defined(__gfx90a__)
#define PRODUCT_SIZE "32x32x8"
#else
#define PRODUCT_SIZE "32x32x8_"
#endif
#if KERNEL_DTYPE == MMA_F16
#define PRODUCT_TYPE "f16"
#elif defined(__gfx90a__)
#define PRODUCT_TYPE "bf16_1k"
#else
#define PRODUCT_TYPE "bf16"
#endif
#define PRODUCT "v_mfma_f32_" PRODUCT_SIZE PRODUCT_TYPE " "

/* Of a fragment, what instruction `part` of its MMA_PARTS takes. */
#if defined(__gfx950__)
typedef u32x4 product_operand;
#define OPERAND_PART(frag, part) frag
#else
typedef u32x2 product_operand;
#define OPERAND_PART(frag, part) part ? frag.hi : frag.lo
#endif

/* C += A B; `begins`: C = A B. What was computed of A or B has to be some instructions ago. */
template <bool begins>
DEVICE void product_of_scores(block_acc &c, product_operand a, product_operand b)
{
    if (begins)
        asm volatile(PRODUCT "%0, %1, %2, 0" : "=&v"(c) : "v"(a), "v"(b));
    else
        asm volatile(PRODUCT "%0, %1, %2, %0" : "+v"(c) : "v"(a), "v"(b));
}

/* C += A B in accumulation registers; `waits`: B may just have been computed. */
template <bool waits>
DEVICE void product_of_output(block_acc &c, product_operand a, product_operand b)
{
    if (waits)
        asm volatile("s_nop 1\n\t" PRODUCT "%0, %1, %2, %0" : "+a"(c) : "v"(a), "v"(b));
    else
        asm volatile(PRODUCT "%0, %1, %2, %0" : "+a"(c) : "v"(a), "v"(b));
}

/* As many wait states as these products need before their sums are read. */
#if defined(__gfx90a__)
#define AWAIT_PRODUCTS "s_nop 15\n\ts_nop 2"
#else
#define AWAIT_PRODUCTS "s_nop 11"
#endif

/* Before these sums are read. */
DEVICE void await_scores(block_acc &c)
{
    asm volatile(AWAIT_PRODUCTS : "+v"(c));
}

/* Before O is. */
DEVICE void await_output()
{
    asm volatile(AWAIT_PRODUCTS);
}

/* Elements first .. first + 3 of a block of O times `ratio`, in place. */
DEVICE void scale_four(block_acc &o, int first, float ratio)
{
    float a = o[first], b = o[first + 1], c = o[first + 2], d = o[first + 3], w, x, y, z;
    asm volatile("v_accvgpr_read_b32 %4, %0\n\tv_accvgpr_read_b32 %5, %1\n\t"
                 "v_accvgpr_read_b32 %6, %2\n\tv_accvgpr_read_b32 %7, %3\n\t"
                 "v_mul_f32_e32 %4, %8, %4\n\tv_mul_f32_e32 %5, %8, %5\n\t"
                 "v_mul_f32_e32 %6, %8, %6\n\tv_mul_f32_e32 %7, %8, %7\n\t"
                 "v_accvgpr_write_b32 %0, %4\n\tv_accvgpr_write_b32 %1, %5\n\t"
                 "v_accvgpr_write_b32 %2, %6\n\tv_accvgpr_write_b32 %3, %7"
                 : "+a"(a), "+a"(b), "+a"(c), "+a"(d), "=&v"(w), "=&v"(x), "=&v"(y), "=&v"(z)
                 : "v"(ratio));
    o[first] = a;
    o[first + 1] = b;
    o[first + 2] = c;
    o[first + 3] = d;
}

DEVICE void scale_output(block_acc &o, float ratio)
{
#pragma unroll
    for (int i = 0; i < ACC; i += 4)
        scale_four(o, i, ratio);
}

#endif
