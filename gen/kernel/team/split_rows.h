/*
 * Which rows and keys a workgroup of attn_split has: some of the rows (m, head in group) that share
 * a key head, and a run of the tiles of keys that any of them sees.
 */
#ifndef AOTHIP_SPLIT_ROWS_H
#define AOTHIP_SPLIT_ROWS_H

#include "quotient.h"
#include "sequence.h"
#include "tile.h"

static_assert(KERNEL_TILE_Q <= QUOTIENT_MORE, "rows of a tile");

/* Tiles first .. first + count - 1, or none. Uniform. */
struct tile_run {
    int first, count;
};

/* What split number `split` has of `tiles`. */
DEVICE struct tile_run run_of(int tiles, int split, int splits)
{
    int share = (int)quotient_of((u32)(tiles + splits - 1), (u32)splits), begin = split * share;
    int left = tiles - begin;
    left = left < share ? left : share;
    return {begin, left > 0 ? left : 0};
}

/* The rows of a job: numbers first .. last of the (m, head in group) that share a key head. */
struct job_rows {
    int first, last, group;
    int first_row, last_row; /* their m */
};

/* Of one query, as when decoding, each has another head. */
DEVICE struct job_rows rows_of_job(const struct attn_problem &a, int first, int last)
{
    struct job_rows x = {first, last, a.group, 0, 0};
    if (a.seq_q > 1) {
        x.first_row = (int)quotient_of((u32)first, (u32)a.group);
        x.last_row = (int)quotient_of((u32)last, (u32)a.group);
    }
    return x;
}

/* Row `row` of q and its head. */
struct row_place {
    int row, head;
};

/* Of this lane: of row `number`, or else the last one. */
DEVICE struct row_place place_of_row(const struct job_rows &rows, int number, int kv_head)
{
    number = number < rows.last ? number : rows.last;
    u32 rest = (u32)(number - rows.first_row * rows.group), more = 0;
    if (rows.last_row > 0)
        more = quotient_of_lane(rest, (u32)rows.group);
    return {rows.first_row + (int)more,
            kv_head * rows.group + (int)(rest - more * (u32)rows.group)};
}

/* Where a row begins: elements. No head, row or entry is negative, which takes fewer instructions.
 */
DEVICE kernarg_i64 row_of_q(const struct attn_problem &a, const struct sequence &sequence, int row,
                            int head)
{
    kernarg_u64 first = (u32)sequence.batch_q * (kernarg_u64)a.q_stride.batch;
    if (sequence.start_q)
        first += (u32)sequence.start_q * (kernarg_u64)a.q_stride.seq;
    return (kernarg_i64)(first + (u32)head * (kernarg_u64)a.q_stride.head +
                         (u32)row * (kernarg_u64)a.q_stride.seq);
}

#endif
