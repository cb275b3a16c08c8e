/* Matrix products for hosts with AVX2, FMA and F16C. */
#define EMU_LEVEL emu_matrix_v3
#include "emu_matrix_level.h"
