/* A HIP runtime without a GPU, for tests of the library's host path. */
#include "fake_hip.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#pragma GCC visibility push(default)

/* These may be missing from the headers, or be macros there. */
#undef hipGetDeviceProperties
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_t *properties, int device);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device);

struct fake_hip fake_hip = {.devices = 1, .targets = {"gfx942:sramecc+:xnack-"}};

enum { MODULES = 1024, CODE_HEADERS = 64 + 56 };

/* Both the module and its one function. */
struct module {
    const char *code;
    const char *symbol;
    int device, live;
    int running; /* launched since its stream was last waited for */
    int in_graph;
    hipStream_t stream; /* of the last launch */
};
static struct module modules[MODULES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current;
static _Thread_local hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;

/* What is recorded: the stream, and nothing more, since streams here run in order. */
enum { EVENTS = 256 };
static struct event {
    hipStream_t stream;
    int live, recorded, device;
} events[EVENTS];

void fake_hip_reset(void)
{
    fake_hip.fail_at = 0;
    fake_hip.fail_with = hipErrorUnknown;
    fake_hip.calls = fake_hip.failed = fake_hip.queries = fake_hip.driver_calls = 0;
    fake_hip.loads = fake_hip.unloads = fake_hip.launches = fake_hip.wrong_device = 0;
    fake_hip.waits = fake_hip.unloaded_running = fake_hip.spoilt = 0;
    fake_hip.captured = NULL;
    fake_hip.captured_blocking = 0;
    current = 0;
}

hipStream_t fake_hip_stream(int device)
{
    return fake_hip_stream_of(device, 0);
}

hipStream_t fake_hip_stream_of(int device, int number)
{
    return (hipStream_t)(uintptr_t)(0x1000 + number * FAKE_HIP_STREAMS + device);
}

static int device_of(hipStream_t stream)
{
    return (uintptr_t)stream > 2 ? (int)((uintptr_t)stream - 0x1000) % FAKE_HIP_STREAMS : current;
}

int fake_hip_fails(void)
{
    int number = ++fake_hip.calls;
    if (number != fake_hip.fail_at)
        return 0;
    fake_hip.failed++;
    return 1;
}

hipError_t hipGetDeviceCount(int *count)
{
    if (fake_hip_fails())
        return fake_hip.fail_with;
    *count = fake_hip.devices;
    return hipSuccess;
}

hipError_t hipGetDevice(int *device)
{
    fake_hip.queries++;
    if (fake_hip_fails())
        return fake_hip.fail_with;
    *device = current;
    return hipSuccess;
}

hipError_t hipSetDevice(int device)
{
    if (fake_hip_fails())
        return fake_hip.fail_with;
    if (device < 0 || device >= fake_hip.devices)
        return hipErrorInvalidDevice;
    current = device;
    return hipSuccess;
}

#ifndef FAKE_HIP_OLD
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device)
{
    fake_hip.queries++;
    if (fake_hip_fails())
        return fake_hip.fail_with;
    if (!stream) {
        *device = current;
        return hipSuccess;
    }
    *device = device_of(stream);
    return *device >= 0 && *device < fake_hip.devices ? hipSuccess : hipErrorInvalidHandle;
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_t *properties, int device)
{
    unsigned char *raw = (unsigned char *)properties;
    int units = 304;
    if (fake_hip_fails())
        return fake_hip.fail_with;
    if (device < 0 || device >= fake_hip.devices)
        return hipErrorInvalidDevice;
    memset(raw, 0, 1472);
    snprintf((char *)raw, 256, "Fake GPU %d", device);
    snprintf((char *)raw + 1160, 256, "%s", fake_hip.targets[device]);
    memcpy(raw + 388, &units, sizeof(units));
    return hipSuccess;
}
#else
hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device)
{
    unsigned char *raw = (unsigned char *)properties;
    int units = 104;
    if (fake_hip_fails())
        return fake_hip.fail_with;
    if (device < 0 || device >= fake_hip.devices)
        return hipErrorInvalidDevice;
    memset(raw, 0, 792);
    snprintf((char *)raw, 256, "Old fake GPU %d", device);
    snprintf((char *)raw + 396, 256, "%s", fake_hip.targets[device]);
    memcpy(raw + 336, &units, sizeof(units));
    return hipSuccess;
}
#endif

hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    struct module *made = NULL;
    fake_hip.driver_calls++;
    if (fake_hip.load_microseconds)
        usleep((useconds_t)fake_hip.load_microseconds);
    if (fake_hip_fails())
        return fake_hip.fail_with;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MODULES && !made; i++)
        if (!modules[i].live)
            made = &modules[i];
    if (made) {
        made->live = 1;
        made->running = made->in_graph = 0;
        made->code = image;
        made->device = current;
    }
    pthread_mutex_unlock(&lock);
    if (!made)
        return hipErrorOutOfMemory;
    fake_hip.loads++;
    *module = (hipModule_t)made;
    return hipSuccess;
}

/* As ROCm 7: whoever waits for all while a stream is captured has spoilt the capture. */
hipError_t hipDeviceSynchronize(void)
{
    fake_hip.spoilt += fake_hip.captured != NULL;
    return fake_hip_fails() ? fake_hip.fail_with : hipSuccess;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status)
{
    if (fake_hip_fails())
        return fake_hip.fail_with;
    if (!stream && fake_hip.captured && fake_hip.captured_blocking)
        return hipErrorStreamCaptureImplicit;
    *status = stream && stream == fake_hip.captured ? hipStreamCaptureStatusActive
                                                    : hipStreamCaptureStatusNone;
    return hipSuccess;
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *wanted)
{
    const hipStreamCaptureMode before = mode;
    if (fake_hip_fails())
        return fake_hip.fail_with;
    mode = *wanted;
    *wanted = before;
    return hipSuccess;
}

hipError_t hipEventCreate(hipEvent_t *event)
{
    struct event *made = NULL;
    if (fake_hip_fails())
        return fake_hip.fail_with;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < EVENTS && !made; i++)
        if (!events[i].live)
            made = &events[i];
    if (made)
        *made = (struct event){.live = 1, .device = current};
    pthread_mutex_unlock(&lock);
    *event = (hipEvent_t)made;
    return made ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipEventDestroy(hipEvent_t event)
{
    struct event *given = (struct event *)event;
    given->live = 0;
    return fake_hip_fails() ? fake_hip.fail_with : hipSuccess;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    struct event *given = (struct event *)event;
    if (fake_hip_fails())
        return fake_hip.fail_with;
    pthread_mutex_lock(&lock);
    fake_hip.wrong_device += given->device != device_of(stream) || !given->live;
    given->stream = stream;
    given->recorded = 1;
    pthread_mutex_unlock(&lock);
    return hipSuccess;
}

hipError_t hipEventSynchronize(hipEvent_t event)
{
    struct event *given = (struct event *)event;
    if (fake_hip_fails())
        return fake_hip.fail_with;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MODULES && given->recorded; i++)
        if (modules[i].running && modules[i].stream == given->stream &&
            modules[i].device == given->device)
            modules[i].running = 0;
    pthread_mutex_unlock(&lock);
    fake_hip.waits++;
    return hipSuccess;
}

hipError_t hipModuleUnload(hipModule_t module)
{
    struct module *given = (struct module *)module;
    int failing = fake_hip_fails();
    pthread_mutex_lock(&lock);
    given->live = 0;
    fake_hip.unloaded_running += given->running || (given->in_graph && fake_hip.captured);
    fake_hip.spoilt += fake_hip.captured && mode != hipStreamCaptureModeRelaxed;
    pthread_mutex_unlock(&lock);
    fake_hip.unloads++;
    return failing ? fake_hip.fail_with : hipSuccess;
}

hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
{
    struct module *given = (struct module *)module;
    if (fake_hip_fails())
        return fake_hip.fail_with;
    /* make_image.c puts the kernel's name behind the headers */
    if (!fake_hip.any_symbol && strcmp(given->code + CODE_HEADERS, name) != 0)
        return hipErrorNotFound;
    if (given->device != current)
        fake_hip.wrong_device++;
    given->symbol = given->code + CODE_HEADERS;
    *function = (hipFunction_t)given;
    return hipSuccess;
}

#ifndef FAKE_HIP_NO_LAUNCH
hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gridDimX, unsigned gridDimY,
                                 unsigned gridDimZ, unsigned blockDimX, unsigned blockDimY,
                                 unsigned blockDimZ, unsigned sharedMemBytes, hipStream_t stream,
                                 void **kernelParams, void **extra)
{
    struct module *given = (struct module *)f;
    int device = device_of(stream);
    (void)extra;
    fake_hip.driver_calls++;
    if (fake_hip_fails())
        return fake_hip.fail_with;
    if (given->device != device || !given->live)
        fake_hip.wrong_device++;
    pthread_mutex_lock(&lock);
    memcpy(&fake_hip.args, kernelParams[0], sizeof(fake_hip.args));
    memcpy(fake_hip.grid, (unsigned[]){gridDimX, gridDimY, gridDimZ}, sizeof(fake_hip.grid));
    memcpy(fake_hip.block, (unsigned[]){blockDimX, blockDimY, blockDimZ}, sizeof(fake_hip.block));
    given->in_graph |= fake_hip.captured && stream == fake_hip.captured;
    given->running |= !given->in_graph;
    given->stream = stream;
    if (fake_hip.launches < FAKE_HIP_LOG) {
        struct fake_hip_launch *launch = &fake_hip.log[fake_hip.launches];
        launch->symbol = given->symbol;
        memcpy(launch->grid, fake_hip.grid, sizeof(launch->grid));
        launch->threads = blockDimX;
        memcpy(&launch->args, kernelParams[0], sizeof(launch->args));
    }
    fake_hip.lds = sharedMemBytes;
    fake_hip.symbol = given->symbol;
    fake_hip.device = given->device;
    fake_hip.stream = stream;
    pthread_mutex_unlock(&lock);
    fake_hip.launches++;
    return hipSuccess;
}
#endif

const char *hipGetErrorName(hipError_t error)
{
    return error == hipErrorOutOfMemory ? "hipErrorOutOfMemory" : "hipErrorOfTheFake";
}
