/* The element types, bit by bit: exact numbers of each as doubles, rounding, loads and stores. */
#ifndef RANDOM_NUMBER_H
#define RANDOM_NUMBER_H

#include "aothip/aothip.h"

#include <math.h>
#include <string.h>

static inline size_t number_size(int dtype)
{
    return dtype == AOTHIP_F32 ? 4 : dtype == AOTHIP_BOOL ? 1 : 2;
}

/* Half of the distance from 1 to the next number. */
static inline double number_unit(int dtype)
{
    return dtype == AOTHIP_F32 ? 0x1p-24 : dtype == AOTHIP_F16 ? 0x1p-11 : 0x1p-8;
}

/* Half of the smallest positive number. */
static inline double number_least(int dtype)
{
    return dtype == AOTHIP_F32 ? 0x1p-150 : dtype == AOTHIP_F16 ? 0x1p-25 : 0x1p-134;
}

static inline double number_most(int dtype)
{
    return dtype == AOTHIP_F32 ? 0x1.fffffep127 : dtype == AOTHIP_F16 ? 65504 : 0x1.fep127;
}

/* To nearest, ties to even; beyond the largest number: infinity. */
static inline double number_round(double x, int dtype)
{
    int digits = dtype == AOTHIP_F32 ? 24 : dtype == AOTHIP_F16 ? 11 : 8;
    int lowest = dtype == AOTHIP_F16 ? -14 : -126, exponent;
    double step, rounded;

    if (!isfinite(x) || x == 0)
        return x;
    exponent = ilogb(x) < lowest ? lowest : ilogb(x);
    step = ldexp(1, exponent - digits + 1);
    rounded = nearbyint(x / step) * step;
    return fabs(rounded) > number_most(dtype) ? copysign(INFINITY, x) : rounded;
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
