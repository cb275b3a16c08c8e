/* How many workgroups fit on a compute unit (resident.c). */
#ifndef EMU_CLOCK_RESIDENT_H
#define EMU_CLOCK_RESIDENT_H

#include "wave.h"

/* Of a launch whose workgroups have so many waves; 0: none fits. */
unsigned emu_clock_resident(const struct emu_launch *l, unsigned waves);

#endif
