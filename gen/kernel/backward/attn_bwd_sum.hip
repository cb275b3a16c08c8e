/*
 * Backward attention: the sums of what several workgroups found of the same rows of dQ, dK and dV,
 * part after part, rounded to the type of the tensors. kernarg_share.h says where the parts lie.
 *
 * A workgroup has TILE_Q rows and SLICE channels of one head of a gradient. LANES lanes share a
 * row.
 */
#include "part_rows.h"
#if KERNEL_DTYPE != 1
#include "round.h"
#endif

enum { LANES = 16, ROWS = THREADS / LANES, STEPS = KERNEL_TILE_Q / ROWS };
enum { QUAD = 4, SLICE = LANES * QUAD, AT_ONCE = KERNEL_WAVE == 64 ? 4 : 1 };

static_assert(KERNEL_TILE_Q % ROWS == 0, "whole steps");

typedef float f32x4 __attribute__((ext_vector_type(4)));

/* Channels channel .. channel + 3 of a row. */
DEVICE void store_quad(const struct rows &to, int row, int channel, const f32x4 &x)
{
#if KERNEL_DTYPE == 1
    GLOBAL float *const at = (GLOBAL float *)(to.base + row * to.pitch) + channel;
#pragma unroll
    for (int i = 0; i < QUAD; i++)
        if (channel + i < to.dim)
            at[i] = x[i];
#else
    store_chunk({to.base, row + 1}, to, (u32)row, (u32)channel,
                u32x2{round_pair_even(x[0], x[1]), round_pair_even(x[2], x[3])});
#endif
}

/* N parts more of the lane's rows, all on their way at once: the compiler would wait for each. (Of
 * wave32's registers it takes too many for more than one.) */
template <int N>
DEVICE void add_parts(f32x4 (&sum)[STEPS], const GLOBAL char *const (&at)[STEPS], kernarg_i64 apart,
                      int first)
{
    f32x4 part[N][STEPS];
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int step = 0; step < STEPS; step++)
            part[i][step] = *(const GLOBAL f32x4 *)(at[step] + (first + i) * apart);
    __builtin_amdgcn_sched_barrier(0);
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int step = 0; step < STEPS; step++)
            sum[step] += part[i][step];
}

/*
 * The lane's channels of its rows first, first + ROWS, ... of a gradient, those before `behind`. Its
 * parts are the matrices from `number` on.
 */
DEVICE void sum_rows(const struct rows &to, kernarg_u64 data, kernarg_i64 number, int parts,
                     int rows, int first, int behind, int channel)
{
    const struct rows from = part_rows(data, number, rows, to.dim);
    const kernarg_i64 apart = rows * from.pitch;
    const GLOBAL char *at[STEPS];
    f32x4 sum[STEPS];
    if (channel >= to.dim || first >= behind)
        return;
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        const int row = first + step * ROWS;
        at[step] = (const GLOBAL char *)from.base +
                   (row < behind ? row : behind - 1) * from.pitch + channel * 4;
        sum[step] = 0;
    }
    int part = 0;
#pragma unroll 1
    for (; part + AT_ONCE <= parts; part += AT_ONCE)
        add_parts<AT_ONCE>(sum, at, apart, part);
#pragma unroll 1
    for (; part < parts; part++)
        add_parts<1>(sum, at, apart, part);
#pragma unroll
    for (int step = 0; step < STEPS; step++)
        if (first + step * ROWS < behind)
            store_quad(to, first + step * ROWS, channel, sum[step]);
}

/* Groups of SLICE channels of a gradient that has parts. */
DEVICE u32 slices_of(kernarg_u64 data, int dim)
{
    return data ? ((u32)dim + SLICE - 1) / SLICE : 0;
}

/* Tile `tile` of one head, group `slice` of the groups of all gradients of its side. */
DEVICE void sum_tile(const struct attn_bwd_share_args &args, const struct place &p, bool keys,
                     u32 tile, u32 slice)
{
    const struct attn_problem &a = args.bwd.problem;
    const u32 of_dk = slices_of(args.part_dk, a.dim_qk);
    const bool is_dv = keys && slice >= of_dk;
    const struct rows to = !keys   ? dq_rows(args.bwd, p)
                           : is_dv ? dv_rows(args.bwd, p)
                                   : dk_rows(args.bwd, p);
    const kernarg_u64 data = !keys ? args.part_dq : is_dv ? args.part_dv : args.part_dk;
    const int parts = keys ? args.parts_heads * args.parts_rows : args.parts_keys;
    const int heads = keys ? a.heads_k : a.heads_q, rows = keys ? a.seq_k : a.seq_q;
    const kernarg_i64 number = ((kernarg_i64)p.sequence.number * heads + p.head) * parts;
    const int behind = keys ? p.sequence.seq_k : p.sequence.seq_q;
    const int channel = (int)((slice - (is_dv ? of_dk : 0)) * SLICE + thread_id() % LANES * QUAD);
    const int first = (int)(tile * KERNEL_TILE_Q + thread_id() / LANES);
    sum_rows(to, data, number, parts, rows, first, behind, channel);
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_bwd_share_args args)
{
    const struct attn_problem &a = args.bwd.problem;
    const u32 entry =
        __builtin_amdgcn_workgroup_id_z() * (u32)a.grid_y + __builtin_amdgcn_workgroup_id_y();
    const u32 tiles = ((u32)a.seq_k + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;
    const u32 of_keys = slices_of(args.part_dk, a.dim_qk) + slices_of(args.part_dv, a.dim_v);
    const u32 behind = tiles * of_keys * (u32)a.heads_k;
    u32 x = __builtin_amdgcn_workgroup_id_x();
    if (entry >= (u32)a.batch)
        return;
    const bool keys = x < behind;
    x -= keys ? 0 : behind;
    const u32 heads = (u32)(keys ? a.heads_k : a.heads_q), unit = uniform(x / heads);
    const u32 slices = keys ? of_keys : slices_of(args.part_dq, a.dim_qk);
    const u32 tile = uniform(unit / slices);
    const int head = (int)(x - unit * heads);
    sum_tile(args, {promised_sequence(a, (int)entry), head, head}, keys, tile,
             unit - tile * slices);
}
