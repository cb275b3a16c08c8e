/*
 * Strict mode: data races in LDS. Two accesses of different waves to the same byte, one of them a
 * write, need a barrier in between, and the write must have been waited for (lgkmcnt) before its
 * wave went to that barrier.
 */
#include <string.h>

#include "emu_strict.h"

void emu_strict_at_barrier(struct emu_wave *w)
{
    struct emu_strict_wave *s = w->strict;

    s->lds_done[s->epoch % EMU_EPOCHS] = s->lgkm_done;
    s->epoch++;
}

/* In emu_lds_word.write_bytes beside the four byte bits. */
#define BY_ATOMIC 0x10

/* The wave's own view: number of the LDS operation being executed, known done. */
static uint32_t current(const struct emu_wave *w)
{
    return w->strict->lgkm_issued;
}

static bool same_epoch(uint16_t then, const struct emu_wave *w)
{
    return then == (uint16_t)w->strict->epoch;
}

/* Was the write done before its wave passed the last barrier that `w` has passed, too? */
static bool write_is_visible(const struct emu_wave *w, const struct emu_lds_word *x)
{
    const struct emu_wave *writer = &w->group->wave[x->writer - 1];

    if (same_epoch(x->write_epoch, w))
        return false;
    if (writer->state == EMU_ENDED)
        return true;
    return writer->strict->lds_done[(w->strict->epoch - 1) % EMU_EPOCHS] >= x->write_seq;
}

static void race(struct emu_wave *w, int lane, uint64_t address, const char *what, unsigned other)
{
    if (other != 255)
        emu_fault(w, lane < 0 ? 0 : UINT64_C(1) << lane,
                  "data race in LDS at 0x%llx: %s wave %u since the last barrier",
                  (unsigned long long)address, what, other - 1);
    emu_fault(w, lane < 0 ? 0 : UINT64_C(1) << lane,
              "data race in LDS at 0x%llx: %s several waves since the last barrier",
              (unsigned long long)address, what);
}

static void access_word(struct emu_wave *w, struct emu_lds_word *x, uint8_t bytes,
                        enum emu_access access, int lane, uint64_t address)
{
    uint8_t me = (uint8_t)(w->index + 1);
    bool foreign =
        x->writer && x->writer != me && x->write_bytes & bytes && !write_is_visible(w, x);

    /* atomics may meet each other */
    if (foreign && !(access == EMU_RMW && x->write_bytes & BY_ATOMIC)) {
        if (same_epoch(x->write_epoch, w))
            race(w, lane, address,
                 access == EMU_READ ? "read here, written by" : "written here and by", x->writer);
        emu_fault(
            w, lane < 0 ? 0 : UINT64_C(1) << lane,
            "LDS at 0x%llx: wave %u went to the barrier without waiting (lgkmcnt) for its write",
            (unsigned long long)address, x->writer - 1u);
    }
    if (access != EMU_READ && x->reader && x->reader != me && x->read_bytes & bytes &&
        same_epoch(x->read_epoch, w) && access == EMU_WRITE)
        race(w, lane, address, "written here, read by", x->reader);
    if (access == EMU_READ) {
        bool shared = same_epoch(x->read_epoch, w) && x->reader && x->reader != me;

        x->read_bytes = same_epoch(x->read_epoch, w) ? x->read_bytes | bytes : bytes;
        x->read_epoch = (uint16_t)w->strict->epoch;
        x->reader = shared ? 255 : me;
    } else {
        bool again = x->writer == me && same_epoch(x->write_epoch, w);

        x->write_bytes = again ? x->write_bytes | bytes : bytes;
        x->write_bytes |= access == EMU_RMW ? BY_ATOMIC : 0;
        x->writer = me;
        x->write_epoch = (uint16_t)w->strict->epoch;
        x->write_seq = current(w);
    }
}

void emu_strict_access(struct emu_wave *w, enum emu_space space, enum emu_access access, int lane,
                       uint64_t address, unsigned bytes)
{
    struct emu_lds_word *lds = w->group->strict ? w->group->strict->lds : NULL;

    if (space != EMU_SPACE_LDS || !lds)
        return;
    for (uint64_t at = address, end = address + bytes; at < end && end <= w->group->lds_size;) {
        unsigned first = at & 3, n = 4 - first < end - at ? 4 - first : (unsigned)(end - at);

        access_word(w, &lds[at / 4], (uint8_t)(((1u << n) - 1) << first), access, lane, at);
        at += n;
    }
}
