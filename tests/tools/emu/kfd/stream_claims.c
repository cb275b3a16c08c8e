/*
 * What the library claims about streams, where streams are truly asynchronous: under AMD's runtime.
 * Nothing here depends on time: a kernel that waits for the host holds a stream as long as the test
 * wants, and a call that waited for it would hang.
 *
 * usage: stream_claims OBJECT [--no-wait]
 *
 * --no-wait leaves out the one wait that the streams need, which the test must find.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <aothip/aothip.h>

#include "loaded_hip.h"

#include "tap.h"

enum { HEADS = 2, SEQ = 96, DIM = 64, COUNT = HEADS * SEQ * DIM, BYTES = COUNT * 2 };
enum { ONE = 0x3c00, TWO = 0x4000, GO = 12345 };

static const char *object;
static struct aothip_context *context;

static void must(hipError_t e, const char *what)
{
    if (e == hipSuccess)
        return;
    printf("# %s: %s\n", what, HIP(hipGetErrorName)(e));
    exit(1);
}

/* A device's tensors, streams, and the gate that holds the first stream. */
struct side {
    int device;
    hipStream_t first, second;
    hipModule_t module;
    hipFunction_t wait;
    volatile int *gate;
    void *q, *kv, *o, *other;
    uint16_t host[COUNT];
};

static void *halves(uint16_t x)
{
    static uint16_t h[COUNT];
    void *p;
    must(HIP(hipMalloc)(&p, BYTES), "malloc");
    for (int i = 0; i < COUNT; i++)
        h[i] = x;
    must(HIP(hipMemcpy)(p, h, BYTES, hipMemcpyHostToDevice), "copy");
    return p;
}

static void open_side(struct side *s, int device)
{
    void *gate;
    s->device = device;
    must(HIP(hipSetDevice)(device), "device");
    must(HIP(hipStreamCreateWithFlags)(&s->first, hipStreamNonBlocking), "stream");
    must(HIP(hipStreamCreateWithFlags)(&s->second, hipStreamNonBlocking), "stream");
    must(HIP(hipModuleLoad)(&s->module, object), "module");
    must(HIP(hipModuleGetFunction)(&s->wait, s->module, "endless"), "kernel");
    must(HIP(hipHostMalloc)(&gate, 4096, 0), "pinned memory");
    s->gate = gate;
    s->q = halves(ONE);
    s->kv = halves(ONE);
    s->o = halves(0);
    s->other = halves(0);
    must(HIP(hipDeviceSynchronize)(), "synchronize");
}

/* From here on the first stream does nothing more until open_gate(). */
static void close_gate(struct side *s)
{
    void *params[] = {(void *)&s->gate};
    s->gate[0] = 0;
    must(HIP(hipModuleLaunchKernel)(s->wait, 1, 1, 1, 1, 1, 1, 0, s->first, params, NULL), "gate");
}

static void open_gate(struct side *s)
{
    s->gate[0] = GO;
}

/* Attention of ones: its result is what V is, here that of `v`. */
static enum aothip_status attend(struct side *s, void *v, void *o, hipStream_t stream)
{
    struct aothip_attn_fwd_params p = {.struct_size = sizeof p, .scale = 0.125f};
    struct aothip_tensor *t[] = {&p.q, &p.k, &p.v, &p.o};
    void *data[] = {s->q, s->kv, v, o};
    for (int i = 0; i < 4; i++)
        *t[i] = (struct aothip_tensor){.data = data[i],
                                       .size = {1, HEADS, SEQ, DIM},
                                       .stride = {COUNT, SEQ * DIM, DIM, 1},
                                       .dtype = AOTHIP_F16};
    return aothip_attn_fwd(context, &p, stream);
}

/* How many elements of p are not x, copied on a stream of which nobody waits. */
static int other_than(struct side *s, void *p, uint16_t x, hipStream_t stream)
{
    int n = 0;
    must(HIP(hipMemcpyAsync)(s->host, p, BYTES, hipMemcpyDeviceToHost, stream), "copy");
    must(HIP(hipStreamSynchronize)(stream), "synchronize");
    for (int i = 0; i < COUNT; i++)
        n += s->host[i] != x;
    return n;
}

static void no_synchronisation(struct side *s)
{
    must(HIP(hipMemset)(s->o, 0, BYTES), "memset");
    must(HIP(hipDeviceSynchronize)(), "synchronize");
    close_gate(s);
    is_int(attend(s, s->kv, s->o, s->first), AOTHIP_OK, "a call on a stream that is held returns");
    ok(HIP(hipStreamQuery)(s->first) == hipErrorNotReady, "and has not run");
    is_int(attend(s, s->kv, s->other, s->second), AOTHIP_OK, "a call on another stream");
    is_int(other_than(s, s->other, ONE, s->second), 0, "runs, while the first is held");
    is_int(other_than(s, s->o, 0, s->second), 0, "and what that will write is as it was");
    open_gate(s);
    is_int(other_than(s, s->o, ONE, s->first), 0, "let go, it computes, too");
}

/* V is made on the first stream, which is held, and used on the second. */
static void order(struct side *s, bool wait)
{
    hipEvent_t made;
    void *v = halves(ONE);
    must(HIP(hipEventCreateWithFlags)(&made, hipEventDisableTiming), "event");
    must(HIP(hipMemset)(s->o, 0, BYTES), "memset");
    must(HIP(hipDeviceSynchronize)(), "synchronize");
    close_gate(s);
    must(HIP(hipMemsetD16Async)((hipDeviceptr_t)v, TWO, COUNT, s->first), "V is made");
    must(HIP(hipEventRecord)(made, s->first), "record");
    if (wait)
        must(HIP(hipStreamWaitEvent)(s->second, made, 0), "the wait");
    is_int(attend(s, v, s->o, s->second), AOTHIP_OK,
           "a call that uses what the other stream makes");
    if (wait) {
        ok(HIP(hipStreamQuery)(s->second) == hipErrorNotReady, "waits for the event");
        open_gate(s);
    } else {
        must(HIP(hipStreamSynchronize)(s->second), "synchronize");
        open_gate(s);
    }
    is_int(other_than(s, s->o, TWO, s->second), 0, "has what the other stream made");
    must(HIP(hipDeviceSynchronize)(), "synchronize");
    must(HIP(hipEventDestroy)(made), "event");
    must(HIP(hipFree)(v), "free");
}

static void graph(struct side *s)
{
    hipGraph_t g;
    hipGraphExec_t x;
    must(HIP(hipMemset)(s->o, 0, BYTES), "memset");
    must(HIP(hipDeviceSynchronize)(), "synchronize");
    must(HIP(hipStreamBeginCapture)(s->first, hipStreamCaptureModeGlobal), "begin");
    is_int(attend(s, s->kv, s->o, s->first), AOTHIP_OK, "a call in a capture");
    must(HIP(hipStreamEndCapture)(s->first, &g), "end");
    is_int(other_than(s, s->o, 0, s->second), 0, "does not run");
    must(HIP(hipGraphInstantiate)(&x, g, NULL, NULL, 0), "instantiate");
    close_gate(s);
    must(HIP(hipGraphLaunch)(x, s->first), "launch");
    is_int(other_than(s, s->o, 0, s->second), 0, "nor does its graph while the stream is held");
    open_gate(s);
    is_int(other_than(s, s->o, ONE, s->first), 0, "but then");
    must(HIP(hipMemset)(s->o, 0, BYTES), "memset");
    must(HIP(hipDeviceSynchronize)(), "synchronize");
    must(HIP(hipGraphLaunch)(x, s->second), "launch");
    is_int(other_than(s, s->o, ONE, s->second), 0, "and again, on another stream");
    must(HIP(hipGraphExecDestroy)(x), "destroy");
    must(HIP(hipGraphDestroy)(g), "destroy");
}

/* Each thread has a device and streams of its own; all hold them until all have called. */
static pthread_barrier_t all;

static void *thread(void *arg)
{
    struct side *s = arg;
    must(HIP(hipSetDevice)(s->device), "device");
    close_gate(s);
    intptr_t wrong = attend(s, s->kv, s->other, s->first);
    wrong += other_than(s, s->o, ONE, s->second); /* of before */
    pthread_barrier_wait(&all);
    open_gate(s);
    wrong += other_than(s, s->other, ONE, s->first);
    return (void *)wrong;
}

static void threads(struct side *s, int n)
{
    pthread_t t[4];
    pthread_barrier_init(&all, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, thread, &s[i]);
    for (int i = 0; i < n; i++) {
        void *wrong;
        pthread_join(t[i], &wrong);
        is_int((intptr_t)wrong, 0, "a thread with a device and streams of its own");
    }
}

int main(int argc, char **argv)
{
    static struct side sides[4];
    int devices = 0;
    bool wait = argc < 3;
    if (argc < 2)
        return 2;
    object = argv[1];
    alarm(240); /* who waits where nobody should hangs */
    must(HIP(hipGetDeviceCount)(&devices), "count");
    if (aothip_open(NULL, &context)) {
        printf("# %s\n", aothip_last_error());
        return 1;
    }
    for (int i = 0; i < 4; i++) { /* two threads on each of two devices, or all on one */
        open_side(&sides[i], i % devices);
        is_int(attend(&sides[i], sides[i].kv, sides[i].o, NULL), AOTHIP_OK, "a first call loads");
        must(HIP(hipDeviceSynchronize)(), "synchronize");
    }
    must(HIP(hipSetDevice)(0), "device");
    order(&sides[0], wait);
    if (wait) {
        no_synchronisation(&sides[0]);
        graph(&sides[0]);
        for (int i = 0; i < 4; i++) {
            must(HIP(hipSetDevice)(sides[i].device), "device");
            is_int(attend(&sides[i], sides[i].kv, sides[i].o, sides[i].first), AOTHIP_OK, "again");
            must(HIP(hipDeviceSynchronize)(), "synchronize");
        }
        threads(sides, 4);
    }
    aothip_close(context);
    return tap_done();
}
