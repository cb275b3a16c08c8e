/*
 * The walk of stream_walk.h where one wave has no registers for all channels: a team of waves owns
 * BLOCK columns, and no walk is repeated. A wave of it has
 *
 *     SLICE channels of one owned tensor, as operands: it computes their part of S or of dP;
 *     OWN elements of each lane's column of a block: it adds up the parts of S and dP, which the
 *     team exchanges through LDS, and turns them into P~ and dS;
 *     some channels of the results, of the columns of JOINED teams: P~ and dS come from LDS as
 *     operands, and one of the stream serves all columns.
 *
 * Parts are added up in the order of the channels. Of PARTNERS one has S of all channels, the other
 * dP: each keeps its own elements in registers, and gives the other ones away. They load their
 * rows in an order that leaves the own ones first, and on RDNA 3 those of a lane in one quad.
 */
#ifndef AOTHIP_ATTN_BWD_TEAM_H
#define AOTHIP_ATTN_BWD_TEAM_H

constexpr int JOINED = 2;
constexpr int OWN = ACC / TEAM;
/* Of each column, in a wave. */
constexpr int RESULT_BLOCKS = TURNED * WALK_BLOCKS / (JOINED * TEAM);
/* Of a column of P~ or dS, with room that keeps columns apart in banks. */
constexpr int WEIGHT_BYTES = 40;
constexpr int TURNED_PLACES = LINE_CHUNKS >= 4 && RESULT_BLOCKS % 4 ? STREAM_BLOCKS : 1;

#define PARTNERS (KERNEL_DIM == 128)
#define OWNS_QUADS (PARTNERS && !MMA_STRAIGHT)

static_assert(OWN > 0 && TEAM * OWN == ACC, "each wave has elements");
static_assert(!PARTNERS || (TEAM == 2 && !KERNEL_SCORE), "partners have one tensor each");
static_assert(KERNEL_WAVES % (JOINED * TEAM) == 0, "whole teams");

static_assert(!CARRIES_BOTH || (RESULT_BLOCKS == 2 && TURNED_PLACES == 2), "places of chunks");
static_assert(RESULT_BLOCKS % 4 == 0 || RESULT_BLOCKS == 2, "what multiply_turned() knows");

typedef float own_elements __attribute__((ext_vector_type(OWN)));

#if !TILES_IN_TURN
static SHARED own_elements part_tile[STREAM_BLOCKS][KERNEL_WAVES][TEAM - PARTNERS][KERNEL_WAVE];
#endif
static SHARED __attribute__((
    aligned(8))) char weight_tile[TURNED][KERNEL_WAVES / TEAM][STREAM_BLOCKS][BLOCK * WEIGHT_BYTES];

constexpr int WEIGHT_TEAM_BYTES = STREAM_BLOCKS * BLOCK * WEIGHT_BYTES;

/* The wave's number in its team, and in those that are joined. Uniform. */
DEVICE u32 member()
{
    return wave_id() % TEAM;
}

DEVICE u32 joined_member()
{
    return wave_id() % (JOINED * TEAM);
}

/* What a walk computes of the gradients, or a wave of it: blocks of channels of each column. */
struct results {
    block_acc r[JOINED][RESULT_BLOCKS];
};

/* The tensor of the wave's results, and the first block of their channels. Uniform. */
DEVICE u32 result_tensor()
{
    return joined_member() * RESULT_BLOCKS / WALK_BLOCKS;
}

DEVICE u32 result_block()
{
    return joined_member() * RESULT_BLOCKS % WALK_BLOCKS;
}

/* The first column of the wave's results `joined`, where its team's is `first`. */
DEVICE int result_column(int first, int joined)
{
    return first + (joined - (int)(team_id() % JOINED)) * BLOCK;
}

#if TILES_IN_TURN
#define part_tile tiles.part
static_assert(STREAM_BLOCKS == 1, "room for a block");
constexpr int PART_BYTES = sizeof(tiles.part);
#else
constexpr int PART_BYTES = sizeof(part_tile[0]); /* of a block */
#endif

/* What the wave's part of S or dP starts from. */
DEVICE struct start start_of_slice(const struct column &column)
{
    struct start start = start_of(column);
#if HOLDS_START && !OWNS_KEYS
    if (slice_tensor() == 1 && slice_first() == 0)
        start.s = start.dp;
#endif
    return start;
}

/* Where the lane finds everything in LDS, so that the walk has nothing to compute. */
struct places {
    struct stores stores;
    char *row; /* of the wave's slice */
    char *part_to, *part_from;
    char *vector;
    char *weight_to[TURNED], *weight_from;
    char *turned[TURNED_PLACES];
    u32 first; /* of the lane's elements: the wave's. Uniform */
};

/* From the elements of a lane that a member of the team has to those of the next one. */
constexpr int PART_STEP = KERNEL_WAVE * OWN * 4, PART_WAVE_BYTES = (TEAM - PARTNERS) * PART_STEP;

DEVICE own_elements &part_at(char *place, int block, int wave, int member)
{
    return *(own_elements *)(place + block * PART_BYTES + wave * PART_WAVE_BYTES +
                             member * PART_STEP);
}

/*
 * Which row of a block the lane loads for the wave's part. C has it in element `i` of half `half`
 * where the lane is acc_row(i) there; partners have the other's elements behind their own.
 */
DEVICE u32 part_row()
{
    const u32 i = lane_column(), swap = MMA_STRAIGHT ? OWN : 2 * OWN;
    const u32 row = OWNS_QUADS ? i / 8 * 8 + i % 2 * 4 + i / 2 % 2 * 2 + i / 4 % 2 : i;
    return PARTNERS ? row ^ member() * swap : row;
}

/* The wave's part of S or dP, for the team. `kept` takes partners' own elements. */
DEVICE void store_parts(own_elements (&kept)[STREAM_BLOCKS], const struct owned &y,
                        const struct start &start, const struct places &places)
{
    block_acc part;
    multiply_pairs<STREAM_BLOCKS * SLICE_STEPS>(
        [&](int i) {
            const int step = i % SLICE_STEPS;
            return load_frag(places.row + i / SLICE_STEPS * BLOCK * ROW_BYTES, 2 * step,
                             2 * step + 1);
        },
        [&](int i, const block_frag &a) {
            const int block = i / SLICE_STEPS, step = i % SLICE_STEPS;
            if (step == 0)
                part = first_s(start);
            mma(part, a, y.frag[0][step]);
            if (step < SLICE_STEPS - 1)
                return;
#pragma unroll
            for (int member = 0; member < TEAM; member++) {
                own_elements own;
#pragma unroll
                for (int j = 0; j < OWN; j++)
                    own[j] = part[member * OWN + j];
                if (member >= PARTNERS)
                    part_at(places.part_to, block, 0, member - PARTNERS) = own;
                else
                    kept[block] = own;
            }
        });
}

/* The wave's elements of S or dP. */
DEVICE own_elements sum_of_parts(int block, int t, const struct places &places)
{
    own_elements sum = part_at(places.part_from, block, t * SLICES, 0);
#pragma unroll
    for (int i = 1; i < SLICES; i++)
        sum += part_at(places.part_from, block, t * SLICES + i, 0);
    return sum;
}

/*
 * Where the pair of a lane's elements that is number `pair` lies in an operand: a column in one
 * line, as a lane loads it, in the order in which pack_p() leaves pairs; but where both halves of
 * the lanes would then store to the same banks, the lanes' pairs in a line each.
 */
constexpr int PAIR_LINES = MMA_STRAIGHT && OWN < 4;

DEVICE u32 weight_at(u32 pair)
{
    if (PAIR_LINES)
        return (pair * KERNEL_WAVE + lane_id()) * 4;
    const u32 place = MMA_STRAIGHT ? pair + lane_half() * (ACC / 2)
                      : OWNS_QUADS ? pair / 2 * 4 + lane_half() * 2 + pair % 2
                                   : 2 * pair + lane_half();
    return lane_column() * WEIGHT_BYTES + place * 4;
}

/* Where a lane finds an operand. */
DEVICE u32 weight_line()
{
    if (PAIR_LINES)
        return weight_at(0);
    return lane_column() * WEIGHT_BYTES + (MMA_STRAIGHT ? lane_half() * CHUNK_BYTES : 0);
}

/* From one pair of a lane to the next one. */
constexpr int WEIGHT_STEP = PAIR_LINES ? KERNEL_WAVE * 4 : MMA_STRAIGHT || OWNS_QUADS ? 4 : 8;

/* The wave's elements of P~ or dS as parts of the operand of that column; pair(i, j) has two. */
template <class Pair>
DEVICE void store_weights(int block, int t, const struct places &places, Pair pair)
{
    char *const to = places.weight_to[t] + block * BLOCK * WEIGHT_BYTES;
    if constexpr (OWN == 1)
        *(u16 *)to = (u16)pair(0, 0);
    else if constexpr (WEIGHT_STEP == 4 && OWN % 4 == 0)
#pragma unroll
        for (int i = 0; i < OWN; i += 4) /* by themselves they would meet in banks */
            *(u32x2 *)(to + i * 2) = u32x2{pair(i, i + 1), pair(i + 2, i + 3)};
    else
#pragma unroll
        for (int i = 0; i < OWN; i += 2)
            *(u32 *)(to + i / 2 * WEIGHT_STEP) = pair(i, i + 1);
}

/* Those of P~, or of dS. */
DEVICE void store_weights(const own_elements &p, const own_elements &ds, int block, int t,
                          const struct places &places)
{
    store_weights(block, t, places, [&](int i, int j) {
#if FOLDS_PRODUCT
        return t == 0 ? round_products(f32x2{p[i], p[j]}, f32x2{ds[i], ds[j]})
                      : round_weights(p[i], p[j]);
#else
        return t == 0 ? end_round_pair(ds[i], ds[j]) : end_round_pair(p[i], p[j]);
#endif
    });
}

/* The operand of a column of P~ or dS. */
DEVICE block_frag load_weights(int block, int joined, const struct places &places)
{
    const char *const line =
        places.weight_from + block * BLOCK * WEIGHT_BYTES + joined * WEIGHT_TEAM_BYTES;
    block_frag to;
    if constexpr (PAIR_LINES) {
#pragma unroll
        for (u32 i = 0; i < FRAG_K / 2; i++)
            to[i] = *(const u32 *)(line + i * WEIGHT_STEP);
    } else {
#pragma unroll
        for (int i = 0; i < FRAG_K / 4; i++) {
            const u32x2 pairs = *(const u32x2 *)(line + i * 8);
            to[2 * i] = pairs.x;
            to[2 * i + 1] = pairs.y;
        }
    }
    return to;
}

/* R^T += X^T W of the wave's channels. */
DEVICE void multiply_turned(struct results &to, const block_frag (&w)[JOINED], int block,
                            const struct places &places)
{
    const auto line = [&](int i) {
#if CARRIES_BOTH
        const int at = i * LINE_BLOCK_BYTES + (block ^ i) * 2 * CHUNK_BYTES;
        return join_chunks(*(const u32x4 *)(places.turned[0] + at),
                           *(const u32x4 *)(places.turned[1] + at));
#else
        return turned_frag_of(places.turned[block % TURNED_PLACES], i, block);
#endif
    };
    multiply_pairs<RESULT_BLOCKS>(line, [&](int i, const block_frag &a) {
#pragma unroll
        for (int j = 0; j < JOINED; j++)
            mma(to.r[j][i], a, w[j]);
    });
}

/* S and dP of the wave's elements of a block to P~ and dS, after begin_round(). */
template <enum gradient of, enum lse_form form>
DEVICE void differentiate_own(own_elements &s, own_elements &dp, const struct context &context,
                              const struct column &column, int row, int block,
                              const struct places &places)
{
#if DELTA_FIRST && OWNS_KEYS
    dp += row_values<own_elements>(1, block, places.vector);
#endif
#if KERNEL_SCORE
    differentiate_block<of, form>(s, dp, context, column, row, block, places.first, places.vector);
#else
    (void)row;
    differentiate_part<of, form>(s, dp, context, column,
                                 lse_values<own_elements>(column, block, places.vector));
#endif
#if TERMS_NEAR
#if DBIAS_BESIDE
    if (has_term(context.terms, KERNARG_TERM_DBIAS_F32))
        store_wide_dbias(dp, context, column, row + rows_to(places.first));
#endif
    begin_block(s);
    begin_block(dp);
#endif
}

/* The row of a block that is the lane's element `i`. */
DEVICE u32 own_row(u32 i)
{
    if (OWNS_QUADS)
        return i / 4 * 8 + lane_half() * 4 + i % 2 * 2 + i / 2 % 2;
    return acc_row(i);
}

#if !KERNEL_SCORE
/* As mask_rows(), of one of the wave's elements; column.visible begins at the lane's first one. */
DEVICE void mask_own(float &s, const struct context &context, const struct column &column, int row,
                     u32 i)
{
    const u32 above = (u32)(row - column.visible.first) + (own_row(i) - own_row(0));
    s = above < column.count ? s : stay_here(context.masked);
}
#endif

DEVICE struct places find_places(const struct duty &duty)
{
    const u32 first = member() * OWN;
    struct places x;
    x.stores = find_stores(duty);
    x.first = first;
    x.row = held_place(row_tile[slice_tensor()] + part_row() * ROW_BYTES + slice_first() * 2);
    x.part_to = held_place((char *)part_tile + wave_id() * PART_WAVE_BYTES + lane_id() * OWN * 4);
    x.part_from =
        held_place((char *)part_tile + lane_id() * OWN * 4 +
                   (PARTNERS ? (wave_id() ^ 1) * PART_WAVE_BYTES
                             : (wave_id() - member()) * PART_WAVE_BYTES + member() * PART_STEP));
#if OWNS_KEYS
    x.vector = held_place((char *)&row_vector[0][vector_slot(own_row(first))]);
#endif
    const u32 own = weight_at(first / 2) + (OWN == 1 ? first % 2 * 2 : 0);
#pragma unroll
    for (int t = 0; t < TURNED; t++)
        x.weight_to[t] = held_place(weight_tile[t][team_id()][0] + own);
    x.weight_from =
        held_place(weight_tile[result_tensor()][team_id() / JOINED * JOINED][0] + weight_line());
    const char *const lines = turned_tile[result_tensor()] + result_block() * LINE_BLOCK_BYTES +
                              lane_column() * LINE_BYTES;
#if CARRIES_BOTH
    /* Lines of a block and of the second one from it have the two chunks of a product the other
     * way, those of neighbours the products: see turned_quad_at(). */
#pragma unroll
    for (u32 chunk = 0; chunk < 2; chunk++)
        x.turned[chunk] =
            held_place((char *)lines + (result_block() / 2 % 2 ^ chunk) * CHUNK_BYTES);
#else
    /* Lines of four chunks have those of a block and of the second one from it the other way. */
#pragma unroll
    for (int block = 0; block < TURNED_PLACES; block++)
        x.turned[block] =
            held_place((char *)lines +
                       (TURNED_PLACES > 1 ? ((int)(result_block() / 2 % 2) ^ block) - block : 0) *
                           2 * CHUNK_BYTES);
#endif
    return x;
}

#if PARTNERS
/* What comes with the rows of the wave's elements, of each block. */
struct partner_rows {
    own_elements lse[STREAM_BLOCKS], delta[STREAM_BLOCKS];
};

DEVICE void find_rows(struct partner_rows &to, const struct column &column, int block,
                      const struct places &places)
{
    to.lse[block] = lse_values<own_elements>(column, block, places.vector);
#if DELTA_FIRST && OWNS_KEYS
    to.delta[block] = row_values<own_elements>(1, block, places.vector);
#endif
}

/* S and dP of the wave's elements of a tile to parts of operands. `whole`: all columns see it. */
template <enum gradient of, enum lse_form form>
DEVICE void take_parts(const own_elements (&s)[STREAM_BLOCKS],
                       const own_elements (&dp)[STREAM_BLOCKS], const struct partner_rows &rows,
                       const struct context &context, const struct column &column, int row,
                       const struct seen_rows &seen, const struct places &places)
{
    constexpr int ALL = STREAM_BLOCKS * OWN;
    float x[ALL]; /* by themselves: a vector would have to stay together behind a branch */
    own_elements p[STREAM_BLOCKS], ds[STREAM_BLOCKS];
#pragma unroll
    for (int i = 0; i < ALL; i++) {
        x[i] = s[i / OWN][i % OWN];
    }
#if CARRIES_BOTH
    /* Looked at here, or it would be before the ways part, and kept for each. What masks stands
     * behind the loop. */
    if (__builtin_expect(!is_seen(seen, hold_scalar(row)), 0))
#else
    if (!is_seen(seen, row))
#endif
#pragma unroll
        for (int i = 0; i < ALL; i++)
            mask_own(x[i], context, column, row + i / OWN * BLOCK, i % OWN);
#pragma unroll
    for (int i = 0; i < ALL; i++)
        p[i / OWN][i % OWN] = x[i];
#pragma unroll
    for (int block = 0; block < STREAM_BLOCKS; block++) {
        ds[block] = dp[block];
#if DELTA_FIRST && OWNS_KEYS
        ds[block] += rows.delta[block];
#endif
        differentiate_part<of, form>(p[block], ds[block], context, column, rows.lse[block]);
    }
#pragma unroll
    for (int t = 0; t < TURNED; t++) /* neighbours may become one instruction */
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++)
            store_weights(p[block], ds[block], block, t, places);
}
#endif

/* One pass over the stream, of one tile at least, for one head. */
template <enum gradient of, enum lse_form form = LSE_USUAL>
DEVICE void walk_stream(struct results &to, struct owned &y, struct stream &x,
                        const struct context &context, const struct column &walked,
                        struct walk walk, int)
{
    struct cargo cargo;
    const u32 packed_duty = pack_duty(duty_of(thread_id() % CARRIERS));
    const struct places places = find_places(unpack_duty(packed_duty));
    const struct start start = start_of_slice(walked);
    struct column column = walked;
#if !KERNEL_SCORE
    const struct seen_rows seen = seen_by_all(walked, STREAM_ROWS);
    column.visible.first -= (int)own_row(places.first);
#endif
    load_cargo(cargo, unpack_duty(packed_duty), x, 0);
    int tile = walk.begin;
#pragma unroll 1
    do {
        const int row = tile * STREAM_ROWS;
        const struct duty duty = unpack_duty(packed_duty);
        lds_barrier();
#if TILES_IN_TURN
        store_rows(cargo, places.stores);
        store_vector<form>(cargo, duty, x, places.stores);
#else
        store_cargo<form>(cargo, duty, x, places.stores);
        advance(x);
        load_cargo(cargo, duty, x, 0);
#endif
        lds_barrier();
        own_elements s[STREAM_BLOCKS], dp[STREAM_BLOCKS];
        store_parts(s, y, start, places);
        lds_barrier();
#if PARTNERS
        struct partner_rows rows;
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++) {
            dp[block] = part_at(places.part_from, block, 0, 0);
            find_rows(rows, column, block, places);
        }
        /* Each way has all of it, or values would be moved to where the other one has them. */
        if (places.first == 0) {
            take_parts<of, form>(s, dp, rows, context, column, row, seen, places);
            asm volatile("; has S");
        } else {
            take_parts<of, form>(dp, s, rows, context, column, row, seen, places);
            asm volatile("; has dP");
        }
#else
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++) {
            s[block] = sum_of_parts(block, 0, places);
            dp[block] = sum_of_parts(block, 1, places);
        }
#if !KERNEL_SCORE
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++)
            stay_elements(s[block]);
        if (!is_seen(seen, row))
#pragma unroll
            for (int block = 0; block < STREAM_BLOCKS; block++)
#pragma unroll
                for (u32 i = 0; i < OWN; i++) {
                    float x = s[block][i];
                    mask_own(x, context, column, row + block * BLOCK, i);
                    s[block][i] = x;
                }
#endif
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++)
            differentiate_own<of, form>(s[block], dp[block], context, column, row + block * BLOCK,
                                        block, places);
#if TILES_IN_TURN
        lds_barrier();
        store_turned(cargo, places.stores);
        advance(x);
        load_cargo(cargo, duty, x, 0);
#endif
#pragma unroll
        for (int t = 0; t < TURNED; t++) /* neighbours may become one instruction */
#pragma unroll
            for (int block = 0; block < STREAM_BLOCKS; block++)
                store_weights(s[block], dp[block], block, t, places);
#endif
        lds_barrier();
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++) {
            block_frag w[JOINED];
#pragma unroll
            for (int j = 0; j < JOINED; j++) {
                w[j] = load_weights(block, j, places);
#if TERMS_NEAR && DBIAS_BESIDE
                if (has_term(context.terms, KERNARG_TERM_DBIAS) && joined_member() == (u32)j * TEAM)
                    store_dbias({{w[j]}}, context, column, row + block * BLOCK, pack_half());
#endif
            }
            multiply_turned(to, w, block, places);
        }
    } while (++tile < walk.end);
}

#endif
