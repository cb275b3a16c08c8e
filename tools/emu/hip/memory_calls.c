/* HIP memory: allocation and pointer queries. */
#include "handles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KINDS_DEVICE = 1 << EMU_BLOCK_DEVICE | 1 << EMU_BLOCK_MANAGED,
    KINDS_HOST = 1 << EMU_BLOCK_HOST,
    PITCH = 256,
};

static uint64_t addr(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static hipError_t allocate(void **ptr, enum emu_block_kind kind, size_t size, unsigned flags)
{
    if (!ptr)
        return emu_hip_fail(hipErrorInvalidValue, "allocation: result pointer is null");
    *ptr = NULL;
    if (size == 0)
        return hipSuccess;
    struct emu_block *b = emu_mem_alloc(kind, emu_hip_current()->index, size, flags);
    if (!b)
        return emu_hip_fail(hipErrorOutOfMemory, "allocation of %zu bytes", size);
    *ptr = (void *)(uintptr_t)b->base;
    return hipSuccess;
}

/* The same where HIP forbids it while a stream captures (CHECK_STREAM_CAPTURE_SUPPORTED). */
static hipError_t allocate_unsafe(const char *what, void **ptr, enum emu_block_kind kind,
                                  size_t size, unsigned flags)
{
    EMU_BEGIN();
    hipError_t e = emu_capture_unsafe(what);
    return e == hipSuccess ? allocate(ptr, kind, size, flags) : e;
}

static hipError_t release(void *ptr, unsigned kinds)
{
    if (ptr && !emu_mem_free(addr(ptr), kinds))
        return emu_hip_fail(hipErrorInvalidValue, "free: %p is not the start of a live allocation",
                            ptr);
    return hipSuccess;
}

/*
 * AMD's frees memory of any kind by one function (ihipFree of hip_memory.cpp), whichever was
 * called; strict mode keeps to what HIP's manual says.
 */
static hipError_t release_unsafe(const char *what, void *ptr, unsigned kinds)
{
    EMU_BEGIN();
    hipError_t e = emu_capture_unsafe(what);
    return e == hipSuccess
               ? release(ptr, emu_settings()->strict ? kinds : KINDS_DEVICE | KINDS_HOST)
               : e;
}

hipError_t hipMalloc(void **ptr, size_t size)
{
    return allocate_unsafe("hipMalloc", ptr, EMU_BLOCK_DEVICE, size, 0);
}

/* Here HIP does not ask for captures. */
hipError_t hipExtMallocWithFlags(void **ptr, size_t size, unsigned flags)
{
    EMU_BEGIN();
    return allocate(ptr, EMU_BLOCK_DEVICE, size, flags);
}

hipError_t hipFree(void *ptr)
{
    return release_unsafe("hipFree", ptr, KINDS_DEVICE);
}

/* Allowed while no stream captures that the null stream would wait for, whatever the thread's mode;
 * refused, they spoil no capture. */
static hipError_t pool_allowed(const char *what, hipStream_t stream)
{
    const struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || s->capture)
        return emu_hip_fail(s ? hipErrorStreamCaptureUnsupported : hipErrorInvalidHandle,
                            "%s: the stream is not live or is capturing", what);
    if (emu_capture_blocking())
        return emu_hip_fail(hipErrorStreamCaptureUnsupported,
                            "%s: a stream that waits for the null stream is capturing", what);
    return hipSuccess;
}

hipError_t hipMallocAsync(void **ptr, size_t size, hipStream_t stream)
{
    EMU_BEGIN();
    hipError_t e = pool_allowed("hipMallocAsync", stream);
    return e == hipSuccess ? allocate(ptr, EMU_BLOCK_DEVICE, size, 0) : e;
}

hipError_t hipFreeAsync(void *ptr, hipStream_t stream)
{
    EMU_BEGIN();
    hipError_t e = pool_allowed("hipFreeAsync", stream);
    return e == hipSuccess ? release(ptr, KINDS_DEVICE) : e;
}

hipError_t hipHostMalloc(void **ptr, size_t size, unsigned flags)
{
    return allocate_unsafe("hipHostMalloc", ptr, EMU_BLOCK_HOST, size, flags);
}

hipError_t hipHostAlloc(void **ptr, size_t size, unsigned flags)
{
    return allocate_unsafe("hipHostAlloc", ptr, EMU_BLOCK_HOST, size, flags);
}

hipError_t hipMallocHost(void **ptr, size_t size)
{
    return allocate_unsafe("hipMallocHost", ptr, EMU_BLOCK_HOST, size, 0);
}

hipError_t hipMemAllocHost(void **ptr, size_t size)
{
    return allocate_unsafe("hipMemAllocHost", ptr, EMU_BLOCK_HOST, size, 0);
}

hipError_t hipHostFree(void *ptr)
{
    return release_unsafe("hipHostFree", ptr, KINDS_HOST);
}

hipError_t hipFreeHost(void *ptr)
{
    return release_unsafe("hipFreeHost", ptr, KINDS_HOST);
}

hipError_t hipMallocManaged(void **ptr, size_t size, unsigned flags)
{
    return allocate_unsafe("hipMallocManaged", ptr, EMU_BLOCK_MANAGED, size, flags);
}

hipError_t hipMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
    if (!pitch)
        return emu_hip_fail(hipErrorInvalidValue, "hipMallocPitch: pitch is null");
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    if (height && *pitch > SIZE_MAX / height)
        return emu_hip_fail(hipErrorOutOfMemory, "hipMallocPitch: %zu x %zu", width, height);
    return allocate_unsafe("hipMallocPitch", ptr, EMU_BLOCK_DEVICE, *pitch * height, 0);
}

hipError_t hipHostRegister(void *ptr, size_t size, unsigned flags)
{
    EMU_BEGIN();
    hipError_t e = emu_capture_unsafe("hipHostRegister");
    if (e != hipSuccess)
        return e;
    if (!ptr || !size)
        return emu_hip_fail(hipErrorInvalidValue, "hipHostRegister: %p, %zu bytes", ptr, size);
    if (!emu_mem_register(ptr, size, flags))
        return emu_hip_fail(hipErrorHostMemoryAlreadyRegistered,
                            "hipHostRegister: %p overlaps registered memory", ptr);
    return hipSuccess;
}

hipError_t hipHostUnregister(void *ptr)
{
    EMU_BEGIN();
    hipError_t e = emu_capture_unsafe("hipHostUnregister");
    if (e != hipSuccess)
        return e;
    if (!ptr || !emu_mem_free(addr(ptr), 1u << EMU_BLOCK_REGISTERED))
        return emu_hip_fail(hipErrorHostMemoryNotRegistered, "hipHostUnregister: %p", ptr);
    return hipSuccess;
}

hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    struct emu_block b;
    (void)flags;
    EMU_BEGIN();
    if (!device || !emu_mem_query(addr(host), &b) || b.device != EMU_ANY_DEVICE)
        return emu_hip_fail(hipErrorInvalidValue, "%p is not host memory known to the device",
                            host);
    *device = host;
    return hipSuccess;
}

hipError_t hipHostGetFlags(unsigned *flags, void *host)
{
    struct emu_block b;
    EMU_BEGIN();
    if (!flags || !emu_mem_query(addr(host), &b) || b.device != EMU_ANY_DEVICE)
        return emu_hip_fail(hipErrorInvalidValue, "%p is not host memory known to the device",
                            host);
    *flags = b.flags;
    return hipSuccess;
}

hipError_t hipMemGetInfo(size_t *available, size_t *total)
{
    EMU_BEGIN();
    if (available)
        *available = emu_mem_total() - emu_mem_used(emu_hip_current()->index);
    if (total)
        *total = emu_mem_total();
    return hipSuccess;
}

hipError_t hipMemPtrGetInfo(void *ptr, size_t *size)
{
    struct emu_block b;
    EMU_BEGIN();
    if (!size || !emu_mem_query(addr(ptr), &b))
        return emu_hip_fail(hipErrorInvalidValue, "%p is not in a live allocation", ptr);
    *size = b.size;
    return hipSuccess;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *size, hipDeviceptr_t ptr)
{
    struct emu_block b;
    EMU_BEGIN();
    if (!emu_mem_query(addr(ptr), &b))
        return emu_hip_fail(hipErrorNotFound, "%p is not in a live allocation", ptr);
    if (base)
        *base = (void *)(uintptr_t)b.base;
    if (size)
        *size = b.size;
    return hipSuccess;
}

/* The struct changed with HIP 6: its first member then is the type in another numbering. This is
 * the layout of the 5.x headers. */
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *ptr)
{
    struct emu_block b;
    EMU_BEGIN();
    if (!attributes || !emu_mem_query(addr(ptr), &b))
        return emu_hip_fail(hipErrorInvalidValue, "%p is not in a live allocation", ptr);
    bool host = b.device == EMU_ANY_DEVICE;
    memset(attributes, 0, sizeof *attributes);
    attributes->memoryType =
        host && b.kind != EMU_BLOCK_MANAGED ? hipMemoryTypeHost : hipMemoryTypeDevice;
    attributes->device = host ? emu_hip_current()->index : b.device;
    attributes->devicePointer = (void *)(uintptr_t)ptr;
    attributes->hostPointer = host ? (void *)(uintptr_t)ptr : NULL;
    attributes->isManaged = b.kind == EMU_BLOCK_MANAGED;
    attributes->allocationFlags = b.flags;
    return hipSuccess;
}

hipError_t hipPointerGetAttribute(void *data, hipPointer_attribute attribute, hipDeviceptr_t ptr)
{
    struct emu_block b;
    EMU_BEGIN();
    if (!data || !emu_mem_query(addr(ptr), &b))
        return emu_hip_fail(hipErrorInvalidValue, "%p is not in a live allocation", ptr);
    bool host = b.device == EMU_ANY_DEVICE, managed = b.kind == EMU_BLOCK_MANAGED;
    switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(hipMemoryType *)data = host && !managed ? hipMemoryTypeHost : hipMemoryTypeDevice;
        return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(void **)data = ptr;
        return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!host)
            return emu_hip_fail(hipErrorInvalidValue, "%p is not host memory", ptr);
        *(void **)data = ptr;
        return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
        *(bool *)data = managed;
        return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = host ? emu_hip_current()->index : b.device;
        return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(void **)data = (void *)(uintptr_t)b.base;
        return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = b.size;
        return hipSuccess;
    case HIP_POINTER_ATTRIBUTE_MAPPED:
        *(bool *)data = true;
        return hipSuccess;
    default:
        return emu_hip_fail(hipErrorInvalidValue, "pointer attribute %d", (int)attribute);
    }
}

/* Managed memory is everywhere at once: where it shall lie, and what for, makes no difference. */
hipError_t hipMemPrefetchAsync(const void *ptr, size_t n, int device, hipStream_t stream)
{
    struct emu_block b;
    (void)device, (void)stream;
    EMU_BEGIN();
    if (!n || !emu_mem_query(addr(ptr), &b) || addr(ptr) + n > b.base + b.size)
        return emu_hip_fail(hipErrorInvalidValue, "%zu bytes at %p are not in one live allocation",
                            n, ptr);
    return hipSuccess;
}

hipError_t hipMemAdvise(const void *ptr, size_t n, hipMemoryAdvise advice, int device)
{
    (void)advice;
    return hipMemPrefetchAsync(ptr, n, device, NULL);
}
