/*
 * The gradient of a bias beside that of Q: attn_bwd_dq has every dS in registers, so it writes
 * those of a bias that is not broadcast along anything. What no walk visits is 0. The arguments
 * have dbias only where that suffices: args_dbias_beside() of lib/select.
 *
 * 16 bits: of dS as the operands of the product with K have it, four keys a store if memory lies
 * so. f32: of dS before it is rounded for them.
 */
#ifndef AOTHIP_ATTN_BWD_DBIAS_BESIDE_H
#define AOTHIP_ATTN_BWD_DBIAS_BESIDE_H

#include "gradient_block.h"
#include "packed_block.h"

constexpr int LANE_QUADS = ACC / 4;                   /* quads of keys that a lane has of a block */
constexpr int QUAD_APART = KERNEL_WAVE == 64 ? 8 : 4; /* keys from one to the next */
/* Keys from one lane half's to the other's. */
constexpr int HALF_APART = KERNEL_WAVE == 64 ? 4 : BLOCK / 2;

/* Four keys of the lane's column. */
DEVICE u32x2 packed_quad(const struct packed_block &x, int quad, u32 half)
{
#if MMA_STRAIGHT
    (void)half;
    return quad % 2 ? x.group[quad / 2].hi : x.group[quad / 2].lo;
#else
    /* Eight keys of each lane half, which pack_p() leaves as (0, 2), (1, 3), (4, 6), .. */
    const block_frag &b = x.group[0];
    const u32 even = half ? b[4 + 2 * quad] : b[2 * quad];
    const u32 odd = half ? b[5 + 2 * quad] : b[1 + 2 * quad];
    return {__builtin_amdgcn_perm(odd, even, LOWER_HALVES),
            __builtin_amdgcn_perm(odd, even, UPPER_HALVES)};
#endif
}

/* The rows of dbias that a block has a part of; the lane's own begins with key `key`. */
DEVICE struct near dbias_at(u32 size, int key)
{
    return near_held(HELD_DBIAS, size, lane_column(), key);
}

/* In 16 bits. */
DEVICE void store_dbias(struct packed_block x, const struct context &c, const struct column &column,
                        int key, u32 half)
{
#if LIFTS
    const u32 lower = __builtin_amdgcn_perm(0, column.lifts, 0x01000100);
#pragma unroll
    for (int i = 0; i < BLOCK_GROUPS; i++)
        x.group[i] = lift_chunk(x.group[i], lower);
#else
    (void)column;
#endif
    const int keys = c.place.sequence.seq_k, first = key + (int)lane_half() * HALF_APART;
    const struct near to = dbias_at(2, first);
    if (has_term(c.terms, KERNARG_TERM_DBIAS_QUADS) && key + BLOCK <= keys) {
#pragma unroll
        for (int quad = 0; quad < LANE_QUADS; quad++)
            __builtin_amdgcn_raw_buffer_store_b64(packed_quad(x, quad, half), to.buffer,
                                                  (int)to.at + quad * QUAD_APART * 2, 0, 0);
        return;
    }
#pragma unroll
    for (int quad = 0; quad < LANE_QUADS; quad++) {
        const u32x2 pairs = packed_quad(x, quad, half);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int own = quad * QUAD_APART + i;
            const u32 at = first + own < keys ? to.at + (u32)own * 2 : NOWHERE;
            __builtin_amdgcn_raw_buffer_store_b16((u16)(i % 2 ? pairs[i / 2] >> 16 : pairs[i / 2]),
                                                  to.buffer, (int)at, 0, 0);
        }
    }
}

/* In f32. */
template <class V>
DEVICE void store_wide_dbias(const V &ds, const struct context &c, const struct column &column,
                             int key)
{
    const float factor = lowered(column);
    const int keys = c.place.sequence.seq_k, first = key + (int)acc_row(0);
    const struct near to = dbias_at(4, first);
    each_element<elements_of<V>()>([&](int i) {
        const u32 own = acc_row((u32)i) - acc_row(0);
        const u32 at = first + (int)own < keys ? to.at + own * 4 : NOWHERE;
        const float one = ds[i] * factor;
        __builtin_amdgcn_raw_buffer_store_b32(__builtin_bit_cast(u32, one), to.buffer, (int)at, 0,
                                              0);
    });
}

#endif
