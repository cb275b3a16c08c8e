/*
 * NaN and infinity in k and v behind everything that masks a key: no row that does not see it may
 * notice. All kernels of the forward pass, on all emulated GPUs in all types. Gradients of other
 * sequences and key heads than that which has them may not notice either.
 */
#include "problem_maker.h"

#include <math.h>

enum { QUERIES = 4, KEYS = 40, KEY = 3, CHANNEL = 3 };
enum { SOME_QUERIES = 12, MANY_QUERIES = 24 }; /* rows of both heads that take other kernels */
enum { LONG_QUERIES = 64, LONG_KEYS = 320, LONG_KEY = 195 }; /* in a tile that fast steps take */

/* What keeps some rows from seeing the key. */
enum hiding { CAUSAL, WINDOW, KEEP, BIAS, PAGE, HIDINGS };
static const char *const hiding_names[] = {"causal", "window", "keep", "bias", "missing page"};

/* Which kernel computes it. */
enum way {
    WAY_PLAIN,
    WAY_ODD,
    WAY_SPLIT,
    WAY_SPLIT_SOME,
    WAY_SPLIT_MANY,
    WAY_SPLIT_WIDE,
    WAY_LONG,
    WAYS
};
static const char *const way_names[] = {"aligned",
                                        "odd",
                                        "split",
                                        "split, some rows",
                                        "split, many rows",
                                        "split, many rows of 192 channels",
                                        "long"};

static const struct device *gpu;
static struct aothip_context *images;
static int type;

/* Rows that hide `key`: all but the last; in head 1 a bias does in all but the first. */
static void hide(struct maker *m, enum hiding how, int key)
{
    const int rows = (int)m->p.q.size[2], keys = (int)m->p.k.size[2];
    switch (how) {
    case CAUSAL:
        m->p.mask = AOTHIP_MASK_CAUSAL_TOP_LEFT;
        break;
    case WINDOW: /* row 0 sees keys 0 to 2, row 3 sees 3 to 5 */
        m->p.mask = AOTHIP_MASK_WINDOW_TOP_LEFT;
        m->p.window_left = 0;
        m->p.window_right = 2;
        break;
    case KEEP:
        m->p.keep = maker_tensor(m, AOTHIP_BOOL, 1, 1, rows, keys);
        for (int i = 0; i < rows; i++)
            ((char *)m->p.keep.data)[i * m->p.keep.stride[2] + key] = i == rows - 1;
        break;
    case BIAS:
        m->p.bias = maker_tensor(m, type, 1, 2, rows, keys);
        for (int i = 0; i < 2 * rows; i++)
            ref_store(m->p.bias.data, i * m->p.bias.stride[2] + key, type,
                      i == rows - 1 || i == rows ? 0 : -INFINITY);
        break;
    default: /* what is read in its place is page 0, which holds the special key */
        maker_page(m, 1, 3, 16);
        ((int32_t *)m->p.block_table)[0] = 1;
        ((int32_t *)m->p.block_table)[1] = -1;
        ((int32_t *)m->p.block_table)[2] = 2;
    }
}

static bool stays_hidden(enum hiding how, enum way way, bool in_k, double special)
{
    const int dim = way == WAY_SPLIT_WIDE ? 192 : how % 2 == (way != WAY_SPLIT_SOME) ? 64 : 128;
    const int key = way == WAY_LONG ? LONG_KEY : KEY;
    const int rows = way == WAY_LONG         ? LONG_QUERIES
                     : way == WAY_SPLIT_SOME ? SOME_QUERIES
                     : way >= WAY_SPLIT_MANY ? MANY_QUERIES
                                             : QUERIES;
    struct maker m = {.odd = way == WAY_ODD};
    struct aothip_tensor *t = in_k ? &m.p.k : &m.p.v;
    char name[80];
    bool good;

    snprintf(name, sizeof(name), "%s, %s, %g in %c", hiding_names[how], way_names[way], special,
             in_k ? 'k' : 'v');
    maker_begin(&m, type,
                (struct maker_shape){1, 2, 1, rows, way == WAY_LONG ? LONG_KEYS : KEYS, dim, dim});
    hide(&m, how, key);
    m.p.splits = way >= WAY_SPLIT && way <= WAY_SPLIT_WIDE ? 2 : 1;
    ref_store(t->data, key * t->stride[2] + CHANNEL, type, special);
    good = maker_check(gpu, images, &m, name);
    maker_free(&m);
    return good;
}

/* The gradients of two runs; `dirty` has something in sequence and key head 1. */
enum { SEQUENCES = 2, HEADS = 4, HEADS_K = 2, ROWS = 18, ROWS_K = 37, DIM = 64, GRADIENTS = 3 };

struct gradients {
    struct maker m;
    struct aothip_tensor t[GRADIENTS]; /* dq, dk, dv */
};

/* Element `at` of the last row of sequence and key head 1; of q, k, v or d_o. */
static void spoil(struct aothip_tensor *t, double special, bool packed)
{
    const int64_t head = t->size[1] - 1, row = t->size[2] - 1;
    const int64_t entry = packed ? 0 : 1;
    ref_store(t->data, entry * t->stride[0] + head * t->stride[1] + row * t->stride[2] + CHANNEL,
              t->dtype, special);
}

/* Batched, or packed with sequence 1 right behind sequence 0; `which` is spoilt, or none. */
static bool run_backward(struct gradients *g, bool packed, bool odd, int which, double special)
{
    static const int queries[] = {0, ROWS / 2, ROWS}, keys[] = {0, ROWS_K / 2, ROWS_K};
    struct aothip_attn_bwd_params b = {.struct_size = sizeof(b), .fwd = &g->m.p};
    struct aothip_tensor *const inputs[] = {&g->m.p.q, &g->m.p.k, &g->m.p.v, &b.d_o};
    const int batch = packed ? 1 : SEQUENCES;
    struct status why = {0};

    maker_seed = 7;
    *g = (struct gradients){.m.odd = odd};
    maker_begin(&g->m, type, (struct maker_shape){batch, HEADS, HEADS_K, ROWS, ROWS_K, DIM, DIM});
    if (packed) {
        g->m.p.sequences = SEQUENCES;
        g->m.p.q_seqs =
            (struct aothip_seqs){.packed = 1, .cumulative = maker_ints(&g->m, queries, 3)};
        g->m.p.k_seqs = (struct aothip_seqs){.packed = 1, .cumulative = maker_ints(&g->m, keys, 3)};
        g->m.p.lse_layout = AOTHIP_LSE_HEADS;
    }
    g->m.p.mask = AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    b.d_o = maker_tensor(&g->m, type, batch, HEADS, ROWS, DIM);
    b.dq = g->t[0] = maker_blank(&g->m, type, batch, HEADS, ROWS, DIM);
    b.dk = g->t[1] = maker_blank(&g->m, type, batch, HEADS_K, ROWS_K, DIM);
    b.dv = g->t[2] = maker_blank(&g->m, type, batch, HEADS_K, ROWS_K, DIM);
    if (which >= 0)
        spoil(inputs[which], special, packed);
    if (attn_fwd(gpu, images, &g->m.p, &why) || attn_bwd(gpu, images, &b, &why)) {
        tap_diag("%s", why.text);
        return false;
    }
    return true;
}

/* Whether all but sequence and key head 1 have the same gradients, and these are finite. */
static bool same_elsewhere(const struct gradients *x, const struct gradients *y, bool packed)
{
    for (int i = 0; i < GRADIENTS; i++) {
        const struct aothip_tensor *t = &x->t[i];
        for (int64_t b = 0; b < t->size[0]; b++)
            for (int64_t h = 0; h < t->size[1]; h++)
                for (int64_t m = 0; m < t->size[2]; m++) {
                    const bool second = packed ? m >= t->size[2] / 2 : b == 1;
                    const int64_t at = b * t->stride[0] + h * t->stride[1] + m * t->stride[2];
                    const size_t size = maker_size(type), row = (size_t)at * size;
                    if (second && h * HEADS_K / t->size[1] == 1)
                        continue;
                    if (memcmp((char *)t->data + row, (char *)y->t[i].data + row, DIM * size) ||
                        !isfinite(ref_load(t->data, at, type))) {
                        tap_diag("d%c: sequence %d, head %d, row %d", "qkv"[i], (int)b, (int)h,
                                 (int)m);
                        return false;
                    }
                }
    }
    return true;
}

static void test_backward(void)
{
    int bad = 0;
    for (int way = 0; way < 2; way++) {
        const bool packed = way == 1, odd = packed;
        struct gradients clean, dirty;
        const bool ran = run_backward(&clean, packed, odd, -1, 0);
        for (int which = 0; which < 4; which++) {
            bool good = run_backward(&dirty, packed, odd, which, which % 2 ? -INFINITY : NAN);
            if (!ran || !good || !same_elsewhere(&clean, &dirty, packed)) {
                tap_diag("%s, %s, number %d spoilt", packed ? "packed" : "batched",
                         odd ? "odd" : "aligned", which);
                bad++;
            }
            maker_free(&dirty.m);
        }
        maker_free(&clean.m);
    }
    is_int(bad, 0, "gradients elsewhere notice nothing");
}

static void test(const struct device *device, struct aothip_context *context, int dtype)
{
    gpu = device;
    images = context;
    type = dtype;
    for (int how = 0; how < HIDINGS; how++) {
        int bad = 0;
        for (int way = 0; way < WAYS; way++) {
            if (way == WAY_LONG && how != KEEP && how != BIAS)
                continue;
            bad += !stays_hidden((enum hiding)how, (enum way)way, false, NAN);
            bad += !stays_hidden((enum hiding)how, (enum way)way, false, -INFINITY);
            bad += !stays_hidden((enum hiding)how, (enum way)way, true, NAN);
        }
        ok(bad == 0, "NaN and infinity behind: %s, %d wrong", hiding_names[how], bad);
    }
    test_backward();
}

int main(int argc, char **argv)
{
    return maker_main(test, argc > 1 ? argv[1] : "strict");
}
