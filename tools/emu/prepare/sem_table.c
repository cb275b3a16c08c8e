/*
 * From semantic names to handlers: the sorted table of all rows, in the lanes of the host level.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

extern const struct emu_lanes emu_lanes_32_base, emu_lanes_64_base;
#if defined(__x86_64__)
extern const struct emu_lanes emu_lanes_32_v3, emu_lanes_64_v3, emu_lanes_32_v4, emu_lanes_64_v4;
#endif

const struct emu_lanes *emu_lanes_for(unsigned wave)
{
#if defined(__x86_64__)
    if (emu_host() == EMU_HOST_AVX512)
        return wave == 64 ? &emu_lanes_64_v4 : &emu_lanes_32_v4;
    if (emu_host() == EMU_HOST_AVX2)
        return wave == 64 ? &emu_lanes_64_v3 : &emu_lanes_32_v3;
#endif
    return wave == 64 ? &emu_lanes_64_base : &emu_lanes_32_base;
}

struct entry {
    const char *name;
    struct emu_binding binding;
};

/* One table for each wave size; never freed. */
static struct entry *table[2];
static size_t entries[2];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static size_t add_sems(struct entry *t, const struct emu_sem *s)
{
    size_t n = 0;

    for (; s->name; s++, n++)
        if (t)
            t[n] = (struct entry){s->name, {s, NULL}};
    return n;
}

static size_t add_rows(struct entry *t, const struct emu_vrow *r)
{
    size_t n = 0;

    for (; r->name; r++, n++)
        if (t)
            t[n] = (struct entry){r->name, {NULL, r}};
    return n;
}

static size_t add_all(struct entry *t, unsigned wave)
{
    static const struct emu_sem *const sems[] = {emu_sem_scalar, emu_sem_flow,   emu_sem_fork,
                                                 emu_sem_cross,  emu_sem_scaled, emu_sem_memory,
                                                 emu_sem_matrix, emu_sem_barriers};
    size_t n = add_rows(t, emu_lanes_for(wave)->rows);

    for (size_t i = 0; i < sizeof sems / sizeof *sems; i++)
        n += add_sems(t ? t + n : NULL, sems[i]);
    return n;
}

static void build(void)
{
    for (unsigned i = 0; i < 2; i++) {
        size_t n = add_all(NULL, i ? 64 : 32);

        table[i] = malloc(n * sizeof *table[i]);
        if (!table[i])
            continue;
        add_all(table[i], i ? 64 : 32);
        qsort(table[i], n, sizeof *table[i], by_name);
        entries[i] = n;
    }
}

struct emu_binding emu_bind(const char *name, unsigned wave)
{
    unsigned relative = emu_relative_kind(name);
    struct entry key = {relative && !(relative & EMU_RELATIVE_SWAP) ? "v_mov_b32" : name,
                        {NULL, NULL}},
                 *found;

    pthread_once(&once, build);
    found = bsearch(&key, table[wave == 64], entries[wave == 64], sizeof key, by_name);
    return found ? found->binding : key.binding;
}
