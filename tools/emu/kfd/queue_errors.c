/*
 * A queue that stops for good. The packet processor, or the trap handler of a wave, writes what was
 * wrong into the signal that ROCr waits for beside its queue (amd_hsa_queue.h).
 */
#include "signals.h"

enum {
    /* amd_queue_t: from read_dispatch_id, which the driver knows, to queue_inactive_signal */
    TO_SIGNAL = 192 - 128,
};

void kfd_queue_stop(struct kfd_ring *r, enum kfd_queue_error error)
{
    const volatile uint64_t *signal = r->read + TO_SIGNAL / sizeof *r->read;
    r->stuck = true;
    kfd_signal_set(*signal, (uint32_t)error);
}
