/*
 * Missing wait states as warnings (AOTHIP_EMU_WAITS=warn): the kernel runs on, its results are
 * right, each place is reported once, with a count, and the counters file has the sum. Every kernel
 * is launched twice.
 */
#include "test_exec_asm.h"

const char *emu_last_warnings(void); /* tools/emu/session */

struct program {
    const char *name, *gpu;
    unsigned items, places;
    const char *says[3]; /* in the report, in this order; NULL: no more */
    const char *body;    /* leaves 7 times its number to each item in v1 */
    unsigned missing;    /* instructions that ran too early, in one launch */
};

#define SEVEN "v_mul_u32_u24 v1, 7, v0\n"
/* v6: the item's number in f32, exactly; 2^-v6 of it is v7, and 1 is v8 in the end */
#define HALVES "v_mov_b32 v6, 0\nv_exp_f32 v7, v6\n"

static const struct program programs[] = {
    {"nothing missing", "gfx942", 64, 0, {NULL}, SEVEN, 0},
    {"M0 before a load to LDS",
     "gfx942",
     64,
     1,
     {"m0 written by SALU before it is used, register 124: 0 wait states where 1 are needed",
      "buffer_load_dword v5", "\n  1 times until"},
     "s_add_u32 s8, s2, 0x800\ns_addc_u32 s9, s3, 0\ns_movk_i32 s10, 0x100\n"
     "s_mov_b32 s11, 0x27000\ns_mov_b32 m0, 0\n"
     "buffer_load_dword v5, s[8:11], 0 offen lds\ns_waitcnt vmcnt(0)\n" SEVEN,
     1},
    {"SGPR written by VALU, in a loop of three",
     "gfx942",
     128,
     1,
     {"SGPR written by VALU and read by VALU, register 14: 0 wait states where 2 are needed",
      "v_add_u32", "\n  6 times until"},
     "s_mov_b32 s10, 0\n.Lloop:\ns_nop 4\nv_readfirstlane_b32 s14, v0\nv_add_u32_e32 v6, s14, v0\n"
     "s_add_u32 s10, s10, 1\ns_cmp_lt_u32 s10, 3\ns_cbranch_scc1 .Lloop\n" SEVEN,
     6},
    {"a matrix result, four registers of which are read",
     "gfx942",
     64,
     2,
     {"matrix result read, row 16: 0 wait states where 7 are needed", "\n  1 times until",
      "matrix result read, row 18: 1 wait states where 7 are needed"},
     "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 3\n"
     "v_mfma_f32_16x16x16_f16 v[16:19], v[10:11], v[10:11], 0\n"
     "v_add_f32 v20, v16, v17\nv_add_f32 v20, v18, v17\ns_nop 15\n" SEVEN,
     2},
    {"a transcendental result",
     "gfx1100",
     64,
     1,
     {"transcendental result in v7 used: missing s_waitcnt_depctr va_vdst(0)", "v_add_f32",
      "\n  2 times until"},
     HALVES "v_add_f32 v8, v7, v7\n" SEVEN,
     2},
    {"buffer_gl0_inv waits for it, as LLVM has it",
     "gfx1100",
     64,
     0,
     {NULL},
     HALVES "buffer_gl0_inv\nv_add_f32 v8, v7, v7\n" SEVEN,
     0},
    {"a barrier does not",
     "gfx1100",
     64,
     1,
     {"transcendental result in v7 used", "v_add_f32", "\n  2 times until"},
     HALVES "s_barrier\nv_add_f32 v8, v7, v7\n" SEVEN,
     2},
    {"nor does lds_direct_load",
     "gfx1100 -mattr=+cumode",
     64,
     1,
     {"transcendental result in v7 used", "v_add_f32", "\n  2 times until"},
     HALVES "v_mov_b32 v9, 0\nds_store_b32 v5, v9\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
            "v_exp_f32 v7, v6\ns_mov_b32 m0, 0x20000\nlds_direct_load v9 wait_vdst:15\n"
            "v_add_f32 v8, v7, v7\ns_waitcnt expcnt(0)\n" SEVEN,
     2},
    {"a dependent WMMA",
     "gfx1151",
     32,
     1,
     {"result of the WMMA before in v24 read as A or B: missing v_nop", "\n  1 times until"},
     "v_mov_b32 v8, 0\nv_mov_b32 v9, 0\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v12, 0\n"
     "v_mov_b32 v13, 0\nv_mov_b32 v14, 0\nv_mov_b32 v15, 0\n"
     "v_wmma_f16_16x16x16_f16 v[24:31], v[8:15], v[8:15], 0\n"
     "v_wmma_f32_16x16x16_f16 v[32:39], v[24:31], v[8:15], 0\n" SEVEN,
     1},
};

static unsigned occurrences(const char *text, const char *what)
{
    unsigned n = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

static bool says(const char *text, const struct program *p)
{
    for (unsigned i = 0; i < 3 && p->says[i]; i++) {
        text = strstr(text, p->says[i]);
        if (!text)
            return false;
    }
    return true;
}

/* Of the counters' last launch. */
static long counted(const char *name)
{
    static char text[1 << 16];
    FILE *f = fopen(name, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    const char *at = text, *last = NULL;

    if (f)
        fclose(f);
    text[n] = 0;
    while ((at = strstr(at, "\"missing_waits\": ")) != NULL)
        last = at++;
    return last ? strtol(last + 17, NULL, 10) : -1;
}

static bool launch(hipFunction_t kernel, void *out, unsigned items, uint32_t *words)
{
    void *args[] = {&out};

    return !hipModuleLaunchKernel(kernel, 1, 1, 1, items, 1, 1, 0, NULL, args, NULL) &&
           !hipDeviceSynchronize() && !hipMemcpy(words, out, 4 * items, hipMemcpyDeviceToHost);
}

static void run(const struct program *p, const char *counters)
{
    char body[2048], *image;
    uint32_t words[ASM_WORDS] = {0};
    hipModule_t module;
    hipFunction_t kernel;
    void *out = NULL;
    unsigned bad = 0;

    snprintf(body, sizeof body, "%sglobal_store_dword v5, v1, s[2:3]\n", p->body);
    image = asm_build(p->gpu, body);
    if (!image || hipSetDevice((int)asm_device(p->gpu)) || hipModuleLoadData(&module, image) ||
        hipModuleGetFunction(&kernel, module, "k") || hipMalloc(&out, sizeof words) ||
        hipMemcpy(out, words, sizeof words, hipMemcpyHostToDevice)) {
        ok(0, "%s: %s: cannot be built", p->gpu, p->name);
        free(image);
        return;
    }
    ok(launch(kernel, out, p->items, words), "%s: %s: runs%s%s", p->gpu, p->name,
       *emu_last_fault() ? "\n# " : "", emu_last_fault());
    for (unsigned i = 0; i < p->items; i++)
        bad += words[i] != 7 * i;
    ok(!bad, "... and its results are right");
    ok(occurrences(emu_last_warnings(), "hipemu: warning: ") == p->places &&
           says(emu_last_warnings(), p),
       "... each of %u places is reported, with its count", p->places);
    if (!says(emu_last_warnings(), p))
        tap_diag("%s", emu_last_warnings());
    ok(counted(counters) == (long)p->missing, "... and counted");
    ok(launch(kernel, out, p->items, words) && !*emu_last_warnings() &&
           counted(counters) == (long)p->missing,
       "... the second launch has nothing new to say, and counts again");
    (void)hipFree(out);
    (void)hipModuleUnload(module);
    free(image);
}

int main(void)
{
    char counters[] = "/tmp/test_strict_waits_XXXXXX";
    int fd;

    asm_need_tools();
    fd = mkstemp(counters);
    if (fd >= 0)
        close(fd);
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    setenv("AOTHIP_EMU_WAITS", "warn", 1);
    setenv("AOTHIP_EMU_COUNTERS", counters, 1);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        run(&programs[i], counters);
    unlink(counters);
    return tap_done();
}
