/*
 * The machinery that attn_bwd_dq and attn_bwd_dkdv share in f32. It has the names and the sides of
 * stream_walk.h, but products of mma_f32.h, whose operands are single elements of f32:
 *
 *     S [16, 16] = X0 Y0^T             A: a lane has four channels of one row of the stream
 *     dP[16, 16] = X1 Y1^T
 *     R0^T[SLICE, 16] += X0^T dS       A: a lane has RUN channels of the rows in C's order
 *     dkdv: R1^T[SLICE, 16] += X1^T P~
 *
 * so that the tile of the stream lies in LDS once, as in memory, and serves both. What does not
 * exist is 0 there.
 *
 * A team of waves owns 16 rows. Of more than SLICE channels each wave of the team has SLICE: it
 * computes their parts of S and dP, which the team adds up through LDS in a fixed order, and their
 * results. So the registers of a wave are bounded whatever the head dim, and no walk is repeated.
 */
#ifndef AOTHIP_ATTN_BWD_WALK_F32_H
#define AOTHIP_ATTN_BWD_WALK_F32_H

#include "gradient_block.h"

constexpr int SLAB = KERNEL_DIM; /* all channels are computed at once */
constexpr int WALK_DIM = SLAB;
constexpr int SLICE_MOST = KERNEL_WAVE == 64 ? 128 : KERNEL_DIM <= 128 ? 64 : 32;
constexpr int SLICE = KERNEL_DIM < SLICE_MOST ? KERNEL_DIM : SLICE_MOST;
constexpr int SLICES = KERNEL_DIM / SLICE;
constexpr int TEAMS = KERNEL_WAVES / SLICES;

constexpr int QUAD = 4; /* channels of a load */
constexpr int QUADS = KERNEL_DIM / QUAD;
constexpr int STEP = A_PARTS * QUAD; /* channels that the loads of a wave have of a row */
constexpr int STEPS = SLICE / STEP;
constexpr int RUN = SLICE / SIDE < QUAD ? SLICE / SIDE : QUAD; /* channels of a lane in a result */
constexpr int GROUPS = SLICE / (SIDE * RUN);
constexpr int ROW_STEP = A_PARTS == 2 ? 2 : 1; /* rows from c_row() of a part to the next */
constexpr int PITCH = KERNEL_DIM + QUAD;       /* floats from row to row in LDS */

/* Whether LDS has room for both tensors; else they take turns, and nothing is loaded ahead. */
constexpr int TOGETHER = KERNEL_DIM <= 256;
constexpr int TILES = TOGETHER ? 2 : 1;
constexpr int CARRIERS = THREADS / TILES;       /* threads that carry one tensor */
constexpr int CARRIED_APART = CARRIERS / QUADS; /* rows from one of a thread's loads to the next */
constexpr int CARRIED = STREAM_ROWS * QUADS / CARRIERS;       /* loads of a thread */
constexpr int TURNED = SUMS_ELEMENTS ? 0 : 1 + OWNS_KEYS;     /* results */
constexpr int OWNED_IN_LDS = KERNEL_WAVE == 32 && SLICE > 32; /* else in registers */

static_assert(STREAM_ROWS == SIDE && OWNED_ROWS == TEAMS * SIDE, "16 rows a team");
static_assert(TEAMS * SLICES == KERNEL_WAVES && CARRIERS % QUADS == 0, "whole teams and rows");
static_assert(STREAM_ROWS % CARRIED_APART == 0 && KERNEL_WAVES % 2 == 0, "whole tiles");

typedef const GLOBAL f32x4 f32x4_anywhere __attribute__((aligned(4)));
typedef float run_of_channels __attribute__((ext_vector_type(RUN)));

static SHARED __attribute__((aligned(16))) float row_tile[TILES][STREAM_ROWS][PITCH];
static SHARED __attribute__((
    aligned(16))) float owned_tile[2][OWNED_IN_LDS ? OWNED_ROWS : 1][OWNED_IN_LDS ? PITCH : 4];
/* Parts of S and dP for the rest of the team. */
static SHARED f32x4 part_tile[TILES][SLICES > 1 ? KERNEL_WAVES : 1][ACC / 4][KERNEL_WAVE];

/* The team of this wave; the first of its channels. Uniform. */
DEVICE u32 team_id()
{
    return wave_id() / SLICES;
}

DEVICE u32 slice_first()
{
    return wave_id() % SLICES * SLICE;
}

/* What streams by, for one query head. Uniform. */
struct stream {
    struct rows mine; /* of the tensor that this wave carries; not used where they take turns */
    int tile, end;    /* the next tile to load; rows of the sequence */
#if OWNS_KEYS
    __amdgpu_buffer_rsrc_t vector; /* lse or delta, as the wave carries it */
    u32 vector_pitch, vector_from; /* bytes from row to row; of the next tile */
    float factor;
#endif
};

/* Which tensor the wave carries, or which vector. */
DEVICE u32 carrier()
{
    return wave_id() / (KERNEL_WAVES / 2);
}

DEVICE void set_rows(struct stream &x, const struct rows &x0, const struct rows &x1)
{
    x.mine = carrier() ? x1 : x0;
}

DEVICE void rewind(struct stream &x, int tile, int end)
{
    x.tile = tile;
    x.end = end;
#if OWNS_KEYS
    x.vector_from = (u32)tile * STREAM_ROWS * x.vector_pitch;
#endif
}

DEVICE void advance(struct stream &x)
{
    x.tile++;
#if OWNS_KEYS
    x.vector_from += x.vector_pitch * STREAM_ROWS;
#endif
}

/* Four channels of the row that begins at `row`; zeros for those that do not exist. */
DEVICE f32x4 load_quad(const GLOBAL char *row, const struct rows &x, int channel)
{
    const int most = x.dim - 1;
    const GLOBAL char *at = row + channel * x.channel;
    if (channel + QUAD <= x.dim && x.channel == 4)
        return *(f32x4_anywhere *)at;
    f32x4 quad = 0;
    if (channel <= most)
#pragma unroll
        for (int i = 0; i < QUAD; i++) {
            const int c = channel + i < most ? i : most - channel;
            const float one = *(const GLOBAL float *)(at + c * x.channel);
            quad[i] = channel + i <= most ? one : 0;
        }
    return quad;
}

struct cargo {
    f32x4 quad[CARRIED];
#if OWNS_KEYS
    float vector; /* lse or delta of one row */
#endif
};

/* Rows of the stream's tile of a tensor, on their way. */
DEVICE void load_cargo(struct cargo &to, const struct stream &x, const struct rows &rows)
{
    const u32 unit = stay_here(thread_id()) % CARRIERS;
    const int first = (int)(unit / QUADS), channel = (int)(unit % QUADS) * QUAD;
    const int left = x.end - x.tile * STREAM_ROWS;
    const GLOBAL char *at =
        (const GLOBAL char *)rows.base + x.tile * STREAM_ROWS * rows.pitch + first * rows.pitch;
    const kernarg_i64 apart = CARRIED_APART * rows.pitch;
#pragma unroll
    for (int i = 0; i < CARRIED; i++)
        to.quad[i] = 0;
    if (left >= STREAM_ROWS && rows.channel == 4 && rows.dim % QUAD == 0) {
        at += channel * 4;
        if (channel < rows.dim)
#pragma unroll
            for (int i = 0; i < CARRIED; i++, at += apart) {
                asm volatile("" : "+v"(at)); /* or multiples of the pitch would be held */
                to.quad[i] = *(f32x4_anywhere *)at;
            }
    } else {
#pragma unroll
        for (int i = 0; i < CARRIED; i++, at += apart)
            if (first + i * CARRIED_APART < left)
                to.quad[i] = load_quad(at, rows, channel);
    }
}

DEVICE void store_cargo(const struct cargo &from)
{
    const u32 unit = stay_here(thread_id()) % CARRIERS;
    float *at = &row_tile[TOGETHER ? carrier() : 0][unit / QUADS][unit % QUADS * QUAD];
#pragma unroll
    for (int i = 0; i < CARRIED; i++)
        *(f32x4 *)(at + i * CARRIED_APART * PITCH) = from.quad[i];
}

#if OWNS_KEYS
DEVICE void load_vector(struct cargo &to, const struct stream &x)
{
    u32 offset = thread_id() % STREAM_ROWS * x.vector_pitch + x.vector_from;
    to.vector = __builtin_bit_cast(
        float, __builtin_amdgcn_raw_buffer_load_b32(x.vector, (int)offset, 0, 0));
}

DEVICE void store_vector(const struct cargo &from, const struct stream &x)
{
    const u32 unit = thread_id() % (THREADS / 2);
    if (unit < STREAM_ROWS)
        row_vector[carrier()][vector_slot(unit)] = from.vector * x.factor;
}
#endif

/* The wave's columns of the owned tensors, its slice of them. */
struct owned {
    int first, end; /* the wave's first column; that behind the workgroup's last existing one */
    float x[2][OWNED_IN_LDS ? 1 : STEPS][B_PARTS][QUAD];
};

DEVICE struct rows owned_rows(const struct attn_bwd_args &args, const struct place &p, int t)
{
    if (OWNS_KEYS)
        return t == 0 ? k_rows(args, p) : v_rows(args, p);
    return t == 0 ? q_rows(args, p) : do_rows(args, p);
}

DEVICE void load_owned(struct owned &y, const struct place &p, int t)
{
    const struct rows x = owned_rows(args_here(), p, t);
    const int row = y.first + (int)lane_column(), first = (int)slice_first();
    const GLOBAL char *at = (const GLOBAL char *)x.base + row * x.pitch;
    struct rows mine = x;
    mine.dim = row < y.end ? x.dim : 0;
#if KERNEL_WAVE == 32
    if (OWNED_IN_LDS) {
        float *to = &owned_tile[t][team_id() * SIDE + lane_column()][first];
#pragma unroll 1
        for (int i = (int)lane_group() * QUAD; i < SLICE; i += 2 * QUAD)
            *(f32x4 *)(to + i) = load_quad(at, mine, first + i);
        return;
    }
#endif
#pragma unroll
    for (int step = 0; step < (OWNED_IN_LDS ? 1 : STEPS); step++)
#pragma unroll
        for (int part = 0; part < B_PARTS; part++) {
            const f32x4 quad = load_quad(at, mine, first + step * STEP + (int)b_part(part) * QUAD);
#pragma unroll
            for (int i = 0; i < QUAD; i++) {
                float one = quad[i];
                asm volatile("" : "+v"(one)); /* or four would be moved about as one */
                y.x[t][step][part][i] = one;
            }
        }
}

DEVICE void hold_owned(struct owned &y, const struct place &p)
{
    load_owned(y, p, 0);
    load_owned(y, p, 1);
}

/* Four channels of each of the lane's parts. */
struct owned_step {
    float x[B_PARTS][QUAD];
};

DEVICE struct owned_step owned_step(const struct owned &y, int t, int step)
{
    struct owned_step to;
#pragma unroll
    for (int part = 0; part < B_PARTS; part++) {
        f32x4 quad = 0;
        if (OWNED_IN_LDS)
            quad = *(const f32x4 *)&owned_tile[t][team_id() * SIDE + lane_column()]
                                              [slice_first() + step * STEP + part * QUAD];
#pragma unroll
        for (int i = 0; i < QUAD; i++)
            to.x[part][i] = OWNED_IN_LDS ? quad[i] : y.x[t][OWNED_IN_LDS ? 0 : step][part][i];
    }
    return to;
}

/* Or the compiler would load operands from LDS so far ahead that registers are short. */
DEVICE void load_no_further()
{
    __builtin_amdgcn_sched_barrier(0);
}

/* S or dP += X Y^T, this wave's part */
DEVICE void multiply_rows(block_acc &s, const struct owned &y, int t)
{
    const float *tile = &row_tile[TOGETHER ? t : 0][a_row()][slice_first() + a_part() * QUAD];
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        load_no_further();
        const f32x4 a = *(const f32x4 *)(tile + step * STEP);
        const struct owned_step b = owned_step(y, t, step);
#pragma unroll
        for (int j = 0; j < QUAD; j++) {
            struct b_operand one;
#pragma unroll
            for (int part = 0; part < B_PARTS; part++)
                one.part[part] = b.x[part][j];
            mma(s, a[j], one);
        }
    }
}

/* R^T += X^T W, where W is P~ or dS */
DEVICE void multiply_turned(block_acc (&r)[GROUPS * RUN], const struct b_column &w, int t)
{
    const float *tile = &row_tile[TOGETHER ? t : 0][0][slice_first() + a_row() * RUN];
    /* Of wave32, c_row() of the second half of the parts has its bit 3 turned. */
    const float *const from[2] = {tile + c_row(0) * PITCH, tile + c_row(B_OF_C / 2) * PITCH};
#pragma unroll
    for (int part = 0; part < B_OF_C; part++) {
        load_no_further();
        const struct b_operand b = spread_part(w, part);
#pragma unroll
        for (int group = 0; group < GROUPS; group++) {
            const run_of_channels a =
                *(const run_of_channels *)(from[part / (B_OF_C / 2)] +
                                           part % (B_OF_C / 2) * ROW_STEP * PITCH +
                                           group * SIDE * RUN);
#pragma unroll
            for (int i = 0; i < RUN; i++)
                mma(r[group * RUN + i], a[i], b);
        }
    }
}

/* The team's waves show each other their parts; after a barrier they add them up, in one order. */
DEVICE void show_part(const block_acc &s, int t)
{
#pragma unroll
    for (int i = 0; i < ACC; i += 4)
        part_tile[TOGETHER ? t : 0][SLICES > 1 ? wave_id() : 0][i / 4][lane_id()] =
            f32x4{s[i], s[i + 1], s[i + 2], s[i + 3]};
}

DEVICE block_acc add_parts(int t)
{
    block_acc all = 0;
#pragma unroll
    for (u32 slice = 0; slice < SLICES; slice++) {
#pragma unroll
        for (int i = 0; i < ACC; i++) {
            float sum = all[i];
            asm volatile("" : "+v"(sum)); /* or all parts would be loaded before they are added */
            all[i] = sum;
        }
#pragma unroll
        for (int i = 0; i < ACC; i += 4) {
            const f32x4 part = part_tile[TOGETHER ? t : 0][SLICES > 1 ? team_id() * SLICES + slice
                                                                      : 0][i / 4][lane_id()];
#pragma unroll
            for (int j = 0; j < 4; j++)
                all[i + j] += part[j];
        }
    }
    return all;
}

/* The wave's slice of the gradients. */
struct results {
    block_acc r[TURNED ? TURNED : 1][GROUPS * RUN];
};

DEVICE int slabs_of(const struct attn_problem &)
{
    return 1;
}

DEVICE struct rows stream_rows(const struct attn_bwd_args &args, const struct place &p, int t)
{
    if (OWNS_KEYS)
        return t == 0 ? q_rows(args, p) : do_rows(args, p);
    return t == 0 ? k_rows(args, p) : v_rows(args, p);
}

/* Brings tensor t of the stream's tile to LDS, where the tensors take turns. */
DEVICE void stage(const struct stream &x, const struct place &p, int t)
{
    struct cargo cargo;
    load_cargo(cargo, x, stream_rows(args_here(), p, t));
#if OWNS_KEYS
    load_vector(cargo, x);
#endif
    lds_barrier();
    store_cargo(cargo);
#if OWNS_KEYS
    store_vector(cargo, x);
#endif
    lds_barrier();
}

/*
 * S and dP of the wave's columns; what only some columns see counts as seen. All waves of the
 * workgroup come here, also those that see nothing of the tile.
 */
DEVICE void multiply_tile(block_acc &s, block_acc &dp, const struct owned &y,
                          const struct stream &x, const struct place &p, bool seen)
{
    s = dp = 0;
    if (TOGETHER) {
        if (seen) {
            multiply_rows(s, y, 0);
            multiply_rows(dp, y, 1);
        }
        if (SLICES > 1) {
            show_part(s, 0);
            show_part(dp, 1);
            lds_barrier();
            s = add_parts(0);
            dp = add_parts(1);
        }
        return;
    }
    stage(x, p, 0);
    multiply_rows(s, y, 0);
    show_part(s, 0);
    stage(x, p, 1);
    s = add_parts(0);
    multiply_rows(dp, y, 1);
    lds_barrier();
    show_part(dp, 0);
    lds_barrier();
    dp = add_parts(0);
}

/*
 * One pass over the stream, of one tile at least, for one head. The results take P~ and dS of
 * each tile.
 */
template <enum gradient of, enum lse_form form = LSE_USUAL>
DEVICE void walk_stream(struct results &to, struct owned &y, struct stream &x,
                        const struct context &context, const struct column &column,
                        struct walk walk, int)
{
    struct cargo cargo;
    if (TOGETHER) {
        load_cargo(cargo, x, x.mine);
#if OWNS_KEYS
        load_vector(cargo, x);
#endif
    }
    int tile = walk.begin;
#pragma unroll 1
    do {
        const int row = tile * STREAM_ROWS;
        const bool seen = row + STREAM_ROWS > column.any.first && row <= column.any.last;
        if (TOGETHER) {
            lds_barrier();
            store_cargo(cargo);
#if OWNS_KEYS
            store_vector(cargo, x);
#endif
            advance(x);
            load_cargo(cargo, x, x.mine);
#if OWNS_KEYS
            load_vector(cargo, x);
#endif
            lds_barrier();
        }
        block_acc s, dp;
        multiply_tile(s, dp, y, x, context.place, seen);
        if (seen)
            differentiate_block<of, form>(s, dp, context, column, row, 0);
#if OWNS_KEYS
        if (seen)
            multiply_turned(to.r[TURNED - 1], spread(s), 1);
#endif
        if (!TOGETHER) {
            stage(x, context.place, 0);
            advance(x);
        }
        if (seen)
            multiply_turned(to.r[0], spread(dp), 0);
#if KERNEL_WAVE == 64 && __clang_major__ < 22
        /* Clang 19 waits a state too few between the products of scores and the next turn, where
         * nothing is seen in between: a way that is never taken, as it cannot know. */
        asm volatile("s_nop 1");
#endif
    } while (++tile < walk.end);
}

/* Stores the wave's slice and columns of one result times `factor`. */
DEVICE void store_result(const block_acc (&r)[GROUPS * RUN], float factor, const struct rows &x,
                         struct rows_view view, int)
{
    u32 lane = lane_id();
    asm volatile("" : "+v"(lane)); /* or channels would be kept from load_owned() on */
    const int row = (int)(lane % SIDE), own = (int)(lane / SIDE * (ACC * RUN) + slice_first());
    if (row >= view.count)
        return;
    GLOBAL char *at = (GLOBAL char *)view.first + row * x.pitch;
#pragma unroll
    for (int group = 0; group < GROUPS; group++)
#pragma unroll
        for (int i = 0; i < ACC; i++) {
            const int channel = own + (group * SIDE + i) * RUN;
            run_of_channels run;
#pragma unroll
            for (int j = 0; j < RUN; j++)
                run[j] = r[group * RUN + j][i] * factor;
            typedef GLOBAL run_of_channels run_anywhere __attribute__((aligned(4)));
            if (channel + RUN <= x.dim) {
                *(run_anywhere *)(at + channel * 4) = run;
            } else {
#pragma unroll
                for (int j = 0; j < RUN; j++)
                    if (channel + j < x.dim)
                        *(GLOBAL float *)(at + (channel + j) * 4) = run[j];
            }
        }
}

#endif
