/* Recorded workgroups on a unit of their own, and beside their like (alone.c). */
#ifndef EMU_CLOCK_ALONE_H
#define EMU_CLOCK_ALONE_H

#include "clock_result.h"
#include "clusters.h"
#include "unit.h"

/* Clocks of a workgroup of the cluster; what it executes is added to *executed, `weight` times.
 * Negative when out of memory. */
double emu_alone_clocks(const struct emu_unit_kind *kind, const struct emu_clusters *c,
                        unsigned cluster, double weight, struct emu_unit_sum *executed);
/* How many times longer `copies` of them, which share a unit, take than one: `alone` clocks. 0 when
 * out of memory. */
double emu_alone_slowdown(const struct emu_unit_kind *kind, const struct emu_clusters *c,
                          unsigned cluster, unsigned copies, double alone);

#endif
