/* What the rest of the chip does to the unit that is simulated. */
#ifndef EMU_CLOCK_SHARE_H
#define EMU_CLOCK_SHARE_H

#include "unit_state.h"

/* gigahertz: to make clocks of nanoseconds. resident: workgroups on a unit. */
struct emu_unit_share emu_unit_share(const struct emu_clock_recorder *r,
                                     const struct emu_clock_gpu *g, unsigned units,
                                     unsigned resident, double gigahertz);

#endif
