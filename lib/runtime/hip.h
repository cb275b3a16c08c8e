/*
 * The HIP runtime as a table of function pointers, found at run time and never linked.
 *
 * HIP_FUNCTIONS is the one list of HIP functions that this project calls: the library takes its
 * table from it, and the emulator must export every name in it. Only types and constants come
 * from the HIP headers.
 */
#ifndef AOTHIP_HIP_H
#define AOTHIP_HIP_H

#include <stddef.h>
#include <stdint.h>

#include <hip/hip_runtime_api.h>

#include "aothip/aothip.h"

struct status;

/*
 * HIP_FUNCTION(need, field, "symbol", (parameters)); all return hipError_t. What a missing one
 * means: CORE, the library cannot work; MAYBE, the library has another way, given beside it; TOOL,
 * only programs that manage memory and time call it, and hip_require_tools() looks for it.
 *
 * Symbols are quoted because HIP headers redefine some of the names as macros.
 */
/* clang-format off */
#define HIP_FUNCTIONS(HIP_FUNCTION)                                                                \
    HIP_FUNCTION(CORE,  get_device_count,     "hipGetDeviceCount", (int *count))                   \
    HIP_FUNCTION(CORE,  get_device,           "hipGetDevice", (int *device))                       \
    HIP_FUNCTION(CORE,  set_device,           "hipSetDevice", (int device))                        \
    /* without it (ROCm < 5.6) a stream is taken to belong to the current device */                \
    HIP_FUNCTION(MAYBE, stream_get_device,    "hipStreamGetDevice",                                \
                 (hipStream_t stream, hipDevice_t *device))                                        \
    /* one of the two; they fill different structs, see hip_device_properties() */                 \
    HIP_FUNCTION(MAYBE, get_properties_r0600, "hipGetDevicePropertiesR0600",                       \
                 (void *properties, int device))                                                   \
    HIP_FUNCTION(MAYBE, get_properties_old,   "hipGetDeviceProperties",                            \
                 (void *properties, int device))                                                   \
    HIP_FUNCTION(CORE,  module_load_data,     "hipModuleLoadData",                                 \
                 (hipModule_t *module, const void *image))                                         \
    HIP_FUNCTION(CORE,  module_unload,        "hipModuleUnload", (hipModule_t module))             \
    HIP_FUNCTION(CORE,  module_get_function,  "hipModuleGetFunction",                              \
                 (hipFunction_t *function, hipModule_t module, const char *name))                  \
    HIP_FUNCTION(CORE,  module_launch_kernel, "hipModuleLaunchKernel",                             \
                 (hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,       \
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds_bytes,        \
                  hipStream_t stream, void **parameters, void **extra))                            \
    /* without it no stream is taken to be captured; without both, and events, AOTHIP_CODE_LIMIT */ \
    /* unloads nothing */                                                                          \
    HIP_FUNCTION(MAYBE, stream_is_capturing,  "hipStreamIsCapturing",                              \
                 (hipStream_t stream, hipStreamCaptureStatus *status))                             \
    HIP_FUNCTION(MAYBE, exchange_capture_mode, "hipThreadExchangeStreamCaptureMode",               \
                 (hipStreamCaptureMode *mode))                                                     \
    HIP_FUNCTION(MAYBE, runtime_get_version,  "hipRuntimeGetVersion", (int *version))              \
    HIP_FUNCTION(TOOL,  malloc_device,        "hipMalloc", (void **memory, size_t bytes))          \
    HIP_FUNCTION(TOOL,  free_device,          "hipFree", (void *memory))                           \
    HIP_FUNCTION(TOOL,  copy,                 "hipMemcpy",                                         \
                 (void *to, const void *from, size_t bytes, hipMemcpyKind kind))                   \
    HIP_FUNCTION(TOOL,  copy_async,           "hipMemcpyAsync",                                    \
                 (void *to, const void *from, size_t bytes, hipMemcpyKind kind,                    \
                  hipStream_t stream))                                                             \
    HIP_FUNCTION(TOOL,  fill,                 "hipMemset", (void *to, int byte, size_t bytes))     \
    HIP_FUNCTION(TOOL,  device_synchronize,   "hipDeviceSynchronize", (void))                      \
    HIP_FUNCTION(TOOL,  stream_create,        "hipStreamCreate", (hipStream_t *stream))            \
    HIP_FUNCTION(TOOL,  stream_destroy,       "hipStreamDestroy", (hipStream_t stream))            \
    HIP_FUNCTION(TOOL,  stream_synchronize,   "hipStreamSynchronize", (hipStream_t stream))        \
    HIP_FUNCTION(TOOL,  event_create,         "hipEventCreate", (hipEvent_t *event))               \
    HIP_FUNCTION(TOOL,  event_destroy,        "hipEventDestroy", (hipEvent_t event))               \
    HIP_FUNCTION(TOOL,  event_record,         "hipEventRecord",                                    \
                 (hipEvent_t event, hipStream_t stream))                                           \
    HIP_FUNCTION(TOOL,  event_synchronize,    "hipEventSynchronize", (hipEvent_t event))           \
    HIP_FUNCTION(TOOL,  event_elapsed,        "hipEventElapsedTime",                               \
                 (float *milliseconds, hipEvent_t from, hipEvent_t to))
/* clang-format on */

struct hip {
#define HIP_FIELD(need, field, symbol, parameters) hipError_t(*field) parameters;
    HIP_FUNCTIONS(HIP_FIELD)
#undef HIP_FIELD
    /* hipGetErrorName, the only one that returns text; NULL where the runtime lacks it */
    const char *(*error_name)(hipError_t error);
    char origin[256]; /* where the runtime came from: a file's name, or "this process" */
    void *handle;     /* of loader_open() */
};

/*
 * Finds a runtime and fills the table. In this order: the file named by AOTHIP_HIP_LIBRARY, if that
 * is set and not empty (and then nothing else); a runtime already in the process, since streams are
 * pointers into the runtime that made them; libamdhip64.so.7, .6, .5 from the loader's path.
 * A second runtime is never loaded beside one that is in the process, nor one of two guessed at.
 * A runtime once opened is never closed: it has threads and exit handlers of its own.
 * Errors: NO_HIP, MEMORY.
 */
enum aothip_status hip_open(struct hip *hip, struct status *why);

/* The first half of hip_open(): fills origin and handle alone. */
enum aothip_status hip_find(struct hip *hip, struct status *why);

/* The file that the runtime's functions are in; lives as long as the runtime. */
const char *hip_file(const struct hip *hip);

/* Any function of the runtime, or NULL where it lacks it. */
void *hip_function(const struct hip *hip, const char *symbol);

/* Checks that all TOOL functions are there. Errors: NO_HIP. */
enum aothip_status hip_require_tools(const struct hip *hip, struct status *why);

/*
 * Makes the calling thread's mode towards captured streams relaxed, in which most calls leave other
 * streams' captures alone, and notes in *before what it was; 0 where the runtime cannot.
 */
int hip_relax(const struct hip *hip, hipStreamCaptureMode *before);
void hip_restore_mode(const struct hip *hip, hipStreamCaptureMode before);

/* The part of the device properties that this project reads. */
struct hip_device_properties {
    char name[256];        /* "AMD Instinct MI300X" */
    char target[256];      /* gcnArchName, "gfx942:sramecc+:xnack-" */
    uint64_t memory_bytes; /* totalGlobalMem */
    int compute_units;     /* multiProcessorCount */
};

/* Errors: HIP, NO_HIP (neither of the two functions is there or the layout is unknown). */
enum aothip_status hip_device_properties(const struct hip *hip, int device,
                                         struct hip_device_properties *properties,
                                         struct status *why);

/* Makes device `number` current and notes in *before what was. Errors: HIP. */
enum aothip_status hip_enter_device(const struct hip *hip, int number, int *before,
                                    struct status *why);

/* Makes `before` current again. Errors: HIP. */
enum aothip_status hip_leave_device(const struct hip *hip, int number, int before,
                                    struct status *why);

/* Records that the runtime finds no GPU: AOTHIP_E_NO_DEVICE. */
enum aothip_status hip_fail_no_gpu(const struct hip *hip, struct status *why);

/*
 * Records that HIP function `symbol` returned `error`. Returns AOTHIP_E_HIP, or AOTHIP_E_NO_DEVICE
 * where HIP says that there is no GPU, and then the text is that of hip_fail_no_gpu().
 */
enum aothip_status hip_fail(const struct hip *hip, const char *symbol, hipError_t error,
                            struct status *why);

/* The same with what the call was about in front: "device 2", a kernel's name. */
enum aothip_status hip_fail_for(const struct hip *hip, const char *subject, const char *symbol,
                                hipError_t error, struct status *why);

#endif
