/*
 * Events of the driver: made, set, reset, waited for. A GPU that finishes something writes the
 * event's number into its mailbox and interrupts, which here is kfd_event_set. As in amdkfd's
 * kfd_events.c, setting an event wakes all who wait for it; one that resets itself stays set only
 * when nobody did.
 */
#include "kfd.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "driver_interface.h"

struct event {
    bool live, signaled, auto_reset;
    uint32_t type;
    unsigned waiting;
    uint64_t fired; /* how often it was set */
    struct kfd_event_data data;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct event event[KFD_EVENTS];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* What one wait knows of one of its events. */
struct waiter {
    struct event *event;
    uint64_t seen;
    bool active;
};

/* Lock held. Number 0 is none. */
static struct event *find(uint32_t id)
{
    return id && id < KFD_EVENTS && state.event[id].live ? &state.event[id] : NULL;
}

int kfd_event_create(struct kfd_create_event *a)
{
    uint32_t id = 1;
    pthread_mutex_lock(&state.lock);
    while (id < KFD_EVENTS && (state.event[id].live || state.event[id].waiting))
        id++;
    if (id < KFD_EVENTS) {
        state.event[id] =
            (struct event){.live = true, .auto_reset = a->auto_reset != 0, .type = a->type};
        a->event_id = a->trigger_data = a->slot = id;
        /* Not 0: there is a page of mailboxes. The thunk has brought its own. */
        a->page_offset = KFD_PAGE;
    }
    pthread_mutex_unlock(&state.lock);
    kfd_log("event %u of type %u", id, a->type);
    return id < KFD_EVENTS ? 0 : -ENOSPC;
}

int kfd_event_destroy(uint32_t id)
{
    pthread_mutex_lock(&state.lock);
    struct event *e = find(id);
    if (e)
        e->live = false;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
    return e ? 0 : -EINVAL;
}

/* Lock held. */
static void set(struct event *e)
{
    e->fired++;
    e->signaled = !e->auto_reset || !e->waiting;
    pthread_cond_broadcast(&state.changed);
}

int kfd_event_set(uint32_t id, bool signaled)
{
    pthread_mutex_lock(&state.lock);
    struct event *e = find(id);
    if (e && signaled)
        set(e);
    else if (e)
        e->signaled = false;
    pthread_mutex_unlock(&state.lock);
    return e ? 0 : -EINVAL;
}

/* Lock held. False: one does not exist. */
static bool begin(const struct kfd_event_data *d, uint32_t n, struct waiter *w)
{
    for (uint32_t i = 0; i < n; i++)
        if (!find(d[i].event_id))
            return false;
    for (uint32_t i = 0; i < n; i++) {
        struct event *e = find(d[i].event_id);
        w[i] = (struct waiter){.event = e, .seen = e->fired, .active = e->signaled};
        e->signaled = e->signaled && !e->auto_reset;
        e->waiting++;
    }
    return true;
}

/* Lock held. How many were set; -1: one was destroyed. */
static int count_active(struct waiter *w, uint32_t n)
{
    int active = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!w[i].event->live)
            return -1;
        w[i].active = w[i].active || w[i].event->fired != w[i].seen;
        active += w[i].active;
    }
    return active;
}

/* Lock held. A wait that failed leaves events as they were. */
static void end(struct kfd_event_data *d, uint32_t n, struct waiter *w, bool complete)
{
    for (uint32_t i = 0; i < n; i++) {
        struct event *e = w[i].event;
        e->waiting--;
        if (!complete && w[i].active && e->auto_reset)
            set(e);
        if (!complete || !w[i].active)
            continue;
        if (e->type == KFD_EVENT_MEMORY)
            d[i].memory = e->data.memory;
        else if (e->type == KFD_EVENT_HW_EXCEPTION)
            d[i].hardware = e->data.hardware;
    }
}

static struct timespec deadline(uint32_t milliseconds)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += milliseconds / 1000;
    t.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

/* Lock held. */
static void wait_for(struct kfd_wait_events *a, struct kfd_event_data *d, struct waiter *w)
{
    int want = a->all ? (int)a->count : 1, have, late = 0;
    struct timespec until = deadline(a->timeout);
    while ((have = count_active(w, a->count)) >= 0 && have < want && !late) {
        if (a->timeout == UINT32_MAX)
            pthread_cond_wait(&state.changed, &state.lock);
        else
            late = pthread_cond_timedwait(&state.changed, &state.lock, &until);
    }
    a->result = have < 0 ? KFD_WAIT_FAIL : have >= want ? KFD_WAIT_COMPLETE : KFD_WAIT_TIMEOUT;
    end(d, a->count, w, a->result == KFD_WAIT_COMPLETE);
}

int kfd_event_wait(struct kfd_wait_events *a)
{
    struct kfd_event_data *d = (struct kfd_event_data *)(uintptr_t)a->events;
    struct waiter *w = calloc(a->count + 1, sizeof *w);
    if (!w)
        return -ENOMEM;
    pthread_mutex_lock(&state.lock);
    bool good = begin(d, a->count, w);
    if (good)
        wait_for(a, d, w);
    else
        a->result = KFD_WAIT_FAIL;
    pthread_mutex_unlock(&state.lock);
    free(w);
    return good ? 0 : -EINVAL;
}

static void raise_all(uint32_t type, const struct kfd_event_data *data)
{
    pthread_mutex_lock(&state.lock);
    for (uint32_t i = 1; i < KFD_EVENTS; i++)
        if (state.event[i].live && state.event[i].type == type) {
            state.event[i].data = *data;
            set(&state.event[i]);
        }
    pthread_mutex_unlock(&state.lock);
}

void kfd_memory_fault(uint32_t gpu_id, uint64_t address, bool present)
{
    struct kfd_event_data d = {0};
    d.memory.address = address / KFD_PAGE * KFD_PAGE;
    d.memory.gpu_id = gpu_id;
    d.memory.not_present = !present;
    d.memory.read_only = present;
    raise_all(KFD_EVENT_MEMORY, &d);
}

void kfd_hardware_fault(uint32_t gpu_id)
{
    struct kfd_event_data d = {0};
    /* Type 0, cause 0: the whole GPU is reset, for a hang, and its memory is lost. */
    d.hardware.gpu_id = gpu_id;
    d.hardware.memory_lost = 1;
    raise_all(KFD_EVENT_HW_EXCEPTION, &d);
}
