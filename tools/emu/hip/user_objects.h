/*
 * User objects: things of the program's that live as long as a graph, or an executable graph made
 * of it, refers to them.
 */
#ifndef EMU_HIP_USER_OBJECTS_H
#define EMU_HIP_USER_OBJECTS_H

#include "newer_calls.h"

/* What a graph refers to, each object once. All zero: nothing. */
struct emu_references {
    struct emu_reference {
        struct hipUserObject *object;
        unsigned count;
    } * list;
    size_t count;
};

/* `count` references more to an object, which are new or were the caller's. */
hipError_t emu_references_add(struct emu_references *r, struct hipUserObject *object,
                              unsigned count, bool move);
hipError_t emu_references_remove(struct emu_references *r, struct hipUserObject *object,
                                 unsigned count);
/* One to each object, for a copy of the graph. False when out of memory; *to can be dropped. */
bool emu_references_copy(struct emu_references *to, const struct emu_references *from);
void emu_references_drop(struct emu_references *r);

#endif
