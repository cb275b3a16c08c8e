/* Makes what goes into the scores of a random problem: bias, masks, slopes, sinks, dropout. */
#include "scene.h"

#include "number.h"
#include "place.h"

#include <stdlib.h>

enum about {
    ABOUT_BIAS = 30,
    ABOUT_KEEP,
    ABOUT_HOLES,
    ABOUT_SLOPES,
    ABOUT_SINKS,
    ABOUT_DROPOUT,
    ABOUT_NAN
};

/* The shape of a bias or mask: bit i of `full` says that dimension i is not broadcast. */
static void add_scores(struct scene *s, const char *name, struct aothip_tensor *t, int dtype,
                       int full, int layout, enum scene_use use)
{
    const struct aothip_attn_fwd_params *p = &s->here.fwd;
    int64_t wanted[4] = {place_sequences(p), p->q.size[1], place_max_q(p), place_max_k(p)};
    int order[4] = {3, 2, 1, 0}, i;
    size_t bytes = number_size(dtype), shift = layout == SCORES_ODD ? bytes : 0;
    int64_t pitch = layout == SCORES_ODD ? 2 : 1;

    *t = (struct aothip_tensor){.dtype = dtype};
    if (layout == SCORES_COLUMNS) {
        order[0] = 2;
        order[1] = 3;
    }
    for (i = 0; i < 4; i++) {
        t->size[i] = full >> i & 1 && wanted[i] ? wanted[i] : 1;
        if (layout == SCORES_LARGER && i >= 2 && full >> i & 1)
            t->size[i] += 5;
    }
    for (i = 0; i < 4; i++) {
        t->stride[order[i]] = pitch;
        pitch = pitch * t->size[order[i]] + (layout == SCORES_ODD);
    }
    scene_add(s, name, &t->data, (size_t)number_span(t) * bytes, shift, use);
}

static double score(const struct scene *s, const struct aothip_tensor *t, const int64_t at[4],
                    uint64_t number)
{
    int holes = s->d->holes;

    if (t->dtype == AOTHIP_BOOL)
        return at[2] % 7 != 5 && scene_hash(s, ABOUT_KEEP, number) % 4 > 0;
    if (holes == HOLES_ALL || (holes == HOLES_ROWS && at[2] % 3 == 1) ||
        (holes == HOLES_SOME && scene_hash(s, ABOUT_HOLES, number) % 5 == 0))
        return -INFINITY;
    if (s->d->special == BIAS_NAN && scene_hash(s, ABOUT_NAN, number) % 501 == 0)
        return NAN;
    return 2 * scene_uniform(s, ABOUT_BIAS, number);
}

static void fill_scores(struct scene *s, const struct aothip_tensor *t)
{
    int64_t at[4];

    for (at[0] = 0; at[0] < t->size[0]; at[0]++)
        for (at[1] = 0; at[1] < t->size[1]; at[1]++)
            for (at[2] = 0; at[2] < t->size[2]; at[2]++)
                for (at[3] = 0; at[3] < t->size[3]; at[3]++) {
                    int64_t number = number_at(t, at[0], at[1], at[2], at[3]);
                    scene_put(s, t, number, score(s, t, at, (uint64_t)number));
                }
}

static float *add_floats(struct scene *s, const char *name, void *slot, int64_t count)
{
    struct block *x = scene_add(s, name, slot, (size_t)count * sizeof(float), 0, SCENE_READ);

    if (x->given)
        memset(x->given, 1, x->bytes);
    return (float *)(void *)x->before;
}

static void make_scalars(struct scene *s)
{
    struct aothip_attn_fwd_params *p = &s->here.fwd;
    const struct draft *d = s->d;
    int64_t heads = p->q.size[1], count = heads, i;
    float *values;

    if (d->alibi) {
        p->alibi_stride = d->alibi == ALIBI_BATCH ? heads + 1 : 0;
        count = p->alibi_stride * (d->batch - 1) + heads;
        values = add_floats(s, "alibi_slopes", &p->alibi_slopes, count);
        for (i = 0; i < count; i++)
            values[i] = (float)(0.05 + 0.045 * scene_uniform(s, ABOUT_SLOPES, (uint64_t)i));
    }
    if (d->sinks) {
        values = add_floats(s, "sinks", &p->sinks, heads);
        for (i = 0; i < heads; i++)
            values[i] = (float)(2 * scene_uniform(s, ABOUT_SINKS, (uint64_t)i));
    }
    if (d->softcap)
        p->softcap = 1.5F;
}

static uint64_t *add_words(struct scene *s, const char *name, void *slot, enum scene_use use)
{
    struct block *x = scene_add(s, name, slot, sizeof(uint64_t), 0, use);

    if (x->given)
        memset(x->given, 1, x->bytes);
    return (uint64_t *)(void *)x->before;
}

static void make_dropout(struct scene *s)
{
    struct aothip_attn_fwd_params *p = &s->here.fwd;
    const struct draft *d = s->d;

    if (!d->dropout)
        return;
    p->dropout_p = d->dropout == DROPOUT_ALL ? 1 : 0.3F;
    p->dropout_seed = scene_hash(s, ABOUT_DROPOUT, 0);
    p->dropout_offset = UINT64_C(0xfffffff0) + scene_hash(s, ABOUT_DROPOUT, 1) % 16;
    if (d->dropout != DROPOUT_POINTERS)
        return;
    *add_words(s, "dropout seed", &p->dropout_seed_pointer, SCENE_READ) =
        scene_hash(s, ABOUT_DROPOUT, 2);
    *add_words(s, "dropout offset", &p->dropout_offset_pointer, SCENE_READ) =
        scene_hash(s, ABOUT_DROPOUT, 3) % 1000;
    if (d->op != OP_FWD)
        return;
    add_words(s, "dropout seed output", &p->dropout_seed_output, SCENE_WRITTEN);
    add_words(s, "dropout offset output", &p->dropout_offset_output, SCENE_WRITTEN);
}

static void make_probs(struct scene *s)
{
    struct aothip_attn_fwd_params *p = &s->here.fwd;
    const struct draft *d = s->d;
    int64_t size[4] = {place_sequences(p), p->q.size[1], place_max_q(p) + d->probs_cut,
                       place_max_k(p) + d->probs_cut};

    if (!d->probs)
        return;
    p->probs_dropped = d->probs == PROBS_DROPPED;
    size[2] = size[2] < 1 ? 1 : size[2];
    size[3] = size[3] < 1 ? 1 : size[3];
    scene_add_view(s, "probs", &p->probs, d->probs_dtype, BHSD, size, SCENE_WRITTEN);
}

void scene_make_scores(struct scene *s)
{
    struct aothip_attn_fwd_params *p = &s->here.fwd;
    const struct draft *d = s->d;

    if (d->bias) {
        add_scores(s, "bias", &p->bias, d->bias_f32 ? AOTHIP_F32 : d->dtype, d->bias - 1,
                   d->bias_layout, SCENE_READ);
        fill_scores(s, &p->bias);
    }
    if (d->keep) {
        add_scores(s, "keep", &p->keep, AOTHIP_BOOL, d->keep - 1, d->keep_layout, SCENE_READ);
        fill_scores(s, &p->keep);
    }
    make_scalars(s);
    make_dropout(s);
    make_probs(s);
}

/* d_o, and room for the gradients that are wanted. */
void scene_make_bwd(struct scene *s)
{
    enum { ABOUT_D_O = 40 };
    struct aothip_attn_fwd_params *p = &s->here.fwd;
    struct aothip_attn_bwd_params *b = &s->here.bwd;
    const struct draft *d = s->d;
    int64_t i, c, h, r, at, lse = p->lse_size ? p->lse_size : place_lse_count(p);

    b->struct_size = sizeof(*b);
    scene_add_view(s, "d_o", &b->d_o, d->dtype, d->layout_d_o, p->o.size, SCENE_READ);
    for (i = 0; i < place_sequences(p); i++) {
        struct place x = place_q(p, i);
        if (d->lie_q == LIE_GARBAGE)
            x = (struct place){.entry = i, .length = p->q.size[2]};
        for (h = 0; h < p->q.size[1]; h++)
            for (r = x.start; r < x.start + x.length; r++)
                for (c = 0; c < p->o.size[3]; c++) {
                    at = number_at(&b->d_o, x.entry, h, r, c);
                    scene_put(s, &b->d_o, at, scene_normal(s, ABOUT_D_O, (uint64_t)at));
                }
    }
    if (!(d->absent & ABSENT_DQ))
        scene_add_view(s, "dq", &b->dq, d->dtype, d->layout_grad, p->q.size, SCENE_WRITTEN);
    if (!(d->absent & ABSENT_DK))
        scene_add_view(s, "dk", &b->dk, d->dtype, d->layout_grad, p->k.size, SCENE_WRITTEN);
    if (!(d->absent & ABSENT_DV))
        scene_add_view(s, "dv", &b->dv, d->dtype, d->layout_grad, p->v.size, SCENE_WRITTEN);
    if (d->bias && !(d->absent & ABSENT_DBIAS))
        add_scores(s, "dbias", &b->dbias, p->bias.dtype, d->bias - 1, d->bias_layout,
                   SCENE_WRITTEN);
    if (d->sinks && !(d->absent & ABSENT_DSINKS))
        scene_add(s, "dsinks", &b->dsinks, (size_t)p->q.size[1] * sizeof(float), 0, SCENE_WRITTEN);
    if (d->alibi && !(d->absent & ABSENT_DALIBI))
        scene_add(s, "dalibi", &b->dalibi,
                  (size_t)(p->alibi_stride * (d->batch - 1) + p->q.size[1]) * sizeof(float), 0,
                  SCENE_WRITTEN);
    if (d->delta && lse)
        scene_add(s, "delta", &b->delta, (size_t)lse * sizeof(float), 0, SCENE_WRITTEN);
}
