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
 *     dkdv: R1         the rest of P as operands; dS of P and dP        columns of t
 *     R0               dq: the rest of dS; rows of t + 1 are stored;    columns of t
 *                      fused: dS
 *     barrier                                                           rows of t + 1 are there
 *
 * Operands are read from LDS some products ahead. So all that a barrier waits for has been read
 * some products before their end, and there it is: behind it, operands of the next products are
 * read beside the last of these.
 *
 * The further a wave is in the step, the higher its priority: forward/sliced_step.h has why. But
 * where both waves of a SIMD are of one workgroup, they meet at each barrier, and the one that is
 * behind goes first.
 */
#ifndef AOTHIP_ATTN_BWD_PRODUCTS_BESIDE_H
#define AOTHIP_ATTN_BWD_PRODUCTS_BESIDE_H

#include "packed_block.h"

enum {
    PAIRS = ACC / 2, /* of elements that a lane has of a block */
    GROUP_PAIRS = PAIRS / BLOCK_GROUPS,
    ROW_SLICES = MMA_PARTS * SLAB_STEPS,
    ROW_PRODUCTS = STREAM_BLOCKS * 2 * SLAB_STEPS,
    RESULT_PRODUCTS = BLOCK_GROUPS * WALK_BLOCKS, /* of a block of rows */
    RESULT_SLICES = MMA_PARTS * RESULT_PRODUCTS,
    TURNED_PRODUCTS = STREAM_BLOCKS * TURNED * RESULT_PRODUCTS,
    MEETS_ON_SIMD = KERNEL_WAVES > 4,
    FRAGS_AHEAD = 2, /* operands read from LDS before they are needed */
    KEPT_AHEAD = KEPT_STEPS == SLAB_STEPS ? 1 : 2,       /* V from LDS */
    AGAIN_AHEAD = 4,                                     /* V from memory */
    BEHIND = 2,                                          /* products behind a barrier */
    LATE_FETCH = OWNED_AGAIN && KEPT_STEPS < SLAB_STEPS, /* once V takes no registers any more */
    CARGO_ROWS = RUNS * RUN_ROWS,
    CARGO_CHANNELS = RUNS * CHUNK,
    /* Slices beside which the cargo is loaded, the first that loads some. */
    CARGO_SLICES = LATE_FETCH ? RESULT_SLICES : ROW_SLICES,
    FIRST_LOAD = CARGO_SLICES > CARGO_ROWS + MEETS_ON_SIMD ? 1 : 0,
};

static_assert(RUNS == 1, "one place of columns");
static_assert(FRAGS_AHEAD >= BEHIND, "what a barrier waits for has been read");
static_assert(CARGO_SLICES >= FIRST_LOAD + CARGO_ROWS + OWNS_KEYS, "each load has a slice");

/* Operands in their order. */
struct operands_ahead {
    block_frag row[ROW_PRODUCTS], again[SLAB_STEPS], turned[TURNED_PRODUCTS];
    u32 row_at; /* in a tile, of the row that is read next, where registers are short */
#if SUMS_DQ
    block_frag ds[RUN_GROUPS];
#endif
};

/* Before the first read_row(). */
DEVICE void find_rows(struct operands_ahead &a)
{
    if (OWNED_AGAIN)
        a.row_at = row_frag_at(0);
}

DEVICE void read_row(struct operands_ahead &a, int i)
{
#if OWNED_AGAIN
    a.row[i] = *(const block_frag *)(row_tile[i / SLAB_STEPS] + a.row_at +
                                     row_frag_offset(0, i % SLAB_STEPS));
    a.row_at = stay_here(a.row_at ^ row_frag_turn(i) ^ row_frag_turn(i + 1));
    return;
#endif
    a.row[i] = row_frag(row_tile[i / SLAB_STEPS % 2], i / SLAB_STEPS / 2, i % SLAB_STEPS);
}

/* Of each block those of R1 come first. */
DEVICE void read_turned(struct operands_ahead &a, int i)
{
    const int result = i / RESULT_PRODUCTS, n = i % RESULT_PRODUCTS;
    a.turned[i] = turned_frag(turned_tile[TURNED - 1 - result % TURNED], n % WALK_BLOCKS,
                              result / TURNED * BLOCK_GROUPS + n / WALK_BLOCKS);
}

/* What a step begins with. */
DEVICE void read_first(struct operands_ahead &a, int i)
{
#if SUMS_DQ
    a.ds[i] = ds_frag(i);
#else
    read_row(a, i);
#endif
}

/* V from memory or LDS for products from i on, which count from S on. */
DEVICE void read_again(struct operands_ahead &a, const struct owned &y, int i)
{
#pragma unroll
    for (int ahead = KEPT_AHEAD; ahead <= AGAIN_AHEAD; ahead++) {
        const int step = i - SLAB_STEPS + ahead;
        if (OWNED_AGAIN && step >= 0 && step < SLAB_STEPS &&
            ahead == (is_kept(step) ? KEPT_AHEAD : AGAIN_AHEAD))
            a.again[step] = owned_frag(y, 1, 0, step);
    }
}

/*
 * What is read before product i of `count`, with a barrier behind all but the last BEHIND of them:
 * of these products, and of those that follow.
 */
template <class Now, class Next> DEVICE void read_ahead(int i, int count, Now now, Next next)
{
    if (i + FRAGS_AHEAD < count)
        now(i + FRAGS_AHEAD);
    else
#pragma unroll
        for (int j = i == count - BEHIND ? 0 : i + FRAGS_AHEAD - count;
             j <= i + FRAGS_AHEAD - count && i >= count - BEHIND; j++)
            next(j);
}

DEVICE void meet_behind(int i, int count)
{
    if (i == count - BEHIND - 1)
        lds_barrier();
    in_order();
}

/* S or dP += X Y^T of a block of rows, with beside(n), n < ROW_SLICES. */
template <class Beside>
DEVICE void multiply_rows_beside(block_acc &s, struct operands_ahead &a, const struct owned &y,
                                 int t, int block, Beside beside)
{
#pragma unroll
    for (int step = 0; step < SLAB_STEPS; step++) {
        const int i = (2 * block + t) * SLAB_STEPS + step;
        read_ahead(
            i, ROW_PRODUCTS, [&](int j) { read_row(a, j); }, [&](int j) { read_turned(a, j); });
        read_again(a, y, i);
        in_order();
        mma_beside(s, a.row[i], OWNED_AGAIN && t == 1 ? a.again[step] : owned_frag(y, t, 0, step),
                   [&](int part) {
                       in_order();
                       beside(MMA_PARTS * step + part);
                       in_order();
                   });
        meet_behind(i, ROW_PRODUCTS);
    }
}

/* R^T += X^T W of a block of rows, with beside(n), n < RESULT_SLICES. */
template <class Beside>
DEVICE void multiply_turned_beside(block_acc (&r)[WALK_BLOCKS], struct operands_ahead &a,
                                   const struct packed_block &w, int t, int block, Beside beside)
{
#pragma unroll
    for (int n = 0; n < RESULT_PRODUCTS; n++) {
        const int i = (block * TURNED + TURNED - 1 - t) * RESULT_PRODUCTS + n;
        read_ahead(
            i, TURNED_PRODUCTS, [&](int j) { read_turned(a, j); },
            [&](int j) { read_first(a, j); });
        in_order();
        mma_beside(r[n % WALK_BLOCKS], a.turned[i], w.group[n / WALK_BLOCKS], [&](int part) {
            in_order();
            beside(MMA_PARTS * n + part);
            in_order();
        });
        meet_behind(i, TURNED_PRODUCTS);
    }
}

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
    pack_pair(ds, x * f32x2{p[2 * i], p[2 * i + 1]}, i);
}

/* What a step carries to the next one. */
struct stream_progress {
    struct cargo cargo;
    struct operands_ahead ahead;
#if SUMS_DQ
    struct dq_band band;
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
    enum { LATER = ROW_SLICES / 2 };
    s = zero_acc();
    __builtin_amdgcn_s_setprio(MEETS_ON_SIMD ? 1 : 0);
    multiply_rows_beside(s, a, y, 0, block, [&](int n) {
        if (n == MMA_PARTS)
            find_again(y);
        beside(n);
    });
    hide_rows(s, context, column, row);
    dp = first_dp(block, start);
#if OWNS_KEYS
    /* Read before the barrier, all at once where there are registers. */
    static_assert(!OWNED_AGAIN || 6 * SLAB_STEPS <= 8 * (SLAB_STEPS - BEHIND), "pair 5 is");
    f32x4 lse[ACC / 4];
#pragma unroll
    for (int i = 0; i < (OWNED_AGAIN ? 1 : ACC / 4); i++)
        lse[i] = row_four(0, block, i);
    const auto lse_of = [&](int i) { return i % 2 ? lse[i / 2].hi : lse[i / 2].lo; };
#else
    const auto lse_of = [&](int) { return f32x2(-column.lse); };
#endif
    in_order();
    __builtin_amdgcn_s_setprio(MEETS_ON_SIMD ? 0 : 1);
    multiply_rows_beside(dp, a, y, 1, block, [&](int n) {
        fetch(n);
        each_of_share(ACC, n, ROW_SLICES, [&](int e) {
            const int i = e / 2;
            if (e % 2) {
                s[e] = __builtin_amdgcn_exp2f(s[e]);
                return;
            }
            const f32x2 now = lse_of(i);
#if OWNS_KEYS
            if (OWNED_AGAIN && i % 2 && i + 1 < PAIRS)
                lse[i / 2 + 1] = row_four(0, block, i / 2 + 1);
#endif
            begin_weight<form>(s, now, i, context, column);
            s[e] = __builtin_amdgcn_exp2f(s[e]);
        });
        if (OWNS_KEYS && n >= LATER)
            each_of_share(GROUP_PAIRS, n - LATER, ROW_SLICES - LATER, [&](int i) {
                pack_pair(p, f32x2{s[2 * i], s[2 * i + 1]}, i);
            });
    });
}

#if OWNS_KEYS
/* R1 += X1^T P of a block, the rest of P as operands, and dS. */
template <class Fetch>
DEVICE void multiply_weights(struct results &to, struct packed_block &ds, struct packed_block &p,
                             const block_acc &s, const block_acc &dp, struct operands_ahead &a,
                             int block, const struct column &column, Fetch fetch)
{
    enum { FIRST = 2 }; /* dP is not there before */
    multiply_turned_beside(to.r[1], a, p, 1, block, [&](int n) {
        fetch(n);
        each_of_share(PAIRS - GROUP_PAIRS, n, RESULT_SLICES / 2, [&](int i) {
            const int j = GROUP_PAIRS + i;
            pack_pair(p, f32x2{s[2 * j], s[2 * j + 1]}, j);
        });
        if (n >= FIRST)
            each_of_share(PAIRS, n - FIRST, RESULT_SLICES - FIRST,
                          [&](int i) { differentiate_pair(ds, s, dp, i, column); });
    });
}
#endif

#if SUMS_DQ
/* What the wave has of the dQ of the step before, with beside(n), n < DQ_SLICES. */
enum { DQ_SLICES = MMA_PARTS * RUN_GROUPS };

template <class Beside>
DEVICE block_acc multiply_ds(struct operands_ahead &a, const struct owned &y, Beside beside)
{
    block_acc dq = zero_acc();
#pragma unroll
    for (int i = 0; i < RUN_GROUPS; i++) {
        if (i + FRAGS_AHEAD < RUN_GROUPS)
            a.ds[i + FRAGS_AHEAD] = ds_frag(i + FRAGS_AHEAD);
        else
            read_row(a, i + FRAGS_AHEAD - RUN_GROUPS);
        in_order();
        mma_beside(dq, a.ds[i], y.turned[i], [&](int part) {
            in_order();
            beside(MMA_PARTS * i + part);
            in_order();
        });
    }
    return dq;
}
#endif

/* One step; the tile's first row is row `row`. */
template <enum lse_form form>
DEVICE void mixed_step(struct results &to, struct stream_progress &x, struct stream &stream,
                       struct owned &y, const struct context &context, const struct column &column,
                       const struct start &start, u32 packed_duty, u32 columns, int row)
{
    /* Slices of R0 beside which rows of the next tile are stored. */
    enum {
        LAST_SLICES = RESULT_SLICES - MMA_PARTS * BEHIND,
        FIRST_STORE = (LAST_SLICES + 2) / 3,
        STORE_SLICES = LAST_SLICES / 2,
        /* dq: pairs of dS of the last block that R0 wants first; slices beside which the rest is
         * made. */
        SOON_PAIRS = STREAM_BLOCKS > 1 ? 0 : GROUP_PAIRS,
        LATER_SLICES = STREAM_BLOCKS > 1 ? RESULT_SLICES : RESULT_SLICES / BLOCK_GROUPS,
    };
    block_acc s, dp;
    struct packed_block ds[STREAM_BLOCKS], p;
    struct duty duty, again; /* computed when they are wanted */
    const auto fetch = [&](int n) {
        if (n == 0) {
            advance(stream);
            duty = unpack_duty(packed_duty);
        }
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
    const auto beside = [&](int, int n) {
        fetch(n);
        add_dq(dq, to_dq, n, ROW_SLICES);
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
    __builtin_amdgcn_s_setprio(MEETS_ON_SIMD ? 1 : 2);
    multiply_weights(to, ds[0], p, s, dp, x.ahead, 0, column, [&](int n) {
        if (LATE_FETCH)
            fetch(n);
    });
#else
#pragma unroll
    for (int i = 0; i < SOON_PAIRS; i++)
        differentiate_pair(ds[STREAM_BLOCKS - 1], s, dp, i, column);
#endif
    __builtin_amdgcn_s_setprio(MEETS_ON_SIMD ? 0 : 3);
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
            each_of_share(ACC, n, LAST_SLICES, [&](int i) { store_ds(ds[0], i); });
#endif
            if (n == FIRST_STORE - 1)
                again = unpack_duty(packed_duty);
            if (n >= FIRST_STORE)
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
    __builtin_amdgcn_s_setprio(0);
#if SUMS_DQ
    add_dq(multiply_ds(x.ahead, y, [](int) {}), place_of(x.band), 0, 1);
#endif
}

#endif
