/* Matrix products for hosts with AVX2, FMA and F16C. */
#if defined(__x86_64__)
#define EMU_LEVEL emu_matrix_v3
#define EMU_TARGET "avx2,fma,f16c"
#define EMU_AVX2 1
#include "product.h"
#endif
