/* The rules of aothip.h for tensors of FP8, and what they ask of kernels. */
#include "args.h"
#include "rules.h"
#include "select.h"

static const int32_t types[] = {AOTHIP_FP8_E4M3, AOTHIP_FP8_E5M2, AOTHIP_FP8_E4M3_FNUZ,
                                AOTHIP_FP8_E5M2_FNUZ};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static void cache(params *p)
{
    p->k.dtype = p->v.dtype = AOTHIP_FP8_E4M3;
}

static void all(params *p)
{
    cache(p);
    p->q.dtype = AOTHIP_FP8_E4M3;
}

RULE(cache_bf16, cache(p); p->q.dtype = p->o.dtype = AOTHIP_BF16)
RULE(cache_f32, cache(p); p->q.dtype = p->o.dtype = AOTHIP_F32)
RULE(cache_k_alone, p->k.dtype = AOTHIP_FP8_E4M3)
RULE(cache_v_alone, p->v.dtype = AOTHIP_FP8_E4M3)
RULE(cache_mixed, cache(p); p->v.dtype = AOTHIP_FP8_E5M2)
RULE(cache_o, cache(p); p->o.dtype = AOTHIP_BF16)
RULE(odd, cache(p); p->k.data = at(0x20000001))
RULE(k_type_9, p->k.dtype = 9)
RULE(all_bf16, all(p); p->o.dtype = AOTHIP_BF16)
RULE(all_o_fp8, all(p); p->o.dtype = AOTHIP_FP8_E4M3)
RULE(all_o_f32, all(p); p->o.dtype = AOTHIP_F32)
RULE(all_k, all(p); p->k.dtype = AOTHIP_FP8_E5M2)
RULE(all_v, all(p); p->v.dtype = AOTHIP_F16)
RULE(all_bias, all(p); problem_add_bias(p))
RULE(all_bias_fp8, all(p); problem_add_bias(p); p->bias.dtype = AOTHIP_FP8_E4M3)
RULE(all_append, all(p); problem_append(p))
RULE(all_rotary, all(p); problem_rotate(p); p->k_new.data = p->v_new.data = NULL)
RULE(append, cache(p); problem_append(p))
RULE(append_fp8, cache(p); problem_append(p); p->k_new.dtype = AOTHIP_FP8_E4M3)
RULE(rotary, cache(p); problem_rotate(p))
RULE(pages, problem_page(p); cache(p))
RULE(scales, all(p); p->q_scale.data = p->k_scale.data = p->v_scale.data = at(0x65000000);
     p->k_scale.stride[0] = 2; p->k_scale.stride[1] = 1)
RULE(stride_alone, p->k_scale.stride[0] = -1)
RULE(scale_of_f16, p->v_scale.data = at(0x65000000))
RULE(scale_of_q, cache(p); p->q_scale.data = at(0x65000000))
RULE(scale_odd, cache(p); p->k_scale.data = at(0x65000002))
RULE(scale_batch, cache(p); p->k_scale.data = at(0x65000000); p->k_scale.stride[0] = -1)
RULE(scale_head, cache(p); p->v_scale.data = at(0x65000000);
     p->v_scale.stride[1] = ((int64_t)1 << 48) + 1)
RULE(dropped_alone, cache(p); p->probs_dropped = 1)
RULE(all_probs, all(p); problem_add_probs(p))
RULE(probs_fp8, problem_add_probs(p); p->probs.dtype = AOTHIP_FP8_E4M3)
RULE(keep_fp8, problem_add_keep(p); p->keep.dtype = AOTHIP_FP8_E4M3)

static const struct rule rules[] = {
    {"a cache of FP8", cache, NULL},
    {"for BF16", cache_bf16, NULL},
    {"for F32", cache_f32, "k: dtype is 5, but q's is 1"},
    {"k alone", cache_k_alone, "v: dtype is 2, but k's is 5"},
    {"v alone", cache_v_alone, "v: dtype is 5, but q's is 2"},
    {"k and v of two types", cache_mixed, "v: dtype is 6, but k's is 5"},
    {"o of another type than q", cache_o, "o: dtype is 3, but q's is 2"},
    {"at any byte", odd, NULL},
    {"type 9", k_type_9, "k: dtype is 9, not"},
    {"q, too", all, NULL},
    {"with o in BF16", all_bf16, NULL},
    {"with o of FP8", all_o_fp8, "o: dtype is 5, not F16 or BF16"},
    {"with o in F32", all_o_f32, "o: dtype is 1, not F16 or BF16"},
    {"q and k of two types", all_k, "k: dtype is 6, but q's is 5"},
    {"v in F16", all_v, "v: dtype is 2, but q's is 5"},
    {"a bias of o's type", all_bias, NULL},
    {"a bias of FP8", all_bias_fp8, "bias: dtype is 5, neither F32 nor o's 2"},
    {"appending where q is FP8", all_append, "k_new does not go with FP8 of q"},
    {"rotating q of FP8", all_rotary, "rotary_cos does not go with FP8 of q"},
    {"appending", append, NULL},
    {"appending FP8", append_fp8, "k_new: dtype is 5, not F32, F16 or BF16"},
    {"rotating", rotary, NULL},
    {"pages", pages, NULL},
    {"scales", scales, NULL},
    {"strides without a scale", stride_alone, NULL},
    {"a scale of F16", scale_of_f16, "v_scale is set, but v is not FP8: its dtype is 2"},
    {"a scale of q in F16", scale_of_q, "q_scale is set, but q is not FP8: its dtype is 2"},
    {"a scale misaligned", scale_odd, "k_scale: 0x65000002 is not aligned"},
    {"a scale's batch stride of -1", scale_batch, "k_scale: stride[0] (batch) is -1"},
    {"a scale's head stride", scale_head, "v_scale: stride[1] (head) is 281474976710657"},
    {"probs_dropped without probs", dropped_alone, NULL},
    {"probs", all_probs, NULL},
    {"probs of FP8", probs_fp8, "probs: dtype is 5"},
    {"keep of FP8", keep_fp8, "keep: dtype is 5"},
};

static void test_types(void)
{
    for (int i = 0; i < TYPES; i++) {
        params p = problem_make();
        struct validate_fwd checked;
        struct status why;
        status_clear(&why);
        p.k.dtype = p.v.dtype = types[i];
        is_int(validate_attn_fwd(&p, &checked, &why), AOTHIP_OK, "a cache of each type");
        is_int(select_need_attn_fwd(&p, 1).dtype, AOTHIP_F16, "is for kernels of q's type");
        is_int(select_need_attn_fwd(&p, 1).features, FORMAT_FEATURE_FP8_CACHE, "that know it");
        p.q.dtype = types[i];
        is_int(validate_attn_fwd(&p, &checked, &why), AOTHIP_OK, "q of each type");
        is_int(select_need_attn_fwd(&p, 1).dtype, types[i], "is for kernels of that type");
        is_int(select_need_attn_fwd(&p, 1).features, 0, "and no other feature");
    }
}

/* What of FP8 is converted, q too, is for kernels of aligned rows where those know q of FP8. */
static void test_converted(void)
{
    static const struct {
        enum format_op op;
        int64_t dim;
        uint32_t terms;
        int aligned;
    } cases[] = {{FORMAT_OP_ATTN_FWD, 128, 0, 0},
                 {FORMAT_OP_ATTN_FWD, 144, 0, 1},
                 {FORMAT_OP_ATTN_FWD, 128, FORMAT_FEATURE_SOFTCAP, 1},
                 {FORMAT_OP_ATTN_FWD, 128, FORMAT_FEATURE_PAGED, 0},
                 {FORMAT_OP_ATTN_SPLIT, 256, FORMAT_FEATURE_SOFTCAP, 0}};
    const params p = problem_make();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct select_need need = {cases[i].op, AOTHIP_FP8_E4M3, cases[i].terms,
                                         cases[i].dim, 0};
        const struct select_need converted = select_need_converted(&need, &p);
        is_int(converted.dtype, AOTHIP_F16, "of o's type");
        is_int(converted.features,
               cases[i].terms | FORMAT_FEATURE_FP8_CACHE |
                   (cases[i].aligned ? 0 : FORMAT_FEATURE_UNALIGNED),
               "its terms, a cache, and rows as those kernels take them");
    }
}

/* Neither a cache of FP8 nor q of it. */
static void test_dropped(void)
{
    for (int i = 0; i < 2; i++) {
        params p = problem_make();
        struct validate_fwd checked;
        struct status why;
        (i ? all : cache)(&p);
        problem_add_probs(&p);
        p.probs_dropped = 1;
        status_clear(&why);
        is_int(validate_attn_fwd(&p, &checked, &why), AOTHIP_E_UNSUPPORTED, "no dropped probs");
        contains(why.text, "probs_dropped: k and v are FP8 (dtype 5)", "and why");
    }
}

static void test_bwd(void)
{
    struct problem_gradients g;
    struct validate_bwd checked;
    struct status why;
    problem_gradients(&g);
    cache(&g.fwd);
    status_clear(&why);
    is_int(validate_attn_bwd(&g.b, &checked, &why), AOTHIP_E_UNSUPPORTED, "no gradients");
    contains(why.text, "fwd: k and v are FP8 (dtype 5), which has no backward pass", "and why");
}

/* 16 bytes are 16 elements. */
static void test_alignment(void)
{
    params p = problem_make();
    all(&p);
    p.k.stride[0] += 8;
    is_int(select_need_attn_fwd(&p, 1).features, FORMAT_FEATURE_UNALIGNED, "rows of 8 bytes more");
    p.k.stride[0] += 8;
    is_int(select_need_attn_fwd(&p, 1).features, 0, "of 16 more");
    p.o.stride[0] += 8;
    is_int(select_need_attn_fwd(&p, 1).features, 0, "o, of 16-bit elements, by 8 more");
}

static void test_other_need(void)
{
    params p = problem_make();
    cache(&p);
    p.probs_dropped = 1;
    is_int(select_need_other(FORMAT_OP_ATTN_APPEND, &p, NULL, 0).features, 0, "rotating q alone");
    is_int(select_need_other(FORMAT_OP_ATTN_PROBS, &p, NULL, 0).features, FORMAT_FEATURE_FP8_CACHE,
           "probabilities");
    is_int(select_need_other(FORMAT_OP_ATTN_MERGE, &p, NULL, 0).features, 0, "merging splits");
    problem_append(&p);
    is_int(select_need_other(FORMAT_OP_ATTN_APPEND, &p, NULL, 0).features, FORMAT_FEATURE_FP8_CACHE,
           "appending");
    p = problem_make();
    all(&p);
    is_int(select_need_other(FORMAT_OP_ATTN_MERGE, &p, NULL, 0).dtype, AOTHIP_F16,
           "splits of FP8 are merged into o");
    is_int(select_need_other(FORMAT_OP_ATTN_PROBS, &p, NULL, 0).dtype, AOTHIP_F16,
           "signs of probs concern no type");
}

/* An entry for one kind is none for the other. */
static void test_entry(void)
{
    static const struct format_entry entries[] = {
        {.op = FORMAT_OP_ATTN_FWD,
         .dtype = AOTHIP_F16,
         .rank = 0,
         .dim_max = 64,
         .features = FORMAT_FEATURE_FP8_CACHE | FORMAT_FEATURE_UNALIGNED},
        {.op = FORMAT_OP_ATTN_FWD, .dtype = AOTHIP_F16, .rank = 1, .dim_max = 64},
        {.op = FORMAT_OP_ATTN_FWD, .dtype = AOTHIP_FP8_E5M2_FNUZ, .rank = 2, .dim_max = 64},
    };
    union {
        struct select_index index;
        char room[sizeof(struct select_index) + 3 * sizeof(struct select_row)];
    } x;
    params p = problem_make();
    struct select_need need = select_need_attn_fwd(&p, 1);
    select_index_fill(&x.index, entries, NULL, 3);
    is_int(select_entry(&x.index, &need), 1, "no FP8");
    cache(&p);
    need = select_need_attn_fwd(&p, 1);
    is_int(select_entry(&x.index, &need), 0, "a cache of FP8");
    p.q.dtype = p.k.dtype = p.v.dtype = AOTHIP_FP8_E5M2_FNUZ;
    need = select_need_attn_fwd(&p, 1);
    is_int(select_entry(&x.index, &need), 2, "all of FP8");
    p.q.dtype = p.k.dtype = p.v.dtype = AOTHIP_FP8_E4M3;
    need = select_need_attn_fwd(&p, 1);
    is_int(select_entry(&x.index, &need), -1, "of another type");
}

static void test_args(void)
{
    params p = problem_make();
    struct kernarg_fp8 fp8;
    scales(&p);
    p.q_scale.data = NULL;
    p.q_scale.stride[0] = 77;
    args_fp8(&p, &fp8);
    ok(fp8.q.data == 0 && fp8.q.batch == 0 && fp8.q.head == 0, "no scale");
    ok(fp8.k.data == 0x65000000 && fp8.k.batch == 2 && fp8.k.head == 1, "a scale");
    ok(fp8.v.batch == 0 && fp8.v.head == 0, "the same for all");
    ok(fp8.dtype == AOTHIP_FP8_E4M3 && fp8.o_dtype == AOTHIP_F16, "the types");
}

int main(void)
{
    check_rules(rules, sizeof(rules) / sizeof(rules[0]));
    test_types();
    test_converted();
    test_dropped();
    test_bwd();
    test_alignment();
    test_other_need();
    test_entry();
    test_args();
    return tap_done();
}
