/* The table of attention problems, and one run of one of them against the reference. */
#include "check_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TL AOTHIP_MASK_CAUSAL_TOP_LEFT
#define BR AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT

/*
 * Sizes stand on both sides of tile edges (64, 128) and of the head dim classes; small enough that
 * the whole table takes under a minute on the emulator.
 */
/* clang-format off */
#define CASES(T) \
    /*  batch  hq hk  seq_q seq_k  dim_qk dim_v  mask  layout       quick */ \
    {T,     1,  1, 1,     1,    1,      1,    1,    0, CHECK_BHSD,   1}, \
    {T,     1,  2, 2,   128,  128,     64,   64,    0, CHECK_BHSD,   0}, \
    {T,     2,  4, 2,   129,  257,    128,  128,    0, CHECK_BSHD,   0}, \
    {T,     1,  3, 3,   127,   65,     64,   64,   TL, CHECK_QKV,    0}, \
    {T,     1,  4, 1,   100,  300,    128,  128,   BR, CHECK_BSHD,   1}, \
    {T,     1,  2, 2,   300,  100,     80,   80,   BR, CHECK_BHSD,   0}, \
    {T,     2,  6, 2,    67,  131,     96,   40,   TL, CHECK_PADDED, 0}, \
    {T,     1,  2, 1,    31,   63,     33,   17,    0, CHECK_PADDED, 1}, \
    {T,     2,  8, 1,     1,  777,    128,  128,   BR, CHECK_BHSD,   0}, \
    {T,     3,  1, 1,   191,  193,     72,    8,    0, CHECK_BSHD,   0}, \
    {T,     1,  1, 1,   512,  512,    128,  128,   TL, CHECK_BHSD,   0}, \
    {T,     1,  2, 2,   256,  256,     64,   64,   TL, CHECK_BHSD,   1}
const struct check_case check_cases[] = {CASES(AOTHIP_F16), CASES(AOTHIP_BF16)};
/* clang-format on */

const int check_case_count = sizeof(check_cases) / sizeof(check_cases[0]);
_Static_assert(sizeof(check_cases) / sizeof(check_cases[0]) <= CHECK_CASES_MAX, "room for results");

const char *check_dtype_name(int dtype)
{
    return dtype == AOTHIP_F16 ? "f16" : dtype == AOTHIP_BF16 ? "bf16" : "f32";
}

const char *check_mask_name(int mask)
{
    return mask == TL ? "tl" : mask == BR ? "br" : "none";
}

const char *check_layout_name(enum check_layout layout)
{
    static const char *const names[] = {
        [CHECK_BHSD] = "bhsd", [CHECK_BSHD] = "bshd", [CHECK_QKV] = "qkv", [CHECK_PADDED] = "pad"};
    return names[layout];
}

/* About normal, standard deviation 1: the sum of three uniforms on [-1, 1]. */
static double noise(uint64_t *state)
{
    double sum = 0;
    int i;
    for (i = 0; i < 3; i++) {
        *state = *state * 6364136223846793005U + 1442695040888963407U;
        sum += (double)(int64_t)(*state >> 11) / 0x1p52 - 1;
    }
    return sum;
}

/* A view of a case's layout without data. */
static struct aothip_tensor shape_tensor(const struct check_case *c, int heads, int seq, int dim,
                                         enum check_layout layout)
{
    enum attn_layout as = layout == CHECK_BSHD  ? ATTN_BSHD
                          : layout == CHECK_QKV ? ATTN_QKV
                                                : ATTN_BHSD;
    /* Rows with three elements between them: no row but the first is aligned. */
    int64_t size[4] = {c->batch, heads, seq, layout == CHECK_PADDED ? dim + 3 : dim};
    struct aothip_tensor t = attn_view(as, NULL, c->dtype, size);
    t.size[3] = dim;
    return t;
}

/* Memory for the tensor's span; filled with noise, or with ones in every bit: NaN. */
enum content { NOISE, POISON };

static int fill_tensor(struct aothip_tensor *t, enum content content, uint64_t *seed)
{
    size_t span = attn_span(t), size = ref_dtype_size(t->dtype), i;

    t->data = malloc(span * size);
    if (!t->data)
        return -1;
    memset(t->data, REF_POISON, span * size);
    for (i = 0; content == NOISE && i < span; i++)
        ref_store(t->data, (int64_t)i, t->dtype, noise(seed));
    return 0;
}

static void judge(const struct aothip_attn_fwd_params *p, const char *target,
                  struct check_result *r)
{
    struct ref_fwd answer;

    if (ref_attn_fwd(p, ref_subnormals_of(target), &answer)) {
        status_set(&r->why, AOTHIP_E_MEMORY, "no memory for the reference");
        return;
    }
    r->o = ref_judge_o(&answer, &p->o);
    r->lse = ref_judge_lse(&answer, p->lse);
    r->stray = ref_strays_o(&answer, &p->o);
    r->passed = !r->o.wrong && !r->lse.wrong && !r->stray;
    ref_free(&answer);
}

void check_run(const struct check_case *c, const struct device *device,
               struct aothip_context *context, struct check_result *result)
{
    struct aothip_attn_fwd_params p = {.struct_size = sizeof(p), .mask = c->mask};
    size_t rows = (size_t)c->batch * (size_t)c->heads_q * (size_t)c->seq_q;
    uint64_t seed = 20261;

    memset(result, 0, sizeof(*result));
    result->tried = 1;
    p.q = shape_tensor(c, c->heads_q, c->seq_q, c->dim_qk, c->layout);
    p.k = shape_tensor(c, c->heads_k, c->seq_k, c->dim_qk, c->layout);
    p.v = shape_tensor(c, c->heads_k, c->seq_k, c->dim_v, c->layout);
    p.o = shape_tensor(c, c->heads_q, c->seq_q, c->dim_v, c->layout);
    p.scale = (float)(1 / sqrt(c->dim_qk));
    p.lse = malloc(rows * sizeof(float));
    if (!p.lse || fill_tensor(&p.q, NOISE, &seed) || fill_tensor(&p.k, NOISE, &seed) ||
        fill_tensor(&p.v, NOISE, &seed) || fill_tensor(&p.o, POISON, &seed)) {
        status_set(&result->why, AOTHIP_E_MEMORY, "no memory for the tensors");
    } else {
        memset(p.lse, REF_POISON, rows * sizeof(float));
        if (!attn_fwd(device, context, &p, &result->why))
            judge(&p, device->properties.target, result);
    }
    free(p.q.data);
    free(p.k.data);
    free(p.v.data);
    free(p.o.data);
    free(p.lse);
}
