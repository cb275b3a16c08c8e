/*
 * Prints the operands of images, export and interpolation: from the words those that are one field,
 * since nobody executes them, and from emu_insn those that needed decoding.
 */
#include "disasm_parts.h"

#include <string.h>

static unsigned bits(const struct emu_insn *in, unsigned lo, unsigned n)
{
    return in->word[lo / 32] >> lo % 32 & ((1u << n) - 1);
}

static void print_ldsdir(struct emu_text *t, const struct emu_insn *in)
{
    emu_text_add(t, " v%u", bits(in, 0, 8));
    if (strstr(emu_rows[in->row].name, "param_load"))
        emu_text_add(t, ", attr%u.%c", bits(in, 10, 6), "xyzw"[bits(in, 8, 2)]);
    if (emu_is_gfx12(in))
        emu_text_add(t, " wait_va_vdst:%u wait_vm_vsrc:%u", bits(in, 16, 4), bits(in, 23, 1));
    else
        emu_text_add(t, " wait_vdst:%u", bits(in, 16, 4));
}

/* gfx11 exports no parameters and has no null target. */
static void print_target(struct emu_text *t, unsigned target)
{
    if (target < 8)
        emu_text_add(t, " mrt%u", target);
    else if (target == 8)
        emu_text_add(t, " mrtz");
    else if (target >= 12 && target <= 16)
        emu_text_add(t, " pos%u", target - 12);
    else if (target == 20)
        emu_text_add(t, " prim");
    else if (target == 21 || target == 22)
        emu_text_add(t, " dual_src_blend%u", target - 21);
    else
        emu_text_add(t, " invalid_target_%u", target);
}

static void print_export(struct emu_text *t, const struct emu_insn *in)
{
    print_target(t, bits(in, 4, 6));
    for (unsigned i = 0; i < 4; i++)
        if (bits(in, i, 1))
            emu_text_add(t, "%s v%u", i ? "," : "", bits(in, 32 + 8 * i, 8));
        else
            emu_text_add(t, "%s off", i ? "," : "");
    emu_text_add(t, "%s%s", bits(in, 11, 1) ? " done" : "", bits(in, 13, 1) ? " row_en" : "");
}

static void print_vinterp(struct emu_text *t, const struct emu_insn *in)
{
    unsigned op_sel = bits(in, 11, 4);

    emu_text_add(t, " v%u", bits(in, 0, 8));
    for (unsigned i = 0; i < 3; i++) {
        emu_text_add(t, ", ");
        emu_print_src(t, in, i);
    }
    if (bits(in, 15, 1))
        emu_text_add(t, " clamp");
    if (op_sel)
        emu_text_add(t, " op_sel:[%u,%u,%u,%u]", op_sel & 1, op_sel >> 1 & 1, op_sel >> 2 & 1,
                     op_sel >> 3);
    emu_text_add(t, " wait_exp:%u", bits(in, 8, 3));
}

static void flag(struct emu_text *t, const struct emu_insn *in, unsigned bit, const char *name)
{
    if (bits(in, bit, 1))
        emu_text_add(t, " %s", name);
}

static void image_flags9(struct emu_text *t, const struct emu_insn *in)
{
    flag(t, in, 12, "unorm");
    flag(t, in, 13, "glc");
    flag(t, in, 25, "slc");
    flag(t, in, 7, "scc");
    flag(t, in, 15, "a16");
    flag(t, in, 17, "lwe");
    flag(t, in, 14, "da");
    flag(t, in, 63, "d16");
}

static void image_flags11(struct emu_text *t, const struct emu_insn *in)
{
    static const char *const dims[] = {"1D",       "2D",       "3D",      "CUBE",
                                       "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"};

    emu_text_add(t, " dim:SQ_RSRC_IMG_%s", dims[bits(in, 2, 3)]);
    flag(t, in, 7, "unorm");
    flag(t, in, 14, "glc");
    flag(t, in, 12, "slc");
    flag(t, in, 13, "dlc");
    flag(t, in, 15, "r128");
    flag(t, in, 16, "a16");
    flag(t, in, 53, "tfe");
    flag(t, in, 54, "lwe");
    flag(t, in, 17, "d16");
}

static void print_ray(struct emu_text *t, const struct emu_insn *in)
{
    const unsigned node = bits(in, 32, 8), vectors = bits(in, 16, 1) ? 2 : 3;

    emu_text_add(t, " ");
    emu_print_operand(t, in, &in->dst[0]);
    if (in->size != 12) {
        emu_text_add(t, ", ");
        emu_print_operand(t, in, &in->src[0]);
    } else {
        if (strstr(emu_rows[in->row].name, "bvh64"))
            emu_text_add(t, ", [v[%u:%u], v%u", node, node + 1, bits(in, 64, 8));
        else
            emu_text_add(t, ", [v%u, v%u", node, bits(in, 64, 8));
        for (unsigned i = 0, v; i < vectors; i++) {
            v = bits(in, 72 + 8 * i, 8);
            emu_text_add(t, ", v[%u:%u]", v, v + 2);
        }
        emu_text_add(t, "]");
    }
    emu_text_add(t, ", ");
    emu_print_operand(t, in, &in->src[1]);
    flag(t, in, 16, "a16");
}

static void print_image(struct emu_text *t, const struct emu_insn *in)
{
    emu_text_add(t, " ");
    emu_print_operand(t, in, &in->dst[0]);
    emu_text_add(t, ", ");
    if (in->size == 12) {
        emu_text_add(t, "[");
        for (unsigned i = 0; i + 1 < in->offset0; i++)
            emu_text_add(t, "v%u, ", i ? bits(in, 56 + 8 * i, 8) : bits(in, 32, 8));
        emu_print_operand(t, in, &in->src[0]);
        emu_text_add(t, "]");
    } else {
        emu_print_operand(t, in, &in->src[0]);
    }
    emu_text_add(t, ", ");
    emu_print_operand(t, in, &in->src[1]);
    if (in->src[2].kind != EMU_OPK_NONE) {
        emu_text_add(t, ", ");
        emu_print_operand(t, in, &in->src[2]);
    }
    if (bits(in, 8, 4))
        emu_text_add(t, " dmask:0x%x", bits(in, 8, 4));
    if (emu_is_gfx11(in))
        image_flags11(t, in);
    else
        image_flags9(t, in);
}

void emu_print_trapped(struct emu_text *t, const struct emu_insn *in)
{
    if (in->enc == EMU_MIMG && emu_is_gfx12(in))
        return;
    if (in->enc == EMU_MIMG && strstr(emu_rows[in->row].name, "intersect_ray"))
        print_ray(t, in);
    else if (in->enc == EMU_MIMG)
        print_image(t, in);
    else if (in->enc == EMU_VINTERP)
        print_vinterp(t, in);
    else if (in->enc == EMU_LDSDIR)
        print_ldsdir(t, in);
    else if (in->enc == EMU_EXP)
        print_export(t, in);
}
