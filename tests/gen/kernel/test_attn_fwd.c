/*
 * The forward kernels as they are shipped, on all emulated GPUs, against the reference in double:
 * sizes on both sides of every tile edge, every layout and mask, inputs that are hard.
 *
 * Each output begins as NaN, between its rows, before and behind it as well; what must not be
 * written must still be so afterwards. Reads out of bounds are the emulator's to catch.
 */
#include "each_gpu.h"
#include "aothip/aothip.h"
#include "device.h"
#include "gpus.h"
#include "ref.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xffff }; /* NaN in f16 and bf16 */
enum { FENCE = 24 };      /* elements before and behind a tensor; keeps 16-byte alignment */

/* How the tensors of a case lie in memory. */
enum layout {
    BHSD,
    BSHD,
    PADDED,   /* BHSD, rows and heads further apart, by multiples of 8 elements */
    ODD,      /* BHSD, rows 3 elements further apart, data at an odd element */
    ONE_HEAD, /* all heads of k and v are the same memory: stride 0 */
    LAYOUTS
};
static const char *const layout_names[] = {"bhsd", "bshd", "padded", "odd", "one-head"};
static const char *const mask_names[] = {"none", "tl", "br"};

/* What the inputs look like. */
enum values {
    NOISE,  /* uniform in [-1, 1] */
    RISING, /* scores that grow with the key, so that the maximum moves in every tile */
    LARGE,  /* bf16: 1e15, which a tiny scale brings to logits of thousands; f16: 200 */
    TINY,   /* most of P far below the largest, and subnormal in f16 */
    VALUES
};
static const char *const value_names[] = {"noise", "rising", "large", "tiny"};

struct shape {
    int batch, heads_q, heads_k, seq_q, seq_k, dim_qk, dim_v;
};

struct test_case {
    struct shape s;
    int mask;
    enum layout layout;
    enum values values;
    double scale;
    bool lse;
};

static struct aothip_context *context;
static uint64_t seed;

static double uniform(void) /* [-1, 1) */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) * 0x1p-52 - 1;
}

static int below(int n)
{
    return (int)((uniform() + 1) / 2 * n);
}

/* A tensor on the host and its copy on the device. */
struct buffer {
    struct aothip_tensor host, device;
    uint16_t *memory;
    void *device_memory;
    size_t count; /* elements of both memories, fences included */
};

static void lay_out(struct aothip_tensor *t, enum layout layout)
{
    int64_t row = t->size[3] + (layout == PADDED ? 8 : layout == ODD ? 3 : 0);

    t->stride[3] = 1;
    t->stride[2] = layout == BSHD ? t->size[1] * row : row;
    t->stride[1] = layout == BSHD ? row : t->size[2] * row + (layout == PADDED ? 16 : 0);
    t->stride[0] = layout == BSHD ? t->size[2] * t->stride[2] : t->size[1] * t->stride[1];
}

static bool make_buffer(const struct device *device, struct buffer *b, enum layout layout,
                        int dtype, const int64_t size[4], struct status *why)
{
    size_t from = FENCE + (layout == ODD);
    int64_t last = 0;

    b->host.dtype = dtype;
    memcpy(b->host.size, size, sizeof(b->host.size));
    lay_out(&b->host, layout);
    for (int i = 0; i < 4; i++)
        last += (size[i] - 1) * b->host.stride[i];
    b->count = from + (size_t)last + 1 + FENCE;
    b->memory = malloc(b->count * sizeof(*b->memory));
    if (!b->memory)
        abort();
    for (size_t i = 0; i < b->count; i++)
        b->memory[i] = POISON;
    b->host.data = b->memory + from;
    b->device = b->host;
    if (device_alloc(device, b->count * 2, &b->device_memory, why))
        return false;
    b->device.data = (uint16_t *)b->device_memory + from;
    return true;
}

static void free_buffer(const struct device *device, struct buffer *b)
{
    free(b->memory);
    device_free(device, b->device_memory);
}

static int64_t at(const struct aothip_tensor *t, int64_t b, int64_t h, int64_t s)
{
    return b * t->stride[0] + h * t->stride[1] + s * t->stride[2];
}

static double value(const struct test_case *c, int dtype, char which, int64_t row)
{
    double x = uniform();

    if (which == 'v' || c->values == NOISE)
        return x;
    switch (c->values) {
    case RISING: /* q . k = about 0.2 n */
        return which == 'q' ? 1 + 0.1 * x : (0.2 * (double)row + x) / c->s.dim_qk;
    case LARGE:
        return x * (dtype == AOTHIP_BF16 ? 1e15 : 200);
    default: /* one key in 16 wins by 13 in base e */
        return which == 'q' ? 1 : (row % 16 ? 0 : 13.0 / c->s.dim_qk) + x * 0x1p-20;
    }
}

static void fill(const struct test_case *c, struct buffer *b, char which)
{
    const struct aothip_tensor *t = &b->host;

    for (int64_t i = 0; i < t->size[0]; i++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t s = 0; s < t->size[2]; s++)
                for (int64_t d = 0; d < t->size[3]; d++)
                    ref_store(t->data, at(t, i, h, s) + d, t->dtype, value(c, t->dtype, which, s));
}

/* Elements outside of the tensor that are no longer poison. */
static size_t strays(const struct buffer *b)
{
    const struct aothip_tensor *t = &b->host;
    unsigned char *inside = calloc(b->count, 1);
    size_t from = (size_t)((uint16_t *)t->data - b->memory), n = 0;

    if (!inside)
        abort();
    for (int64_t i = 0; i < t->size[0]; i++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t s = 0; s < t->size[2]; s++)
                memset(inside + from + at(t, i, h, s), 1, (size_t)t->size[3]);
    for (size_t i = 0; i < b->count; i++)
        n += !inside[i] && b->memory[i] != POISON;
    free(inside);
    return n;
}

enum { Q, K, V, O, TENSORS };

struct problem {
    struct buffer t[TENSORS];
    float *lse;
    void *device_lse;
    size_t rows; /* of lse */
};

static bool make_problem(const struct device *device, const struct test_case *c, int dtype,
                         struct problem *p, struct status *why)
{
    const struct shape *s = &c->s;
    const int64_t sizes[TENSORS][4] = {{s->batch, s->heads_q, s->seq_q, s->dim_qk},
                                       {s->batch, s->heads_k, s->seq_k, s->dim_qk},
                                       {s->batch, s->heads_k, s->seq_k, s->dim_v},
                                       {s->batch, s->heads_q, s->seq_q, s->dim_v}};
    memset(p, 0, sizeof(*p));
    for (int i = 0; i < TENSORS; i++) {
        if (!make_buffer(device, &p->t[i], c->layout, dtype, sizes[i], why))
            return false;
        if (c->layout == ONE_HEAD && (i == K || i == V))
            p->t[i].host.stride[1] = p->t[i].device.stride[1] = 0;
        if (i != O)
            fill(c, &p->t[i], "qkv"[i]);
    }
    p->rows = (size_t)s->batch * (size_t)s->heads_q * (size_t)s->seq_q;
    if (!c->lse)
        return true;
    p->lse = malloc((p->rows + 1) * sizeof(float));
    if (!p->lse)
        abort();
    memset(p->lse, 0xff, (p->rows + 1) * sizeof(float));
    return !device_alloc(device, (p->rows + 1) * sizeof(float), &p->device_lse, why);
}

static void free_problem(const struct device *device, struct problem *p)
{
    for (int i = 0; i < TENSORS; i++)
        free_buffer(device, &p->t[i]);
    free(p->lse);
    device_free(device, p->device_lse);
}

/* Uploads everything, launches, and brings o and lse back. */
static bool run(const struct device *device, const struct test_case *c, struct problem *p,
                struct status *why)
{
    struct aothip_attn_fwd_params params = {.struct_size = sizeof(params),
                                            .q = p->t[Q].device,
                                            .k = p->t[K].device,
                                            .v = p->t[V].device,
                                            .o = p->t[O].device,
                                            .lse = p->device_lse,
                                            .scale = (float)c->scale,
                                            .mask = c->mask};
    size_t lse_bytes = (p->rows + 1) * sizeof(float);

    for (int i = 0; i < TENSORS; i++)
        if (device_upload(device, p->t[i].device_memory, p->t[i].memory, p->t[i].count * 2, why))
            return false;
    if (p->lse && device_upload(device, p->device_lse, p->lse, lse_bytes, why))
        return false;
    if (aothip_attn_fwd(context, &params, device->stream)) {
        status_set(why, AOTHIP_E_HIP, "%s", aothip_last_error());
        return false;
    }
    return !device_finish(device, why) &&
           !device_download(device, p->t[O].memory, p->t[O].device_memory, p->t[O].count * 2,
                            why) &&
           !(p->lse && device_download(device, p->lse, p->device_lse, lse_bytes, why));
}

static void describe(const struct test_case *c)
{
    const struct shape *s = &c->s;
    tap_diag("%d x %d/%d heads, seq %d x %d, dim %d/%d, mask %s, %s, %s, scale %g, seed %llu",
             s->batch, s->heads_q, s->heads_k, s->seq_q, s->seq_k, s->dim_qk, s->dim_v,
             mask_names[c->mask], layout_names[c->layout], value_names[c->values], c->scale,
             (unsigned long long)seed);
}

/* Prints what is wrong, if anything. */
static bool judge(const struct test_case *c, const struct problem *p, enum ref_subnormals flushes)
{
    const struct aothip_attn_fwd_params problem = {.q = p->t[Q].host,
                                                   .k = p->t[K].host,
                                                   .v = p->t[V].host,
                                                   .scale = (float)c->scale,
                                                   .mask = c->mask};
    struct ref_fwd answer;
    struct ref_verdict o, lse = {0};
    size_t stray = strays(&p->t[O]);
    bool overrun = p->lse && !isnan(p->lse[p->rows]);

    if (ref_attn_fwd(&problem, flushes, &answer))
        abort();
    o = ref_judge_o(&answer, &p->t[O].host);
    if (p->lse)
        lse = ref_judge_lse(&answer, p->lse);
    ref_free(&answer);
    if (!o.wrong && !lse.wrong && !stray && !overrun)
        return true;
    describe(c);
    tap_diag("o: %lld wrong, worst (%lld, %lld, %lld, %lld) is %g not %g, error %g of %g",
             (long long)o.wrong, (long long)o.at[0], (long long)o.at[1], (long long)o.at[2],
             (long long)o.at[3], o.got, o.expected, o.error, o.allowed);
    tap_diag("lse: %lld wrong, worst row %lld, error %g of %g; %zu strays%s", (long long)lse.wrong,
             (long long)lse.at[2], lse.error, lse.allowed, stray, overrun ? ", lse overrun" : "");
    return false;
}

static bool check(const struct device *device, const struct test_case *c, int dtype)
{
    struct problem p;
    struct status why = {0};
    bool good = make_problem(device, c, dtype, &p, &why) && run(device, c, &p, &why);

    if (why.code) {
        describe(c);
        tap_diag("%s", why.text);
    }
    good = good && judge(c, &p, ref_subnormals_of(device->properties.target));
    free_problem(device, &p);
    return good;
}

static const char *dtype_name(int dtype)
{
    return dtype == AOTHIP_F16 ? "f16" : "bf16";
}

/* Sizes next to a tile edge (tiles of 128, 256, 64 queries and 128, 64, 32 keys), in turn with each
 * of the head dims. */
static void test_tile_edges(const struct device *device, int dtype)
{
    static const int queries[] = {1, 64, 65, 128, 129, 257};
    static const int keys[] = {1, 31, 32, 33, 64, 65, 129};
    static const int dims[][2] = {{64, 64}, {128, 128}, {127, 5}, {320, 136}, {192, 128}};
    int bad = 0, n = 0;

    for (unsigned i = 0; i < sizeof(queries) / sizeof(*queries); i++)
        for (unsigned j = 0; j < sizeof(keys) / sizeof(*keys); j++, n++) {
            const int *dim = dims[n % 5];
            struct test_case c = {{1, 1, 1, queries[i], keys[j], dim[0], dim[1]},
                                  n / 3 % 3,
                                  BHSD,
                                  NOISE,
                                  0.125,
                                  n % 4 != 0};
            bad += !check(device, &c, dtype);
        }
    is_int(bad, 0, "sizes next to tile edges: wrong cases");
}

static void test_dims(const struct device *device, int dtype)
{
    static const int dims[] = {1,   2,   3,   7,   8,   9,   15,  16,  17,  24,  31,
                               40,  63,  64,  65,  72,  96,  104, 119, 120, 121, 126,
                               127, 128, 136, 191, 200, 255, 256, 376, 385, 512};
    const int n = sizeof(dims) / sizeof(*dims);
    int bad = 0;

    for (int i = 0; i < n; i++) {
        struct test_case c = {{1, 2, 1, 37, 41, dims[i], dims[(i * 7 + 3) % n]},
                              i % 3,
                              i % 2 ? BSHD : BHSD,
                              NOISE,
                              1 / sqrt(dims[i]),
                              true};
        bad += !check(device, &c, dtype);
        c.s.dim_v = c.s.dim_qk;
        bad += !check(device, &c, dtype);
    }
    is_int(bad, 0, "head dims 1 to 512, alike and unlike: wrong cases");
}

static void test_layouts(const struct device *device, int dtype)
{
    int bad = 0;

    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int mask = 0; mask < 3; mask++)
            for (int wide = 0; wide < 2; wide++) {
                struct test_case c = {{2, 3, 1, 75, 131, wide ? 128 : 56, wide ? 80 : 64},
                                      mask,
                                      (enum layout)layout,
                                      NOISE,
                                      0.1,
                                      true};
                bad += !check(device, &c, dtype);
            }
    is_int(bad, 0, "layouts, grouped heads and masks: wrong cases");
}

static int count_bad_values(const struct device *device, int dtype, const int (*dims)[2], int n)
{
    int bad = 0;

    for (int values = 0; values < VALUES; values++)
        for (int wide = 0; wide < n; wide++) {
            double scale = values == LARGE && dtype == AOTHIP_BF16 ? 1e-28 : 1;
            struct test_case c = {{1, 2, 2, 70, 333, dims[wide][0], dims[wide][1]},
                                  wide % 2,
                                  BHSD,
                                  (enum values)values,
                                  scale,
                                  true};
            bad += !check(device, &c, dtype);
            c.scale = -scale;
            bad += !check(device, &c, dtype);
        }
    return bad;
}

static void test_values(const struct device *device, int dtype)
{
    static const int dims[][2] = {{64, 64}, {128, 128}, {256, 256}, {512, 512}};

    is_int(count_bad_values(device, dtype, dims, 4), 0,
           "rising, large and tiny scores of either sign: wrong cases");
}

/* Of kernels for other head dims, whose softmax is spread otherwise over their products. */
static void test_more_values(const struct device *device, int dtype)
{
    static const int dims[][2] = {{32, 32}, {96, 96}, {80, 80}, {192, 128}, {192, 192}};

    is_int(count_bad_values(device, dtype, dims, 5), 0,
           "the same of 32 to 192 channels: wrong cases");
}

static void test_scales(const struct device *device, int dtype)
{
    static const double scales[] = {0, -0.0, 0x1p-149, 1e-30, -0.125, 3, -50};
    int bad = 0;

    for (unsigned i = 0; i < sizeof(scales) / sizeof(*scales); i++)
        for (int mask = 0; mask < 3; mask++) {
            struct test_case c = {{1, 1, 1, 66, 50, 64, 64}, mask, BHSD, NOISE, scales[i], true};
            bad += !check(device, &c, dtype);
        }
    is_int(bad, 0, "scales zero, tiny, negative and large: wrong cases");
}

/* Longer walks, and rows that see no key at all: bottom-right with more queries than keys. */
static void test_long(const struct device *device, int dtype)
{
    static const struct shape shapes[] = {
        {1, 1, 1, 300, 1021, 128, 128}, {1, 1, 1, 1021, 300, 64, 64},
        {1, 1, 1, 521, 1, 128, 128},    {1, 2, 1, 1, 2050, 128, 128},
        {3, 1, 1, 130, 515, 33, 64},    {1, 2, 1, 523, 779, 192, 128}};
    int bad = 0;

    for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        for (int mask = 0; mask < 3; mask++) {
            struct test_case c = {shapes[i], mask, BHSD, RISING, 0.3, true};
            bad += !check(device, &c, dtype);
        }
    is_int(bad, 0, "long and lopsided sequences: wrong cases");
}

static void test_random(const struct device *device, int dtype)
{
    int bad = 0;

    for (int i = 0; i < 16; i++) {
        int heads_k = 1 + below(3), dim = 1 + below(128);
        struct test_case c = {{1 + below(3), heads_k * (1 + below(3)), heads_k, 1 + below(300),
                               1 + below(300), dim, below(2) ? dim : 1 + below(128)},
                              below(3),
                              (enum layout)below(LAYOUTS),
                              NOISE,
                              uniform(),
                              below(4) != 0};
        bad += !check(device, &c, dtype);
    }
    is_int(bad, 0, "random problems: wrong cases");
}

/*
 * NaN or infinity in row `row` of q, k or v. Rows of o that do not see it must be, bit for bit,
 * what they are without it; those that see NaN must be NaN, of v in its channel.
 */
static bool stays_in_row(const struct device *device, int dtype, int dim, int which, double special)
{
    const int row = 77;
    /* The kernels for 192 channels of q and k have 128 of v. */
    struct test_case c = {
        {1, 1, 1, 150, 150, dim, dim == 192 ? 128 : dim}, 1, BHSD, NOISE, 0.1, true};
    struct problem clean, dirty;
    struct status why = {0};
    uint64_t start = seed;
    bool good = make_problem(device, &c, dtype, &clean, &why) && run(device, &c, &clean, &why);

    seed = start;
    good = good && make_problem(device, &c, dtype, &dirty, &why);
    if (!good) {
        tap_diag("%s", why.text);
        return false;
    }
    ref_store(dirty.t[which].host.data, at(&dirty.t[which].host, 0, 0, row) + 5, dtype, special);
    good = run(device, &c, &dirty, &why);
    for (int m = 0; m < c.s.seq_q && good; m++) {
        int64_t from = at(&clean.t[O].host, 0, 0, m);
        bool sees = which == Q ? m == row : m >= row;
        const uint16_t *x = (uint16_t *)clean.t[O].host.data + from;
        const uint16_t *y = (uint16_t *)dirty.t[O].host.data + from;
        if (!sees)
            good = !memcmp(x, y, (size_t)c.s.dim_v * sizeof(*x)) && clean.lse[m] == dirty.lse[m];
        else if (which == V)
            good = !isfinite(ref_load(y, 5, dtype)) && clean.lse[m] == dirty.lse[m];
        else if (isnan(special))
            good = isnan(ref_load(y, 0, dtype)) && isnan(dirty.lse[m]);
        if (!good)
            tap_diag("row %d", m);
    }
    free_problem(device, &clean);
    free_problem(device, &dirty);
    return good;
}

static void test_special(const struct device *device, int dtype, int dim)
{
    const double infinity[] = {[Q] = INFINITY, [K] = -INFINITY, [V] = INFINITY};

    for (int which = Q; which <= V; which++) {
        ok(stays_in_row(device, dtype, dim, which, NAN),
           "%d channels: NaN in a row of %c reaches the rows that see it only", dim, "qkv"[which]);
        ok(stays_in_row(device, dtype, dim, which, infinity[which]), "so does infinity");
    }
}

static void test_all(const struct device *device, int dtype)
{
    test_tile_edges(device, dtype);
    test_dims(device, dtype);
    test_layouts(device, dtype);
    test_values(device, dtype);
    test_scales(device, dtype);
    if (!TAP_SANITIZED) /* more of the same instructions */
        test_long(device, dtype);
    test_random(device, dtype);
    for (int dim = 128; dim <= 512; dim *= 2)
        test_special(device, dtype, dim);
    test_special(device, dtype, 192);
    test_more_values(device, dtype);
}

/*
 * One problem for each kernel and mask, where the emulator also reports races, missing waits,
 * hazards and what was read before it was written.
 */
static void test_strict(const struct device *device, int dtype)
{
    static const struct shape shapes[] = {
        {1, 2, 1, 139, 333, 64, 64},   {1, 2, 1, 139, 333, 128, 128}, {1, 2, 1, 139, 205, 77, 33},
        {1, 1, 1, 70, 525, 32, 24},    {1, 1, 1, 70, 333, 72, 80},    {1, 1, 1, 70, 333, 96, 88},
        {1, 2, 1, 139, 205, 256, 256}, {1, 2, 1, 139, 205, 320, 136}, {1, 1, 1, 70, 333, 512, 512},
        {1, 1, 1, 70, 205, 192, 128},  {1, 1, 1, 70, 205, 161, 255},  {1, 1, 1, 70, 133, 385, 257},
        {1, 2, 1, 300, 333, 192, 128}, {1, 1, 1, 260, 205, 136, 104}};
    int bad = 0;

    for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        for (int mask = 0; mask < 3; mask++) {
            struct test_case c = {shapes[i], mask, BHSD, mask ? NOISE : RISING, 0.1, true};
            bad += !check(device, &c, dtype);
        }
    is_int(bad, 0, "strict emulation: wrong or faulting cases");
}

static int visit(const struct device *device, struct aothip_context *opened, void *with)
{
    static const int dtypes[] = {AOTHIP_F16, AOTHIP_BF16};
    const bool strict = *(const bool *)with;

    context = opened;
    /* With sanitizers either has a type, since both take the same ways. */
    for (int j = TAP_SANITIZED && strict; j < (TAP_SANITIZED && !strict ? 1 : 2); j++) {
        seed = (uint64_t)(device->number * 2 + j + 1);
        tap_diag("%s %s, seed %llu", device->properties.target, dtype_name(dtypes[j]),
                 (unsigned long long)seed);
        if (strict)
            test_strict(device, dtypes[j]);
        else
            test_all(device, dtypes[j]);
    }
    return 0;
}

/* test_attn_fwd [strict] */
int main(int argc, char **argv)
{
    bool strict = argc > 1 && !strcmp(argv[1], "strict");
    int result;

    setenv("AOTHIP_EMU_MODE", strict ? "strict" : "plain", 1);
    result = each_gpu(gpus_asked(GPUS_REFERENCE), TAP_SANITIZED ? 4 : 1, visit, &strict);
    return result ? result : tap_done();
}
