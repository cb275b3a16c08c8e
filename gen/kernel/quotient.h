/*
 * Quotients of numbers that are seldom large. The hardware has no instruction for them.
 */
#ifndef AOTHIP_QUOTIENT_H
#define AOTHIP_QUOTIENT_H

#include "kernarg.h"

/*
 * n / d. Of a small n, n + 1/2 is further from a multiple of d than the product with the inverse of
 * d may be off, which is 1.5 * 2^-23 of it at most. Uniform.
 */
static __attribute__((device)) inline __attribute__((always_inline)) kernarg_u32
quotient_of(kernarg_u32 n, kernarg_u32 d)
{
#if KERNEL_WAVE == 64 || PLANS_LEAN
    if (__builtin_expect(n < 1 << 20, 1)) {
        kernarg_u32 x = (kernarg_u32)(((float)n + 0.5f) * __builtin_amdgcn_rcpf((float)d));
        asm("" : "+v"(x)); /* or the conversion would be made of a scalar */
        return __builtin_amdgcn_readfirstlane(x);
    }
#endif
    return __builtin_amdgcn_readfirstlane(n / d);
}

/* n / d of lanes that have an n each, less than d and QUOTIENT_MORE; d is uniform. */
constexpr int QUOTIENT_MORE = 1 << 16;

static __attribute__((device)) inline __attribute__((always_inline)) kernarg_u32
quotient_of_lane(kernarg_u32 n, kernarg_u32 d)
{
    if (__builtin_expect(d >= 1 << 19, 0))
        return n >= d ? 1 : 0;
    return (kernarg_u32)(((float)n + 0.5f) * __builtin_amdgcn_rcpf((float)d));
}

#endif
