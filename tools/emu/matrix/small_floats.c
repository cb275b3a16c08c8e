/* Floats of 8 bits, and bfloat16. */
#include "matrix_ops.h"

#include <math.h>
#include <string.h>

static float small_float(uint8_t x, unsigned mantissa, int bias)
{
    unsigned exponent = (x & 0x7f) >> mantissa, fraction = x & ((1u << mantissa) - 1);
    float value;
    if (x == 0x80)
        return NAN;
    if (exponent)
        value = ldexpf((float)((1u << mantissa) + fraction), (int)exponent - bias - (int)mantissa);
    else
        value = ldexpf((float)fraction, 1 - bias - (int)mantissa);
    return x >> 7 ? -value : value;
}

float emu_fp8_to_f32(uint8_t x)
{
    return small_float(x, 3, 8);
}

float emu_bf8_to_f32(uint8_t x)
{
    return small_float(x, 2, 16);
}

uint16_t emu_f32_to_bf16(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    if (f != f)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
