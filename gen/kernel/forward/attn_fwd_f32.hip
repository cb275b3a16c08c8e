/*
 * Forward attention with f32 inputs, outputs and arithmetic, for every feature, alignment and dim.
 * A workgroup has TILE_Q rows of one head, each of its teams of waves 16 of them; team_f32.h tells
 * how. Grid as attn_fwd.
 */
#define SLICE_MOST (KERNEL_WAVE == 32 && KERNEL_DIM > 128 ? 64 : 128) /* else it spills */
#define TEAMS_OF_ROWS TEAMS                                           /* each has its own */
#include "team_f32.h"

static_assert(KERNEL_TILE_Q == TEAMS * SIDE && KERNEL_TILE_K == SIDE, "16 rows a team");

/* The rows of a workgroup, or of a team; at least one. Uniform. */
struct rows {
    int first, last;
};

/*
 * Keys that some of the rows see, from a multiple of 16 on, and how many blocks of 16. With several
 * waves a team all teams wait for each other, so the rows must be those of the workgroup.
 */
struct blocks {
    int first, count;
};

DEVICE struct blocks blocks_of(const struct sequence &sequence, struct rows rows)
{
    int first = interval_first(sequence, rows.first), last = interval_last(sequence, rows.last);
    first &= -SIDE;
    return {first, first > last ? 0 : (last - first) / SIDE + 1};
}

DEVICE void finish(const struct column_state &x, const struct wave_job &job, struct rows team)
{
    const struct attn_fwd_args &args = late_arguments<struct attn_fwd_args>();
    const struct attn_problem &a = args.problem;
    const struct sequence sequence = sequence_of(a, job.sequence.number);
    const struct job_row &at = job.at;
    struct row_end end = end_row(x.shift, column_sum(x.sum), sink_of(a, at.head), __builtin_inff());
    const float kept = a.flags & KERNARG_DROPOUT ? a.dropout_scale : 1;
    if (team.first + (int)lane_column() > team.last)
        return;
    store_output((GLOBAL float *)query_row(args.o, args.o_stride, sequence, at.head, at.row), x,
                 job, end.factor * kept, end.blind || kept == 0);
    GLOBAL float *lse = args.lse ? lse_of(a, args.lse, sequence, at.head, at.row) : nullptr;
    if (lse && job.slice == 0 && lane_group() == 0)
        *lse = end.lse * a.lse_unit;
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_fwd_args args)
{
    const struct attn_problem &a = args.problem;
    u32 number = sequence_number(a), x = __builtin_amdgcn_workgroup_id_x();
    u32 z = __builtin_amdgcn_workgroup_id_z();
    if (number >= (u32)a.batch)
        return;
    if ((x | number | z) == 0 && thread_id() == 0)
        write_seed(a, args.seed_output, args.offset_output);

    const struct sequence sequence = sequence_of(a, (int)number);
    u32 tiles = ((u32)a.seq_q + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;
    const struct deal deal = deal_queries(&a, x, __builtin_amdgcn_workgroup_id_y(), z);
    const int head = (int)deal.part;
    int first = (int)(tiles - 1 - deal.tile) * KERNEL_TILE_Q;
    int end = sequence.seq_q < a.seq_q ? sequence.seq_q : a.seq_q;
    if (first >= end)
        return;
    const struct rows all = {first,
                             first + KERNEL_TILE_Q < end ? first + KERNEL_TILE_Q - 1 : end - 1};

    struct wave_job job;
    begin_job(job, a, sequence, (int)deal.kv_head);
    first += job.team * SIDE;
    const bool any_row = first <= all.last;
    const struct rows team = {any_row ? first : all.last,
                              first + SIDE - 1 < all.last ? first + SIDE - 1 : all.last};
    int row = team.first + (int)lane_column();
    struct job_row &at = job.at;
    at.row = row < team.last ? row : team.last;
    at.head = head;
#if KERNEL_WAVE == 64 /* what follows from it goes to vector registers: see begin_job() */
    asm("" : "+v"(at.head));
#endif
    at.visible = visible_keys(sequence, at.row);
    set_full(job, team.first, team.last);

    struct q_block q;
    load_q(q, job, query_row(a.q, a.q_stride, sequence, head, at.row));
    end_q(q, job);
    struct column_state state = empty_columns();
    struct blocks blocks = blocks_of(sequence, SLICES > 1 ? all : team);
    attend<struct attn_fwd_args>(state, job, q, blocks.first, SIDE, blocks.count);
    if (any_row)
        finish(state, job, team);
}
