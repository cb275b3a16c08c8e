/*
 * Strict mode: what the hardware would let pass is reported here.
 */
#include "emu_exec.h"

void emu_strict_access(struct emu_wave *w, enum emu_space space, enum emu_access access, int lane,
                       uint64_t address, unsigned bytes)
{
    (void)w, (void)space, (void)access, (void)lane, (void)address, (void)bytes;
}
