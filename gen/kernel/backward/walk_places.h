/*
 * What a walk computes before its first step and holds in registers to its last: what S and dP
 * start from, which rows all columns see, and, on wave32 hardware, where a thread stores what it
 * carries.
 */
#ifndef AOTHIP_ATTN_BWD_WALK_PLACES_H
#define AOTHIP_ATTN_BWD_WALK_PLACES_H

#include "gradient_block.h"

/* Rows that all columns of the wave see. Uniform. */
struct seen_rows {
    int first;
    u32 count;
};

/* Where `rows` rows may begin that they all see. */
DEVICE struct seen_rows seen_by_all(const struct column &column, int rows)
{
    const int first = awaited_long(column.full.first), last = awaited_long(column.full.last);
    const int further = (last > -1 ? last : -1) - first;
    return {first, further >= rows - 1 ? (u32)(further - rows + 2) : 0};
}

DEVICE bool is_seen(const struct seen_rows &x, int row)
{
    return (u32)(row - x.first) < x.count;
}

/*
 * Zeros that RDNA 3, whose WMMA takes them from registers, holds throughout a walk; the empty
 * statement keeps the compiler from making them anew. Where rows are owned dP
 * starts from -delta, the same for all elements of a lane.
 */
struct start {
#if HOLDS_START
    block_acc s, dp;
#elif HOLDS_DELTA
    block_acc dp;
#elif HOLDS_PLACES
    struct seen_rows seen;
#endif
};

DEVICE block_acc held(float x)
{
    block_acc all = x;
    asm volatile("" : "+v"(all));
    return all;
}

DEVICE struct start start_of(const struct column &column)
{
#if HOLDS_START && OWNS_KEYS
    (void)column;
    return {held(0), {}};
#elif HOLDS_START
    return {held(0), held(-column.delta)};
#elif HOLDS_DELTA
    return {held(-column.delta)};
#elif HOLDS_PLACES
    return {seen_by_all(column, BLOCK)};
#else
    (void)column;
    return {};
#endif
}

/* What S starts from. */
DEVICE block_acc first_s(const struct start &start)
{
#if HOLDS_START
    return start.s;
#else
    (void)start;
    return zero_acc();
#endif
}

/* What dP starts from. */
DEVICE block_acc first_dp(int block, const struct start &start)
{
    (void)start;
#if DELTA_FIRST && OWNS_KEYS
    return row_values(1, block);
#elif DELTA_FIRST
    (void)block;
    return start.dp;
#else
    (void)block;
    return zero_acc();
#endif
}

#if FOLDS_PRODUCT
/* Two elements of P as part of an operand. */
DEVICE u32 round_weights(float low, float high)
{
    return end_round_pair(begin_round(low), begin_round(high));
}

/* Two of dS. */
DEVICE u32 round_products(f32x2 p, f32x2 dp)
{
#if KERNEL_DTYPE == MMA_F16
    f16x2 pair = {(_Float16)(p.x * dp.x), (_Float16)(p.y * dp.y)};
    return __builtin_bit_cast(u32, pair);
#else
    const f32x2 ds = p * dp;
    return round_weights(ds.x, ds.y);
#endif
}
#endif

#if (HOLDS_STORES || HOLDS_PLACES) && !CARRIES_BOTH
/* As describe(), of the next tile, by fewer scalar instructions. */
DEVICE __amdgpu_buffer_rsrc_t describe_tile(const struct stream &x)
{
    const u32 beyond = x.tile == x.tiles ? x.rest : 0;
    return __builtin_amdgcn_make_buffer_rsrc(
        x.view.first, 0, (int)(x.tile < x.tiles ? x.bytes : beyond), DESCRIPTOR_WORD3);
}

#endif

#if LSE_IN_LANES
/*
 * The row of a tile whose lse the lane has for all: each row of sixteen lanes has what its lanes
 * want, lane n that of element n of two blocks.
 */
DEVICE u32 lane_row()
{
    const u32 n = lane_column();
    return n / ACC * BLOCK + acc_row(n % ACC);
}

template <int... lanes> DEVICE block_acc values_of(float x)
{
    const int own = __builtin_bit_cast(int, x);
    return {__builtin_bit_cast(
        float, __builtin_amdgcn_mov_dpp(own, 0x150 | lanes, 0xf, 0xf, true))...}; /* row_share */
}

/* Those of the lane's rows of a block, of what lanes have of the rows lane_row(). */
DEVICE block_acc lane_values(float x, int block)
{
    static_assert(STREAM_ROWS == 32 && ACC == 8, "two blocks");
    return block ? values_of<8, 9, 10, 11, 12, 13, 14, 15>(x)
                 : values_of<0, 1, 2, 3, 4, 5, 6, 7>(x);
}
#endif

#if HOLDS_STORES && !CARRIES_BOTH
/* The stream's tile, on its way. */
DEVICE void load_cargo(struct cargo &to, const struct duty &duty, const struct stream &x, int)
{
    const __amdgpu_buffer_rsrc_t from = describe_tile(x);
    const u32 offset = offset_of(x.mine, duty.row, duty.chunk * CHUNK);
#pragma unroll
    for (int n = 0; n < RUN_ROWS; n++)
        to.chunk[0][n] = load_chunk_at(from, offset, (u32)n * (u32)x.mine.pitch);
#if LSE_IN_LANES
    to.lse = load_element(x.lse, x, lane_row());
#endif
#if OWNS_KEYS
    to.vector = load_vector(x, duty.unit % STREAM_ROWS);
#endif
}

/* Where a thread stores what it carries. */
struct stores {
    char *row, *turned, *vector;
    u32 carrier; /* Uniform */
};

DEVICE struct stores find_stores(const struct duty &duty)
{
    static_assert(RUNS == 1, "one place each");
    const u32 own = carrier();
    struct stores x = {held_place(row_tile[own] + row_chunk_at(duty.row, duty.chunk)),
                       held_place(turned_tile[TURNED == 2 ? own : 0] +
                                  turned_quad_at(duty.chunk * CHUNK, duty.row / 4)),
                       nullptr, own};
#if OWNS_KEYS
    x.vector = held_place((char *)&row_vector[own][vector_slot(duty.unit % STREAM_ROWS)]);
#endif
    return x;
}

DEVICE void store_rows(const struct cargo &from, const struct stores &to)
{
#pragma unroll
    for (int n = 0; n < RUN_ROWS; n++)
        *(u32x4 *)(to.row + n * ROW_BYTES) = from.chunk[0][n];
}

DEVICE void store_turned(const struct cargo &from, const struct stores &to)
{
    if (TURNED == 2 || to.carrier < TURNED)
#pragma unroll
        for (int n = 0; n < CHUNK; n++)
            turn_channel(to.turned, from.chunk[0], 0, n);
}

template <enum lse_form form>
DEVICE void store_vector(const struct cargo &from, const struct duty &duty, const struct stream &x,
                         const struct stores &to)
{
#if OWNS_KEYS
    const bool is_delta = LSE_IN_LANES || to.carrier == 1;
    const float vector = form == LSE_NATURAL && is_delta ? kept_delta(from.vector) : from.vector;
    if (duty.unit < STREAM_ROWS && (!LSE_IN_LANES || to.carrier == 1))
        *(float *)to.vector = vector * x.factor;
#else
    (void)from;
    (void)duty;
    (void)x;
    (void)to;
#endif
}

template <enum lse_form form>
DEVICE void store_cargo(struct cargo &from, const struct duty &duty, const struct stream &x,
                        const struct stores &to)
{
    store_rows(from, to);
    store_turned(from, to);
    store_vector<form>(from, duty, x, to);
}

#endif

#endif
