/* A block of dS as the operands that it becomes, for those who want it for several products. */
#ifndef AOTHIP_ATTN_BWD_PACKED_BLOCK_H
#define AOTHIP_ATTN_BWD_PACKED_BLOCK_H

#include "mma.h"

constexpr int BLOCK_GROUPS = BLOCK / 16;

/* A block of dS as the operands of multiply_turned(). */
struct packed_block {
    block_frag group[BLOCK_GROUPS];
};

DEVICE struct packed_block pack_block(const block_acc &ds, u32 half)
{
    struct packed_block to;
#pragma unroll
    for (int i = 0; i < BLOCK_GROUPS; i++)
        to.group[i] = pack_p(ds, i, half);
    return to;
}

#endif
