/*
 * The state in which a wave starts: kernel arguments, workgroup and work-item numbers, MODE, EXEC.
 */
#include <string.h>

#include "program.h"
#include "memory_map.h"

/* kernel_code_properties and rsrc2, as the code object's kernel descriptor has them. */
enum {
    PROP_PRIVATE_BUFFER = 1 << 0,
    PROP_DISPATCH_PTR = 1 << 1,
    PROP_QUEUE_PTR = 1 << 2,
    PROP_KERNARG_PTR = 1 << 3,
    PROP_DISPATCH_ID = 1 << 4,
    PROP_FLAT_SCRATCH = 1 << 5,
    PROP_PRIVATE_SIZE = 1 << 6,
    RSRC2_SCRATCH_OFFSET = 1 << 0,
    RSRC2_ID_X = 1 << 7,
    RSRC2_INFO = 1 << 10
};

static unsigned put64(struct emu_wave *w, unsigned i, uint64_t x)
{
    emu_set_s64(w, i, x);
    return i + 2;
}

/* Kernel arguments that the descriptor asks to have in registers; the loader has checked that they
 * lie inside the argument segment. */
static unsigned preload(struct emu_wave *w, unsigned i)
{
    const struct emu_launch *l = w->group->launch;
    unsigned n = l->kernel->preload & 127;
    uint64_t at = l->kernarg + 4 * (l->kernel->preload >> 7);
    const struct emu_block *b = n ? emu_mem_find(l->memory, at, 4 * (uint64_t)n) : NULL;

    if (b)
        memcpy(&w->s[i], b->host + (at - b->base), 4 * (size_t)n);
    return b ? i + n : i;
}

static void user_sgprs(struct emu_wave *w)
{
    const struct emu_launch *l = w->group->launch;
    unsigned p = l->kernel->properties, i = 0;

    if (p & PROP_PRIVATE_BUFFER) {
        i = put64(w, i, 0);
        i = put64(w, i, (uint64_t)EMU_SCRATCH_RSRC3 << 32 | 0xffffffff);
    }
    if (p & PROP_DISPATCH_PTR)
        i = put64(w, i, l->dispatch_packet);
    if (p & PROP_QUEUE_PTR)
        i = put64(w, i, 0);
    if (p & PROP_KERNARG_PTR)
        i = put64(w, i, l->kernarg);
    if (p & PROP_DISPATCH_ID)
        i = put64(w, i, 0);
    if (p & PROP_FLAT_SCRATCH)
        i = put64(w, i, 0);
    i = preload(w, i);
    if (p & PROP_PRIVATE_SIZE)
        w->s[i] = l->kernel->scratch_lane;
}

/* They stand at the user count of the descriptor, not behind the last used user register. */
static void system_sgprs(struct emu_wave *w)
{
    const struct emu_group *g = w->group;
    uint32_t rsrc2 = g->kernel->rsrc2;
    unsigned i = rsrc2 >> 1 & 31;

    if (g->kernel->family >= EMU_GFX12) { /* numbers of the workgroup are in trap registers */
        w->s[EMU_S_TTMP + 9] = g->id[0];
        w->s[EMU_S_TTMP + 7] = g->id[1] | g->id[2] << 16;
        return;
    }
    for (unsigned axis = 0; axis < 3; axis++)
        if (rsrc2 & RSRC2_ID_X << axis)
            w->s[i++] = g->id[axis];
    if (rsrc2 & RSRC2_INFO)
        w->s[i++] = 0;
    if (rsrc2 & RSRC2_SCRATCH_OFFSET && g->kernel->family == EMU_GFX90A)
        w->s[i] = 0;
}

/* v0 = x | y << 10 | z << 20, as far as the descriptor asks for y and z; x runs fastest. */
static void work_items(struct emu_wave *w)
{
    const struct emu_launch *l = w->group->launch;
    unsigned first = w->index * w->lanes, axes = w->group->kernel->rsrc2 >> 11 & 3;
    uint64_t total = (uint64_t)l->block[0] * l->block[1] * l->block[2], exec = 0;

    for (unsigned lane = 0; lane < w->lanes; lane++) {
        uint32_t item = first + lane, x = item % l->block[0], yz = item / l->block[0];
        uint32_t y = yz % l->block[1], z = yz / l->block[1];

        if (item < total)
            exec |= UINT64_C(1) << lane;
        w->v[lane] = x | (axes >= 1 ? y << 10 : 0) | (axes >= 2 ? z << 20 : 0);
    }
    emu_set_s64(w, EMU_S_EXEC, exec);
}

void emu_init_wave(struct emu_wave *w)
{
    const struct emu_kernel *k = w->group->kernel;
    const struct emu_program *p = k->program;
    const struct emu_launch *l = w->group->launch;
    uint64_t place =
        ((uint64_t)w->group->id[2] * l->grid[1] + w->group->id[1]) * l->grid[0] + w->group->id[0];

    /* a quiet NaN that is easy to recognise: what a register holds before it is written */
    for (unsigned i = 0; i < w->lanes; i++)
        w->v[i] = 0x7fc0dead;
    for (unsigned r = 1; r < k->vgprs; r++)
        memcpy(emu_row(w, r), w->v, w->lanes * sizeof *w->v);
    for (unsigned i = 0; i < EMU_S_VCC; i++)
        w->s[i] = 0x7fc0dead;
    memset(w->s + EMU_S_VCC, 0, (EMU_S_CONST - EMU_S_VCC) * sizeof *w->s);
    w->ip = p->ops + k->start / 4;
    w->op = w->ip;
    w->scc = 0;
    w->attention = l->matrix == EMU_MATRIX_ADVERSARIAL ? EMU_A_ADVERSARIAL : 0;
    w->trapsts = w->status = 0;
    w->state = EMU_RUNNING;
    w->signalled = false;
    w->executed = 0;
    w->mask_exec = 0;
    memset(w->mask, 0, w->lanes * sizeof *w->mask);
    w->rng = (l->seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (place << 6 | w->index);
    w->rng |= !w->rng;
    /* round and denormal fields; DX10_CLAMP, IEEE; FP16_OVFL. gfx12 is always as with the two. */
    emu_set_mode(w, (k->rsrc1 >> 12 & 0xff) | (k->rsrc1 >> 26 & 1) << 23 |
                        (k->family >= EMU_GFX12
                             ? 3u << 8
                             : (k->rsrc1 >> 21 & 1) << 8 | (k->rsrc1 >> 23 & 1) << 9));
    user_sgprs(w);
    system_sgprs(w);
    work_items(w);
}
