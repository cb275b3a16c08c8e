/*
 * Strict mode: data races in device memory within one launch.
 *
 * The last write to each dword is kept. Another wave's access to it is ordered when both waves are
 * of one workgroup with a barrier in between, or when the writer did an atomic after its write and
 * the other wave did one before its access (a hand-over by flag or counter). A write after another
 * wave's read is found when the workgroups run in another order, which AOTHIP_EMU_SEED chooses.
 */
#include <pthread.h>
#include <stdlib.h>

#include "emu_strict.h"

enum { PAGE_WORDS = 1024, BUCKETS = 4096 };

/* wave number + 1 in bits 32..63, barriers passed in 20..31, atomics done in 4..19, bytes in 0..3
 */
typedef _Atomic uint64_t word;

struct page {
    uint64_t number; /* address / 4096 */
    struct page *next;
    word words[PAGE_WORDS];
};

struct emu_strict_global {
    _Atomic(struct page *) bucket[BUCKETS];
    pthread_mutex_t lock;      /* of insertions */
    _Atomic uint16_t *atomics; /* of each wave of the launch */
};

struct emu_strict_global *emu_strict_global_new(uint64_t waves)
{
    struct emu_strict_global *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    g->atomics = calloc(waves, sizeof *g->atomics);
    if (!g->atomics) {
        free(g);
        return NULL;
    }
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

void emu_strict_global_free(struct emu_strict_global *g)
{
    if (!g)
        return;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct page *p = atomic_load(&g->bucket[i]), *next; p; p = next) {
            next = p->next;
            free(p);
        }
    pthread_mutex_destroy(&g->lock);
    free(g->atomics);
    free(g);
}

static struct page *look_up(struct emu_strict_global *g, uint64_t number)
{
    struct page *p = atomic_load_explicit(&g->bucket[number % BUCKETS], memory_order_acquire);

    while (p && p->number != number)
        p = p->next;
    return p;
}

/* The page, made when it is new; NULL when memory is out, and then nothing is checked there. */
static struct page *find(struct emu_strict_global *g, uint64_t number)
{
    struct page *p = look_up(g, number);

    if (p)
        return p;
    pthread_mutex_lock(&g->lock);
    p = look_up(g, number);
    if (!p && (p = calloc(1, sizeof *p))) {
        p->number = number;
        p->next = atomic_load(&g->bucket[number % BUCKETS]);
        atomic_store_explicit(&g->bucket[number % BUCKETS], p, memory_order_release);
    }
    pthread_mutex_unlock(&g->lock);
    return p;
}

static uint64_t wave_number(const struct emu_wave *w)
{
    const struct emu_group *g = w->group;
    const struct emu_launch *l = g->launch;

    return (((uint64_t)g->id[2] * l->grid[1] + g->id[1]) * l->grid[0] + g->id[0]) * g->waves +
           w->index;
}

static bool is_ordered(const struct emu_wave *w, struct emu_strict_global *g, uint64_t last,
                       uint64_t me)
{
    uint64_t writer = (last >> 32) - 1;
    uint16_t then = (uint16_t)(last >> 4);

    if (writer / w->group->waves == me / w->group->waves &&
        (last >> 20 & 0xfff) != (w->strict->epoch & 0xfff))
        return true;
    return atomic_load(&g->atomics[writer]) != then && atomic_load(&g->atomics[me]) != 0;
}

static void check(struct emu_wave *w, struct emu_strict_global *g, word *x, uint64_t address,
                  uint64_t bytes, enum emu_access access, int lane)
{
    uint64_t me = wave_number(w), last = atomic_load_explicit(x, memory_order_relaxed);
    uint64_t writer = last >> 32;

    if (writer && writer - 1 != me && last & bytes && !is_ordered(w, g, last, me))
        emu_fault(w, lane < 0 ? 0 : UINT64_C(1) << lane,
                  "data race in device memory at 0x%llx: %s, written by wave %llu of workgroup "
                  "number %llu in the same launch",
                  (unsigned long long)address, access == EMU_READ ? "read here" : "written here",
                  (unsigned long long)((writer - 1) % w->group->waves),
                  (unsigned long long)((writer - 1) / w->group->waves));
    if (access == EMU_READ)
        return;
    if (writer - 1 == me && (last >> 20 & 0xfff) == (w->strict->epoch & 0xfff))
        bytes |= last & 15;
    atomic_store_explicit(x,
                          (me + 1) << 32 | (uint64_t)(w->strict->epoch & 0xfff) << 20 |
                              (uint64_t)atomic_load(&g->atomics[me]) << 4 | bytes,
                          memory_order_relaxed);
}

void emu_strict_global_access(struct emu_wave *w, enum emu_access access, int lane,
                              uint64_t address, unsigned bytes)
{
    struct emu_strict_global *g = w->group->strict->global;
    struct page *p = NULL;

    if (access == EMU_RMW) {
        atomic_fetch_add(&g->atomics[wave_number(w)], 1);
        return;
    }
    for (uint64_t end = address + bytes; address < end;) {
        unsigned first = address & 3;
        unsigned n = 4 - first < end - address ? 4 - first : (unsigned)(end - address);

        if (!p || p->number != address / 4096)
            p = access == EMU_READ ? look_up(g, address / 4096) : find(g, address / 4096);
        if (p)
            check(w, g, &p->words[address / 4 % PAGE_WORDS], address, ((1u << n) - 1) << first,
                  access, lane);
        address += n;
    }
}
