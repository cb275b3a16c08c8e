/*
 * gfx12: its counters of memory instructions, barriers in two steps, wait states, sparse products,
 * transposing loads, and instructions that the emulator knows but does not execute.
 */
#include "test_exec_asm.h"

#define STORE_V1 "global_store_b32 v5, v1, s[2:3]\n"
#define OPERANDS                                                                                   \
    "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v12, 0\nv_mov_b32 v13, 0\n"                     \
    "v_mov_b32 v14, 0\nv_mov_b32 v15, 0\nv_mov_b32 v16, 0\nv_mov_b32 v17, 0\n"
#define WMMA(d, a, b) "v_wmma_f16_16x16x16_f16 " d ", " a ", " b ", 0\n"
#define READ_S8 "s_mov_b32 s8, 1\nv_mov_b32 v1, s8\n"
#define READ_VCC "s_mov_b32 vcc_lo, 1\nv_cndmask_b32 v1, 0, v0, vcc_lo\n"
#define LOAD_TR "v_lshlrev_b32 v6, 4, v0\nglobal_load_tr_b128 v[8:11], v6, s[2:3]\n"
#define ZERO_D "v_mov_b32 v24, 0\nv_mov_b32 v25, 0\nv_mov_b32 v26, 0\nv_mov_b32 v27, 0\n"
#define SWMMAC(index, tail) ZERO_D SPARSE(index, tail)
#define SPARSE(index, tail)                                                                        \
    "v_swmmac_f16_16x16x32_f16 v[24:27], v[10:13], v[10:17], " index tail "\n"
#define LDS_LOAD "ds_store_b32 v5, v0\ns_wait_dscnt 0\nds_load_b32 v1, v5\n"

static const struct plant {
    const char *fault; /* what the report must say; NULL: runs */
    const char *body;
} plants[] = {
    /* every counter for its own */
    {"v1 is read while a load into it is under way: missing s_wait_loadcnt",
     "global_load_b32 v1, v5, s[2:3]\ns_wait_dscnt 0\ns_wait_kmcnt 0\n" STORE_V1},
    {NULL, "global_load_b32 v1, v5, s[2:3]\ns_wait_loadcnt 0\n" STORE_V1},
    {NULL, "global_load_b32 v1, v5, s[2:3]\nglobal_load_b32 v2, v5, s[2:3]\ns_wait_loadcnt 1\n"
           "v_mov_b32 v3, v1\ns_wait_loadcnt 0\n" STORE_V1},
    {"missing s_wait_loadcnt", "global_load_b32 v2, v5, s[2:3]\nglobal_load_b32 v1, v5, s[2:3]\n"
                               "s_wait_loadcnt 1\n" STORE_V1},
    {"missing s_wait_dscnt", LDS_LOAD "s_wait_loadcnt 0\ns_wait_kmcnt 0\n" STORE_V1},
    {NULL, LDS_LOAD "s_wait_dscnt 0\n" STORE_V1},
    {NULL, LDS_LOAD "s_wait_loadcnt_dscnt 0x3f00\n" STORE_V1},
    {"missing s_wait_dscnt", LDS_LOAD "s_wait_loadcnt_dscnt 0x1\n" STORE_V1},
    {"missing s_wait_kmcnt 0", "s_load_b32 s8, s[2:3], 0x0\ns_wait_dscnt 0\ns_wait_loadcnt 0\n"
                               "v_mov_b32 v1, s8\n" STORE_V1},
    {"missing s_wait_kmcnt 0", "s_load_b32 s8, s[2:3], 0x0\ns_load_b32 s9, s[2:3], 0x4\n"
                               "s_wait_kmcnt 1\nv_mov_b32 v1, s8\n" STORE_V1},
    {NULL, "s_load_b32 s8, s[2:3], 0x0\ns_wait_kmcnt 0\nv_mov_b32 v1, s8\n" STORE_V1},
    {NULL, "s_load_b32 s8, s[2:3], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, s8\n" STORE_V1},
    /* barriers */
    {NULL, "s_barrier_signal -1\nv_mov_b32 v1, v0\ns_barrier_wait -1\n" STORE_V1},
    {"s_barrier_wait without s_barrier_signal", "s_barrier_wait -1\n"},
    {"s_barrier_signal twice", "s_barrier_signal -1\ns_barrier_signal -1\ns_barrier_wait -1\n"},
    {"barrier 1: only that of the workgroup", "s_barrier_signal 1\n"},
    /* wait states */
    {"result of the WMMA before in v20 read as A or B: missing v_nop",
     OPERANDS WMMA("v[20:23]", "v[10:13]", "v[14:17]") WMMA("v[24:27]", "v[20:23]", "v[14:17]")},
    {"result of the WMMA before in v20 read as A or B: missing v_nop",
     OPERANDS WMMA("v[20:23]", "v[10:13]", "v[14:17]") WMMA("v[24:27]", "v[10:13]", "v[20:23]")},
    {NULL, OPERANDS WMMA("v[20:23]", "v[10:13]", "v[14:17]") "v_nop\n" WMMA("v[24:27]", "v[20:23]",
                                                                            "v[14:17]")},
    {"EXEC written by v_cmpx before v_permlane",
     "v_mov_b32 v1, v0\nv_cmpx_le_u32 0, v0\nv_permlane16_b32 v1, v0, 0, 0\n"},
    {NULL, "v_mov_b32 v1, v0\nv_cmpx_le_u32 0, v0\nv_mov_b32 v2, v0\n"
           "v_permlane16_b32 v1, v0, 0, 0\n" STORE_V1},
    /* scalar registers of a pair that VALU has read */
    {"s8, written by SALU, is read: missing s_wait_alu sa_sdst(0)",
     READ_S8 "s_mov_b32 s8, 2\nv_mov_b32 v1, s8\n" STORE_V1},
    {"s8, written by SALU, is read", READ_S8 "s_mov_b32 s8, 2\ns_mov_b32 s10, s8\n"},
    {"s9, written by SALU, is read", READ_S8 "s_mov_b32 s9, 2\nv_mov_b32 v1, s9\n"},
    {NULL, READ_S8 "s_mov_b32 s8, 2\ns_wait_alu 0xfffe\nv_mov_b32 v1, s8\n" STORE_V1},
    {NULL, READ_S8 "s_mov_b32 s10, 2\nv_mov_b32 v1, s10\n" STORE_V1},
    {NULL, READ_S8 "s_mov_b32 s8, 2\ns_load_b32 s12, s[2:3], 0x0\nv_mov_b32 v1, s8\n"
                   "s_wait_kmcnt 0\n" STORE_V1},
    {"s8, written by VALU, is read: missing s_wait_alu va_sdst(0)",
     READ_S8 "v_readfirstlane_b32 s8, v0\nv_mov_b32 v1, s8\n" STORE_V1},
    {"s8, written by VALU, is read",
     READ_S8 "v_readfirstlane_b32 s8, v0\ns_wait_alu 0xfffe\nv_mov_b32 v1, s8\n"},
    {NULL, READ_S8 "v_readfirstlane_b32 s8, v0\ns_wait_alu 0xf1ff\nv_mov_b32 v1, s8\n" STORE_V1},
    {NULL, READ_S8 "v_readfirstlane_b32 s8, v0\ns_mov_b32 s10, s8\nv_mov_b32 v1, s8\n" STORE_V1},
    {NULL, READ_S8 "v_readfirstlane_b32 s8, v0\ns_mov_b32 s10, s2\nv_mov_b32 v1, s8\n" STORE_V1},
    {"vcc, written by VALU, is read: missing s_wait_alu va_vcc(0)",
     READ_VCC "v_cmp_lt_u32 vcc_lo, 4, v0\nv_cndmask_b32 v1, 0, v0, vcc_lo\n" STORE_V1},
    {NULL, READ_VCC "v_cmp_lt_u32 vcc_lo, 4, v0\ns_wait_alu 0xfffd\n"
                    "v_cndmask_b32 v1, 0, v0, vcc_lo\n" STORE_V1},
    {"vcc, written by SALU, is read: missing s_wait_alu sa_sdst(0)",
     READ_VCC "s_mov_b32 vcc_lo, 3\nv_cndmask_b32 v1, 0, v0, vcc_lo\n" STORE_V1},
    {"matrix instruction with inactive lanes",
     OPERANDS "s_mov_b32 exec_lo, 0xffff\n" WMMA("v[20:23]", "v[10:13]", "v[14:17]")},
    /* of a pair whose upper half nothing computed, the lower half's bits are known */
    {NULL, "s_mov_b32 s8, 7\ns_bfe_u64 s[10:11], s[8:9], 0x200000\nv_mov_b32 v1, s10\n" STORE_V1},
    {"never",
     "s_mov_b32 s8, 7\ns_bfe_u64 s[10:11], s[8:9], 0x200001\nv_mov_b32 v1, s10\n" STORE_V1},
    /* transposing loads */
    {"v8 is read while a load into it is under way: missing s_wait_loadcnt",
     LOAD_TR "v_mov_b32 v1, v8\n" STORE_V1},
    {NULL, LOAD_TR "s_wait_loadcnt 0\nv_mov_b32 v1, v11\n" STORE_V1},
    {"transposing load with inactive lanes", "s_mov_b32 exec_lo, 0xffff\n" LOAD_TR},
    {NULL, "s_mov_b32 exec_lo, 0\n" LOAD_TR},
    /* sparse products */
    {"result of the WMMA before in v22 read as index: missing v_nop",
     ZERO_D OPERANDS WMMA("v[20:23]", "v[10:13]", "v[14:17]") SPARSE("v22", "")},
    {NULL, ZERO_D OPERANDS WMMA("v[20:23]", "v[10:13]", "v[14:17]") "v_nop\n" SPARSE("v22", "")},
    {"the index of a sparse product was never computed", OPERANDS SWMMAC("v50", "")},
    {"the index of a sparse product was never computed", OPERANDS
     "global_load_d16_b16 v50, v5, s[2:3]\ns_wait_loadcnt 0\n" SWMMAC("v50", " index_key:1")},
    {NULL, OPERANDS "global_load_d16_b16 v50, v5, s[2:3]\ns_wait_loadcnt 0\n" SWMMAC("v50", "")},
    {"never computed (v1)", OPERANDS
     "v_mov_b32 v0, 0\n" SWMMAC("v0",
                                "") "v_swmmac_f16_16x16x32_f16 v[24:27], v[40:43], v[10:17], v0\n"
                                    "v_mov_b32 v1, v24\n" STORE_V1},
    /* lanes chosen by lanes */
    {"EXEC written by v_cmpx before v_permlane",
     "v_mov_b32 v1, v0\nv_cmpx_le_u32 0, v0\nv_permlane16_var_b32 v1, v0, v0\n"},
    {"never computed (v1)", "v_permlane16_var_b32 v1, v0, v50\n" STORE_V1},
    {"never computed (v1)", "v_permlanex16_var_b32 v1, v50, v0\n" STORE_V1},
    {NULL, "v_permlane16_var_b32 v1, v0, v0\n" STORE_V1},
    /* SCC of a barrier comes late */
    {"SCC is read while s_barrier_signal_isfirst will still write it",
     "s_barrier_signal_isfirst -1\ns_cselect_b32 s4, 1, 0\n"},
    {NULL, "s_barrier_signal_isfirst -1\ns_wait_kmcnt 0\ns_cselect_b32 s4, 1, 0\n"
           "s_barrier_wait -1\n"},
    {NULL, "s_barrier_signal_isfirst -1\ns_barrier_wait -1\ns_cselect_b32 s4, 1, 0\n"},
    {NULL, "s_barrier_signal 0\ns_barrier_wait 0\n"},
    {"s4 is read while a scalar load into it is under way: missing s_wait_kmcnt 0",
     "s_get_barrier_state s4, -1\nv_mov_b32 v1, s4\n" STORE_V1},
    {NULL, "s_get_barrier_state s4, -1\ns_wait_kmcnt 0\nv_mov_b32 v1, s4\n" STORE_V1},
    /* a block of registers in one load, and its mask */
    {"v11 is read while a load into it is under way: missing s_wait_loadcnt",
     "s_mov_b32 m0, 0xff\nglobal_load_block v[8:39], v5, s[2:3]\nv_mov_b32 v1, v11\n" STORE_V1},
    {NULL, "s_mov_b32 m0, 0xff\nglobal_load_block v[8:39], v5, s[2:3]\ns_wait_loadcnt 0\n"
           "v_mov_b32 v1, v11\n" STORE_V1},
    {"never computed (v1)",
     "s_mov_b32 m0, 0xf7\nglobal_load_block v[8:39], v5, s[2:3]\ns_wait_loadcnt 0\n"
     "v_mov_b32 v1, v11\n" STORE_V1},
    /* refused by name: RDNA 4's manual has no named barriers, and registers come at the start */
    {"s_barrier_init", "s_barrier_init m0\n"},
    {"s_alloc_vgpr", ".long 0xbe805304\n" /* s4; unknown to llvm-mc 19 */},
    {"barrier 1: only that of the workgroup", "s_barrier_signal_isfirst 1\n"},
};

static void run(const struct plant *p)
{
    struct asm_result r;

    if (!asm_run("gfx1201", p->body, 32, &r)) {
        ok(0, "cannot build\n# %s", p->body);
        return;
    }
    if (!(p->fault ? ok(!r.ran && strstr(r.fault, p->fault), "%s", p->fault) : ok(r.ran, "runs")))
        tap_diag("%s\n# report: %s", p->body, r.fault);
}

/* Of two waves one is the first at each barrier, whoever it is; the state tells how many came. */
static void run_first(void)
{
    static const char body[] =
        "v_mov_b32 v2, 0\ns_mov_b32 s6, 3\n.Lagain:\ns_barrier_signal_isfirst -1\n"
        "s_wait_kmcnt 0\ns_cselect_b32 s4, 1, 0\ns_get_barrier_state s5, -1\n"
        "s_barrier_wait -1\ns_wait_kmcnt 0\ns_wait_alu 0xfffe\nv_add_nc_u32 v2, v2, s4\n"
        "s_sub_co_i32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 .Lagain\n"
        "s_lshl_b32 s4, s4, 16\ns_wait_alu 0xfffe\nv_lshl_or_b32 v1, s5, 8, v2\n" STORE_V1;
    struct asm_result r;

    if (!asm_run("gfx1201", body, 64, &r) || !ok(r.ran, "two waves at three barriers")) {
        tap_diag("%s", r.fault);
        return;
    }
    is_int((r.out[0] & 255) + (r.out[32] & 255), 3, "each time one wave is the first");
    /* the last state: who was first at the last barrier saw one signal, the other a complete one */
    is_int((r.out[0] >> 24) + (r.out[32] >> 24), 1, "signals count until all are there");
    is_int(r.out[0] >> 8 & 0xffff, 2 << 4 | 1, "of two members");
}

int main(void)
{
    asm_need_tools();
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    setenv("AOTHIP_EMU_GPU", "gfx1201", 1);
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++)
        run(&plants[i]);
    run_first();
    return tap_done();
}
