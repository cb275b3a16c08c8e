/*
 * The arithmetic of one product in each mode. A part of product.h, which sets the host
 * level.
 *
 * f32: the accumulator plus one product after the other, in the order of k, each step fused and
 * rounded to f32. exact: the sum in double, rounded once. Products of two 16-bit floats are exact
 * in double, and so are sums of them within 2^29 of each other.
 */
#define LEAST_NORMAL INT64_C(0x3810000000000000) /* of f32, 2^-126, as a double's bits */

/* Denormals of f32 to zero of their sign: by bits, for NaN is not at least anything. */
FORCE vd flush_d(vd x)
{
    vl u = (vl)x, magnitude = u & INT64_MAX;
    return (vd)(u & ((vl)(magnitude >= LEAST_NORMAL) | INT64_MIN));
}

/* The same of f32. */
FORCE wide flush_v(wide x)
{
    wide_bits u = (wide_bits)x, magnitude = u & 0x7fffffff;
    return (wide)(u & ((wide_bits)(magnitude >= 0x00800000) | 0x80000000));
}

/* Denormals and -0 to +0, as gfx90a reads its operands. */
FORCE wide drop_v(wide x)
{
    wide_bits u = (wide_bits)x;
    return (wide)(u & (wide_bits)((u & 0x7fffffff) >= 0x00800000));
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
 * accumulator, which was flushed when it was read. Products of 16-bit floats are exact in f32
 * unless denormal. Source: MMA-Sim 2.1.1 (arXiv 2511.10909, FTZ-AddMul).
 */
FORCE void pairs(unsigned m, unsigned n, unsigned k, unsigned g, const float *a, const float *b,
                 float *c)
{
    const unsigned width = n < F ? n : F;
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < n; j += F) {
            wide acc = drop_v(load_wide(c + i * n + j, width));
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

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

typedef uint32_t narrow_bits __attribute__((vector_size(4 * EMU_COLUMNS)));
typedef uint64_t random_v __attribute__((vector_size(8 * EMU_COLUMNS)));

FORCE random_v next_random_v(random_v s)
{
    s ^= s << 13;
    s ^= s >> 7;
    return s ^ s << 17;
}

/* The floats nearest to x, or those on the other side of x where a bit of r is set: any rounding
 * direction. */
FORCE vd nudge_v(vd x, random_v r)
{
    const vf f = __builtin_convertvector(x, vf);
    const vd nearest = __builtin_convertvector(f, vd);
    const narrow_bits bits = (narrow_bits)f, magnitude = bits & 0x7fffffff, sign = bits >> 31;
    const narrow_bits below = __builtin_convertvector((vl)(nearest < x), narrow_bits) & 1;
    const narrow_bits off =
        __builtin_convertvector((vl)(nearest != x) & (vl)(r >> 40 & 1), narrow_bits);
    const narrow_bits moves = off & (narrow_bits)(magnitude < 0x7f800000);
    const narrow_bits outward = below ^ sign; /* one up in magnitude, else one down */
    const narrow_bits from_zero = (~below & 1) << 31 | 1;
    const narrow_bits at_zero = (narrow_bits)(magnitude == 0), to = bits + 2 * outward - 1;
    const narrow_bits moved = (from_zero & at_zero) | (to & ~at_zero), yes = -moves;

    return __builtin_convertvector((vf)((moved & yes) | (bits & ~yes)), vd);
}

/* Any order of the products, every addition rounded up or down at random: by columns, so that all
 * levels have the same chances. */
static void adversarial(const struct emu_dot *d, const float *a, const float *b, float *c)
{
    const bool flushes = d->rule == EMU_RULE_PAIRS;
    const unsigned width = d->n < V ? d->n : V;
    uint64_t r = d->random | 1, state[MAX_N];
    unsigned order[MAX_K];

    for (unsigned p = 0; p < d->k; p++) {
        unsigned q = (unsigned)(next_random(&r) % (p + 1));
        order[p] = order[q];
        order[q] = p;
    }
    for (unsigned j = 0; j < MAX_N; j++)
        state[j] = next_random(&r);
    for (unsigned j = 0; j < d->n; j += V) {
        random_v chance;

        memcpy(&chance, state + j, sizeof chance);
        for (unsigned i = 0; i < d->m; i++) {
            vd acc = load_v(c + i * d->n + j, width);

            for (unsigned p = 0; p < d->k; p++) {
                const unsigned q = order[p];

                chance = next_random_v(chance);
                acc =
                    nudge_v(acc + splat(a[q * d->m + i]) * load_v(b + q * d->n + j, width), chance);
                if (flushes)
                    acc = flush_d(acc);
            }
            store_v(c + i * d->n + j, acc, width);
        }
    }
}

/* gfx90a: denormal 16-bit operands and -0 become +0 before they are multiplied. */
static void flush_inputs(float *to, const float *from, unsigned n, int lowest)
{
    const float least = ldexpf(1, lowest);
    for (unsigned i = 0; i < n; i++)
        to[i] = fabsf(from[i]) < least ? 0 : from[i];
}

static void fused_shape(const struct emu_dot *d, const float *a, const float *b, float *c)
{
    static const struct emu_shape big = {.m = 32, .n = 32, .k = 8, .blocks = 1};
    static const struct emu_shape small = {.m = 16, .n = 16, .k = 16, .blocks = 1};
    static const struct emu_shape deep_big = {.m = 32, .n = 32, .k = 16, .blocks = 1};
    static const struct emu_shape deep_small = {.m = 16, .n = 16, .k = 32, .blocks = 1};
    const struct emu_shape s = {.m = d->m, .n = d->n, .k = d->k, .blocks = 1};
    if (s.m == 32 && s.n == 32 && s.k == 8)
        fused(&big, a, BY_K, b, c, ROW_MAJOR, c, ROW_MAJOR);
    else if (s.m == 16 && s.n == 16 && s.k == 16)
        fused(&small, a, BY_K, b, c, ROW_MAJOR, c, ROW_MAJOR);
    else if (s.m == 32 && s.n == 32 && s.k == 16)
        fused(&deep_big, a, BY_K, b, c, ROW_MAJOR, c, ROW_MAJOR);
    else if (s.m == 16 && s.n == 16 && s.k == 32)
        fused(&deep_small, a, BY_K, b, c, ROW_MAJOR, c, ROW_MAJOR);
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
    else
        cut_shape(d, a, b, c);
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
        flush_inputs(fa, a, d->m * d->k, d->lowest[0]);
        flush_inputs(fb, b, d->k * d->n, d->lowest[1]);
        a = fa;
        b = fb;
    }
    if (d->mode == EMU_MATRIX_ADVERSARIAL)
        adversarial(d, a, b, c);
    else
        dot_hw(d, a, b, c);
}
