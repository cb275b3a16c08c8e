/* State of the HIP stand-in: devices and settings from the environment, errors, live handles. */
#include "handles.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a device of each processor reports. Figures of a common product of that processor; the
 * registers are those of LLVM's tables (Feature1_5xVGPRs: 1536, else 1024).
 */
static const struct model {
    const char *processor, *suffix, *name;
    enum emu_family family;
    unsigned wave, units, registers, clock_khz, memory_khz, bus_bits, l2_kb;
    bool integrated;
} models[] = {
    {"gfx90a", ":sramecc+:xnack-", "AMD Instinct MI250X", EMU_GFX90A, 64, 110, 512, 1700000,
     1600000, 4096, 8192, false},
    {"gfx942", ":sramecc+:xnack-", "AMD Instinct MI300X", EMU_GFX942, 64, 304, 512, 2100000,
     1300000, 8192, 4096, false},
    {"gfx950", ":sramecc+:xnack-", "AMD Instinct MI355X", EMU_GFX950, 64, 256, 512, 2400000,
     2000000, 8192, 4096, false},
    {"gfx1100", "", "AMD Radeon RX 7900 XTX", EMU_GFX11, 32, 48, 1536, 2498000, 1249000, 384, 6144,
     false},
    {"gfx1101", "", "AMD Radeon RX 7800 XT", EMU_GFX11, 32, 30, 1536, 2430000, 1219000, 256, 4096,
     false},
    {"gfx1102", "", "AMD Radeon RX 7600", EMU_GFX11, 32, 16, 1024, 2655000, 1124000, 128, 2048,
     false},
    {"gfx1103", "", "AMD Radeon 780M", EMU_GFX11, 32, 6, 1024, 2700000, 2800000, 128, 2048, true},
    {"gfx1150", "", "AMD Radeon 890M", EMU_GFX11_5, 32, 8, 1024, 2900000, 3750000, 128, 2048, true},
    {"gfx1151", "", "AMD Radeon 8060S", EMU_GFX11_5, 32, 20, 1536, 2900000, 4000000, 256, 2048,
     true},
    {"gfx1152", "", "AMD Radeon 860M", EMU_GFX11_5, 32, 4, 1024, 2800000, 3750000, 128, 1024, true},
    {"gfx1153", "", "AMD Radeon 840M", EMU_GFX11_5, 32, 2, 1024, 2800000, 3750000, 128, 1024, true},
};

static struct {
    pthread_once_t once;
    hipError_t result;
    struct emu_settings settings;
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

static bool add_device(const char *text, size_t n)
{
    char err[256] = "";
    struct emu_target stated, t;
    if (state.ndevices == EMU_MAX_DEVICES) {
        fprintf(stderr, "hipemu: AOTHIP_EMU_GPU names more than %d devices\n", EMU_MAX_DEVICES);
        return false;
    }
    if (!emu_target_parse(text, n, &stated, err, sizeof err))
        stated.processor[0] = 0;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const struct model *m = &models[i];
        char full[64];
        if (strcmp(m->processor, stated.processor) != 0)
            continue;
        snprintf(full, sizeof full, "%s%s", m->processor, m->suffix);
        emu_target_parse(full, strlen(full), &t, NULL, 0);
        /* A device always states its features; what the user left out is the usual setting. */
        if (stated.xnack >= EMU_FEATURE_OFF)
            t.xnack = stated.xnack;
        if (stated.sramecc >= EMU_FEATURE_OFF)
            t.sramecc = stated.sramecc;
        struct emu_device *d = &state.devices[state.ndevices];
        d->index = state.ndevices++;
        d->target = t;
        d->name = m->name;
        d->family = m->family;
        d->wave = m->wave;
        d->units = m->units;
        d->registers = m->registers;
        d->clock_khz = m->clock_khz;
        d->memory_khz = m->memory_khz;
        d->bus_bits = m->bus_bits;
        d->l2_bytes = m->l2_kb * 1024;
        d->integrated = m->integrated;
        emu_target_print(&t, d->arch);
        pthread_mutex_init(&d->order, NULL);
        return true;
    }
    fprintf(stderr, "hipemu: AOTHIP_EMU_GPU: '%.*s'%s%s; known:", (int)n, text, *err ? ": " : "",
            *err ? err : " is not emulated");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        fprintf(stderr, " %s", models[i].processor);
    fprintf(stderr, "\n");
    return false;
}

static bool read_number(const char *name, uint64_t *out)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text)
        return true;
    errno = 0;
    *out = strtoull(text, &end, 0);
    if (errno || *end || *text == '-') {
        fprintf(stderr, "hipemu: %s=%s is not a number\n", name, text);
        return false;
    }
    return true;
}

/* Index of the variable's value in a list of words, the first word being the default. */
static bool read_word(const char *name, const char *const *words, unsigned *out)
{
    const char *text = getenv(name);
    *out = 0;
    if (!text || !*text)
        return true;
    for (unsigned i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return true;
        }
    fprintf(stderr, "hipemu: %s=%s is not one of:", name, text);
    for (unsigned i = 0; words[i]; i++)
        fprintf(stderr, " %s", words[i]);
    fprintf(stderr, "\n");
    return false;
}

static bool read_environment(void)
{
    static const char *const modes[] = {"plain", "strict", NULL};
    static const char *const matrix[] = {"f32", "exact", "hw", "adversarial", NULL};
    static const enum emu_matrix_mode kinds[] = {EMU_MATRIX_F32, EMU_MATRIX_EXACT, EMU_MATRIX_HW,
                                                 EMU_MATRIX_ADVERSARIAL};
    static const char *const waits[] = {"fault", "warn", NULL};
    static const char *const hosts[] = {"avx512", "avx2", "base", NULL};
    static const char *const times[] = {"0", "1", "samples", "everything", NULL};
    const char *gpus = getenv("AOTHIP_EMU_GPU");
    unsigned mode, kind, wait, host;
    uint64_t threads = 0;
    struct emu_settings *s = &state.settings;
    if (!read_word("AOTHIP_EMU_MODE", modes, &mode) ||
        !read_word("AOTHIP_EMU_MATRIX", matrix, &kind) ||
        !read_word("AOTHIP_EMU_WAITS", waits, &wait) ||
        !read_word("AOTHIP_EMU_CPU", hosts, &host) ||
        !read_word("AOTHIP_EMU_TIME", times, &s->time) ||
        !read_number("AOTHIP_EMU_SEED", &s->seed) || !read_number("AOTHIP_EMU_THREADS", &threads))
        return false;
    emu_host_limit((enum emu_host)(EMU_HOST_AVX512 - host));
    s->strict = mode == 1;
    s->warn_waits = wait == 1;
    s->matrix = kinds[kind];
    s->threads = threads > 256 ? 256 : (unsigned)threads;
    s->counters = getenv("AOTHIP_EMU_COUNTERS");
    if (s->counters && !*s->counters)
        s->counters = NULL;
    if (!gpus || !*gpus)
        gpus = "gfx942";
    while (*gpus) {
        size_t n = strcspn(gpus, ",;");
        if (!add_device(gpus, n))
            return false;
        gpus += n + (gpus[n] != 0);
    }
    return true;
}

static void start(void)
{
    if (!read_environment()) {
        state.ndevices = 0;
        state.result = hipErrorNoDevice;
        return;
    }
    emu_mem_track(state.settings.strict);
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

void emu_set_strict(bool on)
{
    state.settings.strict = on;
}

const struct emu_settings *emu_hip_settings(void)
{
    return &state.settings;
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
