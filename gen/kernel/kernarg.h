/*
 * The kernel arguments, byte for byte as the GPU reads them: one description, compiled into the
 * kernels (HIP) and into the library that fills them (lib/args.c, C11).
 *
 * Raise FORMAT_KERNARG_VERSION with any change: the loader refuses images of another version.
 */
#ifndef AOTHIP_KERNARG_H
#define AOTHIP_KERNARG_H

#ifdef __HIP__
typedef signed int kernarg_i32;
typedef unsigned int kernarg_u32;
typedef signed long kernarg_i64;
typedef unsigned long kernarg_u64;
#define KERNARG_ASSERT(e, text) static_assert(e, text)
#else
#include <stddef.h>
#include <stdint.h>
typedef int32_t kernarg_i32;
typedef uint32_t kernarg_u32;
typedef int64_t kernarg_i64;
typedef uint64_t kernarg_u64;
#define KERNARG_ASSERT(e, text) _Static_assert(e, text)
#endif

#define FORMAT_KERNARG_VERSION 1

/* Strides of a (batch, head, sequence, channel) tensor in elements; the channel stride is 1. */
struct kernarg_strides {
    kernarg_i64 batch, head, seq;
};

/*
 * Kernels without FORMAT_FEATURE_UNALIGNED address a tile of up to 128 rows with 32-bit offsets:
 * the sequence strides of q, k, v and o must not exceed this. Beside that, they need
 * 16-byte-aligned tensors, outer strides that are multiples of 8 elements, and dims that are
 * multiples of 8.
 */
#define KERNARG_ALIGNED_STRIDE_MAX (1 << 23) /* elements */

/*
 * attn_fwd. Passed by value as the kernel's only parameter.
 *
 * Grid: x = tiles_q * heads_q, y * z >= batch, with tiles_q = ceil(seq_q / tile_q). A workgroup
 * (x, y, z) handles head x % heads_q, query tile tiles_q - 1 - x / heads_q (long causal rows start
 * first) and batch entry z * gridDim.y + y; it returns at once where that is >= batch.
 *
 * Visible keys of row m: the interval [max(0, m + key_first), min(seq_k - 1, m + key_last)].
 * Kernels without FORMAT_FEATURE_MASK ignore key_first and key_last: all keys are visible.
 */
struct attn_fwd_args {
    kernarg_u64 q, k, v, o; /* device addresses; type of the kernel's name */
    kernarg_u64 lse;        /* f32 (batch, heads_q, seq_q) contiguous, or 0 */
    struct kernarg_strides q_stride, k_stride, v_stride, o_stride;
    kernarg_i32 batch, heads_q, heads_k;
    kernarg_i32 group; /* heads_q / heads_k */
    kernarg_i32 seq_q, seq_k;
    kernarg_i32 dim_qk, dim_v;
    kernarg_i32 grid_y;    /* workgroups along y */
    float scale;           /* softmax scale, natural units */
    kernarg_i32 key_first; /* in [-2^30, 2^30]; -2^30 where unbounded */
    kernarg_i32 key_last;  /* in [-2^30, 2^30];  2^30 where unbounded */
};

KERNARG_ASSERT(sizeof(struct kernarg_strides) == 24, "kernarg layout");
KERNARG_ASSERT(sizeof(struct attn_fwd_args) == 40 + 96 + 48, "kernarg layout");

#endif
