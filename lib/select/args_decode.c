/*
 * Fills the arguments of what runs beside attn_fwd: split keys, a growing cache, probs, partial
 * results; and what FP8 adds to them. Pure.
 */
#include "args.h"

#include <string.h>

#include "shape.h"

static struct kernarg_scale scale_of(const struct aothip_scale *scale)
{
    if (!scale->data)
        return (struct kernarg_scale){0, 0, 0};
    return (struct kernarg_scale){(uintptr_t)scale->data, scale->stride[0], scale->stride[1]};
}

void args_fp8(const struct aothip_attn_fwd_params *p, struct kernarg_fp8 *fp8)
{
    *fp8 = (struct kernarg_fp8){scale_of(&p->q_scale), scale_of(&p->k_scale), scale_of(&p->v_scale),
                                p->k.dtype, p->o.dtype, p->q.dtype, 0};
}

enum { PART_ALIGNMENT = 256 }; /* bytes: no two parts of the workspace share a cache line */

/* Adds a part of `count` elements; where its size overflows, so will that of all. */
static uint64_t add_part(struct args_workspace *workspace, unsigned __int128 count, uint64_t bytes)
{
    const uint64_t begin = workspace->size;
    unsigned __int128 end = begin + count * bytes;
    end = (end + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
    workspace->size = end > SIZE_MAX ? SIZE_MAX / PART_ALIGNMENT * PART_ALIGNMENT : (uint64_t)end;
    return begin;
}

struct args_workspace args_fwd_workspace(const struct aothip_attn_fwd_params *p, int32_t splits)
{
    /* each below 2^30 */
    const unsigned __int128 heads = (unsigned __int128)shape_sequences(p) * (uint64_t)p->q.size[1];
    const unsigned __int128 rows = heads * (uint64_t)shape_grid_q(p);
    struct args_workspace workspace = {0, 0, 0, 0};
    if (p->rotary_cos)
        workspace.q = add_part(&workspace, heads * (uint64_t)p->q.size[2] * (uint64_t)p->q.size[3],
                               p->q.dtype == AOTHIP_F32 ? 4 : 2);
    if (splits > 1) {
        workspace.partial_o =
            add_part(&workspace, rows * (uint64_t)splits * (uint64_t)p->v.size[3], 4);
        workspace.partial_sums = add_part(&workspace, rows * (uint64_t)splits, 8);
    }
    return workspace;
}

struct aothip_tensor args_rotated_q(const struct aothip_attn_fwd_params *p,
                                    const struct args_workspace *workspace)
{
    struct aothip_tensor q = {.data = (void *)((uintptr_t)p->workspace + workspace->q),
                              .dtype = p->q.dtype};
    memcpy(q.size, p->q.size, sizeof(q.size));
    q.stride[3] = 1;
    q.stride[2] = q.size[3];
    q.stride[1] = q.size[2] * q.stride[2];
    q.stride[0] = q.size[1] * q.stride[1];
    return q;
}

/* log2 of the parts that a row of attn_merge has. */
static int32_t merge_shift(int64_t dim)
{
    return (dim > KERNARG_MERGE_PART) + (dim > 2 * KERNARG_MERGE_PART);
}

/* Workgroups of attn_merge for so many rows, those of all heads of a sequence. */
static uint64_t merge_workgroups(uint64_t rows, int64_t dim, uint32_t threads)
{
    const uint64_t lanes = (rows << merge_shift(dim)) * KERNARG_MERGE_LANES;
    return (lanes + threads - 1) / threads;
}

enum aothip_status args_attn_split(const struct aothip_attn_fwd_params *p,
                                   const struct args_workspace *workspace, int32_t splits,
                                   int merge, const struct format_entry *entry,
                                   struct attn_split_args *args, struct args_grid *grid,
                                   struct status *why)
{
    const uint64_t heads_k = (uint64_t)p->k.size[1], rows = (uint64_t)shape_grid_q(p);
    const uint64_t heads_q = (uint64_t)p->q.size[1];
    const uint64_t group_rows = rows * (heads_q / heads_k);
    const uint64_t tiles = (group_rows + entry->tile_q - 1) / entry->tile_q;
    const uintptr_t base = (uintptr_t)p->workspace;
    if (args_make_grid(merge ? merge_workgroups(heads_q * rows, p->v.size[3], entry->threads)
                             : tiles * heads_k * (uint64_t)splits,
                       (uint64_t)shape_sequences(p), entry, grid, why))
        return why->code;
    memset(args, 0, sizeof(*args));
    args_problem(p, &args->fwd.problem);
    args->fwd.problem.flags |= args_likeness(p);
    args->fwd.problem.grid_y = (int32_t)grid->y;
    args->fwd.o = (uintptr_t)p->o.data;
    args->fwd.o_stride = args_strides(&p->o);
    args->fwd.lse = (uintptr_t)p->lse;
    if (p->dropout_p > 0) {
        args->fwd.seed_output = (uintptr_t)p->dropout_seed_output;
        args->fwd.offset_output = (uintptr_t)p->dropout_offset_output;
    }
    args->partial_o = base + workspace->partial_o;
    args->partial_sums = base + workspace->partial_sums;
    args->splits = splits;
    args->merge_shift = merge_shift(p->v.size[3]);
    return AOTHIP_OK;
}

enum aothip_status args_attn_append(const struct aothip_attn_fwd_params *p,
                                    const struct args_workspace *workspace,
                                    const struct format_entry *entry, struct attn_append_args *args,
                                    struct args_grid *grid, struct status *why)
{
    const int64_t new_rows = shape_new_rows(p);
    const int64_t q_rows = p->rotary_cos ? p->q.size[1] * p->q.size[2] : 0;
    if (args_make_grid((uint64_t)(q_rows + p->k.size[1] * new_rows), (uint64_t)shape_sequences(p),
                       entry, grid, why))
        return why->code;
    memset(args, 0, sizeof(*args));
    args_problem(p, &args->problem);
    args->problem.grid_y = (int32_t)grid->y;
    if (new_rows) {
        args->k_new = (uintptr_t)p->k_new.data;
        args->v_new = (uintptr_t)p->v_new.data;
        args->k_new_stride = args_strides(&p->k_new);
        args->v_new_stride = args_strides(&p->v_new);
        args->rows = (int32_t)new_rows;
    }
    if (p->rotary_cos) {
        args->problem.seq_q = (int32_t)p->q.size[2]; /* also those that no launch covers */
        args->q_out = (uintptr_t)args_rotated_q(p, workspace).data;
        args->rotary_cos = (uintptr_t)p->rotary_cos;
        args->rotary_sin = (uintptr_t)p->rotary_sin;
        args->rotary_stride = p->rotary_stride;
        args->rotary_dim = p->rotary_dim;
        args->rotary_rows = p->rotary_rows;
        args->problem.flags |= p->rotary_interleaved ? KERNARG_ROTARY_INTERLEAVED : 0;
        args->problem.flags |= p->mask == AOTHIP_MASK_NONE ? KERNARG_ROTARY_CONSTANT_Q : 0;
    }
    return AOTHIP_OK;
}

enum aothip_status args_attn_probs(const struct aothip_attn_fwd_params *p,
                                   const struct format_entry *entry, struct attn_probs_args *args,
                                   struct args_grid *grid, struct status *why)
{
    const int64_t covered = shape_grid_q(p);
    const int64_t rows = p->probs.size[2] < covered ? p->probs.size[2] : covered;
    const uint64_t runs = args_count_tiles((uint32_t)p->probs.size[3], entry->threads);
    if (args_make_grid((uint64_t)(p->q.size[1] * rows) * runs, (uint64_t)shape_sequences(p), entry,
                       grid, why))
        return why->code;
    args_problem(p, &args->problem);
    args->problem.grid_y = (int32_t)grid->y;
    args->problem.seq_q = (int32_t)rows;
    args->problem.flags |= p->probs_dropped ? KERNARG_PROBS_DROPPED : 0;
    args->lse = (uintptr_t)p->lse;
    args->probs = args_tensor(&p->probs);
    args->probs_k = (int32_t)p->probs.size[3];
    args->probs_dtype = p->probs.dtype;
    return AOTHIP_OK;
}

enum aothip_status args_attn_merge(const struct aothip_attn_merge_params *p,
                                   const struct format_entry *entry,
                                   struct attn_merge_part_args *args, struct args_grid *grid,
                                   struct status *why)
{
    const uint64_t tiles = args_count_tiles((uint32_t)p->o.size[2], entry->tile_q);
    if (args_make_grid(tiles * (uint64_t)p->o.size[1], (uint64_t)p->o.size[0], entry, grid, why))
        return why->code;
    *args = (struct attn_merge_part_args){
        .o = (uintptr_t)p->o.data,
        .part_o = (uintptr_t)p->part_o.data,
        .lse = (uintptr_t)p->lse.data,
        .part_lse = (uintptr_t)p->part_lse.data,
        .o_stride = args_strides(&p->o),
        .part_o_stride = args_strides(&p->part_o),
        .lse_stride = args_strides(&p->lse),
        .part_lse_stride = args_strides(&p->part_lse),
        .batch = (int32_t)p->o.size[0],
        .heads = (int32_t)p->o.size[1],
        .seq_q = (int32_t)p->o.size[2],
        .dim = (int32_t)p->o.size[3],
        .grid_y = (int32_t)grid->y,
        .flags = (p->o.dtype == AOTHIP_F32 ? KERNARG_PART_O_F32 : 0u) |
                 (p->lse_base2 ? KERNARG_PART_BASE2 : 0u),
    };
    return AOTHIP_OK;
}
