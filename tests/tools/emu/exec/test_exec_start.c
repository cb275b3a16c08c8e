/*
 * How a wave starts, beyond what the other tests' kernels ask for: preloaded kernel arguments,
 * dynamic LDS; the order of waves; code that assemblers newer than LLVM 19 make; every processor of
 * gfx11.
 */
#include "test_exec_asm.h"

/*
 * The first 256 bytes are for firmware that cannot preload; this emulator can, so they must not
 * run. Arguments: out at 0, a number at 8, one at 12, a last one at 16 that is not preloaded.
 */
struct preload {
    unsigned length, offset; /* dwords */
    const char *body;
};

static void write_preload(FILE *f, const char *gpu, const void *what)
{
    const struct preload *p = what;

    (void)gpu;
    fprintf(f,
            ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\ns_trap 2\n.p2align 8\n"
            "v_lshlrev_b32 v5, 2, v0\n%s\ns_endpgm\n.Lend:\n.size k, .Lend-k\n",
            p->body);
    fprintf(f,
            ".rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
            ".amdhsa_user_sgpr_kernarg_preload_length %u\n"
            ".amdhsa_user_sgpr_kernarg_preload_offset %u\n"
            ".amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 32\n.amdhsa_accum_offset 8\n"
            ".amdhsa_system_sgpr_workgroup_id_x 1\n.end_amdhsa_kernel\n",
            p->length, p->offset);
    fprintf(f,
            ".amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n"
            "  - .name: k\n    .symbol: k.kd\n    .kernarg_segment_size: 20\n"
            "    .kernarg_segment_align: 8\n    .group_segment_fixed_size: 0\n"
            "    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n    .sgpr_count: 32\n"
            "    .vgpr_count: 8\n    .max_flat_workgroup_size: 1024\n    .args:\n"
            "      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}\n"
            "      - {.offset: 8, .size: 4, .value_kind: by_value}\n"
            "      - {.offset: 12, .size: 4, .value_kind: by_value}\n"
            "      - {.offset: 16, .size: 4, .value_kind: by_value}\n"
            "...\n.end_amdgpu_metadata\n");
}

static void preloaded(const char *gpu, const char *what, const struct preload *p,
                      const uint32_t want[2])
{
    char *image = asm_assemble(gpu, p, write_preload);
    uint32_t a = 1000, b = 20, c = 3, got[128] = {0};
    void *out = NULL, *args[] = {&out, &a, &b, &c};
    hipModule_t module = NULL;
    hipFunction_t kernel;
    bool good;

    good = image && !hipSetDevice((int)asm_device(gpu)) && !hipModuleLoadData(&module, image) &&
           !hipModuleGetFunction(&kernel, module, "k") && !hipMalloc(&out, sizeof got) &&
           !hipModuleLaunchKernel(kernel, 2, 1, 1, 64, 1, 1, 0, NULL, args, NULL) &&
           !hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost);
    ok(good, "%s: %s: runs", gpu, what);
    if (!good)
        tap_diag("%s", emu_last_fault());
    for (unsigned i = 0; i < 2; i++)
        is_int(got[64 * i + 63], want[i], "the last item of each group");
    if (out)
        (void)hipFree(out);
    if (module)
        (void)hipModuleUnload(module);
    free(image);
}

/* s[0:1] points to the arguments, the preloaded ones stand behind, then the workgroup's number. */
static void preloads(const char *gpu)
{
    static const char store[] = "global_store_dword v5, v1, s[2:3]\n";
    char body[512];
    struct preload p = {4, 0, body};

    snprintf(body, sizeof body,
             "s_add_u32 s4, s4, s5\ns_lshl_b32 s7, s6, 8\ns_add_u32 s2, s2, s7\n"
             "s_addc_u32 s3, s3, 0\ns_load_dword s8, s[0:1], 0x10\ns_waitcnt lgkmcnt(0)\n"
             "s_add_u32 s4, s4, s8\ns_add_u32 s4, s4, s6\nv_mov_b32 v1, s4\n%s",
             store);
    preloaded(gpu, "all but one argument", &p, (const uint32_t[]){1023, 1024});
    p = (struct preload){2, 3, body};
    snprintf(body, sizeof body,
             "s_mov_b32 s10, s2\ns_mov_b32 s11, s3\ns_mov_b32 s12, s4\n"
             "s_load_dwordx2 s[2:3], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_lshl_b32 s7, s12, 8\n"
             "s_add_u32 s2, s2, s7\ns_addc_u32 s3, s3, 0\ns_lshl_b32 s10, s10, 8\n"
             "s_add_u32 s10, s10, s11\ns_add_u32 s10, s10, s12\nv_mov_b32 v1, s10\n%s",
             store);
    preloaded(gpu, "the last two arguments", &p, (const uint32_t[]){20 * 256 + 3, 20 * 256 + 4});
}

/* More registers than there are arguments: the loader says so. */
static void refused(const char *gpu)
{
    const struct preload p = {6, 0, "s_nop 0\n"};
    char *image = asm_assemble(gpu, &p, write_preload);
    hipModule_t module = NULL;

    ok(image && hipModuleLoadData(&module, image) != hipSuccess,
       "%s: preloading past the arguments", gpu);
    contains(emu_last_text(), "6 dwords from 0", "the text says how many");
    free(image);
}

/* ---- words of newer assemblers; the kernel of test_exec_asm.h */

#define STORE_V1 "global_store_dword v5, v1, s[2:3]\n"

struct words {
    const char *name, *body;
    uint32_t want; /* of item 1 */
};

static const struct words words[] = {
    {"v_mov_b32 v1, v0 as ever", "v_mov_b32 v1, v0\n" STORE_V1, 1},
    {"v_lshlrev_b64 with 0x80 for its third source",
     "v_mov_b32 v2, v0\nv_mov_b32 v3, 0\n.long 0xd73c0006, 0x02020482\nv_mov_b32 v1, v6\n" STORE_V1,
     4},
    {"v_cvt_f16_f32_e32 v1.h, v2",
     "v_mov_b32 v1, 0x1234\nv_mov_b32 v2, 1.0\n.long 0x7f021502\n" STORE_V1, 0x3c001234},
    {"v_mov_b16_e64 v1.l, v2.h",
     "v_mov_b32 v1, 0x1234\nv_mov_b32 v2, 0x56780000\n.long 0xd59c0801, 0x00000102\n" STORE_V1,
     0x5678},
    {"v_mov_b16_e32 v1.h, v2.l",
     "v_mov_b32 v1, 0x1234\nv_mov_b32 v2, 0x5678\n.long 0x7f023902\n" STORE_V1, 0x56781234},
    {"v_or_b16 v1.h, v2.l, v3.h",
     "v_mov_b32 v1, 0x1234\nv_mov_b32 v2, 0x0f00\nv_mov_b32 v3, 0x00f00001\n"
     ".long 0xd7635001, 0x02020702\n" STORE_V1,
     0x0ff01234},
    {"v_add_f16_e32 v1.h, v2.h, v3.h",
     "v_mov_b32 v1, 0x1234\nv_mov_b32 v2, 0x3c000000\nv_mov_b32 v3, 0x40000000\n"
     ".long 0x65030782\n" STORE_V1,
     0x42001234},
    {"v_fmac_f16_e32 v1.h, v2.l, v3.l adds to the half it writes",
     "v_mov_b32 v1, 0x3c004000\nv_mov_b32 v2, 0x4000\nv_mov_b32 v3, 0x4000\n"
     ".long 0x6d020702\n" STORE_V1,
     0x45004000},
    {"v_cvt_f32_f16_e32 v1, v2.h", "v_mov_b32 v2, 0x3c000000\n.long 0x7e021782\n" STORE_V1,
     0x3f800000},
};

static void run_words(const char *gpu)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct asm_result r;

        if (!asm_run(gpu, words[i].body, 32, &r) || !r.ran) {
            ok(0, "%s: %s", gpu, words[i].name);
            tap_diag("%s", r.fault);
            continue;
        }
        ok(r.out[1] == words[i].want, "%s: %s", gpu, words[i].name);
        if (r.out[1] != words[i].want)
            tap_diag("got 0x%x, expected 0x%x", r.out[1], words[i].want);
    }
}

/* ---- LDS that the launch adds */

static void dynamic_lds(const char *gpu)
{
    char *image = asm_build(gpu, "v_mov_b32 v6, 0x1400\nv_mov_b32 v1, 42\nds_write_b32 v6, v1\n"
                                 "ds_read_b32 v1, v6\ns_waitcnt lgkmcnt(0)\n" STORE_V1);
    hipModule_t module = NULL;
    hipFunction_t kernel;
    uint32_t got = 0;
    void *out = NULL, *args[] = {&out};

    if (!image || hipSetDevice((int)asm_device(gpu)) || hipModuleLoadData(&module, image) ||
        hipModuleGetFunction(&kernel, module, "k") || hipMalloc(&out, 4096)) {
        ok(0, "%s: cannot load", gpu);
        free(image);
        return;
    }
    ok(hipModuleLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 4096, NULL, args, NULL) != hipSuccess,
       "%s: LDS behind 1 KiB of the kernel and 4 of the launch", gpu);
    contains(emu_last_fault(), "offset 5120, the workgroup has 5120", "the report says where");
    ok(hipModuleLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 4100, NULL, args, NULL) == hipSuccess,
       "%s: four bytes more", gpu);
    ok(!hipMemcpy(&got, out, 4, hipMemcpyDeviceToHost) && got == 42, "%s: hold the value", gpu);
    (void)hipFree(out);
    (void)hipModuleUnload(module);
    free(image);
}

/* ---- orders: four waves draw tickets, in three launches */

static void orders(const char *gpu)
{
    char body[512];
    bool wide = asm_is_wide(gpu);
    unsigned lanes = wide ? 64 : 32, up = 0, down = 0;

    snprintf(body, sizeof body,
             "v_mov_b32 v6, 1\nv_mov_b32 v7, 0x800\ns_mov_b%s, 1\n"
             "global_atomic_add%s v1, v7, v6, s[2:3] %s\ns_waitcnt vmcnt(0)\n" STORE_V1,
             wide ? "64 exec" : "32 exec_lo", wide ? "" : "_u32",
             strcmp(gpu, "gfx942") == 0 ? "sc0" : "glc");
    for (unsigned launch = 0; launch < 3; launch++) {
        struct asm_result r;
        bool good = asm_run(gpu, body, 4 * lanes, &r) && r.ran;

        ok(good, "%s: four waves draw tickets", gpu);
        up += good && r.out[0] == 512 && r.out[lanes] == 513 && r.out[3 * lanes] == 515;
        down += good && r.out[0] == 515 && r.out[lanes] == 514 && r.out[3 * lanes] == 512;
    }
    ok(up && down, "%s: of three launches one runs ascending, one descending", gpu);
}

/* ---- clocks: 64 bits that go on with each reading */

#define LATER                                                                                      \
    "s_sub_u32 s14, s12, s10\ns_subb_u32 s15, s13, s11\ns_cmp_eq_u32 s15, 0\n"                     \
    "s_cselect_b32 s15, 1, 0\ns_cmp_lg_u32 s14, 0\ns_cselect_b32 s15, s15, 0\n"                    \
    "v_mov_b32 v1, s15\n" STORE_V1
#define TWICE(clock, message)                                                                      \
    clock " s[10:11]" message "\ns_waitcnt lgkmcnt(0)\n" clock " s[12:13]" message                 \
          "\ns_waitcnt lgkmcnt(0)\n" LATER

static void read_clock(const char *gpu, const char *name, const char *body, uint32_t want)
{
    struct asm_result r;
    bool good = asm_run(gpu, body, 32, &r) && r.ran;

    ok(good && r.out[1] == want, "%s: %s", gpu, name);
    if (!good)
        tap_diag("%s", r.fault);
}

static void read_clocks(const char *gpu)
{
    if (asm_is_wide(gpu)) {
        read_clock(gpu, "s_memtime", TWICE("s_memtime", ""), 1);
        read_clock(gpu, "s_memrealtime", TWICE("s_memrealtime", ""), 1);
        return;
    }
    read_clock(gpu, "s_sendmsg_rtn_b64",
               TWICE("s_sendmsg_rtn_b64", ", sendmsg(MSG_RTN_GET_REALTIME)"), 1);
    read_clock(gpu, "s_sendmsg_rtn_b32: no doorbell",
               "s_mov_b32 s11, 3\ns_sendmsg_rtn_b32 s10, sendmsg(MSG_RTN_GET_DOORBELL)\n"
               "s_waitcnt lgkmcnt(0)\ns_add_u32 s10, s10, s11\nv_mov_b32 v1, s10\n" STORE_V1,
               3);
}

/* ---- processors that share an instruction set; LLVM 19 has no name for the last */

static const char *const processors[] = {"gfx1100", "gfx1101", "gfx1102", "gfx1103",
                                         "gfx1150", "gfx1151", "gfx1152", "gfx1153"};
enum { PROCESSORS = sizeof processors / sizeof *processors, FIRST_PROCESSOR = 4 };

static bool loads(const char *image, unsigned device, hipModule_t *module)
{
    return !hipSetDevice((int)device) && !hipModuleLoadData(module, image);
}

/* v8: 16, a product of matrices of ones; by way of LDS the neighbour's is added, and v6 */
#define SUM_UP                                                                                     \
    ".set i, 8\n.rept 8\nv_mov_b32 v[i], 0\n.set i, i + 1\n.endr\n"                                \
    ".rept 16\nv_mov_b32 v[i], 0x3c003c00\n.set i, i + 1\n.endr\n"                                 \
    "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], v[8:15]\nv_nop\n"                        \
    "ds_store_b32 v5, v8\nv_xor_b32 v7, 4, v5\ns_waitcnt lgkmcnt(0)\nds_load_b32 v7, v7\n"         \
    "s_waitcnt lgkmcnt(0)\nv_add_f32 v1, v7, v8\nv_add_f32 v1, v1, v6\nv_cvt_u32_f32 v1, "         \
    "v1\n" STORE_V1

static void processor(unsigned i)
{
    static const char body11[] = "v_mul_f32 v6, 2.0, 3.0\n" SUM_UP;
    static const char body115[] =
        "s_mov_b32 s10, 3.0\ns_mul_f32 s10, s10, 2.0\nv_mov_b32 v6, s10\n" SUM_UP;
    const char *gpu = processors[i], *known = i < PROCESSORS - 1 ? gpu : processors[i - 1];
    char *image = asm_build(known, i < 4 ? body11 : body115);
    unsigned device = FIRST_PROCESSOR + i, other = FIRST_PROCESSOR + (i + 1) % PROCESSORS;
    hipModule_t module = NULL, none = NULL;
    hipFunction_t kernel;
    uint32_t got = 0;
    void *out = NULL, *args[] = {&out};
    bool good;

    if (image && known != gpu)
        image[0x30] = 0x58; /* the processor in e_flags */
    good = image && loads(image, device, &module) && !hipModuleGetFunction(&kernel, module, "k") &&
           !hipMalloc(&out, 4096) &&
           !hipModuleLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL) &&
           !hipMemcpy(&got, out, 4, hipMemcpyDeviceToHost);
    ok(good && got == 38, "%s: its code object runs, with WMMA and LDS", gpu);
    if (!good)
        tap_diag("%s\n# %s", emu_last_text(), emu_last_fault());
    ok(image && !loads(image, other, &none), "and not on %s", processors[(i + 1) % PROCESSORS]);
    if (out)
        (void)hipFree(out);
    if (module)
        (void)hipModuleUnload(module);
    free(image);
}

int main(void)
{
    asm_need_tools();
    setenv("AOTHIP_EMU_GPU",
           "gfx90a,gfx942,gfx1100,gfx1151,"
           "gfx1100,gfx1101,gfx1102,gfx1103,gfx1150,gfx1151,gfx1152,gfx1153",
           1);
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    for (unsigned i = 0; i < 2; i++) {
        preloads(asm_gpus[i]);
        refused(asm_gpus[i]);
        run_words(asm_gpus[2 + i]);
    }
    for (unsigned i = 0; i < 4; i++) {
        dynamic_lds(asm_gpus[i]);
        read_clocks(asm_gpus[i]);
    }
    orders("gfx942");
    orders("gfx1100");
    for (unsigned i = 0; i < PROCESSORS; i++)
        processor(i);
    return tap_done();
}
