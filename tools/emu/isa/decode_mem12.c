/*
 * Decodes the memory encodings of gfx12: FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF, of three dwords
 * each.
 */
#include "decode_parts.h"

static const struct emu_slot vaddr32 = {EMU_SLOT_ADDR, EMU_T_B32, 1};
static const struct emu_slot vaddr64 = {EMU_SLOT_ADDR, EMU_T_B64, 2};
static const struct emu_slot sgpr32 = {EMU_SLOT_S, EMU_T_B32, 1};
static const struct emu_slot sgpr64 = {EMU_SLOT_S, EMU_T_B64, 2};

enum { OFF = 124 }; /* in the place of an SGPR: none */

/* Temporal hint and scope. The hint of an atomic says whether it returns the old value. */
static void cache_policy(struct emu_reader *r)
{
    struct emu_insn *in = r->in;

    in->cpol = (uint8_t)(emu_bits(r, 52, 3) | emu_bits(r, 50, 2) << 3);
    if (in->flags & EMU_F_ATOMIC && in->cpol & 1)
        in->mem |= EMU_M_GLC;
}

static bool is_returned(const struct emu_reader *r)
{
    return r->sig->ndst && !(r->in->flags & EMU_F_ATOMIC && !(r->in->mem & EMU_M_GLC));
}

static bool flat_address(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    unsigned saddr = emu_bits(r, 0, 7), vaddr = emu_bits(r, 64, 8);

    if (in->enc == EMU_SCRATCH) {
        if (emu_bits(r, 49, 1)) {
            in->mem |= EMU_M_SVE;
            if (!emu_read_vgpr(r, vaddr, false, vaddr32, &in->src[0]))
                return false;
        }
        return saddr == OFF || emu_read_sgpr(r, saddr, sgpr32, &in->src[2]);
    }
    if (!r->sig->has_addr) /* addtid: the lane number is the address */
        return saddr == OFF || emu_read_sgpr(r, saddr, sgpr64, &in->src[2]);
    if (saddr == OFF)
        return emu_read_vgpr(r, vaddr, false, vaddr64, &in->src[0]);
    return in->enc != EMU_FLAT && emu_read_vgpr(r, vaddr, false, vaddr32, &in->src[0]) &&
           emu_read_sgpr(r, saddr, sgpr64, &in->src[2]);
}

static bool decode_flat(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    const struct emu_sig *sig = r->sig;

    cache_policy(r);
    if (in->enc != EMU_SCRATCH && emu_bits(r, 49, 1))
        return false;
    if (!sig->nsrc && !sig->ndst) /* global_inv and its like */
        return emu_bits(r, 0, 7) == OFF;
    in->offset = (int32_t)in->word[2] >> 8;
    if (!flat_address(r))
        return false;
    in->nsrc = 3;
    if (is_returned(r)) {
        if (!emu_read_vgpr(r, emu_bits(r, 32, 8), false, sig->dst[0], &in->dst[0]))
            return false;
        in->ndst = 1;
    }
    return sig->nsrc <= sig->has_addr ||
           emu_read_vgpr(r, emu_bits(r, 55, 8), false, sig->src[sig->has_addr], &in->src[1]);
}

static bool buffer_data(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    const struct emu_sig *sig = r->sig;
    const uint8_t tfe = in->mem & EMU_M_TFE ? 1 : 0;
    unsigned vdata = emu_bits(r, 32, 8);

    if (sig->nsrc > 1) {
        struct emu_slot slot = sig->src[1];

        slot.dwords += tfe;
        if (!emu_read_vgpr(r, vdata, false, slot, &in->src[1]))
            return false;
    }
    if (is_returned(r)) {
        struct emu_slot slot = sig->dst[0];

        slot.dwords += tfe;
        if (!emu_read_vgpr(r, vdata, false, slot, &in->dst[0]))
            return false;
        in->ndst = 1;
    }
    return true;
}

static bool decode_buffer(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    bool offen = emu_bits(r, 62, 1), idxen = emu_bits(r, 63, 1);

    cache_policy(r);
    in->offset = (int32_t)in->word[2] >> 8;
    in->mem |= (offen ? EMU_M_OFFEN : 0) | (idxen ? EMU_M_IDXEN : 0) |
               (emu_bits(r, 22, 1) ? EMU_M_TFE : 0);
    if (in->offset < 0)
        return false;
    if (in->enc == EMU_MTBUF)
        in->format = (uint8_t)emu_bits(r, 55, 7);
    if (in->mem & EMU_M_TFE && (in->flags & EMU_F_ATOMIC || in->enc == EMU_MTBUF))
        return false;
    if (!buffer_data(r))
        return false;
    in->nsrc = 4;
    if ((offen || idxen) && !emu_read_vgpr(r, emu_bits(r, 64, 8), false,
                                           offen && idxen ? vaddr64 : vaddr32, &in->src[0]))
        return false;
    return emu_read_sgpr(r, emu_bits(r, 41, 9), r->sig->src[0], &in->src[2]) &&
           emu_read_sgpr(r, emu_bits(r, 0, 7), sgpr32, &in->src[3]);
}

bool emu_decode_memory12(struct emu_reader *r)
{
    if (r->in->enc == EMU_MUBUF || r->in->enc == EMU_MTBUF)
        return decode_buffer(r);
    return decode_flat(r);
}
