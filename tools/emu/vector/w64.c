/* Vector instructions, wave64, the compiler's default target. */
#define EMU_W 64
#define EMU_LEVEL base
#include "lanes.h"
