/*
 * Backward attention, the gradient of Q:  dQ = scale * dS K   (stream_walk.h has the rest)
 *
 *     Q (seq_q, dim_qk)   K (seq_k, dim_qk)   V (seq_k, dim_v)   dO (seq_q, dim_v)
 *
 * A workgroup owns TILE_Q rows of one head and walks over the keys they see. Where that leaves
 * units of the GPU idle, several workgroups share the keys: kernarg_share.h has the parts.
 */
#define SUMS_ELEMENTS 0
#define SUMS_DQ 0
#include "query_walk.h"
#include "walk_parts.h"

#include "early_arguments.h" /* behind what says whose walk it is */

/* Whether the wave's columns ask for the wide form: see WIDE_LSE. Then makes lse natural. */
DEVICE bool turn_wide(struct column &column, const struct place &p)
{
    const float size = __builtin_fabsf(column.lse);
    if (LSE_USUAL == LSE_NATURAL || !in_any_lane(size > WIDE_LSE && size < __builtin_inff()))
        return false;
    const struct attn_bwd_args &args = args_here();
    struct vector_place vectors = vector_of(args.problem, p);
    vectors.lse_unit = lse_unit_of(args.problem, LSE_NATURAL);
    column.lse = lse_at(args, vectors, column.index, p.sequence.seq_q);
    return true;
}

#if TERMS_NEAR && DBIAS_BESIDE
/* Zeros in dbias for keys first .. end - 1 of the wave's rows, which see none of them. */
DEVICE void clear_keys(const struct owned &y, const struct place &p, int first, int end)
{
    if (first >= end)
        return;
    const struct attn_bwd_args &args = args_here();
    const u32 size = args.problem.flags & KERNARG_BIAS_F32 ? 4 : 2;
    const struct near to = near_of(args.dbias, size, p, y.first, 1, 0);
    const bool runs = args.terms & KERNARG_TERM_DBIAS_QUADS;
    const u32 run = runs ? 8 : size, behind = (u32)end * size;
    int left = y.end - y.first;
    left = left < BLOCK ? left : BLOCK;
#pragma unroll 1
    for (u32 row = 0; left > 0; left--, row += to.at)
#pragma unroll 1
        for (u32 at = (u32)first * size + lane_id() * run; at < behind; at += KERNEL_WAVE * run)
            if (runs)
                __builtin_amdgcn_raw_buffer_store_b64(u32x2{0, 0}, to.buffer, (int)at, (int)row, 0);
            else if (size == 4)
                __builtin_amdgcn_raw_buffer_store_b32(0, to.buffer, (int)at, (int)row, 0);
            else
                __builtin_amdgcn_raw_buffer_store_b16(0, to.buffer, (int)at, (int)row, 0);
}

/* The same for the keys of all tiles that no workgroup visits: the first part of them. */
DEVICE void clear_dbias(const struct owned &y, const struct place &p, struct walk whole, int part)
{
    if (part > 0)
        return;
    clear_keys(y, p, 0, whole.begin * STREAM_ROWS);
    clear_keys(y, p, whole.end * STREAM_ROWS, p.sequence.seq_k);
}
#endif

/* The slabs of dQ take the same walk; one of them takes dbias along. */
DEVICE struct context context_of_slab(const struct place &p, const struct owned &y, int slab,
                                      enum lse_form form, u32 terms)
{
    (void)y;
    struct context context = context_of(args_here(), p, form);
#if TERMS_NEAR
    context.terms = terms;
#if KEEP_AHEAD
    const struct attn_problem &a = args_here().problem;
    context.keep = near_rows_of(a.keep, 1, a.keys_most, p, y.first);
#endif
    if (KERNEL_DIM > WALK_DIM && slab > 0)
        context.terms &= ~(u32)(KERNARG_TERM_DBIAS | KERNARG_TERM_DBIAS_F32);
#else
    (void)slab;
    (void)terms;
#endif
    return context;
}

/* Calls store(result, first row, first channel) for what the wave has of a slab of dQ. */
template <class Store>
DEVICE void each_result(const struct results &r, int first, int slab, Store store)
{
#if SHARES_CHANNELS
    (void)slab;
#pragma unroll
    for (int joined = 0; joined < JOINED; joined++)
        store(r.r[joined], result_column(first, joined), (int)result_block() * BLOCK);
#else
    store(r.r[0], first, slab * SLAB);
#endif
}

/* One slab of dQ, or of the part of it. */
DEVICE void store_dq(const struct results &r, float lowered, const struct place &p,
                     const struct owned &y, int part, int slab)
{
    const struct attn_bwd_share_args &now = share_here();
    const struct attn_problem &a = now.bwd.problem;
    fetch_results(now);
    if (now.part_dq) { /* attn_bwd_sum scales it */
        const u32 matrix =
            (u32)(p.sequence.number * a.heads_q + p.head) * (u32)now.parts_keys + (u32)part;
        each_result(r, y.first, slab, [&](const auto &result, int first, int channel) {
            const struct rows to =
                part_rows(now.part_dq, matrix * (u32)a.seq_q + (u32)first, a.dim_qk);
            store_part(result, lowered, to, y.end - first, channel);
        });
        return;
    }
    const float factor = a.scale * lowered;
    const struct rows dq = dq_rows(now.bwd, p);
    each_result(r, y.first, slab, [&](const auto &result, int first, int channel) {
        store_result(result, factor, dq, view_of(dq, first, y.end), channel);
    });
}

DEVICE void compute_dq(const struct job &job, int part, int parts)
{
    const struct place &p = job.place;
#if ARGUMENTS_STAY
    fetch_queries(args_here());
#endif
    const struct walk whole = plan_walk(p.sequence, job.first_row, job.end_row - 1);
    struct walk walk =
        run_of(whole, part, KERNEL_WAVE == 64 || ARGUMENTS_STAY ? parts : share_here().parts_keys);
    struct stream stream = stream_of(p, walk);
    struct column column = column_of(job);
    struct owned y = owned_of(job, column);
    park(PARKED_END, y.end);
#if TERMS_NEAR && DBIAS_BESIDE
    park(PARKED_FIRST_TILE, whole.begin);
    park(PARKED_LAST_TILE, whole.end);
#endif
#if TERMS_NEAR
    const u32 terms = terms_of(args_here());
#if HOLDS_NEAR
    hold_near(args_here(), p, terms, y.first);
#endif
#else
    const u32 terms = 0;
#endif
    const bool wide = turn_wide(column, p);
    const int begin = wait_apart(walk.begin);
    int slab = KERNEL_DIM > WALK_DIM ? wait_apart(0) : 0;
#pragma unroll 1
    do {
        struct results r;
        begin_results(r);
        walk.begin = awaited(begin);
        rewind(stream, walk.begin, p.sequence.seq_k);
        if (walk.begin < walk.end && !wide)
            walk_stream<OF_PRODUCT>(r, y, stream,
                                    context_of_slab(p, y, awaited(slab), LSE_USUAL, terms), column,
                                    walk, awaited(slab));
        else if (walk.begin < walk.end)
            walk_stream<OF_PRODUCT, LSE_NATURAL>(
                r, y, stream, context_of_slab(p, y, awaited(slab), LSE_NATURAL, terms), column,
                walk, awaited(slab));
        y.end = parked_at(PARKED_END, y.end);
        store_dq(r, lowered(column), p, y, parked_at(PARKED_PART, part), awaited(slab));
        if (KERNEL_DIM > WALK_DIM)
            slab = wait_apart(slab + 1);
    } while (KERNEL_DIM > WALK_DIM && awaited(slab) * SLAB < args_here().problem.dim_qk);
#if TERMS_NEAR && DBIAS_BESIDE
    if (args_here().dbias.data && wave_id() % TEAM == 0)
        clear_dbias(
            y, p,
            {parked_at(PARKED_FIRST_TILE, whole.begin), parked_at(PARKED_LAST_TILE, whole.end)},
            parked_at(PARKED_PART, part));
#endif
}

/* Up to how many waves a SIMD may hold: registers are given out for as many, and no more. */
#if KERNEL_WAVE == 32 && KERNEL_DIM == 64 && KERNEL_DTYPE != 1
#define WAVES_MOST 9
#elif KERNEL_WAVE == 32 && KERNEL_DIM == 512 && KERNEL_WAVES == 16 &&                              \
    (KERNEL_DTYPE == 1 || defined(__GFX12__))
#define WAVES_MOST 8
#elif KERNEL_WAVE == 32 && KERNEL_DIM == 256 && KERNEL_WAVES == 8 && KERNEL_DTYPE != 1 &&          \
    !defined(__GFX12__)
#define WAVES_MOST 6
#elif KERNEL_WAVE == 64 && KERNEL_DIM <= 128 && KERNEL_DTYPE == 1
#define WAVES_MOST (KERNEL_DIM == 64 ? 4 : 3)
#else
#define WAVES_MOST KERNEL_WAVES_PER_EU
#endif

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, WAVES_MOST))) void
KERNEL_SYMBOL(struct attn_bwd_share_args args)
{
    const struct attn_problem &a = args.bwd.problem;
    u32 x = __builtin_amdgcn_workgroup_id_x(), y = __builtin_amdgcn_workgroup_id_y();
    u32 z = __builtin_amdgcn_workgroup_id_z(), entry = z * (u32)a.grid_y + y;
    u32 tiles = ((u32)a.seq_q + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;

    fetch_first(args);
    if (entry >= (u32)a.batch)
        return;
    const struct deal deal = deal_queries(&a, x, y, z);
    const u32 part = args.part_dq ? quotient_of(deal.tile, tiles) : 0;
    const struct place p = {promised_sequence(a, (int)entry), (int)deal.part, (int)deal.kv_head};
    const int first = (int)((part + 1) * tiles - 1 - deal.tile) * KERNEL_TILE_Q;
    if (first < p.sequence.seq_q)
        compute_dq(job_of(p, first), park(PARKED_PART, (int)part), args.parts_keys);
}
