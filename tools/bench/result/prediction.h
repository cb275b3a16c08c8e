/* What the emulator's clock says of a call of several launches; as JSON it goes between processes.
 */
#ifndef AOTHIP_BENCH_PREDICTION_H
#define AOTHIP_BENCH_PREDICTION_H

#include "device_time.h"
#include "workload.h"

#include <jansson.h>
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
    double flops;        /* executed by matrix instructions */
    double memory_bytes; /* loaded from beyond L2, and stored */
    double memory_rate;  /* bytes a second that device memory gives; or 0 */
    double roof;         /* as peak, at the clock that the GPU has without load; or 0 */
    double matrix_seconds, matrix_least; /* while it is summed up */
};

/* Sums up the results that the clock has. Errors: HIP, if one was not timed. */
enum aothip_status bench_prediction_sum(const struct device_time *time,
                                        struct bench_prediction *prediction, struct status *why);

/* The same by launches, into zeros: then finish. Errors: HIP, if there was none. */
void bench_prediction_add(struct bench_prediction *prediction,
                          const struct emu_time_result *launch);
enum aothip_status bench_prediction_finish(struct bench_prediction *prediction, struct status *why);

/* How far off it may be: half the range, and the error. As a part of the middle. */
double bench_prediction_spread(const struct bench_prediction *prediction);

/* As long as the process; "matrix", "LDS conflicts" and so on. */
const char *bench_cause(int cause);

/* What takes most of the time: the bound, or tail where the problem is too small for the GPU. */
static inline int bench_most(const struct bench_prediction *prediction)
{
    const double *causes = prediction->causes;

    return causes[EMU_TIME_TAIL] > causes[prediction->bound] ? EMU_TIME_TAIL : prediction->bound;
}

/* Prints its keys and values, without braces. */
void bench_prediction_print(FILE *f, const struct bench_shape *shape,
                            const struct bench_prediction *prediction);

/* What bench_prediction_print() printed, as an object; without launches if there was none. */
void bench_prediction_read(const json_t *result, struct bench_prediction *prediction);

/*
 * One launch of the emulator's counters file (AOTHIP_EMU_COUNTERS, written with AOTHIP_EMU_TIME).
 * Texts of *launch point into the object. Errors: FORMAT, also if it has no times.
 */
enum aothip_status bench_launch_read(const json_t *object, struct emu_time_result *launch,
                                     struct status *why);

#endif
