/*
 * The kernels on the emulator, feature by feature: problems in which every pair of feature values
 * that may stand together does so, on every GPU, against the reference.
 *
 *     test_attn_pairs fwd|bwd|strict [GPU [ROW]]
 *
 * The forward problems run in strict emulation, where races, missing waits and reads of what was
 * never written are errors; strict is the backward problems in it, each on one GPU of four.
 */
#include "each_gpu.h"
#include "pairs.h"
#include "problem.h"

#include "gpus.h"
#include "tap.h"

#include <math.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum factor {
    DTYPE,
    DIM_QK,
    DIM_V,
    SEQ_Q,
    SEQ_K,
    HEADS,
    LAYOUT,
    MASK,
    BIAS,
    KEEP,
    ALIBI,
    SOFTCAP,
    SINKS,
    DROPOUT,
    SEQUENCES,
    INDEX64,
    LSE,
    SCALE,
    INPUT,
    PROBS,
    CACHE,
    SPLITS,
    FP8,
    FACTORS
};

static const int dtypes[] = {AOTHIP_F16, AOTHIP_BF16, AOTHIP_F32};
static const int dims[] = {64, 128, 1, 8, 40, 65, 72, 96, 192, 256, 512};
static const int dims_v[] = {0 /* as dim_qk */, 64, 33, 128};
static const int seqs_q[] = {1, 7, 64, 65, 131};
static const int seqs_k[] = {64, 0, 1, 37, 129};
static const int heads[][2] = {{1, 1}, {2, 1}, {1, 3}, {2, 2}, {1, 4}};
static const struct {
    int mask, left, right;
} masks[] = {
    {AOTHIP_MASK_NONE, 0, 0},
    {AOTHIP_MASK_CAUSAL_TOP_LEFT, 0, 0},
    {AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, 0, 0},
    {AOTHIP_MASK_WINDOW_TOP_LEFT, 20, 5},
    {AOTHIP_MASK_WINDOW_TOP_LEFT, -9, 40},
    {AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, 33, 0},
    {AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, 12, AOTHIP_WINDOW_UNBOUNDED},
    {AOTHIP_MASK_WINDOW_MIXED, 10, -2},
};
static const struct {
    enum extent extent;
    bool f32, odd;
    enum holes holes;
} biases[] = {
    {NONE, false, false, NO_HOLES},         {FULL, false, false, NO_HOLES},
    {PER_HEAD, true, false, SOME_INFINITE}, {PER_BATCH, false, true, ROWS_INFINITE},
    {PER_ROW, true, true, NO_HOLES},        {PER_KEY, false, false, SOME_INFINITE},
    {ONE, false, false, NO_HOLES},
};
static const enum extent keeps[] = {NONE, FULL, PER_KEY};
static const struct {
    bool none;
    int layout, base2;
} lses[] = {{false, AOTHIP_LSE_ROWS, 0},          {false, AOTHIP_LSE_ROWS, 1},
            {false, AOTHIP_LSE_HEADS, 0},         {false, AOTHIP_LSE_TOTAL, 1},
            {false, AOTHIP_LSE_HEADS_COMPACT, 0}, {true, AOTHIP_LSE_ROWS, 0}};
static const enum cache caches[] = {NO_CACHE, PAGES, PAGES, INDEX, APPEND, ROTARY, ROTARY_PAIRS};
static const int pages[] = {0, 16, 64, 0, 0, 0, 0};
static const int splits[] = {0, 1, 3};
/* Types of k and v; of q, too, it is the e4m3 that the GPU multiplies, or its e5m2. */
enum { OWN_E4M3 = -2, OWN_E5M2 };
static const struct {
    int type;
    enum scales scales;
} fp8s[] = {{0, NO_SCALES},
            {AOTHIP_FP8_E4M3, SCALES_ONE},
            {AOTHIP_FP8_E5M2, SCALES_HEAD},
            {AOTHIP_FP8_E4M3_FNUZ, SCALES_BATCH},
            {AOTHIP_FP8_E5M2_FNUZ, NO_SCALES},
            {OWN_E4M3, SCALES_HEAD},
            {OWN_E5M2, SCALES_BATCH}};
static const int fp8s_of_q = 2; /* the last ones */
static int largest_fp8_dim;     /* of the GPU */

static struct pairs_factor factors[FACTORS] = {
    [DTYPE] = {"dtype", COUNT(dtypes)},
    [DIM_QK] = {"dim_qk", COUNT(dims)},
    [DIM_V] = {"dim_v", COUNT(dims_v)},
    [SEQ_Q] = {"seq_q", COUNT(seqs_q)},
    [SEQ_K] = {"seq_k", COUNT(seqs_k)},
    [HEADS] = {"heads", COUNT(heads)},
    [LAYOUT] = {"layout", LAYOUTS},
    [MASK] = {"mask", COUNT(masks)},
    [BIAS] = {"bias", COUNT(biases)},
    [KEEP] = {"keep", COUNT(keeps)},
    [ALIBI] = {"alibi", 3},
    [SOFTCAP] = {"softcap", 2},
    [SINKS] = {"sinks", 2},
    [DROPOUT] = {"dropout", 4},
    [SEQUENCES] = {"sequences", SEQS},
    [INDEX64] = {"index64", 2},
    [LSE] = {"lse", COUNT(lses)},
    [SCALE] = {"scale", 3},
    [INPUT] = {"input", VALUES},
    [PROBS] = {"probs", 3},
    [CACHE] = {"cache", COUNT(caches)},
    [SPLITS] = {"splits", COUNT(splits)},
    [FP8] = {"fp8", COUNT(fp8s)},
};

/* The same of FP8, of q or k and v alone. */
static bool allows_fp8(int a, int x, bool of_q)
{
    switch (a) {
    case DTYPE:
        return dtypes[x] != AOTHIP_F32;
    case DIM_QK:
        return dims[x] <= largest_fp8_dim;
    case PROBS:
        return x != PROBS_DROPPED;
    case INPUT: /* sums that cancel are off by luck: three times the plain ones' in one of 140 */
        return x != LARGE;
    case CACHE:
        return !of_q || caches[x] < APPEND;
    default:
        return true;
    }
}

/* Whether what the header forbids, or what the problem maker has no room for, is absent. */
static bool allowed(int a, int x, int b, int y)
{
    enum cache cache = b == CACHE ? caches[y] : NO_CACHE;

    if (a == SEQUENCES && b == LSE)
        return x == COMPACT || x == STRIDED || lses[y].layout == AOTHIP_LSE_ROWS;
    if (a == LSE && b == PROBS)
        return !lses[x].none || y != PROBS_DROPPED;
    if (a == LSE && cache) /* since caches and packed queries do not */
        return lses[x].layout == AOTHIP_LSE_ROWS;
    if (a == SEQ_K && cache)
        return seqs_k[x] > 0;
    if (a == LAYOUT && cache >= APPEND)
        return x != ONE_HEAD && x != ONE_BATCH;
    if (a == SEQUENCES && cache)
        return x == DENSE || (x == USED_K && cache != INDEX);
    return b != FP8 || fp8s[y].type == 0 || allows_fp8(a, x, fp8s[y].type < 0);
}

static void make_case(const struct pairs_row *row, uint64_t seed, int own_fp8, struct test_case *c)
{
    const unsigned char *l = row->level;
    static const double scales[] = {1, -1, 0};
    const int fp8 = fp8s[l[FP8]].type;

    *c = (struct test_case){
        .dtype = dtypes[l[DTYPE]],
        .batch = l[SEQUENCES] == DENSE ? 2 : 3,
        .heads_k = heads[l[HEADS]][0],
        .group = heads[l[HEADS]][1],
        .seq_q = seqs_q[l[SEQ_Q]],
        .seq_k = seqs_k[l[SEQ_K]],
        .dim_qk = dims[l[DIM_QK]],
        .dim_v = dims_v[l[DIM_V]] ? dims_v[l[DIM_V]] : dims[l[DIM_QK]],
        .layout = (enum layout)l[LAYOUT],
        .mask = masks[l[MASK]].mask,
        .left = masks[l[MASK]].left,
        .right = masks[l[MASK]].right,
        .scale = scales[l[SCALE]] / sqrt(dims[l[DIM_QK]]),
        .values = (enum values)l[INPUT],
        .seqs = (enum seqs)l[SEQUENCES],
        .index64 = l[INDEX64],
        .no_lse = lses[l[LSE]].none,
        .lse_layout = lses[l[LSE]].layout,
        .lse_base2 = lses[l[LSE]].base2,
        .bias = biases[l[BIAS]].extent,
        .bias_f32 = biases[l[BIAS]].f32,
        .bias_odd = biases[l[BIAS]].odd,
        .holes = biases[l[BIAS]].holes,
        .keep = keeps[l[KEEP]],
        .alibi = (enum alibi)l[ALIBI],
        .softcap = l[SOFTCAP] ? 1.5F : 0,
        .sinks = l[SINKS],
        .dropout = (enum dropout)l[DROPOUT],
        .probs = (enum probs)l[PROBS],
        .cache = caches[l[CACHE]],
        .page = pages[l[CACHE]],
        .splits = splits[l[SPLITS]],
        .fp8 = fp8 < 0 ? own_fp8 + fp8 - OWN_E4M3 : fp8,
        .fp8_q = fp8 < 0,
        .scales = fp8s[l[FP8]].scales,
        .seed = seed,
    };
}

/* Pairs that may stand together and do so in no row. */
static int count_missing(const struct pairs_row *rows, int count)
{
    int missing = 0, a, b, x, y, i;

    for (a = 0; a < FACTORS; a++)
        for (b = a + 1; b < FACTORS; b++)
            for (x = 0; x < factors[a].levels; x++)
                for (y = 0; y < factors[b].levels; y++) {
                    for (i = 0; i < count; i++)
                        if (rows[i].level[a] == x && rows[i].level[b] == y)
                            break;
                    missing += i == count && allowed(a, x, b, y);
                }
    return missing;
}

static struct pairs_row rows[PAIRS_ROWS_MAX];

/* What to run: one row, or, if that is negative, of every `step` rows number `first`. */
struct selection {
    const char *name;
    bool backward;
    int only, step, first;
};

static void test_gpu(const struct device *device, struct aothip_context *context,
                     const struct selection *s, uint64_t seed)
{
    const int own_fp8 = gpus_fp8(device->properties.target);
    int left_out, count, bad = 0, ran = 0, i;
    char gpu[16];

    if (!s->backward)
        factors[FP8].levels = COUNT(fp8s) - (own_fp8 ? 0 : fp8s_of_q);
    largest_fp8_dim = strncmp(device->properties.target, "gfx11", 5) ? 512 : 256;
    count = pairs_make(factors, FACTORS, allowed, seed, rows, &left_out);
    snprintf(gpu, sizeof(gpu), "%.*s", (int)strcspn(device->properties.target, ":"),
             device->properties.target);
    tap_diag("%s, seed %llu, %d problems", gpu, (unsigned long long)seed, count);
    ok(count > 0 && left_out == 0 && count_missing(rows, count) == 0,
       "%s: every pair of values occurs", gpu);
    for (i = 0; i < count; i++) {
        struct test_case c;
        bool good;

        if (s->only >= 0 ? i != s->only : i % s->step != s->first % s->step)
            continue;
        ran++;
        make_case(&rows[i], seed + (uint64_t)i, own_fp8, &c);
        good = s->backward ? problem_check_bwd(device, context, &c)
                           : problem_check_fwd(device, context, &c);
        if (!good)
            tap_diag("  this is row %d: test_attn_pairs %s %s %d", i, s->name, gpu, i);
        bad += !good;
    }
    ok(bad == 0, "%s: %d wrong of %d problems", gpu, bad, ran);
}

static int test_pairs(const struct device *device, struct aothip_context *context, void *more)
{
    struct selection *s = more;

    s->first = device->number;
    test_gpu(device, context, s, 1000);
    return 0;
}

int main(int argc, char **argv)
{
    struct selection s = {argc > 1 ? argv[1] : "fwd", false, argc > 3 ? atoi(argv[3]) : -1, 1, 0};
    const char *gpus = argc > 2 ? argv[2] : gpus_asked(GPUS_EVERY);

    s.backward = strcmp(s.name, "fwd") != 0;
    /* Of several GPUs each has every other pair, so that waves of either size have all. */
    s.step = (!strcmp(s.name, "strict") ? 4 : strchr(gpus, ',') ? 2 : 1) * tap_one_in(4, 6);
    setenv("AOTHIP_EMU_MODE", !strcmp(s.name, "bwd") ? "plain" : "strict", 1);
    if (s.backward) { /* lse is an input; there are neither probs nor a cache nor FP8 */
        factors[LSE].levels--;
        factors[PROBS].levels = factors[CACHE].levels = factors[SPLITS].levels =
            factors[FP8].levels = 1;
    }
    const int result = each_gpu(gpus, 1, test_pairs, &s);
    return result ? result : tap_done();
}
