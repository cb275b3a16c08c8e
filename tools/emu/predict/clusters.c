/* Groups the recorded workgroups by cost, and finds the cost and place of all others. */
#include "clusters.h"

#include <math.h>
#include <stdlib.h>

#define SAME 0.002 /* costs that differ by less are equal */

static int by_cost(const void *a, const void *b)
{
    const struct emu_clock_group *const *x = a, *const *y = b;

    if ((*x)->cost != (*y)->cost)
        return (*x)->cost > (*y)->cost ? 1 : -1;
    return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

void emu_clusters_make(struct emu_clusters *c, const struct emu_clock_recorder *r)
{
    unsigned n = 0;

    c->n = 0;
    for (unsigned i = 0; i < r->groups; i++)
        if (r->group[i]->done && !r->group[i]->failed)
            c->group[n++] = r->group[i];
    qsort(c->group, n, sizeof c->group[0], by_cost);
    for (unsigned i = 0; i < n; i++) {
        if (!c->n || c->group[i]->cost > c->cost[c->n - 1] * (1 + SAME)) {
            c->cost[c->n] = c->group[i]->cost;
            c->member[c->n] = &c->group[i];
            c->members[c->n++] = 0;
        }
        c->members[c->n - 1]++;
    }
}

/* The cost of the samples on a line through the origin, at coordinate x of the axis. Where x counts
 * heads and their tiles, costs go by the tile. */
static double on_axis(const struct emu_clock_recorder *r, unsigned axis, uint64_t x)
{
    const uint64_t step = axis == 0   ? 1
                          : axis == 1 ? r->grid[0]
                                      : (uint64_t)r->grid[0] * r->grid[1];
    const uint64_t width = !axis && r->period ? r->period : 1, place = x / width;
    double below = 0, above = 0, low = 0, high = 0;
    bool has_below = false, has_above = false;

    for (unsigned i = 0; i < r->groups; i++) {
        const uint64_t number = r->group[i]->number, at = number / step / width;

        if (number % step || number / step >= r->grid[axis] || !r->group[i]->done)
            continue;
        if (at <= place && (!has_below || (double)at >= low)) {
            low = (double)at;
            below = r->group[i]->cost;
            has_below = true;
        }
        if (at >= place && (!has_above || (double)at <= high)) {
            high = (double)at;
            above = r->group[i]->cost;
            has_above = true;
        }
    }
    if (!has_below || !has_above)
        return has_below ? below : above;
    return high > low ? below + (above - below) * ((double)place - low) / (high - low) : below;
}

double emu_clock_cost(const struct emu_clock_recorder *r, uint64_t i)
{
    const uint64_t x = i % r->grid[0], y = i / r->grid[0] % r->grid[1],
                   z = i / r->grid[0] / r->grid[1];
    double origin;

    if (r->cost)
        return r->cost[i];
    origin = on_axis(r, 0, 0);
    if (origin <= 0)
        return origin;
    return on_axis(r, 0, x) * on_axis(r, 1, y) / origin * on_axis(r, 2, z) / origin;
}

struct emu_between emu_clusters_find(const struct emu_clusters *c, double cost)
{
    struct emu_between b = {0, 0, 0, 1};
    unsigned i = 0;

    while (i < c->n && c->cost[i] < cost)
        i++;
    if (i == 0 || i == c->n) {
        b.lower = b.upper = i ? c->n - 1 : 0;
        if (c->cost[b.lower] > 0)
            b.scale = cost / c->cost[b.lower];
        if (fabs(b.scale - 1) <= SAME)
            b.scale = 1;
        return b;
    }
    b.lower = i - 1;
    b.upper = i;
    b.part = (cost - c->cost[i - 1]) / (c->cost[i] - c->cost[i - 1]);
    return b;
}
