/*
 * Binds one decoded instruction to its handler: operands become rows and scalar indices, constants
 * get their own, scalars of vector instructions a splat row, modifiers the wrapper that honours
 * them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operands.h"

/* ---- instructions that cannot run ---- */

static void fault_missing(struct emu_wave *w, const struct emu_op *op)
{
    emu_fault(w, 0, "no semantics for %s", emu_rows[op->insn->row].name);
}

static void fault_trapped(struct emu_wave *w, const struct emu_op *op)
{
    emu_fault(w, 0, "%s is not executed by design", emu_rows[op->insn->row].name);
}

static void fault_gds(struct emu_wave *w, const struct emu_op *op)
{
    emu_fault(w, 0, "%s gds: compute kernels have no global data share",
              emu_rows[op->insn->row].name);
}

static void fault_registers(struct emu_wave *w, const struct emu_op *op)
{
    (void)op;
    emu_fault(w, 0, "register beyond what the kernel allocates (%u rows, AGPRs from %u)",
              w->group->kernel->vgprs, w->group->kernel->accum_offset);
}

static void fault_operands(struct emu_wave *w, const struct emu_op *op)
{
    (void)op;
    emu_fault(w, 0, "operands do not fit the instruction's semantics");
}

/* SCC, VCCZ and EXECZ as operands: brought up to date, then the real op. */
void emu_with_specials(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_op *inner = emu_program_of(w)->pairs + op->target;
    uint64_t vcc = emu_s64(w, EMU_S_VCC) & emu_all_lanes(w);

    w->s[EMU_S_SCC] = w->scc;
    w->s[EMU_S_VCCZ] = vcc == 0;
    w->s[EMU_S_EXECZ] = emu_exec(w) == 0;
    if (w->attention & EMU_A_MODE && inner->flags & EMU_B_MODE)
        emu_run_mode(w, inner);
    else
        inner->fn(w, inner);
}

/* ---- vector rows ---- */

static bool is_half(uint8_t type)
{
    return type == EMU_T_F16 || type == EMU_T_B16 || type == EMU_T_I16 || type == EMU_T_BF16;
}

static bool is_float(uint8_t type)
{
    return type == EMU_T_F16 || type == EMU_T_F32 || type == EMU_T_F64 || type == EMU_T_PK_F16 ||
           type == EMU_T_PK_F32 || type == EMU_T_BF16;
}

/* gfx9: the 16-bit instructions that leave the other half of D0 alone; the rest write 0 there. */
static bool keeps_half_on_gfx9(const char *sem)
{
    static const char *const names[] = {"v_mad_f16",       "v_mad_u16",        "v_mad_i16",
                                        "v_fma_f16",       "v_div_fixup_f16",  "v_mac_f16",
                                        "v_madmk_f16",     "v_madak_f16",      "v_fma_mixlo_f16",
                                        "v_fma_mixhi_f16", "v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32",
                                        "v_ashr_pk_i8_i32", "v_ashr_pk_u8_i32", "v_cvt_sr_f16_f32",
                                        "v_cvt_sr_bf16_f32"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], sem) == 0)
            return true;
    return false;
}

static uint8_t half_flags(const struct emu_insn *insn, const char *sem, uint32_t effects)
{
    const struct emu_operand *d = &insn->dst[0];
    bool fp8 = strcmp(sem, "v_cvt_pk_fp8_f32") == 0 || strcmp(sem, "v_cvt_pk_bf8_f32") == 0;
    bool hi = d->flags & EMU_OPF_HI || (insn->enc == EMU_VOP3 && insn->op_sel & 8) ||
              strcmp(sem, "v_fma_mixhi_f16") == 0;
    uint8_t flags = hi ? EMU_B_DST_HI : 0;

    if (strncmp(sem, "v_cvt_sr_fp8", 12) == 0 || strncmp(sem, "v_cvt_sr_bf8", 12) == 0)
        return EMU_B_KEEP_BYTES;
    if ((!is_half(d->type) && !fp8) || effects & EMU_E_WHOLE)
        return 0;
    if (hi || insn->family >= EMU_GFX11 || keeps_half_on_gfx9(sem))
        flags |= EMU_B_KEEP_HALF;
    return flags;
}

/* Flags of a source that is not simply its row. */
#define MODIFIED (EMU_OPF_NEG | EMU_OPF_ABS | EMU_OPF_HI | EMU_OPF_SEXT | EMU_OPF_BYTE)

static bool needs_modified(const struct emu_insn *insn, uint8_t flags)
{
    unsigned all = (1u << insn->nsrc) - 1;

    if (insn->ext != EMU_EXT_NONE || flags & EMU_B_KEEP_HALF || insn->omod)
        return true;
    if (insn->clamp && is_float(insn->dst[0].type))
        return true;
    if (flags & EMU_B_PACKED && (insn->op_sel & all || (insn->op_sel_hi & all) != all ||
                                 insn->neg_lo & all || insn->neg_hi & all))
        return true;
    for (unsigned i = 0; i < insn->nsrc; i++)
        if (insn->src[i].type == EMU_T_MIX || insn->src[i].flags & MODIFIED)
            return true;
    return false;
}

/* A bit for each source that is not simply its row. */
static int32_t modified_sources(const struct emu_insn *insn, uint8_t flags)
{
    int32_t some = 0;

    for (unsigned i = 0; i < insn->nsrc; i++) {
        const struct emu_operand *o = &insn->src[i];
        bool dpp = i == 0 && insn->ext != EMU_EXT_NONE;
        bool other = insn->ext == EMU_EXT_SDWA || flags & EMU_B_PACKED || o->flags & MODIFIED;

        if (o->type == EMU_T_MIX)
            other = (insn->op_sel_hi | insn->neg_hi | insn->neg_lo) >> i & 1;
        some |= (dpp || other) << i;
    }
    return some;
}

/* Nothing but its place makes the result special. */
static bool only_half(const struct emu_op *op)
{
    const struct emu_insn *insn = op->insn;

    return op->flags & EMU_B_KEEP_HALF && !op->imm && insn->ext == EMU_EXT_NONE && !insn->clamp &&
           !insn->omod && (!(op->flags & EMU_B_PACKED) || insn->enc == EMU_VOP3P);
}

/* The row that serves a semantic name with these modifiers. */
static const struct emu_vrow *vector_row(const struct emu_insn *insn, const char *sem)
{
    char name[64];
    const char *suffix = "";

    if (strncmp(sem, "v_cmpx_", 7) == 0) {
        snprintf(name, sizeof name, "v_cmp_%s", sem + 7);
        return emu_bind(name, insn->wave).row;
    }
    if (insn->src[0].type == EMU_T_PK_F32) {
        snprintf(name, sizeof name, "v_%s", sem + 5);
        return emu_bind(name, insn->wave).row;
    }
    if (strstr(sem, "_iu8") || strstr(sem, "_iu4"))
        suffix = (insn->neg_lo & 3) == 3 ? "_s01"
                 : insn->neg_lo & 1      ? "_s0"
                 : insn->neg_lo & 2      ? "_s1"
                                         : "";
    if (emu_has_ocp_floats(insn->family) && strncmp(sem, "v_cvt_", 6) == 0 &&
        (strstr(sem, "_fp8") || strstr(sem, "_bf8")))
        suffix = "_ocp";
    if (insn->clamp && insn->ndst && insn->dst[0].type != EMU_T_MASK &&
        !is_float(insn->dst[0].type)) {
        const struct emu_vrow *r;

        snprintf(name, sizeof name, "%s%s_sat", sem, suffix);
        r = emu_bind(name, insn->wave).row;
        if (r)
            return r;
    }
    snprintf(name, sizeof name, "%s%s", sem, suffix);
    return emu_bind(name, insn->wave).row;
}

/* Does the decoder's idea of the operands agree with the row's? */
static bool widths_agree(const struct emu_insn *insn, const struct emu_vrow *r, bool pair)
{
    for (unsigned i = 0; i < 3; i++) {
        const struct emu_operand *o = &insn->src[i];
        unsigned n = o->type == EMU_T_MASK ? 1 : o->dwords;

        if (!r->w[i])
            continue;
        if (i >= insn->nsrc || o->kind == EMU_OPK_NONE || n != (pair ? 2u : r->w[i]))
            return false;
    }
    return insn->dst[0].type == EMU_T_MASK || insn->dst[0].dwords == (pair ? 2u : r->dw);
}

static emu_fn *bind_sources(struct emu_builder *b, struct emu_op *op)
{
    static const uint32_t zero[2];
    const struct emu_insn *insn = op->insn;
    uint16_t none = (uint16_t)(b->program->row_const + emu_add_vconst(b, zero, 2));

    for (unsigned i = 0; i < 6; i++) {
        const struct emu_operand *o = &insn->src[i];

        op->s[i] = none;
        if (i >= insn->nsrc || o->kind == EMU_OPK_NONE)
            continue;
        if (emu_is_vector(o)) {
            if (!emu_row_of(b->kernel, o, &op->s[i]))
                return fault_registers;
        } else if (o->kind == EMU_OPK_SGPR || emu_dynamic_special(o)) {
            if (!emu_splat_source(b, op, i))
                return fault_operands;
        } else if (o->kind == EMU_OPK_SPECIAL && o->reg == EMU_SP_LDS_DIRECT) {
            return fault_trapped;
        } else {
            op->s[i] = emu_constant_row(b, o);
        }
    }
    return NULL;
}

static emu_fn *bind_destinations(struct emu_builder *b, struct emu_op *op)
{
    op->d[0] = op->d[1] = EMU_NO_ROW;
    for (unsigned i = 0; i < op->insn->ndst; i++) {
        const struct emu_operand *o = &op->insn->dst[i];

        if (emu_is_vector(o)) {
            if (!emu_row_of(b->kernel, o, &op->d[i]))
                return fault_registers;
        } else {
            op->d[i] = emu_scalar_index(b, o, true);
        }
    }
    return NULL;
}

/* The low result of a pair may be written at once unless the high one still reads that row. */
static bool pair_is_free(const struct emu_op *op)
{
    for (unsigned i = 0; i < op->insn->nsrc; i++)
        if (op->s[i] + (op->insn->op_sel_hi >> i & 1) == op->d[0])
            return false;
    return true;
}

static emu_fn *bind_row(struct emu_builder *b, struct emu_op *op, const char *sem)
{
    const struct emu_insn *insn = op->insn;
    const struct emu_lanes *lanes = b->program->lanes;
    bool pair = insn->src[0].type == EMU_T_PK_F32;
    const struct emu_vrow *r = vector_row(insn, sem);
    enum emu_shape shape = EMU_SHAPE_ROWS;
    emu_fn *bad;

    if (!r)
        return fault_missing;
    if (!widths_agree(insn, r, pair))
        return fault_operands;
    bad = bind_sources(b, op);
    if (!bad)
        bad = bind_destinations(b, op);
    if (bad)
        return bad;
    op->row = r->fn;
    op->cls = r->cls;
    op->effects = r->effects;
    op->flags = EMU_B_VECTOR | (r->effects & EMU_E_FLOAT ? EMU_B_MODE : 0);
    if (pair) {
        op->flags |= pair_is_free(op) ? EMU_B_NO_ALIAS : 0;
        op->imm = insn->neg_lo || insn->neg_hi || insn->clamp;
        return lanes->pair;
    }
    if (insn->dst[0].type == EMU_T_MASK)
        shape = EMU_SHAPE_CMP;
    else if (insn->ndst > 1)
        shape = EMU_SHAPE_CARRY;
    op->flags |= r->dw == 2 ? EMU_B_WIDE : 0;
    op->flags |= insn->enc == EMU_VOP3P ? EMU_B_PACKED : 0;
    if (shape != EMU_SHAPE_CMP)
        op->flags |= half_flags(insn, sem, r->effects);
    if (insn->ext == EMU_EXT_DPP16 || insn->ext == EMU_EXT_DPP8) {
        struct emu_permute p;

        emu_resolve_dpp(&p, insn);
        op->target = (int32_t)emu_add_permute(b, &p);
    }
    op->imm = modified_sources(insn, op->flags);
    if (shape == EMU_SHAPE_ROWS && only_half(op))
        return lanes->half;
    return needs_modified(insn, op->flags) ? lanes->modified[shape] : lanes->plain[shape];
}

/* ---- VOPD ---- */

static bool reads_row(const struct emu_op *op, unsigned row)
{
    for (unsigned i = 0; i < 3; i++)
        if (op->s[i] == row)
            return true;
    return false;
}

/* A half as an instruction of its own. */
static void split_half(struct emu_insn *half, const struct emu_insn *insn, unsigned which)
{
    *half = *insn;
    half->ndst = 1;
    half->nsrc = 3;
    half->row = which ? insn->row_y : insn->row;
    if (which) {
        half->dst[0] = insn->dst[1];
        memcpy(half->src, insn->src + 3, 3 * sizeof half->src[0]);
    }
    memset(half->src + 3, 0, 3 * sizeof half->src[0]);
}

/*
 * X then Y unless Y reads X's result; else Y then X; when each reads the other's result, X goes to
 * a temporary row and a move puts it into place at the end.
 */
static void bind_vopd(struct emu_builder *b, struct emu_op *op)
{
    unsigned at = emu_add_pairs(b, 3);
    struct emu_op half[3];
    static const struct emu_op none;
    const struct emu_insn *insn = op->insn;

    op->target = (int32_t)at;
    op->cls = EMU_C_VALU;
    op->flags = EMU_B_VECTOR | EMU_B_MODE;
    half[2] = none;
    for (unsigned i = 0; i < 2; i++) {
        struct emu_insn *one = &b->program->insns[b->program->ninsns++];

        split_half(one, insn, i);
        half[i] = none;
        half[i].insn = one;
        half[i].fn = bind_row(b, &half[i], emu_rows[one->row].sem);
        op->effects |= half[i].effects;
    }
    if (reads_row(&half[1], half[0].d[0])) {
        if (!reads_row(&half[0], half[1].d[0])) {
            struct emu_op t = half[0];

            half[0] = half[1];
            half[1] = t;
        } else {
            half[2] = half[0];
            half[2].fn = b->program->lanes->plain[EMU_SHAPE_ROWS];
            half[2].row = emu_bind("v_mov_b32", insn->wave).row->fn;
            half[2].nsplat = 0;
            half[2].effects = 0; /* a move: MODE has been applied */
            half[0].d[0] = half[2].s[0] = (uint16_t)(b->program->row_temp + 2);
        }
    }
    if (!b->failed)
        memcpy(b->program->pairs + at, half, sizeof half);
    op->fn = emu_vopd;
}

/* ---- everything else ---- */

/* The handler of a semantic row, or the shorter way to it: op->inner is set. */
static emu_fn *direct_handler(const struct emu_builder *b, struct emu_op *op, const char *sem)
{
    emu_fn *fn = op->cls == EMU_C_MATRIX ? emu_matrix_direct(op, sem) : NULL;

    if (op->cls == EMU_C_LDS)
        for (const struct emu_direct *d = b->program->lanes->direct; d->sem && !fn; d++)
            fn = strcmp(d->sem, sem) == 0 ? d->fn : NULL;
    return fn ? fn : op->inner;
}

static emu_fn *bind_sem(struct emu_builder *b, struct emu_op *op, const struct emu_sem *sem)
{
    const struct emu_insn *insn = op->insn;
    bool matrix = sem->cls == EMU_C_MATRIX;
    emu_fn *bad = bind_destinations(b, op);

    if (bad)
        return bad;
    for (unsigned i = 0; i < 6; i++) {
        const struct emu_operand *o = &insn->src[i];

        op->s[i] = EMU_NO_ROW;
        if (i >= insn->nsrc || o->kind == EMU_OPK_NONE)
            continue;
        if (emu_is_vector(o)) {
            if (!emu_row_of(b->kernel, o, &op->s[i]))
                return fault_registers;
        } else if (matrix && o->kind != EMU_OPK_SGPR) {
            op->s[i] = emu_constant_row(b, o);
        } else {
            op->s[i] = emu_scalar_index(b, o, false);
        }
    }
    op->cls = sem->cls;
    op->effects = sem->effects;
    op->flags = sem->effects & EMU_E_FLOAT ? EMU_B_MODE : 0;
    op->inner = sem->fn[insn->wave == 64];
    return direct_handler(b, op, sem->name);
}

/* Puts fn in front of op, which then stands in `pairs`; false when memory is out. */
static bool put_in_front(struct emu_builder *b, struct emu_op *op, emu_fn *fn)
{
    unsigned at = emu_add_pairs(b, 1);

    if (b->failed)
        return false;
    b->program->pairs[at] = *op;
    op->target = (int32_t)at;
    op->fn = fn;
    return true;
}

/* Puts emu_with_specials in front when the instruction reads SCC, VCCZ or EXECZ as an operand. */
static void wrap_specials(struct emu_builder *b, struct emu_op *op)
{
    bool any = false;

    for (unsigned i = 0; i < op->insn->nsrc; i++)
        any |= emu_dynamic_special(&op->insn->src[i]) != 0;
    if (any)
        put_in_front(b, op, emu_with_specials);
}

/* v_movrel is a move, with all its forms, behind emu_relative. */
static void bind_relative(struct emu_builder *b, struct emu_op *op, unsigned kind)
{
    op->fn = bind_row(b, op, emu_rows[op->insn->row].sem);
    if (!(op->flags & EMU_B_VECTOR) || !put_in_front(b, op, emu_relative))
        return;
    op->imm = (int)kind;
    op->flags = 0;
    op->effects |= EMU_E_READ_M0;
}

void emu_bind_op(struct emu_builder *b, struct emu_op *op, const struct emu_insn *insn)
{
    const struct emu_row *row = &emu_rows[insn->row];
    struct emu_binding binding = emu_bind(row->sem, insn->wave);
    unsigned relative = emu_relative_kind(row->sem);

    op->insn = insn;
    op->dwords = insn->size / 4;
    op->target = -1;
    op->imm = insn->enc <= EMU_SOPP ? insn->simm16 : insn->offset;
    op->cls = insn->enc < EMU_SMEM ? EMU_C_SALU : EMU_C_VALU;
    if (insn->flags & EMU_F_TRAPPED) {
        op->fn = fault_trapped;
    } else if (insn->enc == EMU_DS && insn->mem & EMU_M_GDS) {
        op->fn = fault_gds;
    } else if (insn->enc == EMU_VOPD) {
        bind_vopd(b, op);
    } else if (strcmp(row->sem, "v_pk_mov_b32") == 0) {
        emu_fn *bad = bind_sources(b, op);

        bad = bad ? bad : bind_destinations(b, op);
        op->flags = EMU_B_VECTOR;
        op->fn = bad ? bad : b->program->lanes->pair_move;
    } else if (binding.sem) {
        op->fn = bind_sem(b, op, binding.sem);
    } else if (relative) {
        bind_relative(b, op, relative);
    } else {
        op->fn = bind_row(b, op, row->sem);
    }
    if (insn->flags & EMU_F_BRANCH) {
        int64_t to = (int64_t)insn->offset_in_text + insn->size + (int64_t)insn->simm16 * 4;

        op->target = to >= 0 && (uint64_t)to < b->kernel->code_size ? (int32_t)(to / 4) : -1;
    }
    wrap_specials(b, op);
}
