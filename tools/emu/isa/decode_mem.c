/*
 * Decodes DS, FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF.
 */
#include "decode_parts.h"

#include <assert.h>
#include <string.h>

static const struct emu_slot vaddr32 = {EMU_SLOT_ADDR, EMU_T_B32, 1};
static const struct emu_slot vaddr64 = {EMU_SLOT_ADDR, EMU_T_B64, 2};
static const struct emu_slot sgpr32 = {EMU_SLOT_S, EMU_T_B32, 1};
static const struct emu_slot sgpr64 = {EMU_SLOT_S, EMU_T_B64, 2};

/* gfx90a, gfx942: data operands are AGPRs when the acc bit is set. */
static bool acc_bit(const struct emu_reader *r, unsigned bit)
{
    return !r->gfx11 && emu_bits(r, bit, 1);
}

/* ---- LDS ---- */

/* The gds bit is required, forbidden, or (gfx9) ignored. */
static bool gds_legal(const struct emu_reader *r, bool gds)
{
    bool bare = !r->sig->nsrc && !r->sig->ndst;

    if (bare && acc_bit(r, 25)) /* nothing that could lie in an AGPR */
        return false;
    if (r->sig->gds_only)
        return gds;
    if (bare && emu_bits(r, 0, 16)) /* ds_nop */
        return false;
    return !gds || !r->sig->lds_only;
}

static bool decode_ds(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    static const uint8_t data_field[] = {40, 48};
    bool acc = acc_bit(r, 25), gds = emu_bits(r, r->gfx11 ? 17 : 16, 1);
    unsigned data = 0;

    if (!gds_legal(r, gds) || (r->gfx12 && gds))
        return false;
    in->offset = (int32_t)emu_bits(r, 0, 16);
    in->offset0 = (uint8_t)emu_bits(r, 0, 8);
    in->offset1 = (uint8_t)emu_bits(r, 8, 8);
    in->mem = gds && (r->gfx11 || r->sig->gds_only) ? EMU_M_GDS : 0;
    if (r->sig->ndst) {
        if (!emu_read_vgpr(r, emu_bits(r, 56, 8), acc, r->sig->dst[0], &in->dst[0]))
            return false;
        in->ndst = 1;
    } else if (emu_bits(r, 56, 8)) {
        return false;
    }
    for (unsigned i = 0; i < r->sig->nsrc; i++) {
        struct emu_slot slot = r->sig->src[i];

        if (slot.kind == EMU_SLOT_ADDR) {
            /* GWS: it is data, not an address */
            if (!emu_read_vgpr(r, emu_bits(r, 32, 8), acc && r->sig->gds_only, vaddr32,
                               &in->src[0]))
                return false;
            in->nsrc = 1;
            continue;
        }
        assert(data < 2);
        if (!emu_read_vgpr(r, emu_bits(r, data_field[data], 8), acc, slot, &in->src[data + 1]))
            return false;
        in->nsrc = (uint8_t)(2 + data++);
    }
    if (in->src[0].kind == EMU_OPK_NONE && emu_bits(r, 32, 8))
        return false;
    for (; data < 2; data++)
        if (emu_bits(r, data_field[data], 8))
            return false;
    return true;
}

/* ---- flat, global, scratch ---- */

static void flat_cache_bits(struct emu_reader *r)
{
    struct emu_insn *in = r->in;

    if (r->gfx11) {
        in->mem |= (emu_bits(r, 14, 1) ? EMU_M_GLC : 0) | (emu_bits(r, 15, 1) ? EMU_M_SLC : 0) |
                   (emu_bits(r, 13, 1) ? EMU_M_DLC : 0);
        return;
    }
    in->mem |= (emu_bits(r, 16, 1) ? EMU_M_GLC : 0) | (emu_bits(r, 17, 1) ? EMU_M_SLC : 0) |
               (emu_bits(r, 25, 1) ? EMU_M_SCC : 0);
}

/* Address registers: vaddr (32 bits beside an SGPR base, 64 alone) and saddr. */
static bool flat_address(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    unsigned saddr = emu_bits(r, 48, 7), off = r->gfx11 ? 124 : 127;
    unsigned vaddr = emu_bits(r, 32, 8);

    if (!r->sig->has_addr) /* addtid: the lane number is the address */
        return saddr == off || emu_read_sgpr(r, saddr, sgpr64, &in->src[2]);
    if (in->enc == EMU_FLAT)
        return saddr == (r->gfx11 ? 124u : 0u) &&
               emu_read_vgpr(r, vaddr, false, vaddr64, &in->src[0]);
    if (saddr == off)
        return emu_read_vgpr(r, vaddr, false, vaddr64, &in->src[0]);
    return emu_read_vgpr(r, vaddr, false, vaddr32, &in->src[0]) &&
           emu_read_sgpr(r, saddr, sgpr64, &in->src[2]);
}

/* gfx90a: either vaddr or saddr. gfx942, gfx11: vaddr is used where the sve bit says so. */
static bool scratch_address(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    unsigned saddr = emu_bits(r, 48, 7), off = r->gfx11 ? 124 : 127;
    bool vaddr;

    if (in->family == EMU_GFX90A)
        vaddr = saddr == off;
    else
        vaddr = emu_bits(r, r->gfx11 ? 55 : 13, 1);
    if (vaddr && in->family != EMU_GFX90A)
        in->mem |= EMU_M_SVE;
    if (vaddr && !emu_read_vgpr(r, emu_bits(r, 32, 8), false, vaddr32, &in->src[0]))
        return false;
    return saddr == off || emu_read_sgpr(r, saddr, sgpr32, &in->src[2]);
}

/* gfx90a's float atomics have no scc bit. */
static bool no_scc(const struct emu_reader *r)
{
    return r->sig->no_scc && r->in->family == EMU_GFX90A && r->in->mem & EMU_M_SCC;
}

static bool decode_flat(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    const struct emu_sig *sig = r->sig;
    bool acc = acc_bit(r, 55), returns, lds = !r->gfx11 && emu_bits(r, 13, 1);

    in->offset =
        in->enc == EMU_FLAT ? (int32_t)emu_bits(r, 0, 13) : (int32_t)(in->word[0] << 19) >> 19;
    flat_cache_bits(r);
    if (!(in->enc == EMU_SCRATCH ? scratch_address(r) : flat_address(r)))
        return false;
    if (r->gfx11 && in->enc != EMU_SCRATCH && emu_bits(r, 55, 1))
        return false;
    if (lds && !(in->mem & EMU_M_SVE)) {
        if (in->enc == EMU_FLAT || in->family != EMU_GFX90A || !sig->lds_bit ||
            sig->dst[0].dwords > 1 || acc)
            return false;
        in->mem |= EMU_M_LDS;
        in->flags |= EMU_F_LDS_DMA;
    }
    if ((r->row->flags & EMU_F_LDS_DMA && acc) || no_scc(r))
        return false;
    in->nsrc = 3;
    returns = sig->ndst && !(in->flags & EMU_F_ATOMIC && !(in->mem & EMU_M_GLC));
    if (returns && !(in->mem & EMU_M_LDS)) {
        if (!emu_read_vgpr(r, emu_bits(r, 56, 8), acc, sig->dst[0], &in->dst[0]))
            return false;
        in->ndst = 1;
    }
    return sig->nsrc <= sig->has_addr ||
           emu_read_vgpr(r, emu_bits(r, 40, 8), acc, sig->src[sig->has_addr], &in->src[1]);
}

/* ---- buffers ---- */

static void buffer_bits(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    bool mtbuf = in->enc == EMU_MTBUF;
    static const uint16_t bit11[][2] = {{12, EMU_M_SLC}, {13, EMU_M_DLC},   {14, EMU_M_GLC},
                                        {53, EMU_M_TFE}, {54, EMU_M_OFFEN}, {55, EMU_M_IDXEN}};
    static const uint16_t mubuf9[][2] = {{12, EMU_M_OFFEN}, {13, EMU_M_IDXEN}, {14, EMU_M_GLC},
                                         {15, EMU_M_SCC},   {16, EMU_M_LDS},   {17, EMU_M_SLC}};
    static const uint16_t mtbuf9[][2] = {{12, EMU_M_OFFEN}, {13, EMU_M_IDXEN}, {14, EMU_M_GLC},
                                         {53, EMU_M_SCC},   {54, EMU_M_SLC},   {54, EMU_M_SLC}};
    const uint16_t(*bit)[2] = r->gfx11 ? bit11 : mtbuf ? mtbuf9 : mubuf9;

    for (unsigned i = 0; i < 6; i++)
        if (emu_bits(r, bit[i][0], 1))
            in->mem |= bit[i][1];
    if (mtbuf)
        in->format = (uint8_t)emu_bits(r, 19, 7);
}

static bool buffer_data(struct emu_reader *r, bool returns)
{
    struct emu_insn *in = r->in;
    const struct emu_sig *sig = r->sig;
    struct emu_slot slot = sig->ndst ? sig->dst[0] : sig->src[1];
    bool acc = acc_bit(r, 55);

    if (in->mem & EMU_M_TFE)
        slot.dwords++;
    if (sig->nsrc > 1) {
        slot.dwords = sig->src[1].dwords + (in->mem & EMU_M_TFE ? 1 : 0);
        if (!emu_read_vgpr(r, emu_bits(r, 40, 8), acc, slot, &in->src[1]))
            return false;
        slot.dwords = sig->ndst ? sig->dst[0].dwords : 0;
    }
    if (returns) {
        if (!emu_read_vgpr(r, emu_bits(r, 40, 8), acc, slot, &in->dst[0]))
            return false;
        in->ndst = 1;
    }
    return true;
}

/* No operands. gfx90a's buffer_wbl2 ignores glc and scc, gfx942's instructions have sc0 and sc1. */
static bool decode_cache_control(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    bool sc = r->sig->sc_bits;

    in->mem &= EMU_M_GLC | EMU_M_SCC;
    if (r->gfx11) {
        in->mem = 0;
        return emu_bits(r, 13, 2) == 0 && emu_bits(r, 53, 3) == 0;
    }
    if (emu_bits(r, 55, 1) || emu_bits(r, 16, 1) || emu_bits(r, 12, 2))
        return false;
    if (!sc)
        return in->mem == 0;
    if (in->family == EMU_GFX90A)
        in->mem = 0;
    return true;
}

/* Loads of one dword or less may go to LDS; on gfx950 also those of three and four. */
static bool lds_size(const struct emu_reader *r, unsigned dwords)
{
    return dwords <= 1 ||
           (r->in->family == EMU_GFX950 && dwords > 2 && !strstr(r->row->name, "format"));
}

static bool decode_buffer(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    const struct emu_sig *sig = r->sig;
    bool lds_row = r->row->flags & EMU_F_LDS_DMA, returns;
    struct emu_slot addr = vaddr32;

    buffer_bits(r);
    if (!sig->nsrc)
        return decode_cache_control(r);
    in->offset = (int32_t)emu_bits(r, 0, 12);
    if (sig->from_lds) {
        if (!(in->mem & EMU_M_LDS) || in->mem & (EMU_M_OFFEN | EMU_M_IDXEN) || acc_bit(r, 55))
            return false;
        in->mem &= (uint16_t)~EMU_M_LDS;
    }
    if (in->mem & EMU_M_LDS) {
        if (!sig->lds_bit || !lds_size(r, sig->dst[0].dwords) || acc_bit(r, 55))
            return false;
        in->flags |= EMU_F_LDS_DMA;
    }
    if (in->mem & EMU_M_TFE && (in->flags & EMU_F_ATOMIC || lds_row || in->enc == EMU_MTBUF))
        return false;
    if (no_scc(r))
        return false;
    returns = sig->ndst && !(in->mem & EMU_M_LDS) &&
              !(in->flags & EMU_F_ATOMIC && !(in->mem & EMU_M_GLC));
    if (!buffer_data(r, returns))
        return false;
    in->nsrc = 4;
    if (in->mem & (EMU_M_OFFEN | EMU_M_IDXEN)) {
        if (in->mem & EMU_M_OFFEN && in->mem & EMU_M_IDXEN)
            addr = vaddr64;
        if (!emu_read_vgpr(r, emu_bits(r, 32, 8), false, addr, &in->src[0]))
            return false;
    }
    if (in->mem & EMU_M_LDS && sig->dst[0].dwords > 1 && emu_bits(r, 48, 5) == 26)
        return false; /* LLVM 22 does not take xnack_mask for a resource */
    return emu_read_sgpr(r, emu_bits(r, 48, 5) << 2, sig->src[0], &in->src[2]) &&
           emu_read_src(r, emu_bits(r, 56, 8), sgpr32, &in->src[3]);
}

bool emu_decode_memory(struct emu_reader *r)
{
    switch (r->in->enc) {
    case EMU_DS:
        return decode_ds(r);
    case EMU_MUBUF:
    case EMU_MTBUF:
        return decode_buffer(r);
    default:
        return decode_flat(r);
    }
}
