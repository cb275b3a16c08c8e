/*
 * MFMA and WMMA, element by element.
 *
 * Layouts after the general rule of AMD's ISA manuals. A holds K_L = K / (64 / (M * blocks))
 * elements of a row in one lane: lane = i + M * (block + blocks * (k / K_L)), item k % K_L; B
 * likewise with j. Of D a lane holds groups of H = 4 consecutive rows (f64: H = 1): item = i % H +
 * H * (i / (H * M_I) + G * (block / B_I)) lane = j + N * (i / H % M_I + M_I * (block % B_I)) with
 * B_I = ceil(64 / (N * M / H)), M_I = 64 / B_I / N, G = M / (H * M_I).
 *
 * Arithmetic: f32, f64 and integers accumulate in the order of k, each step fused and rounded. In
 * f32 mode f16 and bf16, too, accumulate so. Else, after MMA-Sim 2.1.1:
 *
 * gfx90a reads denormals and -0 as +0, adds f16 and bf16 products four at a time (two where a lane
 * holds two), pairwise, and then to the sum; each step is rounded to f32 and denormal results
 * become 0 of their sign.
 *
 * gfx942 works on whole numbers. The exponents of a group's products, sums of the operands'
 * exponent fields (denormals have that of the smallest normal number), give the unit: the largest
 * less 24. Every product loses what is below the unit. Of the unit of their sum, the larger of its
 * and the accumulator's exponent less 32, and of the accumulator's, less 24, the numbers lose by
 * rounding down what is below, and so does the total at its own exponent less 31 before it is
 * rounded. fp8 sums even and odd k by themselves, and an accumulator 26 binades below is not there.
 *
 * Elsewhere the inputs of the test make every order exact.
 */
#include "oracle_matrix.h"

unsigned oracle_element_bits(enum oracle_element e)
{
    static const unsigned bits[] = {16, 16, 32, 64, 8, 4, 8, 8, 32, 8, 8, 6, 6, 4};

    return bits[e];
}

static const struct sf_format *format(enum oracle_element e)
{
    static const struct sf_format *const f[] = {
        &sf_f16, &sf_bf16, &sf_f32,     &sf_f64,     0,       0,       &sf_fp8,
        &sf_bf8, 0,        &sf_fp8_ocp, &sf_bf8_ocp, &sf_fp6, &sf_bf6, &sf_fp4};

    return f[e];
}

/* Item `item` of an operand in a lane, as raw bits. */
uint64_t oracle_item(enum oracle_element e, const uint32_t *x, unsigned lane, unsigned item)
{
    unsigned bits = oracle_element_bits(e), first = item * bits;
    uint64_t v = 0;

    for (unsigned b = 0; b < bits; b++)
        v |= (uint64_t)(x[(first + b) / 32 * 64 + lane] >> (first + b) % 32 & 1) << b;
    return v;
}

int64_t oracle_integer(uint64_t v, unsigned bits, bool is_signed)
{
    return is_signed ? (int64_t)(v << (64 - bits)) >> (64 - bits) : (int64_t)v;
}

static const struct sf_env exact = {SF_NEAREST, true, true};

static struct sf rounded(const struct sf_format *f, struct sf v)
{
    return sf_unpack(f, sf_pack(f, v, &exact));
}

/* gfx942: (-1)^.. * n * 2^unit; of a sum, exp is the exponent that the unit came from. */
struct whole {
    sf_i128 n;
    int unit, exp;
    bool something; /* not the sum of nothing but zeros, which has no exponent */
};

/* An operand or the accumulator, finite; also 0 has an exponent. */
static struct whole field(const struct sf_format *f, uint64_t bits)
{
    uint64_t e = bits >> f->frac_bits & ((1u << f->exp_bits) - 1);
    uint64_t frac = bits & ((UINT64_C(1) << f->frac_bits) - 1);
    int bias = (1 << (f->exp_bits - 1)) - !f->fnuz, exp = (int)(e ? e : 1) - bias;
    sf_i128 n = (sf_i128)(e ? frac | UINT64_C(1) << f->frac_bits : frac);

    if (bits >> (f->exp_bits + f->frac_bits) & 1)
        n = -n;
    return (struct whole){n, exp - (int)f->frac_bits, exp, n != 0};
}

/* In units of 2^unit: what lies below is lost, toward zero or down. */
static sf_i128 on_grid(struct whole w, int unit, bool down)
{
    int shift = w.unit - unit;
    sf_u128 n = (sf_u128)(w.n < 0 ? -w.n : w.n), kept;

    if (!w.n) /* whose unit may be any */
        return 0;
    if (shift >= 0)
        return w.n * ((sf_i128)1 << shift);
    kept = shift < -127 ? 0 : n >> -shift;
    if (w.n >= 0)
        return (sf_i128)kept;
    return -(sf_i128)kept - (down && (shift < -127 || kept << -shift != n));
}

/* Products `first`, first + step, .. below n. */
static struct whole cut_products(const struct oracle_product *p, const uint64_t *a,
                                 const uint64_t *b, unsigned first, unsigned step, unsigned n)
{
    struct whole product[16], sum = {0, 0, 0, false};

    for (unsigned i = first; i < n; i += step) {
        struct whole x = field(format(p->a), a[i]), y = field(format(p->b), b[i]);

        product[i] = (struct whole){x.n * y.n, x.unit + y.unit, x.exp + y.exp, true};
        if (product[i].n == 0)
            continue;
        sum.exp = sum.something && sum.exp > product[i].exp ? sum.exp : product[i].exp;
        sum.something = true;
    }
    sum.unit = sum.exp - 24;
    for (unsigned i = first; i < n; i += step)
        sum.n += on_grid(product[i], sum.unit, false);
    return sum;
}

static struct whole even_and_odd(struct whole x, struct whole y)
{
    struct whole sum = x.something && (!y.something || x.exp > y.exp) ? x : y;

    sum.n = on_grid(x, sum.unit, true) + on_grid(y, sum.unit, true);
    return sum;
}

/* Infinite and NaN products, and those of 2^128 and more: their sum with acc, if there are any. */
static bool special(const struct oracle_product *p, const uint64_t *a, const uint64_t *b,
                    unsigned n, struct sf *acc)
{
    const struct sf limit = sf_scale(sf_from_int(1), 128);
    bool any = false;

    for (unsigned i = 0; i < n; i++) {
        struct sf x = sf_mul(sf_unpack(format(p->a), a[i]), sf_unpack(format(p->b), b[i]));

        if (x.cls == SF_IS_ZERO || (x.cls == SF_IS_FINITE && sf_compare(sf_abs(x), limit) < 0))
            continue;
        any = true;
        *acc = sf_add(*acc, x.cls == SF_IS_NAN ? x : sf_inf(x.sign), SF_NEAREST);
    }
    return any || acc->cls == SF_IS_INF || acc->cls == SF_IS_NAN;
}

/* gfx942: one group of n products onto c. */
static uint64_t cut_group(const struct oracle_product *p, const uint64_t *a, const uint64_t *b,
                          unsigned n, uint64_t c)
{
    bool narrow = oracle_element_bits(p->a) == 8;
    struct sf acc = sf_unpack(&sf_f32, c);
    struct whole sum, own = field(&sf_f32, c), total;
    int length = 0, top;

    if (special(p, a, b, n, &acc))
        return sf_pack(&sf_f32, acc, &exact);
    sum = cut_products(p, a, b, 0, narrow ? 2 : 1, n);
    if (narrow)
        sum = even_and_odd(sum, cut_products(p, a, b, 1, 2, n));
    top = sum.something && sum.exp > own.exp ? sum.exp : own.exp;
    if (narrow && top - own.exp > 25)
        own.n = 0;
    total.n = on_grid(sum, top - 32, true) + on_grid(own, top - 24, true) * 256;
    total.unit = top - 32;
    for (sf_i128 x = total.n < 0 ? -total.n : total.n; x; x /= 2)
        length++;
    top = total.unit + length - 1 > -126 ? total.unit + length - 1 : -126;
    if (total.n == 0)
        return 0;
    acc = sf_from_int((int64_t)on_grid(total, top - 31, true));
    return sf_pack(&sf_f32, sf_scale(acc, top - 31), &exact);
}

/* gfx90a: what the matrix core reads, and what it writes. */
static struct sf read_flushed(const struct sf_format *f, uint64_t bits)
{
    struct sf x = sf_unpack(f, bits);

    return x.cls == SF_IS_ZERO || x.denormal ? sf_zero(false) : x;
}

static struct sf flushed(struct sf x)
{
    static const struct sf_env env = {SF_NEAREST, true, false};

    return sf_unpack(&sf_f32, sf_pack(&sf_f32, x, &env));
}

/* gfx90a: n products, their sum by halves. */
static struct sf tree(const struct oracle_product *p, const uint64_t *a, const uint64_t *b,
                      unsigned n)
{
    if (n == 1)
        return flushed(sf_mul(read_flushed(format(p->a), *a), read_flushed(format(p->b), *b)));
    return flushed(sf_add(tree(p, a, b, n / 2), tree(p, a + n / 2, b + n / 2, n / 2), SF_NEAREST));
}

/* The sum of products onto c in format f. */
static uint64_t float_dot(const struct oracle_product *p, enum oracle_target t,
                          const struct sf_format *f, const uint64_t *a, const uint64_t *b,
                          uint64_t c)
{
    unsigned bits = oracle_element_bits(p->a), kl = p->k / (64 / (p->m * p->blocks));
    unsigned group = bits == 8 ? 16 : bits == 16 ? 8 : 4;
    bool matrix =
        !p->chain && (bits == 16 || ((t == T_GFX942 || t == T_GFX950) && (bits == 8 || p->xf32)));
    struct sf acc = matrix && t == T_GFX90A ? read_flushed(f, c) : sf_unpack(f, c);

    group = t == T_GFX90A ? (kl < 4 ? kl : 4) : p->k < group ? p->k : group;
    if (matrix && (t == T_GFX942 || t == T_GFX950)) {
        for (unsigned k = 0; k < p->k; k += group)
            c = cut_group(p, a + k, b + k, group, c);
        return c;
    }
    for (unsigned k = 0; matrix && t == T_GFX90A && k < p->k; k += group)
        acc = flushed(sf_add(acc, tree(p, a + k, b + k, group), SF_NEAREST));
    for (unsigned k = 0; !(matrix && t == T_GFX90A) && k < p->k; k++)
        acc = rounded(f, sf_fma(sf_unpack(format(p->a), a[k]), sf_unpack(format(p->b), b[k]), acc,
                                SF_NEAREST));
    return sf_pack(f, acc, &exact);
}

uint64_t oracle_dot(const struct oracle_product *p, enum oracle_target t, const uint64_t *a,
                    const uint64_t *b, uint64_t c)
{
    unsigned bits = oracle_element_bits(p->a);
    int64_t sum = (int32_t)c;

    if (format(p->d))
        return float_dot(p, t, format(p->d), a, b, c);
    for (unsigned k = 0; k < p->k; k++)
        sum += oracle_integer(a[k], bits, p->a_signed) * oracle_integer(b[k], bits, p->b_signed);
    return (uint32_t)sum;
}

/* BLGP: which lane of B stands in for lane l. */
static unsigned b_lane(unsigned blgp, unsigned l)
{
    switch (blgp) {
    case 1:
        return l & 31;
    case 2:
        return 32 + (l & 31);
    case 3:
        return (l + 16) & 63;
    case 4:
    case 5:
    case 6:
    case 7:
        return 16 * (blgp - 4) + (l & 15);
    default:
        return l;
    }
}

/* Which group of lanes has element k of a row or column, and its number there. */
struct part {
    unsigned group, item;
};

/* A lane's 32 elements of 8 bits are two runs: of the first half of all k, and of the second. */
static struct part part_of(const struct oracle_product *p, enum oracle_element e, unsigned k,
                           unsigned kl)
{
    if (kl == 32 && oracle_element_bits(e) == 8)
        return (struct part){k % (p->k / 2) / 16, k / (p->k / 2) * 16 + k % 16};
    return (struct part){k / kl, k % kl};
}

void oracle_mfma(const struct oracle_product *p, enum oracle_target t, const uint32_t *a,
                 const uint32_t *b, const uint32_t *c, uint32_t *d)
{
    unsigned h = p->d == M_F64 ? 1 : 4, kl = p->k / (64 / (p->m * p->blocks));
    unsigned tile = p->n * p->m / h, bi = (64 + tile - 1) / tile, mi = 64 / bi / p->n;
    unsigned g = p->m / (h * mi), blgp = p->d == M_F64 ? 0 : p->blgp;
    static uint32_t out[32 * 64];
    unsigned regs = p->m * p->n * p->blocks / 64 * (p->d == M_F64 ? 2 : 1);

    for (unsigned block = 0; block < p->blocks; block++)
        for (unsigned i = 0; i < p->m; i++)
            for (unsigned j = 0; j < p->n; j++) {
                uint64_t row[128], column[128], r;
                unsigned from = (block & ~((1u << p->cbsz) - 1)) + p->abid; /* A is shared */
                unsigned item = i % h + h * (i / (h * mi) + g * (block / bi));
                unsigned lane = j + p->n * (i / h % mi + mi * (block % bi));

                if (!p->cbsz)
                    from = block;
                for (unsigned k = 0; k < p->k; k++) {
                    struct part pa = part_of(p, p->a, k, kl), pb = part_of(p, p->b, k, kl);
                    unsigned la = i + p->m * (from + p->blocks * pa.group);
                    unsigned lb = j + p->n * (block + p->blocks * pb.group);

                    row[k] = oracle_item(p->a, a, la, pa.item);
                    column[k] = oracle_item(p->b, b, b_lane(blgp, lb), pb.item);
                    if (p->xf32) { /* ten bits of the fraction take part */
                        row[k] &= ~UINT64_C(0x1fff);
                        column[k] &= ~UINT64_C(0x1fff);
                    }
                    if (p->d == M_F64 && p->blgp & 1)
                        row[k] ^= UINT64_C(1) << 63;
                    if (p->d == M_F64 && p->blgp & 2)
                        column[k] ^= UINT64_C(1) << 63;
                }
                r = oracle_item(p->d, c, lane, item);
                if (p->d == M_F64 && p->blgp & 4)
                    r ^= UINT64_C(1) << 63;
                r = oracle_dot(p, t, row, column, r);
                if (p->d == M_F64) {
                    out[2 * item * 64 + lane] = (uint32_t)r;
                    out[(2 * item + 1) * 64 + lane] = (uint32_t)(r >> 32);
                } else {
                    out[item * 64 + lane] = (uint32_t)r;
                }
            }
    for (unsigned i = 0; i < regs * 64; i++)
        d[i] = out[i];
}

static struct sf scaled_by(struct sf x, const struct oracle_scales *scales, unsigned side,
                           unsigned lane)
{
    const unsigned e = scales->of[side][lane] >> 8 * scales->byte[side] & 255;

    return e == 255 ? sf_nan() : sf_scale(x, (int)e - 127);
}

void oracle_mfma_scaled(const struct oracle_product *p, const struct oracle_scales *scales,
                        const uint32_t *a, const uint32_t *b, uint32_t *d)
{
    for (unsigned i = 0; i < p->m; i++)
        for (unsigned j = 0; j < p->n; j++) {
            /* rows in fours, one after the other in the groups of n lanes, then in registers */
            const unsigned item = i % 4 + 4 * (i / (4 * (64 / p->n)));
            uint32_t *to = &d[item * 64 + j + p->n * (i / 4 % (64 / p->n))];
            struct sf sum = sf_unpack(&sf_f32, *to);

            for (unsigned k = 0; k < p->k; k++) {
                const struct part pa = part_of(p, p->a, k, 32), pb = part_of(p, p->b, k, 32);
                const uint64_t x = oracle_item(p->a, a, i + p->m * pa.group, pa.item);
                const uint64_t y = oracle_item(p->b, b, j + p->n * pb.group, pb.item);

                sum = rounded(
                    &sf_f32,
                    sf_fma(scaled_by(sf_unpack(format(p->a), x), scales, 0, i + p->m * (k / 32)),
                           scaled_by(sf_unpack(format(p->b), y), scales, 1, j + p->n * (k / 32)),
                           sum, SF_NEAREST));
            }
            *to = (uint32_t)sf_pack(&sf_f32, sum, &exact);
        }
}

/*
 * Tables 34, 36 and those of 7.5.1.3 of CDNA 4's manual: which k element e is of those of a lane,
 * which belongs to group `part` of 64 / n. Four registers of B hold neighbours, the other four
 * those that are half of all k further on.
 */
static unsigned sparse_column(const struct oracle_product *p, unsigned part, unsigned e)
{
    const unsigned four = 4 * 32 / oracle_element_bits(p->b);

    return e / four * (p->k / 2) + part * four + e % four;
}

void oracle_smfmac(const struct oracle_product *p, enum oracle_target t, const uint32_t *a,
                   const uint32_t *b, const uint32_t *index, const uint32_t *c, uint32_t *d)
{
    unsigned parts = 64 / p->m; /* of a row, one a lane */
    unsigned held = p->k / parts / 2, mi = 64 / p->n;
    unsigned sets = 32 / (2 * held), set = p->cbsz ? 0 : p->abid % sets;
    static uint32_t out[16 * 64];

    for (unsigned i = 0; i < p->m; i++)
        for (unsigned j = 0; j < p->n; j++) {
            uint64_t row[128] = {0}, column[128];
            unsigned item = i % 4 + 4 * (i / (4 * mi)), lane = j + p->n * (i / 4 % mi);

            for (unsigned part = 0; part < parts; part++)
                for (unsigned e = 0; e < held; e++) {
                    unsigned l = i + p->m * part;
                    unsigned which = index[l] >> (set * 2 * held + 2 * e) & 3;

                    row[sparse_column(p, part, e / 2 * 4 + which)] = oracle_item(p->a, a, l, e);
                }
            for (unsigned part = 0; part < parts; part++)
                for (unsigned e = 0; e < 2 * held; e++)
                    column[sparse_column(p, part, e)] = oracle_item(p->b, b, j + p->n * part, e);
            out[item * 64 + lane] = (uint32_t)oracle_dot(p, t, row, column, c[item * 64 + lane]);
        }
    for (unsigned i = 0; i < p->m * p->n; i++)
        d[i] = out[i];
}

/*
 * A row i and B column j lie in lane i and j of every 16 lanes, k in ascending order; D row i,
 * column j in lane 16 * (i % n) + j, register i / n, where n is the number of 16-lane rows of the
 * wave.
 */
void oracle_wmma(const struct oracle_product *p, enum oracle_target t, bool hi, const uint32_t *a,
                 const uint32_t *b, const uint32_t *c, uint32_t *d)
{
    unsigned rows = oracle_machines[t].lanes / 16, shift = hi ? 16 : 0;
    bool narrow = p->d == M_F16 || p->d == M_BF16;
    static uint32_t out[8 * 64];

    if (oracle_is_gfx12(t)) {
        oracle_wmma_lanes(p, t, a, b, c, d);
        return;
    }
    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++) {
            unsigned at = i / rows * 64 + 16 * (i % rows) + j;
            uint64_t row[16], column[16], r;

            for (unsigned k = 0; k < 16; k++) {
                row[k] = oracle_item(p->a, a, i, k);
                column[k] = oracle_item(p->b, b, j, k);
            }
            r = oracle_dot(p, t, row, column, narrow ? c[at] >> shift & 0xffff : c[at]);
            out[at] = narrow ? (c[at] & ~(0xffffu << shift)) | (uint32_t)r << shift : (uint32_t)r;
        }
    for (unsigned r = 0; r < 16 / rows; r++)
        for (unsigned l = 0; l < rows * 16; l++)
            d[r * 64 + l] = out[r * 64 + l];
}
