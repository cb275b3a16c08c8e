/* Names and texts of HIP error codes, and look-up of entry points by name. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "newer_calls.h"

#include <dlfcn.h>
#include <string.h>

/* X(name without "hipError", text) */
#define ERRORS(X)                                                                                  \
    X(InvalidValue, "invalid argument")                                                            \
    X(OutOfMemory, "out of memory")                                                                \
    X(NotInitialized, "initialization error")                                                      \
    X(Deinitialized, "driver shutting down")                                                       \
    X(ProfilerDisabled, "profiler disabled while using external profiling tool")                   \
    X(ProfilerNotInitialized, "profiler is not initialized")                                       \
    X(ProfilerAlreadyStarted, "profiler already started")                                          \
    X(ProfilerAlreadyStopped, "profiler already stopped")                                          \
    X(InvalidConfiguration, "invalid configuration argument")                                      \
    X(InvalidPitchValue, "invalid pitch argument")                                                 \
    X(InvalidSymbol, "invalid device symbol")                                                      \
    X(InvalidDevicePointer, "invalid device pointer")                                              \
    X(InvalidMemcpyDirection, "invalid copy direction for memcpy")                                 \
    X(InsufficientDriver, "driver version is insufficient for runtime version")                    \
    X(MissingConfiguration, "__global__ function call is not configured")                          \
    X(PriorLaunchFailure, "unspecified launch failure in prior launch")                            \
    X(InvalidDeviceFunction, "invalid device function")                                            \
    X(NoDevice, "no ROCm-capable device is detected")                                              \
    X(InvalidDevice, "invalid device ordinal")                                                     \
    X(InvalidImage, "device kernel image is invalid")                                              \
    X(InvalidContext, "invalid device context")                                                    \
    X(ContextAlreadyCurrent, "context is already current context")                                 \
    X(MapFailed, "mapping of buffer object failed")                                                \
    X(UnmapFailed, "unmapping of buffer object failed")                                            \
    X(ArrayIsMapped, "array is mapped")                                                            \
    X(AlreadyMapped, "resource already mapped")                                                    \
    X(NoBinaryForGpu, "no kernel image is available for execution on the device")                  \
    X(AlreadyAcquired, "resource already acquired")                                                \
    X(NotMapped, "resource not mapped")                                                            \
    X(NotMappedAsArray, "resource not mapped as array")                                            \
    X(NotMappedAsPointer, "resource not mapped as pointer")                                        \
    X(ECCNotCorrectable, "uncorrectable ECC error encountered")                                    \
    X(UnsupportedLimit, "limit is not supported on this architecture")                             \
    X(ContextAlreadyInUse, "exclusive-thread device already in use by a different thread")         \
    X(PeerAccessUnsupported, "peer access is not supported between these two devices")             \
    X(InvalidKernelFile, "invalid kernel file")                                                    \
    X(InvalidGraphicsContext, "invalid OpenGL or DirectX context")                                 \
    X(InvalidSource, "device kernel image is invalid")                                             \
    X(FileNotFound, "file not found")                                                              \
    X(SharedObjectSymbolNotFound, "shared object symbol not found")                                \
    X(SharedObjectInitFailed, "shared object initialization failed")                               \
    X(OperatingSystem, "OS call failed or operation not supported on this OS")                     \
    X(InvalidHandle, "invalid resource handle")                                                    \
    X(IllegalState, "the operation cannot be performed in the present state")                      \
    X(NotFound, "named symbol not found")                                                          \
    X(NotReady, "device not ready")                                                                \
    X(IllegalAddress, "an illegal memory access was encountered")                                  \
    X(LaunchOutOfResources, "too many resources requested for launch")                             \
    X(LaunchTimeOut, "the launch timed out and was terminated")                                    \
    X(PeerAccessAlreadyEnabled, "peer access is already enabled")                                  \
    X(PeerAccessNotEnabled, "peer access has not been enabled")                                    \
    X(SetOnActiveProcess, "cannot set while device is active in this process")                     \
    X(ContextIsDestroyed, "context is destroyed")                                                  \
    X(Assert, "device-side assert triggered")                                                      \
    X(HostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped")  \
    X(HostMemoryNotRegistered, "pointer does not correspond to a registered memory region")        \
    X(LaunchFailure, "unspecified launch failure")                                                 \
    X(CooperativeLaunchTooLarge, "too many blocks in cooperative launch")                          \
    X(NotSupported, "operation not supported")                                                     \
    X(StreamCaptureUnsupported, "operation not permitted when stream is capturing")                \
    X(StreamCaptureInvalidated, "operation failed due to a previous error during capture")         \
    X(StreamCaptureMerge, "operation would result in a merge of separate capture sequences")       \
    X(StreamCaptureUnmatched, "capture was not ended in the same stream as it began")              \
    X(StreamCaptureUnjoined, "capturing stream has unjoined work")                                 \
    X(StreamCaptureIsolation, "dependency created on uncaptured work in another stream")           \
    X(StreamCaptureImplicit, "operation would make the legacy stream depend on a capturing one")   \
    X(CapturedEvent, "operation not permitted on an event last recorded in a capturing stream")    \
    X(StreamCaptureWrongThread, "attempt to terminate a capture sequence from another thread")     \
    X(GraphExecUpdateFailure, "the graph update was not performed because it was not possible")    \
    X(Unknown, "unknown error")                                                                    \
    X(RuntimeMemory, "runtime memory call returned error")                                         \
    X(RuntimeOther, "runtime call other than memory returned error")

static const struct {
    hipError_t code;
    const char *name, *text;
} errors[] = {{hipSuccess, "hipSuccess", "no error"},
#define ROW(name, text) {hipError##name, "hipError" #name, text},
              ERRORS(ROW)
#undef ROW
};

const char *hipGetErrorName(hipError_t e)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == e)
            return errors[i].name;
    return "hipErrorUnknown";
}

const char *hipGetErrorString(hipError_t e)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == e)
            return errors[i].text;
    return "unknown error";
}

hipError_t hipDrvGetErrorName(hipError_t e, const char **text)
{
    if (!text)
        return emu_hip_fail(hipErrorInvalidValue, "result is null");
    *text = hipGetErrorName(e);
    return hipSuccess;
}

hipError_t hipDrvGetErrorString(hipError_t e, const char **text)
{
    if (!text)
        return emu_hip_fail(hipErrorInvalidValue, "result is null");
    *text = hipGetErrorString(e);
    return hipSuccess;
}

/* Looks in this library itself, whatever else the process has loaded. */
hipError_t hipGetProcAddress(const char *symbol, void **pfn, int version, uint64_t flags,
                             int *status)
{
    Dl_info self;
    void *library = NULL;
    (void)flags;
    if (!symbol || !pfn)
        return emu_hip_fail(hipErrorInvalidValue, "symbol or result is null");
    /* HIP 6 callers mean the new struct when they name the function without a suffix. */
    if (version >= 60000000 || (version >= 600 && version < 10000)) {
        if (strcmp(symbol, "hipGetDeviceProperties") == 0)
            symbol = "hipGetDevicePropertiesR0600";
    }
    if (dladdr((void *)(uintptr_t)hipGetProcAddress, &self))
        library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    *pfn = library ? dlsym(library, symbol) : NULL;
    if (library)
        dlclose(library);
    if (status)
        *status = *pfn ? 0 : 1;
    return *pfn ? hipSuccess : emu_hip_fail(hipErrorNotFound, "no function '%s'", symbol);
}
