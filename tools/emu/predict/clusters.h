/* Recorded workgroups that do the same, and what they say of all others. */
#ifndef EMU_CLOCK_CLUSTERS_H
#define EMU_CLOCK_CLUSTERS_H

#include "clock_trace.h"

struct emu_clusters {
    unsigned n;
    const struct emu_clock_group **member[EMU_CLOCK_SAMPLES]; /* of each; parts of group[] */
    unsigned members[EMU_CLOCK_SAMPLES];
    double cost[EMU_CLOCK_SAMPLES]; /* ascending */
    const struct emu_clock_group *group[EMU_CLOCK_SAMPLES];
};

/* A workgroup's place between two clusters: part of the upper one. */
struct emu_between {
    unsigned lower, upper;
    double part, scale; /* scale: beyond the ends, in proportion to the cost */
};

void emu_clusters_make(struct emu_clusters *c, const struct emu_clock_recorder *r);
/* Cost of workgroup i, known or from the axes of the grid. */
double emu_clock_cost(const struct emu_clock_recorder *r, uint64_t i);
struct emu_between emu_clusters_find(const struct emu_clusters *c, double cost);

#endif
