/*
 * Rows on their way between global memory and LDS, where every row begins at a multiple of 16 bytes
 * and dims are multiples of eight, of FP8 sixteen: a chunk either exists whole or not at all.
 *
 * All memory is reached through buffer descriptors that span exactly the bytes from the view's
 * first row to the last channel of its last existing row. A lane whose channels lie beyond dim asks
 * for an offset outside of it: loads give 0 and stores do nothing, and no memory is touched.
 * Descriptors are rebased per tile with 64-bit scalar arithmetic, so offsets stay below 2^31 as
 * long as sequence strides do not exceed KERNARG_ALIGNED_STRIDE_MAX.
 *
 * Each thread carries, per tile, K_LOADS chunks of K from rows KEYS_PER_LOAD apart, and of V one
 * chunk from each of four consecutive rows, or V_GROUP channels of FP8, which it transposes in
 * registers.
 *
 * Where rows lie in pages, the views are the wave's own, one for each run of its keys.
 *
 * Where all channels of more than 128 are in LDS at once, a thread carries of K a chunk of each
 * line of LINE_CHUNKS of its keys, which are PASS_KEYS apart; of V one chunk from each of two rows
 * that follow each other, or from each of twice four; in pages two from each of four.
 *
 * K and V of FP8 that become elements of 16 bits: cargo_codes.h.
 *
 * Rows of the same form at any address: cargo_unaligned.h.
 */
#ifndef AOTHIP_CARGO_ALIGNED_H
#define AOTHIP_CARGO_ALIGNED_H

#include "key_order.h"

/*
 * Rows in pages: a wave carries OWN_KEYS consecutive ones of K, the same as of V, in RUNS runs of
 * up to 16. A run never leaves its page.
 */
constexpr int OWN_KEYS = KERNEL_TILE_K / KERNEL_WAVES;
constexpr int RUN_KEYS = OWN_KEYS < 16 ? OWN_KEYS : 16;
constexpr int RUNS = KERNEL_PAGED ? OWN_KEYS / RUN_KEYS : 1;

constexpr int K_LOADS = KERNEL_TILE_K * CHUNKS / THREADS;
constexpr int KEYS_PER_LOAD = (KERNEL_PAGED ? KERNEL_WAVE : THREADS) / CHUNKS;
constexpr int RUN_LOADS = K_LOADS / RUNS;

#if KERNEL_WHOLE
constexpr int LINE_CHUNKS = 8, LINES = CHUNKS / LINE_CHUNKS;
constexpr int PASS_KEYS = (KERNEL_PAGED ? KERNEL_WAVE : THREADS) / LINE_CHUNKS;
constexpr int PASSES = K_LOADS / LINES;
static_assert(PASS_KEYS * PASSES == (KERNEL_PAGED ? RUN_KEYS : KERNEL_TILE_K),
              "a thread has a chunk of each line of its keys, which are one run");
static_assert(V_ROWS != 8 || KERNEL_TILE_K == 64, "the other quad is 32 keys further");
static_assert(V_ROWS == 8 || !KERNEL_PAGED, "two chunks of each of four rows");
#endif

static_assert(K_LOADS * THREADS == KERNEL_TILE_K * CHUNKS, "K divides among the threads");
#if !KERNEL_FP8
static_assert(THREADS * V_ROWS == KERNEL_TILE_K * STAGE_DIM_V / CHUNK, "each has chunks of V");
#endif

#if KERNEL_WAVE == 64
#define DESCRIPTOR_WORD3 0x00027000 /* raw buffer, 32-bit data format (CDNA) */
#else
#define DESCRIPTOR_WORD3 0x31004000 /* raw buffer, bounds checked on the offset (RDNA 3 and 4) */
#endif

/* An offset that lies outside every descriptor, and still does with a tile's rows added to it. */
#define NOWHERE 0x80000000u

/* The descriptor of what exists from row `below` of the view on. */
DEVICE __amdgpu_buffer_rsrc_t describe(struct tile_view view, const struct slice &x, int below)
{
    int rows = view.rows - below;
    u32 bytes = (u32)(rows - 1) * (u32)x.pitch + (u32)x.dim * CHANNEL_BYTES;
    return __builtin_amdgcn_make_buffer_rsrc(view.first + below * x.pitch, 0,
                                             rows > 0 ? (int)bytes : 0, DESCRIPTOR_WORD3);
}

/* The same of all rows of a tile or a run of it, or of none: fewer scalar instructions, where that
 * is not known beforehand. */
DEVICE __amdgpu_buffer_rsrc_t describe_all(struct tile_view view, const struct slice &x)
{
    const int all = KERNEL_PAGED ? RUN_KEYS : KERNEL_TILE_K;
    const u32 bytes = (u32)(all - 1) * (u32)x.pitch + (u32)x.dim * CHANNEL_BYTES;
    return __builtin_amdgcn_make_buffer_rsrc(view.first, 0, view.rows > 0 ? (int)bytes : 0,
                                             DESCRIPTOR_WORD3);
}

/* Where a chunk lies in any view of the slice. */
DEVICE u32 chunk_offset(const struct slice &x, u32 row, u32 channel)
{
    return (int)channel < x.dim ? row * (u32)x.pitch + channel * CHANNEL_BYTES : NOWHERE;
}

/* One chunk; for what is done once. */
DEVICE u32x4 load_chunk(struct tile_view view, const struct slice &x, u32 row, u32 channel)
{
    return __builtin_amdgcn_raw_buffer_load_b128(describe(view, x, 0),
                                                 (int)chunk_offset(x, row, channel), 0, 0);
}

/* The same of rows that have all channels: what is added to `channel` becomes part of the
 * instruction. */
DEVICE u32x4 load_whole_chunk(struct tile_view view, const struct slice &x, u32 row, u32 channel,
                              u32 further)
{
    const u32 at = row * (u32)x.pitch + channel * CHANNEL_BYTES;
    return __builtin_amdgcn_raw_buffer_load_b128(describe(view, x, 0),
                                                 (int)(at + further * CHANNEL_BYTES), 0, 0);
}

DEVICE void store_whole_chunk(struct tile_view view, const struct slice &x, u32 row, u32 channel,
                              u32 further, u32x4 chunk)
{
    const u32 at = row * (u32)x.pitch + channel * CHANNEL_BYTES;
    __builtin_amdgcn_raw_buffer_store_b128(chunk, describe(view, x, 0),
                                           (int)(at + further * CHANNEL_BYTES), 0, 0);
}

DEVICE void store_chunk(struct tile_view view, const struct slice &x, u32 row, u32 channel,
                        u32x4 chunk)
{
    __builtin_amdgcn_raw_buffer_store_b128(chunk, describe(view, x, 0),
                                           (int)chunk_offset(x, row, channel), 0, 0);
}

/* Whether fast steps may be the last ones (fast_form.h). */
#ifndef ENDS_FAST
#define ENDS_FAST 0
#endif

/* Where scalar registers are short. */
#if KERNEL_DIM == 32 || KERNEL_DIM == 96 || (KERNEL_DIM == 64 && KERNEL_TILE_Q == 64)
#define PITCH_ANEW KERNEL_WAVE == 64
#else
#define PITCH_ANEW KERNEL_SCORE &&KERNEL_WAVE == 64
#endif

/* As load_chunks() does it for rows of which some do not exist, with one descriptor. */
template <int count>
DEVICE void load_by_lane(u32x4 *to, struct tile_view view, const struct slice &x, u32 offset,
                         int step)
{
    u32 pitch = (u32)x.pitch, dim = (u32)x.dim;
    asm volatile("" : "+s"(pitch), "+s"(dim)); /* or what follows from them may not be scalar */
    const u32 bytes = (u32)(view.rows - 1) * pitch + dim * CHANNEL_BYTES;
    const auto all = __builtin_amdgcn_make_buffer_rsrc(
        view.first, 0, view.rows > 0 ? (int)bytes : 0, DESCRIPTOR_WORD3);
#pragma unroll
    for (int i = 0; i < count; i++, offset += (u32)step * pitch)
        to[i] = __builtin_amdgcn_raw_buffer_load_b128(all, (int)offset, 0, 0);
}

/*
 * The chunks at `offset` and 1, 2, ... times `step` rows below. Where all rows exist the step is
 * the scalar part of the offset; elsewhere each load has its own descriptor, a few scalar
 * instructions more in a workgroup's last tile. Hardware counts the scalar part toward the
 * descriptor's check (CDNA: measured, ROCm/rocm-systems PR 10928), so they could share one; but for
 * RDNA 3 it is the word of compiler writers (ROCm/rocMLIR PR 678) against the comments at LLVM's
 * own intrinsics. This way is right whoever is. So is a step that is added to the lanes' offsets,
 * an instruction of each lane for some scalar ones.
 */
#if STARTS_LEAN && PLANS_LEAN && !KERNEL_PAGED
#define STEPS_BY_LANE 1
#else
#define STEPS_BY_LANE 0
#endif

template <enum rows_exist exist, int count>
DEVICE void load_chunks(u32x4 *to, struct tile_view view, const struct slice &x, u32 offset,
                        int step)
{
    int pitch = (int)x.pitch;
    if (PITCH_ANEW) /* its multiples would take scalar registers */
        asm volatile("" : "+s"(pitch));
    if (exist == ROWS_SOME && STEPS_BY_LANE)
        return load_by_lane<count>(to, view, x, offset, step);
#pragma unroll
    for (int i = 0; i < count; i++)
        to[i] = exist == ROWS_ALL
                    ? __builtin_amdgcn_raw_buffer_load_b128(ENDS_FAST ? describe_all(view, x)
                                                                      : describe(view, x, 0),
                                                            (int)offset, i * step * pitch, 0)
                    : __builtin_amdgcn_raw_buffer_load_b128(describe(view, x, i * step),
                                                            (int)offset, 0, 0);
}

#if KERNEL_CACHE
#include "cargo_codes.h"
#else

/* Where this thread reads and where it stores. */
struct courier {
#if KERNEL_WHOLE
    u32 k_from[LINES];
#else
    u32 k_from;
#endif
    u32 v_from;
#if V_BESIDE
    u32 v_beside;
#endif
    u32 k_at, vt_at[VT_COLUMNS];
};

#if KERNEL_FP8

/* Channels of four rows of V that a thread carries: what there are for each. */
constexpr int V_WORDS = V_GROUP / 4;

typedef u32 v_words __attribute__((ext_vector_type(V_WORDS)));

struct cargo {
    u32x4 k[K_LOADS];
    v_words v[4];
};

#else

struct cargo {
    u32x4 k[K_LOADS], v[V_ROWS];
};

#endif

/* Of the tile's keys, the first one that views begin with: 0, or this wave's in pages. */
DEVICE u32 first_own_key()
{
    return KERNEL_PAGED ? wave_id() * OWN_KEYS : 0;
}

#if KERNEL_WHOLE

constexpr int PAIR_BYTES = 4; /* of a channel's pair of keys in LDS */

DEVICE void hire(struct courier &c, const struct slice &k, const struct slice &v)
{
    const u32 thread = thread_id(), chunk = thread % LINE_CHUNKS;
    const u32 row = (KERNEL_PAGED ? lane_id() : thread) / LINE_CHUNKS;
    const struct vt_duty duty = vt_duty_of(thread);
    const u32 v_row = (KERNEL_PAGED ? duty.quad * 4 % RUN_KEYS : duty.quad * 4) + 2 * duty.pair;
#pragma unroll
    for (int i = 0; i < LINES; i++)
        c.k_from[i] = chunk_offset(k, row, (u32)(i * LINE_CHUNKS + chunk) * CHUNK);
    c.k_at = k_tile_at(key_line(first_own_key() + row), chunk);
    c.v_from = chunk_offset(v, v_row, duty.channel);
#if V_BESIDE
    c.v_beside = chunk_offset(v, v_row, duty.channel + STAGE_DIM_V / 2);
#endif
#pragma unroll
    for (int i = 0; i < VT_COLUMNS; i++)
        c.vt_at[i] =
            vt_tile_at(duty.channel + i, duty.quad) + PAIR_BYTES * duty.pair - vt_channel_step(i);
}

#else

DEVICE void hire(struct courier &c, const struct slice &k, const struct slice &v)
{
    const u32 thread = thread_id(), number = KERNEL_PAGED ? lane_id() : thread;
    struct vt_duty duty = vt_duty_of(thread);
    c.k_from = chunk_offset(k, number / CHUNKS, thread % CHUNKS * CHUNK);
    c.k_at = k_tile_at(key_line(first_own_key() + number / CHUNKS), thread % CHUNKS);
    c.v_from =
        chunk_offset(v, KERNEL_PAGED ? duty.quad * 4 % RUN_KEYS : duty.quad * 4, duty.channel);
#pragma unroll
    for (int i = 0; i < VT_COLUMNS; i++)
        c.vt_at[i] = vt_tile_at(duty.channel + i, duty.quad) - vt_channel_step(i);
}

#endif

/* Where the views of a tile's rows are: of K and of V. */
struct tile_views {
    struct tile_view k[RUNS], v[RUNS];
};

template <enum rows_exist exist>
DEVICE void load_k(struct cargo &to, const struct courier &c, const struct slice &k,
                   const struct tile_views &from)
{
#if KERNEL_WHOLE
#pragma unroll
    for (int i = 0; i < K_LOADS; i++)
        to.k[i] = __builtin_amdgcn_raw_buffer_load_b128(
            describe(from.k[0], k, i / LINES * PASS_KEYS), (int)c.k_from[i % LINES], 0, 0);
#else
#pragma unroll
    for (int run = 0; run < RUNS; run++)
        load_chunks<exist, RUN_LOADS>(to.k + run * RUN_LOADS, from.k[run], k, c.k_from,
                                      KEYS_PER_LOAD);
#endif
}

#if !KERNEL_FP8 /* cargo_groups.h */

template <enum rows_exist exist>
DEVICE void load_v(struct cargo &to, const struct courier &c, const struct slice &v,
                   const struct tile_views &from)
{
    static_assert(RUNS == 1 || (RUNS == 2 && KERNEL_WAVE == 64), "a half of the lanes has a run");
    u32 lane = lane_id();
#if KERNEL_SPLIT && KERNEL_SCORE
    asm volatile("" : "+v"(lane)); /* asked here, and not kept in scalar registers */
#endif
    const int rows = V_ROWS < 4 ? V_ROWS : 4;
    if (RUNS == 1 || lane / BLOCK == 0)
        load_chunks<exist, rows>(to.v, from.v[0], v, c.v_from, 1);
    else
        load_chunks<exist, rows>(to.v, from.v[RUNS - 1], v, c.v_from, 1);
#if V_BESIDE
    load_chunks<exist, rows>(to.v + rows, from.v[0], v, c.v_beside, 1);
#elif V_ROWS == 8
    const struct tile_view further = {from.v[0].first + 32 * v.pitch, from.v[0].rows - 32};
    load_chunks<exist, rows>(to.v + rows, further, v, c.v_from, 1);
#endif
}

#endif

#include "cargo_store.h"

#endif

#endif
