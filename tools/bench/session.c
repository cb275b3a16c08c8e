/* Runs a shape on the device: by its clock, under the emulator's clock, or to be counted. */
#include "session.h"

#include "attn.h"
#include "bench_tensors.h"
#include "cli.h"
#include "elsewhere.h"
#include "event_times.h"
#include "measure.h"
#include "profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What was asked for must fit the runtime that was found. */
static int choose_kind(struct bench_session *s, struct status *why)
{
    const struct bench_wishes *w = s->wishes;
    const char *option = w->counts ? "--counts" : w->profile ? "--profile" : "--timeline";

    s->kind = !s->runtime.emulated ? BENCH_TIMED : w->counts ? BENCH_COUNTED : BENCH_PREDICTED;
    s->beside = s->kind == BENCH_TIMED && w->beside;
    if (s->kind == BENCH_TIMED && (w->counts || w->profile || w->timeline))
        return status_set(why, AOTHIP_E_NO_HIP, "%s needs the emulator; add --emulate GPU", option);
    if (s->kind == BENCH_PREDICTED &&
        (device_time_open(&s->runtime, &s->time, why) || device_time_start(&s->time, 0, why)))
        return why->code;
    if (s->kind == BENCH_PREDICTED)
        s->time.stop();
    if (w->timeline)
        s->timeline = timeline_open(w->timeline, why);
    return why->code;
}

/* What the emulator reads when it starts. */
static int set_clock(const struct bench_wishes *w, struct status *why)
{
    if (w->clock && access(w->clock, R_OK))
        return status_set(why, AOTHIP_E_IO, "--clock %s: %s", w->clock, strerror(errno));
    if (w->clock && setenv("AOTHIP_EMU_CLOCK", w->clock, 1))
        return status_set(why, AOTHIP_E_MEMORY, "no memory");
    return AOTHIP_OK;
}

int bench_session_measure(const struct bench_wishes *w, const char *file)
{
    struct device_runtime runtime = {0};
    struct device device = {0};
    struct device_time time;
    struct status why;

    status_clear(&why);
    if (!set_clock(w, &why) && (!w->emulate || !device_emulate(w->emulate, &why)) &&
        !device_open_runtime(&runtime, &why) && !device_open(&runtime, w->device, &device, &why) &&
        (!runtime.emulated || !device_time_open(&runtime, &time, &why)))
        bench_measure(&device, runtime.emulated ? &time : NULL, file, &why);
    device_close(&device);
    if (why.code)
        cli_say("%s", why.text);
    return why.code ? -1 : 0;
}

int bench_session_open(struct bench_session *s, const struct bench_wishes *wishes)
{
    struct status why;

    memset(s, 0, sizeof(*s));
    status_clear(&why);
    s->wishes = wishes;
    if (aothip_open(wishes->images, &s->context)) {
        cli_say("%s", aothip_last_error());
        return -1;
    }
    if (wishes->counts && bench_counting_open(&s->counting))
        return -1;
    if (set_clock(wishes, &why) || (wishes->emulate && device_emulate(wishes->emulate, &why)) ||
        device_open_runtime(&s->runtime, &why) ||
        device_open(&s->runtime, wishes->device, &s->device, &why) || choose_kind(s, &why)) {
        const int none = why.code == AOTHIP_E_NO_DEVICE || !*s->runtime.file;

        cli_say("%s%s", why.text,
                none && !wishes->emulate && !s->runtime.count ? "; --emulate GPU predicts without"
                                                              : "");
        return -1;
    }
    return 0;
}

int bench_session_close(struct bench_session *s)
{
    struct status why;

    status_clear(&why);
    if (timeline_close(s->timeline, &why))
        cli_say("%s", why.text);
    device_close(&s->device);
    aothip_close(s->context);
    bench_counting_close(&s->counting);
    return why.code ? -1 : 0;
}

/* A launch on the emulator, whose time is predicted. */
static void predict(struct bench_session *s, const struct attn_call *call, struct bench_result *r)
{
    const struct device_time *time = &s->time;

    time->clear();
    if (attn_launch(&s->device, s->context, call, &r->why) || device_finish(&s->device, &r->why) ||
        bench_prediction_sum(time, &r->prediction, &r->why))
        return;
    for (size_t i = 0; i < time->count(); i++) {
        if (s->wishes->profile)
            profile_print(time, time->get(i));
        if (s->timeline)
            timeline_add(s->timeline, time->get(i), &r->why);
    }
}

static void count(struct bench_session *s, const struct attn_call *call, struct bench_result *r)
{
    if (attn_launch(&s->device, s->context, call, &r->why) || device_finish(&s->device, &r->why))
        return;
    bench_counting_read(&s->counting, &r->counters, &r->why);
}

static void measure(struct bench_session *s, const struct attn_call *call, struct bench_result *r)
{
    const int repeat = s->wishes->repeat;
    float *times = calloc((size_t)repeat, sizeof(*times));

    if (!times) {
        status_set(&r->why, AOTHIP_E_MEMORY, "no memory for %d times", repeat);
        return;
    }
    for (int i = 0; i < s->wishes->warm_up && !r->why.code; i++)
        attn_launch(&s->device, s->context, call, &r->why);
    if (!r->why.code)
        device_finish(&s->device, &r->why);
    if (!r->why.code && !bench_time_calls(&s->device, s->context, call, repeat, times, &r->why)) {
        if (!(times[0] > 0))
            status_set(&r->why, AOTHIP_E_HIP, "a call took %g ms by the device's clock",
                       (double)times[0]);
        r->fastest = (double)times[0] / 1e3;
        r->median = (double)(times[repeat / 2] + times[(repeat - 1) / 2]) / 2e3;
    }
    free(times);
}

/* Lets the forward pass make what the backward pass reads: o and lse. Not where times are
 * predicted: only samples of it would run there, and leave the other rows of lse out of step with q
 * and k. What the tensors were made with does. */
static enum aothip_status make_outputs(struct bench_session *s, const struct attn_call *call,
                                       struct bench_result *r)
{
    if (s->kind == BENCH_PREDICTED)
        return AOTHIP_OK;
    if (aothip_attn_fwd(s->context, &call->fwd, s->device.stream))
        return status_set(&r->why, AOTHIP_E_HIP, "%s", aothip_last_error());
    if (device_finish(&s->device, &r->why))
        return r->why.code;
    if (s->kind != BENCH_COUNTED)
        return AOTHIP_OK;
    return bench_counting_read(&s->counting, &r->counters, &r->why);
}

static void run_call(struct bench_session *s, const struct attn_call *call, struct bench_result *r)
{
    const unsigned show = s->wishes->profile || s->timeline ? EMU_TIME_INSTRUCTIONS : 0;
    const unsigned events = s->timeline ? EMU_TIME_EVENTS : 0;

    if (s->kind == BENCH_PREDICTED &&
        device_time_start(&s->time, EMU_TIME_SAMPLES_ONLY | show | events, &r->why))
        return;
    if (!r->shape.backward || !make_outputs(s, call, r)) {
        if (s->kind == BENCH_PREDICTED)
            predict(s, call, r);
        else if (s->kind == BENCH_COUNTED)
            count(s, call, r);
        else
            measure(s, call, r);
    }
    if (s->kind == BENCH_PREDICTED)
        s->time.stop();
}

void bench_session_run(struct bench_session *s, struct bench_result *r)
{
    struct attn_call call;
    struct bench_tensors t;
    int failed;

    if (bench_tensors_make(&r->shape, &t)) {
        status_set(&r->why, AOTHIP_E_MEMORY, "no memory for the tensors");
        bench_tensors_free(&t);
        return;
    }
    failed = r->shape.backward
                 ? attn_upload_bwd(&s->device, s->context, &t.bwd, &call, &r->why)
                 : attn_upload_fwd(&s->device, s->context, &t.fwd, ATTN_FWD, &call, &r->why);
    if (!failed) {
        run_call(s, &call, r);
        attn_release(&s->device, &call);
    }
    bench_tensors_free(&t);
    if (s->beside && !r->why.code)
        bench_prediction_elsewhere(s->device.properties.target, s->wishes->images, &r->shape,
                                   &r->prediction);
}
