/*
 * The four FP8 types on the host: exact widening, and narrowing from double with one rounding to
 * nearest even, which ends at the largest number.
 *
 *                  exponent  fraction  bias   largest   smallest   beside numbers
 *     E4M3            4         3        7      448       2^-9      NaN S.1111.111
 *     E5M2            5         2       15    57344       2^-16     infinity and NaN as IEEE 754
 *     E4M3 FNUZ       4         3        8      240       2^-10     NaN 0x80, no -0
 *     E5M2 FNUZ       5         2       16    57344       2^-17     NaN 0x80, no -0
 */
#ifndef AOTHIP_REF_FP8_H
#define AOTHIP_REF_FP8_H

#include "aothip/aothip.h"
#include "half.h"

#include <math.h>
#include <stdint.h>

static inline int fp8_is(int dtype)
{
    return dtype >= AOTHIP_FP8_E4M3 && dtype <= AOTHIP_FP8_E5M2_FNUZ;
}

static inline int fp8_is_fnuz(int dtype)
{
    return dtype >= AOTHIP_FP8_E4M3_FNUZ;
}

static inline int fp8_fraction_bits(int dtype)
{
    return dtype == AOTHIP_FP8_E4M3 || dtype == AOTHIP_FP8_E4M3_FNUZ ? 3 : 2;
}

static inline int fp8_bias(int dtype)
{
    return (1 << (6 - fp8_fraction_bits(dtype))) - (fp8_is_fnuz(dtype) ? 0 : 1);
}

/* The code of the largest number. */
static inline unsigned fp8_largest(int dtype)
{
    return dtype == AOTHIP_FP8_E4M3 ? 0x7e : dtype == AOTHIP_FP8_E5M2 ? 0x7b : 0x7f;
}

static inline double fp8_widen(uint8_t code, int dtype)
{
    const unsigned magnitude = code & 0x7f;
    double value;

    if (fp8_is_fnuz(dtype) ? code == 0x80 : magnitude > fp8_largest(dtype))
        return dtype == AOTHIP_FP8_E5M2 && magnitude == 0x7c ? (code & 0x80 ? -INFINITY : INFINITY)
                                                             : (double)NAN;
    value = half_magnitude(magnitude, fp8_bias(dtype), fp8_fraction_bits(dtype));
    return code & 0x80 ? -value : value;
}

static inline uint8_t fp8_narrow(double value, int dtype)
{
    const unsigned sign = signbit(value) ? 0x80 : 0;
    unsigned code = fp8_largest(dtype);

    if (isnan(value))
        return fp8_is_fnuz(dtype) ? 0x80 : 0x7f;
    if (fabs(value) < fp8_widen((uint8_t)code, dtype))
        code = half_code(fabs(value), fp8_bias(dtype), fp8_fraction_bits(dtype));
    return (uint8_t)(code || !fp8_is_fnuz(dtype) ? sign | code : 0);
}

#endif
