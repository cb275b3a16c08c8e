/* Strict mode: what the handlers of memory instructions report, handed on by address space. */
#include "strict.h"

static void watch_access(struct emu_wave *w, enum emu_space space, enum emu_access access, int lane,
                         uint64_t address, unsigned bytes)
{
    if (space == EMU_SPACE_GLOBAL)
        emu_strict_global_access(w, access, lane, address, bytes);
    else if (space == EMU_SPACE_LDS)
        emu_strict_lds_access(w, access, lane, address, bytes);
}

const struct emu_watch emu_strict_watch = {
    .access = watch_access,
    .lds_quick = emu_strict_lds_quick,
    .lds_dense = emu_strict_lds_dense,
    .global_dense = emu_strict_global_dense,
};
