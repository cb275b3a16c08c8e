/*
 * The oracle's soft-float against the host's hardware: f32 and f64 add, multiply, fma, divide and
 * square root in all four rounding modes, conversions, and the properties of the 8-bit formats.
 */
#include <fenv.h>
#include <math.h>

#include "softfloat.h"
#include "tap.h"

static uint64_t seed = 0x5eed50f7;

static uint64_t rnd(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * UINT64_C(2685821657736338717);
}

/* Exponents near each other, so that sums cancel and products straddle the limits. */
static uint64_t operand(const struct sf_format *f)
{
    unsigned width = 1 + f->exp_bits + f->frac_bits;
    uint64_t bits = rnd() >> (64 - width), r = rnd();
    uint64_t emax = (1u << f->exp_bits) - 1;
    static const int near[] = {0, 1, 2, 3};

    switch (r % 8) {
    case 0:
        return bits;
    case 1: /* around one */
        bits &= ~(emax << f->frac_bits);
        return bits | (emax / 2 - 2 + (r >> 8) % 5) << f->frac_bits;
    case 2: /* tiny */
        bits &= ~(emax << f->frac_bits);
        return bits | (uint64_t)near[(r >> 8) % 4] << f->frac_bits;
    case 3: /* huge, infinite, NaN */
        bits &= ~(emax << f->frac_bits);
        return bits | (emax - (r >> 8) % 3) << f->frac_bits;
    case 4: /* few bits set */
        return bits & rnd() & rnd();
    case 5:
        return (r >> 8 & 1) << (width - 1) | ((r >> 9) % 3 == 0 ? emax << f->frac_bits : 0);
    case 6: /* around the middle of the range, so that squares neither over- nor underflow */
        bits &= ~(emax << f->frac_bits);
        return bits | (emax / 4 + (r >> 8) % (emax / 2)) << f->frac_bits;
    default:
        return bits | (bits >> 7 & 0x7f);
    }
}

static float f32_of(uint64_t b)
{
    uint32_t w = (uint32_t)b;
    float x;

    memcpy(&x, &w, 4);
    return x;
}

static uint64_t bits_f32(float x)
{
    uint32_t w;

    memcpy(&w, &x, 4);
    return w;
}

static double f64_of(uint64_t b)
{
    double x;

    memcpy(&x, &b, 8);
    return x;
}

static uint64_t bits_f64(double x)
{
    uint64_t b;

    memcpy(&b, &x, 8);
    return b;
}

enum { ADD, MUL, FMA, DIV, SQRT, OPS };
static const char *const op_names[] = {"add", "mul", "fma", "div", "sqrt"};

static uint64_t host32(int op, uint64_t a, uint64_t b, uint64_t c)
{
    volatile float x = f32_of(a), y = f32_of(b), z = f32_of(c), r = 0;

    switch (op) {
    case ADD:
        r = x + y;
        break;
    case MUL:
        r = x * y;
        break;
    case FMA:
        r = fmaf(x, y, z);
        break;
    case DIV:
        r = x / y;
        break;
    case SQRT:
        r = sqrtf(x);
        break;
    }
    return bits_f32(r);
}

static uint64_t host64(int op, uint64_t a, uint64_t b, uint64_t c)
{
    volatile double x = f64_of(a), y = f64_of(b), z = f64_of(c), r = 0;

    switch (op) {
    case ADD:
        r = x + y;
        break;
    case MUL:
        r = x * y;
        break;
    case FMA:
        r = fma(x, y, z);
        break;
    case DIV:
        r = x / y;
        break;
    case SQRT:
        r = sqrt(x);
        break;
    }
    return bits_f64(r);
}

static uint64_t soft(int op, const struct sf_format *f, uint64_t a, uint64_t b, uint64_t c,
                     enum sf_round round)
{
    struct sf_env env = {round, true, true};
    struct sf x = sf_load(f, a, &env), y = sf_load(f, b, &env), z = sf_load(f, c, &env), r;

    switch (op) {
    case ADD:
        r = sf_add(x, y, round);
        break;
    case MUL:
        r = sf_mul(x, y);
        break;
    case FMA:
        r = sf_fma(x, y, z, round);
        break;
    case DIV:
        r = sf_div(x, y);
        break;
    default:
        r = sf_sqrt(x);
        break;
    }
    return sf_pack(f, r, &env);
}

static void arithmetic(void)
{
    static const int host_mode[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    static const char *const mode_name[] = {"nearest", "up", "down", "zero"};
    enum { TRIALS = 40000 };

    for (int wide = 0; wide < 2; wide++)
        for (int op = 0; op < OPS; op++)
            for (int m = 0; m < 4; m++) {
                const struct sf_format *f = wide ? &sf_f64 : &sf_f32;
                int bad = 0;

                for (int i = 0; i < TRIALS; i++) {
                    uint64_t a = operand(f), b = operand(f), c = operand(f);
                    uint64_t want, got = soft(op, f, a, b, c, (enum sf_round)m);

                    if (i % 5 == 0) /* near cancellation in the fused sum */
                        c = soft(MUL, f, a, b, 0, SF_NEAREST) ^ UINT64_C(1)
                                                                    << (f->exp_bits + f->frac_bits);
                    got = soft(op, f, a, b, c, (enum sf_round)m);
                    fesetround(host_mode[m]);
                    want = wide ? host64(op, a, b, c) : host32(op, a, b, c);
                    fesetround(FE_TONEAREST);
                    if (sf_is_nan_bits(f, want) ? sf_is_quiet_bits(f, got) : got == want)
                        continue;
                    if (!bad++)
                        tap_diag("%016llx %016llx %016llx: got %016llx, host %016llx",
                                 (unsigned long long)a, (unsigned long long)b,
                                 (unsigned long long)c, (unsigned long long)got,
                                 (unsigned long long)want);
                }
                ok(bad == 0, "%s %s, rounding %s, %d trials", wide ? "f64" : "f32", op_names[op],
                   mode_name[m], TRIALS);
            }
}

static void conversions(void)
{
    static const int host_mode[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    int bad = 0, bad_int = 0, bad_trip = 0;

    for (int m = 0; m < 4; m++)
        for (int i = 0; i < 20000; i++) {
            struct sf_env env = {(enum sf_round)m, true, true};
            uint64_t d = operand(&sf_f64), got = sf_pack(&sf_f32, sf_unpack(&sf_f64, d), &env);
            volatile float host;

            fesetround(host_mode[m]);
            host = (float)f64_of(d);
            fesetround(FE_TONEAREST);
            bad += isnan(host) ? !sf_is_quiet_bits(&sf_f32, got) : got != bits_f32(host);
        }
    ok(!bad, "f64 to f32 in four rounding modes");
    for (int i = 0; i < 20000; i++) {
        uint64_t d = operand(&sf_f64);
        double x = f64_of(d);
        int64_t want = isnan(x)             ? 0
                       : x >= 2147483647.0  ? 2147483647
                       : x <= -2147483648.0 ? -2147483648LL
                                            : (int64_t)x;

        bad_int += sf_to_int(sf_unpack(&sf_f64, d), INT32_MIN, INT32_MAX) != want;
    }
    ok(!bad_int, "f64 to i32 truncates and saturates");
    for (uint32_t h = 0; h < 0x10000; h++) {
        struct sf_env env = {SF_NEAREST, true, true};
        struct sf a = sf_unpack(&sf_f16, h);

        if (a.cls != SF_IS_NAN)
            bad_trip += sf_pack(&sf_f16, sf_unpack(&sf_f32, sf_pack(&sf_f32, a, &env)), &env) != h;
        a = sf_unpack(&sf_bf16, h);
        if (a.cls != SF_IS_NAN)
            bad_trip += sf_pack(&sf_f32, a, &env) != (uint64_t)h << 16;
    }
    ok(!bad_trip, "every f16 survives f32; every bf16 is the high half of its f32");
}

static void small_formats(void)
{
    int bad = 0, bad_ocp = 0;

    for (unsigned b = 0; b < 256; b++) {
        const struct sf fp8 = sf_unpack(&sf_fp8_ocp, b), bf8 = sf_unpack(&sf_bf8_ocp, b);

        bad_ocp +=
            fp8.cls == SF_IS_NAN ? (b & 0x7f) != 0x7f : sf_pack8(&sf_fp8_ocp, fp8, false) != b;
        bad_ocp +=
            bf8.cls == SF_IS_NAN ? (b & 0x7f) <= 0x7c : sf_pack8(&sf_bf8_ocp, bf8, false) != b;
        bad += sf_pack8(&sf_fp8, sf_unpack(&sf_fp8, b), false) != b;
        bad += sf_pack8(&sf_bf8, sf_unpack(&sf_bf8, b), false) != b;
    }
    ok(!bad, "every fp8 and bf8 packs to itself");
    is_int(sf_to_int(sf_unpack(&sf_fp8, 0x7f), -1000, 1000), 240, "largest fp8");
    is_int(sf_to_int(sf_unpack(&sf_bf8, 0x7f), -100000, 100000), 57344, "largest bf8");
    is_int((long long)sf_pack8(&sf_fp8, sf_from_int(249), false), 0x80, "beyond the largest: NaN");
    is_int((long long)sf_pack8(&sf_fp8, sf_from_int(-1000), true), 0xff, "... or saturated");
    is_int((long long)sf_pack8(&sf_fp8, sf_from_int(247), false), 0x7f, "rounds down to it");
    ok(!bad_ocp, "every OCP e4m3 and e5m2 packs to itself");
    is_int(sf_to_int(sf_unpack(&sf_fp8_ocp, 0x7e), -1000, 1000), 448, "largest OCP e4m3");
    is_int((long long)sf_pack8(&sf_fp8_ocp, sf_from_int(-464), false), 0xfe,
           "464 is a tie, to 448");
    is_int((long long)sf_pack8(&sf_fp8_ocp, sf_from_int(-465), false), 0xff, "beyond it: NaN");
    is_int((long long)sf_pack8(&sf_bf8_ocp, sf_from_int(61440), false), 0x7c, "of e5m2: infinity");
    is_int((long long)sf_pack8(&sf_bf8_ocp, sf_from_int(61440), true), 0x7b, "... or saturated");
}

static void transcendentals(void)
{
    int bad = 0;

    for (int i = 0; i < 20000; i++) {
        struct sf_env env = {SF_NEAREST, true, true};
        uint64_t a = operand(&sf_f32);
        struct sf x = sf_unpack(&sf_f32, a);
        float v = f32_of(a);

        if (x.cls != SF_IS_FINITE)
            continue;
        bad += f32_of(sf_pack(&sf_f32, sf_transcendental(SF_EXP2, x), &env)) != (float)exp2(v);
        if (!x.sign)
            bad += f32_of(sf_pack(&sf_f32, sf_transcendental(SF_LOG2, x), &env)) != (float)log2(v);
    }
    ok(bad <= 2, "exp2 and log2 round as the host's double does, but for double rounding (%d)",
       bad);
    is_int((long long)sf_transcendental(SF_SIN, sf_scale(sf_from_int(1), -1)).cls, SF_IS_ZERO,
           "sin of half a turn is 0");
    is_int(sf_to_int(sf_transcendental(SF_COS, sf_scale(sf_from_int(1), -1)), -5, 5), -1,
           "cos of half a turn is -1");
}

int main(void)
{
    tap_diag("seed %llx", (unsigned long long)seed);
    arithmetic();
    conversions();
    small_formats();
    transcendentals();
    return tap_done();
}
