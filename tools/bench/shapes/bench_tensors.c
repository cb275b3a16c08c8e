/* Makes the tensors of a shape that is to be measured. */
#include "bench_tensors.h"

#include "attn.h"
#include "ref.h"
#include "ref_fp8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Random values about normal; a block of them is repeated, for filling is slower than computing. */
static void fill(void *data, int dtype, size_t count)
{
    enum { BLOCK = 1 << 16 };
    size_t size = ref_dtype_size(dtype), i, done;
    uint64_t state = 20261;

    for (i = 0; i < count && i < BLOCK; i++) {
        double value = 0;
        int j;
        for (j = 0; j < 3; j++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            value += (double)(int64_t)(state >> 11) / 0x1p52 - 1;
        }
        ref_store(data, (int64_t)i, dtype, value);
    }
    for (done = i; done < count; done += i)
        memcpy((char *)data + done * size, data, (count - done < i ? count - done : i) * size);
}

static void *make_block(struct bench_tensors *t, size_t bytes)
{
    void *block = calloc(bytes ? bytes : 1, 1);

    if (block)
        t->blocks[t->count++] = block;
    else
        t->failed = 1;
    return block;
}

static struct aothip_tensor make_view(struct bench_tensors *t, const struct bench_shape *s,
                                      int dtype, const int64_t size[4])
{
    struct aothip_tensor view = attn_view(s->bshd ? ATTN_BSHD : ATTN_BHSD, NULL, dtype, size);
    size_t count = attn_span(&view);

    view.data = make_block(t, count * ref_dtype_size(dtype));
    if (view.data)
        fill(view.data, dtype, count);
    return view;
}

/* With the rows of q; likewise with those of k. */
static struct aothip_tensor make_q(struct bench_tensors *t, const struct bench_shape *s, int dtype,
                                   int dim)
{
    const int64_t size[4] = {s->batch, s->heads, s->seq_q, dim};
    return make_view(t, s, dtype, size);
}

static struct aothip_tensor make_k(struct bench_tensors *t, const struct bench_shape *s, int dim)
{
    const int64_t size[4] = {s->batch, s->heads_k, s->seq_k, dim};
    return make_view(t, s, bench_dtype_kv(s), size);
}

/* One that all sequences and heads share, of all pairs. */
static struct aothip_tensor make_pairs(struct bench_tensors *t, const struct bench_shape *s,
                                       int dtype)
{
    const int64_t size[4] = {1, 1, s->seq_q, s->seq_k};
    struct aothip_tensor view = attn_view(ATTN_BHSD, NULL, dtype, size);
    size_t count = attn_span(&view), i;

    view.data = make_block(t, count * (dtype == AOTHIP_BOOL ? 1 : ref_dtype_size(dtype)));
    if (!view.data)
        return view;
    if (dtype != AOTHIP_BOOL)
        fill(view.data, dtype, count);
    else
        for (i = 0; i < count; i++)
            ((char *)view.data)[i] = i % 8 != 7;
    return view;
}

static const float *make_floats(struct bench_tensors *t, int count, float first, float step)
{
    float *list = make_block(t, (size_t)count * sizeof(*list));

    for (int i = 0; list && i < count; i++)
        list[i] = first + step * (float)i;
    return list;
}

static const int32_t *make_lengths(struct bench_tensors *t, int count, int length)
{
    int32_t *list = make_block(t, (size_t)count * sizeof(*list));

    for (int i = 0; list && i < count; i++)
        list[i] = length;
    return list;
}

/* Pages of k and v, the last one first. */
static void make_pages(struct bench_tensors *t, const struct bench_shape *s)
{
    enum { PAGE = 64 };
    struct aothip_attn_fwd_params *f = &t->fwd;
    int columns = (s->seq_k + PAGE - 1) / PAGE, pages = s->batch * columns, i;
    const int64_t k[4] = {pages, s->heads_k, PAGE, s->dim},
                  v[4] = {pages, s->heads_k, PAGE, s->dim_v};
    int32_t *table = make_block(t, (size_t)pages * sizeof(*table));

    f->k = make_view(t, s, bench_dtype_kv(s), k);
    f->v = make_view(t, s, bench_dtype_kv(s), v);
    for (i = 0; table && i < pages; i++)
        table[i] = pages - 1 - i;
    f->block_table = table;
    f->block_table_stride = f->block_table_columns = columns;
    f->k_seqs.lengths = make_lengths(t, s->batch, s->seq_k);
    f->k_seqs.max = s->seq_k;
    f->sequences = s->batch;
}

static void add_feature(struct bench_tensors *t, const struct bench_shape *s)
{
    struct aothip_attn_fwd_params *f = &t->fwd;

    if (s->feature == BENCH_BIAS)
        f->bias = make_pairs(t, s, bench_dtype_o(s));
    else if (s->feature == BENCH_KEEP)
        f->keep = make_pairs(t, s, AOTHIP_BOOL);
    else if (s->feature == BENCH_ALIBI)
        f->alibi_slopes = make_floats(t, s->heads, 0.5F, -0.25F / (float)s->heads);
    else if (s->feature == BENCH_SINKS)
        f->sinks = make_floats(t, s->heads, 0, 0.125F);
    else if (s->feature == BENCH_LENGTHS)
        f->k_seqs.lengths = make_lengths(t, s->batch, (s->seq_k * 3 + 3) / 4);
    else if (s->feature == BENCH_SOFTCAP)
        f->softcap = 30;
    else if (s->feature == BENCH_DROPOUT)
        f->dropout_p = 0.125F;
    f->dropout_seed = 20261;
}

/*
 * Stands for what a forward pass would make. With values about normal a row's score with itself is
 * about sqrt(dim), and hardly another is more, so that no probability exceeds one. Large ones would
 * overflow in float16, and send the backward pass the long way.
 */
static float *make_lse(struct bench_tensors *t, const struct bench_shape *s, size_t rows)
{
    float *lse = make_block(t, rows * sizeof(float));

    for (size_t i = 0; lse && i < rows; i++)
        lse[i] = (float)(sqrt(s->dim) + log(s->seq_k));
    return lse;
}

int bench_tensors_make(const struct bench_shape *s, struct bench_tensors *t)
{
    struct aothip_attn_fwd_params *f = &t->fwd;
    size_t rows = (size_t)s->batch * (size_t)s->heads * (size_t)s->seq_q;

    memset(t, 0, sizeof(*t));
    *f = (struct aothip_attn_fwd_params){.struct_size = sizeof(*f),
                                         .scale = (float)(1 / sqrt(s->dim)),
                                         .splits = s->splits};
    bench_set_mask(s, f);
    f->q = make_q(t, s, s->dtype, s->dim);
    if (s->feature == BENCH_PAGED) {
        make_pages(t, s);
    } else {
        f->k = make_k(t, s, s->dim);
        f->v = make_k(t, s, s->dim_v);
    }
    if (fp8_is(f->q.dtype))
        f->q_scale.data = make_floats(t, 1, 0.5F, 0);
    if (fp8_is(f->k.dtype)) {
        f->k_scale.data = make_floats(t, 1, 0.5F, 0);
        f->v_scale.data = make_floats(t, 1, 2, 0);
    }
    f->o = make_q(t, s, bench_dtype_o(s), s->dim_v);
    f->lse = make_lse(t, s, rows);
    add_feature(t, s);
    if (s->backward) {
        t->bwd = (struct aothip_attn_bwd_params){.struct_size = sizeof(t->bwd), .fwd = f};
        t->bwd.atomics = s->atomics;
        t->bwd.d_o = make_q(t, s, s->dtype, s->dim_v);
        t->bwd.dq = make_q(t, s, s->dtype, s->dim);
        t->bwd.dk = make_k(t, s, s->dim);
        t->bwd.dv = make_k(t, s, s->dim_v);
    }
    return t->failed ? -1 : 0;
}

void bench_tensors_free(struct bench_tensors *t)
{
    while (t->count)
        free(t->blocks[--t->count]);
}
