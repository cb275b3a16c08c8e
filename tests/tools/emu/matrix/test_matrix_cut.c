/*
 * Matrix products of gfx942 in mode "hw": what its hardware was measured to give, and the cases
 * that tell its rules (cut_sum.h) from neighbouring ones.
 *
 * Measured: microsoft/MMA-Sim, tests/probe/probe_amd_cdna3.ipynb, 16x16x32 fp8 on CDNA3. The
 * other values follow from MMA-Sim 2.1.1. Behind them, the directions of mode "adversarial".
 */
#include <math.h>

#include "matrix_ops.h"
#include "tap.h"

enum { ROW_A = 0, ROW_B = 8, ROW_C = 16, ROW_D = 64, ROWS = 112, MOST = 16 };

static struct emu_launch launch = {.matrix = EMU_MATRIX_HW};
static struct emu_group group = {.launch = &launch};
static struct emu_wave wave;

enum type { F16, BF16, XF32, FP8, BF8 };

static const struct {
    const char *name;
    unsigned m, k, bits;
} units[] = {
    [F16] = {"v_mfma_f32_32x32x8_f16", 32, 8, 16},
    [BF16] = {"v_mfma_f32_32x32x8_bf16", 32, 8, 16},
    [XF32] = {"v_mfma_f32_32x32x4_xf32", 32, 4, 32},
    [FP8] = {"v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 8},
    [BF8] = {"v_mfma_f32_16x16x32_bf8_bf8", 16, 32, 8},
};

/* x, which the type can hold. */
static uint32_t encode(enum type type, double x)
{
    float f = (float)x;
    _Float16 h = (_Float16)f;
    uint16_t half;
    uint32_t u;
    memcpy(&u, &f, 4);
    memcpy(&half, &h, 2);
    if (type == F16)
        return half;
    if (type == BF16 || type == XF32)
        return type == BF16 ? u >> 16 : u;
    for (unsigned i = 0; i < 256; i++)
        if ((type == FP8 ? emu_fp8_to_f32((uint8_t)i) : emu_bf8_to_f32((uint8_t)i)) == f)
            return i;
    tap_diag("%g is no such number", x);
    return 0x80;
}

/* Element k of row 0 or column 0. */
static void put(enum type type, unsigned row, unsigned k, double x)
{
    unsigned per = units[type].k / (64 / units[type].m), bits = units[type].bits;
    unsigned e = k % per, lane = units[type].m * (k / per);
    wave.v[(row + e * bits / 32) * 64 + lane] |= encode(type, x) << e * bits % 32;
}

/* The sum of n products and c. */
static float dot(enum type type, unsigned n, const double *a, const double *b, float c)
{
    static const struct emu_insn insn = {
        .family = EMU_GFX942,
        .src = {{.kind = EMU_OPK_VGPR}, {.kind = EMU_OPK_VGPR}, {.kind = EMU_OPK_VGPR}}};
    struct emu_op op = {.insn = &insn, .s = {ROW_A, ROW_B, ROW_C}, .d = {ROW_D}};
    float result;
    memset(wave.v, 0, ROWS * 64 * 4);
    for (unsigned k = 0; k < n; k++) {
        put(type, ROW_A, k, a[k]);
        put(type, ROW_B, k, b[k]);
    }
    memcpy(&wave.v[ROW_C * 64], &c, 4);
    for (const struct emu_sem *s = emu_sem_matrix; s->name; s++)
        if (strcmp(s->name, units[type].name) == 0)
            s->fn[1](&wave, &op);
    memcpy(&result, &wave.v[ROW_D * 64], 4);
    return result;
}

/* ---- Measured. U = 2^14 is 2^7 * 2^7, v = 2^-10 is 2^-5 * 2^-5. */

struct point {
    double x;
    float result;
};

enum { U = 128, NONE = -1 };

/* +U and -U at `plus` and `minus`, x * v at `at`, or as the accumulator; results in v. */
static void around(int plus, int minus, int at, const struct point *p, unsigned n, const char *what)
{
    unsigned bad = 0;
    for (unsigned i = 0; i < n; i++) {
        double a[MOST] = {0}, b[MOST] = {0};
        a[plus] = b[plus] = a[minus] = U;
        b[minus] = -(double)U;
        if (at != NONE) {
            a[at] = p[i].x * 0x1p-5;
            b[at] = 0x1p-5;
        }
        float got = dot(FP8, MOST, a, b, at == NONE ? (float)p[i].x * 0x1p-10f : 0);
        bad += got != p[i].result * 0x1p-10f;
    }
    is_int(bad, 0, what);
}

/* x * y at k = 0 and 2^-e at k = at for each e: `most` down to e = last, then `rest`. */
static void fading(double x, double y, int at, float c, unsigned last, float most, float rest,
                   const char *what)
{
    unsigned bad = 0;
    for (unsigned e = 0; e < 10; e++) {
        double a[MOST] = {x}, b[MOST] = {y};
        a[at] = ldexp(1, -(int)((e + 1) / 2));
        b[at] = ldexp(1, -(int)(e / 2));
        bad += dot(FP8, MOST, a, b, c) != (e <= last ? most : rest);
    }
    is_int(bad, 0, what);
}

static void measured_cuts(void)
{
    static const struct point zero[] = {{.25, 0}, {.75, 0}, {-.25, 0}, {-.75, 0},
                                        {.5, 0},  {1.5, 1}, {-.5, 0},  {-1.5, -1}};
    static const struct point down[] = {{.25, 0}, {.75, 0}, {-.25, -1}, {-.75, -1},
                                        {.5, 0},  {1.5, 1}, {-.5, -1},  {-1.5, -2}};
    static const struct point c[] = {{.25, 0},   {.75, 0},  {-.25, 0},  {-.75, -1},
                                     {.5, 0},    {1.5, 1},  {-.5, -1},  {-1.5, -2},
                                     {-1.0, -1}, {-.25, 0}, {-.125, 0}, {-.0625, 0}};
    around(0, 2, 4, zero, 8, "fp8: products of even k are cut toward zero");
    around(1, 3, 5, zero, 8, "fp8: and so are those of odd k");
    around(0, 2, 1, down, 8, "fp8: the sum of odd k meets that of even k and is floored");
    around(1, 3, 0, down, 8, "fp8: and the other way round");
    around(0, 2, NONE, c, 12,
           "fp8: the accumulator is floored, or dropped if it lies too far below");
}

static void measured_exponents(void)
{
    unsigned bad[4] = {0};
    for (int e = 20; e < 30; e++) {
        double small = ldexp(U, -(e + 1) / 2), other = ldexp(U, -(e / 2));
        float want = e <= 24 ? ldexpf(1, 14 - e) : 0, c = -ldexpf(1, 14 - e);
        float below = e <= 24 ? 0x1p14f - ldexpf(1, 14 - e) : 0x1p14f;
        double a1[5] = {1.5 * U, 0, 1.5 * U, 0, small}, b1[5] = {1.5 * U, 0, -1.5 * U, 0, other};
        double a2[3] = {U, small, U}, b2[3] = {U, other, U};
        double one[1] = {U}, half[2] = {.5 * U, .5 * U}, by[2] = {U, U};
        bad[0] += dot(FP8, 5, a1, b1, 0) != want;
        bad[1] += dot(FP8, 3, a2, b2, -0x1p15f) != want;
        bad[2] += dot(FP8, 1, one, by, c) != (e == 25 ? 0x1.fffffep13f : below);
        bad[3] += dot(FP8, 2, half, by, c) != below;
    }
    is_int(bad[0], 0, "fp8: 1.5 * 1.5 has the exponent 0 + 0");
    is_int(bad[1], 0, "fp8: a sum of two, too, has that of its products");
    is_int(bad[2], 0, "fp8: an accumulator up to 25 below counts");
    is_int(bad[3], 0, "fp8: where the products have exponent 13 their sum has it, too");
}

static void measured_rounding(void)
{
    static const struct point points[] = {
        {.25, 0x1p14f}, {.75, 0x1.000002p14f}, {.5, 0x1p14f}, {1.5, 0x1.000004p14f}};
    unsigned bad = 0;
    for (unsigned i = 0; i < 8; i++) {
        double sign = i & 4 ? -1 : 1, quarter = sign * .25 * U;
        double a[7] = {quarter, 0, quarter, 0, quarter, 0, quarter}, b[7] = {U, 0, U, 0, U, 0, U};
        float c = (float)(sign * points[i % 4].x) * 0x1p-9f;
        bad += dot(FP8, 7, a, b, c) != (float)sign * points[i % 4].result;
    }
    is_int(bad, 0, "fp8: the result is rounded to nearest, ties to even");
    fading(1, 1, 2, 0x1p24f, 7, 0x1.000002p24f, 0x1p24f,
           "fp8: the products' sum has 31 bits below the accumulator");
    fading(1, 1, 1, 0x1.000008p24f, 7, 0x1.00000ap24f, 0x1.000008p24f,
           "fp8: the same in the odd products");
    fading(10, 1, 1, 0x1.fffff8p24f, 6, 0x1.000002p25f, 0x1p25f,
           "fp8: one less where the result has carried into the next binade");
}

/* ---- The other types. */

struct sum {
    enum type type;
    unsigned n;
    double a[4], b[4];
    float c, result;
    const char *what;
};

static const struct sum sums[] = {
    {F16, 2, {1, -0x1p-13}, {1, 0x1p-13}, 0, 1, "a product below the grid is gone"},
    {F16, 2, {1, -0x1.8p-12}, {1, 0x1p-12}, 0, 1 - 0x1p-24f, "a negative product is cut to zero"},
    {F16, 2, {1, 0x1.8p-12}, {1, 0x1p-12}, -1, 0x1p-24f, "a positive one, too"},
    {BF16, 2, {1, -0x1.8p-12}, {1, 0x1p-12}, -1, -0x1p-24f, "and in bf16"},
    {XF32, 2, {1, -0x1.8p-12}, {1, 0x1p-12}, -1, -0x1p-24f, "and in xf32"},
    {F16, 3, {1.5, -1.5, 0x1p-12}, {1.5, 1.5, 0x1p-12}, 0, 0x1p-24f, "1.5 * 1.5: exponent 0"},
    {XF32, 3, {1.5, -1.5, 0x1p-12}, {1.5, 1.5, 0x1p-12}, 0, 0x1p-24f, "the same in xf32"},
    {F16, 2, {0x1p-24, 0x1p-12}, {0x1p15, 0x1p-12}, 0, 0x1p-9f, "2^-24: exponent -14"},
    {F16, 2, {0x1p-14, 0x1p-12}, {0x1p5, 0x1p-12}, 0, 0x1p-9f + 0x1p-24f, "2^-14: its own"},
    {BF16, 2, {0x1p-133, 0x1p-12}, {0x1p127, 0x1p-12}, 0, 0x1p-6f, "2^-133: exponent -126"},
    {XF32, 2, {0x1p-136, 0x1p-12}, {0x1p127, 0x1p-12}, 0, 0x1p-9f, "2^-136: exponent -126"},
    {F16, 2, {0, 0x1p-14}, {0x1p15, 0x1p-14}, 0, 0x1p-28f, "0 * 2^15 aligns nothing"},
    {BF16, 2, {0x1p100, 0x1p-15}, {0, 0x1p-15}, 0, 0x1p-30f, "nor does 2^100 * 0"},
    {BF16, 1, {0}, {0x1p127}, 0x1p-149f, 0x1p-149f, "0 * 2^127 leaves the accumulator whole"},
    {F16, 1, {1}, {-0x1p-24}, 1, 1 - 0x1p-24f, "down to 32 bits below, the sum counts"},
    {F16, 1, {0x1p-14}, {-0x1p-14}, 0x1p5f, 0x1p5f, "a sum below: floored, then rounded away"},
    {F16, 1, {0x1p-14}, {-0x1p-14}, 0x1.000002p5f, 0x1.000002p5f, "at an odd accumulator as well"},
    {F16, 2, {2, 0x1p-12}, {2, 0x1p-12}, -0x1p-30f, 4 - 0x1p-22f, "an accumulator below: floored"},
    {F16, 1, {-2}, {2}, -0x1p-30f, -4, "one below -4: floored to a tie"},
    {F16, 2, {0x1p10, -0x1p10}, {0x1p10, 0x1p10}, -0x1p-30f, -0x1p-4f, "floored, and all there is"},
    {BF16, 1, {0x1p64}, {0x1p64}, 0, INFINITY, "a product of 2^128 is infinite"},
    {BF16, 1, {0x1p64}, {-0x1p63}, 0, -0x1p127f, "one of 2^127 is not"},
    {BF16, 2, {0x1p64, 1}, {-0x1p64, 1}, 0x1p127f, -INFINITY, "-2^128 as well, whatever else"},
    {XF32, 1, {0x1p100}, {0x1p100}, 0, INFINITY, "2^200 in xf32, too"},
    {BF16, 2, {0x1p100, 0x1p100}, {0x1p100, -0x1p100}, 0, NAN, "2^200 - 2^200 is NaN"},
    {BF16, 1, {0x1p100}, {0x1p100}, -INFINITY, NAN, "2^200 - infinity is NaN"},
    {BF16, 2, {0x1.8p63, 0x1.8p63}, {0x1p64, 0x1p64}, 0, INFINITY, "sums of 2^128 are infinite"},
    {BF16, 2, {0x1.8p63, -0x1.8p63}, {0x1p64, 0x1p64}, 0, 0, "finite products cancel"},
    {F16, 2, {INFINITY, 1}, {1, 1}, 0, INFINITY, "infinity stays"},
    {F16, 2, {INFINITY, 1}, {0, 1}, 0, NAN, "infinity * 0 is NaN"},
    {F16, 1, {1}, {1}, -INFINITY, -INFINITY, "an infinite accumulator stays"},
    {BF8, 2, {0x1p15, 1}, {0x1p15, 1}, INFINITY, INFINITY, "and is not dropped"},
};

static void other_types(void)
{
    for (unsigned i = 0; i < sizeof sums / sizeof *sums; i++) {
        const struct sum *s = &sums[i];
        float got = dot(s->type, s->n, s->a, s->b, s->c);
        if (!ok(isnan(s->result) ? isnan(got) : got == s->result, "%s: %s", units[s->type].name,
                s->what))
            tap_diag("%a instead of %a", (double)got, (double)s->result);
    }
}

/* The sign of a zero. */
static void zeros(void)
{
    double one[1] = {-1}, nothing[1] = {0}, tiny[1] = {-0x1p-100}, by[1] = {0x1p-60};
    ok(!signbit(dot(F16, 1, one, nothing, -0.0f)), "a sum that is 0 is +0");
    ok(signbit(dot(BF16, 1, tiny, by, 0)), "one that is rounded to 0 keeps its sign");
}

/* Adversarial mode: a sum that is no float becomes one of its two neighbours, now one, now the
 * other; one that is a float stays. */
static void directions(void)
{
    static const struct {
        double product;
        float begin, near, far;
    } inexact[] = {{0x1p-14, 4096, 4096, 4096 + 0x1p-11F},
                   {-0x1p-14, 4096, 4096, 4096 - 0x1p-12F},
                   {0x1p-14, -4096, -4096, -4096 + 0x1p-12F},
                   {-0x1p-14, -4096, -4096, -4096 - 0x1p-11F},
                   {0x1p-14, 0, 0x1p-14F, 0x1p-14F}};
    const double one = 1;

    launch.matrix = EMU_MATRIX_ADVERSARIAL;
    wave.rng = 7;
    for (unsigned i = 0; i < sizeof inexact / sizeof *inexact; i++) {
        unsigned seen[3] = {0};

        for (unsigned n = 0; n < 64; n++) {
            const float x = dot(F16, 1, &inexact[i].product, &one, inexact[i].begin);
            seen[x == inexact[i].near ? 0 : x == inexact[i].far ? 1 : 2]++;
        }
        ok(!seen[2] && (inexact[i].near == inexact[i].far || (seen[0] > 8 && seen[1] > 8)),
           "adversarial, %g + %g: %u times the nearer, %u the other", (double)inexact[i].begin,
           inexact[i].product, seen[0], seen[1]);
    }
}

int main(void)
{
    wave.lanes = 64;
    wave.group = &group;
    wave.v = calloc(ROWS * 64, sizeof *wave.v);
    if (!wave.v)
        return 1;
    measured_cuts();
    measured_exponents();
    measured_rounding();
    other_types();
    zeros();
    directions();
    free(wave.v);
    return tap_done();
}
