/*
 * Problems in processes of their own, in which the emulator has the mode and order that they ask
 * for, and may crash or hang without harm.
 */
#ifndef RANDOM_TRIAL_H
#define RANDOM_TRIAL_H

#include "judge.h"

enum { TRIAL_FAILURES = 8, TRIAL_SECONDS = 60 };

/* What a run of problems came to. Lives in memory that parent and child share. */
struct trial_result {
    int64_t done;    /* problems judged */
    int64_t current; /* the one under way, as a number; the child died in it if it is not `done` */
    int failures;
    int64_t failed[TRIAL_FAILURES];
    char text[TRIAL_FAILURES][STAGE_TEXT];
    double most; /* see struct verdict */
    int64_t of_op[3], of_gpu[DRAFT_GPUS];
};

/*
 * Runs problems first, first + 1, ... first + count - 1 of `seed` until the time `end`, in a child
 * whose matrix mode and order are those of problem `first`.
 */
void trial_run_lot(uint64_t seed, int64_t first, int count, double end, struct trial_result *r);

/* Runs one; whether it is right, and if not, what is wrong. */
bool trial_run_one(const struct draft *d, char text[STAGE_TEXT]);

/* Problem `number` of a seed, as trial_run_lot() runs it in lots of `count`. */
struct draft trial_draft(uint64_t seed, int64_t number, int count);

/* Seconds since some time. */
double trial_clock(void);

#endif
