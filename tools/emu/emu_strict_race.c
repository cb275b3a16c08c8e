/*
 * Strict mode: data races in LDS. Two accesses of different waves to the same byte, one of them a
 * write, need a barrier in between, and the write must have been waited for (lgkmcnt, or vmcnt when
 * a load from memory writes LDS) before its wave went to that barrier. The wave itself must wait
 * for such a load, too.
 */
#include <string.h>

#include "emu_strict.h"

/* In emu_lds_write.bytes beside the four byte bits. */
#define BY_ATOMIC 0x10
#define BY_DMA 0x20
#define SEVERAL 255 /* emu_lds_read.reader */

void emu_strict_at_barrier(struct emu_wave *w)
{
    struct emu_strict_wave *s = w->strict;

    s->lds_done[s->epoch % EMU_EPOCHS] = s->lgkm_done;
    s->dma_done[s->epoch % EMU_EPOCHS] = s->vm_done;
    s->epoch++;
}

static uint64_t lane_bit(int lane)
{
    return lane < 0 ? 0 : UINT64_C(1) << lane;
}

/* Was the write done before its wave passed the last barrier that `w` has passed, too? */
static bool is_visible(const struct emu_wave *w, const struct emu_lds_write *x)
{
    const struct emu_wave *writer = &w->group->wave[x->writer - 1];
    const uint32_t *done = x->bytes & BY_DMA ? writer->strict->dma_done : writer->strict->lds_done;

    if (x->epoch == (uint16_t)w->strict->epoch)
        return false;
    if (writer->state == EMU_ENDED)
        return true;
    return done[(w->strict->epoch - 1) % EMU_EPOCHS] >= x->number;
}

static void check_write(struct emu_wave *w, const struct emu_lds_write *x, enum emu_access access,
                        int lane, uint64_t address)
{
    const char *what = access == EMU_READ ? "read here, written by" : "written here and by";

    /* atomics may meet each other */
    if (is_visible(w, x) || (access == EMU_RMW && x->bytes & BY_ATOMIC))
        return;
    if (x->epoch == (uint16_t)w->strict->epoch)
        emu_fault(w, lane_bit(lane),
                  "data race in LDS at 0x%llx: %s wave %u since the last barrier",
                  (unsigned long long)address, what, x->writer - 1u);
    emu_fault(w, lane_bit(lane),
              "LDS at 0x%llx: wave %u went to the barrier without waiting (%s) for its write",
              (unsigned long long)address, x->writer - 1u, x->bytes & BY_DMA ? "vmcnt" : "lgkmcnt");
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

static void check_read(struct emu_wave *w, const struct emu_lds_read *x, int lane, uint64_t address)
{
    if (x->reader == SEVERAL)
        emu_fault(w, lane_bit(lane),
                  "data race in LDS at 0x%llx: written here, read by several waves since the last "
                  "barrier",
                  (unsigned long long)address);
    emu_fault(w, lane_bit(lane),
              "data race in LDS at 0x%llx: written here, read by wave %u since the last barrier",
              (unsigned long long)address, x->reader - 1u);
}

static void note_read(struct emu_wave *w, struct emu_lds_read *x, uint8_t bytes)
{
    uint8_t me = (uint8_t)(w->index + 1);
    bool now = x->epoch == (uint16_t)w->strict->epoch;

    x->reader = now && x->reader && x->reader != me ? SEVERAL : me;
    x->bytes = now ? x->bytes | bytes : bytes;
    x->epoch = (uint16_t)w->strict->epoch;
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
    x->bytes = (uint8_t)(bytes | (access == EMU_RMW ? BY_ATOMIC : 0) | (dma ? BY_DMA : 0));
    x->writer = me;
    x->epoch = (uint16_t)s->epoch;
    x->number = dma ? s->vm_issued : s->lgkm_issued;
    if (dma)
        s->last_dma = s->vm_issued;
}

static void access_word(struct emu_wave *w, struct emu_strict *s, uint64_t at, uint8_t bytes,
                        enum emu_access access, int lane)
{
    struct emu_lds_write *x = &s->writes[at / 4];
    struct emu_lds_read *y = &s->reads[at / 4];
    uint8_t me = (uint8_t)(w->index + 1);

    if (x->writer && x->writer != me && x->bytes & bytes) {
        unsigned first = (unsigned)__builtin_ctz(bytes);

        if (access == EMU_WRITE && x->epoch == (uint16_t)w->strict->epoch)
            emu_strict_rewrite(w, EMU_SPACE_LDS, lane, at / 4 * 4 + first,
                               (unsigned)__builtin_popcount(bytes),
                               w->group->lds + at / 4 * 4 + first, x->writer - 1u);
        else
            check_write(w, x, access, lane, at);
    }
    if (access == EMU_READ) {
        note_read(w, y, bytes);
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
    const struct emu_lds_read many = {mark.epoch, SEVERAL, 15};
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
            note_read(w, &s->reads[i], 15);
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

        if (x->writer == w->index + 1 && x->bytes & BY_DMA && x->number > w->strict->vm_done)
            emu_fault(w, lane_bit(lane),
                      "LDS at 0x%llx is used while a load into it is under way: missing s_waitcnt "
                      "vmcnt",
                      (unsigned long long)(4 * i));
    }
}

void emu_strict_access(struct emu_wave *w, enum emu_space space, enum emu_access access, int lane,
                       uint64_t address, unsigned bytes)
{
    struct emu_strict *s = w->group->strict;
    uint64_t end = address + bytes;

    if (space == EMU_SPACE_GLOBAL)
        emu_strict_global_access(w, access, lane, address, bytes);
    if (space != EMU_SPACE_LDS || end > w->group->lds_size)
        return;
    if (w->strict->last_dma > w->strict->vm_done && bytes)
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

/* Up to this number each wave's writes can be seen by w, which has passed the same barrier. */
static void visible_until(const struct emu_wave *w, uint32_t until[EMU_MAX_WAVES + 1])
{
    until[0] = UINT32_MAX; /* nobody's */
    for (unsigned i = 0; i < w->group->waves; i++) {
        const struct emu_wave *x = &w->group->wave[i];

        until[i + 1] = x->state == EMU_ENDED
                           ? UINT32_MAX
                           : x->strict->lds_done[(w->strict->epoch - 1) % EMU_EPOCHS];
    }
}

/* Lanes 16.. read what lanes 0..15 do, as operands of WMMA are read. */
static bool repeats_16(const uint32_t *at, unsigned lanes)
{
    for (unsigned l = 16; l < lanes; l += 16)
        if (memcmp(at + l, at, 16 * sizeof *at) != 0)
            return false;
    return true;
}

static inline uint64_t write_bits(const struct emu_lds_write *x)
{
    uint64_t bits;

    memcpy(&bits, x, sizeof bits);
    return bits;
}

/*
 * Nothing that another wave wrote, unless it can be seen, and nothing that a load under way will
 * write. Neighbours were mostly written by one instruction: `known` is the last record that was
 * found good.
 */
static inline bool may_touch(const struct emu_wave *w, const struct emu_lds_write *x,
                             unsigned words, const uint32_t *until, uint64_t *known)
{
    uint64_t other = 0;

#pragma GCC unroll 4
    for (unsigned i = 0; i < words; i++)
        other |= write_bits(&x[i]) ^ *known;
    for (unsigned i = 0; other && i < words; i++) {
        bool mine = x[i].writer == w->index + 1, dma = x[i].bytes & BY_DMA;

        if (dma && (mine ? x[i].number > w->strict->vm_done : !is_visible(w, &x[i])))
            return false;
        if (!dma && !mine && x[i].writer &&
            (x[i].epoch == (uint16_t)w->strict->epoch || x[i].number > until[x[i].writer]))
            return false;
        *known = write_bits(&x[i]);
    }
    return true;
}

/* All dwords have the record `mark`. */
static inline bool are_read(const struct emu_lds_read *y, unsigned words,
                            const struct emu_lds_read *mark)
{
    uint32_t other = 0, want, bits;

    memcpy(&want, mark, sizeof want);
#pragma GCC unroll 4
    for (unsigned i = 0; i < words; i++) {
        memcpy(&bits, &y[i], sizeof bits);
        other |= bits ^ want;
    }
    return !other;
}

static inline __attribute__((always_inline)) bool
dense_reads(struct emu_wave *w, const uint32_t *at, unsigned words, const uint32_t *until)
{
    const struct emu_lds_read mark = {(uint16_t)w->strict->epoch, (uint8_t)(w->index + 1), 15};
    const struct emu_lds_read many = {mark.epoch, SEVERAL, 15};
    struct emu_strict *s = w->group->strict;
    unsigned lanes = repeats_16(at, w->lanes) ? 16 : w->lanes;
    uint64_t known = 0;

    for (unsigned l = 0; l < lanes; l++) {
        struct emu_lds_read *y = &s->reads[at[l] / 4];

        /* of several readers since the last barrier all but the writer have asked for the write */
        if (are_read(y, words, &many))
            continue;
        if (!may_touch(w, &s->writes[at[l] / 4], words, until, &known))
            return false;
        if (are_read(y, words, &mark))
            continue;
        for (unsigned i = 0; i < words; i++)
            note_read(w, &y[i], 15);
    }
    return true;
}

static inline __attribute__((always_inline)) bool
dense_writes(struct emu_wave *w, const uint32_t *at, unsigned words, const uint32_t *until)
{
    const uint8_t me = (uint8_t)(w->index + 1);
    const uint16_t epoch = (uint16_t)w->strict->epoch;
    const struct emu_lds_write mark = {w->strict->lgkm_issued, epoch, me, 15};
    struct emu_strict *s = w->group->strict;
    uint64_t known = 0;

    for (unsigned l = 0; l < w->lanes; l++) {
        struct emu_lds_write *x = &s->writes[at[l] / 4];
        const struct emu_lds_read *y = &s->reads[at[l] / 4];

        if (!may_touch(w, x, words, until, &known))
            return false;
#pragma GCC unroll 4
        for (unsigned i = 0; i < words; i++) {
            if (x[i].bytes & BY_ATOMIC || (y[i].epoch == epoch && y[i].reader && y[i].reader != me))
                return false;
            memcpy(&x[i], &mark, sizeof mark);
        }
    }
    return true;
}

bool emu_strict_lds_dense(struct emu_wave *w, enum emu_access access, const uint32_t *at,
                          unsigned words)
{
    uint32_t until[EMU_MAX_WAVES + 1], odd = 0;

    for (unsigned l = 0; l < w->lanes; l++)
        odd |= at[l];
    if (odd & 3 || access == EMU_RMW)
        return false;
    visible_until(w, until);
    if (access == EMU_WRITE)
        return words == 4   ? dense_writes(w, at, 4, until)
               : words == 2 ? dense_writes(w, at, 2, until)
                            : dense_writes(w, at, words, until);
    return words == 4   ? dense_reads(w, at, 4, until)
           : words == 2 ? dense_reads(w, at, 2, until)
                        : dense_reads(w, at, words, until);
}
