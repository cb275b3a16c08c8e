/*
 * Matrix products and their operands, the body that emu_matrix_*.c compile for their host level. They
 * define EMU_LEVEL, the name of the table they export.
 *
 * exact: the sum in double, rounded once. Products of two 16-bit floats are exact in double, and so
 * are sums of them within 2^29 of each other.
 */
#include <math.h>
#include <string.h>

#include "emu_matrix.h"

enum {
    MAX_N = 32,
    MAX_K = 64,
    MAX_A = 2048, /* elements of A or B over all blocks */
    MAX_C = 2048
};

#define FORCE static inline __attribute__((always_inline))

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

static inline float flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* Constant shapes let the compiler unroll and keep a row of C in registers. */
FORCE void exact(unsigned m, unsigned n, unsigned k, const float *a, const float *b, float *c)
{
    double bd[MAX_K * MAX_N];
    for (unsigned i = 0; i < k * n; i++)
        bd[i] = b[i];
    for (unsigned i = 0; i < m; i++) {
        double row[MAX_N];
        for (unsigned j = 0; j < n; j++)
            row[j] = c[i * n + j];
        for (unsigned p = 0; p < k; p++) {
            double x = a[i * k + p];
            for (unsigned j = 0; j < n; j++)
                row[j] += x * bd[p * n + j];
        }
        for (unsigned j = 0; j < n; j++)
            c[i * n + j] = (float)row[j];
    }
}

static void chain(const struct emu_dot *d, const float *a, const float *b, float *c)
{
    for (unsigned i = 0; i < d->m; i++)
        for (unsigned p = 0; p < d->k; p++)
            for (unsigned j = 0; j < d->n; j++)
                c[i * d->n + j] =
                    __builtin_fmaf(a[i * d->k + p], b[p * d->n + j], c[i * d->n + j]);
}

/*
 * gfx90a: (p0 + p1) + (p2 + p3) with every step rounded to f32 and flushed, then added to the
 * accumulator. Products of 16-bit floats are exact in f32 unless denormal.
 */
FORCE void pairs(unsigned m, unsigned n, unsigned k, unsigned g, const float *a, const float *b,
                 float *c)
{
    for (unsigned i = 0; i < m * n; i++)
        c[i] = flush(c[i]);
    for (unsigned i = 0; i < m; i++)
        for (unsigned p = 0; p < k; p += g) {
            const float *x = a + i * k + p;
            for (unsigned j = 0; j < n; j++) {
                const float *y = b + p * n + j;
                float sum = flush(x[0] * y[0]);
                if (g >= 2)
                    sum = flush(__builtin_fmaf(x[1], y[n], sum));
                if (g == 4) {
                    float hi = flush(x[2] * y[2 * n]);
                    sum = flush(sum + flush(__builtin_fmaf(x[3], y[3 * n], hi)));
                }
                c[i * n + j] = flush(c[i * n + j] + sum);
            }
        }
}

/* Exponent e with 2^e <= |x| < 2^(e+1); -1023 for 0. */
FORCE int exponent(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    return (int)(u >> 52 & 0x7ff) - 1023;
}

FORCE double pow2(int e)
{
    uint64_t u = (uint64_t)(uint32_t)(e + 1023) << 52;
    double x;
    memcpy(&x, &u, 8);
    return x;
}

/*
 * gfx942: exact products, aligned to the largest of the group and cut (toward minus infinity) to 24
 * fractional bits, summed; then that sum cut to 31 bits and the accumulator to 24 bits below the
 * larger of the two, added, and rounded once. Infinities and NaN go the ordinary way.
 */
FORCE float truncated_step(const float *x, const float *y, unsigned stride, unsigned g, float acc)
{
    double p[16], plain = acc, sum = 0;
    int top = -1023;
    for (unsigned q = 0; q < g; q++) {
        p[q] = (double)x[q] * (double)y[q * stride];
        plain += p[q];
        int e = exponent(p[q]);
        top = e > top ? e : top;
    }
    double scale = pow2(24 - top), back = pow2(top - 24);
    for (unsigned q = 0; q < g; q++)
        sum += floor(p[q] * scale) * back;
    int e = exponent(acc) > top ? exponent(acc) : top;
    double s = floor(sum * pow2(31 - e)) * pow2(e - 31);
    double c = floor((double)acc * pow2(24 - e)) * pow2(e - 24);
    float cut = (float)(s + c);
    return top == -1023 ? acc : isfinite(plain) ? cut : (float)plain;
}

FORCE void truncate_rule(unsigned m, unsigned n, unsigned k, unsigned g, const float *a,
                         const float *b, float *c)
{
    for (unsigned i = 0; i < m; i++)
        for (unsigned p = 0; p < k; p += g)
            for (unsigned j = 0; j < n; j++)
                c[i * n + j] =
                    truncated_step(a + i * k + p, b + p * n + j, n, g, c[i * n + j]);
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
                double product = (double)a[i * d->k + q] * (double)b[q * d->n + j];
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
        if (d->m == 32 && d->n == 32 && d->k == 8)
            exact(32, 32, 8, a, b, c);
        else if (d->m == 16 && d->n == 16 && d->k == 16)
            exact(16, 16, 16, a, b, c);
        else
            exact(d->m, d->n, d->k, a, b, c);
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

/* Element e of lane l of an operand whose first register is `row` (64 lanes a register). */
FORCE float element(const uint32_t *row, enum emu_elem type, unsigned l, unsigned e)
{
    unsigned bits = elem_bits(type), per = 32 / bits;
    uint32_t x = row[e / per * 64 + l] >> e % per * bits;
    switch (type) {
    case EMU_EL_F16: return half((uint16_t)x);
    case EMU_EL_BF16: return from_bits(x << 16);
    case EMU_EL_XF32: return from_bits(x & ~0x1fffu);
    case EMU_EL_FP8: return emu_fp8_to_f32((uint8_t)x);
    case EMU_EL_BF8: return emu_bf8_to_f32((uint8_t)x);
    default: return from_bits(x);
    }
}

/*
 * Lane l holds, of block (l / m) % blocks, row l % m and the `per` columns that begin at
 * per * (l / (m * blocks)): a[block][row][column].
 */
FORCE void gather_a(const uint32_t *row, enum emu_elem type, unsigned m, unsigned k,
                    unsigned blocks, float *a)
{
    unsigned per = k * m * blocks / 64;
    for (unsigned l = 0; l < 64; l++) {
        float *to = a + ((l / m % blocks) * m + l % m) * k + l / (m * blocks) * per;
        for (unsigned e = 0; e < per; e++)
            to[e] = element(row, type, l, e);
    }
}

FORCE void gather_b(const uint32_t *row, enum emu_elem type, unsigned n, unsigned k,
                    unsigned blocks, unsigned blgp, float *b)
{
    unsigned per = k * n * blocks / 64;
    for (unsigned l = 0; l < 64; l++) {
        float *to = b + ((l / n % blocks) * k + l / (n * blocks) * per) * n + l % n;
        unsigned from = blgp ? emu_blgp_lane(blgp, l) : l;
        for (unsigned e = 0; e < per; e++)
            to[e * n] = element(row, type, from, e);
    }
}

/* A sparse A: of every four columns two are stored, and two bits each say which. The index register
 * of the lane holds several sets; ABID chooses unless CBSZ is set. */
static void gather_sparse(struct emu_wave *w, const struct emu_op *op, const struct emu_shape *s,
                          float *a)
{
    unsigned stored = s->k / 2 * s->m / 64, bits = 2 * stored;
    unsigned set = op->insn->cbsz ? 0 : op->insn->abid & (32 / bits - 1);
    const uint32_t *row = emu_row(w, op->s[0]), *index = emu_row(w, op->s[2]);
    memset(a, 0, s->m * s->k * sizeof *a);
    for (unsigned l = 0; l < 64; l++)
        for (unsigned e = 0; e < stored; e++) {
            unsigned which = index[l] >> (set * bits + 2 * e) & 3;
            unsigned column = l / s->m * 2 * stored + 4 * (e / 2) + which;
            a[l % s->m * s->k + column] = element(row, s->a, l, e);
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
    struct emu_dot d = rule_for(w, op, s);
    if (s->sparse)
        gather_sparse(w, op, s, a);
    else
        gather_a(emu_row(w, op->s[0]), s->a, s->m, s->k, s->blocks, a);
    gather_b(emu_row(w, op->s[1]), s->b, s->n, s->k, s->blocks, op->insn->blgp, b);
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
