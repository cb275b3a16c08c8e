/*
 * Forward attention as attn_fwd.hip computes it, of Q, K and V of one FP8 type: both products are
 * of FP8, by matrix instructions (mma_fp8.h), and O is f16 or bf16. The fast form alone, without
 * score terms: 16-byte-aligned rows, head dims that are multiples of sixteen.
 *
 * Compile-time parameters: as attn_fwd.hip, but
 *
 *     KERNEL_DTYPE    5 e4m3, 6 e5m2, 7 e4m3fnuz, 8 e5m2fnuz (enum aothip_dtype)
 *     KERNEL_DIM      64 or 128
 */
#include "fast_form.h"
