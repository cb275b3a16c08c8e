/*
 * Strict mode, the way of every op: most touch nothing that is pending or poison, and then there is
 * nothing to check but memory.
 */
#include <string.h>

#include "strict.h"

typedef uint64_t two __attribute__((vector_size(16)));

static inline two load_two(const uint64_t *p)
{
    two x;

    memcpy(&x, p, sizeof x);
    return x;
}

/* words: of rows that the kernel has */
static inline __attribute__((always_inline)) bool
is_touched(const struct emu_wave *w, const struct emu_strict_gate *gate, unsigned words)
{
    const struct emu_strict_wave *s = w->strict;
    two busy = load_two(gate->scalars) & load_two(s->busy_scalars);

#pragma GCC unroll 4
    for (unsigned i = 0; i < words; i += 2)
        busy |= load_two(gate->rows + i) & (load_two(s->vpend + i) | load_two(w->vp_dirty + i));
    return (busy[0] | busy[1]) != 0;
}

static void step(struct emu_wave *w, const struct emu_strict_program *p, const struct emu_op *op,
                 size_t i, emu_fn *run)
{
    const struct emu_strict_gate *gate = &p->gates[i];

    if (!op->insn || emu_skipped(w, op)) {
        run(w, op);
        return;
    }
    if (gate->always || is_touched(w, gate, EMU_ROW_WORDS)) {
        emu_strict_look(w, &p->ops[i], op, run);
        emu_strict_refresh(w, gate);
    } else {
        if (gate->kind == EMU_K_MEMORY)
            emu_strict_issue(w, &p->ops[i], op);
        run(w, op);
        if (gate->kind == EMU_K_MEMORY) {
            if (w->group->strict->rewrites)
                emu_strict_rewritten(w);
            if (!gate->counts && p->ops[i].nswrite)
                emu_strict_refresh(w, gate);
        }
    }
    if (gate->waits)
        emu_strict_wait(w, gate->waits, op);
    if (w->state == EMU_AT_BARRIER) {
        emu_strict_scc_arrives(w);
        emu_strict_at_barrier(w);
    }
}

static inline __attribute__((always_inline)) unsigned
run_steps(struct emu_wave *w, uint32_t *hits, unsigned n, emu_fn *run, unsigned words)
{
    const struct emu_op *ops = emu_program_of(w)->ops;
    const struct emu_strict_program *p = emu_program_of(w)->strict;

    while (n && w->state == EMU_RUNNING) {
        const struct emu_op *op = w->ip;
        size_t i = (size_t)(op - ops);
        const struct emu_strict_gate *gate = &p->gates[i];

        w->op = op;
        w->ip = op + op->dwords;
        hits[i]++;
        n--;
        if (gate->is_plain && !w->attention && !is_touched(w, gate, words))
            op->fn(w, op);
        else
            step(w, p, op, i, run);
    }
    return n;
}

unsigned emu_strict_run(struct emu_wave *w, uint32_t *hits, unsigned n, emu_fn *run)
{
    return w->group->kernel->vgprs <= EMU_ROW_WORDS / 2 * 64
               ? run_steps(w, hits, n, run, EMU_ROW_WORDS / 2)
               : run_steps(w, hits, n, run, EMU_ROW_WORDS);
}

void emu_strict_init_wave(struct emu_wave *w)
{
    const struct emu_kernel *k = w->group->kernel;
    const struct emu_program *p = k->program;
    struct emu_strict_gate everything;
    unsigned user = k->rsrc2 >> 1 & 31, ids = 0, words = (p->rows + 63) / 64;

    memset(w->vp, 0, (size_t)p->rows * w->lanes * 4);
    memset(w->vp_dirty, 0, (words > EMU_ROW_WORDS ? words : EMU_ROW_WORDS) * sizeof *w->vp_dirty);
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
    w->strict->hazards.rows = k->vgprs;
    if (w->index == 0)
        emu_strict_lds_init(w->group);
    memset(&everything, 0xff, sizeof everything);
    emu_strict_refresh(w, &everything);
}
