/*
 * Score terms and dropout on columns of S^T and P^T, for the fast form: bias and mask as
 * score_load.h reads them. Which terms there are is decided once for a tile, uniformly.
 */
#ifndef AOTHIP_FWD_SCORE_RUNS_H
#define AOTHIP_FWD_SCORE_RUNS_H

#include "score_load.h"

/* What a unit of the scores that the softmax sees is, in natural units. */
DEVICE float score_unit(const struct attn_problem &a)
{
    const bool natural = TERMS_CERTAIN != 0
                             ? (TERMS_CERTAIN & (TERM_BIAS | TERM_CAP)) != 0
                             : KERNEL_SCORE && (a.bias.data || a.alibi || a.softcap > 0);
    return natural ? 1 : __builtin_fabsf(a.scale);
}

/* Element i of 16-bit ones. */
DEVICE float bias_element(const u32 *word, int i)
{
#if KERNEL_DTYPE == MMA_F16
    return (float)__builtin_bit_cast(f16x2, word[i / 2])[i % 2];
#else
    return __builtin_bit_cast(float, i % 2 ? word[i / 2] & 0xffff0000u : word[i / 2] << 16);
#endif
}

DEVICE float fused(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}

/*
 * Elements that are capped together: on RDNA 3 what is alike and side by side is issued two as one.
 * Kernels for all terms have no registers for more than two; on RDNA 4 it takes longer.
 */
#if FOLDS_TERMS && !defined(__GFX12__)
#define CAP_BLOCKS 1
typedef block_acc cap_run;
#else
#define CAP_BLOCKS 0
typedef f32x2 cap_run;
#endif
enum { CAP_RUN = sizeof(cap_run) / sizeof(float) };

DEVICE cap_run side_by_side(cap_run x)
{
#if CAP_BLOCKS
    asm("" : "+v"(x));
#endif
    return x;
}

/*
 * s becomes softcap * tanh(s * scale / softcap); where shifts are given, less those and as
 * exponents of 2: tanh(x) = 1 - 2 / (exp(2 x) + 1).
 */
DEVICE void cap_scores(score_blocks &s, const struct attn_problem &a,
                       const struct softmax_state *softmax = nullptr)
{
    const float inside = 2 * LOG2_E * __builtin_fabsf(a.scale) / a.softcap;
    const float unit = softmax ? LOG2_E : 1, cap = a.softcap * unit;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const float most = softmax ? fused(-unit, softmax[column].shift, cap) : cap;
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i += CAP_RUN) {
                block_acc &x = s[column][block];
                cap_run run;
#pragma unroll
                for (int j = 0; j < CAP_RUN; j++)
                    run[j] = x[i + j];
                run = side_by_side(run * inside);
#pragma unroll
                for (int j = 0; j < CAP_RUN; j++)
                    run[j] = __builtin_amdgcn_exp2f(run[j]);
                run = side_by_side(side_by_side(run) + 1);
#pragma unroll
                for (int j = 0; j < CAP_RUN; j++)
                    run[j] = __builtin_amdgcn_rcpf(run[j]);
                run =
                    side_by_side(__builtin_elementwise_fma(run, cap_run(-2 * cap), cap_run(most)));
#pragma unroll
                for (int j = 0; j < CAP_RUN; j++)
                    x[i + j] = run[j];
            }
    }
}

/* How far from the diagonal: of keys on both sides of it, or on one, where the slope has its sign.
 */
enum distance { DISTANCE_ABSOLUTE, DISTANCE_SIGNED };

/* s becomes s * unit - slope * |row + diagonal - key|; if not `scaled`, s itself plus that. */
template <enum distance distance, bool scaled>
DEVICE void add_slopes(score_blocks &s, float unit, float slope, int diagonal)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        float away = (float)(diagonal + column * BLOCK);
        asm("" : "+v"(away)); /* one at a time: not a constant for each */
        f32x2 pair = {away, away - 1};
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i += 2) {
                block_acc &x = s[column][block];
                f32x2 sum = {x[i], x[i + 1]};
                if (scaled)
                    sum *= unit;
                f32x2 far = pair;
                if (distance == DISTANCE_ABSOLUTE)
                    far = {__builtin_fabsf(pair.x), __builtin_fabsf(pair.y)};
                sum = __builtin_elementwise_fma(far, f32x2(slope), sum);
                x[i] = sum.x;
                x[i + 1] = sum.y;
                pair -= (float)(i + 2 < ACC ? key_step(i + 2) - key_step(i) : BLOCK - key_step(i));
            }
    }
}

/* From the tile's first key to that on the diagonal: in the wave's first row, and this lane's, and
 * from its own first key. */
struct away {
    int first, own;
};

DEVICE struct away away_of(const struct scene &scene, int key)
{
    u32 thread = thread_id();
    asm volatile("" : "+v"(thread)); /* computed here, and not kept in a register */
    const int first =
        scene.job.first_row + (int)uniform(thread / KERNEL_WAVE) * COLUMNS + scene.diagonal - key;
    const int own = first + (int)(thread % BLOCK) - (int)(thread % KERNEL_WAVE / BLOCK * KEY_RUN);
    return {first, own};
}

/* Whether keys of the tile are on both sides of it. */
DEVICE bool is_between(const struct away &x)
{
    return x.first < KERNEL_TILE_K && x.first > -COLUMNS;
}

/*
 * s becomes s * unit - slope * |row + diagonal - key|; without other terms it stays in units of the
 * scale.
 */
DEVICE void slope_scores(score_blocks &s, float unit, const struct terms &t, int key)
{
    const struct scene scene = recall(t);
    if (TERMS_CERTAIN == 0)
        return add_slopes<DISTANCE_ABSOLUTE, true>(s, unit, slope_of(late_problem(), scene),
                                                   row_of_column(scene.job, 0) + scene.diagonal -
                                                       (int)first_key() - key);
    const struct away away = away_of(scene, key);
    if (is_between(away))
        return add_slopes<DISTANCE_ABSOLUTE, false>(s, unit, scene.slope, away.own);
    add_slopes<DISTANCE_SIGNED, false>(s, unit, away.first < 0 ? -scene.slope : scene.slope,
                                       away.own);
}

/* Whether the rows of bias and mask are found anew, but for what is read ahead. */
#define ROWS_ANEW (TERMS_CERTAIN == 0 || FOLDS_TERMS)

/*
 * Calls f(column, block, its words) for each block of bias or mask. Those of all blocks at once
 * would be too many registers.
 */
template <int bytes, bool whole, class F>
DEVICE void walk_blocks(const struct kernarg_tensor &x, const struct terms &t,
                        const struct term_tile &tile, F f)
{
    const GLOBAL char *rows[Q_BLOCKS];
    if (ROWS_ANEW)
        find_rows(rows, x, bytes, recall(t));
#pragma unroll
    for (int column = 0; !ROWS_ANEW && column < Q_BLOCKS; column++)
        rows[column] = t.rows[column] - first_key() * (u32)bytes;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++) {
            u32 word[ACC * bytes / 4];
            __builtin_amdgcn_sched_barrier(0);
            if (whole)
                load_whole_block<bytes>(word, rows[column] + (tile.key + (int)first_key()) * bytes,
                                        block);
            else
                load_block<bytes>(word, rows[column], block, tile);
            f(column, block, word);
        }
}

/*
 * The same; whether the tile exists whole is found out where not `whole`. Where the bias of
 * wave64's long tiles is read ahead there are no registers for both ways.
 */
template <int bytes, bool whole, class F>
DEVICE void each_block(const struct kernarg_tensor &x, const struct terms &t,
                       const struct term_tile &tile, F f)
{
    const bool asks = ROWS_ANEW || STAGE_DIM > 64 || KEY_BLOCKS <= 2;
    if (whole || (asks && tile.key + KERNEL_TILE_K <= tile.seq_k))
        return walk_blocks<bytes, true>(x, t, tile, f);
    walk_blocks<bytes, false>(x, t, tile, f);
}

/* s becomes s * unit + bias */
template <bool whole>
DEVICE void bias_scores(score_blocks &s, float unit, const struct ahead &ahead,
                        const struct terms &t, const struct term_tile &tile)
{
    auto add = [&](int column, int block, const u32 *word) {
#pragma unroll
        for (int i = 0; i < ACC; i++)
            s[column][block][i] = fused(s[column][block][i], unit, bias_element(word, i));
    };
    if (has(t, TERM_BIAS_F32)) {
        each_block<4, whole>(
            late_problem().bias, t, tile, [&](int column, int block, const u32 *word) {
#pragma unroll
                for (int i = 0; i < ACC; i++)
                    s[column][block][i] =
                        fused(s[column][block][i], unit, __builtin_bit_cast(float, word[i]));
            });
    } else if (!whole) {
        each_block<2, whole>(late_problem().bias, t, tile, add);
    } else {
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
            for (int block = 0; block < KEY_BLOCKS; block++)
                add(column, block, ahead.word[column] + block * ACC / 2);
    }
}

/* Scores whose byte of the mask is 0 become -infinity. */
DEVICE void hide_block(block_acc &s, const u32 *bytes)
{
#pragma unroll
    for (int i = 0; i < ACC; i++)
        s[i] = bytes[i / 4] >> 8 * (i % 4) & 0xff ? s[i] : -__builtin_inff();
}

template <bool whole>
DEVICE void hide_scores(score_blocks &s, const struct ahead &ahead, const struct terms &t,
                        const struct term_tile &tile)
{
    if (whole && has(t, TERM_KEEP_COMMON) && all_kept(ahead.common))
        return;
    if (whole && keep_ahead(t)) {
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
            for (int block = 0; block < KEY_BLOCKS; block++)
                hide_block(s[column][block], ahead.word[column] + block * ACC / 4);
        return;
    }
    each_block<1, whole>(late_problem().keep, t, tile, [&](int column, int block, const u32 *word) {
        hide_block(s[column][block], word);
    });
}

/* Scores, q . k at first, as the softmax takes them, whose unit is then score_unit(). */
template <bool whole>
DEVICE void add_terms(score_blocks &s, const struct ahead &ahead, const struct terms &t,
                      const struct term_tile &tile)
{
    if (!has(t, TERM_CAP | TERM_SLOPE | TERM_BIAS | TERM_KEEP))
        return;
    float unit = __builtin_fabsf(late_problem().scale);
    if (has(t, TERM_CAP)) {
        cap_scores(s, late_problem());
        unit = 1;
    }
    if (has(t, TERM_SLOPE)) {
        slope_scores(s, unit, t, tile.key);
        unit = 1;
    }
    if (has(t, TERM_BIAS))
        bias_scores<whole>(s, unit, ahead, t, tile);
    if (has(t, TERM_KEEP))
        hide_scores<whole>(s, ahead, t, tile);
}

DEVICE void drop_tile(score_blocks &p, const struct terms &t, int key)
{
    const struct scene scene = recall(t);
    drop_tile(p, dropout_of(late_problem(), scene.number, scene.job.head), scene.job, (u32)key);
}

#if FOLDS_TERMS

/*
 * The term of a fast step on RDNA, in kernels for one term. What is added to the scores is where
 * the sums of K Q^T begin, in units of those and less the shift, so that behind the products only
 * the factor is left:
 *
 *     S = (bias + slope - shift) / |scale| + K Q^T,    P = exp2(S * |scale| * log2(e))
 *
 * Soft-cap comes behind the products, and takes the shift off, too. The bias has arrived when the
 * step begins. The kernels for bias are not for scales near 0 (select.c). A mask comes behind the
 * products, too, as a bound of each exponent: whatever that is, be it NaN, P of a hidden key is 0.
 */

/* The softmax's factor for fast steps. */
DEVICE float fast_factor_of(const struct attn_problem &a)
{
    return softmax_factor(TERMS_CERTAIN & TERM_CAP ? 1 : a.scale);
}

DEVICE void splat_scores(score_blocks &s, const float (&begin)[Q_BLOCKS])
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
            s[column][block] = begin[column];
}

/* Of keys on one side of the diagonal: `away` is how far the lane's first one is from it. */
DEVICE void fall_away(score_blocks &s, const float (&begin)[Q_BLOCKS], float slope, int away)
{
    /* Sums with a scalar register can be issued two as one, fused operations cannot. */
    float twice = -2 * slope;
    asm("" : "+v"(twice));
    const float step = __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, twice)));
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        float own = fused((float)away, slope, begin[column]);
        asm("" : "+v"(own)); /* for all blocks of keys */
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++) {
            const float first =
                column == block ? own : fused((float)((column - block) * BLOCK), slope, own);
            f32x2 pair = {first, first - slope};
            block_acc x;
#pragma unroll
            for (int i = 0; i < ACC; i += 2) {
                x[i] = pair.x;
                x[i + 1] = pair.y;
                pair += step;
            }
            s[column][block] = x;
        }
    }
}

/* As slope_scores() of kernels for slopes alone, of sums that begin. */
DEVICE void begin_slopes(score_blocks &s, const float (&begin)[Q_BLOCKS], const struct terms &t,
                         int key)
{
    const struct scene scene = recall(t);
    const struct away away = away_of(scene, key);
    if (!is_between(away))
        return fall_away(s, begin, away.first < 0 ? -scene.slope : scene.slope, away.own);
    splat_scores(s, begin);
    add_slopes<DISTANCE_ABSOLUTE, false>(s, 1, scene.slope, away.own);
}

DEVICE void begin_bias(score_blocks &s, const float (&begin)[Q_BLOCKS], float unit,
                       const struct ahead &ahead)
{
    splat_scores(s, begin); /* as whole vectors, lest the compiler make a single one of all */
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i++)
                s[column][block][i] = fused(bias_element(ahead.word[column] + block * ACC / 2, i),
                                            unit, s[column][block][i]);
}

/* A mask's bytes as bounds of exponents: times the one, plus the other. */
#define BOUND_STEP 0x1.8p127f
#define BOUND_NONE -0x1p127f

/* Scores become exponents: where the mask's byte is 0, such that P is. */
DEVICE void bound_exponents(score_blocks &s, const struct ahead &ahead, float factor)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++) {
            const u32 *word = ahead.word[column] + block * ACC / 4;
            block_acc bound;
#pragma unroll
            for (int i = 0; i < ACC; i++)
                bound[i] = (float)(word[i / 4] >> 8 * (i % 4) & 0xff);
            bound = __builtin_elementwise_fma(bound, block_acc(BOUND_STEP), block_acc(BOUND_NONE));
            s[column][block] = __builtin_elementwise_min(s[column][block] * factor, bound);
            asm("" : "+v"(s[column][block])); /* block by block, for the registers */
        }
}

/* What the products are added to. */
DEVICE void begin_with_term(score_blocks &s, const struct softmax_state (&softmax)[Q_BLOCKS],
                            const struct ahead &ahead, const struct terms &t, int key)
{
    if (TERMS_CERTAIN & TERM_CAP)
        return clear_scores(s);
    const float inverse = TERMS_CERTAIN & TERM_BIAS
                              ? __builtin_amdgcn_rcpf(__builtin_fabsf(late_problem().scale))
                              : 1;
    float begin[Q_BLOCKS];
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        begin[column] = -softmax[column].shift;
        if (TERMS_CERTAIN & TERM_BIAS) /* not infinite, which a bias may be, too */
            begin[column] = __builtin_fminf(begin[column] * inverse, 0x1p126f);
    }
    if (TERMS_CERTAIN & TERM_SLOPE)
        begin_slopes(s, begin, t, key);
    else if (TERMS_CERTAIN & TERM_BIAS)
        begin_bias(s, begin, inverse, ahead);
    else
        splat_scores(s, begin);
}

/* Dropout of a fast step. */
struct drops {
    struct dropout dropout;
    struct philox_run run[Q_BLOCKS];
};

/* Returns whether counters' upper words differ in the tile, which is then for a general step. */
DEVICE bool begin_drops(struct drops &x, const struct terms &t, int key)
{
    const struct scene scene = recall(t);
    bool differ = false;
    x.dropout = dropout_of(late_problem(), scene.number, scene.job.head);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const kernarg_u64 counter = first_counter(x.dropout, scene.job, column, (u32)key);
        differ |= (u32)counter > 0xffffffffu - KERNEL_TILE_K / 4;
        x.run[column] = begin_philox(x.dropout.seed, counter);
    }
    return differ;
}

/* As drop_tile(). */
DEVICE void drop_run(score_blocks &p, const struct drops &x)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i += 4) {
                __builtin_amdgcn_sched_barrier(0); /* few at a time, for the registers */
                drop_quad(p[column][block], i, x.dropout,
                          philox_at(x.run[column], x.dropout.seed,
                                    (u32)(block * BLOCK + key_step(i)) / 4));
            }
}

#endif

#endif
