/*
 * Attention of 16 query rows by one team of waves, with sums in f32, on keys and values of any
 * type, alignment and dim that come from memory straight into registers. What attn_split's small
 * tiles and attn_fwd_f32 are made of. Products are in f32 (team_products_f32.h) or, of 16-bit
 * types, by their matrix instructions (team_products_16.h).
 *
 * A step takes 16 keys, as in attn_fwd.hip all transposed, a column being a query row:
 *
 *     S^T[16 keys, 16 rows]      = K Q^T     K: a lane has chunks of channels of one key; Q from
 *                                            LDS or registers
 *     P^T                        = exp(S^T - shift)
 *     O^T[channels, 16 rows]    += V^T P^T   V: a lane has a chunk of channels of ACC keys
 *
 * Each byte of K and V is loaded by one lane, 16 bytes at a time, a cache line by neighbouring
 * ones. O^T of more than SLICE channels is shared out to the SLICES waves of a team: each of them
 * loads its channels of K and V, and they add up their parts of S^T through LDS.
 *
 * The softmax keeps a shift for each row, as softmax.h does: it moves only when a score exceeds it
 * by more than SHIFT_LIMIT. Scores are in natural units, and the shift is subtracted
 * before the factor log2(e), so that rows whose every score is near the end of f32's range (a bias
 * of -FLT_MAX on all keys) come out as they should.
 *
 * In blocks of keys that not all rows of the team see, V that is not finite becomes 0 before it
 * meets P. In the rare case that there was any, mark_all() walks over these blocks once more and
 * makes O NaN in the channels of rows that do see it.
 */
#ifndef AOTHIP_ATTN_F32_H
#define AOTHIP_ATTN_F32_H

#include "deal.h"
#include "team_f32_load.h"
#if PRODUCTS_OF_PAIRS
#include "team_products_16.h"
#else
#include "team_products_f32.h"
#endif
#include "philox.h"
#include "score.h"

/* Whether K is loaded only when all of V but one group has been used: where registers are short. */
#define LATE_K (KERNEL_WAVE == 32 && !PRODUCTS_OF_PAIRS)

#define SHIFT_UNSET -3.40282346638528859812e+38f /* no finite score is below it */
/*
 * Scores that exceed the shift by more move it, to so much below the largest one. Of P in f16 the
 * smallest numbers are few, or 0 to gfx90a's products: it is made as large as may be.
 */
#if PRODUCTS_OF_PAIRS && KERNEL_DTYPE == MMA_F16
#define SHIFT_LIMIT 10.0f
#define SHIFT_BELOW 6.0f
#else
#define SHIFT_LIMIT 8.0f
#define SHIFT_BELOW 0.0f
#endif
#define LOG2_E 1.44269504088896340736f
#define LN_2 0.69314718055994530942f

/* This wave's part of O^T, and the softmax of this lane's columns (the same in all their lanes). */
struct column_state {
    block_acc o[V_GROUPS][V_CHUNK];
    float shift;
    float sum; /* of this lane's rows of P^T */
};

DEVICE struct column_state empty_columns()
{
    struct column_state x = {};
    x.shift = SHIFT_UNSET;
    return x;
}

/* What teams have in LDS, one after the other: in the walk and at its end. */
static SHARED union {
    /* Parts of S^T for the rest of the team; two of each, so that one barrier a step is enough. */
    f32x4 part[SLICES > 1 ? 2 * KERNEL_WAVES : 1][ACC / 4][KERNEL_WAVE];
    /* O of a team for another one, where teams have the same rows. */
    __attribute__((aligned(16))) float o[TEAMS > TEAMS_OF_ROWS ? SIDE : 1][Q_PITCH];
} team_rows;

/* The team's waves add up their parts, in the same order each. `turn` alternates. */
DEVICE void add_parts(block_acc &s, const struct wave_job &job, int turn)
{
    if (SLICES == 1)
        return;
    const int first = turn % 2 * KERNEL_WAVES + job.team * SLICES;
#pragma unroll
    for (int i = 0; i < ACC; i += 4)
        team_rows.part[first + job.slice][i / 4][lane_id()] =
            f32x4{s[i], s[i + 1], s[i + 2], s[i + 3]};
    lds_barrier();
    s = 0;
#pragma unroll
    for (int slice = 0; slice < SLICES; slice++)
#pragma unroll
        for (int i = 0; i < ACC; i += 4) {
            const f32x4 part = team_rows.part[first + slice][i / 4][lane_id()];
#pragma unroll
            for (int j = 0; j < 4; j++)
                s[i + j] += part[j];
        }
}

/* Whether all rows of the team see all keys of the block from `key` on, but for terms. */
DEVICE bool is_full(const struct wave_job &job, int key)
{
    return key >= job.full_first && key + SIDE <= job.full_end;
}

/* Products to scores, in place; key 0 is `key`. */
template <class args> DEVICE void make_scores(block_acc &s, const struct wave_job &job, int key)
{
    s *= job.scale;
    if (is_full(job, key) && !needs(job, NEED_TERMS))
        return;
    const struct job_row &at = job.at;
    if (needs(job, NEED_TERMS)) {
        const struct attn_problem &a = late_problem<args>();
        const struct score_terms terms = score_terms_of(a, job.sequence, at.head);
#pragma unroll
        for (int i = 0; i < ACC; i++) {
            int n = key + (int)acc_row(i);
            if (sees(at.visible, (u32)n))
                s[i] = score_of(terms, s[i], at.row, n);
        }
    }
#pragma unroll
    for (int i = 0; i < ACC; i++)
        s[i] = sees(at.visible, (u32)key + acc_row(i)) ? s[i] : -__builtin_inff();
}

/* Dropout of P^T. */
template <class args>
DEVICE void drop_weights(block_acc &p, const struct wave_job &job, const struct job_row &at,
                         int key)
{
    const struct attn_problem &a = late_problem<args>();
    const struct dropout dropout = dropout_of(a, job.sequence.number, at.head);
#pragma unroll
    for (int i = 0; i < ACC; i += 4) {
        u32 kept = kept_quad(dropout, at.row, ((u32)key + acc_row(i)) / 4);
#pragma unroll
        for (int j = 0; j < 4; j++)
            p[i + j] = kept >> j & 1 ? p[i + j] : 0;
    }
}

DEVICE float exponential(float x)
{
    return __builtin_amdgcn_exp2f(x * LOG2_E);
}

/* S^T to P^T in place; moves the shift if it has to. */
DEVICE void make_weights(block_acc &s, struct column_state &x)
{
    float largest = s[0];
#pragma unroll
    for (int i = 1; i < ACC; i++)
        largest = __builtin_fmaxf(largest, s[i]);
    if (in_any_lane(largest - x.shift > SHIFT_LIMIT)) {
        float shift = __builtin_fmaxf(x.shift, column_max(largest) - SHIFT_BELOW);
        float ratio = exponential(x.shift - shift);
        x.shift = shift;
        x.sum *= ratio;
#pragma unroll
        for (int group = 0; group < V_GROUPS; group++)
#pragma unroll
            for (int i = 0; i < V_CHUNK; i++)
                x.o[group][i] *= ratio;
    }
#pragma unroll
    for (int i = 0; i < ACC; i++) {
        s[i] = exponential(s[i] - x.shift);
        x.sum += s[i];
    }
}

/* Where x.o[group][0][i] is among the KERNEL_DIM channels of its row; the chunk goes on from
 * there.
 */
DEVICE int output_chunk(const struct wave_job &job, int group, int i)
{
    return job.slice * SLICE + (group * SIDE + (int)acc_row(i)) * V_CHUNK;
}

/* This lane's channels of O, times `factor`, to a row of floats; zeros of blind rows. */
DEVICE void store_output(GLOBAL float *to, const struct column_state &x, const struct wave_job &job,
                         float factor, bool blind)
{
#pragma unroll
    for (int group = 0; group < V_GROUPS; group++)
#pragma unroll
        for (int i = 0; i < ACC; i++) {
            const int chunk = output_chunk(job, group, i);
            float y[V_CHUNK];
#pragma unroll
            for (int j = 0; j < V_CHUNK; j++)
                y[j] = blind ? 0 : x.o[group][j][i] * factor;
            if (chunk + V_CHUNK <= job.v.dim) {
#pragma unroll
                for (int j = 0; j < V_CHUNK; j += 4)
                    *(f32x4_anywhere *)(to + chunk + j) = f32x4{y[j], y[j + 1], y[j + 2], y[j + 3]};
            } else {
#pragma unroll
                for (int j = 0; j < V_CHUNK; j++) {
                    int c = chunk_channel(chunk, j, V_CHUNK, job.v.dim);
                    if (c >= 0)
                        to[c] = y[j];
                }
            }
        }
}

#if PLAIN_STEPS

/* Blocks of keys from `first` to `last` whose steps are plain: the first keys of the blocks. */
struct plain_blocks {
    int first, last;
};

/* Of steps to the one of the keys from `last_step` on, which has none to load K for; `last` is the
 * last key. */
DEVICE struct plain_blocks plain_blocks_of(const struct wave_job &job, int stride, int last_step,
                                           int last)
{
    const int part = (last + 1) % SIDE; /* of the last block, whose K they must not load then */
    int end = job.full_end - SIDE, loading = last + 1 - part - SIDE;
    loading = part && loading < last_step ? loading : last_step;
    end = loading - stride < end ? loading - stride : end;
    return {job.full_first, job.needs ? -1 : end};
}

/* The steps from `step` on whose keys, `key` and on, end with `end`; K of the first one is there.
 * Returns the step behind them. */
DEVICE int walk_plain(struct column_state &x, const struct wave_job &job, const struct q_block &q,
                      k_load &k, int step, int key, int stride, int end, int last_block)
{
#pragma unroll 1
    for (; key <= end; key += stride, step++) {
        const int next = key + stride;
        v_load v_loaded;
        load_plain_v(v_loaded, job, 0, key);
        block_acc s;
        multiply_kq(s, elements_of<FOR_PLAIN>(job, k), q);
        asm volatile("" : "+v"(s)); /* K loaded before would be copied when it has arrived */
        load_plain_k(k, job, next < last_block ? next : last_block);
#pragma unroll
        for (int group = 1; group < V_GROUPS; group++)
            load_plain_v(v_loaded, job, group, key);
        add_parts(s, job, step);
        s *= job.scale;
        make_weights(s, x);
        const struct b_column p = spread(s);
        v_elements v = elements_of<FOR_PLAIN>(job, v_loaded, 0, V_GROUPS);
#pragma unroll
        for (int group = 0; group < V_GROUPS; group++)
            multiply_vp(x.o[group], v.chunk[group], p);
    }
    return step;
}

#endif

/*
 * The keys first, first + stride, ... below `end`, in blocks of 16. The team's waves, and with
 * SLICES > 1 those of the workgroup, must take equally many steps. What lies beyond the sequence is
 * not seen. Returns whether the wave came across V that is not finite where not all rows see it.
 */
template <class args>
DEVICE bool walk_keys(struct column_state &x, const struct wave_job &job, const struct q_block &q,
                      int first, int stride, int steps)
{
    const int last = job.sequence.seq_k - 1, last_block = last & -SIDE;
    bool isolated = false;
    k_load k;
    if (steps > 0)
        load_k<args>(k, job, first < last_block ? first : last_block, last);
#if PLAIN_STEPS
    const struct plain_blocks plain =
        plain_blocks_of(job, stride, first + (steps - 1) * stride, last);
#endif
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
#if PLAIN_STEPS
        if (first + step * stride >= plain.first)
            step = walk_plain(x, job, q, k, step, first + step * stride, stride, plain.last,
                              last_block);
        if (step == steps)
            break;
#endif
        const int key = first + step * stride, next = key + stride;
        const int block = key < last_block ? key : last_block;
        const int next_block = next < last_block ? next : last_block;
        v_load v_loaded;
        load_v<args>(v_loaded, job, 0, block, last);
        block_acc s;
        multiply_kq(s, elements_of<FOR_ANY>(job, k), q);
        if (LATE_K)
            __builtin_amdgcn_sched_barrier(0);
        if (!LATE_K && step + 1 < steps)
            load_k<args>(k, job, next_block, last);
#pragma unroll
        for (int group = 1; group < V_GROUPS; group++)
            load_v<args>(v_loaded, job, group, block, last);

        add_parts(s, job, step);
        const bool missing = page_is_missing<args>(job, block);
        make_scores<args>(s, job, key);
        if (missing)
            s = -__builtin_inff();
        make_weights(s, x);
        if (needs(job, NEED_DROPOUT))
            drop_weights<args>(s, job, job.at, key);
        const struct b_column p = spread(s);

        v_elements v = elements_of<FOR_ANY>(job, v_loaded, 0, V_GROUPS);
        if (missing || !is_full(job, key) || needs(job, NEED_HIDING))
            isolated |= isolate_v(v, missing);
#pragma unroll
        for (int group = 0; group < V_GROUPS - 1; group++)
            multiply_vp(x.o[group], v.chunk[group], p);
        if (LATE_K && step + 1 < steps)
            load_k<args>(k, job, next_block, last);
        multiply_vp(x.o[V_GROUPS - 1], v.chunk[V_GROUPS - 1], p);
    }
    return isolated;
}

/* This lane's rows of the block of keys from `key` on: 1 where its column sees them, else 0. */
template <class args>
DEVICE block_acc sight_of(const struct wave_job &job, const struct job_row &at, int key)
{
    const struct attn_problem &a = late_problem<args>();
    const struct score_terms terms = score_terms_of(a, job.sequence, at.head);
    block_acc seen = 0;
#pragma unroll
    for (int i = 0; i < ACC; i++) {
        int n = key + (int)acc_row(i);
        if (sees(at.visible, (u32)n) &&
            (!KERNEL_SCORE || score_of(terms, 0, at.row, n) > -__builtin_inff()))
            seen[i] = 1;
    }
    return seen;
}

/* Another walk over the blocks whose V was isolated: a product of who sees it and where it is. */
template <class args>
DEVICE void mark_all(struct column_state &x, const struct wave_job &job, int first, int stride,
                     int steps)
{
    const int last = job.sequence.seq_k - 1;
#pragma unroll
    for (int group = 0; group < V_GROUPS; group++) {
        block_acc marks[V_CHUNK] = {};
#pragma unroll 1
        for (int step = 0; step < steps; step++) {
            const int key = first + step * stride;
            if (key > last || page_is_missing<args>(job, key) ||
                (is_full(job, key) && !needs(job, NEED_HIDING)))
                continue;
            v_load v_loaded;
            load_v<args>(v_loaded, job, group, key, last);
            v_elements v = elements_of<FOR_MARKS>(job, v_loaded, group, group + 1);
#pragma unroll
            for (int t = 0; t < B_OF_C; t++)
#pragma unroll
                for (int i = 0; i < V_WORDS; i++)
                    v.chunk[group][t][i] = select_nonfinite(v.chunk[group][t][i]) & WORD_ONES;
            multiply_vp(marks, v.chunk[group], spread(sight_of<args>(job, job.at, key)));
        }
#pragma unroll
        for (int i = 0; i < V_CHUNK; i++)
#pragma unroll
            for (int j = 0; j < ACC; j++)
                x.o[group][i][j] = marks[i][j] > 0 ? __builtin_nanf("") : x.o[group][i][j];
    }
}

/* Both. */
template <class args>
DEVICE void attend(struct column_state &x, const struct wave_job &job, const struct q_block &q,
                   int first, int stride, int steps)
{
    /* What the walk itself does not need waits in a vector register where scalar ones are short. */
    u32 begin = (u32)first;
    if (KERNEL_WAVE == 64)
        asm volatile("" : "+v"(begin));
    if (walk_keys<args>(x, job, q, first, stride, steps))
        mark_all<args>(x, job, (int)uniform(begin), stride, steps);
}

/* All of a job but its rows and what follows from them. */
DEVICE void begin_job(struct wave_job &job, const struct attn_problem &a,
                      const struct sequence &sequence, int kv_head)
{
    job.sequence = sequence;
    job.k = key_rows_of(a, a.k, a.k_stride, sequence, kv_head, a.dim_qk);
    job.v = key_rows_of(a, a.v, a.v_stride, sequence, kv_head, a.dim_v);
    job.scale = a.scale;
    job.needs =
        uniform((a.block_table ? NEED_PAGES : 0) | (a.dim_qk < CHUNK_ELEMENTS ? NEED_SHORT_K : 0) |
                (a.dim_v < V_CHUNK ? NEED_SHORT_V : 0));
    if (KERNEL_SCORE)
        job.needs |=
            uniform((a.bias.data || a.keep.data || a.alibi || a.softcap > 0 ? NEED_TERMS : 0) |
                    (a.bias.data || a.keep.data ? NEED_HIDING : 0) |
                    (a.flags & KERNARG_DROPOUT ? NEED_DROPOUT : 0));
    if (PRODUCTS_OF_PAIRS || PLAIN_STEPS)
        job.needs |= uniform((a.dim_qk < KERNEL_DIM || is_far(job.k) ? NEED_PART_K : 0) |
                             (a.dim_v < V_CHUNK || is_far(job.v) ? NEED_PART_V : 0));
    job.team = (int)wave_id() / SLICES;
    job.slice = (int)wave_id() % SLICES;
#if KERNEL_WAVE == 64 /* which has too few scalar registers, as wave32 has vector registers */
    asm("" : "+v"(job.scale), "+v"(job.slice));
#endif
#if PLAIN_STEPS
    keep_offsets(job);
#endif
}

/* Which keys a team's rows first .. last all see. */
DEVICE void set_full(struct wave_job &job, int first_row, int last_row)
{
    struct key_interval upper = visible_keys(job.sequence, first_row),
                        lower = visible_keys(job.sequence, last_row);
    job.full_first = (int)lower.first;
    job.full_end = lower.count && upper.count ? (int)(upper.first + upper.count) : 0;
}

/* How a row ends: what its O is multiplied by, its natural lse, and whether it sees no key: O is 0
 * then, whatever it holds. */
struct row_end {
    float factor, lse;
    bool blind;
};

/* `sum` is that of the whole column. */
DEVICE struct row_end end_row(float shift, float sum, float sink, float blind_lse)
{
    const bool has_sink = sink > -__builtin_inff();
    const bool blind = sum == 0;
    float top = has_sink ? __builtin_fmaxf(shift, sink) : shift;
    float weight = exponential(shift - top);
    float total = sum * weight + (has_sink ? exponential(sink - top) : 0);
    return {weight / total,
            blind && !has_sink ? blind_lse : top + __builtin_amdgcn_logf(total) * LN_2, blind};
}

DEVICE float sink_of(const struct attn_problem &a, int head)
{
    typedef const GLOBAL float *floats;
    return a.sinks ? ((floats)a.sinks)[head] : -__builtin_inff();
}

#endif
