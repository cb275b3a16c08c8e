/* Times calls by the device's own clock. */
#ifndef AOTHIP_BENCH_EVENT_TIMES_H
#define AOTHIP_BENCH_EVENT_TIMES_H

#include "attn.h"

/* Launches `count` times; times[] in milliseconds, in ascending order. Errors: HIP and attn.h's. */
enum aothip_status bench_time_calls(const struct device *device, struct aothip_context *context,
                                    const struct attn_call *call, int count, float *times,
                                    struct status *why);

#endif
