/* Parts of the clock whose answers are known: tables, rounds over the chip, costs between samples.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "clock.h"
#include "clock_params.h"
#include "clusters.h"
#include "common_lines.h"
#include "pieces.h"
#include "tap.h"

static void tables(void)
{
    static const char *const names[] = {
#define FIELD(name, unit, least, most, what) #name,
#include "clock_fields.def"
#undef FIELD
    };
    static const char *const gpus[] = {"gfx90a",  "gfx942",  "gfx950",
                                       "gfx1100", "gfx1151", "gfx1201"};

    for (int family = 0; family < EMU_FAMILIES; family++) {
        size_t wrong = 0, bare = 0;

        for (size_t i = 0; i < emu_clock_origins(); i++) {
            const struct emu_clock_origin o = emu_clock_origin((enum emu_family)family, i);

            wrong += !o.name || strcmp(o.name, names[i]) != 0;
            bare += !o.source || !*o.source || !strchr("MVLCD?", o.tag);
        }
        ok(wrong == 0, "%s", gpus[family]);
        ok(bare == 0, "each line has a tag and a source");
    }
    ok(emu_clock_extrapolates("gfx90a"), "gfx90a is extrapolated");
    ok(!emu_clock_extrapolates("gfx942"), "gfx942 is not");
    ok(!emu_clock_extrapolates("gfx942:sramecc+:xnack-"), "nor with its features");
    ok(!emu_clock_extrapolates("gfx1100"), "gfx1100 is not");
    ok(emu_clock_extrapolates("gfx1102"), "gfx1102, which has the table of another, is");
    ok(emu_clock_extrapolates("gfx1201"), "gfx1201 is");
}

static void frequency(void)
{
    double before = 3;

    for (int i = 0; i <= 100; i++) {
        const double f = emu_clock_frequency(EMU_GFX942, i / 100.0);

        if (f > before || f < 0.8) {
            ok(false, "the frequency falls with the load");
            return;
        }
        before = f;
    }
    ok(fabs(emu_clock_frequency(EMU_GFX942, 0.72) - 1.11) < 0.005, "1.11 GHz where AITER has it");
    ok(fabs(emu_clock_frequency(EMU_GFX942, 0.42) - 1.37) < 0.07, "1.37 GHz where CK has it");
    ok(fabs(emu_clock_frequency(EMU_GFX942, 0.31) - 1.59) < 0.1, "1.59 GHz where AOTriton has it");
    ok(true, "the frequency falls with the load");
}

static double run(struct emu_chip *c, unsigned groups, double each)
{
    struct emu_chip_time t = {.cycles = 0};
    float *alone = malloc(groups * sizeof *alone);

    for (unsigned i = 0; alone && i < groups; i++)
        alone[i] = (float)each;
    c->alone = alone;
    c->workgroups = groups;
    if (!alone || !emu_chip_run(c, &t))
        t.cycles = -1;
    free(alone);
    return t.cycles;
}

static void rounds(void)
{
    struct emu_chip c = {.units = 8, .dies = 2, .resident = 1, .engines = 2, .turnaround = 10};

    c.slow[1] = 1;
    ok(run(&c, 8, 100) == 100, "a round");
    ok(run(&c, 9, 100) == 210, "one more begins another, after the turnaround");
    c.resident = 2;
    c.slow[2] = 1.5;
    ok(fabs(run(&c, 16, 100) - 150) < 1e-6, "two on a unit share it");
    ok(fabs(run(&c, 12, 100) - 150) < 1e-6, "where they meet");
    c.oldest_first = true;
    ok(fabs(run(&c, 16, 100) - 500 / 3.0) < 1e-4, "the second takes what the older leaves");
    c.units = c.dies = 1;
    c.turnaround = 0;
    ok(fabs(run(&c, 3, 90) - 220) < 1e-4, "they do not end at once, so a third waits less");
    c.oldest_first = false;
    ok(fabs(run(&c, 3, 90) - 225) < 1e-6, "than where they share");
    c.units = 8;
    c.dies = 2;
    c.turnaround = 10;
    c.dispatch = 5;
    c.resident = 1;
    ok(run(&c, 8, 100) == 115, "an engine launches one after the other");
}

static void costs(void)
{
    struct emu_clock_group g[3] = {{.number = 0, .cost = 100, .done = true},
                                   {.number = 8, .cost = 200, .done = true},
                                   {.number = 16, .cost = 200.2, .done = true}};
    struct emu_clock_recorder r = {
        .grid = {32, 1, 1}, .workgroups = 32, .groups = 3, .group = {&g[0], &g[1], &g[2]}};
    struct emu_clusters c;
    struct emu_between b;

    emu_clusters_make(&c, &r);
    ok(c.n == 2 && c.members[1] == 2, "equal costs are one cluster");
    ok(fabs(emu_clock_cost(&r, 4) - 150) < 1e-6, "costs lie on a line between samples");
    ok(fabs(emu_clock_cost(&r, 31) - 200.2) < 1e-6, "and stay behind the last");
    b = emu_clusters_find(&c, 150);
    ok(b.lower == 0 && b.upper == 1 && fabs(b.part - 0.5) < 1e-6, "half way between clusters");
    b = emu_clusters_find(&c, 400);
    ok(b.lower == 1 && b.upper == 1 && fabs(b.scale - 2) < 1e-6, "beyond them in proportion");
}

/* A wave that takes from a counter once, and one that comes again. */
static void queues(void)
{
    struct emu_insn insn = {.flags = EMU_F_ATOMIC, .ndst = 1};
    struct emu_op op = {.insn = &insn, .cls = EMU_C_VMEM, .dwords = 2, .next = 2};
    struct emu_clock_group *g = calloc(1, sizeof *g);

    if (!g) {
        ok(false, "memory for a workgroup");
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        g->footprint.lines = 1;
        emu_clock_note(g, 0, &op, &op);
        ok(g->queue == (i == 1), i ? "the same counter again: a queue" : "a counter, once");
    }
    g->queue = false;
    insn.ndst = 0;
    g->footprint.lines = 1;
    emu_clock_note(g, 0, &op, &op);
    ok(!g->queue, "what adds and does not look is none");
    emu_clock_group_free(g);
}

enum { WORK, BARRIER, TAKE, END, OPS };

/* Two waves do as many pieces as they are told, each with one instruction of work more than the
 * last: a barrier, the first looks at the counter, another barrier, work. */
static void record_pieces(struct emu_clock_group *g, unsigned pieces)
{
    struct emu_insn insn = {0}, atomic = {.flags = EMU_F_ATOMIC, .ndst = 1};
    struct emu_op op[OPS];

    for (unsigned i = 0; i < OPS; i++)
        op[i] = (struct emu_op){.insn = i == TAKE ? &atomic : &insn,
                                .cls = i == TAKE ? EMU_C_VMEM : EMU_C_VALU,
                                .dwords = 1,
                                .next = 1};
    for (unsigned i = 0; i < 2 * (pieces + 1); i++) {
        const unsigned piece = i / 2, wave = i % 2;

        emu_clock_note(g, wave, &op[BARRIER], op);
        g->footprint.lines = 1;
        g->footprint.line[0] = 77;
        if (!wave)
            emu_clock_note(g, wave, &op[TAKE], op);
        g->footprint.lines = 0;
        emu_clock_note(g, wave, &op[BARRIER], op);
        for (unsigned k = 0; piece < pieces && k <= piece; k++)
            emu_clock_note(g, wave, &op[WORK], op);
    }
    emu_clock_note(g, 0, &op[END], op);
    emu_clock_note(g, 1, &op[END], op);
}

/* Of three workgroups the first takes three pieces of work, the others so many. */
static struct emu_clock_recorder *record_queue(unsigned others)
{
    const uint32_t grid[3] = {3, 1, 1};
    struct emu_clock_recorder *r = emu_clock_recorder_new(grid, 0, false);

    for (unsigned i = 0; i < 3; i++) {
        record_pieces(r->group[i], i ? others : 3);
        emu_clock_end_group(r, r->group[i], i, 2, r->group[i]->executed);
    }
    emu_clock_settle(r);
    return r;
}

static void pieces(void)
{
    static const struct emu_clock_op ops[OPS] = {[WORK] = {.kind = EMU_CK_VALU},
                                                 [BARRIER] = {.kind = EMU_CK_BARRIER},
                                                 [TAKE] = {.kind = EMU_CK_VMEM},
                                                 [END] = {.kind = EMU_CK_END}};
    static const unsigned records[] = {6, 6, 7, 3}; /* of wave 0 */
    static const float cost[] = {8, 9, 11, 6, 7, 7};
    struct emu_clock_recorder *r = record_queue(0);

    is_str(emu_pieces_make(r, ops, OPS), "", "pieces are told apart");
    is_int(r->workgroups, 6, "three pieces, who finds nothing more, and two who never did");
    is_int(r->takers, 3, "three take");
    is_int(r->groups, 6, "all of them recorded");
    for (unsigned i = 0; i < 4; i++) {
        const struct emu_clock_wave *w = &r->group[i]->wave[0];

        is_int(w->n, records[i], "instructions of a piece");
        ok(w->record[w->n - 1].op == END, "it ends");
        is_int(w->lines, i < 4, "and looks at the counter once");
        is_int(r->group[i]->wave[1].n, records[i] - (i < 4), "another wave has its part");
    }
    ok(memcmp(r->cost, cost, sizeof cost) == 0, "what each costs");
    is_int(r->group[4]->number, 4, "the other workgroups come last");
    emu_clock_recorder_free(r);
    r = record_queue(2);
    ok(*emu_pieces_make(r, ops, OPS), "where the second took pieces as well nobody knows how");
    emu_clock_recorder_free(r);
}

/* Workgroups of which more than their beginning is run, of x * 32 and at most `limit`,
 * where each has so many instructions. */
static unsigned run_whole(uint32_t x, unsigned limit, double cost)
{
    const uint32_t grid[3] = {x, 16, 2};
    struct emu_clock_recorder *r = emu_clock_recorder_new(grid, limit, true);
    unsigned n = 0;

    for (unsigned i = 0; i < emu_clock_ahead(r); i++)
        emu_clock_end_group(r, r->group[i], r->group[i]->number, 4, cost);
    emu_clock_plan(r);
    for (unsigned i = 0; i < r->groups; i++)
        n += !r->group[i]->glance;
    emu_clock_recorder_free(r);
    return n;
}

static void plans(void)
{
    is_int(run_whole(240, 0, 1e6), EMU_CLOCK_USUAL, "the usual number is run, where that is quick");
    is_int(run_whole(240, 0, EMU_CLOCK_LONG / 10), 10, "of long ones as many as are affordable");
    is_int(run_whole(240, 0, EMU_CLOCK_LONG), 6, "of very long ones those at the ends of the axes");
    is_int(run_whole(2, 64, EMU_CLOCK_LONG), 64, "all, where more than usual were asked for");
}

/* What workgroup `number` of a causal launch does: heads in pairs share 64 lines of keys, each
 * workgroup has a line of its own, and later tiles are longer. */
static void record_tile(struct emu_clock_recorder *r, struct emu_clock_group *g, uint64_t heads,
                        double longer)
{
    enum { KEYS = 64 };
    const uint64_t head = g->number % heads, tile = g->number / heads;
    struct emu_clock_wave *w = &g->wave[0];

    w->line = malloc((KEYS + 1) * sizeof *w->line);
    for (w->lines = 0; w->line && w->lines < KEYS; w->lines++)
        w->line[w->lines] = head / 2 * KEYS + w->lines;
    if (w->line)
        w->line[w->lines++] = 1000000 + g->number;
    emu_clock_end_group(r, g, g->number, 1, 1e5 * (1 + longer * (double)tile));
}

/* Of the workgroups of the first pair of heads so many are recorded at last. */
static unsigned run_tiles(unsigned heads, unsigned tiles, unsigned limit, double longer)
{
    const uint32_t grid[3] = {heads * tiles, 2, 1};
    struct emu_clock_recorder *r = emu_clock_recorder_new(grid, limit, true);
    unsigned first = 0, n = 0;

    for (; first < r->groups; first++)
        record_tile(r, r->group[first], heads, longer);
    emu_clock_choose_tiles(r);
    for (unsigned i = 0; i < r->groups; i++)
        n += r->group[i]->number < grid[0] && r->group[i]->number % heads < 2;
    for (; first < r->groups; first++)
        record_tile(r, r->group[first], heads, longer);
    emu_clock_settle(r);
    emu_clock_find_period(r);
    ok(r->period == heads && r->beside == 2, "%u heads in pairs: period %d, %d beside", heads,
       (int)r->period, (int)r->beside);
    emu_clock_recorder_free(r);
    return n;
}

static void tiles(void)
{
    const unsigned few = run_tiles(24, 12, 0, 0);

    ok(few < 24, "%u tiles of two heads are usual", few);
    is_int(run_tiles(24, 12, 0, 1), 24, "where they differ all are recorded");
    is_int(run_tiles(70, 6, 0, 1), 12, "of heads whose number has no small divisors, too");
    ok(run_tiles(24, 12, EMU_CLOCK_USUAL, 1) < 24, "but no more than were asked for");
}

static void names(void)
{
    for (int i = 0; i < EMU_TIME_CAUSES; i++)
        if (!*emu_time_cause_name((enum emu_time_cause)i)) {
            ok(false, "every cause has a name");
            return;
        }
    ok(!*emu_time_cause_name(EMU_TIME_CAUSES), "nothing else has a name");
    ok(true, "every cause has a name");
}

int main(void)
{
    tables();
    frequency();
    rounds();
    costs();
    queues();
    pieces();
    plans();
    tiles();
    names();
    return tap_done();
}
