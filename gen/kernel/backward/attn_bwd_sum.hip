/*
 * Backward attention: the sums of what several workgroups found of the same rows of dQ, dK and dV,
 * part after part, rounded to the type of the tensors. kernarg_share.h says where the parts lie.
 *
 * A workgroup has TILE_Q rows and SLICE channels of one head of a gradient. LANES lanes share a
 * row.
 */
#include "early_arguments.h"
#include "gradient_parts.h"
#if KERNEL_DTYPE != 1
#include "round.h"
#endif

constexpr int LANES = 16, ROWS = THREADS / LANES, STEPS = KERNEL_TILE_Q / ROWS;
constexpr int QUAD = 4, SLICE = LANES * QUAD, AT_ONCE = KERNEL_WAVE == 64 ? 4 : 1;
constexpr int FIRST_MOST = KERNEL_WAVE == 64 ? 4 : 1; /* of the first parts */

static_assert(KERNEL_TILE_Q % ROWS == 0, "whole steps");

typedef float f32x4 __attribute__((ext_vector_type(4)));

#if KERNEL_DTYPE == 1
typedef float element;
typedef f32x4 quad;

DEVICE quad rounded(const f32x4 &x, float factor)
{
    return x * factor;
}
#else
typedef u16 element;
typedef element quad __attribute__((ext_vector_type(QUAD)));

/* x * factor. */
DEVICE quad rounded(const f32x4 &x, float factor)
{
#if KERNEL_DTYPE == 2
    float a = x[0], b = x[1], c = x[2], d = x[3];
    asm("" : "+v"(a), "+v"(b)); /* or both would be multiplied at once, and rounded by more */
    asm("" : "+v"(c), "+v"(d));
    const u32x2 both = {round_products(f32x2{a, b}, factor), round_products(f32x2{c, d}, factor)};
    return __builtin_bit_cast(quad, both);
#else
    const f32x4 scaled = x * factor;
    float a = scaled[0], b = scaled[1], c = scaled[2], d = scaled[3];
    settle_four(a, b, c, d);
    const u32x2 pairs = {round_settled_pair(a, b), round_settled_pair(c, d)};
    return __builtin_bit_cast(quad, pairs);
#endif
}
#endif

typedef GLOBAL quad quad_anywhere __attribute__((aligned(ELEMENT_BYTES)));

/* Channels channel .. channel + 3 of rows row, row + ROWS, ..., those before `behind`: x * factor.
 */
template <int N>
DEVICE void store_quads(const struct rows &to, int row, int behind, int channel,
                        const f32x4 (&x)[N], float factor)
{
    GLOBAL char *at = (GLOBAL char *)to.base + row * to.pitch + channel * ELEMENT_BYTES;
    const bool whole = channel + QUAD <= to.dim;
#pragma unroll
    for (int n = 0; n < N; n++, at += ROWS * to.pitch) {
        const quad q = rounded(x[n], factor);
        if (row + n * ROWS >= behind)
            return;
        if (whole)
            *(quad_anywhere *)at = q;
        else
#pragma unroll
            for (int i = 0; i < QUAD - 1; i++)
                if (channel + i < to.dim)
                    *(GLOBAL element *)(at + i * ELEMENT_BYTES) = q[i];
    }
}

/*
 * Channels from `channel` on of rows row, row + ROWS, ... of N, those before `behind`, of `to`,
 * which begins with row `first`: without a branch for each row, where quads are aligned.
 */
template <int N>
DEVICE void store_rows(const struct rows &to, int first, int row, int behind, int channel,
                       const f32x4 (&x)[N], float factor)
{
#if KERNEL_DTYPE != 1 && KERNEL_WAVE == 64
    if (to.channel == ELEMENT_BYTES && to.dim % QUAD == 0 &&
        (((kernarg_u64)to.base | (kernarg_u64)to.pitch) & (sizeof(quad) - 1)) == 0 &&
        (kernarg_u64)to.pitch < 1 << 25) { /* all rows are within 2^31 bytes */
        const int last = (behind - first < N * ROWS ? behind - first : N * ROWS) - 1;
        const __amdgpu_buffer_rsrc_t buffer = __builtin_amdgcn_make_buffer_rsrc(
            to.base, 0, (int)((u32)last * (u32)to.pitch + (u32)to.dim * ELEMENT_BYTES),
            DESCRIPTOR_WORD3);
        const u32 at = (u32)row * (u32)to.pitch + (u32)channel * ELEMENT_BYTES;
#pragma unroll
        for (int step = 0; step < N; step++)
            __builtin_amdgcn_raw_buffer_store_b64(
                __builtin_bit_cast(u32x2, rounded(x[step], factor)), buffer,
                (int)(at + (u32)(step * ROWS) * (u32)to.pitch), 0, 0);
        return;
    }
#endif
    store_quads(to, row, behind - first, channel, x, factor);
}

/* The lane's channels of all its rows of a part, on their way; 0 of rows beyond `bytes`. Scalars
 * say where part and rows lie, which vector instructions would take longer for. */
DEVICE void load_part(f32x4 (&part)[STEPS], const GLOBAL char *from, u32 bytes, u32 pitch, u32 own)
{
    const __amdgpu_buffer_rsrc_t buffer =
        __builtin_amdgcn_make_buffer_rsrc((void *)from, 0, (int)bytes, DESCRIPTOR_WORD3);
#pragma unroll
    for (int step = 0; step < STEPS; step++)
        part[step] =
            __builtin_bit_cast(f32x4, __builtin_amdgcn_raw_buffer_load_b128(
                                          buffer, (int)own, (int)((u32)(step * ROWS) * pitch), 0));
}

/* N parts more of the lane's rows, or the first ones, all on their way at once: the compiler would
 * wait for each. (Of wave32's registers it takes too many for more than one.) */
template <int N, bool first>
DEVICE void add_parts(f32x4 (&sum)[STEPS], const GLOBAL char *&from, kernarg_u64 apart, u32 bytes,
                      u32 pitch, u32 own)
{
    f32x4 part[N][STEPS];
#pragma unroll
    for (int i = 0; i < N; i++, from += apart)
        load_part(part[i], from, bytes, pitch, own);
    __builtin_amdgcn_sched_barrier(0);
#if KERNEL_WAVE == 64
    __builtin_amdgcn_s_waitcnt(0x0f70); /* vmcnt(0): for all, and not for each */
    __builtin_amdgcn_sched_barrier(0);
#endif
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int step = 0; step < STEPS; step++)
            sum[step] = first && i == 0 ? part[i][step] : sum[step] + part[i][step];
}

/*
 * The lane's channels of rows first, first + 1, ... of a gradient, those before `behind`, times
 * `factor`. `to` begins with row `first`, and so does `from`, the first of its parts. Their rows of
 * a head are less than 2^32 bytes: of more, no walk is shared.
 */
DEVICE void sum_rows(const struct rows &to, const struct rows &from, kernarg_u64 apart, int parts,
                     int first, int behind, int channel, float factor)
{
    const GLOBAL char *part = (const GLOBAL char *)from.base;
    const int row = (int)(thread_id() / LANES), left_rows = behind - first;
    const u32 pitch = (u32)from.pitch, own = (u32)row * pitch + (u32)channel * 4;
    const u32 bytes = (u32)(left_rows < KERNEL_TILE_Q ? left_rows : KERNEL_TILE_Q) * pitch;
    f32x4 sum[STEPS];
    if (left_rows <= 0 || channel >= to.dim)
        return;
    int left = parts;
    if (FIRST_MOST > 1 && left >= FIRST_MOST) {
        add_parts<FIRST_MOST, true>(sum, part, apart, bytes, pitch, own);
        left -= FIRST_MOST;
    } else if (AT_ONCE > 1 && left >= AT_ONCE) {
        add_parts<AT_ONCE, true>(sum, part, apart, bytes, pitch, own);
        left -= AT_ONCE;
    } else {
        add_parts<1, true>(sum, part, apart, bytes, pitch, own);
        left--;
    }
#pragma unroll 1
    for (; left >= AT_ONCE; left -= AT_ONCE)
        add_parts<AT_ONCE, false>(sum, part, apart, bytes, pitch, own);
#pragma unroll 1
    for (; left > 0; left--)
        add_parts<1, false>(sum, part, apart, bytes, pitch, own);
    store_rows(to, first, row, behind, channel, sum, factor);
}

static_assert(8 % ROWS == 0, "line_of(row + step * ROWS) is the sum of both lines");

/* Where row `row` lies in a block: kernarg_share.h. */
DEVICE constexpr u32 line_of(u32 row)
{
    return row / 8 * 8 + row % 4 * 2 + row / 4 % 2;
}

/*
 * dQ in blocks, times `factor`: the lane's channels of the rows from `first` on, with which `to`
 * begins, that a workgroup has, those before `behind`.
 */
DEVICE void round_blocks(const struct rows &to, const struct dq_blocks &from, float factor,
                         int first, int behind, int channel)
{
    constexpr int ALL_STEPS = DQ_BLOCK_TILES * STEPS;
    static_assert(DQ_BLOCK_TILES * KERNEL_TILE_Q % SUMS_SIDE == 0, "a workgroup has whole bands");
    const int row = (int)(thread_id() / LANES);
    const u32 own = (u32)channel / SUMS_SIDE * SUMS_BYTES + (u32)channel % SUMS_SIDE * 4 +
                    line_of((u32)row) * SUMS_SIDE * 4;
    const int band = first / SUMS_SIDE, last_band = (behind - 1) / SUMS_SIDE;
    f32x4 sum[ALL_STEPS];
    if (channel >= to.dim || first >= behind)
        return;
#pragma unroll
    for (int step = 0; step < ALL_STEPS; step++) {
        const int wanted = band + step * ROWS / SUMS_SIDE;
        const int there = wanted < last_band ? wanted : last_band;
        const u32 line = line_of((u32)(step * ROWS % SUMS_SIDE));
        sum[step] = *(const GLOBAL f32x4 *)(from.first + (kernarg_i64)there * from.band_bytes +
                                            (own + line * SUMS_SIDE * 4));
    }
    __builtin_amdgcn_sched_barrier(0);
    store_rows(to, first, row, behind, channel, sum, factor);
}

/* Groups of SLICE channels of a gradient that has parts. */
DEVICE u32 slices_of(kernarg_u64 data, int dim)
{
    return data ? ((u32)dim + SLICE - 1) / SLICE : 0;
}

/* Tile `tile` of one head, group `slice` of the groups of all gradients of its side. */
DEVICE void sum_tile(const struct attn_bwd_share_args &args, const struct sequence &s, int head,
                     bool keys, u32 tile, u32 slice)
{
    const struct attn_bwd_args &b = args.bwd;
    const struct attn_problem &a = b.problem;
    const u32 of_dk = slices_of(args.part_dk, a.dim_qk);
    const bool is_dv = keys && slice >= of_dk;
    const bool in_blocks = KERNEL_WAVE == 64 && !keys && args.dq_in_blocks;
    const int first = (int)(tile * KERNEL_TILE_Q) * (in_blocks ? DQ_BLOCK_TILES : 1);
    const struct rows to =
        rows_of(!keys   ? b.dq
                : is_dv ? b.dv
                        : b.dk,
                !keys   ? b.dq_stride
                : is_dv ? b.dv_stride
                        : b.dk_stride,
                keys ? s.batch_k : s.batch_q, (keys ? s.start_k : s.start_q) + first, head,
                is_dv ? a.dim_v : a.dim_qk);
    const int behind = keys ? s.seq_k : s.seq_q;
    const int channel = (int)((slice - (is_dv ? of_dk : 0)) * SLICE + thread_id() % LANES * QUAD);
    if (in_blocks) { /* no other has attn_bwd_fused */
        round_blocks(to, blocks_of(args, {s, head, head}), a.scale, first, behind, channel);
        return;
    }
    const u32 parts = (u32)(keys ? args.parts_heads * args.parts_rows : args.parts_keys);
    const u32 rows = (u32)(keys ? a.seq_k : a.seq_q);
    const u32 matrix = ((u32)s.number * (u32)(keys ? a.heads_k : a.heads_q) + (u32)head) * parts;
    const struct rows from = part_rows(!keys   ? args.part_dq
                                       : is_dv ? args.part_dv
                                               : args.part_dk,
                                       matrix * rows + (u32)first, to.dim);
    sum_rows(to, from, rows * (kernarg_u64)from.pitch, (int)parts, first, behind, channel,
             is_dv ? 1 : a.scale);
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
    fetch_sums(args);
    if (entry >= (u32)a.batch)
        return;
    const bool keys = x < behind;
    x -= keys ? 0 : behind;
    const u32 heads = (u32)(keys ? a.heads_k : a.heads_q), unit = quotient_of(x, heads);
    const u32 slices = keys ? of_keys : slices_of(args.part_dq, a.dim_qk);
    const u32 tile = quotient_of(unit, slices);
    const int head = (int)(x - unit * heads);
    sum_tile(args, promised_sequence(a, (int)entry), head, keys, tile, unit - tile * slices);
}
