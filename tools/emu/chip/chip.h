/* The workgroups of a launch over all units of the chip. */
#ifndef EMU_CLOCK_CHIP_H
#define EMU_CLOCK_CHIP_H

#include <stdbool.h>
#include <stdint.h>

enum { EMU_CHIP_RESIDENT = 32 };

struct emu_chip {
    unsigned units, dies, resident;     /* resident: workgroups that fit on a unit */
    uint64_t at_once;                   /* workgroups at most, on all units; 0: as many as fit */
    unsigned engines;                   /* that launch workgroups side by side */
    double dispatch;                    /* clocks from one launch of an engine to its next */
    double turnaround;                  /* from an end to the next launch in its place */
    double slow[EMU_CHIP_RESIDENT + 1]; /* how much longer a workgroup takes beside r - 1 others */
    bool oldest_first;                  /* on a unit; else those on it share it evenly */
    uint64_t workgroups;
    const float *alone; /* clocks of each workgroup when it has a unit to itself */
    uint64_t mark[2];   /* ends of workgroups to be noted */
    unsigned *unit_of;  /* out: the unit of each workgroup; NULL: not wanted */
};

struct emu_chip_time {
    double cycles;     /* until the last one has ended */
    double group_mean; /* of a workgroup, from launch to end */
    double at[2];      /* when as many as mark[] had ended */
    unsigned last;     /* unit that ended last */
    double unit_busy;  /* sum over the units of the clocks with any workgroup on them */
};

/* Workgroups that a die begins with. */
static inline uint64_t emu_chip_places(const struct emu_chip *c)
{
    const uint64_t fit = (uint64_t)(c->units / c->dies) * c->resident;

    return c->at_once && c->at_once < fit ? c->at_once : fit;
}

/* Workgroup i goes to die i modulo their number, there to the unit with most room. False when out
 * of memory. */
bool emu_chip_run(const struct emu_chip *c, struct emu_chip_time *t);
/*
 * Part of a workgroup's time by which the unit's ends later than others that take as long, for who
 * comes before whom: no two units do quite the same, and in step each would get the same heads
 * again and again, which its caches know.
 */
double emu_chip_unlike(unsigned unit, double at);

#endif
