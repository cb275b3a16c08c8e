/*
 * The one score term of a kernel in sliced steps: slopes and a bias are where the sums of K Q^T
 * begin, in units of those; soft-cap and a mask come behind the products, pair by pair.
 */
#ifndef AOTHIP_FWD_HALF_TERMS_H
#define AOTHIP_FWD_HALF_TERMS_H

#include "half_softmax.h"
#include "key_tiles.h"
#include "score_runs.h"

constexpr int TERM_BYTES = TERMS_CERTAIN & TERM_BIAS ? 2 : 1;
constexpr int HALF_WORDS = HALF_BLOCKS * ACC * TERM_BYTES / 4;

constexpr int DROP_COUNT = 2;              /* counters whose words are made side by side */
constexpr int DROP_PAIRS = 4 * DROP_COUNT; /* pairs of P that they are for */

#if SLICES_TURN

/* What a run of steps knows of slopes. */
struct half_slopes {
    /* What scores differ by from key to key, less than a block's first pair by its other ones, and
     * from block to block; on the side of the diagonal where the tile is. */
    float slope, block;
    f32x2 pair[ACC / 2 - 1]; /* the same twice: one would be doubled for each tile */
    int first;               /* of struct away, of the tile */
    float own;               /* the same, in this lane */
    /* Tiles to the one that is not the next in memory, but so many keys before that; the number
     * that it would have; and where it is. */
    int until, back, turn;
    struct tile_views turned;
};

#endif

/* What a run of steps knows of the term. */
struct half_terms {
#if SLICES_TURN
    struct half_slopes slopes;
#endif
    /* Dropout: of the next pairs of P all ones for elements that are kept. */
    struct philox_row row;
    u32 thresholds;
    u32 kept[DROP_PAIRS];
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

#if SLICES_TURN

/* To keys on the other side of the diagonal. */
DEVICE void change_side(struct half_slopes &x)
{
    x.slope = -x.slope;
    x.block = -x.block;
#pragma unroll
    for (int i = 0; i < ACC / 2 - 1; i++)
        x.pair[i] = -x.pair[i];
}

/* Before steps the first of which is on the tile that begins with `key`. */
DEVICE void begin_slopes(struct half_slopes &x, const struct terms &t, int key)
{
    const struct scene scene = recall(t);
    const struct away away = away_of(scene, key);
    x.first = away.first;
    x.own = (float)away.own;
    x.slope = scene.slope;
    x.block = uniform_number(-BLOCK * scene.slope);
#pragma unroll
    for (int i = 0; i < ACC / 2 - 1; i++) {
        x.pair[i] = uniform_number((float)-key_step(2 * (i + 1)) * scene.slope);
        asm("" : "+s"(x.pair[i]));
    }
    if (x.first < 0)
        change_side(x);
}

/* The views of the next tile, `tile`. */
DEVICE void turn_views(struct tile_views &next, const struct half_slopes &x, int tile)
{
    const bool turns = tile == x.turn;
    next.k[0].first = turns ? x.turned.k[0].first : next.k[0].first;
    next.v[0].first = turns ? x.turned.v[0].first : next.v[0].first;
}

/* Where the sums of K Q^T of half `which` begin. Behind the second one comes the next tile. */
DEVICE void add_slopes(half_scores &s, struct half_slopes &x, int which)
{
    const float own = which ? x.own - HALF_BLOCKS * BLOCK : x.own;
    const float begin = own * x.slope;
    const f32x2 first = {begin, begin - x.slope};
#pragma unroll
    for (int i = 0; i < ACC; i += 2) {
        const f32x2 pair = i == 0 ? first : first + x.pair[i / 2 - 1];
        s[0][i] = pair.x;
        s[0][i + 1] = pair.y;
    }
#pragma unroll
    for (int block = 1; block < HALF_BLOCKS; block++)
        s[block] = s[block - 1] + x.block;
    if (is_between({x.first, 0})) {
        /* exactly, where scores are the largest */
        const float slope = x.first < 0 ? -x.slope : x.slope;
        f32x2 pair = {own, own - 1};
#pragma unroll
        for (int block = 0; block < HALF_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i += 2) {
                s[block][i] = __builtin_fabsf(pair.x) * slope;
                s[block][i + 1] = __builtin_fabsf(pair.y) * slope;
                pair -= (float)(i + 2 < ACC ? key_step(i + 2) - key_step(i) : BLOCK - key_step(i));
            }
        if (which && x.first >= 0)
            change_side(x);
    }
    if (which == 0)
        return;
    x.first -= KERNEL_TILE_K;
    x.own -= KERNEL_TILE_K;
    if (--x.until == 0) {
        asm volatile(""); /* a branch: selections would be made for each tile */
        const bool behind = x.first < 0;
        x.first += x.back;
        x.own += (float)x.back;
        if (behind != (x.first < 0))
            change_side(x);
    }
}

#endif

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
        const struct attn_problem &a = late_problem();
        x.inside = uniform_number(inside_cap(a, __builtin_fabsf(a.scale)));
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

#if SLICES_DROPOUT

/*
 * Before steps of `count` tiles, the first of which begins with `key`. Returns whether upper words
 * of the workgroup's counters differ in them: they are then to be general ones.
 */
DEVICE bool begin_drops(struct half_terms &x, const struct terms &t, int key, int count)
{
    const struct scene scene = recall(t);
    const struct dropout dropout = dropout_of(late_problem(), scene.number, scene.job.head);
    const kernarg_u64 first =
        dropout.offset + scene.job.first_row * dropout.row_pitch + (u32)key / 8;
    const kernarg_u64 last = dropout.offset + scene.job.last_row * dropout.row_pitch +
                             (u32)key / 8 + (u32)count * (KERNEL_TILE_K / 8);
    const u32 upper = (u32)(first >> 32);
    x.row = begin_row(dropout.seed, first_counter(dropout, scene.job, 0, (u32)key), upper, 2);
    x.thresholds = dropout.thresholds;
    return (u32)(last >> 32) != upper;
}

/* Of the next pairs. */
DEVICE void draw_pairs(struct half_terms &x)
{
    static_assert(counter_step(1) == 2 && counter_step(2) == 4, "a lane has each second counter");
    u32x4 word[DROP_COUNT];
    next_words(word, x.row);
#pragma unroll
    for (int i = 0; i < DROP_COUNT; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            x.kept[(counter_element(i) + j / 2 * 8 + j % 2 * 2) / 2] =
                kept_pair(word[i][j], x.thresholds);
}

/* All ones for elements of P that are not 0: they were kept. Others were not, or are so small that
 * they stay 0 with a shift that is higher. */
DEVICE block_frag kept_already(const block_frag &p)
{
    typedef unsigned short elements __attribute__((ext_vector_type(8)));
    return __builtin_bit_cast(block_frag, __builtin_bit_cast(elements, p) != elements(0));
}

/* Behind a part of the softmax: dropped ones of a pair that it has rounded become 0, and others are
 * drawn where those were the last ones. */
DEVICE void drop_part(struct half_terms &x, struct packed_p &p, int part)
{
    const int pair = part / 2 - 1;
    if (part % 2 == 0)
        return;
    if (pair >= 0 && pair < PAIRS)
        p.frag[pair / 4][pair % 4] &= x.kept[pair % DROP_PAIRS];
    if ((pair + 1) % DROP_PAIRS == 0 && pair + 1 < PAIRS)
        draw_pairs(x);
}

#endif

/* Where the sums of K Q^T of half `which` begin. */
DEVICE void begin_half(half_scores &s, struct half_terms &x, int which)
{
#if SLICES_TURN
    return add_slopes(s, x.slopes, which);
#endif
#pragma unroll
    for (int block = 0; block < HALF_BLOCKS; block++)
#pragma unroll
        for (int i = 0; TERMS_CERTAIN & TERM_BIAS && i < ACC; i += 2) {
            const u32 *word = x.word[which] + block * ACC / 2;
            const f32x2 pair = f32x2{bias_element(word, i), bias_element(word, i + 1)} * x.inverse;
            s[block][i] = pair.x;
            s[block][i + 1] = pair.y;
        }
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
