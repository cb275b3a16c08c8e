/* Finds for a workgroup of a launch the recorded one that is most like it, if not itself. */
#include "stand_in.h"

/* Tiles of a head that count as much as the memory of another. */
enum { OTHER_MEMORY = 2 };

uint64_t emu_stand_in_tag(const struct emu_clock_recorder *r, uint64_t i)
{
    const uint64_t row = i / r->grid[0], x = i % r->grid[0];

    return r->period ? row * r->period + x % r->period / r->beside : i;
}

/* Which of those beside each other that share memory it is. */
static uint64_t beside(const struct emu_clock_recorder *r, uint64_t i)
{
    return r->period ? i % r->grid[0] % r->period % r->beside : 0;
}

/* Of a cluster's members the nearest along x, where memory is shared by period, and rather one with
 * the first workgroup's memory, for all with a tag share that; of these the one of the same place
 * beside others, which has the same memory of its own. */
static const struct emu_clock_group *member_for(const struct emu_clock_recorder *r,
                                                const struct emu_clusters *c, unsigned cluster,
                                                uint64_t i)
{
    const struct emu_clock_group *const *member = c->member[cluster];
    const uint64_t width = r->period ? r->period : 1, mine = i % r->grid[0] / width;
    uint64_t best = UINT64_MAX;
    unsigned found = 0;

    for (unsigned k = 0; k < c->members[cluster]; k++) {
        const uint64_t place = member[k]->number % r->grid[0] / width,
                       steps = place > mine ? place - mine : mine - place,
                       other = emu_stand_in_tag(r, member[k]->number) ? 4 * OTHER_MEMORY + 2 : 0,
                       far = 4 * steps + other +
                             (beside(r, member[k]->number) != beside(r, i) ? 1 : 0);

        found = far < best ? k : found;
        best = far < best ? far : best;
    }
    return member[found];
}

struct emu_stand_in emu_stand_in(const struct emu_clock_recorder *r, const struct emu_clusters *c,
                                 uint64_t i)
{
    const struct emu_between b = emu_clusters_find(c, emu_clock_cost(r, i));
    const unsigned cluster = b.part < 0.5 ? b.lower : b.upper;

    if (r->groups == r->workgroups && r->group[i]->done && !r->group[i]->failed)
        return (struct emu_stand_in){r->group[i], 0, cluster};
    return (struct emu_stand_in){member_for(r, c, cluster, i), emu_stand_in_tag(r, i), cluster};
}
