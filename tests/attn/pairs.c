/* Makes pairwise test designs, greedily: each row begins with a pair that no row has yet. */
#include "pairs.h"

#include <string.h>

enum { TRIES = 24 };

struct design {
    const struct pairs_factor *factors;
    int count;
    pairs_allowed *allowed;
    uint64_t seed;
    /* 0: yet to come; 1: in a row, or not allowed, or found impossible */
    unsigned char done[PAIRS_FACTORS_MAX][PAIRS_FACTORS_MAX][PAIRS_LEVELS_MAX][PAIRS_LEVELS_MAX];
};

static int below(struct design *d, int limit)
{
    d->seed = d->seed * 6364136223846793005U + 1442695040888963407U;
    return (int)((d->seed >> 33) % (uint64_t)limit);
}

static bool fits(const struct design *d, int a, int x, int b, int y)
{
    return a < b ? d->allowed(a, x, b, y) : d->allowed(b, y, a, x);
}

static unsigned char *mark(struct design *d, int a, int x, int b, int y)
{
    return a < b ? &d->done[a][b][x][y] : &d->done[b][a][y][x];
}

/*
 * The level of factor f that goes with those chosen so far and adds most new pairs; equals are
 * drawn by lot, with one more lot than levels so that repetition is rare. -1: there is none.
 */
static int best_level(struct design *d, int f, const int level[])
{
    int best = -1, most = -1, x, g;

    for (x = 0; x < d->factors[f].levels; x++) {
        int fresh = 0;
        for (g = 0; g < d->count && fresh >= 0; g++) {
            if (g == f || level[g] < 0)
                continue;
            fresh = fits(d, f, x, g, level[g]) ? fresh + !*mark(d, f, x, g, level[g]) : -1;
        }
        if (fresh < 0)
            continue;
        fresh = fresh * PAIRS_LEVELS_MAX + below(d, PAIRS_LEVELS_MAX);
        if (fresh > most) {
            most = fresh;
            best = x;
        }
    }
    return best;
}

/* Completes a row from the pair (a, x), (b, y), the factors in random order. */
static bool complete(struct design *d, int a, int x, int b, int y, int level[])
{
    int order[PAIRS_FACTORS_MAX], i;

    for (i = 0; i < d->count; i++) {
        int j = below(d, i + 1);
        order[i] = order[j];
        order[j] = i;
        level[i] = -1;
    }
    level[a] = x;
    level[b] = y;
    for (i = 0; i < d->count; i++) {
        int f = order[i];
        if (level[f] < 0 && (level[f] = best_level(d, f, level)) < 0)
            return false;
    }
    return true;
}

static void take(struct design *d, const int level[], struct pairs_row *row)
{
    int a, b;

    for (a = 0; a < d->count; a++) {
        row->level[a] = (unsigned char)level[a];
        for (b = a + 1; b < d->count; b++)
            *mark(d, a, level[a], b, level[b]) = 1;
    }
}

int pairs_make(const struct pairs_factor *factors, int count, pairs_allowed *allowed, uint64_t seed,
               struct pairs_row rows[PAIRS_ROWS_MAX], int *left_out)
{
    static struct design d;
    int level[PAIRS_FACTORS_MAX], rows_made = 0, a, b, x, y, i;

    memset(&d, 0, sizeof(d));
    d.factors = factors;
    d.count = count;
    d.allowed = allowed;
    d.seed = seed;
    *left_out = 0;
    for (a = 0; a < count; a++)
        for (b = a + 1; b < count; b++)
            for (x = 0; x < factors[a].levels; x++)
                for (y = 0; y < factors[b].levels; y++) {
                    bool made = false;
                    if (d.done[a][b][x][y] || !allowed(a, x, b, y))
                        continue;
                    for (i = 0; i < TRIES && !made; i++)
                        made = complete(&d, a, x, b, y, level);
                    d.done[a][b][x][y] = 1;
                    *left_out += !made;
                    if (!made)
                        continue;
                    if (rows_made == PAIRS_ROWS_MAX)
                        return -1;
                    take(&d, level, &rows[rows_made++]);
                }
    return rows_made;
}
