/* Draws random problems: most have few features, some have many, sizes lie on edges of tiles. */
#include "draft.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum { LENGTH_MAX = 300 };
static const int lengths[] = {0,   1,   2,   3,   4,   5,   7,   8,   15,  16,        17,  31,
                              32,  33,  48,  63,  64,  65,  66,  95,  96,  97,        127, 128,
                              129, 130, 160, 191, 192, 193, 255, 256, 257, LENGTH_MAX};
static const int dims[] = {64,  64,  64,  64,  128, 128, 128, 1,   2,   3,   7,   8,  16,  17,
                           24,  31,  32,  33,  40,  48,  63,  65,  72,  80,  95,  96, 100, 112,
                           127, 129, 136, 160, 191, 192, 200, 255, 256, 257, 384, 512};

struct lot {
    uint64_t seed, number;
    int richness; /* of 1000 */
};

static int below(struct lot *l, int limit)
{
    return (int)(draft_hash(l->seed, l->number++) % (uint64_t)limit);
}

static int between(struct lot *l, int first, int last)
{
    return first + below(l, last - first + 1);
}

/* Whether a feature is there. */
static bool has(struct lot *l)
{
    return below(l, 1000) < l->richness;
}

/* 0, or, where the feature is there, one of 1 .. count - 1. */
static int maybe(struct lot *l, int count)
{
    return has(l) ? between(l, 1, count - 1) : 0;
}

static int length(struct lot *l)
{
    if (below(l, 4) == 0)
        return between(l, 0, 200);
    return lengths[below(l, below(l, 3) ? 24 : COUNT(lengths))];
}

static int dim(struct lot *l)
{
    return below(l, 5) ? dims[below(l, below(l, 3) ? 20 : COUNT(dims))] : between(l, 1, 140);
}

static void draw_shape(struct lot *l, struct draft *d)
{
    d->dtype = between(l, 1, 3);
    d->batch = below(l, 3) ? between(l, 1, 2) : between(l, 1, DRAFT_BATCH_MAX);
    d->heads_k = between(l, 1, below(l, 3) ? 2 : 3);
    d->group = below(l, 2) ? 1 : between(l, 1, 5);
    d->seq_q = below(l, 3) ? length(l) : between(l, 1, 4);
    d->seq_k = length(l);
    d->dim_qk = dim(l);
    d->dim_v = below(l, 3) ? d->dim_qk : dim(l);
    d->layout_q = maybe(l, ONE_BATCH + 1);
    d->layout_k = maybe(l, ONE_BATCH + 1);
    d->layout_v = maybe(l, ONE_BATCH + 1);
    d->layout_o = maybe(l, ODD_BASE + 1);
    d->layout_grad = maybe(l, ODD_BASE + 1);
    d->layout_d_o = maybe(l, EXPANDED + 1);
    d->gaps = below(l, 2);
}

static void draw_sequences(struct lot *l, struct draft *d)
{
    if (has(l) || below(l, 4) == 0) {
        d->side_q = between(l, DENSE, EQUAL);
        d->side_k = below(l, 3) ? d->side_q : between(l, DENSE, EQUAL);
    } else if (below(l, 4) == 0) {
        d->side_k = between(l, LENGTHS, STARTS); /* caches */
    }
    d->index64 = below(l, 2);
    d->max_q = below(l, MAX_LESS + 1);
    d->max_k = below(l, MAX_LESS + 1);
    d->lie_q = maybe(l, LIE_GARBAGE + 1);
    d->lie_k = maybe(l, LIE_GARBAGE + 1);
    d->lse = below(l, LSE_COMPACT + 1);
    d->lse_base2 = below(l, 2);
    d->lse_room = maybe(l, ROOM_HALF + 1);
}

static void draw_scores(struct lot *l, struct draft *d)
{
    d->mask = below(l, 3) ? below(l, 6) : below(l, 3);
    d->left = below(l, 4) ? between(l, -40, 90) : INT32_MAX;
    d->right = below(l, 4) ? between(l, -40, 90) : INT32_MAX;
    d->bias = maybe(l, 17);
    d->bias_f32 = below(l, 2);
    d->bias_layout = below(l, SCORES_LARGER + 1);
    d->holes = below(l, HOLES_ALL + 1);
    d->keep = maybe(l, 17);
    d->keep_layout = below(l, SCORES_LARGER + 1);
    d->alibi = maybe(l, ALIBI_BATCH + 1);
    d->softcap = maybe(l, 2);
    d->sinks = maybe(l, 2);
    d->dropout = maybe(l, DROPOUT_ALL + 1);
    d->probs = maybe(l, PROBS_DROPPED + 1);
    d->probs_dtype = between(l, 1, 3);
    d->probs_cut = below(l, 3) ? 0 : between(l, -3, 3);
}

static void draw_values(struct lot *l, struct draft *d)
{
    static const int values[] = {POSITIVE,    RISING,      JUMPS,     JUMPS, JUMPS,
                                 HUGE_SCORES, HUGE_SCORES, THOUSANDS, TINY};

    d->values = below(l, 2) ? NORMAL : values[below(l, COUNT(values))];
    d->scale = below(l, 3) ? SCALE_USUAL : between(l, SCALE_USUAL, SCALE_ZERO);
    d->special = below(l, 4) ? NO_SPECIAL : between(l, V_NAN, BIAS_NAN);
    d->specials = between(l, 1, 3);
    d->seed = between(l, 1, 1 << 30);
}

static void draw_cache(struct lot *l, struct draft *d)
{
    if (has(l))
        d->page = 16 << below(l, 3);
    else
        d->index = has(l);
    d->table = maybe(l, TABLE_MISSING + 1);
    d->fresh = has(l) ? between(l, 1, 9) : 0;
    d->rotary = maybe(l, ROTARY_PAIRS + 1);
    d->rotary_dim = below(l, 2) ? d->dim_qk : d->dim_qk / 2;
    d->splits = below(l, 3) ? 0 : between(l, 1, 5);
    d->workspace = below(l, 4) ? WORKSPACE_ASKED : between(l, WORKSPACE_NONE, WORKSPACE_LESS);
}

static void draw_fp8(struct lot *l, struct draft *d)
{
    d->fp8 = below(l, 4) ? FP8_NONE : between(l, FP8_E4M3, FP8_E5M2_FNUZ);
    d->fp8_q = below(l, 2);
    d->scales = below(l, SCALES_BATCH + 1);
}

/* Many keys of one or two heads: walks of many steps. */
static void draw_long(struct lot *l, struct draft *d)
{
    d->batch = d->heads_k = 1;
    d->group = between(l, 1, 2);
    d->seq_k = between(l, 257, 1100);
    if (d->seq_q > 160)
        d->seq_q /= 2;
}

/* So many heads, of few rows, that a launch has them in runs: 768 to 960, which many numbers
 * divide. What bounds the work is not to make them fewer. */
static void draw_crowd(struct lot *l, struct draft *d)
{
    d->batch = 1;
    d->group = between(l, 1, 4);
    d->heads_k = 48 / d->group * between(l, 16, 20);
    d->seq_q = between(l, 1, 3);
    d->seq_k = between(l, 1, 3);
    d->dim_qk = between(l, 1, 40);
    d->dim_v = between(l, 1, 40);
}

/* What the emulator and the reference do in strict mode in some tenths of a second. */
static void bound_work(struct draft *d)
{
    const int64_t most = d->seq_k > LENGTH_MAX ? 16 << 20 : 3 << 20;

    while ((int64_t)d->batch * d->heads_k * d->group * d->seq_q * d->seq_k *
               (d->dim_qk + d->dim_v + 64) >
           (d->op == OP_BWD ? most / 2 : most)) {
        if (d->batch > 3)
            d->batch /= 2;
        else if (d->group > 2)
            d->group /= 2;
        else if (d->seq_q > 2 * d->seq_k || d->seq_q > 140)
            d->seq_q /= 2;
        else if (d->seq_q > 40 && d->seq_k > LENGTH_MAX)
            d->seq_q /= 2;
        else if (d->seq_k > 140)
            d->seq_k /= 2;
        else if (d->heads_k > 1)
            d->heads_k--;
        else if (d->group > 1)
            d->group--;
        else if (d->dim_qk + d->dim_v > 300)
            d->dim_qk = d->dim_v = d->dim_qk / 2;
        else if (d->batch > 1)
            d->batch--;
        else
            d->seq_q /= 2;
    }
}

struct draft draft_draw(uint64_t seed, uint64_t number)
{
    static const int richness[] = {40, 100, 200, 400};
    struct draft d = draft_usual();
    struct lot l = {draft_hash(seed, number), 0, 0};

    l.richness = richness[below(&l, COUNT(richness))];
    d.gpu = below(&l, DRAFT_GPUS);
    d.op = below(&l, 8) < 5 ? OP_FWD : below(&l, 6) ? OP_BWD : OP_PROBS;
    d.graph = below(&l, 8) ? GRAPH_NO : between(&l, GRAPH_CAPTURED, GRAPH_TWICE);
    draw_shape(&l, &d);
    draw_sequences(&l, &d);
    draw_scores(&l, &d);
    draw_values(&l, &d);
    draw_cache(&l, &d);
    d.absent = has(&l) ? below(&l, 64) : 0;
    d.delta = below(&l, 2);
    draw_fp8(&l, &d);
    if (below(&l, 8) == 0)
        draw_long(&l, &d);
    else if (below(&l, 48) == 0)
        draw_crowd(&l, &d);
    draft_mend(&d);
    bound_work(&d);
    draft_mend(&d);
    return d;
}
