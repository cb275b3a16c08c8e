/*
 * Strict mode: data races in LDS. Two accesses of different waves to the same byte, one of them a
 * write, need a barrier in between, and the write must have been waited for (lgkmcnt, or vmcnt when
 * a load from memory writes LDS) before its wave went to that barrier. The wave itself must wait
 * for such a load, too.
 */
#include <string.h>

#include "strict.h"

static uint64_t lane_bit(int lane)
{
    return lane < 0 ? 0 : UINT64_C(1) << lane;
}

static void check_write(struct emu_wave *w, const struct emu_lds_write *x, enum emu_access access,
                        int lane, uint64_t address)
{
    const char *what = access == EMU_READ ? "read here, written by" : "written here and by";

    /* atomics may meet each other */
    if (emu_strict_lds_visible(w, x) || (access == EMU_RMW && x->bytes & EMU_LDS_BY_ATOMIC))
        return;
    if (x->epoch == (uint16_t)w->strict->epoch)
        emu_fault(w, lane_bit(lane),
                  "data race in LDS at 0x%llx: %s wave %u since the last barrier",
                  (unsigned long long)address, what, x->writer - 1u);
    emu_fault(w, lane_bit(lane),
              "LDS at 0x%llx: wave %u went to the barrier without waiting (%s) for its write",
              (unsigned long long)address, x->writer - 1u,
              x->bytes & EMU_LDS_BY_DMA ? "vmcnt" : "lgkmcnt");
}

static void check_read(struct emu_wave *w, const struct emu_lds_read *x, int lane, uint64_t address)
{
    if (x->reader == EMU_LDS_SEVERAL)
        emu_fault(w, lane_bit(lane),
                  "data race in LDS at 0x%llx: written here, read by several waves since the last "
                  "barrier",
                  (unsigned long long)address);
    emu_fault(w, lane_bit(lane),
              "data race in LDS at 0x%llx: written here, read by wave %u since the last barrier",
              (unsigned long long)address, x->reader - 1u);
}

static void note_write(struct emu_wave *w, struct emu_lds_write *x, uint8_t bytes,
                       enum emu_access access)
{
    uint8_t me = (uint8_t)(w->index + 1);
    struct emu_strict_wave *s = w->strict;
    bool again = x->writer == me && x->epoch == (uint16_t)s->epoch;
    bool dma = w->op->insn->flags & EMU_F_LDS_DMA;

    if (again)
        bytes |= x->bytes & 0xf;
    x->bytes =
        (uint8_t)(bytes | (access == EMU_RMW ? EMU_LDS_BY_ATOMIC : 0) | (dma ? EMU_LDS_BY_DMA : 0));
    x->writer = me;
    x->epoch = (uint16_t)s->epoch;
    x->number = dma ? s->vm_issued : s->lgkm_issued;
    *(dma ? &s->last_dma : &s->last_write) = x->number;
}

static void access_word(struct emu_wave *w, struct emu_strict *s, uint64_t at, uint8_t bytes,
                        enum emu_access access, int lane)
{
    struct emu_lds_write *x = &s->writes[at / 4];
    struct emu_lds_read *y = &s->reads[at / 4];
    uint8_t me = (uint8_t)(w->index + 1);

    if (x->writer && x->writer != me && x->bytes & bytes) {
        const unsigned common = x->bytes & bytes, first = (unsigned)__builtin_ctz(common);

        if (access == EMU_WRITE && x->epoch == (uint16_t)w->strict->epoch)
            emu_strict_rewrite(w, EMU_SPACE_LDS, lane, at / 4 * 4 + first,
                               (unsigned)__builtin_popcount(common),
                               w->group->lds + at / 4 * 4 + first, x->writer - 1u);
        else
            check_write(w, x, access, lane, at);
    }
    if (access == EMU_READ) {
        emu_lds_note_read(y, w->index, w->strict->epoch, bytes);
        return;
    }
    if (access == EMU_WRITE && y->reader && y->reader != me && y->bytes & bytes &&
        y->epoch == (uint16_t)w->strict->epoch)
        check_read(w, y, lane, at);
    note_write(w, x, bytes, access);
}

/* Whole words that were written by this wave, or long ago by the same operation as the last one. */
static void read_words(struct emu_wave *w, struct emu_strict *s, uint64_t at, unsigned n, int lane)
{
    const struct emu_lds_read mark = {(uint16_t)w->strict->epoch, (uint8_t)(w->index + 1), 15};
    const struct emu_lds_read many = {mark.epoch, EMU_LDS_SEVERAL, 15};
    uint64_t known = 0, mine = w->index + 1;

    for (uint64_t i = at / 4; i < at / 4 + n; i++) {
        uint64_t write;

        memcpy(&write, &s->writes[i], sizeof write);
        if (write != known && s->writes[i].writer && s->writes[i].writer != mine) {
            check_write(w, &s->writes[i], EMU_READ, lane, 4 * i);
            known = write;
        }
        if (memcmp(&s->reads[i], &mark, sizeof mark) == 0 ||
            memcmp(&s->reads[i], &many, sizeof many) == 0)
            continue;
        if (s->reads[i].epoch != mark.epoch || !s->reads[i].reader)
            s->reads[i] = mark;
        else
            emu_lds_note_read(&s->reads[i], w->index, w->strict->epoch, 15);
    }
}

/* WMMA operands repeat in lanes 16 and up: the same read of the same instruction needs no second
 * look. */
static bool repeats(struct emu_wave *w, int lane, uint64_t address)
{
    uint64_t *seen = w->strict->lane_read, key = (uint64_t)w->strict->lgkm_issued << 32 | address;

    if (lane >= 16 && seen[lane - 16] == key) {
        seen[lane] = key;
        return true;
    }
    if (lane >= 0)
        seen[lane] = key;
    return false;
}

/* LDS that a load of this wave will yet write; loads themselves come in order. */
static void check_dma(struct emu_wave *w, const struct emu_strict *s, uint64_t address,
                      uint64_t end, int lane)
{
    if (w->op->insn->flags & EMU_F_LDS_DMA)
        return;
    for (uint64_t i = address / 4; i <= (end - 1) / 4; i++) {
        const struct emu_lds_write *x = &s->writes[i];

        if (x->writer == w->index + 1 && x->bytes & EMU_LDS_BY_DMA &&
            x->number > w->strict->vm_done)
            emu_fault(w, lane_bit(lane),
                      "LDS at 0x%llx is used while a load into it is under way: missing s_waitcnt "
                      "vmcnt",
                      4ull * i);
    }
}

void emu_strict_lds_access(struct emu_wave *w, enum emu_access access, int lane, uint64_t address,
                           unsigned bytes)
{
    struct emu_strict *s = w->group->strict;
    uint64_t end = address + bytes;

    if (end > w->group->lds_size || !bytes)
        return;
    emu_strict_lds_touch(w, access, (uint32_t)address, (uint32_t)end - 1);
    if (w->strict->last_dma > w->strict->vm_done)
        check_dma(w, s, address, end, lane);
    if (access == EMU_READ && !((address | bytes) & 3)) {
        if (!repeats(w, lane, address))
            read_words(w, s, address, bytes / 4, lane);
        return;
    }
    while (address < end) {
        unsigned first = address & 3;
        unsigned n = 4 - first < end - address ? 4 - first : (unsigned)(end - address);

        access_word(w, s, address, (uint8_t)(((1u << n) - 1) << first), access, lane);
        address += n;
    }
}
