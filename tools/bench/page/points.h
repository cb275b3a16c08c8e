/* Results as points of pictures. */
#ifndef AOTHIP_BENCH_POINTS_H
#define AOTHIP_BENCH_POINTS_H

#include "bench_result.h"
#include "chart.h"

/* "forward bf16 causal d128": what a line of the picture has in common. */
void page_series(const struct bench_result *result, char name[CHART_NAME_MAX]);

/* For qsort(): by length, ours before those of others. */
int page_order(const void *a, const void *b);

/* FLOP that the problem needs; where it is not known, those that matrix instructions executed. */
double page_work(const struct bench_result *result);

/* What its time may be off by, as a part; of a measured one, 0. */
double page_spread(const struct bench_result *result);

/* Its throughput at x, with a whisker. */
void page_point(const struct bench_result *result, double x, struct chart_point *point);

#endif
