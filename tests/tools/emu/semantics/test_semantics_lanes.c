/*
 * Semantics across lanes and register files: readlane and its kin, permlane, AGPR moves, indexed
 * VGPRs, the two halves of a VOPD instruction.
 */
#include <stdio.h>
#include <string.h>

#include "test_semantics.h"

static unsigned first_active(const struct oracle_wave *w)
{
    for (unsigned l = 0; l < 64; l++)
        if (w->exec >> l & 1)
            return l;
    return 0; /* lane 0 when none is active */
}

enum {
    FIRST,
    READ,
    WRITE,
    SWAP64,
    PERM16,
    PERMX16,
    PERMVAR,
    PERMXVAR,
    ACC,
    INDEX_SRC,
    INDEX_DST,
    RELATIVE,
    ROW_SWAP,
    BITOP
};

/* Which registers M0 (in s20) moves, and what comes from a scalar register or another lane. */
enum { OF_SOURCE = 1, OF_TARGET = 2, TWO_FIELDS = 4, SCALAR = 8, QUAD = 16, SWAP = 32 };

static void run_relative(unsigned how, const struct oracle_wave *before, struct oracle_wave *after,
                         unsigned l)
{
    unsigned m0 = before->s[20], low = how & TWO_FIELDS ? m0 & 0x3ff : m0;
    unsigned high = how & TWO_FIELDS ? m0 >> 16 & 0x3ff : m0;
    unsigned from = how & OF_SOURCE ? low : 0, to = 8 + (how & OF_TARGET ? high : 0);
    unsigned lane = how & QUAD ? l ^ 1 : l;

    if (how & SWAP)
        after->v[from][l] = before->v[to][l];
    if (how & SCALAR)
        after->v[to][l] = before->s[24];
    else if (before->exec >> lane & 1)
        after->v[to][l] = before->v[from][lane];
}

/* `how`: the table, and from bit 8 on: 16 bits only, and whose upper ones, sources and result. */
enum { BITOP_16 = 1 << 8, BITOP_SEL = 9 };

static void run_bitop(unsigned how, const struct oracle_wave *before, struct oracle_wave *after,
                      unsigned l)
{
    const unsigned sel = how & BITOP_16 ? how >> BITOP_SEL : 0, up = sel >> 3 & 1 ? 16 : 0;

    for (unsigned b = 0; b < (how & BITOP_16 ? 16u : 32u); b++) {
        unsigned at = 0;

        for (unsigned i = 0; i < 3; i++)
            at = at * 2 + (before->v[i][l] >> (b + (sel >> i & 1 ? 16 : 0)) & 1);
        after->v[8][l] &= ~(1u << (b + up));
        after->v[8][l] |= (how >> at & 1) << (b + up);
    }
}

/*
 * Rows of `how & 48` lanes: v8's rows 1, 3 and v0's rows 0, 2 change places. Variants: 1 reads
 * disabled lanes, 2 takes 0 for them, else a lane whose partner is disabled keeps its value.
 */
static void swap_rows(unsigned how, const struct oracle_wave *before, struct oracle_wave *after,
                      unsigned l)
{
    unsigned size = how & 48, row = l / size, other = (row ^ 1) * size + l % size;
    unsigned mine = row % 2 ? 8 : 0, theirs = row % 2 ? 0 : 8;

    if (how & 1 || before->exec >> other & 1)
        after->v[mine][l] = before->v[theirs][other];
    else if (how & 2)
        after->v[mine][l] = 0;
}

/* The lane of 16 that permlane names: in 64 bits of scalars for all, or each in v1 for itself. */
static unsigned chosen(const struct sem_case *c, const struct oracle_wave *before, unsigned l)
{
    uint64_t choice = before->s[24] | (uint64_t)before->s[28] << 32;

    if (c->arg[0] == PERMVAR || c->arg[0] == PERMXVAR)
        return before->v[1][l] % 16;
    return choice >> 4 * (l & 15) & 15;
}

/* arg: 0 what, 1 variant */
static void run_lanes(const struct sem_case *c, const struct oracle_wave *before,
                      struct oracle_wave *after, struct sem_memory *m)
{
    unsigned lanes = oracle_machines[before->target].lanes, lane = before->s[20] & (lanes - 1);
    (void)m;
    *after = *before;
    switch (c->arg[0]) {
    case FIRST:
        after->s[16] = before->v[0][first_active(before)];
        break;
    case READ:
        after->s[16] = before->v[0][c->arg[1] ? c->arg[1] : lane];
        break;
    case WRITE:
        after->v[8][c->arg[1] ? c->arg[1] : lane] = before->s[24];
        break;
    }
    for (unsigned l = 0; l < lanes; l++) {
        unsigned row = l & ~15u, from = chosen(c, before, l);

        if (!(before->exec >> l & 1))
            continue;
        switch (c->arg[0]) {
        case SWAP64: /* a no-op in wave32 */
            if (lanes == 64)
                after->v[8][l] = before->v[0][l ^ 32];
            break;
        case PERM16:
        case PERMX16:
        case PERMVAR:
        case PERMXVAR:
            from += c->arg[0] == PERM16 || c->arg[0] == PERMVAR ? row : row ^ 16;
            if (before->exec >> from & 1 || c->arg[1] & 1) /* fetch inactive */
                after->v[8][l] = before->v[0][from];
            else if (c->arg[1] & 2) /* bound_ctrl: zero */
                after->v[8][l] = 0;
            break;
        case ACC:
            after->v[8][l] = before->v[0][l];
            after->v[9][l] = before->v[1][l];
            break;
        case INDEX_SRC:
            after->v[8][l] = before->v[before->s[20] & 7][l];
            break;
        case INDEX_DST:
            after->v[8 + (before->s[20] & 7)][l] = before->v[0][l];
            break;
        case ROW_SWAP:
            swap_rows(c->arg[1], before, after, l);
            break;
        case BITOP:
            run_bitop(c->arg[1], before, after, l);
            break;
        case RELATIVE:
            run_relative(c->arg[1], before, after, l);
            break;
        }
    }
    if (c->arg[0] == INDEX_SRC || c->arg[0] == INDEX_DST)
        after->m0 = (before->m0 & ~0xf0ffu) | (before->s[20] & 0xff) |
                    (c->arg[0] == INDEX_SRC ? 1 : 8) << 12;
    oracle_wave_strict(after);
    /*
     * permlane without either modifier and an inactive source lane: kept by the rule of DPP, or
     * read all the same, as the pseudo-code has it.
     */
    if (c->arg[0] >= PERM16 && c->arg[0] <= PERMXVAR)
        for (unsigned l = 0; l < lanes; l++)
            if (before->exec >> l & 1) {
                const bool other = c->arg[0] == PERMX16 || c->arg[0] == PERMXVAR;

                after->v_alt[8][l] =
                    before->v[0][((l & ~15u) ^ (other ? 16 : 0)) + chosen(c, before, l)];
            }
}

static void small_index(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    (void)c;
    (void)m;
    w->s[20] = (uint32_t)sem_random() & 7;
}

static void two_small_indices(const struct sem_case *c, struct oracle_wave *w,
                              const struct sem_memory *m)
{
    (void)c;
    (void)m;
    w->s[20] = (uint32_t)sem_random() & 0x00070007;
}

static void add(struct sem_list *l, const char *group, unsigned what, unsigned variant,
                const char *text)
{
    struct sem_case *c = sem_add(l);

    c->group = group;
    c->run = run_lanes;
    c->arg[0] = what;
    c->arg[1] = variant;
    snprintf(c->text, sizeof c->text, "%s", text);
    if (what == INDEX_SRC || what == INDEX_DST)
        c->prepare = small_index;
    if (what == RELATIVE)
        c->prepare = variant & TWO_FIELDS ? two_small_indices : small_index;
}

static void add_relative(struct sem_list *l)
{
    static const struct {
        const char *name, *operands;
        unsigned how;
    } moves[] = {
        {"v_movrels_b32", "v8, v0", OF_SOURCE},
        {"v_movreld_b32", "v8, v0", OF_TARGET},
        {"v_movreld_b32", "v8, s24", OF_TARGET | SCALAR},
        {"v_movrelsd_b32", "v8, v0", OF_SOURCE | OF_TARGET},
        {"v_movrelsd_2_b32", "v8, v0", OF_SOURCE | OF_TARGET | TWO_FIELDS},
        {"v_swaprel_b32", "v8, v0", OF_SOURCE | OF_TARGET | TWO_FIELDS | SWAP},
    };
    static const char *const forms[] = {"_e32", "_e64", "_dpp", "_e64_dpp"};

    for (unsigned i = 0; i < sizeof moves / sizeof *moves; i++)
        for (unsigned form = 0; form < 4; form++) {
            unsigned how = moves[i].how;
            char text[128];

            if (form && (how & SWAP || (form > 1 && how & SCALAR)))
                continue;
            snprintf(text, sizeof text, "s_mov_b32 m0, s20\n  %s%s %s%s\n  s_mov_b32 m0, s77",
                     moves[i].name, how & SWAP ? "" : forms[form], moves[i].operands,
                     form > 1 ? " quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf" : "");
            add(l, moves[i].name, RELATIVE, how | (form > 1 ? QUAD : 0), text);
        }
}

/* What gfx950 has beyond gfx942. */
static void add_swaps(struct sem_list *l)
{
    static const uint8_t tables[] = {0x00, 0x1e, 0x40, 0x80, 0x96, 0xca, 0xe8, 0xff};
    size_t first = l->count;

    for (unsigned size = 16; size <= 32; size *= 2)
        for (unsigned how = 0; how < 4; how++) {
            char text[128];

            snprintf(text, sizeof text, "s_nop 1\n  v_permlane%u_swap_b32%s v8, v0%s%s", size,
                     how ? "_e64" : "_e32", how & 2 ? " bound_ctrl:1" : "", how & 1 ? " fi:1" : "");
            add(l, size == 16 ? "v_permlane16_swap_b32" : "v_permlane32_swap_b32", ROW_SWAP,
                size | how, text);
        }
    for (unsigned i = 0; i < sizeof tables; i++) {
        char text[128];

        snprintf(text, sizeof text, "v_bitop3_b32 v8, v0, v1, v2 bitop3:%#x", tables[i]);
        add(l, "v_bitop3_b32", BITOP, tables[i], text);
        snprintf(text, sizeof text, "v_bitop3_b16 v8, v0, v1, v2 bitop3:%#x op_sel:[%u,%u,%u,%u]",
                 tables[i], i & 1, i >> 1 & 1, i >> 2, ~i & 1);
        add(l, "v_bitop3_b16", BITOP, tables[i] | BITOP_16 | (i | (~i & 1) << 3) << BITOP_SEL,
            text);
    }
    for (; first < l->count; first++)
        l->c[first].fresh = true;
}

/* What gfx12 has beyond gfx11. */
static void add_var(struct sem_list *l)
{
    size_t first = l->count;

    for (unsigned how = 0; how < 4; how++) {
        char text[128];

        snprintf(text, sizeof text, "v_permlane16_var_b32 v8, v0, v1 op_sel:[%u,%u]", how & 1,
                 how >> 1);
        add(l, "v_permlane16_var_b32", PERMVAR, how, text);
        snprintf(text, sizeof text, "v_permlanex16_var_b32 v8, v0, v1 op_sel:[%u,%u]", how & 1,
                 how >> 1);
        add(l, "v_permlanex16_var_b32", PERMXVAR, how, text);
    }
    for (; first < l->count; first++)
        l->c[first].fresh = true;
}

static void add_lanes(struct sem_list *l, const struct oracle_machine *m)
{
    add(l, "v_readfirstlane_b32", FIRST, 0, "v_readfirstlane_b32 s16, v0");
    add(l, "v_readlane_b32", READ, 0, "v_readlane_b32 s16, v0, s20");
    add(l, "v_readlane_b32", READ, 17, "v_readlane_b32 s16, v0, 17");
    add(l, "v_writelane_b32", WRITE, 0,
        "s_mov_b32 m0, s20\n  v_writelane_b32 v8, s24, m0\n  s_mov_b32 m0, s77");
    add(l, "v_writelane_b32", WRITE, 29, "v_writelane_b32 v8, s24, 29");
    if (m->gfx11) {
        add_relative(l);
        add(l, "v_permlane64_b32", SWAP64, 0, "v_permlane64_b32 v8, v0");
        add(l, "v_permlane16_b32", PERM16, 0, "v_permlane16_b32 v8, v0, s24, s28");
        add(l, "v_permlane16_b32", PERM16, 1, "v_permlane16_b32 v8, v0, s24, s28 op_sel:[1,0]");
        add(l, "v_permlane16_b32", PERM16, 2, "v_permlane16_b32 v8, v0, s24, s28 op_sel:[0,1]");
        add(l, "v_permlanex16_b32", PERMX16, 0, "v_permlanex16_b32 v8, v0, s24, s28");
        add(l, "v_permlanex16_b32", PERMX16, 1, "v_permlanex16_b32 v8, v0, s24, s28 op_sel:[1,0]");
        add(l, "v_permlanex16_b32", PERMX16, 3, "v_permlanex16_b32 v8, v0, s24, s28 op_sel:[1,1]");
        return;
    }
    add(l, "v_accvgpr_write_b32 and v_accvgpr_read_b32", ACC, 0,
        "v_accvgpr_write_b32 a3, v0\n  v_accvgpr_write_b32 a31, v1\n  s_nop 4\n"
        "  v_accvgpr_read_b32 v8, a3\n  v_accvgpr_read_b32 v9, a31");
    add(l, "v_accvgpr_mov_b32", ACC, 0,
        "v_accvgpr_write_b32 a3, v0\n  v_accvgpr_write_b32 a31, v1\n  s_nop 4\n"
        "  v_accvgpr_mov_b32 a4, a3\n  v_accvgpr_mov_b32 a5, a31\n  s_nop 4\n"
        "  v_accvgpr_read_b32 v8, a4\n  v_accvgpr_read_b32 v9, a5");
    add(l, "s_set_gpr_idx", INDEX_SRC, 0,
        "s_set_gpr_idx_on s20, 0x1\n  v_mov_b32_e32 v8, v0\n  s_set_gpr_idx_off");
    add(l, "s_set_gpr_idx", INDEX_DST, 0,
        "s_set_gpr_idx_on s20, 0x8\n  v_mov_b32_e32 v8, v0\n  s_set_gpr_idx_off");
}

/* ---- VOPD */

static const struct {
    const char *dual, *sem;
    bool y_only;
    unsigned targets;
} duals[] = {{"fmac_f32", "v_fmac_f32", false, ALL},
             {"mul_f32", "v_mul_f32", false, ALL},
             {"add_f32", "v_add_f32", false, ALL},
             {"sub_f32", "v_sub_f32", false, ALL},
             {"subrev_f32", "v_subrev_f32", false, ALL},
             {"mul_dx9_zero_f32", "v_mul_dx9_zero_f32", false, ALL},
             {"mov_b32", "v_mov_b32", false, ALL},
             {"cndmask_b32", "v_cndmask_b32", false, ALL},
             {"max_f32", "v_max_f32", false, G11},
             {"min_f32", "v_min_f32", false, G11},
             {"dot2acc_f32_f16", "v_dot2c_f32_f16", false, G11},
             {"fmamk_f32", "v_fmamk_f32", false, ALL},
             {"fmaak_f32", "v_fmaak_f32", false, ALL},
             {"add_nc_u32", "v_add_u32", true, ALL},
             {"lshlrev_b32", "v_lshlrev_b32", true, ALL},
             {"and_b32", "v_and_b32", true, ALL},
             {"max_num_f32", "v_max_num_f32", false, G12},
             {"min_num_f32", "v_min_num_f32", false, G12}};

enum { DUALS = sizeof duals / sizeof *duals };

static const struct oracle_op *named(const char *sem)
{
    for (unsigned i = 0; i < oracle_valu_count; i++)
        if (!strcmp(oracle_valu[i].sem, sem))
            return &oracle_valu[i];
    return NULL;
}

/* One half: sources s0 and s1, destination d; its text goes to text. */
static void half(struct oracle_insn *i, const struct oracle_op *op, const char *name, unsigned d,
                 unsigned s0, unsigned s1, char *text)
{
    const uint32_t k = 0x3fb8aa3b;
    const char *types = strchr(op->sig, ':') + 1;

    memset(i, 0, sizeof *i);
    i->op = op;
    i->d[0] = (struct oracle_operand){P_VGPR, d, 0};
    i->s[0] = (struct oracle_operand){P_VGPR, s0, 0};
    i->s[1] = (struct oracle_operand){P_VGPR, s1, 0};
    i->dst_sel = i->sel[0] = i->sel[1] = DWORD;
    if (op->kind == MK) {
        i->s[2] = i->s[1];
        i->s[1] = (struct oracle_operand){P_CONST, 0, k};
        sprintf(text, "v_dual_%s v%u, v%u, %#x, v%u", name, d, s0, k, s1);
    } else if (op->kind == AK) {
        i->s[2] = (struct oracle_operand){P_CONST, 0, k};
        sprintf(text, "v_dual_%s v%u, v%u, v%u, %#x", name, d, s0, s1, k);
    } else if (strlen(types) == 1) {
        sprintf(text, "v_dual_%s v%u, v%u", name, d, s0);
    } else {
        i->s[2] = (struct oracle_operand){P_VCC, 0, 0};
        sprintf(text, "v_dual_%s v%u, v%u, v%u", name, d, s0, s1);
    }
}

/* Both halves read before either writes. */
static void run_dual(const struct sem_case *c, const struct oracle_wave *before,
                     struct oracle_wave *after, struct sem_memory *m)
{
    const struct oracle_insn *y = c->row;
    static struct oracle_wave second;
    unsigned d = y->d[0].reg;

    (void)m;
    oracle_run_valu(&c->insn, before, after);
    oracle_run_valu(y, before, &second);
    memcpy(after->v[d], second.v[d], sizeof second.v[d]);
    memcpy(after->v_alt[d], second.v_alt[d], sizeof second.v_alt[d]);
    memcpy(after->v_mask[d], second.v_mask[d], sizeof second.v_mask[d]);
}

static void add_duals(struct sem_list *l, const struct oracle_machine *m)
{
    static struct oracle_insn seconds[DUALS * DUALS * 2];
    unsigned n = 0;

    for (unsigned x = 0; x < DUALS; x++)
        for (unsigned y = 0; y < DUALS; y++)
            for (unsigned crossed = 0; crossed < 2; crossed++) {
                const struct oracle_op *a = named(duals[x].sem), *b = named(duals[y].sem);
                struct sem_case *c;
                char first[80], second[80];

                if (duals[x].y_only || !a || !b || (crossed && (x + y) % 5) ||
                    !(duals[x].targets & duals[y].targets & m->mask))
                    continue;
                c = sem_add(l);
                c->group = duals[x].dual;
                c->run = run_dual;
                c->row = &seconds[n];
                /* crossed: each half overwrites a source of the other */
                half(&c->insn, a, duals[x].dual, crossed ? 4 : 8, 0, 2, first);
                half(&seconds[n++], b, duals[y].dual, crossed ? 3 : 13, 5, crossed ? 3 : 7, second);
                if (crossed) {
                    half(&c->insn, a, duals[x].dual, 6, 1, 3, first);
                    half(&seconds[n - 1], b, duals[y].dual, 1, 6, 8, second);
                }
                for (unsigned r = 0; r < 16; r++)
                    c->vtype[r] = x % 3 == 0 || y % 5 ? 'f' : 'Y';
                snprintf(c->text, sizeof c->text, "%s :: %s", first, second);
            }
}

int main(void)
{
    sem_begin("lanes and pairs");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        const struct oracle_machine *m = &oracle_machines[t];
        struct sem_list l = {0};

        if (!sem_knows((enum oracle_target)t))
            continue;
        add_lanes(&l, m);
        if (t == T_GFX950)
            add_swaps(&l);
        if (m->mask == G12)
            add_var(&l);
        if (m->gfx11 && m->lanes == 32)
            add_duals(&l, m);
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
