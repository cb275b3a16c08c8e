/*
 * dQ beside dK and dV: attn_bwd_fused has every dS in registers once, a key a column. dQ = dS K
 * contracts keys, so dS goes through LDS, from where each wave takes those of one run of the
 * workgroup's keys and computes one block of channels:
 *
 *     dQ[STREAM_ROWS, BLOCK] = dS[STREAM_ROWS, RUN] K[RUN, BLOCK]
 *
 * whose K stays in registers throughout the walk. What workgroups find of a row they add up in
 * memory, in f32 and in any order: part_dq of kernarg_share.h, which attn_bwd_begin has made zero
 * and attn_bwd_sum scales and rounds. It lies there as lanes have it, so that an addition covers
 * whole lines, and there are whole blocks: rows and channels that do not exist take sums, too.
 *
 * dS in LDS: a row a query, chunks of eight keys, which are two quads as K has them, turned, chunk
 * c of row r at column c ^ r % 8. Loads are those of row_frag(). A store has one row in each half
 * of the wave, four apart, and 32 keys, four chunks: the halves hit opposite halves of a line.
 */
#ifndef AOTHIP_ATTN_BWD_FUSED_H
#define AOTHIP_ATTN_BWD_FUSED_H

#include "gradient_parts.h"
#include "packed_block.h"

constexpr int RUN_WAVES = WALK_BLOCKS; /* waves that share a run of keys, a block each */
constexpr int RUN_KEYS = OWNED_ROWS * RUN_WAVES / KERNEL_WAVES;
constexpr int RUN_GROUPS = RUN_KEYS / 16;
constexpr int DS_ROW_BYTES = OWNED_ROWS * 2;

static_assert(KERNEL_WAVES % RUN_WAVES == 0 && STREAM_BLOCKS == 1 && WALK_SLABS == 1,
              "what add_dq() knows");
static_assert(RUN_KEYS <= 128, "rows that a descriptor reaches");
static_assert(STREAM_ROWS * DS_ROW_BYTES % (THREADS * CHUNK_BYTES) == 0, "clear_ds()");
static_assert(STREAM_ROWS == SUMS_SIDE && BLOCK == SUMS_SIDE, "a step has one band of dQ");

static SHARED __attribute__((aligned(16))) char ds_tile[STREAM_ROWS * DS_ROW_BYTES];

/* The run of keys that a wave has of dQ, and its first channel. Uniform. */
DEVICE int run_key()
{
    return KERNEL_WAVES == RUN_WAVES ? 0 : (int)(wave_id() / RUN_WAVES) * RUN_KEYS;
}

DEVICE int run_channel()
{
    return (int)(wave_id() % RUN_WAVES) * BLOCK;
}

/* The wave's K of dQ = dS K: a channel a lane. It is turned as the stream's tiles are, in their
 * place, two of STREAM_ROWS keys at a time. */
DEVICE void hold_turned(struct owned &y, const struct place &p, int first_key)
{
    constexpr int PASS_KEYS = 2 * STREAM_ROWS, TILE_GROUPS = STREAM_ROWS / 16;
    static_assert(RUN_KEYS == PASS_KEYS || RUN_KEYS == OWNED_ROWS, "a pass is of one run");
    const struct rows k = k_rows(args_here(), p);
    const struct duty duty = duty_of(thread_id() % CARRIERS);
    char *const to = turned_tile[0] + column_place(duty);
    const u32 line = turned_frag_at(turned_line(lane_column()));
#pragma unroll
    for (int pass = 0; pass < OWNED_ROWS / PASS_KEYS; pass++) {
        const int first = first_key + pass * PASS_KEYS + (int)carrier() * STREAM_ROWS;
        u32x4 chunk[RUN_ROWS];
        load_chunks<RUN_ROWS>(chunk, view_of(k, first, p.sequence.seq_k), k, duty.row,
                              duty.chunk * CHUNK);
        lds_barrier();
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            turn_channel(to, chunk, 0, i);
        lds_barrier();
        if (RUN_KEYS == PASS_KEYS && run_key() != pass * PASS_KEYS)
            continue;
#pragma unroll
        for (int i = 0; i < 2 * TILE_GROUPS; i++)
            y.turned[RUN_KEYS == PASS_KEYS ? i : 2 * TILE_GROUPS * pass + i] =
                *(const block_frag *)(turned_tile[i / TILE_GROUPS] + line +
                                      turned_frag_offset(run_channel() / BLOCK, i % TILE_GROUPS));
    }
}

/* Where the wave's block of dQ of one head is summed. */
DEVICE void set_dq(struct context &c, const struct attn_bwd_share_args &args, const struct place &p)
{
    const struct dq_blocks to = blocks_of(args, p);
    c.dq = to.first + run_channel() / SUMS_SIDE * SUMS_BYTES;
    c.dq_band_bytes = run_channel() < args.bwd.problem.dim_qk ? to.band_bytes : 0;
}

/* Where the lane stores its elements i, i + 4, .. of the wave's block of dS, i < 4; the first of
 * them. */
DEVICE char *ds_place(int i)
{
    const u32 own = lane_column(), other = bit_of(own, 2) ^ bit_of(own, 3);
    const u32 key = wave_id() * BLOCK + (own ^ (other << 2 | other << 3)), chunk = key / CHUNK;
    const u32 column = chunk / 8 * 8 + (chunk % 8 ^ lane_half() * 4);
    const u32 at = lane_half() * 4 * DS_ROW_BYTES + column * CHUNK_BYTES + key % CHUNK * 2;
    return ds_tile + (at ^ i * CHUNK_BYTES) + i * DS_ROW_BYTES;
}

/* Element i of the wave's block of dS; `place`: ds_place(i % 4). */
DEVICE void store_ds(const struct packed_block &ds, int i, char *place)
{
    const u32 pair = ds.group[i / 8][i / 2 % 4];
    *(u16 *)(place + 8 * (i / 4) * DS_ROW_BYTES) = (u16)(i % 2 ? pair >> 16 : pair);
}

/* What a thread holds throughout the walk: where it stores dS, and where there are registers, rows
 * and what comes with them. */
struct held_places {
    char *ds[4];
#if HOLDS_PLACES
    char *row[RUN_ROWS], *vector;
    u32 dq; /* where the lane adds, in a block */
#endif
};

DEVICE struct held_places find_places(const struct duty &duty)
{
    struct held_places x;
#if HOLDS_PLACES
#pragma unroll
    for (int i = 0; i < RUN_ROWS; i++)
        x.row[i] = held_place(row_tile[carrier()] + row_chunk_at(duty.row + i, duty.chunk));
    const u32 which = carrier(); /* as store_vector() */
    float *const vector =
        duty.unit < STREAM_ROWS ? row_vector[which] : &vector_apart[which * CARRIERS];
    x.vector = held_place((char *)(vector + duty.unit));
    x.dq = lane_id() * 4;
#else
    (void)duty;
#endif
#pragma unroll
    for (int i = 0; i < 4; i++)
        x.ds[i] = held_place(ds_place(i));
    return x;
}

#if HOLDS_PLACES
/* store_vector(). */
template <enum lse_form form>
DEVICE void store_held_vector(const struct held_places &to, const struct cargo &from,
                              const struct stream &x)
{
    const float vector =
        form == LSE_NATURAL && carrier() == 1 ? kept_delta(from.vector) : from.vector;
#if LIFTS
    *(float *)to.vector = __builtin_fmaf(vector, x.factor, x.offset);
#else
    *(float *)to.vector = vector * x.factor;
#endif
}
#endif

/* Row `lane_column()` of dS, keys 16 * group .. + 15 of the wave's run. */
DEVICE block_frag ds_frag(int group)
{
    const u32 column = (2 * (group % 4) + lane_half()) ^ lane_column() % 8;
    return *(const u32x4 *)(ds_tile + (lane_column() * DS_ROW_BYTES + column * CHUNK_BYTES) +
                            ((u32)run_key() * 2 + group / 4 * 8 * CHUNK_BYTES));
}

/* Any values will do for the dS before the first one, but those of nobody. */
DEVICE void clear_ds()
{
#pragma unroll
    for (u32 at = 0; at < sizeof(ds_tile); at += THREADS * CHUNK_BYTES)
        *(u32x4 *)(ds_tile + at + thread_id() * CHUNK_BYTES) = u32x4{};
}

/* Of the intrinsic's name: clang 19 has no builtin for it. */
extern "C" __attribute__((device)) float
add_to_buffer(float x, __amdgpu_buffer_rsrc_t buffer, int offset, int uniform_offset,
              int cache) __asm("llvm.amdgcn.raw.ptr.buffer.atomic.fadd.f32");

/* Where the next dQ is added, and how many bytes there are. Uniform. */
struct dq_band {
    GLOBAL char *first;
    int bytes;
};

/* Before the walk's first step, which begins by adding dQ of none before it. */
DEVICE struct dq_band band_before(const struct context &c, int tile)
{
    return {c.dq + (kernarg_i64)(tile - 1) * c.dq_band_bytes, 0};
}

/* Where a block of dQ is added. */
DEVICE __amdgpu_buffer_rsrc_t place_of(const struct dq_band &to)
{
    const kernarg_u64 first = (kernarg_u64)to.first;
    const kernarg_u64 at = (kernarg_u64)uniform((u32)(first >> 32)) << 32 | uniform((u32)first);
    return __builtin_amdgcn_make_buffer_rsrc((GLOBAL char *)at, 0, (int)uniform((u32)to.bytes),
                                             DESCRIPTOR_WORD3);
}

DEVICE void advance(struct dq_band &to, const struct context &c)
{
    to.first += c.dq_band_bytes;
    if (HOLDS_PLACES)
        to.first = hold_scalar(to.first);
    to.bytes = c.dq_band_bytes ? SUMS_BYTES : 0;
}

/* Adds part `part` of `parts` of a block; `own`: where the lane's first element goes. */
DEVICE void add_dq(const block_acc &dq, __amdgpu_buffer_rsrc_t to, u32 own, int part, int parts)
{
#pragma unroll
    for (int i = part * ACC / parts; i < (part + 1) * ACC / parts; i++)
        add_to_buffer(dq[i], to, (int)own + i * KERNEL_WAVE * 4, 0, 0);
}

#endif
