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

static void *serve(void *arg)
{
    struct kfd_ring *r = arg;
    bool (*step)(struct kfd_ring *) =
        r->type == KFD_QUEUE_COMPUTE_AQL ? kfd_aql_step : kfd_sdma_step;
    unsigned idle = 0;
    while (!r->stop) {
        idle = !r->stuck && step(r) ? 0 : idle + 1;
        if (idle)
            kfd_nap(idle);
    }
    return NULL;
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
    if (gpu < 0 || !known_type(a->type) || !a->ring_size)
        return -EINVAL;
    struct queue *q = calloc(1, sizeof *q);
    if (!q)
        return -ENOMEM;
    q->ring.gpu = (unsigned)gpu;
    q->ring.type = a->type;
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
    struct queue *q = NULL;
    pthread_mutex_lock(&lock);
    if (id && id <= SLOTS) {
        q = queues[id - 1];
        queues[id - 1] = NULL;
    }
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
    int result = -EINVAL;
    pthread_mutex_lock(&lock);
    if (a->queue_id && a->queue_id <= SLOTS && queues[a->queue_id - 1]) {
        if (a->percentage == 0)
            queues[a->queue_id - 1]->ring.stuck = true;
        result = 0;
    }
    pthread_mutex_unlock(&lock);
    return result;
}
