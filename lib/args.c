/* Fills the problem that all kernels share, and the arguments of attn_fwd. Pure. */
#include "args.h"

#include <string.h>

#include "shape.h"

/* The layout that every code object in the images was compiled with. */
_Static_assert(FORMAT_KERNARG_VERSION == 2, "args.c fills version 2");

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

static int32_t saturate(int64_t value)
{
    return (int32_t)(value < -UNBOUNDED ? -UNBOUNDED : value > UNBOUNDED ? UNBOUNDED : value);
}

/* One side of the interval; `from_end` asks for seq_k - seq_q to be added. */
static int32_t key_bound(const struct aothip_attn_fwd_params *p, int64_t value, int from_end,
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

struct args_keys args_visible_keys(const struct aothip_attn_fwd_params *p)
{
    struct args_keys keys = {-UNBOUNDED, UNBOUNDED, 0};
    const int32_t mask = p->mask;
    if (mask == AOTHIP_MASK_CAUSAL_TOP_LEFT)
        keys.last = 0;
    else if (mask == AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT)
        keys.last = key_bound(p, 0, 1, KERNARG_LAST_FROM_END, &keys.flags);
    else if (mask != AOTHIP_MASK_NONE) {
        keys.first = key_bound(p, -window(p->window_left), mask == AOTHIP_MASK_WINDOW_BOTTOM_RIGHT,
                               KERNARG_FIRST_FROM_END, &keys.flags);
        keys.last = key_bound(p, window(p->window_right), mask != AOTHIP_MASK_WINDOW_TOP_LEFT,
                              KERNARG_LAST_FROM_END, &keys.flags);
    }
    return keys;
}

/*
 * A dimension of size 1 has no stride of its own, and callers may leave anything there: the kernel
 * gets 0, or a packed row for the sequence, so that no address computed ahead of time runs wild.
 */
struct kernarg_strides args_strides(const struct aothip_tensor *tensor)
{
    struct kernarg_strides result = {
        .batch = tensor->size[0] == 1 ? 0 : tensor->stride[0],
        .head = tensor->size[1] == 1 ? 0 : tensor->stride[1],
        .seq = tensor->size[2] == 1 ? tensor->size[3] : tensor->stride[2],
    };
    return result;
}

struct kernarg_tensor args_tensor(const struct aothip_tensor *tensor)
{
    struct kernarg_tensor result = {.data = (uintptr_t)tensor->data};
    for (int i = 0; i < 4; i++)
        result.stride[i] = tensor->size[i] == 1 ? 0 : tensor->stride[i];
    return result;
}

/* A shift where a division would cost a fifth of all that the library does in a call. */
uint32_t args_count_tiles(uint32_t rows, uint32_t tile)
{
    rows += tile - 1;
    return tile & (tile - 1) ? rows / tile : rows >> __builtin_ctz(tile);
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

/*
 * Clears kernel arguments through the C library, whose memset takes a fifth of the time of the
 * string instruction that compilers put in place of one of known size.
 */
static void clear(void *memory, size_t size)
{
    __asm__("" : "+r"(size));
    memset(memory, 0, size);
}

void args_plain_problem(const struct aothip_attn_fwd_params *p, struct attn_problem *a)
{
    const struct args_keys keys = args_visible_keys(p);
    const int64_t *q = p->q.size, *k = p->k.size;
    a->q = (uintptr_t)p->q.data;
    a->k = (uintptr_t)p->k.data;
    a->v = (uintptr_t)p->v.data;
    a->q_stride = args_strides(&p->q);
    a->k_stride = args_strides(&p->k);
    a->v_stride = args_strides(&p->v);
    a->batch = (int32_t)q[0];
    a->heads_q = (int32_t)q[1];
    a->heads_k = (int32_t)k[1];
    a->group = k[1] ? (int32_t)((uint32_t)q[1] / (uint32_t)k[1]) : 0;
    a->seq_q = a->q_seqs.max = a->q_seqs.rows = (int32_t)q[2];
    a->seq_k = a->k_seqs.max = a->k_seqs.rows = (int32_t)k[2];
    a->dim_qk = (int32_t)q[3];
    a->dim_v = (int32_t)p->v.size[3];
    a->scale = p->scale;
    a->key_first = keys.first;
    a->key_last = keys.last;
    a->flags = keys.flags;
    a->lse_unit = 1;
    a->lse_stride.batch = q[1] * q[2];
    a->lse_stride.head = q[2];
    a->lse_stride.seq = 1;
    a->lse_size = shape_lse_elements(p);
}

static void fill_seqs(const struct aothip_seqs *from, struct kernarg_seqs *to)
{
    to->cumulative = (uintptr_t)from->cumulative;
    to->lengths = (uintptr_t)from->lengths;
    to->starts = (uintptr_t)from->starts;
    to->packed = from->packed;
}

static void fill_lse(const struct aothip_attn_fwd_params *p, struct attn_problem *a)
{
    const int64_t heads = p->q.size[1], total = p->q.size[2];
    struct kernarg_strides *stride = &a->lse_stride;
    switch (p->lse_layout) {
    case AOTHIP_LSE_ROWS:
        *stride = (struct kernarg_strides){heads * shape_max_q(p), shape_max_q(p), 1};
        break;
    case AOTHIP_LSE_TOTAL:
        *stride = (struct kernarg_strides){p->q_seqs.packed ? 0 : heads * shape_max_q(p), 1, heads};
        break;
    default:
        *stride = (struct kernarg_strides){0, total, 1};
    }
    if (p->lse_layout != AOTHIP_LSE_ROWS && p->q_seqs.packed)
        a->flags |= KERNARG_LSE_PACKED;
    if (p->lse_layout == AOTHIP_LSE_HEADS_COMPACT)
        a->flags |= KERNARG_LSE_PITCH_READ;
    a->lse_unit = p->lse_base2 ? log2_e : 1;
    a->lse_size = p->lse_size ? p->lse_size : shape_lse_elements(p);
}

/*
 * keep iff word > threshold; p = 1 must keep nothing, so the conversion saturates. In single
 * precision like the kernels whose masks these are: 0xFFFFFFFF is 2^32 there.
 */
static int32_t dropout_threshold(float p)
{
    const float scaled = (p - 0.5f) * 4294967296.0f;
    return scaled >= 2147483648.0f ? INT32_MAX : (int32_t)scaled;
}

static void fill_dropout(const struct aothip_attn_fwd_params *p, struct attn_problem *a)
{
    const int unknown = p->k_seqs.packed && !p->k_seqs.max;
    if (p->dropout_p == 0)
        return;
    a->flags |= KERNARG_DROPOUT;
    a->dropout_scale = p->dropout_p < 1 ? 1 / (1 - p->dropout_p) : 0;
    a->dropout_threshold = dropout_threshold(p->dropout_p);
    a->dropout_seed = p->dropout_seed;
    a->dropout_offset = p->dropout_offset;
    a->dropout_seed_pointer = (uintptr_t)p->dropout_seed_pointer;
    a->dropout_offset_pointer = (uintptr_t)p->dropout_offset_pointer;
    a->dropout_row_pitch = unknown ? 1 << 28 : (shape_max_k(p) + 3) / 4;
    a->dropout_head_pitch = a->dropout_row_pitch * shape_max_q(p);
}

static void fill_scores(const struct aothip_attn_fwd_params *p, struct attn_problem *a)
{
    if (p->bias.data) {
        a->bias = args_tensor(&p->bias);
        a->flags |= p->bias.dtype == AOTHIP_F32 ? KERNARG_BIAS_F32 : 0;
    }
    if (p->keep.data)
        a->keep = args_tensor(&p->keep);
    a->alibi = (uintptr_t)p->alibi_slopes;
    a->alibi_stride = p->alibi_stride;
    a->softcap = p->softcap;
    a->sinks = (uintptr_t)p->sinks;
    fill_dropout(p, a);
}

void args_problem(const struct aothip_attn_fwd_params *p, struct attn_problem *a)
{
    clear(a, sizeof(*a));
    args_plain_problem(p, a);
    a->batch = (int32_t)shape_sequences(p);
    a->seq_q = (int32_t)shape_grid_q(p);
    a->k_seqs.max = (int32_t)shape_length_k(p);
    a->k_seqs.rows = (int32_t)shape_rows_k(p);
    a->k_seqs.extra = (int32_t)shape_new_rows(p);
    a->seq_k = (int32_t)shape_length_k(p);
    fill_seqs(&p->q_seqs, &a->q_seqs);
    fill_seqs(&p->k_seqs, &a->k_seqs);
    a->flags |= p->index64 ? KERNARG_INDEX64 : 0;
    fill_lse(p, a);
    fill_scores(p, a);
    a->block_table = (uintptr_t)p->block_table;
    a->block_table_stride = p->block_table_stride;
    a->batch_index = (uintptr_t)p->batch_index;
    if (p->block_table)
        a->page_shift = __builtin_ctz((uint32_t)p->k.size[2]);
}

enum aothip_status args_attn_fwd(const struct aothip_attn_fwd_params *params, int plain,
                                 const struct format_entry *entry, struct attn_fwd_args *args,
                                 struct args_grid *grid, struct status *why)
{
    const uint64_t tiles = args_count_tiles((uint32_t)shape_grid_q(params), entry->tile_q);
    if (args_make_grid(tiles * (uint64_t)params->q.size[1], (uint64_t)shape_sequences(params),
                       entry, grid, why))
        return why->code;
    if (plain) {
        clear(args, sizeof(*args));
        args_plain_problem(params, &args->problem);
    } else {
        args_problem(params, &args->problem);
        args->seed_output = args->offset_output = 0;
        if (params->dropout_p > 0) {
            args->seed_output = (uintptr_t)params->dropout_seed_output;
            args->offset_output = (uintptr_t)params->dropout_offset_output;
        }
    }
    args->problem.grid_y = (int32_t)grid->y;
    args->o = (uintptr_t)params->o.data;
    args->o_stride = args_strides(&params->o);
    args->lse = (uintptr_t)params->lse;
    return AOTHIP_OK;
}
