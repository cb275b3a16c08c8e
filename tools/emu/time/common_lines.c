/* Finds which recorded workgroups touch the same memory, and how far apart they lie. */
#include "common_lines.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

bool emu_lines_of(struct emu_lines *l, const struct emu_clock_group *g)
{
    size_t n = 0;

    for (unsigned i = 0; i < g->waves; i++)
        n += g->wave[i].lines;
    l->n = 0;
    l->line = malloc((n + 1) * sizeof *l->line);
    l->hits = calloc(n + 1, sizeof *l->hits);
    if (!l->line || !l->hits)
        return false;
    n = 0;
    for (unsigned i = 0; i < g->waves; i++)
        for (size_t j = 0; j < g->wave[i].lines; j++)
            l->line[n++] = g->wave[i].line[j];
    qsort(l->line, n, sizeof *l->line, by_value);
    for (size_t i = 0; i < n; i++)
        if (!l->n || l->line[i] != l->line[l->n - 1])
            l->line[l->n++] = l->line[i];
    return true;
}

void emu_lines_free(struct emu_lines *l)
{
    free(l->line);
    free(l->hits);
    *l = (struct emu_lines){0};
}

/* Lines of x that are also lines of y; those are noted in `hits`, if it is there. */
static size_t count_common(uint16_t *hits, const struct emu_lines *x, const struct emu_lines *y)
{
    size_t common = 0;

    for (size_t i = 0, j = 0; i < x->n && j < y->n;) {
        if (x->line[i] == y->line[j]) {
            common++;
            if (hits)
                hits[i]++;
            i++;
        } else if (x->line[i] < y->line[j]) {
            i++;
        } else {
            j++;
        }
    }
    return common;
}

/*
 * Notes which lines of x are also lines of y, if there are many; false: they are few. Of a
 * workgroup whose beginning alone was recorded the rest is taken to be like that: the first
 * workgroup's lines are then all its, too.
 */
static bool mark_common(struct emu_lines *x, const struct emu_lines *y, bool cut)
{
    const size_t common = count_common(NULL, x, y);

    if (common * 4 > x->n) {
        count_common(x->hits, x, y);
        return true;
    }
    if (!cut || common * 4 <= y->n)
        return false;
    for (size_t i = 0; i < x->n; i++)
        x->hits[i]++;
    return true;
}

bool emu_lines_shared(struct emu_lines *l, const struct emu_clock_group *g)
{
    struct emu_lines other;
    const bool shared = emu_lines_of(&other, g) && mark_common(l, &other, g->cut);

    emu_lines_free(&other);
    return shared;
}

struct emu_places emu_places_none(void)
{
    return (struct emu_places){.next = UINT64_MAX, .beside = 1};
}

/* Heads that share keys and values lie beside each other, and share them again a period later. */
void emu_places_note(struct emu_places *p, uint64_t at, bool shares)
{
    if (shares) {
        p->sharing++;
        p->first = !p->first || (p->first == 1 && p->beside > 1) ? at : p->first;
        p->last = at;
        if (p->next <= at)
            p->next = UINT64_MAX;
        return;
    }
    if (p->first == 1 && p->beside == 1)
        p->beside = at;
    if (p->sharing && p->next == UINT64_MAX && at % p->first == 0)
        p->next = at;
}

static const struct emu_clock_group *recorded(const struct emu_clock_recorder *r, uint64_t number)
{
    for (unsigned i = 0; i < r->groups; i++)
        if (r->group[i]->number == number)
            return r->group[i]->done || r->group[i]->cut ? r->group[i] : NULL;
    return NULL;
}

void emu_clock_lay_along_x(struct emu_clock_recorder *r)
{
    const uint64_t layer = (uint64_t)r->grid[0] * r->grid[1];
    const struct emu_clock_group *first = recorded(r, 0), *next = recorded(r, layer);
    struct emu_lines lines;

    if (r->grid[2] < 2 || r->workgroups > UINT32_MAX || !first || !next)
        return;
    if (emu_lines_of(&lines, first) && emu_lines_shared(&lines, next)) {
        r->grid[0] = (uint32_t)r->workgroups;
        r->grid[1] = r->grid[2] = 1;
    }
    emu_lines_free(&lines);
}

void emu_clock_find_period(struct emu_clock_recorder *r)
{
    struct emu_places places = emu_places_none();
    struct emu_lines lines;
    const bool ok = emu_lines_of(&lines, r->group[0]);

    for (unsigned i = 1; ok && !r->group[0]->number && i < r->groups; i++)
        if (r->group[i]->number < r->grid[0] && (r->group[i]->done || r->group[i]->cut))
            emu_places_note(&places, r->group[i]->number, emu_lines_shared(&lines, r->group[i]));
    emu_lines_free(&lines);
    r->period = places.first;
    r->beside = places.first > 1 ? places.beside : 1;
}
