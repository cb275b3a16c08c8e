/*
 * Semantics of what compilers rarely write: transfers between device memory and LDS, addresses by
 * lane number, conditional subtraction, the ends of raw buffers, calls, whole-field writes of MODE,
 * register numbers from M0, and everything that must have no effect at all.
 *
 * s[20:21] is the window's address and s[24:27] its buffer resource; v0 holds byte offsets in it,
 * different multiples of 16; M0 is an LDS address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_memory.h"
#include "test_semantics.h"

enum { OFFSET = 64 };

static void point(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    unsigned turn = (unsigned)sem_random();

    for (unsigned l = 0; l < 64; l++)
        w->v[0][l] = (l * 37 + turn) % 64 * 16 + (unsigned)sem_random() % 4 * 4;
    w->m0 = (unsigned)sem_random() % 512 * 4;
    w->s[20] = w->s[24] = (uint32_t)m->address;
    w->s[21] = w->s[25] = (uint32_t)(m->address >> 32);
    w->s[26] = SEM_MEMORY;
    w->s[27] = oracle_machines[w->target].gfx11 ? 0x30000000 : 0x00027000; /* raw */
    if (c->arg[0] == 1) { /* addresses by lane: 4 bytes each */
        w->s[25] |= 4 << 16;
        w->s[27] = 1 << 23;
    }
}

/* A buffer of numbers of 8 or 32 bits, unsigned. */
static void point_formatted(const struct sem_case *c, struct oracle_wave *w,
                            const struct sem_memory *m)
{
    bool byte = c->arg[1] == L_U8;

    point(c, w, m);
    w->s[27] = oracle_machines[w->target].gfx11 ? 0x30000004 | (byte ? 5 : 20) << 12
                                                : 0x4004 | (byte ? 1 : 4) << 15;
}

/* ---- device memory to LDS and back; one dword a lane, in the order of the lanes */

static void run_to_lds(const struct sem_case *c, const struct oracle_wave *before,
                       struct oracle_wave *after, struct sem_memory *m)
{
    *after = *before;
    for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++) {
        uint32_t x = 0;

        if (!(before->exec >> l & 1))
            continue;
        oracle_load((enum oracle_load)c->arg[1], m->window + before->v[0][l] + OFFSET, &x, 1);
        oracle_put(m->lds + before->m0 + OFFSET + 4 * l, 4, x);
    }
    oracle_wave_strict(after);
}

static void run_from_lds(const struct sem_case *c, const struct oracle_wave *before,
                         struct oracle_wave *after, struct sem_memory *m)
{
    (void)c;
    *after = *before;
    for (unsigned l = 0; l < 64; l++)
        if (before->exec >> l & 1)
            oracle_put(m->window + OFFSET + 4 * l, 4,
                       oracle_get(m->lds + before->m0 + OFFSET + 4 * l, 4));
    oracle_wave_strict(after);
}

static void run_addtid(const struct sem_case *c, const struct oracle_wave *before,
                       struct oracle_wave *after, struct sem_memory *m)
{
    *after = *before;
    for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++) {
        uint8_t *at = m->window + OFFSET + 4 * l;

        if (!(before->exec >> l & 1))
            continue;
        if (c->arg[1])
            oracle_put(at, 4, before->v[4][l]);
        else
            after->v[8][l] = (uint32_t)oracle_get(at, 4);
    }
    oracle_wave_strict(after);
}

/* One value of LDS, of the type in M0[18:16], for whole quads of which any lane is active. */
static void run_direct(const struct sem_case *c, const struct oracle_wave *before,
                       struct oracle_wave *after, struct sem_memory *m)
{
    static const enum oracle_load kinds[] = {L_U8, L_U16, L_B32, L_B32, L_I8, L_I16};

    (void)c;
    *after = *before;
    for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++)
        if (before->exec >> l / 4 * 4 & 15)
            oracle_load(kinds[before->m0 >> 16 & 7], m->lds + (before->m0 & 0xffff),
                        &after->v[8][l], 1);
    oracle_wave_strict(after);
}

static void direct(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    point(c, w, m);
    w->m0 = (w->m0 & 0xffff) | c->arg[1] << 16 | (uint32_t)sem_random() << 19;
}

static void run_csub(const struct sem_case *c, const struct oracle_wave *before,
                     struct oracle_wave *after, struct sem_memory *m)
{
    *after = *before;
    for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++) {
        uint8_t *at = m->window + before->v[0][l] + OFFSET;
        uint32_t old = (uint32_t)oracle_get(at, 4), by = before->v[4][l];

        if (!(before->exec >> l & 1))
            continue;
        after->v[c->arg[1]][l] = old;
        oracle_put(at, 4, old < by ? 0 : old - by);
    }
    oracle_wave_strict(after);
}

/* The end of a raw buffer lies within one lane's data: each dword is in range or not by itself. */
static void cut(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    point(c, w, m);
    for (unsigned l = 0; l < 64; l++)
        w->v[0][l] &= ~15u;
    w->s[26] = w->v[0][sem_random() % 32] + OFFSET + 4 * (1 + (unsigned)sem_random() % 3);
}

static void run_cut(const struct sem_case *c, const struct oracle_wave *before,
                    struct oracle_wave *after, struct sem_memory *m)
{
    *after = *before;
    for (unsigned l = 0; l < oracle_machines[before->target].lanes; l++)
        for (unsigned i = 0; i < c->arg[1] && before->exec >> l & 1; i++) {
            unsigned at = before->v[0][l] + OFFSET + 4 * i;
            bool in = at + 4 <= before->s[26];

            if (!c->arg[2])
                after->v[8 + i][l] = in ? (uint32_t)oracle_get(m->window + at, 4) : 0;
            else if (in)
                oracle_put(m->window + at, 4, before->v[4 + i][l]);
        }
    oracle_wave_strict(after);
}

static struct sem_case *add(struct sem_list *l, const char *group,
                            void (*run)(const struct sem_case *, const struct oracle_wave *,
                                        struct oracle_wave *, struct sem_memory *))
{
    struct sem_case *c = sem_add(l);

    c->group = group;
    c->run = run;
    return c;
}

static struct sem_case *add_memory(struct sem_list *l, const char *group, unsigned kind,
                                   void (*run)(const struct sem_case *, const struct oracle_wave *,
                                               struct oracle_wave *, struct sem_memory *))
{
    struct sem_case *c = add(l, group, run);

    c->prepare = point;
    c->memory = true;
    c->arg[1] = kind;
    return c;
}

static void add_transfers(struct sem_list *l, const struct oracle_machine *m)
{
    static const struct {
        const char *name[2];
        enum oracle_load kind;
    } types[] = {{{"dword", "b32"}, L_B32},
                 {{"ubyte", "u8"}, L_U8},
                 {{"sbyte", "i8"}, L_I8},
                 {{"ushort", "u16"}, L_U16},
                 {{"sshort", "i16"}, L_I16}};
    struct sem_case *c;

    for (unsigned i = 0; i < 5; i++) {
        const char *name = types[i].name[m->gfx11];

        c = add_memory(l, "buffer loads to LDS", types[i].kind, run_to_lds);
        snprintf(c->text, sizeof c->text,
                 m->gfx11 ? "buffer_load_lds_%s v0, s[24:27], 0 offen offset:64\n"
                            "  s_waitcnt vmcnt(0)"
                          : "buffer_load_%s v0, s[24:27], 0 offen offset:64 lds\n"
                            "  s_waitcnt vmcnt(0)",
                 name);
        if (m->mask != G942)
            continue;
        c = add_memory(l, "global loads to LDS", types[i].kind, run_to_lds);
        snprintf(c->text, sizeof c->text,
                 "global_load_lds_%s v0, s[20:21] offset:64\n  s_waitcnt vmcnt(0)", name);
    }
    for (unsigned i = 0; i < 2; i++) {
        c = add_memory(l, "formatted buffer loads to LDS", types[i].kind, run_to_lds);
        c->prepare = point_formatted;
        strcpy(c->text, m->gfx11 ? "buffer_load_lds_format_x v0, s[24:27], 0 offen offset:64\n"
                                   "  s_waitcnt vmcnt(0)"
                                 : "buffer_load_format_x v0, s[24:27], 0 offen offset:64 lds\n"
                                   "  s_waitcnt vmcnt(0)");
    }
    if (m->gfx11)
        return;
    c = add_memory(l, "buffer_store_lds_dword", 0, run_from_lds);
    c->arg[0] = 1;
    strcpy(c->text, "buffer_store_lds_dword s[24:27], 0 offset:64 lds\n  s_waitcnt vmcnt(0)");
}

static void add_gfx11(struct sem_list *l, const struct oracle_machine *m)
{
    const bool newer = m->mask == G12;
    struct sem_case *c = add_memory(l, "addresses by lane number", 0, run_addtid);

    strcpy(c->text, "global_load_addtid_b32 v8, s[20:21] offset:64\n  s_waitcnt vmcnt(0)");
    c = add_memory(l, "addresses by lane number", 1, run_addtid);
    strcpy(c->text, "global_store_addtid_b32 v4, s[20:21] offset:64");
    for (unsigned type = 0; type < 6; type++) {
        if (type == 3)
            continue;
        c = add_memory(l, "lds_direct_load", type, run_direct);
        c->prepare = direct;
        strcpy(c->text, newer
                            ? "ds_direct_load v8 wait_va_vdst:0 wait_vm_vsrc:0\n  s_wait_expcnt 0x0"
                            : "lds_direct_load v8 wait_vdst:0\n  s_waitcnt expcnt(0)");
    }
    c = add_memory(l, "conditional subtraction", 8, run_csub);
    snprintf(c->text, sizeof c->text,
             "global_atomic_%s_u32 v8, v0, v4, s[20:21] offset:64 %s\n  s_waitcnt vmcnt(0)",
             newer ? "sub_clamp" : "csub", newer ? "th:TH_ATOMIC_RETURN" : "glc");
    c = add_memory(l, "conditional subtraction", 4, run_csub);
    snprintf(c->text, sizeof c->text,
             "buffer_atomic_%s_u32 v4, v0, s[24:27], %s offen offset:64 %s\n  s_waitcnt vmcnt(0)",
             newer ? "sub_clamp" : "csub", newer ? "null" : "0",
             newer ? "th:TH_ATOMIC_RETURN" : "glc");
}

static void add_cuts(struct sem_list *l, const struct oracle_machine *m)
{
    static const char *const names[2][3] = {{"dwordx2", "dwordx3", "dwordx4"},
                                            {"b64", "b96", "b128"}};

    for (unsigned i = 0; i < 6; i++) {
        unsigned words = 2 + i / 2, store = i & 1, first = store ? 4 : 8;
        struct sem_case *c = add_memory(l, "ends of raw buffers", words, run_cut);

        c->prepare = cut;
        c->arg[2] = store;
        snprintf(c->text, sizeof c->text,
                 "buffer_%s_%s v[%u:%u], v0, s[24:27], %s offen offset:64\n  s_waitcnt vmcnt(0)",
                 store ? "store" : "load", names[m->gfx11][i / 2], first, first + words - 1,
                 m->mask == G12 ? "null" : "0");
    }
}

/* ---- scalar state */

static void run_fields(const struct sem_case *c, const struct oracle_wave *before,
                       struct oracle_wave *after, struct sem_memory *m)
{
    /* gfx12 has neither IEEE nor DX10_CLAMP */
    const uint32_t mode = before->mode & (oracle_is_gfx12(before->target) ? 0xff : 0x3ff);

    (void)m;
    *after = *before;
    if (c->arg[0]) /* s_round_mode 6, s_denorm_mode 9 */
        after->s[16] = (mode & 0x300) | 0x96;
    else /* 0xfe into bits 2 to 5 */
        after->s[16] = (mode & 0x3c3) | 0xe << 2;
    oracle_wave_strict(after);
}

static void run_calls(const struct sem_case *c, const struct oracle_wave *before,
                      struct oracle_wave *after, struct sem_memory *m)
{
    (void)c;
    (void)m;
    *after = *before;
    after->s[16] = before->s[16] * 9;
    after->s[17] = before->s[16] * 9 + 5;
    oracle_wave_strict(after);
    after->scc_mask = 0;
    after->s_mask[40] = after->s_mask[41] = after->s_mask[44] = after->s_mask[45] = 0;
}

static void run_movrelsd2(const struct sem_case *c, const struct oracle_wave *before,
                          struct oracle_wave *after, struct sem_memory *m)
{
    (void)c;
    (void)m;
    *after = *before;
    after->s[16 + (before->m0 >> 16)] = before->s[40 + (before->m0 & 0xffff)];
    oracle_wave_strict(after);
}

static void two_numbers(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    (void)c;
    (void)m;
    w->m0 = (uint32_t)(sem_random() % 16) << 16 | (uint32_t)(sem_random() % 16);
    w->s[20] = w->s[24] = (uint32_t)sem_random() % 8;
}

/* The index moves the source first, then, with another mode, the destination. */
static void run_index(const struct sem_case *c, const struct oracle_wave *before,
                      struct oracle_wave *after, struct sem_memory *m)
{
    unsigned n = before->s[24];

    (void)c;
    (void)m;
    *after = *before;
    for (unsigned l = 0; l < 64; l++)
        if (before->exec >> l & 1) {
            after->v[8][l] = before->v[n][l];
            after->v[9 + n][l] = before->v[1][l];
        }
    after->m0 = (before->m0 & 0xffff0f00) | n | 8 << 12;
    oracle_wave_strict(after);
}

static void add_scalars(struct sem_list *l, const struct oracle_machine *m)
{
    struct sem_case *c = add(l, "s_setreg_imm32_b32", run_fields);

    strcpy(c->text, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 4), 0xfe\n  s_nop 1\n"
                    "  s_getreg_b32 s16, hwreg(HW_REG_MODE, 0, 10)");
    for (unsigned i = 0; i < 2; i++) {
        c = add(l, "s_call_b64, s_getpc_b64, s_swappc_b64 and s_setpc_b64", run_calls);
        snprintf(c->text, sizeof c->text,
                 "%s  s_add_i32 s17, s16, 5\n  s_branch 2f\n1:\n  s_mulk_i32 s16, 9\n"
                 "  s_setpc_b64 s[40:41]\n2:\n  s_nop 0",
                 i ? "s_getpc_b64 s[44:45]\n0:\n  s_add_u32 s44, s44, 1f-0b\n"
                     "  s_addc_u32 s45, s45, 0\n  s_swappc_b64 s[40:41], s[44:45]\n"
                   : "s_call_b64 s[40:41], 1f\n");
    }
    if (m->gfx11) {
        c = add(l, "s_round_mode and s_denorm_mode", run_fields);
        c->arg[0] = 1;
        strcpy(c->text, "s_round_mode 0x6\n  s_denorm_mode 0x9\n"
                        "  s_getreg_b32 s16, hwreg(HW_REG_MODE, 0, 10)");
        c = add(l, "s_movrelsd_2_b32", run_movrelsd2);
        c->prepare = two_numbers;
        strcpy(c->text, "s_movrelsd_2_b32 s16, s40");
        return;
    }
    c = add(l, "s_set_gpr_idx_idx and s_set_gpr_idx_mode", run_index);
    c->prepare = two_numbers;
    strcpy(c->text, "s_set_gpr_idx_on s28, 0x1\n  s_set_gpr_idx_idx s24\n"
                    "  v_mov_b32_e32 v8, v0\n  s_set_gpr_idx_mode 0x8\n"
                    "  v_mov_b32_e32 v9, v1\n  s_set_gpr_idx_off");
}

/* ---- nothing happens */

static void run_nothing(const struct sem_case *c, const struct oracle_wave *before,
                        struct oracle_wave *after, struct sem_memory *m)
{
    (void)c;
    (void)m;
    *after = *before;
    after->s[16] = 77;
    oracle_wave_strict(after);
}

static void add_idle(struct sem_list *l, const struct oracle_machine *m)
{
    static const struct {
        unsigned targets;
        const char *text;
    } idle[] = {
        {BEFORE12, "s_nop 3\n  s_sleep 1\n  s_setprio 2\n  s_icache_inv\n  s_incperflevel 1\n"
                   "  s_decperflevel 1\n  s_dcache_inv\n  s_wakeup\n  v_nop\n  s_barrier\n"
                   "  s_sethalt 0\n  s_setkill 0\n  ds_nop"},
        {BEFORE12, "s_cbranch_cdbgsys 1f\n  s_cbranch_cdbguser 1f\n  s_cbranch_cdbgsys_or_user 1f\n"
                   "  s_cbranch_cdbgsys_and_user 1f\n  s_branch 2f\n1:\n  s_trap 1\n2:\n  s_nop 0"},
        {ALL, "s_ttracedata\n  s_sendmsg sendmsg(MSG_INTERRUPT)"},
        {G90A | G942, "s_dcache_wb\n  s_dcache_inv_vol\n  s_dcache_wb_vol\n"
                      "  s_dcache_discard s[20:21], s28\n  s_dcache_discard_x2 s[20:21], s28\n"
                      "  v_clrexcp\n  s_waitcnt 0\n  s_atc_probe 0, s[20:21], 0x0\n"
                      "  s_atc_probe_buffer 0, s[24:27], 0x0"},
        {G90A, "buffer_wbinvl1\n  buffer_wbinvl1_vol\n  buffer_wbl2\n  buffer_invl2"},
        {G942, "buffer_wbl2 sc1\n  buffer_inv sc1"},
        {G11, "s_clause 1\n  s_nop 0\n  s_nop 0\n  s_delay_alu instid0(VALU_DEP_1)\n"
              "  s_wait_idle\n  s_wait_event 1\n  s_set_inst_prefetch_distance 1\n  s_version 4\n"
              "  s_waitcnt_vmcnt null, 0\n  s_waitcnt_expcnt null, 0\n"
              "  s_waitcnt_lgkmcnt null, 0\n  s_waitcnt_depctr 0xfff\n  buffer_gl0_inv\n"
              "  buffer_gl1_inv\n  s_gl1_inv\n  v_pipeflush\n  s_ttracedata_imm 1"},
        {G1151, "s_singleuse_vdst 1"},
        {G12, "s_nop 3\n  s_sleep 1\n  s_sleep_var s28\n  s_setprio 2\n  s_icache_inv\n"
              "  s_incperflevel 1\n  s_decperflevel 1\n  s_dcache_inv\n  s_wakeup\n  v_nop\n"
              "  s_barrier_signal -1\n  s_barrier_wait -1\n  s_sethalt 0\n  s_setkill 0\n"
              "  ds_nop\n  s_clause 1\n  s_nop 0\n  s_nop 0\n"
              "  s_delay_alu instid0(VALU_DEP_1)\n  s_wait_idle\n  s_wait_event 1\n"
              "  s_version 4\n  s_wait_loadcnt 0x0\n  s_wait_samplecnt 0x0\n"
              "  s_wait_bvhcnt 0x0\n  s_wait_kmcnt 0x0\n  s_wait_dscnt 0x0\n"
              "  s_wait_loadcnt_dscnt 0x0\n  s_wait_storecnt_dscnt 0x0\n"
              "  s_wait_alu 0xfffe\n  global_inv scope:SCOPE_DEV\n  global_wb scope:SCOPE_DEV\n"
              "  global_wbinv scope:SCOPE_DEV\n  s_ttracedata_imm 1"},
    };

    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        struct sem_case *c;

        if (!(idle[i].targets & m->mask))
            continue;
        c = add(l, "what has no effect", run_nothing);
        c->prepare = point;
        c->memory = true;
        snprintf(c->text, sizeof c->text, "no effect");
        c->long_text = malloc(900);
        if (c->long_text)
            snprintf(c->long_text, 900, "%s\n  s_movk_i32 s16, 77", idle[i].text);
    }
}

int main(void)
{
    sem_begin("rare instructions");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        if (t == T_GFX950) /* as gfx942, by the same rows */
            continue;
        const struct oracle_machine *m = &oracle_machines[t];
        struct sem_list l = {0};

        if (m->mask != G12) /* has no loads to LDS */
            add_transfers(&l, m);
        if (m->gfx11)
            add_gfx11(&l, m);
        add_cuts(&l, m);
        add_scalars(&l, m);
        add_idle(&l, m);
        for (size_t i = 0; i < l.count; i++)
            l.c[i].fresh = oracle_is_gfx12((enum oracle_target)t);
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
