/*
 * Strict mode: poison through matrix instructions. The handler itself runs on ones in place of
 * poisoned elements, so that its own layout says which results they reach.
 */
#include <string.h>

#include "strict.h"

enum { MOST_ROWS = 32 };

/* One, in each element of a dword of the operand's element type. */
static uint32_t ones(const char *name, unsigned operand)
{
    bool fp8 = strstr(name, "fp8") || strstr(name, "bf8");

    (void)operand;
    if (fp8)
        return 0x40404040;
    if (strstr(name, "bf16"))
        return 0x3f803f80;
    if (strstr(name, "iu4"))
        return 0x11111111;
    if (strstr(name, "i8") || strstr(name, "iu8"))
        return 0x01010101;
    if (strstr(name, "f64"))
        return 0x3ff00000; /* of the high dword; the low one is 0 */
    return strstr(name, "f16") ? 0x3c003c00 : 0x3f800000;
}

static unsigned element_bits(const char *name)
{
    if (strstr(name, "fp8") || strstr(name, "bf8") || strstr(name, "i8") || strstr(name, "iu8"))
        return 8;
    if (strstr(name, "iu4"))
        return 4;
    return strstr(name, "f16") ? 16 : 32;
}

/* Ones where the poison is; each element whole. */
static uint32_t indicator(uint32_t poison, uint32_t one, unsigned bits)
{
    uint32_t r = 0;

    for (unsigned at = 0; at < 32; at += bits) {
        uint32_t field = bits == 32 ? ~0u : ((1u << bits) - 1) << at;

        r |= poison & field ? one & field : 0;
    }
    return r;
}

/*
 * The same for v_mfma_*_f8f6f4, of which a lane has 32 elements in as many registers as each has
 * bits, of one row or column: by the lane. The smallest number stands for one.
 */
static void fill_narrow(struct emu_wave *w, const struct emu_range *r, const uint32_t *poison,
                        bool everywhere)
{
    for (unsigned l = 0; l < w->lanes; l++) {
        uint32_t any = everywhere;

        for (unsigned i = 0; i < r->n; i++)
            any |= poison[i * w->lanes + l];
        for (unsigned i = 0; i < r->n; i++) {
            uint32_t word = 0;

            for (unsigned bit = 0; any && bit < 32; bit++)
                word |= (uint32_t)((32 * i + bit) % r->n == 0) << bit;
            emu_row(w, r->first + i)[l] = word;
        }
    }
}

/* Fills a source's rows with the indicator of its poison, or with ones everywhere. */
static void fill(struct emu_wave *w, const struct emu_range *r, const uint32_t *poison,
                 const char *name, unsigned operand, bool everywhere)
{
    uint32_t one = ones(name, operand);
    unsigned bits = element_bits(name);
    bool f64 = strstr(name, "f64") != NULL;

    if (strstr(name, "f8f6f4")) {
        fill_narrow(w, r, poison, everywhere);
        return;
    }
    for (unsigned i = 0; i < r->n; i++)
        for (unsigned l = 0; l < w->lanes; l++) {
            uint32_t p = poison[i * w->lanes + l];

            if (f64) /* an element is two dwords: either one's poison marks it */
                p = i % 2 ? p | poison[(i - 1) * w->lanes + l] : 0;
            emu_row(w, r->first + i)[l] = f64 && i % 2 == 0 ? 0
                                          : everywhere      ? one
                                                            : indicator(p, one, bits);
        }
}

static bool dirty(const struct emu_wave *w, const struct emu_range *r)
{
    return emu_range_bits(w->vp_dirty, r) != 0;
}

static uint64_t poison_lanes(const struct emu_wave *w, const struct emu_range *r, uint32_t bits)
{
    uint64_t lanes = 0;

    for (unsigned i = 0; i < r->n; i++)
        for (unsigned l = 0; l < w->lanes; l++)
            lanes |= (uint64_t)((w->vp[(size_t)(r->first + i) * w->lanes + l] & bits) != 0) << l;
    return lanes;
}

/* Those of the index register that count: of gfx12 the part that OP_SEL chooses. */
static uint32_t index_bits(const struct emu_wave *w, const struct emu_insn *insn, const char *name)
{
    const bool four = strstr(name, "iu4") != NULL, deep = strstr(name, "x64_iu4") != NULL;
    const unsigned n = (deep ? 32 : 16) / (w->lanes == 64 && (deep || !four) ? 2 : 1);

    if (insn->family < EMU_GFX12 || n == 32)
        return ~0u;
    return ((1u << n) - 1) << insn->op_sel * n;
}

/* Values and poison of all operands, kept while the registers are used for the indicator run. */
struct saved {
    uint32_t value[4][MOST_ROWS * 64], poison[3][MOST_ROWS * 64];
};

static struct emu_range range_of(const struct emu_op *op, unsigned i)
{
    const struct emu_operand *o = i == 3 ? &op->insn->dst[0] : &op->insn->src[i];
    bool row = o->kind == EMU_OPK_VGPR || o->kind == EMU_OPK_AGPR;

    return (struct emu_range){i == 3 ? op->d[0] : op->s[i], row ? o->dwords : 0};
}

static void copy_rows(struct emu_wave *w, uint32_t *file, const struct emu_range *r, uint32_t *buf,
                      bool back)
{
    for (unsigned i = 0; i < r->n; i++) {
        uint32_t *row = file + (size_t)(r->first + i) * w->lanes;

        if (back)
            memcpy(row, buf + i * w->lanes, 4 * w->lanes);
        else
            memcpy(buf + i * w->lanes, row, 4 * w->lanes);
    }
}

/* Of v_mfma_scale_*, the byte of each scale that counts. */
static void check_scales(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_insn *insn = op->insn;

    for (unsigned i = 3; insn->size == 16 && i < insn->nsrc; i++) {
        const unsigned side = i - 3;
        const unsigned byte = (insn->op_sel >> side & 1) | (unsigned)(insn->op_sel_hi >> side & 1)
                                                               << 1;
        uint64_t lanes = 0;

        for (unsigned l = 0; l < w->lanes; l++)
            lanes |= (uint64_t)((w->vp[(size_t)op->s[i] * w->lanes + l] >> 8 * byte & 0xff) != 0)
                     << l;
        if (lanes)
            emu_fault(w, lanes, "the scale of a matrix product was never computed");
    }
}

/* C: the indicator of its own poison, or zero; SMFMAC's third source is an index and keeps its
 * value. */
static void fill_c(struct emu_wave *w, const struct emu_range *c)
{
    for (unsigned i = 0; i < c->n; i++)
        memset(emu_row(w, c->first + i), 0, 4 * w->lanes);
}

static void mark(struct emu_wave *w, const struct emu_range *d)
{
    for (unsigned i = 0; i < d->n; i++)
        for (unsigned l = 0; l < w->lanes; l++)
            if (emu_row(w, d->first + i)[l])
                emu_set_poison(w, d->first + i, l, ~0u);
}

/* D starts with the poison of C, element by element. */
static void start_with_c(struct emu_wave *w, const struct emu_range *d, const struct emu_range *c,
                         const uint32_t *poison)
{
    for (unsigned i = 0; i < d->n; i++) {
        memset(w->vp + (size_t)(d->first + i) * w->lanes, 0, 4 * w->lanes);
        w->vp_dirty[(d->first + i) >> 6] &= ~(UINT64_C(1) << ((d->first + i) & 63));
        for (unsigned l = 0; i < c->n && l < w->lanes; l++)
            if (poison[i * w->lanes + l])
                emu_set_poison(w, d->first + i, l, ~0u);
    }
}

void emu_strict_matrix_poison(struct emu_wave *w, const struct emu_strict_op *so,
                              const struct emu_op *op)
{
    static _Thread_local struct saved keep; /* too big for a stack */
    const char *name = emu_rows[op->insn->row].name;
    struct emu_range r[4] = {range_of(op, 0), range_of(op, 1), range_of(op, 2), range_of(op, 3)};
    bool in[3] = {dirty(w, &r[0]), dirty(w, &r[1]), dirty(w, &r[2])};
    struct emu_strict_wave *strict = w->strict;
    struct emu_counters *counters = w->group->counters;
    struct emu_insn unscaled = *op->insn; /* a scale might make the indicator nothing */
    struct emu_op plain = *op;
    uint64_t lanes;
    bool sparse;

    (void)so;
    check_scales(w, op);
    unscaled.nsrc = op->insn->size == 16 ? 3 : unscaled.nsrc;
    plain.insn = &unscaled;
    if (!in[0] && !in[1] && !in[2] && !dirty(w, &r[3]))
        return;
    sparse = strncmp(name, "v_smfmac", 8) == 0 || strncmp(name, "v_swmmac", 8) == 0;
    lanes = sparse && in[2] ? poison_lanes(w, &r[2], index_bits(w, op->insn, name)) : 0;
    if (lanes)
        emu_fault(w, lanes, "the index of a sparse product was never computed");
    for (unsigned i = 0; i < 4; i++)
        copy_rows(w, w->v, &r[i], keep.value[i], false);
    for (unsigned i = 0; i < 3; i++)
        copy_rows(w, w->vp, &r[i], keep.poison[i], false);
    if (!sparse)
        start_with_c(w, &r[3], &r[2], keep.poison[2]);
    w->strict = NULL;
    w->group->counters = NULL;
    for (unsigned side = 0; side < 2; side++) {
        if (!in[side])
            continue;
        fill(w, &r[0], keep.poison[0], name, 0, side != 0);
        fill(w, &r[1], keep.poison[1], name, 1, side != 1);
        fill_c(w, sparse ? &r[3] : &r[2]);
        op->fn(w, &plain);
        mark(w, &r[3]);
    }
    w->strict = strict;
    w->group->counters = counters;
    for (unsigned i = 4; i-- > 0;)
        copy_rows(w, w->v, &r[i], keep.value[i], true);
}
