/* Floats of 8 bits, and bfloat16. */
#include "matrix_ops.h"

#include <math.h>
#include <string.h>

static float magnitude(uint8_t x, unsigned mantissa, int bias)
{
    unsigned exponent = (x & 0x7f) >> mantissa, fraction = x & ((1u << mantissa) - 1);
    float value;
    if (exponent)
        value = ldexpf((float)((1u << mantissa) + fraction), (int)exponent - bias - (int)mantissa);
    else
        value = ldexpf((float)fraction, 1 - bias - (int)mantissa);
    return x >> 7 ? -value : value;
}

static float small_float(uint8_t x, unsigned mantissa, int bias)
{
    return x == 0x80 ? NAN : magnitude(x, mantissa, bias);
}

float emu_fp8_to_f32(uint8_t x)
{
    return small_float(x, 3, 8);
}

float emu_bf8_to_f32(uint8_t x)
{
    return small_float(x, 2, 16);
}

float emu_fp8_ocp_to_f32(uint8_t x)
{
    return (x & 0x7f) == 0x7f ? NAN : magnitude(x, 3, 7);
}

float emu_bf8_ocp_to_f32(uint8_t x)
{
    if ((x & 0x7f) > 0x7c)
        return NAN;
    return (x & 0x7f) == 0x7c ? (x >> 7 ? -INFINITY : INFINITY) : magnitude(x, 2, 15);
}

uint16_t emu_f32_to_bf16(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    if (f != f)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
