/*
 * Buffer semantics: element formats of buffer_*_format and tbuffer_*, destination selects, and
 * addressing with index, stride, swizzle and thread number under each range check.
 *
 * Index and offset are in v0, v1, data in v[4:7], results in v[8:11]; s[24:27] is the resource, s28
 * a scalar offset.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_memory.h"
#include "oracle_texel.h"
#include "test_semantics.h"

enum { SOFFSET = 64, RECORDS = 40 };

/* ---- formats */

struct access {
    struct texel texel;
    unsigned n; /* components */
    bool store, d16, hi, typed;
    uint8_t select[4];
};

static void texel_state(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    const struct access *a = c->row;
    uint32_t format = a->texel.number, word3 = 0;

    for (unsigned l = 0; l < 64; l++)
        w->v[0][l] = (l * 37 & 63) * 32 + (l % 5 == 1 ? 100000 : 0);
    for (unsigned i = 0; i < 4; i++)
        word3 |= (uint32_t)a->select[i] << 3 * i;
    if (oracle_machines[w->target].gfx11)
        word3 |= format << 12 | 3u << 28; /* raw */
    else
        word3 |= (format & 15) << 15 | format >> 4 << 12;
    w->s[24] = (uint32_t)m->address;
    w->s[25] = (uint32_t)(m->address >> 32);
    w->s[26] = SEM_MEMORY;
    w->s[27] = word3;
    w->s[28] = SOFFSET;
}

static uint32_t loaded(const struct access *a, const uint8_t *element, unsigned i)
{
    unsigned component = a->typed ? i : a->select[i] - 4u;
    bool integer = a->texel.type == TEXEL_UINT || a->texel.type == TEXEL_SINT;

    if (!a->typed && a->select[i] == 1)
        return integer ? 1 : a->d16 ? 0x3c00 : 0x3f800000;
    if (component >= a->texel.count || !element)
        return 0;
    return texel_load(&a->texel, element, component, a->d16);
}

static void put_half(uint32_t *reg, bool high, uint32_t x)
{
    *reg = high ? (*reg & 0xffff) | x << 16 : (*reg & 0xffff0000) | (x & 0xffff);
}

static void run_texel(const struct sem_case *c, const struct oracle_wave *before,
                      struct oracle_wave *after, struct sem_memory *m)
{
    const struct access *a = c->row;

    *after = *before;
    for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++) {
        bool out = l % 5 == 1;
        uint8_t *at = m->window + (out ? 0 : before->v[0][l]) + 16 + SOFFSET, element[16] = {0};

        if (!(before->exec >> l & 1))
            continue;
        for (unsigned i = 0; i < a->n; i++) {
            unsigned reg = a->d16 ? i / 2 : i;
            bool high = a->hi || i % 2;
            uint32_t data = before->v[4 + reg][l];

            if (a->store && i < a->texel.count)
                texel_store(&a->texel, element, i,
                            !a->d16 ? data
                            : high  ? data >> 16
                                    : data & 0xffff,
                            a->d16);
            else if (!a->store && a->d16)
                put_half(&after->v[8 + reg][l], high, loaded(a, out ? NULL : at, i));
            else if (!a->store)
                after->v[8 + reg][l] = loaded(a, out ? NULL : at, i);
        }
        if (a->store && !out)
            memcpy(at, element, a->texel.bytes);
    }
    oracle_wave_strict(after);
}

static const char components[] = "xyzw";

static void name_access(const struct access *a, bool gfx11, char *text, size_t size)
{
    unsigned regs = a->d16 ? (a->n + 1) / 2 : a->n, first = a->store ? 4 : 8;
    char data[32], type[48] = "", d16[16] = "";

    if (a->d16)
        snprintf(d16, sizeof d16, "d16_%s", a->hi ? "hi_" : "");
    snprintf(data, sizeof data, regs > 1 ? "v[%u:%u]" : "v%u", first, first + regs - 1);
    if (a->typed && gfx11)
        snprintf(type, sizeof type, " format:%u", a->texel.number);
    else if (a->typed)
        snprintf(type, sizeof type, " dfmt:%u, nfmt:%u,", a->texel.number & 15,
                 a->texel.number >> 4);
    snprintf(text, size, "%sbuffer_%s_%s%s%s%.*s %s, v0, s[24:27],%s s28%s offen offset:16",
             a->typed ? "t" : "", a->store ? "store" : "load", gfx11 ? d16 : "", "format_",
             gfx11 ? "" : d16, (int)a->n, components, data, gfx11 ? "" : type, gfx11 ? type : "");
}

static void add_texel(struct sem_list *l, bool gfx11, const struct access *a)
{
    struct sem_case *c = sem_add(l);
    struct access *copy = malloc(sizeof *copy);
    bool integer = a->texel.type == TEXEL_UINT || a->texel.type == TEXEL_SINT;

    if (!copy)
        abort();
    *copy = *a;
    c->group = a->typed ? "formats of the instruction" : "formats of the resource";
    c->row = c->own_row = copy;
    c->run = run_texel;
    c->prepare = texel_state;
    c->memory = true;
    for (unsigned i = 4; i < 8; i++)
        c->vtype[i] = integer ? 'b' : a->d16 ? 'Y' : 'f';
    name_access(a, gfx11, c->text, sizeof c->text);
}

/* Reading 32-bit integers into 16 bits is not documented. */
static bool is_documented(const struct access *a)
{
    return !(a->d16 && a->texel.width[0] == 32 && a->texel.type != TEXEL_FLOAT);
}

static void add_texels(struct sem_list *l, bool gfx11)
{
    static const uint8_t plain[4] = {4, 5, 6, 7}, mixed[4] = {7, 1, 4, 0};
    struct access a = {.n = 4};

    for (unsigned typed = 0; typed < 2; typed++)
        for (unsigned i = 0; texel_format(gfx11, i, &a.texel); i++)
            for (unsigned form = 0; form < 4; form++) {
                a.store = form & 1;
                a.d16 = form >> 1;
                a.typed = typed;
                a.hi = false;
                a.n = i % 3 == 0 ? 4 : 1 + i % 4;
                memcpy(a.select, !a.store && i % 2 ? mixed : plain, sizeof a.select);
                if (is_documented(&a))
                    add_texel(l, gfx11, &a);
                a.n = 1;
                a.hi = true;
                if (a.d16 && !a.typed && is_documented(&a))
                    add_texel(l, gfx11, &a);
            }
}

/* ---- addressing */

struct shape {
    unsigned stride, swizzle; /* swizzle: as gfx11 encodes it; gfx9 has 1, elements of 4 bytes */
    unsigned index_stride;    /* encoded: 8, 16, 32, 64 */
    bool add_tid, idxen, offen;
    unsigned rule; /* gfx11 */
};

enum { LOAD_ONE, LOAD_TWO, LOAD_FOUR, STORE_THREE, WIDTHS }; /* c->arg[0] */

static void shape_state(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    const struct shape *s = c->row;
    bool gfx11 = oracle_machines[w->target].gfx11;

    for (unsigned l = 0; l < 64; l++) {
        uint32_t index = (l * 37 & 63) % (s->add_tid ? 16 : 64), offset = sem_random() % 3 * 4;

        if (c->arg[0] == STORE_THREE)
            offset = 0; /* lanes do not overlap */
        w->v[0][l] = s->idxen ? index : offset + (s->swizzle ? 0 : (l * 37 & 63) * 12);
        w->v[1][l] = offset;
    }
    w->s[24] = (uint32_t)m->address;
    w->s[25] = (uint32_t)(m->address >> 32) | s->stride << 16 |
               (gfx11 ? s->swizzle << 30 : (s->swizzle ? 1u << 31 : 0));
    w->s[26] = RECORDS * (s->idxen || (gfx11 && s->rule < 2) ? 1 : 12);
    if (gfx11 && s->rule == 3 && s->swizzle)
        w->s[26] += SOFFSET;
    w->s[27] = s->index_stride << 21 | (s->add_tid ? 1u << 23 : 0) |
               (gfx11 ? s->rule << 28 | 22u << 12 : 4u << 15 | 7u << 12);
    /* with the thread number, gfx9 takes the data format for high bits of the stride */
    if (s->add_tid && !gfx11)
        w->s[27] &= ~(15u << 15);
    w->s[28] = SOFFSET;
}

/* SOFFSET takes part where bytes are checked, not records: see test_semantics_range.c. */
static bool in_range(const struct shape *s, bool gfx11, uint64_t index, uint64_t offset,
                     uint64_t records, unsigned bytes)
{
    bool in_record = offset + bytes <= s->stride;

    if (!gfx11) {
        if (s->add_tid && !s->idxen)
            return true;
        if (s->idxen && s->stride)
            return index < records;
        return offset + SOFFSET + bytes <= records;
    }
    switch (s->rule) {
    case 0:
        return index < records && in_record;
    case 1:
        return index < records;
    case 2:
        return records != 0;
    default:
        return s->swizzle && s->stride ? index + SOFFSET < records && in_record
                                       : offset + SOFFSET + bytes <= records;
    }
}

static uint64_t place(const struct shape *s, bool gfx11, uint64_t index, uint64_t offset)
{
    uint64_t per = 8u << s->index_stride, element = gfx11 ? 2u << s->swizzle : 4;

    if (!s->swizzle)
        return index * s->stride + offset;
    return (index / per * s->stride + offset / element * element) * per + index % per * element +
           offset % element;
}

/* One dword of a lane, wherever its neighbours are. NULL: out of range. */
static uint8_t *dword_at(const struct shape *s, const struct oracle_wave *w, unsigned l, unsigned i,
                         struct sem_memory *m)
{
    bool gfx11 = oracle_machines[w->target].gfx11;
    uint64_t first = s->idxen ? w->v[0][l] : 0, index = first, at;
    uint64_t offset = 4 + 4 * i + (s->offen ? w->v[s->idxen][l] : 0);

    /* gfx950: not in a linear buffer that has an index, ROCm/rocm-systems PR 10928 */
    if (s->add_tid && (gfx11 || s->swizzle || !s->idxen))
        index += l;
    at = place(s, gfx11, index, offset) + SOFFSET;
    return in_range(s, gfx11, gfx11 ? index : first, offset, w->s[26], 4) && at + 4 <= SEM_WINDOW
               ? m->window + at
               : NULL;
}

static void run_shape(const struct sem_case *c, const struct oracle_wave *before,
                      struct oracle_wave *after, struct sem_memory *m)
{
    static const unsigned dwords[WIDTHS] = {1, 2, 4, 3};

    *after = *before;
    for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++)
        for (unsigned i = 0; before->exec >> l & 1 && i < dwords[c->arg[0]]; i++) {
            uint8_t *at = dword_at(c->row, before, l, i, m);

            if (c->arg[0] != STORE_THREE)
                after->v[8 + i][l] = at ? (uint32_t)oracle_get(at, 4) : 0;
            else if (at)
                oracle_put(at, 4, before->v[4 + i][l]);
        }
    oracle_wave_strict(after);
}

static void add_shape(struct sem_list *l, const struct shape *s, unsigned width, bool gfx11)
{
    static const char *const names[WIDTHS][2] = {{"load_dword v8", "load_b32 v8"},
                                                 {"load_dwordx2 v[8:9]", "load_b64 v[8:9]"},
                                                 {"load_dwordx4 v[8:11]", "load_b128 v[8:11]"},
                                                 {"store_dwordx3 v[4:6]", "store_b96 v[4:6]"}};
    const char *address = s->idxen && s->offen ? "v[0:1]" : s->idxen || s->offen ? "v0" : "off";
    struct sem_case *c = sem_add(l);

    c->group = "index, stride, swizzle";
    c->row = s;
    c->arg[0] = width;
    c->run = run_shape;
    c->prepare = shape_state;
    c->memory = true;
    snprintf(c->text, sizeof c->text, "buffer_%s, %s, s[24:27], s28%s%s offset:4",
             names[width][gfx11], address, s->idxen ? " idxen" : "", s->offen ? " offen" : "");
}

static void add_shapes(struct sem_list *l, const struct oracle_machine *m)
{
    static const struct shape shapes[] = {
        {16, 0, 0, false, true, true, 1},  {16, 0, 0, false, true, false, 0},
        {8, 0, 0, false, true, true, 0},   {0, 0, 0, false, false, true, 3},
        {16, 0, 0, false, false, true, 3}, {16, 1, 0, false, true, true, 1},
        {16, 1, 1, false, true, true, 0},  {16, 1, 2, false, true, true, 3},
        {16, 1, 3, false, true, false, 3}, {16, 0, 0, true, true, true, 1},
        {16, 1, 0, true, true, true, 1},   {16, 1, 3, true, false, true, 2},
        {12, 0, 0, false, true, true, 2},  {16, 2, 0, false, true, true, 0},
        {16, 3, 1, false, true, true, 1},  {4, 1, 3, true, false, false, 2},
    };

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned width = 0; width < WIDTHS; width++)
            if (width != STORE_THREE ||
                (shapes[i].idxen && !shapes[i].add_tid && shapes[i].stride == 16))
                add_shape(l, &shapes[i], width, m->gfx11);
}

int main(void)
{
    sem_begin("buffers");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        if (t == T_GFX950) /* as gfx942, by the same rows */
            continue;
        const struct oracle_machine *m = &oracle_machines[t];
        struct sem_list l = {0};

        add_shapes(&l, m);
        if (t != T_GFX1100_W64)
            add_texels(&l, m->gfx11);
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
