/*
 * The two products on RDNA 3, with operands that are read from LDS before they are needed.
 *
 * A WMMA has the port of the vector instructions for itself. Nothing runs beside it but what other
 * waves of the SIMD wait for, and transcendental instructions towards its end. So a wave that is at
 * the softmax goes before those that multiply (step()): its instructions are short, and products of
 * the others fill the gaps between them.
 */
#ifndef AOTHIP_FWD_PACED_PRODUCTS_H
#define AOTHIP_FWD_PACED_PRODUCTS_H

#include "query_rows.h"

static_assert(Q_BLOCKS == 1, "each product has an operand of its own");

constexpr int KQ_PRODUCTS = QK_STEPS * KEY_BLOCKS;
constexpr int ALL_SEEN = (1 << KEY_BLOCKS) - 1; /* blocks of keys, a bit each */
constexpr int VP_PRODUCTS = PV_GROUPS * DIM_BLOCKS;
/* Products, or pairs of them, before the one that an operand is for. */
constexpr int K_AHEAD = P_IN_LDS ? 1 : 2;
constexpr int V_AHEAD = 1;
/* Products that are waited for together; not where registers are short. */
constexpr int PRODUCTS_AT_ONCE =
    P_IN_LDS && !((KERNEL_SCORE == 2 || KERNEL_SCORE == 5) && STAGE_DIM > 64) ? 2 : 1;
constexpr int VT_LINES = KERNEL_TILE_K / CHUNK;
constexpr int P_BLOCK_BYTES = BLOCK * DEPTH * 2; /* of P^T, one operand; those of a wave: */
constexpr int P_WAVE_BYTES = PV_GROUPS * P_BLOCK_BYTES;
constexpr int P_CHUNK_STEP = BLOCK * CHUNK_BYTES;

/*
 * Where in LDS the lane's rows of Q, K and V^T are; V^T's by chunk, for the block of channels 0. Of
 * P^T its column's first chunk, from which the other one is P_CHUNK_STEP on, and the one it makes.
 */
struct operand_lines {
    u32 q, k, vt[VT_LINES];
#if P_IN_LDS
    u32 p, own_p;
#endif
};

/* Held in registers: what several loops compute of the same would be there more than once. */
DEVICE u32 held(u32 x)
{
    asm volatile("" : "+v"(x));
    return x;
}

DEVICE void find_lines(struct operand_lines &x)
{
    const u32 share = (u32)key_share();
    if (Q_IN_LDS)
        x.q = held(((u32)TEAM_ID * COLUMNS + lane_column()) * K_ROW_BYTES);
#if P_IN_LDS
    /* Of the thread as it is here, lest parts of it be held from before the walk on. */
    const u32 thread = held(thread_id()), column = thread % BLOCK;
    const u32 wave = uniform(thread / KERNEL_WAVE) * P_WAVE_BYTES;
    x.p = held(wave + column * CHUNK_BYTES);
    x.own_p = held(wave + thread % KERNEL_WAVE * CHUNK_BYTES);
#else
    const u32 column = lane_column();
#endif
    x.k = held((share * KEY_BLOCKS * BLOCK + column) * K_ROW_BYTES);
#pragma unroll
    for (int i = 0; i < VT_LINES; i++)
        x.vt[i] = held(vt_chunk_at(share * (VT_LINES / KEY_SHARES) ^ (u32)i, column));
}

/*
 * Of the blocks of keys from `first_key` on those that some row of the wave sees, a bit each, where
 * its columns see `visible`: neither end falls from one row to the next. Uniform.
 */
DEVICE u32 blocks_seen(const struct key_interval &visible, u32 first_key)
{
    const u32 end = visible.first + visible.count;
    int first = ((int)(__builtin_amdgcn_readlane(visible.first, 0) - first_key)) / BLOCK;
    int last = ((int)(__builtin_amdgcn_readlane(end, BLOCK - 1) - first_key) + BLOCK - 1) / BLOCK;
    first = first > 0 ? first < KEY_BLOCKS ? first : KEY_BLOCKS : 0;
    last = last > 0 ? last < KEY_BLOCKS ? last : KEY_BLOCKS : 0;
    return uniform(((1u << last) - 1) & (ALL_SEEN << first));
}

/* S^T += K Q^T, or S^T = K Q^T if it `begins` there. */
template <bool begins>
DEVICE void multiply_kq_paced(score_blocks &s, const struct queries &q,
                              const struct operand_lines &lines)
{
    block_frag a[QK_STEPS][KEY_BLOCKS], b[QK_STEPS];
    auto read = [&](int i) {
        const int step = i / KEY_BLOCKS, block = i % KEY_BLOCKS;
        if (i >= KQ_PRODUCTS)
            return;
        a[step][block] =
            load_frag(k_tile + lines.k + block * BLOCK * K_ROW_BYTES, 2 * step, 2 * step + 1);
        if (block == 0)
            b[step] = Q_IN_LDS ? load_frag(q_tile + lines.q, 2 * step, 2 * step + 1) : q.frag[step];
    };
#pragma unroll
    for (int i = 0; i < K_AHEAD * PRODUCTS_AT_ONCE; i++)
        read(i);
#pragma unroll
    for (int i = 0; i < KQ_PRODUCTS; i++) {
        const int step = i / KEY_BLOCKS, block = i % KEY_BLOCKS;
        if (i % PRODUCTS_AT_ONCE == 0) {
#pragma unroll
            for (int j = 0; j < PRODUCTS_AT_ONCE; j++)
                read(i + K_AHEAD * PRODUCTS_AT_ONCE + j);
            if (PRODUCTS_AT_ONCE == 2) {
                __builtin_amdgcn_sched_barrier(0);
                asm volatile("" ::"v"(a[step][block]), "v"(a[step][block + 1]));
            }
        }
        __builtin_amdgcn_sched_barrier(0);
        mma_begin(begins && step == 0, s[0][block], a[step][block], b[step]);
        __builtin_amdgcn_sched_barrier(0);
    }
    /* Not later, behind branches that terms bring, with all of the operands held until then. */
#pragma unroll
    for (int block = 0; KERNEL_SCORE && block < KEY_BLOCKS; block++)
        asm volatile("" : "+v"(s[0][block]));
}

/* S^T = K Q^T of those blocks of keys that are in `seen`, a bit each, and 0. Uniform. */
DEVICE void multiply_kq_seen(score_blocks &s, const struct queries &q,
                             const struct operand_lines &lines, u32 seen)
{
#pragma unroll
    for (int block = 0; block < KEY_BLOCKS; block++) {
        if (!(seen >> block & 1)) {
            s[0][block] = zero_acc();
            continue;
        }
#pragma unroll
        for (int step = 0; step < QK_STEPS; step++) {
            const block_frag a =
                load_frag(k_tile + lines.k + block * BLOCK * K_ROW_BYTES, 2 * step, 2 * step + 1);
            const block_frag b =
                Q_IN_LDS ? load_frag(q_tile + lines.q, 2 * step, 2 * step + 1) : q.frag[step];
            mma_begin(step == 0, s[0][block], a, b);
        }
    }
}

#if P_IN_LDS

static SHARED __attribute__((aligned(16))) char p_tile[KERNEL_WAVES * P_WAVE_BYTES];

/*
 * P^T to where the wave itself reads it: each lane has every other row of a column, and the operand
 * wants all of them. That is three instructions for a block, where exchanges and selections are
 * eight, in which nothing can be multiplied.
 */
DEVICE void store_p(const score_blocks &p, const struct operand_lines &lines)
{
#pragma unroll
    for (int i = 0; i < PV_GROUPS; i++) {
        const block_acc &x = p[0][i];
        u32x4 own;
#pragma unroll
        for (int j = 0; j < 4; j++)
            own[j] = end_round_pair(x[2 * j], x[2 * j + 1]);
        *(u32x4 *)(p_tile + lines.own_p + i * P_BLOCK_BYTES) = own;
    }
}

DEVICE block_frag load_p(const struct operand_lines &lines, int group)
{
    const char *at = p_tile + lines.p + group * P_BLOCK_BYTES;
    return join_chunks(*(const u32x4 *)at, *(const u32x4 *)(at + P_CHUNK_STEP));
}

#endif

/* O^T += V^T P^T */
DEVICE void multiply_vp_paced(output_blocks &o, const score_blocks &p,
                              const struct operand_lines &lines)
{
#if P_IN_LDS
    (void)p;
#else
    const u32 half = pack_half();
#endif
    block_frag a[VP_PRODUCTS], b[PV_GROUPS];
    auto read = [&](int i) {
        const int block = i % DIM_BLOCKS, group = i / DIM_BLOCKS, chunk = 2 * group;
        const int swizzle = block % 4;
        if (i >= VP_PRODUCTS)
            return;
#if P_IN_LDS
        if (block == 0)
            b[group] = load_p(lines, group);
#endif
        a[i] = join_chunks(
            *(const u32x4 *)(vt_tile + lines.vt[chunk ^ swizzle] + vt_line(block, 0, 0)),
            *(const u32x4 *)(vt_tile + lines.vt[(chunk + 1) ^ swizzle] + vt_line(block, 0, 0)));
    };
#pragma unroll
    for (int i = 0; i < V_AHEAD * PRODUCTS_AT_ONCE; i++)
        read(i);
#if !P_IN_LDS
#pragma unroll
    for (int group = 0; group < PV_GROUPS; group++) {
        b[group] = pack_keys(p[0][group], 0, half);
        if (STAGE_DIM <= 64) /* elsewhere it takes more registers */
            __builtin_amdgcn_sched_barrier(0);
    }
#endif
#pragma unroll
    for (int i = 0; i < VP_PRODUCTS; i++) {
        if (i % PRODUCTS_AT_ONCE == 0) {
#pragma unroll
            for (int j = 0; j < PRODUCTS_AT_ONCE; j++)
                read(i + V_AHEAD * PRODUCTS_AT_ONCE + j);
            if (PRODUCTS_AT_ONCE == 2) {
                __builtin_amdgcn_sched_barrier(0);
                asm volatile("" ::"v"(a[i]), "v"(a[i + 1]), "v"(b[i / DIM_BLOCKS]));
            }
        }
        __builtin_amdgcn_sched_barrier(0);
        mma(o[0][i % DIM_BLOCKS], a[i], b[i / DIM_BLOCKS]);
        __builtin_amdgcn_sched_barrier(0);
    }
}

/* The same of those blocks of keys only that are in `seen`: P of others is 0. */
DEVICE void multiply_vp_seen(output_blocks &o, const score_blocks &p,
                             const struct operand_lines &lines, u32 seen)
{
#if P_IN_LDS
    (void)p;
#else
    const u32 half = pack_half();
#endif
#pragma unroll
    for (int group = 0; group < PV_GROUPS; group++) {
        if (!(seen >> group & 1))
            continue;
#if P_IN_LDS
        const block_frag b = load_p(lines, group);
#else
        const block_frag b = pack_keys(p[0][group], 0, half);
#endif
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++) {
            const int chunk = 2 * group, swizzle = block % 4;
            const block_frag a = join_chunks(
                *(const u32x4 *)(vt_tile + lines.vt[chunk ^ swizzle] + vt_line(block, 0, 0)),
                *(const u32x4 *)(vt_tile + lines.vt[(chunk + 1) ^ swizzle] + vt_line(block, 0, 0)));
            mma(o[0][block], a, b);
        }
    }
}

#endif
