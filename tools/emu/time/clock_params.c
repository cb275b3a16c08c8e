/* The clock's parameters by GPU, and the law of the frequency. */
#include "clock_params.h"

#include <string.h>

static const struct emu_clock_gpu gpus[EMU_FAMILIES] = {
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
#undef P
};

/* Units and meanings stand in the same order as the lines of each table; a test holds that. */
static const struct {
    const char *name, *unit, *what;
} fields[] = {
#define FIELD(name, unit, what) {#name, unit, what},
#include "clock_fields.def"
#undef FIELD
};

enum { FIELDS = sizeof fields / sizeof *fields };

#define P(name, value, uncertainty, tag, source) {#name, "", "", value, uncertainty, tag, source},
static const struct emu_clock_origin origins[EMU_FAMILIES][FIELDS] = {
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
    return o;
}

size_t emu_clock_origins(void)
{
    return FIELDS;
}

bool emu_clock_extrapolates(const char *target)
{
    const size_t name = strcspn(target, ":"); /* features follow */

    return (name != 6 || strncmp(target, "gfx942", 6) != 0) &&
           (name != 7 || strncmp(target, "gfx1100", 7) != 0);
}

/*
 * MI300X under attention, from the counters and times of attn-dsl-bench: (matrix pipe busy, GHz)
 * are (0.72, 1.11) AITER, (0.42, 1.37) Composable Kernel, (0.33, 1.68) and (0.25, 1.78) Triton;
 * above, the line through the first two goes on. Power sets it. Others: what is sustained, whatever
 * the load.
 */
double emu_clock_frequency(enum emu_family family, double matrix_busy)
{
    static const double at[][2] = {{0, 2.1},     {0.15, 1.9},  {0.25, 1.78}, {0.33, 1.68},
                                   {0.42, 1.37}, {0.72, 1.11}, {1, 0.867}};
    const struct emu_clock_gpu *g = &gpus[family];

    if (family != EMU_GFX942)
        return g->clock + (g->clock_full - g->clock) * matrix_busy;
    for (size_t i = 1; i < sizeof at / sizeof *at; i++)
        if (matrix_busy < at[i][0]) {
            double part = (matrix_busy - at[i - 1][0]) / (at[i][0] - at[i - 1][0]);

            return at[i - 1][1] + part * (at[i][1] - at[i - 1][1]);
        }
    return at[sizeof at / sizeof *at - 1][1];
}

const char *emu_clock_law(enum emu_family family)
{
    switch (family) {
    case EMU_GFX942:
        return "power: 2.1 GHz idle, 1.68 with the matrix pipe a third busy, 1.11 at 72 %, 0.87 at "
               "100 %";
    case EMU_GFX950:
        return "2.4 GHz, the peak: under load nothing was published";
    case EMU_GFX90A:
        return "1.6 GHz, 1.5 under full matrix load";
    case EMU_GFX11:
        return "2.45 GHz sustained";
    default:
        return "2.4 GHz sustained, 2.0 to 2.9 by power limit";
    }
}
