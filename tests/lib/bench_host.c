/*
 * What a call costs the host beyond HIP's own time, against the fake HIP runtime: warm calls with
 * one option after the other, through AOTriton's C++ names too, a check, and the first call of a
 * kernel. `make bench` runs it on the built images.
 *
 *     bench_host [DIRECTORY [TARGET]]      default: images made here, for gfx942
 */
#include "aothip/aothip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_shim.h"
#include "fake_hip.h"
#include "make_image.h"
#include "fake_problem.h"

enum { CALLS = 2000, ROUNDS = 300, CONTEXTS = 50 };

typedef struct aothip_attn_fwd_params params;

static struct aothip_context *context;
static params problem;
static struct problem_gradients backward;

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_host: %s: %s\n", what, aothip_last_error());
    exit(1);
}

static void call_attention(void)
{
    if (aothip_attn_fwd(context, &problem, fake_hip_stream(0)))
        die("aothip_attn_fwd");
}

static void call_backward(void)
{
    if (aothip_attn_bwd(context, &backward.b, fake_hip_stream(0)))
        die("aothip_attn_bwd");
}

static void call_check(void)
{
    if (aothip_check_stream(context, fake_hip_stream(0)))
        die("aothip_check_stream");
}

static const struct bench_shim *shim;
static void call_shim(void)
{
    if (shim->call(fake_hip_stream(0)))
        die(shim->name);
}

/* The same HIP calls as a warm call of `launches` launches makes, and nothing else. */
static int launches;
static void call_hip(void)
{
    static hipFunction_t function;
    static union args_any args;
    static hipModule_t module;
    void *parameters[] = {&args};
    hipDevice_t device;
    hipStream_t stream = fake_hip_stream(0);
    static char code[64 + 56 + 8] = {[64 + 56] = 'x'};
    if (!function && (hipModuleLoadData(&module, code) != hipSuccess ||
                      hipModuleGetFunction(&function, module, "x") != hipSuccess))
        die("fake HIP");
    if (hipStreamGetDevice(stream, &device) != hipSuccess)
        die("fake HIP");
    for (int i = 0; i < launches; i++)
        if (hipModuleLaunchKernel(function, 8, 2, 1, 256, 1, 1, 0, stream, parameters, NULL) !=
            hipSuccess)
            die("fake HIP");
}

/* The fastest round counts: it was disturbed least. Short ones fit between two interruptions. */
static double measure(void (*call)(void))
{
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns(), time;
        for (int i = 0; i < CALLS; i++)
            call();
        time = (now_ns() - start) / CALLS;
        if (time < best)
            best = time;
    }
    return best;
}

/* A fresh context's first call, and its first check; the fastest of many. */
static double measure_first(const char *directory, void (*call)(void))
{
    double best = 1e30;
    for (int i = 0; i < CONTEXTS; i++) {
        double start, time;
        if (aothip_open(directory, &context))
            die("aothip_open");
        start = now_ns();
        call();
        time = now_ns() - start;
        if (time < best)
            best = time;
        aothip_close(context);
    }
    return best;
}

static void plain(params *p)
{
    (void)p;
}

static void causal(params *p)
{
    p->mask = AOTHIP_MASK_CAUSAL_TOP_LEFT;
}

static void window(params *p)
{
    p->mask = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT;
    p->window_left = 64;
}

static void packed(params *p)
{
    problem_pack(p);
    p->lse_layout = AOTHIP_LSE_HEADS;
    p->mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
}

static void strided_bias(params *p)
{
    problem_add_bias(p);
    p->bias.stride[0] = p->bias.stride[1] = 0;
}

static void softcap(params *p)
{
    p->softcap = 30;
}

static void alibi(params *p)
{
    static const float slopes[8];
    p->alibi_slopes = slopes;
}

static void sinks(params *p)
{
    static const float values[8];
    p->sinks = values;
}

static void probs(params *p)
{
    problem_drop(p);
    problem_add_probs(p);
}

static void split(params *p)
{
    problem_decode(p);
    p->workspace = (void *)(uintptr_t)0xa0000000;
    p->workspace_size = 1 << 24;
}

/* All that one launch can have. */
static void fullest(params *p)
{
    window(p);
    problem_pack(p);
    p->lse_layout = AOTHIP_LSE_HEADS;
    p->bias = problem_tensor(0x70000000, 3, 8, 40, 120);
    p->keep = problem_tensor(0x78000000, 1, 1, 40, 120);
    p->keep.dtype = AOTHIP_BOOL;
    problem_drop(p);
    softcap(p);
    alibi(p);
    sinks(p);
}

static const struct {
    const char *name;
    void (*set)(params *p);
} cases[] = {
    {"plain", plain},
    {"causal", causal},
    {"window", window},
    {"packed sequences", packed},
    {"bias", strided_bias},
    {"boolean mask", problem_add_keep},
    {"dropout", problem_drop},
    {"soft-cap", softcap},
    {"ALiBi", alibi},
    {"sinks", sinks},
    {"pages", problem_page},
    {"all of these", fullest},
    {"probs", probs},
    {"new keys", problem_append},
    {"new keys, rotated", problem_rotate},
    {"split keys", split},
};

/* One line of the table. */
static void print_warm(const char *name, void (*call)(void))
{
    double warm, hip;
    call();
    fake_hip_reset();
    call();
    launches = fake_hip.launches;
    warm = measure(call);
    hip = measure(call_hip);
    printf("%-20s %8d %8.1f %8.1f %8.1f\n", name, launches, hip, warm, warm - hip);
}

static void print_all_warm(void)
{
    printf("%-20s %8s %8s %8s %8s\n", "warm call, ns", "launches", "HIP's", "all", "beyond");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        problem = problem_make();
        cases[i].set(&problem);
        print_warm(cases[i].name, call_attention);
    }
    problem_gradients(&backward);
    print_warm("backward", call_backward);
    for (shim = bench_shim_calls; shim->name; shim++)
        print_warm(shim->name, call_shim);
    printf("%-20s %8s %8s %8.1f\n", "check", "", "", measure(call_check));
}

int main(int argc, char **argv)
{
    char made[256] = "";
    const char *directory = argc > 1 ? argv[1] : made;
    fake_hip_reset();
    fake_hip.targets[0] = argc > 2 ? argv[2] : "gfx942:sramecc+:xnack-";
    fake_hip.any_symbol = argc > 1;
    problem = problem_make();
    if (argc < 2) {
        struct make_image image = make_image("gfx942", NULL);
        make_directory(made);
        make_image_write(&image, made, "gfx942");
        free(image.bytes);
    }
    setenv("AOTHIP_IMAGES", directory, 1); /* where the C++ names look for them */
    printf("first forward call  %8.1f us\n", measure_first(directory, call_attention) / 1e3);
    printf("first check         %8.1f us\n", measure_first(directory, call_check) / 1e3);
    if (aothip_open(directory, &context))
        die("aothip_open");
    print_all_warm();
    aothip_close(context);
    if (argc < 2)
        remove_directory(made);
    return 0;
}
