/* Simulates recorded workgroups alone; of long ones some rounds of their loop, which tell the pace.
 */
#include "alone.h"

#include "shorten.h"

/* Instructions of a workgroup that is long; that are simulated of it. */
#define LONG 2e6
#define PIECE 1e6

/* Long ones by two shorter ones: what the second has more takes as long as any other part.
 * Negative: it has no loop for that, or there is no memory. */
static double by_pieces(const struct emu_unit_kind *kind, const struct emu_clock_group *g)
{
    struct emu_turn less = {.group = g}, more = {.group = g};
    struct emu_shortened one = {0}, two = {0};
    double clocks = -1;

    if (emu_shorten(&one, kind, PIECE / 2 / g->cost, &less, 1) &&
        emu_shorten(&two, kind, PIECE / g->cost, &more, 1) && more.group->cost > less.group->cost)
        clocks = more.alone + (more.alone - less.alone) * (g->cost - more.group->cost) /
                                  (more.group->cost - less.group->cost);
    emu_shortened_free(&one);
    emu_shortened_free(&two);
    return clocks;
}

double emu_alone_clocks(const struct emu_unit_kind *kind, const struct emu_clusters *c,
                        unsigned cluster, double weight, struct emu_unit_sum *executed)
{
    const struct emu_clock_group *g = c->member[cluster][0];
    double clocks = g->cost > LONG ? by_pieces(kind, g) : -1;
    struct unit *u;

    if (clocks >= 0)
        return emu_unit_sum_trace(executed, kind->kernel, g, kind->ops, weight) ? clocks : -1;
    u = emu_unit_new(kind);
    if (!u)
        return -1;
    if (emu_unit_launch(u, g, 0, 0))
        while (emu_unit_run(u) >= 0)
            clocks = (double)u->now;
    if (clocks >= 0 && emu_unit_sum_ops(executed, u->count, u->nops, weight))
        emu_unit_sum_add(executed, u, weight, false);
    else
        clocks = -1;
    emu_unit_free(u);
    return clocks;
}

double emu_alone_slowdown(const struct emu_unit_kind *kind, const struct emu_clusters *c,
                          unsigned cluster, unsigned copies, double alone)
{
    const unsigned members = c->members[cluster];
    struct emu_turn turn[EMU_UNIT_GROUPS];
    struct emu_shortened pieces = {0};
    struct unit *u = emu_unit_new(kind);
    double clocks = 0;
    bool ok = u != NULL;

    for (unsigned i = 0; i < copies; i++)
        turn[i] = (struct emu_turn){.group = c->member[cluster][i % members], .tag = i / members};
    if (c->cost[cluster] > LONG &&
        emu_shorten(&pieces, kind, PIECE / c->cost[cluster], turn, copies))
        alone = turn[0].alone;
    for (unsigned i = 0; ok && i < copies; i++)
        ok = emu_unit_launch(u, turn[i].group, 0, turn[i].tag);
    while (ok && emu_unit_run(u) >= 0)
        clocks = (double)u->now;
    emu_unit_free(u);
    emu_shortened_free(&pieces);
    return clocks / alone;
}
