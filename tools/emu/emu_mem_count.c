/* Counts memory transactions and LDS bank conflicts from the real lane addresses. */
#include "emu_mem_ops.h"

#include <assert.h>

enum {
    LINE = 64,      /* bytes of one memory transaction */
    BANKS = 32,     /* LDS banks of 4 bytes */
    LANE_BYTES = 4, /* bytes a lane moves in one LDS pass */
};

void emu_count_global(struct emu_wave *w, const struct emu_where *a, unsigned bytes,
                      enum emu_access access)
{
    struct emu_counters *c = w->group->counters;
    uint64_t seen[128];
    unsigned n = 0, lanes = (unsigned)__builtin_popcountll(a->mask);
    if (access != EMU_WRITE)
        c->bytes_loaded += (uint64_t)lanes * bytes;
    if (access != EMU_READ)
        c->bytes_stored += (uint64_t)lanes * bytes;
    /* Distinct lines, up to two per lane; neighbours usually share one, so search backwards. */
    EMU_EACH_LANE(l, a->mask)
    for (uint64_t line = a->addr[l] / LINE; line <= (a->addr[l] + bytes - 1) / LINE; line++) {
        unsigned i = n;
        while (i > 0 && seen[i - 1] != line)
            i--;
        if (i == 0 && n < sizeof seen / sizeof *seen)
            seen[n++] = line;
    }
    c->vmem_transactions += n;
}

/*
 * One pass serves 32 lanes a dword each and takes as many cycles as the busiest bank has distinct
 * dwords; the cycles beyond the first are conflicts. Wider accesses take several passes over fewer
 * lanes (8 lanes of 16 bytes cover the 32 banks once).
 */
void emu_count_lds(struct emu_wave *w, const struct emu_where *a, unsigned bytes)
{
    struct emu_counters *c = w->group->counters;
    unsigned dwords = (bytes + LANE_BYTES - 1) / LANE_BYTES, group = BANKS / dwords;
    assert(w->lanes <= 64);
    c->lds_bytes += (uint64_t)__builtin_popcountll(a->mask) * bytes;
    for (unsigned first = 0; first < w->lanes; first += group) {
        uint32_t word[BANKS][BANKS];
        uint8_t depth[BANKS] = {0}, worst = 0;
        uint64_t lanes = a->mask >> first & ((UINT64_C(1) << group) - 1);
        EMU_EACH_LANE(l, lanes)
        for (unsigned i = 0; i < dwords; i++) {
            uint32_t at = (uint32_t)(a->addr[first + l] / LANE_BYTES) + i;
            unsigned bank = at % BANKS, k = 0;
            while (k < depth[bank] && word[bank][k] != at)
                k++;
            if (k == depth[bank] && k < BANKS)
                word[bank][depth[bank]++] = at;
            worst = depth[bank] > worst ? depth[bank] : worst;
        }
        c->lds_conflict_cycles += worst > 1 ? worst - 1 : 0;
    }
}
