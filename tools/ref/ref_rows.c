#include "ref_rows.h"

#include <string.h>

#define FORCE static inline __attribute__((always_inline))

enum { WIDTH = 4 };
typedef double doubles __attribute__((vector_size(8 * WIDTH)));
typedef float floats __attribute__((vector_size(4 * WIDTH)));

/* Vectors are never parameters, which some compilers pass in one way and some in another. */
FORCE void load(doubles *to, const double *from, int64_t n)
{
    *to = (doubles){0};
    memcpy(to, from, (size_t)n * sizeof *from);
}

FORCE void narrow(doubles *x, bool plain)
{
    if (plain)
        *x = __builtin_convertvector(__builtin_convertvector(*x, floats), doubles);
}

/* sum += part, of n numbers */
FORCE void add(double *sum, doubles *part, int64_t n, bool plain)
{
    doubles s;

    load(&s, sum, n);
    narrow(part, plain);
    s += *part;
    narrow(&s, plain);
    memcpy(sum, &s, (size_t)n * sizeof *sum);
}

FORCE void products(double *sum, double x, const double *y, int64_t n, bool plain)
{
    doubles part;

    load(&part, y, n);
    part *= x;
    add(sum, &part, n, plain);
}

FORCE void parts(double *sum, double *squares, double x, const double *y, int64_t n)
{
    doubles part, square;

    load(&part, y, n);
    part *= x;
    square = part * part;
    add(sum, &part, n, false);
    add(squares, &square, n, false);
}

FORCE void gradient(double *sum, double *squares, double x, double size, double unit,
                    const double *y, int64_t n, bool plain)
{
    doubles v, part, square;

    load(&v, y, n);
    part = v * x;
    square = v * size;
    square = square * square * unit * unit;
    add(sum, &part, n, plain);
    add(squares, &square, n, false);
}

FORCE void all_products(double *sum, double x, const double *y, int64_t n, bool plain)
{
    int64_t i = 0;

    for (; i + WIDTH <= n; i += WIDTH)
        products(sum + i, x, y + i, WIDTH, plain);
    for (; i < n; i++)
        products(sum + i, x, y + i, 1, plain);
}

FORCE void all_parts(double *sum, double *squares, double x, const double *y, int64_t n)
{
    int64_t i = 0;

    for (; i + WIDTH <= n; i += WIDTH)
        parts(sum + i, squares + i, x, y + i, WIDTH);
    for (; i < n; i++)
        parts(sum + i, squares + i, x, y + i, 1);
}

FORCE void all_gradient(double *sum, double *squares, double x, double size, double unit,
                        const double *y, int64_t n, bool plain)
{
    int64_t i = 0;

    for (; i + WIDTH <= n; i += WIDTH)
        gradient(sum + i, squares + i, x, size, unit, y + i, WIDTH, plain);
    for (; i < n; i++)
        gradient(sum + i, squares + i, x, size, unit, y + i, 1, plain);
}

#if defined(__x86_64__)
/* The same for hosts whose vectors hold four doubles. */
#define WIDER __attribute__((target("avx2")))

static WIDER void wider_products(double *sum, double x, const double *y, int64_t n, bool plain)
{
    if (plain)
        all_products(sum, x, y, n, true);
    else
        all_products(sum, x, y, n, false);
}

static WIDER void wider_parts(double *sum, double *squares, double x, const double *y, int64_t n)
{
    all_parts(sum, squares, x, y, n);
}

static WIDER void wider_gradient(double *sum, double *squares, double x, double size, double unit,
                                 const double *y, int64_t n, bool plain)
{
    if (plain)
        all_gradient(sum, squares, x, size, unit, y, n, true);
    else
        all_gradient(sum, squares, x, size, unit, y, n, false);
}

static bool is_wider(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define wider_products all_products
#define wider_parts all_parts
#define wider_gradient all_gradient

static bool is_wider(void)
{
    return false;
}
#endif

void ref_add_products(double *sum, double x, const double *y, int64_t n, bool plain)
{
    if (is_wider())
        wider_products(sum, x, y, n, plain);
    else
        all_products(sum, x, y, n, plain);
}

void ref_add_parts(double *sum, double *squares, double x, const double *y, int64_t n)
{
    if (is_wider())
        wider_parts(sum, squares, x, y, n);
    else
        all_parts(sum, squares, x, y, n);
}

void ref_add_gradient(double *sum, double *squares, double x, double size, double unit,
                      const double *y, int64_t n, bool plain)
{
    if (is_wider())
        wider_gradient(sum, squares, x, size, unit, y, n, plain);
    else
        all_gradient(sum, squares, x, size, unit, y, n, plain);
}
