/* Vector instructions, wave32, the compiler's default target. */
#define EMU_W 32
#define EMU_LEVEL base
#include "emu_exec_lanes.h"
