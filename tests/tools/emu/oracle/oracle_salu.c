/*
 * Scalar ALU operations and their table.
 */
#include "oracle_salu.h"

#include <string.h>

#define D x->d
#define D0 x->old
#define SCC x->scc
#define OPEN_SCC x->open_scc
#define EXEC x->exec
#define K x->k
#define I32(v) ((int64_t)(int32_t)(v))
#define SAVE(value)                                                                                \
    D = EXEC;                                                                                      \
    EXEC = (value) & width_mask(x);                                                                \
    SCC = EXEC != 0
#define SIGNED(value)                                                                              \
    int64_t r = (value);                                                                           \
    D = (uint32_t)r;                                                                               \
    SCC = r != (int32_t)r
#define LIKE(vector) like(x, vector)

static uint64_t width_mask(const struct oracle_scalar *x)
{
    return oracle_machines[x->target].lanes == 64 ? ~UINT64_C(0) : 0xffffffff;
}

/* Groups of four bits: is any set? One bit for each, or four. */
static uint64_t quads(uint64_t v, unsigned bits, int whole)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < bits; i += 4)
        if (v >> i & 15)
            r |= whole ? UINT64_C(15) << i : UINT64_C(1) << i / 4;
    return r;
}

static uint64_t reversed(uint64_t v, unsigned bits)
{
    uint64_t r = 0;

    for (unsigned i = 0; i < bits; i++)
        if (v >> i & 1)
            r |= UINT64_C(1) << (bits - 1 - i);
    return r;
}

static uint64_t popcount(uint64_t v)
{
    uint64_t n = 0;

    for (; v; v >>= 1)
        n += v & 1;
    return n;
}

static uint64_t find(uint64_t v, unsigned bits, unsigned want, int from_top)
{
    for (unsigned i = 0; i < bits; i++)
        if ((v >> (from_top ? bits - 1 - i : i) & 1) == want)
            return i;
    return 0xffffffff;
}

static uint64_t doubled(uint64_t v)
{
    uint64_t r = 0;

    for (int i = 0; i < 32; i++)
        if (v >> i & 1)
            r |= UINT64_C(3) << 2 * i;
    return r;
}

/* Bit field: offset in S1[5:0] (S1[4:0] for 32 bits), width in S1[22:16]. */
static uint64_t field(uint64_t v, unsigned bits, uint64_t s1, int is_signed)
{
    unsigned from = (unsigned)s1 & (bits - 1), width = (unsigned)(s1 >> 16) & 127;
    uint64_t all = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    int64_t wide = bits == 64 ? (int64_t)v : (int64_t)(int32_t)v;

    if (!width)
        return 0;
    if (is_signed) {
        wide >>= from;
        if (width < 64)
            wide = (int64_t)((uint64_t)wide << (64 - width)) >> (64 - width);
        return (uint64_t)wide & all;
    }
    v >>= from;
    return width >= bits ? v : v & ((UINT64_C(1) << width) - 1);
}

static const struct oracle_op *named(const char *sem, const struct oracle_op *ops, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(ops[i].sem, sem))
            return &ops[i];
    return NULL;
}

static void like(struct oracle_scalar *x, const char *vector)
{
    const struct oracle_op *op = named(vector, oracle_valu, oracle_valu_count);
    struct oracle_lane l = {.target = x->target,
                            .gfx11 = true,
                            .mode = x->mode,
                            .s = {x->s[0], x->s[1]},
                            .old = x->old};
    unsigned bits;

    if (!op)
        op = named(vector, oracle_compares, oracle_compare_count);
    bits = oracle_bits(strchr(op->sig, ':')[1]);
    if (bits < 32)
        for (int i = 0; i < 2; i++)
            l.s[i] &= (UINT64_C(1) << bits) - 1;
    if (oracle_bits(op->sig[0]) == 16)
        l.old &= 0xffff;
    op->lane(&l);
    x->alt = l.alt;
    x->has_alt = l.has_alt;
    x->nan_open = op->flags & F_NAN || l.any_nan;
    if (op->sig[0] == 'm')
        x->scc = l.carry;
    else
        x->d = l.d;
}

#define S0 x->s[0]
#define S1 x->s[1]
#define ROW_NAME2(line) row_##line
#define ROW_NAME(line) ROW_NAME2(line)
#define SOP(form, n9, n11, sig, targets, body)                                                     \
    static void ROW_NAME(__LINE__)(struct oracle_scalar * x)                                       \
    {                                                                                              \
        body;                                                                                      \
    }
#include "oracle_salu.def"
#undef SOP
#undef S1

#define SOP(form, n9, n11, sig, targets, body) {form, {n9, n11}, sig, targets, ROW_NAME(__LINE__)},
const struct oracle_sop oracle_sops[] = {
#include "oracle_salu.def"
};
const unsigned oracle_sop_count = sizeof oracle_sops / sizeof *oracle_sops;
