/* A device of a context, and the kernels loaded on it. */
#ifndef AOTHIP_MODULE_DEVICE_H
#define AOTHIP_MODULE_DEVICE_H

#include <stdatomic.h>
#include <stdint.h>

#include "args.h"
#include "hip.h"
#include "select.h"
#include "status.h"
#include "store.h"
#include "target.h"

/* One kernel on one device. Only what is atomic is touched without the lock. */
struct module_kernel {
    _Atomic(hipFunction_t) function; /* NULL until loaded, and while it is being unloaded */
    _Atomic unsigned users; /* calls between finding and having launched it; with a limit only */
    _Atomic uint64_t used;  /* when it was last asked for, by the device's clock; likewise */
    _Atomic int kept;       /* a graph may refer to it: it stays until the context is closed */
    hipFunction_t handle;   /* what `function` is when loaded */
    hipModule_t module;
    void *code; /* the code object; runtimes and debuggers may refer to it until it is unloaded */
    size_t code_size;
};

/*
 * A stream that kernels were launched on, with a limit only, and an event behind the last of them.
 * The handle is compared and never used: the stream may be gone, the event is ours.
 */
struct module_stream {
    hipStream_t stream;
    _Atomic(hipEvent_t) event; /* NULL: the place is free, and so are those behind it */
};
enum { MODULE_STREAMS = 64 };

/* A device with its images. Immutable but for the atomics and `loaded`. */
struct module_device {
    int number; /* HIP's */
    int compute_units;
    struct args_order order;
    struct target target;
    const struct store *images;
    const struct select_index *index; /* of the images' entries */
    size_t limit;                     /* most bytes of code to keep loaded; 0: no limit */
    size_t loaded;                    /* bytes of code that are; under the lock */
    _Atomic uint64_t clock;           /* counts uses of kernels; with a limit only */
    _Atomic int checked;              /* the frames were found whole, and code to fit */
    _Atomic int unknown;              /* launches that no event stands for; with a limit only */
    struct module_stream streams[MODULE_STREAMS]; /* places are filled under the lock */
    struct module_kernel kernels[];   /* one for each entry of the images */
};

#endif
