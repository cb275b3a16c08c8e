/*
 * The library while streams are captured into HIP graphs, on the emulator, which refuses what AMD's
 * HIP refuses then and spoils the capture as it does: what is captured gives the bytes of a direct
 * call, also when kernels are loaded meanwhile, and nobody's capture is spoilt.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "attn.h"
#include "fake_problem.h"
#include "make_image.h"
#include "ref.h"
#include "tap.h"

enum { BATCH = 2, HEADS = 2, ROWS = 19, KEYS = 35, DIM = 40, LONG = 600, BUFFERS = 32 };

static unsigned state = 20261122;
static struct {
    void *memory;
    size_t bytes;
} buffers[BUFFERS]; /* of the current problem */
static int buffer_count;

static struct {
    hipError_t (*begin)(hipStream_t stream, hipStreamCaptureMode mode);
    hipError_t (*end)(hipStream_t stream, hipGraph_t *graph);
    hipError_t (*is_capturing)(hipStream_t stream, hipStreamCaptureStatus *status);
    hipError_t (*instantiate)(hipGraphExec_t *exec, hipGraph_t graph, hipGraphNode_t *error_node,
                              char *log, size_t size);
    hipError_t (*launch)(hipGraphExec_t exec, hipStream_t stream);
    hipError_t (*destroy_exec)(hipGraphExec_t exec);
    hipError_t (*destroy)(hipGraph_t graph);
} graphs;

static int find_graphs(void)
{
    void *library = dlopen(EMULATOR, RTLD_NOW);
#define TAKE(field, name) *(void **)&graphs.field = dlsym(library, name)
    TAKE(begin, "hipStreamBeginCapture");
    TAKE(end, "hipStreamEndCapture");
    TAKE(is_capturing, "hipStreamIsCapturing");
    TAKE(instantiate, "hipGraphInstantiate");
    TAKE(launch, "hipGraphLaunch");
    TAKE(destroy_exec, "hipGraphExecDestroy");
    TAKE(destroy, "hipGraphDestroy");
#undef TAKE
    return library && graphs.begin && graphs.end && graphs.is_capturing && graphs.instantiate &&
           graphs.launch && graphs.destroy_exec && graphs.destroy;
}

/* Random numbers between -2 and 2. */
static void *values(size_t count, int dtype)
{
    unsigned char *memory = malloc(count * ref_dtype_size(dtype));
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        ref_store(memory, (int64_t)i, dtype, (double)(int)(state >> 8 & 0xffff) / 16384 - 2);
    }
    buffers[buffer_count].bytes = count * ref_dtype_size(dtype);
    buffers[buffer_count].memory = memory;
    return buffers[buffer_count++].memory;
}

static struct aothip_tensor tensor(int64_t s, int64_t d)
{
    struct aothip_tensor made = problem_tensor(0, BATCH, HEADS, s, d);
    made.dtype = AOTHIP_F16;
    made.data = values((size_t)(BATCH * HEADS * s * d), AOTHIP_F16);
    return made;
}

enum problem { ATTENTION, DECODE, GROWING_CACHE, BACKWARD, PROBLEMS };
static const char *const problem_names[] = {"attention", "decode", "growing cache", "backward"};

static void make_problem(enum problem problem, struct aothip_attn_fwd_params *p,
                         struct aothip_attn_bwd_params *b)
{
    static const int32_t lengths[] = {KEYS - 4, 11};
    const int64_t rows = problem == DECODE ? 1 : problem == GROWING_CACHE ? 3 : ROWS;
    const int64_t keys = problem == DECODE ? LONG : KEYS;
    *p = (struct aothip_attn_fwd_params){.struct_size = sizeof(*p), .scale = 0.125f};
    p->q = tensor(rows, DIM);
    p->k = tensor(keys, DIM);
    p->v = tensor(keys, DIM);
    p->o = tensor(rows, DIM);
    p->mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    p->splits = problem == DECODE ? 4 : 0;
    p->lse = values((size_t)(BATCH * HEADS * rows), AOTHIP_F32);
    if (problem == GROWING_CACHE) {
        p->k_new = tensor(3, DIM);
        p->v_new = tensor(3, DIM);
        p->k_seqs.lengths = lengths;
    }
    *b = (struct aothip_attn_bwd_params){.struct_size = sizeof(*b), .fwd = p};
    if (problem == BACKWARD) {
        b->d_o = tensor(ROWS, DIM);
        b->dq = tensor(ROWS, DIM);
        b->dk = tensor(KEYS, DIM);
        b->dv = tensor(KEYS, DIM);
    }
}

static void release(void)
{
    while (buffer_count > 0)
        free(buffers[--buffer_count].memory);
}

/* The bytes of all buffers one behind the other. */
static unsigned char *gather(size_t *size)
{
    unsigned char *all, *to;
    *size = 0;
    for (int i = 0; i < buffer_count; i++)
        *size += buffers[i].bytes;
    all = to = malloc(*size);
    for (int i = 0; i < buffer_count; to += buffers[i++].bytes)
        memcpy(to, buffers[i].memory, buffers[i].bytes);
    return all;
}

static void scatter(const unsigned char *all)
{
    for (int i = 0; i < buffer_count; all += buffers[i++].bytes)
        memcpy(buffers[i].memory, all, buffers[i].bytes);
}

static enum aothip_status upload(const struct device *device, struct aothip_context *context,
                                 const struct aothip_attn_fwd_params *p,
                                 const struct aothip_attn_bwd_params *b, struct attn_call *call,
                                 struct status *why)
{
    return b->dq.data ? attn_upload_bwd(device, context, b, call, why)
                      : attn_upload_fwd(device, context, p, ATTN_FWD, call, why);
}

static hipStreamCaptureStatus capture_status(const struct device *device)
{
    hipStreamCaptureStatus status = hipStreamCaptureStatusInvalidated;
    graphs.is_capturing(device->stream, &status);
    return status;
}

/* Captures a launch; NULL after a failure. */
static hipGraphExec_t capture(const struct device *device, struct aothip_context *context,
                              const struct attn_call *call, const char *name)
{
    hipGraphExec_t exec = NULL;
    hipGraph_t graph = NULL;
    struct status why;
    status_clear(&why);
    graphs.begin(device->stream, hipStreamCaptureModeGlobal);
    is_int(attn_launch(device, context, call, &why), AOTHIP_OK, name);
    if (why.code)
        tap_diag("%s", why.text);
    is_int(capture_status(device), hipStreamCaptureStatusActive, "its capture is not spoilt");
    is_int(graphs.end(device->stream, &graph), hipSuccess, "and can be ended");
    is_int(graphs.instantiate(&exec, graph, NULL, NULL, 0), hipSuccess, "its graph can be used");
    graphs.destroy(graph);
    return exec;
}

/* The same problem directly and by a graph of a context that has loaded nothing before. */
static void test_problem(const struct device *device, enum problem problem)
{
    struct aothip_attn_fwd_params p;
    struct aothip_attn_bwd_params b;
    struct aothip_context *direct, *captured;
    struct attn_call call;
    struct status why;
    hipGraphExec_t exec;
    size_t size;
    unsigned char *before, *wanted, *got;
    char name[320];
    status_clear(&why);
    snprintf(name, sizeof(name), "%s: %s in a graph", device->properties.target,
             problem_names[problem]);
    make_problem(problem, &p, &b);
    before = gather(&size);
    aothip_open(IMAGES, &direct);
    aothip_open(IMAGES, &captured);
    upload(device, direct, &p, &b, &call, &why);
    attn_launch(device, direct, &call, &why);
    attn_download(device, &call, &why);
    attn_release(device, &call);
    wanted = gather(&size);
    scatter(before);
    upload(device, captured, &p, &b, &call, &why);
    exec = capture(device, captured, &call, name);
    for (int i = 0; i < 2; i++) {
        is_int(graphs.launch(exec, device->stream), hipSuccess, "and launched");
        attn_download(device, &call, &why);
        got = gather(&size);
        ok(!memcmp(got, wanted, size) && memcmp(got, before, size), "with the bytes of a call");
        free(got);
    }
    attn_release(device, &call);
    ok(!why.code, "all went well: %s", why.text);
    graphs.destroy_exec(exec);
    aothip_close(direct);
    aothip_close(captured);
    free(before);
    free(wanted);
    release();
}

static int count_files(const char *directory)
{
    DIR *dir = opendir(directory);
    struct dirent *item;
    int count = 0;
    while (dir && (item = readdir(dir)))
        count += item->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

/*
 * A context without kernels is used on one stream while another is captured, by whatever mode; with
 * a `root` it writes down what it launches.
 */
static void test_other_stream(const struct device *device, const char *root)
{
    static const hipStreamCaptureMode modes[] = {
        hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed};
    struct aothip_attn_fwd_params p;
    struct aothip_attn_bwd_params b;
    struct device other;
    struct attn_call call;
    struct status why;
    status_clear(&why);
    make_problem(ATTENTION, &p, &b);
    if (!ok(!device_open(device->runtime, device->number, &other, &why), "another stream"))
        return;
    for (int i = 0; i < 3; i++) {
        struct aothip_context *context;
        hipGraph_t graph = NULL;
        if (root)
            setenv("AOTHIP_CAPTURE", root, 1);
        aothip_open(IMAGES, &context);
        unsetenv("AOTHIP_CAPTURE");
        upload(device, context, &p, &b, &call, &why);
        graphs.begin(other.stream, modes[i]);
        is_int(attn_launch(device, context, &call, &why), AOTHIP_OK, "a first launch");
        is_int(capture_status(&other), hipStreamCaptureStatusActive, "spoils no other's capture");
        is_int(graphs.end(other.stream, &graph), hipSuccess, "which can be ended");
        graphs.destroy(graph);
        attn_download(device, &call, &why);
        attn_release(device, &call);
        aothip_close(context);
        if (root)
            is_int(count_files(root), i + 1, "and what was launched is written down");
    }
    ok(!why.code, "all went well: %s", why.text);
    device_close(&other);
    release();
}

/* Launches that go into a graph do not run, and AOTHIP_CAPTURE does not wait for them. */
static void test_written_down(const struct device *device)
{
    struct aothip_attn_fwd_params p;
    struct aothip_attn_bwd_params b;
    struct aothip_context *context;
    struct attn_call call;
    struct status why;
    char root[256];
    status_clear(&why);
    make_directory(root);
    test_other_stream(device, root);
    remove_directory(root);
    make_directory(root);
    setenv("AOTHIP_CAPTURE", root, 1);
    aothip_open(IMAGES, &context);
    unsetenv("AOTHIP_CAPTURE");
    make_problem(ATTENTION, &p, &b);
    upload(device, context, &p, &b, &call, &why);
    graphs.destroy_exec(capture(device, context, &call, "with AOTHIP_CAPTURE"));
    is_int(count_files(root), 0, "nothing is written down");
    is_int(attn_launch(device, context, &call, &why), AOTHIP_OK, "a launch behind it");
    is_int(count_files(root), 1, "is");
    attn_release(device, &call);
    aothip_close(context);
    remove_directory(root);
    release();
}

/* A graph is of no use once the context is closed that its kernels are of. */
static void test_closed(const struct device *device)
{
    struct aothip_attn_fwd_params p;
    struct aothip_attn_bwd_params b;
    struct aothip_context *context;
    struct attn_call call;
    struct status why;
    hipGraphExec_t exec;
    status_clear(&why);
    aothip_open(IMAGES, &context);
    make_problem(ATTENTION, &p, &b);
    upload(device, context, &p, &b, &call, &why);
    exec = capture(device, context, &call, "before a context is closed");
    aothip_close(context);
    ok(graphs.launch(exec, device->stream) != hipSuccess, "its graph cannot be launched any more");
    graphs.destroy_exec(exec);
    attn_release(device, &call);
    release();
}

int main(void)
{
    static const char *const gpus[] = {"gfx90a", "gfx942", "gfx1100", "gfx1151"};
    static struct device_runtime runtime;
    struct status why;
    struct stat info;
    if (stat(IMAGES, &info) || stat(EMULATOR, &info))
        tap_skip_all("there are no images or no emulator");
    setenv("AOTHIP_HIP_LIBRARY", EMULATOR, 1);
    setenv("AOTHIP_EMU_GPU", "gfx90a,gfx942,gfx1100,gfx1151", 1);
    status_clear(&why);
    if (!ok(find_graphs() && !device_open_runtime(&runtime, &why), "the emulator %s", why.text))
        return tap_done();
    for (int i = 0; i < 4; i++) {
        struct device device = {0};
        char images[1024];
        snprintf(images, sizeof(images), IMAGES "/amd-%s", gpus[i]);
        if (stat(images, &info))
            continue; /* built for other GPUs */
        if (!ok(!device_open(&runtime, i, &device, &why), "%s", gpus[i]))
            break;
        for (int problem = 0; problem < PROBLEMS; problem++)
            test_problem(&device, problem);
        test_other_stream(&device, NULL);
        test_written_down(&device);
        test_closed(&device);
        device_close(&device);
    }
    return tap_done();
}
