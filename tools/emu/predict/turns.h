/* What the workgroups of a launch do on the units that they go to (turns.c). */
#ifndef EMU_CLOCK_TURNS_H
#define EMU_CLOCK_TURNS_H

#include "clusters.h"
#include "everything.h"
#include "shorten.h"

/* What is known of a launch's workgroups. */
struct emu_turn_source {
    const struct emu_clock_recorder *recorder;
    const struct emu_clusters *clusters;
    const double *alone; /* clocks of a workgroup of each cluster on a unit of its own */
};

/* Workgroups of some units together, in their order; those after the first n are not simulated. */
struct emu_turns {
    struct emu_turn *turn; /* malloc'ed */
    unsigned n, units;
    uint64_t all;
    double work;                    /* instructions of the first n */
    struct emu_shortened shortened; /* what they do, where that takes long */
};

/* All of the launch; malloc'ed. NULL when out of memory. */
struct emu_turn *emu_turns_all(const struct emu_turn_source *s);
/* Those of t->units units that emu_chip_run gave them to, `last` and the busiest: as many as are to
 * be simulated. may_shorten: by workgroups that do less. False when out of memory. */
bool emu_turns_choose(struct emu_turns *t, const struct emu_turn_source *s,
                      const struct emu_chip *chip, unsigned last, const struct emu_unit_kind *kind,
                      bool may_shorten);
void emu_turns_free(struct emu_turns *t);

#endif
