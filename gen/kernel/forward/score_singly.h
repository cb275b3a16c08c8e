/*
 * Score terms on columns of S^T, for the general form: one element at a time, wherever it lies.
 * Which of them there are is decided once for a column, not for an element.
 */
#ifndef AOTHIP_FWD_SCORE_SINGLY_H
#define AOTHIP_FWD_SCORE_SINGLY_H

#include "score_columns.h"

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

#endif
