/*
 * All launches of a call, in stream order: kernels selected and loaded and arguments filled before
 * the first one is launched, so that a call that cannot be computed has launched nothing.
 */
#ifndef AOTHIP_PLAN_H
#define AOTHIP_PLAN_H

#include "args.h"
#include "module.h"
#include "select.h"
#include "validate.h"

enum { PLAN_MAX = 7 }; /* the backward pass with all gradients */

struct plan_launch {
    uint32_t entry; /* of the device's images */
    hipFunction_t function;
    struct args_grid grid;
    size_t args_size;
    union args_any args;
};

struct plan {
    struct aothip_context *context;
    const struct hip *hip;
    struct module_device *device;
    int watched;  /* see module_enter() */
    int captured; /* see module_is_captured(); looked at with a limit only */
    hipStream_t stream;
    unsigned count;
    struct plan_launch launches[PLAN_MAX];
};

/*
 * Finds the runtime and the device of `stream`. Whatever comes of it and of the rest, plan_end()
 * must follow. Errors: those of module_enter().
 */
static inline enum aothip_status plan_begin(struct plan *plan, struct aothip_context *context,
                                            hipStream_t stream, struct status *why)
{
    plan->context = context;
    plan->stream = stream;
    plan->count = 0;
    if (module_enter(context, stream, &plan->hip, &plan->device, &plan->watched, why))
        return why->code;
    plan->captured = plan->device->limit && module_is_captured(plan->hip, stream);
    return AOTHIP_OK;
}

/*
 * Each adds the launches of a valid problem; there may be none.
 * Errors: ARGUMENT (workspace too small), UNSUPPORTED, those of module_load().
 */
enum aothip_status plan_attn_fwd(struct plan *plan, const struct validate_fwd *checked,
                                 struct status *why);
enum aothip_status plan_attn_probs(struct plan *plan, const struct aothip_attn_fwd_params *params,
                                   struct status *why);
enum aothip_status plan_attn_bwd(struct plan *plan, const struct validate_bwd *checked,
                                 struct status *why);
enum aothip_status plan_attn_merge(struct plan *plan, const struct aothip_attn_merge_params *params,
                                   struct status *why);

/* Says in terms of the arguments why there is no entry for a need. */
void plan_refuse(const struct plan *plan, const struct select_need *need, struct status *why)
    __attribute__((cold));

/* The next launch, with its entry selected, or NULL. Counts once it is added. */
static inline struct plan_launch *plan_next(struct plan *plan, const struct select_need *need,
                                            struct status *why)
{
    struct plan_launch *launch = &plan->launches[plan->count];
    const int entry = select_entry(plan->device->index, need);
    if (entry < 0) {
        plan_refuse(plan, need, why);
        return NULL;
    }
    launch->entry = (uint32_t)entry;
    return launch;
}

/* Adds the next launch, whose arguments of `args_size` bytes are filled, and loads its kernel. */
static inline enum aothip_status plan_add(struct plan *plan, size_t args_size, struct status *why)
{
    struct plan_launch *launch = &plan->launches[plan->count];
    launch->args_size = args_size;
    if (module_function(plan->context, plan->hip, plan->device, launch->entry, plan->captured,
                        &launch->function, why))
        return why->code;
    plan->count++;
    return AOTHIP_OK;
}

/* Lets go of the kernels. */
static inline void plan_end(struct plan *plan)
{
    if (!plan->device || !plan->device->limit)
        return;
    if (plan->count && !plan->captured)
        module_note_launch(plan->context, plan->hip, plan->device, plan->stream);
    for (unsigned i = 0; i < plan->count; i++)
        module_unpin(plan->device, plan->launches[i].entry);
}

/* Bytes of workspace of use in a valid problem on the plan's device. */
size_t plan_fwd_workspace(const struct plan *plan, const struct aothip_attn_fwd_params *params);
size_t plan_bwd_workspace(const struct plan *plan, const struct validate_bwd *checked);

/* How many workgroups share a walk of the backward pass; one function of problem and device. */
struct args_parts plan_bwd_parts(const struct plan *plan, const struct aothip_attn_bwd_params *b,
                                 const struct aothip_attn_fwd_params *p,
                                 const struct select_need *dkdv, const struct select_need *dq);

/*
 * Whether attn_bwd_fused, which needs `fused`, is taken instead of attn_bwd_dkdv and attn_bwd_dq:
 * where it takes less time and the caller or AOTHIP_ATOMICS allows atomic sums. One function of
 * problem and device.
 */
int plan_bwd_fuses(const struct plan *plan, const struct aothip_attn_bwd_params *b,
                   const struct aothip_attn_fwd_params *p, const struct select_need *fused);

#endif
