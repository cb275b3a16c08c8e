/*
 * How the backward kernels lay tiles out in LDS: a tile has STREAM_ROWS rows of SLAB channels.
 *
 *     row_*     as in memory, chunks of eight channels: the A operand that contracts channels
 *     turned_*  transposed, a line a channel, quads of four rows in the order in which pack_p()
 *               leaves them: the A operand that contracts rows
 *
 * No access of a walk meets another one in a bank: tests/gen/kernel/test_attn_bwd_cost.c. LDS has
 * 32 banks of four bytes: the lanes that it serves at a time must hit all of the eight 16-byte
 * columns of a 128-byte line, and all of a column. With stores these are neighbours: eight lanes of
 * 16 bytes each, 16 of 8, 32 of 4. With loads of 16 bytes they are lanes 0 to 3 and 20 to 23, 4 to
 * 7 and 16 to 19, 8 to 11 and 28 to 31, 12 to 15 and 24 to 27, and the same beyond 32, as measured
 * on gfx942; where it may be eight neighbours instead, those do not meet either.
 *
 * row_*, wave64: chunk c of row r lies at column c ^ r % 8; wave32: rows are padded by 16 bytes, so
 * that all addresses of a lane are one register and a constant.
 *
 * turned_*: lines are padded by 16 bytes, an odd number of columns from line to line, so that eight
 * lines differ by their bits 0 to 2. With d0, d1, .. the bits of a channel and l0, l1, .. those of
 * its line within a block of channels, and with chunk c of the line at column c ^ f:
 *
 *     wave64   l = d0 d1 d3 d4 d2   f = (d4, d5)
 *     wave32   l = d2 d0 d3 d1, or d0 d1 d3 d2 on RDNA 4; f = (d4, d5); lines of two chunks: f = 0,
 *              and 16 bytes are left out after each block; CARRIES_BOTH: f = (d5, d4)
 *
 * Lanes of a load that differ in bit 4 differ in bit 2 or are alike in it, so that l4 may not move
 * a column; all have bit 3 in common, so that l3 may. Both halves of a wave32 load the same, or
 * neighbouring chunks on RDNA 4. Stores: neighbours carry eight chunks of channels of the same
 * rows. d3 moves them by four columns, and d4 and d5 spread them among four. The next bits of the
 * lane are for what is left of the columns' bytes, and so are rows of their other half: see
 * duty_of().
 */
#ifndef AOTHIP_ATTN_BWD_LDS_H
#define AOTHIP_ATTN_BWD_LDS_H

#include "mma.h"

/*
 * Whether each thread carries some of both streamed tensors, a quad of channels of a quad of rows,
 * and not some of one: where one of them alone is turned, all waves then do the same.
 */
#define CARRIES_BOTH (SHARES_CHANNELS && !OWNS_KEYS && KERNEL_DIM == 128 && !MMA_STRAIGHT)

/*
 * Channels in LDS and registers at a time. With rows of any alignment, wave32 has no room for
 * 128; sums over elements, by one kernel for all head dims, have no use for them. Of waves that
 * share channels each has a part of those in LDS.
 */
constexpr int SLAB = SHARES_CHANNELS ? KERNEL_DIM
                     : KERNEL_DIM <= 64 || (KERNEL_DIM > 128 && KERNEL_WAVE == 32 &&
                                            (KERNEL_UNALIGNED || SUMS_ELEMENTS))
                         ? 64
                         : 128;
constexpr int SLAB_CHUNKS = SLAB / CHUNK;
constexpr int SLAB_STEPS = SLAB / 16;
constexpr int WALK_DIM = WALK_SLABS * SLAB;
constexpr int WALK_BLOCKS = (KERNEL_DIM < WALK_DIM ? KERNEL_DIM : WALK_DIM) / BLOCK;
/* Operands of a row that a walk has, of all slabs and of the last one: it may be half empty. */
constexpr int WALK_STEPS = WALK_BLOCKS * BLOCK / 16;
constexpr int LAST_STEPS = WALK_STEPS - (WALK_SLABS - 1) * SLAB_STEPS;
constexpr int ROW_BYTES = SLAB * 2 + (KERNEL_WAVE == 32 ? CHUNK_BYTES : 0);
constexpr int LINE_CHUNKS = STREAM_ROWS / CHUNK;
constexpr int LINE_BYTES = STREAM_ROWS * 2 + CHUNK_BYTES;
constexpr int LINE_BLOCK_BYTES =
    BLOCK * LINE_BYTES + (KERNEL_WAVE == 32 && LINE_CHUNKS < 4 ? CHUNK_BYTES : 0);

/*
 * A place in LDS that is computed once and held throughout the walk: the empty statement keeps the
 * compiler from computing it anew in every step.
 */
DEVICE char *held_place(char *x)
{
    typedef __attribute__((address_space(3))) char *shared_place;
    shared_place place = (shared_place)x;
    asm volatile("" : "+v"(place));
    return (char *)place;
}

DEVICE u32 row_chunk_at(u32 row, u32 chunk)
{
    u32 column = KERNEL_WAVE == 32 ? chunk : chunk / 8 * 8 + (chunk % 8 ^ row % 8);
    return row * ROW_BYTES + column * CHUNK_BYTES;
}

/* The chunk at `at` of a row that is a multiple of some power of two beyond i; the one i below. */
DEVICE u32 row_chunk_below(u32 at, u32 i)
{
    return KERNEL_WAVE == 32 ? at + i * ROW_BYTES : at ^ (i * ROW_BYTES + i % 8 * CHUNK_BYTES);
}

#if KERNEL_WAVE == 64
/*
 * Where row_frag() finds it: what is the lane's, to be turned by another step's bits, and what is
 * not.
 */
DEVICE u32 row_frag_at(int step)
{
    u32 column = (2 * (step % 4) + lane_half()) ^ lane_column() % 8;
    return lane_column() * ROW_BYTES + column * CHUNK_BYTES;
}

DEVICE constexpr u32 row_frag_turn(int step)
{
    return (u32)(2 * (step % 4) * CHUNK_BYTES);
}

DEVICE constexpr int row_frag_offset(int block, int step)
{
    return block * BLOCK * ROW_BYTES + step / 4 * 8 * CHUNK_BYTES;
}
#endif

/* Row `lane_column()` of a block, channels 16 * step .. + 15. */
DEVICE block_frag row_frag(const char *tile, int block, int step)
{
#if KERNEL_WAVE == 64
    return *(const u32x4 *)(tile + row_frag_at(step) + row_frag_offset(block, step));
#else
    return load_frag(tile + lane_column() * ROW_BYTES + block * BLOCK * ROW_BYTES, 2 * step,
                     2 * step + 1);
#endif
}

DEVICE constexpr u32 bit_of(u32 x, int bit)
{
    return x >> bit & 1;
}

/* The line of channel d of a block. */
DEVICE constexpr u32 turned_line(u32 d)
{
    return MMA_STRAIGHT ? d % 4 | d / 8 << 2 | bit_of(d, 2) * BLOCK / 2
                        : bit_of(d, 2) | bit_of(d, 0) << 1 | bit_of(d, 3) << 2 | bit_of(d, 1) << 3;
}

/* Where quad `quad` of the rows of a channel lies. */
DEVICE u32 turned_quad_at(u32 channel, u32 quad)
{
#if KERNEL_WAVE == 64
    u32 chunk = quad / 4 * 2 + quad % 2, sub = quad / 2 % 2;
#else
    u32 chunk = quad / 2, sub = quad % 2;
#endif
#if CARRIES_BOTH
    chunk ^= bit_of(channel, 5) | bit_of(channel, 4) << 1;
#else
    if (LINE_CHUNKS >= 4)
        chunk ^= channel / 16 % 4;
#endif
    return channel / BLOCK * LINE_BLOCK_BYTES + turned_line(channel % BLOCK) * LINE_BYTES +
           chunk * CHUNK_BYTES + sub * 8;
}

/* From the quad of a chunk's first channel to that of its channel i. */
DEVICE constexpr int turned_step(int i)
{
    return (int)turned_line((u32)i) * LINE_BYTES;
}

#if KERNEL_WAVE == 32
/* The same as turned_frag(), where `lines` is the lane's line of the tile's first block. */
DEVICE block_frag turned_frag_of(const char *lines, int block, int group)
{
    const int own = LINE_CHUNKS >= 4 ? block % 4 : 0;
    return load_frag(lines + block * LINE_BLOCK_BYTES, 2 * group ^ own, (2 * group + 1) ^ own);
}
#endif

#if KERNEL_WAVE == 64
/* Where turned_frag() finds it: what is the lane's, and what is not. */
DEVICE u32 turned_frag_at(u32 line = lane_column())
{
    return line * LINE_BYTES + (lane_half() ^ bit_of(line, 3)) * CHUNK_BYTES;
}

DEVICE constexpr int turned_frag_offset(int block, int group)
{
    return block * LINE_BLOCK_BYTES + (2 * group ^ block % 2 * 2) * CHUNK_BYTES;
}
#endif

/* Line `lane_column()` of a block, rows 16 * group .. + 15. */
DEVICE block_frag turned_frag(const char *tile, int block, int group)
{
#if KERNEL_WAVE == 64
    const char *line = tile + block * LINE_BLOCK_BYTES;
    u32 own = lane_half() ^ bit_of(lane_column(), 3);
    u32 chunk = own + (u32)(2 * group ^ block % 2 * 2);
    return *(const u32x4 *)(line + (lane_column() * LINE_BYTES + chunk * CHUNK_BYTES));
#else
    return turned_frag_of(tile + lane_column() * LINE_BYTES, block, group);
#endif
}

#if KERNEL_WAVE == 32
/*
 * Calls multiply(i, operand) for `count` operands, which load(i) reads from LDS. They are read
 * in pairs, one ahead of the products of the other, and awaited once a pair: the empty statement
 * uses both.
 */
template <int count, class Load, class Multiply>
DEVICE void multiply_pairs(Load load, Multiply multiply)
{
    static_assert(count % 2 == 0, "pairs");
    block_frag ahead[2] = {load(0), load(1)};
#pragma unroll
    for (int i = 0; i < count; i += 2) {
        block_frag now[2] = {ahead[0], ahead[1]};
        if (i + 2 < count) {
            ahead[0] = load(i + 2);
            ahead[1] = load(i + 3);
        }
        no_further();
        asm volatile("" : "+v"(now[0]), "+v"(now[1]));
        multiply(i, now[0]);
        multiply(i + 1, now[1]);
    }
    no_further();
}
#endif

/* A lane has ACC / RESULT_RUN runs of consecutive channels of a block of a result. */
constexpr int RESULT_RUN = ACC / 2;

typedef u32 result_pairs __attribute__((ext_vector_type(RESULT_RUN / 2)));

/* The first channel of a run in lane half `half`. */
DEVICE u32 result_channel(int block, int run, u32 half)
{
    return block * BLOCK + (2 * run + half) * RESULT_RUN;
}

/* The element of the result that is channel i of the run. */
DEVICE constexpr int result_element(int run, int i)
{
    const int part = MMA_STRAIGHT ? 4 : RESULT_RUN / 2; /* one after the other in registers */
    return i / part * 2 * part + run * part + i % part;
}

#endif
