/*
 * The register file of gfx90a and gfx942: VGPRs and AGPRs name rows of one allocation, so that
 * v(ACCUM_OFFSET + n) is an. Hand-written kernels use names beyond ACCUM_OFFSET; compilers do not.
 * The kernels here have 64 rows, and a0 is row 32. Plain and strict.
 */
#include "test_exec_programs.h"

#define STORE(v) "s_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_dword v5, " v ", s[2:3] offset:2048\n"
#define BEYOND "register beyond what the kernel allocates (64 rows, AGPRs from 32)"
/* ones in f16, 16 x 16 x 16: each element of the result is 16 */
#define PRODUCT(d)                                                                                 \
    "v_mov_b32 v10, 0x3c003c00\nv_mov_b32 v11, 0x3c003c00\ns_nop 3\n%s " d                         \
    ", v[10:11], v[10:11], 0\ns_nop 15\n"

static uint32_t thrice(uint32_t i)
{
    return 3 * i;
}

static uint32_t itself(uint32_t i)
{
    return i;
}

static uint32_t sixteen(uint32_t i)
{
    (void)i;
    return 0x41800000;
}

static uint32_t shifted(uint32_t i)
{
    (void)i;
    return 8;
}

static const struct asm_program programs[] = {
    {"v40 is a8", "v_mul_u32_u24 v40, 3, v0\nv_accvgpr_read_b32 v1, a8\ns_nop 1\n" STORE("v1"),
     thrice, NULL},
    {"a8 is v40", "v_mul_u32_u24 v1, 3, v0\nv_accvgpr_write_b32 a8, v1\ns_nop 1\n" STORE("v40"),
     thrice, NULL},
    {"a load into the last registers", "global_load_dword v63, v5, s[2:3]\n" STORE("a31"), itself,
     NULL},
    {"four dwords through LDS, across the boundary",
     "v_lshlrev_b32 v6, 4, v0\nv_mov_b32 v7, 0\nv_mul_u32_u24 v33, 3, v0\nv_mov_b32 v32, 0\n"
     "v_mov_b32 v31, 0\nv_mov_b32 v30, 0\nds_write_b128 v6, v[30:33]\ns_waitcnt lgkmcnt(0)\n"
     "ds_read_b128 a[28:31], v6\n" STORE("v63"),
     thrice, NULL},
    {"a matrix result in v60 to v63", PRODUCT("v[60:63]") STORE("a30"), sixteen, NULL},
    {"a matrix result in a28 to a31", PRODUCT("a[28:31]") STORE("v62"), sixteen, NULL},
    {"matrix operands there",
     "v_mov_b32 v40, 0x3c003c00\nv_mov_b32 v41, 0x3c003c00\ns_nop 3\n"
     "%s v[16:19], v[40:41], a[8:9], 0\ns_nop 15\n" STORE("v17"),
     sixteen, NULL},
    {"the amount of a 64-bit shift before another row",
     "v_mov_b32 v31, 3\nv_mov_b32 v8, 1\nv_mov_b32 v9, 0\nv_mov_b32 v39, v31\n"
     "v_lshlrev_b64 v[12:13], v39, v[8:9]\nv_lshlrev_b64 v[14:15], v31, v[8:9]\n"
     "v_and_b32 v1, v12, v14\n" STORE("v1"),
     shifted, NULL},
    {"v64", "v_mov_b32 v64, v0\n", NULL, BEYOND},
    {"the last of v62 to v65", "global_load_dwordx4 v[62:65], v5, s[2:3]\n", NULL, BEYOND},
    {"a32", "v_accvgpr_write_b32 a32, v0\n", NULL, BEYOND},
};

static const char *product(const char *gpu)
{
    return strcmp(gpu, "gfx90a") == 0 ? "v_mfma_f32_16x16x16f16" : "v_mfma_f32_16x16x16_f16";
}

int main(void)
{
    return asm_check_programs(programs, sizeof programs / sizeof *programs, 2, product);
}
