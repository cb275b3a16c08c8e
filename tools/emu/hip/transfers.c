/* Copies and fills. */
#include "operation.h"

static uint64_t addr(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static hipError_t run_copy(const struct emu_operation *op)
{
    const uint64_t *a = op->args, dst = a[0], dst_pitch = a[1], src = a[2], src_pitch = a[3];
    char err[512];
    for (uint64_t y = 0; y < a[5]; y++)
        if (!emu_mem_copy(dst + y * dst_pitch, src + y * src_pitch, a[4], err, sizeof err))
            return emu_hip_fail(hipErrorInvalidValue, "copy: %s", err);
    return hipSuccess;
}

struct emu_operation emu_copy_operation(uint64_t dst, uint64_t dst_pitch, uint64_t src,
                                        uint64_t src_pitch, uint64_t width, uint64_t height)
{
    static const struct emu_operation_kind kind = {.type = hipGraphNodeTypeMemcpy, .run = run_copy};
    return (struct emu_operation){&kind, .args = {dst, dst_pitch, src, src_pitch, width, height}};
}

static hipError_t submit_copy(struct ihipStream_t *s, uint64_t dst, uint64_t dst_pitch,
                              uint64_t src, uint64_t src_pitch, uint64_t width, uint64_t height)
{
    struct emu_operation op = emu_copy_operation(dst, dst_pitch, src, src_pitch, width, height);
    if (!s)
        return emu_hip_fail(hipErrorInvalidHandle, "copy: not a live stream");
    return width && height ? emu_operation_submit(s, &op) : hipSuccess;
}

static hipError_t copy(void *dst, const void *src, size_t n, hipMemcpyKind kind, hipStream_t stream)
{
    EMU_BEGIN();
    if (n && (!dst || !src))
        return emu_hip_fail(hipErrorInvalidValue, "copy of %zu bytes: a pointer is null", n);
    if ((unsigned)kind > hipMemcpyDefault)
        return emu_hip_fail(hipErrorInvalidMemcpyDirection, "copy kind %d", (int)kind);
    return submit_copy(emu_stream_get(stream), addr(dst), 0, addr(src), 0, n, 1);
}

/* A copy that the host waits for, which no capture may see (CHECK_STREAM_CAPTURING). */
static hipError_t copy_now(void *dst, const void *src, size_t n, hipMemcpyKind kind)
{
    EMU_BEGIN();
    hipError_t e = emu_capture_none(hipErrorStreamCaptureImplicit, "a synchronous copy");
    return e == hipSuccess ? copy(dst, src, n, kind, NULL) : e;
}

hipError_t hipMemcpy(void *dst, const void *src, size_t n, hipMemcpyKind kind)
{
    return copy_now(dst, src, n, kind);
}

hipError_t hipMemcpyAsync(void *dst, const void *src, size_t n, hipMemcpyKind kind,
                          hipStream_t stream)
{
    return copy(dst, src, n, kind, stream);
}

hipError_t hipMemcpyWithStream(void *dst, const void *src, size_t n, hipMemcpyKind kind,
                               hipStream_t stream)
{
    EMU_BEGIN();
    struct ihipStream_t *s = emu_stream_get(stream);
    hipError_t e = s ? emu_capture_wait(s, "hipMemcpyWithStream") : hipSuccess;
    return e == hipSuccess ? copy(dst, src, n, kind, stream) : e;
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, void *src, size_t n)
{
    return copy_now(dst, src, n, hipMemcpyHostToDevice);
}

hipError_t hipMemcpyDtoH(void *dst, hipDeviceptr_t src, size_t n)
{
    return copy_now(dst, src, n, hipMemcpyDeviceToHost);
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t n)
{
    return copy_now(dst, src, n, hipMemcpyDeviceToDevice);
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
    return copy_now(dst, src, n, hipMemcpyDeviceToDevice);
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
    return submit_copy(emu_stream_get(stream), addr(dst), dst_pitch, addr(src), src_pitch, width,
                       height);
}

hipError_t hipMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                       size_t height, hipMemcpyKind kind)
{
    EMU_BEGIN();
    hipError_t e = emu_capture_none(hipErrorStreamCaptureImplicit, "hipMemcpy2D");
    return e == hipSuccess
               ? hipMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height, kind, NULL)
               : e;
}

static hipError_t run_fill(const struct emu_operation *op)
{
    const uint64_t *a = op->args, dst = a[0], pitch = a[1], count = a[4];
    char err[512];
    for (uint64_t y = 0; y < a[5]; y++)
        if (!emu_mem_fill(dst + y * pitch, (uint32_t)a[2], (unsigned)a[3], count, err, sizeof err))
            return emu_hip_fail(hipErrorInvalidValue, "fill: %s", err);
    return hipSuccess;
}

struct emu_operation emu_fill_operation(uint64_t dst, uint64_t pitch, uint32_t value,
                                        unsigned width, uint64_t count, uint64_t height)
{
    static const struct emu_operation_kind kind = {.type = hipGraphNodeTypeMemset, .run = run_fill};
    return (struct emu_operation){&kind, .args = {dst, pitch, value, width, count, height}};
}

static hipError_t submit_fill(struct ihipStream_t *s, uint64_t dst, uint64_t pitch, uint32_t value,
                              unsigned width, uint64_t count, uint64_t height)
{
    struct emu_operation op = emu_fill_operation(dst, pitch, value, width, count, height);
    if (!s)
        return emu_hip_fail(hipErrorInvalidHandle, "fill: not a live stream");
    if (count == 0 || height == 0)
        return hipSuccess;
    if (count > UINT64_MAX / 4)
        return emu_hip_fail(hipErrorInvalidValue, "fill of %llu elements",
                            (unsigned long long)count);
    return emu_operation_submit(s, &op);
}

static hipError_t fill(void *dst, size_t pitch, uint32_t value, unsigned width, size_t count,
                       size_t height, hipStream_t stream)
{
    struct emu_block b;
    EMU_BEGIN();
    /* A fill runs on the device: ordinary host memory is out of its reach. */
    if (count && height && !emu_mem_query(addr(dst), &b))
        return emu_hip_fail(hipErrorInvalidValue, "fill: %p is not in a live allocation", dst);
    return submit_fill(emu_stream_get(stream), addr(dst), pitch, value, width, count, height);
}

static hipError_t fill_now(void *dst, size_t pitch, uint32_t value, unsigned width, size_t count,
                           size_t height)
{
    EMU_BEGIN();
    hipError_t e = emu_capture_none(hipErrorStreamCaptureImplicit, "a synchronous fill");
    return e == hipSuccess ? fill(dst, pitch, value, width, count, height, NULL) : e;
}

hipError_t hipMemset(void *dst, int value, size_t n)
{
    return fill_now(dst, 0, (uint32_t)value & 0xff, 1, n, 1);
}

hipError_t hipMemsetAsync(void *dst, int value, size_t n, hipStream_t stream)
{
    return fill(dst, 0, (uint32_t)value & 0xff, 1, n, 1, stream);
}

hipError_t hipMemsetD8(hipDeviceptr_t dst, unsigned char value, size_t n)
{
    return fill_now(dst, 0, value, 1, n, 1);
}

hipError_t hipMemsetD8Async(hipDeviceptr_t dst, unsigned char value, size_t n, hipStream_t stream)
{
    return fill(dst, 0, value, 1, n, 1, stream);
}

hipError_t hipMemsetD16(hipDeviceptr_t dst, unsigned short value, size_t n)
{
    return fill_now(dst, 0, value, 2, n, 1);
}

hipError_t hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value, size_t n, hipStream_t stream)
{
    return fill(dst, 0, value, 2, n, 1, stream);
}

hipError_t hipMemsetD32(hipDeviceptr_t dst, int value, size_t n)
{
    return fill_now(dst, 0, (uint32_t)value, 4, n, 1);
}

hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t n, hipStream_t stream)
{
    return fill(dst, 0, (uint32_t)value, 4, n, 1, stream);
}

hipError_t hipMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height)
{
    return fill_now(dst, pitch, (uint32_t)value & 0xff, 1, width, height);
}

hipError_t hipMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height,
                            hipStream_t stream)
{
    return fill(dst, pitch, (uint32_t)value & 0xff, 1, width, height, stream);
}
