/*
 * "did you mean": holds a misspelt word against what is known.
 */
#ifndef AOTHIP_SUGGEST_H
#define AOTHIP_SUGGEST_H

struct suggest {
    const char *word; /* what was found */
    const char *best; /* the nearest candidate so far; NULL before the first */
    int distance;     /* Levenshtein distance to it; 0: known after all */
    char known[256];  /* all candidates, separated by blanks; the tail is cut off */
};

/* Begin with {word, NULL, 0, ""} and add every candidate; both strings must outlive the struct. */
void suggest_add(struct suggest *s, const char *candidate);

/* Is the best one so near that the word is likely a slip? */
int suggest_is_close(const struct suggest *s);

#endif
