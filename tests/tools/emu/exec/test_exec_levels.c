/*
 * Every vector row and the dense memory functions at each level of the host's vectors against the
 * portable code: the same bits, of NaNs only that they are some.
 */
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "tap.h"

enum { ROUNDS = 24, LANES = 64 };

extern const struct emu_lanes emu_lanes_32_base, emu_lanes_64_base;
#if defined(__x86_64__)
extern const struct emu_lanes emu_lanes_32_v3, emu_lanes_64_v3, emu_lanes_32_v4, emu_lanes_64_v4;
#endif

static uint64_t state = 20261121;

static uint32_t random32(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* Zeros, denormals, infinities, NaNs, small numbers of both signs, and anything. */
static uint32_t word(void)
{
    static const uint32_t special[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000,
                                       0x7f800000, 0xff800000, 0x7fc00000, 0xff812345, 0x7f7fffff,
                                       0x3f800000, 0xbf000000, 0x7c00fc00, 0x7e00fd01, 0x0001bc00,
                                       0x03ff8400, 0xffffffff, 0x0c0b0a08};
    uint32_t x = random32();

    if (x & 1)
        return special[(x >> 8) % (sizeof special / sizeof *special)];
    return x & 2 ? 0x3c000000 + (x >> 5) : x & 4 ? 0xbc000000 + (x >> 5) : x;
}

static bool nan16(uint32_t x)
{
    return (x & 0x7fff) > 0x7c00;
}

static bool nan32(uint32_t x)
{
    return (x & 0x7fffffff) > 0x7f800000;
}

/* Without NaNs in the whole wave other ways may be taken. */
static uint32_t number(void)
{
    uint32_t x = word();

    return nan32(x) ? x & 0xff7fffff : x;
}

static bool same_half(uint32_t x, uint32_t y)
{
    return (x & 0xffff) == (y & 0xffff) || (nan16(x) && nan16(y));
}

/* Low and high dword of lane l, or the only one. */
static bool same(const uint32_t *x, const uint32_t *y, unsigned l, unsigned lanes, bool wide)
{
    if (x[l] == y[l] && (!wide || x[l + lanes] == y[l + lanes]))
        return true;
    if (wide) /* an f64 */
        return (x[l + lanes] & 0x7ff00000) == 0x7ff00000 &&
               (y[l + lanes] & 0x7ff00000) == 0x7ff00000;
    return (nan32(x[l]) && nan32(y[l])) ||
           (same_half(x[l], y[l]) && same_half(x[l] >> 16, y[l] >> 16));
}

static bool same_row(const struct emu_vrow *a, const struct emu_vrow *b, unsigned lanes)
{
    static uint32_t in[4][2 * LANES], out[2][2 * LANES], carry[2][LANES];

    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < 4 * 2 * LANES; i++)
            in[i / (2 * LANES)][i % (2 * LANES)] = round & 1 ? number() : word();
        memset(out, 0, sizeof out);
        memset(carry, 0, sizeof carry);
        a->fn(out[0], carry[0], in[0], in[1], in[2], in[3]);
        b->fn(out[1], carry[1], in[0], in[1], in[2], in[3]);
        for (unsigned l = 0; l < lanes; l++)
            if (!same(out[0], out[1], l, lanes, a->dw == 2) || carry[0][l] != carry[1][l]) {
                tap_diag("%s of %08x %08x, %08x %08x, %08x %08x: %08x %08x, portable %08x %08x",
                         a->name, in[0][l], in[0][l + lanes], in[1][l], in[1][l + lanes], in[2][l],
                         in[2][l + lanes], out[0][l], out[0][l + lanes], out[1][l],
                         out[1][l + lanes]);
                return false;
            }
    }
    return true;
}

static bool same_memory(const struct emu_dense_fns *a, const struct emu_dense_fns *b,
                        unsigned lanes, unsigned words)
{
    static uint8_t memory[2][64 * LANES];
    static uint32_t rows[2][4 * LANES], at[LANES];

    for (unsigned i = 0; i < sizeof memory[0]; i++)
        memory[0][i] = memory[1][i] = (uint8_t)random32();
    for (unsigned l = 0; l < lanes; l++) /* some overlap */
        at[l] = random32() % (16 * lanes) * 3;
    a->read(rows[0], memory[0], at, words);
    b->read(rows[1], memory[1], at, words);
    if (memcmp(rows[0], rows[1], words * lanes * sizeof rows[0][0]))
        return false;
    for (unsigned i = 0; i < 4 * LANES; i++)
        rows[0][i] = random32();
    a->write(memory[0], at, rows[0], words);
    b->write(memory[1], at, rows[0], words);
    return memcmp(memory[0], memory[1], sizeof memory[0]) == 0;
}

static void compare(const struct emu_lanes *level, const struct emu_lanes *base, const char *name)
{
    unsigned rows = 0, differ = 0;
    bool memory = true;

    for (const struct emu_vrow *a = level->rows, *b = base->rows; b->name; a++, b++, rows++)
        differ += strcmp(a->name, b->name) != 0 || !same_row(a, b, base->lanes);
    ok(rows > 400 && differ == 0, "%s, wave%u: %u rows as the portable code", name, base->lanes,
       rows);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned words = 1; words <= 4; words++)
            memory &= same_memory(&level->dense, &base->dense, base->lanes, words);
    ok(memory, "%s, wave%u: loads and stores of whole waves", name, base->lanes);
}

int main(void)
{
    tap_diag("seed %llu", (unsigned long long)state);
    ok(emu_lanes_32_base.lanes == 32 && emu_lanes_64_base.lanes == 64, "wave32 and wave64");
#if defined(__x86_64__)
    if (emu_host() >= EMU_HOST_AVX2) {
        compare(&emu_lanes_32_v3, &emu_lanes_32_base, "AVX2");
        compare(&emu_lanes_64_v3, &emu_lanes_64_base, "AVX2");
    }
    if (emu_host() >= EMU_HOST_AVX512) {
        compare(&emu_lanes_32_v4, &emu_lanes_32_base, "AVX-512");
        compare(&emu_lanes_64_v4, &emu_lanes_64_base, "AVX-512");
    }
#endif
    return tap_done();
}
