/*
 * What the fast form has of attn_split (attn_split.hip): rows of the heads that share a key head,
 * packed one after the other, and some of the tiles of their keys. A part of query_rows.h.
 */
#ifndef AOTHIP_SPLIT_JOB_H
#define AOTHIP_SPLIT_JOB_H

#include "split_rows.h"

static_assert(!Q_HELD && !KERNEL_FP8, "rows of Q lie apart");

/* Which part of the problem this workgroup has. Uniform. */
struct job {
    int head, kv_head;       /* the first of the group's heads */
    int first_row, last_row; /* of Q and O: their m */
    struct job_rows rows = {};
    int split = 0;
};

DEVICE struct job computed_here(struct job x)
{
    x.rows.first = computed_here(x.rows.first);
    x.rows.last = computed_here(x.rows.last);
    return x;
}

/* What a workgroup of the grid has to do (kernarg.h). Returns false if that is nothing. */
DEVICE bool find_job(const struct attn_problem &a, struct sequence &sequence, struct job &job)
{
    const u32 number = sequence_number(a), x = __builtin_amdgcn_workgroup_id_x();
    if (number >= (u32)a.batch)
        return false;
    const int splits = late_arguments<struct attn_split_args>().splits;
    const u32 tiles = ((u32)a.seq_q * (u32)a.group + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;
    const struct deal deal = deal_splits(&a, x, tiles, (u32)splits);
    sequence = sequence_of(a, (int)number);
    const int end = (sequence.seq_q < a.seq_q ? sequence.seq_q : a.seq_q) * a.group;
    const int first = (int)deal.tile * KERNEL_TILE_Q, left = end - first;
    const int last = left > KERNEL_TILE_Q ? first + KERNEL_TILE_Q - 1 : end - 1;
    if (left <= 0)
        return false;
    const struct job_rows rows = rows_of_job(a, first, last);
    job = {(int)deal.kv_head * a.group,
           (int)deal.kv_head,
           rows.first_row,
           rows.last_row,
           rows,
           (int)deal.part};
    return true;
}

/* Number of this lane's row of a column; it may be behind the last one. Computed here, and not kept
 * in a register. */
DEVICE int number_of_lane(const struct job &job, int column = 0)
{
    u32 thread = thread_id();
    asm volatile("" : "+v"(thread));
    return job.rows.first + (int)(uniform(thread / KERNEL_WAVE) / (KERNEL_WAVES / TEAMS) * COLUMNS +
                                  column * BLOCK + thread % KERNEL_WAVE % BLOCK);
}

DEVICE struct row_place place_of_column(const struct job &job, int column = 0)
{
    return place_of_row(job.rows, number_of_lane(job, column), job.kv_head);
}

DEVICE struct key_interval visible_of_column(const struct sequence &sequence, const struct job &job,
                                             int column)
{
    return visible_keys(sequence, place_of_column(job, column).row);
}

/* The part of a walk that is this split's. */
DEVICE struct key_walk part_of_walk(const struct key_walk &all, const struct job &job)
{
    const int splits = late_arguments<struct attn_split_args>().splits;
    const struct tile_run run = run_of(all.end - all.begin, job.split, splits);
    const int begin = all.begin + run.first, end = begin + run.count;
    const int all_full = all.first + all.fast_count + 1; /* behind the last full one */
    const int first = all.first > begin ? all.first : begin;
    const int full_end = all_full < end ? all_full : end;
    if (run.count == 0)
        return {};
    if (all.fast_count < 0 || first >= full_end)
        return {begin, -1, run.count, begin, end};
    return {first, full_end - first - 1, run.count, begin, end};
}

/* A chunk of a lane's row of Q. */
DEVICE u32x4 chunk_of_q(const GLOBAL char *row, int dim, u32 channel)
{
#if KERNEL_UNALIGNED
    const u32 at = taken_channel(dim, channel) * CHANNEL_BYTES;
    return *(const u32x4_anywhere *)(row + at) & own_channels(dim, channel);
#else
    const u32x4 none = {};
    return (int)channel < dim ? *(const GLOBAL u32x4 *)(row + channel * CHANNEL_BYTES) : none;
#endif
}

#endif
