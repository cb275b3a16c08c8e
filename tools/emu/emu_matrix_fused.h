/*
 * f32 mode: D = A B + C as a chain of fused multiply-adds over k, and the conversion of 16-bit
 * operands. A part of emu_matrix_level.h, which sets the host level.
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

FORCE size_t row_offset(const struct emu_shape *s, enum layout layout, unsigned i)
{
    struct emu_place at;
    if (layout != IN_REGISTERS)
        return layout == ROW_MAJOR ? (size_t)i * s->n : 0;
    at = emu_matrix_place(s, 4, 0, i);
    return (size_t)at.item * 64 + at.lane;
}

/* `rows` by `cols` vectors of the sum stay in registers over all of k. */
FORCE void fused_tile(const struct emu_shape *s, unsigned i, unsigned j, unsigned rows,
                      unsigned cols, const float *a, const float *b, const float *c, float *d,
                      enum layout from, enum layout to)
{
    const unsigned width = s->n < F ? s->n : F;
    wide sum[8];
    for (unsigned r = 0; r < rows; r++)
        for (unsigned q = 0; q < cols; q++)
            sum[r * cols + q] = load_wide(c + row_offset(s, from, i + r) + j + q * F, width);
    for (unsigned p = 0; p < s->k; p++)
        for (unsigned q = 0; q < cols; q++) {
            wide y = load_wide(b + p * s->n + j + q * F, width);
            for (unsigned r = 0; r < rows; r++) {
                wide x = a[p * s->m + i + r] - (wide){0};
                sum[r * cols + q] = fused_step(x, y, sum[r * cols + q]);
            }
        }
    for (unsigned r = 0; r < rows; r++)
        for (unsigned q = 0; q < cols; q++)
            memcpy(d + row_offset(s, to, i + r) + j + q * F, &sum[r * cols + q], width * sizeof *d);
}

/* a[k][m], b[k][n]. Constant shapes let the compiler unroll. d may be c. */
FORCE void fused(const struct emu_shape *s, const float *a, const float *b, const float *c,
                 enum layout from, float *d, enum layout to)
{
    const unsigned cols = s->n <= F ? 1 : s->n / F < 4 ? s->n / F : 4, rows = 8 / cols;
    for (unsigned j = 0; j < s->n; j += cols * F)
        for (unsigned i = 0; i < s->m; i += rows)
            fused_tile(s, i, j, s->m < rows ? s->m : rows, cols, a, b, c, d, from, to);
}

/* One half of each of n dwords as bf16, n a multiple of 16. */
FORCE void bf16_halves(float *to, const uint32_t *from, unsigned shift, unsigned n)
{
    for (unsigned l = 0; l < n; l += F) {
        wide_bits x;
        memcpy(&x, from + l, sizeof x);
        x = shift ? x & 0xffff0000 : x << 16;
        memcpy(to + l, &x, sizeof x);
    }
}

/* The same as f16. */
FORCE void f16_halves(float *to, const uint32_t *from, unsigned shift, unsigned n)
{
#if defined(EMU_AVX512)
    for (unsigned l = 0; l < n; l += 16) {
        __m512i x = _mm512_srli_epi32(_mm512_loadu_si512(from + l), shift);
        _mm512_storeu_ps(to + l, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x)));
    }
#elif defined(EMU_AVX2)
    for (unsigned l = 0; l < n; l += 8) {
        __m256i x = _mm256_srli_epi32(_mm256_loadu_si256((const void *)(from + l)), (int)shift);
        x = _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
        __m128i h = _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
        _mm256_storeu_ps(to + l, _mm256_cvtph_ps(h));
    }
#else
    for (unsigned l = 0; l < n; l++)
        to[l] = half((uint16_t)(from[l] >> shift));
#endif
}
