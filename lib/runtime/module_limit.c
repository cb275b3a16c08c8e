/* Keeps the code loaded on a device within a limit, without a lock on the way to a launch. */
#include "module_limit.h"

#include <stdlib.h>

/* The loaded kernel that has been unused for longest, of those used after `after`, or NULL. */
static struct module_kernel *oldest(struct module_device *device, uint64_t after)
{
    struct module_kernel *found = NULL;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < device->images->header->entry_count; i++) {
        struct module_kernel *kernel = &device->kernels[i];
        const uint64_t used = atomic_load_explicit(&kernel->used, memory_order_relaxed);
        if (kernel->module && !kernel->kept && used > after && used < least) {
            found = kernel;
            least = used;
        }
    }
    return found;
}

/* Hides a kernel from calls that are to come, unless one is on its way, or has put it in a graph. */
static int hide(struct module_kernel *kernel)
{
    atomic_store(&kernel->function, NULL);
    if (!atomic_load(&kernel->users) && !atomic_load(&kernel->kept))
        return 1;
    atomic_store(&kernel->function, kernel->handle);
    return 0;
}

static void unload(const struct hip *hip, struct module_device *device,
                   struct module_kernel *kernel)
{
    /* One that HIP cannot unload is lost to this context all the same. */
    (void)module_unload_quietly(hip, kernel->module);
    free(kernel->code);
    device->loaded -= kernel->code_size;
    kernel->module = NULL;
    kernel->code = NULL;
}

/* All that it takes to know when kernels are done; programs' own runtimes may lack some. */
static int can_wait(const struct hip *hip)
{
    return hip->stream_is_capturing && hip->exchange_capture_mode && hip->event_create &&
           hip->event_record && hip->event_synchronize && hip->event_destroy;
}

int module_is_captured(const struct hip *hip, hipStream_t stream)
{
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    return hip->stream_is_capturing &&
           (hip->stream_is_capturing(stream, &status) != hipSuccess ||
            status != hipStreamCaptureStatusNone);
}

hipEvent_t module_add_stream(const struct hip *hip, struct module_device *device,
                             hipStream_t stream)
{
    hipEvent_t made = NULL;
    struct status why;
    int before, i = 0;
    while (i < MODULE_STREAMS && device->streams[i].event && device->streams[i].stream != stream)
        i++;
    if (i == MODULE_STREAMS || !can_wait(hip))
        return NULL;
    if (device->streams[i].event)
        return device->streams[i].event;
    status_clear(&why);
    if (hip_enter_device(hip, device->number, &before, &why))
        return NULL;
    if (hip->event_create(&made) != hipSuccess)
        made = NULL;
    device->streams[i].stream = stream;
    atomic_store_explicit(&device->streams[i].event, made, memory_order_release);
    hip_leave_device(hip, device->number, before, &why);
    return made;
}

/*
 * While a stream is captured, ROCm takes hipModuleUnload for a mistake that makes the capture
 * void, unless the calling thread is in relaxed mode (clr, hip_internal.hpp,
 * CHECK_STREAM_CAPTURE_SUPPORTED). hipDeviceSynchronize is one in every mode (the same,
 * CHECK_SUPPORTED_DURING_CAPTURE, of 7.x), and hence not called here.
 */
hipError_t module_unload_quietly(const struct hip *hip, hipModule_t module)
{
    hipStreamCaptureMode before;
    const int relaxed = hip_relax(hip, &before);
    const hipError_t error = hip->module_unload(module);
    if (relaxed)
        hip_restore_mode(hip, before);
    return error;
}

/* Waits for all that was launched on the device; 0 if that is impossible. */
static int wait_for_launches(const struct hip *hip, struct module_device *device)
{
    hipStreamCaptureMode before;
    int done = !atomic_load(&device->unknown);
    if (!hip_relax(hip, &before))
        return 0;
    for (int i = 0; done && i < MODULE_STREAMS && device->streams[i].event; i++)
        done = hip->event_synchronize(device->streams[i].event) == hipSuccess;
    hip_restore_mode(hip, before);
    return done;
}

int module_make_room(const struct hip *hip, struct module_device *device, size_t wanted)
{
    const uint32_t count = device->images->header->entry_count;
    size_t stays = device->loaded;
    struct module_kernel *kernel;
    int hidden = 0, idle;
    /* the null stream is not captured, but cannot be asked while a blocking one is */
    if (stays + wanted <= device->limit || !can_wait(hip) || module_is_captured(hip, NULL))
        return 0;
    for (uint64_t after = 0; stays + wanted > device->limit && (kernel = oldest(device, after));) {
        after = atomic_load_explicit(&kernel->used, memory_order_relaxed);
        if (hide(kernel)) {
            stays -= kernel->code_size;
            hidden++;
        }
    }
    idle = hidden && wait_for_launches(hip, device);
    for (uint32_t i = 0; hidden && i < count; i++) {
        kernel = &device->kernels[i];
        if (!kernel->module || atomic_load(&kernel->function))
            continue;
        if (idle)
            unload(hip, device, kernel);
        else
            atomic_store(&kernel->function, kernel->handle);
    }
    return idle ? hidden : 0;
}
