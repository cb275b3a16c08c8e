/*
 * K and V of team_form.h, which come to LDS in parts of STAGE_DIM channels: where a tile's rows
 * are, one after the other or in pages, and what happens to chunks on their way.
 */
#ifndef AOTHIP_FWD_TEAM_KEYS_H
#define AOTHIP_FWD_TEAM_KEYS_H

typedef __amdgpu_buffer_rsrc_t descriptor;

#if KERNEL_PAGED

#include "key_tiles.h"

static_assert(RUNS == 1, "a single descriptor serves the rows of a tile that a wave brings");

typedef struct key_tiles team_keys;

/* The rows of K and of V that this wave brings of a tile. */
DEVICE descriptor k_rows_of(team_keys &x, const struct sequence &sequence, int tile)
{
    return describe(views_at(x, sequence, tile).k[0], x.k, 0);
}

DEVICE descriptor v_rows_of(team_keys &x, const struct sequence &sequence, int tile)
{
    return describe(views_at(x, sequence, tile).v[0], x.v, 0);
}

#else

#include "cargo_aligned.h"
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

DEVICE descriptor rows_of_tile(const struct slice &x, const struct sequence &sequence, int tile)
{
    const int left = sequence.seq_k - tile * KERNEL_TILE_K;
    return describe(
        {row_at(x, (kernarg_i64)tile * KERNEL_TILE_K), left < KERNEL_TILE_K ? left : KERNEL_TILE_K},
        x, 0);
}

DEVICE descriptor k_rows_of(team_keys &x, const struct sequence &sequence, int tile)
{
    return rows_of_tile(x.k, sequence, tile);
}

DEVICE descriptor v_rows_of(team_keys &x, const struct sequence &sequence, int tile)
{
    return rows_of_tile(x.v, sequence, tile);
}

/* Bits of a tile's keys in pages that do not exist, once v_rows_of() has looked for it. */
DEVICE u32 missing_in(const team_keys &, const struct sequence &, int)
{
    return 0;
}

#endif

/*
 * Chunks of one part of rows `step` apart. A single descriptor serves all parts of a tile, so the
 * rows and what the part begins with are in the lane's own offset `at`, which is held against it.
 */
template <int count>
DEVICE void load_part(u32x4 *to, descriptor rows, const struct slice &x, u32 &at, int part,
                      int step)
{
    asm volatile("" : "+v"(at)); /* what follows from it is computed here, and not kept */
#pragma unroll
    for (int i = 0; i < count; i++)
        to[i] = __builtin_amdgcn_raw_buffer_load_b128(
            rows, (int)(at + (u32)(i * step) * (u32)x.pitch + part * STAGE_DIM * CHANNEL_BYTES), 0,
            0);
}

/* Waits for all chunks at once, where that is as fast: the last one arrives last. */
template <int count> DEVICE void await(u32x4 (&x)[count])
{
#pragma unroll
    for (int i = count - 1; KERNEL_WAVE == 32 && i >= 0; i--)
        asm volatile("" : "+v"(x[i]));
}

/* V that is not finite becomes 0. Returns bits of it. (A branch would cost copies.) */
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
