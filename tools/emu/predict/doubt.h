/* What the uncertainties of the clock's parameters make of its cycles. */
#ifndef EMU_CLOCK_DOUBT_H
#define EMU_CLOCK_DOUBT_H

#include "clock_trace.h"
#include "share.h"

struct emu_doubt {
    const struct emu_launch *launch;
    const struct emu_clock_gpu *gpu;
    const struct emu_unit_reuse *reuse;
    const struct emu_clock_group *const
        *group;              /* recorded workgroups, which the unit has in turn */
    unsigned groups, copies; /* copies: so many are on the unit */
    double gigahertz, work;  /* work: instructions of the launch */
};

/* *part: the standard deviation of the clocks that a unit takes, as a part of them. False when out
 * of memory. */
bool emu_doubt_find(const struct emu_doubt *d, double *part);

#endif
