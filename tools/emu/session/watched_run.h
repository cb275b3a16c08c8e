/* A launch run as the process asked for: strict, counted, timed (watched_run.c). */
#ifndef EMU_WATCHED_RUN_H
#define EMU_WATCHED_RUN_H

#include "settings.h"

/*
 * Fills in what the settings say and runs the launch, whose kernel, sizes, arguments and memory are
 * there; counters and times are written. trusted: a kernel of the GPU's runtime, which is not
 * checked, and run as a whole. False when it faulted: l->fault has the report.
 */
bool emu_watched_run(struct emu_launch *l, const struct emu_gpu *gpu, bool trusted);

/*
 * emu_last_fault: the report of the last faulting launch of this thread; empty if none.
 * emu_last_warnings: what the last launch of this thread that ended said of missing wait states,
 * where AOTHIP_EMU_WAITS makes them warnings; empty if nothing, or nothing new.
 */
EMU_EXPORT const char *emu_last_fault(void);
EMU_EXPORT const char *emu_last_warnings(void);

#endif
