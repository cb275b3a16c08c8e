/*
 * V that is not finite where only some queries see it. In a matrix product the P = 0 of a masked
 * key would make NaN of it: 0 * NaN. So in a tile of keys that not all queries of the workgroup
 * see, such values of V become 0 on their way to LDS (cargo's isolate()), and what others see is
 * computed. In the rare case that there were any, these tiles are walked once more at the end, and
 *
 *     note_nonfinite()    notes a bit of where they are,
 *     mark_o()            makes O NaN in the channels and columns that do see them
 *
 * Other tiles need no care: who sees NaN gets NaN.
 */
#ifndef AOTHIP_CONTAIN_H
#define AOTHIP_CONTAIN_H

#include "key_order.h"
#include "mask.h"
#include "softmax.h"

constexpr int SIGHT_WORDS = KERNEL_TILE_K / 32;
constexpr int NOTE_WORDS = STAGE_DIM_V * SIGHT_WORDS; /* a bit a key, rows of channels */

static_assert(KERNEL_TILE_K % 32 == 0, "whole words of keys");
static_assert(NOTE_WORDS * 4 <= K_TILE_BYTES, "the notes fit where K was");

/* Bit n: whether a query sees key n of the tile. */
struct sight {
    u32 word[SIGHT_WORDS];
};

DEVICE u32 ones_below(int n)
{
    n = n < 0 ? 0 : n;
    return n >= 32 ? 0xffffffffu : (1u << n) - 1;
}

/* `key` is the tile's first one. */
DEVICE struct sight sight_of(const struct key_interval &visible, u32 key)
{
    struct sight x;
#pragma unroll
    for (int i = 0; i < SIGHT_WORDS; i++) {
        int first = (int)(visible.first - key) - 32 * i;
        x.word[i] = ones_below(first + (int)visible.count) & ~ones_below(first);
    }
    return x;
}

/* Blocks of O that a wave has, and which they are from its first one on. */
#ifndef O_BLOCKS
#define O_BLOCKS DIM_BLOCKS
#define O_BLOCK(block) (block)
#endif

/* Of V^T in LDS. `notes` has NOTE_WORDS and is free to be written when all waves have arrived. */
DEVICE void note_nonfinite(const char *vt_tile, char *notes)
{
#if !KERNEL_FP8
    const int pair = KEY_PAIR_STEP, next = 3 - pair;
#endif
    u32 thread = thread_id();
    asm volatile("" : "+v"(thread)); /* keeps what follows from it out of registers until here */
    lds_barrier();
#pragma unroll 1
    for (u32 i = 0; i < NOTE_WORDS; i += THREADS) {
        u32 item = (thread + i) % NOTE_WORDS, channel = item / SIGHT_WORDS, word = 0;
#pragma unroll 1
        for (u32 quad = 0; quad < 8; quad++) {
#if KERNEL_FP8
            const u32 four = select_nonfinite(
                *(u32 *)(vt_tile + vt_tile_at(channel, item % SIGHT_WORDS * 8 + quad)));
            const u32 bits = (four & 1) | (four >> 7 & 2) | (four >> 14 & 4) | (four >> 21 & 8);
#else
            u32x2 x = *(u32x2 *)(vt_tile + vt_tile_at(channel, item % SIGHT_WORDS * 8 + quad));
            u32 first = select_nonfinite(x.x), second = select_nonfinite(x.y);
            u32 bits = (first & 1) | (first >> 16 & 1) << pair | (second & 1) << next |
                       (second >> 16 & 1) << 3;
#endif
            word |= bits << 4 * quad;
        }
        ((u32 *)notes)[item] = word;
    }
    lds_barrier();
}

DEVICE void mark_o(block_acc (&o)[O_BLOCKS], const char *notes, const struct sight &sight)
{
    const char *at = notes + ACC * lane_half() * (SIGHT_WORDS * 4);
#pragma unroll
    for (int block = 0; block < O_BLOCKS; block++)
#pragma unroll
        for (int i = 0; i < ACC; i++) {
            /*
             * One at a time: loaded ahead, they would not fit the registers. The empty statement
             * keeps what is loaded from being combined as a vector, after the last load.
             */
            __builtin_amdgcn_sched_barrier(0);
            u32 seen = 0;
#pragma unroll
            for (int j = 0; j < SIGHT_WORDS; j++)
                seen |= ((const u32 *)at)[(O_BLOCK(block) * BLOCK + i) * SIGHT_WORDS + j] &
                        sight.word[j];
            asm volatile("" : "+v"(seen));
            o[block][i] = seen ? __builtin_nanf("") : o[block][i];
        }
}

#if ENDS_LEAN

/* Makes O of a blind column 0, and NaNs the usual one, where there is any of them in the wave; what
 * O is to be multiplied by, too. */
DEVICE void clean_o(block_acc (&o)[DIM_BLOCKS], float &factor, bool blind)
{
    const float nan = __builtin_nanf("");
    f32x2 any = {};
#pragma unroll
    for (int i = 0; NANS_MATTER && i < DIM_BLOCKS * ACC; i += 4) {
        const block_acc &x = o[i / ACC];
        const int at = i % ACC; /* of a NaN the product is one, and seldom of others */
        any = __builtin_elementwise_fma(f32x2{x[at], x[at + 1]}, f32x2{x[at + 2], x[at + 3]}, any);
    }
    const float nans = any.x + any.y + factor * 0;
    if (!RARELY(in_any_lane(blind || nans != nans)))
        return;
    factor = blind ? 0 : factor == factor ? factor : nan;
#pragma unroll
    for (int i = 0; i < DIM_BLOCKS * ACC; i++) {
        const float x = o[i / ACC][i % ACC];
        o[i / ACC][i % ACC] = blind ? 0 : x == x ? x : nan;
    }
}

#endif

#endif
