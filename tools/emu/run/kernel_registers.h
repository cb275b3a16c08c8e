/* What a kernel's descriptor says of its registers. */
#ifndef EMU_KERNEL_REGISTERS_H
#define EMU_KERNEL_REGISTERS_H

#include "wave.h"

struct emu_registers {
    uint32_t rsrc[3];
    uint16_t properties, preload;
};

/* Fills in family, wave size, registers and, behind k->entry, where waves start. */
void emu_kernel_registers(struct emu_kernel *k, enum emu_family family,
                          const struct emu_registers *r);

#endif
