/*
 * Operands of matrix instructions for the tests of their semantics: elements, registers in the
 * window, and the text of a kernel that moves them.
 */
#ifndef AOTHIP_TEST_SEMANTICS_TILES_H
#define AOTHIP_TEST_SEMANTICS_TILES_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_matrix.h"
#include "test_semantics.h"

enum numbers { WHOLE, FRACTIONS, WIDE };

static inline bool is_float8(enum oracle_element e)
{
    return e == M_FP8 || e == M_BF8 || e == M_FP8_OCP || e == M_BF8_OCP;
}

/*
 * Anything that is finite. With exponents of eight bits, sums neither overflow nor leave the reach
 * of each other: 2^-24 .. 2^23 and now and then a denormal; the accumulator's range is wider.
 */
static inline uint64_t wide(const struct sf_format *f, bool is_c)
{
    uint64_t one = (UINT64_C(1) << (f->exp_bits - 1)) - !f->fnuz, r = sem_random(), e;
    uint64_t frac = sem_random() & ((UINT64_C(1) << f->frac_bits) - 1);
    unsigned reach = is_c ? 40 : 24;

    e = f->exp_bits < 8       ? (r >> 8) % (2 * one + (f->fnuz ? 0 : 1))
        : (r >> 32) % 32 == 0 ? 0
                              : one - reach + (r >> 8) % (2 * reach);
    if (r % 8 == 0)
        e = frac = 0;
    if (f->fnuz && !e && !frac)
        return 0;
    return (r >> 48 & 1) << (f->exp_bits + f->frac_bits) | e << f->frac_bits | frac;
}

static inline uint64_t element(enum oracle_element e, enum numbers numbers, bool is_c)
{
    static const struct sf_format *const formats[] = {
        &sf_f16, &sf_bf16, &sf_f32,     &sf_f64,     NULL, NULL, &sf_fp8,
        &sf_bf8, NULL,     &sf_fp8_ocp, &sf_bf8_ocp, NULL, NULL, NULL};
    const struct sf_env env = {SF_NEAREST, true, true};
    int64_t n = (int64_t)(sem_random() % 5) - 2;

    if (!formats[e])
        return sem_random();
    if (numbers == WIDE || (numbers == FRACTIONS && is_float8(e)))
        return wide(formats[e], is_c);
    if (numbers == FRACTIONS)
        return sem_value(e == M_F16 ? 'H' : e == M_BF16 ? 'G' : 'n', true);
    if (is_float8(e))
        return sf_pack8(formats[e], sf_from_int(n), false);
    return sf_pack(formats[e], sf_from_int(n), &env);
}

static inline void fill(uint8_t *at, unsigned regs, enum oracle_element e, enum numbers numbers,
                        bool is_c)
{
    unsigned bits = oracle_element_bits(e);

    for (unsigned r = 0; r < regs; r += bits == 64 ? 2 : 1)
        for (unsigned l = 0; l < 64; l++) {
            uint64_t word = bits == 6 ? sem_random() : 0;

            for (unsigned b = 0; b < 64 && bits != 6; b += bits)
                word |= (element(e, numbers, is_c) &
                         (bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1))
                        << b;
            memcpy(at + r * 256 + l * 4, &word, 4);
            word >>= 32;
            if (bits == 64)
                memcpy(at + (r + 1) * 256 + l * 4, &word, 4);
        }
}

/* Each four bits: two different places of four, in ascending order. */
static inline void fill_index(uint8_t *at)
{
    static const uint32_t pairs[6] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};

    for (unsigned l = 0; l < 64; l++) {
        uint32_t word = 0;

        for (unsigned i = 0; i < 8; i++)
            word = word << 4 | pairs[sem_random() % 6];
        memcpy(at + l * 4, &word, 4);
    }
}

static struct {
    char *text;
    size_t size, room;
} out;

static inline void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static inline void say(const char *fmt, ...)
{
    va_list ap;

    if (out.room - out.size < 256) {
        out.room += 4096;
        out.text = realloc(out.text, out.room);
        if (!out.text)
            abort();
    }
    va_start(ap, fmt);
    out.size += (size_t)vsnprintf(out.text + out.size, out.room - out.size, fmt, ap);
    va_end(ap);
}

static inline void move(const char *what, char file, unsigned reg, unsigned count, unsigned at)
{
    for (unsigned r = 0; r < count; r++) {
        unsigned byte = at + r * 256, base = 20 + byte / 4096 * 2;

        if (*what == 'l')
            say("  global_load_dword %c%u, v24, s[%u:%u] offset:%u\n", file, reg + r, base,
                base + 1, byte % 4096);
        else
            say("  global_store_dword v24, %c%u, s[%u:%u] offset:%u\n", file, reg + r, base,
                base + 1, byte % 4096);
    }
}

static inline const char *span(char file, unsigned reg, unsigned count)
{
    static char text[4][32];
    static unsigned turn;
    char *p = text[turn++ % 4];

    if (count == 1)
        snprintf(p, sizeof *text, "%c%u", file, reg);
    else
        snprintf(p, sizeof *text, "%c[%u:%u]", file, reg, reg + count - 1);
    return p;
}

/* Registers of a gfx12 operand of which a lane of wave32 has so many elements. */
static inline unsigned sem_tile_regs(const struct oracle_machine *m, unsigned elements,
                                     unsigned bits)
{
    const unsigned regs = elements * bits / 32;

    return m->lanes == 64 && regs > 1 ? regs / 2 : regs;
}

#endif
