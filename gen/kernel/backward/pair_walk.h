/*
 * The walk for dK and dV of up to 512 channels on wave64 hardware: two waves own the same keys, one
 * of them S and dV, the other one dP and dK. So each has all channels of its owned tensor and of
 * its result in registers. They exchange S and dP through LDS, and each makes P and dS of half of
 * the rows for both.
 *
 * A step has a stage for each slab of a tile's rows, and then one for each slab of columns of the
 * tile before:
 *
 *     products               beside them                                    LDS
 *     S or dP of tile t      the next stage is stored                       rows of a slab
 *     dV or dK of t - 1      the same; S and dP of t are exchanged          columns of a slab
 *
 * The barrier is BEHIND products before the end of a stage: behind it, operands of the next one are
 * read beside the last ones of this.
 */
#ifndef AOTHIP_ATTN_BWD_PAIRS_H
#define AOTHIP_ATTN_BWD_PAIRS_H

#include "packed_block.h"

static_assert(STREAM_BLOCKS == 1, "S and dP of a tile are one block each");

constexpr int SLAB_BLOCKS = SLAB / BLOCK;

constexpr int STAGES = 2 * WALK_SLABS;
constexpr int STAGE_PRODUCTS = SLAB_STEPS;
constexpr int BEHIND = 2; /* products behind a barrier, and operands read from LDS ahead */
/* Product beside which the next stage begins to be stored, and it ends. */
constexpr int STORE_FIRST = 1;
constexpr int STORE_END = 4;
/* Product beside which S and dP begin to be stored, and are there. */
constexpr int EXCHANGE_FIRST = 1;
constexpr int STORE_SLICES = MMA_PARTS * (STORE_END - STORE_FIRST);
constexpr int QUADS = ACC / 4; /* of S or dP that a lane has */
constexpr int QUAD_BYTES = KERNEL_WAVE * 16;
/* Places of a row that differ by more than a constant: row_frag_turn(). */
constexpr int ROW_TURNS = 4;

static_assert(STAGE_PRODUCTS == BLOCK_GROUPS * SLAB_BLOCKS && BLOCK_GROUPS == 2 && RUNS == 1,
              "a stage of columns has as many products as one of rows");

/* S or dP of each wave; then operands. */
static SHARED char exchange[KERNEL_WAVES][QUADS][QUAD_BYTES];

/* What a step carries to the next one. */
struct pair_progress {
    __amdgpu_buffer_rsrc_t buffer, before; /* of the stream's tile, and of the one before it */
    struct cargo cargo;                    /* of the next stage */
    block_frag ahead[BEHIND];              /* first operands of the next stage */
    struct packed_block w;                 /* P or dS of the tile before */
    u32 load_at;                           /* where the thread's chunk lies in the buffer */
    int room;                              /* channels from there to a row's last */
    u32 store_row[RUN_ROWS], store_column; /* of the lane, in a stage's tile */
    u32 read_row[ROW_TURNS], read_column;
    u32 own, half; /* in the exchange: the wave's first quad; the first that it weighs */
};

/* What follows from x is computed anew in every stage, from where x is now. */
DEVICE u32 move_on(u32 &x)
{
    asm volatile("" : "+v"(x));
    return x;
}

/* Before the first stage. */
DEVICE void find_places(struct pair_progress &p, const struct stream &x)
{
    /* Anew for each head, or what follows would be held throughout all. */
    const struct duty duty = duty_of(stay_here(thread_id()) % CARRIERS);
    p.load_at = duty.row * (u32)x.mine.pitch + duty.chunk * CHUNK_BYTES;
    p.room = x.mine.dim - (int)duty.chunk * CHUNK;
#pragma unroll
    for (u32 i = 0; i < RUN_ROWS; i++) {
        p.store_row[i] =
            carrier() * sizeof(stage_tile[0].row[0]) + row_chunk_at(duty.row + i, duty.chunk);
        move_on(p.store_row[i]);
    }
    p.store_column = carrier() * sizeof(stage_tile[0].turned[0]) +
                     turned_quad_at(duty.chunk * CHUNK, duty.row / 4);
#pragma unroll
    for (int i = 0; i < ROW_TURNS; i++) {
        p.read_row[i] = slice_tensor() * sizeof(stage_tile[0].row[0]) + row_frag_at(i);
        move_on(p.read_row[i]);
    }
    p.read_column = (1 - slice_tensor()) * sizeof(stage_tile[0].turned[0]) + turned_frag_at();
    p.own = wave_id() * sizeof(exchange[0]) + lane_id() * 16;
    p.half = team_id() * TEAM * sizeof(exchange[0]) + slice_tensor() * (QUADS / 2) * QUAD_BYTES +
             lane_id() * 16;
    move_on(p.store_column);
    move_on(p.read_column);
    move_on(p.own);
    move_on(p.half);
    p.buffer = describe(x.view, x.mine);
    p.before = __builtin_amdgcn_make_buffer_rsrc(x.view.first, 0, 0, DESCRIPTOR_WORD3);
}

/* A quad of the exchange, `quads` behind x. */
DEVICE u32x4 &quad_at(u32 x, int quads)
{
    return *(u32x4 *)(exchange[0][0] + x + quads * QUAD_BYTES);
}

/* Operand n of a stage. */
DEVICE block_frag stage_frag(struct pair_progress &p, int stage, int n)
{
    const auto &tile = stage_tile[stage % 2];
    if (stage % STAGES >= WALK_SLABS)
        return *(const block_frag *)(tile.turned[0] + p.read_column +
                                     turned_frag_offset(n % SLAB_BLOCKS, n / SLAB_BLOCKS));
    return *(const block_frag *)(tile.row[0] + p.read_row[n % ROW_TURNS] + row_frag_offset(0, n));
}

/* What is stored for a stage, on its way. */
DEVICE void load_stage(struct pair_progress &p, const struct stream &x, int stage)
{
    const int slab = stage % WALK_SLABS;
    u32 at = move_on(p.load_at);
    at = p.room > slab * SLAB ? at : NOWHERE;
#pragma unroll
    for (int i = 0; i < RUN_ROWS; i++) {
        p.cargo.chunk[0][i] =
            load_chunk_at(stage < WALK_SLABS ? p.buffer : p.before, at, (u32)slab * SLAB * 2);
        at += (u32)x.mine.pitch;
        move_on(at); /* or the slab's place would be added by itself */
    }
    if (stage == 0)
        p.cargo.vector = load_vector(x, thread_id() % STREAM_ROWS);
}

/* Share n of `of` of it. */
template <enum lse_form form>
DEVICE void store_stage(struct pair_progress &p, const struct stream &x, int stage, int n, int of)
{
    auto &tile = stage_tile[stage % 2];
    if (n == 0) {
#if LIFTS
        if (x.lift != lift_pair_of(0)) /* Q never is, and dO if it is small */
            lift_cargo(p.cargo, x);
#endif
        if (stage == 1) /* the tile before is weighed until a barrier of the stage before */
            store_vector<form>(p.cargo, {0, 0, thread_id() % CARRIERS}, x);
    }
    if (stage < WALK_SLABS)
        each_of_share(RUN_ROWS, n, of, [&](int i) {
            *(u32x4 *)(tile.row[0] + p.store_row[i]) = p.cargo.chunk[0][i];
        });
    else
        each_of_share(CHUNK, n, of, [&](int i) {
            turn_channel(tile.turned[0] + p.store_column, p.cargo.chunk[0], 0, i);
        });
}

/* A stage, with beside(n) behind product n. */
template <enum lse_form form, class Beside>
DEVICE void walk_stage(int stage, struct results &to, block_acc &acc, struct pair_progress &p,
                       const struct owned &y, struct stream &x, Beside beside)
{
    const bool rows = stage < WALK_SLABS;
    const int slab = stage % WALK_SLABS;
    block_frag a[STAGE_PRODUCTS + BEHIND];
#pragma unroll
    for (int i = 0; i < BEHIND; i++)
        a[i] = p.ahead[i];
#pragma unroll
    for (int n = 0; n < STAGE_PRODUCTS; n++) {
        const int ahead = n + BEHIND;
        a[ahead] = ahead < STAGE_PRODUCTS ? stage_frag(p, stage, ahead)
                                          : stage_frag(p, stage + 1, ahead - STAGE_PRODUCTS);
        in_order();
        mma_beside(rows ? acc : to.r[0][slab * SLAB_BLOCKS + n % SLAB_BLOCKS], a[n],
                   rows ? y.frag[0][slab * SLAB_STEPS + n] : p.w.group[n / SLAB_BLOCKS],
                   [&](int part) {
                       const int slice = MMA_PARTS * (n - STORE_FIRST) + part;
                       if (slice >= 0 && slice < STORE_SLICES)
                           store_stage<form>(p, x, (stage + 1) % STAGES, slice, STORE_SLICES);
                       in_order();
                   });
        beside(n);
        if (n == STORE_FIRST && stage + 2 == STAGES) {
            advance(x);
            p.before = p.buffer;
            p.buffer = describe(x.view, x.mine);
        }
        if (n == STORE_END - 1)
            load_stage(p, x, (stage + 2) % STAGES);
        if (n == STAGE_PRODUCTS - BEHIND - 1)
            lds_barrier();
        in_order();
    }
#pragma unroll
    for (int i = 0; i < BEHIND; i++)
        p.ahead[i] = a[STAGE_PRODUCTS + i];
}

/* What becomes P and dS of four of a lane's rows at a time. */
struct weighing {
    f32x4 s, lse, dp, delta;
};

constexpr int WEIGH_PARTS = 6;

/* Part `part` of it for quad `at` of QUADS / 2. */
template <enum lse_form form>
DEVICE void weigh_part(struct weighing &x, const struct pair_progress &p,
                       const struct context &context, const struct column &column, int row, int at,
                       int part)
{
    const u32 first = 4 * (slice_tensor() * QUADS / 2 + (u32)at);
    if (part == 0) {
        x.s = __builtin_bit_cast(f32x4, quad_at(p.half, at));
        x.lse = row_values<f32x4>(0, 0, nullptr, first);
    }
    if (part == 1)
        hide_rows(x.s, context, column, row + rows_to(first));
    if (part == 2 || part == 3) {
        const int i = part * 2 - 4;
        const f32x2 now = weights_of<form>(f32x2{x.s[i], x.s[i + 1]}, f32x2{x.lse[i], x.lse[i + 1]},
                                           context, column);
        x.s[i] = now.x;
        x.s[i + 1] = now.y;
    }
    if (part == 3) {
        x.dp = __builtin_bit_cast(f32x4, quad_at(p.half, QUADS + at));
        x.delta = row_values<f32x4>(1, 0, nullptr, first);
    }
    if (part == 4) {
        const u32x2 weights = {end_round_pair(begin_round(x.s[0]), begin_round(x.s[1])),
                               end_round_pair(begin_round(x.s[2]), begin_round(x.s[3]))};
        *((u32x2 *)&quad_at(p.half, 0) + at) = weights;
    }
    if (part == 5) {
        const f32x4 now = (x.dp + x.delta) * x.s;
        const u32x2 ds = {end_round_pair(begin_round(now[0]), begin_round(now[1])),
                          end_round_pair(begin_round(now[2]), begin_round(now[3]))};
        *((u32x2 *)&quad_at(p.half, QUADS) + at) = ds;
    }
}

/* The part of the weighing that is beside product n of a stage, in order: where nothing is stored.
 */
DEVICE constexpr int part_beside(int stage, int n)
{
    const int free = STAGE_PRODUCTS - (STORE_END - STORE_FIRST);
    if (stage <= WALK_SLABS || (n >= STORE_FIRST && n < STORE_END))
        return -1;
    return (stage - WALK_SLABS - 1) * free + (n < STORE_FIRST ? n : n - (STORE_END - STORE_FIRST));
}

/* As walk_stream(). Before the first tile and behind the last one there are zeros. */
template <enum lse_form form>
DEVICE void walk_pairs(struct results &to, const struct owned &y, struct stream &x,
                       const struct context &context, const struct column &column, struct walk walk)
{
    struct pair_progress p;
    find_places(p, x);
    load_stage(p, x, 0);
    lds_barrier();
#pragma unroll
    for (int group = 0; group < BLOCK_GROUPS; group++)
        quad_at(p.own, group * QUADS / 2) = u32x4{};
    store_stage<form>(p, x, 0, 0, 1);
    load_stage(p, x, 1);
    lds_barrier();
#pragma unroll
    for (int i = 0; i < BEHIND; i++)
        p.ahead[i] = stage_frag(p, 0, i);
    int tile = walk.begin;
#pragma unroll 1
    do {
        block_acc acc = zero_acc();
        /* The results lie in accumulation registers, or some would be spilled. */
#pragma unroll
        for (int i = 0; i < WALK_BLOCKS; i++)
            asm volatile("" : "+a"(to.r[0][i]));
        struct weighing weighing;
#pragma unroll
        for (int stage = 0; stage < STAGES; stage++)
            walk_stage<form>(stage, to, acc, p, y, x, [&](int n) {
                const int first = n - STAGE_PRODUCTS + BLOCK_GROUPS, at = n - EXCHANGE_FIRST;
                if (stage == WALK_SLABS - 1 && first >= 0)
                    p.w.group[first] = quad_at(p.own, first * QUADS / 2);
                if (stage == WALK_SLABS && at >= 0 && at < QUADS)
                    quad_at(p.own, at) =
                        __builtin_bit_cast(u32x4, f32x4{acc[4 * at], acc[4 * at + 1],
                                                        acc[4 * at + 2], acc[4 * at + 3]});
                const int part = part_beside(stage, n);
                if (part >= 0 && part < QUADS / 2 * WEIGH_PARTS)
                    weigh_part<form>(weighing, p, context, column, tile * STREAM_ROWS,
                                     part / WEIGH_PARTS, part % WEIGH_PARTS);
            });
    } while (tile++ < walk.end);
}

#endif
