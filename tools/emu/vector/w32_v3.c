/* Vector instructions, wave32, x86-64-v3 (AVX2, FMA, F16C). */
#if defined(__x86_64__)
#define EMU_W 32
#define EMU_LEVEL v3
#define EMU_V3 1
#include "lanes.h"
#endif
