/* Where operands lie in a wave: rows, scalar indices, constants, splats. */
#include "operands.h"

#include <string.h>

bool emu_is_vector(const struct emu_operand *o)
{
    return o->kind == EMU_OPK_VGPR || o->kind == EMU_OPK_AGPR;
}

/*
 * Row of a vector register; false when the kernel does not have it. On gfx90a and gfx942 the VGPRs
 * do not end where the AGPRs begin: both name rows of one allocation, v(ACCUM_OFFSET + n) that of
 * an. AITER's assembly of MI300X lives on it, with 256 rows, AGPRs from 160 and names up to v235.
 */
bool emu_row_of(const struct emu_kernel *k, const struct emu_operand *o, uint16_t *row)
{
    const bool agpr = o->kind == EMU_OPK_AGPR;
    const unsigned first = o->reg + (agpr ? k->accum_offset : 0);

    *row = (uint16_t)first;
    return first + o->dwords <= k->vgprs && (!agpr || k->accum_offset);
}

static uint64_t special_value(unsigned special)
{
    switch (special) {
    case EMU_SP_SHARED_BASE:
        return EMU_SHARED_APERTURE;
    case EMU_SP_SHARED_LIMIT:
        return EMU_SHARED_APERTURE | 0xffffffff;
    case EMU_SP_PRIVATE_BASE:
        return EMU_PRIVATE_APERTURE;
    case EMU_SP_PRIVATE_LIMIT:
        return EMU_PRIVATE_APERTURE | 0xffffffff;
    default:
        return 0;
    }
}

unsigned emu_dynamic_special(const struct emu_operand *o)
{
    if (o->kind != EMU_OPK_SPECIAL)
        return 0;
    return o->reg == EMU_SP_SCC     ? EMU_S_SCC
           : o->reg == EMU_SP_VCCZ  ? EMU_S_VCCZ
           : o->reg == EMU_SP_EXECZ ? EMU_S_EXECZ
                                    : 0;
}

/* The two dwords of a constant; an aperture read as 32 bits is its high dword. */
static void constant_words(const struct emu_operand *o, uint32_t x[2])
{
    uint64_t v = o->kind == EMU_OPK_SPECIAL ? special_value(o->reg) : o->value;

    if (o->kind == EMU_OPK_SPECIAL && o->dwords == 1)
        v >>= 32;
    x[0] = (uint32_t)v;
    x[1] = o->type == EMU_T_PK_F32 || o->type == EMU_T_PK_B32 ? x[0] : (uint32_t)(v >> 32);
}

uint16_t emu_scalar_index(struct emu_builder *b, const struct emu_operand *o, bool destination)
{
    uint32_t x[2];

    switch (o->kind) {
    case EMU_OPK_SGPR:
        return o->reg == EMU_S_NULL && destination ? EMU_S_TRASH : o->reg;
    case EMU_OPK_CONST:
    case EMU_OPK_LITERAL:
    case EMU_OPK_SPECIAL:
        if (emu_dynamic_special(o))
            return (uint16_t)emu_dynamic_special(o);
        constant_words(o, x);
        return (uint16_t)(EMU_S_CONST + emu_add_sconst(b, x, 2));
    default:
        return EMU_NO_ROW;
    }
}

uint16_t emu_constant_row(struct emu_builder *b, const struct emu_operand *o)
{
    uint32_t x[2];

    constant_words(o, x);
    return (uint16_t)(b->program->row_const + emu_add_vconst(b, x, o->dwords >= 2 ? 2 : 1));
}

/* Gives a scalar source of a vector instruction its splat rows. */
bool emu_splat_source(struct emu_builder *b, struct emu_op *op, unsigned i)
{
    const struct emu_operand *o = &op->insn->src[i];
    uint16_t from = emu_scalar_index(b, o, false);
    unsigned n = o->type == EMU_T_MASK ? 1 : o->dwords;

    if (op->nsplat + n > EMU_SPLATS)
        return false;
    op->s[i] = (uint16_t)(b->program->row_splat + op->nsplat);
    for (unsigned j = 0; j < n; j++)
        op->sgpr[op->nsplat++] =
            (uint16_t)(o->type == EMU_T_MASK ? from | EMU_SPLAT_MASK : from + j);
    return true;
}
