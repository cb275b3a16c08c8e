/* Records workgroups of a launch for the clock, and chooses which. */
#include "clock_trace.h"

#include "common_lines.h"

#include <math.h>
#include <stdlib.h>

/* Workgroups that are run before it is known how many are affordable; that are run whole anyway,
 * because they tell how work differs along the axes. */
enum { AHEAD = 2, ENOUGH = 6 };

static bool grow(void **at, size_t *room, size_t need, size_t size)
{
    size_t n = *room ? *room * 2 : 4096;
    void *p;

    if (need <= *room)
        return true;
    n = n < need ? need : n;
    p = realloc(*at, n * size);
    if (!p)
        return false;
    *at = p;
    *room = n;
    return true;
}

/* Adds workgroup (x, y, z), unless it is there already. */
static void choose(struct emu_clock_recorder *r, unsigned limit, uint64_t x, uint64_t y, uint64_t z)
{
    uint64_t number = (z * r->grid[1] + y) * r->grid[0] + x;

    for (unsigned i = 0; i < r->groups; i++)
        if (r->group[i]->number == number)
            return;
    if (r->groups == limit)
        return;
    r->group[r->groups] = calloc(1, sizeof *r->group[0]);
    if (r->group[r->groups])
        r->group[r->groups++]->number = number;
}

/* A number that shares its die, and what else goes by small powers of two, with 0. */
static uint64_t even(uint64_t x)
{
    return x < 16 ? x : x / 16 * 16;
}

/*
 * Those that may use the same memory as the first: neighbours, and where x counts heads and tiles
 * of a head, its other tiles: the number of heads divides that of all.
 */
static void choose_near(struct emu_clock_recorder *r, unsigned limit)
{
    if (r->grid[1] > 1)
        choose(r, limit, 0, 1, 0);
    if (r->grid[2] > 1)
        choose(r, limit, 0, 0, 1);
    for (uint64_t x = 1; x < r->grid[0] && x <= 64; x *= 2)
        choose(r, limit, x, 0, 0);
    for (uint64_t part = 2; part <= 32; part += part < 16 ? 1 : 4)
        if (r->grid[0] % part == 0)
            choose(r, limit, r->grid[0] / part, 0, 0);
    for (uint64_t x = 3; x < r->grid[0] && x <= 64; x++)
        if (r->grid[0] % x == 0)
            choose(r, limit, x, 0, 0);
}

/*
 * Work mostly differs along one axis of a grid: x at its ends and between them, then y and z, each
 * with the others in the middle.
 */
static void choose_all(struct emu_clock_recorder *r, unsigned limit)
{
    const uint64_t last[3] = {r->grid[0] - 1, r->grid[1] - 1, r->grid[2] - 1};

    for (uint64_t i = 0; r->workgroups <= limit && i < r->workgroups; i++)
        choose(r, limit, i, 0, 0);
    choose(r, limit, 0, 0, 0);
    choose(r, limit, last[0], last[1], last[2]);
    choose(r, limit, last[0], 0, 0);
    choose(r, limit, 0, last[1], 0);
    choose(r, limit, 0, 0, last[2]);
    choose(r, limit, even(last[0] / 2), 0, 0);
    choose(r, limit, 0, last[1] / 2, 0);
    choose(r, limit, 0, 0, last[2] / 2);
    choose(r, limit, even(last[0] / 4), 0, 0);
    choose(r, limit, even(last[0] - last[0] / 4), 0, 0);
    choose(r, limit, even(last[0] / 8), 0, 0);
    choose(r, limit, even(last[0] - last[0] / 8), 0, 0);
    choose(r, limit, last[0] / 2, last[1] / 2, last[2] / 2);
    choose_near(r, limit);
    for (uint64_t i = 1; i < 16; i++)
        choose(r, limit, even(last[0] * i / 16), 0, 0);
}

static int by_number(const void *a, const void *b)
{
    const struct emu_clock_group *const *x = a, *const *y = b;

    return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

static void sort(struct emu_clock_recorder *r)
{
    qsort(r->group, r->groups, sizeof *r->group, by_number);
}

/* Records all other workgroups as well. */
static void choose_rest(struct emu_clock_recorder *r, bool spare)
{
    const unsigned chosen = r->groups;

    sort(r);
    for (uint64_t i = 0, k = 0; i < r->workgroups; i++)
        if (k < chosen && r->group[k]->number == i)
            k++;
        else if ((r->group[r->groups] = calloc(1, sizeof *r->group[0]))) {
            r->group[r->groups]->spare = spare;
            r->group[r->groups++]->number = i;
        }
    sort(r);
}

struct emu_clock_recorder *emu_clock_recorder_new(const uint32_t grid[3], unsigned limit,
                                                  bool samples_only)
{
    struct emu_clock_recorder *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->samples_only = samples_only;
    r->whole = !limit;
    memcpy(r->grid, grid, sizeof r->grid);
    r->workgroups = (uint64_t)grid[0] * grid[1] * grid[2];
    limit = limit < EMU_CLOCK_SAMPLES ? limit : EMU_CLOCK_SAMPLES;
    r->most = limit ? limit : EMU_CLOCK_MOST;
    choose_all(r, limit ? limit : EMU_CLOCK_USUAL);
    if (r->whole && !samples_only && r->workgroups <= EMU_CLOCK_SAMPLES)
        choose_rest(r, true);
    if (!samples_only || r->workgroups <= EMU_CLOCK_WHOLE)
        r->cost = calloc(r->workgroups, sizeof *r->cost);
    if (r->groups && (samples_only || r->cost))
        return r;
    emu_clock_recorder_free(r);
    return NULL;
}

void emu_clock_group_free(struct emu_clock_group *g)
{
    for (unsigned i = 0; g && i < EMU_MAX_WAVES; i++) {
        free(g->wave[i].record);
        free(g->wave[i].line);
    }
    if (g)
        free(g->taking);
    free(g);
}

void emu_clock_recorder_free(struct emu_clock_recorder *r)
{
    if (!r)
        return;
    for (unsigned i = 0; i < r->groups; i++)
        emu_clock_group_free(r->group[i]);
    free(r->cost);
    free(r);
}

static uint64_t lowest_line(const struct emu_clock_recorder *r)
{
    uint64_t low = UINT64_MAX;

    for (unsigned i = 0; i < r->groups; i++)
        for (unsigned j = 0; j < r->group[i]->waves; j++)
            for (size_t k = 0; k < r->group[i]->wave[j].lines; k++)
                if (r->group[i]->wave[j].line[k] < low)
                    low = r->group[i]->wave[j].line[k];
    return low / 64 * 64;
}

void emu_clock_rebase(struct emu_clock_recorder *r)
{
    const uint64_t low = lowest_line(r);

    for (unsigned i = 0; i < r->groups; i++)
        for (unsigned j = 0; j < r->group[i]->waves; j++)
            for (size_t k = 0; k < r->group[i]->wave[j].lines; k++)
                r->group[i]->wave[j].line[k] -= low;
}

unsigned emu_clock_ahead(const struct emu_clock_recorder *r)
{
    return r->groups < AHEAD ? r->groups : AHEAD;
}

void emu_clock_plan(struct emu_clock_recorder *r)
{
    const unsigned ahead = emu_clock_ahead(r);
    double cost = 0, affordable;

    for (unsigned i = 0; i < ahead; i++)
        cost += r->group[i]->cost / ahead;
    affordable = fmax(cost > 0 ? EMU_CLOCK_LONG / cost : r->groups, ENOUGH);
    for (unsigned i = ahead; i < r->groups && r->groups <= EMU_CLOCK_USUAL; i++)
        r->group[i]->glance = i >= affordable;
}

struct emu_clock_group *emu_clock_wanted(struct emu_clock_recorder *r, uint64_t number)
{
    for (unsigned i = 0; i < r->groups; i++)
        if (r->group[i]->number == number)
            return r->group[i]->spare && atomic_load(&r->much) ? NULL : r->group[i];
    return NULL;
}

bool emu_clock_light(struct emu_clock_recorder *r)
{
    const double wave = 2000, launch = 100e6; /* instructions, of which a core runs 20e6 a second */
    double cost = 0, waves = 0, all;
    unsigned n = 0;

    for (unsigned i = 0; i < r->groups; i++)
        if (r->group[i]->done) {
            cost += r->group[i]->cost;
            waves += r->group[i]->waves;
            n++;
        }
    all = n ? cost / n * (double)r->workgroups : 0;
    if (n && r->whole && all <= EMU_CLOCK_WHOLE) {
        if (r->workgroups <= EMU_CLOCK_SAMPLES)
            choose_rest(r, false);
        return true;
    }
    return n && cost <= wave * waves && all <= launch;
}

/* Does work differ along x? */
static bool differ(const struct emu_clock_recorder *r)
{
    const double first = r->group[0]->cost;

    for (unsigned i = 1; i < r->groups; i++)
        if (r->group[i]->done && r->group[i]->number < r->grid[0] &&
            fabs(r->group[i]->cost - first) > first * EMU_CLOCK_SAME)
            return true;
    return false;
}

void emu_clock_choose_tiles(struct emu_clock_recorder *r)
{
    double cost = 0;
    unsigned room;
    uint64_t tiles, step;

    sort(r);
    emu_clock_lay_along_x(r);
    if (r->groups >= r->most || !differ(r) || r->group[0]->queue)
        return;
    emu_clock_find_period(r);
    if (r->period < 2)
        return;
    for (unsigned i = 0; i < r->groups; i++)
        cost += r->group[i]->cost / r->groups;
    room = (unsigned)fmin(r->most, EMU_CLOCK_LONG / cost);
    tiles = (r->grid[0] + r->period - 1) / r->period;
    step = (tiles + r->most - r->groups - 1) / (r->most - r->groups);
    for (uint64_t head = 0; head < r->beside; head++)
        for (uint64_t i = 0; i < tiles && r->groups < room; i += step)
            choose(r, room, i * r->period + head, 0, 0);
}

/* Those that were recorded before the launch was known to be much work. */
static void drop_spare(struct emu_clock_recorder *r)
{
    const unsigned n = r->groups;

    r->groups = 0;
    for (unsigned i = 0; i < n; i++)
        if (r->group[i]->spare)
            emu_clock_group_free(r->group[i]);
        else
            r->group[r->groups++] = r->group[i];
}

void emu_clock_settle(struct emu_clock_recorder *r)
{
    bool known = r->cost != NULL;

    if (atomic_load(&r->much))
        drop_spare(r);
    sort(r);
    for (uint64_t i = 0; known && i < r->workgroups; i++)
        known = r->cost[i] > 0;
    if (known)
        return;
    free(r->cost);
    r->cost = NULL;
}

bool emu_clock_takes(const struct emu_op *op)
{
    return op->cls == EMU_C_VMEM && op->insn->flags & EMU_F_ATOMIC && op->insn->ndst;
}

/* An atomic of one place whose old value comes back; for the second time: who has taken a piece of
 * work comes for another. The emulator's first workgroup does all of it. */
static void note_taking(struct emu_clock_group *g, unsigned wave, const struct emu_op *op,
                        const struct emu_op *ops)
{
    const uint64_t line = g->footprint.line[0];
    const uint32_t number = (uint32_t)(op - ops);
    struct emu_clock_taking *last = NULL;

    if (!emu_clock_takes(op) || g->footprint.lines != 1)
        return;
    if (!grow((void **)&g->taking, &g->taking_room, g->takings + 1, sizeof *g->taking)) {
        g->failed = true;
        return;
    }
    for (size_t i = g->takings; i-- > 0 && !last;)
        last = g->taking[i].wave == wave ? &g->taking[i] : NULL;
    if (last && last->op == number && last->line == line && !g->queue) {
        g->queue = true;
        g->counter = line;
    }
    g->taking[g->takings++] = (struct emu_clock_taking){.line = line,
                                                        .at = g->wave[wave].n,
                                                        .executed = g->executed,
                                                        .op = number,
                                                        .wave = (uint16_t)wave,
                                                        .recorded = !g->full};
    g->full = g->full || (g->queue && g->executed > EMU_CLOCK_QUEUE);
}

/* What the instruction did to memory. */
static void take_footprint(struct emu_clock_group *g, struct emu_clock_wave *w,
                           struct emu_clock_record *x)
{
    struct emu_footprint *f = &g->footprint;

    x->lds_cycles = (uint16_t)f->lds_cycles;
    x->lds_ideal = (uint16_t)f->lds_ideal;
    if (f->lines && grow((void **)&w->line, &w->line_room, w->lines + f->lines, sizeof *w->line)) {
        memcpy(w->line + w->lines, f->line, f->lines * sizeof *w->line);
        w->lines += f->lines;
        x->lines = (uint16_t)f->lines;
    } else if (f->lines) {
        g->failed = true;
    }
    f->lds_cycles = f->lds_ideal = f->lines = 0;
}

void emu_clock_note(struct emu_clock_group *g, unsigned wave, const struct emu_op *op,
                    const struct emu_op *ops)
{
    struct emu_clock_wave *w = &g->wave[wave];
    const struct emu_op *after = op + op->next;
    bool first = true;

    note_taking(g, wave, op, ops);
    g->executed++;
    if (g->full) {
        g->footprint.lds_cycles = g->footprint.lds_ideal = g->footprint.lines = 0;
        return;
    }
    do {
        struct emu_clock_record *x;

        if (!grow((void **)&w->record, &w->room, w->n + 1, sizeof *x)) {
            g->failed = true;
            return;
        }
        x = &w->record[w->n++];
        *x = (struct emu_clock_record){.op = (uint32_t)(op - ops)};
        if (first && (op->cls == EMU_C_LDS || op->cls == EMU_C_VMEM))
            take_footprint(g, w, x);
        first = false;
        op += op->dwords ? op->dwords : 1;
    } while (op < after);
}

void emu_clock_end_group(struct emu_clock_recorder *r, struct emu_clock_group *g, uint64_t number,
                         unsigned waves, double cost)
{
    /* by the sum of all, whichever end first */
    if ((double)(atomic_fetch_add(&r->executed, (uint64_t)cost) + (uint64_t)cost) > EMU_CLOCK_WHOLE)
        atomic_store(&r->much, true);
    if (r->cost)
        r->cost[number] = (float)cost;
    if (g) {
        g->cost = cost;
        g->waves = waves;
        g->done = !g->cut;
    }
}
