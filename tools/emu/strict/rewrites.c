/*
 * Strict mode: stores that meet another wave's. They race only if they change what lies there:
 * waves that write the same value, as a whole workgroup that sets one flag, do no harm.
 */
#include <string.h>

#include "strict.h"

static uint64_t lane_bit(int lane)
{
    return lane < 0 ? 0 : UINT64_C(1) << lane;
}

static _Noreturn void fault_rewrite(struct emu_wave *w, const struct emu_rewrite *x)
{
    if (x->space == EMU_SPACE_LDS)
        emu_fault(
            w, lane_bit(x->lane),
            "data race in LDS at 0x%llx: written here and by wave %llu since the last barrier",
            (unsigned long long)x->address, (unsigned long long)x->writer);
    emu_fault(w, lane_bit(x->lane),
              "data race in device memory at 0x%llx: written here, written by wave %llu of "
              "workgroup number %llu in the same launch",
              (unsigned long long)x->address, (unsigned long long)(x->writer % w->group->waves),
              (unsigned long long)(x->writer / w->group->waves));
}

void emu_strict_rewrite(struct emu_wave *w, enum emu_space space, int lane, uint64_t address,
                        unsigned bytes, const uint8_t *at, uint64_t writer)
{
    struct emu_strict *s = w->group->strict;
    struct emu_rewrite x = {at, address, writer, 0, (uint8_t)bytes, (int8_t)lane, (uint8_t)space};

    memcpy(&x.old, at, bytes);
    if (s->rewrites == EMU_REWRITES)
        fault_rewrite(w, &x);
    s->rewrite[s->rewrites++] = x;
}

void emu_strict_rewritten(struct emu_wave *w)
{
    struct emu_strict *s = w->group->strict;

    for (unsigned i = 0; i < s->rewrites; i++)
        if (memcmp(s->rewrite[i].at, &s->rewrite[i].old, s->rewrite[i].bytes) != 0)
            fault_rewrite(w, &s->rewrite[i]);
    s->rewrites = 0;
}
