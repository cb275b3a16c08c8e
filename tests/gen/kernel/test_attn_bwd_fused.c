/*
 * The backward pass by atomic sums of dq, as it is shipped: where it can be taken and where not,
 * and its gradients held against the reference, among them those of the wide form.
 */
#include "each_gpu.h"
#include "gpus.h"
#include "problem.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the sums of dq in f32, of whole blocks. */
static size_t size_of_sums(const struct test_case *c)
{
    const size_t pitch = (size_t)(c->dim_qk + 31) / 32 * 32 * sizeof(float);
    return (size_t)c->batch * (size_t)(c->heads_k * c->group) *
           (size_t)((c->seq_q + 31) / 32 * 32) * pitch;
}

/* Of the kernels of the device. */
static int most_channels(const struct device *device)
{
    return strstr(device->properties.target, "gfx942") ? 128 : 64;
}

static bool is_fused(const struct device *device, struct aothip_context *context,
                     const struct test_case *c)
{
    return problem_workspace_bwd(device, context, c) >= size_of_sums(c);
}

static void test_gradients(const struct device *device, struct aothip_context *context)
{
    static const struct {
        int dtype, group, seq_q, seq_k, dim_qk, dim_v, mask;
        enum seqs seqs;
        bool sinks;
        enum values values;
        double factor; /* of the scale */
    } cases[] = {
        {AOTHIP_BF16, 1, 70, 300, 64, 64, AOTHIP_MASK_NONE, DENSE, false, NORMAL, 1},
        {AOTHIP_F16, 1, 64, 128, 64, 64, AOTHIP_MASK_NONE, DENSE, false, UNIFORM, 1},
        {AOTHIP_F16, 1, 300, 140, 40, 64, AOTHIP_MASK_CAUSAL_TOP_LEFT, DENSE, true, NORMAL, 1},
        {AOTHIP_F16, 3, 90, 310, 64, 24, AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, COMPACT, false, NORMAL,
         1},
        {AOTHIP_BF16, 2, 120, 133, 8, 64, AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, PADDED, false, NORMAL,
         1},
        {AOTHIP_BF16, 1, 40, 150, 64, 64, AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, USED_K, false, LARGE, 1},
        {AOTHIP_F16, 1, 1, 1, 64, 64, AOTHIP_MASK_NONE, DENSE, false, RISING, 1},
        {AOTHIP_F16, 2, 70, 140, 64, 64, AOTHIP_MASK_NONE, DENSE, false, LARGE, 0x1p12},
        {AOTHIP_F16, 1, 70, 260, 128, 128, AOTHIP_MASK_CAUSAL_TOP_LEFT, DENSE, false, NORMAL, 1},
        {AOTHIP_BF16, 2, 90, 140, 72, 104, AOTHIP_MASK_NONE, PADDED, true, NORMAL, 1},
    };
    const int n = sizeof(cases) / sizeof(*cases);
    int bad = 0, others = 0, tried = 0;

    for (int i = 0; i < n; i++) {
        const struct test_case c = {.dtype = cases[i].dtype,
                                    .batch = 2,
                                    .heads_k = 2,
                                    .group = cases[i].group,
                                    .seq_q = cases[i].seq_q,
                                    .seq_k = cases[i].seq_k,
                                    .dim_qk = cases[i].dim_qk,
                                    .dim_v = cases[i].dim_v,
                                    .mask = cases[i].mask,
                                    .left = 60,
                                    .right = 20,
                                    .scale = cases[i].factor / sqrt(cases[i].dim_qk),
                                    .values = cases[i].values,
                                    .seqs = cases[i].seqs,
                                    .sinks = cases[i].sinks,
                                    .seed = 930 + (uint64_t)i};
        if (cases[i].dim_v > most_channels(device))
            continue;
        tried++;
        others += !is_fused(device, context, &c);
        bad += !problem_check_bwd(device, context, &c);
    }
    ok(others == 0, "atomic sums in %d problems, %d not", tried, others);
    ok(bad == 0, "and their gradients, %d wrong", bad);
}

static void test_others(const struct device *device, struct aothip_context *context)
{
    struct test_case c = {.dtype = AOTHIP_F16,
                          .batch = 1,
                          .heads_k = 1,
                          .group = 1,
                          .seq_q = 70,
                          .seq_k = 40,
                          .dim_qk = 64,
                          .dim_v = 64,
                          .scale = 0.125,
                          .seed = 990};

    ok(is_fused(device, context, &c), "atomic sums of aligned rows of 64 channels");
    c.dim_v = most_channels(device) + 8;
    ok(!is_fused(device, context, &c), "not beyond the dims of the kernels");
    c.dim_v = 64;
    c.softcap = 2;
    ok(!is_fused(device, context, &c), "not with what goes into the scores");
    c.softcap = 0;
    c.layout = ODD_BASE;
    ok(!is_fused(device, context, &c), "not of rows that are not aligned");
}

static int test_gpu(const struct device *device, struct aothip_context *context, void *unused)
{
    (void)unused;
    test_others(device, context);
    test_gradients(device, context);
    return 0;
}

int main(void)
{
    setenv("AOTHIP_EMU_MODE", "plain", 0);
    setenv("AOTHIP_ATOMICS", "1", 1); /* where there is a kernel, also of small problems */
    const int result = each_gpu(gpus_asked("gfx942,gfx950"), 1, test_gpu, NULL);
    return result ? result : tap_done();
}
