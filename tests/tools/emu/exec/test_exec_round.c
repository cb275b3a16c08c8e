/*
 * Correct rounding where it is easily lost: divisions of f64 as compilers emit them, f16 sums whose
 * exact value lies so near the middle of two numbers that a rounding to f32 on the way shows.
 */
#include <math.h>

#include "test_exec_asm.h"

enum { ITEMS = 64 };

/* words 0..1023 in, the same words out. */
static bool run_words(const char *gpu, const char *body, const uint32_t *in, uint32_t *out)
{
    char *image = asm_build(gpu, body);
    hipModule_t module = NULL;
    hipFunction_t kernel;
    void *p = NULL, *args[] = {&p};
    size_t size = ASM_WORDS * sizeof *in;
    bool good = image && !hipSetDevice((int)asm_device(gpu)) &&
                !hipModuleLoadData(&module, image) && !hipModuleGetFunction(&kernel, module, "k") &&
                !hipMalloc(&p, size) && !hipMemcpy(p, in, size, hipMemcpyHostToDevice) &&
                !hipModuleLaunchKernel(kernel, 1, 1, 1, ITEMS, 1, 1, 0, NULL, args, NULL) &&
                !hipMemcpy(out, p, size, hipMemcpyDeviceToHost);

    if (!good)
        tap_diag("%s", emu_last_fault());
    if (p)
        (void)hipFree(p);
    if (module)
        (void)hipModuleUnload(module);
    free(image);
    return good;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 32 | *state << 32;
}

/* ---- f64: a[i] at double i, b[i] at double 64 + i, quotients at double 128 + i */

static const char division[] =
    "v_lshlrev_b32 v5, 3, v0\nglobal_load_%s v[2:3], v5, s[2:3]\n"
    "global_load_%s v[6:7], v5, s[2:3] offset:512\ns_waitcnt vmcnt(0)\n"
    "v_div_scale_f64 v[8:9], %s, v[6:7], v[6:7], v[2:3]\n"
    "v_div_scale_f64 v[10:11], vcc%s, v[2:3], v[6:7], v[2:3]\n"
    "v_rcp_f64 v[12:13], v[8:9]\n%s\nv_fma_f64 v[14:15], -v[8:9], v[12:13], 1.0\n"
    "v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]\n"
    "v_fma_f64 v[14:15], -v[8:9], v[12:13], 1.0\n"
    "v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]\n"
    "v_mul_f64 v[14:15], v[10:11], v[12:13]\n"
    "v_fma_f64 v[16:17], -v[8:9], v[14:15], v[10:11]\ns_nop 4\n"
    "v_div_fmas_f64 v[16:17], v[16:17], v[12:13], v[14:15]\n"
    "v_div_fixup_f64 v[16:17], v[16:17], v[6:7], v[2:3]\ns_nop 4\n"
    "global_store_%s v5, v[16:17], s[2:3] offset:1024\n";

static void fill_doubles(uint32_t *words, uint64_t seed)
{
    static const uint64_t special[] = {UINT64_C(1),
                                       UINT64_C(0x000fffffffffffff),
                                       UINT64_C(0x0010000000000000),
                                       UINT64_C(0x7fefffffffffffff),
                                       UINT64_C(0x3ff0000000000000),
                                       UINT64_C(0x8000000000000003),
                                       UINT64_C(0x7fd0000000000000),
                                       UINT64_C(0x0020000000000001),
                                       UINT64_C(0xffe0000000000000),
                                       UINT64_C(0x3ff0000000000001),
                                       UINT64_C(0),
                                       UINT64_C(0x7ff0000000000000)};

    for (unsigned i = 0; i < 2 * ITEMS; i++) {
        uint64_t x = next_random(&seed);

        if (i % 4 == 0)
            x = special[x % (sizeof special / sizeof *special)];
        else if (i % 4 < 3 && x >> 52 & 1) /* near one another: the quotient is near one */
            x = (x & UINT64_C(0x800fffffffffffff)) | UINT64_C(0x3ff0000000000000);
        else if ((x >> 52 & 0x7ff) == 0x7ff)
            x ^= UINT64_C(1) << 61;
        memcpy(words + 2 * i, &x, sizeof x);
    }
}

static void divide(const char *gpu)
{
    bool wide = asm_is_wide(gpu);
    const char *size = wide ? "dwordx2" : "b64";
    char body[sizeof division + 64];
    uint32_t in[ASM_WORDS] = {0}, out[ASM_WORDS];
    unsigned bad = 0;

    snprintf(body, sizeof body, division, size, size, wide ? "s[10:11]" : "s10", wide ? "" : "_lo",
             wide ? "s_nop 4" : "s_waitcnt_depctr 0xfff", size);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        fill_doubles(in, seed);
        if (!run_words(gpu, body, in, out)) {
            ok(0, "%s: division of f64 runs", gpu);
            return;
        }
        for (unsigned i = 0; i < ITEMS; i++) {
            double a, b, q, want;

            memcpy(&a, in + 2 * i, 8);
            memcpy(&b, in + 2 * (ITEMS + i), 8);
            memcpy(&q, out + 2 * (2 * ITEMS + i), 8);
            want = a / b;
            if (memcmp(&q, &want, 8) && !(q != q && want != want) && !bad++)
                tap_diag("%a / %a: got %a, want %a", a, b, q, want);
        }
    }
    ok(!bad, "%s: 256 divisions of f64 are rounded correctly (%u are not)", gpu, bad);
}

/* ---- f16: x * y + z with the exact sum just beside the middle between two numbers */

struct near_middle {
    uint16_t x, y, z, want;
};

/*
 * x and y have significands whose product is 2^21 + k: scaled to 2^-11 it is half a last place of
 * z = 1 and k * 2^-32 more, which f32 cannot hold. k above 0 rounds away, below 0 back to 1.
 */
static unsigned make_cases(struct near_middle *c, unsigned room)
{
    unsigned n = 0;

    for (unsigned p = 1024; p < 2048 && n < room; p++) {
        unsigned q = ((1u << 21) + p / 2) / p;
        int k = (int)(p * q) - (1 << 21);

        if (q < 1024 || q > 2047 || k == 0 || k > 200 || k < -200)
            continue;
        /* x = p * 2^-13, y = q * 2^-19: together (2^21 + k) * 2^-32; half of them below zero */
        c[n] = (struct near_middle){(uint16_t)(12 << 10 | (p - 1024)),
                                    (uint16_t)(6 << 10 | (q - 1024)), 0x3c00,
                                    (uint16_t)(k > 0 ? 0x3c01 : 0x3c00)};
        if (n & 1) {
            c[n].x |= 0x8000;
            c[n].z |= 0x8000;
            c[n].want |= 0x8000;
        }
        n++;
    }
    return n;
}

static void sums_of(const char *gpu, const char *name, const char *text,
                    const struct near_middle *c)
{
    uint32_t in[ASM_WORDS] = {0}, out[ASM_WORDS];
    char body[1024];
    unsigned bad = 0;

    for (unsigned i = 0; i < ITEMS; i++) {
        in[i] = c[i].x;
        in[ITEMS + i] = c[i].y;
        in[2 * ITEMS + i] = c[i].z;
    }
    snprintf(body, sizeof body,
             "global_load_dword v6, v5, s[2:3]\nglobal_load_dword v7, v5, s[2:3] offset:256\n"
             "global_load_dword v1, v5, s[2:3] offset:512\ns_waitcnt vmcnt(0)\n%s\n"
             "v_and_b32 v1, 0xffff, v1\nglobal_store_dword v5, v1, s[2:3]\n",
             text);
    if (!run_words(gpu, body, in, out)) {
        ok(0, "%s: %s runs", gpu, name);
        return;
    }
    for (unsigned i = 0; i < ITEMS; i++)
        if (out[i] != c[i].want && !bad++)
            tap_diag("%04x * %04x + %04x: got %04x, want %04x", c[i].x, c[i].y, c[i].z, out[i],
                     c[i].want);
    ok(!bad, "%s: %s rounds once", gpu, name);
}

static void halves(const char *gpu)
{
    static struct near_middle c[ITEMS];

    if (make_cases(c, ITEMS) < ITEMS) {
        ok(0, "enough products near 2^21");
        return;
    }
    sums_of(gpu, "v_fma_f16", "v_fma_f16 v1, v6, v7, v1", c);
    sums_of(gpu, "v_pk_fma_f16", "v_pk_fma_f16 v1, v6, v7, v1", c);
    if (!asm_is_wide(gpu))
        sums_of(gpu, "v_fmac_f16", "v_fmac_f16 v1, v6, v7", c);
}

int main(void)
{
    asm_need_tools();
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    setenv("AOTHIP_EMU_MODE", "strict", 1);
    for (unsigned g = 0; g < 4; g++) {
        divide(asm_gpus[g]);
        halves(asm_gpus[g]);
    }
    return tap_done();
}
