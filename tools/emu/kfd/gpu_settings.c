/*
 * What a process sets for one of its GPUs, checked as kfd_chardev.c of Linux 6.1 checks it. From
 * Vega on the driver does nothing more with the policy of caches (its queue managers v9 to v11 have
 * no set_cache_memory_policy) and with the address of scratch (each queue has its own).
 */
#include "kfd.h"

#include <errno.h>

#include "driver_interface.h"

static _Atomic(uint64_t) trap_handlers[KFD_MAX_GPUS];

static int known(uint32_t gpu_id)
{
    return kfd_gpu_index(gpu_id) < 0 ? -EINVAL : 0;
}

int kfd_set_memory_policy(const struct kfd_memory_policy *a)
{
    return a->usual > KFD_POLICY_NONCOHERENT || a->in_aperture > KFD_POLICY_NONCOHERENT
               ? -EINVAL
               : known(a->gpu_id);
}

int kfd_set_scratch_address(const struct kfd_scratch_address *a)
{
    return known(a->gpu_id);
}

/*
 * The handler itself is not run: what ROCr's does, which tells the queue's signal what happened, is
 * queue_errors.c.
 */
int kfd_set_trap_handler(const struct kfd_trap_handler *a)
{
    int result = known(a->gpu_id);
    if (result == 0)
        trap_handlers[kfd_gpu_index(a->gpu_id)] = a->code;
    return result;
}

bool kfd_has_trap_handler(unsigned gpu)
{
    return trap_handlers[gpu] != 0;
}

/* All GPUs of a process share one map here, so that the render node brings none of its own. */
int kfd_acquire_vm(const struct kfd_acquire_vm *a)
{
    return kfd_opened_gpu((int)a->render_node) < 0 ? -EINVAL : known(a->gpu_id);
}
