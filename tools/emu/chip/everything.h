/* All units of a chip, or of a part of one, in detail (everything.c). */
#ifndef EMU_CLOCK_EVERYTHING_H
#define EMU_CLOCK_EVERYTHING_H

#include "chip.h"
#include "clock_result.h"
#include "unit.h"

/* A workgroup, which does what `group` did. */
struct emu_turn {
    const struct emu_clock_group *group;
    uint64_t tag; /* equal ones touch the same memory */
    float alone;  /* its clocks on a unit of its own */
};

struct emu_everything {
    const struct emu_chip *chip; /* its `alone` is not looked at */
    const struct emu_unit_kind *kind;
    double offset;               /* clocks between the launches on a unit at the beginning */
    const struct emu_turn *turn; /* chip->workgroups of them, in their order */
    struct emu_unit_sum *sum;    /* NULL: not wanted; else what the units counted is added, */
    double weight;               /* so many times */
    size_t events;               /* of the first unit, to be kept at most */
};

/* As emu_chip_run. */
bool emu_everything_run(const struct emu_everything *w, struct emu_chip_time *t);

#endif
