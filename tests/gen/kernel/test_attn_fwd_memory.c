/*
 * What a step of the forward kernels' key loop costs in LDS and memory, by the emulator's exact
 * counts: no bank conflicts, and each tile of K and V is loaded once a workgroup. On gfx1201 there
 * is beyond 128 channels a walk over the keys for each part of 128 channels of O, which has all of
 * K and a part of V.
 *
 * The same problem with few and with many keys: the difference is the steady state alone.
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

enum { QUERIES = 256, HEADS = 2, FEW = 512, MANY = 1024 };

static struct aothip_context *context;
static const char counters_file[] = "test_attn_fwd_memory.json"; /* in the build directory */

/* The last launch in the file. */
static bool read_counters(struct launch_counters *c)
{
    bool found = false;

    for (const char *at = launch_counters_read(counters_file); launch_counters_next(&at, c);)
        found = true;
    return found && c->conflicts >= 0 && c->bytes_loaded > 0 && c->workgroups > 0;
}

/* BHSD; odd: rows are one element further apart, so that they are not aligned. */
static struct aothip_tensor tensor(void *data, int dtype, int rows, int dim, bool odd)
{
    struct aothip_tensor t = {.data = data, .size = {1, HEADS, rows, dim}, .dtype = dtype};

    t.stride[3] = 1;
    t.stride[2] = dim + odd;
    t.stride[1] = rows * t.stride[2];
    t.stride[0] = HEADS * t.stride[1];
    return t;
}

/* o, which is zero like all else, lies behind k, which is also q and v. */
static bool run(const struct device *device, void *memory, int dtype, int dim, bool odd, int keys,
                struct launch_counters *c, struct status *why)
{
    struct aothip_attn_fwd_params params = {.struct_size = sizeof(params), .scale = 0.1f};
    size_t k_bytes = (size_t)HEADS * MANY * (size_t)(dim + odd) * 2;

    params.q = tensor(memory, dtype, QUERIES, dim, odd);
    params.k = params.v = tensor(memory, dtype, keys, dim, odd);
    params.o = tensor((char *)memory + k_bytes, dtype, QUERIES, dim, odd);
    if (aothip_attn_fwd(context, &params, device->stream)) {
        status_set(why, AOTHIP_E_HIP, "%s", aothip_last_error());
        return false;
    }
    return !device_finish(device, why) && read_counters(c);
}

static void check(const struct device *device, int dtype, int dim, bool odd)
{
    const size_t bytes = (size_t)HEADS * (MANY + QUERIES) * (size_t)(dim + odd) * 2;
    struct launch_counters few, many;
    struct status why = {0};
    void *memory = NULL, *zeros = calloc(1, bytes);
    bool good = zeros && !device_alloc(device, bytes, &memory, &why) &&
                !device_upload(device, memory, zeros, bytes, &why) &&
                run(device, memory, dtype, dim, odd, FEW, &few, &why) &&
                run(device, memory, dtype, dim, odd, MANY, &many, &why);

    if (!ok(good, "%s, head dim %d: two launches are counted", device->properties.target, dim)) {
        tap_diag("%s", why.text);
    } else {
        long long least = many.workgroups * (MANY - FEW) * dim * 2 * 2; /* K and V */
        long long loaded = many.bytes_loaded - few.bytes_loaded,
                  conflicts = many.conflicts - few.conflicts;
        if (!ok(conflicts == 0, "%s: no bank conflicts", many.kernel))
            tap_diag("%lld cycles", conflicts);
        if (!ok(loaded >= least && loaded * 10 <= least * 11, "%s: K and V are loaded once a walk",
                many.kernel))
            tap_diag("%lld bytes, at least %lld", loaded, least);
    }
    device_free(device, memory);
    free(zeros);
}

static int visit(const struct device *device, struct aothip_context *opened, void *unused)
{
    static const int dtypes[] = {AOTHIP_F16, AOTHIP_BF16};

    (void)unused;
    context = opened;
    for (int i = 0; i < 2; i++) {
        check(device, dtypes[i], 64, false);
        check(device, dtypes[i], 128, false);
        check(device, dtypes[i], 128, true);
        check(device, dtypes[i], 256, false);
    }
    return 0;
}

int main(void)
{
    int result;

    setenv("AOTHIP_EMU_COUNTERS", counters_file, 1);
    result = each_gpu(gpus_asked(GPUS_EVERY), 1, visit, NULL);
    remove(counters_file);
    return result ? result : tap_done();
}
