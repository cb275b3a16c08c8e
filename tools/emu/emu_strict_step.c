/*
 * Strict mode, the way of every op: most touch nothing that is pending or poison, and then there is
 * nothing to check but memory. Eight rows share a bit of that knowledge; a scalar register has its
 * own.
 */
#include <string.h>

#include "emu_strict.h"

static uint64_t byte_of(const uint64_t *bits, unsigned i)
{
    return bits[i / 8] >> i % 8 * 8 & 0xff;
}

void emu_strict_refresh(struct emu_wave *w, const struct emu_strict_gate *gate)
{
    struct emu_strict_wave *s = w->strict;

    for (uint64_t rest = gate->rows; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        uint64_t busy = byte_of(s->vpend, i);

        if (8 * i < emu_program_of(w)->rows)
            busy |= byte_of(w->vp_dirty, i);
        s->busy_rows = busy ? s->busy_rows | UINT64_C(1) << i : s->busy_rows & ~(UINT64_C(1) << i);
    }
    for (unsigned half = 0; half < 2; half++)
        for (uint64_t rest = gate->scalars[half]; rest; rest &= rest - 1) {
            unsigned r = 64 * half + (unsigned)__builtin_ctzll(rest);
            uint64_t bit = rest & -rest;
            bool busy = r == EMU_S_NULL ? w->scc_poison : w->sp[r] || s->spending[half] & bit;

            s->busy_scalars[half] =
                busy ? s->busy_scalars[half] | bit : s->busy_scalars[half] & ~bit;
        }
}

void emu_strict_step(struct emu_wave *w, const struct emu_op *op, emu_fn *run)
{
    const struct emu_strict_program *p = emu_program_of(w)->strict;
    size_t i = (size_t)(op - emu_program_of(w)->ops);
    const struct emu_strict_gate *gate = &p->gates[i];
    struct emu_strict_wave *s = w->strict;
    uint64_t busy = (gate->rows & s->busy_rows) | (gate->scalars[0] & s->busy_scalars[0]) |
                    (gate->scalars[1] & s->busy_scalars[1]);

    if (!op->insn || emu_skipped(w, op)) {
        run(w, op);
        return;
    }
    if (busy || gate->always) {
        emu_strict_look(w, &p->ops[i], op, run);
        emu_strict_refresh(w, gate);
    } else {
        if (gate->kind == EMU_K_MEMORY)
            emu_strict_issue(w, &p->ops[i], op);
        if (w->attention)
            run(w, op);
        else
            op->fn(w, op);
        if (gate->kind == EMU_K_MEMORY) {
            if (w->group->strict->rewrites)
                emu_strict_rewritten(w);
            if (!gate->counts)
                emu_strict_refresh(w, gate);
        }
    }
    if (gate->waits)
        emu_strict_wait(w, gate->waits, op);
    if (w->state == EMU_AT_BARRIER)
        emu_strict_at_barrier(w);
}

void emu_strict_init_wave(struct emu_wave *w)
{
    const struct emu_kernel *k = w->group->kernel;
    const struct emu_program *p = k->program;
    struct emu_strict_gate everything;
    unsigned user = k->rsrc2 >> 1 & 31, ids = 0;

    memset(w->vp, 0, (size_t)p->rows * w->lanes * 4);
    memset(w->vp_dirty, 0, (p->rows + 63) / 64 * 8);
    memset(w->vp + w->lanes, 0xff, (size_t)(k->vgprs - 1) * w->lanes * 4);
    for (unsigned r = 1; r < k->vgprs; r++)
        w->vp_dirty[r >> 6] |= UINT64_C(1) << (r & 63);
    memset(w->sp, 0, (EMU_S_CONST + p->sconsts) * 4);
    for (unsigned axis = 0; axis < 4; axis++)
        ids += k->rsrc2 >> (7 + axis) & 1;
    ids += k->family == EMU_GFX90A && k->rsrc2 & 1;
    for (unsigned i = user + ids; i < EMU_S_FLAT_SCRATCH; i++)
        w->sp[i] = ~0u;
    w->sp[EMU_S_VCC] = w->sp[EMU_S_VCC + 1] = w->sp[EMU_S_M0] = ~0u;
    w->scc_poison = 1;
    if (w->scratch_poison)
        memset(w->scratch_poison, 0xff, (size_t)w->scratch_lane * w->lanes);
    memset(w->strict, 0, sizeof *w->strict);
    w->strict->hazards.wave = w;
    w->strict->hazards.family = k->family;
    w->strict->hazards.accum_offset = k->accum_offset;
    if (w->index == 0)
        emu_strict_lds_init(w->group);
    memset(&everything, 0xff, sizeof everything);
    emu_strict_refresh(w, &everything);
}
