/*
 * The disassembler: mnemonic, and operands as LLVM prints them.
 */
#include "disasm_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *suffix(const struct emu_insn *in)
{
    const struct emu_row *row = &emu_rows[in->row];
    const struct emu_sig *sig = emu_row_sig(in->row);
    bool native = row->enc == EMU_VOP3 || row->enc == EMU_VOP3P;

    if (in->enc == EMU_VOP3 || in->enc == EMU_VOP3P) {
        if (in->ext == EMU_EXT_DPP16 || in->ext == EMU_EXT_DPP8)
            return "_e64_dpp";
        return native || !sig->nsrc ? "" : "_e64";
    }
    if (in->enc != EMU_VOP1 && in->enc != EMU_VOP2 && in->enc != EMU_VOPC)
        return "";
    if (!sig->nsrc)
        return "";
    if (in->ext == EMU_EXT_SDWA)
        return "_sdwa";
    if (in->ext != EMU_EXT_NONE)
        return in->enc == EMU_VOPC ? "" : "_dpp";
    if (row->flags & EMU_D_NO64)
        return sig->true16 || (sig->packed && !emu_is_gfx11(in)) ? "_e32" : "";
    return "_e32";
}

size_t emu_disasm(const struct emu_insn *insn, char *buf, size_t size)
{
    struct emu_text t = {buf, size, 0};

    if (size)
        buf[0] = 0;
    emu_text_add(&t, "%s%s", emu_rows[insn->row].name, suffix(insn));
    switch (insn->enc) {
    case EMU_SOP1:
    case EMU_SOP2:
    case EMU_SOPC:
    case EMU_SOPK:
    case EMU_SOPP:
    case EMU_SMEM:
        emu_print_scalar(&t, insn);
        break;
    case EMU_VOP1:
    case EMU_VOP2:
    case EMU_VOPC:
    case EMU_VOP3:
    case EMU_VOP3P:
    case EMU_MAI:
    case EMU_VOPD:
        emu_print_vector(&t, insn);
        break;
    case EMU_MIMG:
    case EMU_EXP:
    case EMU_VINTERP:
    case EMU_LDSDIR:
        emu_print_trapped(&t, insn);
        break;
    default:
        emu_print_memory(&t, insn);
    }
    return t.len;
}
