/*
 * As cargo_aligned.h, but for rows at any address whose dims are any numbers from eight on: chunks
 * are loaded by their addresses, not through descriptors, which might not take every one.
 *
 * Nothing beyond a row's end is touched: in place of a chunk that the row does not have whole, its
 * last eight channels are taken. So they are in V, and therefore in O, which has some channels
 * twice then (in team_form.h in different waves, of which one stores them). In Q and K those that
 * another chunk has are 0. Rows that do not exist are replaced by the last one that does: in K
 * their scores are masked, in V their P is 0.
 */
#ifndef AOTHIP_CARGO_UNALIGNED_H
#define AOTHIP_CARGO_UNALIGNED_H

#include "key_order.h"

constexpr int RUNS = 1; /* as in cargo_aligned.h: there are no pages here */
constexpr int K_LOADS = KERNEL_TILE_K * CHUNKS / THREADS;
constexpr int KEYS_PER_LOAD = THREADS / CHUNKS;

static_assert(K_LOADS * THREADS == KERNEL_TILE_K * CHUNKS, "K divides among the threads");
static_assert(THREADS == KERNEL_TILE_K / 4 * CHUNKS, "each thread has one quad of V chunks");
static_assert(!KERNEL_PAGED, "rows in pages are for cargo_aligned.h");

#define STEPS_BY_LANE 0

typedef GLOBAL u32x4 u32x4_anywhere __attribute__((aligned(2)));

/* The channel from which the chunk at `channel`, or what takes its place, is. */
DEVICE u32 taken_channel(int dim, u32 channel)
{
    const u32 last = (u32)dim - CHUNK;
    return channel < last ? channel : last;
}

/* Where it lies in any view of the slice. */
DEVICE u32 chunk_offset(const struct slice &x, u32 row, u32 channel)
{
    return row * (u32)x.pitch + taken_channel(x.dim, channel) * 2;
}

/* Ones for the channels that no chunk before has. */
DEVICE u32x4 own_channels(int dim, u32 channel)
{
    const u32 skip = channel - taken_channel(dim, channel), most = skip < CHUNK ? skip : CHUNK;
    const kernarg_u64 all = 0xffffffffffffffffu;
    const u32x2 low = __builtin_bit_cast(u32x2, most < 4 ? all << 16 * most : 0);
    const u32x2 high = __builtin_bit_cast(u32x2, most < 4   ? all
                                                 : most < 8 ? all << (16 * most & 63)
                                                            : 0);
    return {low.x, low.y, high.x, high.y};
}

/*
 * Chunks of the view's row `row` and of those 1, 2, ... times `step` rows below; `offset` is that
 * of the first.
 */
template <enum rows_exist exist, int count>
DEVICE void load_chunks(u32x4 *to, struct tile_view view, const struct slice &x, u32 offset,
                        u32 row, int step)
{
    const int last = view.rows > 1 ? view.rows - 1 : 0;
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int below = (int)row + i * step, there = below < last ? below : last;
        const char *first = view.first + (exist == ROWS_ALL ? i * step * x.pitch : 0);
        const u32 at = exist == ROWS_ALL ? offset : offset + (u32)(there - (int)row) * (u32)x.pitch;
        to[i] = *(const u32x4_anywhere *)((const GLOBAL char *)first + at);
    }
}

/* One chunk of Q; for what is done once. */
DEVICE u32x4 load_chunk(struct tile_view view, const struct slice &x, u32 row, u32 channel)
{
    u32x4 chunk;
    load_chunks<ROWS_SOME, 1>(&chunk, view, x, chunk_offset(x, row, channel), row, 0);
    return chunk & own_channels(x.dim, channel);
}

DEVICE void store_chunk(struct tile_view view, const struct slice &x, u32 row, u32 channel,
                        u32x4 chunk)
{
    GLOBAL char *at = (GLOBAL char *)view.first + row * x.pitch;
    if ((int)row >= view.rows || (int)channel >= x.dim)
        return;
#if KERNEL_DIM > 128 /* the other chunk may be another wave's: none of it is written twice */
    if ((int)channel > x.dim - CHUNK) {
#pragma unroll 1
        for (int i = x.dim - 1; i >= (int)channel; i--) {
            ((GLOBAL u16 *)at)[i] = (u16)(chunk.w >> 16);
            chunk = u32x4{chunk.x << 16, __builtin_amdgcn_alignbit(chunk.y, chunk.x, 16),
                          __builtin_amdgcn_alignbit(chunk.z, chunk.y, 16),
                          __builtin_amdgcn_alignbit(chunk.w, chunk.z, 16)};
        }
        return;
    }
#endif
    *(u32x4_anywhere *)(at + taken_channel(x.dim, channel) * 2) = chunk;
}

/* Where this thread reads and where it stores. */
struct courier {
    u32 k_from, v_from;
    u32 k_at, vt_at[VT_COLUMNS];
    int k_dim;
};

struct cargo {
    u32x4 k[K_LOADS], v[4];
};

/* The thread; what is computed of it is computed here, not kept throughout the key loop. */
DEVICE u32 thread_here()
{
    u32 thread = thread_id();
    asm volatile("" : "+v"(thread));
    return thread;
}

/* Of the tile's keys, the first one that views begin with. */
DEVICE u32 first_own_key()
{
    return 0;
}

DEVICE void hire(struct courier &c, const struct slice &k, const struct slice &v)
{
    const u32 thread = thread_id();
    struct vt_duty duty = vt_duty_of(thread);
    c.k_from = chunk_offset(k, thread / CHUNKS, thread % CHUNKS * CHUNK);
    c.k_at = k_tile_at(key_line(thread / CHUNKS), thread % CHUNKS);
    c.v_from = chunk_offset(v, duty.quad * 4, duty.channel);
#pragma unroll
    for (int i = 0; i < VT_COLUMNS; i++)
        c.vt_at[i] = vt_tile_at(duty.channel + i, duty.quad) - vt_channel_step(i);
    c.k_dim = k.dim;
}

/* Where the views of a tile's rows are: of K and of V. */
struct tile_views {
    struct tile_view k[RUNS], v[RUNS];
};

template <enum rows_exist exist>
DEVICE void load_k(struct cargo &to, const struct courier &c, const struct slice &k,
                   const struct tile_views &from)
{
    load_chunks<exist, K_LOADS>(to.k, from.k[0], k, c.k_from, thread_here() / CHUNKS,
                                KEYS_PER_LOAD);
}

template <enum rows_exist exist>
DEVICE void load_v(struct cargo &to, const struct courier &c, const struct slice &v,
                   const struct tile_views &from)
{
    load_chunks<exist, 4>(to.v, from.v[0], v, c.v_from, vt_duty_of(thread_here()).quad * 4, 1);
}

#include "cargo_store.h"

/* Of K that has just arrived. */
DEVICE void store_k(char *tile, struct cargo &from, const struct courier &c)
{
    const u32x4 own = own_channels(c.k_dim, thread_here() % CHUNKS * CHUNK);
#pragma unroll
    for (int i = 0; i < K_LOADS; i++)
        from.k[i] &= own;
    store_k(tile, (const struct cargo &)from, c);
}

#endif
