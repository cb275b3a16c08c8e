/*
 * CDNA matrix instructions, wave64: mma() is two of v_mfma_f32_32x32x8_{f16,bf16}, or on gfx950 one
 * of v_mfma_f32_32x32x16_{f16,bf16} (mfma_deep.h). Included by mma.h, which says what each of these
 * is for.
 *
 * One instruction, l = lane, h = l / 32 = lane_half(), of depth 8 or 16, e = 0..depth / 2 - 1:
 *
 *     A   row i = l % 32       k = depth / 2 * h + e      element e of two or four registers
 *     B   column j = l % 32    k = depth / 2 * h + e      element e of two or four registers
 *     C   column j = l % 32    row = 8(r / 4) + 4h + r % 4    register r = 0..15
 *
 * So registers 4g .. 4g+3 of C, rounded to 16 bits, are the B operand of an instruction that
 * contracts the rows 8g .. 8g+7, or half of one that contracts sixteen. For sixteen k, one 16-byte
 * load per lane feeds two instructions or one:
 *
 *     S^T:  lane half h holds channels 8h .. 8h+7 of a group of 16; of two instructions the first
 *           takes the first four of each half, the second one the rest
 *     O^T:  lane half h holds keys 4h .. 4h+3 and 8 + 4h .. 8 + 4h + 3 of a group of 16
 *
 * LDS has 32 banks of four bytes: eight lanes that load 16 bytes each, or sixteen that store eight
 * each, must hit all of the eight 16-byte columns of a 128-byte line.
 *
 *     K      row of DIM channels; chunk c of key n lies at column c ^ n % 8. Loads: eight lanes,
 *            eight keys, one c. Stores: eight lanes, one key, eight c. Of rows of 64 bytes, two to
 *            a line, at column c ^ n / 2 % 4 of its half.
 *     V^T    row of TILE_K keys, chunk c = 2 * (group of 16) + h; chunk c of channel d lies at
 *            column c ^ f(d), where the bits of f are (d4, d1 ^ d5, d0 ^ d3). Loads: eight lanes
 *            hold channels with all values of (d4, d1, d0). Stores: sixteen lanes hold all of
 *            (d5, d4, d3), and both halves of a 16-byte column.
 */
#ifndef AOTHIP_MMA_MFMA_H
#define AOTHIP_MMA_MFMA_H

constexpr int BLOCK = 32, ACC = 16;

typedef float block_acc __attribute__((ext_vector_type(16)));
typedef u32x4 block_frag;

typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef short s16x4 __attribute__((ext_vector_type(4)));

#include "mma_straight.h"

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
    return 8 * (i / 4) + 4 * lane_half() + i % 4;
}

DEVICE u32 row_channel(u32 row)
{
    return 16 * (row / 4 % 2) + 4 * (row / 8) + row % 4;
}

/* A number that the compiler knows, also as an argument. */
template <int n> struct constant {
    __attribute__((device)) constexpr operator int() const
    {
        return n;
    }
};

/* Calls with each number from `first` to `end`. */
template <int first, int end, class F> DEVICE void for_each(F f)
{
    if constexpr (first < end) {
        f(constant<first>());
        for_each<first + 1, end>(f);
    }
}

/* What is called, with a number or a slice of other work that is beside a product. */
#define BESIDE(i) [&](auto i) __attribute__((always_inline))

#if defined(__gfx950__)
#include "mfma_deep.h"
#elif !KERNEL_FP8
constexpr int MMA_PARTS = 2; /* instructions */

/* With a call beside each part. */
template <class F> DEVICE void mma_beside(block_acc &c, block_frag a, block_frag b, F beside)
{
    u32x2 a0 = a.lo, a1 = a.hi, b0 = b.lo, b1 = b.hi;
#if KERNEL_DTYPE == MMA_F16
    c = __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(f16x4, a0),
                                             __builtin_bit_cast(f16x4, b0), c, 0, 0, 0);
    beside(constant<0>());
    c = __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(f16x4, a1),
                                             __builtin_bit_cast(f16x4, b1), c, 0, 0, 0);
    beside(constant<1>());
#else
    c = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(__builtin_bit_cast(s16x4, a0),
                                                 __builtin_bit_cast(s16x4, b0), c, 0, 0, 0);
    beside(constant<0>());
    c = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(__builtin_bit_cast(s16x4, a1),
                                                 __builtin_bit_cast(s16x4, b1), c, 0, 0, 0);
    beside(constant<1>());
#endif
}

DEVICE void mma(block_acc &c, block_frag a, block_frag b)
{
    mma_beside(c, a, b, [](int) {});
}

#endif

#if !defined(__gfx950__)
/* This value in the lane that holds the other rows of the same column. */
DEVICE float other_half(float x)
{
    u32 lane = lane_id();
#if KERNEL_SCORE == 1
    asm volatile("" : "+v"(lane)); /* computed here: registers are too short to keep it */
#endif
    const int from = (int)(lane ^ BLOCK) * 4;
    return __builtin_bit_cast(float,
                              __builtin_amdgcn_ds_bpermute(from, __builtin_bit_cast(int, x)));
}

#endif

/* Zeros by one matrix instruction, which has time while a workgroup's first loads are on their way,
 * instead of a move for each two. `none` is 0. */
DEVICE block_acc zero_product(u32x2 &none)
{
    asm volatile("" : "+v"(none)); /* or one product would be copied for all that want it */
    return __builtin_amdgcn_mfma_f32_32x32x8f16(
        __builtin_bit_cast(f16x4, none), __builtin_bit_cast(f16x4, none), zero_acc(), 0, 0, 0);
}

/* K in LDS. */

constexpr int K_ROW_BYTES = STAGE_DIM * CHANNEL_BYTES, K_TILE_BYTES = KERNEL_TILE_K * K_ROW_BYTES;

/* How chunks of a row change places: the eight of a line, or the four of half a line. */
#if KERNEL_FP8 && KERNEL_DIM <= 64
#define K_TURN(key) key / 2 % 4
#else
#define K_TURN(key) key % 8
#endif

DEVICE u32 k_tile_at(u32 key, u32 chunk)
{
    return key * (STAGE_DIM * CHANNEL_BYTES) +
           (chunk / 8 * 8 + (chunk % 8 ^ K_TURN(key))) * CHUNK_BYTES;
}

/* What is `keys` rows below `at`: a multiple of eight, or four below a row whose bit 2 is 0. */
DEVICE u32 k_tile_below(u32 at, u32 keys)
{
    return (at ^ K_TURN(keys) * CHUNK_BYTES) + keys * K_ROW_BYTES;
}

DEVICE block_frag k_tile_frag(const char *tile, int block, int step)
{
    /* chunk = 2 * step + half, split so that only its low three bits meet the lane */
    u32 lane_row = lane_column() * (STAGE_DIM * CHANNEL_BYTES);
    u32 column = (2 * (step % 4) + lane_half()) ^ K_TURN(lane_column());
    return *(
        const u32x4 *)(tile + (lane_row + column * CHUNK_BYTES) +
                       (block * BLOCK * STAGE_DIM * CHANNEL_BYTES + step / 4 * 8 * CHUNK_BYTES));
}

#if KERNEL_FP8
#include "vt_mfma_8.h"
#else

/* V^T in LDS. */

constexpr int VT_TILE_BYTES = STAGE_DIM_V * KERNEL_TILE_K * 2;

DEVICE u32 vt_column(u32 channel)
{
    return (channel >> 4 & 1) << 2 | ((channel >> 1 ^ channel >> 5) & 1) << 1 |
           ((channel ^ channel >> 3) & 1);
}

/* Whether the other four of a thread's eight chunks are of the same keys: a wave has its own ones
 * in pages. */
#define V_BESIDE (V_ROWS == 8 && KERNEL_PAGED)

/* Which quad and group of eight channels a thread carries from memory to LDS; and where that is two
 * rows, which pair of the quad's keys. Where it is eight, the other quad is 32 keys further, or
 * half of all channels. */
struct vt_duty {
    u32 quad, channel, pair;
};

DEVICE struct vt_duty vt_duty_of(u32 thread)
{
    u32 group = thread % 8, sub = thread / 8 % 2, rest = thread / (V_ROWS == 2 ? 32 : 16);
    const u32 uppers = STAGE_DIM_V / (V_BESIDE ? 128 : 64);
    u32 upper = rest % uppers, quad = rest / uppers;
    return {(quad & ~1u) << 1 | sub << 1 | (quad & 1), upper * 64 + group * 8,
            V_ROWS == 2 ? thread / 16 % 2 : 0};
}

/* Where that quad is, of one of the first 32 keys, or of the first half of the channels, at `at`.
 */
DEVICE u32 vt_tile_further(u32 at)
{
    return V_BESIDE ? at + VT_TILE_BYTES / 2 : at ^ 4 * CHUNK_BYTES;
}

/*
 * For lanes that carry single channels: which one, so that with quad vt_pair_quad(p) in half of the
 * lanes and the quad VT_QUAD_STEP further in the other half, sixteen lanes hit all of a line.
 */
constexpr int VT_QUAD_STEP = 2;

DEVICE u32 vt_lane_channel(u32 lane)
{
    return (lane & 3) | (lane >> 2 & 1) << 4 | (lane >> 3 & 1) << 2 | (lane >> 4 & 1) << 3 |
           (lane & 32);
}

DEVICE u32 vt_pair_quad(u32 pair)
{
    return pair / 2 * 4 + pair % 2;
}

DEVICE u32 vt_tile_at(u32 channel, u32 quad)
{
    u32 chunk = quad / 4 * 2 + quad % 2, sub = quad / 2 % 2;
    return channel * (KERNEL_TILE_K * 2) +
           (chunk / 8 * 8 + (chunk % 8 ^ vt_column(channel))) * CHUNK_BYTES + sub * 8;
}

/* Channels 4 apart, and less than 8, lie in the same column, this many bytes apart. */
constexpr int VT_COLUMNS = 4;

DEVICE constexpr int vt_channel_step(int i)
{
    return i * (KERNEL_TILE_K * 2);
}

DEVICE block_frag vt_tile_frag(const char *tile, int block, int group)
{
    /* channel = 32 * block + row_channel(lane): bit d5 is block % 2, all else is the lane's */
    u32 channel = row_channel(lane_column());
    u32 chunk = 2 * ((group % 4) ^ (block % 2)) + lane_half();
    u32 column = chunk ^ vt_column(channel);
    return *(const u32x4 *)(tile + (channel * (KERNEL_TILE_K * 2) + column * CHUNK_BYTES) +
                            (block * BLOCK * KERNEL_TILE_K * 2 + group / 4 * 8 * CHUNK_BYTES));
}

/* The same of blocks that are an even number behind `first`: where this lane's rows of it begin. */
constexpr int VT_SHARE_LINES = 1;

DEVICE void vt_share_lines(u32 (&lines)[VT_SHARE_LINES], u32 first)
{
    const u32 channel = row_channel(lane_column()), chunk = 2 * (first % 2) + lane_half();
    lines[0] = (first * BLOCK + channel) * (KERNEL_TILE_K * 2) +
               (chunk ^ vt_column(channel)) * CHUNK_BYTES;
    asm volatile("" : "+v"(lines[0]));
}

DEVICE block_frag vt_share_frag(const char *tile, const u32 (&lines)[VT_SHARE_LINES], int block,
                                int group)
{
    return *(const u32x4 *)(tile + (lines[0] ^ 2 * (group % 4) * CHUNK_BYTES) +
                            (block * BLOCK * KERNEL_TILE_K * 2 + group / 4 * 8 * CHUNK_BYTES));
}

#endif

#endif
