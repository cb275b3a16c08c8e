/*
 * K and V of aligned rows that come to LDS in parts of STAGE_DIM channels.
 */
#ifndef AOTHIP_FWD_KEY_PARTS_H
#define AOTHIP_FWD_KEY_PARTS_H

#include "cargo_aligned.h"
#include "query_rows.h"

static_assert(!KERNEL_PAGED, "aligned rows in pages have up to 128 channels");

struct keys {
    struct slice k, v;
    int seq_k;
};

DEVICE struct keys keys_of(const struct attn_problem &a, const struct sequence &sequence,
                           const struct job &job)
{
    return {slice_of(a.k, a.k_stride, sequence.batch_k, sequence.start_k, job.kv_head, a.dim_qk),
            slice_of(a.v, a.v_stride, sequence.batch_k, sequence.start_k, job.kv_head, a.dim_v),
            sequence.seq_k};
}

/* Part `part` of the channels. */
DEVICE struct slice part_of(const struct slice &x, int part)
{
    return {x.base + part * STAGE_DIM * 2, x.pitch, x.dim - part * STAGE_DIM};
}

DEVICE struct tile_view tile_at(const struct slice &x, int seq_k, int tile)
{
    int left = seq_k - tile * KERNEL_TILE_K;
    return {row_at(x, (kernarg_i64)tile * KERNEL_TILE_K),
            left < KERNEL_TILE_K ? left : KERNEL_TILE_K};
}

#endif
