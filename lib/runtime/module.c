/* Devices and loaded kernels of a context: the library's mutable state, under one lock. */
#include "module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "bundle.h"
#include "module_image.h"
#include "variable.h"
#include "lock.h"

enum { MAX_DEVICES = 128 }; /* twice the most that one host is sold with (8 cards in 8 parts) */

/* Workgroups of a run of heads, for each compute unit: about as many as run at once. 54 causal
 * launches of 1,024 to 8,192 rows take 2.3 % less by the clock than with 4, on average. */
enum { RUN = 8 };

struct aothip_context {
    struct module_options options;
    int watched;      /* whether launches are logged or captured */
    struct lock lock; /* guards every write to what follows */
    struct module_image *images;
    struct hip hip;
    _Atomic int hip_found;
    _Atomic(struct module_device *) devices[MAX_DEVICES];
};

/* Bytes, with K, M or G behind the number for 2^10, 2^20, 2^30 of them. */
static enum aothip_status read_limit(size_t *limit, struct status *why)
{
    static const char units[] = "KMG";
    const char *text = variable_get("AOTHIP_CODE_LIMIT"), *unit;
    unsigned long long number;
    char *end;
    int shift = 0;
    *limit = 0;
    if (!text || !*text)
        return AOTHIP_OK;
    errno = 0;
    number = strtoull(text, &end, 10);
    unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        shift = 10 * (int)(unit - units + 1);
        end++;
    }
    if (errno || *end || *text < '0' || *text > '9' || number > SIZE_MAX >> shift)
        return status_set(why, AOTHIP_E_ARGUMENT,
                          "AOTHIP_CODE_LIMIT is \"%.64s\", not a number of bytes such as 64M",
                          text);
    *limit = (size_t)number << shift;
    return AOTHIP_OK;
}

static enum aothip_status read_atomics(int *atomics, struct status *why)
{
    const char *text = variable_get("AOTHIP_ATOMICS");
    *atomics = -1;
    if (!text || !*text)
        return AOTHIP_OK;
    if ((*text != '0' && *text != '1') || text[1])
        return status_set(why, AOTHIP_E_ARGUMENT, "AOTHIP_ATOMICS is \"%.64s\", not 0 or 1", text);
    *atomics = *text - '0';
    return AOTHIP_OK;
}

/* The value of a variable, which the caller frees; NULL where it is unset or empty. */
static enum aothip_status copy_variable(const char *name, char **copy, struct status *why)
{
    const char *value = variable_get(name);
    *copy = value && *value ? strdup(value) : NULL;
    if (value && *value && !*copy)
        return status_set(why, AOTHIP_E_MEMORY, "no memory for %s", name);
    return AOTHIP_OK;
}

enum aothip_status module_open(const char *directory, struct aothip_context **context,
                               struct status *why)
{
    struct aothip_context *made = calloc(1, sizeof(*made));
    *context = NULL;
    if (!made)
        return status_set(why, AOTHIP_E_MEMORY, "no memory for a context");
    made->options.log = status_log_level();
    if (lock_make(&made->lock)) {
        free(made);
        return status_set(why, AOTHIP_E_MEMORY, "no memory for a lock");
    }
    if (copy_variable("AOTHIP_CAPTURE", &made->options.capture, why) ||
        copy_variable("AOTHIP_TUNE", &made->options.tune, why) ||
        read_limit(&made->options.code_limit, why) || read_atomics(&made->options.atomics, why) ||
        store_find_directory(directory, &made->options.directory, why)) {
        module_close(made);
        return why->code;
    }
    made->watched = made->options.capture || made->options.log >= STATUS_LOG_ALL;
    *context = made;
    return AOTHIP_OK;
}

const char *module_capture(const struct aothip_context *context)
{
    return context->options.capture;
}

int module_atomics(const struct aothip_context *context)
{
    return context->options.atomics;
}

const char *module_directory(const struct aothip_context *context)
{
    return context->options.directory;
}

enum status_log module_log(const struct aothip_context *context)
{
    return context->options.log;
}

enum aothip_status module_hip(struct aothip_context *context, const struct hip **hip,
                              struct status *why)
{
    *hip = &context->hip;
    if (atomic_load_explicit(&context->hip_found, memory_order_acquire))
        return AOTHIP_OK;
    lock_take(&context->lock);
    if (!atomic_load_explicit(&context->hip_found, memory_order_relaxed) &&
        !hip_open(&context->hip, why)) {
        if (context->options.log >= STATUS_LOG_ALL)
            status_print("HIP runtime: %s", context->hip.origin);
        atomic_store_explicit(&context->hip_found, 1, memory_order_release);
    }
    lock_release(&context->lock);
    return why->code;
}

static inline enum aothip_status stream_device(const struct hip *hip, hipStream_t stream,
                                               int *number, struct status *why)
{
    /* NULL, hipStreamLegacy (1) and hipStreamPerThread (2) are names for streams of the current
     * device. */
    int named = (uintptr_t)stream <= 2;
    hipError_t error;
    if (named || !hip->stream_get_device) {
        error = hip->get_device(number);
        if (error != hipSuccess)
            return hip_fail_for(hip, "current device", "hipGetDevice", error, why);
    } else {
        error = hip->stream_get_device(stream, number);
        if (error != hipSuccess)
            return hip_fail_for(hip, "stream", "hipStreamGetDevice", error, why);
    }
    return AOTHIP_OK;
}

enum aothip_status module_stream_device(const struct hip *hip, hipStream_t stream, int *number,
                                        struct status *why)
{
    return stream_device(hip, stream, number, why);
}

enum aothip_status module_describe(const struct hip *hip, int number, struct module_info *info,
                                   struct status *why)
{
    int count = 0;
    hipError_t error = hip->get_device_count(&count);
    if (error != hipSuccess)
        return hip_fail_for(hip, "devices", "hipGetDeviceCount", error, why);
    if (count > MAX_DEVICES)
        count = MAX_DEVICES;
    if (count < 1)
        return hip_fail_no_gpu(hip, why);
    if (number < 0 || number >= count)
        return status_set(why, AOTHIP_E_NO_DEVICE, "device %d: HIP has %d", number, count);
    if (hip_device_properties(hip, number, &info->properties, why))
        return why->code;
    if (target_parse(info->properties.target, strlen(info->properties.target), &info->target))
        return status_set(why, AOTHIP_E_NO_HIP, "device %d: \"%s\" is no target ID", number,
                          info->properties.target);
    return AOTHIP_OK;
}

/* The images of `gpu`, read on first use; NULL after a failure. Under the lock. */
static const struct module_image *find_images(struct aothip_context *context, const char *gpu,
                                              struct status *why)
{
    struct module_image *image = context->images;
    while (image && strcmp(image->store.gpu, gpu) != 0)
        image = image->next;
    if (image)
        return image;
    image = module_make_image(&context->options, gpu, why);
    if (!image)
        return NULL;
    if (context->options.log >= STATUS_LOG_ALL)
        status_print("%s: %u entries", image->store.path, image->store.header->entry_count);
    image->next = context->images;
    context->images = image;
    return image;
}

/* Sequences go together, at most, where their heads are not in runs; on a GPU that has no runs up
 * to one of them: beyond, more launches lose by it than win. */
static struct args_order order_of(const struct module_device *device)
{
    const enum target_deal deal = target_deal(device->target.gpu);
    const uint32_t run = RUN * (uint32_t)device->compute_units;
    switch (deal) {
    case TARGET_DEAL_ALL:
        return (struct args_order){.together = UINT64_MAX};
    case TARGET_DEAL_RUNS:
        return (struct args_order){.run = run, .together = ARGS_RUNS_MIN * (uint64_t)run};
    case TARGET_DEAL_WHOLE:
        break;
    }
    return (struct args_order){.together = run};
}

/* Under the lock. */
static enum aothip_status make_device(struct aothip_context *context, const struct hip *hip,
                                      int number, struct module_device **device, struct status *why)
{
    struct module_info info = {0};
    const struct module_image *image;
    struct module_device *made;
    uint32_t count;
    if (module_describe(hip, number, &info, why))
        return why->code;
    image = find_images(context, info.target.gpu, why);
    if (!image)
        return why->code;
    count = image->store.header->entry_count;
    made = calloc(1, sizeof(*made) + count * sizeof(made->kernels[0]));
    if (!made)
        return status_set(why, AOTHIP_E_MEMORY, "no memory for %u kernels of device %d", count,
                          number);
    made->number = number;
    made->target = info.target;
    made->limit = context->options.code_limit;
    made->compute_units = info.properties.compute_units > 0 ? info.properties.compute_units : 1;
    made->order = order_of(made);
    made->images = &image->store;
    made->index = image->index;
    atomic_store_explicit(&context->devices[number], made, memory_order_release);
    *device = made;
    return AOTHIP_OK;
}

enum aothip_status module_device(struct aothip_context *context, const struct hip *hip, int number,
                                 struct module_device **device, struct status *why)
{
    if ((unsigned)number < MAX_DEVICES) {
        *device = atomic_load_explicit(&context->devices[number], memory_order_acquire);
        if (*device)
            return AOTHIP_OK;
    }
    lock_take(&context->lock);
    if ((unsigned)number < MAX_DEVICES)
        *device = atomic_load_explicit(&context->devices[number], memory_order_relaxed);
    else
        *device = NULL;
    if (!*device)
        make_device(context, hip, number, device, why);
    lock_release(&context->lock);
    return why->code;
}

/* Inflates the frame of entry `index` and finds the code for the device in it. */
static enum aothip_status find_code(const struct module_device *device, uint32_t index,
                                    uint8_t **bundle, struct bundle_code *code, struct status *why)
{
    const struct store *images = device->images;
    const struct format_entry *entry = &images->entries[index];
    const struct bundle_name name = {images->path, entry->symbol};
    enum aothip_status failed = store_inflate(images, index, bundle, why);
    if (failed)
        return failed;
    failed = bundle_find(*bundle, entry->bundle_size, &device->target, &name, code, why);
    if (failed) {
        free(*bundle);
        *bundle = NULL;
    }
    return failed;
}

/* The entry whose frame inflates soonest. */
static uint32_t smallest_entry(const struct store *images)
{
    uint32_t smallest = 0;
    for (uint32_t i = 1; i < images->header->entry_count; i++)
        if (images->entries[i].bundle_size < images->entries[smallest].bundle_size)
            smallest = i;
    return smallest;
}

enum aothip_status module_check(struct aothip_context *context, struct module_device *device,
                                struct status *why)
{
    const struct store *images = device->images;
    struct bundle_code code;
    uint8_t *bundle;
    if (atomic_load_explicit(&device->checked, memory_order_acquire))
        return AOTHIP_OK;
    lock_take(&context->lock);
    if (!store_check_frames(images, why) &&
        !find_code(device, smallest_entry(images), &bundle, &code, why)) {
        free(bundle);
        atomic_store_explicit(&device->checked, 1, memory_order_release);
    }
    lock_release(&context->lock);
    return why->code;
}

enum aothip_status module_enter(struct aothip_context *context, hipStream_t stream,
                                const struct hip **hip, struct module_device **device, int *watched,
                                struct status *why)
{
    int number;
    *device = NULL;
    *watched = context->watched;
    *hip = &context->hip;
    if (!atomic_load_explicit(&context->hip_found, memory_order_acquire) &&
        module_hip(context, hip, why))
        return why->code;
    if (stream_device(&context->hip, stream, &number, why))
        return why->code;
    if ((unsigned)number < MAX_DEVICES)
        *device = atomic_load_explicit(&context->devices[number], memory_order_acquire);
    return *device ? AOTHIP_OK : module_device(context, &context->hip, number, device, why);
}

/* Hands `code` to the driver of the current device; fills `kernel` but for its function. */
static enum aothip_status load_code(const struct hip *hip, const struct bundle_code *code,
                                    const char *symbol, struct module_kernel *kernel,
                                    hipFunction_t *function, struct status *why)
{
    void *copy = malloc(code->size);
    hipModule_t module = NULL;
    hipError_t error;
    if (!copy)
        return status_set(why, AOTHIP_E_MEMORY, "kernel %s: no memory for %zu bytes of code",
                          symbol, code->size);
    memcpy(copy, code->bytes, code->size);
    error = hip->module_load_data(&module, copy);
    if (error != hipSuccess) {
        free(copy);
        return hip_fail_for(hip, symbol, "hipModuleLoadData", error, why);
    }
    error = hip->module_get_function(function, module, symbol);
    if (error == hipSuccess && !*function)
        error = hipErrorNotFound;
    if (error != hipSuccess) {
        hip_fail_for(hip, symbol, "hipModuleGetFunction", error, why);
        hip->module_unload(module);
        free(copy);
        return why->code;
    }
    kernel->module = module;
    kernel->handle = *function;
    kernel->code = copy;
    kernel->code_size = code->size;
    return AOTHIP_OK;
}

/* Under the lock. */
static enum aothip_status load_kernel(struct aothip_context *context, const struct hip *hip,
                                      struct module_device *device, uint32_t index, int captured,
                                      hipFunction_t *function, struct status *why)
{
    const char *symbol = device->images->entries[index].symbol;
    struct module_kernel *kernel = &device->kernels[index];
    struct bundle_code code;
    uint8_t *bundle;
    int before;
    if (find_code(device, index, &bundle, &code, why))
        return why->code;
    if (!hip_enter_device(hip, device->number, &before, why)) {
        const int unloaded =
            device->limit && !captured ? module_make_room(hip, device, code.size) : 0;
        if (unloaded && context->options.log >= STATUS_LOG_ALL)
            status_print("device %d: unloaded %d kernels, %zu bytes stay", device->number, unloaded,
                         device->loaded);
        if (!load_code(hip, &code, symbol, kernel, function, why)) {
            device->loaded += code.size;
            atomic_store_explicit(&kernel->function, *function, memory_order_release);
            if (context->options.log >= STATUS_LOG_ALL)
                status_print("device %d: loaded %s, %zu bytes", device->number, symbol, code.size);
        }
        hip_leave_device(hip, device->number, before, why);
    }
    free(bundle);
    return why->code;
}

enum aothip_status module_load(struct aothip_context *context, const struct hip *hip,
                               struct module_device *device, uint32_t index, int captured,
                               hipFunction_t *function, struct status *why)
{
    lock_take(&context->lock);
    *function = atomic_load_explicit(&device->kernels[index].function, memory_order_relaxed);
    if (!*function)
        load_kernel(context, hip, device, index, captured, function, why);
    lock_release(&context->lock);
    return why->code;
}

void module_note_launch(struct aothip_context *context, const struct hip *hip,
                        struct module_device *device, hipStream_t stream)
{
    hipEvent_t event = NULL;
    int found = 0;
    for (int i = 0; i < MODULE_STREAMS && !found; i++) {
        event = atomic_load_explicit(&device->streams[i].event, memory_order_acquire);
        found = !event || device->streams[i].stream == stream;
    }
    if (!found || !event) {
        lock_take(&context->lock);
        event = module_add_stream(hip, device, stream);
        lock_release(&context->lock);
    }
    if (!event || hip->event_record(event, stream) != hipSuccess)
        atomic_store(&device->unknown, 1);
}

int module_has_room(struct aothip_context *context, const struct module_device *device,
                    uint32_t index)
{
    size_t after;
    lock_take(&context->lock);
    after = device->loaded;
    if (!device->kernels[index].module)
        after += device->images->entries[index].bundle_size; /* somewhat more than its code */
    lock_release(&context->lock);
    return after <= device->limit;
}

/* Unloads what is loaded on a device and frees it; failures can only be logged. */
static void unload_device(struct aothip_context *context, struct module_device *device)
{
    const struct hip *hip = &context->hip;
    struct status why;
    int before, entered = 0;
    status_clear(&why);
    for (uint32_t i = 0; i < device->images->header->entry_count; i++) {
        struct module_kernel *kernel = &device->kernels[i];
        hipError_t error;
        if (!kernel->module)
            continue;
        if (!entered)
            entered = !hip_enter_device(hip, device->number, &before, &why);
        error = module_unload_quietly(hip, kernel->module);
        if (error != hipSuccess)
            hip_fail_for(hip, device->images->entries[i].symbol, "hipModuleUnload", error, &why);
        free(kernel->code);
    }
    for (int i = 0; i < MODULE_STREAMS && device->streams[i].event; i++)
        (void)hip->event_destroy(device->streams[i].event);
    if (entered)
        hip_leave_device(hip, device->number, before, &why);
    if (why.code && context->options.log >= STATUS_LOG_FAILURES)
        status_print("closing device %d: %s", device->number, why.text);
    free(device);
}

void module_close(struct aothip_context *context)
{
    if (!context)
        return;
    for (int i = 0; i < MAX_DEVICES; i++) {
        struct module_device *device =
            atomic_load_explicit(&context->devices[i], memory_order_acquire);
        if (device)
            unload_device(context, device);
    }
    while (context->images) {
        struct module_image *image = context->images;
        context->images = image->next;
        module_free_image(image);
    }
    lock_destroy(&context->lock);
    free(context->options.capture);
    free(context->options.tune);
    free(context->options.directory);
    free(context);
}
