/* From tensors to what the GPU reads: kernarg bytes and grid. Pure. */
#ifndef AOTHIP_ARGS_H
#define AOTHIP_ARGS_H

#include "format.h"
#include "kernarg.h"
#include "status.h"

/* Row m sees the keys [max(0, m + first), min(seq_k - 1, m + last)]. */
struct args_keys {
    int32_t first, last;
};

/* The interval of `params`; both ends lie in [-2^30, 2^30]. */
struct args_keys args_visible_keys(const struct aothip_attn_fwd_params *params);

/* Workgroups along each axis and threads of a workgroup. */
struct args_grid {
    uint32_t x, y, z, threads;
};

/*
 * Fills the kernel arguments and the grid for a valid problem whose o is not empty.
 * Errors: UNSUPPORTED (more workgroups than a launch can have).
 */
enum aothip_status args_attn_fwd(const struct aothip_attn_fwd_params *params,
                                 const struct format_entry *entry, struct attn_fwd_args *args,
                                 struct args_grid *grid, struct status *why);

#endif
