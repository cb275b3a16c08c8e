/*
 * The fast form's step of waves of 64 lanes without score terms, for tiles that all queries see,
 * while the next one exists whole: the softmax of half of the keys runs beside matrix products that
 * do not wait for it. The halves are a and b:
 *
 *     matrix pipe         vector unit     registers        LDS
 *     S(a) = K Q^T                        V(t) arriving    write V(t)
 *     S(b) = K Q^T        P(a) of S(a)    K(t+1) arriving
 *     barrier                                              V(t) is there, all have read K(t)
 *     O += V^T P(a)^T     P(b) of S(b)    V(t+1) arriving
 *     O += V^T P(b)^T                                      write K(t+1)
 *     barrier                                              K(t+1) is there, all have read V(t)
 *
 * The scores of a half stay until P is known to be in range. Where it is not, the wave moves its
 * shift there, and makes P again: so this step never has to be done once more.
 *
 * Left to itself, the compiler does all the products first. So each is followed by a slice of the
 * other work, about what has room beside it, and by a barrier for the scheduler.
 *
 * The further a wave is in the step, the higher its priority. So of the two on a SIMD one has the
 * matrix pipe to itself until it waits, and the other takes what is left: with equal ones they come
 * to do the same at the same time.
 */
#ifndef AOTHIP_FWD_SLICED_STEP_H
#define AOTHIP_FWD_SLICED_STEP_H

#include "fast_step.h"

enum {
    HALF_BLOCKS = KEY_BLOCKS / 2, /* of keys */
    HALF_GROUPS = PV_GROUPS / 2,
    KQ_PRODUCTS = QK_STEPS * HALF_BLOCKS,
    KQ_SLICES = MMA_PARTS * KQ_PRODUCTS,
    VP_PRODUCTS = HALF_GROUPS * DIM_BLOCKS,
    VP_SLICES = MMA_PARTS * VP_PRODUCTS,
    LEAST_SLICES = KQ_SLICES < VP_SLICES ? KQ_SLICES : VP_SLICES,
    FRAGS_AHEAD = 3,                           /* operands read from LDS before they are needed */
    FIRST_K_SLICE = (VP_SLICES - K_LOADS) / 2, /* beside which K is stored */
};

enum {
    PAIRS = HALF_BLOCKS * ACC / 2, /* of scores that a lane has of a half */
    SOFT_PARTS = (2 * PAIRS + LEAST_SLICES - 1) / LEAST_SLICES, /* of soften() in a slice */
    SOFT_SLICES = (2 * PAIRS + 2 + SOFT_PARTS - 1) / SOFT_PARTS,
};

typedef block_acc half_scores[HALF_BLOCKS];

/* P of a half, rounded. */
struct packed_p {
    block_frag frag[HALF_GROUPS];
};

DEVICE f32x2 score_pair(const half_scores &s, int pair)
{
    const block_acc &block = s[pair / (ACC / 2)];
    return {block[pair * 2 % ACC], block[pair * 2 % ACC + 1]};
}

DEVICE void pack_pair(struct packed_p &p, f32x2 x, int pair)
{
    p.frag[pair / 4][pair % 4] = end_round_pair(begin_round(x.x), begin_round(x.y));
}

/* P of a half. Returns the sum of this lane's. */
DEVICE partial_sum make_p(struct packed_p &p, const half_scores &s, float shift, float factor)
{
    partial_sum sum = {};
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
        f32x2 x = exponents<SCORE_PLAIN>(score_pair(s, i), shift, factor);
        x = {__builtin_amdgcn_exp2f(x.x), __builtin_amdgcn_exp2f(x.y)};
        sum += x;
        pack_pair(p, x, i);
    }
    return sum;
}

/* Counts P; first, if it is out of range, moves the shift and makes it again. */
DEVICE void count_p(struct progress &x, struct packed_p &p, const half_scores &s, partial_sum sum,
                    float factor)
{
    if (in_any_lane(total(sum) > SOFTMAX_LIMIT)) {
        const bool wide = move_shift<SCORE_PLAIN>(x.softmax[0], x.o[0], s, factor);
        x.found |= in_any_lane(wide) ? FOUND_WIDE : 0;
        sum = make_p(p, s, x.softmax[0].shift, factor);
    }
    x.softmax[0].sum += sum;
}

/* make_p() in parts: the first begins a pair, the next its second half, the two behind end it. */
struct soft_slices {
    partial_sum sum;
    f32x2 begun, made;
};

DEVICE void soften(struct soft_slices &w, struct packed_p &p, const half_scores &s, float shift,
                   float factor, int slice)
{
#pragma unroll
    for (int i = slice * SOFT_PARTS; i < (slice + 1) * SOFT_PARTS; i++) {
        const int pair = i / 2;
        const bool begins = pair < PAIRS;
        const bool ends = pair > 0 && pair <= PAIRS;
        if (i % 2 == 0) {
            if (begins) {
                w.begun = exponents<SCORE_PLAIN>(score_pair(s, pair), shift, factor);
                w.begun.x = __builtin_amdgcn_exp2f(w.begun.x);
            }
            if (ends)
                w.sum += w.made;
        } else {
            if (ends)
                pack_pair(p, w.made, pair - 1);
            if (begins)
                w.made = {w.begun.x, __builtin_amdgcn_exp2f(w.begun.y)};
        }
    }
}

/*
 * The products of both halves, one half after the other, with a call beside each of their matrix
 * instructions. Operands are read from LDS some products ahead, also of the other half.
 */
struct operands_ahead {
    block_frag k[2 * KQ_PRODUCTS], v[2 * VP_PRODUCTS];
};

DEVICE void read_k(struct operands_ahead &x, int i)
{
    const int first = key_share() * KEY_BLOCKS + i / KQ_PRODUCTS * HALF_BLOCKS;
    if (i < 2 * KQ_PRODUCTS)
        x.k[i] = k_tile_frag(k_tile, first + i % HALF_BLOCKS, i % KQ_PRODUCTS / HALF_BLOCKS);
}

DEVICE void read_v(struct operands_ahead &x, int i)
{
    if (i < 2 * VP_PRODUCTS)
        x.v[i] = vt_tile_frag(vt_tile, i % DIM_BLOCKS, key_share() * PV_GROUPS + i / DIM_BLOCKS);
}

/* S^T = K Q^T */
template <class F>
DEVICE void multiply_kq_half(half_scores &s, struct operands_ahead &a, const struct queries &q,
                             int half, F slice)
{
#pragma unroll
    for (int i = 0; i < HALF_BLOCKS; i++)
        s[i] = zero_acc();
#pragma unroll
    for (int i = 0; i < KQ_PRODUCTS; i++) {
        const int product = half * KQ_PRODUCTS + i;
        read_k(a, product + FRAGS_AHEAD);
        mma_beside(s[i % HALF_BLOCKS], a.k[product], q.frag[i / HALF_BLOCKS], [&](int part) {
            slice(MMA_PARTS * i + part);
            __builtin_amdgcn_sched_barrier(0);
        });
    }
}

/* O^T += V^T P^T */
template <class F>
DEVICE void multiply_vp_half(block_acc (&o)[DIM_BLOCKS], struct operands_ahead &a,
                             const struct packed_p &p, int half, F slice)
{
#pragma unroll
    for (int i = 0; i < VP_PRODUCTS; i++) {
        const int product = half * VP_PRODUCTS + i;
        read_v(a, product + FRAGS_AHEAD);
        mma_beside(o[i % DIM_BLOCKS], a.v[product], p.frag[i / DIM_BLOCKS], [&](int part) {
            slice(MMA_PARTS * i + part);
            __builtin_amdgcn_sched_barrier(0);
        });
    }
}

/* One step, on the tile in LDS; `next` is fetched. */
DEVICE void sliced_step(struct progress &x, const struct courier &courier, float factor,
                        const struct key_tiles &keys, const struct tile_views &next)
{
    half_scores s[2];
    struct packed_p p[2];
    struct soft_slices soft[2] = {};
    struct operands_ahead a;
    const auto store_v_slice = [&](int i) {
        if (i < CHUNK)
            store_v_channel(vt_tile, x.cargo, courier, i);
        if (i == CHUNK - 1)
            load_k<ROWS_ALL>(x.cargo, courier, keys.k, next);
    };
    const auto store_k_slice = [&](int i) {
        const int chunk = i - FIRST_K_SLICE;
        if (chunk >= 0 && chunk < K_LOADS)
            store_k_chunk(k_tile, x.cargo, courier, chunk);
    };
    const auto soften_half = [&](int half, int i) {
        soften(soft[half], p[half], s[half], x.softmax[0].shift, factor, i);
    };

    static_assert(VP_SLICES >= K_LOADS, "each chunk of K has a slice");
#pragma unroll
    for (int i = 0; i < FRAGS_AHEAD; i++)
        read_k(a, i);
    __builtin_amdgcn_s_setprio(0);
    multiply_kq_half(s[0], a, x.q, 0, store_v_slice);
#pragma unroll
    for (int i = KQ_SLICES; i < CHUNK; i++)
        store_v_slice(i);
    __builtin_amdgcn_s_setprio(1);
    multiply_kq_half(s[1], a, x.q, 1, [&](int i) { soften_half(0, i); });
#pragma unroll
    for (int i = KQ_SLICES; i < SOFT_SLICES; i++)
        soften_half(0, i);
    count_p(x, p[0], s[0], soft[0].sum, factor);
    lds_barrier();
#pragma unroll
    for (int i = 0; i < FRAGS_AHEAD; i++)
        read_v(a, i);
    load_v<ROWS_ALL>(x.cargo, courier, keys.v, next);
    __builtin_amdgcn_sched_barrier(0);
    __builtin_amdgcn_s_setprio(2);
    multiply_vp_half(x.o[0], a, p[0], 0, [&](int i) { soften_half(1, i); });
#pragma unroll
    for (int i = VP_SLICES; i < SOFT_SLICES; i++)
        soften_half(1, i);
    count_p(x, p[1], s[1], soft[1].sum, factor);
    __builtin_amdgcn_s_setprio(3);
    multiply_vp_half(x.o[0], a, p[1], 1, store_k_slice);
    lds_barrier();
}

#endif
