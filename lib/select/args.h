/* From tensors to what the GPU reads: kernarg bytes and grid. Pure. */
#ifndef AOTHIP_ARGS_H
#define AOTHIP_ARGS_H

#include "format.h"
#include "kernarg_fp8.h"
#include "kernarg_part.h"
#include "kernarg_share.h"
#include "status.h"

/* The arguments of any kernel; all but the last begin with the problem. */
union args_any {
    struct attn_problem problem;
    struct attn_fwd_args fwd;
    struct attn_fwd_fp8_args fwd_fp8;
    struct attn_split_args split;
    struct attn_split_fp8_args split_fp8;
    struct attn_append_args append;
    struct attn_append_fp8_args append_fp8;
    struct attn_probs_args probs;
    struct attn_bwd_args bwd;
    struct attn_bwd_share_args share;
    struct attn_merge_part_args part;
};

/*
 * Row m sees the keys [max(0, m + first), min(seq_k - 1, m + last)]; KERNARG_FIRST_FROM_END and
 * KERNARG_LAST_FROM_END in `flags` add seq_k - seq_q where only the GPU knows the lengths.
 */
struct args_keys {
    int32_t first, last; /* in [-2^30, 2^30] */
    uint32_t flags;
};

/* The interval of `params`. */
struct args_keys args_visible_keys(const struct aothip_attn_fwd_params *params);

/* A tile of R rows sees, of the other side, at most this and R rows more. */
int64_t args_window(const struct aothip_attn_fwd_params *params);

/* Workgroups along each axis and threads of a workgroup. */
struct args_grid {
    uint32_t x, y, z, threads;
};

/* Whether all sequences of a side have as many rows as there is room for. */
int args_dense(const struct aothip_seqs *seqs, int64_t rows);

/*
 * KERNARG_ALIKE or nothing, of sequences that are neither in pages nor appended to. The lse has
 * less than 2^32 bytes, too.
 */
uint32_t args_likeness(const struct aothip_attn_fwd_params *params);

/*
 * A grid of `workgroups` along x, and `batch` along y and z together.
 * Errors: UNSUPPORTED (more threads than a launch can have).
 */
enum aothip_status args_make_grid(uint64_t workgroups, uint64_t batch,
                                  const struct format_entry *entry, struct args_grid *grid,
                                  struct status *why);

/* In which order the workgroups of a launch begin (gen/kernel/deal.h). */
struct args_order {
    uint32_t run;      /* workgroups, at least, whose heads go before others; 0: all go together */
    uint64_t together; /* with fewer than these all sequences, too, go together if causal */
};

/* A launch of fewer runs has none. */
enum { ARGS_RUNS_MIN = 2 };

/* Tiles of heads that are dealt to workgroups. */
struct args_deal {
    uint64_t tiles; /* of each head of each sequence */
    uint32_t heads;
    uint32_t group; /* heads that stay together */
    uint64_t sequences;
    struct args_order order;
};

/* That of a GPU, for a problem. */
static inline struct args_order args_order_of(const struct aothip_attn_fwd_params *params,
                                              const struct args_order *order)
{
    const int causal = params->mask == AOTHIP_MASK_CAUSAL_TOP_LEFT ||
                       params->mask == AOTHIP_MASK_CAUSAL_BOTTOM_RIGHT;
    return (struct args_order){order->run, causal ? order->together : 0};
}

/* A grid with the heads in runs where there are several. Errors: as args_make_grid(). */
enum aothip_status args_deal_grid(const struct args_deal *deal, const struct format_entry *entry,
                                  struct args_grid *grid, struct status *why);

/* What kernels have to know of such a grid. */
void args_fill_deal(const struct args_deal *deal, const struct args_grid *grid,
                    struct attn_problem *problem);

/* heads_q / heads_k; a shift where a division would cost a tenth of what the library does. */
static inline uint32_t args_group(const struct aothip_attn_fwd_params *params)
{
    const uint32_t heads_q = (uint32_t)params->q.size[1], heads_k = (uint32_t)params->k.size[1];
    if (heads_k & (heads_k - 1))
        return heads_q / heads_k;
    return heads_k ? heads_q >> __builtin_ctz(heads_k) : 0;
}

/* ceil(rows / tile); a shift where a division would cost a tenth of what the library does. */
static inline uint32_t args_count_tiles(uint32_t rows, uint32_t tile)
{
    rows += tile - 1;
    return tile & (tile - 1) ? rows / tile : rows >> __builtin_ctz(tile);
}

/*
 * What kernels may take for the strides of a tensor. A dimension of size 1 has no stride of its
 * own, and callers may leave anything there: the kernel gets 0, or a packed row for the sequence,
 * so that no address computed ahead of time runs wild.
 */
static inline struct kernarg_strides args_strides(const struct aothip_tensor *tensor)
{
    const int64_t *size = tensor->size, *stride = tensor->stride;
    return (struct kernarg_strides){
        .batch = size[0] == 1 ? 0 : stride[0],
        .head = size[1] == 1 ? 0 : stride[1],
        .seq = size[2] == 1 ? size[3] : stride[2],
    };
}

static inline struct kernarg_tensor args_tensor(const struct aothip_tensor *tensor)
{
    const int64_t *size = tensor->size, *stride = tensor->stride;
    return (struct kernarg_tensor){
        .data = (uintptr_t)tensor->data,
        .stride = {size[0] == 1 ? 0 : stride[0], size[1] == 1 ? 0 : stride[1],
                   size[2] == 1 ? 0 : stride[2], size[3] == 1 ? 0 : stride[3]},
    };
}

/* What stands behind the arguments of a kernel that reads or writes FP8. */
void args_fp8(const struct aothip_attn_fwd_params *params, struct kernarg_fp8 *fp8);

/* Fills *problem for any valid problem, but for grid_y, heads_x and heads_z. */
void args_problem(const struct aothip_attn_fwd_params *params, struct attn_problem *problem);

/*
 * Each fills kernel arguments and grid for a valid problem whose o is not empty. `plain` says that
 * the problem has no options; `order` is that of the GPU. Errors: UNSUPPORTED (more threads
 * than a launch can have).
 */
enum aothip_status args_attn_fwd(const struct aothip_attn_fwd_params *params, int plain,
                                 const struct args_order *order, const struct format_entry *entry,
                                 struct attn_fwd_args *args, struct args_grid *grid,
                                 struct status *why);

/* Where the parts of the workspace lie, in bytes from its begin. */
struct args_workspace {
    uint64_t q;                       /* rotated queries */
    uint64_t partial_o, partial_sums; /* of attn_split */
    uint64_t size;
};

/* `splits` is 1 where keys are not split. */
struct args_workspace args_fwd_workspace(const struct aothip_attn_fwd_params *params,
                                         int32_t splits);

/* The same problem with the rotated queries in the workspace as its q. */
struct aothip_tensor args_rotated_q(const struct aothip_attn_fwd_params *params,
                                    const struct args_workspace *workspace);

/* Of attn_split where `merge` is 0, else of attn_merge. */
enum aothip_status args_attn_split(const struct aothip_attn_fwd_params *params,
                                   const struct args_workspace *workspace, int32_t splits,
                                   int merge, const struct format_entry *entry,
                                   struct attn_split_args *args, struct args_grid *grid,
                                   struct status *why);

enum aothip_status args_attn_append(const struct aothip_attn_fwd_params *params,
                                    const struct args_workspace *workspace,
                                    const struct format_entry *entry, struct attn_append_args *args,
                                    struct args_grid *grid, struct status *why);

enum aothip_status args_attn_probs(const struct aothip_attn_fwd_params *params,
                                   const struct format_entry *entry, struct attn_probs_args *args,
                                   struct args_grid *grid, struct status *why);

/* Of a valid merge whose o is not empty. */
enum aothip_status args_attn_merge(const struct aothip_attn_merge_params *params,
                                   const struct format_entry *entry,
                                   struct attn_merge_part_args *args, struct args_grid *grid,
                                   struct status *why);

/*
 * Whether attn_bwd_dq writes dbias, too, so that no attn_bwd_dbias is wanted: where rows are
 * aligned, where it is summed over nothing, with the same length for all sequences. Not with a
 * soft-cap, for its dS is that before the cap.
 */
int args_dbias_beside(const struct aothip_attn_bwd_params *params,
                      const struct aothip_attn_fwd_params *fwd, const struct format_entry *entry);

/* How many workgroups share the walk over a tile, as attn_bwd_share_args has it; 1: none. */
struct args_parts {
    int32_t keys;        /* of dq */
    int32_t heads, rows; /* of dk and dv */
    int32_t tile_k;      /* keys of a workgroup of dk and dv; any number where none share */
    int32_t atomics;     /* 1: attn_bwd_fused sums dq in the workspace, and none share */
};

/* Whether a kernel of the backward pass reads attn_bwd_share_args, the others attn_bwd_args. */
static inline int args_bwd_shares(enum format_op op)
{
    return op == FORMAT_OP_ATTN_BWD_DKDV || op == FORMAT_OP_ATTN_BWD_DQ ||
           op == FORMAT_OP_ATTN_BWD_SUM || op == FORMAT_OP_ATTN_BWD_FUSED ||
           op == FORMAT_OP_ATTN_BWD_BEGIN;
}

/* What the kernels of the backward pass leave each other, at device addresses. */
struct args_bwd_room {
    struct args_parts parts;
    uint64_t delta, part_dq, part_dk, part_dv; /* 0: none */
};

/*
 * Puts what `params` does not give into a workspace at `base`, which is 16-byte aligned; returns
 * its size.
 */
uint64_t args_bwd_room(const struct aothip_attn_bwd_params *params,
                       const struct aothip_attn_fwd_params *fwd, const struct args_parts *parts,
                       uint64_t base, struct args_bwd_room *room);

/* Workgroups of a kernel of the backward pass that share nothing, all sequences together. */
uint64_t args_bwd_workgroups(const struct aothip_attn_bwd_params *params,
                             const struct aothip_attn_fwd_params *fwd,
                             const struct format_entry *entry);

/*
 * The kernels of the backward pass, which share their arguments: see args_bwd_shares().
 */
enum aothip_status args_attn_bwd(const struct aothip_attn_bwd_params *params,
                                 const struct aothip_attn_fwd_params *fwd,
                                 const struct args_bwd_room *room, const struct args_order *order,
                                 const struct format_entry *entry, struct attn_bwd_share_args *args,
                                 struct args_grid *grid, struct status *why);

#endif
