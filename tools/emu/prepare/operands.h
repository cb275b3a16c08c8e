/* Where the operands of an instruction lie in a wave: rows, scalar indices, constants, splats. */
#ifndef EMU_OPERANDS_H
#define EMU_OPERANDS_H

#include "program.h"

bool emu_is_vector(const struct emu_operand *o);

/* Row of a vector register; false when the kernel does not have it. */
bool emu_row_of(const struct emu_kernel *k, const struct emu_operand *o, uint16_t *row);

/* Word of w->s that holds SCC, VCCZ or EXECZ when they are read as an operand; 0 for others. */
unsigned emu_dynamic_special(const struct emu_operand *o);

/* Index into w->s of a scalar register or constant. */
uint16_t emu_scalar_index(struct emu_builder *b, const struct emu_operand *o, bool destination);

/* Row of a constant that a vector instruction reads. */
uint16_t emu_constant_row(struct emu_builder *b, const struct emu_operand *o);

/* Gives a scalar source of a vector instruction its splat rows. */
bool emu_splat_source(struct emu_builder *b, struct emu_op *op, unsigned i);

#endif
