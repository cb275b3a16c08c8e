/* Poison of what scalar instructions compute: a bit has it if bits that have it decide it. */
#include "strict.h"

/*
 * Which of the bits of S0 count, by those of S1 (a known 0 decides an AND, a known 1 an OR), and
 * the other way round. By the same rule EXEC decides in saveexec, as S1.
 */
static uint32_t first_counts(unsigned rule, uint32_t second)
{
    switch (rule) {
    case EMU_SR_AND:
    case EMU_SR_ORN2:
        return second;
    case EMU_SR_ANDN2:
    case EMU_SR_OR:
        return ~second;
    default:
        return ~0u;
    }
}

static uint32_t second_counts(unsigned rule, uint32_t first)
{
    bool of_and = rule == EMU_SR_AND || rule == EMU_SR_ANDN2;
    bool of_or = rule == EMU_SR_OR || rule == EMU_SR_ORN2;

    return of_and ? first : of_or ? ~first : ~0u;
}

/*
 * s_bfe: all of the result, when a bit of the field is poison. A compiler takes a field out of the
 * low half of a pair whose high half it never wrote.
 */
static uint32_t field_poison(const struct emu_wave *w, const struct emu_strict_op *so,
                             const struct emu_op *op)
{
    const bool wide = so->swrite[0].n == 2;
    const uint32_t s1 = w->s[op->s[1]];
    const unsigned width = s1 >> 16 & 127, at = s1 & (wide ? 63 : 31);
    uint64_t p = w->sp[op->s[0]] | (wide ? (uint64_t)w->sp[op->s[0] + 1] << 32 : 0);

    p = p >> at & (width > 63 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1);
    return w->sp[op->s[1]] || p ? ~0u : 0;
}

uint32_t emu_strict_scalar_poison(const struct emu_wave *w, const struct emu_strict_op *so,
                                  const struct emu_op *op, unsigned i, bool any)
{
    uint32_t p = w->sp[op->s[0] + i], q;

    if (so->rule == EMU_SR_MOVE)
        return p;
    if (so->rule == EMU_SR_ANY || op->s[1] == EMU_NO_ROW)
        return any ? ~0u : 0;
    if (so->rule == EMU_SR_FIELD)
        return field_poison(w, so, op);
    q = w->sp[op->s[1] + i];
    if (so->rule == EMU_SR_SELECT)
        return w->scc_poison ? ~0u : w->scc ? p : q;
    return (p & q) | (p & first_counts(so->rule, w->s[op->s[1] + i])) |
           (q & second_counts(so->rule, w->s[op->s[0] + i]));
}

uint64_t emu_strict_saveexec_poison(const struct emu_wave *w, const struct emu_strict_op *so,
                                    const struct emu_op *op)
{
    uint64_t p = w->sp[op->s[0]] & first_counts(so->rule, w->s[EMU_S_EXEC]);

    if (so->swrite[0].n == 2)
        p |= (uint64_t)(w->sp[op->s[0] + 1] & first_counts(so->rule, w->s[EMU_S_EXEC + 1])) << 32;
    return p;
}
