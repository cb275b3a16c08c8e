/* The table of attention problems, and one run of one of them against the reference. */
#include "cases.h"

#include "ref_fp8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TL AOTHIP_MASK_CAUSAL_TOP_LEFT
#define BR AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT
#define WIN AOTHIP_MASK_WINDOW_BOTTOM_RIGHT /* 32 keys to the left, 8 to the right */

/*
 * Sizes stand on both sides of tile edges (64, 128) and of the head dim classes; small enough that
 * the whole table takes under a minute on the emulator.
 */
/* clang-format off */
#define CASES(T) \
    /* kv batch hq hk  seq_q seq_k  dim_qk dim_v  mask  layout       quick */ \
    {T, 0,  1,  1, 1,     1,    1,      1,    1,    0, CHECK_BHSD,   1, CHECK_FORWARD}, \
    {T, 0,  1,  2, 2,   128,  128,     64,   64,    0, CHECK_BHSD,   0, CHECK_FORWARD}, \
    {T, 0,  2,  4, 2,   129,  257,    128,  128,    0, CHECK_BSHD,   0, CHECK_FORWARD}, \
    {T, 0,  1,  3, 3,   127,   65,     64,   64,   TL, CHECK_QKV,    0, CHECK_FORWARD}, \
    {T, 0,  1,  4, 1,   100,  300,    128,  128,   BR, CHECK_BSHD,   1, CHECK_FORWARD}, \
    {T, 0,  1,  2, 2,   300,  100,     80,   80,   BR, CHECK_BHSD,   0, CHECK_FORWARD}, \
    {T, 0,  2,  6, 2,    67,  131,     96,   40,   TL, CHECK_PADDED, 0, CHECK_FORWARD}, \
    {T, 0,  1,  2, 1,    31,   63,     33,   17,    0, CHECK_PADDED, 1, CHECK_FORWARD}, \
    {T, 0,  2,  8, 1,     1,  777,    128,  128,   BR, CHECK_BHSD,   0, CHECK_FORWARD}, \
    {T, 0,  3,  1, 1,   191,  193,     72,    8,    0, CHECK_BSHD,   0, CHECK_FORWARD}, \
    {T, 0,  1,  1, 1,   512,  512,    128,  128,   TL, CHECK_BHSD,   0, CHECK_FORWARD}, \
    {T, 0,  1,  2, 2,   256,  256,     64,   64,   TL, CHECK_BHSD,   1, CHECK_FORWARD}, \
    {T, 0,  1,  2, 1,    70,  150,    256,  256,   BR, CHECK_BSHD,   0, CHECK_FORWARD}, \
    {T, 0,  1,  1, 1,    33,   70,    512,  512,    0, CHECK_BHSD,   0, CHECK_FORWARD}, \
    {T, 0,  1,  2, 2,   150,  200,     64,   64,  WIN, CHECK_BHSD,   0, CHECK_FORWARD}, \
    {T, 0,  1,  4, 2,   100,  130,     64,   64,   TL, CHECK_BSHD,   1, CHECK_BACKWARD}, \
    {T, 0,  1,  2, 1,    65,  129,    128,  128,    0, CHECK_BHSD,   0, CHECK_BACKWARD}
const struct check_case check_cases[] = {
    CASES(AOTHIP_F16),
    CASES(AOTHIP_BF16),
    {AOTHIP_F32, 0, 1, 2, 1, 65, 129, 64, 64, BR, CHECK_BSHD, 1, CHECK_FORWARD},
    {AOTHIP_F32, 0, 1, 2, 2, 40, 150, 128, 96, 0, CHECK_PADDED, 0, CHECK_FORWARD},
    {AOTHIP_F32, 0, 1, 2, 1, 40, 70, 64, 64, TL, CHECK_BHSD, 0, CHECK_BACKWARD},
    /* k and v of FP8, which every GPU has; q, too, of those types that the GPU multiplies. */
    {AOTHIP_BF16, AOTHIP_FP8_E4M3, 2, 8, 2, 3, 300, 128, 128, BR, CHECK_BSHD, 1, CHECK_FORWARD},
    {AOTHIP_F16, AOTHIP_FP8_E5M2_FNUZ, 1, 2, 1, 70, 150, 64, 40, TL, CHECK_PADDED, 0,
     CHECK_FORWARD},
    {AOTHIP_FP8_E4M3, 0, 1, 4, 2, 150, 200, 128, 128, BR, CHECK_BSHD, 1, CHECK_FORWARD},
    {AOTHIP_FP8_E5M2, 0, 2, 2, 2, 200, 100, 64, 64, 0, CHECK_BHSD, 0, CHECK_FORWARD},
    {AOTHIP_FP8_E4M3_FNUZ, 0, 1, 4, 2, 150, 200, 128, 128, BR, CHECK_BSHD, 1, CHECK_FORWARD},
    {AOTHIP_FP8_E5M2_FNUZ, 0, 2, 2, 2, 200, 100, 64, 64, 0, CHECK_BHSD, 0, CHECK_FORWARD},
};
/* clang-format on */

const int check_case_count = sizeof(check_cases) / sizeof(check_cases[0]);
_Static_assert(sizeof(check_cases) / sizeof(check_cases[0]) <= CHECK_CASES_MAX, "room for results");

const char *check_dtype_name(int dtype)
{
    static const char *const names[] = {
        [AOTHIP_F32] = "f32",
        [AOTHIP_F16] = "f16",
        [AOTHIP_BF16] = "bf16",
        [AOTHIP_FP8_E4M3] = "e4m3",
        [AOTHIP_FP8_E5M2] = "e5m2",
        [AOTHIP_FP8_E4M3_FNUZ] = "e4m3fnuz",
        [AOTHIP_FP8_E5M2_FNUZ] = "e5m2fnuz",
    };
    return names[dtype];
}

const char *check_type_name(const struct check_case *c)
{
    return c->kv ? "kv8" : fp8_is(c->dtype) ? "f8" : check_dtype_name(c->dtype);
}

const char *check_mask_name(int mask)
{
    return mask == TL ? "tl" : mask == BR ? "br" : mask == WIN ? "win" : "none";
}

const char *check_pass_name(enum check_pass pass)
{
    return pass == CHECK_BACKWARD ? "bwd" : "fwd";
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
static struct aothip_tensor shape_tensor(const struct check_case *c, int dtype, int heads, int seq,
                                         int dim)
{
    const enum check_layout layout = c->layout;
    enum attn_layout as = layout == CHECK_BSHD  ? ATTN_BSHD
                          : layout == CHECK_QKV ? ATTN_QKV
                                                : ATTN_BHSD;
    /* Rows with three elements between them: no row but the first is aligned. */
    int64_t size[4] = {c->batch, heads, seq, layout == CHECK_PADDED ? dim + 3 : dim};
    struct aothip_tensor t = attn_view(as, NULL, dtype, size);
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

static void judge_fwd(const struct aothip_attn_fwd_params *p, const char *target,
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

static double ratio(const struct ref_verdict *v)
{
    return v->error == 0 ? 0 : v->error / v->allowed;
}

static void judge_bwd(const struct aothip_attn_bwd_params *b, const char *target,
                      struct check_result *r)
{
    const struct aothip_tensor *const tensors[] = {&b->dq, &b->dk, &b->dv};
    struct ref_bwd answer;
    const struct ref_grad *const grads[] = {&answer.dq, &answer.dk, &answer.dv};
    int64_t wrong = 0;
    int i;

    if (ref_attn_bwd(b, ref_subnormals_of(target), &answer)) {
        status_set(&r->why, AOTHIP_E_MEMORY, "no memory for the reference");
        return;
    }
    for (i = 0; i < 3; i++) {
        struct ref_verdict v = ref_judge_grad(grads[i], tensors[i]);
        wrong += v.wrong;
        r->stray += ref_strays_grad(grads[i], tensors[i]);
        if (i == 0 || ratio(&v) > ratio(&r->o))
            r->o = v;
    }
    r->o.wrong = wrong;
    r->passed = !wrong && !r->stray;
    ref_free_bwd(&answer);
}

/* The tensors of a case. */
struct tensors {
    struct aothip_attn_fwd_params fwd;
    struct aothip_attn_bwd_params bwd;
};

static int make_bwd(const struct check_case *c, struct tensors *t, uint64_t *seed)
{
    struct aothip_attn_bwd_params *b = &t->bwd;

    *b = (struct aothip_attn_bwd_params){.struct_size = sizeof(*b), .fwd = &t->fwd};
    b->d_o = shape_tensor(c, c->dtype, c->heads_q, c->seq_q, c->dim_v);
    b->dq = shape_tensor(c, c->dtype, c->heads_q, c->seq_q, c->dim_qk);
    b->dk = shape_tensor(c, c->dtype, c->heads_k, c->seq_k, c->dim_qk);
    b->dv = shape_tensor(c, c->dtype, c->heads_k, c->seq_k, c->dim_v);
    return fill_tensor(&b->d_o, NOISE, seed) || fill_tensor(&b->dq, POISON, seed) ||
           fill_tensor(&b->dk, POISON, seed) || fill_tensor(&b->dv, POISON, seed);
}

/* What those of FP8 are multiplied by: one scale each, so that forgetting one is seen. */
static void set_scales(struct aothip_attn_fwd_params *f)
{
    static const float scales[] = {0.75F, 1.25F, 3};

    if (fp8_is(f->q.dtype))
        f->q_scale.data = &scales[0];
    if (fp8_is(f->k.dtype)) {
        f->k_scale.data = &scales[1];
        f->v_scale.data = &scales[2];
    }
}

static int make_tensors(const struct check_case *c, struct tensors *t)
{
    const int kv = c->kv ? c->kv : c->dtype, o = fp8_is(c->dtype) ? AOTHIP_BF16 : c->dtype;
    struct aothip_attn_fwd_params *f = &t->fwd;
    size_t rows = (size_t)c->batch * (size_t)c->heads_q * (size_t)c->seq_q;
    uint64_t seed = 20261;

    memset(t, 0, sizeof(*t));
    *f = (struct aothip_attn_fwd_params){
        .struct_size = sizeof(*f), .mask = c->mask, .window_left = 32, .window_right = 8};
    f->q = shape_tensor(c, c->dtype, c->heads_q, c->seq_q, c->dim_qk);
    f->k = shape_tensor(c, kv, c->heads_k, c->seq_k, c->dim_qk);
    f->v = shape_tensor(c, kv, c->heads_k, c->seq_k, c->dim_v);
    f->o = shape_tensor(c, o, c->heads_q, c->seq_q, c->dim_v);
    set_scales(f);
    f->scale = (float)(1 / sqrt(c->dim_qk));
    f->lse = malloc(rows * sizeof(float));
    if (!f->lse || fill_tensor(&f->q, NOISE, &seed) || fill_tensor(&f->k, NOISE, &seed) ||
        fill_tensor(&f->v, NOISE, &seed) || fill_tensor(&f->o, POISON, &seed))
        return -1;
    memset(f->lse, REF_POISON, rows * sizeof(float));
    return c->pass == CHECK_BACKWARD ? make_bwd(c, t, &seed) : 0;
}

static void free_tensors(struct tensors *t)
{
    struct aothip_tensor *const all[] = {&t->fwd.q,   &t->fwd.k,  &t->fwd.v,  &t->fwd.o,
                                         &t->bwd.d_o, &t->bwd.dq, &t->bwd.dk, &t->bwd.dv};
    size_t i;

    for (i = 0; i < sizeof(all) / sizeof(*all); i++)
        free(all[i]->data);
    free(t->fwd.lse);
}

/* What a kernel is looked for by. */
struct wanted {
    const char *target;
    size_t length; /* of the GPU's name in it */
    int dtype, found;
};

static int look(const struct aothip_entry *entry, void *user)
{
    struct wanted *w = user;
    w->found = entry->dtype == w->dtype && strlen(entry->gpu) == w->length &&
               !strncmp(entry->gpu, w->target, w->length);
    return w->found;
}

int check_applies(const struct check_case *c, const char *target, struct aothip_context *context)
{
    struct wanted w = {target, strcspn(target, ":"), c->dtype, 0};

    /* Images that cannot be listed fail elsewhere. */
    return !fp8_is(c->dtype) || (!aothip_list(context, look, &w) && w.found);
}

void check_run(const struct check_case *c, const struct device *device,
               struct aothip_context *context, struct check_result *result)
{
    const char *target = device->properties.target;
    struct tensors t;

    memset(result, 0, sizeof(*result));
    result->tried = 1;
    if (make_tensors(c, &t))
        status_set(&result->why, AOTHIP_E_MEMORY, "no memory for the tensors");
    else if (!attn_fwd(device, context, &t.fwd, &result->why)) {
        if (c->pass == CHECK_FORWARD)
            judge_fwd(&t.fwd, target, result);
        else if (!attn_bwd(device, context, &t.bwd, &result->why))
            judge_bwd(&t.bwd, target, result);
    }
    free_tensors(&t);
}
