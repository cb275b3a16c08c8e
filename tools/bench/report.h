/* What aothip-bench found out, and how it is printed. */
#ifndef AOTHIP_BENCH_REPORT_H
#define AOTHIP_BENCH_REPORT_H

#include "workload.h"
#include "device.h"

/* Sums over the launches of one call, as the emulator counts them. */
struct bench_counters {
    long long launches, instructions, matrix, matrix_passes, lds_conflict_cycles, bytes_loaded,
        bytes_stored;
};

struct bench_result {
    struct bench_shape shape;
    struct status why;      /* why there is none */
    int cut;                /* 1: the shape was made smaller for the emulator */
    double median, fastest; /* seconds of one call; 0 on the emulator */
    struct bench_counters counters;
};

enum bench_format { BENCH_TEXT, BENCH_JSON, BENCH_CSV };

/* Head, one line a result as it comes, and tail, on standard output. */
void bench_print_head(enum bench_format format, const struct device *device);
void bench_print_result(enum bench_format format, const struct bench_result *result, int emulated,
                        int first);
void bench_print_tail(enum bench_format format);

/*
 * Reads the emulator's file of counters and sums up the launches that it has from number *seen on;
 * *seen becomes their number. Errors: IO, FORMAT.
 */
enum aothip_status bench_read_counters(const char *file, long long *seen,
                                       struct bench_counters *counters, struct status *why);

#endif
