/*
 * Strict mode: wait states that gfx90a, gfx942 and gfx950 leave to software. One op is one wait
 * state, s_nop n is n + 1; the numbers are those by which LLVM's hazard recognizer places its
 * s_nops, and those of the manuals for what no compiler selects (VCCZ and EXECZ as operands).
 */
#include <string.h>

#include "strict.h"

enum {
    VALU_SGPR_TO_VMEM = 5,
    VALU_VCC_TO_DIV_FMAS = 4,
    VALU_SGPR_TO_LANE_SELECT = 4,
    VALU_EXEC_TO_DPP = 5,
    VALU_VGPR_TO_DPP = 2,
    VALU_VGPR_TO_MATRIX = 2,
    VALU_EXEC_TO_MATRIX = 4,
    DOT_TO_OTHER = 3,
    SALU_M0_TO_USER = 1,
    VALU_MASK_TO_ZERO = 5, /* VCC or EXEC; VCCZ or EXECZ as an operand */
    SETREG_TO_SAME = 2,
    DGEMM_TO_FMA64 = 2,
    STORE_TO_OVERWRITE = 1,
    /* gfx90a only */
    VALU_DGEMM_MEMORY = 2,
    /* gfx950 only */
    VALU_VGPR_TO_SWAP = 2,
    VALU_EXEC_TO_SWAP = 4,
    /* gfx942 and gfx950 */
    TRANS_TO_VALU = 1,
    HALF_TO_VALU = 1,
    VALU_SGPR_TO_VALU = 2,
    VALU_VGPR_TO_READLANE = 1,
    VALU_EXEC_TO_LANE = 4,
    STORE_TO_OVERWRITE_942 = 2
};

static bool is_gfx94(const struct emu_hazards *h)
{
    return emu_is_gfx94(h->family);
}

static bool is_gfx950(const struct emu_hazards *h)
{
    return h->family == EMU_GFX950;
}

/* gfx950 is a wait state slower than gfx942 with matrix results of four passes and more. */
static unsigned slower(const struct emu_hazards *h, const struct emu_written *x)
{
    return is_gfx950(h) && x->matrix == EMU_X_XDL && x->passes > 2;
}

static void need(struct emu_hazards *h, uint32_t when, unsigned states, const char *what,
                 unsigned reg)
{
    uint32_t passed = h->states - when;

    if (!when || passed >= states)
        return;
    h->found = true;
    if (h->wave)
        emu_strict_blame(h->wave, "%s %u: %u wait states where %u are needed", what, reg, passed,
                         states);
}

/* ---- matrix results ---- */

/* By passes, gfx90a: 2, 8, 16. */
static unsigned by_passes(unsigned passes, unsigned small, unsigned middle, unsigned large)
{
    return passes <= 2 ? small : passes <= 8 ? middle : large;
}

/* Until a VALU or memory instruction may read or write the result. */
static unsigned states_to_valu(const struct emu_hazards *h, const struct emu_written *x,
                               bool memory_reads, bool write)
{
    if (x->matrix == EMU_X_F64_SMALL)
        return memory_reads ? 9 : 6;
    if (x->matrix == EMU_X_F64_LARGE)
        return memory_reads ? 18 : is_gfx950(h) && !write ? 19 : 11;
    if (is_gfx94(h))
        return x->passes + (x->matrix == EMU_X_XDL ? 3u : 2u) + slower(h, x);
    return by_passes(x->passes, 5, 11, 19);
}

static unsigned states_to_ab(const struct emu_hazards *h, const struct emu_written *x)
{
    return states_to_valu(h, x, false, false);
}

/* Accumulation into exactly the same registers is forwarded; an overlap is not. */
static unsigned states_to_c(const struct emu_hazards *h, const struct emu_written *x,
                            const struct emu_strict_op *so, bool same)
{
    bool f64 = so->matrix >= EMU_X_F64_SMALL, from_f64 = x->matrix >= EMU_X_F64_SMALL;

    if (!f64 && from_f64 && !is_gfx94(h))
        return 0;
    if (same) {
        if (so->matrix == EMU_X_F64_SMALL && x->matrix == EMU_X_F64_SMALL)
            return 4;
        return is_gfx94(h) && x->passes == 2 ? 2 : 0;
    }
    if (from_f64)
        return so->matrix == EMU_X_XDL        ? 0
               : x->matrix != EMU_X_F64_LARGE ? 4
               : is_gfx950(h)                 ? 17
                                              : 9;
    if (is_gfx94(h)) {
        if (so->matrix == EMU_X_XDL && x->matrix != EMU_X_XDL)
            return 0;
        return x->passes + (x->matrix == EMU_X_XDL ? 1u : 0u) + slower(h, x);
    }
    return by_passes(x->passes, 2, 8, 16) + (f64 ? 1u : 0u);
}

static void check_matrix_operand(struct emu_hazards *h, const struct emu_strict_op *so,
                                 const struct emu_op *op, const struct emu_range *r)
{
    bool is_c = r->first == op->s[2];
    bool recent = h->states - h->valu_last < VALU_VGPR_TO_MATRIX;

    if (!recent && !emu_range_bits(h->hot, r))
        return;
    for (unsigned i = r->first; i < (unsigned)r->first + r->n; i++) {
        const struct emu_written *x = &h->row[i];

        need(h, x->valu, VALU_VGPR_TO_MATRIX, "VALU result read by a matrix instruction, row", i);
        if (x->mfma)
            need(h, x->mfma,
                 is_c ? states_to_c(h, x, so, x->mfma_first == r->first) : states_to_ab(h, x),
                 is_c ? "matrix result overlaps C, row" : "matrix result read as A or B, row", i);
    }
}

/* A VALU or memory instruction near a matrix or dot instruction. */
static void check_touch(struct emu_hazards *h, const struct emu_strict_op *so,
                        const struct emu_op *op, const struct emu_range *r, bool write)
{
    bool memory = so->kind == EMU_K_MEMORY;

    if (!emu_range_bits(h->hot, r))
        return;
    for (unsigned i = r->first; i < (unsigned)r->first + r->n; i++) {
        const struct emu_written *x = &h->row[i];

        if (x->mfma)
            need(h, x->mfma, states_to_valu(h, x, memory && !write, write),
                 write ? "matrix result overwritten, row" : "matrix result read, row", i);
        if (write && x->mfma_c &&
            (x->c_matrix == EMU_X_XDL || (x->c_matrix == EMU_X_F32 && !is_gfx94(h))))
            need(h, x->mfma_c, x->c_passes == 4 ? 3 : by_passes(x->c_passes, 1, 7, 15),
                 "C of a matrix instruction overwritten, row", i);
        /* the same dot instruction may accumulate on: D0 and S2 */
        if (x->dot && (x->dot_row != op->insn->row ||
                       (!write && (i != op->s[2] || i == op->s[0] || i == op->s[1]))))
            need(h, x->dot, DOT_TO_OTHER, "result of a dot product touched, row", i);
    }
}

/* ---- VALU results ---- */

static void check_scalars(struct emu_hazards *h, const struct emu_strict_op *so, unsigned states,
                          const char *what)
{
    for (unsigned i = 0; i < so->nsread; i++)
        for (unsigned r = so->sread[i].first; r < (unsigned)so->sread[i].first + so->sread[i].n;
             r++)
            need(h, h->valu_sgpr[r], states, what, r);
}

static void check_gfx94(struct emu_hazards *h, const struct emu_strict_op *so)
{
    check_scalars(h, so, VALU_SGPR_TO_VALU, "SGPR written by VALU and read by VALU, register");
    if (so->reads_lane || so->lane_select_sgpr)
        need(h, h->valu_exec, VALU_EXEC_TO_LANE,
             "EXEC written by VALU before a lane access, register", EMU_S_EXEC);
    for (unsigned i = 0; i < so->nread; i++)
        for (unsigned r = so->read[i].first; r < (unsigned)so->read[i].first + so->read[i].n; r++) {
            if (!so->is_trans)
                need(h, h->row[r].trans, TRANS_TO_VALU, "transcendental result used, row", r);
            need(h, h->row[r].half, HALF_TO_VALU, "partially written register used, row", r);
            if (so->reads_lane)
                need(h, h->row[r].valu, VALU_VGPR_TO_READLANE, "VALU result read by lane, row", r);
        }
    if (so->keeps_part)
        need(h, h->row[so->write[0].first].half, HALF_TO_VALU,
             "partially written register kept in part, row", so->write[0].first);
}

/* v_permlane16_swap and v_permlane32_swap; EXEC counts when v_cmpx wrote it. */
static void check_swap(struct emu_hazards *h, const struct emu_strict_op *so)
{
    need(h, h->valu_exec, VALU_EXEC_TO_SWAP,
         "EXEC written by VALU before lanes are swapped, register", EMU_S_EXEC);
    for (unsigned i = 0; i < so->nread; i++)
        for (unsigned r = so->read[i].first; r < (unsigned)so->read[i].first + so->read[i].n; r++)
            need(h, h->row[r].valu, VALU_VGPR_TO_SWAP, "VALU result whose lanes are swapped, row",
                 r);
}

/* A store of more than 8 bytes may still be reading its registers. */
static void check_stored(struct emu_hazards *h, const struct emu_strict_op *so)
{
    unsigned states = is_gfx94(h) ? STORE_TO_OVERWRITE_942 : STORE_TO_OVERWRITE;

    if (!h->store_last || h->states - h->store_last >= states)
        return;
    for (unsigned i = 0; i < so->nwrite; i++)
        for (unsigned r = so->write[i].first; r < (unsigned)so->write[i].first + so->write[i].n;
             r++)
            need(h, h->row[r].stored, states, "data of a store overwritten, row", r);
}

static void check_zero(struct emu_hazards *h, const struct emu_strict_op *so)
{
    for (unsigned i = 0; so->reads_vccz && i < 2; i++)
        need(h, h->valu_sgpr[EMU_S_VCC + i], VALU_MASK_TO_ZERO,
             "VCC written by VALU before VCCZ is an operand, register", EMU_S_VCC + i);
    if (so->reads_execz)
        need(h, h->valu_exec, VALU_MASK_TO_ZERO,
             "EXEC written by VALU before EXECZ is an operand, register", EMU_S_EXEC);
}

/*
 * gfx90a reads the register behind the amount of a 64-bit shift, too, when it is the last one of
 * a block of eight; that one must be the wave's own.
 */
static void check_shift(struct emu_hazards *h, const struct emu_strict_op *so)
{
    if (!so->shift_row || so->shift_row % 8 || so->shift_row < h->rows)
        return;
    h->found = true;
    if (h->wave)
        emu_fault(h->wave, emu_exec(h->wave),
                  "the amount of a 64-bit shift is in v%u, the last register there is",
                  so->shift_row - 1u);
}

static void check_valu(struct emu_hazards *h, const struct emu_strict_op *so)
{
    check_stored(h, so);
    check_zero(h, so);
    check_shift(h, so);
    if (so->is_fma64)
        need(h, h->dgemm_last, DGEMM_TO_FMA64,
             "64-bit fused multiply-add after a matrix instruction of f64, row",
             so->nwrite ? so->write[0].first : 0);
    if (so->reads_vcc)
        for (unsigned i = 0; i < 2; i++)
            need(h, h->valu_sgpr[EMU_S_VCC + i], VALU_VCC_TO_DIV_FMAS,
                 "VCC written by VALU before v_div_fmas, register", EMU_S_VCC + i);
    if (so->lane_select_sgpr)
        need(h, h->valu_sgpr[so->lane_select_sgpr - 1], VALU_SGPR_TO_LANE_SELECT,
             "SGPR written by VALU selects a lane, register", so->lane_select_sgpr - 1u);
    if (so->is_dpp) {
        need(h, h->valu_exec, VALU_EXEC_TO_DPP, "EXEC written by VALU before DPP, register",
             EMU_S_EXEC);
        if (so->nread)
            need(h, h->row[so->read[0].first].valu, VALU_VGPR_TO_DPP,
                 "VALU result read through DPP, row", so->read[0].first);
    }
    if (is_gfx94(h))
        check_gfx94(h, so);
    if (is_gfx950(h) && so->is_permlane)
        check_swap(h, so);
}

static void check_memory(struct emu_hazards *h, const struct emu_strict_op *so)
{
    if (so->counters & (EMU_CNT_VM | EMU_CNT_VS))
        check_scalars(h, so, VALU_SGPR_TO_VMEM,
                      "SGPR written by VALU and read by a memory instruction, register");
    /* the hardware waits by itself, but not with a matrix instruction of f64 in between */
    for (unsigned i = 0; !is_gfx94(h) && h->dgemm_last && i < so->nread; i++)
        for (unsigned r = so->read[i].first; r < (unsigned)so->read[i].first + so->read[i].n; r++)
            if ((int32_t)(h->dgemm_last - h->row[r].valu) > 0)
                need(h, h->row[r].valu, VALU_DGEMM_MEMORY,
                     "VALU result read by a memory instruction behind one of f64 matrices, row", r);
}

/* SALU: MODE and its like. */
static void check_hwreg(struct emu_hazards *h, const struct emu_strict_op *so)
{
    unsigned reg = so->gets_hwreg ? so->gets_hwreg : so->sets_hwreg;

    if (reg)
        need(h, h->setreg[reg - 1], SETREG_TO_SAME, "s_setreg of the same hardware register",
             reg - 1);
}

void emu_strict_check_hazards(struct emu_hazards *h, const struct emu_strict_op *so,
                              const struct emu_op *op)
{
    h->blamed = false;
    if (h->family >= EMU_GFX11) {
        emu_strict_check_hazards11(h, so, op);
        if (h->family >= EMU_GFX12)
            emu_strict_check_hazards12(h, so, op);
        return;
    }
    if (so->needs_m0)
        need(h, h->salu_m0, SALU_M0_TO_USER, "m0 written by SALU before it is used, register",
             EMU_S_M0);
    if (so->kind == EMU_K_MATRIX) {
        check_stored(h, so);
        need(h, h->valu_exec, VALU_EXEC_TO_MATRIX,
             "EXEC written by VALU before a matrix instruction, register", EMU_S_EXEC);
        for (unsigned i = 0; i < so->nread; i++)
            check_matrix_operand(h, so, op, &so->read[i]);
        return;
    }
    if ((int32_t)(h->hot_until - h->states) > 0) {
        for (unsigned i = 0; i < so->nread; i++)
            check_touch(h, so, op, &so->read[i], false);
        for (unsigned i = 0; i < so->nwrite; i++)
            check_touch(h, so, op, &so->write[i], true);
    }
    if (so->kind == EMU_K_ROW || so->kind == EMU_K_CROSS)
        check_valu(h, so);
    else if (so->kind == EMU_K_MEMORY)
        check_memory(h, so);
    else
        check_hwreg(h, so);
}

/* ---- what an op leaves behind ---- */

static void stay_hot(struct emu_hazards *h, unsigned states, const struct emu_range *r)
{
    if ((int32_t)(h->hot_until - h->states) < 0)
        memset(h->hot, 0, sizeof h->hot);
    if ((int32_t)(h->hot_until - (h->states + states)) < 0)
        h->hot_until = h->states + states;
    emu_set_range_bits(h->hot, r);
}

static void note_matrix(struct emu_hazards *h, const struct emu_strict_op *so,
                        const struct emu_op *op)
{
    for (unsigned i = 0; i < so->nread; i++)
        for (unsigned r = 0; so->read[i].first == op->s[2] && r < so->read[i].n; r++) {
            struct emu_written *x = &h->row[so->read[i].first + r];

            x->mfma_c = h->states;
            x->c_passes = so->passes;
            x->c_matrix = so->matrix;
            if (!r)
                stay_hot(h, 20, &so->read[i]);
        }
    if (so->matrix >= EMU_X_F64_SMALL)
        h->dgemm_last = h->states;
    for (unsigned r = 0; so->nwrite && r < so->write[0].n; r++) {
        struct emu_written *x = &h->row[so->write[0].first + r];

        *x = (struct emu_written){.mfma = h->states,
                                  .mfma_c = x->mfma_c,
                                  .mfma_first = so->write[0].first,
                                  .passes = so->passes,
                                  .matrix = so->matrix,
                                  .c_passes = x->c_passes,
                                  .c_matrix = x->c_matrix};
    }
    if (so->nwrite)
        stay_hot(h, 20, &so->write[0]);
}

static void note_valu(struct emu_hazards *h, const struct emu_strict_op *so,
                      const struct emu_op *op)
{
    for (unsigned i = 0; i < so->nwrite; i++)
        for (unsigned r = 0; r < so->write[i].n; r++) {
            struct emu_written *x = &h->row[so->write[i].first + r];

            x->mfma = 0;
            x->valu = so->is_dot ? 0 : h->states;
            x->trans = so->is_trans ? h->states : 0;
            x->half = so->writes_half ? h->states : 0;
            x->dot = so->is_dot ? h->states : 0;
            x->dot_row = op->insn->row;
        }
    for (unsigned i = 0; so->is_dot && i < so->nwrite; i++)
        stay_hot(h, DOT_TO_OTHER, &so->write[i]);
    h->valu_last = h->states;
    for (unsigned i = 0; i < so->nswrite; i++) {
        for (unsigned r = 0; r < so->swrite[i].n; r++)
            h->valu_sgpr[so->swrite[i].first + r] = h->states;
        if (so->swrite[i].first == EMU_S_EXEC)
            h->valu_exec = h->states;
    }
}

static void note_memory(struct emu_hazards *h, const struct emu_strict_op *so)
{
    for (unsigned i = 0; i < so->stored.n; i++)
        h->row[so->stored.first + i].stored = h->states;
    if (so->stored.n)
        h->store_last = h->states;
}

unsigned emu_strict_states(const struct emu_strict_op *so, const struct emu_op *op)
{
    return so->is_nop ? (op->imm & 15u) + 1 : 1;
}

void emu_strict_note_hazards(struct emu_hazards *h, const struct emu_strict_op *so,
                             const struct emu_op *op)
{
    if (h->family >= EMU_GFX11) {
        emu_strict_note_hazards11(h, so, op);
        if (h->family >= EMU_GFX12)
            emu_strict_note_hazards12(h, so, op);
        return;
    }
    h->states += emu_strict_states(so, op);
    switch (so->kind) {
    case EMU_K_MATRIX:
        note_matrix(h, so, op);
        break;
    case EMU_K_ROW:
    case EMU_K_CROSS:
        note_valu(h, so, op);
        break;
    default:
        /* SALU and loads write registers, too: what VALU wrote there before is gone */
        for (unsigned i = 0; i < so->nswrite; i++)
            for (unsigned r = 0; r < so->swrite[i].n; r++)
                h->valu_sgpr[so->swrite[i].first + r] = 0;
        for (unsigned i = 0; i < so->nswrite; i++) {
            if (so->swrite[i].first == EMU_S_M0)
                h->salu_m0 = h->states;
            if (so->swrite[i].first == EMU_S_EXEC)
                h->valu_exec = 0;
        }
        for (unsigned i = 0; i < so->nwrite; i++)
            for (unsigned r = 0; r < so->write[i].n; r++)
                h->row[so->write[i].first + r].valu = h->row[so->write[i].first + r].trans = 0;
        note_memory(h, so);
        if (so->sets_hwreg)
            h->setreg[so->sets_hwreg - 1] = h->states;
        break;
    }
}
