/* How many workgroups fit on a compute unit. */
#include "resident.h"

#include "clock_params.h"

enum { WGP_MODE = 1 << 29 }; /* of rsrc1 */

static unsigned round_up(unsigned n, unsigned to)
{
    return (n + to - 1) / to * to;
}

unsigned emu_clock_resident(const struct emu_launch *l, unsigned waves, unsigned registers)
{
    const struct emu_kernel *k = l->kernel;
    const struct emu_clock_gpu *g = emu_clock_gpu(k->family);
    const bool gfx11 = k->family >= EMU_GFX11;
    /* gfx11's CU mode has two halves, each with its own workgroups and LDS */
    const unsigned parts = gfx11 && !(k->rsrc1 & WGP_MODE) ? 2 : 1;
    const unsigned file = registers / (gfx11 && k->wave == 64 ? 2 : 1);
    /* a family's smaller register file is given out in as many parts */
    const unsigned granule =
        (unsigned)(g->granule * registers / g->registers) / (gfx11 && k->wave == 64 ? 2 : 1);
    unsigned per_simd = file / round_up(k->vgprs ? k->vgprs : 1, granule), groups, lds;

    if (per_simd > (unsigned)g->waves)
        per_simd = (unsigned)g->waves;
    groups = per_simd * ((unsigned)g->simds / parts) / waves;
    lds = l->lds_bytes ? (unsigned)g->lds / parts / round_up(l->lds_bytes, (unsigned)g->lds_granule)
                       : groups;
    groups = (lds < groups ? lds : groups) * parts;
    return groups > 32 ? 32 : groups;
}
