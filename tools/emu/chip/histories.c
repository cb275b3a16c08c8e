/*
 * Simulates all units of a chip, but once where several do the same: a unit is what it was given,
 * in which order and at what distances. Histories are a tree. A step in it is one workgroup more,
 * and the time until the next one ends; each unit walks down on its own, later or earlier than
 * others, as the dispatcher gives it workgroups.
 */
#include "histories.h"

#include <stdlib.h>
#include <string.h>

/* Instructions that are simulated at most. */
#define MOST 10e6

/* What leads on: a workgroup that is launched, NULL for none; whether the unit then runs. */
struct step {
    const struct emu_clock_group *group;
    unsigned tag;   /* number of its memory in order of the unit's first use */
    uint64_t start; /* clocks since the unit's first launch */
    bool runs;
};

struct node {
    struct step step;
    struct node *parent, *child, *next; /* next: the parent's other child */
    struct unit *unit;                  /* its state as the workgroup ends; NULL: done with */
    unsigned members;                   /* units that stand here */
    bool dead;                          /* none will come any more */
    int ended;                          /* the workgroup that ended; -1: there was none */
    uint64_t now, took;                 /* since the first launch; of that workgroup */
};

/* A unit. */
struct walker {
    struct node *at;
    double base;   /* clocks at which it began */
    bool waits;    /* for a workgroup of its to end */
    uint64_t *tag; /* that it has seen */
    unsigned tags, room;
};

struct tree {
    const struct emu_everything *what;
    const struct emu_chip *chip;
    struct node root;
    struct walker *walker;
    struct unit_count *count; /* by op, of what was simulated */
    uint64_t *next;           /* of each die: the number of its next workgroup */
    uint64_t done;
    double simulated, executed; /* instructions; for all units */
    double total;
    bool failed;
};

/* May a unit still come to the node? */
static bool wanted(const struct node *n)
{
    for (; n && !n->dead; n = n->parent)
        if (n->members)
            return true;
    return false;
}

/* Frees the states that nobody will come to, from the node down. */
static void sweep(struct node *n)
{
    if (n->dead || n->members)
        return;
    n->dead = true;
    emu_unit_free(n->unit);
    n->unit = NULL;
    for (struct node *c = n->child; c; c = c->next)
        sweep(c);
}

static void free_below(struct node *n)
{
    while (n->child) {
        struct node *c = n->child;

        n->child = c->next;
        free_below(c);
        emu_unit_free(c->unit);
        free(c);
    }
}

static bool same(const struct step *a, const struct step *b)
{
    return a->group == b->group && a->tag == b->tag && a->start == b->start && a->runs == b->runs;
}

/* The node's state for its new child; the node's own, if nobody else will need it. */
static struct unit *state_for_child(struct node *n)
{
    struct unit *u = n->unit;

    n->members--;
    if (wanted(n))
        u = emu_unit_clone(n->unit);
    else
        n->unit = NULL;
    n->members++;
    return u;
}

/* Also if it will be, by what ended so far. */
static bool too_much(const struct tree *t)
{
    const double all = (double)t->chip->workgroups, part = (double)t->done / all;

    return t->simulated > MOST || (part > 0.125 && t->simulated > 1.5 * MOST * part + MOST / 4);
}

static struct node *add_child(struct tree *t, struct node *n, const struct step *s)
{
    struct node *c = calloc(1, sizeof *c);
    uint64_t before;

    if (!c)
        return NULL;
    c->step = *s;
    c->parent = n;
    c->next = n->child;
    n->child = c;
    c->unit = state_for_child(n);
    if (!c->unit || (s->group && !emu_unit_launch(c->unit, s->group, s->start, s->tag)))
        return NULL;
    if (!s->runs)
        return c;
    before = c->unit->done;
    c->ended = emu_unit_run(c->unit);
    c->now = c->unit->now;
    if (c->ended >= 0)
        c->took = c->unit->group[c->ended].end - c->unit->group[c->ended].start;
    t->simulated += (double)(c->unit->done - before);
    return too_much(t) ? NULL : c;
}

/* The unit does a step. */
static void walk(struct tree *t, struct walker *w, const struct step *s)
{
    struct node *from = w->at, *to = from->child;

    while (to && !same(&to->step, s))
        to = to->next;
    if (!to)
        to = add_child(t, from, s);
    if (!to) {
        t->failed = true;
        return;
    }
    w->at = to;
    w->waits = s->runs && to->ended >= 0;
    to->members++;
    if (s->runs && !w->waits) {
        if (t->what->sum)
            emu_unit_sum_add(t->what->sum, to->unit, t->what->weight, false);
        t->executed += (double)to->unit->done;
        to->members--;
    }
    from->members--;
    if (!wanted(from))
        sweep(from);
}

/* Its number among those that the unit has seen. */
static unsigned number_of(struct tree *t, struct walker *w, uint64_t tag)
{
    for (unsigned i = 0; i < w->tags; i++)
        if (w->tag[i] == tag)
            return i;
    if (w->tags == w->room) {
        uint64_t *more = realloc(w->tag, (2 * w->room + 16) * sizeof *more);

        if (!more) {
            t->failed = true;
            return 0;
        }
        w->tag = more;
        w->room = 2 * w->room + 16;
    }
    w->tag[w->tags] = tag;
    return w->tags++;
}

/* The next workgroup of the unit's die, `at` clocks since the unit began. False: there is none. */
static bool take(struct tree *t, unsigned unit, double at, struct step *s)
{
    const unsigned die = unit % t->chip->dies;
    const uint64_t i = t->next[die];

    s->group = NULL;
    if (i >= t->chip->workgroups)
        return false;
    t->next[die] += t->chip->dies;
    s->group = t->what->turn[i].group;
    s->tag = number_of(t, &t->walker[unit], t->what->turn[i].tag);
    s->start = (uint64_t)at;
    return true;
}

static void fill(struct tree *t)
{
    const struct emu_chip *c = t->chip;
    const unsigned engines = c->engines / c->dies, per_die = c->units / c->dies;
    const double side = engines > 1 ? engines : 1;

    for (unsigned i = 0; i < c->units; i++)
        t->walker[i].at = &t->root;
    t->root.members = c->units;
    for (unsigned die = 0; die < c->dies; die++)
        for (unsigned k = 0; k < emu_chip_places(c) && !t->failed; k++) {
            const unsigned unit = k % per_die * c->dies + die, row = k / per_die;
            const double at = (double)(unsigned)(k / side) * c->dispatch + row * t->what->offset;
            struct step s = {0};

            if (!row)
                t->walker[unit].base = at;
            if (!take(t, unit, at - t->walker[unit].base, &s))
                break;
            walk(t, &t->walker[unit], &s);
        }
    for (unsigned i = 0; i < c->units && !t->failed; i++)
        if (t->walker[i].at != &t->root)
            walk(t, &t->walker[i], &(struct step){.runs = true});
}

/* When the unit's workgroup ends, for who comes before whom. */
static double turn_at(const struct walker *w, unsigned unit)
{
    const double now = (double)w->at->now;

    return w->base + now + emu_chip_unlike(unit, now) * (double)w->at->took;
}

/* The unit whose next workgroup ends first of all; as many as there are: none. */
static unsigned first_of(const struct tree *t)
{
    unsigned first = t->chip->units;
    double least = 0;

    for (unsigned i = 0; i < t->chip->units; i++) {
        const struct walker *w = &t->walker[i];

        if (w->waits && (first == t->chip->units || turn_at(w, i) < least)) {
            least = turn_at(w, i);
            first = i;
        }
    }
    return first;
}

static void run(struct tree *t, struct emu_chip_time *time)
{
    unsigned first;

    while (!t->failed && (first = first_of(t)) < t->chip->units) {
        struct walker *w = &t->walker[first];
        const double now = (double)w->at->now;
        struct step s = {.runs = true};

        if (w->base + now > time->cycles) {
            time->cycles = w->base + now;
            time->last = first;
        }
        t->done++;
        t->total += (double)w->at->took;
        take(t, first, now + t->chip->turnaround, &s);
        walk(t, w, &s);
        if (!w->waits)
            time->unit_busy += w->base + now;
    }
}

/* Adds what was counted; frees all. */
static bool finish(struct tree *t, bool ok)
{
    const struct emu_everything *w = t->what;

    if (ok && w->sum)
        ok = emu_unit_sum_ops(w->sum, t->count, w->kind->kernel->program->nops,
                              w->weight * t->executed / t->simulated);
    for (unsigned i = 0; t->walker && i < t->chip->units; i++)
        free(t->walker[i].tag);
    free_below(&t->root);
    emu_unit_free(t->root.unit);
    free(t->walker);
    free(t->count);
    free(t->next);
    return ok;
}

bool emu_histories_run(const struct emu_everything *w, struct emu_chip_time *time)
{
    const struct emu_chip *c = w->chip;
    struct tree t = {.what = w, .chip = c};
    struct emu_unit_kind kind = *w->kind;
    bool ok;

    memset(time, 0, sizeof *time);
    t.walker = calloc(c->units, sizeof *t.walker);
    t.count = calloc(kind.kernel->program->nops + 1, sizeof *t.count);
    t.next = calloc(c->dies, sizeof *t.next);
    kind.count = t.count;
    t.root.unit = t.count ? emu_unit_new(&kind) : NULL;
    ok = t.walker && t.next && t.root.unit;
    for (unsigned i = 0; ok && i < c->dies; i++)
        t.next[i] = i;
    if (ok) {
        fill(&t);
        run(&t, time);
        time->group_mean = t.total / (double)c->workgroups;
    }
    ok = finish(&t, ok && !t.failed && t.done == c->workgroups);
    if (!ok)
        time->cycles = 0;
    return ok;
}
