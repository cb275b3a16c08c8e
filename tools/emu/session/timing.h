/* A launch under the clock (timing.c). */
#ifndef EMU_TIMING_H
#define EMU_TIMING_H

#include "clock.h"
#include "settings.h"

struct emu_timing {
    bool kept; /* a program asked for the result */
    struct emu_time_options options;
    struct emu_time_result *result; /* NULL: not timed */
};

/*
 * Before a launch, after it, and when everybody else has seen the result. whole: all of it is run,
 * also where samples would do.
 */
struct emu_timing emu_timing_begin(struct emu_launch *l, bool whole);
void emu_timing_end(struct emu_timing *t, struct emu_launch *l, const struct emu_gpu *gpu,
                    bool ran);
void emu_timing_give(struct emu_timing *t);

/* Appends one launch to the counters file; r: NULL if it was not timed. */
void emu_counters_write(const struct emu_launch *l, const struct emu_gpu *gpu,
                        const struct emu_time_result *r);

#endif
