/* Fills the arguments that the kernels of the backward pass share. Pure. */
#include "args.h"

#include <string.h>

#include "shape.h"

/* Workgroups along x, and entries along y and z, of one kernel. */
struct extent {
    uint64_t workgroups, batch;
};

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
    uint32_t tile_q;
    switch (entry->op) {
    case FORMAT_OP_ATTN_BWD_DKDV:
    case FORMAT_OP_ATTN_BWD_FUSED:
        return (struct extent){args_count_tiles((uint32_t)shape_grid_k(p), entry->tile_k) *
                                   (uint64_t)p->k.size[1],
                               sequences};
    case FORMAT_OP_ATTN_BWD_DBIAS:
        return (struct extent){bias_tiles(dbias[2], entry->tile_q) *
                                   bias_tiles(dbias[3], entry->tile_k) * (uint64_t)dbias[1],
                               (uint64_t)dbias[0]};
    case FORMAT_OP_ATTN_BWD_DSCALAR:
        return (struct extent){heads_q, params->dalibi && p->alibi_stride ? sequences : 1};
    default:
        tile_q = entry->tile_q * (entry->op == FORMAT_OP_ATTN_BWD_BEGIN ? BEGIN_TILES : 1);
        return (struct extent){args_count_tiles((uint32_t)shape_grid_q(p), tile_q) * heads_q,
                               sequences};
    }
}

int args_dbias_beside(const struct aothip_attn_bwd_params *params,
                      const struct aothip_attn_fwd_params *p, const struct format_entry *entry)
{
    const struct aothip_tensor *dbias = &params->dbias;
    const int64_t *size = dbias->size;
    return entry->op == FORMAT_OP_ATTN_BWD_DQ && !(entry->features & FORMAT_FEATURE_UNALIGNED) &&
           dbias->data && !(p->softcap > 0) && args_dense(&p->q_seqs, p->q.size[2]) &&
           args_dense(&p->k_seqs, p->k.size[2]) && size[0] == shape_sequences(p) &&
           size[1] == p->q.size[1] && size[2] == p->q.size[2] && size[3] == p->k.size[2] &&
           shape_most_keys(p) == size[3] && dbias->stride[3] == 1 &&
           dbias->stride[2] <= KERNARG_ALIGNED_STRIDE_MAX;
}

/* Whether rows of x are quads of elements of `size` bytes, each of which is aligned. */
static int has_quads(const struct kernarg_tensor *x, uint32_t size, int32_t keys)
{
    return !((x->data & (4 * size - 1)) |
             ((uint64_t)(x->stride[0] | x->stride[1] | x->stride[2] | keys) & 3));
}

/* attn_bwd_args.terms */
static uint32_t terms_of(const struct attn_bwd_args *args, const struct format_entry *entry)
{
    const struct attn_problem *a = &args->problem;
    const int wide = (a->flags & KERNARG_BIAS_F32) != 0;
    uint32_t terms = 0;
    terms |= a->softcap > 0 ? KERNARG_TERM_SOFTCAP : 0;
    terms |= a->alibi ? KERNARG_TERM_ALIBI : 0;
    terms |= a->bias.data ? KERNARG_TERM_BIAS : 0;
    terms |= a->keep.data ? KERNARG_TERM_KEEP : 0;
    terms |= a->flags & KERNARG_DROPOUT ? KERNARG_TERM_DROPOUT : 0;
    terms |= wide ? KERNARG_TERM_BIAS_F32 : 0;
    terms |= has_quads(&a->bias, wide ? 4 : 2, a->keys_most) ? KERNARG_TERM_BIAS_QUADS : 0;
    terms |= has_quads(&a->keep, 1, a->keys_most) ? KERNARG_TERM_KEEP_QUADS : 0;
    if (entry->op == FORMAT_OP_ATTN_BWD_DQ && args->dbias.data) {
        terms |= wide ? KERNARG_TERM_DBIAS_F32 : KERNARG_TERM_DBIAS;
        terms |= has_quads(&args->dbias, 2, a->keys_most) ? KERNARG_TERM_DBIAS_QUADS : 0;
    }
    return terms;
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
        if (params->dbias.size[2] == 1) /* rows that do not exist shall lie behind its end */
            args->dbias.stride[2] = params->dbias.size[3];
    }
    args->dsinks = (uintptr_t)params->dsinks;
    args->dalibi = (uintptr_t)params->dalibi;
    args->problem.seq_k = (int32_t)shape_grid_k(p);
}

uint64_t args_bwd_workgroups(const struct aothip_attn_bwd_params *params,
                             const struct aothip_attn_fwd_params *p,
                             const struct format_entry *entry)
{
    const struct extent extent = extent_of(params, p, entry);
    return extent.workgroups * extent.batch;
}

/* Bytes of the parts, if any, of a gradient with `rows` rows of each head of each sequence. */
static uint64_t size_of_parts(const struct aothip_tensor *gradient, int64_t sequences, int64_t rows,
                              int32_t parts)
{
    const uint64_t pitch = ((uint64_t)gradient->size[3] + 31) / 32 * 128;
    return parts > 0 && gradient->data ? (uint64_t)sequences * (uint64_t)gradient->size[1] *
                                             (uint64_t)parts * (uint64_t)rows * pitch
                                       : 0;
}

/*
 * Rows that a part of dk and dv has room for: whole tiles, for the sequences may be longer than
 * their caller promised.
 */
static int64_t rows_of_parts(const struct aothip_attn_fwd_params *p, const struct args_parts *parts)
{
    const uint32_t tile = (uint32_t)parts->tile_k;
    return (int64_t)args_count_tiles((uint32_t)shape_grid_k(p), tile) * tile;
}

uint64_t args_bwd_room(const struct aothip_attn_bwd_params *params,
                       const struct aothip_attn_fwd_params *p, const struct args_parts *parts,
                       uint64_t base, struct args_bwd_room *room)
{
    const int64_t n = shape_sequences(p), keys = rows_of_parts(p, parts);
    const int32_t shared = parts->heads * parts->rows > 1 ? parts->heads * parts->rows : 0;
    const int32_t sums = parts->keys > 1 || parts->atomics ? parts->keys : 0;
    const int64_t rows = parts->atomics ? (shape_grid_q(p) + 31) / 32 * 32 : shape_grid_q(p);
    const uint64_t dq = size_of_parts(&params->dq, n, rows, sums);
    const uint64_t dk = size_of_parts(&params->dk, n, keys, shared);
    const uint64_t dv = size_of_parts(&params->dv, n, keys, shared);
    uint64_t delta = params->delta ? 0 : (uint64_t)shape_lse_room(p) * sizeof(float);
    room->parts = *parts;
    room->delta = params->delta ? (uintptr_t)params->delta : base;
    if (dq || dk || dv)
        delta = (delta + 15) & ~(uint64_t)15;
    room->part_dq = dq ? base + delta : 0;
    room->part_dk = dk ? base + delta + dq : 0;
    room->part_dv = dv ? base + delta + dq + dk : 0;
    return delta + dq + dk + dv;
}

/* How many workgroups there are in the place of each that would share nothing. */
static uint64_t share(const struct args_bwd_room *room, const struct format_entry *entry)
{
    const struct args_parts *parts = &room->parts;
    if (entry->op == FORMAT_OP_ATTN_BWD_DQ && room->part_dq)
        return (uint64_t)parts->keys;
    if (entry->op == FORMAT_OP_ATTN_BWD_DKDV && (room->part_dk || room->part_dv))
        return (uint64_t)parts->heads * (uint64_t)parts->rows;
    return 1;
}

/* Workgroups of attn_bwd_sum for a head and tile of a gradient. */
static uint64_t slices_of(uint64_t part, int64_t dim)
{
    return part ? ((uint64_t)dim + 63) / 64 : 0;
}

/* The same for a sequence. */
static uint64_t tiles_of_sums(const struct args_bwd_room *room,
                              const struct aothip_attn_fwd_params *p,
                              const struct format_entry *entry)
{
    const uint64_t keys = args_count_tiles((uint32_t)rows_of_parts(p, &room->parts), entry->tile_q);
    const uint32_t tile_q = entry->tile_q * (room->parts.atomics ? DQ_BLOCK_TILES : 1);
    const uint64_t rows = args_count_tiles((uint32_t)shape_grid_q(p), tile_q);
    const int64_t dim_qk = p->q.size[3], dim_v = p->v.size[3];
    return keys * (slices_of(room->part_dk, dim_qk) + slices_of(room->part_dv, dim_v)) *
               (uint64_t)p->k.size[1] +
           rows * slices_of(room->part_dq, dim_qk) * (uint64_t)p->q.size[1];
}

static void fill_parts(const struct args_bwd_room *room, struct attn_bwd_share_args *args)
{
    args->parts_keys = room->parts.keys;
    args->parts_heads = room->parts.heads;
    args->parts_rows = room->parts.rows;
    args->dq_in_blocks = room->parts.atomics;
    args->part_dq = room->part_dq;
    args->part_dk = room->part_dk;
    args->part_dv = room->part_dv;
}

/* The workgroups of a kernel; of one that takes no runs, as tiles of one head. */
static struct args_deal deal_of(const struct aothip_attn_bwd_params *params,
                                const struct aothip_attn_fwd_params *p,
                                const struct args_bwd_room *room, const struct args_order *order,
                                const struct format_entry *entry)
{
    const struct extent extent = extent_of(params, p, entry);
    const int of_keys =
        entry->op == FORMAT_OP_ATTN_BWD_DKDV || entry->op == FORMAT_OP_ATTN_BWD_FUSED;
    struct args_deal deal = {extent.workgroups * share(room, entry), 1, 1, extent.batch, {0, 0}};
    if (entry->op == FORMAT_OP_ATTN_BWD_SUM)
        deal.tiles = tiles_of_sums(room, p, entry);
    if (!of_keys && entry->op != FORMAT_OP_ATTN_BWD_DQ)
        return deal;
    deal.heads = (uint32_t)(of_keys ? p->k.size[1] : p->q.size[1]);
    deal.group = of_keys ? 1 : args_group(p);
    deal.tiles = deal.heads ? deal.tiles / deal.heads : 0;
    deal.order = args_order_of(p, order);
    return deal;
}

enum aothip_status args_attn_bwd(const struct aothip_attn_bwd_params *params,
                                 const struct aothip_attn_fwd_params *fwd,
                                 const struct args_bwd_room *room, const struct args_order *order,
                                 const struct format_entry *entry, struct attn_bwd_share_args *to,
                                 struct args_grid *grid, struct status *why)
{
    struct attn_bwd_args *const args = &to->bwd;
    const struct args_deal deal = deal_of(params, fwd, room, order, entry);
    if (args_deal_grid(&deal, entry, grid, why))
        return why->code;
    memset(to, 0, sizeof(*to));
    args_problem(fwd, &args->problem);
    args_fill_deal(&deal, grid, &args->problem);
    args->o = (uintptr_t)fwd->o.data;
    args->o_stride = args_strides(&fwd->o);
    args->d_o = (uintptr_t)params->d_o.data;
    args->do_stride = args_strides(&params->d_o);
    args->do_channel = params->d_o.size[3] == 1 ? 1 : params->d_o.stride[3];
    args->lse = (uintptr_t)fwd->lse;
    args->delta = room->delta;
    fill_parts(room, to);
    args->tiles_k = (int32_t)args_count_tiles((uint32_t)shape_grid_k(fwd), entry->tile_k);
    fill_outputs(params, fwd, entry, args);
    args->terms = terms_of(args, entry);
    args->problem.flags |= args_likeness(fwd);
    if (room->part_dk || room->part_dv)
        args->problem.seq_k = (int32_t)rows_of_parts(fwd, &room->parts);
    return AOTHIP_OK;
}
