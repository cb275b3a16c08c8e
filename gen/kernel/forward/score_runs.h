/*
 * Score terms and dropout on columns of S^T and P^T, for the fast form: bias and mask as
 * score_load.h reads them. Which terms there are is decided once for a tile, uniformly.
 */
#ifndef AOTHIP_FWD_SCORE_RUNS_H
#define AOTHIP_FWD_SCORE_RUNS_H

#include "score_load.h"
#include "soft_cap.h"

/* What a unit of the scores that the softmax sees is, in natural units. */
DEVICE float score_unit(const struct attn_problem &a, const struct sequence &sequence,
                        const struct job &job)
{
    const bool natural = TERMS_CERTAIN != 0
                             ? (TERMS_CERTAIN & (TERM_BIAS | TERM_CAP)) != 0
                             : KERNEL_SCORE && (a.bias.data || a.alibi || a.softcap > 0);
    (void)sequence, (void)job;
    return natural ? 1 : SCORE_SCALE(a, sequence, job);
}

/* How far from the diagonal: of keys on both sides of it, or on one, where the slope has its sign.
 */
enum distance { DISTANCE_ABSOLUTE, DISTANCE_SIGNED };

/* s becomes s * unit - slope * |row + diagonal - key|; if not `scaled`, s itself plus that. */
template <enum distance distance, bool scaled, class number>
DEVICE void add_slopes(score_blocks &s, float unit, float slope, number diagonal)
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
    if (SLICES_TURN || is_between(away)) /* general steps are few then, and registers short */
        return add_slopes<DISTANCE_ABSOLUTE, false>(s, unit, scene.slope, away.own);
    add_slopes<DISTANCE_SIGNED, false>(s, unit, away.first < 0 ? -scene.slope : scene.slope,
                                       away.own);
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
                for (int i = 0; i < ACC; i += 2) {
                    const f32x2 bias = {__builtin_bit_cast(float, word[i]),
                                        __builtin_bit_cast(float, word[i + 1])};
                    block_acc &x = s[column][block];
                    const f32x2 sum =
                        __builtin_elementwise_fma(f32x2{x[i], x[i + 1]}, f32x2{unit, unit}, bias);
                    x[i] = sum.x;
                    x[i + 1] = sum.y;
                }
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

/*
 * Scores whose byte of the mask is 0 become -infinity. Those of wave64 at once: answers for many
 * keys would wait for it in scalar registers.
 */
DEVICE void hide_block(block_acc &s, const u32 *bytes)
{
#pragma unroll
    for (int i = 0; i < ACC; i += 4) {
        const u32 word = bytes[i / 4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            s[i + j] = word >> 8 * j & 0xff ? s[i + j] : -__builtin_inff();
        if (KERNEL_WAVE == 64 && KERNEL_SCORE == SCORE_KEEP)
            asm volatile("" : "+v"(s[i]), "+v"(s[i + 1]), "+v"(s[i + 2]), "+v"(s[i + 3]));
    }
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
    float unit = scale_of(late_problem(), t);
    if (has(t, TERM_CAP)) {
        const struct attn_problem &a = late_problem();
        cap_scores(s, inside_cap(a, scale_of(a, t)), a.softcap);
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
    drop_tile(p, dropout_of(late_problem(), scene.number, head_of_column(scene.job)), scene.job,
              (u32)key);
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
 * products, too, as a bound of each exponent or, on RDNA 3, a factor of each P: whatever that is,
 * be it NaN, P of a hidden key is 0.
 */

/* What fast steps want of their term beside what is read, in scalar registers. */
struct folded {
    /* What scores differ by: from key to key, less than a block's first pair by its other ones, and
     * from the first block to the others; all on the side of the diagonal that `sign` tells. */
    float slope, pair[ACC / 2 - 1], block[KEY_BLOCKS];
    u32 sign;
    int first;         /* of struct away, of the next tile to come */
    float own;         /* the same, in this lane */
    float inside, cap; /* of cap_scores() */
    float inverse;     /* of the scale; not on RDNA 4, where it costs more than it spares */
};

/* In a scalar register. Operations issued two as one can share one of those only. */
DEVICE float uniform_float(float x)
{
    asm("" : "+v"(x));
    return __builtin_bit_cast(float, uniform(__builtin_bit_cast(u32, x)));
}

DEVICE float flipped(float x, u32 sign)
{
    return __builtin_bit_cast(float, __builtin_bit_cast(u32, x) ^ sign);
}

DEVICE float inverse_scale()
{
    return __builtin_amdgcn_rcpf(__builtin_fabsf(late_problem().scale));
}

/* To keys on the other side of the diagonal, or those that are as far from it on this one. */
DEVICE void take_side(struct folded &x, u32 sign)
{
    const u32 change = x.sign ^ sign;
    x.sign = sign;
    x.slope = flipped(x.slope, change);
#pragma unroll
    for (int i = 0; i < ACC / 2 - 1; i++)
        x.pair[i] = flipped(x.pair[i], change);
#pragma unroll
    for (int i = 1; i < KEY_BLOCKS; i++)
        x.block[i] = flipped(x.block[i], change);
}

/* Before fast steps, the first of which is of the tile that begins with `key`. */
DEVICE void begin_folding(struct folded &x, const struct terms &t, int key)
{
    if (TERMS_CERTAIN & TERM_SLOPE) {
        const struct scene scene = recall(t);
        const struct away away = away_of(scene, key);
        x.sign = 0;
        x.slope = scene.slope;
#pragma unroll
        for (int i = 0; i < ACC / 2 - 1; i++)
            x.pair[i] = uniform_float((float)(-2 * (i + 1)) * scene.slope);
#pragma unroll
        for (int i = 1; i < KEY_BLOCKS; i++)
            x.block[i] = uniform_float((float)(-BLOCK * i) * scene.slope);
        take_side(x, away.first < 0 ? 0x80000000 : 0);
        x.first = away.first;
        x.own = (float)away.own;
    }
    if (TERMS_CERTAIN & TERM_CAP) {
        const struct attn_problem &a = late_problem();
        x.inside = uniform_float(inside_cap(a, __builtin_fabsf(a.scale)));
        x.cap = uniform_float(late_problem().softcap * LOG2_E);
    }
    if (TERMS_CERTAIN & TERM_BIAS && !MMA_STRAIGHT)
        x.inverse = uniform_float(inverse_scale());
}

/* To a tile whose first key is as many before that of the next one. */
DEVICE void move_folding(struct folded &x, int keys, u32 sign)
{
    x.first += keys;
    x.own += (float)keys;
    take_side(x, sign);
}

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

/* Of keys on one side of the diagonal: `away`, how far the lane's first one is from it. */
DEVICE void fall_away(score_blocks &s, const float (&begin)[Q_BLOCKS], const struct folded &x,
                      float away)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const float far = column == 0 ? away : away + (float)(column * BLOCK);
        const float own = fused(far, x.slope, begin[column]);
        const f32x2 first = {own, own - x.slope};
        block_acc sums;
#pragma unroll
        for (int i = 0; i < ACC; i += 2) {
            const f32x2 pair = i == 0 ? first : first + x.pair[i / 2 - 1];
            sums[i] = pair.x;
            sums[i + 1] = pair.y;
        }
        asm("" : "+v"(sums)); /* in neighbouring registers, for two operations as one */
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
            s[column][block] = block == 0 ? sums : sums + x.block[block];
    }
}

/* As slope_scores() of kernels for slopes alone, of sums that begin. */
DEVICE void begin_slopes(score_blocks &s, const float (&begin)[Q_BLOCKS], struct folded &x)
{
    const int first = x.first;
    const float own = x.own;
    x.first -= KERNEL_TILE_K;
    x.own -= KERNEL_TILE_K;
    fall_away(s, begin, x, own);
    if (!is_between({first, 0})) /* without an else, which would cost a branch more */
        return;
    float here[Q_BLOCKS];
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        here[column] = begin[column];
        if (!MMA_STRAIGHT) /* a vector of it for each block would be made before the loop */
            asm volatile("" : "+v"(here[column]));
    }
    splat_scores(s, here);
    add_slopes<DISTANCE_ABSOLUTE, false>(s, 1, flipped(x.slope, x.sign), own);
    take_side(x, 0x80000000); /* the next ones are behind it */
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

#if FAST_SPREAD

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

#else

/* The product, where one is 0, be the other NaN or infinite, 0. Clang has no name for it. */
extern "C" __attribute__((device, const)) float
multiply_legacy(float, float) __asm("llvm.amdgcn.fmul.legacy");

/* As exponentiate(); P where the mask's byte is 0 becomes 0, whatever it is. */
DEVICE partial_sum exponentiate_kept(block_acc (&s)[KEY_BLOCKS], const u32 *words, float factor)
{
    partial_sum sum = {};
#pragma unroll
    for (int block = 0; block < KEY_BLOCKS; block++) {
        const u32 *word = words + block * ACC / 4;
        block_acc &p = s[block];
        block_acc mask;
        p *= factor;
        asm("" : "+v"(p));
#pragma unroll
        for (int i = 0; i < ACC; i++) {
            const float byte = (float)(word[i / 4] >> 8 * (i % 4) & 0xff);
            p[i] = __builtin_amdgcn_exp2f(p[i]);
            mask[i] = __builtin_amdgcn_fmed3f(byte, 0, 1);
        }
        asm("" : "+v"(p), "+v"(mask));
#pragma unroll
        for (int i = 0; i < ACC; i++)
            p[i] = multiply_legacy(p[i], mask[i]);
        asm("" : "+v"(p));
#pragma unroll
        for (int i = 0; i < ACC; i += 2) {
            sum += f32x2{p[i], p[i + 1]};
            if (P_IN_LDS) /* as in exponentiate() */
                asm("" : "+v"(sum));
            p[i] = begin_round(p[i]);
            p[i + 1] = begin_round(p[i + 1]);
        }
    }
    return sum;
}

#endif

/* What the products are added to. */
DEVICE void begin_with_term(score_blocks &s, const struct softmax_state (&softmax)[Q_BLOCKS],
                            const struct ahead &ahead, struct folded &x)
{
    if (TERMS_CERTAIN & TERM_CAP)
        return clear_scores(s);
    float inverse = 1;
    if (TERMS_CERTAIN & TERM_BIAS)
        inverse = MMA_STRAIGHT ? inverse_scale() : x.inverse;
    float begin[Q_BLOCKS];
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        begin[column] = -softmax[column].shift;
        if (TERMS_CERTAIN & TERM_BIAS) /* not infinite, which a bias may be, too */
            begin[column] = __builtin_fminf(begin[column] * inverse, 0x1p126f);
    }
    if (TERMS_CERTAIN & TERM_SLOPE)
        begin_slopes(s, begin, x);
    else if (TERMS_CERTAIN & TERM_BIAS)
        begin_bias(s, begin, inverse, ahead);
    else
        splat_scores(s, begin);
}

#endif

/*
 * Dropout of fast steps, in kernels for it alone on RDNA: what stays the same along the keys is
 * found once before them, and the words of several counters are made side by side.
 */

/* What fast steps want of dropout. All but the runs, which are of the next tile, is uniform. */
struct drops {
    kernarg_u64 seed;
    u32 thresholds;
    struct philox_run run[Q_BLOCKS];
};

constexpr int DROP_RUN = DROP_COUNTERS < 4 ? DROP_COUNTERS : 4; /* side by side */

/*
 * Before fast steps of so many tiles, the first of which begins with `key`. Returns whether upper
 * words of counters differ in them: their steps are then to be general ones.
 */
DEVICE bool begin_drops(struct drops &x, const struct terms &t, int key, int tiles)
{
    const struct scene scene = recall(t);
    const struct dropout dropout = dropout_of(late_problem(), scene.number, scene.job.head);
    const u32 most = 0xffffffffu - (u32)tiles * (KERNEL_TILE_K / 8);
    bool differ = false;
    x.seed = dropout.seed;
    x.thresholds = dropout.thresholds;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const kernarg_u64 counter = first_counter(dropout, scene.job, column, (u32)key);
        differ |= (u32)counter > most;
        x.run[column] = begin_philox(dropout.seed, counter);
    }
    return in_any_lane(differ);
}

/* As drop_tile(). */
DEVICE void drop_run(score_blocks &p, struct drops &x)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
#pragma unroll
        for (int first = 0; first < DROP_COUNTERS; first += DROP_RUN) {
            u32 further[DROP_RUN];
            u32x4 word[DROP_RUN];
#pragma unroll
            for (int i = 0; i < DROP_RUN; i++)
                further[i] = (u32)counter_step(first + i);
            philox_words(word, x.run[column], x.seed, further);
#pragma unroll
            for (int i = 0; i < DROP_RUN; i++)
                drop_eight(p[column], first + i, x.thresholds, word[i]);
            __builtin_amdgcn_sched_barrier(0); /* few at a time, for the registers */
        }
        x.run[column].x += (kernarg_u64)(KERNEL_TILE_K / 8) * PHILOX_X;
    }
}

#endif
