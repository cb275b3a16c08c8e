/* Checks the arguments of backward attention; every message names the argument. Pure. */
#include "validate.h"

#include <stddef.h>

#include "shape.h"

/* The fields of the forward problem that the backward pass has no use for. */
static enum aothip_status check_fwd(const struct aothip_attn_fwd_params *p, struct status *why)
{
    if (shape_is_fp8(p->k.dtype))
        return status_set(why, AOTHIP_E_UNSUPPORTED,
                          "fwd: k and v are FP8 (dtype %d), which has no backward pass",
                          p->k.dtype);
    if (p->probs.data)
        return VALIDATE_FAIL("fwd: probs is set, which the backward pass does not compute");
    if (p->dropout_p > 0 && (p->dropout_seed_output || p->dropout_offset_output))
        return VALIDATE_FAIL("fwd: a dropout output is set, which the backward pass does not "
                             "write");
    if (p->block_table || p->batch_index)
        return VALIDATE_FAIL("fwd: %s is set, which has no backward pass",
                             p->block_table ? "block_table" : "batch_index");
    if (p->k_new.data || p->rotary_cos)
        return VALIDATE_FAIL("fwd: %s is set, which has no backward pass",
                             p->k_new.data ? "k_new" : "rotary_cos");
    if (p->splits)
        return VALIDATE_FAIL("fwd: splits is %d, not 0", p->splits);
    if (!p->lse && shape_lse_room(p))
        return VALIDATE_FAIL("fwd: lse is NULL");
    return AOTHIP_OK;
}

/* A tensor with the shape and type of another one; d_o alone may have any channel stride. */
static enum aothip_status check_like(struct validate_view *view, const struct aothip_tensor *model,
                                     const char *model_name, int free_channel, struct status *why)
{
    const struct aothip_tensor *tensor = view->tensor;
    for (int i = 0; i < 4; i++)
        if (validate_equal(tensor, view->name, model, model_name, i, why))
            return why->code;
    if (!free_channel)
        return validate_like_q(view, model->dtype, why);
    if (tensor->dtype != model->dtype)
        return VALIDATE_FAIL("%s: dtype is %d, but %s's is %d", view->name, tensor->dtype,
                             model_name, model->dtype);
    return validate_span(view, why);
}

static enum aothip_status check_dbias(struct validate_view *view,
                                      const struct aothip_attn_fwd_params *p, struct status *why)
{
    if (!p->bias.data)
        return VALIDATE_FAIL("dbias: fwd has no bias");
    return check_like(view, &p->bias, "bias", 1, why);
}

/* dsinks, dalibi, delta and the workspace. */
static enum aothip_status check_arrays(const struct aothip_attn_bwd_params *b,
                                       const struct aothip_attn_fwd_params *p,
                                       struct validate_view *delta, struct status *why)
{
    if (b->dsinks && !p->sinks)
        return VALIDATE_FAIL("dsinks: fwd has no sinks");
    if (b->dalibi && !p->alibi_slopes)
        return VALIDATE_FAIL("dalibi: fwd has no alibi_slopes");
    if (validate_pointer("dsinks", b->dsinks, 4, why) ||
        validate_pointer("dalibi", b->dalibi, 4, why) ||
        validate_pointer("workspace", b->workspace, 16, why))
        return why->code;
    return validate_array(delta, b->delta, shape_lse_room(p), 4, why);
}

static enum aothip_status check_tensors(const struct aothip_attn_bwd_params *b,
                                        const struct aothip_attn_fwd_params *p, struct status *why)
{
    enum { Q, K, V, O, D_O, DQ, DK, DV, DBIAS, LSE, DELTA, VIEWS };
    struct validate_view all[VIEWS] = {
        [Q] = {.name = "q", .tensor = &p->q},
        [K] = {.name = "k", .tensor = &p->k},
        [V] = {.name = "v", .tensor = &p->v},
        [O] = {.name = "o", .tensor = &p->o},
        [D_O] = {.name = "d_o", .tensor = &b->d_o},
        [DQ] = {.name = "dq", .tensor = &b->dq, .written = 1},
        [DK] = {.name = "dk", .tensor = &b->dk, .written = 1},
        [DV] = {.name = "dv", .tensor = &b->dv, .written = 1},
        [DBIAS] = {.name = "dbias", .tensor = &b->dbias, .written = 1},
        [LSE] = {.name = "lse"},
        [DELTA] = {.name = "delta", .written = 1},
    };
    for (int i = Q; i <= O; i++)
        if (validate_span(&all[i], why))
            return why->code;
    if (check_like(&all[D_O], &p->o, "o", 1, why) ||
        (b->dq.data && check_like(&all[DQ], &p->q, "q", 0, why)) ||
        (b->dk.data && check_like(&all[DK], &p->k, "k", 0, why)) ||
        (b->dv.data && check_like(&all[DV], &p->v, "v", 0, why)) ||
        (b->dbias.data && check_dbias(&all[DBIAS], p, why)) ||
        validate_array(&all[LSE], p->lse, shape_lse_room(p), 4, why) ||
        check_arrays(b, p, &all[DELTA], why))
        return why->code;
    return validate_apart(all, VIEWS, why);
}

enum aothip_status validate_attn_bwd(const struct aothip_attn_bwd_params *given,
                                     struct validate_bwd *checked, struct status *why)
{
    const struct aothip_attn_bwd_params *b =
        validate_params(given, offsetof(struct aothip_attn_bwd_params, atomics), &checked->room,
                        sizeof(*given), why);
    if (!b)
        return why->code;
    checked->params = b;
    if (!b->fwd)
        return VALIDATE_FAIL("fwd is NULL");
    if (b->atomics != 0 && b->atomics != 1)
        return VALIDATE_FAIL("atomics is %d, not 0 or 1", b->atomics);
    if (b->reserved)
        return VALIDATE_FAIL("reserved is %d, not 0", b->reserved);
    if (validate_attn_fwd(b->fwd, &checked->fwd, why) || check_fwd(checked->fwd.params, why) ||
        check_tensors(b, checked->fwd.params, why))
        return why->code;
    return AOTHIP_OK;
}
