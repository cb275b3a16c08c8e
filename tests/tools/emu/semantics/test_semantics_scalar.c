/*
 * Scalar semantics: SOP1, SOP2, SOPC, SOPK, their operands (SGPRs, VCC, EXEC, M0, constants,
 * literals), conditional branches, MODE reads and writes, relative moves.
 */
#include <stdio.h>
#include <string.h>

#include "oracle_salu.h"
#include "test_semantics.h"

static void put_sgprs(struct oracle_wave *w, unsigned reg, uint64_t v, unsigned bits)
{
    w->s[reg] = w->s_alt[reg] = (uint32_t)v;
    if (bits > 32)
        w->s[reg + 1] = w->s_alt[reg + 1] = (uint32_t)(v >> 32);
}

static uint64_t get(const struct oracle_wave *w, const struct oracle_operand *o, unsigned bits)
{
    uint64_t all = bits > 32 ? ~UINT64_C(0) : 0xffffffff;

    switch (o->place) {
    case P_SGPR:
        return (w->s[o->reg] | (uint64_t)w->s[o->reg + 1] << 32) & all;
    case P_VCC:
        return w->vcc & all;
    case P_EXEC:
        return w->exec & all;
    case P_M0:
        return w->m0;
    case P_CONST:
        return o->value & all;
    default:
        return 0;
    }
}

static void set(struct oracle_wave *w, const struct oracle_operand *o, uint64_t v, unsigned bits)
{
    uint64_t all = bits > 32 ? ~UINT64_C(0) : 0xffffffff;

    switch (o->place) {
    case P_SGPR:
        put_sgprs(w, o->reg, v & all, bits);
        break;
    case P_VCC:
        w->vcc = (w->vcc & ~all) | (v & all);
        break;
    case P_M0:
        w->m0 = (uint32_t)v;
        break;
    default:
        break;
    }
}

static unsigned width(char type, const struct oracle_machine *m)
{
    return type == 'x' ? m->lanes : oracle_bits(type) == 64 ? 64 : 32;
}

static void run_scalar(const struct sem_case *c, const struct oracle_wave *before,
                       struct oracle_wave *after, struct sem_memory *mem)
{
    const struct oracle_sop *row = c->row;
    const struct oracle_machine *m = &oracle_machines[before->target];
    const char *types = strchr(row->sig, ':') + 1;
    unsigned bits = row->form == SC ? 32 : width(row->sig[0], m);
    const struct sf_format *f = row->form == SC ? NULL : oracle_format(row->sig[0]);
    struct oracle_scalar x = {.exec = before->exec,
                              .k = (int16_t)c->arg[0],
                              .scc = before->scc,
                              .target = before->target,
                              .mode = before->mode};

    (void)mem;
    *after = *before;
    oracle_wave_strict(after);
    for (size_t i = 0; i < strlen(types); i++)
        x.s[i] = get(before, &c->insn.s[i], width(types[i], m));
    if (row->form != SC)
        x.old = get(before, &c->insn.d[0], bits);
    row->run(&x);
    after->scc = (uint32_t)x.scc & 1;
    after->scc_mask = x.open_scc ? 0 : ~0u;
    after->exec = x.exec;
    if (row->form == SC)
        return;
    set(after, &c->insn.d[0], x.d, bits);
    if (c->insn.d[0].place == P_SGPR && f) {
        unsigned reg = c->insn.d[0].reg;

        if (x.has_alt)
            after->s_alt[reg] = (uint32_t)x.alt;
        if (x.nan_open && row->sig[0] != 'Y' && sf_is_nan_bits(f, x.d)) { /* quiet in IEEE mode */
            after->s_mask[reg] = row->sig[0] == 'h' ? 0x7c00 : 0x7f800000;
            if (before->mode & MODE_IEEE)
                after->s_mask[reg] |= row->sig[0] == 'h' ? 0x200 : 0x400000;
        }
        if (row->sig[0] == 'h') /* the upper half of an SGPR: 0, but not all texts say so */
            after->s_mask[reg] &= 0xffff;
        if (row->sig[0] == 'Y')
            for (int h = 0; h < 2; h++)
                if (sf_is_nan_bits(f, x.d >> 16 * h & 0xffff))
                    after->s_mask[reg] &= ~(0x81ffu << 16 * h);
    }
}

static const char *name_of(unsigned reg, unsigned bits, char *text)
{
    if (bits > 32)
        sprintf(text, "s[%u:%u]", reg, reg + 1);
    else
        sprintf(text, "s%u", reg);
    return text;
}

/* variant: 0 registers, 1 D is also S0, 2 inline constant, 3 literal, 4 VCC, 5 M0 and EXEC */
static void add(struct sem_list *l, const struct oracle_machine *m, const struct oracle_sop *row,
                unsigned variant)
{
    const char *types = strchr(row->sig, ':') + 1, *mnemonic = row->name[m->gfx11];
    unsigned bits = row->form == SC ? 32 : width(row->sig[0], m);
    struct sem_case *c = sem_add(l);
    char d[24], s[2][24], name[40];
    size_t n = strlen(types);

    c->group = mnemonic;
    c->row = row;
    c->run = run_scalar;
    c->keep_exec = row->form == SX;
    snprintf(name, sizeof name, row->form == SX ? "s_%s_b%u" : "%s", mnemonic, m->lanes);
    c->insn.d[0] = (struct oracle_operand){P_SGPR, variant == 1 ? 20 : 16, 0};
    name_of(c->insn.d[0].reg, bits, d);
    if (row->form != SC)
        c->stype[c->insn.d[0].reg] = row->sig[0] == 'x' ? 0 : row->sig[0];
    for (size_t i = 0; i < n; i++) {
        unsigned reg = 20 + 4 * (unsigned)i;

        c->insn.s[i] = (struct oracle_operand){P_SGPR, reg, 0};
        c->stype[reg] = types[i] == 'x' ? (m->lanes == 64 ? 'q' : 'b') : types[i];
        name_of(reg, width(types[i], m), s[i]);
    }
    if (variant == 2 && n) {
        size_t i = n - 1;
        const struct sf_format *f = oracle_format(types[i]);
        struct sf_env env = {SF_NEAREST, true, true};
        uint64_t v = f ? sf_pack(f, sf_from_int(-4), &env) : (uint64_t)-4;

        c->insn.s[i] = (struct oracle_operand){P_CONST, 0, v};
        strcpy(s[i], f ? "-4.0" : "-4");
    } else if (variant == 3 && n) {
        bool half = oracle_bits(types[0]) == 16;

        c->insn.s[0] = (struct oracle_operand){P_CONST, 0, half ? 0xb1e8 : 0x3fb8aa3b};
        strcpy(s[0], half ? "0xb1e8" : "0x3fb8aa3b");
        if (width(types[0], m) > 32 && types[0] == 'd')
            c->insn.s[0].value <<= 32;
    } else if (variant == 4) {
        const char *whole = bits > 32 ? "vcc" : "vcc_lo";

        c->insn.d[0] = (struct oracle_operand){P_VCC, 0, 0};
        strcpy(d, whole);
        if (n) {
            c->insn.s[0] = (struct oracle_operand){P_VCC, 0, 0};
            strcpy(s[0], width(types[0], m) > 32 ? "vcc" : "vcc_lo");
        }
    } else if (variant == 5) {
        if (bits == 32) {
            c->insn.d[0] = (struct oracle_operand){P_M0, 0, 0};
            strcpy(d, "m0");
        }
        if (n) {
            c->insn.s[0] = (struct oracle_operand){P_EXEC, 0, 0};
            strcpy(s[0], width(types[0], m) > 32 ? "exec" : "exec_lo");
        }
    }
    if (row->form == SK) {
        static const unsigned constants[] = {5, 0x7fff, 0x8000, 0xffff, 0, 0xfff0};
        bool is_unsigned = strstr(mnemonic, "u32");

        c->arg[0] = constants[variant];
        snprintf(c->text, sizeof c->text, is_unsigned ? "%s %s, %u" : "%s %s, %d", name, d,
                 is_unsigned ? c->arg[0] : (unsigned)(int16_t)c->arg[0]);
    } else if (row->form == SC) {
        snprintf(c->text, sizeof c->text, "%s %s, %s", name, s[0], s[1]);
    } else {
        snprintf(c->text, sizeof c->text, "%s %s, %s%s%s", name, d, s[0], n > 1 ? ", " : "",
                 n > 1 ? s[1] : "");
    }
}

/* A scalar has one value a group where a vector has a lane's each: floats get more of what is
 * special. */
static void special_sources(const struct sem_case *c, struct oracle_wave *w,
                            const struct sem_memory *m)
{
    (void)m;
    for (unsigned reg = 20; reg <= 24; reg += 4) {
        const struct sf_format *f = c->stype[reg] ? oracle_format(c->stype[reg]) : NULL;
        uint64_t top = f ? ((UINT64_C(1) << f->exp_bits) - 1) << f->frac_bits : 0;
        uint64_t quiet = f ? UINT64_C(1) << (f->frac_bits - 1) : 0, r = sem_random();
        const uint64_t special[] = {0, 1, 2 * quiet, top - 1, top, top | quiet, top | 1, top | 3};
        uint64_t sign = f ? (r >> 8 & 1) << (f->exp_bits + f->frac_bits) : 0;

        if (f && r & 3)
            put_sgprs(w, reg, special[r >> 4 & 7] | sign, 32);
    }
}

static void add_rows(struct sem_list *l, const struct oracle_machine *m)
{
    for (unsigned i = 0; i < oracle_sop_count; i++) {
        const struct oracle_sop *row = &oracle_sops[i];
        const char *types = strchr(row->sig, ':') + 1;

        if (!row->name[m->gfx11] || !(row->targets & m->mask))
            continue;
        for (unsigned v = 0; v < 6; v++) {
            bool wide = row->sig[0] != ':' && width(row->sig[0], m) > 32;
            bool wide_source = *types && width(*types, m) > 32;

            if (v == 3 && wide_source) /* the value of a 64-bit literal differs by type */
                continue;
            if (m->lanes == 32 && (wide || wide_source) && v >= 4) /* VCC_HI of wave32 */
                continue;
            if (row->form == SX && (v == 4 || v == 5))
                continue;
            if ((v == 4 || v == 5) && row->form != SC && oracle_format(row->sig[0]))
                continue; /* a NaN result leaves bits open, in SGPRs only */
            if ((v == 2 || v == 3) && *types == 'Y') /* which half is the constant in? */
                continue;
            add(l, m, row, v);
            l->c[l->count - 1].fresh = row->targets == G12;
        }
        for (unsigned n = 0; *types && *types != 'Y' && oracle_format(*types) && n < 8; n++) {
            add(l, m, row, 0);
            l->c[l->count - 1].prepare = special_sources;
        }
    }
}

/* ---- control flow: the branch jumps over a move, or does not */

static void run_branch(const struct sem_case *c, const struct oracle_wave *before,
                       struct oracle_wave *after, struct sem_memory *mem)
{
    bool taken[] = {true,
                    !before->scc,
                    before->scc,
                    before->vcc == 0,
                    before->vcc != 0,
                    before->exec == 0,
                    before->exec != 0};

    (void)mem;
    *after = *before;
    oracle_wave_strict(after);
    if (!taken[c->arg[0]])
        put_sgprs(after, 16, 77, 32);
}

static void zero_vcc_sometimes(const struct sem_case *c, struct oracle_wave *w,
                               const struct sem_memory *m)
{
    (void)c;
    (void)m;
    if (sem_random() & 1)
        w->vcc = 0;
}

static void add_branches(struct sem_list *l)
{
    static const char *const names[] = {"s_branch",        "s_cbranch_scc0",  "s_cbranch_scc1",
                                        "s_cbranch_vccz",  "s_cbranch_vccnz", "s_cbranch_execz",
                                        "s_cbranch_execnz"};

    for (unsigned i = 0; i < 7; i++) {
        struct sem_case *c = sem_add(l);

        c->group = "branches";
        c->arg[0] = i;
        c->run = run_branch;
        c->prepare = zero_vcc_sometimes;
        snprintf(c->text, sizeof c->text, "%s 1\n  s_movk_i32 s16, 77", names[i]);
    }
}

/* ---- MODE: fields are written and read; then a float result shows that they rule */

static void run_mode(const struct sem_case *c, const struct oracle_wave *before,
                     struct oracle_wave *after, struct sem_memory *mem)
{
    unsigned offset = c->arg[0], size = c->arg[1];
    uint32_t mask = ((UINT64_C(1) << size) - 1) << offset;
    uint32_t mode = (before->mode & ~mask) | (before->s[20] << offset & mask);

    if (oracle_is_gfx12(before->target))
        mode &= ~(uint32_t)(MODE_DX10_CLAMP | MODE_IEEE);

    (void)mem;
    *after = *before;
    oracle_wave_strict(after);
    put_sgprs(after, 16, mode >> offset & (mask >> offset), 32);
    put_sgprs(after, 17, mode & 0x3ff, 32);
}

static void add_modes(struct sem_list *l)
{
    static const unsigned fields[][2] = {{0, 4}, {4, 4}, {0, 2}, {2, 2},
                                         {4, 2}, {6, 2}, {8, 1}, {9, 1}};

    for (unsigned i = 0; i < 8; i++) {
        struct sem_case *c = sem_add(l);

        c->group = "s_setreg_b32 and s_getreg_b32";
        c->arg[0] = fields[i][0];
        c->arg[1] = fields[i][1];
        c->run = run_mode;
        snprintf(c->text, sizeof c->text,
                 "s_setreg_b32 hwreg(HW_REG_MODE, %u, %u), s20\n"
                 "  s_nop 1\n"
                 "  s_getreg_b32 s16, hwreg(HW_REG_MODE, %u, %u)\n"
                 "  s_getreg_b32 s17, hwreg(HW_REG_MODE, 0, 10)",
                 fields[i][0], fields[i][1], fields[i][0], fields[i][1]);
    }
}

/* ---- relative moves: SGPR numbers offset by M0 */

static void small_m0(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    (void)c;
    (void)m;
    w->m0 = (uint32_t)(sem_random() % 8) * 2;
}

static void run_movrel(const struct sem_case *c, const struct oracle_wave *before,
                       struct oracle_wave *after, struct sem_memory *mem)
{
    unsigned bits = c->arg[1], from = 40, to = 16;

    (void)mem;
    *after = *before;
    oracle_wave_strict(after);
    if (c->arg[0])
        to += before->m0;
    else
        from += before->m0;
    put_sgprs(after, to, before->s[from] | (uint64_t)before->s[from + 1] << 32, bits);
}

static void add_movrels(struct sem_list *l)
{
    for (unsigned i = 0; i < 4; i++) {
        struct sem_case *c = sem_add(l);
        bool wide = i & 1, destination = i & 2;

        c->group = "s_movrels and s_movreld";
        c->arg[0] = destination;
        c->arg[1] = wide ? 64 : 32;
        c->run = run_movrel;
        c->prepare = small_m0;
        snprintf(c->text, sizeof c->text, "s_movrel%c_b%u %s, %s", destination ? 'd' : 's',
                 c->arg[1], wide ? "s[16:17]" : "s16", wide ? "s[40:41]" : "s40");
    }
}

/* ---- gfx1150: fused multiply-add with a literal */

static void run_literal(const struct sem_case *c, const struct oracle_wave *before,
                        struct oracle_wave *after, struct sem_memory *mem)
{
    struct sf_env env = oracle_env(before->mode, &sf_f32);
    struct sf a = sf_load(&sf_f32, before->s[20], &env), b = sf_load(&sf_f32, before->s[24], &env);
    struct sf k = sf_load(&sf_f32, 0x3fb8aa3b, &env);
    uint64_t r =
        sf_pack(&sf_f32, c->arg[0] ? sf_fma(a, k, b, env.round) : sf_fma(a, b, k, env.round), &env);

    (void)mem;
    *after = *before;
    oracle_wave_strict(after);
    put_sgprs(after, 16, r, 32);
    if (sf_is_nan_bits(&sf_f32, r))
        after->s_mask[16] = 0x7fc00000;
}

static void add_literals(struct sem_list *l)
{
    for (unsigned i = 0; i < 2; i++) {
        struct sem_case *c = sem_add(l);

        c->group = "s_fmamk_f32 and s_fmaak_f32";
        c->arg[0] = i;
        c->run = run_literal;
        c->stype[20] = c->stype[24] = 'f';
        strcpy(c->text, i ? "s_fmamk_f32 s16, s20, 0x3fb8aa3b, s24"
                          : "s_fmaak_f32 s16, s20, s24, 0x3fb8aa3b");
    }
}

int main(void)
{
    sem_begin("scalar ALU");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        if (t == T_GFX950) /* as gfx942, by the same rows */
            continue;
        struct sem_list l = {0};

        add_rows(&l, &oracle_machines[t]);
        add_branches(&l);
        add_modes(&l);
        add_movrels(&l);
        if (oracle_machines[t].mask & (G1151 | G12))
            add_literals(&l);
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
