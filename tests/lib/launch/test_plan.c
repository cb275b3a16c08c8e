/* Calls of several launches over a fake HIP runtime: which, in which order, with which arguments.
 */
#include "aothip/aothip.h"

#include <stddef.h>

#include "plan_test.h"

typedef struct aothip_attn_fwd_params params;

/* One query a head, 8192 keys. */
static params decode(void)
{
    params p = problem_make();
    problem_decode(&p);
    return p;
}

static size_t workspace_of(const params *p)
{
    size_t bytes = 77;
    is_int(aothip_attn_fwd_workspace(context, p, NULL, &bytes), AOTHIP_OK, "workspace");
    return bytes;
}

static void test_split(void)
{
    const size_t rows = 2 * 8;
    params p = decode();
    restart();
    /* 304 workgroups wanted, 4 without splits; a part has at least 256 keys */
    is_int((intmax_t)workspace_of(&p), 4 * rows * 32 * 64 + 8 * rows * 32, "for 32 splits");
    is_int(fake_hip.launches, 0, "asking launches nothing");
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "without workspace");
    LAUNCHED("one launch", "attn_fwd_f16_d64_fast");
    p.workspace = at(0xa0000000);
    p.workspace_size = workspace_of(&p);
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "with workspace");
    LAUNCHED("split, then merge", "attn_split_f16_d128_general", "attn_merge_f16_d128_general");
    is_grid(&fake_hip.log[0], 32 * 2, 2, "split: 32 parts of 2 key heads");
    is_grid(&fake_hip.log[1], 1, 2, "merge: 8 rows, 16 threads each");
    is_int(fake_hip.log[1].args.split.merge_shift, 0, "one part a row");
    is_int(fake_hip.log[0].args.split.splits, 32, "splits");
    is_int((intmax_t)fake_hip.log[1].args.split.partial_o, 0xa0000000, "partial o");
    is_int((intmax_t)fake_hip.log[1].args.split.partial_sums, 0xa0000000 + 4 * rows * 32 * 64,
           "partial sums behind it");
    is_int((intmax_t)fake_hip.log[1].args.split.fwd.o, 0x40000000, "o");
    p.workspace_size--;
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "with a byte too little");
    is_int(fake_hip.log[0].args.split.splits, 31, "one part less");
    p.workspace_size = 4 * rows * 2 * 64 + 8 * rows * 2;
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "with room for two");
    is_int(fake_hip.log[0].args.split.splits, 2, "two");
    p.workspace_size--;
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "with room for one");
    LAUNCHED("one launch again", "attn_fwd_f16_d64_fast");
    p.workspace_size = 4 * rows * 31 * 64 + 8 * rows * 31;
    p.splits = 5;
    is_int((intmax_t)workspace_of(&p), (4 * rows * 5 * 64 + 8 * rows * 5 + 255) / 256 * 256,
           "for 5 splits as told");
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "five splits");
    is_grid(&fake_hip.log[0], 5 * 2, 2, "split: 5 parts of 2 key heads");
    p.workspace_size = 4 * rows * 4 * 64 + 8 * rows * 4;
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "with room for four");
    is_int(fake_hip.log[0].args.split.splits, 4, "four, though the sizes are rounded");
    p.splits = 1;
    is_int((intmax_t)workspace_of(&p), 0, "one split needs nothing");
    p = problem_make();
    is_int((intmax_t)workspace_of(&p), 0, "100 queries need none");
    p.k.size[2] = p.v.size[2] = 8192;
    is_int((intmax_t)workspace_of(&p), 2 * 8 * 100 * 32 * (4 * 64 + 8),
           "but 8,192 keys would have 16 tiles of 128 rows on 304 units: 32 parts of 256");
    p.k.size[2] = p.v.size[2] = 2047;
    is_int((intmax_t)workspace_of(&p), 0, "2,047 keys are too few to be sure without a table");
    p = decode();
    p.k.size[2] = p.v.size[2] = 511;
    is_int((intmax_t)workspace_of(&p), 0, "nor do 511 keys");
    p = decode();
    p.mask = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT;
    p.window_left = 1030;
    is_int((intmax_t)workspace_of(&p), 4 * rows * 4 * 64 + 8 * rows * 4,
           "4 splits of the keys that a window leaves");
    p = decode();
    p.q.size[0] = p.k.size[0] = p.v.size[0] = p.o.size[0] = 400;
    p.k.size[2] = p.v.size[2] = 600;
    is_int((intmax_t)workspace_of(&p), 400 * 8 * (4 * 2 * 64 + 8 * 2),
           "2 splits where enough workgroups would read keys for each head of a group");
    p.k.size[1] = p.v.size[1] = 8;
    is_int((intmax_t)workspace_of(&p), 0, "none where each head has its own keys");
    p = decode();
    p.q.size[0] = p.k.size[0] = p.v.size[0] = p.o.size[0] = 40;
    p.k.size[1] = p.v.size[1] = 8;
    is_int((intmax_t)workspace_of(&p), 40 * 8 * (4 * 9 * 64 + 8 * 9),
           "9 parts of 320 heads are five rounds of 608 workgroups, where whole ones are one");
    p.q.size[0] = p.k.size[0] = p.v.size[0] = p.o.size[0] = 64;
    is_int((intmax_t)workspace_of(&p), 0,
           "none of 512: 7 parts, in 12 rounds, save a seventh, and not more");
    p = decode();
    p.splits = 8;
    p.q.dtype = p.k.dtype = p.v.dtype = p.o.dtype = AOTHIP_BF16;
    is_int((intmax_t)workspace_of(&p), 0, "nor a type whose images cannot split");
    is_int(aothip_attn_fwd_workspace(context, &p, NULL, NULL), AOTHIP_E_ARGUMENT, "bytes NULL");
    is_int(aothip_attn_fwd_workspace(NULL, &p, NULL, &(size_t){0}), AOTHIP_E_ARGUMENT,
           "context NULL");
}

static params cached(void)
{
    params p = decode();
    p.k_new = problem_tensor(0x90000000, 2, 2, 3, 64);
    p.v_new = problem_tensor(0x91000000, 2, 2, 3, 64);
    p.k_seqs.lengths = at(0x61000000);
    p.splits = 1;
    return p;
}

/* Writes a table of what attn_fwd takes, 8 us and 1 us for each tile of 64 keys, and `rows`. */
static void write_costs(const char *path, const char *rows)
{
    FILE *f = fopen(path, "w");
    if (!f ||
        fprintf(f, "aothip-tune 1\ngpu gfx942\nattn_fwd_f16_d64_fast 8000000 1000000 1000000\n%s",
                rows) < 0 ||
        fclose(f))
        exit(99);
    restart();
}

static void write_image(void)
{
    struct make_image image = make_image("gfx942", NULL);
    make_image_write(&image, directory, "gfx942");
    free(image.bytes);
}

/* The image with another kernel of attn_split, with tiles of 16 rows. */
static void write_small_split(void)
{
    struct make_image image = make_image("gfx942", NULL);
    struct format_entry *entry = make_image_entry(&image, MAKE_IMAGE_ENTRIES - 1);
    entry->op = FORMAT_OP_ATTN_SPLIT;
    entry->tile_q = 16;
    make_image_rehash_index(&image);
    make_image_rehash_header(&image);
    make_image_write(&image, directory, "gfx942");
    free(image.bytes);
}

/* Many queries, where a table says what launches take. */
static void test_split_by_table(void)
{
    params p = problem_make();
    char path[512];
    snprintf(path, sizeof(path), "%s/amd-gfx942/flash/tune.txt", directory);
    unsetenv("AOTHIP_TUNE"); /* all tests are run with "none" */
    write_costs(path, "");
    p.k.size[2] = p.v.size[2] = 3584;
    is_int((intmax_t)workspace_of(&p), 2 * 8 * 100 * 14 * (4 * 64 + 8),
           "14 parts of 3,584 keys take 30 us for 64");
    p.k.size[2] = p.v.size[2] = 2048;
    is_int((intmax_t)workspace_of(&p), 0, "8 parts of 2,048 keys would take 30 us for 40");
    write_costs(path, "attn_split_f16_d128_general 12000000 1000000 1000000\n");
    is_int((intmax_t)workspace_of(&p), 2 * 8 * 100 * 16 * (4 * 64 + 8),
           "by its own row 16 parts take 15 us");
    p.k.size[2] = p.v.size[2] = 1024;
    is_int((intmax_t)workspace_of(&p), 2 * 8 * 100 * 8 * (4 * 64 + 8),
           "8 parts of 1,024 keys 14.5 us for 24");
    p.k.size[2] = p.v.size[2] = 512;
    is_int((intmax_t)workspace_of(&p), 0, "4 parts of 512 keys 14 us for 16");
    p.k.size[2] = p.v.size[2] = 8192;
    is_int((intmax_t)workspace_of(&p), 2 * 8 * 100 * 19 * (4 * 64 + 8),
           "19 parts, a workgroup a unit, take less time than 38");
    write_costs(path, "attn_split_f16_d128_general 12000000 9000000 1000000\n");
    p.k.size[2] = p.v.size[2] = 1024;
    is_int((intmax_t)workspace_of(&p), 0, "where steps take 9 us, 8 parts take 30 us for 24");
    p = decode();
    p.k.size[2] = p.v.size[2] = 2048;
    write_costs(path, "attn_split_f16_d128_general 30000000 1000000 1000000\n");
    is_int((intmax_t)workspace_of(&p), 2 * 8 * 8 * (4 * 64 + 8),
           "one query: 8 parts of 2,048 keys");
    p.k.size[2] = p.v.size[2] = 512;
    is_int((intmax_t)workspace_of(&p), 0, "2 parts of 512 keys would take 34 us for 16");
    write_costs(path, "attn_split_f16_d128_general 16000000 1000000 1000000\n");
    is_int((intmax_t)workspace_of(&p), 0, "nor would they for 20 us");
    write_costs(path, "attn_split_f16_d128_general 11000000 1000000 1000000\n");
    is_int((intmax_t)workspace_of(&p), 2 * 8 * 2 * (4 * 64 + 8), "but for 15");
    write_small_split();
    write_costs(path, "attn_split_f16_d128_general 16000000 1000000 1000000\n");
    is_int((intmax_t)workspace_of(&p), 2 * 8 * 2 * (4 * 64 + 8), "20 us, by a larger tile, may do");
    write_costs(path, "attn_split_f16_d128_general 16000000 1000000 1000000\n"
                      "attn_bwd_begin_f16_d128_general 16000000 1000000 1000000\n");
    is_int((intmax_t)workspace_of(&p), 0, "by its own they do not");
    write_costs(path, "attn_split_f16_d128_general 16000000 1000000 1000000\n"
                      "attn_bwd_begin_f16_d128_general 9000000 1000000 9000000\n");
    is_int((intmax_t)workspace_of(&p), 2 * 8 * 2 * (4 * 64 + 8),
           "memory, which attn_fwd needs, too, does not count");
    write_image();
    setenv("AOTHIP_TUNE", "none", 1);
    remove(path);
    restart();
}

static void test_append(void)
{
    params p = cached();
    const struct attn_append_args *append = &fake_hip.log[0].args.append;
    const struct attn_fwd_args *fwd = &fake_hip.log[1].args.fwd;
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "a growing cache");
    LAUNCHED("append, then attention", "attn_append_f16_d128_general", "attn_fwd_f16_d64_fast");
    is_grid(&fake_hip.log[0], 2 * 3, 2, "append: 3 rows of 2 heads");
    is_int(append->rows, 3, "rows");
    is_int((intmax_t)append->q_out, 0, "q stays");
    is_int(append->problem.k_seqs.extra, 3, "lengths without them");
    is_int(fwd->problem.k_seqs.extra, 3, "for both kernels");
    is_int((intmax_t)fwd->problem.k_seqs.lengths, 0x61000000, "lengths");
    p.rotary_cos = at(0x63000000);
    p.rotary_sin = at(0x64000000);
    p.rotary_stride = 32;
    p.rotary_dim = 64;
    p.rotary_rows = 9000;
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_ARGUMENT, "rotary without workspace");
    contains(aothip_last_error(),
             "workspace: rotary_cos needs 2048 bytes, but workspace_size is 0 and workspace NULL",
             "is told with the bytes");
    is_int(fake_hip.launches, 0, "and launches nothing");
    is_int((intmax_t)workspace_of(&p), 2048, "which aothip_attn_fwd_workspace() says too");
    p.workspace = at(0xa0000000);
    p.workspace_size = 2048;
    p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    p.rotary_interleaved = 1;
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "rotary with workspace");
    LAUNCHED("append, then attention", "attn_append_f16_d128_general", "attn_fwd_f16_d64_fast");
    is_grid(&fake_hip.log[0], 8 + 2 * 3, 2, "append: q's rows too");
    is_int((intmax_t)append->q_out, 0xa0000000, "q goes to the workspace");
    is_int((intmax_t)append->problem.q, 0x10000000, "from q");
    is_int((intmax_t)fwd->problem.q, 0xa0000000, "and is read there");
    is_int(fwd->problem.q_stride.batch, 8 * 64, "packed");
    is_int(append->problem.flags & (KERNARG_ROTARY_INTERLEAVED | KERNARG_ROTARY_CONSTANT_Q),
           KERNARG_ROTARY_INTERLEAVED, "interleaved, positions go on");
    is_int(fwd->problem.flags & KERNARG_LAST_FROM_END, KERNARG_LAST_FROM_END,
           "the mask's edge is found on the GPU");
    p.mask = AOTHIP_MASK_NONE;
    restart();
    aothip_attn_fwd(context, &p, NULL);
    is_int(append->problem.flags & KERNARG_ROTARY_CONSTANT_Q, KERNARG_ROTARY_CONSTANT_Q,
           "without a mask q's position is constant");
    p = cached();
    p.k_new.size[2] = p.v_new.size[2] = 0;
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "nothing to append");
    LAUNCHED("attention alone", "attn_fwd_f16_d64_fast");
}

static void test_probs(void)
{
    params p = problem_make();
    const struct attn_probs_args *probs = &fake_hip.log[1].args.probs;
    p.dropout_p = 0.5f;
    p.probs = problem_tensor(0x80000000, 2, 8, 100, 300);
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "probs");
    LAUNCHED("attention, then probs", "attn_fwd_f16_d64_general", "attn_probs_f16_d128_general");
    is_grid(&fake_hip.log[1], 8 * 100 * 2, 2, "probs: 300 elements a row take 2 workgroups");
    is_int(probs->probs_k, 300, "300 keys");
    is_int(probs->probs_dtype, AOTHIP_F16, "in F16");
    is_int(probs->probs.stride[2], 300, "with their strides");
    is_int(probs->problem.dropout_thresholds, 0xffffffff, "half are kept");
    is_int(probs->problem.flags & KERNARG_PROBS_DROPPED, 0, "as signs");
    p.probs_dropped = 1;
    p.probs.size[2] = 7;
    restart();
    is_int(aothip_attn_probs(context, &p, NULL), AOTHIP_OK, "probs alone");
    LAUNCHED("one launch", "attn_probs_f16_d128_general");
    is_grid(&fake_hip.log[0], 8 * 7 * 2, 2, "of 7 rows");
    is_int(fake_hip.log[0].args.probs.problem.flags & KERNARG_PROBS_DROPPED, KERNARG_PROBS_DROPPED,
           "as probabilities");
    p.probs.data = NULL;
    is_int(aothip_attn_probs(context, &p, NULL), AOTHIP_E_ARGUMENT, "no probs");
    contains(aothip_last_error(), "probs: data is NULL", "is told");
    p = problem_make();
    p.probs = problem_tensor(0x80000000, 2, 8, 100, 0);
    restart();
    is_int(aothip_attn_probs(context, &p, NULL), AOTHIP_OK, "probs of no keys");
    is_int(fake_hip.launches, 0, "launch nothing");
}

static void test_merge(void)
{
    const struct attn_merge_part_args *part = &fake_hip.log[0].args.part;
    struct aothip_attn_merge_params p = problem_merge();
    restart();
    is_int(aothip_attn_merge(context, &p, NULL), AOTHIP_OK, "merge");
    LAUNCHED("one launch", "attn_merge_part_f16_d128_general");
    is_grid(&fake_hip.log[0], 8, 2, "a tile of 8 heads");
    is_int((intmax_t)part->o, 0x40000000, "o");
    is_int((intmax_t)part->part_o, 0xc0000000, "part_o");
    is_int((intmax_t)part->lse, 0x50000000, "lse");
    is_int((intmax_t)part->part_lse, 0xc1000000, "part_lse");
    is_int(part->lse_stride.head, 100, "a head of lse has 100 rows");
    is_int(part->flags, 0, "natural logarithms, into F16");
    p.lse_base2 = 1;
    p.o.dtype = AOTHIP_F32;
    restart();
    is_int(aothip_attn_merge(context, &p, NULL), AOTHIP_OK, "merge into F32, to base 2");
    is_int(part->flags, KERNARG_PART_O_F32 | KERNARG_PART_BASE2, "says so");
    p.part_o.dtype = AOTHIP_BF16;
    restart();
    is_int(aothip_attn_merge(context, &p, NULL), AOTHIP_E_UNSUPPORTED, "no kernel of the type");
    contains(aothip_last_error(), "o: no kernel attn_merge_part for BF16, head dim 64 of gfx942",
             "is named");
    p = problem_merge();
    p.o.size[2] = p.part_o.size[2] = p.lse.size[2] = p.part_lse.size[2] = 0;
    restart();
    is_int(aothip_attn_merge(context, &p, NULL), AOTHIP_OK, "no rows");
    is_int(fake_hip.launches, 0, "launch nothing");
    is_int(aothip_attn_merge(NULL, &p, NULL), AOTHIP_E_ARGUMENT, "context NULL");
    is_int(aothip_attn_merge(context, NULL, NULL), AOTHIP_E_ARGUMENT, "params NULL");
}

/* Each kernel of a call in turn cannot be loaded: then none is launched. */
static void test_plan_first(void)
{
    struct make_image image = make_image("gfx942", NULL);
    params p = cached();
    p.probs = problem_tensor(0x80000000, 2, 8, 1, 300);
    p.splits = 4;
    p.workspace = at(0xa0000000);
    p.workspace_size = 1 << 20;
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "four kernels");
    LAUNCHED("in order", "attn_append_f16_d128_general", "attn_split_f16_d128_general",
             "attn_merge_f16_d128_general", "attn_probs_f16_d128_general");
    for (int i = MAKE_IMAGE_FWD; i < MAKE_IMAGE_FWD + 4; i++) {
        uint8_t *byte = &image.bytes[make_image_entry(&image, i)->frame_offset + 20];
        *byte ^= 16;
        make_image_write(&image, directory, "gfx942");
        restart();
        is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_CHECKSUM, "one of them damaged");
        contains(aothip_last_error(), make_image_entry(&image, i)->symbol, "is named");
        is_int(fake_hip.launches, 0, "none is launched");
        *byte ^= 16;
    }
    make_image_write(&image, directory, "gfx942");
    free(image.bytes);
}

/* The image with entry `index` for FP8: as a cache, or of that type. */
static void write_fp8(int index, uint32_t feature, int dtype)
{
    struct make_image image = make_image("gfx942", NULL);
    struct format_entry *entry = make_image_entry(&image, index);
    entry->features |= feature;
    entry->dtype = (uint8_t)dtype;
    make_image_rehash_index(&image);
    make_image_rehash_header(&image);
    make_image_write(&image, directory, "gfx942");
    free(image.bytes);
}

static void test_fp8(void)
{
    enum { GENERAL_F16 = 3, SPLIT = MAKE_IMAGE_FWD };
    params p = decode();
    p.k.dtype = p.v.dtype = AOTHIP_FP8_E5M2;
    p.v_scale = (struct aothip_scale){at(0x65000000), {2, 1}};
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_UNSUPPORTED, "no kernel for the cache");
    contains(aothip_last_error(), "no kernel attn_fwd for F16 with k and v of FP8, head dim 64",
             "and named");
    p.q.dtype = AOTHIP_FP8_E5M2;
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_UNSUPPORTED, "no kernel of the type");
    contains(aothip_last_error(), "q: gfx942 has no matrix instructions for FP8_E5M2", "nor any");
    p.q.dtype = p.k.dtype = p.v.dtype = AOTHIP_FP8_E5M2_FNUZ;
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_UNSUPPORTED, "no kernel of its own type");
    contains(aothip_last_error(), "no kernel attn_fwd for FP8_E5M2_FNUZ, head dim 64 of gfx942",
             "and named");
    p.k.dtype = p.v.dtype = AOTHIP_FP8_E5M2;
    p.q.dtype = AOTHIP_F16;
    write_fp8(GENERAL_F16, FORMAT_FEATURE_FP8_CACHE, AOTHIP_F16);
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "a kernel for the cache");
    LAUNCHED("is launched", "attn_fwd_f16_d128_general");
    is_int((intmax_t)fake_hip.log[0].args.fwd_fp8.fp8.v.data, 0x65000000, "with the scale");
    is_int(fake_hip.log[0].args.fwd_fp8.fp8.v.batch, 2, "its stride");
    is_int(fake_hip.log[0].args.fwd_fp8.fp8.dtype, AOTHIP_FP8_E5M2, "and the type");
    write_fp8(SPLIT, FORMAT_FEATURE_FP8_CACHE, AOTHIP_F16);
    restart();
    p.splits = 4;
    p.workspace = at(0xa0000000);
    p.workspace_size = workspace_of(&p);
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "split keys");
    LAUNCHED("two launches", "attn_split_f16_d128_general", "attn_merge_f16_d128_general");
    is_int((intmax_t)fake_hip.log[0].args.split_fp8.fp8.v.data, 0x65000000, "with the scale");
    write_fp8(0, FORMAT_FEATURE_FP8_CACHE, AOTHIP_FP8_E5M2);
    p.q.dtype = AOTHIP_FP8_E5M2;
    p.splits = 1;
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_E_UNSUPPORTED, "FP8 with a cache is nothing");
    write_fp8(0, 0, AOTHIP_FP8_E5M2);
    restart();
    is_int(aothip_attn_fwd(context, &p, NULL), AOTHIP_OK, "a kernel of the type");
    is_int(fake_hip.log[0].args.fwd_fp8.fp8.o_dtype, AOTHIP_F16, "writes o's");
}

int main(void)
{
    struct make_image image = make_image("gfx942", NULL);
    make_directory(directory);
    make_image_write(&image, directory, "gfx942");
    free(image.bytes);
    test_split();
    test_split_by_table();
    test_append();
    test_probs();
    test_merge();
    test_plan_first();
    test_fp8();
    aothip_close(context);
    remove_directory(directory);
    return tap_done();
}
