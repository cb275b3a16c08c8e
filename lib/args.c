/* Fills the kernel argument struct and the grid of a launch. Pure. */
#include "args.h"

/* The layout that every code object in the images was compiled with. */
_Static_assert(FORMAT_KERNARG_VERSION == 2, "args.c fills version 2");

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

    const struct kernarg_seqs q_seqs = {.max = (int32_t)params->q.size[2],
                                        .rows = (int32_t)params->q.size[2]};
    const struct kernarg_seqs k_seqs = {.max = (int32_t)params->k.size[2],
                                        .rows = (int32_t)params->k.size[2]};
    *args = (struct attn_fwd_args){
        .problem = {.q = (uintptr_t)params->q.data,
                    .k = (uintptr_t)params->k.data,
                    .v = (uintptr_t)params->v.data,
                    .q_stride = strides(&params->q),
                    .k_stride = strides(&params->k),
                    .v_stride = strides(&params->v),
                    .batch = (int32_t)batch,
                    .heads_q = (int32_t)heads,
                    .heads_k = (int32_t)params->k.size[1],
                    .group = (int32_t)(heads / (uint32_t)params->k.size[1]),
                    .seq_q = (int32_t)params->q.size[2],
                    .seq_k = (int32_t)params->k.size[2],
                    .dim_qk = (int32_t)params->q.size[3],
                    .dim_v = (int32_t)params->v.size[3],
                    .grid_y = (int32_t)grid->y,
                    .scale = params->scale,
                    .key_first = keys.first,
                    .key_last = keys.last,
                    .lse_unit = 1,
                    .q_seqs = q_seqs,
                    .k_seqs = k_seqs,
                    .lse_stride = {params->q.size[1] * params->q.size[2], params->q.size[2], 1},
                    .lse_size = params->q.size[0] * params->q.size[1] * params->q.size[2]},
        .o = (uintptr_t)params->o.data,
        .o_stride = strides(&params->o),
        .lse = (uintptr_t)params->lse,
    };
    return AOTHIP_OK;
}
