/*
 * Score terms and dropout on columns of S^T and P^T: score.h and philox.h for what a lane holds.
 * Which of them there are is decided once for a column, not for an element.
 */
#ifndef AOTHIP_FWD_SCORE_H
#define AOTHIP_FWD_SCORE_H

#include "contain.h"
#include "query_rows.h"
#include "philox.h"
#include "score.h"

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

/* Whether there is what makes scores -infinity: terms, or pages that may not exist. */
DEVICE bool hides_keys(const struct attn_problem &a)
{
    return (KERNEL_SCORE && (a.bias.data || a.keep.data)) || (KERNEL_PAGED && a.block_table);
}

/* A bit for each 16 keys of the tile that begins with `key`: those whose page does not exist. */
DEVICE u32 missing_pages(const struct attn_problem &a, const struct sequence &sequence, int key)
{
    const int last = sequence.seq_k - 1;
    u32 missing = 0;
    if (!KERNEL_PAGED || !a.block_table)
        return 0;
#pragma unroll
    for (int i = 0; i < KERNEL_TILE_K / 16; i++) {
        int n = key + 16 * i;
        missing |= (u32)!page_exists(a, sequence, n < last ? n : last) << i;
    }
    return missing;
}

/* Scores of keys in those pages become -infinity. */
DEVICE void hide_pages(score_blocks &s, u32 missing)
{
    if (missing == 0)
        return;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i++)
                if (missing >> (block * BLOCK + i * (BLOCK / ACC)) / 16 & 1)
                    s[column][block][i] = -__builtin_inff();
}

/* The row of this lane's column; the last one where there is none. */
DEVICE int row_of_column(const struct job &job, int column)
{
    int row = job.first_row + (int)(wave_id() * COLUMNS + column * BLOCK + lane_column());
    return row < job.last_row ? row : job.last_row;
}

/* Calls f(score, row, key) for each of this lane's scores; beyond the last key, with that one. */
template <class F>
DEVICE void each_score(score_blocks &s, const struct sequence &sequence, const struct job &job,
                       u32 key, F f)
{
    int last = sequence.seq_k - 1;
    asm volatile("" : "+s"(last)); /* lest the keys of one call be kept in registers for another */
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i++) {
                /* Few at a time: the addresses of all would not fit the registers. */
                if (i % 4 == 0)
                    __builtin_amdgcn_sched_barrier(0);
                int n = (int)(key + block * BLOCK + acc_row(i));
                s[column][block][i] =
                    f(s[column][block][i], row_of_column(job, column), n < last ? n : last);
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

/* Dropped elements of P become 0. */
DEVICE void drop_tile(score_blocks &p, const struct attn_problem &a,
                      const struct sequence &sequence, const struct job &job, u32 key)
{
    if (!(a.flags & KERNARG_DROPOUT))
        return;
    const struct dropout dropout = dropout_of(a, sequence.number, job.head);
    /* How many consecutive elements of a column lie in one quad of keys. */
    const int run = KERNEL_WAVE == 64 ? 4 : 2;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i += run) {
                __builtin_amdgcn_sched_barrier(0); /* as above */
                u32 first = key + block * BLOCK + acc_row(i);
                u32 kept = kept_quad(dropout, row_of_column(job, column), first / 4);
#pragma unroll
                for (int j = 0; j < run; j++)
                    if (!(kept >> (acc_row(i + j) % 4) & 1))
                        p[column][block][i + j] = 0;
            }
}

/* Takes those keys out of sight that hides_keys() is about; `key` is the tile's first one. */
DEVICE void blind_sight(struct sight &sight, const struct attn_problem &a,
                        const struct sequence &sequence, const struct job &job, int column, int key)
{
    const struct score_terms t = score_terms_of(a, sequence, job.head);
    const int last = sequence.seq_k - 1;
    const u32 missing = missing_pages(a, sequence, key);
#pragma unroll
    for (int i = 0; i < SIGHT_WORDS; i++)
#pragma unroll 1
        for (int bit = 0; bit < 32; bit++) {
            int n = key + 32 * i + bit;
            n = n < last ? n : last;
            if (missing >> (2 * i + bit / 16) & 1 ||
                score_of(t, 0, row_of_column(job, column), n) == -__builtin_inff())
                sight.word[i] &= ~(1u << bit);
        }
}

#endif
