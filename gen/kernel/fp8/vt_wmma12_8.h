/*
 * V^T of FP8 in LDS for RDNA 4. Included by mma_wmma12.h.
 *
 * A quad is four consecutive keys of one channel, a word of four bytes. Quad 8c + 4b + 2h + s is
 * word 2b + s of chunk 2c + h: so a chunk is what lane half h has of two blocks b of P^T.
 *
 * Row of TILE_K keys and 16 bytes of padding, an odd number of columns, and 16 bytes more after
 * every group of channels. Loads: eight lanes have eight channels of one group. Stores, of single
 * words: 32 lanes have one channel of each of eight groups, and all of a chunk. In pages a wave
 * has what lies in halves of two chunks, and stores two to a bank.
 */
#ifndef AOTHIP_VT_WMMA12_8_H
#define AOTHIP_VT_WMMA12_8_H

/* Channels of four rows of V that a thread carries. */
constexpr int V_GROUP = STAGE_DIM * (KERNEL_TILE_K / 4) / THREADS;

constexpr int VT_ROW_BYTES = KERNEL_TILE_K + CHUNK_BYTES;
constexpr int VT_GROUP_BYTES = V_GROUP * VT_ROW_BYTES + CHUNK_BYTES;
constexpr int VT_GROUPS = STAGE_DIM / V_GROUP; /* eight, or sixteen of a tile of 32 keys */
constexpr int VT_TILE_BYTES = VT_GROUPS * VT_GROUP_BYTES;

/* Which quad and group of channels a thread carries from memory to LDS. */
struct vt_duty {
    u32 quad, channel;
};

DEVICE struct vt_duty vt_duty_of(u32 thread)
{
    const u32 number = thread / 8, quads = KERNEL_TILE_K / 4;
    const u32 quad =
        (number % quads & ~7u) | (number / 2 % 2) << 2 | (number / 4 % 2) << 1 | number % 2;
    if (KERNEL_PAGED)
        return {thread / VT_GROUPS, thread % VT_GROUPS * V_GROUP};
    return {quad, (number / quads * 8 + thread % 8) * V_GROUP};
}

/* A wave's keys in pages are one run. */
DEVICE bool vt_has_first_run()
{
    return true;
}

DEVICE u32 vt_row_at(u32 channel)
{
    return channel / V_GROUP * VT_GROUP_BYTES + channel % V_GROUP * VT_ROW_BYTES;
}

DEVICE u32 vt_tile_at(u32 channel, u32 quad)
{
    const u32 chunk = quad / 8 * 2 + quad / 2 % 2, word = quad / 4 % 2 * 2 + quad % 2;
    return vt_row_at(channel) + chunk * CHUNK_BYTES + word * 4;
}

/* Channels of one group are this many bytes apart. */
constexpr int VT_COLUMNS = 1;

DEVICE constexpr int vt_channel_step(int i)
{
    return i * VT_ROW_BYTES;
}

DEVICE block_frag vt_tile_frag(const char *tile, int block, int group)
{
    return load_frag(tile + vt_row_at(lane_column()) + block * (BLOCK / V_GROUP * VT_GROUP_BYTES),
                     2 * group, 2 * group + 1);
}

#endif
