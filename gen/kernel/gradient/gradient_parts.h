/*
 * Where the parts of a gradient lie that several workgroups share, and the sums of attn_bwd_fused:
 * kernarg_share.h.
 */
#ifndef AOTHIP_ATTN_BWD_GRADIENT_PARTS_H
#define AOTHIP_ATTN_BWD_GRADIENT_PARTS_H

#include "gradient_rows.h"

/* Bytes from row to row of parts: rows are of whole blocks of channels. */
DEVICE u32 part_pitch(int dim)
{
    return ((u32)dim + 31) / 32 * 128;
}

/*
 * Row `row` of all rows of all parts, and those behind it. Their number has 32 bits: of more, the
 * workspace would have half a terabyte.
 */
DEVICE struct rows part_rows(kernarg_u64 data, u32 row, int dim)
{
    const u32 pitch = part_pitch(dim);
    return {(char *)data + (kernarg_u64)row * pitch, (kernarg_i64)pitch, 4, dim};
}

constexpr int SUMS_SIDE = 32,
              SUMS_BYTES = SUMS_SIDE * SUMS_SIDE * 4; /* of a block of dq_in_blocks */

/* The blocks of dq of one head; those of the same rows are band_bytes. */
struct dq_blocks {
    GLOBAL char *first;
    u32 band_bytes;
};

DEVICE struct dq_blocks blocks_of(const struct attn_bwd_share_args &args, const struct place &p)
{
    const struct attn_problem &a = args.bwd.problem;
    const kernarg_i64 number = (kernarg_i64)p.sequence.number * a.heads_q + p.head;
    const u32 bands = ((u32)a.seq_q + SUMS_SIDE - 1) / SUMS_SIDE;
    const u32 band_bytes = ((u32)a.dim_qk + SUMS_SIDE - 1) / SUMS_SIDE * SUMS_BYTES;
    return {(GLOBAL char *)args.part_dq + number * bands * band_bytes, band_bytes};
}

#endif
