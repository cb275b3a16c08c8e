/*
 * Describes each op of a kernel for strict mode: registers read and written, how poison spreads,
 * what it counts up. Everything follows from the decoded operands and the semantic row.
 */
#include <stdio.h>
#include <string.h>

#include "scaled_floats.h"
#include "strict.h"

static bool is_row(const struct emu_operand *o)
{
    return o->kind == EMU_OPK_VGPR || o->kind == EMU_OPK_AGPR;
}

static void add_read(struct emu_strict_op *so, unsigned first, unsigned n)
{
    so->read[so->nread++] = (struct emu_range){(uint16_t)first, (uint16_t)n};
}

static void add_sread(struct emu_strict_op *so, unsigned first, unsigned n)
{
    if (first < EMU_S_NULL || first >= EMU_S_EXEC)
        so->sread[so->nsread++] = (struct emu_range){(uint16_t)first, (uint16_t)n};
}

static unsigned scalar_dwords(const struct emu_insn *insn, const struct emu_operand *o)
{
    return o->type == EMU_T_MASK ? insn->wave / 32 : o->dwords;
}

static void describe_operands(struct emu_strict_op *so, const struct emu_op *op)
{
    const struct emu_insn *insn = op->insn;
    bool vopd = op->fn == emu_vopd; /* its rows stand in the halves; gfx11 has no other numbering */

    for (unsigned i = 0; i < insn->nsrc; i++) {
        const struct emu_operand *o = &insn->src[i];

        if (is_row(o))
            add_read(so, vopd ? o->reg : op->s[i], o->dwords);
        else if (o->kind == EMU_OPK_SGPR)
            add_sread(so, o->reg, scalar_dwords(insn, o));
    }
    for (unsigned i = 0; i < insn->ndst; i++) {
        const struct emu_operand *o = &insn->dst[i];

        if (is_row(o))
            so->write[so->nwrite++] = (struct emu_range){vopd ? o->reg : op->d[i], o->dwords};
        else if (o->kind == EMU_OPK_SGPR && o->reg != EMU_S_NULL)
            so->swrite[so->nswrite++] =
                (struct emu_range){o->reg, (uint16_t)scalar_dwords(insn, o)};
    }
}

/* ---- poison of vector rows ---- */

static bool is_half(uint8_t type)
{
    return type == EMU_T_F16 || type == EMU_T_B16 || type == EMU_T_I16 || type == EMU_T_BF16;
}

static bool is_packed(uint8_t type)
{
    return type == EMU_T_PK_F16 || type == EMU_T_PK_I16 || type == EMU_T_PK_BF16;
}

static const struct emu_vrow *poison_row(unsigned wave, const char *name)
{
    return emu_bind(name, wave).row;
}

/* Bitwise rows, as a row on the poison. */
static const char *bitwise_row(struct emu_strict_op *so, const char *sem)
{
    static const char *const ors[] = {"v_or_b32",  "v_xor_b32",  "v_xnor_b32",
                                      "v_or3_b32", "v_xor3_b32", "v_not_b32"};

    if (strcmp(sem, "v_and_b32") == 0) {
        so->values = true;
        return "poison_and";
    }
    for (size_t i = 0; i < sizeof ors / sizeof *ors; i++)
        if (strcmp(ors[i], sem) == 0)
            return "poison_or";
    return NULL;
}

/* Rows that move the bits of some sources under the control of the others. */
static unsigned moved_sources(const struct emu_op *op, const char *sem)
{
    if (strcmp(sem, "v_lshl_or_b32") == 0 || strcmp(sem, "v_and_or_b32") == 0)
        return 1 | 4;
    if (strcmp(sem, "v_bfi_b32") == 0)
        return 2 | 4;
    if (!(op->effects & EMU_E_BITS))
        return 0;
    return (op->effects & EMU_E_DATA0 ? 1 : 0) | (op->effects & EMU_E_DATA1 ? 2 : 0) |
           (op->effects & EMU_E_DATA2 ? 4 : 0);
}

static const char *computing_row(const struct emu_insn *insn, const char *sem, char name[32])
{
    uint8_t s0 = insn->src[0].type, d = insn->dst[0].type;
    unsigned w[3] = {1, 1, 1}, dw = d == EMU_T_MASK ? 1 : insn->dst[0].dwords;

    if (strcmp(sem, "v_lshl_add_u64") == 0)
        return "any_upward";
    if (insn->src[0].type == EMU_T_PK_F32)
        return "any_1111"; /* each half by itself */
    if (emu_starts(sem, "v_cvt_pk") && !strstr(sem, "u8"))
        return insn->src[0].dwords == 1 && dw == 1 ? "any_split" : "any_2111";
    if (is_packed(d))
        return "any_packed";
    if (is_half(s0))
        return is_half(d) && insn->src[2].type != EMU_T_I32 ? "any_half" : "any_from_half";
    if (is_half(d))
        return s0 == EMU_T_MIX || insn->nsrc == 1 ? "any_to_half" : "any_1111";
    for (unsigned i = 0; i < 3 && i < insn->nsrc; i++)
        if (insn->src[i].type != EMU_T_MASK && insn->src[i].dwords == 2)
            w[i] = 2;
    if (insn->ndst > 1 && insn->dst[1].type == EMU_T_MASK && d != EMU_T_MASK) /* not v_cmpx */
        return dw == 1 ? "any_carry_1" : w[0] == 1 ? "any_carry_2" : "any_carry_4";
    if (d == EMU_T_MASK && w[0] == 2)
        return w[1] == 2 ? "any_1221" : "any_1211";
    snprintf(name, 32, "any_%u%u%u%u", dw, w[0], w[1], w[2]);
    return name;
}

static void describe_row(struct emu_strict_op *so, const struct emu_op *op)
{
    const struct emu_insn *insn = op->insn;
    const char *sem = emu_rows[insn->row].sem, *name = bitwise_row(so, sem);
    unsigned moved = moved_sources(op, sem);
    const struct emu_vrow *r = NULL;
    char buf[32];

    so->kind = EMU_K_ROW;
    so->shadow = *op;
    so->clean = *insn;
    so->clean.clamp = so->clean.omod = so->clean.neg_lo = so->clean.neg_hi = 0;
    for (unsigned i = 0; i < 6; i++)
        so->clean.src[i].flags &= (uint8_t) ~(EMU_OPF_NEG | EMU_OPF_ABS | EMU_OPF_SEXT);
    so->shadow.insn = &so->clean;
    if (strcmp(sem, "v_pk_mov_b32") == 0 || op->row == poison_row(insn->wave, "v_mov_b32")->fn)
        return;
    if (name && (insn->ext != EMU_EXT_NONE || insn->nsrc != 2))
        name = "poison_or", so->values = false;
    if (moved) {
        so->control = (uint8_t)(((1u << insn->nsrc) - 1) & ~moved);
        return;
    }
    if (!name)
        name = computing_row(insn, sem, buf);
    r = poison_row(insn->wave, name);
    so->shadow.row = r ? r->fn : poison_row(insn->wave, "any_1111")->fn;
}

/* ---- scalar ---- */

static uint8_t scalar_rule(const char *sem)
{
    static const struct {
        const char *prefix;
        enum emu_scalar_rule rule;
    } rules[] = {
        {"s_mov_b", EMU_SR_MOVE},
        {"s_not_b", EMU_SR_MOVE},
        {"s_and_b", EMU_SR_AND},
        {"s_nand_b", EMU_SR_AND},
        {"s_andn2_b", EMU_SR_ANDN2},
        {"s_or_b", EMU_SR_OR},
        {"s_nor_b", EMU_SR_OR},
        {"s_orn2_b", EMU_SR_ORN2},
        {"s_xor_b", EMU_SR_XOR},
        {"s_xnor_b", EMU_SR_XOR},
        {"s_cselect", EMU_SR_SELECT},
        {"s_cmov", EMU_SR_SELECT},
        {"s_bfe_", EMU_SR_FIELD},
        /* those of EXEC: what an inverted S0 does, S0 does as well */
        {"s_and_saveexec", EMU_SR_AND},
        {"s_nand_saveexec", EMU_SR_AND},
        {"s_andn1_", EMU_SR_AND},
        {"s_and_not0_", EMU_SR_AND},
        {"s_andn2_", EMU_SR_ANDN2},
        {"s_and_not1_", EMU_SR_ANDN2},
        {"s_or_saveexec", EMU_SR_OR},
        {"s_nor_saveexec", EMU_SR_OR},
        {"s_orn1_", EMU_SR_OR},
        {"s_or_not0_", EMU_SR_OR},
        {"s_orn2_", EMU_SR_ORN2},
        {"s_or_not1_", EMU_SR_ORN2},
    };

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (emu_starts(sem, rules[i].prefix))
            return (uint8_t)rules[i].rule;
    return EMU_SR_ANY;
}

static uint8_t wait_kind(const struct emu_insn *insn, const char *sem)
{
    static const struct {
        const char *name;
        uint8_t kind;
    } gfx12[] = {
        {"s_wait_loadcnt", EMU_W_VM},
        {"s_wait_storecnt", EMU_W_VS},
        {"s_wait_dscnt", EMU_W_DS},
        {"s_wait_kmcnt", EMU_W_KM},
        {"s_wait_loadcnt_dscnt", EMU_W_LOAD_DS},
        {"s_wait_storecnt_dscnt", EMU_W_STORE_DS},
        {"s_wait_expcnt", EMU_W_EXP},
    };

    if (strcmp(sem, "s_waitcnt") == 0)
        return insn->family >= EMU_GFX11 ? EMU_W_GFX11 : EMU_W_GFX9;
    if (strcmp(sem, "s_waitcnt_vscnt") == 0)
        return EMU_W_VS;
    if (strcmp(sem, "s_waitcnt_vmcnt") == 0)
        return EMU_W_VM;
    if (strcmp(sem, "s_waitcnt_lgkmcnt") == 0)
        return EMU_W_LGKM;
    if (strcmp(sem, "s_waitcnt_expcnt") == 0)
        return EMU_W_EXP;
    for (size_t i = 0; i < sizeof gfx12 / sizeof *gfx12; i++)
        if (strcmp(sem, gfx12[i].name) == 0)
            return gfx12[i].kind;
    return strcmp(sem, "s_wait_idle") == 0 ? EMU_W_ALL : EMU_W_NONE;
}

/* ---- memory ---- */

static uint8_t counters(const struct emu_insn *insn)
{
    bool returns = insn->ndst && insn->dst[0].kind != EMU_OPK_NONE;
    bool touches = insn->flags & (EMU_F_LOAD | EMU_F_STORE | EMU_F_ATOMIC | EMU_F_LDS_DMA);
    uint8_t vm = insn->family >= EMU_GFX11 && !returns && !(insn->flags & EMU_F_LDS_DMA)
                     ? EMU_CNT_VS
                     : EMU_CNT_VM;

    switch (insn->enc) {
    case EMU_SMEM:
    case EMU_SOP1: /* s_sendmsg_rtn, s_get_barrier_state */
        return !returns ? 0 : insn->family >= EMU_GFX12 ? EMU_CNT_KM : EMU_CNT_SMEM;
    case EMU_DS:
        return EMU_CNT_LDS;
    case EMU_LDSDIR:
        return EMU_CNT_EXP;
    case EMU_FLAT:
        return touches ? vm | EMU_CNT_LDS : 0;
    default:
        return touches ? vm : 0;
    }
}

static void describe_memory(struct emu_strict_op *so, const struct emu_op *op)
{
    const struct emu_insn *insn = op->insn;

    so->kind = EMU_K_MEMORY;
    so->counters = counters(insn);
    so->address_reads = insn->enc > EMU_SMEM && insn->nsrc && is_row(&insn->src[0]);
    if (insn->flags & EMU_F_D16 && insn->flags & EMU_F_LOAD)
        so->keeps_half = strstr(emu_rows[insn->row].name, "_hi") ? 2 : 1;
    if (insn->enc == EMU_DS &&
        (strstr(emu_rows[insn->row].sem, "permute") || strstr(emu_rows[insn->row].sem, "swizzle")))
        so->address_reads = strstr(emu_rows[insn->row].sem, "permute") != NULL;
    if (op->effects & EMU_E_READ_M0)
        add_sread(so, EMU_S_M0, 1);
    so->is_block = strstr(emu_rows[insn->row].sem, "load_block") != NULL;
}

/* Passes and class of an MFMA: the table that the semantics are made of. */
static void describe_matrix(struct emu_strict_op *so, const struct emu_insn *insn, const char *sem)
{
    const uint8_t family = insn->family;
    static const struct {
        const char *name;
        uint8_t gfx90a, gfx942;
    } passes[] = {
#define MFMA(name, m, n, k, blocks, a, b, p90a, p942) {#name, p90a, p942},
#define SMFMAC(name, m, n, k, a, b, p942) {#name, 0, p942},
#define F8F6F4(name, m, n, k, p950) {#name, 0, p950},
#include "sem_matrix.def"
    };

    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (strcmp(passes[i].name, sem) == 0)
            so->passes = family == EMU_GFX90A ? passes[i].gfx90a : passes[i].gfx942;
    if (strstr(sem, "f8f6f4") && !emu_has_bytes(insn))
        so->passes /= 2;
    if (family == EMU_GFX950 && strcmp(sem, "v_mfma_f64_16x16x4_f64") == 0)
        so->passes = 16;
    so->is_sparse = emu_starts(sem, "v_swmmac");
    if (strstr(sem, "f64"))
        so->matrix = strstr(sem, "4x4x4") ? EMU_X_F64_SMALL : EMU_X_F64_LARGE;
    else if (strlen(sem) > 3 && strcmp(sem + strlen(sem) - 3, "f32") == 0 && !strstr(sem, "xf32"))
        so->matrix = EMU_X_F32;
    else
        so->matrix = EMU_X_XDL;
}

/*
 * LLVM 22 waits for parts of D0 that are not its lowest, and for all that random bits rounded to
 * four.
 */
static bool moves_scaled(const struct emu_scaled *s, unsigned op_sel)
{
    const bool halves = s->elements * emu_float_bits(s->to) == 16;

    return op_sel & (halves ? 8 : 12) || emu_scaled_is_early(s);
}

/* What LLVM 22 calls early-clobbered. */
static void describe_scaled(struct emu_strict_op *so, const struct emu_scaled *s)
{
    const struct emu_range *d = &so->write[0];

    so->own_poison = emu_strict_scaled_poison;
    for (unsigned i = 0; emu_scaled_is_early(s) && i < so->nread; i++)
        so->overlaps |=
            so->read[i].first < d->first + d->n && d->first < so->read[i].first + so->read[i].n;
}

/* Only part of D0 changes place: what the manual calls OPSEL and SDWA, and fp8 by the byte. */
static bool moves_within(const struct emu_op *op, const char *sem)
{
    const struct emu_insn *insn = op->insn;

    const struct emu_scaled *s = emu_scaled_of(sem);

    if (emu_starts(sem, "v_bitop3_b16"))
        return insn->op_sel & 8;
    if (s)
        return emu_scaled_is_partial(s) && moves_scaled(s, insn->op_sel);
    if (!(op->flags & EMU_B_VECTOR) || insn->ndst == 0 || insn->dst[0].kind != EMU_OPK_VGPR)
        return false;
    if (insn->ext == EMU_EXT_SDWA)
        return insn->dst_sel != EMU_SDWA_DWORD;
    if (emu_starts(sem, "v_cvt_sr_fp8") || emu_starts(sem, "v_cvt_sr_bf8"))
        return (insn->op_sel & 0xc) != 0;
    /* v_fma_mixhi_f16 has no OPSEL of its result, and LLVM adds no wait for it */
    return op->flags & EMU_B_DST_HI && !emu_starts(sem, "v_fma_mixhi");
}

static bool reads_special(const struct emu_insn *insn, unsigned special)
{
    for (unsigned i = 0; i < insn->nsrc; i++)
        if (insn->src[i].kind == EMU_OPK_SPECIAL && insn->src[i].reg == special)
            return true;
    return false;
}

/* What the rules for wait states ask. */
static void describe_hazards(struct emu_strict_op *so, const struct emu_op *op, const char *sem)
{
    const struct emu_insn *insn = op->insn;
    bool memory = insn->enc == EMU_FLAT || insn->enc == EMU_GLOBAL || insn->enc == EMU_SCRATCH;
    bool buffer = insn->enc == EMU_MUBUF || insn->enc == EMU_MTBUF;

    so->is_fma64 = emu_starts(sem, "v_fma_f64") || emu_starts(sem, "v_fmac_f64");
    so->is_permlane = emu_starts(sem, "v_permlane");
    if (op->inner && emu_starts(sem, "v_bitop3"))
        so->own_poison = emu_strict_bitop3_poison;
    so->is_depctr = strcmp(sem, "s_waitcnt_depctr") == 0;
    so->is_empty = strcmp(sem, "v_nop") == 0;
    so->needs_m0 = insn->flags & EMU_F_LDS_DMA || insn->mem & EMU_M_GDS ||
                   emu_starts(sem, "s_sendmsg") || emu_starts(sem, "s_ttracedata") ||
                   emu_starts(sem, "s_movrel") ||
                   (insn->enc == EMU_DS && strstr(sem, "addtid") != NULL);
    so->writes_half = moves_within(op, sem);
    so->keeps_part =
        so->writes_half && (insn->ext != EMU_EXT_SDWA || insn->dst_unused == EMU_SDWA_PRESERVE);
    so->reads_vccz = reads_special(insn, EMU_SP_VCCZ);
    so->reads_execz = reads_special(insn, EMU_SP_EXECZ);
    for (unsigned i = 0; i < insn->nsrc; i++)
        so->reads_literal |= insn->src[i].kind == EMU_OPK_LITERAL;
    if (emu_starts(sem, "s_getreg"))
        so->gets_hwreg = (uint8_t)((insn->simm16 & 63) + 1);
    if (emu_starts(sem, "s_setreg"))
        so->sets_hwreg = (uint8_t)((insn->simm16 & 63) + 1);
    if (insn->family == EMU_GFX90A && insn->enc == EMU_VOP3 && insn->src[0].kind == EMU_OPK_VGPR &&
        (emu_starts(sem, "v_lshlrev_b64") || emu_starts(sem, "v_lshrrev_b64") ||
         emu_starts(sem, "v_ashrrev_i64")))
        so->shift_row = insn->src[0].reg + 1;
    if (insn->flags & (EMU_F_STORE | EMU_F_ATOMIC) && insn->nsrc > 1 && is_row(&insn->src[1]) &&
        insn->src[1].dwords > 2 &&
        (memory || (buffer && (insn->nsrc < 4 || insn->src[3].kind != EMU_OPK_SGPR))))
        so->stored = (struct emu_range){op->s[1], insn->src[1].dwords};
}

void emu_strict_describe(struct emu_strict_op *so, const struct emu_op *op,
                         const struct emu_program *p)
{
    const struct emu_insn *insn = op->insn;
    const char *sem;

    memset(so, 0, sizeof *so);
    if (!insn)
        return;
    if (op->fn == emu_with_specials)
        op = p->pairs + op->target;
    if (op->fn == emu_relative)
        op = p->pairs + op->target;
    sem = emu_rows[insn->row].sem;
    so->relative = (uint8_t)emu_relative_kind(sem);
    describe_operands(so, op);
    so->is_dpp = insn->ext == EMU_EXT_DPP16;
    so->is_trans = op->cls == EMU_C_TRANS;
    so->reads_vcc = emu_starts(sem, "v_div_fmas");
    so->waits = wait_kind(insn, sem);
    so->rule = scalar_rule(sem);
    so->is_nop = strcmp(sem, "s_nop") == 0;
    so->scc_is_late = strcmp(sem, "s_barrier_signal_isfirst") == 0;
    so->is_dot = emu_starts(sem, "v_dot");
    describe_hazards(so, op, sem);
    so->reads_lane = emu_starts(sem, "v_readlane") || emu_starts(sem, "v_readfirstlane");
    if ((emu_starts(sem, "v_readlane") || emu_starts(sem, "v_writelane")) &&
        insn->src[1].kind == EMU_OPK_SGPR)
        so->lane_select_sgpr = insn->src[1].reg + 1;
    if (op->fn == emu_vopd) {
        so->kind = EMU_K_VOPD;
    } else if (op->flags & EMU_B_VECTOR) {
        describe_row(so, op);
    } else if (op->cls == EMU_C_MATRIX) {
        so->kind = EMU_K_MATRIX;
        describe_matrix(so, insn, sem);
    } else if (op->cls == EMU_C_VALU) {
        so->kind = EMU_K_CROSS;
        if (op->inner && emu_scaled_of(sem)) /* has the registers that it names */
            describe_scaled(so, emu_scaled_of(sem));
    } else if (op->cls == EMU_C_SMEM || op->cls == EMU_C_LDS || op->cls == EMU_C_VMEM ||
               emu_starts(sem, "s_sendmsg_rtn") || emu_starts(sem, "s_get_barrier_state")) {
        describe_memory(so, op);
    } else {
        so->kind = EMU_K_SCALAR;
        if (op->effects & EMU_E_READ_VCC)
            add_sread(so, EMU_S_VCC, insn->wave / 32);
        if (emu_starts(sem, "s_set_gpr_idx_on") || emu_starts(sem, "s_set_gpr_idx_idx"))
            so->swrite[so->nswrite++] = (struct emu_range){EMU_S_M0, 1};
    }
}
