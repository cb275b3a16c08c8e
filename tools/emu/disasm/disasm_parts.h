/* The parts of the disassembler: printers of operand groups. */
#ifndef EMU_DISASM_PARTS_H
#define EMU_DISASM_PARTS_H

#include "disasm_text.h"

/* src[i] with neg, abs and sext. */
void emu_print_src(struct emu_text *t, const struct emu_insn *in, unsigned i);

/* Everything after the mnemonic. */
void emu_print_scalar(struct emu_text *t, const struct emu_insn *in);
void emu_print_vector(struct emu_text *t, const struct emu_insn *in);
void emu_print_memory(struct emu_text *t, const struct emu_insn *in);
void emu_print_trapped(struct emu_text *t, const struct emu_insn *in);
/* " format:[...]" of a typed buffer access */
void emu_print_format(struct emu_text *t, const struct emu_insn *in);
/* gfx12: " th:..." and " scope:..." */
void emu_print_policy(struct emu_text *t, const struct emu_insn *in);
/* The pattern of ds_swizzle_b32 */
void emu_print_swizzle(struct emu_text *t, unsigned offset);

#endif
