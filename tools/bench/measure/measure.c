/* Measures parameters of the clock, and writes them as its tables have them. */
#include "measure.h"

#include "cli.h"
#include "measuring.h"
#include "new_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What a program cannot ask HIP for. */
static const struct {
    const char *gpu;
    unsigned dies;
    double cached_mb;
} chips[] = {
    {"gfx90a", 1, 0},   {"gfx942", 8, 256}, {"gfx950", 8, 256},
    {"gfx1100", 1, 96}, {"gfx1101", 1, 64}, {"gfx1102", 1, 32},
    {"gfx1151", 1, 32}, {"gfx1200", 1, 32}, {"gfx1201", 1, 64},
};

static void describe(struct measuring *m, const struct device *device)
{
    const char *target = device->properties.target;
    const size_t n = strcspn(target, ":");

    m->gfx11 = strncmp(target, "gfx9", 4) != 0;
    m->wave = m->gfx11 ? 32 : 64;
    m->slot = m->gfx11 ? 1 : 4;
    m->units = (unsigned)device->properties.compute_units;
    m->dies = 1;
    for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
        if (strlen(chips[i].gpu) == n && strncmp(chips[i].gpu, target, n) == 0) {
            m->dies = chips[i].dies;
            m->cached = chips[i].cached_mb * 1048576;
        }
    m->dram = m->cached > 0 ? 1.5 * m->cached : 64e6;
}

/* For twice what memory's rate is measured with, and a chase's as much. */
static size_t bytes_wanted(const struct measuring *m)
{
    const double once = 96.0 * 16384 * m->units;
    const double loops = 1 + (double)(unsigned)(m->dram / once), chase = 2.6 * m->cached;
    const double bytes = 2 * loops * once > chase ? 2 * loops * once : chase;

    return (size_t)bytes + (64 << 20);
}

static void print_found(const struct measuring *m, FILE *f)
{
    const struct device *device = m->probe.device;

    fprintf(f,
            "/*\n * Measured by aothip-bench --measure on %s (%s)%s.\n"
            " * P(name, value, uncertainty in percent, tag, source), as in the clock's tables; "
            "AOTHIP_EMU_CLOCK\n * names this file to the emulator. M: measured.\n */\n"
            "GPU(\"%.*s\")\n",
            device->properties.name, device->properties.target,
            m->probe.time ? ", emulated: by its clock" : "",
            (int)strcspn(device->properties.target, ":"), device->properties.target);
    for (int i = 0; i < m->count; i++)
        fprintf(f, "P(%s, %.4g, %.2g, 'M', \"aothip-bench --measure: %s\")\n", m->found[i].name,
                m->found[i].value, m->found[i].uncertainty, m->found[i].how);
}

enum aothip_status bench_measure(const struct device *device, const struct device_time *time,
                                 const char *file, struct status *why)
{
    const int is_stdout = strcmp(file, "-") == 0;
    struct measuring m = {0};
    struct new_file new = {0};

    /* what cannot be written need not be measured */
    if (!is_stdout && new_file_open(&new, file))
        return status_set(why, AOTHIP_E_IO, "%s: %s", file, strerror(errno));
    describe(&m, device);
    if (!probe_open(&m.probe, device, time, bytes_wanted(&m), why) && measure_unit(&m) &&
        measure_chip(&m)) {
        print_found(&m, is_stdout ? stdout : new.f);
        if (!is_stdout && new_file_keep(&new))
            status_set(why, AOTHIP_E_IO, "%s: %s", file, strerror(errno));
    }
    new_file_drop(&new);
    probe_close(&m.probe);
    return why->code;
}
