/*
 * The HIP functions of libhipemu.so, used as a program uses them: devices, memory, modules,
 * launches, streams, events, graphs, and the errors of each.
 *
 * The environment is read once in a process, so every setting is tried in a child.
 */
#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

const char *emu_last_text(void);
const char *emu_last_fault(void);
uint64_t emu_instructions(void);
hipError_t hipGetDevicePropertiesR0600(void *p, int device);
hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device);
hipError_t hipGetProcAddress(const char *symbol, void **pfn, int version, uint64_t flags,
                             int *status);

/* What a HIP compiler's code calls before main, and around kernel<<<...>>>. */
void **__hipRegisterFatBinary(const void *data);
void __hipUnregisterFatBinary(void **modules);
void __hipRegisterFunction(void **modules, const void *host, char *device_name, const char *name,
                           unsigned thread_limit, void *tid, void *bid, dim3 *block, dim3 *grid,
                           int *warp);
void __hipRegisterVar(void **modules, void *host, char *host_name, char *name, int external,
                      size_t size, int constant, int global);
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds, hipStream_t stream);
hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *lds, hipStream_t *stream);

static const char *objects = "tests/tools/emu";
static const char *gpu;

static int is_hip(hipError_t got, hipError_t want, const char *what)
{
    int good = tap_result(got == want, __FILE__, __LINE__, "%s: %s", gpu, what);
    if (!good)
        printf("#      got %s (%s)\n# expected %s\n", hipGetErrorName(got), emu_last_text(),
               hipGetErrorName(want));
    return good;
}

static hipModule_t load(const char *target)
{
    char path[512];
    hipModule_t m = NULL;
    snprintf(path, sizeof path, "%s/emu_kernels.%s.co", objects, target);
    is_hip(hipModuleLoad(&m, path), hipSuccess, "module loads");
    return m;
}

static hipError_t launch(hipModule_t m, const char *name, unsigned groups, unsigned threads,
                         unsigned lds, hipStream_t stream, void **params)
{
    hipFunction_t f;
    hipError_t e = hipModuleGetFunction(&f, m, name);
    if (e != hipSuccess)
        return e;
    return hipModuleLaunchKernel(f, groups, 1, 1, threads, 1, 1, lds, stream, params, NULL);
}

static void *device_bytes(size_t n, const void *from)
{
    void *p = NULL;
    hipError_t e = hipMalloc(&p, n);
    if (e == hipSuccess && from)
        e = hipMemcpy(p, from, n, hipMemcpyHostToDevice);
    if (e != hipSuccess)
        abort();
    return p;
}

static void fetch(void *to, const void *from, size_t n)
{
    if (hipMemcpy(to, from, n, hipMemcpyDeviceToHost) != hipSuccess)
        abort();
}

static void launches(hipModule_t m)
{
    enum { N = 1000 };
    float a[N], b[N], c[N];
    int n = N, wrong = 0;
    for (int i = 0; i < N; i++)
        a[i] = (float)i, b[i] = (float)i / 2;
    void *da = device_bytes(sizeof a, a), *db = device_bytes(sizeof b, b);
    void *dc = device_bytes(sizeof c, NULL);
    void *params[] = {&da, &db, &dc, &n};
    is_hip(launch(m, "add", 4, 256, 0, NULL, params), hipSuccess, "launch with kernelParams");
    fetch(c, dc, sizeof c);
    for (int i = 0; i < N; i++)
        wrong += c[i] != a[i] + b[i];
    is_int(wrong, 0, "every sum is right");

    struct {
        void *a, *b, *c;
        int n;
    } args = {da, db, dc, N};
    size_t size = sizeof args;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &args, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    hipFunction_t f;
    is_hip(hipModuleGetFunction(&f, m, "add"), hipSuccess, "get function");
    is_hip(hipMemset(dc, 0, sizeof c), hipSuccess, "memset");
    is_hip(hipModuleLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra), hipSuccess,
           "launch with an argument buffer");
    fetch(c, dc, sizeof c);
    ok(c[N - 1] == a[N - 1] + b[N - 1], "argument buffer reaches the kernel");
    size = 20;
    is_hip(hipModuleLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra), hipErrorInvalidValue,
           "an argument buffer that is too short");
    contains(emu_last_text(), "20 bytes", "the text says how short");
    is_hip(hipModuleLaunchKernel(f, 0, 1, 1, 256, 1, 1, 0, NULL, params, NULL),
           hipErrorInvalidConfiguration, "an empty grid");
    is_hip(hipModuleLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL),
           hipErrorInvalidConfiguration, "a block of 2048");
    is_hip(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 70000, NULL, params, NULL),
           hipErrorLaunchOutOfResources, "70000 bytes of LDS");
    is_hip(hipModuleGetFunction(&f, m, "absent"), hipErrorNotFound, "an unknown kernel");

    unsigned out[60] = {0};
    void *dout = device_bytes(sizeof out, out);
    void *one[] = {&dout};
    is_hip(launch(m, "sizes", 3, 96, 0, NULL, one), hipSuccess, "hidden arguments");
    fetch(out, dout, sizeof out);
    is_int(out[0], 96, "hidden workgroup size x");
    is_int(out[1], 1, "hidden workgroup size y");
    is_int(out[2], 288, "hidden grid size x");

    is_hip(hipModuleGetFunction(&f, m, "ids"), hipSuccess, "get function");
    is_hip(hipModuleLaunchKernel(f, 1, 2, 1, 5, 3, 2, 0, NULL, one, NULL), hipSuccess,
           "a block in three dimensions");
    fetch(out, dout, sizeof out);
    wrong = 0;
    for (unsigned i = 0; i < 60; i++)
        wrong += out[i] != (i % 5 | i / 5 % 3 << 8 | i / 15 % 2 << 16 | i / 30 << 24);
    is_int(wrong, 0, "ids in three dimensions");

    long odd_out[3];
    struct odd {
        char c[23];
    } odd = {{0}};
    long a64 = 0x123456789abcdefL;
    short b16 = -5;
    odd.c[22] = 77;
    void *dodd = device_bytes(sizeof odd_out, NULL);
    void *mixed[] = {&a64, &b16, &odd, &dodd};
    is_hip(launch(m, "big_args", 1, 1, 0, NULL, mixed), hipSuccess, "arguments of odd sizes");
    fetch(odd_out, dodd, sizeof odd_out);
    ok(odd_out[0] == a64 && odd_out[1] == -5 && odd_out[2] == 77, "each lands in its place");
    ok(emu_instructions() > 0, "instructions are counted");
}

static void memories(hipModule_t m)
{
    int data[256], back[256], wrong = 0;
    for (int i = 0; i < 256; i++)
        data[i] = i * 7;
    void *d = device_bytes(sizeof data, data);
    void *one[] = {&d};
    is_hip(launch(m, "reverse", 1, 256, 1024, NULL, one), hipSuccess, "dynamic LDS and a barrier");
    fetch(back, d, sizeof back);
    for (int i = 0; i < 256; i++)
        wrong += back[i] != data[255 - i];
    is_int(wrong, 0, "reversed through LDS");
    is_hip(launch(m, "reverse", 1, 256, 512, NULL, one), hipErrorLaunchFailure,
           "LDS beyond what the launch asked for");
    contains(emu_last_fault(), "LDS", "the report says LDS");

    unsigned total[2] = {0, 0};
    void *dt = device_bytes(sizeof total, total);
    void *ds = (char *)dt + 4;
    void *two[] = {&dt, &ds};
    is_hip(launch(m, "count", 5, 200, 0, NULL, two), hipSuccess, "atomics from five workgroups");
    fetch(total, dt, sizeof total);
    float sum;
    memcpy(&sum, &total[1], 4);
    is_int(total[0], 1000, "integer atomic");
    ok(sum == 500, "float atomic: %g", (double)sum);

    wrong = 0;
    is_hip(launch(m, "stack", 1, 64, 0, NULL, one), hipSuccess, "a call and scratch memory");
    fetch(back, d, sizeof back);
    static const int fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610};
    for (int i = 0; i < 64; i++)
        wrong += back[i] != fib[i & 15] * 1000 + ((i & 15) ? fib[(i & 15) - 1] : -1);
    is_int(wrong, 0, "the stack held its values");

    for (int which = 0; which < 2; which++) {
        void *params[] = {&d, &which};
        if (hipMemset(d, 0, sizeof data) != hipSuccess)
            abort();
        is_hip(launch(m, "generic", 1, 64, 0, NULL, params), hipSuccess,
               which ? "a generic pointer to LDS" : "a generic pointer to device memory");
        fetch(back, d, sizeof back);
        is_int(back[63], which ? 1063 : 1000, "generic pointer result");
    }

    int three = 3, five = 5;
    void *set[] = {&five};
    hipDeviceptr_t global;
    size_t bytes;
    is_hip(hipModuleGetGlobal(&global, &bytes, m, "scale_by"), hipSuccess, "get global");
    is_int(bytes, 4, "size of the global");
    is_hip(hipMemcpy(global, &three, 4, hipMemcpyHostToDevice), hipSuccess, "write the global");
    is_hip(hipMemcpy(d, data, sizeof data, hipMemcpyHostToDevice), hipSuccess, "fill");
    is_hip(launch(m, "scaled", 1, 64, 0, NULL, one), hipSuccess, "a kernel reads the global");
    fetch(back, d, sizeof back);
    is_int(back[2], 42, "scaled by the global");
    is_hip(launch(m, "set_scale", 1, 1, 0, NULL, set), hipSuccess, "a kernel writes the global");
    is_hip(hipMemcpy(&three, global, 4, hipMemcpyDeviceToHost), hipSuccess, "read the global");
    is_int(three, 5, "written by the kernel");
    is_hip(hipModuleGetGlobal(&global, &bytes, m, "nothing"), hipErrorNotFound,
           "an unknown global");
}

static void faults(hipModule_t m)
{
    int data[64] = {0};
    void *d = device_bytes(sizeof data, data);
    long at;
    void *params[] = {&d, &at};
    const struct {
        long at;
        const char *what, *says;
    } cases[] = {
        {64, "one word past the end", "past the end of allocation"},
        {-1, "one word before the start", "before allocation"},
        {1L << 40, "far away", "not near any allocation"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        at = cases[i].at;
        is_hip(launch(m, "touch", 1, 64, 0, NULL, params), hipErrorLaunchFailure, cases[i].what);
        contains(emu_last_fault(), cases[i].says, "the report says where");
        contains(emu_last_fault(), "lanes 7", "the report names the lane");
        contains(emu_last_fault(), "emu_kernels.hip:", "the report names the source line");
    }
    is_hip(hipGetLastError(), hipErrorLaunchFailure, "the error is kept");
    is_hip(hipGetLastError(), hipSuccess, "and cleared by reading it");
    at = 5;
    is_hip(launch(m, "touch", 1, 64, 0, NULL, params), hipSuccess, "later launches work");
    is_hip(hipFree(d), hipSuccess, "free");
    is_hip(launch(m, "touch", 1, 64, 0, NULL, params), hipErrorLaunchFailure, "freed memory");
    contains(emu_last_fault(), "was freed", "the report says that it was freed");
    is_hip(hipFree(d), hipErrorInvalidValue, "free twice");
    is_hip(hipMemcpy(data, d, 4, hipMemcpyDeviceToHost), hipErrorInvalidValue, "copy from freed");
}

static char *whole_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    long n = 0;
    if (f && fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) > 0)
        bytes = malloc((size_t)n);
    rewind(f);
    if (!bytes || fread(bytes, 1, (size_t)n, f) != (size_t)n)
        abort();
    fclose(f);
    return bytes;
}

/* A program with its kernels compiled in: each has an address on the host that stands for it. */
static void compiled_in(const char *target)
{
    char path[512], kernel[] = "add", variable[] = "scale_by";
    static char stands_for_add, stands_for_scale;
    float a[256], c[256] = {0};
    int n = 256, blocks = 0, grid = 0, block = 0, value = 0, seven = 7;
    size_t size = 0;
    dim3 g, b;
    hipStream_t stream;

    snprintf(path, sizeof path, "%s/emu_kernels.%s.co", objects, target);
    struct {
        uint32_t magic, version;
        void *binary, *unused;
    } wrapper = {0x48495046, 1, whole_file(path), NULL};
    void **modules = __hipRegisterFatBinary(&wrapper);
    __hipRegisterFunction(modules, &stands_for_add, kernel, kernel, 0, NULL, NULL, NULL, NULL,
                          NULL);
    __hipRegisterVar(modules, &stands_for_scale, variable, variable, 0, 4, 0, 0);

    for (int i = 0; i < n; i++)
        a[i] = (float)i;
    void *da = device_bytes(sizeof a, a), *dc = device_bytes(sizeof c, c);
    void *params[] = {&da, &da, &dc, &n};
    is_hip(__hipPushCallConfiguration((dim3){1, 1, 1}, (dim3){256, 1, 1}, 0, NULL), hipSuccess,
           "<<<1, 256>>>");
    is_hip(__hipPopCallConfiguration(&g, &b, &size, &stream), hipSuccess, "is taken up");
    ok(g.x == 1 && b.x == 256 && size == 0 && !stream, "as it was given");
    is_hip(__hipPopCallConfiguration(&g, &b, &size, &stream), hipErrorMissingConfiguration,
           "once only");
    is_hip(hipLaunchKernel(&stands_for_add, g, b, params, 0, NULL), hipSuccess, "the launch");
    fetch(c, dc, sizeof c);
    ok(c[0] == 0 && c[255] == 510, "computes");
    is_hip(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &stands_for_add, 256, 0),
           hipSuccess, "occupancy");
    ok(blocks > 0, "is some");
    is_hip(hipOccupancyMaxPotentialBlockSize(&grid, &block, &stands_for_add, 0, 0), hipSuccess,
           "the best block");
    ok(grid > 0 && block > 0, "is some");
    is_hip(hipGetSymbolSize(&size, &stands_for_scale), hipSuccess, "a variable");
    is_int(size, 4, "has its size");
    is_hip(hipMemcpyFromSymbol(&value, &stands_for_scale, 4, 0, hipMemcpyDeviceToHost), hipSuccess,
           "is read");
    is_int(value, 3, "as it was initialised");
    is_hip(hipMemcpyToSymbol(&stands_for_scale, &seven, 4, 0, hipMemcpyHostToDevice), hipSuccess,
           "is written");
    is_hip(hipMemcpyFromSymbol(&value, &stands_for_scale, 4, 0, hipMemcpyDeviceToHost), hipSuccess,
           "is read again");
    is_int(value, 7, "as it was written");
    is_hip(hipGetSymbolSize(&size, &stands_for_add), hipErrorInvalidSymbol, "a kernel is none");
    is_hip(hipLaunchKernel(&stands_for_scale, g, b, params, 0, NULL), hipErrorInvalidDeviceFunction,
           "and a variable is no kernel");
    __hipUnregisterFatBinary(modules);
    is_hip(hipLaunchKernel(&stands_for_add, g, b, params, 0, NULL), hipErrorInvalidDeviceFunction,
           "no launch when all is over");
    is_hip(hipFree(da), hipSuccess, "free");
    is_hip(hipFree(dc), hipSuccess, "free");
    free(wrapper.binary);
}

static void copies(void)
{
    unsigned char host[4096], back[4096];
    void *d, *pinned;
    for (int i = 0; i < 4096; i++)
        host[i] = (unsigned char)(i * 31);
    is_hip(hipMalloc(&d, 4096), hipSuccess, "malloc");
    is_int((uintptr_t)d % 256, 0, "allocations are aligned to 256 bytes");
    is_hip(hipMemcpy2D(d, 64, host, 128, 48, 30, hipMemcpyHostToDevice), hipSuccess, "2D copy");
    is_hip(hipMemcpy2D(back, 50, d, 64, 48, 30, hipMemcpyDeviceToHost), hipSuccess, "2D copy back");
    ok(memcmp(back + 29 * 50, host + 29 * 128, 48) == 0, "the last row arrived");
    is_hip(hipMemcpy2D(back, 40, d, 64, 48, 30, hipMemcpyDeviceToHost), hipErrorInvalidPitchValue,
           "rows longer than the pitch");
    is_hip(hipMemcpy(d, host, 4097, hipMemcpyHostToDevice), hipErrorInvalidValue,
           "a copy one byte too long");
    is_hip(hipMemset((char *)d + 4000, 1, 97), hipErrorInvalidValue, "a fill one byte too long");
    is_hip(hipMemsetD32(d, 0x01020304, 10), hipSuccess, "fill of words");
    is_hip(hipMemcpy(back, d, 41, hipMemcpyDefault), hipSuccess, "copy of unknown direction");
    ok(back[0] == 4 && back[39] == 1, "words are written whole");
    is_hip(hipMemset(host, 0, 16), hipErrorInvalidValue, "fill of ordinary host memory");
    is_hip(hipHostMalloc(&pinned, 1000, 0), hipSuccess, "pinned memory");
    memset(pinned, 9, 1000);
    is_hip(hipMemcpy(d, pinned, 1000, hipMemcpyHostToDevice), hipSuccess, "copy from pinned");
    hipPointerAttribute_t at;
    is_hip(hipPointerGetAttributes(&at, pinned), hipSuccess, "attributes of pinned memory");
    is_int(at.memoryType, hipMemoryTypeHost, "pinned memory is host memory");
    is_hip(hipPointerGetAttributes(&at, (char *)d + 17), hipSuccess, "attributes inside a block");
    is_int(at.memoryType, hipMemoryTypeDevice, "device memory");
    is_hip(hipPointerGetAttributes(&at, host), hipErrorInvalidValue, "attributes of other memory");
    void *where = NULL;
    size_t bytes = 0;
    int on = -1;
    bool managed = true;
    is_hip(hipPointerGetAttribute(&where, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, (char *)d + 17),
           hipSuccess, "the device pointer of a pointer");
    ok(where == (char *)d + 17, "is itself");
    is_hip(hipPointerGetAttribute(&where, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, (char *)d + 17),
           hipSuccess, "the start of its block");
    is_hip(hipPointerGetAttribute(&bytes, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, (char *)d + 17),
           hipSuccess, "and its size");
    ok(where == d && bytes >= 1000, "are those of the allocation");
    is_hip(hipPointerGetAttribute(&on, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, d), hipSuccess,
           "its device");
    is_int(on, 0, "is the current one");
    is_hip(hipPointerGetAttribute(&managed, HIP_POINTER_ATTRIBUTE_IS_MANAGED, d), hipSuccess,
           "whether it is managed");
    ok(!managed, "it is not");
    is_hip(hipPointerGetAttribute(&where, HIP_POINTER_ATTRIBUTE_HOST_POINTER, pinned), hipSuccess,
           "the host pointer of pinned memory");
    ok(where == pinned, "is itself, too");
    is_hip(hipPointerGetAttribute(&where, HIP_POINTER_ATTRIBUTE_HOST_POINTER, d),
           hipErrorInvalidValue, "device memory has none");
    is_hip(hipPointerGetAttribute(&where, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER, host),
           hipErrorInvalidValue, "an attribute of other memory");
    is_hip(hipMemPrefetchAsync(pinned, 1000, 0, NULL), hipSuccess, "prefetch");
    is_hip(hipMemPrefetchAsync(pinned, (size_t)1 << 40, 0, NULL), hipErrorInvalidValue,
           "prefetch beyond the block");
    is_hip(hipMemAdvise(pinned, 1000, hipMemAdviseSetReadMostly, 0), hipSuccess, "advice");
    is_hip(hipDeviceSetCacheConfig(hipFuncCachePreferShared), hipSuccess, "a wish for caches");
    is_hip(hipOccupancyMaxActiveBlocksPerMultiprocessor(&on, host, 64, 0),
           hipErrorInvalidDeviceFunction, "occupancy of what is no kernel");
    is_hip(hipHostRegister(host, sizeof host, 0), hipSuccess, "register");
    is_hip(hipHostRegister(host + 8, 8, 0), hipErrorHostMemoryAlreadyRegistered, "register twice");
    is_hip(hipHostUnregister(host), hipSuccess, "unregister");
    is_hip(hipHostUnregister(host), hipErrorHostMemoryNotRegistered, "unregister twice");
    size_t available, total, before;
    is_hip(hipMemGetInfo(&before, &total), hipSuccess, "memory info");
    is_hip(hipFree(d), hipSuccess, "free");
    is_hip(hipMemGetInfo(&available, &total), hipSuccess, "memory info");
    is_int(available - before, 4096, "freed bytes are available again");
    is_hip(hipHostFree(pinned), hipSuccess, "free pinned memory");
    is_hip(hipMalloc(&d, (size_t)1 << 50), hipErrorOutOfMemory, "a pebibyte");
    is_hip(hipMalloc(&d, 0), hipSuccess, "nothing");
    ok(d == NULL, "nothing is null");
    is_hip(hipFree(NULL), hipSuccess, "free of null");
}

static void streams(hipModule_t m)
{
    hipStream_t s;
    hipEvent_t start, stop;
    hipDevice_t device = -1;
    float ms = -1;
    int data[256] = {0}, wrong = 0;
    void *d = device_bytes(sizeof data, data);
    void *one[] = {&d};
    is_hip(hipStreamCreateWithFlags(&s, hipStreamNonBlocking), hipSuccess, "stream");
    is_hip(hipStreamGetDevice(s, &device), hipSuccess, "device of a stream");
    is_int(device, 0, "it is device 0");
    is_hip(hipEventCreate(&start), hipSuccess, "event");
    is_hip(hipEventCreate(&stop), hipSuccess, "event");
    is_hip(hipEventElapsedTime(&ms, start, stop), hipErrorInvalidHandle, "events not recorded");
    is_hip(hipEventRecord(start, s), hipSuccess, "record");
    is_hip(launch(m, "reverse", 1, 256, 1024, s, one), hipSuccess, "launch on a stream");
    is_hip(hipEventRecord(stop, s), hipSuccess, "record");
    is_hip(hipEventSynchronize(stop), hipSuccess, "synchronize");
    is_hip(hipEventElapsedTime(&ms, start, stop), hipSuccess, "elapsed");
    ok(ms > 0, "a launch takes emulated time: %g", (double)ms);
    is_hip(hipStreamQuery(s), hipSuccess, "query");

    /* capture, instantiate, launch twice: two reversals are none */
    hipGraph_t g;
    hipGraphExec_t x;
    size_t nodes = 0;
    hipStreamCaptureStatus status;
    for (int i = 0; i < 256; i++)
        data[i] = i;
    void *source = device_bytes(sizeof data, data);
    is_hip(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal), hipSuccess, "begin capture");
    is_hip(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal), hipErrorIllegalState, "twice");
    is_hip(hipStreamIsCapturing(s, &status), hipSuccess, "capture status");
    is_int(status, hipStreamCaptureStatusActive, "capturing");
    is_hip(hipStreamSynchronize(s), hipErrorStreamCaptureUnsupported, "synchronize in a capture");
    is_hip(hipMemsetAsync(d, 0, sizeof data, s), hipSuccess, "capture a fill");
    is_hip(hipMemcpyAsync(d, source, sizeof data, hipMemcpyDeviceToDevice, s), hipSuccess,
           "capture a copy");
    is_hip(launch(m, "reverse", 1, 256, 1024, s, one), hipSuccess, "capture a launch");
    is_hip(hipStreamEndCapture(s, &g), hipSuccess, "end capture");
    is_hip(hipGraphGetNodes(g, NULL, &nodes), hipSuccess, "nodes");
    is_int(nodes, 3, "three nodes");
    fetch(data, d, sizeof data);
    is_int(data[5], 0, "capture runs nothing");
    is_hip(hipGraphInstantiate(&x, g, NULL, NULL, 0), hipSuccess, "instantiate");
    is_hip(hipGraphDestroy(g), hipSuccess, "the graph may go");
    is_hip(hipGraphLaunch(x, s), hipSuccess, "graph launch");
    is_hip(hipGraphLaunch(x, NULL), hipSuccess, "graph launch again");
    fetch(data, d, sizeof data);
    for (int i = 0; i < 256; i++)
        wrong += data[i] != 255 - i;
    is_int(wrong, 0, "the graph did its work");
    is_hip(hipGraphExecDestroy(x), hipSuccess, "destroy");
    is_hip(hipGraphLaunch(x, s), hipErrorInvalidHandle, "launch of a destroyed graph");

    /* an event carries a capture to another stream */
    hipStream_t other;
    is_hip(hipStreamCreate(&other), hipSuccess, "second stream");
    is_hip(hipStreamBeginCapture(s, hipStreamCaptureModeThreadLocal), hipSuccess, "begin");
    is_hip(hipEventRecord(start, s), hipSuccess, "record in the capture");
    is_hip(hipEventSynchronize(start), hipErrorCapturedEvent, "wait for a captured event");
    is_hip(hipStreamWaitEvent(other, start, 0), hipSuccess, "fork");
    is_hip(launch(m, "reverse", 1, 256, 1024, other, one), hipSuccess, "captured on the fork");
    is_hip(hipStreamEndCapture(other, &g), hipErrorStreamCaptureUnmatched, "end on the fork");
    is_hip(hipStreamEndCapture(s, &g), hipSuccess, "end");
    is_hip(hipGraphGetNodes(g, NULL, &nodes), hipSuccess, "nodes");
    is_int(nodes, 1, "the fork's launch is in the graph");
    is_hip(hipStreamIsCapturing(other, &status), hipSuccess, "status of the fork");
    is_int(status, hipStreamCaptureStatusNone, "the fork is free again");
    is_hip(hipGraphDestroy(g), hipSuccess, "destroy");

    is_hip(hipStreamDestroy(other), hipSuccess, "destroy");
    is_hip(hipStreamDestroy(s), hipSuccess, "destroy");
    is_hip(hipStreamDestroy(s), hipErrorInvalidHandle, "destroy twice");
    is_hip(hipStreamQuery(s), hipErrorInvalidHandle, "query of a destroyed stream");
    is_hip(hipEventDestroy(start), hipSuccess, "destroy");
    is_hip(hipEventDestroy(stop), hipSuccess, "destroy");
}

/* Nodes added by hand, which nothing checked when they were called on a stream. */
static void nodes_by_hand(hipModule_t m)
{
    enum { WORDS = 256 };
    hipGraph_t g;
    hipGraphExec_t x;
    hipGraphNode_t node;
    uint32_t data[WORDS] = {0};
    int wrong = 0;
    void *from = device_bytes(sizeof data, data), *to = device_bytes(sizeof data, data);
    hipMemsetParams fill = {
        .dst = from, .elementSize = 4, .value = 0x01020304, .width = WORDS, .height = 1};
    hipKernelNodeParams kernel = {.func = m};

    is_hip(hipGraphCreate(&g, 0), hipSuccess, "create a graph");
    is_hip(hipGraphAddMemsetNode(&node, g, NULL, 0, &fill), hipSuccess, "a fill");
    is_hip(
        hipGraphAddMemcpyNode1D(&node, g, &node, 1, to, from, sizeof data, hipMemcpyDeviceToDevice),
        hipSuccess, "a copy");
    is_hip(hipGraphAddEmptyNode(&node, g, &node, 1), hipSuccess, "nothing");
    is_hip(hipGraphAddKernelNode(&node, g, &node, 1, &kernel), hipErrorInvalidDeviceFunction,
           "a launch of what is no function");
    fill.width = SIZE_MAX / 4 + 2; /* four bytes each, as many as fit into four bytes by overflow */
    is_hip(hipGraphAddMemsetNode(&node, g, NULL, 0, &fill), hipErrorInvalidValue,
           "a fill of more bytes than can be counted");
    is_hip(hipGraphInstantiate(&x, g, NULL, NULL, 0), hipSuccess, "instantiate");
    is_hip(hipGraphLaunch(x, NULL), hipSuccess, "launch");
    fetch(data, to, sizeof data);
    for (int i = 0; i < WORDS; i++)
        wrong += data[i] != 0x01020304;
    is_int(wrong, 0, "the nodes ran in their order");
    is_hip(hipGraphExecDestroy(x), hipSuccess, "destroy");
    is_hip(hipGraphDestroy(g), hipSuccess, "destroy");
    is_hip(hipFree(from), hipSuccess, "free");
    is_hip(hipFree(to), hipSuccess, "free");
}

static void properties(const char *arch)
{
    hipDeviceProp_t old;
    char newer[1472];
    int count = 0, value = 0, version = 0;
    void *entry = NULL;
    is_hip(hipGetDeviceCount(&count), hipSuccess, "device count");
    is_int(count, 1, "one device");
    is_hip(hipGetDeviceProperties(&old, 0), hipSuccess, "properties");
    ok(strncmp(old.gcnArchName, arch, strlen(arch)) == 0, "old layout: %s", old.gcnArchName);
    is_hip(hipGetDevicePropertiesR0600(newer, 0), hipSuccess, "properties R0600");
    is_str(newer + 1160, old.gcnArchName, "new layout: the same name at offset 1160");
    is_int(*(int *)(newer + 308), old.warpSize, "new layout: warp size at offset 308");
    is_hip(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0), hipSuccess, "attribute");
    is_int(value, strncmp(arch, "gfx11", 5) == 0 ? 32 : 64, "warp size");
    is_hip(hipGetDeviceProperties(&old, 1), hipErrorInvalidDevice, "a device that is not there");
    is_hip(hipSetDevice(3), hipErrorInvalidDevice, "set a device that is not there");
    is_hip(hipRuntimeGetVersion(&version), hipSuccess, "version");
    ok(version >= 50000000, "version %d", version);
    is_hip(hipGetProcAddress("hipModuleLaunchKernel", &entry, 600, 0, NULL), hipSuccess,
           "entry point by name");
    ok(entry == (void *)(uintptr_t)hipModuleLaunchKernel, "it is the function itself");
    is_str(hipGetErrorName(hipErrorLaunchFailure), "hipErrorLaunchFailure", "error name");
}

static void one_gpu(const char *target)
{
    char processor[32];
    snprintf(processor, sizeof processor, "%.*s", (int)strcspn(target, ":"), target);
    properties(target);
    copies();
    compiled_in(processor);
    hipModule_t m = load(processor);
    launches(m);
    memories(m);
    faults(m);
    streams(m);
    nodes_by_hand(m);
    is_hip(hipModuleUnload(m), hipSuccess, "unload");
    is_hip(hipModuleUnload(m), hipErrorInvalidHandle, "unload twice");
}

static void refusals(const char *target)
{
    hipModule_t m = NULL;
    char path[512], junk[256] = "not an ELF";
    snprintf(path, sizeof path, "%s/emu_kernels.gfx942.co", objects);
    (void)target;
    is_hip(hipModuleLoad(&m, path), hipErrorNoBinaryForGpu, "a code object for another GPU");
    contains(emu_last_text(), "gfx942", "the text names the target");
    is_hip(hipModuleLoad(&m, "/nonexistent"), hipErrorFileNotFound, "a missing file");
    is_hip(hipModuleLoadData(&m, junk), hipErrorNoBinaryForGpu, "junk");
    is_hip(hipModuleLoadData(&m, NULL), hipErrorInvalidValue, "null");
}

static void unknown_gpu(const char *target)
{
    int count = 7;
    (void)target;
    is_hip(hipGetDeviceCount(&count), hipErrorNoDevice, "an unknown GPU is no device");
    is_int(count, 0, "count is 0");
}

/* Two devices: memory of one is out of reach of the other until peer access is enabled. */
static void two_devices(const char *target)
{
    int count = 0, data[64];
    void *mine, *theirs;
    (void)target;
    is_hip(hipGetDeviceCount(&count), hipSuccess, "count");
    is_int(count, 3, "three devices");
    for (int i = 0; i < 64; i++)
        data[i] = i;
    hipModule_t first = load("gfx942");
    mine = device_bytes(sizeof data, data);
    is_hip(hipSetDevice(1), hipSuccess, "second device");
    theirs = device_bytes(sizeof data, NULL);
    hipModule_t second = load("gfx1151");
    void *params[] = {&mine, &theirs};
    is_hip(launch(second, "copy_one", 1, 64, 0, NULL, params), hipErrorLaunchFailure,
           "memory of another device");
    contains(emu_last_fault(), "of device 0, and this is device 1", "the report names both");
    is_hip(launch(first, "copy_one", 1, 64, 0, NULL, params), hipErrorInvalidHandle,
           "a module of another device");
    is_hip(hipDeviceEnablePeerAccess(0, 0), hipSuccess, "peer access");
    is_hip(hipDeviceEnablePeerAccess(0, 0), hipErrorPeerAccessAlreadyEnabled, "twice");
    is_hip(launch(second, "copy_one", 1, 64, 0, NULL, params), hipSuccess, "with peer access");
    memset(data, 0, sizeof data);
    fetch(data, theirs, sizeof data);
    is_int(data[63], 63, "copied between devices");
    is_hip(hipDeviceDisablePeerAccess(0), hipSuccess, "no more peer access");
    is_hip(launch(second, "copy_one", 1, 64, 0, NULL, params), hipErrorLaunchFailure,
           "out of reach again");
    is_hip(hipModuleUnload(first), hipSuccess, "unload");
    is_hip(hipModuleUnload(second), hipSuccess, "unload");
}

/* Host threads, each with its own device, stream and buffers. */
struct worker {
    int device, wrong;
    hipModule_t module;
};

static void *work(void *arg)
{
    struct worker *k = arg;
    hipStream_t s;
    int data[256];
    k->wrong += hipSetDevice(k->device) != hipSuccess;
    k->wrong += hipStreamCreateWithFlags(&s, hipStreamNonBlocking) != hipSuccess;
    for (int round = 0; round < 20; round++) {
        void *d;
        void *one[] = {&d};
        for (int i = 0; i < 256; i++)
            data[i] = i ^ round;
        k->wrong += hipMalloc(&d, sizeof data) != hipSuccess;
        k->wrong += hipMemcpyAsync(d, data, sizeof data, hipMemcpyHostToDevice, s) != hipSuccess;
        k->wrong += launch(k->module, "reverse", 1, 256, 1024, s, one) != hipSuccess;
        k->wrong += hipMemcpyAsync(data, d, sizeof data, hipMemcpyDeviceToHost, s) != hipSuccess;
        k->wrong += hipStreamSynchronize(s) != hipSuccess;
        for (int i = 0; i < 256; i++)
            k->wrong += data[i] != ((255 - i) ^ round);
        k->wrong += hipFree(d) != hipSuccess;
    }
    k->wrong += hipStreamDestroy(s) != hipSuccess;
    return NULL;
}

static void many_threads(const char *target)
{
    pthread_t thread[6];
    struct worker worker[6] = {0};
    (void)target;
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"gfx942", "gfx1151", "gfx90a"};
        is_hip(hipSetDevice(i), hipSuccess, "set device");
        worker[i].module = worker[i + 3].module = load(names[i]);
        worker[i].device = worker[i + 3].device = i;
    }
    for (int i = 0; i < 6; i++)
        if (pthread_create(&thread[i], NULL, work, &worker[i]) != 0)
            abort();
    for (int i = 0; i < 6; i++) {
        pthread_join(thread[i], NULL);
        is_int(worker[i].wrong, 0, "a host thread of six");
    }
}

/* In strict mode the same programs run, and planted errors are found. */
static void strict(const char *target)
{
    char processor[32];
    int data[64] = {0};
    snprintf(processor, sizeof processor, "%.*s", (int)strcspn(target, ":"), target);
    hipModule_t m = load(processor);
    launches(m);
    memories(m);
    void *fresh = device_bytes(sizeof data, NULL), *d = device_bytes(sizeof data, data);
    void *params[] = {&fresh, &d};
    is_hip(launch(m, "copy_one", 1, 64, 0, NULL, params), hipErrorLaunchFailure,
           "fresh device memory reaches a store");
    contains(emu_last_fault(), "never", "the report says so");
    is_hip(hipMemset(fresh, 0, sizeof data), hipSuccess, "written now");
    is_hip(launch(m, "copy_one", 1, 64, 0, NULL, params), hipSuccess, "and good");
    void *one[] = {&d};
    is_hip(launch(m, "lds_uninitialised", 1, 64, 0, NULL, one), hipErrorLaunchFailure,
           "fresh LDS reaches a store");
    void *wide = device_bytes(1024, NULL);
    void *reversed[] = {&wide};
    is_hip(hipMemset(wide, 0, 1024), hipSuccess, "written");
    is_hip(launch(m, "reverse_race", 1, 256, 1024, NULL, reversed), hipErrorLaunchFailure,
           "LDS without a barrier");
}

static void in_child(const char *gpus, const char *mode, void (*test)(const char *))
{
    int pipe_fd[2], status;
    fflush(stdout);
    if (pipe(pipe_fd) != 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        close(pipe_fd[0]);
        setenv("AOTHIP_EMU_GPU", gpus, 1);
        setenv("AOTHIP_EMU_MODE", mode, 1);
        gpu = gpus;
        test(gpus);
        int result[2] = {tap_count, tap_failed};
        if (write(pipe_fd[1], result, sizeof result) != sizeof result)
            _exit(99);
        exit(0);
    }
    close(pipe_fd[1]);
    int result[2] = {tap_count, tap_failed};
    ssize_t got = read(pipe_fd[0], result, sizeof result);
    close(pipe_fd[0]);
    waitpid(pid, &status, 0);
    if (got == sizeof result) {
        tap_count = result[0];
        tap_failed = result[1];
    }
    gpu = gpus;
    ok(status == 0 && got == sizeof result, "%s, %s: the process ended well", gpus, mode);
}

int main(int argc, char **argv)
{
    static const char *const targets[] = {"gfx90a:sramecc+:xnack-", "gfx942", "gfx1100", "gfx1151"};
    const char *dir = getenv("EMU_TEST_OBJECTS");
    if (dir)
        objects = dir;
    if (argc > 1)
        objects = argv[1];
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        in_child(targets[i], "plain", one_gpu);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        in_child(targets[i], "strict", strict);
    in_child("gfx1100", "plain", refusals);
    in_child("gfx999", "plain", unknown_gpu);
    in_child("gfx942,gfx1151,gfx90a", "plain", two_devices);
    in_child("gfx942,gfx1151,gfx90a", "plain", many_threads);
    in_child("gfx942,gfx1151,gfx90a", "strict", many_threads);
    return tap_done();
}
