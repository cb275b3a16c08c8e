/* Reads a kernel's registers out of its descriptor. */
#include "kernel_registers.h"

enum {
    /*
     * Bytes at the entry of a kernel with preloaded arguments that load them for firmware which
     * cannot. Firmware that can starts the wave behind them; so does this emulator.
     */
    PRELOAD_PROLOGUE = 256,
    PROP_WAVE32 = 1 << 10,
};

void emu_kernel_registers(struct emu_kernel *k, enum emu_family family,
                          const struct emu_registers *r)
{
    bool cdna = family < EMU_GFX11;
    bool wave64 = cdna || !(r->properties & PROP_WAVE32);
    unsigned granule = cdna || !wave64 ? 8 : 4;

    k->family = family;
    k->wave = wave64 ? 64 : 32;
    k->vgprs = ((r->rsrc[0] & 63) + 1) * granule;
    k->accum_offset = cdna ? ((r->rsrc[2] & 63) + 1) * 4 : 0;
    k->rsrc1 = r->rsrc[0];
    k->rsrc2 = r->rsrc[1];
    k->rsrc3 = r->rsrc[2];
    k->properties = r->properties;
    k->preload = cdna ? r->preload : 0;
    k->start = k->entry + (k->preload & 127 ? PRELOAD_PROLOGUE : 0);
}
