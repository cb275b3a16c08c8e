/*
 * Poison of v_cvt_scalef32_*: an element with any gives all bits of what it is converted to, and
 * so does the scale's exponent, or the random number, to all elements.
 */
#include "scaled_floats.h"
#include "strict.h"

static uint64_t poison_of(const struct emu_wave *w, const struct emu_op *op, unsigned i, unsigned n,
                          unsigned lane)
{
    const uint8_t kind = op->insn->src[i].kind;

    if (kind == EMU_OPK_VGPR)
        return w->vp[(size_t)(op->s[i] + n) * w->lanes + lane];
    return kind == EMU_OPK_SGPR ? w->sp[op->s[i] + n] : 0;
}

static void set_bits(const struct emu_wave *w, const struct emu_op *op, unsigned lane,
                     const struct emu_scaled_place *p, unsigned bits, bool poisoned)
{
    for (unsigned b = p->to; b < p->to + bits; b++) {
        uint32_t *to = &w->vp[(size_t)(op->d[0] + b / 32) * w->lanes + lane];

        *to = poisoned ? *to | 1u << b % 32 : *to & ~(1u << b % 32);
    }
}

void emu_strict_scaled_poison(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_scaled *s = emu_scaled_of(emu_rows[op->insn->row].sem);
    const unsigned from = emu_float_bits(s->from), to = emu_float_bits(s->to);
    const uint64_t exec = emu_exec(w);

    for (unsigned l = 0; l < w->lanes; l++) {
        struct emu_scaled_place at[32];
        uint32_t elements = 0;

        if (!(exec >> l & 1))
            continue;
        if (poison_of(w, op, op->insn->nsrc - 1u, 0, l) & 0x7f800000 ||
            (s->random && poison_of(w, op, 1, 0, l)))
            elements = ~0u;
        for (unsigned i = 0; i < s->elements; i++) {
            uint64_t p;

            at[i] = emu_scaled_place(s, op->insn, i);
            p = poison_of(w, op, at[i].source, at[i].from / 32, l);
            if (at[i].from % 32 + from > 32)
                p |= poison_of(w, op, at[i].source, at[i].from / 32 + 1, l) << 32;
            if (p >> at[i].from % 32 & ((UINT64_C(1) << from) - 1))
                elements |= 1u << i;
        }
        for (unsigned i = 0; i < s->elements; i++)
            set_bits(w, op, l, &at[i], to, elements >> i & 1);
    }
}
