/*
 * What a step of the forward kernels' key loop costs in LDS and memory, by the emulator's exact
 * counts: no bank conflicts, and each tile of K and V is loaded once a workgroup. Beyond 128
 * channels there is a walk over the keys for each part of 128 channels of O, which has all of K and
 * a part of V.
 *
 * The same problem with few and with many keys: the difference is the steady state alone.
 */
#include "aothip/aothip.h"
#include "device.h"
#include "tap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES = 256, HEADS = 2, FEW = 512, MANY = 1024 };

/* Of one launch. */
struct counters {
    char kernel[80];
    long long conflicts, loaded, workgroups;
};

static struct device_runtime runtime;
static struct aothip_context *context;
static const char counters_file[] = "test_attn_fwd_memory.json"; /* in the build directory */

static long long number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

/* The last launch in the file. */
static bool read_counters(struct counters *c)
{
    static char text[1 << 20];
    FILE *f = fopen(counters_file, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    const char *last = text;

    if (f)
        fclose(f);
    text[n] = '\0';
    for (const char *at = text; (at = strstr(at, "{\"kernel\": ")) != NULL; at++)
        last = at;
    c->conflicts = number_after(last, "\"lds_conflict_cycles\": ");
    c->loaded = number_after(last, "\"bytes_loaded\": ");
    c->workgroups = number_after(last, "\"workgroups\": ");
    return sscanf(last, "{\"kernel\": \"%79[^\"]\"", c->kernel) == 1 && c->conflicts >= 0 &&
           c->loaded > 0 && c->workgroups > 0;
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
                struct counters *c, struct status *why)
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
    struct counters few, many;
    struct status why = {0};
    void *memory = NULL, *zeros = calloc(1, bytes);
    bool good = zeros && !device_alloc(device, bytes, &memory, &why) &&
                !device_upload(device, memory, zeros, bytes, &why) &&
                run(device, memory, dtype, dim, odd, FEW, &few, &why) &&
                run(device, memory, dtype, dim, odd, MANY, &many, &why);

    if (!ok(good, "%s, head dim %d: two launches are counted", device->properties.target, dim)) {
        tap_diag("%s", why.text);
    } else {
        long long rows = 1 + (dim + 127) / 128; /* of V, and of K for each part */
        long long least = many.workgroups * (MANY - FEW) * dim * 2 * rows;
        long long loaded = many.loaded - few.loaded, conflicts = many.conflicts - few.conflicts;
        if (!ok(conflicts == 0, "%s: no bank conflicts", many.kernel))
            tap_diag("%lld cycles", conflicts);
        if (!ok(loaded >= least && loaded * 10 <= least * 11,
                "%s: K and V are loaded once a walk", many.kernel))
            tap_diag("%lld bytes, at least %lld", loaded, least);
    }
    device_free(device, memory);
    free(zeros);
}

int main(void)
{
    static const int dtypes[] = {AOTHIP_F16, AOTHIP_BF16};
    struct status why = {0};

    setenv("AOTHIP_EMU_COUNTERS", counters_file, 1);
    if (device_emulate("gfx90a,gfx942,gfx1100,gfx1151", &why) ||
        device_open_runtime(&runtime, &why) || aothip_open(NULL, &context)) {
        printf("Bail out! %s\n", why.code ? why.text : aothip_last_error());
        return 99;
    }
    for (int i = 0; i < runtime.count; i++) {
        struct device device;

        if (device_open(&runtime, i, &device, &why)) {
            printf("Bail out! %s\n", why.text);
            return 99;
        }
        for (int j = 0; j < 2 && aothip_check_device(context, i) != AOTHIP_E_NO_IMAGES; j++) {
            check(&device, dtypes[j], 64, false);
            check(&device, dtypes[j], 128, false);
            check(&device, dtypes[j], 128, true);
            check(&device, dtypes[j], 256, false);
        }
        device_close(&device);
    }
    aothip_close(context);
    remove(counters_file);
    return tap_done();
}
