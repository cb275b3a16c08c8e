/*
 * What a launch did, instruction by instruction: the recorder of some of its workgroups.
 *
 * The run loop gives each instruction that a recorded wave executes, those that plain mode skips
 * (s_waitcnt, s_nop, ...) included, to emu_clock_note.
 */
#ifndef EMU_CLOCK_TRACE_H
#define EMU_CLOCK_TRACE_H

#include "clock_record.h"

/* Chooses at most `limit` workgroups (0: as many as it likes) of a grid; all, where that suffices.
 * NULL when out of memory.
 */
struct emu_clock_recorder *emu_clock_recorder_new(const uint32_t grid[3], unsigned limit,
                                                  bool samples_only);
/* NULL is nothing. */
void emu_clock_group_free(struct emu_clock_group *g);
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
/* The samples have run: others of the first one's memory are added, such as the tiles of the first
 * head and of those that share its keys, where work differs and they are affordable. What stands
 * for the tiles of another head then shares with each other what those do. */
void emu_clock_choose_tiles(struct emu_clock_recorder *r);
/* Everything has run that will: costs of a part of the launch are forgotten, and spare workgroups
 * of one that is much work. */
void emu_clock_settle(struct emu_clock_recorder *r);
/* Does the instruction fetch and change a place in memory, as who takes work from a queue does?
 * Where a kernel has one, workgroups are to be run one after the other: the first then takes all.
 */
bool emu_clock_takes(const struct emu_op *op);
/* Wave i has executed op, and the ops behind it that have no effect. */
void emu_clock_note(struct emu_clock_group *g, unsigned wave, const struct emu_op *op,
                    const struct emu_op *ops);
/* A workgroup, recorded or not, has ended. */
void emu_clock_end_group(struct emu_clock_recorder *r, struct emu_clock_group *g, uint64_t number,
                         unsigned waves, double cost);

#endif
