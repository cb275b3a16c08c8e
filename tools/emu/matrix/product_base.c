/* Matrix products for any host. */
#define EMU_LEVEL emu_matrix_base
#include "product.h"
