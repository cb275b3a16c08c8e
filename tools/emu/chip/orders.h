/* All units of a chip under several orders of waves, side by side (orders.c). */
#ifndef EMU_CLOCK_ORDERS_H
#define EMU_CLOCK_ORDERS_H

#include "everything.h"

/* emu_everything_run, or emu_histories_run. */
typedef bool emu_units_run(const struct emu_everything *w, struct emu_chip_time *t);

/* Runs what[0] to what[n - 1], at most 8, each on a thread of its own; adds to their sums in this
 * order. False: one returned false. */
bool emu_orders_run(const struct emu_everything *what, unsigned n, emu_units_run *run,
                    struct emu_chip_time *time);

#endif
