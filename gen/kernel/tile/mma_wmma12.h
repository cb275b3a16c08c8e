/*
 * RDNA 4: what mma_wmma.h, which includes this, has there.
 *
 * l = lane, h = l / 16 = lane_half(), r = register, e = half of a register:
 *
 *     A   row i = l % 16       k = 8h + 2r + e    four registers
 *     B   column j = l % 16    k = 8h + 2r + e    four registers
 *     C   column j = l % 16    row = 8h + r       eight registers
 *
 * as in the tables of IREE (IREEGPUAttrs.cpp, "WMMAR4") and in ggml's mma.cuh, which runs on such
 * cards. What a lane has of a column of P^T is just what B wants of it.
 *
 * V^T in LDS: row of TILE_K keys and 16 bytes of padding, and 64 bytes more after every eight
 * channels. With d0, d1, .. the bits of a channel, chunk c lies at column c ^ f, f = (d5, d4), of
 * the row. So rows are an odd number of columns apart, but those that differ in d3 four, modulo
 * eight. Loads: eight lanes have channels with all values of (d2, d1, d0). Stores: sixteen lanes
 * have all of (d5, d4, d3).
 */
#ifndef AOTHIP_MMA_WMMA12_H
#define AOTHIP_MMA_WMMA12_H

#include "mma_straight.h"

DEVICE u32 acc_row(u32 i)
{
    return ACC * lane_half() + i;
}

DEVICE u32 row_channel(u32 row)
{
    return row;
}

DEVICE block_frag load_frag(const char *line, int first, int second)
{
    return *(const u32x4 *)(line + (int)lane_half() * ((second - first) * CHUNK_BYTES) +
                            first * CHUNK_BYTES);
}

#if KERNEL_FP8
#include "vt_wmma12_8.h"
#else

/* V^T in LDS. */

constexpr int VT_ROW_BYTES = KERNEL_TILE_K * 2 + CHUNK_BYTES;
constexpr int VT_GROUP_BYTES = CHUNK * VT_ROW_BYTES + 4 * CHUNK_BYTES; /* of eight channels */
constexpr int VT_TILE_BYTES = STAGE_DIM / CHUNK * VT_GROUP_BYTES;

DEVICE u32 vt_row_at(u32 channel)
{
    return channel / CHUNK * VT_GROUP_BYTES + channel % CHUNK * VT_ROW_BYTES;
}

/* Which channel a lane carries that carries single ones. */
DEVICE u32 vt_lane_channel(u32 lane)
{
    return lane;
}

DEVICE u32 vt_tile_at(u32 channel, u32 quad)
{
    return vt_row_at(channel) + (quad / 2 ^ channel / BLOCK % 4) * CHUNK_BYTES + quad % 2 * 8;
}

/* Channels of one group are this many bytes apart. */
constexpr int VT_COLUMNS = 1;

DEVICE constexpr int vt_channel_step(int i)
{
    return i * VT_ROW_BYTES;
}

DEVICE block_frag vt_tile_frag(const char *tile, int block, int group)
{
    const int f = block % 4;
    return load_frag(tile + vt_row_at(lane_column()) + block * (BLOCK / CHUNK * VT_GROUP_BYTES),
                     2 * group ^ f, (2 * group + 1) ^ f);
}

/*
 * The same of a wave that has the blocks from `first` on, as many as divide it: where they begin is
 * computed once.
 */
constexpr int VT_SHARE_LINES = KERNEL_TILE_K / CHUNK;

DEVICE void vt_share_lines(u32 (&lines)[VT_SHARE_LINES], u32 first)
{
#pragma unroll
    for (int i = 0; i < VT_SHARE_LINES; i++) {
        lines[i] = vt_row_at(lane_column()) + first * (BLOCK / CHUNK * VT_GROUP_BYTES) +
                   ((u32)i ^ lane_half() ^ first % 4) * CHUNK_BYTES;
        asm volatile("" : "+v"(lines[i]));
    }
}

DEVICE block_frag vt_share_frag(const char *tile, const u32 (&lines)[VT_SHARE_LINES], int block,
                                int group)
{
    return *(const u32x4 *)(tile + block * (BLOCK / CHUNK * VT_GROUP_BYTES) +
                            lines[2 * group ^ block % 4]);
}

#endif

#endif
