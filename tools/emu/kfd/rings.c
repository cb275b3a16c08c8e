/* Queues of the driver. Each has a thread that looks at its doorbell and takes its packets. */
#include "kfd.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "driver_interface.h"

enum { SLOTS = KFD_DOORBELLS / 8 };

struct queue {
    struct kfd_ring ring;
    pthread_t thread;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue *queues[SLOTS]; /* number is the slot of the doorbell plus one */

/* Lock held. */
static struct queue *find(uint32_t id)
{
    return id && id <= SLOTS ? queues[id - 1] : NULL;
}

static void *serve(void *arg)
{
    struct kfd_ring *r = arg;
    bool (*step)(struct kfd_ring *) =
        r->type == KFD_QUEUE_COMPUTE_AQL ? kfd_aql_step : kfd_sdma_step;
    unsigned idle = 0;
    while (!r->stop) {
        idle = !r->stuck && r->units && step(r) ? 0 : idle + 1;
        if (idle)
            kfd_nap(idle);
    }
    return NULL;
}

/* As set_queue_properties_from_user() of kfd_chardev.c. 0: good. */
static int check(uint32_t percentage, uint32_t priority, uint32_t ring_size)
{
    bool power = (ring_size & (ring_size - 1)) == 0;
    return percentage > KFD_MOST_PERCENT || priority > KFD_MOST_PRIORITY || !power ? -EINVAL : 0;
}

static bool known_type(uint32_t type)
{
    return type == KFD_QUEUE_COMPUTE_AQL || type == KFD_QUEUE_SDMA || type == KFD_QUEUE_SDMA_XGMI;
}

static int start(struct queue *q, unsigned slot)
{
    q->ring.slot = slot;
    q->ring.doorbell = kfd_doorbell(q->ring.gpu, slot);
    *q->ring.doorbell = q->ring.type == KFD_QUEUE_COMPUTE_AQL ? UINT64_MAX : 0;
    queues[slot] = q;
    return pthread_create(&q->thread, NULL, serve, &q->ring);
}

int kfd_queue_create(struct kfd_create_queue *a)
{
    int gpu = kfd_gpu_index(a->gpu_id), result = -ENOMEM;
    unsigned slot = 0;
    if (check(a->percentage, a->priority, a->ring_size) || gpu < 0 || !a->ring_size)
        return -EINVAL;
    if (!known_type(a->type)) {
        kfd_say("queues of type %u are not known and refused", a->type);
        return -KFD_NOT_SUPPORTED;
    }
    struct queue *q = calloc(1, sizeof *q);
    if (!q)
        return -ENOMEM;
    q->ring.gpu = (unsigned)gpu;
    q->ring.type = a->type;
    q->ring.units = kfd_gpu((unsigned)gpu)->emu->model->units;
    q->ring.base = (uint8_t *)(uintptr_t)a->ring_base;
    q->ring.size = a->ring_size;
    q->ring.write = (volatile uint64_t *)(uintptr_t)a->write_pointer;
    q->ring.read = (volatile uint64_t *)(uintptr_t)a->read_pointer;
    pthread_mutex_lock(&lock);
    while (slot < SLOTS && queues[slot])
        slot++;
    if (slot < SLOTS)
        result = -start(q, slot);
    if (result && slot < SLOTS)
        queues[slot] = NULL;
    pthread_mutex_unlock(&lock);
    if (result) {
        free(q);
        return result;
    }
    a->queue_id = slot + 1;
    a->doorbell_offset = kfd_doorbell_offset((unsigned)gpu, slot);
    kfd_log("queue %u: type %u, ring of %u bytes at 0x%llx", a->queue_id, a->type, a->ring_size,
            (unsigned long long)a->ring_base);
    return 0;
}

int kfd_queue_destroy(uint32_t id)
{
    pthread_mutex_lock(&lock);
    struct queue *q = find(id);
    if (q)
        queues[id - 1] = NULL;
    pthread_mutex_unlock(&lock);
    if (!q)
        return -EINVAL;
    q->ring.stop = true;
    pthread_join(q->thread, NULL);
    free(q);
    return 0;
}

/* Priorities and shares mean nothing here; an empty share stops the queue, as ROCr does on errors.
 */
int kfd_queue_update(const struct kfd_update_queue *a)
{
    int result = check(a->percentage, a->priority, a->ring_size);
    if (result)
        return result;
    pthread_mutex_lock(&lock);
    struct queue *q = find(a->queue_id);
    if (q && a->percentage == 0)
        q->ring.stuck = true;
    pthread_mutex_unlock(&lock);
    return q ? 0 : -EFAULT;
}

/* How many units the mask leaves; -1: gfx11 gives them out in pairs, and one of these is halved. */
static int masked_units(const struct kfd_gpu *gpu, const uint32_t *mask, unsigned bits)
{
    bool pairs = gpu->emu->model->family >= EMU_GFX11;
    int units = 0;
    for (unsigned i = 0; i < bits; i += pairs ? 2 : 1) {
        unsigned both = mask[i / 32] >> i % 32 & (pairs ? 3 : 1);
        if (pairs && both && both != 3)
            return -1;
        units += both && i < kfd_gpu_units(gpu);
    }
    return units;
}

/*
 * Checked as kfd_ioctl_set_cu_mask() and pqm_update_mqd() do. Which units are left shows in nothing
 * but time: the clock has so many, and a queue without any stands still.
 */
int kfd_queue_mask(const struct kfd_cu_mask *a)
{
    unsigned bits = a->bits < KFD_MOST_UNITS ? a->bits : KFD_MOST_UNITS;
    if (a->bits == 0 || a->bits % 32)
        return -EINVAL;
    if (!a->mask)
        return -EFAULT;
    pthread_mutex_lock(&lock);
    struct queue *q = find(a->queue_id);
    int units =
        q ? masked_units(kfd_gpu(q->ring.gpu), (const uint32_t *)(uintptr_t)a->mask, bits) : 0;
    if (q && units >= 0)
        q->ring.units = (unsigned)units;
    pthread_mutex_unlock(&lock);
    kfd_log("queue %u: %d units", a->queue_id, units);
    return !q ? -EFAULT : units < 0 ? -EINVAL : 0;
}
