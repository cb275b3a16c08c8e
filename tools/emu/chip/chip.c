/* Rounds of workgroups over the units of a chip. Those on one unit share it evenly. */
#include "chip.h"

#include <math.h>
#include <stdlib.h>

struct unit_load {
    unsigned n;
    double now, next;               /* clocks: of the state; of the next end */
    double left[EMU_CHIP_RESIDENT]; /* work, in clocks alone */
    double started[EMU_CHIP_RESIDENT];
};

struct state {
    const struct emu_chip *chip;
    struct unit_load *unit;
    uint64_t *next; /* of each die: the number of its next workgroup */
    uint64_t ends;
    double total, busy, last, at[2];
    unsigned last_unit;
};

/* Lets the unit's workgroups work until t. */
static void work_until(const struct emu_chip *c, struct unit_load *u, double t)
{
    for (unsigned i = 0; i < u->n; i++)
        u->left[i] -= (t - u->now) / c->slow[u->n];
    u->now = t;
}

static void find_next(const struct emu_chip *c, struct unit_load *u)
{
    double least = HUGE_VAL;

    for (unsigned i = 0; i < u->n; i++)
        least = u->left[i] < least ? u->left[i] : least;
    u->next = u->n ? u->now + (least > 0 ? least : 0) * c->slow[u->n] : HUGE_VAL;
}

static bool add(struct state *s, struct unit_load *u, unsigned die, double t, double delay)
{
    const struct emu_chip *c = s->chip;
    uint64_t i = s->next[die];

    if (i >= c->workgroups)
        return false;
    s->next[die] += c->dies;
    if (c->unit_of)
        c->unit_of[i] = (unsigned)(u - s->unit);
    if (u->n)
        work_until(c, u, t);
    u->now = t;
    u->started[u->n] = t + delay;
    u->left[u->n] = c->alone[i] + delay;
    u->n++;
    find_next(c, u);
    return true;
}

/* All units, one workgroup each, then another, as far as there are any. */
static void fill(struct state *s)
{
    const struct emu_chip *c = s->chip;
    const unsigned engines = c->engines / c->dies;
    const double side = engines > 1 ? engines : 1;
    unsigned per_die = c->units / c->dies;

    for (unsigned die = 0; die < c->dies; die++)
        for (unsigned k = 0; k < per_die * c->resident; k++) {
            double delay = floor(k / side) * c->dispatch;

            if (!add(s, &s->unit[k % per_die * c->dies + die], die, 0, delay))
                break;
        }
}

/* The workgroup of the unit that ends next makes room. */
static void end_one(struct state *s, unsigned number)
{
    const struct emu_chip *c = s->chip;
    struct unit_load *u = &s->unit[number];
    const double from = u->now;
    unsigned least = 0;

    work_until(c, u, u->next);
    s->busy += u->now - from;
    for (unsigned i = 1; i < u->n; i++)
        if (u->left[i] < u->left[least])
            least = i;
    s->total += u->now - u->started[least];
    s->last = u->now;
    s->last_unit = number;
    s->ends++;
    for (int i = 0; i < 2; i++)
        if (s->ends == c->mark[i])
            s->at[i] = s->last;
    u->n--;
    u->left[least] = u->left[u->n];
    u->started[least] = u->started[u->n];
    if (!add(s, u, number % c->dies, u->now, c->turnaround))
        find_next(c, u);
}

bool emu_chip_run(const struct emu_chip *c, struct emu_chip_time *t)
{
    struct state s = {.chip = c};
    bool ok;

    s.unit = calloc(c->units, sizeof *s.unit);
    s.next = calloc(c->dies, sizeof *s.next);
    ok = s.unit && s.next;
    for (unsigned i = 0; ok && i < c->units; i++)
        s.unit[i].next = HUGE_VAL;
    for (unsigned i = 0; ok && i < c->dies; i++)
        s.next[i] = i;
    if (ok)
        fill(&s);
    while (ok) {
        unsigned first = 0;

        for (unsigned i = 1; i < c->units; i++)
            if (s.unit[i].next < s.unit[first].next)
                first = i;
        if (s.unit[first].next == HUGE_VAL)
            break;
        end_one(&s, first);
    }
    free(s.unit);
    free(s.next);
    *t = (struct emu_chip_time){.cycles = s.last,
                                .group_mean = c->workgroups ? s.total / (double)c->workgroups : 0,
                                .at = {s.at[0], s.at[1]},
                                .last = s.last_unit,
                                .unit_busy = s.busy};
    return ok;
}
