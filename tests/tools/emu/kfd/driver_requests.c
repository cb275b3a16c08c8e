/*
 * Requests to the driver's stand-in, as a runtime's thunk would make them, without a runtime: what
 * is refused, and how, by kfd_chardev.c and kfd_process_queue_manager.c of Linux; and what a queue
 * makes of packets that are none. Run from the build directory.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <time.h>

#include <linux/ioctl.h>
#include <sys/mman.h>

#include "driver_interface.h"
#include "tap.h"

static int (*driver_open)(const char *path, int flags, ...);
static int (*driver_ioctl)(int fd, unsigned long request, ...);
static int kfd = -1;

/* 0 or the error's number. */
static int ask_on(int fd, unsigned number, void *args, size_t size)
{
    unsigned long request = _IOC(_IOC_READ | _IOC_WRITE, 'K', number, size);
    return driver_ioctl(fd, request, args) ? errno : 0;
}
#define ASK(number, args) ask_on(kfd, number, &(args), sizeof(args))

static uint32_t gpu_id(unsigned i)
{
    struct kfd_process_apertures a = {0};
    return ASK(KFD_GET_PROCESS_APERTURES, a) ? 0 : a.gpu[i].gpu_id;
}

static void refusals(void)
{
    uint64_t args[32] = {0};
    is_int(ASK(0x0d, args), EPERM, "the debugger's old requests are for nobody");
    is_int(ASK(0x10, args), EPERM, "to the last");
    is_int(ASK(0x20, args), EINVAL, "a request that the driver has and this one has not");
    is_int(ASK(0x24, args), ENOTTY, "a request that it has not");
    is_int(ASK(0x00, args), ENOTTY, "nor this one");
}

static void settings(void)
{
    struct kfd_memory_policy p = {.gpu_id = gpu_id(0), .usual = 1};
    is_int(ASK(KFD_SET_MEMORY_POLICY, p), 0, "a policy of caches");
    p.in_aperture = 2;
    is_int(ASK(KFD_SET_MEMORY_POLICY, p), EINVAL, "one that is none");
    p = (struct kfd_memory_policy){.gpu_id = 5};
    is_int(ASK(KFD_SET_MEMORY_POLICY, p), EINVAL, "for no GPU");
    struct kfd_scratch_address s = {.address = 1 << 16, .gpu_id = gpu_id(1)};
    is_int(ASK(KFD_SET_SCRATCH_BACKING_VA, s), 0, "scratch");
    s.gpu_id = 0;
    is_int(ASK(KFD_SET_SCRATCH_BACKING_VA, s), EINVAL, "for no GPU");
    struct kfd_trap_handler t = {.gpu_id = gpu_id(1)};
    is_int(ASK(KFD_SET_TRAP_HANDLER, t), 0, "a trap handler");
    t.gpu_id = 5;
    is_int(ASK(KFD_SET_TRAP_HANDLER, t), EINVAL, "for no GPU");
    struct kfd_acquire_vm v = {(uint32_t)driver_open("/dev/dri/renderD128", O_RDWR), gpu_id(0)};
    is_int(ASK(KFD_ACQUIRE_VM, v), 0, "a render node");
    v.gpu_id = 5;
    is_int(ASK(KFD_ACQUIRE_VM, v), EINVAL, "for no GPU");
    v = (struct kfd_acquire_vm){(uint32_t)kfd, gpu_id(0)};
    is_int(ASK(KFD_ACQUIRE_VM, v), EINVAL, "what is no render node");
}

/* A ring of AQL packets, with amd_queue_t's read number and inactive signal beside it. */
enum { RING = 4096, PACKET = 64, TO_SIGNAL = 64 };
struct ring {
    uint64_t packets[RING / 8];
    struct {
        uint64_t kind;
        volatile int64_t value;
        uint64_t rest[6];
    } signal;
    uint64_t write, doorbell;
    uint64_t read[TO_SIGNAL / 8 + 1];
};

static struct kfd_create_queue queue_of(struct ring *r, unsigned gpu)
{
    struct kfd_create_queue q = {
        .ring_base = (uintptr_t)r->packets,
        .ring_size = RING,
        .write_pointer = (uintptr_t)&r->write,
        .read_pointer = (uintptr_t)r->read,
        .gpu_id = gpu_id(gpu),
        .type = KFD_QUEUE_COMPUTE_AQL,
        .percentage = 100,
    };
    for (unsigned i = 0; i < RING / PACKET; i++)
        r->packets[i * PACKET / 8] = 1; /* invalid: not yet written */
    r->read[TO_SIGNAL / 8] = (uintptr_t)&r->signal;
    return q;
}

static void queues(void)
{
    static struct ring r;
    struct kfd_create_queue good = queue_of(&r, 0), q = good;
    q.percentage = 101;
    is_int(ASK(KFD_CREATE_QUEUE, q), EINVAL, "a queue with 101 percent");
    q = good;
    q.priority = 16;
    is_int(ASK(KFD_CREATE_QUEUE, q), EINVAL, "of priority 16");
    q = good;
    q.ring_size = 4097;
    is_int(ASK(KFD_CREATE_QUEUE, q), EINVAL, "whose ring is no power of two");
    q = good;
    q.type = 9;
    is_int(ASK(KFD_CREATE_QUEUE, q), 524, "of a type that is none");
    q = good;
    is_int(ASK(KFD_CREATE_QUEUE, q), 0, "a queue");
    struct kfd_update_queue u = {good.ring_base, q.queue_id, RING, 100, 15};
    is_int(ASK(KFD_UPDATE_QUEUE, u), 0, "changed");
    u.priority = 16;
    is_int(ASK(KFD_UPDATE_QUEUE, u), EINVAL, "to priority 16");
    u = (struct kfd_update_queue){good.ring_base, q.queue_id + 1, RING, 100, 0};
    is_int(ASK(KFD_UPDATE_QUEUE, u), EFAULT, "a queue that is not there, changed");
    is_int(ASK(KFD_DESTROY_QUEUE, q.queue_id), 0, "destroyed");
    is_int(ASK(KFD_DESTROY_QUEUE, q.queue_id), EINVAL, "and again");
}

/* gfx90a and gfx1100: units singly, and in pairs. */
static void masks(void)
{
    static struct ring rings[2];
    static uint32_t bits[64] = {0x5};
    for (unsigned gpu = 0; gpu < 2; gpu++) {
        struct kfd_create_queue q = queue_of(&rings[gpu], gpu);
        is_int(ASK(KFD_CREATE_QUEUE, q), 0, gpu ? "a queue of gfx1100" : "a queue of gfx90a");
        struct kfd_cu_mask m = {q.queue_id, 32, (uintptr_t)bits};
        is_int(ASK(KFD_SET_CU_MASK, m), gpu ? EINVAL : 0, "every other unit");
        m.bits = 2048;
        bits[0] = 0xc;
        is_int(ASK(KFD_SET_CU_MASK, m), 0, "a pair, of 2048");
        m.bits = 33;
        is_int(ASK(KFD_SET_CU_MASK, m), EINVAL, "33 bits");
        m.bits = 0;
        is_int(ASK(KFD_SET_CU_MASK, m), EINVAL, "none");
        m = (struct kfd_cu_mask){q.queue_id, 32, 0};
        is_int(ASK(KFD_SET_CU_MASK, m), EFAULT, "that are nowhere");
        is_int(ASK(KFD_DESTROY_QUEUE, q.queue_id), 0, "destroyed");
        m = (struct kfd_cu_mask){q.queue_id, 32, (uintptr_t)bits};
        is_int(ASK(KFD_SET_CU_MASK, m), EFAULT, "of no queue");
        bits[0] = 0x5;
    }
}

/* What the queue's signal becomes when the ring holds a packet of this type; 0: it stays. */
static int64_t answer(unsigned type, const uint32_t *mask)
{
    static struct ring r;
    r = (struct ring){0};
    struct kfd_create_queue q = queue_of(&r, 0);
    struct timespec moment = {.tv_nsec = 1000000};
    if (ASK(KFD_CREATE_QUEUE, q))
        return -1;
    struct kfd_cu_mask m = {q.queue_id, 32, (uintptr_t)mask};
    void *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, kfd,
                      (off_t)(q.doorbell_offset & ~(uint64_t)8191));
    if (page == MAP_FAILED || (mask && ASK(KFD_SET_CU_MASK, m)))
        return -1;
    r.packets[0] = type;
    r.write = 1;
    ((volatile uint64_t *)page)[q.doorbell_offset % 8192 / 8] = 0;
    for (int i = 0; i < (mask ? 50 : 10000) && !r.signal.value && r.read[0] == 0; i++)
        nanosleep(&moment, NULL);
    int64_t value = r.signal.value;
    if (r.read[0])
        value = -2;
    if (ASK(KFD_DESTROY_QUEUE, q.queue_id) || munmap(page, 8192))
        return -1;
    return value;
}

static void packets(void)
{
    const uint32_t nothing = 0;
    is_int(answer(3, NULL), -2, "a barrier that waits for nothing is taken");
    is_int(answer(3, &nothing), 0, "but not from a queue that has no units");
    is_int(answer(4, NULL), 32, "a GPU takes no dispatch to an agent");
    is_int(answer(77, NULL), 32, "nor what is no packet");
    is_int(answer(0x70000, NULL), 256, "nor a vendor's packet that it does not know");
    is_int(answer(2, NULL), 2, "nor a dispatch of no work-items");
}

int main(void)
{
    void *library = dlopen("tools/emu/.libs/libhipemu-kfd.so", RTLD_NOW);
    if (!library || setenv("AOTHIP_EMU_GPU", "gfx90a,gfx1100", 1)) {
        printf("Bail out! %s\n", dlerror());
        return 99;
    }
    *(void **)&driver_open = dlsym(library, "open");
    *(void **)&driver_ioctl = dlsym(library, "ioctl");
    kfd = driver_open("/dev/kfd", O_RDWR);
    ok(kfd >= 0, "the driver is opened");
    refusals();
    settings();
    queues();
    masks();
    packets();
    return tap_done();
}
