/* Elements of tensors: where they lie, what they hold, how they round. */
#include "ref.h"

#include "ref_fp8.h"
#include "half.h"

size_t ref_dtype_size(int dtype)
{
    switch (dtype) {
    case AOTHIP_F32:
        return 4;
    case AOTHIP_F16:
    case AOTHIP_BF16:
        return 2;
    case AOTHIP_BOOL:
        return 1;
    }
    return fp8_is(dtype);
}

double ref_load(const void *data, int64_t index, int dtype)
{
    switch (dtype) {
    case AOTHIP_F32:
        return ((const float *)data)[index];
    case AOTHIP_F16:
        return half_from_f16(((const uint16_t *)data)[index]);
    case AOTHIP_BF16:
        return half_from_bf16(((const uint16_t *)data)[index]);
    case AOTHIP_BOOL:
        return ((const uint8_t *)data)[index] != 0;
    }
    return fp8_is(dtype) ? fp8_widen(((const uint8_t *)data)[index], dtype) : (double)NAN;
}

void ref_store(void *data, int64_t index, int dtype, double value)
{
    if (dtype == AOTHIP_F32)
        ((float *)data)[index] = (float)value;
    else if (dtype == AOTHIP_F16)
        ((uint16_t *)data)[index] = half_to_f16(value);
    else if (dtype == AOTHIP_BF16)
        ((uint16_t *)data)[index] = half_to_bf16(value);
    else if (dtype == AOTHIP_BOOL)
        ((uint8_t *)data)[index] = value != 0;
    else if (fp8_is(dtype))
        ((uint8_t *)data)[index] = fp8_narrow(value, dtype);
}

double ref_round(double value, int dtype)
{
    switch (dtype) {
    case AOTHIP_F32:
        return (float)value;
    case AOTHIP_F16:
        return half_from_f16(half_to_f16(value));
    case AOTHIP_BF16:
        return half_from_bf16(half_to_bf16(value));
    }
    return fp8_is(dtype) ? fp8_widen(fp8_narrow(value, dtype), dtype) : value;
}

double ref_half_ulp(double value, int dtype)
{
    /* Bits of the significand, the hidden one included, and the smallest normal's exponent. */
    int bits = dtype == AOTHIP_F16 ? 11 : dtype == AOTHIP_BF16 ? 8 : 24;
    int smallest = dtype == AOTHIP_F16 ? -14 : -126;
    int exponent;

    if (fp8_is(dtype)) {
        bits = fp8_fraction_bits(dtype) + 1;
        smallest = 1 - fp8_bias(dtype);
    }
    if (value == 0 || !isfinite(value))
        return ldexp(1, smallest - bits);
    frexp(value, &exponent);
    exponent--;
    if (exponent < smallest)
        exponent = smallest;
    return ldexp(1, exponent - bits);
}

enum ref_subnormals ref_subnormals_of(const char *target)
{
    return strncmp(target, "gfx90a", 6) ? REF_SUBNORMALS_KEPT : REF_SUBNORMALS_FLUSHED;
}

int64_t ref_offset(const struct aothip_tensor *t, int64_t b, int64_t h, int64_t s, int64_t d)
{
    const int64_t at[4] = {b, h, s, d};
    int64_t offset = 0;
    int i;

    for (i = 0; i < 4; i++)
        if (t->size[i] > 1)
            offset += at[i] * t->stride[i];
    return offset;
}

int64_t ref_span(const struct aothip_tensor *t)
{
    int i;

    for (i = 0; i < 4; i++)
        if (t->size[i] < 1)
            return 0;
    return ref_offset(t, t->size[0] - 1, t->size[1] - 1, t->size[2] - 1, t->size[3] - 1) + 1;
}
