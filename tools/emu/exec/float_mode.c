/*
 * Operations under a MODE that is not the default (round to nearest even, denormals kept).
 */
#include <fenv.h>
#include <string.h>

#include "program.h"

static int host_rounding(unsigned field)
{
    switch (field & 3) {
#ifdef FE_UPWARD
    case 1:
        return FE_UPWARD;
#endif
#ifdef FE_DOWNWARD
    case 2:
        return FE_DOWNWARD;
#endif
#ifdef FE_TOWARDZERO
    case 3:
        return FE_TOWARDZERO;
#endif
    default:
        return FE_TONEAREST;
    }
}

static bool uses_double_field(uint8_t type)
{
    return type == EMU_T_F16 || type == EMU_T_PK_F16 || type == EMU_T_F64;
}

static uint32_t flush(uint32_t x, uint8_t type)
{
    if (type == EMU_T_F32)
        return x & 0x7f800000 ? x : x & 0x80000000;
    return x & 0x7c00 ? x : x & ~UINT32_C(0x7fff);
}

static uint32_t quiet(uint32_t x, uint8_t type)
{
    if (type == EMU_T_F32)
        return (x & 0x7fffffff) > 0x7f800000 ? x | 0x400000 : x;
    return (x & 0x7fff) > 0x7c00 ? x | 0x200 : x;
}

/* SALU float: flushed copies of the sources stand in for them. */
static void run_scalar(struct emu_wave *w, const struct emu_op *op)
{
    struct emu_op copy = *op;
    const struct emu_insn *insn = op->insn;

    for (unsigned i = 0; i < insn->nsrc && i < 3; i++) {
        uint8_t type = insn->src[i].type;
        unsigned field = type == EMU_T_F32 ? 4 : 6;

        uint32_t x = w->s[op->s[i]];

        if (type != EMU_T_F32 && type != EMU_T_F16)
            continue;
        if (!(w->mode >> field & 1))
            x = flush(x, type);
        if (!(w->mode >> 9 & 1)) /* IEEE off: signalling NaNs are as quiet ones */
            x = quiet(x, type);
        w->s[EMU_S_TRASH + 8 + i] = x;
        copy.s[i] = (uint16_t)(EMU_S_TRASH + 8 + i);
    }
    copy.fn(w, &copy);
    if (insn->ndst && (insn->dst[0].type == EMU_T_F32 || insn->dst[0].type == EMU_T_F16) &&
        !(w->mode >> (insn->dst[0].type == EMU_T_F32 ? 5 : 7) & 1))
        w->s[op->d[0]] = flush(w->s[op->d[0]], insn->dst[0].type);
}

static void run_vector(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_lanes *lanes = emu_program_of(w)->lanes;
    emu_fn *fn = op->fn;

    for (unsigned i = 0; i < EMU_SHAPES; i++)
        if (fn == lanes->plain[i])
            fn = lanes->modified[i];
    fn(w, op);
}

void emu_run_mode(struct emu_wave *w, const struct emu_op *op)
{
    uint8_t type = op->insn->ndst ? op->insn->dst[0].type : EMU_T_F32;

    if (op->fn == emu_vopd) {
        const struct emu_op *half = emu_program_of(w)->pairs + op->target;

        for (unsigned i = 0; i < 3 && half[i].fn; i++)
            emu_run_mode(w, &half[i]);
        return;
    }
    fesetround(host_rounding(w->mode >> (uses_double_field(type) ? 2 : 0)));
    if (op->cls == EMU_C_SALU)
        run_scalar(w, op);
    else
        run_vector(w, op);
    fesetround(FE_TONEAREST);
}
