/*
 * A context: the HIP runtime, the devices met so far, and the kernels loaded on each. All mutable
 * state and the only lock of the library. A kernel that is loaded is found with atomic loads alone.
 */
#ifndef AOTHIP_MODULE_H
#define AOTHIP_MODULE_H

#include "module_limit.h"

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

/* What AOTHIP_ATOMICS says of atomic sums: 0 or 1; -1 where it is not set. */
int module_atomics(const struct aothip_context *context);

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
 * The device with its images, which are read on the first call and live as long as the context.
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
 * current for its duration only. `captured` says that the caller's stream is being captured: then
 * nothing is unloaded. Errors: FORMAT, CHECKSUM, TARGET, HIP, MEMORY.
 */
enum aothip_status module_load(struct aothip_context *context, const struct hip *hip,
                               struct module_device *device, uint32_t index, int captured,
                               hipFunction_t *function, struct status *why);

/*
 * The same for a kernel on a device with a limit: it stays loaded until module_unpin(), which is to
 * follow its launch and module_note_launch(); for good if `captured`. Nothing is to be undone after
 * a failure.
 */
enum aothip_status module_pin(struct aothip_context *context, const struct hip *hip,
                              struct module_device *device, uint32_t index, int captured,
                              hipFunction_t *function, struct status *why);
void module_unpin(struct module_device *device, uint32_t index);

/* Remembers what was just launched on `stream`, which is not captured; with a limit only. */
void module_note_launch(struct aothip_context *context, const struct hip *hip,
                        struct module_device *device, hipStream_t stream);

/* Whether the kernel of entry `index` is loaded, or fits the limit beside all that is. */
int module_has_room(struct aothip_context *context, const struct module_device *device,
                    uint32_t index);

/* module_load(), or module_pin(), for a kernel that may be loaded: then one atomic load. */
static inline enum aothip_status module_function(struct aothip_context *context,
                                                 const struct hip *hip,
                                                 struct module_device *device, uint32_t index,
                                                 int captured, hipFunction_t *function,
                                                 struct status *why)
{
    if (device->limit)
        return module_pin(context, hip, device, index, captured, function, why);
    *function = atomic_load_explicit(&device->kernels[index].function, memory_order_acquire);
    return *function ? AOTHIP_OK : module_load(context, hip, device, index, 0, function, why);
}

#endif
