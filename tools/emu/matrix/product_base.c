/* Matrix products for any host. */
#define EMU_LEVEL emu_matrix_base
#include "emu_matrix_level.h"
