/*
 * A HIP runtime without a GPU behind it, for what goes wrong: FAKE_HIP_DEVICES devices (default 1)
 * of target FAKE_HIP_TARGET; memory is the host's; a launched kernel does nothing but move the
 * device's clock on, the first by the first of FAKE_HIP_TIMES (milliseconds, such as 9,1,4), the
 * one behind the last by the first again; with FAKE_HIP_FAIL=hipMalloc and the like that function
 * fails. Built with -DFAKE_HIP_OLD it lacks hipModuleLaunchKernel, as a runtime that is no runtime
 * would.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID = 1, NO_DEVICE = 100, UNKNOWN = 999 };

/* What every module and stream points to. */
static char handle;

/* The device's clock. An event is the time at which it was recorded. */
static double milliseconds_passed;

static int fails(const char *name)
{
    const char *wanted = getenv("FAKE_HIP_FAIL");
    return wanted && !strcmp(wanted, name) ? UNKNOWN : SUCCESS;
}

/* HIP's own headers rename some of these; here they are plain symbols. */
#define FUNCTION(name, ...)                                                                        \
    EXPORT int name(__VA_ARGS__);                                                                  \
    EXPORT int name(__VA_ARGS__)

FUNCTION(hipGetDeviceCount, int *count)
{
    const char *devices = getenv("FAKE_HIP_DEVICES");
    *count = devices ? atoi(devices) : 1;
    return *count > 0 ? fails("hipGetDeviceCount") : NO_DEVICE;
}

FUNCTION(hipGetDevice, int *device)
{
    *device = 0;
    return SUCCESS;
}

FUNCTION(hipSetDevice, int device)
{
    return device < 0 ? INVALID : fails("hipSetDevice");
}

FUNCTION(hipStreamGetDevice, void *stream, int *device)
{
    (void)stream;
    *device = 0;
    return SUCCESS;
}

/* 1472 bytes, of which the name, the memory, the compute units and the target matter. */
FUNCTION(hipGetDevicePropertiesR0600, char *properties, int device)
{
    const char *target = getenv("FAKE_HIP_TARGET");
    unsigned long long memory = 16000000000;
    int units = 96;

    memset(properties, 0, 1472);
    snprintf(properties, 256, "Fake GPU %d", device);
    memcpy(properties + 288, &memory, sizeof(memory));
    memcpy(properties + 388, &units, sizeof(units));
    snprintf(properties + 1160, 256, "%s", target ? target : "gfx1100");
    return fails("hipGetDevicePropertiesR0600");
}

FUNCTION(hipModuleLoadData, void **module, const void *image)
{
    (void)image;
    *module = &handle;
    return fails("hipModuleLoadData");
}

FUNCTION(hipModuleUnload, void *module)
{
    return module ? SUCCESS : INVALID;
}

FUNCTION(hipModuleGetFunction, void **function, void *module, const char *name)
{
    (void)name;
    *function = module;
    return fails("hipModuleGetFunction");
}

#ifndef FAKE_HIP_OLD
static void advance_clock(void)
{
    static const char *next;
    const char *times = getenv("FAKE_HIP_TIMES");
    char *end;

    if (!times)
        return;
    if (!next || !*next)
        next = times;
    milliseconds_passed += strtod(next, &end);
    next = *end ? end + 1 : end;
}

FUNCTION(hipModuleLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
         unsigned by, unsigned bz, unsigned lds, void *stream, void **parameters, void **extra)
{
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)lds, (void)stream;
    (void)parameters, (void)extra;
    advance_clock();
    return function ? fails("hipModuleLaunchKernel") : INVALID;
}
#endif

FUNCTION(hipRuntimeGetVersion, int *version)
{
    *version = 60241133; /* 6.2.41133 */
    return SUCCESS;
}

FUNCTION(hipMalloc, void **memory, size_t bytes)
{
    *memory = malloc(bytes);
    return *memory ? fails("hipMalloc") : 2;
}

FUNCTION(hipFree, void *memory)
{
    free(memory);
    return SUCCESS;
}

FUNCTION(hipMemcpy, void *to, const void *from, size_t bytes, int kind)
{
    (void)kind;
    memcpy(to, from, bytes);
    return fails("hipMemcpy");
}

FUNCTION(hipMemcpyAsync, void *to, const void *from, size_t bytes, int kind, void *stream)
{
    (void)kind, (void)stream;
    memcpy(to, from, bytes);
    return fails("hipMemcpyAsync");
}

FUNCTION(hipMemset, void *to, int byte, size_t bytes)
{
    memset(to, byte, bytes);
    return SUCCESS;
}

FUNCTION(hipDeviceSynchronize, void)
{
    return SUCCESS;
}

FUNCTION(hipStreamCreate, void **stream)
{
    *stream = &handle;
    return fails("hipStreamCreate");
}

FUNCTION(hipStreamDestroy, void *stream)
{
    return stream ? SUCCESS : INVALID;
}

FUNCTION(hipStreamSynchronize, void *stream)
{
    (void)stream;
    return fails("hipStreamSynchronize");
}

FUNCTION(hipEventCreate, double **event)
{
    *event = calloc(1, sizeof(**event));
    return *event ? fails("hipEventCreate") : 2;
}

FUNCTION(hipEventDestroy, double *event)
{
    free(event);
    return event ? SUCCESS : INVALID;
}

FUNCTION(hipEventRecord, double *event, void *stream)
{
    (void)stream;
    if (!event)
        return INVALID;
    *event = milliseconds_passed;
    return fails("hipEventRecord");
}

FUNCTION(hipEventSynchronize, double *event)
{
    return event ? fails("hipEventSynchronize") : INVALID;
}

FUNCTION(hipEventElapsedTime, float *milliseconds, const double *from, const double *to)
{
    if (!from || !to)
        return INVALID;
    *milliseconds = (float)(*to - *from);
    return fails("hipEventElapsedTime");
}

EXPORT const char *hipGetErrorName(int error);
EXPORT const char *hipGetErrorName(int error)
{
    return error == NO_DEVICE ? "hipErrorNoDevice" : error ? "hipErrorUnknown" : "hipSuccess";
}
