/* Simulates every unit of a chip with the workgroups that it gets, each as it was recorded. */
#include "everything.h"

#include <stdlib.h>

#include "unit.h"

struct dispatcher {
    const struct emu_chip *chip;
    const struct emu_clock_recorder *recorder;
    const struct emu_unit_kind *kind;
    struct unit **unit;
    int *ended;     /* of each unit: the workgroup that ends next, at its `now`; -1: none */
    uint64_t *next; /* of each die: the number of its next workgroup */
    double total;
};

/* The die's next workgroup goes to the unit. False: there is none, or no memory. */
static bool launch(struct dispatcher *d, unsigned unit, double at)
{
    const unsigned die = unit % d->chip->dies;
    const uint64_t i = d->next[die];

    if (i >= d->recorder->workgroups)
        return false;
    if (!d->unit[unit]) {
        const struct emu_unit_kind *k = d->kind;

        d->unit[unit] = emu_unit_new(k->kernel, k->ops, k->gpu, k->policy, k->share);
    }
    d->next[die] += d->chip->dies;
    return d->unit[unit] && emu_unit_launch(d->unit[unit], d->recorder->group[i], (uint64_t)at, 0);
}

static void fill(struct dispatcher *d)
{
    const struct emu_chip *c = d->chip;
    const double side = c->engines > c->dies ? (double)(c->engines / c->dies) : 1;
    const unsigned per_die = c->units / c->dies;

    for (unsigned die = 0; die < c->dies; die++)
        for (unsigned k = 0; k < per_die * c->resident; k++)
            if (!launch(d, k % per_die * c->dies + die,
                        (double)(unsigned)(k / side) * c->dispatch + k / per_die * d->kind->offset))
                break;
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
        d->total += (double)(u->group[d->ended[first]].end - u->group[d->ended[first]].start);
        launch(d, first, (double)u->now + d->chip->turnaround);
        d->ended[first] = emu_unit_run(u);
        if (d->ended[first] < 0)
            t->unit_busy += (double)u->now;
    }
}

bool emu_everything_run(const struct emu_chip *c, const struct emu_clock_recorder *r,
                        const struct emu_unit_kind *kind, struct emu_chip_time *t)
{
    struct dispatcher d = {.chip = c, .recorder = r, .kind = kind};
    bool ok;

    *t = (struct emu_chip_time){0, 0, 0};
    d.unit = calloc(c->units, sizeof(struct unit *));
    d.ended = calloc(c->units, sizeof *d.ended);
    d.next = calloc(c->dies, sizeof *d.next);
    ok = d.unit && d.ended && d.next;
    for (unsigned i = 0; ok && i < c->dies; i++)
        d.next[i] = i;
    if (ok) {
        fill(&d);
        run(&d, t);
        t->group_mean = d.total / (double)r->workgroups;
    }
    for (unsigned i = 0; d.unit && i < c->units; i++)
        emu_unit_free(d.unit[i]);
    free(d.unit);
    free(d.ended);
    free(d.next);
    return ok;
}
