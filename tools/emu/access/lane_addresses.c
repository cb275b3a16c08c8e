/* Addresses of vector memory instructions: computed, checked, and turned into host pointers. */
#include "access.h"

#include <inttypes.h>

/* Where inactive lanes point, so that data functions may read without asking; never written. */
static uint8_t nowhere[64];

static const char *const access_names[] = {"read", "write", "atomic"};

static _Noreturn void fault_lane(struct emu_wave *w, uint64_t lanes, uint64_t addr, unsigned bytes,
                                 enum emu_access access)
{
    char why[320];
    emu_mem_explain(w->group->launch->memory, addr, bytes, why, sizeof why);
    emu_fault(w, lanes, "%s of %u bytes at 0x%" PRIx64 ": %s", access_names[access], bytes, addr,
              why);
}

/* Kernel arguments are read-only, and so is a module outside of its data segments. */
static void check_writable(struct emu_wave *w, uint64_t lanes, uint64_t addr, unsigned bytes,
                           const struct emu_block *b, enum emu_access access)
{
    uint64_t at = addr - b->base;
    if (b->kind != EMU_BLOCK_KERNARG && b->kind != EMU_BLOCK_CODE)
        return;
    if (at >= b->writable && at + bytes <= b->writable_end)
        return;
    emu_fault(w, lanes, "%s of %u bytes at 0x%" PRIx64 " in read-only %s memory",
              access_names[access], bytes, addr, b->kind == EMU_BLOCK_CODE ? "module" : "kernarg");
}

static void locate(struct emu_wave *w, struct emu_where *a, unsigned l, const struct emu_block *b,
                   unsigned bytes, enum emu_access access)
{
    uint64_t at = a->addr[l] - b->base;
    a->p[l] = b->host + at;
    if (access != EMU_READ)
        check_writable(w, UINT64_C(1) << l, a->addr[l], bytes, b, access);
    if (w->strict) {
        a->shadow[l] = b->init ? b->init + at : NULL;
        a->invert[l] = 0xff;
        w->group->watch->access(w, EMU_SPACE_GLOBAL, access, (int)l, a->addr[l], bytes);
    } else if (b->init && access != EMU_READ) {
        memset(b->init + at, 0xff, bytes); /* for the strict launches between which this one is */
    }
}

/* Lanes of `mask` that would touch a faulting address, for the report. */
static uint64_t bad_lanes(const struct emu_memory *m, const struct emu_where *a, uint64_t mask,
                          unsigned bytes)
{
    uint64_t bad = 0;
    EMU_EACH_LANE(l, mask)
    if (!emu_mem_find(m, a->addr[l], bytes))
        bad |= UINT64_C(1) << l;
    return bad;
}

void emu_locate_global(struct emu_wave *w, struct emu_where *a, uint64_t mask, unsigned bytes,
                       enum emu_access access)
{
    const struct emu_memory *m = w->group->launch->memory;
    uint64_t lo = UINT64_MAX, hi = 0;
    a->global = true;
    EMU_EACH_LANE(l, mask)
    {
        lo = a->addr[l] < lo ? a->addr[l] : lo;
        hi = a->addr[l] > hi ? a->addr[l] : hi;
    }
    /* Nearly always all lanes stay in one block: one lookup, then plain additions. */
    const struct emu_block *b =
        hi - lo < UINT64_C(1) << 40 ? emu_mem_find(m, lo, hi - lo + bytes) : NULL;
    if (b && b->kind == EMU_BLOCK_DEVICE && !w->strict && (!b->init || access == EMU_READ)) {
        uint8_t *host = b->host;
        uint64_t base = b->base;
        EMU_EACH_LANE(l, mask)
        a->p[l] = host + (a->addr[l] - base);
        return;
    }
    EMU_EACH_LANE(l, mask)
    {
        b = emu_mem_find(m, a->addr[l], bytes);
        if (!b)
            fault_lane(w, bad_lanes(m, a, mask, bytes), a->addr[l], bytes, access);
        locate(w, a, l, b, bytes, access);
    }
}

void emu_idle_lanes(struct emu_wave *w, struct emu_where *a)
{
    uint64_t idle = emu_all_lanes(w) & ~a->mask;
    EMU_EACH_LANE(l, idle)
    {
        a->p[l] = nowhere;
        a->shadow[l] = NULL;
        a->invert[l] = 0;
    }
}

void emu_where_global_at(struct emu_wave *w, struct emu_where *a, unsigned bytes,
                         enum emu_access access)
{
    a->global = false;
    if (a->mask)
        emu_locate_global(w, a, a->mask, bytes, access);
    emu_idle_lanes(w, a);
    if (w->group->count_memory)
        emu_count_global(w, a, bytes, access);
}

/* vaddr (64 bits, or 32 bits with a scalar base) + offset, for global and flat. */
void emu_vector_addresses(const struct emu_wave *w, const struct emu_op *op, uint64_t *addr)
{
    const unsigned lanes = w->lanes;
    const uint64_t offset = (uint64_t)(int64_t)op->insn->offset;
    if (op->s[2] != EMU_NO_ROW) {
        uint64_t base = emu_s64(w, op->s[2]) + offset;
        if (op->s[0] == EMU_NO_ROW) {
            for (unsigned l = 0; l < lanes; l++)
                addr[l] = base;
            return;
        }
        const uint32_t *v = emu_row(w, op->s[0]);
        for (unsigned l = 0; l < lanes; l++)
            addr[l] = base + v[l];
        return;
    }
    const uint32_t *lo = emu_row(w, op->s[0]), *hi = lo + lanes;
    for (unsigned l = 0; l < lanes; l++)
        addr[l] = (lo[l] | (uint64_t)hi[l] << 32) + offset;
}

void emu_where_global(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                      unsigned bytes, enum emu_access access)
{
    a->mask = emu_exec(w);
    a->zero = a->partial = 0;
    emu_vector_addresses(w, op, a->addr);
    emu_where_global_at(w, a, bytes, access);
}

/* LDS: everything inside the workgroup's allocation. */
static void locate_lds(struct emu_wave *w, struct emu_where *a, uint64_t mask, unsigned bytes,
                       enum emu_access access)
{
    struct emu_group *g = w->group;
    uint64_t limit = g->lds_size >= bytes ? g->lds_size - bytes + 1 : 0, bad = 0;
    EMU_EACH_LANE(l, mask)
    {
        if (a->addr[l] >= limit)
            bad |= UINT64_C(1) << l;
        else
            a->p[l] = g->lds + a->addr[l];
    }
    if (bad)
        emu_fault(w, bad, "LDS %s of %u bytes at offset %" PRIu64 ", the workgroup has %u bytes",
                  access_names[access], bytes, a->addr[__builtin_ctzll(bad)], g->lds_size);
    if (!w->strict)
        return;
    EMU_EACH_LANE(l, mask)
    {
        a->shadow[l] = g->lds_poison ? g->lds_poison + a->addr[l] : NULL;
        a->invert[l] = 0;
        w->group->watch->access(w, EMU_SPACE_LDS, access, (int)l, a->addr[l], bytes);
    }
}

void emu_where_lds_at(struct emu_wave *w, struct emu_where *a, unsigned bytes,
                      enum emu_access access)
{
    a->global = false;
    a->zero = a->partial = 0;
    locate_lds(w, a, a->mask, bytes, access);
    emu_idle_lanes(w, a);
    if (w->group->count_memory)
        emu_count_lds(w, a, bytes, access);
}

void emu_where_lds(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                   unsigned offset, unsigned bytes, enum emu_access access)
{
    const uint32_t *v = emu_row(w, op->s[0]);
    for (unsigned l = 0; l < w->lanes; l++)
        a->addr[l] = v[l] + offset; /* in 32 bits: a negative base with an offset is common */
    a->mask = emu_exec(w);
    emu_where_lds_at(w, a, bytes, access);
}

void emu_locate_scratch(struct emu_wave *w, struct emu_where *a, uint64_t mask, unsigned bytes,
                        enum emu_access access)
{
    uint64_t limit = w->scratch_lane >= bytes ? w->scratch_lane - bytes + 1 : 0, bad = 0;
    EMU_EACH_LANE(l, mask)
    {
        if (a->addr[l] >= limit)
            bad |= UINT64_C(1) << l;
    }
    if (bad)
        emu_fault(w, bad, "scratch %s of %u bytes at offset %" PRId64 ", a lane has %u bytes",
                  access_names[access], bytes, (int64_t)a->addr[__builtin_ctzll(bad)],
                  w->scratch_lane);
    EMU_EACH_LANE(l, mask)
    {
        size_t at = (size_t)l * w->scratch_lane + (size_t)a->addr[l];
        a->p[l] = w->scratch + at;
        a->shadow[l] = w->scratch_poison ? w->scratch_poison + at : NULL;
        a->invert[l] = 0;
    }
}

void emu_where_scratch(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                       unsigned bytes, enum emu_access access)
{
    uint32_t base = emu_scalar(w, op, 2) + (uint32_t)op->insn->offset;
    const uint32_t *v = op->s[0] == EMU_NO_ROW ? NULL : emu_row(w, op->s[0]);
    for (unsigned l = 0; l < w->lanes; l++)
        a->addr[l] = base + (v ? v[l] : 0);
    a->mask = emu_exec(w);
    a->zero = a->partial = 0;
    a->global = false;
    emu_locate_scratch(w, a, a->mask, bytes, access);
    emu_idle_lanes(w, a);
}

/* The upper half of a flat address says which memory it means, lane by lane. */
void emu_where_flat(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                    unsigned bytes, enum emu_access access)
{
    uint64_t lds = 0, scratch = 0, exec = emu_exec(w);
    emu_vector_addresses(w, op, a->addr);
    a->mask = exec;
    a->zero = a->partial = 0;
    a->global = false;
    EMU_EACH_LANE(l, exec)
    {
        uint32_t window = (uint32_t)(a->addr[l] >> 32);
        if (window == EMU_SHARED_APERTURE >> 32)
            lds |= UINT64_C(1) << l;
        else if (window == EMU_PRIVATE_APERTURE >> 32)
            scratch |= UINT64_C(1) << l;
        else
            continue;
        a->addr[l] &= UINT32_MAX;
    }
    uint64_t global = exec & ~lds & ~scratch;
    if (lds)
        locate_lds(w, a, lds, bytes, access);
    if (scratch)
        emu_locate_scratch(w, a, scratch, bytes, access);
    if (global)
        emu_locate_global(w, a, global, bytes, access);
    emu_idle_lanes(w, a);
    if (w->group->count_memory && global == exec)
        emu_count_global(w, a, bytes, access);
}

uint8_t *emu_scalar_bytes(struct emu_wave *w, uint64_t addr, unsigned bytes, enum emu_access access,
                          uint8_t **init)
{
    const struct emu_block *b = emu_mem_find(w->group->launch->memory, addr, bytes);
    if (!b)
        fault_lane(w, 0, addr, bytes, access);
    if (access != EMU_READ)
        check_writable(w, 0, addr, bytes, b, access);
    *init = b->init ? b->init + (addr - b->base) : NULL;
    if (w->strict)
        w->group->watch->access(w, EMU_SPACE_GLOBAL, access, -1, addr, bytes);
    return b->host + (addr - b->base);
}
