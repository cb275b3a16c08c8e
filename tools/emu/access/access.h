/*
 * What the memory instruction handlers share: the lanes' addresses, turned into host pointers.
 *
 * Every handler works in two steps: emu_lanes_* checks the addresses of one instruction and finds
 * the bytes; a data function moves them. The device program may race with itself, and several
 * workers run one launch, so the functions that touch device data and its shadow are exempt from
 * ThreadSanitizer: races of device code are the strict mode's business, not the host tool's.
 */
#ifndef EMU_MEM_OPS_H
#define EMU_MEM_OPS_H

#include <string.h>

#include "memory_map.h"
#include "wave.h"

#define EMU_DEVICE_DATA __attribute__((no_sanitize("thread")))

/* Lane l of the set bits of `bits`, ascending. */
#define EMU_EACH_LANE(l, bits)                                                                     \
    for (uint64_t rest_ = (bits); rest_; rest_ &= rest_ - 1)                                       \
        for (unsigned l = (unsigned)__builtin_ctzll(rest_), once_ = 1; once_; once_ = 0)

struct emu_where {
    uint64_t mask;     /* lanes that access memory */
    uint64_t zero;     /* active lanes out of a buffer's range: loads give 0, stores do nothing */
    uint64_t partial;  /* lanes of mask of which only the first valid[l] bytes are in range */
    bool global;       /* some lane touches device memory rather than LDS or scratch */
    uint64_t addr[64]; /* device address, or offset in LDS or scratch */
    uint8_t *p[64];
    /* strict mode: shadow byte of p, xor 0xff where the shadow says "initialised", not "poison" */
    uint8_t *shadow[64];
    uint8_t invert[64];
    uint8_t valid[64];
};

/* The addresses of all lanes, of a global or flat instruction. */
void emu_vector_addresses(const struct emu_wave *w, const struct emu_op *op, uint64_t *addr);

/* Check and locate `bytes` bytes per active lane. They fault on any address that is not allowed. */
void emu_where_global(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                      unsigned bytes, enum emu_access access);
void emu_where_flat(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                    unsigned bytes, enum emu_access access);
void emu_where_scratch(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                       unsigned bytes, enum emu_access access);
void emu_where_buffer(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                      unsigned bytes, enum emu_access access);
/* Dwords of one lane do not lie together; scratch, although swizzled, is kept lane by lane. */
bool emu_buffer_is_swizzled(const struct emu_wave *w, const struct emu_op *op);
/* A buffer of formatted elements: one is in range as a whole or not at all. */
void emu_where_formatted(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                         unsigned bytes, enum emu_access access);
/* DS: lane address in s[0] plus a byte offset. */
void emu_where_lds(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                   unsigned offset, unsigned bytes, enum emu_access access);
/* LDS at addr[] that the caller has filled for the lanes of mask. */
void emu_where_lds_at(struct emu_wave *w, struct emu_where *a, unsigned bytes,
                      enum emu_access access);
/* Device memory at addr[] that the caller has filled, for the lanes of `mask` only. */
void emu_locate_global(struct emu_wave *w, struct emu_where *a, uint64_t mask, unsigned bytes,
                       enum emu_access access);
void emu_locate_scratch(struct emu_wave *w, struct emu_where *a, uint64_t mask, unsigned bytes,
                        enum emu_access access);
/* Lets every lane outside mask read zeros. */
void emu_idle_lanes(struct emu_wave *w, struct emu_where *a);
/* Device memory at addr[] that the caller has filled for the lanes of mask. */
void emu_where_global_at(struct emu_wave *w, struct emu_where *a, unsigned bytes,
                         enum emu_access access);

/* Host bytes of a device range for a scalar access; faults when not allowed. */
uint8_t *emu_scalar_bytes(struct emu_wave *w, uint64_t addr, unsigned bytes, enum emu_access access,
                          uint8_t **init);

/* Poison bits of n <= 4 bytes at byte `at` behind lane l's address. */
EMU_DEVICE_DATA static inline uint32_t emu_lane_poison(const struct emu_where *a, unsigned l,
                                                       unsigned at, unsigned n)
{
    uint32_t x = 0;
    if (!a->shadow[l])
        return 0;
    for (unsigned i = 0; i < n; i++)
        x |= (uint32_t)(uint8_t)(a->shadow[l][at + i] ^ a->invert[l]) << (8 * i);
    return x;
}

/* No poison in the n <= 16 bytes at lane l's address; the common case, in two words. */
EMU_DEVICE_DATA static inline bool emu_lane_clean(const struct emu_where *a, unsigned l, unsigned n)
{
    uint64_t x[2] = {0, 0}, clean = a->invert[l] * UINT64_C(0x0101010101010101);
    if (!a->shadow[l])
        return true;
    if (n == 4 || n == 8 || n == 16) {
        memcpy(x, a->shadow[l], n);
        return x[0] == (n == 4 ? clean & 0xffffffff : clean) && (n < 16 || x[1] == clean);
    }
    for (unsigned i = 0; i < n; i++)
        if (a->shadow[l][i] != a->invert[l])
            return false;
    return true;
}

EMU_DEVICE_DATA static inline void emu_lane_set_poison(struct emu_where *a, unsigned l, unsigned at,
                                                       unsigned n, uint32_t bits)
{
    for (unsigned i = 0; a->shadow[l] && i < n; i++)
        a->shadow[l][at + i] = (uint8_t)(bits >> (8 * i)) ^ a->invert[l];
}

/* Scalar source i of op, or 0 when absent. */
static inline uint32_t emu_scalar(const struct emu_wave *w, const struct emu_op *op, unsigned i)
{
    return op->s[i] == EMU_NO_ROW ? 0 : w->s[op->s[i]];
}

/* Counters (transactions.c): memory transactions and LDS bank conflicts from the lane addresses.
 */
void emu_count_global(struct emu_wave *w, const struct emu_where *a, unsigned bytes,
                      enum emu_access access);
void emu_count_lds(struct emu_wave *w, const struct emu_where *a, unsigned bytes,
                   enum emu_access access);

#endif
