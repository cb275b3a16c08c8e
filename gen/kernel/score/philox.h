/*
 * Dropout: Philox4x32-10 (Salmon et al. 2011) and which element of P takes which word of it.
 * kernarg.h has the rule.
 */
#ifndef AOTHIP_PHILOX_H
#define AOTHIP_PHILOX_H

#include "tile.h"

/* The four words for a counter whose upper 64 bits are 0. */
DEVICE u32x4 philox(kernarg_u64 seed, kernarg_u64 counter)
{
    u32 key0 = (u32)seed, key1 = (u32)(seed >> 32);
    u32x4 c = {(u32)counter, (u32)(counter >> 32), 0, 0};
#pragma unroll
    for (int round = 0; round < 10; round++) {
        kernarg_u64 x = (kernarg_u64)c.x * 0xd2511f53u, z = (kernarg_u64)c.z * 0xcd9e8d57u;
        c = u32x4{(u32)(z >> 32) ^ c.y ^ key0, (u32)z, (u32)(x >> 32) ^ c.w ^ key1, (u32)x};
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return c;
}

/* What dropout knows of one (sequence, head). Uniform. */
struct dropout {
    kernarg_u64 seed, offset; /* offset: counter of row 0, keys 0 .. 3 */
    kernarg_i64 row_pitch;
    int threshold;
};

DEVICE struct dropout dropout_of(const struct attn_problem &a, int sequence, int head)
{
    typedef const __attribute__((address_space(4))) kernarg_u64 *const_u64;
    struct dropout d = {a.dropout_seed, a.dropout_offset, a.dropout_row_pitch, a.dropout_threshold};
    if (!(a.flags & KERNARG_DROPOUT))
        return d;
    if (a.dropout_seed_pointer)
        d.seed += *(const_u64)a.dropout_seed_pointer;
    if (a.dropout_offset_pointer)
        d.offset += *(const_u64)a.dropout_offset_pointer;
    d.offset += ((kernarg_i64)sequence * a.heads_q + head) * a.dropout_head_pitch;
    return d;
}

/* Bit i: whether key 4 * quad + i of row `row` is kept. */
DEVICE u32 kept_quad(const struct dropout &d, int row, u32 quad)
{
    u32x4 word = philox(d.seed, d.offset + row * d.row_pitch + quad);
    return (u32)((int)word.x > d.threshold) | (u32)((int)word.z > d.threshold) << 1 |
           (u32)((int)word.y > d.threshold) << 2 | (u32)((int)word.w > d.threshold) << 3;
}

#endif
