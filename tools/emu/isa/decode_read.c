/*
 * What all parts of the decoder read with: the table of opcodes, the signatures of rows, and the
 * operand fields of an encoding.
 */
#include "decode_read.h"
#include <pthread.h>
#include <string.h>

enum { MAX_ROWS = 4096, MAX_OPS = 1024 };

static struct emu_sig sigs[MAX_ROWS];
static int16_t rows_of[EMU_FAMILIES][EMU_ENCODINGS][MAX_OPS];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static const struct {
    const char *name;
    uint8_t kind, type, dwords;
} slot_names[] = {
    {"b16", EMU_SLOT_ANY, EMU_T_B16, 1},
    {"b32", EMU_SLOT_ANY, EMU_T_B32, 1},
    {"b64", EMU_SLOT_ANY, EMU_T_B64, 2},
    {"i16", EMU_SLOT_ANY, EMU_T_I16, 1},
    {"i32", EMU_SLOT_ANY, EMU_T_I32, 1},
    {"i64", EMU_SLOT_ANY, EMU_T_I64, 2},
    {"f16", EMU_SLOT_ANY, EMU_T_F16, 1},
    {"bf16", EMU_SLOT_ANY, EMU_T_BF16, 1},
    {"f32", EMU_SLOT_ANY, EMU_T_F32, 1},
    {"f64", EMU_SLOT_ANY, EMU_T_F64, 2},
    {"pki16", EMU_SLOT_ANY, EMU_T_PK_I16, 1},
    {"pkf16", EMU_SLOT_ANY, EMU_T_PK_F16, 1},
    {"pkf32", EMU_SLOT_ANY, EMU_T_PK_F32, 2},
    {"pkbf16", EMU_SLOT_ANY, EMU_T_PK_BF16, 1},
    {"pkb32", EMU_SLOT_ANY, EMU_T_PK_B32, 2},
    {"mix", EMU_SLOT_ANY, EMU_T_MIX, 1},
    {"b96", EMU_SLOT_ANY, EMU_T_BLOB, 3},
    {"b128", EMU_SLOT_ANY, EMU_T_BLOB, 4},
    {"b192", EMU_SLOT_ANY, EMU_T_BLOB, 6},
    {"b256", EMU_SLOT_ANY, EMU_T_BLOB, 8},
    {"b512", EMU_SLOT_ANY, EMU_T_BLOB, 16},
    {"b1024", EMU_SLOT_ANY, EMU_T_BLOB, 32},
    {"wacc", EMU_SLOT_ANY, EMU_T_BLOB, 8 | EMU_SLOT_HALVED},
    {"mask", EMU_SLOT_MASK, EMU_T_MASK, 2},
    {"w256", EMU_SLOT_ANY, EMU_T_BLOB, 8 | EMU_SLOT_HALVED},
    {"w128", EMU_SLOT_ANY, EMU_T_BLOB, 4 | EMU_SLOT_HALVED},
    {"w64", EMU_SLOT_ANY, EMU_T_BLOB, 2 | EMU_SLOT_HALVED},
    {"k16", EMU_SLOT_K, EMU_T_F16, 1},
    {"k32", EMU_SLOT_K, EMU_T_F32, 1},
    {"simm16", EMU_SLOT_SIMM16, EMU_T_I16, 0},
    {"addr", EMU_SLOT_ADDR, EMU_T_B32, 1},
    {"base", EMU_SLOT_BASE, EMU_T_B64, 2},
    {"buf", EMU_SLOT_BUF, EMU_T_BLOB, 4},
};

static struct emu_slot parse_slot(const char *s, size_t n)
{
    struct emu_slot slot = {EMU_SLOT_ANY, EMU_T_B32, 1};
    unsigned kind = EMU_SLOT_ANY;

    if (n > 2 && s[1] == '.') {
        kind = s[0] == 'v' ? EMU_SLOT_V : s[0] == 's' ? EMU_SLOT_S : EMU_SLOT_A;
        s += 2, n -= 2;
    }
    for (size_t i = 0; i < sizeof slot_names / sizeof slot_names[0]; i++) {
        if (strlen(slot_names[i].name) == n && !memcmp(slot_names[i].name, s, n)) {
            slot.kind = kind ? kind : slot_names[i].kind;
            slot.type = slot_names[i].type;
            slot.dwords = slot_names[i].dwords;
        }
    }
    return slot;
}

static void parse_sig(const char *s, struct emu_sig *sig)
{
    bool src = false;

    while (*s) {
        size_t n = strcspn(s, " ");

        if (n == 1 && *s == '=')
            src = true;
        else if (n && src)
            sig->src[sig->nsrc++] = parse_slot(s, n);
        else if (n)
            sig->dst[sig->ndst++] = parse_slot(s, n);
        s += n;
        s += *s == ' ';
    }
}

static bool has(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

static void find_traits(const char *name, struct emu_sig *sig)
{
    static const char *const acc[] = {
        "fmac_",        "v_mac_",       "v_dot2c",          "v_dot4c",
        "v_dot8c",      "v_dot2acc",    "v_dual_dot2acc",   "smfmac",
        "swmmac",       "v_writelane",  "s_bitset",         "s_cmov_",
        "v_cvt_sr_fp8", "v_cvt_sr_bf8", "v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32",
        "v_cvt_pkaccum"};

    for (size_t i = 0; i < sizeof acc / sizeof acc[0]; i++)
        sig->acc |= has(name, acc[i]);
    sig->cndmask = has(name, "cndmask");
    sig->cmp_class = has(name, "cmp_class") || has(name, "cmpx_class");
    sig->cmpx = has(name, "v_cmpx");
    sig->lane_swap = has(name, "v_permlane16_swap") || has(name, "v_permlane32_swap");
    sig->swap = has(name, "v_swap") || sig->lane_swap;
    sig->stochastic = has(name, "v_cvt_sr_fp8") || has(name, "v_cvt_sr_bf8");
    sig->has_addr = sig->nsrc && sig->src[0].kind == EMU_SLOT_ADDR;
    sig->gds_only = has(name, "ds_gws") || has(name, "gs_reg") || has(name, "ds_ordered");
    sig->lds_only = has(name, "permute_b32") || has(name, "ds_bvh") || has(name, "ds_nop");
    sig->from_lds = has(name, "store_lds");
    sig->sc_bits = !strcmp(name, "buffer_wbl2") || !strcmp(name, "buffer_inv");
    sig->illegal = !strcmp(name, "v_illegal");
    sig->no_scc = has(name, "atomic_add_f32") || has(name, "atomic_pk_add_f16") ||
                  (has(name, "atomic") && has(name, "_f64"));
    sig->lds_bit = has(name, "load") && !has(name, "d16") && !has(name, "_lds_");
    sig->half_src1 =
        has(name, "v_fmaak_f16") || has(name, "v_fmamk_f16") || has(name, "v_ldexp_f16");
    sig->sparse = has(name, "v_smfmac");
    sig->f64_neg = has(name, "v_mfma_f64");
    sig->two_sel = has(name, "v_permlane");
    sig->dot16 = !strcmp(name, "v_dot2_f16_f16") || !strcmp(name, "v_dot2_bf16_bf16");
    sig->from_fp8 = strstr(name, "f32_fp8") || strstr(name, "f32_bf8");
    sig->bare = has(name, "s_movrels_b64") || has(name, "s_setpc") || has(name, "s_rfe_b64");
    sig->packed = has(name, "v_pk_");
    sig->true16 = !strcmp(name, "v_mov_b16");
    sig->div_fmas = has(name, "v_div_fmas");
    sig->bitop3 = has(name, "v_bitop3");
    sig->no_sel2 = !strcmp(name, "v_cvt_pk_bf16_f32");
    sig->third_sel = has(name, "scalef32_pk_fp4_f16") || has(name, "scalef32_pk_fp4_bf16");
    sig->ld_scale = has(name, "mfma_ld_scale");
    sig->fp8 = has(name, "_fp8") || has(name, "_bf8");
    sig->iu = has(name, "_iu");
    sig->swmmac = has(name, "swmmac");
    sig->dot = has(name, "v_dot4_") || has(name, "v_dot8_");
    sig->var_lanes = has(name, "_var_b32");
    sig->byte_sel = !strcmp(name, "v_cvt_f32_fp8") || !strcmp(name, "v_cvt_f32_bf8");
    sig->f8f6f4 = has(name, "f8f6f4");
}

static void build_tables(void)
{
    memset(rows_of, 0xff, sizeof rows_of);
    for (unsigned i = 0; i < emu_row_count && i < MAX_ROWS; i++) {
        const struct emu_row *row = &emu_rows[i];

        parse_sig(row->sig, &sigs[i]);
        find_traits(row->name, &sigs[i]);
        for (unsigned f = 0; f < EMU_FAMILIES; f++)
            if (row->op[f] >= 0)
                rows_of[f][row->enc][row->op[f]] = (int16_t)i;
    }
}

const struct emu_sig *emu_row_sig(unsigned row)
{
    pthread_once(&tables_once, build_tables);
    return &sigs[row];
}

int emu_find_row(enum emu_family family, enum emu_enc enc, unsigned op)
{
    pthread_once(&tables_once, build_tables);
    return op < MAX_OPS ? rows_of[family][enc][op] : -1;
}

/* ---- operands ---- */

uint64_t emu_float_constant(unsigned value, unsigned type)
{
    static const uint16_t f16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                   0xc000, 0x4400, 0xc400, 0x3118};
    static const uint16_t bf16[] = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000,
                                    0xc000, 0x4080, 0xc080, 0x3e22};
    static const uint32_t f32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                   0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
    static const uint32_t f64[] = {0x3fe00000, 0xbfe00000, 0x3ff00000, 0xbff00000, 0x40000000,
                                   0xc0000000, 0x40100000, 0xc0100000, 0x3fc45f30};
    unsigned i = value - EMU_FIRST_FLOAT;

    switch (type) {
    case EMU_T_F16:
    case EMU_T_B16:
    case EMU_T_I16:
    case EMU_T_PK_F16:
        return f16[i];
    case EMU_T_BF16:
    case EMU_T_PK_BF16:
        return bf16[i];
    case EMU_T_F64:
    case EMU_T_B64:
    case EMU_T_I64:
        return (uint64_t)f64[i] << 32 | (i == 8 ? 0x6dc9c882u : 0);
    default:
        return f32[i];
    }
}

static void set_operand(struct emu_operand *o, unsigned kind, unsigned reg, struct emu_slot slot)
{
    o->kind = (uint8_t)kind;
    o->type = slot.type;
    o->dwords = slot.dwords;
    o->flags = 0;
    o->reg = (uint16_t)reg;
    o->sel = EMU_SDWA_DWORD;
    o->pad = 0;
    o->value = 0;
}

static struct emu_slot fit_slot(const struct emu_reader *r, struct emu_slot slot)
{
    if (slot.kind == EMU_SLOT_MASK)
        slot.dwords = r->in->wave == 64 ? 2 : 1;
    else if (slot.dwords & EMU_SLOT_HALVED)
        slot.dwords = (slot.dwords & ~EMU_SLOT_HALVED) / (r->in->wave == 64 ? 2 : 1);
    return slot;
}

bool emu_read_vgpr(struct emu_reader *r, unsigned value, bool acc, struct emu_slot slot,
                   struct emu_operand *o)
{
    slot = fit_slot(r, slot);
    if (value + slot.dwords > 256)
        return false;
    set_operand(o, acc ? EMU_OPK_AGPR : EMU_OPK_VGPR, value, slot);
    return true;
}

bool emu_read_half(struct emu_reader *r, unsigned value, struct emu_slot slot,
                   struct emu_operand *o)
{
    (void)r;
    set_operand(o, EMU_OPK_VGPR, value & 0x7f, slot);
    o->flags = value & 0x80 ? EMU_OPF_HI : 0;
    return true;
}

/* Ranges of more than one register are aligned to 2 or 4: the low bits of the field are dropped. */
bool emu_read_sgpr(struct emu_reader *r, unsigned value, struct emu_slot slot,
                   struct emu_operand *o)
{
    unsigned last = r->gfx11 ? 105 : 101;
    unsigned null = r->gfx11 ? 124 : 125;
    unsigned n, align, first, count;

    slot = fit_slot(r, slot);
    if (r->lenient && slot.dwords == 32 && value / 4 * 4 + 16 > last + 1 && value != null)
        return false;
    if (slot.dwords == 32) /* no such range of SGPRs: LLVM takes one register, or a named pair */
        slot.dwords = value > last && (value < 108 || value > 123) ? 2 : 1;
    if (slot.dwords == 6 && r->in->enc != EMU_MAI) /* no such range either: LLVM takes five */
        slot.dwords = 5;
    n = slot.dwords;
    align = n == 1 ? 1 : n == 2 ? 2 : 4;
    if (value > 127)
        return false;
    if (n == 3 && value >= 108 && value <= 123 && !r->newer) {
        if (value > 119) /* LLVM knows no ranges of three there, and takes one register */
            return false;
        set_operand(o, EMU_OPK_SGPR, value, slot);
        o->dwords = 1;
        return true;
    }
    if (value <= last || (value >= 108 && value <= 123)) {
        first = value <= last ? 0 : 108;
        count = value <= last ? 106 : 16;
        value = (value - first) / align * align;
        if (value + n > count)
            return false;
        set_operand(o, EMU_OPK_SGPR, first + value, slot);
        return true;
    }
    if ((r->lenient || r->gfx12) && n > 2 && value != null)
        return false;
    if (n > 1 && (value != null && (value & 1 || value == 124)))
        return false; /* halves of pairs, and m0, which has one register */
    if (value == 124 || value == 125)
        value = value == null ? EMU_S_NULL : EMU_S_M0;
    set_operand(o, EMU_OPK_SGPR, value, slot);
    return true;
}

bool emu_read_literal(struct emu_reader *r, struct emu_slot slot, struct emu_operand *o)
{
    uint32_t x;

    if (!r->literal) {
        if (r->in->size / 4 >= r->avail)
            return false;
        r->in->size += 4;
        r->literal = true;
    }
    x = r->in->word[r->in->size / 4 - 1];
    set_operand(o, EMU_OPK_LITERAL, 0, fit_slot(r, slot));
    switch (slot.type) {
    case EMU_T_F64:
        o->value = (uint64_t)x << 32;
        break;
    case EMU_T_I32:
    case EMU_T_I64:
        o->value = (uint64_t)(int64_t)(int32_t)x;
        break;
    case EMU_T_I16:
        o->value = (uint64_t)(int64_t)(int16_t)x;
        break;
    case EMU_T_B16:
    case EMU_T_F16:
    case EMU_T_BF16:
        o->value = x & 0xffff;
        break;
    default:
        o->value = x;
    }
    return true;
}

static bool read_special(unsigned value, bool lenient, struct emu_slot slot, struct emu_operand *o)
{
    unsigned s;

    if (slot.dwords > 2 && lenient) /* LLVM 22 knows none so wide */
        return false;
    if (value >= 235 && value <= 239)
        s = EMU_SP_SHARED_BASE + (value - 235);
    else if (value >= 251 && value <= 253)
        s = EMU_SP_VCCZ + (value - 251);
    else if (value == 254 && slot.dwords == 1)
        s = EMU_SP_LDS_DIRECT;
    else
        return false;
    set_operand(o, EMU_OPK_SPECIAL, s, slot);
    return true;
}

bool emu_read_src(struct emu_reader *r, unsigned value, struct emu_slot slot, struct emu_operand *o)
{
    slot = fit_slot(r, slot);
    if (value >= 256)
        return emu_read_vgpr(r, value - 256, slot.kind == EMU_SLOT_A, slot, o);
    if (value <= 127)
        return emu_read_sgpr(r, value, slot, o);
    if (value == 255)
        return emu_read_literal(r, slot, o);
    if (value <= 208) {
        set_operand(o, EMU_OPK_CONST, 0, slot);
        o->value = value <= 192 ? value - 128 : UINT64_C(0) - (value - 192);
        return true;
    }
    if (value >= 240 && value <= 248) {
        set_operand(o, EMU_OPK_CONST, 0, slot);
        o->value = emu_float_constant(value, slot.type);
        return true;
    }
    return read_special(value, r->lenient || r->gfx12, slot, o);
}

void emu_set_sreg(struct emu_reader *r, struct emu_operand *o, unsigned reg, bool mask)
{
    struct emu_slot slot = {EMU_SLOT_S, EMU_T_B32, 1};

    if (mask)
        slot = (struct emu_slot){EMU_SLOT_MASK, EMU_T_MASK, 2};
    set_operand(o, EMU_OPK_SGPR, reg, fit_slot(r, slot));
    o->flags = EMU_OPF_IMPLICIT;
}

void emu_add_implicit(struct emu_reader *r)
{
    struct emu_insn *in = r->in;
    const struct emu_sig *sig = r->sig;

    if (sig->acc) {
        in->src[in->nsrc] = in->dst[0];
        in->src[in->nsrc++].flags = EMU_OPF_IMPLICIT | (r->newer ? in->dst[0].flags : 0);
    }
    if (sig->div_fmas)
        emu_set_sreg(r, &in->src[in->nsrc++], EMU_S_VCC, true);
    if (sig->cmpx) {
        if (r->gfx11)
            in->ndst = 0;
        emu_set_sreg(r, &in->dst[in->ndst++], EMU_S_EXEC, true);
    }
}
