/*
 * Finds the known word nearest to a misspelt one.
 */
#include "suggest.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 31
#define FAR 99

static int smallest(int a, int b, int c)
{
    return a < b ? (a < c ? a : c) : (b < c ? b : c);
}

/* Levenshtein distance, one row of the matrix at a time; longer words count as far away. */
static int distance(const char *a, const char *b)
{
    int row[LONGEST + 1], na = (int)strlen(a), nb = (int)strlen(b);
    if (na > LONGEST || nb > LONGEST)
        return strcmp(a, b) ? FAR : 0;
    for (int j = 0; j <= nb; j++)
        row[j] = j;
    for (int i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[nb];
}

void suggest_add(struct suggest *s, const char *candidate)
{
    int d = distance(s->word, candidate);
    size_t used = strlen(s->known);
    if (!s->best || d < s->distance) {
        s->best = candidate;
        s->distance = d;
    }
    snprintf(s->known + used, sizeof(s->known) - used, "%s%s", used ? " " : "", candidate);
}

int suggest_is_close(const struct suggest *s)
{
    return s->best && s->distance <= 2 && s->distance < (int)strlen(s->word);
}
