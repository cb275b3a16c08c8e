/* What is recorded of a launch: some of its workgroups, instruction by instruction. */
#ifndef EMU_CLOCK_RECORD_H
#define EMU_CLOCK_RECORD_H

#include <stdatomic.h>

#include "wave.h"

/* One executed instruction. LDS: cycles that its busiest banks need, and without conflicts. Device
 * memory: lines touched, which stand in emu_clock_wave.line in the order of execution. */
struct emu_clock_record {
    uint32_t op; /* index in program->ops */
    uint16_t lines, lds_cycles;
    uint16_t lds_ideal, pad;
};

struct emu_clock_wave {
    struct emu_clock_record *record;
    size_t n, room;
    uint64_t *line; /* addresses / 64 */
    size_t lines, line_room;
};

/* A wave fetched and changed one place in memory: whoever takes a piece of work does. */
struct emu_clock_taking {
    uint64_t line;   /* as above */
    size_t at;       /* number of the wave's record */
    double executed; /* instructions of the workgroup before */
    uint32_t op;
    uint16_t wave;
    bool recorded; /* false: the workgroup was no more, so `at` says nothing */
};

struct emu_clock_group {
    uint64_t number; /* in the launch */
    double cost;     /* instructions that plain mode executes */
    bool done, failed;
    bool glance, cut; /* only its beginning is wanted; it ended before the workgroup did */
    bool spare;       /* only wanted if all of the launch is recorded */
    bool queue;       /* a wave took from one place in memory again: work from a queue, */
    uint64_t counter; /* which is this line */
    bool full;        /* such a workgroup takes all there is, and enough of it was recorded */
    double executed;  /* instructions */
    struct emu_clock_taking *taking;
    size_t takings, taking_room;
    unsigned waves;
    struct emu_clock_wave wave[EMU_MAX_WAVES];
    struct emu_footprint footprint;
};

/* Recorded of a launch at most; as many as the recorder takes by itself, and when it knows how far
 * apart those lie that share memory. */
enum { EMU_CLOCK_SAMPLES = 1024, EMU_CLOCK_USUAL = 32, EMU_CLOCK_MOST = 64 };

/* Instructions of a launch that is recorded and simulated whole: which of its workgroups share a
 * unit, and which unit gets one more, decides about its end, and nothing less says it. */
#define EMU_CLOCK_WHOLE 16e6

/* Costs that differ by less of themselves are equal. */
#define EMU_CLOCK_SAME 0.002

/* Instructions that are recorded of a launch, more or less, and of a workgroup in which nothing but
 * what memory it shares with others is looked for. */
#define EMU_CLOCK_LONG 128e6
#define EMU_CLOCK_GLANCE 1e6

/* Instructions that are recorded of a workgroup that takes from a queue. */
#define EMU_CLOCK_QUEUE (2 * EMU_CLOCK_WHOLE)

/* Of a launch; group[] in order of their importance, and after emu_clock_settle of their numbers.
 */
struct emu_clock_recorder {
    bool samples_only;      /* nothing else is run */
    bool whole;             /* but all of it is recorded, where it is little work */
    unsigned most;          /* recorded otherwise */
    atomic_bool much;       /* it is not: the spare ones are not recorded */
    atomic_ullong executed; /* instructions of the workgroups that have ended */
    uint32_t grid[3];
    uint64_t workgroups;
    unsigned groups;
    struct emu_clock_group *group[EMU_CLOCK_SAMPLES];
    uint64_t period; /* those so far apart along x share most of what they touch; 0: none do */
    uint64_t beside; /* of each period so many next to each other, from 0, share it, too */
    float *cost;     /* of each workgroup of the launch that has run; NULL: not known */
    uint64_t takers; /* workgroups that take pieces of work, which then stand for workgroups */
};

#endif
