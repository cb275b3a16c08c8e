/* A block of device memory. */
#ifndef EMU_DEVICE_BLOCK_H
#define EMU_DEVICE_BLOCK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum emu_block_kind {
    EMU_BLOCK_DEVICE,     /* hipMalloc */
    EMU_BLOCK_CODE,       /* a loaded module */
    EMU_BLOCK_KERNARG,    /* arguments of one launch; read only for the device */
    EMU_BLOCK_HOST,       /* hipHostMalloc */
    EMU_BLOCK_MANAGED,    /* hipMallocManaged */
    EMU_BLOCK_REGISTERED, /* hipHostRegister */
    EMU_BLOCK_KINDS
};

enum { EMU_ANY_DEVICE = -1, EMU_MAX_DEVICES = 16 };

struct emu_block {
    uint64_t base, size; /* device addresses */
    uint8_t *host;       /* the bytes; == base for host-accessible kinds */
    uint8_t *init; /* one byte per byte, 0xff where written, 0 where poison; NULL: untracked */
    int device;    /* owner, or EMU_ANY_DEVICE */
    enum emu_block_kind kind;
    unsigned flags;  /* the caller's, for hipPointerGetAttributes and hipHostGetFlags */
    uint64_t serial; /* 1, 2, ... in order of creation, for reports */
    uint64_t writable, writable_end; /* EMU_BLOCK_CODE: offsets of the module's writable data */
    void *mapping;                   /* what to unmap, and its size; NULL for registered memory */
    size_t mapping_size;
    atomic_uint refs;
};

#endif
