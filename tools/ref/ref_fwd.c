/* Forward attention in double precision, the plain one, and the tolerance between them. */
#include "ref_problem.h"
#include "ref_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Called with every row of a problem, in order. `row` counts the rows of o: (batch, head, row). */
typedef void visit_row(const struct ref_problem *p, struct ref_head *h, int64_t m, int64_t row,
                       void *user);

static int visit_rows(const struct ref_problem *p, visit_row *visit, void *user)
{
    const int64_t *size = p->params->q.size;
    struct ref_seq seq;
    struct ref_head h;
    int64_t b, hq, m;

    if (ref_head_new(p, &h))
        return -1;
    for (b = 0; b < p->batch; b++) {
        ref_problem_seq(p, b, &seq);
        for (hq = 0; hq < p->heads_q && seq.rows; hq++) {
            int64_t first = (seq.q_entry * size[1] + hq) * size[2] + seq.q_start;
            ref_head_read(p, &seq, hq, &h);
            for (m = 0; m < seq.rows; m++) {
                ref_head_row(p, &h, m);
                visit(p, &h, m, first + m, user);
            }
        }
    }
    ref_head_free(&h);
    return 0;
}

/* That of o; who does not say it means that of q. */
static int o_type(const struct ref_problem *p)
{
    return p->params->o.dtype ? p->params->o.dtype : p->params->q.dtype;
}

/*
 * Rounding makes two kinds of independent errors in the weights: P is off by up to half a unit of
 * the I/O type, a uniform error with the standard deviation u / sqrt(3), u = 2^-bits, of which this
 * is twice; and, relevant in float only, so are the scores, see allow().
 */
static double weight_error(const struct ref_problem *p, const struct ref_head *h)
{
    return 2 / sqrt(3) * ref_half_ulp(1, p->params->q.dtype) +
           ref_problem_score_units(p) * ref_half_ulp(h->scale, AOTHIP_F32);
}

/* What a channel of v does to a row where it is not finite; see ref.h. */
static enum ref_kind channel_kind(const struct ref_problem *p, const struct ref_head *h, int64_t d)
{
    enum ref_kind kind = REF_FINITE;
    int64_t n;

    for (n = 0; n < h->seq.seq_k; n++) {
        double v = h->v[n * p->dim_v + d];
        if (isfinite(v) || n < h->lo || n >= h->hi || h->s[n] == -INFINITY)
            continue;
        if (isnan(v) && h->kept[n] && h->p[n] > 1e-3)
            return REF_NAN;
        kind = REF_INFINITE;
    }
    return kind;
}

static void settle(enum ref_kind kind, double *value, double *allowed)
{
    if (kind == REF_NAN) {
        *value = NAN;
        *allowed = 0;
    } else if (kind == REF_INFINITE) {
        *allowed = INFINITY;
    }
}

/* Where NaN and infinity are about, errors mean nothing. */
static void settle_row(const struct ref_problem *p, const struct ref_head *h, double *o,
                       double *o_allowed, double *lse, double *lse_allowed)
{
    int64_t n, d;
    int dirty = 0;

    for (n = 0; n < h->seq.seq_k; n++)
        dirty |= h->v_kind[n];
    for (d = 0; d < p->dim_v; d++)
        settle(h->kind || !dirty ? h->kind : channel_kind(p, h, d), &o[d], &o_allowed[d]);
    settle(h->kind, lse, lse_allowed);
}

/* While the answer is made. */
struct making {
    struct ref_fwd *answer;
    double *spread;         /* (dim_v): sum of (p v)^2 of a row */
    signed char *group;     /* of each row */
    unsigned char *special; /* of each row: NaN or infinity may be about */
};

static double lse_unit(const struct ref_problem *p)
{
    return p->params->lse_base2 ? 1 / log(2) : 1;
}

static void exact_row(const struct ref_problem *p, struct ref_head *h, int64_t m, int64_t row,
                      void *user)
{
    struct making *making = user;
    struct ref_fwd *a = making->answer;
    double *o = a->o + row * p->dim_v, *allowed = a->o_allowed + row * p->dim_v;
    double factor = ref_dropout_scale(p), error = weight_error(p, h);
    int64_t n, d;

    memset(o, 0, (size_t)p->dim_v * sizeof(*o));
    memset(making->spread, 0, (size_t)p->dim_v * sizeof(double));
    for (n = h->lo; n < h->hi && h->seen; n++) {
        double weight = h->p[n] / h->sum * factor;
        if (!h->kept[n] || h->s[n] == -INFINITY)
            continue;
        ref_add_parts(o, making->spread, weight, h->v + n * p->dim_v, p->dim_v);
    }
    for (d = 0; d < p->dim_v; d++)
        allowed[d] = error * sqrt(making->spread[d]);
    a->lse[row] = h->lse * lse_unit(p);
    a->lse_allowed[row] = h->scale;
    a->lse_at[row] = ref_problem_lse_at(p, &h->seq, h->h, m);
    making->group[row] = (signed char)ref_group(h->seen);
    for (n = 0; n < h->seq.seq_k; n++)
        making->special[row] |= h->v_kind[n];
    making->special[row] |= h->kind;
    if (making->special[row])
        settle_row(p, h, o, allowed, &a->lse[row], &a->lse_allowed[row]);
}

struct plain {
    double *o, *lse;
};

static void plain_row(const struct ref_problem *p, struct ref_head *h, int64_t m, int64_t row,
                      void *user)
{
    const struct plain *plain = user;
    double factor = ref_dropout_scale(p), *o;
    int64_t n, d;

    (void)m;
    if (plain->lse)
        plain->lse[row] = ref_narrow(p, h->lse * lse_unit(p));
    if (!plain->o)
        return;
    o = plain->o + row * p->dim_v;
    memset(o, 0, (size_t)p->dim_v * sizeof(*o));
    for (n = h->lo; n < h->hi && h->seen; n++) {
        if (h->kept[n] && h->s[n] > -INFINITY)
            ref_add_products(o, ref_problem_operand(p, h->p[n]), h->v + n * p->dim_v, p->dim_v,
                             true);
    }
    for (d = 0; d < p->dim_v; d++)
        o[d] = ref_round(h->seen ? ref_narrow(p, ref_narrow(p, o[d] / h->sum) * factor) : 0,
                         o_type(p));
}

int ref_plain_fwd(const struct aothip_attn_fwd_params *params, enum ref_subnormals subnormals,
                  double *o, double *lse)
{
    struct plain plain = {o, lse};
    struct ref_problem p;

    if (ref_problem_open(params, REF_PLAIN, subnormals, &p))
        return -1;
    return visit_rows(&p, plain_row, &plain);
}

/*
 * Fills in the allowances. On entry o_allowed holds, per element, two standard deviations of the
 * error that rounding the weights makes, and lse_allowed the magnitude that scores and lse are
 * computed at. The former is a floor under the plain attention's own error, which may be small by
 * luck where a tensor has few elements. The latter grants lse eight units in the last place of a
 * float: a GPU takes the way over log2, where magnitudes are 1.44 times larger, its log2 and exp2
 * are off by one unit each, two products and a sum are rounded, and so is the sum whose logarithm
 * it is. The scores, too, may be summed up in any order and truncated instead of rounded:
 * sqrt(dim_qk) halves of a unit more.
 */
static void allow(const struct ref_problem *p, const struct making *making, const double *plain_o,
                  const double *plain_lse)
{
    struct ref_fwd *a = making->answer;
    int64_t rows = a->size[0] * a->size[1] * a->size[2], row, d;
    double worst_o[REF_GROUPS] = {0}, worst_lse[REF_GROUPS] = {0};
    int pass;

    for (pass = 0; pass < 2; pass++)
        for (row = 0; row < rows; row++) {
            int group = making->group[row];
            double floor_lse = ref_problem_score_units(p) * lse_unit(p) *
                               ref_half_ulp(a->lse_allowed[row], AOTHIP_F32);
            if (making->special[row] || a->lse_allowed[row] < 0)
                continue;
            if (group < 0) {
                if (pass == 1)
                    a->lse_allowed[row] = isinf(a->lse[row]) ? 0 : floor_lse;
                continue;
            }
            for (d = row * p->dim_v; d < (row + 1) * p->dim_v; d++)
                if (pass == 0)
                    worst_o[group] =
                        fmax(worst_o[group], fmax(a->o_allowed[d], fabs(plain_o[d] - a->o[d])));
                else
                    a->o_allowed[d] = 2 * worst_o[group] + ref_half_ulp(a->o[d], o_type(p));
            if (pass == 0)
                worst_lse[group] = fmax(worst_lse[group], fabs(plain_lse[row] - a->lse[row]));
            else
                a->lse_allowed[row] = 2 * worst_lse[group] + floor_lse;
        }
}

/*
 * Rows with NaN or infinity about do not take part in the above, and have allowances of their own:
 * those of exact_row() for what stays finite there, so widened that any correct sum passes.
 */
static void allow_special(const struct ref_problem *p, const struct making *making)
{
    struct ref_fwd *a = making->answer;
    int64_t rows = a->size[0] * a->size[1] * a->size[2], row, d;

    for (row = 0; row < rows; row++) {
        if (!making->special[row])
            continue;
        for (d = row * p->dim_v; d < (row + 1) * p->dim_v; d++)
            a->o_allowed[d] = 4 * a->o_allowed[d] + 2 * ref_half_ulp(a->o[d], o_type(p));
        a->lse_allowed[row] *= 4 * ref_problem_score_units(p) * ref_half_ulp(1, AOTHIP_F32);
    }
}

static int new_answer(const struct ref_problem *p, struct making *making)
{
    const int64_t *size = p->params->q.size;
    struct ref_fwd *a = making->answer;
    int64_t rows = size[0] * size[1] * size[2], i;

    *a = (struct ref_fwd){.size = {size[0], size[1], size[2], p->dim_v}};
    if (size[0] * size[1] > INT32_MAX)
        return -1;
    a->o = ref_new_doubles(rows, p->dim_v);
    a->o_allowed = ref_new_doubles(rows, p->dim_v);
    a->lse = ref_new_doubles(rows, 1);
    a->lse_allowed = ref_new_doubles(rows, 1);
    a->lse_at = (int64_t *)ref_new_doubles(rows, 1);
    making->spread = ref_new_doubles(p->dim_v, 1);
    making->group = calloc((size_t)rows + 1, 1);
    making->special = calloc((size_t)rows + 1, 1);
    if (!a->o || !a->o_allowed || !a->lse || !a->lse_allowed || !a->lse_at || !making->spread ||
        !making->group || !making->special)
        return -1;
    for (i = 0; i < rows; i++) {
        a->lse_allowed[i] = -1;
        a->lse_at[i] = -1;
    }
    for (i = 0; i < rows * p->dim_v; i++)
        a->o_allowed[i] = -1;
    return 0;
}

void ref_free(struct ref_fwd *answer)
{
    free(answer->o);
    free(answer->lse);
    free(answer->o_allowed);
    free(answer->lse_allowed);
    free(answer->lse_at);
    memset(answer, 0, sizeof(*answer));
}

int ref_attn_fwd(const struct aothip_attn_fwd_params *params, enum ref_subnormals subnormals,
                 struct ref_fwd *answer)
{
    struct making making = {.answer = answer};
    struct ref_problem p;
    double *o = NULL, *lse = NULL;
    int64_t rows;
    int failed;

    memset(answer, 0, sizeof(*answer));
    if (ref_problem_open(params, REF_EXACT, REF_SUBNORMALS_KEPT, &p))
        return -1;
    failed = new_answer(&p, &making) || visit_rows(&p, exact_row, &making);
    if (!failed) {
        rows = answer->size[0] * answer->size[1] * answer->size[2];
        o = ref_new_doubles(rows, p.dim_v);
        lse = ref_new_doubles(rows, 1);
        failed = !o || !lse || ref_plain_fwd(params, subnormals, o, lse);
    }
    if (failed) {
        ref_free(answer);
    } else {
        allow(&p, &making, o, lse);
        allow_special(&p, &making);
    }
    free(o);
    free(lse);
    free(making.spread);
    free(making.group);
    free(making.special);
    return failed ? -1 : 0;
}
