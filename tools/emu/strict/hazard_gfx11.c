/*
 * Strict mode: what gfx11 does not resolve by itself. The rules, and the distances at which they
 * end, are those by which LLVM's hazard recognizer places v_nop and s_waitcnt_depctr:
 *   - the result of a WMMA is A, B or the index of the next one: a VALU instruction between them;
 *   - v_cmpx before v_permlane: a VALU instruction that is not v_nop between them;
 *   - gfx1100-1103: a transcendental result read within five VALU instructions and one
 *     transcendental one: s_waitcnt_depctr va_vdst(0) before the reader;
 *   - wave64: an instruction reads two registers, one written shortly before SALU wrote EXEC, one
 *     shortly after: the same wait;
 *   - wave64: SALU overwrites a register that VALU has read as a mask, and reads it: sa_sdst(0)
 *     after the write.
 * Memory instructions other than scalar ones wait for VALU results like va_vdst(0), and so do those
 * that touch no memory, such as buffer_gl0_inv, but not lds_direct_load: LLVM goes by the encoding.
 */
#include "strict.h"

enum { TRANS_VALUS = 5, TRANS_TRANS = 1, EXEC_VALUS = 2, AFTER_EXEC_VALUS = 4 };

static bool is_valu(const struct emu_strict_op *so)
{
    return so->kind == EMU_K_ROW || so->kind == EMU_K_CROSS || so->kind == EMU_K_VOPD ||
           so->kind == EMU_K_MATRIX;
}

static bool overlap(const struct emu_range *a, const struct emu_range *b)
{
    return a->first < b->first + b->n && b->first < a->first + a->n;
}

/* Written since all VALU results were last waited for. */
static bool fresh(const struct emu_hazards *h, const struct emu_written *x)
{
    return x->valu > h->gfx11.drained;
}

__attribute__((format(printf, 2, 0))) static void blame(struct emu_hazards *h, const char *what,
                                                        unsigned reg)
{
    h->found = true;
    if (h->wave)
        emu_strict_blame(h->wave, what, reg);
}

static void check_trans(struct emu_hazards *h, const struct emu_range *r)
{
    for (unsigned i = r->first; i < (unsigned)r->first + r->n; i++) {
        const struct emu_written *x = &h->row[i];

        if (x->trans && fresh(h, x) && h->gfx11.valus - x->valu <= TRANS_VALUS &&
            h->gfx11.trans - x->trans <= TRANS_TRANS)
            blame(h, "transcendental result in v%u used: missing s_waitcnt_depctr va_vdst(0)", i);
    }
}

static void check_wmma(struct emu_hazards *h, const struct emu_strict_op *so,
                       const struct emu_op *op)
{
    for (unsigned i = 0; i < so->nread; i++)
        if ((so->read[i].first == op->s[0] || so->read[i].first == op->s[1]) &&
            overlap(&so->read[i], &h->gfx11.wmma))
            blame(h, "result of the WMMA before in v%u read as A or B: missing v_nop",
                  so->read[i].first);
        else if (so->is_sparse && so->read[i].first == op->s[2] &&
                 overlap(&so->read[i], &h->gfx11.wmma))
            blame(h, "result of the WMMA before in v%u read as index: missing v_nop",
                  so->read[i].first);
}

/* ---- wave64 ---- */

/* The first VALU instruction after EXEC was written, the last time before `valu`; 0: never. */
static uint32_t exec_before(const struct emu_hazards11 *x, uint32_t valu)
{
    for (unsigned i = 1; i <= 4 && i <= x->exec_writes; i++)
        if (x->exec_at[(x->exec_writes - i) % 4] < valu)
            return x->exec_at[(x->exec_writes - i) % 4] + 1;
    return 0;
}

/* The last VALU instruction that wrote any of the registers; 0: waited for since. */
static uint32_t last_write(const struct emu_hazards *h, const struct emu_range *r)
{
    uint32_t last = 0;

    for (unsigned i = r->first; i < (unsigned)r->first + r->n; i++)
        if (fresh(h, &h->row[i]) && h->row[i].valu > last)
            last = h->row[i].valu;
    return last;
}

static void check_forwarding(struct emu_hazards *h, const struct emu_strict_op *so)
{
    uint32_t after = 0, before = 0, exec;

    for (unsigned i = 0; i < so->nread; i++) {
        uint32_t last = last_write(h, &so->read[i]);

        after = last > after ? last : after;
    }
    exec = after ? exec_before(&h->gfx11, after) : 0;
    if (!exec || h->gfx11.valus - after > AFTER_EXEC_VALUS)
        return;
    for (unsigned i = 0; i < so->nread; i++) {
        uint32_t last = last_write(h, &so->read[i]);

        before = last < exec && last > before ? last : before;
    }
    if (before && (exec - 1 - before) + (after - exec) <= EXEC_VALUS)
        blame(h,
              "registers written before and after a write of EXEC are read, the first v%u: missing "
              "s_waitcnt_depctr va_vdst(0)",
              so->read[0].first);
}

static uint64_t scalar_bits(const struct emu_range *r, unsigned n, unsigned half)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < n; i++)
        for (unsigned s = r[i].first; s < (unsigned)r[i].first + r[i].n; s++)
            if (s / 64 == half && s < EMU_S_M0)
                bits |= UINT64_C(1) << s % 64;
    return bits;
}

static void check_masks(struct emu_hazards *h, const struct emu_strict_op *so)
{
    for (unsigned half = 0; half < 2; half++) {
        uint64_t bits = scalar_bits(so->sread, so->nsread, half) & h->gfx11.stale[half];

        if (bits)
            blame(h,
                  "s%u was a mask of VALU, then written by SALU: missing s_waitcnt_depctr "
                  "sa_sdst(0)",
                  64 * half + (unsigned)__builtin_ctzll(bits));
    }
}

/* What VALU reads as masks takes the place of what it has read before. */
static void note_masks(struct emu_hazards *h, const struct emu_strict_op *so,
                       const struct emu_op *op)
{
    uint64_t masks[2] = {0, 0}, others[2];

    for (unsigned i = 0; i < op->insn->nsrc; i++)
        if (op->insn->src[i].kind == EMU_OPK_SGPR && op->insn->src[i].type == EMU_T_MASK &&
            op->insn->src[i].reg < EMU_S_M0) {
            const struct emu_range r = {op->insn->src[i].reg, 2};

            masks[0] |= scalar_bits(&r, 1, 0);
            masks[1] |= scalar_bits(&r, 1, 1);
        }
    for (unsigned half = 0; half < 2; half++)
        others[half] = scalar_bits(so->sread, so->nsread, half) & ~masks[half];
    if (others[0] | others[1] | so->reads_literal | masks[0] | masks[1])
        for (unsigned half = 0; half < 2; half++)
            h->gfx11.masks[half] = masks[half];
}

/* ---- what an op leaves behind ---- */

void emu_strict_check_hazards11(struct emu_hazards *h, const struct emu_strict_op *so,
                                const struct emu_op *op)
{
    bool wave64 = op->insn->wave == 64;

    if (wave64 && so->kind == EMU_K_SCALAR)
        check_masks(h, so);
    if (!is_valu(so))
        return;
    if (h->family == EMU_GFX11 && h->gfx11.trans)
        for (unsigned i = 0; i < so->nread; i++)
            check_trans(h, &so->read[i]);
    if (so->kind == EMU_K_MATRIX && h->gfx11.wmma.n)
        check_wmma(h, so, op);
    if (so->is_permlane && h->gfx11.cmpx)
        blame(h, "EXEC written by v_cmpx before v_permlane of v%u: missing VALU instruction",
              so->nread ? so->read[0].first : 0);
    if (wave64)
        check_forwarding(h, so);
}

static bool waits_for_valu(const struct emu_strict_op *so, const struct emu_insn *insn)
{
    return (insn->enc >= EMU_DS && insn->enc <= EMU_EXP) ||
           (so->is_depctr && !(insn->simm16 >> 12 & 15));
}

void emu_strict_pass11(struct emu_hazards *h, const struct emu_strict_op *so,
                       const struct emu_op *op)
{
    if (is_valu(so)) {
        h->gfx11.valus++;
        h->gfx11.trans += so->is_trans;
        h->gfx11.wmma.n = 0;
        h->gfx11.cmpx &= so->is_empty;
    } else if (waits_for_valu(so, op->insn)) {
        h->gfx11.drained = h->gfx11.valus;
    }
}

void emu_strict_note_hazards11(struct emu_hazards *h, const struct emu_strict_op *so,
                               const struct emu_op *op)
{
    struct emu_hazards11 *x = &h->gfx11;

    emu_strict_pass11(h, so, op);
    if (is_valu(so)) {
        for (unsigned i = 0; i < so->nwrite; i++)
            for (unsigned r = 0; r < so->write[i].n; r++) {
                h->row[so->write[i].first + r].valu = x->valus;
                h->row[so->write[i].first + r].trans = so->is_trans ? x->trans : 0;
            }
        if (so->kind == EMU_K_MATRIX && so->nwrite)
            x->wmma = so->write[0];
        for (unsigned i = 0; i < so->nswrite; i++)
            x->cmpx |= so->swrite[i].first == EMU_S_EXEC;
        note_masks(h, so, op);
        return;
    }
    if (so->is_depctr && !(op->insn->simm16 & 1))
        x->masks[0] = x->masks[1] = x->stale[0] = x->stale[1] = 0;
    for (unsigned i = 0; so->kind == EMU_K_SCALAR && i < so->nswrite; i++) {
        if (so->swrite[i].first == EMU_S_EXEC)
            x->exec_at[x->exec_writes++ % 4] = x->valus;
        for (unsigned half = 0; half < 2; half++)
            x->stale[half] |= scalar_bits(&so->swrite[i], 1, half) & x->masks[half];
    }
}
