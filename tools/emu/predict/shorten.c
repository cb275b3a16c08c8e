/*
 * Cuts rounds of the outer loop out of recorded workgroups. What long workgroups do to each other,
 * and in which order they end, shorter ones do as well, in proportion.
 */
#include "shorten.h"

#include <stdlib.h>
#include <string.h>

/* Of a loop to be cut: rounds that are left at least; loops that are told apart. */
enum { LEAST = 8, LOOPS = 64 };

struct loop {
    uint32_t head; /* where it jumps back to */
    unsigned rounds;
    size_t first, last; /* records */
};

/* Counts the heads that the wave comes to: the places that it jumps back to. */
static unsigned find_loops(const struct emu_clock_wave *w, struct loop *loop)
{
    unsigned n = 0;

    for (size_t i = 0; i + 1 < w->n; i++) {
        const uint32_t to = w->record[i + 1].op;
        unsigned k = 0;

        if (to > w->record[i].op)
            continue;
        while (k < n && loop[k].head != to)
            k++;
        if (k == LOOPS)
            continue;
        if (k == n)
            loop[n++] = (struct loop){.head = to, .first = i + 1};
        loop[k].rounds++;
        loop[k].last = i + 1;
    }
    return n;
}

/* The one that most of the longest wave is in, of those with enough rounds. False: none is most of
 * it. */
static bool find_head(const struct emu_clock_group *g, double part, uint32_t *head)
{
    const struct emu_clock_wave *w = &g->wave[0];
    struct loop loop[LOOPS];
    size_t most = 0;
    unsigned n;

    for (unsigned i = 1; i < g->waves; i++)
        w = g->wave[i].n > w->n ? &g->wave[i] : w;
    n = find_loops(w, loop);
    for (unsigned i = 0; i < n; i++) {
        const size_t length = loop[i].last - loop[i].first;

        if (loop[i].rounds * part >= LEAST && length > most) {
            most = length;
            *head = loop[i].head;
        }
    }
    return most > w->n / 2;
}

/* A round is what lies between two arrivals at the head; what is behind the last stays. */
static bool cut_wave(const struct emu_clock_wave *from, uint32_t head, double part,
                     struct emu_clock_wave *to)
{
    size_t arrivals = 0, round = 0, line = 0;
    bool keep = true;

    to->record = malloc((from->n + 1) * sizeof *to->record);
    to->line = malloc((from->lines + 1) * sizeof *to->line);
    if (!to->record || !to->line)
        return false;
    for (size_t i = 0; i < from->n; i++)
        arrivals += from->record[i].op == head;
    for (size_t i = 0; i < from->n; i++) {
        const struct emu_clock_record *x = &from->record[i];

        if (x->op == head) {
            round++;
            keep = round == arrivals ||
                   (size_t)((double)round * part) > (size_t)((double)(round - 1) * part);
        }
        if (keep) {
            to->record[to->n++] = *x;
            if (x->lines)
                memcpy(to->line + to->lines, from->line + line, x->lines * sizeof *to->line);
            to->lines += x->lines;
        }
        line += x->lines;
    }
    return true;
}

static size_t barriers(const struct emu_clock_wave *w, const struct emu_clock_op *ops)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        const unsigned kind = ops[w->record[i].op].kind;

        n += kind == EMU_CK_BARRIER || kind == EMU_CK_BARRIER_WAIT;
    }
    return n;
}

static void free_group(struct emu_clock_group *g)
{
    for (unsigned i = 0; g && i < g->waves; i++) {
        free(g->wave[i].record);
        free(g->wave[i].line);
    }
    free(g);
}

/* NULL: the waves would no longer meet at their barriers, or one of the above. */
static struct emu_clock_group *shorter(const struct emu_clock_group *g, double part,
                                       const struct emu_clock_op *ops)
{
    struct emu_clock_group *s = calloc(1, sizeof *s);
    size_t before = 0, after = 0;
    uint32_t head = 0;
    bool ok = s && find_head(g, part, &head);

    if (s)
        s->waves = g->waves;
    for (unsigned i = 0; ok && i < g->waves; i++) {
        ok = cut_wave(&g->wave[i], head, part, &s->wave[i]) &&
             barriers(&s->wave[i], ops) == barriers(&s->wave[0], ops);
        before += g->wave[i].n;
        after += s->wave[i].n;
    }
    if (!ok) {
        free_group(s);
        return NULL;
    }
    s->number = g->number;
    s->cost = g->cost * (double)after / (double)before;
    s->done = true;
    return s;
}

static double alone(const struct emu_unit_kind *kind, const struct emu_clock_group *g)
{
    struct unit *u = emu_unit_new(kind);
    double clocks = 0;

    if (u && emu_unit_launch(u, g, 0, 0))
        while (emu_unit_run(u) >= 0)
            clocks = (double)u->now;
    emu_unit_free(u);
    return clocks;
}

static const struct emu_short *shortened(struct emu_shortened *s, const struct emu_unit_kind *kind,
                                         double part, const struct emu_clock_group *g)
{
    struct emu_short *new = &s->each[s->n];

    for (unsigned i = 0; i < s->n; i++)
        if (s->each[i].of == g)
            return &s->each[i];
    new->of = g;
    new->group = shorter(g, part, kind->ops);
    if (!new->group)
        return NULL;
    s->n++;
    new->alone = alone(kind, new->group);
    return new->alone > 0 ? new : NULL;
}

bool emu_shorten(struct emu_shortened *s, const struct emu_unit_kind *kind, double part,
                 struct emu_turn *turn, unsigned n)
{
    bool ok;

    s->n = 0;
    s->each = calloc(n, sizeof *s->each);
    ok = s->each != NULL;
    for (unsigned i = 0; ok && i < n; i++)
        ok = shortened(s, kind, part, turn[i].group) != NULL;
    for (unsigned i = 0; ok && i < n; i++) {
        const struct emu_short *x = shortened(s, kind, part, turn[i].group);

        turn[i].group = x->group;
        turn[i].alone = (float)x->alone;
    }
    if (!ok)
        emu_shortened_free(s);
    return ok;
}

void emu_shortened_free(struct emu_shortened *s)
{
    for (unsigned i = 0; i < s->n; i++)
        free_group(s->each[i].group);
    free(s->each);
    *s = (struct emu_shortened){0};
}
