/* Predictions from another process. */
#ifndef AOTHIP_BENCH_ELSEWHERE_H
#define AOTHIP_BENCH_ELSEWHERE_H

#include "prediction.h"

/*
 * On a real GPU the emulator cannot be in the same process: lets another aothip-bench predict the
 * shape, as on `target`. Returns 0, or -1 if that cannot be had.
 */
int bench_prediction_elsewhere(const char *target, const char *images,
                               const struct bench_shape *shape,
                               struct bench_prediction *prediction);

#endif
