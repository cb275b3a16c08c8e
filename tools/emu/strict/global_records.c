/* Makes and frees the records of one launch. */
#include "global_records.h"

struct emu_strict_global *emu_strict_global_new(uint64_t waves, bool alone)
{
    struct emu_strict_global *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    g->atomics = calloc(waves, sizeof *g->atomics);
    if (!g->atomics) {
        free(g);
        return NULL;
    }
    g->alone = alone;
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
            free(atomic_load(&p->quads));
            free(atomic_load(&p->words));
            free(p);
        }
    pthread_mutex_destroy(&g->lock);
    free(g->atomics);
    free(g);
}
