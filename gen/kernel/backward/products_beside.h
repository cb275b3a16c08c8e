/*
 * The walk where a step has no slabs and no score terms, on wave64 hardware: its products in a row,
 * and between their instructions what else there is to be done. A matrix instruction leaves the
 * issue port free for most of its time, but the compiler would not mix the two by itself. So
 *
 *     products         beside them                                      LDS
 *     fused: dQ        the tile's columns are stored                    dS of the step before
 *     S                they are, where not yet; dQ is added             rows of tile t
 *     dP               P of S; tile t + 1 is on its way                 rows of tile t
 *     barrier                                                           columns of t are there
 *     dkdv: R1         the rest of P as operands; dS of P and dP;       columns of t
 *                      fused: dS is stored, where places are held rows
 *                      of t + 1, too
 *     R0               dq: the rest of dS; rows of t + 1 are stored;    columns of t
 *                      fused: the rest of dS
 *     barrier                                                           rows of t + 1 are there
 *
 * Operands are read from LDS some products ahead. So all that a barrier waits for has been read
 * some products before their end, and there it is: behind it, operands of the next products are
 * read beside the last of these. Where the fused form holds its places, they are awaited in pairs,
 * and lse and -delta are read beside S: all of a workgroup's waves would wait for them at once.
 *
 * The further a wave is in the step, the higher its priority: forward/sliced_step.h has why. But
 * where both waves of a SIMD are of one workgroup, they meet at each barrier, and the one that is
 * behind goes first.
 *
 * A transcendental instruction has the vector port as long as four others, and no product of either
 * wave begins meanwhile. So it stands right behind one: the port is free again before the pipe.
 */
#ifndef AOTHIP_ATTN_BWD_PRODUCTS_BESIDE_H
#define AOTHIP_ATTN_BWD_PRODUCTS_BESIDE_H

#include "operands_ahead.h"

/* Priority, where a SIMD has several waves. */
template <int priority> DEVICE void take_turn()
{
    if (KERNEL_WAVES_PER_EU > 1)
        __builtin_amdgcn_s_setprio(priority);
}

/* The same at slice n of a product of rows, where the waves of a SIMD meet: in its second half. */
template <int priority> DEVICE void take_second_turn(int n)
{
    if (MEETS_ON_SIMD && MMA_PARTS > 1 && n == ROW_SLICES / 2)
        take_turn<priority>();
}

/* Whether P's exponents are ready a slice before they are wanted: where that takes less time. */
#if defined(__gfx90a__)
#define EXPONENTS_AHEAD (KERNEL_DIM == 64)
#else
#define EXPONENTS_AHEAD (!OWNS_KEYS || SUMS_DQ)
#endif

/* Pair i of S becomes exponents of P. */
template <enum lse_form form>
DEVICE void begin_weight(block_acc &s, f32x2 negative_lse, int i, const struct context &context,
                         const struct column &column)
{
    const f32x2 x =
        exponents_of<form>(f32x2{s[2 * i], s[2 * i + 1]}, negative_lse, context, column);
    s[2 * i] = x.x;
    s[2 * i + 1] = x.y;
}

/* A pair as part of an operand. */
DEVICE void pack_pair(struct packed_block &to, f32x2 x, int i)
{
    to.group[i / GROUP_PAIRS][i % GROUP_PAIRS] = end_round_pair(begin_round(x.x), begin_round(x.y));
}

/* dS of a pair, as part of an operand. */
DEVICE void differentiate_pair(struct packed_block &ds, const block_acc &p, const block_acc &dp,
                               int i, const struct column &column)
{
    f32x2 x = {dp[2 * i], dp[2 * i + 1]};
#if !DELTA_FIRST
    x -= f32x2(column.delta);
#else
    (void)column;
#endif
#if SUMS_DQ && KERNEL_DTYPE == MMA_F16
    /* Rounded as it is computed; a register that store_ds() takes halves of. */
    const f16x2 pair = {(_Float16)(x.x * p[2 * i]), (_Float16)(x.y * p[2 * i + 1])};
    u32 both = __builtin_bit_cast(u32, pair);
    asm("" : "+v"(both));
    ds.group[i / GROUP_PAIRS][i % GROUP_PAIRS] = both;
    return;
#endif
    pack_pair(ds, x * f32x2{p[2 * i], p[2 * i + 1]}, i);
}

/* What a step carries to the next one. */
struct stream_progress {
    struct cargo cargo;
    struct operands_ahead ahead;
#if SUMS_DQ
    struct dq_band band;
    struct held_places places;
#endif
};

/* Share n of `of` of the next tile's rows, and what comes with them. */
template <enum lse_form form>
DEVICE void store_next_rows(struct cargo &cargo, const struct stream &stream,
                            const struct duty &duty, int n, int of)
{
    if (share_begin(CARGO_ROWS, n, of) == 0 && share_begin(CARGO_ROWS, n + 1, of) > 0) {
        lift_cargo(cargo, stream);
        store_vector<form>(cargo, duty, stream);
    }
    each_of_share(CARGO_ROWS, n, of, [&](int i) { store_row(cargo, duty, i); });
}

#if HOLDS_PLACES
/* The same, where places are held. */
template <enum lse_form form>
DEVICE void store_next_rows(struct stream_progress &x, const struct stream &stream, int n, int of)
{
    if (share_begin(CARGO_ROWS, n, of) == 0 && share_begin(CARGO_ROWS, n + 1, of) > 0) {
        lift_cargo(x.cargo, stream);
        store_held_vector<form>(x.places, x.cargo, stream);
    }
    each_of_share(CARGO_ROWS, n, of,
                  [&](int i) { *(u32x4 *)x.places.row[i] = x.cargo.chunk[0][i]; });
}
#endif

#if SUMS_DQ
/* Share n of `of` of the wave's block of dS. */
DEVICE void store_ds_share(const struct stream_progress &x, const struct packed_block &ds, int n,
                           int of)
{
    each_of_share(ACC, n, of, [&](int i) { store_ds(ds, i, x.places.ds[i % 4]); });
}
#endif

/* Share n of `of` of the tile's columns; `place`: column_place(). */
DEVICE void store_columns(const struct cargo &cargo, u32 place, int n, int of)
{
    if (TURNED == 1) {
        n = n == 0 ? 0 : of; /* one branch */
        of = 1;
    }
    if (share_begin(CARGO_CHANNELS, n, of) < share_begin(CARGO_CHANNELS, n + 1, of) &&
        (TURNED == 2 || carrier() < TURNED))
        each_of_share(CARGO_CHANNELS, n, of,
                      [&](int i) { turn_channel(turned_tile[0] + place, cargo.chunk[0], 0, i); });
}

/*
 * S and dP of a block of rows, of which the first one is row `row`. S becomes P; as operands, if
 * the kernel has a use for it, its first group. beside(n), n < ROW_SLICES, is called beside S,
 * fetch(n) beside dP.
 */
template <enum lse_form form, class Beside, class Fetch>
DEVICE void
multiply_streams(block_acc &s, block_acc &dp, struct packed_block &p, struct operands_ahead &a,
                 struct owned &y, const struct context &context, const struct column &column,
                 const struct start &start, int row, int block, Beside beside, Fetch fetch)
{
    constexpr int LATER = ROW_SLICES / 2;
#if HOLDS_PLACES
    f32x4 lse[ACC / 4];
    dp = zero_acc();
#endif
    s = zero_acc();
    take_turn<MEETS_ON_SIMD ? 3 : 0>();
    multiply_rows_beside(s, a, y, 0, block, [&](int n) {
        if (n == MMA_PARTS)
            find_again(y);
        take_second_turn<2>(n);
        beside(n);
#if HOLDS_PLACES
        /* lse and -delta, before anything waits for them. */
        each_of_share(2 * ACC / 4, n, ROW_SLICES, [&](int i) {
            const f32x4 four = row_four(i < ACC / 4, block, i % (ACC / 4));
            if (i >= ACC / 4)
                lse[i - ACC / 4] = four;
            else
#pragma unroll
                for (int j = 0; j < 4; j++)
                    dp[4 * i + j] = four[j];
        });
#endif
    });
#if HOLDS_PLACES
    if (__builtin_expect(!is_seen(start.seen, row), 0))
        mask_rows(s, context, column, hold_scalar(row));
#else
    hide_rows(s, context, column, row);
    dp = first_dp(block, start);
#endif
#if OWNS_KEYS
    /* Read before the barrier, all at once where there are registers. */
    static_assert(!OWNED_AGAIN || 6 * SLAB_STEPS <= 8 * (SLAB_STEPS - BEHIND), "pair 5 is");
#if !HOLDS_PLACES
    f32x4 lse[ACC / 4];
#pragma unroll
    for (int i = 0; i < (OWNED_AGAIN ? 1 : ACC / 4); i++)
        lse[i] = row_four(0, block, i);
#endif
    const auto lse_of = [&](int i) { return i % 2 ? lse[i / 2].hi : lse[i / 2].lo; };
#else
    const auto lse_of = [&](int) { return f32x2(-column.lse); };
#endif
    const auto begin = [&](int i) {
        const f32x2 now = lse_of(i);
#if OWNS_KEYS
        if (OWNED_AGAIN && i % 2 && i + 1 < PAIRS)
            lse[i / 2 + 1] = row_four(0, block, i / 2 + 1);
#endif
        begin_weight<form>(s, now, i, context, column);
    };
    in_order();
    take_turn<1>();
    multiply_rows_beside(dp, a, y, 1, block, [&](int n) {
        take_second_turn<0>(n);
        fetch(n);
        each_of_share(ACC, n, ROW_SLICES, [&](int e) {
            if (EXPONENTS_AHEAD ? e == 0 : e % 2 == 0)
                begin(e / 2);
            s[e] = __builtin_amdgcn_exp2f(s[e]);
            if (!EXPONENTS_AHEAD)
                return;
            in_order();
            if (e % 2 && e + 1 < ACC)
                begin(e / 2 + 1);
        });
        if (OWNS_KEYS && n >= LATER)
            each_of_share(GROUP_PAIRS, n - LATER, ROW_SLICES - LATER, [&](int i) {
                pack_pair(p, f32x2{s[2 * i], s[2 * i + 1]}, i);
            });
    });
}

#if OWNS_KEYS
constexpr int FIRST_DS = 2; /* slice of R1, before which dP is not there */

/* R1 += X1^T P of a block, the rest of P as operands, and dS. */
template <class Fetch>
DEVICE void multiply_weights(struct results &to, struct packed_block &ds, struct packed_block &p,
                             const block_acc &s, const block_acc &dp, struct operands_ahead &a,
                             int block, const struct column &column, Fetch fetch)
{
    multiply_turned_beside(to.r[1], a, p, 1, block, [&](int n) {
        fetch(n);
        each_of_share(PAIRS - GROUP_PAIRS, n, RESULT_SLICES / 2, [&](int i) {
            const int j = GROUP_PAIRS + i;
            pack_pair(p, f32x2{s[2 * j], s[2 * j + 1]}, j);
        });
        if (n >= FIRST_DS)
            each_of_share(PAIRS, n - FIRST_DS, RESULT_SLICES - FIRST_DS,
                          [&](int i) { differentiate_pair(ds, s, dp, i, column); });
    });
}
#endif

/* Slices of R0 beside which rows of the next tile are stored. */
constexpr int LAST_SLICES = RESULT_SLICES - MMA_PARTS * BEHIND;
constexpr int FIRST_STORE = (LAST_SLICES + 2) / 3;
constexpr int STORE_SLICES = LAST_SLICES / 2;
/* dq: pairs of dS of the last block that R0 wants first; slices beside which the rest is made. */
constexpr int SOON_PAIRS = STREAM_BLOCKS > 1 ? 0 : GROUP_PAIRS;
constexpr int LATER_SLICES = STREAM_BLOCKS > 1 ? RESULT_SLICES : RESULT_SLICES / BLOCK_GROUPS;
/* Slices of S beside which dQ is added. */
constexpr int DQ_SHARES = HOLDS_PLACES ? ROW_SLICES / 2 : ROW_SLICES;
#if SUMS_DQ
/* Slices of R1 from which on rows are stored, where places are held, and dS; those of R1 and R0
 * beside which dS is. */
constexpr int ROWS_SOON = RESULT_SLICES / 2;
constexpr int DS_SOON = RESULT_SLICES > 8 ? 3 * RESULT_SLICES / 8 : FIRST_DS + 1;
constexpr int DS_SLICES = RESULT_SLICES - DS_SOON + LAST_SLICES;
static_assert(2 * share_begin(PAIRS, DS_SOON - FIRST_DS, RESULT_SLICES - FIRST_DS) >=
                      share_begin(ACC, 1, DS_SLICES) &&
                  2 * share_begin(PAIRS, RESULT_SLICES - 1 - FIRST_DS, RESULT_SLICES - FIRST_DS) >=
                      share_begin(ACC, RESULT_SLICES - DS_SOON, DS_SLICES),
              "dS is there when it is stored");
#endif

/* One step; the tile's first row is row `row`. */
template <enum lse_form form>
DEVICE void mixed_step(struct results &to, struct stream_progress &x, struct stream &stream,
                       struct owned &y, const struct context &context, const struct column &column,
                       const struct start &start, u32 packed_duty, u32 columns, int row)
{
    block_acc s, dp;
#if HOLDS_PLACES
#pragma unroll
    for (int i = 0; i < RUN_GROUPS; i++)
        asm volatile("" : "+a"(y.turned[i])); /* or some would be copied there and back */
#endif
    struct packed_block ds[STREAM_BLOCKS], p;
    struct duty duty, again; /* computed when they are wanted */
#if HOLDS_PLACES
    __amdgpu_buffer_rsrc_t from;
#endif
    const auto fetch = [&](int n) {
        if (n == 0) {
            advance(stream);
            duty = unpack_duty(packed_duty);
        }
#if HOLDS_PLACES
        if (n == 0)
            from = describe_tile(stream);
        if (n >= FIRST_LOAD && n - FIRST_LOAD < CARGO_ROWS) {
            const int i = n - FIRST_LOAD;
            x.cargo.chunk[0][i] =
                load_chunk_at(from, offset_of(stream.mine, duty.row, duty.chunk * CHUNK),
                              (u32)i * (u32)stream.mine.pitch);
            return;
        }
#endif
        if (n >= FIRST_LOAD)
            load_part(x.cargo, duty, stream, n - FIRST_LOAD);
    };
#if SUMS_DQ
    if (!HOLDS_COLUMNS)
        columns = column_place(unpack_duty(packed_duty));
    const block_acc dq =
        multiply_ds(x.ahead, y, [&](int n) { store_columns(x.cargo, columns, n, DQ_SLICES); });
    const __amdgpu_buffer_rsrc_t to_dq = place_of(x.band);
    advance(x.band, context);
#if HOLDS_PLACES
    u32 &own = x.places.dq;
#else
    u32 own = stay_here(lane_id()) * 4;
#endif
    asm volatile("" : "+v"(own)); /* or sums outside the loop would not become offsets */
    const auto beside = [&](int, int n) {
        if (n < DQ_SHARES)
            add_dq(dq, to_dq, own, n, DQ_SHARES);
        fetch(n);
    };
#else
    const auto beside = [&](int block, int n) {
        if (block == 0 && n == 0 && !HOLDS_COLUMNS)
            columns = column_place(unpack_duty(packed_duty));
        if (block == 0)
            store_columns(x.cargo, columns, n, ROW_SLICES);
        else
            each_of_share(PAIRS, n - MMA_PARTS, ROW_SLICES - MMA_PARTS,
                          [&](int i) { differentiate_pair(ds[block - 1], s, dp, i, column); });
    };
#endif
#pragma unroll
    for (int block = 0; block < STREAM_BLOCKS; block++) {
        block_acc now_s, now_dp;
        multiply_streams<form>(
            now_s, now_dp, p, x.ahead, y, context, column, start, row + block * BLOCK, block,
            [&](int n) { beside(block, n); },
            [&](int n) {
                if (block == 0 && !SUMS_DQ && !LATE_FETCH)
                    fetch(n);
            });
        s = now_s;
        dp = now_dp;
    }
#if OWNS_KEYS
    static_assert(STREAM_BLOCKS == 1, "one block of P");
    take_turn<MEETS_ON_SIMD ? 3 : 2>();
    multiply_weights(to, ds[0], p, s, dp, x.ahead, 0, column, [&](int n) {
        if (LATE_FETCH)
            fetch(n);
#if HOLDS_PLACES
        store_next_rows<form>(x, stream, n - ROWS_SOON, RESULT_SLICES - ROWS_SOON);
#endif
#if SUMS_DQ
        store_ds_share(x, ds[0], n - DS_SOON, DS_SLICES);
#endif
    });
#else
#pragma unroll
    for (int i = 0; i < SOON_PAIRS; i++)
        differentiate_pair(ds[STREAM_BLOCKS - 1], s, dp, i, column);
#endif
    take_turn<MEETS_ON_SIMD ? 1 : 3>();
#pragma unroll
    for (int block = 0; block < STREAM_BLOCKS; block++)
        multiply_turned_beside(to.r[0], x.ahead, ds[block], 0, block, [&](int n) {
#if !OWNS_KEYS
            if (block == 0)
                each_of_share(PAIRS - SOON_PAIRS, n, LATER_SLICES, [&](int i) {
                    differentiate_pair(ds[STREAM_BLOCKS - 1], s, dp, SOON_PAIRS + i, column);
                });
#endif
            if (block < STREAM_BLOCKS - 1)
                return;
#if SUMS_DQ
            store_ds_share(x, ds[0], n + RESULT_SLICES - DS_SOON, DS_SLICES);
#endif
            if (!HOLDS_PLACES && n == FIRST_STORE - 1)
                again = unpack_duty(packed_duty);
            if (!HOLDS_PLACES && n >= FIRST_STORE)
                store_next_rows<form>(x.cargo, stream, again, n - FIRST_STORE, STORE_SLICES);
        });
}

/* One pass over the stream: see walk_stream(). */
template <enum lse_form form>
DEVICE void walk_mixed(struct results &to, struct owned &y, struct stream &stream,
                       const struct context &context, const struct column &column, struct walk walk)
{
    struct stream_progress x;
    const struct start start = start_of(column);
    const u32 packed_duty = pack_duty(duty_of(thread_id() % CARRIERS));
    const struct duty duty = unpack_duty(packed_duty);
    u32 columns = column_place(duty);
    asm volatile("" : "+v"(columns));
    load_cargo(x.cargo, duty, stream, 0);
#if SUMS_DQ
    x.band = band_before(context, walk.begin);
    x.places = find_places(duty);
#endif
    lds_barrier();
    lift_cargo(x.cargo, stream);
#pragma unroll
    for (int n = 0; n < CARGO_ROWS; n++)
        store_row(x.cargo, duty, n);
    store_vector<form>(x.cargo, duty, stream);
    lds_barrier();
    find_rows(x.ahead);
#pragma unroll
    for (int i = 0; i < FRAGS_AHEAD; i++)
        read_first(x.ahead, i);
    int tile = walk.begin;
#pragma unroll 1
    do
        mixed_step<form>(to, x, stream, y, context, column, start, packed_duty, columns,
                         tile * STREAM_ROWS);
    while (++tile < walk.end);
    take_turn<0>();
#if SUMS_DQ
    add_dq(multiply_ds(x.ahead, y, [](int) {}), place_of(x.band), lane_id() * 4, 0, 1);
#endif
}

#endif
