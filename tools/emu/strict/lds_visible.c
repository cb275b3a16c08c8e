/* Strict mode: whether a write to LDS was waited for before a barrier. */
#include "strict.h"

bool emu_strict_lds_visible(const struct emu_wave *w, const struct emu_lds_write *x)
{
    const struct emu_wave *writer = &w->group->wave[x->writer - 1];
    const uint32_t *done =
        x->bytes & EMU_LDS_BY_DMA ? writer->strict->dma_done : writer->strict->lds_done;

    if (x->epoch == (uint16_t)w->strict->epoch)
        return false;
    if (writer->state == EMU_ENDED)
        return true;
    return done[(w->strict->epoch - 1) % EMU_EPOCHS] >= x->number;
}
