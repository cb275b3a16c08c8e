/* Where the parts of a gradient lie that several workgroups share: kernarg_share.h. */
#ifndef AOTHIP_ATTN_BWD_PART_ROWS_H
#define AOTHIP_ATTN_BWD_PART_ROWS_H

#include "gradient_rows.h"
#include "kernarg_share.h"

/* As args_here(). */
DEVICE const struct attn_bwd_share_args &share_here()
{
    return (const struct attn_bwd_share_args &)args_here();
}

/* Matrix `number` of those of parts. Rows are of whole blocks of channels. */
DEVICE struct rows part_rows(kernarg_u64 data, kernarg_i64 number, int rows, int dim)
{
    const kernarg_i64 pitch = (dim + 31) / 32 * 128;
    return {(char *)data + number * rows * pitch, pitch, 4, dim};
}

#endif
