/*
 * Pairwise test designs: rows of one level a factor, so that every pair of levels of two different
 * factors that may stand together does so in some row. The same seed gives the same rows.
 */
#ifndef AOTHIP_TEST_PAIRS_H
#define AOTHIP_TEST_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

enum { PAIRS_FACTORS_MAX = 32, PAIRS_LEVELS_MAX = 16, PAIRS_ROWS_MAX = 1024 };

struct pairs_factor {
    const char *name;
    int levels; /* at most PAIRS_LEVELS_MAX */
};

struct pairs_row {
    unsigned char level[PAIRS_FACTORS_MAX];
};

/* Whether level x of factor a may stand with level y of factor b; asked with a < b only. */
typedef bool pairs_allowed(int a, int x, int b, int y);

/*
 * Fills rows[] and returns how many there are; -1 if PAIRS_ROWS_MAX does not suffice. A pair is
 * left out if the other factors have no levels that may stand with it and each other: *left_out
 * counts these, and the caller should know their number.
 */
int pairs_make(const struct pairs_factor *factors, int count, pairs_allowed *allowed, uint64_t seed,
               struct pairs_row rows[PAIRS_ROWS_MAX], int *left_out);

#endif
