/*
 * Forward attention:  S = scale * Q K^T,  P = softmax(S),  O = P V,  lse = ln(sum(exp(S)))
 *
 *     Q (seq_q, dim_qk)   K (seq_k, dim_qk)   V (seq_k, dim_v)   O (seq_q, dim_v)
 *
 * A workgroup computes TILE_Q rows of O of one head; each of its waves owns COLUMNS = TILE_Q /
 * WAVES of them and walks over the keys in tiles of TILE_K, which the whole workgroup brings to
 * LDS. Everything is transposed, so that P never leaves the registers (see mma.h):
 *
 *     S^T[TILE_K, COLUMNS] = K Q^T             K from LDS, Q in registers (or LDS)
 *     P^T = exp2(S^T * factor - shift)         softmax.h
 *     O^T[DIM, COLUMNS]   += V^T P^T           V^T from LDS
 *
 * One step of the key loop. K and V have one buffer each in LDS; while a tile is computed on, the
 * next one is on its way from memory to registers:
 *
 *                      registers       LDS
 *     S = K Q^T        V(t) arriving   K(t) is there, V(t-1) has been read by all; read K(t)
 *     softmax
 *     store V                          write V(t)
 *     load K, V        K, V(t+1) leave memory (V only at the end, where registers are short)
 *     barrier                          V(t) is there, K(t) has been read by all
 *     O += V^T P^T     arriving        read V(t)
 *     store K                          write K(t+1)
 *     barrier
 *
 * Compile-time parameters (images/matrix.def says who sets them):
 *
 *     KERNEL_SYMBOL                    name of the kernel
 *     KERNEL_DTYPE                     2 f16, 3 bf16
 *     KERNEL_DIM                       64 or 128: serves dim_qk and dim_v from 1 to this
 *     KERNEL_UNALIGNED                 0: 16-byte-aligned rows and dims; 1: anything
 *     KERNEL_TILE_Q, KERNEL_TILE_K, KERNEL_WAVES, KERNEL_WAVES_PER_EU
 *     KERNEL_WAVE                      64 (MFMA) or 32 (WMMA)
 */
#include "mask.h"
#include "softmax.h"
#if KERNEL_UNALIGNED
#include "cargo_any.h"
#else
#include "cargo_aligned.h"
#endif

enum {
    COLUMNS = KERNEL_TILE_Q / KERNEL_WAVES, /* queries of a wave */
    Q_BLOCKS = COLUMNS / BLOCK,
    QK_STEPS = KERNEL_DIM / 16,                 /* of sixteen channels */
    PV_GROUPS = KERNEL_TILE_K / 16,             /* of sixteen keys */
    Q_LOADS = KERNEL_TILE_Q * CHUNKS / THREADS, /* chunks of Q per thread */
};

/*
 * Wave32 needs two blocks of queries per wave, lest the operands from LDS become the limit. Then Q
 * does not fit into registers beside O.
 */
#define Q_IN_LDS (KERNEL_WAVE == 32)

/* Loading V only after the last use of P saves the registers of one of them. */
#define LATE_V (Q_IN_LDS || KERNEL_UNALIGNED)

/* Unrolled, the compiler would load all operands first, more than there are registers for. */
#if KERNEL_WAVE == 32 && KERNEL_UNALIGNED
#define QK_UNROLL 1
#else
#define QK_UNROLL 8
#endif

static_assert(Q_IN_LDS || Q_BLOCKS == 1, "Q in registers is one block");

static_assert(Q_BLOCKS * BLOCK * KERNEL_WAVES == KERNEL_TILE_Q,
              "waves own whole blocks of queries");
static_assert(KERNEL_TILE_K % BLOCK == 0 && KERNEL_DIM % 64 == 0, "whole blocks");

typedef block_acc score_blocks[Q_BLOCKS][KEY_BLOCKS];
typedef block_acc output_blocks[Q_BLOCKS][DIM_BLOCKS];

static SHARED __attribute__((aligned(16))) char k_tile[K_TILE_BYTES];
static SHARED __attribute__((aligned(16))) char vt_tile[VT_TILE_BYTES];
static SHARED __attribute__((aligned(16))) char q_tile[Q_IN_LDS ? KERNEL_TILE_Q * K_ROW_BYTES : 16];

/* Which part of the problem this workgroup has. Uniform. */
struct job {
    int head, kv_head;
    int first_row, last_row; /* of Q and O, both existing */
};

DEVICE struct job job_of(const struct attn_problem &a, const struct sequence &sequence, int head,
                         int tile)
{
    int first_row = tile * KERNEL_TILE_Q, left = sequence.seq_q - first_row;
    return {head, (int)uniform((u32)head / (u32)a.group), first_row,
            left > KERNEL_TILE_Q ? first_row + KERNEL_TILE_Q - 1 : sequence.seq_q - 1};
}

/* How many of the tile's rows exist. */
DEVICE int rows_of(const struct job &job)
{
    return job.last_row - job.first_row + 1;
}

/* Tile `tile` of the keys. */
DEVICE struct tile_view tile_at(const struct sequence &sequence, const struct slice &x, int tile)
{
    int left = sequence.seq_k - tile * KERNEL_TILE_K;
    return {row_at(x, (kernarg_i64)tile * KERNEL_TILE_K),
            left < KERNEL_TILE_K ? left : KERNEL_TILE_K};
}

/* Q as B operands, with the scale's sign. */
struct queries {
    block_frag frag[Q_IN_LDS ? 1 : QK_STEPS];
};

DEVICE void load_q(struct queries &q, const struct job &job, const struct sequence &sequence,
                   const struct attn_problem &a)
{
    const u32 sign = a.scale < 0 ? 0x80008000u : 0;
    const struct slice slice =
        slice_of(a.q, a.q_stride, sequence.batch_q, sequence.start_q, job.head, a.dim_qk);
    struct tile_view view = {row_at(slice, job.first_row), rows_of(job)};
#if Q_IN_LDS
    (void)q;
#pragma unroll
    for (int i = 0; i < Q_LOADS; i++) {
        u32 row = thread_id() / CHUNKS + i * KEYS_PER_LOAD, chunk = thread_id() % CHUNKS;
        u32x4 x = load_chunk(view, slice, row, chunk * CHUNK);
        *(u32x4 *)(q_tile + k_tile_at(row, chunk)) = x ^ sign;
    }
#else
    u32 row = wave_id() * COLUMNS + lane_column();
#pragma unroll
    for (int step = 0; step < QK_STEPS; step++)
        q.frag[step] = load_chunk(view, slice, row, 16 * step + CHUNK * lane_half()) ^ sign;
#endif
}

DEVICE block_frag q_frag(const struct queries &q, int step, int block)
{
    if (Q_IN_LDS)
        return k_tile_frag(q_tile, (int)wave_id() * Q_BLOCKS + block, step);
    return q.frag[step];
}

/* S^T = K Q^T */
DEVICE void multiply_kq(score_blocks &s, const struct queries &q)
{
    const block_acc zero = zero_acc();
#pragma unroll
    for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            s[column][block] = zero;
#pragma unroll QK_UNROLL
    for (int step = 0; step < QK_STEPS; step++) {
        block_frag b[Q_BLOCKS];
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            b[column] = q_frag(q, step, column);
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++) {
            block_frag a = k_tile_frag(k_tile, block, step);
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++)
                mma(s[column][block], a, b[column]);
        }
    }
}

/* O^T += V^T P^T */
DEVICE void multiply_vp(output_blocks &o, const score_blocks &p)
{
    const u32 half = pack_half();
#pragma unroll
    for (int group = 0; group < PV_GROUPS; group++) {
        /* Operands of one group at a time; those of all of them exceed the registers. */
        if (KERNEL_WAVE == 32)
            __builtin_amdgcn_sched_barrier(0);

        const int per_block = BLOCK / 16;
        block_frag b[Q_BLOCKS];
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            b[column] = pack_p(p[column][group / per_block], group % per_block, half);
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++) {
            block_frag a = vt_tile_frag(vt_tile, block, group);
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++)
                mma(o[column][block], a, b[column]);
        }
    }
}

/* FAST: every key of the tile is visible, the next tile exists whole, the shifts are to stay. */
enum step_kind { STEP_GENERAL, STEP_FAST };

/* What a wave carries along the keys. */
struct progress {
    struct queries q;
    struct cargo cargo;
    struct softmax_state softmax[Q_BLOCKS];
    output_blocks o;
};

/* Scores of keys that a query does not see become -infinity. */
DEVICE void mask_scores(score_blocks &s, const struct key_interval *visible, u32 key)
{
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
        for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i++)
                if (!sees(visible[column], key + block * BLOCK + acc_row(i)))
                    s[column][block][i] = -__builtin_inff();
}

/*
 * One step: the tile in LDS, whose first key is `key`, is computed on; the next one is fetched.
 * Returns false, with nothing changed, if the step turns out not to be a fast one.
 */
template <enum step_kind kind>
DEVICE bool step(struct progress &x, const struct courier &courier, float factor,
                 const struct key_interval *visible, u32 key, const struct slice &k,
                 struct tile_view next_k, const struct slice &v, struct tile_view next_v)
{
    const enum rows_exist exist = kind == STEP_FAST ? ROWS_ALL : ROWS_SOME;
    score_blocks s;
    partial_sum sum[Q_BLOCKS];
    float largest = 0;

    multiply_kq(s, x.q);
    if (kind == STEP_GENERAL) {
        mask_scores(s, visible, key);
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            move_shift(x.softmax[column], x.o[column], s[column], factor);
    }
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        sum[column] = exponentiate(x.softmax[column], s[column], factor);
        largest = __builtin_fmaxf(largest, total(sum[column]));
    }
    if (kind == STEP_FAST && in_any_lane(largest > SOFTMAX_LIMIT))
        return false;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        x.softmax[column].sum += sum[column];

    store_v(vt_tile, x.cargo, courier);
    load_k<exist>(x.cargo, courier, k, next_k);
    if (!LATE_V)
        load_v<exist>(x.cargo, courier, v, next_v);
    lds_barrier();
    multiply_vp(x.o, s);
    store_k(k_tile, x.cargo, courier);
    if (LATE_V)
        load_v<exist>(x.cargo, courier, v, next_v);
    lds_barrier();
    return true;
}

/* Divides by the sum, rounds and stores O; then lse. */
DEVICE void finish(const struct progress &x, const key_interval *visible, const struct job &job,
                   const struct sequence &sequence, const struct attn_fwd_args &args)
{
    const struct attn_problem &a = args.problem;
    const struct slice slice =
        slice_of(args.o, args.o_stride, sequence.batch_q, sequence.start_q, job.head, a.dim_v);
    struct tile_view view = {row_at(slice, job.first_row), rows_of(job)};
    kernarg_i64 lse_row = sequence.number * a.lse_stride.batch + job.head * a.lse_stride.head;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        u32 row = wave_id() * COLUMNS + column * BLOCK + lane_column();
        float sum = total(x.softmax[column].sum);
        sum += other_half(sum);
        bool blind = visible[column].count == 0;
        float inverse = __builtin_amdgcn_rcpf(sum);
        u32 keep = blind ? 0 : 0xffffffffu;
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++)
#pragma unroll
            for (int i = 0; i < ACC; i += CHUNK) {
                u32 channel = block * BLOCK + ACC * lane_half() + i;
                u32x4 chunk;
#pragma unroll
                for (int j = 0; j < 4; j++)
                    chunk[j] = keep & round_pair_even(x.o[column][block][i + 2 * j] * inverse,
                                                      x.o[column][block][i + 2 * j + 1] * inverse);
                store_chunk(view, slice, row, channel, chunk);
            }
        if (args.lse && lane_half() == 0 && (int)row < rows_of(job)) {
            float lse = log2_sum_exp(x.softmax[column], sum) * LN_2;
            ((GLOBAL float *)args.lse)[lse_row + job.first_row + row] =
                blind ? __builtin_inff() : lse;
        }
    }
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(struct attn_fwd_args args)
{
    const struct attn_problem &a = args.problem;
    u32 entry =
        __builtin_amdgcn_workgroup_id_z() * (u32)a.grid_y + __builtin_amdgcn_workgroup_id_y();
    u32 x = __builtin_amdgcn_workgroup_id_x();
    u32 tiles_q = ((u32)a.seq_q + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;

    if (entry >= (u32)a.batch)
        return;

    const struct sequence sequence = sequence_of(a, (int)entry);
    u32 tiles_before = uniform(x / (u32)a.heads_q);
    struct job job = job_of(a, sequence, (int)(x - tiles_before * (u32)a.heads_q),
                            (int)(tiles_q - 1 - tiles_before));
    if (job.first_row > job.last_row)
        return;

    float factor = softmax_factor(a.scale);
    struct key_walk walk = plan_walk(sequence, job.first_row, job.last_row);
    struct courier courier;
    struct progress p;

    struct slice k =
        slice_of(a.k, a.k_stride, sequence.batch_k, sequence.start_k, job.kv_head, a.dim_qk);
    struct slice v =
        slice_of(a.v, a.v_stride, sequence.batch_k, sequence.start_k, job.kv_head, a.dim_v);
    hire(courier, k, v);
    load_q(p.q, job, sequence, a);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        p.softmax[column] = softmax_start();
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++)
            p.o[column][block] = {};
    }

    struct key_interval visible[Q_BLOCKS];
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        int row = job.first_row + (int)(wave_id() * COLUMNS + column * BLOCK + lane_column());
        visible[column] = visible_keys(sequence, row < job.last_row ? row : job.last_row);
    }

    if (walk.count > 0) {
        struct tile_view tile_k = tile_at(sequence, k, walk.first),
                         tile_v = tile_at(sequence, v, walk.first);
        load_k<ROWS_SOME>(p.cargo, courier, k, tile_k);
        load_v<ROWS_SOME>(p.cargo, courier, v, tile_v);
        store_k(k_tile, p.cargo, courier);
        lds_barrier();
    }

    int tile = walk.first, fast = walk.fast_count;
#pragma unroll 1
    for (int left = walk.count; left > 0; left--, fast--) {
        int next = next_tile(walk, tile);
        struct tile_view next_k = tile_at(sequence, k, next), next_v = tile_at(sequence, v, next);
        if (left == 1)
            next_k.rows = next_v.rows = 0;
        step<STEP_GENERAL>(p, courier, factor, visible, (u32)tile * KERNEL_TILE_K, k, next_k, v,
                           next_v);
        tile = next;
#pragma unroll 1
        for (; fast > 1; fast--, left--, tile++) {
            next_k.first += k.pitch * KERNEL_TILE_K;
            next_v.first += v.pitch * KERNEL_TILE_K;
            if (!step<STEP_FAST>(p, courier, factor, nullptr, 0, k, {next_k.first, KERNEL_TILE_K},
                                 v, {next_v.first, KERNEL_TILE_K}))
                break;
        }
    }
    finish(p, visible, job, sequence, args);
}
