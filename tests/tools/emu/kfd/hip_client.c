/*
 * A program for AMD's HIP runtime, as any would be written: memory, copies, a module, launches,
 * streams, events, a graph. rocm_runtime.sh runs it on the driver's stand-in.
 */
#include <hip/hip_runtime_api.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

enum { N = 100000, BLOCK = 256 };

static int is_hip(hipError_t got, hipError_t want, const char *what)
{
    int good = tap_result(got == want, __FILE__, __LINE__, "%s", what);
    if (!good)
        printf("#      got %s\n# expected %s\n", hipGetErrorName(got), hipGetErrorName(want));
    return good;
}

static void works(hipError_t got, const char *what)
{
    is_hip(got, hipSuccess, what);
}

/* Memory of the device for n bytes; aborts without it. */
static void *device(size_t n, const void *from)
{
    void *p = NULL;
    if (hipMalloc(&p, n) != hipSuccess ||
        (from && hipMemcpy(p, from, n, hipMemcpyHostToDevice) != hipSuccess))
        abort();
    return p;
}

static hipError_t launch(hipModule_t m, const char *name, unsigned groups, hipStream_t stream,
                         void **params)
{
    hipFunction_t f;
    hipError_t e = hipModuleGetFunction(&f, m, name);
    return e == hipSuccess ? hipModuleLaunchKernel(f, groups, 1, 1, BLOCK, 1, 1, BLOCK * 4, stream,
                                                   params, NULL)
                           : e;
}

static void device_facts(const char *target)
{
    hipDeviceProp_t p;
    int n = 0;
    works(hipGetDeviceCount(&n), "devices are counted");
    is_int(n, 1, "there is one");
    works(hipGetDeviceProperties(&p, 0), "it has properties");
    contains(p.gcnArchName, target, "and is the GPU that was asked for");
}

static int wrong_sums(const float *a, const float *b, const float *c)
{
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += c[i] != a[i] + b[i];
    return wrong;
}

static void copies_and_launches(hipModule_t m)
{
    static float a[N], b[N], c[N];
    int n = N;
    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = (float)(i % 77) / 2;
    void *da = device(sizeof a, a), *db = device(sizeof b, b), *dc = device(sizeof c, NULL);
    void *params[] = {&da, &db, &dc, &n};
    works(launch(m, "add", (N + BLOCK - 1) / BLOCK, NULL, params), "launch on the null stream");
    works(hipMemcpy(c, dc, sizeof c, hipMemcpyDeviceToHost), "copy to the host");
    is_int(wrong_sums(a, b, c), 0, "every sum is right");
    works(hipMemset(dc, 0, sizeof c), "memset");
    works(hipMemcpy(c, dc, sizeof c, hipMemcpyDeviceToHost), "copy to the host");
    ok(c[0] == 0 && c[N - 1] == 0, "is zero");
    works(hipMemcpy(dc, da, sizeof c, hipMemcpyDeviceToDevice), "copy on the device");
    works(hipMemcpy(c, dc, sizeof c, hipMemcpyDeviceToHost), "copy to the host");
    ok(c[1] == a[1] && c[N - 1] == a[N - 1], "is the same");
    works(hipFree(da), "free");
    works(hipFree(db), "free");
    works(hipFree(dc), "free");
}

static void globals(hipModule_t m)
{
    hipDeviceptr_t p;
    size_t n = 0;
    int x = 0;
    works(hipModuleGetGlobal(&p, &n, m, "scale_by"), "a global of the module");
    is_int((int)n, 4, "has its size");
    works(hipMemcpy(&x, p, sizeof x, hipMemcpyDeviceToHost), "is copied");
    is_int(x, 3, "and has its value");
    hipFunction_t f;
    is_hip(hipModuleGetFunction(&f, m, "absent"), hipErrorNotFound, "a kernel that is not there");
}

/* Reversing twice in one stream, and in another one after an event of the first. */
static void streams(hipModule_t m)
{
    int x[BLOCK], y[BLOCK];
    hipStream_t first, second;
    hipEvent_t done, end;
    float ms = -1;
    for (int i = 0; i < BLOCK; i++)
        x[i] = i * i;
    void *d = device(sizeof x, x);
    void *params[] = {&d};
    works(hipStreamCreate(&first), "a stream");
    works(hipStreamCreate(&second), "another stream");
    works(hipEventCreate(&done), "an event");
    works(hipEventCreate(&end), "an event");
    works(launch(m, "reverse", 1, first, params), "launch on the one");
    works(hipEventRecord(done, first), "the event is recorded");
    works(hipStreamWaitEvent(second, done, 0), "the other waits for it");
    works(launch(m, "reverse", 1, second, params), "launch on the other");
    works(launch(m, "reverse", 1, second, params), "and again");
    works(hipEventRecord(end, second), "an event is recorded");
    works(hipMemcpyAsync(y, d, sizeof y, hipMemcpyDeviceToHost, second), "copy on the other");
    works(hipStreamSynchronize(second), "which is waited for");
    works(hipEventElapsedTime(&ms, done, end), "time between the events");
    ok(ms >= 0, "does not run backwards");
    int wrong = 0;
    for (int i = 0; i < BLOCK; i++)
        wrong += y[i] != x[BLOCK - 1 - i];
    is_int(wrong, 0, "three times reversed");
    works(hipEventDestroy(done), "event destroyed");
    works(hipEventDestroy(end), "event destroyed");
    works(hipStreamDestroy(first), "stream destroyed");
    works(hipStreamDestroy(second), "stream destroyed");
    works(hipFree(d), "free");
}

static void graphs(hipModule_t m)
{
    int x[BLOCK], y[BLOCK];
    hipStream_t s;
    hipGraph_t g;
    hipGraphExec_t e;
    for (int i = 0; i < BLOCK; i++)
        x[i] = i + 5;
    void *d = device(sizeof x, x);
    void *params[] = {&d};
    works(hipStreamCreate(&s), "a stream");
    works(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal), "captures");
    works(launch(m, "reverse", 1, s, params), "a launch");
    works(hipStreamEndCapture(s, &g), "into a graph");
    works(hipGraphInstantiate(&e, g, NULL, NULL, 0), "which is made ready");
    for (int i = 0; i < 3; i++)
        works(hipGraphLaunch(e, s), "and launched");
    works(hipStreamSynchronize(s), "waited for");
    works(hipMemcpy(y, d, sizeof y, hipMemcpyDeviceToHost), "copied");
    int wrong = 0;
    for (int i = 0; i < BLOCK; i++)
        wrong += y[i] != x[BLOCK - 1 - i];
    is_int(wrong, 0, "three times reversed");
    works(hipGraphExecDestroy(e), "graph destroyed");
    works(hipGraphDestroy(g), "graph destroyed");
    works(hipStreamDestroy(s), "stream destroyed");
    works(hipFree(d), "free");
}

/* More than the GPU has, and what is left when it is given back. */
static void too_much(void)
{
    void *p = NULL, *q = NULL;
    size_t left = 0, all = 0;
    works(hipMemGetInfo(&left, &all), "memory is counted");
    is_hip(hipMalloc(&p, all + (1 << 30)), hipErrorOutOfMemory, "more than there is");
    works(hipMalloc(&p, all / 4 * 3), "three quarters of it");
    is_hip(hipMalloc(&q, all / 2), hipErrorOutOfMemory, "and a half");
    works(hipFree(p), "free");
    works(hipMalloc(&q, all / 2), "a half, now");
    works(hipFree(q), "free");
}

/* Scratch memory, and pointers that may be to LDS. */
static void private_memory(hipModule_t m)
{
    static const int fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610};
    int x[BLOCK], wrong = 0, which = 1;
    void *d = device(sizeof x, NULL);
    void *params[] = {&d, &which};
    works(launch(m, "stack", 1, NULL, params), "a call and scratch memory");
    works(hipMemcpy(x, d, sizeof x, hipMemcpyDeviceToHost), "copied");
    for (int i = 0; i < BLOCK; i++)
        wrong += x[i] != fib[i & 15] * 1000 + ((i & 15) ? fib[(i & 15) - 1] : -1);
    is_int(wrong, 0, "the stack held its values");
    hipFunction_t f;
    works(hipModuleGetFunction(&f, m, "generic"), "another kernel");
    works(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL),
          "a generic pointer to LDS");
    works(hipMemcpy(x, d, sizeof x, hipMemcpyDeviceToHost), "copied");
    is_int(x[63], 1063, "is followed");
    works(hipFree(d), "free");
}

/* For the test to see what the runtime says of an object that it cannot take. */
static int try_object(const char *path)
{
    hipModule_t m;
    puts(hipGetErrorName(hipModuleLoad(&m, path)));
    return 0;
}

/* Writes far beyond all memory; the runtime ends the process. */
static int stray(const char *path)
{
    hipModule_t m;
    long at = 1L << 40;
    void *d = device(4096, NULL);
    void *params[] = {&d, &at};
    if (hipModuleLoad(&m, path) != hipSuccess || launch(m, "touch", 1, NULL, params) != hipSuccess)
        return 3;
    puts(hipGetErrorName(hipDeviceSynchronize()));
    return 0;
}

/*
 * Kernels that only strict mode objects to, a barrier too few, and memory that nobody wrote; and
 * one that never ends.
 */
static int sloppy(const char *kernel, const char *path)
{
    hipModule_t m;
    void *from = device(BLOCK * 4, NULL), *to = device(BLOCK * 4, NULL);
    void *copy[] = {&from, &to}, *one[] = {&to};
    bool copies = strcmp(kernel, "copy_one") == 0;
    if (hipMemset(to, 0, BLOCK * 4) != hipSuccess || hipModuleLoad(&m, path) != hipSuccess ||
        launch(m, kernel, 1, NULL, copies ? copy : one) != hipSuccess)
        return 3;
    puts(hipGetErrorName(hipDeviceSynchronize()));
    return 0;
}

int main(int argc, char **argv)
{
    hipModule_t m;
    if (argc != 3) {
        fprintf(stderr,
                "usage: hip_client TARGET|try|stray|reverse_race|copy_one|endless OBJECT\n");
        return 2;
    }
    if (strcmp(argv[1], "try") == 0)
        return try_object(argv[2]);
    if (strcmp(argv[1], "stray") == 0)
        return stray(argv[2]);
    if (strncmp(argv[1], "gfx", 3) != 0)
        return sloppy(argv[1], argv[2]);
    device_facts(argv[1]);
    if (!is_hip(hipModuleLoad(&m, argv[2]), hipSuccess, "AMD's loader takes the object"))
        return tap_done();
    copies_and_launches(m);
    private_memory(m);
    globals(m);
    streams(m);
    graphs(m);
    too_much();
    works(hipModuleUnload(m), "unload");
    return tap_done();
}
