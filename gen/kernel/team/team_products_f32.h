/*
 * The two products of a team in f32: Q as it comes to them, S^T = K Q^T and O^T = V^T P^T.
 */
#ifndef AOTHIP_TEAM_PRODUCTS_F32_H
#define AOTHIP_TEAM_PRODUCTS_F32_H

#include "team_f32_load.h"

#define Q_IN_LDS (KERNEL_WAVE == 32)

/*
 * Q as B operands: f32, in the order of K's chunks, zeros elsewhere. Wave64 has the registers to
 * hold it; wave32, where each lane would need all channels of its row, reads it from LDS.
 */
#if KERNEL_WAVE == 64

struct q_block {
    float part[K_STEPS][CHUNK_ELEMENTS];
};

/* `load` has an element of the row. */
template <class F> DEVICE void load_channels(struct q_block &to, const struct wave_job &job, F load)
{
    int channel = job.slice * SLICE + (int)b_part(0) * CHUNK_ELEMENTS;
#pragma unroll
    for (int step = 0; step < K_STEPS; step++)
#pragma unroll
        for (int i = 0; i < CHUNK_ELEMENTS; i++) {
            int c = chunk_channel(channel + step * (A_PARTS * CHUNK_ELEMENTS), i, CHUNK_ELEMENTS,
                                  job.k.dim);
            float x = load(c < 0 ? 0 : c);
            to.part[step][i] = c < 0 ? 0 : x;
        }
}

DEVICE void load_q(struct q_block &to, const struct wave_job &job, const GLOBAL char *row)
{
    load_channels(to, job, [&](int c) { return load_element(row + c * ELEMENT_BYTES); });
}

DEVICE void end_q(struct q_block &, const struct wave_job &)
{
}

/* Four channels on from `i` of a chunk. */
DEVICE void q_operands(struct b_operand (&to)[4], const struct q_block &q, int step, int i)
{
#pragma unroll
    for (int j = 0; j < 4; j++)
        to[j].part[0] = q.part[step][i + j];
}

#else

struct q_block {
    const float *row; /* this lane's, from the wave's first channel on */
};

static SHARED __attribute__((aligned(16))) float q_tile[TEAMS_OF_ROWS * SIDE][Q_PITCH];

/* Every lane has its column's row; all waves that work on it bring it together. */
DEVICE void load_q(struct q_block &to, const struct wave_job &job, const GLOBAL char *row)
{
    const bool own = TEAMS_OF_ROWS > 1;
    const int helpers = KERNEL_WAVE / SIDE * (own ? 1 : TEAMS), first = job.slice * SLICE;
    float *at = q_tile[(own ? job.team * SIDE : 0) + (int)lane_column()] + first;
    for (int i = (int)lane_group() + (own ? 0 : job.team) * (KERNEL_WAVE / SIDE); i < SLICE;
         i += helpers) {
        int c = chunk_channel((first + i) & -CHUNK_ELEMENTS, i % CHUNK_ELEMENTS, CHUNK_ELEMENTS,
                              job.k.dim);
        float x = load_element(row + (c < 0 ? 0 : c) * ELEMENT_BYTES);
        at[i] = c < 0 ? 0 : x;
    }
    to.row = at;
}

DEVICE void end_q(struct q_block &, const struct wave_job &)
{
    lds_barrier();
}

DEVICE void q_operands(struct b_operand (&to)[4], const struct q_block &q, int step, int i)
{
#pragma unroll
    for (int part = 0; part < B_PARTS; part++) {
        f32x4 x = *(const f32x4 *)(q.row + (step * A_PARTS + part) * CHUNK_ELEMENTS + i);
#pragma unroll
        for (int j = 0; j < 4; j++)
            to[j].part[part] = x[j];
    }
}

#endif

/* Of an element of a vector itself, __builtin_bit_cast() takes the first one. */
DEVICE float word_element(u32 word, int i)
{
#if KERNEL_DTYPE == ELEMENT_F32
    (void)i;
    return __builtin_bit_cast(float, word);
#elif KERNEL_DTYPE == ELEMENT_F16
    return element_from_f16(i % 2 ? word >> 16 : word & 0xffff);
#else
    return __builtin_bit_cast(float, i % 2 ? word & 0xffff0000u : word << 16);
#endif
}

/* This wave's part of S^T. */
DEVICE void multiply_kq(block_acc &s, const struct k_block &k, const struct q_block &q)
{
    s = 0;
#pragma unroll
    for (int step = 0; step < K_STEPS; step++)
#pragma unroll
        for (int i = 0; i < CHUNK_ELEMENTS; i += 4) {
            struct b_operand b[4];
            q_operands(b, q, step, i);
#pragma unroll
            for (int j = 0; j < 4; j++)
                mma(s, word_element(k.chunk[step][(i + j) / PER_WORD], i + j), b[j]);
        }
}

/* O^T += V^T P^T for one group of channels */
DEVICE void multiply_vp(block_acc (&o)[V_CHUNK], const v_words (&v)[B_OF_C],
                        const struct b_column &p)
{
#pragma unroll
    for (int t = 0; t < B_OF_C; t++) {
        const struct b_operand b = spread_part(p, t);
#pragma unroll
        for (int i = 0; i < V_CHUNK; i++)
            mma(o[i], word_element(v[t][i / PER_WORD], i), b);
    }
}

#endif
