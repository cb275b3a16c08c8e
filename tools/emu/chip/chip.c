/* Rounds of workgroups over the units of a chip. */
#include "chip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a workgroup's time, by which units that do the same differ. */
#define UNLIKE 0.003
/* Pace of one whom others leave nothing. */
#define LEAST 1e-6

struct unit_load {
    unsigned n, ends;               /* workgroups; the one that ends next */
    double now, next;               /* clocks: of the state; of the next end */
    double turn;                    /* the latter, for who comes before whom */
    double left[EMU_CHIP_RESIDENT]; /* work, in clocks alone; the oldest first */
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

/* Clocks alone that n workgroups together work in a clock. */
static double work_of(const struct emu_chip *c, unsigned n)
{
    return n ? n / c->slow[n] : 0;
}

/* The same of workgroup i: the oldest works as if alone, each other in what those before it leave.
 */
static double pace(const struct emu_chip *c, const struct unit_load *u, unsigned i)
{
    if (!c->oldest_first)
        return 1 / c->slow[u->n];
    return fmax(work_of(c, i + 1) - work_of(c, i), LEAST);
}

/* Lets the unit's workgroups work until t. */
static void work_until(const struct emu_chip *c, struct unit_load *u, double t)
{
    for (unsigned i = 0; i < u->n; i++)
        u->left[i] -= (t - u->now) * pace(c, u, i);
    u->now = t;
}

double emu_chip_unlike(unsigned unit, double at)
{
    const uint64_t mixed = ((uint64_t)at + unit) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

    return UNLIKE * (double)mixed / 0x1p32;
}

/* Of the workgroup that ends next. */
static void find_next(const struct emu_chip *c, struct unit_load *u, unsigned unit)
{
    u->next = u->turn = HUGE_VAL;
    for (unsigned i = 0; i < u->n; i++) {
        const double end = u->now + fmax(u->left[i], 0) / pace(c, u, i);

        if (end < u->next) {
            u->next = end;
            u->ends = i;
        }
    }
    if (u->n)
        u->turn = u->next + emu_chip_unlike(unit, u->next) * (u->next - u->started[u->ends]);
}

static bool add(struct state *s, struct unit_load *u, unsigned die, double t, double delay)
{
    const struct emu_chip *c = s->chip;
    const unsigned unit = (unsigned)(u - s->unit);
    uint64_t i = s->next[die];

    if (i >= c->workgroups)
        return false;
    s->next[die] += c->dies;
    if (c->unit_of)
        c->unit_of[i] = unit;
    if (u->n)
        work_until(c, u, t);
    u->now = t;
    u->started[u->n] = t + delay;
    u->left[u->n] = c->alone[i] + delay;
    u->n++;
    find_next(c, u, unit);
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
        for (unsigned k = 0; k < emu_chip_places(c); k++) {
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
    const unsigned ended = u->ends;

    work_until(c, u, u->next);
    s->busy += u->now - from;
    s->total += u->now - u->started[ended];
    if (u->now >= s->last) {
        s->last = u->now;
        s->last_unit = number;
    }
    s->ends++;
    for (int i = 0; i < 2; i++)
        if (s->ends == c->mark[i])
            s->at[i] = s->last;
    u->n--;
    memmove(u->left + ended, u->left + ended + 1, (u->n - ended) * sizeof *u->left);
    memmove(u->started + ended, u->started + ended + 1, (u->n - ended) * sizeof *u->started);
    if (!add(s, u, number % c->dies, u->now, c->turnaround))
        find_next(c, u, number);
}

bool emu_chip_run(const struct emu_chip *c, struct emu_chip_time *t)
{
    struct state s = {.chip = c};
    bool ok;

    s.unit = calloc(c->units, sizeof *s.unit);
    s.next = calloc(c->dies, sizeof *s.next);
    ok = s.unit && s.next;
    for (unsigned i = 0; ok && i < c->units; i++)
        s.unit[i].turn = HUGE_VAL;
    for (unsigned i = 0; ok && i < c->dies; i++)
        s.next[i] = i;
    if (ok)
        fill(&s);
    while (ok) {
        unsigned first = 0;

        for (unsigned i = 1; i < c->units; i++)
            if (s.unit[i].turn < s.unit[first].turn)
                first = i;
        if (s.unit[first].turn == HUGE_VAL)
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
