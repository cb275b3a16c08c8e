/*
 * Delta debugging (Zeller and Hildebrandt 2002) over features: groups of fields become usual, ever
 * smaller ones, then numbers become smaller one by one, until nothing more can be taken away.
 */
#include "shrink.h"

#include <stdlib.h>
#include <string.h>

struct state {
    struct draft best;
    shrink_fails *fails;
    void *user;
    int tries, most;
};

/* What is to become less: unusual fields first of all, then numbers. */
static long weight(const struct draft *d)
{
    struct draft copy = *d;
    long sum = 0;
    int i;

    for (i = 0; i < draft_field_count; i++) {
        const struct draft_field *f = &draft_fields[i];
        long away = labs((long)*draft_at(&copy, f) - f->usual);
        if (f->offset == offsetof(struct draft, seed))
            continue;
        sum += (away != 0) * 100000L + (*f->words ? 0 : away < 9999 ? away : 9999);
    }
    return sum;
}

static bool take(struct state *s, struct draft trial)
{
    draft_mend(&trial);
    if (s->tries >= s->most || weight(&trial) >= weight(&s->best))
        return false;
    s->tries++;
    if (!s->fails(&trial, s->user))
        return false;
    s->best = trial;
    return true;
}

/* Where it runs stays: a failure on one GPU is to be looked at there. */
static bool stays(int field)
{
    return draft_fields[field].offset == offsetof(struct draft, gpu) ||
           draft_fields[field].offset == offsetof(struct draft, seed);
}

static bool drop_groups(struct state *s)
{
    bool better = false;
    int size, first, i;

    for (size = 32; size > 0; size /= 2)
        for (first = 0; first < draft_field_count; first += size) {
            struct draft trial = s->best;
            for (i = first; i < first + size && i < draft_field_count; i++)
                if (!stays(i))
                    *draft_at(&trial, &draft_fields[i]) = draft_fields[i].usual;
            better |= take(s, trial);
        }
    return better;
}

static bool lower_numbers(struct state *s)
{
    static const int edges[] = {512, 257, 256, 193, 192, 129, 128, 97, 96, 65, 64, 33,
                                32,  17,  16,  9,   8,   5,   4,   3,  2,  1,  0};
    bool better = false;
    int i, j;

    for (i = 0; i < draft_field_count; i++) {
        const struct draft_field *f = &draft_fields[i];
        bool smaller = true;
        if (*f->words || stays(i))
            continue;
        for (j = (int)(sizeof(edges) / sizeof(edges[0])) - 1; j >= 0; j--) {
            struct draft trial = s->best;
            if (edges[j] >= abs(*draft_at(&s->best, f)))
                break;
            *draft_at(&trial, f) = edges[j];
            if (take(s, trial)) {
                better = true;
                break;
            }
        }
        while (smaller) { /* from there on by ones */
            struct draft trial = s->best;
            int *number = draft_at(&trial, f);
            *number += *number > f->usual ? -1 : *number < f->usual ? 1 : 0;
            smaller = abs(*number) < 600 && take(s, trial);
            better |= smaller;
        }
    }
    return better;
}

int shrink(struct draft *d, shrink_fails *fails, void *user, int tries)
{
    struct state s = {*d, fails, user, 0, tries};
    bool better = true;

    while (better && s.tries < tries) {
        better = drop_groups(&s);
        better |= lower_numbers(&s);
    }
    *d = s.best;
    return s.tries;
}
