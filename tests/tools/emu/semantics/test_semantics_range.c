/*
 * The range check of buffers where SOFFSET takes part in it: raw buffers of every width, read,
 * written, updated and loaded to LDS, around the end, with scalar offsets that reach beyond it
 * alone or with sums beyond 2^32; and scalar buffers.
 *
 * Sources: gfx9, as measured on gfx950: ROCm/rocm-systems PR 10928. gfx11: ROCm/rocMLIR PR 678 and
 * LLVM PR 207796, "offset + size > NUM_RECORDS - SOFFSET", of which less than nothing is nothing.
 *
 * v0 is the offset, v[4:7] data, v[8:11] results; s[24:27] is the resource, s28 the scalar offset.
 */
#include <stdio.h>
#include <string.h>

#include "oracle_memory.h"
#include "test_semantics.h"

enum action { LOAD, STORE, ADD, TO_LDS, SCALAR };
/* Where SOFFSET lies: well inside, at the end, behind it, and so that sums pass 2^32. */
enum place { INSIDE, AT_END, BEHIND, HUGE_OFFSET, PLACES };

struct instruction {
    const char *name[2]; /* gfx9, gfx11; NULL: none such */
    enum action action;
    unsigned kind, bytes;
    bool whole; /* in range as a whole or not at all */
};

static const struct instruction instructions[] = {
    {{"buffer_load_ubyte", "buffer_load_u8"}, LOAD, L_U8, 1, true},
    {{"buffer_load_ushort", "buffer_load_u16"}, LOAD, L_U16, 2, true},
    {{"buffer_load_short_d16_hi", "buffer_load_d16_hi_b16"}, LOAD, L_HI_B16, 2, true},
    {{"buffer_load_dword", "buffer_load_b32"}, LOAD, L_B32, 4, true},
    {{"buffer_load_dwordx2", "buffer_load_b64"}, LOAD, L_B64, 8, false},
    {{"buffer_load_dwordx3", "buffer_load_b96"}, LOAD, L_B96, 12, false},
    {{"buffer_load_dwordx4", "buffer_load_b128"}, LOAD, L_B128, 16, false},
    {{"buffer_load_format_xyzw", "buffer_load_format_xyzw"}, LOAD, L_B128, 16, true},
    {{"buffer_store_byte", "buffer_store_b8"}, STORE, S_B8, 1, true},
    {{"buffer_store_short", "buffer_store_b16"}, STORE, S_B16, 2, true},
    {{"buffer_store_dword", "buffer_store_b32"}, STORE, S_B32, 4, true},
    {{"buffer_store_dwordx2", "buffer_store_b64"}, STORE, S_B64, 8, false},
    {{"buffer_store_dwordx3", "buffer_store_b96"}, STORE, S_B96, 12, false},
    {{"buffer_store_dwordx4", "buffer_store_b128"}, STORE, S_B128, 16, false},
    {{"buffer_store_format_xyzw", "buffer_store_format_xyzw"}, STORE, S_B128, 16, true},
    {{"buffer_atomic_add", "buffer_atomic_add_u32"}, ADD, 0, 4, true},
    {{"buffer_atomic_add_x2", "buffer_atomic_add_u64"}, ADD, 0, 8, true},
    {{"tbuffer_load_format_xyzw", "tbuffer_load_format_xyzw"}, LOAD, L_B128, 16, true},
    {{"tbuffer_store_format_xyzw", "tbuffer_store_format_xyzw"}, STORE, S_B128, 16, true},
    {{"buffer_load_dword", "buffer_load_lds_b32"}, TO_LDS, L_B32, 4, true},
    {{"buffer_load_ubyte", "buffer_load_lds_u8"}, TO_LDS, L_U8, 1, true},
    {{"s_buffer_load_dword", "s_buffer_load_b32"}, SCALAR, 0, 4, false},
    {{"s_buffer_load_dwordx4", "s_buffer_load_b128"}, SCALAR, 0, 16, false},
};

/* arg: 0 enum place, 1 instruction offset, 2 a stride, which without an index means nothing */
static void prepare(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    const struct instruction *x = c->row;
    bool gfx11 = oracle_machines[w->target].gfx11;
    unsigned turn = (unsigned)sem_random(), records = 256 + (unsigned)sem_random() % 1024;
    uint32_t soffset = 64;

    if (x->bytes >= 4)
        records &= ~3u;
    if (c->arg[0] == AT_END)
        soffset = records - 8;
    else if (c->arg[0] == BEHIND)
        soffset = records + 4 * (unsigned)(sem_random() % 64);
    else if (c->arg[0] == HUGE_OFFSET)
        soffset = 0xffffff00;
    if (x->action == ADD)
        soffset &= ~7u; /* atomics are aligned */
    for (unsigned l = 0; l < 64; l++) {
        uint32_t at = (l * 37 + turn) % 64 * 16;

        if (x->action == LOAD && l % 2 && c->arg[0] == INSIDE) /* lanes may overlap at the end */
            at = records - soffset - l;
        if (c->arg[0] == HUGE_OFFSET)
            at += 0x100;
        /* what the instruction adds is taken away, across 0 where a sum that wraps is defined */
        w->v[0][l] = gfx11 || c->arg[0] == HUGE_OFFSET ? at : at - c->arg[1];
    }
    w->s[24] = (uint32_t)m->address;
    w->s[25] = (uint32_t)(m->address >> 32) | c->arg[2] << 16;
    w->s[26] = records;
    /* raw; elements of four dwords, x to w */
    w->s[27] = (gfx11 ? 3u << 28 | 63 << 12 : 14 << 15 | 7 << 12) | 4 | 5 << 3 | 6 << 6 | 7 << 9;
    w->s[28] = soffset;
    w->m0 = (unsigned)sem_random() % 256 * 4;
}

/* The bytes of a lane that are in range, into tmp; the others are 0. Returns their number. */
static unsigned gather(const struct instruction *x, uint64_t at, uint32_t records,
                       const struct sem_memory *m, uint8_t tmp[16])
{
    unsigned n = 0;

    memset(tmp, 0, 16);
    while (n < x->bytes && at + n + (x->bytes < 4 ? x->bytes : 4) <= records)
        n += x->bytes < 4 ? x->bytes : 4;
    if (x->whole && n < x->bytes)
        n = 0;
    if (n)
        memcpy(tmp, m->window + at, n);
    return n;
}

static void run_lane(const struct sem_case *c, const struct oracle_wave *before,
                     struct oracle_wave *after, struct sem_memory *m, unsigned l)
{
    const struct instruction *x = c->row;
    uint64_t at = (uint64_t)(uint32_t)(before->v[0][l] + c->arg[1]) + before->s[28];
    uint8_t tmp[16], data[16];
    unsigned n = gather(x, at, before->s[26], m, tmp);
    uint32_t dword = 0;

    switch (x->action) {
    case LOAD:
        oracle_load((enum oracle_load)x->kind, tmp, &after->v[8][l], 64);
        break;
    case STORE:
        oracle_store((enum oracle_store)x->kind, data, &before->v[4][l], 64);
        if (n)
            memcpy(m->window + at, data, n);
        break;
    case ADD:
        if (n)
            oracle_put(m->window + at, x->bytes,
                       oracle_get(tmp, x->bytes) +
                           (before->v[4][l] | (uint64_t)before->v[5][l] << 32));
        break;
    default:
        oracle_load((enum oracle_load)x->kind, tmp, &dword, 1);
        oracle_put(m->lds + before->m0 + c->arg[1] + 4 * l, 4, dword);
    }
}

static void run(const struct sem_case *c, const struct oracle_wave *before,
                struct oracle_wave *after, struct sem_memory *m)
{
    const struct instruction *x = c->row;
    uint8_t tmp[16];

    *after = *before;
    if (x->action == SCALAR) {
        uint64_t at = (uint64_t)before->s[28] + c->arg[1];

        gather(x, at, before->s[26], m, tmp);
        for (unsigned i = 0; i < x->bytes / 4; i++)
            after->s[36 + i] = (uint32_t)oracle_get(tmp + 4 * i, 4);
    } else {
        for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++)
            if (before->exec >> l & 1)
                run_lane(c, before, after, m, l);
    }
    oracle_wave_strict(after);
}

static void name_case(struct sem_case *c, const struct instruction *x, bool gfx11)
{
    unsigned first = x->action == LOAD ? 8 : 4, dwords = (x->bytes + 3) / 4;
    const char *name = x->name[gfx11];
    char data[32];

    if (x->action == SCALAR)
        first = 36;
    snprintf(data, sizeof data, dwords > 1 ? "%c[%u:%u]" : "%c%u", x->action == SCALAR ? 's' : 'v',
             first, first + dwords - 1);
    if (x->action == SCALAR)
        snprintf(c->text, sizeof c->text, "%s %s, s[24:27], s28 offset:%u", name, data, c->arg[1]);
    else if (x->action == TO_LDS)
        snprintf(c->text, sizeof c->text,
                 "%s v0, s[24:27], s28 offen offset:%u%s\n  s_waitcnt vmcnt(0)", name, c->arg[1],
                 gfx11 ? "" : " lds");
    else if (*name == 't')
        snprintf(c->text, sizeof c->text, "%s %s, v0, s[24:27],%s s28%s offen offset:%u", name,
                 data, gfx11 ? "" : " dfmt:14, nfmt:7,", gfx11 ? " format:63" : "", c->arg[1]);
    else
        snprintf(c->text, sizeof c->text, "%s %s, v0, s[24:27], s28 offen offset:%u", name, data,
                 c->arg[1]);
}

static void add_cases(struct sem_list *l, const struct oracle_machine *m)
{
    static const char *const groups[] = {"SOFFSET inside", "SOFFSET at the end", "SOFFSET behind",
                                         "sums beyond 2^32"};

    for (unsigned place = 0; place < PLACES; place++)
        for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++)
            for (unsigned form = 0; form < 2; form++) {
                const struct instruction *x = &instructions[i];
                struct sem_case *c;

                if (!x->name[m->gfx11] || (form && x->action == SCALAR) ||
                    (m->mask == G12 && x->action == TO_LDS)) /* which gfx12 has not */
                    continue;
                c = sem_add(l);
                c->group = groups[place];
                c->row = x;
                c->run = run;
                c->prepare = prepare;
                c->memory = true;
                c->arg[0] = place;
                c->arg[1] = form ? 128 : x->action == SCALAR ? 256 : 0;
                c->arg[2] = form ? 16 : 0;
                name_case(c, x, m->gfx11);
            }
}

int main(void)
{
    sem_begin("range checks with SOFFSET");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        if (t == T_GFX950) /* as gfx942, by the same rows */
            continue;
        struct sem_list l = {0};

        add_cases(&l, &oracle_machines[t]);
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
