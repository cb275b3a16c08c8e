/* Strict mode: what stands at the gate of an op, brought up to date. */
#include "strict.h"

void emu_strict_refresh(struct emu_wave *w, const struct emu_strict_gate *gate)
{
    struct emu_strict_wave *s = w->strict;

    for (unsigned half = 0; half < 2; half++)
        for (uint64_t rest = gate->scalars[half]; rest; rest &= rest - 1) {
            unsigned r = 64 * half + (unsigned)__builtin_ctzll(rest);
            uint64_t bit = rest & -rest;
            bool busy = r == EMU_S_NULL ? w->scc_poison : w->sp[r] || s->spending[half] & bit;

            s->busy_scalars[half] =
                busy ? s->busy_scalars[half] | bit : s->busy_scalars[half] & ~bit;
        }
}
