/*
 * The scales of FP8 tensors and the type of O. The scales of q and k go into the softmax's, that of
 * v into O at the end, so that they cost nothing per element. Without FP8 there are none.
 */
#ifndef AOTHIP_FWD_FP8_SCALES_H
#define AOTHIP_FWD_FP8_SCALES_H

/* Kernels of the fast form that have them. */
#define KERNEL_SCALES (KERNEL_FP8 || (KERNEL_CACHE && !KERNEL_UNALIGNED))

#if KERNEL_SCALES

#include "fp8_arguments.h"

#define KERNEL_ARGUMENTS fp8_arguments all
#define FWD_ARGUMENTS all.FWD_OF_FP8

DEVICE const struct kernarg_fp8 &late_fp8()
{
    return late_arguments<fp8_arguments>().fp8;
}

DEVICE float scale_entry(const struct kernarg_scale &scale, int number, int kv_head)
{
    const kernarg_i64 i = number * scale.batch + kv_head * scale.head;
    return scale.data ? ((const_float)scale.data)[i] : 1;
}

/* The softmax's scale, its sign included. */
DEVICE float signed_scale(const struct attn_problem &a, int number, int kv_head)
{
    return a.scale * scale_entry(late_fp8().q, number, kv_head) *
           scale_entry(late_fp8().k, number, kv_head);
}

DEVICE float output_scale(int number, int kv_head)
{
    return scale_entry(late_fp8().v, number, kv_head);
}

#define SIGNED_SCALE(a, sequence, job) signed_scale(a, sequence.number, job.kv_head)

#else

#if KERNEL_SPLIT
#define KERNEL_ARGUMENTS struct attn_split_args all
#define FWD_ARGUMENTS all.fwd
#else
#define KERNEL_ARGUMENTS struct attn_fwd_args args
#define FWD_ARGUMENTS args
#endif
#define SIGNED_SCALE(a, sequence, job) a.scale

#endif
#define SCORE_SCALE(a, sequence, job) __builtin_fabsf(SIGNED_SCALE(a, sequence, job))

#if KERNEL_FP8

/* O has 16 bits: its rows in units of a byte, and what a chunk of them is. */
#define O_CHUNK 8
#define O_CHANNEL(channel) (channel) * 2

DEVICE struct slice output_slice(const struct attn_fwd_args &args, const struct sequence &sequence,
                                 int head)
{
    const struct kernarg_strides &stride = args.o_stride;
    return slice_of(args.o, {stride.batch * 2, stride.head * 2, stride.seq * 2}, sequence.batch_q,
                    sequence.start_q, head, args.problem.dim_v * 2);
}

DEVICE u32 round_pair_even(float low, float high)
{
    asm("" : "+v"(low), "+v"(high)); /* as in round.h: no fusing with the multiplication */
    if (late_fp8().o_dtype == MMA_BF16)
        return element_to_bf16(low) | (u32)element_to_bf16(high) << 16;
    return element_to_f16(low) | (u32)element_to_f16(high) << 16;
}

#else

#define O_CHUNK CHUNK
#define O_CHANNEL(channel) channel

#endif

#endif
