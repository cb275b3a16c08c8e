/*
 * The walk over up to 512 channels on wave64 hardware, in slabs, none of it more than once for a
 * result: S and dP are summed up over the slabs of a tile, which stays in LDS as columns. The owned
 * operands of a slab come from memory, where they are in the cache, while the products of the one
 * before are made.
 */
#ifndef AOTHIP_ATTN_BWD_WHOLE_WALK_H
#define AOTHIP_ATTN_BWD_WHOLE_WALK_H

#include "packed_block.h"

enum {
    SLAB_BLOCKS = SLAB / BLOCK,
    FRAGS_AHEAD = LIFTS ? 1 : 2, /* operands read from LDS before they are needed */
};

static_assert(STREAM_BLOCKS == 1, "S and dP of a tile are one block each");

/* Where load_owned() finds it. */
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
        to.room = x.dim - (int)half * CHUNK;
        asm volatile("" : "+v"(to.low), "+v"(to.high), "+v"(to.bytes), "+v"(to.at), "+v"(to.room));
    }
}

/* A slab of them. */
struct owned_slab {
    __amdgpu_buffer_rsrc_t buffer;
    u32 at;
    int room;
};

DEVICE struct owned_slab slab_of(const struct owned &y, int t, int slab)
{
    const struct owned_view &x = y.view[t];
    const kernarg_u64 base = (kernarg_u64)uniform(x.high) << 32 | uniform(x.low);
    return {
        __builtin_amdgcn_make_buffer_rsrc((void *)base, 0, (int)uniform(x.bytes), DESCRIPTOR_WORD3),
        x.at + (u32)slab * SLAB * 2, x.room - slab * SLAB};
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

/*
 * S or dP += X Y^T of a slab. Slab `next` of the owned operands takes the place of those that are
 * no longer wanted.
 */
DEVICE void add_rows(block_acc &s, struct owned &y, int t, int next)
{
    const struct owned_slab from = slab_of(y, t, next);
    block_frag a[SLAB_STEPS];
#pragma unroll
    for (int step = 0; step < FRAGS_AHEAD; step++)
        a[step] = row_frag(row_tile[t], 0, step);
#pragma unroll
    for (int step = 0; step < SLAB_STEPS; step++) {
        in_order();
        if (step + FRAGS_AHEAD < SLAB_STEPS)
            a[step + FRAGS_AHEAD] = row_frag(row_tile[t], 0, step + FRAGS_AHEAD);
        mma(s, a[step], owned_frag(y, t, 0, step));
        in_order();
        y.frag[t][step] = load_step(from, step);
    }
    in_order();
}

/* R^T += X^T W of the `slabs` first slabs of X. */
DEVICE void add_products(struct results &to, const struct packed_block &w, int slabs)
{
    enum { ALL = BLOCK_GROUPS * SLAB_BLOCKS };
    const auto column = [&](int slab, int n) {
        return turned_frag(turned_tile[0], slab * SLAB_BLOCKS + n % SLAB_BLOCKS, n / SLAB_BLOCKS);
    };
#pragma unroll
    for (int slab = 0; slab < WALK_SLABS; slab++) {
        block_frag a[ALL];
        if (slab >= slabs)
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
