/* Where rows of sequences lie. */
#include "place.h"

#include <stddef.h>

int64_t place_sequences(const struct aothip_attn_fwd_params *p)
{
    return p->sequences ? p->sequences : p->q.size[0];
}

int64_t place_max_q(const struct aothip_attn_fwd_params *p)
{
    return p->q_seqs.max ? p->q_seqs.max : p->q.size[2];
}

/* Rows of k and v that a sequence can have. */
static int64_t room_k(const struct aothip_attn_fwd_params *p)
{
    return p->block_table ? p->block_table_columns * p->k.size[2] : p->k.size[2];
}

int64_t place_max_k(const struct aothip_attn_fwd_params *p)
{
    return p->k_seqs.max ? p->k_seqs.max : room_k(p);
}

static int64_t entry_of(const void *array, int64_t i, bool wide)
{
    return wide ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* `all` is the length that sequences have which no array tells, `room` the tensor's rows. */
static struct place find(const struct aothip_seqs *s, bool wide, int64_t b, int64_t all,
                         int64_t room)
{
    struct place x = {.entry = s->packed ? 0 : b, .length = all};

    if (s->lengths)
        x.length = entry_of(s->lengths, b, wide);
    else if (s->cumulative)
        x.length = (int64_t)((uint64_t)entry_of(s->cumulative, b + 1, wide) -
                             (uint64_t)entry_of(s->cumulative, b, wide)); /* may be nonsense */
    else if (s->max && s->starts)
        x.length = s->max;
    if (s->starts)
        x.start = entry_of(s->starts, b, wide);
    else if (s->packed && s->cumulative)
        x.start = entry_of(s->cumulative, b, wide);
    if (x.length < 0 || x.start < 0 || x.start > room)
        x.length = 0;
    return x;
}

/* What lies beyond the tensor does not exist. */
static void cut(struct place *x, int64_t room)
{
    if (x->length > room - x->start)
        x->length = x->start < room ? room - x->start : 0;
}

struct place place_q(const struct aothip_attn_fwd_params *p, int64_t b)
{
    struct place x = find(&p->q_seqs, p->index64, b, p->q.size[2], p->q.size[2]);

    cut(&x, p->q.size[2]);
    return x;
}

/* Keys that a bias or mask has room for. */
static int64_t keys_of(const struct aothip_tensor *t)
{
    return t->data && t->size[3] != 1 ? t->size[3] : INT64_MAX;
}

struct place place_k(const struct aothip_attn_fwd_params *p, int64_t b)
{
    int64_t room = room_k(p), all = p->block_table && p->k_seqs.max ? p->k_seqs.max : room;
    struct place x = find(&p->k_seqs, p->index64, b, all, room);

    if (p->batch_index && (p->batch_index[b] < 0 || p->batch_index[b] >= p->k.size[0]))
        x.length = room = 0;
    cut(&x, room);
    x.old = x.length;
    if (p->k_new.data)
        x.length += p->k_new.size[2];
    cut(&x, room);
    x.stored = x.length;
    if (x.length > keys_of(&p->bias))
        x.length = keys_of(&p->bias);
    if (x.length > keys_of(&p->keep))
        x.length = keys_of(&p->keep);
    return x;
}

bool place_key(const struct aothip_attn_fwd_params *p, const struct place *k, int64_t b, int64_t n,
               int64_t *entry, int64_t *row)
{
    int64_t page = p->k.size[2];

    *entry = k->entry;
    *row = k->start + n;
    if (p->batch_index)
        *entry = p->batch_index[b];
    if (p->block_table) {
        *entry = p->block_table[b * p->block_table_stride + n / page];
        *row = n % page;
    }
    return *entry >= 0 && *entry < p->k.size[0];
}

int64_t place_lse_count(const struct aothip_attn_fwd_params *p)
{
    int64_t rows = p->lse_layout != AOTHIP_LSE_ROWS && p->q_seqs.packed
                       ? p->q.size[2]
                       : place_sequences(p) * place_max_q(p);
    return rows * p->q.size[1];
}

int64_t place_lse(const struct aothip_attn_fwd_params *p, const struct place *q, int64_t b,
                  int64_t h, int64_t m)
{
    int64_t heads = p->q.size[1], max = place_max_q(p), pitch = p->q.size[2];
    int64_t sequences = place_sequences(p);

    if (p->lse_layout == AOTHIP_LSE_ROWS)
        return (b * heads + h) * max + m;
    if (!p->q_seqs.packed)
        return p->lse_layout == AOTHIP_LSE_TOTAL ? (b * max + m) * heads + h
                                                 : (h * sequences + b) * max + m;
    if (p->lse_layout == AOTHIP_LSE_TOTAL)
        return (q->start + m) * heads + h;
    if (p->lse_layout == AOTHIP_LSE_HEADS_COMPACT)
        pitch = entry_of(p->q_seqs.starts ? p->q_seqs.starts : p->q_seqs.cumulative, sequences,
                         p->index64);
    return h * pitch + q->start + m;
}
