/* Calls of the backward pass over a fake HIP runtime: which launches, with which arguments. */
#include "aothip/aothip.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plan_test.h"

static void test_bwd(void)
{
    const struct attn_bwd_args *dkdv = &fake_hip.log[1].args.bwd;
    struct problem_gradients g;
    size_t bytes;
    problem_gradients(&g);
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "backward");
    LAUNCHED("three launches", "attn_bwd_delta_f16_d128_general", "attn_bwd_dkdv_f16_d128_general",
             "attn_bwd_dq_f16_d128_general");
    is_grid(&fake_hip.log[0], 8, 2, "delta: a tile of 8 heads");
    is_grid(&fake_hip.log[1], 5 * 2, 2, "dkdv: 5 tiles of 2 key heads");
    is_grid(&fake_hip.log[2], 8, 2, "dq: a tile of 8 heads");
    is_int((intmax_t)dkdv->d_o, 0xb0000000, "d_o");
    is_int((intmax_t)dkdv->delta, 0xb4000000, "delta");
    is_int((intmax_t)dkdv->lse, 0x50000000, "lse");
    is_int((intmax_t)dkdv->dk, 0xb2000000, "dk");
    is_int(dkdv->do_channel, 1, "channels of d_o lie side by side");
    is_int(dkdv->tiles_k, 5, "5 tiles of keys");
    g.b.delta = NULL;
    is_int(aothip_attn_bwd_workspace(context, &g.b, NULL, &bytes), AOTHIP_OK, "workspace");
    is_int((intmax_t)bytes, 6400, "for delta");
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_E_ARGUMENT, "none given");
    contains(aothip_last_error(), "workspace: delta is NULL and needs 6400 bytes", "is told");
    is_int(fake_hip.launches, 0, "and launches nothing");
    g.b.workspace = at(0xa0000000);
    g.b.workspace_size = 6400;
    g.b.dq.data = NULL;
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "delta in the workspace, no dq");
    LAUNCHED("two launches", "attn_bwd_delta_f16_d128_general", "attn_bwd_dkdv_f16_d128_general");
    is_int((intmax_t)dkdv->delta, 0xa0000000, "delta there");
    g.b.dk.data = g.b.dv.data = NULL;
    g.fwd.bias = problem_tensor(0x70000000, 1, 8, 1, 300);
    g.b.dbias = problem_tensor(0xb5000000, 1, 8, 1, 300);
    g.fwd.sinks = at(0x66000000);
    g.b.dsinks = at(0xb6000000);
    g.fwd.alibi_slopes = at(0x65000000);
    g.fwd.alibi_stride = 8;
    g.b.dalibi = at(0xb7000000);
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "gradients of scores");
    LAUNCHED("four launches", "attn_bwd_delta_f16_d128_general", "attn_bwd_dbias_f16_d128_general",
             "attn_bwd_dscalar_f16_d128_general", "attn_bwd_dscalar_f16_d128_general");
    is_grid(&fake_hip.log[1], 5 * 8, 1, "dbias: 5 tiles of 8 heads, summed over the batch");
    is_int(fake_hip.log[1].args.bwd.dbias_rows, 1, "and over rows");
    is_grid(&fake_hip.log[2], 8, 1, "dsinks: 8 heads, summed over the batch");
    is_int((intmax_t)fake_hip.log[2].args.bwd.dalibi, 0, "and nothing else");
    is_grid(&fake_hip.log[3], 8, 2, "dalibi: 8 heads of each sequence");
    is_int((intmax_t)fake_hip.log[3].args.bwd.dsinks, 0, "and nothing else");
}

/* Batch 2, 8 query and 2 key heads of 64 channels, 1000 queries. */
static void make_long(struct problem_gradients *g, int64_t keys)
{
    problem_gradients(g);
    g->fwd.q = problem_tensor(0x100000000, 2, 8, 1000, 64);
    g->fwd.o = problem_tensor(0x400000000, 2, 8, 1000, 64);
    g->fwd.k = problem_tensor(0x200000000, 2, 2, keys, 64);
    g->fwd.v = problem_tensor(0x300000000, 2, 2, keys, 64);
    g->b.d_o = problem_tensor(0xb00000000, 2, 8, 1000, 64);
    g->b.dq = problem_tensor(0xb10000000, 2, 8, 1000, 64);
    g->b.dk = problem_tensor(0xb20000000, 2, 2, keys, 64);
    g->b.dv = problem_tensor(0xb30000000, 2, 2, keys, 64);
}

/* Few workgroups share their walks where the workspace has room for what they find. */
static void test_bwd_shared(void)
{
    const size_t all = (size_t)2 * 8 * 4 * 1000 * 64 * 4 + 2 * (size_t)2 * 2 * 4 * 2048 * 64 * 4;
    const struct attn_bwd_share_args *dkdv = &fake_hip.log[1].args.share,
                                     *sum = &fake_hip.log[3].args.share;
    struct problem_gradients g;
    size_t bytes;
    make_long(&g, 2000);
    restart();
    is_int(aothip_attn_bwd_workspace(context, &g.b, NULL, &bytes), AOTHIP_OK, "workspace");
    is_int((intmax_t)bytes, (intmax_t)all, "for four parts of each gradient");
    g.b.workspace = at(0xa0000000);
    g.b.workspace_size = bytes - 1;
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "with too small a one");
    LAUNCHED("nothing is shared", "attn_bwd_delta_f16_d128_general",
             "attn_bwd_dkdv_f16_d128_general", "attn_bwd_dq_f16_d128_general");
    is_grid(&fake_hip.log[1], 32 * 2, 2, "dkdv: 32 tiles of 2 key heads");
    is_int((intmax_t)dkdv->part_dk, 0, "no parts");
    g.b.workspace_size = bytes;
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "with room for all");
    LAUNCHED("parts, and their sums", "attn_bwd_delta_f16_d128_general",
             "attn_bwd_dkdv_f16_d128_general", "attn_bwd_dq_f16_d128_general",
             "attn_bwd_sum_f16_d128_general");
    is_grid(&fake_hip.log[1], 32 * 2 * 4, 2, "dkdv: each tile four times");
    is_int(dkdv->parts_heads, 4, "one for each head of the group");
    is_int(dkdv->parts_rows, 1, "all rows of it");
    is_grid(&fake_hip.log[2], 8 * 8 * 4, 2, "dq: each tile four times");
    is_int(sum->parts_keys, 4, "runs of the keys");
    is_grid(&fake_hip.log[3], 16 * 2 * 2 + 8 * 8, 2, "sums: dk and dv, then dq");
    is_int((intmax_t)sum->part_dq, 0xa0000000, "dq comes first");
    is_int((intmax_t)(sum->part_dv - sum->part_dk), 2 * 2 * 4 * 2048 * 64 * 4, "dv last");
    g.fwd.mask = AOTHIP_MASK_WINDOW_TOP_LEFT;
    g.fwd.window_left = g.fwd.window_right = 10;
    is_int(aothip_attn_bwd_workspace(context, &g.b, NULL, &bytes), AOTHIP_OK, "a window");
    is_int((intmax_t)bytes, 0, "leaves nothing to share");
}

/* One sequence with as many key heads and rows as query heads and rows. */
static void make_square(struct problem_gradients *g, int64_t heads, int64_t rows)
{
    struct aothip_tensor *const tensors[] = {&g->fwd.q, &g->fwd.k, &g->fwd.v, &g->fwd.o,
                                             &g->b.d_o, &g->b.dq,  &g->b.dk,  &g->b.dv};
    make_long(g, rows);
    for (size_t i = 0; i < sizeof(tensors) / sizeof(*tensors); i++)
        *tensors[i] = problem_tensor((i + 1) << 32, 1, heads, rows, 64);
    g->b.workspace = at(0xa00000000);
    g->b.workspace_size = SIZE_MAX / 2;
}

/* Rows that see half of the keys: more parts than fill the GPU, unless their sums cost more. */
static void test_bwd_shared_causal(void)
{
    const struct attn_bwd_share_args *dkdv = &fake_hip.log[1].args.share,
                                     *sum = &fake_hip.log[3].args.share;
    struct problem_gradients g;
    make_square(&g, 1, 20480);
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "without a mask");
    is_grid(&fake_hip.log[1], 320, 1, "dkdv: 320 tiles of the 608 that the GPU holds");
    is_int((intmax_t)dkdv->part_dk, 0, "no parts");
    is_int(sum->parts_keys, 3, "dq, 160 tiles: keys in three");
    g.fwd.mask = AOTHIP_MASK_CAUSAL_TOP_LEFT;
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "causal");
    is_int(dkdv->parts_rows, 3, "dkdv: rows in three, as 960 of half the length take their places");
    is_int(sum->parts_keys, 7, "dq: keys in seven");
    make_square(&g, 8, 2048);
    g.fwd.mask = AOTHIP_MASK_CAUSAL_TOP_LEFT;
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "causal, short walks");
    is_int(dkdv->parts_rows, 2, "dkdv, 256 tiles: in two");
    is_int(sum->parts_keys, 4, "dq, 128 tiles: in four");
    make_square(&g, 16, 1536);
    g.fwd.mask = AOTHIP_MASK_CAUSAL_TOP_LEFT;
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "causal, shorter ones");
    is_int((intmax_t)dkdv->part_dk, 0, "dkdv, 384 tiles: whole, as two parts cost more than one");
}

/* Whether atomic sums are taken for `rows` rows of groups of query heads; a block has 64 keys. */
static int takes_atomics(int64_t groups, int64_t group, int64_t rows, enum aothip_mask mask)
{
    struct problem_gradients g;
    make_square(&g, groups, rows);
    g.fwd.q.size[1] = g.fwd.o.size[1] = g.b.d_o.size[1] = g.b.dq.size[1] = groups * group;
    g.fwd.mask = mask;
    g.b.atomics = 1;
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "backward");
    return strcmp(fake_hip.log[0].symbol, "attn_bwd_begin_f16_d128_general") == 0;
}

/* From 0.7 blocks for each of 304 compute units on; causal of more than 2,048 rows from 1. */
static void test_bwd_atomics_from(void)
{
    ok(!takes_atomics(1, 1, 64 * 212, AOTHIP_MASK_NONE), "212 blocks are too few");
    ok(takes_atomics(1, 1, 64 * 213, AOTHIP_MASK_NONE), "213 are not");
    ok(!takes_atomics(6, 1, 2048, AOTHIP_MASK_CAUSAL_TOP_LEFT), "192 are, causal");
    ok(takes_atomics(7, 1, 2048, AOTHIP_MASK_CAUSAL_TOP_LEFT), "224 are not");
    ok(!takes_atomics(9, 1, 2112, AOTHIP_MASK_CAUSAL_TOP_LEFT), "297 are, of longer walks");
    ok(!takes_atomics(7, 2, 2048, AOTHIP_MASK_CAUSAL_TOP_LEFT), "224 are, of two heads each");
    ok(takes_atomics(10, 1, 2112, AOTHIP_MASK_CAUSAL_TOP_LEFT), "330 are not");
}

/* Atomic sums of dq: only where they are allowed, and of many rows and workgroups. */
static void test_bwd_atomics(void)
{
    const size_t sums = (size_t)2 * 8 * 1024 * 64 * 4; /* whole blocks of 32 rows */
    const struct attn_bwd_share_args *begin = &fake_hip.log[0].args.share,
                                     *fused = &fake_hip.log[1].args.share,
                                     *sum = &fake_hip.log[2].args.share;
    struct problem_gradients g;
    size_t bytes, without;
    make_long(&g, 10000);
    restart();
    is_int(aothip_attn_bwd_workspace(context, &g.b, NULL, &without), AOTHIP_OK, "workspace");
    g.b.atomics = 1;
    is_int(aothip_attn_bwd_workspace(context, &g.b, NULL, &bytes), AOTHIP_OK, "with atomics");
    is_int((intmax_t)bytes, (intmax_t)sums, "for sums of dq");
    ok(without != sums, "and not without");
    g.b.workspace = at(0xa0000000);
    g.b.workspace_size = bytes;
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "backward");
    LAUNCHED("three launches", "attn_bwd_begin_f16_d128_general", "attn_bwd_fused_f16_d128_general",
             "attn_bwd_sum_f16_d128_general");
    is_grid(&fake_hip.log[0], 4 * 8, 2, "begin: 4 times 2 tiles of 8 heads");
    is_grid(&fake_hip.log[1], 157 * 2, 2, "fused: 157 tiles of 2 key heads");
    is_grid(&fake_hip.log[2], 2 * 8, 2, "sum: dq alone, 2 times 4 tiles of 8 heads");
    is_int((intmax_t)begin->part_dq, 0xa0000000, "zeros in the workspace");
    is_int((intmax_t)fused->part_dq, 0xa0000000, "sums there");
    is_int((intmax_t)sum->part_dq, 0xa0000000, "and read from there");
    is_int(sum->parts_keys, 1, "one part");
    is_int(sum->dq_in_blocks, 1, "of blocks");
    is_int((intmax_t)(fused->part_dk | fused->part_dv), 0, "dk and dv are not shared");
    g.b.workspace_size = bytes - 1;
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "with too small a workspace");
    LAUNCHED("the deterministic form", "attn_bwd_delta_f16_d128_general",
             "attn_bwd_dkdv_f16_d128_general", "attn_bwd_dq_f16_d128_general");
    g.b.workspace_size = bytes;
    g.b.dk.data = g.b.dv.data = NULL;
    is_int(aothip_attn_bwd_workspace(context, &g.b, NULL, &bytes), AOTHIP_OK, "dq alone");
    is_int((intmax_t)bytes, (intmax_t)without, "is not worth them");
    g.b.dk = problem_tensor(0xb20000000, 2, 2, 10000, 64);
    g.fwd.q.size[2] = g.fwd.o.size[2] = g.b.d_o.size[2] = g.b.dq.size[2] = 500;
    is_int(aothip_attn_bwd_workspace(context, &g.b, NULL, &bytes), AOTHIP_OK, "few rows");
    is_int(bytes == sums / 2, 0, "are not");
    g.b.atomics = 2;
    g.b.struct_size = offsetof(struct aothip_attn_bwd_params, atomics);
    is_int(aothip_attn_bwd_workspace(context, &g.b, NULL, &bytes), AOTHIP_OK, "an older struct");
    is_int(bytes == sums / 2, 0, "has no atomics");
    g.b.struct_size = sizeof(g.b);
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_E_ARGUMENT, "atomics is 2");
    contains(aothip_last_error(), "atomics is 2, not 0 or 1", "is refused");
    g.b.atomics = 0;
    g.b.reserved = 1;
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_E_ARGUMENT, "reserved is 1");
    setenv("AOTHIP_ATOMICS", "1", 1);
    restart();
    g.b.reserved = 0;
    is_int(aothip_attn_bwd_workspace(context, &g.b, NULL, &bytes), AOTHIP_OK, "AOTHIP_ATOMICS=1");
    is_int((intmax_t)bytes, (intmax_t)sums / 2, "asks for them, also of few rows");
    setenv("AOTHIP_ATOMICS", "0", 1);
    restart();
    g.b.atomics = 1;
    g.fwd.q.size[2] = g.fwd.o.size[2] = g.b.d_o.size[2] = g.b.dq.size[2] = 1000;
    g.b.workspace_size = sums;
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "AOTHIP_ATOMICS=0");
    LAUNCHED("the deterministic form again", "attn_bwd_delta_f16_d128_general",
             "attn_bwd_dkdv_f16_d128_general", "attn_bwd_dq_f16_d128_general");
    setenv("AOTHIP_ATOMICS", "yes", 1);
    aothip_close(context);
    is_int(aothip_open(directory, &context), AOTHIP_E_ARGUMENT, "AOTHIP_ATOMICS=yes");
    contains(aothip_last_error(), "AOTHIP_ATOMICS is \"yes\", not 0 or 1", "is refused");
    unsetenv("AOTHIP_ATOMICS");
}

static void test_bwd_edges(void)
{
    struct problem_gradients g;
    problem_gradients(&g);
    g.fwd.q.size[2] = g.fwd.o.size[2] = g.b.d_o.size[2] = g.b.dq.size[2] = 0;
    g.fwd.lse = NULL; /* as an empty tensor's address is */
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "no queries, hence no lse");
    LAUNCHED("dk and dv are zeros", "attn_bwd_dkdv_f16_d128_general");
    problem_gradients(&g);
    g.fwd.k.size[2] = g.fwd.v.size[2] = g.b.dk.size[2] = g.b.dv.size[2] = 0;
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "no keys");
    LAUNCHED("dq is zeros", "attn_bwd_delta_f16_d128_general", "attn_bwd_dq_f16_d128_general");
    problem_gradients(&g);
    struct aothip_tensor *all[] = {&g.fwd.q, &g.fwd.k, &g.fwd.v, &g.fwd.o,
                                   &g.b.d_o, &g.b.dq,  &g.b.dk,  &g.b.dv};
    for (int i = 0; i < 8; i++)
        all[i]->size[0] = 0;
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "no batch");
    is_int(fake_hip.launches, 0, "nothing is launched");
    problem_gradients(&g);
    for (int i = 0; i < 4; i++)
        g.b.d_o.stride[i] = 0;
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_OK, "d_o expanded from one number");
    is_int(fake_hip.log[1].args.bwd.do_channel, 0, "has channel stride 0");
    problem_gradients(&g);
    struct aothip_tensor *typed[] = {&g.fwd.q, &g.fwd.k, &g.fwd.v, &g.fwd.o,
                                     &g.b.d_o, &g.b.dq,  &g.b.dk,  &g.b.dv};
    for (int i = 0; i < 8; i++)
        typed[i]->dtype = AOTHIP_BF16;
    restart();
    is_int(aothip_attn_bwd(context, &g.b, NULL), AOTHIP_E_UNSUPPORTED, "no kernels of the type");
    contains(aothip_last_error(), "no kernel attn_bwd_delta for BF16, head dim 64 of gfx942 in ",
             "are named with type, head dim and GPU");
    is_int(fake_hip.launches, 0, "nothing is launched");
    is_int(aothip_attn_bwd(NULL, &g.b, NULL), AOTHIP_E_ARGUMENT, "context NULL");
    is_int(aothip_attn_bwd(context, NULL, NULL), AOTHIP_E_ARGUMENT, "params NULL");
    is_int(aothip_attn_bwd_workspace(context, &g.b, NULL, NULL), AOTHIP_E_ARGUMENT, "bytes NULL");
    is_int(aothip_attn_probs(NULL, &g.fwd, NULL), AOTHIP_E_ARGUMENT, "context NULL");
}

int main(void)
{
    struct make_image image = make_image("gfx942", NULL);
    make_directory(directory);
    make_image_write(&image, directory, "gfx942");
    free(image.bytes);
    test_bwd();
    test_bwd_shared();
    test_bwd_shared_causal();
    test_bwd_atomics();
    test_bwd_atomics_from();
    test_bwd_edges();
    aothip_close(context);
    remove_directory(directory);
    return tap_done();
}
