/*
 * Dropout: Philox4x32-10 (Salmon et al. 2011) and which element of P takes which half of its words.
 * kernarg.h has the rule. A counter is for four keys and for those 16 further on, because a lane
 * has both or neither in every order of S^T, whichever GPU made it.
 */
#ifndef AOTHIP_PHILOX_H
#define AOTHIP_PHILOX_H

#include "tile.h"

/* The multipliers, and what the key's words grow by from round to round. */
#define PHILOX_X 0xd2511f53u
#define PHILOX_Z 0xcd9e8d57u
#define PHILOX_KEY0 0x9e3779b9u
#define PHILOX_KEY1 0xbb67ae85u

DEVICE u32x4 philox_rounds(u32x4 c, u32 key0, u32 key1, int rounds)
{
#pragma unroll
    for (int round = 0; round < rounds; round++) {
        kernarg_u64 x = (kernarg_u64)c.x * PHILOX_X, z = (kernarg_u64)c.z * PHILOX_Z;
        c = u32x4{(u32)(z >> 32) ^ c.y ^ key0, (u32)z, (u32)(x >> 32) ^ c.w ^ key1, (u32)x};
        key0 += PHILOX_KEY0;
        key1 += PHILOX_KEY1;
    }
    return c;
}

/* The four words for a counter whose upper 64 bits are 0. */
DEVICE u32x4 philox(kernarg_u64 seed, kernarg_u64 counter)
{
    const u32x4 c = {(u32)counter, (u32)(counter >> 32), 0, 0};
    return philox_rounds(c, (u32)seed, (u32)(seed >> 32), 10);
}

/*
 * The same for counters one behind the other whose upper words agree: what the first two rounds
 * make of them differs by one product, and the first one's grows evenly.
 */
struct philox_run {
    kernarg_u64 x;   /* the first round's product, of the first counter */
    u32 third, last; /* the second round's, of the upper word */
};

DEVICE struct philox_run begin_philox(kernarg_u64 seed, kernarg_u64 counter)
{
    const kernarg_u64 x = (kernarg_u64)((u32)(counter >> 32) ^ (u32)seed) * PHILOX_X;
    return {(kernarg_u64)(u32)counter * PHILOX_X,
            (u32)(x >> 32) ^ ((u32)(seed >> 32) + PHILOX_KEY1), (u32)x};
}

/*
 * The words for the counters that are so much behind the first one. Rounds are side by side: each
 * instruction of one counter's waits for the one before.
 */
template <int count>
DEVICE void philox_words(u32x4 (&c)[count], const struct philox_run &run, kernarg_u64 seed,
                         const u32 (&further)[count])
{
    u32 key0 = (u32)seed, key1 = (u32)(seed >> 32);
    kernarg_u64 x[count], z[count];
#pragma unroll
    for (int i = 0; i < count; i++)
        x[i] = run.x + (kernarg_u64)further[i] * PHILOX_X;
    __builtin_amdgcn_sched_barrier(0);
#pragma unroll
    for (int i = 0; i < count; i++)
        z[i] = (kernarg_u64)((u32)(x[i] >> 32) ^ key1) * PHILOX_Z;
    key0 += PHILOX_KEY0;
    __builtin_amdgcn_sched_barrier(0);
#pragma unroll
    for (int i = 0; i < count; i++)
        c[i] = u32x4{(u32)(z[i] >> 32) ^ key0, (u32)z[i], run.third ^ (u32)x[i], run.last};
    key1 += PHILOX_KEY1;
#pragma unroll
    for (int round = 2; round < 10; round++) {
        key0 += PHILOX_KEY0;
        key1 += PHILOX_KEY1;
        __builtin_amdgcn_sched_barrier(0);
#pragma unroll
        for (int i = 0; i < count; i++) {
            x[i] = (kernarg_u64)c[i].x * PHILOX_X;
            z[i] = (kernarg_u64)c[i].z * PHILOX_Z;
        }
        __builtin_amdgcn_sched_barrier(0);
#pragma unroll
        for (int i = 0; i < count; i++)
            c[i] = u32x4{(u32)(z[i] >> 32) ^ c[i].y ^ key0, (u32)z[i],
                         (u32)(x[i] >> 32) ^ c[i].w ^ key1, (u32)x[i]};
    }
}

/*
 * The same for counters that grow evenly, whose upper word is the same in all lanes: all but the
 * first round's product, of the next counter, is uniform.
 */
struct philox_row {
    kernarg_u64 x, step; /* what it grows by */
    u32 key0, key1;      /* the first round's */
    u32 third, last;     /* of the second round; as they go into the third one */
};

DEVICE struct philox_row begin_row(kernarg_u64 seed, kernarg_u64 counter, u32 upper, u32 step)
{
    const kernarg_u64 x = (kernarg_u64)(upper ^ (u32)seed) * PHILOX_X;
    const u32 key0 = (u32)seed, key1 = (u32)(seed >> 32);
    return {(kernarg_u64)(u32)counter * PHILOX_X,  (kernarg_u64)step * PHILOX_X,     key0, key1,
            (u32)(x >> 32) ^ (key1 + PHILOX_KEY1), (u32)x ^ (key1 + 2 * PHILOX_KEY1)};
}

/* Of three. */
DEVICE u32 exclusive_or(u32 a, u32 b, u32 c)
{
#if defined(__gfx950__)
    return __builtin_amdgcn_bitop3_b32(a, b, c, 0x96);
#else
    return a ^ (b ^ c);
#endif
}

/* The words for the next counters, side by side as above. */
template <int count> DEVICE void next_words(u32x4 (&c)[count], struct philox_row &row)
{
    kernarg_u64 x[count], z[count];
#pragma unroll
    for (int i = 0; i < count; i++) {
        x[i] = row.x;
        row.x += row.step;
        asm("" : "+v"(row.x)); /* or its halves were added to one by one */
        z[i] = (kernarg_u64)((u32)(x[i] >> 32) ^ row.key1) * PHILOX_Z;
        c[i] = u32x4{(u32)(z[i] >> 32) ^ (row.key0 + PHILOX_KEY0), (u32)z[i], row.third ^ (u32)x[i],
                     row.last};
    }
#pragma unroll
    for (int round = 2; round < 10; round++) {
        const u32 key0 = row.key0 + round * PHILOX_KEY0;
        const u32 key1 = row.key1 + round * PHILOX_KEY1; /* the first one is in `last` */
#pragma unroll
        for (int i = 0; i < count; i++) {
            x[i] = (kernarg_u64)c[i].x * PHILOX_X;
            z[i] = (kernarg_u64)c[i].z * PHILOX_Z;
            c[i] = u32x4{exclusive_or((u32)(z[i] >> 32), c[i].y, key0), (u32)z[i],
                         round == 2 ? (u32)(x[i] >> 32) ^ c[i].w
                                    : exclusive_or((u32)(x[i] >> 32), c[i].w, key1),
                         (u32)x[i]};
        }
    }
}

/* What dropout knows of one (sequence, head). Uniform. */
struct dropout {
    kernarg_u64 seed, offset; /* offset: counter of row 0, key 0 */
    kernarg_i64 row_pitch;
    u32 thresholds;
};

DEVICE struct dropout dropout_of(const struct attn_problem &a, int sequence, int head)
{
    typedef const __attribute__((address_space(4))) kernarg_u64 *const_u64;
    struct dropout d = {a.dropout_seed, a.dropout_offset, a.dropout_row_pitch,
                        a.dropout_thresholds};
    if (!(a.flags & KERNARG_DROPOUT))
        return d;
    if (a.dropout_seed_pointer)
        d.seed += *(const_u64)a.dropout_seed_pointer;
    if (a.dropout_offset_pointer)
        d.offset += *(const_u64)a.dropout_offset_pointer;
    d.offset += ((kernarg_i64)sequence * a.heads_q + head) * a.dropout_head_pitch;
    return d;
}

/* From that of key 0 in a row to that of this key. */
DEVICE u32 counters_to(u32 key)
{
    return key / 32 * 4 + key / 4 % 4;
}

/* The thresholds less the word's two numbers: negative for each that is kept. */
DEVICE u32 shortfall(u32 word, u32 thresholds)
{
    typedef short pair __attribute__((ext_vector_type(2)));
    const pair x = __builtin_bit_cast(pair, thresholds), y = __builtin_bit_cast(pair, word);
    return __builtin_bit_cast(u32, __builtin_elementwise_sub_sat(x, y));
}

/* All ones for each of the two that is kept. */
DEVICE u32 kept_pair(u32 word, u32 thresholds)
{
    const u32 signs = shortfall(word, thresholds);
    return __builtin_amdgcn_perm(signs, signs, 0x09090808);
}

/* A bit for each number of two words that is kept. */
DEVICE u32 kept_bits(u32 x, u32 y, u32 thresholds)
{
    const u32 first = shortfall(x, thresholds), second = shortfall(y, thresholds);
    return (first >> 15 & 1) | first >> 31 << 1 | (second >> 15 & 1) << 2 | second >> 31 << 3;
}

DEVICE u32x4 words_of(const struct dropout &d, int row, u32 key)
{
    return philox(d.seed, d.offset + row * d.row_pitch + counters_to(key));
}

/* Bit i: whether key 4 * quad + i of row `row` is kept. */
DEVICE u32 kept_quad(const struct dropout &d, int row, u32 quad)
{
    const u32x4 word = words_of(d, row, 4 * quad);
    return kept_bits(quad & 4 ? word.z : word.x, quad & 4 ? word.w : word.y, d.thresholds);
}

/* The same for all that a counter is for: bits 0 to 3 and 4 to 7. */
DEVICE u32 kept_eight(const struct dropout &d, int row, u32 key)
{
    const u32x4 word = words_of(d, row, key);
    return kept_bits(word.x, word.y, d.thresholds) | kept_bits(word.z, word.w, d.thresholds) << 4;
}

#endif
