/*
 * Matrix products and their operands, the body that emu_matrix_*.c compile for their host level.
 * They define EMU_LEVEL, the name of the table they export, and EMU_TARGET, the host's features.
 *
 * exact: the sum in double, rounded once. Products of two 16-bit floats are exact in double, and so
 * are sums of them within 2^29 of each other.
 */
#include <math.h>
#include <string.h>

#include "emu_matrix.h"

/* Fused or not makes no difference here: every product that is added is exact. */
#if defined(__clang__)
#pragma clang fp contract(fast)
#pragma clang diagnostic ignored "-Wpsabi" /* vectors pass only between inlined functions */
#ifdef EMU_TARGET
#pragma clang attribute push(__attribute__((target(EMU_TARGET))), apply_to = function)
#endif
#else
#pragma GCC optimize("O3,fp-contract=fast")
#pragma GCC diagnostic ignored "-Wpsabi"
#ifdef EMU_TARGET
#define EMU_PRAGMA(x) _Pragma(#x)
#define EMU_GCC_TARGET(x) EMU_PRAGMA(GCC target(x))
EMU_GCC_TARGET(EMU_TARGET)
#endif
#endif

enum {
    MAX_N = 32,
    MAX_K = 64,
    MAX_A = 2048, /* elements of A or B over all blocks */
    MAX_C = 2048
};

#define FORCE static inline __attribute__((always_inline))

/* V columns at a time: what one register of the level holds in double, or in float (2 V). */
#define EMU_COLUMNS 4
enum { V = EMU_COLUMNS, F = 2 * V };
typedef double vd __attribute__((vector_size(8 * EMU_COLUMNS)));
typedef float vf __attribute__((vector_size(4 * EMU_COLUMNS)));
typedef int64_t vl __attribute__((vector_size(8 * EMU_COLUMNS)));
typedef float wide __attribute__((vector_size(8 * EMU_COLUMNS)));
typedef uint32_t wide_bits __attribute__((vector_size(8 * EMU_COLUMNS)));

FORCE float half(uint16_t bits)
{
    _Float16 h;
    memcpy(&h, &bits, 2);
    return (float)h;
}

FORCE float from_bits(uint32_t x)
{
    float f;
    memcpy(&f, &x, 4);
    return f;
}

FORCE vd load_v(const float *p, unsigned n)
{
    vf x = {0};
    memcpy(&x, p, n * sizeof *p);
    return __builtin_convertvector(x, vd);
}

FORCE void store_v(float *p, vd x, unsigned n)
{
    vf y = __builtin_convertvector(x, vf);
    memcpy(p, &y, n * sizeof *p);
}

FORCE vd splat(double x)
{
    return x - (vd){0};
}

static inline float flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* Denormals to zero of their sign. */
FORCE wide flush_v(wide x)
{
    wide_bits u = (wide_bits)x, magnitude = u & 0x7fffffff;
    return (wide)(u & ((wide_bits)(magnitude >= 0x00800000) | 0x80000000));
}

FORCE wide load_wide(const float *p, unsigned n)
{
    wide x = {0};
    memcpy(&x, p, n * sizeof *p);
    return x;
}

/* Constant shapes let the compiler unroll and keep a row of C in registers. */
FORCE void exact(unsigned m, unsigned n, unsigned k, const float *a, const float *b, float *c)
{
    const unsigned width = n < V ? n : V, cols = (n + V - 1) / V;
    vd bv[MAX_K * MAX_N / V];
    for (unsigned p = 0; p < k; p++)
        for (unsigned q = 0; q < cols; q++)
            bv[p * cols + q] = load_v(b + p * n + q * V, width);
    for (unsigned i = 0; i < m; i++) {
        vd row[MAX_N / V];
        for (unsigned q = 0; q < cols; q++)
            row[q] = load_v(c + i * n + q * V, width);
        for (unsigned p = 0; p < k; p++) {
            vd x = splat(a[p * m + i]);
            for (unsigned q = 0; q < cols; q++)
                row[q] += x * bv[p * cols + q];
        }
        for (unsigned q = 0; q < cols; q++)
            store_v(c + i * n + q * V, row[q], width);
    }
}

static void chain(const struct emu_dot *d, const float *a, const float *b, float *c)
{
    for (unsigned i = 0; i < d->m; i++)
        for (unsigned p = 0; p < d->k; p++)
            for (unsigned j = 0; j < d->n; j++)
                c[i * d->n + j] = __builtin_fmaf(a[p * d->m + i], b[p * d->n + j], c[i * d->n + j]);
}

/*
 * gfx90a: (p0 + p1) + (p2 + p3) with every step rounded to f32 and flushed, then added to the
 * accumulator. Products of 16-bit floats are exact in f32 unless denormal.
 */
FORCE void pairs(unsigned m, unsigned n, unsigned k, unsigned g, const float *a, const float *b,
                 float *c)
{
    const unsigned width = n < F ? n : F;
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < n; j += F) {
            wide acc = flush_v(load_wide(c + i * n + j, width));
            for (unsigned p = 0; p < k; p += g) {
                wide x[4] = {{0}};
                for (unsigned q = 0; q < g; q++)
                    x[q] = flush_v(a[(p + q) * m + i] * load_wide(b + (p + q) * n + j, width));
                if (g >= 2)
                    x[0] = flush_v(x[0] + x[1]);
                if (g == 4)
                    x[0] = flush_v(x[0] + flush_v(x[2] + x[3]));
                acc = flush_v(acc + x[0]);
            }
            memcpy(c + i * n + j, &acc, width * sizeof *c);
        }
}

/* Exponent e with 2^e <= |x| < 2^(e+1); for 0 a number below that of every product of floats. */
enum { LOWEST = -900 };

FORCE vl larger(vl x, vl y)
{
    vl m = x > y;
    return (x & m) | (y & ~m);
}

FORCE vl exponent(vd x)
{
    vl e = ((vl)x >> 52 & 0x7ff) - 1023;
    return larger(e, LOWEST - (vl){0});
}

FORCE vd pow2(vl e)
{
    return (vd)((e + 1023) << 52);
}

/* Toward minus infinity, for |x| < 2^51: round to an integer by adding a large number, correct. */
FORCE vd floor_v(vd x)
{
    const vd large = splat(0x1.8p52);
    vd r = x + large - large;
    return r - (vd)((vl)(r > x) & (vl)splat(1.0));
}

/*
 * gfx942: exact products, aligned to the largest of the group and cut (toward minus infinity) to 24
 * fractional bits, summed; then that sum cut to 31 bits and the accumulator to 24 bits below the
 * larger of the two, added, and rounded once. For finite operands.
 */
FORCE vd truncated_step(const float *x, unsigned m, const float *y, unsigned n, unsigned width,
                        unsigned g, vd acc)
{
    vd p[16], sum = splat(0);
    vl top = LOWEST - (vl){0};
    for (unsigned q = 0; q < g; q++) {
        p[q] = splat(x[q * m]) * load_v(y + q * n, width);
        top = larger(exponent(p[q]), top);
    }
    vd scale = pow2(24 - top), back = pow2(top - 24);
    for (unsigned q = 0; q < g; q++)
        sum += floor_v(p[q] * scale) * back;
    vl e = larger(exponent(acc), top);
    return floor_v(sum * pow2(31 - e)) * pow2(e - 31) + floor_v(acc * pow2(24 - e)) * pow2(e - 24);
}

FORCE void truncate_rule(unsigned m, unsigned n, unsigned k, unsigned g, const float *a,
                         const float *b, float *c)
{
    const unsigned width = n < V ? n : V;
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < n; j += V) {
            vd acc = load_v(c + i * n + j, width);
            for (unsigned p = 0; p < k; p += g) {
                acc = truncated_step(a + p * m + i, m, b + p * n + j, n, width, g, acc);
                /* one rounding per group */
                acc = __builtin_convertvector(__builtin_convertvector(acc, vf), vd);
            }
            store_v(c + i * n + j, acc, width);
        }
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* The float nearest to x, or the one on the other side of x: any rounding direction. */
static float nudge(double x, uint64_t r)
{
    float f = (float)x;
    if ((double)f == x || !isfinite(f))
        return f;
    return r & 1 ? nextafterf(f, (double)f < x ? INFINITY : -INFINITY) : f;
}

/* Any order of the products, every addition rounded up or down at random. */
static void adversarial(const struct emu_dot *d, const float *a, const float *b, float *c)
{
    uint64_t r = d->random | 1;
    unsigned order[MAX_K];
    for (unsigned p = 0; p < d->k; p++) {
        unsigned q = (unsigned)(next_random(&r) % (p + 1));
        order[p] = order[q];
        order[q] = p;
    }
    bool flushes = d->rule == EMU_RULE_PAIRS;
    for (unsigned i = 0; i < d->m; i++)
        for (unsigned j = 0; j < d->n; j++) {
            float acc = c[i * d->n + j];
            for (unsigned p = 0; p < d->k; p++) {
                unsigned q = order[p];
                double product = (double)a[q * d->m + i] * (double)b[q * d->n + j];
                acc = nudge((double)acc + product, next_random(&r) >> 40);
                acc = flushes ? flush(acc) : acc;
            }
            c[i * d->n + j] = acc;
        }
}

/* gfx90a drops denormal 16-bit inputs before it multiplies. */
static void flush_inputs(float *to, const float *from, unsigned n, float least)
{
    for (unsigned i = 0; i < n; i++)
        to[i] = fabsf(from[i]) < least ? 0 : from[i];
}

static bool all_finite(const float *x, unsigned n)
{
    uint32_t bad = 0;
    for (unsigned i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &x[i], 4);
        bad |= (u & 0x7f800000) == 0x7f800000;
    }
    return !bad;
}

static void exact_shape(const struct emu_dot *d, const float *a, const float *b, float *c)
{
    if (d->m == 32 && d->n == 32 && d->k == 8)
        exact(32, 32, 8, a, b, c);
    else if (d->m == 16 && d->n == 16 && d->k == 16)
        exact(16, 16, 16, a, b, c);
    else
        exact(d->m, d->n, d->k, a, b, c);
}

static void dot_hw(const struct emu_dot *d, const float *a, const float *b, float *c)
{
    bool big = d->m == 32 && d->n == 32 && d->k == 8;
    bool small = d->m == 16 && d->n == 16 && d->k == 16;
    if (d->rule == EMU_RULE_CHAIN)
        chain(d, a, b, c);
    else if (d->rule == EMU_RULE_PAIRS && big && d->group == 4)
        pairs(32, 32, 8, 4, a, b, c);
    else if (d->rule == EMU_RULE_PAIRS && small && d->group == 4)
        pairs(16, 16, 16, 4, a, b, c);
    else if (d->rule == EMU_RULE_PAIRS)
        pairs(d->m, d->n, d->k, d->group, a, b, c);
    else if (!all_finite(a, d->m * d->k) || !all_finite(b, d->k * d->n) ||
             !all_finite(c, d->m * d->n))
        exact_shape(d, a, b, c); /* infinities and NaN go the ordinary way */
    else if (big && d->group == 8)
        truncate_rule(32, 32, 8, 8, a, b, c);
    else if (small && d->group == 8)
        truncate_rule(16, 16, 16, 8, a, b, c);
    else
        truncate_rule(d->m, d->n, d->k, d->group, a, b, c);
}

static void dot(const struct emu_dot *d, const float *a, const float *b, float *c)
{
    float fa[MAX_A], fb[MAX_A];
    if (d->mode == EMU_MATRIX_EXACT || (d->mode == EMU_MATRIX_HW && d->rule == EMU_RULE_ONCE)) {
        exact_shape(d, a, b, c);
        return;
    }
    if (d->rule == EMU_RULE_PAIRS) {
        flush_inputs(fa, a, d->m * d->k, d->least);
        flush_inputs(fb, b, d->k * d->n, d->least);
        a = fa;
        b = fb;
    }
    if (d->mode == EMU_MATRIX_ADVERSARIAL)
        adversarial(d, a, b, c);
    else
        dot_hw(d, a, b, c);
}

FORCE unsigned elem_bits(enum emu_elem e)
{
    return e == EMU_EL_F16 || e == EMU_EL_BF16 ? 16 : e == EMU_EL_F32 || e == EMU_EL_XF32 ? 32 : 8;
}

FORCE float element(uint32_t x, enum emu_elem type)
{
    switch (type) {
    case EMU_EL_F16:
        return half((uint16_t)x);
    case EMU_EL_BF16:
        return from_bits(x << 16);
    case EMU_EL_XF32:
        return from_bits(x & ~0x1fffu);
    case EMU_EL_FP8:
        return emu_fp8_to_f32((uint8_t)x);
    case EMU_EL_BF8:
        return emu_bf8_to_f32((uint8_t)x);
    default:
        return from_bits(x);
    }
}

/*
 * A and B lie alike: m consecutive lanes (rows of A, columns of B) share `per` consecutive k. Group
 * g of m lanes belongs to block g % blocks and begins at k = per * (g / blocks). out[block][k][m].
 */
FORCE void gather(const uint32_t *rows, enum emu_elem type, unsigned m, unsigned k, unsigned blocks,
                  float *out)
{
    const unsigned per = k * m * blocks / 64, bits = elem_bits(type), in_dword = 32 / bits;
    for (unsigned g = 0; g < 64 / m; g++)
        for (unsigned e = 0; e < per; e++) {
            float *to = out + (g % blocks * k + g / blocks * per + e) * m;
            const uint32_t *from = rows + e / in_dword * 64 + g * m;
            const unsigned shift = e % in_dword * bits;
            for (unsigned l = 0; l < m; l++)
                to[l] = element(from[l] >> shift, type);
        }
}

static void permute_lanes(const uint32_t *rows, unsigned n, unsigned blgp, uint32_t *out)
{
    for (unsigned r = 0; r < n; r++)
        for (unsigned l = 0; l < 64; l++)
            out[r * 64 + l] = rows[r * 64 + emu_blgp_lane(blgp, l)];
}

/* A sparse A: of every four columns two are stored, and two bits each say which. The index register
 * of the lane holds several sets; ABID chooses unless CBSZ is set. */
static void gather_sparse(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                          float *a)
{
    unsigned stored = s->k / 2 * s->m / 64, bits = 2 * stored, size = elem_bits(s->a);
    unsigned set = op->insn->cbsz ? 0 : op->insn->abid & (32 / bits - 1);
    const uint32_t *rows = emu_row(w, op->s[0]), *index = emu_row(w, op->s[2]);
    memset(a, 0, s->m * s->k * sizeof *a);
    for (unsigned l = 0; l < 64; l++)
        for (unsigned e = 0; e < stored; e++) {
            unsigned which = index[l] >> (set * bits + 2 * e) & 3;
            unsigned column = l / s->m * 2 * stored + 4 * (e / 2) + which;
            uint32_t x = rows[e * size / 32 * 64 + l] >> e * size % 32;
            a[column * s->m + l % s->m] = element(x, s->a);
        }
}

FORCE void gather_c(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                    unsigned operand, float *c)
{
    const struct emu_operand *src = &op->insn->src[operand];
    if (src->kind == EMU_OPK_CONST || src->kind == EMU_OPK_LITERAL) {
        for (unsigned i = 0; i < s->m * s->n * s->blocks; i++)
            c[i] = from_bits((uint32_t)src->value);
        return;
    }
    for (unsigned b = 0; b < s->blocks; b++)
        for (unsigned i = 0; i < s->m; i++) {
            struct emu_place at = emu_matrix_place(s, 4, b, i);
            memcpy(c + (b * s->m + i) * s->n, emu_row(w, op->s[operand] + at.item) + at.lane,
                   s->n * sizeof *c);
        }
}

FORCE void scatter_d(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                     const float *c)
{
    for (unsigned b = 0; b < s->blocks; b++)
        for (unsigned i = 0; i < s->m; i++) {
            struct emu_place at = emu_matrix_place(s, 4, b, i);
            memcpy(emu_row(w, op->d[0] + at.item) + at.lane, c + (b * s->m + i) * s->n,
                   s->n * sizeof *c);
        }
}

static struct emu_dot rule_for(struct emu_wave *w, const struct emu_op *op,
                               const struct emu_shape *s)
{
    struct emu_dot d = {.m = s->m, .n = s->n, .k = s->k, .mode = w->group->launch->matrix};
    unsigned widest = elem_bits(s->a) == 8 ? 16 : elem_bits(s->a) == 16 ? 8 : 4;
    d.group = s->k < widest ? s->k : widest;
    if (s->a == EMU_EL_F32) {
        d.rule = EMU_RULE_CHAIN;
    } else if (op->insn->family == EMU_GFX90A) {
        unsigned per = s->k * s->m * s->blocks / 64;
        d.rule = EMU_RULE_PAIRS;
        d.group = per > 4 ? 4 : per;
        d.least = s->a == EMU_EL_F16 ? 0x1p-14f : 0x1p-126f;
    } else {
        d.rule = EMU_RULE_TRUNCATE;
    }
    if (d.mode == EMU_MATRIX_ADVERSARIAL)
        d.random = emu_random(w);
    return d;
}

FORCE void mfma_shape(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s)
{
    float a[MAX_A], b[MAX_A], c[MAX_C];
    uint32_t permuted[4 * 64];
    const uint32_t *rows_b = emu_row(w, op->s[1]);
    struct emu_dot d = rule_for(w, op, s);
    if (op->insn->blgp) {
        permute_lanes(rows_b, s->k * s->n * s->blocks / 64 * elem_bits(s->b) / 32, op->insn->blgp,
                      permuted);
        rows_b = permuted;
    }
    if (s->sparse)
        gather_sparse(w, op, s, a);
    else
        gather(emu_row(w, op->s[0]), s->a, s->m, s->k, s->blocks, a);
    gather(rows_b, s->b, s->n, s->k, s->blocks, b);
    gather_c(w, op, s, s->sparse ? 3 : 2, c);
    for (unsigned i = 0; i < s->blocks; i++) {
        unsigned from = s->sparse ? 0 : emu_cbsz_block(op->insn, i);
        dot(&d, a + from * s->m * s->k, b + i * s->k * s->n, c + i * s->m * s->n);
    }
    scatter_d(w, op, s, c);
}

static void mfma(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s)
{
    static const struct emu_shape big16 = {32, 32, 8, 1, EMU_EL_F16, EMU_EL_F16, false};
    static const struct emu_shape big_b16 = {32, 32, 8, 1, EMU_EL_BF16, EMU_EL_BF16, false};
    static const struct emu_shape small16 = {16, 16, 16, 1, EMU_EL_F16, EMU_EL_F16, false};
    static const struct emu_shape small_b16 = {16, 16, 16, 1, EMU_EL_BF16, EMU_EL_BF16, false};
    /* The four shapes of attention kernels, with everything known at compile time. */
    if (!s->sparse && s->blocks == 1 && s->m == 32 && s->k == 8 && s->a == EMU_EL_F16)
        mfma_shape(w, op, &big16);
    else if (!s->sparse && s->blocks == 1 && s->m == 32 && s->k == 8 && s->a == EMU_EL_BF16)
        mfma_shape(w, op, &big_b16);
    else if (!s->sparse && s->blocks == 1 && s->m == 16 && s->k == 16 && s->a == EMU_EL_F16)
        mfma_shape(w, op, &small16);
    else if (!s->sparse && s->blocks == 1 && s->m == 16 && s->k == 16 && s->a == EMU_EL_BF16)
        mfma_shape(w, op, &small_b16);
    else
        mfma_shape(w, op, s);
}

static void f16_to_f32(float *to, const uint16_t *from, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        to[i] = half(from[i]);
}

static void f32_to_f16(uint16_t *to, const float *from, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        _Float16 h = (_Float16)from[i];
        memcpy(&to[i], &h, 2);
    }
}

const struct emu_matrix_level EMU_LEVEL = {dot, mfma, f16_to_f32, f32_to_f16};

#if defined(__clang__) && defined(EMU_TARGET)
#pragma clang attribute pop
#endif
