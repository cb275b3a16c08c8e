/*
 * The walk over up to 512 channels on wave64 hardware, in slabs, none of it more than once for a
 * result: S and dP are summed up over the slabs of a tile, which stays in LDS as columns. The owned
 * operands of a slab come from memory, where they are in the cache, while the products of the one
 * before are made.
 */
#ifndef AOTHIP_ATTN_BWD_WHOLE_WALK_H
#define AOTHIP_ATTN_BWD_WHOLE_WALK_H

#include "packed_block.h"

constexpr int SLAB_BLOCKS = SLAB / BLOCK;
/* Operands read from LDS before they are needed. */
constexpr int FRAGS_AHEAD = LIFTS && KERNEL_SCORE ? 1 : 2;

static_assert(STREAM_BLOCKS == 1, "S and dP of a tile are one block each");

/* Where load_owned() finds it. With score terms what is uniform waits in vector registers, and so
 * does how much the lane's row has of the slabs. */
DEVICE void view_owned(struct owned &y, const struct place &p)
{
#pragma unroll
    for (int t = 0; t < 2; t++) {
        const int first = awaited_long(y.first);
        const struct rows x = owned_rows(args_here(), p, t, first);
        const struct rows_view view = {x.base, awaited_long(y.end) - first};
        const int count = view.count < BLOCK ? view.count : BLOCK;
        const u32 half = lane_half();
        struct owned_view &to = y.view[t];
        to.low = (u32)(kernarg_u64)view.first;
        to.high = (u32)((kernarg_u64)view.first >> 32);
        to.bytes = count > 0 ? (u32)(count - 1) * (u32)x.pitch + (u32)x.dim * 2 : 0;
        to.at = lane_column() * (u32)x.pitch + half * CHUNK_BYTES;
#if KERNEL_SCORE
        to.room = x.dim - (int)half * CHUNK;
        asm volatile("" : "+v"(to.low), "+v"(to.high), "+v"(to.bytes), "+v"(to.at), "+v"(to.room));
#else
        to.room = x.dim;
        asm volatile("" : "+v"(to.at));
#endif
    }
}

#if !KERNEL_SCORE
/* All that the wave's columns have of an owned tensor; or none of it. */
DEVICE __amdgpu_buffer_rsrc_t owned_buffer(const struct owned_view &x, bool wanted)
{
    const kernarg_u64 base = (kernarg_u64)x.high << 32 | x.low;
    return __builtin_amdgcn_make_buffer_rsrc((void *)base, 0, wanted ? (int)x.bytes : 0,
                                             DESCRIPTOR_WORD3);
}
#endif

/* A slab of them. */
struct owned_slab {
    __amdgpu_buffer_rsrc_t buffer;
    u32 at;
    int room;
};

DEVICE struct owned_slab slab_of(const struct owned &y, int t, int slab)
{
    const struct owned_view &x = y.view[t];
    const u32 at = x.at + (u32)slab * SLAB * 2;
#if KERNEL_SCORE
    const kernarg_u64 base = (kernarg_u64)uniform(x.high) << 32 | uniform(x.low);
    return {
        __builtin_amdgcn_make_buffer_rsrc((void *)base, 0, (int)uniform(x.bytes), DESCRIPTOR_WORD3),
        at, x.room - slab * SLAB};
#else
    return {owned_buffer(x, true), at, x.room - slab * SLAB - (int)(lane_half() * CHUNK)};
#endif
}

DEVICE block_frag load_step(const struct owned_slab &from, int step)
{
    return load_chunk_at(from.buffer, from.room > 16 * step ? from.at : NOWHERE, 32 * (u32)step);
}

/* All of it, on its way. */
DEVICE void load_owned(struct owned &y, int t, int slab)
{
    const struct owned_slab from = slab_of(y, t, slab);
#pragma unroll
    for (int step = 0; step < SLAB_STEPS; step++)
        y.frag[t][step] = load_step(from, step);
}

#if !KERNEL_SCORE
/*
 * What follows from them is computed anew for each slab: the compiler would hold it, chunk by chunk
 * and slab by slab.
 */
DEVICE void renew(u32 &at, int &dim)
{
    asm volatile("" : "+v"(at));
    asm volatile("" : "+s"(dim));
}

/* Whether rows of `dim` channels have all of those of a slab. */
DEVICE bool has_slab(int dim, int slab)
{
    return dim >= (slab + 1) * SLAB;
}
#endif

/*
 * S or dP += X Y^T of a slab. Slab `next` of the owned operands takes the place of those that are
 * no longer wanted.
 */
DEVICE void add_rows(block_acc &s, struct owned &y, int t, int next)
{
#if KERNEL_SCORE
    const struct owned_slab from = slab_of(y, t, next);
#else
    /* Where a row ends within the slab, it is asked for anew, chunk by chunk: few head dims do. */
    const bool whole = has_slab(y.view[t].room, next);
    const __amdgpu_buffer_rsrc_t buffer = owned_buffer(y.view[t], whole);
    const u32 at = y.view[t].at + (u32)next * SLAB * 2;
#endif
    block_frag a[SLAB_STEPS];
#pragma unroll
    for (int step = 0; step < FRAGS_AHEAD; step++)
        a[step] = row_frag(row_tile[t], 0, step);
#pragma unroll
    for (int step = 0; step < SLAB_STEPS; step++) {
        in_order();
        if (step + FRAGS_AHEAD < SLAB_STEPS)
            a[step + FRAGS_AHEAD] = row_frag(row_tile[t], 0, step + FRAGS_AHEAD);
#if KERNEL_SCORE
        mma(s, a[step], owned_frag(y, t, 0, step));
#else
        mma(s, a[step], y.frag[t][step]);
#endif
        in_order();
#if KERNEL_SCORE
        y.frag[t][step] = load_step(from, step);
#else
        y.frag[t][step] = load_chunk_at(buffer, at, 32 * (u32)step);
#endif
    }
    in_order();
#if !KERNEL_SCORE
    if (__builtin_expect(!whole && y.view[t].room > next * SLAB, 0))
        load_owned(y, t, next);
#endif
}

/* R^T += X^T W of the `slabs` first slabs of X. */
DEVICE void add_products(struct results &to, const struct packed_block &w, int slabs)
{
    constexpr int ALL = BLOCK_GROUPS * SLAB_BLOCKS;
    const auto column = [&](int slab, int n) {
        return turned_frag(turned_tile[0], slab * SLAB_BLOCKS + n % SLAB_BLOCKS, n / SLAB_BLOCKS);
    };
#pragma unroll
    for (int slab = 0; slab < WALK_SLABS; slab++) {
        block_frag a[ALL];
        if ((KERNEL_SCORE || slab == WALK_SLABS - 1) && slab >= slabs)
            break;
#pragma unroll
        for (int n = 0; n < FRAGS_AHEAD; n++)
            a[n] = column(slab, n);
#pragma unroll
        for (int n = 0; n < ALL; n++) {
            in_order();
            if (n + FRAGS_AHEAD < ALL)
                a[n + FRAGS_AHEAD] = column(slab, n + FRAGS_AHEAD);
            mma(to.r[0][slab * SLAB_BLOCKS + n % SLAB_BLOCKS], a[n], w.group[n / SLAB_BLOCKS]);
        }
    }
}

/* Whether the walk is not that for dV. `gradient` waits apart. */
DEVICE bool has_dp(int gradient)
{
    return !GRADIENTS_APART || awaited(gradient) == 0;
}

#if !KERNEL_SCORE
/* What a walk without score terms, which has registers for it, holds throughout. */
struct whole_places {
    __amdgpu_buffer_rsrc_t buffer; /* of the stream's tile */
    u32 load_at[RUN_ROWS];         /* where the thread's chunks lie in it */
    char *store_row[RUN_ROWS], *store_column;
};

DEVICE void find_places(struct whole_places &p, const struct stream &x)
{
    static_assert(RUNS == 1, "four rows a thread");
    const struct duty duty = duty_of(thread_id() % CARRIERS);
#pragma unroll
    for (int i = 0; i < RUN_ROWS; i++) {
        p.load_at[i] = (duty.row + (u32)i) * (u32)x.mine.pitch + duty.chunk * CHUNK_BYTES;
        asm volatile("" : "+v"(p.load_at[i]));
        p.store_row[i] =
            held_place(row_tile[carrier()] + row_chunk_at(duty.row + (u32)i, duty.chunk));
    }
    p.store_column = held_place(turned_tile[0] + turned_quad_at(duty.chunk * CHUNK, duty.row / 4));
    p.buffer = describe(x.view, x.mine);
}

/* Slab `slab` of the stream's tile, on its way. */
DEVICE void load_slab(struct cargo &to, struct whole_places &p, struct stream &x, int slab)
{
#pragma unroll
    for (int i = 0; i < RUN_ROWS; i++)
        renew(p.load_at[i], x.mine.dim);
    const bool whole = has_slab(x.mine.dim, slab);
    const __amdgpu_buffer_rsrc_t buffer = whole ? p.buffer : describe({x.view.first, 0}, x.mine);
#pragma unroll
    for (int i = 0; i < RUN_ROWS; i++)
        to.chunk[0][i] = load_chunk_at(buffer, p.load_at[i], (u32)slab * SLAB * 2);
    if (__builtin_expect(!whole && x.mine.dim > slab * SLAB, 0)) {
        const struct duty duty = duty_of(stay_here(thread_id()) % CARRIERS);
        load_chunks<RUN_ROWS>(to.chunk[0], x.view, x.mine, duty.row,
                              (u32)slab * SLAB + duty.chunk * CHUNK);
    }
}

DEVICE void store_slab(const struct cargo &from, const struct whole_places &p, int slab)
{
#pragma unroll
    for (int i = 0; i < RUN_ROWS; i++)
        *(u32x4 *)p.store_row[i] = from.chunk[0][i];
    if (carrier() == 0)
#pragma unroll
        for (int i = 0; i < CHUNK; i++)
            turn_channel(p.store_column + slab * SLAB_BLOCKS * LINE_BLOCK_BYTES, from.chunk[0], 0,
                         i);
}

/*
 * As walk_stream(): beyond 256 channels there are three slabs, or four. All places are held, and
 * what differs from slab to slab is known.
 */
template <enum gradient of, enum lse_form form>
DEVICE void walk_whole(struct results &to, struct owned &y, struct stream &x,
                       const struct context &context, const struct column &column, struct walk walk,
                       int)
{
    const bool all = used_slabs(args_here().problem) == WALK_SLABS;
#if LIFTS
    const u32 lifted = uniform((u32)in_any_lane(y.lift.d_o != 0)); /* if dO is small */
#endif
    struct cargo cargo;
    struct whole_places places;
    find_places(places, x);
    load_slab(cargo, places, x, 0);
    load_owned(y, 0, 0);
    load_owned(y, 1, 0);
    int tile = walk.begin;
#pragma unroll 1
    do {
        block_acc s = zero_acc(), dp = zero_acc();
#pragma unroll
        for (int now = 0; now < WALK_SLABS; now++) {
            if (now == WALK_SLABS - 1 && !all)
                break;
            int next = (now + 1) % WALK_SLABS;
            if (now == WALK_SLABS - 2 && !all)
                next = 0;
            lds_barrier();
            store_slab(cargo, places, now);
            if (next == 0) {
                advance(x);
                places.buffer = describe(x.view, x.mine);
            }
            load_slab(cargo, places, x, next);
            lds_barrier();
            renew(y.view[0].at, y.view[0].room);
            add_rows(s, y, 0, next);
            renew(y.view[1].at, y.view[1].room);
#if LIFTS
            if (lifted != 0)
                lift_owned(y);
#endif
            add_rows(dp, y, 1, next);
        }
        differentiate_block<of, form>(s, dp, context, column, tile * STREAM_ROWS, 0);
        const struct packed_block packed = pack_block(dp, pack_half());
        add_products(to, packed, all ? WALK_SLABS : WALK_SLABS - 1);
    } while (++tile < walk.end);
}

#else
/* As walk_stream(); of dK and dV for number `gradient` of them. */
template <enum gradient of, enum lse_form form>
DEVICE void walk_whole(struct results &to, struct owned &y, struct stream &x,
                       const struct context &context, const struct column &column, struct walk walk,
                       int gradient)
{
    struct cargo cargo;
    const u32 packed_duty = pack_duty(duty_of(thread_id() % CARRIERS));
    const int number = wait_apart(gradient);
#if GRADIENTS_APART
    x.turned = (u32)gradient;
#endif
    load_cargo(cargo, unpack_duty(packed_duty), x, 0);
    load_owned(y, 0, 0);
    if (has_dp(number))
        load_owned(y, 1, 0);
    int tile = walk.begin;
#pragma unroll 1
    do {
        const int row = tile * STREAM_ROWS;
        const int slabs = used_slabs(args_here().problem);
        block_acc s = zero_acc(), dp = zero_acc();
#pragma unroll 1
        for (int now = 0; now < slabs; now++) {
            const struct duty duty = unpack_duty(packed_duty);
            const int next = now + 1 < slabs ? now + 1 : 0;
            lds_barrier();
            store_cargo<form>(cargo, duty, x, now);
            if (next == 0)
                advance(x);
            load_cargo(cargo, duty, x, next);
            lds_barrier();
            add_rows(s, y, 0, next);
            if (has_dp(number))
                add_rows(dp, y, 1, next);
        }
#if DELTA_FIRST
        dp += row_values(1, 0);
#endif
        differentiate_block<of, form>(s, dp, context, column, row, 0);
        const u32 half = pack_half();
#if DBIAS_BESIDE && TERMS_NEAR
        if (has_term(context.terms, KERNARG_TERM_DBIAS_F32))
            store_wide_dbias(dp, context, column, row);
#endif
        block_acc w = has_dp(number) ? dp : s;
#if TERMS_NEAR
        begin_block(w);
#endif
        const struct packed_block packed = pack_block(w, half);
#if DBIAS_BESIDE && TERMS_NEAR
        if (has_term(context.terms, KERNARG_TERM_DBIAS))
            store_dbias(packed, context, column, row, half);
#endif
        add_products(to, packed, used_slabs(args_here().problem));
    } while (++tile < walk.end);
}
#endif

#endif
