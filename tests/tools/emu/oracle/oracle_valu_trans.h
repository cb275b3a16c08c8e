/* Oracle, vector ALU: transcendental functions and the steps of a division. */
#ifndef AOTHIP_TEST_ORACLE_VALU_TRANS_H
#define AOTHIP_TEST_ORACLE_VALU_TRANS_H

#include "oracle_valu.h"

/*
 * f32 ones flush denormals even when MODE keeps them; not all manuals say so: both are permitted.
 * f16 and f64 ones may round by MODE or to nearest.
 */
static struct sf trans_load(struct oracle_lane *x, const struct sf_format *f, uint64_t a, bool keep)
{
    struct sf v = keep ? load(x, f, a) : sf_unpack(f, a);

    return !keep && v.denormal ? sf_zero(v.sign) : v;
}

static uint64_t trans(struct oracle_lane *x, const struct sf_format *f, uint64_t a,
                      struct sf (*fn)(struct sf))
{
    struct sf_env env = oracle_env(x->mode, f);
    uint64_t kept, flushed;

    env.round = SF_NEAREST;
    kept = sf_pack(f, fn(trans_load(x, f, a, true)), &env);
    if (f != &sf_f32) {
        permit(x, pack(x, f, fn(trans_load(x, f, a, true))));
        return kept;
    }
    flushed = pack_as(f, fn(trans_load(x, f, a, false)), SF_NEAREST, false);
    permit(x, flushed);
    return kept;
}

static struct sf do_exp2(struct sf v)
{
    if (v.cls == SF_IS_FINITE)
        return sf_transcendental(SF_EXP2, v);
    if (v.cls == SF_IS_ZERO)
        return sf_from_int(1);
    return v.cls == SF_IS_INF && v.sign ? sf_zero(false) : v;
}

static struct sf do_log2(struct sf v)
{
    if (v.cls == SF_IS_ZERO)
        return sf_inf(true);
    if (v.cls == SF_IS_NAN)
        return v;
    if (v.sign)
        return sf_nan();
    return v.cls == SF_IS_FINITE ? sf_transcendental(SF_LOG2, v) : v;
}

static struct sf do_rcp(struct sf v)
{
    return sf_div(sf_from_int(1), v);
}

static struct sf do_rsq(struct sf v)
{
    if (v.cls == SF_IS_ZERO)
        return sf_inf(v.sign);
    if (v.cls == SF_IS_NAN)
        return v;
    if (v.sign)
        return sf_nan();
    return v.cls == SF_IS_FINITE ? sf_sqrt(sf_div(sf_from_int(1), v)) : sf_zero(false);
}

static uint64_t exp2_(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return trans(x, f, a, do_exp2);
}

static uint64_t log2_(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    uint64_t r = trans(x, f, a, do_log2);

    if (sf_unpack(f, r).cls == SF_IS_ZERO) /* log 1: the sign of a difference */
        permit(x, pack(x, f, sf_zero(true)));
    return r;
}

static uint64_t rcp(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return trans(x, f, a, do_rcp);
}

static uint64_t root(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    return trans(x, f, a, sf_sqrt);
}

/* The f64 one is an approximation on silicon: a rounded root and a rounded quotient will do. */
static uint64_t rsq(struct oracle_lane *x, const struct sf_format *f, uint64_t a)
{
    uint64_t r = trans(x, f, a, do_rsq);

    if (f == &sf_f64) {
        permit(x, rcp(x, f, root(x, f, a)));
        x->open = round_of(x, f) != SF_NEAREST;
    }
    return r;
}

/* One place further in the direction of rounding: what a table that is off by less gives. */
static uint64_t beyond(uint64_t f16, enum sf_round round)
{
    bool grows = f16 >> 15 ? round == SF_DOWN : round == SF_UP;

    return grows ? f16 + 1 : f16 - 1;
}

static uint64_t turn(struct oracle_lane *x, const struct sf_format *f, uint64_t a,
                     enum sf_function fn)
{
    struct sf v = load(x, f, a), r;

    if (v.cls == SF_IS_NAN || v.cls == SF_IS_INF)
        return pack(x, f, sf_nan());
    r = v.cls == SF_IS_ZERO ? (fn == SF_SIN ? v : sf_from_int(1)) : sf_transcendental(fn, v);
    if (r.cls == SF_IS_ZERO) /* its sign is not documented */
        permit(x, pack(x, f, sf_neg(r)));
    else if (v.denormal) /* flushed or not, to which zero */
        x->open = 1;
    else if (f == &sf_f16 && round_of(x, f)) {
        uint64_t d = pack(x, f, r);

        if (d & 0x7fff)
            permit(x, beyond(d, round_of(x, f)));
        return d;
    }
    return pack_as(f, r, SF_NEAREST, oracle_env(x->mode, f).denorm_out);
}

/* ---- division */

static unsigned exponent_of(const struct sf_format *f, uint64_t bits)
{
    return (unsigned)(bits >> f->frac_bits) & ((1u << f->exp_bits) - 1);
}

static uint64_t div_fixup(struct oracle_lane *x, const struct sf_format *f, uint64_t q, uint64_t b,
                          uint64_t a)
{
    struct sf den = load(x, f, b), num = load(x, f, a), quot;
    bool sign = den.sign != num.sign;
    unsigned width = 1 + f->exp_bits + f->frac_bits;
    int gap = (int)exponent_of(f, a) - (int)exponent_of(f, b);
    uint64_t minus = (uint64_t)sign << (width - 1);

    if (num.cls == SF_IS_NAN)
        return quieted(f, a);
    if (den.cls == SF_IS_NAN)
        return quieted(f, b);
    if ((den.cls == SF_IS_ZERO && num.cls == SF_IS_ZERO) ||
        (den.cls == SF_IS_INF && num.cls == SF_IS_INF))
        return pack(x, f, sf_neg(sf_nan()));
    if (den.cls == SF_IS_ZERO || num.cls == SF_IS_INF)
        return pack(x, f, sf_inf(sign));
    if (den.cls == SF_IS_INF || num.cls == SF_IS_ZERO)
        return minus;
    if ((f == &sf_f32 && gap < -150) || (f == &sf_f64 && gap < -1075)) { /* underflow */
        permit(x,
               pack(x, f, (struct sf){.cls = SF_IS_FINITE, .sign = sign, .sig = 1, .exp = -3000}));
        return minus;
    }
    quot = load(x, f, q);
    if (quot.cls == SF_IS_NAN) /* an estimate that overflowed: infinity on hardware */
        permit(x, pack(x, f, sf_inf(sign)));
    return (pack(x, f, quot) & ~(UINT64_C(1) << (width - 1))) | minus;
}

/*
 * The fused sum, scaled when VCC is set. The text scales by 2^32 (2^64 for f64); silicon was seen
 * to scale by 2^64 (2^128), up when S2 is at least 2 and down otherwise, which is what undoes
 * v_div_scale: that is taken. The sum is rounded before the scaling, or after.
 */
static uint64_t div_fmas(struct oracle_lane *x, const struct sf_format *f, int scale)
{
    struct sf r = sf_fma(load(x, f, S0), load(x, f, S1), load(x, f, S2), round_of(x, f));
    int n = exponent_of(f, S2) >= 1u << (f->exp_bits - 1) ? 2 * scale : -2 * scale;

    if (!x->s[3])
        return pack(x, f, r);
    permit(x, pack(x, f, sf_scale(r, n)));
    return pack(x, f, sf_scale(sf_unpack(f, pack(x, f, r)), n));
}

/* The cases in which manual and silicon agree; elsewhere the result is left open. */
static void div_scale(struct oracle_lane *x, const struct sf_format *f)
{
    uint64_t num = S2, den = S1;
    int gap = (int)exponent_of(f, num) - (int)exponent_of(f, den);
    int far = f == &sf_f32 ? 96 : 768, step = f == &sf_f32 ? 64 : 128;
    int low = f == &sf_f32 ? 23 : 53;
    struct sf a = load(x, f, num), b = load(x, f, den);
    bool plain = a.cls == SF_IS_FINITE && b.cls == SF_IS_FINITE && !a.denormal && !b.denormal &&
                 (int)exponent_of(f, num) > low + 1 &&
                 exponent_of(f, den) < (1u << f->exp_bits) - 4 && gap > -far;

    D = S0;
    x->carry = false;
    if (!plain) {
        x->open = 3;
        return;
    }
    if (gap >= far) {
        x->carry = true;
        if (S0 == S1)
            D = pack(x, f, sf_scale(load(x, f, S0), step));
    }
}

#define DIV_SCALE(f) div_scale(x, f)

/* 2/pi, 1216 bits after the point */
static const uint32_t two_over_pi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

/* 53 bits of 2/pi (of which 1201 are known), counted from the point by S1 and by the exponent */
static uint64_t trig_preop(struct oracle_lane *x, uint64_t a, uint64_t index)
{
    int e = (int)exponent_of(&sf_f64, a), shift = (int)(index & 31) * 53, scale;
    uint64_t bits = 0;
    struct sf r;

    if (e > 1077)
        shift += e - 1077;
    for (int i = shift; i < shift + 53; i++)
        bits = bits << 1 | (i < 1201 ? two_over_pi[i / 32] >> (31 - i % 32) & 1 : 0);
    scale = -53 - shift;
    if (e >= 1968)
        scale += 128;
    r = sf_scale(sf_from_uint(bits), scale);
    return pack(x, &sf_f64, r);
}

#endif
