/*
 * Strict mode: looks through a kernel for missing wait states before it runs. Too few of them lie
 * between two instructions, whatever the registers hold; so from each instruction every way on is
 * followed until the longest wait is over. A kernel in which nothing is found needs no counting
 * while it runs, and one in which something is found is counted, since the way may never be taken.
 *
 * An instruction in between that overwrites the register is not taken into account: that errs on
 * the side of counting.
 */
#include <stdlib.h>
#include <string.h>

#include "strict.h"

enum {
    LONGEST_WAIT = 20, /* of matrix results */
    OTHER_WAIT = 5,
    WAIT11 = 6,           /* VALU instructions */
    TRANS11 = 3,          /* as many transcendental ones as three */
    LONGEST_WAY11 = 1024, /* instructions of any kind; then it is left to counting */
    MOST_STEPS = 1 << 22  /* then it is left to counting */
};

struct walk {
    const struct emu_program *program;
    const struct emu_strict_op *ops;
    struct emu_hazards *h;
    uint8_t *seen;   /* instructions that the kernel may reach */
    unsigned *queue; /* those whose successors are not yet seen */
    unsigned queued, steps;
    uint32_t (*states11)[4]; /* gfx11: a bit each of those in which a way has come to an op */
    bool unknown;            /* jumps to addresses in registers */
    struct emu_hazard_way way;
};

/* The ops that may follow; returns how many. */
static unsigned successors(struct walk *k, unsigned i, unsigned next[2])
{
    const struct emu_op *op = &k->program->ops[i];
    const char *sem;
    unsigned n = 0;

    if (!op->insn)
        return 0;
    sem = emu_rows[op->insn->row].sem;
    if (strncmp(sem, "s_endpgm", 8) == 0)
        return 0;
    if (strcmp(sem, "s_setpc_b64") == 0 || strcmp(sem, "s_swappc_b64") == 0 ||
        strcmp(sem, "s_cbranch_g_fork") == 0) {
        k->unknown = true;
        return 0;
    }
    if (strcmp(sem, "s_branch") != 0 && i + op->dwords < k->program->nops)
        next[n++] = i + op->dwords;
    if (op->cls == EMU_C_BRANCH && op->fn != emu_with_specials && op->target >= 0 &&
        (unsigned)op->target < k->program->nops)
        next[n++] = (unsigned)op->target;
    return n;
}

static void find_reachable(struct walk *k, unsigned start)
{
    unsigned next[2];

    k->seen[start] = 1;
    k->queue[k->queued++] = start;
    while (k->queued && !k->unknown) {
        unsigned n = successors(k, k->queue[--k->queued], next);

        for (unsigned i = 0; i < n; i++)
            if (!k->seen[next[i]]) {
                k->seen[next[i]] = 1;
                k->queue[k->queued++] = next[i];
            }
    }
}

/* All ways on from op i, as far as `until` wait states. */
static void follow(struct walk *k, unsigned i, uint32_t until)
{
    unsigned next[2], n = successors(k, i, next);
    uint32_t states = k->h->states, dgemm_last = k->h->dgemm_last;

    for (unsigned j = 0; j < n && !k->h->found; j++) {
        const struct emu_op *op = &k->program->ops[next[j]];
        const struct emu_strict_op *so = &k->ops[next[j]];

        if (++k->steps > MOST_STEPS) {
            k->h->found = true;
            k->way.to = k->way.from;
            return;
        }
        k->h->states = states;
        k->h->dgemm_last = dgemm_last;
        if (!op->insn)
            continue;
        emu_strict_check_hazards(k->h, so, op);
        k->way.to = next[j];
        k->h->states += emu_strict_states(so, op);
        if (so->matrix >= EMU_X_F64_SMALL)
            k->h->dgemm_last = k->h->states;
        if ((int32_t)(until - k->h->states) > 0)
            follow(k, next[j], until);
    }
}

/* Whether what is pending has come to op i for the first time; the queue holds those ops then. */
static bool is_news11(struct walk *k, unsigned i)
{
    const struct emu_hazards11 *x = &k->h->gfx11;
    const unsigned trans = x->trans < TRANS11 ? x->trans : TRANS11;
    const unsigned pending = x->trans ? (x->valus * (TRANS11 + 1) + trans) & 31 : 0;
    const unsigned which = (x->wmma.n ? 2 : 0) + x->cmpx;
    uint32_t *states = k->states11[i];
    const bool news = !(states[which] >> pending & 1);

    if (!(states[0] | states[1] | states[2] | states[3]))
        k->queue[k->queued++] = i;
    states[which] |= UINT32_C(1) << pending;
    return news;
}

static void forget_states11(struct walk *k)
{
    while (k->queued)
        memset(k->states11[k->queue[--k->queued]], 0, sizeof *k->states11);
}

/* gfx11: all ways on, until the VALU instructions or a wait have put an end to it. */
static void follow11(struct walk *k, unsigned i, unsigned steps)
{
    unsigned next[2], n = successors(k, i, next);
    const struct emu_hazards11 now = k->h->gfx11;

    for (unsigned j = 0; j < n && !k->h->found; j++) {
        const struct emu_op *op = &k->program->ops[next[j]];
        const struct emu_strict_op *so = &k->ops[next[j]];

        if (++k->steps > MOST_STEPS || steps == LONGEST_WAY11) {
            k->h->found = true;
            k->way.to = k->way.from;
            return;
        }
        k->h->gfx11 = now;
        if (!op->insn)
            continue;
        emu_strict_check_hazards11(k->h, so, op);
        k->way.to = next[j];
        emu_strict_pass11(k->h, so, op);
        if (((k->h->gfx11.trans && k->h->gfx11.valus <= WAIT11 && !k->h->gfx11.drained) ||
             k->h->gfx11.wmma.n || k->h->gfx11.cmpx) &&
            is_news11(k, next[j]))
            follow11(k, next[j], steps + 1);
    }
}

/* Takes back what one op has noted. */
static void forget(struct emu_hazards *h, const struct emu_strict_op *so)
{
    static const struct emu_written never;

    for (unsigned i = 0; i < so->nread; i++)
        for (unsigned r = 0; r < so->read[i].n; r++)
            h->row[so->read[i].first + r] = never;
    for (unsigned i = 0; i < so->nwrite; i++)
        for (unsigned r = 0; r < so->write[i].n; r++)
            h->row[so->write[i].first + r] = never;
    memset(h->valu_sgpr, 0, sizeof h->valu_sgpr);
    memset(h->hot, 0, sizeof h->hot);
    memset(h->setreg, 0, sizeof h->setreg);
    memset(&h->gfx11, 0, sizeof h->gfx11);
    h->hot_until = h->valu_exec = h->salu_m0 = h->valu_last = 0;
    h->dgemm_last = h->store_last = 0;
}

static bool begins11(const struct emu_hazards *h, const struct emu_strict_op *so)
{
    return so->kind == EMU_K_MATRIX || (so->is_trans && h->family == EMU_GFX11) || h->gfx11.cmpx;
}

static void follow_all(struct walk *k)
{
    for (unsigned i = 0; i < k->program->nops && !k->h->found; i++) {
        const struct emu_strict_op *so = &k->ops[i];

        if (!k->seen[i] || !k->program->ops[i].insn)
            continue;
        k->h->states = 0;
        k->way = (struct emu_hazard_way){i, i};
        emu_strict_check_hazards(k->h, so, &k->program->ops[i]); /* what it lacks by itself */
        emu_strict_note_hazards(k->h, so, &k->program->ops[i]);
        k->h->states = 1; /* when the op is over, however long it is */
        if (k->h->family < EMU_GFX11)
            follow(k, i, 1 + (so->kind == EMU_K_MATRIX ? LONGEST_WAIT : OTHER_WAIT));
        else if (begins11(k->h, so))
            follow11(k, i, 0);
        forget_states11(k);
        forget(k->h, so);
    }
}

bool emu_strict_may_hazard(const struct emu_kernel *k, const struct emu_strict_op *ops,
                           struct emu_hazard_way *way)
{
    struct walk walk = {.program = k->program, .ops = ops};
    bool found = true;

    /* what may lack there takes three instructions or more to tell */
    if (k->family >= EMU_GFX12 || (k->family >= EMU_GFX11 && k->wave == 64))
        return true;
    walk.h = calloc(1, sizeof *walk.h);
    walk.seen = calloc(k->program->nops, sizeof *walk.seen);
    walk.queue = calloc(k->program->nops, sizeof *walk.queue);
    walk.states11 = calloc(k->program->nops, sizeof *walk.states11);
    if (walk.h && walk.seen && walk.queue && walk.states11) {
        walk.h->family = k->family;
        walk.h->rows = k->vgprs;
        find_reachable(&walk, (unsigned)(k->start / 4));
        if (!walk.unknown)
            follow_all(&walk);
        found = walk.unknown || walk.h->found;
    }
    *way = walk.way;
    free(walk.h);
    free(walk.seen);
    free(walk.queue);
    free(walk.states11);
    return found;
}
