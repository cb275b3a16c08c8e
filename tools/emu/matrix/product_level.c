/* The products for the vectors of this host. */
#include "matrix_ops.h"

const struct emu_matrix_level *emu_matrix_best(void)
{
#if defined(__x86_64__)
    if (emu_host() == EMU_HOST_AVX512)
        return &emu_matrix_v4;
    if (emu_host() == EMU_HOST_AVX2)
        return &emu_matrix_v3;
#endif
    return &emu_matrix_base;
}
