/*
 * Sampling against simulating everything: what the model makes of a launch by its own choice, and
 * what at most 32 recorded workgroups say of it where they suffice, beside every workgroup of it
 * simulated on the unit that it goes to; and small launches of several rounds as if they were
 * large. Within 2 %, but for some whose rounds are decided by about that.
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
    /* units with as much work differ by what they share with others */
    {"d128, odd lengths", 3, 4, 4, 301, 131, 128, 0, 0, AOTHIP_F16},
    /* many short workgroups that differ */
    {"d64 causal, 40 heads", 1, 40, 40, 384, 384, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16},
    {"d64 causal, 5 of 8", 5, 8, 8, 512, 512, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16},
};

#define FEW_UNITS "gfx1153"

enum { PROBLEMS = sizeof(problems) / sizeof(problems[0]), BY_SAMPLES = 6, SAMPLES = 32 };

static double clocks(struct calls *c)
{
    double sum = 0;

    for (size_t i = 0; i < c->time.count(); i++)
        sum += c->time.get(i)->cycles.middle;
    return sum;
}

/* As if they were large, each for the GPU that it takes so many rounds on. */
static const struct {
    const char *gpu;
    double most; /* percent that it may be off */
    struct problem problem;
} several[] = {
    /* where the order of ends that are nearly one decides who gets a workgroup more */
    {"gfx90a",
     2,
     {"1.9 rounds, causal", 2, 70, 70, 384, 384, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16}},
    {"gfx942", 2, {"1.7 rounds", 8, 128, 128, 128, 64, 64, 0, 0, AOTHIP_F16}},
    /* two steps a workgroup: who begins while another one loads is chance */
    {"gfx1100", 2.5, {"5.3 rounds", 8, 112, 112, 128, 64, 64, 0, 0, AOTHIP_F16}},
    {"gfx1100",
     2,
     {"2.1 rounds, causal", 1, 118, 118, 384, 384, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16}},
    /* whose workgroups on a unit end one after the other, not all at once */
    {"gfx1151",
     2.5,
     {"2.1 rounds, shared keys", 4, 9, 3, 512, 512, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0,
      AOTHIP_F16}},
    /* memory is shared nine workgroups apart */
    {"gfx1151", 2, {"1.7 rounds of 9 heads", 2, 9, 9, 700, 512, 128, 0, BIAS, AOTHIP_BF16}},
    /* eight dies: tiles of a head are on one of them, which is seen all the same */
    {"gfx942",
     2,
     {"2.4 rounds, causal", 2, 72, 72, 640, 640, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16}},
    /* whether a unit gets a fourth workgroup hangs on less than a percent of another's time */
    {"gfx942", 3, {"1.5 rounds of 77 keys", 76, 12, 12, 77, 77, 64, 0, 0, AOTHIP_F16}},
    {"gfx90a", 5, {"3.5 rounds of 77 keys", 64, 12, 12, 77, 77, 64, 0, 0, AOTHIP_F16}},
    /* each two launches: parts of the keys, and what puts them together */
    {"gfx90a", 2, {"decode, keys in parts", 1, 32, 8, 1, 8192, 128, 0, 0, AOTHIP_F16}},
    {"gfx942", 2, {"decode, keys in parts", 4, 32, 8, 1, 4096, 128, 0, 0, AOTHIP_BF16}},
    {"gfx1100", 2, {"decode, keys in parts", 3, 12, 4, 1, 5000, 128, 0, 0, AOTHIP_F16}},
    {"gfx1151", 2, {"decode, keys in parts", 16, 8, 1, 1, 4096, 64, 0, 0, AOTHIP_F16}},
};

/* As if they were so large that the rounds of a few units have to tell: workgroups take long, and
 * there are few rounds of them. On a GPU of two units, where everything is soon simulated. */
static const struct problem rounds[] = {
    {"3.5 rounds of 4096 keys", 1, 7, 7, 256, 4096, 64, 0, 0, AOTHIP_F16},
    /* so long that they are made shorter */
    {"3.5 rounds of 20480 keys", 1, 7, 7, 256, 20480, 64, 0, 0, AOTHIP_F16},
    {"12 rounds, causal", 1, 3, 3, 2048, 2048, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_F16},
    /* so many that the pace of a part tells the rest, of workgroups of all lengths */
    {"53 rounds, causal", 1, 9, 9, 3000, 3000, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_BF16},
    {"41 rounds, causal", 2, 5, 5, 2100, 2100, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, AOTHIP_BF16},
};

static void compare_one(struct calls *c, const struct device *device, char *memory,
                        const struct problem *p, unsigned flags, unsigned samples, double most)
{
    const char *target = device->properties.target;
    double all, some = 0, off = 100;
    bool good = calls_time(c, device, memory, p, EMU_TIME_EVERYTHING, UINT32_MAX);

    all = clocks(c);
    good = good && calls_time(c, device, memory, p, flags, samples);
    if (good) {
        some = clocks(c);
        off = 100 * (some / all - 1);
    }
    ok(good && fabs(off) <= most, "%.*s, %s: %.0f clocks by samples, %.0f by all, %+.2f %%",
       (int)strcspn(target, ":"), target, p->name, some, all, off);
    if (good)
        tap_diag("%u units, %u resident, %.2f rounds", c->time.get(0)->units,
                 c->time.get(0)->resident, c->time.get(0)->rounds);
}

static bool is_gpu(const char *target, const char *name)
{
    return strlen(name) == strcspn(target, ":") && strncmp(name, target, strlen(name)) == 0;
}

static int compare(struct calls *c, const struct device *device, char *memory)
{
    const char *target = device->properties.target;

    if (strcmp(target, FEW_UNITS) == 0) {
        for (size_t i = 0; !TAP_SANITIZED && i < sizeof(rounds) / sizeof(rounds[0]); i++)
            compare_one(c, device, memory, &rounds[i], EMU_TIME_SAMPLES_ONLY | EMU_TIME_LARGE,
                        SAMPLES, 2);
        return 1;
    }
    /* On one GPU of either wave size; the last one as the environment asks for it. */
    for (size_t i = 0; i < PROBLEMS && (is_gpu(target, "gfx90a") || is_gpu(target, "gfx1100")); i++)
        compare_one(c, device, memory, &problems[i], i + 1 < PROBLEMS ? EMU_TIME_SAMPLES_ONLY : 0,
                    i < BY_SAMPLES ? SAMPLES : 0, 2);
    for (size_t i = 0; !TAP_SANITIZED && i < sizeof(several) / sizeof(several[0]); i++)
        if (is_gpu(target, several[i].gpu))
            compare_one(c, device, memory, &several[i].problem,
                        EMU_TIME_SAMPLES_ONLY | EMU_TIME_LARGE, 0, several[i].most);
    return 1;
}

int main(void)
{
    struct calls c = {0};

    if (!calls_open(&c, gpus_asked(GPUS_REFERENCE "," FEW_UNITS)))
        ok(false, "the emulator's clock");
    else
        ok(calls_devices(&c, compare), "all devices");
    return tap_done();
}
