/* The packets of an SDMA queue that ROCr writes: copies, fills, fences, waits, atomics, traps. */
#include "signals.h"

#include <stdio.h>
#include <string.h>

#include "memory_map.h"

enum {
    /* sdma_registers.h of ROCr; sdma_pkt_open.h of amdgpu has the same numbers */
    OP_NOP = 0,
    OP_COPY = 1,
    OP_FENCE = 5,
    OP_TRAP = 6,
    OP_POLL = 8,
    OP_ATOMIC = 10,
    OP_FILL = 11,
    OP_TIMESTAMP = 13,
    OP_CACHE = 17,
    ATOMIC_ADD64 = 47,
    POLL_EQUAL = 3,
    MAX_WORDS = 8,
};

static uint64_t address(const uint32_t *p)
{
    return p[0] | (uint64_t)p[1] << 32;
}

/* Words of the packet that begins with `header`; 0: not known. */
static unsigned length(uint32_t header)
{
    switch (header & 0xff) {
    case OP_NOP:
        return 1 + (header >> 16 & 0x3fff);
    case OP_COPY:
        return (header >> 8 & 0xff) == 0 ? 7 : 0;
    case OP_FENCE:
        return 4;
    case OP_TRAP:
        return 2;
    case OP_POLL:
        return 6;
    case OP_ATOMIC:
        return (header >> 25) == ATOMIC_ADD64 ? 8 : 0;
    case OP_FILL:
        return 5;
    case OP_TIMESTAMP:
        return 3;
    case OP_CACHE:
        return 5;
    default:
        return 0;
    }
}

static bool reachable(struct kfd_ring *r, uint64_t at, uint64_t n)
{
    struct emu_block b;
    if (emu_mem_query(at, &b) && n <= b.size - (at - b.base))
        return true;
    kfd_say("SDMA queue %u: %llu bytes at 0x%llx are not wholly memory of the GPU", r->slot + 1,
            (unsigned long long)n, (unsigned long long)at);
    kfd_memory_fault(kfd_gpu_id(r->gpu), at, false);
    r->stuck = true;
    return false;
}

static bool copy(struct kfd_ring *r, const uint32_t *p)
{
    uint64_t n = (p[1] & 0x3fffffff) + UINT64_C(1), src = address(p + 3), dst = address(p + 5);
    char err[256];
    return reachable(r, src, n) && reachable(r, dst, n) &&
           emu_mem_copy(dst, src, n, err, sizeof err);
}

/* The size of an element is 1, 2 or 4 bytes by bits 30 and 31; the count is of bytes less one. */
static bool fill(struct kfd_ring *r, const uint32_t *p)
{
    unsigned width = p[0] >> 30 == 2 ? 4 : p[0] >> 30 == 1 ? 2 : 1;
    uint64_t at = address(p + 1), n = (p[4] & 0x3fffffff) + (width == 4 ? 4 : 1);
    char err[256];
    n = n / width * width;
    return reachable(r, at, n) && emu_mem_fill(at, p[3], width, n / width, err, sizeof err);
}

/* A write of HDP's flush register looks like a poll that nothing has to satisfy. */
static bool poll(struct kfd_ring *r, const uint32_t *p)
{
    bool in_memory = p[0] >> 31, equal = (p[0] >> 28 & 7) == POLL_EQUAL;
    _Atomic(uint32_t) *at = (_Atomic(uint32_t) *)(uintptr_t)address(p + 1);
    if (!in_memory)
        return true;
    for (unsigned idle = 0; equal && (atomic_load(at) & p[4]) != (p[3] & p[4]); kfd_nap(++idle))
        if (r->stop)
            return false;
    return equal;
}

static bool run(struct kfd_ring *r, const uint32_t *p)
{
    uintptr_t at = (uintptr_t)address(p + 1);
    switch (p[0] & 0xff) {
    case OP_COPY:
        return copy(r, p);
    case OP_FILL:
        return fill(r, p);
    case OP_POLL:
        return poll(r, p);
    case OP_FENCE:
        atomic_store((_Atomic(uint32_t) *)at, p[3]);
        return true;
    case OP_ATOMIC:
        atomic_fetch_add((_Atomic(uint64_t) *)at, address(p + 3));
        return true;
    case OP_TIMESTAMP:
        *(volatile uint64_t *)at = kfd_clock();
        return true;
    case OP_TRAP:
        kfd_event_set(p[1] & 0xfffffff, true);
        return true;
    default:
        return true; /* caches and nothing */
    }
}

bool kfd_sdma_step(struct kfd_ring *r)
{
    uint64_t at = *r->read, end = *r->doorbell;
    uint32_t p[MAX_WORDS] = {0};
    if (at >= end)
        return false;
    for (unsigned i = 0; i < MAX_WORDS && at + 4 * i < end; i++)
        memcpy(&p[i], r->base + (at + 4 * i) % r->size, 4);
    unsigned words = length(p[0]);
    if (!words) {
        kfd_say("SDMA queue %u: packet 0x%08x is not known; the queue stands still", r->slot + 1,
                p[0]);
        r->stuck = true;
        return false;
    }
    if (!run(r, p))
        return false;
    *r->read = at + 4 * words;
    return true;
}
