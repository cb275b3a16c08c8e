/*
 * The requests of linux/kfd_ioctl.h, by number: newer releases hand over longer structures whose
 * beginnings are the same. What is not known is named in the log and refused, as amdkfd refuses it.
 */
#include "kfd.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "driver_interface.h"

/* The interface of Linux 6.1, whose header this is. */
static int get_version(void *args)
{
    struct kfd_version *a = args;
    a->major = KFD_VERSION_MAJOR;
    a->minor = KFD_VERSION_MINOR;
    return 0;
}

static int get_clocks(void *args)
{
    struct kfd_clock_counters *a = args;
    a->gpu = a->cpu = a->system = kfd_clock();
    a->system_frequency = 1000000000;
    return 0;
}

static void fill_apertures(struct kfd_apertures *p, unsigned gpu)
{
    *p = (struct kfd_apertures){
        .lds_base = EMU_SHARED_APERTURE,
        .lds_limit = EMU_SHARED_APERTURE | UINT32_MAX,
        .scratch_base = EMU_PRIVATE_APERTURE,
        .scratch_limit = EMU_PRIVATE_APERTURE | UINT32_MAX,
        .gpuvm_base = 0x4000,
        .gpuvm_limit = (UINT64_C(1) << 47) - 1,
        .gpu_id = kfd_gpu_id(gpu),
    };
}

static int get_apertures(void *args)
{
    struct kfd_process_apertures *a = args;
    a->count = kfd_gpu_count();
    for (unsigned i = 0; i < a->count; i++)
        fill_apertures(&a->gpu[i], i);
    return 0;
}

static int get_apertures_new(void *args)
{
    struct kfd_process_apertures_new *a = args;
    struct kfd_apertures *p = (void *)(uintptr_t)a->array;
    unsigned n = a->count && a->count < kfd_gpu_count() ? a->count : kfd_gpu_count();
    for (unsigned i = 0; a->count && p && i < n; i++)
        fill_apertures(&p[i], i);
    a->count = n;
    return 0;
}

/* Tiling is for images, which these GPUs have none of. */
static int get_tiles(void *args)
{
    struct kfd_tile_config *a = args;
    a->tile_count = a->macro_tile_count = 0;
    a->gb_addr_config = a->banks = a->ranks = 0;
    return 0;
}

/* -1 asks; page faults that kernels survive are not to be had. */
static int set_xnack(void *args)
{
    int32_t *mode = args;
    if (*mode < 0)
        *mode = 0;
    return *mode ? -EPERM : 0;
}

static int get_available(void *args)
{
    struct kfd_available_memory *a = args;
    int gpu = kfd_gpu_index(a->gpu_id);
    if (gpu < 0)
        return -EINVAL;
    a->bytes = kfd_memory_available((unsigned)gpu);
    return 0;
}

/*
 * As kfd_ioctl() of kfd_chardev.c: the debugger's first requests are for nobody, numbers that Linux
 * 6.1 does not have are no requests; what it has and this file has not is refused as invalid.
 */
static int refuse(unsigned number)
{
    kfd_say("request 0x%02x of the driver is not known and refused", number);
    if (number >= KFD_DBG_REGISTER && number <= KFD_DBG_WAVE_CONTROL)
        return -EPERM;
    return number >= KFD_GET_VERSION && number <= KFD_LAST_REQUEST ? -EINVAL : -ENOTTY;
}

static int driver_request(unsigned number, void *args)
{
    switch (number) {
    case KFD_GET_VERSION:
        return get_version(args);
    case KFD_CREATE_QUEUE:
        return kfd_queue_create(args);
    case KFD_DESTROY_QUEUE:
        return kfd_queue_destroy(*(uint32_t *)args);
    case KFD_UPDATE_QUEUE:
        return kfd_queue_update(args);
    case KFD_GET_CLOCK_COUNTERS:
        return get_clocks(args);
    case KFD_GET_PROCESS_APERTURES:
        return get_apertures(args);
    case KFD_GET_PROCESS_APERTURES_NEW:
        return get_apertures_new(args);
    case KFD_CREATE_EVENT:
        return kfd_event_create(args);
    case KFD_DESTROY_EVENT:
        return kfd_event_destroy(*(uint32_t *)args);
    case KFD_SET_EVENT:
        return kfd_event_set(*(uint32_t *)args, true);
    case KFD_RESET_EVENT:
        return kfd_event_set(*(uint32_t *)args, false);
    case KFD_WAIT_EVENTS:
        return kfd_event_wait(args);
    case KFD_GET_TILE_CONFIG:
        return get_tiles(args);
    case KFD_ALLOC_MEMORY_OF_GPU:
        return kfd_memory_alloc(args);
    case KFD_FREE_MEMORY_OF_GPU:
        return kfd_memory_free(*(uint64_t *)args);
    case KFD_MAP_MEMORY_TO_GPU:
        return kfd_memory_map(args, true);
    case KFD_UNMAP_MEMORY_FROM_GPU:
        return kfd_memory_map(args, false); /* the same structure */
    case KFD_SET_XNACK_MODE:
        return set_xnack(args);
    case KFD_AVAILABLE_MEMORY:
        return get_available(args);
    case KFD_ACQUIRE_VM:
        return kfd_acquire_vm(args);
    case KFD_SET_MEMORY_POLICY:
        return kfd_set_memory_policy(args);
    case KFD_SET_SCRATCH_BACKING_VA:
        return kfd_set_scratch_address(args);
    case KFD_SET_TRAP_HANDLER:
        return kfd_set_trap_handler(args);
    case KFD_SET_CU_MASK:
        return kfd_queue_mask(args);
    default:
        return refuse(number);
    }
}

int kfd_request(int fd, unsigned long request, void *args)
{
    unsigned number = _IOC_NR(request);
    bool driver = _IOC_TYPE(request) == 'K';
    int gpu = kfd_opened_gpu(fd);
    int result = driver ? driver_request(number, args)
                        : kfd_render_request(gpu < 0 ? 0 : (unsigned)gpu, number, args);
    kfd_log("%s request 0x%02x: %d", driver ? "driver" : "render node", number, result);
    return result;
}
