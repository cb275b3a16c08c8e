/* Reads the emulator's environment variables: which GPUs there are, and how kernels run. */
#include "settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_file.h"
#include "memory_map.h"

static struct {
    pthread_mutex_t lock;
    bool begun, good;
    struct emu_settings settings;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Says why not, and what would do. */
static void refuse_gpu(const char *text, size_t n, const char *err)
{
    fprintf(stderr, "hipemu: AOTHIP_EMU_GPU: '%.*s'%s%s; known:", (int)n, text, *err ? ": " : "",
            *err ? err : " is not emulated");
    for (unsigned i = 0; emu_model_at(i); i++)
        fprintf(stderr, " %s", emu_model_at(i)->processor);
    fprintf(stderr, "\n");
}

static bool add_gpu(const char *text, size_t n)
{
    struct emu_settings *s = &state.settings;
    char err[256] = "", full[64];
    struct emu_target stated, t;
    if (s->gpus == EMU_MAX_DEVICES) {
        fprintf(stderr, "hipemu: AOTHIP_EMU_GPU names more than %d devices\n", EMU_MAX_DEVICES);
        return false;
    }
    if (!emu_target_parse(text, n, &stated, err, sizeof err))
        stated.processor[0] = 0;
    const struct emu_model *m = emu_model_find(stated.processor);
    if (!m) {
        refuse_gpu(text, n, err);
        return false;
    }
    snprintf(full, sizeof full, "%s%s", m->processor, m->suffix);
    emu_target_parse(full, strlen(full), &t, NULL, 0);
    /* A device always states its features; what the user left out is the usual setting. */
    if (stated.xnack >= EMU_FEATURE_OFF)
        t.xnack = stated.xnack;
    if (stated.sramecc >= EMU_FEATURE_OFF)
        t.sramecc = stated.sramecc;
    struct emu_gpu *g = &s->gpu[s->gpus];
    g->index = (int)s->gpus++;
    g->model = m;
    g->target = t;
    emu_target_print(&t, g->arch);
    return true;
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

static bool read_gpus(const char *usual_gpu)
{
    const char *gpus = getenv("AOTHIP_EMU_GPU");
    if (!gpus || !*gpus)
        gpus = usual_gpu;
    while (*gpus) {
        size_t n = strcspn(gpus, ",;");
        if (!add_gpu(gpus, n))
            return false;
        gpus += n + (gpus[n] != 0);
    }
    return true;
}

/* Parameters of the clock in the place of its tables'. */
static bool read_clock(void)
{
    const char *path = getenv("AOTHIP_EMU_CLOCK");
    char why[512];

    if (!path || !*path || emu_clock_file_read(path, why, sizeof why))
        return true;
    fprintf(stderr, "hipemu: AOTHIP_EMU_CLOCK=%s\n", why);
    return false;
}

static bool read_environment(const char *usual_gpu)
{
    static const char *const modes[] = {"plain", "strict", NULL};
    static const char *const matrix[] = {"f32", "exact", "hw", "adversarial", NULL};
    static const enum emu_matrix_mode kinds[] = {EMU_MATRIX_F32, EMU_MATRIX_EXACT, EMU_MATRIX_HW,
                                                 EMU_MATRIX_ADVERSARIAL};
    static const char *const waits[] = {"fault", "warn", NULL};
    static const char *const hosts[] = {"avx512", "avx2", "base", NULL};
    static const char *const times[] = {"0", "1", "samples", "everything", NULL};
    unsigned mode, kind, wait, host;
    uint64_t threads = 0;
    struct emu_settings *s = &state.settings;
    s->limit = 2000000000;
    if (!read_word("AOTHIP_EMU_MODE", modes, &mode) ||
        !read_word("AOTHIP_EMU_MATRIX", matrix, &kind) ||
        !read_word("AOTHIP_EMU_WAITS", waits, &wait) ||
        !read_word("AOTHIP_EMU_CPU", hosts, &host) ||
        !read_word("AOTHIP_EMU_TIME", times, &s->time) ||
        !read_number("AOTHIP_EMU_SEED", &s->seed) || !read_number("AOTHIP_EMU_LIMIT", &s->limit) ||
        !read_number("AOTHIP_EMU_THREADS", &threads) ||
        !read_clock())
        return false;
    emu_host_limit((enum emu_host)(EMU_HOST_AVX512 - host));
    s->strict = mode == 1;
    s->warn_waits = wait == 1;
    s->matrix = kinds[kind];
    s->threads = threads > 256 ? 256 : (unsigned)threads;
    s->counters = getenv("AOTHIP_EMU_COUNTERS");
    if (s->counters && !*s->counters)
        s->counters = NULL;
    return read_gpus(usual_gpu);
}

bool emu_settings_read(const char *usual_gpu)
{
    pthread_mutex_lock(&state.lock);
    if (!state.begun) {
        state.begun = true;
        state.good = read_environment(usual_gpu);
        if (state.good)
            emu_mem_track(state.settings.strict);
        else
            state.settings.gpus = 0;
    }
    bool good = state.good;
    pthread_mutex_unlock(&state.lock);
    return good;
}

const struct emu_settings *emu_settings(void)
{
    return &state.settings;
}

void emu_set_strict(bool on)
{
    state.settings.strict = on;
}
