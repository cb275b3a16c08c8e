/* HIP memory: allocation, copies, fills, pointer queries. */
#include "emu_hip.h"

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
    EMU_BEGIN();
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

static hipError_t release(void *ptr, unsigned kinds)
{
    EMU_BEGIN();
    if (ptr && !emu_mem_free(addr(ptr), kinds))
        return emu_hip_fail(hipErrorInvalidValue, "free: %p is not the start of a live allocation",
                            ptr);
    return hipSuccess;
}

hipError_t hipMalloc(void **ptr, size_t size)
{
    return allocate(ptr, EMU_BLOCK_DEVICE, size, 0);
}

hipError_t hipExtMallocWithFlags(void **ptr, size_t size, unsigned flags)
{
    return allocate(ptr, EMU_BLOCK_DEVICE, size, flags);
}

hipError_t hipFree(void *ptr)
{
    return release(ptr, KINDS_DEVICE);
}

hipError_t hipMallocAsync(void **ptr, size_t size, hipStream_t stream)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || s->graph)
        return emu_hip_fail(s ? hipErrorStreamCaptureUnsupported : hipErrorInvalidHandle,
                            "hipMallocAsync: the stream is not live or is capturing");
    return allocate(ptr, EMU_BLOCK_DEVICE, size, 0);
}

hipError_t hipFreeAsync(void *ptr, hipStream_t stream)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    if (!s || s->graph)
        return emu_hip_fail(s ? hipErrorStreamCaptureUnsupported : hipErrorInvalidHandle,
                            "hipFreeAsync: the stream is not live or is capturing");
    return release(ptr, KINDS_DEVICE);
}

hipError_t hipHostMalloc(void **ptr, size_t size, unsigned flags)
{
    return allocate(ptr, EMU_BLOCK_HOST, size, flags);
}

hipError_t hipHostAlloc(void **ptr, size_t size, unsigned flags)
{
    return allocate(ptr, EMU_BLOCK_HOST, size, flags);
}

hipError_t hipMallocHost(void **ptr, size_t size)
{
    return allocate(ptr, EMU_BLOCK_HOST, size, 0);
}

hipError_t hipMemAllocHost(void **ptr, size_t size)
{
    return allocate(ptr, EMU_BLOCK_HOST, size, 0);
}

hipError_t hipHostFree(void *ptr)
{
    return release(ptr, KINDS_HOST);
}

hipError_t hipFreeHost(void *ptr)
{
    return release(ptr, KINDS_HOST);
}

hipError_t hipMallocManaged(void **ptr, size_t size, unsigned flags)
{
    return allocate(ptr, EMU_BLOCK_MANAGED, size, flags);
}

hipError_t hipMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
    if (!pitch)
        return emu_hip_fail(hipErrorInvalidValue, "hipMallocPitch: pitch is null");
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    if (height && *pitch > SIZE_MAX / height)
        return emu_hip_fail(hipErrorOutOfMemory, "hipMallocPitch: %zu x %zu", width, height);
    return allocate(ptr, EMU_BLOCK_DEVICE, *pitch * height, 0);
}

hipError_t hipHostRegister(void *ptr, size_t size, unsigned flags)
{
    EMU_BEGIN();
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
        return emu_hip_fail(hipErrorInvalidDevicePointer, "%p is not in a live allocation", ptr);
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

hipError_t emu_copy_run(uint64_t dst, uint64_t dst_pitch, uint64_t src, uint64_t src_pitch,
                        uint64_t width, uint64_t height)
{
    char err[512];
    for (uint64_t y = 0; y < height; y++)
        if (!emu_mem_copy(dst + y * dst_pitch, src + y * src_pitch, width, err, sizeof err))
            return emu_hip_fail(hipErrorInvalidValue, "copy: %s", err);
    return hipSuccess;
}

hipError_t emu_copy_enqueue(struct ihipStream_t *s, uint64_t dst, uint64_t dst_pitch, uint64_t src,
                            uint64_t src_pitch, uint64_t width, uint64_t height)
{
    const uint64_t args[6] = {dst, dst_pitch, src, src_pitch, width, height};
    if (!s)
        return emu_hip_fail(hipErrorInvalidHandle, "copy: not a live stream");
    if (width == 0 || height == 0)
        return hipSuccess;
    if (s->graph)
        return emu_capture_copy(s, args);
    emu_stream_lock(s);
    hipError_t e = emu_copy_run(dst, dst_pitch, src, src_pitch, width, height);
    emu_stream_unlock(s);
    return e;
}

static hipError_t copy(void *dst, const void *src, size_t n, hipMemcpyKind kind, hipStream_t stream)
{
    EMU_BEGIN();
    if (n && (!dst || !src))
        return emu_hip_fail(hipErrorInvalidValue, "copy of %zu bytes: a pointer is null", n);
    if ((unsigned)kind > hipMemcpyDefault)
        return emu_hip_fail(hipErrorInvalidMemcpyDirection, "copy kind %d", (int)kind);
    return emu_copy_enqueue(emu_stream_get(stream), addr(dst), 0, addr(src), 0, n, 1);
}

hipError_t hipMemcpy(void *dst, const void *src, size_t n, hipMemcpyKind kind)
{
    return copy(dst, src, n, kind, NULL);
}

hipError_t hipMemcpyAsync(void *dst, const void *src, size_t n, hipMemcpyKind kind,
                          hipStream_t stream)
{
    return copy(dst, src, n, kind, stream);
}

hipError_t hipMemcpyWithStream(void *dst, const void *src, size_t n, hipMemcpyKind kind,
                               hipStream_t stream)
{
    return copy(dst, src, n, kind, stream);
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, void *src, size_t n)
{
    return copy(dst, src, n, hipMemcpyHostToDevice, NULL);
}

hipError_t hipMemcpyDtoH(void *dst, hipDeviceptr_t src, size_t n)
{
    return copy(dst, src, n, hipMemcpyDeviceToHost, NULL);
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t n)
{
    return copy(dst, src, n, hipMemcpyDeviceToDevice, NULL);
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst, void *src, size_t n, hipStream_t stream)
{
    return copy(dst, src, n, hipMemcpyHostToDevice, stream);
}

hipError_t hipMemcpyDtoHAsync(void *dst, hipDeviceptr_t src, size_t n, hipStream_t stream)
{
    return copy(dst, src, n, hipMemcpyDeviceToHost, stream);
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src, size_t n, hipStream_t stream)
{
    return copy(dst, src, n, hipMemcpyDeviceToDevice, stream);
}

hipError_t hipMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t n)
{
    (void)dst_device, (void)src_device;
    return copy(dst, src, n, hipMemcpyDeviceToDevice, NULL);
}

hipError_t hipMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t n,
                              hipStream_t stream)
{
    (void)dst_device, (void)src_device;
    return copy(dst, src, n, hipMemcpyDeviceToDevice, stream);
}

hipError_t hipMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                            size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream)
{
    EMU_BEGIN();
    if (width > dst_pitch || width > src_pitch)
        return emu_hip_fail(hipErrorInvalidPitchValue, "2D copy: rows of %zu bytes, pitch %zu, %zu",
                            width, dst_pitch, src_pitch);
    if ((unsigned)kind > hipMemcpyDefault)
        return emu_hip_fail(hipErrorInvalidMemcpyDirection, "copy kind %d", (int)kind);
    if (!dst || !src)
        return emu_hip_fail(hipErrorInvalidValue, "2D copy: a pointer is null");
    return emu_copy_enqueue(emu_stream_get(stream), addr(dst), dst_pitch, addr(src), src_pitch,
                            width, height);
}

hipError_t hipMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                       size_t height, hipMemcpyKind kind)
{
    return hipMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height, kind, NULL);
}

hipError_t emu_fill_run(uint64_t dst, uint64_t pitch, uint32_t value, unsigned width,
                        uint64_t count, uint64_t height)
{
    char err[512];
    for (uint64_t y = 0; y < height; y++)
        if (!emu_mem_fill(dst + y * pitch, value, width, count, err, sizeof err))
            return emu_hip_fail(hipErrorInvalidValue, "fill: %s", err);
    return hipSuccess;
}

hipError_t emu_fill_enqueue(struct ihipStream_t *s, uint64_t dst, uint64_t pitch, uint32_t value,
                            unsigned width, uint64_t count, uint64_t height)
{
    const uint64_t args[6] = {dst, pitch, value, width, count, height};
    if (!s)
        return emu_hip_fail(hipErrorInvalidHandle, "fill: not a live stream");
    if (count == 0 || height == 0)
        return hipSuccess;
    if (count > UINT64_MAX / 4)
        return emu_hip_fail(hipErrorInvalidValue, "fill of %llu elements",
                            (unsigned long long)count);
    if (s->graph)
        return emu_capture_fill(s, args);
    emu_stream_lock(s);
    hipError_t e = emu_fill_run(dst, pitch, value, width, count, height);
    emu_stream_unlock(s);
    return e;
}

static hipError_t fill(void *dst, size_t pitch, uint32_t value, unsigned width, size_t count,
                       size_t height, hipStream_t stream)
{
    struct emu_block b;
    EMU_BEGIN();
    /* A fill runs on the device: ordinary host memory is out of its reach. */
    if (count && height && !emu_mem_query(addr(dst), &b))
        return emu_hip_fail(hipErrorInvalidValue, "fill: %p is not in a live allocation", dst);
    return emu_fill_enqueue(emu_stream_get(stream), addr(dst), pitch, value, width, count, height);
}

hipError_t hipMemset(void *dst, int value, size_t n)
{
    return fill(dst, 0, (uint32_t)value & 0xff, 1, n, 1, NULL);
}

hipError_t hipMemsetAsync(void *dst, int value, size_t n, hipStream_t stream)
{
    return fill(dst, 0, (uint32_t)value & 0xff, 1, n, 1, stream);
}

hipError_t hipMemsetD8(hipDeviceptr_t dst, unsigned char value, size_t n)
{
    return fill(dst, 0, value, 1, n, 1, NULL);
}

hipError_t hipMemsetD8Async(hipDeviceptr_t dst, unsigned char value, size_t n, hipStream_t stream)
{
    return fill(dst, 0, value, 1, n, 1, stream);
}

hipError_t hipMemsetD16(hipDeviceptr_t dst, unsigned short value, size_t n)
{
    return fill(dst, 0, value, 2, n, 1, NULL);
}

hipError_t hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value, size_t n, hipStream_t stream)
{
    return fill(dst, 0, value, 2, n, 1, stream);
}

hipError_t hipMemsetD32(hipDeviceptr_t dst, int value, size_t n)
{
    return fill(dst, 0, (uint32_t)value, 4, n, 1, NULL);
}

hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t n, hipStream_t stream)
{
    return fill(dst, 0, (uint32_t)value, 4, n, 1, stream);
}

hipError_t hipMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height)
{
    return fill(dst, pitch, (uint32_t)value & 0xff, 1, width, height, NULL);
}

hipError_t hipMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height,
                            hipStream_t stream)
{
    return fill(dst, pitch, (uint32_t)value & 0xff, 1, width, height, stream);
}
