/* Oracle, vector ALU: additions, products, minima and maxima. */
#ifndef AOTHIP_TEST_ORACLE_VALU_ARITH_H
#define AOTHIP_TEST_ORACLE_VALU_ARITH_H

#include "oracle_valu.h"

static uint64_t add(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b)
{
    return pack(x, f, sf_add(load(x, f, a), load(x, f, b), round_of(x, f)));
}

static uint64_t sub(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b)
{
    return pack(x, f, sf_add(load(x, f, a), sf_neg(load(x, f, b)), round_of(x, f)));
}

static uint64_t mul(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b)
{
    return pack(x, f, sf_mul(load(x, f, a), load(x, f, b)));
}

static uint64_t fma_(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                     uint64_t c)
{
    return pack(x, f, sf_fma(load(x, f, a), load(x, f, b), load(x, f, c), round_of(x, f)));
}

/*
 * v_mad and v_mac round the product before the sum and flush denormals whatever MODE says; for f16
 * some manuals let MODE decide, so that is permitted.
 */
static uint64_t mad(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                    uint64_t c)
{
    struct sf_env env = {round_of(x, f), false, false};
    uint64_t p = sf_pack(f, sf_mul(sf_load(f, a, &env), sf_load(f, b, &env)), &env);
    uint64_t r = sf_pack(f, sf_add(sf_load(f, p, &env), sf_load(f, c, &env), env.round), &env);

    if (f == &sf_f16)
        permit(x, add(x, f, mul(x, f, a, b), c));
    return r;
}

static bool zero_for(const struct oracle_lane *x, uint64_t bits)
{
    return load(x, &sf_f32, bits).cls == SF_IS_ZERO;
}

static uint64_t dx9_mul(struct oracle_lane *x, uint64_t a, uint64_t b)
{
    return zero_for(x, a) || zero_for(x, b) ? 0 : mul(x, &sf_f32, a, b);
}

/* Zero times anything is +0 and is added: the manual's shortcut to S2 differs in +0 + -0 only. */
static uint64_t dx9_fma(struct oracle_lane *x, uint64_t a, uint64_t b, uint64_t c)
{
    if (zero_for(x, a) || zero_for(x, b)) {
        permit(x, pack(x, &sf_f32, sf_add(sf_zero(false), load(x, &sf_f32, c), SF_NEAREST)));
        return c;
    }
    return fma_(x, &sf_f32, a, b, c);
}

static uint64_t dx9_mad(struct oracle_lane *x, uint64_t a, uint64_t b, uint64_t c)
{
    struct sf_env env = {round_of(x, &sf_f32), false, false};

    if (sf_unpack(&sf_f32, a).denormal || sf_unpack(&sf_f32, b).denormal ||
        sf_unpack(&sf_f32, c).denormal)
        x->open = 1; /* is a flushed denormal a zero for the legacy rule? */
    if (sf_is_nan_bits(&sf_f32, c) && !sf_is_quiet_bits(&sf_f32, c))
        x->open = 1; /* does the addend pass as it is? */
    if (sf_load(&sf_f32, a, &env).cls == SF_IS_ZERO ||
        sf_load(&sf_f32, b, &env).cls == SF_IS_ZERO) {
        permit(x, sf_pack(&sf_f32, sf_add(sf_zero(false), sf_load(&sf_f32, c, &env), SF_NEAREST),
                          &env));
        return sf_pack(&sf_f32, sf_load(&sf_f32, c, &env), &env);
    }
    return mad(x, &sf_f32, a, b, c);
}

static uint64_t quieted(const struct sf_format *f, uint64_t bits)
{
    return bits | UINT64_C(1) << (f->frac_bits - 1);
}

/* A number passed through by min and max; denormals obey MODE. */
static uint64_t through(const struct oracle_lane *x, const struct sf_format *f, uint64_t bits)
{
    return sf_is_nan_bits(f, bits) ? bits : pack(x, f, load(x, f, bits));
}

/*
 * The number if one operand is NaN. IEEE mode returns a signalling NaN of either operand, quieted.
 * With two NaNs gfx9's text returns S1, outside IEEE mode also a signalling one as it is, and
 * gfx11's S0.
 */
static uint64_t extremum(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                         bool greatest)
{
    bool an = sf_is_nan_bits(f, a), bn = sf_is_nan_bits(f, b);
    struct sf p, q;
    int order;

    if (x->mode & MODE_IEEE) {
        if (an && !sf_is_quiet_bits(f, a))
            return quieted(f, a);
        if (bn && !sf_is_quiet_bits(f, b))
            return quieted(f, b);
    }
    if (an && bn) {
        x->any_nan = x->gfx11 || (x->clamp && !sf_is_quiet_bits(f, b)); /* what clamps may quiet */
        return x->gfx11 ? a : b;
    }
    if (an)
        return through(x, f, b);
    if (bn)
        return through(x, f, a);
    p = load(x, f, a);
    q = load(x, f, b);
    order = sf_compare(p, q);
    if (!order) /* -0 is less than +0 */
        order = p.sign == q.sign ? 0 : p.sign ? -1 : 1;
    return pack(x, f, (greatest ? order > 0 : order < 0) ? p : q);
}

static uint64_t min_(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b)
{
    return extremum(x, f, a, b, false);
}

static uint64_t max_(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b)
{
    return extremum(x, f, a, b, true);
}

static bool less(struct sf a, struct sf b);

/* minimumNumber and maximumNumber: the number, if one operand is NaN. Of two NaNs either. */
static uint64_t number(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                       bool greatest)
{
    struct sf p = load(x, f, a), q = load(x, f, b);

    if (p.cls == SF_IS_NAN && q.cls == SF_IS_NAN) {
        x->any_nan = true;
        return quieted(f, a);
    }
    if (p.cls == SF_IS_NAN || q.cls == SF_IS_NAN)
        return pack(x, f, p.cls == SF_IS_NAN ? q : p);
    return pack(x, f, less(p, q) != greatest ? p : q);
}

/* Of three, the least or the greatest; any NaN is the result. */
static uint64_t least(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                      uint64_t c, bool greatest)
{
    uint64_t all[3] = {a, b, c};
    struct sf best = load(x, f, a);

    for (int i = 0; i < 3; i++)
        if (sf_is_nan_bits(f, all[i]))
            return pack(x, f, load(x, f, all[i]));
    for (int i = 1; i < 3; i++) {
        struct sf v = load(x, f, all[i]);

        if (greatest ? less(best, v) : less(v, best))
            best = v;
    }
    return pack(x, f, best);
}

static bool less(struct sf a, struct sf b) /* -0 is less than +0 */
{
    int order = sf_compare(a, b);

    return order < 0 || (!order && a.sign && !b.sign);
}

/*
 * The middle one; with a NaN, the least. The text finds it by comparing with the greatest, which
 * takes zeros of both signs for equal.
 */
static uint64_t med3(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                     uint64_t c)
{
    struct sf v[3] = {load(x, f, a), load(x, f, b), load(x, f, c)}, t;

    if (sf_is_nan_bits(f, a) || sf_is_nan_bits(f, b) || sf_is_nan_bits(f, c))
        return oracle_is_gfx12(x->target) ? number(x, f, number(x, f, a, b, false), c, false)
                                      : min_(x, f, min_(x, f, a, b), c);
    for (int i = 0; i < 3; i++)
        if (less(v[(i + 1) % 2 + 1], v[(i + 1) % 2])) {
            t = v[(i + 1) % 2];
            v[(i + 1) % 2] = v[(i + 1) % 2 + 1];
            v[(i + 1) % 2 + 1] = t;
        }
    if (v[1].cls == SF_IS_ZERO)
        permit(x, pack(x, f, sf_neg(v[1])));
    return pack(x, f, v[1]);
}

static uint64_t mullit(struct oracle_lane *x, uint64_t a, uint64_t b, uint64_t c)
{
    struct sf q = load(x, &sf_f32, b), r = load(x, &sf_f32, c);

    if (b == 0xff7fffff || (q.cls == SF_IS_INF && q.sign) || q.cls == SF_IS_NAN ||
        r.cls == SF_IS_NAN || sf_compare(r, sf_zero(false)) <= 0)
        return 0xff7fffff;
    if (zero_for(x, a) || zero_for(x, b))
        permit(x, 0);
    return mul(x, &sf_f32, a, b);
}

static uint64_t ldexp_(struct oracle_lane *x, const struct sf_format *f, uint64_t a, int n)
{
    n = n > 100000 ? 100000 : n < -100000 ? -100000 : n;
    return pack(x, f, sf_scale(load(x, f, a), n));
}

/* which: 0 face, 1 S, 2 T, 3 twice the major axis */
static uint64_t cube(struct oracle_lane *x, int which, uint64_t a, uint64_t b, uint64_t c)
{
    const struct sf_format *f = &sf_f32;
    struct sf vx = load(x, f, a), vy = load(x, f, b), vz = load(x, f, c), r;
    struct sf ax = sf_abs(vx), ay = sf_abs(vy), az = sf_abs(vz), zero = sf_zero(false);
    bool z_major = sf_compare(az, ax) >= 0 && sf_compare(az, ay) >= 0;
    bool y_major = !z_major && sf_compare(ay, ax) >= 0;
    struct sf major = z_major ? vz : y_major ? vy : vx;
    bool negative = sf_compare(major, zero) < 0;

    switch (which) {
    case 0:
        return pack(x, f, sf_from_int((z_major ? 4 : y_major ? 2 : 0) + negative));
    case 1:
        r = z_major ? (negative ? sf_neg(vx) : vx) : y_major ? vx : negative ? vz : sf_neg(vz);
        return pack(x, f, r);
    case 2:
        r = y_major ? (negative ? sf_neg(vz) : vz) : sf_neg(vy);
        return pack(x, f, r);
    default:
        return pack(x, f, sf_scale(major, 1));
    }
}

#endif
