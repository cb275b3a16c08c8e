/* Makes pages, new rows and rotations of a random problem. */
#include "scene.h"

#include "number.h"
#include "place.h"

enum about { ABOUT_TABLE = 50, ABOUT_NEW, ABOUT_ANGLES, ABOUT_SCALES };

static int32_t *add_table(struct scene *s, const char *name, void *slot, int64_t count)
{
    struct block *x = scene_add(s, name, slot, (size_t)count * sizeof(int32_t), 0, SCENE_READ);

    return (int32_t *)(void *)x->before;
}

/* Pages in disorder; entries that several sequences share, or that no page has. */
static int32_t table_entry(const struct scene *s, int64_t number, int64_t pages)
{
    static const int32_t odd[] = {-1, 1, 1000, INT32_MAX, INT32_MIN, 0};
    uint64_t lot = scene_hash(s, ABOUT_TABLE, (uint64_t)number);

    if (s->d->table == TABLE_SHARED && lot % 3 == 0)
        return (int32_t)((lot >> 8) % (uint64_t)pages);
    if (s->d->table == TABLE_MISSING && lot % 4 == 0) {
        int32_t x = odd[(lot >> 8) % 6];
        return x >= 0 && x < pages ? (int32_t)pages : x;
    }
    return (int32_t)(pages - 1 - number);
}

static void mark_given(struct block *x, size_t at, size_t bytes)
{
    if (x->given)
        memset(x->given + at, 1, bytes);
}

static void make_tables(struct scene *s)
{
    struct aothip_attn_fwd_params *p = &s->here.fwd;
    const struct draft *d = s->d;
    int64_t columns = p->block_table_columns, b, i;
    int32_t *table;

    if (d->page) {
        p->block_table_stride = columns + 1;
        table =
            add_table(s, "block_table", &p->block_table, (columns + 1) * (d->batch - 1) + columns);
        for (b = 0; b < d->batch; b++)
            for (i = 0; i < columns; i++) {
                int64_t at = b * (columns + 1) + i;
                table[at] = table_entry(s, b * columns + i, p->k.size[0]);
                mark_given(scene_block(s, &p->block_table), (size_t)at * 4, 4);
            }
    }
    if (d->index) {
        table = add_table(s, "batch_index", &p->batch_index, d->batch);
        for (b = 0; b < d->batch; b++)
            table[b] = table_entry(s, b, p->k.size[0]);
        mark_given(scene_block(s, &p->batch_index), 0, (size_t)d->batch * 4);
    }
}

static void make_new_rows(struct scene *s)
{
    struct aothip_attn_fwd_params *p = &s->here.fwd;
    const struct draft *d = s->d;
    int64_t b, h, r, c;
    int which;

    for (which = 0; which < 2; which++) {
        struct aothip_tensor *t = which ? &p->v_new : &p->k_new;
        scene_add_view(s, which ? "v_new" : "k_new", t, d->dtype, which ? BSHD : BHSD,
                       (int64_t[]){d->batch, d->heads_k, d->fresh, which ? d->dim_v : d->dim_qk},
                       SCENE_READ);
        for (b = 0; b < t->size[0]; b++)
            for (h = 0; h < t->size[1]; h++)
                for (r = 0; r < t->size[2]; r++)
                    for (c = 0; c < t->size[3]; c++) {
                        int64_t at = number_at(t, b, h, r, c);
                        scene_put(s, t, at,
                                  scene_normal(s, ABOUT_NEW + 10 * (uint64_t)which, (uint64_t)at));
                    }
    }
}

static void make_rotary(struct scene *s)
{
    struct aothip_attn_fwd_params *p = &s->here.fwd;
    const struct draft *d = s->d;
    size_t bytes = number_size(d->dtype);
    int64_t pairs = d->rotary_dim / 2, row, i, count;
    int which;

    p->rotary_dim = d->rotary_dim;
    p->rotary_interleaved = d->rotary == ROTARY_PAIRS;
    p->rotary_stride = pairs + (int64_t)(scene_hash(s, ABOUT_ANGLES, 0) % 3);
    /* often enough for all positions, and sometimes not */
    p->rotary_rows = 1 + (d->seq_q + d->seq_k + d->fresh) / (d->seed % 3 ? 1 : 2);
    count = (p->rotary_rows - 1) * p->rotary_stride + pairs;
    for (which = 0; which < 2; which++) {
        const void **slot = which ? &p->rotary_sin : &p->rotary_cos;
        struct block *x = scene_add(s, which ? "rotary_sin" : "rotary_cos", slot,
                                    (size_t)count * bytes, 0, SCENE_READ);
        for (row = 0; row < p->rotary_rows; row++)
            for (i = 0; i < pairs; i++) {
                double angle = (double)row / pow(1.7, (double)i);
                int64_t at = row * p->rotary_stride + i;
                number_store(x->before, at, d->dtype, which ? sin(angle) : cos(angle));
                mark_given(x, (size_t)at * bytes, bytes);
            }
    }
}

/* What the elements of FP8 are multiplied by. */
static void make_scale(struct scene *s, const char *name, struct aothip_scale *x, uint64_t about)
{
    const struct draft *d = s->d;
    const int64_t head = d->scales != SCALES_ONE;
    const int64_t batch = d->scales == SCALES_BATCH ? d->heads_k + 1 : 0;
    const int64_t count = batch * (d->batch - 1) + head * (d->heads_k - 1) + 1;
    struct block *block =
        scene_add(s, name, &x->data, (size_t)count * sizeof(float), 0, SCENE_READ);
    float *values = (float *)(void *)block->before;

    x->stride[0] = batch;
    x->stride[1] = head;
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)(1.2 + scene_uniform(s, about, (uint64_t)i));
    mark_given(block, 0, (size_t)count * sizeof(float));
}

void scene_make_cache(struct scene *s)
{
    make_tables(s);
    if (s->d->scales) {
        make_scale(s, "k_scale", &s->here.fwd.k_scale, ABOUT_SCALES);
        make_scale(s, "v_scale", &s->here.fwd.v_scale, ABOUT_SCALES + 1);
    }
    if (s->d->scales && s->d->fp8_q)
        make_scale(s, "q_scale", &s->here.fwd.q_scale, ABOUT_SCALES + 2);
    if (s->d->fresh)
        make_new_rows(s);
    if (s->d->rotary)
        make_rotary(s);
}
