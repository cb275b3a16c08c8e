/*
 * Prints the operands and modifiers of vector instructions.
 */
#include "disasm_parts.h"

static const char *const sel_names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                        "WORD_0", "WORD_1", "DWORD",  "?"};
static const char *const unused_names[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"};
static const char *const omod_names[] = {"", " mul:2", " mul:4", " div:2"};

/* Does LLVM 22 say lit() of it? */
static bool is_lit(const struct emu_insn *in, const struct emu_operand *o)
{
    char buf[8] = "";
    struct emu_text t = {buf, sizeof buf, 0};

    if (o->kind == EMU_OPK_LITERAL)
        emu_print_operand(&t, in, o);
    return buf[0] == 'l';
}

/* A source with its modifiers. A negated constant is neg(1), since -1 is another constant. */
void emu_print_src(struct emu_text *t, const struct emu_insn *in, unsigned i)
{
    const struct emu_operand *o = &in->src[i];
    bool mix = o->type == EMU_T_MIX; /* neg_hi is abs */
    bool abs = mix ? in->neg_hi >> i & 1 : o->flags & EMU_OPF_ABS;
    bool neg = mix ? in->neg_lo >> i & 1 : o->flags & EMU_OPF_NEG;
    bool number = o->kind == EMU_OPK_CONST || o->kind == EMU_OPK_LITERAL;
    bool call = neg && !abs && number && !is_lit(in, o);

    if (o->flags & EMU_OPF_SEXT)
        emu_text_add(t, "sext(");
    if (neg)
        emu_text_add(t, call ? "neg(" : "-");
    if (abs)
        emu_text_add(t, "|");
    emu_print_operand(t, in, o);
    if (abs)
        emu_text_add(t, "|");
    if (call || o->flags & EMU_OPF_SEXT)
        emu_text_add(t, ")");
}

/* op_sel:[1,0,1] with n entries from the bits of x. */
static void print_list(struct emu_text *t, const char *name, unsigned x, unsigned n)
{
    emu_text_add(t, " %s:[", name);
    for (unsigned i = 0; i < n; i++)
        emu_text_add(t, "%s%u", i ? "," : "", x >> i & 1);
    emu_text_add(t, "]");
}

/* ---- cross-lane and sub-dword modifiers ---- */

static void print_dpp_ctrl(struct emu_text *t, unsigned c, bool gfx11)
{
    static const struct {
        uint16_t first, last;
        const char *name;
    } rows[] = {{0x101, 0x10f, "row_shl"}, {0x111, 0x11f, "row_shr"}, {0x121, 0x12f, "row_ror"}};

    for (unsigned i = 0; i < 3; i++)
        if (c >= rows[i].first && c <= rows[i].last)
            emu_text_add(t, " %s:%u", rows[i].name, c & 15);
    if (c <= 0xff)
        emu_text_add(t, " quad_perm:[%u,%u,%u,%u]", c & 3, c >> 2 & 3, c >> 4 & 3, c >> 6);
    else if (c == 0x140)
        emu_text_add(t, " row_mirror");
    else if (c == 0x141)
        emu_text_add(t, " row_half_mirror");
    else if (!gfx11 && (c & 0x1f3) == 0x130)
        emu_text_add(t, " wave_%s:1",
                     (const char *const[]){"shl", "rol", "shr", "ror"}[c >> 2 & 3]);
    else if (!gfx11 && (c == 0x142 || c == 0x143))
        emu_text_add(t, " row_bcast:%u", c == 0x142 ? 15 : 31);
    else if (c >= 0x150 && c <= 0x15f)
        emu_text_add(t, " row_%s:%u", gfx11 ? "share" : "newbcast", c & 15);
    else if (gfx11 && c >= 0x160 && c <= 0x16f)
        emu_text_add(t, " row_xmask:%u", c & 15);
}

/* 64-bit operands know only row_newbcast. */
static bool is_dpp64(const struct emu_insn *in)
{
    for (unsigned i = 0; i < in->nsrc; i++)
        if (in->src[i].dwords == 2 && in->src[i].kind == EMU_OPK_VGPR &&
            in->src[i].type != EMU_T_MASK)
            return true;
    return in->ndst && in->dst[0].dwords == 2 && in->dst[0].kind == EMU_OPK_VGPR;
}

static void print_dpp(struct emu_text *t, const struct emu_insn *in)
{
    if (in->ext == EMU_EXT_DPP8) {
        emu_text_add(t, " dpp8:[");
        for (unsigned i = 0; i < 8; i++)
            emu_text_add(t, "%s%u", i ? "," : "", in->dpp8 >> 3 * i & 7);
        emu_text_add(t, "]%s", in->fi ? " fi:1" : "");
        return;
    }
    if (!is_dpp64(in) || (in->dpp_ctrl >= 0x150 && in->dpp_ctrl <= 0x15f))
        print_dpp_ctrl(t, in->dpp_ctrl, emu_is_gfx11(in));
    emu_text_add(t, " row_mask:0x%x bank_mask:0x%x%s%s", in->row_mask, in->bank_mask,
                 in->bound_ctrl ? " bound_ctrl:1" : "", in->fi ? " fi:1" : "");
}

static void print_sdwa(struct emu_text *t, const struct emu_insn *in)
{
    if (in->ndst && in->enc != EMU_VOPC && !emu_row_sig(in->row)->from_fp8)
        emu_text_add(t, " dst_sel:%s dst_unused:%s", sel_names[in->dst_sel],
                     unused_names[in->dst_unused]);
    for (unsigned i = 0; i < in->nsrc && i < 2; i++)
        if (!(in->src[i].flags & EMU_OPF_IMPLICIT))
            emu_text_add(t, " src%u_sel:%s", i, sel_names[in->src[i].sel]);
}

/* ---- bodies ---- */

static void separate(struct emu_text *t, bool *first)
{
    emu_text_add(t, *first ? " " : ", ");
    *first = false;
}

/* VCC of the 32-bit forms is printed though it is not encoded. */
static bool hidden(const struct emu_insn *in, const struct emu_operand *o)
{
    bool short_form = in->enc == EMU_VOP2 || in->enc == EMU_VOPC;

    return o->flags & EMU_OPF_IMPLICIT &&
           !(short_form && o->kind == EMU_OPK_SGPR && o->reg == EMU_S_VCC);
}

static void print_half(struct emu_text *t, const struct emu_insn *in, const struct emu_operand *o)
{
    bool sext = o->flags & EMU_OPF_SEXT;

    if (o->kind == EMU_OPK_VGPR)
        emu_text_add(t, "%sv%u.%c%s", sext ? "sext(" : "", o->reg,
                     o->flags & EMU_OPF_HI ? 'h' : 'l', sext ? ")" : "");
    else
        emu_print_operand(t, in, o);
}

/* Only emu_decode_newer makes these without an op_sel that would be printed. */
static bool high_half(const struct emu_insn *in, const struct emu_operand *o)
{
    return emu_is_gfx11(in) && o->flags & EMU_OPF_HI && !in->op_sel;
}

static void print_operands(struct emu_text *t, const struct emu_insn *in, bool *first)
{
    const struct emu_sig *sig = emu_row_sig(in->row);
    bool true16 = sig->true16 && emu_is_gfx11(in);

    for (unsigned i = 0; i < in->ndst; i++) {
        if (hidden(in, &in->dst[i]))
            continue;
        separate(t, first);
        if (true16 || high_half(in, &in->dst[i]))
            print_half(t, in, &in->dst[i]);
        else
            emu_print_operand(t, in, &in->dst[i]);
        if (sig->swap)
            break;
    }
    for (unsigned i = 0; i < in->nsrc; i++) {
        if (hidden(in, &in->src[i]))
            continue;
        separate(t, first);
        if (true16 || high_half(in, &in->src[i]))
            print_half(t, in, &in->src[i]);
        else if (i < sig->nsrc && sig->src[i].kind == EMU_SLOT_K)
            emu_print_k(t, in);
        else
            emu_print_src(t, in, i);
        if (sig->swap)
            break;
    }
}

static void print_packed_mods(struct emu_text *t, const struct emu_insn *in)
{
    unsigned n = emu_row_sig(in->row)->nsrc, all = (1u << n) - 1;
    bool plain = in->flags & EMU_F_MATRIX && !(in->flags & EMU_D_OPSEL);
    bool mix = in->src[0].type == EMU_T_MIX;

    if (emu_row_sig(in->row)->swmmac && in->op_sel)
        emu_text_add(t, " index_key:%u", in->op_sel);
    else if (in->op_sel)
        print_list(t, "op_sel", in->op_sel, n);
    if (mix ? in->op_sel_hi : !plain && (in->op_sel_hi & all) != all)
        print_list(t, "op_sel_hi", in->op_sel_hi, n);
    if (mix)
        return;
    if (in->neg_lo)
        print_list(t, "neg_lo", in->neg_lo, n);
    if (in->neg_hi)
        print_list(t, "neg_hi", in->neg_hi, n);
}

/* The result's bit is bit 3 and is printed behind those of the sources. */
static void print_op_sel(struct emu_text *t, const struct emu_insn *in)
{
    const struct emu_sig *sig = emu_row_sig(in->row);
    unsigned n = sig->nsrc + sig->third_sel;

    if (emu_is_gfx12(in) && (sig->byte_sel || sig->stochastic)) {
        unsigned x = in->op_sel;

        emu_text_add(t, " byte_sel:%u", sig->stochastic ? x >> 2 : x >> 1 | (x & 1) << 1);
        return;
    }
    if (sig->lane_swap) {
        emu_text_add(t, "%s%s", in->op_sel & 2 ? " bound_ctrl:1" : "",
                     in->op_sel & 1 ? " fi:1" : "");
        return;
    }
    if (sig->stochastic || (sig->acc && emu_type_is_16bit(in->dst[0].type)))
        n++; /* the accumulator counts */
    if (sig->two_sel)
        print_list(t, "op_sel", in->op_sel, 2);
    else
        print_list(t, "op_sel", (in->op_sel & 7) | (unsigned)in->op_sel >> 3 << n, n + 1);
}

static void print_matrix_mods(struct emu_text *t, const struct emu_insn *in)
{
    if (in->size == 16) { /* which bytes of the scales count; the list has a place for C */
        if (in->op_sel)
            print_list(t, "op_sel", in->op_sel, 3);
        print_list(t, "op_sel_hi", in->op_sel_hi, 3);
    }
    if (in->cbsz)
        emu_text_add(t, " cbsz:%u", in->cbsz);
    if (in->abid)
        emu_text_add(t, " abid:%u", in->abid);
    if (in->blgp && emu_row_sig(in->row)->f64_neg && emu_is_gfx94(in->family))
        print_list(t, "neg", in->blgp, 3);
    else if (in->blgp)
        emu_text_add(t, " blgp:%u", in->blgp);
}

static void print_vopd(struct emu_text *t, const struct emu_insn *in)
{
    for (unsigned half = 0; half < 2; half++) {
        const struct emu_sig *sig = emu_row_sig(half ? in->row_y : in->row);

        if (half)
            emu_text_add(t, " :: %s", emu_rows[in->row_y].name);
        emu_text_add(t, " v%u", in->dst[half].reg);
        for (unsigned i = 0; i < sig->nsrc; i++) {
            const struct emu_operand *o = &in->src[3 * half + i];

            if (o->flags & EMU_OPF_IMPLICIT)
                continue;
            emu_text_add(t, ", ");
            if (sig->src[i].kind == EMU_SLOT_K)
                emu_print_k(t, in);
            else
                emu_print_operand(t, in, o);
        }
    }
}

void emu_print_vector(struct emu_text *t, const struct emu_insn *in)
{
    bool first = true;

    if (in->enc == EMU_VOPD) {
        print_vopd(t, in);
        return;
    }
    print_operands(t, in, &first);
    if (in->enc == EMU_MAI) {
        print_matrix_mods(t, in);
        return;
    }
    if (in->bitop3)
        emu_text_add(t, in->bitop3 <= 10 ? " bitop3:%u" : " bitop3:0x%x", in->bitop3);
    if (in->enc == EMU_VOP3P)
        print_packed_mods(t, in);
    else if (in->op_sel)
        print_op_sel(t, in);
    if (in->clamp)
        emu_text_add(t, " clamp");
    emu_text_add(t, "%s", omod_names[in->omod]);
    if (in->ext == EMU_EXT_SDWA)
        print_sdwa(t, in);
    else if (in->ext != EMU_EXT_NONE)
        print_dpp(t, in);
}
