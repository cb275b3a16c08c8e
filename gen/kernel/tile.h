/*
 * Tiles: rows of a tensor on their way from global memory through registers to LDS.
 *
 * A slice is one (batch, head) matrix of a tensor, rows by channels, channels contiguous. Rows that
 * do not exist and channels beyond the slice's dim arrive as zeros and are never touched in memory:
 *
 *   aligned    16-byte buffer loads. A buffer descriptor spans exactly the bytes from the tile's
 *              first row to the last existing channel of its last existing row; a lane whose
 *              channels lie beyond dim asks for an offset outside of it, which the hardware answers
 *              with 0. The descriptor is rebased per tile with 64-bit scalar arithmetic, so offsets
 *              within it stay below 2^31 as long as a row is at most 2^24 bytes from the next
 *              (KERNARG_ALIGNED_STRIDE_MAX).
 *   unaligned  64-bit addresses per lane; 16 bytes at once where a chunk of eight channels exists
 *              whole (the hardware loads them from any address), element by element elsewhere.
 */
#ifndef AOTHIP_TILE_H
#define AOTHIP_TILE_H

#include "kernarg.h"

#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))
#define SHARED __attribute__((shared))

typedef unsigned int u32;
typedef unsigned short u16;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef float f32x2 __attribute__((ext_vector_type(2)));

/* Eight 16-bit channels: the unit of loads from memory and of swizzling in LDS. */
enum { CHUNK = 8, CHUNK_BYTES = 16 };

enum { THREADS = KERNEL_WAVES * KERNEL_WAVE };

DEVICE u32 thread_id()
{
    return __builtin_amdgcn_workitem_id_x();
}

DEVICE u32 lane_id()
{
    return thread_id() % KERNEL_WAVE;
}

/* The same value in every lane of a wave, known to be so by the compiler. */
DEVICE u32 wave_id()
{
    return __builtin_amdgcn_readfirstlane(thread_id() / KERNEL_WAVE);
}

/*
 * All waves have arrived and see each other's LDS stores. Loads from global memory stay in flight:
 * hence the fence on LDS alone.
 */
DEVICE void lds_barrier()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

/* One (batch, head) matrix of a tensor. Uniform. */
struct slice {
    char *base;      /* row 0 */
    kernarg_i64 pitch; /* bytes from row to row */
    int rows, dim;
};

DEVICE struct slice slice_of(kernarg_u64 data, const struct kernarg_strides &stride, int batch,
                             int head, int rows, int dim)
{
    return {(char *)data + (batch * stride.batch + head * stride.head) * 2, stride.seq * 2, rows,
            dim};
}

DEVICE char *row_at(const struct slice &x, kernarg_i64 row)
{
    return x.base + row * x.pitch;
}

#if !KERNEL_UNALIGNED

#if KERNEL_WAVE == 64
#define DESCRIPTOR_WORD3 0x00027000 /* raw buffer, 32-bit data format (CDNA) */
#else
#define DESCRIPTOR_WORD3 0x31004000 /* raw buffer, bounds checked on the offset (RDNA 3) */
#endif

/* An offset that lies outside every descriptor. */
#define NOWHERE 0x80000000u

typedef __amdgpu_buffer_rsrc_t tile_view;

/* The existing part of `count` rows that begin at `first`, of which `left` (<= 0: none) exist. */
DEVICE tile_view view_rows(char *first, const struct slice &x, int left, int count)
{
    int rows = left < count ? left : count;
    u32 bytes = rows > 0 ? (u32)(rows - 1) * (u32)x.pitch + (u32)x.dim * 2 : 0;
    return __builtin_amdgcn_make_buffer_rsrc(first, 0, (int)bytes, DESCRIPTOR_WORD3);
}

/* Where this lane's chunk lies in any view of the slice: row and first channel. */
typedef u32 chunk_place;

DEVICE chunk_place place_chunk(const struct slice &x, u32 row, u32 channel)
{
    return (int)channel < x.dim ? row * (u32)x.pitch + channel * 2 : NOWHERE;
}

DEVICE u32x4 load_chunk(tile_view view, chunk_place at)
{
    return __builtin_amdgcn_raw_buffer_load_b128(view, (int)at, 0, 0);
}

/* Stores the eight channels of `x`. Nothing is stored outside of the view. */
DEVICE void store_chunk(tile_view view, chunk_place at, u32x4 x)
{
    __builtin_amdgcn_raw_buffer_store_b128(x, view, (int)at, 0, 0);
}

#else

struct tile_view {
    char *first;
    kernarg_i64 pitch;
    int rows, dim;
};

DEVICE tile_view view_rows(char *first, const struct slice &x, int left, int count)
{
    return {first, x.pitch, left < count ? left : count, x.dim};
}

struct chunk_place {
    int row, channel;
};

DEVICE chunk_place place_chunk(const struct slice &, u32 row, u32 channel)
{
    return {(int)row, (int)channel};
}

/* How many of the chunk's channels exist; <= 0 for none. */
DEVICE int chunk_size(const tile_view &view, chunk_place at)
{
    return at.row < view.rows ? view.dim - at.channel : 0;
}

typedef u32x4 u32x4_anywhere __attribute__((aligned(2)));

DEVICE u32x4 load_chunk(const tile_view &view, chunk_place at)
{
    const char *p = view.first + at.row * view.pitch + at.channel * 2;
    int size = chunk_size(view, at);
    u32x4 x = {};

    if (size >= CHUNK) {
        x = *(const u32x4_anywhere *)p;
    } else if (size > 0) {
#pragma unroll
        for (int i = 0; i < CHUNK - 1; i++)
            if (i < size)
                x[i / 2] |= (u32)((const u16 *)p)[i] << (i % 2 * 16);
    }
    return x;
}

DEVICE void store_chunk(const tile_view &view, chunk_place at, u32x4 x)
{
    char *p = view.first + at.row * view.pitch + at.channel * 2;
    int size = chunk_size(view, at);

    if (size >= CHUNK) {
        *(u32x4_anywhere *)p = x;
    } else if (size > 0) {
#pragma unroll
        for (int i = 0; i < CHUNK - 1; i++)
            if (i < size)
                ((u16 *)p)[i] = (u16)(x[i / 2] >> (i % 2 * 16));
    }
}

#endif

#endif
