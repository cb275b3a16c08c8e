/*
 * Writes new rows of k and v behind the rows that a cache has, and rotates them and q (rotary
 * position embedding). One workgroup, of one wave, a row; kernarg.h has the formulas.
 *
 * Workgroup x: row x % seq_q of q's head x / seq_q, if q is rotated; behind those, row
 * x % rows of k's and v's head x / rows.
 */
#include "element.h"
#if KERNEL_CACHE
#include "fp8.h"
typedef with_fp8<struct attn_append_args> append_args;
#else
typedef struct attn_append_args append_args;
#endif

/* One row of channels. */
struct row {
    const GLOBAL char *from;
    GLOBAL char *to;
    int dim;
#if KERNEL_CACHE
    int type = 0; /* of `to`: enum fp8_type; 0: q's */
    float scale = 1;
#endif
};

DEVICE void put(const struct row &x, int i, float value)
{
#if KERNEL_CACHE
    if (x.type) {
        ((GLOBAL unsigned char *)x.to)[i] = (unsigned char)fp8_code(value / x.scale, x.type);
        return;
    }
#endif
    store_element(x.to + i * ELEMENT_BYTES, value);
}

DEVICE float channel(const GLOBAL char *row, kernarg_i64 i)
{
    return load_element(row + i * ELEMENT_BYTES);
}

DEVICE void copy_channels(const struct row &x, int first)
{
    for (int i = first + (int)thread_id(); i < x.dim; i += THREADS)
#if KERNEL_CACHE
        put(x, i, channel(x.from, i));
#elif KERNEL_DTYPE == ELEMENT_F32
        ((GLOBAL u32 *)x.to)[i] = ((const GLOBAL u32 *)x.from)[i];
#else
        ((GLOBAL u16 *)x.to)[i] = ((const GLOBAL u16 *)x.from)[i];
#endif
}

DEVICE void rotate(const struct attn_append_args &args, const struct row &x, int position)
{
    int half = args.rotary_dim / 2;
    if (!args.rotary_cos || position >= args.rotary_rows)
        half = 0;

    const GLOBAL char *cosine = (const GLOBAL char *)args.rotary_cos;
    const GLOBAL char *sine = (const GLOBAL char *)args.rotary_sin;
    bool interleaved = args.problem.flags & KERNARG_ROTARY_INTERLEAVED;
    for (int i = (int)thread_id(); i < half; i += THREADS) {
        int first = interleaved ? 2 * i : i, second = interleaved ? first + 1 : i + half;
        kernarg_i64 angle = position * args.rotary_stride + i;
        float c = channel(cosine, angle), s = channel(sine, angle);
        float u = channel(x.from, first), v = channel(x.from, second);
        put(x, first, u * c - v * s);
        put(x, second, u * s + v * c);
    }
    copy_channels(x, 2 * half);
}

/* The position of a sequence's row 0: the row of the cache that it is. */
DEVICE int rotary_origin(const struct attn_problem &a, const struct sequence &sequence)
{
    return a.k_seqs.packed ? 0 : sequence.start_k;
}

DEVICE void rotate_query(const struct attn_append_args &args, const struct sequence &sequence,
                         int old, int head, int m)
{
    const struct attn_problem &a = args.problem;
    if (m >= sequence.seq_q)
        return;
    kernarg_i64 to = (((kernarg_i64)sequence.number * a.heads_q + head) * a.seq_q + m) * a.dim_qk;
    rotate(args,
           {query_row(a.q, a.q_stride, sequence, head, m),
            (GLOBAL char *)args.q_out + to * ELEMENT_BYTES, a.dim_qk},
           rotary_origin(a, sequence) + (a.flags & KERNARG_ROTARY_CONSTANT_Q ? old : old + m));
}

DEVICE const GLOBAL char *new_row(kernarg_u64 data, const struct kernarg_strides &stride,
                                  int number, int head, int r)
{
    return head_of(data, stride, number, head) + r * stride.seq * ELEMENT_BYTES;
}

/* Whether row `key` of the cache lies in a page, or in a batch entry, that exists. */
DEVICE bool row_exists(const struct attn_problem &a, const struct sequence &sequence, int key)
{
    if (a.block_table)
        return page_exists(a, sequence, key);
    return !a.batch_index || (u32)batch_entry(a, sequence.number) < (u32)a.pages;
}

/* Row `key` of k or v in the cache, which comes from nowhere yet. */
DEVICE struct row cache_row(const struct attn_problem &a, kernarg_u64 cache,
                            const struct kernarg_strides &stride, const struct sequence &sequence,
                            int head, int key, int dim)
{
    GLOBAL char *to = key_row(a, cache, stride, sequence, head, key);
#if KERNEL_CACHE /* key_row() counts elements of q's type; of bytes there are as many */
    to = (GLOBAL char *)(cache + ((kernarg_i64)to - (kernarg_i64)cache) / 2);
#endif
    return {nullptr, to, dim};
}

DEVICE void append(const append_args &args, const struct sequence &sequence, int old, int head,
                   int r)
{
    const struct attn_problem &a = args.problem;
    kernarg_i64 key = (kernarg_i64)old + r;
    if (sequence.start_k + key >= a.k_seqs.rows || !row_exists(a, sequence, (int)key))
        return;
    struct row k = cache_row(a, a.k, a.k_stride, sequence, head, (int)key, a.dim_qk);
    struct row v = cache_row(a, a.v, a.v_stride, sequence, head, (int)key, a.dim_v);
    k.from = new_row(args.k_new, args.k_new_stride, sequence.number, head, r);
    v.from = new_row(args.v_new, args.v_new_stride, sequence.number, head, r);
#if KERNEL_CACHE
    k.type = v.type = args.fp8.dtype;
    k.scale = fp8_scale(args.fp8.k, sequence.number, head);
    v.scale = fp8_scale(args.fp8.v, sequence.number, head);
#endif
    rotate(args, k, rotary_origin(a, sequence) + (int)key);
    copy_channels(v, 0);
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS),
                          amdgpu_waves_per_eu(KERNEL_WAVES_PER_EU, KERNEL_WAVES_PER_EU))) void
KERNEL_SYMBOL(append_args args)
{
    const struct attn_problem &a = args.problem;
    u32 number = sequence_number(a), x = __builtin_amdgcn_workgroup_id_x();
    if (number >= (u32)a.batch)
        return;

    const struct sequence sequence = sequence_of(a, (int)number);
    struct kernarg_seqs before = a.k_seqs;
    before.extra = 0;
    int old = sequence_place(before, a.flags, (int)number).length;

    u32 queries = args.q_out ? (u32)a.heads_q * (u32)a.seq_q : 0;
    bool is_query = x < queries;
    x -= is_query ? 0 : queries;
    u32 rows = is_query ? (u32)a.seq_q : (u32)args.rows;
    u32 head = uniform(x / rows);
    int row = (int)(x - head * rows);
    if (is_query)
        rotate_query(args, sequence, old, (int)head, row);
    else
        append(late_arguments<append_args>(), sequence, old, (int)head, row);
}
