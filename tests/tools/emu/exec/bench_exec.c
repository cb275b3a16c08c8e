/*
 * Speed of the emulator on forward attention: wave-instructions a second and a core, for each GPU
 * and type. No test: times depend on the machine. `make bench` runs it in plain and in strict mode.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aothip/aothip.h"
#include "attn.h"

/* Many short launches, of which the best counts: other programs disturb the rest. */
enum { SEQ_Q = 256, SEQ_K = 2048, RUNS = 100 };

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Numbers of about one: the halves 0x3a00 to 0x3bff (f16) or 0x3f00 to 0x3fff (bf16), both signs.
 */
static void fill(uint16_t *x, size_t n, int dtype)
{
    uint32_t state = 12345;

    for (size_t i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        x[i] = (uint16_t)((dtype == AOTHIP_F16 ? 0x3a00 | (state >> 22 & 0x1ff)
                                               : 0x3f00 | (state >> 22 & 0xff)) |
                          (state >> 31) << 15);
    }
}

static uint64_t instructions(const char *file)
{
    void *library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = library ? dlsym(library, "emu_instructions") : NULL;
    uint64_t (*count)(void);

    if (!symbol)
        return 0;
    memcpy(&count, &symbol, sizeof count);
    return count();
}

/* The shortest launch, in seconds of CPU time; what it copies and allocates is not in it. */
static int measure(const struct device *d, struct aothip_context *context,
                   const struct attn_call *call, double *best, uint64_t *count, struct status *why)
{
    uint64_t before = instructions(d->runtime->file);

    *best = 0;
    for (int i = -1; i < RUNS; i++) { /* the first one loads and prepares the kernel */
        double start = cpu_seconds(), t;

        if (attn_launch(d, context, call, why))
            return -1;
        t = cpu_seconds() - start;
        if (i == 0 || (i > 0 && t < *best))
            *best = t;
    }
    *count = (instructions(d->runtime->file) - before) / (RUNS + 1);
    return attn_download(d, call, why) ? -1 : 0;
}

static int run(const struct device *d, struct aothip_context *context, const char *gpu, int dtype,
               int64_t dim, struct status *why)
{
    const int64_t q_size[4] = {1, 1, SEQ_Q, dim}, k_size[4] = {1, 1, SEQ_K, dim};
    size_t nq = SEQ_Q * (size_t)dim, nk = SEQ_K * (size_t)dim;
    uint16_t *data = malloc((2 * nq + 2 * nk) * sizeof *data);
    struct aothip_attn_fwd_params p = {
        .struct_size = sizeof p, .scale = 0.1f, .mask = AOTHIP_MASK_NONE};
    struct attn_call call;
    double best;
    uint64_t count;
    int failed;

    if (!data)
        return -1;
    fill(data, 2 * nq + 2 * nk, dtype);
    p.q = attn_view(ATTN_BHSD, data, dtype, q_size);
    p.o = attn_view(ATTN_BHSD, data + nq, dtype, q_size);
    p.k = attn_view(ATTN_BHSD, data + 2 * nq, dtype, k_size);
    p.v = attn_view(ATTN_BHSD, data + 2 * nq + nk, dtype, k_size);
    failed = attn_upload_fwd(d, context, &p, ATTN_FWD, &call, why);
    if (!failed) {
        failed = measure(d, context, &call, &best, &count, why);
        attn_release(d, &call);
    }
    if (!failed)
        printf("%-8s %-4s head dim %3d  %9" PRIu64
               " wave-instructions  %5.1f million a second and core\n",
               gpu, dtype == AOTHIP_F16 ? "f16" : "bf16", (int)dim, count,
               (double)count / best * 1e-6);
    free(data);
    return failed ? -1 : 0;
}

/* With arguments: only these GPUs. */
static bool is_wanted(const char *gpu, char **wanted)
{
    bool all = !*wanted;

    for (; *wanted; wanted++)
        all |= strcmp(*wanted, gpu) == 0;
    return all;
}

int main(int argc, char **argv)
{
    static const char *const gpus[] = {"gfx90a", "gfx942", "gfx1100", "gfx1151"};
    struct device_runtime runtime;
    struct aothip_context *context = NULL;
    struct status why;
    int failed;

    status_clear(&why);
    failed = device_emulate("gfx90a,gfx942,gfx1100,gfx1151", &why) ||
             device_open_runtime(&runtime, &why) || aothip_open(NULL, &context);
    for (int g = 0; g < 4 && !failed; g++) {
        struct device device = {0};

        if (!is_wanted(gpus[g], argv + (argc > 0)))
            continue;
        failed = device_open(&runtime, g, &device, &why);
        for (int i = 0; i < 4 && !failed; i++)
            failed = run(&device, context, gpus[g], i & 1 ? AOTHIP_BF16 : AOTHIP_F16,
                         i & 2 ? 128 : 64, &why);
        device_close(&device);
    }
    if (failed)
        fprintf(stderr, "bench_exec: %s\n", failed ? why.text : "");
    aothip_close(context);
    return failed ? 1 : 0;
}
