/* Storage of workers, kept from launch to launch. */
#ifndef EMU_ARENA_H
#define EMU_ARENA_H

#include <stddef.h>
#include <stdint.h>

/*
 * Storage of a worker, 64-byte aligned and not cleared: at least `size` bytes (a multiple of 64), or
 * no bytes when memory is out. Give it back, also the one without bytes. Thread-safe.
 */
struct emu_arena {
    uint8_t *bytes;
    size_t size;
};
struct emu_arena emu_arena_take(size_t size);
void emu_arena_give(struct emu_arena arena);

#endif
