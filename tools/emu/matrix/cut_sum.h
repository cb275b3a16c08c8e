/*
 * gfx942: products of a group cut to a common grid, and one rounding for them and the accumulator.
 * A part of product.h, which sets the host level.
 *
 * Source: MMA-Sim 2.1.1 (P. Xie et al., arXiv 2511.10909; its TR-FDPA and GTR-FDPA), compared with
 * CDNA3 hardware by its authors, who also publish what they measured (microsoft/MMA-Sim,
 * tests/probe/probe_amd_cdna3.ipynb). In short, all exponents being those of 1 <= |x| < 2:
 *
 *  - An operand's exponent is at least that of its type's smallest normal number, the
 *    accumulator's at least -126, also for 0. A product's is the sum of its operands': the product
 *    may reach 4 times that. A product that is 0 takes no part in alignment.
 *  - Products of a group are cut toward zero, 24 bits below the largest exponent, and summed. fp8
 *    does so with the even and the odd k apart, then floors both sums, again 24 bits below the
 *    larger exponent, and adds them.
 *  - The sum is floored 32 bits below the larger of its and the accumulator's exponent, the
 *    accumulator 24 bits; fp8 drops it if it lies more than 25 below. Both are added.
 *  - The result is floored 31 bits below its leading bit, or below 2^-126, and rounded to f32.
 *  - A product of 2^128 or more counts as infinite. Infinities and NaN add up as IEEE 754 says.
 *
 * All steps are exact in double: a sum of 16 products has 31 bits, with the accumulator 39.
 */
enum {
    GRID = 24,             /* bits below the largest exponent */
    SUM_GRID = 32,         /* the same for a sum that meets the accumulator */
    RESULT_GRID = 31,      /* bits of a result below its leading one */
    C_REACH = 25,          /* fp8: an accumulator that lies further below is dropped */
    NO_EXPONENT = -999,    /* of no product: below every other, and 2^(GRID - it) is a number */
    ZERO_EXPONENT = -3000, /* a product with such an operand lies below NO_EXPONENT */
    LOWEST_F32 = -126
};

FORCE vl larger(vl x, vl y)
{
    vl m = x > y;
    return (x & m) | (y & ~m);
}

/* For normal numbers and infinity; other numbers have lower ones than all of f32. */
FORCE vl exponent(vd x)
{
    return ((vl)x >> 52 & 0x7ff) - 1023;
}

FORCE vd pow2(vl e)
{
    return (vd)((e + 1023) << 52);
}

/* Toward minus infinity, for |x| < 2^51: without an instruction for it, round to an integer by
 * adding a large number, and correct. */
FORCE vd floor_v(vd x)
{
#if defined(EMU_AVX512)
    return (vd)_mm512_roundscale_pd((__m512d)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif defined(EMU_AVX2)
    return (vd)_mm256_round_pd((__m256d)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#else
    const vd large = splat(0x1.8p52);
    vd r = x + large - large;
    return r - (vd)((vl)(r > x) & (vl)splat(1.0));
#endif
}

/* Toward zero. */
FORCE vd cut_v(vd x)
{
#if defined(EMU_AVX512)
    return (vd)_mm512_roundscale_pd((__m512d)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
#elif defined(EMU_AVX2)
    return (vd)_mm256_round_pd((__m256d)x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
#else
    const vl sign = (vl)splat(-0.0);
    return (vd)((vl)floor_v((vd)((vl)x & ~sign)) | ((vl)x & sign));
#endif
}

/* The exponents of n operands; gives the largest, and 128 if one is infinite or NaN. */
static int exponents_of(const float *x, unsigned n, int lowest, int *to)
{
    int largest = ZERO_EXPONENT;
    for (unsigned i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &x[i], 4);
        int e = (int)(u >> 23 & 0xff) - 127;
        e = e > lowest ? e : lowest;
        e = u << 1 ? e : ZERO_EXPONENT;
        to[i] = e;
        largest = e > largest ? e : largest;
    }
    return largest;
}

/* B by vectors of columns, A by elements. */
struct cut_operands {
    vd b[MAX_K * MAX_N / V];
    vl eb[MAX_K * MAX_N / V];
    int ea[MAX_A];
    unsigned m, cols; /* a[k][m], b[k][cols] */
    bool special;     /* some product may be infinite or NaN */
};

FORCE void cut_prepare(struct cut_operands *o, const struct emu_dot *d, const float *a,
                       const float *b)
{
    const unsigned width = d->n < V ? d->n : V;
    int eb[MAX_A], largest_a, largest_b;
    o->m = d->m;
    o->cols = (d->n + V - 1) / V;
    largest_a = exponents_of(a, d->m * d->k, d->lowest[0], o->ea);
    largest_b = exponents_of(b, d->n * d->k, d->lowest[1], eb);
    o->special = largest_a + largest_b + 2 > 128 || largest_a == 128 || largest_b == 128;
    for (unsigned p = 0; p < d->k; p++)
        for (unsigned q = 0; q < o->cols; q++) {
            vl e = {0};
            for (unsigned l = 0; l < width; l++)
                e[l] = eb[p * d->n + q * V + l];
            o->eb[p * o->cols + q] = e;
            o->b[p * o->cols + q] = load_v(b + p * d->n + q * V, width);
        }
}

/* A sum on the grid of `top`. */
struct cut_sum {
    vd sum;
    vl top;
};

/* Products p, p + step .. below end, of row i and vector j of columns. */
FORCE struct cut_sum cut_products(const struct cut_operands *o, const float *a, unsigned i,
                                  unsigned j, unsigned p, unsigned end, unsigned step)
{
    struct cut_sum s = {splat(0), NO_EXPONENT - (vl){0}};
    for (unsigned q = p; q < end; q += step)
        s.top = larger(o->eb[q * o->cols + j] + o->ea[q * o->m + i], s.top);
    const vd scale = pow2(GRID - s.top);
    for (unsigned q = p; q < end; q += step)
        s.sum += cut_v(splat(a[q * o->m + i]) * o->b[q * o->cols + j] * scale);
    s.sum *= pow2(s.top - GRID);
    return s;
}

FORCE struct cut_sum cut_join(struct cut_sum x, struct cut_sum y)
{
    const vl top = larger(x.top, y.top);
    const vd scale = pow2(GRID - top), back = pow2(top - GRID);
    return (struct cut_sum){(floor_v(x.sum * scale) + floor_v(y.sum * scale)) * back, top};
}

/* The new accumulator, a float. */
FORCE vd cut_accumulate(struct cut_sum s, vd acc, bool drops)
{
    const vl own = larger(exponent(acc), LOWEST_F32 - (vl){0}), top = larger(own, s.top);
    vd kept = floor_v(acc * pow2(GRID - top)) * pow2(top - GRID);
    if (drops)
        kept = (vd)((vl)kept & (own >= top - C_REACH));
    vd r = floor_v(s.sum * pow2(SUM_GRID - top)) * pow2(top - SUM_GRID) + kept;
    const vl lead = larger(exponent(r), LOWEST_F32 - (vl){0});
    r = floor_v(r * pow2(RESULT_GRID - lead)) * pow2(lead - RESULT_GRID);
    return __builtin_convertvector(__builtin_convertvector(r, vf), vd);
}

/* Products p .. end - 1 if one of them is infinite or NaN: the others do not matter then. */
static bool special_sum(const struct emu_dot *d, const float *a, const float *b, unsigned i,
                        unsigned j, unsigned p, unsigned end, double *acc)
{
    bool any = false;
    for (; p < end; p++) {
        double product = (double)a[p * d->m + i] * (double)b[p * d->n + j];
        if (fabs(product) < 0x1p128)
            continue;
        any = true;
        *acc += isnan(product) ? product : copysign(INFINITY, product);
    }
    return any;
}

FORCE void cut_rule(const struct emu_dot *d, unsigned m, unsigned n, unsigned k, unsigned g,
                    bool halves, const float *a, const float *b, float *c)
{
    const unsigned width = n < V ? n : V;
    struct cut_operands o;
    cut_prepare(&o, d, a, b);
    for (unsigned i = 0; i < m; i++)
        for (unsigned j = 0; j < n; j += V) {
            vd acc = load_v(c + i * n + j, width), before;
            for (unsigned p = 0; p < k; p += g) {
                before = acc;
                struct cut_sum s = cut_products(&o, a, i, j / V, p, p + g, halves ? 2 : 1);
                if (halves)
                    s = cut_join(s, cut_products(&o, a, i, j / V, p + 1, p + g, 2));
                acc = cut_accumulate(s, acc, halves);
                for (unsigned l = 0; o.special && l < width; l++) {
                    double x = before[l];
                    if (special_sum(d, a, b, i, j + l, p, p + g, &x))
                        acc[l] = x;
                }
            }
            store_v(c + i * n + j, acc, width);
        }
}

static void cut_shape(const struct emu_dot *d, const float *a, const float *b, float *c)
{
    if (d->rule == EMU_RULE_CUT_HALVES)
        cut_rule(d, d->m, d->n, d->k, d->group, true, a, b, c);
    else if (d->m == 32 && d->n == 32 && d->k == 8 && d->group == 8)
        cut_rule(d, 32, 32, 8, 8, false, a, b, c);
    else if (d->m == 16 && d->n == 16 && d->k == 16 && d->group == 8)
        cut_rule(d, 16, 16, 16, 8, false, a, b, c);
    else
        cut_rule(d, d->m, d->n, d->k, d->group, false, a, b, c);
}
