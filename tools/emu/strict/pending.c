/*
 * Strict mode: a register may not be touched while a memory operation will still write it.
 *
 * vmcnt counts vector memory operations, in order (gfx11: loads and atomics that return; vscnt the
 * others). lgkmcnt counts LDS operations, in order, and scalar loads, out of order: with a scalar
 * load under way only lgkmcnt(0) proves anything. A flat operation counts in both. expcnt counts
 * lds_direct_load, in order. gfx12 has loadcnt, storecnt, dscnt and kmcnt in their place: LDS
 * operations and scalar loads apart, and of the latter only kmcnt(0) proves anything.
 */
#include <string.h>

#include "strict.h"

static bool is_gfx12(const struct emu_wave *w)
{
    return w->group->kernel->family >= EMU_GFX12;
}

static bool is_exp_pending(const struct emu_strict_wave *s, unsigned r)
{
    return s->exp_issued && r < 256 && s->vpend_exp[r] > s->exp_done;
}

static void check_row(struct emu_wave *w, unsigned r, bool write, uint8_t counters)
{
    struct emu_strict_wave *s = w->strict;
    bool vm = s->vpend_vm[r] > s->vm_done, lgkm = s->vpend_lgkm[r] > s->lgkm_done;
    unsigned acc = w->group->kernel->accum_offset;
    bool agpr = acc && r >= acc, exp = is_exp_pending(s, r);
    static const char *const names[2][3] = {
        {"s_waitcnt vmcnt", "s_waitcnt lgkmcnt", "s_waitcnt expcnt"},
        {"s_wait_loadcnt", "s_wait_dscnt", "s_wait_expcnt"}};

    if (!vm && !lgkm && !exp) {
        s->vpend[r >> 6] &= ~(UINT64_C(1) << (r & 63));
        return;
    }
    /* loads of one counter write in order, so a second one into the same register may follow */
    if (write &&
        ((counters == EMU_CNT_VM && !lgkm && !exp) || (counters == EMU_CNT_LDS && !vm && !exp) ||
         (counters == EMU_CNT_EXP && !vm && !lgkm)))
        return;
    emu_fault(w, emu_exec(w), "%c%u is %s while a load into it is under way: missing %s",
              agpr ? 'a' : 'v', agpr ? r - acc : r, write ? "written" : "read",
              names[is_gfx12(w)][vm     ? 0
                                 : lgkm ? 1
                                        : 2]);
}

static void check_rows(struct emu_wave *w, const struct emu_range *range, bool write,
                       uint8_t counters)
{
    if (!emu_range_bits(w->strict->vpend, range))
        return;
    for (unsigned r = range->first; r < (unsigned)range->first + range->n; r++)
        if (w->strict->vpend[r >> 6] >> (r & 63) & 1)
            check_row(w, r, write, counters);
}

static void check_scalars(struct emu_wave *w, const struct emu_range *range, bool write)
{
    struct emu_strict_wave *s = w->strict;

    for (unsigned r = range->first; r < (unsigned)range->first + range->n; r++) {
        if (!(s->spending[r >> 6] >> (r & 63) & 1))
            continue;
        if (s->spend[r] > (is_gfx12(w) ? s->km_done : s->lgkm_done))
            emu_fault(w, 0, "s%u is %s while a scalar load into it is under way: missing %s", r,
                      write ? "written" : "read",
                      is_gfx12(w) ? "s_wait_kmcnt 0" : "s_waitcnt lgkmcnt(0)");
        s->spending[r >> 6] &= ~(UINT64_C(1) << (r & 63));
    }
}

void emu_strict_check_pending(struct emu_wave *w, const struct emu_strict_op *so)
{
    const struct emu_strict_wave *s = w->strict;

    if (s->vm_issued != s->vm_done || s->lgkm_issued != s->lgkm_done ||
        s->exp_issued != s->exp_done || s->km_issued != s->km_done) {
        for (unsigned i = 0; i < so->nread; i++)
            check_rows(w, &so->read[i], false, 0);
        for (unsigned i = 0; i < so->nwrite; i++)
            check_rows(w, &so->write[i], true, so->counters);
        for (unsigned i = 0; i < so->nsread; i++)
            check_scalars(w, &so->sread[i], false);
        for (unsigned i = 0; i < so->nswrite; i++)
            check_scalars(w, &so->swrite[i], true);
    }
}

/* An operation is done: what it wrote may be used, unless another one will write it, too. */
static void finish(struct emu_wave *w, uint32_t number_of_op)
{
    const struct emu_strict_program *p = emu_program_of(w)->strict;
    const struct emu_strict_op *so = &p->ops[number_of_op];
    struct emu_strict_wave *s = w->strict;

    for (unsigned i = 0; i < so->nwrite; i++)
        for (unsigned r = so->write[i].first; r < (unsigned)so->write[i].first + so->write[i].n;
             r++)
            if (s->vpend_vm[r] <= s->vm_done && s->vpend_lgkm[r] <= s->lgkm_done &&
                !is_exp_pending(s, r))
                s->vpend[r >> 6] &= ~(UINT64_C(1) << (r & 63));
    for (unsigned i = 0; i < so->nswrite; i++)
        for (unsigned r = so->swrite[i].first; r < (unsigned)so->swrite[i].first + so->swrite[i].n;
             r++)
            if (s->spend[r] <= (is_gfx12(w) ? s->km_done : s->lgkm_done))
                s->spending[r >> 6] &= ~(UINT64_C(1) << (r & 63));
    if (so->nswrite)
        emu_strict_refresh(w, &p->gates[number_of_op]);
}

/* All but the last n operations are done. */
static void finish_vm(struct emu_wave *w, unsigned n)
{
    struct emu_strict_wave *s = w->strict;
    uint32_t from = s->vm_done;

    if (s->vm_issued - s->vm_done <= n)
        return;
    s->vm_done = s->vm_issued - n;
    while (from++ != s->vm_done)
        finish(w, s->vm_op[from % 64]);
}

static void finish_lgkm(struct emu_wave *w, unsigned n)
{
    struct emu_strict_wave *s = w->strict;
    uint32_t from = s->lgkm_done;

    if (s->lgkm_issued - s->lgkm_done <= n)
        return;
    s->lgkm_done = s->lgkm_issued - n;
    if (s->lgkm_issued - from > 64) /* what is forgotten is found out when it is touched */
        from = s->lgkm_issued - 64;
    while (from++ < s->lgkm_done)
        finish(w, s->lgkm_op[from % 64]);
}

static void finish_exp(struct emu_wave *w, unsigned n)
{
    struct emu_strict_wave *s = w->strict;
    uint32_t from = s->exp_done;

    if (s->exp_issued - s->exp_done <= n)
        return;
    s->exp_done = s->exp_issued - n;
    while (from++ != s->exp_done)
        finish(w, s->exp_op[from % 8]);
}

/* kmcnt counts s_barrier_signal_isfirst, too, and so does the wait at its barrier. */
void emu_strict_scc_arrives(struct emu_wave *w)
{
    if (w->scc_poison == EMU_SCC_LATE)
        w->scc_poison = 0;
}

/* Scalar loads come in any order: all or nothing. */
static void finish_km(struct emu_wave *w)
{
    struct emu_strict_wave *s = w->strict;
    uint32_t from = s->km_done;

    s->km_done = s->km_issued;
    emu_strict_scc_arrives(w);
    if (s->km_issued - from > 64) /* what is forgotten is found out when it is touched */
        from = s->km_issued - 64;
    while (from++ < s->km_done)
        finish(w, s->km_op[from % 64]);
}

static void finish_vs(struct emu_strict_wave *s, unsigned n)
{
    if (s->vs_issued - s->vs_done > n)
        s->vs_done = s->vs_issued - n;
}

static void pend_rows(struct emu_wave *w, const struct emu_strict_op *so, uint32_t *numbers,
                      uint32_t number)
{
    for (unsigned i = 0; i < so->nwrite; i++)
        for (unsigned r = so->write[i].first; r < (unsigned)so->write[i].first + so->write[i].n;
             r++)
            numbers[r] = number;
    for (unsigned i = 0; i < so->nwrite; i++)
        emu_set_range_bits(w->strict->vpend, &so->write[i]);
}

static void pend_scalars(struct emu_strict_wave *s, const struct emu_strict_op *so, uint32_t number)
{
    for (unsigned i = 0; i < so->nswrite; i++)
        for (unsigned r = so->swrite[i].first; r < (unsigned)so->swrite[i].first + so->swrite[i].n;
             r++) {
            s->spend[r] = number;
            s->spending[r >> 6] |= UINT64_C(1) << (r & 63);
        }
}

/* The hardware's counters hold 63 at most, expcnt 7; an operation beyond waits for the oldest. */
enum { MOST_UNDER_WAY = 63, MOST_OF_EXP = 7 };

void emu_strict_issue(struct emu_wave *w, const struct emu_strict_op *so, const struct emu_op *op)
{
    const struct emu_strict_program *p = emu_program_of(w)->strict;
    struct emu_strict_wave *s = w->strict;
    uint32_t number = (uint32_t)(op - emu_program_of(w)->ops);

    if (so->counters & EMU_CNT_VM) {
        finish_vm(w, MOST_UNDER_WAY - 1);
        s->vm_op[++s->vm_issued % 64] = number;
        pend_rows(w, so, s->vpend_vm, s->vm_issued);
    }
    if (so->counters & EMU_CNT_VS) {
        finish_vs(s, MOST_UNDER_WAY - 1);
        s->vs_issued++;
    }
    if (so->counters & EMU_CNT_LDS) {
        s->lgkm_op[++s->lgkm_issued % 64] = number;
        pend_rows(w, so, s->vpend_lgkm, s->lgkm_issued);
    }
    if (so->counters & EMU_CNT_EXP) {
        finish_exp(w, MOST_OF_EXP - 1);
        s->exp_op[++s->exp_issued % 8] = number;
        pend_rows(w, so, s->vpend_exp, s->exp_issued);
    }
    if (so->counters & EMU_CNT_SMEM) {
        s->lgkm_op[++s->lgkm_issued % 64] = number;
        s->last_smem = s->lgkm_issued;
        pend_scalars(s, so, s->last_smem);
    }
    if (so->counters & EMU_CNT_KM) {
        s->km_op[++s->km_issued % 64] = number;
        pend_scalars(s, so, s->km_issued);
    }
    if (so->nswrite)
        emu_strict_refresh(w, &p->gates[number]);
}

static void wait_lgkm(struct emu_wave *w, unsigned n)
{
    if (n == 0 || w->strict->last_smem <= w->strict->lgkm_done)
        finish_lgkm(w, n);
}

void emu_strict_wait(struct emu_wave *w, unsigned waits, const struct emu_op *op)
{
    unsigned imm = (uint16_t)op->imm, lgkm9 = imm >> 8 & 15, lgkm11 = imm >> 4 & 63;

    switch (waits) {
    case EMU_W_GFX9: /* the field's largest value means no wait */
        finish_vm(w, (imm & 15) | (imm >> 14 & 3) << 4);
        if (lgkm9 != 15)
            wait_lgkm(w, lgkm9);
        break;
    case EMU_W_GFX11:
        finish_vm(w, imm >> 10 & 63);
        if (lgkm11 != 63)
            wait_lgkm(w, lgkm11);
        if (lgkm11 == 0) /* gfx12 has the instruction still, and counts scalar loads apart */
            finish_km(w);
        if ((imm & 7) != MOST_OF_EXP)
            finish_exp(w, imm & 7);
        break;
    case EMU_W_VM:
        finish_vm(w, imm & 63);
        break;
    case EMU_W_VS:
        finish_vs(w->strict, imm & 63);
        break;
    case EMU_W_LGKM:
        wait_lgkm(w, imm & 63);
        break;
    case EMU_W_EXP:
        finish_exp(w, imm & 7);
        break;
    case EMU_W_DS:
        finish_lgkm(w, imm & 63);
        break;
    case EMU_W_KM:
        if ((imm & 31) == 0)
            finish_km(w);
        break;
    case EMU_W_LOAD_DS:
    case EMU_W_STORE_DS:
        finish_lgkm(w, imm & 63);
        if (waits == EMU_W_LOAD_DS)
            finish_vm(w, imm >> 8 & 63);
        else
            finish_vs(w->strict, imm >> 8 & 63);
        break;
    case EMU_W_ALL:
        finish_km(w);
        finish_exp(w, 0);
        finish_vm(w, 0);
        finish_vs(w->strict, 0);
        finish_lgkm(w, 0);
        break;
    default:
        break;
    }
}
