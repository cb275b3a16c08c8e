/* Some units of the chip in detail, for how far its rounds are off (detail.c). */
#ifndef EMU_CLOCK_DETAIL_H
#define EMU_CLOCK_DETAIL_H

#include "everything.h"

struct emu_detail {
    const struct emu_chip *chip; /* with slow[] */
    const struct emu_unit_kind *kind;
    double offset;               /* as of struct emu_everything */
    const struct emu_turn *turn; /* of `units` units together, in their order */
    unsigned n, units;
    uint64_t all; /* workgroups that these get; the first n are simulated */
    struct emu_unit_sum *sum;
    double weight;
    size_t events;
    double ratio;       /* out: how much longer it takes than the rounds of chip.c say */
    double group_ratio; /* out: the same of a workgroup's mean duration */
};

/* A unit is as busy as any with this part of the busiest one's work. */
#define EMU_DETAIL_NEARLY 0.97

/* Marks n units, `last` and those with most work, spread over the chip where more are as busy; after
 * emu_chip_run. False when out of memory. */
bool emu_detail_choose(const struct emu_chip *c, unsigned last, bool *chosen, unsigned n);
/* False when out of memory. */
bool emu_detail_run(struct emu_detail *d);

#endif
