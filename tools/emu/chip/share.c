/* What the workgroups on the other units leave of L2 and memory, and what they have fetched. */
#include "share.h"

#include <stdlib.h>
#include <string.h>

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

/* Lines of x (ascending) that are also lines of y; with hits they are noted. */
static size_t count_common(uint16_t *hits, const uint64_t *x, size_t nx, const uint64_t *y,
                           size_t ny)
{
    size_t common = 0;

    for (size_t i = 0, j = 0; i < nx && j < ny;) {
        if (x[i] == y[j]) {
            common++;
            if (hits)
                hits[i]++;
            i++;
        } else if (x[i] < y[j]) {
            i++;
        } else {
            j++;
        }
    }
    return common;
}

/*
 * Notes which lines of x (ascending) are also lines of y, if there are many; false: they are few.
 * Of a workgroup whose beginning alone was recorded the rest is taken to be like that: the first
 * workgroup's lines are then all its, too.
 */
static bool mark_common(uint16_t *hits, const uint64_t *x, size_t nx, const uint64_t *y, size_t ny,
                        bool cut)
{
    const size_t common = count_common(NULL, x, nx, y, ny);

    if (common * 4 > nx) {
        count_common(hits, x, nx, y, ny);
        return true;
    }
    if (!cut || common * 4 <= ny)
        return false;
    for (size_t i = 0; i < nx; i++)
        hits[i]++;
    return true;
}

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
    double fresh;            /* part that no other one on its die fetches at the same time */
    double unique;           /* part that no other one of the launch touches */
    uint64_t period, beside; /* as of struct emu_clock_recorder */
    uint64_t *line;
    uint16_t *hits;
    size_t lines;
};

/* The mean part of its lines that one workgroup brings in, of which each is also touched by so many
 * others for every sample that touches it. */
static double part_of(const struct reuse *reuse, double others)
{
    double sum = 0;

    for (size_t i = 0; i < reuse->lines; i++)
        sum += 1 / (1 + (double)reuse->hits[i] * others);
    return reuse->lines ? sum / (double)reuse->lines : 1;
}

/* Places on an axis, in steps from the first workgroup, that were looked at. */
struct places {
    unsigned sharing;           /* samples with much in common with the first */
    uint64_t first, last, next; /* of them; next: the first place behind that is none, or the end */
    uint64_t beside;            /* places that share from 0 on, where `first` is beyond them */
};

/* How many share on the axis: those beside every first one, up to half way between the last place
 * that does and the next that was seen not to. */
static double sharers_of(const struct places *p)
{
    const double steps = (double)(p->last + p->next) / 2 / (double)p->first;

    return p->first == 1 ? steps : (double)p->beside * (steps + 1) - 1;
}

/* Heads that share keys and values lie beside each other, and share them again a period later. */
static void note_place(struct places *p, uint64_t at, bool shares)
{
    if (shares) {
        p->sharing++;
        p->first = !p->first || (p->first == 1 && p->beside > 1) ? at : p->first;
        p->last = at;
        if (p->next <= at)
            p->next = UINT64_MAX;
        return;
    }
    if (p->first == 1 && p->beside == 1)
        p->beside = at;
    if (p->sharing && p->next == UINT64_MAX && at % p->first == 0)
        p->next = at;
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
    struct places places = {.next = UINT64_MAX, .beside = 1};
    double others, part;

    memset(out->hits, 0, out->lines * sizeof *out->hits);
    for (unsigned i = 1; i < r->groups; i++) {
        const uint64_t number = r->group[i]->number;
        uint64_t *line;
        size_t lines;

        if (number % step || number / step >= n || number % dies ||
            !(r->group[i]->done || r->group[i]->cut))
            continue;
        line = distinct_lines(r->group[i], &lines);
        note_place(
            &places, number / step / every,
            line && mark_common(out->hits, out->line, out->lines, line, lines, r->group[i]->cut));
        free(line);
    }
    if (!places.sharing)
        return;
    if (places.next > on_die)
        places.next = on_die;
    if (!axis && every == 1) {
        out->period = places.first;
        out->beside = places.first > 1 ? places.beside : 1;
    }
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

    reuse.line = distinct_lines(r->group[0], &reuse.lines);
    reuse.hits = calloc(reuse.lines + 1, sizeof *reuse.hits);
    for (unsigned axis = 0; axis < 3 && reuse.line && reuse.hits && !r->group[0]->number; axis++)
        look_along(r, axis, dies, (uint64_t)units * resident, &reuse);
    free(reuse.line);
    free(reuse.hits);
    out.fresh = reuse.fresh;
    out.bytes = 64.0 * (double)reuse.lines * (double)r->workgroups * reuse.unique;
    out.period = reuse.period;
    out.beside = reuse.beside;
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
