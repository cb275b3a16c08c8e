/*
 * The blocks of S and of O that a wave of a team has, and what they are multiplied from
 * (team_form.h, whose names these are).
 */
#ifndef AOTHIP_TEAM_BLOCKS_H
#define AOTHIP_TEAM_BLOCKS_H

#include "mask.h"
#include "team_softmax.h"

/* Where in LDS this lane reads and writes. */
struct places {
#if KERNEL_WAVE == 32
    u32 k, q; /* its rows of K and of Q */
#endif
    u32 vt[VT_SHARE_LINES]; /* where the wave's share of V^T begins, by chunk */
    u32 own_p, all_p;       /* P of the wave's first block, and of the team's */
};

/* The first one of this wave's blocks of a part. */
DEVICE u32 first_block()
{
    return share_id() * (SHARE / 2);
}

/* Not computed anew, nor several sums of it kept. */
DEVICE u32 held(u32 x)
{
    asm volatile("" : "+v"(x));
    return x;
}

DEVICE void find_places(struct places &x)
{
    const u32 team = TEAM_ID * Q_BLOCKS, own = team + (u32)own_column(), keys = (u32)own_keys();
#if KERNEL_WAVE == 32
    x.k = held((keys * BLOCK + lane_column()) * K_ROW_BYTES);
    x.q = held((own * BLOCK + lane_column()) * K_ROW_BYTES);
#endif
    vt_share_lines(x.vt, first_block());
    x.own_p = held((own * KEY_BLOCKS + keys) * P_BLOCK_BYTES + lane_id() * 16);
    x.all_p =
        held(team * KEY_BLOCKS * P_BLOCK_BYTES + (MMA_STRAIGHT ? lane_id() : lane_column()) * 16);
}

/* This wave's blocks of S, over part `part` of the channels, or the first half of it. */
#if KERNEL_WAVE == 32

/* Operands of a single block are read one step ahead, of more there are no registers for it. */
DEVICE void multiply_own(block_acc (&s)[OWN], const struct queries &, const struct places &at,
                         int part, bool half)
{
    block_frag a[QK_STEPS], b[QK_STEPS][OWN];
    auto read = [&](int step) {
        if (step == QK_STEPS)
            return;
        a[step] = load_frag(k_tile + at.k, 2 * step, 2 * step + 1);
#pragma unroll
        for (int i = 0; i < OWN; i++)
            b[step][i] = load_frag(q_tile + at.q + part * Q_STAGE_BYTES + i * BLOCK * K_ROW_BYTES,
                                   2 * step, 2 * step + 1);
    };
    if (OWN == 1)
        read(0);
#pragma unroll
    for (int step = 0; step < QK_STEPS; step++) {
        if (step == QK_STEPS / 2 && half)
            break;
        read(OWN == 1 ? step + 1 : step);
        if (OWN == 1)
            __builtin_amdgcn_sched_barrier(0);
#pragma unroll
        for (int i = 0; i < OWN; i++)
            mma_begin(BEGINS && part == 0 && step == 0, s[i], a[step], b[step][i]);
        __builtin_amdgcn_sched_barrier(0);
    }
}

#else

DEVICE void multiply_own(block_acc (&s)[OWN], const struct queries &q, const struct places &,
                         int part, bool half)
{
#pragma unroll
    for (int step = 0; step < QK_STEPS; step++) {
        if (step == QK_STEPS / 2 && half)
            break;
        const block_frag a = k_tile_frag(k_tile, own_keys(), step);
#pragma unroll
        for (int i = 0; i < OWN; i++)
            mma(s[i], a, q_frag(q, part, step, own_column() + i));
    }
}

#endif

/* Scores of keys that a query does not see become -infinity; `key` is the tile's first one. */
DEVICE void mask_own(block_acc (&s)[OWN], const struct sequence &sequence, const struct job &job,
                     int key)
{
    const u32 first = (u32)(key + own_keys() * BLOCK) + first_key();
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const struct key_interval visible = visible_of_column(sequence, job, own_column() + own);
#pragma unroll
        for (int i = 0; i < ACC; i++)
            if (!sees(visible, first + key_step(i)))
                s[own][i] = -__builtin_inff();
    }
}

/* Those of keys in pages that do not exist, too: missing_pages(). */
DEVICE void hide_own(block_acc (&s)[OWN], u32 missing)
{
    missing >>= own_keys() * (BLOCK / 16);
    if (missing == 0)
        return;
#pragma unroll
    for (int own = 0; own < OWN; own++)
#pragma unroll
        for (int i = 0; i < ACC; i++)
            if (missing >> i * (BLOCK / ACC) / 16 & 1)
                s[own][i] = -__builtin_inff();
}

/* The first `blocks` of this wave's share of one part of O^T += V^T P^T */
template <int blocks>
DEVICE void multiply_share(block_acc (&o)[Q_BLOCKS][SHARE], const struct places &at,
                           block_frag (&p)[PV_GROUPS][Q_BLOCKS], bool first)
{
#pragma unroll
    for (int group = 0; group < PV_GROUPS; group++) {
        if (KERNEL_WAVE == 32) /* registers are short */
            __builtin_amdgcn_sched_barrier(0);
        if (first || STAGES == 2)
            see_weights(p[group], at.all_p, group);
#pragma unroll
        for (int block = 0; block < blocks; block++) {
            if (KERNEL_WAVE == 32 && block % OWN == 0)
                __builtin_amdgcn_sched_barrier(0);
            const block_frag a = vt_share_frag(vt_tile, at.vt, O_BLOCK(block), group);
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++)
                mma(o[column][block], a, p[group][column]);
        }
    }
}

#endif
