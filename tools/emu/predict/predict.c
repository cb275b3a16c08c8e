/*
 * Predicts a launch: simulates a unit full of each kind of workgroup under every policy, spreads
 * all workgroups over the chip with what that says, and adds up where the clocks went.
 */
#include "predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alone.h"
#include "chip.h"
#include "clock_result.h"
#include "clusters.h"
#include "common_lines.h"
#include "detail.h"
#include "doubt.h"
#include "everything.h"
#include "histories.h"
#include "orders.h"
#include "pieces.h"
#include "resident.h"
#include "share.h"
#include "turns.h"
#include "unit.h"

/* Orders of waves, and clocks between the launches of a unit's workgroups: nobody knows either. */
static const struct variant {
    enum emu_unit_policy policy;
    double offset;
} variants[] = {
    {EMU_UNIT_OLDEST, 0},
    {EMU_UNIT_ROTATE, 0},
    {EMU_UNIT_MATRIX, 0},
    {EMU_UNIT_OLDEST, 777},
};

enum { VARIANTS = sizeof variants / sizeof *variants };

/* Instructions that are simulated, of which a core does 2e6 a second and more, of several units. */
#define SMALL 4e5
/* The same of a unit with all that it gets, where others do the same. */
#define REPEATED 2e6
enum { SEVERAL = 5 };     /* units */
enum { GLANCE = 200000 }; /* of a workgroup, for how busy it keeps the matrix pipe */

struct job {
    const struct emu_launch *launch;
    const struct emu_clock_gpu *gpu;
    const struct emu_time_options *options;
    struct emu_clock_op *ops;
    struct emu_clusters clusters;
    struct emu_unit_reuse reuse;
    struct emu_unit_share share;
    struct emu_chip chip;
    unsigned resident; /* workgroups on a unit as long as there are enough */
    double ghz;
    double alone[EMU_CLOCK_SAMPLES];  /* clocks of a workgroup of each cluster */
    double weight[EMU_CLOCK_SAMPLES]; /* workgroups that each cluster stands for */
    double work;                      /* instructions of the launch */
    double doubt;                     /* of cycles, by what the parameters may be off by */
    struct emu_chip_time time[VARIANTS];
    struct emu_unit_sum executed; /* over all workgroups, each alone */
    struct emu_unit_sum sum;      /* the same by where the clocks go, mean of the variants */
};

static struct emu_unit_kind kind_of(const struct job *j, unsigned v)
{
    return (struct emu_unit_kind){.kernel = j->launch->kernel,
                                  .ops = j->ops,
                                  .gpu = j->gpu,
                                  .policy = variants[v].policy,
                                  .share = &j->share};
}

/* The cluster that most of the work is in. */
static unsigned heaviest(const struct job *j)
{
    unsigned most = 0;

    for (unsigned i = 1; i < j->clusters.n; i++)
        if (j->weight[i] * j->clusters.cost[i] > j->weight[most] * j->clusters.cost[most])
            most = i;
    return most;
}

/* The frequency follows from how busy the matrix pipe is; what other units do to this one, from the
 * frequency. */
static bool find_share(struct job *j)
{
    const struct emu_clock_group *g = j->clusters.member[heaviest(j)][0];
    struct emu_unit_kind kind = kind_of(j, 0);
    struct unit *u;
    bool good;

    j->share = emu_unit_share(&j->reuse, j->gpu, j->ghz);
    u = emu_unit_new(&kind);
    good = u && emu_unit_launch(u, g, 0, 0);
    if (good) {
        u->stop = GLANCE;
        emu_unit_run(u);
        j->ghz = emu_clock_frequency(
            kind.kernel->family,
            fmin(u->matrix_busy * j->resident / ((double)u->now * j->gpu->simds + 1), 1));
    }
    emu_unit_free(u);
    j->share = emu_unit_share(&j->reuse, j->gpu, j->ghz);
    return good;
}

/* What all workgroups execute, without the time that it takes. */
static bool count_executed(struct job *j)
{
    bool good = true;

    for (unsigned i = 0; good && i < j->clusters.n; i++)
        good = emu_unit_sum_trace(&j->executed, j->launch->kernel, j->clusters.member[i][0], j->ops,
                                  j->weight[i]);
    return good;
}

/* Durations of a workgroup alone, and what all of them execute. */
static bool simulate_alone(struct job *j)
{
    const struct emu_unit_kind kind = kind_of(j, 0);
    bool good = true;

    for (unsigned i = 0; good && i < j->clusters.n; i++) {
        j->alone[i] = emu_alone_clocks(&kind, &j->clusters, i, j->weight[i], &j->executed);
        good = j->alone[i] >= 0;
    }
    return good;
}

/* How much longer workgroups take beside others. */
static bool simulate_full(struct job *j)
{
    const struct emu_unit_kind kind = kind_of(j, 0);
    const unsigned most = heaviest(j);
    double slowdown;

    for (unsigned n = 1; n <= j->chip.resident; n++)
        j->chip.slow[n] = 1;
    if (j->resident == 1)
        return true;
    slowdown = emu_alone_slowdown(&kind, &j->clusters, most, j->resident, j->alone[most]);
    for (unsigned n = 1; n <= j->chip.resident; n++)
        j->chip.slow[n] = 1 + (slowdown - 1) * (n - 1) / (double)(j->resident - 1);
    return slowdown > 0;
}

static double between(const double *x, const struct emu_between *b)
{
    return (x[b->lower] + (x[b->upper] - x[b->lower]) * b->part) * b->scale;
}

/* How many workgroups each cluster stands for. */
static void weigh(struct job *j)
{
    const struct emu_clock_recorder *r = j->launch->clock;

    for (uint64_t i = 0; i < r->workgroups; i++) {
        const struct emu_between b = emu_clusters_find(&j->clusters, emu_clock_cost(r, i));

        j->work += emu_clock_cost(r, i);
        j->weight[b.lower] += (1 - b.part) * b.scale;
        j->weight[b.upper] += b.part * b.scale;
    }
}

/*
 * Variants from the first one on that differ: an offset takes two workgroups on a unit, an order
 * two waves on a SIMD.
 */
static unsigned distinct(const struct job *j)
{
    const struct emu_kernel *k = j->launch->kernel;
    const unsigned simds = EMU_UNIT_SIMDS / (k->family >= EMU_GFX11 ? 2 : 1);

    if (j->resident > 1)
        return VARIANTS;
    return j->clusters.member[0][0]->waves > simds ? VARIANTS - 1 : 1;
}

/* Variant v stands for so many. */
static unsigned stands_for(const struct job *j, unsigned v)
{
    return v ? 1 : 1 + VARIANTS - distinct(j);
}

static void repeat_first(struct job *j)
{
    for (unsigned v = distinct(j); v < VARIANTS; v++)
        j->time[v] = j->time[0];
}

static struct emu_turn_source source_of(const struct job *j)
{
    return (struct emu_turn_source){
        .recorder = j->launch->clock, .clusters = &j->clusters, .alone = j->alone};
}

/* How many units are simulated: several, where they are done soon, for each of them is a little
 * different. */
static unsigned units_of(const struct job *j)
{
    const double each = j->work / (double)j->chip.units;
    const unsigned n = each * SEVERAL < SMALL ? SEVERAL : each * 2 < SMALL ? 2 : 1;

    return n < j->chip.units ? n : j->chip.units;
}

/* Room for what happens on a unit, where that was asked for. */
static size_t events_of(const struct job *j)
{
    const size_t room = j->options->event_limit ? j->options->event_limit : 1000000;

    return j->options->flags & EMU_TIME_EVENTS ? room : 0;
}

/* Waves that take turns share a unit evenly; else the oldest workgroup comes before the others. */
static struct emu_chip chip_of(const struct job *j, unsigned v)
{
    struct emu_chip c = j->chip;

    c.oldest_first = variants[v].policy != EMU_UNIT_ROTATE;
    return c;
}

/* Looks closely at some units under a variant: corrects the rounds, and says where the clocks
 * went. */
static bool look_closer(struct job *j, const struct emu_turns *turns, unsigned v)
{
    const struct emu_unit_kind kind = kind_of(j, v);
    const struct emu_chip chip = chip_of(j, v);
    struct emu_detail d = {.chip = &chip,
                           .kind = &kind,
                           .offset = variants[v].offset,
                           .turn = turns->turn,
                           .n = turns->n,
                           .units = turns->units,
                           .all = turns->all,
                           .sum = &j->sum,
                           .weight = j->work / turns->work * stands_for(j, v) / VARIANTS,
                           .events = v ? 0 : events_of(j)};
    const bool good = emu_detail_run(&d);

    j->time[v].cycles *= d.ratio;
    j->time[v].unit_busy *= d.ratio;
    j->time[v].group_mean *= d.group_ratio;
    return good;
}

static bool look_closely(struct job *j)
{
    const struct emu_turn_source source = source_of(j);
    const struct emu_unit_kind kind = kind_of(j, 0);
    struct emu_turns turns = {.units = units_of(j)};
    bool ok = emu_turns_choose(&turns, &source, &j->chip, j->time[0].last, &kind, !events_of(j));

    for (unsigned v = 0; ok && v < distinct(j); v++)
        ok = look_closer(j, &turns, v);
    emu_turns_free(&turns);
    return ok;
}

/* Is every unit simulated, with all that it gets? */
static bool is_whole(const struct job *j)
{
    const struct emu_clock_recorder *r = j->launch->clock;

    if (j->options->flags & EMU_TIME_EVERYTHING && r->groups == r->workgroups)
        return true;
    return !j->options->sample_limit && !(j->options->flags & EMU_TIME_LARGE) &&
           j->work <= EMU_CLOCK_WHOLE;
}

/* Every unit under each variant; turn: all workgroups. */
static bool run_units(struct job *j, const struct emu_turn *turn, emu_units_run *run)
{
    struct emu_unit_kind kind[VARIANTS];
    struct emu_everything what[VARIANTS];

    for (unsigned v = 0; v < distinct(j); v++) {
        kind[v] = kind_of(j, v);
        what[v] = (struct emu_everything){.chip = &j->chip,
                                          .kind = &kind[v],
                                          .offset = variants[v].offset,
                                          .turn = turn,
                                          .sum = &j->sum,
                                          .weight = (double)stands_for(j, v) / VARIANTS,
                                          .events = v ? 0 : events_of(j)};
    }
    return emu_orders_run(what, distinct(j), run, j->time);
}

static bool run_whole(struct job *j)
{
    const struct emu_turn_source source = source_of(j);
    struct emu_turn *turn = emu_turns_all(&source);
    const bool ok = turn && run_units(j, turn, emu_everything_run);

    repeat_first(j);
    free(turn);
    return ok;
}

/* All units after all, where many do the same; else what the rounds said stays. */
static void run_histories(struct job *j)
{
    const struct emu_turn_source source = source_of(j);
    const struct emu_unit_sum rough = j->sum;
    struct emu_chip_time time[VARIANTS];
    struct emu_turn *turn;

    if (j->options->sample_limit || j->work / j->chip.units > REPEATED ||
        !(turn = emu_turns_all(&source)))
        return;
    memcpy(time, j->time, sizeof time);
    j->sum = (struct emu_unit_sum){.event = rough.event, .events = rough.events};
    if (run_units(j, turn, emu_histories_run)) {
        repeat_first(j);
        free(rough.count);
    } else {
        free(j->sum.count);
        j->sum = rough;
        memcpy(j->time, time, sizeof time);
    }
    free(turn);
}

/* Rounds over the chip, for each variant. */
static bool run_chip(struct job *j)
{
    const struct emu_clock_recorder *r = j->launch->clock;
    float *alone = malloc(r->workgroups * sizeof *alone);
    unsigned *unit_of = calloc(r->workgroups, sizeof *unit_of);
    bool ok = alone && unit_of;

    for (uint64_t i = 0; ok && i < r->workgroups; i++) {
        const struct emu_between b = emu_clusters_find(&j->clusters, emu_clock_cost(r, i));

        alone[i] = (float)between(j->alone, &b);
    }
    j->chip.alone = alone;
    j->chip.unit_of = unit_of;
    for (unsigned v = distinct(j); ok && v-- > 0;) { /* unit_of: as of the first */
        const struct emu_chip chip = chip_of(j, v);

        ok = emu_chip_run(&chip, &j->time[v]);
    }
    ok = ok && look_closely(j);
    repeat_first(j);
    free(alone);
    free(unit_of);
    if (ok)
        run_histories(j);
    return ok;
}

static void set_up_chip(struct job *j, unsigned units, unsigned registers, unsigned waves)
{
    const struct emu_clock_recorder *r = j->launch->clock;
    uint64_t each;

    j->chip.units = units;
    j->chip.dies = units % (unsigned)j->gpu->xcds ? 1 : (unsigned)j->gpu->xcds;
    j->chip.engines = (unsigned)j->gpu->engines;
    j->chip.dispatch =
        j->gpu->dispatch * (j->launch->kernel->family >= EMU_GFX11 ? (double)waves : 1);
    j->chip.turnaround = j->gpu->turnaround;
    j->chip.resident = emu_clock_resident(j->launch, waves, registers);
    j->chip.workgroups = r->workgroups;
    if (r->takers) { /* whoever is free goes on */
        const uint64_t most = (r->takers + units - 1) / units;

        j->chip.dies = 1;
        j->chip.turnaround = 0;
        j->chip.at_once = r->takers;
        if (most < j->chip.resident)
            j->chip.resident = (unsigned)most;
    }
    each = (r->workgroups + units - 1) / units;
    j->resident = each < j->chip.resident ? (unsigned)each : j->chip.resident;
    j->ghz = emu_clock_frequency(j->launch->kernel->family, 0.5);
}

/* What the parameters may be off by, in the workgroups that most of the work is in. */
static bool find_doubt(struct job *j)
{
    const unsigned most = heaviest(j);
    struct emu_doubt d = {.launch = j->launch,
                          .gpu = j->gpu,
                          .reuse = &j->reuse,
                          .group = j->clusters.member[most],
                          .groups = j->clusters.members[most],
                          .copies = j->resident,
                          .gigahertz = j->ghz,
                          .work = j->work};

    return emu_doubt_find(&d, &j->doubt);
}

static const char *predict(struct job *j, unsigned units, unsigned registers)
{
    struct emu_clock_recorder *r = j->launch->clock;
    const char *why;

    emu_clock_settle(r);
    why = emu_pieces_make(r, j->ops, j->launch->kernel->program->nops);
    if (*why)
        return why;
    emu_clock_rebase(r);
    emu_clock_lay_along_x(r);
    emu_clock_find_period(r);
    emu_clusters_make(&j->clusters, r);
    if (!j->clusters.n)
        return "no workgroup was recorded";
    set_up_chip(j, units, registers, j->clusters.member[0][0]->waves);
    if (!j->chip.resident)
        return "no workgroup fits on a compute unit";
    j->reuse = emu_unit_reuse(r, j->gpu, units, j->chip.resident);
    weigh(j);
    if (!find_share(j))
        return "out of memory";
    if (!(is_whole(j) ? count_executed(j) && run_whole(j)
                      : simulate_alone(j) && simulate_full(j) && run_chip(j)))
        return "out of memory";
    emu_unit_sum_counts(&j->sum, &j->executed);
    return find_doubt(j) ? "" : "out of memory";
}

struct emu_time_result *emu_clock_predict(const struct emu_launch *l, const char *target,
                                          unsigned units, unsigned registers,
                                          const struct emu_time_options *options)
{
    struct job *j = calloc(1, sizeof *j);
    struct emu_time_result *r;
    struct emu_result_parts parts;

    if (!j)
        return NULL;
    j->launch = l;
    j->gpu = emu_clock_gpu(l->kernel->family);
    j->options = options;
    j->ops = emu_clock_describe(l->kernel, j->gpu);
    parts = (struct emu_result_parts){.launch = l,
                                      .target = target,
                                      .chip = &j->chip,
                                      .time = j->time,
                                      .variants = VARIANTS,
                                      .sum = &j->sum,
                                      .flags = options->flags};
    parts.why = j->ops ? predict(j, units, registers) : "out of memory";
    parts.doubt = j->doubt;
    r = emu_clock_result_make(&parts);
    emu_unit_sum_free(&j->sum);
    emu_unit_sum_free(&j->executed);
    free(j->ops);
    free(j);
    return r;
}
