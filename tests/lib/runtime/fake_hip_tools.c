/*
 * What the fake HIP runtime needs for captures of launches: memory that reads as zeros, and streams
 * that are always done.
 */
#include "fake_hip.h"

#include <string.h>

#pragma GCC visibility push(default)

static hipError_t answer(void)
{
    return fake_hip_fails() ? fake_hip.fail_with : hipSuccess;
}

hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    const hipError_t error = answer();
    (void)from;
    if (error == hipSuccess && kind == hipMemcpyDeviceToHost)
        memset(to, 0, bytes);
    return error;
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream)
{
    (void)stream;
    return hipMemcpy(to, from, bytes, kind);
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    (void)stream;
    return answer();
}

/* Looked for, but not called in a capture: names for one function, whatever they take. */
hipError_t fake_hip_idle(void);
hipError_t fake_hip_idle(void)
{
    return hipErrorNotSupported;
}
#define IDLE(name) __asm__(".globl " name "\n\t.set " name ", fake_hip_idle");
IDLE("hipMalloc")
IDLE("hipFree")
IDLE("hipMemset")
IDLE("hipStreamCreate")
IDLE("hipStreamDestroy")
IDLE("hipEventElapsedTime")
