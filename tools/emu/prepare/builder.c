/* The growing parts of a program under construction. */
#include <stdlib.h>
#include <string.h>

#include "program.h"

/* Makes room for n more items; the array may move. Marks the builder failed when memory is out. */
static void *grow(struct emu_builder *b, void *array, unsigned used, unsigned n, unsigned *cap,
                  size_t size)
{
    void *bigger;

    if (used + n <= *cap)
        return array;
    bigger = realloc(array, (size_t)(used + n) * 2 * size);
    if (!bigger) {
        b->failed = true;
        return array;
    }
    *cap = (used + n) * 2;
    return bigger;
}

unsigned emu_add_pairs(struct emu_builder *b, unsigned n)
{
    struct emu_program *p = b->program;

    p->pairs = grow(b, p->pairs, p->npairs, n, &b->cap_pairs, sizeof *p->pairs);
    if (b->failed)
        return 0;
    p->npairs += n;
    return p->npairs - n;
}

unsigned emu_add_permute(struct emu_builder *b, const struct emu_permute *x)
{
    struct emu_program *p = b->program;

    p->permutes = grow(b, p->permutes, p->npermutes, 1, &b->cap_permutes, sizeof *p->permutes);
    if (b->failed)
        return 0;
    p->permutes[p->npermutes] = *x;
    return p->npermutes++;
}

/* Appends n words unless the same run of words is there already. */
static unsigned add_words(struct emu_builder *b, uint32_t **words, unsigned *used, unsigned *cap,
                          const uint32_t *x, unsigned n)
{
    for (unsigned i = 0; i + n <= *used; i++)
        if (memcmp(*words + i, x, n * sizeof *x) == 0)
            return i;
    *words = grow(b, *words, *used, n, cap, sizeof **words);
    if (b->failed)
        return 0;
    memcpy(*words + *used, x, n * sizeof *x);
    *used += n;
    return *used - n;
}

unsigned emu_add_vconst(struct emu_builder *b, const uint32_t *x, unsigned n)
{
    struct emu_program *p = b->program;

    return add_words(b, &p->vconst, &p->vconsts, &b->cap_vconst, x, n);
}

unsigned emu_add_sconst(struct emu_builder *b, const uint32_t *x, unsigned n)
{
    struct emu_program *p = b->program;

    return add_words(b, &p->sconst, &p->sconsts, &b->cap_sconst, x, n);
}
