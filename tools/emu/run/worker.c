/* Lays out the registers, scratch and LDS of a workgroup's waves in one piece of memory. */
#include "worker.h"

#include <stdlib.h>
#include <string.h>

static size_t aligned(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static size_t scratch_lane(const struct emu_kernel *k)
{
    return (k->scratch_lane + 15) & ~(size_t)15;
}

static void fill_constants(struct emu_wave *w, const struct emu_program *p)
{
    for (unsigned i = 0; i < p->vconsts; i++)
        for (unsigned l = 0; l < w->lanes; l++)
            emu_row(w, p->row_const + i)[l] = p->vconst[i];
    if (p->sconsts)
        memcpy(w->s + EMU_S_CONST, p->sconst, p->sconsts * sizeof *w->s);
}

/* Sizes of a wave's parts in the arena, each a multiple of 64. */
struct layout {
    size_t rows, mask, scalars, scratch, dirty, strict, wave;
    size_t lds, lds_writes, lds_reads, total;
};

static struct layout lay_out(const struct run *r)
{
    const struct emu_launch *l = r->launch;
    const struct emu_kernel *k = l->kernel;
    const struct emu_program *p = k->program;
    struct layout s = {0};

    s.rows = aligned((size_t)p->rows * k->wave * 4);
    s.mask = aligned(k->wave * 4);
    s.scalars = aligned((EMU_S_CONST + p->sconsts) * 4);
    s.scratch = aligned(scratch_lane(k) * k->wave);
    s.wave = s.rows + s.mask + s.scalars + s.scratch;
    s.lds = aligned(l->lds_bytes);
    if (l->strict) {
        s.dirty = aligned((p->rows + 63) / 64 * 8);
        s.strict = aligned(sizeof(struct emu_strict_wave));
        s.wave += s.rows + s.scalars + s.scratch + s.dirty + s.strict;
        s.lds_writes = aligned((l->lds_bytes / 4 + 1) * sizeof(struct emu_lds_write));
        s.lds_reads = aligned((l->lds_bytes / 4 + 1) * sizeof(struct emu_lds_read));
    }
    s.total = s.wave * r->waves + s.lds * (l->strict ? 2 : 1) + s.lds_writes + s.lds_reads + 64;
    return s;
}

static void *carve(uint8_t **at, size_t n)
{
    void *p = *at;

    *at += n;
    return p;
}

static void place_wave(struct worker *t, unsigned i, const struct layout *s, uint8_t **at)
{
    struct emu_wave *w = &t->wave[i];
    const struct emu_kernel *k = t->run->launch->kernel;

    w->lanes = k->wave;
    w->index = i;
    w->group = &t->group;
    w->escape = &t->escape;
    w->v = carve(at, s->rows);
    w->mask = carve(at, s->mask);
    w->s = carve(at, s->scalars);
    w->scratch = carve(at, s->scratch);
    w->scratch_lane = (uint32_t)scratch_lane(k);
    memset(w->v, 0, s->rows);
    fill_constants(w, k->program);
    if (t->run->launch->strict) {
        w->vp = carve(at, s->rows);
        w->sp = carve(at, s->scalars);
        w->scratch_poison = carve(at, s->scratch);
        w->vp_dirty = carve(at, s->dirty);
        w->strict = carve(at, s->strict);
    }
}

bool emu_worker_make(struct worker *t, struct run *r)
{
    const struct emu_launch *l = r->launch;
    struct layout s = lay_out(r);
    uint8_t *at;

    memset(t, 0, sizeof *t);
    t->run = r;
    t->rng = l->seed * 2 + 1;
    t->wave = calloc(r->waves, sizeof *t->wave);
    t->hits = calloc(l->kernel->program->nops, sizeof *t->hits);
    t->arena = emu_arena_take(s.total);
    at = t->arena.bytes;
    if (!t->wave || !t->hits || !at)
        return false;
    for (unsigned i = 0; i < r->waves; i++)
        place_wave(t, i, &s, &at);
    t->group = (struct emu_group){.launch = r->launch,
                                  .kernel = l->kernel,
                                  .lds = carve(&at, s.lds),
                                  .lds_size = l->lds_bytes,
                                  .waves = r->waves,
                                  .count_memory = l->count_memory,
                                  .unwatched = !l->strict && !l->count_memory,
                                  .wave = t->wave,
                                  .counters = &t->counters};
    if (l->strict) {
        t->group.lds_poison = carve(&at, s.lds);
        t->strict.writes = carve(&at, s.lds_writes);
        t->strict.reads = carve(&at, s.lds_reads);
        t->strict.global = r->global;
        t->group.strict = &t->strict;
        t->group.watch = &emu_strict_watch;
    }
    return true;
}

void emu_worker_free(struct worker *t)
{
    free(t->wave);
    free(t->hits);
    emu_arena_give(t->arena);
}
