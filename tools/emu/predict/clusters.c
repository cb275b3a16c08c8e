/* Groups the recorded workgroups by cost, and finds the cost and place of all others. */
#include "clusters.h"

#include <math.h>
#include <stdlib.h>

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
        if (!c->n || c->group[i]->cost > c->cost[c->n - 1] * (1 + EMU_CLOCK_SAME)) {
            c->cost[c->n] = c->group[i]->cost;
            c->member[c->n] = &c->group[i];
            c->members[c->n++] = 0;
        }
        c->members[c->n - 1]++;
    }
}

/* Samples on a line through the origin: each `step` is a place, or `width` steps are. */
struct line {
    uint64_t step, places, width;
};

static double part_of_head(const struct emu_clock_recorder *r, uint64_t x);

/* The cost at place x, between those of samples. */
static double on_line(const struct emu_clock_recorder *r, const struct line *line, uint64_t x)
{
    double below = 0, above = 0, low = 0, high = 0;
    bool has_below = false, has_above = false;

    for (unsigned i = 0; i < r->groups; i++) {
        const uint64_t number = r->group[i]->number, at = number / line->step / line->width;
        double cost = r->group[i]->cost;

        if (number % line->step || at >= line->places || !r->group[i]->done)
            continue;
        if (line->width > 1)
            cost /= part_of_head(r, number);
        if (at <= x && (!has_below || (double)at >= low)) {
            low = (double)at;
            below = cost;
            has_below = true;
        }
        if (at >= x && (!has_above || (double)at <= high)) {
            high = (double)at;
            above = cost;
            has_above = true;
        }
    }
    if (!has_below || !has_above)
        return has_below ? below : above;
    return high > low ? below + (above - below) * ((double)x - low) / (high - low) : below;
}

/* What the head of workgroup x costs, of the first one's. */
static double part_of_head(const struct emu_clock_recorder *r, uint64_t x)
{
    const struct line heads = {1, r->period, 1};
    const double first = r->group[0]->cost;
    bool differ = false;

    for (unsigned i = 0; i < r->groups && r->group[i]->number < r->period; i++)
        differ = differ ||
                 (r->group[i]->done && fabs(r->group[i]->cost - first) > EMU_CLOCK_SAME * first);
    return differ && first > 0 ? on_line(r, &heads, x % r->period) / first : 1;
}

/* Along x. Where it counts heads and their tiles, costs go by the tile, and by the head. */
static double on_first_axis(const struct emu_clock_recorder *r, uint64_t x)
{
    struct line line = {1, r->grid[0], 1};

    if (r->period < 2)
        return on_line(r, &line, x);
    line.places = (r->grid[0] + r->period - 1) / r->period;
    line.width = r->period;
    return on_line(r, &line, x / r->period) * part_of_head(r, x);
}

double emu_clock_cost(const struct emu_clock_recorder *r, uint64_t i)
{
    const struct line y = {r->grid[0], r->grid[1], 1},
                      z = {(uint64_t)r->grid[0] * r->grid[1], r->grid[2], 1};
    double origin;

    if (r->cost)
        return r->cost[i];
    origin = on_first_axis(r, 0);
    if (origin <= 0)
        return origin;
    return on_first_axis(r, i % r->grid[0]) * on_line(r, &y, i / y.step % r->grid[1]) / origin *
           on_line(r, &z, i / z.step) / origin;
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
        if (fabs(b.scale - 1) <= EMU_CLOCK_SAME)
            b.scale = 1;
        return b;
    }
    b.lower = i - 1;
    b.upper = i;
    b.part = (cost - c->cost[i - 1]) / (c->cost[i] - c->cost[i - 1]);
    return b;
}
