/* How many workgroups fit on a compute unit (resident.c). */
#ifndef EMU_CLOCK_RESIDENT_H
#define EMU_CLOCK_RESIDENT_H

#include "wave.h"

/* Of a launch whose workgroups have so many waves, where a SIMD has so many registers for a lane
 * (gfx11: of 32); 0: none fits. */
unsigned emu_clock_resident(const struct emu_launch *l, unsigned waves, unsigned registers);

#endif
