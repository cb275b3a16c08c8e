/*
 * Device memory: the blocks that exist, who may touch them, and what in them was ever written.
 *
 * A device address is a number in a reserved, never mapped part of this process's address space: a
 * host program that dereferences a hipMalloc pointer crashes, as it may on silicon, and an address
 * is never handed out twice, so that a stale pointer is found out. The bytes lie elsewhere
 * (block->host). Host-accessible memory (hipHostMalloc, managed, registered) has equal host and
 * device addresses.
 *
 * The map changes by whole snapshots. A launch holds one view from start to end, so lookups take no
 * lock, and memory freed by another host thread stays mapped until the launch is over.
 */
#ifndef EMU_MEM_H
#define EMU_MEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device_block.h"

struct emu_snapshot;

/* A device's view of one snapshot; what struct emu_launch calls its memory. */
struct emu_memory {
    const struct emu_snapshot *snapshot;
    struct emu_block *const *blocks; /* ascending base */
    const uint64_t *bases;
    size_t count;
    uint64_t serial; /* unique in the process: the key of the per-thread cache */
    uint32_t access; /* bit d: memory of device d is accessible */
    int device;
};

/* Tracks initialised bytes of device blocks made from now on. Call once, before any allocation. */
void emu_mem_track(bool on);

/*
 * Makes a block of `size` > 0 bytes; NULL when the host is out of memory or the device's limit is
 * reached. The map owns it; it lives until emu_mem_free. Thread-safe, as everything here.
 */
struct emu_block *emu_mem_alloc(enum emu_block_kind kind, int device, uint64_t size,
                                unsigned flags);
/* Announces host memory of the caller; NULL when it overlaps a block. */
struct emu_block *emu_mem_register(void *host, uint64_t size, unsigned flags);
/*
 * A block at a device address that somebody else chose, whose bytes are at `host`; NULL when it
 * overlaps a block. owned: the bytes are a mapping that goes away with the block.
 */
struct emu_block *emu_mem_place(enum emu_block_kind kind, int device, uint64_t base, void *host,
                                uint64_t size, bool owned);
/* Removes the block that starts at `base` and is of one of the kinds in `kinds` (bits). */
bool emu_mem_free(uint64_t base, unsigned kinds);
/* Removes every block of a device. */
void emu_mem_reset(int device);
/* Copies the record of the block that contains addr (refs and mapping are not meaningful). */
bool emu_mem_query(uint64_t addr, struct emu_block *out);
/* Bytes of kind EMU_BLOCK_DEVICE in use on a device. */
uint64_t emu_mem_used(int device);
/* Limit of EMU_BLOCK_DEVICE bytes per device, also what is reported as the device's total. */
uint64_t emu_mem_total(void);

/* Takes a view; `access` has a bit for each device whose memory is reachable. Give it back. */
struct emu_memory *emu_mem_view(int device, uint32_t access);
void emu_mem_unview(struct emu_memory *m);

/* Block that contains addr and may be touched in this view; NULL otherwise. */
const struct emu_block *emu_mem_lookup(const struct emu_memory *m, uint64_t addr);

/* Per-thread memory of the last block found; validated by the view's serial. */
struct emu_mem_cache {
    uint64_t serial;
    const struct emu_block *block;
};
extern _Thread_local struct emu_mem_cache emu_mem_cached;

/* Block that wholly contains [addr, addr + n); NULL when there is none that may be touched. */
static inline const struct emu_block *emu_mem_find(const struct emu_memory *m, uint64_t addr,
                                                   uint64_t n)
{
    const struct emu_block *b = emu_mem_cached.block;
    if (emu_mem_cached.serial != m->serial || addr - b->base >= b->size)
        b = emu_mem_lookup(m, addr);
    return b && n <= b->size - (addr - b->base) ? b : NULL;
}

/* Says why [addr, addr + n) cannot be touched: near which block, freed, or whose. */
void emu_mem_explain(const struct emu_memory *m, uint64_t addr, uint64_t n, char *buf, size_t len);

/* Says which freed block contained addr; false when none of late did. */
bool emu_mem_explain_freed(uint64_t addr, char *buf, size_t len);

/*
 * Host side copies, for hipMemcpy and friends: any range is either wholly inside one block or
 * ordinary host memory. False and a text when it straddles an end or was freed.
 */
bool emu_mem_copy(uint64_t dst, uint64_t src, uint64_t n, char *err, size_t errlen);
/* Fills n elements of `width` (1, 2, 4) bytes. */
bool emu_mem_fill(uint64_t dst, uint32_t value, unsigned width, uint64_t n, char *err,
                  size_t errlen);

#endif
