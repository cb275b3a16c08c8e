/*
 * Where several workgroups share a walk: which part of it one has, and how it stores what it finds.
 * Included behind the walk.
 */
#ifndef AOTHIP_ATTN_BWD_PARTS_H
#define AOTHIP_ATTN_BWD_PARTS_H

#include "gradient_rows.h"

/* Run `run` of the `runs` of about the same length that a walk is cut into. Uniform. */
DEVICE struct walk run_of(struct walk walk, int run, int runs)
{
    const u32 tiles = (u32)(walk.end - walk.begin);
    if (runs == 1)
        return walk;
    return {walk.begin + (int)uniform(tiles * (u32)run / (u32)runs),
            walk.begin + (int)uniform(tiles * ((u32)run + 1) / (u32)runs)};
}

/*
 * What is wanted before the walk and behind it waits in LDS where scalar registers are short, a
 * place for each wave; with lifts beside 256 channels, in vector registers.
 */
#define PARKS_APART (LIFTS && OWNS_KEYS && KERNEL_DIM == 256)
#define PARKS                                                                                      \
    (KERNEL_WAVE == 64 && KERNEL_DTYPE != 1 && (OWNS_KEYS || KERNEL_SCORE) && !PARKS_APART)

enum parking {
    PARKED_PART,
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
                       struct rows_view view, int slab)
{
    store_result(r, factor, x, view, slab);
}
#else
/* Stores one result times `factor` as a part of its sum: the wave's columns, block by block. */
template <int blocks>
DEVICE void store_part(const block_acc (&r)[blocks], float factor, const struct rows &x,
                       struct rows_view view, int first)
{
    u32 lane = lane_id();
    asm volatile("" : "+v"(lane)); /* or channels would be kept from load_owned() on */
    const u32 column = lane % BLOCK;
    if ((int)column >= view.count)
        return;
    GLOBAL char *const at = (GLOBAL char *)view.first + column * x.pitch +
                            (first + (int)(lane / BLOCK) * RESULT_RUN) * 4;
#pragma unroll
    for (int block = 0; block < blocks; block++) {
        if (first + block * BLOCK >= x.dim)
            return;
#pragma unroll
        for (int i = 0; i < ACC; i += 4) {
            const int run = i / RESULT_RUN;
            f32x4 quad;
#pragma unroll
            for (int j = 0; j < 4; j++)
                quad[j] = r[block][result_element(run, i % RESULT_RUN + j)] * factor;
            *(GLOBAL f32x4 *)(at + ((int)result_channel(block, run, 0) + i % RESULT_RUN) * 4) =
                quad;
        }
    }
}
#endif

/* Stores one result times `factor`, rounded, or as a part of its sum. */
template <class R>
DEVICE void store_gradient(const R &r, float factor, const struct rows &x, struct rows_view view,
                           int first, bool part)
{
    if (part)
        store_part(r, factor, x, view, first);
    else
        store_result(r, factor, x, view, first);
}

#endif
