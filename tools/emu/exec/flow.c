/*
 * Program flow and machine state: branches, calls, waits, hardware registers, indexing.
 */
#include <fenv.h>
#include <string.h>

#include "program.h"

static uint64_t address_of(const struct emu_wave *w, const struct emu_op *op)
{
    return w->group->kernel->code_address + (uint64_t)(op - emu_program_of(w)->ops) * 4;
}

void emu_jump(struct emu_wave *w, uint64_t address)
{
    const struct emu_kernel *k = w->group->kernel;
    uint64_t offset = address - k->code_address;

    if (offset >= k->code_size || offset % 4)
        emu_fault(w, 0, "jump to 0x%llx, outside of the code object's text",
                  (unsigned long long)address);
    w->ip = k->program->ops + offset / 4;
}

static void branch(struct emu_wave *w, const struct emu_op *op)
{
    if (op->target < 0)
        emu_fault(w, 0, "branch out of the code object's text");
    w->ip = emu_program_of(w)->ops + op->target;
}

static bool vcc_zero(const struct emu_wave *w)
{
    return w->lanes == 64 ? emu_s64(w, EMU_S_VCC) == 0 : w->s[EMU_S_VCC] == 0;
}

static void branch_scc0(struct emu_wave *w, const struct emu_op *op)
{
    if (!w->scc)
        branch(w, op);
}

static void branch_scc1(struct emu_wave *w, const struct emu_op *op)
{
    if (w->scc)
        branch(w, op);
}

static void branch_vccz(struct emu_wave *w, const struct emu_op *op)
{
    if (vcc_zero(w))
        branch(w, op);
}

static void branch_vccnz(struct emu_wave *w, const struct emu_op *op)
{
    if (!vcc_zero(w))
        branch(w, op);
}

static void branch_execz(struct emu_wave *w, const struct emu_op *op)
{
    if (!emu_exec(w))
        branch(w, op);
}

static void branch_execnz(struct emu_wave *w, const struct emu_op *op)
{
    if (emu_exec(w))
        branch(w, op);
}

static void getpc(struct emu_wave *w, const struct emu_op *op)
{
    emu_set_s64(w, op->d[0], address_of(w, w->ip));
}

static void setpc(struct emu_wave *w, const struct emu_op *op)
{
    emu_jump(w, emu_s64(w, op->s[0]));
}

static void swappc(struct emu_wave *w, const struct emu_op *op)
{
    uint64_t to = emu_s64(w, op->s[0]);

    emu_set_s64(w, op->d[0], address_of(w, w->ip));
    emu_jump(w, to);
}

static void call(struct emu_wave *w, const struct emu_op *op)
{
    emu_set_s64(w, op->d[0], address_of(w, w->ip));
    branch(w, op);
}

void emu_end_wave(struct emu_wave *w)
{
    emu_stop_wave(w, EMU_ENDED);
}

static void endpgm(struct emu_wave *w, const struct emu_op *op)
{
    (void)op;
    emu_end_wave(w);
}

/* Waits, hints, cache and priority control: state that the emulator has none of. */
static void nothing(struct emu_wave *w, const struct emu_op *op)
{
    (void)w, (void)op;
}

bool emu_is_idle(const struct emu_op *op)
{
    return op->fn == nothing && op->cls == EMU_C_MESSAGE;
}

static void trap(struct emu_wave *w, const struct emu_op *op)
{
    emu_fault(w, 0, "s_trap %d: the kernel stopped itself%s", op->imm & 0xff,
              (op->imm & 0xff) == 2 ? " (assert or __builtin_trap)" : "");
}

static void halt(struct emu_wave *w, const struct emu_op *op)
{
    if (op->imm & 1)
        emu_fault(w, 0, "the wave halts itself");
}

static void sendmsg(struct emu_wave *w, const struct emu_op *op)
{
    enum { INTERRUPT = 1, HALT_WAVES = 4, DEALLOC_VGPRS = 3 };
    unsigned id = (unsigned)op->imm & 15;

    if (id == 0 || id == INTERRUPT || id == DEALLOC_VGPRS)
        return;
    emu_fault(w, 0, "message %u is for graphics or the driver", id);
}

static void sendmsg_halt(struct emu_wave *w, const struct emu_op *op)
{
    sendmsg(w, op);
    emu_fault(w, 0, "the wave halts itself");
}

/* gfx11: messages that answer. Nothing here has a doorbell or a trap handler; time is instructions.
 */
static uint64_t answer(struct emu_wave *w, const struct emu_op *op)
{
    enum { GET_DOORBELL = 128, GET_DDID, GET_TMA, GET_REALTIME, SAVE_WAVE, GET_TBA };
    unsigned id = (unsigned)op->imm & 0xff;

    switch (id) {
    case GET_DOORBELL:
    case GET_DDID:
    case GET_TMA:
    case GET_TBA:
        return 0;
    case GET_REALTIME:
        return emu_clock(w);
    default:
        emu_fault(w, 0, "message %u is for the driver", id);
    }
}

static void sendmsg_rtn32(struct emu_wave *w, const struct emu_op *op)
{
    w->s[op->d[0]] = (uint32_t)answer(w, op);
}

static void sendmsg_rtn64(struct emu_wave *w, const struct emu_op *op)
{
    emu_set_s64(w, op->d[0], answer(w, op));
}

void emu_set_mode(struct emu_wave *w, uint32_t mode)
{
    bool gfx9 = w->group->kernel->family < EMU_GFX11;

    w->mode = mode;
    w->attention &= ~(uint32_t)(EMU_A_MODE | EMU_A_GPR_IDX | EMU_A_VSKIP);
    if ((mode & 0x2ff) != 0x2f0)
        w->attention |= EMU_A_MODE;
    if (gfx9 && mode & EMU_MODE_GPR_IDX)
        w->attention |= EMU_A_GPR_IDX;
    if (gfx9 && mode & EMU_MODE_VSKIP)
        w->attention |= EMU_A_VSKIP;
}

static void round_mode(struct emu_wave *w, const struct emu_op *op)
{
    emu_set_mode(w, (w->mode & ~0xfu) | ((uint32_t)op->imm & 0xf));
}

static void denorm_mode(struct emu_wave *w, const struct emu_op *op)
{
    emu_set_mode(w, (w->mode & ~0xf0u) | ((uint32_t)op->imm & 0xf) << 4);
}

/* simm16 of s_getreg and s_setreg: register, first bit, width. */
enum {
    HW_MODE = 1,
    HW_STATUS = 2,
    HW_TRAPSTS = 3,
    HW_ID = 4,
    HW_GPR_ALLOC = 5,
    HW_LDS_ALLOC = 6,
    HW_IB_STS = 7,
    HW_SH_MEM_BASES = 15,
    HW_FLAT_SCR_LO = 20, /* gfx942: XCC_ID */
    HW_FLAT_SCR_HI = 21,
    HW_HW_ID1 = 23,
    HW_HW_ID2 = 24,
    HW_SHADER_CYCLES = 29
};

/* gfx12 numbers them anew; MODE has no DX10_CLAMP and IEEE. */
static uint32_t hardware_register12(struct emu_wave *w, unsigned id)
{
    enum { STATE_PRIV = 4, SCRATCH_LO = 20, SCRATCH_HI = 21, CYCLES_LO = 29, CYCLES_HI = 30 };

    switch (id) {
    case HW_MODE:
        return w->mode & ~0x300u;
    case HW_STATUS:
        return (uint32_t)!emu_exec(w) << 9 | (uint32_t)vcc_zero(w) << 10;
    case STATE_PRIV:
        return w->scc << 9;
    case HW_GPR_ALLOC:
        return (w->group->kernel->vgprs / 8 - 1) << 12;
    case HW_LDS_ALLOC:
        return (w->group->lds_size + 511) / 512 << 12;
    case CYCLES_LO:
        return (uint32_t)emu_clock(w);
    case CYCLES_HI:
        return (uint32_t)(emu_clock(w) >> 32);
    case HW_IB_STS:
    case SCRATCH_LO:
    case SCRATCH_HI:
    case HW_HW_ID1:
    case HW_HW_ID2:
        return 0;
    default:
        emu_fault(w, 0, "hardware register %u is not a register of compute kernels", id);
    }
}

static uint32_t hardware_register(struct emu_wave *w, unsigned id)
{
    const struct emu_kernel *k = w->group->kernel;

    if (k->family >= EMU_GFX12)
        return hardware_register12(w, id);
    switch (id) {
    case HW_MODE:
        return w->mode;
    case HW_STATUS:
        return w->status | w->scc | (uint32_t)!emu_exec(w) << 9 | (uint32_t)vcc_zero(w) << 10;
    case HW_TRAPSTS:
        return w->trapsts;
    case HW_GPR_ALLOC:
        return (k->vgprs / 8 - 1) << 8;
    case HW_LDS_ALLOC:
        return (w->group->lds_size + 511) / 512 << 12;
    case HW_SH_MEM_BASES:
        return (uint32_t)(EMU_SHARED_APERTURE >> 48) << 16 | (uint32_t)(EMU_PRIVATE_APERTURE >> 48);
    case HW_SHADER_CYCLES:
        return (uint32_t)emu_clock(w) & 0xfffff;
    case HW_ID:
    case HW_IB_STS:
    case HW_FLAT_SCR_LO:
    case HW_FLAT_SCR_HI:
    case HW_HW_ID1:
    case HW_HW_ID2:
        return 0; /* one compute unit, one of everything, nothing outstanding */
    default:
        emu_fault(w, 0, "hardware register %u is not a register of compute kernels", id);
    }
}

static void getreg(struct emu_wave *w, const struct emu_op *op)
{
    unsigned id = op->imm & 63, at = op->imm >> 6 & 31, width = (op->imm >> 11 & 31) + 1;
    uint64_t x = hardware_register(w, id) >> at;

    w->s[op->d[0]] = (uint32_t)(x & ((UINT64_C(1) << width) - 1));
}

static void set_field(struct emu_wave *w, const struct emu_op *op, uint32_t x)
{
    unsigned id = op->imm & 63, at = op->imm >> 6 & 31, width = (op->imm >> 11 & 31) + 1;
    uint32_t field = (uint32_t)((UINT64_C(1) << width) - 1) << at;

    if (id == HW_MODE) {
        field &= w->group->kernel->family >= EMU_GFX12 ? ~0x300u : ~0u;
        emu_set_mode(w, (w->mode & ~field) | (x << at & field));
    } else if (id == HW_TRAPSTS && w->group->kernel->family < EMU_GFX12)
        w->trapsts = (w->trapsts & ~field) | (x << at & field);
    else
        emu_fault(w, 0, "hardware register %u cannot be written by a kernel", id);
}

static void setreg(struct emu_wave *w, const struct emu_op *op)
{
    set_field(w, op, w->s[op->s[0]]);
}

/* ---- VGPR and SGPR indexing ---- */

static void gpr_idx_on(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t mode = (uint32_t)op->imm & 15;

    w->s[EMU_S_M0] = (w->s[EMU_S_M0] & 0xffff0f00) | (w->s[op->s[0]] & 0xff) | mode << 12;
    emu_set_mode(w, w->mode | EMU_MODE_GPR_IDX);
}

static void gpr_idx_off(struct emu_wave *w, const struct emu_op *op)
{
    (void)op;
    emu_set_mode(w, w->mode & ~EMU_MODE_GPR_IDX);
}

static void gpr_idx_mode(struct emu_wave *w, const struct emu_op *op)
{
    w->s[EMU_S_M0] = (w->s[EMU_S_M0] & 0xffff0fff) | ((uint32_t)op->imm & 15) << 12;
}

static void gpr_idx_idx(struct emu_wave *w, const struct emu_op *op)
{
    w->s[EMU_S_M0] = (w->s[EMU_S_M0] & ~0xffu) | (w->s[op->s[0]] & 0xff);
}

/* An SGPR number moved by M0; the n registers must be SGPRs. */
static unsigned relative(struct emu_wave *w, unsigned base, uint32_t by, unsigned n)
{
    uint64_t i = (uint64_t)base + by;

    if (base >= EMU_S_VCC || i + n > EMU_S_VCC)
        emu_fault(w, 0, "s[%u + %u] is not an SGPR", base, by);
    return (unsigned)i;
}

static void movrels32(struct emu_wave *w, const struct emu_op *op)
{
    w->s[op->d[0]] = w->s[relative(w, op->s[0], w->s[EMU_S_M0], 1)];
}

static void movrels64(struct emu_wave *w, const struct emu_op *op)
{
    emu_set_s64(w, op->d[0], emu_s64(w, relative(w, op->s[0], w->s[EMU_S_M0], 2)));
}

static void movreld32(struct emu_wave *w, const struct emu_op *op)
{
    w->s[relative(w, op->d[0], w->s[EMU_S_M0], 1)] = w->s[op->s[0]];
}

static void movreld64(struct emu_wave *w, const struct emu_op *op)
{
    emu_set_s64(w, relative(w, op->d[0], w->s[EMU_S_M0], 2), emu_s64(w, op->s[0]));
}

static void movrelsd2(struct emu_wave *w, const struct emu_op *op)
{
    uint32_t m0 = w->s[EMU_S_M0];
    unsigned from = relative(w, op->s[0], m0 & 0x3ff, 1);

    w->s[relative(w, op->d[0], m0 >> 16 & 0x3ff, 1)] = w->s[from];
}

#define R(name, fn, effects, cls)                                                                  \
    {                                                                                              \
#name, {fn, fn }, effects, EMU_C_##cls                                                     \
    }
#define FLOW(name, fn, effects) R(name, fn, effects, BRANCH)
#define NOTHING(name) R(name, nothing, 0, MESSAGE)

const struct emu_sem emu_sem_flow[] = {
    FLOW(s_branch, branch, 0),
    FLOW(s_cbranch_scc0, branch_scc0, EMU_E_READ_SCC),
    FLOW(s_cbranch_scc1, branch_scc1, EMU_E_READ_SCC),
    FLOW(s_cbranch_vccz, branch_vccz, EMU_E_READ_VCC),
    FLOW(s_cbranch_vccnz, branch_vccnz, EMU_E_READ_VCC),
    FLOW(s_cbranch_execz, branch_execz, EMU_E_READ_EXEC),
    FLOW(s_cbranch_execnz, branch_execnz, EMU_E_READ_EXEC),
    /* no debugger is attached: the condition is false */
    FLOW(s_cbranch_cdbgsys, nothing, 0),
    FLOW(s_cbranch_cdbguser, nothing, 0),
    FLOW(s_cbranch_cdbgsys_or_user, nothing, 0),
    FLOW(s_cbranch_cdbgsys_and_user, nothing, 0),
    FLOW(s_getpc_b64, getpc, 0),
    FLOW(s_setpc_b64, setpc, 0),
    FLOW(s_swappc_b64, swappc, 0),
    FLOW(s_call_b64, call, 0),
    FLOW(s_endpgm, endpgm, 0),
    FLOW(s_endpgm_saved, endpgm, 0),
    FLOW(s_endpgm_ordered_ps_done, endpgm, 0),
    R(s_trap, trap, 0, MESSAGE),
    R(s_sethalt, halt, 0, MESSAGE),
    R(s_sendmsg, sendmsg, EMU_E_READ_M0, MESSAGE),
    R(s_sendmsghalt, sendmsg_halt, EMU_E_READ_M0, MESSAGE),
    R(s_sendmsg_rtn_b32, sendmsg_rtn32, 0, MESSAGE),
    R(s_sendmsg_rtn_b64, sendmsg_rtn64, 0, MESSAGE),
    NOTHING(s_nop),
    NOTHING(s_sleep),
    NOTHING(s_setprio),
    NOTHING(s_waitcnt),
    NOTHING(s_waitcnt_vscnt),
    NOTHING(s_waitcnt_vmcnt),
    NOTHING(s_waitcnt_lgkmcnt),
    NOTHING(s_waitcnt_expcnt),
    NOTHING(s_waitcnt_depctr),
    NOTHING(s_wait_loadcnt),
    NOTHING(s_wait_storecnt),
    NOTHING(s_wait_samplecnt),
    NOTHING(s_wait_bvhcnt),
    NOTHING(s_wait_expcnt),
    NOTHING(s_wait_dscnt),
    NOTHING(s_wait_kmcnt),
    NOTHING(s_wait_loadcnt_dscnt),
    NOTHING(s_wait_storecnt_dscnt),
    NOTHING(s_sleep_var),
    NOTHING(s_wait_idle),
    NOTHING(s_wait_event),
    NOTHING(s_delay_alu),
    NOTHING(s_clause),
    NOTHING(s_singleuse_vdst),
    NOTHING(s_set_inst_prefetch_distance),
    NOTHING(s_wakeup),
    NOTHING(s_icache_inv),
    NOTHING(s_incperflevel),
    NOTHING(s_decperflevel),
    NOTHING(s_ttracedata),
    NOTHING(s_version),
    R(s_round_mode, round_mode, 0, SALU),
    R(s_denorm_mode, denorm_mode, 0, SALU),
    R(s_getreg_b32, getreg, 0, SALU),
    R(s_setreg_b32, setreg, 0, SALU),
    R(s_setreg_imm32_b32, setreg, 0, SALU),
    R(s_set_gpr_idx_on, gpr_idx_on, 0, SALU),
    R(s_set_gpr_idx_off, gpr_idx_off, 0, SALU),
    R(s_set_gpr_idx_mode, gpr_idx_mode, 0, SALU),
    R(s_set_gpr_idx_idx, gpr_idx_idx, 0, SALU),
    R(s_movrels_b32, movrels32, EMU_E_READ_M0, SALU),
    R(s_movrels_b64, movrels64, EMU_E_READ_M0, SALU),
    R(s_movreld_b32, movreld32, EMU_E_READ_M0, SALU),
    R(s_movreld_b64, movreld64, EMU_E_READ_M0, SALU),
    R(s_movrelsd_2_b32, movrelsd2, EMU_E_READ_M0, SALU),
    {NULL, {NULL, NULL}, 0, 0},
};
