/* The HIP runtime that the library uses, for pyaotriton: found as the library finds it. */
#include "hip_door.h"

#include "hip.h"
#include "status.h"

/* The runtime; NULL if there is none. Whoever calls holds Python's lock. */
static const struct hip *runtime(void)
{
    static struct hip found;
    static int state; /* 1: found, -1: not */
    struct status why;
    status_clear(&why);
    if (!state)
        state = hip_open(&found, &why) || hip_require_tools(&found, &why) ? -1 : 1;
    return state > 0 ? &found : NULL;
}

#define RUNTIME_OR_FAIL(hip)                                                                       \
    const struct hip *const hip = runtime();                                                       \
    if (!(hip))                                                                                    \
    return hipErrorSharedObjectInitFailed

int hip_door_malloc(void **memory, size_t bytes)
{
    RUNTIME_OR_FAIL(hip);
    return (int)hip->malloc_device(memory, bytes);
}

int hip_door_free(void *memory)
{
    RUNTIME_OR_FAIL(hip);
    return (int)hip->free_device(memory);
}

int hip_door_upload(void *to, const void *from, size_t bytes)
{
    RUNTIME_OR_FAIL(hip);
    return (int)hip->copy(to, from, bytes, hipMemcpyHostToDevice);
}

int hip_door_download(void *to, const void *from, size_t bytes)
{
    RUNTIME_OR_FAIL(hip);
    return (int)hip->copy(to, from, bytes, hipMemcpyDeviceToHost);
}

int hip_door_zero(void *memory, size_t bytes)
{
    RUNTIME_OR_FAIL(hip);
    return (int)hip->fill(memory, 0, bytes);
}

int hip_door_synchronize(void)
{
    RUNTIME_OR_FAIL(hip);
    return (int)hip->device_synchronize();
}

int hip_door_last_error(void)
{
    hipError_t (*last)(void) = NULL;
    RUNTIME_OR_FAIL(hip);
    last = (hipError_t(*)(void))hip_function(hip, "hipGetLastError");
    return last ? (int)last() : (int)hipSuccess;
}
