/* One run of aothip-bench: what is open, and what one shape's measurement makes of it. */
#ifndef AOTHIP_BENCH_SESSION_H
#define AOTHIP_BENCH_SESSION_H

#include "bench_counters.h"
#include "device_time.h"
#include "timeline.h"

struct bench_wishes {
    const char *emulate, *images, *timeline, *clock; /* or NULL */
    int device, repeat, warm_up;
    int counts, profile, beside; /* flags; beside: predictions beside measured times */
};

struct bench_session {
    const struct bench_wishes *wishes;
    struct aothip_context *context;
    struct device_runtime runtime;
    struct device device;
    enum bench_kind kind;
    int beside; /* 1: predictions beside times can be had */
    struct bench_counting counting;
    struct device_time time;
    struct timeline *timeline;
};

/* A message on stderr, and -1, if it cannot be; close in either case. */
int bench_session_open(struct bench_session *session, const struct bench_wishes *wishes);
int bench_session_close(struct bench_session *session); /* -1: the timeline was not written */

/* --measure: needs no images. A message on stderr, and -1, if it cannot be. */
int bench_session_measure(const struct bench_wishes *wishes, const char *file);

/* Measures, predicts or counts result->shape; what fails stands in result->why. */
void bench_session_run(struct bench_session *session, struct bench_result *result);

#endif
