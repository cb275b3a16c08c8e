/*
 * DPP controls and VOPD: what is resolved once when a kernel is prepared.
 */
#include <string.h>

#include "program.h"

enum dpp_ctrl {
    DPP_QUAD_PERM = 0x000, /* to 0x0ff */
    DPP_ROW_SHL = 0x100,   /* + 1..15 */
    DPP_ROW_SHR = 0x110,
    DPP_ROW_ROR = 0x120,
    DPP_WAVE_SHL = 0x130,
    DPP_WAVE_ROL = 0x134,
    DPP_WAVE_SHR = 0x138,
    DPP_WAVE_ROR = 0x13c,
    DPP_ROW_MIRROR = 0x140,
    DPP_ROW_HALF_MIRROR = 0x141,
    DPP_ROW_BCAST15 = 0x142,
    DPP_ROW_BCAST31 = 0x143,
    DPP_ROW_SHARE = 0x150, /* gfx90a: row_newbcast */
    DPP_ROW_XMASK = 0x160
};

/* Source lane of lane l, or -1 when there is none. */
static int dpp_source(unsigned ctrl, unsigned l, unsigned lanes)
{
    unsigned row = l & ~15u, in = l & 15, n = ctrl & 15;

    if (ctrl <= 0xff)
        return (int)((l & ~3u) | (ctrl >> 2 * (l & 3) & 3));
    switch (ctrl & ~15u) {
    case DPP_ROW_SHL:
        return in + n < 16 ? (int)(l + n) : -1;
    case DPP_ROW_SHR:
        return in >= n ? (int)(l - n) : -1;
    case DPP_ROW_ROR:
        return (int)(row | ((in - n) & 15));
    case DPP_ROW_SHARE:
        return (int)(row | n);
    case DPP_ROW_XMASK:
        return (int)(row | (in ^ n));
    default:
        break;
    }
    switch (ctrl) {
    case DPP_WAVE_SHL:
        return l + 1 < lanes ? (int)l + 1 : -1;
    case DPP_WAVE_ROL:
        return (int)((l + 1) % lanes);
    case DPP_WAVE_SHR:
        return (int)l - 1;
    case DPP_WAVE_ROR:
        return (int)((l + lanes - 1) % lanes);
    case DPP_ROW_MIRROR:
        return (int)(row | (15 - in));
    case DPP_ROW_HALF_MIRROR:
        return (int)((l & ~7u) | (7 - (l & 7)));
    case DPP_ROW_BCAST15:
        return row ? (int)row - 1 : -1;
    case DPP_ROW_BCAST31:
        return l >= 32 ? 31 : -1;
    default:
        return -1;
    }
}

void emu_resolve_dpp(struct emu_permute *p, const struct emu_insn *insn)
{
    bool wide = insn->ext == EMU_EXT_DPP16;

    memset(p, 0, sizeof *p);
    p->inactive = insn->fi;
    p->zero = wide ? insn->bound_ctrl : true;
    for (unsigned l = 0; l < insn->wave; l++) {
        int from = wide ? dpp_source(insn->dpp_ctrl, l, insn->wave)
                        : (int)((l & ~7u) | (insn->dpp8 >> 3 * (l & 7) & 7));

        if (from >= 0) {
            p->from[l] = (uint8_t)from;
            p->valid |= UINT64_C(1) << l;
        }
        if (!wide || (insn->row_mask >> (l / 16) & 1 && insn->bank_mask >> (l / 4 % 4) & 1))
            p->rows |= UINT64_C(1) << l;
    }
}

/* Both halves read their sources before either writes; the order was chosen when the kernel was
 * prepared. */
void emu_vopd(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_op *half = emu_program_of(w)->pairs + op->target;

    half[0].fn(w, &half[0]);
    half[1].fn(w, &half[1]);
    if (half[2].fn)
        half[2].fn(w, &half[2]);
}
