/*
 * What the backward kernels cost, by the emulator's exact counts: no access to LDS has a bank
 * conflict, in the walk over the stream or around it; and a gradient of the bias takes as many
 * instructions as there are elements to sum up, whatever the bias is broadcast along.
 */
#include "aothip/aothip.h"
#include "device.h"
#include "each_gpu.h"
#include "launch_counters.h"
#include "tap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADS = 2,
    ROWS = 256,
    LONGEST = 256, /* channels */
    TENSORS = 8,
    ROOM = HEADS * ROWS * (LONGEST + 1) * 2, /* of a tensor, in bytes */
    BIAS_ROOM = HEADS * ROWS * ROWS * 4,
};

static struct aothip_context *context;
static const char counters_file[] = "test_attn_bwd_cost.json"; /* in the build directory */

/* A bias, of one head, row or key for all of them or of each its own. */
struct bias {
    bool heads, rows, keys;
};

struct shape {
    int dtype, dim, heads, rows;
    bool odd; /* rows are one element further apart, so that they are not aligned */
    const struct bias *bias;
};

static struct aothip_tensor tensor(void *data, const struct shape *shape)
{
    struct aothip_tensor t = {
        .data = data,
        .size = {1, shape->heads, shape->rows, shape->dim},
        .dtype = shape->dtype,
    };

    t.stride[3] = 1;
    t.stride[2] = shape->dim + shape->odd;
    t.stride[1] = shape->rows * t.stride[2];
    t.stride[0] = shape->heads * t.stride[1];
    return t;
}

static struct aothip_tensor bias_tensor(void *data, const struct shape *shape)
{
    const struct bias *b = shape->bias;
    struct aothip_tensor t = {.data = data, .dtype = shape->dtype};

    t.size[0] = t.stride[0] = t.stride[3] = 1;
    t.size[1] = b->heads ? shape->heads : 1;
    t.size[2] = b->rows ? shape->rows : 1;
    t.size[3] = b->keys ? shape->rows : 1;
    t.stride[2] = t.size[3];
    t.stride[1] = t.size[2] * t.size[3];
    t.stride[0] = t.size[1] * t.stride[1];
    return t;
}

/* Gradients of a problem whose tensors are zero: that of the bias where there is one, else all. */
static bool run(const struct device *device, char *memory, const struct shape *shape,
                struct status *why)
{
    struct aothip_attn_fwd_params f = {.struct_size = sizeof(f), .scale = 0.1f};
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &f};
    struct aothip_tensor *const tensors[] = {&f.q, &f.k, &f.v, &f.o, &b.d_o, &b.dq, &b.dk, &b.dv};

    for (int i = 0; i < (shape->bias ? 5 : TENSORS); i++)
        *tensors[i] = tensor(memory + (size_t)i * ROOM, shape);
    memory += (size_t)TENSORS * ROOM;
    if (shape->bias)
        b.dbias = f.bias = bias_tensor(memory, shape);
    memory += BIAS_ROOM;
    f.lse = (float *)memory;
    b.delta = (float *)memory + HEADS * ROWS;
    if (aothip_attn_bwd(context, &b, device->stream)) {
        status_set(why, AOTHIP_E_HIP, "%s", aothip_last_error());
        return false;
    }
    return !device_finish(device, why);
}

/* Instructions of the last launch of dbias; 0 after a failure. */
static long long cost_of(const struct device *device, char *memory, struct shape shape,
                         struct status *why)
{
    struct launch_counters l, last = {.instructions = 0};

    if (run(device, memory, &shape, why))
        for (const char *at = launch_counters_read(counters_file); launch_counters_next(&at, &l);)
            if (strncmp(l.kernel, "attn_bwd_dbias", 14) == 0)
                last = l;
    return last.instructions;
}

/*
 * dbias summed up along anything takes at most half as many instructions again as dbias that is
 * not, and four times as many elements take at most five times as many.
 */
static void check_dbias(const struct device *device, char *memory, int dtype)
{
    const struct bias whole = {true, true, true};
    const struct shape all = {dtype, 8, HEADS, 128, false, &whole};
    struct status why = {0};
    const long long most = cost_of(device, memory, all, &why) * 3 / 2;

    for (int sums = 0; sums < 8; sums++) {
        const struct bias bias = {!(sums & 1), !(sums & 2), !(sums & 4)};
        struct shape shape = all, small = all;
        long long cost, before;
        shape.bias = small.bias = &bias;
        small.rows = all.rows / 2;
        cost = cost_of(device, memory, shape, &why);
        before = cost_of(device, memory, small, &why);
        if (!ok(cost > 0 && cost <= most && cost <= before * 5,
                "%s, dbias of type %d, summed over%s%s%s: linear", device->properties.target, dtype,
                bias.heads ? "" : " heads", bias.rows ? "" : " rows", bias.keys ? "" : " keys"))
            tap_diag("%lld instructions, at most %lld, and %lld for a quarter; %s", cost, most,
                     before, why.text);
    }
}

/* Every launch up to now. Returns how many of them used LDS. */
static int check_conflicts(void)
{
    struct launch_counters l;
    int used = 0;

    for (const char *at = launch_counters_read(counters_file); launch_counters_next(&at, &l);) {
        if (l.lds_bytes <= 0 || strncmp(l.kernel, "attn_bwd", 8) != 0)
            continue;
        used++;
        if (!ok(l.conflicts == 0, "%s, %s: no bank conflicts", l.target, l.kernel))
            tap_diag("%lld extra passes", l.conflicts);
    }
    return used;
}

static void check(const struct device *device, int dtype)
{
    const struct bias shared = {true, true, false};
    const struct shape shapes[] = {
        {dtype, 64, 1, ROWS, false, NULL},    {dtype, 128, 1, ROWS, false, NULL},
        {dtype, 64, 1, ROWS, true, NULL},     {dtype, LONGEST, 1, ROWS, false, NULL},
        {dtype, 64, 1, ROWS, false, &shared},
    };
    const size_t bytes = (size_t)TENSORS * ROOM + BIAS_ROOM + (size_t)HEADS * ROWS * 8;
    const char *target = device->properties.target;
    struct status why = {0};
    void *memory = NULL, *zeros = calloc(1, bytes);
    bool good = zeros && !device_alloc(device, bytes, &memory, &why) &&
                !device_upload(device, memory, zeros, bytes, &why);

    for (int i = 0; good && dtype != AOTHIP_F32 && i < 5; i++)
        good = run(device, memory, &shapes[i], &why);
    if (!ok(good, "%s, type %d: the launches are counted", target, dtype))
        tap_diag("%s", why.text);
    if (good)
        check_dbias(device, memory, dtype);
    device_free(device, memory);
    free(zeros);
}

static int visit(const struct device *device, struct aothip_context *opened, void *unused)
{
    static const int dtypes[] = {AOTHIP_F16, AOTHIP_BF16, AOTHIP_F32};

    (void)unused;
    context = opened;
    for (int i = 0; i < 3; i++)
        check(device, dtypes[i]);
    return 0;
}

int main(void)
{
    int result;

    if (TAP_SANITIZED)
        tap_skip_all("sanitizers change no count");
    setenv("AOTHIP_EMU_COUNTERS", counters_file, 1);
    result = each_gpu(gpus_asked(GPUS_EVERY), 1, visit, NULL);
    ok(check_conflicts() > 0, "kernels that use LDS were launched");
    remove(counters_file);
    return result ? result : tap_done();
}
