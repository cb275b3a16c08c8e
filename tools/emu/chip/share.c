/* What the workgroups on the other units leave of L2 and memory, and what they have fetched. */
#include "share.h"

#include "common_lines.h"

#include <string.h>

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t t = a % b;

        a = b;
        b = t;
    }
    return a;
}

/* Of the lines that a workgroup touches. */
struct reuse {
    double fresh;  /* part that no other one on its die fetches at the same time */
    double unique; /* part that no other one of the launch touches */
    struct emu_lines lines;
};

/* The mean part of its lines that one workgroup brings in, of which each is also touched by so many
 * others for every sample that touches it. */
static double part_of(const struct reuse *reuse, double others)
{
    double sum = 0;

    for (size_t i = 0; i < reuse->lines.n; i++)
        sum += 1 / (1 + (double)reuse->lines.hits[i] * others);
    return reuse->lines.n ? sum / (double)reuse->lines.n : 1;
}

/* How many share on the axis: those beside every first one, up to half way between the last place
 * that does and the next that was seen not to. */
static double sharers_of(const struct emu_places *p)
{
    const double steps = (double)(p->last + p->next) / 2 / (double)p->first;

    return p->first == 1 ? steps : (double)p->beside * (steps + 1) - 1;
}

/* The workgroups along one axis: which lines they have in common with the first, and how many of
 * them are on its die at once, of `active` on the chip. */
static void look_along(const struct emu_clock_recorder *r, unsigned axis, unsigned dies,
                       uint64_t active, struct reuse *out)
{
    const uint64_t n = r->grid[axis], before = axis == 0   ? 1
                                               : axis == 1 ? r->grid[0]
                                                           : (uint64_t)r->grid[0] * r->grid[1];
    const uint64_t step = before ? before : 1, other_dies = dies / common_divisor(step, dies);
    const uint64_t every = other_dies ? other_dies : 1; /* of them are on the same die */
    const uint64_t at_once = (active + step * every - 1) / (step * every);
    const uint64_t on_die = (n + every - 1) / every;
    struct emu_places places = emu_places_none();
    double others, part;

    memset(out->lines.hits, 0, out->lines.n * sizeof *out->lines.hits);
    for (unsigned i = 1; i < r->groups; i++) {
        const struct emu_clock_group *g = r->group[i];

        if (g->number % step == 0 && g->number / step < n && g->number % dies == 0 &&
            (g->done || g->cut))
            emu_places_note(&places, g->number / step / every, emu_lines_shared(&out->lines, g));
    }
    if (!places.sharing)
        return;
    if (places.next > on_die)
        places.next = on_die;
    others = sharers_of(&places) / places.sharing;
    part = part_of(out, at_once < on_die ? others * (double)at_once / (double)on_die : others);
    out->fresh = part < out->fresh ? part : out->fresh;
    part = part_of(out, others);
    out->unique = part < out->unique ? part : out->unique;
}

struct emu_unit_reuse emu_unit_reuse(const struct emu_clock_recorder *r,
                                     const struct emu_clock_gpu *g, unsigned units,
                                     unsigned resident)
{
    const unsigned dies = (unsigned)g->xcds;
    struct reuse reuse = {.fresh = 1, .unique = 1};
    struct emu_unit_reuse out;
    const bool ok = emu_lines_of(&reuse.lines, r->group[0]) && !r->group[0]->number;

    for (unsigned axis = 0; axis < 3 && ok; axis++)
        look_along(r, axis, dies, (uint64_t)units * resident, &reuse);
    out.fresh = reuse.fresh;
    out.bytes = 64.0 * (double)reuse.lines.n * (double)r->workgroups * reuse.unique;
    emu_lines_free(&reuse.lines);
    out.active = (double)(r->workgroups < units ? r->workgroups : units);
    return out;
}

struct emu_unit_share emu_unit_share(const struct emu_unit_reuse *reuse,
                                     const struct emu_clock_gpu *g, double gigahertz)
{
    const double active = reuse->active;
    const bool cached = g->mall_bytes > 0 && reuse->bytes <= g->mall_bytes;
    struct emu_unit_share s;

    s.far_share = reuse->fresh;
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
