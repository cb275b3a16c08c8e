/*
 * Small gradients, as without loss scaling, in the arithmetic of the hardware: gfx90a takes
 * subnormal f16 operands of its matrix instructions for 0 (emulator, mode "hw"). Gradients of dO
 * down to the smallest f16, of long sequences, whose weights are small, and of large inputs, which
 * must not overflow for it. Forward, keys that have little weight, but are many. gfx942, which
 * reads subnormals, shows that the problems are sound.
 */
#include "each_gpu.h"
#include "problem.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

#define SHAPE(g, sq, sk, dim)                                                                      \
    .dtype = AOTHIP_F16, .batch = 1, .heads_k = 1, .group = (g), .seq_q = (sq), .seq_k = (sk),     \
    .dim_qk = (dim), .dim_v = (dim)

static const struct {
    const char *name;
    struct test_case c;
} cases[] = {
    {"head dim 64", {SHAPE(2, 70, 150, 64)}},
    {"head dim 128", {SHAPE(1, 70, 150, 128), .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT}},
    {"head dim 128 of grouped heads", {SHAPE(3, 40, 70, 128)}},
    {"odd head dim, with bias and sinks", {SHAPE(2, 40, 70, 63), .bias = FULL, .sinks = true}},
    {"head dim 256, with slopes and dropout",
     {SHAPE(1, 40, 70, 256), .alibi = ALIBI_HEAD, .dropout = DROPOUT_VALUE}},
    {"large inputs", {SHAPE(1, 70, 150, 64), .values = LARGE}},
    {"large inputs of head dim 128", {SHAPE(1, 70, 150, 128), .values = LARGE}},
    {"large inputs of head dim 256", {SHAPE(1, 40, 70, 256), .values = LARGE}},
    {"a broadcast bias of head dim 128", {SHAPE(1, 40, 70, 128), .bias = PER_ROW}},
    {"a broadcast bias", {SHAPE(2, 40, 70, 64), .bias = PER_KEY, .bias_f32 = true}},
};

static const int exponents[] = {-16, -24, -8, 6};

static void test_cases(const struct device *device, struct aothip_context *context, unsigned count)
{
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int bad = 0;

        for (unsigned j = 0; j < count; j++) {
            struct test_case c = cases[i].c;

            c.scale = 1 / sqrt(c.dim_qk);
            c.seed = 40 + j;
            c.d_o_exponent = exponents[j];
            if (!problem_check_bwd(device, context, &c)) {
                tap_diag("dO of about 2^%d", exponents[j]);
                bad++;
            }
        }
        is_int(bad, 0, cases[i].name);
    }
}

/* Each of 20000 keys has a weight below 2^-14, of dO that is small and that is not. */
static void test_long(const struct device *device, struct aothip_context *context)
{
    struct test_case c = {SHAPE(1, 40, 20000, 64), .scale = 1e-3, .seed = 7};
    bool good = problem_check_bwd(device, context, &c);

    c.d_o_exponent = -16;
    good &= problem_check_bwd(device, context, &c);
    ok(good, "20000 keys of equal weight");
}

/*
 * Forward: the first key has a score that is 10 larger than those of all others, so their weights
 * are 2^-14.4 of its. They alone have values.
 */
static void test_tail(const struct device *device, struct aothip_context *context)
{
    static const int shapes[][2] = {{64, 40}, {128, 40}, {63, 40}, {256, 40}, {64, 1}};
    int bad = 0;

    for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        const int dim = shapes[i][0], rows = shapes[i][1], keys = 20000;
        struct test_case c = {SHAPE(1, rows, keys, dim), .scale = 1.0 / 8, .seed = 2};
        const double tail = (keys - 1) * exp(-10), want = tail / (1 + tail);
        struct status why = {0};
        struct problem p;

        problem_make(&c, &p);
        for (int64_t n = 0; n < keys; n++)
            for (int d = 0; d < dim; d++) {
                ref_store(p.fwd.q.data, n < rows ? n * dim + d : 0, AOTHIP_F16, 1);
                ref_store(p.fwd.k.data, n * dim + d, AOTHIP_F16, n || d >= 16 ? 0 : 5);
                ref_store(p.fwd.v.data, n * dim + d, AOTHIP_F16, n ? 1 : 0);
            }
        if (attn_fwd(device, context, &p.fwd, &why)) {
            tap_diag("%s", why.text);
            bad++;
        }
        for (int64_t at = 0; at < rows * dim && !why.code; at++) {
            double got = ref_load(p.fwd.o.data, at, AOTHIP_F16);
            if (fabs(got - want) <= 0x1p-9 * want)
                continue;
            tap_diag("head dim %d, %d rows: %g not %g", dim, rows, got, want);
            bad++;
            break;
        }
        problem_free(&p);
    }
    is_int(bad, 0, "forward: 19999 keys of small weight");
}

static int visit(const struct device *device, struct aothip_context *context, void *unused)
{
    const bool flushes = strncmp(device->properties.target, "gfx90a", 6) == 0;

    (void)unused;
    tap_diag("%s", device->properties.target);
    test_cases(device, context, flushes ? sizeof(exponents) / sizeof(*exponents) : 1);
    if (flushes)
        test_long(device, context);
    test_tail(device, context);
    return 0;
}

int main(void)
{
    int result;

    setenv("AOTHIP_EMU_MODE", "plain", 0);
    setenv("AOTHIP_EMU_MATRIX", "hw", 1);
    result = each_gpu(TAP_SANITIZED ? "gfx942" : "gfx90a,gfx942", 1, visit, NULL);
    return result ? result : tap_done();
}
