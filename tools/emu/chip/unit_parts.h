/* What unit_issue.c, unit_memory.c, unit_cache.c and unit_account.c do for unit.c and for each
 * other. */
#ifndef EMU_CLOCK_UNIT_PARTS_H
#define EMU_CLOCK_UNIT_PARTS_H

#include "unit_state.h"

/* unit_issue.c: the wave's next instruction at u->now. True when it was issued; otherwise wake and
 * cause say when to ask again and why. taken: categories that have issued in this slot. */
bool emu_unit_issue(struct unit *u, struct unit_wave *w, unsigned *taken);

/* unit_memory.c. False: the queue is full, as above. */
bool emu_unit_lds(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op,
                  const struct emu_clock_record *x, uint64_t *done);
bool emu_unit_vmem(struct unit *u, struct unit_wave *w, const struct emu_clock_op *op,
                   const struct emu_clock_record *x, uint64_t *done);

/* unit_cache.c. NULL: out of memory. look: true if the line was there; otherwise it is now, in the
 * place of its set's oldest. */
struct unit_cache *emu_unit_cache_new(double bytes, double ways, double line);
struct unit_cache *emu_unit_cache_clone(const struct unit_cache *c);
void emu_unit_cache_free(struct unit_cache *c);
bool emu_unit_cache_look(struct unit_cache *c, uint64_t line);

/* unit_account.c */
void emu_unit_stall(struct unit *u, struct unit_wave *w);
void emu_unit_account(struct unit *u, struct unit_simd *s);
void emu_unit_event(struct unit *u, const struct unit_wave *w, enum emu_time_pipe pipe,
                    uint64_t start, uint64_t end);

#endif
