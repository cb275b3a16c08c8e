/*
 * One form of an instruction in the making, as text and as struct oracle_insn at once: its operands
 * and modifiers. A part of test_semantics_forms.c.
 */
#ifndef AOTHIP_TEST_SEMANTICS_SPELL_H
#define AOTHIP_TEST_SEMANTICS_SPELL_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "test_semantics.h"

struct maker {
    struct sem_list *list;
    enum oracle_target target;
    const struct oracle_machine *m;
    const struct oracle_op *op;
    const char *name;  /* without encoding suffix */
    const char *types; /* of the sources */
    size_t sources;    /* without lane masks */
    bool cmpx;
    struct sem_case *c;
    char operand[3][40];
};

static void say(struct maker *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct maker *k, const char *fmt, ...)
{
    size_t n = strlen(k->c->text);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(k->c->text + n, sizeof k->c->text - n, fmt, ap);
    va_end(ap);
}

static const char *registers(char kind, unsigned reg, unsigned bits)
{
    static char text[4][24];
    static unsigned turn;
    char *p = text[turn++ % 4];

    if (bits <= 32)
        snprintf(p, sizeof *text, "%c%u", kind, reg);
    else
        snprintf(p, sizeof *text, "%c[%u:%u]", kind, reg, reg + bits / 32 - 1);
    return p;
}

static const char *vcc(const struct maker *k)
{
    return k->m->lanes == 64 ? "vcc" : "vcc_lo";
}

static const char *mask_register(const struct maker *k, unsigned reg)
{
    return registers('s', reg, k->m->lanes);
}

static unsigned width_of(const struct maker *k, char type)
{
    unsigned bits = oracle_bits(type);

    return k->op->kind == PK && bits == 32 ? 64 : bits;
}

static char fill_of(const struct maker *k, char type)
{
    if (k->op->kind == PK)
        return type == 'h' ? 'Y' : type == 'f' ? 'F' : type == 'b' ? 'q' : 'y';
    if (type == 'b' && k->op->flags & F_HALVES)
        return 'Y';
    if (type == 'b' && k->op->flags & F_BHALVES)
        return 'E';
    return type;
}

static void fill(struct maker *k, unsigned reg, char type)
{
    char f = fill_of(k, type);

    if (f == 'F') { /* two f32 */
        k->c->vtype[reg] = k->c->vtype[reg + 1] = 'f';
    } else {
        k->c->vtype[reg] = f;
    }
    if (f == 'z')
        k->c->vtype[reg + 1] = k->c->vtype[reg + 2] = k->c->vtype[reg + 3] = 'u';
}

/* A new form with vector sources; returns its case. */
static struct sem_case *begin(struct maker *k)
{
    struct oracle_insn *i;
    unsigned reg = 0;

    k->c = sem_add(k->list);
    k->c->group = k->op->sem;
    k->c->run = sem_run_valu;
    k->c->numbers = k->op->flags & F_NUMBERS;
    k->c->keep_exec = k->cmpx;
    i = &k->c->insn;
    i->op = k->op;
    i->is_cmpx = k->cmpx;
    i->opsel_hi = k->op->kind == PK ? 7 : 0;
    i->d[0] = (struct oracle_operand){P_VGPR, 8, 0};
    i->dst_sel = i->sel[0] = i->sel[1] = DWORD;
    i->row_mask = i->bank_mask = 15;
    for (size_t s = 0; s < strlen(k->types); s++) {
        if (k->types[s] == 'm') {
            i->s[s] = (struct oracle_operand){P_VCC, 0, 0};
            continue;
        }
        reg = 2 * (unsigned)s;
        i->s[s] = (struct oracle_operand){P_VGPR, reg, 0};
        fill(k, reg, k->types[s]);
        snprintf(k->operand[s], sizeof k->operand[s], "%s",
                 registers('v', reg, width_of(k, k->types[s])));
    }
    if (k->op->sig[0] == 'm')
        i->d[0] = (struct oracle_operand){P_VCC, 0, 0};
    else
        fill(k, 8, k->op->sig[0]);
    i->d[1] = (struct oracle_operand){P_VCC, 0, 0};
    return k->c;
}

/* Another kind of operand in the place of source s. */
static void use_sgpr(struct maker *k, unsigned s)
{
    unsigned bits = width_of(k, k->types[s]);
    char f = fill_of(k, k->types[s]);

    k->c->insn.s[s] = (struct oracle_operand){P_SGPR, 20, 0};
    k->c->stype[20] = f == 'F' ? 'f' : f;
    if (f == 'F')
        k->c->stype[21] = 'f';
    snprintf(k->operand[s], sizeof k->operand[s], "%s", registers('s', 20, bits));
}

/* An inline constant: a number for floats, -4 for integers. */
static void use_inline(struct maker *k, unsigned s, int n)
{
    char type = k->types[s];
    const struct sf_format *f = oracle_format(type);
    unsigned bits = oracle_bits(type);
    struct sf_env env = {SF_NEAREST, true, true};
    uint64_t value = f ? sf_pack(f, sf_from_int(n), &env) : (uint64_t)(int64_t)n;

    if (type == 'e') /* bf16 operands see integers only */
        value = 0;
    if (bits < 64)
        value &= (UINT64_C(1) << bits) - 1;
    k->c->insn.s[s] = (struct oracle_operand){P_CONST, 0, value};
    if (type == 'e')
        snprintf(k->operand[s], sizeof k->operand[s], "0");
    else
        snprintf(k->operand[s], sizeof k->operand[s], f ? "%d.0" : "%d", n);
}

static void use_literal(struct maker *k, unsigned s, uint32_t literal)
{
    unsigned bits = oracle_bits(k->types[s]);
    uint64_t value = k->types[s] == 'd' ? (uint64_t)literal << 32
                     : bits == 16       ? literal & 0xffff
                                        : literal;

    k->c->insn.s[s] = (struct oracle_operand){P_CONST, 0, value};
    snprintf(k->operand[s], sizeof k->operand[s], "%#x", bits == 16 ? literal & 0xffff : literal);
}

static bool takes_modifiers(const struct maker *k, unsigned s)
{
    if (k->op->flags & F_NOMODS)
        return false;
    return oracle_format(k->types[s]) || (k->op->flags & F_FMODS && k->types[s] != 'm') ||
           k->op->kind == MX;
}

static void modify(struct maker *k, unsigned s, bool neg, bool abs)
{
    char plain[24];

    if (!takes_modifiers(k, s))
        return;
    snprintf(plain, sizeof plain, "%s", k->operand[s]);
    snprintf(k->operand[s], sizeof k->operand[s], "%s%s%s%s", neg ? "-" : "", abs ? "|" : "", plain,
             abs ? "|" : "");
    if (k->op->kind == MX) {
        k->c->insn.neg_lo |= (uint8_t)(neg << s);
        k->c->insn.neg_hi |= (uint8_t)(abs << s);
    } else {
        k->c->insn.neg |= (uint8_t)(neg << s);
        k->c->insn.abs |= (uint8_t)(abs << s);
    }
}

/* The instruction up to its modifiers. suffix: "_e32" and so on. */
static void spell(struct maker *k, const char *suffix, bool vop3)
{
    const char *sig = k->op->sig;
    struct oracle_insn *i = &k->c->insn;
    const char *comma = " ";

    say(k, "%s%s", k->name, suffix);
    if (sig[0] == 'm') {
        if (vop3) {
            i->d[0] = (struct oracle_operand){P_SGPR, 24, 0};
            if (!(k->cmpx && k->m->gfx11))
                say(k, " %s", mask_register(k, 24)), comma = ", ";
        } else if (!(k->cmpx && k->m->gfx11)) {
            say(k, " %s", vcc(k)), comma = ", ";
        }
    } else {
        say(k, " %s",
            registers('v', 8, k->op->kind == PK ? width_of(k, sig[0]) : oracle_bits(sig[0])));
        comma = ", ";
    }
    if (sig[1] == 'm') {
        if (vop3) {
            i->d[1] = (struct oracle_operand){P_SGPR, 24, 0};
            say(k, ", %s", mask_register(k, 24));
        } else {
            say(k, ", %s", vcc(k));
        }
    }
    for (size_t s = 0; s < strlen(k->types); s++) {
        if (k->types[s] != 'm') {
            say(k, "%s%s", comma, k->operand[s]);
        } else if (vop3) {
            i->s[s] = (struct oracle_operand){P_SGPR, 28, 0};
            say(k, ", %s", mask_register(k, 28));
        } else {
            say(k, ", %s", vcc(k));
        }
        comma = ", ";
    }
}

static void op_sel(struct maker *k, unsigned bits, unsigned places, bool destination)
{
    k->c->insn.opsel = (uint8_t)bits;
    say(k, " op_sel:[");
    for (unsigned p = 0; p < places; p++)
        say(k, "%s%u", p ? "," : "", bits >> p & 1);
    if (destination)
        say(k, "%s%u", places ? "," : "", bits >> 3 & 1);
    say(k, "]");
}

static void clamp(struct maker *k)
{
    k->c->insn.clamp = true;
    say(k, " clamp");
}

static void omod(struct maker *k, unsigned n)
{
    static const char *const text[] = {"", " mul:2", " mul:4", " div:2"};

    k->c->insn.omod = n;
    say(k, "%s", text[n]);
}

static bool float_result(const struct maker *k)
{
    return oracle_format(k->op->sig[0]) && k->op->sig[0] != 'F' && k->op->sig[0] != 'Y' &&
           !(k->op->flags & (F_NOMODS | F_NOCLAMP));
}

static bool sixteen(const struct maker *k)
{
    return oracle_bits(k->op->sig[0]) == 16 || oracle_bits(k->types[0]) == 16;
}

/* The assembler gives op_sel to those 16-bit operations that have no short form. */
static bool takes_op_sel(const struct maker *k)
{
    if (!sixteen(k) || k->op->flags & F_NOOPSEL || k->op->kind == MX)
        return false;
    return k->op->kind == V3;
}

#endif
