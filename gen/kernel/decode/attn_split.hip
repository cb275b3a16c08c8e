/*
 * Forward attention for few query rows and many keys: the keys of a sequence are shared out to
 * `splits` workgroups, whose results attn_merge puts together. kernarg.h has the grid and the
 * partial results.
 *
 * A tile is 16 of the rows (m, head in group) that share a key head, so that with grouped heads
 * each byte of K and V is read once for all of them. The teams of a workgroup work on the same rows
 * and take turns on the keys, 16 at a time; at the end they add up what they have, in a fixed
 * order.
 */
#define SLICE_MOST (KERNEL_WAVE == 32 && KERNEL_DTYPE == 1 ? 64 : 128) /* else it spills */
#define TEAMS_OF_ROWS 1
#include "team_f32.h"

#if KERNEL_CACHE
typedef with_fp8<struct attn_split_args> split_args;
#else
typedef struct attn_split_args split_args;
#endif

static_assert(KERNEL_TILE_Q == SIDE && KERNEL_TILE_K == TEAMS * SIDE, "16 rows, 16 keys a team");

/* Tiles of keys. Uniform. */
struct key_run {
    int first, count; /* first key of the first one; how many there are */
};

/* What split number `split` has of the tiles that the rows see. */
DEVICE struct key_run run_of(const struct sequence &sequence, int first_row, int last_row,
                             int split, int splits)
{
    int first = interval_first(sequence, first_row), last = interval_last(sequence, last_row);
    first &= -SIDE;
    int tiles = first > last ? 0 : (last - first) / KERNEL_TILE_K + 1;
    int share = (tiles + splits - 1) / splits, begin = split * share;
    int left = tiles - begin;
    left = left < share ? left : share;
    return {first + begin * KERNEL_TILE_K, left > 0 ? left : 0};
}

static SHARED float team_shift[TEAMS][SIDE], team_sum[TEAMS][SIDE];
static SHARED __attribute__((aligned(16))) float team_o[TEAMS > 1 ? SIDE : 1][Q_PITCH];

/* Adds the other teams' O and sums to those of team 0, with one shift for all. */
DEVICE void join_teams(struct column_state &x, const struct wave_job &job)
{
    const u32 column = lane_column();
    x.sum = column_sum(x.sum);
    if (TEAMS == 1)
        return;
    if (job.slice == 0 && lane_group() == 0) {
        team_shift[job.team][column] = x.shift;
        team_sum[job.team][column] = x.sum;
    }
    lds_barrier();
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

#pragma unroll 1
    for (int team = 1; team < TEAMS; team++) {
        if (job.team == team)
#pragma unroll
            for (int group = 0; group < V_GROUPS; group++)
#pragma unroll
                for (int i = 0; i < ACC; i++)
#pragma unroll
                    for (int j = 0; j < V_CHUNK; j++)
                        team_o[column][output_chunk(job, group, i) + j] = x.o[group][j][i];
        lds_barrier();
        if (job.team == 0)
#pragma unroll
            for (int group = 0; group < V_GROUPS; group++)
#pragma unroll
                for (int i = 0; i < ACC; i++)
#pragma unroll
                    for (int j = 0; j < V_CHUNK; j++)
                        x.o[group][j][i] += team_o[column][output_chunk(job, group, i) + j];
        lds_barrier();
    }
}

DEVICE void finish(const struct column_state &x, const struct wave_job &job, int split)
{
    const split_args &args = late_arguments<split_args>();
    const struct attn_problem &a = args.fwd.problem;
    kernarg_i64 row = ((kernarg_i64)job.sequence.number * a.heads_q + job.head) * a.seq_q + job.row;
    row = row * args.splits + split;
    if (job.slice == 0 && lane_group() == 0)
        ((GLOBAL f32x2 *)args.partial_sums)[row] = f32x2{x.shift, x.sum};
    float factor = a.flags & KERNARG_DROPOUT ? a.dropout_scale : 1;
#if KERNEL_CACHE
    factor *= fp8_scale(args.fp8.v, job.sequence.number, job.kv_head);
#endif
    if (x.sum != 0)
        store_output((GLOBAL float *)args.partial_o + row * a.dim_v, x, job, factor / x.sum);
}

/* The rows of Q, whose elements may be codes where K's are. */
DEVICE void bring_q(struct q_block &q, const struct wave_job &job, const split_args &args)
{
    const struct attn_problem &a = args.fwd.problem;
#if KERNEL_CACHE
    if (fp8_of_q(args.fp8)) {
        fp8_codes *row = (fp8_codes *)fp8_row_of_q(a, job.sequence, job.head, job.row);
        load_q_codes(q, job, row, fp8_reader_of(args.fp8.q_dtype));
        return;
    }
#endif
    load_q(q, job, query_row(a.q, a.q_stride, job.sequence, job.head, job.row));
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
    u32 tiles = ((u32)a.seq_q * (u32)a.group + SIDE - 1) / SIDE;
    const struct deal deal = deal_splits(&a, x, tiles, (u32)args.splits);
    const int split = (int)deal.part, kv_head = (int)deal.kv_head;
    int rows = (sequence.seq_q < a.seq_q ? sequence.seq_q : a.seq_q) * a.group;
    int first = (int)deal.tile * SIDE, last = first + SIDE < rows ? first + SIDE - 1 : rows - 1;
    if (first > last)
        return;

    struct wave_job job;
    begin_job(job, a, sequence, kv_head);
#if KERNEL_CACHE
    job.scale *= fp8_scale_of_scores(args.fp8, sequence.number, kv_head);
    job.type = args.fp8.dtype;
    job.kv_head = kv_head;
#endif
    int row = first + (int)lane_column();
    int part = row <= last ? split : -1; /* which this lane's column writes */
    asm("" : "+v"(part));
    row = row < last ? row : last;
    job.row = (int)((u32)row / (u32)a.group);
    job.head = kv_head * a.group + row - job.row * a.group;
    job.visible = visible_keys(sequence, job.row);
    int first_row = (int)uniform((u32)first / (u32)a.group),
        last_row = (int)uniform((u32)last / (u32)a.group);
    set_full(job, first_row, last_row);
    struct key_run run = run_of(sequence, first_row, last_row, split, args.splits);

    struct q_block q;
    bring_q(q, job, args);
    struct column_state state = {};
    state.shift = SHIFT_UNSET;
    u32 team = (u32)job.team; /* as in attend() */
    asm volatile("" : "+v"(team));
    attend<split_args>(state, job, q, run.first + job.team * SIDE, KERNEL_TILE_K,
                                   run.count);
    job.team = (int)uniform(team);
    join_teams(state, job);
    if (job.team == 0 && part >= 0)
        finish(state, job, part);
}
