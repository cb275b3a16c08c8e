/* The GPUs that tests of attention run on, all emulated, one after the other. */
#ifndef AOTHIP_TEST_EACH_GPU_H
#define AOTHIP_TEST_EACH_GPU_H

#include "aothip/aothip.h"
#include "device.h"
#include "gpus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Returns 0, or what the visit returned that ended the walk. */
typedef int each_gpu_visit(const struct device *device, struct aothip_context *context, void *with);

/*
 * Emulates `gpus`, "gfx90a,gfx942", and visits every step-th of them whose images are there, until
 * a visit does not return 0. Returns what that visit did, or 99 with the reason on stderr where
 * there is no emulator or no such GPU. With sanitizers the first one is another for another name of
 * the test, so that together they visit all.
 */
static inline int each_gpu(const char *gpus, int step, each_gpu_visit *visit, void *with)
{
    struct device_runtime runtime;
    struct aothip_context *context;
    struct status why = {0};
    const char *name = program_invocation_short_name;
    int result = 0, first = 0;

    if (device_emulate(gpus, &why) || device_open_runtime(&runtime, &why) ||
        aothip_open(NULL, &context)) {
        fprintf(stderr, "%s\n", why.code ? why.text : aothip_last_error());
        return 99;
    }
    if (TAP_SANITIZED && runtime.count > 0)
        first = (int)strlen(name) % (step < runtime.count ? step : runtime.count);
    for (int i = first; i < runtime.count && result == 0; i += step) {
        struct device device;

        if (device_open(&runtime, i, &device, &why)) {
            fprintf(stderr, "%s\n", why.text);
            result = 99;
            break;
        }
        if (aothip_check_device(context, i) == AOTHIP_E_NO_IMAGES)
            fprintf(stderr, "%s: its images were not asked for\n", device.properties.target);
        else
            result = visit(&device, context, with);
        device_close(&device);
    }
    aothip_close(context);
    return result;
}

#endif
