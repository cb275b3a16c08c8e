/*
 * What a launch did, instruction by instruction: the recorder of some of its workgroups.
 *
 * The run loop gives each instruction that a recorded wave executes, those that plain mode skips
 * (s_waitcnt, s_nop, ...) included, to emu_clock_note.
 */
#ifndef EMU_CLOCK_TRACE_H
#define EMU_CLOCK_TRACE_H

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
    uint32_t taken; /* index + 1 of the last op that fetched and changed one place */
};

struct emu_clock_group {
    uint64_t number; /* in the launch */
    double cost;     /* instructions that plain mode executes */
    bool done, failed;
    bool glance, cut; /* only its beginning is wanted; it ended before the workgroup did */
    bool spare;       /* only wanted if all of the launch is recorded */
    bool queue;       /* a wave took from one place in memory again and again: work from a queue */
    unsigned waves;
    struct emu_clock_wave wave[EMU_MAX_WAVES];
    struct emu_footprint footprint;
};

/* Recorded of a launch at most; as many as the recorder takes by itself. */
enum { EMU_CLOCK_SAMPLES = 1024, EMU_CLOCK_USUAL = 32 };

/* Instructions of a launch that is recorded and simulated whole: which of its workgroups share a
 * unit, and which unit gets one more, decides about its end, and nothing less says it. */
#define EMU_CLOCK_WHOLE 16e6

/* Instructions that are recorded of a launch, more or less, and of a workgroup in which nothing but
 * what memory it shares with others is looked for. */
#define EMU_CLOCK_LONG 128e6
#define EMU_CLOCK_GLANCE 1e6

/* Of a launch; group[] in order of their importance, and after emu_clock_settle of their numbers.
 */
struct emu_clock_recorder {
    bool samples_only;      /* nothing else is run */
    bool whole;             /* but all of it is recorded, where it is little work */
    atomic_bool much;       /* it is not: the spare ones are not recorded */
    atomic_ullong executed; /* instructions of the workgroups that have ended */
    uint32_t grid[3];
    uint64_t workgroups;
    unsigned groups;
    struct emu_clock_group *group[EMU_CLOCK_SAMPLES];
    uint64_t period; /* those so far apart along x share most of what they touch; 0: none do */
    uint64_t beside; /* of each period so many next to each other, from 0, share it, too */
    float *cost;     /* of each workgroup of the launch that has run; NULL: not known */
};

/* Chooses at most `limit` workgroups (0: as many as it likes) of a grid; all, where that suffices.
 * NULL when out of memory.
 */
struct emu_clock_recorder *emu_clock_recorder_new(const uint32_t grid[3], unsigned limit,
                                                  bool samples_only);
void emu_clock_recorder_free(struct emu_clock_recorder *r);
/* Counts addresses from the lowest page that was touched: where memory lies differs from run to
 * run.
 */
void emu_clock_rebase(struct emu_clock_recorder *r);
/* So many of the first groups tell the others' length, and are to be run before the others. */
unsigned emu_clock_ahead(const struct emu_clock_recorder *r);
/* They have run: of which others nothing but a glance is affordable, unless more were asked for
 * than usual. */
void emu_clock_plan(struct emu_clock_recorder *r);
/* NULL: this workgroup is not recorded. */
struct emu_clock_group *emu_clock_wanted(struct emu_clock_recorder *r, uint64_t number);
/* The samples have run, and the rest of the launch is little work: it is run, too, because later
 * launches may need what it writes. So it is with what prepares and what gathers: a backward pass
 * that reads what nobody computed takes the slow way of NaN. Where it is to be simulated whole, the
 * rest is recorded as well. */
bool emu_clock_light(struct emu_clock_recorder *r);
/* Everything has run that will: costs of a part of the launch are forgotten, and spare workgroups
 * of one that is much work. */
void emu_clock_settle(struct emu_clock_recorder *r);
/* Wave i has executed op, and the ops behind it that have no effect. */
void emu_clock_note(struct emu_clock_group *g, unsigned wave, const struct emu_op *op,
                    const struct emu_op *ops);
/* A workgroup, recorded or not, has ended. */
void emu_clock_end_group(struct emu_clock_recorder *r, struct emu_clock_group *g, uint64_t number,
                         unsigned waves, double cost);

#endif
