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

enum {
    STEP_PRODUCTS = KEY_BLOCKS * Q_BLOCKS, /* of one step of channels */
    KQ_PRODUCTS = QK_STEPS * STEP_PRODUCTS,
    VP_PAIRS = PV_GROUPS * DIM_BLOCKS, /* of V^T and P^T: a product for each block of queries */
    /* Products before the one that an operand is for; some have no registers for two. */
    K_AHEAD = KERNEL_PAGED || KERNEL_PADDING || KERNEL_SCORE ? 1 : 2,
    V_AHEAD = 1,
    VT_LINES = KERNEL_TILE_K / CHUNK,
};

/* Where in LDS the lane's rows of Q, K and V^T are; V^T's by chunk, for the block of channels 0. */
struct operand_lines {
    u32 q, k, vt[VT_LINES];
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
        x.q = held(q_tile_at((u32)TEAM_ID * COLUMNS + lane_column(), 0));
    x.k = held((share * KEY_BLOCKS * BLOCK + lane_column()) * K_ROW_BYTES);
#pragma unroll
    for (int i = 0; i < VT_LINES; i++)
        x.vt[i] = held(vt_chunk_at(share * (VT_LINES / KEY_SHARES) ^ (u32)i));
}

/* The block of queries of a step's i-th product: each second time from the last one on. */
DEVICE constexpr int paced_column(int i)
{
    return i / Q_BLOCKS % 2 ? Q_BLOCKS - 1 - i % Q_BLOCKS : i % Q_BLOCKS;
}

/* Of the wave's block `column` of queries. */
DEVICE block_frag paced_q(const struct operand_lines &lines, int step, int column)
{
    const char *line = q_tile + lines.q + q_tile_at(column * BLOCK, 0);
    if (!Q_PACKED || step < CHUNKS / 2 - 1)
        return load_frag(line, 2 * step, 2 * step + 1);
    u32 thread = thread_id();
    asm volatile("" : "+v"(thread)); /* computed here, and not kept in a register */
    const u32 row = thread / KERNEL_WAVE * COLUMNS + thread % BLOCK;
    const u32x4 *last = (const u32x4 *)(q_tile + q_tile_at(column * BLOCK, CHUNKS - 1));
    return join_chunks(*(const u32x4 *)(line + 2 * step * CHUNK_BYTES), last[row]);
}

/* S^T += K Q^T */
DEVICE void multiply_kq_paced(score_blocks &s, const struct queries &q,
                              const struct operand_lines &lines)
{
    block_frag a[QK_STEPS][KEY_BLOCKS], b[QK_STEPS][Q_BLOCKS];
    auto read = [&](int i) {
        const int step = i / STEP_PRODUCTS, n = i % STEP_PRODUCTS;
        if (i >= KQ_PRODUCTS)
            return;
        if (n % Q_BLOCKS == 0)
            a[step][n / Q_BLOCKS] = load_frag(k_tile + lines.k + n / Q_BLOCKS * BLOCK * K_ROW_BYTES,
                                              2 * step, 2 * step + 1);
        if (n < Q_BLOCKS)
            b[step][paced_column(n)] =
                Q_IN_LDS ? paced_q(lines, step, paced_column(n)) : q.frag[step];
    };
#pragma unroll
    for (int i = 0; i < K_AHEAD; i++)
        read(i);
#pragma unroll
    for (int i = 0; i < KQ_PRODUCTS; i++) {
        const int step = i / STEP_PRODUCTS, n = i % STEP_PRODUCTS, column = paced_column(n);
        read(i + K_AHEAD);
        __builtin_amdgcn_sched_barrier(0);
        mma(s[column][n / Q_BLOCKS], a[step][n / Q_BLOCKS], b[step][column]);
        __builtin_amdgcn_sched_barrier(0);
    }
    /* Not later, behind branches that terms bring, with all of the operands held until then. */
#pragma unroll
    for (int i = 0; KERNEL_SCORE && i < STEP_PRODUCTS; i++)
        asm volatile("" : "+v"(s[i % Q_BLOCKS][i / Q_BLOCKS]));
}

/* O^T += V^T P^T */
DEVICE void multiply_vp_paced(output_blocks &o, const score_blocks &p,
                              const struct operand_lines &lines)
{
    const u32 half = pack_half();
    block_frag a[VP_PAIRS], b[PV_GROUPS][Q_BLOCKS];
    auto read = [&](int i) {
        const int block = i % DIM_BLOCKS, chunk = 2 * (i / DIM_BLOCKS), swizzle = block % 4;
        if (i < VP_PAIRS)
            a[i] = join_chunks(
                *(const u32x4 *)(vt_tile + lines.vt[chunk ^ swizzle] + vt_line(block, 0, 0)),
                *(const u32x4 *)(vt_tile + lines.vt[(chunk + 1) ^ swizzle] + vt_line(block, 0, 0)));
    };
#pragma unroll
    for (int i = 0; i < V_AHEAD; i++)
        read(i);
#pragma unroll
    for (int group = 0; group < PV_GROUPS; group++) {
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            b[group][column] = pack_keys(p[column][group], 0, half);
        if (STAGE_DIM <= 64) /* elsewhere it takes more registers */
            __builtin_amdgcn_sched_barrier(0);
    }
#pragma unroll
    for (int i = 0; i < VP_PAIRS; i++) {
        read(i + V_AHEAD);
        __builtin_amdgcn_sched_barrier(0);
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            mma(o[column][i % DIM_BLOCKS], a[i], b[i / DIM_BLOCKS][column]);
        __builtin_amdgcn_sched_barrier(0);
    }
}

#endif
