/*
 * Control flow beyond branches: forks with a stack of lane masks, passes over half a wave, vector
 * instructions skipped, and what stops a wave by itself.
 */
#include "program.h"

/* The stack of forks lies in SGPRs, four an entry; MODE[31:29] counts the entries. */
enum { CSP_SHIFT = 29, CSP_ENTRIES = 8 };

static uint64_t address_of(const struct emu_wave *w, const struct emu_op *op)
{
    return w->group->kernel->code_address + (uint64_t)(op - emu_program_of(w)->ops) * 4;
}

static void set_csp(struct emu_wave *w, uint32_t csp)
{
    emu_set_mode(w, (w->mode & ~(UINT32_C(7) << CSP_SHIFT)) | csp << CSP_SHIFT);
}

/* { mask, address } at s[4 * CSP]: the lanes that wait, and where they go on. */
static void push(struct emu_wave *w, uint64_t mask, uint64_t address)
{
    uint32_t csp = w->mode >> CSP_SHIFT;

    if (csp == CSP_ENTRIES - 1)
        emu_fault(w, 0, "forks are nested %d deep: their stack is full", CSP_ENTRIES);
    emu_set_s64(w, 4 * csp, mask);
    emu_set_s64(w, 4 * csp + 2, address);
    for (unsigned i = 0; w->sp && i < 4; i++)
        w->sp[4 * csp + i] = 0;
    set_csp(w, csp + 1);
}

/* The smaller part of the lanes goes first: so the stack is at most six deep. */
static void fork_to(struct emu_wave *w, uint64_t mask, uint64_t target)
{
    uint64_t exec = emu_exec(w), pass = mask & exec, fail = ~mask & exec;

    if (pass == exec) {
        emu_jump(w, target);
    } else if (fail == exec) {
        return;
    } else if (__builtin_popcountll(fail) < __builtin_popcountll(pass)) {
        push(w, pass, target);
        emu_set_s64(w, EMU_S_EXEC, fail);
    } else {
        push(w, fail, address_of(w, w->ip));
        emu_set_s64(w, EMU_S_EXEC, pass);
        emu_jump(w, target);
    }
}

static void fork_register(struct emu_wave *w, const struct emu_op *op)
{
    fork_to(w, emu_s64(w, op->s[0]), emu_s64(w, op->s[1]));
}

static void fork_offset(struct emu_wave *w, const struct emu_op *op)
{
    fork_to(w, emu_s64(w, op->s[0]), address_of(w, w->ip) + (uint64_t)(int64_t)op->imm * 4);
}

static void join(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t csp = w->mode >> CSP_SHIFT;

    if (csp == w->s[op->s[0]])
        return;
    if (!csp)
        emu_fault(w, 0, "join without a fork");
    csp--;
    for (unsigned i = 0; w->sp && i < 4; i++)
        if (w->sp[4 * csp + i])
            emu_fault(w, 0, "s%u, of the stack of forks, was never computed", 4 * csp + i);
    set_csp(w, csp);
    emu_set_s64(w, EMU_S_EXEC, emu_s64(w, 4 * csp));
    emu_jump(w, emu_s64(w, 4 * csp + 2));
}

/*
 * One pass over each half of a wave64 that has active lanes: D0 keeps the EXEC of the half that
 * waits. The branches lead behind the end of the loop, and behind its beginning.
 */
static void subvector_begin(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t *exec = &w->s[EMU_S_EXEC];

    if (!exec[0] && !exec[1]) {
        emu_jump(w, address_of(w, w->ip) + (uint64_t)(int64_t)op->imm * 4);
    } else if (!exec[0]) {
        w->s[op->d[0]] = 0;
    } else {
        w->s[op->d[0]] = exec[1];
        exec[1] = 0;
    }
}

static void subvector_end(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t *exec = &w->s[EMU_S_EXEC], kept = w->s[op->s[0]];

    if (exec[1]) {
        exec[0] = kept;
    } else if (kept) {
        exec[1] = kept;
        w->s[op->d[0]] = exec[0];
        exec[0] = 0;
        emu_jump(w, address_of(w, w->ip) + (uint64_t)(int64_t)op->imm * 4);
    }
}

static void set_skip(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t on = w->s[op->s[0]] >> (w->s[op->s[1]] & 31) & 1;

    emu_set_mode(w, (w->mode & ~EMU_MODE_VSKIP) | (on ? EMU_MODE_VSKIP : 0));
}

/* As a debugger kills it: the wave ends here. */
static void kill(struct emu_wave *w, const struct emu_op *op)
{
    if (op->imm & 1)
        emu_end_wave(w);
}

/* What raises the exception "illegal instruction" in a kernel. */
static void illegal(struct emu_wave *w, const struct emu_op *op)
{
    emu_fault(w, 0, "illegal instruction: %s", emu_rows[op->insn->row].name);
}

#define X (EMU_E_READ_EXEC | EMU_E_WRITE_EXEC)
#define ROW(name, fn, effects) {#name, {fn, fn}, effects, EMU_C_BRANCH}

const struct emu_sem emu_sem_fork[] = {
    ROW(s_cbranch_g_fork, fork_register, X),
    ROW(s_cbranch_i_fork, fork_offset, X),
    ROW(s_cbranch_join, join, X),
    ROW(s_subvector_loop_begin, subvector_begin, X),
    ROW(s_subvector_loop_end, subvector_end, X),
    ROW(s_setvskip, set_skip, 0),
    ROW(s_setkill, kill, 0),
    /* only in trap handlers, which the emulator never runs */
    ROW(s_rfe_b64, illegal, 0),
    ROW(s_rfe_restore_b64, illegal, 0),
    ROW(s_code_end, illegal, 0),
    ROW(v_illegal, illegal, 0),
    {NULL, {NULL, NULL}, 0, 0},
};
