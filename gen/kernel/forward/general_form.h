/*
 * The forward kernel's general form: any dims, strides and alignment, pages, score terms, dropout.
 *
 * Beyond 128 channels, K comes to LDS in parts of 128, whose products add up to S, and O is
 * computed in parts of 128 channels, each with a walk of its own over the keys; Q is there whole.
 * One step of a walk:
 *
 *     K, V to LDS         V of the tile before has been read by all
 *     barrier
 *     S = K Q^T           and so on for further parts of K, between barriers
 *     score terms, softmax, dropout
 *     O += V^T P^T
 *
 * The softmax keeps a running maximum of the scores themselves. They may be as low as the lowest
 * float (a mask given as bias), which a factor would make infinite: so the difference comes first,
 * exp2((S - maximum) * factor).
 */
#ifndef AOTHIP_FWD_ANY_H
#define AOTHIP_FWD_ANY_H

#include "mma.h"
#include "cargo_any.h"
#include "query_rows.h"
#include "score_columns.h"

/*
 * Score terms, one element at a time, wherever it lies. Which of them there are is decided once for
 * a column, not for an element.
 */

/* Whether the scores are more than scale * q . k. */
DEVICE bool has_terms(const struct attn_problem &a)
{
    return KERNEL_SCORE && (a.bias.data || a.keep.data || a.alibi || a.softcap > 0);
}

/* What a unit of the scores that the softmax sees is, in natural units. */
DEVICE float score_unit(const struct attn_problem &a)
{
    return has_terms(a) ? 1 : __builtin_fabsf(a.scale);
}

/* Calls f(score, row, key) for each of this lane's scores; beyond the last key, with that one. */
template <class F>
DEVICE void each_score(score_blocks &s, const struct sequence &sequence, const struct job &job,
                       u32 key, F f)
{
    int last = sequence.seq_k - 1;
    asm volatile("" : "+s"(last)); /* lest the keys of one call be kept in registers for another */
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const int row = row_of_column(job, column);
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i++) {
                /* Few at a time: the addresses of all would not fit the registers. */
                if (i % 4 == 0)
                    __builtin_amdgcn_sched_barrier(0);
                int n = (int)(key + block * BLOCK + first_key()) + key_step(i);
                s[column][block][i] = f(s[column][block][i], row, n < last ? n : last);
            }
    }
}

/* `key` is the tile's first one. */
DEVICE void score_tile(score_blocks &s, const struct attn_problem &a,
                       const struct sequence &sequence, const struct job &job, u32 key)
{
    if (!has_terms(a))
        return;
    const struct score_terms t = score_terms_of(a, sequence, job.head);
    const float scale = __builtin_fabsf(a.scale);
    each_score(s, sequence, job, key, [&](float s, int, int) { return s * scale; });
    if (t.softcap > 0)
        each_score(s, sequence, job, key,
                   [&](float s, int, int) { return t.softcap * tanh_of(s * t.softcap_inverse); });
    if (t.slope != 0)
        each_score(s, sequence, job, key, [&](float s, int m, int n) {
            return s - t.slope * __builtin_fabsf((float)(m + t.diagonal - n));
        });
    if (t.bias && t.bias_f32)
        each_score(s, sequence, job, key, [&](float s, int m, int n) {
            return s + *(const GLOBAL float *)(t.bias + m * t.bias_row + n * t.bias_key);
        });
    else if (t.bias)
        each_score(s, sequence, job, key, [&](float s, int m, int n) {
            return s + bias_as_q(t.bias + m * t.bias_row + n * t.bias_key);
        });
    if (t.keep)
        each_score(s, sequence, job, key, [&](float s, int m, int n) {
            const GLOBAL char *at = (const GLOBAL char *)t.keep + m * t.keep_row;
            return at[n * t.keep_key] ? s : -__builtin_inff();
        });
}

/* One column. Both halves agree on the maximum; -infinity before any key is seen. */
struct running {
    float maximum;
    partial_sum sum; /* of this lane's rows, of exp2((S - maximum) * factor + SOFTMAX_BIAS) */
};

struct progress {
    struct queries q;
    struct running running[Q_BLOCKS];
    output_blocks o;
    bool isolated; /* whether this wave carried V that was not finite where not all see it */
};

#if KERNEL_CACHE
typedef with_fp8<struct attn_fwd_args> fwd_args;
#else
typedef struct attn_fwd_args fwd_args;
#endif

struct keys {
    struct key_rows k, v;
};

DEVICE struct keys keys_of(const struct attn_problem &a, const struct sequence &sequence,
                           const struct job &job)
{
#if KERNEL_CACHE
    const struct fp8_reader reader = fp8_reader_of(late_arguments<fwd_args>().fp8.dtype);
    return {{a, a.k_stride, sequence, a.k, job.kv_head, a.dim_qk, reader},
            {a, a.v_stride, sequence, a.v, job.kv_head, a.dim_v, reader}};
#else
    return {{a, a.k_stride, sequence, a.k, job.kv_head, a.dim_qk},
            {a, a.v_stride, sequence, a.v, job.kv_head, a.dim_v}};
#endif
}

DEVICE void bring_k(const struct keys &keys, int tile, int stage)
{
    stage_k(k_tile, keys.k, tile * KERNEL_TILE_K, stage * STAGE_DIM);
}

DEVICE bool bring_v(const struct keys &keys, int tile, int part, bool isolate)
{
    return stage_v(vt_tile, keys.v, tile * KERNEL_TILE_K, part * STAGE_DIM, isolate);
}

#if KERNEL_CACHE
/* Products of codes to those of what they stand for. */
DEVICE void scale_products(score_blocks &s, const struct sequence &sequence, const struct job &job)
{
    const float scale =
        fp8_scale_of_scores(late_arguments<fwd_args>().fp8, sequence.number, job.kv_head);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
            s[column][block] *= scale;
}
#endif

/* Takes the tile's scores into the maximum; rescales what was summed so far. S to P in place. */
DEVICE void add_scores(struct running &x, block_acc (&o)[DIM_BLOCKS], block_acc (&s)[KEY_BLOCKS],
                       float factor)
{
    float largest = column_max(s);
    largest = __builtin_fmaxf(x.maximum, __builtin_fmaxf(largest, other_half(largest)));
    float base = largest == -__builtin_inff() ? 0 : largest;
    float ratio = __builtin_amdgcn_exp2f((x.maximum - base) * factor);
    x.maximum = largest;
    x.sum *= ratio;
#pragma unroll
    for (int block = 0; block < DIM_BLOCKS; block++)
        o[block] *= ratio;
#pragma unroll
    for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
        for (int i = 0; i < ACC; i += 2) {
            f32x2 pair = {s[block][i], s[block][i + 1]};
            pair =
                __builtin_elementwise_fma(pair - f32x2(base), f32x2(factor), f32x2(SOFTMAX_BIAS));
            pair.x = __builtin_amdgcn_exp2f(pair.x);
            pair.y = __builtin_amdgcn_exp2f(pair.y);
            x.sum += pair;
            s[block][i] = begin_round(pair.x);
            s[block][i + 1] = begin_round(pair.y);
        }
}

DEVICE void bring_tile(struct progress &x, const struct job &job, const struct sequence &sequence,
                       int tile, int part, bool full)
{
    const struct attn_problem &a = late_problem();
    const struct sequence here = computed_here(sequence);
    const struct keys keys = keys_of(a, here, job);
    bring_k(keys, tile, 0);
    x.isolated |= bring_v(keys, tile, part, !full || hides_keys(a));
}

/*
 * `full`: all queries of the workgroup see all keys of the tile. The arguments are read anew
 * again and again: all of them would not fit the scalar registers.
 */
DEVICE void step(struct progress &x, const struct job &job, const struct sequence &sequence,
                 const struct key_interval *visible, int tile, int part, bool full)
{
    u32 key = (u32)tile * KERNEL_TILE_K;
    score_blocks s;

    lds_barrier();
    bring_tile(x, job, sequence, tile, part, full);
    lds_barrier();
    clear_scores(s);
    multiply_kq(s, x.q, 0);
#pragma unroll
    for (int stage = 1; stage < STAGES; stage++) {
        const struct attn_problem &a = late_problem();
        if (stage * STAGE_DIM >= a.dim_qk)
            break;
        lds_barrier();
        const struct sequence here = computed_here(sequence);
        bring_k(keys_of(a, here, job), tile, stage);
        lds_barrier();
        multiply_kq(s, x.q, stage);
    }
#if KERNEL_CACHE
    scale_products(s, computed_here(sequence), job);
#endif
    if (KERNEL_SCORE)
        score_tile(s, late_problem(), computed_here(sequence), job, key);
    if (!full)
        mask_scores(s, visible, key);
    if (KERNEL_PAGED)
        hide_pages(s, missing_pages(late_problem(), computed_here(sequence), (int)key));
    const float factor = score_unit(late_problem());
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        add_scores(x.running[column], x.o[column], s[column], softmax_factor(factor));
    if (KERNEL_SCORE && late_problem().flags & KERNARG_DROPOUT)
        drop_tile(s, dropout_of(late_problem(), computed_here(sequence).number, job.head), job,
                  key);
    multiply_vp(x.o, s);
}

/* Another walk over the tiles whose V was isolated, for O to tell who sees it. */
DEVICE void mark_all(struct progress &x, const struct job &job, const struct sequence &sequence,
                     const struct key_interval *visible, const struct key_walk &walk, int part)
{
    const int count = computed_here(walk.count);
    const struct attn_problem &a = late_problem();
    const struct keys keys = keys_of(a, sequence, job);
    const bool hides = hides_keys(a);
    int tile = walk.first;
#pragma unroll 1
    for (int i = 0; i < count; i++, tile = next_tile(walk, tile)) {
        if (i <= walk.fast_count && !hides)
            continue; /* full */
        lds_barrier();
        bring_v(keys, tile, part, false);
        note_nonfinite(vt_tile, k_tile);
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++) {
            struct sight sight = sight_of(visible[column], (u32)tile * KERNEL_TILE_K);
            if (hides)
                blind_sight(sight, late_problem(), sequence, job, column, tile * KERNEL_TILE_K);
            mark_o(x.o[column], k_tile, sight);
        }
    }
}

/* Divides part `part` of O by the sum, rounds and stores it; the first part writes lse too. */
DEVICE void finish(const struct progress &x, const struct job &job, const struct sequence &sequence,
                   const fwd_args &args, int part)
{
    const struct attn_problem &a = args.problem;
    const struct slice slice =
        slice_of(args.o, args.o_stride, sequence.batch_q, sequence.start_q, job.head, a.dim_v);
    struct tile_view view = {row_at(slice, job.first_row), rows_of(job)};
    float keep = KERNEL_SCORE && a.flags & KERNARG_DROPOUT ? a.dropout_scale : 1;
#if KERNEL_CACHE
    keep *= fp8_scale(args.fp8.v, sequence.number, job.kv_head);
#endif
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        u32 row = wave_id() * COLUMNS + column * BLOCK + lane_column();
        const struct running &running = x.running[column];
        float sum = total(running.sum);
        sum = (sum + other_half(sum)) * SOFTMAX_UNBIAS;
        /* Not -infinity times a scale of 0. */
        float top = sum == 0 ? -__builtin_inff() : running.maximum * score_unit(a);
        struct column_end end = end_column(top, sum, a, job.head);
        store_o(x.o[column], end.inverse * SOFTMAX_UNBIAS * keep, end.blind, view, slice, row,
                (u32)part * STAGE_DIM);
        if (part == 0)
            store_lse(args, sequence, job, row, end.lse);
    }
}

/*
 * Up to how many waves a SIMD may hold: registers are given out for as many, and no more. With one,
 * 256 channels on CDNA, whose rows allow 512 registers, would get more than half of them.
 */
#if KERNEL_WAVE == 64 && KERNEL_DIM == 256
#define WAVES_MOST 2
#else
#define WAVES_MOST KERNEL_WAVES_PER_EU
#endif

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, WAVES_MOST))) void
KERNEL_SYMBOL(fwd_args args)
{
    const struct attn_problem &a = args.problem;
    struct sequence sequence;
    struct job job;
    if (KERNEL_SCORE)
        write_seed_once(a, args);
    if (!find_job(a, sequence, job))
        return;

    struct progress p;
    load_q(p.q, job, sequence, late_problem());
    struct key_walk walk = plan_walk(sequence, job.first_row, job.last_row);
    struct key_interval visible[Q_BLOCKS];
    find_visible(visible, sequence, job);

#pragma unroll 1
    for (int part = 0; part < STAGES && part * STAGE_DIM < late_problem().dim_v; part++) {
        const int count = computed_here(walk.count);
        p.isolated = false;
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++) {
            p.running[column] = {-__builtin_inff(), {}};
#pragma unroll
            for (int block = 0; block < DIM_BLOCKS; block++)
                p.o[column][block] = {};
        }
        int tile = walk.first;
#pragma unroll 1
        for (int i = 0; i < count; i++, tile = next_tile(walk, tile))
            step(p, job, sequence, visible, tile, part, i <= walk.fast_count);
        lds_barrier();
        if (any_wave(p.isolated))
            mark_all(p, computed_here(job), computed_here(sequence), visible, walk, part);
        finish(p, computed_here(job), computed_here(sequence), late_arguments<fwd_args>(), part);
    }
}

#endif
