/* Buffer element formats in exact arithmetic; see oracle_texel.h. */
#include <stdio.h>
#include <string.h>

#include "oracle_texel.h"
#include "softfloat.h"

static const char *const types[] = {"UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT"};

/* gfx9's numeric formats 0 to 5 and 7. */
static const char *const data9[] = {
    "8",          "16",         "8_8",     "32",    "16_16",       "10_11_11", "11_11_10",
    "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32",
};

/* gfx11's formats from 1 on: a data format with its letters, n N s S u i f in the order of `types`
 * and FLOAT. */
static const char *const data11[] = {
    "8 nNsSui",          "16 nNsSuif",      "8_8 nNsSui", "32 uif",
    "16_16 nNsSuif",     "10_11_11 f",      "11_11_10 f", "10_10_10_2 nNui",
    "2_10_10_10 nNsSui", "8_8_8_8 nNsSui",  "32_32 uif",  "16_16_16_16 nNsSuif",
    "32_32_32 uif",      "32_32_32_32 uif",
};

static void read_name(struct texel *f, const char *data, unsigned type)
{
    unsigned w[4] = {0}, bits = 0;

    f->count = (unsigned)sscanf(data, "%u_%u_%u_%u", &w[0], &w[1], &w[2], &w[3]);
    for (unsigned i = 0; i < f->count; i++) {
        f->width[i] = w[f->count - 1 - i];
        bits += w[i];
    }
    f->bytes = bits / 8;
    f->type = (enum texel_type)type;
    snprintf(f->name, sizeof f->name, "%.20s_%s", data, type < 6 ? types[type] : "FLOAT");
}

/* Small floats exist only as floats, 8 bits and 10_10_10_2 never; 32 bits are not converted. */
static bool exists_on_gfx9(const char *data, unsigned type)
{
    bool small = strstr(data, "11") != NULL, is_float = type == TEXEL_FLOAT;

    if (strstr(data, "32"))
        return type >= TEXEL_UINT;
    if (small || is_float)
        return small ? is_float : !strstr(data, "8") && !strstr(data, "10");
    return true;
}

bool texel_format(bool gfx11, unsigned i, struct texel *f)
{
    static const char letters[] = "nNsSuif";
    unsigned seen = 0;

    memset(f, 0, sizeof *f);
    for (unsigned d = 0; d < 14; d++)
        for (unsigned n = 0; n < 7; n++) {
            const char *list = gfx11 ? strchr(data11[d], ' ') : NULL;
            char data[16];

            /* in the order of the letters, which is that of the numbers */
            if (gfx11 ? !strchr(list, letters[n]) : !exists_on_gfx9(data9[d], n))
                continue;
            if (seen++ != i)
                continue;
            snprintf(data, sizeof data, "%.*s", gfx11 ? (int)(list - data11[d]) : 15,
                     gfx11 ? data11[d] : data9[d]);
            read_name(f, data, n);
            f->number = gfx11 ? seen : d + 1 + 16 * (n == TEXEL_FLOAT ? 7 : n);
            return true;
        }
    return false;
}

static uint32_t ones(unsigned width)
{
    return width == 32 ? ~0u : (1u << width) - 1;
}

static unsigned bit_of(const struct texel *f, unsigned c)
{
    unsigned at = 0;

    while (c-- > 0)
        at += f->width[c];
    return at;
}

static int64_t sign_extended(uint32_t raw, unsigned width)
{
    return raw >> (width - 1) ? (int64_t)raw - ((int64_t)1 << width) : (int64_t)raw;
}

/* 10 and 11 bits have five bits of exponent and no sign; 0 in front makes them a format with one.
 */
static struct sf_format float_format(unsigned width)
{
    return width == 32   ? sf_f32
           : width == 16 ? sf_f16
                         : (struct sf_format){.exp_bits = 5, .frac_bits = width - 5};
}

static const struct sf_env nearest = {SF_NEAREST, true, true};

uint32_t texel_load(const struct texel *f, const uint8_t *element, unsigned c, bool d16)
{
    unsigned width = f->width[c], at = bit_of(f, c);
    struct sf_format ff = float_format(width);
    uint32_t raw = 0;
    struct sf x;

    for (unsigned i = 0; i < width; i++)
        raw |= (uint32_t)(element[(at + i) / 8] >> (at + i) % 8 & 1) << i;
    switch (f->type) {
    case TEXEL_UINT:
        return raw;
    case TEXEL_SINT:
        return (uint32_t)sign_extended(raw, width);
    case TEXEL_UNORM:
        x = sf_div(sf_from_uint(raw), sf_from_uint(ones(width)));
        break;
    case TEXEL_SNORM:
        x = sf_div(sf_from_int(sign_extended(raw, width)),
                   sf_from_uint(width == 2 ? 1 : ones(width - 1)));
        if (sf_compare(x, sf_from_int(-1)) < 0)
            x = sf_from_int(-1);
        break;
    case TEXEL_USCALED:
        x = sf_from_uint(raw);
        break;
    case TEXEL_SSCALED:
        x = sf_from_int(sign_extended(raw, width));
        break;
    default:
        if (width == 32 && !d16)
            return raw;
        x = sf_unpack(&ff, raw);
    }
    return (uint32_t)sf_pack(d16 ? &sf_f16 : &sf_f32, x, &nearest);
}

/* To the nearest integer within the limits; NaN is 0. */
static uint32_t integer(struct sf x, int64_t low, int64_t high)
{
    return (uint32_t)sf_to_int(sf_integral(x, SF_NEAREST), low, high);
}

static uint32_t small_float(struct sf x, unsigned width)
{
    struct sf_format ff = float_format(width);

    if (width < 16 && x.cls == SF_IS_NAN)
        return ones(width);
    if (width < 16 && x.sign)
        return 0;
    return (uint32_t)sf_pack(&ff, x, &nearest) & ones(width);
}

void texel_store(const struct texel *f, uint8_t *element, unsigned c, uint32_t reg, bool d16)
{
    unsigned width = f->width[c], at = bit_of(f, c);
    uint32_t raw = 0, all = ones(width), half = all >> 1;
    struct sf x = sf_unpack(d16 ? &sf_f16 : &sf_f32, reg);

    switch (f->type) {
    case TEXEL_UINT:
        raw = reg < all ? reg : all;
        break;
    case TEXEL_SINT: {
        int64_t v = sign_extended(reg, d16 ? 16 : 32), low = -(int64_t)half - 1;

        raw = (uint32_t)(v < low ? low : v > half ? half : v);
        break;
    }
    case TEXEL_UNORM:
        raw = integer(sf_mul(x, sf_from_uint(all)), 0, all);
        break;
    case TEXEL_SNORM:
        raw = integer(sf_mul(x, sf_from_uint(half)), -(int64_t)half, half);
        break;
    case TEXEL_USCALED:
        raw = integer(x, 0, all);
        break;
    case TEXEL_SSCALED:
        raw = integer(x, -(int64_t)half - 1, half);
        break;
    case TEXEL_FLOAT:
        raw = width == 32 && !d16 ? reg : small_float(x, width);
        break;
    }
    for (unsigned i = 0; i < width; i++)
        element[(at + i) / 8] |= (uint8_t)((raw >> i & 1) << (at + i) % 8);
}
