/* Simulates every unit of a chip, or of a part of it, with the workgroups that it gets. */
#include "everything.h"

#include <stdlib.h>
#include <string.h>

struct dispatcher {
    const struct emu_everything *what;
    const struct emu_chip *chip;
    struct unit **unit;
    struct unit_count *count; /* by op, of all of them */
    int *ended;     /* of each unit: the workgroup that ends next, at its `now`; -1: none */
    uint64_t *next; /* of each die: the number of its next workgroup */
    uint64_t done;
    double total;
};

/* The die's next workgroup goes to the unit. False: there is none, or no memory. */
static bool launch(struct dispatcher *d, unsigned unit, double at)
{
    const unsigned die = unit % d->chip->dies;
    const uint64_t i = d->next[die];
    struct unit *u = d->unit[unit];

    if (i >= d->chip->workgroups)
        return false;
    if (!u) {
        struct emu_unit_kind kind = *d->what->kind;

        kind.count = d->count;
        u = d->unit[unit] = emu_unit_new(&kind);
        if (u && !unit && d->what->events)
            u->event = calloc(d->what->events, sizeof *u->event);
        if (u && u->event)
            u->event_room = d->what->events;
    }
    d->next[die] += d->chip->dies;
    return u && emu_unit_launch(u, d->what->turn[i].group, (uint64_t)at, d->what->turn[i].tag);
}

static void fill(struct dispatcher *d)
{
    const struct emu_chip *c = d->chip;
    const unsigned engines = c->engines / c->dies;
    const double side = engines > 1 ? engines : 1;
    const unsigned per_die = c->units / c->dies;

    for (unsigned die = 0; die < c->dies; die++)
        for (unsigned k = 0; k < emu_chip_places(c); k++) {
            const unsigned row = k / per_die;

            if (!launch(d, k % per_die * c->dies + die,
                        (double)(unsigned)(k / side) * c->dispatch + row * d->what->offset))
                break;
        }
    for (unsigned i = 0; i < c->units; i++)
        d->ended[i] = d->unit[i] ? emu_unit_run(d->unit[i]) : -1;
}

static void run(struct dispatcher *d, struct emu_chip_time *t)
{
    for (;;) {
        unsigned first = d->chip->units;
        struct unit *u;

        for (unsigned i = 0; i < d->chip->units; i++)
            if (d->ended[i] >= 0 &&
                (first == d->chip->units || d->unit[i]->now < d->unit[first]->now))
                first = i;
        if (first == d->chip->units)
            return;
        u = d->unit[first];
        t->cycles = (double)u->now;
        t->last = first;
        d->done++;
        for (int i = 0; i < 2; i++)
            if (d->done == d->chip->mark[i])
                t->at[i] = t->cycles;
        d->total += (double)(u->group[d->ended[first]].end - u->group[d->ended[first]].start);
        launch(d, first, (double)u->now + d->chip->turnaround);
        d->ended[first] = emu_unit_run(u);
        if (d->ended[first] < 0)
            t->unit_busy += (double)u->now;
    }
}

/* Adds up what the units counted, and frees them. */
static bool finish(struct dispatcher *d, bool ok)
{
    const struct emu_everything *w = d->what;

    ok = ok &&
         (!w->sum || emu_unit_sum_ops(w->sum, d->count, w->kind->kernel->program->nops, w->weight));
    for (unsigned i = 0; d->unit && i < d->chip->units; i++) {
        if (ok && w->sum && d->unit[i])
            emu_unit_sum_add(w->sum, d->unit[i], w->weight, !i && w->events);
        emu_unit_free(d->unit[i]);
    }
    free(d->count);
    free(d->unit);
    free(d->ended);
    free(d->next);
    return ok;
}

bool emu_everything_run(const struct emu_everything *w, struct emu_chip_time *t)
{
    const struct emu_chip *c = w->chip;
    struct dispatcher d = {.what = w, .chip = c};
    bool ok;

    memset(t, 0, sizeof *t);
    d.unit = calloc(c->units, sizeof(struct unit *));
    d.count = calloc(w->kind->kernel->program->nops + 1, sizeof *d.count);
    d.ended = calloc(c->units, sizeof *d.ended);
    d.next = calloc(c->dies, sizeof *d.next);
    ok = d.unit && d.count && d.ended && d.next;
    for (unsigned i = 0; ok && i < c->dies; i++)
        d.next[i] = i;
    if (ok) {
        fill(&d);
        run(&d, t);
        t->group_mean = d.total / (double)c->workgroups;
    }
    return finish(&d, ok && d.done == c->workgroups);
}
