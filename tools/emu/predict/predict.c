/*
 * Predicts a launch: simulates a unit full of each kind of workgroup under every policy, spreads
 * all workgroups over the chip with what that says, and adds up where the clocks went.
 */
#include "predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"
#include "clock_result.h"
#include "clusters.h"
#include "everything.h"
#include "resident.h"
#include "share.h"
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

struct job {
    const struct emu_launch *launch;
    const struct emu_clock_gpu *gpu;
    const struct emu_time_options *options;
    struct emu_clock_op *ops;
    struct emu_clusters clusters;
    struct emu_unit_share share;
    struct emu_chip chip;
    unsigned resident; /* workgroups on a unit as long as there are enough */
    double ghz;
    double alone[EMU_CLOCK_SAMPLES];            /* clocks of a workgroup of each cluster */
    double beside[VARIANTS][EMU_CLOCK_SAMPLES]; /* the same with the unit full */
    double weight[EMU_CLOCK_SAMPLES];           /* workgroups that each cluster stands for */
    struct emu_chip_time time[VARIANTS];
    struct emu_unit_sum sum; /* over all workgroups, mean of the variants */
};

/* A unit with `copies` workgroups of a cluster, run to its end; NULL when out of memory. *mean:
 * clocks of a workgroup. */
static struct unit *simulate(const struct job *j, unsigned cluster, unsigned copies,
                             const struct variant *v, size_t events, double *mean)
{
    const unsigned members = j->clusters.members[cluster];
    struct unit *u = emu_unit_new(j->launch->kernel, j->ops, j->gpu, v->policy, &j->share);
    const double engine = j->chip.units / j->gpu->engines * j->chip.dispatch;
    double total = 0;
    int ended;

    if (u && events)
        u->event = calloc(events, sizeof *u->event);
    if (u && u->event)
        u->event_room = events;
    for (unsigned i = 0; u && i < copies; i++)
        if (!emu_unit_launch(u, j->clusters.member[cluster][i % members],
                             (uint64_t)(i * (engine + v->offset)), i / members)) {
            emu_unit_free(u);
            return NULL;
        }
    while (u && (ended = emu_unit_run(u)) >= 0)
        total += (double)(u->group[ended].end - u->group[ended].start);
    *mean = total / copies;
    return u;
}

/* Durations of a workgroup alone, from which also the frequency follows. */
static bool simulate_alone(struct job *j)
{
    double pipe = 0, clocks = 0;

    for (unsigned i = 0; i < j->clusters.n; i++) {
        struct unit *u = simulate(j, i, 1, &variants[0], 0, &j->alone[i]);

        if (!u)
            return false;
        pipe += u->matrix_busy * j->resident;
        clocks += j->alone[i] * j->gpu->simds;
        emu_unit_free(u);
    }
    j->ghz = emu_clock_frequency(j->launch->kernel->family, fmin(pipe / clocks, 1));
    return true;
}

static bool simulate_full(struct job *j)
{
    const size_t room = j->options->event_limit ? j->options->event_limit : 1000000;

    for (unsigned v = 0; v < VARIANTS; v++)
        for (unsigned i = 0; i < j->clusters.n; i++) {
            const bool watched =
                !v && i + 1 == j->clusters.n && j->options->flags & EMU_TIME_EVENTS;
            struct unit *u =
                simulate(j, i, j->resident, &variants[v], watched ? room : 0, &j->beside[v][i]);
            bool good =
                u && emu_unit_sum_add(&j->sum, u, j->weight[i] / j->resident / VARIANTS, watched);

            emu_unit_free(u);
            if (!good)
                return false;
        }
    return true;
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

        j->weight[b.lower] += (1 - b.part) * b.scale;
        j->weight[b.upper] += b.part * b.scale;
    }
}

/* Every unit, where that was asked for and is possible. */
static bool wants_everything(const struct job *j)
{
    const struct emu_clock_recorder *r = j->launch->clock;

    return j->options->flags & EMU_TIME_EVERYTHING && r->groups == r->workgroups;
}

static bool run_everything(struct job *j)
{
    for (unsigned v = 0; v < VARIANTS; v++) {
        const struct emu_unit_kind kind = {.kernel = j->launch->kernel,
                                           .ops = j->ops,
                                           .gpu = j->gpu,
                                           .policy = variants[v].policy,
                                           .share = &j->share,
                                           .offset = variants[v].offset};

        if (!emu_everything_run(&j->chip, j->launch->clock, &kind, &j->time[v]))
            return false;
    }
    return true;
}

/* Rounds over the chip, for each variant. */
static bool run_chip(struct job *j)
{
    const struct emu_clock_recorder *r = j->launch->clock;
    float *alone = malloc(r->workgroups * sizeof *alone);
    bool ok = alone != NULL;

    for (uint64_t i = 0; ok && i < r->workgroups; i++) {
        const struct emu_between b = emu_clusters_find(&j->clusters, emu_clock_cost(r, i));

        alone[i] = (float)between(j->alone, &b);
    }
    j->chip.alone = alone;
    for (unsigned v = 0; ok && v < VARIANTS; v++) {
        double full = 0, one = 0;

        for (unsigned i = 0; i < j->clusters.n; i++) {
            full += j->beside[v][i] * j->weight[i];
            one += j->alone[i] * j->weight[i];
        }
        for (unsigned n = 1; n <= j->chip.resident; n++)
            j->chip.slow[n] = j->resident == 1
                                  ? full / one
                                  : 1 + (full / one - 1) * (n - 1) / (double)(j->resident - 1);
        ok = emu_chip_run(&j->chip, &j->time[v]);
    }
    free(alone);
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
    each = (r->workgroups + units - 1) / units;
    j->resident = each < j->chip.resident ? (unsigned)each : j->chip.resident;
    j->ghz = emu_clock_frequency(j->launch->kernel->family, 0.5);
}

static const char *predict(struct job *j, unsigned units, unsigned registers)
{
    struct emu_clock_recorder *r = j->launch->clock;

    emu_clock_rebase(r);
    emu_clusters_make(&j->clusters, r);
    if (!j->clusters.n)
        return "no workgroup was recorded";
    set_up_chip(j, units, registers, j->clusters.member[0][0]->waves);
    if (!j->chip.resident)
        return "no workgroup fits on a compute unit";
    weigh(j);
    for (int pass = 0; pass < 2; pass++) {
        j->share = emu_unit_share(r, j->gpu, units, j->chip.resident, j->ghz);
        if (!pass && !simulate_alone(j))
            return "out of memory";
    }
    if (!simulate_full(j))
        return "out of memory";
    return (wants_everything(j) ? run_everything : run_chip)(j) ? "" : "out of memory";
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
    r = emu_clock_result_make(&parts);
    emu_unit_sum_free(&j->sum);
    free(j->ops);
    free(j);
    return r;
}
