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

/* The functions that scratch memory needs; those that a runtime lacks are null. */
struct memory_functions {
    hipError_t (*malloc_async)(void **, std::size_t, hipStream_t);
    hipError_t (*free_async)(void *, hipStream_t);
    hipError_t (*malloc_now)(void **, std::size_t);
    hipError_t (*free_now)(void *);
    hipError_t (*last_error)();

    template <typename Function> static void find(Function *function, const char *name)
    {
        *function = reinterpret_cast<Function>(hip_function(name));
    }
    memory_functions()
    {
        find(&malloc_async, "hipMallocAsync");
        find(&free_async, "hipFreeAsync");
        find(&malloc_now, "hipMalloc");
        find(&free_now, "hipFree");
        find(&last_error, "hipGetLastError");
    }
};

static const memory_functions &memory()
{
    static const memory_functions found;
    return found;
}

bool in_capture(hipStream_t stream)
{
    static const auto ask = reinterpret_cast<hipError_t (*)(hipStream_t, hipStreamCaptureStatus *)>(
        hip_function("hipStreamIsCapturing"));
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    return ask && (ask(stream, &status) != hipSuccess || status != hipStreamCaptureStatusNone);
}

scratch::scratch(hipStream_t stream) : stream_(stream)
{
}

bool scratch::allocate_pooled(std::size_t bytes)
{
    const memory_functions &hip = memory();
    if (!hip.malloc_async || !hip.free_async)
        return false;
    pooled_ = hip.malloc_async(&data_, bytes, stream_) == hipSuccess;
    if (pooled_)
        return true;
    /* HIP remembers that failure, and whoever asks it next would take it for its own */
    if (hip.last_error)
        (void)hip.last_error();
    data_ = nullptr;
    return false;
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
    /* nobody is left to tell of a failure; what was launched before is not affected */
    if (pooled_)
        (void)memory().free_async(data_, stream_);
    else
        (void)memory().free_now(data_);
}

} // namespace shim
