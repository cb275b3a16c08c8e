/*
 * Exponential, logarithm, reciprocal, roots, sine: computed in double and rounded once to f32,
 * denormals flushed as the manuals say. Straight-line code, as in lane_math.h, which includes
 * this file.
 */
#ifndef EMU_EXEC_TRANS_H
#define EMU_EXEC_TRANS_H

#ifdef EMU_AVX2
#define EMU_MULADD(a, b, c) __builtin_fma(a, b, c)
#else
#define EMU_MULADD(a, b, c) ((a) * (b) + (c))
#endif

EMU_INLINE float flush_f32(float x)
{
    uint32_t u = f32_bits(x);

    return as_f32((u & 0x7f800000) == 0 ? u & 0x80000000 : u);
}

/* 2^x for |x| <= 1000: 2^n by the exponent, 2^r (|r| <= 1/2) by its Taylor series to r^12. */
EMU_INLINE double exp2_f64(double x)
{
    double big = x + 0x1.8p52, r = x - (big - 0x1.8p52), p = 0x1.c3bd650fc2986p-36;

    p = EMU_MULADD(p, r, 0x1.e8cac7351bb25p-32);
    p = EMU_MULADD(p, r, 0x1.e4cf5158b8ecap-28);
    p = EMU_MULADD(p, r, 0x1.b5253d395e7c4p-24);
    p = EMU_MULADD(p, r, 0x1.62c0223a5c824p-20);
    p = EMU_MULADD(p, r, 0x1.ffcbfc588b0c7p-17);
    p = EMU_MULADD(p, r, 0x1.430912f86c787p-13);
    p = EMU_MULADD(p, r, 0x1.5d87fe78a6731p-10);
    p = EMU_MULADD(p, r, 0x1.3b2ab6fba4e77p-7);
    p = EMU_MULADD(p, r, 0x1.c6b08d704a0c0p-5);
    p = EMU_MULADD(p, r, 0x1.ebfbdff82c58fp-3);
    p = EMU_MULADD(p, r, 0x1.62e42fefa39efp-1);
    p = EMU_MULADD(p, r, 1.0);
    return as_f64(f64_bits(p) + (f64_bits(big) << 52));
}

/* Denormals need no flushing before: 2^x is 1 for them in any case. */
EMU_INLINE float exp_f32(float x)
{
    float above = x > -200.0f ? x : -200.0f, c = above < 200.0f ? above : 200.0f;
    uint32_t r = f32_bits((float)exp2_f64((double)c));

    r = r < 0x00800000 ? 0 : r;
    return as_f32(choose(x != x, quiet32(f32_bits(x)), r));
}

/* log2 of a positive normal double: exponent, and 2/ln2 * atanh((m-1)/(m+1)) with m in [0.7, 1.42).
 */
EMU_INLINE double log2_f64(double x)
{
    uint64_t u = f64_bits(x), k = u - UINT64_C(0x3fe6a09e667f3bcd);
    int32_t n = (int32_t)((uint32_t)(k >> 32)) >> 20;
    double m = as_f64(u - ((uint64_t)(uint32_t)n << 52));
    double s = (m - 1) / (m + 1), z = s * s, p = 1.0 / 23;

    p = EMU_MULADD(p, z, 1.0 / 21);
    p = EMU_MULADD(p, z, 1.0 / 19);
    p = EMU_MULADD(p, z, 1.0 / 17);
    p = EMU_MULADD(p, z, 1.0 / 15);
    p = EMU_MULADD(p, z, 1.0 / 13);
    p = EMU_MULADD(p, z, 1.0 / 11);
    p = EMU_MULADD(p, z, 1.0 / 9);
    p = EMU_MULADD(p, z, 1.0 / 7);
    p = EMU_MULADD(p, z, 1.0 / 5);
    p = EMU_MULADD(p, z, 1.0 / 3);
    p = EMU_MULADD(p, z, 1.0);
    return (double)n + p * s * 2.8853900817779268147;
}

EMU_INLINE float log_of(double x, float source)
{
    bool normal = x > 0 && x < (double)INFINITY;
    float r = (float)log2_f64(normal ? x : 1.0);

    r = x == 0 ? -INFINITY : r;
    r = x == (double)INFINITY ? INFINITY : r;
    r = x < 0 ? as_f32(0x7fc00000) : r;
    return source == source ? r : as_f32(quiet32(f32_bits(source)));
}

EMU_INLINE float log_f32(float x)
{
    return log_of((double)flush_f32(x), x);
}

EMU_INLINE float rcp_f32(float x)
{
    return flush_f32(1.0f / flush_f32(x));
}

EMU_INLINE float sqrt_f32(float x)
{
    return flush_f32(sqrtf(flush_f32(x)));
}

EMU_INLINE float rsq_f32(float x)
{
    return flush_f32((float)(1.0 / sqrt((double)flush_f32(x))));
}

/* sin(2 pi x): fold to a quarter turn, then the Taylor series to the 21st power. */
EMU_INLINE double sin_turns(double x)
{
    double r = x - rint(x), a, z, p;

    r = r > 0.25 ? 0.5 - r : r < -0.25 ? -0.5 - r : r;
    a = r * 6.283185307179586477;
    z = a * a;
    p = 1.95729410633912612e-20;
    p = EMU_MULADD(p, z, -8.22063524662432972e-18);
    p = EMU_MULADD(p, z, 2.81145725434552076e-15);
    p = EMU_MULADD(p, z, -7.64716373181981648e-13);
    p = EMU_MULADD(p, z, 1.60590438368216146e-10);
    p = EMU_MULADD(p, z, -2.50521083854417188e-8);
    p = EMU_MULADD(p, z, 2.75573192239858907e-6);
    p = EMU_MULADD(p, z, -1.98412698412698413e-4);
    p = EMU_MULADD(p, z, 8.33333333333333333e-3);
    p = EMU_MULADD(p, z, -1.66666666666666667e-1);
    p = EMU_MULADD(p, z, 1.0);
    return p * a;
}

EMU_INLINE float sin_f32(float x)
{
    double d = (double)flush_f32(x);
    bool finite = fabs(d) < (double)INFINITY;
    float r = (float)sin_turns(finite ? d : 0);

    r = r > 1 ? 1 : r < -1 ? -1 : r; /* directed rounding may step over */
    r = finite ? r : as_f32(0x7fc00000);
    return fabs(d) > 256 && finite ? 0.0f : r;
}

EMU_INLINE float cos_f32(float x)
{
    double d = (double)flush_f32(x);
    bool finite = fabs(d) < (double)INFINITY;
    float r = (float)sin_turns(finite ? fabs(d) + 0.25 : 0.25);

    r = r > 1 ? 1 : r < -1 ? -1 : r;
    r = finite ? r : as_f32(0x7fc00000);
    return fabs(d) > 256 && finite ? 1.0f : r;
}

#endif
