/*
 * What the steps of sliced_step.h are made of: operands that are read ahead, parts of the softmax,
 * products with slices of other work beside them, loads and stores of the next tile.
 */
#ifndef AOTHIP_FWD_SLICED_PARTS_H
#define AOTHIP_FWD_SLICED_PARTS_H

#include "fast_step.h"

/*
 * Whether the longer step's softmax is spread over nearly all of its products (half_softmax.h). On
 * gfx950, whose products are one instruction each, there are too few registers; walks that begin
 * and end with another step lose by it where they are short.
 */
#if defined(__gfx950__) || KERNEL_PAGED || KERNEL_UNALIGNED || KERNEL_SCORE == 4 ||                \
    KERNEL_SCORE == 7
#define SPREADS 0
#else
#define SPREADS 1
#endif
#include "half_softmax.h"
#if SLICES_TERMS
#include "half_terms.h"
#endif

/* Operands read from LDS before they are needed: more where no other wave of the SIMD multiplies
 * meanwhile. */
constexpr int FRAGS_AHEAD = KERNEL_WAVES_PER_EU == 1 ? 5 : 3;
/* Beside which K is stored. */
constexpr int MIDDLE_K_SLICE = (VP_SLICES - K_LOADS) / 2;
/* Before a barrier there. */
constexpr int LAST_K_SLICE = VP_SLICES - MMA_PARTS * (FRAGS_AHEAD - 1) - K_LOADS;
constexpr int FIRST_K_SLICE =
    STAGE_DIM > 64 && LAST_K_SLICE < MIDDLE_K_SLICE ? LAST_K_SLICE : MIDDLE_K_SLICE;

static_assert(VP_SLICES >= K_LOADS && FIRST_K_SLICE >= 0, "each chunk of K has a slice");
static_assert(HALF_GROUPS == PV_GROUPS / 2, "the softmax has halves of the same groups");

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
#if SLICES_TERMS
    struct half_terms &terms;
#endif
};

/* A part of the softmax of a half. */
DEVICE void soften_part(struct sliced_run &r, int which, int part)
{
    struct half_tile &h = r.half[which];
    if (part == 0)
        h.soft = {};
#if SLICES_TERMS
    if (part % 2 == 0 && part / 2 < PAIRS)
        end_pair(h.s, r.terms, r.x.terms, which, part / 2);
#endif
    soften_part(h, r.x.softmax[0].shift, r.factor, part);
#if SLICES_DROPOUT
    drop_part(r.terms, h.p, part);
#endif
}

/* Counts the P of these pairs of a half. */
DEVICE void count_p(struct sliced_run &r, int which, int first = 0, int end = PAIRS)
{
#if SLICES_DROPOUT
    struct packed_p &p = r.half[which].p;
    block_frag kept[HALF_GROUPS];
#endif
    count_p(
        r.half[which], r.x.softmax[0], r.x.o[0], r.factor, first, end,
        [&](bool wide) __attribute__((always_inline)) {
            r.x.found |= wide ? FOUND_WIDE : 0;
#if SLICES_DROPOUT
#pragma unroll
            for (int i = 0; i < end / 4; i++)
                kept[i] = kept_already(p.frag[i]);
#endif
        },
        [&]() __attribute__((always_inline)) {
#if SLICES_DROPOUT
#pragma unroll
            for (int i = 0; i < end / 4; i++) {
                p.frag[i] &= kept[i];
                if (STAGE_DIM <= 64) /* or the compiler splits what comes next, and copies it */
                    asm volatile("" : "+v"(p.frag[i]));
            }
#endif
        });
}

/*
 * The longer step knows the numbers of its products, and so does dropout. In the shorter one they
 * are those of loops, for a function for each would keep the compiler from seeing pairs of scores,
 * which one instruction multiplies.
 */
#define NUMBERS_SLICES (STAGE_DIM > 64 || SLICES_DROPOUT)

template <int i, int part>
DEVICE constant<MMA_PARTS * i + part> slice_of(constant<i>, constant<part>)
{
    return {};
}

/* S^T = K Q^T of a half, with a call beside each matrix instruction, and one for each operand to be
 * read ahead of what follows. */
template <class R, class F>
DEVICE void multiply_kq_half(struct sliced_run &r, int which, R read_on, F slice)
{
    half_scores &s = r.half[which].s;
#if SLICES_TERMS
    begin_half(s, r.terms, which);
#else
#pragma unroll
    for (int i = 0; i < HALF_BLOCKS; i++)
        s[i] = zero_acc();
#endif
#if NUMBERS_SLICES
    for_each<0, KQ_PRODUCTS>(BESIDE(product) {
        constexpr int i = product;
        const int ahead = i + FRAGS_AHEAD;
        if (ahead < KQ_PRODUCTS)
            read_k(r.a, which, ahead);
        else
            read_on(ahead - KQ_PRODUCTS);
        mma_beside(
            s[i % HALF_BLOCKS], r.a.k[which][i], r.x.q.frag[i / HALF_BLOCKS], BESIDE(part) {
                slice(slice_of(product, part));
                __builtin_amdgcn_sched_barrier(0);
            });
    });
#else
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
#endif
}

/* O^T += V^T P^T of a half, alike. */
template <class R, class F>
DEVICE void multiply_vp_half(struct sliced_run &r, int which, R read_on, F slice)
{
#if NUMBERS_SLICES
    for_each<0, VP_PRODUCTS>(BESIDE(product) {
        constexpr int i = product;
        const int ahead = i + FRAGS_AHEAD;
        if (ahead < VP_PRODUCTS)
            read_v(r.a, which, ahead);
        else
            read_on(ahead - VP_PRODUCTS);
        mma_beside(
            r.x.o[0][i % DIM_BLOCKS], r.a.v[which][i], r.half[which].p.frag[i / DIM_BLOCKS],
            BESIDE(part) {
                slice(slice_of(product, part));
                __builtin_amdgcn_sched_barrier(0);
            });
    });
#else
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
#endif
}

/* The next tile is `tile`. Behind the last one nothing is loaded: of no rows, at an address of
 * some, for a branch would make the compiler copy registers. */
DEVICE void load_tile_k(struct sliced_run &r, int tile)
{
    char *const before = r.next.k[0].first;
    advance(r.next, r.keys, tile);
#if SLICES_TURN
    turn_views(r.next, r.terms.slopes, tile);
#endif
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
    if (i >= 0 && i < V_STORES)
        store_v_channel(vt_tile, r.x.cargo, r.courier, i);
}

/* Chunk `i` of K from `first` to `end`. */
DEVICE void store_k_slice(struct sliced_run &r, int i, int first = 0, int end = K_LOADS)
{
    if (i >= 0 && first + i < end)
        store_k_chunk(k_tile, r.x.cargo, r.courier, first + i);
}

#endif
