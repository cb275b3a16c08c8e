/*
 * How a workgroup of attn_split that walked as attn_fwd does ends: with rows of partial_o and their
 * sums (kernarg.h). A part of fast_form.h.
 */
#ifndef AOTHIP_SPLIT_END_H
#define AOTHIP_SPLIT_END_H

typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef GLOBAL f32x4 f32x4_anywhere __attribute__((aligned(4)));

/* Divides by the sum and stores O, in f32; then the shift and the sum. */
DEVICE void finish(struct progress &x, const struct job &job, const struct sequence &sequence,
                   float factor, bool wide, const struct attn_fwd_args &args)
{
    const struct attn_problem &a = args.problem;
    const struct attn_split_args &split = late_arguments<struct attn_split_args>();
    const struct softmax_state &state = x.softmax[0];
    u32 lane = lane_id();
    asm volatile("" : "+v"(lane)); /* computed here, and not kept in registers */
    const int number = number_of_lane(job), half = (int)lane / BLOCK;
    const struct row_place at = place_of_row(job.rows, number, job.kv_head);
    kernarg_i64 row = ((kernarg_i64)sequence.number * a.heads_q + at.head) * a.seq_q + at.row;
    row = row * split.splits + job.split;
    float sum = total(state.sum);
    sum = (sum + other_half(sum)) * SOFTMAX_UNBIAS;
    float top = (scaled_shift(state.shift, factor) + SOFTMAX_BIAS) * LN_2;
    if (wide)
        top = state.shift * SCORE_UNIT(a, sequence, job);
    if (number > job.rows.last)
        return;
    if (half == 0)
        ((GLOBAL f32x2 *)split.partial_sums)[row] = f32x2{sum == 0 ? -__FLT_MAX__ : top, sum};
    if (sum == 0) /* attn_merge does not look at O */
        return;
    float inverse = SOFTMAX_UNBIAS * __builtin_amdgcn_rcpf(sum);
#if KERNEL_SCALES
    inverse *= output_scale(sequence.number, job.kv_head);
#endif
    if (has(x.terms, TERM_DROPOUT))
        inverse *= a.dropout_scale;
    GLOBAL float *o = (GLOBAL float *)split.partial_o + row * a.dim_v;
#pragma unroll
    for (int block = 0; block < O_BLOCKS; block++)
#pragma unroll
        for (int i = 0; i < ACC; i += CHUNK) {
            u32 channel = O_BLOCK(block) * BLOCK + ACC * half + i;
            if ((int)channel >= a.dim_v)
                continue;
#if KERNEL_UNALIGNED
            channel = taken_channel(a.dim_v, channel);
#endif
#pragma unroll
            for (int j = 0; j < CHUNK; j += 4) {
                const block_acc &from = x.o[0][block];
                *(f32x4_anywhere *)(o + channel + j) =
                    f32x4{from[i + j], from[i + j + 1], from[i + j + 2], from[i + j + 3]} * inverse;
            }
        }
}

#endif
