/*
 * The walk of stream_walk.h for kernels that own query rows: a lane's column is a query, so lse
 * and delta are one number each, and the keys it sees stream by.
 */
#ifndef AOTHIP_ATTN_BWD_QUERIES_H
#define AOTHIP_ATTN_BWD_QUERIES_H

#define OWNS_KEYS 0
#define STREAM_ROWS KERNEL_TILE_K
#define OWNED_ROWS KERNEL_TILE_Q
#if KERNEL_DTYPE == 1
#include "stream_walk_f32.h"
#else
#include "stream_walk.h"
#endif
#include "carried_rows.h"

/* The workgroup's rows of the sequence, of which the first one exists. Uniform. */
struct job {
    struct place place;
    int first_row, end_row;
};

DEVICE struct job job_of(const struct place &p, int first_row)
{
    int left = p.sequence.seq_q - first_row;
    return {p, first_row, first_row + (left < KERNEL_TILE_Q ? left : KERNEL_TILE_Q)};
}

struct row_numbers {
    float lse, delta;
};

/* lse_at() and delta_at(), with one wait for both. */
DEVICE struct row_numbers numbers_at(const struct attn_bwd_args &args,
                                     const struct vector_place &place, int row, int seq_q)
{
    const kernarg_i64 at = place.first + row * place.step;
    struct row_numbers x = {__builtin_inff(), 0};
    if (row < seq_q && (kernarg_u64)at < (kernarg_u64)place.size)
        x = {((const GLOBAL float *)args.lse)[at], ((const GLOBAL float *)args.delta)[at]};
    return {x.lse * place.lse_unit, kept_delta(x.delta)};
}

DEVICE struct column column_of(const struct job &job)
{
    const struct sequence &s = job.place.sequence;
    int last = s.seq_q - 1, first = job.first_row + (int)team_id() * BLOCK;
    struct row_interval low = visible_rows(s, first < last ? first : last),
                        high = visible_rows(s, first + BLOCK - 1 < last ? first + BLOCK - 1 : last);
    const struct attn_bwd_args &args = args_here();
    struct vector_place vectors = vector_of(args.problem, job.place);
    int index = first + (int)lane_column();
    struct row_interval visible = visible_rows_below(s, index, s.seq_q);
    const struct row_numbers numbers = numbers_at(args, vectors, index, s.seq_q);
    return {index,
            visible,
            visible.first <= visible.last ? (u32)(visible.last - visible.first) + 1 : 0,
            {high.first, low.last},
            {low.first, high.last},
            numbers.lse,
            numbers.delta};
}

/* The wave's K or V, before rewind(). Of walks whose first tile is this one's. */
DEVICE struct stream stream_of(const struct place &p, struct walk walk)
{
    const struct attn_bwd_args &args = args_here();
    struct stream stream;
    carry_rows(stream, args, p, walk.begin);
    return stream;
}

#if LIFTS
/* The lift of the lane's row, and delta and lse with it. */
DEVICE void lift_column(struct owned &y, struct column &column, const struct place &p)
{
    u32 largest = 0;
    y.lift = {0, 0};
#if WALKS_WHOLE && !KERNEL_SCORE
    (void)p;
    block_frag all[WALK_SLABS * SLAB_STEPS]; /* on their way at once: registers are free yet */
#pragma unroll
    for (int slab = 0; slab < WALK_SLABS; slab++) {
        load_owned(y, 1, slab);
#pragma unroll
        for (int step = 0; step < SLAB_STEPS; step++)
            all[slab * SLAB_STEPS + step] = y.frag[1][step];
    }
    in_order();
#pragma unroll
    for (int i = 0; i < WALK_SLABS * SLAB_STEPS; i++)
        largest = largest_of(largest, all[i]);
#else
    int slab = 0;
#pragma unroll 1
    do {
#if WALKS_WHOLE
        (void)p;
        load_owned(y, 1, slab);
#else
        if (OWNED_PER_TILE)
            load_owned(args_here(), y, p, 1, slab);
#endif
#pragma unroll
        for (int step = 0; step < OWNED_STEPS; step++)
            largest = largest_of(largest, y.frag[1][step]);
        slab += OWNED_SLABS;
    } while (OWNED_PER_TILE && slab < slabs_of(args_here().problem));
#endif
    u32 other = __builtin_bit_cast(u32, other_half(__builtin_bit_cast(float, largest)));
    y.lift = lift_of(largest > other ? largest : other, args_here().problem);
    if (!OWNED_PER_TILE)
        lift_owned(y);
    column.delta *= power_of_two(y.lift.d_o);
    const float raise = (float)(SUMS_ELEMENTS ? -y.lift.d_o : y.lift.p);
    column.lifts = (lowering_pair_of(y.lift.d_o + y.lift.p) & 0xffff) |
                   (u32) __builtin_bit_cast(u16, (_Float16)raise) << 16;
    if (LSE_USUAL == LSE_BASE2)
        column.lse -= raise;
}
#endif

DEVICE struct owned owned_of(const struct job &job, struct column &column)
{
    struct owned y;
    y.first = job.first_row + (int)team_id() * BLOCK;
    y.end = job.end_row;
    if (!OWNED_PER_TILE)
        hold_owned(y, job.place);
#if WALKS_WHOLE
    view_owned(y, job.place);
#endif
#if LIFTS
    lift_column(y, column, job.place);
#else
    (void)column;
#endif
    return y;
}

#if SUMS_ELEMENTS
/* `to` takes dS of the job's rows and the keys of the tiles in `walk`. */
template <class R> DEVICE void add_elements(R &to, const struct job &job, struct walk walk)
{
    if (walk.begin >= walk.end)
        return;
    struct stream stream = stream_of(job.place, walk);
    struct column column = column_of(job);
    struct owned y = owned_of(job, column);
    rewind(stream, walk.begin, job.place.sequence.seq_k);
    walk_stream<OF_TERMS>(to, y, stream, context_of(args_here(), job.place), column, walk, 0);
}
#endif

#endif
