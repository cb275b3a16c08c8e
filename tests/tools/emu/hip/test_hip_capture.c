/*
 * What libhipemu.so allows while a stream captures, held against what AMD's runtime does (the rules
 * are told in captures.c), graphs whose kernels are gone, and user objects.
 */
#include <pthread.h>

#include "test_hip_calls.h"

typedef struct hipUserObject *hipUserObject_t;
hipError_t hipLaunchHostFunc(hipStream_t stream, void (*fn)(void *), void *data);
hipError_t hipUserObjectCreate(hipUserObject_t *object, void *thing, void (*destroy)(void *thing),
                               unsigned references, unsigned flags);
hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count);
hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count);
hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count,
                                    unsigned flags);
hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count);

static hipStream_t stream, other;
static hipModule_t module;
static hipEvent_t event;
static void *device, *page;
static char host[64];

static void begin(hipStreamCaptureMode mode)
{
    if (hipStreamBeginCapture(stream, mode) != hipSuccess)
        abort();
}

static hipStreamCaptureStatus status_of(hipStream_t s)
{
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    if (hipStreamIsCapturing(s, &status) != hipSuccess)
        abort();
    return status;
}

/* Ends the capture, which gives a graph or the error that is expected. */
static void end(hipError_t want, const char *what)
{
    hipGraph_t g = (hipGraph_t)host;
    is_hip(hipStreamEndCapture(stream, &g), want, what);
    if (want == hipSuccess)
        is_hip(hipGraphDestroy(g), hipSuccess, "its graph is one");
    else
        ok(!g, "%s: there is no graph", what);
    is_int(status_of(stream), hipStreamCaptureStatusNone, "the stream is free again");
}

static hipError_t launch_on(hipStream_t s)
{
    void *params[] = {&device};
    return launch(module, "scaled", 1, 16, 0, s, params);
}

/* Calls by what they are to give while another stream of this thread captures in global mode. */
static hipError_t call_malloc(void)
{
    void *p;
    return hipMalloc(&p, 64);
}
static hipError_t call_host_malloc(void)
{
    void *p;
    return hipHostMalloc(&p, 64, 0);
}
static hipError_t call_managed(void)
{
    void *p;
    return hipMallocManaged(&p, 64, 1);
}
static hipError_t call_free(void)
{
    return hipFree(device);
}
static hipError_t call_host_free(void)
{
    return hipHostFree(page);
}
static hipError_t call_register(void)
{
    return hipHostRegister(host, sizeof host, 0);
}
static hipError_t call_unload(void)
{
    return hipModuleUnload(module);
}
static hipError_t call_stream_query(void)
{
    return hipStreamQuery(other);
}
static hipError_t call_stream_sync(void)
{
    return hipStreamSynchronize(other);
}
static hipError_t call_copy_with_stream(void)
{
    return hipMemcpyWithStream(host, device, 4, hipMemcpyDeviceToHost, other);
}
static hipError_t call_event_query(void)
{
    return hipEventQuery(event);
}
static hipError_t call_event_sync(void)
{
    return hipEventSynchronize(event);
}
static hipError_t call_device_sync(void)
{
    return hipDeviceSynchronize();
}
static hipError_t call_copy(void)
{
    return hipMemcpy(host, device, 4, hipMemcpyDeviceToHost);
}
static hipError_t call_copy_dtod(void)
{
    return hipMemcpyDtoD(device, (char *)device + 32, 4);
}
static hipError_t call_copy_2d(void)
{
    return hipMemcpy2D(host, 8, device, 8, 4, 2, hipMemcpyDeviceToHost);
}
static hipError_t call_fill(void)
{
    return hipMemset(device, 0, 4);
}
static hipError_t call_fill_d32(void)
{
    return hipMemsetD32(device, 0, 1);
}

enum rule { UNSAFE, NONE }; /* forbidden unless the thread is relaxed; forbidden to all */

static const struct {
    hipError_t (*call)(void);
    const char *name;
    enum rule rule;
    hipError_t error;
} calls[] = {
    {call_malloc, "hipMalloc", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_host_malloc, "hipHostMalloc", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_managed, "hipMallocManaged", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_free, "hipFree", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_host_free, "hipHostFree", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_register, "hipHostRegister", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_unload, "hipModuleUnload", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_stream_query, "hipStreamQuery", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_stream_sync, "hipStreamSynchronize", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_copy_with_stream, "hipMemcpyWithStream", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_event_query, "hipEventQuery", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_event_sync, "hipEventSynchronize", UNSAFE, hipErrorStreamCaptureUnsupported},
    {call_device_sync, "hipDeviceSynchronize", NONE, hipErrorStreamCaptureUnsupported},
    {call_copy, "hipMemcpy", NONE, hipErrorStreamCaptureImplicit},
    {call_copy_dtod, "hipMemcpyDtoD", NONE, hipErrorStreamCaptureImplicit},
    {call_copy_2d, "hipMemcpy2D", NONE, hipErrorStreamCaptureImplicit},
    {call_fill, "hipMemset", NONE, hipErrorStreamCaptureImplicit},
    {call_fill_d32, "hipMemsetD32", NONE, hipErrorStreamCaptureImplicit},
};
enum { CALLS = sizeof calls / sizeof *calls };

static void *call_elsewhere(void *index)
{
    return (void *)(uintptr_t)calls[(uintptr_t)index].call();
}

static hipError_t from_another_thread(size_t i)
{
    pthread_t thread;
    void *result;
    if (pthread_create(&thread, NULL, call_elsewhere, (void *)i) || pthread_join(thread, &result))
        abort();
    return (hipError_t)(uintptr_t)result;
}

/* Each call spoils the capture, whoever makes it and whichever stream it is about. */
static void forbidden(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        begin(hipStreamCaptureModeGlobal);
        is_hip(calls[i].call(), calls[i].error, calls[i].name);
        is_int(status_of(stream), hipStreamCaptureStatusInvalidated, "it spoils the capture");
        is_hip(launch_on(stream), hipErrorStreamCaptureInvalidated, "which takes no more work");
        end(hipErrorStreamCaptureInvalidated, calls[i].name);

        begin(hipStreamCaptureModeGlobal);
        is_hip(from_another_thread(i), calls[i].error, "the same from another thread");
        end(hipErrorStreamCaptureInvalidated, calls[i].name);
    }
    begin(hipStreamCaptureModeGlobal);
    is_hip(hipStreamSynchronize(stream), hipErrorStreamCaptureUnsupported, "its own stream");
    end(hipErrorStreamCaptureInvalidated, "waited for");
    begin(hipStreamCaptureModeGlobal);
    is_hip(hipEventRecord(event, stream), hipSuccess, "an event in the capture");
    is_hip(hipEventQuery(event), hipErrorCapturedEvent, "cannot be asked for");
    end(hipErrorStreamCaptureInvalidated, "after such a question");
    is_hip(hipEventQuery(event), hipSuccess, "afterwards it was never recorded");
    is_hip(hipEventRecord(event, other), hipSuccess, "record it elsewhere");
    begin(hipStreamCaptureModeGlobal);
    is_hip(hipStreamAddCallback(stream, (hipStreamCallback_t)(uintptr_t)host, NULL, 0),
           hipErrorStreamCaptureUnsupported, "a callback");
    end(hipErrorStreamCaptureInvalidated, "after a callback");
}

/* What the modes change, and what nobody forbids. */
static void allowed(void)
{
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    hipModule_t second;
    hipStream_t third;
    begin(hipStreamCaptureModeThreadLocal);
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].rule == UNSAFE && calls[i].call != call_free &&
            calls[i].call != call_host_free && calls[i].call != call_unload &&
            calls[i].call != call_register)
            is_hip(from_another_thread(i), hipSuccess, calls[i].name);
    end(hipSuccess, "a capture of this thread is not the other's concern");

    begin(hipStreamCaptureModeGlobal);
    is_hip(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess, "relax");
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].rule == UNSAFE && calls[i].call != call_free &&
            calls[i].call != call_host_free && calls[i].call != call_unload &&
            calls[i].call != call_register)
            is_hip(calls[i].call(), hipSuccess, calls[i].name);
    is_hip(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess, "and back");
    is_int(mode, hipStreamCaptureModeRelaxed, "from relaxed");
    end(hipSuccess, "a relaxed thread does not spoil it");

    begin(hipStreamCaptureModeRelaxed);
    is_hip(call_malloc(), hipSuccess, "hipMalloc beside a relaxed capture");
    is_hip(hipDeviceSynchronize(), hipErrorStreamCaptureUnsupported, "but not this");
    end(hipErrorStreamCaptureInvalidated, "not even relaxed");

    begin(hipStreamCaptureModeGlobal);
    second = load(gpu);
    is_hip(hipStreamCreate(&third), hipSuccess, "hipStreamCreate");
    is_hip(launch_on(third), hipSuccess, "a launch on a stream that does not capture");
    is_hip(hipMemcpyAsync(host, device, 4, hipMemcpyDeviceToHost, third), hipSuccess,
           "an asynchronous copy there");
    is_hip(hipStreamSynchronize(NULL), hipSuccess, "the null stream is not asked");
    is_hip(launch_on(stream), hipSuccess, "a launch that is captured");
    end(hipSuccess, "they leave the capture alone");
    is_hip(hipModuleUnload(second), hipSuccess, "unload");
    is_hip(hipStreamDestroy(third), hipSuccess, "destroy");
}

static void *end_elsewhere(void *result)
{
    hipGraph_t g;
    *(hipError_t *)result = hipStreamEndCapture(stream, &g);
    return NULL;
}

/* Who ends a capture, and what must be joined by then. */
static void ends(void)
{
    hipGraph_t g;
    hipStream_t gone;
    pthread_t thread;
    hipError_t error = hipSuccess;
    hipStreamCaptureStatus status;
    is_hip(hipStreamEndCapture(stream, &g), hipErrorIllegalState, "no capture to end");
    is_hip(hipStreamBeginCapture(stream, (hipStreamCaptureMode)7), hipErrorInvalidValue,
           "a mode that is none");
    begin(hipStreamCaptureModeGlobal);
    if (pthread_create(&thread, NULL, end_elsewhere, &error) || pthread_join(thread, NULL))
        abort();
    is_hip(error, hipErrorStreamCaptureWrongThread, "ended by another thread");
    end(hipSuccess, "it goes on");

    begin(hipStreamCaptureModeGlobal);
    is_hip(hipEventRecord(event, stream), hipSuccess, "fork");
    is_hip(hipStreamWaitEvent(other, event, 0), hipSuccess, "the other stream joins");
    is_hip(launch_on(other), hipSuccess, "and works");
    is_hip(hipStreamIsCapturing(NULL, &status), hipErrorStreamCaptureImplicit,
           "the null stream, which waits for it, cannot be asked about");
    end(hipErrorStreamCaptureUnjoined, "its work is not joined");
    is_int(status_of(other), hipStreamCaptureStatusNone, "the other stream is free, too");

    begin(hipStreamCaptureModeGlobal);
    is_hip(launch_on(stream), hipSuccess, "work before a fork");
    is_hip(hipEventRecord(event, stream), hipSuccess, "fork");
    is_hip(hipStreamWaitEvent(other, event, 0), hipSuccess, "the other stream joins");
    is_hip(launch_on(other), hipSuccess, "and works");
    is_hip(launch_on(stream), hipSuccess, "as does the first");
    is_hip(hipEventRecord(event, other), hipSuccess, "record");
    is_hip(hipStreamWaitEvent(stream, event, 0), hipSuccess, "join");
    end(hipSuccess, "both are joined");

    is_hip(hipEventRecord(event, stream), hipSuccess, "record before");
    begin(hipStreamCaptureModeGlobal);
    is_hip(hipStreamWaitEvent(other, event, 0), hipErrorStreamCaptureIsolation,
           "an event of before the capture");
    end(hipSuccess, "that spoils nothing");
    is_hip(hipEventRecord(event, other), hipSuccess, "record elsewhere");

    /* streams that go away */
    is_hip(hipStreamCreate(&gone), hipSuccess, "a stream");
    is_hip(hipStreamBeginCapture(gone, hipStreamCaptureModeGlobal), hipSuccess, "captures");
    is_hip(launch_on(gone), hipSuccess, "a launch");
    is_hip(hipStreamDestroy(gone), hipSuccess, "and is destroyed");
    is_hip(hipDeviceSynchronize(), hipSuccess, "its capture is over");
    is_hip(hipStreamCreate(&gone), hipSuccess, "a stream");
    begin(hipStreamCaptureModeGlobal);
    is_hip(hipEventRecord(event, stream), hipSuccess, "fork");
    is_hip(hipStreamWaitEvent(gone, event, 0), hipSuccess, "it joins");
    is_hip(hipStreamDestroy(gone), hipSuccess, "and is destroyed");
    end(hipSuccess, "which the capture survives");
    is_hip(hipEventRecord(event, other), hipSuccess, "record elsewhere");
}

static void count(void *counter)
{
    ++*(int *)counter;
}

/* A kernel that is gone when its graph is made executable, or launched. */
static void gone(void)
{
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    hipGraph_t g;
    hipGraphExec_t x;
    hipGraphNode_t bad = NULL;
    hipFunction_t before, after;
    int called = 0;
    hipModule_t mine = load(gpu);
    void *params[] = {&device};
    is_hip(hipModuleGetFunction(&before, mine, "scaled"), hipSuccess, "a function");
    begin(hipStreamCaptureModeGlobal);
    is_hip(launch(mine, "scaled", 1, 16, 0, stream, params), hipSuccess, "is captured");
    is_hip(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess, "relax");
    is_hip(hipModuleUnload(mine), hipSuccess, "its module is unloaded meanwhile");
    is_hip(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess, "and back");
    is_hip(hipStreamEndCapture(stream, &g), hipSuccess, "there is a graph");
    is_hip(hipGraphInstantiate(&x, g, &bad, NULL, 0), hipErrorInvalidHandle,
           "that cannot be made executable");
    ok(bad != NULL, "for the node that is named");
    contains(emu_last_text(), "unloaded", "because of the module");
    mine = load(gpu);
    is_hip(hipModuleGetFunction(&after, mine, "scaled"), hipSuccess, "load it again");
    tap_diag("the function is at %s address", before == after ? "the same" : "another");
    is_hip(hipGraphInstantiate(&x, g, NULL, NULL, 0), hipErrorInvalidHandle,
           "nor with another function, were it in the same place");
    is_hip(hipGraphDestroy(g), hipSuccess, "destroy");

    begin(hipStreamCaptureModeGlobal);
    is_hip(hipLaunchHostFunc(stream, count, &called), hipSuccess, "a host function");
    is_hip(launch(mine, "scaled", 1, 16, 0, stream, params), hipSuccess, "and a launch");
    is_hip(hipStreamEndCapture(stream, &g), hipSuccess, "are captured");
    is_hip(hipGraphInstantiate(&x, g, NULL, NULL, 0), hipSuccess, "and made executable");
    is_hip(hipGraphDestroy(g), hipSuccess, "destroy");
    is_int(called, 0, "not run");
    is_hip(hipGraphLaunch(x, stream), hipSuccess, "they run");
    is_int(called, 1, "once");
    is_hip(hipModuleUnload(mine), hipSuccess, "unload");
    is_hip(hipGraphLaunch(x, stream), hipErrorInvalidHandle, "without its kernel it cannot run");
    contains(emu_last_text(), "unloaded", "and says why");
    mine = load(gpu);
    is_hip(hipModuleGetFunction(&after, mine, "scaled"), hipSuccess, "load it once more");
    is_hip(hipGraphLaunch(x, stream), hipErrorInvalidHandle, "which does not help");
    is_int(called, 1, "nothing of it ran");
    is_hip(hipGraphExecDestroy(x), hipSuccess, "destroy");
    is_hip(hipModuleUnload(mine), hipSuccess, "unload");
}

/* User objects live until the last graph, or executable graph, that refers to them is gone. */
static void held(void)
{
    enum { MOVE = 1, ONLY = 1 };
    int destroyed = 0;
    hipUserObject_t o, again;
    hipGraph_t g, captured = NULL;
    hipGraphExec_t x;
    hipStreamCaptureStatus status;
    is_hip(hipUserObjectCreate(&o, &destroyed, count, 2, ONLY), hipSuccess, "a user object");
    is_hip(hipUserObjectRetain(o, 1), hipSuccess, "has three references");
    is_hip(hipUserObjectRelease(o, 2), hipSuccess, "of which two are given back");
    is_hip(hipUserObjectRelease(o, 2), hipErrorInvalidValue, "more than there are");
    begin(hipStreamCaptureModeGlobal);
    is_hip(hipStreamGetCaptureInfo_v2(stream, &status, NULL, &captured, NULL, NULL), hipSuccess,
           "the graph of a capture");
    is_hip(hipGraphRetainUserObject(captured, o, 1, MOVE), hipSuccess, "takes the third");
    is_hip(launch_on(stream), hipSuccess, "a launch");
    is_hip(hipStreamEndCapture(stream, &g), hipSuccess, "the end");
    is_hip(hipGraphInstantiate(&x, g, NULL, NULL, 0), hipSuccess, "an executable");
    is_hip(hipGraphRetainUserObject(g, o, 1, 0), hipSuccess, "another reference of the graph's");
    is_hip(hipGraphReleaseUserObject(g, o, 3), hipErrorInvalidValue, "it has not three");
    is_hip(hipGraphReleaseUserObject(g, o, 1), hipSuccess, "but one to give back");
    is_hip(hipGraphDestroy(g), hipSuccess, "without the graph");
    is_int(destroyed, 0, "the object lives");
    is_hip(hipGraphExecDestroy(x), hipSuccess, "without the executable");
    is_int(destroyed, 1, "it is destroyed");
    is_hip(hipUserObjectRelease(o, 1), hipErrorInvalidValue, "and gone");
    is_hip(hipUserObjectCreate(&again, &destroyed, count, 1, ONLY), hipSuccess, "a second one");
    begin(hipStreamCaptureModeGlobal);
    hipStreamGetCaptureInfo_v2(stream, &status, NULL, &captured, NULL, NULL);
    is_hip(hipGraphRetainUserObject(captured, again, 1, MOVE), hipSuccess, "is taken");
    is_hip(hipMalloc(&device, 64), hipErrorStreamCaptureUnsupported, "by a capture that is spoilt");
    is_hip(hipGraphRetainUserObject(captured, again, 0, MOVE), hipErrorInvalidValue, "none");
    end(hipErrorStreamCaptureInvalidated, "its end");
    is_int(destroyed, 2, "destroys what it held");
    is_hip(hipUserObjectCreate(&o, NULL, NULL, 1, ONLY), hipErrorInvalidValue, "no destructor");
    is_hip(hipUserObjectCreate(&o, NULL, count, 1, 0), hipErrorInvalidValue, "flags");
    is_hip(hipUserObjectCreate(&o, NULL, count, 0, ONLY), hipErrorInvalidValue, "no reference");
}

/* Pools serve no stream while one captures that waits for the null stream; the capture goes on. */
static void pools(void)
{
    hipStream_t blocking;
    hipGraph_t g;
    void *before, *p;
    is_hip(hipStreamCreate(&blocking), hipSuccess, "a stream that waits for the null stream");
    is_hip(hipMallocAsync(&before, 64, stream), hipSuccess, "memory from the pool");
    is_hip(hipStreamBeginCapture(blocking, hipStreamCaptureModeRelaxed), hipSuccess, "a capture");
    is_hip(hipMallocAsync(&p, 64, stream), hipErrorStreamCaptureUnsupported, "no more of it");
    is_hip(hipFreeAsync(before, stream), hipErrorStreamCaptureUnsupported, "and none taken back");
    is_hip(hipStreamEndCapture(blocking, &g), hipSuccess, "which does not spoil the capture");
    is_hip(hipGraphDestroy(g), hipSuccess, "destroy");
    begin(hipStreamCaptureModeGlobal);
    is_hip(hipMallocAsync(&p, 64, other), hipSuccess, "beside one that does not");
    is_hip(hipFreeAsync(p, other), hipSuccess, "they do");
    end(hipSuccess, "of a non-blocking stream");
    is_hip(hipFreeAsync(before, stream), hipSuccess, "free");
    is_hip(hipStreamDestroy(blocking), hipSuccess, "destroy");
}

static void one_gpu(const char *target)
{
    module = load(target);
    is_hip(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), hipSuccess, "a stream");
    is_hip(hipStreamCreate(&other), hipSuccess, "a second stream");
    is_hip(hipEventCreate(&event), hipSuccess, "an event");
    is_hip(hipEventRecord(event, other), hipSuccess, "recorded on the second");
    is_hip(hipHostMalloc(&page, 64, 0), hipSuccess, "host memory");
    device = device_bytes(256, NULL);
    forbidden();
    allowed();
    ends();
    gone();
    held();
    pools();
    is_hip(hipDeviceSynchronize(), hipSuccess, "at last all waits succeed");
    is_hip(hipModuleUnload(module), hipSuccess, "unload");
}

int main(int argc, char **argv)
{
    find_objects(argc, argv);
    in_child("gfx942", "plain", one_gpu);
    return tap_done();
}
