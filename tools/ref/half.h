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

/* The finite number whose magnitude is `code`, in a format with this bias. */
static inline double half_magnitude(unsigned code, int bias, int fraction_bits)
{
    uint64_t word = ((uint64_t)code << (52 - fraction_bits)) + ((uint64_t)(1023 - bias) << 52);
    double value;

    if (code >> fraction_bits) {
        memcpy(&value, &word, sizeof(value));
        return value;
    }
    word = (uint64_t)(1024 - bias - fraction_bits) << 52; /* of which subnormals are multiples */
    memcpy(&value, &word, sizeof(value));
    return value * code;
}

/*
 * The code of a finite magnitude, rounded to nearest even. It may lie beyond the format's largest
 * number: codes go on as if the exponent had more bits.
 */
static inline unsigned half_code(double magnitude, int bias, int fraction_bits)
{
    uint64_t word, significand, rest, half;
    unsigned code;
    int exponent, cut;

    memcpy(&word, &magnitude, sizeof(word));
    exponent = (int)(word >> 52 & 0x7ff) - 1023;
    significand = (word & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    cut = 52 - fraction_bits;
    if (exponent < 1 - bias) { /* subnormal: as many bits less as it is below the smallest normal */
        cut += 1 - bias - exponent;
        exponent = 1 - bias;
        if (cut > 54)
            return 0;
    }
    code = (unsigned)(significand >> cut);
    rest = significand & ((UINT64_C(1) << cut) - 1);
    half = UINT64_C(1) << (cut - 1);
    code += rest > half || (rest == half && (code & 1));
    /* A normal number's hidden bit adds one to the exponent field; so does a carry. */
    return code + ((unsigned)(exponent + bias - 1) << fraction_bits);
}

/* Widens a value with `exponent_bits` and `fraction_bits`; NaN stays NaN. */
static inline double half_widen(uint16_t bits, int exponent_bits, int fraction_bits)
{
    const unsigned infinity = ((1U << exponent_bits) - 1) << fraction_bits;
    const unsigned magnitude = bits & 0x7fff;
    const double value =
        magnitude > infinity ? (double)NAN
        : magnitude == infinity
            ? (double)INFINITY
            : half_magnitude(magnitude, (1 << (exponent_bits - 1)) - 1, fraction_bits);

    return bits >> 15 ? -value : value;
}

/* Narrows to nearest even; overflow gives infinity, NaN gives the quiet NaN with its sign. */
static inline uint16_t half_narrow(double value, int exponent_bits, int fraction_bits)
{
    const unsigned infinity = ((1U << exponent_bits) - 1) << fraction_bits;
    const unsigned sign = signbit(value) ? 0x8000U : 0;
    unsigned code = infinity;

    if (isnan(value))
        return (uint16_t)(sign | infinity | 1U << (fraction_bits - 1));
    if (!isinf(value))
        code = half_code(fabs(value), (1 << (exponent_bits - 1)) - 1, fraction_bits);
    return (uint16_t)(sign | (code < infinity ? code : infinity));
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
