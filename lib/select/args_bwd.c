/* Fills the arguments that the kernels of the backward pass share. Pure. */
#include "args.h"

#include <string.h>

#include "shape.h"

/* Workgroups along x, and entries along y and z, of one kernel. */
struct extent {
    uint64_t workgroups, batch;
};

/* Keys of the longest sequence, where blocks of keys are shared out. */
static uint32_t grid_k(const struct aothip_attn_fwd_params *p)
{
    const int64_t rows = shape_rows_k(p), max = shape_max_k(p);
    return (uint32_t)(max < rows ? max : rows);
}

/* Tiles along a dimension of dbias; one that is summed over is one tile. */
static uint64_t bias_tiles(int64_t size, uint32_t tile)
{
    return size == 1 ? 1 : args_count_tiles((uint32_t)size, tile);
}

static struct extent extent_of(const struct aothip_attn_bwd_params *params,
                               const struct aothip_attn_fwd_params *p,
                               const struct format_entry *entry)
{
    const uint64_t sequences = (uint64_t)shape_sequences(p), heads_q = (uint64_t)p->q.size[1];
    const int64_t *dbias = params->dbias.size;
    switch (entry->op) {
    case FORMAT_OP_ATTN_BWD_DKDV:
        return (struct extent){args_count_tiles(grid_k(p), entry->tile_k) * (uint64_t)p->k.size[1],
                               sequences};
    case FORMAT_OP_ATTN_BWD_DBIAS:
        return (struct extent){bias_tiles(dbias[2], entry->tile_q) *
                                   bias_tiles(dbias[3], entry->tile_k) * (uint64_t)dbias[1],
                               (uint64_t)dbias[0]};
    case FORMAT_OP_ATTN_BWD_DSCALAR:
        return (struct extent){heads_q, params->dalibi && p->alibi_stride ? sequences : 1};
    default:
        return (struct extent){args_count_tiles((uint32_t)shape_grid_q(p), entry->tile_q) * heads_q,
                               sequences};
    }
}

/* Whether all sequences of a side have as many rows as there is room for. */
static int is_dense(const struct aothip_seqs *seqs, int64_t rows)
{
    return !seqs->packed && !seqs->cumulative && !seqs->lengths && !seqs->starts &&
           (!seqs->max || seqs->max == rows);
}

int args_dbias_beside(const struct aothip_attn_bwd_params *params,
                      const struct aothip_attn_fwd_params *p, const struct format_entry *entry)
{
    const struct aothip_tensor *dbias = &params->dbias;
    const int64_t *size = dbias->size;
    return entry->op == FORMAT_OP_ATTN_BWD_DQ && !(entry->features & FORMAT_FEATURE_UNALIGNED) &&
           dbias->data && !(p->softcap > 0) && is_dense(&p->q_seqs, p->q.size[2]) &&
           is_dense(&p->k_seqs, p->k.size[2]) && size[0] == shape_sequences(p) &&
           size[1] == p->q.size[1] && size[2] == p->q.size[2] && size[3] == p->k.size[2] &&
           shape_most_keys(p) == size[3] && dbias->stride[3] == 1 &&
           dbias->stride[2] <= KERNARG_ALIGNED_STRIDE_MAX;
}

static void fill_outputs(const struct aothip_attn_bwd_params *params,
                         const struct aothip_attn_fwd_params *p, const struct format_entry *entry,
                         struct attn_bwd_args *args)
{
    if (params->dq.data) {
        args->dq = (uintptr_t)params->dq.data;
        args->dq_stride = args_strides(&params->dq);
    }
    if (params->dk.data) {
        args->dk = (uintptr_t)params->dk.data;
        args->dk_stride = args_strides(&params->dk);
    }
    if (params->dv.data) {
        args->dv = (uintptr_t)params->dv.data;
        args->dv_stride = args_strides(&params->dv);
    }
    if (entry->op == FORMAT_OP_ATTN_BWD_DBIAS || args_dbias_beside(params, p, entry)) {
        args->dbias = args_tensor(&params->dbias);
        args->dbias_batch = (int32_t)params->dbias.size[0];
        args->dbias_heads = (int32_t)params->dbias.size[1];
        args->dbias_rows = (int32_t)params->dbias.size[2];
        args->dbias_keys = (int32_t)params->dbias.size[3];
    }
    args->dsinks = (uintptr_t)params->dsinks;
    args->dalibi = (uintptr_t)params->dalibi;
    args->problem.seq_k = (int32_t)grid_k(p);
}

enum aothip_status args_attn_bwd(const struct aothip_attn_bwd_params *params,
                                 const struct aothip_attn_fwd_params *fwd, uint64_t delta,
                                 const struct format_entry *entry, struct attn_bwd_args *args,
                                 struct args_grid *grid, struct status *why)
{
    const struct extent extent = extent_of(params, fwd, entry);
    if (args_make_grid(extent.workgroups, extent.batch, entry, grid, why))
        return why->code;
    memset(args, 0, sizeof(*args));
    args_problem(fwd, &args->problem);
    args->problem.grid_y = (int32_t)grid->y;
    args->o = (uintptr_t)fwd->o.data;
    args->o_stride = args_strides(&fwd->o);
    args->d_o = (uintptr_t)params->d_o.data;
    args->do_stride = args_strides(&params->d_o);
    args->do_channel = params->d_o.size[3] == 1 ? 1 : params->d_o.stride[3];
    args->lse = (uintptr_t)fwd->lse;
    args->delta = delta;
    args->tiles_k = (int32_t)args_count_tiles(grid_k(fwd), entry->tile_k);
    fill_outputs(params, fwd, entry, args);
    return AOTHIP_OK;
}
