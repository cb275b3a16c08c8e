/* Every rule of aothip.h for the arguments of aothip_attn_fwd(), each with a message that names it.
 */
#include "rules.h"

#include <math.h>

RULE(zero_struct_size, p->struct_size = 0)
RULE(small_struct_size, p->struct_size = offsetof(params, mask))
RULE(absurd_struct_size, p->struct_size = (size_t)1 << 40)
RULE(null_q, p->q.data = NULL)
RULE(null_k, p->k.data = NULL)
RULE(null_v, p->v.data = NULL)
RULE(null_o, p->o.data = NULL)
RULE(odd_q, p->q.data = (char *)p->q.data + 1)
RULE(odd_o, p->o.data = (char *)p->o.data + 1)
RULE(odd_lse, p->lse = (float *)((uintptr_t)p->lse + 2))
RULE(no_dtype, p->q.dtype = 0)
RULE(bad_dtype, p->v.dtype = 7)
RULE(mixed_k, p->k.dtype = AOTHIP_BF16)
RULE(mixed_v, p->v.dtype = AOTHIP_BF16)
RULE(mixed_o, p->o.dtype = AOTHIP_F32)
RULE(negative_size, p->q.size[2] = -1)
RULE(huge_size, p->k.size[2] = p->v.size[2] = ((int64_t)1 << 30) + 1)
RULE(no_dim, p->q.size[3] = p->k.size[3] = 0)
RULE(negative_stride, p->k.stride[1] = -64)
RULE(huge_stride, p->v.stride[0] = ((int64_t)1 << 48) + 1)
RULE(inner_stride, p->q.stride[3] = 2)
RULE(no_inner_stride, p->o.stride[3] = 0)
RULE(batch_k, p->k.size[0] = 3)
RULE(batch_v, p->v.size[0] = 1)
RULE(batch_o, p->o.size[0] = 1)
RULE(heads_v, p->v.size[1] = 4)
RULE(heads_o, p->o.size[1] = 4)
RULE(seq_v, p->v.size[2] = 299)
RULE(seq_o, p->o.size[2] = 99)
RULE(dim_k, p->k.size[3] = 32)
RULE(dim_o, p->o.size[3] = 32)
RULE(ratio, p->q.size[1] = p->o.size[1] = 7)
RULE(more_k_heads, p->k.size[1] = p->v.size[1] = 16)
RULE(no_k_heads, p->k.size[1] = p->v.size[1] = 0)
RULE(bad_mask, p->mask = 6)
RULE(negative_mask, p->mask = -1)
RULE(nan_scale, p->scale = NAN)
RULE(inf_scale, p->scale = -INFINITY)
RULE(wrap_q, p->q.data = (void *)(UINTPTR_MAX - 63))
RULE(wrap_stride, p->k.size[0] = p->q.size[0] = p->v.size[0] = p->o.size[0] = 1 << 30;
     p->k.stride[0] = (int64_t)1 << 48)
RULE(wrap_lse, p->lse = (float *)(UINTPTR_MAX - 3))
RULE(o_is_q, p->o.data = p->q.data)
RULE(o_in_k, p->o.data = (char *)p->k.data + 4096)
RULE(o_ends_in_v, p->o.data = (char *)p->v.data - 128)
RULE(lse_in_q, p->lse = (float *)p->q.data + 1)
RULE(lse_in_o, p->lse = (float *)p->o.data + 1)
RULE(o_no_stride, p->o.stride[1] = 0)
RULE(o_short_row, p->o.stride[2] = 32)
RULE(o_same_strides, p->o.stride[0] = p->o.stride[1])
RULE(o_row_in_head, p->o.stride[1] = 64 * 99)

static const struct rule rules[] = {
    {"struct_size 0", zero_struct_size, "struct_size is 0"},
    {"struct_size too small", small_struct_size, "struct_size"},
    {"struct_size absurd", absurd_struct_size, "struct_size"},
    {"q.data NULL", null_q, "q: data is NULL"},
    {"k.data NULL", null_k, "k: data is NULL"},
    {"v.data NULL", null_v, "v: data is NULL"},
    {"o.data NULL", null_o, "o: data is NULL"},
    {"q misaligned", odd_q, "q: data is"},
    {"o misaligned", odd_o, "o: data is"},
    {"lse misaligned", odd_lse, "lse: "},
    {"q.dtype 0", no_dtype, "q: dtype is 0"},
    {"v.dtype 7", bad_dtype, "v: dtype is 7"},
    {"k of another type", mixed_k, "k: dtype is 3, but q's is 2"},
    {"v of another type", mixed_v, "v: dtype is 3, but q's is 2"},
    {"o of another type", mixed_o, "o: dtype is 1, but q's is 2"},
    {"negative size", negative_size, "q: size[2] (seq) is -1"},
    {"size above 2^30", huge_size, "k: size[2] (seq) is 1073741825"},
    {"head dim 0", no_dim, "q: size[3] (dim) is 0"},
    {"negative stride", negative_stride, "k: stride[1] (head) is -64"},
    {"stride above 2^48", huge_stride, "v: stride[0] (batch) is 281474976710657"},
    {"inner stride 2", inner_stride, "q: stride[3] (dim) is 2"},
    {"inner stride 0", no_inner_stride, "o: stride[3] (dim) is 0"},
    {"batch of k", batch_k, "k: size[0] (batch) is 3, but q's is 2"},
    {"batch of v", batch_v, "v: size[0] (batch) is 1, but k's is 2"},
    {"batch of o", batch_o, "o: size[0] (batch) is 1, but q's is 2"},
    {"heads of v", heads_v, "v: size[1] (head) is 4, but k's is 2"},
    {"heads of o", heads_o, "o: size[1] (head) is 4, but q's is 8"},
    {"sequence of v", seq_v, "v: size[2] (seq) is 299, but k's is 300"},
    {"sequence of o", seq_o, "o: size[2] (seq) is 99, but q's is 100"},
    {"head dim of k", dim_k, "k: size[3] (dim) is 32, but q's is 64"},
    {"head dim of o", dim_o, "o: size[3] (dim) is 32, but v's is 64"},
    {"7 heads over 2", ratio, "q: size[1] (head) is 7, no multiple of k's 2"},
    {"8 heads over 16", more_k_heads, "q: size[1] (head) is 8, no multiple of k's 16"},
    {"8 heads over 0", no_k_heads, "q: size[1] (head) is 8, no multiple of k's 0"},
    {"mask 6", bad_mask, "mask is 6"},
    {"mask -1", negative_mask, "mask is -1"},
    {"scale NaN", nan_scale, "scale is"},
    {"scale -inf", inf_scale, "scale is -inf"},
    {"q wraps around", wrap_q, "q: sizes and strides reach beyond"},
    {"k's strides overflow", wrap_stride, "k: sizes and strides reach beyond"},
    {"lse wraps around", wrap_lse, "lse: its size reaches beyond"},
    {"o is q", o_is_q, "o: overlaps q"},
    {"o inside k", o_in_k, "o: overlaps k"},
    {"o ends in v", o_ends_in_v, "o: overlaps v"},
    {"lse inside q", lse_in_q, "lse: overlaps q"},
    {"lse inside o", lse_in_o, "lse: overlaps o"},
    {"o with head stride 0", o_no_stride, "o: strides make it overlap itself"},
    {"o with rows that overlap", o_short_row, "o: strides make it overlap itself"},
    {"o with batch on head", o_same_strides, "o: strides make it overlap itself"},
    {"o with the last row in the next head", o_row_in_head, "o: strides make it overlap itself"},
};

/* Unusual and legal. */
RULE(nothing, (void)p)
RULE(no_lse, p->lse = NULL)
RULE(no_batch, p->q.size[0] = p->k.size[0] = p->v.size[0] = p->o.size[0] = 0; p->q.data = NULL)
RULE(no_queries, p->q.size[2] = p->o.size[2] = 0; p->q.data = p->o.data = NULL)
RULE(no_keys, p->k.size[2] = p->v.size[2] = 0; p->k.data = p->v.data = NULL)
RULE(no_heads, p->q.size[1] = p->k.size[1] = p->v.size[1] = p->o.size[1] = 0)
RULE(negative_scale, p->scale = -1)
RULE(broadcast_k, p->k.stride[0] = p->k.stride[1] = 0)
RULE(q_is_k, p->q.data = p->k.data)
RULE(wide_dim, p->q.size[3] = p->k.size[3] = 512; p->q.data = (void *)0x900000000;
     p->k.data = (void *)0xa00000000)
RULE(
    bshd, for (int i = 0; i < 2; i++) {
        struct aothip_tensor *t = i ? &p->o : &p->q;
        t->stride[1] = 64;
        t->stride[2] = 8 * 64;
    })
/* q, k, v and o as four parts of each row of one buffer: no element is shared */
RULE(
    packed, struct aothip_tensor *all[] = {&p->q, &p->k, &p->v, &p->o};
    for (int i = 0; i < 4; i++) {
        *all[i] = (struct aothip_tensor){(void *)(uintptr_t)(0x10000000 + i * 8 * 64 * 2),
                                         {2, 8, 100, 64},
                                         {100 * 4 * 8 * 64, 64, 4 * 8 * 64, 1},
                                         AOTHIP_F16};
    })
RULE(o_beside_q, p->o.data = (char *)p->q.data + 2 * 8 * 100 * 64 * 2)
RULE(lse_beside_o, p->lse = (float *)((uintptr_t)p->o.data + 2 * 8 * 100 * 64 * 2))
RULE(any_stride_of_one, p->q.size[0] = p->k.size[0] = p->v.size[0] = p->o.size[0] = 1;
     p->q.stride[0] = -7; p->o.stride[0] = 0)
RULE(inner_of_one, p->q.size[3] = p->k.size[3] = 1; p->q.stride[3] = 64)

static const struct rule legal[] = {
    {"plain", nothing, NULL},
    {"no lse", no_lse, NULL},
    {"batch 0", no_batch, NULL},
    {"no queries", no_queries, NULL},
    {"no keys", no_keys, NULL},
    {"no heads", no_heads, NULL},
    {"negative scale", negative_scale, NULL},
    {"k broadcast", broadcast_k, NULL},
    {"q is k", q_is_k, NULL},
    {"head dim 512 (the images decide)", wide_dim, NULL},
    {"BSHD", bshd, NULL},
    {"q, k, v, o interleaved in one buffer", packed, NULL},
    {"o right behind q", o_beside_q, NULL},
    {"lse right behind o", lse_beside_o, NULL},
    {"any stride where the size is 1", any_stride_of_one, NULL},
    {"any inner stride where the head dim is 1", inner_of_one, NULL},
};

static void test_null(void)
{
    struct validate_fwd checked;
    struct status why;
    status_clear(&why);
    is_int(validate_attn_fwd(NULL, &checked, &why), AOTHIP_E_ARGUMENT, "params NULL");
    contains(why.text, "params is NULL", "and named");
}

static void test_newer_struct(void)
{
    struct {
        params known;
        uint64_t unknown[3];
    } newer = {problem_make(), {0}};
    struct validate_fwd checked;
    struct status why;
    newer.known.struct_size = sizeof(newer);
    status_clear(&why);
    is_int(validate_attn_fwd(&newer.known, &checked, &why), AOTHIP_OK,
           "a newer struct whose new fields are zero");
    ok(checked.params == &checked.room && checked.params->q.data == newer.known.q.data,
       "is copied");
    newer.unknown[1] = 1;
    is_int(validate_attn_fwd(&newer.known, &checked, &why), AOTHIP_E_UNSUPPORTED,
           "a new field that is set is refused");
    contains(why.text, "params: byte", "and its place named");
}

int main(void)
{
    check_rules(rules, sizeof(rules) / sizeof(rules[0]));
    check_rules(legal, sizeof(legal) / sizeof(legal[0]));
    test_null();
    test_newer_struct();
    return tap_done();
}
