/*
 * The built images on the emulator through the C API: four GPUs in one process, sequence lengths on
 * both sides of every tile edge, against the double-precision reference.
 */
#include <pthread.h>
#include <sys/stat.h>

#include "attn.h"
#include "ref.h"
#include "tap.h"

enum { GPUS = 4 };
static const char gpus[] = "gfx90a,gfx942,gfx1100,gfx1151";
static const unsigned seed = 20261121;

static struct device_runtime runtime;
static struct device devices[GPUS];
static struct aothip_context *context;

/* One problem with its tensors in host memory. */
struct problem {
    struct aothip_attn_fwd_params params;
    void *buffers[5];
};

static void *random_values(size_t count, int dtype, unsigned *state)
{
    unsigned char *values = malloc(count * ref_dtype_size(dtype));
    for (size_t i = 0; i < count; i++) {
        *state = *state * 1664525u + 1013904223u;
        ref_store(values, (int64_t)i, dtype, (double)(int)(*state >> 8 & 0xffff) / 16384 - 2);
    }
    return values;
}

static struct aothip_tensor make_tensor(void **buffer, const int64_t size[4], int dtype,
                                        enum attn_layout layout, unsigned *state)
{
    struct aothip_tensor tensor = attn_view(layout, NULL, dtype, size);
    *buffer = tensor.data = random_values(attn_span(&tensor), dtype, state);
    return tensor;
}

static void make_problem(struct problem *p, const int64_t sizes[6], int dtype, int mask, int number)
{
    const int64_t batch = sizes[0], heads_q = sizes[1], heads_k = sizes[2];
    const int64_t seq_q = sizes[3], seq_k = sizes[4], dim = sizes[5];
    const enum attn_layout layout = number % 2 ? ATTN_BSHD : ATTN_BHSD;
    unsigned state = seed + (unsigned)number;
    p->params = (struct aothip_attn_fwd_params){.struct_size = sizeof(p->params)};
    p->params.q =
        make_tensor(&p->buffers[0], (int64_t[]){batch, heads_q, seq_q, dim}, dtype, layout, &state);
    p->params.k =
        make_tensor(&p->buffers[1], (int64_t[]){batch, heads_k, seq_k, dim}, dtype, layout, &state);
    p->params.v =
        make_tensor(&p->buffers[2], (int64_t[]){batch, heads_k, seq_k, dim}, dtype, layout, &state);
    p->params.o =
        make_tensor(&p->buffers[3], (int64_t[]){batch, heads_q, seq_q, dim}, dtype, layout, &state);
    p->buffers[4] = malloc((size_t)(batch * heads_q * seq_q) * sizeof(float));
    memset(p->buffers[4], 0xff, (size_t)(batch * heads_q * seq_q) * sizeof(float)); /* NaN */
    p->params.lse = p->buffers[4];
    p->params.scale = 0.125f;
    p->params.mask = mask;
}

static void free_problem(struct problem *p)
{
    for (int i = 0; i < 5; i++)
        free(p->buffers[i]);
}

/* Runs it on a device; 0, or -1 with the reason printed. */
static int run_problem(struct problem *p, const struct device *device)
{
    struct ref_verdict o, lse;
    struct ref_fwd answer;
    struct status why;
    status_clear(&why);
    if (attn_fwd(device, context, &p->params, &why)) {
        tap_diag("device %d: %s", device->number, why.text);
        return -1;
    }
    if (ref_attn_fwd(&p->params, ref_subnormals_of(device->properties.target), &answer)) {
        tap_diag("no reference");
        return -1;
    }
    o = ref_judge_o(&answer, &p->params.o);
    lse = ref_judge_lse(&answer, p->params.lse);
    ref_free(&answer);
    if (o.wrong || lse.wrong) {
        tap_diag("device %d: %lld of o wrong (error %g, allowed %g), %lld of lse", device->number,
                 (long long)o.wrong, o.error, o.allowed, (long long)lse.wrong);
        return -1;
    }
    return 0;
}

/* Every pair of lengths around the edges of tiles of 64, 128 and 256 rows. */
static void test_edges(const struct device *device)
{
    static const int64_t lengths[] = {1, 63, 64, 65, 127, 128, 129, 257};
    static const int64_t dims[] = {64, 128, 8, 96, 1, 127};
    enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
    int wrong = 0, number = 0;
    for (int i = 0; i < LENGTHS; i++)
        for (int j = 0; j < LENGTHS; j++, number++) {
            const int64_t sizes[] = {1,          2,          number % 3 ? 1 : 2,
                                     lengths[i], lengths[j], dims[number % 6]};
            const int dtype = (number / 6) % 2 ? AOTHIP_BF16 : AOTHIP_F16;
            struct problem p;
            make_problem(&p, sizes, dtype, (i + j) % 3, number);
            if (run_problem(&p, device)) {
                tap_diag("%lld x %lld, dim %lld, dtype %d, mask %d", (long long)lengths[i],
                         (long long)lengths[j], (long long)sizes[5], dtype, (i + j) % 3);
                wrong++;
            }
            free_problem(&p);
        }
    ok(!wrong, "%s: %d problems around every tile edge", device->properties.target, number);
}

/* A kernel's first launch on a device while another is current, on a context of its own. */
static void test_other_device(int number)
{
    const int64_t sizes[] = {1, 1, 1, 33, 65, 64};
    const int other = (number + 1) % GPUS;
    const struct device *device = &devices[number];
    struct aothip_context *fresh;
    struct aothip_tensor *tensors[4];
    struct problem p;
    struct status why;
    int current = -1;
    status_clear(&why);
    make_problem(&p, sizes, AOTHIP_F16, AOTHIP_MASK_NONE, 7);
    tensors[0] = &p.params.q, tensors[1] = &p.params.k;
    tensors[2] = &p.params.v, tensors[3] = &p.params.o;
    for (int i = 0; i < 4; i++) {
        const size_t bytes = attn_span(tensors[i]) * 2;
        device_alloc(device, bytes, &tensors[i]->data, &why);
        device_upload(device, tensors[i]->data, p.buffers[i], bytes, &why);
    }
    p.params.lse = NULL;
    is_int(aothip_open(IMAGES, &fresh), AOTHIP_OK, "a context of its own");
    runtime.hip.set_device(other);
    is_int(aothip_attn_fwd(fresh, &p.params, device->stream), AOTHIP_OK,
           "first launch while another device is current");
    runtime.hip.get_device(&current);
    is_int(current, other, "which stays current");
    device_finish(device, &why);
    aothip_close(fresh);
    runtime.hip.get_device(&current);
    is_int(current, other, "also when the context is closed");
    runtime.hip.set_device(number);
    is_int(why.code, AOTHIP_OK, "the work is done");
    for (int i = 0; i < 4; i++)
        device_free(device, tensors[i]->data);
    free_problem(&p);
}

static void *run_thread(void *argument)
{
    const struct device *device = argument;
    intptr_t wrong = 0;
    runtime.hip.set_device(device->number);
    for (int i = 0; i < 4; i++) {
        const int64_t sizes[] = {1, 2, 2, 40 + i, 70, 64};
        struct problem p;
        make_problem(&p, sizes, i % 2 ? AOTHIP_F16 : AOTHIP_BF16, i % 3, i);
        wrong += run_problem(&p, device) != 0;
        free_problem(&p);
    }
    return (void *)wrong;
}

/* Cold: all four GPUs load and run at once, two threads each. */
static void test_threads(void)
{
    pthread_t threads[2 * GPUS];
    for (int i = 0; i < 2 * GPUS; i++)
        pthread_create(&threads[i], NULL, run_thread, &devices[i / 2]);
    for (int i = 0; i < 2 * GPUS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        ok(!wrong, "thread %d on device %d", i, i / 2);
    }
}

/* Rows that see no key: o is 0 and lse +infinity, whatever lay there before. */
static void test_blind_rows(const struct device *device)
{
    const int64_t sizes[] = {1, 1, 1, 200, 50, 64};
    struct problem p;
    int wrong = 0;
    make_problem(&p, sizes, AOTHIP_F16, AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, 3);
    ok(!run_problem(&p, device), "%s: 150 of 200 rows see no key", device->properties.target);
    for (int64_t row = 0; row < 150; row++) {
        wrong += !(p.params.lse[row] > 3e38f);
        for (int64_t i = 0; i < 64; i++)
            wrong += ref_load(p.params.o.data, row * p.params.o.stride[2] + i, AOTHIP_F16) != 0;
    }
    is_int(wrong, 0, "their o is 0 and their lse +infinity");
    free_problem(&p);
}

/* No keys at all: every row is one that sees none, and k and v have no memory. */
static void test_no_keys(const struct device *device, int mask)
{
    enum { ROWS = 2 * 70, DIM = 64 };
    const int64_t q_size[] = {1, 2, 70, DIM}, k_size[] = {1, 1, 0, DIM};
    struct aothip_attn_fwd_params p = {.struct_size = sizeof(p), .scale = 1, .mask = mask};
    uint16_t o[ROWS * DIM];
    float lse[ROWS];
    void *memory[3];
    int wrong = 0;
    struct status why;
    status_clear(&why);
    memset(o, 0xff, sizeof(o));
    memset(lse, 0xff, sizeof(lse));
    device_alloc(device, sizeof(o), &memory[0], &why);
    device_alloc(device, sizeof(o), &memory[1], &why);
    device_alloc(device, sizeof(lse), &memory[2], &why);
    device_upload(device, memory[0], o, sizeof(o), &why);
    p.q = attn_view(ATTN_BHSD, memory[0], AOTHIP_F16, q_size);
    p.k = p.v = attn_view(ATTN_BHSD, NULL, AOTHIP_F16, k_size);
    p.o = attn_view(ATTN_BHSD, memory[1], AOTHIP_F16, q_size);
    p.lse = memory[2];
    ok(aothip_attn_fwd(context, &p, device->stream) == AOTHIP_OK, "%s: no keys, mask %d: %s",
       device->properties.target, mask, aothip_last_error());
    device_finish(device, &why);
    device_download(device, o, memory[1], sizeof(o), &why);
    device_download(device, lse, memory[2], sizeof(lse), &why);
    for (int i = 0; i < ROWS; i++)
        wrong += !(lse[i] > 3e38f);
    for (int i = 0; i < ROWS * DIM; i++)
        wrong += o[i] != 0;
    is_int(wrong, 0, "o is 0 and lse +infinity");
    is_int(why.code, AOTHIP_OK, "the work is done");
    for (int i = 0; i < 3; i++)
        device_free(device, memory[i]);
}

int main(void)
{
    struct status why;
    struct stat info;
    if (stat(IMAGES, &info) || stat(EMULATOR, &info))
        tap_skip_all("there are no images or no emulator");
    tap_diag("seed %u", seed);
    setenv("AOTHIP_HIP_LIBRARY", EMULATOR, 1);
    setenv("AOTHIP_EMU_GPU", gpus, 1);
    status_clear(&why);
    if (device_open_runtime(&runtime, &why) || aothip_open(IMAGES, &context)) {
        ok(0, "%s %s", why.text, aothip_last_error());
        return tap_done();
    }
    is_int(runtime.count, GPUS, "four emulated GPUs");
    for (int i = 0; i < GPUS; i++) {
        if (device_open(&runtime, i, &devices[i], &why)) {
            ok(0, "%s", why.text);
            return tap_done();
        }
        ok(aothip_check_device(context, i) == AOTHIP_OK, "%s can: %s", devices[i].properties.target,
           aothip_last_error());
    }
    test_threads();
    for (int i = 0; i < GPUS; i++) {
        runtime.hip.set_device(i);
        test_edges(&devices[i]);
        test_blind_rows(&devices[i]);
        for (int mask = AOTHIP_MASK_NONE; mask <= AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT; mask++)
            test_no_keys(&devices[i], mask);
        test_other_device(i);
    }
    aothip_close(context);
    for (int i = 0; i < GPUS; i++)
        device_close(&devices[i]);
    return tap_done();
}
