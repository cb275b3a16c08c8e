/*
 * The records of accesses to device memory that races are found by: pages of words, which hold what
 * several words have in common for as long as they have it.
 */
#ifndef EMU_STRICT_GLOBAL_RECORDS_H
#define EMU_STRICT_GLOBAL_RECORDS_H

#include <pthread.h>
#include <stdlib.h>

#include "strict.h"

enum { PAGE_WORDS = 1024, PAGE_QUADS = PAGE_WORDS / 4, PAGE_LINES = PAGE_QUADS / 4 };
enum { BUCKETS = 4096 };

/*
 * wave number + 1 in bits 32..61, barriers passed in 20..31, atomics done in 4..19, bytes in 0..3;
 * several readers: bit 63 with the last one's number, and bit 62 when they are of several groups
 */
typedef _Atomic uint64_t word;

#define SEVERAL_WAVES (UINT64_C(1) << 63)
#define SEVERAL_GROUPS (UINT64_C(1) << 62)

struct words {
    word writes[PAGE_WORDS], reads[PAGE_WORDS];
};

struct quads {
    word quad[PAGE_QUADS];
};

/*
 * Most memory is only read, 64 or 16 bytes at a time: such lines and quads have one record of their
 * readers. One that a wave has written as a whole, and nobody else has touched, has a record of
 * that, WRITTEN. Once a line is SPLIT, each of its quads has its own record, and of a SPLIT quad
 * each dword.
 */
struct page {
    uint64_t number; /* address / 4096 */
    struct page *next;
    word lines[PAGE_LINES];
    _Atomic(struct quads *) quads; /* NULL while nothing is split */
    _Atomic(struct words *) words;
};

#define SPLIT UINT64_MAX
/* what records of readers never have without SEVERAL_WAVES */
#define WRITTEN SEVERAL_GROUPS

static inline bool is_written(uint64_t last)
{
    return (last & (SEVERAL_WAVES | SEVERAL_GROUPS)) == WRITTEN;
}

struct emu_strict_global {
    _Atomic(struct page *) bucket[BUCKETS];
    pthread_mutex_t lock;      /* of insertions and splits */
    bool alone;                /* only one thread runs the launch */
    _Atomic uint16_t *atomics; /* of each wave of the launch */
};

static inline struct page *look_up(struct emu_strict_global *g, uint64_t number)
{
    struct page *p = atomic_load_explicit(&g->bucket[number % BUCKETS], memory_order_acquire);

    while (p && p->number != number)
        p = p->next;
    return p;
}

/* The page, made when it is new; NULL when memory is out, and then nothing is checked there. */
static inline struct page *find(struct emu_strict_global *g, uint64_t number)
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

/* Hands a whole's record down to its four parts and marks it; writes: of dwords. The lock is held.
 */
static inline void hand_down(word *whole, word *reads, word *writes)
{
    uint64_t last = atomic_load(whole);

    while (last != SPLIT) {
        for (unsigned i = 0; i < 4; i++) {
            if (writes)
                atomic_store(&writes[i], is_written(last) ? last & ~WRITTEN : 0);
            atomic_store(&reads[i], writes && is_written(last) ? 0 : last);
        }
        if (atomic_compare_exchange_strong(whole, &last, SPLIT))
            break;
    }
}

/* The quads' own records; NULL when memory is out. */
static inline struct quads *split_line(struct emu_strict_global *g, struct page *p, unsigned line)
{
    struct quads *x;

    if (atomic_load_explicit(&p->lines[line], memory_order_acquire) == SPLIT)
        return atomic_load_explicit(&p->quads, memory_order_acquire);
    pthread_mutex_lock(&g->lock);
    x = atomic_load(&p->quads);
    if (!x && (x = calloc(1, sizeof *x)))
        atomic_store(&p->quads, x);
    if (x)
        hand_down(&p->lines[line], &x->quad[4 * line], NULL);
    pthread_mutex_unlock(&g->lock);
    return x;
}

/* The dwords' own records; NULL when memory is out. */
static inline struct words *split(struct emu_strict_global *g, struct page *p, unsigned quad)
{
    struct quads *q = split_line(g, p, quad / 4);
    struct words *x;

    if (!q)
        return NULL;
    if (atomic_load_explicit(&q->quad[quad], memory_order_acquire) == SPLIT)
        return atomic_load_explicit(&p->words, memory_order_acquire);
    pthread_mutex_lock(&g->lock);
    x = atomic_load(&p->words);
    if (!x && (x = calloc(1, sizeof *x)))
        atomic_store(&p->words, x);
    if (x)
        hand_down(&q->quad[quad], &x->reads[4 * quad], &x->writes[4 * quad]);
    pthread_mutex_unlock(&g->lock);
    return x;
}

#endif
