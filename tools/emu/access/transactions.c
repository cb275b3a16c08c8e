/* Counts memory transactions and LDS bank conflicts from the real lane addresses. */
#include "access.h"

enum {
    LINE = 64,  /* bytes of one memory transaction */
    BANKS = 64, /* gfx950; others have 32 */
    BANK_BYTES = 4,
};

static void add_lines(struct emu_footprint *f, const uint64_t *line, unsigned n)
{
    for (unsigned i = 0; i < n && f->lines < sizeof f->line / sizeof *f->line; i++)
        f->line[f->lines++] = line[i];
}

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
    if (w->group->footprint)
        add_lines(w->group->footprint, seen, n);
}

/*
 * The lanes that an LDS access serves in its pass number p: 32 of a dword, 16 of two, 8 of more.
 * They are consecutive, but loads of 16 bytes take two quads of lanes from the two halves of 32
 * lanes: {0-3, 20-23}, {4-7, 16-19}, {8-11, 28-31}, {12-15, 24-27}, and the same + 32.
 *
 * gfx942: measured, and in the documentation of Composable Kernel (lds_bank_conflicts: stores of 16
 * bytes eight consecutive lanes, loads as above); 8 bytes, 16 consecutive lanes. gfx90a: taken to
 * be the same, for want of a measurement; so is gfx950, whose 64 banks give conflicts less often.
 * gfx11: nothing is published; consecutive lanes in all cases. 12 bytes: as 16.
 */
static uint64_t lanes_of_pass(enum emu_family family, unsigned dwords, enum emu_access access,
                              unsigned p)
{
    const unsigned lanes = dwords > 2 ? 8 : 32 / dwords, half = p / 4 * 32, quad = p % 4;

    if (lanes > 8 || access != EMU_READ || family >= EMU_GFX11)
        return ((UINT64_C(1) << lanes) - 1) << (lanes * p);
    return (UINT64_C(15) << (4 * quad) | UINT64_C(15) << (4 * (quad ^ 5))) << half;
}

/* A pass takes as many cycles as its busiest bank has distinct dwords; those beyond the first are
 * conflicts. */
static unsigned cycles_of_pass(const struct emu_where *a, uint64_t lanes, unsigned dwords,
                               unsigned banks)
{
    uint32_t word[BANKS][BANKS];
    uint8_t depth[BANKS] = {0}, worst = 0;

    EMU_EACH_LANE(l, lanes)
    for (unsigned i = 0; i < dwords; i++) {
        uint32_t at = (uint32_t)(a->addr[l] / BANK_BYTES) + i;
        unsigned bank = at % banks, k = 0;
        while (k < depth[bank] && word[bank][k] != at)
            k++;
        if (k == depth[bank] && k < BANKS)
            word[bank][depth[bank]++] = at;
        worst = depth[bank] > worst ? depth[bank] : worst;
    }
    return worst;
}

void emu_count_lds(struct emu_wave *w, const struct emu_where *a, unsigned bytes,
                   enum emu_access access)
{
    struct emu_counters *c = w->group->counters;
    struct emu_footprint *f = w->group->footprint;
    const unsigned dwords = (bytes + BANK_BYTES - 1) / BANK_BYTES;
    const unsigned lanes = dwords > 2 ? 8 : 32 / dwords;
    const enum emu_family family = w->group->kernel->family;

    c->lds_bytes += (uint64_t)__builtin_popcountll(a->mask) * bytes;
    for (unsigned p = 0; p < w->lanes / lanes; p++) {
        uint64_t served = lanes_of_pass(family, dwords, access, p);
        unsigned cycles =
            cycles_of_pass(a, a->mask & served, dwords, family == EMU_GFX950 ? 64 : 32);

        c->lds_conflict_cycles += cycles > 1 ? cycles - 1 : 0;
        if (f) {
            f->lds_cycles += cycles;
            f->lds_ideal += cycles > 0;
        }
    }
}
