/*
 * The forward kernels' pipelined walk over keys in pages: pages of all sizes beside the tiles, more
 * tiles than a wave knows ahead, pages that do not exist anywhere, caches by index; in strict
 * emulation.
 *
 *     test_attn_fwd_pages [GPU]
 */
#include "each_gpu.h"
#include "gpus.h"
#include "problem.h"
#include "problem_maker.h"

#include <math.h>

enum { SEQUENCES = 2 };

/* What is in the way. */
enum trouble { FINE, MISSING, NAN_IN_V, FAR_SCORES, TROUBLES };
static const char *const trouble_names[] = {"fine", "missing", "NaN in v", "far scores"};

static const int masks[] = {AOTHIP_MASK_NONE, AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT,
                            AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, AOTHIP_MASK_CAUSAL_TOP_LEFT};

static bool check_pages(const struct device *device, struct aothip_context *context, int n,
                        int type)
{
    static const int rows[] = {16, 32, 64, 128, 256};
    static const int dims[][2] = {{64, 64},  {128, 128}, {128, 72}, {256, 256},
                                  {64, 128}, {248, 200}, {512, 512}};
    const int page = rows[n % 5], columns = (800 + page - 1) / page;
    const int lengths[SEQUENCES] = {550 - n * 3 % 40, 16 + n * 37 % 400};
    const enum trouble trouble = (enum trouble)(n / 2 % TROUBLES);
    const int mask = masks[n / 3 % 4], *dim = dims[n / 2 % 7];
    struct maker m = {.count = 0};
    char name[100];
    bool good;

    maker_seed = 500 + (uint64_t)n;
    snprintf(name, sizeof(name), "number %d: pages of %d, dims %d and %d, mask %d, %s", n, page,
             dim[0], dim[1], mask, trouble_names[trouble]);
    maker_begin(&m, type, (struct maker_shape){SEQUENCES, 2, 1 + n % 2, 150, 1, dim[0], dim[1]});
    maker_page(&m, SEQUENCES, columns, page);
    m.p.k_seqs.lengths = maker_ints(&m, n % 7 ? lengths : (const int[]){0, 77}, SEQUENCES);
    m.p.mask = mask;
    m.p.window_left = 200;
    m.p.scale = (trouble == FAR_SCORES ? 1e7F : 0.3F) * (n % 4 ? 1 : -1);
    m.p.sinks = n % 6 == 5 ? maker_floats(&m, 2) : NULL;
    if (trouble == MISSING) {
        ((int32_t *)m.p.block_table)[(300 + 16 * n) / page % columns] = n % 4 ? -1 : INT32_MAX;
        ((int32_t *)m.p.block_table)[columns] = (int32_t)m.p.k.size[0];
    }
    if (trouble == NAN_IN_V)
        ref_store(m.p.v.data,
                  ((int32_t *)m.p.block_table)[0] * m.p.v.stride[0] + m.p.v.stride[2] * (n % 16) +
                      5,
                  type, NAN);
    good = maker_check(device, context, &m, name);
    maker_free(&m);
    return good;
}

/* Keys for more tiles than a wave has lanes, 64 or 32. */
static bool check_long(const struct device *device, struct aothip_context *context, int dim,
                       int page, bool missing)
{
    const int wide = strncmp(device->properties.target, "gfx9", 4) == 0;
    const int keys = (wide ? 64 * 8192 : 32 * 4096) / dim + 330;
    const int columns = (keys + page - 1) / page;
    struct maker m = {.count = 0};
    char name[100];
    bool good;

    maker_seed = 900 + (uint64_t)dim;
    snprintf(name, sizeof(name), "%d keys in pages of %d, dim %d%s", keys, page, dim,
             missing ? ", one missing" : "");
    maker_begin(&m, AOTHIP_F16, (struct maker_shape){1, 1, 1, 2, 1, dim, dim});
    maker_page(&m, 1, columns, page);
    m.p.k_seqs.lengths = maker_ints(&m, &keys, 1);
    if (missing)
        ((int32_t *)m.p.block_table)[columns - 3] = -1;
    good = maker_check(device, context, &m, name);
    maker_free(&m);
    return good;
}

/* A cache whose entries are named, each with a length. */
static bool check_entries(const struct device *device, struct aothip_context *context, int dim)
{
    static const int lengths[SEQUENCES] = {383, 241}, which[SEQUENCES] = {3, 1};
    struct maker m = {.count = 0};
    bool good;

    maker_seed = 950 + (uint64_t)dim;
    maker_begin(&m, AOTHIP_BF16, (struct maker_shape){4, 4, 2, 40, 390, dim, dim});
    m.p.sequences = SEQUENCES;
    m.p.q.size[0] = m.p.o.size[0] = SEQUENCES;
    m.p.batch_index = maker_ints(&m, which, SEQUENCES);
    m.p.k_seqs.lengths = maker_ints(&m, lengths, SEQUENCES);
    good = maker_check(device, context, &m, "entries by index");
    maker_free(&m);
    return good;
}

static int test_pages(const struct device *device, struct aothip_context *context, void *more)
{
    const char *target = device->properties.target;
    int bad = 0, ran = 0;

    (void)more;

    for (int n = device->number % 2; n < 30; n += 2 * tap_one_in(1, 2), ran++)
        bad += !check_pages(device, context, n, n % 2 ? AOTHIP_BF16 : AOTHIP_F16);
    ok(bad == 0, "%s: pages, %d wrong of %d", target, bad, ran);
    ok(check_long(device, context, 128, 64, false) && check_long(device, context, 64, 16, false) &&
           check_long(device, context, 128, 16, true) &&
           check_long(device, context, 256, 16, false),
       "%s: more tiles than are known ahead", target);
    ok(check_entries(device, context, 64) && check_entries(device, context, 128) &&
           check_entries(device, context, 256),
       "%s: entries by index", target);
    return 0;
}

int main(int argc, char **argv)
{
    setenv("AOTHIP_EMU_MODE", "strict", 0);
    const int result = each_gpu(argc > 1 ? argv[1] : gpus_asked(GPUS_REFERENCE),
                                TAP_SANITIZED ? 4 : 1, test_pages, NULL);
    return result ? result : tap_done();
}
