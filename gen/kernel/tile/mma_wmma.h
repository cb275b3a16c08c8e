/*
 * RDNA 3 matrix instructions, wave32: v_wmma_f32_16x16x16_{f16,bf16}, one per mma(). Included by
 * mma.h, which says what each of these is for.
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
 * LDS has 32 banks of four bytes: eight lanes that load 16 bytes each, or sixteen that store eight
 * each, must hit all of the eight 16-byte columns of a 128-byte line. Both lane halves load the
 * same addresses.
 *
 *     K, Q   row of DIM channels and 16 bytes of padding: an odd number of columns from row to
 *            row, so eight lanes with eight rows and one chunk differ. All addresses of a lane are
 *            one register and a constant.
 *     V^T    row of TILE_K keys, two to the 128-byte line if TILE_K = 32. With b = d / 16 and
 *            j = d % 8, the place of channel d among its peers is f = (d3, j1 ^ b1, j0 ^ b0).
 *            TILE_K = 64: chunk c lies at column c ^ f. TILE_K = 32: line (b, j) holds channel
 *            d3 = 0 in its lower half and d3 = 1 in its upper half: c ^ f again, with c < 4.
 */
#ifndef AOTHIP_MMA_WMMA_H
#define AOTHIP_MMA_WMMA_H

enum { BLOCK = 16, ACC = 8 };

typedef float block_acc __attribute__((ext_vector_type(8)));
typedef u32 block_frag __attribute__((ext_vector_type(8)));

typedef _Float16 f16x16 __attribute__((ext_vector_type(16)));
typedef short s16x16 __attribute__((ext_vector_type(16)));

DEVICE u32 lane_half()
{
    return lane_id() / BLOCK;
}

DEVICE u32 lane_column()
{
    return lane_id() % BLOCK;
}

DEVICE u32 acc_row(u32 i)
{
    return 2 * i + lane_half();
}

DEVICE u32 row_channel(u32 row)
{
    return 8 * (row % 2) + row / 2;
}

DEVICE void mma(block_acc &c, block_frag a, block_frag b)
{
#if KERNEL_DTYPE == MMA_F16
    c = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(f16x16, a),
                                                   __builtin_bit_cast(f16x16, b), c);
#else
    c = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_bit_cast(s16x16, a),
                                                    __builtin_bit_cast(s16x16, b), c);
#endif
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
 * This value in lane l ^ 16. `dying` is any value of no further use: the instruction overwrites its
 * register, and the compiler would have to copy one that lives on.
 */
DEVICE u32 exchange_halves(u32 x, u32 dying)
{
    return __builtin_amdgcn_permlanex16(dying, x, 0x76543210, 0xfedcba98, false, false);
}

/* This value in the lane that holds the other rows of the same column. */
DEVICE float other_half(float x)
{
    return __builtin_bit_cast(float, exchange_halves(__builtin_bit_cast(u32, x), 0));
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

/* A block of P^T as a B fragment; it has the one group 0. */
DEVICE block_frag pack_p(const block_acc &p, int, u32 half)
{
    block_frag b;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float low = p[2 * i], high = p[2 * i + 1];
        u32 own = end_round_pair(low, high);
        u32 other = exchange_halves(own, __builtin_bit_cast(u32, low));
        b[2 * i] = half ? other : own;
        b[2 * i + 1] = half ? own : other;
    }
    return b;
}

DEVICE block_frag join_chunks(u32x4 x, u32x4 y)
{
    return __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7);
}

/* K in LDS, and Q in the same layout. */

enum { K_ROW_BYTES = STAGE_DIM * 2 + CHUNK_BYTES, K_TILE_BYTES = KERNEL_TILE_K * K_ROW_BYTES };

DEVICE u32 k_tile_at(u32 key, u32 chunk)
{
    return key * K_ROW_BYTES + chunk * CHUNK_BYTES;
}

/* What is as many lines below `at`. */
DEVICE u32 k_tile_below(u32 at, u32 lines)
{
    return at + lines * K_ROW_BYTES;
}

DEVICE block_frag k_tile_frag(const char *tile, int block, int step)
{
    const u32x4 *at = (const u32x4 *)(tile + lane_column() * K_ROW_BYTES +
                                      (block * BLOCK * K_ROW_BYTES + step * 32));
    return join_chunks(at[0], at[1]);
}

/* V^T in LDS. */

enum { VT_TILE_BYTES = STAGE_DIM * KERNEL_TILE_K * 2 };

static_assert(KERNEL_TILE_K == 32 || KERNEL_TILE_K == 64, "layouts of V^T exist for these");

/* First byte of the line that holds channel 16 * block + 8 * d3 + j. */
DEVICE u32 vt_line(u32 block, u32 d3, u32 j)
{
    return KERNEL_TILE_K == 64 ? ((block * 8 + j) * 2 + d3) * 128 : (block * 8 + j) * 128;
}

/* Which quad and group of eight channels a thread carries from memory to LDS. */
struct vt_duty {
    u32 quad, channel;
};

DEVICE struct vt_duty vt_duty_of(u32 thread)
{
    u32 group = thread % 8, sub = thread / 8 % 2, rest = thread / 16;
    u32 upper = rest % (STAGE_DIM / 64), quad = rest / (STAGE_DIM / 64);
    return {quad << 1 | sub, upper * 64 + group * 8};
}

/*
 * For lanes that carry single channels: which one, so that with quad vt_pair_quad(p) in half of the
 * lanes and the quad VT_QUAD_STEP further in the other half, sixteen lanes hit all of a line.
 */
enum { VT_QUAD_STEP = 1 };

DEVICE u32 vt_lane_channel(u32 lane)
{
    return (lane & 3) | (lane >> 2 & 1) << 3 | (lane >> 3 & 1) << 2 | (lane & 16);
}

DEVICE u32 vt_pair_quad(u32 pair)
{
    return 2 * pair;
}

/* Pairs of keys within a quad, in the order in which pack_p() leaves them. */
enum { VT_PAIR_STEP = 2 }; /* (0, 2), (1, 3) */

DEVICE u32 vt_tile_at(u32 channel, u32 quad)
{
    u32 block = channel / 16, d3 = channel / 8 % 2, j = channel % 8;
    u32 chunk = quad / 2, sub = quad % 2, f = d3 << 2 | ((j ^ block) & 3);
    return vt_line(block, d3, j) + (chunk ^ f) * CHUNK_BYTES + sub * 8;
}

/* Channels 4 apart, and less than 8, lie in the same column, this many bytes apart. */
enum { VT_COLUMNS = 4 };

DEVICE constexpr int vt_channel_step(int i)
{
    return i * (KERNEL_TILE_K == 64 ? 256 : 128);
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

#endif
