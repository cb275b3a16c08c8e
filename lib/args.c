/* Fills the kernel argument struct and the grid of a launch. Pure. */
#include "args.h"

/* The layout that every code object in the images was compiled with (FORMAT_KERNARG_VERSION 1). */
_Static_assert(FORMAT_KERNARG_VERSION == 1, "the offsets below are those of version 1");
#define AT(field, offset)                                                                          \
    _Static_assert(offsetof(struct attn_fwd_args, field) == (offset), "kernarg: " #field);
AT(q, 0)
AT(k, 8)
AT(v, 16)
AT(o, 24)
AT(lse, 32)
AT(q_stride, 40)
AT(k_stride, 64)
AT(v_stride, 88)
AT(o_stride, 112)
AT(batch, 136)
AT(heads_q, 140)
AT(heads_k, 144)
AT(group, 148)
AT(seq_q, 152)
AT(seq_k, 156)
AT(dim_qk, 160)
AT(dim_v, 164)
AT(grid_y, 168)
AT(scale, 172)
AT(key_first, 176)
AT(key_last, 180)
_Static_assert(sizeof(struct attn_fwd_args) == 184, "kernarg size");
#undef AT

enum {
    UNBOUNDED = 1 << 30,
    MAX_GRID_YZ = 65535,
};
/* HIP counts threads, not workgroups, along an axis in 32 bits. */
static const uint64_t max_threads_x = UINT32_MAX;

struct args_keys args_visible_keys(const struct aothip_attn_fwd_params *params)
{
    struct args_keys keys = {-UNBOUNDED, UNBOUNDED};
    if (params->mask == AOTHIP_MASK_CAUSAL_TOP_LEFT)
        keys.last = 0;
    else if (params->mask == AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT)
        keys.last = (int32_t)(params->k.size[2] - params->q.size[2]);
    return keys;
}

/*
 * A dimension of size 1 has no stride of its own, and callers may leave anything there: the kernel
 * gets 0, or a packed row for the sequence, so that no address computed ahead of time runs wild.
 */
static struct kernarg_strides strides(const struct aothip_tensor *tensor)
{
    struct kernarg_strides result = {
        .batch = tensor->size[0] == 1 ? 0 : tensor->stride[0],
        .head = tensor->size[1] == 1 ? 0 : tensor->stride[1],
        .seq = tensor->size[2] == 1 ? tensor->size[3] : tensor->stride[2],
    };
    return result;
}

/* A shift where a division would cost a fifth of all that the library does in a call. */
static uint32_t count_tiles(uint32_t rows, uint32_t tile)
{
    rows += tile - 1;
    return tile & (tile - 1) ? rows / tile : rows >> __builtin_ctz(tile);
}

enum aothip_status args_attn_fwd(const struct aothip_attn_fwd_params *params,
                                 const struct format_entry *entry, struct attn_fwd_args *args,
                                 struct args_grid *grid, struct status *why)
{
    const struct args_keys keys = args_visible_keys(params);
    const uint32_t batch = (uint32_t)params->q.size[0], heads = (uint32_t)params->q.size[1];
    const uint32_t tiles = count_tiles((uint32_t)params->q.size[2], entry->tile_q);
    const uint64_t groups = (uint64_t)tiles * heads;
    if (groups * entry->threads > max_threads_x)
        return status_set(why, AOTHIP_E_UNSUPPORTED,
                          "q: %u heads of %u tiles make %llu threads; a launch can have %llu",
                          heads, tiles, (unsigned long long)(groups * entry->threads),
                          (unsigned long long)max_threads_x);
    grid->x = (uint32_t)groups;
    grid->y = batch < MAX_GRID_YZ ? batch : MAX_GRID_YZ;
    grid->z = batch <= MAX_GRID_YZ ? 1 : (batch + MAX_GRID_YZ - 1) / MAX_GRID_YZ;
    grid->threads = entry->threads;

    args->q = (uintptr_t)params->q.data;
    args->k = (uintptr_t)params->k.data;
    args->v = (uintptr_t)params->v.data;
    args->o = (uintptr_t)params->o.data;
    args->lse = (uintptr_t)params->lse;
    args->q_stride = strides(&params->q);
    args->k_stride = strides(&params->k);
    args->v_stride = strides(&params->v);
    args->o_stride = strides(&params->o);
    args->batch = (int32_t)batch;
    args->heads_q = (int32_t)heads;
    args->heads_k = (int32_t)params->k.size[1];
    args->group = args->heads_q / args->heads_k;
    args->seq_q = (int32_t)params->q.size[2];
    args->seq_k = (int32_t)params->k.size[2];
    args->dim_qk = (int32_t)params->q.size[3];
    args->dim_v = (int32_t)params->v.size[3];
    args->grid_y = (int32_t)grid->y;
    args->scale = params->scale;
    args->key_first = keys.first;
    args->key_last = keys.last;
    return AOTHIP_OK;
}
