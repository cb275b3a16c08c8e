/* Holds what came back from the device against what the header says. */
#ifndef RANDOM_JUDGE_H
#define RANDOM_JUDGE_H

#include "stage.h"

struct verdict {
    int wrong;             /* elements, and blocks with strays */
    double most;           /* the largest part of its tolerance that an element took */
    char text[STAGE_TEXT]; /* of the first that is wrong */
};

void judge(struct scene *s, struct verdict *v);

#endif
