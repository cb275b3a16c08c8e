/* Barriers: s_barrier, and those of gfx12 in two steps. */
#include "program.h"

void emu_stop_wave(struct emu_wave *w, enum emu_state state)
{
    w->state = state;
    w->attention |= EMU_A_STOP;
}

static void barrier(struct emu_wave *w, const struct emu_op *op)
{
    (void)op;
    emu_stop_wave(w, EMU_AT_BARRIER);
}

/*
 * gfx12's barrier in two steps. Waves stop at the second until all have come to it: an order that
 * the hardware may choose, too, and what a wave does between the two counts as before the barrier.
 */
enum { NO_BARRIER = 0, OF_WORKGROUP = -1 };

/* RDNA 4 has that of the workgroup, and -2 for traps; 0 is none. */
static bool is_barrier(struct emu_wave *w, int number)
{
    if (number != OF_WORKGROUP && number != NO_BARRIER)
        emu_fault(w, 0, "barrier %d: only that of the workgroup, -1, is emulated", number);
    return number == OF_WORKGROUP;
}

/* Waves that have signalled since the barrier was complete; ended ones do not count. */
static unsigned signals(const struct emu_wave *w)
{
    const struct emu_group *g = w->group;
    unsigned members = 0, n = 0;

    for (unsigned i = 0; i < g->waves; i++) {
        members += g->wave[i].state != EMU_ENDED;
        n += g->wave[i].state == EMU_RUNNING && g->wave[i].signalled;
        n += g->wave[i].state == EMU_AT_BARRIER;
    }
    return n == members ? 0 : n;
}

static void signal_barrier(struct emu_wave *w)
{
    if (w->signalled)
        emu_fault(w, 0, "s_barrier_signal twice without s_barrier_wait");
    w->signalled = true;
}

static void barrier_signal(struct emu_wave *w, const struct emu_op *op)
{
    if (is_barrier(w, (int)w->s[op->s[0]]))
        signal_barrier(w);
}

/* A workgroup of one wave has no barrier to be the first at. */
static void barrier_signal_isfirst(struct emu_wave *w, const struct emu_op *op)
{
    bool first = false;

    if (is_barrier(w, (int)w->s[op->s[0]])) {
        first = w->group->waves > 1 && signals(w) == 0;
        signal_barrier(w);
    }
    w->scc = first;
}

/* Bit 0: valid; from bit 4 on the members, from bit 16 on the signals. */
static void get_barrier_state(struct emu_wave *w, const struct emu_op *op)
{
    unsigned members = 0;
    uint32_t state = 0;

    for (unsigned i = 0; i < w->group->waves; i++)
        members += w->group->wave[i].state != EMU_ENDED;
    if (is_barrier(w, (int)w->s[op->s[0]]))
        state = 1 | members << 4 | signals(w) << 16;
    emu_write_sgprs(w, op->d[0], &state, 1);
}

static void barrier_wait(struct emu_wave *w, const struct emu_op *op)
{
    if (!is_barrier(w, (int16_t)op->imm))
        return;
    if (!w->signalled)
        emu_fault(w, 0, "s_barrier_wait without s_barrier_signal: it would never return");
    w->signalled = false;
    emu_stop_wave(w, EMU_AT_BARRIER);
}

#define R(name, fn, effects, cls)                                                                  \
    {                                                                                              \
#name, {fn, fn }, effects, EMU_C_##cls                                                     \
    }

const struct emu_sem emu_sem_barriers[] = {
    R(s_barrier, barrier, 0, MESSAGE),
    R(s_barrier_signal, barrier_signal, 0, MESSAGE),
    R(s_barrier_signal_isfirst, barrier_signal_isfirst, EMU_E_WRITE_SCC, SALU),
    R(s_get_barrier_state, get_barrier_state, 0, MESSAGE),
    R(s_barrier_wait, barrier_wait, 0, MESSAGE),
    {NULL, {NULL, NULL}, 0, 0},
};
