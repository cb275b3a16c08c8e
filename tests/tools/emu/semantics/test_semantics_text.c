/*
 * The assembly around the instructions under test: one shared prologue that loads a wave's whole
 * state and one epilogue that stores it, a few lines per kernel, the kernel descriptors and their
 * metadata.
 *
 * Register use: v0..v23 and s16..s63 belong to the test, with VCC, EXEC, SCC, M0 and MODE; v24..v31
 * and s64..s95 to the harness. The state in memory has 256 bytes for each VGPR, then s16..s63, VCC,
 * EXEC, SCC, M0, MODE; then LDS.
 */
#include <stdio.h>
#include <string.h>

#include "test_semantics_run.h"

/* s[64:65]: the state to load, s[66:67]: where to store it, v24 and v25: byte offsets of the lane
 */
static void find_state(FILE *f, const struct oracle_machine *m)
{
    fprintf(f,
            "  s_load_dwordx4 s[64:67], s[0:1], 0x0\n"
            "  s_add_u32 s80, s80, 4\n" /* behind the branch that led here */
            "  s_addc_u32 s81, s81, 0\n"
            "  v_lshlrev_b32_e32 v24, 2, v0\n"
            "  s_mul_i32 s70, %s, %#x\n"
            "  s_waitcnt lgkmcnt(0)\n"
            "  v_add_u32_e32 v25, 0x1000, v24\n"
            "  s_add_u32 s64, s64, s70\n"
            "  s_addc_u32 s65, s65, 0\n"
            "  s_add_u32 s66, s66, s70\n"
            "  s_addc_u32 s67, s67, 0\n",
            m->mask == G12 ? "ttmp9" : "s2", SEM_STATE_BYTES);
}

static void load_state(FILE *f, const struct oracle_machine *m)
{
    for (unsigned r = 0; r < ORACLE_VGPRS; r++)
        fprintf(f, "  global_load_dword v%u, v%u, s[64:65] offset:%u\n", r, r < 16 ? 24 : 25,
                r % 16 * 256);
    fprintf(f,
            "  s_load_dwordx16 s[16:31], s[64:65], %#x\n"
            "  s_load_dwordx16 s[32:47], s[64:65], %#x\n"
            "  s_load_dwordx16 s[48:63], s[64:65], %#x\n"
            "  s_load_dwordx8 s[72:79], s[64:65], %#x\n"
            "  s_waitcnt vmcnt(0) lgkmcnt(0)\n",
            SEM_SCALARS, SEM_SCALARS + 64, SEM_SCALARS + 128, SEM_SCALARS + 192);
    fputs("  s_lshr_b32 s70, s78, 23\n"
          "  s_setreg_b32 hwreg(HW_REG_MODE, 0, 10), s78\n"
          "  s_nop 1\n"
          "  s_setreg_b32 hwreg(HW_REG_MODE, 23, 1), s70\n"
          "  s_mov_b32 m0, s77\n"
          "  s_cmp_lg_u32 s76, 0\n",
          f);
    fputs(m->lanes == 64 ? "  s_mov_b64 vcc, s[72:73]\n  s_mov_b64 exec, s[74:75]\n"
                         : "  s_mov_b32 vcc_lo, s72\n  s_mov_b32 exec_lo, s74\n",
          f);
    fputs("  s_nop 7\n  s_nop 7\n  s_setpc_b64 s[80:81]\n", f);
}

static void store_state(FILE *f, const struct oracle_machine *m)
{
    bool wide = m->lanes == 64;

    fputs(
        "  s_cselect_b32 s76, 1, 0\n  s_mov_b32 s77, m0\n  s_getreg_b32 s78, hwreg(HW_REG_MODE)\n",
        f);
    fputs(wide ? "  s_mov_b64 s[72:73], vcc\n  s_mov_b64 s[74:75], exec\n  s_mov_b64 exec, -1\n"
               : "  s_mov_b32 s72, vcc_lo\n  s_mov_b32 s74, exec_lo\n  s_mov_b32 exec_lo, -1\n"
                 "  s_mov_b32 s73, 0\n  s_mov_b32 s75, 0\n",
          f);
    fputs("  s_mov_b32 s79, 0\n  v_mov_b32_e32 v26, 0\n  v_mov_b32_e32 v27, 0\n  s_nop 7\n  s_nop "
          "7\n",
          f);
    for (unsigned r = 0; r < ORACLE_VGPRS; r++)
        fprintf(f, "  global_store_dword v%u, v%u, s[66:67] offset:%u\n", r < 16 ? 24 : 25, r,
                r % 16 * 256);
    for (unsigned i = 0; i < 32; i++)
        fprintf(f, "  v_writelane_b32 v26, s%u, %u\n", 16 + i, i);
    for (unsigned i = 0; i < 24; i++)
        fprintf(f, "  v_writelane_b32 v27, s%u, %u\n", i < 16 ? 48 + i : 72 + i - 16, i);
    /* 32 lanes each; on wave64 the upper half of the first store is overwritten by the second */
    fprintf(f,
            "  v_add_u32_e32 v28, %#x, v24\n"
            "  v_add_u32_e32 v29, %#x, v24\n"
            "  s_nop 4\n"
            "  global_store_dword v28, v26, s[66:67]\n"
            "  s_waitcnt vmcnt(0)\n"
            "  global_store_dword v29, v27, s[66:67]\n"
            "  s_waitcnt vmcnt(0)\n",
            SEM_SCALARS, SEM_SCALARS + 128);
}

/* LDS from the state in memory, and back. */
static void move_lds(FILE *f, const struct oracle_machine *m, bool in)
{
    fprintf(f, "  s_add_u32 s68, s%u, %#x\n  s_addc_u32 s69, s%u, 0\n", in ? 64 : 66, SEM_LDS_AT,
            in ? 65 : 67);
    for (unsigned at = 0; at < SEM_LDS; at += m->lanes * 4)
        if (in)
            fprintf(f,
                    "  global_load_dword v31, v24, s[68:69] offset:%u\n"
                    "  s_waitcnt vmcnt(0)\n"
                    "  ds_write_b32 v24, v31 offset:%u\n",
                    at, at);
        else
            fprintf(f,
                    "  ds_read_b32 v31, v24 offset:%u\n"
                    "  s_waitcnt lgkmcnt(0)\n"
                    "  global_store_dword v24, v31, s[68:69] offset:%u\n",
                    at, at);
}

static unsigned registers(const struct sem_case *c)
{
    return c->matrix ? 128 : 32;
}

static void descriptor(FILE *f, const struct oracle_machine *m, unsigned i,
                       const struct sem_case *c)
{
    fprintf(f,
            ".amdhsa_kernel k%u\n"
            " .amdhsa_group_segment_fixed_size %u\n"
            " .amdhsa_private_segment_fixed_size %u\n"
            " .amdhsa_kernarg_size 16\n"
            " .amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
            " .amdhsa_system_sgpr_workgroup_id_x 1\n"
            " .amdhsa_next_free_vgpr %u\n"
            " .amdhsa_next_free_sgpr 96\n",
            i, c->memory ? SEM_LDS : 0, c->memory ? 64 : 0, registers(c) * (m->gfx11 ? 1 : 2));
    if (!m->gfx11)
        fprintf(f, " .amdhsa_accum_offset %u\n", registers(c));
    else
        fprintf(f,
                " .amdhsa_wavefront_size32 %d\n"
                " .amdhsa_workgroup_processor_mode 0\n", /* lds_direct_load wants this */
                m->lanes == 32);
    if (c->memory)
        fputs(m->mask == G90A ? " .amdhsa_system_sgpr_private_segment_wavefront_offset 1\n"
                              : " .amdhsa_enable_private_segment 1\n",
              f);
    fputs(".end_amdhsa_kernel\n", f);
}

static void metadata(FILE *f, const struct oracle_machine *m, const struct sem_case *c,
                     size_t count)
{
    fprintf(f,
            ".amdgpu_metadata\namdhsa.version: [ 1, 2 ]\namdhsa.target: amdgcn-amd-amdhsa--%s\n"
            "amdhsa.kernels:\n",
            m->gpu);
    for (size_t i = 0; i < count; i++)
        fprintf(f,
                " - .name: k%zu\n   .symbol: k%zu.kd\n   .kernarg_segment_size: 16\n"
                "   .kernarg_segment_align: 8\n   .group_segment_fixed_size: %u\n"
                "   .private_segment_fixed_size: %u\n   .wavefront_size: %u\n   .sgpr_count: 96\n"
                "   .vgpr_count: %u\n   .max_flat_workgroup_size: 64\n"
                "   .args: [ { .offset: 0, .size: 8, .value_kind: global_buffer },"
                " { .offset: 8, .size: 8, .value_kind: global_buffer } ]\n",
                i, i, c[i].memory ? SEM_LDS : 0, c[i].memory && m->mask != G90A ? 64 : 0, m->lanes,
                registers(&c[i]) * (m->gfx11 ? 1 : 2));
    fputs(".end_amdgpu_metadata\n", f);
}

void sem_write_text(FILE *f, const struct oracle_machine *m, const struct sem_case *c, size_t count)
{
    fputs(".text\nprologue_memory:\n", f);
    find_state(f, m);
    move_lds(f, m, true);
    fputs("  s_branch rest\nprologue:\n", f);
    find_state(f, m);
    fputs("rest:\n", f);
    load_state(f, m);
    fputs("epilogue:\n", f);
    store_state(f, m);
    fputs("  s_endpgm\nepilogue_memory:\n", f);
    store_state(f, m);
    move_lds(f, m, false);
    fputs("  s_waitcnt vmcnt(0)\n  s_endpgm\n", f);
    for (size_t i = 0; i < count; i++)
        fprintf(f,
                ".globl k%zu\n.p2align 2\n.type k%zu,@function\nk%zu:\n"
                "  s_getpc_b64 s[80:81]\n  s_branch prologue%s\n"
                "  %s\n"
                "  s_waitcnt vmcnt(0) lgkmcnt(0)\n%s"
                "  s_nop 7\n  s_nop 7\n"
                "  s_branch epilogue%s\n.Lend%zu:\n.size k%zu, .Lend%zu-k%zu\n",
                i, i, i, c[i].memory ? "_memory" : "", c[i].long_text ? c[i].long_text : c[i].text,
                m->mask == G12 ? "  s_wait_storecnt 0x0\n  s_wait_alu 0x0\n"
                : m->gfx11     ? "  s_waitcnt_vscnt null, 0x0\n"
                               : "",
                c[i].memory ? "_memory" : "", i, i, i, i);
    fputs(".section .rodata\n.p2align 6\n", f);
    for (size_t i = 0; i < count; i++)
        descriptor(f, m, (unsigned)i, &c[i]);
    metadata(f, m, c, count);
}
