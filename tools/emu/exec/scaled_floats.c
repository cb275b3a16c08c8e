/*
 * gfx950's v_cvt_scalef32_*: floats of 8, 6 and 4 bits from and to those of 32 and 16, by a power
 * of two, the exponent of an f32. What the manual leaves open is as in AMD's own code for the host,
 * amd_hip_ocp_host.hpp of HIP; README.md has the list.
 */
#include "scaled_floats.h"

#include <string.h>

#include "program.h"

static const struct format {
    uint8_t bits, fraction;
    int16_t bias;
    bool infinity;                  /* the largest exponent holds infinity and NaN */
    uint32_t largest, beyond, none; /* codes: the largest number; what is larger becomes; NaN */
} formats[] = {
    [EMU_F32] = {32, 23, 127, true, 0x7f7fffff, 0x7f800000, 0x7fc00000},
    [EMU_F16] = {16, 10, 15, true, 0x7bff, 0x7c00, 0x7e00},
    [EMU_BF16] = {16, 7, 127, true, 0x7f7f, 0x7f80, 0x7fc0},
    [EMU_FP8] = {8, 3, 7, false, 0x7e, 0x7f, 0x7f},
    [EMU_BF8] = {8, 2, 15, true, 0x7b, 0x7c, 0x7f},
    [EMU_FP6] = {6, 3, 1, false, 0x1f, 0x1f, 0x1f},
    [EMU_BF6] = {6, 2, 3, false, 0x1f, 0x1f, 0x1f},
    [EMU_FP4] = {4, 1, 1, false, 0x7, 0x7, 0x7},
};

/* ---- one number ---- */

enum { FINITE, INFINITE, NO_NUMBER };

/* (-1)^sign * significand * 2^exponent */
struct number {
    unsigned kind;
    bool sign;
    uint32_t significand;
    int exponent;
};

static struct number unpack(const struct format *f, uint32_t code)
{
    const uint32_t magnitude = code & ((UINT32_C(1) << (f->bits - 1)) - 1);
    const uint32_t hidden = UINT32_C(1) << f->fraction, e = magnitude >> f->fraction;
    struct number x = {FINITE, code >> (f->bits - 1) & 1, magnitude & (hidden - 1), 0};

    x.exponent = (e ? (int)e : 1) - f->bias - f->fraction;
    x.significand |= e ? hidden : 0;
    if (f->infinity && magnitude > f->largest)
        x.kind = magnitude == f->beyond ? INFINITE : NO_NUMBER;
    else if (f->bits == 8 && magnitude > f->largest)
        x.kind = NO_NUMBER;
    return x;
}

/*
 * The significand in units of 2^(last place), rounded to nearest even, or, with random bits, cut
 * off after their highest ones, as many as the source has places more, are added below that place.
 */
static uint64_t round_to(const struct number *x, int last, const uint32_t *random, unsigned places)
{
    const int shift = last - x->exponent;
    uint64_t kept, rest, half;

    if (shift <= 0)
        return (uint64_t)x->significand << -shift;
    if (shift > 63)
        return 0;
    kept = shift < 32 ? x->significand >> shift : 0;
    if (random) {
        rest = ((uint64_t)x->significand << 32 >> shift) & 0xffffffff;
        return kept + ((rest + (*random & ~(UINT64_C(0xffffffff) >> places))) >> 32);
    }
    rest = x->significand & ((UINT64_C(1) << shift) - 1);
    half = UINT64_C(1) << (shift - 1);
    return kept + (rest > half || (rest == half && kept & 1));
}

static uint32_t pack(const struct format *f, const struct number *x, const uint32_t *random,
                     unsigned places)
{
    const uint32_t sign = (uint32_t)x->sign << (f->bits - 1);
    const int least = 1 - f->bias;
    uint64_t code;
    int top;

    if (x->kind != FINITE)
        return sign | (x->kind == INFINITE ? f->beyond : f->none);
    if (!x->significand)
        return sign;
    top = x->exponent + 31 - __builtin_clz(x->significand);
    top = top > least ? top : least;
    if (top > f->bias + 1) /* of all formats the largest number is below */
        return sign | f->beyond;
    code = round_to(x, top - f->fraction, random, places);
    code += (uint64_t)(unsigned)(top - least) << f->fraction; /* its highest bit is one more */
    return sign | (uint32_t)(code > f->largest ? f->beyond : code);
}

/* scale: an exponent as f32 has it; 255 makes any number none. */
static uint32_t convert(const struct emu_scaled *s, uint32_t code, unsigned scale,
                        const uint32_t *random)
{
    const struct format *from = &formats[s->from], *to = &formats[s->to];
    struct number x = unpack(from, code);

    if (scale == 255)
        x.kind = NO_NUMBER;
    x.exponent += to->bits > from->bits ? (int)scale - 127 : 127 - (int)scale;
    return pack(to, &x, random, (unsigned)from->fraction - to->fraction);
}

/* ---- where the elements are ---- */

unsigned emu_float_bits(unsigned type)
{
    return formats[type].bits;
}

struct emu_scaled_place emu_scaled_place(const struct emu_scaled *s, const struct emu_insn *insn,
                                         unsigned element)
{
    const unsigned from = formats[s->from].bits, to = formats[s->to].bits, sel = insn->op_sel;
    struct emu_scaled_place p = {0, element * from, element * to};

    if (s->from == EMU_F32 && s->elements > 1 && !s->random) { /* two sources in turns */
        p.source = element & 1;
        p.from = element / 2 * 32;
    }
    if (s->elements == 32)
        return p;
    if (from < 16)
        p.from += s->elements == 2 && from == 8 ? 16 * (sel & 1) : 8 * (sel & 3);
    else if (insn->src[0].flags & EMU_OPF_HI)
        p.from += 16;
    if (to < 16)
        p.to += s->elements == 2 && to == 8 ? 16 * (sel >> 3 & 1) : 8 * (sel >> 2 & 3);
    else if (to == 16 && s->elements == 1)
        p.to += 16 * (sel >> 3 & 1);
    return p;
}

bool emu_scaled_is_partial(const struct emu_scaled *s)
{
    return s->elements * formats[s->to].bits < 32;
}

bool emu_scaled_is_early(const struct emu_scaled *s)
{
    return s->elements == 32 || (s->random && s->to == EMU_FP4);
}

/* ---- a wave ---- */

static uint32_t dword(struct emu_wave *w, const struct emu_op *op, unsigned i, unsigned n,
                      unsigned lane)
{
    const struct emu_operand *o = &op->insn->src[i];

    if (o->kind == EMU_OPK_VGPR)
        return emu_row(w, op->s[i] + n)[lane];
    if (n > 1)
        emu_fault(w, 0, "operands wider than 64 bits are vector registers");
    return op->s[i] == EMU_S_NULL ? 0 : w->s[op->s[i] + n];
}

/* An element with the signs that its source is given. */
static uint32_t element(struct emu_wave *w, const struct emu_op *op, const struct emu_scaled *s,
                        const struct emu_scaled_place *p, unsigned lane)
{
    const unsigned bits = formats[s->from].bits, shift = p->from % 32;
    const uint8_t flags = op->insn->src[p->source].flags;
    const uint32_t sign = UINT32_C(1) << (bits - 1);
    uint64_t x = dword(w, op, p->source, p->from / 32, lane);

    if (shift + bits > 32)
        x |= (uint64_t)dword(w, op, p->source, p->from / 32 + 1, lane) << 32;
    x = x >> shift & (sign | (sign - 1));
    x &= flags & EMU_OPF_ABS ? ~sign : ~UINT32_C(0);
    return (uint32_t)x ^ (flags & EMU_OPF_NEG ? sign : 0);
}

static void put(uint32_t *d, unsigned at, unsigned bits, uint32_t x)
{
    const uint64_t mask = ((UINT64_C(1) << bits) - 1) << at % 32, y = (uint64_t)x << at % 32;

    d[at / 32] = (d[at / 32] & ~(uint32_t)mask) | (uint32_t)y;
    if (at % 32 + bits > 32)
        d[at / 32 + 1] = (d[at / 32 + 1] & ~(uint32_t)(mask >> 32)) | (uint32_t)(y >> 32);
}

static void convert_lane(struct emu_wave *w, const struct emu_op *op, const struct emu_scaled *s,
                         unsigned lane)
{
    const unsigned dwords = op->insn->dst[0].dwords;
    const unsigned scale = dword(w, op, op->insn->nsrc - 1u, 0, lane) >> 23 & 255;
    uint32_t random = s->random ? dword(w, op, 1, 0, lane) : 0, d[32];

    for (unsigned i = 0; i < dwords; i++)
        d[i] = emu_row(w, op->d[0] + i)[lane];
    for (unsigned i = 0; i < s->elements; i++) {
        const struct emu_scaled_place p = emu_scaled_place(s, op->insn, i);
        const uint32_t x = element(w, op, s, &p, lane);

        put(d, p.to, formats[s->to].bits, convert(s, x, scale, s->random ? &random : NULL));
        random = random << 1 ^ (random >> 31 ? 0xc5u : 0); /* as v_prng_b32 */
    }
    for (unsigned i = 0; i < dwords; i++)
        emu_row(w, op->d[0] + i)[lane] = d[i];
}

static void convert_wave(struct emu_wave *w, const struct emu_op *op, const struct emu_scaled *s)
{
    const uint64_t m = emu_exec(w);

    for (unsigned l = 0; l < w->lanes; l++)
        if (m >> l & 1)
            convert_lane(w, op, s, l);
}

/* ---- the table ---- */

#define SCALED(name, to, from, elements, random) {#name, EMU_##to, EMU_##from, elements, random},
static const struct emu_scaled conversions[] = {
#include "sem_scaled.def"
};
#undef SCALED

const struct emu_scaled *emu_scaled_of(const char *sem)
{
    if (strncmp(sem, "v_cvt_scalef32", 14) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++)
        if (strcmp(conversions[i].sem, sem) == 0)
            return &conversions[i];
    return NULL;
}

enum {
#define SCALED(name, to, from, elements, random) AT_##name,
#include "sem_scaled.def"
#undef SCALED
};

#define SCALED(name, to, from, elements, random)                                                   \
    static void name(struct emu_wave *w, const struct emu_op *op)                                  \
    {                                                                                              \
        convert_wave(w, op, &conversions[AT_##name]);                                              \
    }
#include "sem_scaled.def"
#undef SCALED

#define SCALED(name, to, from, elements, random) {#name, {name, name}, 0, EMU_C_VALU},
const struct emu_sem emu_sem_scaled[] = {
#include "sem_scaled.def"
    {NULL, {NULL, NULL}, 0, 0}};
#undef SCALED
