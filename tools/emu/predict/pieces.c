/*
 * Launches whose workgroups take their work from a counter in memory. The emulator runs them one
 * after the other, so the first takes everything. On a GPU each piece goes to whoever is free, just
 * as workgroups do: what the first one did from one look at the counter to the next becomes a
 * workgroup of its own.
 */
#include "pieces.h"

#include <stdlib.h>

#define OTHERWISE "its workgroups take their work from counters in memory, and not in one order"

/* How far a wave has come. */
struct place {
    size_t record, line, barriers;
};

struct cutter {
    const struct emu_clock_op *ops;
    uint32_t end; /* the op that ends a wave */
    const struct emu_clock_group *whole;
    size_t n; /* looks at the counter */
    const struct emu_clock_taking **taking;
    size_t *passed;                 /* barriers that the wave had behind it at each */
    struct place at[EMU_MAX_WAVES]; /* where the piece at hand begins */
};

static bool is_barrier(const struct cutter *c, const struct emu_clock_record *x)
{
    const unsigned kind = c->ops[x->op].kind;

    return kind == EMU_CK_BARRIER || kind == EMU_CK_BARRIER_WAIT;
}

static void step(const struct cutter *c, const struct emu_clock_wave *w, struct place *p)
{
    const struct emu_clock_record *x = &w->record[p->record++];

    p->line += x->lines;
    p->barriers += is_barrier(c, x);
}

/* Those that looked at the counter, all by one wave. */
static bool find_takings(struct cutter *c)
{
    const struct emu_clock_group *g = c->whole;

    c->taking = malloc(g->takings * sizeof *c->taking);
    c->passed = calloc(g->takings, sizeof *c->passed);
    for (size_t i = 0; c->taking && i < g->takings; i++)
        if (g->taking[i].line == g->counter)
            c->taking[c->n++] = &g->taking[i];
    for (size_t i = 1; i < c->n; i++)
        if (c->taking[i]->wave != c->taking[0]->wave)
            return false;
    return c->taking && c->passed;
}

/* Several waves of a workgroup learn at a barrier what one of them took. */
static bool find_barriers(struct cutter *c)
{
    const struct emu_clock_wave *w = &c->whole->wave[c->taking[0]->wave];
    struct place p = {0};

    for (size_t i = 0; i < c->n && c->taking[i]->recorded; i++) {
        while (p.record < c->taking[i]->at)
            step(c, w, &p);
        c->passed[i] = p.barriers;
        if (i && c->whole->waves > 1 && c->passed[i] == c->passed[i - 1])
            return false;
    }
    return true;
}

/* Where piece i ends in a wave; false: that was not recorded. */
static bool find_end(const struct cutter *c, size_t i, unsigned wave, struct place *p)
{
    const struct emu_clock_wave *w = &c->whole->wave[wave];
    const bool last = i + 1 == c->n, alone = c->whole->waves == 1;

    if (last ? c->whole->full : !c->taking[i + 1]->recorded)
        return false;
    while (p->record < w->n &&
           (last || (alone ? p->record < c->taking[i + 1]->at : p->barriers < c->passed[i + 1])))
        step(c, w, p);
    return last || alone || p->barriers == c->passed[i + 1];
}

static bool copy_wave(const struct cutter *c, const struct emu_clock_wave *from,
                      const struct place *begin, const struct place *end, struct emu_clock_wave *to)
{
    to->n = end->record - begin->record;
    to->lines = end->line - begin->line;
    to->record = malloc((to->n + 1) * sizeof *to->record);
    to->line = malloc((to->lines + 1) * sizeof *to->line);
    if (!to->record || !to->line)
        return false;
    memcpy(to->record, from->record + begin->record, to->n * sizeof *to->record);
    if (to->lines)
        memcpy(to->line, from->line + begin->line, to->lines * sizeof *to->line);
    if (!to->n || to->record[to->n - 1].op != c->end)
        to->record[to->n++] = (struct emu_clock_record){.op = c->end};
    return true;
}

static double cost_of(const struct cutter *c, size_t i)
{
    const double from = i ? c->taking[i]->executed : 0;

    return (i + 1 < c->n ? c->taking[i + 1]->executed : c->whole->executed) - from;
}

/* Piece i, which begins where the last one ended; NULL: it was not recorded. */
static struct emu_clock_group *cut(struct cutter *c, size_t i)
{
    const struct emu_clock_group *g = c->whole;
    struct emu_clock_group *piece = calloc(1, sizeof *piece);
    bool ok = piece != NULL;

    for (unsigned w = 0; ok && w < g->waves; w++) {
        struct place end = c->at[w];

        ok = find_end(c, i, w, &end);
        piece->failed = ok && !copy_wave(c, &g->wave[w], &c->at[w], &end, &piece->wave[w]);
        c->at[w] = end;
    }
    if (!ok) {
        emu_clock_group_free(piece);
        return NULL;
    }
    piece->number = i;
    piece->cost = cost_of(c, i);
    piece->waves = g->waves;
    piece->done = true;
    return piece;
}

/* What each workgroup costs, when the others come behind the pieces. False: no memory. */
static bool set_costs(struct emu_clock_recorder *r, const struct cutter *c)
{
    const uint64_t all = c->n + r->workgroups - 1;
    const double other = r->groups > 1 ? r->group[1]->cost : 1;
    float *cost = malloc(all * sizeof *cost);

    for (uint64_t i = 0; cost && i < all; i++)
        cost[i] = (float)(i < c->n ? cost_of(c, i) : r->cost ? r->cost[i - c->n + 1] : other);
    free(r->cost);
    r->cost = cost;
    return cost != NULL;
}

/* The pieces that were recorded take the first workgroup's place, as far as there is room. */
static bool put_pieces(struct emu_clock_recorder *r, struct cutter *c)
{
    struct emu_clock_group *whole = r->group[0], *other[EMU_CLOCK_SAMPLES];
    const unsigned others = r->groups - 1, room = EMU_CLOCK_SAMPLES - (others > 0);
    unsigned pieces = 0;

    memcpy(other, r->group + 1, others * sizeof(struct emu_clock_group *));
    while (pieces < room && pieces < c->n && (r->group[pieces] = cut(c, pieces)))
        pieces++;
    r->groups = pieces;
    emu_clock_group_free(whole);
    for (unsigned i = 0; i < others; i++)
        if (r->groups < EMU_CLOCK_SAMPLES) {
            other[i]->number += c->n - 1;
            r->group[r->groups++] = other[i];
        } else {
            emu_clock_group_free(other[i]);
        }
    return pieces > 0;
}

static const char *make(struct emu_clock_recorder *r, struct cutter *c, unsigned nops)
{
    while (c->end < nops && c->ops[c->end].kind != EMU_CK_END)
        c->end++;
    if (c->end == nops || !find_takings(c) || !find_barriers(c))
        return OTHERWISE;
    if (!set_costs(r, c) || !put_pieces(r, c))
        return "out of memory";
    r->takers = r->workgroups;
    r->workgroups += c->n - 1;
    r->grid[0] = (uint32_t)r->workgroups;
    r->grid[1] = r->grid[2] = 1;
    return "";
}

const char *emu_pieces_make(struct emu_clock_recorder *r, const struct emu_clock_op *ops,
                            unsigned nops)
{
    struct cutter c = {.ops = ops, .whole = r->groups ? r->group[0] : NULL};
    const char *why;

    for (unsigned i = 1; i < r->groups; i++)
        if (r->group[i]->queue)
            return OTHERWISE;
    if (!c.whole || !c.whole->queue)
        return "";
    if (c.whole->number || !c.whole->done || c.whole->failed)
        return OTHERWISE;
    why = make(r, &c, nops);
    free(c.taking);
    free(c.passed);
    return why;
}
