/*
 * The HIP functions of libhipemu.so around a launch: copies, streams, events, graphs, several
 * devices, several host threads. What is forbidden in a capture is in test_hip_capture.c.
 */
#include <pthread.h>

#include "test_hip_calls.h"

hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device);

static void copies(void)
{
    unsigned char host[4096], back[4096];
    void *d, *pinned;
    for (int i = 0; i < 4096; i++)
        host[i] = (unsigned char)(i * 31);
    is_hip(hipMalloc(&d, 4096), hipSuccess, "malloc");
    is_int((uintptr_t)d % 256, 0, "allocations are aligned to 256 bytes");
    is_hip(hipMemcpy2D(d, 64, host, 128, 48, 30, hipMemcpyHostToDevice), hipSuccess, "2D copy");
    is_hip(hipMemcpy2D(back, 50, d, 64, 48, 30, hipMemcpyDeviceToHost), hipSuccess, "2D copy back");
    ok(memcmp(back + 29 * 50, host + 29 * 128, 48) == 0, "the last row arrived");
    is_hip(hipMemcpy2D(back, 40, d, 64, 48, 30, hipMemcpyDeviceToHost), hipErrorInvalidPitchValue,
           "rows longer than the pitch");
    is_hip(hipMemcpy(d, host, 4097, hipMemcpyHostToDevice), hipErrorInvalidValue,
           "a copy one byte too long");
    is_hip(hipMemset((char *)d + 4000, 1, 97), hipErrorInvalidValue, "a fill one byte too long");
    is_hip(hipMemsetD32(d, 0x01020304, 10), hipSuccess, "fill of words");
    is_hip(hipMemcpy(back, d, 41, hipMemcpyDefault), hipSuccess, "copy of unknown direction");
    ok(back[0] == 4 && back[39] == 1, "words are written whole");
    is_hip(hipMemset(host, 0, 16), hipErrorInvalidValue, "fill of ordinary host memory");
    is_hip(hipHostMalloc(&pinned, 1000, 0), hipSuccess, "pinned memory");
    memset(pinned, 9, 1000);
    is_hip(hipMemcpy(d, pinned, 1000, hipMemcpyHostToDevice), hipSuccess, "copy from pinned");
    hipPointerAttribute_t at;
    is_hip(hipPointerGetAttributes(&at, pinned), hipSuccess, "attributes of pinned memory");
    is_int(at.memoryType, hipMemoryTypeHost, "pinned memory is host memory");
    is_hip(hipPointerGetAttributes(&at, (char *)d + 17), hipSuccess, "attributes inside a block");
    is_int(at.memoryType, hipMemoryTypeDevice, "device memory");
    is_hip(hipPointerGetAttributes(&at, host), hipErrorInvalidValue, "attributes of other memory");
    void *where = NULL;
    size_t bytes = 0;
    int on = -1;
    bool managed = true;
    is_hip(hipPointerGetAttribute(&where, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, (char *)d + 17),
           hipSuccess, "the device pointer of a pointer");
    ok(where == (char *)d + 17, "is itself");
    is_hip(hipPointerGetAttribute(&where, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, (char *)d + 17),
           hipSuccess, "the start of its block");
    is_hip(hipPointerGetAttribute(&bytes, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, (char *)d + 17),
           hipSuccess, "and its size");
    ok(where == d && bytes >= 1000, "are those of the allocation");
    is_hip(hipPointerGetAttribute(&on, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, d), hipSuccess,
           "its device");
    is_int(on, 0, "is the current one");
    is_hip(hipPointerGetAttribute(&managed, HIP_POINTER_ATTRIBUTE_IS_MANAGED, d), hipSuccess,
           "whether it is managed");
    ok(!managed, "it is not");
    is_hip(hipPointerGetAttribute(&where, HIP_POINTER_ATTRIBUTE_HOST_POINTER, pinned), hipSuccess,
           "the host pointer of pinned memory");
    ok(where == pinned, "is itself, too");
    is_hip(hipPointerGetAttribute(&where, HIP_POINTER_ATTRIBUTE_HOST_POINTER, d),
           hipErrorInvalidValue, "device memory has none");
    is_hip(hipPointerGetAttribute(&where, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, host),
           hipErrorInvalidValue, "an attribute of other memory");
    is_hip(hipMemPrefetchAsync(pinned, 1000, 0, NULL), hipSuccess, "prefetch");
    is_hip(hipMemPrefetchAsync(pinned, (size_t)1 << 40, 0, NULL), hipErrorInvalidValue,
           "prefetch beyond the block");
    is_hip(hipMemAdvise(pinned, 1000, hipMemAdviseSetReadMostly, 0), hipSuccess, "advice");
    is_hip(hipDeviceSetCacheConfig(hipFuncCachePreferShared), hipSuccess, "a wish for caches");
    is_hip(hipOccupancyMaxActiveBlocksPerMultiprocessor(&on, host, 64, 0),
           hipErrorInvalidDeviceFunction, "occupancy of what is no kernel");
    is_hip(hipHostRegister(host, sizeof host, 0), hipSuccess, "register");
    is_hip(hipHostRegister(host + 8, 8, 0), hipErrorHostMemoryAlreadyRegistered, "register twice");
    is_hip(hipHostUnregister(host), hipSuccess, "unregister");
    is_hip(hipHostUnregister(host), hipErrorHostMemoryNotRegistered, "unregister twice");
    size_t available, total, before;
    is_hip(hipMemGetInfo(&before, &total), hipSuccess, "memory info");
    is_hip(hipFree(d), hipSuccess, "free");
    is_hip(hipMemGetInfo(&available, &total), hipSuccess, "memory info");
    is_int(available - before, 4096, "freed bytes are available again");
    is_hip(hipHostFree(pinned), hipSuccess, "free pinned memory");
    is_hip(hipMalloc(&d, (size_t)1 << 50), hipErrorOutOfMemory, "a pebibyte");
    is_hip(hipMalloc(&d, 0), hipSuccess, "nothing");
    ok(d == NULL, "nothing is null");
    is_hip(hipFree(NULL), hipSuccess, "free of null");
}

static void streams(hipModule_t m)
{
    hipStream_t s;
    hipEvent_t start, stop;
    hipDevice_t device = -1;
    float ms = -1;
    int data[256] = {0}, wrong = 0;
    void *d = device_bytes(sizeof data, data);
    void *one[] = {&d};
    is_hip(hipStreamCreateWithFlags(&s, hipStreamNonBlocking), hipSuccess, "stream");
    is_hip(hipStreamGetDevice(s, &device), hipSuccess, "device of a stream");
    is_int(device, 0, "it is device 0");
    is_hip(hipEventCreate(&start), hipSuccess, "event");
    is_hip(hipEventCreate(&stop), hipSuccess, "event");
    is_hip(hipEventElapsedTime(&ms, start, stop), hipErrorInvalidHandle, "events not recorded");
    is_hip(hipEventRecord(start, s), hipSuccess, "record");
    is_hip(launch(m, "reverse", 1, 256, 1024, s, one), hipSuccess, "launch on a stream");
    is_hip(hipEventRecord(stop, s), hipSuccess, "record");
    is_hip(hipEventSynchronize(stop), hipSuccess, "synchronize");
    is_hip(hipEventElapsedTime(&ms, start, stop), hipSuccess, "elapsed");
    ok(ms > 0, "a launch takes emulated time: %g", (double)ms);
    is_hip(hipStreamQuery(s), hipSuccess, "query");

    /* capture, instantiate, launch twice: two reversals are none */
    hipGraph_t g;
    hipGraphExec_t x;
    size_t nodes = 0;
    hipStreamCaptureStatus status;
    for (int i = 0; i < 256; i++)
        data[i] = i;
    void *source = device_bytes(sizeof data, data);
    is_hip(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal), hipSuccess, "begin capture");
    is_hip(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal), hipErrorIllegalState, "twice");
    is_hip(hipStreamIsCapturing(s, &status), hipSuccess, "capture status");
    is_int(status, hipStreamCaptureStatusActive, "capturing");
    is_hip(hipMemsetAsync(d, 0, sizeof data, s), hipSuccess, "capture a fill");
    is_hip(hipMemcpyAsync(d, source, sizeof data, hipMemcpyDeviceToDevice, s), hipSuccess,
           "capture a copy");
    is_hip(launch(m, "reverse", 1, 256, 1024, s, one), hipSuccess, "capture a launch");
    is_hip(hipStreamEndCapture(s, &g), hipSuccess, "end capture");
    is_hip(hipGraphGetNodes(g, NULL, &nodes), hipSuccess, "nodes");
    is_int(nodes, 3, "three nodes");
    fetch(data, d, sizeof data);
    is_int(data[5], 0, "capture runs nothing");
    is_hip(hipGraphInstantiate(&x, g, NULL, NULL, 0), hipSuccess, "instantiate");
    is_hip(hipGraphDestroy(g), hipSuccess, "the graph may go");
    is_hip(hipGraphLaunch(x, s), hipSuccess, "graph launch");
    is_hip(hipGraphLaunch(x, NULL), hipSuccess, "graph launch again");
    fetch(data, d, sizeof data);
    for (int i = 0; i < 256; i++)
        wrong += data[i] != 255 - i;
    is_int(wrong, 0, "the graph did its work");
    is_hip(hipGraphExecDestroy(x), hipSuccess, "destroy");
    is_hip(hipGraphLaunch(x, s), hipErrorInvalidValue, "launch of a destroyed graph");

    /* an event carries a capture to another stream */
    hipStream_t other;
    is_hip(hipStreamCreate(&other), hipSuccess, "second stream");
    is_hip(hipStreamBeginCapture(s, hipStreamCaptureModeThreadLocal), hipSuccess, "begin");
    is_hip(hipEventRecord(start, s), hipSuccess, "record in the capture");
    is_hip(hipStreamWaitEvent(other, start, 0), hipSuccess, "fork");
    is_hip(launch(m, "reverse", 1, 256, 1024, other, one), hipSuccess, "captured on the fork");
    is_hip(hipStreamEndCapture(other, &g), hipErrorStreamCaptureUnmatched, "end on the fork");
    is_hip(hipEventRecord(stop, other), hipSuccess, "record on the fork");
    is_hip(hipStreamWaitEvent(s, stop, 0), hipSuccess, "join");
    is_hip(hipStreamEndCapture(s, &g), hipSuccess, "end");
    is_hip(hipGraphGetNodes(g, NULL, &nodes), hipSuccess, "nodes");
    is_int(nodes, 1, "the fork's launch is in the graph");
    is_hip(hipStreamIsCapturing(other, &status), hipSuccess, "status of the fork");
    is_int(status, hipStreamCaptureStatusNone, "the fork is free again");
    is_hip(hipGraphDestroy(g), hipSuccess, "destroy");

    is_hip(hipStreamDestroy(other), hipSuccess, "destroy");
    is_hip(hipStreamDestroy(s), hipSuccess, "destroy");
    is_hip(hipStreamDestroy(s), hipErrorInvalidHandle, "destroy twice");
    is_hip(hipStreamQuery(s), hipErrorInvalidHandle, "query of a destroyed stream");
    is_hip(hipEventDestroy(start), hipSuccess, "destroy");
    is_hip(hipEventDestroy(stop), hipSuccess, "destroy");
}

/* Nodes added by hand, which nothing checked when they were called on a stream. */
static void nodes_by_hand(hipModule_t m)
{
    enum { WORDS = 256 };
    hipGraph_t g;
    hipGraphExec_t x;
    hipGraphNode_t node;
    uint32_t data[WORDS] = {0};
    int wrong = 0;
    void *from = device_bytes(sizeof data, data), *to = device_bytes(sizeof data, data);
    hipMemsetParams fill = {
        .dst = from, .elementSize = 4, .value = 0x01020304, .width = WORDS, .height = 1};
    hipKernelNodeParams kernel = {.func = m};

    is_hip(hipGraphCreate(&g, 0), hipSuccess, "create a graph");
    is_hip(hipGraphAddMemsetNode(&node, g, NULL, 0, &fill), hipSuccess, "a fill");
    is_hip(
        hipGraphAddMemcpyNode1D(&node, g, &node, 1, to, from, sizeof data, hipMemcpyDeviceToDevice),
        hipSuccess, "a copy");
    is_hip(hipGraphAddEmptyNode(&node, g, &node, 1), hipSuccess, "nothing");
    is_hip(hipGraphAddKernelNode(&node, g, &node, 1, &kernel), hipErrorInvalidDeviceFunction,
           "a launch of what is no function");
    fill.width = SIZE_MAX / 4 + 2; /* four bytes each, as many as fit into four bytes by overflow */
    is_hip(hipGraphAddMemsetNode(&node, g, NULL, 0, &fill), hipErrorInvalidValue,
           "a fill of more bytes than can be counted");
    is_hip(hipGraphInstantiate(&x, g, NULL, NULL, 0), hipSuccess, "instantiate");
    is_hip(hipGraphLaunch(x, NULL), hipSuccess, "launch");
    fetch(data, to, sizeof data);
    for (int i = 0; i < WORDS; i++)
        wrong += data[i] != 0x01020304;
    is_int(wrong, 0, "the nodes ran in their order");
    is_hip(hipGraphExecDestroy(x), hipSuccess, "destroy");
    is_hip(hipGraphDestroy(g), hipSuccess, "destroy");
    is_hip(hipFree(from), hipSuccess, "free");
    is_hip(hipFree(to), hipSuccess, "free");
}

/* Two devices: memory of one is out of reach of the other until peer access is enabled. */
static void two_devices(const char *target)
{
    int count = 0, data[64];
    void *mine, *theirs;
    (void)target;
    is_hip(hipGetDeviceCount(&count), hipSuccess, "count");
    is_int(count, 3, "three devices");
    for (int i = 0; i < 64; i++)
        data[i] = i;
    hipModule_t first = load("gfx942");
    mine = device_bytes(sizeof data, data);
    is_hip(hipSetDevice(1), hipSuccess, "second device");
    theirs = device_bytes(sizeof data, NULL);
    hipModule_t second = load("gfx1151");
    void *params[] = {&mine, &theirs};
    is_hip(launch(second, "copy_one", 1, 64, 0, NULL, params), hipErrorLaunchFailure,
           "memory of another device");
    contains(emu_last_fault(), "of device 0, and this is device 1", "the report names both");
    is_hip(launch(first, "copy_one", 1, 64, 0, NULL, params), hipErrorInvalidHandle,
           "a module of another device");
    is_hip(hipDeviceEnablePeerAccess(0, 0), hipSuccess, "peer access");
    is_hip(hipDeviceEnablePeerAccess(0, 0), hipErrorPeerAccessAlreadyEnabled, "twice");
    is_hip(launch(second, "copy_one", 1, 64, 0, NULL, params), hipSuccess, "with peer access");
    memset(data, 0, sizeof data);
    fetch(data, theirs, sizeof data);
    is_int(data[63], 63, "copied between devices");
    is_hip(hipDeviceDisablePeerAccess(0), hipSuccess, "no more peer access");
    is_hip(launch(second, "copy_one", 1, 64, 0, NULL, params), hipErrorLaunchFailure,
           "out of reach again");
    is_hip(hipModuleUnload(first), hipSuccess, "unload");
    is_hip(hipModuleUnload(second), hipSuccess, "unload");
}

/* Host threads, each with its own device, stream and buffers. */
struct worker {
    int device, wrong;
    hipModule_t module;
};

static void *work(void *arg)
{
    struct worker *k = arg;
    hipStream_t s;
    int data[256];
    k->wrong += hipSetDevice(k->device) != hipSuccess;
    k->wrong += hipStreamCreateWithFlags(&s, hipStreamNonBlocking) != hipSuccess;
    for (int round = 0; round < 20; round++) {
        void *d;
        void *one[] = {&d};
        for (int i = 0; i < 256; i++)
            data[i] = i ^ round;
        k->wrong += hipMalloc(&d, sizeof data) != hipSuccess;
        k->wrong += hipMemcpyAsync(d, data, sizeof data, hipMemcpyHostToDevice, s) != hipSuccess;
        k->wrong += launch(k->module, "reverse", 1, 256, 1024, s, one) != hipSuccess;
        k->wrong += hipMemcpyAsync(data, d, sizeof data, hipMemcpyDeviceToHost, s) != hipSuccess;
        k->wrong += hipStreamSynchronize(s) != hipSuccess;
        for (int i = 0; i < 256; i++)
            k->wrong += data[i] != ((255 - i) ^ round);
        k->wrong += hipFree(d) != hipSuccess;
    }
    k->wrong += hipStreamDestroy(s) != hipSuccess;
    return NULL;
}

static void many_threads(const char *target)
{
    pthread_t thread[6];
    struct worker worker[6] = {0};
    (void)target;
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"gfx942", "gfx1151", "gfx90a"};
        is_hip(hipSetDevice(i), hipSuccess, "set device");
        worker[i].module = worker[i + 3].module = load(names[i]);
        worker[i].device = worker[i + 3].device = i;
    }
    for (int i = 0; i < 6; i++)
        if (pthread_create(&thread[i], NULL, work, &worker[i]) != 0)
            abort();
    for (int i = 0; i < 6; i++) {
        pthread_join(thread[i], NULL);
        is_int(worker[i].wrong, 0, "a host thread of six");
    }
}

static void one_gpu(const char *target)
{
    char processor[32];
    snprintf(processor, sizeof processor, "%.*s", (int)strcspn(target, ":"), target);
    copies();
    hipModule_t m = load(processor);
    streams(m);
    nodes_by_hand(m);
    is_hip(hipModuleUnload(m), hipSuccess, "unload");
}

int main(int argc, char **argv)
{
    static const char *const targets[] = {"gfx90a:sramecc+:xnack-", "gfx942", "gfx1100", "gfx1151"};
    find_objects(argc, argv);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        in_child(targets[i], "plain", one_gpu);
    in_child("gfx942,gfx1151,gfx90a", "plain", two_devices);
    in_child("gfx942,gfx1151,gfx90a", "plain", many_threads);
    in_child("gfx942,gfx1151,gfx90a", "strict", many_threads);
    return tap_done();
}
