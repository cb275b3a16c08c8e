/* Launches a kernel of --measure and says how long it took. */
#include "probe.h"

#include "measure_code.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 5 };

struct arguments {
    void *data, *out;
    uint32_t loops, stride, mask, region;
};

static int failed(struct probe *p, const char *symbol, hipError_t error)
{
    hip_fail(&p->device->runtime->hip, symbol, error, p->why);
    return 0;
}

static const struct measure_code *find_code(const char *target)
{
    const size_t n = strcspn(target, ":");
    const struct measure_code *code = measure_codes;

    while (code->gpu && (strlen(code->gpu) != n || strncmp(code->gpu, target, n) != 0))
        code++;
    return code->gpu ? code : NULL;
}

enum aothip_status probe_open(struct probe *p, const struct device *device,
                              const struct device_time *time, size_t bytes, struct status *why)
{
    const struct hip *hip = &device->runtime->hip;
    const struct measure_code *code = find_code(device->properties.target);
    void *data = NULL;
    hipError_t error;

    *p = (struct probe){.device = device, .time = time, .bytes = bytes, .why = why};
    if (!code)
        return status_set(why, AOTHIP_E_NO_IMAGES, "--measure has no kernels for %s",
                          device->properties.target);
    error = hip->module_load_data(&p->module, code->code);
    if (error != hipSuccess)
        return hip_fail_for(hip, "the kernels of --measure", "hipModuleLoadData", error, why);
    if (device_alloc(device, bytes, &data, why) ||
        device_alloc(device, PROBE_GROUPS * sizeof(uint32_t), &p->out, why)) {
        device_free(device, data);
        return why->code;
    }
    p->data = data;
    /* so that it is there; the emulator's is as soon as it is touched */
    error = time ? hipSuccess : hip->fill(data, 0, bytes);
    if (error != hipSuccess)
        return hip_fail(hip, "hipMemset", error, why);
    return AOTHIP_OK;
}

void probe_close(struct probe *p)
{
    if (!p->device)
        return;
    device_free(p->device, p->data);
    device_free(p->device, p->out);
    if (p->module)
        p->device->runtime->hip.module_unload(p->module);
}

static int launch(struct probe *p, const struct probe_launch *l)
{
    const struct hip *hip = &p->device->runtime->hip;
    struct arguments a = {p->data + l->offset, p->out, l->loops, l->stride, l->mask, l->region};
    size_t size = sizeof(a);
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &a, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    hipFunction_t function = NULL;
    hipError_t error = hip->module_get_function(&function, p->module, l->kernel);

    if (error != hipSuccess) {
        hip_fail_for(hip, l->kernel, "hipModuleGetFunction", error, p->why);
        return 0;
    }
    error = hip->module_launch_kernel(function, l->groups, 1, 1, l->block, 1, 1, 0,
                                      p->device->stream, NULL, extra);
    return error == hipSuccess || failed(p, "hipModuleLaunchKernel", error);
}

/* By the emulator's clock. */
static int predict(struct probe *p, const struct probe_launch *l, struct probe_result *r)
{
    const struct emu_time_result *t;
    int good;

    if (device_time_start(p->time, EMU_TIME_SAMPLES_ONLY, p->why))
        return 0;
    good = launch(p, l) && !device_finish(p->device, p->why);
    p->time->stop();
    if (!good)
        return 0;
    t = p->time->count() ? p->time->get(p->time->count() - 1) : NULL;
    if (!t || !t->timed) {
        status_set(p->why, AOTHIP_E_HIP, "%s: not timed: %s", l->kernel, t ? t->why : "");
        return 0;
    }
    *r = (struct probe_result){.clocks = t->group_cycles, .seconds = t->microseconds.middle / 1e6};
    return 1;
}

/* The mean of what the workgroups' own counters say. */
static int read_clocks(struct probe *p, unsigned groups, double *clocks)
{
    uint32_t *each = calloc(groups, sizeof(*each));
    double sum = 0;

    if (!each || device_download(p->device, each, p->out, groups * sizeof(*each), p->why)) {
        if (!each)
            status_set(p->why, AOTHIP_E_MEMORY, "no memory for %u counters", groups);
        free(each);
        return 0;
    }
    for (unsigned i = 0; i < groups; i++)
        sum += each[i];
    free(each);
    *clocks = sum / groups;
    return 1;
}

/* Once, by the GPU's own counters and events. */
static int measure(struct probe *p, const struct probe_launch *l, struct probe_result *r)
{
    const struct hip *hip = &p->device->runtime->hip;
    hipEvent_t event[2] = {NULL, NULL};
    const char *symbol = "hipEventCreate";
    hipError_t error = hip->event_create(&event[0]);
    float ms = 0;
    int good = 1;

    if (error == hipSuccess)
        error = hip->event_create(&event[1]);
    if (error == hipSuccess) {
        symbol = "hipEventRecord";
        error = hip->event_record(event[0], p->device->stream);
        good = error == hipSuccess && launch(p, l);
        if (good)
            error = hip->event_record(event[1], p->device->stream);
    }
    if (good && error == hipSuccess) {
        symbol = "hipEventSynchronize";
        error = hip->event_synchronize(event[1]);
    }
    if (good && error == hipSuccess) {
        symbol = "hipEventElapsedTime";
        error = hip->event_elapsed(&ms, event[0], event[1]);
    }
    for (int i = 0; i < 2; i++)
        if (event[i])
            hip->event_destroy(event[i]);
    if (error != hipSuccess)
        return failed(p, symbol, error);
    r->seconds = (double)ms / 1e3;
    return good && read_clocks(p, l->groups, &r->clocks);
}

int probe_run(struct probe *p, const struct probe_launch *l, struct probe_result *r)
{
    struct probe_result most = {0};

    if (l->groups > PROBE_GROUPS || l->offset >= p->bytes) {
        status_set(p->why, AOTHIP_E_ARGUMENT, "%s: %u workgroups are too many", l->kernel,
                   l->groups);
        return 0;
    }
    if (p->time)
        return predict(p, l, r);
    for (int i = 0; i < REPEATS; i++) {
        struct probe_result once;

        if (!measure(p, l, &once))
            return 0;
        if (!i)
            *r = most = once;
        r->clocks = once.clocks < r->clocks ? once.clocks : r->clocks;
        r->seconds = once.seconds < r->seconds ? once.seconds : r->seconds;
        most.clocks = once.clocks > most.clocks ? once.clocks : most.clocks;
    }
    r->spread = r->clocks > 0 ? most.clocks / r->clocks - 1 : 0;
    return 1;
}

int probe_warm(struct probe *p, const struct probe_launch *l)
{
    struct probe_result r = {0};
    double seconds = 0;

    for (int i = 0; !p->time && seconds < 1 && i < 20000; i++) {
        if (!measure(p, l, &r))
            return 0;
        seconds += r.seconds;
    }
    return 1;
}
