/*
 * v_trig_preop_f64: 53-bit pieces of 2/pi, for the range reduction of sine and cosine.
 */
#include <math.h>

#include "program.h"

/* The fraction bits of 2/pi, the first 1216 of them, most significant first. */
static const uint64_t two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

#define BITS 1201

/* n bits of the fraction from bit `at` on; bits past the 1201st are 0. */
static uint64_t bits(unsigned at, unsigned n)
{
    uint64_t r = 0;

    for (unsigned i = at; i < at + n; i++)
        r = r << 1 | (i < BITS ? two_over_pi[i / 64] >> (63 - i % 64) & 1 : 0);
    return r;
}

double emu_trig_preop(uint64_t s0, unsigned piece)
{
    unsigned exponent = (unsigned)(s0 >> 52 & 0x7ff), shift = piece * 53;
    int scale;

    if (exponent > 1077)
        shift += exponent - 1077;
    scale = -53 - (int)shift;
    if (exponent >= 1968)
        scale += 128;
    return fabs(ldexp((double)bits(shift, 53), scale)); /* +0 when rounding down, too */
}
