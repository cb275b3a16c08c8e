/*
 * A context: the HIP runtime, the devices met so far, and the kernels loaded on each. All mutable
 * state and the only lock of the library. A kernel that is loaded is found with atomic loads alone.
 */
#ifndef AOTHIP_MODULE_H
#define AOTHIP_MODULE_H

#include <stdatomic.h>
#include <stdint.h>

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
    hipFunction_t handle;   /* what `function` is when loaded */
    hipModule_t module;
    void *code; /* the code object; runtimes and debuggers may refer to it until it is unloaded */
    size_t code_size;
};

/* A device with its images. Immutable but for the atomics and `loaded`. */
struct module_device {
    int number; /* HIP's */
    int compute_units;
    struct target target;
    const struct store *images;
    const struct select_index *index; /* of the images' entries */
    size_t limit;                     /* most bytes of code to keep loaded; 0: no limit */
    size_t loaded;                    /* bytes of code that are; under the lock */
    _Atomic uint64_t clock;           /* counts uses of kernels; with a limit only */
    _Atomic int checked;              /* the frames were found whole, and code to fit */
    struct module_kernel kernels[];   /* one for each entry of the images */
};

/* What HIP says of a device, with its target parsed. */
struct module_info {
    struct target target;
    struct hip_device_properties properties;
};

/*
 * `directory` is as in aothip_open(). Errors: NO_IMAGES, MEMORY.
 */
enum aothip_status module_open(const char *directory, struct aothip_context **context,
                               struct status *why);

/* Unloads and frees everything; NULL is allowed. */
void module_close(struct aothip_context *context);

const char *module_directory(const struct aothip_context *context);
enum status_log module_log(const struct aothip_context *context);

/* The directory for captures of launches that AOTHIP_CAPTURE names; NULL where it is not set. */
const char *module_capture(const struct aothip_context *context);

/* The HIP runtime, found on the first call. Errors: NO_HIP. */
enum aothip_status module_hip(struct aothip_context *context, const struct hip **hip,
                              struct status *why);

/* The device that work on `stream` runs on; one HIP query. Errors: HIP, NO_DEVICE. */
enum aothip_status module_stream_device(const struct hip *hip, hipStream_t stream, int *number,
                                        struct status *why);

/*
 * What a call begins with: the runtime and the device of `stream`, which is NULL after a failure.
 * *watched is 1 if launches are to be logged or captured. Errors: those of module_hip(),
 * module_stream_device() and module_device().
 */
enum aothip_status module_enter(struct aothip_context *context, hipStream_t stream,
                                const struct hip **hip, struct module_device **device, int *watched,
                                struct status *why);

/* Asks HIP about device `number`. Errors: HIP, NO_HIP, NO_DEVICE. */
enum aothip_status module_describe(const struct hip *hip, int number, struct module_info *info,
                                   struct status *why);

/*
 * The device with its images, which are mapped on the first call and live as long as the context.
 * Errors: those of module_describe() and store_open(), MEMORY.
 */
enum aothip_status module_device(struct aothip_context *context, const struct hip *hip, int number,
                                 struct module_device **device, struct status *why);

/*
 * Checks that the frames are whole and hold code for the device; once. One is inflated to see that:
 * all frames of an image are for the same targets, and each is checked again when it is loaded.
 * Errors: of the store.
 */
enum aothip_status module_check(struct aothip_context *context, struct module_device *device,
                                struct status *why);

/*
 * The kernel of entry `index` on `device`, loaded on the first call. A load makes the device
 * current for its duration only. Errors: FORMAT, CHECKSUM, TARGET, HIP, MEMORY.
 */
enum aothip_status module_load(struct aothip_context *context, const struct hip *hip,
                               struct module_device *device, uint32_t index,
                               hipFunction_t *function, struct status *why);

/*
 * The same for a kernel on a device with a limit: it stays loaded until module_unpin(), which is to
 * follow its launch. Nothing is to be undone after a failure.
 */
enum aothip_status module_pin(struct aothip_context *context, const struct hip *hip,
                              struct module_device *device, uint32_t index, hipFunction_t *function,
                              struct status *why);
void module_unpin(struct module_device *device, uint32_t index);

/* Whether the kernel of entry `index` is loaded, or fits the limit beside all that is. */
int module_has_room(struct aothip_context *context, const struct module_device *device,
                    uint32_t index);

/*
 * Unloads kernels that nobody uses, the longest unused first, until `wanted` bytes more keep within
 * the limit or none is left; waits for the device, which must be current, before it does. Under the
 * lock. A device that cannot be waited for (one of its streams is being captured) keeps what it has
 * and exceeds the limit. Returns how many kernels were unloaded.
 */
int module_make_room(const struct hip *hip, struct module_device *device, size_t wanted);

/* module_load(), or module_pin(), for a kernel that may be loaded: then one atomic load. */
static inline enum aothip_status module_function(struct aothip_context *context,
                                                 const struct hip *hip,
                                                 struct module_device *device, uint32_t index,
                                                 hipFunction_t *function, struct status *why)
{
    if (device->limit)
        return module_pin(context, hip, device, index, function, why);
    *function = atomic_load_explicit(&device->kernels[index].function, memory_order_acquire);
    return *function ? AOTHIP_OK : module_load(context, hip, device, index, function, why);
}

#endif
