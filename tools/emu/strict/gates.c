/*
 * Strict mode: what stands at the gate of each op, made before a program's first strict launch, and
 * brought up to date.
 */
#include <pthread.h>
#include <stdlib.h>

#include "strict.h"

static void add_rows(struct emu_strict_gate *gate, const struct emu_range *r, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned row = r[i].first; row < (unsigned)r[i].first + r[i].n; row++)
            gate->rows[row / 64] |= UINT64_C(1) << row % 64;
}

static void add_scalars(struct emu_strict_gate *gate, const struct emu_range *r, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned s = r[i].first; s < (unsigned)r[i].first + r[i].n; s++) {
            unsigned bit = s < EMU_S_REGS ? s : EMU_S_NULL; /* SCC as an operand */

            gate->scalars[bit / 64] |= UINT64_C(1) << bit % 64;
        }
}

static void add_registers(struct emu_strict_gate *gate, const struct emu_strict_op *so)
{
    add_rows(gate, so->read, so->nread);
    add_rows(gate, so->write, so->nwrite);
    add_scalars(gate, so->sread, so->nsread);
    add_scalars(gate, so->swrite, so->nswrite);
}

static void make_gate(struct emu_strict_gate *gate, const struct emu_strict_program *s,
                      const struct emu_strict_op *so, const struct emu_op *op)
{
    const struct emu_range scc = {EMU_S_NULL, 1};

    gate->kind = so->kind;
    gate->waits = so->waits;
    gate->always = s->may_hazard || so->relative || so->overlaps || so->scc_is_late;
    gate->counts = so->counters != 0;
    gate->is_plain = op->insn && !gate->always && so->kind != EMU_K_MEMORY && !so->waits &&
                     op->cls != EMU_C_MESSAGE;
    add_registers(gate, so);
    for (unsigned i = 0; so->kind == EMU_K_VOPD && i < 3; i++)
        if (s->pairs[op->target + (int)i].shadow.fn)
            add_registers(gate, &s->pairs[op->target + (int)i]);
    if (op->effects & (EMU_E_READ_SCC | EMU_E_WRITE_SCC))
        add_scalars(gate, &scc, 1);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool emu_strict_prepare(const struct emu_kernel *k, bool warn_waits)
{
    struct emu_program *p = k->program;
    struct emu_strict_program *s;
    bool ok = true;

    pthread_mutex_lock(&lock);
    if (!p->strict) {
        p->strict_release = emu_strict_release;
        s = calloc(1, sizeof *s);
        if (s) {
            s->ops = calloc(p->nops, sizeof *s->ops);
            s->pairs = calloc(p->npairs + 1, sizeof *s->pairs);
            s->gates = calloc(p->nops, sizeof *s->gates);
        }
        ok = s && s->ops && s->pairs && s->gates;
        for (unsigned i = 0; ok && i < p->nops; i++)
            emu_strict_describe(&s->ops[i], &p->ops[i], p);
        for (unsigned i = 0; ok && i < p->npairs; i++)
            emu_strict_describe(&s->pairs[i], &p->pairs[i], p);
        if (ok)
            s->may_hazard = emu_strict_may_hazard(k, s->ops, &s->way);
        for (unsigned i = 0; ok && i < p->nops; i++)
            make_gate(&s->gates[i], s, &s->ops[i], &p->ops[i]);
        if (ok)
            p->strict = s;
        else
            emu_strict_release(s);
    }
    ok = ok && (!warn_waits || emu_strict_warn_begin(p->strict, p->nops));
    pthread_mutex_unlock(&lock);
    return ok;
}

void emu_strict_release(struct emu_strict_program *s)
{
    if (!s)
        return;
    free(s->ops);
    free(s->pairs);
    free(s->gates);
    emu_strict_warn_free(s);
    free(s);
}

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
