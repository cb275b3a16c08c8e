/*
 * Arguments that are on their way at once, where they are wanted one after the other: each of them
 * would wait for memory, which takes a small problem as long as a block of products. Scalar
 * registers are free where they are called.
 */
#ifndef AOTHIP_ATTN_BWD_EARLY_ARGUMENTS_H
#define AOTHIP_ATTN_BWD_EARLY_ARGUMENTS_H

#include "gradient_rows.h"

/* What a workgroup wants first: where its rows and its part of them are. */
DEVICE void fetch_first(const struct attn_bwd_share_args &x)
{
#if KERNEL_WAVE == 64
    const struct attn_problem &a = x.bwd.problem;
    asm volatile("" ::"s"(a.grid_y), "s"(a.batch), "s"(a.heads_q), "s"(a.heads_k), "s"(a.group),
                 "s"(a.seq_q), "s"(a.seq_k), "s"(a.flags), "s"(a.key_first), "s"(a.key_last),
                 "s"(a.q_seqs.max), "s"(a.k_seqs.max), "s"(a.keys_most), "s"(x.bwd.tiles_k),
                 "s"(x.part_dq), "s"(x.part_dk), "s"(x.part_dv), "s"(x.parts_keys),
                 "s"(x.parts_heads), "s"(x.parts_rows));
#else
    (void)x;
#endif
}

/* What a walk over queries begins with. */
DEVICE void fetch_stream(const struct attn_bwd_args &x)
{
#if KERNEL_WAVE == 64 && KERNEL_SCORE && !KERNEL_UNALIGNED
    const struct attn_problem &a = x.problem;
    asm volatile("" ::"s"(x.terms), "s"(a.flags), "s"(a.keys_most), "s"(a.lse_stride.batch),
                 "s"(a.lse_stride.head), "s"(a.lse_stride.seq), "s"(a.lse_unit), "s"(a.q),
                 "s"(x.d_o), "s"(a.q_stride.batch), "s"(a.q_stride.head), "s"(a.q_stride.seq),
                 "s"(x.do_stride.batch), "s"(x.do_stride.head), "s"(x.do_stride.seq), "s"(a.dim_qk),
                 "s"(a.dim_v), "s"(a.q_seqs.packed), "s"(x.lse), "s"(x.delta), "s"(a.group));
#else
    (void)x;
#endif
}

/* All that attn_bwd_sum wants. */
DEVICE void fetch_sums(const struct attn_bwd_share_args &x)
{
    const struct attn_bwd_args &b = x.bwd;
    const struct attn_problem &a = b.problem;
    asm volatile("" ::"s"(x.part_dq), "s"(x.part_dk), "s"(x.part_dv), "s"(x.parts_keys),
                 "s"(x.parts_heads), "s"(x.parts_rows), "s"(x.dq_in_blocks), "s"(a.dim_qk),
                 "s"(a.dim_v), "s"(a.seq_q), "s"(a.seq_k), "s"(a.flags), "s"(a.heads_q),
                 "s"(a.heads_k), "s"(a.scale), "s"(a.q_seqs.max), "s"(a.k_seqs.max), "s"(a.batch));
    asm volatile("" ::"s"(b.dq), "s"(b.dk), "s"(b.dv), "s"(b.dq_stride.batch),
                 "s"(b.dq_stride.head), "s"(b.dq_stride.seq), "s"(b.dk_stride.batch),
                 "s"(b.dk_stride.head), "s"(b.dk_stride.seq), "s"(b.dv_stride.batch),
                 "s"(b.dv_stride.head), "s"(b.dv_stride.seq));
}

#endif
