/* HIP streams and events. Everything enqueued is done at once; what is left is order and capture.
 */
#include "graph_nodes.h"
#include "newer_calls.h"
#include "operation.h"

#include <stdlib.h>

struct ihipEvent_t {
    unsigned flags;
    struct emu_device *device;
    bool recorded;
    uint64_t at;            /* emulated clock of the device */
    hipStream_t stream;     /* recorded on it last; NULL for the null stream */
    uint64_t capture;       /* recorded in it, or 0 */
    struct emu_nodes nodes; /* the last ones there */
};

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
    emu_capture_leave(stream);
    pthread_mutex_destroy(&stream->own);
    free(stream);
    return hipSuccess;
}

static hipError_t idle(hipStream_t stream, const char *what)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s)
        return emu_hip_fail(hipErrorInvalidHandle, "not a live stream");
    hipError_t e = emu_capture_wait(s, what);
    if (e != hipSuccess)
        return e;
    /* Another host thread's operation may be under way. */
    emu_stream_lock(s);
    emu_stream_unlock(s);
    return hipSuccess;
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    return idle(stream, "hipStreamSynchronize");
}

hipError_t hipStreamQuery(hipStream_t stream)
{
    return idle(stream, "hipStreamQuery");
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
    EMU_BEGIN();
    if (!callback || flags)
        return emu_hip_fail(hipErrorInvalidValue, "stream callback is null, or flags %u", flags);
    hipError_t e = idle(stream, "hipStreamAddCallback");
    if (e != hipSuccess)
        return e;
    callback(stream, hipSuccess, data);
    return hipSuccess;
}

/* Without the stream's order: the function may wait for other threads that use the stream. */
static hipError_t run_host(const struct emu_operation *op)
{
    op->host.fn(op->host.data);
    return hipSuccess;
}

static const struct emu_operation_kind host_call = {
    .type = hipGraphNodeTypeHost, .run = run_host, .outside = true};

hipError_t hipLaunchHostFunc(hipStream_t stream, void (*fn)(void *), void *data)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !fn)
        return emu_hip_fail(s ? hipErrorInvalidValue : hipErrorInvalidHandle,
                            "not a live stream, or host function is null");
    struct emu_operation op = {.kind = &host_call, .host = {fn, data}};
    return emu_operation_submit(s, &op);
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
    free(event->nodes.node);
    free(event);
    return hipSuccess;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || !emu_handle_live(event, EMU_HANDLE_EVENT))
        return emu_hip_fail(hipErrorInvalidHandle, "not a live event or stream");
    event->stream = s == s->device->null_stream ? NULL : stream;
    event->capture = 0;
    if (emu_capture_status(s) == hipStreamCaptureStatusActive) {
        if (!emu_nodes_copy(&event->nodes, &s->last))
            return emu_hip_fail(hipErrorOutOfMemory, "capture: out of memory");
        event->capture = emu_capture_id(s);
        return hipSuccess;
    }
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

static hipError_t event_live(hipEvent_t event)
{
    EMU_BEGIN();
    if (!emu_handle_live(event, EMU_HANDLE_EVENT))
        return emu_hip_fail(hipErrorInvalidHandle, "not a live event");
    return hipSuccess;
}

/* checkEventCaptureRestrictions() in clr's hip_event.cpp; once its capture is over the event has
 * never been recorded, and waiting for it succeeds. */
static hipError_t event_done(hipEvent_t event, const char *what)
{
    hipError_t e = event_live(event);
    if (e != hipSuccess || !event->stream)
        return e;
    if (emu_capture_active(event->capture)) {
        emu_capture_invalidate(event->capture);
        return emu_hip_fail(hipErrorCapturedEvent, "%s: the event was recorded in a capture", what);
    }
    return emu_capture_unsafe(what);
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    return event_done(event, "hipEventSynchronize");
}

hipError_t hipEventQuery(hipEvent_t event)
{
    return event_done(event, "hipEventQuery");
}

/* Emulated time: one wave-instruction counts as one nanosecond. It orders, it does not measure. */
hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    hipError_t e = event_live(start);
    if (e == hipSuccess)
        e = event_live(stop);
    if (e != hipSuccess)
        return e;
    if (!ms)
        return emu_hip_fail(hipErrorInvalidValue, "elapsed time: result is null");
    if ((start->flags | stop->flags) & hipEventDisableTiming || !start->recorded ||
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
    if (emu_capture_active(event->capture)) {
        hipError_t e = emu_capture_join(event->capture, s);
        if (e == hipSuccess && !emu_nodes_wait(s, &event->nodes))
            e = emu_hip_fail(hipErrorOutOfMemory, "capture: out of memory");
        return e;
    }
    if (event->stream && emu_handle_live(event->stream, EMU_HANDLE_STREAM) &&
        emu_capture_status(event->stream) == hipStreamCaptureStatusActive)
        return emu_hip_fail(hipErrorStreamCaptureIsolation,
                            "the event's stream captures since, and the event is not of it");
    return hipSuccess;
}
