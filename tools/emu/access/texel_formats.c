/* Formatted buffer loads and stores: memory in one of the texture formats, registers in 32 or 16
 * bits. */
#include <math.h>

#include "access_handlers.h"

/* Numeric formats, as gfx9 numbers them. */
enum { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, RESERVED, FLOAT };

/* Data formats, as gfx9 numbers them: widths of X, Y, Z, W from the lowest bit on. */
static const uint8_t widths[16][4] = {
    [1] = {8},
    [2] = {16},
    [3] = {8, 8},
    [4] = {32},
    [5] = {16, 16},
    [6] = {11, 11, 10},
    [7] = {10, 11, 11},
    [8] = {2, 10, 10, 10},
    [9] = {10, 10, 10, 2},
    [10] = {8, 8, 8, 8},
    [11] = {32, 32},
    [12] = {16, 16, 16, 16},
    [13] = {32, 32, 32},
    [14] = {32, 32, 32, 32},
};

/* gfx11 has one number for both: data formats in this order, each with the numeric formats of the
 * mask (bit: number). */
static const struct {
    uint8_t data, numeric;
} unified[] = {
    {1, 0x3f}, {2, 0xbf}, {3, 0x3f},  {4, 0xb0},  {5, 0xbf},  {6, 0x80},  {7, 0x80},
    {8, 0x33}, {9, 0x3f}, {10, 0x3f}, {11, 0xb0}, {12, 0xbf}, {13, 0xb0}, {14, 0xb0},
};

struct format {
    uint8_t data, numeric; /* data 0: no format */
    uint8_t select[4];     /* of each register: 0, 1 or component + 4 */
    unsigned bits, bytes;
};

static void split_unified(struct format *f, unsigned number)
{
    unsigned next = 1;

    for (unsigned i = 0; i < sizeof unified / sizeof *unified; i++)
        for (unsigned n = 0; n < 8; n++)
            if (unified[i].numeric >> n & 1 && next++ == number) {
                f->data = unified[i].data;
                f->numeric = (uint8_t)n;
            }
}

/* Of the instruction (MTBUF: missing components are 0) or of the resource. */
static struct format read_format(const struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_insn *insn = op->insn;
    uint32_t word = w->s[op->s[2] + 3];
    bool typed = insn->enc == EMU_MTBUF, gfx11 = insn->family >= EMU_GFX11;
    struct format f = {0};

    if (gfx11) {
        split_unified(&f, typed ? insn->format & 63 : word >> 12 & 63);
    } else {
        f.data = typed ? insn->format & 15 : word >> 15 & 15;
        f.numeric = typed ? insn->format >> 4 & 7 : word >> 12 & 7;
    }
    for (unsigned i = 0; i < 4; i++) {
        f.select[i] = typed ? (uint8_t)(widths[f.data][i] ? 4 + i : 0) : word >> (3 * i) & 7;
        f.bits += widths[f.data][i];
    }
    f.bytes = f.bits / 8;
    return f;
}

static uint32_t bits_of(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static uint32_t half_bits(double x)
{
    _Float16 h = (_Float16)x;
    uint16_t u;

    memcpy(&u, &h, sizeof u);
    return u;
}

static double half_value(uint32_t bits)
{
    uint16_t u = (uint16_t)bits;
    _Float16 h;

    memcpy(&h, &u, sizeof h);
    return h;
}

/* 10 and 11 bits: no sign, five bits of exponent as in f16. */
static double float_value(uint32_t raw, unsigned width)
{
    float x;

    if (width == 16)
        return half_value(raw);
    if (width < 16)
        return half_value(raw << (15 - width));
    memcpy(&x, &raw, sizeof x);
    return x;
}

/* Fields have 1 to 32 bits. */
static uint32_t field_ones(unsigned width)
{
    return (uint32_t)((UINT64_C(1) << width % 64) - 1);
}

static int32_t extend(uint32_t raw, unsigned width)
{
    unsigned above = (32 - width) % 32;

    return (int32_t)(raw << above) >> above;
}

static bool is_integer(const struct format *f)
{
    return f->numeric == UINT || f->numeric == SINT;
}

/* A component as the register sees it. Components of 32 bits are not converted, but for d16. */
static uint32_t unpack(const struct format *f, uint32_t raw, unsigned width, bool d16)
{
    double x, top = width > 1 ? field_ones(width - 1) : 1;

    if (is_integer(f))
        return f->numeric == SINT ? (uint32_t)extend(raw, width) : raw;
    if (width == 32 && !d16)
        return raw;
    switch (f->numeric) {
    case UNORM:
        x = raw / (double)field_ones(width);
        break;
    case SNORM:
        x = extend(raw, width) / top;
        x = x < -1 ? -1 : x;
        break;
    case USCALED:
        x = raw;
        break;
    case SSCALED:
        x = extend(raw, width);
        break;
    default:
        x = float_value(raw, width);
    }
    return d16 ? half_bits(x) : bits_of((float)x);
}

static uint32_t get_field(const uint8_t *p, unsigned at, unsigned width)
{
    uint64_t x = 0;

    for (unsigned i = 0; i < (at % 8 + width + 7) / 8; i++)
        x |= (uint64_t)p[at / 8 + i] << (8 * i);
    return (uint32_t)(x >> at % 8) & field_ones(width);
}

static void put_field(uint8_t *p, unsigned at, unsigned width, uint32_t value)
{
    for (unsigned i = 0; i < width; i++)
        p[(at + i) / 8] |= (uint8_t)((value >> i & 1) << (at + i) % 8);
}

static unsigned field_at(const struct format *f, unsigned component)
{
    unsigned at = 0;

    for (unsigned i = 0; i < component; i++)
        at += widths[f->data][i];
    return at;
}

/* What one register, or half of one with d16, receives from an element. p: NULL out of range. */
static uint32_t component_in(const struct format *f, const uint8_t *p, unsigned reg, bool d16)
{
    unsigned select = f->select[reg], width = select >= 4 ? widths[f->data][select - 4] : 0;

    if (select == 1)
        return is_integer(f) ? 1 : d16 ? 0x3c00 : 0x3f800000;
    return p && width ? unpack(f, get_field(p, field_at(f, select - 4), width), width, d16) : 0;
}

/* ---- stores: to nearest, saturating; the manuals leave both open */

static uint32_t saturate(double x, double low, double high)
{
    if (!(x > low))
        x = x != x ? 0 : low;
    else if (x > high)
        x = high;
    return (uint32_t)(int64_t)rint(x);
}

static uint32_t pack_float(double x, unsigned width)
{
    const int fraction = (int)width - 5, low = -14;
    double m;
    int e;

    if (width == 32)
        return bits_of((float)x);
    if (width == 16)
        return half_bits(x);
    if (x != x)
        return field_ones(width);
    if (!(x > 0))
        return 0;
    if (x >= 65536)
        return 31u << fraction;
    frexp(x, &e);
    e = e - 1 < low ? low : e - 1;
    m = rint(ldexp(x, fraction - e));
    return (uint32_t)((e - low) << fraction) + (uint32_t)m;
}

static uint32_t pack(const struct format *f, uint32_t reg, unsigned width, bool d16)
{
    double x = d16 ? half_value(reg) : float_value(reg, 32), top = field_ones(width - 1);

    switch (f->numeric) {
    case UINT:
        return reg > field_ones(width) ? field_ones(width) : reg;
    case SINT:
        return saturate(d16 ? (int16_t)reg : (int32_t)reg, -top - 1, top) & field_ones(width);
    default:
        break;
    }
    if (width == 32)
        return d16 ? bits_of((float)x) : reg;
    switch (f->numeric) {
    case UNORM:
        return saturate(x * field_ones(width), 0, field_ones(width));
    case SNORM:
        return saturate(x * top, -top, top) & field_ones(width);
    case USCALED:
        return saturate(x, 0, field_ones(width));
    case SSCALED:
        return saturate(x, -top - 1, top) & field_ones(width);
    default:
        return pack_float(x, width);
    }
}

/* ---- instructions; n: registers, or halves of registers with d16 */

/* Register i of a lane, or its half. */
struct place {
    unsigned row, shift;
};

static struct place place_of(unsigned row, unsigned i, bool d16, bool hi)
{
    return (struct place){row + (d16 ? i / 2 : i), d16 && (hi || i % 2) ? 16 : 0};
}

static void set_register(struct emu_wave *w, struct place at, unsigned l, uint32_t x, bool d16)
{
    uint32_t *d = &emu_row(w, at.row)[l];

    *d = d16 ? (*d & ~(0xffffu << at.shift)) | (x & 0xffff) << at.shift : x;
}

/* Without a format nothing is read or written. */
static void where(struct emu_wave *w, const struct emu_op *op, const struct format *f,
                  struct emu_where *a, enum emu_access access)
{
    if (f->bytes)
        emu_where_formatted(w, op, a, f->bytes, access);
    else
        a->mask = 0;
}

EMU_DEVICE_DATA static void load(struct emu_wave *w, const struct emu_op *op, unsigned n, bool d16,
                                 bool hi)
{
    const struct format f = read_format(w, op);
    struct emu_where a;
    uint64_t active = emu_exec(w);

    where(w, op, &f, &a, EMU_READ);
    EMU_EACH_LANE(l, active)
    {
        bool in = a.mask >> l & 1;

        for (unsigned i = 0; i < n; i++) {
            struct place at = place_of(op->d[0], i, d16, hi);

            set_register(w, at, l, component_in(&f, in ? a.p[l] : NULL, i, d16), d16);
            for (unsigned b = 0; w->strict && in && f.select[i] >= 4 && b < f.bytes; b++)
                if (emu_lane_poison(&a, l, b, 1))
                    emu_set_poison(w, at.row, l, d16 ? 0xffffu << at.shift : ~0u);
        }
    }
}

EMU_DEVICE_DATA static void store(struct emu_wave *w, const struct emu_op *op, unsigned n, bool d16,
                                  bool hi)
{
    const struct format f = read_format(w, op);
    struct emu_where a;

    where(w, op, &f, &a, EMU_WRITE);
    EMU_EACH_LANE(l, a.mask)
    {
        uint8_t element[16] = {0};

        for (unsigned i = 0; i < n; i++) {
            struct place at = place_of(op->s[1], i, d16, hi);
            unsigned c = f.select[i] - 4u, width = c < 4 ? widths[f.data][c] : 0;
            uint32_t x = emu_row(w, at.row)[l] >> at.shift;

            if (!width)
                continue;
            if (emu_get_poison(w, at.row, l) & (d16 ? 0xffffu << at.shift : ~0u))
                emu_fault(w, UINT64_C(1) << l, "stores a value that was never computed (v%u)",
                          op->insn->src[1].reg + at.row - op->s[1]);
            put_field(element, field_at(&f, c), width, pack(&f, d16 ? x & 0xffff : x, width, d16));
        }
        memcpy(a.p[l], element, f.bytes);
        for (unsigned b = 0; w->strict && b < f.bytes; b++)
            emu_lane_set_poison(&a, l, b, 1, 0);
    }
}

/* Each lane's first register goes to LDS: M0[15:0] + instruction offset + 4 * lane. */
EMU_DEVICE_DATA static void load_to_lds(struct emu_wave *w, const struct emu_op *op)
{
    const struct format f = read_format(w, op);
    struct emu_where from, to = {.mask = emu_exec(w)};
    uint32_t base = (w->s[EMU_S_M0] & 0xffff) + (uint32_t)op->insn->offset;

    where(w, op, &f, &from, EMU_READ);
    for (unsigned l = 0; l < w->lanes; l++)
        to.addr[l] = base + 4 * l;
    emu_where_lds_at(w, &to, 4, EMU_WRITE);
    EMU_EACH_LANE(l, to.mask)
    {
        bool in = from.mask >> l & 1;
        uint32_t x = component_in(&f, in ? from.p[l] : NULL, 0, false), poison = 0;

        memcpy(to.p[l], &x, 4);
        for (unsigned b = 0; w->strict && in && b < f.bytes; b++)
            poison |= emu_lane_poison(&from, l, b, 1) ? ~0u : 0;
        if (w->strict)
            emu_lane_set_poison(&to, l, 0, 4, poison);
    }
}

/* gfx9: the LDS bit sends the result there. */
static void load_x(struct emu_wave *w, const struct emu_op *op)
{
    if (op->insn->mem & EMU_M_LDS)
        load_to_lds(w, op);
    else
        load(w, op, 1, false, false);
}

#define DEFINE(name, call)                                                                         \
    void EMU_DO(name)(struct emu_wave * w, const struct emu_op *op)                                \
    {                                                                                              \
        call;                                                                                      \
    }
#define FORMATTED(prefix)                                                                          \
    DEFINE(prefix##_load_format_x, load_x(w, op))                                                  \
    DEFINE(prefix##_load_format_xy, load(w, op, 2, false, false))                                  \
    DEFINE(prefix##_load_format_xyz, load(w, op, 3, false, false))                                 \
    DEFINE(prefix##_load_format_xyzw, load(w, op, 4, false, false))                                \
    DEFINE(prefix##_load_format_d16_x, load(w, op, 1, true, false))                                \
    DEFINE(prefix##_load_format_d16_xy, load(w, op, 2, true, false))                               \
    DEFINE(prefix##_load_format_d16_xyz, load(w, op, 3, true, false))                              \
    DEFINE(prefix##_load_format_d16_xyzw, load(w, op, 4, true, false))                             \
    DEFINE(prefix##_store_format_x, store(w, op, 1, false, false))                                 \
    DEFINE(prefix##_store_format_xy, store(w, op, 2, false, false))                                \
    DEFINE(prefix##_store_format_xyz, store(w, op, 3, false, false))                               \
    DEFINE(prefix##_store_format_xyzw, store(w, op, 4, false, false))                              \
    DEFINE(prefix##_store_format_d16_x, store(w, op, 1, true, false))                              \
    DEFINE(prefix##_store_format_d16_xy, store(w, op, 2, true, false))                             \
    DEFINE(prefix##_store_format_d16_xyz, store(w, op, 3, true, false))                            \
    DEFINE(prefix##_store_format_d16_xyzw, store(w, op, 4, true, false))
FORMATTED(buffer)
FORMATTED(tbuffer)
DEFINE(buffer_load_format_d16_hi_x, load(w, op, 1, true, true))
DEFINE(buffer_store_format_d16_hi_x, store(w, op, 1, true, true))
DEFINE(buffer_load_lds_format_x, load_to_lds(w, op))
