/*
 * The backward pass: gradients of sum(o * d_o), row by row of the forward one.
 *
 *     dV = P^T dO,  dP = dO V^T,  delta = sum of P dP,  dS = P (dP - delta),
 *     dQ = scale dS K,  dK = scale dS^T Q
 *
 * with P as dropout leaves it in dV, and dP as dropout hands it back; dS is the bias's gradient,
 * and that of Q K^T through the soft cap. A sink is a key with the value 0.
 */
#include "expect.h"

#include "number.h"

#include <stdlib.h>

#define UNIT 0x1p-24       /* of F32 */
#define LEAST_EXP 0x1p-126 /* of the GPUs' exp2: what is smaller becomes 0 */
#define LEAST_STEPS 0x1p-147 /* what F32 below 2^-126 is off by: some of its smallest numbers */

/* What all rows of one query head and sequence share. */
struct walk {
    const struct aothip_attn_bwd_params *b;
    const struct aothip_attn_fwd_params *p;
    const struct expect_head *head;
    struct expect_bwd *x;
    int64_t h, key_head;
};

/* One row: of each key P as in dV, dS, and their errors. */
struct row {
    struct expect_row fwd;
    int64_t m;
    double *d_o, *weight, *weight_error, *ds, *ds_error; /* of ds without that of delta */
    double delta, delta_error, lse_error;
};

static void *need(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);

    if (!memory)
        abort();
    return memory;
}

static void start(struct expect_grad *g, const int64_t size[4])
{
    int64_t count = size[0] * size[1] * size[2] * size[3];

    memcpy(g->size, size, sizeof(g->size));
    g->value = need(count, sizeof(double));
    g->error = need(count, sizeof(double));
    g->errors = need(count, sizeof(double));
    g->sizes = need(count, sizeof(double));
    g->squares = need(count, sizeof(double));
    g->met = need(count, sizeof(bool));
}

static int64_t index_of(const struct expect_grad *g, int64_t b, int64_t h, int64_t s, int64_t c)
{
    return ((b * g->size[1] + h) * g->size[2] + s) * g->size[3] + c;
}

/*
 * A summand, its own error, and the size of what is rounded to the tensors' type in it. Small
 * errors of many summands are independent.
 */
static void add(struct expect_grad *g, int64_t at, double part, double error, double rounded)
{
    g->value[at] += part;
    if (error > 0.05 * fabs(part))
        g->error[at] += error;
    else
        g->errors[at] += error * error;
    g->sizes[at] += rounded;
    g->squares[at] += rounded * rounded;
    g->met[at] = true;
}

static void finish(struct expect_grad *g, int dtype, int inner, int64_t summands)
{
    int64_t count = g->size[0] * g->size[1] * g->size[2] * g->size[3], i;

    for (i = 0; i < count; i++)
        g->error[i] += 2 * sqrt(g->errors[i]) +
                       expect_rounding(number_unit(inner), g->sizes[i], g->squares[i]) +
                       expect_sum_error(summands, g->squares[i], g->value[i]) +
                       3 * sqrt((double)summands) * number_least(AOTHIP_F32) + /* each step's */
                       number_unit(dtype) * fabs(g->value[i]) + number_least(dtype);
}

static void make_row(const struct walk *w, int64_t m, struct row *r)
{
    const struct expect_head *x = w->head;
    int64_t keys = x->k.length, dim = w->p->v.size[3], n, c;
    double sizes = 0, squares = 0, least = number_least(w->p->q.dtype), all = 0, all2 = 0;

    memset(r, 0, sizeof(*r));
    r->m = m;
    expect_row_make(x, w->h, m, &r->fwd);
    r->d_o = need(dim, sizeof(double));
    r->weight = need(keys, sizeof(double));
    r->weight_error = need(keys, sizeof(double));
    r->ds = need(keys, sizeof(double));
    r->ds_error = need(keys, sizeof(double));
    if (r->fwd.undefined || r->fwd.blind)
        return;
    for (c = 0; c < dim; c++) {
        double o = r->fwd.o[c];
        r->d_o[c] = number_get(&w->b->d_o, x->q.entry, w->h, x->q.start + m, c);
        sizes += fabs(r->d_o[c] * o);
        squares += r->d_o[c] * o * (r->d_o[c] * o);
        all += fabs(r->d_o[c]);
        all2 += r->d_o[c] * r->d_o[c];
    }
    /* of o as it is stored: numbers of F16 below 2^-14 have equal steps */
    r->delta_error = expect_rounding(number_unit(w->p->q.dtype), sizes, squares) +
                     expect_rounding(least, all, all2) + expect_sum_error(dim, squares, sizes);
    for (c = 0; c < dim; c++)
        r->delta += r->d_o[c] * r->fwd.o[c];
    r->lse_error = UNIT * (4 * fabs(r->fwd.lse) + 4);
    for (n = 0; n < keys; n++) {
        double p = r->fwd.p[n], relative = expm1(fmin(r->fwd.error[n] + r->lse_error, 50));
        double dp = 0, dp_squares = 0, dp_error, flushed = 0;
        if (r->fwd.score[n] == -INFINITY)
            continue;
        for (c = 0; c < dim; c++) {
            double v = x->value[n * dim + c];
            dp += r->d_o[c] * v;
            dp_squares += r->d_o[c] * v * (r->d_o[c] * v);
            if (fabs(v) < x->device.flush || fabs(r->d_o[c]) < x->device.flush)
                flushed += fabs(r->d_o[c] * v);
        }
        dp_error = r->fwd.kept[n] * (expect_sum_error(dim, dp_squares, dp) + flushed);
        dp *= r->fwd.kept[n];
        r->weight[n] = p * r->fwd.kept[n];
        r->weight_error[n] = r->weight[n] * relative + fmin(r->weight[n], x->device.flush) +
                             r->fwd.kept[n] * LEAST_EXP;
        r->ds[n] = p * (dp - r->delta);
        r->ds_error[n] = fabs(r->ds[n]) * relative + LEAST_EXP * fabs(dp - r->delta) +
                         p * (dp_error + 4 * UNIT * (fabs(dp) + fabs(r->delta))) +
                         LEAST_STEPS * (1 + p);
    }
}

static void free_row(struct row *r)
{
    expect_row_free(&r->fwd);
    free(r->d_o);
    free(r->weight);
    free(r->weight_error);
    free(r->ds);
    free(r->ds_error);
}

/* Of keys beyond k_seqs.max, which promises that there are none, dk and dv are not defined. */
static double doubt(const struct walk *w, int64_t n)
{
    return n < place_max_k(w->p) ? 0 : INFINITY;
}

/* The smallest numbers of F16 are coarse: of a factor that is rounded to it, this is lost. */
static double coarse(const struct walk *w, double other)
{
    return w->p->q.dtype == AOTHIP_F16 ? number_least(AOTHIP_F16) * fabs(other) : 0;
}

/* A product with an element of a tensor is lost where the device takes that for 0. */
static double flushed(const struct walk *w, double element, double product)
{
    return fabs(element) < w->head->device.flush ? fabs(product) : 0;
}

/* dq of one row. All its summands have the errors of delta and lse in common. */
static void add_dq(const struct walk *w, const struct row *r)
{
    const struct expect_head *x = w->head;
    int64_t dim = w->p->q.size[3], n, c, at;
    double scale = (double)w->p->scale;

    for (c = 0; c < dim; c++) {
        double shared = 0, sum = 0;
        at = index_of(&w->x->dq, x->q.entry, w->h, x->q.start + r->m, c);
        for (n = 0; n < x->k.length; n++) {
            double ds = r->ds[n] * r->fwd.slope[n], k = scale * x->key[n * dim + c];
            double error = r->ds_error[n] * r->fwd.slope[n] + 8 * UNIT * fabs(r->ds[n]) +
                           fmin(fabs(ds), x->device.flush);
            if (r->fwd.score[n] == -INFINITY)
                continue;
            add(&w->x->dq, at, ds * k,
                error * fabs(k) + coarse(w, k) + flushed(w, x->key[n * dim + c], ds * k),
                fabs(ds * k));
            shared += r->fwd.p[n] * r->fwd.slope[n] * k;
            sum += ds * k;
        }
        w->x->dq.error[at] += r->delta_error * fabs(shared) + r->lse_error * fabs(sum);
        w->x->dq.met[at] = true;
    }
}

static void add_dk_dv(const struct walk *w, const struct row *r)
{
    const struct expect_head *x = w->head;
    int64_t dim_qk = w->p->q.size[3], dim_v = w->p->v.size[3], n, c, entry, row;
    double scale = (double)w->p->scale;

    for (n = 0; n < x->k.length; n++) {
        double ds = r->ds[n] * r->fwd.slope[n];
        double error = (r->ds_error[n] + r->fwd.p[n] * r->delta_error) * r->fwd.slope[n] +
                       8 * UNIT * fabs(r->ds[n]) + fmin(fabs(ds), x->device.flush);
        if (r->fwd.score[n] == -INFINITY)
            continue;
        place_key(w->p, &x->k, x->b, n, &entry, &row);
        for (c = 0; c < dim_qk; c++) {
            double q = scale * r->fwd.q[c];
            add(&w->x->dk, index_of(&w->x->dk, entry, w->key_head, row, c), ds * q,
                error * fabs(q) + coarse(w, q) + flushed(w, r->fwd.q[c], ds * q), fabs(ds * q));
        }
        for (c = 0; c < dim_v; c++)
            add(&w->x->dv, index_of(&w->x->dv, entry, w->key_head, row, c),
                r->weight[n] * r->d_o[c],
                r->weight_error[n] * fabs(r->d_o[c]) + coarse(w, r->d_o[c]) +
                    flushed(w, r->d_o[c], r->weight[n] * r->d_o[c]),
                r->weight[n] * fabs(r->d_o[c]));
    }
}

/*
 * The errors of delta and lse, which all summands of one row have in common. Those of different
 * rows are independent. `shared` is the sum of what P is multiplied by, `sum` that of dS.
 */
static void add_shared(struct expect_grad *g, int64_t at, const struct row *r, double shared,
                       double sum)
{
    double error = r->delta_error * fabs(shared) + r->lse_error * fabs(sum);

    g->errors[at] += error * error;
}

static void add_dbias(const struct walk *w, const struct row *r)
{
    const struct expect_head *x = w->head;
    struct expect_grad *g = &w->x->dbias;
    int64_t n, b = g->size[0] == 1 ? 0 : x->b, h = g->size[1] == 1 ? 0 : w->h;
    int64_t m = g->size[2] == 1 ? 0 : r->m;
    double shared = 0, sum = 0;

    for (n = 0; n < x->k.length; n++) {
        int64_t at = index_of(g, b, h, m, g->size[3] == 1 ? 0 : n);
        add(g, at, r->ds[n], r->ds_error[n], fabs(r->ds[n]));
        shared += r->fwd.p[n];
        sum += r->ds[n];
        if (g->size[3] != 1 || n + 1 == x->k.length) {
            add_shared(g, at, r, shared, sum);
            shared = sum = 0;
        }
    }
}

static void add_scalars(const struct walk *w, const struct row *r)
{
    const struct expect_head *x = w->head;
    double shared = 0, sum = 0;
    int64_t n, at;

    if (w->x->dbias.value)
        add_dbias(w, r);
    if (w->x->dalibi.value) {
        at = index_of(&w->x->dalibi, 0, 0, w->p->alibi_stride ? x->b : 0, w->h);
        for (n = 0; n < x->k.length; n++) {
            double distance = fabs((double)(r->m + x->k.length - x->q.length - n));
            add(&w->x->dalibi, at, -distance * r->ds[n], distance * r->ds_error[n],
                distance * fabs(r->ds[n]));
            shared += distance * r->fwd.p[n];
            sum += distance * r->ds[n];
        }
        add_shared(&w->x->dalibi, at, r, shared, sum);
    }
    if (w->x->dsinks.value && !r->fwd.blind) {
        double p = exp((double)w->p->sinks[w->h] - r->fwd.lse), part = p * r->delta;
        add(&w->x->dsinks, w->h, -part,
            p * r->delta_error + fabs(part) * UNIT * (8 + 4 * fabs(r->fwd.lse)) +
                LEAST_EXP * fabs(r->delta),
            fabs(part));
    }
}

/* Rows of which the header says nothing leave all that sums over them unknown. */
static void spoil(const struct walk *w, int64_t m)
{
    const struct expect_head *x = w->head;
    struct expect_bwd *g = w->x;
    int64_t n, c, i, entry, row;

    for (c = 0; c < g->dq.size[3]; c++)
        add(&g->dq, index_of(&g->dq, x->q.entry, w->h, x->q.start + m, c), 0, INFINITY, 0);
    for (n = 0; n < x->k.length; n++) {
        place_key(w->p, &x->k, x->b, n, &entry, &row);
        for (c = 0; c < g->dk.size[3]; c++)
            add(&g->dk, index_of(&g->dk, entry, w->key_head, row, c), 0, INFINITY, 0);
        for (c = 0; c < g->dv.size[3]; c++)
            add(&g->dv, index_of(&g->dv, entry, w->key_head, row, c), 0, INFINITY, 0);
    }
    if (g->dbias.value)
        for (i = 0; i < g->dbias.size[0] * g->dbias.size[1] * g->dbias.size[2] * g->dbias.size[3];
             i++)
            g->dbias.error[i] = INFINITY;
    if (g->dsinks.value)
        add(&g->dsinks, w->h, 0, INFINITY, 0);
    if (g->dalibi.value)
        add(&g->dalibi, index_of(&g->dalibi, 0, 0, w->p->alibi_stride ? x->b : 0, w->h), 0,
            INFINITY, 0);
}

/*
 * Whether a sequence and key head have NaN or infinity, be it seen or not: then all its gradients
 * may be NaN.
 */
static bool is_spoiled(const struct walk *w)
{
    const struct expect_head *x = w->head;
    const struct aothip_attn_fwd_params *p = w->p;
    int64_t group = p->q.size[1] / p->k.size[1], h, m, n, i;
    double sum = 0;

    for (i = 0; i < x->k.length * p->q.size[3]; i++)
        sum += 0 * x->key[i];
    for (i = 0; i < x->k.length * p->v.size[3]; i++)
        sum += 0 * x->value[i];
    for (h = w->key_head * group; h < (w->key_head + 1) * group; h++)
        for (m = 0; m < x->q.length; m++) {
            for (i = 0; i < p->q.size[3]; i++)
                sum += 0 * number_get(&p->q, x->q.entry, h, x->q.start + m, i);
            for (n = 0; n < x->k.length && p->bias.data; n++) {
                double bias = 0;
                expect_score_input(&p->bias, x->b, h, m, n, &bias);
                sum += isnan(bias) ? NAN : 0;
            }
        }
    return isnan(sum);
}

static void walk_head(const struct walk *w)
{
    const bool spoiled = is_spoiled(w);
    const struct expect_head *x = w->head;
    int64_t m, n, c, entry, row;

    for (n = 0; n < x->k.length; n++) { /* written, though perhaps only with 0 */
        place_key(w->p, &x->k, x->b, n, &entry, &row);
        for (c = 0; c < w->x->dk.size[3]; c++)
            add(&w->x->dk, index_of(&w->x->dk, entry, w->key_head, row, c), 0, doubt(w, n), 0);
        for (c = 0; c < w->x->dv.size[3]; c++)
            add(&w->x->dv, index_of(&w->x->dv, entry, w->key_head, row, c), 0, doubt(w, n), 0);
    }
    for (m = 0; m < x->q.length; m++) {
        struct row r;
        make_row(w, m, &r);
        if (r.fwd.undefined || spoiled) {
            spoil(w, m);
        } else {
            add_dq(w, &r);
            add_dk_dv(w, &r);
            add_scalars(w, &r);
        }
        free_row(&r);
    }
}

static void finish_all(const struct aothip_attn_bwd_params *b, struct expect_bwd *x)
{
    const struct aothip_attn_fwd_params *p = b->fwd;
    int dtype = p->q.dtype;
    int64_t group = p->q.size[1] / p->k.size[1], i, count;

    finish(&x->dq, dtype, dtype, p->k.size[2]);
    finish(&x->dk, dtype, dtype, p->q.size[2] * group);
    finish(&x->dv, dtype, dtype, p->q.size[2] * group);
    if (x->dsinks.value)
        finish(&x->dsinks, AOTHIP_F32, AOTHIP_F32, p->q.size[2] * p->q.size[0]);
    if (x->dalibi.value)
        finish(&x->dalibi, AOTHIP_F32, AOTHIP_F32, p->q.size[2] * p->k.size[2]);
    if (!x->dbias.value)
        return;
    count = x->dbias.size[0] * x->dbias.size[1] * x->dbias.size[2] * x->dbias.size[3];
    for (i = 0; i < count; i++)
        if (!x->dbias.met[i]) /* no sequence reaches it */
            x->dbias.error[i] = INFINITY;
    finish(&x->dbias, p->bias.dtype, AOTHIP_F32, p->q.size[2] * p->k.size[2]);
}

void expect_bwd_make(const struct aothip_attn_bwd_params *b, struct expect_device device,
                     struct expect_bwd *x)
{
    const struct aothip_attn_fwd_params *p = b->fwd;
    int64_t heads = p->q.size[1], group = p->k.size[1] ? heads / p->k.size[1] : 1, i, h;
    int64_t sequences = place_sequences(p);

    memset(x, 0, sizeof(*x));
    start(&x->dq, p->q.size);
    start(&x->dk, p->k.size);
    start(&x->dv, p->v.size);
    if (p->bias.data)
        start(&x->dbias, p->bias.size);
    if (p->sinks)
        start(&x->dsinks, (int64_t[]){1, 1, 1, heads});
    if (p->alibi_slopes)
        start(&x->dalibi, (int64_t[]){1, 1, p->alibi_stride ? sequences : 1, heads});
    for (i = 0; i < heads; i++) { /* written even where no row contributes */
        if (p->sinks)
            x->dsinks.met[i] = true;
        for (h = 0; h < x->dalibi.size[2]; h++)
            x->dalibi.met[index_of(&x->dalibi, 0, 0, h, i)] = true;
    }
    for (i = 0; i < sequences; i++)
        for (h = 0; h < heads; h++) {
            struct expect_head head;
            struct walk w = {b, p, &head, x, h, h / group};
            expect_head_make(p, device, i, h / group, &head);
            walk_head(&w);
            expect_head_free(&head);
        }
    finish_all(b, x);
}

static void drop(struct expect_grad *g)
{
    free(g->value);
    free(g->error);
    free(g->errors);
    free(g->sizes);
    free(g->squares);
    free(g->met);
}

void expect_bwd_free(struct expect_bwd *x)
{
    drop(&x->dq);
    drop(&x->dk);
    drop(&x->dv);
    drop(&x->dbias);
    drop(&x->dsinks);
    drop(&x->dalibi);
}
