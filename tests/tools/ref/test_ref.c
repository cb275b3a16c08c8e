/* The reference attention against cases solved by hand, and its tolerance against known errors. */
#include "half.h"
#include "ref.h"
#include "tap.h"

#include <stdint.h>

/* Uniform on [-1, 1]; a fixed linear congruential generator. */
static double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(int64_t)(*state >> 11) / 0x1p52 - 1;
}

/* A contiguous BHSD view. */
static struct aothip_tensor view(void *data, int dtype, int64_t b, int64_t h, int64_t s, int64_t d)
{
    return (struct aothip_tensor){data, {b, h, s, d}, {h * s * d, s * d, d, 1}, dtype};
}

static void test_widening(int dtype, const char *name)
{
    int wrong = 0, bits;
    for (bits = 0; bits < 0x10000; bits++) {
        uint16_t back, word = (uint16_t)bits;
        double value = ref_load(&word, 0, dtype);
        ref_store(&back, 0, dtype, value);
        wrong += isnan(value) ? !isnan(ref_load(&back, 0, dtype)) : back != word;
    }
    is_int(wrong, 0, name);
}

/* Every midpoint of two neighbours goes to the even one, and a hair beside it to the nearer. */
static void test_narrowing(int dtype, int infinity, const char *name)
{
    int wrong = 0, bits;
    for (bits = 0; bits + 1 < infinity; bits++) {
        uint16_t low = (uint16_t)bits, high = (uint16_t)(bits + 1), got;
        double a = ref_load(&low, 0, dtype), b = ref_load(&high, 0, dtype), mid = (a + b) / 2;
        ref_store(&got, 0, dtype, mid);
        wrong += got != (bits & 1 ? high : low);
        ref_store(&got, 0, dtype, nextafter(mid, a));
        wrong += got != low;
        ref_store(&got, 0, dtype, -nextafter(mid, b));
        wrong += got != (high | 0x8000);
    }
    is_int(wrong, 0, name);
}

static void test_half(void)
{
    test_widening(AOTHIP_F16, "every f16 survives widening and narrowing");
    test_widening(AOTHIP_BF16, "every bf16 survives widening and narrowing");
    test_narrowing(AOTHIP_F16, 0x7c00, "f16 rounds to nearest even at every midpoint");
    test_narrowing(AOTHIP_BF16, 0x7f80, "bf16 rounds to nearest even at every midpoint");
    is_int(half_to_f16(65504), 0x7bff, "the largest f16");
    is_int(half_to_f16(65519.99), 0x7bff, "just under the midpoint to 2^16 stays finite");
    is_int(half_to_f16(65520), 0x7c00, "the midpoint to 2^16 overflows");
    is_int(half_to_f16(-1e300), 0xfc00, "far overflow keeps the sign");
    is_int(half_to_f16(0x1p-24), 1, "the smallest f16 subnormal");
    is_int(half_to_f16(0x1p-25), 0, "half of it is a tie to zero");
    is_int(half_to_f16(-0.0), 0x8000, "the sign of zero");
    is_int(half_to_f16(1), 0x3c00, "one in f16");
    is_int(half_to_bf16(1), 0x3f80, "one in bf16");
    is_int(half_to_bf16(3.4e38), 0x7f80, "bf16 overflow");
    is_int(half_to_f16((double)NAN) & 0x7fff, 0x7e00, "NaN is quiet");
}

static int near_to(double got, double want, double relative)
{
    int good = got == want || fabs(got - want) <= relative * fmax(1, fabs(want));
    if (!good)
        tap_diag("got %.17g, want %.17g", got, want);
    return good;
}

static int close_to(double got, double want)
{
    return near_to(got, want, 1e-14);
}

/* Scores 0 and ln 3 give the weights 1/4 and 3/4. */
static void test_by_hand(void)
{
    float q[] = {1}, k[] = {0, 1}, v[] = {4, -2, 8, 2};
    struct aothip_attn_fwd_params p = {
        .q = view(q, AOTHIP_F32, 1, 1, 1, 1),
        .k = view(k, AOTHIP_F32, 1, 1, 2, 1),
        .v = view(v, AOTHIP_F32, 1, 1, 2, 2),
        .scale = (float)log(3),
    };
    struct ref_fwd a;

    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), 0, "two keys: solved");
    ok(near_to(a.o[0], 7, 2e-7) && near_to(a.o[1], 1, 2e-7), "two keys: o = 1/4 v0 + 3/4 v1");
    ok(near_to(a.lse[0], log(4), 2e-7), "two keys: lse = ln 4");
    ref_free(&a);

    p.scale = (float)-log(3);
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), 0, "negative scale: solved");
    ok(near_to(a.o[0], 5, 2e-7) && near_to(a.o[1], -1, 2e-7),
       "negative scale: the weights change places");
    ok(near_to(a.lse[0], log(4.0 / 3), 2e-7), "negative scale: lse = ln 4/3");
    ref_free(&a);

    p.scale = 0;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), 0, "scale 0: solved");
    ok(close_to(a.o[0], 6) && close_to(a.o[1], 0), "scale 0: the mean of v");
    ok(close_to(a.lse[0], log(2)), "scale 0: lse = ln 2");
    ref_free(&a);

    k[0] = 1e30F;
    k[1] = -1e30F;
    p.scale = 1;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), 0, "huge scores: solved");
    ok(a.o[0] == 4 && a.o[1] == -2 && a.lse[0] == 1e30F, "huge scores: one key takes all");
    ref_free(&a);
}

/* One picture per mask: '#' is a visible key; rows are queries. */
struct window {
    int mask, left, right;
};

static void test_mask(const char *name, struct window w, int seq_q, int seq_k, const char *picture)
{
    struct aothip_attn_fwd_params params = {
        .mask = w.mask, .window_left = w.left, .window_right = w.right};
    int m, n, wrong = 0;
    for (m = 0; m < seq_q; m++) {
        struct ref_interval seen = ref_visible(&params, m, seq_q, seq_k);
        wrong += seen.lo < 0 || seen.hi < seen.lo || seen.hi > seq_k;
        for (n = 0; n < seq_k; n++)
            wrong += (n >= seen.lo && n < seen.hi) != (picture[m * (seq_k + 1) + n] == '#');
    }
    is_int(wrong, 0, name);
}

static void test_masks(void)
{
    enum { OPEN = AOTHIP_WINDOW_UNBOUNDED };
    const struct window none = {AOTHIP_MASK_NONE, 9, 9}, tl = {AOTHIP_MASK_CAUSAL_TOP_LEFT, 9, 9},
                        br = {AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, 9, 9};
    const int wtl = AOTHIP_MASK_WINDOW_TOP_LEFT, wbr = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT,
              mixed = AOTHIP_MASK_WINDOW_MIXED;

    test_mask("no mask", none, 2, 3, "### ###");
    test_mask("top left, wide", tl, 3, 5, "#.... ##... ###..");
    test_mask("top left, tall", tl, 5, 3, "#.. ##. ### ### ###");
    test_mask("bottom right, wide", br, 3, 5, "###.. ####. #####");
    test_mask("bottom right, tall", br, 5, 3, "... ... #.. ##. ###");
    test_mask("bottom right, square", br, 3, 3, "#.. ##. ###");
    test_mask("window top left", (struct window){wtl, 1, 0}, 4, 3, "#.. ##. .## ..#");
    test_mask("window top left, right side", (struct window){wtl, 0, 2}, 3, 5, "###.. .###. ..###");
    test_mask("window top left, left side open", (struct window){wtl, OPEN, 1}, 3, 4,
              "##.. ###. ####");
    test_mask("window top left, right side open", (struct window){wtl, 0, OPEN}, 3, 4,
              "#### .### ..##");
    test_mask("window of literal negatives", (struct window){wtl, -1, 2}, 3, 5,
              ".##.. ..##. ...##");
    test_mask("window that negatives empty", (struct window){wtl, -2, 1}, 2, 4, ".... ....");
    test_mask("window bottom right, wide", (struct window){wbr, 1, 0}, 3, 5, ".##.. ..##. ...##");
    test_mask("window bottom right, tall", (struct window){wbr, 1, 0}, 4, 2, ".. .. #. ##");
    test_mask("window bottom right, both open", (struct window){wbr, OPEN, OPEN}, 2, 2, "## ##");
    test_mask("window mixed", (struct window){mixed, 1, 0}, 3, 5, "###.. ####. .####");
}

/* With scale 0 row m is the mean of the keys it sees, so the values v = n tell which these were. */
static void test_causal(void)
{
    float zero[5] = {0}, v[3] = {0, 1, 2};
    struct aothip_attn_fwd_params p = {
        .q = view(zero, AOTHIP_F32, 1, 1, 5, 1),
        .k = view(zero, AOTHIP_F32, 1, 1, 3, 1),
        .v = view(v, AOTHIP_F32, 1, 1, 3, 1),
        .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT,
    };
    struct ref_fwd a;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), 0, "bottom right, tall: solved");
    ok(a.o[0] == 0 && a.o[1] == 0, "rows without a key give 0");
    ok(a.lse[0] == (double)INFINITY && a.lse[1] == (double)INFINITY, "and lse = +infinity");
    ok(a.o_allowed[0] == 0 && a.lse_allowed[1] == 0, "and allow no error");
    ok(a.o[2] == 0 && close_to(a.o[3], 0.5) && close_to(a.o[4], 1), "the others their mean");
    ok(close_to(a.lse[2], 0) && close_to(a.lse[3], log(2)) && close_to(a.lse[4], log(3)),
       "and the logarithm of their count");
    ref_free(&a);
}

/* Query head h reads key head h / 3; batches do not mix. Scale 0 and constant V show which. */
static void test_gqa(void)
{
    float q[2 * 6] = {0}, k[2 * 2] = {0}, v[2 * 2] = {10, 20, 30, 40};
    struct aothip_attn_fwd_params p = {
        .q = view(q, AOTHIP_F32, 2, 6, 1, 1),
        .k = view(k, AOTHIP_F32, 2, 2, 1, 1),
        .v = view(v, AOTHIP_F32, 2, 2, 1, 1),
    };
    struct ref_fwd a;
    int i, wrong = 0;

    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), 0, "6 query heads on 2 key heads: solved");
    for (i = 0; i < 12; i++)
        wrong += a.o[i] != v[i / 3];
    is_int(wrong, 0, "query head h reads key head h / 3");
    ref_free(&a);
    p.q.size[1] = 5;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), -1, "5 query heads on 2 key heads: refused");
    ok(!a.o && !a.lse, "and nothing is left allocated");
}

enum { B = 2, H = 3, S = 11, D = 5 };

/* The same values as BHSD and as BSHD with padded rows give the same answer, bit for bit. */
static void test_strides(void)
{
    static uint16_t dense[3][B * H * S * D], padded[3][B * S * H * 8];
    struct aothip_tensor t[3], u[3];
    struct aothip_attn_fwd_params p, r;
    struct ref_fwd a, b;
    uint64_t seed = 1;
    int which, i, at[4];

    tap_diag("seed %d", (int)seed);
    for (which = 0; which < 3; which++) {
        t[which] = view(dense[which], AOTHIP_F16, B, H, S, D);
        u[which] = (struct aothip_tensor){
            padded[which], {B, H, S, D}, {S * H * 8, 8, H * 8, 1}, AOTHIP_F16};
        for (i = 0; i < B * H * S * D; i++) {
            at[3] = i % D, at[2] = i / D % S, at[1] = i / (D * S) % H, at[0] = i / (D * S * H);
            dense[which][i] = half_to_f16(noise(&seed));
            padded[which][at[0] * S * H * 8 + at[1] * 8 + at[2] * H * 8 + at[3]] = dense[which][i];
        }
    }
    p = (struct aothip_attn_fwd_params){.q = t[0], .k = t[1], .v = t[2], .scale = 0.5};
    r = (struct aothip_attn_fwd_params){.q = u[0], .k = u[1], .v = u[2], .scale = 0.5};
    ok(!ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a) && !ref_attn_fwd(&r, REF_SUBNORMALS_KEPT, &b),
       "two layouts: solved");
    ok(!memcmp(a.o, b.o, B * H * S * D * sizeof(double)), "two layouts: the same o");
    ok(!memcmp(a.lse, b.lse, B * H * S * sizeof(double)), "two layouts: the same lse");
    ref_free(&b);

    /* Stride 0 over the batch: both entries are the first one. */
    p.q.stride[0] = p.k.stride[0] = p.v.stride[0] = 0;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &b), 0, "stride 0: solved");
    ok(!memcmp(b.o, a.o, H * S * D * sizeof(double)) &&
           !memcmp(b.o + H * S * D, a.o, H * S * D * sizeof(double)),
       "stride 0: the entry repeats");
    ref_free(&a);
    ref_free(&b);
}

static void test_refusals(void)
{
    uint16_t x[64] = {0};
    struct aothip_tensor t = view(x, AOTHIP_F16, 1, 1, 4, 4);
    struct aothip_attn_fwd_params good = {.q = t, .k = t, .v = t, .scale = 1}, p;
    struct ref_fwd a;

    p = good, p.k.size[3] = 3;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), -1, "different dim_qk of q and k: refused");
    p = good, p.v.size[2] = 3;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), -1, "different seq_k of k and v: refused");
    p = good, p.q.size[0] = 0;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), -1, "another batch of q than of k: refused");
    p.k.size[0] = p.v.size[0] = 0;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), 0, "an empty batch: nothing to solve");
    ref_free(&a);
    p = good, p.v.dtype = AOTHIP_BF16;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), -1, "mixed dtypes: refused");
    p = good, p.q.dtype = p.k.dtype = p.v.dtype = 77;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), -1, "an unknown dtype: refused");
    p = good, p.k.size[2] = p.v.size[2] = (int64_t)1 << 61;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), -1, "a size beyond memory: refused");
}

/* A causal problem of one dtype, what the plain attention makes of it, and damaged outputs. */
static void test_tolerance(int dtype, double unit, const char *name)
{
    enum { SEQ = 96, DIM = 16, COUNT = SEQ * DIM };
    static uint16_t data[3][COUNT], out[COUNT], saved;
    static double plain[COUNT], lse[SEQ];
    static float lse_out[SEQ];
    struct aothip_tensor o = view(out, dtype, 1, 1, SEQ, DIM);
    struct aothip_attn_fwd_params p = {.scale = 0.25, .mask = AOTHIP_MASK_CAUSAL_TOP_LEFT};
    struct ref_verdict v;
    struct ref_fwd a;
    uint64_t seed = 2;
    double most = 0;
    int i;

    for (i = 0; i < 3 * COUNT; i++)
        ref_store(data[i / COUNT], i % COUNT, dtype, noise(&seed));
    p.q = view(data[0], dtype, 1, 1, SEQ, DIM);
    p.k = view(data[1], dtype, 1, 1, SEQ, DIM);
    p.v = view(data[2], dtype, 1, 1, SEQ, DIM);
    ok(!ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a) &&
           !ref_plain_fwd(&p, REF_SUBNORMALS_KEPT, plain, lse),
       "%s: solved", name);
    for (i = 0; i < COUNT; i++) {
        ref_store(out, i, dtype, plain[i]);
        most = fmax(most, a.o_allowed[i]);
    }
    for (i = 0; i < SEQ; i++)
        lse_out[i] = (float)lse[i];
    v = ref_judge_o(&a, &o);
    ok(v.wrong == 0 && v.error > 0, "%s: the plain attention passes, and is not exact", name);
    ok(v.largest < 2 * unit, "%s: its error is of the type's size", name);
    /* At most: twice the two roundings of P and o, and half a unit; all at magnitude 1. */
    ok(most > unit / 2 && most <= 5 * unit, "%s: so is what is allowed", name);
    v = ref_judge_lse(&a, lse_out);
    ok(v.wrong == 0 && v.largest < 1e-6, "%s: its lse passes", name);

    saved = out[90 * DIM + 3];
    ref_store(out, 90 * DIM + 3, dtype,
              a.o[90 * DIM + 3] + 1.01 * a.o_allowed[90 * DIM + 3] + unit);
    v = ref_judge_o(&a, &o);
    ok(v.wrong == 1 && v.at[2] == 90 && v.at[3] == 3, "%s: one wrong element is found", name);
    ref_store(out, 90 * DIM + 3, dtype, (double)NAN);
    v = ref_judge_o(&a, &o);
    ok(v.wrong == 1 && isinf(v.error), "%s: NaN is wrong", name);
    out[90 * DIM + 3] = saved;

    lse_out[5] += 1e-5F;
    ok(ref_judge_lse(&a, lse_out).wrong == 1, "%s: lse wrong by 1e-5 is found", name);
    ref_free(&a);

    /* The same data seen through another mask must not pass. */
    p.mask = AOTHIP_MASK_NONE;
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), 0, "without a mask: solved");
    ok(ref_judge_o(&a, &o).wrong > COUNT / 2, "%s: another mask's output is wrong", name);
    ref_free(&a);
}

/* Faults that a kernel may well have change a long row by little; they must be seen all the same.
 */
static void test_sensitivity(int dtype, const char *name)
{
    enum { SEQ_Q = 20, SEQ_K = 777, DIM = 64 };
    static uint16_t q[SEQ_Q * DIM], k[SEQ_K * DIM], v[SEQ_K * DIM], out[SEQ_Q * DIM];
    static double plain[SEQ_Q * DIM];
    struct aothip_tensor o = view(out, dtype, 1, 1, SEQ_Q, DIM);
    struct aothip_attn_fwd_params good, bad[4];
    static const char *const faults[] = {"nothing", "the mask is left out",
                                         "the mask is off by one", "the scale is 2 % off"};
    struct ref_fwd a;
    uint64_t seed = 3;
    int i, fault;

    for (i = 0; i < SEQ_Q * DIM; i++)
        ref_store(q, i, dtype, 2 * noise(&seed));
    for (i = 0; i < SEQ_K * DIM; i++) {
        ref_store(k, i, dtype, 2 * noise(&seed));
        ref_store(v, i, dtype, 2 * noise(&seed));
    }
    good = (struct aothip_attn_fwd_params){.q = view(q, dtype, 1, 1, SEQ_Q, DIM),
                                           .k = view(k, dtype, 1, 1, SEQ_K, DIM),
                                           .v = view(v, dtype, 1, 1, SEQ_K, DIM),
                                           .scale = 0.125,
                                           .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT};
    bad[0] = bad[1] = bad[2] = bad[3] = good;
    bad[1].k.size[2] = bad[1].v.size[2] = SEQ_K - 1;
    bad[1].mask = AOTHIP_MASK_NONE;
    bad[2].k.size[2] = bad[2].v.size[2] = SEQ_K - 1;
    bad[3].scale *= 1.02F;
    is_int(ref_attn_fwd(&good, REF_SUBNORMALS_KEPT, &a), 0, "a long row: solved");
    for (fault = 0; fault < 4; fault++) {
        ref_plain_fwd(&bad[fault], REF_SUBNORMALS_KEPT, plain, NULL);
        for (i = 0; i < SEQ_Q * DIM; i++)
            ref_store(out, i, dtype, plain[i]);
        ok((ref_judge_o(&a, &o).wrong > 0) == (fault > 0), "%s: %s", name, faults[fault]);
    }
    ref_free(&a);
}

/* Values below 2^-14 vanish on a matrix unit that flushes; only the tolerance may know. */
static void test_flushing(void)
{
    uint16_t q = half_to_f16(1), k = half_to_f16(1), v = half_to_f16(0x1p-16);
    struct aothip_attn_fwd_params p = {
        .q = view(&q, AOTHIP_F16, 1, 1, 1, 1),
        .k = view(&k, AOTHIP_F16, 1, 1, 1, 1),
        .v = view(&v, AOTHIP_F16, 1, 1, 1, 1),
        .scale = 1,
    };
    uint16_t nothing = 0;
    struct aothip_tensor o = view(&nothing, AOTHIP_F16, 1, 1, 1, 1);
    struct ref_fwd a;

    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_KEPT, &a), 0, "a subnormal v: solved");
    ok(a.o[0] == 0x1p-16, "the reference keeps it");
    is_int(ref_judge_o(&a, &o).wrong, 1, "so a zero is wrong");
    ref_free(&a);
    is_int(ref_attn_fwd(&p, REF_SUBNORMALS_FLUSHED, &a), 0, "with flushing: solved");
    ok(a.o[0] == 0x1p-16, "the reference still keeps it");
    is_int(ref_judge_o(&a, &o).wrong, 0, "but a zero is allowed");
    ref_free(&a);
}

/* A plain pass rounds every step to f32: 2^-24 is lost beside 1, twice. Channels beyond a multiple
 * of four go the same way. */
static void test_plain_steps(void)
{
    enum { KEYS = 3, DIM = 5 };
    float q[DIM] = {1, 1, 1}, k[KEYS * DIM] = {1, 0x1p-24F, 0x1p-24F}, v[KEYS * DIM];
    double o[DIM], lse;
    int wrong = 0;
    struct aothip_attn_fwd_params p = {.q = view(q, AOTHIP_F32, 1, 1, 1, DIM),
                                       .k = view(k, AOTHIP_F32, 1, 1, 1, DIM),
                                       .v = view(v, AOTHIP_F32, 1, 1, 1, DIM),
                                       .scale = 1};

    for (int i = 0; i < KEYS * DIM; i++)
        v[i] = i < DIM ? 1 : 0x1p-24F;
    ok(!ref_plain_fwd(&p, REF_SUBNORMALS_KEPT, o, &lse) && lse == 1, "a plain score: each step");
    q[1] = k[1] = 1 + 0x1p-12F;
    q[2] = k[2] = 0;
    k[0] = -1 - 0x1p-11F; /* what the product of the others rounds to */
    ok(!ref_plain_fwd(&p, REF_SUBNORMALS_KEPT, o, &lse) && lse == 0, "and each product");
    memset(q, 0, sizeof(q));
    p.k.size[2] = p.v.size[2] = KEYS;
    ok(!ref_plain_fwd(&p, REF_SUBNORMALS_KEPT, o, &lse), "three keys alike: solved");
    for (int d = 0; d < DIM; d++)
        wrong += o[d] != (double)(1 / 3.0F);
    is_int(wrong, 0, "a plain sum: each step in every channel");
}

int main(void)
{
    test_half();
    test_plain_steps();
    test_by_hand();
    test_masks();
    test_causal();
    test_gqa();
    test_strides();
    test_refusals();
    test_tolerance(AOTHIP_F16, 0x1p-11, "f16");
    test_tolerance(AOTHIP_BF16, 0x1p-8, "bf16");
    test_sensitivity(AOTHIP_F16, "f16");
    test_sensitivity(AOTHIP_BF16, "bf16");
    test_flushing();
    return tap_done();
}
