/*
 * The step of a team of one wave (team_form.h), which has 32 queries to itself: all of S and P, and
 * all of O, which occupies the accumulation registers. P never leaves the registers. Of 512
 * channels a SIMD of CDNA has registers for a single such wave. Nobody else is there to multiply
 * while it does something else, so that runs beside its products.
 *
 * LDS has two places for parts of K or V: each of one part, or of two where LDS is larger. While
 * one is multiplied, a stage, the parts of the next one are stored to the other place, and others
 * leave memory. (Another place has some of Q: of all of it there is no room in registers.) The
 * keys of a tile have two halves, a and b:
 *
 *     stages         matrix pipe                      vector unit
 *     K but last     S(a), S(b) += K Q^T
 *     K's last       S(a), then S(b) += K Q^T         P(a) beside S(b)
 *     V's first      O += V^T P(a)^T, V^T P(b)^T      P(b) beside the former
 *     V's others     O += V^T P^T
 *
 * A barrier is beside the last products of each stage; behind it the next one's first operands are
 * read. Between S and V a wave looks whether scores are too far from the base that P is made with
 * (team_softmax.h): then it moves the base, and makes P(a) again.
 *
 * Left to itself, the compiler would do all products first. So behind each instruction of theirs is
 * a slice of the other work, and a barrier for the scheduler.
 */
#ifndef AOTHIP_ALONE_STEP_H
#define AOTHIP_ALONE_STEP_H

#include "alone_products.h"

constexpr int STAGE_PARTS = PARTS_IN_PLACE;
constexpr int K_STAGES = STAGES / STAGE_PARTS, STEP_STAGES = 2 * K_STAGES; /* V has as many */
constexpr int PART_PRODUCTS = QK_STEPS * KEY_BLOCKS;
constexpr int PRODUCTS = STAGE_PARTS * PART_PRODUCTS; /* of a stage */
constexpr int HALF_PRODUCTS = PRODUCTS / 2;           /* of those, of half of the keys */
constexpr int GROUP_PRODUCTS = STAGE_PARTS * SHARE;   /* of V: with the same keys */
constexpr int HALF_GROUPS = PV_GROUPS / 2;
constexpr int PAIRS = ACC / 2; /* of scores that a lane has of a half */
constexpr int SOFT_SLICES = 2 * PAIRS, SLICES_BESIDE = SOFT_SLICES / HALF_PRODUCTS;
constexpr int Q_STORED = Q_PARTS_IN_LDS * QK_STEPS; /* fragments of Q */
constexpr int FRAGS_AHEAD = 3;                      /* products before that which one is read for */

static_assert(PART_PRODUCTS == PV_GROUPS * SHARE, "parts of V with as many products");
static_assert(KEY_BLOCKS == 2 && OWN == 1, "a block is half of the keys");

struct operands_ahead {
    block_frag frag[STEP_STAGES][PRODUCTS];
    block_frag q[Q_STORED];
};

/* What a step makes of each half: scores, and P as operands. */
struct made {
    block_acc s[KEY_BLOCKS][OWN];
    block_frag p[PV_GROUPS];
    f32x2 begun, weights; /* pairs of P under way, */
    partial_sum sum;      /* and the sum of those before them */
};

DEVICE char *place_of(int stage)
{
    return stage % 2 ? vt_tile : k_tile;
}

/* Product `i` of a stage of K: of which keys, and of which of its DEPTHs of channels. */
DEVICE constexpr int half_of(int stage, int i)
{
    return stage == K_STAGES - 1 ? i / HALF_PRODUCTS : i % KEY_BLOCKS;
}

DEVICE constexpr int depth_of(int stage, int i)
{
    return stage == K_STAGES - 1 ? i % HALF_PRODUCTS : i / KEY_BLOCKS;
}

/* Product `i` of a stage of V: of which of its parts. */
DEVICE constexpr int v_part_of(int i)
{
    return i / SHARE % STAGE_PARTS;
}

/* Reads from LDS what product `i` of a stage takes. */
DEVICE void read_operand(struct operands_ahead &a, int stage, int i)
{
    if (stage >= K_STAGES) {
        a.frag[stage][i] = vt_tile_frag(place_of(stage) + v_part_of(i) * VT_TILE_BYTES, i % SHARE,
                                        i / GROUP_PRODUCTS);
        return;
    }
    const int depth = depth_of(stage, i), q = stage * STAGE_PARTS * QK_STEPS + depth;
    a.frag[stage][i] = k_tile_frag(place_of(stage) + depth / QK_STEPS * K_TILE_BYTES,
                                   half_of(stage, i), depth % QK_STEPS);
    if (half_of(stage, i) == 0 && q < Q_STORED)
        a.q[q] = k_tile_frag(q_tile + q / QK_STEPS * Q_STAGE_BYTES, TEAM_ID, q % QK_STEPS);
}

/* Of a walk's first step: K's first parts are there. */
DEVICE void begin_steps(struct operands_ahead &a)
{
#pragma unroll
    for (int i = 0; i < FRAGS_AHEAD; i++)
        read_operand(a, 0, i);
}

/* Beside product `i`: a part of the next stage goes to its place in as many slots, and in one more
 * another part leaves memory. */
template <int stage, bool full>
DEVICE void carry(struct progress &x, const struct setting &scene, const struct stride &t, int i)
{
    constexpr int next = (stage + 1) % STEP_STAGES, slots = 4;
    constexpr bool of_k = next < K_STAGES;
    constexpr int stores = (of_k ? K_LOADS : V_STORES) / slots; /* of a slot */
    const int part = i / PART_PRODUCTS, slot = i % PART_PRODUCTS - 1;
    const int behind = (next * STAGE_PARTS + part + CARGOES) % (2 * STAGES); /* K's, then V's */
    char *const to = place_of(next) + part * (of_k ? K_TILE_BYTES : VT_TILE_BYTES);
    struct cargo &cargo = x.cargo[part % CARGOES];
    if (slot < 0 || slot > slots)
        return;
    if (slot == slots && behind >= STAGES)
        return fetch_v(x, scene.keys, scene.courier, t.v, behind - STAGES);
    if (slot == slots)
        return fetch_k(x, scene.keys, scene.courier, stage < K_STAGES ? t.k : t.next, behind);
    if (!full && !of_k && slot == 0)
        x.found |= isolate_all(cargo.v);
#pragma unroll
    for (int j = slot * stores; j < (slot + 1) * stores; j++)
        if (of_k)
            store_k_chunk(to, cargo, scene.courier, j);
        else
            store_v_channel(to, cargo, scene.courier, j);
}

/* Q leaves memory. */
DEVICE void fetch_q(struct queries &q, const struct job &job, const struct sequence &sequence,
                    const struct attn_problem &a)
{
    const struct slice slice =
        slice_of(a.q, a.q_stride, sequence.batch_q, sequence.start_q, job.head, a.dim_qk);
    const struct tile_view view = {row_at(slice, job.first_row), rows_of(job)};
    const u32 row = TEAM_ID * COLUMNS + lane_column();
#pragma unroll
    for (int i = 0; i < STAGES * QK_STEPS; i++)
        q.frag[i] = load_q_frag(view, slice, row, i);
}

/* It has arrived: operands. The first parts go to LDS, where each wave reads what it stores. */
DEVICE void settle_q(struct queries &q)
{
    const u32 row = TEAM_ID * COLUMNS + lane_column();
    if (RARELY(late_problem().scale < 0))
#pragma unroll
        for (int i = 0; i < STAGES * QK_STEPS; i++)
            q.frag[i] = TIMES_SIGN(q.frag[i], SIGN_BITS);
#pragma unroll
    for (int i = 0; i < Q_STORED; i++)
        *(block_frag *)(q_tile + i / QK_STEPS * Q_STAGE_BYTES +
                        k_tile_at(row, 2 * (i % QK_STEPS) + lane_half())) = q.frag[i];
}

/* K's first parts, which have left memory, come to their place, and those behind them leave it. */
DEVICE void begin_stages(struct progress &x, const struct setting &scene, tile_rows k_rows)
{
    settle_q(x.q);
#pragma unroll
    for (int part = 0; part < STAGE_PARTS; part++) {
        store_k(k_tile + part * K_TILE_BYTES, x.cargo[part % CARGOES], scene.courier);
        fetch_k(x, scene.keys, scene.courier, k_rows, part + CARGOES);
    }
    lds_barrier();
}

/* What P is made with. */
DEVICE float base_of(const struct progress &x)
{
    const float base = x.softmax.base[0];
    return base == -__builtin_inff() ? 0 : base;
}

/* Slice `i` of P of a half: even ones begin a pair, the next one makes the rest of it, and the two
 * behind that sum it up and round it. */
DEVICE void weigh_slice(struct made &m, int half, float base, float factor, int i)
{
    const int pair = i / 2;
    const bool begins = pair < PAIRS;
    const bool ends = pair > 0 && pair <= PAIRS;
    const block_acc &s = m.s[half][0];
    if (i == 0)
        m.sum = {};
    if (i % 2 == 0) {
        if (begins) {
            m.begun = exponents<SCORE_WIDE>(f32x2{s[2 * pair], s[2 * pair + 1]}, base, factor);
            m.begun.x = __builtin_amdgcn_exp2f(m.begun.x);
        }
        if (ends)
            m.sum += m.weights;
    } else {
        if (ends)
            m.p[half * HALF_GROUPS + (pair - 1) / 4][(pair - 1) % 4] =
                end_round_pair(begin_round(m.weights.x), begin_round(m.weights.y));
        if (begins)
            m.weights = {m.begun.x, __builtin_amdgcn_exp2f(m.begun.y)};
    }
}

/* From slice `first` on: SOFT_SLICES are beside products, two are left. */
DEVICE void weigh_from(struct made &m, int half, const struct progress &x, float factor, int first)
{
    const float base = base_of(x);
#pragma unroll
    for (int i = first; i < SOFT_SLICES + 2; i++)
        weigh_slice(m, half, base, factor, i);
}

/* Moves the base up to the largest score, if that is too far from it. Before any key is seen, O
 * is 0. */
DEVICE void move_base(struct progress &x, float largest, float factor)
{
    float &base = x.softmax.base[0];
    const float most = __builtin_fmaxf(largest, other_half(largest));
    const bool far = is_far(most, base, factor);
    const float next = far ? most : base;
    const float ratio = far ? __builtin_amdgcn_exp2f((base - next) * factor) : 1;
    const bool begins = !in_any_lane(base != -__builtin_inff());
    base = next;
    x.softmax.sum[0] *= ratio;
#pragma unroll
    for (int part = 0; part < STAGES && !begins; part++)
#pragma unroll
        for (int block = 0; block < SHARE; block++)
            scale_output(x.o[part][0][block], ratio);
}

/* Behind all of S, and P(a). */
DEVICE void settle_base(struct progress &x, struct made &m, float factor)
{
    const float largest = __builtin_fmaxf(largest_of(m.s[0][0]), largest_of(m.s[1][0]));
    weigh_from(m, 0, x, factor, SOFT_SLICES);
    if (RARELY(in_any_lane(is_far(largest, x.softmax.base[0], factor)))) {
        move_base(x, largest, factor);
        weigh_from(m, 0, x, factor, 0);
    }
    x.softmax.sum[0] += m.sum;
}

/* S of a half is over: scores of keys that are not seen, or do not exist, become -infinity. */
template <bool full>
DEVICE void end_scores(struct made &m, const struct setting &scene, const struct stride &t,
                       int half)
{
    await_scores(m.s[half][0]);
    if (!full)
        mask_own(m.s[half], scene.sequence, scene.job, t.tile * KERNEL_TILE_K + half * BLOCK);
    hide_own(m.s[half], t.missing >> half * (BLOCK / 16));
}

/* Instruction `part` of product `i` of a stage. */
template <int stage, int i, int part>
DEVICE void multiply(struct progress &x, struct made &m, const struct operands_ahead &a)
{
    const product_operand own = OPERAND_PART(a.frag[stage][i], part);
    if constexpr (stage < K_STAGES) {
        constexpr int at = stage * STAGE_PARTS * QK_STEPS + depth_of(stage, i);
        constexpr bool stored = at < Q_STORED;
        const block_frag q = stored ? a.q[stored ? at : 0] : x.q.frag[at];
        product_of_scores<at == 0 && part == 0>(m.s[half_of(stage, i)][0], own,
                                                OPERAND_PART(q, part));
    } else {
        constexpr int first = (stage - K_STAGES) * STAGE_PARTS, group = i / GROUP_PRODUCTS;
        product_of_output<i % GROUP_PRODUCTS == 0 && part == 0>(
            x.o[first + v_part_of(i)][0][i % SHARE], own, OPERAND_PART(m.p[group], part));
    }
}

/* A stage of products, with all else beside them. */
template <int stage, bool full>
DEVICE void run_stage(struct progress &x, const struct setting &scene, struct made &m,
                      struct operands_ahead &a, const struct stride &t)
{
    constexpr int next = (stage + 1) % STEP_STAGES;
    /* Two products by turns, lest one instruction wait for the one before it. */
    for_each<0, MMA_PARTS * PRODUCTS>(BESIDE(number) {
        constexpr int i = number / (2 * MMA_PARTS) * 2 + number % 2, part = number / 2 % MMA_PARTS;
        constexpr int ahead = i + FRAGS_AHEAD - PRODUCTS; /* of the next stage */
        constexpr bool second_half = part == 0 && i == HALF_PRODUCTS;
        constexpr bool weighs_a = stage == K_STAGES - 1 && i >= HALF_PRODUCTS;
        constexpr bool weighs_b = stage == K_STAGES && i < HALF_PRODUCTS;
        if constexpr (stage == K_STAGES && second_half) {
            weigh_from(m, 1, x, scene.factor, SOFT_SLICES);
            x.softmax.sum[0] += m.sum;
        }
        if constexpr (part == 0 && ahead < 0)
            read_operand(a, stage, i + FRAGS_AHEAD);
        if constexpr (part == 0 && ahead == 1) /* not at 0: the wave would wait for the others */
            lds_barrier(), read_operand(a, next, 0);
        if constexpr (part == 0 && ahead > 0)
            read_operand(a, next, ahead);
        multiply<stage, i, part>(x, m, a);
        if constexpr (stage == K_STAGES - 1 && second_half)
            end_scores<full>(m, scene, t, 0);
        if constexpr (part == 0)
            carry<stage, full>(x, scene, t, i);
        if constexpr (weighs_a || weighs_b)
            for_each<number * SLICES_BESIDE / MMA_PARTS, (number + 1) * SLICES_BESIDE / MMA_PARTS>(
                BESIDE(slice) {
                    weigh_slice(m, weighs_b, base_of(x), scene.factor, slice % SOFT_SLICES);
                });
        __builtin_amdgcn_sched_barrier(0);
    });
}

/* One step. All walks have HALVES halves of parts of V: ONE_WIDTH. */
template <int halves, bool full>
DEVICE void step(struct progress &x, const struct setting &scene, struct operands_ahead &a,
                 const struct stride &t)
{
    struct made m;
    for_each<0, K_STAGES>(BESIDE(stage) { run_stage<stage, full>(x, scene, m, a, t); });
    end_scores<full>(m, scene, t, 1);
    settle_base(x, m, scene.factor);
    for_each<K_STAGES, STEP_STAGES>(BESIDE(stage) { run_stage<stage, full>(x, scene, m, a, t); });
    await_output(); /* behind the loop some of it may be copied at once */
}

#endif
