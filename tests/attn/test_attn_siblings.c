/*
 * The GPUs that run the code of another, strictly: a few problems of each kind of kernel on each of
 * them. What the other tests prove of that code they need not prove again; here it is about the
 * GPU: its images are found, its code objects are taken for its own, and neither its wait states
 * nor its registers are others.
 */
#include "each_gpu.h"
#include "matrix.h"
#include "problem.h"

#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { F32 = AOTHIP_F32, F16 = AOTHIP_F16, BF16 = AOTHIP_BF16 };

#define SHAPE(g, q, k, d)                                                                          \
    .batch = 1, .heads_k = 1, .group = g, .seq_q = q, .seq_k = k, .dim_qk = d, .dim_v = d
#define CAUSAL .mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT

static const struct test_case forward[] = {
    {.dtype = F16, SHAPE(2, 150, 150, 64), CAUSAL},
    {.dtype = BF16, SHAPE(1, 130, 70, 128)},
    {.dtype = F16, SHAPE(1, 70, 90, 128), .bias = PER_ROW, .dropout = DROPOUT_VALUE},
    {.dtype = BF16, SHAPE(1, 40, 50, 72), .layout = ODD_ROWS, .softcap = 1.5F},
    {.dtype = F16, SHAPE(1, 33, 40, 256)},
    {.dtype = F32, SHAPE(1, 33, 70, 64), CAUSAL},
    {.dtype = BF16, SHAPE(4, 1, 300, 128), .splits = 4},
    {.dtype = F16, SHAPE(4, 1, 100, 64), .cache = ROTARY, .page = 16},
};

static const struct test_case backward[] = {
    {.dtype = F16, SHAPE(2, 70, 80, 64), CAUSAL},
    {.dtype = BF16, SHAPE(1, 70, 66, 128)},
    {.dtype = F16, SHAPE(1, 40, 50, 96), .bias = PER_ROW, .sinks = true},
    {.dtype = F32, SHAPE(1, 20, 30, 64)},
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static int test_gpu(const struct device *device, struct aothip_context *context, void *more)
{
    const char *gpu = device->properties.target;

    (void)more;
    for (size_t i = 0; i < COUNT(forward) + COUNT(backward); i++) {
        const bool bwd = i >= COUNT(forward);
        const size_t at = bwd ? i - COUNT(forward) : i;
        struct test_case c = bwd ? backward[at] : forward[at];
        c.scale = 1 / sqrt(c.dim_qk);
        c.seed = 4000 + i;
        ok(bwd ? problem_check_bwd(device, context, &c) : problem_check_fwd(device, context, &c),
           "%s: %s problem %zu", gpu, bwd ? "backward" : "forward", at);
    }
    return 0;
}

/* "gfx1101,gfx1102,...": the siblings of the matrix; how many. */
static int name_siblings(char *names, size_t size)
{
    const char *source = getenv("srcdir");
    char file[4096];
    struct matrix m;
    int count = 0;
    snprintf(file, sizeof(file), "%s/images/matrix.def", source ? source : ".");
    if (matrix_read(&m, file, stderr))
        return 0;
    names[0] = '\0';
    for (int g = 0; g < m.gpu_count; g++)
        if (m.gpus[g].code != g && strlen(names) + sizeof(m.gpus[g].name) < size) {
            strcat(names, count++ ? "," : "");
            strcat(names, m.gpus[g].name);
        }
    matrix_free(&m);
    return count;
}

int main(void)
{
    char names[512];
    int siblings = name_siblings(names, sizeof(names));

    setenv("AOTHIP_EMU_MODE", "strict", 1);
    ok(siblings >= 6, "the matrix has siblings: %s", names);
    is_int(each_gpu(names, tap_one_in(2, 3), test_gpu, NULL), 0, "the emulator is each of them");
    return tap_done();
}
