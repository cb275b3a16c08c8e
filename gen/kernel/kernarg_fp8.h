/*
 * What kernels with FP8 tensors have behind the arguments of those without: as kernarg.h, whose
 * version counts for them, byte for byte as the GPU reads them.
 */
#ifndef AOTHIP_KERNARG_FP8_H
#define AOTHIP_KERNARG_FP8_H

#include "kernarg.h"

/* What elements stand for: their value times data[b * batch + g * head], sequence b, key head g. */
struct kernarg_scale {
    kernarg_u64 data; /* device address of f32; 0: 1 */
    kernarg_i64 batch, head;
};

struct kernarg_fp8 {
    struct kernarg_scale q, k, v; /* q: where it is FP8 */
    kernarg_i32 dtype;            /* of k and v: enum aothip_dtype */
    kernarg_i32 o_dtype;          /* enum aothip_dtype */
    kernarg_i32 q_dtype;          /* the same: that of k and v, or that of elements */
    kernarg_i32 reserved;
};

struct attn_fwd_fp8_args {
    struct attn_fwd_args fwd;
    struct kernarg_fp8 fp8;
};

/* partial_o has been multiplied by the scale of v. */
struct attn_split_fp8_args {
    struct attn_split_args split;
    struct kernarg_fp8 fp8;
};

/*
 * k_new and v_new have the type of q; what is written is divided by the scale, rounded to nearest
 * even and not beyond the largest number.
 */
struct attn_append_fp8_args {
    struct attn_append_args append;
    struct kernarg_fp8 fp8;
};

KERNARG_ASSERT(sizeof(struct kernarg_fp8) == 88, "kernarg layout");
KERNARG_ASSERT(sizeof(struct attn_fwd_fp8_args) == sizeof(struct attn_fwd_args) + 88,
               "kernarg layout");
KERNARG_ASSERT(sizeof(struct attn_split_fp8_args) == sizeof(struct attn_split_args) + 88,
               "kernarg layout");
KERNARG_ASSERT(sizeof(struct attn_append_fp8_args) == sizeof(struct attn_append_args) + 88,
               "kernarg layout");

#endif
