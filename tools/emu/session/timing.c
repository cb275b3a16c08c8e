/* Launches under the clock: who asks for it, and the results that programs fetch. */
#include "timing.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock_result.h"
#include "predict.h"

static struct {
    pthread_mutex_t lock;
    bool on;
    struct emu_time_options options;
    struct emu_time_result **result;
    size_t count, room;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool emu_time_start(const struct emu_time_options *o)
{
    const unsigned known = EMU_TIME_INSTRUCTIONS | EMU_TIME_EVENTS | EMU_TIME_SAMPLES_ONLY |
                           EMU_TIME_EVERYTHING | EMU_TIME_LARGE;

    if (!o || o->size < sizeof *o || o->flags & ~known || !emu_settings_read(EMU_HIP_USUAL_GPU) ||
        emu_settings()->strict)
        return false;
    pthread_mutex_lock(&state.lock);
    state.on = true;
    state.options = *o;
    pthread_mutex_unlock(&state.lock);
    return true;
}

void emu_time_stop(void)
{
    pthread_mutex_lock(&state.lock);
    state.on = false;
    pthread_mutex_unlock(&state.lock);
}

size_t emu_time_count(void)
{
    size_t n;

    pthread_mutex_lock(&state.lock);
    n = state.count;
    pthread_mutex_unlock(&state.lock);
    return n;
}

const struct emu_time_result *emu_time_get(size_t i)
{
    const struct emu_time_result *r;

    pthread_mutex_lock(&state.lock);
    r = i < state.count ? state.result[i] : NULL;
    pthread_mutex_unlock(&state.lock);
    return r;
}

void emu_time_clear(void)
{
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < state.count; i++)
        emu_clock_result_free(state.result[i]);
    free(state.result);
    state.result = NULL;
    state.count = state.room = 0;
    pthread_mutex_unlock(&state.lock);
}

struct emu_timing emu_timing_begin(struct emu_launch *l, bool whole)
{
    const struct emu_settings *set = emu_settings();
    struct emu_timing t = {0};
    unsigned limit;

    pthread_mutex_lock(&state.lock);
    t.kept = state.on;
    t.options = state.options;
    pthread_mutex_unlock(&state.lock);
    if (!t.kept && !set->time)
        return t;
    if (!t.kept)
        t.options = (struct emu_time_options){
            .size = sizeof t.options,
            .flags = set->time == EMU_TIME_BY_SAMPLES ? EMU_TIME_SAMPLES_ONLY
                     : set->time == EMU_TIME_OF_ALL   ? EMU_TIME_EVERYTHING
                                                      : 0};
    if (whole)
        t.options.flags &= ~(unsigned)EMU_TIME_SAMPLES_ONLY;
    if (t.options.flags & EMU_TIME_EVERYTHING)
        t.options.sample_limit = UINT32_MAX;
    limit = t.options.sample_limit;
    if (t.options.flags & EMU_TIME_LARGE && !limit)
        limit = EMU_CLOCK_USUAL;
    if (!l->strict)
        l->clock = emu_clock_recorder_new(l->grid, limit, t.options.flags & EMU_TIME_SAMPLES_ONLY);
    if (l->clock && !t.options.sample_limit)
        l->clock->most = EMU_CLOCK_MOST;
    return t;
}

static void keep(struct emu_time_result *r)
{
    pthread_mutex_lock(&state.lock);
    if (state.count == state.room) {
        const size_t n = state.room ? 2 * state.room : 64;
        struct emu_time_result **p = realloc(state.result, n * sizeof(struct emu_time_result *));

        if (p) {
            state.result = p;
            state.room = n;
        }
    }
    if (state.count < state.room)
        state.result[state.count++] = r;
    else
        emu_clock_result_free(r);
    pthread_mutex_unlock(&state.lock);
}

void emu_timing_end(struct emu_timing *t, struct emu_launch *l, const struct emu_gpu *gpu, bool ran)
{
    if (l->clock && ran)
        t->result =
            emu_clock_predict(l, gpu->arch, gpu->model->units, gpu->model->registers, &t->options);
    emu_clock_recorder_free(l->clock);
    l->clock = NULL;
}

/* What the environment wished for is also said on stderr. */
void emu_timing_give(struct emu_timing *t)
{
    const struct emu_time_result *r = t->result;

    if (!r)
        return;
    if (!t->kept && r->timed)
        fprintf(stderr,
                "hipemu: %s on %s: %.0f cycles (%.0f to %.0f), %.1f us at %.2f GHz, matrix pipe "
                "%.0f %%, bound by %s%s\n",
                r->kernel, r->target, r->cycles.middle, r->cycles.low, r->cycles.high,
                r->microseconds.middle, r->gigahertz, 100 * r->matrix_busy,
                emu_time_cause_name(r->bound), r->extrapolated ? " (extrapolated)" : "");
    else if (!t->kept)
        fprintf(stderr, "hipemu: %s on %s: not timed: %s\n", r->kernel, r->target, r->why);
    if (t->kept)
        keep(t->result);
    else
        emu_clock_result_free(t->result);
}
