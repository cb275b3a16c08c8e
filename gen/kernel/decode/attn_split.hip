/*
 * Forward attention for few query rows and many keys: the keys of a sequence are shared out to
 * `splits` workgroups, whose results attn_merge puts together. kernarg.h has the grid and the
 * partial results.
 *
 * A tile is some of the rows (m, head in group) that share a key head, so that with grouped heads
 * each byte of K and V is read once for all of them: 16 rows, on which the teams of a workgroup
 * work, which take turns on the keys, 16 at a time; at the end they add up what they have, in a
 * fixed order.
 *
 * Or 64 or 32, unless their strides are odd ones: these are shared out to the waves, which walk over
 * K and V as those of attn_fwd do (split_job.h; fast_form.h, and team_form.h for more than 128
 * channels).
 */
#if KERNEL_UNALIGNED != 1
#define KERNEL_SPLIT 1
#if KERNEL_DIM > 128
#include "team_form.h"
#else
#include "fast_form.h"
#endif
#else
#define TEAMS_OF_ROWS 1
#if KERNEL_WAVE == 32 && KERNEL_DTYPE == 1
#define SLICE_MOST 64 /* else it spills */
#elif KERNEL_CACHE && KERNEL_WAVE == 32 && KERNEL_DIM == 128 && !defined(__GFX12__)
#define SLICE_MOST 64 /* likewise */
#else
#define SLICE_MOST 128
#endif
#define STARTS_LEAN 1
#define PLANS_LEAN 1
#define ASKS_ALIKE 1
#include "quotient.h"
#define DEAL_QUOTIENT(n, d) quotient_of(n, d)
#include "split_rows.h"
#include "team_f32.h"

#if KERNEL_CACHE
typedef with_fp8<struct attn_split_args> split_args;
#else
typedef struct attn_split_args split_args;
#endif

static_assert(KERNEL_TILE_Q == SIDE && KERNEL_TILE_K == TEAMS * SIDE, "16 rows, 16 keys a team");

static SHARED float team_shift[TEAMS][SIDE], team_sum[TEAMS][SIDE];

/* All teams' O and sums get one shift, and the sums are added up. */
DEVICE void join_sums(struct column_state &x)
{
    const u32 column = lane_column();
    float shift = team_shift[0][column], sum = 0;
#pragma unroll
    for (int i = 1; i < TEAMS; i++)
        shift = __builtin_fmaxf(shift, team_shift[i][column]);
#pragma unroll
    for (int i = 0; i < TEAMS; i++)
        sum += team_sum[i][column] * exponential(team_shift[i][column] - shift);
    const float ratio = exponential(x.shift - shift);
    x.shift = shift;
    x.sum = sum;
#pragma unroll
    for (int group = 0; group < V_GROUPS; group++)
#pragma unroll
        for (int i = 0; i < V_CHUNK; i++)
            x.o[group][i] *= ratio;
}

/* Adds the other teams' O and sums to those of the first one. */
DEVICE void join_teams(struct column_state &x, const struct wave_job &job)
{
    const u32 column = lane_column();
    x.sum = column_sum(x.sum);
    if (TEAMS > 1 && job.slice == 0 && lane_group() == 0) {
        team_shift[job.team][column] = x.shift;
        team_sum[job.team][column] = x.sum;
    }
    if (TEAMS == 1)
        return;
    lds_barrier();
    join_sums(x);
#pragma unroll 1
    for (int turn = 1; turn < TEAMS; turn++) {
        if (job.team == turn)
#pragma unroll
            for (int group = 0; group < V_GROUPS; group++)
#pragma unroll
                for (int i = 0; i < ACC; i++)
#pragma unroll
                    for (int j = 0; j < V_CHUNK; j++)
                        team_rows.o[column][output_chunk(job, group, i) + j] = x.o[group][j][i];
        lds_barrier();
        if (job.team == 0)
#pragma unroll
            for (int group = 0; group < V_GROUPS; group++)
#pragma unroll
                for (int i = 0; i < ACC; i++)
#pragma unroll
                    for (int j = 0; j < V_CHUNK; j++)
                        x.o[group][j][i] += team_rows.o[column][output_chunk(job, group, i) + j];
        lds_barrier();
    }
}

DEVICE void finish(const struct column_state &x, const struct wave_job &job, int split)
{
    const split_args &args = late_arguments<split_args>();
    const struct attn_problem &a = args.fwd.problem;
    const struct job_row &at = job.at;
    kernarg_i64 row = ((kernarg_i64)job.sequence.number * a.heads_q + at.head) * a.seq_q + at.row;
    row = row * args.splits + split;
    if (job.slice == 0 && lane_group() == 0)
        ((GLOBAL f32x2 *)args.partial_sums)[row] = f32x2{x.shift, x.sum};
    float factor = KERNEL_SCORE && a.flags & KERNARG_DROPOUT ? a.dropout_scale : 1;
#if KERNEL_CACHE
    factor *= fp8_scale(args.fp8.v, job.sequence.number, job.kv_head);
#endif
    if (x.sum != 0)
        store_output((GLOBAL float *)args.partial_o + row * a.dim_v, x, job, factor / x.sum,
                     factor == 0);
}

/* Which part this lane's column writes: none if it has no row of its own. */
DEVICE int part_of_row(const struct job_rows &rows, int split)
{
    return rows.first + (int)lane_column() <= rows.last ? split : -1;
}

/* The row of this lane's column, or else the last one. */
DEVICE void find_row(struct job_row &at, const struct job_rows &rows, int kv_head)
{
    const struct row_place place = place_of_row(rows, rows.first + (int)lane_column(), kv_head);
    at.row = place.row;
    at.head = place.head;
}

/* Keys that some of the rows see. Uniform. */
struct key_reach {
    int first, last;
};

/* Finds them, and what each row sees. Where all see all, there is little to find. */
DEVICE struct key_reach find_keys(struct wave_job &job, struct job_row &at,
                                  const struct job_rows &rows)
{
    const struct sequence &sequence = job.sequence;
    if (__builtin_expect((u32)sequence.key_last - (u32)sequence.key_first == 2u * SEES_ALL, 1)) {
        job.full_first = 0;
        job.full_end = sequence.seq_k;
        at.visible = {0, (u32)sequence.seq_k};
        return {0, sequence.seq_k - 1};
    }
    set_full(job, rows.first_row, rows.last_row);
    at.visible = visible_keys(sequence, at.row);
    return {interval_first(sequence, rows.first_row), interval_last(sequence, rows.last_row)};
}

/* A row of Q, whose elements may be codes where K's are. */
DEVICE void bring_q(struct q_block &q, const struct wave_job &job, const struct job_row &at,
                    const split_args &args)
{
    const struct attn_problem &a = args.fwd.problem;
#if KERNEL_CACHE
    if (fp8_of_q(args.fp8)) {
        fp8_codes *row = (fp8_codes *)fp8_row_of_q(a, job.sequence, at.head, at.row);
        load_q_codes(q, job, row, fp8_reader_of(args.fp8.q_dtype));
        return;
    }
#endif
    load_q(q, job,
           (const GLOBAL char *)a.q + row_of_q(a, job.sequence, at.row, at.head) * ELEMENT_BYTES);
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(split_args args)
{
    const struct attn_problem &a = args.fwd.problem;
    u32 number = sequence_number(a), x = __builtin_amdgcn_workgroup_id_x();
    if (number >= (u32)a.batch)
        return;

    const struct sequence sequence = sequence_of(a, (int)number);
    u32 tiles = ((u32)a.seq_q * (u32)a.group + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;
    const struct deal deal = deal_splits(&a, x, tiles, (u32)args.splits);
    const int split = (int)deal.part, kv_head = (int)deal.kv_head;
    int end = (sequence.seq_q < a.seq_q ? sequence.seq_q : a.seq_q) * a.group;
    int first = (int)deal.tile * KERNEL_TILE_Q;
    int last = first + KERNEL_TILE_Q < end ? first + KERNEL_TILE_Q - 1 : end - 1;
    if (first > last)
        return;

    struct wave_job job;
    begin_job(job, a, sequence, kv_head);
#if KERNEL_CACHE
    job.scale *= fp8_scale_of_scores(args.fp8, sequence.number, kv_head);
    job.type = args.fp8.dtype;
    job.kv_head = kv_head;
#endif
    struct job_rows rows = rows_of_job(a, first, last);
    find_row(job.at, rows, kv_head);
    const struct key_reach reach = find_keys(job, job.at, rows);
    const int first_key = reach.first & -SIDE;
    const int all = first_key > reach.last ? 0 : (reach.last - first_key) / KERNEL_TILE_K + 1;
    const struct tile_run run = run_of(all, split, args.splits);
    int part = part_of_row(rows, split);
    asm("" : "+v"(part));

    struct q_block q = {};
    if (Q_IN_LDS || part >= 0)
        bring_q(q, job, job.at, args);
    end_q(q, job);
    struct column_state state = empty_columns();
    u32 team = (u32)job.team; /* as in attend() */
    asm volatile("" : "+v"(team));
    attend<split_args>(state, job, q, first_key + run.first * KERNEL_TILE_K + job.team * SIDE,
                       KERNEL_TILE_K, run.count);
    job.team = (int)uniform(team);
    join_teams(state, job);
    if (job.team == 0 && part >= 0)
        finish(state, job, part);
}

#endif
