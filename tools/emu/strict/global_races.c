/*
 * Strict mode: data races in device memory within one launch.
 *
 * The last write to each dword is kept, and who read it since: one wave, or that several did.
 * Another wave's access is ordered when both waves are of one workgroup with a barrier in between,
 * or when the earlier one did an atomic after its access and the later one did one before its own
 * (a hand-over by flag or counter). Of several readers only bytes that all of them read are kept,
 * and an atomic of the writer counts as a hand-over from all of them.
 *
 * The code of an atomic store is that of any other. Atomic loads can be told by their scope: what
 * they, or atomics, find is a hand-over from the wave that stored it, and they may be overwritten.
 */
#include "global_records.h"
#include "memory_map.h"

static uint64_t wave_number(const struct emu_wave *w)
{
    const struct emu_group *g = w->group;
    const struct emu_launch *l = g->launch;

    return (((uint64_t)g->id[2] * l->grid[1] + g->id[1]) * l->grid[0] + g->id[0]) * g->waves +
           w->index;
}

/* Was the access recorded in `last` over before w's? */
static bool is_ordered(const struct emu_wave *w, struct emu_strict_global *g, uint64_t last,
                       uint64_t me)
{
    uint64_t writer = (last >> 32 & 0x3fffffff) - 1;
    uint16_t then = (uint16_t)(last >> 4);

    if (last & SEVERAL_GROUPS)
        return atomic_load(&g->atomics[me]) != 0;
    if (writer / w->group->waves == me / w->group->waves &&
        (last >> 20 & 0xfff) != (w->strict->epoch & 0xfff))
        return true;
    return atomic_load(&g->atomics[writer]) != then && atomic_load(&g->atomics[me]) != 0;
}

/* Loads of at least the device's scope, which compilers make for atomic and volatile ones only. */
static bool is_atomic_load(const struct emu_wave *w)
{
    const struct emu_insn *insn = w->op->insn;
    unsigned scope = emu_is_gfx94(insn->family) ? EMU_M_SCC : EMU_M_GLC;

    return insn->enc != EMU_SMEM && insn->flags & EMU_F_LOAD && insn->mem & scope;
}

/* A record of an access of this wave, now. */
static uint64_t record(const struct emu_wave *w, struct emu_strict_global *g, uint64_t me,
                       uint64_t bytes)
{
    return (me + 1) << 32 | (uint64_t)(w->strict->epoch & 0xfff) << 20 |
           (uint64_t)atomic_load(&g->atomics[me]) << 4 | bytes;
}

/* One dword of an access: where its records lie, and which of its bytes are meant. */
struct touch {
    struct emu_wave *w;
    struct emu_strict_global *g;
    uint64_t me, address, bytes; /* address of the first byte, bytes as a mask */
    word *write, *read;
    int lane;
};

static void hand_over(const struct touch *t)
{
    uint64_t last = atomic_load_explicit(t->write, memory_order_relaxed), writer = (last >> 32) - 1;

    if (!last || writer == t->me || !(last & t->bytes) || is_ordered(t->w, t->g, last, t->me))
        return;
    atomic_fetch_add(&t->g->atomics[writer], 1);
    atomic_fetch_add(&t->g->atomics[t->me], 1);
}

/*
 * Another thread of the host may have stored the flag that this wave loaded last between the check
 * of that load and the load itself: before a fault it is looked at once more.
 */
static bool late_hand_over(const struct touch *t, uint64_t last)
{
    uint64_t at = t->w->strict->polled;
    struct touch flag = *t;
    struct page *p = at ? find(t->g, at / 4096) : NULL;
    struct words *x = p ? split(t->g, p, at / 16 % PAGE_QUADS) : NULL;

    if (!x)
        return false;
    flag.bytes = 15;
    flag.write = &x->writes[at / 4 % PAGE_WORDS];
    hand_over(&flag);
    return is_ordered(t->w, t->g, last, t->me);
}

static void check_write(const struct touch *t, enum emu_access access)
{
    uint64_t last = atomic_load_explicit(t->write, memory_order_relaxed), writer = (last >> 32) - 1;
    const uint64_t common = last & t->bytes;
    unsigned waves = t->w->group->waves;
    const struct emu_block *b;

    if (!last || writer == t->me || !(last & t->bytes) || is_ordered(t->w, t->g, last, t->me) ||
        late_hand_over(t, last))
        return;
    b = emu_mem_find(t->w->group->launch->memory, t->address, 1);
    if (access == EMU_WRITE && b) {
        const uint64_t at =
            t->address + (unsigned)(__builtin_ctzll(common) - __builtin_ctzll(t->bytes));
        emu_strict_rewrite(t->w, EMU_SPACE_GLOBAL, t->lane, at,
                           (unsigned)__builtin_popcountll(common), b->host + (at - b->base),
                           writer);
    } else
        emu_fault(t->w, t->lane < 0 ? 0 : UINT64_C(1) << t->lane,
                  "data race in device memory at 0x%llx: read here, written by wave %llu of "
                  "workgroup number %llu in the same launch",
                  (unsigned long long)t->address, (unsigned long long)(writer % waves),
                  (unsigned long long)(writer / waves));
}

static void check_readers(const struct touch *t)
{
    uint64_t last = atomic_load_explicit(t->read, memory_order_relaxed);
    uint64_t reader = (last >> 32 & 0x3fffffff) - 1;
    unsigned waves = t->w->group->waves;

    if (!last || !(last & t->bytes) || (reader == t->me && !(last & SEVERAL_WAVES)) ||
        is_ordered(t->w, t->g, last, t->me) || late_hand_over(t, last))
        return;
    if (last & SEVERAL_WAVES)
        emu_fault(
            t->w, t->lane < 0 ? 0 : UINT64_C(1) << t->lane,
            "data race in device memory at 0x%llx: written here, read by several waves in the "
            "same launch",
            (unsigned long long)t->address);
    emu_fault(t->w, t->lane < 0 ? 0 : UINT64_C(1) << t->lane,
              "data race in device memory at 0x%llx: written here, read by wave %llu of workgroup "
              "number %llu in the same launch",
              (unsigned long long)t->address, (unsigned long long)(reader % waves),
              (unsigned long long)(reader / waves));
}

/* What a record of readers becomes. */
static uint64_t next_read(const struct touch *t, uint64_t last)
{
    uint64_t now = record(t->w, t->g, t->me, t->bytes);
    uint64_t reader = (last >> 32 & 0x3fffffff) - 1, both = last & t->bytes;
    unsigned waves = t->w->group->waves;

    if (last == now)
        return now;
    if (last && reader == t->me && !(last & SEVERAL_WAVES))
        now |= last & 15;
    else if (last && both && !is_ordered(t->w, t->g, last, t->me))
        now = (now & ~UINT64_C(15)) | both | SEVERAL_WAVES | (last & SEVERAL_GROUPS) |
              (reader / waves != t->me / waves ? SEVERAL_GROUPS : 0);
    return now;
}

static void note_read(const struct touch *t)
{
    uint64_t last = atomic_load_explicit(t->read, memory_order_relaxed);
    uint64_t now = next_read(t, last);

    if (now != last)
        atomic_store_explicit(t->read, now, memory_order_relaxed);
}

/* Several groups have read all of it: nothing is left to note, but by who may have waited. */
static bool is_known(uint64_t last, bool handed)
{
    return !handed && last & SEVERAL_WAVES && last & SEVERAL_GROUPS && (last & 15) == 15;
}

/* What many records of whole dwords become; mostly they are the same. */
struct memo {
    uint64_t last, now;
    bool handed;
};

/* Notes a read of a whole line or quad; false when it is split or must be. */
static bool note_whole(const struct touch *t, word *whole, struct memo *memo)
{
    uint64_t last = atomic_load_explicit(whole, memory_order_relaxed);

    while (last != SPLIT && !is_written(last) && !is_known(last, memo->handed)) {
        if (last != memo->last) {
            memo->last = last;
            memo->now = next_read(t, last);
        }
        if (memo->now == last)
            return true;
        if (t->g->alone) {
            atomic_store_explicit(whole, memo->now, memory_order_relaxed);
            return true;
        }
        if (atomic_compare_exchange_strong(whole, &last, memo->now))
            return true;
    }
    return last != SPLIT && !is_written(last);
}

static void note_write(const struct touch *t)
{
    uint64_t last = atomic_load_explicit(t->write, memory_order_relaxed);
    uint64_t now = record(t->w, t->g, t->me, t->bytes);

    if ((last >> 20) == (now >> 20))
        now |= last & 15;
    atomic_store_explicit(t->write, now, memory_order_relaxed);
}

void emu_strict_global_access(struct emu_wave *w, enum emu_access access, int lane,
                              uint64_t address, unsigned bytes)
{
    struct touch t = {w, w->group->strict->global, wave_number(w), 0, 0, NULL, NULL, lane};
    struct page *p = NULL;
    struct words *x;

    if (access == EMU_RMW)
        atomic_fetch_add(&t.g->atomics[t.me], 1);
    for (uint64_t end = address + bytes; address < end;) {
        unsigned first = address & 3;
        unsigned n = 4 - first < end - address ? 4 - first : (unsigned)(end - address);

        if (!p || p->number != address / 4096)
            p = find(t.g, address / 4096);
        x = p ? split(t.g, p, address / 16 % PAGE_QUADS) : NULL;
        if (!x)
            return;
        t.address = address;
        t.bytes = ((1u << n) - 1) << first;
        t.write = &x->writes[address / 4 % PAGE_WORDS];
        t.read = &x->reads[address / 4 % PAGE_WORDS];
        address += n;
        if (access == EMU_RMW || (access == EMU_READ && is_atomic_load(w))) {
            hand_over(&t);
            w->strict->polled = t.address & ~UINT64_C(3);
            continue;
        }
        check_write(&t, access);
        if (access == EMU_READ) {
            note_read(&t);
        } else {
            check_readers(&t);
            note_write(&t);
        }
    }
}

/* Dwords that nobody has written and that all have one record of their readers. */
static bool only_read(const word *write, const word *read, unsigned words)
{
    uint64_t last = atomic_load_explicit(read, memory_order_relaxed);

    for (unsigned i = 0; i < words; i++)
        if (atomic_load_explicit(&write[i], memory_order_relaxed) ||
            atomic_load_explicit(&read[i], memory_order_relaxed) != last)
            return false;
    return true;
}

/* The next record is then the same for all of them; often it is the one that stands there. */
static void note_alike(const struct touch *t, bool handed, unsigned words)
{
    uint64_t last = atomic_load_explicit(t->read, memory_order_relaxed), now;

    if (is_known(last, handed))
        return;
    note_read(t);
    now = atomic_load_explicit(t->read, memory_order_relaxed);
    for (unsigned i = 1; i < words && now != last; i++)
        atomic_store_explicit(&t->read[i], now, memory_order_relaxed);
}

/* A read of some dwords, which may be split. */
static void read_words(struct touch *t, struct page *p, unsigned words, bool handed)
{
    unsigned i = t->address / 4 % PAGE_WORDS;
    struct words *x = p && i + words <= PAGE_WORDS ? split(t->g, p, i / 4) : NULL;

    if (x && (i + words - 1) / 4 != i / 4)
        x = split(t->g, p, (i + words - 1) / 4);
    if (x && !(t->address & 3)) {
        t->write = &x->writes[i];
        t->read = &x->reads[i];
        if (only_read(t->write, t->read, words)) {
            note_alike(t, handed, words);
            return;
        }
    }
    emu_strict_global_access(t->w, EMU_READ, t->lane, t->address, 4 * words);
}

/* Four lanes read 16 bytes each that follow each other. */
static bool is_line(const uint32_t *at)
{
    return at[1] - at[0] == 16 && at[2] - at[0] == 32 && at[3] - at[0] == 48;
}

/* Notes a write of a whole line or quad; false when anybody but this wave's writes touched it. */
static bool note_whole_write(const struct touch *t, word *whole)
{
    uint64_t last = atomic_load_explicit(whole, memory_order_relaxed);
    uint64_t now = record(t->w, t->g, t->me, 15) | WRITTEN;

    do {
        if (last && (!is_written(last) || (last >> 32 & 0x3fffffff) != t->me + 1))
            return false;
    } while (!atomic_compare_exchange_weak(whole, &last, now));
    return true;
}

/* All lanes write 16 bytes. */
static bool write_quads(struct touch *t, uint64_t address, const uint32_t *at)
{
    struct page *p = NULL;
    struct quads *q;

    for (unsigned l = 0; l < t->w->lanes; l++) {
        unsigned line;

        t->address = address + at[l];
        line = t->address / 64 % PAGE_LINES;
        if (!p || p->number != t->address / 4096)
            p = find(t->g, t->address / 4096);
        if (!p || t->address & 15)
            return false;
        if (l % 4 == 0 && !(t->address & 63) && is_line(at + l) &&
            note_whole_write(t, &p->lines[line])) {
            l += 3;
            continue;
        }
        q = split_line(t->g, p, line);
        if (!q || !note_whole_write(t, &q->quad[t->address / 16 % PAGE_QUADS]))
            return false;
    }
    return true;
}

bool emu_strict_global_dense(struct emu_wave *w, enum emu_access access, uint64_t address,
                             const uint32_t *at, unsigned words)
{
    struct touch t = {w, w->group->strict->global, wave_number(w), 0, 15, NULL, NULL, 0};
    struct memo memo = {SPLIT, 0, atomic_load(&t.g->atomics[t.me]) != 0};
    struct page *p = NULL;

    if (access == EMU_READ && is_atomic_load(w))
        return false;
    if (access != EMU_READ)
        return access == EMU_WRITE && words == 4 && write_quads(&t, address, at);
    for (unsigned l = 0; l < w->lanes; l++) {
        struct quads *q = NULL;
        unsigned line;

        t.address = address + at[l];
        t.lane = (int)l;
        line = t.address / 64 % PAGE_LINES;
        if (!p || p->number != t.address / 4096)
            p = find(t.g, t.address / 4096);
        if (p && words == 4 && l % 4 == 0 && !(t.address & 63) && is_line(at + l) &&
            note_whole(&t, &p->lines[line], &memo)) {
            l += 3;
            continue;
        }
        if (p && words == 4 && !(t.address & 15))
            q = split_line(t.g, p, line);
        if (!q || !note_whole(&t, &q->quad[t.address / 16 % PAGE_QUADS], &memo))
            read_words(&t, p, words, memo.handed);
    }
    return true;
}
