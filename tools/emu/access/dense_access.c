/* Memory instructions of whole waves: finds and checks the lanes' bytes all at once. */
#include "dense_access.h"

#include <string.h>

#include "memory_map.h"
#include "program.h"

static const struct emu_dense_fns *functions(const struct emu_wave *w)
{
    return &emu_program_of(w)->lanes->dense;
}

/* Counting bank conflicts and transactions needs every lane's address. */
static bool suits(const struct emu_wave *w)
{
    return emu_exec(w) == emu_all_lanes(w) && !w->group->count_memory;
}

/* Poison of what is read must be dealt with byte by byte. */
static bool reads_poison(const struct emu_wave *w, const struct emu_dense *x, unsigned words,
                         enum emu_access access)
{
    return access == EMU_READ && x->shadow &&
           !functions(w)->shadow_is(x->shadow, x->at, words, x->clean);
}

bool emu_dense_lds(struct emu_wave *w, const struct emu_op *op, unsigned offset, unsigned words,
                   enum emu_access access, struct emu_dense *x)
{
    struct emu_group *g = w->group;
    uint32_t span[2];

    if (!suits(w))
        return false;
    functions(w)->offsets(x->at, emu_row(w, op->s[0]), offset, span);
    if ((uint64_t)span[1] + 4 * words > g->lds_size)
        return false;
    x->base = g->lds;
    x->shadow = g->lds_poison;
    x->clean = 0;
    return !w->strict || (!reads_poison(w, x, words, access) &&
                          w->group->watch->lds_dense(w, access, x->at, words, span));
}

/* Blocks stay where they are during a launch; kernels read two of them in turn, such as K and V. */
static const struct emu_block *block_at(struct emu_group *g, uint64_t address, uint64_t n)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct emu_block *b = g->block[i];

        if (b && address - b->base < b->size && n <= b->size - (address - b->base))
            return b;
    }
    g->older ^= 1;
    g->block[g->older] = emu_mem_find(g->launch->memory, address, n);
    return g->block[g->older];
}

/* The lanes lie behind p, offset 0 need not. */
static uint8_t *before(uint8_t *p, uint64_t n)
{
    return (uint8_t *)((uintptr_t)p - (uintptr_t)n);
}

bool emu_dense_device(struct emu_wave *w, uint64_t address, const uint32_t *v, uint32_t add,
                      uint64_t limit, unsigned words, enum emu_access access, struct emu_dense *x)
{
    const struct emu_block *b;
    uint32_t span[2];

    if (!suits(w))
        return false;
    functions(w)->offsets(x->at, v, add, span);
    if ((uint64_t)span[1] + 4 * words > limit)
        return false;
    b = block_at(w->group, address + span[0], (uint64_t)span[1] - span[0] + 4 * words);
    if (!b || b->kind != EMU_BLOCK_DEVICE || (!w->strict && b->init && access != EMU_READ))
        return false;
    x->base = before(b->host, b->base - address);
    x->shadow = w->strict && b->init ? before(b->init, b->base - address) : NULL;
    x->clean = 0xff;
    return !w->strict || (!reads_poison(w, x, words, access) &&
                          w->group->watch->global_dense(w, access, address, x->at, words));
}

bool emu_dense_beyond(struct emu_wave *w, const uint32_t *v, uint32_t add, uint64_t limit,
                      struct emu_dense *x)
{
    static uint8_t zeros[16];
    uint32_t span[2];

    if (!suits(w))
        return false;
    functions(w)->offsets(x->at, v, add, span);
    if (span[0] < limit)
        return false;
    memset(x->at, 0, sizeof x->at);
    x->base = zeros;
    x->shadow = NULL;
    return true;
}

bool emu_dense_global(struct emu_wave *w, const struct emu_op *op, unsigned words,
                      enum emu_access access, struct emu_dense *x)
{
    const uint64_t offset = (uint64_t)(int64_t)op->insn->offset;
    const uint32_t *lo, *hi;
    uint32_t other = 0;

    if (op->s[0] == EMU_NO_ROW)
        return false;
    lo = emu_row(w, op->s[0]);
    hi = lo + w->lanes;
    if (op->s[2] != EMU_NO_ROW)
        return emu_dense_device(w, emu_s64(w, op->s[2]) + offset, lo, 0, UINT64_MAX, words, access,
                                x);
    for (unsigned l = 1; l < w->lanes; l++)
        other |= hi[l] ^ hi[0];
    return !other && emu_dense_device(w, ((uint64_t)hi[0] << 32) + offset, lo, 0, UINT64_MAX, words,
                                      access, x);
}

void emu_dense_load(struct emu_wave *w, unsigned row, unsigned words, const struct emu_dense *x)
{
    functions(w)->read(emu_row(w, row), x->base, x->at, words);
}

bool emu_dense_may_store(const struct emu_wave *w, unsigned row, unsigned words)
{
    for (unsigned r = row; w->strict && r < row + words; r++)
        if (w->vp_dirty[r >> 6] >> (r & 63) & 1)
            return false;
    return true;
}

void emu_dense_store(struct emu_wave *w, unsigned row, unsigned words, const struct emu_dense *x)
{
    functions(w)->write(x->base, x->at, emu_row(w, row), words);
    if (x->shadow)
        functions(w)->shadow_set(x->shadow, x->at, words, x->clean);
}
