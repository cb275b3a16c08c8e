/* Runs test problems on a device and judges what came back. */
#include "problem.h"

#include "tap.h"

#include <stdio.h>
#include <stdlib.h>

void problem_describe(const struct test_case *c)
{
    static const char *const types[] = {"?", "f32", "f16", "bf16"};
    static const char *const layouts[] = {"bhsd",     "bshd",     "qkv",      "odd rows",
                                          "odd base", "one head", "one batch"};
    static const char *const values[] = {"normal", "uniform", "positive",
                                         "rising", "large",   "tiny"};
    static const char *const masks[] = {"none",      "causal tl", "causal br",
                                        "window tl", "window br", "window mixed"};
    static const char *const seqs[] = {"dense", "compact", "padded", "strided", "used k"};
    static const char *const caches[] = {"none",   "pages",  "index",
                                         "append", "rotary", "rotary pairs"};

    tap_diag("  %s, batch %d, heads %d/%d, seq %d x %d, dim %d/%d, %s, %s, scale %g, seed %llu",
             types[c->dtype], c->batch, c->heads_k * c->group, c->heads_k, c->seq_q, c->seq_k,
             c->dim_qk, c->dim_v, layouts[c->layout], values[c->values], c->scale,
             (unsigned long long)c->seed);
    tap_diag("  mask %s (%d, %d), %s%s, lse %s %d%s, bias %d%s%s holes %d, keep %d, alibi %d, "
             "softcap %g, sinks %d, dropout %d, probs %d, cache %s page %d, splits %d, "
             "dO 2^%d, fp8 %d%s scales %d",
             masks[c->mask], c->left, c->right, seqs[c->seqs], c->index64 ? " 64-bit" : "",
             c->no_lse ? "no" : "layout", c->lse_layout, c->lse_base2 ? " base 2" : "", c->bias,
             c->bias_f32 ? " f32" : "", c->bias_odd ? " odd" : "", c->holes, c->keep, c->alibi,
             (double)c->softcap, c->sinks, c->dropout, c->probs, caches[c->cache], c->page,
             c->splits, c->d_o_exponent, c->fp8, c->fp8_q ? " q" : "", c->scales);
}

static bool report(const char *name, const struct ref_verdict *v, int64_t strays)
{
    if (!v->wrong && !strays)
        return true;
    tap_diag("%s: %lld wrong, worst (%lld, %lld, %lld, %lld) is %g not %g, error %.3g of %.3g; "
             "%lld strays",
             name, (long long)v->wrong, (long long)v->at[0], (long long)v->at[1],
             (long long)v->at[2], (long long)v->at[3], v->got, v->expected, v->error, v->allowed,
             (long long)strays);
    return false;
}

static bool judge_state(const struct problem *p)
{
    const struct aothip_attn_fwd_params *f = &p->fwd;

    if (!f->dropout_seed_output ||
        (p->state_outputs[0] == f->dropout_seed + *f->dropout_seed_pointer &&
         p->state_outputs[1] == f->dropout_offset + *f->dropout_offset_pointer))
        return true;
    tap_diag("dropout's seed or offset output is wrong");
    return false;
}

bool problem_judge_fwd(const struct problem *p, const char *target)
{
    struct aothip_attn_fwd_params f = p->fwd;
    struct ref_verdict v;
    struct ref_fwd a;
    bool good;

    if (p->k_before.data) {
        f.k = p->k_before;
        f.v = p->v_before;
    }
    if (ref_attn_fwd(&f, ref_subnormals_of(target), &a))
        abort();
    v = ref_judge_o(&a, &f.o);
    good = report("o", &v, ref_strays_o(&a, &f.o));
    if (f.lse) {
        v = ref_judge_lse(&a, f.lse);
        good &= report("lse", &v, ref_strays_lse(&a, f.lse, ref_lse_count(&f)));
    }
    ref_free(&a);
    if (f.probs.data) {
        v = ref_judge_probs(&f);
        good &= report("probs", &v, 0);
    }
    if (p->k_before.data) {
        v = ref_judge_append(&f, &p->fwd.k, &p->fwd.v);
        good &= report("caches", &v, 0);
    }
    return judge_state(p) && good;
}

/* dsinks and dalibi as tensors. */
static struct aothip_tensor floats(float *data, const struct ref_grad *g, int64_t stride)
{
    struct aothip_tensor t = {.data = data, .dtype = AOTHIP_F32};

    memcpy(t.size, g->size, sizeof(t.size));
    t.stride[2] = stride;
    t.stride[3] = 1;
    return t;
}

static bool judge_grad(const char *name, const struct ref_grad *g, const struct aothip_tensor *t)
{
    struct ref_verdict v;

    if (!g->value)
        return true;
    v = ref_judge_grad(g, t);
    return report(name, &v, ref_strays_grad(g, t));
}

bool problem_judge_bwd(const struct problem *p, const char *target)
{
    const struct aothip_attn_bwd_params *b = &p->bwd;
    struct aothip_tensor dsinks, dalibi;
    struct ref_verdict v;
    struct ref_bwd a;
    bool good;

    if (ref_attn_bwd(b, ref_subnormals_of(target), &a))
        abort();
    dsinks = floats(b->dsinks, &a.dsinks, 0);
    dalibi = floats(b->dalibi, &a.dalibi, p->fwd.alibi_stride);
    good = judge_grad("dq", &a.dq, &b->dq);
    good &= judge_grad("dk", &a.dk, &b->dk);
    good &= judge_grad("dv", &a.dv, &b->dv);
    good &= judge_grad("dsinks", &a.dsinks, &dsinks);
    good &= judge_grad("dalibi", &a.dalibi, &dalibi);
    if (a.dbias.value) { /* entries outside all sequences may be anything */
        v = ref_judge_grad(&a.dbias, &b->dbias);
        good &= report("dbias", &v, 0);
    }
    ref_free_bwd(&a);
    return good;
}

bool problem_check_fwd(const struct device *device, struct aothip_context *context,
                       const struct test_case *c)
{
    struct status why = {0};
    struct problem p;
    bool good;

    problem_make(c, &p);
    if (attn_fwd(device, context, &p.fwd, &why))
        tap_diag("%s", why.text);
    good = !why.code && problem_judge_fwd(&p, device->properties.target);
    if (!good)
        problem_describe(c);
    problem_free(&p);
    return good;
}

bool problem_check_bwd(const struct device *device, struct aothip_context *context,
                       const struct test_case *c)
{
    struct status why = {0};
    struct problem p;
    bool good;

    problem_make(c, &p);
    problem_make_bwd(&p);
    if (attn_bwd(device, context, &p.bwd, &why))
        tap_diag("%s", why.text);
    good = !why.code && problem_judge_bwd(&p, device->properties.target);
    if (!good)
        problem_describe(c);
    problem_free(&p);
    return good;
}

size_t problem_workspace_bwd(const struct device *device, struct aothip_context *context,
                             const struct test_case *c)
{
    struct problem p;
    size_t bytes = 0;

    problem_make(c, &p);
    problem_make_bwd(&p);
    if (aothip_attn_bwd_workspace(context, &p.bwd, device->stream, &bytes))
        tap_diag("%s", aothip_last_error());
    problem_free(&p);
    return bytes;
}
