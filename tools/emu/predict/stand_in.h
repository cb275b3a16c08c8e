/* Which recorded workgroup stands for one of a launch (stand_in.c). */
#ifndef EMU_CLOCK_STAND_IN_H
#define EMU_CLOCK_STAND_IN_H

#include "clusters.h"

struct emu_stand_in {
    const struct emu_clock_group *group;
    uint64_t tag;     /* equal ones touch the same memory */
    unsigned cluster; /* of the group */
};

/* Equal ones touch the same memory. */
uint64_t emu_stand_in_tag(const struct emu_clock_recorder *r, uint64_t i);
struct emu_stand_in emu_stand_in(const struct emu_clock_recorder *r, const struct emu_clusters *c,
                                 uint64_t i);

#endif
