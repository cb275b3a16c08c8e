/*
 * LDS semantics: loads, stores, two-address forms, atomics with and without return, swizzle and the
 * permutes.
 *
 * The byte address is in v0, data in v[4:7] and v[12:15], results in v[8:11]. Lanes get different
 * addresses where they write, since the order of lanes at one address is not documented.
 */
#include <stdio.h>
#include <string.h>

#include "test_semantics.h"
#include "test_semantics_lds.h"

/* Lane addresses: different multiples of 16 below 1 KiB, in a shuffled order, plus a fine offset.
 */
static void addresses(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    const struct row *r = c->row;
    unsigned fine = c->arg[1], turn = (unsigned)sem_random();

    for (unsigned l = 0; l < 64; l++)
        w->v[0][l] =
            ((l * 37 + turn) % 64) * 16 + (fine ? (unsigned)sem_random() % (16 / fine) * fine : 0);
    if (r->form == PERMUTE || r->form == BPERMUTE)
        for (unsigned l = 0; l < 64; l++)
            w->v[0][l] = (uint32_t)sem_random() & (r->form == PERMUTE ? 0xfc : 0x1ff);
    for (unsigned l = 0; r->form == TO_LDS && l < 64; l++) {
        uint64_t from = m->address + (unsigned)sem_random() % 64 * 16;

        w->v[0][l] = (uint32_t)from;
        w->v[1][l] = (uint32_t)(from >> 32);
    }
    w->s[20] = (unsigned)sem_random() % 64 * 4;
    w->m0 = r->form >= ADDTID_R && r->form <= APPEND ? (unsigned)sem_random() % 64 * 4 : 0xffffffff;
}

static bool on(const struct oracle_wave *w, unsigned lane)
{
    return w->exec >> lane & 1;
}

static uint64_t pair(const struct oracle_wave *w, unsigned reg, unsigned lane, unsigned bytes)
{
    return w->v[reg][lane] | (bytes > 4 ? (uint64_t)w->v[reg + 1][lane] << 32 : 0);
}

static void result(struct oracle_wave *w, unsigned reg, unsigned lane, uint64_t v, unsigned bytes)
{
    w->v[reg][lane] = (uint32_t)v;
    if (bytes > 4)
        w->v[reg + 1][lane] = (uint32_t)(v >> 32);
}

/* The FFT orders of the manuals' examples, by mask; the others move nothing. */
static unsigned fft(unsigned mask, unsigned lane)
{
    static const uint8_t order[2][32] = {
        {0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30,
         1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31},
        {0,  8,  4,  12, 2,  10, 6,  14, 1,  9,  5,  13, 3,  11, 7,  15,
         16, 24, 20, 28, 18, 26, 22, 30, 17, 25, 21, 29, 19, 27, 23, 31}};

    return mask == 0 ? order[0][lane] : mask == 0x10 ? order[1][lane] : lane;
}

/* To the left by bits 5..9, to the right with bit 10; lanes change only outside of the mask's bits.
 */
static unsigned rotated(unsigned offset, unsigned lane)
{
    unsigned by = offset >> 5 & 31, to = (lane + (offset & 0x400 ? 32 - by : by)) % 32, from = 0;

    for (unsigned bit = 1; bit < 32; bit *= 2)
        from += offset & bit ? lane & bit : to & bit;
    return from;
}

/* Offset bit 15: four lane numbers of a quad, or the FFT and rotation modes. Else and, or, xor
 * masks within 32 lanes. */
static unsigned swizzled(unsigned offset, unsigned lane)
{
    if (offset >= 0xe000)
        return (lane & ~31u) + fft(offset & 31, lane & 31);
    if (offset >= 0xc000)
        return (lane & ~31u) + rotated(offset, lane & 31);
    if (offset & 0x8000)
        return (lane & ~3u) + (offset >> 2 * (lane & 3) & 3);
    return (lane & ~31u) +
           ((((lane & 31) & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31));
}

static void run_shuffle(const struct sem_case *c, const struct oracle_wave *b,
                        struct oracle_wave *a)
{
    const struct row *r = c->row;
    unsigned lanes = oracle_machines[b->target].lanes;
    const struct oracle_machine *m = &oracle_machines[b->target];
    unsigned group = m->mask == G12 ? lanes : m->gfx11 ? 32 : 64;
    uint32_t got[64] = {0};

    for (unsigned l = 0; l < lanes; l++) {
        unsigned address = b->v[0][l] + c->arg[0], other;

        switch (r->form) {
        case SWIZZLE:
            other = swizzled(c->arg[0], l);
            got[l] = on(b, other) ? b->v[0][other] : 0;
            break;
        case PERMUTE: /* the highest lane wins */
            if (on(b, l))
                got[l / group * group + address / 4 % group] = b->v[4][l];
            break;
        default:
            other = l / group * group + address / 4 % group;
            got[l] = r->form == BPERMUTE_FI || on(b, other) ? b->v[4][other] : 0;
            break;
        }
    }
    for (unsigned l = 0; l < lanes; l++)
        if (on(b, l))
            a->v[8][l] = got[l];
}

static void run_lane(const struct sem_case *c, const struct oracle_wave *b, struct oracle_wave *a,
                     unsigned l, uint8_t *lds)
{
    const struct row *r = c->row;
    unsigned base = b->v[0][l], offset = c->arg[0], step = r->kind * r->width, bytes = r->width / 8;
    uint8_t *at = lds + base + offset, *first, *second;
    uint64_t old;

    switch (r->form) {
    case READ:
        oracle_load((enum oracle_load)r->kind, at, &a->v[8][l], 64);
        break;
    case WRITE:
        oracle_store((enum oracle_store)r->kind, at, &b->v[4][l], 64);
        break;
    case ATOMIC: {
        uint64_t d = pair(b, 4, l, bytes), d2 = pair(b, 12, l, bytes);
        bool swapped =
            oracle_machines[b->target].gfx11 && (r->kind == A_CMPST || r->kind == A_CMPST_F);

        old = oracle_get(at, bytes); /* gfx11 has the new value first */
        oracle_put(at, bytes,
                   oracle_atomic((enum oracle_atomic)r->kind, r->width, old, swapped ? d2 : d,
                                 swapped ? d : d2));
        if (strstr(r->name[oracle_machines[b->target].gfx11], "_rtn"))
            result(a, 8, l, old, bytes);
        break;
    }
    case ADDTID_R:
        a->v[8][l] = (uint32_t)oracle_get(lds + offset + (b->m0 & 0xffff) + l * 4, 4);
        break;
    case ADDTID_W:
        oracle_put(lds + offset + (b->m0 & 0xffff) + l * 4, 4, b->v[4][l]);
        break;
    case CONDXCHG: /* each dword whose new value has its highest bit set, without that bit */
        for (unsigned i = 0; i < 2; i++) {
            uint32_t new = b->v[4 + i][l];

            a->v[8 + i][l] = (uint32_t)oracle_get(at + 4 * i, 4);
            if (new >> 31)
                oracle_put(at + 4 * i, 4, new & 0x7fffffff);
        }
        break;
    default: /* two addresses */
        first = lds + base + c->arg[2] * step;
        second = lds + base + c->arg[3] * step;
        if (r->form != WRITE2) {
            result(a, 8, l, oracle_get(first, r->kind), r->kind);
            result(a, 8 + r->kind / 4, l, oracle_get(second, r->kind), r->kind);
        }
        if (r->form != READ2) {
            oracle_put(first, r->kind, pair(b, 4, l, r->kind));
            oracle_put(second, r->kind, pair(b, 12, l, r->kind));
        }
        break;
    }
}

/* One counter for the wave: it grows or shrinks by the number of active lanes. */
static void run_append(const struct sem_case *c, const struct oracle_wave *b, struct oracle_wave *a,
                       uint8_t *lds)
{
    const struct row *r = c->row;
    uint8_t *at = lds + (b->m0 & 0xffff) + c->arg[0];
    uint32_t old = (uint32_t)oracle_get(at, 4), lanes = 0;

    for (unsigned l = 0; l < 64; l++)
        if (on(b, l)) {
            a->v[8][l] = old;
            lanes++;
        }
    if (lanes)
        oracle_put(at, 4, r->kind == 1 ? old + lanes : old - lanes);
}

/* Sixteen lanes read rows of sixteen elements, 64 bits of a row each, and get a column each. */
static void run_transpose(const struct sem_case *c, const struct oracle_wave *b,
                          struct oracle_wave *a, const uint8_t *lds)
{
    const struct row *r = c->row;
    const unsigned bits = r->kind, n = r->width / bits, in_row = 16 / n;

    for (unsigned first = 0; first < 64; first += 16) {
        unsigned matrix[16][16];

        for (unsigned l = 0; l < 16; l++)
            for (unsigned e = 0; e < n; e++) {
                const uint8_t *at = lds + b->v[0][first + l] + c->arg[0];

                matrix[l / in_row][l % in_row * n + e] = 0;
                for (unsigned bit = e * bits; bit < (e + 1) * bits; bit++)
                    matrix[l / in_row][l % in_row * n + e] |= (at[bit / 8] >> bit % 8 & 1u)
                                                              << (bit - e * bits);
            }
        for (unsigned l = 0; l < 16; l++) {
            if (!on(b, first + l))
                continue;
            for (unsigned bit = 0; bit < r->width; bit += 32)
                a->v[8 + bit / 32][first + l] = 0;
            for (unsigned bit = 0; bit < r->width; bit++)
                a->v[8 + bit / 32][first + l] |= (matrix[bit / bits][l] >> bit % bits & 1)
                                                 << bit % 32;
        }
    }
}

/* Active lanes' words go behind one another, from M0 (s20) on, lane by lane. */
static void run_to_lds(const struct sem_case *c, const struct oracle_wave *b, struct sem_memory *m)
{
    const unsigned bytes = ((const struct row *)c->row)->kind * 4;

    for (unsigned l = 0; l < 64; l++) {
        uint64_t from = (b->v[0][l] | (uint64_t)b->v[1][l] << 32) - m->address;

        if (on(b, l))
            memcpy(m->lds + b->s[20] + l * bytes, m->window + from, bytes);
    }
}

static void run_lds(const struct sem_case *c, const struct oracle_wave *before,
                    struct oracle_wave *after, struct sem_memory *m)
{
    const struct row *r = c->row;

    *after = *before;
    if (r->form >= SWIZZLE && r->form <= BPERMUTE_FI)
        run_shuffle(c, before, after);
    else if (r->form == APPEND)
        run_append(c, before, after, m->lds);
    else if (r->form == TRANSPOSE)
        run_transpose(c, before, after, m->lds);
    else if (r->form == TO_LDS)
        run_to_lds(c, before, m);
    else
        for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++)
            if (on(before, l))
                run_lane(c, before, after, l, m->lds);
    oracle_wave_strict(after);
}

static struct sem_case *begin(struct sem_list *l, const struct row *r, const char *name)
{
    struct sem_case *c = sem_add(l);

    c->group = name;
    c->row = r;
    c->run = run_lds;
    c->prepare = addresses;
    c->memory = true;
    c->arg[5] = (unsigned)r->type;
    c->numbers = true;
    for (unsigned i = 4; i < 16; i += 2) { /* pairs where the type is wide */
        c->vtype[i] = r->type;
        if (oracle_bits(r->type) <= 32)
            c->vtype[i + 1] = r->type;
    }
    return c;
}

/* First and second address in units of the element; n: the second form. */
static void write_pair(struct sem_case *c, const struct row *r, const char *name, unsigned n)
{
    c->arg[2] = n ? 1024 / (r->kind * r->width) & 255 : 0;
    c->arg[3] = r->width > 1 ? 2048 / (r->kind * r->width) : 255;
    if (r->form != READ2 && r->width == 1) { /* halves of the lane's 16 bytes */
        c->arg[2] = n && r->kind == 4 ? 2 : 0;
        c->arg[3] = r->kind == 4 ? 3 : 1;
    }
    if (r->form == READ2)
        snprintf(c->text, sizeof c->text, "%s %s, v0 offset0:%u offset1:%u", name,
                 sem_vgprs(8, 2 * r->kind), c->arg[2], c->arg[3]);
    else if (r->form == WRITE2)
        snprintf(c->text, sizeof c->text, "%s v0, %s, %s offset0:%u offset1:%u", name,
                 sem_vgprs(4, r->kind), sem_vgprs(12, r->kind), c->arg[2], c->arg[3]);
    else
        snprintf(c->text, sizeof c->text, "%s %s, v0, %s, %s offset0:%u offset1:%u", name,
                 sem_vgprs(8, 2 * r->kind), sem_vgprs(4, r->kind), sem_vgprs(12, r->kind),
                 c->arg[2], c->arg[3]);
}

static void write_atomic(struct sem_case *c, const struct row *r, const char *name,
                         const char *offset)
{
    const bool two =
        r->kind == A_MSKOR || r->kind == A_CMPST || r->kind == A_CMPST_F || r->kind == A_WRAP;

    snprintf(c->text, sizeof c->text, "%s %s%sv0, %s%s%s%s", name,
             strstr(name, "_rtn") ? sem_vgprs(8, r->width / 8) : "",
             strstr(name, "_rtn") ? ", " : "", sem_vgprs(4, r->width / 8), two ? ", " : "",
             two ? sem_vgprs(12, r->width / 8) : "", offset);
}

/* One address, or none; n: the second form. */
static void write_one(struct sem_case *c, const struct row *r, const char *name, unsigned n)
{
    const char *offset = n ? " offset:1024" : "";
    unsigned bytes = 0;

    switch (r->form) {
    case READ:
        bytes = oracle_load_bytes((enum oracle_load)r->kind);
        snprintf(c->text, sizeof c->text, "%s %s, v0%s", name, sem_vgprs(8, bytes), offset);
        break;
    case WRITE:
        bytes = oracle_store_bytes((enum oracle_store)r->kind);
        snprintf(c->text, sizeof c->text, "%s v0, %s%s", name, sem_vgprs(4, bytes), offset);
        break;
    case BPERMUTE_FI: /* assemblers before LLVM 20 do not know it */
        c->arg[0] = n ? 12 : 0;
        snprintf(c->text, sizeof c->text, ".long %#x, 0x08000400", 0xdb340000 | c->arg[0]);
        break;
    case PERMUTE:
    case BPERMUTE:
        c->arg[0] = n ? 12 : 0;
        snprintf(c->text, sizeof c->text, "%s v8, v0, v4%s", name, n ? " offset:12" : "");
        break;
    case TRANSPOSE:
        c->full_exec = true; /* what a lane gets is other lanes' */
        snprintf(c->text, sizeof c->text, "%s v[8:%u], v0%s", name, r->width == 96 ? 10u : 9u,
                 offset);
        break;
    case TO_LDS:
        c->arg[0] = 0;
        snprintf(c->text, sizeof c->text,
                 "s_mov_b32 m0, s20\n  s_nop 4\n  %s v[0:1], off\n  s_waitcnt vmcnt(0)\n"
                 "  s_mov_b32 m0, s77",
                 name);
        break;
    case CONDXCHG:
        snprintf(c->text, sizeof c->text, "%s v[8:9], v0, v[4:5]%s", name, offset);
        break;
    default: /* of a lane's own place, or the wave's */
        snprintf(c->text, sizeof c->text, "%s %s%s", name, r->form == ADDTID_W ? "v4" : "v8",
                 offset);
    }
    c->arg[1] = bytes > 2 ? 0 : bytes;
}

static void add(struct sem_list *l, const struct row *r, bool gfx11)
{
    static const unsigned swizzles[] = {0x80e4, 0x8027, 0x801b, 0x041f, 0x101f, 0x7c1f,
                                        0x0018, 0x03e0, 0x5555, 0xe000, 0xe010, 0xe01f,
                                        0xc020, 0xc0e0, 0xc421, 0xc7e0, 0xc063, 0xc538};
    const char *name = r->name[gfx11];

    for (unsigned n = 0; n < (r->form == SWIZZLE ? 18u : 2u); n++) {
        struct sem_case *c = begin(l, r, name);

        c->arg[0] = n ? 1024 : 0;
        if (r->form == SWIZZLE) {
            c->arg[0] = swizzles[n];
            c->prepare = NULL;
            snprintf(c->text, sizeof c->text, "%s v8, v0 offset:%u", name, swizzles[n]);
        } else if (r->form == ATOMIC) {
            write_atomic(c, r, name, n ? " offset:1024" : "");
        } else if (r->form == READ2 || r->form == WRITE2 || r->form == EXCHANGE2) {
            write_pair(c, r, name, n);
        } else {
            write_one(c, r, name, n);
        }
    }
}

int main(void)
{
    sem_begin("LDS");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        const struct oracle_machine *m = &oracle_machines[t];
        struct sem_list l = {0};

        if (!sem_knows((enum oracle_target)t))
            continue;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (rows[i].name[m->gfx11] && rows[i].targets & m->mask)
                add(&l, &rows[i], m->gfx11);
        for (size_t i = 0; i < l.count; i++)
            l.c[i].fresh = ((const struct row *)l.c[i].row)->targets ==
                           (oracle_is_gfx12((enum oracle_target)t) ? G12 : G950);
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
