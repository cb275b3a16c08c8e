/*
 * K and V of FP8 with queries of 16 bits, on every GPU, and with queries of the same type where the
 * GPU multiplies it: every code of the types, and every feature that attention has.
 *
 *     test_attn_fp8 [GPU]
 */
#include "each_gpu.h"
#include "gpus.h"
#include "problem.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE(t, b, hk, g, sq, sk, dqk, dv)                                                        \
    .dtype = AOTHIP_##t, .batch = (b), .heads_k = (hk), .group = (g), .seq_q = (sq),               \
    .seq_k = (sk), .dim_qk = (dqk), .dim_v = (dv)

struct fp8_case {
    const char *name;
    struct test_case c;
};

static const int types[] = {AOTHIP_FP8_E4M3, AOTHIP_FP8_E5M2, AOTHIP_FP8_E4M3_FNUZ,
                            AOTHIP_FP8_E5M2_FNUZ};
static const char *const names[] = {"E4M3", "E5M2", "E4M3 FNUZ", "E5M2 FNUZ"};
enum { TYPES = sizeof(types) / sizeof(types[0]), CODES = 256 };

/*
 * Row m sees key m alone: o is its value and lse its score, which is the channel of k that q's only
 * 1 picks, or the other way round, and all channels of v have the key's code.
 */
static void make_codes(struct problem *p)
{
    const int64_t dims = p->fwd.q.size[3];
    const bool of_q = p->c->fp8_q;
    const struct aothip_tensor *ones = of_q ? &p->fwd.k : &p->fwd.q;
    const struct aothip_tensor *codes = of_q ? &p->fwd.q : &p->fwd.k;
    int64_t n, d;

    for (n = 0; n < CODES; n++)
        for (d = 0; d < dims; d++) {
            const int64_t at = n * dims + d;
            ref_store(ones->data, at, ones->dtype, d == n % dims);
            ((uint8_t *)codes->data)[at] = d == n % dims ? (uint8_t)n : 0;
            ((uint8_t *)p->fwd.v.data)[at] = (uint8_t)n;
        }
}

/* Whether a result is the number; the matrix unit may take f16 subnormals for 0. */
static bool is_code(double got, double want, bool flushed)
{
    if (isinf(want)) /* what becomes of a row that sees it is not defined */
        return true;
    return isnan(want) ? isnan(got) : got == want || (flushed && fabs(want) < 0x1p-14 && got == 0);
}

/* The score of a code that is the only one of its row: some kernels have it in units of ln 2. */
static bool is_score(double got, double want, bool flushed)
{
    return is_code(got, want, flushed) || fabs(got - want) <= 1e-6 * (1 + fabs(want));
}

static int wrong_codes(const struct problem *p, bool flushed)
{
    const struct aothip_attn_fwd_params *f = &p->fwd;
    const struct aothip_tensor *codes = p->c->fp8_q ? &f->q : &f->k;
    const double scale = f->k_scale.data ? (double)*f->k_scale.data : 1;
    const double scale_q = f->q_scale.data ? (double)*f->q_scale.data : 1;
    const double factor = f->v_scale.data ? (double)*f->v_scale.data : 1;
    int64_t n, d;
    int wrong = 0;

    for (n = 0; n < CODES; n++) {
        const double k = ref_load(codes->data, n * f->k.size[3] + n % f->k.size[3], f->k.dtype);
        const double v = ref_load(f->v.data, n * f->v.size[3], f->v.dtype);
        wrong += !is_score((double)f->lse[n], k * scale * scale_q, flushed);
        for (d = 0; d < f->o.size[3] && !isnan(k); d++)
            wrong += !is_code(ref_load(f->o.data, n * f->o.size[3] + d, f->o.dtype),
                              ref_round(v * factor, f->o.dtype), flushed);
    }
    return wrong;
}

/* Whether q may be of a type, too. */
static bool is_own(const struct device *device, int type)
{
    const int own = gpus_fp8(device->properties.target);
    return own && (type == own || type == own + 1);
}

/* `splits` chooses the kernel: one walks over all keys, the other shares them out. */
static void test_codes(const struct device *device, struct aothip_context *context, int splits,
                       bool of_q)
{
    static const int dims[] = {128, 64, 24, 256, 200};
    static float scales[3] = {-0.25F, 2, -0.5F};
    bool flushed = ref_subnormals_of(device->properties.target) == REF_SUBNORMALS_FLUSHED;

    for (int i = 0; i < 2 * 2 * TYPES; i++) { /* first of the largest, or smallest, fast kernel */
        const int dim = i < 2 * TYPES ? dims[i / TYPES] : dims[(i + splits) % 5];
        struct test_case c = {SHAPE(F16, 1, 1, 1, CODES, CODES, dim, dim),
                              .fp8 = types[i % TYPES],
                              .fp8_q = of_q,
                              .scale = 1,
                              .splits = splits,
                              .mask = AOTHIP_MASK_WINDOW_TOP_LEFT};
        struct status why = {0};
        struct problem p;
        if (of_q && !is_own(device, c.fp8))
            continue;
        c.dtype = i / TYPES % 2 ? AOTHIP_BF16 : AOTHIP_F16;
        problem_make(&c, &p);
        make_codes(&p);
        if (i % 2) {
            p.fwd.k_scale.data = &scales[0];
            p.fwd.v_scale.data = &scales[1];
            p.fwd.q_scale.data = of_q ? &scales[2] : NULL;
        }
        if (attn_fwd(device, context, &p.fwd, &why))
            tap_diag("%s", why.text);
        ok(!why.code && wrong_codes(&p, flushed && c.dtype == AOTHIP_F16) == 0,
           "%s: all codes of %s%s, %s, dim %d, splits %d", device->properties.target,
           names[i % TYPES], of_q ? " in q" : "", c.dtype == AOTHIP_BF16 ? "bf16" : "f16", dim,
           splits);
        problem_free(&p);
    }
}

/* clang-format off */
static const struct fp8_case cases[] = {
    {"no scales", {SHAPE(F16, 2, 2, 1, 70, 150, 128, 128)}},
    {"a scale", {SHAPE(BF16, 2, 2, 2, 40, 90, 64, 64), .scales = SCALES_ONE,
                 .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"a scale a head, decoding", {SHAPE(F16, 2, 3, 4, 1, 700, 128, 128), .scales = SCALES_HEAD}},
    {"a scale a sequence and head, split",
     {SHAPE(BF16, 3, 2, 2, 5, 700, 128, 96), .scales = SCALES_BATCH, .splits = 3,
      .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"scales of packed sequences",
     {SHAPE(F16, 4, 2, 2, 40, 90, 80, 80), .seqs = COMPACT, .scales = SCALES_BATCH,
      .lse_layout = AOTHIP_LSE_HEADS}},
    {"pages", {SHAPE(F16, 3, 2, 2, 4, 130, 128, 128), .seqs = USED_K, .cache = PAGES, .page = 16,
               .scales = SCALES_HEAD, .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"pages, split", {SHAPE(BF16, 3, 1, 5, 2, 600, 128, 128), .seqs = USED_K, .cache = PAGES,
                      .page = 64, .scales = SCALES_BATCH, .splits = 4}},
    {"40 rows a key head, split",
     {SHAPE(F16, 2, 2, 4, 10, 400, 128, 128), .scales = SCALES_BATCH, .splits = 3,
      .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"20 rows a key head, split",
     {SHAPE(F16, 2, 2, 4, 5, 400, 128, 104), .scales = SCALES_BATCH, .splits = 3,
      .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"40 rows, pages, split",
     {SHAPE(BF16, 2, 1, 8, 5, 300, 64, 64), .seqs = USED_K, .cache = PAGES, .page = 16,
      .scales = SCALES_HEAD, .splits = 2, .scale = -0.3}},
    {"a batch index", {SHAPE(BF16, 3, 2, 1, 20, 50, 64, 64), .cache = INDEX,
                       .scales = SCALES_BATCH}},
    {"rows of odd stride, windows",
     {SHAPE(F16, 2, 2, 2, 50, 90, 99, 127), .layout = ODD_ROWS, .scales = SCALES_ONE,
      .mask = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, .left = 20, .right = 3}},
    {"odd addresses, split", {SHAPE(F16, 1, 2, 2, 3, 300, 72, 40), .layout = ODD_BASE, .splits = 2,
                              .scales = SCALES_HEAD}},
    {"short rows", {SHAPE(BF16, 1, 2, 1, 20, 50, 3, 1), .scales = SCALES_HEAD}},
    {"short rows, split", {SHAPE(F16, 1, 2, 1, 2, 300, 5, 2), .scales = SCALES_HEAD, .splits = 2}},
    {"256 channels", {SHAPE(F16, 1, 1, 2, 40, 90, 256, 192), .scales = SCALES_ONE, .bias = FULL}},
    {"512 channels", {SHAPE(BF16, 1, 1, 2, 20, 50, 320, 512), .scales = SCALES_ONE}},
    {"512 channels, split", {SHAPE(F16, 1, 1, 2, 2, 300, 512, 400), .scales = SCALES_ONE,
                             .splits = 3}},
    {"256 channels, split", {SHAPE(BF16, 1, 1, 2, 2, 300, 200, 256), .scales = SCALES_HEAD,
                             .splits = 3, .alibi = ALIBI_HEAD}},
    {"terms and dropout", {SHAPE(F16, 2, 2, 2, 40, 70, 64, 64), .bias = FULL, .keep = PER_BATCH,
                           .alibi = ALIBI_BATCH, .softcap = 5, .sinks = true,
                           .dropout = DROPOUT_POINTER, .scales = SCALES_BATCH}},
    {"terms and dropout, split",
     {SHAPE(BF16, 2, 2, 2, 4, 300, 64, 64), .bias = FULL, .keep = PER_BATCH, .alibi = ALIBI_BATCH,
      .softcap = 5, .sinks = true, .dropout = DROPOUT_VALUE, .scales = SCALES_BATCH,
      .splits = 2}},
    {"the signs of dropout", {SHAPE(F16, 1, 2, 1, 20, 40, 64, 64), .dropout = DROPOUT_VALUE,
                              .probs = PROBS_MASK}},
    {"a running maximum", {SHAPE(F16, 1, 1, 1, 40, 300, 64, 64), .values = RISING,
                           .scales = SCALES_ONE}},
    {"a negative scale of scores", {SHAPE(BF16, 1, 1, 2, 40, 70, 64, 64), .scale = -0.3,
                                    .scales = SCALES_HEAD, .lse_base2 = 1}},
    {"new rows, scales", {SHAPE(F16, 3, 2, 2, 3, 60, 64, 64), .cache = APPEND,
                          .scales = SCALES_BATCH, .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"new rows", {SHAPE(BF16, 2, 2, 1, 3, 40, 40, 24), .cache = APPEND}},
    {"new rows, scales of powers of two",
     {SHAPE(F16, 2, 1, 2, 3, 40, 64, 64), .cache = APPEND, .scales = SCALES_ONE}},
    {"rotation", {SHAPE(BF16, 2, 2, 2, 3, 60, 64, 64), .cache = ROTARY, .scales = SCALES_HEAD,
                  .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"rotation of pairs, split", {SHAPE(F16, 2, 2, 2, 3, 600, 64, 64), .cache = ROTARY_PAIRS,
                                  .scales = SCALES_HEAD, .splits = 2}},
    {"no keys", {SHAPE(F16, 2, 1, 2, 20, 0, 64, 64), .scales = SCALES_ONE}},
    {"prefill of pages", {SHAPE(BF16, 2, 2, 2, 150, 300, 128, 128), .seqs = USED_K, .cache = PAGES,
                          .page = 16, .scales = SCALES_BATCH,
                          .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"prefill of pages, 64 channels",
     {SHAPE(F16, 2, 1, 3, 140, 260, 64, 56), .seqs = USED_K, .cache = PAGES, .page = 32,
      .scales = SCALES_HEAD, .mask = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, .left = 90, .right = 7}},
    {"prefill", {SHAPE(BF16, 1, 2, 2, 200, 500, 128, 112), .scales = SCALES_HEAD,
                 .mask = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, .left = 250, .right = 0}},
    {"prefill, 64 channels", {SHAPE(F16, 2, 2, 1, 150, 290, 64, 64), .scales = SCALES_BATCH,
                              .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"prefill, 256 channels", {SHAPE(BF16, 1, 2, 2, 150, 290, 256, 256), .scales = SCALES_BATCH,
                               .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"prefill of pages, 192 channels",
     {SHAPE(F16, 2, 1, 2, 100, 260, 192, 128), .seqs = USED_K, .cache = PAGES, .page = 16,
      .scales = SCALES_HEAD, .mask = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, .left = 90, .right = 7}},
    {"256 channels, a negative scale", {SHAPE(F16, 1, 2, 1, 70, 130, 240, 160), .scale = -0.2,
                                        .scales = SCALES_HEAD, .sinks = true}},
    {"40 rows of 256 channels, split",
     {SHAPE(BF16, 2, 2, 4, 10, 400, 256, 256), .scales = SCALES_BATCH, .splits = 3,
      .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"20 rows of 192 channels, pages, split",
     {SHAPE(F16, 2, 1, 4, 5, 300, 192, 176), .seqs = USED_K, .cache = PAGES, .page = 32,
      .scales = SCALES_HEAD, .splits = 2}},
    {"soft-cap", {SHAPE(BF16, 2, 2, 2, 130, 200, 128, 128), .softcap = 3, .scales = SCALES_BATCH,
                  .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"soft-cap, pages, 256 channels",
     {SHAPE(F16, 2, 1, 2, 70, 200, 256, 256), .seqs = USED_K, .cache = PAGES, .page = 16,
      .softcap = 3, .scales = SCALES_BATCH, .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"slopes", {SHAPE(F16, 2, 2, 2, 130, 200, 128, 96), .alibi = ALIBI_HEAD,
                .scales = SCALES_HEAD, .scale = -0.1}},
    {"slopes, 256 channels", {SHAPE(BF16, 1, 2, 2, 70, 200, 200, 256), .alibi = ALIBI_BATCH,
                              .scales = SCALES_HEAD}},
    {"bias, 128 channels", {SHAPE(BF16, 1, 2, 1, 100, 140, 120, 128), .bias = FULL,
                            .holes = ROWS_INFINITE, .scales = SCALES_HEAD}},
    {"a mask, pages", {SHAPE(BF16, 2, 2, 1, 100, 140, 128, 128), .seqs = USED_K, .cache = PAGES,
                       .page = 16, .keep = FULL, .scales = SCALES_BATCH}},
    {"a mask of keys, 256 channels",
     {SHAPE(BF16, 2, 2, 1, 100, 140, 256, 256), .keep = PER_BATCH, .scales = SCALES_BATCH}},
    {"terms and dropout, 128 channels",
     {SHAPE(BF16, 2, 2, 2, 80, 150, 128, 128), .bias = FULL, .keep = PER_BATCH,
      .alibi = ALIBI_BATCH, .softcap = 5, .sinks = true, .dropout = DROPOUT_POINTER,
      .scales = SCALES_BATCH}},
    {"terms and dropout, 256 channels",
     {SHAPE(F16, 2, 1, 2, 40, 150, 256, 256), .bias = FULL, .keep = PER_ROW,
      .alibi = ALIBI_BATCH, .softcap = 5, .sinks = true, .dropout = DROPOUT_VALUE,
      .scales = SCALES_BATCH}},
    {"scores that rise, 128 channels", {SHAPE(BF16, 1, 1, 1, 40, 300, 128, 128),
                                        .values = RISING, .softcap = 50, .scales = SCALES_ONE}},
    {"scores that rise, 256 channels", {SHAPE(F16, 1, 1, 1, 40, 300, 256, 256),
                                        .values = RISING, .scales = SCALES_ONE}},
};
/* clang-format on */

static void test_cases(const struct device *device, struct aothip_context *context)
{
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct test_case c = cases[i].c;
        c.fp8 = types[i % TYPES];
        c.seed = 100 + i;
        if (c.scale == 0)
            c.scale = 1 / sqrt(c.dim_qk);
        /* RDNA 3 has no kernel for that */
        if (!strncmp(device->properties.target, "gfx11", 5) && c.dim_v > 256 && c.splits < 2)
            continue;
        ok(problem_check_fwd(device, context, &c), "%s: %s", device->properties.target,
           cases[i].name);
        c.fp8 = gpus_fp8(device->properties.target) + (int)i % 2;
        c.fp8_q = is_own(device, c.fp8) && c.cache < APPEND; /* which wants q of 16 bits */
        if (c.fp8_q)
            ok(problem_check_fwd(device, context, &c), "%s: %s, q, too", device->properties.target,
               cases[i].name);
    }
}

/* Probabilities themselves are not written: no kernel reads keys of FP8 for them. */
static void test_refusals(const struct device *device, struct aothip_context *context)
{
    struct test_case c = {SHAPE(F16, 1, 2, 1, 20, 40, 64, 64), .scale = 1, .fp8 = types[0],
                          .dropout = DROPOUT_VALUE, .probs = PROBS_DROPPED};
    struct status why = {0};
    struct problem p;

    problem_make(&c, &p);
    is_int(attn_fwd(device, context, &p.fwd, &why), AOTHIP_E_UNSUPPORTED, "no probabilities");
    contains(why.text, "probs_dropped: k and v are FP8", "and why");
    problem_free(&p);
}

/* q of FP8 on a GPU that cannot multiply it. */
static void test_foreign_q(const struct device *device, struct aothip_context *context)
{
    for (unsigned i = 0; i < TYPES; i++) {
        struct test_case c = {SHAPE(F16, 1, 2, 1, 20, 40, 64, 64), .scale = 1, .fp8 = types[i],
                              .fp8_q = true};
        struct status why = {0};
        struct problem p;

        if (is_own(device, c.fp8))
            continue;
        problem_make(&c, &p);
        is_int(attn_fwd(device, context, &p.fwd, &why), AOTHIP_E_UNSUPPORTED, "no such products");
        contains(why.text, "has no matrix instructions for FP8_E", "and why");
        problem_free(&p);
    }
}

static int test(const struct device *device, struct aothip_context *context, void *with)
{
    (void)with;
    for (int splits = 1; splits <= 2; splits++) {
        test_codes(device, context, splits, false);
        test_codes(device, context, splits, true);
    }
    test_cases(device, context);
    test_refusals(device, context);
    test_foreign_q(device, context);
    return 0;
}

int main(int argc, char **argv)
{
    setenv("AOTHIP_EMU_MODE", "strict", 0);
    const int result =
        each_gpu(argc > 1 ? argv[1] : gpus_asked(GPUS_EVERY), TAP_SANITIZED ? 4 : 1, test, NULL);
    return result ? result : tap_done();
}
