/* The C API and HIP for test_shim_calls.cc: see fake_aothip.h. */
#include "fake_aothip.h"

#include <dlfcn.h>
#include <hip/hip_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    (void)context;
    fake_aothip.fwd_calls++;
    fake_aothip.fwd = *params;
    fake_aothip.stream = stream;
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

hipError_t hipMalloc(void **memory, size_t bytes)
{
    fake_aothip.spoilt += fake_aothip.capturing;
    fake_aothip.allocations++;
    *memory = malloc(bytes);
    return *memory ? hipSuccess : hipErrorOutOfMemory;
}

hipError_t hipFree(void *memory)
{
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
