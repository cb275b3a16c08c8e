/*
 * The backward kernels as they are shipped: sizes on both sides of every tile edge of the fast ones
 * and of the general ones, a gradient of the bias beside that of Q, walks that workgroups share,
 * and results that are the same bits whatever order the emulator runs waves and workgroups in.
 *
 *     test_attn_bwd [gradients GPU]      prints a hash of the gradients, for the test itself
 */
#include "each_gpu.h"
#include "gpus.h"
#include "problem.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a over what a launch wrote. */
static uint64_t hash_written(const struct attn_call *call)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (int i = 0; i < call->count; i++)
        for (size_t j = 0; call->buffers[i].written && j < call->buffers[i].bytes; j++)
            hash = (hash ^ ((const unsigned char *)call->buffers[i].host)[j]) * 0x100000001b3u;
    return hash;
}

/*
 * Prints the hash of all gradients of one problem; grouped heads and a bias, summed or not, are in
 * it.
 */
static int print_gradients(const struct device *device, struct aothip_context *context, int dim)
{
    struct test_case c = {.dtype = AOTHIP_BF16,
                          .batch = 1,
                          .heads_k = 2,
                          .group = 2,
                          .seq_q = 40,
                          .seq_k = 70,
                          .dim_qk = dim,
                          .dim_v = dim,
                          .scale = 1 / sqrt(dim),
                          .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT,
                          .bias = dim == 32   ? FULL
                                  : dim == 64 ? PER_ROW
                                              : NONE,
                          .seed = 11};
    struct status why = {0};
    struct attn_call call;
    struct problem p;

    problem_make(&c, &p);
    problem_make_bwd(&p);
    if (!attn_upload_bwd(device, context, &p.bwd, &call, &why)) {
        if (!attn_launch(device, context, &call, &why) && !attn_download(device, &call, &why))
            printf("%016llx\n", (unsigned long long)hash_written(&call));
        attn_release(device, &call);
    }
    problem_free(&p);
    if (why.code)
        fprintf(stderr, "%s\n", why.text);
    return why.code ? 1 : 0;
}

/* What a run of this program printed with that seed of the emulator; false if it failed. */
static bool gradients_of(const char *program, const char *gpu, int seed, char text[64])
{
    char command[1024];
    size_t size;

    snprintf(command, sizeof(command),
             "AOTHIP_EMU_MODE=strict AOTHIP_EMU_SEED=%d '%s' gradients %s", seed, program, gpu);
    FILE *out = popen(command, "r");
    if (!out)
        return false;
    size = fread(text, 1, 63, out);
    text[size] = '\0';
    return pclose(out) == 0 && size > 16;
}

static void test_orders(const char *program, const char *gpu)
{
    char first[64], again[64];
    bool good = gradients_of(program, gpu, 1, first);

    good = good && gradients_of(program, gpu, 2, again) && !strcmp(first, again);
    ok(good, "%s: gradients are the same bits in any order of waves and workgroups", gpu);
}

/* Rows and keys next to the tiles of 16, 32, 64, 128 and 256. */
static void test_edges(const struct device *device, struct aothip_context *context)
{
    static const int sizes[][2] = {{1, 257}, {16, 31},  {17, 256}, {31, 65},
                                   {33, 64}, {64, 129}, {65, 16},  {129, 127}};
    static const int masks[] = {AOTHIP_MASK_NONE, AOTHIP_MASK_CAUSAL_TOP_LEFT,
                                AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT};
    static const int dims[][2] = {{64, 64},  {128, 128}, {256, 256}, {56, 64},  {128, 104},
                                  {63, 127}, {192, 136}, {512, 512}, {264, 400}};
    int bad = 0, n = 0;

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (int j = 0; j < 2; j++, n++) {
            const int *dim = dims[n % 9];
            struct test_case c = {.dtype = n % 2 ? AOTHIP_F16 : AOTHIP_BF16,
                                  .batch = 1,
                                  .heads_k = 1,
                                  .group = 1 + n % 3 / 2,
                                  .seq_q = sizes[i][0],
                                  .seq_k = sizes[i][1],
                                  .dim_qk = dim[0],
                                  .dim_v = dim[1],
                                  .scale = (n % 4 ? 1 : -1) / sqrt(dim[0]),
                                  .mask = masks[(i + (unsigned)j) % 3],
                                  .seed = 100 + (uint64_t)n};
            bad += !problem_check_bwd(device, context, &c);
        }
    ok(bad == 0, "%s: sizes next to tile edges, %d wrong of %d", device->properties.target, bad, n);
}

/*
 * A bias that is not broadcast, whose gradient attn_bwd_dq writes where it can: rows of all
 * alignments, keys that end anywhere in a tile, tiles that no row sees, types, slabs.
 */
static void test_dbias(const struct device *device, struct aothip_context *context)
{
    static const struct {
        int dtype, heads_k, seq_q, seq_k, dim, mask;
        bool f32, odd;
        float softcap;
        enum dropout dropout;
    } cases[] = {
        {AOTHIP_F16, 1, 70, 196, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, false, false, 0, NO_DROPOUT},
        {AOTHIP_BF16, 2, 130, 77, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, false, false, 0, NO_DROPOUT},
        {AOTHIP_BF16, 1, 33, 150, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, false, false, 0, NO_DROPOUT},
        {AOTHIP_F16, 1, 129, 96, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, true, false, 0, NO_DROPOUT},
        {AOTHIP_BF16, 1, 40, 49, 64, AOTHIP_MASK_NONE, true, false, 0, DROPOUT_VALUE},
        {AOTHIP_F16, 1, 40, 100, 192, AOTHIP_MASK_CAUSAL_TOP_LEFT, false, false, 0, NO_DROPOUT},
        {AOTHIP_F16, 1, 40, 70, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, false, true, 0, NO_DROPOUT},
        {AOTHIP_F16, 1, 40, 70, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, false, false, 2, NO_DROPOUT},
        {AOTHIP_F16, 1, 100, 20, 32, AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, false, false, 0, NO_DROPOUT},
    };
    int bad = 0, n = sizeof(cases) / sizeof(*cases);

    for (int i = 0; i < n; i++) {
        struct test_case c = {.dtype = cases[i].dtype,
                              .batch = 1 + i % 2,
                              .heads_k = cases[i].heads_k,
                              .group = 1 + i % 3 / 2,
                              .seq_q = cases[i].seq_q,
                              .seq_k = cases[i].seq_k,
                              .dim_qk = cases[i].dim,
                              .dim_v = cases[i].dim,
                              .scale = (i % 4 ? 1 : -1) / sqrt(cases[i].dim),
                              .mask = cases[i].mask,
                              .bias = FULL,
                              .bias_f32 = cases[i].f32,
                              .bias_odd = cases[i].odd,
                              .softcap = cases[i].softcap,
                              .dropout = cases[i].dropout,
                              .seed = 500 + (uint64_t)i};
        bad += !problem_check_bwd(device, context, &c);
    }
    ok(bad == 0, "%s: gradients of a bias for every score, %d wrong of %d",
       device->properties.target, bad, n);
}

/* Whether the library asks for a workspace beyond that of delta. */
static bool is_shared(const struct device *device, struct aothip_context *context,
                      const struct test_case *c)
{
    const size_t rows = (size_t)c->batch * (size_t)(c->heads_k * c->group) * (size_t)c->seq_q;
    return problem_workspace_bwd(device, context, c) > rows * sizeof(float);
}

/*
 * Few workgroups with long walks, which are shared: by heads of a group, by runs of rows, by both,
 * by runs of keys; some of which see nothing.
 */
static void test_shares(const struct device *device, struct aothip_context *context)
{
    static const struct {
        int dtype, batch, group, seq_q, seq_k, dim, mask;
        enum extent bias;
    } cases[] = {
        {AOTHIP_F16, 1, 4, 130, 40, 64, AOTHIP_MASK_NONE, NONE},
        {AOTHIP_BF16, 2, 3, 130, 33, 128, AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, NONE},
        {AOTHIP_F16, 1, 1, 520, 140, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, NONE},
        {AOTHIP_BF16, 1, 2, 600, 20, 40, AOTHIP_MASK_NONE, NONE},
        {AOTHIP_F16, 1, 1, 40, 1100, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, FULL},
        {AOTHIP_F32, 1, 2, 260, 150, 56, AOTHIP_MASK_CAUSAL_TOP_LEFT, NONE},
        {AOTHIP_F16, 1, 1, 460, 140, 196, AOTHIP_MASK_NONE, NONE},
        {AOTHIP_F16, 1, 3, 170, 140, 63, AOTHIP_MASK_NONE, NONE},
    };
    int bad = 0, alone = 0, n = sizeof(cases) / sizeof(*cases);

    for (int i = 0; i < n; i++) {
        struct test_case c = {.dtype = cases[i].dtype,
                              .batch = cases[i].batch,
                              .heads_k = 1 + i % 2,
                              .group = cases[i].group,
                              .seq_q = cases[i].seq_q,
                              .seq_k = cases[i].seq_k,
                              .dim_qk = cases[i].dim,
                              .dim_v = cases[i].dim,
                              .scale = 1 / sqrt(cases[i].dim),
                              .mask = cases[i].mask,
                              .bias = cases[i].bias,
                              .seed = 700 + (uint64_t)i};
        alone += !is_shared(device, context, &c);
        bad += !problem_check_bwd(device, context, &c);
    }
    ok(alone == 0, "%s: walks that are shared, %d not of %d", device->properties.target, alone, n);
    ok(bad == 0, "%s: and their sums, %d wrong of %d", device->properties.target, bad, n);
}

/* The program's arguments: with one, gradients are printed, not judged. */
struct call {
    char **argv;
    int status;
};

static int test_gpu(const struct device *device, struct aothip_context *context, void *more)
{
    const char *target = device->properties.target;
    struct call *call = more;
    char gpu[16];

    snprintf(gpu, sizeof(gpu), "%.*s", (int)strcspn(target, ":"), target);
    if (call->argv[1]) {
        for (int dim = 32; dim <= 512; dim *= 2)
            call->status |= print_gradients(device, context, dim);
        return 0;
    }
    test_edges(device, context);
    test_dbias(device, context);
    test_shares(device, context);
    test_orders(call->argv[0], gpu);
    return 0;
}

int main(int argc, char **argv)
{
    struct call call = {argv, 0};

    setenv("AOTHIP_EMU_MODE", "plain", 0);
    const int result = each_gpu(argc > 2 ? argv[2] : gpus_asked(GPUS_REFERENCE),
                                TAP_SANITIZED ? 4 : 1, test_gpu, &call);
    return result ? result : argc > 1 ? call.status : tap_done();
}
