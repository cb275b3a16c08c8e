/*
 * Slices: the one (batch, head) matrix of a tensor that a workgroup works on, rows by channels,
 * channels contiguous; and the few things that all of the kernel code is built from.
 *
 * How rows get from memory to LDS and back is told in cargo_aligned.h and cargo_any.h.
 */
#ifndef AOTHIP_TILE_H
#define AOTHIP_TILE_H

#include "kernarg.h"

#define DEVICE static __attribute__((device)) inline __attribute__((always_inline))
#define SHARED __attribute__((shared))

/* What is seldom true. Told to RDNA's compiler, it would have loops read from scratch memory. */
#define RARELY(x) (KERNEL_WAVE == 64 ? __builtin_expect(x, 0) : (x))

typedef unsigned int u32;
typedef unsigned short u16;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef float f32x2 __attribute__((ext_vector_type(2)));

#define GLOBAL __attribute__((address_space(1))) /* memory of the device, not LDS */

/* Read only throughout the launch and the same in all lanes: scalar loads. */
typedef const __attribute__((address_space(4))) float *const_float;

/* Whether q, k and v are of 8 bits: enum aothip_dtype from 5 on. */
#define KERNEL_FP8 (KERNEL_DTYPE >= 5)

#if KERNEL_FP8
#define CHANNEL_BYTES 1
#define CHUNK_CHANNELS 16
#define DEPTH 32 /* of the products of one mma() */
#else
#define CHANNEL_BYTES 2
#define CHUNK_CHANNELS 8
#define DEPTH 16
#endif

/* The unit of loads from memory and of swizzling in LDS. */
constexpr int CHUNK = CHUNK_CHANNELS, CHUNK_BYTES = 16;

/*
 * Channels of K and V that are in LDS at once: all, or parts of 128. LDS has room for 64 or 128; of
 * those from USED_DIM on, which do not exist, nothing is loaded from memory or multiplied.
 */
#if KERNEL_WHOLE
#define STAGE_DIM KERNEL_DIM
#define USED_DIM STAGE_DIM
#elif KERNEL_DIM < 128 && KERNEL_DIM % 64
#define STAGE_DIM (KERNEL_DIM < 64 ? 64 : 128)
#define USED_DIM KERNEL_DIM
#else
#define STAGE_DIM (KERNEL_DIM < 128 ? KERNEL_DIM : 128)
#define USED_DIM STAGE_DIM
#endif

/* The same of V and O; of V^T, of how many rows a thread carries a chunk each. */
#if KERNEL_WHOLE
#ifndef KERNEL_DIM_V
#define KERNEL_DIM_V KERNEL_DIM
#endif
#define STAGE_DIM_V KERNEL_DIM_V
#define USED_DIM_V KERNEL_DIM_V
#define V_ROWS (KERNEL_TILE_K * KERNEL_DIM_V / CHUNK_CHANNELS / (KERNEL_WAVES * KERNEL_WAVE))
#else
#define STAGE_DIM_V STAGE_DIM
#define USED_DIM_V USED_DIM
#define V_ROWS 4
#endif

constexpr int CHUNKS = STAGE_DIM / CHUNK; /* of a row, of K where that has more than V */

constexpr int THREADS = KERNEL_WAVES * KERNEL_WAVE;

DEVICE u32 thread_id()
{
    return __builtin_amdgcn_workitem_id_x();
}

DEVICE u32 lane_id()
{
    return thread_id() % KERNEL_WAVE;
}

/* Tells the compiler that x is the same in every lane of the wave, so that it goes to an SGPR. */
DEVICE u32 uniform(u32 x)
{
    return __builtin_amdgcn_readfirstlane(x);
}

DEVICE u32 wave_id()
{
    return uniform(thread_id() / KERNEL_WAVE);
}

DEVICE bool in_any_lane(bool x)
{
    return __builtin_amdgcn_ballot_w64(x) != 0;
}

/*
 * All waves have arrived and see each other's LDS stores. Loads from global memory stay in flight:
 * hence the fence on LDS alone. For gfx11 the compiler knows a barrier only as one that waits for
 * all loads, so that a debugger can tell which of them failed; hence the statement in assembly.
 */
DEVICE void lds_barrier()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
#if KERNEL_WAVE == 32 && !defined(__GFX12__)
    asm volatile("s_barrier" ::: "memory");
#else
    __builtin_amdgcn_s_barrier();
#endif
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

/* One (batch, head) matrix of a tensor. Uniform. */
struct slice {
    char *base;        /* row 0 */
    kernarg_i64 pitch; /* bytes from row to row */
    int dim;
};

/*
 * Whether a pitch has 32 bits, as the compiler cannot know: with aligned rows none is negative, and
 * none exceeds KERNARG_ALIGNED_STRIDE_MAX.
 */
#if PLANS_LEAN && !KERNEL_UNALIGNED
#define PITCH_32 1
#else
#define PITCH_32 0
#endif

/* From row `start` on. */
DEVICE struct slice slice_of(kernarg_u64 data, const struct kernarg_strides &stride, int batch,
                             int start, int head, int dim)
{
#if STARTS_LEAN || PLANS_LEAN /* none is negative, and many begin with row 0 */
    kernarg_i64 first = (u32)batch * stride.batch + (u32)head * stride.head;
    if (start)
        first += (u32)start * stride.seq;
#else
    kernarg_i64 first = batch * stride.batch + head * stride.head + start * stride.seq;
#endif
    return {(char *)data + first * CHANNEL_BYTES,
            PITCH_32 ? (kernarg_i64)((u32)stride.seq * CHANNEL_BYTES) : stride.seq * CHANNEL_BYTES,
            dim};
}

DEVICE char *row_at(const struct slice &x, kernarg_i64 row)
{
    if (PITCH_32) /* no row is negative, either, and each has 32 bits */
        return x.base + (kernarg_u64)(u32)row * (u32)x.pitch;
    return x.base + row * x.pitch;
}

/* Rows of a slice, of which those below `rows` exist; it may be negative for none. Uniform. */
struct tile_view {
    char *first;
    int rows;
};

/* Whether all rows that a load may name exist, or only those that its view counts. */
enum rows_exist { ROWS_SOME, ROWS_ALL };

#endif
