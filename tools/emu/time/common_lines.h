/* Lines of memory that recorded workgroups touch in common. */
#ifndef EMU_CLOCK_COMMON_LINES_H
#define EMU_CLOCK_COMMON_LINES_H

#include "clock_record.h"

/* Distinct lines of a workgroup, ascending, and how many others that were looked at touch each. */
struct emu_lines {
    uint64_t *line;
    uint16_t *hits;
    size_t n;
};

/* Places on an axis, in steps from the first workgroup, that were looked at in ascending order. */
struct emu_places {
    unsigned sharing;           /* samples with much in common with the first */
    uint64_t first, last, next; /* of them; next: the first place behind that is none, or the end */
    uint64_t beside;            /* places that share from 0 on, where `first` is beyond them */
};

/* False when out of memory; to be freed in either case. */
bool emu_lines_of(struct emu_lines *l, const struct emu_clock_group *g);
void emu_lines_free(struct emu_lines *l);
/* Whether the workgroup touches many of the lines; then they are noted. */
bool emu_lines_shared(struct emu_lines *l, const struct emu_clock_group *g);
struct emu_places emu_places_none(void);
void emu_places_note(struct emu_places *p, uint64_t at, bool shares);
/* Where z goes on with the memory of the first workgroup, as tiles of a head do, the launch is laid
 * along x, which numbers its workgroups alike. */
void emu_clock_lay_along_x(struct emu_clock_recorder *r);
/* Of workgroups in order of their numbers: how far apart along x those lie that share memory, on
 * whichever die. */
void emu_clock_find_period(struct emu_clock_recorder *r);

#endif
