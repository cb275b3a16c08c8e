/*
 * The fast form's steps of waves of 64 lanes without score terms, for tiles that all queries see:
 * the softmax of half of the keys runs beside matrix products that do not wait for it. The halves
 * are a and b. With more than 64 channels, where products are most of the work:
 *
 *     matrix pipe         vector unit     registers        LDS
 *     S(a) = K Q^T                        V(t) arriving    write V(t)
 *     S(b) = K Q^T        P(a) of S(a)    K(t+1) arriving
 *     barrier                                              V(t) is there, all have read K(t)
 *     O += V^T P(a)^T     P(b) of S(b)    V(t+1) arriving
 *     O += V^T P(b)^T                                      write K(t+1)
 *     barrier                                              K(t+1) is there, all have read V(t)
 *
 * With fewer, where the softmax is, the steps overlap, so that all products have some beside them:
 *
 *     S(a)                P(b) of t-1     K(t+1) leaves memory
 *     O += V^T P(b)^T of t-1    P(a)
 *     barrier                                              all have read V(t-1), and a of K(t)
 *     S(b)                P(a)                             write V(t), a of K(t+1)
 *     barrier                                              they are there, all have read K(t)
 *     O += V^T P(a)^T     P(b)            V(t+1) leaves    write b of K(t+1)
 *
 * The scores of a half stay until P is known to be in range. Where it is not, the wave moves its
 * shift there, and makes P again: so no step ever has to be done once more, and a walk can begin
 * with one.
 *
 * Left to itself, the compiler does all the products first. So each is followed by a slice of the
 * other work, about what has room beside it, and by a barrier for the scheduler.
 *
 * In the longer step, the further a wave is in it, the higher its priority. So of the two on a SIMD
 * one has the matrix pipe to itself until it waits, and the other takes what is left: with equal
 * ones they come to do the same at the same time. Where steps overlap, that does no harm, and
 * priorities do.
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
    STEPS_OVERLAP = STAGE_DIM <= 64,
};

static_assert(VP_SLICES >= K_LOADS, "each chunk of K has a slice");

enum {
    PAIRS = HALF_BLOCKS * ACC / 2, /* of scores that a lane has of a half */
    SOFT_PARTS = 2 * PAIRS + 2,    /* of their softmax */
    SPREAD = STEPS_OVERLAP ? VP_SLICES + KQ_SLICES : LEAST_SLICES,
    MOST_PARTS = (2 * PAIRS + SPREAD - 1) / SPREAD + STEPS_OVERLAP, /* in a slice */
    SOFT_SLICES = STEPS_OVERLAP ? SPREAD : (SOFT_PARTS + MOST_PARTS - 1) / MOST_PARTS,
};

/* The part that a slice begins with. */
DEVICE constexpr int first_part(int slice)
{
    return STEPS_OVERLAP ? slice * SOFT_PARTS / SOFT_SLICES : slice * MOST_PARTS;
}

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

/* make_p() in parts: the first begins a pair, the next its second half, the two behind end it. */
struct soft_slices {
    partial_sum sum;
    f32x2 begun, made;
};

DEVICE void soften_part(struct soft_slices &w, struct packed_p &p, const half_scores &s,
                        float shift, float factor, int part)
{
    const int pair = part / 2;
    const bool begins = pair < PAIRS;
    const bool ends = pair > 0 && pair <= PAIRS;
    if (part % 2 == 0) {
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

/* What of a half is in registers from one stage to another. */
struct half_tile {
    half_scores s;
    struct packed_p p;
    struct soft_slices soft;
};

/* The operands of a half's products. They are read from LDS some products ahead, also of the next
 * stage. */
struct operands_ahead {
    block_frag k[2][KQ_PRODUCTS], v[2][VP_PRODUCTS];
};

DEVICE void read_k(struct operands_ahead &x, int half, int i)
{
    const int first = key_share() * KEY_BLOCKS + half * HALF_BLOCKS;
    x.k[half][i] = k_tile_frag(k_tile, first + i % HALF_BLOCKS, i / HALF_BLOCKS);
}

DEVICE void read_v(struct operands_ahead &x, int half, int i)
{
    const int first = key_share() * PV_GROUPS + half * HALF_GROUPS;
    x.v[half][i] = vt_tile_frag(vt_tile, i % DIM_BLOCKS, first + i / DIM_BLOCKS);
}

DEVICE void read_first_k(struct operands_ahead &x, int half)
{
#pragma unroll
    for (int i = 0; i < FRAGS_AHEAD; i++)
        read_k(x, half, i);
}

DEVICE void read_first_v(struct operands_ahead &x, int half)
{
#pragma unroll
    for (int i = 0; i < FRAGS_AHEAD; i++)
        read_v(x, half, i);
}

/* A run of steps. */
struct sliced_run {
    struct progress &x;
    const struct courier &courier;
    const struct key_tiles &keys;
    struct tile_views &next;
    float factor;
    struct half_tile (&half)[2];
    struct operands_ahead &a;
    int last; /* tile */
};

/* Slice `slice` of SOFT_SLICES of the softmax of a half. */
DEVICE void soften(struct sliced_run &r, int which, int slice)
{
    struct half_tile &h = r.half[which];
    const int first = first_part(slice);
    if (slice == 0)
        h.soft = {};
#pragma unroll
    for (int i = first; i < first + MOST_PARTS; i++)
        if (i < first_part(slice + 1))
            soften_part(h.soft, h.p, h.s, r.x.softmax[0].shift, r.factor, i);
}

/* The slices from `slice` on. */
DEVICE void soften_on(struct sliced_run &r, int which, int slice)
{
#pragma unroll
    for (int i = slice; i < SOFT_SLICES; i++)
        soften(r, which, i);
}

/* Counts P of a half; first, if it is out of range, moves the shift and makes it again. */
DEVICE void count_p(struct sliced_run &r, int which)
{
    struct half_tile &h = r.half[which];
    struct softmax_state &state = r.x.softmax[0];
    partial_sum sum = h.soft.sum;
    if (SELDOM(in_any_lane(total(sum) > SOFTMAX_LIMIT))) {
        const bool wide = move_shift<SCORE_PLAIN>(state, r.x.o[0], h.s, r.factor);
        r.x.found |= in_any_lane(wide) ? FOUND_WIDE : 0;
        sum = make_p(h.p, h.s, state.shift, r.factor);
    }
    state.sum += sum;
}

/* S^T = K Q^T of a half, with a call beside each matrix instruction, and one for each operand to be
 * read ahead of what follows. */
template <class R, class F>
DEVICE void multiply_kq_half(struct sliced_run &r, int which, R read_on, F slice)
{
    half_scores &s = r.half[which].s;
#pragma unroll
    for (int i = 0; i < HALF_BLOCKS; i++)
        s[i] = zero_acc();
#pragma unroll
    for (int i = 0; i < KQ_PRODUCTS; i++) {
        const int ahead = i + FRAGS_AHEAD;
        if (ahead < KQ_PRODUCTS)
            read_k(r.a, which, ahead);
        else
            read_on(ahead - KQ_PRODUCTS);
        mma_beside(s[i % HALF_BLOCKS], r.a.k[which][i], r.x.q.frag[i / HALF_BLOCKS], [&](int part) {
            slice(MMA_PARTS * i + part);
            __builtin_amdgcn_sched_barrier(0);
        });
    }
}

/* O^T += V^T P^T of a half, alike. */
template <class R, class F>
DEVICE void multiply_vp_half(struct sliced_run &r, int which, R read_on, F slice)
{
#pragma unroll
    for (int i = 0; i < VP_PRODUCTS; i++) {
        const int ahead = i + FRAGS_AHEAD;
        if (ahead < VP_PRODUCTS)
            read_v(r.a, which, ahead);
        else
            read_on(ahead - VP_PRODUCTS);
        mma_beside(r.x.o[0][i % DIM_BLOCKS], r.a.v[which][i], r.half[which].p.frag[i / DIM_BLOCKS],
                   [&](int part) {
                       slice(MMA_PARTS * i + part);
                       __builtin_amdgcn_sched_barrier(0);
                   });
    }
}

/* The next tile is `tile`. Behind the last one nothing is loaded: of no rows, at an address of
 * some, for a branch would make the compiler copy registers. */
DEVICE void load_tile_k(struct sliced_run &r, int tile)
{
    char *const before = r.next.k[0].first;
    advance(r.next, r.keys, tile);
    if (SLICES_FIRST && tile > r.last)
        r.next.k[0] = {before, 0};
    load_k<ROWS_ALL>(r.x.cargo, r.courier, r.keys.k, r.next);
}

/* The next tile is what `behind` says. */
template <class B> DEVICE void load_k_behind(struct sliced_run &r, B behind)
{
    r.next = behind();
    load_k<ROWS_SOME>(r.x.cargo, r.courier, r.keys.k, r.next);
}

DEVICE void load_next_v(struct sliced_run &r, bool last)
{
    if (SLICES_FIRST && last)
        load_v<ROWS_SOME>(r.x.cargo, r.courier, r.keys.v, r.next);
    else
        load_v<ROWS_ALL>(r.x.cargo, r.courier, r.keys.v, r.next);
}

DEVICE void store_v_slice(struct sliced_run &r, int i)
{
    if (i >= 0 && i < CHUNK)
        store_v_channel(vt_tile, r.x.cargo, r.courier, i);
}

/* Chunk `i` of K from `first` to `end`. */
DEVICE void store_k_slice(struct sliced_run &r, int i, int first = 0, int end = K_LOADS)
{
    if (i >= 0 && first + i < end)
        store_k_chunk(k_tile, r.x.cargo, r.courier, first + i);
}

#if STAGE_DIM > 64

/*
 * Whether barriers come beside the last products of a stage, and the next one's operands are there
 * when it begins: 2 % of gfx942's bf16; in f16 a SIMD's waves would come to do the same at once.
 */
#if defined(__gfx942__) && KERNEL_DTYPE == MMA_BF16
#define MEETS_EARLY (SLICES_FIRST && KERNEL_DIM == 128)
#else
#define MEETS_EARLY 0
#endif

/* Beside the i-th of a stage's last FRAGS_AHEAD products. The barrier is beside the second. */
template <class F> DEVICE void meet(int i, F read)
{
    if (MEETS_EARLY && i == 1)
        lds_barrier(), read(0);
    if (MEETS_EARLY && i > 0)
        read(i);
}

/* One step, on `tile`, in LDS. */
template <bool last, class B> DEVICE void sliced_step(struct sliced_run &r, int tile, B behind)
{
    const auto begin_slice = [&](int i) {
        store_v_slice(r, i);
        if (i == CHUNK - 1 && SLICES_FIRST && last)
            load_k_behind(r, behind);
        else if (i == CHUNK - 1)
            load_tile_k(r, tile + 1);
    };
    const auto meet_v = [&](int i) { meet(i, [&](int j) { read_v(r.a, 0, j); }); };
    const auto meet_k = [&](int i) { meet(i, [&](int j) { read_k(r.a, 0, j); }); };

    if (!MEETS_EARLY)
        read_first_k(r.a, 0);
    __builtin_amdgcn_s_setprio(0);
    multiply_kq_half(
        r, 0, [&](int i) { read_k(r.a, 1, i); }, begin_slice);
#pragma unroll
    for (int i = KQ_SLICES; i < CHUNK; i++)
        begin_slice(i);
    __builtin_amdgcn_s_setprio(1);
    multiply_kq_half(r, 1, meet_v, [&](int i) { soften(r, 0, i); });
    soften_on(r, 0, KQ_SLICES);
    count_p(r, 0);
    if (!MEETS_EARLY) {
        lds_barrier();
        read_first_v(r.a, 0);
        load_next_v(r, last);
        __builtin_amdgcn_sched_barrier(0);
    }
    __builtin_amdgcn_s_setprio(2);
    multiply_vp_half(
        r, 0, [&](int i) { read_v(r.a, 1, i); },
        [&](int i) {
            if (MEETS_EARLY && i == 0)
                load_next_v(r, last);
            soften(r, 1, i);
        });
    soften_on(r, 1, VP_SLICES);
    count_p(r, 1);
    __builtin_amdgcn_s_setprio(3);
    multiply_vp_half(r, 1, meet_k, [&](int i) { store_k_slice(r, i - FIRST_K_SLICE); });
    if (!MEETS_EARLY)
        lds_barrier();
}

template <class B> DEVICE void sliced_walk(struct sliced_run &r, int tile, int count, B behind)
{
    const int end = tile + count - SLICES_FIRST;
    if (MEETS_EARLY)
        read_first_k(r.a, 0);
#pragma unroll 1
    for (; tile < end; tile++)
        sliced_step<false>(r, tile, behind);
    if (SLICES_FIRST)
        sliced_step<true>(r, tile, behind);
}

#else

/*
 * Whether the chunks of K that a thread carries are of half a, then of b. Elsewhere all are stored
 * behind S(b), and a third barrier follows.
 */
#define K_HALVES (KEY_SHARES == 1 && !KERNEL_PAGED)
static_assert(!K_HALVES || K_LOADS % 2 == 0, "a half of the chunks");

enum { A_LOADS = K_HALVES ? K_LOADS / 2 : 0 };

/* S(a) of a tile; the next one is `next`; `first`: there is none before it. */
template <bool first> DEVICE void begin_tile(struct sliced_run &r, int next)
{
    const auto read_on = [&](int i) {
        if (!first)
            read_v(r.a, 1, i);
    };
    multiply_kq_half(r, 0, read_on, [&](int i) {
        if (!first)
            soften(r, 1, VP_SLICES + i);
        if (i == 0)
            load_tile_k(r, next);
    });
    if (!first)
        count_p(r, 1);
}

/* V(t), and K(t+1) of a. */
template <int a_loads> DEVICE void store_slice(struct sliced_run &r, int i)
{
    store_v_slice(r, i);
    store_k_slice(r, i - CHUNK, 0, a_loads);
}

/*
 * S(b), and P(a) with V; `last`: others read what comes next. Where that is anything, its K leaves
 * memory only here, and goes to LDS beside P(b) with V.
 */
template <bool last, class B> DEVICE void end_tile(struct sliced_run &r, B behind)
{
    const bool late = SLICES_FIRST && last;
    const int a_loads = late ? 0 : A_LOADS;
    const auto nothing = [](int) {};
    const auto read_on = [&](int i) {
        if (!last && K_HALVES)
            read_k(r.a, 0, i);
    };
    lds_barrier();
    read_first_k(r.a, 1);
    if (late)
        load_k_behind(r, behind);
    __builtin_amdgcn_sched_barrier(0);
    multiply_kq_half(r, 1, nothing, [&](int i) {
        soften(r, 0, VP_SLICES + i);
        store_slice<a_loads>(r, i);
    });
#pragma unroll
    for (int i = KQ_SLICES; i < CHUNK + a_loads; i++)
        store_slice<a_loads>(r, i);
    count_p(r, 0);
    lds_barrier();
    read_first_v(r.a, 0);
    load_next_v(r, last);
    __builtin_amdgcn_sched_barrier(0);
    multiply_vp_half(r, 0, read_on, [&](int i) {
        soften(r, 1, i);
        if (!late)
            store_k_slice(r, i - FIRST_K_SLICE, a_loads);
    });
    if (K_HALVES || late)
        return;
    lds_barrier();
    if (!last)
        read_first_k(r.a, 0);
}

template <class B> DEVICE void sliced_walk(struct sliced_run &r, int tile, int count, B behind)
{
    const auto nothing = [](int) {};
    const int end = tile + count - 1;
    read_first_k(r.a, 0);
    begin_tile<true>(r, tile + 1);
    /* Clang 22 leaves wait states out where the branch around the loop stands between products and
     * what reads them. */
    __builtin_amdgcn_sched_barrier(0);
    asm volatile("s_nop 7");
    __builtin_amdgcn_sched_barrier(0);
#pragma unroll
    for (int i = 0; i < VP_SLICES; i++)
        soften(r, 0, i);
#pragma unroll 1
    for (; tile < end; tile++) {
        end_tile<false>(r, behind);
        begin_tile<false>(r, tile + 2);
        multiply_vp_half(r, 1, nothing, [&](int i) { soften(r, 0, i); });
    }
    end_tile<true>(r, behind);
    read_first_v(r.a, 1);
    soften_on(r, 1, VP_SLICES);
    count_p(r, 1);
    multiply_vp_half(r, 1, nothing, [&](int i) {
        if (SLICES_FIRST)
            store_k_slice(r, i - FIRST_K_SLICE);
    });
    lds_barrier();
}

#endif

/* `count` steps, at least one; the first tile's K is in LDS, and it is `tile`. The tile behind them
 * is one that advance() leads to, or what `behind` says. */
template <class B>
DEVICE void sliced_steps(struct progress &x, const struct courier &courier, float factor,
                         const struct key_tiles &keys, struct tile_views &next, int tile, int count,
                         B behind)
{
    struct half_tile half[2];
    struct operands_ahead a;
    struct sliced_run r = {x, courier, keys, next, factor, half, a, tile + count - 1};
    sliced_walk(r, tile, count, behind);
}

#endif
