/* Finds for a workgroup of a launch the recorded one that is most like it, if not itself. */
#include "stand_in.h"

static uint64_t tag_of(const struct emu_clock_recorder *r, uint64_t period, uint64_t i)
{
    return period ? i / r->grid[0] * period + i % r->grid[0] % period : i;
}

/* Of a cluster's members the nearest along x, where memory is shared by period, and of these one
 * with the first workgroup's memory, for all with a tag share that. */
static const struct emu_clock_group *member_for(const struct emu_clock_recorder *r,
                                                const struct emu_clusters *c, unsigned cluster,
                                                uint64_t period, uint64_t i)
{
    const struct emu_clock_group *const *member = c->member[cluster];
    const uint64_t width = period ? period : 1, mine = i % r->grid[0] / width;
    uint64_t best = UINT64_MAX;
    unsigned found = 0;

    for (unsigned k = 0; k < c->members[cluster]; k++) {
        const uint64_t place = member[k]->number % r->grid[0] / width,
                       steps = place > mine ? place - mine : mine - place,
                       far = 2 * steps + (tag_of(r, period, member[k]->number) != 0);

        found = far < best ? k : found;
        best = far < best ? far : best;
    }
    return member[found];
}

struct emu_stand_in emu_stand_in(const struct emu_clock_recorder *r, const struct emu_clusters *c,
                                 uint64_t period, uint64_t i)
{
    const struct emu_between b = emu_clusters_find(c, emu_clock_cost(r, i));
    const unsigned cluster = b.part < 0.5 ? b.lower : b.upper;

    if (r->groups == r->workgroups && r->group[i]->done && !r->group[i]->failed)
        return (struct emu_stand_in){r->group[i], 0, cluster};
    return (struct emu_stand_in){member_for(r, c, cluster, period, i), tag_of(r, period, i),
                                 cluster};
}
