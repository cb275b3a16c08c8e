/*
 * The forward kernels' pipelined walk with score terms: enough keys for its steps over tiles that
 * all queries see, lengths that end anywhere in a run of keys, and each term alone and with others,
 * in strict emulation.
 *
 *     test_attn_fwd_terms [GPU]
 */
#include "each_gpu.h"
#include "gpus.h"
#include "problem.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

/* What a case has beside its sizes. */
struct terms {
    enum extent bias;
    bool bias_f32, bias_odd;
    enum holes holes;
    enum extent keep;
    enum alibi alibi;
    float softcap;
    enum dropout dropout;
    bool sinks;
};

static const struct terms terms[] = {
    {.bias = PER_ROW},
    {.bias = PER_ROW, .bias_f32 = true},
    {.bias = PER_ROW, .holes = SOME_INFINITE},
    {.bias = PER_ROW, .holes = ROWS_INFINITE, .sinks = true},
    {.bias = PER_ROW, .bias_odd = true},
    {.bias = PER_KEY},
    {.keep = FULL}, /* of 448 keys, whose rows are aligned */
    {.bias = FULL, .keep = FULL, .dropout = DROPOUT_VALUE},
    {.keep = PER_KEY},
    {.keep = PER_BATCH, .alibi = ALIBI_HEAD},
    {.alibi = ALIBI_BATCH},
    {.softcap = 3},
    {.softcap = 5, .bias = PER_BATCH, .alibi = ALIBI_HEAD, .keep = PER_KEY},
    {.dropout = DROPOUT_ALL},
    {.dropout = DROPOUT_VALUE}, /* whose first rows' counters cross 2^32 */
    {.dropout = DROPOUT_POINTER},
    {.dropout = DROPOUT_POINTER, .softcap = 2, .keep = PER_HEAD},
    {.alibi = ALIBI_HEAD},
    {.alibi = ALIBI_HEAD, .sinks = true},
};
enum { TERMS = sizeof(terms) / sizeof(*terms) };

static struct test_case case_of(int n, int dtype)
{
    static const int keys[] = {389, 448, 454, 323, 387};
    static const int masks[] = {AOTHIP_MASK_NONE, AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT};
    static const int values[] = {NORMAL, RISING, NORMAL, LARGE};
    const struct terms *t = &terms[n % TERMS];
    const int dim = 64 << n / TERMS % 3;

    return (struct test_case){.dtype = dtype,
                              .batch = 1 + n % 2,
                              .heads_k = 1,
                              .group = 1 + n % 3 / 2,
                              .seq_q = 70,
                              .seq_k = keys[n % 5],
                              .dim_qk = dim,
                              .dim_v = n % 4 ? dim : dim - 8,
                              .scale = (n % 4 ? 1 : -1) / sqrt(dim),
                              .mask = masks[n / 3 % 2],
                              .values = (enum values)values[(n % TERMS + n / TERMS) % 4],
                              .bias = t->bias,
                              .bias_f32 = t->bias_f32,
                              .bias_odd = t->bias_odd,
                              .holes = t->holes,
                              .keep = t->keep,
                              .alibi = t->alibi,
                              .softcap = t->softcap,
                              .dropout = t->dropout,
                              .sinks = t->sinks,
                              .seed = 300 + (uint64_t)n};
}

static int test_terms(const struct device *device, struct aothip_context *context, void *more)
{
    int bad = 0, ran = 0;

    (void)more;

    /* Both types of each head dim. */
    for (int n = 0; n < 6 * TERMS; n += tap_one_in(3, 7), ran++) {
        struct test_case c = case_of(n, n % 2 ? AOTHIP_BF16 : AOTHIP_F16);
        bad += !problem_check_fwd(device, context, &c);
    }
    ok(bad == 0, "%s: terms in long walks, %d wrong of %d", device->properties.target, bad, ran);
    return 0;
}

int main(int argc, char **argv)
{
    setenv("AOTHIP_EMU_MODE", "strict", 0);
    const int result = each_gpu(argc > 1 ? argv[1] : gpus_asked(GPUS_REFERENCE),
                                TAP_SANITIZED ? 4 : 1, test_terms, NULL);
    return result ? result : tap_done();
}
