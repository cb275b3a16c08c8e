/* Vector instructions, wave64, x86-64-v4 (AVX-512). */
#if defined(__x86_64__)
#define EMU_W 64
#define EMU_LEVEL v4
#define EMU_V4 1
#include "lanes.h"
#endif
