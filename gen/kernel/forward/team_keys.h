/*
 * K and V of team_form.h, which come to LDS in parts of STAGE_DIM channels: where a tile's rows
 * are, one after the other, aligned or not, or in pages, and what happens to chunks on their way.
 */
#ifndef AOTHIP_FWD_TEAM_KEYS_H
#define AOTHIP_FWD_TEAM_KEYS_H

/* Parts of K or V that are on their way at once, those that are in LDS together, and those of Q:
 * where a wave has all of O, as many as there are registers and LDS for. */
#if TEAM > 1
#define CARGOES 2
#elif defined(__gfx950__)
#define CARGOES 2
#define PARTS_IN_PLACE 2
#define Q_PARTS_IN_LDS 2
#else
#define CARGOES 1
#define PARTS_IN_PLACE 1
#define Q_PARTS_IN_LDS 1
#endif
#define ENDS_LEAN (TEAM == 1)

#if KERNEL_PAGED

#include "key_tiles.h"

static_assert(RUNS == 1, "a single descriptor serves the rows of a tile that a wave brings");

#if KERNEL_CACHE
#define DESCRIBE_KEYS describe_codes
#else
#define DESCRIBE_KEYS describe
#endif

typedef __amdgpu_buffer_rsrc_t tile_rows;
typedef struct key_tiles team_keys;

/* The rows of K and of V that this wave brings of a tile. */
DEVICE tile_rows k_rows_of(team_keys &x, const struct sequence &sequence, int tile)
{
    return DESCRIBE_KEYS(views_at(x, sequence, tile).k[0], x.k, 0);
}

DEVICE tile_rows v_rows_of(team_keys &x, const struct sequence &sequence, int tile)
{
    return DESCRIBE_KEYS(views_at(x, sequence, tile).v[0], x.v, 0);
}

#else

#if KERNEL_UNALIGNED
#include "cargo_unaligned.h"
#else
#include "cargo_aligned.h"
#endif
#include "query_rows.h"

struct team_keys {
    struct slice k, v;
};

DEVICE void find_tiles(team_keys &x, const struct attn_problem &a, const struct sequence &sequence,
                       const struct job &job)
{
    x.k = slice_of(a.k, a.k_stride, sequence.batch_k, sequence.start_k, job.kv_head, a.dim_qk);
    x.v = slice_of(a.v, a.v_stride, sequence.batch_k, sequence.start_k, job.kv_head, a.dim_v);
}

#if KERNEL_UNALIGNED

/* Of one tile: the first row, and how far from it the last one is that exists. */
struct tile_rows {
    const char *first;
    u32 last;
};

/* Behind the last tile, of rows that exist all the same. */
DEVICE struct tile_rows rows_of_tile(const struct slice &x, const struct sequence &sequence,
                                     int tile)
{
    const int end = sequence.seq_k - 1, wanted = tile * KERNEL_TILE_K;
    const int row = wanted < end ? wanted : end, left = end - row;
    const u32 last = (u32)(left < KERNEL_TILE_K - 1 ? left : KERNEL_TILE_K - 1);
    return {row_at(x, (kernarg_i64)row), last * (u32)x.pitch};
}

#else

typedef __amdgpu_buffer_rsrc_t tile_rows;

DEVICE tile_rows rows_of_tile(const struct slice &x, const struct sequence &sequence, int tile)
{
    const int left = sequence.seq_k - tile * KERNEL_TILE_K;
    return describe(
        {row_at(x, (kernarg_i64)tile * KERNEL_TILE_K), left < KERNEL_TILE_K ? left : KERNEL_TILE_K},
        x, 0);
}

#endif

DEVICE tile_rows k_rows_of(team_keys &x, const struct sequence &sequence, int tile)
{
    return rows_of_tile(x.k, sequence, tile);
}

DEVICE tile_rows v_rows_of(team_keys &x, const struct sequence &sequence, int tile)
{
    return rows_of_tile(x.v, sequence, tile);
}

/* Bits of a tile's keys in pages that do not exist, once v_rows_of() has looked for it. */
DEVICE u32 missing_in(const team_keys &, const struct sequence &, int)
{
    return 0;
}

#endif

/* Few tiles are not seen by all queries: code that makes elements of theirs is to be small. (With
 * the same for all types RDNA 4's registers would spill.) */
#if KERNEL_CACHE && !defined(__GFX12__)
#define WORTH(full) <full ? FP8_USUAL : FP8_SELDOM>
#else
#define WORTH(full)
#endif

/* Chunks on their way. */
struct carried {
    struct cargo cargo[CARGOES];        /* by turns */
    u32 k_from[STAGES], v_from[STAGES]; /* where this lane's chunks of a tile's parts begin */
};

#if KERNEL_UNALIGNED

/* The courier comes to know where its rows begin, not its chunks. */
DEVICE void begin_parts(struct carried &, const team_keys &, struct courier &courier)
{
    courier.k_from -= thread_id() % CHUNKS * CHUNK * CHANNEL_BYTES;
    courier.v_from -= vt_duty_of(thread_id()).channel * CHANNEL_BYTES;
}

/* Chunks at `channel` of rows `step` apart, the first of which is at `at`. */
template <int count>
DEVICE void load_part(u32x4 *to, struct tile_rows rows, const struct slice &x, u32 at, u32 channel,
                      int step)
{
    const u32 inside = taken_channel(x.dim, channel) * CHANNEL_BYTES;
#pragma unroll
    for (int i = 0; i < count; i++) {
        const u32 row = at + (u32)(i * step) * (u32)x.pitch;
        const u32 there = row < rows.last ? row : rows.last;
        to[i] = *(const u32x4_anywhere *)((const GLOBAL char *)rows.first + (there + inside));
    }
    __builtin_amdgcn_sched_barrier(0);
}

DEVICE void fetch_k(struct carried &x, const team_keys &keys, const struct courier &courier,
                    struct tile_rows rows, int part)
{
    const u32 channel = thread_here() % CHUNKS * CHUNK + part * STAGE_DIM;
    load_part<K_LOADS>(x.cargo[part % CARGOES].k, rows, keys.k, courier.k_from, channel,
                       KEYS_PER_LOAD);
}

DEVICE void fetch_v(struct carried &x, const team_keys &keys, const struct courier &courier,
                    struct tile_rows rows, int part)
{
    const u32 channel = vt_duty_of(thread_here()).channel + part * STAGE_DIM;
    load_part<4>(x.cargo[part % CARGOES].v, rows, keys.v, courier.v_from, channel, 1);
}

/* Part `part` of K, which has arrived, goes to LDS. */
template <bool>
DEVICE void deliver_k(struct carried &x, const team_keys &keys, const struct courier &courier,
                      int part)
{
    u32x4(&k)[K_LOADS] = x.cargo[part % CARGOES].k;
    const u32 channel = thread_here() % CHUNKS * CHUNK + part * STAGE_DIM;
    const u32x4 own = own_channels(keys.k.dim, channel);
#pragma unroll
    for (int i = 0; i < K_LOADS; i++)
        k[i] &= own;
    store_k(k_tile, (const struct cargo &)x.cargo[part % CARGOES], courier);
}

#else

/* Where this lane's chunks of a part begin; if it does not exist, they are nowhere. */
DEVICE u32 part_of_k(const team_keys &keys, const struct courier &courier, int part)
{
    const int channel = (int)(thread_id() % CHUNKS * CHUNK) + part * STAGE_DIM;
    return channel < keys.k.dim ? courier.k_from : NOWHERE;
}

DEVICE u32 part_of_v(const team_keys &keys, const struct courier &courier, int part)
{
    const int channel = (int)vt_duty_of(thread_id()).channel + part * STAGE_DIM;
    return channel < keys.v.dim ? courier.v_from : NOWHERE;
}

DEVICE void begin_parts(struct carried &x, const team_keys &keys, const struct courier &courier)
{
#pragma unroll
    for (int part = 0; part < STAGES && KERNEL_WAVE == 32; part++) {
        x.k_from[part] = part_of_k(keys, courier, part);
        x.v_from[part] = part_of_v(keys, courier, part);
    }
}

DEVICE void load_at(u32x4 &to, tile_rows rows, u32 at)
{
    to = __builtin_amdgcn_raw_buffer_load_b128(rows, (int)at, 0, 0);
}

/* Of FP8. */
DEVICE void load_at(u32x2 &to, tile_rows rows, u32 at)
{
    to = __builtin_amdgcn_raw_buffer_load_b64(rows, (int)at, 0, 0);
}

/*
 * Chunks of one part of rows `step` apart. A single descriptor serves all parts of a tile, so the
 * rows and what the part begins with are in the lane's own offset `at`, which is held against it.
 */
template <int count, class chunk>
DEVICE void load_part(chunk *to, tile_rows rows, const struct slice &x, u32 &at, int part, int step)
{
    asm volatile("" : "+v"(at)); /* what follows from it is computed here, and not kept */
#pragma unroll
    for (int i = 0; i < count; i++)
        load_at(to[i], rows,
                at + (u32)(i * step) * (u32)x.pitch + part * (STAGE_DIM / CHUNK) * sizeof(chunk));
}

DEVICE void fetch_k(struct carried &x, const team_keys &keys, const struct courier &courier,
                    tile_rows rows, int part)
{
    u32 at = KERNEL_WAVE == 32 ? x.k_from[part] : part_of_k(keys, courier, part);
    load_part<K_LOADS>(x.cargo[part % CARGOES].k, rows, keys.k, at, part, KEYS_PER_LOAD);
    if (KERNEL_WAVE == 32) /* or a copy would be made */
        x.k_from[part] = at;
    __builtin_amdgcn_sched_barrier(0);
}

DEVICE void fetch_v(struct carried &x, const team_keys &keys, const struct courier &courier,
                    tile_rows rows, int part)
{
    u32 at = KERNEL_WAVE == 32 ? x.v_from[part] : part_of_v(keys, courier, part);
    load_part<4>(x.cargo[part % CARGOES].v, rows, keys.v, at, part, 1);
    if (KERNEL_WAVE == 32)
        x.v_from[part] = at;
    __builtin_amdgcn_sched_barrier(0);
}

/* Part `part` of K, which has arrived, goes to LDS. */
template <bool full>
DEVICE void deliver_k(struct carried &x, const team_keys &, const struct courier &courier, int part)
{
    store_k WORTH(full)(k_tile, x.cargo[part % CARGOES], courier);
}

#endif

/* Waits for all chunks at once, where that is as fast: the last one arrives last. */
template <class chunk, int count> DEVICE void await(chunk (&x)[count])
{
#pragma unroll
    for (int i = count - 1; KERNEL_WAVE == 32 && i >= 0; i--)
        asm volatile("" : "+v"(x[i]));
}

/* V that is not finite becomes 0. Returns bits of it. (A branch would cost copies.) */
#if KERNEL_CACHE

DEVICE u32 isolate_all(u32x2 (&v)[4])
{
    return isolate_codes(v);
}

#else

DEVICE u32 isolate_all(u32x4 (&v)[4])
{
    u32 found = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const u32 bits = select_nonfinite(v[i][j]);
            found |= bits;
            v[i][j] &= ~bits;
            if (KERNEL_WAVE == 32) /* or they wait in registers */
                asm volatile("" : "+v"(found));
        }
    return found;
}

#endif

#endif
