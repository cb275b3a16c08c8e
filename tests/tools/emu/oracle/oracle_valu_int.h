/* Oracle, vector ALU: integers, bits and bytes. */
#ifndef AOTHIP_TEST_ORACLE_VALU_INT_H
#define AOTHIP_TEST_ORACLE_VALU_INT_H

#include "oracle_valu.h"

static uint64_t clamp_u(const struct oracle_lane *x, unsigned bits, int64_t v)
{
    int64_t top = (INT64_C(1) << bits) - 1;

    if (x->clamp)
        v = v < 0 ? 0 : v > top ? top : v;
    return (uint64_t)v & (uint64_t)top;
}

static uint64_t clamp_i(const struct oracle_lane *x, unsigned bits, int64_t v)
{
    int64_t half = INT64_C(1) << (bits - 1);

    if (x->clamp)
        v = v < -half ? -half : v > half - 1 ? half - 1 : v;
    return (uint64_t)v & ((UINT64_C(1) << bits) - 1);
}

static int64_t i24(uint64_t v)
{
    return (int64_t)(v << 40) >> 40;
}

static uint64_t u24(uint64_t v)
{
    return v & 0xffffff;
}

static uint64_t reverse(uint64_t v, unsigned bits)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < bits; i++)
        r |= (v >> i & 1) << (bits - 1 - i);
    return r;
}

static uint64_t first_from_top(uint64_t v, unsigned bits, unsigned want)
{
    for (unsigned i = 0; i < bits; i++)
        if ((v >> (bits - 1 - i) & 1) == want)
            return i;
    return 0xffffffff;
}

static uint64_t first_from_bottom(uint64_t v, unsigned bits, unsigned want)
{
    for (unsigned i = 0; i < bits; i++)
        if ((v >> i & 1) == want)
            return i;
    return 0xffffffff;
}

static uint64_t first_unlike_sign(uint64_t v, unsigned bits)
{
    return first_from_top(v, bits, !(v >> (bits - 1) & 1));
}

static uint64_t ones(uint64_t v)
{
    uint64_t n = 0;

    for (int i = 0; i < 64; i++)
        n += v >> i & 1;
    return n;
}

static uint64_t below(unsigned lane)
{
    return (UINT64_C(1) << lane) - 1;
}

static uint64_t bfe_signed(uint64_t v, uint64_t from, uint64_t width)
{
    int64_t field = (int32_t)v >> from;

    if (!width)
        return 0;
    return (uint32_t)((int64_t)((uint64_t)field << (64 - width)) >> (64 - width));
}

static uint64_t lerp8(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t r = 0;

    for (int at = 0; at < 32; at += 8)
        r |= (((a >> at & 255) + (b >> at & 255) + (c >> at & 1)) >> 1) << at;
    return r;
}

static int64_t sorted(int64_t a, int64_t b, int64_t c, int rank)
{
    int64_t v[3] = {a, b, c}, t;

    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (v[j] > v[j + 1]) {
                t = v[j];
                v[j] = v[j + 1];
                v[j + 1] = t;
            }
    return v[rank];
}

static int64_t maxmin(int64_t a, int64_t b, int64_t c)
{
    int64_t m = a > b ? a : b;

    return m < c ? m : c;
}

static uint64_t gap(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* masked: bytes of b that are 0 do not count */
static uint64_t sad8(uint64_t a, uint64_t b, int masked)
{
    uint64_t sum = 0;

    for (int at = 0; at < 32; at += 8)
        if (!masked || (b >> at & 255))
            sum += gap(a >> at & 255, b >> at & 255);
    return sum;
}

static uint64_t qsad16(uint64_t a, uint64_t b, uint64_t c, int masked)
{
    uint64_t r = 0;

    for (int i = 0; i < 4; i++)
        r |= ((sad8(a >> 8 * i & 0xffffffff, b, masked) + (c >> 16 * i & 0xffff)) & 0xffff)
             << 16 * i;
    return r;
}

static void mqsad32(struct oracle_lane *x)
{
    uint64_t c[4] = {S2 & 0xffffffff, S2 >> 32, x->s_hi & 0xffffffff, x->s_hi >> 32}, r[4];

    for (int i = 0; i < 4; i++)
        r[i] = (uint32_t)(sad8(S0 >> 8 * i & 0xffffffff, S1, 1) + c[i]);
    D = r[0] | r[1] << 32;
    x->d_hi = r[2] | r[3] << 32;
}

#define MQSAD32() mqsad32(x)

static uint64_t sat8(uint64_t v)
{
    int n = (int16_t)v;

    return (uint64_t)(n < 0 ? 0 : n > 255 ? 255 : n);
}

static uint64_t sat16(int64_t v)
{
    return (uint64_t)(v < -32768 ? -32768 : v > 32767 ? 32767 : v) & 0xffff;
}

static uint64_t perm(uint64_t data, uint64_t selectors)
{
    uint64_t r = 0;

    for (int at = 0; at < 32; at += 8) {
        uint64_t sel = selectors >> at & 255, byte;

        if (sel >= 13)
            byte = 255;
        else if (sel == 12)
            byte = 0;
        else if (sel >= 8) /* sign of byte 1, 3, 5, 7 */
            byte = data >> (16 * (sel - 8) + 15) & 1 ? 255 : 0;
        else
            byte = data >> 8 * sel & 255;
        r |= byte << at;
    }
    return r;
}

/*
 * Which shader engines a rectangle of screen tiles touches: x_min, y_min, x_max, y_max modulo 4
 * from bit 6 down, wrapping around. Tile (x, y) belongs to engine { x[0] ^ y[1], y[0] ^ x[1] }.
 */
static uint64_t engines_of(uint64_t v)
{
    unsigned x0 = v >> 6 & 3, y0 = v >> 4 & 3, x1 = v >> 2 & 3, y1 = v & 3, engines = 0;

    for (unsigned x = x0;; x = (x + 1) & 3) {
        for (unsigned y = y0;; y = (y + 1) & 3) {
            engines |= 1u << (((x ^ y >> 1) & 1) << 1 | ((y ^ x >> 1) & 1));
            if (y == y1)
                break;
        }
        if (x == x1)
            return engines;
    }
}

#endif
