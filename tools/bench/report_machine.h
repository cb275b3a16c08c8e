/* Prints what aothip-bench found out for machines: JSON and CSV. */
#ifndef AOTHIP_BENCH_REPORT_MACHINE_H
#define AOTHIP_BENCH_REPORT_MACHINE_H

#include "bench_result.h"

/* The text as JSON. */
void bench_print_string(const char *text);

void bench_print_json(const struct bench_style *style, const struct bench_result *result,
                      int first);
void bench_print_csv_head(const struct bench_style *style);
void bench_print_csv(const struct bench_style *style, const struct bench_result *result);

#endif
