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

/* Whether a row comes to LDS first, a part of it by each wave: where each lane needs all of it. */
#define Q_IN_LDS (KERNEL_WAVE == 32)

#if KERNEL_WAVE == 32

/* A chunk more a row: no two rows share their banks. */
static SHARED u32x4 q_tile[SIDE][KERNEL_DIM / CHUNK_ELEMENTS + 1];

/*
 * Every lane has its column's row, of which `load` has the chunk that begins with a channel; all
 * waves that work on it bring it together. Then: end_q().
 */
template <class F> DEVICE void load_chunks(struct q_block &, const struct wave_job &job, F load)
{
    const int first = job.slice * (SLICE / CHUNK_ELEMENTS), count = SLICE / CHUNK_ELEMENTS;
    u32x4 *at = &q_tile[lane_column()][first];
    const int lanes = KERNEL_WAVE / SIDE * TEAMS; /* that share it */
#pragma unroll
    for (int i = 0; i < count; i += lanes) {
        const int chunk = i + (int)lane_group() + job.team * (KERNEL_WAVE / SIDE);
        if (count % lanes == 0 || chunk < count)
            at[chunk] = load((first + chunk) * CHUNK_ELEMENTS);
    }
}

#endif

#if KERNEL_WAVE == 64

/* Of its columns' rows each lane has the chunks that it has of keys' rows. */
struct q_block {
    u32x4 chunk[K_STEPS];
};

template <class F> DEVICE void load_chunks(struct q_block &to, const struct wave_job &job, F load)
{
    const int first = job.slice * SLICE + (int)a_part() * CHUNK_ELEMENTS;
#pragma unroll
    for (int step = 0; step < K_STEPS; step++)
        to.chunk[step] = load(first + step * (A_PARTS * CHUNK_ELEMENTS));
}

DEVICE void end_q(struct q_block &, const struct wave_job &)
{
}

/* Of K, both halves of a chunk are operands. */
DEVICE void share_chunk(u32x4, int)
{
}

DEVICE void multiply_chunks(block_acc &s, u32x4 k, const struct q_block &q, int step)
{
    mma(s, k.lo, q.chunk[step].lo);
    mma(s, k.hi, q.chunk[step].hi);
}

#else

/* Each lane needs all channels of its rows of Q: it reads them from LDS. */
struct q_block {
    const u32x4 *row; /* this lane's, from the wave's first channel on */
};

DEVICE void end_q(struct q_block &q, const struct wave_job &job)
{
    q.row = &q_tile[lane_column()][job.slice * (SLICE / CHUNK_ELEMENTS)];
    lds_barrier();
}

#if !defined(__GFX12__)
static_assert(K_STEPS <= SHARES && V_CHUNK <= SHARES, "a place for each");
#endif

DEVICE void share_chunk(u32x4 k, int step)
{
    share(k, step);
}

DEVICE void multiply_chunks(block_acc &s, u32x4 k, const struct q_block &q, int step)
{
    const block_frag a = joined(k, step);
    mma(s, a, join_column(q.row[2 * step], q.row[2 * step + 1]));
}

#endif

/* Of the row of this lane's column. */
DEVICE void load_q(struct q_block &to, const struct wave_job &job, const GLOBAL char *row)
{
    const int dim = job.k.dim;
    if (__builtin_expect(dim == KERNEL_DIM, 1))
        load_chunks(to, job, [&](int channel) {
            return *(k_chunk_anywhere *)(row + channel * ELEMENT_BYTES);
        });
    else if (dim % CHUNK_ELEMENTS == 0)
        load_chunks(to, job, [&](int channel) { return load_q_chunk(row, channel, dim, true); });
    else
        load_chunks(to, job, [&](int channel) { return load_q_chunk(row, channel, dim, false); });
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
}

#endif

/* This wave's part of S^T. */
DEVICE void multiply_kq(block_acc &s, const struct k_block &k, const struct q_block &q)
{
#pragma unroll
    for (int step = 0; step < K_STEPS; step++)
        share_chunk(k.chunk[step], step);
    s = 0;
#pragma unroll
    for (int step = 0; step < K_STEPS; step++)
        multiply_chunks(s, k.chunk[step], q, step);
    asm volatile("" : "+v"(s)); /* or Q waits in registers until V has been asked for */
}

/* O^T += V^T P^T for one group of channels */
DEVICE void multiply_vp(block_acc (&o)[V_CHUNK], const v_words (&v)[B_OF_C],
                        const struct b_column &p)
{
    own_frag own[V_CHUNK];
#pragma unroll
    for (int i = 0; i < V_CHUNK; i++) {
        own[i] = transposed(v, i);
        share(own[i], i);
    }
#pragma unroll
    for (int i = 0; i < V_CHUNK; i++) {
        const block_frag a = joined(own[i], i);
        mma(o[i], a, p.frag);
    }
}

#endif
