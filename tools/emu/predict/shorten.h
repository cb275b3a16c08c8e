/* Workgroups that run fewer rounds of their loop (shorten.c). */
#ifndef EMU_CLOCK_SHORTEN_H
#define EMU_CLOCK_SHORTEN_H

#include "everything.h"

struct emu_short {
    const struct emu_clock_group *of;
    struct emu_clock_group *group;
    double alone; /* its clocks on a unit of its own */
};

struct emu_shortened {
    unsigned n;
    struct emu_short *each; /* malloc'ed */
};

/* Puts workgroups with such a part of the loop's rounds into n turns; s holds them. False: they
 * have no loop that could be cut so, or there is no memory; then turn[] is as before. */
bool emu_shorten(struct emu_shortened *s, const struct emu_unit_kind *kind, double part,
                 struct emu_turn *turn, unsigned n);
void emu_shortened_free(struct emu_shortened *s);

#endif
