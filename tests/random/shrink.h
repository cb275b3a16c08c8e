/* Makes a failing problem as small as it can be while it still fails. */
#ifndef RANDOM_SHRINK_H
#define RANDOM_SHRINK_H

#include "draft.h"

/* Whether a problem still fails in the way that is looked for. */
typedef bool shrink_fails(const struct draft *d, void *user);

/* At most `tries` problems are run; returns how many were. */
int shrink(struct draft *d, shrink_fails *fails, void *user, int tries);

#endif
