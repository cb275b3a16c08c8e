/*
 * Propagates the parameters' uncertainties: a unit is simulated some times, each time with every
 * parameter at one end or the other of what it may be, as a fixed series of signs says. As the
 * signs are independent, the mean square of what that changes is the sum of the squares of what
 * each parameter alone does.
 */
#include "doubt.h"

#include <math.h>
#include <stdlib.h>

#include "unit.h"

/* Times, and instructions that are simulated of each at most: a part of the launch's, so that short
 * ones do not take much longer for it. */
enum { DRAWS = 8, LEAST = 8000, MOST = 30000, PART = 8 };

static int sign(uint64_t *series)
{
    *series = *series * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *series >> 63 ? 1 : -1;
}

static void move(struct emu_clock_gpu *g, enum emu_family family, uint64_t *series)
{
    for (size_t i = 0; i < emu_clock_origins(); i++) {
        const struct emu_clock_origin o = emu_clock_origin(family, i);
        const double factor = 1 + o.uncertainty / 100; /* 100 %: half or twice */
        double value = sign(series) > 0 ? o.value * factor : o.value / factor;

        if (!(o.most > 0))
            continue;
        value = value > o.most ? o.most : value < o.least ? o.least : value;
        emu_clock_put(g, i, value);
    }
}

/* Runs the unit until n instructions are done. */
static double run_to(struct unit *u, uint64_t n)
{
    u->stop = n;
    while (emu_unit_run(u) >= 0)
        ;
    return (double)u->now;
}

/* Clocks of the unit's workgroups; if they are long, by the pace of the second half of the budget.
 * Negative when out of memory. */
static double clocks_of(const struct emu_doubt *d, const struct emu_clock_gpu *g)
{
    struct emu_unit_share share = emu_unit_share(d->reuse, g, d->gigahertz);
    struct emu_clock_op *ops = emu_clock_describe(d->launch->kernel, g);
    const struct emu_unit_kind kind = {d->launch->kernel, ops, g, EMU_UNIT_OLDEST, &share, NULL};
    struct unit *u = ops ? emu_unit_new(&kind) : NULL;
    const uint64_t half = (d->work < LEAST * PART  ? LEAST
                           : d->work > MOST * PART ? MOST
                                                   : (uint64_t)d->work / PART) /
                          2;
    uint64_t all = 0;
    double clocks = -1;

    for (unsigned i = 0; u && i < d->copies; i++) {
        const struct emu_clock_group *group = d->group[i % d->groups];

        for (unsigned k = 0; k < group->waves; k++)
            all += group->wave[k].n;
        if (!emu_unit_launch(u, group, 0, i / d->groups)) {
            emu_unit_free(u);
            u = NULL;
        }
    }
    if (u && all > 2 * half) {
        const double first = run_to(u, half);

        clocks = run_to(u, 2 * half);
        clocks += (clocks - first) * (double)(all - 2 * half) / (double)half;
    } else if (u) {
        clocks = run_to(u, all + 1);
    }
    emu_unit_free(u);
    free(ops);
    return clocks;
}

bool emu_doubt_find(const struct emu_doubt *d, double *part)
{
    const double middle = clocks_of(d, d->gpu);
    uint64_t series = 1;
    double squares = 0;

    for (unsigned i = 0; i < DRAWS && middle > 0; i++) {
        struct emu_clock_gpu g = *d->gpu;
        double clocks;

        move(&g, d->launch->kernel->family, &series);
        clocks = clocks_of(d, &g);
        if (clocks < 0)
            return false;
        squares += (clocks / middle - 1) * (clocks / middle - 1);
    }
    *part = sqrt(squares / DRAWS);
    return middle >= 0;
}
