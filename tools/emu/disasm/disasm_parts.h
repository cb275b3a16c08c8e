/*
 * What the parts of the disassembler share: a bounded text buffer and the printers of operand
 * groups.
 */
#ifndef EMU_DISASM_H
#define EMU_DISASM_H

#include "emu_decode.h"

struct emu_text {
    char *buf;
    size_t size, len; /* len counts also what did not fit */
};

void emu_text_add(struct emu_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline bool emu_is_gfx11(const struct emu_insn *in)
{
    return in->family >= EMU_GFX11;
}

/* Register, constant or literal, without modifiers. */
void emu_print_operand(struct emu_text *t, const struct emu_insn *in, const struct emu_operand *o);

/* src[i] with neg, abs and sext. */
void emu_print_src(struct emu_text *t, const struct emu_insn *in, unsigned i);

/* A mandatory literal: always hexadecimal. */
void emu_print_k(struct emu_text *t, const struct emu_insn *in);

/* Everything after the mnemonic. */
void emu_print_scalar(struct emu_text *t, const struct emu_insn *in);
void emu_print_vector(struct emu_text *t, const struct emu_insn *in);
void emu_print_memory(struct emu_text *t, const struct emu_insn *in);
void emu_print_trapped(struct emu_text *t, const struct emu_insn *in);
/* " format:[...]" of a typed buffer access */
void emu_print_format(struct emu_text *t, const struct emu_insn *in);
/* The pattern of ds_swizzle_b32 */
void emu_print_swizzle(struct emu_text *t, unsigned offset);

#endif
