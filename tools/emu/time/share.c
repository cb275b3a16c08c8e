/* What the workgroups on the other units leave of L2 and memory, and what they have fetched. */
#include "share.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Distinct lines of a workgroup, ascending; malloc'ed. */
static uint64_t *distinct_lines(const struct emu_clock_group *g, size_t *count)
{
    size_t n = 0, kept = 0;
    uint64_t *line;

    for (unsigned i = 0; i < g->waves; i++)
        n += g->wave[i].lines;
    line = malloc((n + 1) * sizeof *line);
    *count = 0;
    if (!line)
        return NULL;
    n = 0;
    for (unsigned i = 0; i < g->waves; i++)
        for (size_t j = 0; j < g->wave[i].lines; j++)
            line[n++] = g->wave[i].line[j];
    qsort(line, n, sizeof *line, by_value);
    for (size_t i = 0; i < n; i++)
        if (!kept || line[i] != line[kept - 1])
            line[kept++] = line[i];
    *count = kept;
    return line;
}

static const struct emu_clock_group *sample_at(const struct emu_clock_recorder *r, uint64_t number)
{
    for (unsigned i = 0; i < r->groups; i++)
        if (r->group[i]->number == number)
            return r->group[i];
    return NULL;
}

/* The share of a's lines that b touches too; *lines: of a. */
static double overlap(const struct emu_clock_group *a, const struct emu_clock_group *b,
                      size_t *lines)
{
    size_t na, nb = 0, both = 0;
    uint64_t *x = distinct_lines(a, &na), *y = b ? distinct_lines(b, &nb) : NULL;

    for (size_t i = 0, j = 0; x && y && i < na && j < nb;) {
        both += x[i] == y[j];
        if (x[i] == y[j])
            i++, j++;
        else if (x[i] < y[j])
            i++;
        else
            j++;
    }
    free(x);
    free(y);
    *lines = na;
    return na ? (double)both / (double)na : 0;
}

struct emu_unit_share emu_unit_share(const struct emu_clock_recorder *r,
                                     const struct emu_clock_gpu *g, unsigned units,
                                     unsigned resident, double gigahertz)
{
    const unsigned axis = r->grid[0] > 1 ? 0 : 1;
    const uint64_t step = axis ? r->grid[0] : 1, along = r->grid[axis];
    const double active = (double)(r->workgroups < units ? r->workgroups : units);
    const double here = (double)units / g->xcds * resident; /* workgroups on a die */
    double side = ceil((double)along / g->xcds), common, bytes;
    size_t lines;
    struct emu_unit_share s;
    bool cached;

    side = side < here ? side : here;
    common = overlap(r->group[0], sample_at(r, (along - 1) / 2 * step), &lines);
    if (along < 2)
        common = 0;
    bytes = 64.0 * (double)lines * (double)r->workgroups *
            (1 - common + common / (double)(along ? along : 1));
    cached = g->mall_bytes > 0 && bytes <= g->mall_bytes;
    s.far_share = 1 - common + common / side;
    s.l2_rate = g->l2_rate / (active / g->xcds < 1 ? 1 : active / g->xcds);
    if (s.l2_rate > g->l2_unit_rate)
        s.l2_rate = g->l2_unit_rate;
    s.far_rate = (cached ? g->mall_rate : g->dram_rate) * 1000 / gigahertz / active;
    if (s.far_rate > g->l2_unit_rate)
        s.far_rate = g->l2_unit_rate;
    s.far_latency = cached ? g->mall_latency : g->dram_latency * gigahertz;
    if (s.far_latency < g->l2_latency)
        s.far_latency = g->l2_latency;
    return s;
}
