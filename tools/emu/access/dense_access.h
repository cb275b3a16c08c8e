/*
 * Loads and stores of whole dwords by all lanes of a wave within one block of memory: nearly all
 * that kernels do, without the bookkeeping of each lane that access.h has for the rest.
 */
#ifndef EMU_MEM_DENSE_H
#define EMU_MEM_DENSE_H

#include "wave.h"

struct emu_dense {
    uint8_t *base;   /* host bytes */
    uint8_t *shadow; /* strict mode: the shadow of base, or NULL */
    uint8_t clean;   /* the shadow byte that says "written" */
    uint32_t at[64]; /* of each lane */
};

/*
 * Locate the bytes of an instruction. False when it is not of this kind or when strict mode has
 * something against it: then the way lane by lane does it, and finds what to report.
 */
bool emu_dense_lds(struct emu_wave *w, const struct emu_op *op, unsigned offset, unsigned words,
                   enum emu_access access, struct emu_dense *x);
/* GLOBAL and FLAT */
bool emu_dense_global(struct emu_wave *w, const struct emu_op *op, unsigned words,
                      enum emu_access access, struct emu_dense *x);
/* MUBUF: a raw buffer, all in range (buffers.c) */
bool emu_dense_buffer(struct emu_wave *w, const struct emu_op *op, unsigned words,
                      enum emu_access access, struct emu_dense *x);
/* Device memory at address + v[l] + add, where v[l] + add, of 32 bits, ends before limit. */
bool emu_dense_device(struct emu_wave *w, uint64_t address, const uint32_t *v, uint32_t add,
                      uint64_t limit, unsigned words, enum emu_access access, struct emu_dense *x);

/* A load from offsets v[l] + add that are all at or behind limit, where a raw buffer reads as 0. */
bool emu_dense_beyond(struct emu_wave *w, const uint32_t *v, uint32_t add, uint64_t limit,
                      struct emu_dense *x);

/* Move the data. Nothing can fail but a store of poison, which strict mode asks about first. */
void emu_dense_load(struct emu_wave *w, unsigned row, unsigned words, const struct emu_dense *x);
bool emu_dense_may_store(const struct emu_wave *w, unsigned row, unsigned words);
void emu_dense_store(struct emu_wave *w, unsigned row, unsigned words, const struct emu_dense *x);

#endif
