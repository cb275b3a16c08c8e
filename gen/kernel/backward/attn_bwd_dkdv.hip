/*
 * Backward attention, the gradients of K and V:  dK = scale * dS^T Q,  dV = P~^T dO
 * (stream_walk.h has the rest)
 *
 *     Q (seq_q, dim_qk)   K (seq_k, dim_qk)   V (seq_k, dim_v)   dO (seq_q, dim_v)
 *
 * A workgroup owns TILE_K keys of one key head and walks over the queries that see them, for one
 * query head of the group after the other: the sums over a group have a fixed order. A lane's
 * column is a key; lse and delta of the rows lie in LDS. Where that leaves units of the GPU idle,
 * several workgroups share heads and queries: kernarg_share.h has the parts. With SUMS_DQ it is
 * attn_bwd_fused.
 */
#define OWNS_KEYS 1
#define SUMS_ELEMENTS 0
#ifndef SUMS_DQ
#define SUMS_DQ 0
#endif
#define STREAM_ROWS KERNEL_TILE_Q
#define OWNED_ROWS KERNEL_TILE_K
#if KERNEL_DTYPE == 1
#include "stream_walk_f32.h"
#else
#include "stream_walk.h"
#endif
#include "carried_rows.h"
#include "early_arguments.h"
#include "walk_parts.h"

/* The workgroup's keys of the sequence. Uniform. */
struct job {
    struct sequence sequence;
    int kv_head;
    int first_key, end_key;
    int part; /* of the walk: */
    int run, runs, first_head;
    int heads; /* of the group, from that one on, with ARGUMENTS_EARLY */
};

/* The job's sequence; where scalar registers are shortest, but for its first key, for which
 * owned_rows() waits. */
DEVICE struct sequence awaited_sequence(const struct job &job)
{
    struct sequence s = job.sequence;
    if (TERMS_APART)
        s.start_q = awaited(s.start_q);
    return s;
}

/* The walk over the queries of each head that the job has of the group. */
DEVICE struct walk walk_of(const struct job &job)
{
    const int runs = KERNEL_WAVE == 64 || ARGUMENTS_EARLY ? job.runs : share_here().parts_rows;
    return run_of(plan_walk(job.sequence, job.first_key, job.end_key - 1), job.run, runs);
}

/* Heads of the group from the first one that the job has to the last. Uniform. */
DEVICE int heads_left(const struct job &job)
{
    if (ARGUMENTS_EARLY)
        return job.heads;
    return args_here().problem.group - parked_at(PARKED_FIRST_HEAD, job.first_head);
}

DEVICE struct column column_of(const struct job &job)
{
    const struct sequence &s = job.sequence;
    int last = s.seq_k - 1, first = job.first_key + (int)team_id() * BLOCK;
    struct row_interval low = visible_rows(s, first < last ? first : last),
                        high = visible_rows(s, first + BLOCK - 1 < last ? first + BLOCK - 1 : last);
    int index = first + (int)lane_column();
    struct row_interval visible = visible_rows_below(s, index, s.seq_k);
    return {index,
            visible,
            visible.first <= visible.last ? (u32)(visible.last - visible.first) + 1 : 0,
            {wait_long((int)uniform((u32)high.first)), wait_long((int)uniform((u32)low.last))},
            {low.first, high.last}};
}

#if LIFTS
static SHARED u32 largest_do;

/* Finds the largest |dO| of the rows in `walk`, of all heads. */
DEVICE void find_largest(const struct job &job, struct walk walk)
{
#if ARGUMENTS_EARLY
    const struct attn_bwd_share_args &args = share_here();
#endif
    const int end = walk.end * STREAM_ROWS;
    constexpr int AT_ONCE = IN_PAIRS ? 8 : 4; /* rows that a thread loads; registers are free yet */
    const u32 chunks = KERNEL_DIM / CHUNK, rows = THREADS / chunks * AT_ONCE;
    u32 largest = 0;
    if (thread_id() == 0)
        largest_do = 0;
    lds_barrier();
    struct place p = {awaited_sequence(job), 0, parked_at(PARKED_HEAD, job.kv_head)};
#pragma unroll 1
#if ARGUMENTS_EARLY
    for (int left = heads_left(job); left > 0; left -= args.parts_heads) {
        const struct attn_bwd_args &now = args.bwd;
#else
    for (int left = heads_left(job); left > 0; left -= share_here().parts_heads) {
        const struct attn_bwd_args &now = args_here();
#endif
        p.head = (parked_at(PARKED_HEAD, job.kv_head) + 1) * now.problem.group - left;
        const struct rows d_o = do_rows(now, p);
#pragma unroll 1
        for (int first = walk.begin * STREAM_ROWS; first < end; first += (int)rows) {
            u32x4 chunk[AT_ONCE];
            load_chunks<AT_ONCE>(chunk, view_of(d_o, first, job.sequence.seq_q), d_o,
                                 thread_id() / chunks * AT_ONCE, thread_id() % chunks * CHUNK);
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                largest = largest_of(largest, chunk[i]);
        }
    }
    __hip_atomic_fetch_max(&largest_do, largest_in_wave(largest), __ATOMIC_RELAXED,
                           __HIP_MEMORY_SCOPE_WORKGROUP);
    lds_barrier();
}

/* After find_largest(). Uniform. */
DEVICE struct lift lift_here()
{
    return lift_of(uniform(largest_do), args_here().problem);
}
#endif

/* What is found before the walks of a job: where there are registers for it, it waits in those. */
struct found {
#if LIFTS
    int d_o, p; /* struct lift */
#endif
};

#define HOLDS_FOUND ONLY_KEEP

#if LIFTS
DEVICE struct lift lift_found(const struct found &found)
{
    if (HOLDS_FOUND)
        return {awaited(found.d_o), awaited(found.p)};
    return lift_here();
}
#endif

/* What undoes the lift of dK and dV. Uniform. */
DEVICE float lowered(const struct found &found)
{
    (void)found;
#if LIFTS
    const struct lift lift = lift_found(found);
    return power_of_two(-lift.d_o - lift.p);
#else
    return 1;
#endif
}

/* Has the stream lift what it carries; `lower`: Q and lse. */
template <enum lse_form form>
DEVICE void lift_stream(struct stream &stream, bool lower, const struct found &found)
{
    (void)found;
#if LIFTS
    const struct lift lift = lift_found(found);
    stream.offset = lower && form == LSE_BASE2 ? -LSE_SIGN * (float)lift.p : 0;
    stream.factor *= power_of_two(lower ? 0 : lift.d_o);
    stream.lift = lift_pair_of(lower ? 0 : lift.d_o);
#else
    (void)stream;
    (void)lower;
#endif
}

/* Adds what the rows of all heads of the group give. */
template <enum lse_form form>
DEVICE void add_heads(struct results &to, const struct job &job, const struct found &found,
                      struct owned &y, const struct column &column, struct walk walk, int slab)
{
    const struct sequence s = awaited_sequence(job);
    const int begin = wait_apart(walk.begin);
    struct place p = {s, 0, parked_at(PARKED_HEAD, job.kv_head)};
    int left = wait_apart(heads_left(job));
#pragma unroll 1
    do {
        const struct attn_bwd_args &now = args_here();
        p.head = (parked_at(PARKED_HEAD, job.kv_head) + 1) * now.problem.group - awaited(left);
        fetch_stream(now);
#if ARGUMENTS_EARLY
        const int apart = wait_apart(((const struct attn_bwd_share_args &)now).parts_heads);
#endif
#if TERMS_NEAR && HOLDS_NEAR
        hold_near(KERNEL_WAVE == 64 ? now : args_here(), p, terms_of(now), 0);
        in_order(); /* scalar registers are short */
#endif
        const bool lower = !LSE_IN_LANES && carrier() == 0;
        const struct vector_span vector = vector_span_of(now.problem, p, s.seq_q);
        struct stream stream;
        walk.begin = awaited(begin);
        carry_rows(stream, now, p, walk.begin);
#if ARGUMENTS_EARLY /* or the one of them would be read that is wanted */
        const kernarg_u64 lse = hold_scalar(now.lse), delta = hold_scalar(now.delta);
#if LSE_IN_LANES
        stream.lse = describe_vector(lse, vector);
        stream.lse_factor = LSE_SIGN * lse_unit_of(now.problem, form);
        stream.vector = describe_vector(delta, vector);
#else
        stream.vector = describe_vector(lower ? lse : delta, vector);
#endif
#else
        stream.vector = describe_vector(lower ? now.lse : now.delta, vector);
#endif
        stream.vector_pitch = stay_apart(vector.step * 4);
        stream.factor = lower                        ? LSE_SIGN * lse_unit_of(now.problem, form)
                        : DELTA_FIRST || TAKES_PAIRS ? -1.0f
                                                     : 1.0f;
        lift_stream<form>(stream, lower, found);
        stream.factor = stay_apart(stream.factor);
#if LIFTS
        stream.offset = stay_apart(stream.offset);
        if (WALKS_WHOLE)
            stream.lift = stay_apart(stream.lift);
#endif
        rewind(stream, walk.begin, s.seq_q);
        struct context context = context_of(now, p, form);
#if SUMS_DQ
        set_dq(context, share_here(), p);
#endif
        walk_stream<OF_PRODUCT, form>(to, y, stream, context, column, walk, slab);
#if ARGUMENTS_EARLY
        left = wait_apart(left - apart);
#else
        left = wait_apart(left - share_here().parts_heads);
#endif
    } while (awaited(left) > 0);
}

DEVICE bool in_any_wave(bool x)
{
    u32 *flags = (u32 *)row_tile[0], any = 0;
    lds_barrier();
    flags[wave_id()] = in_any_lane(x);
    lds_barrier();
#pragma unroll
    for (int i = 0; i < KERNEL_WAVES; i++)
        any |= flags[i];
    return uniform(any) != 0;
}

#if SUMS_DQ
/*
 * Whether some row of the walk, of any head of the group, asks for the wide form: see WIDE_LSE.
 * It is asked before the walk: what that adds to dQ cannot be taken back.
 */
DEVICE bool asks_for_wide(const struct job &job, struct walk walk)
{
    constexpr int LOADS = 4;
    const int end = walk.end * STREAM_ROWS;
    struct place p = {job.sequence, 0, parked_at(PARKED_HEAD, job.kv_head)};
    bool any = false;
#pragma unroll 1
    for (int left = heads_left(job); left > 0; left--) {
        const struct attn_bwd_args &now = args_here();
        p.head = (p.kv_head + 1) * now.problem.group - left;
        const struct vector_span span = vector_span_of(now.problem, p, job.sequence.seq_q);
        const __amdgpu_buffer_rsrc_t delta = describe_vector(now.delta, span);
        const u32 pitch = span.step * 4;
#pragma unroll 1
        for (int first = walk.begin * STREAM_ROWS; first < end; first += LOADS * THREADS)
#pragma unroll
            for (int i = 0; i < LOADS; i++)
                any |= __builtin_amdgcn_raw_buffer_load_b32(
                           delta, (int)((u32)(first + i * THREADS + (int)thread_id()) * pitch), 0,
                           0) >= WIDE_DELTA;
    }
    return in_any_wave(any);
}
#else
/* Whether the delta of some row has made dK NaN, in any wave: see WIDE_LSE. */
DEVICE bool asks_for_wide(const struct results &r)
{
#if SHARES_CHANNELS
    const float x = r.r[0][0][0] + r.r[JOINED - 1][0][0]; /* of dK or dV */
#else
    const float x = r.r[0][0][0];
#endif
    return in_any_wave(x != x);
}
#endif

/* Calls store(result, is it of dK, first key, first channel) for what the wave has of a slab of the
 * gradients that are wanted. */
template <class Store>
DEVICE void each_gradient(const struct attn_bwd_args &args, const struct results &r, int first,
                          int slab, Store store)
{
    const struct attn_bwd_args &now = ARGUMENTS_EARLY ? args : args_here();
#if SHARES_CHANNELS
    (void)slab;
    const bool is_dk = result_tensor() == 0;
    if (is_dk ? !now.dk : !now.dv)
        return;
#pragma unroll
    for (int joined = 0; joined < JOINED; joined++)
        store(r.r[joined], is_dk, result_column(first, joined), (int)result_block() * BLOCK);
#elif GRADIENTS_APART || IN_PAIRS
    const bool is_dk = IN_PAIRS ? slice_tensor() == 1 : slab == 0;
    if (is_dk ? now.dk : now.dv)
        store(r.r[0], is_dk, first, 0);
#else
    if (now.dk)
        store(r.r[0], true, first, slab * SLAB);
    if (now.dv)
        store(r.r[1], false, first, slab * SLAB);
#endif
}

/* One slab of the gradients, or of the job's part of them, which attn_bwd_sum scales. */
DEVICE void store_results(const struct results &r, const struct job &job, const struct found &found,
                          const struct owned &y, int slab)
{
    const struct attn_bwd_share_args &now = share_here();
    fetch_results(now);
    const struct attn_problem &a = now.bwd.problem;
    const int number = parked_at(PARKED_SEQUENCE, job.sequence.number);
    const int kv_head = parked_at(PARKED_HEAD, job.kv_head);
    const int first = awaited_long(y.first);
    const int behind = OWNED_PER_TILE ? parked_at(PARKED_END, y.end) : awaited_long(y.end);
#if WALK_SLABS == 2 /* a branch for each gradient takes fewer registers than one for both */
    const bool parts = now.part_dk || now.part_dv;
    struct place end = {{}, 0, kv_head};
    u32 row = 0; /* the first one of the job's part among those of all parts */
    if (parts)
        row = ((u32)(number * a.heads_k + kv_head) * (u32)now.parts_heads * (u32)now.parts_rows +
               (u32)parked_at(PARKED_PART, job.part)) *
              (u32)a.seq_k;
    else
        end.sequence = promised_sequence(a, number);
    each_gradient(
        now.bwd, r, first, slab, [&](const auto &result, bool is_dk, int key, int channel) {
            if (parts) {
                const struct rows to = part_rows(is_dk ? now.part_dk : now.part_dv, row + (u32)key,
                                                 is_dk ? a.dim_qk : a.dim_v);
                store_part(result, lowered(found), to, behind - key, channel);
                return;
            }
            const struct rows to = is_dk ? dk_rows(now.bwd, end) : dv_rows(now.bwd, end);
            store_result(result, is_dk ? a.scale * lowered(found) : lowered(found), to,
                         view_of(to, key, behind), channel);
        });
#else
    if (now.part_dk || now.part_dv) {
        const u32 matrix =
            (u32)(number * a.heads_k + kv_head) * (u32)now.parts_heads * (u32)now.parts_rows +
            (u32)parked_at(PARKED_PART, job.part);
        const u32 row = matrix * (u32)a.seq_k;
        const float factor = lowered(found);
        each_gradient(
            now.bwd, r, first, slab, [&](const auto &result, bool is_dk, int key, int channel) {
                const struct rows to = part_rows(is_dk ? now.part_dk : now.part_dv, row + (u32)key,
                                                 is_dk ? a.dim_qk : a.dim_v);
                store_part(result, factor, to, behind - key, channel);
            });
        return;
    }
    const struct place end = {promised_sequence(a, number), 0, kv_head};
    each_gradient(now.bwd, r, first, slab,
                  [&](const auto &result, bool is_dk, int key, int channel) {
                      const struct rows to = is_dk ? dk_rows(now.bwd, end) : dv_rows(now.bwd, end);
                      store_result(result, is_dk ? a.scale * lowered(found) : lowered(found), to,
                                   view_of(to, key, behind), channel);
                  });
#endif
}

DEVICE void compute_dkdv(const struct job &job)
{
    const struct sequence &s = job.sequence;
    struct walk walk = walk_of(job);
    struct found found = {};
#if LIFTS
    find_largest(job, walk);
#endif
    struct column column = column_of(job);
#if LIFTS
    const struct lift lift = lift_here();
    column.raise = (float)lift.p;
    if (HOLDS_FOUND)
        found = {wait_apart(lift.d_o), wait_apart(lift.p)};
#endif
    struct place p = {s, 0, parked_at(PARKED_HEAD, job.kv_head)};
    struct owned y;
    y.first = wait_long(job.first_key + (int)team_id() * BLOCK);
    y.end = OWNED_PER_TILE ? park(PARKED_END, job.end_key) : wait_long(job.end_key);
    if (!OWNED_PER_TILE)
        hold_owned(y, p);
#if WALKS_WHOLE
    view_owned(y, p);
#endif
#if SUMS_DQ
    hold_turned(y, p, job.first_key);
    clear_ds();
#endif

    const int begin = wait_apart(walk.begin);
    int slab = ONLY_KEEP ? 0 : wait_apart(0); /* or the gradient */
#pragma unroll 1
    do {
        struct results r;
        walk.begin = awaited(begin);
#if SUMS_DQ
        if (walk.begin >= walk.end) {
            clear_here(r);
        } else if (asks_for_wide(job, walk)) {
            r = {};
            add_heads<LSE_NATURAL>(r, job, found, y, column, walk, awaited(slab));
        } else {
            r = {};
            add_heads<LSE_BASE2>(r, job, found, y, column, walk, awaited(slab));
        }
#else
        if (KERNEL_SCORE && walk.begin >= walk.end)
            clear_here(r);
        else
            begin_results(r);
        if (walk.begin < walk.end) {
            add_heads<LSE_USUAL>(r, job, found, y, column, walk, awaited(slab));
            if (LSE_USUAL == LSE_BASE2 && asks_for_wide(r)) {
                r = {};
                add_heads<LSE_NATURAL>(r, job, found, y, column, walk, awaited(slab));
            }
        }
#endif
        store_results(r, job, found, y, awaited(slab));
        if (ONLY_KEEP)
            break;
        slab = wait_apart(slab + (GRADIENTS_APART ? 1 : WALK_SLABS));
    } while (awaited(slab) < (GRADIENTS_APART ? 2 : slabs_of(args_here().problem)));
}

/*
 * Up to how many waves a SIMD may hold: registers are given out for as many, and no more. LDS has
 * room for six on RDNA.
 */
#if KERNEL_WAVE == 32 && KERNEL_DIM == 64 && KERNEL_DTYPE != 1
#define WAVES_MOST 6
#elif KERNEL_WAVE == 32 && KERNEL_DIM == 512 && KERNEL_WAVES == 16 &&                              \
    (KERNEL_DTYPE == 1 || defined(__GFX12__))
#define WAVES_MOST 8
#elif KERNEL_WAVE == 64 && KERNEL_DIM == 64 && KERNEL_DTYPE == 1
#define WAVES_MOST 4
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

    fetch_first(args);
    if (entry >= (u32)a.batch)
        return;
    struct deal deal = deal_keys(&a, x, y, z);
    u32 part = 0, run = 0;
    if (args.part_dk || args.part_dv) {
        part = quotient_of(deal.tile, (u32)args.bwd.tiles_k);
        deal.tile -= part * (u32)args.bwd.tiles_k;
        run = part;
        if (args.parts_heads != 1)
            run = quotient_of(part, (u32)args.parts_heads);
    }
    struct job job = {promised_sequence(a, (int)entry),
                      park(PARKED_HEAD, (int)deal.kv_head),
                      (int)deal.tile * KERNEL_TILE_K,
                      0,
                      park(PARKED_PART, (int)part),
                      (int)run,
                      args.parts_rows,
                      park(PARKED_FIRST_HEAD, (int)(part - run * (u32)args.parts_heads)),
                      a.group - (int)(part - run * (u32)args.parts_heads)};
    if (TERMS_APART) { /* see awaited_sequence() */
        job.sequence.start_q = wait_apart(job.sequence.start_q);
        job.sequence.start_k = wait_apart(job.sequence.start_k);
    }
    park(PARKED_SEQUENCE, (int)entry);
    int left = job.sequence.seq_k - job.first_key;
    job.end_key = job.first_key + (left < KERNEL_TILE_K ? left : KERNEL_TILE_K);
    if (left > 0)
        compute_dkdv(job);
}
