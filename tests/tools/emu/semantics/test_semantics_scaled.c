/*
 * gfx950's v_cvt_scalef32_*: what CDNA 4's manual writes of them, with rounding looked up in the
 * list of all numbers that a small format has.
 *
 * Elements are in v0 and v1, random bits in v2, the scale in v3, s24 or a constant, the result in
 * v8 and v9. Of 32 elements: in v40 to v71, which are made of v0 to v15; random bits in v16, the
 * scale in v17, the result in v72 to v103, of which v0 to v15 get one half.
 */
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "test_semantics.h"

static const char *const names[] = {
    "pk_fp8_f32",       "pk_bf8_f32",      "sr_fp8_f32",       "sr_bf8_f32",    "pk_f32_fp8",
    "pk_f32_bf8",       "f32_fp8",         "f32_bf8",          "pk_fp4_f32",    "sr_pk_fp4_f32",
    "pk_f32_fp4",       "pk_fp8_f16",      "pk_bf8_f16",       "sr_fp8_f16",    "sr_bf8_f16",
    "pk_fp8_bf16",      "pk_bf8_bf16",     "sr_fp8_bf16",      "sr_bf8_bf16",   "pk_f16_fp8",
    "pk_f16_bf8",       "f16_fp8",         "f16_bf8",          "pk_fp4_f16",    "pk_fp4_bf16",
    "sr_pk_fp4_f16",    "sr_pk_fp4_bf16",  "pk_f16_fp4",       "pk_bf16_fp4",   "2xpk16_fp6_f32",
    "2xpk16_bf6_f32",   "sr_pk32_fp6_f32", "sr_pk32_bf6_f32",  "pk32_f32_fp6",  "pk32_f32_bf6",
    "pk32_fp6_f16",     "pk32_fp6_bf16",   "pk32_bf6_f16",     "pk32_bf6_bf16", "sr_pk32_fp6_f16",
    "sr_pk32_fp6_bf16", "sr_pk32_bf6_f16", "sr_pk32_bf6_bf16", "pk32_f16_fp6",  "pk32_bf16_fp6",
    "pk32_f16_bf6",     "pk32_bf16_bf6",   "pk_bf16_fp8",      "pk_bf16_bf8",
};

struct kind {
    const char *name;
    const struct sf_format *f;
    unsigned bits;
    char values;              /* operand type that fills a register with them */
    unsigned largest, beyond; /* codes, of small ones */
};

static const struct kind kinds[] = {
    {"f32", &sf_f32, 32, 'f', 0, 0},          {"f16", &sf_f16, 16, 'Y', 0, 0},
    {"bf16", &sf_bf16, 16, 'E', 0, 0},        {"fp8", &sf_fp8_ocp, 8, 'b', 0x7e, 0x7f},
    {"bf8", &sf_bf8_ocp, 8, 'b', 0x7b, 0x7c}, {"fp6", &sf_fp6, 6, 'b', 0x1f, 0x1f},
    {"bf6", &sf_bf6, 6, 'b', 0x1f, 0x1f},     {"fp4", &sf_fp4, 4, 'b', 7, 7},
};

enum scale { SCALE_V, SCALE_S, SCALE_ONE, SCALE_FOUR, SCALE_THREE, SCALES };

struct row {
    const char *name;
    const struct kind *to, *from;
    unsigned elements;
    bool random, two;     /* 2xpk16: two sources in turns, as pk of f32 is */
    unsigned opsel, half; /* as encoded; which half of a long result is looked at */
    enum scale scale;
    unsigned neg, abs; /* by source */
};

/* ---- one number */

/* The number of a code one beyond the largest continues the list. */
static struct sf listed(const struct kind *k, unsigned code)
{
    struct sf most = sf_unpack(k->f, k->largest);

    if (code <= k->largest)
        return sf_unpack(k->f, code);
    return sf_add(most, sf_add(most, sf_neg(sf_unpack(k->f, k->largest - 1)), SF_NEAREST),
                  SF_NEAREST);
}

/* The code whose number is the next at or below a; the largest one's at most. */
static unsigned below(const struct kind *k, struct sf a)
{
    unsigned code = 0;

    while (code < k->largest && sf_compare(listed(k, code + 1), a) <= 0)
        code++;
    return code;
}

static const struct sf_env keep = {SF_NEAREST, true, true};

static uint32_t to_small(const struct row *r, struct sf x, uint32_t random)
{
    const struct kind *k = r->to;
    const unsigned sign = (unsigned)x.sign << (k->bits - 1);
    const unsigned places = r->from->f->frac_bits - k->f->frac_bits;
    const struct sf a = sf_abs(x);
    unsigned code;
    struct sf gap, up;
    int order;

    if (x.cls == SF_IS_NAN)
        return k->bits == 8 ? 0x7f : sign | k->largest;
    if (x.cls == SF_IS_ZERO)
        return sign;
    if (x.cls == SF_IS_INF)
        return sign | k->beyond;
    code = below(k, a);
    gap = sf_add(listed(k, code + 1), sf_neg(listed(k, code)), SF_NEAREST);
    gap = sf_unpack(&sf_f32, sf_pack(&sf_f32, gap, &keep)); /* in few bits, to multiply it */
    if (r->random) {
        up = sf_mul(gap, sf_scale(sf_from_uint(random >> (32 - places)), -(int)places));
        code += sf_compare(sf_add(a, up, SF_ZERO), listed(k, code + 1)) >= 0;
    } else {
        order = sf_compare(a, sf_add(listed(k, code), sf_scale(gap, -1), SF_NEAREST));
        code += order > 0 || (order == 0 && code & 1);
    }
    return sign | (code > k->largest ? k->beyond : code);
}

static uint32_t convert(const struct row *r, uint32_t code, uint32_t scale, uint32_t random,
                        uint32_t *mask)
{
    const int e = (int)(scale >> 23 & 255) - 127;
    const unsigned bits = r->to->bits;
    struct sf x = sf_unpack(r->from->f, code);

    *mask = (uint32_t)((UINT64_C(1) << bits) - 1);
    if (e == 128) {
        x.cls = SF_IS_NAN;
        x.payload = UINT64_C(1) << 51;
    }
    if (x.cls == SF_IS_FINITE)
        x = sf_scale(x, bits > r->from->bits ? e : -e);
    if (x.cls == SF_IS_NAN && bits >= 8) /* that it is a quiet one */
        *mask = bits == 8 ? 0x7e
                          : (uint32_t)(((UINT64_C(2) << r->to->f->exp_bits) - 1)
                                       << (r->to->f->frac_bits - 1));
    return bits < 16 ? to_small(r, x, random) : (uint32_t)sf_pack(r->to->f, x, &keep);
}

/* ---- one lane */

static uint32_t take(const uint32_t *words, unsigned at, unsigned bits)
{
    uint32_t x = 0;

    for (unsigned b = 0; b < bits; b++)
        x |= (words[(at + b) / 32] >> (at + b) % 32 & 1) << b;
    return x;
}

static void give(uint32_t *words, unsigned at, unsigned bits, uint32_t x)
{
    for (unsigned b = 0; b < bits; b++) {
        words[(at + b) / 32] &= ~(1u << (at + b) % 32);
        words[(at + b) / 32] |= (x >> b & 1) << (at + b) % 32;
    }
}

/* OPSEL's byte or half; fields of one source lie side by side. */
static unsigned from_bit(const struct row *r)
{
    if (r->elements == 32 || r->from->bits == 32)
        return 0;
    if (r->from->bits == 8 && r->elements == 2)
        return r->opsel & 1 ? 16 : 0;
    if (r->from->bits < 16)
        return 8 * (r->opsel & 3);
    return r->elements == 1 && r->opsel & 1 ? 16 : 0;
}

static unsigned to_bit(const struct row *r)
{
    const unsigned all = r->elements * r->to->bits;

    return all == 8 ? 8 * (r->opsel >> 2) : all == 16 && r->opsel & 8 ? 16 : 0;
}

/* a, b: the first source and the second; d, mask: the result, and which of its bits count. */
static void run_lane(const struct row *r, const uint32_t *a, const uint32_t *b, uint32_t random,
                     uint32_t scale, uint32_t *d, uint32_t *mask)
{
    const unsigned n = r->from->bits;

    for (unsigned i = 0; i < r->elements; i++) {
        const unsigned source = r->two ? i % 2 : 0, at = (r->two ? i / 2 : i) * n;
        uint32_t x = take(source ? b : a, at + from_bit(r), n), counts;

        if (r->abs >> source & 1)
            x &= ~(1u << (n - 1));
        if (r->neg >> source & 1)
            x ^= 1u << (n - 1);
        x = convert(r, x, scale, random, &counts);
        give(d, to_bit(r) + i * r->to->bits, r->to->bits, x);
        give(mask, to_bit(r) + i * r->to->bits, r->to->bits, counts);
        random = (random << 1) ^ (random & 0x80000000 ? 197 : 0);
    }
}

static uint32_t scale_of(const struct row *r, const struct oracle_wave *w, unsigned reg, unsigned l)
{
    switch (r->scale) {
    case SCALE_S:
        return w->s[24];
    case SCALE_ONE:
        return 0x3f800000;
    case SCALE_FOUR:
        return 0x40800000;
    case SCALE_THREE: /* an integer: no exponent but 0 */
        return 3;
    default:
        return w->v[reg][l];
    }
}

static void run_few(const struct row *r, const struct oracle_wave *b, struct oracle_wave *after)
{
    for (unsigned l = 0; l < 64; l++) {
        uint32_t x[2] = {b->v[0][l], b->v[1][l]}, d[2] = {b->v[8][l], b->v[9][l]};
        uint32_t mask[2] = {~0u, ~0u};

        if (!(b->exec >> l & 1))
            continue;
        run_lane(r, x, &b->v[2][l], b->v[2][l], scale_of(r, b, 3, l), d, mask);
        for (unsigned i = 0; i < 2; i++) {
            after->v[8 + i][l] = after->v_alt[8 + i][l] = d[i];
            after->v_mask[8 + i][l] = mask[i];
        }
    }
}

enum { SHUFFLE = 0x80040001, ROOM = 16 };

static void run_many(const struct row *r, const struct oracle_wave *b, struct oracle_wave *after)
{
    for (unsigned l = 0; l < 64; l++) {
        uint32_t x[2 * ROOM], d[2 * ROOM], mask[2 * ROOM];

        for (unsigned i = 0; i < 2 * ROOM; i++) {
            x[i] = b->v[i % ROOM][l] ^ (i < ROOM ? 0 : SHUFFLE);
            d[i] = b->v[i % ROOM][l];
            mask[i] = ~0u;
        }
        if (b->exec >> l & 1)
            run_lane(r, x, x + ROOM, b->v[16][l], scale_of(r, b, 17, l), d, mask);
        for (unsigned i = 0; i < ROOM; i++) {
            after->v[i][l] = after->v_alt[i][l] = d[r->half * ROOM + i];
            after->v_mask[i][l] = mask[r->half * ROOM + i];
        }
    }
}

static void run(const struct sem_case *c, const struct oracle_wave *before,
                struct oracle_wave *after, struct sem_memory *m)
{
    const struct row *r = c->row;

    (void)m;
    *after = *before;
    oracle_wave_strict(after);
    if (r->elements == 32)
        run_many(r, before, after);
    else
        run_few(r, before, after);
}

/* ---- states and text */

/* Exponents for which results are numbers, often enough, and any. */
static uint32_t some_scale(const struct row *r)
{
    const uint64_t x = sem_random();
    const unsigned reach = r->to->f == &sf_f16 ? 24 : r->to->f->exp_bits == 8 ? 150 : 8;
    unsigned e = 127 + (unsigned)(x >> 8) % (2 * reach + 1) - reach;

    if (x % 16 == 0)
        e = (unsigned)(x >> 20);
    if (x % 16 == 1)
        e = x & 256 ? 0 : 255;
    return (e & 255) << 23 | ((uint32_t)(x >> 32) & 0x807fffff);
}

static void prepare(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    const struct row *r = c->row;

    (void)m;
    for (unsigned l = 0; l < 64; l++)
        w->v[r->elements == 32 ? 17 : 3][l] = some_scale(r);
    w->s[24] = some_scale(r);
}

static const char *scale_text(const struct row *r, const char *reg)
{
    const char *const text[SCALES] = {reg, "s24", "1.0", "4.0", "3"};

    return text[r->scale];
}

static const char *signs(const struct row *r, unsigned i, const char *reg)
{
    static char text[4][16];
    static unsigned turn;
    char *p = text[turn++ % 4];
    const bool abs = r->abs >> i & 1;

    snprintf(p, sizeof *text, "%s%s%s%s", r->neg >> i & 1 ? "-" : "", abs ? "|" : "", reg,
             abs ? "|" : "");
    return p;
}

/* OPSEL is written a bit a source, and one for the result; of two sources fp4 takes four. */
static void write_few(struct sem_case *c, const struct row *r)
{
    const unsigned sources = r->two || r->random ? 3 : 2;
    const bool wide = r->elements * r->from->bits == 64 && !r->two;
    char sel[40] = "";

    if (r->opsel && (sources == 3 || r->elements * r->to->bits == 8))
        snprintf(sel, sizeof sel, " op_sel:[%u,%u,%u,%u]", r->opsel & 1, r->opsel >> 1 & 1,
                 r->opsel >> 2 & 1, r->opsel >> 3);
    else if (r->opsel)
        snprintf(sel, sizeof sel, " op_sel:[%u,%u,%u]", r->opsel & 1, r->opsel >> 1 & 1,
                 r->opsel >> 3);
    snprintf(c->text, sizeof c->text, "v_cvt_scalef32_%s %s, %s, %s%s%s%s", r->name,
             r->elements * r->to->bits == 64 ? "v[8:9]" : "v8", signs(r, 0, wide ? "v[0:1]" : "v0"),
             sources == 3 ? signs(r, 1, "v2") : "", sources == 3 ? ", " : "", scale_text(r, "v3"),
             sel);
}

static void write_many(struct sem_case *c, const struct row *r)
{
    const unsigned from = r->two ? 16 : r->from->bits, to = r->to->bits;
    char *p;
    size_t room = 4096;

    snprintf(c->text, sizeof c->text, "v_cvt_scalef32_%s v[72:%u], v[40:%u]%s%s, %s", r->name,
             71 + to, 39 + from, r->two ? ", v[56:71]" : "", r->random ? ", v16" : "",
             scale_text(r, "v17"));
    p = c->long_text = malloc(room);
    if (!p)
        abort();
    p += sprintf(p, "s_mov_b64 s[84:85], exec\n s_mov_b64 exec, -1\n");
    for (unsigned i = 0; i < ROOM; i++)
        p += sprintf(p,
                     " v_mov_b32 v%u, v%u\n v_xor_b32 v%u, %#x, v%u\n"
                     " v_mov_b32 v%u, v%u\n v_mov_b32 v%u, v%u\n",
                     40 + i, i, 56 + i, (unsigned)SHUFFLE, i, 72 + i, i, 88 + i, i);
    p += sprintf(p, " s_mov_b64 exec, s[84:85]\n %s\n s_mov_b64 exec, -1\n", c->text);
    for (unsigned i = 0; i < ROOM; i++)
        p += sprintf(p, " v_mov_b32 v%u, v%u\n", i, 72 + r->half * ROOM + i);
    sprintf(p, " s_mov_b64 exec, s[84:85]");
}

static void add(struct sem_list *l, const struct row *r)
{
    struct sem_case *c = sem_add(l);
    struct row *own = malloc(sizeof *own);

    if (!own)
        abort();
    *own = *r;
    c->group = r->name;
    c->row = c->own_row = own;
    c->run = run;
    c->prepare = prepare;
    c->fresh = true;
    for (unsigned i = 0; i < (r->elements == 32 ? ROOM : r->two ? 3 : 2); i++)
        c->vtype[i] = r->from->values;
    c->matrix = r->elements == 32; /* more registers */
    if (r->elements == 32)
        write_many(c, r);
    else
        write_few(c, r);
}

/* ---- forms */

static void parse(struct row *r, const char *name)
{
    const char *from = strrchr(name, '_') + 1;
    const char *to = from - 1;

    while (to > name && to[-1] != '_')
        to--;
    memset(r, 0, sizeof *r);
    r->name = name;
    r->elements = strstr(name, "pk32") || strstr(name, "2xpk16") ? 32 : strstr(name, "pk_") ? 2 : 1;
    r->random = !strncmp(name, "sr_", 3);
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!strcmp(kinds[i].name, from))
            r->from = &kinds[i];
        if (!strncmp(kinds[i].name, to, (size_t)(from - to - 1)) &&
            strlen(kinds[i].name) == (size_t)(from - to - 1))
            r->to = &kinds[i];
    }
    r->two = r->from->bits == 32 && r->elements > 1 && !r->random;
}

/* The bits of OPSEL that mean something, for all that they can say. */
static unsigned opsel_bits(const struct row *r)
{
    const unsigned all = r->elements * r->to->bits;
    unsigned bits = r->from->bits < 16 ? (r->from->bits == 8 && r->elements == 2 ? 1 : 3) : 0;

    bits |= r->from->bits == 16 && r->elements == 1 ? 1 : 0;
    return bits | (all == 8 ? 12 : all == 16 ? 8 : 0);
}

static void add_few(struct sem_list *l, struct row *r)
{
    const unsigned bits = opsel_bits(r);

    for (unsigned sel = 0; sel < 16; sel++)
        if (!(sel & ~bits)) {
            r->opsel = sel;
            r->scale = SCALE_V;
            add(l, r);
            r->scale = (enum scale)(1 + sel % (SCALES - 1));
            add(l, r);
        }
    r->opsel = 0;
    for (unsigned s = SCALE_V; s < SCALES; s++) {
        r->scale = (enum scale)s;
        add(l, r);
    }
    r->scale = SCALE_V;
    for (unsigned m = 1; r->from->bits >= 16 && m < 4; m++) {
        r->neg = m & 1 ? 1 | (r->two ? 2 : 0) : 0;
        r->abs = m & 2 ? 1 : 0;
        add(l, r);
    }
}

int main(void)
{
    struct sem_list l = {0};

    sem_begin("conversions with a scale");
    if (!sem_knows(T_GFX950))
        tap_skip_all("nothing assembles for gfx950");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct row r;

        parse(&r, names[i]);
        if (r.elements < 32) {
            add_few(&l, &r);
            continue;
        }
        for (r.half = 0; r.half < (r.to->bits == 32 ? 2 : 1); r.half++)
            for (unsigned s = SCALE_V; s < SCALES; s++) {
                r.scale = (enum scale)s;
                add(&l, &r);
            }
    }
    sem_run(T_GFX950, &l);
    sem_free(&l);
    return sem_done();
}
