/*
 * Strict mode: every planted fault is reported with its cause, and the right version beside it
 * runs.
 */
#include "test_exec_asm.h"

struct plant {
    const char *gpu;
    unsigned items;
    const char *fault; /* what the report must say; NULL: runs */
    const char *body;
};

#define STORE_V1 "global_store_dword v5, v1, s[2:3]\n"
/* v6: the dword of the lane, the waves' dwords in turn */
#define ALTERNATE                                                                                  \
    "v_and_b32 v6, 63, v0\nv_lshlrev_b32 v6, 3, v6\nv_lshrrev_b32 v7, 6, v0\n"                     \
    "v_lshlrev_b32 v7, 2, v7\nv_add_u32 v6, v6, v7\n"
#define OVERLAPPING(word)                                                                          \
    "v_lshlrev_b32 v6, 1, v0\nv_mov_b32 v1, " word "\nglobal_store_b32 v6, v1, s[2:3]\n"
/* Wave 0 stores the upper half of a word, wave 1 all of it. */
#define HALF_AND_WHOLE(word, store, base)                                                          \
    "v_mov_b32 v6, 0\nv_mov_b32 v1, " word "\nv_mov_b32 v2, 7\nv_cmp_gt_u32 vcc_lo, 32, v0\n"      \
    "s_and_saveexec_b32 s10, vcc_lo\n" store "_b16 v6, v2" base " offset:2\n"                      \
    "s_mov_b32 exec_lo, s10\nv_cmp_lt_u32 vcc_lo, 31, v0\ns_and_saveexec_b32 s10, vcc_lo\n" store  \
    "_b32 v6, v1" base "\n"
/* Also the data's end is awaited, or the flag left out, as `then` says. */
#define HAND_OVER(then, scope)                                                                     \
    "v_mov_b32 v6, 0\nv_mov_b32 v1, 1\nv_readfirstlane_b32 s10, v0\ns_cmp_lg_u32 s10, 0\n"         \
    "s_cbranch_scc1 .Lother\nglobal_store_dword v5, v1, s[2:3]\n" then                             \
    "global_store_dword v6, v1, s[2:3] offset:2048\ns_branch .Ldone\n.Lother:\n"                   \
    "global_load_dword v1, v6, s[2:3] offset:2048 " scope "\ns_waitcnt vmcnt(0)\n"                 \
    "v_xor_b32 v7, 0x100, v5\nglobal_load_dword v1, v7, s[2:3]\n.Ldone:\n"
/* Registers with something in them; the 64-bit values are tiny. */
#define FOUR "v_mov_b32 v8, 0\nv_mov_b32 v9, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\n"
/* v6: the 16 bytes of the lane, v7: those of the other wave's; v[8:11]: something */
#define LINES FOUR "v_lshlrev_b32 v6, 4, v0\nv_xor_b32 v7, 0x400, v6\n"
#define STORE_LINES "global_store_dwordx4 v6, v[8:11], s[2:3]\n"
#define WAVE_1 "v_cmp_lt_u32 vcc, 63, v0\ns_and_saveexec_b64 s[10:11], vcc\n"
/* the same, the waves' 16 bytes in turn */
#define ALTERNATE_16                                                                               \
    FOUR "v_and_b32 v6, 63, v0\nv_lshlrev_b32 v6, 5, v6\nv_lshrrev_b32 v7, 6, v0\n"                \
         "v_lshlrev_b32 v7, 4, v7\nv_add_u32 v6, v6, v7\n"
/* 8 bytes of LDS a lane; both waves write theirs and read the other's, with all barriers */
#define PAIRS FOUR "v_lshlrev_b32 v6, 3, v0\nv_xor_b32 v7, 0x200, v6\n"
#define EXCHANGE                                                                                   \
    "ds_write_b64 v6, v[8:9]\ns_waitcnt lgkmcnt(0)\ns_barrier\n"                                   \
    "ds_read_b64 v[12:13], v7\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
#define WAVE64 "gfx1100 -mattr=+wavefrontsize64"
#define ZEROS_8 FOUR "v_mov_b32 v12, 0\nv_mov_b32 v13, 0\nv_mov_b32 v14, 0\nv_mov_b32 v15, 0\n"
#define MOVES_5 FOUR "v_mov_b32 v12, 0\n"
#define CU "gfx1100 -mattr=+cumode"
/* M0 as it says; v1 for everyone is then the second lane's, if `write` stores them */
#define DIRECT(m0, write, wait)                                                                    \
    "v_mov_b32 v1, v0\n" write "s_mov_b32 m0, " m0 "\nlds_direct_load v1 wait_vdst:0\n" wait       \
    "\n" STORE_V1
#define WRITE_V1 "ds_store_b32 v5, v1\ns_waitcnt lgkmcnt(0)\n"
#define CLOCK "s_sendmsg_rtn_b64 s[10:11], sendmsg(MSG_RTN_GET_REALTIME)\n"
#define WAIT_ALL "s_waitcnt vmcnt(0) lgkmcnt(0)\n"

static const struct plant plants[] = {
    /* lds_direct_load counts by itself, and takes poison along */
    {CU, 32, NULL, DIRECT("0x20004", WRITE_V1, "s_waitcnt expcnt(0)")},
    {CU, 32, NULL, DIRECT("0x20004", WRITE_V1, "s_waitcnt_expcnt null, 0")},
    {CU, 32, NULL, DIRECT("0x20004", WRITE_V1, "lds_direct_load v6\ns_waitcnt expcnt(1)")},
    {CU, 32, "v1 is read while a load into it is under way: missing s_waitcnt expcnt",
     DIRECT("0x20004", WRITE_V1, "s_waitcnt vmcnt(0) lgkmcnt(0)")},
    {CU, 32, "v1 is read while a load into it is under way: missing s_waitcnt expcnt",
     DIRECT("0x20004", WRITE_V1, "s_waitcnt expcnt(1)")},
    {CU, 32, "v1 is written while a load into it is under way: missing s_waitcnt expcnt",
     DIRECT("0x20004", WRITE_V1, "v_mov_b32 v1, 0")},
    {CU, 32, "stores a value that was never computed",
     DIRECT("0x20004", "", "s_waitcnt expcnt(0)")},
    {CU, 32, "0x6 in LDS: it is no multiple of 4", DIRECT("0x20006", WRITE_V1, "")},
    {CU, 32, "lds_direct_load of type 3", DIRECT("0x30004", WRITE_V1, "")},
    {CU, 32, "LDS read of 4 bytes at offset 1024", DIRECT("0x20400", WRITE_V1, "")},
    /* messages that answer */
    {"gfx1100", 32, NULL, CLOCK "s_waitcnt lgkmcnt(0)\nv_mov_b32 v1, s10\n" STORE_V1},
    {"gfx1100", 32,
     "s10 is read while a scalar load into it is under way: missing s_waitcnt lgkmcnt(0)",
     CLOCK "v_mov_b32 v1, s10\n" STORE_V1},
    {"gfx1100", 32,
     "s11 is read while a scalar load into it is under way: missing s_waitcnt lgkmcnt(0)",
     CLOCK "s_waitcnt vmcnt(0)\ns_mov_b32 s12, s11\n"},
    /* poison: registers */
    {"gfx942", 64, "stores a value that was never computed", STORE_V1},
    {"gfx1100", 32, "stores a value that was never computed", STORE_V1},
    {"gfx90a", 64, NULL, "v_mov_b32 v1, 7\n" STORE_V1},
    {"gfx942", 64, "stores a value", "v_add_u32 v1, v2, v0\n" STORE_V1},
    {"gfx942", 64, "stores a value", "v_mov_b32 v1, s40\n" STORE_V1},
    {"gfx942", 64, "address in v6", "v_mov_b32 v1, 0\nglobal_store_dword v6, v1, s[2:3]\n"},
    {"gfx942", 64, "address depends on s40",
     "v_mov_b32 v1, 0\nglobal_store_dword v5, v1, s[40:41]\n"},
    {"gfx942", 64, "branch on SCC", "s_cbranch_scc0 .Lx\n.Lx:\n"},
    {"gfx942", 64, "branch on SCC", "s_cmp_eq_u32 s40, 0\ns_cbranch_scc0 .Lx\n.Lx:\n"},
    {"gfx1100", 32, "branch depends on vcc", "s_cbranch_vccz .Lx\n.Lx:\n"},
    {"gfx942", 64, "branch depends on vcc",
     "v_cmp_eq_u32 vcc, v0, v7\ns_nop 4\ns_cbranch_vccz .Lx\n.Lx:\n"},
    {"gfx942", 64, NULL, "v_cmp_eq_u32 vcc, v0, v5\ns_nop 4\ns_cbranch_vccz .Lx\n.Lx:\n"},
    {"gfx942", 64, "EXEC depends", "v_cmp_eq_u32 vcc, v0, v7\ns_and_saveexec_b64 s[10:11], vcc\n"},
    {"gfx1100", 32, "EXEC depends", "v_cmpx_eq_u32 v0, v7\n"},
    /* ... in the lanes whose bits are unknown */
    {"gfx1100", 32, "wave 0, lanes 4-31",
     "v_mov_b32 v1, 0\nv_cmp_eq_u32 s10, v0, v7\ns_and_b32 exec_lo, s10, 0xfffffff0\n"},
    {"gfx942", 64, "wave 0, lanes 0-3, 8-63",
     "v_cmp_eq_u32 vcc, v0, v7\ns_mov_b64 s[10:11], 0xf0\ns_nop 1\n"
     "s_andn2_b64 vcc, vcc, s[10:11]\ns_cbranch_vccz .Lx\n.Lx:\n"},
    {"gfx942", 64, "wave 0, lanes 8-15",
     "v_cmp_eq_u32 vcc, v0, v7\ns_mov_b64 exec, 0xff00\ns_and_saveexec_b64 s[10:11], vcc\n"},
    {"gfx942", 64, "EXEC depends", "s_mov_b64 exec, s[40:41]\n"},
    /* ... masks of loops: compilers leave the bits of other lanes unknown, and set or clear their
     * own */
    {"gfx942", 64, NULL, "s_or_b64 s[10:11], s[40:41], exec\ns_andn2_b64 exec, exec, s[10:11]\n"},
    {"gfx1100", 32, NULL, "s_or_b32 s10, exec_lo, s40\ns_and_not1_b32 exec_lo, exec_lo, s10\n"},
    {"gfx942", 64, "wave 0, lanes 4-63",
     "s_or_b64 s[10:11], s[40:41], 15\ns_andn2_b64 exec, exec, s[10:11]\n"},
    {"gfx942", 64, "wave 0, lanes 0-3\n",
     "s_orn2_b64 s[10:11], s[40:41], 15\ns_and_b64 exec, exec, s[10:11]\n"},
    {"gfx1100", 32, "wave 0, lanes 0-3\n",
     "s_nor_b32 s10, 0xfffffff0, s40\ns_and_b32 exec_lo, exec_lo, s10\n"},
    {"gfx1100", 32, "wave 0, lanes 0-3\n",
     "s_nand_b32 s10, s40, 15\ns_and_b32 exec_lo, exec_lo, s10\n"},
    {"gfx942", 64, "EXEC depends",
     "s_xor_b64 s[10:11], exec, s[40:41]\ns_mov_b64 exec, s[10:11]\n"},
    {"gfx942", 64, NULL, "s_or_saveexec_b64 s[10:11], s[40:41]\n"},
    {"gfx942", 64, "wave 0, lanes 16-63",
     "s_mov_b64 exec, 0xffff\ns_or_saveexec_b64 s[10:11], s[40:41]\n"},
    {"gfx942", 64, NULL, "s_andn2_saveexec_b64 s[10:11], s[40:41]\n"},
    {"gfx942", 64, "wave 0, lanes 16-63",
     "s_mov_b64 exec, 0xffff\ns_andn2_saveexec_b64 s[10:11], s[40:41]\n"},
    {"gfx942", 64, NULL,
     "s_mov_b64 s[10:11], s[40:41]\ns_andn2_b64 s[10:11], s[10:11], 15\n"
     "s_mov_b64 exec, 15\ns_andn1_saveexec_b64 s[12:13], s[10:11]\n"},
    {"gfx1100", 32, "wave 0, lanes 4-31",
     "s_mov_b32 exec_lo, 15\ns_or_not0_saveexec_b32 s10, s40\n"},
    {"gfx1100", 32, "wave 0, lanes 0-3\n",
     "s_mov_b32 exec_lo, 15\ns_and_not0_wrexec_b32 s10, s40\n"},
    {"gfx942", 64, "lane number in s40", "s_nop 4\nv_readlane_b32 s10, v0, s40\n"},
    /* ... known bits are known */
    {"gfx942", 64, NULL, "v_and_b32 v1, 0, v2\n" STORE_V1},
    {"gfx942", 64, "stores a value", "v_and_b32 v1, 1, v2\n" STORE_V1},
    {"gfx942", 64, NULL,
     "v_mov_b32 v2, 1\nv_lshlrev_b32 v1, 31, v2\nv_lshrrev_b32 v1, 16, v1\n" STORE_V1},
    {"gfx942", 64, NULL, "v_lshlrev_b32 v1, 16, v2\nglobal_store_short v5, v1, s[2:3]\n"},
    {"gfx942", 64, "stores a value",
     "v_lshlrev_b32 v1, 15, v2\nglobal_store_short v5, v1, s[2:3]\n"},
    {"gfx942", 64, NULL,
     "v_cmp_ge_u32 vcc, v0, 0\ns_nop 1\nv_cndmask_b32 v1, v2, v0, vcc\n" STORE_V1},
    {"gfx942", 64, "lanes 0",
     "v_cmp_lt_u32 vcc, 0, v0\ns_nop 1\nv_cndmask_b32 v1, v2, v0, vcc\n" STORE_V1},
    {"gfx1100", 32, "stores a value", "v_cvt_f16_f32 v1, v0\n" STORE_V1},
    {"gfx1100", 32, NULL, "v_cvt_f16_f32 v1, v0\nglobal_store_short v5, v1, s[2:3]\n"},
    {"gfx942", 64, NULL, "v_cvt_f16_f32 v1, v0\n" STORE_V1},
    {"gfx942", 64, NULL,
     "v_mov_b32 v2, v0\ns_nop 1\nv_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf "
     "bound_ctrl:0\n" STORE_V1},
    {"gfx942", 64, "lanes 0\n",
     "v_mov_b32 v2, v0\ns_nop 1\nv_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf "
     "bank_mask:0xf\n" STORE_V1},
    {"gfx1100", 32, "stores a value", "v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v4, v0\n" STORE_V1},
    {"gfx1100", 32, NULL, "v_dual_mov_b32 v2, v1 :: v_dual_mov_b32 v1, v0\n" STORE_V1},
    /* ... registers whose numbers come from M0 */
    {"gfx1100", 32, NULL, "v_mov_b32 v9, 0\ns_mov_b32 m0, 1\nv_movrels_b32 v1, v8\n" STORE_V1},
    {"gfx1100", 32, "stores a value",
     "v_mov_b32 v8, 0\ns_mov_b32 m0, 1\nv_movrels_b32 v1, v8\n" STORE_V1},
    {"gfx1100", 32, NULL, "s_mov_b32 s10, 7\ns_mov_b32 m0, 1\nv_movreld_b32 v0, s10\n" STORE_V1},
    {"gfx1100", 32, "stores a value",
     "v_mov_b32 v1, 0\ns_mov_b32 m0, 1\nv_movreld_b32 v0, s40\n" STORE_V1},
    {"gfx1151", 32, "stores a value",
     "v_mov_b32 v1, 0\ns_mov_b32 m0, 0x10002\nv_swaprel_b32 v0, v6\n" STORE_V1},
    {"gfx1151", 32, "v9 is written while a load",
     "global_load_b32 v9, v5, s[2:3]\ns_mov_b32 m0, 1\nv_movreld_b32 v8, v0\n"},
    {"gfx1151", 32, NULL,
     "v_mov_b32 v1, 0\nglobal_load_b32 v8, v5, s[2:3]\ns_mov_b32 m0, 1\n"
     "v_movreld_b32 v8, v0\n" STORE_V1},
    {"gfx1100", 32, "the register index in m0", "v_movreld_b32 v8, v0\n"},
    {"gfx1100", 32, "v[0 + 64] is beyond the 64 registers",
     "v_mov_b32 v1, 0\ns_movk_i32 m0, 64\nv_movrels_b32 v1, v0\n"},
    {"gfx942", 64, NULL, "v_readfirstlane_b32 s10, v0\ns_nop 1\nv_mov_b32 v1, s10\n" STORE_V1},
    {"gfx942", 64, "stores a value",
     "v_readfirstlane_b32 s10, v2\ns_nop 1\nv_mov_b32 v1, s10\n" STORE_V1},
    /* poison: memory */
    {"gfx942", 64, "stores a value", "ds_read_b32 v1, v5\n" WAIT_ALL STORE_V1},
    {"gfx942", 64, NULL, "ds_write_b32 v5, v0\nds_read_b32 v1, v5\n" WAIT_ALL STORE_V1},
    {"gfx942", 64, "stores a value", "ds_write_b32 v5, v2\nds_read_b32 v1, v5\n" WAIT_ALL STORE_V1},
    {"gfx942", 64, NULL, "global_load_dword v1, v5, s[2:3]\n" WAIT_ALL STORE_V1},
    {"gfx942", 64, "",
     "global_load_dword v1, v5, s[2:3] offset:4095\n" WAIT_ALL
     "v_mov_b32 v6, 0x1000000\nglobal_load_dword v1, v6, s[2:3]\n"},
    /* waits */
    {"gfx942", 64, "missing s_waitcnt vmcnt", "global_load_dword v1, v5, s[2:3]\n" STORE_V1},
    {"gfx942", 64, "wave 0, lanes 0-63\n", "global_load_dword v1, v5, s[2:3]\nv_mov_b32 v1, 0\n"},
    {"gfx942", 64, "wave 0, lanes 2\n",
     "global_load_dword v1, v5, s[2:3]\ns_mov_b64 exec, 4\nv_mov_b32 v1, 0\n"},
    {"gfx942", 64, "v1 is written while a load",
     "global_load_dword v1, v5, s[2:3]\nv_mov_b32 v1, 0\n"},
    {"gfx942", 64, "missing s_waitcnt vmcnt",
     "global_load_dword v1, v5, s[2:3]\nglobal_load_dword v2, v5, s[2:3]\ns_waitcnt "
     "vmcnt(1)\nv_add_u32 v1, v1, v2\n"},
    {"gfx942", 64, NULL,
     "global_load_dword v1, v5, s[2:3]\nglobal_load_dword v2, v5, s[2:3]\ns_waitcnt "
     "vmcnt(1)\n" STORE_V1},
    {"gfx1100", 32, "missing s_waitcnt lgkmcnt",
     "ds_store_b32 v5, v0\nds_load_b32 v1, v5\ns_waitcnt lgkmcnt(1)\n" STORE_V1},
    {"gfx1100", 32, NULL,
     "ds_store_b32 v5, v0\nds_load_b32 v1, v5\nds_load_b32 v2, v5\ns_waitcnt "
     "lgkmcnt(1)\n" STORE_V1},
    {"gfx942", 64, "missing s_waitcnt lgkmcnt(0)",
     "s_load_dword s10, s[2:3], 0x0\nv_mov_b32 v1, s10\n"},
    {"gfx942", 64, "missing s_waitcnt lgkmcnt(0)",
     "s_load_dword s10, s[2:3], 0x0\ns_load_dword s11, s[2:3], 0x4\ns_waitcnt "
     "lgkmcnt(1)\ns_add_u32 s10, s10, 1\n"},
    {"gfx1100", 32, NULL,
     "s_load_b32 s10, s[2:3], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, s10\n" STORE_V1},
    {"gfx1100", 32, "missing s_waitcnt vmcnt",
     "global_load_b32 v1, v5, s[2:3]\ns_waitcnt_vscnt null, 0x0\n" STORE_V1},
    /* loads that write LDS are counted by vmcnt */
    {"gfx942", 64, "LDS at 0x0 is used while a load into it is under way: missing s_waitcnt vmcnt",
     "s_mov_b32 m0, 0\ns_nop 0\nglobal_load_lds_dword v5, s[2:3]\ns_waitcnt lgkmcnt(0)\n"
     "ds_read_b32 v1, v5\ns_waitcnt lgkmcnt(0)\n" STORE_V1},
    {"gfx942", 64, NULL,
     "s_mov_b32 m0, 0\ns_nop 0\nglobal_load_lds_dword v5, s[2:3]\ns_waitcnt vmcnt(0)\n"
     "ds_read_b32 v1, v5\ns_waitcnt lgkmcnt(0)\n" STORE_V1},
    {"gfx942", 128, "went to the barrier without waiting (vmcnt)",
     "v_readfirstlane_b32 s10, v5\ns_nop 0\ns_mov_b32 m0, s10\ns_nop 0\n"
     "global_load_lds_dword v5, s[2:3]\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
     "v_xor_b32 v6, 0x100, v5\nds_read_b32 v1, v6\ns_waitcnt vmcnt(0) lgkmcnt(0)\n" STORE_V1},
    {"gfx942", 128, NULL,
     "v_readfirstlane_b32 s10, v5\ns_nop 0\ns_mov_b32 m0, s10\ns_nop 0\n"
     "global_load_lds_dword v5, s[2:3]\ns_waitcnt vmcnt(0)\ns_barrier\n"
     "v_xor_b32 v6, 0x100, v5\nds_read_b32 v1, v6\ns_waitcnt lgkmcnt(0)\n"
     "v_mov_b32 v2, v1\nv_mov_b32 v6, 0\n"},
    /* wait states */
    {"gfx942", 64, "matrix result read",
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 3\nv_mfma_f32_16x16x16_f16 v[16:19], v[10:11], "
     "v[10:11], 0\nv_mov_b32 v1, v16\n"},
    {"gfx942", 64, "6 wait states where 7 are needed",
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 3\nv_mfma_f32_16x16x16_f16 v[16:19], v[10:11], "
     "v[10:11], 0\ns_nop 5\nv_mov_b32 v1, v16\n"},
    {"gfx942", 64, NULL,
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 3\nv_mfma_f32_16x16x16_f16 v[16:19], v[10:11], "
     "v[10:11], 0\ns_nop 6\nv_mov_b32 v1, v16\n" STORE_V1},
    {"gfx90a", 64, "10 wait states where 11 are needed",
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 3\nv_mfma_f32_16x16x16f16 v[16:19], v[10:11], "
     "v[10:11], 0\ns_nop 9\nv_mov_b32 v1, v16\n"},
    {"gfx90a", 64, NULL,
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 3\nv_mfma_f32_16x16x16f16 v[16:19], v[10:11], "
     "v[10:11], 0\nv_mfma_f32_16x16x16f16 v[16:19], v[10:11], v[10:11], v[16:19]\ns_nop "
     "10\nv_mov_b32 v1, v16\n" STORE_V1},
    {"gfx90a", 64, "VALU result read by a matrix instruction",
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mfma_f32_16x16x16f16 v[16:19], v[10:11], v[10:11], "
     "0\n"},
    {"gfx90a", 64, "VALU result read through DPP",
     "v_mov_b32 v2, v0\nv_mov_b32_dpp v1, v2 row_ror:1 row_mask:0xf bank_mask:0xf\n"},
    /* ... over a branch, and back to the head of a loop; a way that is not taken is no fault */
    {"gfx90a", 64, "row 2: 1 wait states where 2 are needed",
     "v_mov_b32 v2, v0\ns_branch .Lx\ns_nop 1\n.Lx:\n"
     "v_mov_b32_dpp v1, v2 row_ror:1 row_mask:0xf bank_mask:0xf\n"},
    {"gfx942", 64, "row 2: 1 wait states where 2 are needed",
     "v_mov_b32 v2, v0\ns_nop 1\ns_mov_b32 s10, 0\n.Lx:\n"
     "v_mov_b32_dpp v1, v2 row_ror:1 row_mask:0xf bank_mask:0xf\ns_add_u32 s10, s10, 1\n"
     "s_cmp_lt_u32 s10, 2\nv_mov_b32 v2, v1\ns_cbranch_scc1 .Lx\n"},
    {"gfx942", 64, NULL,
     "v_mov_b32 v2, v0\ns_nop 1\ns_mov_b32 s10, 0\n.Lx:\n"
     "v_mov_b32_dpp v1, v2 row_ror:1 row_mask:0xf bank_mask:0xf\ns_add_u32 s10, s10, 1\n"
     "s_cmp_lt_u32 s10, 1\nv_mov_b32 v2, v1\ns_cbranch_scc1 .Lx\n" STORE_V1},
    {"gfx90a", 64, "18 wait states where 19 are needed",
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_getpc_b64 s[10:11]\ns_add_u32 s10, s10, 20\n"
     "s_addc_u32 s11, s11, 0\nv_mfma_f32_32x32x8f16 v[16:31], v[10:11], v[10:11], 0\n"
     "s_setpc_b64 s[10:11]\ns_nop 15\ns_nop 0\nv_mov_b32 v1, v16\n"},
    {"gfx942", 64, "SGPR written by VALU and read by VALU",
     "v_cmp_eq_u32 vcc, v0, v5\nv_cndmask_b32 v1, 0, 1, vcc\n"},
    {"gfx90a", 64, NULL, "v_cmp_eq_u32 vcc, v0, v5\nv_cndmask_b32 v1, 0, 1, vcc\n" STORE_V1},
    {"gfx90a", 64, "read by a memory instruction",
     "v_readfirstlane_b32 s2, v0\nv_mov_b32 v1, 0\n" STORE_V1},
    {"gfx942", 64, "transcendental result used",
     "v_cvt_f32_u32 v2, v0\nv_exp_f32 v1, v2\nv_add_f32 v1, v1, v1\n"},
    /* ... of stores, MODE, M0 and matrices of f64 */
    {"gfx90a", 64, "data of a store overwritten, row 9: 0 wait states where 1 are needed",
     FOUR "v_lshlrev_b32 v6, 4, v0\nglobal_store_dwordx4 v6, v[8:11], s[2:3]\nv_mov_b32 v9, 1\n"},
    {"gfx942", 64, "data of a store overwritten, row 11: 1 wait states where 2 are needed",
     FOUR "v_lshlrev_b32 v6, 4, v0\nglobal_store_dwordx4 v6, v[8:11], s[2:3]\ns_nop 0\n"
          "v_mov_b32 v11, 1\n"},
    {"gfx942", 64, NULL,
     FOUR "v_lshlrev_b32 v6, 4, v0\nglobal_store_dwordx4 v6, v[8:11], s[2:3]\ns_nop 1\n"
          "v_mov_b32 v11, 1\n"},
    {"gfx942", 64, NULL,
     FOUR "v_lshlrev_b32 v6, 3, v0\nglobal_store_dwordx2 v6, v[8:9], s[2:3]\nv_mov_b32 v9, 1\n"},
    {"gfx942", 64, "s_setreg of the same hardware register 1: 1 wait states where 2 are needed",
     "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 1\ns_nop 0\n"
     "s_getreg_b32 s10, hwreg(HW_REG_MODE)\n"},
    {"gfx90a", 64, NULL,
     "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 1\ns_nop 1\n"
     "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0\n"},
    {"gfx942", 64, "m0 written by SALU before it is used",
     "s_mov_b32 m0, 0\nds_write_addtid_b32 v0\n"},
    {"gfx90a", 64, NULL, "s_mov_b32 m0, 0\ns_nop 0\nds_write_addtid_b32 v0\n"},
    {"gfx90a", 64, "m0 written by SALU before it is used",
     "s_mov_b32 s10, 0\ns_mov_b32 m0, 0\ns_movrels_b32 s11, s10\n"},
    {"gfx942", 64, "VCC written by VALU before VCCZ is an operand",
     "v_cmp_eq_u32 vcc, v0, v5\ns_nop 3\nv_mov_b32 v1, src_vccz\n"},
    {"gfx942", 64, NULL, "v_cmp_eq_u32 vcc, v0, v5\ns_nop 4\nv_mov_b32 v1, src_vccz\n" STORE_V1},
    {"gfx90a", 64, "64-bit fused multiply-add after a matrix instruction of f64",
     FOUR "s_nop 3\nv_mfma_f64_4x4x4f64 v[12:13], v[8:9], v[10:11], 0\ns_nop 0\n"
          "v_fma_f64 v[16:17], v[8:9], v[8:9], v[8:9]\n"},
    {"gfx942", 64, NULL,
     FOUR "s_nop 3\nv_mfma_f64_4x4x4_4b_f64 v[12:13], v[8:9], v[10:11], 0\ns_nop 1\n"
          "v_fma_f64 v[16:17], v[8:9], v[8:9], v[8:9]\n"},
    {"gfx90a", 64, "read by a memory instruction behind one of f64 matrices, row 14",
     FOUR "s_nop 3\nv_mov_b32 v14, v5\nv_mfma_f64_4x4x4f64 v[12:13], v[8:9], v[10:11], 0\n"
          "ds_write_b32 v14, v0\n"},
    {"gfx942", 64, NULL,
     FOUR "s_nop 3\nv_mov_b32 v14, v5\nv_mfma_f64_4x4x4_4b_f64 v[12:13], v[8:9], v[10:11], 0\n"
          "ds_write_b32 v14, v0\n"},
    /* ... the accumulator of f64 may be overwritten, that of f32 may not */
    {"gfx90a", 64, NULL,
     FOUR "s_nop 3\nv_mfma_f64_4x4x4f64 v[12:13], v[8:9], v[8:9], v[10:11]\nv_mov_b32 v10, 1\n"},
    {"gfx90a", 64, "C of a matrix instruction overwritten, row 10",
     FOUR "s_nop 3\nv_mfma_f32_16x16x4f32 v[12:15], v8, v8, v[8:11]\nv_mov_b32 v10, 1\n"},
    /* ... dot products: another register may take the sum on, but no operand may */
    {"gfx90a", 64, NULL, FOUR "v_dot2_f32_f16 v12, v8, v9, v10\nv_dot2_f32_f16 v13, v8, v9, v12\n"},
    {"gfx90a", 64, "result of a dot product touched, row 12",
     FOUR "v_dot2_f32_f16 v12, v8, v9, v10\nv_dot2_f32_f16 v13, v12, v9, v12\n"},
    /* ... parts of registers */
    {"gfx942", 64, "partially written register used, row 1",
     "v_mov_b32 v1, 0\nv_cvt_f16_f32_sdwa v1, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
     "src0_sel:DWORD\n" STORE_V1 "v_mov_b32 v2, v0\nv_cvt_f16_f32_sdwa v1, v0 dst_sel:WORD_1 "
     "dst_unused:UNUSED_PRESERVE src0_sel:DWORD\nv_mov_b32 v2, v1\n"},
    {"gfx942", 64, NULL,
     "v_mov_b32 v2, v0\nv_add_u32_sdwa v1, v0, v2 dst_sel:DWORD dst_unused:UNUSED_PAD "
     "src0_sel:WORD_0 src1_sel:WORD_0\nv_mov_b32 v1, v1\n" STORE_V1},
    {"gfx942", 64, "partially written register used, row 1",
     "v_mov_b32 v1, 0\nv_cvt_sr_fp8_f32 v1, v0, v0 op_sel:[0,0,1,0]\nv_mov_b32 v2, v1\n"},
    {"gfx942", 64, NULL, "v_mov_b32 v1, 0\nv_cvt_sr_fp8_f32 v1, v0, v0\nv_mov_b32 v2, v1\n"},
    /* ... the amount of a shift in the last register, which is v63: the AGPRs are rows like it */
    {"gfx90a", 64, "the amount of a 64-bit shift is in v63, the last register there is",
     FOUR "v_mov_b32 v63, 1\nv_lshlrev_b64 v[12:13], v63, v[8:9]\n"},
    {"gfx90a", 64, NULL, FOUR "v_mov_b32 v23, 1\nv_lshlrev_b64 v[12:13], v23, v[8:9]\n"},
    {"gfx942", 64, NULL, FOUR "v_mov_b32 v63, 1\nv_lshlrev_b64 v[12:13], v63, v[8:9]\n"},
    /* ... of gfx11 */
    {"gfx1100", 32, "transcendental result in v1 used: missing s_waitcnt_depctr va_vdst(0)",
     "v_cvt_f32_u32 v2, v0\nv_exp_f32 v1, v2\n" MOVES_5 "v_add_f32 v1, v1, v1\n"},
    {"gfx1100", 32, NULL,
     "v_cvt_f32_u32 v2, v0\nv_exp_f32 v1, v2\n" MOVES_5 "v_mov_b32 v15, 0\n"
     "v_add_f32 v1, v1, v1\n" STORE_V1},
    {"gfx1100", 32, NULL,
     "v_cvt_f32_u32 v2, v0\nv_exp_f32 v1, v2\ns_waitcnt_depctr 0xfff\n"
     "v_add_f32 v1, v1, v1\n" STORE_V1},
    {"gfx1151", 32, NULL,
     "v_cvt_f32_u32 v2, v0\nv_exp_f32 v1, v2\nv_add_f32 v1, v1, v1\n" STORE_V1},
    {"gfx1151", 32, "result of the WMMA before in v24 read as A or B: missing v_nop",
     ZEROS_8 "v_wmma_f16_16x16x16_f16 v[24:31], v[8:15], v[8:15], 0\ns_nop 7\n"
             "v_wmma_f32_16x16x16_f16 v[32:39], v[24:31], v[8:15], 0\n"},
    {"gfx1151", 32, NULL,
     ZEROS_8 "v_wmma_f16_16x16x16_f16 v[24:31], v[8:15], v[8:15], 0\nv_nop\n"
             "v_wmma_f32_16x16x16_f16 v[32:39], v[24:31], v[8:15], 0\n"},
    {"gfx1151", 32, NULL,
     ZEROS_8 "v_wmma_f32_16x16x16_f16 v[24:31], v[8:15], v[8:15], 0\n"
             "v_wmma_f32_16x16x16_f16 v[32:39], v[8:15], v[8:15], v[24:31]\n"},
    {"gfx1100", 32, "EXEC written by v_cmpx before v_permlane",
     "v_mov_b32 v1, v0\nv_cmpx_le_u32 0, v0\nv_nop\nv_permlanex16_b32 v1, v1, 0, 0\n"},
    {"gfx1100", 32, NULL,
     "v_mov_b32 v1, v0\nv_cmpx_le_u32 0, v0\nv_mov_b32 v1, v1\n"
     "v_permlanex16_b32 v1, v1, 0, 0\n" STORE_V1},
    {WAVE64, 64, "registers written before and after a write of EXEC are read, the first v1",
     "v_mov_b32 v1, v0\ns_mov_b64 exec, -1\nv_mov_b32 v2, v0\nv_add_f32 v1, v1, v2\n"},
    {WAVE64, 64, NULL,
     "v_mov_b32 v1, v0\ns_mov_b64 exec, -1\nv_mov_b32 v2, v0\ns_waitcnt_depctr 0xfff\n"
     "v_add_f32 v1, v1, v2\n" STORE_V1},
    {WAVE64, 64,
     "s10 was a mask of VALU, then written by SALU: missing s_waitcnt_depctr sa_sdst(0)",
     "s_mov_b64 s[10:11], 0\nv_cndmask_b32 v1, v0, v5, s[10:11]\ns_mov_b32 s10, 1\n"
     "s_add_u32 s12, s10, 1\n"},
    {WAVE64, 64, NULL,
     "s_mov_b64 s[10:11], 0\nv_cndmask_b32 v1, v0, v5, s[10:11]\ns_mov_b32 s10, 1\n"
     "s_waitcnt_depctr 0xfffe\ns_add_u32 s12, s10, 1\n" STORE_V1},
    /* matrix */
    {"gfx942", 32, "inactive lanes",
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 3\nv_mfma_f32_16x16x16_f16 v[16:19], v[10:11], "
     "v[10:11], 0\n"},
    {"gfx1100", 32, "must repeat each other",
     "v_mov_b32 v10, v0\nv_mov_b32 v11, 0\nv_mov_b32 v12, 0\nv_mov_b32 v13, 0\nv_mov_b32 v14, "
     "0\nv_mov_b32 v15, 0\nv_mov_b32 v16, 0\nv_mov_b32 v17, 0\nv_wmma_f32_16x16x16_f16 v[24:31], "
     "v[10:17], v[10:17], v[24:31]\n"},
    {"gfx942", 64, "stores a value",
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 3\nv_mfma_f32_16x16x16_f16 v[16:19], v[10:11], "
     "v[12:13], 0\ns_nop 6\nv_mov_b32 v1, v16\n" STORE_V1},
    /* one poisoned column of B poisons one column of D: lanes 3, 19, 35, 51 */
    {"gfx942", 64, "lanes 3",
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v12, 0\nv_mov_b32 v13, 0\ns_nop "
     "3\nv_writelane_b32 v12, s40, 3\ns_nop 3\nv_mfma_f32_16x16x16_f16 v[16:19], v[10:11], "
     "v[12:13], 0\ns_nop 6\nv_mov_b32 v1, v16\n" STORE_V1},
    {"gfx942", 64, NULL,
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v12, 0\nv_mov_b32 v13, 0\ns_nop "
     "3\nv_writelane_b32 v12, s40, 3\ns_nop 3\nv_mfma_f32_16x16x16_f16 v[16:19], v[10:11], "
     "v[12:13], 0\ns_mov_b64 exec, 0xf0\ns_nop 6\nv_mov_b32 v1, v16\n" STORE_V1},
    /* races */
    {"gfx942", 128, "data race in LDS", "v_mov_b32 v6, 0\nds_write_b32 v6, v0\n"},
    {"gfx942", 128, "data race in LDS",
     "ds_write_b32 v5, v0\ns_waitcnt lgkmcnt(0)\nv_xor_b32 v6, 0x100, v5\nds_read_b32 v1, v6\n"},
    {"gfx942", 128, "without waiting (lgkmcnt)",
     "ds_write_b32 v5, v0\ns_barrier\nv_xor_b32 v6, 0x100, v5\nds_read_b32 v1, v6\n"},
    {"gfx942", 128, NULL,
     "ds_write_b32 v5, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\nv_xor_b32 v6, 0x100, v5\nds_read_b32 "
     "v1, v6\ns_waitcnt lgkmcnt(0)\n" STORE_V1},
    {"gfx1151", 64, "data race in LDS",
     "ds_store_b32 v5, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\nv_xor_b32 v6, 0x80, v5\nds_load_b32 "
     "v1, v6\ns_waitcnt lgkmcnt(0)\nds_store_b32 v5, v1\n"},
    {"gfx942", 128, NULL,
     "v_mov_b32 v6, 0\nds_write_b32 v5, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\nds_add_u32 v6, v0\n"},
    /* ... of waves whose dwords alternate */
    {"gfx942", 128, NULL, ALTERNATE "ds_write_b32 v6, v0\n"},
    {"gfx942", 128, "data race in LDS at 0x4: written here, read by wave 0 since",
     ALTERNATE "ds_write_b32 v6, v0\nv_xor_b32 v7, 4, v6\nds_read_b32 v1, v7\n"},
    {"gfx942", 128, "data race in LDS at 0x100: written here, read by wave 0 since",
     "ds_write_b8 v5, v0\nv_xor_b32 v6, 0x100, v5\nds_read_b32 v1, v6\n"},
    {"gfx942", 128, "data race in LDS at 0x4: written here and by wave 0 since",
     "v_and_b32 v6, 0xff, v5\nv_mov_b32 v1, 1\nds_write_b32 v6, v1\nds_add_u32 v6, v0\n"},
    {"gfx1100", 96, "data race in LDS at 0x100: written here, read by several waves since",
     "v_lshlrev_b32 v6, 2, v0\nv_or_b32 v6, 0x100, v6\nv_cmp_gt_u32 vcc_lo, 64, v0\n"
     "s_and_saveexec_b32 s10, vcc_lo\nv_and_b32 v6, 0x17f, v6\nds_load_b32 v1, v6\n"
     "s_mov_b32 exec_lo, s10\nv_and_b32 v6, 0x17f, v6\nv_cmp_lt_u32 vcc_lo, 63, v0\n"
     "s_and_saveexec_b32 s10, vcc_lo\nds_store_b32 v6, v0\n"},
    /* ... two barriers later, waited for before the second or not at all */
    {"gfx942", 128, NULL,
     "ds_write_b32 v5, v0\ns_barrier\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
     "v_xor_b32 v6, 0x100, v5\nds_read_b32 v1, v6\n"},
    {"gfx942", 128, "LDS at 0x100: wave 1 went to the barrier without waiting (lgkmcnt)",
     "ds_write_b32 v5, v0\ns_barrier\ns_barrier\nv_xor_b32 v6, 0x100, v5\n"
     "ds_read_b32 v1, v6\n"},
    {"gfx942", 128, "data race in device memory",
     "v_mov_b32 v6, 0\nv_readfirstlane_b32 s10, v0\ns_nop 1\nv_mov_b32 v1, s10\n"
     "global_store_dword v6, v1, s[2:3]\n"},
    {"gfx942", 128, "data race in device memory",
     "global_store_dword v5, v0, s[2:3]\nv_xor_b32 v6, 0x100, v5\n"
     "global_load_dword v1, v6, s[2:3]\n"},
    {"gfx942", 128, NULL,
     "global_store_dword v5, v0, s[2:3]\ns_waitcnt vmcnt(0)\ns_barrier\nv_xor_b32 v6, 0x100, v5\n"
     "global_load_dword v1, v6, s[2:3]\n"},
    {"gfx942", 128, NULL, "v_mov_b32 v6, 0\nglobal_atomic_add v6, v0, s[2:3]\n"},
    /* ... handed over by a flag: wave 0 stores data and the flag, wave 1 loads the flag atomically
     */
    {"gfx942", 128, NULL, HAND_OVER("s_waitcnt vmcnt(0)\n", "sc1")},
    {"gfx90a", 128, NULL, HAND_OVER("s_waitcnt vmcnt(0)\n", "glc")},
    {"gfx942", 128, "data race in device memory", HAND_OVER("s_waitcnt vmcnt(0)\n", "sc0")},
    {"gfx942", 128, "data race in device memory", HAND_OVER("s_waitcnt vmcnt(0)\n", "")},
    {"gfx90a", 128, "data race in device memory", HAND_OVER("s_branch .Ldone\n", "glc")},
    /* ... a lock that an atomic takes and a store gives back */
    {"gfx942", 128, NULL,
     "v_mov_b32 v6, 0\nv_mov_b32 v1, 1\nglobal_atomic_swap v2, v6, v1, s[2:3] sc0\n"
     "s_waitcnt vmcnt(0)\nv_readfirstlane_b32 s10, v0\ns_nop 1\nv_mov_b32 v1, s10\n"
     "global_store_dword v6, v1, s[2:3]\ns_waitcnt vmcnt(0)\n"},
    /* ... not when all waves store the same value */
    {"gfx942", 128, NULL, "v_mov_b32 v6, 0\nv_mov_b32 v1, 7\nds_write_b32 v6, v1\n"},
    {"gfx1100", 64, NULL, "v_mov_b32 v6, 0\nv_mov_b32 v1, 7\nglobal_store_b32 v6, v1, s[2:3]\n"},
    /* ... or the same to those bytes that both store */
    {"gfx1100", 64, NULL, HALF_AND_WHOLE("0x70009", "global_store", ", s[2:3]")},
    {"gfx1100", 64, "data race in device memory",
     HALF_AND_WHOLE("0x80009", "global_store", ", s[2:3]")},
    {"gfx1100", 64, NULL, HALF_AND_WHOLE("0x70009", "ds_store", "")},
    {"gfx1100", 64, "data race in LDS at 0x2: written here and by wave 0",
     HALF_AND_WHOLE("0x80009", "ds_store", "")},
    {"gfx1100", 64, "data race in LDS at 0x0: written here and by wave 0",
     "v_mov_b32 v6, 0\nv_readfirstlane_b32 s10, v0\nv_mov_b32 v1, s10\nds_store_b32 v6, v1\n"},
    /* ... lanes of one store */
    {"gfx1100", 32, "lanes store different values", OVERLAPPING("0x10002")},
    {"gfx1100", 32, NULL, OVERLAPPING("0x20002")},
    {"gfx942", 64, "lanes store different values to the same bytes, from",
     "v_mov_b32 v6, 0\nglobal_store_dword v6, v0, s[2:3]\n"},
    /* ... a write after a read of one wave, or of several */
    {"gfx942", 128, "written here, read by wave 0 of workgroup number 0 in",
     "global_load_dword v1, v5, s[2:3]\nv_xor_b32 v6, 0x100, v5\nv_cmp_lt_u32 vcc, 63, v0\n"
     "s_and_saveexec_b64 s[10:11], vcc\ns_waitcnt vmcnt(0)\n"
     "global_store_dword v6, v1, s[2:3]\n"},
    {"gfx1151", 96, "written here, read by several waves in",
     "v_mov_b32 v6, 0\nglobal_load_b32 v1, v6, s[2:3]\nv_cmp_lt_u32 vcc_lo, 63, v0\n"
     "s_and_saveexec_b32 s10, vcc_lo\ns_waitcnt vmcnt(0)\nglobal_store_b32 v6, v0, s[2:3]\n"},
    {"gfx942", 128, NULL,
     "global_load_dword v1, v5, s[2:3]\nv_xor_b32 v6, 0x100, v5\ns_waitcnt vmcnt(0)\ns_barrier\n"
     "global_store_dword v6, v1, s[2:3]\n"},
    {"gfx942", 128, NULL,
     "v_lshlrev_b32 v5, 1, v0\nglobal_load_ushort v1, v5, s[2:3]\ns_waitcnt vmcnt(0)\n"
     "global_store_short v5, v1, s[2:3]\n"},
    /* ... where 16 bytes were read at once */
    {"gfx942", 128, "written here, read by wave 0 of workgroup number 0 in",
     "v_lshlrev_b32 v6, 4, v0\nglobal_load_dwordx4 v[8:11], v6, s[2:3]\nv_xor_b32 v7, 0x400, v6\n"
     "v_cmp_lt_u32 vcc, 63, v0\ns_and_saveexec_b64 s[10:11], vcc\ns_waitcnt vmcnt(0)\n"
     "global_store_dword v7, v0, s[2:3] offset:8\n"},
    {"gfx1151", 96, "written here, read by several waves in",
     "v_mov_b32 v6, 0\nglobal_load_b128 v[8:11], v6, s[2:3]\nv_cmp_lt_u32 vcc_lo, 63, v0\n"
     "s_and_saveexec_b32 s10, vcc_lo\ns_waitcnt vmcnt(0)\n"
     "global_store_b32 v6, v0, s[2:3] offset:12\n"},
    {"gfx942", 128, "read here, written by wave 0 of workgroup number 0 in",
     "global_store_dword v5, v0, s[2:3]\nv_xor_b32 v6, 64, v0\nv_lshlrev_b32 v6, 4, v6\n"
     "global_load_dwordx4 v[8:11], v6, s[2:3]\n"},
    {"gfx942", 128, NULL,
     ALTERNATE "global_load_dword v1, v6, s[2:3]\ns_waitcnt vmcnt(0)\n"
               "global_store_dword v6, v0, s[2:3]\n"},
    {"gfx942", 128, NULL,
     "v_lshlrev_b32 v6, 4, v0\nglobal_load_dwordx4 v[8:11], v6, s[2:3]\nv_xor_b32 v7, 0x400, v6\n"
     "s_waitcnt vmcnt(0)\ns_barrier\nglobal_store_dword v7, v0, s[2:3] offset:8\n"},
    /* ... where 16 bytes are written at once, in lines of 64 bytes or at a distance */
    {"gfx942", 128, "read here, written by wave 0 of workgroup number 0 in",
     LINES STORE_LINES WAVE_1 "global_load_dword v1, v7, s[2:3] offset:8\n"},
    {"gfx942", 128, "read here, written by wave 0 of workgroup number 0 in",
     LINES STORE_LINES WAVE_1 "global_load_dwordx4 v[12:15], v7, s[2:3]\n"},
    {"gfx942", 128, "written here, written by wave 0 of workgroup number 0 in",
     LINES "v_and_b32 v6, 0x3f0, v6\nv_mov_b32 v10, v0\n" STORE_LINES},
    {"gfx942", 128, NULL, LINES "v_and_b32 v6, 0x3f0, v6\n" STORE_LINES},
    {"gfx942", 128, "written here, read by several waves in",
     LINES "v_and_b32 v6, 0x3f0, v6\nglobal_load_dwordx4 v[12:15], v6, s[2:3]\n"
           "s_waitcnt vmcnt(0)\n" WAVE_1 STORE_LINES},
    {"gfx942", 128, NULL,
     LINES STORE_LINES STORE_LINES
     "s_waitcnt vmcnt(0)\n"
     "global_load_dwordx4 v[12:15], v6, s[2:3]\ns_waitcnt vmcnt(0)\ns_barrier\n"
     "global_load_dwordx4 v[12:15], v7, s[2:3]\n"},
    {"gfx942", 128, NULL, ALTERNATE_16 STORE_LINES},
    {"gfx942", 128, "read here, written by wave 0 of workgroup number 0 in",
     ALTERNATE_16 STORE_LINES WAVE_1 "v_xor_b32 v7, 16, v6\n"
                                     "global_load_dwordx4 v[12:15], v7, s[2:3]\n"},
    /* ... in LDS that has been used in the same way before */
    {"gfx942", 128, NULL, PAIRS EXCHANGE EXCHANGE EXCHANGE},
    {"gfx942", 128, "data race in LDS at 0x0: read here, written by wave 0 since",
     PAIRS EXCHANGE EXCHANGE "ds_write_b64 v6, v[8:9]\ns_waitcnt lgkmcnt(0)\n" WAVE_1
                             "ds_read_b64 v[12:13], v7\n"},
    {"gfx942", 128, "data race in LDS at 0x200: written here, read by wave 0 since",
     PAIRS EXCHANGE EXCHANGE "ds_read_b64 v[12:13], v7\ns_waitcnt lgkmcnt(0)\n" WAVE_1
                             "ds_write_b64 v6, v[8:9]\n"},
    /* the program itself */
    {"gfx942", 64, "outside of the code object", "s_mov_b64 s[10:11], 0\ns_setpc_b64 s[10:11]\n"},
    {"gfx942", 64, "s_trap 2", "s_trap 2\n"},
    {"gfx942", 64, "is no instruction", ".long 0xffffffff\n"},
};

/* What every report tells beside its cause; returns what is missing, NULL when nothing is. */
static const char *missing_in(const char *report)
{
    static const char *const parts[] = {"\n  kernel k, workgroup (0, 0, 0), wave ",
                                        "\n  at pc 0x",
                                        " (entry + 0x",
                                        "  [",
                                        "\n  source: ",
                                        "k.s:"};

    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(report, parts[i]))
            return parts[i];
    return NULL;
}

/* Is it a matter of single lanes, rather than of the wave and its scalar registers? */
static bool has_lanes(const char *fault)
{
    static const char *const of_wave[] = {"branch on SCC",
                                          "lane number in",
                                          "missing s_waitcnt lgkmcnt(0)",
                                          "outside of the code object",
                                          "while a scalar load into it",
                                          "s_trap",
                                          "is beyond the",
                                          "is no instruction"};

    for (unsigned i = 0; i < sizeof of_wave / sizeof *of_wave; i++)
        if (strstr(fault, of_wave[i]))
            return false;
    return true;
}

static void run(const struct plant *p)
{
    struct asm_result r;
    const char *line = strrchr(p->body, '\n') ? p->body : "";

    if (!asm_run(p->gpu, p->body, p->items, &r)) {
        ok(0, "%s: cannot build\n# %s", p->gpu, p->body);
        return;
    }
    if (!p->fault)
        ok(r.ran, "%s: runs", p->gpu);
    else
        ok(!r.ran && strstr(r.fault, p->fault), "%s: %s", p->gpu, p->fault);
    if (p->fault && missing_in(r.fault))
        ok(0, "%s: the report has \"%s\": %s", p->gpu, missing_in(r.fault), r.fault);
    if (p->fault && *p->fault && has_lanes(p->fault) && !strstr(r.fault, ", lanes "))
        ok(0, "%s: the report names lanes: %s", p->gpu, r.fault);
    if (p->fault ? r.ran || !strstr(r.fault, p->fault) : !r.ran)
        tap_diag("%s\n# report: %s", line, r.fault);
}

int main(void)
{
    asm_need_tools();
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    setenv("AOTHIP_EMU_SEED", "4", 1); /* ascending: some plants are found as another race else */
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++)
        run(&plants[i]);
    return tap_done();
}
