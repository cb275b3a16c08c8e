/*
 * Vectors and elements of the matrix arithmetic. A part of product.h, which sets the host
 * level.
 */
enum {
    MAX_N = 32,
    MAX_K = 128,
    MAX_A = 2048, /* elements of A or B over all blocks */
    MAX_C = 2048
};

#define FORCE static inline __attribute__((always_inline))

/* V columns at a time: what one register of the level holds in double, or in float (2 V). */
#ifdef EMU_AVX512
#define EMU_COLUMNS 8
#else
#define EMU_COLUMNS 4
#endif
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

FORCE wide load_wide(const float *p, unsigned n)
{
    wide x = {0};
    memcpy(&x, p, n * sizeof *p);
    return x;
}
