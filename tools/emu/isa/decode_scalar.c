/*
 * Decodes SOP1, SOP2, SOPC, SOPK, SOPP and SMEM.
 */
#include "decode_parts.h"

#include <assert.h>
#include <string.h>

/* Places of the signature, in order: destination from `sdst`, sources from ssrc0 and ssrc1. */
static bool decode_sop(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    uint32_t w = in->word[0];
    unsigned field[2] = {w & 0xff, w >> 8 & 0xff}, next = 0;

    if (r->sig->ndst) {
        if (!emu_read_sgpr(r, w >> 16 & 0x7f, r->sig->dst[0], &in->dst[0]))
            return false;
        in->ndst = 1;
    }
    for (unsigned i = 0; i < r->sig->nsrc; i++) {
        struct emu_slot slot = r->sig->src[i];
        struct emu_operand *o = &in->src[in->nsrc++];

        assert(next < 2 || slot.kind == EMU_SLOT_K);
        if (slot.kind == EMU_SLOT_K) {
            if (!emu_read_literal(r, slot, o))
                return false;
        } else if (slot.kind == EMU_SLOT_SIMM16) {
            in->simm16 = (int16_t)field[next++]; /* s_set_gpr_idx_on, s_sendmsg_rtn */
            in->nsrc--;
        } else if (!emu_read_src(r, field[next++], slot, o)) {
            return false;
        }
    }
    return true;
}

static bool decode_sopk(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    unsigned sdst = in->word[0] >> 16 & 0x7f;
    const char *name = r->row->name;

    in->simm16 = (int16_t)in->word[0];
    if (r->sig->ndst) {
        if (!emu_read_sgpr(r, sdst, r->sig->dst[0], &in->dst[0]))
            return false;
        in->ndst = 1;
        if (emu_starts(name, "s_addk") || emu_starts(name, "s_mulk") ||
            emu_starts(name, "s_cmovk") || !strcmp(name, "s_subvector_loop_end")) {
            in->src[0] = in->dst[0];
            in->src[0].flags = EMU_OPF_IMPLICIT;
            in->nsrc = 1;
        }
        return true;
    }
    if (!strcmp(name, "s_setreg_imm32_b32")) {
        in->nsrc = 1;
        return emu_read_literal(r, (struct emu_slot){EMU_SLOT_K, EMU_T_B32, 1}, &in->src[0]);
    }
    for (unsigned i = 0; i < r->sig->nsrc; i++)
        if (r->sig->src[i].kind != EMU_SLOT_SIMM16) {
            if (!emu_read_sgpr(r, sdst, r->sig->src[i], &in->src[in->nsrc++]))
                return false;
        }
    return true;
}

/* ---- scalar memory ---- */

/* gfx9: the immediate and the register offset are chosen by two bits; gfx11 always has both, and
 * null stands for no register. */
static bool smem_offset(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    const struct emu_slot s32 = {EMU_SLOT_S, EMU_T_B32, 1};
    uint32_t w1 = in->word[1];
    int32_t imm = (int32_t)(w1 << 11) >> 11;

    if (r->gfx11) {
        in->offset = imm;
        if (imm)
            in->mem |= EMU_M_IMM;
        if (w1 >> 25 != 124)
            return emu_read_sgpr(r, w1 >> 25, s32, &in->src[1]);
        return true;
    }
    if (emu_bits(r, 17, 1)) {
        in->offset = imm;
        in->mem |= EMU_M_IMM;
    }
    if (emu_bits(r, 14, 1))
        return emu_read_sgpr(r, w1 >> 25, s32, &in->src[1]);
    if (!(in->mem & EMU_M_IMM)) /* the old form: the register's number stands in the offset */
        return emu_read_sgpr(r, w1 & 0x7f, s32, &in->src[1]);
    return true;
}

/* gfx12: an offset of 24 bits, hint and scope, and prefetches with a length for a destination. */
static bool decode_smem12(struct emu_reader *r)
{
    const struct emu_slot s32 = {EMU_SLOT_S, EMU_T_B32, 1};
    struct emu_insn *in = r->in;
    unsigned soffset = emu_bits(r, 57, 7);

    in->offset = (int32_t)(in->word[1] << 8) >> 8;
    in->mem |= EMU_M_IMM;
    if (in->offset < 0 && r->sig->nsrc && r->sig->src[0].kind == EMU_SLOT_BUF)
        return false;
    in->nsrc = 2;
    if (r->sig->ndst) {
        in->cpol = (uint8_t)(emu_bits(r, 23, 2) | emu_bits(r, 21, 2) << 3);
        if (!emu_read_sgpr(r, emu_bits(r, 6, 7), r->sig->dst[0], &in->dst[0]))
            return false;
        in->ndst = 1;
    } else {
        in->simm16 = (int16_t)emu_bits(r, 6, 7);
        if (in->simm16 > 31)
            return false;
    }
    if (r->sig->nsrc && !emu_read_sgpr(r, emu_bits(r, 0, 6) << 1, r->sig->src[0], &in->src[0]))
        return false;
    return (soffset == 124 && !strstr(r->row->name, "prefetch")) ||
           emu_read_sgpr(r, soffset, s32, &in->src[1]);
}

static bool decode_smem(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    const struct emu_sig *sig = r->sig;
    bool glc = emu_bits(r, r->gfx11 ? 14 : 16, 1) && !r->gfx12;
    bool data = in->flags & (EMU_F_LOAD | EMU_F_STORE | EMU_F_ATOMIC);
    unsigned sdata = emu_bits(r, 6, 7);

    if (!sig->nsrc && r->gfx12)
        return true;
    if (!data && r->gfx11 && emu_bits(r, 13, 2))
        return false;
    if (!sig->nsrc && !r->gfx11 && emu_bits(r, 17, 1))
        return false;
    glc = glc && data;

    if (glc)
        in->mem |= EMU_M_GLC;
    if (r->gfx11 && emu_bits(r, 13, 1))
        in->mem |= EMU_M_DLC;
    if (!r->gfx11 && emu_bits(r, 15, 1))
        in->mem |= EMU_M_NV;
    if (sig->ndst && !(in->flags & EMU_F_ATOMIC && !glc)) {
        if (!emu_read_sgpr(r, sdata, sig->dst[0], &in->dst[0]))
            return false;
        in->ndst = 1;
    }
    if (!sig->nsrc)
        return true;
    if (!emu_read_sgpr(r, emu_bits(r, 0, 6) << 1, sig->src[0], &in->src[0]) || !smem_offset(r))
        return false;
    in->nsrc = 2;
    if (sig->nsrc > 1) {
        in->nsrc = 3;
        return emu_read_sgpr(r, sdata, sig->src[1], &in->src[2]);
    }
    return true;
}

bool emu_decode_scalar(struct emu_reader *r)
{
    bool ok = true;

    switch (r->in->enc) {
    case EMU_SMEM:
        ok = r->gfx12 && strcmp(r->row->name, "s_dcache_inv") != 0 ? decode_smem12(r)
                                                                   : decode_smem(r);
        break;
    case EMU_SOPK:
        ok = decode_sopk(r);
        break;
    case EMU_SOPP:
        r->in->simm16 = (int16_t)r->in->word[0];
        ok = r->sig->nsrc || r->in->simm16 == 0;
        break;
    default:
        ok = decode_sop(r);
    }
    if (ok)
        emu_add_implicit(r);
    return ok;
}
