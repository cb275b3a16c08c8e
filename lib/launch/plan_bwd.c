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

static struct select_need need_of(const struct step *step, const struct aothip_attn_fwd_params *p)
{
    return select_need_other(step->op, p, step->tensors, step->count);
}

static enum aothip_status add_step(struct plan *plan, const struct step *step,
                                   const struct aothip_attn_bwd_params *b,
                                   const struct aothip_attn_fwd_params *p,
                                   const struct args_bwd_room *room, struct status *why)
{
    const struct select_need need = need_of(step, p);
    struct plan_launch *launch = plan_next(plan, &need, why);
    if (!launch || args_attn_bwd(b, p, room, &plan->device->order,
                                 &plan->device->images->entries[launch->entry], &launch->args.share,
                                 &launch->grid, why))
        return why->code;
    if (!launch->grid.x || !launch->grid.y)
        return AOTHIP_OK;
    return plan_add(
        plan, args_bwd_shares(step->op) ? sizeof(launch->args.share) : sizeof(launch->args.bwd),
        why);
}

/* dsinks sums over the batch and dalibi may not, so each has a launch with a grid of its own. */
static enum aothip_status add_scalars(struct plan *plan, const struct aothip_attn_bwd_params *b,
                                      const struct aothip_attn_fwd_params *p,
                                      const struct args_bwd_room *room, struct status *why)
{
    const struct step step = {FORMAT_OP_ATTN_BWD_DSCALAR, {&p->q, &p->k, &p->v, &p->o, &b->d_o}, 5};
    struct aothip_attn_bwd_params one = *b;
    if (b->dsinks) {
        one.dalibi = NULL;
        if (add_step(plan, &step, &one, p, room, why))
            return why->code;
    }
    if (b->dalibi) {
        one.dalibi = b->dalibi;
        one.dsinks = NULL;
        return add_step(plan, &step, &one, p, room, why);
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

static struct step dkdv_step(const struct aothip_attn_bwd_params *b,
                             const struct aothip_attn_fwd_params *p)
{
    return (struct step){
        FORMAT_OP_ATTN_BWD_DKDV, {&p->q, &p->k, &p->v, &b->d_o, &b->dk, &b->dv}, 6};
}

static struct step dq_step(const struct aothip_attn_bwd_params *b,
                           const struct aothip_attn_fwd_params *p)
{
    return (struct step){FORMAT_OP_ATTN_BWD_DQ, {&p->q, &p->k, &p->v, &b->d_o, &b->dq}, 5};
}

static struct step fused_step(const struct aothip_attn_bwd_params *b,
                              const struct aothip_attn_fwd_params *p)
{
    return (struct step){
        FORMAT_OP_ATTN_BWD_FUSED, {&p->q, &p->k, &p->v, &b->d_o, &b->dk, &b->dv}, 6};
}

/* Whether dq is summed by atomics. */
static int fuses(const struct plan *plan, const struct aothip_attn_bwd_params *b,
                 const struct aothip_attn_fwd_params *p)
{
    const struct step step = fused_step(b, p);
    const struct select_need need = need_of(&step, p);
    return plan_bwd_fuses(plan, b, p, &need);
}

/* The workspace at `base`, with or without atomic sums; its size. */
static uint64_t plan_room(const struct plan *plan, const struct validate_bwd *checked, int atomics,
                          uint64_t base, struct args_bwd_room *room)
{
    static const struct args_parts fused = {1, 1, 1, 1, 1};
    const struct aothip_attn_bwd_params *b = checked->params;
    const struct aothip_attn_fwd_params *p = checked->fwd.params;
    const struct step steps[] = {dkdv_step(b, p), dq_step(b, p)};
    const struct select_need dkdv = need_of(&steps[0], p), dq = need_of(&steps[1], p);
    const struct args_parts parts = atomics ? fused : plan_bwd_parts(plan, b, p, &dkdv, &dq);
    return args_bwd_room(b, p, &parts, base, room);
}

size_t plan_bwd_workspace(const struct plan *plan, const struct validate_bwd *checked)
{
    struct args_bwd_room room;
    return (size_t)plan_room(plan, checked, fuses(plan, checked->params, checked->fwd.params), 0,
                             &room);
}

/* What fits into the caller's workspace: sums, or delta alone if that is not given. */
static enum aothip_status find_room(const struct plan *plan, const struct validate_bwd *checked,
                                    struct args_bwd_room *room, struct status *why)
{
    static const struct args_parts none = {1, 1, 1, 1, 0};
    const struct aothip_attn_bwd_params *b = checked->params;
    const size_t given = b->workspace ? b->workspace_size : 0;
    const uint64_t base = (uintptr_t)b->workspace;
    size_t least;
    if (given && fuses(plan, b, checked->fwd.params) &&
        plan_room(plan, checked, 1, base, room) <= given)
        return AOTHIP_OK;
    if (given && plan_room(plan, checked, 0, base, room) <= given)
        return AOTHIP_OK;
    least = (size_t)args_bwd_room(b, checked->fwd.params, &none, base, room);
    if (least > given)
        return status_set(why, AOTHIP_E_ARGUMENT,
                          "workspace: delta is NULL and needs %zu bytes, but workspace_size is "
                          "%zu%s",
                          least, b->workspace_size, b->workspace ? "" : " and workspace NULL");
    return AOTHIP_OK;
}

enum aothip_status plan_attn_bwd(struct plan *plan, const struct validate_bwd *checked,
                                 struct status *why)
{
    const struct aothip_attn_bwd_params *b = checked->params;
    const struct aothip_attn_fwd_params *p = checked->fwd.params;
    const struct step delta = {FORMAT_OP_ATTN_BWD_DELTA, {&p->o, &b->d_o}, 2};
    const struct step begin = {FORMAT_OP_ATTN_BWD_BEGIN, {NULL}, 0};
    const struct step dkdv = dkdv_step(b, p), dq = dq_step(b, p), fused = fused_step(b, p);
    const struct step dbias = {FORMAT_OP_ATTN_BWD_DBIAS, {&p->q, &p->k, &p->v, &b->d_o}, 4};
    const struct step sum = {FORMAT_OP_ATTN_BWD_SUM, {NULL}, 0};
    struct args_bwd_room there;
    const struct args_bwd_room *const room = &there;
    if (find_room(plan, checked, &there, why))
        return why->code;
    if (!shape_sequences(p) || !p->q.size[1])
        return AOTHIP_OK;
    if (there.parts.atomics) {
        if (add_step(plan, &begin, b, p, room, why) || add_step(plan, &fused, b, p, room, why) ||
            add_step(plan, &sum, b, p, room, why))
            return why->code;
        return add_scalars(plan, b, p, room, why);
    }
    if (add_step(plan, &delta, b, p, room, why))
        return why->code;
    if ((b->dk.data || b->dv.data) && add_step(plan, &dkdv, b, p, room, why))
        return why->code;
    if (b->dq.data && add_step(plan, &dq, b, p, room, why))
        return why->code;
    if (b->dbias.data && !has_dbias(plan, b, p) && add_step(plan, &dbias, b, p, room, why))
        return why->code;
    if ((there.part_dq || there.part_dk || there.part_dv) && add_step(plan, &sum, b, p, room, why))
        return why->code;
    return add_scalars(plan, b, p, room, why);
}
