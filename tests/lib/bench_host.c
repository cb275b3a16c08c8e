/*
 * What a call costs the host beyond HIP's own time, against the fake HIP runtime: a warm forward
 * call, a check, and the first call of a kernel. `make bench` runs it on the built images.
 *
 *     bench_host [DIRECTORY [TARGET]]      default: images made here, for gfx942
 */
#include "aothip/aothip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_hip.h"
#include "make_image.h"
#include "fake_problem.h"

enum { CALLS = 2000, ROUNDS = 1000, CONTEXTS = 50 };

static struct aothip_context *context;
static struct aothip_attn_fwd_params problem;

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

static void call_check(void)
{
    if (aothip_check_stream(context, fake_hip_stream(0)))
        die("aothip_check_stream");
}

/* The same HIP calls as a warm forward call makes, and nothing else. */
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
    if (hipStreamGetDevice(stream, &device) != hipSuccess ||
        hipModuleLaunchKernel(function, 8, 2, 1, 256, 1, 1, 0, stream, parameters, NULL) !=
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

int main(int argc, char **argv)
{
    char made[256] = "";
    const char *directory = argc > 1 ? argv[1] : made;
    double hip, warm;
    fake_hip_reset();
    fake_hip.targets[0] = argc > 2 ? argv[2] : "gfx942:sramecc+:xnack-";
    fake_hip.any_symbol = argc > 1;
    problem = problem_make();
    problem.mask = AOTHIP_MASK_CAUSAL_TOP_LEFT;
    if (argc < 2) {
        struct make_image image = make_image("gfx942", NULL);
        make_directory(made);
        make_image_write(&image, made, "gfx942");
        free(image.bytes);
    }
    printf("first forward call  %8.1f us\n", measure_first(directory, call_attention) / 1e3);
    printf("first check         %8.1f us\n", measure_first(directory, call_check) / 1e3);
    if (aothip_open(directory, &context))
        die("aothip_open");
    warm = measure(call_attention);
    hip = measure(call_hip);
    printf("warm forward call   %8.1f ns, of which the fake HIP takes %.1f ns\n", warm, hip);
    printf("beyond HIP          %8.1f ns\n", warm - hip);
    printf("warm check          %8.1f ns\n", measure(call_check));
    aothip_close(context);
    if (argc < 2)
        remove_directory(made);
    return 0;
}
