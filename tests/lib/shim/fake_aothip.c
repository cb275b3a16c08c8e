/* The C API and HIP for test_shim_calls.cc: see fake_aothip.h. */
#include "fake_aothip.h"

#include <dlfcn.h>
#include <hip/hip_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What HIP's headers before 5.3 do not declare. */
struct object;
#pragma GCC visibility push(default)
hipError_t hipStreamGetDevice(hipStream_t stream, int *device);
hipError_t hipUserObjectCreate(struct object **object, void *thing, void (*destroy)(void *thing),
                               unsigned count, unsigned flags);
hipError_t hipUserObjectRelease(struct object *object, unsigned count);
hipError_t hipGraphRetainUserObject(hipGraph_t graph, struct object *object, unsigned count,
                                    unsigned flags);
#pragma GCC visibility pop

struct fake_aothip fake_aothip;

struct aothip_context {
    int unused;
};

void fake_aothip_reset(void)
{
    memset(&fake_aothip, 0, sizeof(fake_aothip));
    fake_aothip.workspace_bytes = 64;
}

enum aothip_status aothip_open(const char *directory, struct aothip_context **context)
{
    static struct aothip_context only;
    (void)directory;
    *context = &only;
    return AOTHIP_OK;
}

void aothip_close(struct aothip_context *context)
{
    (void)context;
}

enum aothip_status aothip_check_stream(struct aothip_context *context, void *stream)
{
    (void)context;
    fake_aothip.stream = stream;
    return fake_aothip.status;
}

enum aothip_status aothip_stream_device(struct aothip_context *context, void *stream,
                                        struct aothip_device_info *info)
{
    (void)context, (void)stream;
    info->compute_units = 80;
    snprintf(info->gpu, sizeof(info->gpu), "gfx942");
    return fake_aothip.status;
}

void *aothip_hip_function(struct aothip_context *context, const char *name)
{
    (void)context;
    return dlsym(RTLD_DEFAULT, name);
}

enum aothip_status aothip_attn_fwd(struct aothip_context *context,
                                   const struct aothip_attn_fwd_params *params, void *stream)
{
    void (*const within)(void) = fake_aothip.within;
    (void)context;
    fake_aothip.fwd_calls++;
    fake_aothip.fwd = *params;
    fake_aothip.stream = stream;
    if (within) {
        fake_aothip.within = NULL;
        within();
    }
    return fake_aothip.no_launches ? AOTHIP_E_IO : fake_aothip.status;
}

enum aothip_status aothip_attn_fwd_workspace(struct aothip_context *context,
                                             const struct aothip_attn_fwd_params *params,
                                             void *stream, size_t *bytes)
{
    (void)context, (void)params, (void)stream;
    *bytes = fake_aothip.fwd_workspace_bytes;
    return fake_aothip.status;
}

enum aothip_status aothip_attn_probs(struct aothip_context *context,
                                     const struct aothip_attn_fwd_params *params, void *stream)
{
    (void)context;
    fake_aothip.probs_calls++;
    fake_aothip.fwd = *params;
    fake_aothip.stream = stream;
    return fake_aothip.status;
}

enum aothip_status aothip_attn_bwd(struct aothip_context *context,
                                   const struct aothip_attn_bwd_params *params, void *stream)
{
    (void)context;
    fake_aothip.bwd_calls++;
    fake_aothip.bwd = *params;
    fake_aothip.fwd = *params->fwd;
    fake_aothip.bwd.fwd = &fake_aothip.fwd;
    fake_aothip.stream = stream;
    return fake_aothip.status;
}

enum aothip_status aothip_attn_bwd_workspace(struct aothip_context *context,
                                             const struct aothip_attn_bwd_params *params,
                                             void *stream, size_t *bytes)
{
    (void)context, (void)params, (void)stream;
    *bytes = fake_aothip.workspace_bytes;
    return AOTHIP_OK;
}

enum aothip_status aothip_set_error(enum aothip_status status, const char *text)
{
    snprintf(fake_aothip.error, sizeof(fake_aothip.error), "%s", text);
    return status;
}

const char *aothip_last_error(void)
{
    return fake_aothip.error;
}

int aothip_last_hip_error(void)
{
    return hipErrorOutOfMemory;
}

hipError_t hipMallocAsync(void **memory, size_t bytes, hipStream_t stream)
{
    (void)stream;
    if (fake_aothip.no_pools)
        return hipErrorNotSupported;
    fake_aothip.pool_allocations++;
    *memory = malloc(bytes);
    return *memory ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipFreeAsync(void *memory, hipStream_t stream)
{
    (void)stream;
    if (fake_aothip.no_returns)
        return hipErrorStreamCaptureUnsupported;
    fake_aothip.pool_frees++;
    free(memory);
    return hipSuccess;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status)
{
    (void)stream;
    *status = fake_aothip.capturing ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
    return hipSuccess;
}

static hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *other)
{
    const hipStreamCaptureMode before = mode;
    mode = *other;
    *other = before;
    return hipSuccess;
}

hipError_t hipGetDevice(int *device)
{
    *device = fake_aothip.device;
    return hipSuccess;
}

hipError_t hipSetDevice(int device)
{
    fake_aothip.device = device;
    return hipSuccess;
}

/* Streams 0x700 and above are those of device 1. */
hipError_t hipStreamGetDevice(hipStream_t stream, int *device)
{
    *device = (uintptr_t)stream >= 0x700;
    return hipSuccess;
}

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus *status,
                                      unsigned long long *id, hipGraph_t *graph,
                                      const hipGraphNode_t **nodes, size_t *count)
{
    (void)nodes, (void)count;
    *id = (unsigned long long)fake_aothip.capturing;
    *graph = (hipGraph_t)&fake_aothip;
    return hipStreamIsCapturing(stream, status);
}

static struct object {
    void *thing;
    void (*destroy)(void *thing);
    int held; /* by a graph */
} objects[16];

hipError_t hipUserObjectCreate(struct object **object, void *thing, void (*destroy)(void *thing),
                               unsigned count, unsigned flags)
{
    struct object *free = objects;
    if (fake_aothip.no_objects || count != 1 || flags != 1)
        return hipErrorOutOfMemory;
    while (free->thing)
        free++;
    *free = (struct object){thing, destroy, 0};
    *object = free;
    return hipSuccess;
}

hipError_t hipUserObjectRelease(struct object *object, unsigned count)
{
    (void)count;
    object->destroy(object->thing);
    object->thing = NULL;
    return hipSuccess;
}

hipError_t hipGraphRetainUserObject(hipGraph_t graph, struct object *object, unsigned count,
                                    unsigned flags)
{
    if (fake_aothip.no_graphs || graph != (hipGraph_t)&fake_aothip || count != 1 || flags != 1)
        return hipErrorOutOfMemory;
    object->held = 1;
    return hipSuccess;
}

void fake_aothip_destroy_graphs(void)
{
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        if (objects[i].held && objects[i].thing)
            hipUserObjectRelease(&objects[i], 1);
}

hipError_t hipMalloc(void **memory, size_t bytes)
{
    fake_aothip.spoilt += mode != hipStreamCaptureModeRelaxed;
    if (fake_aothip.no_memory)
        return hipErrorOutOfMemory;
    fake_aothip.allocations++;
    *memory = malloc(bytes);
    return *memory ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipFree(void *memory)
{
    fake_aothip.spoilt += mode != hipStreamCaptureModeRelaxed;
    fake_aothip.frees++;
    free(memory);
    return hipSuccess;
}

hipError_t hipGetLastError(void)
{
    fake_aothip.errors_taken++;
    return hipErrorNotSupported;
}

/* Behind what is on its way. */
hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream)
{
    (void)kind, (void)stream;
    fake_aothip.copies++;
    if (fake_aothip.late)
        *fake_aothip.late = fake_aothip.late_value;
    memcpy(to, from, bytes);
    return hipSuccess;
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    (void)stream;
    fake_aothip.spoilt += fake_aothip.capturing;
    if (fake_aothip.capturing)
        return hipErrorStreamCaptureUnsupported;
    fake_aothip.waits++;
    if (fake_aothip.late)
        *fake_aothip.late = fake_aothip.late_value;
    return hipSuccess;
}
