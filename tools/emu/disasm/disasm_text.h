/* What the parts of the disassembler share: a bounded text and the printers of operands. */
#ifndef EMU_DISASM_TEXT_H
#define EMU_DISASM_TEXT_H

#include "decode_read.h"

struct emu_text {
    char *buf;
    size_t size, len; /* len counts also what did not fit */
};

void emu_text_add(struct emu_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline bool emu_is_gfx11(const struct emu_insn *in)
{
    return in->family >= EMU_GFX11;
}

static inline bool emu_is_gfx12(const struct emu_insn *in)
{
    return in->family >= EMU_GFX12;
}

/* Register, constant or literal, without modifiers. */
void emu_print_operand(struct emu_text *t, const struct emu_insn *in, const struct emu_operand *o);

/* A mandatory literal: always hexadecimal. */
void emu_print_k(struct emu_text *t, const struct emu_insn *in);

#endif
