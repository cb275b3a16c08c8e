/* One head of the reference: inputs at hand, scores and probabilities of a row, dropout. */
#include "ref_problem.h"
#include "ref_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ref_philox(uint64_t seed, const uint32_t counter[4], uint32_t words[4])
{
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    int round;

    memcpy(words, counter, 4 * sizeof(*words));
    for (round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)words[0] * 0xd2511f53U, b = (uint64_t)words[2] * 0xcd9e8d57U;
        words[0] = (uint32_t)(b >> 32) ^ words[1] ^ key0;
        words[1] = (uint32_t)b;
        words[2] = (uint32_t)(a >> 32) ^ words[3] ^ key1;
        words[3] = (uint32_t)a;
        key0 += 0x9e3779b9U;
        key1 += 0xbb67ae85U;
    }
}

double ref_dropout_scale(const struct ref_problem *p)
{
    double dropped = (double)p->params->dropout_p;
    return dropped >= 1 ? 0 : ref_narrow(p, 1 / (1 - dropped));
}

void ref_dropout_row(const struct ref_problem *p, int64_t b, int64_t h, int64_t m, int64_t lo,
                     int64_t hi, unsigned char *kept)
{
    uint64_t row = (uint64_t)((b * p->heads_q + h) * p->rows + m) * (uint64_t)p->words + p->offset;
    double dropped = fmax(ceil((double)p->params->dropout_p * 65536 - 0.5), 1);
    int64_t n;
    uint32_t counter[4] = {0}, words[4];

    if (!(p->params->dropout_p > 0)) {
        memset(kept + lo, 1, (size_t)(hi - lo));
        return;
    }
    for (n = lo; n < hi; n++) {
        int64_t number = n / 16 % 2 * 4 + n % 4;
        if (n == lo || n % 4 == 0) {
            uint64_t at = row + (uint64_t)(n / 32 * 4 + n / 4 % 4);
            counter[0] = (uint32_t)at;
            counter[1] = (uint32_t)(at >> 32);
            ref_philox(p->seed, counter, words);
        }
        kept[n] = (int16_t)(words[number / 2] >> number % 2 * 16) + 32768 >= dropped;
    }
}

void ref_head_free(struct ref_head *h)
{
    free(h->q);
    free(h->k);
    free(h->kt);
    free(h->v);
    free(h->vt);
    free(h->k_kind);
    free(h->v_kind);
    free(h->s);
    free(h->p);
    free(h->capped);
    free(h->magnitude);
    free(h->kept);
    memset(h, 0, sizeof(*h));
}

int ref_head_new(const struct ref_problem *p, struct ref_head *h)
{
    size_t bytes = (size_t)p->most_k + 1;

    memset(h, 0, sizeof(*h));
    h->q = ref_new_doubles(p->dim_qk, 1);
    h->k = ref_new_doubles(p->most_k, p->dim_qk);
    h->kt = ref_new_doubles(p->most_k, p->dim_qk);
    h->v = ref_new_doubles(p->most_k, p->dim_v);
    h->vt = ref_new_doubles(p->most_k, p->dim_v);
    h->s = ref_new_doubles(p->most_k, 1);
    h->p = ref_new_doubles(p->most_k, 1);
    h->capped = ref_new_doubles(p->most_k, 1);
    h->magnitude = ref_new_doubles(p->most_k, 1);
    h->k_kind = malloc(bytes);
    h->v_kind = malloc(bytes);
    h->kept = malloc(bytes);
    if (h->q && h->k && h->kt && h->v && h->vt && h->s && h->p && h->capped && h->magnitude &&
        h->k_kind && h->v_kind && h->kept)
        return 0;
    ref_head_free(h);
    return -1;
}

static enum ref_kind kind_of(const double *row, int64_t dims)
{
    enum ref_kind kind = REF_FINITE;
    int64_t d;

    for (d = 0; d < dims; d++)
        if (isnan(row[d]))
            return REF_NAN;
        else if (isinf(row[d]))
            kind = REF_INFINITE;
    return kind;
}

static void transpose(const double *from, int64_t rows, int64_t dims, double *to)
{
    int64_t n, d;
    for (n = 0; n < rows; n++)
        for (d = 0; d < dims; d++)
            to[d * rows + n] = from[n * dims + d];
}

void ref_head_read(const struct ref_problem *p, const struct ref_seq *seq, int64_t hq,
                   struct ref_head *h)
{
    int64_t n, hk = hq / p->group;

    h->seq = *seq;
    h->h = hq;
    for (n = 0; n < seq->seq_k; n++) {
        if (!ref_problem_key_exists(p, seq, n)) {
            memset(h->k + n * p->dim_qk, 0, (size_t)p->dim_qk * sizeof(*h->k));
            memset(h->v + n * p->dim_v, 0, (size_t)p->dim_v * sizeof(*h->v));
            h->k_kind[n] = h->v_kind[n] = REF_FINITE;
            continue;
        }
        ref_problem_read_k(p, seq, hk, n, h->k + n * p->dim_qk);
        ref_problem_read_v(p, seq, hk, n, h->v + n * p->dim_v);
        h->k_kind[n] = (unsigned char)kind_of(h->k + n * p->dim_qk, p->dim_qk);
        h->v_kind[n] = (unsigned char)kind_of(h->v + n * p->dim_v, p->dim_v);
    }
    transpose(h->k, seq->seq_k, p->dim_qk, h->kt);
    transpose(h->v, seq->seq_k, p->dim_v, h->vt);
}

static double at_score(const struct aothip_tensor *t, const struct ref_head *h, int64_t n)
{
    return ref_load(t->data, ref_offset(t, h->seq.b, h->h, h->m, n), t->dtype);
}

/* One score from a dot product: the steps of aothip.h in their order. */
static void score(const struct ref_problem *p, struct ref_head *h, int64_t n)
{
    const struct aothip_attn_fwd_params *f = p->params;
    double s = ref_narrow(p, (double)f->scale * h->s[n]), part;

    h->capped[n] = 1;
    h->magnitude[n] = fabs(s);
    if (f->softcap > 0) {
        double t = ref_narrow(p, tanh(ref_narrow(p, s / (double)f->softcap)));
        s = ref_narrow(p, (double)f->softcap * t);
        h->capped[n] = 1 - t * t;
        h->magnitude[n] = (double)f->softcap;
    }
    if (f->alibi_slopes) {
        part = (double)f->alibi_slopes[h->seq.b * f->alibi_stride + h->h] *
               (double)llabs(h->m + h->seq.seq_k - h->seq.seq_q - n);
        h->magnitude[n] = fmax(h->magnitude[n], fabs(part));
        s = ref_narrow(p, s - ref_narrow(p, part));
    }
    if (f->bias.data) {
        part = at_score(&f->bias, h, n);
        if (isfinite(part))
            h->magnitude[n] = fmax(h->magnitude[n], fabs(part));
        else if (isnan(part))
            h->kind = REF_NAN;
        else if (part > 0 && h->kind == REF_FINITE)
            h->kind = REF_INFINITE;
        s = ref_narrow(p, s + part);
    }
    h->s[n] = s;
}

static void note_kind(struct ref_head *h, enum ref_kind kind)
{
    if (kind > h->kind)
        h->kind = kind;
}

/* s for all keys in [lo, hi). */
static void make_scores(const struct ref_problem *p, struct ref_head *h)
{
    const struct aothip_attn_fwd_params *f = p->params;
    int64_t n, d, keys = h->seq.seq_k, kept = 0;

    for (n = h->lo; n < h->hi; n++)
        h->s[n] = 0;
    for (d = 0; d < p->dim_qk && h->lo < h->hi; d++)
        ref_add_products(h->s + h->lo, h->q[d], h->kt + d * keys + h->lo, h->hi - h->lo,
                         p->precision == REF_PLAIN);
    for (n = h->lo; n < h->hi; n++) {
        if ((f->keep.data && at_score(&f->keep, h, n) == 0) ||
            !ref_problem_key_exists(p, &h->seq, n)) {
            h->s[n] = -INFINITY;
            h->magnitude[n] = h->capped[n] = 0;
            continue;
        }
        note_kind(h, (enum ref_kind)h->k_kind[n]);
        score(p, h, n);
        kept++;
    }
    if (!kept)
        h->kind = REF_FINITE;
}

void ref_head_row(const struct ref_problem *p, struct ref_head *h, int64_t m)
{
    const struct aothip_attn_fwd_params *f = p->params;
    struct ref_interval seen = ref_visible(f, m, h->seq.seq_q, h->seq.seq_k);
    double sink = f->sinks ? (double)f->sinks[h->h] : -INFINITY;
    int64_t n;

    h->m = m;
    h->lo = seen.lo;
    h->hi = seen.hi;
    h->seen = 0;
    ref_problem_read_q(p, &h->seq, h->h, m, h->q);
    h->kind = h->lo < h->hi ? kind_of(h->q, p->dim_qk) : REF_FINITE;
    make_scores(p, h);
    ref_dropout_row(p, h->seq.b, h->h, m, h->lo, h->hi, h->kept);

    h->max = sink;
    for (n = h->lo; n < h->hi; n++) {
        h->max = fmax(h->max, h->s[n]);
        h->seen += h->s[n] > -INFINITY || isnan(h->s[n]);
    }
    h->scale = fmax(1, isfinite(h->max) ? fabs(h->max) : 1);
    if (!h->seen) {
        h->sum = 0;
        h->lse = sink > -INFINITY ? sink : INFINITY;
        for (n = h->lo; n < h->hi; n++)
            h->p[n] = 0;
        return;
    }
    h->sum = sink > -INFINITY ? ref_narrow(p, exp(sink - h->max)) : 0;
    for (n = h->lo; n < h->hi; n++) {
        h->p[n] = ref_narrow(p, exp(ref_narrow(p, h->s[n] - h->max)));
        h->sum = ref_narrow(p, h->sum + h->p[n]);
        if (h->p[n] > 1e-13)
            h->scale = fmax(h->scale, h->magnitude[n]);
    }
    h->lse = ref_narrow(p, h->max + ref_narrow(p, log(h->sum)));
    h->scale = fmax(h->scale, isfinite(h->lse) ? fabs(h->lse) : 1);
}
