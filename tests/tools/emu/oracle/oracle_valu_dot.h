/* Oracle, vector ALU: dot products and mixed precision. */
#ifndef AOTHIP_TEST_ORACLE_VALU_DOT_H
#define AOTHIP_TEST_ORACLE_VALU_DOT_H

#include "oracle_valu.h"

static int64_t element(uint64_t v, unsigned bits, unsigned i, int is_signed)
{
    uint64_t e = v >> i * bits & ((UINT64_C(1) << bits) - 1);

    return is_signed ? (int64_t)(e << (64 - bits)) >> (64 - bits) : (int64_t)e;
}

static uint64_t dot(struct oracle_lane *x, unsigned bits, int a_signed, int b_signed, uint64_t a,
                    uint64_t b, uint64_t c)
{
    int64_t sum = a_signed || b_signed || x->op_is_signed ? (int64_t)(int32_t)c : (int64_t)c;

    for (unsigned i = 0; i < 32 / bits; i++)
        sum += element(a, bits, i, a_signed) * element(b, bits, i, b_signed);
    if (a_signed || b_signed || x->op_is_signed)
        return clamp_i(x, 32, sum);
    return clamp_u(x, 32, sum);
}

/*
 * Two products and a sum, each step rounded, in the order of the manual; or the products summed
 * first; or everything rounded once.
 */
static uint64_t dot2(struct oracle_lane *x, const struct sf_format *in, const struct sf_format *out,
                     uint64_t a, uint64_t b, uint64_t c)
{
    struct sf al = load(x, in, LO(a)), ah = load(x, in, HI(a)), acc = load(x, out, c);
    struct sf bl = load(x, in, LO(b)), bh = load(x, in, HI(b));
    enum sf_round r = round_of(x, out);
    uint64_t step = pack(x, out, sf_fma(al, bl, acc, r));
    struct sf pair = sf_add(sf_mul(al, bl), sf_mul(ah, bh), r);

    if (in == &sf_bf16 && (al.denormal || ah.denormal || bl.denormal || bh.denormal ||
                           !oracle_env(x->mode, in).denorm_in))
        x->open = 1; /* which field of MODE rules bf16 is not documented */
    if (in == out && in == &sf_bf16 && r != SF_NEAREST)
        x->open = 1; /* again, which field rules */
    if (in == out && (!oracle_env(x->mode, in).denorm_in || !oracle_env(x->mode, in).denorm_out))
        x->open = 1; /* where the steps flush */
    permit(x, pack(x, out, sf_add(pair, acc, r)));
    return pack(x, out, sf_fma(ah, bh, load(x, out, step), r));
}

static uint64_t dot2_f16(struct oracle_lane *x, uint64_t a, uint64_t b, uint64_t c)
{
    return dot2(x, &sf_f16, &sf_f32, a, b, c);
}

static uint64_t dot2_bf16(struct oracle_lane *x, uint64_t a, uint64_t b, uint64_t c)
{
    return dot2(x, &sf_bf16, &sf_f32, a, b, c);
}

/*
 * Four products of 8-bit floats, added one after the other; the sum's sign goes by modifiers.
 * Whether denormal sums are flushed on the way is not documented.
 */
static uint64_t dot4_8(struct oracle_lane *x, const struct sf_format *fa,
                       const struct sf_format *fb, uint64_t a, uint64_t b, uint64_t c)
{
    const enum sf_round r = round_of(x, &sf_f32);
    struct sf sum = load(x, &sf_f32, c), flushed;

    if (x->neg_hi & 4)
        sum.sign = false;
    if (x->neg_lo & 4)
        sum.sign = !sum.sign;
    flushed = sum;
    for (unsigned i = 0; i < 32; i += 8) {
        const struct sf u = sf_unpack(fa, a >> i & 255), v = sf_unpack(fb, b >> i & 255);

        sum = sf_unpack(&sf_f32, pack_as(&sf_f32, sf_fma(u, v, sum, r), r, true));
        flushed = sf_unpack(&sf_f32, pack(x, &sf_f32, sf_fma(u, v, flushed, r)));
    }
    permit(x, pack(x, &sf_f32, flushed));
    return pack(x, &sf_f32, sum);
}

/* The 16-bit results: each step rounded to 16 bits, as the text reads, or the steps in f32. */
static uint64_t dot2_16(struct oracle_lane *x, const struct sf_format *f, uint64_t a, uint64_t b,
                        uint64_t c)
{
    uint64_t r = dot2(x, f, f, a, b, c), wide;
    struct sf al = load(x, f, LO(a)), ah = load(x, f, HI(a));
    struct sf bl = load(x, f, LO(b)), bh = load(x, f, HI(b));

    wide = pack(x, &sf_f32, sf_fma(al, bl, load(x, f, c), round_of(x, &sf_f32)));
    wide = pack(x, &sf_f32, sf_fma(ah, bh, sf_unpack(&sf_f32, wide), round_of(x, &sf_f32)));
    permit(x, pack(x, f, sf_unpack(&sf_f32, wide)));
    return r;
}

/*
 * Each source is an f32 or one half of a register as f16 (op_sel_hi, op_sel); neg_lo negates and
 * neg_hi takes the absolute value. A result in f16 is rounded from the f32 sum, or once.
 */
static uint64_t mix(struct oracle_lane *x, int to_f16)
{
    struct sf v[3];
    struct sf sum;
    uint64_t f32;

    for (int i = 0; i < 3; i++) {
        uint64_t raw = x->s[i];

        if (x->opsel_hi >> i & 1) {
            v[i] = sf_unpack(&sf_f16, x->opsel >> i & 1 ? HI(raw) : LO(raw));
            if (v[i].denormal && !oracle_env(x->mode, &sf_f16).denorm_in)
                x->open = 1; /* does MODE flush them here? */
        } else {
            v[i] = load(x, &sf_f32, raw & 0xffffffff);
        }
        if (x->neg_hi >> i & 1)
            v[i].sign = false;
        if (x->neg_lo >> i & 1)
            v[i].sign = !v[i].sign;
    }
    sum = sf_fma(v[0], v[1], v[2], round_of(x, &sf_f32));
    f32 = pack(x, &sf_f32, sum);
    if (!to_f16)
        return f32;
    permit(x, pack(x, &sf_f16, sum));
    return pack(x, &sf_f16, load(x, &sf_f32, f32));
}

#endif
