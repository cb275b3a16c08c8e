/*
 * Decoding: few queries, many keys that several workgroups share (attn_split, attn_merge), on all
 * emulated GPUs in all types against the reference in double.
 */
#include "problem_maker.h"

#include <unistd.h>

enum { SEQUENCES = 2 };

static const struct device *gpu;
static struct aothip_context *images;
static int type;
static char counters[] = "/tmp/aothip-decode-XXXXXX";

static struct maker begin(struct maker_shape shape, int splits)
{
    struct maker m = {.count = 0};
    maker_begin(&m, type, shape);
    m.p.splits = splits;
    return m;
}

static void end(struct maker *m, const char *name)
{
    ok(maker_check(gpu, images, m, name), "%s", name);
    maker_free(m);
}

/* One query and a group of heads; rows that fill a tile, and more; splits that get no key. */
static void test_groups(void)
{
    static const struct {
        const char *name;
        struct maker_shape shape;
        int splits;
    } cases[] = {
        {"one row", {1, 1, 1, 1, 200, 128, 128}, 3},
        {"eight heads share keys", {SEQUENCES, 8, 1, 1, 150, 128, 128}, 2},
        {"16 rows of two groups", {1, 8, 2, 4, 100, 64, 64}, 4},
        {"21 rows, two tiles", {1, 3, 1, 7, 70, 64, 40}, 2},
        {"more splits than tiles", {1, 2, 1, 3, 20, 64, 64}, 9},
        {"more splits than lanes that weigh them", {1, 2, 1, 3, 1300, 64, 72}, 21},
        {"70 splits, some of which have keys", {1, 2, 1, 2, 700, 64, 64}, 70},
        {"no keys", {1, 2, 2, 1, 0, 64, 64}, 3},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct maker m = begin(cases[i].shape, cases[i].splits);
        end(&m, cases[i].name);
    }
}

/*
 * Every class of kernels; chunks that begin early; rows shorter than a chunk; odd strides; scores
 * so far apart that the softmax's shift moves.
 */
static void test_dims(void)
{
    static const int dims[][2] = {{64, 128},  {72, 1}, {3, 60}, {130, 256},
                                  {512, 129}, {64, 7}, {64, 9}, {128, 385}};
    for (unsigned i = 0; i < sizeof(dims) / sizeof(*dims); i++) {
        char name[64];
        struct maker m = {.odd = i % 2};
        snprintf(name, sizeof(name), "dims %d and %d", dims[i][0], dims[i][1]);
        maker_begin(&m, type, (struct maker_shape){1, 4, 2, 2, 75, dims[i][0], dims[i][1]});
        m.p.splits = 2;
        m.p.scale = 6;
        end(&m, name);
    }
}

/* Keys in pages, by index, of different lengths. */
static void test_caches(void)
{
    static const int lengths[SEQUENCES] = {83, 41}, which[SEQUENCES] = {3, 1};
    struct maker m = begin((struct maker_shape){SEQUENCES, 4, 2, 2, 1, 64, 64}, 3);
    maker_page(&m, SEQUENCES, 6, 16);
    m.p.k_seqs.lengths = maker_ints(&m, lengths, SEQUENCES);
    m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    end(&m, "pages of 16 rows");

    m = begin((struct maker_shape){4, 4, 2, 2, 90, 64, 64}, 2);
    m.p.sequences = SEQUENCES;
    m.p.q.size[0] = m.p.o.size[0] = SEQUENCES;
    m.p.batch_index = maker_ints(&m, which, SEQUENCES);
    m.p.k_seqs.lengths = maker_ints(&m, lengths, SEQUENCES);
    end(&m, "cache entries by index");
}

/*
 * More rows than 16 that share keys, for which there are larger tiles: all kinds of masks, keys in
 * pages, tiles that are not full, one that a wave's last block has no row of.
 */
static void test_many_rows(void)
{
    static const int lengths[SEQUENCES] = {150, 77};
    struct maker m = begin((struct maker_shape){1, 8, 2, 16, 300, 128, 128}, 3);
    end(&m, "64 rows of 128 channels");

    m = begin((struct maker_shape){SEQUENCES, 4, 1, 11, 150, 64, 64}, 2);
    m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    end(&m, "44 rows, causal");

    m = begin((struct maker_shape){1, 4, 1, 25, 200, 64, 64}, 3);
    m.p.mask = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT;
    m.p.window_left = 60;
    m.p.window_right = 3;
    end(&m, "100 rows, window");

    m = begin((struct maker_shape){SEQUENCES, 6, 2, 7, 1, 128, 96}, 2);
    maker_page(&m, SEQUENCES, 10, 16);
    m.p.k_seqs.lengths = maker_ints(&m, lengths, SEQUENCES);
    m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    m.p.sinks = maker_floats(&m, 6);
    end(&m, "21 rows, pages of 16 rows");

    for (int i = 0; i < 4; i++) {
        const int dim = i % 2 ? 128 : 64, seq_q = i < 2 ? 5 : 3;
        m = begin((struct maker_shape){1, 8, 1, seq_q, 1, dim, dim}, 2);
        maker_page(&m, 1, 15, 16);
        ((int32_t *)m.p.block_table)[3] = ((int32_t *)m.p.block_table)[13] = -1;
        end(&m, i < 2 ? "40 rows, missing pages" : "24 rows, missing pages");
    }

    m = begin((struct maker_shape){SEQUENCES, 4, 1, 9, 520, 128, 128}, 2);
    m.p.keep = maker_tensor(&m, AOTHIP_BOOL, SEQUENCES, 4, 1, 520);
    for (int i = 0; i < SEQUENCES; i++) /* the first head sees all */
        memset((char *)m.p.keep.data + i * m.p.keep.stride[0], 1, 520);
    end(&m, "36 rows, a boolean mask of each head");

    m = begin((struct maker_shape){1, 20, 1, 2, 90, 120, 128}, 4);
    m.p.scale = 6;
    end(&m, "40 rows, 120 channels, far scores");

    m = begin((struct maker_shape){1, 20, 1, 2, 200, 128, 104}, 3);
    end(&m, "40 rows, 104 channels of v");

    m = (struct maker){.odd = true};
    maker_begin(&m, type, (struct maker_shape){SEQUENCES, 6, 2, 9, 300, 100, 115});
    m.p.splits = 3;
    m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    end(&m, "27 rows at odd addresses, 100 and 115 channels");

    m = (struct maker){.odd = true};
    maker_begin(&m, type, (struct maker_shape){1, 8, 1, 9, 200, 64, 9});
    m.p.splits = 2;
    m.p.scale = -0.5F;
    end(&m, "72 rows at odd addresses, 64 and 9 channels, scale below 0");

    /* A split without a key of a row does not weigh, however low the score of its only key is. */
    m = begin((struct maker_shape){1, 2, 1, 40, 200, 64, 64}, 4);
    m.p.mask = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT;
    m.p.scale = 60;
    end(&m, "80 rows, one key each, far scores");
}

/* The same of more than 128 channels, which teams of waves have. */
static void test_many_long_rows(void)
{
    static const int lengths[SEQUENCES] = {150, 77};
    struct maker m = begin((struct maker_shape){SEQUENCES, 8, 2, 12, 150, 192, 128}, 2);
    m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    end(&m, "48 rows of 192 channels, 128 of v, causal");

    for (int i = 0; i < 4; i++) {
        const int dim = i % 2 ? 512 : 256, seq_q = i < 2 ? 9 : 5;
        m = begin((struct maker_shape){SEQUENCES, 4, 1, seq_q, 1, dim, dim}, 2);
        maker_page(&m, SEQUENCES, 10, 16);
        m.p.k_seqs.lengths = maker_ints(&m, lengths, SEQUENCES);
        ((int32_t *)m.p.block_table)[3] = -1;
        m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
        end(&m, i < 2 ? "36 long rows, a page is missing" : "20 long rows, a page is missing");
    }

    m = begin((struct maker_shape){1, 20, 1, 2, 90, 136, 256}, 2);
    m.p.scale = -6;
    end(&m, "40 rows of 136 channels, 256 of v, far scores, scale below 0");

    m = begin((struct maker_shape){1, 2, 1, 40, 200, 192, 192}, 4);
    m.p.mask = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT;
    m.p.scale = 60;
    end(&m, "80 rows of 192 channels, one key each, far scores");
}

/* What goes into scores of `rows` rows, each by itself and all together. With three heads a key
 * head, blocks of rows begin with any of them. */
static void test_scores(int rows, int keys, int dim)
{
    const int heads = dim > 128 ? 6 : 4;
    const struct maker_shape shape = {SEQUENCES, heads, 2, rows, keys, dim, dim};
    for (int i = 0; i < 8; i++) {
        static const char *const names[] = {"window",  "bias",  "boolean mask", "ALiBi",
                                            "softcap", "sinks", "dropout",      "all of these"};
        char name[64];
        struct maker m = begin(shape, 3);
        if (i == 0 || i == 7) {
            m.p.mask = AOTHIP_MASK_WINDOW_BOTTOM_RIGHT;
            m.p.window_left = 60;
            m.p.window_right = 0;
        }
        if (i == 1 || i == 7)
            m.p.bias = maker_tensor(&m, type, SEQUENCES, heads, rows, keys);
        if (i == 2 || i == 7)
            m.p.keep = maker_tensor(&m, AOTHIP_BOOL, 1, heads, rows, keys);
        if (i == 3 || i == 7)
            m.p.alibi_slopes = maker_floats(&m, heads);
        if (i == 4 || i == 7)
            m.p.softcap = 3;
        if (i == 5 || i == 7)
            m.p.sinks = maker_floats(&m, heads);
        if (i == 6 || i == 7) {
            m.p.dropout_p = 0.3F;
            m.p.dropout_seed = 5;
            m.p.dropout_offset = UINT64_C(0xfffffffffffffff0);
        }
        snprintf(name, sizeof(name), "%s, %d rows of %d channels", names[i], heads / 2 * rows, dim);
        end(&m, name);
    }
}

/* Two runs give the same bytes. */
static void test_determinism(void)
{
    struct maker m = begin((struct maker_shape){1, 4, 1, 3, 300, 64, 64}, 4);
    const size_t bytes = attn_span(&m.p.o) * maker_size(type);
    void *first = malloc(bytes);
    struct status why = {0};
    bool good = first && !attn_fwd(gpu, images, &m.p, &why);
    if (good) {
        memcpy(first, m.p.o.data, bytes);
        memset(m.p.o.data, REF_POISON, bytes);
        good = !attn_fwd(gpu, images, &m.p, &why) && !memcmp(first, m.p.o.data, bytes);
    }
    ok(good, "two runs give the same bytes%s%s", why.code ? ": " : "", why.text);
    free(first);
    maker_free(&m);
}

/* What the emulator has counted so far. */
static const char *counted(void)
{
    static char text[8 << 20];
    FILE *f = fopen(counters, "r");
    const size_t size = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    if (f)
        fclose(f);
    if (size == sizeof(text) - 1)
        tap_diag("%s: has more than is read of it", counters);
    text[size] = '\0';
    return text;
}

/* How often a kernel is named in it. */
static int launches_of(const char *kernel)
{
    int count = 0;

    for (const char *at = counted(); (at = strstr(at, kernel)); at++)
        count++;
    return count;
}

/* Many rows whose kernel of attn_fwd would leave most of the GPU idle. */
static void test_idle(void)
{
    struct maker m = {.count = 0};
    const int before = launches_of("attn_split");
    maker_begin(&m, type, (struct maker_shape){1, 2, 2, 20, 513, 136, 136});
    m.p.bias = maker_tensor(&m, type, 1, 2, 20, 513);
    m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    end(&m, "20 rows of 136 channels with a bias");
    ok(launches_of("attn_split") == before + 1, "keys are shared out");
}

/* The number behind the last `key` in it, after `kernel`. */
static long last_count(const char *kernel, const char *key)
{
    const char *at = counted(), *last = NULL;

    while ((at = strstr(at, kernel)))
        last = at++;
    at = last ? strstr(last, key) : NULL;
    return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

/*
 * All heads of a group together read each byte of K and V once: beside them there is only q, whose
 * rows that exist are loaded `q_loads` times.
 */
static void check_traffic(int heads, int seq_q, int dim, int tiles, int q_loads)
{
    enum { KEYS = 512 };
    struct maker m = begin((struct maker_shape){1, heads, 1, seq_q, KEYS, dim, dim}, 2);
    const long least = 2L * KEYS * dim * (long)maker_size(type) * tiles;
    const long most = least + (long)q_loads * heads * seq_q * dim * (long)maker_size(type);
    long loaded;

    end(&m, "traffic: right");
    loaded = last_count("attn_split", "\"bytes_loaded\": ");
    ok(loaded >= least && loaded <= most,
       "traffic of %d rows of %d channels: %ld bytes, of at least %ld and at most %ld",
       heads * seq_q, dim, loaded, least, most);
}

/* Which tile many long rows take: see rows_at_once() in lib/launch/plan.c. */
static void check_tile(int seq_q, int dim, const char *tile)
{
    const int before = launches_of(tile);
    struct maker m = begin((struct maker_shape){1, 4, 1, seq_q, 70, dim, dim}, 2);
    end(&m, "tile: right");
    ok(launches_of(tile) == before + 1, "%d rows of %d channels take %s", 4 * seq_q, dim, tile);
}

static void test_traffic(void)
{
    enum { SPLITS = 2, WAVES = 4 };
    const bool is_rdna = strncmp(gpu->properties.target, "gfx1", 4) == 0;
    const bool is_rdna4 = strncmp(gpu->properties.target, "gfx12", 5) == 0;
    const int many = type == AOTHIP_F32 ? 16 : 64; /* rows of the largest tile */
    const int lanes = is_rdna4 ? 1 : 2;            /* or waves, which have the same operand */
    check_traffic(8, 1, 128, 1, SPLITS * WAVES);
    check_traffic(4, 16, 128, 64 / many, SPLITS * (type == AOTHIP_F32 ? WAVES : lanes));
    if (type == AOTHIP_F32)
        return;
    check_traffic(4, 16, 192, 1, SPLITS * WAVES);
    check_tile(16, 256, is_rdna ? "_d256_t64x32" : "_d256_t16x32");
    check_tile(8, 256, is_rdna ? "_d256_t32x32" : "_d256_t16x32");
    check_tile(17, 256, is_rdna ? "_d256_t64x32" : "_d256_t64x64");
    check_tile(8, 192, is_rdna ? "_d256_t32x32" : "_d256_t64x64");
}

static void test(const struct device *device, struct aothip_context *context, int dtype)
{
    gpu = device;
    images = context;
    type = dtype;
    test_groups();
    test_dims();
    test_caches();
    test_many_rows();
    test_many_long_rows();
    test_idle();
    test_scores(3, 100, 64);
    test_scores(9, 300, 64);
    test_scores(9, 200, 128);
    test_scores(20, 290, 64);
    test_scores(20, 290, 128);
    test_scores(9, 200, 192);
    test_scores(20, 290, 256);
    test_determinism();
    test_traffic();
}

static void test_strict(const struct device *device, struct aothip_context *context, int dtype)
{
    gpu = device;
    images = context;
    type = dtype;
    test_caches();
    test_many_rows();
    test_many_long_rows();
}

int main(int argc, char **argv)
{
    const bool strict = argc > 1 && !strcmp(argv[1], "strict");
    const int file = mkstemp(counters);
    int result;

    if (file < 0) {
        printf("Bail out! %s: no such file can be made\n", counters);
        return 99;
    }
    close(file);
    setenv("AOTHIP_EMU_COUNTERS", counters, 1);
    result = maker_main(strict ? test_strict : test, strict ? "strict" : "plain");
    remove(counters);
    return result;
}
