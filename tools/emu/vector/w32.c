/* Vector instructions, wave32, the compiler's default target. */
#define EMU_W 32
#define EMU_LEVEL base
#include "lanes.h"
