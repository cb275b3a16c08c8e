/* The clock's parameters by GPU, and the law of the frequency. */
#include "clock_params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct emu_clock_gpu gpus[EMU_FAMILIES] = {
#define P(name, value, uncertainty, tag, source) .name = (value),
    [EMU_GFX90A] =
        {
#include "clock_gfx90a.def"
        },
    [EMU_GFX942] =
        {
#include "clock_gfx942.def"
        },
    [EMU_GFX950] =
        {
#include "clock_gfx950.def"
        },
    [EMU_GFX11] =
        {
#include "clock_gfx1100.def"
        },
    [EMU_GFX11_5] =
        {
#include "clock_gfx1151.def"
        },
    [EMU_GFX12] =
        {
#include "clock_gfx1201.def"
        },
#undef P
};

/* Units and meanings stand in the same order as the lines of each table; a test holds that. */
static const struct {
    const char *name, *unit;
    double least, most;
    const char *what;
} fields[] = {
#define FIELD(name, unit, least, most, what) {#name, unit, least, most, what},
#include "clock_fields.def"
#undef FIELD
};

enum { FIELDS = sizeof fields / sizeof *fields };

_Static_assert(sizeof(struct emu_clock_gpu) == FIELDS * sizeof(double), "a GPU is its fields");

#define P(name, value, uncertainty, tag, source)                                                   \
    {#name, "", "", value, uncertainty, 0, 0, tag, source},
static struct emu_clock_origin origins[EMU_FAMILIES][FIELDS] = {
    [EMU_GFX90A] =
        {
#include "clock_gfx90a.def"
        },
    [EMU_GFX942] =
        {
#include "clock_gfx942.def"
        },
    [EMU_GFX950] =
        {
#include "clock_gfx950.def"
        },
    [EMU_GFX11] =
        {
#include "clock_gfx1100.def"
        },
    [EMU_GFX11_5] =
        {
#include "clock_gfx1151.def"
        },
    [EMU_GFX12] =
        {
#include "clock_gfx1201.def"
        },
};
#undef P

const struct emu_clock_gpu *emu_clock_gpu(enum emu_family family)
{
    return &gpus[family];
}

struct emu_clock_origin emu_clock_origin(enum emu_family family, size_t i)
{
    struct emu_clock_origin o = origins[family][i];

    o.unit = fields[i].unit;
    o.what = fields[i].what;
    o.least = fields[i].least;
    o.most = fields[i].most;
    return o;
}

size_t emu_clock_origins(void)
{
    return FIELDS;
}

double emu_clock_uncertainty(enum emu_family family, const char *name)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0)
            return origins[family][i].uncertainty / 100;
    return 0;
}

void emu_clock_put(struct emu_clock_gpu *g, size_t i, double value)
{
    memcpy((char *)g + i * sizeof value, &value, sizeof value);
}

void emu_clock_change(enum emu_family family, size_t i, const struct emu_clock_origin *to,
                      char *source)
{
    static char *allocated[EMU_FAMILIES][FIELDS];

    emu_clock_put(&gpus[family], i, to->value);
    origins[family][i].value = to->value;
    origins[family][i].uncertainty = to->uncertainty;
    origins[family][i].tag = to->tag;
    origins[family][i].source = source;
    free(allocated[family][i]);
    allocated[family][i] = source;
}

bool emu_clock_extrapolates(const char *target)
{
    const size_t name = strcspn(target, ":"); /* features follow */

    return (name != 6 || strncmp(target, "gfx942", 6) != 0) &&
           (name != 7 || strncmp(target, "gfx1100", 7) != 0);
}

/*
 * A power limit, of which each clock takes its part and each busy one of the matrix pipe another,
 * so that the length of a clock grows with the load. On MI300X that is within 12 % of all that the
 * counters and times of attn-dsl-bench say, (matrix pipe busy, GHz): (0.72, 1.11) AITER, from which
 * the table's value comes, (0.42, 1.37) Composable Kernel, (0.33, 1.68) and (0.25, 1.78) Triton,
 * (0.31, 1.59) to (0.16, 1.83) AOTriton.
 */
double emu_clock_frequency(enum emu_family family, double matrix_busy)
{
    const struct emu_clock_gpu *g = &gpus[family];

    return 1 / (1 / g->clock + (1 / g->clock_full - 1 / g->clock) * matrix_busy);
}

void emu_clock_law(enum emu_family family, char *text, size_t room)
{
    const struct emu_clock_gpu *g = &gpus[family];

    if (g->clock == g->clock_full)
        snprintf(text, room, "%.3g GHz sustained", g->clock);
    else
        snprintf(text, room,
                 "power: %.3g GHz without matrix load, %.3g with the matrix pipe half busy, %.3g "
                 "with it busy",
                 g->clock, emu_clock_frequency(family, 0.5), g->clock_full);
}
