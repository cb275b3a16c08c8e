/*
 * How the backward kernels lay tiles out in LDS: a tile has STREAM_ROWS rows of SLAB channels.
 *
 *     row_*     as in memory, chunks of eight channels: the A operand that contracts channels
 *     turned_*  transposed, a line a channel, quads of four rows in the order in which pack_p()
 *               leaves them: the A operand that contracts rows
 *
 * Eight lanes that load 16 bytes each must hit all of the eight 16-byte columns of a 128-byte line.
 * row_*, wave64: chunk c of row r lies at column c ^ r % 8; wave32: rows are padded by 16 bytes, so
 * that all addresses of a lane are one register and a constant. turned_*: lines are padded by 16
 * bytes, an odd number of columns from line to line; and lest the stores of one row's chunks meet
 * in one column, chunk c of channel d lies at c ^ d / 8, on wave32 hardware at c ^ d / 16, with
 * which its loads do not meet either. Where a line has too few chunks for that, 32 bytes are left
 * out every sixteen lines.
 *
 * Line i of a block of channels is row i of the A operand. Wave32 hardware leaves every other row
 * of C in a lane, so there the channel of line i is row_channel(i), and a lane ends up with eight
 * consecutive channels; wave64 hardware leaves four consecutive ones as it is.
 */
#ifndef AOTHIP_ATTN_BWD_LDS_H
#define AOTHIP_ATTN_BWD_LDS_H

#include "mma.h"

enum {
    /* Channels in LDS and registers at a time. With all features, wave32 has no room for 128. */
    SLAB = KERNEL_DIM <= 64 || (KERNEL_DIM > 128 && KERNEL_WAVE == 32) ? 64 : 128,
    SLAB_CHUNKS = SLAB / CHUNK,
    SLAB_STEPS = SLAB / 16,
    SLAB_BLOCKS = SLAB / BLOCK,
    ROW_BYTES = SLAB * 2 + (KERNEL_WAVE == 32 ? CHUNK_BYTES : 0),
    LINE_CHUNKS = STREAM_ROWS / CHUNK,
    LINE_BYTES = STREAM_ROWS * 2 + CHUNK_BYTES,
    LINE_BLOCK_BYTES =
        BLOCK * LINE_BYTES + (KERNEL_WAVE == 32 && LINE_CHUNKS < 4 ? 2 * CHUNK_BYTES : 0),
};

DEVICE u32 row_chunk_at(u32 row, u32 chunk)
{
    u32 column = KERNEL_WAVE == 32 ? chunk : chunk / 8 * 8 + (chunk % 8 ^ row % 8);
    return row * ROW_BYTES + column * CHUNK_BYTES;
}

/* Row `lane_column()` of a block, channels 16 * step .. + 15. */
DEVICE block_frag row_frag(const char *tile, int block, int step)
{
#if KERNEL_WAVE == 64
    u32 column = (2 * (step % 4) + lane_half()) ^ lane_column() % 8;
    return *(const u32x4 *)(tile + (lane_column() * ROW_BYTES + column * CHUNK_BYTES) +
                            (block * BLOCK * ROW_BYTES + step / 4 * 8 * CHUNK_BYTES));
#else
    const u32x4 *at = (const u32x4 *)(tile + lane_column() * ROW_BYTES +
                                      (block * BLOCK * ROW_BYTES + step * 2 * CHUNK_BYTES));
    return join_chunks(at[0], at[1]);
#endif
}

/* Where quad `quad` of the rows of a channel lies. */
DEVICE u32 turned_quad_at(u32 channel, u32 quad)
{
#if KERNEL_WAVE == 64
    u32 line = channel % BLOCK, chunk = quad / 4 * 2 + quad % 2, sub = quad / 2 % 2;
    chunk ^= channel / CHUNK % LINE_CHUNKS;
#else
    u32 line = channel % 8 * 2 + channel / 8 % 2, chunk = quad / 2, sub = quad % 2;
    if (LINE_CHUNKS >= 4)
        chunk ^= channel / BLOCK % LINE_CHUNKS;
#endif
    return channel / BLOCK * LINE_BLOCK_BYTES + line * LINE_BYTES + chunk * CHUNK_BYTES + sub * 8;
}

/* From the quad of one channel to that of the next, within a chunk of channels. */
enum { TURNED_STEP = LINE_BYTES * (KERNEL_WAVE == 64 ? 1 : 2) };

/* Line `lane_column()` of a block, rows 16 * group .. + 15. */
DEVICE block_frag turned_frag(const char *tile, int block, int group)
{
    const char *line = tile + block * LINE_BLOCK_BYTES;
#if KERNEL_WAVE == 64
    u32 own = lane_half() ^ lane_column() / CHUNK % LINE_CHUNKS;
    u32 chunk = own ^ (u32)(2 * group ^ block * 4 % LINE_CHUNKS);
    return *(const u32x4 *)(line + (lane_column() * LINE_BYTES + chunk * CHUNK_BYTES));
#else
    const u32x4 *at = (const u32x4 *)(line + lane_column() * LINE_BYTES);
    const int own = LINE_CHUNKS >= 4 ? block % LINE_CHUNKS : 0;
    return join_chunks(at[2 * group ^ own], at[(2 * group + 1) ^ own]);
#endif
}

/*
 * Channel of element i of block `block` of a result, in lane half `half`; four in a row from every
 * fourth i on.
 */
DEVICE u32 result_channel(int block, int i, u32 half)
{
    u32 within = KERNEL_WAVE == 64 ? 8 * (i / 4) + 4 * half + i % 4 : ACC * half + i;
    return block * BLOCK + within;
}

#endif
