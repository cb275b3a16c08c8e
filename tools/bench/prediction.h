/* What the emulator's clock says of a call of several launches; as JSON it goes between processes.
 */
#ifndef AOTHIP_BENCH_PREDICTION_H
#define AOTHIP_BENCH_PREDICTION_H

#include "device_time.h"
#include "workload.h"

#include <stdio.h>

struct bench_prediction {
    int launches;             /* 0: there is no prediction */
    double low, middle, high; /* seconds, over the plausible orders of waves */
    double error;             /* beside that: what cycles and clock may be off by, as a part */
    double cycles, gigahertz;
    double peak; /* FLOP/s of the matrix pipes at that clock, in the instructions used; or 0 */
    double matrix_busy, vector_busy, lds_busy, l1_busy, dram_busy; /* shares of the time */
    double causes[EMU_TIME_CAUSES];                                /* likewise */
    int bound;                                                     /* the largest but tail */
    int extrapolated;
};

/* Sums up the results that the clock has. Errors: HIP, if one was not timed. */
enum aothip_status bench_prediction_sum(const struct device_time *time,
                                        struct bench_prediction *prediction, struct status *why);

/* How far off it may be: half the range, and the error. As a part of the middle. */
double bench_prediction_spread(const struct bench_prediction *prediction);

/* As long as the process; "matrix", "LDS conflicts" and so on. */
const char *bench_cause(int cause);

/* Prints its keys and values, without braces. */
void bench_prediction_print(FILE *f, const struct bench_shape *shape,
                            const struct bench_prediction *prediction);

#endif
