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
 * Parts are added up in the order of the channels.
 */
#ifndef AOTHIP_ATTN_BWD_TEAM_H
#define AOTHIP_ATTN_BWD_TEAM_H

enum {
    JOINED = 2,
    OWN = ACC / TEAM,
    RESULT_BLOCKS = TURNED * WALK_BLOCKS / (JOINED * TEAM), /* of each column, in a wave */
    WEIGHT_BYTES = 40, /* of a column of P~ or dS, with room that keeps columns apart in banks */
    AHEAD = 2          /* products that an operand is loaded before its own */
};

static_assert(OWN > 0 && TEAM * OWN == ACC, "each wave has elements");
static_assert(KERNEL_WAVES % (JOINED * TEAM) == 0, "whole teams");

static_assert(RESULT_BLOCKS % 4 == 0 || RESULT_BLOCKS == 2, "what multiply_turned() knows");

typedef float own_elements __attribute__((ext_vector_type(OWN)));

#if !TILES_IN_TURN
static SHARED own_elements part_tile[STREAM_BLOCKS][KERNEL_WAVES][TEAM][KERNEL_WAVE];
#endif
static SHARED __attribute__((
    aligned(8))) char weight_tile[STREAM_BLOCKS][TURNED][KERNEL_WAVES / TEAM][BLOCK * WEIGHT_BYTES];

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

/* The elements of a lane that member `to` has, as wave `from` has computed its part of them. */
DEVICE own_elements &part_at(int block, u32 from, u32 to)
{
#if TILES_IN_TURN
    static_assert(STREAM_BLOCKS == 1, "room for a block");
    (void)block;
    return *(own_elements *)&tiles.part[from][(to * KERNEL_WAVE + lane_id()) * OWN];
#else
    return part_tile[block][from][to][lane_id()];
#endif
}

/* The wave's part of a block of S or dP, for the team. */
DEVICE void store_part_of_block(const struct owned &y, int block)
{
    const char *tile = row_tile[slice_tensor()] + slice_first() * 2;
    block_acc part = zero_acc();
    block_frag a[AHEAD + 1];
#pragma unroll
    for (int step = 0; step < AHEAD; step++)
        a[step] = row_frag(tile, block, step);
#pragma unroll
    for (int step = 0; step < SLICE_STEPS; step++) {
        if (step + AHEAD < SLICE_STEPS)
            a[(step + AHEAD) % (AHEAD + 1)] = row_frag(tile, block, step + AHEAD);
        no_further();
        mma(part, a[step % (AHEAD + 1)], y.frag[0][step]);
    }
    no_further();
#pragma unroll
    for (int i = 0; i < TEAM; i++) {
        own_elements own;
#pragma unroll
        for (int j = 0; j < OWN; j++)
            own[j] = part[i * OWN + j];
        part_at(block, wave_id(), (u32)i) = own;
    }
}

/* The wave's elements of S or dP. */
DEVICE own_elements sum_of_parts(int block, int t)
{
    const u32 team = wave_id() - member();
    own_elements sum = part_at(block, team + t * SLICES, member());
#pragma unroll
    for (int i = 1; i < SLICES; i++)
        sum += part_at(block, team + t * SLICES + i, member());
    return sum;
}

/*
 * Where the pair of a lane's elements that is number `pair` lies in an operand: a column in one
 * line, as a lane loads it, in the order in which pack_p() leaves pairs; but where both halves of
 * the lanes would then store to the same banks, the lanes' pairs in a line each.
 */
enum { PAIR_LINES = MMA_STRAIGHT && OWN < 4 };

DEVICE u32 weight_at(u32 pair)
{
    if (PAIR_LINES)
        return (pair * KERNEL_WAVE + lane_id()) * 4;
    const u32 place = MMA_STRAIGHT ? pair + lane_half() * (ACC / 2) : 2 * pair + lane_half();
    return lane_column() * WEIGHT_BYTES + place * 4;
}

/* The wave's elements of P~ or dS, after begin_round(), as parts of the operand of that column. */
DEVICE void store_weights(const own_elements &x, int block, int t)
{
    const u32 first = member() * OWN;
    char *const tile = weight_tile[block][t][team_id()];
    if constexpr (OWN == 1)
        *(u16 *)(tile + weight_at(first / 2) + first % 2 * 2) = (u16)end_round_pair(x[0], x[0]);
    else
#pragma unroll
        for (int i = 0; i < OWN; i += 2)
            *(u32 *)(tile + weight_at(first / 2 + i / 2)) = end_round_pair(x[i], x[i + 1]);
}

/* The operand of a column of P~ or dS. */
DEVICE block_frag load_weights(int block, u32 t, u32 team)
{
    const char *const tile = weight_tile[block][t][team];
    block_frag to;
    if constexpr (PAIR_LINES) {
#pragma unroll
        for (u32 i = 0; i < FRAG_K / 2; i++)
            to[i] = *(const u32 *)(tile + weight_at(i));
    } else {
        const char *line = tile + lane_column() * WEIGHT_BYTES;
        if (MMA_STRAIGHT)
            line += lane_half() * CHUNK_BYTES;
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
DEVICE void multiply_turned(struct results &to, const block_frag (&w)[JOINED], int block)
{
    const char *tile = turned_tile[result_tensor()] + result_block() * LINE_BLOCK_BYTES;
    /* Lines of four chunks have those of a block and of the second one from it the other way. */
    if (LINE_CHUNKS >= 4 && RESULT_BLOCKS % 4)
        tile += ((int)(result_block() / 2 % 2) ^ block) * 2 * CHUNK_BYTES - block * 2 * CHUNK_BYTES;
    block_frag a[AHEAD + 1];
#pragma unroll
    for (int i = 0; i < AHEAD && i < RESULT_BLOCKS; i++)
        a[i] = turned_frag(tile, i, block);
#pragma unroll
    for (int i = 0; i < RESULT_BLOCKS; i++) {
        if (i + AHEAD < RESULT_BLOCKS)
            a[(i + AHEAD) % (AHEAD + 1)] = turned_frag(tile, i + AHEAD, block);
        no_further();
#pragma unroll
        for (int j = 0; j < JOINED; j++)
            mma(to.r[j][i], a[i % (AHEAD + 1)], w[j]);
    }
    no_further();
}

/* S and dP of the wave's elements of a block to P~ and dS, after begin_round(). */
template <enum gradient of, enum lse_form form>
DEVICE void differentiate_own(own_elements &s, own_elements &dp, const struct context &context,
                              const struct column &column, int tile_row, int block)
{
    const u32 first = member() * OWN;
    const int row = tile_row + block * BLOCK;
#if DELTA_FIRST
    dp += row_values<own_elements>(1, block, first);
#endif
    differentiate_block<of, form>(s, dp, context, column, row, block, first);
#if TERMS_NEAR
#if DBIAS_BESIDE
    if (has_term(context.terms, TERM_DBIAS_WIDE))
        store_wide_dbias(dp, context, column, row + rows_to(first));
#endif
    begin_block(s);
    begin_block(dp);
#endif
}

/* One pass over the stream, of one tile at least, for one head. */
template <enum gradient of, enum lse_form form = LSE_USUAL>
DEVICE void walk_stream(struct results &to, struct owned &y, struct stream &x,
                        const struct context &context, const struct column &column,
                        struct walk walk, int)
{
    struct cargo cargo;
    const u32 packed_duty = pack_duty(duty_of(thread_id() % CARRIERS));
    const u32 joined = team_id() / JOINED * JOINED;
    load_cargo(cargo, unpack_duty(packed_duty), x, 0);
    int tile = walk.begin;
#pragma unroll 1
    do {
        const int row = tile * STREAM_ROWS;
        const struct duty duty = unpack_duty(packed_duty);
        lds_barrier();
#if TILES_IN_TURN
        store_rows(cargo, duty);
        store_vector<form>(cargo, duty, x);
#else
        store_cargo<form>(cargo, duty, x, 0);
        advance(x);
        load_cargo(cargo, duty, x, 0);
#endif
        lds_barrier();
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++)
            store_part_of_block(y, block);
        lds_barrier();
        own_elements s[STREAM_BLOCKS], dp[STREAM_BLOCKS];
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++) {
            s[block] = sum_of_parts(block, 0);
            dp[block] = sum_of_parts(block, 1);
        }
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++)
            differentiate_own<of, form>(s[block], dp[block], context, column, row, block);
#if TILES_IN_TURN
        lds_barrier();
        store_turned(cargo, duty, x, 0);
        advance(x);
        load_cargo(cargo, duty, x, 0);
#endif
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++) {
            store_weights(dp[block], block, 0);
            if (TURNED > 1)
                store_weights(s[block], block, TURNED - 1);
        }
        lds_barrier();
#pragma unroll
        for (int block = 0; block < STREAM_BLOCKS; block++) {
            block_frag w[JOINED];
#pragma unroll
            for (int j = 0; j < JOINED; j++) {
                w[j] = load_weights(block, result_tensor(), joined + j);
#if TERMS_NEAR && DBIAS_BESIDE
                if (has_term(context.terms, TERM_DBIAS) && joined_member() == (u32)j * TEAM)
                    store_dbias({{w[j]}}, context, column, row + block * BLOCK, pack_half());
#endif
            }
            multiply_turned(to, w, block);
        }
    } while (++tile < walk.end);
}

#endif
