/* A compute unit over time: launches of workgroups, slots of SIMDs, and who issues first. */
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "unit_parts.h"

enum { WGP_MODE = 1 << 29 }; /* of rsrc1 */

static uint32_t at_least_1(double x)
{
    return x > 1 ? (uint32_t)x : 1;
}

struct unit *emu_unit_new(const struct emu_unit_kind *kind)
{
    const struct emu_clock_gpu *gpu = kind->gpu;
    struct unit *u = calloc(1, sizeof *u);
    bool ok;

    if (!u)
        return NULL;
    u->gpu = gpu;
    u->ops = kind->ops;
    u->nops = kind->kernel->program->nops;
    u->slot = at_least_1(gpu->slot);
    u->gfx11 = kind->kernel->family >= EMU_GFX11;
    u->gfx12 = kind->kernel->family >= EMU_GFX12;
    u->whole = kind->kernel->rsrc1 & WGP_MODE;
    u->policy = kind->policy;
    u->l2_rate = kind->share->l2_rate;
    u->far_rate = kind->share->far_rate;
    u->far_latency = (uint32_t)kind->share->far_latency;
    u->far_share = (uint32_t)(1024 * kind->share->far_share);
    while (8u << u->code_shift <= (unsigned)gpu->code_line)
        u->code_shift++;
    u->code = calloc((size_t)(u->nops >> u->code_shift) + 3, sizeof *u->code);
    u->scalar_seen = calloc(u->nops + 1, sizeof *u->scalar_seen);
    u->counts_alone = !kind->count;
    u->count = kind->count ? kind->count : calloc(u->nops + 1, sizeof *u->count);
    u->l2 = emu_unit_cache_new(gpu->l2_bytes, 16, gpu->line);
    ok = u->code && u->scalar_seen && u->count && u->l2;
    for (unsigned i = 0; i < 2; i++) {
        u->half[i].l1 = emu_unit_cache_new(gpu->l1_bytes, gpu->l1_ways, gpu->line);
        ok = ok && u->half[i].l1;
    }
    for (unsigned i = 0; i < EMU_UNIT_SIMDS; i++)
        u->simd[i].next = UINT64_MAX;
    if (ok)
        return u;
    emu_unit_free(u);
    return NULL;
}

void emu_unit_free(struct unit *u)
{
    if (!u)
        return;
    for (unsigned i = 0; i < EMU_UNIT_GROUPS; i++)
        free(u->wave[i]);
    emu_unit_cache_free(u->half[0].l1);
    emu_unit_cache_free(u->half[1].l1);
    emu_unit_cache_free(u->l2);
    free(u->code);
    free(u->scalar_seen);
    if (u->counts_alone)
        free(u->count);
    free(u->event);
    free(u);
}

static void *copy_of(const void *from, size_t bytes, bool *ok)
{
    void *to = malloc(bytes);

    if (to)
        memcpy(to, from, bytes);
    *ok = *ok && to;
    return to;
}

struct unit *emu_unit_clone(const struct unit *from)
{
    const size_t lines = (size_t)(from->nops >> from->code_shift) + 3;
    bool ok = true;
    struct unit *u = copy_of(from, sizeof *u, &ok);

    if (!ok)
        return NULL;
    u->event = NULL;
    u->event_room = u->events = 0;
    u->code = copy_of(from->code, lines * sizeof *u->code, &ok);
    u->scalar_seen = copy_of(from->scalar_seen, from->nops + 1, &ok);
    u->l2 = emu_unit_cache_clone(from->l2);
    for (unsigned i = 0; i < 2; i++) {
        u->half[i].l1 = emu_unit_cache_clone(from->half[i].l1);
        ok = ok && u->half[i].l1;
    }
    for (unsigned i = 0; i < EMU_UNIT_GROUPS; i++)
        u->wave[i] =
            from->group[i].alive
                ? copy_of(from->wave[i], from->group[i].trace->waves * sizeof *u->wave[i], &ok)
                : NULL;
    if (!ok || !u->l2) {
        emu_unit_free(u);
        return NULL;
    }
    for (unsigned i = 0; i < EMU_UNIT_SIMDS; i++)
        for (unsigned k = 0; k < u->simd[i].waves; k++) {
            const struct unit_wave *w = from->simd[i].wave[k];

            u->simd[i].wave[k] = &u->wave[w->group][w->index];
        }
    return u;
}

/* The SIMD of a workgroup's next wave. gfx11's CU mode keeps a workgroup on one half. */
static unsigned place(struct unit *u, unsigned first)
{
    if (u->gfx11 && !u->whole)
        return first / 2 * 2 + u->next_simd++ % 2;
    return u->next_simd++ % EMU_UNIT_SIMDS;
}

/* A SIMD of the half with fewer waves. */
static unsigned emptier(const struct unit *u)
{
    return u->simd[0].waves + u->simd[1].waves <= u->simd[2].waves + u->simd[3].waves ? 0 : 2;
}

bool emu_unit_launch(struct unit *u, const struct emu_clock_group *g, uint64_t start, uint64_t tag)
{
    unsigned n = 0;
    const unsigned first = emptier(u);
    struct unit_wave *waves = calloc(g->waves, sizeof *waves);

    while (n < EMU_UNIT_GROUPS && u->group[n].alive)
        n++;
    if (!waves || n == EMU_UNIT_GROUPS) {
        free(waves);
        return false;
    }
    free(u->wave[n]);
    u->wave[n] = waves;
    u->group[n] = (struct unit_group){
        .trace = g, .number = u->groups++, .alive = g->waves, .start = start, .tag = tag << 44};
    u->alive++;
    for (unsigned i = 0; i < g->waves; i++) {
        struct unit_wave *w = &waves[i];
        struct unit_simd *s;

        w->trace = &g->wave[i];
        w->group = n;
        w->index = i;
        w->simd = place(u, first);
        w->wake = w->free = start + (uint64_t)u->gpu->wave_start;
        w->since = start;
        w->cause = EMU_TIME_TAIL;
        w->age = u->ages++;
        w->code_line = UINT64_MAX;
        s = &u->simd[w->simd];
        if (s->waves == sizeof s->wave / sizeof *s->wave)
            return false;
        s->wave[s->waves++] = w;
        if (emu_unit_slot(u, w->simd, w->wake) < s->next)
            s->next = emu_unit_slot(u, w->simd, w->wake);
    }
    return true;
}

static bool matrix_next(const struct unit *u, const struct unit_wave *w)
{
    return u->ops[w->trace->record[w->at].op].kind == EMU_CK_MATRIX;
}

/* Does a go before b? */
static bool goes_first(const struct unit *u, const struct unit_wave *a, const struct unit_wave *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (u->policy == EMU_UNIT_ROTATE && a->last != b->last)
        return a->last < b->last;
    if (u->policy == EMU_UNIT_MATRIX && matrix_next(u, a) != matrix_next(u, b))
        return matrix_next(u, a);
    return a->age < b->age;
}

/* Those that may issue now, best first. */
static unsigned candidates(const struct unit *u, const struct unit_simd *s,
                           struct unit_wave **ready)
{
    unsigned n = 0;

    for (unsigned i = 0; i < s->waves; i++) {
        struct unit_wave *w = s->wave[i];
        unsigned at = n;

        if (w->at_barrier || w->wake > u->now)
            continue;
        for (; at && goes_first(u, w, ready[at - 1]); at--)
            ready[at] = ready[at - 1];
        ready[at] = w;
        n++;
    }
    return n;
}

static void leave(struct unit *u, struct unit_simd *s, struct unit_wave *w)
{
    unsigned n = 0;

    for (unsigned i = 0; i < s->waves; i++)
        if (s->wave[i] != w)
            s->wave[n++] = s->wave[i];
    s->waves = n;
    if (u->event)
        emu_unit_event(u, w, EMU_TIME_PIPE_WAVE, u->group[w->group].start, u->now);
}

/* The wave has issued. */
static void advance(struct unit *u, struct unit_simd *s, struct unit_wave *w)
{
    const unsigned kind = u->ops[w->trace->record[w->at].op].kind;

    u->count[w->trace->record[w->at].op].executed++;
    u->done++;
    w->after_vector = kind == EMU_CK_VALU || kind == EMU_CK_TRANS;
    w->at++;
    w->last = u->now;
    w->since = w->wake = w->free;
    w->cause = w->at_barrier ? EMU_TIME_BARRIER : EMU_TIME_SCALAR;
    if (w->ended || w->at == w->trace->n)
        leave(u, s, w);
}

/* One slot; the number of a workgroup that has ended, or -1. */
static int run_slot(struct unit *u, unsigned simd)
{
    struct unit_simd *s = &u->simd[simd];
    struct unit_wave *ready[sizeof s->wave / sizeof *s->wave];
    const unsigned n = candidates(u, s, ready);
    unsigned taken = 0;
    int ended = -1;

    emu_unit_account(u, s);
    for (unsigned i = 0; i < n && ended < 0; i++) { /* one end of a workgroup a slot */
        struct unit_wave *w = ready[i];

        emu_unit_stall(u, w);
        if (!emu_unit_issue(u, w, &taken))
            continue;
        if (w->ended && !u->group[w->group].alive)
            ended = (int)w->group;
        advance(u, s, w);
    }
    s->next = UINT64_MAX;
    for (unsigned i = 0; i < s->waves; i++) {
        const struct unit_wave *w = s->wave[i];
        uint64_t at = emu_unit_slot(u, simd, w->wake > u->now ? w->wake : u->now + 1);

        if (!w->at_barrier && at < s->next)
            s->next = at;
    }
    return ended;
}

int emu_unit_run(struct unit *u)
{
    while (u->alive && (!u->stop || u->done < u->stop)) {
        unsigned first = 0;
        int ended;

        for (unsigned i = 1; i < EMU_UNIT_SIMDS; i++)
            if (u->simd[i].next < u->simd[first].next)
                first = i;
        if (u->simd[first].next == UINT64_MAX)
            return -1; /* a barrier that a wave never came to; the emulator has told */
        u->now = u->simd[first].next;
        ended = run_slot(u, first);
        if (ended >= 0) {
            u->alive--;
            return ended;
        }
    }
    return -1;
}
