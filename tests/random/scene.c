/* Makes q, k, v, o, lse and the arrays of sequences of a random problem. */
#include "scene.h"

#include "number.h"
#include "place.h"

#include <stdlib.h>

/* What numbers are drawn for. */
enum about {
    ABOUT_Q = 1,
    ABOUT_K,
    ABOUT_V,
    ABOUT_LENGTH,
    ABOUT_START,
    ABOUT_TAIL,
    ABOUT_SPECIAL,
    ABOUT_JUMP
};

uint64_t scene_hash(const struct scene *s, uint64_t about, uint64_t at)
{
    return draft_hash(((uint64_t)s->d->seed << 8) + about, at);
}

static double unit(uint64_t bits)
{
    return (double)bits / 0x1p20 - 1;
}

double scene_uniform(const struct scene *s, uint64_t about, uint64_t at)
{
    return unit(scene_hash(s, about, at) >> 43);
}

double scene_normal(const struct scene *s, uint64_t about, uint64_t at)
{
    uint64_t x = scene_hash(s, about, at), low = (1 << 21) - 1;

    return unit(x >> 43) + unit(x >> 22 & low) + unit(x & low);
}

static void *need(size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);

    if (!memory)
        abort();
    return memory;
}

struct block *scene_add(struct scene *s, const char *name, void *slot, size_t bytes, size_t shift,
                        enum scene_use use)
{
    struct block *x = &s->blocks[s->count];
    void *data;

    if (s->count++ == SCENE_BLOCKS)
        abort();
    *x = (struct block){.name = name, .bytes = bytes + shift, .shift = shift};
    x->slot = (size_t)((char *)slot - (char *)&s->here);
    x->before = need(x->bytes);
    memset(x->before, use == SCENE_WRITTEN ? SCENE_PATTERN : 0xff, x->bytes);
    if (use == SCENE_READ && s->d->gaps == GAPS_UNWRITTEN)
        x->given = need(x->bytes);
    if (use != SCENE_READ) {
        x->after = need(x->bytes);
        x->owned = need(x->bytes);
    }
    data = x->before + shift;
    memcpy(slot, &data, sizeof(data));
    return x;
}

struct block *scene_block(struct scene *s, const void *slot)
{
    size_t at = (size_t)((const char *)slot - (const char *)&s->here);
    int i;

    for (i = 0; i < s->count; i++)
        if (s->blocks[i].slot == at)
            return &s->blocks[i];
    return NULL;
}

void scene_put(struct scene *s, const struct aothip_tensor *t, int64_t at, double value)
{
    struct block *x = scene_block(s, &t->data);
    size_t size = number_size(t->dtype);

    number_store(t->data, at, t->dtype, value);
    if (x->given)
        memset(x->given + x->shift + size * (size_t)at, 1, size);
}

static void set_strides(struct aothip_tensor *t, int layout)
{
    int64_t heads = t->size[1], seq = t->size[2], dim = t->size[3], batch = t->size[0];
    int64_t row = dim + (layout == ODD_ROWS ? 3 : layout == WIDE_ROWS ? 8 : 0);

    t->stride[3] = 1;
    t->stride[2] = layout == BSHD ? heads * dim : layout == SBHD ? batch * heads * dim : row;
    t->stride[1] = layout == BSHD || layout == SBHD ? dim : layout == ONE_HEAD ? 0 : seq * row;
    t->stride[0] = layout == BSHD        ? seq * heads * dim
                   : layout == SBHD      ? heads * dim
                   : layout == ONE_HEAD  ? seq * row
                   : layout == ONE_BATCH ? 0
                                         : heads * seq * row + (layout == FAR ? 4096 : 0);
    if (layout == EXPANDED)
        memset(t->stride, 0, sizeof(t->stride));
}

void scene_add_view(struct scene *s, const char *name, struct aothip_tensor *t, int dtype,
                    int layout, const int64_t size[4], enum scene_use use)
{
    size_t bytes = number_size(dtype), span;

    *t = (struct aothip_tensor){.dtype = dtype};
    memcpy(t->size, size, sizeof(t->size));
    set_strides(t, layout);
    span = (size_t)number_span(t);
    if (!span)
        return;
    scene_add(s, name, &t->data, span * bytes, layout == ODD_BASE ? bytes : 0, use);
    if (dtype == AOTHIP_FP8_E4M3_FNUZ || dtype == AOTHIP_FP8_E5M2_FNUZ) /* NaN */
        memset(scene_block(s, &t->data)->before, 0x80, span * bytes + (layout == ODD_BASE) * bytes);
}

/* Whether the exponents of q, k or v are those of f16, or less. */
static bool is_narrow(const struct draft *d)
{
    return d->dtype == AOTHIP_F16 || d->fp8;
}

/* How far the scores of the keys around this one lie from those of most. */
static double jump(const struct scene *s, int64_t row)
{
    static const double levels[] = {0, 0, 0, 0, 0, 12, 25, 40, 70, 100, -30, -90};
    const uint64_t lot = scene_hash(s, ABOUT_JUMP, (uint64_t)(row / 8));

    return levels[lot % (sizeof(levels) / sizeof(*levels))];
}

/* An element of q, k or v in row `row`. */
static double element(const struct scene *s, enum about about, int64_t at, int64_t row)
{
    const struct draft *d = s->d;
    double x = scene_normal(s, about, (uint64_t)at);

    switch (d->values) {
    case POSITIVE:
        return fabs(x);
    case RISING: /* later keys have larger scores */
        return about == ABOUT_K ? x / 2 + 0.05 * (double)row : x / 2 + (about == ABOUT_Q);
    case JUMPS:
        return about == ABOUT_K ? x / 2 + jump(s, row) / sqrt(d->dim_qk)
                                : x / 2 + (about == ABOUT_Q);
    case THOUSANDS: /* of q . k: see scale_of() */
        return is_narrow(d) ? (about == ABOUT_V ? 10 : 60) * x
                            : (about == ABOUT_V ? 1e6 : 1e14) * x;
    case TINY:
        return is_narrow(d) ? 0x1p-15 * x : 1e-30 * x;
    default:
        return x;
    }
}

static float scale_of(const struct scene *s)
{
    const struct draft *d = s->d;
    double usual = 1 / sqrt(d->dim_qk);

    if (d->values == THOUSANDS)
        usual *= 2e3 / (is_narrow(d) ? 3600 : 1e28);
    if (d->values == HUGE_SCORES) /* of 10^6 to 10^34 */
        usual *= pow(10, 6 + (double)(scene_hash(s, ABOUT_TAIL, 9) % 29));
    if (d->values == TINY) /* sums of 512 products of 10^-30 each are no numbers of f32 */
        usual *= is_narrow(d) ? 0x1p30 : 1;
    return (float)(d->scale == SCALE_ZERO       ? 0
                   : d->scale == SCALE_NEGATIVE ? -usual
                   : d->scale == SCALE_ONE && d->values != HUGE_SCORES && d->values != THOUSANDS
                       ? 1
                       : usual);
}

/* The first sequence is the longest. */
static void draw_lengths(struct scene *s)
{
    const struct draft *d = s->d;
    int b, side;

    for (b = 0; b < d->batch; b++)
        for (side = 0; side < 2; side++) {
            int longest = side ? d->seq_k : d->seq_q;
            uint64_t lot = scene_hash(s, ABOUT_LENGTH, (uint64_t)(2 * b + side));
            int64_t own = lot % 5 == 0 ? 0 : (int64_t)(lot >> 8) % (longest + 1);
            bool varied = draft_is_varied(side ? d->side_k : d->side_q);
            (side ? s->lengths_k : s->lengths_q)[b] = varied && b ? own : longest;
        }
}

static void *make_array(struct scene *s, const char *name, const void **slot, const int64_t *values,
                        int count)
{
    size_t size = s->d->index64 ? 8 : 4;
    struct block *x = scene_add(s, name, slot, (size_t)count * size, 0, SCENE_READ);
    int i;

    for (i = 0; i < count; i++)
        if (s->d->index64)
            ((int64_t *)x->before)[i] = values[i];
        else
            ((int32_t *)x->before)[i] = (int32_t)values[i];
    if (x->given)
        memset(x->given, 1, x->bytes);
    return x->before;
}

/* What no caller means: anything at all. */
static void fill_garbage(const struct scene *s, int64_t *values, int count)
{
    static const int64_t odd[] = {-1, 0, 1, 1000, INT32_MAX, INT32_MIN, -100, 1 << 30};
    int i;

    for (i = 0; i < count; i++) {
        uint64_t lot = scene_hash(s, ABOUT_START, (uint64_t)(1000 + i));
        values[i] = lot % 3 ? (int64_t)(lot >> 8) % 200 : odd[(lot >> 8) % 8];
        if (s->d->index64 && lot % 7 == 0)
            values[i] = (int64_t)lot;
    }
}

/* Params of one side; `rows` of the tensor it needs come back. */
static int64_t make_side(struct scene *s, bool keys, struct aothip_seqs *x)
{
    const struct draft *d = s->d;
    int side = keys ? d->side_k : d->side_q, lie = keys ? d->lie_k : d->lie_q, b;
    int max = keys ? d->max_k : d->max_q, longest = keys ? d->seq_k : d->seq_q, n = d->batch;
    int64_t lengths[DRAFT_BATCH_MAX], starts[DRAFT_BATCH_MAX + 1], sums[DRAFT_BATCH_MAX + 1] = {0};
    int64_t end = 0, tail = (int64_t)(scene_hash(s, ABOUT_TAIL, keys) % 4);
    bool apart = side == STRIDED || side == STRIDED_SUMS || side == EQUAL;

    for (b = 0; b < n; b++) {
        uint64_t lot = scene_hash(s, ABOUT_START, (uint64_t)(2 * b + keys));
        lengths[b] = (keys ? s->lengths_k : s->lengths_q)[b];
        starts[b] = apart ? end + (int64_t)(lot % 3) : (int64_t)(lot % 4);
        end = starts[b] + lengths[b];
        if (lie == LIE_BEYOND && b == n - 1)
            lengths[b] += 7 + (int64_t)(lot % 90);
        sums[b + 1] = sums[b] + lengths[b];
    }
    if (side == COMPACT)
        end =
            sums[n] -
            (lie == LIE_BEYOND ? lengths[n - 1] - (keys ? s->lengths_k : s->lengths_q)[n - 1] : 0);
    starts[n] = end + tail;
    if (lie == LIE_GARBAGE) {
        fill_garbage(s, lengths, n);
        fill_garbage(s, starts, n + 1);
        fill_garbage(s, sums, n + 1);
    }
    if (max) /* new rows of a cache count */
        x->max = max == MAX_LESS
                     ? (longest + 1) / 2
                     : longest + (max == MAX_MORE ? 9 : 0) + (keys && side != EQUAL ? d->fresh : 0);
    if (side == LENGTHS || side == STARTS || side == STRIDED)
        make_array(s, keys ? "k lengths" : "q lengths", &x->lengths, lengths, n);
    if (side == CUMULATIVE || side == COMPACT || side == STRIDED_SUMS)
        make_array(s, keys ? "k cumulative" : "q cumulative", &x->cumulative, sums, n + 1);
    if (side == STARTS || apart)
        make_array(s, keys ? "k starts" : "q starts", &x->starts, starts,
                   n + (!keys && d->lse == LSE_COMPACT));
    x->packed = draft_is_packed(side);
    if (x->packed)
        return end + tail;
    return longest + (side == DENSE ? 0 : side == STARTS ? 3 : tail);
}

/* Values for all rows that sequences have, or for all there are. */
static void fill_q(struct scene *s)
{
    const struct aothip_attn_fwd_params *p = &s->here.fwd;
    bool all = s->d->lie_q == LIE_GARBAGE;
    int64_t b, h, r, c, at;

    for (b = 0; b < (all ? p->q.size[0] : s->d->batch); b++) {
        struct place x = place_q(p, b);
        if (all)
            x = (struct place){.entry = b, .length = p->q.size[2]};
        for (h = 0; h < p->q.size[1]; h++)
            for (r = x.start; r < x.start + x.length; r++)
                for (c = 0; c < p->q.size[3]; c++) {
                    at = number_at(&p->q, x.entry, h, r, c);
                    scene_put(s, &p->q, at, element(s, ABOUT_Q, at, r));
                }
    }
}

static void fill_row(struct scene *s, const struct aothip_tensor *t, enum about about,
                     int64_t entry, int64_t h, int64_t row)
{
    int64_t c;

    for (c = 0; c < t->size[3]; c++) {
        int64_t at = number_at(t, entry, h, row, c);
        scene_put(s, t, at, element(s, about, at, row));
    }
}

static void fill_kv(struct scene *s)
{
    const struct aothip_attn_fwd_params *p = &s->here.fwd;
    int64_t b, h, n, entry, row;
    int which;

    for (which = 0; which < 2; which++) {
        const struct aothip_tensor *t = which ? &p->v : &p->k;
        enum about about = which ? ABOUT_V : ABOUT_K;
        if (s->d->lie_k == LIE_GARBAGE)
            for (b = 0; b < t->size[0]; b++)
                for (h = 0; h < t->size[1]; h++)
                    for (n = 0; n < t->size[2]; n++)
                        fill_row(s, t, about, b, h, n);
        for (b = 0; b < s->d->batch && s->d->lie_k != LIE_GARBAGE; b++) {
            struct place x = place_k(p, b);
            for (n = 0; n < x.old && n < x.stored; n++)
                for (h = 0; h < t->size[1] && place_key(p, &x, b, n, &entry, &row); h++)
                    fill_row(s, t, about, entry, h, row);
        }
    }
}

/* NaN or infinity in a few places of rows that some sequence has. */
static void fill_specials(struct scene *s)
{
    const struct aothip_attn_fwd_params *p = &s->here.fwd;
    int special = s->d->special, i;
    bool of_q = special == Q_NAN;
    const struct aothip_tensor *t = of_q ? &p->q : special == K_NAN ? &p->k : &p->v;

    for (i = 0; i < s->d->specials && special && special != BIAS_NAN; i++) {
        uint64_t lot = scene_hash(s, ABOUT_SPECIAL, (uint64_t)i);
        int64_t b = (int64_t)(lot % (uint64_t)s->d->batch), entry, row;
        struct place x = of_q ? place_q(p, b) : place_k(p, b);
        int64_t length = of_q ? x.length : x.old < x.length ? x.old : x.length;
        int64_t n = length ? (int64_t)((lot >> 8) % (uint64_t)length) : 0;
        if (!length)
            continue;
        entry = x.entry;
        row = x.start + n;
        if (!of_q && !place_key(p, &x, b, n, &entry, &row))
            continue;
        scene_put(s, t,
                  number_at(t, entry, (int64_t)((lot >> 24) % (uint64_t)t->size[1]), row,
                            (int64_t)((lot >> 40) % (uint64_t)t->size[3])),
                  special == V_INF ? (lot >> 60 & 1 ? INFINITY : -INFINITY) : NAN);
    }
}

static void make_lse(struct scene *s)
{
    struct aothip_attn_fwd_params *p = &s->here.fwd;
    const struct draft *d = s->d;
    int64_t count;

    if (d->lse == LSE_NONE)
        return;
    p->lse_layout = d->lse - LSE_ROWS;
    p->lse_base2 = d->lse_base2;
    count = place_lse_count(p);
    if (d->lse_room == ROOM_HALF && count > 1)
        p->lse_size = count / 2;
    else if (d->lse_room == ROOM_EXACT)
        p->lse_size = count;
    count = p->lse_size ? p->lse_size : count;
    scene_add(s, "lse", &p->lse, (size_t)(count ? count : 1) * sizeof(float), 0,
              d->op == OP_FWD ? SCENE_WRITTEN : SCENE_READ);
}

void scene_make(const struct draft *d, struct scene *s)
{
    struct aothip_attn_fwd_params *p = &s->here.fwd;
    int64_t heads = d->heads_k * d->group, rows_q, rows_k;
    enum scene_use cache = d->fresh ? SCENE_BOTH : SCENE_READ;
    const int type_k = d->fp8 ? AOTHIP_FP8_E4M3 + d->fp8 - FP8_E4M3 : d->dtype;

    memset(s, 0, sizeof(*s));
    s->d = d;
    p->struct_size = sizeof(*p);
    draw_lengths(s);
    rows_q = make_side(s, false, &p->q_seqs);
    rows_k = make_side(s, true, &p->k_seqs);
    p->scale = scale_of(s);
    p->mask = d->mask;
    p->window_left = d->left;
    p->window_right = d->right;
    p->index64 = d->index64;
    p->sequences = p->q_seqs.packed || scene_hash(s, ABOUT_TAIL, 7) % 2 ? d->batch : 0;
    p->splits = d->splits;
    int64_t batch_q = p->q_seqs.packed ? 1 : d->batch, batch_k = p->k_seqs.packed ? 1 : d->batch;
    if (d->fresh)
        rows_k += scene_hash(s, ABOUT_TAIL, 3) % 2 ? d->fresh : 0;
    if (d->index)
        batch_k += 1;
    if (d->page) {
        p->block_table_columns = (int32_t)((rows_k + d->page - 1) / d->page);
        p->block_table_columns += (scene_hash(s, ABOUT_TAIL, 4) % 2) | !p->block_table_columns;
        batch_k = d->batch * p->block_table_columns + 1;
        rows_k = d->page;
    }
    scene_add_view(s, "q", &p->q, d->fp8_q ? type_k : d->dtype, d->layout_q,
                   (int64_t[]){batch_q, heads, rows_q, d->dim_qk}, SCENE_READ);
    scene_add_view(s, "k", &p->k, type_k, d->layout_k,
                   (int64_t[]){batch_k, d->heads_k, rows_k, d->dim_qk}, cache);
    scene_add_view(s, "v", &p->v, type_k, d->layout_v,
                   (int64_t[]){batch_k, d->heads_k, rows_k, d->dim_v}, cache);
    scene_add_view(s, "o", &p->o, d->dtype, d->layout_o,
                   (int64_t[]){batch_q, heads, rows_q, d->dim_v},
                   d->op == OP_BWD ? SCENE_READ : SCENE_WRITTEN);
    scene_make_cache(s);
    fill_q(s);
    fill_kv(s);
    fill_specials(s);
    make_lse(s);
    scene_make_scores(s);
    if (d->op == OP_BWD)
        scene_make_bwd(s);
}

void scene_free(struct scene *s)
{
    int i;

    for (i = 0; i < s->count; i++) {
        free(s->blocks[i].before);
        free(s->blocks[i].given);
        free(s->blocks[i].after);
        free(s->blocks[i].owned);
    }
    s->count = 0;
}
