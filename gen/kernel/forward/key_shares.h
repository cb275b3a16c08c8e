/*
 * Waves that have the same queries and share the keys of each tile, each with a softmax and a sum
 * of its own. What they found is added up through LDS when the keys are over.
 */
#ifndef AOTHIP_KEY_SHARES_H
#define AOTHIP_KEY_SHARES_H

#include "query_rows.h"

constexpr int STATE_WORDS = 2 * KERNEL_WAVE;         /* of a wave: shift and sum of a column */
constexpr int O_BLOCK_BYTES = ACC * KERNEL_WAVE * 4; /* in LDS */
constexpr int O_FIRST = (DIM_BLOCKS + 1) / 2;        /* blocks that go where K was */
/* Waves whose O is added to another's. */
constexpr int O_LENDERS = KERNEL_WAVES - KERNEL_WAVES / KEY_SHARES;

static_assert(KEY_SHARES == 1 || Q_BLOCKS == 1, "waves that share keys have one block of queries");
static_assert(KEY_SHARES == 1 || KERNEL_WAVES * STATE_WORDS * 4 <= K_TILE_BYTES, "states fit");
static_assert(KEY_SHARES == 1 || !ONE_TILE, "K and V have each a place");
static_assert(KEY_SHARES == 1 ||
                  (O_LENDERS * O_FIRST * O_BLOCK_BYTES <= K_TILE_BYTES &&
                   O_LENDERS * (DIM_BLOCKS - O_FIRST) * O_BLOCK_BYTES <= VT_TILE_BYTES),
              "O fits where K and V were");

/* Where a block of O of a wave that is not the first of its team lies, for this lane. */
DEVICE float *lent_o(u32 team, u32 share, int block)
{
    const u32 lender = team * (KEY_SHARES - 1) + share - 1;
    const u32 blocks = block < O_FIRST ? O_FIRST : DIM_BLOCKS - O_FIRST;
    char *at = block < O_FIRST ? k_tile : vt_tile;
    const u32 place = lender * blocks + (u32)(block < O_FIRST ? block : block - O_FIRST);
    return (float *)(at + place * O_BLOCK_BYTES) + lane_id();
}

/* To one shift for the team: what each wave has becomes a summand. */
DEVICE void agree_shift(struct softmax_state &x, block_acc (&o)[DIM_BLOCKS], float factor,
                        bool wide)
{
    float *const states = (float *)k_tile, shift = x.shift, most = shift;
    const u32 first = TEAM_ID * KEY_SHARES;
    float *const own = states + wave_id() * STATE_WORDS + lane_id();
    float sum = 0;
    own[0] = shift;
    own[KERNEL_WAVE] = total(x.sum);
    lds_barrier();
#pragma unroll
    for (int i = 0; i < KEY_SHARES; i++)
        most = __builtin_fmaxf(most, states[(first + i) * STATE_WORDS + lane_id()]);
#pragma unroll
    for (int i = 0; i < KEY_SHARES; i++) {
        const float *other = states + (first + i) * STATE_WORDS + lane_id();
        const float moved = other[0] - most;
        sum += other[KERNEL_WAVE] *
               __builtin_amdgcn_exp2f(wide ? moved * factor : scaled_shift(moved, factor));
    }
    const float moved = shift - most;
    const float ratio = __builtin_amdgcn_exp2f(wide ? moved * factor : scaled_shift(moved, factor));
    x.shift = most;
    x.sum = partial_sum{sum, 0};
#pragma unroll
    for (int block = 0; block < DIM_BLOCKS; block++)
        o[block] *= ratio;
    lds_barrier();
}

/*
 * Sums and O of a team into those of its first wave. Returns whether this is one. LDS is free once
 * all waves have arrived.
 */
DEVICE bool add_shares(struct softmax_state (&softmax)[Q_BLOCKS], output_blocks &o, float factor,
                       bool wide)
{
    const u32 team = TEAM_ID, share = (u32)key_share();
    lds_barrier();
    agree_shift(softmax[0], o[0], factor, wide);
    if (share > 0) {
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i++)
                lent_o(team, share, block)[i * KERNEL_WAVE] = o[0][block][i];
    }
    lds_barrier();
#pragma unroll
    for (int other = 1; share == 0 && other < KEY_SHARES; other++)
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i++)
                o[0][block][i] += lent_o(team, (u32)other, block)[i * KERNEL_WAVE];
    return share == 0;
}

#endif
