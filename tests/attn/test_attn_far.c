/*
 * Element offsets beyond 2^31 and 2^32: small problems whose rows, heads or batch entries lie so
 * far apart that the last ones are beyond both, in elements. What is computed in 32 bits hits other
 * rows or none. Address space of up to 40 GB, of which the few pages with rows are ever touched.
 */
#include "each_gpu.h"
#include "problem.h"

#include "gpus.h"
#include "tap.h"

#include <stdlib.h>

#define F16 AOTHIP_F16
#define BF16 AOTHIP_BF16
#define F32 AOTHIP_F32
#define SHAPE(t, b, hk, g, sq, sk, dqk, dv)                                                        \
    .dtype = (t), .batch = (b), .heads_k = (hk), .group = (g), .seq_q = (sq), .seq_k = (sk),       \
    .dim_qk = (dqk), .dim_v = (dv), .scale = 0.125

/* Distances of batch entries, heads and rows in elements; 0 for rows that follow each other. */
enum spread { SPREAD_HEADS, SPREAD_PAGES, SPREAD_ROWS, SPREAD_ODD_ROWS };
static const int64_t distances[][3] = {
    [SPREAD_HEADS] = {(INT64_C(1) << 32) + 64, (INT64_C(1) << 31) + 32, 0},
    [SPREAD_PAGES] = {(INT64_C(1) << 29) + 64, 1 << 16, 0},
    /* The furthest rows that the kernels for aligned rows take: 512 of them make 2^32. */
    [SPREAD_ROWS] = {1 << 18, 1 << 16, 1 << 23},
    [SPREAD_ODD_ROWS] = {(1 << 18) + 1, (1 << 16) + 1, (INT64_C(1) << 30) + 1},
};
enum { TENSOR_BYTES = 1 << 20 }; /* between the first elements of two tensors */

struct far_case {
    const char *name;
    enum spread spread;
    struct test_case c;
};

/* clang-format off */
static const struct far_case forward[] = {
    {"heads, head dim 64", SPREAD_HEADS, {SHAPE(F16, 2, 1, 2, 20, 70, 64, 64)}},
    {"heads, head dim 128", SPREAD_HEADS, {SHAPE(BF16, 2, 2, 1, 20, 70, 128, 128)}},
    {"heads of bias and mask", SPREAD_HEADS,
     {SHAPE(F16, 2, 2, 1, 20, 70, 128, 128), .bias = FULL, .keep = FULL}},
    {"rows, head dim 64", SPREAD_ROWS, {SHAPE(F16, 1, 1, 1, 515, 515, 64, 64)}},
    {"rows, head dim 128", SPREAD_ROWS, {SHAPE(BF16, 1, 1, 1, 20, 515, 128, 128)}},
    {"rows of packed sequences", SPREAD_ROWS,
     {SHAPE(BF16, 2, 1, 1, 400, 400, 64, 64), .seqs = COMPACT}},
    {"rows of bias, mask and probabilities", SPREAD_ROWS,
     {SHAPE(F16, 1, 1, 1, 515, 70, 128, 128), .bias = FULL, .keep = FULL,
      .dropout = DROPOUT_VALUE, .probs = PROBS_DROPPED}},
    {"rows of odd strides", SPREAD_ODD_ROWS,
     {SHAPE(BF16, 1, 2, 1, 6, 6, 72, 40), .bias = FULL, .probs = PROBS_MASK}},
    {"rows of odd strides, head dim 256", SPREAD_ODD_ROWS,
     {SHAPE(F16, 1, 1, 1, 6, 6, 256, 256)}},
    {"rows of float32", SPREAD_ODD_ROWS, {SHAPE(F32, 1, 1, 1, 6, 6, 64, 64), .bias = FULL}},
    {"rows of split keys", SPREAD_ROWS, {SHAPE(F16, 1, 1, 4, 1, 515, 128, 128), .splits = 3}},
    {"rows of split keys in float32", SPREAD_ODD_ROWS,
     {SHAPE(F32, 1, 1, 4, 1, 6, 64, 64), .splits = 1}},
    {"pages", SPREAD_PAGES,
     {SHAPE(BF16, 3, 1, 2, 40, 60, 64, 64), .seqs = USED_K, .cache = PAGES, .page = 16}},
    {"pages of split keys", SPREAD_PAGES,
     {SHAPE(F16, 3, 1, 2, 1, 60, 64, 64), .seqs = USED_K, .cache = PAGES, .page = 16}},
    {"a cache that grows", SPREAD_HEADS,
     {SHAPE(F16, 2, 2, 1, 2, 60, 64, 64), .seqs = USED_K, .cache = ROTARY}},
};

static const struct far_case backward[] = {
    {"heads, head dim 64", SPREAD_HEADS, {SHAPE(F16, 2, 1, 2, 20, 70, 64, 64)}},
    {"heads, head dim 128", SPREAD_HEADS, {SHAPE(BF16, 2, 2, 1, 20, 70, 128, 128)}},
    {"heads of a bias", SPREAD_HEADS, {SHAPE(F16, 2, 2, 1, 20, 40, 64, 64), .bias = FULL}},
    {"rows, head dim 64", SPREAD_ROWS, {SHAPE(BF16, 1, 1, 1, 515, 515, 64, 64)}},
    {"rows, head dim 128", SPREAD_ROWS, {SHAPE(F16, 1, 1, 1, 515, 40, 128, 128)}},
    {"rows of odd strides", SPREAD_ODD_ROWS, {SHAPE(F16, 1, 2, 1, 6, 6, 72, 40), .bias = FULL}},
    {"rows of float32", SPREAD_ODD_ROWS, {SHAPE(F32, 1, 1, 1, 6, 6, 64, 64), .bias = FULL}},
};
/* clang-format on */

/* A tensor whose rows lie close together on the host and far apart on the device. */
struct far_tensor {
    const struct aothip_tensor *host;
    struct aothip_tensor *device;
    bool written;
};

enum { TENSORS_MAX = 16 };

struct far_call {
    const struct device *device;
    struct far_tensor tensors[TENSORS_MAX];
    int count;
    void *space; /* all of them, interleaved */
};

static void spread(struct far_call *x, const struct aothip_tensor *host,
                   struct aothip_tensor *device, bool written)
{
    if (host->data)
        x->tensors[x->count++] = (struct far_tensor){host, device, written};
}

static size_t place(struct aothip_tensor *t, enum spread how)
{
    size_t bytes = ref_dtype_size(t->dtype);

    for (int i = 0; i < 3; i++)
        t->stride[i] = distances[how][i] ? distances[how][i] : (t->size[3] + 7) / 8 * 8;
    return ((size_t)ref_span(t) + 1) * bytes;
}

/* Memory for all tensors, those of odd rows at odd elements. */
static bool place_all(struct far_call *x, enum spread how, struct status *why)
{
    size_t longest = 0;

    for (int i = 0; i < x->count; i++) {
        size_t bytes = place(x->tensors[i].device, how);
        longest = bytes > longest ? bytes : longest;
    }
    if (device_alloc(x->device, longest + (size_t)x->count * TENSOR_BYTES, &x->space, why))
        return false;
    for (int i = 0; i < x->count; i++) {
        struct aothip_tensor *t = x->tensors[i].device;
        size_t odd = how == SPREAD_ODD_ROWS ? ref_dtype_size(t->dtype) : 0;
        t->data = (char *)x->space + (size_t)i * TENSOR_BYTES + odd;
    }
    return true;
}

enum direction { TO_DEVICE, TO_HOST };

static bool copy_rows(const struct far_call *x, const struct far_tensor *t, enum direction how,
                      struct status *why)
{
    const int64_t *size = t->host->size;
    size_t bytes = ref_dtype_size(t->host->dtype), row = (size_t)size[3] * bytes;
    bool good = true;

    for (int64_t i = 0; i < size[0] * size[1] * size[2] && good; i++) {
        int64_t b = i / size[2] / size[1], h = i / size[2] % size[1], s = i % size[2];
        char *near = (char *)t->host->data + ref_offset(t->host, b, h, s, 0) * (int64_t)bytes;
        char *far = (char *)t->device->data + ref_offset(t->device, b, h, s, 0) * (int64_t)bytes;
        good = how == TO_DEVICE ? !device_upload(x->device, far, near, row, why)
                                : !device_download(x->device, near, far, row, why);
    }
    return good;
}

/* The tensors of `call` that a kernel indexes by strides become far ones. */
static void spread_all(struct far_call *x, const struct problem *p, struct attn_call *call)
{
    const struct aothip_attn_fwd_params *f = &p->fwd;
    const struct aothip_attn_bwd_params *b = &p->bwd;
    bool bwd = call->kind == ATTN_BWD, grows = f->k_new.data != NULL;

    spread(x, &f->q, &call->fwd.q, false);
    spread(x, &f->k, &call->fwd.k, grows);
    spread(x, &f->v, &call->fwd.v, grows);
    spread(x, &f->o, &call->fwd.o, !bwd);
    spread(x, &f->bias, &call->fwd.bias, false);
    spread(x, &f->keep, &call->fwd.keep, false);
    spread(x, &f->probs, &call->fwd.probs, !bwd);
    spread(x, &f->k_new, &call->fwd.k_new, false);
    spread(x, &f->v_new, &call->fwd.v_new, false);
    if (!bwd)
        return;
    spread(x, &b->d_o, &call->bwd.d_o, false);
    spread(x, &b->dq, &call->bwd.dq, true);
    spread(x, &b->dk, &call->bwd.dk, true);
    spread(x, &b->dv, &call->bwd.dv, true);
    spread(x, &b->dbias, &call->bwd.dbias, true);
}

/* Runs the problem with far tensors; the results are in the host's near ones then. */
static bool run_far(const struct device *device, struct aothip_context *context,
                    const struct problem *p, enum spread how, bool bwd, struct status *why)
{
    struct far_call x = {.device = device};
    struct attn_call call;
    bool good = bwd ? !attn_upload_bwd(device, context, &p->bwd, &call, why)
                    : !attn_upload_fwd(device, context, &p->fwd, ATTN_FWD, &call, why);

    if (!good)
        return false;
    spread_all(&x, p, &call);
    good = place_all(&x, how, why);
    for (int i = 0; i < x.count && good; i++)
        good = copy_rows(&x, &x.tensors[i], TO_DEVICE, why);
    good = good && !attn_launch(device, context, &call, why) && !attn_download(device, &call, why);
    for (int i = 0; i < x.count && good; i++)
        good = !x.tensors[i].written || copy_rows(&x, &x.tensors[i], TO_HOST, why);
    device_free(device, x.space);
    attn_release(device, &call);
    return good;
}

static void check(const struct device *device, struct aothip_context *context,
                  const struct far_case *far, bool bwd)
{
    struct status why = {0};
    struct problem p;
    struct test_case c = far->c;
    bool good;

    c.seed = 6;
    problem_make(&c, &p);
    if (bwd)
        problem_make_bwd(&p);
    good = run_far(device, context, &p, far->spread, bwd, &why) &&
           (bwd ? problem_judge_bwd : problem_judge_fwd)(&p, device->properties.target);
    if (!ok(good, "%s, far: %s", bwd ? "backward" : "forward", far->name)) {
        tap_diag("%s", why.text);
        problem_describe(&c);
    }
    problem_free(&p);
}

static int test_gpu(const struct device *device, struct aothip_context *context, void *more)
{
    (void)more;
    tap_diag("%s, seed 6", device->properties.target);
    for (size_t j = 0; j < sizeof(forward) / sizeof(*forward); j++)
        check(device, context, &forward[j], false);
    for (size_t j = 0; j < sizeof(backward) / sizeof(*backward); j++)
        check(device, context, &backward[j], true);
    return 0;
}

int main(int argc, char **argv)
{
    setenv("AOTHIP_EMU_MODE", "plain", 0);
    const int result = each_gpu(argc > 1 ? argv[1] : gpus_asked(GPUS_REFERENCE),
                                TAP_SANITIZED ? 4 : 1, test_gpu, NULL);
    return result ? result : tap_done();
}
