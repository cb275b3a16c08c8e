/* Oracle, vector ALU: conversions between formats and to integral values. */
#ifndef AOTHIP_TEST_ORACLE_VALU_CONVERT_H
#define AOTHIP_TEST_ORACLE_VALU_CONVERT_H

#include "oracle_valu.h"

static uint64_t to_i(struct oracle_lane *x, const struct sf_format *f, uint64_t a, int64_t lo,
                     int64_t hi)
{
    uint64_t mask = hi == INT16_MAX ? 0xffff : 0xffffffff;

    return (uint64_t)sf_to_int(load(x, f, a), lo, hi) & mask;
}

static uint64_t to_u(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t hi)
{
    return sf_to_uint(load(x, f, a), hi);
}

/* floor(S0 + 0.5): the sum is rounded, or not, to f32 */
static uint64_t nearest_i32(struct oracle_lane *x, uint64_t a)
{
    struct sf exact = sf_add(load(x, &sf_f32, a), sf_scale(sf_from_int(1), -1), SF_NEAREST);
    struct sf rounded = sf_unpack(&sf_f32, pack(x, &sf_f32, exact));

    permit(x, (uint32_t)sf_to_int(sf_integral(rounded, SF_DOWN), INT32_MIN, INT32_MAX));
    return (uint32_t)sf_to_int(sf_integral(exact, SF_DOWN), INT32_MIN, INT32_MAX);
}

static uint64_t floor_i32(struct oracle_lane *x, uint64_t a)
{
    permit(x,
           (uint32_t)sf_to_int(sf_integral(sf_unpack(&sf_f32, a), SF_DOWN), INT32_MIN, INT32_MAX));
    return (uint32_t)sf_to_int(sf_integral(load(x, &sf_f32, a), SF_DOWN), INT32_MIN, INT32_MAX);
}

/* f64 to f32: the manuals do not say which of the two rounding fields rules. */
/* Two numbers to 16 bits each, to nearest even. */
static uint64_t nearest_pair(const struct sf_format *f, uint64_t a, uint64_t b)
{
    static const struct sf_env env = {SF_NEAREST, true, true};

    return sf_pack(f, sf_unpack(&sf_f32, a), &env) | sf_pack(f, sf_unpack(&sf_f32, b), &env) << 16;
}

static uint64_t narrow(struct oracle_lane *x, uint64_t a)
{
    struct sf_env env = oracle_env(x->mode, &sf_f32);

    env.round = round_of(x, &sf_f64);
    permit(x, sf_pack(&sf_f32, load(x, &sf_f64, a), &env));
    return pack(x, &sf_f32, load(x, &sf_f64, a));
}

/*
 * Scaled and rounded to the nearest. Which rounding mode rules, whether the product is first
 * rounded to f32 and whether input denormals are flushed is not documented.
 */
static uint64_t norm(struct oracle_lane *x, const struct sf_format *f, uint64_t a, int scale,
                     int lo)
{
    struct sf_env env = {SF_NEAREST, true, true};
    struct sf v = sf_unpack(f, a), once;

    if (v.cls == SF_IS_NAN)
        return 0;
    if ((v.denormal && load(x, f, a).cls == SF_IS_ZERO) || round_of(x, f) || round_of(x, &sf_f32))
        x->open = 1;
    if (sf_compare(v, sf_from_int(lo)) < 0)
        v = sf_from_int(lo);
    if (sf_compare(v, sf_from_int(1)) > 0)
        v = sf_from_int(1);
    v = sf_mul(v, sf_from_int(scale));
    once = sf_unpack(&sf_f32, sf_pack(&sf_f32, v, &env));
    permit(x, (uint64_t)sf_to_int(sf_integral(once, SF_NEAREST), INT32_MIN, INT32_MAX) & 0xffff);
    return (uint64_t)sf_to_int(sf_integral(v, SF_NEAREST), INT32_MIN, INT32_MAX) & 0xffff;
}

static uint64_t snorm(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return norm(x, f, a, 32767, -1);
}

static uint64_t unorm(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return norm(x, f, a, 65535, 0);
}

/* Two of a kind: both take the first reading, or both the second. */
#define BOTH(fn)                                                                                   \
    static uint64_t fn##_pair(struct oracle_lane *x, const struct sf_format *f, uint64_t a,        \
                              uint64_t b)                                                          \
    {                                                                                              \
        uint64_t lo = fn(x, f, a), lo_alt = x->has_alt ? x->alt : lo, hi, hi_alt;                  \
                                                                                                   \
        x->has_alt = false;                                                                        \
        hi = fn(x, f, b);                                                                          \
        hi_alt = x->has_alt ? x->alt : hi;                                                         \
        permit(x, PAIR(lo_alt, hi_alt));                                                           \
        return PAIR(lo, hi);                                                                       \
    }

/* Toward zero whatever MODE says; f16 denormals may be kept whatever it says. */
static uint64_t rtz16(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    struct sf_env env = oracle_env(x->mode, f);

    env.round = SF_ZERO;
    permit(x, pack_as(f, load(x, &sf_f32, a), SF_ZERO, true));
    return sf_pack(f, load(x, &sf_f32, a), &env);
}

/* A move that may canonicalise: denormals flushed by MODE. */
static uint64_t canonical(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    permit(x, through(x, f, a));
    return a;
}

BOTH(snorm)
BOTH(unorm)
BOTH(rtz16)
BOTH(canonical)

/* One byte replaced; the conversion to it truncates or rounds to even. */
static uint64_t pk_u8(struct oracle_lane *x, uint64_t a, uint64_t byte, uint64_t into)
{
    unsigned at = (unsigned)(byte & 3) * 8;
    struct sf v = load(x, &sf_f32, a);
    uint64_t rest = into & ~(UINT64_C(255) << at) & 0xffffffff;

    permit(x, rest | sf_to_uint(sf_integral(v, round_of(x, &sf_f32)), 255) << at);
    return rest | sf_to_uint(v, 255) << at;
}

static uint64_t f32_to_8(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return sf_pack8(f, load(x, &sf_f32, a), x->mode & MODE_FP16_OVFL);
}

/*
 * Stochastic rounding: random bits are added below the last bit that stays, then truncation; the
 * text sets a rounding mode of its own, so MODE has no say. It adds the random bits to the mantissa
 * alone and rounds to nearest what follows, which would be biased; silicon was seen not to be. For
 * results below the least normal one it does not say to which place they are added.
 */
static uint64_t sr_8(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t random)
{
    struct sf v = load(x, &sf_f32, a);
    const unsigned width = 23 - f->frac_bits;
    int bias = (1 << (f->exp_bits - 1)) - !f->fnuz;

    if (v.cls != SF_IS_FINITE)
        return sf_pack8(f, v, x->mode & MODE_FP16_OVFL);
    if (v.denormal || v.exp + 23 < 1 - bias) { /* not documented */
        x->open = 1;
        return 0;
    }
    v.sig = (v.sig + (random >> (32 - width))) & ~((UINT64_C(1) << width) - 1);
    return sf_pack8(f, v, x->mode & MODE_FP16_OVFL);
}

/* The same to 16 bits; the manual of CDNA 4 does not say which random bits, taken to be as above. */
static uint64_t sr_16(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t random)
{
    static const struct sf_env env = {SF_NEAREST, true, true};
    struct sf v = sf_unpack(&sf_f32, a);
    const unsigned width = 23 - f->frac_bits;

    if (v.cls != SF_IS_FINITE)
        return sf_pack(f, v, &env);
    if (v.denormal || v.exp + 23 < 2 - (1 << (f->exp_bits - 1))) { /* not documented */
        x->open = 1;
        return 0;
    }
    v.sig = (v.sig + (random >> (32 - width))) & ~((UINT64_C(1) << width) - 1);
    return sf_pack(f, v, &env);
}

/* A byte of an integer that saturates. */
static uint64_t within(int32_t a, int32_t least, int32_t most)
{
    return (uint64_t)(a < least ? least : a > most ? most : a) & 0xff;
}

static uint64_t pk_f32_8(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return pack(x, &sf_f32, sf_unpack(f, a & 255)) | pack(x, &sf_f32, sf_unpack(f, a >> 8 & 255))
                                                         << 32;
}

/* ---- to integral values */

/* No manual says whether input denormals are flushed before they are rounded away from zero. */
static uint64_t integral(struct oracle_lane *x, const struct sf_format *f, uint64_t a,
                         enum sf_round round)
{
    permit(x, pack(x, f, sf_integral(sf_unpack(f, a), round)));
    return pack(x, f, sf_integral(load(x, f, a), round));
}

/* x - floor x; the largest number below 1 when that rounds to 1 */
static uint64_t fract(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    struct sf v = load(x, f, a), r;
    uint64_t one = pack(x, f, sf_from_int(1)), got;

    if (v.cls == SF_IS_NAN)
        return pack(x, f, v);
    r = sf_add(v, sf_neg(sf_integral(v, SF_DOWN)), round_of(x, f));
    got = pack(x, f, r);
    if (got == one) {
        permit(x, one);
        return one - 1;
    }
    if (r.cls == SF_IS_ZERO) /* the sign of zero follows the rounding mode, or is + */
        permit(x, 0);
    return got;
}

/* A denormal is its own exponent and mantissa, or, as the pseudo-code reads, has that of 2^emin. */
static uint64_t frexp_exp(struct oracle_lane *x, const struct sf_format *f, uint64_t a,
                          unsigned bits)
{
    struct sf v = load(x, f, a);
    uint64_t mask = bits == 16 ? 0xffff : 0xffffffff;
    int emin = 2 - (1 << (f->exp_bits - 1)), n = 0;

    if (v.cls == SF_IS_ZERO)
        permit(x, (uint64_t)emin & mask);
    if (v.cls != SF_IS_FINITE)
        return 0;
    while (v.sig >> n)
        n++;
    return (uint64_t)(v.exp + n) & mask;
}

static uint64_t frexp_mant(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    struct sf v = load(x, f, a);
    int n = 0;

    if (v.cls == SF_IS_NAN)
        permit(x, a);
    if (v.cls == SF_IS_FINITE) {
        while (v.sig >> n)
            n++;
        v.exp = -n;
    }
    return pack(x, f, v);
}

#endif
