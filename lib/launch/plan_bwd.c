/* Plans the launches of the backward pass. */
#include "plan.h"

#include "select.h"
#include "shape.h"

/* What one launch of the backward pass touches; alignment counts for all of them. */
struct step {
    enum format_op op;
    const struct aothip_tensor *tensors[7];
    int count;
};

static enum aothip_status add_step(struct plan *plan, const struct step *step,
                                   const struct aothip_attn_bwd_params *b,
                                   const struct aothip_attn_fwd_params *p, uint64_t delta,
                                   struct status *why)
{
    const struct select_need need = select_need_other(step->op, p, step->tensors, step->count);
    struct plan_launch *launch = plan_next(plan, &need, why);
    if (!launch || args_attn_bwd(b, p, delta, &plan->device->images->entries[launch->entry],
                                 &launch->args.bwd, &launch->grid, why))
        return why->code;
    if (!launch->grid.x || !launch->grid.y)
        return AOTHIP_OK;
    return plan_add(plan, sizeof(launch->args.bwd), why);
}

/* dsinks sums over the batch and dalibi may not, so each has a launch with a grid of its own. */
static enum aothip_status add_scalars(struct plan *plan, const struct aothip_attn_bwd_params *b,
                                      const struct aothip_attn_fwd_params *p, uint64_t delta,
                                      struct status *why)
{
    const struct step step = {FORMAT_OP_ATTN_BWD_DSCALAR, {&p->q, &p->k, &p->v, &p->o, &b->d_o}, 5};
    struct aothip_attn_bwd_params one = *b;
    if (b->dsinks) {
        one.dalibi = NULL;
        if (add_step(plan, &step, &one, p, delta, why))
            return why->code;
    }
    if (b->dalibi) {
        one.dalibi = b->dalibi;
        one.dsinks = NULL;
        return add_step(plan, &step, &one, p, delta, why);
    }
    return AOTHIP_OK;
}

/* Whether the launch added last writes dbias beside what it is for. */
static int has_dbias(const struct plan *plan, const struct aothip_attn_bwd_params *b,
                     const struct aothip_attn_fwd_params *p)
{
    const struct format_entry *entries = plan->device->images->entries;
    return plan->count && args_dbias_beside(b, p, &entries[plan->launches[plan->count - 1].entry]);
}

size_t plan_bwd_workspace(const struct validate_bwd *checked)
{
    const int64_t elements = shape_lse_room(checked->fwd.params);
    return checked->params->delta ? 0 : (size_t)elements * sizeof(float);
}

enum aothip_status plan_attn_bwd(struct plan *plan, const struct validate_bwd *checked,
                                 struct status *why)
{
    const struct aothip_attn_bwd_params *b = checked->params;
    const struct aothip_attn_fwd_params *p = checked->fwd.params;
    const size_t wanted = plan_bwd_workspace(checked), room = b->workspace ? b->workspace_size : 0;
    const uint64_t delta = (uintptr_t)(b->delta ? (void *)b->delta : b->workspace);
    const struct step delta_step = {FORMAT_OP_ATTN_BWD_DELTA, {&p->o, &b->d_o}, 2};
    const struct step dkdv_step = {
        FORMAT_OP_ATTN_BWD_DKDV, {&p->q, &p->k, &p->v, &b->d_o, &b->dk, &b->dv}, 6};
    const struct step dq_step = {FORMAT_OP_ATTN_BWD_DQ, {&p->q, &p->k, &p->v, &b->d_o, &b->dq}, 5};
    const struct step dbias_step = {FORMAT_OP_ATTN_BWD_DBIAS, {&p->q, &p->k, &p->v, &b->d_o}, 4};
    if (wanted > room)
        return status_set(why, AOTHIP_E_ARGUMENT,
                          "workspace: delta is NULL and needs %zu bytes, but workspace_size is "
                          "%zu%s",
                          wanted, b->workspace_size, b->workspace ? "" : " and workspace NULL");
    if (!shape_sequences(p) || !p->q.size[1])
        return AOTHIP_OK;
    if (add_step(plan, &delta_step, b, p, delta, why))
        return why->code;
    if ((b->dk.data || b->dv.data) && add_step(plan, &dkdv_step, b, p, delta, why))
        return why->code;
    if (b->dq.data && add_step(plan, &dq_step, b, p, delta, why))
        return why->code;
    if (b->dbias.data && !has_dbias(plan, b, p) && add_step(plan, &dbias_step, b, p, delta, why))
        return why->code;
    return add_scalars(plan, b, p, delta, why);
}
