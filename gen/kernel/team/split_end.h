/*
 * How a workgroup of attn_split that walked as attn_fwd does ends: with rows of partial_o and their
 * sums (kernarg.h). A part of fast_form.h and of team_form.h.
 */
#ifndef AOTHIP_SPLIT_END_H
#define AOTHIP_SPLIT_END_H

typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef GLOBAL f32x4 f32x4_anywhere __attribute__((aligned(4)));

/* Number of a row of partial_o and of partial_sums. */
DEVICE kernarg_i64 partial_row(const struct attn_problem &a, const struct sequence &sequence,
                               const struct row_place &at, const struct attn_split_args &split,
                               const struct job &job)
{
    const kernarg_i64 row = ((kernarg_i64)sequence.number * a.heads_q + at.head) * a.seq_q + at.row;
    return row * split.splits + job.split;
}

/* What P was divided by, and the sum. */
DEVICE void store_sum(const struct attn_split_args &split, kernarg_i64 row, float top, float sum)
{
    ((GLOBAL f32x2 *)split.partial_sums)[row] = f32x2{sum == 0 ? -__FLT_MAX__ : top, sum};
}

/* A lane's O of one row, times `factor`, from channel `first` on. */
DEVICE void store_partial(const block_acc (&from)[O_BLOCKS], float factor,
                          const struct attn_split_args &split, kernarg_i64 row, int dim, u32 first)
{
    GLOBAL float *o = (GLOBAL float *)split.partial_o + row * dim;
#pragma unroll
    for (int block = 0; block < O_BLOCKS; block++)
#pragma unroll
        for (int i = 0; i < ACC; i += CHUNK) {
            u32 channel = first + O_BLOCK(block) * BLOCK + i;
            if ((int)channel >= dim)
                continue;
#if KERNEL_UNALIGNED
            channel = taken_channel(dim, channel);
#endif
#pragma unroll
            for (int j = 0; j < CHUNK; j += 4) {
                const block_acc &x = from[block];
                *(f32x4_anywhere *)(o + channel + j) =
                    f32x4{x[i + j], x[i + j + 1], x[i + j + 2], x[i + j + 3]} * factor;
            }
        }
}

#endif
