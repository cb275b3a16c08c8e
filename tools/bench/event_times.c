/* Times calls by events on the device. */
#include "event_times.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

enum { EVENTS_MAX = 65 };

/* The first call that fails ends it; *symbol tells which. */
#define HIP_TRY(call, name)                                                                        \
    do {                                                                                           \
        *symbol = name;                                                                            \
        error = call;                                                                              \
        if (error != hipSuccess)                                                                   \
            return error;                                                                          \
    } while (0)

/* Times `count` calls that follow each other without a pause, each from the event before it. */
static hipError_t time_block(const struct device *device, struct aothip_context *context,
                             const struct attn_call *call, int count, hipEvent_t *event,
                             float *times, const char **symbol, struct status *why)
{
    const struct hip *hip = &device->runtime->hip;
    hipError_t error;
    int i;

    HIP_TRY(hip->event_record(event[0], device->stream), "hipEventRecord");
    for (i = 0; i < count; i++) {
        if (attn_launch(device, context, call, why))
            return hipSuccess;
        HIP_TRY(hip->event_record(event[i + 1], device->stream), "hipEventRecord");
    }
    HIP_TRY(hip->event_synchronize(event[count]), "hipEventSynchronize");
    for (i = 0; i < count; i++)
        HIP_TRY(hip->event_elapsed(&times[i], event[i], event[i + 1]), "hipEventElapsedTime");
    return hipSuccess;
}

enum aothip_status bench_time_calls(const struct device *device, struct aothip_context *context,
                                    const struct attn_call *call, int count, float *times,
                                    struct status *why)
{
    const struct hip *hip = &device->runtime->hip;
    const char *symbol = "hipEventCreate";
    hipEvent_t event[EVENTS_MAX];
    hipError_t error = hipSuccess;
    int events = 0, done = 0;

    while (events < EVENTS_MAX && events <= count && error == hipSuccess) {
        error = hip->event_create(&event[events]);
        events += error == hipSuccess;
    }
    while (done < count && error == hipSuccess && !why->code) {
        int block = count - done < events - 1 ? count - done : events - 1;
        error = time_block(device, context, call, block, event, times + done, &symbol, why);
        done += block;
    }
    while (events)
        hip->event_destroy(event[--events]);
    if (error == hipSuccess && !why->code)
        qsort(times, (size_t)count, sizeof(*times), compare);
    return error == hipSuccess ? why->code : hip_fail(hip, symbol, error, why);
}
