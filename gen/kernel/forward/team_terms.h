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
    u32 which;     /* enum term */
    bool isolates; /* whether V that is not finite was taken for 0 in all tiles */
    float slope;   /* of ALiBi, else 0 */
};

/* Whether bias or mask of a full tile are read before the last part of K is multiplied. Branches
 * there cost RDNA copies of what is on its way. */
#define TERMS_AHEAD (KERNEL_WAVE == 64)

/* What is. */
struct own_ahead {
    u32 word[OWN][ACC / 2]; /* 16-bit bias if there is one, else the mask's bytes */
};

/* They leave scores in natural units. */
enum { TERMS_NATURAL = TERM_CAP | TERM_SLOPE | TERM_BIAS };

/* What a unit of the scores that the softmax sees is, in natural units. */
DEVICE float score_unit(u32 which, const struct attn_problem &a)
{
    return which & TERMS_NATURAL ? 1 : __builtin_fabsf(a.scale);
}

DEVICE struct own_terms own_terms_of(const struct attn_problem &a, const struct sequence &sequence,
                                     const struct job &job)
{
    const u32 which = which_terms(a);
    const float *const slope = (const float *)a.alibi + sequence.number * a.alibi_stride + job.head;
    return {which, false, which & TERM_SLOPE ? *(const_float)slope : 0};
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
    const kernarg_i64 head = sequence.number * x.stride[0] + job.head * x.stride[1];
    return (const GLOBAL char *)x.data +
           (head + row_of_column(job, own_column() + own) * x.stride[2]) * bytes;
}

/* The words of each own block of a bias or a mask: f(own, words). `key` is the tile's first one. */
template <int bytes, bool full, class F>
DEVICE void each_own(const struct kernarg_tensor &x, const struct sequence &sequence,
                     const struct job &job, int key, F f)
{
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const GLOBAL char *row = own_row(x, bytes, sequence, job, own);
        const int first = key + own_keys() * BLOCK;
        u32 word[ACC * bytes / 4];
        if (full)
            load_whole_block<bytes>(word, row + (first + (int)first_key()) * bytes, 0);
        else
            load_block<bytes>(word, row, 0, {first, sequence.seq_k});
        f(own, word);
    }
}

/* Of a full tile: what arrives while the last part of K is multiplied. */
DEVICE void load_own_ahead(struct own_ahead &x, const struct own_terms &t,
                           const struct sequence &sequence, const struct job &job, int key)
{
    const u32 which = which_now(t);
    auto keep = [&](int own, const u32 *word) {
#pragma unroll
        for (int i = 0; i < ACC / 4; i++)
            x.word[own][i] = word[i];
    };
    auto bias = [&](int own, const u32 *word) {
#pragma unroll
        for (int i = 0; i < ACC / 2; i++)
            x.word[own][i] = word[i];
    };
    if ((which & (TERM_BIAS | TERM_BIAS_F32)) == TERM_BIAS)
        each_own<2, true>(late_problem().bias, sequence, job, key, bias);
    else if ((which & (TERM_BIAS | TERM_KEEP)) == TERM_KEEP)
        each_own<1, true>(late_problem().keep, sequence, job, key, keep);
}

/* Changed where it is: what is changed in a branch would otherwise be copied behind it. */
DEVICE void in_place(block_acc (&s)[OWN])
{
#pragma unroll
    for (int own = 0; own < OWN; own++)
        asm("" : "+v"(s[own]));
}

/* s + slope * away, or its magnitude, of keys that `away` is less by key_step() for. */
template <bool magnitude> DEVICE void add_slope(block_acc &s, float away, float slope)
{
    f32x2 pair = {away, away - 1};
#pragma unroll
    for (int i = 0; i < ACC; i += 2) {
        f32x2 far = pair;
        if (magnitude)
            far = {__builtin_fabsf(pair.x), __builtin_fabsf(pair.y)};
        const f32x2 sum = __builtin_elementwise_fma(far, f32x2(slope), f32x2{s[i], s[i + 1]});
        s[i] = sum.x;
        s[i + 1] = sum.y;
        pair -= (float)(i + 2 < ACC ? key_step(i + 2) - key_step(i) : 0);
    }
}

/* s - slope * |row + diagonal - key|; most tiles are on one side of the diagonal. */
DEVICE void add_own_slopes(block_acc (&s)[OWN], float slope, const struct sequence &sequence,
                           const struct job &job, int key)
{
    const int diagonal = sequence.seq_k - sequence.seq_q - key; /* of the tile */
    const int first = job.first_row + (int)TEAM_ID * COLUMNS + diagonal;
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const float away = (float)(row_of_column(job, own_column() + own) + diagonal -
                                   own_keys() * BLOCK - (int)first_key());
        if (first < KERNEL_TILE_K && first > -COLUMNS)
            add_slope<true>(s[own], away, -slope);
        else
            add_slope<false>(s[own], away, first > 0 ? -slope : slope);
    }
    in_place(s);
}

DEVICE void keep_own(block_acc &s, const u32 *word)
{
#pragma unroll
    for (int i = 0; i < ACC; i++)
        if (!(word[i / 4] & 0xffu << 8 * (i % 4)))
            s[i] = -__builtin_inff();
}

/* Products to scores; `key` is the tile's first one. */
template <bool full>
DEVICE void add_own_terms(block_acc (&s)[OWN], const struct own_ahead &ahead,
                          const struct own_terms &t, const struct sequence &sequence,
                          const struct job &job, int key)
{
    const struct attn_problem &a = late_problem();
    if (which_now(t) & TERM_CAP)
#pragma unroll
        for (int own = 0; own < OWN; own++)
            cap_block(s[own], inside_cap(a), a.softcap, a.softcap);
    else if (which_now(t) & TERMS_NATURAL)
#pragma unroll
        for (int own = 0; own < OWN; own++)
            s[own] *= __builtin_fabsf(a.scale);
    in_place(s);
    if (which_now(t) & TERM_SLOPE)
        add_own_slopes(s, t.slope, sequence, job, key);
    auto add = [&](int own, const u32 *word) {
#pragma unroll
        for (int i = 0; i < ACC; i++)
            s[own][i] += bias_element(word, i);
    };
    if (which_now(t) & TERM_BIAS_F32)
        each_own<4, full>(late_problem().bias, sequence, job, key, [&](int own, const u32 *word) {
#pragma unroll
            for (int i = 0; i < ACC; i++)
                s[own][i] += __builtin_bit_cast(float, word[i]);
        });
    else if (which_now(t) & TERM_BIAS && !(full && TERMS_AHEAD))
        each_own<2, full>(late_problem().bias, sequence, job, key, add);
    else if (which_now(t) & TERM_BIAS)
#pragma unroll
        for (int own = 0; own < OWN; own++)
            add(own, ahead.word[own]);
    in_place(s);
    if (!(which_now(t) & TERM_KEEP))
        return;
    if (full && TERMS_AHEAD && !(which_now(t) & TERM_BIAS))
#pragma unroll
        for (int own = 0; own < OWN; own++)
            keep_own(s[own], ahead.word[own]);
    else
        each_own<1, full>(late_problem().keep, sequence, job, key,
                          [&](int own, const u32 *word) { keep_own(s[own], word); });
}

/* Dropped elements of own P, which is in LDS at `place`, become 0: in registers there is no room
 * for it beside random numbers. */
DEVICE void drop_own(u32 place, const struct own_terms &t, const struct sequence &sequence,
                     const struct job &job, int key)
{
    if (!(which_now(t) & TERM_DROPOUT))
        return;
    const struct dropout dropout = dropout_of(late_problem(), sequence.number, job.head);
    const int order[4] = {0, 2, 1, 3}; /* of the words: kernarg.h */
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const kernarg_u64 counter =
            first_counter(dropout, job, own_column() + own, (u32)(key + own_keys() * BLOCK));
        char *const block = k_tile + place + own * KEY_BLOCKS * P_BLOCK_BYTES;
#pragma unroll
        for (int i = 0; i < ACC; i += 4) {
            __builtin_amdgcn_sched_barrier(0);
            const u32x4 word = philox(dropout.seed, counter + key_step(i) / 4);
            u32x2 kept;
#pragma unroll
            for (int j = 0; j < 2; j++) {
                kept[j] = (int)word[order[2 * j]] <= dropout.threshold ? 0xffff0000u : 0xffffffffu;
                kept[j] &= (int)word[order[2 * j + 1]] <= dropout.threshold ? 0xffffu : 0xffffffffu;
            }
            u32x2 *const quad = (u32x2 *)(block + i / 8 * P_GROUP_BYTES + i % 8 / 4 * 8);
            *quad &= kept;
        }
    }
}

#endif
