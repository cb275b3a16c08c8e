/*
 * Division helpers, 8-bit floats and cube maps. Straight-line code, as in lane_math.h, which
 * includes this file.
 */
#ifndef EMU_EXEC_DIV_H
#define EMU_EXEC_DIV_H

/* ---- division helpers ---- */

EMU_INLINE int32_t exponent_f32(float x)
{
    return (int32_t)(f32_bits(x) >> 23 & 0xff);
}

/*
 * S0 is the denominator S1 or the numerator S2; scaled by 2^64 where the quotient's steps would
 * fail. Where both 1/S1 and S2/S1 are denormal the manual scales the denominator up; only down
 * makes the division come out right, which hardware does.
 */
EMU_INLINE float div_scale_f32(float s0, float s1, float s2, bool *carry)
{
    double q = fabs((double)s2 / (double)s1), inverse = fabs(1.0 / (double)s1);
    bool zero = s1 == 0 || s2 == 0, is_den = f32_bits(s0) == f32_bits(s1);
    bool is_num = f32_bits(s0) == f32_bits(s2);
    bool large = exponent_f32(s2) - exponent_f32(s1) >= 96;
    bool den_tiny = exponent_f32(s1) == 0 && s1 != 0;
    bool inv_tiny = inverse < 0x1p-126 && inverse > 0, q_tiny = q < 0x1p-126 && q > 0;
    float up = s0 * 0x1p64f, down = s0 * 0x1p-64f, r = exponent_f32(s2) <= 23 ? up : s0;

    r = q_tiny ? (is_num ? up : s0) : r;
    r = inv_tiny ? down : r;
    r = inv_tiny && q_tiny ? (is_den ? down : s0) : r;
    r = den_tiny ? up : r;
    r = large ? (is_den ? up : s0) : r;
    *carry = !zero && (large || (!den_tiny && q_tiny));
    return zero ? as_f32(0x7fc00000) : r;
}

EMU_INLINE uint32_t div_fixup_f32(uint32_t s0, uint32_t s1, uint32_t s2)
{
    uint32_t sign = (s1 ^ s2) & 0x80000000, a1 = s1 & 0x7fffffff, a2 = s2 & 0x7fffffff;
    /* v_fma made NaN of an estimate that overflowed */
    uint32_t r = sign | (nan32(s0) ? 0x7f800000 : s0 & 0x7fffffff);

    r = (a1 >> 23) == 255 ? sign | 0x7f800000 : r;
    r = (int32_t)(a2 >> 23) - (int32_t)(a1 >> 23) < -150 ? sign : r;
    r = a1 == 0x7f800000 || a2 == 0 ? sign : r;
    r = a1 == 0 || a2 == 0x7f800000 ? sign | 0x7f800000 : r;
    r = (a1 == 0 && a2 == 0) || (a1 == 0x7f800000 && a2 == 0x7f800000) ? 0xffc00000 : r;
    r = a1 > 0x7f800000 ? quiet32(s1) : r;
    return a2 > 0x7f800000 ? quiet32(s2) : r;
}

EMU_INLINE uint32_t div_fixup_f16(uint32_t s0, uint32_t s1, uint32_t s2)
{
    uint32_t sign = (s1 ^ s2) & 0x8000, a1 = s1 & 0x7fff, a2 = s2 & 0x7fff;
    uint32_t r = sign | (s0 & 0x7fff);

    r = a1 == 0x7c00 || a2 == 0 ? sign : r;
    r = a1 == 0 || a2 == 0x7c00 ? sign | 0x7c00 : r;
    r = (a1 == 0 && a2 == 0) || (a1 == 0x7c00 && a2 == 0x7c00) ? 0xfe00 : r;
    r = a1 > 0x7c00 ? (s1 & 0xffff) | 0x200 : r;
    return a2 > 0x7c00 ? (s2 & 0xffff) | 0x200 : r;
}

EMU_INLINE double div_scale_f64(double s0, double s1, double s2, bool *carry)
{
    int32_t e1 = (int32_t)(f64_bits(s1) >> 52 & 0x7ff), e2 = (int32_t)(f64_bits(s2) >> 52 & 0x7ff);
    bool zero = s1 == 0 || s2 == 0, is_den = f64_bits(s0) == f64_bits(s1);
    bool is_num = f64_bits(s0) == f64_bits(s2), large = e2 - e1 >= 768;
    bool den_tiny = e1 == 0 && s1 != 0;
    double inverse = fabs(1.0 / s1), q = fabs(s2 / s1);
    bool inv_tiny = inverse < 0x1p-1022 && s1 - s1 == 0;
    bool q_tiny = q < 0x1p-1022 && s1 - s1 == 0;
    double up = s0 * 0x1p128, down = s0 * 0x1p-128, r = e2 <= 53 ? up : s0;

    r = q_tiny ? (is_num ? up : s0) : r;
    r = inv_tiny ? down : r;
    r = inv_tiny && q_tiny ? (is_den ? down : s0) : r;
    r = den_tiny ? up : r;
    r = large ? (is_den ? up : s0) : r;
    *carry = !zero && (large || (!den_tiny && q_tiny));
    return zero ? as_f64(UINT64_C(0x7ff8000000000000)) : r;
}

EMU_INLINE uint64_t div_fixup_f64(uint64_t s0, uint64_t s1, uint64_t s2)
{
    uint64_t top = UINT64_C(1) << 63, inf = UINT64_C(0x7ff) << 52;
    uint64_t sign = (s1 ^ s2) & top, a1 = s1 & ~top, a2 = s2 & ~top;
    uint64_t r = sign | (nan64(s0) ? inf : s0 & ~top);

    r = (a1 >> 52) == 2047 ? sign | inf : r;
    r = (int32_t)(a2 >> 52) - (int32_t)(a1 >> 52) < -1075 ? sign : r;
    r = a1 == inf || a2 == 0 ? sign : r;
    r = a1 == 0 || a2 == inf ? sign | inf : r;
    r = (a1 == 0 && a2 == 0) || (a1 == inf && a2 == inf) ? UINT64_C(0xfff8000000000000) : r;
    r = a1 > inf ? quiet64(s1) : r;
    return a2 > inf ? quiet64(s2) : r;
}

/* ---- 8-bit floats of gfx942: no infinities, no -0; 0x80 is NaN; bias 8 (e4m3) and 16 (e5m2) ----
 */

EMU_INLINE float magnitude_f32(uint32_t b, unsigned mantissa, int32_t bias)
{
    uint32_t m = b & ((1u << mantissa) - 1), e = (b & 0x7f) >> mantissa;
    float x = (float)(int32_t)(e ? m | 1u << mantissa : m);
    int32_t scale = (int32_t)(e ? e : 1) - bias - (int32_t)mantissa;

    x *= as_f32((uint32_t)(scale + 127) << 23);
    return b & 0x80 ? -x : x;
}

EMU_INLINE float small_f32(uint32_t b, unsigned mantissa, int32_t bias)
{
    return b == 0x80 ? as_f32(0x7fc00000) : magnitude_f32(b, mantissa, bias);
}

EMU_INLINE float fp8_f32(uint32_t b)
{
    return small_f32(b, 3, 8);
}

EMU_INLINE float bf8_f32(uint32_t b)
{
    return small_f32(b, 2, 16);
}

/* Rounded, as if there were no largest number. dither: what is added below the last place before
 * truncation, in units of 2^-32 of it; ties to even without. */
EMU_INLINE uint32_t f32_magnitude(float x, unsigned mantissa, int32_t bias, bool stochastic,
                                  uint32_t dither)
{
    uint32_t u = f32_bits(x);
    int32_t e = (int32_t)(u >> 23 & 0xff) - 127, least = 1 - bias,
            last = (e > least ? e : least) - (int32_t)mantissa;
    double units = fabs((double)x) * as_f64((uint64_t)(uint32_t)(1023 - last) << 52);
    double added = (double)(dither >> (9 + mantissa)) * (mantissa == 3 ? 0x1p-20 : 0x1p-21);
    double whole = stochastic ? floor(units + added) : rint(units);
    uint32_t n = (uint32_t)(int32_t)(whole < 1024 ? whole : 1024), half = 1u << mantissa;
    uint32_t base = (uint32_t)((e > least ? e : least) + bias);

    return n < half ? n : ((base - 1) << mantissa) + n;
}

EMU_INLINE uint32_t f32_small(float x, unsigned mantissa, int32_t bias, bool stochastic,
                              uint32_t dither)
{
    uint32_t u = f32_bits(x), sign = u >> 24 & 0x80;
    uint32_t r = f32_magnitude(x, mantissa, bias, stochastic, dither);

    if ((u & 0x7fffffff) >= 0x7f800000 || r > 0x7f)
        return 0x80;
    return r ? r | sign : 0;
}

EMU_INLINE uint32_t f32_fp8(float x)
{
    return f32_small(x, 3, 8, false, 0);
}

EMU_INLINE uint32_t f32_bf8(float x)
{
    return f32_small(x, 2, 16, false, 0);
}

EMU_INLINE uint32_t f32_fp8_sr(float x, uint32_t dither)
{
    return f32_small(x, 3, 8, true, dither);
}

EMU_INLINE uint32_t f32_bf8_sr(float x, uint32_t dither)
{
    return f32_small(x, 2, 16, true, dither);
}

/*
 * ---- OCP's 8-bit floats, of gfx950 and gfx12: bias 7 (e4m3) and 15 (e5m2). e4m3 has no infinity,
 * and NaN is 0x7f; what is too large becomes that, of e5m2 infinity. ----
 */

EMU_INLINE float fp8_f32_ocp(uint32_t b)
{
    return (b & 0x7f) == 0x7f ? as_f32(0x7fc00000) : magnitude_f32(b, 3, 7);
}

EMU_INLINE float bf8_f32_ocp(uint32_t b)
{
    if ((b & 0x7f) > 0x7c)
        return as_f32(0x7fc00000);
    return (b & 0x7f) == 0x7c ? as_f32((b & 0x80) << 24 | 0x7f800000) : magnitude_f32(b, 2, 15);
}

/* Four products of 8-bit floats onto c, which each are exact. */
#define DOT_8(of_a, of_b, a, b, c)                                                                 \
    fmaf(of_a(byte(a, 3)), of_b(byte(b, 3)),                                                       \
         fmaf(of_a(byte(a, 2)), of_b(byte(b, 2)),                                                  \
              fmaf(of_a(byte(a, 1)), of_b(byte(b, 1)),                                             \
                   fmaf(of_a(byte(a, 0)), of_b(byte(b, 0)), c))))

EMU_INLINE uint32_t f32_ocp(float x, unsigned mantissa, int32_t bias, bool stochastic,
                            uint32_t dither)
{
    uint32_t u = f32_bits(x), sign = u >> 24 & 0x80, beyond = mantissa == 3 ? 0x7f : 0x7c;
    uint32_t r = f32_magnitude(x, mantissa, bias, stochastic, dither);

    if ((u & 0x7fffffff) > 0x7f800000)
        return sign | 0x7f;
    return sign | ((u & 0x7fffffff) == 0x7f800000 || r > beyond ? beyond : r);
}

EMU_INLINE uint32_t f32_fp8_ocp(float x)
{
    return f32_ocp(x, 3, 7, false, 0);
}

EMU_INLINE uint32_t f32_bf8_ocp(float x)
{
    return f32_ocp(x, 2, 15, false, 0);
}

EMU_INLINE uint32_t f32_fp8_sr_ocp(float x, uint32_t dither)
{
    return f32_ocp(x, 3, 7, true, dither);
}

EMU_INLINE uint32_t f32_bf8_sr_ocp(float x, uint32_t dither)
{
    return f32_ocp(x, 2, 15, true, dither);
}

/*
 * ---- 16-bit floats of gfx950, rounded by random bits: the highest ones of `dither` are added
 * below the last place that stays, and the rest is cut off. ----
 */

EMU_INLINE uint32_t f32_bf16_sr(float x, uint32_t dither)
{
    uint32_t u = f32_bits(x), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;

    if (magnitude >= 0x7f800000)
        return u >> 16 | (magnitude > 0x7f800000 ? 0x40 : 0);
    return sign | (magnitude + (dither >> 16)) >> 16;
}

EMU_INLINE uint32_t f32_f16_sr(float x, uint32_t dither)
{
    uint32_t u = f32_bits(x), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
    int32_t e = (int32_t)(magnitude >> 23) - 127;
    uint32_t lost = e < -14 ? (uint32_t)(-1 - e) : 13, whole, r;

    if (magnitude > 0x7f800000)
        return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
    whole = (magnitude & 0x7fffff) | (e > -127 ? 0x800000 : 0);
    r = lost > 31 ? 0 : (uint32_t)(((uint64_t)whole + (dither >> (32 - lost))) >> lost);
    r += e < -14 ? 0 : (uint32_t)(e + 14) << 10;
    return sign | (r < 0x7c00 ? r : 0x7c00);
}

/* ---- cube maps ---- */

struct emu_cube {
    float id, sc, tc, ma;
};

EMU_INLINE struct emu_cube cube(float x, float y, float z)
{
    float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
    bool zmax = az >= ax && az >= ay, ymax = !zmax && ay >= ax;
    struct emu_cube c;

    c.id = zmax ? (z < 0 ? 5 : 4) : ymax ? (y < 0 ? 3 : 2) : (x < 0 ? 1 : 0);
    c.sc = zmax ? (z < 0 ? -x : x) : ymax ? x : (x < 0 ? z : -z);
    c.tc = zmax ? -y : ymax ? (y < 0 ? -z : z) : -y;
    c.ma = 2 * (zmax ? z : ymax ? y : x);
    return c;
}

#endif
