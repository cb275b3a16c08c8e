/*
 * gfx950: wait states that it needs beyond gfx942's, its LDS, and what poison becomes.
 */
#include "test_exec_asm.h"

#define STORE_V1 "global_store_dword v5, v1, s[2:3]\n"
#define FOUR "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v12, 0\nv_mov_b32 v13, 0\ns_nop 3\n"
#define SMALL FOUR "v_mfma_f32_16x16x32_bf16 v[16:19], v[10:13], v[10:13], 0\n"
#define BIG FOUR "v_mfma_f32_32x32x16_f16 v[16:31], v[10:13], v[10:13], 0\n"
#define NARROW FOUR "v_mfma_f32_32x32x64_f8f6f4 v[16:31], v[10:13], "
#define SCALED "v_mfma_scale_f32_16x16x128_f8f6f4 v[16:19], v[10:13], v[10:13], 0, "
#define SIX FOUR "v_mov_b32 v14, 0\nv_mov_b32 v15, 0\n"
#define WIDEN "v_cvt_scalef32_pk32_f32_fp6 v[16:47], v[10:15], 1.0\n"
#define F64 FOUR "v_mfma_f64_16x16x4_f64 v[16:23], v[10:11], v[12:13], 0\n"

static const struct plant {
    const char *fault; /* what the report must say; NULL: runs */
    const char *body;
} plants[] = {
    /* results of matrix instructions: four passes, eight; those of gfx942 are as many here */
    {"matrix result read, row 16: 7 wait states where 8 are needed",
     SMALL "s_nop 6\nv_mov_b32 v1, v16\n" STORE_V1},
    {NULL, SMALL "s_nop 7\nv_mov_b32 v1, v16\n" STORE_V1},
    {"matrix result read, row 16: 11 wait states where 12 are needed",
     BIG "s_nop 10\nv_mov_b32 v1, v16\n" STORE_V1},
    {NULL, BIG "s_nop 11\nv_mov_b32 v1, v16\n" STORE_V1},
    {"matrix result overwritten, row 17: 7 wait states where 8 are needed",
     SMALL "s_nop 6\nv_mov_b32 v17, 0\n"},
    {"matrix result read as A or B, row 16: 7 wait states where 8 are needed",
     SMALL "s_nop 6\nv_mfma_f32_16x16x32_f16 v[24:27], v[16:19], v[10:13], 0\n"},
    {"matrix result overlaps C, row 18: 5 wait states where 6 are needed",
     SMALL "s_nop 4\nv_mfma_f32_16x16x32_f16 v[24:27], v[10:13], v[10:13], v[18:21]\n"},
    {NULL, SMALL "v_mfma_f32_16x16x32_bf16 v[16:19], v[10:13], v[10:13], v[16:19]\n"},
    {"matrix result read, row 16: 6 wait states where 8 are needed",
     FOUR "v_mfma_f32_16x16x16_f16 v[16:19], v[10:11], v[10:11], 0\ns_nop 5\n"
          "v_mov_b32 v1, v16\n"},
    {NULL, FOUR "v_mfma_f32_4x4x4_16b_f16 v[16:19], v[10:11], v[10:11], 0\ns_nop 4\n"
                "v_mov_b32 v1, v16\n" STORE_V1},
    /* of fewer than 8 bits, and of 8 */
    {"matrix result read, row 16: 11 wait states where 12 are needed",
     NARROW "v[10:13], 0 cbsz:4 blgp:4\ns_nop 10\nv_mov_b32 v1, v16\n"},
    {NULL, NARROW "v[10:13], 0 cbsz:4 blgp:4\ns_nop 11\nv_mov_b32 v1, v16\n" STORE_V1},
    {"matrix result read, row 16: 19 wait states where 20 are needed",
     NARROW "v[8:15], 0 cbsz:4\ns_nop 15\ns_nop 2\nv_mov_b32 v1, v16\n"},
    {"never", NARROW "v[8:15], 0 cbsz:4\ns_nop 15\ns_nop 3\nv_mov_b32 v1, v16\n" STORE_V1},
    /* scaled: one wait state, however long, and the scales are read as A and B are */
    {"VALU result read by a matrix instruction, row 14: 1 wait states where 2 are needed",
     FOUR "v_mov_b32 v14, v0\ns_nop 0\n" SCALED "v14, v10 cbsz:4 blgp:4\n"},
    {"matrix result read, row 16: 7 wait states where 8 are needed",
     FOUR SCALED "v10, v10 cbsz:4 blgp:4\ns_nop 6\nv_mov_b32 v1, v16\n"},
    {NULL, FOUR "v_mov_b32 v14, v0\ns_nop 1\n" SCALED "v14, v10 op_sel:[1,0,0] cbsz:4 blgp:4\n"
                "s_nop 7\nv_mov_b32 v1, v16\n" STORE_V1},
    {"the scale of a matrix product was never computed",
     FOUR SCALED "v10, v15 cbsz:4 blgp:4\n"},
    {NULL, FOUR "v_and_b32 v15, 0xff, v15\ns_nop 1\n" SCALED
                "v10, v15 op_sel:[0,1,0] cbsz:4 blgp:4\n"},
    {"never", "v_mov_b32 v10, 0\ns_nop 1\n" SCALED "v10, v10 cbsz:4 blgp:4\ns_nop 7\n"
              "v_mov_b32 v1, v16\n" STORE_V1},
    /* of f64 */
    {"matrix result read, row 16: 18 wait states where 19 are needed",
     F64 "s_nop 15\ns_nop 1\nv_mov_b32 v1, v16\n"},
    {NULL, F64 "s_nop 15\ns_nop 2\nv_mov_b32 v1, v16\n" STORE_V1},
    {NULL, F64 "s_nop 10\nv_mov_b32 v16, 0\n"},
    /* lanes that change places */
    {"VALU result whose lanes are swapped, row 1: 1 wait states where 2 are needed",
     "v_mov_b32 v1, v0\ns_nop 0\nv_permlane32_swap_b32 v1, v5\n"},
    {"VALU result whose lanes are swapped, row 7: 0 wait states where 2 are needed",
     "v_mov_b32 v1, v0\ns_nop 1\nv_mov_b32 v7, v0\nv_permlane16_swap_b32 v1, v7\n"},
    {NULL, "v_mov_b32 v1, v0\ns_nop 1\nv_permlane32_swap_b32 v1, v0\n" STORE_V1},
    {"EXEC written by VALU before lanes are swapped",
     "v_mov_b32 v1, v0\nv_cmpx_le_u32 vcc, 0, v0\ns_nop 2\nv_permlane32_swap_b32 v1, v0\n"},
    {NULL, "v_mov_b32 v1, v0\nv_cmpx_le_u32 vcc, 0, v0\ns_nop 3\n"
           "v_permlane32_swap_b32 v1, v0\n" STORE_V1},
    /* a load into LDS, four dwords a lane, before it has been waited for */
    {"missing s_waitcnt",
     "v_lshlrev_b32 v6, 4, v0\ns_mov_b32 m0, 0\ns_nop 0\nglobal_load_lds_dwordx4 v6, s[2:3]\n"
     "ds_read_b32 v1, v6\ns_waitcnt lgkmcnt(0)\n" STORE_V1},
    {NULL, "v_lshlrev_b32 v6, 4, v0\ns_mov_b32 m0, 0\ns_nop 0\nglobal_load_lds_dwordx4 v6, s[2:3]\n"
           "s_waitcnt vmcnt(0)\nds_read_b32 v1, v6\ns_waitcnt lgkmcnt(0)\n" STORE_V1},
    /* the transposing load takes poison along */
    {"never", "v_lshlrev_b32 v6, 3, v0\nds_read_b64_tr_b16 v[8:9], v6\ns_waitcnt lgkmcnt(0)\n"
              "v_mov_b32 v1, v8\n" STORE_V1},
    /* bits that poisoned bits do not decide have none: v9 is nothing that was computed */
    {NULL, "v_bitop3_b32 v9, v0, v0, 2 bitop3:0x36\nv_mov_b32 v1, v9\n" STORE_V1},
    {NULL, "v_and_b32 v6, 1, v9\nv_bitop3_b32 v1, v6, v0, 1 bitop3:0xd8\n" STORE_V1},
    {"never", "v_bitop3_b32 v1, v9, v0, 2 bitop3:0x36\n" STORE_V1},
    {"never", "v_bitop3_b32 v1, v0, v9, 7 bitop3:0x78\n" STORE_V1},
    {"never", "v_mov_b32 v1, 0\nv_bitop3_b16 v1, v9, v0, 2 bitop3:0x36 op_sel:[0,0,0,1]\ns_nop 0\n"
              STORE_V1},
    {NULL, "v_lshlrev_b32 v6, 16, v9\nv_mov_b32 v1, 0\n"
           "v_bitop3_b16 v1, v6, v0, v0 bitop3:0x36\n" STORE_V1},
    {"partially written register used, row 1: 0 wait states where 1 are needed",
     "v_mov_b32 v1, 0\nv_bitop3_b16 v1, v0, v0, v0 bitop3:0x36 op_sel:[0,0,0,1]\n"
     "v_mov_b32 v7, v1\n"},
    /* conversions with a scale: of it only the exponent counts; elements each by themselves */
    {NULL, "v_or_b32 v6, v9, v9\nv_and_b32 v6, 0x807fffff, v6\nv_mov_b32 v1, 0\n"
           "v_cvt_scalef32_pk_fp4_f32 v1, v0, v0, v6\n" STORE_V1},
    {"never", "v_mov_b32 v1, 0\nv_and_b32 v6, 0x800000, v9\n"
              "v_cvt_scalef32_pk_fp4_f32 v1, v0, v0, v6\n" STORE_V1},
    {"never", "v_mov_b32 v1, 0\nv_cvt_scalef32_pk_fp8_f32 v1, v0, v9, 1.0\n" STORE_V1},
    {NULL, "v_mov_b32 v1, 0\nv_cvt_scalef32_pk_fp8_f32 v1, v0, v9, 1.0\nv_and_b32 v1, 0xff, v1\n"
           STORE_V1},
    {NULL, "v_cvt_scalef32_pk_fp8_f32 v1, v0, v0, 1.0\nv_and_b32 v1, 0xffff, v1\n" STORE_V1},
    {"never", "v_cvt_scalef32_pk_fp8_f32 v1, v0, v0, 1.0\nv_and_b32 v1, 0x1ffff, v1\n" STORE_V1},
    {"never", "v_mov_b32 v1, 0\nv_cvt_scalef32_sr_fp8_f32 v1, v0, v9, 1.0\n" STORE_V1},
    {NULL, "v_lshlrev_b32 v6, 16, v9\nv_cvt_scalef32_pk_f32_fp8 v[10:11], v6, 1.0\n"
           "v_mov_b32 v1, v10\n"
           "v_cvt_scalef32_pk_f32_fp8 v[10:11], v6, 1.0 op_sel:[0,0,0]\nv_mov_b32 v1, v11\n" STORE_V1},
    {"never", "v_lshlrev_b32 v6, 16, v9\n"
              "v_cvt_scalef32_pk_f32_fp8 v[10:11], v6, 1.0 op_sel:[1,0,0]\nv_mov_b32 v1, v11\n"
              STORE_V1},
    /* six bits across two registers, the last two of v10 and four of v11 */
    {NULL, SIX "v_lshlrev_b32 v11, 4, v9\n" WIDEN "v_mov_b32 v1, v21\n" STORE_V1},
    {"never", SIX "v_lshlrev_b32 v11, 3, v9\n" WIDEN "v_mov_b32 v1, v21\n" STORE_V1},
    {NULL, SIX "v_lshlrev_b32 v11, 3, v9\n" WIDEN "v_mov_b32 v1, v20\n" STORE_V1},
    /* wait states as LLVM 22 has them: none for the lowest part, but for random fp4 always */
    {"partially written register used, row 1: 0 wait states where 1 are needed",
     "v_mov_b32 v1, 0\nv_cvt_scalef32_pk_fp4_f32 v1, v0, v0, v0 op_sel:[0,0,1,0]\nv_mov_b32 v7, v1\n"},
    {"partially written register used, row 1: 0 wait states where 1 are needed",
     "v_mov_b32 v1, 0\nv_cvt_scalef32_f16_fp8 v1, v0, v0 op_sel:[0,0,1]\nv_mov_b32 v7, v1\n"},
    {"partially written register used, row 1: 0 wait states where 1 are needed",
     "v_mov_b32 v1, 0\nv_cvt_scalef32_sr_pk_fp4_f16 v1, v0, v0, v0\nv_mov_b32 v7, v1\n"},
    {NULL, "v_mov_b32 v1, 0\nv_cvt_scalef32_pk_fp8_f16 v1, v0, v0\nv_mov_b32 v1, v1\n" STORE_V1},
    /* LLVM 22 keeps the result of these apart from their sources */
    {"v10 is written while sources are still read",
     SIX "v_cvt_scalef32_pk32_f32_fp6 v[10:41], v[10:15], 1.0\n"},
    {"v1 is written while sources are still read",
     "v_mov_b32 v1, 0\nv_cvt_scalef32_sr_pk_fp4_f16 v1, v0, v1, 1.0\n"},
    {"register beyond", "v_cvt_scalef32_pk32_f32_fp6 v[40:71], v[10:15], 1.0\n"},
    {"wider than 64 bits", ".long 0xd2580008, 0x00000014\n"},
    {"no multiple of 16", "v_lshlrev_b32 v6, 3, v0\nds_read_b96_tr_b6 v[8:10], v6\n"},
};

static void run(const struct plant *p)
{
    struct asm_result r;

    if (!asm_run("gfx950", p->body, 64, &r)) {
        ok(0, "cannot build\n# %s", p->body);
        return;
    }
    if (!(p->fault ? ok(!r.ran && strstr(r.fault, p->fault), "%s", p->fault) : ok(r.ran, "runs")))
        tap_diag("%s\n# report: %s", p->body, r.fault);
}

/* Stores v0 at the end of 160 KiB of LDS and reads it back: 163840 - 256 is no inline constant. */
static void test_lds(void)
{
    static const char body[] = "v_add_u32 v6, 0x27f00, v5\nds_write_b32 v6, v0\n"
                               "s_waitcnt lgkmcnt(0)\nds_read_b32 v1, v6\n"
                               "s_waitcnt lgkmcnt(0)\n" STORE_V1;
    char *image = asm_build("gfx950", body);
    uint32_t words[64] = {0};
    hipModule_t module = NULL;
    hipFunction_t kernel = NULL;
    void *out = NULL, *args[] = {&out};
    unsigned wrong = 0;
    int most = 0;

    if (!ok(image && !hipSetDevice((int)asm_device("gfx950")) &&
                !hipModuleLoadData(&module, image) && !hipModuleGetFunction(&kernel, module, "k") &&
                !hipMalloc(&out, sizeof words),
            "a kernel for LDS")) {
        free(image);
        return;
    }
    ok(!hipDeviceGetAttribute(&most, hipDeviceAttributeMaxSharedMemoryPerBlock, 4), "asks");
    is_int(most, 163840, "bytes of LDS");
    ok(!hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 163840 - 1024, NULL, args, NULL) &&
           !hipMemcpy(words, out, sizeof words, hipMemcpyDeviceToHost),
       "160 KiB of LDS: %s", emu_last_fault());
    for (unsigned i = 0; i < 64; i++)
        wrong += words[i] != i;
    is_int((int)wrong, 0, "lanes that do not find what they left there");
    ok(hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 163840, NULL, args, NULL) != hipSuccess,
       "more is refused");
    ok(hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 65536, NULL, args, NULL) ||
           hipDeviceSynchronize(),
       "an address beyond what the launch gave is a fault");
    (void)hipFree(out);
    (void)hipModuleUnload(module);
    free(image);
}

int main(void)
{
    asm_need_tools();
    if (!asm_knows_gfx950())
        tap_skip_all("the device compiler does not know gfx950");
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151,gfx950", 1);
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++)
        run(&plants[i]);
    test_lds();
    return tap_done();
}
