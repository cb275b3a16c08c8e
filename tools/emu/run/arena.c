/* Arenas of workers, kept from launch to launch: the kernel need not clear their pages anew. */
#include <pthread.h>
#include <stdlib.h>

#include "arena.h"

enum { KEPT = 8 };
#define KEPT_SIZE ((size_t)16 << 20) /* larger ones go back at once */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct emu_arena kept[KEPT];

struct emu_arena emu_arena_take(size_t size)
{
    struct emu_arena found = {NULL, 0};

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < KEPT && !found.bytes; i++)
        if (kept[i].size >= size) {
            found = kept[i];
            kept[i] = (struct emu_arena){NULL, 0};
        }
    pthread_mutex_unlock(&lock);
    if (!found.bytes && (found.bytes = aligned_alloc(64, size)))
        found.size = size;
    return found;
}

void emu_arena_give(struct emu_arena arena)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < KEPT && arena.size <= KEPT_SIZE; i++)
        if (kept[i].size < arena.size) {
            struct emu_arena smaller = kept[i];

            kept[i] = arena;
            arena = smaller;
        }
    pthread_mutex_unlock(&lock);
    free(arena.bytes);
}

/* Other threads may still be at work when the process ends. */
__attribute__((destructor)) static void free_kept(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < KEPT; i++) {
        free(kept[i].bytes);
        kept[i] = (struct emu_arena){NULL, 0};
    }
    pthread_mutex_unlock(&lock);
}
