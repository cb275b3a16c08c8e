/*
 * A queue that stops for good. The packet processor, or the trap handler of a wave, writes what was
 * wrong into the signal that ROCr waits for beside its queue (amd_hsa_queue.h). Without a handler
 * a wave that traps halts, and nobody is told (amdkfd's cwsr_trap_handler_gfx9.asm).
 */
#include "signals.h"

enum {
    /* amd_queue_t: from read_dispatch_id, which the driver knows, to queue_inactive_signal */
    TO_SIGNAL = 192 - 128,
};

void kfd_queue_stop(struct kfd_ring *r, enum kfd_queue_error error)
{
    const volatile uint64_t *signal = r->read + TO_SIGNAL / sizeof *r->read;
    bool trapped = error == KFD_BAD_INSTRUCTION || error == KFD_EXCEPTION;
    r->stuck = true;
    if (trapped && !kfd_has_trap_handler(r->gpu))
        kfd_say("queue %u: no trap handler is set, so that nobody hears of it", r->slot + 1);
    else
        kfd_signal_set(*signal, (uint32_t)error);
}
