/*
 * The one score term of a kernel in sliced steps: a bias is where the sums of K Q^T begin, in units
 * of those; soft-cap and a mask come behind the products, pair by pair.
 */
#ifndef AOTHIP_FWD_HALF_TERMS_H
#define AOTHIP_FWD_HALF_TERMS_H

#include "half_softmax.h"
#include "score_runs.h"

enum {
    TERM_BYTES = TERMS_CERTAIN & TERM_BIAS ? 2 : 1,
    HALF_WORDS = HALF_BLOCKS * ACC * TERM_BYTES / 4
};

/* What a run of steps knows of the term. */
struct half_terms {
    float inverse; /* bias: of the scale */
    float inside;  /* soft-cap: what it multiplies by within the exponential function */
    /* What its scores are multiplied by, and what is to be added to them. */
    float factor, added;
    /* Bias and mask: of which tile is read, of those that end with `last`. */
    int key, last;
    u32 word[2][HALF_WORDS];
};

DEVICE float uniform_number(float x)
{
    asm("" : "+v"(x));
    return __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, x)));
}

/* What is read is of the next tile; behind the last one, of that again. */
DEVICE void read_next(struct half_terms &x)
{
    x.key = x.key < x.last ? x.key + KERNEL_TILE_K : x.last;
}

/* Reads a run of keys of half `which` of the tile. */
DEVICE void read_run(struct half_terms &x, const struct terms &t, int which, int block, int i)
{
    const GLOBAL char *at = t.rows[0] + x.key * TERM_BYTES;
    load_whole_run<TERM_BYTES>(x.word[which] + block * (ACC * TERM_BYTES / 4), at,
                               which * HALF_BLOCKS + block, i);
}

DEVICE void read_half(struct half_terms &x, const struct terms &t, int which)
{
#pragma unroll
    for (int block = 0; block < HALF_BLOCKS; block++)
#pragma unroll
        for (int i = 0; i < ACC; i += KEY_RUN)
            read_run(x, t, which, block, i);
}

/* Before steps of `count` tiles, the first of which begins with `key`. */
DEVICE void begin_terms(struct half_terms &x, const struct terms &t, int key, int count)
{
    if (TERMS_CERTAIN & TERM_CAP) {
        x.inside = uniform_number(inside_cap(late_problem()));
        x.added = uniform_number(late_problem().softcap * LOG2_E);
        x.factor = 2 * x.added;
    }
    if (TERMS_CERTAIN & TERM_BIAS) {
        x.inverse = uniform_number(__builtin_amdgcn_rcpf(__builtin_fabsf(late_problem().scale)));
        x.factor = uniform_number(softmax_factor(late_problem().scale));
    }
    if (TERMS_CERTAIN & TERMS_HIDING) {
        x.key = key;
        x.last = key + (count - 1) * KERNEL_TILE_K;
        read_half(x, t, 0);
        read_half(x, t, 1);
    }
}

/* Where the sums of K Q^T of half `which` begin. */
DEVICE void begin_half(half_scores &s, const struct half_terms &x, int which)
{
    float zero = 0;
    asm("" : "+s"(zero)); /* one instruction converts and multiplies, if it also adds */
#pragma unroll
    for (int block = 0; block < HALF_BLOCKS; block++)
#pragma unroll
        for (int i = 0; TERMS_CERTAIN & TERM_BIAS && i < ACC; i++)
            s[block][i] = fused(bias_element(x.word[which] + block * ACC / 2, i), x.inverse, zero);
    if (!(TERMS_CERTAIN & TERM_BIAS))
#pragma unroll
        for (int block = 0; block < HALF_BLOCKS; block++)
            s[block] = zero_acc();
}

/* Of four sums from `i` on, what tanh() is made of, less half of 1 and halved: -1 / (exp(2 x) + 1).
 */
DEVICE void cap_quad(block_acc &s, int i, float inside)
{
    f32x2 low = f32x2{s[i], s[i + 1]} * inside, high = f32x2{s[i + 2], s[i + 3]} * inside;
    low = f32x2{__builtin_amdgcn_exp2f(low.x), __builtin_amdgcn_exp2f(low.y)};
    high = f32x2{__builtin_amdgcn_exp2f(high.x), __builtin_amdgcn_exp2f(high.y)};
    low = -low - 1;
    high = -high - 1;
    s[i] = __builtin_amdgcn_rcpf(low.x);
    s[i + 1] = __builtin_amdgcn_rcpf(low.y);
    s[i + 2] = __builtin_amdgcn_rcpf(high.x);
    s[i + 3] = __builtin_amdgcn_rcpf(high.y);
}

/*
 * A pair of sums becomes one of scores. Where a run of keys ends, that of the next tile is read,
 * which takes the place of what is no longer needed: many reads at once would hold up all waves.
 */
DEVICE void end_pair(half_scores &s, struct half_terms &x, const struct terms &t, int which,
                     int pair)
{
    block_acc &block = s[pair / (ACC / 2)];
    const int i = pair * 2 % ACC;
    if (TERMS_CERTAIN & TERM_CAP && pair % 2 == 0)
        cap_quad(block, i, x.inside);
    if (TERMS_CERTAIN & TERM_KEEP) {
        const u32 *word = x.word[which] + pair / 2;
        const u32 bytes = *word >> 16 * (pair % 2);
        block[i] = bytes & 0xff ? block[i] : -__builtin_inff();
        block[i + 1] = bytes >> 8 & 0xff ? block[i + 1] : -__builtin_inff();
    }
    if (!(TERMS_CERTAIN & TERMS_HIDING))
        return;
    if (which == 0 && pair == 0)
        read_next(x);
    if (pair % 2)
        read_run(x, t, which, pair / (ACC / 2), i - 2);
}

#endif
