/*
 * The arguments of attn_bwd_dkdv, attn_bwd_dq, attn_bwd_sum, attn_bwd_fused and attn_bwd_begin: as
 * kernarg.h, whose version counts for them, byte for byte as the GPU reads them.
 */
#ifndef AOTHIP_KERNARG_SHARE_H
#define AOTHIP_KERNARG_SHARE_H

#include "kernarg.h"

/*
 * Where a launch would not fill the GPU, several workgroups share what attn_bwd_dkdv or attn_bwd_dq
 * has for one, each with a part of the walk: x of the grid is parts times what kernarg.h says, the
 * part being the slowest index. Part i of dk and dv has every parts_heads-th of the group's heads,
 * from head i % parts_heads on, and run i / parts_heads of the parts_rows runs of tiles of queries;
 * part i of dq has run i of the parts_keys runs of tiles of keys. Each writes what it finds in f32,
 * dk and dq not yet scaled, and attn_bwd_sum adds the parts up in their order, scales and rounds:
 *
 *     part_dk, part_dv    (batch, heads_k, parts_heads * parts_rows, seq_k, pitch), contiguous
 *     part_dq             (batch, heads_q, parts_keys, seq_q, pitch)
 *
 * where pitch is dim_qk or dim_v (part_dv), rounded up to a multiple of 32, and problem.seq_k whole
 * tiles of attn_bwd_dkdv where there are parts of dk or dv. Rows beyond those of a sequence are not
 * written.
 *
 * attn_bwd_fused has the grid of attn_bwd_dkdv and nothing shared; all its workgroups add what they
 * find of dq, not yet scaled, to the one part of it, with parts_keys = 1, which attn_bwd_begin,
 * whose workgroups have BEGIN_TILES * tile_q rows, has made zero. That part has dq_in_blocks: 32
 * rows and 32 channels lie together, as a wave has them of a product,
 *
 *     part_dq             (batch, heads_q, ceil(seq_q / 32), pitch / 32, 4, 4, 2, 32), contiguous
 *
 * where row r of a block is (r / 8, r % 4, r / 4 % 2).
 *
 * Grid of attn_bwd_sum: a workgroup for tile_q rows and 64 channels of a head of a gradient that
 * has parts, x = ceil(seq_k / tile_q) * (ceil(dim_qk / 64) of dk + ceil(dim_v / 64) of dv) *
 * heads_k and behind them ceil(seq_q / tile_q) * ceil(dim_qk / 64) * heads_q of dq; y, z as
 * attn_fwd. With dq_in_blocks a workgroup has DQ_BLOCK_TILES * tile_q rows of dq.
 */
#define DQ_BLOCK_TILES 4
#define BEGIN_TILES 2

struct attn_bwd_share_args {
    struct attn_bwd_args bwd;
    kernarg_u64 part_dq, part_dk, part_dv; /* f32; or 0: no parts, or not wanted */
    kernarg_i32 parts_keys;                /* 1 where dq is not shared */
    kernarg_i32 parts_heads, parts_rows;   /* both 1 where dk and dv are not */
    kernarg_i32 dq_in_blocks;              /* of attn_bwd_fused */
};

KERNARG_ASSERT(sizeof(struct attn_bwd_share_args) == sizeof(struct attn_bwd_args) + 40,
               "kernarg layout");

#endif
