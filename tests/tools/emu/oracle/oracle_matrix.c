/*
 * MFMA and WMMA, element by element.
 *
 * Layouts after the general rule of AMD's ISA manuals. A holds K_L = K / (64 / (M * blocks))
 * elements of a row in one lane: lane = i + M * (block + blocks * (k / K_L)), item k % K_L; B
 * likewise with j. Of D a lane holds groups of H = 4 consecutive rows (f64: H = 1): item = i % H +
 * H * (i / (H * M_I) + G * (block / B_I)) lane = j + N * (i / H % M_I + M_I * (block % B_I)) with
 * B_I = ceil(64 / (N * M / H)), M_I = 64 / B_I / N, G = M / (H * M_I).
 *
 * Arithmetic: f32, f64 and integers accumulate in the order of k, each step fused and rounded. On
 * gfx90a f16 and bf16 products are added four at a time, pairwise, and then to the sum, each step
 * rounded to f32. On gfx942 up to eight of them are cut to 24 bits below the largest, toward minus
 * infinity, and added; the sum is cut to 31 bits and the accumulator to 24 below the larger of the
 * two, and their sum is rounded. In f32 mode these, too, accumulate in the order of k. Elsewhere
 * the inputs of the test make every order exact.
 */
#include "oracle_matrix.h"

unsigned oracle_element_bits(enum oracle_element e)
{
    static const unsigned bits[] = {16, 16, 32, 64, 8, 4, 8, 8, 32};

    return bits[e];
}

static const struct sf_format *format(enum oracle_element e)
{
    static const struct sf_format *const f[] = {&sf_f16, &sf_bf16, &sf_f32, &sf_f64, 0,
                                                0,       &sf_fp8,  &sf_bf8, 0};

    return f[e];
}

/* Item `item` of an operand in a lane, as raw bits. */
static uint64_t item_bits(enum oracle_element e, const uint32_t *x, unsigned lane, unsigned item)
{
    unsigned bits = oracle_element_bits(e), per;

    if (bits == 64)
        return x[2 * item * 64 + lane] | (uint64_t)x[(2 * item + 1) * 64 + lane] << 32;
    per = 32 / bits;
    return x[item / per * 64 + lane] >> item % per * bits & ((UINT64_C(1) << bits) - 1);
}

static int64_t integer(uint64_t v, unsigned bits, bool is_signed)
{
    return is_signed ? (int64_t)(v << (64 - bits)) >> (64 - bits) : (int64_t)v;
}

static const struct sf_env exact = {SF_NEAREST, true, true};

static struct sf rounded(const struct sf_format *f, struct sf v)
{
    return sf_unpack(f, sf_pack(f, v, &exact));
}

/* floor(v / 2^unit); v is finite. */
static sf_i128 units(struct sf v, int unit)
{
    int shift = v.exp - unit;
    sf_u128 lost = 0, n = v.sig;

    if (v.cls == SF_IS_ZERO)
        return 0;
    if (shift >= 0) {
        n <<= shift;
    } else if (shift > -127) {
        lost = n & (((sf_u128)1 << -shift) - 1);
        n >>= -shift;
    } else {
        lost = n;
        n = 0;
    }
    return v.sign ? -(sf_i128)n - (lost != 0) : (sf_i128)n;
}

/* e with 2^e <= |v| < 2^(e+1); far below every other for zero. */
static int magnitude(struct sf v)
{
    int e = v.exp;

    if (v.cls == SF_IS_ZERO)
        return -900;
    for (sf_u128 n = v.sig; n > 1; n >>= 1)
        e++;
    return e;
}

static struct sf whole(sf_i128 n, int unit)
{
    return n == 0 ? sf_zero(false) : sf_scale(sf_from_int((int64_t)n), unit);
}

/* gfx942: one group of n products onto acc. */
static struct sf cut_group(const struct oracle_product *p, const uint64_t *a, const uint64_t *b,
                           unsigned n, struct sf acc)
{
    struct sf product[8], sum;
    sf_i128 s = 0;
    int top = -900, e;

    for (unsigned i = 0; i < n; i++) {
        product[i] = sf_mul(sf_unpack(format(p->a), a[i]), sf_unpack(format(p->b), b[i]));
        top = magnitude(product[i]) > top ? magnitude(product[i]) : top;
    }
    for (unsigned i = 0; i < n; i++)
        s += units(product[i], top - 24);
    sum = whole(s, top - 24);
    e = magnitude(acc) > top ? magnitude(acc) : top;
    return rounded(&sf_f32, sf_add(whole(units(sum, e - 31), e - 31),
                                   whole(units(acc, e - 24), e - 24), SF_NEAREST));
}

/* The sum of products onto c in format f. */
static uint64_t float_dot(const struct oracle_product *p, enum oracle_target t,
                          const struct sf_format *f, const uint64_t *a, const uint64_t *b,
                          uint64_t c)
{
    struct sf acc = sf_unpack(f, c), s[4];
    bool grouped = !p->chain && t == T_GFX90A && (p->a == M_F16 || p->a == M_BF16);
    bool cut = !p->chain && t == T_GFX942 && (p->a == M_F16 || p->a == M_BF16);
    unsigned kl = p->k / (64 / (p->m * p->blocks)), group = grouped ? kl < 4 ? kl : 4 : 1;

    for (unsigned k = 0; cut && k < p->k; k += 8)
        acc = cut_group(p, a + k, b + k, p->k - k < 8 ? p->k - k : 8, acc);
    if (cut)
        return sf_pack(f, acc, &exact);

    for (unsigned k = 0; k < p->k; k += group) {
        unsigned n = group;

        if (!grouped) {
            acc = rounded(f, sf_fma(sf_unpack(format(p->a), a[k]), sf_unpack(format(p->b), b[k]),
                                    acc, SF_NEAREST));
            continue;
        }
        for (unsigned i = 0; i < 4; i++)
            s[i] =
                i < n ? sf_mul(sf_unpack(format(p->a), a[k + i]), sf_unpack(format(p->b), b[k + i]))
                      : sf_zero(false);
        s[0] = rounded(f, sf_add(s[0], s[1], SF_NEAREST));
        s[2] = rounded(f, sf_add(s[2], s[3], SF_NEAREST));
        if (n > 2)
            s[0] = rounded(f, sf_add(s[0], s[2], SF_NEAREST));
        acc = rounded(f, sf_add(acc, s[0], SF_NEAREST));
    }
    return sf_pack(f, acc, &exact);
}

static uint64_t dot(const struct oracle_product *p, enum oracle_target t, const uint64_t *a,
                    const uint64_t *b, uint64_t c)
{
    unsigned bits = oracle_element_bits(p->a);
    int64_t sum = (int32_t)c;

    if (format(p->d))
        return float_dot(p, t, format(p->d), a, b, c);
    for (unsigned k = 0; k < p->k; k++)
        sum += integer(a[k], bits, p->a_signed) * integer(b[k], bits, p->b_signed);
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
                uint64_t row[64], column[64], r;
                unsigned from = (block & ~((1u << p->cbsz) - 1)) + p->abid; /* A is shared */
                unsigned item = i % h + h * (i / (h * mi) + g * (block / bi));
                unsigned lane = j + p->n * (i / h % mi + mi * (block % bi));

                if (!p->cbsz)
                    from = block;
                for (unsigned k = 0; k < p->k; k++) {
                    unsigned la = i + p->m * (from + p->blocks * (k / kl));
                    unsigned lb = j + p->n * (block + p->blocks * (k / kl));

                    row[k] = item_bits(p->a, a, la, k % kl);
                    column[k] = item_bits(p->b, b, b_lane(blgp, lb), k % kl);
                    if (p->d == M_F64 && p->blgp & 1)
                        row[k] ^= UINT64_C(1) << 63;
                    if (p->d == M_F64 && p->blgp & 2)
                        column[k] ^= UINT64_C(1) << 63;
                }
                r = item_bits(p->d, c, lane, item);
                if (p->d == M_F64 && p->blgp & 4)
                    r ^= UINT64_C(1) << 63;
                r = dot(p, t, row, column, r);
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

void oracle_smfmac(const struct oracle_product *p, enum oracle_target t, const uint32_t *a,
                   const uint32_t *b, const uint32_t *index, const uint32_t *c, uint32_t *d)
{
    unsigned parts = 64 / p->m; /* of a row, one a lane */
    unsigned held = p->k / parts / 2, mi = 64 / p->n;
    unsigned sets = 32 / (2 * held), set = p->cbsz ? 0 : p->abid % sets;
    static uint32_t out[16 * 64];

    for (unsigned i = 0; i < p->m; i++)
        for (unsigned j = 0; j < p->n; j++) {
            uint64_t row[64] = {0}, column[64];
            unsigned item = i % 4 + 4 * (i / (4 * mi)), lane = j + p->n * (i / 4 % mi);

            for (unsigned part = 0; part < parts; part++)
                for (unsigned e = 0; e < held; e++) {
                    unsigned l = i + p->m * part;
                    unsigned which = index[l] >> (set * 2 * held + 2 * e) & 3;

                    row[part * 2 * held + e / 2 * 4 + which] = item_bits(p->a, a, l, e);
                }
            for (unsigned k = 0; k < p->k; k++)
                column[k] = item_bits(p->b, b, j + p->n * (k / (2 * held)), k % (2 * held));
            out[item * 64 + lane] = (uint32_t)dot(p, t, row, column, c[item * 64 + lane]);
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

    for (unsigned i = 0; i < 16; i++)
        for (unsigned j = 0; j < 16; j++) {
            unsigned at = i / rows * 64 + 16 * (i % rows) + j;
            uint64_t row[16], column[16], r;

            for (unsigned k = 0; k < 16; k++) {
                row[k] = item_bits(p->a, a, i, k);
                column[k] = item_bits(p->b, b, j, k);
            }
            r = dot(p, t, row, column, narrow ? c[at] >> shift & 0xffff : c[at]);
            out[at] = narrow ? (c[at] & ~(0xffffu << shift)) | (uint32_t)r << shift : (uint32_t)r;
        }
    for (unsigned r = 0; r < 16 / rows; r++)
        for (unsigned l = 0; l < rows * 16; l++)
            d[r * 64 + l] = out[r * 64 + l];
}
