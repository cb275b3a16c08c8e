/*
 * Memory semantics: global, flat, scratch and buffer loads and stores with their address forms,
 * their atomics with and without return, scalar loads.
 *
 * The lane's address is in v[0:1] (or its offset in v0), data in v[4:7], results in v[8:11];
 * s[20:21] is the window's address, s[24:27] its buffer resource, s28 a scalar offset.
 */
#include <stdio.h>
#include <string.h>

#include "oracle_memory.h"
#include "test_semantics.h"

enum space { GLOBAL_V, GLOBAL_S, FLAT, FLAT_LDS, BUFFER, SCRATCH };
enum form { LOAD, STORE, ATOMIC };
enum { NOT11 = ALL & ~G11 };

struct row {
    enum form form;
    const char *name[2]; /* behind "global_" and so on */
    unsigned kind, width;
    char type;
    unsigned targets[3]; /* of global and flat, of buffer, of scratch */
};

#define LD(n9, n11, kind)                                                                          \
    {                                                                                              \
        LOAD, {"load_" n9, "load_" n11}, kind, 0, 'b',                                             \
        {                                                                                          \
            ALL, ALL, ALL                                                                          \
        }                                                                                          \
    }
#define ST(n9, n11, kind)                                                                          \
    {                                                                                              \
        STORE, {"store_" n9, "store_" n11}, kind, 0, 'b',                                          \
        {                                                                                          \
            ALL, ALL, ALL                                                                          \
        }                                                                                          \
    }
#define AT(op, n9, n11, w, type)                                                                   \
    {                                                                                              \
        ATOMIC, {"atomic_" n9, "atomic_" n11}, op, w, type,                                        \
        {                                                                                          \
            ALL, ALL, NONE                                                                         \
        }                                                                                          \
    }
#define AT2(op, n9, n11a, n11b, t32, t64) AT(op, n9, n11a, 32, t32), AT(op, n9 "_x2", n11b, 64, t64)

static const struct row rows[] = {
    LD("ubyte", "u8", L_U8),
    LD("sbyte", "i8", L_I8),
    LD("ushort", "u16", L_U16),
    LD("sshort", "i16", L_I16),
    LD("dword", "b32", L_B32),
    LD("dwordx2", "b64", L_B64),
    LD("dwordx3", "b96", L_B96),
    LD("dwordx4", "b128", L_B128),
    LD("ubyte_d16", "d16_u8", L_D16_U8),
    LD("ubyte_d16_hi", "d16_hi_u8", L_HI_U8),
    LD("sbyte_d16", "d16_i8", L_D16_I8),
    LD("sbyte_d16_hi", "d16_hi_i8", L_HI_I8),
    LD("short_d16", "d16_b16", L_D16_B16),
    LD("short_d16_hi", "d16_hi_b16", L_HI_B16),
    ST("byte", "b8", S_B8),
    ST("short", "b16", S_B16),
    ST("dword", "b32", S_B32),
    ST("dwordx2", "b64", S_B64),
    ST("dwordx3", "b96", S_B96),
    ST("dwordx4", "b128", S_B128),
    ST("byte_d16_hi", "d16_hi_b8", S_HI_B8),
    ST("short_d16_hi", "d16_hi_b16", S_HI_B16),
    AT2(A_SWAP, "swap", "swap_b32", "swap_b64", 'b', 'q'),
    AT2(A_CMPST, "cmpswap", "cmpswap_b32", "cmpswap_b64", 'b', 'q'),
    AT2(A_ADD, "add", "add_u32", "add_u64", 'u', 'U'),
    AT2(A_SUB, "sub", "sub_u32", "sub_u64", 'u', 'U'),
    AT2(A_MIN_I, "smin", "min_i32", "min_i64", 'i', 'I'),
    AT2(A_MIN_U, "umin", "min_u32", "min_u64", 'u', 'U'),
    AT2(A_MAX_I, "smax", "max_i32", "max_i64", 'i', 'I'),
    AT2(A_MAX_U, "umax", "max_u32", "max_u64", 'u', 'U'),
    AT2(A_AND, "and", "and_b32", "and_b64", 'b', 'q'),
    AT2(A_OR, "or", "or_b32", "or_b64", 'b', 'q'),
    AT2(A_XOR, "xor", "xor_b32", "xor_b64", 'b', 'q'),
    AT2(A_INC, "inc", "inc_u32", "inc_u64", 'u', 'U'),
    AT2(A_DEC, "dec", "dec_u32", "dec_u64", 'u', 'U'),
    {ATOMIC, {"atomic_add_f32", "atomic_add_f32"}, A_ADD_F, 32, 'n', {ALL, ALL, NONE}},
    {ATOMIC,
     {"atomic_pk_add_f16", "atomic_pk_add_f16"},
     A_PK_ADD_F16,
     32,
     'H',
     {NOT11, NOT11, NONE}},
    {ATOMIC,
     {"atomic_pk_add_bf16", "atomic_pk_add_bf16"},
     A_PK_ADD_BF16,
     32,
     'G',
     {G942 | G12, G12, NONE}},
    {ATOMIC, {"atomic_add_f64", NULL}, A_ADD_F, 64, 'N', {ALL, ALL, NONE}},
    {ATOMIC, {"atomic_min_f64", NULL}, A_MIN_F, 64, 'N', {ALL, ALL, NONE}},
    {ATOMIC, {"atomic_max_f64", NULL}, A_MAX_F, 64, 'N', {ALL, ALL, NONE}},
    {ATOMIC, {NULL, "atomic_min_f32"}, A_MIN_F, 32, 'n', {G11, G11, NONE}},
    {ATOMIC, {NULL, "atomic_max_f32"}, A_MAX_F, 32, 'n', {G11, G11, NONE}},
    {ATOMIC, {NULL, "atomic_cmpswap_f32"}, A_CMPST_F, 32, 'n', {G11, G11, NONE}},
    {ATOMIC, {NULL, "atomic_min_num_f32"}, A_MIN_F, 32, 'n', {G12, G12, NONE}},
    {ATOMIC, {NULL, "atomic_max_num_f32"}, A_MAX_F, 32, 'n', {G12, G12, NONE}},
    {ATOMIC, {NULL, "atomic_sub_clamp_u32"}, A_CSUB, 32, 'u', {G12, G12, NONE}},
    {ATOMIC, {NULL, "atomic_cond_sub_u32"}, A_COND_SUB, 32, 'u', {G12, G12, NONE}},
};

enum { NEGATIVE = 1024 }; /* the window's middle, so that offsets of both signs stay inside */

/* arg: 0 space, 1 instruction offset (signed), 2 granule of the address, 3 lanes out of range, 4
 * return */
static void addresses(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    unsigned granule = c->arg[2], turn = (unsigned)sem_random();

    for (unsigned l = 0; l < 64; l++) {
        unsigned fine =
            granule && granule < 16 ? (unsigned)sem_random() % (16 / granule) * granule : 0;
        uint64_t at = NEGATIVE + ((l * 37 + turn) % 64) * 16;

        if (c->arg[0] != SCRATCH)
            at += granule < 4 ? fine : 0;
        if (c->arg[0] == GLOBAL_V || c->arg[0] == FLAT)
            at += m->address;
        if (c->arg[0] == FLAT_LDS)
            at += 0;
        if (c->arg[0] == SCRATCH)
            at = sem_random() % 2 * 16;
        if (c->arg[3] && l % 5 == 1)
            at += 100000;
        w->v[0][l] = (uint32_t)at;
        w->v[1][l] = (uint32_t)(at >> 32);
    }
    w->s[20] = (uint32_t)m->address;
    w->s[21] = (uint32_t)(m->address >> 32);
    w->s[24] = (uint32_t)m->address;
    w->s[25] = (uint32_t)(m->address >> 32); /* stride 0 */
    w->s[26] = SEM_MEMORY;
    w->s[27] = oracle_machines[w->target].gfx11 ? 0x31004000 : 0x00027000;
    w->s[28] = 64;
}

static void access_lane(const struct sem_case *c, const struct oracle_wave *b,
                        struct oracle_wave *a, unsigned l, uint8_t *at, bool out)
{
    const struct row *r = c->row;
    unsigned bytes = r->width / 8;
    uint64_t old, data, data2 = 0;

    if (r->form == LOAD) {
        static const uint8_t nothing[16];

        oracle_load((enum oracle_load)r->kind, out ? nothing : at, &a->v[8][l], 64);
        return;
    }
    if (r->form == STORE) {
        if (!out)
            oracle_store((enum oracle_store)r->kind, at, &b->v[4][l], 64);
        return;
    }
    data = b->v[4][l] | (bytes > 4 ? (uint64_t)b->v[5][l] << 32 : 0);
    if (r->kind == A_CMPST || r->kind == A_CMPST_F) { /* new value first, then the one compared */
        data2 = data;
        data = bytes > 4 ? b->v[6][l] | (uint64_t)b->v[7][l] << 32 : b->v[5][l];
    }
    old = out ? 0 : oracle_get(at, bytes);
    if (!out)
        oracle_put(at, bytes,
                   oracle_atomic((enum oracle_atomic)r->kind, r->width, old, data, data2));
    if (c->arg[4]) {
        a->v[8][l] = (uint32_t)old;
        if (bytes > 4)
            a->v[9][l] = (uint32_t)(old >> 32);
    }
}

static void run_memory(const struct sem_case *c, const struct oracle_wave *before,
                       struct oracle_wave *after, struct sem_memory *m)
{
    *after = *before;
    for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++) {
        uint64_t at = before->v[0][l] + (int64_t)(int)c->arg[1];

        if (!(before->exec >> l & 1))
            continue;
        if (c->arg[0] == GLOBAL_V || c->arg[0] == FLAT)
            at += ((uint64_t)before->v[1][l] << 32) - m->address;
        if (c->arg[0] == BUFFER)
            at += 64;
        access_lane(c, before, after, l, (c->arg[0] == FLAT_LDS ? m->lds : m->window) + (at & 4095),
                    c->arg[3] && l % 5 == 1);
    }
    oracle_wave_strict(after);
}

static struct sem_case *begin(struct sem_list *l, const struct row *r, const char *name,
                              enum space space, int offset)
{
    struct sem_case *c = sem_add(l);

    c->group = name;
    c->row = r;
    c->run = run_memory;
    c->prepare = addresses;
    c->memory = true;
    c->numbers = true;
    c->arg[0] = space;
    c->arg[1] = (unsigned)offset;
    c->arg[2] = r->form == LOAD    ? oracle_load_bytes((enum oracle_load)r->kind)
                : r->form == STORE ? oracle_store_bytes((enum oracle_store)r->kind)
                                   : 4;
    c->arg[5] = (unsigned)r->type;
    for (unsigned i = 4; i < 16; i += 2) {
        c->vtype[i] = r->type;
        if (oracle_bits(r->type) <= 32)
            c->vtype[i + 1] = r->type;
    }
    return c;
}

static void add(struct sem_list *l, const struct row *r, const struct oracle_machine *m,
                enum space space, int offset, bool returns)
{
    static const char *const prefix[] = {"global_", "global_", "flat_", "flat_", "buffer_"};
    const char *name = r->name[m->gfx11], *glc = m->mask == G942  ? " sc0"
                                                 : m->mask == G12 ? " th:TH_ATOMIC_RETURN"
                                                                  : " glc";
    struct sem_case *c = begin(l, r, name, space, offset);
    bool cmp = r->kind == A_CMPST || r->kind == A_CMPST_F;
    unsigned bytes = r->form == LOAD    ? oracle_load_bytes((enum oracle_load)r->kind)
                     : r->form == STORE ? oracle_store_bytes((enum oracle_store)r->kind)
                                        : r->width / 8 * (cmp ? 2 : 1);
    char d[32] = "", s[32] = "", at[64], tail[48] = "";

    c->arg[4] = returns;
    if (r->form == LOAD || returns)
        snprintf(d, sizeof d, "%s", sem_vgprs(8, r->form == LOAD ? bytes : r->width / 8));
    if (r->form != LOAD)
        snprintf(s, sizeof s, "%s", sem_vgprs(4, bytes));
    switch (space) {
    case GLOBAL_V:
        strcpy(at, "v[0:1]");
        strcpy(tail, ", off");
        break;
    case GLOBAL_S:
        strcpy(at, "v0");
        strcpy(tail, ", s[20:21]");
        break;
    case BUFFER:
        strcpy(at, "v0, s[24:27], s28 offen");
        break;
    default:
        strcpy(at, "v[0:1]");
        break;
    }
    if (space == BUFFER) /* the data register is first, source and destination at once */
        snprintf(c->text, sizeof c->text, "buffer_%s %s, %s offset:%d%s", name,
                 r->form == LOAD ? d : s, at, offset, returns ? glc : "");
    else
        snprintf(c->text, sizeof c->text, "%s%s %s%s%s%s%s%s offset:%d%s", prefix[space], name, d,
                 *d ? ", " : "", at, *s ? ", " : "", s, tail, offset, returns ? glc : "");
    if (space == BUFFER && returns) { /* results come back in the data registers */
        c->arg[4] = 2;
    }
}

static void run_buffer_return(const struct sem_case *c, const struct oracle_wave *before,
                              struct oracle_wave *after, struct sem_memory *m)
{
    run_memory(c, before, after, m);
    for (unsigned l = 0; l < 64; l++)
        for (unsigned r = 0; r < ((const struct row *)c->row)->width / 32; r++) {
            if (before->exec >> l & 1)
                after->v[4 + r][l] = after->v[8 + r][l];
            after->v[8 + r][l] = before->v[8 + r][l];
        }
    oracle_wave_strict(after);
}

static void add_row(struct sem_list *l, const struct row *r, const struct oracle_machine *m)
{
    for (unsigned returns = 0; returns < (r->form == ATOMIC ? 2u : 1u); returns++) {
        if (r->targets[0] & m->mask) {
            add(l, r, m, GLOBAL_V, 0, returns);
            add(l, r, m, GLOBAL_V, -16, returns);
            add(l, r, m, GLOBAL_S, 1024, returns);
            if (!(m->mask & G11 && strstr(r->name[1], "pk_")) &&
                !(m->mask == G90A && r->form == ATOMIC && r->width == 32 &&
                  strstr(r->name[0], "_f"))) {
                add(l, r, m, FLAT, 32, returns);
            }
        }
        if (r->targets[1] & m->mask) {
            add(l, r, m, BUFFER, 128, returns);
            if (returns)
                l->c[l->count - 1].run = run_buffer_return;
            if (!returns) {
                add(l, r, m, BUFFER, 0, false); /* beyond num_records: 0, or nothing written */
                l->c[l->count - 1].arg[3] = 1;
            }
        }
    }
}

/* ---- scratch: what was stored comes back, lane by lane */

static void run_scratch(const struct sem_case *c, const struct oracle_wave *before,
                        struct oracle_wave *after, struct sem_memory *m)
{
    (void)m;
    *after = *before;
    for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++) {
        uint8_t private[64] = {0};

        if (!(before->exec >> l & 1))
            continue;
        oracle_store((enum oracle_store)c->arg[1], private + 16, &before->v[4][l], 64);
        oracle_store(S_B128, private + 32, &before->v[12][l], 64);
        oracle_load((enum oracle_load)c->arg[3], private + 16, &after->v[8][l], 64);
        after->v[16][l] = before->v[12][l];
        after->v[17][l] = before->v[13][l];
        after->v[18][l] = before->v[14][l];
        after->v[19][l] = before->v[15][l];
    }
    oracle_wave_strict(after);
}

static void scratch_offset(const struct sem_case *c, struct oracle_wave *w,
                           const struct sem_memory *m)
{
    (void)c;
    (void)m;
    for (unsigned l = 0; l < 64; l++)
        w->v[0][l] = 16;
    w->s[20] = 16;
}

static void add_scratch(struct sem_list *l, const struct oracle_machine *m)
{
    static const struct {
        const char *store[2], *load[2];
        enum oracle_store skind;
        enum oracle_load lkind;
    } pairs[] = {{{"dword", "b32"}, {"dword", "b32"}, S_B32, L_B32},
                 {{"dwordx2", "b64"}, {"dwordx2", "b64"}, S_B64, L_B64},
                 {{"dwordx3", "b96"}, {"dwordx3", "b96"}, S_B96, L_B96},
                 {{"dwordx4", "b128"}, {"dwordx4", "b128"}, S_B128, L_B128},
                 {{"byte", "b8"}, {"sbyte", "i8"}, S_B8, L_I8},
                 {{"short", "b16"}, {"short_d16_hi", "d16_hi_b16"}, S_B16, L_HI_B16},
                 {{"dword", "b32"}, {"ubyte_d16", "d16_u8"}, S_B32, L_D16_U8},
                 {{"short_d16_hi", "d16_hi_b16"}, {"ushort", "u16"}, S_HI_B16, L_U16},
                 {{"byte_d16_hi", "d16_hi_b8"}, {"ubyte", "u8"}, S_HI_B8, L_U8},
                 {{"dword", "b32"}, {"sshort", "i16"}, S_B32, L_I16},
                 {{"dword", "b32"}, {"ubyte_d16_hi", "d16_hi_u8"}, S_B32, L_HI_U8},
                 {{"dword", "b32"}, {"sbyte_d16", "d16_i8"}, S_B32, L_D16_I8},
                 {{"dword", "b32"}, {"sbyte_d16_hi", "d16_hi_i8"}, S_B32, L_HI_I8},
                 {{"dword", "b32"}, {"short_d16", "d16_b16"}, S_B32, L_D16_B16}};
    static const char *const forms[] = {"off, %s, s20", "v0, %s, off", "off, %s, off offset:16"};
    static const char *const back[] = {"%s, off, s20", "%s, v0, off", "%s, off, off offset:16"};
    /* gfx90a has no address without a register; its compilers prefer buffers, but it has all */
    bool gfx90a = m->mask == G90A;
    const char *at_32 = gfx90a ? "s20 offset:16" : "off offset:32";

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (unsigned f = 0; f < (gfx90a ? 2 : 3); f++) {
            struct sem_case *c = sem_add(l);
            char there[48], again[48];

            c->group = "scratch";
            c->run = run_scratch;
            c->prepare = scratch_offset;
            c->memory = true;
            c->arg[1] = pairs[i].skind;
            c->arg[3] = pairs[i].lkind;
            snprintf(there, sizeof there, forms[f],
                     sem_vgprs(4, oracle_store_bytes(pairs[i].skind)));
            snprintf(again, sizeof again, back[f], sem_vgprs(8, oracle_load_bytes(pairs[i].lkind)));
            snprintf(c->text, sizeof c->text,
                     "scratch_store_%s %s\n scratch_store_%s off, v[12:15], %s\n"
                     " s_waitcnt vmcnt(0)\n scratch_load_%s %s\n scratch_load_%s v[16:19], off, "
                     "%s",
                     pairs[i].store[m->gfx11], there, m->gfx11 ? "b128" : "dwordx4", at_32,
                     pairs[i].load[m->gfx11], again, m->gfx11 ? "b128" : "dwordx4", at_32);
        }
}

/* ---- scalar loads */

static void run_scalar_load(const struct sem_case *c, const struct oracle_wave *before,
                            struct oracle_wave *after, struct sem_memory *m)
{
    *after = *before;
    for (unsigned i = 0; i < c->arg[1]; i++)
        after->s[32 + i] = (uint32_t)oracle_get(m->window + c->arg[2] + 4 * i, 4);
    oracle_wave_strict(after);
}

static void add_scalar_loads(struct sem_list *l, const struct oracle_machine *m)
{
    static const char *const n9[] = {"dword", "dwordx2", "dwordx4", "dwordx8", "dwordx16"};
    static const char *const n11[] = {"b32", "b64", "b128", "b256", "b512"};

    for (unsigned i = 0; i < 5; i++)
        for (unsigned form = 0; form < 6; form++) {
            struct sem_case *c = sem_add(l);
            bool buffer = form >= 3;
            char d[32];
            unsigned n = 1u << i;

            c->group = "scalar loads";
            c->run = run_scalar_load;
            c->prepare = addresses;
            c->memory = true;
            c->arg[1] = n;
            c->arg[2] = form % 3 == 0 ? 0 : form % 3 == 1 ? 256 : 64;
            snprintf(d, sizeof d, n > 1 ? "s[32:%u]" : "s32", 31 + n);
            snprintf(c->text, sizeof c->text, "s_%sload_%s %s, %s, %s", buffer ? "buffer_" : "",
                     m->gfx11 ? n11[i] : n9[i], d, buffer ? "s[24:27]" : "s[20:21]",
                     form % 3 == 0   ? "0x0"
                     : form % 3 == 1 ? "0x100"
                                     : "s28");
        }
}

int main(void)
{
    sem_begin("memory");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        if (t == T_GFX950) /* as gfx942, by the same rows */
            continue;
        const struct oracle_machine *m = &oracle_machines[t];
        struct sem_list l = {0};

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (rows[i].name[m->gfx11])
                add_row(&l, &rows[i], m);
        add_scratch(&l, m);
        add_scalar_loads(&l, m);
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
