/* The reference with FP8: every code of the four types, rounding, scales, rows that are appended.
 */
#include "ref_fp8.h"
#include "ref.h"
#include "tap.h"

static const int types[] = {AOTHIP_FP8_E4M3, AOTHIP_FP8_E5M2, AOTHIP_FP8_E4M3_FNUZ,
                            AOTHIP_FP8_E5M2_FNUZ};
static const char *const names[] = {"E4M3", "E5M2", "E4M3 FNUZ", "E5M2 FNUZ"};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static double value_of(int code, int dtype)
{
    const uint8_t byte = (uint8_t)code;
    return ref_load(&byte, 0, dtype);
}

/* What the standards' tables list: OFP8 of the OCP, table 1; FNUZ of Noune et al. 2022. */
static void test_table(void)
{
    static const struct {
        double one, largest, smallest, smallest_normal;
        int one_code, largest_code, normal_code, nans;
    } table[] = {
        {1, 448, 0x1p-9, 0x1p-6, 0x38, 0x7e, 0x08, 2},
        {1, 57344, 0x1p-16, 0x1p-14, 0x3c, 0x7b, 0x04, 6},
        {1, 240, 0x1p-10, 0x1p-7, 0x40, 0x7f, 0x08, 1},
        {1, 57344, 0x1p-17, 0x1p-15, 0x40, 0x7f, 0x04, 1},
    };
    for (int t = 0; t < TYPES; t++) {
        int nans = 0, infinities = 0, code;
        for (code = 0; code < 256; code++) {
            nans += isnan(value_of(code, types[t])) != 0;
            infinities += isinf(value_of(code, types[t])) != 0;
        }
        ok(value_of(table[t].one_code, types[t]) == table[t].one, "%s: one", names[t]);
        ok(value_of(table[t].largest_code, types[t]) == table[t].largest, "%s: largest", names[t]);
        ok(value_of(1, types[t]) == table[t].smallest, "%s: smallest", names[t]);
        ok(value_of(table[t].normal_code, types[t]) == table[t].smallest_normal,
           "%s: smallest normal", names[t]);
        ok(nans == table[t].nans, "%s: NaNs", names[t]);
        ok(infinities == (types[t] == AOTHIP_FP8_E5M2 ? 2 : 0), "%s: infinities", names[t]);
    }
    ok(isnan(value_of(0x80, AOTHIP_FP8_E4M3_FNUZ)), "0x80 is FNUZ's NaN");
    ok(signbit(value_of(0x80, AOTHIP_FP8_E5M2)) && value_of(0x80, AOTHIP_FP8_E5M2) == 0, "or -0");
    ok(value_of(0xfc, AOTHIP_FP8_E5M2) == -(double)INFINITY, "-infinity");
    ok(isnan(value_of(0x7f, AOTHIP_FP8_E4M3)) && isnan(value_of(0xff, AOTHIP_FP8_E4M3)),
       "NaN of E4M3");
}

/* Every number survives; every midpoint goes to the even neighbour, a hair beside to the nearer. */
static void test_rounding(int dtype, const char *name)
{
    const double most = value_of((int)fp8_largest(dtype), dtype);
    int wrong = 0, code;
    uint8_t got;
    for (code = 0; code < 256; code++) {
        const double value = value_of(code, dtype);
        if (isinf(value))
            continue;
        ref_store(&got, 0, dtype, value);
        wrong += isnan(value) ? !isnan(value_of(got, dtype)) : got != code;
    }
    ok(wrong == 0, "%s: every number survives", name);
    for (code = 0; code < (int)fp8_largest(dtype); code++) {
        const double a = value_of(code, dtype), b = value_of(code + 1, dtype), mid = (a + b) / 2;
        wrong += ref_round(mid, dtype) != (code & 1 ? b : a);
        wrong += ref_round(nextafter(mid, a), dtype) != a;
        wrong += ref_round(-nextafter(mid, b), dtype) != -b;
        wrong += ref_half_ulp(a, dtype) != (b - a) / 2;
    }
    ok(wrong == 0, "%s: nearest, ties to even", name);
    ok(ref_round(most * 1.5, dtype) == most && ref_round(-1e300, dtype) == -most &&
           ref_round((double)INFINITY, dtype) == most,
       "%s: ends at the largest number", name);
    ok(isnan(ref_round((double)NAN, dtype)), "%s: NaN stays", name);
    ref_store(&got, 0, dtype, -0x1p-30);
    ok(got == (fp8_is_fnuz(dtype) ? 0 : 0x80), "%s: what becomes of -0", name);
}

/* Two sequences of two query heads, one key head, two keys each. */
struct problem {
    struct aothip_attn_fwd_params f;
    uint8_t q[4], k[4], v[4];
    uint16_t q16[4];
    float q_scale[2], k_scale[2], v_scale[2];
};

static struct aothip_tensor view(void *data, int dtype, int64_t heads, int64_t seq)
{
    return (struct aothip_tensor){data, {2, heads, seq, 1}, {heads * seq, seq, 1, 1}, dtype};
}

static void make(struct problem *p, int dtype)
{
    int i;
    memset(p, 0, sizeof(*p));
    for (i = 0; i < 4; i++) {
        ref_store(p->q, i, dtype, 1);
        ref_store(p->q16, i, AOTHIP_F16, 1);
        ref_store(p->k, i, dtype, i % 2);
        ref_store(p->v, i, dtype, i % 2 ? 8 : 4);
    }
    p->f.q = view(p->q, dtype, 2, 1);
    p->f.k = view(p->k, dtype, 1, 2);
    p->f.v = view(p->v, dtype, 1, 2);
    p->f.o = view(NULL, AOTHIP_F16, 2, 1);
    p->f.scale = 1;
}

static int near_to(double got, double want)
{
    int good = fabs(got - want) <= 1e-6 * fmax(1, fabs(want));
    if (!good)
        tap_diag("got %.9g, want %.9g", got, want);
    return good;
}

/* Scores 0 and s, values 4 and 8, times a factor. */
static double blend(double s, double factor)
{
    return factor * (4 + 8 * exp(s)) / (1 + exp(s));
}

static void test_scales(int dtype, const char *name)
{
    struct problem p;
    struct ref_fwd a;
    make(&p, dtype);
    is_int(ref_attn_fwd(&p.f, REF_SUBNORMALS_KEPT, &a), 0, "without scales: solved");
    ok(near_to(a.o[0], blend(1, 1)) && near_to(a.o[3], blend(1, 1)), "%s: without scales", name);
    ok(a.o_allowed[0] >= 2 * 8 * 0x1p-5, "%s: P may be rounded to it", name);
    ref_free(&a);

    p.q_scale[0] = 2, p.k_scale[0] = 0.25F, p.k_scale[1] = -3, p.v_scale[1] = 5;
    p.v_scale[0] = -1;
    p.f.q_scale = (struct aothip_scale){p.q_scale, {0, 0}};
    p.f.k_scale = (struct aothip_scale){p.k_scale, {1, 0}};
    p.f.v_scale = (struct aothip_scale){p.v_scale, {1, 1}};
    is_int(ref_attn_fwd(&p.f, REF_SUBNORMALS_KEPT, &a), 0, "with scales: solved");
    ok(near_to(a.o[0], blend(0.5, -1)) && near_to(a.o[1], blend(0.5, -1)), "%s: sequence 0", name);
    ok(near_to(a.o[2], blend(-6, 5)) && near_to(a.lse[2], log(1 + exp(-6))), "%s: sequence 1",
       name);
    ref_free(&a);

    p.f.q = view(p.q16, AOTHIP_F16, 2, 1);
    p.f.q_scale.data = NULL;
    is_int(ref_attn_fwd(&p.f, REF_SUBNORMALS_KEPT, &a), 0, "a cache: solved");
    ok(near_to(a.o[1], blend(0.25, -1)) && near_to(a.o[3], blend(-3, 5)), "%s: a cache", name);
    ok(a.o_allowed[3] < 8 * 5 * 0x1p-6, "%s: P is rounded to F16 then", name);
    ref_free(&a);
    p.f.v.dtype = AOTHIP_F16;
    is_int(ref_attn_fwd(&p.f, REF_SUBNORMALS_KEPT, &a), -1, "k and v of two types");
}

/* Two rows behind none: what is appended is rounded after it was divided by the scale. */
static void test_append(int dtype, const char *name)
{
    static const int32_t none[2] = {0, 0};
    uint16_t fresh[8];
    uint8_t k[4], v[4];
    struct problem p;
    struct ref_fwd a;
    struct aothip_tensor grown_k, grown_v;
    int i;

    make(&p, dtype);
    for (i = 0; i < 4; i++)
        ref_store(fresh, i, AOTHIP_F16, i % 2 ? 2.0625 : 0); /* k: 1.03 of a scale of 2, a tie */
    for (i = 4; i < 8; i++)
        ref_store(fresh, i, AOTHIP_F16, i % 2 ? 8 : 4);
    p.k_scale[0] = 2;
    p.f.q = view(p.q16, AOTHIP_F16, 2, 1);
    p.f.k_scale.data = p.k_scale;
    p.f.k_seqs.lengths = none;
    p.f.k_new = view(fresh, AOTHIP_F16, 1, 2);
    p.f.v_new = view(fresh + 4, AOTHIP_F16, 1, 2);
    is_int(ref_attn_fwd(&p.f, REF_SUBNORMALS_KEPT, &a), 0, "appended: solved");
    ok(near_to(a.o[0], blend(2, 1)), "%s: appended rows are rounded", name);
    ref_free(&a);

    for (i = 0; i < 4; i++) {
        ref_store(k, i, dtype, i % 2 ? 1.03125 : 0);
        ref_store(v, i, dtype, i % 2 ? 8 : 4);
    }
    grown_k = view(k, dtype, 1, 2);
    grown_v = view(v, dtype, 1, 2);
    is_int(ref_judge_append(&p.f, &grown_k, &grown_v).wrong, 0, "a right append");
    k[3]++;
    is_int(ref_judge_append(&p.f, &grown_k, &grown_v).wrong, 1, "one rounded up");
    k[3]--;
    v[0] = 0;
    is_int(ref_judge_append(&p.f, &grown_k, &grown_v).wrong, 1, "one not written");
}

int main(void)
{
    test_table();
    for (int t = 0; t < TYPES; t++) {
        test_rounding(types[t], names[t]);
        test_scales(types[t], names[t]);
        test_append(types[t], names[t]);
    }
    return tap_done();
}
