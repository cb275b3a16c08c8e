/*
 * Which part of a launch a workgroup has: the order of the workgroups, compiled into the kernels
 * (HIP) and into its test (C11).
 *
 * gfx942 and gfx950 have eight XCDs, each with a level-2 cache of its own, to which the workgroups
 * of a launch are dealt in turn: number i goes to XCD i % 8 (AMD's Composable Kernel remaps its
 * tiles for that reason, and IREE's guide to these GPUs says the same). The query heads of a key
 * head, which read the same keys, are therefore numbered such that they meet in as few XCDs as may
 * be, while those of one tile of queries are spread evenly: with a causal mask it is the tiles that
 * differ in work.
 *
 *     All but heads_k % 8 of the key heads are on one XCD each, number head % 8 of the order,
 *     whatever the tile: the tile's heads_q workgroups are taken eight at a time.
 *     The others, that is all where there are fewer than eight, follow with the key head as the
 *     fastest index, and so are on 8 / gcd(heads_k, 8) XCDs.
 *
 * In the order of the heads, 64 query heads of 8 key heads, or 28 of 4, would have every key head
 * on all XCDs. Workgroups of attn_split that read the same keys, but other rows, meet likewise.
 *
 * Other GPUs have one level-2 cache, and the heads in their order. On RDNA, a launch of more
 * workgroups than run at once has them in runs of `heads_x`, one after the other along z: the tiles
 * of few heads at a time, so that K and V come from memory once, not once for each few tiles.
 *
 * With a causal mask the heads of all sequences may be taken tile by tile, and the tiles go along
 * z: where sequences come one after the other, the longest tiles of the last begin late.
 */
#ifndef AOTHIP_DEAL_H
#define AOTHIP_DEAL_H

#include "kernarg.h"

#ifdef __HIP__
#define DEALT static __attribute__((device)) inline __attribute__((always_inline))
#define DEAL_UNIFORM(x) __builtin_amdgcn_readfirstlane(x)
#else
#define DEALT static inline
#define DEAL_UNIFORM(x) (x)
#endif

/* n / d, where the kernel has no shorter way to it. */
#ifndef DEAL_QUOTIENT
#define DEAL_QUOTIENT(n, d) DEAL_UNIFORM((n) / (d))
#endif

#if defined(__gfx942__) || defined(__gfx950__) || !defined(__HIP__)
#define DEAL_TO_XCDS 1
#else
#define DEAL_TO_XCDS 0
#endif

#if defined(__GFX11__) || defined(__GFX12__)
#define DEAL_IN_RUNS 1
#else
#define DEAL_IN_RUNS 0
#endif

/* Whether a division by 1 is worth a branch. */
#if defined(STARTS_LEAN)
#define DEAL_ALONE_APART STARTS_LEAN
#else
#define DEAL_ALONE_APART 0
#endif

enum { DEAL_XCDS = 8 };

/* One of those that share keys, and of which ones. */
struct deal_member {
    kernarg_u32 unit, member;
};

/* Workgroup `number` of all, number `at` of units * members that begin anywhere. */
DEALT struct deal_member deal_member(kernarg_u32 number, kernarg_u32 at, kernarg_u32 units,
                                     kernarg_u32 members)
{
    const kernarg_u32 whole = units / DEAL_XCDS * DEAL_XCDS, end = whole * members;
    const int early = at < end;
    const kernarg_u32 rank = early ? at / DEAL_XCDS : at - end;
    const kernarg_u32 width = early ? members : units - whole;
    const int divides = !DEAL_ALONE_APART || width > 1;
    const kernarg_u32 row = divides ? DEAL_QUOTIENT(rank, width) : rank;
    const kernarg_u32 rest = rank - row * width;
    struct deal_member to;
    to.unit = early ? row * DEAL_XCDS + number % DEAL_XCDS : whole + rest;
    to.member = early ? rest : row;
    return to;
}

/* What a workgroup has: a tile, counted in the order in which they start, and heads. */
struct deal {
    kernarg_u32 tile, kv_head;
    kernarg_u32 part; /* the query head, or the number of the split */
};

/*
 * Number of a workgroup in a launch whose tiles go along z. Of one whose tiles go along x, the XCDs
 * of a sequence are numbered from any of them on.
 */
DEALT kernarg_u32 deal_number(const struct attn_problem *a, kernarg_u32 x, kernarg_u32 y,
                              kernarg_u32 z)
{
    return x + (kernarg_u32)a->heads_x * (y + (kernarg_u32)a->batch * z);
}

/* The first tile of a z that tiles go along. */
DEALT kernarg_u32 deal_tile(const struct attn_problem *a, kernarg_u32 z)
{
    return a->flags & KERNARG_TILES_ALONG_Z ? z : 0;
}

/* attn_fwd, attn_bwd_dq: workgroup x, y, z */
DEALT struct deal deal_queries(const struct attn_problem *a, kernarg_u32 x, kernarg_u32 y,
                               kernarg_u32 z)
{
    const kernarg_u32 heads = (kernarg_u32)a->heads_x, group = (kernarg_u32)a->group;
    struct deal to;
    to.tile = DEAL_QUOTIENT(x, heads);
    to.part = x - to.tile * heads;
    to.tile += deal_tile(a, z);
    (void)y;
#if DEAL_TO_XCDS
    const kernarg_u32 number = deal_number(a, x, y, z), heads_k = (kernarg_u32)a->heads_k;
    const struct deal_member head = deal_member(number, to.part, heads_k, group);
    to.kv_head = head.unit;
    to.part = head.unit * group + head.member;
#else
#if DEAL_IN_RUNS
    to.part += z * (kernarg_u32)a->heads_z;
#endif
    to.kv_head = DEAL_QUOTIENT(to.part, group);
#endif
    return to;
}

/* attn_bwd_dkdv: the same for groups of one. */
DEALT struct deal deal_keys(const struct attn_problem *a, kernarg_u32 x, kernarg_u32 y,
                            kernarg_u32 z)
{
    const kernarg_u32 heads = (kernarg_u32)a->heads_x;
    struct deal to;
    to.tile = DEAL_QUOTIENT(x, heads);
    to.kv_head = x - to.tile * heads;
    to.part = 0;
    to.tile += deal_tile(a, z);
    (void)y;
#if DEAL_TO_XCDS
    const kernarg_u32 first = to.kv_head / DEAL_XCDS * DEAL_XCDS;
    if (first + DEAL_XCDS <= heads)
        to.kv_head = first + deal_number(a, x, y, z) % DEAL_XCDS;
#elif DEAL_IN_RUNS
    to.kv_head += z * (kernarg_u32)a->heads_z;
#endif
    return to;
}

/* attn_split, whose keys are those of a key head and a split. */
DEALT struct deal deal_splits(const struct attn_problem *a, kernarg_u32 x, kernarg_u32 tiles,
                              kernarg_u32 splits)
{
    const kernarg_u32 heads_k = (kernarg_u32)a->heads_k;
    struct deal to;
#if DEAL_TO_XCDS
    const struct deal_member tile = deal_member(x, x, heads_k * splits, tiles);
    to.tile = tile.member;
    to.kv_head = DEAL_QUOTIENT(tile.unit, splits);
    to.part = tile.unit - to.kv_head * splits;
#else
    const kernarg_u32 heads = DEAL_QUOTIENT(x, splits);
    to.tile = DEAL_QUOTIENT(heads, heads_k);
    to.kv_head = heads - to.tile * heads_k;
    to.part = x - heads * splits;
    (void)tiles;
#endif
    return to;
}

#endif
