/*
 * Makes the forms of a vector ALU operation, as text and as struct oracle_insn at once.
 *
 * Sources are v0, v2, v4 (s20 and constants in their place), the destination is v8; lane masks go
 * to s24 and come from s28 (pairs on wave64).
 */
#include "test_semantics_forms.h"
#include "test_semantics_spell.h"

/* ---- encodings */

static void short_forms(struct maker *k)
{
    bool compare = k->op->kind == VC;

    begin(k);
    spell(k, k->op->flags & F_NOE64 ? "" : "_e32", false);
    if (k->op->flags & F_SWAP)
        return;
    begin(k);
    if (k->m->gfx11 || !strchr(k->types, 'm')) { /* gfx9 reads one scalar: VCC is it already */
        use_sgpr(k, 0);
        spell(k, k->op->flags & F_NOE64 ? "" : "_e32", false);
    } else {
        use_inline(k, 0, 2);
        spell(k, "_e32", false);
    }
    begin(k);
    use_inline(k, 0, -4);
    spell(k, k->op->flags & F_NOE64 ? "" : "_e32", false);
    if ((oracle_bits(k->types[0]) <= 32 || k->types[0] == 'd') &&
        (k->m->gfx11 || !strchr(k->types, 'm')) && !compare) {
        begin(k);
        use_literal(k, 0, 0xbfb8aa3b);
        spell(k, k->op->flags & F_NOE64 ? "" : "_e32", false);
    }
}

static void long_forms(struct maker *k)
{
    const char *suffix = k->op->kind == V3 || k->op->kind == PW || k->op->kind == MX ? "" : "_e64";
    bool full = k->op->kind != VC;
    static const uint8_t combos[][2] = {{1, 2}, {3, 1}, {6, 5}, {2, 7}, {4, 4}};

    begin(k);
    spell(k, suffix, true);
    for (unsigned s = 0; s < k->sources && s < (full ? 3u : 1u); s++) {
        if (oracle_bits(k->types[s]) > 64)
            continue;
        if (k->m->gfx11 ||
            !(strchr(k->types, 'm') || k->op->flags & F_VCC)) { /* gfx9 reads one scalar */
            begin(k);
            use_sgpr(k, s);
            spell(k, suffix, true);
        }
        begin(k);
        use_inline(k, s, s == 1 ? 2 : -4);
        spell(k, suffix, true);
    }
    if (k->m->gfx11 && (oracle_bits(k->types[0]) <= 32 || k->types[0] == 'd') && full) {
        begin(k);
        use_literal(k, 0, 0xbfb8aa3b);
        spell(k, suffix, true);
    }
    for (unsigned n = 0; n < (full ? 5u : 2u); n++) {
        bool any = false;

        for (unsigned s = 0; s < k->sources; s++)
            any |= takes_modifiers(k, s);
        if (!any)
            break;
        begin(k);
        for (unsigned s = 0; s < k->sources; s++)
            modify(k, s, combos[n][0] >> s & 1, combos[n][1] >> s & 1);
        spell(k, suffix, true);
    }
    if (float_result(k) && full) {
        begin(k);
        spell(k, suffix, true);
        clamp(k);
        for (unsigned n = 1; n < 4 && k->op->kind != MX && k->op->kind != PW && !sixteen(k); n++) {
            begin(k);
            spell(k, suffix, true);
            if (n == 2)
                clamp(k);
            omod(k, n);
        }
    }
    if (k->op->flags & F_CLAMP) {
        begin(k);
        spell(k, suffix, true);
        clamp(k);
    }
}

/* The byte that is read or written, as the assembler has it for gfx12. */
static void byte_sel(struct maker *k, unsigned byte)
{
    say(k, " byte_sel:%u", byte);
}

static void byte_sel_forms(struct maker *k)
{
    if (k->types[0] == 'x') { /* a pair of them */
        begin(k);
        spell(k, "_e64", true);
        op_sel(k, 1, 1, true);
        return;
    }
    for (unsigned byte = 1; byte < 4; byte++) {
        begin(k);
        k->c->insn.sel[0] = (enum oracle_sel)byte;
        spell(k, "_e64", true);
        byte_sel(k, byte);
    }
}

static void op_sel_forms(struct maker *k)
{
    const char *suffix = k->op->kind == V3 ? "" : "_e64";
    bool destination = oracle_bits(k->op->sig[0]) == 16;

    if (k->op->flags & F_OPSELD) {
        for (unsigned bits = 0; bits < 2; bits++) {
            begin(k);
            spell(k, suffix, true);
            op_sel(k, bits ? 8 : 0, (unsigned)k->sources, true);
        }
        return;
    }
    if (k->op->flags & F_OPSELB) {
        for (unsigned bits = 0; bits < 4; bits++) {
            begin(k);
            spell(k, suffix, true);
            if (k->m->gfx11) {
                k->c->insn.opsel = (uint8_t)(bits << 2);
                byte_sel(k, bits);
            } else {
                op_sel(k, bits << 2, 3, true);
            }
        }
        return;
    }
    if (k->op->flags & F_BYTESEL)
        byte_sel_forms(k);
    if (!takes_op_sel(k))
        return;
    for (unsigned bits = 1; bits < 16; bits += 2 + bits % 3) {
        unsigned allowed = (1u << k->sources) - 1;

        for (unsigned s = 0; s < k->sources; s++)
            if (oracle_bits(k->types[s]) != 16)
                allowed &= ~(1u << s);
        if (destination)
            allowed |= 8;
        if (!(bits & allowed))
            continue;
        begin(k);
        spell(k, suffix, true);
        op_sel(k, bits & allowed, (unsigned)k->sources, k->op->sig[0] != 'm');
    }
}

static void dpp(struct maker *k, const char *suffix, const char *control, unsigned code,
                unsigned row_mask, unsigned bank_mask, bool bound, bool fi)
{
    struct oracle_insn *i;

    begin(k);
    i = &k->c->insn;
    i->ext = X_DPP16;
    i->dpp_ctrl = code;
    i->row_mask = row_mask;
    i->bank_mask = bank_mask;
    i->bound_ctrl = bound;
    i->fetch_inactive = fi;
    modify(k, 0, code & 1, code & 2);
    spell(k, suffix, suffix[1] == 'e');
    say(k, " %s row_mask:%#x bank_mask:%#x%s%s", control, row_mask, bank_mask,
        bound ? " bound_ctrl:1" : "", fi ? " fi:1" : "");
}

static void dpp_forms(struct maker *k)
{
    bool masks = k->op->sig[0] == 'm' || k->op->sig[1] == 'm';
    static const struct {
        const char *text;
        unsigned code;
        int only; /* 9 or 11 */
    } controls[] = {{"quad_perm:[3,0,2,1]", 3 | 0 << 2 | 2 << 4 | 1 << 6, 0},
                    {"row_shl:1", 0x101, 0},
                    {"row_shl:15", 0x10f, 0},
                    {"row_shr:5", 0x115, 0},
                    {"row_ror:3", 0x123, 0},
                    {"row_mirror", 0x140, 0},
                    {"row_half_mirror", 0x141, 0},
                    {"wave_shl:1", 0x130, 9},
                    {"wave_rol:1", 0x134, 9},
                    {"wave_shr:1", 0x138, 9},
                    {"wave_ror:1", 0x13c, 9},
                    {"row_bcast:15", 0x142, 9},
                    {"row_bcast:31", 0x143, 9},
                    {"row_newbcast:6", 0x156, 9},
                    {"row_share:6", 0x156, 11},
                    {"row_xmask:9", 0x169, 11}};

    if (k->op->flags & F_NODPP || (k->op->kind == VC && !k->m->gfx11))
        return;
    if (!strcmp(k->op->sem, "v_mov_b32"))
        for (size_t n = 0; n < sizeof controls / sizeof *controls; n++) {
            if (controls[n].only && (controls[n].only == 11) != k->m->gfx11)
                continue;
            dpp(k, "_dpp", controls[n].text, controls[n].code, 15, 15, false, false);
            dpp(k, "_dpp", controls[n].text, controls[n].code, 15, 15, true, false);
            dpp(k, "_dpp", controls[n].text, controls[n].code, 6, 11, n & 1, false);
            if (k->m->gfx11)
                dpp(k, "_dpp", controls[n].text, controls[n].code, 15, 13, n & 1, true);
        }
    if (k->op->kind != V3) {
        dpp(k, "_dpp", "row_ror:3", 0x123, 15, 15, true, false);
        if (!masks) {
            dpp(k, "_dpp", "quad_perm:[3,0,2,1]", 3 | 2 << 4 | 1 << 6, 5, 13, false, false);
            dpp(k, "_dpp", "row_shr:2", 0x112, 15, 15, false, false);
        }
    }
    if (k->m->gfx11 && !(k->op->flags & F_NOE64) && k->op->kind != MX && k->op->kind != PW)
        dpp(k, "_e64_dpp", "row_ror:3", 0x123, 15, 15, true, false);
    if (k->m->gfx11 && k->op->kind != V3) {
        static const uint8_t lanes[8] = {6, 7, 1, 1, 0, 3, 2, 5};

        begin(k);
        k->c->insn.ext = X_DPP8;
        memcpy(k->c->insn.dpp8, lanes, 8);
        k->c->full_exec = masks;
        spell(k, "_dpp", false);
        say(k, " dpp8:[6,7,1,1,0,3,2,5]");
    }
}

static void sdwa_forms(struct maker *k)
{
    static const char *const sels[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                       "WORD_0", "WORD_1", "DWORD"};
    static const char *const unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
    unsigned forms = !strcmp(k->op->sem, "v_mov_b32") || !strcmp(k->op->sem, "v_add_u32") ? 21 : 3;
    bool compare = k->op->kind == VC;

    if (k->op->flags & F_NOSDWA || k->m->gfx11 || k->op->kind == V3)
        return;
    for (unsigned n = 0; n < forms; n++) {
        struct oracle_insn *i;

        begin(k);
        i = &k->c->insn;
        i->ext = X_SDWA;
        i->sel[0] = (enum oracle_sel)((n * 3 + 1) % 7);
        i->sel[1] = (enum oracle_sel)((n * 5 + 5) % 7);
        i->dst_sel = compare ? DWORD : (enum oracle_sel)((n * 2 + 5) % 7);
        i->unused = (enum oracle_unused)(n % 3);
        if (k->op->flags & (F_SDWABYTE | F_SDWAWORD)) {
            i->sel[0] = k->op->flags & F_SDWABYTE ? (enum oracle_sel)n : n & 1 ? WORD_1 : WORD_0;
            i->dst_sel = DWORD;
            i->unused = UNUSED_PRESERVE;
        }
        for (unsigned s = 0; s < k->sources; s++) {
            if (takes_modifiers(k, s)) {
                modify(k, s, n & 1, n == 2);
            } else if (n % 3 == 1 && k->types[s] != 'b' && k->types[s] != 'x') {
                char plain[24];

                i->sext[s] = true;
                snprintf(plain, sizeof plain, "%s", k->operand[s]);
                snprintf(k->operand[s], sizeof k->operand[s], "sext(%s)", plain);
            }
        }
        spell(k, "_sdwa", false);
        if (!compare && !(k->op->flags & (F_SDWABYTE | F_SDWAWORD)))
            say(k, " dst_sel:%s dst_unused:%s", sels[i->dst_sel], unused[i->unused]);
        say(k, " src0_sel:%s", sels[i->sel[0]]);
        if (k->sources > 1)
            say(k, " src1_sel:%s", sels[i->sel[1]]);
    }
}

/* ---- packed and mixed */

static void list_of(struct maker *k, const char *what, unsigned bits)
{
    say(k, " %s:[", what);
    for (unsigned s = 0; s < k->sources; s++)
        say(k, "%s%u", s ? "," : "", bits >> s & 1);
    say(k, "]");
}

static void packed_forms(struct maker *k)
{
    bool floats = oracle_format(k->op->sig[0]) != NULL;

    for (unsigned n = 0; n < 8; n++) {
        begin(k);
        if (n == 6)
            use_sgpr(k, 0);
        spell(k, "", true);
        k->c->insn.opsel = (uint8_t)(n & ((1u << k->sources) - 1));
        k->c->insn.opsel_hi = (uint8_t)((n * 5 + 7) & ((1u << k->sources) - 1));
        if (k->op->flags & F_PKMOV) {
            list_of(k, "op_sel", k->c->insn.opsel);
            continue;
        }
        list_of(k, "op_sel", k->c->insn.opsel);
        list_of(k, "op_sel_hi", k->c->insn.opsel_hi);
        if (floats && n >= 4) {
            k->c->insn.neg_lo = (uint8_t)((n * 3) & ((1u << k->sources) - 1));
            k->c->insn.neg_hi = (uint8_t)((n * 5 + 1) & ((1u << k->sources) - 1));
            list_of(k, "neg_lo", k->c->insn.neg_lo);
            list_of(k, "neg_hi", k->c->insn.neg_hi);
        }
    }
    if (floats || k->op->flags & F_CLAMP) {
        begin(k);
        spell(k, "", true);
        clamp(k);
    }
}

static void whole_forms(struct maker *k)
{
    for (unsigned n = 0; n < (k->op->flags & F_SIGNS ? 4u : 1u); n++) {
        begin(k);
        spell(k, "", true);
        if (k->op->flags & F_SIGNS) {
            k->c->insn.neg_lo = (uint8_t)n;
            say(k, " neg_lo:[%u,%u,0]", n & 1, n >> 1);
        }
        if (n == 3 && k->op->flags & F_CLAMP)
            clamp(k);
    }
    begin(k);
    use_sgpr(k, 1);
    spell(k, "", true);
    begin(k);
    use_inline(k, 2, 2);
    spell(k, "", true);
    for (unsigned n = 1; n < 4 && k->op->flags & F_SUMSIGN; n++) {
        begin(k);
        spell(k, "", true);
        k->c->insn.neg_lo = n & 1 ? 4 : 0;
        k->c->insn.neg_hi = n & 2 ? 4 : 0;
        say(k, " neg_lo:[0,0,%u] neg_hi:[0,0,%u]", n & 1, n >> 1);
    }
    if (k->op->flags & F_NOCLAMP)
        return;
    if (k->op->flags & F_CLAMP || oracle_format(k->op->sig[0])) {
        begin(k);
        spell(k, "", true);
        clamp(k);
    }
}

static void mixed_forms(struct maker *k)
{
    for (unsigned n = 0; n < 16; n++) {
        begin(k);
        k->c->insn.opsel_hi = (uint8_t)(n & 7);
        k->c->insn.opsel = (uint8_t)((n * 3) & 7 & n);
        for (unsigned s = 0; s < 3; s++) {
            if (!(n >> s & 1)) /* f32 in this place */
                k->c->vtype[2 * s] = 'f';
            if (n >= 8)
                modify(k, s, (n * 5) >> s & 1, (n * 3 + 1) >> s & 1);
        }
        spell(k, "", true);
        list_of(k, "op_sel", k->c->insn.opsel);
        list_of(k, "op_sel_hi", k->c->insn.opsel_hi);
        if (n == 15)
            clamp(k);
    }
}

static void literal_forms(struct maker *k)
{
    for (unsigned n = 0; n < 3; n++) {
        begin(k);
        use_literal(k, k->op->kind == MK ? 1 : 2, n ? 0x3fb8aa3b : 0x4049c5c2);
        if (n == 1)
            use_inline(k, 0, -4);
        if (n == 2 && k->m->gfx11)
            use_sgpr(k, 0);
        spell(k, "", false);
    }
}

static void scale_operands(const struct sem_case *c, struct oracle_wave *w,
                           const struct sem_memory *m)
{
    unsigned first = c->insn.s[0].reg, regs = oracle_bits(c->insn.op->sig[0]) / 32;

    (void)m;
    for (unsigned l = 0; l < 64; l++)
        for (unsigned r = 0; r < regs; r++)
            w->v[first + r][l] = w->v[(l & 1 ? 2 : 4) + r][l];
}

static void scale_forms(struct maker *k)
{
    begin(k);
    spell(k, "", true);
    k->c->prepare = scale_operands;
    k->c->insn.d[1] = (struct oracle_operand){P_SGPR, 24, 0};
}

void forms_add(struct sem_list *l, enum oracle_target t, const struct oracle_op *op, bool cmpx)
{
    const struct oracle_machine *m = &oracle_machines[t];
    const char *given = op->name[m->gfx11];
    char name[64];
    struct maker k = {l, t, m, op, name, strchr(op->sig, ':') + 1, 0, cmpx, NULL, {{0}}};

    if (!given || !(op->targets & m->mask))
        return;
    snprintf(name, sizeof name, "%s%s", op->kind != VC ? "" : cmpx ? "v_cmpx" : "v_cmp", given);
    k.sources = strlen(k.types);
    if (k.sources && k.types[k.sources - 1] == 'm')
        k.sources--;
    switch (op->kind) {
    case PK:
        packed_forms(&k);
        return;
    case PW:
        whole_forms(&k);
        return;
    case MX:
        mixed_forms(&k);
        return;
    case MK:
    case AK:
        literal_forms(&k);
        return;
    case V1:
    case V2:
    case VC:
        short_forms(&k);
        if (!(op->flags & F_NOE64))
            long_forms(&k);
        break;
    case V3:
        if (op->flags & F_DIVSCALE) {
            scale_forms(&k);
            return;
        }
        long_forms(&k);
        break;
    }
    if (!(op->flags & F_NOE64))
        op_sel_forms(&k);
    dpp_forms(&k);
    sdwa_forms(&k);
}
