/*
 * The arguments of attn_merge_part, which has no attention problem: as kernarg.h, whose version
 * counts for them, byte for byte as the GPU reads them.
 */
#ifndef AOTHIP_KERNARG_PART_H
#define AOTHIP_KERNARG_PART_H

#include "kernarg.h"

/* Bits of attn_merge_part_args.flags. */
enum kernarg_part_flag {
    KERNARG_PART_O_F32 = 1 << 0, /* o is f32; else of the type of part_o, which the kernel's is */
    KERNARG_PART_BASE2 = 1 << 1, /* lse and part_lse are logarithms to base 2; else natural */
};

/*
 * attn_merge_part: a result of attention and that of the same rows over other keys become, in the
 * place of the first, the one over both. Row by row, with a = lse, b = part_lse:
 *
 *     lse = ln(exp(a) + exp(b)),   o = (exp(a) o + exp(b) part_o) / (exp(a) + exp(b))
 *
 * An infinite a or b, of either sign, belongs to a row that has seen no key; its o is not read. Of
 * two such o becomes 0 and lse +infinity. A row that part_o says nothing about is not written.
 *
 * Grid: x = ceil(seq_q / tile_q) * heads, y * z >= batch. Workgroup x: tile x / heads of head
 * x % heads.
 */
struct attn_merge_part_args {
    kernarg_u64 o, part_o, lse, part_lse; /* lse: f32 */
    struct kernarg_strides o_stride, part_o_stride, lse_stride, part_lse_stride;
    kernarg_i32 batch, heads, seq_q, dim;
    kernarg_i32 grid_y;
    kernarg_u32 flags; /* enum kernarg_part_flag */
};

KERNARG_ASSERT(sizeof(struct attn_merge_part_args) == 32 + 96 + 24, "kernarg layout");

#endif
