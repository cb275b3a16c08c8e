/*
 * The walk over up to 512 channels on wave64 hardware, in slabs, none of it more than once for a
 * result: S and dP are summed up over the slabs of a tile, which stays in LDS as columns. The owned
 * operands of a slab come from memory, where they are in the cache, while the products of the one
 * before are made.
 */
#ifndef AOTHIP_ATTN_BWD_WHOLE_WALK_H
#define AOTHIP_ATTN_BWD_WHOLE_WALK_H

#include "packed_block.h"

enum { SLAB_BLOCKS = SLAB / BLOCK };

static_assert(STREAM_BLOCKS == 1, "S and dP of a tile are one block each");

/* R^T += X^T W of the `slabs` first slabs of X. */
DEVICE void add_products(struct results &to, const struct packed_block &w, int slabs)
{
#pragma unroll
    for (int slab = 0; slab < WALK_SLABS; slab++) {
        if (slab >= slabs)
            break;
#pragma unroll
        for (int group = 0; group < BLOCK_GROUPS; group++) {
            block_frag a = turned_frag(turned_tile[0], slab * SLAB_BLOCKS, group);
#pragma unroll
            for (int i = 0; i < SLAB_BLOCKS; i++) {
                const block_frag now = a;
                if (i + 1 < SLAB_BLOCKS)
                    a = turned_frag(turned_tile[0], slab * SLAB_BLOCKS + i + 1, group);
                mma(to.r[0][slab * SLAB_BLOCKS + i], now, w.group[group]);
            }
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
            multiply_rows(s, y, 0, now, 0);
            in_order();
            load_owned(y, 0, next);
            in_order();
            if (has_dp(number)) {
                multiply_rows(dp, y, 1, now, 0);
                in_order();
                load_owned(y, 1, next);
                in_order();
            }
        }
#if DELTA_FIRST
        dp += row_values(1, 0);
#endif
        differentiate_block<of, form>(s, dp, context, column, row, 0);
        const u32 half = pack_half();
#if DBIAS_BESIDE && TERMS_NEAR
        if (has_term(context.terms, TERM_DBIAS_WIDE))
            store_wide_dbias(dp, context, column, row);
#endif
        block_acc w = has_dp(number) ? dp : s;
#if TERMS_NEAR
        begin_block(w);
#endif
        const struct packed_block packed = pack_block(w, half);
#if DBIAS_BESIDE && TERMS_NEAR
        if (has_term(context.terms, TERM_DBIAS))
            store_dbias(packed, context, column, row, half);
#endif
        add_products(to, packed, used_slabs(args_here().problem));
    } while (++tile < walk.end);
}

#endif
