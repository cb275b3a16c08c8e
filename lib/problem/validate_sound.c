/*
 * What a warm call spends on its arguments: tells in few instructions that a problem is sound, all
 * rules at once and without a jump for each. Whatever is in doubt is left to validate_examine().
 * Pure.
 */
#include "validate.h"

#include <string.h>

#include "shape.h"

typedef struct aothip_attn_fwd_params fwd_params;

/* From the first element to the end of the last; none where these are the same. */
struct span {
    uintptr_t begin, end;
};
enum { Q, K, V, O, LSE, BIAS, KEEP, PROBS, K_NEW, V_NEW, SPANS };

/* Bits gathered from many fields, to be looked at once: all that is wrong shows in them. */
struct doubt {
    uint64_t large;     /* sizes less 1, strides, counts: below 2^30, which bounds all products */
    uint64_t high;      /* addresses and lengths in bytes: below 2^63, so no sum wraps around */
    uint64_t low;       /* addresses of elements of q's type or larger: multiples of its size */
    uint64_t differing; /* what must be equal, one xor the other */
    uint32_t broken;    /* rules that do not hold */
};

static inline uint32_t remains(const struct doubt *doubt, int shift)
{
    return (doubt->large >> 30 | doubt->high >> 63 | (doubt->low & ((1u << shift) - 1)) |
            doubt->differing | doubt->broken) != 0;
}

/* log2 of the bytes of an element of a type that is one */
static int shift_of(int32_t dtype)
{
    return dtype == AOTHIP_F32 ? 2 : dtype == AOTHIP_BOOL ? 0 : 1;
}

/*
 * Makes the compiler gather here what is known by now, and read anew what it needs again. It would
 * rather put all of it off to one long sum of bits at the end, and has no registers to keep so many
 * numbers until then: storing them away costs more than all else here.
 */
static inline void settle(struct doubt *doubt)
{
    __asm__("" : "+r"(doubt->large), "+r"(doubt->high), "+r"(doubt->low), "+r"(doubt->differing));
    __asm__("" : "+r"(doubt->broken)::"memory");
}

enum channel { FREE, PACKED };

/* The bytes of a tensor, which has elements, with stride[3] = 1 if it is PACKED. */
static inline struct span measure(const struct aothip_tensor *tensor, int shift,
                                  enum channel channel, struct doubt *doubt)
{
    const uint64_t *size = (const uint64_t *)tensor->size;
    const uint64_t *stride = (const uint64_t *)tensor->stride;
    const uint64_t batch = size[0] - 1, head = size[1] - 1, seq = size[2] - 1, dim = size[3] - 1;
    const uintptr_t begin = (uintptr_t)tensor->data;
    uint64_t bytes = batch * stride[0] + head * stride[1] + seq * stride[2];
    if (channel == PACKED) {
        bytes += dim;
        doubt->differing |= stride[3] ^ 1;
    } else {
        bytes += dim * stride[3];
        doubt->large |= stride[3];
    }
    bytes = (bytes + 1) << shift;
    doubt->large |= batch | head | seq | dim | stride[0] | stride[1] | stride[2];
    doubt->high |= (begin - 1) | (begin + bytes) | bytes;
    doubt->low |= begin;
    settle(doubt);
    return (struct span){begin, begin + bytes};
}

/* Whether the dimensions of a tensor nest as BHSD or BSHD: then none of its elements overlap. */
static inline uint32_t nests(const struct aothip_tensor *tensor)
{
    const uint64_t *size = (const uint64_t *)tensor->size;
    const uint64_t *stride = (const uint64_t *)tensor->stride;
    const int seq_within = stride[1] >= stride[2];
    const uint64_t inner = seq_within ? stride[2] : stride[1];
    const uint64_t outer = seq_within ? stride[1] : stride[2];
    const uint64_t inner_end = inner * (seq_within ? size[2] : size[1]);
    const uint64_t outer_end = outer * (seq_within ? size[1] : size[2]);
    return (stride[3] == 1) & (inner >= size[3]) & (outer >= inner_end) &
           ((stride[0] >= outer_end) | (size[0] == 1));
}

static inline uint32_t meet(struct span a, struct span b)
{
    return (a.begin < b.end) & (b.begin < a.end);
}

static uint32_t bits(float number)
{
    uint32_t result;
    memcpy(&result, &number, sizeof(result));
    return result;
}

/* Each key head serves a whole number of query heads. */
static inline uint32_t is_multiple(uint32_t heads_q, uint32_t heads_k)
{
    const uint32_t below = heads_k - 1;
    return heads_k & below ? heads_q % heads_k == 0 : (heads_q & below) == 0;
}

/* q, k, v, o, and the fields that a plain problem has too. */
static inline void look_at_required(const fwd_params *p, struct span *spans, struct doubt *doubt)
{
    const int64_t *q = p->q.size, *k = p->k.size, *v = p->v.size, *o = p->o.size;
    const int32_t dtype = p->q.dtype;
    const int shift = dtype == AOTHIP_F32 ? 2 : 1;
    _Static_assert(AOTHIP_F32 == 1 && AOTHIP_F16 == 2 && AOTHIP_BF16 == 3, "the types of q");
    spans[Q] = measure(&p->q, shift, PACKED, doubt);
    spans[K] = measure(&p->k, shift, PACKED, doubt);
    spans[V] = measure(&p->v, shift, PACKED, doubt);
    spans[O] = measure(&p->o, shift, PACKED, doubt);
    doubt->differing |=
        (uint32_t)((p->k.dtype ^ dtype) | (p->v.dtype ^ dtype) | (p->o.dtype ^ dtype));
    doubt->differing |= (uint64_t)((v[0] ^ k[0]) | (o[0] ^ q[0]) | (v[1] ^ k[1]) | (o[1] ^ q[1]) |
                                   (v[2] ^ k[2]) | (o[2] ^ q[2]) | (k[3] ^ q[3]) | (o[3] ^ v[3]));
    doubt->broken |= (uint32_t)dtype - 1 > 2;
    doubt->broken |= (uint32_t)p->mask > AOTHIP_MASK_WINDOW_MIXED;
    doubt->broken |= (bits(p->scale) & 0x7f800000) == 0x7f800000;
    doubt->broken |= (uint32_t)p->lse_base2 >> 1;
    doubt->broken |= !is_multiple((uint32_t)q[1], (uint32_t)k[1]);
    doubt->broken |= !nests(&p->o);
    doubt->high |= (uint64_t)p->lse_size;
}

static inline struct span span_of_lse(const fwd_params *p, struct doubt *doubt)
{
    const uint64_t begin = (uintptr_t)p->lse;
    const uint64_t room = begin ? (uint64_t)shape_lse_room(p) : 0;
    doubt->broken |= (uint32_t)((begin >> 2 | room) >> 60) | ((uint32_t)begin & 3);
    return (struct span){begin, begin + 4 * room};
}

static inline void look_at_outputs(const struct span *spans, struct doubt *doubt)
{
    const struct span o = spans[O], lse = spans[LSE];
    doubt->broken |= meet(o, spans[Q]) | meet(o, spans[K]) | meet(o, spans[V]) | meet(o, lse) |
                     meet(lse, spans[Q]) | meet(lse, spans[K]) | meet(lse, spans[V]);
}

/* Which fields are set, by what they are about: 0 where none is. */
struct fields {
    uint64_t arrays; /* of lengths and positions; also among `sequences` */
    uint64_t sequences, scores, rest;
};

static inline struct fields fields_of(const fwd_params *p)
{
    const struct aothip_seqs *q = &p->q_seqs, *k = &p->k_seqs;
    const uintptr_t arrays = (uintptr_t)q->cumulative | (uintptr_t)q->lengths |
                             (uintptr_t)q->starts | (uintptr_t)k->cumulative |
                             (uintptr_t)k->lengths | (uintptr_t)k->starts;
    const uintptr_t scores = (uintptr_t)p->bias.data | (uintptr_t)p->keep.data |
                             (uintptr_t)p->alibi_slopes | (uintptr_t)p->sinks;
    const uintptr_t rest =
        (uintptr_t)p->probs.data | (uintptr_t)p->block_table | (uintptr_t)p->batch_index |
        (uintptr_t)p->k_new.data | (uintptr_t)p->v_new.data | (uintptr_t)p->rotary_cos |
        (uintptr_t)p->rotary_sin | (uintptr_t)p->workspace | (uintptr_t)p->q_scale.data |
        (uintptr_t)p->k_scale.data | (uintptr_t)p->v_scale.data;
    return (struct fields){
        .arrays = arrays,
        .sequences = arrays | (uint32_t)(p->lse_layout | p->sequences | p->index64 | q->packed |
                                         q->max | k->packed | k->max),
        .scores = scores | (uint64_t)p->alibi_stride | bits(p->softcap) | bits(p->dropout_p) |
                  (uint32_t)p->probs_dropped,
        .rest = rest | (uint32_t)(p->rotary_interleaved | p->splits | p->reserved),
    };
}

static inline void look_at_sequences(const fwd_params *p, uint64_t arrays, struct doubt *doubt)
{
    const struct aothip_seqs *q = &p->q_seqs, *k = &p->k_seqs;
    const int64_t sequences = shape_sequences(p);
    const int anywhere = ((uintptr_t)q->cumulative | (uintptr_t)q->starts) != 0;
    doubt->broken |= (uint32_t)(p->sequences | q->max | k->max) >> 30;
    doubt->broken |= (uint32_t)(p->index64 | q->packed | k->packed) >> 1;
    doubt->broken |= (uint32_t)arrays & (p->index64 ? 7 : 3);
    doubt->differing |= (uint64_t)(p->q.size[0] ^ (q->packed ? 1 : sequences));
    if (!p->block_table && !p->batch_index)
        doubt->differing |= (uint64_t)(p->k.size[0] ^ (k->packed ? 1 : sequences));
    doubt->broken |= (uint32_t)(q->packed & !anywhere);
    if (p->lse_layout > AOTHIP_LSE_TOTAL) /* the last one reads where packed rows end */
        doubt->broken |= (uint32_t)(p->lse_layout ^ AOTHIP_LSE_HEADS_COMPACT) |
                         (uint32_t) !(q->packed & anywhere);
    doubt->broken |= (uint32_t)p->lse_layout >> 2;
}

/* A bias or a boolean mask. */
static inline struct span look_at_mask(const struct aothip_tensor *mask, int shift,
                                       const int64_t wanted[4], const struct span *spans,
                                       struct doubt *doubt)
{
    const int64_t *size = mask->size;
    const uintptr_t low = doubt->low;
    const struct span span = measure(mask, shift, FREE, doubt);
    doubt->low = low; /* its type may be smaller than q's */
    doubt->broken |= (uint32_t)span.begin & ((1u << shift) - 1);
    if (size[0] != 1)
        doubt->differing |= (uint64_t)(size[0] ^ wanted[0]);
    if (size[1] != 1)
        doubt->differing |= (uint64_t)(size[1] ^ wanted[1]);
    if (size[2] != 1)
        doubt->high |= (uint64_t)size[2] - (uint64_t)wanted[2]; /* negative if it is too small */
    if (size[3] != 1)
        doubt->high |= (uint64_t)size[3] - (uint64_t)wanted[3];
    doubt->broken |= meet(span, spans[O]) | meet(span, spans[LSE]);
    settle(doubt);
    return span;
}

/* What goes into the scores. */
static inline void look_at_scores(const fwd_params *p, struct span *spans, struct doubt *doubt)
{
    const int64_t wanted[4] = {shape_sequences(p), p->q.size[1], shape_grid_q(p), shape_max_k(p)};
    if (p->bias.data) {
        doubt->broken |= p->bias.dtype != p->q.dtype && p->bias.dtype != AOTHIP_F32;
        spans[BIAS] = look_at_mask(&p->bias, shift_of(p->bias.dtype), wanted, spans, doubt);
    }
    if (p->keep.data) {
        doubt->differing |= (uint32_t)(p->keep.dtype ^ AOTHIP_BOOL);
        spans[KEEP] = look_at_mask(&p->keep, 0, wanted, spans, doubt);
    }
    if (p->dropout_p != 0)
        doubt->broken |=
            ((uintptr_t)p->dropout_seed_pointer | (uintptr_t)p->dropout_offset_pointer |
             (uintptr_t)p->dropout_seed_output | (uintptr_t)p->dropout_offset_output) &
            7;
    /* of positive floats the bits are in the order of the numbers */
    doubt->broken |= bits(p->dropout_p) > bits(1.0f);
    doubt->broken |= bits(p->softcap) > bits(__FLT_MAX__);
    doubt->broken |= ((uintptr_t)p->alibi_slopes | (uintptr_t)p->sinks) & 3;
    doubt->broken |= (uint32_t)((uint64_t)p->alibi_stride >> 48);
    doubt->broken |= (uint32_t)p->probs_dropped >> 1;
}

static inline void look_at_pages(const fwd_params *p, struct doubt *doubt)
{
    const uint64_t page = (uint64_t)p->k.size[2];
    doubt->broken |=
        ((uint32_t)(uintptr_t)p->block_table | (uint32_t)(uintptr_t)p->batch_index) & 3;
    doubt->broken |= (uint32_t)p->k_seqs.packed;
    if (!p->block_table)
        return;
    doubt->broken |= p->batch_index || p->k_seqs.starts;
    doubt->broken |= page < VALIDATE_MIN_PAGE || page > VALIDATE_MAX_PAGE || page & (page - 1);
    doubt->broken |= (uint64_t)p->block_table_columns * page > VALIDATE_MAX_SIZE;
    doubt->broken |= (uint32_t)((uint64_t)p->block_table_stride >> 48);
}

static uint32_t look_at_probs(const fwd_params *p, struct span *spans)
{
    const struct aothip_tensor *probs = &p->probs;
    const int shift = shift_of(probs->dtype);
    struct doubt doubt = {.broken = 0};
    spans[PROBS] = measure(probs, shift, FREE, &doubt);
    doubt.differing |=
        (uint64_t)((probs->size[0] ^ shape_sequences(p)) | (probs->size[1] ^ p->q.size[1]));
    doubt.broken = (uint32_t)probs->dtype - 1 > 2;
    doubt.broken |= !nests(probs) || (p->probs_dropped && (!p->lse || shape_is_fp8(p->k.dtype)));
    for (int i = 0; i < SPANS; i++)
        doubt.broken |= i != PROBS && meet(spans[PROBS], spans[i]);
    return remains(&doubt, shift);
}

/* New rows of `cache`. */
static inline struct span look_at_rows(const fwd_params *p, const struct aothip_tensor *rows,
                                       const struct aothip_tensor *cache, struct doubt *doubt)
{
    doubt->differing |=
        (uint64_t)((rows->size[0] ^ shape_sequences(p)) | (rows->size[1] ^ cache->size[1]) |
                   (rows->size[3] ^ cache->size[3]) | (rows->dtype ^ p->q.dtype));
    doubt->broken |= !nests(cache);
    return measure(rows, shift_of(p->q.dtype), PACKED, doubt);
}

static inline void look_at_append(const fwd_params *p, struct span *spans, struct doubt *doubt)
{
    spans[K_NEW] = look_at_rows(p, &p->k_new, &p->k, doubt);
    spans[V_NEW] = look_at_rows(p, &p->v_new, &p->v, doubt);
    doubt->differing |= (uint64_t)(p->k_new.size[2] ^ p->v_new.size[2]);
    doubt->broken |= (!p->k_seqs.lengths && !p->k_seqs.cumulative) || p->k_seqs.packed;
    for (int i = 0; i < SPANS; i++) { /* k and v are written, and so are o and lse */
        doubt->broken |= i != K && meet(spans[K], spans[i]);
        doubt->broken |= i != V && meet(spans[V], spans[i]);
    }
    for (int i = K_NEW; i <= V_NEW; i++)
        doubt->broken |= meet(spans[O], spans[i]) | meet(spans[LSE], spans[i]);
}

static inline void look_at_rotary(const fwd_params *p, struct doubt *doubt)
{
    doubt->broken |= !p->rotary_cos || !p->rotary_sin || p->q_seqs.packed || p->q_seqs.starts;
    doubt->broken |= p->rotary_dim < 2 || p->rotary_dim % 2 || p->rotary_dim > p->q.size[3];
    doubt->broken |= p->rotary_rows < 1;
    doubt->broken |= (uint32_t)((uint64_t)p->rotary_stride >> 48);
    doubt->low |= (uintptr_t)p->rotary_cos | (uintptr_t)p->rotary_sin;
}

/* What few problems have; what is wrong with that. */
static uint32_t look_at_rest(const fwd_params *p, struct span *spans)
{
    struct doubt doubt = {.broken = 0};
    if (p->block_table || p->batch_index)
        look_at_pages(p, &doubt);
    if (p->k_new.data || p->v_new.data)
        look_at_append(p, spans, &doubt);
    if (p->probs.data)
        doubt.broken |= look_at_probs(p, spans);
    if (p->rotary_cos || p->rotary_sin)
        look_at_rotary(p, &doubt);
    doubt.broken |= (uint32_t)p->splits > VALIDATE_MAX_SPLITS;
    doubt.broken |= (uint32_t)p->reserved | (uint32_t)p->rotary_interleaved >> 1;
    doubt.broken |= (uintptr_t)p->workspace & 15;
    doubt.broken |= p->q_scale.data || p->k_scale.data || p->v_scale.data; /* of FP8 alone */
    return remains(&doubt, shift_of(p->q.dtype));
}

int validate_is_sound(struct validate_fwd *checked)
{
    const fwd_params *p = checked->params;
    const struct fields fields = fields_of(p);
    struct doubt doubt = {.broken = 0};
    struct span spans[SPANS];
    checked->plain = !(fields.sequences | fields.scores | fields.rest);
    checked->alone = !fields.rest;
    look_at_required(p, spans, &doubt);
    spans[LSE] = span_of_lse(p, &doubt);
    look_at_outputs(spans, &doubt);
    settle(&doubt);
    if (fields.sequences || fields.rest)
        look_at_sequences(p, fields.arrays, &doubt);
    else
        doubt.differing |= (uint64_t)(p->k.size[0] ^ p->q.size[0]);
    if (fields.rest)
        memset(&spans[BIAS], 0, (SPANS - BIAS) * sizeof(spans[0]));
    if (fields.scores)
        look_at_scores(p, spans, &doubt);
    if (fields.rest)
        doubt.broken |= look_at_rest(p, spans);
    return !remains(&doubt, shift_of(p->q.dtype));
}
