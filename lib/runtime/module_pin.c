/* Keeps a kernel loaded between finding and having launched it, without a lock. */
#include "module.h"

/*
 * A call counts itself as a user before it looks whether the kernel is loaded; who unloads hides
 * the kernel before it looks for users and for a graph. Both orders being sequentially consistent,
 * at least one of the two sees the other: a kernel that a call has found is never unloaded before
 * its launch.
 */
enum aothip_status module_pin(struct aothip_context *context, const struct hip *hip,
                              struct module_device *device, uint32_t index, int captured,
                              hipFunction_t *function, struct status *why)
{
    struct module_kernel *kernel = &device->kernels[index];
    atomic_fetch_add(&kernel->users, 1);
    if (captured)
        atomic_store(&kernel->kept, 1);
    atomic_store_explicit(&kernel->used, atomic_fetch_add(&device->clock, 1) + 1,
                          memory_order_relaxed);
    *function = atomic_load(&kernel->function);
    if (!*function && module_load(context, hip, device, index, captured, function, why))
        module_unpin(device, index);
    return why->code;
}

void module_unpin(struct module_device *device, uint32_t index)
{
    atomic_fetch_sub(&device->kernels[index].users, 1);
}
