/* Selection: from a problem to its needs, from needs to an entry. */
#include "select.h"

#include <stdlib.h>

#include "kernarg.h"
#include "fake_problem.h"
#include "tap.h"

enum {
    SCORE = FORMAT_FEATURE_SCORE,
    UNALIGNED = FORMAT_FEATURE_UNALIGNED,
    PAGED = FORMAT_FEATURE_PAGED,
    STRIDED = FORMAT_FEATURE_STRIDED
};

static const struct format_entry entries[] = {
    {.op = FORMAT_OP_ATTN_FWD,
     .dtype = AOTHIP_F16,
     .rank = 7,
     .dim_max = 128,
     .features = SCORE | UNALIGNED | STRIDED},
    {.op = FORMAT_OP_ATTN_FWD, .dtype = AOTHIP_F16, .rank = 0, .dim_max = 64},
    {.op = FORMAT_OP_ATTN_FWD, .dtype = AOTHIP_F16, .rank = 1, .dim_max = 64, .features = SCORE},
    {.op = FORMAT_OP_ATTN_FWD, .dtype = AOTHIP_F16, .rank = 4, .dim_max = 128},
    {.op = FORMAT_OP_ATTN_FWD,
     .dtype = AOTHIP_F16,
     .rank = 3,
     .dim_max = 64,
     .features = SCORE | UNALIGNED},
    {.op = FORMAT_OP_ATTN_FWD, .dtype = AOTHIP_BF16, .rank = 0, .dim_max = 128},
    {.op = FORMAT_OP_ATTN_FWD,
     .dtype = AOTHIP_BF16,
     .rank = 1,
     .dim_max = 256,
     .features = FORMAT_FEATURE_BIAS},
    {.op = 9, .dtype = AOTHIP_BF16, .rank = 0, .dim_max = 512, .features = SCORE | UNALIGNED},
};
enum { ENTRIES = sizeof(entries) / sizeof(entries[0]) };

static const struct {
    const char *what;
    int dtype;
    uint32_t features;
    int64_t dim;
    int entry;
} cases[] = {
    {"plain", AOTHIP_F16, 0, 64, 1},
    {"dim 1", AOTHIP_F16, 0, 1, 1},
    {"scores", AOTHIP_F16, SCORE, 64, 2},
    {"unaligned", AOTHIP_F16, UNALIGNED, 40, 4},
    {"scores and unaligned", AOTHIP_F16, SCORE | UNALIGNED, 64, 4},
    {"strided", AOTHIP_F16, UNALIGNED | STRIDED, 40, 0},
    {"dim 65", AOTHIP_F16, 0, 65, 3},
    {"dim 128, scores", AOTHIP_F16, SCORE, 128, 0},
    {"dim 129", AOTHIP_F16, 0, 129, -1},
    {"BF16", AOTHIP_BF16, 0, 100, 5},
    {"BF16, scores", AOTHIP_BF16, SCORE, 100, -1},
    {"what is for a bias alone, with one", AOTHIP_BF16, FORMAT_FEATURE_BIAS, 100, 6},
    {"with more", AOTHIP_BF16, FORMAT_FEATURE_BIAS | FORMAT_FEATURE_KEEP, 100, -1},
    {"without", AOTHIP_BF16, 0, 200, -1},
    {"F32", AOTHIP_F32, 0, 64, -1},
    {"BF16, dim 512 exists for another op only", AOTHIP_BF16, 0, 512, -1},
};

static void test_entry(void)
{
    struct select_index *index = malloc(select_index_size(ENTRIES));
    select_index_fill(index, entries, NULL, ENTRIES);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct select_need need = {FORMAT_OP_ATTN_FWD, cases[i].dtype, cases[i].features,
                                         cases[i].dim, 0};
        is_int(select_entry(index, &need), cases[i].entry, cases[i].what);
    }
    free(index);
}

/* Entries for the same problems, but for the last two; the second has no cost. */
static const struct format_entry tiles[] = {
    {.op = FORMAT_OP_ATTN_FWD, .dtype = 2, .rank = 0, .dim_max = 64, .tile_q = 128, .tile_k = 64},
    {.op = FORMAT_OP_ATTN_FWD, .dtype = 2, .rank = 1, .dim_max = 64, .tile_q = 256, .tile_k = 64},
    {.op = FORMAT_OP_ATTN_FWD, .dtype = 2, .rank = 2, .dim_max = 64, .tile_q = 64, .tile_k = 32},
    {.op = FORMAT_OP_ATTN_FWD, .dtype = 2, .rank = 3, .dim_max = 64, .tile_q = 48, .tile_k = 80},
    {.op = FORMAT_OP_ATTN_FWD, .dtype = 2, .rank = 4, .dim_max = 128, .tile_q = 16, .tile_k = 16},
    {.op = FORMAT_OP_ATTN_FWD, .dtype = 3, .rank = 0, .dim_max = 64, .tile_q = 16, .tile_k = 16},
};
enum { TILES = sizeof(tiles) / sizeof(tiles[0]) };

static uint64_t state = 20261123;

static uint64_t draw(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 20) % below;
}

/* What format.h says, workgroup by workgroup and step by step. */
static double time_of(const struct format_entry *entry, const struct format_cost *cost,
                      const struct select_size *size, double part)
{
    uint64_t workgroups = 0, busiest = 0;
    int64_t seen = size->window + entry->tile_q;
    double step;
    uint32_t steps = 0;
    for (uint64_t row = 0; row < size->rows; row += entry->tile_q)
        workgroups += size->heads;
    for (uint64_t given = 0; given < workgroups; given += size->units)
        busiest++;
    for (int64_t key = 0; key < size->keys && key < seen; key += entry->tile_k)
        steps++;
    step = (double)busiest * cost->shared;
    if (cost->shared > 1.25 * cost->alone)
        step = (double)busiest * cost->alone / 2;
    if (part < 1 && steps) { /* a tile's longest row is half of it below its middle */
        const double each = (double)workgroups / size->units, all = steps * (double)cost->alone;
        double time = each > 1 ? each + 0.25 : each;
        part += entry->tile_q / 2.0 / size->keys;
        time *= steps * (part < 1 ? part : 1);
        time *= cost->shared > 1.25 * cost->alone ? cost->alone / 2.0 : cost->shared;
        time += each > 1 ? (each - 1) * cost->start * 0.08 : 0;
        return cost->start + (time > all ? time : all);
    }
    return cost->start + steps * (step > cost->alone ? step : cost->alone);
}

static void test_tiles(void)
{
    struct select_index *index = malloc(select_index_size(TILES));
    const struct select_need need = {FORMAT_OP_ATTN_FWD, AOTHIP_F16, 0, 64, 0};
    int wrong = 0, taken[TILES] = {0};
    for (int round = 0; round < 3000; round++) {
        struct format_cost costs[TILES] = {{0}};
        struct select_size size = {.heads = 1 + draw(40),
                                   .rows = (uint32_t)draw(1200),
                                   .keys = (uint32_t)draw(1200),
                                   .window = (int64_t)draw(3000) - 400,
                                   .units = 1 + (uint32_t)draw(100),
                                   .seen = (double)(1 + draw(8)) / 8};
        const struct select_row *row;
        int best = -1;
        for (int i = 0; i < TILES; i++)
            if (i != 1)
                costs[i] = (struct format_cost){1 + (uint32_t)draw(20000), 1 + (uint32_t)draw(3000),
                                                1 + (uint32_t)draw(2000)};
        for (int i = 0; i < 4; i++)
            if (i != 1 && (best < 0 || time_of(&tiles[i], &costs[i], &size, size.seen) <
                                           time_of(&tiles[best], &costs[best], &size, size.seen)))
                best = i;
        select_index_fill(index, tiles, costs, TILES);
        row = select_row(index, &need);
        wrong += select_tile(row, &size)->entry != best || select_entry(index, &need) != 0;
        wrong += select_time(row, &size) != time_of(&tiles[0], &costs[0], &size, 1);
        taken[best]++;
    }
    ok(!wrong && taken[0] > 100 && taken[2] > 100 && taken[3] > 100,
       "the fastest of all tiles, as found one by one: %d, %d, %d times", taken[0], taken[2],
       taken[3]);
    select_index_fill(index, tiles, NULL, TILES);
    ok(!select_row(index, &need)->other, "without costs there is no choice");
    free(index);
}

/* The first one is for fewer channels of v, the second for many alone; the last one for others. */
static const struct format_entry narrow[] = {
    {.op = FORMAT_OP_ATTN_FWD,
     .dtype = 2,
     .rank = 0,
     .dim_max = 192,
     .dim_v_max = 128,
     .tile_q = 256,
     .tile_k = 64},
    {.op = FORMAT_OP_ATTN_FWD,
     .dtype = 2,
     .rank = 1,
     .dim_max = 256,
     .dim_min = 193,
     .tile_q = 128,
     .tile_k = 64},
    {.op = FORMAT_OP_ATTN_FWD, .dtype = 2, .rank = 2, .dim_max = 256, .tile_q = 64, .tile_k = 64},
    {.op = FORMAT_OP_ATTN_FWD, .dtype = 2, .rank = 3, .dim_max = 256, .tile_q = 32, .tile_k = 32},
    {.op = FORMAT_OP_ATTN_FWD,
     .dtype = 2,
     .rank = 4,
     .dim_max = 256,
     .features = UNALIGNED,
     .tile_q = 16,
     .tile_k = 32},
};
enum { NARROW = sizeof(narrow) / sizeof(narrow[0]) };

static void test_narrow(void)
{
    static const struct {
        int64_t dim, dim_v;
        int entry;
        const char *what;
    } wanted[] = {
        {192, 128, 0, "192 channels, 128 of v"},
        {160, 1, 0, "fewer"},
        {192, 129, 2, "more of v than the first has"},
        {200, 64, 1, "more of q"},
        {192, 192, 2, "as many"},
        {193, 193, 1, "many"},
    };
    struct select_index *index = malloc(select_index_size(NARROW));
    int wrong = 0, taken[NARROW] = {0};
    select_index_fill(index, narrow, NULL, NARROW);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const struct select_need it = {FORMAT_OP_ATTN_FWD, AOTHIP_F16, 0, wanted[i].dim,
                                       wanted[i].dim_v};
        is_int(select_entry(index, &it), wanted[i].entry, wanted[i].what);
    }
    for (int round = 0; round < 1000; round++) {
        struct format_cost costs[NARROW];
        const struct select_size size = {.heads = 1 + draw(40),
                                         .rows = 1 + (uint32_t)draw(1200),
                                         .keys = (uint32_t)draw(1200),
                                         .window = INT32_MAX,
                                         .units = 1 + (uint32_t)draw(100),
                                         .seen = (double)(1 + draw(8)) / 8};
        for (int i = 0; i < NARROW; i++)
            costs[i] = (struct format_cost){1 + (uint32_t)draw(20000), 1 + (uint32_t)draw(3000),
                                            1 + (uint32_t)draw(2000)};
        select_index_fill(index, narrow, costs, NARROW);
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
            const struct select_need it = {FORMAT_OP_ATTN_FWD, AOTHIP_F16, 0, wanted[i].dim,
                                           wanted[i].dim_v};
            const int first = wanted[i].entry;
            double least = 0;
            int best = -1;
            for (int j = first; j < NARROW - 1; j++) {
                double time = time_of(&narrow[j], &costs[j], &size, size.seen);
                if (first == 0 && j == 1)
                    continue;
                if (first == 0 && j > 0) /* they compute more channels of v than there are */
                    time = costs[j].start + (time - costs[j].start) * (size.seen < 1 ? 0.65 : 0.75);
                if (best < 0 || time < least)
                    least = time, best = j;
            }
            wrong += select_tile(select_row(index, &it), &size)->entry != best;
            taken[best]++;
        }
    }
    ok(!wrong && taken[0] > 100 && taken[1] > 100 && taken[2] > 100 && taken[3] > 100,
       "the fastest, of those for all channels of v, too: %d, %d, %d, %d times", taken[0], taken[1],
       taken[2], taken[3]);
    free(index);
}

/* Those of all channels at once come first: plain, of a soft-cap, in pages. The last one has both
 * tiles' channels, too, but is for FP8. */
#define OF_256(number, of_features, from, rows_of_q)                                               \
    {                                                                                              \
        .op = FORMAT_OP_ATTN_FWD, .dtype = 2, .rank = number, .dim_max = 256, .dim_min = from,     \
        .features = of_features, .tile_q = rows_of_q, .tile_k = 64                                 \
    }
static const struct format_entry featured[] = {
    OF_256(0, 0, 193, 128),
    OF_256(1, 0, 0, 64),
    OF_256(2, FORMAT_FEATURE_SOFTCAP, 193, 128),
    OF_256(3, PAGED, 193, 128),
    OF_256(4, PAGED, 0, 64),
    OF_256(5, FORMAT_FEATURE_FP8_CACHE | SCORE, 0, 64),
    OF_256(6, SCORE, 0, 64),
};
enum { FEATURED = sizeof(featured) / sizeof(featured[0]) };

/* With features the tile is the one that is the faster without them. */
static void test_features(void)
{
    static const struct {
        uint32_t features;
        int whole, team; /* entries */
    } wanted[] = {{0, 0, 1}, {FORMAT_FEATURE_SOFTCAP, 2, 6}, {PAGED, 3, 4}};
    struct select_index *index = malloc(select_index_size(FEATURED));
    int wrong = 0, whole = 0;
    for (int round = 0; round < 1000; round++) {
        struct format_cost costs[FEATURED] = {{0}};
        const struct select_size size = {.heads = 1 + draw(40),
                                         .rows = 1 + (uint32_t)draw(1200),
                                         .keys = (uint32_t)draw(1200),
                                         .window = INT32_MAX,
                                         .units = 1 + (uint32_t)draw(100),
                                         .seen = 1};
        for (int i = 0; i < 2; i++)
            costs[i] = (struct format_cost){1 + (uint32_t)draw(20000), 1 + (uint32_t)draw(3000),
                                            1 + (uint32_t)draw(2000)};
        select_index_fill(index, featured, costs, FEATURED);
        const int team =
            time_of(&featured[1], &costs[1], &size, 1) < time_of(&featured[0], &costs[0], &size, 1);
        whole += !team;
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
            const struct select_need it = {FORMAT_OP_ATTN_FWD, 2, wanted[i].features, 200, 200};
            wrong += select_tile(select_row(index, &it), &size)->entry !=
                     (team ? wanted[i].team : wanted[i].whole);
        }
    }
    ok(!wrong && whole > 200 && whole < 800, "the same tile with a feature as without: %d large",
       whole);
    select_index_fill(index, featured, NULL, FEATURED);
    const struct select_need capped = {FORMAT_OP_ATTN_FWD, 2, FORMAT_FEATURE_SOFTCAP, 200, 200};
    ok(!select_row(index, &capped)->other, "without costs there is no choice here, either");
    const struct select_need fewer = {FORMAT_OP_ATTN_FWD, 2, FORMAT_FEATURE_SOFTCAP, 192, 192};
    is_int(select_entry(index, &fewer), 6, "fewer channels have the small one");
    free(index);
}

/* A first entry without a cost is taken, whatever the others have. */
static void test_no_cost(void)
{
    struct select_index *index = malloc(select_index_size(TILES));
    const struct select_need need = {FORMAT_OP_ATTN_FWD, AOTHIP_F16, 0, 64, 0};
    const struct format_cost costs[TILES] = {{0}, {9, 9, 9}, {1, 1, 1}};
    const struct select_size size = {1, 1, 1, 0, 1, 1};
    select_index_fill(index, tiles, costs, TILES);
    is_int(select_tile(select_row(index, &need), &size)->entry, 0, "the order of preference");
    free(index);
}

static uint32_t features(const struct aothip_attn_fwd_params *p)
{
    return select_need_attn_fwd(p, 1).features;
}

static void test_alignment_need(void)
{
    static const char *const names[] = {"q", "k", "v", "o"};
    for (int i = 0; i < 4; i++) {
        struct aothip_attn_fwd_params p = problem_make();
        struct aothip_tensor *all[] = {&p.q, &p.k, &p.v, &p.o};
        struct aothip_tensor *tensor = all[i];
        tensor->data = (char *)tensor->data + 8;
        ok(features(&p) == UNALIGNED, "%s: data off by 8 bytes", names[i]);
        tensor->data = (char *)tensor->data + 8;
        ok(features(&p) == 0, "%s: data off by 16 bytes", names[i]);
        for (int axis = 0; axis < 3; axis++) {
            tensor->stride[axis] += 4;
            ok(features(&p) == UNALIGNED, "%s: stride %d off by 4", names[i], axis);
            tensor->stride[axis] += 4;
            ok(features(&p) == 0, "%s: stride %d off by 8", names[i], axis);
        }
        tensor->stride[2] = KERNARG_ALIGNED_STRIDE_MAX;
        ok(features(&p) == 0, "%s: rows as far apart as offsets reach", names[i]);
        tensor->stride[2] += 8;
        ok(features(&p) == (UNALIGNED | STRIDED), "%s: rows further apart", names[i]);
        tensor->stride[2] = 0;
        tensor->size[0] = 1;
        tensor->stride[0] = 3;
        ok(features(&p) == 0, "%s: the stride of a size of 1 does not count", names[i]);
        tensor->size[3] = 60;
        ok(features(&p) == UNALIGNED, "%s: head dim 60", names[i]);
        tensor->size[3] = 7;
        ok(features(&p) == (UNALIGNED | STRIDED), "%s: head dim 7", names[i]);
    }
}

static void test_dim_need(void)
{
    struct aothip_attn_fwd_params p = problem_make();
    p.v.size[3] = 80;
    is_int(select_need_attn_fwd(&p, 1).dim, 80, "dim_v above dim_qk");
    p.q.size[3] = 96;
    is_int(select_need_attn_fwd(&p, 1).dim, 96, "dim_qk above dim_v");
}

/* Sinks beside a scale of next to nothing are for the kernels that count in exponents. */
static void test_sinks_need(void)
{
    static const float sinks[1] = {0};
    struct aothip_attn_fwd_params p = problem_make();
    p.scale = 0;
    is_int(select_need_attn_fwd(&p, 0).features, 0, "a scale of 0");
    p.sinks = sinks;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_SCORE, "a scale of 0 with sinks");
    p.scale = -0x1p-40f;
    is_int(select_need_attn_fwd(&p, 0).features, 0, "a scale of -2^-40 with sinks");
}

/* One mask for all queries, by size or by stride, of as many keys as its kernels read at a time. */
static void test_padding_need(struct aothip_attn_fwd_params p)
{
    p.keep.size[2] = 1;
    p.keep.size[3] = 16;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_PADDING, "one row for all queries");
    p.keep.data = (char *)p.q.data + 1;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_PADDING, "at any address");
    p.keep.size[3] = 15;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_KEEP, "of 15 keys");
    p.keep.size[2] = p.q.size[2];
    p.keep.size[3] = 64;
    p.keep.stride[2] = 0;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_PADDING, "by a stride of 0");
    p.keep.stride[3] = 2;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_KEEP | UNALIGNED | STRIDED,
           "keys apart");
    p.keep.stride[3] = 1;
    p.softcap = 1;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_PADDING | FORMAT_FEATURE_SOFTCAP,
           "and a soft-cap");
}

static void test_option_need(void)
{
    static float slopes[8];
    static const int32_t pages[8];
    const struct aothip_attn_fwd_params plain = problem_make();
    struct aothip_attn_fwd_params p = plain;
    is_int(select_need_attn_fwd(&p, 0).features, 0, "no options");
    p.bias = p.q;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_BIAS, "bias");
    p.bias.data = (char *)p.q.data + 2;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_BIAS, "bias of any alignment");
    p.bias.dtype = AOTHIP_F32;
    is_int(select_need_attn_fwd(&p, 0).features, SCORE, "bias of another type");
    p.bias = p.q;
    p.scale = 0;
    is_int(select_need_attn_fwd(&p, 0).features, SCORE, "bias that a scale of 0 cannot divide");
    p = plain;
    p.keep = p.q;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_KEEP, "keep");
    test_padding_need(p);
    test_sinks_need();
    p = plain;
    p.alibi_slopes = slopes;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_SLOPES, "ALiBi");
    p.scale = 0;
    is_int(select_need_attn_fwd(&p, 0).features, SCORE, "ALiBi that a scale of 0 cannot divide");
    p = plain;
    p.softcap = 1;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_SOFTCAP, "soft-cap");
    p = plain;
    p.dropout_p = 0.5f;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_DROPOUT, "dropout");
    p.block_table = pages;
    is_int(select_need_attn_fwd(&p, 0).features, FORMAT_FEATURE_DROPOUT | PAGED, "and pages");
    p = plain;
    p.batch_index = pages;
    is_int(select_need_attn_fwd(&p, 0).features, PAGED, "batch_index");
    p = plain;
    p.sinks = slopes;
    p.mask = AOTHIP_MASK_WINDOW_MIXED;
    p.window_left = 3;
    p.q_seqs.lengths = pages;
    p.lse_base2 = 1;
    is_int(select_need_attn_fwd(&p, 0).features, 0, "sinks, windows, lengths, lse need nothing");
}

/* Other kernels need what concerns them. */
static void test_other_need(void)
{
    static const int32_t pages[8];
    struct aothip_attn_fwd_params p = problem_make();
    struct aothip_tensor expanded = p.o, none = p.o;
    const struct aothip_tensor *const good[] = {&p.q, &p.k}, *const bad[] = {&p.q, &expanded},
                                      *const absent[] = {&p.q, &none};
    p.softcap = 1;
    p.block_table = pages;
    expanded.stride[3] = 0;
    none.data = NULL;
    none.stride[2] = 3;
    is_int(select_need_other(FORMAT_OP_ATTN_BWD_DQ, &p, good, 2).features,
           FORMAT_FEATURE_SOFTCAP | PAGED, "dq");
    is_int(select_need_other(FORMAT_OP_ATTN_BWD_DELTA, &p, good, 2).features, 0, "delta");
    is_int(select_need_other(FORMAT_OP_ATTN_MERGE, &p, good, 2).features, 0, "merge");
    is_int(select_need_other(FORMAT_OP_ATTN_APPEND, &p, good, 2).features, PAGED, "append");
    is_int(select_need_other(FORMAT_OP_ATTN_PROBS, &p, good, 2).features, 0, "signs of probs");
    p.probs_dropped = 1;
    is_int(select_need_other(FORMAT_OP_ATTN_PROBS, &p, good, 2).features,
           FORMAT_FEATURE_SOFTCAP | PAGED, "probs");
    is_int(select_need_other(FORMAT_OP_ATTN_BWD_DELTA, &p, bad, 2).features, UNALIGNED,
           "channels that do not lie side by side");
    is_int(select_need_other(FORMAT_OP_ATTN_BWD_DELTA, &p, absent, 2).features, 0,
           "an absent tensor");
    is_str(select_op_name(FORMAT_OP_ATTN_MERGE_PART), "attn_merge_part", "name of the last op");
    is_str(select_op_name(FORMAT_OP_END), "?", "no op");
}

/* The type of what is merged in; alignment of both, and not of the logarithms. */
static void test_merge_need(void)
{
    struct aothip_attn_merge_params p = problem_merge();
    p.lse.stride[2] = 3;
    p.lse.data = (void *)0x50000004;
    is_int(select_need_merge(&p).features, 0, "aligned rows");
    is_int(select_need_merge(&p).dim, 64, "their channels");
    p.part_o.dtype = AOTHIP_BF16;
    p.o.dtype = AOTHIP_F32;
    is_int(select_need_merge(&p).dtype, AOTHIP_BF16, "type of the part");
    p.o.stride[2] = 65;
    is_int(select_need_merge(&p).features, UNALIGNED, "odd rows of o");
    p = problem_merge();
    p.part_o.data = (void *)0xc0000002;
    is_int(select_need_merge(&p).features, UNALIGNED, "an odd part");
}

/* Gradients of aligned rows reach a bias or a mask by 32-bit offsets, key by key. */
static uint32_t gradient_features(const struct aothip_attn_fwd_params *p, enum format_op op)
{
    const struct aothip_tensor *const rows[] = {&p->q, &p->k};
    return select_need_other(op, p, rows, 2).features;
}

static void test_near_need(void)
{
    static const char *const names[] = {"bias", "keep"};
    const enum format_op op = FORMAT_OP_ATTN_BWD_DKDV;
    for (int i = 0; i < 2; i++) {
        struct aothip_attn_fwd_params p = problem_make();
        struct aothip_tensor *x = i ? &p.keep : &p.bias;
        const char *name = names[i];
        const uint32_t score = i ? FORMAT_FEATURE_KEEP : FORMAT_FEATURE_BIAS;
        *x = (struct aothip_tensor){.data = (char *)p.q.data + 2,
                                    .size = {1, 1, 7, 9},
                                    .stride = {63, 63, 9, 1},
                                    .dtype = p.q.dtype};
        ok(gradient_features(&p, op) == score, "%s: near, of any alignment", name);
        x->stride[2] = KERNARG_ALIGNED_STRIDE_MAX;
        ok(gradient_features(&p, op) == score, "%s: rows within reach", name);
        x->stride[2]++;
        ok(gradient_features(&p, op) == (score | UNALIGNED), "%s: rows further apart", name);
        x->size[2] = 1;
        ok(gradient_features(&p, op) == score, "%s: one row for all", name);
        x->stride[3] = 2;
        ok(gradient_features(&p, op) == (score | UNALIGNED), "%s: keys apart", name);
        x->stride[3] = 1;
        x->size[3] = 1;
        ok(gradient_features(&p, op) == (score | UNALIGNED), "%s: one key for all", name);
        ok(gradient_features(&p, FORMAT_OP_ATTN_BWD_DELTA) == 0, "%s: not for delta", name);
        x->size[3] = KERNARG_ALIGNED_STRIDE_MAX + (int64_t)1;
        ok(gradient_features(&p, op) == (score | UNALIGNED), "%s: keys out of reach", name);
        x->size[3] = 64;
        ok(gradient_features(&p, op) == score, "%s: one row of many keys", name);
        x->size[2] = 7;
        x->stride[2] = 0;
        ok(gradient_features(&p, op) == score, "%s: the same row for all queries", name);
    }
}

/* Gradients with a mask reach heads and batch entries by 32-bit strides. */
static void test_near_heads_need(void)
{
    const enum format_op op = FORMAT_OP_ATTN_BWD_DQ;
    const int64_t far = (int64_t)1 << 32;
    for (int dimension = 0; dimension < 2; dimension++) {
        struct aothip_attn_fwd_params p = problem_make();
        p.q.stride[dimension] = far;
        is_int(gradient_features(&p, op), 0,
               dimension ? "heads of q are far: no mask" : "entries of q are far: no mask");
        p.keep = (struct aothip_tensor){
            .data = p.q.data, .size = {2, 8, 100, 300}, .stride = {240000, 30000, 300, 1}};
        is_int(gradient_features(&p, op), FORMAT_FEATURE_KEEP | UNALIGNED, "with a mask");
        p.q.stride[dimension] = far - 8;
        is_int(gradient_features(&p, op), FORMAT_FEATURE_KEEP, "it is near");
        p.keep.stride[dimension] = far;
        is_int(gradient_features(&p, op), FORMAT_FEATURE_KEEP | UNALIGNED, "the mask's is far");
        p.keep.size[dimension] = 1;
        is_int(gradient_features(&p, op), FORMAT_FEATURE_KEEP, "and is one");
    }
}

int main(void)
{
    test_near_need();
    test_near_heads_need();
    test_option_need();
    test_other_need();
    test_merge_need();
    test_entry();
    test_tiles();
    test_narrow();
    test_features();
    test_no_cost();
    test_alignment_need();
    test_dim_need();
    return tap_done();
}
