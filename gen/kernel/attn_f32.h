/*
 * Attention of 16 query rows by one team of waves, with products and sums in f32, on keys and
 * values of any type, alignment and dim that come from memory straight into registers. What
 * attn_split and attn_fwd_f32 are made of.
 *
 * A step takes 16 keys, as in attn_fwd.hip all transposed, a column being a query row:
 *
 *     S^T[16 keys, 16 rows]      = K Q^T     K: a lane has chunks of channels of one key; Q from
 * LDS or registers P^T                        = exp(S^T - shift) O^T[channels, 16 rows]    += V^T
 * P^T   V: a lane has a chunk of channels of ACC keys
 *
 * Each byte of K and V is loaded by one lane, 16 bytes at a time, a cache line by neighbouring
 * ones. O^T of more than SLICE channels is shared out to the SLICES waves of a team: each of them
 * loads its channels of K and V, and they add up their parts of S^T through LDS.
 *
 * The softmax keeps a shift for each row, as softmax.h does: it moves only when a score exceeds it
 * by more than LIMIT. P never leaves f32. Scores are in natural units, and the shift is subtracted
 * before the factor log2(e), so that rows whose every score is near the end of f32's range (a bias
 * of -FLT_MAX on all keys) come out as they should.
 */
#ifndef AOTHIP_ATTN_F32_H
#define AOTHIP_ATTN_F32_H

#include "element.h"
#include "mask.h"
#include "mma_f32.h"
#include "philox.h"
#include "score.h"

enum {
    SLICE = KERNEL_DIM < SLICE_MOST ? KERNEL_DIM : SLICE_MOST, /* channels of a wave */
    SLICES = KERNEL_DIM / SLICE,
    TEAMS = KERNEL_WAVES / SLICES,

    CHUNK_ELEMENTS = 16 / ELEMENT_BYTES, /* of K: a load of 16 bytes */
    K_STEPS = SLICE / (A_PARTS * CHUNK_ELEMENTS),

    V_CHUNK = SLICE / SIDE < CHUNK_ELEMENTS ? SLICE / SIDE : CHUNK_ELEMENTS,
    V_WORDS = V_CHUNK * ELEMENT_BYTES / 4,
    V_GROUPS = SLICE / (SIDE * V_CHUNK),

    Q_PITCH = KERNEL_DIM + 4, /* floats from row to row in LDS: no two rows share their banks */
};

/* Whether K is loaded only when all of V but one group has been used: where registers are short. */
#define LATE_K (KERNEL_WAVE == 32)

static_assert(SLICE % 64 == 0 && KERNEL_DIM % SLICE == 0, "whole chunks in every lane");
static_assert(TEAMS * SLICES == KERNEL_WAVES, "whole teams");

#define SHIFT_UNSET -3.40282346638528859812e+38f /* no finite score is below it */
#define SHIFT_LIMIT 8.0f
#define LOG2_E 1.44269504088896340736f
#define LN_2 0.69314718055994530942f

typedef u32 v_words __attribute__((ext_vector_type(V_WORDS)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef GLOBAL f32x4 f32x4_anywhere __attribute__((aligned(4)));
typedef const GLOBAL u32x4 k_chunk_anywhere __attribute__((aligned(ELEMENT_BYTES)));
typedef const GLOBAL v_words v_chunk_anywhere __attribute__((aligned(ELEMENT_BYTES)));

struct k_block {
    u32x4 chunk[K_STEPS];
};

struct v_block {
    v_words chunk[V_GROUPS][ACC];
};

/* This wave's part of O^T, and the softmax of this lane's column (the same in all its lanes). */
struct column_state {
    block_acc o[V_GROUPS][V_CHUNK];
    float shift;
    float sum; /* of this lane's rows of P^T */
};

/* The rows of K or V of one key head. Uniform. */
struct key_rows {
    const GLOBAL char *base; /* row 0; of page 0 */
    kernarg_i64 pitch;       /* in bytes */
    int dim;
};

/* What few problems need. In one register: as bools they would take two each. */
enum job_need {
    NEED_PAGES = 1,
    NEED_TERMS = 2,
    NEED_DROPOUT = 4,
    NEED_SHORT_K = 8, /* rows shorter than a chunk */
    NEED_SHORT_V = 16,
};

/* What a wave works on. Uniform, but for row and head. */
struct wave_job {
    struct sequence sequence;
    struct key_rows k, v;
    int team, slice;
    int row, head; /* of this lane's column; if there is none, of one that exists */
    struct key_interval visible;
    int full_first, full_end; /* keys that all the team's rows see */
    float scale;
    u32 needs; /* enum job_need */
};

/* Tested where it matters, for the result kept in the meantime would take two registers. */
DEVICE bool needs(const struct wave_job &job, enum job_need need)
{
    u32 x = job.needs;
    asm volatile("" : "+s"(x));
    return x & need;
}

static SHARED __attribute__((
    aligned(16))) float part_tile[SLICES > 1 ? 2 * KERNEL_WAVES : 1][KERNEL_WAVE * ACC];

DEVICE float word_element(u32 word, int i)
{
#if KERNEL_DTYPE == ELEMENT_F32
    (void)i;
    return __builtin_bit_cast(float, word);
#elif KERNEL_DTYPE == ELEMENT_F16
    return element_from_f16(i % 2 ? word >> 16 : word & 0xffff);
#else
    return __builtin_bit_cast(float, i % 2 ? word & 0xffff0000u : word << 16);
#endif
}

enum { PER_WORD = 4 / ELEMENT_BYTES };

DEVICE struct key_rows key_rows_of(const struct attn_problem &a, kernarg_u64 data,
                                   const struct kernarg_strides &stride,
                                   const struct sequence &sequence, int head, int dim)
{
    kernarg_i64 page = stride.batch * ELEMENT_BYTES, pitch = stride.seq * ELEMENT_BYTES;
    const GLOBAL char *base = head_of(data, stride, 0, head);
    if (!a.block_table)
        base += (a.batch_index ? table_entry(a.batch_index, sequence.number) : sequence.batch_k) *
                    page +
                sequence.start_k * pitch;
    return {base, pitch, dim};
}

/* Of the problem, for args begins with one. */
template <class args> DEVICE const struct attn_problem &late_problem()
{
    return *(const struct attn_problem *)&late_arguments<args>();
}

/*
 * Row `key`, a multiple of 16, of k or v, whose strides `stride` points at; the 15 rows behind it
 * lie in the same page. Like all that few problems need it is read from the arguments where it is
 * used, since scalar registers are few.
 */
template <class args>
DEVICE const GLOBAL char *block_row(const struct wave_job &job, const struct key_rows &x,
                                    struct kernarg_strides attn_problem::*stride, int key)
{
    if (!needs(job, NEED_PAGES))
        return x.base + key * x.pitch;
    const struct attn_problem &a = late_problem<args>();
    int entry = table_entry(a.block_table,
                            job.sequence.number * a.block_table_stride + (key >> a.page_shift));
    return x.base + entry * (a.*stride).batch * ELEMENT_BYTES +
           (key & ((1 << a.page_shift) - 1)) * x.pitch;
}

/*
 * Chunks of channels as they are loaded: chunk `channel` .. channel + size - 1, but not beyond dim;
 * it begins earlier where it would, and then shares some channels with the one before. Rows shorter
 * than a chunk have one, of which the last element stands for those that do not exist.
 */
DEVICE int chunk_begin(int channel, int size, int dim)
{
    int most = dim > size ? dim - size : 0;
    return channel < most ? channel : most;
}

/* Element i of that chunk, if it is a channel that no other chunk has; else -1. */
DEVICE int chunk_channel(int channel, int i, int size, int dim)
{
    int c = chunk_begin(channel, size, dim) + i;
    return channel < dim && c >= channel && c < dim ? c : -1;
}

template <int words> DEVICE void load_short(u32 (&to)[words], const GLOBAL char *row, int dim)
{
#pragma unroll
    for (int i = 0; i < words * PER_WORD; i++) {
        int c = i < dim ? i : dim - 1;
#if KERNEL_DTYPE == ELEMENT_F32
        to[i] = ((const GLOBAL u32 *)row)[c];
#else
        u32 x = ((const GLOBAL u16 *)row)[c];
        to[i / 2] = i % 2 ? to[i / 2] | x << 16 : x;
#endif
    }
}

/* Keys first .. first + 15, of which those up to `last` exist; for the others, the last one. */
template <class args>
DEVICE void load_k(struct k_block &to, const struct wave_job &job, int first, int last)
{
    const struct key_rows &k = job.k;
    int row = (int)a_row(), most = last - first;
    const GLOBAL char *at = block_row<args>(job, k, &attn_problem::k_stride, first) +
                            (row < most ? row : most) * k.pitch;
    int channel = job.slice * SLICE + (int)a_part() * CHUNK_ELEMENTS;
    asm volatile("" : "+v"(channel)); /* keeps the offsets out of registers across the walk */
    if (needs(job, NEED_SHORT_K)) {
        u32 chunk[4];
        load_short(chunk, at, k.dim);
#pragma unroll
        for (int step = 0; step < K_STEPS; step++)
            to.chunk[step] = u32x4{chunk[0], chunk[1], chunk[2], chunk[3]};
        return;
    }
#pragma unroll
    for (int step = 0; step < K_STEPS; step++) {
        int c = chunk_begin(channel + step * (A_PARTS * CHUNK_ELEMENTS), CHUNK_ELEMENTS, k.dim);
        to.chunk[step] = *(k_chunk_anywhere *)(at + c * ELEMENT_BYTES);
    }
}

/* The same keys' values: one group of the wave's channels. */
template <class args>
DEVICE void load_v(struct v_block &to, const struct wave_job &job, int group, int first, int last)
{
    const struct key_rows &v = job.v;
    const GLOBAL char *base = block_row<args>(job, v, &attn_problem::v_stride, first);
    int channel = job.slice * SLICE + (group * SIDE + (int)a_row()) * V_CHUNK;
    asm volatile("" : "+v"(channel));
    int begin = chunk_begin(channel, V_CHUNK, v.dim), most = last - first;
#pragma unroll
    for (int t = 0; t < B_OF_C; t++) {
        int key = (int)c_row(t);
        const GLOBAL char *at = base + (key < most ? key : most) * v.pitch;
        if (needs(job, NEED_SHORT_V)) {
            u32 chunk[V_WORDS];
            load_short(chunk, at, v.dim);
#pragma unroll
            for (int i = 0; i < V_WORDS; i++)
                to.chunk[group][t][i] = chunk[i];
        } else {
            to.chunk[group][t] = *(v_chunk_anywhere *)(at + begin * ELEMENT_BYTES);
        }
    }
}

/*
 * Q as B operands: f32, in the order of K's chunks, zeros elsewhere. Wave64 has the registers to
 * hold it; wave32, where each lane would need all channels of its row, reads it from LDS.
 */
#if KERNEL_WAVE == 64

struct q_block {
    float part[K_STEPS][CHUNK_ELEMENTS];
};

DEVICE void load_q(struct q_block &to, const struct wave_job &job, const GLOBAL char *row)
{
    int channel = job.slice * SLICE + (int)b_part(0) * CHUNK_ELEMENTS;
#pragma unroll
    for (int step = 0; step < K_STEPS; step++)
#pragma unroll
        for (int i = 0; i < CHUNK_ELEMENTS; i++) {
            int c = chunk_channel(channel + step * (A_PARTS * CHUNK_ELEMENTS), i, CHUNK_ELEMENTS,
                                  job.k.dim);
            float x = load_element(row + (c < 0 ? 0 : c) * ELEMENT_BYTES);
            to.part[step][i] = c < 0 ? 0 : x;
        }
}

/* Four channels on from `i` of a chunk. */
DEVICE void q_operands(struct b_operand (&to)[4], const struct q_block &q, int step, int i)
{
#pragma unroll
    for (int j = 0; j < 4; j++)
        to[j].part[0] = q.part[step][i + j];
}

#else

struct q_block {
    const float *row; /* this lane's, from the wave's first channel on */
};

static SHARED __attribute__((aligned(16))) float q_tile[TEAMS_OF_ROWS * SIDE][Q_PITCH];

/* Every lane has its column's row; all waves that work on it bring it together. */
DEVICE void load_q(struct q_block &to, const struct wave_job &job, const GLOBAL char *row)
{
    const bool own = TEAMS_OF_ROWS > 1;
    const int helpers = KERNEL_WAVE / SIDE * (own ? 1 : TEAMS), first = job.slice * SLICE;
    float *at = q_tile[(own ? job.team * SIDE : 0) + (int)lane_column()] + first;
    for (int i = (int)lane_group() + (own ? 0 : job.team) * (KERNEL_WAVE / SIDE); i < SLICE;
         i += helpers) {
        int c = chunk_channel((first + i) & -CHUNK_ELEMENTS, i % CHUNK_ELEMENTS, CHUNK_ELEMENTS,
                              job.k.dim);
        float x = load_element(row + (c < 0 ? 0 : c) * ELEMENT_BYTES);
        at[i] = c < 0 ? 0 : x;
    }
    to.row = at;
    lds_barrier();
}

DEVICE void q_operands(struct b_operand (&to)[4], const struct q_block &q, int step, int i)
{
#pragma unroll
    for (int part = 0; part < B_PARTS; part++) {
        f32x4 x = *(const f32x4 *)(q.row + (step * A_PARTS + part) * CHUNK_ELEMENTS + i);
#pragma unroll
        for (int j = 0; j < 4; j++)
            to[j].part[part] = x[j];
    }
}

#endif

/* This wave's part of S^T. */
DEVICE block_acc multiply_kq(const struct k_block &k, const struct q_block &q)
{
    block_acc s = 0;
#pragma unroll
    for (int step = 0; step < K_STEPS; step++)
#pragma unroll
        for (int i = 0; i < CHUNK_ELEMENTS; i += 4) {
            struct b_operand b[4];
            q_operands(b, q, step, i);
#pragma unroll
            for (int j = 0; j < 4; j++)
                mma(s, word_element(k.chunk[step][(i + j) / PER_WORD], i + j), b[j]);
        }
    return s;
}

/* The team's waves add up their parts, in the same order each. `turn` alternates. */
DEVICE block_acc add_parts(const block_acc &s, const struct wave_job &job, int turn)
{
    if (SLICES == 1)
        return s;
    int first = turn % 2 * KERNEL_WAVES + job.team * SLICES;
    *(block_acc *)&part_tile[first + job.slice][lane_id() * ACC] = s;
    lds_barrier();
    block_acc all = *(const block_acc *)&part_tile[first][lane_id() * ACC];
#pragma unroll
    for (int i = 1; i < SLICES; i++)
        all += *(const block_acc *)&part_tile[first + i][lane_id() * ACC];
    return all;
}

/* Products to scores, in place; key 0 of the block is `key`. */
template <class args> DEVICE void make_scores(block_acc &s, const struct wave_job &job, int key)
{
    s *= job.scale;
    if (key >= job.full_first && key + SIDE <= job.full_end && !needs(job, NEED_TERMS))
        return;
    if (needs(job, NEED_TERMS)) {
        const struct attn_problem &a = late_problem<args>();
        const struct score_terms terms = score_terms_of(a, job.sequence, job.head);
#pragma unroll
        for (int i = 0; i < ACC; i++) {
            int n = key + (int)acc_row(i);
            if (sees(job.visible, (u32)n))
                s[i] = score_of(terms, s[i], job.row, n);
        }
    }
#pragma unroll
    for (int i = 0; i < ACC; i++)
        s[i] = sees(job.visible, (u32)key + acc_row(i)) ? s[i] : -__builtin_inff();
}

/* Dropout of P^T. */
template <class args> DEVICE void drop_weights(block_acc &p, const struct wave_job &job, int key)
{
    const struct attn_problem &a = late_problem<args>();
    const struct dropout dropout = dropout_of(a, job.sequence.number, job.head);
#pragma unroll
    for (int i = 0; i < ACC; i += 4) {
        u32 kept = kept_quad(dropout, job.row, ((u32)key + acc_row(i)) / 4);
#pragma unroll
        for (int j = 0; j < 4; j++)
            p[i + j] = kept >> j & 1 ? p[i + j] : 0;
    }
}

DEVICE float exponential(float x)
{
    return __builtin_amdgcn_exp2f(x * LOG2_E);
}

/* S^T to P^T in place; moves the shift if it has to. */
DEVICE void make_weights(block_acc &s, struct column_state &x)
{
    float largest = s[0];
#pragma unroll
    for (int i = 1; i < ACC; i++)
        largest = __builtin_fmaxf(largest, s[i]);
    if (in_any_lane(largest - x.shift > SHIFT_LIMIT)) {
        float shift = __builtin_fmaxf(x.shift, column_max(largest));
        float ratio = exponential(x.shift - shift);
        x.shift = shift;
        x.sum *= ratio;
#pragma unroll
        for (int group = 0; group < V_GROUPS; group++)
#pragma unroll
            for (int i = 0; i < V_CHUNK; i++)
                x.o[group][i] *= ratio;
    }
#pragma unroll
    for (int i = 0; i < ACC; i++) {
        s[i] = exponential(s[i] - x.shift);
        x.sum += s[i];
    }
}

/* O^T += V^T P^T for one group of channels */
DEVICE void multiply_vp(struct column_state &x, const struct v_block &v, int group,
                        const struct b_column &p)
{
#pragma unroll
    for (int t = 0; t < B_OF_C; t++) {
        const struct b_operand b = spread_part(p, t);
#pragma unroll
        for (int i = 0; i < V_CHUNK; i++)
            mma(x.o[group][i], word_element(v.chunk[group][t][i / PER_WORD], i), b);
    }
}

/* Where x.o[group][0][i] is among the KERNEL_DIM channels of its row; the chunk goes on from there.
 */
DEVICE int output_chunk(const struct wave_job &job, int group, int i)
{
    return job.slice * SLICE + (group * SIDE + (int)acc_row(i)) * V_CHUNK;
}

/* This lane's channels of O, times `factor`, to a row of floats; zeros with factor 0. */
DEVICE void store_output(GLOBAL float *to, const struct column_state &x, const struct wave_job &job,
                         float factor)
{
#pragma unroll
    for (int group = 0; group < V_GROUPS; group++)
#pragma unroll
        for (int i = 0; i < ACC; i++) {
            const int chunk = output_chunk(job, group, i);
            float y[V_CHUNK];
#pragma unroll
            for (int j = 0; j < V_CHUNK; j++)
                y[j] = factor == 0 ? 0 : x.o[group][j][i] * factor;
            if (chunk + V_CHUNK <= job.v.dim) {
#pragma unroll
                for (int j = 0; j < V_CHUNK; j += 4)
                    *(f32x4_anywhere *)(to + chunk + j) = f32x4{y[j], y[j + 1], y[j + 2], y[j + 3]};
            } else {
#pragma unroll
                for (int j = 0; j < V_CHUNK; j++) {
                    int c = chunk_channel(chunk, j, V_CHUNK, job.v.dim);
                    if (c >= 0)
                        to[c] = y[j];
                }
            }
        }
}

/*
 * The keys first, first + stride, ... below `end`, in blocks of 16. The team's waves, and with
 * SLICES > 1 those of the workgroup, must take equally many steps. What lies beyond the sequence is
 * not seen.
 */
template <class args>
DEVICE void walk_keys(struct column_state &x, const struct wave_job &job, const struct q_block &q,
                      int first, int stride, int steps)
{
    const int last = job.sequence.seq_k - 1, last_block = last & -SIDE;
    struct k_block k;
    if (steps > 0)
        load_k<args>(k, job, first < last_block ? first : last_block, last);
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        const int key = first + step * stride, next = key + stride;
        const int block = key < last_block ? key : last_block;
        const int next_block = next < last_block ? next : last_block;
        struct v_block v;
        load_v<args>(v, job, 0, block, last);
        block_acc s = multiply_kq(k, q);
        if (LATE_K)
            __builtin_amdgcn_sched_barrier(0);
        if (!LATE_K && step + 1 < steps)
            load_k<args>(k, job, next_block, last);
#pragma unroll
        for (int group = 1; group < V_GROUPS; group++)
            load_v<args>(v, job, group, block, last);

        s = add_parts(s, job, step);
        make_scores<args>(s, job, key);
        make_weights(s, x);
        if (needs(job, NEED_DROPOUT))
            drop_weights<args>(s, job, key);

        const struct b_column p = spread(s);
#pragma unroll
        for (int group = 0; group < V_GROUPS - 1; group++)
            multiply_vp(x, v, group, p);
        if (LATE_K && step + 1 < steps)
            load_k<args>(k, job, next_block, last);
        multiply_vp(x, v, V_GROUPS - 1, p);
    }
}

/* All of a job but team, slice, row, head and what follows from them. */
DEVICE void begin_job(struct wave_job &job, const struct attn_problem &a,
                      const struct sequence &sequence, int kv_head)
{
    job.sequence = sequence;
    job.k = key_rows_of(a, a.k, a.k_stride, sequence, kv_head, a.dim_qk);
    job.v = key_rows_of(a, a.v, a.v_stride, sequence, kv_head, a.dim_v);
    job.scale = a.scale;
    job.needs = uniform((a.block_table ? NEED_PAGES : 0) |
                        (a.bias.data || a.keep.data || a.alibi || a.softcap > 0 ? NEED_TERMS : 0) |
                        (a.flags & KERNARG_DROPOUT ? NEED_DROPOUT : 0) |
                        (a.dim_qk < CHUNK_ELEMENTS ? NEED_SHORT_K : 0) |
                        (a.dim_v < V_CHUNK ? NEED_SHORT_V : 0));
    job.team = (int)wave_id() / SLICES;
    job.slice = (int)wave_id() % SLICES;
#if KERNEL_WAVE == 64 /* which has too few scalar registers, as wave32 has vector registers */
    asm("" : "+v"(job.scale), "+v"(job.slice));
#endif
}

/* Which keys a team's rows first .. last all see. */
DEVICE void set_full(struct wave_job &job, int first_row, int last_row)
{
    struct key_interval upper = visible_keys(job.sequence, first_row),
                        lower = visible_keys(job.sequence, last_row);
    job.full_first = (int)lower.first;
    job.full_end = lower.count && upper.count ? (int)(upper.first + upper.count) : 0;
}

/* How a row ends: what its O is multiplied by, and its natural lse. */
struct row_end {
    float factor, lse;
};

/* `sum` is that of the whole column; blind rows (sum 0) have factor 0. */
DEVICE struct row_end end_row(float shift, float sum, float sink, float blind_lse)
{
    const bool has_sink = sink > -__builtin_inff();
    const bool blind = sum == 0;
    float top = has_sink ? __builtin_fmaxf(shift, sink) : shift;
    float weight = exponential(shift - top);
    float total = sum * weight + (has_sink ? exponential(sink - top) : 0);
    return {blind ? 0 : weight / total,
            blind && !has_sink ? blind_lse : top + __builtin_amdgcn_logf(total) * LN_2};
}

DEVICE float sink_of(const struct attn_problem &a, int head)
{
    typedef const GLOBAL float *floats;
    return a.sinks ? ((floats)a.sinks)[head] : -__builtin_inff();
}

#endif
