/* The processors that the emulator can be, with the figures of a common product of each. */
#ifndef EMU_GPU_MODELS_H
#define EMU_GPU_MODELS_H

#include <stdbool.h>

#include "wave.h"

struct emu_model {
    const char *processor, *suffix, *name; /* suffix: the usual setting of its features */
    enum emu_family family;
    unsigned wave;      /* lanes that a wave usually has */
    unsigned units;     /* compute units, on gfx11 work-group processors */
    unsigned registers; /* vector registers that a SIMD has for one of 32 lanes (CDNA: 64) */
    unsigned clock_khz, memory_khz, bus_bits, l2_kb;
    bool integrated;
};

/* NULL: none of this name. */
const struct emu_model *emu_model_find(const char *processor);
/* The i-th; NULL past the end. */
const struct emu_model *emu_model_at(unsigned i);

/* Bytes of LDS that a workgroup may have. */
static inline unsigned emu_lds_most(enum emu_family family)
{
    return family == EMU_GFX950 ? 163840 : 65536;
}

#endif
