/*
 * Sparse matrix products of gfx12, in wave32 and wave64: every type, every part of the index
 * register, signs, saturation. Operands lie in the window as those of test_semantics_matrix.
 */
#include "test_semantics_tiles.h"

#ifndef MATRIX_MODE
#define MATRIX_MODE "f32"
#endif

enum { A_AT = 0, B_AT = 2048, D_AT = 4096, INDEX_AT = 12288 };

static const struct row {
    const char *name;
    unsigned k;
    enum oracle_element a, b, d;
} swmmacs[] = {
    {"f32_16x16x32_f16", 32, M_F16, M_F16, M_F32},
    {"f32_16x16x32_bf16", 32, M_BF16, M_BF16, M_F32},
    {"f16_16x16x32_f16", 32, M_F16, M_F16, M_F16},
    {"bf16_16x16x32_bf16", 32, M_BF16, M_BF16, M_BF16},
    {"i32_16x16x32_iu8", 32, M_I8, M_I8, M_I32},
    {"i32_16x16x32_iu4", 32, M_I4, M_I4, M_I32},
    {"i32_16x16x64_iu4", 64, M_I4, M_I4, M_I32},
    {"f32_16x16x32_fp8_fp8", 32, M_FP8_OCP, M_FP8_OCP, M_F32},
    {"f32_16x16x32_fp8_bf8", 32, M_FP8_OCP, M_BF8_OCP, M_F32},
    {"f32_16x16x32_bf8_fp8", 32, M_BF8_OCP, M_FP8_OCP, M_F32},
    {"f32_16x16x32_bf8_bf8", 32, M_BF8_OCP, M_BF8_OCP, M_F32},
};

/* What a case needs beyond its row; lives as long as the list. */
struct plan {
    struct oracle_product p;
    struct oracle_sparse s;
    enum numbers numbers;
    bool extreme; /* D is near the ends of 32 bits */
    unsigned a_regs, b_regs, d_regs;
};

static void prepare(const struct sem_case *c, struct oracle_wave *w,
                    const struct sem_memory *memory)
{
    const struct plan *p = c->row;
    uint8_t *window = ((struct sem_memory *)(uintptr_t)memory)->window;

    fill(window + A_AT, p->a_regs, p->p.a, p->numbers, false);
    fill(window + B_AT, p->b_regs, p->p.b, p->numbers, false);
    fill(window + D_AT, p->d_regs, p->p.d, p->numbers, true);
    for (unsigned i = 0; p->extreme && i < p->d_regs * 64; i++) {
        const uint32_t near =
            (sem_random() & 1 ? 0x7ffff000u : 0x80000000u) + (uint32_t)(sem_random() & 0xfff);

        memcpy(window + D_AT + i * 4, &near, 4);
    }
    fill_index(window + INDEX_AT);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t at = memory->address + i * 4096;

        w->s[20 + 2 * i] = (uint32_t)at;
        w->s[21 + 2 * i] = (uint32_t)(at >> 32);
    }
    w->mode = MODE_DEFAULT; /* the matrix core does not read it */
}

static void run(const struct sem_case *c, const struct oracle_wave *before,
                struct oracle_wave *after, struct sem_memory *m)
{
    const struct plan *p = c->row;
    static uint32_t a[8 * 64], b[8 * 64], d[8 * 64], index[64];

    *after = *before;
    oracle_wave_strict(after);
    memcpy(a, m->window + A_AT, sizeof a);
    memcpy(b, m->window + B_AT, sizeof b);
    memcpy(d, m->window + D_AT, sizeof d);
    memcpy(index, m->window + INDEX_AT, sizeof index);
    oracle_swmmac(&p->p, &p->s, before->target, a, b, index, d);
    memcpy(m->window + D_AT, d, p->d_regs * 256);
}

static void add(struct sem_list *l, const struct plan *plan, const char *name, const char *tail)
{
    struct sem_case *c = sem_add(l);
    struct plan *p = malloc(sizeof *p);

    if (!p)
        abort();
    *p = *plan;
    out.text = NULL;
    out.size = out.room = 0;
    say("s_nop 0\n");
    move("load", 'v', 32, p->a_regs, A_AT);
    move("load", 'v', 48, p->b_regs, B_AT);
    move("load", 'v', 64, p->d_regs, D_AT);
    move("load", 'v', 40, 1, INDEX_AT);
    say("  s_waitcnt vmcnt(0)\n  s_nop 7\n  v_swmmac_%s %s, %s, %s, v40%s\n  s_nop 7\n", name,
        span('v', 64, p->d_regs), span('v', 32, p->a_regs), span('v', 48, p->b_regs), tail);
    move("store", 'v', 64, p->d_regs, D_AT);
    c->group = name;
    c->row = c->own_row = p;
    c->long_text = out.text;
    snprintf(c->text, sizeof c->text, "%s%s%s", name, tail,
             p->numbers == WHOLE ? "" : " fractions");
    c->run = run;
    c->prepare = prepare;
    c->memory = c->matrix = c->full_exec = c->fresh = true;
}

/* How many parts an index register has. */
static unsigned keys(const struct row *r, const struct oracle_machine *m)
{
    if (r->k == 64)
        return m->lanes == 32 ? 1 : 2;
    return m->lanes == 32 || r->a == M_I4 ? 2 : 4;
}

static void add_keys(struct sem_list *l, struct plan *p, const struct row *r,
                     const struct oracle_machine *m)
{
    add(l, p, r->name, "");
    for (p->s.key = 1; p->s.key < keys(r, m); p->s.key++) {
        char tail[64];

        snprintf(tail, sizeof tail, " index_key:%u", p->s.key);
        add(l, p, r->name, tail);
    }
    p->s.key = 0;
}

static void add_row(struct sem_list *l, const struct row *r, const struct oracle_machine *m)
{
    const unsigned bits = oracle_element_bits(r->a);
    const bool integers = r->d == M_I32, halves = bits == 16;
    const bool chain = strcmp(MATRIX_MODE, "f32") == 0;
    struct plan p = {
        .p = {16, 16, r->k, 1, r->a, r->b, r->d, 0, 0, 0, false, false, false, chain, false},
        .a_regs = sem_tile_regs(m, r->k / 4, bits),
        .b_regs = sem_tile_regs(m, r->k / 2, bits),
        .d_regs = sem_tile_regs(m, 8, oracle_element_bits(r->d))};
    char tail[64];

    add_keys(l, &p, r, m);
    for (unsigned n = 1; n < 16 && halves; n++) {
        p.s.neg_lo = n & 3;
        p.s.neg_hi = n >> 2;
        snprintf(tail, sizeof tail, " neg_lo:[%u,%u,0] neg_hi:[%u,%u,0]", n & 1, n >> 1 & 1,
                 n >> 2 & 1, n >> 3);
        add(l, &p, r->name, tail);
    }
    p.s.neg_lo = p.s.neg_hi = 0;
    for (unsigned n = 0; n < 8 && integers; n++) {
        p.p.a_signed = n & 1;
        p.p.b_signed = n >> 1 & 1;
        p.s.clamp = p.extreme = n >> 2;
        snprintf(tail, sizeof tail, " neg_lo:[%u,%u,0]%s", n & 1, n >> 1 & 1,
                 n >> 2 ? " clamp" : "");
        add(l, &p, r->name, tail);
    }
    p.p.a_signed = p.p.b_signed = p.s.clamp = p.extreme = false;
    p.numbers = FRACTIONS;
    if (chain && r->d == M_F32)
        add_keys(l, &p, r, m);
}

int main(void)
{
    setenv("AOTHIP_EMU_MATRIX", MATRIX_MODE, 1);
    sem_begin("sparse products of gfx12");
    for (int t = T_GFX1201; t < ORACLE_TARGETS; t++) {
        struct sem_list l = {0};

        if (oracle_machines[t].mask != G12 || !sem_knows((enum oracle_target)t))
            continue;
        for (size_t i = 0; i < sizeof swmmacs / sizeof *swmmacs; i++)
            add_row(&l, &swmmacs[i], &oracle_machines[t]);
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
