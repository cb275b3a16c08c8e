/* From a recorded launch to the time that it takes. */
#ifndef EMU_CLOCK_PREDICT_H
#define EMU_CLOCK_PREDICT_H

#include "clock.h"
#include "clock_trace.h"

/*
 * l has run, with l->clock. units: of the device; registers: that a SIMD has for one lane (gfx11:
 * of 32), which differ within a family. emu_clock_result_free the result. NULL when out of memory.
 */
struct emu_time_result *emu_clock_predict(const struct emu_launch *l, const char *target,
                                          unsigned units, unsigned registers,
                                          const struct emu_time_options *options);

#endif
