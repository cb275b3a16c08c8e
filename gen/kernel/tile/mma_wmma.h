/*
 * RDNA matrix instructions, wave32: one per mma(). Included by mma.h, which says what each of these
 * is for. What lanes have of C, and so the order of keys and the layout of V^T, is that of RDNA 3,
 * mma_wmma11.h, or of RDNA 4, mma_wmma12.h.
 *
 * LDS has 32 banks of four bytes: eight lanes that load 16 bytes each, or sixteen that store eight
 * each, must hit all of the eight 16-byte columns of a 128-byte line.
 *
 *     K, Q   row of DIM channels and 16 bytes of padding: an odd number of columns from row to
 *            row, so eight lanes with eight rows and one chunk differ. All addresses of a lane are
 *            one register and a constant.
 */
#ifndef AOTHIP_MMA_WMMA_H
#define AOTHIP_MMA_WMMA_H

constexpr int BLOCK = 16, ACC = 8;

typedef float block_acc __attribute__((ext_vector_type(8)));

#include "wmma.h"

DEVICE u32 lane_half()
{
    return lane_id() / BLOCK;
}

DEVICE u32 lane_column()
{
    return lane_id() % BLOCK;
}

/* This value in the lane that holds the other rows of the same column. */
DEVICE float other_half(float x)
{
    return __builtin_bit_cast(float, exchange_halves(__builtin_bit_cast(u32, x), 0));
}

/* The lane's part of a row of A whose sixteen k are two chunks of a line in LDS. */
DEVICE block_frag load_frag(const char *line, int first, int second);

/* K in LDS, and Q in the same layout. */

constexpr int K_ROW_BYTES = STAGE_DIM * CHANNEL_BYTES + CHUNK_BYTES;
constexpr int K_TILE_BYTES = KERNEL_TILE_K * K_ROW_BYTES;

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
    return load_frag(tile + lane_column() * K_ROW_BYTES + block * BLOCK * K_ROW_BYTES, 2 * step,
                     2 * step + 1);
}

/* V^T in LDS. */

/* Kernels with tiles of 16 keys have no V^T. */
static_assert(KERNEL_TILE_K == 16 || KERNEL_TILE_K == 32 || KERNEL_TILE_K == 64, "layouts exist");

#if !KERNEL_FP8

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
 * Lanes that carry single channels have quad vt_pair_quad(p) in half of the lanes and the quad
 * VT_QUAD_STEP further in the other half.
 */
constexpr int VT_QUAD_STEP = 1;

DEVICE u32 vt_pair_quad(u32 pair)
{
    return 2 * pair;
}

#endif

#if defined(__GFX12__)
#include "mma_wmma12.h"
#else
#include "mma_wmma11.h"
#endif

#endif
