/* Keeps the code loaded on a device within a limit, without a lock on the way to a launch. */
#include "module.h"

#include <stdlib.h>

/*
 * A call counts itself as a user before it looks whether the kernel is loaded; who unloads hides
 * the kernel before it looks for users. Both orders being sequentially consistent, at least one of
 * the two sees the other: a kernel that a call has found is never unloaded before its launch.
 */
enum aothip_status module_pin(struct aothip_context *context, const struct hip *hip,
                              struct module_device *device, uint32_t index, hipFunction_t *function,
                              struct status *why)
{
    struct module_kernel *kernel = &device->kernels[index];
    atomic_fetch_add(&kernel->users, 1);
    atomic_store_explicit(&kernel->used, atomic_fetch_add(&device->clock, 1) + 1,
                          memory_order_relaxed);
    *function = atomic_load(&kernel->function);
    if (!*function && module_load(context, hip, device, index, function, why))
        module_unpin(device, index);
    return why->code;
}

void module_unpin(struct module_device *device, uint32_t index)
{
    atomic_fetch_sub(&device->kernels[index].users, 1);
}

/* The loaded kernel that has been unused for longest, of those used after `after`, or NULL. */
static struct module_kernel *oldest(struct module_device *device, uint64_t after)
{
    struct module_kernel *found = NULL;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < device->images->header->entry_count; i++) {
        struct module_kernel *kernel = &device->kernels[i];
        const uint64_t used = atomic_load_explicit(&kernel->used, memory_order_relaxed);
        if (kernel->module && used > after && used < least) {
            found = kernel;
            least = used;
        }
    }
    return found;
}

/* Hides a kernel from calls that are to come, unless one is on its way to launch it. */
static int hide(struct module_kernel *kernel)
{
    atomic_store(&kernel->function, NULL);
    if (!atomic_load(&kernel->users))
        return 1;
    atomic_store(&kernel->function, kernel->handle);
    return 0;
}

static void unload(const struct hip *hip, struct module_device *device,
                   struct module_kernel *kernel)
{
    /* One that HIP cannot unload is lost to this context all the same. */
    (void)hip->module_unload(kernel->module);
    free(kernel->code);
    device->loaded -= kernel->code_size;
    kernel->module = NULL;
    kernel->code = NULL;
}

int module_make_room(const struct hip *hip, struct module_device *device, size_t wanted)
{
    const uint32_t count = device->images->header->entry_count;
    size_t stays = device->loaded;
    struct module_kernel *kernel;
    int hidden = 0, idle;
    if (!hip->device_synchronize) /* programs' own runtimes may lack it */
        return 0;
    for (uint64_t after = 0; stays + wanted > device->limit && (kernel = oldest(device, after));) {
        after = atomic_load_explicit(&kernel->used, memory_order_relaxed);
        if (hide(kernel)) {
            stays -= kernel->code_size;
            hidden++;
        }
    }
    idle = hidden && hip->device_synchronize() == hipSuccess;
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
