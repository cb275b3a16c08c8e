/*
 * Where several workgroups share a walk: which part of it one has, and how it stores what it finds.
 * Included behind the walk.
 */
#ifndef AOTHIP_ATTN_BWD_PARTS_H
#define AOTHIP_ATTN_BWD_PARTS_H

#include "gradient_parts.h"

/* Run `run` of the `runs` that a walk is cut into, none of them longer than need be. Uniform. */
DEVICE struct walk run_of(struct walk walk, int run, int runs)
{
    const u32 tiles = (u32)(walk.end - walk.begin);
    if (runs == 1)
        return walk;
#if ONLY_KEEP
    const int most = (int)quotient_of(tiles + (u32)runs - 1, (u32)runs);
    const int begin = walk.begin + run * most, end = begin + most;
    return {begin, end < walk.end ? end : walk.end};
#else
    return {walk.begin + (int)quotient_of(tiles * (u32)run, (u32)runs),
            walk.begin + (int)quotient_of(tiles * ((u32)run + 1), (u32)runs)};
#endif
}

/* Zeros for a job without a walk, made there alone: the compiler would make them for each job, and
 * those of its walk again. */
DEVICE void clear_here(struct results &r)
{
#pragma unroll
    for (auto &gradient : r.r)
#pragma unroll
        for (auto &block : gradient)
#pragma unroll
            for (int i = 0; i < ACC; i++) {
                float zero;
                asm volatile("v_mov_b32 %0, 0" : "=v"(zero));
                block[i] = zero;
            }
}

/* Zeros for a walk. A matrix instruction makes sixteen. */
DEVICE void begin_results(struct results &r)
{
#if KERNEL_WAVE == 64 && KERNEL_DTYPE != 1 && (KERNEL_SCORE || (OWNS_KEYS && WALK_SLABS > 1))
#pragma unroll
    for (auto &gradient : r.r)
#pragma unroll
        for (auto &block : gradient) {
            u32x2 zeros = {0, 0};
            asm volatile("" : "+v"(zeros)); /* or one would be made, and copied */
            const f16x4 factor = __builtin_bit_cast(f16x4, zeros);
            block = __builtin_amdgcn_mfma_f32_32x32x8f16(factor, factor, zero_acc(), 0, 0, 0);
        }
#else
    r = {};
#endif
}

/*
 * What is wanted before the walk and behind it waits in LDS where scalar registers are short, a
 * place for each wave; with lifts beside 256 channels, and where there are vector registers for it,
 * in those.
 */
#define PARKS_APART (OWNS_KEYS && ((LIFTS && WALK_SLABS == 2) || (TAKES_PAIRS && KERNEL_DIM == 64)))
#define PARKS                                                                                      \
    (KERNEL_WAVE == 64 && KERNEL_DTYPE != 1 && (OWNS_KEYS || KERNEL_SCORE) && !PARKS_APART &&      \
     !ARGUMENTS_STAY)

enum parking {
    PARKED_PART,
    PARKED_FIRST_HEAD, /* of the group, of those of the part */
    PARKED_HEAD,
    PARKED_SEQUENCE,
    PARKED_END,
#if DBIAS_BESIDE
    PARKED_FIRST_TILE, /* of the whole walk, and what is behind it */
    PARKED_LAST_TILE,
#endif
    PARKINGS
};

#if PARKS
static SHARED u32 parked[KERNEL_WAVES][PARKINGS];
#endif

DEVICE int park(enum parking place, int x)
{
#if PARKS
    parked[wave_id()][place] = (u32)x;
#else
    (void)place;
    if (PARKS_APART)
        asm volatile("" : "+v"(x));
#endif
    return x;
}

/* What was parked there, which is x. */
DEVICE int parked_at(enum parking place, int x)
{
#if PARKS
    x = (int)parked[wave_id()][place];
#else
    (void)place;
#endif
    return (int)uniform((u32)x);
}

#if KERNEL_DTYPE == 1
DEVICE void store_part(const block_acc (&r)[GROUPS * RUN], float factor, const struct rows &x,
                       int count, int slab)
{
    store_result(r, factor, x, {x.base, count}, slab);
}
#else
/* Stores blocks of a part in quads of channels, after change(block). */
template <int blocks, class Change>
DEVICE void store_quads(const block_acc (&r)[blocks], const struct rows &x, int first, u32 at,
                        Change change)
{
#pragma unroll
    for (int block = 0; block < blocks; block++) {
        if (first + block * BLOCK >= x.dim)
            return;
        block_acc now = r[block];
        change(now);
#pragma unroll
        for (int i = 0; i < ACC; i += 4) {
            const int run = i / RESULT_RUN;
            f32x4 quad;
#pragma unroll
            for (int j = 0; j < 4; j++)
                quad[j] = now[result_element(run, i % RESULT_RUN + j)];
            *(GLOBAL f32x4 *)((GLOBAL char *)x.base + (kernarg_u64)at +
                              ((int)result_channel(block, run, 0) + i % RESULT_RUN) * 4) = quad;
        }
    }
}

/* Stores one result times `factor` as a part of its sum: the wave's columns, block by block. */
template <int blocks>
DEVICE void store_part(const block_acc (&r)[blocks], float factor, const struct rows &x, int count,
                       int first)
{
    u32 lane = lane_id();
    asm volatile("" : "+v"(lane)); /* or channels would be kept from load_owned() on */
    if (WALK_SLABS > 1)            /* or the place of each store would be counted */
        asm volatile("" : "+s"(first));
    const u32 column = lane % BLOCK;
    if ((int)column >= count)
        return;
    const u32 at = column * (u32)x.pitch + ((u32)first + lane / BLOCK * RESULT_RUN) * 4;
#if IN_PAIRS && !LIFTS
    /* The factor is 1: accumulation registers are stored as they are. */
    (void)factor;
    store_quads(r, x, first, at, [](block_acc &block) { asm volatile("" : "+a"(block)); });
#else
    store_quads(r, x, first, at, [&](block_acc &block) { block *= factor; });
#endif
}
#endif

#endif
