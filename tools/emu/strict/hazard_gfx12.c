/*
 * Strict mode: scalar registers on gfx12. Once a VALU instruction has read one of a pair, results
 * of SALU and VALU in the pair must be waited for (s_wait_alu) before they are read:
 *   - written by SALU, read by SALU or VALU: sa_sdst(0);
 *   - written by VALU, read by VALU: va_sdst(0), VCC: va_vcc(0). SALU waits for them by itself,
 *     for VCC when it reads VCC, else for all when it reads any.
 * Scalar loads and buffer instructions wait for everything. M0, EXEC and SCC are not concerned. The
 * rules are those by which LLVM places the waits from version 20 on (AMDGPUWaitSGPRHazards.cpp);
 * it takes no account of statements in assembly. They reach as far back as one likes, so kernels
 * are not looked through for them, but counted.
 */
#include "strict.h"

enum { OF_SALU = 1, OF_VALU = 2 };

static bool is_salu(const struct emu_insn *insn)
{
    return insn->enc <= EMU_SOPP;
}

static bool is_valu(const struct emu_insn *insn)
{
    return insn->enc >= EMU_VOP1 && insn->enc <= EMU_VOPD;
}

static bool concerns(unsigned r)
{
    return r < EMU_S_M0;
}

static bool is_tracked(const struct emu_hazards12 *x, unsigned r)
{
    return x->tracked >> r / 2 & 1;
}

/* Too early a read; nobody is to blame while a program is looked through. */
#define BLAME(h, ...) ((h)->wave ? emu_strict_blame((h)->wave, __VA_ARGS__) : (void)0)

static void check_vcc(struct emu_hazards *h, bool by_salu)
{
    struct emu_hazards12 *x = &h->gfx12;

    if (by_salu && x->vcc & OF_VALU)
        x->vcc = 0;
    if (x->vcc)
        BLAME(h, "vcc, written by %s, is read: missing s_wait_alu %s",
              x->vcc & OF_SALU ? "SALU" : "VALU", x->vcc & OF_SALU ? "sa_sdst(0)" : "va_vcc(0)");
}

static void check_register(struct emu_hazards *h, unsigned r, bool by_salu)
{
    const struct emu_hazards12 *x = &h->gfx12;
    const uint64_t bit = UINT64_C(1) << r % 64;

    if (x->salu[r / 64] & bit)
        BLAME(h, "s%u, written by SALU, is read: missing s_wait_alu sa_sdst(0)", r);
    else if (!by_salu && x->valu[r / 64] & bit)
        BLAME(h, "s%u, written by VALU, is read: missing s_wait_alu va_sdst(0)", r);
}

static void check_range(struct emu_hazards *h, const struct emu_range *range, bool by_salu)
{
    struct emu_hazards12 *x = &h->gfx12;
    bool is_vcc = range->first / 2 == EMU_S_VCC / 2;

    if (!concerns(range->first) || !range->n)
        return;
    if (by_salu && !is_vcc)
        x->valu[0] = x->valu[1] = 0;
    if (!is_tracked(x, range->first)) {
        if (!by_salu)
            x->tracked |= UINT64_C(1) << range->first / 2;
        return;
    }
    if (is_vcc)
        check_vcc(h, by_salu);
    for (unsigned r = range->first; !is_vcc && r < (unsigned)range->first + range->n; r++)
        check_register(h, r, by_salu);
}

void emu_strict_check_hazards12(struct emu_hazards *h, const struct emu_strict_op *so,
                                const struct emu_op *op)
{
    const struct emu_range vcc = {EMU_S_VCC, 1};
    bool by_salu = is_salu(op->insn);

    if (!by_salu && !is_valu(op->insn))
        return;
    for (unsigned i = 0; i < so->nsread; i++)
        check_range(h, &so->sread[i], by_salu);
    if (so->reads_vccz)
        check_range(h, &vcc, by_salu);
}

/* Fields of s_wait_alu. */
static void wait(struct emu_hazards12 *x, unsigned simm)
{
    if (!(simm & 1)) {
        x->salu[0] = x->salu[1] = 0;
        x->vcc &= (uint8_t)~OF_SALU;
    }
    if (!(simm >> 1 & 1))
        x->vcc &= (uint8_t)~OF_VALU;
    if (!(simm >> 9 & 7))
        x->valu[0] = x->valu[1] = 0;
}

void emu_strict_note_hazards12(struct emu_hazards *h, const struct emu_strict_op *so,
                               const struct emu_op *op)
{
    struct emu_hazards12 *x = &h->gfx12;
    const struct emu_insn *insn = op->insn;

    if (insn->enc == EMU_SMEM || (insn->enc >= EMU_MUBUF && insn->enc <= EMU_MIMG)) {
        x->salu[0] = x->salu[1] = x->valu[0] = x->valu[1] = 0;
        x->vcc = 0;
    } else if (so->is_depctr) {
        wait(x, insn->simm16);
    } else if (is_salu(insn) || is_valu(insn)) {
        uint64_t *written = is_salu(insn) ? x->salu : x->valu;

        for (unsigned i = 0; i < so->nswrite; i++) {
            const struct emu_range *range = &so->swrite[i];

            if (!concerns(range->first) || !is_tracked(x, range->first))
                continue;
            if (range->first / 2 == EMU_S_VCC / 2)
                x->vcc = is_salu(insn) ? OF_SALU : OF_VALU;
            for (unsigned r = range->first;
                 range->first / 2 != EMU_S_VCC / 2 && r < (unsigned)range->first + range->n; r++)
                written[r / 64] |= UINT64_C(1) << r % 64;
        }
    }
}
