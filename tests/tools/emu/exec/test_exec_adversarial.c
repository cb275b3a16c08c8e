/*
 * AOTHIP_EMU_MATRIX=adversarial: results differ from the usual ones, within what hardware may do,
 * and from seed to seed. Transcendentals are off by at most one last place, and powers of two,
 * which come out exact, are not; elements of matrix products have the rounding errors of some
 * order.
 */
#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "test_exec_asm.h"

enum { SEEDS = 2, GPUS = 4, TRANS = 5, CASES = TRANS + 2, MATRIX = TRANS, EXACT = TRANS + 1 };

/* What one run of each case gave, by seed and GPU. */
static struct outcome {
    bool ran;
    uint32_t out[256];
} (*all)[GPUS][CASES];

static double power_of_two(double x)
{
    return exp2(x);
}

static double reciprocal(double x)
{
    return 1 / x;
}

static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}

static const struct {
    const char *name;
    double (*f)(double);
} trans[TRANS] = {{"v_exp_f32", power_of_two},
                  {"v_log_f32", log2},
                  {"v_rcp_f32", reciprocal},
                  {"v_rsq_f32", reciprocal_root},
                  {"v_sqrt_f32", sqrt}};

/* ---- the operands of a matrix product, here and in the kernel ---- */

static uint32_t halves(unsigned lane, unsigned reg)
{
    uint32_t h = (lane * 0x9e37 + reg * 0x1234567) * 0x9e3779b1u;

    h ^= h >> 15;
    return (h & 0x03ff03ff) | 0x38003800; /* two numbers from 0.5 to 1 */
}

static size_t say_halves(char *to, size_t room, unsigned reg)
{
    return (size_t)snprintf(to, room,
                            "v_mul_u32_u24 v%u, 0x9e37, v1\nv_add_u32 v%u, %#x, v%u\n"
                            "v_mul_lo_u32 v%u, v%u, s8\nv_lshrrev_b32 v2, 15, v%u\n"
                            "v_xor_b32 v%u, v2, v%u\nv_and_b32 v%u, 0x3ff03ff, v%u\n"
                            "v_or_b32 v%u, 0x38003800, v%u\n",
                            reg, reg, reg * 0x1234567, reg, reg, reg, reg, reg, reg, reg, reg, reg,
                            reg);
}

static double half_of(uint32_t dword, unsigned which)
{
    return ldexp(1024 + (dword >> 16 * which & 0x3ff), -11);
}

/* Operands of 16x16x16: A from register 16 on, B from 24 on. */
static double operand(bool wide, unsigned first, unsigned i, unsigned k)
{
    unsigned lane = wide ? i + 16 * (k / 4) : i, item = wide ? k % 4 : k;

    return half_of(halves(lane, first + item / 2), item % 2);
}

static void matrix_text(char *text, size_t room, const char *gpu)
{
    bool wide = asm_is_wide(gpu);
    unsigned regs = wide ? 2 : 8, d = wide ? 4 : 8, lanes = wide ? 64 : 32;
    size_t n = (size_t)snprintf(text, room, "s_mov_b32 s8, 0x9e3779b1\nv_and_b32 v1, %u, v0\n",
                                wide ? 63u : 15u);

    for (unsigned r = 0; r < regs; r++) {
        n += say_halves(text + n, room - n, 16 + r);
        n += say_halves(text + n, room - n, 24 + r);
    }
    for (unsigned r = 0; r < d; r++)
        n += (size_t)snprintf(text + n, room - n, "v_mov_b32 v%u, 0\n", 8 + r);
    n += (size_t)snprintf(text + n, room - n, "%s\ns_nop 15\n",
                          !wide ? "v_wmma_f32_16x16x16_f16 v[8:15], v[16:23], v[24:31], v[8:15]"
                          : strcmp(gpu, "gfx90a") == 0
                              ? "v_mfma_f32_16x16x16f16 v[8:11], v[16:17], v[24:25], v[8:11]"
                              : "v_mfma_f32_16x16x16_f16 v[8:11], v[16:17], v[24:25], v[8:11]");
    for (unsigned r = 0; r < d; r++)
        n += (size_t)snprintf(text + n, room - n, "global_store_dword v5, v%u, s[2:3] offset:%u\n",
                              8 + r, 4 * r * lanes);
}

/* ---- the runs ---- */

static float argument(unsigned lane)
{
    volatile float scaled = (float)lane * 0.3f;

    return scaled + 0.67f;
}

static void run_case(const char *gpu, const char *body, struct outcome *to)
{
    static struct asm_result r;

    to->ran = asm_run(gpu, body, asm_is_wide(gpu) ? 64 : 32, &r) && r.ran;
    memcpy(to->out, r.out, sizeof to->out);
}

static void run_all(unsigned seed)
{
    char text[8192];

    snprintf(text, sizeof text, "%u", seed + 1);
    setenv("AOTHIP_EMU_SEED", text, 1);
    for (unsigned g = 0; g < GPUS; g++) {
        for (unsigned i = 0; i < TRANS; i++) {
            snprintf(text, sizeof text,
                     "v_cvt_f32_u32 v1, v0\nv_mul_f32 v1, 0x3e99999a, v1\n"
                     "v_add_f32 v1, 0x3f2b851f, v1\n%s v2, v1\ns_nop 4\n"
                     "global_store_dword v5, v2, s[2:3]\n",
                     trans[i].name);
            run_case(asm_gpus[g], text, &all[seed][g][i]);
        }
        matrix_text(text, sizeof text, asm_gpus[g]);
        run_case(asm_gpus[g], text, &all[seed][g][MATRIX]);
        run_case(asm_gpus[g],
                 "v_mov_b32 v1, 4.0\nv_rcp_f32 v2, v1\ns_nop 4\n"
                 "global_store_dword v5, v2, s[2:3]\n",
                 &all[seed][g][EXACT]);
    }
}

/* ---- the judgement ---- */

static void judge_trans(unsigned g, unsigned i)
{
    unsigned lanes = asm_is_wide(asm_gpus[g]) ? 64 : 32, far = 0, moved = 0, alike = 0;

    for (unsigned s = 0; s < SEEDS; s++)
        for (unsigned l = 0; l < lanes; l++) {
            float want = (float)trans[i].f(argument(l));
            uint32_t bits;
            int32_t off;

            memcpy(&bits, &want, 4);
            off = (int32_t)(all[s][g][i].out[l] - bits);
            far += off < -1 || off > 1;
            moved += off != 0;
            alike += s > 0 && all[s][g][i].out[l] == all[0][g][i].out[l];
        }
    ok(all[0][g][i].ran && all[1][g][i].ran && !far, "%s: %s is off by one last place at most",
       asm_gpus[g], trans[i].name);
    ok(moved > lanes / 2 && alike < lanes, "%s: %s is off, and not always alike", asm_gpus[g],
       trans[i].name);
}

static void judge_matrix(unsigned g)
{
    bool wide = asm_is_wide(asm_gpus[g]);
    unsigned lanes = wide ? 64 : 32, far = 0, inexact = 0, alike = 0;

    for (unsigned s = 0; s < SEEDS; s++)
        for (unsigned e = 0; e < 256; e++) {
            unsigned lane = e % lanes, r = e / lanes, j = lane % 16;
            unsigned i = wide ? 4 * (lane / 16) + r : 2 * r + lane / 16;
            double want = 0;
            float got;

            for (unsigned k = 0; k < 16; k++) /* positive: the sum is that of the magnitudes */
                want += operand(wide, 16, i, k) * operand(wide, 24, j, k);
            memcpy(&got, &all[s][g][MATRIX].out[e], 4);
            far += !(fabs(got - want) <= 16 * 0x1p-23 * want);
            inexact += got != (float)want;
            alike += s > 0 && all[s][g][MATRIX].out[e] == all[0][g][MATRIX].out[e];
        }
    ok(all[0][g][MATRIX].ran && all[1][g][MATRIX].ran && !far,
       "%s: a matrix product has the rounding errors of 16 sums at most", asm_gpus[g]);
    ok(inexact > 16 && alike < 256, "%s: it has some, and not always alike", asm_gpus[g]);
}

int main(void)
{
    asm_need_tools();
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    setenv("AOTHIP_EMU_MATRIX", "adversarial", 1);
    tap_diag("seeds 1 and 2");
    all =
        mmap(NULL, SEEDS * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        puts("Bail out! no shared memory");
        return 1;
    }
    for (unsigned s = 0; s < SEEDS; s++) { /* the seed is read once a process */
        pid_t child = fork();

        if (child == 0) {
            run_all(s);
            _exit(0);
        }
        if (child > 0)
            waitpid(child, NULL, 0);
    }
    for (unsigned g = 0; g < GPUS; g++) {
        unsigned wrong = 0;

        for (unsigned i = 0; i < TRANS; i++)
            judge_trans(g, i);
        judge_matrix(g);
        for (unsigned l = 0; l < 32; l++)
            wrong += all[0][g][EXACT].out[l] != 0x3e800000;
        ok(all[0][g][EXACT].ran && !wrong, "%s: 1/4 is exact", asm_gpus[g]);
    }
    munmap(all, SEEDS * sizeof *all);
    return tap_done();
}
