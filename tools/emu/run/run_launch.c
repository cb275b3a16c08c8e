/*
 * Runs a launch: workgroups over threads, waves of a workgroup in turn from barrier to barrier.
 *
 * Orders (emu_launch.order): 0 ascending; 1 descending; 2 a new random order after each barrier;
 * 3 one instruction of each wave in turn. Workgroups follow the same rule, 3 as 0.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker.h"

enum { ORDER_UP, ORDER_DOWN, ORDER_RANDOM, ORDER_STEP };

/* So long a wave runs before the others get a turn; only waves that spin for each other need it. */
#define QUANTUM (1u << 20)
#define GLANCE_QUANTUM (1u << 14)

/*
 * Adversarial mode: the hardware promises v_exp, v_log, v_rcp, v_rsq and v_sqrt of f32 to one last
 * place, so each active lane's result moves by at most that: by as much as any other lane's that is
 * the same, for hardware makes equal results of equal numbers. Powers of two, which come out exact,
 * and specials stay. So does v_rcp_iflag_f32: compilers make integer divisions of it that are exact
 * only while it is within one last place of the true quotient, not of the rounded one.
 */
static void move_results(struct emu_wave *w, const struct emu_op *op)
{
    const uint64_t seed = w->group->launch->seed + op->insn->row;
    uint32_t *d = emu_row(w, op->d[0]);
    uint64_t exec = emu_exec(w);

    for (unsigned l = 0; l < w->lanes; l++) {
        uint32_t exponent = d[l] & 0x7f800000;

        if (exec >> l & 1 && exponent && exponent != 0x7f800000 && d[l] & 0x7fffff) {
            const uint64_t x = (seed << 32 ^ d[l]) * UINT64_C(0x9e3779b97f4a7c15);
            d[l] += (uint32_t)((x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 33) % 3 - 1;
        }
    }
}

/* One op with something unusual switched on. */
static void run_slow(struct emu_wave *w, const struct emu_op *op)
{
    if (emu_skipped(w, op))
        return;
    if (w->attention & EMU_A_ADVERSARIAL && op->cls == EMU_C_TRANS &&
        op->insn->dst[0].type == EMU_T_F32 &&
        strcmp(emu_rows[op->insn->row].sem, "v_rcp_iflag_f32") != 0) {
        op->fn(w, op);
        move_results(w, op);
        return;
    }
    if (w->attention & EMU_A_GPR_IDX && op->flags & EMU_B_VECTOR)
        emu_program_of(w)->lanes->gpr_idx(w, op);
    else if (w->attention & EMU_A_MODE && op->flags & EMU_B_MODE)
        emu_run_mode(w, op);
    else
        op->fn(w, op);
}

/* At most n ops, those without effect not counted; returns what is left of n. */
static unsigned run_plain(struct emu_wave *w, const struct emu_op *ops, uint32_t *hits, unsigned n)
{
    while (n && w->state == EMU_RUNNING) {
        const struct emu_op *op = w->ip;

        w->op = op;
        hits[op - ops]++; /* between the two, lest the compiler joins them in a vector */
        w->ip = op + op->next;
        n--;
        if (w->attention)
            run_slow(w, op);
        else
            op->fn(w, op);
    }
    return n;
}

/* As run_plain, and tells the clock. */
static unsigned run_recorded(struct worker *t, struct emu_wave *w, unsigned n)
{
    const struct emu_op *ops = t->group.kernel->program->ops;

    while (n && w->state == EMU_RUNNING) {
        const struct emu_op *op = w->ip;

        w->op = op;
        t->hits[op - ops]++;
        w->ip = op + op->next;
        n--;
        if (w->attention)
            run_slow(w, op);
        else
            op->fn(w, op);
        emu_clock_note(t->clock, w->index, op, ops);
    }
    return n;
}

static unsigned run_ops(struct worker *t, struct emu_wave *w, unsigned n)
{
    if (t->run->launch->strict)
        return emu_strict_run(w, t->hits, n, run_slow);
    if (t->clock)
        return run_recorded(t, w, n);
    return run_plain(w, t->group.kernel->program->ops, t->hits, n);
}

/* Runs at most n instructions; returns when the wave stops, too. */
static void run_wave(struct worker *t, struct emu_wave *w, unsigned n)
{
    uint64_t limit = t->run->launch->limit;

    w->executed += n - run_ops(t, w, n);
    if (limit && w->executed > limit)
        emu_fault(w, 0, "endless loop: more than %llu instructions", (unsigned long long)limit);
    if (atomic_load_explicit(&t->run->stop, memory_order_relaxed))
        longjmp(t->escape, 1);
}

static uint64_t random_below(struct worker *t, uint64_t n)
{
    t->rng ^= t->rng >> 12;
    t->rng ^= t->rng << 25;
    t->rng ^= t->rng >> 27;
    return t->rng * UINT64_C(2685821657736338717) % n;
}

static void choose_order(struct worker *t, unsigned order[EMU_MAX_WAVES])
{
    unsigned n = t->run->waves, kind = t->run->launch->order;

    for (unsigned i = 0; i < n; i++)
        order[i] = kind == ORDER_DOWN ? n - 1 - i : i;
    for (unsigned i = n; kind == ORDER_RANDOM && i > 1; i--) {
        unsigned j = (unsigned)random_below(t, i), x = order[i - 1];

        order[i - 1] = order[j];
        order[j] = x;
    }
}

/* Lets every running wave of the group go on; returns how many have not ended. */
static unsigned run_turn(struct worker *t, const unsigned order[EMU_MAX_WAVES], unsigned quantum)
{
    unsigned alive = 0;

    for (unsigned i = 0; i < t->run->waves; i++) {
        struct emu_wave *w = &t->wave[order[i]];

        if (w->state == EMU_RUNNING)
            run_wave(t, w, quantum);
        alive += w->state != EMU_ENDED;
    }
    return alive;
}

static bool all_wait(const struct worker *t)
{
    for (unsigned i = 0; i < t->run->waves; i++)
        if (t->wave[i].state == EMU_RUNNING)
            return false;
    return true;
}

static void release_barrier(struct worker *t)
{
    for (unsigned i = 0; i < t->run->waves; i++)
        if (t->wave[i].state == EMU_AT_BARRIER) {
            t->wave[i].state = EMU_RUNNING;
            t->wave[i].attention &= ~(uint32_t)EMU_A_STOP;
        }
    t->counters.barriers++;
}

/* The clock may want this workgroup instruction by instruction. */
static void begin_clock(struct worker *t, uint64_t number)
{
    const struct emu_launch *l = t->run->launch;

    if (!l->clock)
        return;
    t->clock = emu_clock_wanted(l->clock, number);
    t->group.footprint = t->clock ? &t->clock->footprint : NULL;
    t->group.count_memory = l->count_memory || t->clock;
    t->group.unwatched = !l->strict && !t->group.count_memory;
}

static void end_clock(struct worker *t, uint64_t number)
{
    double cost = 0;

    if (!t->run->launch->clock)
        return;
    for (unsigned i = 0; i < t->run->waves; i++)
        cost += (double)t->wave[i].executed;
    emu_clock_end_group(t->run->launch->clock, t->clock, number, t->run->waves, cost);
}

/* The clock only wants to know how the workgroup begins, and that has been recorded. */
static bool cut_short(const struct worker *t)
{
    double done = 0;

    if (!t->clock || !t->clock->glance)
        return false;
    for (unsigned i = 0; i < t->run->waves; i++)
        done += (double)t->wave[i].executed;
    t->clock->cut = done >= EMU_CLOCK_GLANCE;
    return t->clock->cut;
}

static unsigned quantum_of(const struct worker *t)
{
    if (t->clock && t->clock->glance)
        return GLANCE_QUANTUM;
    return t->run->launch->order == ORDER_STEP ? 1 : QUANTUM;
}

static void run_group(struct worker *t, uint64_t number)
{
    const struct emu_launch *l = t->run->launch;
    unsigned order[EMU_MAX_WAVES] = {0}, quantum;
    uint32_t pattern = 0x7fc0dead;

    t->group.id[0] = (uint32_t)(number % l->grid[0]);
    t->group.id[1] = (uint32_t)(number / l->grid[0] % l->grid[1]);
    t->group.id[2] = (uint32_t)(number / l->grid[0] / l->grid[1]);
    for (uint32_t i = 0; i + 4 <= t->group.lds_size; i += 4)
        memcpy(t->group.lds + i, &pattern, 4);
    for (unsigned i = 0; i < t->run->waves; i++) {
        emu_init_wave(&t->wave[i]);
        if (l->strict)
            emu_strict_init_wave(&t->wave[i]);
    }
    if (l->strict) {
        memset(t->group.lds_poison, 0xff, t->group.lds_size);
        memset(t->strict.writes, 0, (t->group.lds_size / 4 + 1) * sizeof *t->strict.writes);
        memset(t->strict.reads, 0, (t->group.lds_size / 4 + 1) * sizeof *t->strict.reads);
    }
    begin_clock(t, number);
    quantum = quantum_of(t);
    choose_order(t, order);
    while (run_turn(t, order, quantum) && !cut_short(t)) {
        if (all_wait(t)) {
            release_barrier(t);
            choose_order(t, order);
        }
    }
    end_clock(t, number);
    t->counters.workgroups++;
    t->counters.waves += t->run->waves;
}

static uint64_t group_number(const struct run *r, uint64_t i)
{
    const struct emu_clock_recorder *clock = r->launch->clock;

    if (clock && clock->samples_only && !r->rest)
        return clock->group[i]->number;
    switch (r->launch->order) {
    case ORDER_DOWN:
        return r->groups - 1 - i;
    case ORDER_RANDOM:
        return (uint64_t)((unsigned __int128)i * r->stride % r->groups);
    default:
        return i;
    }
}

/* Executions of each op by class; what plain mode skipped counts as often as what it followed. */
static void count_hits(struct worker *t)
{
    const struct emu_program *p = t->group.kernel->program;
    uint64_t *to = t->counters.instructions;
    const bool strict = t->run->launch->strict;

    for (unsigned i = 0; i < p->nops; i++) {
        const struct emu_op *op = &p->ops[i], *after = op + (strict ? op->dwords : op->next);

        for (; t->hits[i] && op < after; op += op->dwords)
            to[op->cls] += t->hits[i];
    }
}

static void add_counters(struct worker *t)
{
    struct emu_counters *to = &t->run->launch->counters;
    const uint64_t *from = (const uint64_t *)&t->counters;

    count_hits(t);
    pthread_mutex_lock(&t->run->lock);
    for (size_t i = 0; i < sizeof *to / sizeof(uint64_t); i++)
        ((uint64_t *)to)[i] += from[i];
    pthread_mutex_unlock(&t->run->lock);
}

static void *work(void *arg)
{
    struct worker *t = arg;
    struct run *r = t->run;

    if (setjmp(t->escape)) {
        atomic_store(&r->stop, true);
    } else {
        while (!atomic_load(&r->stop)) {
            const uint64_t i = atomic_fetch_add(&r->next, 1);
            const struct emu_clock_group *ran = NULL;

            if (i >= r->wanted)
                break;
            if (r->rest)
                ran = emu_clock_wanted(r->launch->clock, group_number(r, i));
            if (!ran || !ran->done)
                run_group(t, group_number(r, i));
        }
    }
    add_counters(t);
    return NULL;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;

        a = b;
        b = t;
    }
    return a;
}

/* The clock wants to see in order who takes which piece of work. */
static bool one_by_one(const struct emu_launch *l)
{
    const struct emu_program *p = l->kernel->program;

    for (unsigned i = 0; l->clock && i < p->nops; i++)
        if (p->ops[i].insn && emu_clock_takes(&p->ops[i]))
            return true;
    return false;
}

static unsigned thread_count(const struct run *r)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = r->launch->threads ? r->launch->threads : cores > 0 ? (uint64_t)cores : 1;

    if (one_by_one(r->launch))
        return 1;

    n = n < r->wanted ? n : r->wanted;
    return n > 256 ? 256 : (unsigned)n;
}

static bool refuse(struct emu_launch *l, const char *why)
{
    strncpy(l->fault.text, why, sizeof l->fault.text - 1);
    return false;
}

/* Makes the workers, runs them and frees them. */
static bool run_workers(struct run *r)
{
    unsigned n = thread_count(r), made = 0, started = 1;
    struct worker *workers = calloc(n, sizeof *workers);

    if (!workers)
        return refuse(r->launch, "out of memory");
    while (made < n && emu_worker_make(&workers[made], r))
        made++;
    if (made == n) {
        while (started < n &&
               !pthread_create(&workers[started].thread, NULL, work, &workers[started]))
            started++;
        work(&workers[0]);
        for (unsigned i = 1; i < started; i++)
            pthread_join(workers[i].thread, NULL);
    }
    for (unsigned i = 0; i < n; i++)
        emu_worker_free(&workers[i]);
    free(workers);
    return made == n || refuse(r->launch, "out of memory");
}

/* What strict mode needs beside the workers' own state. */
static bool prepare_strict(struct run *r)
{
    if (!r->launch->strict)
        return true;
    r->global = emu_strict_global_new(r->groups * r->waves, thread_count(r) == 1);
    return r->global && emu_strict_prepare(r->launch->kernel, r->launch->warn_waits);
}

/* Those that are sampled. */
static bool run_samples(struct run *r)
{
    struct emu_clock_recorder *clock = r->launch->clock;

    r->wanted = emu_clock_ahead(clock);
    if (!run_workers(r))
        return false;
    atomic_store(&r->next, r->wanted);
    r->wanted = clock->groups;
    emu_clock_plan(clock);
    return r->launch->fault.text[0] || run_workers(r);
}

/* The workgroups; of those that are only sampled the others as well, where they are quickly run,
 * or else some more that their samples ask for. */
static bool run_groups(struct run *r)
{
    struct emu_clock_recorder *clock = r->launch->clock;

    if (!clock || !clock->samples_only)
        return run_workers(r);
    if (!run_samples(r))
        return false;
    if (r->launch->fault.text[0])
        return true;
    r->rest = emu_clock_light(clock);
    atomic_store(&r->next, r->rest ? 0 : clock->groups);
    emu_clock_choose_tiles(clock);
    r->wanted = r->rest ? r->groups : clock->groups;
    return run_workers(r);
}

bool emu_run(struct emu_launch *l)
{
    struct run r = {.launch = l, .lock = PTHREAD_MUTEX_INITIALIZER};
    uint64_t items = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    bool ok;

    memset(&l->counters, 0, sizeof l->counters);
    memset(&l->fault, 0, sizeof l->fault);
    if (!l->kernel->program)
        return refuse(l, "kernel is not prepared");
    r.groups = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    r.wanted = r.groups;
    r.waves = (unsigned)((items + l->kernel->wave - 1) / l->kernel->wave);
    if (!items || r.waves > EMU_MAX_WAVES)
        return refuse(l, "a workgroup has 1 to 1024 work-items");
    if (!r.groups)
        return true;
    for (r.stride = r.groups / 2 + 1 + l->seed % r.groups; gcd(r.stride, r.groups) != 1;)
        r.stride++;
    ok = prepare_strict(&r) ? run_groups(&r) : refuse(l, "out of memory");
    emu_strict_global_free(r.global);
    if (ok && l->strict && l->warn_waits)
        l->warnings = emu_strict_warnings(l->kernel->program->strict);
    return ok && !l->fault.text[0];
}
