/* Matrix products for hosts with AVX-512. */
#if defined(__x86_64__)
#define EMU_LEVEL emu_matrix_v4
#define EMU_TARGET "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"
#define EMU_AVX512 1
#include "product.h"
#endif
