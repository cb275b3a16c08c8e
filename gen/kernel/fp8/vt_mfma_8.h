/*
 * V^T of FP8 in LDS for CDNA. Included by mma_mfma.h.
 *
 * A quad is four consecutive keys of one channel, a word of four bytes. Quad 8b + 2g + h, h being a
 * lane half, is word g of chunk 2b + h: so a chunk is what a lane half has of 32 keys of P^T.
 *
 * A row has 128 keys, a line of LDS. Chunk c of channel d lies at column c ^ f(d). Loads: eight
 * lanes hold channels with all values of (d4, d1, d0). Stores, of single words: 32 lanes have the
 * four words of a chunk for each of eight groups of channels, which are those of (d5, d4, d3), and
 * the bits of f are (d4, d1 ^ d5, d0 ^ d3); or of (d6, d5, d4), with (d4 ^ d6, d1 ^ d5, d0 ^ d4).
 */
#ifndef AOTHIP_VT_MFMA_8_H
#define AOTHIP_VT_MFMA_8_H

static_assert(KERNEL_TILE_K == 128, "a row is a line of LDS");

constexpr int VT_TILE_BYTES = STAGE_DIM * KERNEL_TILE_K;

/* Channels of four rows of V that a thread carries. */
constexpr int V_GROUP = STAGE_DIM * (KERNEL_TILE_K / 4) / THREADS;

DEVICE u32 vt_column(u32 channel)
{
    const u32 beside = V_GROUP == 16 ? channel >> 4 : channel >> 3;
    const u32 above = V_GROUP == 16 ? channel >> 6 : 0;
    return ((channel >> 4 ^ above) & 1) << 2 | ((channel >> 1 ^ channel >> 5) & 1) << 1 |
           ((channel ^ beside) & 1);
}

/* Which quad and group of channels a thread carries from memory to LDS. */
struct vt_duty {
    u32 quad, channel;
};

DEVICE struct vt_duty vt_duty_of(u32 thread)
{
    const u32 number = thread / 8;
    return {(number & ~7u) | number % 4 * 2 | number / 4 % 2, thread % 8 * V_GROUP};
}

/* Of the wave's keys in pages, two runs of sixteen. */
DEVICE bool vt_has_first_run()
{
    return thread_id() / 16 % 2 == 0;
}

DEVICE u32 vt_tile_at(u32 channel, u32 quad)
{
    const u32 chunk = quad / 8 * 2 + quad % 2, word = quad / 2 % 4;
    return channel * KERNEL_TILE_K + (chunk ^ vt_column(channel)) * CHUNK_BYTES + word * 4;
}

/* Channels 4 apart, of one group, lie in the same column, this many bytes apart. */
constexpr int VT_COLUMNS = 4;

DEVICE constexpr int vt_channel_step(int i)
{
    return i * KERNEL_TILE_K;
}

DEVICE block_frag vt_tile_frag(const char *tile, int block, int group)
{
    /* channel = 32 * block + row_channel(lane): bits d5 and d6 are the block's */
    const u32 channel = row_channel(lane_column());
    const u32 chunk = 2 * (group ^ block % (V_GROUP == 16 ? 4 : 2)) + lane_half();
    const u32 column = chunk ^ vt_column(channel);
    return *(const u32x4 *)(tile + (channel * KERNEL_TILE_K + column * CHUNK_BYTES) +
                            block * BLOCK * KERNEL_TILE_K);
}

#endif
