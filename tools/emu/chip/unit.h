/* A compute unit over time (unit.c). */
#ifndef EMU_CLOCK_UNIT_H
#define EMU_CLOCK_UNIT_H

#include "unit_state.h"

/* What a unit is made of. */
struct emu_unit_kind {
    const struct emu_kernel *kernel;
    const struct emu_clock_op *ops;
    const struct emu_clock_gpu *gpu;
    enum emu_unit_policy policy;
    const struct emu_unit_share *share;
    struct unit_count *count; /* by op, what several units count together; NULL: each has its own */
};

/* NULL when out of memory. */
struct unit *emu_unit_new(const struct emu_unit_kind *kind);
void emu_unit_free(struct unit *u);
/* One that will do the same, where both count together; events are not its. NULL when out of
 * memory. */
struct unit *emu_unit_clone(const struct unit *u);
/* Launches a workgroup at a time; copies have different tags. False when out of memory. */
bool emu_unit_launch(struct unit *u, const struct emu_clock_group *g, uint64_t start, uint64_t tag);
/* Runs until a workgroup has ended, and returns its number in group[]; -1: none is left. */
int emu_unit_run(struct unit *u);

#endif
