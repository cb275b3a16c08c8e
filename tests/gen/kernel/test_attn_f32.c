/*
 * Attention on f32 with f32's accuracy (attn_fwd_f32), on all emulated GPUs against the reference
 * in double: every class of kernels, both sides of tile edges, every feature.
 */
#include "problem_maker.h"

#include <float.h>
#include <math.h>

static const struct device *gpu;
static struct aothip_context *images;

static void check(struct maker *m, const char *name)
{
    m->p.splits = 1;
    ok(maker_check(gpu, images, m, name), "%s", name);
    maker_free(m);
}

/* Queries beside 16, 32 and 64, keys beside 16, dims beside chunks of 4 and classes. */
static void test_shapes(void)
{
    static const int shapes[][4] = {{1, 1, 1, 1},      {15, 17, 64, 64},  {17, 16, 65, 3},
                                    {65, 33, 128, 96}, {33, 15, 130, 65}, {31, 20, 256, 256},
                                    {18, 31, 257, 2},  {3, 40, 512, 511}, {64, 0, 16, 16}};
    for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        const int *s = shapes[i];
        char name[64];
        struct maker m = {.odd = i % 2};
        snprintf(name, sizeof(name), "%d queries, %d keys, dims %d and %d", s[0], s[1], s[2], s[3]);
        maker_begin(&m, AOTHIP_F32, (struct maker_shape){1, 2, 1, s[0], s[1], s[2], s[3]});
        m.p.mask = (int)i % 3;
        check(&m, name);
    }
}

static void test_scores(void)
{
    for (int i = 0; i < 9; i++) {
        static const char *const names[] = {"window",  "bias",         "boolean mask",
                                            "ALiBi",   "soft-cap",     "sinks",
                                            "dropout", "all of these", "negative scale, base 2"};
        struct maker m = {.count = 0};
        maker_begin(&m, AOTHIP_F32, (struct maker_shape){2, 4, 2, 40, 50, 64, 64});
        if (i == 0 || i == 7) {
            m.p.mask = AOTHIP_MASK_WINDOW_TOP_LEFT;
            m.p.window_left = 12;
            m.p.window_right = -2;
        }
        if (i == 1 || i == 7)
            m.p.bias = maker_tensor(&m, AOTHIP_F32, 1, 4, 40, 50);
        if (i == 2 || i == 7)
            m.p.keep = maker_tensor(&m, AOTHIP_BOOL, 2, 1, 40, 50);
        if (i == 3 || i == 7)
            m.p.alibi_slopes = maker_floats(&m, 4);
        if (i == 4 || i == 7)
            m.p.softcap = 3;
        if (i == 5 || i == 7)
            m.p.sinks = maker_floats(&m, 4);
        if (i == 6 || i == 7) {
            m.p.dropout_p = 0.3F;
            m.p.dropout_seed = 11;
        }
        if (i == 8) {
            m.p.scale = -2;
            m.p.lse_base2 = 1;
        }
        check(&m, names[i]);
    }
}

/* A bias of -FLT_MAX on all keys changes nothing; one of -infinity blinds the row. */
static void test_extremes(void)
{
    struct maker m = {.count = 0};
    maker_begin(&m, AOTHIP_F32, (struct maker_shape){1, 1, 1, 20, 40, 64, 64});
    m.p.scale = 0;
    m.p.bias = maker_tensor(&m, AOTHIP_F32, 1, 1, 20, 40);
    for (int i = 0; i < 20 * 40; i++)
        ((float *)m.p.bias.data)[i] = i / 40 % 3 == 0 ? -FLT_MAX : i / 40 % 3 == 1 ? -INFINITY : 0;
    check(&m, "bias at the end of the range, whole rows of -infinity");
}

static void test_sequences(void)
{
    static const int starts[] = {0, 5, 5, 40}, keys[] = {0, 9, 30, 61}, lengths[] = {33, 0, 12};
    struct maker m = {.count = 0};
    maker_begin(&m, AOTHIP_F32, (struct maker_shape){1, 2, 2, 43, 65, 24, 24});
    m.p.sequences = 3;
    m.p.q_seqs = (struct aothip_seqs){.cumulative = maker_ints(&m, starts, 4), .packed = 1};
    m.p.k_seqs = (struct aothip_seqs){.cumulative = maker_ints(&m, keys, 4), .packed = 1};
    m.p.lse_layout = AOTHIP_LSE_HEADS;
    m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    check(&m, "packed sequences, one without queries");

    m = (struct maker){.count = 0};
    maker_begin(&m, AOTHIP_F32, (struct maker_shape){3, 2, 1, 20, 1, 64, 64});
    maker_page(&m, 3, 3, 16);
    m.p.k_seqs.lengths = maker_ints(&m, lengths, 3);
    check(&m, "pages, one sequence without keys");
}

static void test(const struct device *device, struct aothip_context *context, int dtype)
{
    if (dtype != AOTHIP_F32)
        return;
    gpu = device;
    images = context;
    test_shapes();
    test_scores();
    test_extremes();
    test_sequences();
}

int main(int argc, char **argv)
{
    return maker_main(test, argc > 1 ? argv[1] : "strict");
}
