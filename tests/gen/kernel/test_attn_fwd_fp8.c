/*
 * Attention of q, k and v of one FP8 type by FP8 matrix instructions (attn_fwd_fp8), on the GPUs
 * that have them, in strict emulation: both types and both types of o, shapes on both sides of the
 * tiles' edges, masks, sequences of different length, pages, scales of every sign, codes that are
 * not finite, scores that need the wide form of the softmax; and the refusal elsewhere.
 *
 *     test_attn_fwd_fp8 [GPU]
 */
#include "each_gpu.h"
#include "gpus.h"
#include "problem_maker.h"

#include <math.h>

enum { SEQUENCES = 2 };

/* Random codes, of which numbers are as large as values of a normal distribution are. */
static void fill(struct aothip_tensor *t)
{
    const int64_t count = t->size[0] * t->stride[0];

    for (int64_t i = 0; i < count; i++) {
        double x = 0;
        for (int j = 0; j < 4; j++)
            x += maker_uniform();
        ref_store(t->data, i, t->dtype, x * 0.87);
    }
}

static struct aothip_scale scale_of(struct maker *m, int n, int heads)
{
    struct aothip_scale scale = {0};

    if (n % 4 == 3)
        return scale;
    scale.data = maker_floats(m, SEQUENCES * heads);
    for (int i = 0; i < SEQUENCES * heads; i++)
        ((float *)(uintptr_t)scale.data)[i] += i % 2 ? 1.5F : -1.5F;
    scale.stride[0] = n % 4 == 1 ? 0 : heads;
    scale.stride[1] = n % 4 == 2 ? 0 : 1;
    return scale;
}

/* q, k, v and o of the maker's problem in FP8; the scales are those of number n. */
static void begin(struct maker *m, int type, int n, struct maker_shape shape)
{
    maker_begin(m, type, shape);
    fill(&m->p.q);
    fill(&m->p.k);
    fill(&m->p.v);
    m->p.o = maker_blank(m, n & 1 ? AOTHIP_BF16 : AOTHIP_F16, shape.batch, shape.heads_q,
                         shape.seq_q, shape.dim_v);
    m->p.q_scale = scale_of(m, n, shape.heads_k);
    m->p.k_scale = scale_of(m, n + 1, shape.heads_k);
    m->p.v_scale = scale_of(m, n + 2, shape.heads_k);
    m->p.scale = 0.1F;
}

static bool check_shape(const struct device *device, struct aothip_context *context, int type,
                        int n)
{
    static const int lengths[] = {1, 15, 31, 33, 63, 64, 65, 127, 128, 129, 200, 257, 300};
    static const int dims[][2] = {{64, 64}, {128, 128}, {16, 48}, {80, 112}, {128, 32}};
    static const int masks[] = {AOTHIP_MASK_NONE, AOTHIP_MASK_CAUSAL_TOP_LEFT,
                                AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT, AOTHIP_MASK_WINDOW_BOTTOM_RIGHT};
    const int seq_q = lengths[n * 5 % 13], seq_k = lengths[n * 7 % 13], *dim = dims[n % 5];
    const int uneven[SEQUENCES] = {seq_k, seq_k / 2};
    struct maker m = {.count = 0};
    char name[100];
    bool good;

    maker_seed = 1000 + (uint64_t)n;
    snprintf(name, sizeof(name), "number %d: %dx%d, dims %d and %d, type %d", n, seq_q, seq_k,
             dim[0], dim[1], type);
    begin(&m, type, n,
          (struct maker_shape){SEQUENCES, 4, n % 3 ? 2 : 4, seq_q, seq_k, dim[0], dim[1]});
    m.p.mask = masks[n / 2 % 4];
    m.p.window_left = 70;
    m.p.window_right = 9;
    if (n % 3 == 1)
        m.p.k_seqs.lengths = maker_ints(&m, uneven, SEQUENCES);
    if (n % 6 == 5)
        m.p.sinks = maker_floats(&m, 4);
    if (n % 7 == 6)
        m.p.scale = n % 2 ? 3e6F : -40;
    good = maker_check(device, context, &m, name);
    maker_free(&m);
    return good;
}

/* V with every code there is: NaN and infinity only where a query sees them. */
static bool check_codes(const struct device *device, struct aothip_context *context, int type,
                        int mask)
{
    struct maker m = {.count = 0};
    bool good;

    maker_seed = 2000 + (uint64_t)mask;
    begin(&m, type, mask, (struct maker_shape){1, 1, 1, 300, 300, 64, 128});
    for (int i = 0; i < 256; i++) /* one of them a row, most of which not all queries see */
        ((uint8_t *)m.p.v.data)[(i + 40) * m.p.v.stride[2] + i % 128] = (uint8_t)i;
    m.p.mask = mask;
    m.p.window_left = 100;
    good = maker_check(device, context, &m, "all codes");
    maker_free(&m);
    return good;
}

static bool check_pages(const struct device *device, struct aothip_context *context, int type,
                        int n)
{
    const int page = 16 << n % 4, columns = (400 + page - 1) / page, dim = n % 2 ? 64 : 128;
    const int lengths[SEQUENCES] = {391 - 11 * n, 70 + 31 * n};
    struct maker m = {.count = 0};
    bool good;

    maker_seed = 3000 + (uint64_t)n;
    begin(&m, type, n, (struct maker_shape){SEQUENCES, 4, 2, n % 3 ? 1 : 140, 1, dim, dim});
    maker_page(&m, SEQUENCES, columns, page);
    fill(&m.p.k);
    fill(&m.p.v);
    m.p.k_seqs.lengths = maker_ints(&m, lengths, SEQUENCES);
    m.p.mask = n % 2 ? AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT : AOTHIP_MASK_NONE;
    if (n == 3)
        ((int32_t *)m.p.block_table)[2] = -1;
    good = maker_check(device, context, &m, "pages");
    maker_free(&m);
    return good;
}

/* A GPU without the type says so, with both names. */
static void check_refusal(const struct device *device, struct aothip_context *context, int type)
{
    struct maker m = {.count = 0};
    struct status why = {0};

    begin(&m, type, 0, (struct maker_shape){1, 1, 1, 8, 8, 64, 64});
    ok(attn_fwd(device, context, &m.p, &why) == AOTHIP_E_UNSUPPORTED && strstr(why.text, "gfx"),
       "%s: type %d: %s", device->properties.target, type, why.text);
    maker_free(&m);
}

static int test_fp8(const struct device *device, struct aothip_context *context, void *more)
{
    const char *target = device->properties.target;
    const int first = gpus_fp8(target), ran = TAP_SANITIZED ? 6 : 26;
    int bad = 0;

    (void)more;
    for (int type = AOTHIP_FP8_E4M3; type <= AOTHIP_FP8_E5M2_FNUZ; type++)
        if (!first || (type != first && type != first + 1))
            check_refusal(device, context, type);
    if (!first)
        return 0;
    for (int n = 0; n < ran; n++)
        bad += !check_shape(device, context, first + n % 2, n);
    ok(bad == 0, "%s: shapes, %d wrong of %d", target, bad, ran);
    ok(check_codes(device, context, first, AOTHIP_MASK_CAUSAL_TOP_LEFT) &&
           check_codes(device, context, first + 1, AOTHIP_MASK_WINDOW_TOP_LEFT),
       "%s: every code of v", target);
    for (int n = bad = 0; n < 6; n++)
        bad += !check_pages(device, context, first + n / 3, n);
    ok(bad == 0, "%s: pages, %d wrong of 6", target, bad);
    return 0;
}

int main(int argc, char **argv)
{
    setenv("AOTHIP_EMU_MODE", "strict", 0);
    const int result = each_gpu(argc > 1 ? argv[1] : gpus_asked(GPUS_EVERY), 1, test_fp8, NULL);
    return result ? result : tap_done();
}
