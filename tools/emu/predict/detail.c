/*
 * Simulates some units with the workgroups that they get, and says how far chip.c is off there:
 * caches that earlier workgroups have filled, the order of waves, workgroups that meet at other
 * places.
 */
#include "detail.h"

#include <math.h>
#include <stdlib.h>

/*
 * So many of them as the units hold at a time, over and over between the two marks: from the end of
 * the first such round to the beginning of the last one. 0: they are too few for a pace.
 */
static unsigned at_pace(const struct emu_detail *d)
{
    const unsigned room = d->chip->resident * d->units;

    return d->n < 3 * room ? 0 : (d->n / room - 2) * room;
}

/* Until the end: those that were not run go on at the pace of those between the marks. */
static double carried_on(const struct emu_detail *d, const struct emu_chip_time *t)
{
    const unsigned n = at_pace(d);

    return n ? t->cycles + (t->at[1] - t->at[0]) * (double)(d->all - d->n) / n : t->cycles;
}

/* The same by chip.c. */
static bool by_rounds(const struct emu_detail *d, struct emu_chip *c, struct emu_chip_time *t)
{
    float *alone = malloc(d->n * sizeof *alone);
    bool ok = alone != NULL;

    for (unsigned i = 0; ok && i < d->n; i++)
        alone[i] = d->turn[i].alone;
    c->alone = alone;
    ok = ok && emu_chip_run(c, t);
    free(alone);
    c->alone = NULL;
    return ok;
}

/* How many units have nearly as much work as any. */
static unsigned busy_units(const double *work, unsigned units, double *least)
{
    double most = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < units; i++)
        most = fmax(most, work[i]);
    *least = EMU_DETAIL_NEARLY * most;
    for (unsigned i = 0; i < units; i++)
        n += work[i] >= *least;
    return n;
}

bool emu_detail_choose(const struct emu_chip *c, unsigned last, bool *chosen, unsigned n)
{
    double *work = calloc(c->units, sizeof *work), least;
    unsigned busy, seen = 0, taken = 1;

    if (!work)
        return false;
    for (uint64_t i = 0; i < c->workgroups; i++)
        work[c->unit_of[i]] += c->alone[i];
    chosen[last] = true;
    busy = busy_units(work, c->units, &least);
    for (unsigned i = 0; i < c->units && taken < n; i++) {
        if (work[i] < least)
            continue;
        if (!chosen[i] && seen * n / busy != (seen + 1) * n / busy)
            chosen[i] = true, taken++;
        seen++;
    }
    while (taken < n) {
        unsigned most = last;

        for (unsigned i = 0; i < c->units; i++)
            if (!chosen[i] && (chosen[most] || work[i] > work[most]))
                most = i;
        chosen[most] = true;
        taken++;
    }
    free(work);
    return true;
}

bool emu_detail_run(struct emu_detail *d)
{
    struct emu_chip part = *d->chip;
    const struct emu_everything w = {.chip = &part,
                                     .kind = d->kind,
                                     .offset = d->offset,
                                     .turn = d->turn,
                                     .sum = d->sum,
                                     .weight = d->weight,
                                     .events = d->events};
    const unsigned room = d->chip->resident * d->units, each = part.units / part.engines;
    struct emu_chip_time there, here;

    part.dispatch *= each;
    part.units = part.engines = d->units;
    part.dies = 1;
    part.at_once = 0;
    part.unit_of = NULL;
    part.workgroups = d->n;
    if (at_pace(d)) {
        part.mark[1] = d->n - room;
        part.mark[0] = part.mark[1] - at_pace(d);
    }
    if (!by_rounds(d, &part, &there) || !emu_everything_run(&w, &here))
        return false;
    d->ratio = carried_on(d, &here) / carried_on(d, &there);
    d->group_ratio = here.group_mean / there.group_mean;
    return true;
}
