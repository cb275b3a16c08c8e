/* Sums over simulated units, and the result that programs get. */
#ifndef EMU_CLOCK_RESULT_H
#define EMU_CLOCK_RESULT_H

#include "chip.h"
#include "clock.h"
#include "unit_state.h"

/* Weighted sums of what units counted. */
struct emu_unit_sum {
    struct unit_count *count; /* by op */
    unsigned nops;
    double summary[EMU_TIME_CAUSES];
    double matrix_busy, vector_busy, lds_busy, l1_busy, far_bytes, stored_bytes, flops;
    double far_rate; /* bytes a clock and unit */
    struct emu_time_event *event;
    size_t events;
};

/* What units counted by op. False when out of memory. */
bool emu_unit_sum_ops(struct emu_unit_sum *s, const struct unit_count *count, unsigned nops,
                      double weight);
/* All else that the unit counted. take_events: they are the unit's no longer. */
void emu_unit_sum_add(struct emu_unit_sum *s, struct unit *u, double weight, bool take_events);
/* What a recorded workgroup executes, not when. False when out of memory. */
bool emu_unit_sum_trace(struct emu_unit_sum *s, const struct emu_kernel *k,
                        const struct emu_clock_group *g, const struct emu_clock_op *ops,
                        double weight);
/* All of another sum, whose events are its no longer. False when out of memory. */
bool emu_unit_sum_all(struct emu_unit_sum *s, struct emu_unit_sum *from);
/* Takes from `exact` how often each instruction was executed, and where `s` has none of it, all. */
void emu_unit_sum_counts(struct emu_unit_sum *s, const struct emu_unit_sum *exact);
void emu_unit_sum_free(struct emu_unit_sum *s);

struct emu_result_parts {
    const struct emu_launch *launch;
    const char *target, *why;
    const struct emu_chip *chip;
    const struct emu_chip_time *time; /* [variants] */
    unsigned variants;
    const struct emu_unit_sum *sum;
    double doubt;   /* of the cycles on a unit, by what the parameters may be off by */
    unsigned flags; /* enum emu_time_flags */
};

/* In one piece with all that it points to; emu_clock_result_free. NULL when out of memory. */
struct emu_time_result *emu_clock_result_make(const struct emu_result_parts *p);
void emu_clock_result_free(struct emu_time_result *r);

#endif
