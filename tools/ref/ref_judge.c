/* The judgement of outputs against the reference, and of what must not have been touched. */
#include "ref_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adds one element to the verdict. */
static void judge(struct ref_verdict *v, double got, double expected, double allowed,
                  const int64_t at[4], double *worst)
{
    double error = got == expected || (isnan(got) && isnan(expected)) ? 0 : fabs(got - expected);
    double ratio;

    if (allowed < 0 || isinf(allowed))
        return;
    if (isnan(error))
        error = INFINITY;
    ratio = error == 0 ? 0 : allowed > 0 ? error / allowed : INFINITY;
    v->largest = fmax(v->largest, error);
    v->wrong += error > allowed;
    if (ratio <= *worst)
        return;
    *worst = ratio;
    memcpy(v->at, at, sizeof(v->at));
    v->error = error;
    v->allowed = allowed;
    v->got = got;
    v->expected = expected;
}

static struct ref_verdict judge_tensor(const int64_t size[4], const double *value,
                                       const double *allowed, const struct aothip_tensor *t)
{
    struct ref_verdict v = {0};
    double worst = -1;
    int64_t at[4], i = 0;

    for (at[0] = 0; at[0] < size[0]; at[0]++)
        for (at[1] = 0; at[1] < size[1]; at[1]++)
            for (at[2] = 0; at[2] < size[2]; at[2]++)
                for (at[3] = 0; at[3] < size[3]; at[3]++, i++) {
                    int64_t where = ref_offset(t, at[0], at[1], at[2], at[3]);
                    double got = ref_load(t->data, where, t->dtype);
                    /* What overflows the type when it is off by no more than that may do so. */
                    if (isinf(got) && isfinite(value[i]) && allowed[i] > 0 &&
                        isinf(ref_round(value[i] + copysign(allowed[i], got), t->dtype)))
                        continue;
                    judge(&v, got, value[i], allowed[i], at, &worst);
                }
    return v;
}

struct ref_verdict ref_judge_o(const struct ref_fwd *answer, const struct aothip_tensor *o)
{
    return judge_tensor(answer->size, answer->o, answer->o_allowed, o);
}

struct ref_verdict ref_judge_grad(const struct ref_grad *grad, const struct aothip_tensor *tensor)
{
    return judge_tensor(grad->size, grad->value, grad->allowed, tensor);
}

struct ref_verdict ref_judge_lse(const struct ref_fwd *answer, const float *lse)
{
    struct ref_verdict v = {0};
    double worst = -1;
    int64_t at[4] = {0}, i = 0;

    for (at[0] = 0; at[0] < answer->size[0]; at[0]++)
        for (at[1] = 0; at[1] < answer->size[1]; at[1]++)
            for (at[2] = 0; at[2] < answer->size[2]; at[2]++, i++)
                if (answer->lse_at[i] >= 0)
                    judge(&v, (double)lse[answer->lse_at[i]], answer->lse[i],
                          answer->lse_allowed[i], at, &worst);
    return v;
}

/* Marks elements of a span as the launch's own, then counts the others that are not poison. */
static int64_t count_strays(const int64_t size[4], const double *allowed,
                            const struct aothip_tensor *t)
{
    int64_t span = ref_span(t), bytes = (int64_t)ref_dtype_size(t->dtype), stray = 0, i = 0;
    unsigned char *own = calloc((size_t)span + 1, 1);
    const unsigned char *data = t->data;
    int64_t at[4];

    if (!own)
        return -1;
    for (at[0] = 0; at[0] < size[0]; at[0]++)
        for (at[1] = 0; at[1] < size[1]; at[1]++)
            for (at[2] = 0; at[2] < size[2]; at[2]++)
                for (at[3] = 0; at[3] < size[3]; at[3]++, i++)
                    if (!(allowed[i] < 0))
                        own[ref_offset(t, at[0], at[1], at[2], at[3])] = 1;
    for (i = 0; i < span * bytes; i++)
        if (data[i] != REF_POISON && !own[i / bytes]) {
            stray++;
            i += bytes - 1 - i % bytes;
        }
    free(own);
    return stray;
}

int64_t ref_strays_o(const struct ref_fwd *answer, const struct aothip_tensor *o)
{
    return count_strays(answer->size, answer->o_allowed, o);
}

int64_t ref_strays_grad(const struct ref_grad *grad, const struct aothip_tensor *tensor)
{
    return count_strays(grad->size, grad->allowed, tensor);
}

int64_t ref_strays_lse(const struct ref_fwd *answer, const float *lse, int64_t count)
{
    int64_t rows = answer->size[0] * answer->size[1] * answer->size[2], stray = 0, i;
    unsigned char *own = calloc((size_t)count + 1, 1);
    const unsigned char *data = (const unsigned char *)lse;

    if (!own)
        return -1;
    for (i = 0; i < rows; i++)
        if (answer->lse_at[i] >= 0 && answer->lse_at[i] < count)
            own[answer->lse_at[i]] = 1;
    for (i = 0; i < count * 4; i++)
        if (data[i] != REF_POISON && !own[i / 4]) {
            stray++;
            i += 3 - i % 4;
        }
    free(own);
    return stray;
}

/* The exact attention and, for the tolerance, the plain one. */
struct probs {
    struct ref_problem exact, plain;
    struct ref_head h, g;
    double relative; /* largest relative error of the plain probabilities of a head */
};

static double probability(const struct ref_head *h, int64_t n)
{
    int seen = n >= h->lo && n < h->hi && h->seen && h->s[n] > -INFINITY;
    return seen ? h->p[n] / h->sum : 0;
}

static void make_probs_row(struct probs *x, int64_t m)
{
    ref_head_row(&x->exact, &x->h, m);
    ref_head_row(&x->plain, &x->g, m);
}

/* One row's errors say little: where scores cancel, they are luck. */
static void find_relative(struct probs *x, int64_t m)
{
    int64_t n;

    make_probs_row(x, m);
    for (n = x->h.lo; n < x->h.hi; n++) {
        double exact = probability(&x->h, n), plain = probability(&x->g, n);
        if (exact > 1e-30)
            x->relative = fmax(x->relative, fabs(plain / exact - 1));
    }
}

/*
 * What element n of the row should be, and how far off it may be: rounding, twice the plain error,
 * what float scores and their lse are off by, and all that is subnormal in float: the GPUs' exp
 * makes zero of it.
 */
static double expected_probs(const struct probs *x, int64_t n, double *allowed)
{
    const struct aothip_attn_fwd_params *f = x->exact.params;
    double sign = x->h.kept[n] ? 1 : -1, value, plain;

    *allowed = 0;
    if (!f->probs_dropped)
        return sign / 2;
    value = probability(&x->h, n) * ref_dropout_scale(&x->exact);
    plain = probability(&x->g, n) * ref_dropout_scale(&x->exact);
    *allowed = ref_half_ulp(value, f->probs.dtype) + 0x1p-126 + 2 * fabs(plain - value) +
               value * (2 * x->relative + 4 * ref_problem_score_units(&x->exact) *
                                              ref_half_ulp(x->h.scale, AOTHIP_F32));
    return sign * value;
}

static void judge_probs_row(struct probs *x, int64_t m, struct ref_verdict *v, double *worst)
{
    const struct aothip_tensor *t = &x->exact.params->probs;
    const struct ref_seq *seq = &x->h.seq;
    int64_t keys = seq->seq_k < t->size[3] ? seq->seq_k : t->size[3], n;
    double allowed;

    make_probs_row(x, m);
    ref_dropout_row(&x->exact, seq->b, x->h.h, m, 0, keys, x->h.kept);
    for (n = 0; n < keys; n++) {
        int64_t at[4] = {seq->b, x->h.h, m, n};
        double expected = expected_probs(x, n, &allowed);
        double got = ref_load(t->data, ref_offset(t, at[0], at[1], at[2], at[3]), t->dtype);
        judge(v, got, expected, allowed, at, worst);
    }
}

struct ref_verdict ref_judge_probs(const struct aothip_attn_fwd_params *params)
{
    struct ref_verdict v = {.wrong = -1};
    struct probs x;
    struct ref_seq seq;
    double worst = -1;
    int64_t b, hq, m;

    if (ref_problem_open(params, REF_EXACT, REF_SUBNORMALS_KEPT, &x.exact) ||
        ref_problem_open(params, REF_PLAIN, REF_SUBNORMALS_KEPT, &x.plain) ||
        ref_head_new(&x.exact, &x.h))
        return v;
    if (ref_head_new(&x.plain, &x.g)) {
        ref_head_free(&x.h);
        return v;
    }
    v.wrong = 0;
    for (b = 0; b < x.exact.batch && b < params->probs.size[0]; b++) {
        ref_problem_seq(&x.exact, b, &seq);
        for (hq = 0; hq < x.exact.heads_q && seq.rows; hq++) {
            ref_head_read(&x.exact, &seq, hq, &x.h);
            ref_head_read(&x.plain, &seq, hq, &x.g);
            x.relative = 0;
            for (m = 0; m < seq.rows && m < params->probs.size[2]; m++)
                find_relative(&x, m);
            for (m = 0; m < seq.rows && m < params->probs.size[2]; m++)
                judge_probs_row(&x, m, &v, &worst);
        }
    }
    ref_head_free(&x.h);
    ref_head_free(&x.g);
    return v;
}

/* One cache: appended rows are as computed, all else as before. */
struct cache {
    const struct aothip_tensor *before, *after;
    void (*read)(const struct ref_problem *p, const struct ref_seq *seq, int64_t h, int64_t n,
                 double *row);
    const struct aothip_scale *scale;
    double *row;
};

static int judge_cache(const struct ref_problem *p, const struct cache *c, struct ref_verdict *v)
{
    int64_t span = ref_span(c->before), dims = c->before->size[3], b, h, n, d, i;
    double *value = ref_new_doubles(span, 1), *allowed = ref_new_doubles(span, 1), worst = -1;
    struct ref_seq seq;
    double scale;
    int failed;

    for (i = 0; i < span && value && allowed; i++) {
        value[i] = ref_load(c->before->data, i, c->before->dtype);
        allowed[i] = 0;
    }
    for (b = 0; b < p->batch && value && allowed; b++) {
        ref_problem_seq(p, b, &seq);
        for (h = 0; h < p->heads_k; h++)
            for (n = seq.old; n < seq.grown; n++) {
                if (!ref_problem_key_exists(p, &seq, n))
                    continue;
                i = ref_problem_key_offset(p, &seq, c->before, h, n);
                c->read(p, &seq, h, n, c->row);
                scale = ref_problem_scale(c->scale, b, h);
                for (d = 0; d < dims; d++) {
                    value[i + d] = c->row[d] / scale;
                    allowed[i + d] = ref_half_ulp(value[i + d], c->before->dtype) * 1.01 +
                                     4 * ref_half_ulp(4, AOTHIP_F32) / fabs(scale);
                }
            }
    }
    for (i = 0; i < span && value && allowed; i++) {
        int64_t at[4] = {0, 0, 0, i};
        judge(v, ref_load(c->after->data, i, c->after->dtype), value[i], allowed[i], at, &worst);
    }
    failed = !value || !allowed;
    free(value);
    free(allowed);
    return failed ? -1 : 0;
}

struct ref_verdict ref_judge_append(const struct aothip_attn_fwd_params *before,
                                    const struct aothip_tensor *k, const struct aothip_tensor *v)
{
    struct ref_verdict of_k = {0}, of_v = {0}, *worse = &of_k;
    int64_t most = before->k.size[3] > before->v.size[3] ? before->k.size[3] : before->v.size[3];
    double *row = ref_new_doubles(most, 1);
    struct cache ck = {&before->k, k, ref_problem_read_k, &before->k_scale, row};
    struct cache cv = {&before->v, v, ref_problem_read_v, &before->v_scale, row};
    struct ref_problem p;

    if (!row || memcmp(before->k.size, k->size, sizeof(k->size)) ||
        memcmp(before->v.size, v->size, sizeof(v->size)) ||
        ref_problem_open(before, REF_EXACT, REF_SUBNORMALS_KEPT, &p)) {
        free(row);
        return (struct ref_verdict){.wrong = -1};
    }
    p.appended_exactly = 1;
    if (judge_cache(&p, &ck, &of_k) || judge_cache(&p, &cv, &of_v)) {
        free(row);
        return (struct ref_verdict){.wrong = -1};
    }
    free(row);
    if (of_v.wrong > of_k.wrong)
        worse = &of_v;
    worse->wrong = of_k.wrong + of_v.wrong;
    return *worse;
}
