/* Poison of v_bitop3: a bit of the result has it if bits of the sources that have it decide it. */
#include "strict.h"

void emu_strict_bitop3_poison(struct emu_wave *w, const struct emu_op *op)
{
    const struct emu_insn *insn = op->insn;
    uint32_t *to = w->vp + (size_t)op->d[0] * w->lanes;
    const bool half = insn->dst[0].type == EMU_T_B16;
    const unsigned up = insn->op_sel & 8 ? 16 : 0;
    uint64_t exec = emu_exec(w);

    for (unsigned l = 0; l < w->lanes; l++) {
        uint32_t value[3], poison[3], can[2] = {0, 0};

        if (!(exec >> l & 1))
            continue;
        for (unsigned i = 0; i < 3; i++) {
            const uint8_t kind = insn->src[i].kind;
            const bool row = kind == EMU_OPK_VGPR || kind == EMU_OPK_AGPR;
            const size_t at = row ? (size_t)op->s[i] * w->lanes + l : op->s[i];

            value[i] = row ? w->v[at] : w->s[at];
            poison[i] = row ? w->vp[at] : kind == EMU_OPK_SGPR ? w->sp[at] : 0;
            if (insn->src[i].flags & EMU_OPF_HI) {
                value[i] >>= 16;
                poison[i] >>= 16;
            }
        }
        /* Which results there are where poisoned bits may be 0 or 1. */
        for (unsigned k = 0; k < 8; k++) {
            uint32_t may = ~0u;

            for (unsigned i = 0; i < 3; i++)
                may &= (k >> (2 - i) & 1 ? value[i] : ~value[i]) | poison[i];
            can[insn->bitop3 >> k & 1] |= may;
        }
        if (half)
            to[l] = (to[l] & ~(0xffffu << up)) | (can[0] & can[1] & 0xffff) << up;
        else
            to[l] = can[0] & can[1];
    }
}
