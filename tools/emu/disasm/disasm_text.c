/*
 * What all parts of the disassembler write with: a bounded text, and operands as LLVM spells them.
 */
#include "disasm_text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void emu_text_add(struct emu_text *t, const char *fmt, ...)
{
    va_list ap;
    size_t room = t->len < t->size ? t->size - t->len : 0;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(room ? t->buf + t->len : NULL, room, fmt, ap);
    va_end(ap);
    if (n > 0)
        t->len += (size_t)n;
}

static void print_range(struct emu_text *t, const char *file, unsigned reg, unsigned n)
{
    if (n > 1)
        emu_text_add(t, "%s[%u:%u]", file, reg, reg + n - 1);
    else
        emu_text_add(t, "%s%u", file, reg);
}

/* Pairs have a name of their own, halves end in _lo and _hi. */
static void print_named(struct emu_text *t, const char *name, unsigned reg, unsigned n)
{
    emu_text_add(t, "%s%s", name, n > 1 ? "" : reg & 1 ? "_hi" : "_lo");
}

static void print_sgpr(struct emu_text *t, const struct emu_insn *in, unsigned reg, unsigned n)
{
    if (reg >= EMU_S_TTMP && reg < EMU_S_M0)
        print_range(t, "ttmp", reg - EMU_S_TTMP, n);
    else if (reg == EMU_S_M0)
        emu_text_add(t, "m0");
    else if (reg == EMU_S_NULL)
        emu_text_add(t, "null");
    else if (reg >= EMU_S_EXEC)
        print_named(t, "exec", reg, n);
    else if (reg >= EMU_S_VCC)
        print_named(t, "vcc", reg, n);
    else if (!emu_is_gfx11(in) && reg >= EMU_S_XNACK_MASK)
        print_named(t, "xnack_mask", reg, n);
    else if (!emu_is_gfx11(in) && reg >= EMU_S_FLAT_SCRATCH)
        print_named(t, "flat_scratch", reg, n);
    else
        print_range(t, "s", reg, n);
}

static const char *const float_names[] = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                          "-2.0", "4.0",  "-4.0", "0.15915494"};

static bool print_float(struct emu_text *t, uint64_t x, unsigned type)
{
    for (unsigned i = 0; i < 9; i++)
        if (x == emu_float_constant(EMU_FIRST_FLOAT + i, type)) {
            emu_text_add(t, "%s", float_names[i]);
            return true;
        }
    return false;
}

/* A half: the low 16 bits count. */
static void print_f16(struct emu_text *t, uint32_t x)
{
    int16_t s = (int16_t)x;

    if (s >= -16 && s <= 64)
        emu_text_add(t, "%d", s);
    else if (!print_float(t, x & 0xffff, EMU_T_F16))
        emu_text_add(t, "0x%x", x & 0xffff);
}

/* Values with a name are judged by all 32 bits, others printed by 16. */
static void print_i16(struct emu_text *t, uint32_t x)
{
    int32_t s = (int32_t)x;

    if (s >= -16 && s <= 64)
        emu_text_add(t, "%d", s);
    else if (!print_float(t, x, EMU_T_F32))
        emu_text_add(t, "0x%x", x & 0xffff);
}

static void print_packed(struct emu_text *t, uint32_t x, unsigned type)
{
    int32_t s = (int32_t)x;

    if (s >= -16 && s <= 64)
        emu_text_add(t, "%d", s);
    else if (!print_float(t, x, type))
        emu_text_add(t, "0x%x", x);
}

static void print_32(struct emu_text *t, uint32_t x)
{
    int32_t s = (int32_t)x;

    if (s >= -16 && s <= 64)
        emu_text_add(t, "%d", s);
    else if (!print_float(t, x, EMU_T_F32))
        emu_text_add(t, "0x%x", x);
}

static void print_64(struct emu_text *t, uint64_t x, bool is_double)
{
    int64_t s = (int64_t)x;

    if (s >= -16 && s <= 64)
        emu_text_add(t, "%d", (int)s);
    else if (x == emu_float_constant(EMU_INV_2PI, EMU_T_F64))
        emu_text_add(t, "0.15915494309189532");
    else if (print_float(t, x, EMU_T_F64))
        return;
    else
        emu_text_add(t, "0x%x", is_double ? (unsigned)(x >> 32) : (unsigned)x);
}

/* bits: the constant as the type sees it, except that a literal of a 16-bit type has all 32 bits.
 */
static void print_bits(struct emu_text *t, unsigned type, uint64_t bits)
{
    switch (type) {
    case EMU_T_F16:
        print_f16(t, (uint32_t)bits);
        break;
    case EMU_T_PK_F16:
        print_packed(t, (uint32_t)bits, EMU_T_F16);
        break;
    case EMU_T_BF16:
    case EMU_T_PK_BF16:
        print_packed(t, (uint32_t)bits, EMU_T_BF16);
        break;
    case EMU_T_B16:
    case EMU_T_I16:
        print_i16(t, (uint32_t)bits);
        break;
    case EMU_T_F64:
        print_64(t, bits, true);
        break;
    case EMU_T_B64:
    case EMU_T_I64:
        print_64(t, bits, false);
        break;
    default:
        print_32(t, (uint32_t)bits);
    }
}

static const char *const special_names[] = {"src_shared_base",
                                            "src_shared_limit",
                                            "src_private_base",
                                            "src_private_limit",
                                            "src_pops_exiting_wave_id",
                                            "src_vccz",
                                            "src_execz",
                                            "src_scc",
                                            "src_lds_direct"};

/* LLVM takes the accumulator of a WMMA in wave32 for a double. */
static bool is_double(const struct emu_insn *in, const struct emu_operand *o)
{
    return o->type == EMU_T_F64 || (in->enc == EMU_VOP3P && in->flags & EMU_F_MATRIX &&
                                    in->wave == 32 && o == &in->src[2] && o->type == EMU_T_BLOB);
}

/* LLVM forgets that a literal is a double when an operand of 32 bits read it first: words that no
 * assembler makes, such as a literal as destination. */
static bool literal_before(const struct emu_insn *in, const struct emu_operand *o)
{
    if (in->ndst && in->dst[0].kind == EMU_OPK_LITERAL && o != &in->dst[0])
        return true;
    for (const struct emu_operand *p = in->src; p < o && o < in->src + in->nsrc; p++)
        if (p->kind == EMU_OPK_LITERAL && !is_double(in, p))
            return true;
    return false;
}

/* LLVM 22 says lit() of one that would look like an inline constant; instructions that only it
 * knows are printed so. */
static void print_literal(struct emu_text *t, const struct emu_insn *in, unsigned type,
                          uint32_t literal)
{
    const bool newer = (emu_is_gfx12(in) && in->enc != EMU_SOPK && !(in->flags & EMU_F_MATRIX)) ||
                       (in->family == EMU_GFX950 && emu_rows[in->row].op[EMU_GFX942] < 0);
    char buf[32] = "";
    struct emu_text own = {buf, sizeof buf, 0};

    if (in->flags & EMU_F_MATRIX && type == EMU_T_B64)
        type = EMU_T_B32;
    print_bits(&own, type, literal);
    if (newer && type == EMU_T_BF16) { /* its low half is what counts */
        uint16_t half = (uint16_t)literal;

        own.len = 0;
        print_bits(&own, type, half < 0xfff0 ? half : half | 0xffff0000u);
    }
    if (!newer || (emu_is_gfx12(in) && type != EMU_T_BF16 && buf[0] == '0' && buf[1] == 'x'))
        emu_text_add(t, "%s", buf);
    else if (strncmp(buf, "0x", 2) == 0)
        emu_text_add(t, "0x%x", literal);
    else
        emu_text_add(t, "lit(0x%x)", literal);
}

void emu_print_operand(struct emu_text *t, const struct emu_insn *in, const struct emu_operand *o)
{
    /* scaled products, of 16 bytes, have none */
    uint32_t literal = in->size <= sizeof in->word ? in->word[in->size / 4 - 1] : 0;
    unsigned type = o->type;

    /* The printed form of a constant: mix literals as halves, SALU half comparisons as integers. */
    if (type == EMU_T_MIX && (o->kind == EMU_OPK_LITERAL || in->op_sel_hi >> (o - in->src) & 1))
        type = EMU_T_F16;
    if (in->enc == EMU_SOPC && type == EMU_T_F16)
        type = EMU_T_I16;
    if (in->enc == EMU_SOP1 && type == EMU_T_F16 && o->kind == EMU_OPK_LITERAL)
        type = EMU_T_B32;
    if (in->enc == EMU_MAI && (type == EMU_T_BLOB || type == EMU_T_B64))
        type = emu_row_sig(in->row)->f64_neg ? EMU_T_F64 : EMU_T_B32;
    if (is_double(in, o) && o->type != EMU_T_F64 && o->kind == EMU_OPK_CONST &&
        o->value == emu_float_constant(EMU_INV_2PI, EMU_T_F32)) {
        print_64(t, emu_float_constant(EMU_INV_2PI, EMU_T_F64), true);
        return;
    }
    if (o->kind == EMU_OPK_CONST && o->value == emu_float_constant(EMU_INV_2PI, EMU_T_F64) &&
        (emu_row_sig(in->row)->bare || (in->flags & EMU_F_MATRIX && o != &in->src[2]))) {
        emu_text_add(t, "%s", float_names[8]);
        return;
    }
    if (emu_row_sig(in->row)->half_src1 && type == EMU_T_I16)
        type = EMU_T_F16;

    switch (o->kind) {
    case EMU_OPK_VGPR:
        print_range(t, "v", o->reg, o->dwords);
        break;
    case EMU_OPK_AGPR:
        print_range(t, "a", o->reg, o->dwords);
        break;
    case EMU_OPK_SGPR:
        print_sgpr(t, in, o->reg, o->dwords);
        break;
    case EMU_OPK_SPECIAL:
        emu_text_add(t, "%s", special_names[o->reg]);
        break;
    case EMU_OPK_CONST:
        print_bits(t, type, o->value);
        break;
    case EMU_OPK_LITERAL:
        if (is_double(in, o) && literal_before(in, o))
            emu_text_add(t, "0x0");
        else if (is_double(in, o))
            print_bits(t, EMU_T_F64, (uint64_t)literal << 32);
        else
            print_literal(t, in, type, literal);
        break;
    default:
        emu_text_add(t, "off");
    }
}

void emu_print_k(struct emu_text *t, const struct emu_insn *in)
{
    emu_text_add(t, "0x%x", in->word[in->size / 4 - 1]);
}
