/*
 * One test for each failure that users of other attention libraries have met, on every GPU.
 *
 *     test_attn_known fwd|bwd [GPU]
 */
#include "each_gpu.h"
#include "known_cases.h"

#include "gpus.h"
#include "tap.h"

#include <math.h>

static struct test_case complete(const struct test_case *c)
{
    struct test_case full = *c;

    if (full.scale == 0)
        full.scale = 1 / sqrt(c->dim_qk);
    full.seed = 77;
    return full;
}

static bool run_fwd(const struct device *device, struct aothip_context *context, struct problem *p)
{
    struct status why = {0};

    if (!attn_fwd(device, context, &p->fwd, &why))
        return true;
    tap_diag("%s", why.text);
    return false;
}

/* No rows, no keys, no batch: success, and whatever rows there are become 0 and +infinity. */
static void test_empty(const struct device *device, struct aothip_context *context)
{
    static const int shapes[][3] = {{0, 5, 5}, {2, 0, 5}, {2, 5, 0}, {0, 0, 0}, {2, 90, 0}};
    static const int dtypes[] = {F16, BF16, F32}, dims[] = {64, 128, 24};
    bool good = true;
    unsigned i, j;

    for (i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        for (j = 0; j < 6; j++) {
            struct test_case c = {SHAPE(dtypes[j % 3], shapes[i][0], 1, 2, shapes[i][1],
                                        shapes[i][2], dims[j % 3], dims[j % 3]),
                                  .scale = 1, .bias = j / 3 ? FULL : NONE};
            good &= problem_check_fwd(device, context, &c);
        }
    ok(good, "empty batches and sequences succeed");
}

/* Heads of q that heads of k do not divide. */
static void test_ratio(const struct device *device, struct aothip_context *context)
{
    struct test_case c = {SHAPE(F16, 1, 2, 2, 20, 20, 64, 64), .scale = 0.1};
    struct status why = {0};
    struct problem p;

    problem_make(&c, &p);
    p.fwd.q.size[1] = p.fwd.o.size[1] = 3;
    ok(attn_fwd(device, context, &p.fwd, &why) == AOTHIP_E_ARGUMENT,
       "heads that do not divide are an error");
    problem_free(&p);
}

enum { MANY = 2100, MANY_ROWS = MANY, MANY_KEYS = 3 * MANY / 2 };

/* Sequence i has i % 3 rows and 3 * (i % 2) keys, so that either may be none. */
static void make_many(void *starts, bool wide, int64_t (*length)(int i))
{
    int64_t sum = 0;
    int i;

    for (i = 0; i <= MANY; i++) {
        if (wide)
            ((int64_t *)starts)[i] = sum;
        else
            ((int32_t *)starts)[i] = (int32_t)sum;
        sum += length(i);
    }
}

static int64_t rows_of_many(int i)
{
    return i % 3;
}

static int64_t keys_of_many(int i)
{
    return 3 * (i % 2);
}

/* Thousands of sequences. */
static void test_many(const struct device *device, struct aothip_context *context, bool wide)
{
    struct test_case c = {SHAPE(wide ? BF16 : F16, 1, 1, 1, MANY_ROWS, MANY_KEYS, 64, 64),
                          .scale = 0.1, .seed = 12};
    static int64_t starts_q[MANY + 1], starts_k[MANY + 1];
    struct problem p;

    make_many(starts_q, wide, rows_of_many);
    make_many(starts_k, wide, keys_of_many);
    problem_make(&c, &p);
    p.fwd.sequences = MANY;
    p.fwd.index64 = wide;
    p.fwd.q_seqs = (struct aothip_seqs){.cumulative = starts_q, .packed = 1, .max = 2};
    p.fwd.k_seqs = (struct aothip_seqs){.cumulative = starts_k, .packed = 1, .max = 3};
    p.fwd.lse_layout = AOTHIP_LSE_HEADS;
    ok(run_fwd(device, context, &p) && problem_judge_fwd(&p, device->properties.target),
       "%d sequences by lengths of %d bits", MANY, wide ? 64 : 32);
    problem_free(&p);
}

/* With p = 0 the pointers of dropout may be anything. */
static void test_wild_pointers(const struct device *device, struct aothip_context *context)
{
    struct test_case c = {SHAPE(F16, 1, 1, 1, 20, 20, 64, 64), .scale = 0.1, .bias = FULL};
    struct status why = {0};
    struct attn_call call;
    struct problem p;
    bool good;

    problem_make(&c, &p);
    good = !attn_upload_fwd(device, context, &p.fwd, ATTN_FWD, &call, &why);
    if (good) {
        call.fwd.dropout_seed_pointer = (const uint64_t *)8;
        call.fwd.dropout_offset_pointer = (const uint64_t *)(UINTPTR_MAX - 7);
        call.fwd.dropout_seed_output = call.fwd.dropout_offset_output = (uint64_t *)16;
        good = !attn_launch(device, context, &call, &why) && !attn_download(device, &call, &why) &&
               problem_judge_fwd(&p, device->properties.target);
        attn_release(device, &call);
    }
    ok(good, "without dropout its pointers are never followed");
    if (why.code)
        tap_diag("%s", why.text);
    problem_free(&p);
}

/* Two sequences with k_seqs.max = 0, as PyTorch gives it. */
static void test_no_max(const struct device *device, struct aothip_context *context)
{
    struct test_case c = {SHAPE(F16, 3, 1, 2, 40, 70, 64, 64), .scale = 0.1, .seqs = COMPACT,
                          .dropout = DROPOUT_VALUE};
    struct problem p;

    problem_make(&c, &p);
    p.fwd.k_seqs.max = 0;
    ok(run_fwd(device, context, &p) && problem_judge_fwd(&p, device->properties.target),
       "without a bound for the keys dropout's counters pass 32 bits: no heads share a mask");
    problem_free(&p);
}

/* lse of an output that is shorter than its layout. */
static void test_lse_size(const struct device *device, struct aothip_context *context)
{
    struct test_case c = {SHAPE(F16, 3, 1, 2, 40, 70, 64, 64), .scale = 0.1, .seqs = COMPACT,
                          .lse_layout = AOTHIP_LSE_HEADS};
    struct problem p;

    problem_make(&c, &p);
    p.fwd.lse_size = 50;
    ok(run_fwd(device, context, &p) && problem_judge_fwd(&p, device->properties.target),
       "nothing is written beyond lse_size");
    problem_free(&p);
}

/* One element of a row of q or k is not finite; of v, one of each quarter of the channels. */
static void test_special(const struct device *device, struct aothip_context *context, int dtype,
                         int dim)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};
    bool good = true;
    int which, i;

    for (which = 0; which < 3; which++)
        for (i = 0; i < 3; i++) {
            struct test_case c = {SHAPE(dtype, 1, 1, 2, 90, 90, dim, dim),
                                  .scale = 0.1,
                                  .mask = i ? AOTHIP_MASK_CAUSAL_TOP_LEFT
                                            : AOTHIP_MASK_WINDOW_BOTTOM_RIGHT,
                                  .left = 20,
                                  .right = 7,
                                  .seed = 3};
            struct aothip_tensor *t;
            struct problem p;
            bool right;

            problem_make(&c, &p);
            t = which == 0 ? &p.fwd.q : which == 1 ? &p.fwd.k : &p.fwd.v;
            for (int channel = 5; channel < (which == 2 ? dim : 6); channel += dim / 4)
                ref_store(t->data, ref_offset(t, 0, 0, 41, channel), dtype, values[i]);
            right =
                run_fwd(device, context, &p) && problem_judge_fwd(&p, device->properties.target);
            if (!right)
                tap_diag("  with %g in a row of %c", values[i], "qkv"[which]);
            good &= right;
            problem_free(&p);
        }
    ok(good, "NaN and infinity in one row stay in the rows that see it (type %d, head dim %d)",
       dtype, dim);
}

/* Whether what was written is what `before` has; then puts it there. */
static bool same_grads(const struct attn_call *call, unsigned char *before)
{
    bool same = true;
    int i;

    for (i = 0; i < call->count; i++) {
        const struct attn_buffer *b = &call->buffers[i];
        if (!b->written)
            continue;
        same &= !memcmp(before, b->host, b->bytes);
        memcpy(before, b->host, b->bytes);
        before += b->bytes;
    }
    return same;
}

static unsigned char *make_room(const struct attn_call *call)
{
    unsigned char *room;
    size_t bytes = 0;
    int i;

    for (i = 0; i < call->count; i++)
        bytes += call->buffers[i].bytes;
    room = calloc(bytes + 1, 1);
    if (!room)
        abort();
    return room;
}

/*
 * Every gradient within four times the error of a plain backward of the same precision, given the
 * same lse, which is what the judge allows, whatever the inputs are like. Large inputs have scores
 * of thousands.
 */
static void test_inputs(const struct device *device, struct aothip_context *context)
{
    static const struct {
        const char *name;
        enum values values;
    } inputs[] = {
        {"uniform", POSITIVE}, {"normal", NORMAL}, {"signed", UNIFORM},
        {"large", LARGE},      {"tiny", TINY},
    };
    static const int dtypes[] = {F16, BF16, F32};

    for (unsigned i = 0; i < sizeof(inputs) / sizeof(*inputs); i++) {
        bool good = true;
        for (int j = 0; j < 3; j++) {
            struct test_case c = {SHAPE(dtypes[j], 1, 1, 2, 65, 90, 64, 64), .scale = 0.125,
                                  .values = inputs[i].values, .seed = 91};
            good &= problem_check_bwd(device, context, &c);
        }
        ok(good, "gradients of %s inputs are good to four times a plain backward's error",
           inputs[i].name);
    }
}

/* The same bits on repeat, and neither struct is touched. */
static void test_repeat(const struct device *device, struct aothip_context *context)
{
    struct test_case c = {SHAPE(F16, 2, 1, 4, 70, 130, 64, 64), .scale = 0.125, .bias = PER_ROW,
                          .sinks = true, .seed = 5};
    struct aothip_attn_bwd_params before, *params;
    struct aothip_attn_fwd_params fwd_before;
    unsigned char *grads = NULL;
    struct status why = {0};
    struct attn_call call;
    struct problem p;
    bool good, kept = true, same = true;
    int i;

    problem_make(&c, &p);
    problem_make_bwd(&p);
    good = !attn_upload_bwd(device, context, &p.bwd, &call, &why);
    params = &call.bwd;
    if (good) {
        grads = make_room(&call);
        before = *params;
        fwd_before = call.fwd;
        for (i = 0; i < 3 && good; i++) {
            good =
                !attn_launch(device, context, &call, &why) && !attn_download(device, &call, &why);
            kept &= !memcmp(&before, params, sizeof(before)) &&
                    !memcmp(&fwd_before, &call.fwd, sizeof(fwd_before));
            if (i == 0)
                same_grads(&call, grads);
            else
                same &= same_grads(&call, grads);
        }
        attn_release(device, &call);
    }
    if (why.code)
        tap_diag("%s", why.text);
    ok(good && same, "gradients are the same bits on repeat");
    ok(good && kept, "the params are not consumed by the call");
    free(grads);
    problem_free(&p);
}

/* An expanded gradient: one element, all strides 0. */
static void test_expanded(const struct device *device, struct aothip_context *context)
{
    struct test_case c = {SHAPE(F16, 2, 1, 2, 50, 60, 64, 64), .scale = 0.125, .seed = 5};
    struct status why = {0};
    struct problem p;

    problem_make(&c, &p);
    problem_make_bwd(&p);
    memset(p.bwd.d_o.stride, 0, sizeof(p.bwd.d_o.stride));
    ok(!attn_bwd(device, context, &p.bwd, &why) && problem_judge_bwd(&p, device->properties.target),
       "the gradient of a sum, expanded from one element");
    if (why.code)
        tap_diag("%s", why.text);
    problem_free(&p);
}

/* q_seqs.max is less than the length of the sequence: its rows end there, for all gradients. */
static void test_promised_rows(const struct device *device, struct aothip_context *context,
                               int dtype)
{
    enum { PROMISED = 25 };
    struct test_case c = {SHAPE(dtype, 1, 1, 1, 70, 50, 64, 64), .scale = 0.125, .seqs = PADDED,
                          .seed = 5};
    struct status why = {0};
    struct problem p;
    bool good;

    problem_make(&c, &p);
    problem_make_bwd(&p);
    p.fwd.q_seqs.max = PROMISED;
    good = !attn_bwd(device, context, &p.bwd, &why);
    ((int32_t *)(uintptr_t)p.fwd.q_seqs.cumulative)[1] = PROMISED; /* as if there were no more */
    ok(good && problem_judge_bwd(&p, device->properties.target),
       "rows beyond those that were promised take no part (type %d)", dtype);
    if (why.code)
        tap_diag("%s", why.text);
    problem_free(&p);
}

static void test_gpu(const struct device *device, struct aothip_context *context, bool bwd)
{
    const struct known *list = bwd ? backward : forward;
    size_t count = bwd ? sizeof(backward) / sizeof(*backward) : sizeof(forward) / sizeof(*forward);
    size_t i;

    for (i = 0; i < count; i++) {
        struct test_case c = complete(&list[i].c);
        ok(bwd ? problem_check_bwd(device, context, &c) : problem_check_fwd(device, context, &c),
           "%s", list[i].name);
    }
    if (bwd) {
        test_inputs(device, context);
        test_repeat(device, context);
        test_expanded(device, context);
        test_promised_rows(device, context, F16);
        test_promised_rows(device, context, F32);
        return;
    }
    test_empty(device, context);
    test_wild_pointers(device, context);
    test_no_max(device, context);
    test_lse_size(device, context);
    test_ratio(device, context);
    test_many(device, context, false);
    test_many(device, context, true);
    test_special(device, context, F16, 64);
    test_special(device, context, BF16, 64);
    test_special(device, context, F16, 128);
    test_special(device, context, BF16, 72);
    test_special(device, context, F16, 256);
    test_special(device, context, BF16, 512);
    test_special(device, context, F32, 64);
}

static int test_known(const struct device *device, struct aothip_context *context, void *more)
{
    tap_diag("%s", device->properties.target);
    test_gpu(device, context, *(const bool *)more);
    return 0;
}

int main(int argc, char **argv)
{
    bool bwd = argc > 1 && !strcmp(argv[1], "bwd");

    setenv("AOTHIP_EMU_MODE", "plain", 0);
    const int result = each_gpu(argc > 2 ? argv[2] : gpus_asked(GPUS_REFERENCE),
                                TAP_SANITIZED ? 4 : 1, test_known, &bwd);
    return result ? result : tap_done();
}
