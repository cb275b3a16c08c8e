/*
 * RDNA 3: what mma_wmma.h, which includes this, has there.
 *
 * l = lane, h = l / 16 = lane_half(), r = register, e = half of a register:
 *
 *     A   row i = l % 16       k = 2r + e    eight registers, the same in both lane halves
 *     B   column j = l % 16    k = 2r + e    eight registers, the same in both lane halves
 *     C   column j = l % 16    row = 2r + h  eight registers
 *
 * A lane holds every other row of its column of P^T and B wants them all: each packed register is
 * exchanged once with lane l ^ 16. Rounding registers (r, r + 1) of C into one, r even, gives keys
 * (2r, 2r + 2) in the lower half and (2r + 1, 2r + 3) in the upper one. Taking the lower half's
 * first, the order of the keys in B, and hence of V^T in LDS, is 0 2 1 3, 4 6 5 7, ...
 *
 * V^T in LDS: row of TILE_K keys, two to the 128-byte line if TILE_K = 32. With b = d / 16 and
 * j = d % 8, the place of channel d among its peers is f = (d3, j1 ^ b1, j0 ^ b0). TILE_K = 64:
 * chunk c lies at column c ^ f. TILE_K = 32: line (b, j) holds channel d3 = 0 in its lower half and
 * d3 = 1 in its upper half: c ^ f again, with c < 4. Both lane halves load the same addresses.
 */
#ifndef AOTHIP_MMA_WMMA11_H
#define AOTHIP_MMA_WMMA11_H

#define MMA_STRAIGHT 0 /* mma_straight.h */

DEVICE u32 acc_row(u32 i)
{
    return 2 * i + lane_half();
}

DEVICE u32 row_channel(u32 row)
{
    return 8 * (row % 2) + row / 2;
}

/*
 * WMMA takes its zero C from registers. The empty statement keeps the compiler from holding them
 * throughout the key loop.
 */
DEVICE block_acc zero_acc()
{
    float zero = 0;
    asm volatile("" : "+v"(zero));
    return zero;
}

/*
 * mma(), with a C of 0 if it `begins` one. The compiler knows no C that is a constant of the
 * instruction, and takes eight more to clear one. Of hazards in a statement of assembly it knows
 * nothing: neither operand may be the result of a product shortly before.
 */
#define MMA_BEGINS 1

DEVICE void mma_begin(bool begins, block_acc &c, block_frag a, block_frag b)
{
    if (!begins)
        mma(c, a, b);
    else if (KERNEL_DTYPE == MMA_F16)
        asm("v_wmma_f32_16x16x16_f16 %0, %1, %2, 0" : "=&v"(c) : "v"(a), "v"(b));
    else
        asm("v_wmma_f32_16x16x16_bf16 %0, %1, %2, 0" : "=&v"(c) : "v"(a), "v"(b));
}

/*
 * The lane's half, for the selections of pack_p(). The empty statement makes the comparison with it
 * belong to the step, so that its result can be in VCC, where selections go in pairs.
 */
DEVICE u32 pack_half()
{
    u32 half = lane_half();
    asm volatile("" : "+v"(half));
    return half;
}

/*
 * Pairs 0 .. 3 of a block of P^T as a B fragment; pair(i) is of rows 2i and 2i + 1 of a lane,
 * dying(i) is for exchange_halves().
 */
template <class Pair, class Dying> DEVICE block_frag pack_pairs(u32 half, Pair pair, Dying dying)
{
    block_frag b;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u32 own = pair(i);
        u32 other = exchange_halves(own, dying(i));
        b[2 * i] = half ? other : own;
        b[2 * i + 1] = half ? own : other;
    }
    return b;
}

/* A register of no further use, whatever it holds. */
DEVICE u32 dying_one()
{
    u32 x;
    asm volatile("" : "=v"(x));
    return x;
}

/* A block of P^T as a B fragment; it has the one group 0. */
DEVICE block_frag pack_p(const block_acc &p, int, u32 half)
{
    return pack_pairs(
        half, [&](int i) { return end_round_pair(p[2 * i], p[2 * i + 1]); },
        [&](int i) { return __builtin_bit_cast(u32, (float)p[2 * i]); });
}

DEVICE block_frag join_chunks(u32x4 x, u32x4 y)
{
    return __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7);
}

DEVICE block_frag load_frag(const char *line, int first, int second)
{
    const u32x4 *at = (const u32x4 *)line;
    return join_chunks(at[first], at[second]);
}

/* V^T in LDS. */

constexpr int VT_TILE_BYTES = STAGE_DIM * KERNEL_TILE_K * 2;

/* First byte of the line that holds channel 16 * block + 8 * d3 + j. */
DEVICE u32 vt_line(u32 block, u32 d3, u32 j)
{
    return KERNEL_TILE_K == 64 ? ((block * 8 + j) * 2 + d3) * 128 : (block * 8 + j) * 128;
}

/*
 * For lanes that carry single channels: which one, so that sixteen lanes, half of which have
 * another quad, hit all of a line.
 */
DEVICE u32 vt_lane_channel(u32 lane)
{
    return (lane & 3) | (lane >> 2 & 1) << 3 | (lane >> 3 & 1) << 2 | (lane & 16);
}

/* Pairs of keys within a quad, in the order in which pack_p() leaves them. */
constexpr int VT_PAIR_STEP = 2; /* (0, 2), (1, 3) */

DEVICE u32 vt_tile_at(u32 channel, u32 quad)
{
    u32 block = channel / 16, d3 = channel / 8 % 2, j = channel % 8;
    u32 chunk = quad / 2, sub = quad % 2, f = d3 << 2 | ((j ^ block) & 3);
    return vt_line(block, d3, j) + (chunk ^ f) * CHUNK_BYTES + sub * 8;
}

/* Channels 4 apart, and less than 8, lie in the same column, this many bytes apart. */
constexpr int VT_COLUMNS = 4;

DEVICE constexpr int vt_channel_step(int i)
{
    return i * (KERNEL_TILE_K == 64 ? 256 : 128);
}

/* Where this lane's row of the block of channels 0 has chunk `chunk`; `column`: lane_column(). */
DEVICE u32 vt_chunk_at(u32 chunk, u32 column)
{
    u32 channel = row_channel(column), d3 = channel / 8, j = channel % 8;
    return vt_line(0, d3, j) + (chunk ^ (d3 << 2 | (j & 3))) * CHUNK_BYTES;
}

DEVICE block_frag vt_tile_frag(const char *tile, int block, int group)
{
    u32 channel = row_channel(lane_column()), d3 = channel / 8, j = channel % 8;
    u32 f = d3 << 2 | (j & 3);
    u32 lane_line = vt_line(0, d3, j);
    int line = (int)vt_line(block, 0, 0), swizzle = block % 4;
    u32 first = (u32)((2 * group) ^ swizzle) ^ f, second = (u32)((2 * group + 1) ^ swizzle) ^ f;
    return join_chunks(*(const u32x4 *)(tile + (lane_line + first * CHUNK_BYTES) + line),
                       *(const u32x4 *)(tile + (lane_line + second * CHUNK_BYTES) + line));
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
        lines[i] = vt_chunk_at((u32)i ^ first % 4, lane_column()) + vt_line(first, 0, 0);
        asm volatile("" : "+v"(lines[i]));
    }
}

DEVICE block_frag vt_share_frag(const char *tile, const u32 (&lines)[VT_SHARE_LINES], int block,
                                int group)
{
    const char *at = tile + (int)vt_line(block, 0, 0);
    const int first = 2 * group ^ block % 4;
    return join_chunks(*(const u32x4 *)(at + lines[first]),
                       *(const u32x4 *)(at + lines[first ^ 1]));
}

#endif
