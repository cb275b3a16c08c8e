/*
 * Sampling against simulating everything: what the model makes of a launch by its own choice, and
 * what at most 32 recorded workgroups say of it where they suffice, beside every workgroup of it
 * simulated on the unit that it goes to. Within 2 %.
 */
#include "clock_calls.h"
#include "gpus.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static const struct problem problems[] = {
    {"d64", 3, 8, 8, 512, 128, 64, 0, 0, AOTHIP_F16},
    {"d128", 3, 8, 8, 512, 128, 128, 0, 0, AOTHIP_F16},
    {"d64 causal", 2, 8, 8, 512, 512, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16},
    {"d128 causal", 1, 8, 8, 512, 512, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16},
    {"d64, odd lengths", 3, 7, 7, 301, 131, 64, 0, 0, AOTHIP_F16},
    {"d128, odd lengths", 3, 5, 5, 301, 131, 128, 0, 0, AOTHIP_F16},
    /* many short workgroups that differ */
    {"d64 causal, 40 heads", 1, 40, 40, 384, 384, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16},
    {"d64 causal, 5 of 8", 5, 8, 8, 512, 512, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16},
};

enum { PROBLEMS = sizeof(problems) / sizeof(problems[0]), BY_SAMPLES = 6, SAMPLES = 32 };

static double clocks(struct calls *c)
{
    double sum = 0;

    for (size_t i = 0; i < c->time.count(); i++)
        sum += c->time.get(i)->cycles.middle;
    return sum;
}

static int compare(struct calls *c, const struct device *device, char *memory)
{
    const char *target = device->properties.target;

    for (size_t i = 0; i < PROBLEMS; i++) {
        const struct problem *p = &problems[i];
        double all, some = 0, off = 100;
        bool good = calls_time(c, device, memory, p, EMU_TIME_EVERYTHING, UINT32_MAX);

        all = clocks(c);
        /* the last one as the environment asks for it */
        good =
            good && calls_time(c, device, memory, p, i + 1 < PROBLEMS ? EMU_TIME_SAMPLES_ONLY : 0,
                               i < BY_SAMPLES ? SAMPLES : 0);
        if (good) {
            some = clocks(c);
            off = 100 * (some / all - 1);
        }
        ok(good && fabs(off) <= 2, "%.*s, %s: %.0f clocks by samples, %.0f by all, %+.2f %%",
           (int)strcspn(target, ":"), target, p->name, some, all, off);
        tap_diag("%u units, %u resident, %.2f rounds", c->time.get(0)->units,
                 c->time.get(0)->resident, c->time.get(0)->rounds);
    }
    return 1;
}

int main(void)
{
    struct calls c = {0};

    if (!calls_open(&c, gpus_asked(GPUS_REFERENCE)))
        ok(false, "the emulator's clock");
    else
        ok(calls_devices(&c, compare), "all devices");
    return tap_done();
}
