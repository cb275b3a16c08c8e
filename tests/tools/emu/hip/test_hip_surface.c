/*
 * The HIP functions of libhipemu.so, used as a program uses them: devices, modules, launches,
 * faults, kernels that are compiled in, and the errors of each. Copies, streams, graphs, several
 * devices and threads are in test_hip_streams.c, captures in test_hip_capture.c.
 */
#include <elf.h>

#include "test_hip_calls.h"

uint64_t emu_instructions(void);
hipError_t hipGetDevicePropertiesR0600(void *p, int device);
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
           hipErrorInvalidValue, "an empty grid");
    is_hip(hipModuleLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, NULL, params, NULL),
           hipErrorInvalidValue, "a block of 2048");
    is_hip(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 70000, NULL, params, NULL),
           hipErrorInvalidValue, "70000 bytes of LDS");
    is_hip(launch(m, "generic", 1, 64, 65536, NULL, &params[2]), hipErrorIllegalState,
           "65536 bytes of LDS beside what the kernel has");
    /* HIP up to ROCm 7.0 refuses grids that only later versions launch */
    is_hip(hipModuleLaunchKernel(f, 1, 65537, 1, 64, 1, 1, 0, NULL, params, NULL),
           hipErrorInvalidValue, "a grid of 65537 along y");
    is_hip(hipModuleLaunchKernel(f, 1, 1, 65537, 64, 1, 1, 0, NULL, params, NULL),
           hipErrorInvalidValue, "a grid of 65537 along z");
    is_hip(hipModuleLaunchKernel(f, 1u << 31, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
           hipErrorInvalidValue, "a grid of 2^31 along x");
    is_hip(hipModuleLaunchKernel(f, 1u << 30, 1, 1, 64, 1, 1, 0, NULL, params, NULL),
           hipErrorInvalidConfiguration, "2^36 work-items");
    is_hip(hipModuleGetFunction(&f, m, "absent"), hipErrorNotFound, "an unknown kernel");
    is_hip(hipModuleGetFunction(&f, m, "add.kd"), hipErrorNotFound, "a descriptor's name");
    is_hip(hipModuleGetFunction(&f, m, ""), hipErrorInvalidValue, "no name");
    is_hip(launch(m, "bounded", 1, 65, 0, NULL, &params[2]), hipErrorLaunchFailure,
           "a block beyond the launch bounds");
    is_hip(launch(m, "bounded", 1, 64, 0, NULL, &params[2]), hipSuccess, "and one within");

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
    is_hip(launch(m, "pointed", 1, 64, 0, NULL, one), hipSuccess,
           "a kernel reads through a pointer that the loader puts in");
    fetch(back, d, sizeof back);
    is_int(back[63], 5, "it points to the global");
}

/* What HIP says of a kernel, odd as some of it is (hip_module.cpp). */
static void attributes(hipModule_t m, const char *target)
{
    static const struct {
        const char *processor;
        int version;
    } versions[] = {
        {"gfx90a", 90}, {"gfx942", 94}, {"gfx1100", 110}, {"gfx1151", 115}, {"gfx1201", 120}};
    struct hipFuncAttributes all;
    hipFunction_t f;
    int value = 0, most = 0;
    is_hip(hipModuleGetFunction(&f, m, "bounded"), hipSuccess, "get function");
    is_hip(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_BINARY_VERSION, f), hipSuccess,
           "the code's version");
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (!strcmp(versions[i].processor, target))
            is_int(value, versions[i].version, "is the processor's");
    is_hip(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, f), hipSuccess, "registers");
    ok(value > 0 && value <= 16, "are few, each counted once: %d", value);
    is_hip(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f), hipSuccess,
           "threads");
    is_int(value, 64, "as bounded");
    is_hip(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, f), hipSuccess,
           "constants");
    is_int(value, -1, "are one less than none");
    is_hip(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f), hipSuccess, "LDS");
    is_hip(hipFuncGetAttribute(&most, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f),
           hipSuccess, "more LDS");
    is_int(value + most, 65536, "together are what there is");
    is_hip(hipFuncGetAttribute(NULL, HIP_FUNC_ATTRIBUTE_NUM_REGS, f), hipErrorInvalidValue,
           "nowhere to put it");
    is_hip(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, (hipFunction_t)&value),
           hipErrorInvalidHandle, "not a function");
    is_hip(hipFuncGetAttributes(&all, f), hipErrorInvalidDeviceFunction,
           "all attributes are for compiled-in kernels");
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
    is_hip(hipMemcpyToSymbol(&stands_for_scale, &seven, 4, 1, hipMemcpyHostToDevice),
           hipErrorInvalidValue, "beyond its end it is not");
    is_hip(hipMemcpyFromSymbol(&value, &stands_for_scale, 5, 0, hipMemcpyDeviceToHost),
           hipErrorInvalidValue, "nor read there");
    is_hip(hipMemcpyToSymbol(&stands_for_scale, &seven, 4, 0, hipMemcpyDeviceToHost),
           hipErrorInvalidMemcpyDirection, "nor written backwards");
    struct hipFuncAttributes all;
    is_hip(hipFuncGetAttributes(&all, &stands_for_add), hipSuccess, "attributes of a kernel");
    ok(all.numRegs > 0 && all.maxThreadsPerBlock == 1024, "are its own");
    wrapper.version = 2;
    ok(!__hipRegisterFatBinary(&wrapper), "a wrapper of another version is not registered");
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
    is_int(value, strncmp(arch, "gfx1", 4) == 0 ? 32 : 64, "warp size");
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
    compiled_in(processor);
    hipModule_t m = load(processor);
    launches(m);
    memories(m);
    attributes(m, processor);
    faults(m);
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
    is_hip(hipModuleLoadData(&m, junk), hipErrorInvalidImage, "junk");
    is_hip(hipModuleLoadData(&m, NULL), hipErrorInvalidValue, "null");

    /* one for this GPU, but stripped of the table in which AMD's loader looks for kernels */
    snprintf(path, sizeof path, "%s/emu_kernels.gfx1100.co", objects);
    char *object = whole_file(path);
    Elf64_Ehdr *h = (Elf64_Ehdr *)object;
    Elf64_Shdr *s = (Elf64_Shdr *)(object + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++)
        if (s[i].sh_type == SHT_SYMTAB)
            s[i].sh_type = SHT_PROGBITS;
    is_hip(hipModuleLoadData(&m, object), hipErrorNoBinaryForGpu, "a stripped code object");
    contains(emu_last_text(), "SHT_SYMTAB", "the text says what it lacks");
    free(object);
}

static void unknown_gpu(const char *target)
{
    int count = 7;
    (void)target;
    is_hip(hipGetDeviceCount(&count), hipErrorNoDevice, "an unknown GPU is no device");
    is_int(count, 0, "count is 0");
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

/* Does the device compiler know all that the GPU's code must have? */
static bool is_compiled(const char *target)
{
    char word[32];
    snprintf(word, sizeof word, " %.*s ", (int)strcspn(target, ":"), target);
    return strstr(GPUS_COMPILED, word) != NULL;
}

int main(int argc, char **argv)
{
    static const char *const targets[] = {"gfx90a:sramecc+:xnack-", "gfx942", "gfx1100", "gfx1151",
                                          "gfx1201"};
    find_objects(argc, argv);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        in_child(targets[i], "plain", one_gpu);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (is_compiled(targets[i]))
            in_child(targets[i], "strict", strict);
        else
            tap_diag("%s, strict: the device compiler is too old for it", targets[i]);
    in_child("gfx1100", "plain", refusals);
    in_child("gfx999", "plain", unknown_gpu);
    return tap_done();
}
