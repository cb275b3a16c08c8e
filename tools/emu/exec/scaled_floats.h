/*
 * gfx950's v_cvt_scalef32_*: what each converts, and where its elements lie. CDNA 4's manual (6.7.1
 * and the instructions' own text) says which bits are read and written.
 */
#ifndef EMU_SCALED_FLOATS_H
#define EMU_SCALED_FLOATS_H

#include "wave.h"

enum emu_float { EMU_F32, EMU_F16, EMU_BF16, EMU_FP8, EMU_BF8, EMU_FP6, EMU_BF6, EMU_FP4 };

struct emu_scaled {
    const char *sem;
    uint8_t to, from; /* enum emu_float */
    uint8_t elements;
    bool random; /* rounds by random bits, which are the second source; the scale is the last */
};

/* Of a semantic name; NULL when it is no such conversion. */
const struct emu_scaled *emu_scaled_of(const char *sem);

unsigned emu_float_bits(unsigned type);

/* One element: the source it is in, its first bit there, and its first bit in D0. */
struct emu_scaled_place {
    unsigned source, from, to;
};

struct emu_scaled_place emu_scaled_place(const struct emu_scaled *s, const struct emu_insn *insn,
                                         unsigned element);

/* D0 keeps what is not converted: OPSEL names the part that is written. */
bool emu_scaled_is_partial(const struct emu_scaled *s);

/* D0 is written before all sources have been read. */
bool emu_scaled_is_early(const struct emu_scaled *s);

#endif
