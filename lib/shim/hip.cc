/* Functions of the HIP runtime beside those that the C library calls; memory for one call. */
#include "shim.h"

namespace shim
{

void *hip_function(const char *name)
{
    hipError_t error;
    aothip_context *const images = context(&error);
    return images ? aothip_hip_function(images, name) : nullptr;
}

/* The functions that memory needs; those that a runtime lacks are null. */
struct memory_functions {
    hipError_t (*malloc_async)(void **, std::size_t, hipStream_t);
    hipError_t (*free_async)(void *, hipStream_t);
    hipError_t (*malloc_now)(void **, std::size_t);
    hipError_t (*free_now)(void *);
    hipError_t (*exchange_mode)(hipStreamCaptureMode *);
    hipError_t (*last_error)();

    memory_functions()
    {
        find_hip(&malloc_async, "hipMallocAsync");
        find_hip(&free_async, "hipFreeAsync");
        find_hip(&malloc_now, "hipMalloc");
        find_hip(&free_now, "hipFree");
        find_hip(&exchange_mode, "hipThreadExchangeStreamCaptureMode");
        find_hip(&last_error, "hipGetLastError");
    }
};

static const memory_functions &memory()
{
    static const memory_functions found;
    return found;
}

bool succeeds(hipError_t error)
{
    if (error == hipSuccess)
        return true;
    if (memory().last_error)
        (void)memory().last_error();
    return false;
}

bool in_capture(hipStream_t stream)
{
    static const auto ask = reinterpret_cast<hipError_t (*)(hipStream_t, hipStreamCaptureStatus *)>(
        hip_function("hipStreamIsCapturing"));
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    return ask && (ask(stream, &status) != hipSuccess || status != hipStreamCaptureStatusNone);
}

relaxed::relaxed()
    : exchanged_(memory().exchange_mode && memory().exchange_mode(&mode_) == hipSuccess)
{
}

relaxed::~relaxed()
{
    if (exchanged_)
        (void)memory().exchange_mode(&mode_);
}

void *allocate_now(std::size_t bytes)
{
    void *data = nullptr;
    const relaxed mode;
    if (!mode || !memory().malloc_now || !memory().free_now)
        return nullptr;
    return succeeds(memory().malloc_now(&data, bytes)) ? data : nullptr;
}

void free_now(void *data)
{
    const relaxed mode;
    (void)succeeds(memory().free_now(data));
}

scratch::scratch(hipStream_t stream) : stream_(stream)
{
}

bool scratch::allocate_pooled(std::size_t bytes)
{
    const memory_functions &hip = memory();
    if (!hip.malloc_async || !hip.free_async)
        return false;
    pooled_ = succeeds(hip.malloc_async(&data_, bytes, stream_));
    if (!pooled_)
        data_ = nullptr;
    return pooled_;
}

hipError_t scratch::allocate(std::size_t bytes)
{
    const memory_functions &hip = memory();
    if (bytes == 0 || allocate_pooled(bytes))
        return hipSuccess;
    if (in_capture(stream_)) {
        aothip_set_error(AOTHIP_E_HIP, "delta: hipMallocAsync() failed, needed in a capture");
        return hipErrorStreamCaptureUnsupported;
    }
    if (!hip.malloc_now || !hip.free_now)
        return refuse(AOTHIP_E_NO_HIP, "delta: hipMalloc() was not found to allocate it");
    const relaxed mode; /* lest the capture of another stream be spoilt */
    const hipError_t error = hip.malloc_now(&data_, bytes);
    if (error != hipSuccess) {
        data_ = nullptr;
        aothip_set_error(AOTHIP_E_HIP, "delta: hipMalloc() failed");
    }
    return error;
}

scratch::~scratch()
{
    if (!data_)
        return;
    /* HIP refuses to take it back to the pool if another stream has begun to capture */
    if (!pooled_ || (!succeeds(memory().free_async(data_, stream_)) && memory().free_now))
        free_now(data_);
}

} // namespace shim
