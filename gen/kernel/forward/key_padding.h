/*
 * A boolean mask that is the same for all queries, such as that of padded keys: it decides to which
 * tiles the walk goes. Those of which no key is kept are passed over, those that are kept whole
 * are as without a mask, and only in the rest do scores become -infinity.
 *
 * Lane j of a window has 32 bits, of keys 32 j to 32 j + 31 from the window's first tile on. So a
 * wave reads the mask once in 2,048 keys (wave32: 1,024), and what there is to know of a tile is a
 * few scalar instructions. All waves of a workgroup read the same, and go the same way.
 */
#ifndef AOTHIP_FWD_KEY_PADDING_H
#define AOTHIP_FWD_KEY_PADDING_H

#include "score_load.h"

static_assert(!KERNEL_PAGED && !KERNEL_SCORE && KEY_SHARES == 1, "a plain kernel beside the mask");
static_assert(KERNEL_TILE_K % 32 == 0, "whole words");

constexpr int TILE_WORDS = KERNEL_TILE_K / 32;
constexpr int WINDOW = KERNEL_WAVE / TILE_WORDS; /* tiles */

/* Bits of the first words of tiles. */
static const kernarg_u64 first_words = TILE_WORDS == 1   ? ~0ul
                                       : TILE_WORDS == 2 ? 0x5555555555555555
                                                         : 0x1111111111111111;

struct padding {
    u32 kept;       /* this lane's keys of the window */
    int first;      /* the window's first tile. Uniform */
    u32 key;        /* the first of them, while they are on the way, */
    u32x4 bytes[2]; /* and these bytes are */
    u32 entered;    /* in the first TILE_WORDS lanes: keys of the tile in LDS */
};

/* A bit for each byte that is not 0, in the four highest. */
DEVICE u32 bits_of_bytes(u32 bytes)
{
    const u32 low = 0x7f7f7f7f, high = (((bytes & low) + low) | bytes) & ~low;
    return high * 0x00204081; /* 7, 15, 23, 31 go to 28, 29, 30, 31; no two meet below */
}

/* Where 16 bytes are that hold the mask of key `key`, as far as it has one. */
DEVICE u32 run_of(const struct attn_problem &a, u32 key)
{
    const u32 last = (u32)a.keys_most - 16;
    return key < last ? key : last;
}

/* Asks for the window that begins with `tile`; answered by fill_window(). */
DEVICE void ask_window(struct padding &x, const struct attn_problem &a, int number, int head,
                       int tile)
{
    typedef const GLOBAL u32x4 anywhere __attribute__((aligned(1)));
    const GLOBAL char *mask =
        (const GLOBAL char *)a.keep.data + number * a.keep.stride[0] + head * a.keep.stride[1];
    u32 lane = lane_id();
    asm volatile("" : "+v"(lane)); /* computed here, and not kept in a register */
    x.key = (u32)tile * KERNEL_TILE_K + lane * 32;
    x.first = tile;
#pragma unroll
    for (int i = 0; i < 2; i++)
        x.bytes[i] = *(anywhere *)(mask + run_of(a, x.key + 16 * (u32)i));
}

DEVICE void fill_window(struct padding &x, const struct attn_problem &a)
{
    x.kept = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const u32 key = x.key + 16 * (u32)i, beyond = key - run_of(a, key);
        u32 bits = 0;
#pragma unroll
        for (int j = 0; j < 4; j++)
            bits |= bits_of_bytes(x.bytes[i][j]) >> 28 << 4 * j;
        x.kept |= (beyond < 16 ? bits >> beyond : 0) << 16 * i;
    }
}

/* Lets the window begin with `tile`, which is one of the sequence's. */
DEVICE void read_window(struct padding &x, const struct terms &t, int tile)
{
    const struct scene scene = recall(t);
    ask_window(x, late_problem(), scene.number, scene.job.head, tile);
    fill_window(x, late_problem());
}

/* A bit at the first word of each tile that has one of the words; the window's `tile` is bit 0. */
DEVICE kernarg_u64 tiles_with(const struct padding &x, bool word, int tile)
{
    kernarg_u64 any = __builtin_amdgcn_ballot_w64(word) >> (tile - x.first) * TILE_WORDS;
#pragma unroll
    for (int i = 1; i < TILE_WORDS; i *= 2)
        any |= any >> i;
    return any & first_words;
}

DEVICE int tiles_before(kernarg_u64 tiles)
{
    return tiles ? __builtin_ctzl(tiles) / TILE_WORDS : 64 / TILE_WORDS;
}

/* The first tile from `tile` on of which a key is kept; -1 if there is none before `end`. */
DEVICE int first_kept(struct padding &x, const struct terms &t, int tile, int end)
{
    while (tile < end) {
        if ((u32)(tile - x.first) >= WINDOW)
            read_window(x, t, tile);
        tile += tiles_before(tiles_with(x, x.kept != 0, tile));
        if (tile < x.first + WINDOW)
            return tile < end ? tile : -1;
        tile = x.first + WINDOW;
    }
    return -1;
}

/*
 * How many tiles from `tile` on, which is in the window, are kept whole and followed by one of
 * which some key is kept, at most `most`.
 */
DEVICE int whole_tiles(struct padding &x, const struct terms &t, int tile, int most)
{
    if (most > 0 && tile == x.first + WINDOW - 1)
        read_window(x, t, tile);
    const int whole = tiles_before(tiles_with(x, x.kept != 0xffffffff, tile));
    const int seen = tiles_before(tiles_with(x, x.kept != 0, tile) ^ first_words);
    const int count = whole < seen ? whole : seen - 1;
    return count < most ? count : most;
}

/* Lets `tile`, which is in the window, be that in LDS. */
DEVICE void enter_tile(struct padding &x, int tile)
{
    const u32 from = lane_id() + (u32)(tile - x.first) * TILE_WORDS;
    x.entered = (u32)__builtin_amdgcn_ds_bpermute((int)from * 4, (int)x.kept);
}

/* Bits of 32 keys of the tile in LDS. Uniform. */
DEVICE u32 kept_word(const struct padding &x, int i)
{
    return __builtin_amdgcn_readlane(x.entered, i);
}

/* Whether the tile in LDS is kept whole. */
DEVICE bool is_whole(const struct padding &x)
{
    u32 all = kept_word(x, 0);
#pragma unroll
    for (int i = 1; i < TILE_WORDS; i++)
        all &= kept_word(x, i);
    return all == 0xffffffff;
}

/* Scores of keys of the tile in LDS that are not kept become -infinity. */
DEVICE void hide_keys(score_blocks &s, const struct padding &x)
{
    if (is_whole(x))
        return;
#pragma unroll
    for (int block = 0; block < KEY_BLOCKS; block++) {
        const u32 kept = kept_word(x, block * BLOCK / 32) >> (block * BLOCK % 32 + first_key());
#pragma unroll
        for (int i = 0; i < ACC; i++)
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++)
                if (!(kept >> key_step(i) & 1))
                    s[column][block][i] = -__builtin_inff();
    }
}

#endif
