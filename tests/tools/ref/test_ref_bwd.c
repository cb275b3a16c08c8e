/*
 * The reference's gradients against central differences of its forward pass, feature by feature,
 * and their tolerance against the plain backward's neighbours.
 */
#include "ref.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>

enum { B = 2, HQ = 4, HK = 2, SQ = 4, SK = 6, D = 3, DV = 2, MOST = B * HQ * SQ * SK };

static uint64_t seed;

/* Uniform on [-1, 1]. */
static float noise(void)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (float)((double)(int64_t)(seed >> 11) / 0x1p52 - 1);
}

/* A problem with everything in static memory; features are switched on by filling in fields. */
struct sample {
    struct aothip_attn_fwd_params f;
    struct aothip_attn_bwd_params b;
    float q[MOST], k[MOST], v[MOST], o[MOST], lse[MOST], d_o[MOST], bias[MOST];
    float dq[MOST], dk[MOST], dv[MOST], dbias[MOST];
    float slopes[B * HQ], sinks[HQ], dslopes[B * HQ], dsinks[HQ];
    unsigned char keep[MOST];
};

static struct aothip_tensor view(void *data, int dtype, int64_t b, int64_t h, int64_t s, int64_t d)
{
    return (struct aothip_tensor){data, {b, h, s, d}, {h * s * d, s * d, d, 1}, dtype};
}

static void start(struct sample *s)
{
    int i;

    memset(s, 0, sizeof(*s));
    seed = 5;
    for (i = 0; i < MOST; i++) {
        s->q[i] = noise(), s->k[i] = noise(), s->v[i] = noise();
        s->d_o[i] = noise(), s->bias[i] = noise();
        s->keep[i] = noise() > -0.5F;
    }
    for (i = 0; i < B * HQ; i++)
        s->slopes[i] = 0.1F + fabsf(noise()) / 2;
    for (i = 0; i < HQ; i++)
        s->sinks[i] = noise();
    s->f = (struct aothip_attn_fwd_params){
        .struct_size = sizeof(s->f),
        .q = view(s->q, AOTHIP_F32, B, HQ, SQ, D),
        .k = view(s->k, AOTHIP_F32, B, HK, SK, D),
        .v = view(s->v, AOTHIP_F32, B, HK, SK, DV),
        .o = view(s->o, AOTHIP_F32, B, HQ, SQ, DV),
        .lse = s->lse,
        .scale = 1.5F,
    };
    s->b = (struct aothip_attn_bwd_params){
        .struct_size = sizeof(s->b),
        .fwd = &s->f,
        .d_o = view(s->d_o, AOTHIP_F32, B, HQ, SQ, DV),
        .dq = view(s->dq, AOTHIP_F32, B, HQ, SQ, D),
        .dk = view(s->dk, AOTHIP_F32, B, HK, SK, D),
        .dv = view(s->dv, AOTHIP_F32, B, HK, SK, DV),
    };
}

/* sum(o * d_o) */
static double loss(const struct sample *s)
{
    struct ref_fwd a;
    double sum = 0;
    int64_t at[4], i = 0;

    if (ref_attn_fwd(&s->f, REF_SUBNORMALS_KEPT, &a))
        return NAN;
    for (at[0] = 0; at[0] < a.size[0]; at[0]++)
        for (at[1] = 0; at[1] < a.size[1]; at[1]++)
            for (at[2] = 0; at[2] < a.size[2]; at[2]++)
                for (at[3] = 0; at[3] < a.size[3]; at[3]++, i++)
                    if (a.o_allowed[i] >= 0)
                        sum += a.o[i] *
                               (double)s->d_o[ref_offset(&s->b.d_o, at[0], at[1], at[2], at[3])];
    ref_free(&a);
    return sum;
}

/* How many of the gradient's elements are off the central difference by more than 1e-4. */
static int differ(struct sample *s, const struct ref_grad *g, float *x)
{
    const float step = 0x1p-9F;
    int64_t count = g->size[0] * g->size[1] * g->size[2] * g->size[3], i;
    int wrong = 0;

    for (i = 0; i < count; i++) {
        float saved = x[i], up = saved + step, down = saved - step;
        double high, slope;
        if (g->allowed[i] < 0)
            continue;
        x[i] = up;
        high = loss(s);
        x[i] = down;
        slope = (high - loss(s)) / ((double)up - (double)down);
        x[i] = saved;
        if (fabs(slope - g->value[i]) <= 1e-4 * fmax(1, fabs(slope)))
            continue;
        tap_diag("element %lld: %.9g, by differences %.9g", (long long)i, g->value[i], slope);
        wrong++;
    }
    return wrong;
}

/* All gradients of the sample, under one name. */
static void test(struct sample *s, const char *name)
{
    struct ref_bwd a;
    int wrong;

    if (!ok(!ref_attn_bwd(&s->b, REF_SUBNORMALS_KEPT, &a), "%s: solved", name))
        return;
    wrong = differ(s, &a.dq, s->q) + differ(s, &a.dk, s->k) + differ(s, &a.dv, s->v);
    if (a.dbias.value)
        wrong += differ(s, &a.dbias, s->bias);
    if (a.dsinks.value)
        wrong += differ(s, &a.dsinks, s->sinks);
    if (a.dalibi.value)
        wrong += differ(s, &a.dalibi, s->slopes);
    is_int(wrong, 0, name);
    ref_free_bwd(&a);
}

static void test_masks(struct sample *s)
{
    static const char *const names[] = {
        "no mask",         "causal top left",     "causal bottom right",
        "window top left", "window bottom right", "window mixed"};
    int mask;

    for (mask = 0; mask <= AOTHIP_MASK_WINDOW_MIXED; mask++) {
        start(s);
        s->f.mask = mask;
        s->f.window_left = 1;
        s->f.window_right = 1;
        test(s, names[mask]);
    }
    start(s);
    s->f.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    s->f.k = view(s->k, AOTHIP_F32, B, HK, 2, D);
    s->f.v = view(s->v, AOTHIP_F32, B, HK, 2, DV);
    s->b.dk = view(s->dk, AOTHIP_F32, B, HK, 2, D);
    s->b.dv = view(s->dv, AOTHIP_F32, B, HK, 2, DV);
    test(s, "more queries than keys: rows that see none");
}

static void test_scores(struct sample *s)
{
    static const int64_t shapes[][4] = {
        {B, HQ, SQ, SK}, {1, HQ, SQ, SK}, {B, 1, SQ, SK}, {1, 1, SQ, 1}, {B, 1, 1, SK}};
    unsigned i;

    for (i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        const int64_t *n = shapes[i];
        start(s);
        s->f.bias = view(s->bias, AOTHIP_F32, n[0], n[1], n[2], n[3]);
        s->b.dbias = view(s->dbias, AOTHIP_F32, n[0], n[1], n[2], n[3]);
        s->f.mask = (int)i % 3;
        test(s, "bias, also broadcast");
    }
    start(s);
    s->f.keep = view(s->keep, AOTHIP_BOOL, B, HQ, SQ, SK);
    memset(s->keep + SK, 0, SK);
    test(s, "boolean mask with a row of zeros");
    start(s);
    s->f.softcap = 0.8F;
    test(s, "soft-cap");
    start(s);
    s->f.alibi_slopes = s->slopes;
    s->f.alibi_stride = HQ;
    s->b.dalibi = s->dslopes;
    test(s, "ALiBi by batch and head");
    s->f.alibi_stride = 0;
    test(s, "ALiBi by head");
    start(s);
    s->f.sinks = s->sinks;
    s->b.dsinks = s->dsinks;
    test(s, "sinks");
    start(s);
    s->f.dropout_p = 0.4F;
    s->f.dropout_seed = 7;
    test(s, "dropout");
}

static void test_everything(struct sample *s)
{
    start(s);
    s->f.bias = view(s->bias, AOTHIP_F32, B, HQ, SQ, SK);
    s->b.dbias = view(s->dbias, AOTHIP_F32, B, HQ, SQ, SK);
    s->f.keep = view(s->keep, AOTHIP_BOOL, B, HQ, SQ, SK);
    s->f.softcap = 1.2F;
    s->f.alibi_slopes = s->slopes;
    s->f.alibi_stride = HQ;
    s->b.dalibi = s->dslopes;
    s->f.sinks = s->sinks;
    s->b.dsinks = s->dsinks;
    s->f.dropout_p = 0.3F;
    s->f.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    s->f.scale = -0.7F;
    test(s, "everything at once, negative scale");
}

/* Two sequences in one tensor, of 3 and 1 queries and 2 and 4 keys. */
static void test_sequences(struct sample *s)
{
    static const int32_t q_from[] = {0, 3, 4}, k_from[] = {0, 2, 6};
    struct ref_bwd a;
    int64_t i, rest = 0;

    start(s);
    s->f.q = view(s->q, AOTHIP_F32, 1, HQ, SQ + 1, D);
    s->f.o = view(s->o, AOTHIP_F32, 1, HQ, SQ + 1, DV);
    s->f.k = view(s->k, AOTHIP_F32, 1, HK, SK, D);
    s->f.v = view(s->v, AOTHIP_F32, 1, HK, SK, DV);
    s->b.d_o = view(s->d_o, AOTHIP_F32, 1, HQ, SQ + 1, DV);
    s->b.dq = view(s->dq, AOTHIP_F32, 1, HQ, SQ + 1, D);
    s->b.dk = view(s->dk, AOTHIP_F32, 1, HK, SK, D);
    s->b.dv = view(s->dv, AOTHIP_F32, 1, HK, SK, DV);
    s->f.sequences = 2;
    s->f.q_seqs = (struct aothip_seqs){.cumulative = q_from, .packed = 1, .max = 3};
    s->f.k_seqs = (struct aothip_seqs){.cumulative = k_from, .packed = 1, .max = 4};
    s->f.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    test(s, "packed sequences");
    if (!ref_attn_bwd(&s->b, REF_SUBNORMALS_KEPT, &a)) {
        for (i = 0; i < HQ * (SQ + 1) * D; i++)
            rest += a.dq.allowed[i] < 0;
        is_int(rest, HQ * D, "the row of no sequence is marked");
        ref_free_bwd(&a);
    }
}

/* The tolerance admits its own values rounded, and neither a missing row nor a wrong factor. */
static void test_tolerance(struct sample *s)
{
    struct ref_verdict v;
    struct ref_bwd a;
    int64_t i, count = B * HQ * SQ * D;

    start(s);
    s->f.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    ok(!ref_attn_bwd(&s->b, REF_SUBNORMALS_KEPT, &a), "tolerance: solved");
    for (i = 0; i < count; i++)
        s->dq[i] = (float)a.dq.value[i];
    v = ref_judge_grad(&a.dq, &s->b.dq);
    ok(v.wrong == 0, "dq rounded to float passes");
    s->dq[13] *= 1.001F;
    v = ref_judge_grad(&a.dq, &s->b.dq);
    ok(v.wrong == 1, "one element off by 0.1 %% is found");
    memset(s->dq, REF_POISON, sizeof(s->dq));
    v = ref_judge_grad(&a.dq, &s->b.dq);
    ok(v.wrong == count, "what was never written is wrong");
    ref_free_bwd(&a);
}

int main(void)
{
    static struct sample s;

    test_masks(&s);
    test_scores(&s);
    test_everything(&s);
    test_sequences(&s);
    test_tolerance(&s);
    return tap_done();
}
