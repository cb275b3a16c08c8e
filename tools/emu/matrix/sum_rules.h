/*
 * The arithmetic of one product in each mode. A part of emu_matrix_level.h, which sets the host
 * level.
 *
 * f32: the accumulator plus one product after the other, in the order of k, each step fused and
 * rounded to f32. exact: the sum in double, rounded once. Products of two 16-bit floats are exact
 * in double, and so are sums of them within 2^29 of each other.
 */
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

/*
 * Constant shapes let the compiler unroll. Two rows of C by up to four vectors stay in registers,
 * so that each vector of B is loaded once for two products.
 */
FORCE void exact(unsigned m, unsigned n, unsigned k, const float *a, const float *b, float *c)
{
    const unsigned width = n < V ? n : V, cols = (n + V - 1) / V, tile = cols < 4 ? cols : 4;
    vd bv[MAX_K * MAX_N / V];
    for (unsigned p = 0; p < k; p++)
        for (unsigned q = 0; q < cols; q++)
            bv[p * cols + q] = load_v(b + p * n + q * V, width);
    for (unsigned i = 0; i < m; i += 2)
        for (unsigned j = 0; j < cols; j += tile) {
            float *c0 = c + i * n + j * V, *c1 = c0 + n;
            vd row[2][4];
            for (unsigned q = 0; q < tile; q++) {
                row[0][q] = load_v(c0 + q * V, width);
                row[1][q] = load_v(c1 + q * V, width);
            }
            for (unsigned p = 0; p < k; p++) {
                vd x = splat(a[p * m + i]), y = splat(a[p * m + i + 1]);
                for (unsigned q = 0; q < tile; q++) {
                    row[0][q] += x * bv[p * cols + j + q];
                    row[1][q] += y * bv[p * cols + j + q];
                }
            }
            for (unsigned q = 0; q < tile; q++) {
                store_v(c0 + q * V, row[0][q], width);
                store_v(c1 + q * V, row[1][q], width);
            }
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

static void fused_shape(const struct emu_dot *d, const float *a, const float *b, float *c)
{
    static const struct emu_shape big = {.m = 32, .n = 32, .k = 8, .blocks = 1};
    static const struct emu_shape small = {.m = 16, .n = 16, .k = 16, .blocks = 1};
    const struct emu_shape s = {.m = d->m, .n = d->n, .k = d->k, .blocks = 1};
    if (s.m == 32 && s.n == 32 && s.k == 8)
        fused(&big, a, BY_K, b, c, ROW_MAJOR, c, ROW_MAJOR);
    else if (s.m == 16 && s.n == 16 && s.k == 16)
        fused(&small, a, BY_K, b, c, ROW_MAJOR, c, ROW_MAJOR);
    else
        fused(&s, a, BY_K, b, c, ROW_MAJOR, c, ROW_MAJOR);
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
    if (d->mode == EMU_MATRIX_F32) {
        if (d->rule == EMU_RULE_CHAIN)
            chain(d, a, b, c);
        else
            fused_shape(d, a, b, c);
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
