/*
 * The two products of a team in 16 bits, with sums in f32: Q as it comes to them, S^T = K Q^T and
 * O^T = V^T P^T, with P rounded.
 */
#ifndef AOTHIP_TEAM_PRODUCTS_16_H
#define AOTHIP_TEAM_PRODUCTS_16_H

#include "team_f32_load.h"

/*
 * Eight channels of a row of Q, in the order of K's chunks, zeros elsewhere: `whole` says that dim
 * is a multiple of eight.
 */
DEVICE u32x4 load_q_chunk(const GLOBAL char *row, int channel, int dim, bool whole)
{
    u32x4 x = {};
    if (whole) {
        x = *(k_chunk_anywhere *)(row + (channel < dim ? channel : 0) * ELEMENT_BYTES);
#pragma unroll
        for (int i = 0; i < 4; i++)
            x[i] = channel < dim ? x[i] : 0;
        return x;
    }
#pragma unroll 1
    for (int i = CHUNK_ELEMENTS - 1; i >= 0; i--) {
        const int c = chunk_channel(channel, i, CHUNK_ELEMENTS, dim);
        const u32 next = c < 0 ? 0 : ((const GLOBAL u16 *)row)[c];
        x = u32x4{x.x << 16 | next, __builtin_amdgcn_alignbit(x.y, x.x, 16),
                  __builtin_amdgcn_alignbit(x.z, x.y, 16), __builtin_amdgcn_alignbit(x.w, x.z, 16)};
    }
    return x;
}

#if KERNEL_WAVE == 64

/* Of its column's row each lane has the chunks that it has of keys' rows. */
struct q_block {
    u32x4 chunk[K_STEPS];
};

/* `load` has the chunk that begins with a channel. */
template <class F> DEVICE void load_chunks(struct q_block &to, const struct wave_job &job, F load)
{
    const int first = job.slice * SLICE + (int)a_part() * CHUNK_ELEMENTS;
#pragma unroll
    for (int step = 0; step < K_STEPS; step++)
        to.chunk[step] = load(first + step * (A_PARTS * CHUNK_ELEMENTS));
}

DEVICE void end_q()
{
}

DEVICE void multiply_chunks(block_acc &s, u32x4 k, const struct q_block &q, int step, u32)
{
    const u32x4 x = q.chunk[step];
    mma(s, k.lo, x.lo);
    mma(s, k.hi, x.hi);
}

#else

/* Each lane needs all channels of its row of Q: it reads them from LDS. */
struct q_block {
    const u32x4 *row; /* this lane's, from the wave's first channel on */
};

/* A chunk more a row: no two rows share their banks. */
static SHARED u32x4 q_tile[SIDE][KERNEL_DIM / CHUNK_ELEMENTS + 1];

/*
 * Every lane has its column's row, of which `load` has the chunk that begins with a channel; all
 * waves that work on it bring it together.
 */
template <class F> DEVICE void load_chunks(struct q_block &to, const struct wave_job &job, F load)
{
    const int first = job.slice * (SLICE / CHUNK_ELEMENTS);
    u32x4 *at = &q_tile[lane_column()][first];
    const int lanes = KERNEL_WAVE / SIDE * TEAMS; /* that share it */
#pragma unroll
    for (int i = 0; i < SLICE / CHUNK_ELEMENTS; i += lanes) {
        const int chunk = i + (int)lane_group() + job.team * (KERNEL_WAVE / SIDE);
        at[chunk] = load((first + chunk) * CHUNK_ELEMENTS);
    }
    to.row = at;
}

DEVICE void end_q()
{
    lds_barrier();
}

DEVICE void multiply_chunks(block_acc &s, u32x4 k, const struct q_block &q, int step, u32 half)
{
    const u32x4 lower = q.row[2 * step], upper = q.row[2 * step + 1];
    mma(s, join(k, half), join_column(lower, upper));
}

#endif

DEVICE void load_q(struct q_block &to, const struct wave_job &job, const GLOBAL char *row)
{
    const int dim = job.k.dim;
    if (dim % CHUNK_ELEMENTS == 0)
        load_chunks(to, job, [&](int channel) { return load_q_chunk(row, channel, dim, true); });
    else
        load_chunks(to, job, [&](int channel) { return load_q_chunk(row, channel, dim, false); });
    end_q();
}

#if KERNEL_CACHE

/* The same of a row of codes. */
DEVICE void load_q_codes(struct q_block &to, const struct wave_job &job, fp8_codes *row,
                         const struct fp8_reader &reader)
{
    load_chunks(to, job, [&](int channel) {
        u32 x[CHUNK_ELEMENTS];
#pragma unroll
        for (int i = 0; i < CHUNK_ELEMENTS; i++) {
            const int c = chunk_channel(channel, i, CHUNK_ELEMENTS, job.k.dim);
            x[i] = fp8_element(reader, row[c < 0 ? 0 : c]);
            x[i] = c < 0 ? 0 : x[i];
        }
        return u32x4{x[0] | x[1] << 16, x[2] | x[3] << 16, x[4] | x[5] << 16, x[6] | x[7] << 16};
    });
    end_q();
}

#endif

/* This wave's part of S^T. */
DEVICE block_acc multiply_kq(const struct k_block &k, const struct q_block &q)
{
    block_acc s = 0;
    const u32 half = join_half();
#pragma unroll
    for (int step = 0; step < K_STEPS; step++)
        multiply_chunks(s, k.chunk[step], q, step, half);
    asm volatile("" : "+v"(s)); /* or Q waits in registers until V has been asked for */
    return s;
}

/* O^T += V^T P^T for one group of channels */
DEVICE void multiply_vp(block_acc (&o)[V_CHUNK], const v_words (&v)[B_OF_C],
                        const struct b_column &p)
{
    const u32 half = join_half();
#pragma unroll
    for (int i = 0; i < V_CHUNK; i++)
        mma(o[i], transposed(v, i, half), p.frag);
}

#endif
