/*
 * Scores as large as f32 holds: the result is finite, and right, as long as they are. Keys are unit
 * vectors, so that the scores are elements of q times the scale, exactly; several keys share the
 * largest score of a row, and its lse says nothing of how many. Also the gradients, and P as a
 * matrix.
 */
#include "problem_maker.h"

#include <math.h>

enum { DIM_MOST = 128 };

static const struct device *gpu;
static struct aothip_context *images;
static int type;

/* Which kernel computes it. */
enum way { WAY_FAST, WAY_ODD, WAY_SCORE, WAY_SPLIT, WAY_SPLIT_ROWS, WAY_TEAM, WAYS };
static const char *const way_names[] = {"fast", "odd", "score", "split", "split, many rows",
                                        "team"};

/* Element s of q is one of -3 .. 3 times 2^exponent; `below`: one of -7 .. -1. */
static void fill_q(struct maker *m, int exponent, bool below)
{
    const struct aothip_tensor *q = &m->p.q;
    for (int64_t row = 0; row < q->size[1] * q->size[2]; row++)
        for (int64_t d = 0; d < q->size[3]; d++) {
            const int x = (int)((maker_uniform() + 1) * 3.5) - 3 - 4 * below;
            ref_store(q->data, row * q->stride[2] + d, q->dtype, ldexp(x, exponent));
        }
}

/* Key n is 2^exponent times the unit vector of channel n % dim. */
static void fill_k(struct maker *m, int exponent)
{
    const struct aothip_tensor *k = &m->p.k;
    for (int64_t n = 0; n < k->size[2]; n++)
        for (int64_t d = 0; d < k->size[3]; d++)
            ref_store(k->data, n * k->stride[2] + d, k->dtype,
                      n % k->size[3] == d ? ldexp(1, exponent) : 0);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Scores of about 2^exponent; k and then the scale have as much of it as q cannot hold. */
static struct maker make(enum way way, int dim, int queries, int keys, int exponent, bool below)
{
    const int most = type == AOTHIP_F16 ? 13 : 40;
    const int of_q = smaller(exponent, most), of_k = smaller(exponent - of_q, most);
    struct maker m = {.odd = way == WAY_ODD};
    maker_begin(&m, type, (struct maker_shape){1, 2, 1, queries, keys, dim, dim});
    m.p.scale = (float)ldexp(1, exponent - of_q - of_k);
    fill_q(&m, of_q, below);
    fill_k(&m, of_k);
    m.p.splits = way == WAY_SPLIT || way == WAY_SPLIT_ROWS ? 3 : 1;
    if (way == WAY_SCORE) { /* of zeros: the scores stay exact */
        m.p.bias = maker_blank(&m, type, 1, 1, 1, keys);
        memset(m.p.bias.data, 0, (size_t)keys * maker_size(type));
    }
    return m;
}

static double score_of(const struct maker *m, int64_t h, int64_t row, int64_t n)
{
    const struct aothip_tensor *q = &m->p.q, *k = &m->p.k;
    const int64_t d = n % k->size[3];
    return (double)m->p.scale *
           ref_load(q->data, h * q->stride[1] + row * q->stride[2] + d, q->dtype) *
           ref_load(k->data, n * k->stride[2] + d, k->dtype);
}

/*
 * The reference grants an error in proportion to the scores. But these differ by thousands or not
 * at all: a row of o is the mean of V over the keys that share its largest score.
 */
static bool means_of_largest(const struct maker *m, const char *name)
{
    const struct aothip_tensor *q = &m->p.q, *v = &m->p.v, *o = &m->p.o;
    const double allowed = type == AOTHIP_F32 ? 0x1p-18 : type == AOTHIP_F16 ? 0x1p-9 : 0x1p-6;
    const int64_t keys = v->size[2];
    double score[512]; /* of a row */
    if (keys > 512)
        abort();
    for (int64_t row = 0; row < q->size[1] * q->size[2]; row++) {
        const int64_t h = row / q->size[2], i = row % q->size[2];
        const struct ref_interval seen = ref_visible(&m->p, i, q->size[2], keys);
        double largest = -INFINITY;
        for (int64_t n = seen.lo; n < seen.hi; n++)
            largest = fmax(largest, score[n] = score_of(m, h, i, n));
        for (int64_t d = 0; d < v->size[3]; d++) {
            double sum = 0, got = ref_load(o->data, row * o->stride[2] + d, type);
            int count = 0;
            for (int64_t n = seen.lo; n < seen.hi; n++)
                if (score[n] == largest) {
                    sum += ref_load(v->data, n * v->stride[2] + d, type);
                    count++;
                }
            if (!(fabs(got - sum / count) <= allowed)) {
                tap_diag("%s: row %d of head %d is %g, not the mean %g of %d keys", name, (int)i,
                         (int)h, got, sum / count, count);
                return false;
            }
        }
    }
    return true;
}

static const int exponents[] = {10, 18, 21, 26, 31, 77, 124};
enum { EXPONENTS = sizeof(exponents) / sizeof(*exponents) };

/* Few keys; and so many that there are steps of all kinds, with masks and without. */
static void test_forward(void)
{
    for (int way = 0; way < WAYS; way++) {
        int bad = 0;
        for (int i = 0; i < EXPONENTS; i++) {
            const bool many = i == 4;
            char name[64];
            snprintf(name, sizeof(name), "%s, scores of 2^%d", way_names[way], exponents[i]);
            const int dim = way == WAY_TEAM ? 256 : (i + way) % 2 ? 64 : 128;
            const int queries = many || way == WAY_SPLIT_ROWS ? 20 : 12;
            struct maker m =
                make((enum way)way, dim, queries, many ? 450 : 70, exponents[i], i % 3 == 2);
            m.p.mask = many ? AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT : AOTHIP_MASK_NONE;
            m.p.scale *= i % 2 ? -0.7F : 1.0F;
            m.p.lse_base2 = way == WAY_ODD && i + 1 < EXPONENTS;
            bad += !(maker_check(gpu, images, &m, name) && means_of_largest(&m, name));
            maker_free(&m);
        }
        ok(bad == 0, "large scores, forward, %s: %d wrong", way_names[way], bad);
    }
}

/*
 * Scores that are small in the first tiles, and about 2^exponent from one key on: for 6 the shift
 * moves there, for 40 all is done anew in the wide form.
 */
static bool check_rising(enum way way, int dim, int first_large, int exponent)
{
    struct maker m = make(way, dim, 150, 450, exponent, false);
    const struct aothip_tensor *k = &m.p.k;
    for (int64_t i = 0; i < first_large * k->stride[2]; i++)
        ref_store(k->data, i, type, ref_load(k->data, i, type) * 0x1p-14);
    m.p.scale *= exponent == 6 ? 1 : 0x1p-14F;
    const bool right =
        maker_check(gpu, images, &m, "rising scores") && means_of_largest(&m, "rising scores");
    if (!right)
        tap_diag("%s, head dim %d, 2^%d from key %d on", way_names[way], dim, exponent,
                 first_large);
    maker_free(&m);
    return right;
}

/* In both halves of a tile of 64 or 128 keys that others follow, and in the last one. */
static void test_rising(void)
{
    static const int first_large[] = {136, 168, 200, 400};
    int bad = 0;
    for (int dim = 64; dim <= 256; dim *= 2)
        for (int i = 0; i < 4; i++)
            bad += !check_rising(WAY_FAST, dim, first_large[i], 6);
    for (int dim = 64; dim <= 256; dim *= 2)
        bad += !check_rising(WAY_FAST, dim, 400, 40);
    for (int dim = 64; dim <= 128; dim *= 2)
        bad += !check_rising(WAY_SPLIT_ROWS, dim, 168, 6) +
               !check_rising(WAY_SPLIT_ROWS, dim, 400, 40);
    is_int(bad, 0, "small scores before large ones");
}

static void test_probabilities(void)
{
    int bad = 0;
    for (int i = 0; i < EXPONENTS - 1; i++) {
        struct maker m = make(WAY_SCORE, 64, 6, 40, exponents[i], false);
        m.p.probs = maker_blank(&m, AOTHIP_F32, 1, 2, 6, 40);
        m.p.probs_dropped = 1;
        m.p.lse_base2 = i % 2;
        bad += !maker_check(gpu, images, &m, "probabilities");
        for (int j = 0; j < 2 * 6 * 40; j++)
            bad += !(((float *)m.p.probs.data)[j] >= 0 && ((float *)m.p.probs.data)[j] <= 1);
        maker_free(&m);
    }
    is_int(bad, 0, "no probability above 1");
}

/* Row r's largest score is that of key r * 7 % 40, which alone has a part in its gradients. */
static bool dv_is_d_o(const struct aothip_tensor *dv, const struct aothip_tensor *d_o)
{
    const double allowed = type == AOTHIP_F32 ? 0x1p-16 : type == AOTHIP_F16 ? 0x1p-8 : 0x1p-5;
    for (int64_t n = 0; n < dv->size[2]; n++)
        for (int64_t d = 0; d < dv->size[3]; d++) {
            double sum = 0, got = ref_load(dv->data, n * dv->stride[2] + d, type);
            for (int64_t row = 0; row < d_o->size[1] * d_o->size[2]; row++)
                if (row * 7 % 40 == n)
                    sum += ref_load(d_o->data, row * d_o->stride[2] + d, type);
            if (!(fabs(got - sum) <= allowed)) {
                tap_diag("dv: row %d, channel %d is %g, not %g", (int)n, (int)d, got, sum);
                return false;
            }
        }
    return true;
}

static bool finite_and_right(const char *name, const struct ref_grad *grad,
                             const struct aothip_tensor *t)
{
    for (int64_t i = 0; i < t->size[1] * t->size[2]; i++)
        for (int64_t d = 0; d < t->size[3]; d++)
            if (!isfinite(ref_load(t->data, i * t->stride[2] + d, t->dtype))) {
                tap_diag("%s: row %d, channel %d is not finite", name, (int)i, (int)d);
                return false;
            }
    return maker_report(name, "gradient", ref_judge_grad(grad, t));
}

/* Each row has one largest score, so that lse is right. The scale is 1, or dq would overflow. */
static bool check_backward(enum way way, int dim, int exponent)
{
    struct maker m = make(way, dim, 20, 40, exponent, false);
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &m.p};
    struct status why = {0};
    struct ref_bwd answer;
    bool good;

    m.p.splits = 0;
    for (int64_t row = 0; row < 2 * 20; row++)
        ref_store(m.p.q.data, row * m.p.q.stride[2] + row * 7 % 40, type,
                  ldexp(7, smaller(exponent, type == AOTHIP_F16 ? 13 : 40)));
    b.d_o = maker_tensor(&m, type, 1, 2, 20, dim);
    b.dq = maker_blank(&m, type, 1, 2, 20, dim);
    b.dk = maker_blank(&m, type, 1, 1, 40, dim);
    b.dv = maker_blank(&m, type, 1, 1, 40, dim);
    good = !attn_fwd(gpu, images, &m.p, &why) && !attn_bwd(gpu, images, &b, &why);
    if (ref_attn_bwd(&b, ref_subnormals_of(gpu->properties.target), &answer))
        abort();
    if (good) {
        good = finite_and_right("dq", &answer.dq, &b.dq);
        good &= finite_and_right("dk", &answer.dk, &b.dk);
        good &= finite_and_right("dv", &answer.dv, &b.dv) && dv_is_d_o(&b.dv, &b.d_o);
    }
    if (!good)
        tap_diag("%s, dim %d, scores of 2^%d%s%s", way_names[way], dim, exponent,
                 why.code ? ": " : "", why.text);
    ref_free_bwd(&answer);
    maker_free(&m);
    return good;
}

static void test_backward(void)
{
    for (int way = 0; way < WAY_SPLIT; way++) {
        int bad = 0;
        for (int i = 0; exponents[i] <= (type == AOTHIP_F16 ? 26 : 77); i++)
            bad += !check_backward((enum way)way, i % 2 ? 128 : 64, exponents[i]);
        ok(bad == 0, "large scores, backward, %s: %d wrong", way_names[way], bad);
    }
}

static void test(const struct device *device, struct aothip_context *context, int dtype)
{
    gpu = device;
    images = context;
    type = dtype;
    test_forward();
    if (dtype == AOTHIP_F16 || (dtype == AOTHIP_BF16 && !TAP_SANITIZED))
        test_rising();
    test_probabilities();
    test_backward();
}

int main(int argc, char **argv)
{
    return maker_main(test, argc > 1 ? argv[1] : "strict");
}
