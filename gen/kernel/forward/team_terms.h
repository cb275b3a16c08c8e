/*
 * Score terms and dropout, any that there are, for team_form.h: each wave adds terms to its own
 * blocks of S^T, and drops of its own P.
 */
#ifndef AOTHIP_TEAM_TERMS_H
#define AOTHIP_TEAM_TERMS_H

#include "score_load.h"
#include "soft_cap.h"
#include "team_softmax.h"

/* Of the terms of a workgroup. Uniform. */
struct own_terms {
    u32 which;          /* TERM_CAP and so on */
    bool isolates;      /* whether V that is not finite was taken for 0 in all tiles */
    float slope;        /* of ALiBi, else 0; where heads are packed, of the first of them */
    kernarg_u64 common; /* a mask's row that all queries share; else something that exists */
#if KERNEL_SCALES
    float scale = 1; /* |scale|, with that of K */
#endif
};

/* Whether bias or mask of a full tile are read before the last part of K is multiplied. Branches
 * there cost RDNA copies of what is on its way. */
#define TERMS_AHEAD (KERNEL_WAVE == 64)

/* What is. */
struct own_ahead {
    u32 word[OWN][ACC / 2]; /* 16-bit bias if there is one, else the mask's bytes */
    u32 common;             /* a mask's byte of one key, where all queries have the same */
};

/* They leave scores in natural units. */
constexpr int TERMS_NATURAL = TERM_CAP | TERM_SLOPE | TERM_BIAS;

/* What a unit of the scores that the softmax sees is, in natural units. */
DEVICE float score_unit(u32 which, const struct attn_problem &a, const struct sequence &sequence,
                        const struct job &job)
{
    (void)sequence, (void)job;
    return which & TERMS_NATURAL ? 1 : SCORE_SCALE(a, sequence, job);
}

DEVICE struct own_terms own_terms_of(const struct attn_problem &a, const struct sequence &sequence,
                                     const struct job &job)
{
    const u32 which = which_terms(a);
    const float *const slope = (const float *)a.alibi + sequence.number * a.alibi_stride + job.head;
    const kernarg_i64 keep = sequence.number * a.keep.stride[0] + job.head * a.keep.stride[1];
    struct own_terms terms = {which, false, which & TERM_SLOPE ? *(const_float)slope : 0,
                              which & TERM_KEEP_COMMON ? a.keep.data + keep : a.q};
#if KERNEL_SCALES
    terms.scale = SCORE_SCALE(a, sequence, job);
#endif
    return terms;
}

/* Tested where it matters: what follows from it is not kept. */
DEVICE u32 which_now(const struct own_terms &t)
{
    u32 which = t.which;
    asm volatile("" : "+s"(which));
    return which;
}

/* Row of an own block's column of a bias or a mask, at key 0. */
DEVICE const GLOBAL char *own_row(const struct kernarg_tensor &x, int bytes,
                                  const struct sequence &sequence, const struct job &job, int own)
{
    const int column = own_column() + own;
    const kernarg_i64 head =
        sequence.number * x.stride[0] + head_of_column(job, column) * x.stride[1];
    return (const GLOBAL char *)x.data + (head + row_of_column(job, column) * x.stride[2]) * bytes;
}

/* The words of one own block of a bias or a mask. `key` is the tile's first one. */
template <int bytes, bool full>
DEVICE void load_own(u32 *word, const struct kernarg_tensor &x, const struct sequence &sequence,
                     const struct job &job, int key, int own)
{
    const GLOBAL char *row = own_row(x, bytes, sequence, job, own);
    const int first = key + own_keys() * BLOCK;
    if (full)
        load_whole_block<bytes>(word, row + (first + (int)first_key()) * bytes, 0);
    else
        load_block<bytes>(word, row, 0, {first, sequence.seq_k});
}

/* What all queries share of a mask, of one key a lane: those of all lanes are a tile. Where
 * branches cost copies, it is something else that exists where there is no such mask. */
DEVICE void load_own_common(struct own_ahead &x, const struct own_terms &t, u32 which, int key)
{
    static_assert(COMMON == 1, "a byte a lane");
    const bool common = which & TERM_KEEP_COMMON;
    u32 lane = lane_id();
    asm volatile("" : "+v"(lane)); /* computed here, and not kept in a register */
    if (!TERMS_AHEAD || common)
        x.common = ((const GLOBAL unsigned char *)t.common)[common ? (u32)key + lane : 0];
}

/* Of a full tile: what arrives while the last part of K is multiplied. */
DEVICE void load_own_ahead(struct own_ahead &x, const struct own_terms &t,
                           const struct sequence &sequence, const struct job &job, int key)
{
    const u32 which = which_now(t);
    load_own_common(x, t, which, key);
    if (!TERMS_AHEAD)
        return;
#pragma unroll
    for (int own = 0; own < OWN; own++)
        if ((which & (TERM_BIAS | TERM_BIAS_F32)) == TERM_BIAS)
            load_own<2, true>(x.word[own], late_problem().bias, sequence, job, key, own);
        else if ((which & (TERM_BIAS | TERM_KEEP | TERM_KEEP_COMMON)) == TERM_KEEP)
            load_own<1, true>(x.word[own], late_problem().keep, sequence, job, key, own);
}

/* Own blocks of S^T element by element: where branches meet, a whole block would be copied. */
#if KERNEL_WAVE == 32
typedef float own_scores[OWN][ACC];
#else
typedef block_acc own_scores[OWN];
#endif

/* Calls f(score, own, i) for each of them, which becomes what that returns. */
template <class F> DEVICE void each_score(own_scores &s, F f)
{
#pragma unroll
    for (int own = 0; own < OWN; own++)
#pragma unroll
        for (int i = 0; i < ACC; i++)
            s[own][i] = f(s[own][i], own, i);
}

/* The same with the words of a bias or a mask: f(score, its own block's words, i). */
template <int bytes, bool full, class F>
DEVICE void each_own(own_scores &s, const struct kernarg_tensor &x, const struct sequence &sequence,
                     const struct job &job, int key, F f)
{
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        u32 word[ACC * bytes / 4];
        load_own<bytes, full>(word, x, sequence, job, key, own);
#pragma unroll
        for (int i = 0; i < ACC; i++)
            s[own][i] = f(s[own][i], word, i);
    }
}

/* s * unit + slope * away, or its magnitude, of keys that `away` is less by key_step() for. */
template <bool magnitude>
DEVICE void add_slopes(own_scores &s, float unit, float slope, const float (&away)[OWN])
{
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        f32x2 pair = {away[own], away[own] - 1};
#pragma unroll
        for (int i = 0; i < ACC; i += 2) {
            f32x2 far = pair;
            if (magnitude)
                far = {__builtin_fabsf(pair.x), __builtin_fabsf(pair.y)};
            f32x2 sum = {s[own][i], s[own][i + 1]};
            sum = __builtin_elementwise_fma(far, f32x2(slope), sum * unit);
            s[own][i] = sum.x;
            s[own][i + 1] = sum.y;
            pair -= (float)(i + 2 < ACC ? key_step(i + 2) - key_step(i) : 0);
        }
    }
}

#if KERNEL_SPLIT

/* s * unit - slope * |row + diagonal - key|; each row has the slope of its head. */
DEVICE void add_own_slopes(own_scores &s, float unit, float, const struct sequence &sequence,
                           const struct job &job, int key)
{
    const struct attn_problem &a = late_problem();
    const GLOBAL float *const slopes =
        (const GLOBAL float *)a.alibi + sequence.number * a.alibi_stride;
    const int diagonal = sequence.seq_k - sequence.seq_q - key - own_keys() * BLOCK;
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const struct row_place at = place_of_column(job, own_column() + own);
        const float away = (float)(at.row + diagonal - (int)first_key()), slope = slopes[at.head];
#pragma unroll
        for (int i = 0; i < ACC; i++)
            s[own][i] = fused(-slope, __builtin_fabsf(away - key_step(i)), s[own][i] * unit);
    }
}

#else

/* s * unit - slope * |row + diagonal - key|; most tiles are on one side of the diagonal. */
DEVICE void add_own_slopes(own_scores &s, float unit, float slope, const struct sequence &sequence,
                           const struct job &job, int key)
{
    const int diagonal = sequence.seq_k - sequence.seq_q - key; /* of the tile */
    const int first = job.first_row + (int)TEAM_ID * COLUMNS + diagonal;
    float away[OWN];
#pragma unroll
    for (int own = 0; own < OWN; own++)
        away[own] = (float)(row_of_column(job, own_column() + own) + diagonal - own_keys() * BLOCK -
                            (int)first_key());
    if (first < KERNEL_TILE_K && first > -COLUMNS)
        add_slopes<true>(s, unit, -slope, away);
    else
        add_slopes<false>(s, unit, first > 0 ? -slope : slope, away);
}

#endif

DEVICE float keep_score(float s, u32 kept)
{
    return kept ? s : -__builtin_inff();
}

/* By a mask that all queries share. Most tiles are kept whole. */
DEVICE void keep_common(own_scores &s, u32 common)
{
    const kernarg_u64 kept = __builtin_amdgcn_ballot_w64((common & 0xff) != 0);
    if (kept == (KERNEL_WAVE == 64 ? ~0ull : 0xffffffffull))
        return;
    const u32 own_kept = (u32)(kept >> own_keys() * BLOCK) >> first_key();
    each_score(s, [&](float s, int, int i) { return keep_score(s, own_kept & 1u << key_step(i)); });
}

DEVICE void cap_own(own_scores &s, const struct attn_problem &a, float scale)
{
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        block_acc capped;
#pragma unroll
        for (int i = 0; i < ACC; i++)
            capped[i] = s[own][i];
        cap_block(capped, inside_cap(a, scale), a.softcap, a.softcap);
#pragma unroll
        for (int i = 0; i < ACC; i++)
            s[own][i] = capped[i];
    }
}

/*
 * Waits for products of wave64 where all ways still are one: where they have met again, a compiler
 * that counts wait states back may have seen the longest of them alone.
 */
DEVICE void await_products(const block_acc (&products)[OWN])
{
#pragma unroll
    for (int own = 0; KERNEL_WAVE == 64 && own < OWN; own++)
        asm volatile("" ::"s"(uniform(__builtin_bit_cast(u32, (float)products[own][0]))));
}

/*
 * Products to scores; `key` is the tile's first one. A single term of a full tile has a way of its
 * own: where one branch comes after the other, each costs a copy of the scores.
 */
template <bool full>
DEVICE void add_own_terms(block_acc (&products)[OWN], const struct own_ahead &ahead,
                          const struct own_terms &t, const struct sequence &sequence,
                          const struct job &job, int key)
{
    const struct attn_problem &a = late_problem();
    const u32 which = which_now(t) & ~TERM_DROPOUT;
#if KERNEL_SCALES
    const float scale = t.scale;
#else
    const float scale = __builtin_fabsf(a.scale);
#endif
    const auto keep = [&](float s, const u32 *word, int i) {
        return keep_score(s, word[i / 4] & 0xffu << 8 * (i % 4));
    };
    own_scores s;
    await_products(products);
    each_score(s, [&](float, int own, int i) { return products[own][i]; });

    if (full && which == 0) {
        /* dropout alone, which is of P */
    } else if (full && which == (TERM_KEEP | TERM_KEEP_COMMON)) {
        keep_common(s, ahead.common);
    } else if (full && which == TERM_SLOPE) {
        add_own_slopes(s, scale, t.slope, sequence, job, key);
    } else if (full && which == TERM_CAP) {
        cap_own(s, a, scale);
    } else if (full && which == TERM_BIAS) {
        if (TERMS_AHEAD)
            each_score(s, [&](float s, int own, int i) {
                return fused(s, scale, bias_element(ahead.word[own], i));
            });
        else
            each_own<2, true>(s, a.bias, sequence, job, key, [&](float s, const u32 *word, int i) {
                return fused(s, scale, bias_element(word, i));
            });
    } else if (full && which == TERM_KEEP) {
        if (TERMS_AHEAD)
            each_score(s, [&](float s, int own, int i) { return keep(s, ahead.word[own], i); });
        else
            each_own<1, true>(s, a.keep, sequence, job, key, keep);
    } else {
        if (which & TERM_CAP)
            cap_own(s, a, scale);
        else if (which & TERMS_NATURAL)
            each_score(s, [&](float s, int, int) { return s * scale; });
        if (which & TERM_SLOPE)
            add_own_slopes(s, 1, t.slope, sequence, job, key);
        if (which & TERM_BIAS_F32)
            each_own<4, full>(s, a.bias, sequence, job, key, [&](float s, const u32 *word, int i) {
                return s + __builtin_bit_cast(float, word[i]);
            });
        else if (which & TERM_BIAS && full && TERMS_AHEAD)
            each_score(
                s, [&](float s, int own, int i) { return s + bias_element(ahead.word[own], i); });
        else if (which & TERM_BIAS)
            each_own<2, full>(s, a.bias, sequence, job, key, [&](float s, const u32 *word, int i) {
                return s + bias_element(word, i);
            });
        if (which & TERM_KEEP_COMMON && full)
            keep_common(s, ahead.common);
        else if (which & TERM_KEEP)
            each_own<1, full>(s, a.keep, sequence, job, key, keep);
    }

    each_score(s, [&](float s, int own, int i) { return products[own][i] = s; });
}

/* Dropped elements of own P, which is in LDS at `place`, become 0: in registers there is no room
 * for it beside random numbers. */
DEVICE void drop_own(u32 place, const struct own_terms &t, const struct sequence &sequence,
                     const struct job &job, int key)
{
    if (!(which_now(t) & TERM_DROPOUT))
        return;
#if !KERNEL_SPLIT
    const struct dropout dropout = dropout_of(late_problem(), sequence.number, job.head);
#endif
    const bool upper = own_keys() * BLOCK & 16; /* half of what a counter is for */
#pragma unroll
    for (int own = 0; own < OWN; own++) {
#if KERNEL_SPLIT
        const struct dropout dropout =
            dropout_of(late_problem(), sequence.number, head_of_column(job, own_column() + own));
#endif
        const kernarg_u64 counter =
            first_counter(dropout, job, own_column() + own, (u32)(key + own_keys() * BLOCK));
        char *const block = k_tile + place + own * KEY_BLOCKS * P_BLOCK_BYTES;
#pragma unroll
        for (int n = 0; n < 2; n++) {
            __builtin_amdgcn_sched_barrier(0);
            const u32x4 word = philox(dropout.seed, counter + counter_step(n));
#pragma unroll
            for (int i = 4 * n; i < ACC; i += 8) {
                const bool last = BLOCK == 32 ? i >= 8 : upper;
                const u32x2 kept = {kept_pair(last ? word.z : word.x, dropout.thresholds),
                                    kept_pair(last ? word.w : word.y, dropout.thresholds)};
                u32x2 *const quad = (u32x2 *)(block + i / 8 * P_GROUP_BYTES + i % 8 / 4 * 8);
                *quad &= kept;
            }
        }
    }
}

#endif
