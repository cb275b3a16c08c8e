/* All units of a chip, those that do the same simulated once (histories.c). */
#ifndef EMU_CLOCK_HISTORIES_H
#define EMU_CLOCK_HISTORIES_H

#include "everything.h"

/* As emu_everything_run, but no events are kept. False as well where too little repeats itself:
 * then t->cycles is 0. */
bool emu_histories_run(const struct emu_everything *w, struct emu_chip_time *t);

#endif
