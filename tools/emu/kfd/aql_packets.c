/* The packets of an AQL queue, in their order: dispatches, barriers, and AMD's own. */
#include "signals.h"

#include <string.h>

enum {
    PACKET_BYTES = 64,
    /* hsa.h: hsa_packet_type_t */
    TYPE_VENDOR = 0,
    TYPE_INVALID = 1,
    TYPE_DISPATCH = 2,
    TYPE_BARRIER_AND = 3,
    TYPE_AGENT = 4,
    TYPE_BARRIER_OR = 5,
    /* hsa_ext_amd.h, and ROCr's amd_gpu_pm4.h: the second half of a vendor packet's header */
    FORMAT_PM4 = 1,
    FORMAT_BARRIER_VALUE = 2,
    DEPENDENCIES = 5,
};

static uint64_t word64(const uint8_t *packet, unsigned at)
{
    uint64_t x;
    memcpy(&x, packet + at, sizeof x);
    return x;
}

/* False: the queue goes away meanwhile. */
static bool wait_dependencies(struct kfd_ring *r, const uint8_t *packet, bool any)
{
    for (unsigned idle = 0; !r->stop; kfd_nap(++idle)) {
        unsigned present = 0, done = 0;
        for (unsigned i = 0; i < DEPENDENCIES; i++) {
            uint64_t handle = word64(packet, 8 + 8 * i);
            present += handle != 0;
            done += handle && atomic_load(&kfd_signal_at(handle)->value) == 0;
        }
        if (done == present || (any && done))
            return true;
    }
    return false;
}

/* hsa_signal_condition_t: EQ, NE, LT, GTE */
static bool holds(uint32_t condition, int64_t a, int64_t b)
{
    return condition == 0 ? a == b : condition == 1 ? a != b : condition == 2 ? a < b : a >= b;
}

static bool wait_value(struct kfd_ring *r, const uint8_t *packet)
{
    struct kfd_signal *s = kfd_signal_at(word64(packet, 8));
    uint64_t mask = word64(packet, 24);
    uint32_t condition;
    memcpy(&condition, packet + 32, sizeof condition);
    for (unsigned idle = 0; !r->stop; kfd_nap(++idle))
        if (!s || holds(condition, (int64_t)((uint64_t)atomic_load(&s->value) & mask),
                        (int64_t)word64(packet, 16)))
            return true;
    return false;
}

/*
 * A queue that met something unknown stands still, as the hardware's would. Dispatches to agents
 * are for queues of agents that say they take them; ROCr's GPUs say they take kernels only, and
 * neither it nor AMD's HIP writes such packets.
 */
static bool refuse(struct kfd_ring *r, const char *what, unsigned number,
                   enum kfd_queue_error error)
{
    kfd_say("queue %u: %s %u is not known; the queue stands still", r->slot + 1, what, number);
    kfd_queue_stop(r, error);
    return false;
}

static bool vendor(struct kfd_ring *r, const uint8_t *packet)
{
    switch (packet[2]) {
    case FORMAT_PM4:
        /* A command buffer that ROCr uses to invalidate caches; there are none. */
        return true;
    case FORMAT_BARRIER_VALUE:
        return wait_value(r, packet);
    default:
        return refuse(r, "vendor packet", packet[2], KFD_BAD_VENDOR_PACKET);
    }
}

static bool run(struct kfd_ring *r, const uint8_t *packet, unsigned type)
{
    switch (type) {
    case TYPE_VENDOR:
        return vendor(r, packet);
    case TYPE_DISPATCH:
        return kfd_dispatch(r, packet);
    case TYPE_BARRIER_AND:
        return wait_dependencies(r, packet, false);
    case TYPE_BARRIER_OR:
        return wait_dependencies(r, packet, true);
    default:
        return refuse(r, "packet type", type, KFD_BAD_PACKET);
    }
}

bool kfd_aql_step(struct kfd_ring *r)
{
    uint64_t at = *r->read;
    uint8_t *packet = r->base + at * PACKET_BYTES % r->size;
    _Atomic(uint16_t) *header = (_Atomic(uint16_t) *)packet;
    /* The doorbell holds the number of the last packet that was written. */
    if (*r->doorbell == UINT64_MAX || *r->doorbell < at || at >= *r->write)
        return false;
    unsigned type = atomic_load(header) & 0xff;
    if (type == TYPE_INVALID)
        return false;
    uint64_t begun = kfd_clock();
    if (!run(r, packet, type))
        return false;
    uint64_t signal = word64(packet, 56);
    atomic_store(header, TYPE_INVALID);
    *r->read = at + 1;
    kfd_signal_complete(signal, begun);
    return true;
}
