/*
 * Of what a walk streams, the rows that a wave carries. Included behind the walk.
 */
#ifndef AOTHIP_ATTN_BWD_CARRIED_ROWS_H
#define AOTHIP_ATTN_BWD_CARRIED_ROWS_H

#include "gradient_rows.h"

/* Whether both are computed, and one of them taken: where registers are too short for numbers to
 * choose from. */
#define CHOOSES_LATE (KERNEL_WAVE == 32 || (LIFTS && WALK_SLABS == 2))

/* One of both, as numbers: pointers to them would be chosen by numbers that the walk has no scalar
 * registers for. */
DEVICE struct kernarg_strides chosen(bool first, struct kernarg_strides x, struct kernarg_strides y)
{
    return {first ? x.batch : y.batch, first ? x.head : y.head, first ? x.seq : y.seq};
}

#if OWNS_KEYS
/* Q and dO, or the one of them that the wave carries, before rewind() to the walk's first tile. */
DEVICE void carry_rows(struct stream &x, const struct attn_bwd_args &args, struct place p, int tile)
{
#if CARRIES_BOTH || KERNEL_DTYPE == 1
    (void)tile;
    set_rows(x, q_rows(args, p), do_rows(args, p));
#elif CHOOSES_LATE
    p.sequence.start_q += tile * STREAM_ROWS;
    set_rows(x, q_rows(args, p), do_rows(args, p));
#else
    const struct attn_problem &a = args.problem;
    const bool first = carrier() == 0;
    p.sequence.start_q += tile * STREAM_ROWS;
    const kernarg_u64 q = a.q, d_o = args.d_o;
    const int dim_qk = a.dim_qk, dim_v = a.dim_v;
    x.mine = query_rows(args, p, first ? q : d_o, chosen(first, a.q_stride, args.do_stride),
                        first ? dim_qk : dim_v);
    if (KERNEL_UNALIGNED && !first)
        x.mine.channel = args.do_channel * ELEMENT_BYTES;
#endif
}
#else
/* K and V likewise. */
DEVICE void carry_rows(struct stream &x, const struct attn_bwd_args &args, struct place p, int tile)
{
#if CARRIES_BOTH || KERNEL_DTYPE == 1
    (void)tile;
    set_rows(x, k_rows(args, p), v_rows(args, p));
#elif CHOOSES_LATE
    p.sequence.start_k += tile * STREAM_ROWS;
    set_rows(x, k_rows(args, p), v_rows(args, p));
#else
    const struct attn_problem &a = args.problem;
    const bool first = carrier() == 0;
    p.sequence.start_k += tile * STREAM_ROWS;
    const kernarg_u64 k = a.k, v = a.v;
    const int dim_qk = a.dim_qk, dim_v = a.dim_v;
    x.mine = key_rows(args, p, first ? k : v, chosen(first, a.k_stride, a.v_stride),
                      first ? dim_qk : dim_v);
#endif
}
#endif

#endif
