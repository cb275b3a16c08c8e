/* For the tests of calls of several launches: a context over a fake HIP runtime, and what it did. */
#ifndef AOTHIP_TEST_PLAN_TEST_H
#define AOTHIP_TEST_PLAN_TEST_H

#include "fake_hip.h"
#include "fake_problem.h"
#include "make_image.h"
#include "tap.h"

#include <stdlib.h>

static char directory[256];
static struct aothip_context *context;

static void *at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static void restart(void)
{
    aothip_close(context);
    fake_hip_reset();
    fake_hip.devices = 1;
    fake_hip.targets[0] = "gfx942:sramecc+:xnack-"; /* 304 compute units */
    if (aothip_open(directory, &context))
        ok(0, "%s", aothip_last_error());
}

/* That the launches were these kernels, in this order. */
static void launched(const char *const *symbols, int count, const char *what)
{
    int equal = fake_hip.launches == count;
    for (int i = 0; i < count && equal; i++)
        equal = !strcmp(fake_hip.log[i].symbol, symbols[i]);
    if (!ok(equal, "%s", what))
        for (int i = 0; i < fake_hip.launches && i < FAKE_HIP_LOG; i++)
            tap_diag("launch %d: %s", i, fake_hip.log[i].symbol);
}

#define LAUNCHED(what, ...)                                                                        \
    do {                                                                                           \
        static const char *const symbols[] = {__VA_ARGS__};                                        \
        launched(symbols, sizeof(symbols) / sizeof(symbols[0]), what);                             \
    } while (0)

static void is_grid(const struct fake_hip_launch *launch, unsigned x, unsigned y, const char *what)
{
    ok(launch->grid[0] == x && launch->grid[1] == y && launch->grid[2] == 1,
       "%s: %u x %u workgroups (%u x %u x %u)", what, x, y, launch->grid[0], launch->grid[1],
       launch->grid[2]);
}

#endif
