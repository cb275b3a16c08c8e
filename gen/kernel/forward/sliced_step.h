/*
 * The fast form's steps of waves of 64 lanes, one score term at most, for tiles all queries see:
 * the softmax of half of the keys runs beside matrix products that do not wait for it. The halves
 * are a and b. With more than 64 channels, where products are most of the work:
 *
 *     matrix pipe         vector unit     registers        LDS
 *     S(a) = K Q^T                        V(t) arriving    write V(t)
 *     S(b) = K Q^T        P(a) of S(a)    K(t+1) arriving
 *     barrier                                              V(t) is there, all have read K(t)
 *     O += V^T P(a)^T     P(a), P(b)      V(t+1) leaves
 *     O += V^T P(b)^T     P(b)            V(t+1) arriving  write K(t+1)
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
 * Where P turns out not to be in range, the wave moves its shift there, and makes P again
 * (half_softmax.h): so no step ever has to be done once more, and a walk can begin with one.
 *
 * Left to itself, the compiler does all the products first. So each is followed by a slice of the
 * other work, about what has room beside it, and by a barrier for the scheduler.
 *
 * In the longer step, the further a wave is in it, the higher its priority. So of the two on a SIMD
 * one has the matrix pipe to itself until it waits, and the other takes what is left: with equal
 * ones they come to do the same at the same time. The priority first rises within S(a): a wave that
 * has begun its step goes before one that is about to, and so they take turns. Where steps overlap,
 * that does no harm, and priorities do.
 */
#ifndef AOTHIP_FWD_SLICED_STEP_H
#define AOTHIP_FWD_SLICED_STEP_H

#include "sliced_parts.h"

#if STAGE_DIM > 64

/* A unit of the softmax of both halves: a part or two, or a count. */
template <int unit> DEVICE void soften_unit(struct sliced_run &r)
{
    const int which = unit / HALF_UNITS, i = unit % HALF_UNITS;
    if constexpr (i < GROUP_UNITS - 1)
        soften_part(r, which, i);
    else if constexpr (i == GROUP_UNITS - 1)
        count_p(r, which, 0, GROUP_PAIRS);
    else if constexpr (i < HALF_UNITS - 1)
        soften_part(r, which, i - 1);
    if constexpr (i == HALF_UNITS - 2) /* which makes nothing any more */
        soften_part(r, which, i);
    if constexpr (i == HALF_UNITS - 1)
        count_p(r, which, GROUP_PAIRS, PAIRS);
}

/* What of it is beside an instruction of S(b), V P(a) or V P(b). */
template <int slice> DEVICE void soften(struct sliced_run &r)
{
    const int which = slice < KQ_SLICES ? 0 : 1, i = slice - which * KQ_SLICES;
    if constexpr (SPREADS)
        for_each<units_before(slice), units_before(slice + 1)>(BESIDE(j) { soften_unit<j>(r); });
    else
#pragma unroll
        for (int j = i * SLICE_PARTS; j < (i + 1) * SLICE_PARTS; j++)
            if (j < SOFT_PARTS)
                soften_part(r, which, j);
}

/* What is left of a half's, behind a stage of so many slices. */
template <int slices> DEVICE void end_softmax(struct sliced_run &r, int which)
{
    if (SPREADS)
        return;
#pragma unroll
    for (int i = slices * SLICE_PARTS; i < SOFT_PARTS; i++)
        soften_part(r, which, i);
    count_p(r, which);
}

/* Beside the i-th of a stage's last FRAGS_AHEAD products: the barrier is beside the second, so that
 * the next stage's operands are there when it begins. */
template <class F> DEVICE void meet(int i, F read)
{
    if (i == 1)
        lds_barrier(), read(0);
    if (i > 0)
        read(i);
}

/* One step, on `tile`, in LDS. */
template <bool last, class B> DEVICE void sliced_step(struct sliced_run &r, int tile, B behind)
{
    const auto begin_slice = [&](int i) {
        if (i == KQ_SLICES / 2)
            __builtin_amdgcn_s_setprio(1);
        store_v_slice(r, i);
        if (i == V_STORES - 1 && SLICES_FIRST && last)
            load_k_behind(r, behind);
        else if (i == V_STORES - 1)
            load_tile_k(r, tile + 1);
    };
    const auto meet_v = [&](int i) { meet(i, [&](int j) { read_v(r.a, 0, j); }); };
    const auto meet_k = [&](int i) { meet(i, [&](int j) { read_k(r.a, 0, j); }); };

    __builtin_amdgcn_s_setprio(0);
    multiply_kq_half(
        r, 0, [&](int i) { read_k(r.a, 1, i); }, begin_slice);
#pragma unroll
    for (int i = KQ_SLICES; i < V_STORES; i++)
        begin_slice(i);
    __builtin_amdgcn_s_setprio(2);
    multiply_kq_half(
        r, 1, meet_v, BESIDE(i) { soften<i>(r); });
    end_softmax<KQ_SLICES>(r, 0);
    __builtin_amdgcn_s_setprio(3);
    multiply_vp_half(
        r, 0, [&](int i) { read_v(r.a, 1, i); },
        BESIDE(slice) {
            constexpr int i = slice;
            if (i == (SPREADS ? GROUP_SLICES / 2 : KERNEL_UNALIGNED ? 1 : 0)) /* S(a) is over */
                load_next_v(r, last);
            soften<KQ_SLICES + i>(r);
        });
    end_softmax<VP_SLICES>(r, 1);
    multiply_vp_half(
        r, 1, meet_k, BESIDE(slice) {
            constexpr int i = slice;
            if constexpr (SPREADS)
                soften<KQ_SLICES + VP_SLICES + i>(r);
            store_k_slice(r, i - FIRST_K_SLICE);
        });
}

template <class B> DEVICE void sliced_walk(struct sliced_run &r, int tile, int count, B behind)
{
    const int end = tile + count - SLICES_FIRST;
    read_first_k(r.a, 0);
#pragma unroll 1
    for (; tile < end; tile++)
        sliced_step<false>(r, tile, behind);
    if (SLICES_FIRST)
        sliced_step<true>(r, tile, behind);
}

#else

constexpr int SOFT_SLICES = VP_SLICES + KQ_SLICES;
constexpr int MOST_PARTS = (2 * PAIRS + SOFT_SLICES - 1) / SOFT_SLICES + 1; /* in a slice */

/* The part that a slice begins with. */
DEVICE constexpr int first_part(int slice)
{
    return slice * SOFT_PARTS / SOFT_SLICES;
}

DEVICE void soften(struct sliced_run &r, int which, int slice)
{
    const int first = first_part(slice);
#pragma unroll
    for (int i = first; i < first + MOST_PARTS; i++)
        if (i < first_part(slice + 1))
            soften_part(r, which, i);
}

/* The slices from `slice` on. */
DEVICE void soften_on(struct sliced_run &r, int which, int slice)
{
#if NUMBERS_SLICES
    for_each<0, SOFT_SLICES>(BESIDE(number) {
        constexpr int i = number;
        if (i >= slice)
            soften(r, which, i);
    });
#else
#pragma unroll
    for (int i = slice; i < SOFT_SLICES; i++)
        soften(r, which, i);
#endif
}

/*
 * Whether the chunks of K that a thread carries are of half a, then of b. Elsewhere all are stored
 * behind S(b), and a third barrier follows.
 */
#define K_HALVES (KEY_SHARES == 1 && !KERNEL_PAGED)
static_assert(!K_HALVES || K_LOADS % 2 == 0, "a half of the chunks");

constexpr int A_LOADS = K_HALVES ? K_LOADS / 2 : 0;

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
#if NUMBERS_SLICES
    for_each<0, VP_SLICES>(BESIDE(i) { soften(r, 0, i); });
#else
#pragma unroll
    for (int i = 0; i < VP_SLICES; i++)
        soften(r, 0, i);
#endif
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
#if SLICES_DROPOUT
                         struct half_terms &terms,
#endif
                         B behind)
{
    struct half_tile half[2];
    struct operands_ahead a;
    half[0].one = half[1].one = unknown_one();
#if SLICES_TERMS
#if !SLICES_DROPOUT
    struct half_terms terms;
#endif
    struct sliced_run r = {x, courier, keys, next, factor, half, a, tile + count - 1, terms};
    begin_terms(terms, x.terms, tile * KERNEL_TILE_K, count);
    if (TERMS_CERTAIN & (TERM_CAP | TERM_BIAS))
        r.factor = terms.factor;
    if (TERMS_CERTAIN & TERM_CAP)
        x.softmax[0].shift -= terms.added;
#else
    struct sliced_run r = {x, courier, keys, next, factor, half, a, tile + count - 1};
#endif
    sliced_walk(r, tile, count, behind);
#if SLICES_TERMS
    if (TERMS_CERTAIN & TERM_CAP)
        x.softmax[0].shift += terms.added;
#endif
}

#endif
