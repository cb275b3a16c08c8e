/* The emulator's counts of a call, by way of its file of counters. */
#ifndef AOTHIP_BENCH_COUNTERS_H
#define AOTHIP_BENCH_COUNTERS_H

#include "bench_result.h"

/* Where the counters go, and how many launches were read from there. */
struct bench_counting {
    char file[64];
    int own; /* 1: the file is to be removed */
    long long seen;
};

/* Must come before the emulator is opened. Returns 0, or -1 after a message. */
int bench_counting_open(struct bench_counting *counting);
void bench_counting_close(struct bench_counting *counting);

/* Sums up the launches since the last time. Errors: FORMAT. */
enum aothip_status bench_counting_read(struct bench_counting *counting,
                                       struct bench_counters *counters, struct status *why);

#endif
