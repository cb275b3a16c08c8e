/*
 * What the emulator does not execute stops the kernel, and the report names it: images, export,
 * interpolation, ray tracing, GDS and GWS; what is illegal in a kernel; and instructions whose
 * effect it is to end or to halt their wave.
 */
#include "test_exec_asm.h"

static const struct stop {
    const char *gpus; /* beginning of their names */
    const char *text, *says;
} stops[] = {
    /* trapped by design */
    {"gfx90a", "image_load v[0:3], v[4:5], s[8:15] dmask:0xf unorm", "image_load is not executed"},
    {"gfx11", "image_load v[0:3], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D",
     "image_load is not executed"},
    {"gfx11", "image_sample v[0:3], v[4:5], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D",
     "image_sample is not executed"},
    {"gfx11", "exp mrt0 v0, v1, v2, v3 done", "exp is not executed"},
    {"gfx11", "v_interp_p10_f32 v0, v1, v2, v3", "v_interp_p10_f32 is not executed"},
    {"gfx11", "lds_param_load v1, attr0.x", "lds_param_load is not executed"},
    {"gfx11", "s_mov_b32 m0, 0x20000\nlds_direct_load v1", "a kernel of WGP mode"},
    {"gfx11", "ds_bvh_stack_rtn_b32 v1, v2, v3, v[4:7]", "ds_bvh_stack_rtn_b32 is not executed"},
    {"gfx11", "ds_ordered_count v1, v2 gds", "ds_ordered_count is not executed"},
    {"gfx11", "ds_add_gs_reg_rtn v[0:1], v2 gds", "ds_add_gs_reg_rtn is not executed"},
    {"gfx11", "ds_gws_barrier v0 gds", "ds_gws_barrier is not executed"},
    {"gfx9", "ds_gws_barrier v0 gds", "ds_gws_barrier is not executed"},
    /* the global data share: compute kernels have none, and LDS must not stand in */
    {"gfx11", "ds_add_u32 v5, v0 gds", "ds_add_u32 gds: compute kernels have no global data share"},
    {"gfx11", "ds_load_b32 v1, v5 gds", "ds_load_b32 gds: compute"},
    /* the exception "illegal instruction" */
    {"gfx11", "s_code_end", "illegal instruction: s_code_end"},
    {"gfx11", "v_illegal", "illegal instruction: v_illegal"},
    {"gfx", "s_rfe_b64 s[2:3]", "illegal instruction: s_rfe_b64"},
    {"gfx9", "s_rfe_restore_b64 s[2:3], s3", "illegal instruction: s_rfe_restore_b64"},
    {"gfx", ".long 0xbfffffff", "word 0xbfffffff is no instruction"},
    /* waves that stop themselves */
    {"gfx", "s_trap 2", "s_trap 2: the kernel stopped itself"},
    {"gfx", "s_sethalt 1", "the wave halts itself"},
    {"gfx", "s_mov_b32 m0, 0\ns_nop 0\ns_sendmsghalt sendmsg(MSG_INTERRUPT)",
     "the wave halts itself"},
    {"gfx", "s_mov_b32 m0, 0\ns_nop 0\ns_sendmsg 9", "message 9 is for graphics or the driver"},
    /* forks */
    {"gfx9", "s_mov_b32 s10, 1\ns_cbranch_join s10", "join without a fork"},
    {"gfx9",
     "s_mov_b64 s[20:21], 1\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 29, 3), 7\n"
     "s_cbranch_i_fork s[20:21], 0",
     "forks are nested 8 deep"},
    {"gfx9",
     "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 29, 3), 7\ns_mov_b32 s10, 0\ns_cbranch_join s10",
     "s24, of the stack of forks, was never computed"},
};

/* Does the wave still store what follows? */
static const struct end {
    const char *gpus, *insn;
    bool stores;
} ends[] = {
    {"gfx", "s_setkill 0", true},
    {"gfx", "s_setkill 1", false},
    {"gfx", "s_sethalt 0", true},
    {"gfx", "s_endpgm_saved", false},
    {"gfx9", "s_endpgm_ordered_ps_done", false},
};

/* The test's name: the last instruction of a text. */
static const char *last_line(const char *text)
{
    const char *end = strrchr(text, '\n');

    return end ? end + 1 : text;
}

int main(void)
{
    asm_need_tools();
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    for (unsigned g = 0; g < 4; g++) {
        struct asm_result r;
        char text[128];

        for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
            const struct stop *s = &stops[i];

            if (strncmp(asm_gpus[g], s->gpus, strlen(s->gpus)))
                continue;
            if (ok(asm_run(asm_gpus[g], s->text, 64, &r) && !r.ran, "%s: %s stops", asm_gpus[g],
                   last_line(s->text)))
                contains(r.fault, s->says, "and says why");
        }
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            const struct end *e = &ends[i];

            if (strncmp(asm_gpus[g], e->gpus, strlen(e->gpus)))
                continue;
            snprintf(text, sizeof text, "v_mov_b32 v0, 77\n%s\nglobal_store_dword v5, v0, s[2:3]",
                     e->insn);
            ok(asm_run(asm_gpus[g], text, 64, &r) && r.ran && r.out[3] == (e->stores ? 77 : 3),
               "%s: the wave %s after %s", asm_gpus[g], e->stores ? "goes on" : "ends", e->insn);
        }
    }
    return tap_done();
}
