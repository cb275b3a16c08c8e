/*
 * Strict mode, one step: checks before an op, the op itself, and what becomes of poison.
 *
 * Poison is tracked bit by bit for vector registers (w->vp, rows like w->v; vp_dirty says which
 * rows have any) and scalar registers (w->sp). It may be copied and computed with; it is a fault
 * where it decides something: an address, a branch, EXEC, a store to device memory.
 */
#include <stdio.h>
#include <string.h>

#include "strict.h"

/* ---- rows ---- */

static bool row_dirty(const struct emu_wave *w, unsigned r)
{
    return w->vp_dirty[r >> 6] >> (r & 63) & 1;
}

static bool range_dirty(const struct emu_wave *w, const struct emu_range *r)
{
    return emu_range_bits(w->vp_dirty, r) != 0;
}

static uint32_t *poison_row(const struct emu_wave *w, unsigned r)
{
    return w->vp + (size_t)r * w->lanes;
}

/* Sets the dirty bit to what the row really holds. */
static void refresh(struct emu_wave *w, unsigned r)
{
    const uint32_t *p = poison_row(w, r);
    uint64_t bit = UINT64_C(1) << (r & 63);
    uint32_t any = 0;

    for (unsigned l = 0; l < w->lanes; l++)
        any |= p[l];
    w->vp_dirty[r >> 6] = any ? w->vp_dirty[r >> 6] | bit : w->vp_dirty[r >> 6] & ~bit;
}

/* The active lanes of a row become clean; keep: bits that stay as they are. */
static void clean_row(struct emu_wave *w, unsigned r, uint32_t keep)
{
    uint32_t *p = poison_row(w, r);
    uint64_t exec = emu_exec(w);

    if (!row_dirty(w, r))
        return;
    for (unsigned l = 0; l < w->lanes; l++)
        if (exec >> l & 1)
            p[l] &= keep;
    refresh(w, r);
}

/* Lanes of a range with poison, among the active ones. */
static uint64_t poisoned_lanes(const struct emu_wave *w, const struct emu_range *r)
{
    uint64_t lanes = 0;

    for (unsigned i = 0; range_dirty(w, r) && i < r->n; i++) {
        const uint32_t *p = poison_row(w, r->first + i);

        for (unsigned l = 0; row_dirty(w, r->first + i) && l < w->lanes; l++)
            lanes |= (uint64_t)(p[l] != 0) << l;
    }
    return lanes & emu_exec(w);
}

static bool scalars_poisoned(const struct emu_wave *w, const struct emu_range *r)
{
    uint32_t any = 0;

    for (unsigned i = 0; i < r->n; i++)
        any |= w->sp[r->first + i];
    return any != 0;
}

/* The poison of a scalar register, or pair, that holds a bit for each lane. */
static uint64_t scalar_lanes(const struct emu_wave *w, unsigned r)
{
    return w->sp[r] | (w->lanes == 64 ? (uint64_t)w->sp[r + 1] << 32 : 0);
}

static const char *scalar_name(unsigned r, char buf[16])
{
    static const char *const names[] = {"vcc_lo", "vcc_hi"};

    if (r == EMU_S_VCC || r == EMU_S_VCC + 1)
        return names[r - EMU_S_VCC];
    if (r == EMU_S_M0)
        return "m0";
    snprintf(buf, 16, "s%u", r);
    return buf;
}

/* ---- vector rows: the shadow op ---- */

static void swap_files(struct emu_wave *w)
{
    uint32_t *v = w->v, *s = w->s;

    w->v = w->vp;
    w->s = w->sp;
    w->vp = v;
    w->sp = s;
}

/* The value of source i of a vector op, two rows: from its registers, or made of the scalar. */
static void copy_value(struct emu_wave *w, const struct emu_op *op, unsigned i, uint32_t *to)
{
    unsigned splat = op->s[i] - emu_program_of(w)->row_splat;

    for (unsigned d = 0; d < 2; d++, to += w->lanes) {
        if (splat + d >= op->nsplat) {
            memcpy(to, emu_row(w, op->s[i] + d), 4 * w->lanes);
            continue;
        }
        for (unsigned l = 0; l < w->lanes; l++) {
            unsigned from = op->sgpr[splat + d], mask = from & ~EMU_SPLAT_MASK;

            to[l] = from & EMU_SPLAT_MASK ? -(w->s[mask + l / 32] >> l % 32 & 1) : w->s[from];
        }
    }
}

/*
 * Runs an op on the poison: the register files change places, EXEC and M0 keep their values, and
 * sources that control the operation are copied over as values.
 */
static void run_shadow(struct emu_wave *w, const struct emu_strict_op *so)
{
    const struct emu_program *p = emu_program_of(w);
    struct emu_op op = so->shadow;
    uint32_t exec[2] = {w->s[EMU_S_EXEC], w->s[EMU_S_EXEC + 1]}, m0 = w->s[EMU_S_M0];
    uint32_t m0_poison = w->sp[EMU_S_M0], attention = w->attention;
    unsigned spare = p->row_temp + EMU_TEMPS - 8;

    for (unsigned i = 0; i < 4; i++) {
        unsigned from = i;

        if (so->values && i >= 2)
            from = i - 2;
        else if (!(so->control >> i & 1))
            continue;
        copy_value(w, &so->shadow, from, poison_row(w, spare + 2 * i));
        op.s[i] = (uint16_t)(spare + 2 * i);
    }
    w->attention &= ~(uint32_t)EMU_A_MODE;
    swap_files(w);
    memcpy(w->s + EMU_S_EXEC, exec, sizeof exec);
    w->s[EMU_S_M0] = m0;
    if (attention & EMU_A_GPR_IDX)
        p->lanes->gpr_idx(w, &op);
    else
        op.fn(w, &op);
    w->s[EMU_S_EXEC] = w->s[EMU_S_EXEC + 1] = 0;
    w->s[EMU_S_M0] = m0_poison;
    swap_files(w);
    w->attention = attention;
}

/* A poisoned source that controls a bit-moving row poisons its whole lane. */
static void poison_by_control(struct emu_wave *w, const struct emu_strict_op *so, uint64_t lanes)
{
    for (unsigned i = 0; lanes && i < so->nwrite; i++)
        for (unsigned r = so->write[i].first; r < so->write[i].first + so->write[i].n; r++)
            for (unsigned l = 0; l < w->lanes; l++)
                if (lanes >> l & 1)
                    emu_set_poison(w, r, l, ~0u);
}

/* Lanes whose control sources have poison; all lanes when a scalar one has. */
static uint64_t control_poison(struct emu_wave *w, const struct emu_strict_op *so)
{
    const struct emu_insn *insn = so->shadow.insn;
    uint64_t lanes = 0;

    for (unsigned i = 0; i < insn->nsrc && i < 4; i++) {
        const struct emu_operand *o = &insn->src[i];
        struct emu_range r = {so->shadow.s[i], o->dwords};

        if (!(so->control >> i & 1))
            continue;
        if (o->kind == EMU_OPK_VGPR || o->kind == EMU_OPK_AGPR)
            lanes |= poisoned_lanes(w, &r);
        else if (o->kind == EMU_OPK_SGPR && o->type == EMU_T_MASK)
            lanes |= scalar_lanes(w, o->reg);
        else if (o->kind == EMU_OPK_SGPR && w->sp[o->reg])
            lanes = emu_all_lanes(w);
    }
    return lanes & emu_exec(w);
}

static bool sources_dirty(const struct emu_wave *w, const struct emu_strict_op *so)
{
    for (unsigned i = 0; i < so->nread; i++)
        if (range_dirty(w, &so->read[i]))
            return true;
    for (unsigned i = 0; i < so->nsread; i++)
        if (so->sread[i].first < EMU_S_EXEC && scalars_poisoned(w, &so->sread[i]))
            return true;
    return false;
}

static void exec_must_be_clean(struct emu_wave *w)
{
    uint64_t lanes = scalar_lanes(w, EMU_S_EXEC);

    if (!(w->sp[EMU_S_EXEC] | w->sp[EMU_S_EXEC + 1]))
        return;
    w->sp[EMU_S_EXEC] = w->sp[EMU_S_EXEC + 1] = 0;
    emu_fault(w, lanes, "EXEC depends on a value that was never computed");
}

static void row_poison(struct emu_wave *w, const struct emu_strict_op *so)
{
    bool dirty = sources_dirty(w, so), into_exec = false;
    uint64_t control = 0;

    for (unsigned i = 0; i < so->nwrite; i++)
        dirty |= range_dirty(w, &so->write[i]);
    for (unsigned i = 0; i < so->nswrite; i++) {
        dirty |= scalars_poisoned(w, &so->swrite[i]);
        into_exec |= so->swrite[i].first == EMU_S_EXEC;
    }
    if (!dirty)
        return;
    if (w->attention & EMU_A_GPR_IDX && w->sp[EMU_S_M0])
        emu_fault(w, emu_exec(w), "the register index in m0 was never computed");
    if (so->control)
        control = control_poison(w, so);
    if (into_exec) {
        uint64_t before = emu_exec(w);
        struct emu_strict_op mask = *so;

        /* v_cmpx: its verdict goes to a spare register, since EXEC itself steers the shadow */
        mask.shadow.insn = &so->clean;
        for (unsigned i = 0; i < 2; i++)
            if (mask.shadow.d[i] == EMU_S_EXEC)
                mask.shadow.d[i] = EMU_S_TRASH;
        run_shadow(w, &mask);
        before &= scalar_lanes(w, EMU_S_TRASH);
        if (before)
            emu_fault(w, before, "EXEC depends on a value that was never computed");
        return;
    }
    run_shadow(w, so);
    for (unsigned i = 0; i < so->nwrite; i++)
        for (unsigned r = 0; r < so->write[i].n; r++)
            refresh(w, so->write[i].first + r);
    poison_by_control(w, so, control);
}

/* ---- scalar ops ---- */

static bool scc_or_sources(const struct emu_wave *w, const struct emu_strict_op *so,
                           const struct emu_op *op)
{
    bool any = op->effects & EMU_E_READ_SCC && w->scc_poison;

    for (unsigned i = 0; i < so->nsread; i++)
        any |= scalars_poisoned(w, &so->sread[i]);
    return any;
}

static void check_flow(struct emu_wave *w, const struct emu_strict_op *so, const struct emu_op *op)
{
    char buf[16];

    if (op->cls != EMU_C_BRANCH)
        return;
    if (op->effects & EMU_E_READ_SCC && w->scc_poison)
        emu_fault(w, 0, "branch on SCC, which was never computed");
    for (unsigned i = 0; i < so->nsread; i++) {
        unsigned first = so->sread[i].first;

        if (first == EMU_S_VCC && op->effects & EMU_E_READ_VCC &&
            !(w->sp[first] | (w->lanes == 64 ? w->sp[first + 1] : 0)))
            continue;
        if (scalars_poisoned(w, &so->sread[i]))
            emu_fault(w, first == EMU_S_VCC ? scalar_lanes(w, first) : 0,
                      "branch depends on %s, which was never computed", scalar_name(first, buf));
    }
}

static void step_scalar(struct emu_wave *w, const struct emu_strict_op *so, const struct emu_op *op,
                        emu_fn *run)
{
    uint32_t result[3][2] = {{0}};
    bool any, wide;
    uint8_t scc;

    if (op->effects & EMU_E_READ_SCC && w->scc_poison == EMU_SCC_LATE)
        emu_fault(w, 0,
                  "SCC is read while s_barrier_signal_isfirst will still write it: missing "
                  "s_wait_kmcnt 0 or s_barrier_wait");
    check_flow(w, so, op);
    any = scc_or_sources(w, so, op);
    wide = any && so->nswrite;
    scc = any;
    for (unsigned d = 0; wide && d < so->nswrite && d < 1; d++)
        for (unsigned i = 0; i < so->swrite[d].n && i < 2; i++)
            result[d][i] = emu_strict_scalar_poison(w, so, op, i, any);
    if (wide && so->rule != EMU_SR_ANY)
        scc = (result[0][0] | result[0][1]) != 0;
    if (op->effects & EMU_E_READ_EXEC && op->effects & EMU_E_WRITE_EXEC && any) {
        uint64_t p = emu_strict_saveexec_poison(w, so, op);

        if (p)
            emu_fault(w, p, "EXEC depends on a value that was never computed");
        memset(result, 0, sizeof result);
        scc = 0;
    }
    run(w, op);
    for (unsigned d = 0; d < so->nswrite && d < 3; d++)
        for (unsigned i = 0; i < so->swrite[d].n && i < 2; i++)
            w->sp[so->swrite[d].first + i] = result[d][i];
    if (op->effects & EMU_E_WRITE_SCC)
        w->scc_poison = so->scc_is_late ? EMU_SCC_LATE : scc;
    exec_must_be_clean(w);
}

/* ---- everything else ---- */

/* Cross-lane moves: the same handler on the poison, with lane numbers as values. */
static void step_cross(struct emu_wave *w, const struct emu_strict_op *so, const struct emu_op *op,
                       emu_fn *run)
{
    struct emu_strict_op shadow = {.shadow = *op};
    bool dirty = sources_dirty(w, so);
    uint32_t select[3] = {0};
    uint64_t steered = 0;
    char buf[16];

    for (unsigned i = 0; i < so->nwrite; i++)
        dirty |= range_dirty(w, &so->write[i]);
    if (so->is_permlane && so->nread > 1) { /* each lane says which it takes */
        shadow.control = 2;
        steered = poisoned_lanes(w, &so->read[1]);
    }
    for (unsigned i = 1; i < op->insn->nsrc && i < 3; i++) {
        const struct emu_operand *o = &op->insn->src[i];

        if (o->kind == EMU_OPK_SGPR && w->sp[o->reg])
            emu_fault(w, 0, "lane number in %s, which was never computed",
                      scalar_name(o->reg, buf));
        if (o->kind != EMU_OPK_VGPR && op->s[i] != EMU_NO_ROW)
            select[i] = w->s[op->s[i]];
    }
    for (unsigned i = 0; i < so->nswrite; i++)
        w->sp[so->swrite[i].first] = 0;
    if (dirty) {
        for (unsigned i = 1; i < op->insn->nsrc && i < 3; i++)
            if (op->insn->src[i].kind != EMU_OPK_VGPR && op->s[i] != EMU_NO_ROW) {
                w->sp[EMU_S_TRASH + i] = select[i];
                shadow.shadow.s[i] = (uint16_t)(EMU_S_TRASH + i);
            }
        run_shadow(w, &shadow);
        for (unsigned i = 0; i < so->nwrite; i++)
            for (unsigned r = 0; r < so->write[i].n; r++)
                refresh(w, so->write[i].first + r);
        poison_by_control(w, so, steered);
    }
    run(w, op);
}

static void step_own(struct emu_wave *w, const struct emu_strict_op *so, const struct emu_op *op,
                     emu_fn *run)
{
    const struct emu_range *d = &so->write[0];

    if (so->overlaps)
        emu_fault(w, emu_exec(w), "v%u is written while sources are still read", d->first);
    if (sources_dirty(w, so) || range_dirty(w, d)) {
        so->own_poison(w, op);
        for (unsigned r = 0; r < d->n; r++)
            refresh(w, d->first + r);
    }
    run(w, op);
}

static void step_memory(struct emu_wave *w, const struct emu_strict_op *so, const struct emu_op *op,
                        emu_fn *run)
{
    char buf[16];
    uint64_t lanes;

    for (unsigned i = 0; i < so->nread; i++) {
        bool address = i < so->address_reads;

        if (!address && !(op->insn->flags & EMU_F_ATOMIC))
            continue;
        lanes = poisoned_lanes(w, &so->read[i]);
        if (lanes && (address || op->insn->enc != EMU_DS))
            emu_fault(w, lanes, "%s in v%u was never computed",
                      address ? "address" : "operand of an atomic", so->read[i].first);
    }
    for (unsigned i = 0; i < so->nsread; i++)
        if (scalars_poisoned(w, &so->sread[i]) && (emu_exec(w) || op->insn->enc == EMU_SMEM) &&
            !(op->insn->enc == EMU_SMEM && op->insn->src[i].type == EMU_T_BLOB && i == 2))
            emu_fault(w, op->insn->enc == EMU_SMEM ? 0 : emu_exec(w),
                      "address depends on %s, which was never computed",
                      scalar_name(so->sread[i].first, buf));
    for (unsigned i = 0; i < so->nwrite; i++)
        for (unsigned r = 0; r < so->write[i].n; r++)
            if (!so->is_block || w->s[EMU_S_M0] >> r & 1)
                clean_row(w, so->write[i].first + r,
                          so->keeps_half == 1   ? 0xffff0000
                          : so->keeps_half == 2 ? 0x0000ffff
                                                : 0);
    for (unsigned i = 0; i < so->nswrite; i++)
        for (unsigned r = 0; r < so->swrite[i].n; r++)
            w->sp[so->swrite[i].first + r] = 0;
    emu_strict_issue(w, so, op);
    run(w, op);
    if (w->group->strict->rewrites)
        emu_strict_rewritten(w);
}

static void step_vopd(struct emu_wave *w, const struct emu_op *op, emu_fn *run)
{
    const struct emu_strict_op *half = emu_program_of(w)->strict->pairs + op->target;

    /* the third, a move, is there only when the halves exchange registers */
    for (unsigned i = 0; i < 3 && half[i].shadow.fn; i++)
        row_poison(w, &half[i]);
    run(w, op);
}

/* The same op on the registers that M0 says; a fault when M0 is not known. */
static void move_registers(struct emu_wave *w, struct emu_strict_op *so)
{
    if (w->sp[EMU_S_M0])
        emu_fault(w, emu_exec(w), "the register index in m0 was never computed");
    emu_relative_rows(w, so->relative, &so->shadow);
    if (so->relative & EMU_RELATIVE_SWAP)
        so->nread = 0; /* the registers written */
    for (unsigned i = 0; i < so->nwrite; i++)
        so->write[i].first = so->shadow.d[i];
    if (so->relative & EMU_RELATIVE_S)
        so->read[0].first = so->shadow.s[0];
}

void emu_strict_look(struct emu_wave *w, const struct emu_strict_op *so, const struct emu_op *op,
                     emu_fn *run)
{
    struct emu_strict_op moved;
    bool may_hazard = emu_program_of(w)->strict->may_hazard;

    if (so->relative) {
        moved = *so;
        if (so->kind == EMU_K_CROSS)
            moved.shadow = *op;
        move_registers(w, &moved);
        so = &moved;
    }
    emu_strict_check_pending(w, so);
    if (may_hazard)
        emu_strict_check_hazards(&w->strict->hazards, so, op);
    w->sp[EMU_S_SCC] = w->scc_poison ? ~0u : 0;
    switch (so->kind) {
    case EMU_K_SCALAR:
        step_scalar(w, so, op, run);
        break;
    case EMU_K_ROW:
        row_poison(w, so);
        run(w, op);
        break;
    case EMU_K_VOPD:
        step_vopd(w, op, run);
        break;
    case EMU_K_CROSS:
        if (so->own_poison)
            step_own(w, so, op, run);
        else
            step_cross(w, so, op, run);
        break;
    case EMU_K_MEMORY:
        step_memory(w, so, op, run);
        break;
    default:
        emu_strict_matrix_poison(w, so, op);
        run(w, op);
        break;
    }
    if (may_hazard)
        emu_strict_note_hazards(&w->strict->hazards, so, op);
}
