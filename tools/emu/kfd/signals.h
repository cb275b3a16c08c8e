/* HSA signals in memory, as amd_hsa_signal.h lays them out, and what a GPU does with them. */
#ifndef EMU_KFD_SIGNALS_H
#define EMU_KFD_SIGNALS_H

#include <stdatomic.h>

#include "kfd.h"

struct kfd_signal {
    int64_t kind;
    _Atomic(int64_t) value;
    uint64_t mailbox; /* address of the event's mailbox, 0 for a signal that is only polled */
    uint32_t event, reserved;
    uint64_t start, end;
};

static inline struct kfd_signal *kfd_signal_at(uint64_t handle)
{
    return (struct kfd_signal *)(uintptr_t)handle;
}

/* Sets the value of a signal that may have an event; `handle` may be 0. */
static inline void kfd_signal_set(uint64_t handle, int64_t value)
{
    struct kfd_signal *s = kfd_signal_at(handle);
    if (!handle)
        return;
    uint64_t mailbox = s->mailbox;
    uint32_t event = s->event;
    atomic_store(&s->value, value);
    if (!mailbox)
        return;
    atomic_store((_Atomic(uint64_t) *)(uintptr_t)mailbox, event);
    kfd_event_set(event, true);
}

/* Ends a packet; `handle` may be 0. The signal may be gone as soon as its value has changed. */
static inline void kfd_signal_complete(uint64_t handle, uint64_t start)
{
    struct kfd_signal *s = kfd_signal_at(handle);
    if (!handle)
        return;
    uint64_t mailbox = s->mailbox;
    uint32_t event = s->event;
    s->start = start;
    s->end = kfd_clock();
    atomic_fetch_sub(&s->value, 1);
    if (!mailbox)
        return;
    atomic_store((_Atomic(uint64_t) *)(uintptr_t)mailbox, event);
    kfd_event_set(event, true);
}

#endif
