/*
 * Forward attention:  S = scale * Q K^T,  P = softmax(S),  O = P V,  lse = ln(sum(exp(S)))
 *
 *     Q (seq_q, dim_qk)   K (seq_k, dim_qk)   V (seq_k, dim_v)   O (seq_q, dim_v)
 *
 * A workgroup computes TILE_Q rows of O of one head; each of its waves owns COLUMNS = TILE_Q / WAVES
 * of them and walks over the keys in tiles of TILE_K, which the whole workgroup brings to LDS.
 * Everything is transposed, so that P never leaves the registers (see mma.h):
 *
 *     S^T[TILE_K, COLUMNS] = K Q^T             K from LDS, Q in registers (or LDS)
 *     P^T = exp2(S^T * factor - shift)         softmax.h
 *     O^T[DIM, COLUMNS]   += V^T P^T           V^T from LDS
 *
 * One step of the key loop. K and V have one buffer each in LDS; while a tile is computed on, the
 * next one is on its way from memory to registers:
 *
 *                      registers       LDS
 *     barrier                          K(t) is there, V(t-1) has been read by all
 *     S = K Q^T        V(t) arriving   read K(t)
 *     store V                          write V(t)
 *     load K, V        K, V(t+1) leave memory
 *     softmax
 *     barrier                          V(t) is there, K(t) has been read by all
 *     O += V^T P^T     arriving        read V(t)
 *     store K                          write K(t+1)
 *
 * Compile-time parameters (images/matrix.def says who sets them):
 *
 *     KERNEL_SYMBOL                    name of the kernel
 *     KERNEL_DTYPE                     2 f16, 3 bf16
 *     KERNEL_DIM                       64 or 128: serves dim_qk and dim_v from 1 to this
 *     KERNEL_MASK                      0: all keys are visible; 1: the interval of kernarg.h
 *     KERNEL_UNALIGNED                 0: 16-byte-aligned rows and dims; 1: anything
 *     KERNEL_TILE_Q, KERNEL_TILE_K, KERNEL_WAVES, KERNEL_WAVES_PER_EU
 *     KERNEL_WAVE                      64 (MFMA) or 32 (WMMA)
 */
#include "mask.h"
#include "softmax.h"

enum {
    COLUMNS = KERNEL_TILE_Q / KERNEL_WAVES, /* queries of a wave */
    Q_BLOCKS = COLUMNS / BLOCK,
    QK_STEPS = KERNEL_DIM / 16,   /* of sixteen channels */
    PV_GROUPS = KERNEL_TILE_K / 16, /* of sixteen keys */
    CHUNKS = KERNEL_DIM / CHUNK,

    K_LOADS = KERNEL_TILE_K * CHUNKS / THREADS,         /* chunks of K per thread */
    V_DUTIES = KERNEL_TILE_K / 4 * CHUNKS / THREADS,    /* quads of V chunks per thread */
    Q_LOADS = KERNEL_TILE_Q * CHUNKS / THREADS,

    /* Two blocks of queries a wave do not fit into the registers beside O at head dim 128. */
    Q_IN_LDS = Q_BLOCKS > 1,

    /* Loading V only after the last use of P saves these registers at the peak. */
    LATE_V = Q_BLOCKS > 1,
};

static_assert(Q_BLOCKS * BLOCK * KERNEL_WAVES == KERNEL_TILE_Q, "waves own whole blocks of queries");
static_assert(KERNEL_TILE_K % BLOCK == 0 && KERNEL_DIM % 64 == 0, "whole blocks");
static_assert(K_LOADS * THREADS == KERNEL_TILE_K * CHUNKS, "K divides among the threads");
static_assert(V_DUTIES == 1 && THREADS == KERNEL_TILE_K / 4 * CHUNKS, "one quad of V per thread");

typedef block_acc score_blocks[Q_BLOCKS][KEY_BLOCKS];
typedef block_acc output_blocks[Q_BLOCKS][DIM_BLOCKS];

static SHARED __attribute__((aligned(16))) char k_tile[K_TILE_BYTES];
static SHARED __attribute__((aligned(16))) char vt_tile[VT_TILE_BYTES];
#define Q_TILE_BYTES (KERNEL_TILE_Q * (K_TILE_BYTES / KERNEL_TILE_K))
static SHARED __attribute__((aligned(16))) char q_tile[Q_IN_LDS ? Q_TILE_BYTES : 16];

/* Which part of the problem this workgroup has. Uniform. */
struct job {
    struct slice q, k, v, o;
    kernarg_i64 lse_row; /* of row 0, in floats */
    int first_row, last_row; /* of the existing rows */
};

DEVICE struct job job_of(const struct attn_fwd_args &a, int head, int tile, int batch)
{
    int kv_head = head / a.group, first_row = tile * KERNEL_TILE_Q;
    int last_row = a.seq_q - first_row > KERNEL_TILE_Q ? first_row + KERNEL_TILE_Q - 1
                                                       : a.seq_q - 1;
    return {slice_of(a.q, a.q_stride, batch, head, a.seq_q, a.dim_qk),
            slice_of(a.k, a.k_stride, batch, kv_head, a.seq_k, a.dim_qk),
            slice_of(a.v, a.v_stride, batch, kv_head, a.seq_k, a.dim_v),
            slice_of(a.o, a.o_stride, batch, head, a.seq_q, a.dim_v),
            ((kernarg_i64)batch * a.heads_q + head) * a.seq_q,
            first_row,
            last_row};
}

/* This thread's share of moving K and V tiles: where it reads, where it stores. */
struct courier {
    chunk_place k[K_LOADS], v[4];
    u32 k_at[K_LOADS], vt_at[CHUNK];
};

struct cargo {
    u32x4 k[K_LOADS], v[4];
};

DEVICE void hire(struct courier &c, const struct job &job)
{
    u32 thread = thread_id();
    struct vt_duty duty = vt_duty_of(thread);
#pragma unroll
    for (int i = 0; i < K_LOADS; i++) {
        u32 key = thread / CHUNKS + i * (THREADS / CHUNKS), chunk = thread % CHUNKS;
        c.k[i] = place_chunk(job.k, key, chunk * CHUNK);
        c.k_at[i] = k_tile_at(key, chunk);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        c.v[i] = place_chunk(job.v, duty.quad * 4 + i, duty.channel);
#pragma unroll
    for (int i = 0; i < CHUNK; i++)
        c.vt_at[i] = vt_tile_at(duty.channel + i, duty.quad);
}

DEVICE void load_k(struct cargo &to, const struct courier &c, const tile_view &k)
{
#pragma unroll
    for (int i = 0; i < K_LOADS; i++)
        to.k[i] = load_chunk(k, c.k[i]);
}

DEVICE void load_v(struct cargo &to, const struct courier &c, const tile_view &v)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        to.v[i] = load_chunk(v, c.v[i]);
}

DEVICE void store_k(const struct cargo &from, const struct courier &c)
{
#pragma unroll
    for (int i = 0; i < K_LOADS; i++)
        *(u32x4 *)(k_tile + c.k_at[i]) = from.k[i];
}

/* Four rows of eight channels become eight rows of a quad of keys. */
DEVICE void store_v(const struct cargo &from, const struct courier &c)
{
    const u32 LOWER = 0x05040100, UPPER = 0x07060302; /* halves of {first key, second key} */
    const int pair = VT_PAIR_STEP, next = 3 - pair; /* quad = (0, pair), (next, 3) */
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
        u32 select = i % 2 ? UPPER : LOWER;
        u32x2 quad = {__builtin_amdgcn_perm(from.v[pair][i / 2], from.v[0][i / 2], select),
                      __builtin_amdgcn_perm(from.v[3][i / 2], from.v[next][i / 2], select)};
        *(u32x2 *)(vt_tile + c.vt_at[i]) = quad;
    }
}

/* Q as B operands, with the scale's sign. */
struct queries {
    block_frag frag[Q_IN_LDS ? 1 : QK_STEPS][Q_BLOCKS];
};

DEVICE void load_q(struct queries &q, const struct job &job, float scale)
{
    u32 sign = scale < 0 ? 0x80008000u : 0;
    tile_view view = view_rows(row_at(job.q, job.first_row), job.q, job.q.rows - job.first_row,
                               KERNEL_TILE_Q);
    if (Q_IN_LDS) {
#pragma unroll
        for (int i = 0; i < Q_LOADS; i++) {
            u32 row = thread_id() / CHUNKS + i * (THREADS / CHUNKS);
            u32 chunk = thread_id() % CHUNKS;
            u32x4 x = load_chunk(view, place_chunk(job.q, row, chunk * CHUNK));
            *(u32x4 *)(q_tile + k_tile_at(row, chunk)) = x ^ sign;
        }
    } else {
#pragma unroll
        for (int block = 0; block < Q_BLOCKS; block++)
#pragma unroll
            for (int step = 0; step < QK_STEPS; step++)
                q.frag[step][block] =
                    load_q_frag(view, job.q, wave_id() * COLUMNS + block * BLOCK + lane_column(),
                                step) ^
                    sign;
    }
}

DEVICE block_frag q_frag(const struct queries &q, int step, int block)
{
    if (Q_IN_LDS)
        return k_tile_frag(q_tile, (int)wave_id() * Q_BLOCKS + block, step);
    return q.frag[step][block];
}

/* S^T = K Q^T */
DEVICE void multiply_kq(score_blocks &s, const struct queries &q)
{
#pragma unroll
    for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            s[column][block] = {};
#pragma unroll
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
#pragma unroll
    for (int group = 0; group < PV_GROUPS; group++) {
        const int per_block = BLOCK / 16;
        block_frag b[Q_BLOCKS];
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            b[column] = pack_p(p[column][group / per_block], group % per_block);
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++) {
            block_frag a = vt_tile_frag(vt_tile, block, group);
#pragma unroll
            for (int column = 0; column < Q_BLOCKS; column++)
                mma(o[column][block], a, b[column]);
        }
    }
}

enum tile_kind { TILE_FULL, TILE_EDGE };

/* What a wave carries along the keys. */
struct progress {
    struct queries q;
    struct cargo cargo;
    struct key_interval visible[Q_BLOCKS];
    struct softmax_state softmax[Q_BLOCKS];
    output_blocks o;
};

/* One step: tile `kind`, whose first key is `key`, is computed on; the next one is fetched. */
template <enum tile_kind kind>
DEVICE void step(struct progress &x, const struct courier &courier, struct softmax_scale scale,
                 u32 key, const tile_view &next_k, const tile_view &next_v)
{
    score_blocks s;

    lds_barrier();
    multiply_kq(s, x.q);
    store_v(x.cargo, courier);
    load_k(x.cargo, courier, next_k);
    if (!LATE_V)
        load_v(x.cargo, courier, next_v);

    if (kind == TILE_EDGE) {
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
#pragma unroll
            for (int block = 0; block < KEY_BLOCKS; block++)
#pragma unroll
                for (int i = 0; i < ACC; i++)
                    if (!sees(x.visible[column], key + block * BLOCK + acc_row(i)))
                        s[column][block][i] = -__builtin_inff();
    }

    float largest[Q_BLOCKS];
    bool exceeds = false;
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        largest[column] = column_max(s[column]);
        exceeds |= largest[column] > x.softmax[column].limit;
    }
    if (__builtin_expect(__builtin_amdgcn_ballot_w64(exceeds) != 0, 0)) {
#pragma unroll
        for (int column = 0; column < Q_BLOCKS; column++)
            rescale_column(x.softmax[column], x.o[column], largest[column], scale);
    }
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++)
        exponentiate(x.softmax[column], s[column], scale);

    lds_barrier();
    multiply_vp(x.o, s);
    store_k(x.cargo, courier);
    if (LATE_V)
        load_v(x.cargo, courier, next_v);
}

/* Divides by the sum, rounds and stores O; then lse. */
DEVICE void finish(const struct progress &x, const struct job &job, const struct attn_fwd_args &a)
{
    tile_view view = view_rows(row_at(job.o, job.first_row), job.o, job.o.rows - job.first_row,
                               KERNEL_TILE_Q);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        u32 row = wave_id() * COLUMNS + column * BLOCK + lane_column();
        float sum = x.softmax[column].sum.x + x.softmax[column].sum.y;
        sum += other_half(sum);
        bool blind = x.visible[column].count == 0;
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
                store_chunk(view, place_chunk(job.o, row, channel), chunk);
            }
        if (a.lse && lane_half() == 0 && (int)row <= job.last_row - job.first_row) {
            float lse = (x.softmax[column].shift + __builtin_amdgcn_logf(sum)) * LN_2;
            ((float *)a.lse)[job.lse_row + job.first_row + row] =
                blind ? __builtin_inff() : lse;
        }
    }
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU)))
void KERNEL_SYMBOL(struct attn_fwd_args a)
{
    int batch = (int)(__builtin_amdgcn_workgroup_id_z() * (u32)a.grid_y +
                      __builtin_amdgcn_workgroup_id_y());
    u32 x = __builtin_amdgcn_workgroup_id_x();
    u32 tiles_q = ((u32)a.seq_q + KERNEL_TILE_Q - 1) / KERNEL_TILE_Q;

    if (batch >= a.batch)
        return;

    struct job job = job_of(a, (int)(x % (u32)a.heads_q), (int)(tiles_q - 1 - x / (u32)a.heads_q),
                            batch);
    struct softmax_scale scale = softmax_scale_of(a.scale);
    struct key_walk walk = plan_walk(a, job.first_row, job.last_row);
    struct courier courier;
    struct progress p;

    hire(courier, job);
    load_q(p.q, job, a.scale);
#pragma unroll
    for (int column = 0; column < Q_BLOCKS; column++) {
        int row = job.first_row + (int)(wave_id() * COLUMNS + column * BLOCK + lane_column());
        p.visible[column] = visible_keys(a, row < job.last_row ? row : job.last_row);
        p.softmax[column] = softmax_start();
#pragma unroll
        for (int block = 0; block < DIM_BLOCKS; block++)
            p.o[column][block] = {};
    }

    int tile = walk.full_begin, left = a.seq_k - tile * KERNEL_TILE_K;
    char *k = row_at(job.k, (kernarg_i64)tile * KERNEL_TILE_K);
    char *v = row_at(job.v, (kernarg_i64)tile * KERNEL_TILE_K);
    const kernarg_i64 k_stride = job.k.pitch * KERNEL_TILE_K, v_stride = job.v.pitch * KERNEL_TILE_K;

    if (walk.end > walk.begin) {
        load_k(p.cargo, courier, view_rows(k, job.k, left, KERNEL_TILE_K));
        load_v(p.cargo, courier, view_rows(v, job.v, left, KERNEL_TILE_K));
        store_k(p.cargo, courier);
    }
#pragma unroll 1
    for (int n = walk.full_count; n > 0; n--) {
        k += k_stride;
        v += v_stride;
        step<TILE_FULL>(p, courier, scale, 0,
                        view_rows(k, job.k, KERNEL_TILE_K, KERNEL_TILE_K),
                        view_rows(v, job.v, KERNEL_TILE_K, KERNEL_TILE_K));
    }
    tile = walk.edge_begin;
#pragma unroll 1
    for (int n = walk.edge_count; n > 0; n--) {
        int next = tile + 1 == walk.end ? walk.begin : tile + 1;
        left = n > 1 ? a.seq_k - next * KERNEL_TILE_K : 0;
        step<TILE_EDGE>(
            p, courier, scale, (u32)tile * KERNEL_TILE_K,
            view_rows(row_at(job.k, (kernarg_i64)next * KERNEL_TILE_K), job.k, left, KERNEL_TILE_K),
            view_rows(row_at(job.v, (kernarg_i64)next * KERNEL_TILE_K), job.v, left,
                      KERNEL_TILE_K));
        tile = next;
    }
    finish(p, job, a);
}
