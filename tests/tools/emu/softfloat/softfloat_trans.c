/*
 * Transcendental functions for the oracle: the host's long double (64-bit significand on x86) after
 * an exact reduction of the argument. On a host with a shorter long double the f32 results may be
 * off by one in the last place, and the tests then say so.
 */
#include <math.h>

#include "softfloat.h"

static long double to_host(struct sf a)
{
    long double x = ldexpl((long double)(uint64_t)a.sig, a.exp);

    return a.sign ? -x : x;
}

static struct sf from_host(long double x)
{
    struct sf a = {.cls = SF_IS_FINITE, .sign = x < 0};
    int e;

    if (x == 0)
        return sf_zero(false);
    x = frexpl(fabsl(x), &e);
    a.sig = (uint64_t)ldexpl(x, 64);
    a.exp = e - 64;
    return a;
}

/* sin(2 pi x), |x| <= 1/2, exact at multiples of 1/4 */
static long double sin_turn(long double x)
{
    const long double two_pi = 6.283185307179586476925286766559L;

    if (x > 0.25L)
        x = 0.5L - x;
    if (x < -0.25L)
        x = -0.5L - x;
    if (x > 0.125L)
        return cosl(two_pi * (0.25L - x));
    if (x < -0.125L)
        return -cosl(two_pi * (0.25L + x));
    return sinl(two_pi * x);
}

struct sf sf_transcendental(enum sf_function fn, struct sf a)
{
    long double x = to_host(a), whole;

    switch (fn) {
    case SF_EXP2: /* beyond +-20000 every format has overflowed or underflowed */
        whole = floorl(x);
        return sf_scale(from_host(exp2l(x - whole)), whole > 20000    ? 20000
                                                     : whole < -20000 ? -20000
                                                                      : (int)whole);
    case SF_LOG2:
        return from_host(log2l(x));
    case SF_SIN:
        return from_host(sin_turn(x - rintl(x)));
    case SF_COS:
        x = fabsl(x - rintl(x)); /* cos(2 pi x) = sin(2 pi (1/4 - x)) */
        return from_host(sin_turn(0.25L - x));
    }
    return sf_nan();
}
