/*
 * What single rows need: ranges of integers, bytes, dot products, mantissas and exponents.
 * Straight-line code, as in lane_math.h, which includes this file.
 */
#ifndef EMU_EXEC_ROWS_H
#define EMU_EXEC_ROWS_H

EMU_INLINE uint32_t umin(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

EMU_INLINE uint32_t umax(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

EMU_INLINE int32_t imin(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

EMU_INLINE int32_t imax(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

EMU_INLINE int32_t sat16(int32_t x)
{
    return imin(imax(x, -32768), 32767);
}

EMU_INLINE uint32_t udiff(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

EMU_INLINE uint32_t u24(uint32_t x)
{
    return x & 0xffffff;
}

EMU_INLINE int32_t i24(uint32_t x)
{
    return (int32_t)(x << 8) >> 8;
}

EMU_INLINE uint32_t popcount(uint32_t x)
{
    x -= x >> 1 & 0x55555555;
    x = (x & 0x33333333) + (x >> 2 & 0x33333333);
    return ((x + (x >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

EMU_INLINE double u32_f64(uint32_t x)
{
    return (double)(int32_t)(x ^ 0x80000000) + 2147483648.0;
}

/* One byte of v_perm: 0..3 of S1, 4..7 of S0, 8..11 a sign of a half, 12 zero, above all ones. */
EMU_INLINE uint32_t permute(uint32_t s0, uint32_t s1, uint32_t selectors, unsigned at)
{
    uint32_t sel = selectors >> at & 0xff;
    uint32_t from = sel & 4 ? s0 : s1, b = from >> 8 * (sel & 3) & 0xff;
    uint32_t word = sel & 2 ? s0 : s1, sign = sel & 1 ? word >> 31 : word >> 15 & 1;

    b = sel >= 8 ? sign * 0xff : b;
    b = sel == 12 ? 0 : b;
    b = sel > 12 ? 0xff : b;
    return b << at;
}

EMU_INLINE uint32_t msad(uint32_t a, uint32_t b, uint32_t sum)
{
    for (unsigned i = 0; i < 4; i++)
        sum += byte(b, i) ? udiff(byte(a, i), byte(b, i)) : 0;
    return sum;
}

EMU_INLINE uint32_t dot_i(uint32_t a, uint32_t b, uint32_t sum, unsigned bits, bool signed_a,
                          bool signed_b)
{
    for (unsigned at = 0; at < 32; at += bits) {
        uint32_t x = a >> at << (32 - bits), y = b >> at << (32 - bits);
        uint32_t p = signed_a ? (uint32_t)((int32_t)x >> (32 - bits)) : x >> (32 - bits);
        uint32_t q = signed_b ? (uint32_t)((int32_t)y >> (32 - bits)) : y >> (32 - bits);

        sum += p * q;
    }
    return sum;
}

/* v_mad_*: two roundings, denormals flushed whatever MODE says. */
EMU_INLINE float mad_f32(float a, float b, float c)
{
    return flush_f32(flush_f32(flush_f32(a) * flush_f32(b)) + flush_f32(c));
}

EMU_INLINE uint32_t flush_f16(uint32_t h)
{
    return h & 0x7c00 ? h & 0xffff : h & 0x8000;
}

EMU_INLINE uint32_t mad_f16(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t p = f32_f16(f16_f32(flush_f16(a)) * f16_f32(flush_f16(b)));

    return flush_f16(f32_f16(f16_f32(flush_f16(p)) + f16_f32(flush_f16(c))));
}

EMU_INLINE uint32_t f32_f16_rtz(uint32_t u)
{
    uint32_t a = u & 0x7fffffff, nor = (a - 0x38000000) >> 13;
    uint32_t small = a < 0x38800000 ? a : 0;
    uint32_t r = choose(a < 0x38800000, (uint32_t)(int32_t)(as_f32(small) * 0x1p24f), nor);

    r = choose(a >= 0x47800000, 0x7bff, r);
    r = choose(a == 0x7f800000, 0x7c00, r);
    r = choose(a > 0x7f800000, 0x7e00 | (a >> 13 & 0x3ff), r);
    return r | (u >> 16 & 0x8000);
}

EMU_INLINE uint32_t snorm16(float x)
{
    float c = x > -1 ? x : -1.0f;

    c = c < 1 ? c : 1.0f;
    c = x == x ? c : 0.0f;
    return (uint32_t)(int32_t)rintf(c * 32767.0f) & 0xffff;
}

EMU_INLINE uint32_t unorm16(float x)
{
    float c = x > 0 ? x : 0.0f;

    c = c < 1 ? c : 1.0f;
    return (uint32_t)(int32_t)rintf(c * 65535.0f);
}

/* x * 2^n, exact in double for any f32 or f16 x. */
EMU_INLINE double scale_f64(double x, int32_t n)
{
    n = imin(imax(n, -400), 400);
    return x * as_f64((uint64_t)(uint32_t)(n + 1023) << 52);
}

EMU_INLINE uint32_t frexp_mant_f32(uint32_t u)
{
    double x = (double)as_f32(u);
    uint64_t b = f64_bits(x);
    double m = as_f64((b & UINT64_C(0x800fffffffffffff)) | UINT64_C(0x3fe0000000000000));
    uint32_t r = f32_bits((float)m);

    r = (u & 0x7fffffff) == 0 ? u : r;
    return (u & 0x7f800000) == 0x7f800000 ? quiet32(u) : r;
}

EMU_INLINE int32_t frexp_exp_f32(float x)
{
    uint64_t b = f64_bits((double)x);
    int32_t e = (int32_t)(b >> 52 & 0x7ff);

    return e == 0 || e == 0x7ff ? 0 : e - 1022;
}

EMU_INLINE uint64_t frexp_mant_f64(uint64_t u)
{
    bool tiny = (u >> 52 & 0x7ff) == 0;
    uint64_t b = f64_bits(as_f64(u) * (tiny ? 0x1p54 : 1.0));
    uint64_t r = (b & UINT64_C(0x800fffffffffffff)) | UINT64_C(0x3fe0000000000000);

    r = (u & INT64_MAX) == 0 ? u : r;
    return (u >> 52 & 0x7ff) == 0x7ff ? quiet64(u) : r;
}

EMU_INLINE int32_t frexp_exp_f64(uint64_t u)
{
    bool tiny = (u >> 52 & 0x7ff) == 0;
    uint64_t b = f64_bits(as_f64(u) * (tiny ? 0x1p54 : 1.0));
    int32_t e = (int32_t)(b >> 52 & 0x7ff);

    return e == 0 || e == 0x7ff ? 0 : e - 1022 - (tiny ? 54 : 0);
}

/* exp2 of an f16: the argument made finite and small, the result of the special ones put back. */
EMU_INLINE float finite_f16(uint32_t h)
{
    float x = (h & 0x7c00) == 0x7c00 ? 0.0f : f16_f32(h & 0xffff);

    x = x > 100 ? 100 : x;
    return x < -100 ? -100 : x;
}

EMU_INLINE uint32_t f64_f16_of(double x, uint32_t h, uint32_t at_inf, uint32_t at_minus_inf)
{
    uint32_t r = f64_f16(x), m = h & 0x7fff;

    r = m == 0x7c00 ? (h & 0x8000 ? at_minus_inf : at_inf) : r;
    return m > 0x7c00 ? (h & 0xffff) | 0x200 : r;
}

#endif
