/* Buffer descriptors: addressing, swizzle and range checks of MUBUF and MTBUF instructions. */
#include "dense_access.h"
#include "access.h"

/*
 * Word 0, 1: base[47:0], stride[61:48], swizzle. Word 2: num_records. Word 3: index stride [22:21],
 * add_tid [23]; gfx9: data format [18:15], which extends the stride when add_tid is set; gfx11:
 * out-of-range rule [29:28].
 */
struct resource {
    uint64_t base;
    uint32_t stride, records, soffset;
    uint32_t index_stride, element;
    bool swizzle, idxen, gfx11;
    bool add_tid;  /* as the descriptor says */
    bool add_lane; /* and it is done */
    bool whole;    /* an element is in range as a whole or not at all */
    unsigned rule; /* OOB_SELECT of gfx11; on gfx9 it follows from the instruction */
};

enum { RULE_STRUCTURED, RULE_INDEX, RULE_EMPTY, RULE_RAW, RULE_NONE };

/*
 * gfx9: scratch is not checked, structures by index, raw buffers by offset. The lane's number is
 * part of the index, with a longer stride, but not where a linear buffer has an index of its own
 * (gfx950: the PR below).
 */
static unsigned gfx9_rule(const struct resource *r)
{
    if (r->add_tid && !r->idxen)
        return RULE_NONE;
    return r->idxen && r->stride ? RULE_INDEX : RULE_RAW;
}

static struct resource read_resource(const struct emu_wave *w, const struct emu_op *op,
                                     bool formatted)
{
    const uint32_t *d = &w->s[op->s[2]];
    struct resource r = {
        .base = d[0] | (uint64_t)(d[1] & 0xffff) << 32,
        .stride = d[1] >> 16 & 0x3fff,
        .records = d[2],
        .soffset = emu_scalar(w, op, 3),
        .index_stride = 8u << (d[3] >> 21 & 3),
        .element = 4,
        .add_tid = d[3] >> 23 & 1,
        .add_lane = d[3] >> 23 & 1,
        .idxen = op->insn->mem & EMU_M_IDXEN,
        .gfx11 = op->insn->family >= EMU_GFX11,
    };
    if (r.gfx11) {
        unsigned swizzle = d[1] >> 30;
        r.swizzle = swizzle != 0;
        r.element = swizzle == 3 ? 16 : swizzle == 2 ? 8 : 4;
        r.rule = d[3] >> 28 & 3;
    } else {
        r.swizzle = d[1] >> 31;
        r.rule = gfx9_rule(&r);
        if (r.idxen && !r.swizzle)
            r.add_lane = false;
        if (r.add_lane && !formatted)
            r.stride |= (d[3] >> 15 & 15) << 14;
    }
    return r;
}

static uint64_t element_address(const struct resource *r, uint32_t index, uint32_t offset)
{
    uint64_t at = r->base + r->soffset;
    if (!r->swizzle)
        return at + (uint64_t)index * r->stride + offset;
    uint64_t row = index / r->index_stride, lane = index % r->index_stride;
    return at + (row * r->stride + offset / r->element * r->element) * r->index_stride +
           lane * r->element + offset % r->element;
}

/* SOFFSET counts, too; what it alone takes beyond the end leaves nothing. */
static uint32_t raw_records(uint32_t records, uint32_t soffset)
{
    return soffset < records ? records - soffset : 0;
}

/*
 * How many of `bytes` are in range. Raw buffers are checked by VGPR offset + instruction offset,
 * which wrap at 2^32, + SOFFSET, which does not; structures by their index, and where gfx11 says so
 * the element must end inside its record. Dwords are judged one by one, except in atomics and
 * formatted accesses. gfx9: measured on gfx950, ROCm/rocm-systems PR 10928. gfx11: the formula of
 * ROCm/rocMLIR PR 678 and LLVM PR 207796, and of AMD's emulator of RDNA 4 in rocm-systems, which
 * has it for swizzled raw buffers, too: SOFFSET is subtracted from NUM_RECORDS.
 */
static unsigned bytes_in_range(const struct resource *r, uint32_t index, uint32_t offset,
                               unsigned bytes)
{
    uint32_t end = 0, left;

    switch (r->rule) {
    case RULE_NONE:
        return bytes;
    case RULE_EMPTY:
        return r->records ? bytes : 0;
    case RULE_INDEX:
        return index < r->records ? bytes : 0;
    case RULE_STRUCTURED:
        end = index < r->records ? r->stride : 0;
        break;
    default:
        end = raw_records(r->records, r->soffset);
        if (r->gfx11 && r->swizzle && r->stride)
            end = index < end ? r->stride : 0;
    }
    left = offset < end ? end - offset : 0;
    if (bytes <= left)
        return bytes;
    return bytes <= 4 || r->whole ? 0 : left & ~3u;
}

static bool is_scratch(const struct emu_wave *w, const struct emu_op *op)
{
    return op->insn->family == EMU_GFX90A && w->s[op->s[2] + 3] == EMU_SCRATCH_RSRC3;
}

static void scratch_addresses(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                              const uint32_t *offset_row)
{
    const uint32_t *d = &w->s[op->s[2]];
    /* Base and SOFFSET count bytes of the whole wave; only the base's low half can have moved. */
    uint32_t moved = emu_scalar(w, op, 3) + d[0];
    if (moved % w->lanes)
        emu_fault(w, 0, "scratch offset %u is not a multiple of the wave size", moved);
    uint32_t base = moved / w->lanes + (uint32_t)op->insn->offset;
    for (unsigned l = 0; l < w->lanes; l++)
        a->addr[l] = base + (offset_row ? offset_row[l] : 0);
}

static void range_check(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                        unsigned bytes, const uint32_t *index_row, const uint32_t *offset_row,
                        const struct resource *resource)
{
    const struct resource r = *resource;
    uint64_t exec = a->mask;
    EMU_EACH_LANE(l, exec)
    {
        uint32_t first = index_row ? index_row[l] : 0, index = first + (r.add_lane ? l : 0);
        uint32_t offset = (uint32_t)op->insn->offset + (offset_row ? offset_row[l] : 0);
        unsigned n = bytes_in_range(&r, r.gfx11 ? index : first, offset, bytes);
        if (n && r.swizzle && offset % r.element + bytes > r.element)
            emu_fault(w, UINT64_C(1) << l,
                      "%u bytes at offset %u of a buffer that is swizzled by %u bytes", bytes,
                      offset, r.element);
        a->addr[l] = element_address(&r, index, offset);
        a->valid[l] = (uint8_t)n;
        if (n == 0) {
            a->zero |= UINT64_C(1) << l;
            a->mask &= ~(UINT64_C(1) << l);
        } else if (n < bytes) {
            a->partial |= UINT64_C(1) << l;
        }
    }
}

static void where_buffer(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                         unsigned bytes, enum emu_access access, bool formatted)
{
    struct resource r = read_resource(w, op, formatted);
    const uint32_t *index_row = NULL, *offset_row = NULL, *v = NULL;
    bool idxen = op->insn->mem & EMU_M_IDXEN, offen = op->insn->mem & EMU_M_OFFEN;
    if (op->s[0] != EMU_NO_ROW)
        v = emu_row(w, op->s[0]);
    if (idxen)
        index_row = v;
    if (offen)
        offset_row = idxen ? v + w->lanes : v;
    a->mask = emu_exec(w);
    a->zero = a->partial = 0;
    a->global = false;
    if (is_scratch(w, op)) {
        scratch_addresses(w, op, a, offset_row);
        emu_locate_scratch(w, a, a->mask, bytes, access);
        emu_idle_lanes(w, a);
        return;
    }
    r.whole = formatted || access == EMU_RMW;
    range_check(w, op, a, bytes, index_row, offset_row, &r);
    uint64_t whole = a->mask & ~a->partial;
    if (whole)
        emu_locate_global(w, a, whole, bytes, access);
    EMU_EACH_LANE(l, a->partial)
    emu_locate_global(w, a, UINT64_C(1) << l, a->valid[l], access);
    emu_idle_lanes(w, a);
    if (w->group->count_memory)
        emu_count_global(w, a, bytes, access);
}

bool emu_buffer_is_swizzled(const struct emu_wave *w, const struct emu_op *op)
{
    const uint32_t *d = &w->s[op->s[2]];

    if (op->insn->family >= EMU_GFX11)
        return d[1] >> 30;
    return d[1] >> 31 && !is_scratch(w, op);
}

void emu_where_buffer(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                      unsigned bytes, enum emu_access access)
{
    where_buffer(w, op, a, bytes, access, false);
}

void emu_where_formatted(struct emu_wave *w, const struct emu_op *op, struct emu_where *a,
                         unsigned bytes, enum emu_access access)
{
    where_buffer(w, op, a, bytes, access, true);
}

/* A raw buffer: offsets count from its base, and what ends behind its size is out of range. */
static bool is_raw(const struct emu_wave *w, const uint32_t *d)
{
    const enum emu_family family = w->group->kernel->family;

    if (d[3] >> 23 & 1) /* adds the lane's number */
        return false;
    if (family >= EMU_GFX11)
        return d[1] >> 30 == 0 && (d[3] >> 28 & 3) == RULE_RAW;
    return d[1] >> 31 == 0 && (family != EMU_GFX90A || d[3] != EMU_SCRATCH_RSRC3);
}

bool emu_dense_buffer(struct emu_wave *w, const struct emu_op *op, unsigned words,
                      enum emu_access access, struct emu_dense *x)
{
    const uint32_t *d = &w->s[op->s[2]], *v;
    uint32_t soffset, records;
    uint64_t base;

    if ((op->insn->mem & (EMU_M_OFFEN | EMU_M_IDXEN)) != EMU_M_OFFEN || op->s[0] == EMU_NO_ROW ||
        !is_raw(w, d))
        return false;
    v = emu_row(w, op->s[0]);
    soffset = emu_scalar(w, op, 3);
    records = raw_records(d[2], soffset);
    base = (d[0] | (uint64_t)(d[1] & 0xffff) << 32) + soffset;
    return emu_dense_device(w, base, v, (uint32_t)op->imm, records, words, access, x) ||
           (access == EMU_READ && emu_dense_beyond(w, v, (uint32_t)op->imm, records, x));
}
