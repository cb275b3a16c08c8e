/* The reference's view of a problem: shapes, sequences, rows of q, k and v wherever they lie. */
#include "ref_problem.h"

#include "ref_fp8.h"

#include <math.h>
#include <stdlib.h>

static int has(const struct aothip_tensor *t)
{
    return t->data != NULL;
}

/* Masks (before the window bounds are cut to [0, seq_k)):
 *
 *     top left:  seq_q = 3, seq_k = 5      bottom right: the diagonal ends in the last corner
 *       # . . . .                            # # # . .
 *       # # . . .                            # # # # .
 *       # # # . .                            # # # # #
 */
struct ref_interval ref_visible(const struct aothip_attn_fwd_params *params, int64_t m,
                                int64_t seq_q, int64_t seq_k)
{
    const int64_t unbounded = AOTHIP_WINDOW_UNBOUNDED;
    int64_t left = params->window_left, right = params->window_right, corner = seq_k - seq_q;
    struct ref_interval seen = {0, seq_k};

    switch (params->mask) {
    case AOTHIP_MASK_CAUSAL_TOP_LEFT:
        seen.hi = m + 1;
        break;
    case AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT:
        seen.hi = m + 1 + corner;
        break;
    case AOTHIP_MASK_WINDOW_TOP_LEFT:
    case AOTHIP_MASK_WINDOW_BOTTOM_RIGHT:
    case AOTHIP_MASK_WINDOW_MIXED:
        if (left != unbounded)
            seen.lo = m - left + (params->mask == AOTHIP_MASK_WINDOW_BOTTOM_RIGHT ? corner : 0);
        if (right != unbounded)
            seen.hi = m + right + 1 + (params->mask == AOTHIP_MASK_WINDOW_TOP_LEFT ? 0 : corner);
        break;
    }
    seen.lo = seen.lo < 0 ? 0 : seen.lo > seq_k ? seq_k : seen.lo;
    seen.hi = seen.hi > seq_k ? seq_k : seen.hi;
    if (seen.hi < seen.lo)
        seen.hi = seen.lo;
    return seen;
}

static int64_t page_rows(const struct aothip_attn_fwd_params *f)
{
    return f->block_table_columns * f->k.size[2];
}

/* A bias or a mask: each size is 1 or the problem's. */
static int fits(const struct aothip_tensor *t, const struct ref_problem *p)
{
    return !has(t) || ((t->size[0] == 1 || t->size[0] == p->batch) &&
                       (t->size[1] == 1 || t->size[1] == p->heads_q) && ref_dtype_size(t->dtype));
}

static int check(const struct aothip_attn_fwd_params *f, const struct ref_problem *p)
{
    const int64_t *q = f->q.size, *k = f->k.size, *v = f->v.size;
    int i;

    for (i = 0; i < 4; i++)
        if (q[i] < 0 || k[i] < 0 || v[i] < 0)
            return -1;
    if (q[3] < 1 || v[3] < 1 || k[1] < 1 || q[1] % k[1] || v[1] != k[1] || k[3] != q[3])
        return -1;
    if (k[0] != v[0] || k[2] != v[2])
        return -1;
    if (f->k.dtype != f->v.dtype || !ref_dtype_size(f->q.dtype))
        return -1;
    if (f->q.dtype != f->k.dtype && (!fp8_is(f->k.dtype) || fp8_is(f->q.dtype)))
        return -1;
    if (!f->q_seqs.packed && p->batch != q[0])
        return -1;
    if (!f->k_seqs.packed && !f->block_table && !f->batch_index && p->batch != k[0])
        return -1;
    if (q[0] > INT32_MAX || q[1] > INT32_MAX || q[2] > INT32_MAX || k[2] > INT32_MAX)
        return -1;
    return fits(&f->bias, p) && fits(&f->keep, p) ? 0 : -1;
}

int ref_problem_open(const struct aothip_attn_fwd_params *f, enum ref_precision precision,
                     enum ref_subnormals subnormals, struct ref_problem *p)
{
    struct ref_seq seq;
    int64_t keys, b;

    *p = (struct ref_problem){.params = f, .precision = precision, .subnormals = subnormals};
    p->batch = f->sequences ? f->sequences : f->q.size[0];
    p->heads_q = f->q.size[1];
    p->heads_k = f->k.size[1];
    p->dim_qk = f->q.size[3];
    p->dim_v = f->v.size[3];
    if (check(f, p))
        return -1;
    p->group = p->heads_q / p->heads_k;
    p->rows = f->q_seqs.max ? f->q_seqs.max : f->q.size[2];
    keys = f->k_seqs.max ? f->k_seqs.max : f->block_table ? page_rows(f) : f->k.size[2];
    p->words = f->k_seqs.packed && !f->k_seqs.max ? (int64_t)1 << 28 : (keys + 31) / 32 * 4;
    p->seq_new = has(&f->k_new) ? f->k_new.size[2] : 0;
    if (f->dropout_p > 0) {
        p->seed = f->dropout_seed + (f->dropout_seed_pointer ? *f->dropout_seed_pointer : 0);
        p->offset =
            f->dropout_offset + (f->dropout_offset_pointer ? *f->dropout_offset_pointer : 0);
    }
    for (b = 0; b < p->batch; b++) {
        ref_problem_seq(p, b, &seq);
        if (seq.seq_k > p->most_k)
            p->most_k = seq.seq_k;
    }
    return 0;
}

static int64_t index_at(const struct ref_problem *p, const void *array, int64_t i)
{
    return p->params->index64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* Start and length of sequence b in a tensor of `limit` rows; what is beyond them does not exist.
 */
static void locate(const struct ref_problem *p, const struct aothip_seqs *s, int64_t b,
                   int64_t whole, int64_t limit, int64_t extra, int64_t *start, int64_t *length)
{
    *length = s->starts && s->max ? s->max : whole;
    *start = 0;
    if (s->lengths)
        *length = index_at(p, s->lengths, b);
    else if (s->cumulative)
        *length = index_at(p, s->cumulative, b + 1) - index_at(p, s->cumulative, b);
    if (s->starts)
        *start = index_at(p, s->starts, b);
    else if (s->packed && s->cumulative)
        *start = index_at(p, s->cumulative, b);
    *length = *length < 0 ? 0 : *length > limit ? limit : *length;
    *length += extra;
    if (*start < 0 || *start > limit)
        *length = 0;
    else if (*length > limit - *start)
        *length = limit - *start;
}

/* Keys that a bias or mask has room for. */
static int64_t room(const struct aothip_tensor *t)
{
    return has(t) && t->size[3] != 1 ? t->size[3] : INT64_MAX;
}

static int entry_exists(const struct ref_problem *p, int64_t entry)
{
    return entry >= 0 && entry < p->params->k.size[0];
}

int ref_problem_key_exists(const struct ref_problem *p, const struct ref_seq *seq, int64_t n)
{
    const struct aothip_attn_fwd_params *f = p->params;

    if (!f->block_table)
        return entry_exists(p, seq->k_entry);
    return entry_exists(p, f->block_table[seq->b * f->block_table_stride + n / f->k.size[2]]);
}

void ref_problem_seq(const struct ref_problem *p, int64_t b, struct ref_seq *seq)
{
    const struct aothip_attn_fwd_params *f = p->params;
    int64_t limit = f->block_table ? page_rows(f) : f->k.size[2];
    int64_t whole = f->block_table && f->k_seqs.max ? f->k_seqs.max : limit;

    *seq = (struct ref_seq){.b = b, .q_entry = f->q_seqs.packed ? 0 : b};
    seq->k_entry = f->batch_index ? f->batch_index[b] : f->k_seqs.packed ? 0 : b;
    locate(p, &f->q_seqs, b, f->q.size[2], f->q.size[2], 0, &seq->q_start, &seq->seq_q);
    locate(p, &f->k_seqs, b, whole, limit, 0, &seq->k_start, &seq->old);
    locate(p, &f->k_seqs, b, whole, limit, p->seq_new, &seq->k_start, &seq->grown);
    seq->seq_k = seq->grown;
    if (seq->seq_k > room(&f->bias))
        seq->seq_k = room(&f->bias);
    if (seq->seq_k > room(&f->keep))
        seq->seq_k = room(&f->keep);
    if (f->batch_index && !entry_exists(p, seq->k_entry))
        seq->seq_k = 0;
    seq->rows = seq->seq_q < p->rows ? seq->seq_q : p->rows;
}

int64_t ref_lse_count(const struct aothip_attn_fwd_params *f)
{
    int64_t sequences = f->sequences ? f->sequences : f->q.size[0];

    if (f->lse_size)
        return f->lse_size;
    if (f->lse_layout != AOTHIP_LSE_ROWS && f->q_seqs.packed)
        return f->q.size[1] * f->q.size[2];
    return sequences * f->q.size[1] * (f->q_seqs.max ? f->q_seqs.max : f->q.size[2]);
}

int64_t ref_problem_lse_at(const struct ref_problem *p, const struct ref_seq *seq, int64_t h,
                           int64_t m)
{
    const struct aothip_attn_fwd_params *f = p->params;
    int64_t row = seq->q_start + m, pitch = f->q.size[2], at;

    switch (f->lse_layout) {
    case AOTHIP_LSE_HEADS_COMPACT:
        pitch = index_at(p, f->q_seqs.starts ? f->q_seqs.starts : f->q_seqs.cumulative, p->batch);
        at = h * pitch + row;
        break;
    case AOTHIP_LSE_HEADS:
        at = f->q_seqs.packed ? h * pitch + row : (h * p->batch + seq->b) * p->rows + m;
        break;
    case AOTHIP_LSE_TOTAL:
        at = (f->q_seqs.packed ? row : seq->b * p->rows + m) * p->heads_q + h;
        break;
    default:
        at = (seq->b * p->heads_q + h) * p->rows + m;
    }
    return at < ref_lse_count(f) ? at : -1;
}

int64_t ref_problem_key_offset(const struct ref_problem *p, const struct ref_seq *seq,
                               const struct aothip_tensor *t, int64_t h, int64_t n)
{
    const struct aothip_attn_fwd_params *f = p->params;
    int64_t page = f->k.size[2];

    if (!f->block_table)
        return ref_offset(t, seq->k_entry, h, seq->k_start + n, 0);
    return ref_offset(t, f->block_table[seq->b * f->block_table_stride + n / page], h, n % page, 0);
}

double ref_problem_lifted(const struct ref_problem *p, double value)
{
    return p->precision == REF_EXACT ? value : ref_round(value, p->params->q.dtype);
}

double ref_problem_operand(const struct ref_problem *p, double value)
{
    value = ref_problem_lifted(p, value);
    if (p->precision != REF_EXACT && p->subnormals == REF_SUBNORMALS_FLUSHED &&
        p->params->q.dtype == AOTHIP_F16 && fabs(value) < 0x1p-14)
        return 0;
    return value;
}

/* The position of a sequence's first key: positions are those of the cache's rows. */
static int64_t origin(const struct ref_problem *p, const struct ref_seq *seq)
{
    return p->params->k_seqs.packed ? 0 : seq->k_start;
}

/* Rotary position embedding (Su et al. 2021) of one row. */
static void rotate(const struct ref_problem *p, int64_t position, double *row)
{
    const struct aothip_attn_fwd_params *f = p->params;
    int64_t i, half = f->rotary_dim / 2;

    if (!f->rotary_cos || position >= f->rotary_rows)
        return;
    for (i = 0; i < half; i++) {
        int64_t at = position * f->rotary_stride + i;
        double c = ref_load(f->rotary_cos, at, f->q.dtype);
        double s = ref_load(f->rotary_sin, at, f->q.dtype);
        double *x = &row[f->rotary_interleaved ? 2 * i : i];
        double *y = &row[f->rotary_interleaved ? 2 * i + 1 : i + half];
        double a = *x, b = *y;
        *x = ref_narrow(p, ref_narrow(p, a * c) - ref_narrow(p, b * s));
        *y = ref_narrow(p, ref_narrow(p, a * s) + ref_narrow(p, b * c));
    }
}

static void read_row(const struct aothip_tensor *t, int64_t offset, double *row)
{
    int64_t d, dims = t->size[3];
    for (d = 0; d < dims; d++)
        row[d] = ref_load(t->data, offset + (dims > 1 ? d * t->stride[3] : 0), t->dtype);
}

double ref_problem_scale(const struct aothip_scale *scale, int64_t b, int64_t g)
{
    return scale->data ? (double)scale->data[b * scale->stride[0] + g * scale->stride[1]] : 1;
}

/* A matrix product gets the elements as they are, and its result the scale. */
static void make_operands(const struct ref_problem *p, double scale, double *row, int64_t dims)
{
    int64_t d;
    for (d = 0; d < dims; d++)
        row[d] = ref_narrow(p, ref_problem_operand(p, row[d]) * scale);
}

/* A new row as it is written into a cache of FP8. */
static void shrink(const struct ref_problem *p, double scale, double *row, int64_t dims)
{
    const int dtype = p->params->k.dtype;
    const double most = fp8_is(dtype) ? fp8_widen((uint8_t)fp8_largest(dtype), dtype) : 0;
    int64_t d;
    for (d = 0; d < dims && fp8_is(dtype); d++) {
        row[d] = ref_narrow(p, row[d] / scale);
        if (fabs(row[d]) > most)
            row[d] = copysign(most, row[d]);
        if (!p->appended_exactly)
            row[d] = ref_round(row[d], dtype);
    }
}

void ref_problem_read_q(const struct ref_problem *p, const struct ref_seq *seq, int64_t h,
                        int64_t m, double *row)
{
    const struct aothip_attn_fwd_params *f = p->params;

    read_row(&f->q, ref_offset(&f->q, seq->q_entry, h, seq->q_start + m, 0), row);
    rotate(p, origin(p, seq) + seq->old + (f->mask == AOTHIP_MASK_NONE ? 0 : m), row);
    make_operands(p, ref_problem_scale(&f->q_scale, seq->b, h / p->group), row, p->dim_qk);
}

void ref_problem_read_k(const struct ref_problem *p, const struct ref_seq *seq, int64_t h,
                        int64_t n, double *row)
{
    const struct aothip_attn_fwd_params *f = p->params;
    const double scale = ref_problem_scale(&f->k_scale, seq->b, h);

    if (n >= seq->old) {
        read_row(&f->k_new, ref_offset(&f->k_new, seq->b, h, n - seq->old, 0), row);
        rotate(p, origin(p, seq) + n, row);
        shrink(p, scale, row, p->dim_qk);
    } else {
        read_row(&f->k, ref_problem_key_offset(p, seq, &f->k, h, n), row);
    }
    make_operands(p, scale, row, p->dim_qk);
}

void ref_problem_read_v(const struct ref_problem *p, const struct ref_seq *seq, int64_t h,
                        int64_t n, double *row)
{
    const struct aothip_attn_fwd_params *f = p->params;
    const double scale = ref_problem_scale(&f->v_scale, seq->b, h);

    if (n >= seq->old) {
        read_row(&f->v_new, ref_offset(&f->v_new, seq->b, h, n - seq->old, 0), row);
        shrink(p, scale, row, p->dim_v);
    } else {
        read_row(&f->v, ref_problem_key_offset(p, seq, &f->v, h, n), row);
    }
    make_operands(p, scale, row, p->dim_v);
}

double *ref_new_doubles(int64_t a, int64_t b)
{
    if (a < 1 || b < 1)
        return malloc(sizeof(double));
    if (a > (int64_t)(PTRDIFF_MAX / sizeof(double)) / b)
        return NULL;
    return malloc((size_t)(a * b) * sizeof(double));
}

double ref_problem_score_units(const struct ref_problem *p)
{
    return 16 + sqrt((double)p->dim_qk);
}

int ref_group(int64_t seen)
{
    int group = -1;
    for (; seen > 0; seen >>= 1)
        group++;
    return group;
}
