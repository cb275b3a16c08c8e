/*
 * A cache with sets and ways, the line used longest ago making room. Some sets begin as one, which
 * is parted once it is full: so a cache takes no more memory than what is in it. Which lines it
 * holds is the same as if all sets were there.
 */
#include <stdlib.h>
#include <string.h>

#include "unit_parts.h"

struct way {
    uint64_t line;
    uint32_t next;         /* of the same bucket: its place + 1; 0: none */
    uint16_t newer, older; /* of the same set: its number there + 1; 0: none */
};

struct set {
    uint16_t n, newest, oldest; /* of ways, as above */
};

struct unit_cache {
    unsigned sets, most, ways, buckets;
    struct way *way;
    struct set *set;
    uint32_t *first; /* of each bucket, in which lines are found */
};

enum { FIRST_SETS = 32 };

static uint32_t *bucket(const struct unit_cache *c, uint64_t line)
{
    return &c->first[line * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (c->buckets - 1)];
}

static bool give_room(struct unit_cache *c)
{
    const size_t lines = (size_t)c->sets * c->ways;

    for (c->buckets = 256; c->buckets < lines; c->buckets *= 2)
        ;
    c->way = calloc(lines, sizeof *c->way);
    c->set = calloc(c->sets, sizeof *c->set);
    c->first = calloc(c->buckets, sizeof *c->first);
    return c->way && c->set && c->first;
}

static void take_room(struct unit_cache *c)
{
    free(c->way);
    free(c->set);
    free(c->first);
}

struct unit_cache *emu_unit_cache_new(double bytes, double ways, double line)
{
    struct unit_cache *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->ways = (unsigned)ways;
    c->sets = c->most = (unsigned)(bytes / line / ways);
    while (c->sets > FIRST_SETS && c->sets % 2 == 0)
        c->sets /= 2;
    if (give_room(c))
        return c;
    emu_unit_cache_free(c);
    return NULL;
}

void emu_unit_cache_free(struct unit_cache *c)
{
    if (!c)
        return;
    take_room(c);
    free(c);
}

struct unit_cache *emu_unit_cache_clone(const struct unit_cache *from)
{
    struct unit_cache *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    *c = *from;
    if (!give_room(c)) {
        emu_unit_cache_free(c);
        return NULL;
    }
    memcpy(c->way, from->way, (size_t)c->sets * c->ways * sizeof *c->way);
    memcpy(c->set, from->set, c->sets * sizeof *c->set);
    memcpy(c->first, from->first, c->buckets * sizeof *c->first);
    return c;
}

/* Way i of a set, numbered from 1, becomes its newest. */
static void put_first(struct unit_cache *c, struct set *s, uint16_t i)
{
    struct way *way = c->way + (size_t)(s - c->set) * c->ways - 1;

    way[i].newer = 0;
    way[i].older = s->newest;
    if (s->newest)
        way[s->newest].newer = i;
    s->newest = i;
    if (!s->oldest)
        s->oldest = i;
}

static void take_out(struct unit_cache *c, struct set *s, uint16_t i)
{
    struct way *way = c->way + (size_t)(s - c->set) * c->ways - 1;
    const uint16_t newer = way[i].newer, older = way[i].older;

    if (newer)
        way[newer].older = older;
    else
        s->newest = older;
    if (older)
        way[older].newer = newer;
    else
        s->oldest = newer;
}

static struct set *set_of(const struct unit_cache *c, uint64_t line)
{
    return &c->set[(line ^ line >> 7) % c->sets];
}

static void forget(struct unit_cache *c, uint32_t place)
{
    uint32_t *at = bucket(c, c->way[place].line);

    while (*at != place + 1)
        at = &c->way[*at - 1].next;
    *at = c->way[place].next;
}

/* Into a set that has room, or in its oldest line's place. */
static void insert(struct unit_cache *c, struct set *s, uint64_t line)
{
    const uint32_t base = (uint32_t)((size_t)(s - c->set) * c->ways);
    uint32_t *at = bucket(c, line);
    uint16_t i = s->oldest;

    if (s->n < c->ways) {
        i = ++s->n;
    } else {
        take_out(c, s, i);
        forget(c, base + i - 1u);
    }
    c->way[base + i - 1].line = line;
    c->way[base + i - 1].next = *at;
    *at = base + i;
    put_first(c, s, i);
}

/* Twice as many sets. False: there are all, or no memory for more. */
static bool part_sets(struct unit_cache *c)
{
    struct unit_cache old = *c;

    if (c->sets == c->most)
        return false;
    c->sets *= 2;
    if (!give_room(c)) {
        take_room(c);
        *c = old;
        return false;
    }
    for (unsigned i = 0; i < old.sets; i++) {
        const struct way *way = old.way + (size_t)i * old.ways - 1;

        for (unsigned k = old.set[i].oldest; k; k = way[k].newer)
            insert(c, set_of(c, way[k].line), way[k].line);
    }
    take_room(&old);
    return true;
}

bool emu_unit_cache_look(struct unit_cache *c, uint64_t line)
{
    struct set *s = set_of(c, line);

    for (uint32_t at = *bucket(c, line); at; at = c->way[at - 1].next)
        if (c->way[at - 1].line == line) {
            const uint16_t i = (uint16_t)(at - (size_t)(s - c->set) * c->ways);

            if (s->newest != i) {
                take_out(c, s, i);
                put_first(c, s, i);
            }
            return true;
        }
    while (s->n == c->ways && part_sets(c))
        s = set_of(c, line);
    insert(c, s, line);
    return false;
}
