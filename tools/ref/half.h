/*
 * The 16-bit floating-point formats on the host: exact widening, and narrowing from double with one
 * rounding to nearest even (so float -> f16 through double is rounded once as well).
 *
 *            sign  exponent  fraction   largest    smallest normal   smallest subnormal
 *     f16     1       5        10       65504         2^-14               2^-24
 *     bf16    1       8         7       3.39e38       2^-126              2^-133
 */
#ifndef AOTHIP_HALF_H
#define AOTHIP_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Widens a value with `exponent_bits` and `fraction_bits`; NaN stays NaN. */
static inline double half_widen(uint16_t bits, int exponent_bits, int fraction_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1;
    int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
    int fraction = bits & ((1 << fraction_bits) - 1);
    double value;

    if (exponent == (1 << exponent_bits) - 1)
        value = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, 1 - bias - fraction_bits);
    else
        value = ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    return bits >> 15 ? -value : value;
}

/* Narrows to nearest even; overflow gives infinity, NaN gives the quiet NaN with its sign. */
static inline uint16_t half_narrow(double value, int exponent_bits, int fraction_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1;
    unsigned infinity = ((1U << exponent_bits) - 1) << fraction_bits;
    unsigned sign = signbit(value) ? 0x8000U : 0;
    double magnitude = fabs(value), scaled, whole;
    int exponent;
    unsigned result;

    if (isnan(value))
        return (uint16_t)(sign | infinity | 1U << (fraction_bits - 1));
    if (isinf(value))
        return (uint16_t)(sign | infinity);
    frexp(magnitude, &exponent);
    exponent--; /* magnitude = 1.x * 2^exponent */
    if (magnitude == 0 || exponent < 1 - bias)
        exponent = 1 - bias;

    /* In units of the last place; at most fraction_bits + 1 bits are left of the point. */
    scaled = ldexp(magnitude, fraction_bits - exponent);
    whole = floor(scaled);
    result = (unsigned)whole;
    if (scaled - whole > 0.5 || (scaled - whole == 0.5 && (result & 1)))
        result++;
    /* A normal number's hidden bit adds one to the exponent field; so does a carry. */
    if (exponent + bias - 1 >= (1 << exponent_bits))
        return (uint16_t)(sign | infinity);
    result += (unsigned)(exponent + bias - 1) << fraction_bits;
    return (uint16_t)(sign | (result < infinity ? result : infinity));
}

static inline double half_from_f16(uint16_t bits)
{
    return half_widen(bits, 5, 10);
}

static inline uint16_t half_to_f16(double value)
{
    return half_narrow(value, 5, 10);
}

/* bf16 is the upper half of a binary32. */
static inline double half_from_bf16(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

static inline uint16_t half_to_bf16(double value)
{
    return half_narrow(value, 8, 7);
}

#endif
