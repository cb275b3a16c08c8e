/* All units of a chip in detail (everything.c). */
#ifndef EMU_CLOCK_EVERYTHING_H
#define EMU_CLOCK_EVERYTHING_H

#include "chip.h"
#include "unit_state.h"

/* What a unit is made of. */
struct emu_unit_kind {
    const struct emu_kernel *kernel;
    const struct emu_clock_op *ops;
    const struct emu_clock_gpu *gpu;
    enum emu_unit_policy policy;
    const struct emu_unit_share *share;
    double offset; /* clocks between the launches on a unit at the beginning */
};

/* As emu_chip_run, with every workgroup of the launch recorded. False when out of memory. */
bool emu_everything_run(const struct emu_chip *c, const struct emu_clock_recorder *r,
                        const struct emu_unit_kind *kind, struct emu_chip_time *t);

#endif
