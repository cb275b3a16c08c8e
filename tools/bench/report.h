/* Prints what aothip-bench found out. */
#ifndef AOTHIP_BENCH_REPORT_H
#define AOTHIP_BENCH_REPORT_H

#include "bench_result.h"

/* Head, one line a result as it comes, and tail, on standard output. */
void bench_print_head(const struct bench_style *style, const struct device *device);
void bench_print_result(const struct bench_style *style, const struct bench_result *result,
                        int first);
void bench_print_tail(const struct bench_style *style);

#endif
