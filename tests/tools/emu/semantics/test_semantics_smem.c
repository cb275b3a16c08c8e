/*
 * Scalar memory beyond loads: stores, scratch, atomics with and without return, on pointers and on
 * scalar buffers; gfx90a and gfx942 only.
 *
 * s[20:21] is the window's address, s[24:27] its buffer resource, s28 a scalar offset, s[32:35]
 * data and s[40:43] what a load returns.
 */
#include <stdio.h>
#include <string.h>

#include "oracle_memory.h"
#include "test_semantics.h"

enum { OFFSET = 192, SGPR_OFFSET = 64 };

struct row {
    const char *name;
    enum oracle_atomic op;
    unsigned bits;
};

#define ATOMIC(name, op) {name, op, 32}, {name "_x2", op, 64}
static const struct row rows[] = {
    ATOMIC("swap", A_SWAP),  ATOMIC("cmpswap", A_CMPST), ATOMIC("add", A_ADD),
    ATOMIC("sub", A_SUB),    ATOMIC("smin", A_MIN_I),    ATOMIC("umin", A_MIN_U),
    ATOMIC("smax", A_MAX_I), ATOMIC("umax", A_MAX_U),    ATOMIC("and", A_AND),
    ATOMIC("or", A_OR),      ATOMIC("xor", A_XOR),       ATOMIC("inc", A_INC),
    ATOMIC("dec", A_DEC),
};

/* arg: 0 byte in the window, 1 returns, 2 out of the buffer's range */
static void point(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    w->s[20] = (uint32_t)m->address;
    w->s[21] = (uint32_t)(m->address >> 32);
    w->s[24] = (uint32_t)m->address;
    w->s[25] = (uint32_t)(m->address >> 32);
    w->s[26] = c->arg[2] ? 128 : SEM_MEMORY;
    w->s[27] = 0x00027000;
    w->s[28] = SGPR_OFFSET;
}

/* Half of the groups compare with what is there, so that exchanges happen. */
static void point_atomic(const struct sem_case *c, struct oracle_wave *w,
                         const struct sem_memory *m)
{
    const struct row *r = c->row;
    unsigned words = r->bits / 32;

    point(c, w, m);
    if (r->op == A_CMPST && sem_random() & 1)
        memcpy(&w->s[32 + words], m->window + c->arg[0], words * 4);
    if (sem_random() & 1 && r->op != A_CMPST)
        memcpy(&w->s[32], m->window + c->arg[0], words * 4);
}

static uint64_t pair(const uint32_t *s, unsigned bits)
{
    return bits == 64 ? s[0] | (uint64_t)s[1] << 32 : s[0];
}

static void run_atomic(const struct sem_case *c, const struct oracle_wave *before,
                       struct oracle_wave *after, struct sem_memory *m)
{
    const struct row *r = c->row;
    uint8_t *at = m->window + c->arg[0];
    uint64_t old = c->arg[2] ? 0 : oracle_get(at, r->bits / 8), a = pair(&before->s[32], r->bits);
    uint64_t b = pair(&before->s[32 + r->bits / 32], r->bits);

    *after = *before;
    if (!c->arg[2]) /* cmpswap: the new value stands first */
        oracle_put(at, r->bits / 8,
                   r->op == A_CMPST ? oracle_atomic(r->op, r->bits, old, b, a)
                                    : oracle_atomic(r->op, r->bits, old, a, 0));
    if (c->arg[1]) {
        after->s[32] = (uint32_t)old;
        if (r->bits == 64)
            after->s[33] = (uint32_t)(old >> 32);
    }
    oracle_wave_strict(after);
}

static void registers(char *text, size_t size, unsigned first, unsigned n)
{
    if (n == 1)
        snprintf(text, size, "s%u", first);
    else
        snprintf(text, size, "s[%u:%u]", first, first + n - 1);
}

static void add_atomic(struct sem_list *l, const struct row *r, unsigned form)
{
    struct sem_case *c = sem_add(l);
    bool buffer = form & 1, immediate = form >> 1 & 1;
    char data[24], offset[16];

    registers(data, sizeof data, 32, r->bits / 32 * (r->op == A_CMPST ? 2 : 1));
    snprintf(offset, sizeof offset, immediate ? "0x%x" : "s28", OFFSET);
    c->group = buffer ? "s_buffer_atomic" : "s_atomic";
    c->row = r;
    c->run = run_atomic;
    c->prepare = point_atomic;
    c->memory = true;
    c->arg[0] = immediate ? OFFSET : SGPR_OFFSET;
    c->arg[1] = form >> 2 & 1;
    c->arg[2] = buffer && immediate;
    snprintf(c->text, sizeof c->text, "s_%satomic_%s %s, %s, %s%s", buffer ? "buffer_" : "",
             r->name, data, buffer ? "s[24:27]" : "s[20:21]", offset, c->arg[1] ? " glc" : "");
}

/* A store and, after it, a load from there; scratch counts its offset register in 64 bytes. */
static void run_store(const struct sem_case *c, const struct oracle_wave *before,
                      struct oracle_wave *after, struct sem_memory *m)
{
    *after = *before;
    memcpy(m->window + c->arg[0], &before->s[32], c->arg[1] * 4);
    memcpy(&after->s[40], m->window + c->arg[3], c->arg[1] * 4);
    oracle_wave_strict(after);
}

static void add_stores(struct sem_list *l)
{
    static const struct {
        const char *kind, *base, *offset, *back;
        unsigned at, from;
    } forms[] = {
        {"", "s[20:21]", "0xc0", "0xc0", OFFSET, OFFSET},
        {"", "s[20:21]", "s28", "0x40", SGPR_OFFSET, SGPR_OFFSET},
        {"buffer_", "s[24:27]", "s28", "0x40", SGPR_OFFSET, SGPR_OFFSET},
        {"scratch_", "s[20:21]", "0xc0", "0xc0", OFFSET, OFFSET},
        {"scratch_", "s[20:21]", "s29", "s29", 3 * 64, 3 * 64},
        {"scratch_", "s[20:21]", "s29", "0xc4", 3 * 64, 3 * 64 + 4},
    };

    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++)
        for (unsigned n = 1; n <= 4; n *= 2) {
            struct sem_case *c = sem_add(l);
            char data[24], back[24], size[8] = "";

            if (n > 1)
                snprintf(size, sizeof size, "x%u", n);
            registers(data, sizeof data, 32, n);
            registers(back, sizeof back, 40, n);
            c->group = "scalar stores and scratch";
            c->run = run_store;
            c->prepare = point;
            c->memory = true;
            c->arg[0] = forms[i].at;
            c->arg[1] = n;
            c->arg[3] = forms[i].from;
            snprintf(c->text, sizeof c->text,
                     "s_mov_b32 s84, s29\n s_mov_b32 s29, 3\n s_%sstore_dword%s %s, %s, %s\n"
                     " s_waitcnt lgkmcnt(0)\n s_%sload_dword%s %s, %s, %s\n s_waitcnt lgkmcnt(0)\n"
                     " s_mov_b32 s29, s84",
                     forms[i].kind, size, data, forms[i].base, forms[i].offset, forms[i].kind, size,
                     back, forms[i].base, forms[i].back);
        }
}

int main(void)
{
    sem_begin("scalar memory");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        if (t == T_GFX950) /* as gfx942, by the same rows */
            continue;
        struct sem_list l = {0};

        if (oracle_machines[t].gfx11)
            continue;
        for (unsigned buffer = 0; buffer < 2; buffer++)
            for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
                for (unsigned form = buffer; form < 8; form += 2)
                    add_atomic(&l, &rows[i], form);
        add_stores(&l);
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
