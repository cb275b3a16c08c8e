/*
 * What the score terms of columns of S^T have in common, however they are read: score_runs.h,
 * team_terms.h and general_form.h.
 */
#ifndef AOTHIP_FWD_SCORE_H
#define AOTHIP_FWD_SCORE_H

#include "contain.h"
#include "philox.h"
#include "query_rows.h"
#include "score.h"

/* Waves that have the same rows (team_form.h). */
#ifdef TEAM
#define SAME_ROWS TEAM
#else
#define SAME_ROWS 1
#endif

/* By one thread of the launch. */
DEVICE void write_seed_once(const struct attn_problem &a, const struct attn_fwd_args &args)
{
    const u32 z = __builtin_amdgcn_workgroup_id_z();
    const u32 number = __builtin_amdgcn_workgroup_id_x() | sequence_number(a) | z;
    if (thread_id() == 0 && number == 0)
        write_seed(a, args.seed_output, args.offset_output);
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

#if KERNEL_SPLIT

/* The row of this lane's column, and its head; the last one where there is none. */
DEVICE int row_of_column(const struct job &job, int column)
{
    return place_of_column(job, column).row;
}

DEVICE int head_of_column(const struct job &job, int column = 0)
{
    return place_of_column(job, column).head;
}

#else

DEVICE int head_of_column(const struct job &job, int = 0)
{
    return job.head;
}

/* The row of this lane's column; the last one where there is none. */
DEVICE int row_of_column(const struct job &job, int column)
{
    u32 thread = thread_id();
    if (KERNEL_SCORE) /* computed here, and not kept in a register */
        asm volatile("" : "+v"(thread));
    int row = job.first_row + (int)(uniform(thread / KERNEL_WAVE) / SAME_ROWS * COLUMNS +
                                    column * BLOCK + thread % BLOCK);
    return row < job.last_row ? row : job.last_row;
}

#endif

/*
 * A lane's counters of the tile that begins with `key`, for one column: the first one, and how much
 * further the others are. Number i is for four elements from counter_element(i) on and the four
 * from that + 8 on, as they lie one behind the other in the column's blocks.
 */
DEVICE kernarg_u64 first_counter(const struct dropout &dropout, const struct job &job, int column,
                                 u32 key)
{
    return dropout.offset + row_of_column(job, column) * dropout.row_pitch +
           counters_to(key + first_key());
}

constexpr int DROP_COUNTERS = KEY_BLOCKS * ACC / 8, DROP_STEP = 8 / KEY_RUN;

DEVICE constexpr int counter_step(int i)
{
    return i / 2 * 4 + i % 2 * DROP_STEP;
}

DEVICE constexpr int counter_element(int i)
{
    return i / 2 * 16 + i % 2 * 4;
}

/* Dropped ones of two elements become 0. By signs: comparisons want more scalar registers. */
DEVICE void drop_pair(block_acc &p, int i, u32 thresholds, u32 word)
{
    const int signs = (int)shortfall(word, thresholds);
    const float x = p[i], y = p[i + 1];
    p[i] = __builtin_bit_cast(float, __builtin_bit_cast(int, x) & signs << 16 >> 31);
    p[i + 1] = __builtin_bit_cast(float, __builtin_bit_cast(int, y) & signs >> 31);
}

/* Those that a counter is for. */
DEVICE void drop_eight(block_acc (&p)[KEY_BLOCKS], int counter, u32 thresholds, const u32x4 &word)
{
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const int i = counter_element(counter) + j / 2 * 8 + j % 2 * 2;
        drop_pair(p[i / ACC], i % ACC, thresholds, word[j]);
    }
}

/*
 * Where a lane's keys are sixteen, a counter is for four of them: those of the first sixteen of 32
 * keys have its first two words.
 */
DEVICE void drop_sixteen(block_acc &p, const struct dropout &dropout, kernarg_u64 counter, u32 key)
{
#pragma unroll
    for (int i = 0; i < ACC / 4; i++) {
        const u32x4 word = philox(dropout.seed, counter + counter_step(i));
        drop_pair(p, 4 * i, dropout.thresholds, key & 16 ? word.z : word.x);
        drop_pair(p, 4 * i + 2, dropout.thresholds, key & 16 ? word.w : word.y);
    }
}

/* Dropped elements of P become 0; `key` is the tile's first one. */
DEVICE void drop_tile(score_blocks &p, struct dropout dropout, const struct job &job, u32 key)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        const kernarg_u64 counter = first_counter(dropout, job, column, key);
        if (KEY_BLOCKS * BLOCK == 16) {
            drop_sixteen(p[column][0], dropout, counter, key);
            continue;
        }
#pragma unroll
        for (int i = 0; i < DROP_COUNTERS; i++) {
            __builtin_amdgcn_sched_barrier(0); /* few at a time, for the registers */
            if (KERNEL_WAVE == 64 && (KERNEL_PAGED || KERNEL_DIM > 64))
                asm volatile("" : "+s"(dropout.seed)); /* or its round keys would all be kept */
            drop_eight(p[column], i, dropout.thresholds,
                       philox(dropout.seed, counter + counter_step(i)));
        }
    }
}

/* Takes those keys out of sight that hides_keys() is about; `key` is the tile's first one. */
DEVICE void blind_sight(struct sight &sight, const struct attn_problem &a,
                        const struct sequence &sequence, const struct job &job, int column, int key)
{
    const struct score_terms t = score_terms_of(a, sequence, head_of_column(job, column));
    const int last = sequence.seq_k - 1, row = row_of_column(job, column);
    const u32 missing = missing_pages(a, sequence, key);
#pragma unroll
    for (int i = 0; i < SIGHT_WORDS; i++)
#pragma unroll 1
        for (int bit = 0; bit < 32; bit++) {
            int n = key + 32 * i + bit;
            n = n < last ? n : last;
            if (missing >> (2 * i + bit / 16) & 1 || score_of(t, 0, row, n) == -__builtin_inff())
                sight.word[i] &= ~(1u << bit);
        }
}

#endif
