/* Matrix products for hosts with AVX-512. */
#define EMU_LEVEL emu_matrix_v4
#include "emu_matrix_level.h"
