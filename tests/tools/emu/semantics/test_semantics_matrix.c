/*
 * Matrix semantics: every MFMA, SMFMAC and WMMA shape and type, broadcast and lane patterns, index
 * sets, operands in VGPRs and in AGPRs.
 *
 * Operands lie in the window: A at 0, B at 2048, C at 4096, the index of SMFMAC and scales behind
 * it, each register 256 bytes; D replaces C.
 * Most elements are small whole numbers, so that every order of summation gives the same bits and a
 * wrong layout shows; where the arithmetic is known they also run on random fractions, where the
 * order counts, and on numbers of very different size with denormals and zeros of both signs, where
 * alignment, cuts and flushes do: all floats but f64 in the modes "hw" and "f32".
 * MATRIX_MODE is the mode of this program.
 */
#include "test_semantics_shapes.h"
#include "test_semantics_tiles.h"

#ifndef MATRIX_MODE
#define MATRIX_MODE "hw"
#endif

enum { A_AT = 0, B_AT = 2048, C_AT = 4096, INDEX_AT = 12288, SCALES_AT = 12544 };

/* What a case needs beyond its row; lives as long as the list. */
struct plan {
    struct oracle_product p;
    enum numbers numbers;
    bool wmma, repeats, sparse, hi;
    unsigned scale_byte[2], scale_spread; /* p.scaled */
    unsigned a_regs, b_regs, d_regs;
};

/* What gfx950 takes where gfx942 takes this. */
static enum oracle_element of_gfx950(enum oracle_element e)
{
    return e == M_FP8 ? M_FP8_OCP : e == M_BF8 ? M_BF8_OCP : e;
}

static bool f32_mode(void)
{
    return strcmp(MATRIX_MODE, "f32") == 0;
}

/* gfx11's WMMA needs A and B again in every 16 lanes. */
static void replicate(uint8_t *at, unsigned regs)
{
    for (unsigned r = 0; r < regs; r++)
        for (unsigned l = 16; l < 64; l += 16)
            memcpy(at + r * 256 + l * 4, at + r * 256, 64);
}

/* Scales of 2^-spread .. 2^spread around 1, or of any size, NaN now and then. */
static void fill_scales(uint8_t *at, unsigned spread)
{
    for (unsigned i = 0; i < 2 * 256; i++) {
        const uint64_t r = sem_random();

        at[i] = (uint8_t)(spread  ? 127 - spread + r % (2 * spread + 1)
                          : r % 8 ? 64 + r / 8 % 128
                                  : r / 8);
    }
}

static void prepare(const struct sem_case *c, struct oracle_wave *w,
                    const struct sem_memory *memory)
{
    const struct plan *p = c->row;
    uint8_t *window = ((struct sem_memory *)(uintptr_t)memory)->window;

    fill(window + A_AT, p->a_regs, p->p.a, p->numbers, false);
    fill(window + B_AT, p->b_regs, p->p.b, p->numbers, false);
    fill(window + C_AT, p->d_regs, p->p.d, p->numbers, true);
    if (p->sparse)
        fill_index(window + INDEX_AT);
    if (p->p.scaled)
        fill_scales(window + SCALES_AT, p->scale_spread);
    if (p->repeats) {
        replicate(window + A_AT, p->a_regs);
        replicate(window + B_AT, p->b_regs);
    }
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
    static uint32_t a[8 * 64], b[8 * 64], d[32 * 64], index[64], scales[2][64];
    const struct oracle_scales scale = {{scales[0], scales[1]},
                                        {p->scale_byte[0], p->scale_byte[1]}};

    *after = *before;
    oracle_wave_strict(after);
    memcpy(a, m->window + A_AT, sizeof a);
    memcpy(b, m->window + B_AT, sizeof b);
    memcpy(d, m->window + C_AT, sizeof d);
    memcpy(index, m->window + INDEX_AT, sizeof index);
    memcpy(scales, m->window + SCALES_AT, sizeof scales);
    if (p->p.scaled)
        oracle_mfma_scaled(&p->p, &scale, a, b, d);
    else if (p->sparse)
        oracle_smfmac(&p->p, before->target, a, b, index, d, d);
    else if (p->wmma)
        oracle_wmma(&p->p, before->target, p->hi, a, b, d, d);
    else
        oracle_mfma(&p->p, before->target, a, b, d, d);
    memcpy(m->window + C_AT, d, p->d_regs * 256);
}

/* abc and cd: register file of A and B, and of C and D; tail: modifiers. */
static void add(struct sem_list *l, const struct plan *plan, const char *name, char ab, char cd,
                const char *tail)
{
    struct sem_case *c = sem_add(l);
    struct plan *p = malloc(sizeof *p);
    const char *d = span(cd, 64, plan->d_regs);

    if (!p)
        abort();
    *p = *plan;
    out.text = NULL;
    out.size = out.room = 0;
    say("s_nop 0\n");
    move("load", ab, 32, p->a_regs, A_AT);
    move("load", ab, 48, p->b_regs, B_AT);
    move("load", cd, 64, p->d_regs, C_AT);
    if (p->sparse)
        move("load", 'v', 40, 1, INDEX_AT);
    if (p->p.scaled)
        move("load", 'v', 40, 2, SCALES_AT);
    say("  s_waitcnt vmcnt(0)\n  s_nop 7\n  v_%s %s, %s, %s, %s%s%s\n", name, d,
        span(ab, 32, p->a_regs), span(ab, 48, p->b_regs), p->sparse ? "v40" : d,
        p->p.scaled ? ", v40, v41" : "", tail);
    say("  s_nop 7\n  s_nop 7\n  s_nop 7\n");
    move("store", cd, 64, p->d_regs, C_AT);
    c->group = name;
    c->row = c->own_row = p;
    c->long_text = out.text;
    snprintf(c->text, sizeof c->text, "%s %c%c%s%s", name, ab, cd, tail,
             p->numbers == WHOLE       ? ""
             : p->numbers == FRACTIONS ? " fractions"
                                       : " wide");
    c->run = run;
    c->prepare = prepare;
    c->memory = c->matrix = c->full_exec = true;
}

static void add_mfma(struct sem_list *l, const struct row *r, const struct oracle_machine *m)
{
    unsigned g942 = m->mask != G90A, bits = oracle_element_bits(r->a);
    const bool ocp = m->mask == G950;
    struct plan p = {.p = {r->m, r->n, r->k, r->blocks, ocp ? of_gfx950(r->a) : r->a,
                           ocp ? of_gfx950(r->b) : r->b, r->d, 0, 0, 0, true, true, false, false,
                           false}};
    char name[64], tail[64];

    if (!r->name[g942] || (ocp && strstr(r->name[1], "xf32")))
        return;
    p.p.chain = f32_mode();
    p.p.xf32 = strstr(r->name[g942], "xf32") != NULL;
    snprintf(name, sizeof name, "mfma_%s", r->name[g942]);
    p.a_regs = p.b_regs = r->m * r->k * r->blocks * bits / 64 / 32;
    p.d_regs = r->m * r->n * r->blocks / 64 * (r->d == M_F64 ? 2 : 1);
    add(l, &p, name, 'v', 'v', "");
    l->c[l->count - 1].group = r->name[g942];
    for (unsigned files = 1; files < 4; files++) {
        add(l, &p, name, files & 1 ? 'a' : 'v', files & 2 ? 'a' : 'v', "");
        l->c[l->count - 1].group = r->name[g942];
    }
    for (p.numbers = FRACTIONS; p.numbers <= WIDE && r->d == M_F32; p.numbers++) {
        add(l, &p, name, 'v', 'v', "");
        l->c[l->count - 1].group = r->name[g942];
    }
    p.numbers = WHOLE;
    for (unsigned n = 1; n < 4 && r->blocks > 1 && r->d != M_F64; n++) {
        p.p.cbsz = r->blocks == 2 ? 1 : r->blocks == 4 ? 1 + n % 2 : 1 + n;
        p.p.abid = n % (1u << p.p.cbsz);
        snprintf(tail, sizeof tail, " cbsz:%u abid:%u", p.p.cbsz, p.p.abid);
        add(l, &p, name, 'v', 'v', tail);
        l->c[l->count - 1].group = r->name[g942];
    }
    p.p.cbsz = p.p.abid = 0;
    for (unsigned n = 1; n < 8 && !strstr(name, "8_fp8") && bits != 8 && !strstr(name, "xf32");
         n++) {
        p.p.blgp = n;
        if (r->d == M_F64)
            snprintf(tail, sizeof tail, g942 ? " neg:[%u,%u,%u]" : " blgp:%u", g942 ? n & 1 : n,
                     n >> 1 & 1, n >> 2);
        else
            snprintf(tail, sizeof tail, " blgp:%u", n);
        add(l, &p, name, 'v', 'v', tail);
        l->c[l->count - 1].group = r->name[g942];
    }
}

static unsigned format_number(enum oracle_element e)
{
    return e == M_FP8_OCP ? 0 : e == M_BF8_OCP ? 1 : e == M_FP6 ? 2 : e == M_BF6 ? 3 : 4;
}

/* m by m. All codes of six and four bits, of which the sums are exact. */
static void add_narrow(struct sem_list *l, unsigned m, enum oracle_element a, enum oracle_element b)
{
    struct plan p = {
        .p = {m, m, 2048 / m, 1, a, b, M_F32, 0, 0, 0, true, true, false, f32_mode(), false},
        .a_regs = oracle_element_bits(a),
        .b_regs = oracle_element_bits(b),
        .d_regs = m * m / 64};
    const char *name = m == 32 ? "mfma_f32_32x32x64_f8f6f4" : "mfma_f32_16x16x128_f8f6f4";
    const bool floats8 = is_float8(a) && is_float8(b);
    char tail[64];

    snprintf(tail, sizeof tail, " cbsz:%u blgp:%u", format_number(a), format_number(b));
    for (unsigned files = 0; files < 4; files++)
        add(l, &p, name, files & 1 ? 'a' : 'v', files & 2 ? 'a' : 'v', tail);
    if (!floats8)
        return;
    p.numbers = WIDE;
    add(l, &p, name, 'v', 'v', tail);
}

/*
 * With scales. Of 8 bits whole numbers, of 6 and 4 all codes; in the modes that add otherwise than
 * one by one, scales so near to each other that the sums are exact.
 */
static void add_scaled(struct sem_list *l, unsigned m, enum oracle_element a, enum oracle_element b)
{
    struct plan p = {
        .p = {m, m, 2048 / m, 1, a, b, M_F32, 0, 0, 0, true, true, false, f32_mode(), true},
        .a_regs = oracle_element_bits(a),
        .b_regs = oracle_element_bits(b),
        .d_regs = m * m / 64};
    const char *name =
        m == 32 ? "mfma_scale_f32_32x32x64_f8f6f4" : "mfma_scale_f32_16x16x128_f8f6f4";
    char tail[96];

    if (!f32_mode() && (a == M_BF6 || b == M_BF6))
        return;
    for (unsigned i = 0; i < 4; i++) {
        p.scale_byte[0] = i;
        p.scale_byte[1] = 3 - i;
        p.scale_spread = f32_mode() && i % 2 ? 0 : 1;
        snprintf(tail, sizeof tail, " op_sel:[%u,%u,0] op_sel_hi:[%u,%u,0] cbsz:%u blgp:%u", i & 1,
                 ~i & 1, i >> 1, 1 - (i >> 1), format_number(a), format_number(b));
        add(l, &p, name, i & 1 ? 'a' : 'v', i & 2 ? 'a' : 'v', tail);
    }
}

/* Every index set, and CBSZ, which makes ABID count for nothing. */
static void add_smfmac(struct sem_list *l, const struct row *r, bool ocp)
{
    struct plan p = {.p = {r->m, r->n, r->k, 1, ocp ? of_gfx950(r->a) : r->a,
                           ocp ? of_gfx950(r->b) : r->b, r->d, 0, 0, 0, true, true, false,
                           f32_mode(), false},
                     .sparse = true,
                     .d_regs = r->m * r->n / 64};
    char name[64], tail[64];
    unsigned sets;

    p.b_regs = r->n * r->k / 64 * oracle_element_bits(r->b) / 32;
    p.a_regs = p.b_regs / 2;
    sets = (oracle_element_bits(r->a) == 16 ? 4 : 2) * 4 / p.b_regs;
    snprintf(name, sizeof name, "smfmac_%s", r->name[1]);
    for (unsigned files = 1; files < 4; files++)
        add(l, &p, name, files & 1 ? 'a' : 'v', files & 2 ? 'a' : 'v', "");
    for (p.p.cbsz = 0; p.p.cbsz < 3; p.p.cbsz++)
        for (p.p.abid = 0; p.p.abid < sets; p.p.abid++) {
            snprintf(tail, sizeof tail, " cbsz:%u abid:%u", p.p.cbsz, p.p.abid);
            add(l, &p, name, 'v', 'v', tail);
        }
    for (size_t i = l->count - 3 - 3 * sets; i < l->count; i++)
        l->c[i].group = r->name[1];
}

static void add_wmma(struct sem_list *l, const struct row *r, const struct oracle_machine *m)
{
    unsigned bits = oracle_element_bits(r->a);
    struct plan p = {
        .p = {16, 16, r->k, 1, r->a, r->b, r->d, 0, 0, 0, false, false, false, false, false},
        .wmma = true};
    char name[64], tail[64] = "";

    snprintf(name, sizeof name, "wmma_%s", r->name[1]);
    p.a_regs = p.b_regs = m->mask == G12 ? sem_tile_regs(m, r->k / 2, bits) : bits / 2;
    p.d_regs = m->mask == G12   ? sem_tile_regs(m, 8, oracle_element_bits(r->d))
               : m->lanes == 32 ? 8
                                : 4;
    p.repeats = m->mask != G12;
    p.p.chain = f32_mode() && r->d == M_F32;
    p.numbers = p.p.chain ? FRACTIONS : WHOLE;
    const bool integers = bits < 16 && !is_float8(r->a);
    for (unsigned n = 0; n < (integers ? 4u : r->d == M_F32 || !p.repeats ? 1u : 2u); n++) {
        if (integers) {
            p.p.a_signed = n & 1;
            p.p.b_signed = n >> 1;
            snprintf(tail, sizeof tail, " neg_lo:[%u,%u,0]", n & 1, n >> 1);
        } else if (n) {
            p.hi = true;
            snprintf(tail, sizeof tail, " op_sel:[0,0,1]");
        }
        add(l, &p, name, 'v', 'v', tail);
        l->c[l->count - 1].group = r->name[1];
    }
}

int main(void)
{
    setenv("AOTHIP_EMU_MATRIX", MATRIX_MODE, 1);
    sem_begin("matrix");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        const struct oracle_machine *m = &oracle_machines[t];
        struct sem_list l = {0};
        size_t made;

        if (!sem_knows((enum oracle_target)t))
            continue;
        for (size_t i = 0; m->gfx11 && i < sizeof wmmas / sizeof *wmmas; i++)
            if (m->mask == G12 || !is_float8(wmmas[i].a))
                add_wmma(&l, &wmmas[i], m);
        for (size_t i = 0; m->mask == G12 && i < sizeof wmmas_gfx12 / sizeof *wmmas_gfx12; i++)
            add_wmma(&l, &wmmas_gfx12[i], m);
        if (!m->gfx11)
            for (size_t i = 0; i < sizeof mfmas / sizeof *mfmas; i++)
                add_mfma(&l, &mfmas[i], m);
        made = m->mask == G12 ? 0 : l.count;
        for (size_t i = 0; m->mask == G950 && i < sizeof mfmas_gfx950 / sizeof *mfmas_gfx950; i++)
            add_mfma(&l, &mfmas_gfx950[i], m);
        for (size_t i = 0; m->mask == G950 && i < 2 * sizeof narrow_pairs / sizeof *narrow_pairs;
             i++)
            add_narrow(&l, i % 2 ? 16 : 32, narrow_pairs[i / 2][0], narrow_pairs[i / 2][1]);
        for (size_t i = 0; m->mask == G950 && i < 2 * sizeof narrow_pairs / sizeof *narrow_pairs;
             i++)
            add_scaled(&l, i % 2 ? 16 : 32, narrow_pairs[i / 2][0], narrow_pairs[i / 2][1]);
        for (; made < l.count; made++)
            l.c[made].fresh = true;
        for (size_t i = 0; m->mask == G950 && i < l.count; i++) {
            const struct plan *p = l.c[i].row;
            l.c[i].fresh = l.c[i].fresh || is_float8(p->p.a);
        }
        for (size_t i = 0;
             (m->mask == G942 || m->mask == G950) && i < sizeof smfmacs / sizeof *smfmacs; i++)
            add_smfmac(&l, &smfmacs[i], m->mask == G950);
        made = l.count;
        for (size_t i = 0; m->mask == G950 && i < sizeof smfmacs_gfx950 / sizeof *smfmacs_gfx950;
             i++)
            add_smfmac(&l, &smfmacs_gfx950[i], true);
        for (; made < l.count; made++)
            l.c[made].fresh = true;
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
