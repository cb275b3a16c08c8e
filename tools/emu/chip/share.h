/* What the rest of the chip does to the unit that is simulated. */
#ifndef EMU_CLOCK_SHARE_H
#define EMU_CLOCK_SHARE_H

#include "unit_state.h"

/* gigahertz: to make clocks of nanoseconds. resident: workgroups on a unit. */
/* What the workgroups of a launch touch in common. */
struct emu_unit_reuse {
    double fresh;  /* part of a workgroup's lines that no other on its die fetches meanwhile */
    double bytes;  /* that all of them touch */
    double active; /* units with work */
};

struct emu_unit_reuse emu_unit_reuse(const struct emu_clock_recorder *r,
                                     const struct emu_clock_gpu *g, unsigned units,
                                     unsigned resident);

struct emu_unit_share emu_unit_share(const struct emu_unit_reuse *reuse,
                                     const struct emu_clock_gpu *g, double gigahertz);

#endif
