/*
 * Recognises images, export and interpolation: their name, their size, and whether their bits are
 * legal. They are never executed, so their operands are not kept.
 */
#include "emu_decode.h"

#include <string.h>

static bool has(const struct emu_reader *r, const char *part)
{
    return strstr(r->row->name, part) != NULL;
}

/* Images without a sampler have its field zero; a 16-bit form is not for all. */
static bool decode_image(struct emu_reader *r)
{
    static const struct emu_slot resource = {EMU_SLOT_BUF, EMU_T_BLOB, 8};
    static const struct emu_slot sampler = {EMU_SLOT_BUF, EMU_T_BLOB, 4};
    struct emu_operand o;
    bool access = has(r, "load") || has(r, "store") || has(r, "atomic") || has(r, "resinfo");
    bool no_d16 = has(r, "pck") || has(r, "atomic") || has(r, "get_lod") || has(r, "resinfo");
    unsigned ssamp = emu_bits(r, r->gfx11 ? 58 : 53, 5);

    if (emu_bits(r, 0, 1)) { /* addresses in separate registers: one more dword */
        if (!r->gfx11 || r->avail < 3)
            return false;
        r->in->size = 12;
    }
    if (no_d16 && emu_bits(r, r->gfx11 ? 17 : 63, 1))
        return false;
    if (access ? ssamp : !emu_read_sgpr(r, ssamp << 2, sampler, &o))
        return false;
    return emu_read_sgpr(r, emu_bits(r, 48, 5) << 2, resource, &o);
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
        return decode_image(r);
    case EMU_VINTERP:
        return decode_vinterp(r);
    case EMU_LDSDIR:
        return emu_bits(r, 22, 2) == 0 && decode_ldsdir(r);
    default:
        return true;
    }
}
