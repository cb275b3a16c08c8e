/* HIP streams and events. Everything enqueued is done at once; what is left is order and capture.
 */
#include "emu_hip_newer.h"

#include <stdlib.h>

/* Value of hipStreamPerThread in HIP 5; hipStreamLegacy of HIP 6 is 1. */
#define STREAM_LEGACY ((hipStream_t)1)
#define STREAM_PER_THREAD ((hipStream_t)2)

struct ihipEvent_t {
    unsigned flags;
    struct emu_device *device;
    bool recorded;
    uint64_t at;             /* emulated clock of the device */
    struct ihipGraph *graph; /* recorded in a capture */
};

struct ihipStream_t *emu_stream_get(hipStream_t stream)
{
    struct emu_device *d = emu_hip_current();
    /* Host threads need no stream of their own when every call is synchronous. */
    if (stream == NULL || stream == STREAM_LEGACY || stream == STREAM_PER_THREAD)
        return d->null_stream;
    return emu_handle_live(stream, EMU_HANDLE_STREAM) ? stream : NULL;
}

static pthread_mutex_t *stream_order(struct ihipStream_t *s)
{
    return s->flags & hipStreamNonBlocking ? &s->own : &s->device->order;
}

void emu_stream_lock(struct ihipStream_t *s)
{
    pthread_mutex_lock(stream_order(s));
}

void emu_stream_unlock(struct ihipStream_t *s)
{
    pthread_mutex_unlock(stream_order(s));
}

hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority)
{
    EMU_BEGIN();
    if (!stream || (flags != hipStreamDefault && flags != hipStreamNonBlocking))
        return emu_hip_fail(hipErrorInvalidValue, "stream: result is null or flags %u", flags);
    struct ihipStream_t *s = calloc(1, sizeof *s);
    if (!s || !emu_handle_add(s, EMU_HANDLE_STREAM)) {
        free(s);
        return emu_hip_fail(hipErrorOutOfMemory, "out of memory");
    }
    s->device = emu_hip_current();
    s->flags = flags;
    s->priority = priority < -1 ? -1 : priority > 1 ? 1 : priority;
    pthread_mutex_init(&s->own, NULL);
    *stream = s;
    return hipSuccess;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    return hipStreamCreateWithPriority(stream, flags, 0);
}

hipError_t hipStreamCreate(hipStream_t *stream)
{
    return hipStreamCreateWithPriority(stream, hipStreamDefault, 0);
}

hipError_t hipStreamDestroy(hipStream_t stream)
{
    EMU_BEGIN();
    if (!emu_handle_drop(stream, EMU_HANDLE_STREAM))
        return emu_hip_fail(hipErrorInvalidHandle, "not a live stream");
    pthread_mutex_destroy(&stream->own);
    free(stream);
    return hipSuccess;
}

static hipError_t idle(hipStream_t stream)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s)
        return emu_hip_fail(hipErrorInvalidHandle, "not a live stream");
    if (s->graph)
        return emu_hip_fail(hipErrorStreamCaptureUnsupported, "the stream is capturing");
    /* Another host thread's operation may be under way. */
    emu_stream_lock(s);
    emu_stream_unlock(s);
    return hipSuccess;
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    return idle(stream);
}

hipError_t hipStreamQuery(hipStream_t stream)
{
    return idle(stream);
}

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *flags)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !flags)
        return emu_hip_fail(hipErrorInvalidHandle, "not a live stream, or result is null");
    *flags = s->flags;
    return hipSuccess;
}

hipError_t hipStreamGetPriority(hipStream_t stream, int *priority)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !priority)
        return emu_hip_fail(hipErrorInvalidHandle, "not a live stream, or result is null");
    *priority = s->priority;
    return hipSuccess;
}

hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !device)
        return emu_hip_fail(hipErrorInvalidHandle, "not a live stream, or result is null");
    *device = s->device->index;
    return hipSuccess;
}

int hipGetStreamDeviceId(hipStream_t stream)
{
    struct ihipStream_t *s = emu_hip_start() == hipSuccess ? emu_stream_get(stream) : NULL;
    return s ? s->device->index : -1;
}

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback, void *data,
                                unsigned flags)
{
    (void)flags;
    hipError_t e = idle(stream);
    if (e != hipSuccess)
        return e;
    if (!callback)
        return emu_hip_fail(hipErrorInvalidValue, "stream callback is null");
    callback(stream, hipSuccess, data);
    return hipSuccess;
}

hipError_t hipLaunchHostFunc(hipStream_t stream, void (*fn)(void *), void *data)
{
    hipError_t e = idle(stream);
    if (e != hipSuccess)
        return e;
    if (!fn)
        return emu_hip_fail(hipErrorInvalidValue, "host function is null");
    fn(data);
    return hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    EMU_BEGIN();
    if (!event)
        return emu_hip_fail(hipErrorInvalidValue, "event: result is null");
    struct ihipEvent_t *e = calloc(1, sizeof *e);
    if (!e || !emu_handle_add(e, EMU_HANDLE_EVENT)) {
        free(e);
        return emu_hip_fail(hipErrorOutOfMemory, "out of memory");
    }
    e->flags = flags;
    e->device = emu_hip_current();
    *event = e;
    return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t *event)
{
    return hipEventCreateWithFlags(event, 0);
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    EMU_BEGIN();
    if (!emu_handle_drop(event, EMU_HANDLE_EVENT))
        return emu_hip_fail(hipErrorInvalidHandle, "not a live event");
    free(event);
    return hipSuccess;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !emu_handle_live(event, EMU_HANDLE_EVENT))
        return emu_hip_fail(hipErrorInvalidHandle, "not a live event or stream");
    event->graph = s->graph;
    event->recorded = true;
    event->device = s->device;
    event->at = atomic_load(&s->device->instructions);
    return hipSuccess;
}

hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags)
{
    (void)flags;
    return hipEventRecord(event, stream);
}

static hipError_t event_done(hipEvent_t event)
{
    EMU_BEGIN();
    if (!emu_handle_live(event, EMU_HANDLE_EVENT))
        return emu_hip_fail(hipErrorInvalidHandle, "not a live event");
    if (event->graph)
        return emu_hip_fail(hipErrorCapturedEvent, "the event was recorded in a capture");
    return hipSuccess;
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    return event_done(event);
}

hipError_t hipEventQuery(hipEvent_t event)
{
    return event_done(event);
}

/* Emulated time: one wave-instruction counts as one nanosecond. It orders, it does not measure. */
hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    hipError_t e = event_done(start);
    if (e == hipSuccess)
        e = event_done(stop);
    if (e != hipSuccess)
        return e;
    if (!ms || (start->flags | stop->flags) & hipEventDisableTiming || !start->recorded ||
        !stop->recorded || start->device != stop->device)
        return emu_hip_fail(hipErrorInvalidHandle,
                            "elapsed time needs two recorded timing events of one device");
    *ms = (float)((double)(int64_t)(stop->at - start->at) * 1e-6);
    return hipSuccess;
}

/* Waiting for an event of a capture draws this stream into the same capture. */
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags)
{
    (void)flags;
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !emu_handle_live(event, EMU_HANDLE_EVENT))
        return emu_hip_fail(hipErrorInvalidHandle, "not a live event or stream");
    if (event->graph && s->graph && event->graph != s->graph)
        return emu_hip_fail(hipErrorStreamCaptureMerge, "event and stream belong to two captures");
    if (event->graph && !s->graph && emu_handle_live(event->graph, EMU_HANDLE_GRAPH))
        return emu_capture_join(event->graph, s);
    return hipSuccess;
}
