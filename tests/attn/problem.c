/* Makes attention problems from short descriptions. */
#include "problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *own(struct problem *p, size_t bytes)
{
    void *block = malloc(bytes + 64);
    if (!block || p->count == PROBLEM_BLOCKS)
        abort();
    memset(block, REF_POISON, bytes + 64);
    p->blocks[p->count++] = block;
    return block;
}

static uint64_t draw(struct problem *p)
{
    p->seed = p->seed * 6364136223846793005U + 1442695040888963407U;
    return p->seed >> 11;
}

/* Uniform on [-1, 1). */
static double uniform(struct problem *p)
{
    return (double)draw(p) / 0x1p52 - 1;
}

/* About normal, standard deviation 1. */
static double normal(struct problem *p)
{
    return uniform(p) + uniform(p) + uniform(p);
}

/* Whether the exponents of q, k or v are those of f16, or less. */
static bool is_narrow(const struct test_case *c)
{
    return c->dtype == AOTHIP_F16 || c->fp8;
}

/* An element of q, k or v ('q', 'k', 'v') in row s. */
static double element(struct problem *p, char which, int64_t s)
{
    const struct test_case *c = p->c;

    switch (c->values) {
    case UNIFORM:
        return uniform(p);
    case POSITIVE:
        return fabs(uniform(p));
    case RISING: /* later keys have larger scores: the running maximum moves all the time */
        return which == 'k' ? uniform(p) + 0.05 * (double)s : uniform(p) + (which == 'q');
    case LARGE: /* scores of some thousands: see scale_of() */
        if (is_narrow(c))
            return which == 'v' ? 10 * normal(p) : 60 * normal(p);
        return which == 'v' ? 1e6 * normal(p) : 1e14 * normal(p);
    case TINY:
        return is_narrow(c) ? 0x1p-15 * normal(p) : 1e-30 * normal(p);
    default:
        return normal(p);
    }
}

static double scale_of(const struct test_case *c)
{
    if (c->values == LARGE)
        return c->scale * 2e3 / (is_narrow(c) ? 3600 : 1e28);
    return c->scale;
}

/* Memory for a view of the case's layout. Nothing is filled in. */
static struct aothip_tensor make_typed(struct problem *p, int dtype, int64_t batch, int64_t heads,
                                       int64_t seq, int64_t dim, bool input)
{
    const struct test_case *c = p->c;
    int64_t pitch = c->layout == ODD_ROWS ? dim + 3 : dim, size[4] = {batch, heads, seq, pitch};
    enum attn_layout layout = c->layout == BSHD  ? ATTN_BSHD
                              : c->layout == QKV ? ATTN_QKV
                                                 : ATTN_BHSD;
    struct aothip_tensor t = attn_view(layout, NULL, dtype, size);
    size_t bytes = ref_dtype_size(dtype);

    t.size[3] = dim;
    if (input && c->layout == ONE_HEAD)
        t.stride[1] = 0;
    if (input && c->layout == ONE_BATCH)
        t.stride[0] = 0;
    t.data = (char *)own(p, (attn_span(&t) + 1) * bytes) + (c->layout == ODD_BASE ? bytes : 0);
    return t;
}

static struct aothip_tensor make_tensor(struct problem *p, int64_t batch, int64_t heads,
                                        int64_t seq, int64_t dim, bool input)
{
    return make_typed(p, p->c->dtype, batch, heads, seq, dim, input);
}

/* Of k or v. */
static struct aothip_tensor make_keys(struct problem *p, int64_t batch, int64_t seq, int64_t dim,
                                      bool input)
{
    return make_typed(p, p->c->fp8 ? p->c->fp8 : p->c->dtype, batch, p->c->heads_k, seq, dim,
                      input);
}

static void put(const struct aothip_tensor *t, const int64_t at[4], double value)
{
    ref_store(t->data, ref_offset(t, at[0], at[1], at[2], at[3]), t->dtype, value);
}

/* Where sequence b begins, in the batch entry that has it. */
static int64_t start_of(const struct problem *p, bool keys, int64_t b)
{
    const int64_t *lengths = keys ? p->lengths_k : p->lengths_q;
    int64_t from = 0, i;

    if (p->c->seqs != COMPACT && p->c->seqs != STRIDED)
        return 0;
    for (i = 0; i < b; i++)
        from += lengths[i] + (p->c->seqs == STRIDED ? 2 : 0);
    return from;
}

static bool packed(const struct test_case *c)
{
    return c->seqs == COMPACT || c->seqs == STRIDED;
}

/* Fills in the rows that sequences have; all else stays NaN. */
static void fill_rows(struct problem *p, const struct aothip_tensor *t, char which)
{
    bool keys = which != 'q' && which != 'g';
    int64_t b, h, s, d, entry;

    for (b = 0; b < p->c->batch; b++) {
        entry = packed(p->c) ? 0 : b;
        for (h = 0; h < t->size[1]; h++)
            for (s = 0; s < (keys ? p->lengths_k : p->lengths_q)[b]; s++)
                for (d = 0; d < t->size[3]; d++)
                    put(t, (int64_t[]){entry, h, start_of(p, keys, b) + s, d},
                        which == 'g' ? ldexp(normal(p), p->c->d_o_exponent)
                                     : element(p, which, s));
    }
}

/* An array of int32_t or, if index64, int64_t. */
static const void *make_array(struct problem *p, const int64_t *values, int count, bool wide)
{
    void *array = own(p, (size_t)count * sizeof(int64_t));
    int i;

    for (i = 0; i < count; i++)
        if (wide)
            ((int64_t *)array)[i] = values[i];
        else
            ((int32_t *)array)[i] = (int32_t)values[i];
    return array;
}

static struct aothip_seqs make_side(struct problem *p, bool keys)
{
    const struct test_case *c = p->c;
    const int64_t *lengths = keys ? p->lengths_k : p->lengths_q;
    int64_t starts[PROBLEM_BATCH_MAX + 1], sums[PROBLEM_BATCH_MAX + 1] = {0};
    struct aothip_seqs s = {.max = c->seqs == DENSE ? 0 : keys ? c->seq_k : c->seq_q};
    int b;

    for (b = 0; b <= c->batch; b++)
        starts[b] = start_of(p, keys, b);
    for (b = 0; b < c->batch; b++)
        sums[b + 1] = sums[b] + lengths[b];
    if (c->seqs == COMPACT || c->seqs == PADDED)
        s.cumulative = make_array(p, sums, c->batch + 1, c->index64);
    if (c->seqs == STRIDED || (c->seqs == USED_K && keys))
        s.lengths = make_array(p, lengths, c->batch, c->index64);
    if (c->seqs == STRIDED)
        s.starts = make_array(p, starts, c->batch + 1, c->index64);
    s.packed = packed(c);
    return s;
}

/* Lengths: the longest, none at all, one less than a half, and so on. */
static void make_lengths(struct problem *p)
{
    const struct test_case *c = p->c;
    int b;

    for (b = 0; b < c->batch; b++) {
        bool varied = c->seqs != DENSE && b > 0;
        p->lengths_q[b] = c->seqs == USED_K || !varied ? c->seq_q : b % 3 == 1 ? 0 : c->seq_q / b;
        p->lengths_k[b] = !varied ? c->seq_k : b % 4 == 3 ? 0 : c->seq_k / (b + 1);
    }
}

/* A bias or mask: sizes by extent; channel stride 2 if odd. */
static struct aothip_tensor make_scores(struct problem *p, enum extent extent, int dtype, bool odd)
{
    const struct test_case *c = p->c;
    int64_t full[4] = {c->batch, c->heads_k * c->group, c->seq_q, c->seq_k > 0 ? c->seq_k : 1};
    struct aothip_tensor t = {.dtype = dtype};
    size_t bytes = ref_dtype_size(dtype);
    int i;

    for (i = 0; i < 4; i++)
        t.size[i] = extent == FULL || (extent == PER_BATCH && i != 1) ||
                            (extent == PER_HEAD && i != 0) || (extent == PER_ROW && i == 2) ||
                            (extent == PER_KEY && (i == 0 || i == 3))
                        ? full[i]
                        : 1;
    t.stride[3] = odd ? 2 : 1;
    for (i = 2; i >= 0; i--)
        t.stride[i] = t.stride[i + 1] * t.size[i + 1] + odd;
    t.data = (char *)own(p, (attn_span(&t) + 1) * bytes) + (odd ? bytes : 0);
    return t;
}

static void fill_scores(struct problem *p, const struct aothip_tensor *t, enum holes holes)
{
    int64_t at[4];

    for (at[0] = 0; at[0] < t->size[0]; at[0]++)
        for (at[1] = 0; at[1] < t->size[1]; at[1]++)
            for (at[2] = 0; at[2] < t->size[2]; at[2]++)
                for (at[3] = 0; at[3] < t->size[3]; at[3]++) {
                    double value = t->dtype == AOTHIP_BOOL ? draw(p) % 4 > 0 : 2 * uniform(p);
                    if ((holes == SOME_INFINITE && draw(p) % 5 == 0) ||
                        (holes == ROWS_INFINITE && at[2] % 3 == 1))
                        value = -INFINITY;
                    if (t->dtype == AOTHIP_BOOL && at[2] % 7 == 5)
                        value = 0;
                    put(t, at, value);
                }
}

static void make_score_inputs(struct problem *p)
{
    const struct test_case *c = p->c;
    struct aothip_attn_fwd_params *f = &p->fwd;
    int heads = c->heads_k * c->group, slopes = heads * (c->alibi == ALIBI_BATCH ? c->batch : 1), i;
    float *values;

    if (c->bias != NONE) {
        f->bias = make_scores(p, c->bias, c->bias_f32 ? AOTHIP_F32 : c->dtype, c->bias_odd);
        fill_scores(p, &f->bias, c->holes);
    }
    if (c->keep != NONE) {
        f->keep = make_scores(p, c->keep, AOTHIP_BOOL, c->bias_odd);
        fill_scores(p, &f->keep, NO_HOLES);
    }
    if (c->alibi != NO_ALIBI) {
        f->alibi_slopes = values = own(p, (size_t)slopes * sizeof(float));
        for (i = 0; i < slopes; i++)
            values[i] = (float)(0.02 + 0.05 * fabs(uniform(p)));
        f->alibi_stride = c->alibi == ALIBI_BATCH ? heads : 0;
    }
    if (c->sinks) {
        f->sinks = values = own(p, (size_t)heads * sizeof(float));
        for (i = 0; i < heads; i++)
            values[i] = (float)(2 * uniform(p));
    }
}

/* One for all, or for each key head, or for each sequence, with gaps between. */
static struct aothip_scale make_scale(struct problem *p)
{
    const struct test_case *c = p->c;
    const int64_t head = c->scales != SCALES_ONE;
    const int64_t batch = c->scales == SCALES_BATCH ? c->heads_k + 1 : 0;
    const int64_t count = batch * (c->batch - 1) + head * (c->heads_k - 1) + 1;
    float *values = own(p, (size_t)count * sizeof(float));

    for (int64_t i = 0; i < count; i++)
        values[i] = (float)(0.5 + fabs(uniform(p)));
    return (struct aothip_scale){values, {batch, head}};
}

static void make_dropout(struct problem *p)
{
    struct aothip_attn_fwd_params *f = &p->fwd;
    uint64_t *state;

    if (p->c->dropout == NO_DROPOUT)
        return;
    f->dropout_p = p->c->dropout == DROPOUT_ALL ? 1 : 0.3F;
    f->dropout_seed = p->seed;
    f->dropout_offset = UINT64_C(0xfffffff0) + draw(p) % 16; /* crosses 2^32 */
    if (p->c->dropout != DROPOUT_POINTER)
        return;
    state = own(p, 4 * sizeof(*state));
    state[0] = draw(p) << 20;
    state[1] = draw(p) % 1000;
    f->dropout_seed_pointer = &state[0];
    f->dropout_offset_pointer = &state[1];
    f->dropout_seed_output = &p->state_outputs[0];
    f->dropout_offset_output = &p->state_outputs[1];
}

static void make_probs(struct problem *p)
{
    const struct test_case *c = p->c;
    int64_t size[4] = {c->batch, c->heads_k * c->group, c->seq_q, c->seq_k};
    int dtype = c->seed % 2 ? AOTHIP_F32 : AOTHIP_F16;

    if (c->probs == NO_PROBS)
        return;
    p->fwd.probs = attn_view(ATTN_BHSD, NULL, dtype, size);
    p->fwd.probs.data = own(p, attn_span(&p->fwd.probs) * ref_dtype_size(dtype));
    p->fwd.probs_dropped = c->probs == PROBS_DROPPED;
}

/* Moves k and v into pages, the first ones last; page 0 is nobody's. */
static void make_pages(struct problem *p)
{
    const struct test_case *c = p->c;
    struct aothip_attn_fwd_params *f = &p->fwd;
    int64_t columns = (c->seq_k + c->page - 1) / c->page, pages, b, h, n, d, i;
    struct aothip_tensor old[2] = {f->k, f->v}, *t[2] = {&f->k, &f->v};
    int32_t *table;

    columns += columns == 0;
    pages = columns * c->batch + 1;
    table = own(p, (size_t)(c->batch * (columns + 1)) * sizeof(*table));
    for (i = 0; i < c->batch * columns; i++)
        table[i / columns * (columns + 1) + i % columns] = (int32_t)(pages - 1 - i);
    for (i = 0; i < 2; i++) {
        *t[i] = make_keys(p, pages, c->page, old[i].size[3], false);
        for (b = 0; b < c->batch; b++)
            for (h = 0; h < c->heads_k; h++)
                for (n = 0; n < p->lengths_k[b]; n++)
                    for (d = 0; d < old[i].size[3]; d++)
                        put(t[i],
                            (int64_t[]){table[b * (columns + 1) + n / c->page], h, n % c->page, d},
                            ref_load(old[i].data, ref_offset(&old[i], b, h, n, d), old[i].dtype));
    }
    f->block_table = table;
    f->block_table_stride = columns + 1;
    f->block_table_columns = (int32_t)columns;
    f->k_seqs.max = c->seq_k;
}

/* Copies a cache, so that what a launch did to it can be told. */
static struct aothip_tensor copy(struct problem *p, const struct aothip_tensor *t)
{
    size_t bytes = attn_span(t) * ref_dtype_size(t->dtype), shift = (uintptr_t)t->data % 16;
    struct aothip_tensor other = *t;

    other.data = (char *)own(p, bytes + shift) + shift;
    memcpy(other.data, t->data, bytes);
    return other;
}

/* Three new rows of k and v a sequence, and a rotation of half of the channels. */
static void make_append(struct problem *p, bool rotary)
{
    enum { NEW = 3 };
    const struct test_case *c = p->c;
    struct aothip_attn_fwd_params *f = &p->fwd;
    int64_t old[PROBLEM_BATCH_MAX], i, rows = c->seq_k + c->seq_q;
    struct aothip_tensor *news[2] = {&f->k_new, &f->v_new};

    for (i = 0; i < c->batch; i++)
        old[i] = p->lengths_k[i] > NEW ? p->lengths_k[i] - NEW : 0;
    f->k_seqs.lengths = make_array(p, old, c->batch, c->index64);
    for (i = 0; i < 2; i++) {
        int64_t b, h, n, d;
        *news[i] = make_tensor(p, c->batch, c->heads_k, NEW, (i ? f->v : f->k).size[3], false);
        for (b = 0; b < c->batch; b++)
            for (h = 0; h < c->heads_k; h++)
                for (n = 0; n < NEW; n++)
                    for (d = 0; d < news[i]->size[3]; d++)
                        put(news[i], (int64_t[]){b, h, n, d}, normal(p));
    }
    p->k_before = copy(p, &f->k);
    p->v_before = copy(p, &f->v);
    if (!rotary || c->dim_qk < 2)
        return;
    f->rotary_dim = c->dim_qk / 4 * 2 + (c->dim_qk < 4) * 2;
    f->rotary_stride = f->rotary_dim / 2 + 1;
    f->rotary_rows = (int32_t)rows;
    f->rotary_interleaved = c->cache == ROTARY_PAIRS;
    f->rotary_cos = own(p, (size_t)(rows * f->rotary_stride) * 4);
    f->rotary_sin = own(p, (size_t)(rows * f->rotary_stride) * 4);
    for (i = 0; i < rows * f->rotary_stride; i++) {
        double angle = (double)(i / f->rotary_stride) / pow(1.7, (double)(i % f->rotary_stride));
        ref_store((void *)(uintptr_t)f->rotary_cos, i, c->dtype, cos(angle));
        ref_store((void *)(uintptr_t)f->rotary_sin, i, c->dtype, sin(angle));
    }
}

static void make_cache(struct problem *p)
{
    const struct test_case *c = p->c;
    int64_t last_first[PROBLEM_BATCH_MAX];
    int b;

    if (c->cache == PAGES)
        make_pages(p);
    if (c->cache == INDEX) {
        for (b = 0; b < c->batch; b++)
            last_first[b] = c->batch - 1 - b;
        p->fwd.batch_index = make_array(p, last_first, c->batch, false);
        p->fwd.k_seqs.lengths = NULL;
    }
    if (c->cache >= APPEND)
        make_append(p, c->cache != APPEND);
}

void problem_make(const struct test_case *c, struct problem *p)
{
    struct aothip_attn_fwd_params *f = &p->fwd;
    int64_t heads = c->heads_k * c->group, entries = packed(c) ? 1 : c->batch, total_q, total_k;

    if (c->batch > PROBLEM_BATCH_MAX)
        abort();
    memset(p, 0, sizeof(*p));
    p->c = c;
    p->seed = c->seed;
    make_lengths(p);
    total_q = packed(c) ? start_of(p, false, c->batch) + 3 : c->seq_q;
    total_k = packed(c) ? start_of(p, true, c->batch) + 3 : c->seq_k;
    *f = (struct aothip_attn_fwd_params){.struct_size = sizeof(*f),
                                         .scale = (float)scale_of(c),
                                         .mask = c->mask,
                                         .window_left = c->left,
                                         .window_right = c->right,
                                         .lse_layout = c->lse_layout,
                                         .lse_base2 = c->lse_base2,
                                         .index64 = c->index64,
                                         .softcap = c->softcap,
                                         .splits = c->splits};
    f->sequences = packed(c) ? c->batch : 0;
    f->q = make_typed(p, c->fp8_q ? c->fp8 : c->dtype, entries, heads, total_q, c->dim_qk,
                      c->layout == ONE_BATCH);
    f->k = make_keys(p, entries, total_k, c->dim_qk, true);
    f->v = make_keys(p, entries, total_k, c->dim_v, true);
    f->o = make_tensor(p, entries, heads, total_q, c->dim_v, false);
    fill_rows(p, &f->q, 'q');
    fill_rows(p, &f->k, 'k');
    fill_rows(p, &f->v, 'v');
    if (c->seqs != DENSE) {
        f->q_seqs = make_side(p, false);
        f->k_seqs = make_side(p, true);
    }
    if (c->scales != NO_SCALES) {
        f->k_scale = make_scale(p);
        f->v_scale = make_scale(p);
        if (c->fp8_q)
            f->q_scale = make_scale(p);
    }
    make_score_inputs(p);
    make_dropout(p);
    make_probs(p);
    make_cache(p);
    if (!c->no_lse)
        f->lse = own(p, (size_t)ref_lse_count(f) * sizeof(float));
}

void problem_free(struct problem *p)
{
    while (p->count)
        free(p->blocks[--p->count]);
}

/* o and lse from the reference, rounded once. */
static void solve_fwd(struct problem *p)
{
    const struct aothip_attn_fwd_params *f = &p->fwd;
    int64_t at[4], i = 0;
    struct ref_fwd a;

    if (ref_attn_fwd(f, REF_SUBNORMALS_KEPT, &a))
        abort();
    for (at[0] = 0; at[0] < a.size[0]; at[0]++)
        for (at[1] = 0; at[1] < a.size[1]; at[1]++)
            for (at[2] = 0; at[2] < a.size[2]; at[2]++, i++) {
                if (a.lse_at[i] < 0)
                    continue;
                f->lse[a.lse_at[i]] = (float)a.lse[i];
                for (at[3] = 0; at[3] < a.size[3]; at[3]++)
                    put(&f->o, at, a.o[i * a.size[3] + at[3]]);
            }
    ref_free(&a);
}

void problem_make_bwd(struct problem *p)
{
    const struct test_case *c = p->c;
    struct aothip_attn_fwd_params *f = &p->fwd;
    struct aothip_attn_bwd_params *b = &p->bwd;
    int64_t entries = f->q.size[0], heads = f->q.size[1];

    solve_fwd(p);
    f->dropout_seed_output = f->dropout_offset_output = NULL;
    *b = (struct aothip_attn_bwd_params){.struct_size = sizeof(*b), .fwd = f};
    b->d_o = make_tensor(p, entries, heads, f->q.size[2], c->dim_v, false);
    fill_rows(p, &b->d_o, 'g');
    b->dq = make_tensor(p, entries, heads, f->q.size[2], c->dim_qk, false);
    b->dk = make_tensor(p, entries, c->heads_k, f->k.size[2], c->dim_qk, false);
    b->dv = make_tensor(p, entries, c->heads_k, f->k.size[2], c->dim_v, false);
    if (f->bias.data)
        b->dbias = make_scores(p, c->bias, f->bias.dtype, c->bias_odd);
    if (f->sinks)
        b->dsinks = own(p, (size_t)heads * sizeof(float));
    if (f->alibi_slopes)
        b->dalibi = own(p, (size_t)(heads * c->batch) * sizeof(float));
    if (c->seed % 2)
        b->delta = own(p, (size_t)ref_lse_count(f) * sizeof(float));
}
