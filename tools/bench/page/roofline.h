/* A roofline: throughput over arithmetic intensity, below what memory and matrix pipes allow. */
#ifndef AOTHIP_BENCH_ROOFLINE_H
#define AOTHIP_BENCH_ROOFLINE_H

#include "chart.h"

enum { ROOFS_MAX = 4 };

struct chart_roofs {
    double bandwidth;         /* TB/s of device memory */
    double matrix[ROOFS_MAX]; /* TFLOP/s of the matrix pipes, by their instructions */
    size_t count;
};

/* Points: x in FLOP a byte, y in TFLOP/s. Both axes are logarithmic. Nothing without bandwidth or
 * points. */
void chart_roofline(FILE *f, const struct chart_point *points, size_t count,
                    const struct chart_roofs *roofs);

#endif
