/* Backward attention in double precision, the plain one, and the tolerance between them. */
#include "ref_problem.h"
#include "ref_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DQ, DK, DV, DBIAS, DSINKS, DALIBI, GRADS };

/*
 * What one backward pass adds up, in the shapes of struct ref_grad: values, the squares of what
 * rounding may do to the parts they are sums of (each part is rounded by itself), and how many rows
 * or keys had a share.
 */
struct sums {
    double *value[GRADS], *spread[GRADS];
    int64_t *seen[GRADS]; /* by row of dq, dk, dv; by element of the others */
    int64_t count[GRADS], dims[GRADS];
};

struct pass {
    const struct ref_problem *p;
    const struct aothip_attn_bwd_params *params;
    const struct sums *sums;
    struct ref_head *h;
    double *d_o, *o, *dp; /* (dim_v), (dim_v), (seq_k): of one row */
    double *lse;          /* (rows of q of all heads): left by the exact pass */
    double delta;
    double unit; /* see part_error() */
    int64_t row; /* of q, in the tensor */
};

static const struct aothip_tensor *grad_tensor(const struct aothip_attn_bwd_params *b, int which)
{
    const struct aothip_tensor *const tensors[] = {&b->dq, &b->dk, &b->dv, &b->dbias};
    return tensors[which];
}

static int wanted(const struct aothip_attn_bwd_params *b, int which)
{
    if (which == DSINKS)
        return b->dsinks && b->fwd->sinks;
    if (which == DALIBI)
        return b->dalibi && b->fwd->alibi_slopes;
    return grad_tensor(b, which)->data != NULL;
}

static void grad_size(const struct ref_problem *p, int which, int64_t size[4])
{
    const struct aothip_attn_fwd_params *f = p->params;
    const int64_t scalar[4] = {1, 1, which == DALIBI && f->alibi_stride ? p->batch : 1, p->heads_q};
    const int64_t *const sizes[] = {f->q.size, f->k.size, f->v.size, f->bias.size, scalar, scalar};

    memcpy(size, sizes[which], sizeof(scalar));
}

static void free_sums(struct sums *s)
{
    int i;
    for (i = 0; i < GRADS; i++) {
        free(s->value[i]);
        free(s->spread[i]);
        free(s->seen[i]);
    }
    memset(s, 0, sizeof(*s));
}

static int new_sums(const struct ref_problem *p, const struct aothip_attn_bwd_params *b,
                    struct sums *s)
{
    int64_t size[4];
    int i;

    memset(s, 0, sizeof(*s));
    for (i = 0; i < GRADS; i++) {
        if (!wanted(b, i))
            continue;
        grad_size(p, i, size);
        s->dims[i] = i <= DV ? size[3] : 1;
        s->count[i] = size[0] * size[1] * size[2] * size[3];
        s->value[i] = calloc((size_t)s->count[i] + 1, sizeof(double));
        s->spread[i] = calloc((size_t)s->count[i] + 1, sizeof(double));
        s->seen[i] = calloc((size_t)(s->count[i] / s->dims[i]) + 1, sizeof(int64_t));
        if (!s->value[i] || !s->spread[i] || !s->seen[i]) {
            free_sums(s);
            return -1;
        }
        memset(s->seen[i], 0xff, (size_t)(s->count[i] / s->dims[i]) * sizeof(int64_t));
    }
    return 0;
}

/* An entry that is written is one seen by no row until rows see it; before it is -1. */
static void touch(const struct sums *s, int which, int64_t at)
{
    if (s->seen[which] && s->seen[which][at] < 0)
        s->seen[which][at] = 0;
}

/* `size` is what the part would be if nothing in it cancelled out. */
static void add(const struct pass *a, int which, int64_t at, double part, double size)
{
    double *to = &a->sums->value[which][at];
    *to = ref_narrow(a->p, *to + ref_narrow(a->p, part));
    a->sums->spread[which][at] += size * size * a->unit * a->unit;
}

/* gradient row += weight * x */
static void add_row(const struct pass *a, int which, int64_t row, double weight, double size,
                    const double *x)
{
    const int64_t dims = a->sums->dims[which];

    ref_add_gradient(a->sums->value[which] + row * dims, a->sums->spread[which] + row * dims,
                     weight, size, a->unit, x, dims, a->p->precision == REF_PLAIN);
    a->sums->seen[which][row]++;
}

static int64_t bias_at(const struct aothip_tensor *t, const struct ref_head *h, int64_t n)
{
    const int64_t at[4] = {h->seq.b, h->h, h->m, n};
    int64_t index = 0;
    int i;

    for (i = 0; i < 4; i++)
        index = index * t->size[i] + (t->size[i] > 1 ? at[i] : 0);
    return index;
}

/* Row of k and v as they count in the tensor's shape. */
static int64_t key_row(const struct pass *a, int64_t n)
{
    const struct ref_seq *seq = &a->h->seq;
    const int64_t *size = a->p->params->k.size;
    return (seq->k_entry * size[1] + a->h->h / a->p->group) * size[2] + seq->k_start + n;
}

/* o of the row, as the forward pass gives it, and the row's dot product with d_o. */
static void make_delta(struct pass *a)
{
    const struct ref_problem *p = a->p;
    const struct ref_head *h = a->h;
    const struct aothip_tensor *t = &a->params->d_o;
    int64_t n, d;

    a->delta = 0;
    memset(a->o, 0, (size_t)p->dim_v * sizeof *a->o);
    for (n = h->lo; n < h->hi; n++)
        if (h->kept[n] && h->s[n] > -INFINITY)
            ref_add_products(a->o, ref_problem_operand(p, h->p[n]), h->v + n * p->dim_v, p->dim_v,
                             p->precision == REF_PLAIN);
    for (d = 0; d < p->dim_v; d++) {
        double o = a->o[d] / h->sum * ref_dropout_scale(p);

        a->d_o[d] = ref_load(t->data, ref_offset(t, h->seq.q_entry, h->h, h->seq.q_start + h->m, d),
                             t->dtype);
        if (p->precision == REF_PLAIN)
            o = ref_round(o, p->params->q.dtype);
        a->delta = ref_narrow(p, a->delta + ref_narrow(p, o * a->d_o[d]));
    }
    for (d = 0; d < p->dim_v; d++)
        a->d_o[d] = ref_problem_lifted(p, a->d_o[d]);
}

/* dP = d_o V^T over the keys. */
static void make_dp(struct pass *a)
{
    const struct ref_problem *p = a->p;
    const struct ref_head *h = a->h;
    int64_t n, d, keys = h->seq.seq_k;

    for (n = h->lo; n < h->hi; n++)
        a->dp[n] = 0;
    for (d = 0; d < p->dim_v && h->lo < h->hi; d++)
        ref_add_products(a->dp + h->lo, a->d_o[d], h->vt + d * keys + h->lo, h->hi - h->lo,
                         p->precision == REF_PLAIN);
}

/*
 * exp(score - lse). A backward pass is given lse, rounded to float, and so is the plain one: the
 * scores that it computes once more are off by other errors than those in lse.
 */
static double probability(const struct pass *a, double score)
{
    return ref_narrow(a->p, exp(ref_narrow(a->p, score - ref_narrow(a->p, a->lse[a->row]))));
}

/* The shares of one key: dS, and from it those of q, k, bias and slope. */
static void one_key(struct pass *a, int64_t n)
{
    const struct ref_problem *p = a->p;
    const struct aothip_attn_fwd_params *f = p->params;
    const struct ref_head *h = a->h;
    double weight = probability(a, h->s[n]), factor = h->kept[n] ? ref_dropout_scale(p) : 0;
    double dp = a->dp[n] * factor, ds = ref_narrow(p, weight * ref_narrow(p, dp - a->delta));
    double size = weight * (fabs(dp) + fabs(a->delta)), dx = ref_narrow(p, ds * h->capped[n]);
    double distance = (double)llabs(h->m + h->seq.seq_k - h->seq.seq_q - n);
    const struct sums *s = a->sums;

    if (s->value[DBIAS])
        add(a, DBIAS, bias_at(&f->bias, h, n), ds, size);
    if (s->value[DALIBI])
        add(a, DALIBI, (f->alibi_stride ? h->seq.b * p->heads_q : 0) + h->h, -ds * distance,
            size * distance);
    weight = ref_problem_lifted(p, weight * factor);
    if (s->value[DV])
        add_row(a, DV, key_row(a, n), weight, weight, a->d_o);
    dx = ref_narrow(p, ref_problem_lifted(p, dx) * (double)f->scale);
    size *= (double)f->scale;
    if (s->value[DQ])
        add_row(a, DQ, a->row, dx, size, h->k + n * p->dim_qk);
    if (s->value[DK])
        add_row(a, DK, key_row(a, n), dx, size, h->q);
}

static void add_sink(const struct pass *a)
{
    double part = -probability(a, (double)a->p->params->sinks[a->h->h]) * a->delta;
    add(a, DSINKS, a->h->h, part, part);
}

/*
 * Two standard deviations of the relative error of a part: the rounding of P or dS, as in the
 * forward pass, and float arithmetic. In f32 the largest error is the one that sums of dim_qk
 * products at the scores' magnitude have; the I/O type of the others hides it.
 */
static double part_error(const struct ref_problem *p, const struct ref_head *h)
{
    int dtype = p->params->q.dtype;
    double scores = sqrt((double)p->dim_qk) * ref_half_ulp(h->scale, AOTHIP_F32);

    return 2 / sqrt(3) * (ref_half_ulp(1, dtype) + (dtype == AOTHIP_F32 ? scores : 0)) +
           2 * ref_problem_score_units(p) * ref_half_ulp(1, AOTHIP_F32);
}

static void one_row(struct pass *a, int64_t m)
{
    const struct ref_problem *p = a->p;
    struct ref_head *h = a->h;
    const int64_t *size = p->params->q.size;
    int64_t n;

    ref_head_row(p, h, m);
    a->row = (h->seq.q_entry * size[1] + h->h) * size[2] + h->seq.q_start + m;
    touch(a->sums, DQ, a->row);
    for (n = 0; n < h->seq.seq_k && a->sums->value[DBIAS]; n++)
        touch(a->sums, DBIAS, bias_at(&p->params->bias, h, n));
    if (!h->seen)
        return;
    if (p->precision == REF_EXACT)
        a->lse[a->row] = h->lse;
    a->unit = part_error(p, h);
    make_delta(a);
    make_dp(a);
    for (n = h->lo; n < h->hi; n++)
        if (h->s[n] > -INFINITY)
            one_key(a, n);
    if (a->sums->value[DSINKS])
        add_sink(a);
}

static void one_head(struct pass *a, const struct ref_seq *seq, int64_t hq)
{
    int64_t m, n, slopes = a->p->params->alibi_stride ? seq->b * a->p->heads_q : 0;

    ref_head_read(a->p, seq, hq, a->h);
    touch(a->sums, DSINKS, hq);
    touch(a->sums, DALIBI, slopes + hq);
    for (n = 0; n < seq->seq_k; n++) {
        touch(a->sums, DK, key_row(a, n));
        touch(a->sums, DV, key_row(a, n));
    }
    for (m = 0; m < seq->rows; m++)
        one_row(a, m);
}

static int run_pass(const struct ref_problem *p, const struct aothip_attn_bwd_params *params,
                    const struct sums *sums, double *lse)
{
    struct ref_head h;
    struct pass a = {.p = p, .params = params, .sums = sums, .h = &h, .lse = lse};
    struct ref_seq seq;
    int64_t b, hq;
    int failed;

    if (ref_head_new(p, &h))
        return -1;
    a.d_o = ref_new_doubles(p->dim_v, 1);
    a.o = ref_new_doubles(p->dim_v, 1);
    a.dp = ref_new_doubles(p->most_k, 1);
    failed = !a.d_o || !a.o || !a.dp;
    for (b = 0; b < p->batch && !failed; b++) {
        ref_problem_seq(p, b, &seq);
        for (hq = 0; hq < p->heads_q; hq++)
            one_head(&a, &seq, hq);
    }
    ref_head_free(&h);
    free(a.d_o);
    free(a.o);
    free(a.dp);
    return failed ? -1 : 0;
}

/* Element types of the outputs; what is accumulated in float is rounded to them once. */
static int grad_dtype(const struct aothip_attn_bwd_params *b, int which)
{
    return which >= DSINKS ? AOTHIP_F32 : grad_tensor(b, which)->dtype;
}

/*
 * Fills in the allowances of one gradient: four times the plain one's largest error among the rows
 * that see about as many others, plus half a unit. Under the plain error stands a floor for small
 * tensors, where it may be small by luck: two standard deviations of what rounding does.
 */
static void allow(const struct sums *exact, const struct sums *plain, int which, int dtype,
                  struct ref_grad *g)
{
    double worst[REF_GROUPS] = {0};
    int64_t i, dims = exact->dims[which];
    int pass;

    for (pass = 0; pass < 2; pass++)
        for (i = 0; i < exact->count[which]; i++) {
            int64_t seen = exact->seen[which][i / dims];
            int group = which <= DV ? ref_group(seen) : 0;
            double value = exact->value[which][i];
            double error = fabs(ref_round(plain->value[which][i], dtype) - value);
            if (seen < 0) {
                g->allowed[i] = -1;
            } else if (group < 0) {
                g->allowed[i] = 0;
            } else if (pass == 0) {
                worst[group] = fmax(worst[group], error);
                worst[group] = fmax(worst[group], sqrt(exact->spread[which][i]));
            } else {
                g->allowed[i] = 4 * worst[group] + ref_half_ulp(value, dtype);
            }
        }
}

static void free_grad(struct ref_grad *g)
{
    free(g->value);
    free(g->allowed);
}

void ref_free_bwd(struct ref_bwd *a)
{
    free_grad(&a->dq);
    free_grad(&a->dk);
    free_grad(&a->dv);
    free_grad(&a->dbias);
    free_grad(&a->dsinks);
    free_grad(&a->dalibi);
    memset(a, 0, sizeof(*a));
}

/* Moves the exact values into the answer. */
static int make_answer(const struct ref_problem *p, const struct aothip_attn_bwd_params *params,
                       struct sums *exact, const struct sums *plain, struct ref_bwd *answer)
{
    struct ref_grad *const grads[] = {&answer->dq,    &answer->dk,     &answer->dv,
                                      &answer->dbias, &answer->dsinks, &answer->dalibi};
    int i;

    for (i = 0; i < GRADS; i++) {
        if (!exact->value[i])
            continue;
        grad_size(p, i, grads[i]->size);
        grads[i]->allowed = ref_new_doubles(exact->count[i], 1);
        if (!grads[i]->allowed)
            return -1;
        allow(exact, plain, i, grad_dtype(params, i), grads[i]);
        grads[i]->value = exact->value[i];
        exact->value[i] = NULL;
    }
    return 0;
}

int ref_attn_bwd(const struct aothip_attn_bwd_params *params, enum ref_subnormals subnormals,
                 struct ref_bwd *answer)
{
    struct sums exact = {.count = {0}}, plain = {.count = {0}};
    const int64_t *size = params->fwd->q.size;
    struct ref_problem p, q;
    double *lse;
    int failed;

    memset(answer, 0, sizeof(*answer));
    if (ref_problem_open(params->fwd, REF_EXACT, REF_SUBNORMALS_KEPT, &p) ||
        ref_problem_open(params->fwd, REF_PLAIN, subnormals, &q))
        return -1;
    lse = ref_new_doubles(size[0] * size[1] * size[2], 1);
    failed = !lse || new_sums(&p, params, &exact) || new_sums(&p, params, &plain) ||
             run_pass(&p, params, &exact, lse) || run_pass(&q, params, &plain, lse) ||
             make_answer(&p, params, &exact, &plain, answer);
    free(lse);
    free_sums(&exact);
    free_sums(&plain);
    if (failed)
        ref_free_bwd(answer);
    return failed ? -1 : 0;
}
