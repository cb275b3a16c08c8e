/* Naive attention in double precision, the plain 16-bit one, and the tolerance between them. */
#include "ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bits of the significand, the hidden one included, and the exponent of the smallest normal. */
static int significand_bits(int dtype)
{
    return dtype == AOTHIP_F16 ? 11 : dtype == AOTHIP_BF16 ? 8 : 24;
}

static int smallest_exponent(int dtype)
{
    return dtype == AOTHIP_F16 ? -14 : -126;
}

/* Half a unit in the last place of dtype at this magnitude: the largest error of one rounding. */
static double half_ulp(double value, int dtype)
{
    int exponent;
    if (value == 0 || isinf(value))
        return ldexp(1, smallest_exponent(dtype) - significand_bits(dtype));
    frexp(value, &exponent);
    exponent--;
    if (exponent < smallest_exponent(dtype))
        exponent = smallest_exponent(dtype);
    return ldexp(1, exponent - significand_bits(dtype));
}

/*
 * Masks:              seq_q = 3, seq_k = 5            seq_q = 5, seq_k = 3
 *   top left          # . . . .                       # . .
 *                     # # . . .                       # # .
 *                     # # # . .                       # # #   (and below)
 *   bottom right      # # # . .                       . . .
 *                     # # # # .                       . . .
 *                     # # # # #                       # . .   and so on
 */
struct ref_interval ref_visible(int mask, int64_t m, int64_t seq_q, int64_t seq_k)
{
    struct ref_interval seen = {0, seq_k};
    if (mask == AOTHIP_MASK_CAUSAL_TOP_LEFT)
        seen.hi = m + 1;
    else if (mask == AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT)
        seen.hi = m + 1 + seq_k - seq_q;
    if (seen.hi > seq_k)
        seen.hi = seq_k;
    if (seen.hi < seen.lo)
        seen.hi = seen.lo;
    return seen;
}

/* Problem sizes in the words of aothip.h. */
struct shape {
    int64_t batch, heads_q, heads_k, seq_q, seq_k, dim_qk, dim_v;
};

static int read_shape(const struct ref_problem *p, struct shape *s)
{
    const int64_t *q = p->q.size, *k = p->k.size, *v = p->v.size;
    int i;

    *s = (struct shape){q[0], q[1], k[1], q[2], k[2], q[3], v[3]};
    for (i = 0; i < 4; i++)
        if (q[i] < 1 || k[i] < 1 || v[i] < 1)
            return -1;
    if (k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || q[1] % k[1] || v[2] != k[2] || k[3] != q[3])
        return -1;
    if (p->q.dtype != p->k.dtype || p->q.dtype != p->v.dtype || !ref_dtype_size(p->q.dtype))
        return -1;
    return 0;
}

/* Where element (b, h, s, 0) lies. */
static int64_t row_offset(const struct aothip_tensor *t, int64_t b, int64_t h, int64_t s)
{
    return b * t->stride[0] + h * t->stride[1] + s * t->stride[2];
}

/* One (batch, head) slice as doubles, (rows, channels) or, transposed, (channels, rows). */
enum slice_order { SLICE_ROWS, SLICE_TRANSPOSED };

static void read_slice(const struct aothip_tensor *t, int64_t b, int64_t h, enum slice_order order,
                       double *out)
{
    int64_t rows = t->size[2], dims = t->size[3], s, d;
    for (s = 0; s < rows; s++) {
        int64_t from = row_offset(t, b, h, s);
        for (d = 0; d < dims; d++) {
            int64_t to = order == SLICE_ROWS ? s * dims + d : d * rows + s;
            out[to] = ref_load(t->data, from + d * (dims > 1 ? t->stride[3] : 0), t->dtype);
        }
    }
}

/*
 * What one head needs at hand. K lies transposed so that the loop over keys is the inner one, which
 * a compiler can vectorise without reordering any sum.
 */
struct head {
    double *q, *kt, *v; /* (seq_q, dim_qk), (dim_qk, seq_k), (seq_k, dim_v) */
    double *p;          /* (seq_k): S, then P of one row */
    double *spread;     /* (dim_v): sum of (p v)^2 of one row */
};

static void free_head(struct head *h)
{
    free(h->q);
    free(h->kt);
    free(h->v);
    free(h->p);
    free(h->spread);
}

static double *new_doubles(int64_t a, int64_t b)
{
    if (a > (int64_t)(PTRDIFF_MAX / sizeof(double)) / b)
        return NULL;
    return malloc((size_t)(a * b) * sizeof(double));
}

static int new_head(const struct shape *s, struct head *h)
{
    h->q = new_doubles(s->seq_q, s->dim_qk);
    h->kt = new_doubles(s->dim_qk, s->seq_k);
    h->v = new_doubles(s->seq_k, s->dim_v);
    h->p = new_doubles(s->seq_k, 1);
    h->spread = new_doubles(s->dim_v, 1);
    if (h->q && h->kt && h->v && h->p && h->spread)
        return 0;
    free_head(h);
    return -1;
}

static void read_head(const struct ref_problem *p, const struct shape *s, int64_t b, int64_t hq,
                      struct head *h)
{
    int64_t hk = hq / (s->heads_q / s->heads_k);
    read_slice(&p->q, b, hq, SLICE_ROWS, h->q);
    read_slice(&p->k, b, hk, SLICE_TRANSPOSED, h->kt);
    read_slice(&p->v, b, hk, SLICE_ROWS, h->v);
}

/* The answer for one query row. Returns the row's largest score, which bounds the error of lse. */
static double exact_row(const struct ref_problem *p, const struct shape *s, struct head *h,
                        int64_t m, double *o, double *lse)
{
    struct ref_interval seen = ref_visible(p->mask, m, s->seq_q, s->seq_k);
    double max = -INFINITY, sum = 0;
    int64_t n, d;

    memset(o, 0, (size_t)s->dim_v * sizeof(*o));
    memset(h->spread, 0, (size_t)s->dim_v * sizeof(*h->spread));
    *lse = INFINITY;
    if (seen.lo == seen.hi)
        return 0;
    for (n = seen.lo; n < seen.hi; n++)
        h->p[n] = 0;
    for (d = 0; d < s->dim_qk; d++)
        for (n = seen.lo; n < seen.hi; n++)
            h->p[n] += h->q[m * s->dim_qk + d] * h->kt[d * s->seq_k + n];
    for (n = seen.lo; n < seen.hi; n++)
        max = fmax(max, h->p[n] *= p->scale);
    for (n = seen.lo; n < seen.hi; n++)
        sum += h->p[n] = exp(h->p[n] - max);
    for (n = seen.lo; n < seen.hi; n++) {
        double weight = h->p[n] / sum;
        for (d = 0; d < s->dim_v; d++) {
            double part = weight * h->v[n * s->dim_v + d];
            o[d] += part;
            h->spread[d] += part * part;
        }
    }
    *lse = max + log(sum);
    return max;
}

/* The same row as a straightforward implementation of the I/O type computes it. */
struct plain {
    float *q, *kt, *v, *p, *o; /* shapes as in struct head; o (dim_v) */
};

static float flush(float value, const struct ref_problem *p)
{
    int gone = p->subnormals == REF_SUBNORMALS_FLUSHED && p->q.dtype == AOTHIP_F16 &&
               fabsf(value) < 0x1p-14F;
    return gone ? 0 : value;
}

static void plain_row(const struct ref_problem *p, const struct shape *s, struct plain *f,
                      int64_t m, double *o, double *lse)
{
    struct ref_interval seen = ref_visible(p->mask, m, s->seq_q, s->seq_k);
    float max = -INFINITY, sum = 0;
    int64_t n, d;

    memset(f->o, 0, (size_t)s->dim_v * sizeof(*f->o));
    for (n = seen.lo; n < seen.hi; n++)
        f->p[n] = 0;
    for (d = 0; d < s->dim_qk; d++)
        for (n = seen.lo; n < seen.hi; n++)
            f->p[n] += f->q[m * s->dim_qk + d] * f->kt[d * s->seq_k + n];
    for (n = seen.lo; n < seen.hi; n++)
        max = fmaxf(max, f->p[n] *= (float)p->scale);
    for (n = seen.lo; n < seen.hi; n++)
        sum += f->p[n] = expf(f->p[n] - max);
    for (n = seen.lo; n < seen.hi; n++) {
        float weight = flush((float)ref_round(f->p[n], p->q.dtype), p);
        for (d = 0; d < s->dim_v; d++)
            f->o[d] += weight * f->v[n * s->dim_v + d];
    }
    for (d = 0; d < s->dim_v; d++)
        o[d] = seen.lo < seen.hi ? ref_round(f->o[d] / sum, p->q.dtype) : 0;
    if (lse)
        *lse = seen.lo < seen.hi ? max + logf(sum) : INFINITY;
}

static void narrow(const struct ref_problem *p, const double *from, int64_t count, float *to)
{
    int64_t i;
    for (i = 0; i < count; i++)
        to[i] = flush((float)from[i], p);
}

static void free_plain(struct plain *f)
{
    free(f->q);
    free(f->kt);
    free(f->v);
    free(f->p);
    free(f->o);
}

/* Sizes were proved to fit by new_head(). */
static int new_plain(const struct shape *s, struct plain *f)
{
    f->q = malloc((size_t)(s->seq_q * s->dim_qk) * sizeof(float));
    f->kt = malloc((size_t)(s->seq_k * s->dim_qk) * sizeof(float));
    f->v = malloc((size_t)(s->seq_k * s->dim_v) * sizeof(float));
    f->p = malloc((size_t)s->seq_k * sizeof(float));
    f->o = malloc((size_t)s->dim_v * sizeof(float));
    if (f->q && f->kt && f->v && f->p && f->o)
        return 0;
    free_plain(f);
    return -1;
}

int ref_plain_fwd(const struct ref_problem *problem, double *o, double *lse)
{
    struct shape s;
    struct head h;
    struct plain f;
    int64_t b, hq, m;

    if (read_shape(problem, &s) || new_head(&s, &h))
        return -1;
    if (new_plain(&s, &f)) {
        free_head(&h);
        return -1;
    }
    for (b = 0; b < s.batch; b++)
        for (hq = 0; hq < s.heads_q; hq++) {
            int64_t row = (b * s.heads_q + hq) * s.seq_q;
            read_head(problem, &s, b, hq, &h);
            narrow(problem, h.q, s.seq_q * s.dim_qk, f.q);
            narrow(problem, h.kt, s.seq_k * s.dim_qk, f.kt);
            narrow(problem, h.v, s.seq_k * s.dim_v, f.v);
            for (m = 0; m < s.seq_q; m++)
                plain_row(problem, &s, &f, m, o + (row + m) * s.dim_v, lse ? lse + row + m : NULL);
        }
    free_plain(&f);
    free_head(&h);
    return 0;
}

/* Rows are grouped by the power of two of the number of keys they see; -1: none. */
enum { GROUPS = 64 };

static int row_group(int64_t visible)
{
    int group = -1;
    for (; visible > 0; visible >>= 1)
        group++;
    return group;
}

/*
 * Fills in the allowances. On entry o_allowed holds, per element, two standard deviations of the
 * error that rounding P makes (each p is off by a uniform error of up to half a unit in the last
 * place), and lse_allowed the magnitude that lse is computed at. The former is a floor under the
 * plain attention's own error, which may be small by luck where a tensor has few elements. The
 * latter grants lse eight units in the last place of a float: a GPU takes the way over log2, where
 * magnitudes are 1.44 times larger, its log2 and exp2 are off by one unit each, two products and a
 * sum are rounded, and so is the sum whose logarithm it is. The scores, too, may be summed up in
 * any order and truncated instead of rounded: sqrt(dim_qk) halves of a unit more.
 */
static void allow(const struct ref_problem *p, const struct shape *s, struct ref_fwd *a,
                  const double *plain_o, const double *plain_lse)
{
    int64_t rows = s->batch * s->heads_q * s->seq_q, row, d;
    double worst_o[GROUPS] = {0}, worst_lse[GROUPS] = {0};
    int pass;

    for (pass = 0; pass < 2; pass++)
        for (row = 0; row < rows; row++) {
            struct ref_interval seen = ref_visible(p->mask, row % s->seq_q, s->seq_q, s->seq_k);
            int group = row_group(seen.hi - seen.lo);
            if (group < 0) {
                memset(a->o_allowed + row * s->dim_v, 0, (size_t)s->dim_v * sizeof(double));
                a->lse_allowed[row] = 0;
                continue;
            }
            for (d = row * s->dim_v; d < (row + 1) * s->dim_v; d++)
                if (pass == 0)
                    worst_o[group] =
                        fmax(worst_o[group], fmax(a->o_allowed[d], fabs(plain_o[d] - a->o[d])));
                else
                    a->o_allowed[d] = 2 * worst_o[group] + half_ulp(a->o[d], p->q.dtype);
            if (pass == 0)
                worst_lse[group] = fmax(worst_lse[group], fabs(plain_lse[row] - a->lse[row]));
            else
                a->lse_allowed[row] =
                    2 * worst_lse[group] +
                    (16 + sqrt((double)s->dim_qk)) * half_ulp(a->lse_allowed[row], AOTHIP_F32);
        }
}

/* Doubles of the arrays of an answer: o and o_allowed, lse and lse_allowed. */
static int new_answer(const struct shape *s, struct ref_fwd *a)
{
    int64_t rows;
    *a = (struct ref_fwd){.size = {s->batch, s->heads_q, s->seq_q, s->dim_v}};
    if (s->batch > INT32_MAX || s->heads_q > INT32_MAX || s->batch * s->heads_q > INT32_MAX ||
        s->seq_q > INT32_MAX)
        return -1;
    rows = s->batch * s->heads_q * s->seq_q;
    a->o = new_doubles(rows, s->dim_v);
    a->o_allowed = new_doubles(rows, s->dim_v);
    a->lse = new_doubles(rows, 1);
    a->lse_allowed = new_doubles(rows, 1);
    if (a->o && a->o_allowed && a->lse && a->lse_allowed)
        return 0;
    ref_free(a);
    return -1;
}

void ref_free(struct ref_fwd *answer)
{
    free(answer->o);
    free(answer->lse);
    free(answer->o_allowed);
    free(answer->lse_allowed);
    memset(answer, 0, sizeof(*answer));
}

int ref_attn_fwd(const struct ref_problem *problem, struct ref_fwd *answer)
{
    /* A uniform error on [-u, u] has the standard deviation u / sqrt(3); u = 2^-bits. */
    double unit = 2 / sqrt(3) * ldexp(1, -significand_bits(problem->q.dtype));
    struct shape s;
    struct head h;
    int64_t b, hq, m, d;
    double *o, *lse;
    int failed;

    memset(answer, 0, sizeof(*answer));
    if (read_shape(problem, &s) || new_answer(&s, answer))
        return -1;
    if (new_head(&s, &h)) {
        ref_free(answer);
        return -1;
    }
    for (b = 0; b < s.batch; b++)
        for (hq = 0; hq < s.heads_q; hq++) {
            int64_t first = (b * s.heads_q + hq) * s.seq_q;
            read_head(problem, &s, b, hq, &h);
            for (m = 0; m < s.seq_q; m++) {
                int64_t row = first + m, at = row * s.dim_v;
                double max = exact_row(problem, &s, &h, m, answer->o + at, answer->lse + row);
                for (d = 0; d < s.dim_v; d++)
                    answer->o_allowed[at + d] = unit * sqrt(h.spread[d]);
                answer->lse_allowed[row] = fmax(1, fmax(fabs(max), fabs(answer->lse[row])));
            }
        }
    free_head(&h);

    o = new_doubles(s.batch * s.heads_q * s.seq_q, s.dim_v);
    lse = new_doubles(s.batch * s.heads_q * s.seq_q, 1);
    failed = !o || !lse || ref_plain_fwd(problem, o, lse);
    if (!failed)
        allow(problem, &s, answer, o, lse);
    else
        ref_free(answer);
    free(o);
    free(lse);
    return failed ? -1 : 0;
}
