/* Fills the problem that all kernels share, and the arguments of attn_fwd. Pure. */
#include "args.h"

#include <string.h>

#include "shape.h"

/* The layout that every code object in the images was compiled with. */
_Static_assert(FORMAT_KERNARG_VERSION == 13, "args.c fills version 13");

enum {
    UNBOUNDED = 1 << 30,
    MAX_GRID_YZ = 65535,
};
/* HIP counts threads, not workgroups, along an axis in 32 bits. */
static const uint64_t max_threads_x = UINT32_MAX;
static const float log2_e = 1.44269504088896341f;

/* Whether the host knows the lengths of all sequences, which are then alike. */
static int knows_lengths(const struct aothip_attn_fwd_params *p)
{
    return !p->q_seqs.cumulative && !p->q_seqs.lengths && !p->q_seqs.starts &&
           !p->k_seqs.cumulative && !p->k_seqs.lengths && !p->k_seqs.starts;
}

int args_dense(const struct aothip_seqs *seqs, int64_t rows)
{
    return !seqs->packed && !seqs->cumulative && !seqs->lengths && !seqs->starts &&
           (!seqs->max || seqs->max == rows);
}

uint32_t args_likeness(const struct aothip_attn_fwd_params *p)
{
    const int64_t elements = shape_lse_elements(p);
    return !p->block_table && !p->batch_index && !shape_new_rows(p) &&
                   args_dense(&p->q_seqs, p->q.size[2]) && args_dense(&p->k_seqs, p->k.size[2]) &&
                   shape_lse_room(p) == elements && elements < 1 << 30
               ? KERNARG_ALIKE
               : 0;
}

static inline int32_t saturate(int64_t value)
{
    return (int32_t)(value < -UNBOUNDED ? -UNBOUNDED : value > UNBOUNDED ? UNBOUNDED : value);
}

/* One side of the interval; `from_end` asks for seq_k - seq_q to be added. */
static inline int32_t key_bound(const struct aothip_attn_fwd_params *p, int64_t value, int from_end,
                                uint32_t flag, uint32_t *flags)
{
    if (from_end && knows_lengths(p))
        value += shape_length_k(p) - p->q.size[2];
    else if (from_end && value > -UNBOUNDED && value < UNBOUNDED)
        *flags |= flag;
    return saturate(value);
}

static int64_t window(int32_t side)
{
    return side == AOTHIP_WINDOW_UNBOUNDED ? (int64_t)2 * UNBOUNDED + (1LL << 31) : side;
}

/* Returned part by part: a struct in memory is read back before it has arrived there. */
static inline uint32_t visible_keys(const struct aothip_attn_fwd_params *p, int32_t *first,
                                    int32_t *last)
{
    const int32_t mask = p->mask;
    uint32_t flags = 0;
    *first = -UNBOUNDED;
    *last = UNBOUNDED;
    if (mask == AOTHIP_MASK_CAUSAL_TOP_LEFT)
        *last = 0;
    else if (mask == AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT)
        *last = key_bound(p, 0, 1, KERNARG_LAST_FROM_END, &flags);
    else if (mask != AOTHIP_MASK_NONE) {
        *first = key_bound(p, -window(p->window_left), mask == AOTHIP_MASK_WINDOW_BOTTOM_RIGHT,
                           KERNARG_FIRST_FROM_END, &flags);
        *last = key_bound(p, window(p->window_right), mask != AOTHIP_MASK_WINDOW_TOP_LEFT,
                          KERNARG_LAST_FROM_END, &flags);
    }
    return flags;
}

struct args_keys args_visible_keys(const struct aothip_attn_fwd_params *p)
{
    struct args_keys keys;
    keys.flags = visible_keys(p, &keys.first, &keys.last);
    return keys;
}

int64_t args_window(const struct aothip_attn_fwd_params *p)
{
    const struct args_keys keys = args_visible_keys(p);
    const int from_one_end =
        !(keys.flags & KERNARG_FIRST_FROM_END) == !(keys.flags & KERNARG_LAST_FROM_END);
    return from_one_end ? (int64_t)keys.last - keys.first : INT32_MAX;
}

enum aothip_status args_make_grid(uint64_t workgroups, uint64_t batch,
                                  const struct format_entry *entry, struct args_grid *grid,
                                  struct status *why)
{
    uint64_t threads;
    if (__builtin_mul_overflow(workgroups, entry->threads, &threads) || threads > max_threads_x)
        return status_set(why, AOTHIP_E_UNSUPPORTED,
                          "q: %s would take %llu workgroups of %u threads; a launch can have %llu "
                          "threads",
                          entry->symbol, (unsigned long long)workgroups, entry->threads,
                          (unsigned long long)max_threads_x);
    grid->x = (uint32_t)workgroups;
    grid->y = batch < MAX_GRID_YZ ? (uint32_t)batch : MAX_GRID_YZ;
    grid->z = batch <= MAX_GRID_YZ ? 1 : (uint32_t)((batch + MAX_GRID_YZ - 1) / MAX_GRID_YZ);
    grid->threads = entry->threads;
    return AOTHIP_OK;
}

/* The fewest whole groups, as many in each run, with tiles for so many workgroups; or all heads. */
static uint32_t even_part(const struct args_deal *deal, uint64_t workgroups)
{
    enum { TRIES = 64 };
    const uint64_t group = deal->group;
    uint64_t heads = (workgroups - 1) / (deal->tiles * group) * group + group;
    for (int i = 0; i < TRIES && heads < deal->heads; i++, heads += group)
        if (deal->heads % heads == 0)
            return deal->heads / heads <= MAX_GRID_YZ ? (uint32_t)heads : deal->heads;
    return deal->heads;
}

/*
 * Heads of a run. Where many are wanted for as many workgroups as there should be, few tiles of
 * each head run at once, which share its keys: then half as many will do.
 */
static uint32_t heads_of_run(const struct args_deal *deal)
{
    enum { TILES_AT_ONCE = 12 };
    const uint64_t run = deal->order.run;
    uint32_t heads;
    if (run < 2 || !deal->group || deal->tiles * deal->heads < ARGS_RUNS_MIN * run ||
        deal->sequences > MAX_GRID_YZ)
        return deal->heads;
    heads = even_part(deal, run);
    return heads <= run / TILES_AT_ONCE ? heads : even_part(deal, run / 2);
}

/* Whether the heads of all sequences go together, with their tiles along z. */
static int goes_together(const struct args_deal *deal)
{
    return deal->sequences > 1 && deal->sequences <= MAX_GRID_YZ && deal->tiles > 1 &&
           deal->tiles <= MAX_GRID_YZ &&
           deal->tiles * deal->sequences * deal->heads < deal->order.together;
}

enum aothip_status args_deal_grid(const struct args_deal *deal, const struct format_entry *entry,
                                  struct args_grid *grid, struct status *why)
{
    const int together = goes_together(deal);
    const uint32_t heads = together ? deal->heads : heads_of_run(deal);
    if (args_make_grid(together ? heads : deal->tiles * heads, deal->sequences, entry, grid, why))
        return why->code;
    if (together)
        grid->z = (uint32_t)deal->tiles;
    else if (heads < deal->heads)
        grid->z = deal->heads / heads;
    return AOTHIP_OK;
}

void args_fill_deal(const struct args_deal *deal, const struct args_grid *grid,
                    struct attn_problem *a)
{
    const int together = goes_together(deal);
    const int runs = !together && grid->z > 1 && deal->sequences <= MAX_GRID_YZ;
    a->flags |= together ? KERNARG_TILES_ALONG_Z : 0;
    a->grid_y = runs || together ? 0 : (int32_t)grid->y;
    a->heads_x = (int32_t)(runs ? deal->heads / grid->z : deal->heads);
    a->heads_z = runs ? a->heads_x : 0;
}

/*
 * Clears kernel arguments through the C library, whose memset takes a fifth of the time of the
 * string instruction that compilers put in place of one of known size.
 */
static void clear(void *memory, size_t size)
{
    __asm__("" : "+r"(size));
    memset(memory, 0, size);
}

/* Where the sequences of a plain problem lie, and its lse. */
static inline void fill_plain(const struct aothip_attn_fwd_params *p, struct attn_problem *a)
{
    const int64_t *q = p->q.size, *k = p->k.size;
    const int32_t seq_q = (int32_t)q[2], seq_k = (int32_t)k[2];
    a->batch = (int32_t)q[0];
    a->seq_q = seq_q;
    a->seq_k = seq_k;
    a->q_seqs = (struct kernarg_seqs){.max = seq_q, .rows = seq_q};
    a->k_seqs = (struct kernarg_seqs){.max = seq_k, .rows = seq_k};
    a->lse_stride = (struct kernarg_strides){q[1] * q[2], q[2], 1};
}

static inline void fill_seqs(const struct aothip_seqs *from, struct kernarg_seqs *to)
{
    to->cumulative = (uintptr_t)from->cumulative;
    to->lengths = (uintptr_t)from->lengths;
    to->starts = (uintptr_t)from->starts;
    to->packed = from->packed;
}

/* The same of any problem; returns its flags. */
static inline uint32_t fill_sequences(const struct aothip_attn_fwd_params *p,
                                      struct attn_problem *a)
{
    const int64_t heads = p->q.size[1], max_q = shape_max_q(p);
    const int32_t length_k = (int32_t)shape_length_k(p);
    const int packed = p->q_seqs.packed;
    uint32_t flags = p->index64 ? KERNARG_INDEX64 : 0;
    fill_seqs(&p->q_seqs, &a->q_seqs);
    fill_seqs(&p->k_seqs, &a->k_seqs);
    a->q_seqs.max = (int32_t)shape_length_q(p);
    a->q_seqs.rows = (int32_t)p->q.size[2];
    a->q_seqs.extra = 0;
    a->k_seqs.max = length_k;
    a->k_seqs.rows = (int32_t)shape_rows_k(p);
    a->k_seqs.extra = (int32_t)shape_new_rows(p);
    a->batch = (int32_t)shape_sequences(p);
    a->seq_q = (int32_t)shape_grid_q(p);
    a->seq_k = length_k;
    if (p->lse_layout == AOTHIP_LSE_ROWS) {
        a->lse_stride.batch = heads * max_q;
        a->lse_stride.head = max_q;
        a->lse_stride.seq = 1;
        return flags;
    }
    if (p->lse_layout == AOTHIP_LSE_TOTAL)
        a->lse_stride = (struct kernarg_strides){packed ? 0 : heads * max_q, 1, heads};
    else if (!packed)
        a->lse_stride = (struct kernarg_strides){max_q, max_q * shape_sequences(p), 1};
    else
        a->lse_stride = (struct kernarg_strides){0, p->q.size[2], 1};
    flags |= packed ? KERNARG_LSE_PACKED : 0;
    return flags | (p->lse_layout == AOTHIP_LSE_HEADS_COMPACT ? KERNARG_LSE_PITCH_READ : 0);
}

/* kernarg.h: so many of 2^16 numbers are dropped, all with p = 1, one at least. */
static uint32_t dropout_thresholds(float p)
{
    const double exact = (double)p * 65536;
    int64_t dropped = (int64_t)exact;
    dropped += exact - (double)dropped > 0.5;
    return (((uint32_t)(dropped > 0 ? dropped : 1) - 0x8001) & 0xffff) * 0x10001;
}

static inline void fill_dropout(const struct aothip_attn_fwd_params *p, struct attn_problem *a)
{
    const int unknown = p->k_seqs.packed && !p->k_seqs.max;
    const int64_t row_pitch = unknown ? 1 << 28 : ((int64_t)shape_max_k(p) + 31) / 32 * 4;
    a->dropout_scale = p->dropout_p < 1 ? 1 / (1 - p->dropout_p) : 0;
    a->dropout_thresholds = dropout_thresholds(p->dropout_p);
    a->dropout_seed = p->dropout_seed;
    a->dropout_offset = p->dropout_offset;
    a->dropout_seed_pointer = (uintptr_t)p->dropout_seed_pointer;
    a->dropout_offset_pointer = (uintptr_t)p->dropout_offset_pointer;
    a->dropout_row_pitch = row_pitch;
    a->dropout_head_pitch = row_pitch * shape_max_q(p);
}

/* What goes into the scores, and pages, of a problem that is zero there; returns its flags. */
static inline uint32_t fill_scores(const struct aothip_attn_fwd_params *p, struct attn_problem *a)
{
    uint32_t flags = 0;
    if (p->bias.data) {
        a->bias = args_tensor(&p->bias);
        flags |= p->bias.dtype == AOTHIP_F32 ? KERNARG_BIAS_F32 : 0;
    }
    if (p->keep.data)
        a->keep = args_tensor(&p->keep);
    a->alibi = (uintptr_t)p->alibi_slopes;
    a->alibi_stride = p->alibi_stride;
    a->softcap = p->softcap;
    if (p->dropout_p != 0) {
        flags |= KERNARG_DROPOUT;
        fill_dropout(p, a);
    }
    if (p->block_table) {
        a->block_table = (uintptr_t)p->block_table;
        a->block_table_stride = p->block_table_stride;
        a->page_shift = __builtin_ctz((uint32_t)p->k.size[2]);
    }
    a->batch_index = (uintptr_t)p->batch_index;
    return flags;
}

/* Stores cost most of the time here: each field up to the score features is written once. */
static inline void fill_problem(const struct aothip_attn_fwd_params *p, int plain,
                                struct attn_problem *a)
{
    enum { SCORES = offsetof(struct attn_problem, bias) };
    int32_t key_first, key_last;
    uint32_t flags = visible_keys(p, &key_first, &key_last);
    a->q = (uintptr_t)p->q.data;
    a->k = (uintptr_t)p->k.data;
    a->v = (uintptr_t)p->v.data;
    a->q_stride = args_strides(&p->q);
    a->k_stride = args_strides(&p->k);
    a->v_stride = args_strides(&p->v);
    a->heads_q = (int32_t)p->q.size[1];
    a->heads_k = (int32_t)p->k.size[1];
    a->group = (int32_t)args_group(p);
    a->dim_qk = (int32_t)p->q.size[3];
    a->dim_v = (int32_t)p->v.size[3];
    a->grid_y = a->heads_x = a->heads_z = 0;
    a->scale = p->scale;
    a->key_first = key_first;
    a->key_last = key_last;
    a->lse_unit = p->lse_base2 ? log2_e : 1;
    a->lse_size = shape_lse_room(p);
    a->sinks = (uintptr_t)p->sinks;
    clear((char *)a + SCORES, sizeof(*a) - SCORES);
    a->pages = (int32_t)p->k.size[0];
    a->keys_most = (int32_t)shape_most_keys(p);
    if (plain) {
        fill_plain(p, a);
    } else {
        flags |= fill_sequences(p, a);
        flags |= fill_scores(p, a);
    }
    a->flags = flags;
}

void args_problem(const struct aothip_attn_fwd_params *p, struct attn_problem *a)
{
    fill_problem(p, 0, a);
}

enum aothip_status args_attn_fwd(const struct aothip_attn_fwd_params *params, int plain,
                                 const struct args_order *order, const struct format_entry *entry,
                                 struct attn_fwd_args *args, struct args_grid *grid,
                                 struct status *why)
{
    const struct args_deal deal = {
        .tiles = args_count_tiles((uint32_t)shape_grid_q(params), entry->tile_q),
        .heads = (uint32_t)params->q.size[1],
        .group = args_group(params),
        .sequences = (uint64_t)shape_sequences(params),
        .order = args_order_of(params, order),
    };
    if (args_deal_grid(&deal, entry, grid, why))
        return why->code;
    fill_problem(params, plain, &args->problem);
    args_fill_deal(&deal, grid, &args->problem);
    args->problem.flags |= args_likeness(params);
    args->seed_output = args->offset_output = 0;
    if (!plain && params->dropout_p > 0) {
        args->seed_output = (uintptr_t)params->dropout_seed_output;
        args->offset_output = (uintptr_t)params->dropout_offset_output;
    }
    args->o = (uintptr_t)params->o.data;
    args->o_stride = args_strides(&params->o);
    args->lse = (uintptr_t)params->lse;
    return AOTHIP_OK;
}
