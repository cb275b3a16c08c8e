/*
 * Calls of HIP whose results and errors are defined, one a line: "what: hipError" or "what:
 * number". rocm_releases.sh prints them once through the emulator's HIP functions and once through
 * AMD's, and compares.
 */
#include <stdint.h>
#include <string.h>

#include "loaded_hip.h"

enum { N = 256, BYTES = N * 4 };

static void say(const char *what, hipError_t e)
{
    printf("%s: %s\n", what, HIP(hipGetErrorName)(e));
    fflush(stdout);
}

static void number(const char *what, long long x)
{
    printf("%s: %lld\n", what, x);
    fflush(stdout);
}

static int fill[N], back[N];

static void *device(void)
{
    void *p = NULL;
    for (int i = 0; i < N; i++)
        fill[i] = i * 3 + 1;
    if (HIP(hipMalloc)(&p, BYTES) || HIP(hipMemcpy)(p, fill, BYTES, hipMemcpyHostToDevice))
        exit(98);
    return p;
}

static int as(const void *p, int (*f)(int))
{
    int wrong = 0;
    if (HIP(hipMemcpy)(back, p, BYTES, hipMemcpyDeviceToHost))
        return -1;
    for (int i = 0; i < N; i++)
        wrong += back[i] != f(i);
    return wrong;
}

static int given(int i)
{
    return i * 3 + 1;
}

static int reversed(int i)
{
    return (N - 1 - i) * 3 + 1;
}

static void devices(void)
{
    int n = -1, x = 0;
    size_t left, all;
    say("device count", HIP(hipGetDeviceCount)(&n));
    number("devices", n);
    say("count nowhere", HIP(hipGetDeviceCount)(NULL));
    say("device 0", HIP(hipSetDevice)(0));
    say("device 7", HIP(hipSetDevice)(7));
    say("device -1", HIP(hipSetDevice)(-1));
    say("last error", HIP(hipGetLastError)());
    say("last error, again", HIP(hipGetLastError)());
    say("which device", HIP(hipGetDevice)(&x));
    number("device", x);
    say("wave size", HIP(hipDeviceGetAttribute)(&x, hipDeviceAttributeWarpSize, 0));
    number("lanes", x);
    say("most threads", HIP(hipDeviceGetAttribute)(&x, hipDeviceAttributeMaxThreadsPerBlock, 0));
    number("threads", x);
    say("LDS", HIP(hipDeviceGetAttribute)(&x, hipDeviceAttributeMaxSharedMemoryPerBlock, 0));
    number("bytes of LDS", x);
    say("compute units", HIP(hipDeviceGetAttribute)(&x, hipDeviceAttributeMultiprocessorCount, 0));
    number("units", x);
    say("attribute nowhere", HIP(hipDeviceGetAttribute)(NULL, hipDeviceAttributeWarpSize, 0));
    say("attribute of device 7", HIP(hipDeviceGetAttribute)(&x, hipDeviceAttributeWarpSize, 7));
    say("memory", HIP(hipMemGetInfo)(&left, &all));
    number("GiB", (long long)(all >> 30));
    say("own peer", HIP(hipDeviceCanAccessPeer)(&x, 0, 0));
    number("is one", x);
    say("peer that is not there", HIP(hipDeviceEnablePeerAccess)(7, 0));
    say("peer 0 of 0", HIP(hipDeviceEnablePeerAccess)(0, 0));
}

static void memories(void)
{
    void *p = device(), *q = device(), *h = NULL;
    char *c = p;
    hipDeviceptr_t base;
    size_t size = 0;
    struct hipPointerAttribute_t a;
    say("malloc nowhere", HIP(hipMalloc)(NULL, 16));
    say("malloc of nothing", HIP(hipMalloc)(&h, 0));
    number("is null", h == NULL);
    say("malloc of 2^60", HIP(hipMalloc)(&h, (size_t)1 << 60));
    say("free null", HIP(hipFree)(NULL));
    say("free the stack", HIP(hipFree)(&size));
    say("range", HIP(hipMemGetAddressRange)(&base, &size, c + 100));
    number("begins there", base == (hipDeviceptr_t)p);
    number("bytes", (long long)size);
    say("range of the stack", HIP(hipMemGetAddressRange)(&base, &size, &size));
    say("attributes of null", HIP(hipPointerGetAttributes)(&a, NULL));
    say("attributes nowhere", HIP(hipPointerGetAttributes)(NULL, p));
    say("copy to itself", HIP(hipMemcpy)(p, p, BYTES, hipMemcpyDeviceToDevice));
    say("copy on the device", HIP(hipMemcpy)(q, p, BYTES, hipMemcpyDeviceToDevice));
    number("wrong", as(q, given));
    say("copy, default kind", HIP(hipMemcpy)(q, fill, BYTES, hipMemcpyDefault));
    say("copy, no kind", HIP(hipMemcpy)(q, fill, BYTES, (hipMemcpyKind)77));
    say("copy from null", HIP(hipMemcpy)(q, NULL, BYTES, hipMemcpyHostToDevice));
    say("copy to null", HIP(hipMemcpy)(NULL, q, BYTES, hipMemcpyDeviceToHost));
    say("copy of nothing", HIP(hipMemcpy)(NULL, NULL, 0, hipMemcpyDeviceToHost));
    say("copy beyond the end", HIP(hipMemcpy)(q, fill, BYTES * 4, hipMemcpyHostToDevice));
    say("set", HIP(hipMemset)(q, 1, BYTES));
    say("fetch", HIP(hipMemcpy)(back, q, BYTES, hipMemcpyDeviceToHost));
    number("is", back[N - 1]);
    say("set beyond the end", HIP(hipMemset)(q, 1, BYTES * 4));
    say("set null", HIP(hipMemset)(NULL, 1, BYTES));
    say("set 16 bits", HIP(hipMemsetD16)((hipDeviceptr_t)q, 0x1234, N * 2));
    say("fetch", HIP(hipMemcpy)(back, q, BYTES, hipMemcpyDeviceToHost));
    number("is", back[7]);
    say("set 32 bits", HIP(hipMemsetD32)((hipDeviceptr_t)q, 77, N));
    say("fetch", HIP(hipMemcpy)(back, q, BYTES, hipMemcpyDeviceToHost));
    number("is", back[7]);
    say("pinned", HIP(hipHostMalloc)(&h, BYTES, 0));
    say("to it", HIP(hipMemcpy)(h, p, BYTES, hipMemcpyDeviceToHost));
    number("is", ((int *)h)[9]);
    say("host free", HIP(hipHostFree)(h));
    say("host free again", HIP(hipHostFree)(h));
    say("host free of device", HIP(hipHostFree)(p));
    say("register null", HIP(hipHostRegister)(NULL, 16, 0));
    say("unregister the stack", HIP(hipHostUnregister)(&size));
    say("free", HIP(hipFree)(q));
    say("free again", HIP(hipFree)(q));
    say("free the middle", HIP(hipFree)(c + 64));
    say("pinned", HIP(hipHostMalloc)(&h, BYTES, 0));
    say("free of pinned", HIP(hipFree)(h));
}

static char *object_bytes;
static size_t object_size;

static void read_object(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) || !(object_bytes = malloc((size_t)ftell(f))))
        exit(97);
    object_size = (size_t)ftell(f);
    rewind(f);
    if (fread(object_bytes, 1, object_size, f) != object_size)
        exit(97);
    fclose(f);
}

static hipModule_t modules(const char *other)
{
    hipModule_t m = NULL, x;
    hipFunction_t f;
    hipDeviceptr_t p;
    size_t size = 0;
    char junk[4096] = "this is no object";
    say("module", HIP(hipModuleLoadData)(&m, object_bytes));
    say("module nowhere", HIP(hipModuleLoadData)(NULL, object_bytes));
    say("module of null", HIP(hipModuleLoadData)(&x, NULL));
    say("module of junk", HIP(hipModuleLoadData)(&x, junk));
    say("module of another GPU", HIP(hipModuleLoad)(&x, other));
    say("module that is not there", HIP(hipModuleLoad)(&x, "/nonexistent"));
    say("kernel", HIP(hipModuleGetFunction)(&f, m, "reverse"));
    say("kernel that is not there", HIP(hipModuleGetFunction)(&f, m, "absent"));
    say("kernel without a name", HIP(hipModuleGetFunction)(&f, m, ""));
    say("kernel nowhere", HIP(hipModuleGetFunction)(NULL, m, "reverse"));
    say("kernel, name null", HIP(hipModuleGetFunction)(&f, m, NULL));
    say("global", HIP(hipModuleGetGlobal)(&p, &size, m, "scale_by"));
    number("bytes", (long long)size);
    say("global that is not there", HIP(hipModuleGetGlobal)(&p, &size, m, "absent"));
    return m;
}

static hipError_t launch(hipModule_t m, const char *name, unsigned grid, unsigned block,
                         unsigned lds, hipStream_t s, void **params)
{
    hipFunction_t f;
    hipError_t e = HIP(hipModuleGetFunction)(&f, m, name);
    return e ? e : HIP(hipModuleLaunchKernel)(f, grid, 1, 1, block, 1, 1, lds, s, params, NULL);
}

static void launches(hipModule_t m)
{
    void *d = device();
    void *params[] = {&d};
    hipFunction_t f;
    int x = 0;
    HIP(hipModuleGetFunction)(&f, m, "reverse");
    say("launch", launch(m, "reverse", 1, N, BYTES, NULL, params));
    say("wait", HIP(hipDeviceSynchronize)());
    number("wrong", as(d, reversed));
    say("no blocks", launch(m, "reverse", 0, N, BYTES, NULL, params));
    say("no threads", launch(m, "reverse", 1, 0, BYTES, NULL, params));
    say("2048 threads", launch(m, "reverse", 1, 2048, BYTES, NULL, params));
    say("70000 bytes of LDS", launch(m, "reverse", 1, N, 70000, NULL, params));
    say("beyond the bounds", launch(m, "bounded", 1, 65, 0, NULL, params));
    say("within the bounds", launch(m, "bounded", 1, 64, 0, NULL, params));
    say("2^32 threads", launch(m, "bounded", 1u << 26, 64, 0, NULL, params));
    say("function null", HIP(hipModuleLaunchKernel)(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    say("registers", HIP(hipFuncGetAttribute)(&x, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    number("threads", x);
    say("wait", HIP(hipDeviceSynchronize)());
}

static void streams(hipModule_t m)
{
    void *d = device();
    void *params[] = {&d};
    hipStream_t s = NULL, t = NULL;
    hipEvent_t e = NULL, never = NULL;
    unsigned flags = 9;
    float ms;
    say("stream", HIP(hipStreamCreate)(&s));
    say("stream nowhere", HIP(hipStreamCreate)(NULL));
    say("other stream", HIP(hipStreamCreateWithFlags)(&t, hipStreamNonBlocking));
    say("flags that are none", HIP(hipStreamCreateWithFlags)(&t, 77));
    say("flags", HIP(hipStreamGetFlags)(s, &flags));
    number("are", flags);
    say("event", HIP(hipEventCreate)(&e));
    say("event nowhere", HIP(hipEventCreate)(NULL));
    say("event never recorded", HIP(hipEventCreate)(&never));
    say("query of that", HIP(hipEventQuery)(never));
    say("wait for that", HIP(hipEventSynchronize)(never));
    say("time of that", HIP(hipEventElapsedTime)(&ms, never, never));
    say("launch", launch(m, "reverse", 1, N, BYTES, s, params));
    say("record", HIP(hipEventRecord)(e, s));
    say("other waits", HIP(hipStreamWaitEvent)(t, e, 0));
    say("wait for null", HIP(hipStreamWaitEvent)(t, NULL, 0));
    say("launch there", launch(m, "reverse", 1, N, BYTES, t, params));
    say("wait", HIP(hipStreamSynchronize)(t));
    say("query", HIP(hipStreamQuery)(t));
    say("query of the event", HIP(hipEventQuery)(e));
    number("wrong", as(d, given));
    say("time, other event never recorded", HIP(hipEventElapsedTime)(&ms, e, never));
    say("record null", HIP(hipEventRecord)(NULL, s));
    say("destroy event", HIP(hipEventDestroy)(e));
    say("destroy null", HIP(hipEventDestroy)(NULL));
    say("destroy stream", HIP(hipStreamDestroy)(t));
    say("destroy null stream", HIP(hipStreamDestroy)(NULL));
}

static void captures(hipModule_t m)
{
    void *d = device(), *p = NULL;
    void *params[] = {&d};
    hipStream_t s;
    hipGraph_t g = NULL;
    hipGraphExec_t x = NULL;
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    size_t nodes = 0;
    HIP(hipStreamCreate)(&s);
    say("end without begin", HIP(hipStreamEndCapture)(s, &g));
    say("begin on the null stream", HIP(hipStreamBeginCapture)(NULL, hipStreamCaptureModeGlobal));
    say("begin", HIP(hipStreamBeginCapture)(s, hipStreamCaptureModeGlobal));
    say("begin again", HIP(hipStreamBeginCapture)(s, hipStreamCaptureModeGlobal));
    say("capturing", HIP(hipStreamIsCapturing)(s, &status));
    number("status", status);
    say("launch", launch(m, "reverse", 1, N, BYTES, s, params));
    say("end", HIP(hipStreamEndCapture)(s, &g));
    say("nodes", HIP(hipGraphGetNodes)(g, NULL, &nodes));
    number("are", (long long)nodes);
    number("nothing ran", as(d, given));
    say("instantiate", HIP(hipGraphInstantiate)(&x, g, NULL, NULL, 0));
    for (int i = 0; i < 3; i++)
        say("launch of the graph", HIP(hipGraphLaunch)(x, s));
    say("wait", HIP(hipStreamSynchronize)(s));
    number("wrong", as(d, reversed));
    say("destroy", HIP(hipGraphExecDestroy)(x));
    say("destroy", HIP(hipGraphDestroy)(g));
    say("graph null", HIP(hipGraphLaunch)(NULL, s));
    say("begin", HIP(hipStreamBeginCapture)(s, hipStreamCaptureModeGlobal));
    say("wait in a capture", HIP(hipStreamSynchronize)(s));
    say("end", HIP(hipStreamEndCapture)(s, &g));
    say("begin", HIP(hipStreamBeginCapture)(s, hipStreamCaptureModeGlobal));
    say("malloc in a capture", HIP(hipMalloc)(&p, 64));
    say("end", HIP(hipStreamEndCapture)(s, &g));
    say("begin, relaxed", HIP(hipStreamBeginCapture)(s, hipStreamCaptureModeRelaxed));
    say("malloc in that", HIP(hipMalloc)(&p, 64));
    say("end", HIP(hipStreamEndCapture)(s, &g));
}

/* For the test to see what the runtime makes of an object, or of a kernel that goes wrong. */
static int one(const char *path, const char *kernel)
{
    hipModule_t m;
    void *d = device();
    long at = 1L << 40;
    void *params[] = {&d, &at};
    hipError_t e = HIP(hipModuleLoad)(&m, path);
    say("module", e);
    if (e || !kernel)
        return 0;
    say("launch", launch(m, kernel, 1, N, 0, NULL, params));
    say("wait", HIP(hipDeviceSynchronize)());
    return 0;
}

/* The same kernel on a stream that may use all compute units, and on one that may use two. */
static int masked(void)
{
    hipModule_t m;
    const uint32_t two = 3;
    uint32_t is[8] = {0};
    hipStream_t s;
    void *d = device();
    void *params[] = {&d};
    if (HIP(hipModuleLoadData)(&m, object_bytes) ||
        HIP(hipExtStreamCreateWithCUMask)(&s, 1, &two) || HIP(hipExtStreamGetCUMask)(s, 8, is) ||
        is[0] != two || launch(m, "reverse", 512, N, BYTES, NULL, params) ||
        HIP(hipDeviceSynchronize)())
        return 1;
    return launch(m, "reverse", 512, N, BYTES, s, params) || HIP(hipStreamSynchronize)(s);
}

int main(int argc, char **argv)
{
    if (argc != 3 && !(argc == 4 && strcmp(argv[1], "one") == 0)) {
        fprintf(stderr, "usage: same_calls OBJECT OBJECT-OF-ANOTHER-GPU\n"
                        "       same_calls one OBJECT KERNEL|-\n"
                        "       same_calls masked OBJECT\n");
        return 2;
    }
    if (argc == 4)
        return one(argv[2], argv[3][0] == '-' ? NULL : argv[3]);
    if (strcmp(argv[1], "masked") == 0)
        return read_object(argv[2]), masked();
    read_object(argv[1]);
    devices();
    memories();
    hipModule_t m = modules(argv[2]);
    launches(m);
    streams(m);
    captures(m);
    say("unload", HIP(hipModuleUnload)(m));
    return 0;
}
