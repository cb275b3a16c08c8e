/*
 * Memory instructions whose data lie in accumulation registers; gfx90a and gfx942.
 *
 * The address is in v[0:1] (or its offset in v0), data in v[4:7], which goes to a[4:7] first;
 * results come to a[8:11], which hold v[8:11] before, and back to v[8:11].
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_memory.h"
#include "test_semantics.h"

enum form { LOAD, STORE, ADD };
enum space { GLOBAL, FLAT, BUFFER, LDS, SCRATCH };

static const struct row {
    enum form form;
    enum space space;
    unsigned kind, targets;
    const char *text;
} rows[] = {
    {LOAD, GLOBAL, L_B32, G90A | G942, "global_load_dword a8, v[0:1], off"},
    {LOAD, GLOBAL, L_B128, G90A | G942, "global_load_dwordx4 a[8:11], v[0:1], off"},
    {LOAD, GLOBAL, L_HI_B16, G90A | G942, "global_load_short_d16_hi a8, v[0:1], off"},
    {LOAD, FLAT, L_B96, G90A | G942, "flat_load_dwordx3 a[8:10], v[0:1]"},
    {LOAD, BUFFER, L_B64, G90A | G942, "buffer_load_dwordx2 a[8:9], v0, s[24:27], 0 offen"},
    {LOAD, LDS, L_B128, G90A | G942, "ds_read_b128 a[8:11], v0"},
    {LOAD, LDS, L_D16_U8, G90A | G942, "ds_read_u8_d16 a8, v0"},
    {STORE, GLOBAL, S_B128, G90A | G942, "global_store_dwordx4 v[0:1], a[4:7], off"},
    {STORE, FLAT, S_HI_B16, G90A | G942, "flat_store_short_d16_hi v[0:1], a4"},
    {STORE, BUFFER, S_B96, G90A | G942, "buffer_store_dwordx3 a[4:6], v0, s[24:27], 0 offen"},
    {STORE, LDS, S_B64, G90A | G942, "ds_write_b64 v0, a[4:5]"},
    {STORE, LDS, S_B8, G90A | G942, "ds_write_b8 v0, a4"},
    {STORE, SCRATCH, S_B128, G942,
     "scratch_store_dwordx4 v0, a[4:7], off\n s_waitcnt vmcnt(0)\n"
     " scratch_load_dwordx4 a[8:11], v0, off"},
    {ADD, GLOBAL, 0, G90A, "global_atomic_add a8, v[0:1], a4, off glc"},
    {ADD, GLOBAL, 0, G942, "global_atomic_add a8, v[0:1], a4, off sc0"},
    {ADD, LDS, 0, G90A | G942, "ds_add_rtn_u32 a8, v0, a4"},
};

static void addresses(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    const struct row *r = c->row;
    bool absolute = r->space == GLOBAL || r->space == FLAT;

    for (unsigned l = 0; l < 64; l++) {
        uint64_t at = r->space == SCRATCH ? 16 : (l * 37 & 63) * 16;

        at += absolute ? m->address : 0;
        w->v[0][l] = (uint32_t)at;
        w->v[1][l] = (uint32_t)(at >> 32);
    }
    w->s[24] = (uint32_t)m->address;
    w->s[25] = (uint32_t)(m->address >> 32);
    w->s[26] = SEM_MEMORY;
    w->s[27] = 0x00027000;
}

static void run(const struct sem_case *c, const struct oracle_wave *before,
                struct oracle_wave *after, struct sem_memory *m)
{
    const struct row *r = c->row;

    *after = *before;
    for (unsigned l = 0; l < 64; l++) {
        uint8_t *at = (r->space == LDS ? m->lds : m->window) + (l * 37 & 63) * 16;

        if (!(before->exec >> l & 1))
            continue;
        if (r->space == SCRATCH) {
            for (unsigned i = 0; i < 4; i++)
                after->v[8 + i][l] = before->v[4 + i][l];
        } else if (r->form == LOAD) {
            oracle_load((enum oracle_load)r->kind, at, &after->v[8][l], 64);
        } else if (r->form == STORE) {
            oracle_store((enum oracle_store)r->kind, at, &before->v[4][l], 64);
        } else {
            after->v[8][l] = (uint32_t)oracle_get(at, 4);
            oracle_put(at, 4, after->v[8][l] + before->v[4][l]);
        }
    }
    oracle_wave_strict(after);
}

/* All lanes are moved, whatever EXEC. */
static void write_case(struct sem_list *l, const struct row *r)
{
    struct sem_case *c = sem_add(l);
    char to[160] = "", back[160] = "";

    for (unsigned i = 0; i < 4; i++) {
        char one[40];

        snprintf(one, sizeof one, "v_accvgpr_write_b32 a%u, v%u\n ", 4 + i, 4 + i);
        strcat(to, one);
        snprintf(one, sizeof one, "\n v_accvgpr_read_b32 v%u, a%u", 8 + i, 8 + i);
        strcat(back, one);
    }
    c->group = r->text;
    c->row = r;
    c->run = run;
    c->prepare = addresses;
    c->memory = true;
    c->long_text = malloc(1024);
    if (!c->long_text)
        abort();
    snprintf(c->text, sizeof c->text, "%s", r->text);
    snprintf(c->long_text, 1024,
             "s_mov_b64 s[84:85], exec\n s_mov_b64 exec, -1\n %s"
             "v_accvgpr_write_b32 a8, v8\n v_accvgpr_write_b32 a9, v9\n"
             " v_accvgpr_write_b32 a10, v10\n v_accvgpr_write_b32 a11, v11\n s_nop 7\n"
             " s_mov_b64 exec, s[84:85]\n %s\n s_waitcnt vmcnt(0) lgkmcnt(0)\n"
             " s_mov_b64 exec, -1\n s_nop 7 %s\n s_mov_b64 exec, s[84:85]",
             to, r->text, back);
}

int main(void)
{
    sem_begin("data in accumulation registers");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        if (t == T_GFX950) /* as gfx942, by the same rows */
            continue;
        struct sem_list l = {0};

        for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
            if (rows[i].targets & oracle_machines[t].mask)
                write_case(&l, &rows[i]);
        if (l.count)
            sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
