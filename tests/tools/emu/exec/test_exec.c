/*
 * The execution core in programs of a few instructions: flow, lane masks, calls, indexing,
 * cross-lane moves, dual issue, division, barriers. Single instructions have their own oracle
 * (test_semantics).
 */
#include <math.h>

#include "test_exec_asm.h"

#define STORE_V1 "global_store_dword v5, v1, s[2:3]\n"
/* v7: the lanes' offsets in descending order; of M0 the low half counts */
#define TO_LDS "v_sub_u32 v7, 0xfc, v5\ns_mov_b32 m0, 0xabcd0080\ns_nop 0\n"
/* M0 and the instruction's offset count in LDS, each lane has four bytes */
#define FROM_LDS(AT)                                                                               \
    "s_waitcnt vmcnt(0)\nds_read_b32 v1, v5 offset:" #AT "\ns_waitcnt lgkmcnt(0)\n" STORE_V1
#define BUFFER(SIZE, FORMAT)                                                                       \
    "s_mov_b64 s[8:9], s[2:3]\ns_movk_i32 s10, " #SIZE "\ns_mov_b32 s11, " #FORMAT                 \
    "\ns_movk_i32 s12, 8\n"

struct program {
    const char *name, *gpus; /* gpus: those it runs on, by prefix, e.g. "gfx9" or "" for all */
    unsigned items;
    uint32_t (*want)(uint32_t item);
    const char *body;
};

static uint32_t same(uint32_t i)
{
    return i;
}

static uint32_t sum_to_ten(uint32_t i)
{
    return 55 + i;
}

static uint32_t trip_counts(uint32_t i)
{
    return i % 8;
}

static uint32_t parity(uint32_t i)
{
    return i & 1 ? 111 : 222;
}

static uint32_t squares(uint32_t i)
{
    return i * i + 1;
}

/* Loads to LDS, below: word 63 - i + 4, and the same at other offsets and sizes. */
static uint32_t loaded(uint32_t i)
{
    return 67 - i;
}

static uint32_t loaded_further(uint32_t i)
{
    return 69 - i;
}

static uint32_t loaded_signed(uint32_t i)
{
    return (uint32_t)(int32_t)(int8_t)(191 - i);
}

static uint32_t loaded_in_range(uint32_t i)
{
    return i < 36 ? 0 : 67 - i;
}

/* 1025 + (1 + 2^-10) / 2 * (1 - 2^-10) = 1025.5 - 2^-21: f32 has 1025.5, whose even f16 is 1026. */
static uint32_t rounded_once(uint32_t i)
{
    (void)i;
    return 0x6401;
}

static uint32_t pair_rounded_once(uint32_t i)
{
    (void)i;
    return 0xe4016401;
}

static uint32_t mirrored(uint32_t i)
{
    return (i & ~15u) | (15 - (i & 15));
}

static uint32_t rotated(uint32_t i)
{
    return (i & ~15u) | ((i - 1) & 15);
}

static uint32_t broadcast5(uint32_t i)
{
    (void)i;
    return 5;
}

static uint32_t other_row(uint32_t i)
{
    return i ^ 16;
}

static uint32_t reversed(uint32_t i)
{
    return 255 - i;
}

static uint32_t third_register(uint32_t i)
{
    (void)i;
    return 33;
}

static uint32_t bytes(uint32_t i)
{
    return (i & 0xff) << 8 | 0x11;
}

static uint32_t swapped(uint32_t i)
{
    return i + 1000 - (7 - (i & 7));
}

static uint32_t carried(uint32_t i)
{
    return i + 1;
}

static uint32_t prefix(uint32_t i)
{
    return i % 64;
}

static uint32_t prefix32(uint32_t i)
{
    return i % 32;
}

static const struct program programs[] = {
    {"work-item number", "", 256, same, "v_mov_b32 v1, v0\n" STORE_V1},
    {"a loop of the scalar unit", "", 64, sum_to_ten,
     "s_mov_b32 s10, 0\ns_mov_b32 s11, 10\n.Lloop:\ns_add_u32 s10, s10, s11\ns_sub_u32 s11, s11, "
     "1\n"
     "s_cmp_lg_u32 s11, 0\ns_cbranch_scc1 .Lloop\nv_add_u32 v1, s10, v0\n" STORE_V1},
    {"a loop of different length in each lane", "gfx9", 128, trip_counts,
     "v_and_b32 v2, 7, v0\nv_mov_b32 v1, 0\ns_mov_b64 s[10:11], exec\n.Lloop:\n"
     "v_cmp_lt_u32 vcc, v1, v2\ns_and_b64 exec, exec, vcc\ns_cbranch_execz .Ldone\n"
     "v_add_u32 v1, 1, v1\ns_branch .Lloop\n.Ldone:\ns_mov_b64 exec, s[10:11]\n" STORE_V1},
    {"a loop of different length in each lane", "gfx11", 128, trip_counts,
     "v_and_b32 v2, 7, v0\nv_mov_b32 v1, 0\ns_mov_b32 s10, exec_lo\n.Lloop:\n"
     "v_cmpx_lt_u32 v1, v2\ns_cbranch_execz .Ldone\nv_add_nc_u32 v1, 1, v1\ns_branch .Lloop\n"
     ".Ldone:\ns_mov_b32 exec_lo, s10\n" STORE_V1},
    {"if and else", "gfx9", 64, parity,
     "v_and_b32 v2, 1, v0\nv_cmp_eq_u32 vcc, 1, v2\ns_and_saveexec_b64 s[10:11], vcc\n"
     "v_mov_b32 v1, 111\ns_xor_b64 exec, exec, s[10:11]\nv_mov_b32 v1, 222\n"
     "s_mov_b64 exec, s[10:11]\n" STORE_V1},
    {"a function call", "", 64, squares,
     "s_getpc_b64 s[10:11]\n.Lhere:\ns_add_u32 s10, s10, .Lsquare-.Lhere\ns_addc_u32 s11, s11, 0\n"
     "s_swappc_b64 s[12:13], s[10:11]\nv_add_u32 v1, 1, v1\n" STORE_V1
     "s_endpgm\n.Lsquare:\nv_mul_lo_u32 v1, v0, v0\ns_setpc_b64 s[12:13]\n"},
    {"DPP mirror", "gfx9", 64, mirrored,
     "s_nop 1\nv_mov_b32_dpp v1, v0 row_mirror row_mask:0xf bank_mask:0xf\n" STORE_V1},
    {"DPP rotation", "gfx11", 64, rotated,
     "v_mov_b32_dpp v1, v0 row_ror:1 row_mask:0xf bank_mask:0xf\n" STORE_V1},
    {"v_readlane, v_writelane", "gfx9", 64, broadcast5,
     "s_mov_b32 s10, 5\nv_mov_b32 v2, v0\ns_nop 4\nv_readlane_b32 s11, v2, s10\ns_nop 1\nv_mov_b32 "
     "v1, s11\n" STORE_V1},
    {"v_permlanex16 exchanges rows", "gfx11", 32, other_row,
     "s_mov_b32 s10, 0x76543210\ns_mov_b32 s11, 0xfedcba98\nv_permlanex16_b32 v1, v0, s10, "
     "s11\n" STORE_V1},
    {"LDS and a barrier between four waves", "gfx9", 256, reversed,
     "ds_write_b32 v5, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\nv_sub_u32 v6, 0x3fc, v5\n"
     "ds_read_b32 v1, v6\ns_waitcnt lgkmcnt(0)\n" STORE_V1},
    {"LDS and a barrier between eight waves", "gfx11", 256, reversed,
     "ds_store_b32 v5, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\nv_sub_nc_u32 v6, 0x3fc, v5\n"
     "ds_load_b32 v1, v6\ns_waitcnt lgkmcnt(0)\n" STORE_V1},
    {"s_set_gpr_idx moves a source", "gfx9", 64, third_register,
     "v_mov_b32 v10, 11\nv_mov_b32 v11, 22\nv_mov_b32 v12, 33\ns_mov_b32 s10, 2\n"
     "s_set_gpr_idx_on s10, gpr_idx(SRC0)\nv_mov_b32 v1, v10\ns_set_gpr_idx_off\n" STORE_V1},
    {"SDWA writes a byte and keeps the rest", "gfx9", 64, bytes,
     "v_mov_b32 v1, 0x11\nv_mov_b32_sdwa v1, v0 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE "
     "src0_sel:BYTE_0\n" STORE_V1},
    {"VOPD halves read before they write", "gfx11", 64, swapped,
     "v_add_nc_u32 v1, 1000, v0\nv_and_b32 v2, 7, v0\nv_sub_nc_u32 v2, 7, v2\nv_mov_b32 v3, v2\n"
     "v_dual_mov_b32 v2, v1 :: v_dual_mov_b32 v1, v2\nv_sub_nc_u32 v1, v2, v1\n" STORE_V1},
    {"a carry through two adds", "gfx9", 64, carried,
     "v_mov_b32 v2, -1\nv_mov_b32 v3, 0\nv_add_co_u32 v2, vcc, 1, v2\ns_nop 1\n"
     "v_addc_co_u32 v1, vcc, v3, v0, vcc\n" STORE_V1},
    {"global_load_lds_dword", "gfx942", 64, loaded,
     TO_LDS "global_load_lds_dword v7, s[2:3] offset:16\n" FROM_LDS(144)},
    {"global_load_dword to LDS", "gfx90a", 64, loaded,
     TO_LDS "global_load_dword v7, s[2:3] offset:16 lds\n" FROM_LDS(144)},
    {"global_load_ushort to LDS", "gfx90a", 64, loaded,
     TO_LDS "global_load_ushort v7, s[2:3] offset:16 lds\n" FROM_LDS(144)},
    {"global_load_lds_ushort", "gfx942", 64, loaded,
     TO_LDS "global_load_lds_ushort v7, s[2:3] offset:16\n" FROM_LDS(144)},
    {"global_load_lds_sbyte", "gfx942", 64, loaded_signed,
     TO_LDS "global_load_lds_sbyte v7, s[2:3] offset:512\n" FROM_LDS(640)},
    {"buffer_load_dword to LDS", "gfx9", 64, loaded_further,
     TO_LDS BUFFER(
         0x1000, 0x27000) "buffer_load_dword v7, s[8:11], s12 offen offset:16 lds\n" FROM_LDS(144)},
    {"buffer_load_ushort to LDS", "gfx9", 64, loaded_further,
     TO_LDS BUFFER(
         0x1000,
         0x27000) "buffer_load_ushort v7, s[8:11], s12 offen offset:16 lds\n" FROM_LDS(144)},
    {"buffer_load_format_x to LDS", "gfx9", 64, loaded,
     TO_LDS BUFFER(
         0x1000,
         0x24004) "buffer_load_format_x v7, s[8:11], 0 offen offset:16 lds\n" FROM_LDS(144)},
    {"buffer_load_dword to LDS, beyond the buffer: 0", "gfx9", 64, loaded_in_range,
     TO_LDS BUFFER(0x80,
                   0x27000) "buffer_load_dword v7, s[8:11], 0 offen offset:16 lds\n" FROM_LDS(144)},
    {"v_fma_f16 rounds once", "gfx", 64, rounded_once,
     "v_mov_b32 v2, 0x3c01\nv_mov_b32 v3, 0x37fe\nv_mov_b32 v4, 0x6401\n"
     "v_fma_f16 v1, v2, v3, v4\nv_and_b32 v1, 0xffff, v1\n" STORE_V1},
    {"v_fmac_f16 rounds once", "gfx11", 64, rounded_once,
     "v_mov_b32 v2, 0x3c01\nv_mov_b32 v3, 0x37fe\nv_mov_b32 v1, 0x6401\n"
     "v_fmac_f16 v1, v2, v3\nv_and_b32 v1, 0xffff, v1\n" STORE_V1},
    {"v_pk_fma_f16 rounds once", "gfx", 64, pair_rounded_once,
     "v_mov_b32 v2, 0xbc013c01\nv_mov_b32 v3, 0x37fe37fe\nv_mov_b32 v4, 0xe4016401\n"
     "v_pk_fma_f16 v1, v2, v3, v4\n" STORE_V1},
    {"v_mbcnt counts the lanes below", "gfx9", 128, prefix,
     "v_mbcnt_lo_u32_b32 v1, -1, 0\nv_mbcnt_hi_u32_b32 v1, -1, v1\n" STORE_V1},
    {"v_mbcnt counts the lanes below", "gfx11", 128, prefix32,
     "v_mbcnt_lo_u32_b32 v1, -1, 0\n" STORE_V1},
};

static void run_program(const struct program *p, const char *gpu)
{
    struct asm_result r;
    unsigned bad = 0;

    if (!asm_run(gpu, p->body, p->items, &r) || !r.ran) {
        ok(0, "%s: %s", gpu, p->name);
        tap_diag("%s", r.fault);
        return;
    }
    for (unsigned i = 0; i < p->items; i++)
        if (r.out[i] != p->want(i) && !bad++)
            tap_diag("item %u: got %u, want %u", i, r.out[i], p->want(i));
    ok(!bad, "%s: %s", gpu, p->name);
}

/* ---- division as compilers emit it must round correctly ---- */

static const char division[] =
    "global_load_dword v2, v5, s[2:3]\nglobal_load_dword v3, v5, s[2:3] offset:1024\n"
    "s_waitcnt vmcnt(0)\n"
    "v_div_scale_f32 v8, %s, v3, v3, v2\nv_div_scale_f32 v9, vcc%s, v2, v3, v2\n"
    "v_rcp_f32 v10, v8\n%s\nv_fma_f32 v11, -v8, v10, 1.0\nv_fma_f32 v10, v11, v10, v10\n"
    "v_mul_f32 v11, v9, v10\nv_fma_f32 v12, -v8, v11, v9\nv_fma_f32 v11, v12, v10, v11\n"
    "v_fma_f32 v8, -v8, v11, v9\ns_nop 4\nv_div_fmas_f32 v8, v8, v10, v11\n"
    "v_div_fixup_f32 v1, v8, v3, v2\ns_nop 4\n" STORE_V1;

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

/* Whole-range operands, denormals and large exponents among them: words 0..255 over words 256..511.
 */
static void fill_operands(uint32_t *words)
{
    static const uint32_t special[] = {0x00000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x3f800000,
                                       0x80000003, 0x7e800000, 0x01000000, 0xff000000, 0x4b000001};
    uint64_t state = 1;

    for (unsigned i = 0; i < 512; i++) {
        uint32_t x = next_random(&state);

        words[i] = i % 4 == 0                       ? special[x % 10]
                   : (x & 0x7f800000) == 0x7f800000 ? x ^ 0x20000000
                                                    : x;
    }
}

static void check_division(const char *gpu)
{
    bool wide = asm_is_wide(gpu);
    char body[sizeof division + 64];
    uint32_t words[ASM_WORDS], out[ASM_WORDS];
    unsigned bad = 0;
    char *image;
    hipModule_t module;
    hipFunction_t kernel;
    void *p = NULL, *args[] = {&p};

    snprintf(body, sizeof body, division, wide ? "s[10:11]" : "s10", wide ? "" : "_lo",
             wide ? "s_nop 0" : "s_waitcnt_depctr 0xfff");
    memset(words, 0, sizeof words);
    fill_operands(words);
    image = asm_build(gpu, body);
    if (!image || hipSetDevice((int)asm_device(gpu)) || hipModuleLoadData(&module, image) ||
        hipModuleGetFunction(&kernel, module, "k") || hipMalloc(&p, sizeof words) ||
        hipMemcpy(p, words, sizeof words, hipMemcpyHostToDevice) ||
        hipModuleLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, NULL, args, NULL) ||
        hipDeviceSynchronize() || hipMemcpy(out, p, sizeof out, hipMemcpyDeviceToHost)) {
        ok(0, "%s: division runs", gpu);
        free(image);
        return;
    }
    for (unsigned i = 0; i < 256; i++) {
        float a, b, q, want;

        memcpy(&a, &words[i], 4);
        memcpy(&b, &words[i + 256], 4);
        memcpy(&q, &out[i], 4);
        want = a / b;
        if (memcmp(&q, &want, 4) && !bad++)
            tap_diag("%a / %a: got %a, want %a", (double)a, (double)b, (double)q, (double)want);
    }
    ok(!bad, "%s: 256 divisions are rounded correctly (%u are not)", gpu, bad);
    (void)hipFree(p);
    (void)hipModuleUnload(module);
    free(image);
}

int main(void)
{
    asm_need_tools();
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (unsigned g = 0; g < 4; g++)
            if (strncmp(asm_gpus[g], programs[i].gpus, strlen(programs[i].gpus)) == 0)
                run_program(&programs[i], asm_gpus[g]);
    for (unsigned g = 0; g < 4; g++)
        check_division(asm_gpus[g]);
    return tap_done();
}
