/* Judges o, lse, probs, caches, gradients, and that nothing else was written. */
#include "judge.h"

#include "number.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* "A result may be off by twice what a plain attention is off by, a gradient by four times." */
enum { RESULT = 2, GRADIENT = 4 };

struct bench {
    struct scene *s;
    struct verdict *v;
    int times; /* a plain attention's error */
};

static __attribute__((format(printf, 2, 3))) void blame(struct bench *j, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    if (!j->v->wrong++)
        vsnprintf(j->v->text, sizeof(j->v->text), format, list);
    va_end(list);
}

/* An element and what is known of it. */
struct element {
    struct block *block;
    const char *name;
    int dtype;
    int64_t at; /* in its view */
    int64_t place[4];
    double wanted, error;
    enum expect_kind kind;
};

static bool agrees(struct bench *j, const struct element *e, double got, double allowed)
{
    double off = fabs(got - e->wanted);

    if (e->kind == EXPECT_ANYTHING || isinf(e->error))
        return true;
    if (e->kind == EXPECT_NONFINITE || isnan(e->wanted))
        return !isfinite(got);
    if (isinf(e->wanted))
        return got == e->wanted;
    if (isinf(got)) /* a plain attention overflows as well */
        return fabs(e->wanted) + allowed >= number_most(e->dtype) &&
               (got * e->wanted > 0 || allowed >= number_most(e->dtype));
    if (off > 0 && allowed > 0)
        j->v->most = fmax(j->v->most, off / allowed);
    return off <= allowed;
}

static void check(struct bench *j, const struct element *e)
{
    size_t size = number_size(e->dtype), from = e->block->shift + size * (size_t)e->at;
    double allowed = j->times * e->error, got;

    memset(e->block->owned + from, 1, size);
    got = number_load(e->block->after + e->block->shift, e->at, e->dtype);
    if (!agrees(j, e, got, allowed))
        blame(j, "%s: (%lld, %lld, %lld, %lld) is %.9g, not %.9g%s, give or take %.3g", e->name,
              (long long)e->place[0], (long long)e->place[1], (long long)e->place[2],
              (long long)e->place[3], got, e->wanted,
              e->kind == EXPECT_NONFINITE ? " but not finite" : "", allowed);
}

static void check_row(struct bench *j, const struct expect_head *x, int64_t h, int64_t m)
{
    const struct aothip_attn_fwd_params *p = &j->s->here.fwd;
    int64_t c, room = p->lse_size ? p->lse_size : place_lse_count(p);
    struct expect_row r;
    struct element e = {.place = {x->b, h, m, 0}};

    expect_row_make(x, h, m, &r);
    e.block = scene_block(j->s, &p->o.data);
    e.name = "o";
    e.dtype = p->o.dtype;
    for (c = 0; c < p->o.size[3]; c++) {
        e.at = number_at(&p->o, x->q.entry, h, x->q.start + m, c);
        e.place[3] = c;
        e.wanted = r.o[c];
        e.error = r.o_error[c];
        e.kind = r.o_kind[c];
        check(j, &e);
    }
    e.block = scene_block(j->s, &p->lse);
    e.at = p->lse ? place_lse(p, &x->q, x->b, h, m) : 0;
    if (p->lse && e.at < room && m < place_max_q(p)) {
        double unit = p->lse_base2 ? M_LOG2E : 1;
        e.name = "lse";
        e.dtype = AOTHIP_F32;
        e.place[3] = 0;
        e.wanted = unit * r.lse;
        e.error = unit * r.lse_error + (p->lse_base2 ? 0x1p-23 * fabs(e.wanted) : 0);
        e.kind = r.undefined ? EXPECT_ANYTHING : r.nan ? EXPECT_NONFINITE : EXPECT_NUMBER;
        check(j, &e);
    }
    expect_row_free(&r);
}

/* What probs says of one element. */
static void expect_prob(const struct expect_head *x, const struct expect_row *r, int64_t h,
                        int64_t m, int64_t n, struct element *e)
{
    const struct aothip_attn_fwd_params *p = x->p;
    bool kept = p->dropout_p > 0 ? expect_kept(p, x->b, h, m, n) : true;
    double factor = p->dropout_p > 0 ? 1 / (1 - (double)p->dropout_p) : 1;
    double doubt = 1.5e-7 * (fabs(r->lse) + 1) + r->lse_error;

    e->kind = EXPECT_NUMBER;
    e->wanted = kept ? 0.5 : -0.5;
    e->error = 0;
    if (!p->probs_dropped)
        return;
    e->wanted = (kept ? factor : -factor) * r->p[n];
    e->error = number_unit(e->dtype) * fabs(e->wanted) + number_least(e->dtype) +
               factor * (r->p_error[n] + r->p[n] * (expm1(fmin(doubt, 50)) + 1e-6) + 0x1p-126);
    if (r->undefined || r->nan || isinf(factor) || doubt > 1)
        e->kind = EXPECT_ANYTHING;
}

static void check_probs(struct bench *j, const struct expect_head *x, int64_t h)
{
    const struct aothip_attn_fwd_params *p = &j->s->here.fwd;
    struct element e = {.name = "probs", .dtype = p->probs.dtype};
    int64_t m, n;

    e.block = scene_block(j->s, &p->probs.data);
    for (m = 0; m < x->q.length && m < p->probs.size[2]; m++) {
        struct expect_row r;
        expect_row_make(x, h, m, &r);
        for (n = 0; n < x->k.length && n < p->probs.size[3]; n++) {
            e.at = number_at(&p->probs, x->b, h, m, n);
            memcpy(e.place, (int64_t[]){x->b, h, m, n}, sizeof(e.place));
            expect_prob(x, &r, h, m, n, &e);
            if (m >= place_max_q(p))
                e.kind = EXPECT_ANYTHING;
            check(j, &e);
        }
        expect_row_free(&r);
    }
}

/* The new rows in the caches; those that were turned are rounded once. */
static void check_caches(struct bench *j, const struct expect_head *x, int64_t key_head)
{
    const struct aothip_attn_fwd_params *p = &j->s->here.fwd;
    int64_t n, c, entry, row;
    int which;

    for (which = 0; which < 2; which++) {
        const struct aothip_tensor *t = which ? &p->v : &p->k;
        struct element e = {.name = which ? "v" : "k", .dtype = t->dtype};
        e.block = scene_block(j->s, &t->data);
        for (n = x->k.old; n < x->k.stored; n++) {
            if (!place_key(p, &x->k, x->b, n, &entry, &row))
                continue;
            for (c = 0; c < t->size[3]; c++) {
                e.wanted = expect_key(x, which, key_head, n, c);
                e.at = number_at(t, entry, key_head, row, c);
                memcpy(e.place, (int64_t[]){x->b, key_head, n, c}, sizeof(e.place));
                e.error = which || !p->rotary_cos || c >= p->rotary_dim
                              ? 0
                              : number_unit(e.dtype) * fabs(e.wanted) + 4e-6;
                check(j, &e);
            }
        }
    }
}

/* Whatever its elements may be, only they were to be written. */
static void excuse(struct bench *j, const void *slot, const struct aothip_tensor *t)
{
    struct block *x = scene_block(j->s, slot);
    int64_t b, h, r, c;
    size_t size;

    if (!x || !x->owned)
        return;
    if (!t) {
        memset(x->owned, 1, x->bytes);
        return;
    }
    size = number_size(t->dtype);
    for (b = 0; b < t->size[0]; b++)
        for (h = 0; h < t->size[1]; h++)
            for (r = 0; r < t->size[2]; r++)
                for (c = 0; c < t->size[3]; c++)
                    memset(x->owned + x->shift + size * (size_t)number_at(t, b, h, r, c), 1, size);
}

static void check_states(struct bench *j)
{
    const struct aothip_attn_fwd_params *p = &j->s->here.fwd;
    struct block *out[2] = {scene_block(j->s, &p->dropout_seed_output),
                            scene_block(j->s, &p->dropout_offset_output)};
    uint64_t wanted[2] = {p->dropout_seed, p->dropout_offset}, got;
    int i;

    for (i = 0; i < 2 && out[0]; i++) {
        wanted[i] += i ? *p->dropout_offset_pointer : *p->dropout_seed_pointer;
        memcpy(&got, out[i]->after, sizeof(got));
        memset(out[i]->owned, 1, out[i]->bytes);
        if (got != wanted[i] && number_span(&p->q) && place_sequences(p))
            blame(j, "%s: is %llu, not %llu", out[i]->name, (unsigned long long)got,
                  (unsigned long long)wanted[i]);
    }
}

static void check_strays(struct bench *j)
{
    int i;

    for (i = 0; i < j->s->count; i++) {
        const struct block *x = &j->s->blocks[i];
        size_t at, first = 0, count = 0;
        for (at = 0; x->after && at < x->bytes; at++)
            if (!x->owned[at] && x->after[at] != x->before[at] && !count++)
                first = at;
        if (count)
            blame(j, "stray: %s: %zu bytes were written that are nobody's, the first is %zu of %zu",
                  x->name, count, first, x->bytes);
    }
}

static void judge_fwd(struct bench *j)
{
    const struct aothip_attn_fwd_params *p = &j->s->here.fwd;
    int64_t group = p->k.size[1] ? p->q.size[1] / p->k.size[1] : 1, b, h, m;

    for (b = 0; b < place_sequences(p); b++)
        for (h = 0; h < p->q.size[1]; h++) {
            struct expect_head x;
            expect_head_make(p, stage_device(j->s->d), b, h / group, &x);
            for (m = 0; m < x.q.length && j->s->d->op == OP_FWD; m++)
                check_row(j, &x, h, m);
            if (p->probs.data)
                check_probs(j, &x, h);
            if (p->k_new.data && h % group == 0)
                check_caches(j, &x, h / group);
            expect_head_free(&x);
        }
    check_states(j);
}

static void check_grad(struct bench *j, const char *name, const struct expect_grad *g,
                       const void *slot, const struct aothip_tensor *t)
{
    struct element e = {.name = name, .block = scene_block(j->s, slot), .dtype = t->dtype};
    int64_t i, at[4], *size = (int64_t *)(uintptr_t)g->size;

    for (i = 0; e.block && i < size[0] * size[1] * size[2] * size[3]; i++) {
        at[3] = i % size[3];
        at[2] = i / size[3] % size[2];
        at[1] = i / size[3] / size[2] % size[1];
        at[0] = i / size[3] / size[2] / size[1];
        if (!g->met[i] && !isinf(g->error[i]))
            continue;
        e.at = number_at(t, at[0], at[1], at[2], at[3]);
        memcpy(e.place, at, sizeof(at));
        e.wanted = g->value[i];
        e.error = g->error[i];
        check(j, &e);
    }
}

static void judge_bwd(struct bench *j)
{
    const struct aothip_attn_bwd_params *b = &j->s->here.bwd;
    const struct aothip_attn_fwd_params *p = &j->s->here.fwd;
    struct aothip_tensor floats = {.size = {1, 1, 2, 2}, .dtype = AOTHIP_F32};
    struct aothip_attn_bwd_params own = *b;
    struct expect_bwd x;

    own.fwd = p;
    expect_bwd_make(&own, stage_device(j->s->d), &x);
    check_grad(j, "dq", &x.dq, &b->dq.data, &b->dq);
    check_grad(j, "dk", &x.dk, &b->dk.data, &b->dk);
    check_grad(j, "dv", &x.dv, &b->dv.data, &b->dv);
    if (p->bias.data)
        check_grad(j, "dbias", &x.dbias, &b->dbias.data, &b->dbias);
    floats.stride[2] = p->alibi_stride;
    floats.stride[3] = 1;
    if (p->sinks)
        check_grad(j, "dsinks", &x.dsinks, &b->dsinks, &floats);
    if (p->alibi_slopes)
        check_grad(j, "dalibi", &x.dalibi, &b->dalibi, &floats);
    excuse(j, &b->delta, NULL);
    expect_bwd_free(&x);
}

/* Where the arrays on the device are nonsense, results are: but each stays in its tensor. */
static void excuse_all(struct bench *j)
{
    const struct aothip_attn_fwd_params *p = &j->s->here.fwd;
    const struct aothip_attn_bwd_params *b = &j->s->here.bwd;

    excuse(j, &p->o.data, &p->o);
    excuse(j, &p->lse, NULL);
    excuse(j, &p->probs.data, &p->probs);
    excuse(j, &p->k.data, &p->k);
    excuse(j, &p->v.data, &p->v);
    excuse(j, &b->dq.data, &b->dq);
    excuse(j, &b->dk.data, &b->dk);
    excuse(j, &b->dv.data, &b->dv);
    excuse(j, &b->dbias.data, &b->dbias);
    excuse(j, &b->dsinks, NULL);
    excuse(j, &b->dalibi, NULL);
    excuse(j, &b->delta, NULL);
    check_states(j);
}

void judge(struct scene *s, struct verdict *v)
{
    struct bench j = {s, v, s->d->op == OP_BWD ? GRADIENT : RESULT};

    *v = (struct verdict){0};
    if (s->d->lie_q == LIE_GARBAGE || s->d->lie_k == LIE_GARBAGE)
        excuse_all(&j);
    else if (s->d->op == OP_BWD)
        judge_bwd(&j);
    else
        judge_fwd(&j);
    check_strays(&j);
}
