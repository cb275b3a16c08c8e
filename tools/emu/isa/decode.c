/*
 * From code words to struct emu_insn: finds encoding and row, and reads operand fields. What
 * decodes and what does not is LLVM 19's judgement, bit for bit:
 * tests/tools/emu/isa/test_decode_llvm holds the two against each other.
 */
#include "decode_parts.h"

#include <string.h>

/* ---- encodings ---- */

struct place {
    uint8_t enc, form; /* form: 0, or 1 when a VOP3 opcode stands for a VOP1, VOP2 or VOPC row */
    uint16_t op;
    uint8_t bytes;
};

static struct place vop3_place(uint32_t w, bool gfx11)
{
    unsigned op = w >> 16 & 0x3ff, vop1 = gfx11 ? 0x180 : 0x140, vop3 = gfx11 ? 0x200 : 0x1c0;

    if (op < 0x100)
        return (struct place){EMU_VOPC, 1, (uint16_t)op, 8};
    if (op < 0x140)
        return (struct place){EMU_VOP2, 1, (uint16_t)(op - 0x100), 8};
    if (op >= vop1 && op < vop3)
        return (struct place){EMU_VOP1, 1, (uint16_t)(op - vop1), 8};
    if (!gfx11 && op >= 0x380)
        return (struct place){EMU_VOP3P, 0, op & 0x7f, 8};
    return (struct place){EMU_VOP3, 0, (uint16_t)op, 8};
}

static struct place flat_place(uint32_t w, bool gfx11)
{
    static const uint8_t seg[] = {EMU_FLAT, EMU_SCRATCH, EMU_GLOBAL, EMU_ENCODINGS};

    return (struct place){seg[gfx11 ? w >> 16 & 3 : w >> 14 & 3], 0, w >> 18 & 0x7f, 8};
}

static struct place salu_place(uint32_t w)
{
    if (w >> 23 == 0x17d)
        return (struct place){EMU_SOP1, 0, w >> 8 & 0xff, 4};
    if (w >> 23 == 0x17e)
        return (struct place){EMU_SOPC, 0, w >> 16 & 0x7f, 4};
    if (w >> 23 == 0x17f)
        return (struct place){EMU_SOPP, 0, w >> 16 & 0x7f, 4};
    if (w >> 28 == 0xb)
        return (struct place){EMU_SOPK, 0, w >> 23 & 0x1f, 4};
    return (struct place){EMU_SOP2, 0, w >> 23 & 0x7f, 4};
}

static struct place find_place(uint32_t w, bool gfx11)
{
    const struct place none = {EMU_ENCODINGS, 0, 0, 0};

    if (w == 0 && gfx11)
        return (struct place){EMU_VOP2, 0, 0, 4}; /* v_illegal */
    if (w >> 31 == 0) {
        if (w >> 25 == 0x3e)
            return (struct place){EMU_VOPC, 0, w >> 17 & 0xff, 4};
        if (w >> 25 == 0x3f)
            return (struct place){EMU_VOP1, 0, w >> 9 & 0xff, 4};
        return (struct place){EMU_VOP2, 0, w >> 25 & 0x3f, 4};
    }
    if (w >> 30 == 2)
        return salu_place(w);
    switch (w >> 26) {
    case 0x30:
        return gfx11 ? none : (struct place){EMU_SMEM, 0, w >> 18 & 0xff, 8};
    case 0x32:
        return gfx11 ? (struct place){EMU_VOPD, 0, w >> 22 & 0xf, 8} : none;
    case 0x33:
        if (gfx11 && (w >> 24 & 3) == 0 && !(w >> 23 & 1))
            return (struct place){EMU_VOP3P, 0, w >> 16 & 0x7f, 8};
        if (gfx11 && (w >> 24 & 3) == 1)
            return (struct place){EMU_VINTERP, 0, w >> 16 & 0x7f, 8};
        if (gfx11 && (w >> 24 & 3) == 2)
            return (struct place){EMU_LDSDIR, 0, w >> 20 & 3, 4};
        return none;
    case 0x34:
        return gfx11 ? none : vop3_place(w, false);
    case 0x35:
        return gfx11 ? vop3_place(w, true) : none;
    case 0x36:
        return (struct place){EMU_DS, 0, gfx11 ? w >> 18 & 0xff : w >> 17 & 0xff, 8};
    case 0x37:
        return flat_place(w, gfx11);
    case 0x38:
        return (struct place){EMU_MUBUF, 0, w >> 18 & (gfx11 ? 0xff : 0x7f), 8};
    case 0x3a:
        return (struct place){EMU_MTBUF, 0, w >> 15 & 0xf, 8};
    case 0x3c:
        return (struct place){EMU_MIMG, 0, w >> 18 & (gfx11 ? 0xff : 0x7f), 8};
    case 0x3d:
        return gfx11 ? (struct place){EMU_SMEM, 0, w >> 18 & 0xff, 8} : none;
    case 0x3e:
        return gfx11 ? (struct place){EMU_EXP, 0, 0, 8} : none;
    default:
        return none;
    }
}

static struct place memory_place(uint32_t w, unsigned enc)
{
    return (struct place){(uint8_t)enc, 0, w >> 14 & 0xff, 12};
}

/* gfx12 has memory encodings of its own, of three dwords; the rest is as on gfx11. */
static struct place find_place12(uint32_t w)
{
    static const uint8_t seg[] = {EMU_FLAT, EMU_SCRATCH, EMU_GLOBAL, EMU_ENCODINGS};
    const struct place none = {EMU_ENCODINGS, 0, 0, 0};
    unsigned op = w >> 14 & 0xff;

    switch (w >> 26) {
    case 0x31:
        if ((op & 0xf0) == 0x80)
            return (struct place){EMU_MTBUF, 0, op & 15, 12};
        return memory_place(w, EMU_MUBUF);
    case 0x33:
        if ((w >> 24 & 3) == 1)
            return (struct place){EMU_VINTERP, 0, w >> 16 & 0x1f, 8};
        return find_place(w, true);
    case 0x34:
    case 0x39:
        return memory_place(w, EMU_MIMG);
    case 0x3b:
        return memory_place(w, seg[w >> 24 & 3]);
    case 0x3d:
        return (struct place){EMU_SMEM, 0, w >> 13 & 0x3f, 8};
    case 0x37:
    case 0x38:
    case 0x3a:
    case 0x3c:
        return none;
    default:
        return find_place(w, true);
    }
}

static bool decode_body(struct emu_reader *r, bool vop3_form)
{
    switch (r->in->enc) {
    case EMU_SOP1:
    case EMU_SOP2:
    case EMU_SOPC:
    case EMU_SOPK:
    case EMU_SOPP:
    case EMU_SMEM:
        return emu_decode_scalar(r);
    case EMU_VOP1:
    case EMU_VOP2:
    case EMU_VOPC:
        return vop3_form ? emu_decode_vop3(r) : emu_decode_vop(r);
    case EMU_VOP3:
        return emu_decode_vop3(r);
    case EMU_VOP3P:
    case EMU_MAI:
        return emu_decode_vop3p(r);
    case EMU_VOPD:
        return emu_decode_vopd(r);
    case EMU_DS:
    case EMU_FLAT:
    case EMU_GLOBAL:
    case EMU_SCRATCH:
    case EMU_MUBUF:
    case EMU_MTBUF:
        return r->gfx12 && r->in->enc != EMU_DS ? emu_decode_memory12(r) : emu_decode_memory(r);
    default:
        return emu_decode_trapped(r);
    }
}

static unsigned decode_one(enum emu_family family, unsigned wave, const uint8_t *text, size_t avail,
                           uint32_t offset, bool newer, struct emu_insn *out)
{
    struct emu_reader r = {
        .in = out, .gfx11 = family >= EMU_GFX11, .gfx12 = family >= EMU_GFX12, .newer = newer};
    struct place p;
    int row;

    if (avail < 4)
        return 0;
    text += offset;
    memset(out, 0, sizeof *out);
    r.avail = avail >= 12 && r.gfx11 ? 3 : avail >= 8 ? 2 : 1;
    for (unsigned i = 0; i < r.avail; i++)
        out->word[i] = (uint32_t)text[4 * i] | (uint32_t)text[4 * i + 1] << 8 |
                       (uint32_t)text[4 * i + 2] << 16 | (uint32_t)text[4 * i + 3] << 24;
    p = r.gfx12 ? find_place12(out->word[0]) : find_place(out->word[0], r.gfx11);
    if (p.enc == EMU_ENCODINGS || p.bytes > 4 * r.avail)
        return 0;
    row = emu_find_row(family, p.enc, p.op);
    if (row < 0 && p.enc == EMU_VOP3P)
        row = emu_find_row(family, EMU_MAI, p.op);
    if (row < 0)
        return 0;
    r.row = &emu_rows[row];
    r.sig = emu_row_sig((unsigned)row);
    r.lenient = family == EMU_GFX950 && r.row->op[EMU_GFX942] < 0;
    out->row = (uint16_t)row;
    out->enc = p.form ? EMU_VOP3 : r.row->enc;
    out->size = p.bytes;
    out->family = (uint8_t)family;
    out->wave = (uint8_t)wave;
    out->flags = r.row->flags;
    out->offset_in_text = offset;
    if (!decode_body(&r, p.form))
        return 0;
    for (unsigned i = out->size / 4; i < 3; i++)
        out->word[i] = 0;
    return out->size;
}

/*
 * gfx950: v_mfma_scale_*, 16 bytes. The first half has the scales, as the instruction that loads
 * them has; the second one is the product, with bit 0 of ABID, which says that they count.
 */
static bool decode_scaled(unsigned wave, const uint8_t *text, uint32_t offset,
                          struct emu_insn *out)
{
    enum { SCALED = 0x80, HALF = 8, ABID_AT = HALF + 1, ABID_BIT = 0x08 };
    /* sources and which byte of them; the other bits are ignored */
    static const uint8_t first[HALF] = {0, 0x18, 0xff, 0xff, 0xff, 0xff, 0x03, 0x18};
    struct emu_insn load, product;
    uint8_t bytes[2 * HALF];

    memcpy(bytes, text + offset, sizeof bytes);
    for (unsigned i = 0; i < HALF; i++)
        bytes[i] &= first[i];
    if ((bytes[ABID_AT] & ABID_BIT) == 0)
        return false;
    bytes[ABID_AT] ^= ABID_BIT;
    if (!decode_one(EMU_GFX950, wave, bytes, HALF, 0, false, &load) ||
        !emu_row_sig(load.row)->ld_scale || load.src[0].kind != EMU_OPK_VGPR ||
        load.src[1].kind != EMU_OPK_VGPR ||
        !decode_one(EMU_GFX950, wave, bytes, HALF, HALF, false, &product) ||
        !emu_row_sig(product.row)->f8f6f4)
        return false;
    *out = product;
    out->row = (uint16_t)emu_find_row(EMU_GFX950, EMU_MAI,
                                      SCALED + (unsigned)emu_rows[product.row].op[EMU_GFX950]);
    out->size = 2 * HALF;
    out->offset_in_text = offset;
    out->word[0] = load.word[0];
    out->word[1] = load.word[1];
    out->op_sel = load.op_sel;
    out->op_sel_hi = load.op_sel_hi;
    out->src[3] = load.src[0];
    out->src[4] = load.src[1];
    out->nsrc = 5;
    return true;
}

static unsigned decode(enum emu_family family, unsigned wave, const uint8_t *text, size_t avail,
                       uint32_t offset, bool newer, struct emu_insn *out)
{
    if (family == EMU_GFX950 && avail >= 16 && decode_scaled(wave, text, offset, out))
        return out->size;
    return decode_one(family, wave, text, avail, offset, newer, out);
}

unsigned emu_decode(enum emu_family family, unsigned wave, const uint8_t *text, size_t avail,
                    uint32_t offset, struct emu_insn *out)
{
    return decode(family, wave, text, avail, offset, false, out);
}

unsigned emu_decode_newer(enum emu_family family, unsigned wave, const uint8_t *text, size_t avail,
                          uint32_t offset, struct emu_insn *out)
{
    return decode(family, wave, text, avail, offset, family >= EMU_GFX11, out);
}
