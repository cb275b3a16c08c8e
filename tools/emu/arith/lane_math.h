/*
 * Arithmetic of one lane, as the rows of sem_vector.def use it. Everything here is straight-line
 * code on 32-bit or 64-bit values, so that the loops over lanes become vector code.
 */
#ifndef EMU_EXEC_MATH_H
#define EMU_EXEC_MATH_H

#define EMU_INLINE static inline __attribute__((always_inline, unused))

EMU_INLINE float as_f32(uint32_t u)
{
    union emu_r1 r = {.u32 = u};
    return r.f32;
}

EMU_INLINE uint32_t f32_bits(float f)
{
    union emu_r1 r = {.f32 = f};
    return r.u32;
}

EMU_INLINE double as_f64(uint64_t u)
{
    union emu_r2 r = {.u64 = u};
    return r.f64;
}

EMU_INLINE uint64_t f64_bits(double f)
{
    union emu_r2 r = {.f64 = f};
    return r.u64;
}

/* c ? a : b as arithmetic: chains of conditionals become jumps, and then no vector code. */
EMU_INLINE uint32_t choose(bool c, uint32_t a, uint32_t b)
{
    return b ^ ((a ^ b) & -(uint32_t)c);
}

EMU_INLINE uint32_t lo16(uint32_t u)
{
    return u & 0xffff;
}

EMU_INLINE uint32_t hi16(uint32_t u)
{
    return u >> 16;
}

EMU_INLINE int32_t slo16(uint32_t u)
{
    return (int32_t)(u << 16) >> 16;
}

EMU_INLINE int32_t shi16(uint32_t u)
{
    return (int32_t)u >> 16;
}

EMU_INLINE uint32_t pack16(uint32_t lo, uint32_t hi)
{
    return (lo & 0xffff) | hi << 16;
}

EMU_INLINE uint32_t byte(uint32_t u, unsigned i)
{
    return u >> 8 * i & 0xff;
}

EMU_INLINE int32_t sbyte(uint32_t u, unsigned i)
{
    return (int32_t)(u << (24 - 8 * i)) >> 24;
}

/* ---- f16 and bf16; in registers they are the low 16 bits ---- */

/* Exact, also for denormals: 2^112 rebases the exponent. */
EMU_INLINE float f16_f32(uint32_t h)
{
    uint32_t m = (h & 0x7fff) << 13;
    uint32_t b = f32_bits(as_f32(m) * 0x1p112f);

    b |= m >= 0x0f800000 ? 0x7f800000u : 0u;
    b |= m > 0x0f800000 ? 0x400000u : 0u;
    return as_f32(b | (h & 0x8000) << 16);
}

#if defined(__clang__) && defined(EMU_AVX2)
/* One vcvtps2ph: rounds by the host's mode, which follows MODE. */
EMU_INLINE uint32_t f32_f16(float f)
{
    _Float16 h = (_Float16)f;
    uint16_t u;

    memcpy(&u, &h, sizeof u);
    return u;
}
#else
/*
 * Adding a power of two whose last place is the f16's rounds by the host's mode, which follows
 * MODE. What is finite and too large counts as just below 2^16, so that it becomes infinity or the
 * largest f16 as the mode says.
 */
EMU_INLINE uint32_t f32_f16(float f)
{
    uint32_t u = f32_bits(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    uint32_t clamped = a >= 0x47800000 ? 0x477fffff : a;
    uint32_t exponent = clamped & 0x7f800000;
    uint32_t scale = (exponent < 0x38800000 ? 0x38800000 : exponent) + (13u << 23);
    /* +-2^13 of the result's exponent: the sum's last place is that of the f16 */
    float big = as_f32(scale | (u & 0x80000000));
    float rounded = (as_f32(clamped | (u & 0x80000000)) + big) - big;
    uint32_t r = f32_bits(rounded) & 0x7fffffff;
    uint32_t den = (uint32_t)(int32_t)(as_f32(r < 0x38800000 ? r : 0) * 0x1p24f);
    uint32_t nor = (r - 0x38000000) >> 13;
    uint32_t out = r < 0x38800000 ? den : nor;

    out = r >= 0x47800000 ? 0x7c00 : out;
    out = a == 0x7f800000 ? 0x7c00 : out;
    out = a > 0x7f800000 ? 0x7e00 | (a >> 13 & 0x3ff) : out;
    return out | sign;
}
#endif

EMU_INLINE float bf16_f32(uint32_t h)
{
    return as_f32(h << 16);
}

EMU_INLINE uint32_t f32_bf16(float f)
{
    uint32_t u = f32_bits(f), r = (u + 0x7fff + (u >> 16 & 1)) >> 16;

    return (u & 0x7fffffff) > 0x7f800000 ? u >> 16 | 0x40 : r;
}

/*
 * The nearest f16 of a double that carries its own sticky bit (round to odd), ties to even; used
 * where going through f32 would round twice.
 */
EMU_INLINE uint32_t f64_f16(double x)
{
    uint64_t b = f64_bits(x), e = b & UINT64_C(0x7ff0000000000000);
    uint64_t least = UINT64_C(0x3f10000000000000); /* 2^-14 */
    /* 1.5 * 2^42 of the exponent: the sum's last place is 2^-10 of it */
    double big = as_f64(((e < least ? least : e) + (UINT64_C(42) << 52)) | UINT64_C(1) << 51 |
                        (b & UINT64_C(1) << 63)); /* its sign: directed modes round alike */
    double r = (x + big) - big;

    r = e > UINT64_C(0x40f0000000000000) ? x : r;
    return (f32_f16((float)r) & 0x7fff) | (uint32_t)(b >> 48 & 0x8000);
}

/* p + q, what is cut off kept in the last bit. */
EMU_INLINE double sum_odd(double p, double q)
{
    double s = p + q, t = s - p, err = (p - (s - t)) + (q - t);
    uint64_t u = f64_bits(s);
    uint64_t grow = (err > 0) == (s > 0) ? 1 : UINT64_MAX;

    u = (err > 0 || err < 0) && !(u & 1) ? u + grow : u; /* not when it is infinite */
    return as_f64(u);
}

/* a * b + c with one rounding to f16: exact product, sum rounded to odd in double. */
EMU_INLINE uint32_t fma_f16(uint32_t a, uint32_t b, uint32_t c)
{
    return f64_f16(sum_odd((double)f16_f32(a) * (double)f16_f32(b), (double)f16_f32(c)));
}

/* The same for bf16, to nearest, the sum rounded to odd in f32 too. */
EMU_INLINE uint32_t fma_bf16(uint32_t a, uint32_t b, uint32_t c)
{
    double x = sum_odd((double)bf16_f32(a) * (double)bf16_f32(b), (double)bf16_f32(c));
    float f = (float)x;
    double rest = x - (double)f;
    uint32_t u = f32_bits(f);
    uint32_t grow = (rest > 0) == !(u >> 31) ? 1 : UINT32_MAX;

    u = (rest > 0 || rest < 0) && !(u & 1) ? u + grow : u;
    return f32_bf16(as_f32(u));
}

/*
 * FN(x) for ceilf, floorf, truncf and rintf, whatever the compiler makes of them: the sign is that
 * of x also for zero and under any rounding, and a NaN is quieted.
 */
EMU_INLINE float whole_f32(float x, float whole)
{
    uint32_t u = f32_bits(x), r = (f32_bits(whole) & 0x7fffffff) | (u & 0x80000000);

    return as_f32((u & 0x7fffffff) > 0x7f800000 ? u | 0x400000 : r);
}
#define INTEGRAL(FN, X) whole_f32(X, FN(X))

/* ---- classes of values ---- */

EMU_INLINE bool nan32(uint32_t u)
{
    return (u & 0x7fffffff) > 0x7f800000;
}

EMU_INLINE uint32_t quiet32(uint32_t u)
{
    return u | (nan32(u) ? 0x400000u : 0u);
}

EMU_INLINE bool nan16(uint32_t u)
{
    return (u & 0x7fff) > 0x7c00;
}

EMU_INLINE uint32_t quiet16(uint32_t u)
{
    return u | (nan16(u) ? 0x200u : 0u);
}

EMU_INLINE bool nan64(uint64_t u)
{
    return (u & INT64_MAX) > UINT64_C(0x7ff0000000000000);
}

EMU_INLINE uint64_t quiet64(uint64_t u)
{
    return u | (nan64(u) ? UINT64_C(1) << 51 : 0);
}

/* Order of floats as integers: -0 < +0. */
EMU_INLINE int32_t key32(uint32_t u)
{
    return (int32_t)(u ^ ((uint32_t)((int32_t)u >> 31) >> 1));
}

EMU_INLINE int64_t key64(uint64_t u)
{
    return (int64_t)(u ^ ((uint64_t)((int64_t)u >> 63) >> 1));
}

/* IEEE-mode minimum and maximum: a signalling NaN wins, quieted; a quiet one loses. */
EMU_INLINE bool snan32(uint32_t u)
{
    return nan32(u) && !(u & 0x400000);
}

EMU_INLINE uint32_t min_f32(uint32_t a, uint32_t b)
{
    uint32_t r = key32(b) < key32(a) ? b : a;

    r = nan32(b) ? a : r;
    r = nan32(a) ? b : r;
    r = snan32(b) ? quiet32(b) : r;
    r = snan32(a) ? quiet32(a) : r;
    return r;
}

EMU_INLINE uint32_t max_f32(uint32_t a, uint32_t b)
{
    uint32_t r = key32(b) > key32(a) ? b : a;

    r = nan32(b) ? a : r;
    r = nan32(a) ? b : r;
    r = snan32(b) ? quiet32(b) : r;
    r = snan32(a) ? quiet32(a) : r;
    return r;
}

EMU_INLINE uint64_t min_f64(uint64_t a, uint64_t b)
{
    uint64_t r = key64(b) < key64(a) ? b : a;

    r = nan64(b) ? a : r;
    r = nan64(a) ? b : r;
    r = nan64(b) && !(b >> 51 & 1) ? quiet64(b) : r;
    r = nan64(a) && !(a >> 51 & 1) ? quiet64(a) : r;
    return r;
}

EMU_INLINE uint64_t max_f64(uint64_t a, uint64_t b)
{
    uint64_t r = key64(b) > key64(a) ? b : a;

    r = nan64(b) ? a : r;
    r = nan64(a) ? b : r;
    r = nan64(b) && !(b >> 51 & 1) ? quiet64(b) : r;
    r = nan64(a) && !(a >> 51 & 1) ? quiet64(a) : r;
    return r;
}

/* The same on f16; the order of the bits is that of the values, as above. */
EMU_INLINE uint32_t pick_f16(uint32_t a, uint32_t b, bool larger)
{
    int32_t ka = key32(a << 16), kb = key32(b << 16);
    uint32_t r = (larger ? kb > ka : kb < ka) ? b : a;

    r = nan16(b) ? a : r;
    r = nan16(a) ? b : r;
    r = nan16(b) && !(b & 0x200) ? quiet16(b) : r;
    r = nan16(a) && !(a & 0x200) ? quiet16(a) : r;
    return r & 0xffff;
}

EMU_INLINE uint32_t min_f16(uint32_t a, uint32_t b)
{
    return pick_f16(a & 0xffff, b & 0xffff, false);
}

EMU_INLINE uint32_t max_f16(uint32_t a, uint32_t b)
{
    return pick_f16(a & 0xffff, b & 0xffff, true);
}

/* minimumNumber and maximumNumber of IEEE 754-2019: any NaN loses; two of them are quieted. */
EMU_INLINE uint32_t number_f32(uint32_t a, uint32_t b, uint32_t chosen)
{
    uint32_t r = nan32(b) ? a : chosen;

    return nan32(a) ? (nan32(b) ? quiet32(a) : b) : r;
}

EMU_INLINE uint32_t min_num_f32(uint32_t a, uint32_t b)
{
    return number_f32(a, b, key32(b) < key32(a) ? b : a);
}

EMU_INLINE uint32_t max_num_f32(uint32_t a, uint32_t b)
{
    return number_f32(a, b, key32(b) > key32(a) ? b : a);
}

EMU_INLINE uint64_t number_f64(uint64_t a, uint64_t b, uint64_t chosen)
{
    uint64_t r = nan64(b) ? a : chosen;

    return nan64(a) ? (nan64(b) ? quiet64(a) : b) : r;
}

EMU_INLINE uint64_t min_num_f64(uint64_t a, uint64_t b)
{
    return number_f64(a, b, key64(b) < key64(a) ? b : a);
}

EMU_INLINE uint64_t max_num_f64(uint64_t a, uint64_t b)
{
    return number_f64(a, b, key64(b) > key64(a) ? b : a);
}

EMU_INLINE uint64_t minimum_f64(uint64_t a, uint64_t b)
{
    uint64_t r = key64(b) < key64(a) ? b : a;

    r = nan64(b) ? quiet64(b) : r;
    return nan64(a) ? quiet64(a) : r;
}

EMU_INLINE uint64_t maximum_f64(uint64_t a, uint64_t b)
{
    uint64_t r = key64(b) > key64(a) ? b : a;

    r = nan64(b) ? quiet64(b) : r;
    return nan64(a) ? quiet64(a) : r;
}

EMU_INLINE uint32_t num_f16(uint32_t a, uint32_t b, bool larger)
{
    int32_t ka = key32(a << 16), kb = key32(b << 16);
    uint32_t r = (larger ? kb > ka : kb < ka) ? b : a;

    r = nan16(b) ? a : r;
    r = nan16(a) ? (nan16(b) ? quiet16(a) : b) : r;
    return r & 0xffff;
}

EMU_INLINE uint32_t min_num_f16(uint32_t a, uint32_t b)
{
    return num_f16(a & 0xffff, b & 0xffff, false);
}

EMU_INLINE uint32_t max_num_f16(uint32_t a, uint32_t b)
{
    return num_f16(a & 0xffff, b & 0xffff, true);
}

/* minimum and maximum of IEEE 754-2019: a NaN wins, and -0 is less than +0. */
EMU_INLINE uint32_t minimum_f32(uint32_t a, uint32_t b)
{
    uint32_t r = key32(b) < key32(a) ? b : a;

    r = nan32(b) ? quiet32(b) : r;
    return nan32(a) ? quiet32(a) : r;
}

EMU_INLINE uint32_t maximum_f32(uint32_t a, uint32_t b)
{
    uint32_t r = key32(b) > key32(a) ? b : a;

    r = nan32(b) ? quiet32(b) : r;
    return nan32(a) ? quiet32(a) : r;
}

EMU_INLINE uint32_t minimum_f16(uint32_t a, uint32_t b)
{
    uint32_t r = min_f16(a, b);

    r = nan16(b & 0xffff) ? (b & 0xffff) | 0x200 : r;
    return nan16(a & 0xffff) ? (a & 0xffff) | 0x200 : r;
}

EMU_INLINE uint32_t maximum_f16(uint32_t a, uint32_t b)
{
    uint32_t r = max_f16(a, b);

    r = nan16(b & 0xffff) ? (b & 0xffff) | 0x200 : r;
    return nan16(a & 0xffff) ? (a & 0xffff) | 0x200 : r;
}

EMU_INLINE uint32_t med3_f32(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t m = max_f32(max_f32(a, b), c);
    uint32_t r;

    r = key32(m) == key32(a) ? max_f32(b, c) : key32(m) == key32(b) ? max_f32(a, c) : max_f32(a, b);
    return nan32(a) || nan32(b) || nan32(c) ? min_f32(min_f32(a, b), c) : r;
}

/* The middle one; with a NaN the least of the others, as the manual's pseudo-code has it. */
EMU_INLINE uint32_t med3_num_f32(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t m = max_num_f32(max_num_f32(a, b), c);
    uint32_t r = key32(m) == key32(a)   ? max_num_f32(b, c)
                 : key32(m) == key32(b) ? max_num_f32(a, c)
                                        : max_num_f32(a, b);

    return nan32(a) || nan32(b) || nan32(c) ? min_num_f32(min_num_f32(a, b), c) : r;
}

EMU_INLINE uint32_t med3_num_f16(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t m = max_num_f16(max_num_f16(a, b), c), x = a & 0xffff, y = b & 0xffff;
    uint32_t r = m == x ? max_num_f16(b, c) : m == y ? max_num_f16(a, c) : max_num_f16(a, b);

    return nan16(x) || nan16(y) || nan16(c & 0xffff) ? min_num_f16(min_num_f16(a, b), c) : r;
}

EMU_INLINE uint32_t med3_f16(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t m = max_f16(max_f16(a, b), c), r;

    a &= 0xffff, b &= 0xffff, c &= 0xffff;
    r = m == a ? max_f16(b, c) : m == b ? max_f16(a, c) : max_f16(a, b);
    return nan16(a) || nan16(b) || nan16(c) ? min_f16(min_f16(a, b), c) : r;
}

/* Bits of v_cmp_class: sNaN, qNaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf. */
EMU_INLINE uint32_t class_bit(bool negative, bool nan, bool quiet, bool inf, bool zero,
                              bool denormal)
{
    uint32_t bit = inf ? 2 : zero ? 5 : denormal ? 4 : 3;

    bit = negative ? bit : 11 - bit;
    return 1u << (nan ? (quiet ? 1 : 0) : bit);
}

EMU_INLINE uint32_t class_f32(uint32_t u)
{
    uint32_t a = u & 0x7fffffff;

    return class_bit(u >> 31, a > 0x7f800000, u >> 22 & 1, a == 0x7f800000, a == 0, a < 0x800000);
}

EMU_INLINE uint32_t class_f16(uint32_t u)
{
    uint32_t a = u & 0x7fff;

    return class_bit(u >> 15 & 1, a > 0x7c00, u >> 9 & 1, a == 0x7c00, a == 0, a < 0x400);
}

EMU_INLINE uint32_t class_f64(uint64_t u)
{
    uint64_t a = u & INT64_MAX, inf = UINT64_C(0x7ff) << 52;

    return class_bit(u >> 63, a > inf, u >> 51 & 1, a == inf, a == 0, a >> 52 == 0);
}

/* ---- float to integer: saturating, NaN is 0, toward zero ---- */

EMU_INLINE uint32_t f64_u32(double x)
{
    double t = trunc(x);

    t = t > 0 ? t : 0; /* also NaN */
    t = t < 4294967295.0 ? t : 4294967295.0;
    return (uint32_t)(int64_t)t;
}

EMU_INLINE uint32_t f32_u32(float x)
{
    float t = x > 0 ? x : 0;
    float low = t >= 2147483648.0f ? t - 2147483648.0f : t;
    uint32_t r;

    low = low < 2147483520.0f ? low : 2147483520.0f;
    r = (uint32_t)(int32_t)low + (t >= 2147483648.0f ? 0x80000000u : 0u);
    return t >= 4294967296.0f ? UINT32_MAX : r;
}

EMU_INLINE int32_t f32_i32(float x)
{
    float t = x >= -2147483648.0f ? x : -2147483648.0f;
    int32_t r;

    t = t < 2147483520.0f ? t : 2147483520.0f;
    r = (int32_t)t;
    r = x >= 2147483648.0f ? INT32_MAX : r;
    return x == x ? r : 0;
}

EMU_INLINE int32_t f64_i32(double x)
{
    double t = x > -2147483648.0 ? x : -2147483648.0;

    t = t < 2147483647.0 ? t : 2147483647.0;
    return x == x ? (int32_t)t : 0;
}

/* Integer to 16-bit range. */
EMU_INLINE int32_t sat(int64_t x, int64_t least, int64_t most)
{
    return (int32_t)(x < least ? least : x > most ? most : x);
}

#include "transcendental.h"
#include "row_math.h"
#include "division.h"

#endif
