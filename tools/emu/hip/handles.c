/* State of the HIP stand-in: devices, errors, live handles. */
#include "handles.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_once_t once;
    hipError_t result;
    struct emu_device devices[EMU_MAX_DEVICES];
    int ndevices;
    pthread_mutex_t handle_lock;
    struct handle {
        const void *pointer;
        enum emu_handle_kind kind;
    } * handles;
    size_t nhandles, handle_room;
} state = {.once = PTHREAD_ONCE_INIT, .handle_lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int current_device;
static _Thread_local hipError_t last_error;
static _Thread_local char last_text[512];

hipError_t emu_hip_result(hipError_t e)
{
    if (e != hipSuccess)
        last_error = e;
    return e;
}

hipError_t emu_hip_record(hipError_t e, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(last_text, sizeof last_text, format, ap);
    va_end(ap);
    return emu_hip_result(e);
}

const char *emu_last_text(void)
{
    return last_text;
}

hipError_t hipGetLastError(void)
{
    hipError_t e = last_error;
    last_error = hipSuccess;
    return e;
}

hipError_t hipPeekAtLastError(void)
{
    return last_error;
}

static void add_device(const struct emu_gpu *g)
{
    struct emu_device *d = &state.devices[state.ndevices];
    d->index = state.ndevices++;
    d->target = g->target;
    d->name = g->model->name;
    d->family = g->model->family;
    d->wave = g->model->wave;
    d->units = g->model->units;
    d->registers = g->model->registers;
    d->clock_khz = g->model->clock_khz;
    d->memory_khz = g->model->memory_khz;
    d->bus_bits = g->model->bus_bits;
    d->l2_bytes = g->model->l2_kb * 1024;
    d->integrated = g->model->integrated;
    memcpy(d->arch, g->arch, sizeof d->arch);
    pthread_mutex_init(&d->order, NULL);
}

static void start(void)
{
    if (!emu_settings_read(EMU_HIP_USUAL_GPU)) {
        state.result = hipErrorNoDevice;
        return;
    }
    for (unsigned i = 0; i < emu_settings()->gpus; i++)
        add_device(&emu_settings()->gpu[i]);
    for (int i = 0; i < state.ndevices; i++) {
        struct ihipStream_t *s = calloc(1, sizeof *s);
        if (!s) {
            state.result = hipErrorOutOfMemory;
            return;
        }
        s->device = &state.devices[i];
        pthread_mutex_init(&s->own, NULL);
        state.devices[i].null_stream = s;
    }
}

hipError_t emu_hip_start(void)
{
    pthread_once(&state.once, start);
    return state.result;
}

int emu_hip_device_count(void)
{
    return state.ndevices;
}

struct emu_device *emu_hip_device(int index)
{
    return index >= 0 && index < state.ndevices ? &state.devices[index] : NULL;
}

struct emu_device *emu_hip_current(void)
{
    return &state.devices[current_device];
}

hipError_t emu_hip_set_current(int index)
{
    if (!emu_hip_device(index))
        return emu_hip_fail(hipErrorInvalidDevice, "device %d of %d", index, state.ndevices);
    current_device = index;
    return hipSuccess;
}

uint64_t emu_instructions(void)
{
    uint64_t n = 0;
    for (int i = 0; i < state.ndevices; i++)
        n += atomic_load(&state.devices[i].instructions);
    return n;
}

bool emu_handle_add(const void *handle, enum emu_handle_kind kind)
{
    bool ok = true;
    pthread_mutex_lock(&state.handle_lock);
    if (state.nhandles == state.handle_room) {
        size_t room = state.handle_room ? 2 * state.handle_room : 64;
        struct handle *more = realloc(state.handles, room * sizeof *more);
        ok = more != NULL;
        if (ok) {
            state.handles = more;
            state.handle_room = room;
        }
    }
    if (ok)
        state.handles[state.nhandles++] = (struct handle){handle, kind};
    pthread_mutex_unlock(&state.handle_lock);
    return ok;
}

/* Lock held. Newest first: short-lived events and graphs are the usual customers. */
static struct handle *find_handle(const void *handle, enum emu_handle_kind kind)
{
    for (size_t i = state.nhandles; i-- > 0;)
        if (state.handles[i].pointer == handle && state.handles[i].kind == kind)
            return &state.handles[i];
    return NULL;
}

bool emu_handle_live(const void *handle, enum emu_handle_kind kind)
{
    pthread_mutex_lock(&state.handle_lock);
    bool live = find_handle(handle, kind) != NULL;
    pthread_mutex_unlock(&state.handle_lock);
    return live;
}

bool emu_handle_drop(const void *handle, enum emu_handle_kind kind)
{
    pthread_mutex_lock(&state.handle_lock);
    struct handle *h = find_handle(handle, kind);
    if (h)
        *h = state.handles[--state.nhandles];
    pthread_mutex_unlock(&state.handle_lock);
    return h != NULL;
}
