/* Vector instructions, wave64, x86-64-v3 (AVX2, FMA, F16C). */
#if defined(__x86_64__)
#define EMU_W 64
#define EMU_LEVEL v3
#define EMU_V3 1
#include "lanes.h"
#endif
