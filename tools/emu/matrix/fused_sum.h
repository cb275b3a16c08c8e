/*
 * f32 mode: D = A B + C as a chain of fused multiply-adds over k, and the conversion of 16-bit
 * operands. A part of product.h, which sets the host level.
 *
 * All levels give the same bits: the level with AVX2 and the one with AVX-512 have the fused
 * instruction; without it the sum is formed in double and rounded to float, which is the same
 * because a product of two operands of at most 12 significant bits is exact in 24 (53 >= 2 * 24 +
 * 2).
 */

typedef double wide_d __attribute__((vector_size(16 * EMU_COLUMNS)));

FORCE wide fused_step(wide x, wide y, wide z)
{
#if defined(EMU_AVX512)
    return (wide)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z);
#elif defined(EMU_AVX2)
    return (wide)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
#else
    wide_d product = __builtin_convertvector(x, wide_d) * __builtin_convertvector(y, wide_d);
    return __builtin_convertvector(product + __builtin_convertvector(z, wide_d), wide);
#endif
}

/* Where row i of C or D lies, in floats; its columns follow one another. */
enum layout {
    ROW_MAJOR,
    IN_REGISTERS, /* of an MFMA of one block, from the operand's first row */
    ONE_ROW       /* all rows are the same: a constant */
};

/* Of row i + r, i and the tile's height being multiples of 4: four rows lie in four registers. */
FORCE size_t row_offset(const struct emu_shape *s, enum layout layout, unsigned i, unsigned r)
{
    struct emu_place at;
    if (layout != IN_REGISTERS)
        return layout == ROW_MAJOR ? (size_t)(i + r) * s->n : 0;
    at = emu_matrix_place(s, 4, 0, i + r / 4 * 4);
    return (size_t)at.item * 64 + at.lane + r % 4 * 64;
}

/* How A lies: all rows of one k, then those of the next; or of every two k, a row's pair. */
enum order { BY_K, BY_PAIRS };

FORCE float a_at(const struct emu_shape *s, const float *a, enum order order, unsigned p,
                 unsigned i)
{
    return order == BY_K ? a[p * s->m + i] : a[p / 2 * 2 * s->m + 2 * i + p % 2];
}

/* `rows` by `cols` vectors of the sum stay in registers over all of k. */
FORCE void fused_tile(const struct emu_shape *s, unsigned i, unsigned j, unsigned rows,
                      unsigned cols, const float *a, enum order order, const float *b,
                      const float *c, float *d, enum layout from, enum layout to)
{
    const unsigned width = s->n < F ? s->n : F;
    wide sum[8];
    for (unsigned r = 0; r < rows; r++)
        for (unsigned q = 0; q < cols; q++)
            sum[r * cols + q] = load_wide(c + row_offset(s, from, i, r) + j + q * F, width);
    for (unsigned at = 0; at < s->k; at += order == BY_PAIRS ? 2 : 1)
        for (unsigned p = at; p < at + (order == BY_PAIRS ? 2 : 1); p++)
            for (unsigned q = 0; q < cols; q++) {
                wide y = load_wide(b + p * s->n + j + q * F, width);
                for (unsigned r = 0; r < rows; r++) {
                    wide x = a_at(s, a, order, p, i + r) - (wide){0};
                    sum[r * cols + q] = fused_step(x, y, sum[r * cols + q]);
                }
            }
    for (unsigned r = 0; r < rows; r++)
        for (unsigned q = 0; q < cols; q++)
            memcpy(d + row_offset(s, to, i, r) + j + q * F, &sum[r * cols + q], width * sizeof *d);
}

/* a[k][m], b[k][n]. Constant shapes let the compiler unroll. d may be c. */
FORCE void fused(const struct emu_shape *s, const float *a, enum order order, const float *b,
                 const float *c, enum layout from, float *d, enum layout to)
{
    const unsigned cols = s->n <= F ? 1 : s->n / F < 4 ? s->n / F : 4, rows = 8 / cols;
    for (unsigned j = 0; j < s->n; j += cols * F)
        for (unsigned i = 0; i < s->m; i += rows)
            fused_tile(s, i, j, s->m < rows ? s->m : rows, cols, a, order, b, c, d, from, to);
}

/* The low and the high halves of n dwords as bf16, n a multiple of 16. */
FORCE void split_bf16(float *lo, float *hi, const uint32_t *from, unsigned n)
{
    for (unsigned l = 0; l < n; l += F) {
        wide_bits x, y;
        memcpy(&x, from + l, sizeof x);
        y = x << 16;
        x &= 0xffff0000;
        memcpy(lo + l, &y, sizeof y);
        memcpy(hi + l, &x, sizeof x);
    }
}

/* The halves of n dwords as f16, in order; n is a multiple of 16. */
FORCE void widen_f16(float *to, const uint32_t *from, unsigned n)
{
#if defined(EMU_AVX512)
    for (unsigned l = 0; l < n; l += 8)
        _mm512_storeu_ps(to + 2 * l, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(from + l))));
#elif defined(EMU_AVX2)
    for (unsigned l = 0; l < n; l += 4)
        _mm256_storeu_ps(to + 2 * l, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + l))));
#else
    for (unsigned l = 0; l < n; l++) {
        to[2 * l] = half((uint16_t)from[l]);
        to[2 * l + 1] = half((uint16_t)(from[l] >> 16));
    }
#endif
}

/* The low and the high halves of n dwords as f16. */
FORCE void split_f16(float *lo, float *hi, const uint32_t *from, unsigned n)
{
#if defined(EMU_AVX512)
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    for (unsigned l = 0; l < n; l += 16) {
        __m512 x = _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(from + l)));
        __m512 y = _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(from + l + 8)));
        _mm512_storeu_ps(lo + l, _mm512_permutex2var_ps(x, even, y));
        _mm512_storeu_ps(hi + l, _mm512_permutex2var_ps(x, odd, y));
    }
#elif defined(EMU_AVX2)
    for (unsigned l = 0; l < n; l += 8) {
        __m256 x = _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + l)));
        __m256 y = _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + l + 4)));
        __m256d even = _mm256_castps_pd(_mm256_shuffle_ps(x, y, 0x88));
        __m256d odd = _mm256_castps_pd(_mm256_shuffle_ps(x, y, 0xdd));
        _mm256_storeu_pd((double *)(lo + l), _mm256_permute4x64_pd(even, 0xd8));
        _mm256_storeu_pd((double *)(hi + l), _mm256_permute4x64_pd(odd, 0xd8));
    }
#else
    for (unsigned l = 0; l < n; l++) {
        lo[l] = half((uint16_t)from[l]);
        hi[l] = half((uint16_t)(from[l] >> 16));
    }
#endif
}
