/* Plans the launch that merges partial results. */
#include "plan.h"

enum aothip_status plan_attn_merge(struct plan *plan, const struct aothip_attn_merge_params *p,
                                   struct status *why)
{
    static const char *const names[] = {
        [AOTHIP_F32] = "F32", [AOTHIP_F16] = "F16", [AOTHIP_BF16] = "BF16"};
    const struct select_need need = select_need_merge(p);
    const int entry = select_entry(plan->device->index, &need);
    struct plan_launch *launch = &plan->launches[plan->count];
    if (!p->o.size[0] || !p->o.size[1] || !p->o.size[2])
        return AOTHIP_OK;
    if (entry < 0)
        return status_set(why, AOTHIP_E_UNSUPPORTED,
                          "o: no kernel %s for %s, head dim %lld of %s in %s",
                          select_op_name(need.op), names[need.dtype], (long long)need.dim,
                          plan->device->target.gpu, plan->device->images->path);
    launch->entry = (uint32_t)entry;
    if (args_attn_merge(p, &plan->device->images->entries[entry], &launch->args.part, &launch->grid,
                        why))
        return why->code;
    return plan_add(plan, sizeof(launch->args.part), why);
}
