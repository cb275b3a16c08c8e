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
#if KERNEL_WAVE == 64 || ARGUMENTS_EARLY
    const struct attn_problem &a = x.bwd.problem;
    asm volatile("" ::"s"(a.grid_y), "s"(a.batch), "s"(a.heads_x), "s"(a.heads_k), "s"(a.group),
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
#if ARGUMENTS_EARLY || (KERNEL_WAVE == 64 && KERNEL_SCORE && !KERNEL_UNALIGNED)
    const struct attn_problem &a = x.problem;
    /* clang-format off */
    asm volatile("" ::
#if KERNEL_SCORE
                 "s"(x.terms), "s"(a.flags), "s"(a.keys_most),
#else
                 "s"(a.flags), "s"(a.scale),
#endif
                 "s"(a.lse_stride.batch), "s"(a.lse_stride.head), "s"(a.lse_stride.seq),
                 "s"(a.lse_unit), "s"(a.q), "s"(x.d_o), "s"(a.q_stride.batch), "s"(a.q_stride.head),
                 "s"(a.q_stride.seq), "s"(x.do_stride.batch), "s"(x.do_stride.head),
                 "s"(x.do_stride.seq), "s"(a.dim_qk), "s"(a.dim_v), "s"(a.q_seqs.packed),
#if ARGUMENTS_EARLY
                 "s"(((const struct attn_bwd_share_args &)x).parts_heads),
#endif
                 "s"(x.lse), "s"(x.delta), "s"(a.group));
    /* clang-format on */
#else
    (void)x;
#endif
}

/* What a walk over keys begins with. */
DEVICE void fetch_queries(const struct attn_bwd_args &x)
{
#if ARGUMENTS_STAY
    const struct attn_problem &a = x.problem;
    asm volatile("" ::"s"(a.flags), "s"(a.lse_stride.batch), "s"(a.lse_stride.head),
                 "s"(a.lse_stride.seq), "s"(a.lse_size), "s"(a.lse_unit), "s"(x.lse), "s"(x.delta),
                 "s"(a.dim_qk), "s"(a.dim_v), "s"(a.q_seqs.packed), "s"(a.k_seqs.packed),
                 "s"(a.scale), "s"(a.k), "s"(a.v), "s"(a.k_stride.batch), "s"(a.k_stride.head),
                 "s"(a.k_stride.seq), "s"(a.v_stride.batch), "s"(a.v_stride.head),
                 "s"(a.v_stride.seq), "s"(a.q), "s"(x.d_o), "s"(a.q_stride.batch),
                 "s"(a.q_stride.head), "s"(a.q_stride.seq), "s"(x.do_stride.batch),
                 "s"(x.do_stride.head), "s"(x.do_stride.seq));
#else
    (void)x;
#endif
}

/* The owned rows of a walk over queries. */
DEVICE void fetch_owned(const struct attn_bwd_args &x)
{
#if OWNS_KEYS && ARGUMENTS_EARLY
    const struct attn_problem &a = x.problem;
    asm volatile("" ::"s"(a.k), "s"(a.v), "s"(a.k_stride.batch), "s"(a.k_stride.head),
                 "s"(a.k_stride.seq), "s"(a.v_stride.batch), "s"(a.v_stride.head),
                 "s"(a.v_stride.seq), "s"(a.dim_qk), "s"(a.dim_v), "s"(a.k_seqs.packed));
#else
    (void)x;
#endif
}

/* Where the results of a walk go. */
DEVICE void fetch_results(const struct attn_bwd_share_args &x)
{
#if ARGUMENTS_EARLY
    const struct attn_problem &a = x.bwd.problem;
#if OWNS_KEYS
    asm volatile("" ::"s"(x.part_dk), "s"(x.part_dv), "s"(x.parts_heads), "s"(x.parts_rows),
                 "s"(x.bwd.dk), "s"(x.bwd.dv), "s"(a.heads_k), "s"(a.seq_k), "s"(a.dim_qk),
                 "s"(a.dim_v));
#else
    asm volatile("" ::"s"(x.part_dq), "s"(x.parts_keys), "s"(a.heads_q), "s"(a.seq_q),
                 "s"(a.dim_qk));
#endif
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
