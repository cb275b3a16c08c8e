/*
 * Semantics of control flow beyond branches: forks with their stack in SGPRs (gfx9), vector
 * instructions skipped (gfx9), and the two passes over a wave64 (gfx11).
 *
 * s[32:33] and s[36:37] are the masks, s41 the order of the paths: a digit for each that ran. The
 * stack begins at its entry 5, s[20:23], for the harness needs the first ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_semantics.h"

static uint64_t pair(const struct oracle_wave *w, unsigned reg)
{
    return w->s[reg] | (uint64_t)w->s[reg + 1] << 32;
}

static unsigned count(uint64_t x)
{
    unsigned n = 0;

    for (; x; x &= x - 1)
        n++;
    return n;
}

/* ---- forks */

struct path {
    unsigned digit;
    const struct path *inner; /* [2]: fail and pass of a fork within, or null */
};

static const struct path leaves[2] = {{3, NULL}, {4, NULL}};
static const struct path simple[2] = {{1, NULL}, {2, NULL}}, nested[2] = {{1, leaves}, {2, NULL}};

static unsigned csp;

static void fork_paths(struct oracle_wave *w, uint64_t mask, const struct path *p);

static void walk(struct oracle_wave *w, const struct path *p)
{
    if (p->inner)
        fork_paths(w, pair(w, 36), p->inner);
    for (unsigned l = 0; l < 64; l++)
        if (w->exec >> l & 1)
            w->v[8][l] = w->v[8][l] * 5 + p->digit;
    w->s[41] = w->s[41] * 16 + p->digit;
}

/* After the second path EXEC holds its lanes alone: who wants all of them saves them before. */
static void fork_paths(struct oracle_wave *w, uint64_t mask, const struct path *p)
{
    uint64_t part[2] = {w->exec & ~mask, w->exec & mask};
    unsigned first;

    if (!part[0] || !part[1]) {
        walk(w, !part[0] ? &p[1] : &p[0]);
        return;
    }
    first = count(part[0]) < count(part[1]) ? 0 : 1;
    w->s[4 * csp] = (uint32_t)part[!first];
    w->s[4 * csp + 1] = (uint32_t)(part[!first] >> 32);
    w->s_mask[4 * csp + 2] = w->s_mask[4 * csp + 3] = 0; /* an address */
    csp++;
    w->exec = part[first];
    walk(w, &p[first]);
    csp--;
    w->exec = part[!first];
    walk(w, &p[!first]);
}

static void run_fork(const struct sem_case *c, const struct oracle_wave *before,
                     struct oracle_wave *after, struct sem_memory *m)
{
    (void)m;
    *after = *before;
    oracle_wave_strict(after);
    after->scc_mask = 0;
    after->s_mask[40] = after->s_mask[43] = after->s_mask[44] = after->s_mask[45] = 0;
    csp = 5;
    fork_paths(after, pair(before, 32), c->row);
    after->s[42] = csp;
    memcpy(after->s_alt, after->s, sizeof after->s);
    memcpy(after->v_alt, after->v, sizeof after->v);
}

/* Half of the masks have few bits, or all but few. */
static void vary_masks(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    (void)c;
    (void)m;
    for (unsigned r = 32; r <= 36; r += 4) {
        uint64_t x = sem_random();

        if (x & 1)
            x = sem_random() & sem_random() & sem_random() & sem_random();
        if (x & 2)
            x = ~x;
        if ((x & 0xf0) == 0xf0)
            x = x & 0x100 ? w->exec : ~w->exec;
        w->s[r] = (uint32_t)x;
        w->s[r + 1] = (uint32_t)(x >> 32);
    }
}

#define BEGIN "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 29, 3), 5\n  s_mov_b32 s40, 5\n"
#define END                                                                                        \
    "  s_getreg_b32 s42, hwreg(HW_REG_MODE, 29, 3)\n"                                              \
    "  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 29, 3), 0"
#define PATH(digit)                                                                                \
    "  v_mul_lo_u32 v8, v8, 5\n  v_add_u32_e32 v8, " digit ", v8\n"                                \
    "  s_lshl4_add_u32 s41, s41, " digit "\n"
#define INNER                                                                                      \
    "  s_getreg_b32 s43, hwreg(HW_REG_MODE, 29, 3)\n"                                              \
    "  s_cbranch_i_fork s[36:37], 3f\n" PATH("3") "  s_branch 4f\n"                                \
                                                  "3:\n" PATH("4") "4:\n  s_cbranch_join s43\n"

static void add_fork(struct sem_list *l, const struct path *p, const char *text)
{
    struct sem_case *c = sem_add(l);

    c->group = "s_cbranch_i_fork, s_cbranch_g_fork and s_cbranch_join";
    c->row = p;
    c->run = run_fork;
    c->prepare = vary_masks;
    c->keep_exec = true;
    c->long_text = strdup(text);
    snprintf(c->text, sizeof c->text, "s_cbranch_fork");
}

static void add_forks(struct sem_list *l)
{
    add_fork(l, simple,
             BEGIN "  s_cbranch_i_fork s[32:33], 1f\n" PATH(
                 "1") "  s_branch 2f\n"
                      "1:\n" PATH("2") "2:\n  s_cbranch_join s40\n" END);
    add_fork(l, simple,
             BEGIN "  s_getpc_b64 s[44:45]\n0:\n  s_add_u32 s44, s44, 1f-0b\n"
                   "  s_addc_u32 s45, s45, 0\n  s_cbranch_g_fork s[32:33], s[44:45]\n" PATH(
                       "1") "  s_branch 2f\n"
                            "1:\n" PATH("2") "2:\n  s_cbranch_join s40\n" END);
    add_fork(l, nested,
             BEGIN "  s_cbranch_i_fork s[32:33], 1f\n" INNER PATH("1") "  s_branch 2f\n"
                                                                       "1:\n" PATH(
                                                                           "2") "2:\n"
                                                                                "  s_cbranch_join "
                                                                                "s40\n" END);
}

/* ---- vector instructions skipped */

static void run_skip(const struct sem_case *c, const struct oracle_wave *before,
                     struct oracle_wave *after, struct sem_memory *m)
{
    bool skip = c->arg[0] || before->s[20] >> (before->s[24] & 31) & 1;

    (void)m;
    *after = *before;
    for (unsigned l = 0; !skip && l < 64; l++)
        if (before->exec >> l & 1)
            after->v[8][l] = before->v[0][l] ^ before->v[1][l];
    if (!skip) {
        unsigned first = 0;

        while (first < 63 && before->exec && !(before->exec >> first & 1))
            first++;
        after->s[16] = before->v[0][before->exec ? first : 0];
    }
    after->s[17] = before->s[28];
    after->s[18] = skip;
    oracle_wave_strict(after);
}

static void add_skips(struct sem_list *l)
{
    static const char *const begin[] = {
        "s_setvskip s20, s24\n  s_nop 1\n",
        /* wild addresses: none of these may run */
        "s_setvskip 2, 1\n  s_nop 1\n  ds_write_b32 v0, v1\n  flat_store_dword v[0:1], v2\n"
        "  global_load_dword v8, v[0:1], off\n  buffer_load_dword v8, v0, s[16:19], 0 idxen\n"
        "  v_mfma_f32_4x4x1f32 v[8:11], v0, v1, v[8:11]\n  v_cmpx_eq_u32_e32 vcc, v0, v1\n"};

    for (unsigned i = 0; i < 2; i++) {
        struct sem_case *c = sem_add(l);

        c->group = "s_setvskip";
        c->arg[0] = i;
        c->run = run_skip;
        c->keep_exec = true;
        snprintf(c->text, sizeof c->text, "s_setvskip");
        c->long_text = malloc(600);
        if (c->long_text)
            snprintf(c->long_text, 600,
                     "%s  v_xor_b32_e32 v8, v0, v1\n  v_readfirstlane_b32 s16, v0\n"
                     "  s_mov_b32 s17, s28\n  s_getreg_b32 s18, hwreg(HW_REG_MODE, 28, 1)\n"
                     "  s_setvskip 0, 0\n  s_nop 1",
                     begin[i]);
    }
}

/* ---- two passes over a wave64 */

static void run_subvector(const struct sem_case *c, const struct oracle_wave *before,
                          struct oracle_wave *after, struct sem_memory *m)
{
    uint32_t low = (uint32_t)before->exec, high = (uint32_t)(before->exec >> 32);

    (void)c;
    (void)m;
    *after = *before;
    for (unsigned l = 0; l < 64; l++)
        if (before->exec >> l & 1)
            after->v[8][l] += 3;
    if (before->exec)
        after->s[40] = low && high ? low : 0;
    if (low) {
        after->s[41] = after->s[41] * 16 + 1;
        after->s[42] = low;
    }
    if (high) {
        after->s[41] = after->s[41] * 16 + 1;
        after->s[42] = 0;
    }
    oracle_wave_strict(after);
    after->scc_mask = 0;
}

/* Groups whose EXEC has lanes in one half alone. */
static void half_exec(const struct sem_case *c, struct oracle_wave *w, const struct sem_memory *m)
{
    (void)m;
    if (oracle_machines[w->target].lanes == 64 && c->arg[0])
        w->exec &= c->arg[0] == 1 ? 0xffffffff : ~UINT64_C(0xffffffff);
}

static void add_subvectors(struct sem_list *l)
{
    for (unsigned i = 0; i < 3; i++) {
        struct sem_case *c = sem_add(l);

        c->group = "s_subvector_loop_begin and s_subvector_loop_end";
        c->arg[0] = i;
        c->run = run_subvector;
        c->prepare = half_exec;
        c->keep_exec = true;
        snprintf(c->text, sizeof c->text,
                 "s_subvector_loop_begin s40, 2f\n1:\n  v_add_nc_u32_e32 v8, 3, v8\n"
                 "  s_lshl4_add_u32 s41, s41, 1\n  s_mov_b32 s42, exec_lo\n"
                 "  s_subvector_loop_end s40, 1b\n2:\n  s_nop 0");
    }
}

int main(void)
{
    sem_begin("control flow");
    for (int t = 0; t < ORACLE_TARGETS; t++) {
        /* gfx950 as gfx942, by the same rows; gfx1201 has none of these */
        if (t == T_GFX950 || oracle_is_gfx12((enum oracle_target)t))
            continue;
        struct sem_list l = {0};

        if (oracle_machines[t].gfx11) {
            add_subvectors(&l);
        } else {
            add_forks(&l);
            add_skips(&l);
        }
        sem_run((enum oracle_target)t, &l);
        sem_free(&l);
    }
    return sem_done();
}
