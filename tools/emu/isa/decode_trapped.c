/*
 * Recognises images, export and interpolation: their name, their size, whether their bits are
 * legal, and those operands whose size or kind depends on more than one field.
 *
 * But for lds_direct_load they are never executed: ndst and nsrc stay zero, and only the
 * disassembler looks at the operands. MIMG has its data in dst[0], addresses in src[0], resource in
 * src[1], sampler or NONE in src[2]; with separate address registers offset0 counts them, and
 * src[0] is the last one, or the range that follows the first four. VINTERP has src[0..2].
 */
#include "decode_parts.h"

#include <string.h>

static bool has(const struct emu_reader *r, const char *part)
{
    return strstr(r->row->name, part) != NULL;
}

/* Is part one of the letters and words behind the name's first? image_sample_c_lz has c and lz. */
static bool has_word(const struct emu_reader *r, const char *part)
{
    size_t n = strlen(part);

    for (const char *s = strchr(r->row->name + 6, '_'); s; s = strchr(s + 1, '_'))
        if (!strncmp(s + 1, part, n) && (s[1 + n] == '_' || !s[1 + n]))
            return true;
    return false;
}

/*
 * How many registers an image instruction has for data and for addresses. Where LLVM has no such
 * variant of the instruction, or where its registers would reach beyond v255, it prints the variant
 * that it decoded first, of the default sizes.
 */
struct image_size {
    unsigned data, data_default;
    unsigned addr, addr_default, addr_max;
    bool known;
};

static void size_data(const struct emu_reader *r, struct image_size *s)
{
    bool gather = has(r, "gather4") || has(r, "msaa_load"), atomic = has(r, "atomic");
    bool cmpswap = has(r, "cmpswap");
    unsigned dmask = emu_bits(r, 8, 4);

    for (s->data = 0; dmask; dmask &= dmask - 1)
        s->data++;
    s->data = gather ? 4 : s->data ? s->data : 1;
    if (emu_bits(r, r->gfx11 ? 17 : 63, 1)) /* halves, packed */
        s->data = (s->data + 1) / 2;
    if (r->gfx11)
        s->data += emu_bits(r, 53, 1); /* tfe */
    s->data_default = gather ? 4 : cmpswap ? 2 : 1;
    s->known = s->data >= (cmpswap ? 2 : 1) && !(s->data == 3 && (has(r, "gather4") || atomic)) &&
               !(s->data == 5 && atomic);
    if (atomic && !cmpswap && s->data == 4)
        s->data = 5; /* LLVM prints one more */
}

/* Coordinates, level and gradients by dimension; a16 packs the first two in pairs. */
static void size_address(const struct emu_reader *r, struct image_size *s, bool separate)
{
    static const uint8_t coordinates[] = {1, 2, 3, 3, 2, 3, 3, 4};
    static const uint8_t gradients[] = {2, 4, 6, 4, 2, 4, 4, 4};
    bool sampler = has(r, "gather4") || has(r, "sample") || has(r, "get_lod");
    bool level = has_word(r, "l") || has_word(r, "cl") || has(r, "mip") || has(r, "resinfo");
    bool derived = sampler && has_word(r, "d"), g16 = has_word(r, "g16");
    unsigned extra = 0, dim = emu_bits(r, 2, 3), parts = has(r, "resinfo") ? 0 : coordinates[dim];

    s->addr = s->addr_default = s->addr_max = 1;
    if (!r->gfx11)
        return;
    if (sampler)
        extra = 0u + has_word(r, "c") + has_word(r, "b") + has_word(r, "o");
    parts += level;
    s->addr = extra + (emu_bits(r, 16, 1) ? (parts + 1) / 2 : parts);
    s->addr_default = extra + (derived ? 2 : 1);
    s->addr_max = extra + (sampler ? 3 + level : 4);
    if (derived) {
        s->addr += g16 ? (gradients[dim] / 2 + 1) & ~1u : gradients[dim];
        s->addr_max += g16 ? 4 : 6;
    }
    if (separate)
        s->addr_default = s->addr_max < 5 ? s->addr_max : 5;
    else if (s->addr_max == 3 || s->addr_max == 7) /* the next class of registers serves too */
        s->addr_max++;
    if (s->addr > s->addr_max || (separate && s->addr < 2))
        s->known = false;
}

/* Data, and the addresses that lie in a row: all, or with separate registers the last of them. */
static bool read_image(struct emu_reader *r, unsigned data, unsigned addr, bool separate)
{
    struct emu_slot slot = {EMU_SLOT_V, EMU_T_BLOB, (uint8_t)data};
    struct emu_insn *in = r->in;
    unsigned vaddr = emu_bits(r, 32, 8), last = addr < 5 ? addr : 5;

    if (!emu_read_vgpr(r, emu_bits(r, 40, 8), !r->gfx11 && emu_bits(r, 16, 1), slot, &in->dst[0]))
        return false;
    slot.dwords = (uint8_t)addr;
    if (separate) {
        in->offset0 = (uint8_t)last;
        slot.dwords = (uint8_t)(addr - last + 1);
        vaddr = last > 1 ? in->word[2] >> 8 * (last - 2) & 0xff : vaddr;
    }
    return emu_read_vgpr(r, vaddr, false, slot, &in->src[0]);
}

/*
 * Ray tracing: node (one register or two), extent, and three of origin, direction and, unless a16
 * packs it with that, inverse direction. Most of the fields have one legal value.
 */
static bool decode_ray(struct emu_reader *r)
{
    static const struct emu_slot data = {EMU_SLOT_V, EMU_T_BLOB, 4};
    static const struct emu_slot resource = {EMU_SLOT_BUF, EMU_T_BLOB, 4};
    const unsigned node = has(r, "bvh64") ? 2 : 1, vectors = emu_bits(r, 16, 1) ? 2 : 3;
    const struct emu_slot whole = {EMU_SLOT_V, EMU_T_BLOB, (uint8_t)(node + 1 + 3 * vectors)};
    struct emu_insn *in = r->in;

    if (emu_bits(r, 2, 3) || emu_bits(r, 7, 9) != 0x11f || emu_bits(r, 17, 1) ||
        emu_bits(r, 53, 2) || emu_bits(r, 58, 5))
        return false;
    if (!emu_read_vgpr(r, emu_bits(r, 40, 8), false, data, &in->dst[0]) ||
        !emu_read_sgpr(r, emu_bits(r, 48, 5) << 2, resource, &in->src[1]))
        return false;
    if (in->size != 12)
        return emu_read_vgpr(r, emu_bits(r, 32, 8), false, whole, &in->src[0]);
    for (unsigned i = 0; i < vectors; i++)
        if ((in->word[2] >> (8 + 8 * i) & 0xff) > 253)
            return false;
    return emu_bits(r, 32, 8) + node <= 256;
}

static bool decode_image(struct emu_reader *r)
{
    static const struct emu_slot resource = {EMU_SLOT_BUF, EMU_T_BLOB, 8};
    static const struct emu_slot sampler = {EMU_SLOT_BUF, EMU_T_BLOB, 4};
    bool access = has(r, "load") || has(r, "store") || has(r, "atomic") || has(r, "resinfo");
    bool no_d16 = has(r, "pck") || has(r, "atomic") || has(r, "get_lod") || has(r, "resinfo");
    bool separate = emu_bits(r, 0, 1) && r->gfx11;
    unsigned ssamp = emu_bits(r, r->gfx11 ? 58 : 53, 5);
    unsigned d16 = emu_bits(r, r->gfx11 ? 17 : 63, 1);
    struct image_size s;

    if (emu_bits(r, 0, 1)) { /* addresses in separate registers: one more dword */
        if (!r->gfx11 || r->avail < 3)
            return false;
        r->in->size = 12;
    }
    if (has(r, "intersect_ray"))
        return decode_ray(r);
    if (no_d16 && d16)
        return false;
    size_data(r, &s);
    size_address(r, &s, separate);
    if (!read_image(r, s.data_default, s.addr_default, separate))
        return false;
    if (s.known && !read_image(r, s.data, s.addr, separate))
        read_image(r, s.data_default, s.addr_default, separate);
    if (access ? ssamp : !emu_read_sgpr(r, ssamp << 2, sampler, &r->in->src[2]))
        return false;
    return emu_read_sgpr(r, emu_bits(r, 48, 5) << 2, resource, &r->in->src[1]);
}

bool emu_decode_image12(struct emu_reader *r)
{
    bool sampler = has(r, "sample") || has(r, "gather4") || has(r, "get_lod") || has(r, "msaa");

    return sampler == (r->in->word[0] >> 26 == 0x39);
}

static bool decode_vinterp(struct emu_reader *r)
{
    static const struct emu_slot b32 = {EMU_SLOT_ANY, EMU_T_B32, 1};

    if (!has(r, "f16") && emu_bits(r, 11, 4))
        return false;
    for (unsigned i = 0; i < 3; i++) {
        if (!emu_read_src(r, emu_bits(r, 32 + 9 * i, 9), b32, &r->in->src[i]))
            return false;
        r->in->src[i].flags = emu_bits(r, 61 + i, 1) ? EMU_OPF_NEG : 0;
    }
    return true;
}

/* Of the two, lds_direct_load is executed: only it has operands. */
static bool decode_ldsdir(struct emu_reader *r)
{
    struct emu_insn *in = r->in;

    in->ndst = r->sig->ndst;
    return !in->ndst || emu_read_vgpr(r, emu_bits(r, 0, 8), false, r->sig->dst[0], &in->dst[0]);
}

bool emu_decode_trapped(struct emu_reader *r)
{
    switch (r->in->enc) {
    case EMU_MIMG:
        if (r->gfx12)
            return emu_decode_image12(r);
        return decode_image(r);
    case EMU_VINTERP:
        return decode_vinterp(r);
    case EMU_LDSDIR:
        return emu_bits(r, 22, r->gfx12 ? 1 : 2) == 0 && decode_ldsdir(r);
    default:
        return true;
    }
}
