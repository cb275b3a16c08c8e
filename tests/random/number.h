/* The element types, bit by bit: exact numbers of each as doubles, rounding, loads and stores. */
#ifndef RANDOM_NUMBER_H
#define RANDOM_NUMBER_H

#include "aothip/aothip.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* What makes a type of floating-point numbers. */
struct number_form {
    int digits;     /* of the fraction and the one before it */
    int lowest;     /* exponent of the smallest number that is not subnormal */
    double most;    /* the largest number */
    bool saturates; /* what is larger becomes it; FP8 */
};

static inline bool number_is_fp8(int dtype)
{
    return dtype >= AOTHIP_FP8_E4M3 && dtype <= AOTHIP_FP8_E5M2_FNUZ;
}

static inline struct number_form number_form_of(int dtype)
{
    switch (dtype) {
    case AOTHIP_F16:
        return (struct number_form){11, -14, 65504, false};
    case AOTHIP_BF16:
        return (struct number_form){8, -126, 0x1.fep127, false};
    case AOTHIP_FP8_E4M3:
        return (struct number_form){4, -6, 448, true};
    case AOTHIP_FP8_E5M2:
        return (struct number_form){3, -14, 57344, true};
    case AOTHIP_FP8_E4M3_FNUZ:
        return (struct number_form){4, -7, 240, true};
    case AOTHIP_FP8_E5M2_FNUZ:
        return (struct number_form){3, -15, 57344, true};
    default:
        return (struct number_form){24, -126, 0x1.fffffep127, false};
    }
}

static inline size_t number_size(int dtype)
{
    return dtype == AOTHIP_F32 ? 4 : dtype == AOTHIP_BOOL || number_is_fp8(dtype) ? 1 : 2;
}

/* Half of the distance from 1 to the next number. */
static inline double number_unit(int dtype)
{
    return ldexp(1, -number_form_of(dtype).digits);
}

/* Half of the smallest positive number. */
static inline double number_least(int dtype)
{
    const struct number_form x = number_form_of(dtype);
    return ldexp(1, x.lowest - x.digits);
}

static inline double number_most(int dtype)
{
    return number_form_of(dtype).most;
}

/* To nearest, ties to even; beyond the largest number: infinity, or that number. */
static inline double number_round(double x, int dtype)
{
    const struct number_form form = number_form_of(dtype);
    int exponent;
    double step, rounded;

    if (!isfinite(x) || x == 0)
        return x;
    exponent = ilogb(x) < form.lowest ? form.lowest : ilogb(x);
    step = ldexp(1, exponent - form.digits + 1);
    rounded = nearbyint(x / step) * step;
    return fabs(rounded) > form.most ? copysign(form.saturates ? form.most : INFINITY, x) : rounded;
}

/* FP8: a sign, an exponent and digits; in FNUZ 80 is NaN, in e4m3 7f, in e5m2 what is beyond 7c. */
static inline double number_of_fp8(unsigned char code, int dtype)
{
    const struct number_form form = number_form_of(dtype);
    const int bits = form.digits - 1, size = code & 0x7f;
    const int exponent = size >> bits, digits = size & ((1 << bits) - 1);
    double x = ldexp(digits + (exponent ? 1 << bits : 0),
                     (exponent ? exponent - 1 : 0) + form.lowest - bits);

    if (dtype >= AOTHIP_FP8_E4M3_FNUZ ? code == 0x80
        : dtype == AOTHIP_FP8_E4M3    ? size == 0x7f
                                      : size > 0x7c)
        return NAN;
    if (dtype == AOTHIP_FP8_E5M2 && size == 0x7c)
        x = INFINITY;
    return code & 0x80 ? -x : x;
}

/* Infinity, where there is none, becomes NaN. */
static inline unsigned char number_to_fp8(double x, int dtype)
{
    const struct number_form form = number_form_of(dtype);
    const double size = fabs(number_round(x, dtype));
    int exponent, code;

    if (isnan(x) || (isinf(x) && dtype != AOTHIP_FP8_E5M2))
        return dtype >= AOTHIP_FP8_E4M3_FNUZ ? 0x80 : 0x7f;
    if (isinf(x))
        return signbit(x) ? 0xfc : 0x7c;
    exponent = size < ldexp(1, form.lowest) ? form.lowest : ilogb(size);
    code = (exponent - form.lowest) << (form.digits - 1);
    code += (int)ldexp(size, form.digits - 1 - exponent);
    return (unsigned char)(code | (signbit(x) && size > 0 ? 0x80 : 0));
}

static inline double number_of_f16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, digits = bits & 1023;
    double size = exponent == 31  ? (digits ? NAN : INFINITY)
                  : exponent == 0 ? ldexp(digits, -24)
                                  : ldexp(1024 + digits, exponent - 25);
    return bits & 0x8000 ? -size : size;
}

static inline uint16_t number_to_f16(double x)
{
    double size = fabs(number_round(x, AOTHIP_F16));
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    int exponent;

    if (isnan(x))
        return 0x7e00;
    if (isinf(size))
        return sign | 0x7c00;
    if (size < 0x1p-14)
        return sign | (uint16_t)ldexp(size, 24);
    exponent = ilogb(size);
    return sign | (uint16_t)((exponent + 15) << 10 | ((int)ldexp(size, 10 - exponent) - 1024));
}

static inline double number_load(const void *data, int64_t at, int dtype)
{
    uint16_t half;
    uint32_t word;
    float single;

    if (dtype == AOTHIP_BOOL)
        return ((const unsigned char *)data)[at] != 0;
    if (number_is_fp8(dtype))
        return number_of_fp8(((const unsigned char *)data)[at], dtype);
    if (dtype == AOTHIP_F32) {
        memcpy(&single, (const char *)data + 4 * at, 4);
        return (double)single;
    }
    memcpy(&half, (const char *)data + 2 * at, 2);
    if (dtype == AOTHIP_F16)
        return number_of_f16(half);
    word = (uint32_t)half << 16;
    memcpy(&single, &word, 4);
    return (double)single;
}

static inline void number_store(void *data, int64_t at, int dtype, double x)
{
    float single = (float)number_round(x, dtype == AOTHIP_BF16 ? AOTHIP_BF16 : AOTHIP_F32);
    uint16_t half;
    uint32_t word;

    memcpy(&word, &single, 4);
    if (dtype == AOTHIP_BOOL) {
        ((unsigned char *)data)[at] = x != 0;
    } else if (number_is_fp8(dtype)) {
        ((unsigned char *)data)[at] = number_to_fp8(x, dtype);
    } else if (dtype == AOTHIP_F32) {
        memcpy((char *)data + 4 * at, &single, 4);
    } else {
        half = dtype == AOTHIP_F16 ? number_to_f16(x) : (uint16_t)(word >> 16);
        memcpy((char *)data + 2 * at, &half, 2);
    }
}

/* The number of the element (b, h, s, d) of a view, in elements from its data. */
static inline int64_t number_at(const struct aothip_tensor *t, int64_t b, int64_t h, int64_t s,
                                int64_t d)
{
    int64_t at[4] = {b, h, s, d}, sum = 0;
    int i;

    for (i = 0; i < 4; i++)
        sum += t->size[i] == 1 ? 0 : at[i] * t->stride[i];
    return sum;
}

/* Elements from the first to the last one of a view, both included. */
static inline int64_t number_span(const struct aothip_tensor *t)
{
    if (!t->size[0] || !t->size[1] || !t->size[2] || !t->size[3])
        return 0;
    return number_at(t, t->size[0] - 1, t->size[1] - 1, t->size[2] - 1, t->size[3] - 1) + 1;
}

static inline double number_get(const struct aothip_tensor *t, int64_t b, int64_t h, int64_t s,
                                int64_t d)
{
    return number_load(t->data, number_at(t, b, h, s, d), t->dtype);
}

#endif
