/*
 * Both sides of the products of stream_walk.h. First how the tiles come to LDS: what of them each
 * thread loads a step ahead, and stores as rows and as columns. Then the wave's columns of the
 * owned tensors: where they are held throughout a walk, in registers or LDS, and how they become
 * operands.
 */
#ifndef AOTHIP_ATTN_BWD_WALK_OPERANDS_H
#define AOTHIP_ATTN_BWD_WALK_OPERANDS_H

#include "early_arguments.h"

DEVICE u32 carrier()
{
    return wave_id() / (KERNEL_WAVES / 2);
}

/* Each wave owns its own columns, or a team does. Uniform. */
DEVICE u32 team_id()
{
    return wave_id() / TEAM;
}

/* Where teams do: which owned tensor the wave has a slice of, and its first channel. Uniform. */
DEVICE u32 slice_tensor()
{
    return wave_id() % TEAM / SLICES;
}

DEVICE u32 slice_first()
{
    return wave_id() % SLICES * SLICE;
}

#if CARRIES_BOTH
#include "walk_quads.h"
#else
/* What streams by, for one query head. Uniform. */
struct stream {
    struct rows mine;      /* of the tensor that this wave carries, from the walk's first tile on */
    struct rows_view view; /* of it, from the next tile to load on */
#if HOLDS_STORES || HOLDS_PLACES
    int tile, tiles;       /* that one; of whole tiles there are some, and one that has less, */
    u32 bytes, rest;       /* with as many bytes each */
#endif
#if GRADIENTS_APART
    u32 turned;            /* the tensor that is wanted in both orders */
#endif
#if OWNS_KEYS
#if LSE_IN_LANES
    __amdgpu_buffer_rsrc_t lse;    /* which each wave has; the wave carries */
    float lse_factor;              /* delta with X1, and nothing with X0 */
#endif
    __amdgpu_buffer_rsrc_t vector; /* the wave carries lse with X0, delta with X1 */
    u32 vector_pitch, vector_from; /* bytes from row to row; of the next tile */
    float factor;                  /* for it: lse becomes as it is subtracted, delta maybe -delta */
#if LIFTS
    float offset;                  /* of lse */
    u32 lift;                      /* of dO, 1 for Q */
#endif
#endif
};

#if HOLDS_STORES || HOLDS_PLACES
/* What a tile of `rows` rows has. */
DEVICE u32 span_of(const struct rows &x, int rows)
{
    return rows > 0 ? (u32)(rows - 1) * (u32)x.pitch + (u32)x.dim * 2 : 0;
}
#endif

/* Goes to tile `tile`, the walk's first one; to the next one. */
DEVICE void rewind(struct stream &x, int tile, int end)
{
    x.view = {x.mine.base, end - tile * STREAM_ROWS};
#if HOLDS_STORES || HOLDS_PLACES
    x.tile = tile;
    x.tiles = end / STREAM_ROWS;
    x.bytes = span_of(x.mine, STREAM_ROWS);
    x.rest = span_of(x.mine, end % STREAM_ROWS);
    if (HOLDS_PLACES)
        x.rest = hold_scalar(x.rest);
#endif
#if OWNS_KEYS
    x.vector_from = stay_apart((u32)tile * STREAM_ROWS * x.vector_pitch);
#endif
}

DEVICE void advance(struct stream &x)
{
    x.view.first += x.mine.pitch * STREAM_ROWS;
    x.view.count -= STREAM_ROWS;
#if HOLDS_STORES || HOLDS_PLACES
    x.tile++;
#endif
#if OWNS_KEYS
    x.vector_from += x.vector_pitch * STREAM_ROWS;
#endif
}

/*
 * What a thread carries: a chunk of UNIT_ROWS rows of the tile, in runs of up to four rows, eight
 * rows apart. Eight neighbours carry a row's first eight chunks, or its last.
 */
struct duty {
    u32 row, chunk, unit;
};

constexpr int RUN_ROWS = UNIT_ROWS < 4 ? UNIT_ROWS : 4, RUNS = UNIT_ROWS / RUN_ROWS, RUN_APART = 8;

/*
 * The next bits of the unit make the next eight threads store to what is left of the columns: to
 * the other half of a quad, if a thread has but one, and to the other half of a 16-byte column.
 */
DEVICE struct duty duty_of(u32 unit)
{
    const u32 places = STREAM_ROWS / UNIT_ROWS; /* of a chunk */
    const u32 quads = STREAM_ROWS / 8;          /* half of those of a tile */
    u32 place = unit / 8 % places, chunk = unit % 8 + unit / (8 * places) * 8, row = 0;
    if (UNIT_ROWS == 2) {
        row = place % 2 * 2;
        place /= 2;
    }
    if (RUNS > 1)
        row = place / 2 * 16 + place % 2 * 4;
    else if (KERNEL_WAVE == 32)
        row = place * 4;
    else
        row += place % quads * 8 + place / quads * 4;
    return {row, chunk, unit};
}

/* The thread's duty in one register, for which there is not always room. */
#define PACKS_DUTY (!OWNED_AGAIN || MIXES_PRODUCTS)

DEVICE u32 pack_duty(const struct duty &x)
{
    if (!PACKS_DUTY)
        return 0;
    return x.row | x.chunk << 8 | x.unit << 16;
}

DEVICE struct duty unpack_duty(u32 x)
{
    if (!PACKS_DUTY)
        return duty_of(stay_here(thread_id()) % CARRIERS);
    x = stay_here(x);
    return {x % 256, x >> 8 & 255, x >> 16};
}

struct cargo {
    u32x4 chunk[RUNS][RUN_ROWS];
#if OWNS_KEYS
    float vector; /* lse or delta of one row */
#endif
#if LSE_IN_LANES
    float lse;    /* of row lane_row() */
#endif
};

DEVICE void set_rows(struct stream &x, const struct rows &x0, const struct rows &x1)
{
    x.mine = carrier() == 0 ? x0 : x1;
}

#if OWNS_KEYS
/* Element `row` of the tile's of lse or delta. */
DEVICE float load_element(__amdgpu_buffer_rsrc_t vector, const struct stream &x, u32 row)
{
#if LSE_IN_LANES
    return __builtin_bit_cast(
        float, __builtin_amdgcn_raw_buffer_load_b32(vector, (int)(row * x.vector_pitch),
                                                    (int)x.vector_from, 0));
#else
    const u32 offset = row * x.vector_pitch + x.vector_from;
    return __builtin_bit_cast(float,
                              __builtin_amdgcn_raw_buffer_load_b32(vector, (int)offset, 0, 0));
#endif
}

/* What comes with row `row` of it. */
DEVICE float load_vector(const struct stream &x, u32 row)
{
    return load_element(x.vector, x, row);
}
#endif

#if !HOLDS_STORES
/* Slab `slab` of the stream's tile, on its way. See walk_places.h, too. */
DEVICE void load_cargo(struct cargo &to, const struct duty &duty, const struct stream &x, int slab)
{
#pragma unroll
    for (int run = 0; run < RUNS; run++)
        load_chunks<RUN_ROWS>(to.chunk[run], x.view, x.mine, duty.row + run * RUN_APART,
                              (u32)slab * SLAB + duty.chunk * CHUNK);
#if OWNS_KEYS
    to.vector = load_vector(x, duty.unit % STREAM_ROWS);
#endif
}
#endif

#if MIXES_PRODUCTS
/* The same, row n of it; what comes with the rows, behind the last one. */
DEVICE void load_part(struct cargo &to, const struct duty &duty, const struct stream &x, int n)
{
    if (n < RUNS * RUN_ROWS)
        to.chunk[n / RUN_ROWS][n % RUN_ROWS] = load_chunk_below(
            x.view, x.mine, duty.row + n / RUN_ROWS * RUN_APART, duty.chunk * CHUNK, n % RUN_ROWS);
#if OWNS_KEYS
    if (n == RUNS * RUN_ROWS)
        to.vector = load_vector(x, duty.unit % STREAM_ROWS);
#endif
}
#endif

/* Channel i of the chunk of a run of rows, the first of which is row `row` of the tile; `to` is the
 * place of the first channel. */
DEVICE void turn_channel(char *to, const u32x4 (&x)[RUN_ROWS], u32 row, int i)
{
    /* A quad is (0, pair), (next, last); a run of two rows is half of one. */
    const int pair = VT_PAIR_STEP, last = RUN_ROWS == 2 ? 1 : 3,
              next = RUN_ROWS == 2 ? 0 : 3 - pair;
    const u32 select = i % 2 ? UPPER_HALVES : LOWER_HALVES;
    const u32 low = __builtin_amdgcn_perm(x[pair][i / 2], x[0][i / 2], select);
    if (RUN_ROWS == 2)
        *(u32 *)(to + turned_step(i) + row % 4 * 2) = low;
    else
        *(u32x2 *)(to + turned_step(i)) =
            u32x2{low, __builtin_amdgcn_perm(x[last][i / 2], x[next][i / 2], select)};
}

/* Chunk n of those that a thread carries of a tile, as row. */
DEVICE void store_row(const struct cargo &from, const struct duty &duty, int n)
{
    const u32 run = (u32)n / RUN_ROWS, i = (u32)n % RUN_ROWS;
    const u32 at = row_chunk_at(duty.row, duty.chunk);
    *(u32x4 *)(row_tile[carrier()] +
               (COMPUTED_ANEW ? row_chunk_below(at, run * RUN_APART + i)
                              : row_chunk_at(duty.row + run * RUN_APART + i, duty.chunk))) =
        from.chunk[run][i];
}

/* Channel n of a run after the other, where the carrier's tensor has columns. */
DEVICE void store_column(const struct cargo &from, const struct duty &duty, int slab, int n)
{
    const u32 row = duty.row + n / CHUNK * RUN_APART;
    const u32 chunk = duty.chunk + (u32)slab * SLAB_CHUNKS;
    turn_channel(turned_tile[TURNED == 2 ? carrier() : 0] + turned_quad_at(chunk * CHUNK, row / 4),
                 from.chunk[n / CHUNK], row, n % CHUNK);
}

#if MIXES_PRODUCTS
/* Where store_column() begins with the first run, for turn_channel() of row 0. */
DEVICE u32 column_place(const struct duty &duty)
{
    const u32 tile = TURNED == 2 ? carrier() * (u32)sizeof(turned_tile[0]) : 0;
    return tile + turned_quad_at(duty.chunk * CHUNK, duty.row / 4) +
           (RUN_ROWS == 2 ? duty.row % 4 * 2 : 0);
}
#endif

/* All of it, as rows. */
DEVICE void store_rows(const struct cargo &from, const struct duty &duty)
{
#pragma unroll
    for (int n = 0; n < RUNS * RUN_ROWS; n++)
        store_row(from, duty, n);
}

/* Whether the wave carries a tensor that is wanted in both orders. */
DEVICE bool turns(const struct stream &x)
{
#if GRADIENTS_APART
    return carrier() == x.turned;
#else
    (void)x;
    return TURNED == 2 || carrier() < TURNED;
#endif
}

/* Whether it is wanted as rows: dV takes no dP, and so no rows of dO. */
DEVICE bool wants_rows(const struct stream &x)
{
#if GRADIENTS_APART
    return carrier() == 0 || x.turned == 0;
#else
    (void)x;
    return true;
#endif
}

/* The same as columns. */
DEVICE void store_turned(const struct cargo &from, const struct duty &duty, const struct stream &x,
                         int slab)
{
    if (turns(x)) {
#pragma unroll
        for (int n = 0; n < RUNS * CHUNK; n++)
            store_column(from, duty, slab, n);
    }
}

/* What comes before they are stored. */
DEVICE void lift_cargo(struct cargo &from, const struct stream &x)
{
#if LIFTS && OWNS_KEYS
#pragma unroll
    for (int run = 0; run < RUNS; run++)
#pragma unroll
        for (int i = 0; i < RUN_ROWS; i++)
            from.chunk[run][i] = lift_chunk(from.chunk[run][i], x.lift);
#else
    (void)from;
    (void)x;
#endif
}

#if OWNS_KEYS && MIXES_PRODUCTS
static SHARED float vector_apart[THREADS]; /* of no use */
#endif

/* What comes with the chunks. */
template <enum lse_form form>
DEVICE void store_vector(const struct cargo &from, const struct duty &duty, const struct stream &x)
{
#if OWNS_KEYS
    const u32 which = carrier();
    float vector = from.vector;
    if (form == LSE_NATURAL && which == 1)
        vector = kept_delta(vector);
#if LIFTS
    vector = __builtin_fmaf(vector, x.factor, x.offset);
#else
    vector *= x.factor;
#endif
#if MIXES_PRODUCTS
    /* As in describe(), no branch. */
    float *const to = duty.unit < STREAM_ROWS ? row_vector[which] : &vector_apart[which * CARRIERS];
    to[duty.unit] = vector; /* slots are rows */
#else
    if (duty.unit < STREAM_ROWS)
        row_vector[which][vector_slot(duty.unit)] = vector;
#endif
#else
    (void)from;
    (void)duty;
    (void)x;
#endif
}

template <enum lse_form form>
DEVICE void store_cargo(struct cargo &from, const struct duty &duty, const struct stream &x,
                        int slab)
{
    lift_cargo(from, x);
    if (wants_rows(x))
        store_rows(from, duty);
    store_turned(from, duty, x, slab);
    store_vector<form>(from, duty, x);
}

#endif

/*
 * Of V that comes again, LDS has room for some: the lane's chunks of KEPT_STEPS of owned_frag(),
 * every other one, or more registers would be needed at a time for what comes from memory. On
 * gfx950 there is room for all.
 */
#if defined(__gfx950__) && KERNEL_DIM == 128
constexpr int KEPT_STEPS = OWNED_AGAIN ? SLAB_STEPS : 0, KEPT_APART = 1;
#else
constexpr int KEPT_STEPS = OWNED_AGAIN && KERNEL_DIM == 128 ? 3 : 0, KEPT_APART = 2;
#endif

DEVICE constexpr bool is_kept(int step)
{
    return step % KEPT_APART == KEPT_APART - 1 && step / KEPT_APART < KEPT_STEPS;
}

static SHARED u32x4 kept_chunk[KEPT_STEPS ? KEPT_STEPS : 1][KEPT_STEPS ? THREADS : 1];

constexpr int OWNED_SLABS = OWNED_PER_TILE ? 1 : WALK_SLABS; /* in registers */
constexpr int OWNED_STEPS = OWNED_PER_TILE || TEAM != 1 ? OWNED_SLABS * SLICE_STEPS : WALK_STEPS;

#if WALKS_WHOLE
/* Where the wave's columns of an owned tensor lie: what is uniform is in vector registers. */
struct owned_view {
    u32 low, high, bytes; /* of the buffer. Uniform */
    u32 at;               /* where the lane's first chunk lies */
    int room;             /* channels from there to the row's last */
};
#endif

/* The wave's columns of the owned tensors. */
struct owned {
    int first, end; /* the wave's first column; that behind the workgroup's last existing one */
    /* Of teams the wave's slice. */
    block_frag frag[TEAM > 1 ? 1 : 2][OWNED_IN_LDS ? 1 : OWNED_STEPS];
#if WALKS_WHOLE
    struct owned_view view[2];
#endif
#if LIFTS && !OWNS_KEYS
    struct lift lift; /* of the lane's row */
#endif
#if SUMS_DQ
    block_frag turned[OWNED_ROWS * WALK_BLOCKS / KERNEL_WAVES / 16]; /* of K: fused_walk.h */
#endif
#if OWNED_AGAIN
    __amdgpu_buffer_rsrc_t buffer; /* of V */
    u32 pitch, again; /* of V; where the lane's first chunk of it lies, in the buffer or in LDS */
    int dim, room;    /* of V; channels from there to the row's last */
#endif
};

/* From row `first` of the sequence on. */
DEVICE struct rows owned_rows(const struct attn_bwd_args &args, struct place p, int t, int first)
{
    if (OWNS_KEYS) {
        if (TERMS_APART)
            p.sequence.start_k = awaited(p.sequence.start_k);
        p.sequence.start_k += first;
        return t == 0 ? k_rows(args, p) : v_rows(args, p);
    }
    p.sequence.start_q += first;
    return t == 0 ? q_rows(args, p) : do_rows(args, p);
}

#if LIFTS && !OWNS_KEYS
/* Lifts dO of the lane's row. */
DEVICE void lift_owned(struct owned &y)
{
    const u32 pair = lift_pair_of(y.lift.d_o);
#pragma unroll
    for (int step = 0; step < OWNED_STEPS; step++)
        y.frag[1][step] = lift_chunk(y.frag[1][step], pair);
}
#endif

/* Channels `channel` .. + 15 of the lane's row in memory as an operand. */
DEVICE block_frag load_frag(const struct rows_view &view, const struct rows &x, u32 lane,
                            u32 channel)
{
#if MMA_STRAIGHT
    return load_chunk(view, x, lane % BLOCK, channel + CHUNK * (lane / BLOCK));
#else
    return join_chunks(load_chunk(view, x, lane % BLOCK, channel),
                       load_chunk(view, x, lane % BLOCK, channel + CHUNK));
#endif
}

#if !SHARES_CHANNELS && !WALKS_WHOLE
/* Slab `slab` of the wave's columns of owned tensor t. */
DEVICE void load_owned(const struct attn_bwd_args &args, struct owned &y, const struct place &p,
                       int t, int slab)
{
    const int first = awaited_long(y.first);
    const struct rows x = owned_rows(args, p, t, first);
    const struct rows_view view = {x.base, awaited_long(y.end) - first};
#if OWNED_AGAIN
    if (t == 1) {
        y.buffer = describe(view, x);
        y.pitch = stay_apart((u32)x.pitch);
        y.dim = stay_apart(x.dim);
        const u32 lane = lane_id();
#pragma unroll
        for (int i = 0; i < KEPT_STEPS; i++)
            kept_chunk[i][thread_id()] = load_chunk(
                view, x, lane % BLOCK, 16 * ((i + 1) * KEPT_APART - 1) + CHUNK * (lane / BLOCK));
        return;
    }
#endif
#if OWNED_IN_LDS
#pragma unroll 1
    for (u32 at = lane_id(); at < BLOCK * SLAB_CHUNKS; at += KERNEL_WAVE) {
        u32 row = at / SLAB_CHUNKS, chunk = at % SLAB_CHUNKS;
        *(u32x4 *)(owned_tile[t] + row_chunk_at(wave_id() * BLOCK + row, chunk)) =
            load_chunk(view, x, row, (u32)slab * SLAB + chunk * CHUNK);
    }
#else
    const u32 lane = stay_here(lane_id());
#pragma unroll
    for (int step = 0; step < SLAB_STEPS; step++)
        if (slab % OWNED_SLABS * SLAB_STEPS + step < OWNED_STEPS)
            y.frag[t][slab % OWNED_SLABS * SLAB_STEPS + step] =
                load_frag(view, x, lane, (u32)slab * SLAB + 16 * step);
#if LIFTS && !OWNS_KEYS
    if (OWNED_PER_TILE && t == 1)
        lift_owned(y);
#endif
#endif
}

#endif

/* All slabs of both owned tensors, where they are held throughout the walk. */
DEVICE void hold_owned(struct owned &y, const struct place &p)
{
#if SHARES_CHANNELS || IN_PAIRS
    const struct attn_bwd_args &args = args_here();
    fetch_owned(args);
    const struct rows x = owned_rows(args, p, (int)slice_tensor(), y.first);
    const struct rows_view view = {x.base, y.end - y.first};
#pragma unroll
    for (int step = 0; step < OWNED_SLABS * SLICE_STEPS; step++)
        y.frag[0][step] = load_frag(view, x, lane_id(), slice_first() + 16 * step);
#elif WALKS_WHOLE
    (void)y;
    (void)p;
#else
#pragma unroll
    for (int slab = 0; slab < WALK_SLABS; slab++)
        if ((TAKES_PAIRS || ARGUMENTS_EARLY) && WALK_SLABS == 1) { /* at once, as fetch_first() */
            const struct attn_bwd_args &args = args_here();
            fetch_owned(args);
            load_owned(args, y, p, 0, slab);
            load_owned(args, y, p, 1, slab);
        } else {
            load_owned(args_here(), y, p, 0, slab);
            load_owned(args_here(), y, p, 1, slab);
        }
#endif
}

DEVICE block_frag owned_frag(const struct owned &y, int t, int slab, int step)
{
    if (OWNED_IN_LDS)
        return row_frag(owned_tile[t], (int)wave_id(), step);
#if OWNED_AGAIN
    if (t == 1) {
        step += slab * SLAB_STEPS;
        if (KEPT_STEPS == SLAB_STEPS)
            return *(const block_frag *)((const char *)kept_chunk[step] + y.again);
        if (is_kept(step))
            return kept_chunk[step / KEPT_APART][stay_here(thread_id())];
        const u32 beyond = (u32)(y.room - 16 * step) & NOWHERE; /* if that is negative */
        return load_chunk_at(y.buffer, y.again | beyond, 32 * step);
    }
#endif
#if WALKS_WHOLE && LIFTS && !OWNS_KEYS
    if (t == 1)
        return lift_chunk(y.frag[t][step], lift_pair_of(y.lift.d_o));
#endif
    return y.frag[t][slab % OWNED_SLABS * SLAB_STEPS + step];
}

/* Where V comes from again; anew in each step, or V would be loaded once, and spilled. */
DEVICE void find_again(struct owned &y)
{
#if OWNED_AGAIN
    const u32 lane = stay_here(thread_id()) % KERNEL_WAVE;
    y.again = lane % BLOCK * y.pitch + CHUNK_BYTES * (lane / BLOCK);
    y.room = y.dim - 1 - CHUNK * (int)(lane / BLOCK);
    if (KEPT_STEPS == SLAB_STEPS)
        y.again = stay_here(thread_id()) * CHUNK_BYTES;
#else
    (void)y;
#endif
}

#endif
