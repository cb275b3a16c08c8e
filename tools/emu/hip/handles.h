/*
 * Inside of the HIP stand-in: devices, handles, and what the files emu_hip_*.c share.
 *
 * Every operation is complete when its call returns; streams and events keep only the order that
 * several host threads need. Handles are checked against a list of live ones, so that a stale one
 * is an error and never a crash.
 */
#ifndef EMU_HIP_H
#define EMU_HIP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hip/hip_runtime_api.h>

#include "clock.h"
#include "code_object.h"
#include "memory_map.h"
#include "settings.h"
#include "wave.h"

struct emu_device {
    int index;
    struct emu_target target;
    char arch[64]; /* gcnArchName, a full target ID */
    const char *name;
    enum emu_family family;
    unsigned wave;      /* warpSize */
    unsigned units;     /* multiProcessorCount: compute units, on gfx11 work-group processors */
    unsigned registers; /* vector registers a SIMD has for one of 32 lanes (CDNA: 64) */
    unsigned clock_khz, memory_khz, bus_bits, l2_bytes;
    bool integrated;
    atomic_uint peers;                 /* devices whose memory this one may touch */
    atomic_uint_fast64_t instructions; /* emulated clock: wave-instructions so far */
    pthread_mutex_t order;             /* held while an operation of a blocking stream runs */
    struct ihipStream_t *null_stream;
};

/* Bytes of LDS that a workgroup may have. */
static inline int emu_device_lds(const struct emu_device *d)
{
    return (int)emu_lds_most(d->family);
}

/* Devices and settings from the environment; read once. hipSuccess, or why there is no device. */
hipError_t emu_hip_start(void);
int emu_hip_device_count(void);
/* NULL when out of range. */
struct emu_device *emu_hip_device(int index);
/* The calling thread's current device. */
struct emu_device *emu_hip_current(void);
/* hipErrorInvalidDevice when out of range. */
hipError_t emu_hip_set_current(int index);

/* Sets the calling thread's last error (not on success) and returns it. */
hipError_t emu_hip_result(hipError_t e);
/* The same, and keeps a text for emu_last_text(). */
hipError_t emu_hip_record(hipError_t e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a failure, which compilers and analysers then know of the result. */
#define emu_hip_fail(...) emu_hip_failed(emu_hip_record(__VA_ARGS__))

static inline hipError_t emu_hip_failed(hipError_t e)
{
    if (e == hipSuccess)
        __builtin_unreachable();
    return e;
}

/* Every entry point of the API begins with this. */
#define EMU_BEGIN()                                                                                \
    do {                                                                                           \
        hipError_t start_ = emu_hip_start();                                                       \
        if (start_ != hipSuccess)                                                                  \
            return emu_hip_failed(emu_hip_result(start_));                                         \
    } while (0)

enum emu_handle_kind {
    EMU_HANDLE_STREAM,
    EMU_HANDLE_EVENT,
    EMU_HANDLE_MODULE,
    EMU_HANDLE_FUNCTION,
    EMU_HANDLE_GRAPH,
    EMU_HANDLE_GRAPH_EXEC,
    EMU_HANDLE_NODE,
    EMU_HANDLE_USER_OBJECT
};

/* List of live handles. False when out of memory. */
bool emu_handle_add(const void *handle, enum emu_handle_kind kind);
bool emu_handle_live(const void *handle, enum emu_handle_kind kind);
/* False when it was not live: the caller that gets true owns the object. */
bool emu_handle_drop(const void *handle, enum emu_handle_kind kind);

/* Nodes of a graph under capture that what comes next has to wait for. */
struct emu_nodes {
    struct hipGraphNode **node;
    size_t count;
};

struct ihipStream_t {
    struct emu_device *device;
    unsigned flags;
    int priority;
    pthread_mutex_t own;         /* non-blocking streams have an order of their own */
    struct emu_capture *capture; /* that it takes part in, or NULL */
    struct emu_nodes last;       /* captured by it */
};

/* The stream behind a handle: NULL and hipStreamPerThread included. NULL when not live. */
struct ihipStream_t *emu_stream_get(hipStream_t stream);
/* Brackets an operation, so that the operations of one stream never overlap. */
void emu_stream_lock(struct ihipStream_t *s);
void emu_stream_unlock(struct ihipStream_t *s);

struct emu_module;

struct ihipModuleSymbol_t {
    struct emu_module *module;
    const struct emu_kernel_meta *meta;
    struct emu_kernel kernel;
    uint64_t serial;     /* no two functions of a process have the same */
    int max_dynamic_lds; /* hipFuncSetAttribute */
};

struct emu_module {
    struct emu_device *device;
    struct emu_object *object;
    struct emu_block *block; /* the mapped image */
    pthread_mutex_t lock;    /* of functions */
    struct ihipModuleSymbol_t **functions;
    size_t nfunctions;
};

/* Loads for the current device; module is not registered as a handle. */
hipError_t emu_module_load(const void *image, size_t size, struct emu_module **out);
void emu_module_close(struct emu_module *m);
/* hipErrorNotFound when there is no such kernel. */
hipError_t emu_module_function(struct emu_module *m, const char *name,
                               struct ihipModuleSymbol_t **out);

/* The kernel of a compiled-in code object that a host-side handle stands for (fat_binary.c). */
hipError_t emu_fat_function(const void *host, struct ihipModuleSymbol_t **f);

/* A launch with its argument bytes, as a stream or a graph node holds it. */
struct emu_packet {
    struct ihipModuleSymbol_t *function;
    uint64_t serial; /* of the function */
    uint32_t grid[3], block[3], lds;
    uint8_t *kernarg; /* kernarg_size bytes */
    size_t kernarg_size;
};

/* Checks a launch and copies its arguments. free(p->kernarg) when done. */
hipError_t emu_packet_make(struct ihipModuleSymbol_t *f, const uint32_t grid[3],
                           const uint32_t block[3], uint32_t lds, void **params, void **extra,
                           struct emu_packet *p);
/* Runs it on the function's device. A fault is printed and gives hipErrorLaunchFailure. */
hipError_t emu_packet_run(const struct emu_packet *p);
/*
 * What a call may do while streams capture (captures.c). Each returns hipSuccess, or the
 * error to return, having spoiled the captures that the call reaches: emu_capture_unsafe: calls
 * such as hipMalloc, forbidden unless the thread's mode is relaxed. emu_capture_none: calls that
 * wait for everything, forbidden while any stream captures. emu_capture_wait: calls that wait for
 * one stream.
 */
hipError_t emu_capture_unsafe(const char *what);
hipError_t emu_capture_none(hipError_t error, const char *what);
hipError_t emu_capture_wait(struct ihipStream_t *s, const char *what);

/* Whether a stream captures that the null stream would wait for. */
bool emu_capture_blocking(void);

/* Captures have numbers, 0 for none; an event may outlive the one it was recorded in. */
uint64_t emu_capture_id(const struct ihipStream_t *s);
bool emu_capture_active(uint64_t id);
void emu_capture_invalidate(uint64_t id);
hipStreamCaptureStatus emu_capture_status(const struct ihipStream_t *s);
/* The graph that the stream's operations go into; NULL if it does not capture. */
hipError_t emu_capture_graph(const struct ihipStream_t *s, struct ihipGraph **graph);
/* Draws a stream into a capture. */
hipError_t emu_capture_join(uint64_t id, struct ihipStream_t *s);
/* Takes a stream that goes away out of its capture, which ends with its first stream. */
void emu_capture_leave(struct ihipStream_t *s);

/*
 * Controls of the emulator itself, exported for tests and tools; others stand in clock.h,
 * settings.h and watched_run.h. emu_last_text: what the last failing call of this thread had to
 * say; never NULL. emu_instructions: wave-instructions executed by this process.
 */
EMU_EXPORT const char *emu_last_text(void);
EMU_EXPORT uint64_t emu_instructions(void);

#endif
