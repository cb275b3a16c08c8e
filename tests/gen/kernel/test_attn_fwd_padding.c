/*
 * The forward kernels for a boolean mask that is the same for all queries: tiles hidden whole, kept
 * whole and in parts, anywhere in the walk, beside causal masks, windows, sequences of any length
 * and heads that share keys; nothing kept at all; more keys than a wave knows ahead; in strict
 * emulation.
 *
 *     test_attn_fwd_padding [GPU]
 */
#include "problem_maker.h"

#include <math.h>

enum { SEQUENCES = 2, KEYS = 650 };

/* Which keys the mask keeps. */
enum kept { END, BEGIN, MIDDLE, HOLE, ISLANDS, HOLES, LAST, EVERY, NONE_KEPT, KEPT };
static const char *const kept_names[] = {"an end",         "a beginning", "a middle",
                                         "all but a hole", "islands",     "all but holes",
                                         "the last one",   "all",         "none"};

static bool is_kept(enum kept kept, int key, int keys, int shift)
{
    switch (kept) {
    case END:
        return key >= 130 + shift;
    case BEGIN:
        return key < keys - 140 - shift;
    case MIDDLE:
        return key >= 256 + shift && key < 400 + shift;
    case HOLE:
        return key < 128 || key >= 450 - shift;
    case ISLANDS:
        return key % 300 / 8 == shift;
    case HOLES:
        return key % 97 != shift;
    case LAST:
        return key == keys - 1;
    case EVERY:
        return true;
    default:
        return false;
    }
}

/* What else is in the way. */
enum trouble { FINE, NAN_IN_V, FAR_SCORES, INFINITE_BESIDE, TROUBLES };
static const char *const trouble_names[] = {"fine", "NaN in v", "far scores", "hidden infinities"};

/* A mask for each sequence and, where `heads` is not 1, each head; `lead` bytes off any alignment.
 */
static void mask_keys(struct maker *m, enum kept kept, int heads, int keys, int lead, bool expanded)
{
    const int pitch = keys + lead;
    struct aothip_tensor *t = &m->p.keep;
    char *data = maker_memory(m, (size_t)(SEQUENCES * heads * pitch + lead));

    *t = (struct aothip_tensor){.data = data + lead,
                                .dtype = AOTHIP_BOOL,
                                .size = {m->p.q.size[0], heads, 1, keys},
                                .stride = {heads * pitch, pitch, 0, 1}};
    if (expanded)
        t->size[2] = m->p.q.size[2];
    for (int i = 0; i < (int)t->size[0] * heads; i++)
        for (int key = 0; key < keys; key++)
            data[lead + i * pitch + key] =
                is_kept(kept, key, keys, i * 17) ? (char)(1 << key % 7) : 0;
}

/* What is hidden must not matter. */
static void spoil_hidden(struct maker *m, int type, double value)
{
    const struct aothip_tensor *keep = &m->p.keep;

    for (int64_t b = 0; b < m->p.k.size[0]; b++)
        for (int64_t n = 0; n < keep->size[3]; n++) {
            bool any = false;
            for (int64_t h = 0; h < keep->size[1]; h++)
                any |=
                    ((const char *)keep->data)[b * keep->stride[0] + h * keep->stride[1] + n] != 0;
            if (!any) {
                ref_store(m->p.k.data, b * m->p.k.stride[0] + n * m->p.k.stride[2], type, value);
                ref_store(m->p.v.data, b * m->p.v.stride[0] + n * m->p.v.stride[2] + 9, type,
                          value);
            }
        }
}

static const int masks[] = {AOTHIP_MASK_NONE, AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT,
                            AOTHIP_MASK_WINDOW_BOTTOM_RIGHT, AOTHIP_MASK_CAUSAL_TOP_LEFT};

static bool check_mask(const struct device *device, struct aothip_context *context, int n, int type)
{
    static const int dims[][2] = {{64, 64}, {128, 128}, {128, 72}, {256, 248}};
    const int lengths[SEQUENCES] = {KEYS - n * 29 % 300, 17 + n * 37 % 400};
    const enum kept kept = (enum kept)(n % KEPT);
    const enum trouble trouble = (enum trouble)(n / 3 % TROUBLES);
    const int mask = masks[n / 2 % 4], *dim = dims[n / KEPT % 4];
    struct maker m = {.count = 0};
    char name[120];
    bool good;

    maker_seed = 1500 + (uint64_t)n;
    snprintf(name, sizeof(name), "number %d: %s kept, dims %d and %d, mask %d, %s", n,
             kept_names[kept], dim[0], dim[1], mask, trouble_names[trouble]);
    maker_begin(&m, type, (struct maker_shape){SEQUENCES, 2, 1 + n % 2, 150, KEYS, dim[0], dim[1]});
    mask_keys(&m, kept, n % 4 ? 1 : 2, n % 5 == 4 ? KEYS - 41 : KEYS, n % 3, n % 2);
    if (n % 5 == 2 || n % 5 == 4)
        m.p.k_seqs.lengths = maker_ints(&m, lengths, SEQUENCES);
    if (n % 5 == 4) /* the mask has room for fewer than a length says */
        m.p.k_seqs.max = KEYS - 41;
    m.p.mask = mask;
    m.p.window_left = 200;
    m.p.scale = (trouble == FAR_SCORES ? 1e7F : 0.3F) * (n % 4 ? 1 : -1);
    m.p.sinks = n % 6 == 5 ? maker_floats(&m, 2) : NULL;
    if (trouble == NAN_IN_V)
        ref_store(m.p.v.data, m.p.v.stride[2] * (300 + n) + 5, type, NAN);
    if (trouble == INFINITE_BESIDE || trouble == NAN_IN_V)
        spoil_hidden(&m, type, INFINITY);
    good = maker_check(device, context, &m, name);
    maker_free(&m);
    return good;
}

/* More keys than a wave knows ahead, 2,048 or 1,024, once and again. */
static bool check_long(const struct device *device, struct aothip_context *context, int dim,
                       enum kept kept)
{
    const int keys = strncmp(device->properties.target, "gfx9", 4) == 0 ? 4500 : 2300;
    struct maker m = {.count = 0};
    char name[80];
    bool good;

    maker_seed = 1900 + (uint64_t)dim;
    snprintf(name, sizeof(name), "%d keys, %s kept, dim %d", keys, kept_names[kept], dim);
    maker_begin(&m, AOTHIP_F16, (struct maker_shape){1, 1, 1, 40, keys, dim, dim});
    mask_keys(&m, kept, 1, keys, 1, false);
    good = maker_check(device, context, &m, name);
    maker_free(&m);
    return good;
}

/* The fewest keys that the kernels take, and fewer than a tile has. */
static bool check_short(const struct device *device, struct aothip_context *context, int keys)
{
    struct maker m = {.count = 0};
    char name[80];
    bool good;

    maker_seed = 2000 + (uint64_t)keys;
    snprintf(name, sizeof(name), "%d keys", keys);
    maker_begin(&m, AOTHIP_BF16, (struct maker_shape){SEQUENCES, 2, 2, 130, keys, 64, 64});
    mask_keys(&m, HOLES, 2, keys, 0, false);
    good = maker_check(device, context, &m, name);
    maker_free(&m);
    return good;
}

static int test_padding(const struct device *device, struct aothip_context *context, void *more)
{
    const char *target = device->properties.target;
    int bad = 0, ran = 0;

    (void)more;

    for (int n = device->number % 2; n < 4 * KEPT; n += 2 * tap_one_in(1, 2), ran++)
        bad += !check_mask(device, context, n, n / 2 % 2 ? AOTHIP_BF16 : AOTHIP_F16);
    ok(bad == 0, "%s: masks that are the same for all queries, %d wrong of %d", target, bad, ran);
    ok(check_long(device, context, 64, EVERY) && check_long(device, context, 128, LAST) &&
           check_long(device, context, 128, ISLANDS) && check_long(device, context, 64, MIDDLE) &&
           check_long(device, context, 256, ISLANDS),
       "%s: more keys than are known ahead", target);
    ok(check_short(device, context, 15) && check_short(device, context, 16) &&
           check_short(device, context, 17) && check_short(device, context, 45),
       "%s: few keys", target);
    return 0;
}

int main(int argc, char **argv)
{
    setenv("AOTHIP_EMU_MODE", "strict", 0);
    const int result = each_gpu(argc > 1 ? argv[1] : gpus_asked(GPUS_EVERY), TAP_SANITIZED ? 4 : 1,
                                test_padding, NULL);
    return result ? result : tap_done();
}
