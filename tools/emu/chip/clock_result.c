/* Makes the result of a launch: ranges, shares, summary by cause, instructions, events. */
#include "clock_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

static const char *const cause_names[EMU_TIME_CAUSES] = {
    "matrix",        "issue port",       "transcendental",    "LDS bandwidth",
    "LDS conflicts", "memory bandwidth", "LDS latency",       "memory latency",
    "dependence",    "scalar",           "instruction fetch", "barrier",
    "tail",
};

const char *emu_time_cause_name(enum emu_time_cause cause)
{
    return (unsigned)cause < EMU_TIME_CAUSES ? cause_names[cause] : "";
}

bool emu_unit_sum_ops(struct emu_unit_sum *s, const struct unit_count *count, unsigned nops,
                      double weight)
{
    if (!s->count) {
        s->nops = nops;
        s->count = calloc(nops + 1, sizeof *s->count);
        if (!s->count)
            return false;
    }
    for (unsigned i = 0; i < nops; i++) {
        s->count[i].executed += weight * count[i].executed;
        s->count[i].issued += weight * count[i].issued;
        for (unsigned j = 0; j < EMU_TIME_CAUSES; j++)
            s->count[i].stalled[j] += weight * count[i].stalled[j];
    }
    return true;
}

bool emu_unit_sum_trace(struct emu_unit_sum *s, const struct emu_kernel *k,
                        const struct emu_clock_group *g, const struct emu_clock_op *ops,
                        double weight)
{
    s->nops = k->program->nops;
    if (!s->count && !(s->count = calloc(s->nops + 1, sizeof *s->count)))
        return false;
    for (unsigned w = 0; w < g->waves; w++)
        for (size_t i = 0; i < g->wave[w].n; i++) {
            const uint32_t op = g->wave[w].record[i].op;

            s->count[op].executed += weight;
            if (ops[op].kind == EMU_CK_MATRIX) {
                s->matrix_busy += weight * ops[op].pipe;
                s->flops += weight * ops[op].flops;
            }
        }
    return true;
}

bool emu_unit_sum_all(struct emu_unit_sum *s, struct emu_unit_sum *from)
{
    for (unsigned j = 0; j < EMU_TIME_CAUSES; j++)
        s->summary[j] += from->summary[j];
    s->matrix_busy += from->matrix_busy;
    s->vector_busy += from->vector_busy;
    s->lds_busy += from->lds_busy;
    s->l1_busy += from->l1_busy;
    s->far_bytes += from->far_bytes;
    s->stored_bytes += from->stored_bytes;
    s->flops += from->flops;
    s->far_rate = from->far_rate;
    if (from->event) {
        s->event = from->event;
        s->events = from->events;
        from->event = NULL;
    }
    return !from->count || emu_unit_sum_ops(s, from->count, from->nops, 1);
}

void emu_unit_sum_add(struct emu_unit_sum *s, struct unit *u, double weight, bool take_events)
{
    struct emu_unit_sum one = {.matrix_busy = weight * u->matrix_busy,
                               .vector_busy = weight * u->vector_busy,
                               .lds_busy = weight * u->lds_busy,
                               .l1_busy = weight * u->l1_busy,
                               .far_bytes = weight * u->far_bytes,
                               .stored_bytes = weight * u->stored_bytes,
                               .flops = weight * u->flops,
                               .far_rate = u->far_rate,
                               .event = take_events ? u->event : NULL,
                               .events = take_events ? u->events : 0};

    for (unsigned j = 0; j < EMU_TIME_CAUSES; j++)
        one.summary[j] = weight * u->summary[j];
    if (take_events)
        u->event = NULL;
    emu_unit_sum_all(s, &one);
}

void emu_unit_sum_counts(struct emu_unit_sum *s, const struct emu_unit_sum *exact)
{
    for (unsigned i = 0; i < s->nops; i++) {
        if (s->count[i].executed <= 0)
            s->count[i] = exact->count[i];
        s->count[i].executed = exact->count[i].executed;
    }
    s->matrix_busy = exact->matrix_busy;
    s->flops = exact->flops;
}

void emu_unit_sum_free(struct emu_unit_sum *s)
{
    free(s->count);
    free(s->event);
}

/* What is allocated with a result, behind it. */
struct owned {
    struct emu_time_result result;
    struct emu_time_instruction *instruction;
    struct emu_time_event *event;
    char *text; /* of all instructions, one after the other */
    char kernel[256], target[32], why[64], law[160];
};

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Cycles of the variants; the middle is the median. */
static struct emu_time_range range_of(const struct emu_result_parts *p)
{
    double x[8] = {0};
    const unsigned n = p->variants < 8 ? p->variants : 8;

    for (unsigned i = 0; i < n; i++)
        x[i] = p->time[i].cycles;
    qsort(x, n, sizeof *x, by_size);
    return (struct emu_time_range){x[0], (x[(n - 1) / 2] + x[n / 2]) / 2, x[n - 1]};
}

static struct emu_time_range in_microseconds(const struct emu_time_range *c, double gigahertz,
                                             double launch)
{
    return (struct emu_time_range){c->low / gigahertz / 1000 + launch,
                                   c->middle / gigahertz / 1000 + launch,
                                   c->high / gigahertz / 1000 + launch};
}

/* The units' clocks with waves, scaled to what the chip says they took; the rest is tail. */
static void summarize(struct emu_time_result *r, const struct emu_result_parts *p, double clocks)
{
    double busy = 0, sum = 0, scale;

    for (unsigned i = 0; i < p->variants; i++)
        busy += p->time[i].unit_busy / p->variants * EMU_UNIT_SIMDS;
    for (unsigned i = 0; i < EMU_TIME_CAUSES; i++)
        sum += p->sum->summary[i];
    busy = busy < clocks ? busy : clocks;
    scale = sum > 0 ? busy / sum : 0;
    for (unsigned i = 0; i < EMU_TIME_CAUSES; i++) {
        r->summary[i] = p->sum->summary[i] * scale / clocks * r->cycles.middle;
        if (i != EMU_TIME_TAIL && r->summary[i] > r->summary[r->bound])
            r->bound = (enum emu_time_cause)i;
    }
    r->summary[EMU_TIME_TAIL] += (clocks - busy) / clocks * r->cycles.middle;
}

/*
 * What the result may be off by beside the range: what each parameter may, and what the model was
 * when it was held against measurements.
 */
static void set_doubts(struct emu_time_result *r, const struct emu_result_parts *p, double load)
{
    const enum emu_family family = p->launch->kernel->family;
    const struct emu_clock_gpu *g = emu_clock_gpu(family);
    const double after = r->rounds > 1 ? ceil(r->rounds) - 1 : 0, places = r->units * r->resident,
                 turns = after * p->chip->turnaround * emu_clock_uncertainty(family, "turnaround"),
                 launches = fmin(r->workgroups, places) / g->engines * p->chip->dispatch *
                            emu_clock_uncertainty(family, "dispatch"),
                 chip = hypot(turns, launches) / r->cycles.middle;

    r->parameter_uncertainty = hypot(p->doubt, fmin(chip, 1));
    r->uncertainty = hypot(g->model / 100, r->parameter_uncertainty);
    r->clock_uncertainty = hypot((1 - load) * emu_clock_uncertainty(family, "clock"),
                                 load * emu_clock_uncertainty(family, "clock_full"));
    r->launch_uncertainty = emu_clock_uncertainty(family, "launch_us");
}

static void set_times(struct emu_time_result *r, const struct emu_result_parts *p)
{
    const enum emu_family family = p->launch->kernel->family;
    const struct emu_clock_gpu *g = emu_clock_gpu(family);
    double busy = 0, clocks;

    r->cycles = range_of(p);
    clocks = r->cycles.middle * r->units * EMU_UNIT_SIMDS;
    for (unsigned i = 0; i < p->variants; i++)
        busy += p->time[i].unit_busy * EMU_UNIT_SIMDS / p->variants;
    r->gigahertz = emu_clock_frequency(family, busy > 0 ? p->sum->matrix_busy / busy : 0);
    r->launch_us = g->launch_us;
    r->microseconds = in_microseconds(&r->cycles, r->gigahertz, g->launch_us);
    set_doubts(r, p, busy > 0 ? p->sum->matrix_busy / busy : 0);
    r->extrapolated = emu_clock_extrapolates(r->target);
    r->matrix_busy = p->sum->matrix_busy / clocks;
    r->vector_busy = p->sum->vector_busy / clocks;
    r->lds_busy = p->sum->lds_busy / clocks * EMU_UNIT_SIMDS / (family >= EMU_GFX11 ? 2 : 1);
    r->l1_busy = p->sum->l1_busy / clocks * EMU_UNIT_SIMDS / (family >= EMU_GFX11 ? 2 : 1);
    r->dram_busy =
        p->sum->far_rate > 0 ? p->sum->far_bytes / p->sum->far_rate / clocks * EMU_UNIT_SIMDS : 0;
    r->matrix_flops = p->sum->flops;
    r->memory_bytes = p->sum->far_bytes + p->sum->stored_bytes;
    r->memory_rate = g->dram_rate * 1e12;
    r->gigahertz_most = g->clock;
    for (unsigned i = 0; i < p->variants; i++)
        r->group_cycles += p->time[i].group_mean / p->variants;
    summarize(r, p, clocks);
}

static void set_launch(struct emu_time_result *r, const struct emu_result_parts *p)
{
    const struct emu_launch *l = p->launch;
    const unsigned items = l->block[0] * l->block[1] * l->block[2];
    const unsigned waves = (items + l->kernel->wave - 1) / l->kernel->wave;

    memcpy(r->grid, l->grid, sizeof r->grid);
    memcpy(r->block, l->block, sizeof r->block);
    r->lds = l->lds_bytes;
    r->units = p->chip->units;
    r->resident = p->chip->resident;
    r->waves_per_simd = (p->chip->resident * waves + EMU_UNIT_SIMDS - 1) / EMU_UNIT_SIMDS;
    r->workgroups = (double)l->clock->workgroups;
    for (unsigned i = 0; i < l->clock->groups; i++)
        r->sampled += l->clock->group[i]->done;
    if (r->units && r->resident)
        r->rounds = r->workgroups / ((double)r->units * r->resident);
}

static size_t describe_one(struct emu_time_instruction *x, const struct emu_kernel *k, unsigned op,
                           char *text, size_t room)
{
    const struct emu_insn *insn = k->program->ops[op].insn;
    char source[256] = "";
    size_t n, m = 0;

    x->offset = 4 * op;
    x->size = insn->size;
    x->text = text;
    n = emu_disasm(insn, text, room) + 1;
    if (n >= room)
        return room;
    for (char *c = text; *c; c++)
        if (*c == '\t' || *c == '\n')
            *c = ' ';
    if (k->source_line && k->source_line(k, 4 * (size_t)op, source, sizeof source)) {
        m = strlen(source) + 1;
        if (n + m >= room)
            return n;
        x->source = memcpy(text + n, source, m);
    }
    return n + m;
}

enum { TEXT = 400 }; /* of an instruction at most */

static void set_instructions(struct owned *o, const struct emu_result_parts *p)
{
    const struct emu_unit_sum *s = p->sum;
    size_t n = 0, used = 0;

    for (unsigned i = 0; i < s->nops; i++)
        n += s->count[i].executed > 0;
    o->instruction = calloc(n + 1, sizeof *o->instruction);
    o->text = malloc(n * TEXT + 1);
    if (!o->instruction || !o->text)
        return;
    for (unsigned i = 0, at = 0; i < s->nops; i++) {
        struct emu_time_instruction *x = &o->instruction[at];

        if (s->count[i].executed <= 0)
            continue;
        used += describe_one(x, p->launch->kernel, i, o->text + used, TEXT);
        x->executed = s->count[i].executed;
        x->issued = s->count[i].issued;
        memcpy(x->stalled, s->count[i].stalled, sizeof x->stalled);
        at++;
    }
    o->result.instruction = o->instruction;
    o->result.instructions = n;
}

static void set_events(struct owned *o, const struct emu_result_parts *p)
{
    o->event = malloc((p->sum->events + 1) * sizeof *o->event);
    if (!o->event)
        return;
    if (p->sum->events)
        memcpy(o->event, p->sum->event, p->sum->events * sizeof *o->event);
    o->result.event = o->event;
    o->result.events = p->sum->events;
}

struct emu_time_result *emu_clock_result_make(const struct emu_result_parts *p)
{
    struct owned *o = calloc(1, sizeof *o);
    struct emu_time_result *r;

    if (!o)
        return NULL;
    r = &o->result;
    r->size = sizeof *r;
    strncpy(o->kernel, p->launch->kernel->name, sizeof o->kernel - 1);
    strncpy(o->target, p->target,
            strcspn(p->target, ":") < sizeof o->target - 1 ? strcspn(p->target, ":")
                                                           : sizeof o->target - 1);
    strncpy(o->why, p->why, sizeof o->why - 1);
    r->kernel = o->kernel;
    r->target = o->target;
    r->why = o->why;
    emu_clock_law(p->launch->kernel->family, o->law, sizeof o->law);
    r->clock_law = o->law;
    r->timed = !*p->why;
    set_launch(r, p);
    if (!r->timed)
        return r;
    set_times(r, p);
    if (p->flags & EMU_TIME_INSTRUCTIONS)
        set_instructions(o, p);
    if (p->flags & EMU_TIME_EVENTS && p->sum->event)
        set_events(o, p);
    return r;
}

void emu_clock_result_free(struct emu_time_result *r)
{
    struct owned *o = (struct owned *)r;

    if (!o)
        return;
    free(o->instruction);
    free(o->event);
    free(o->text);
    free(o);
}
