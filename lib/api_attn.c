/* The C API: attention. Validate, plan all launches, then launch them. */
#include "capture.h"
#include "plan.h"

/* The problem of a call, for what captures it. */
struct call {
    const struct aothip_attn_fwd_params *fwd;
    const struct aothip_attn_bwd_params *bwd;     /* NULL in the forward pass */
    const struct aothip_attn_merge_params *merge; /* NULL but where it is that, and no problem */
};

static enum aothip_status begin_capture(const char *root, const struct plan *plan,
                                        const struct plan_launch *launch, const struct call *call,
                                        struct capture **capture, struct status *why)
{
    const struct module_kernel *kernel = &plan->device->kernels[launch->entry];
    const struct format_entry *entry = &plan->device->images->entries[launch->entry];
    char target[TARGET_TEXT_MAX];
    struct capture_launch all = {
        .symbol = entry->symbol,
        .target = target_print(&plan->device->target, target),
        .code = kernel->code,
        .code_size = kernel->code_size,
        .kernarg = &launch->args,
        .kernarg_size = launch->args_size,
        .grid = launch->grid,
    };
    if (call->merge)
        capture_describe_merge(&all, &launch->args, call->merge);
    else
        capture_describe(&all, entry->op, &launch->args, call->fwd, call->bwd);
    return capture_begin(root, plan->hip, plan->stream, &all, capture, why);
}

static inline enum aothip_status run_launch(const struct plan *plan, struct plan_launch *launch,
                                            struct status *why)
{
    const struct args_grid *grid = &launch->grid;
    void *parameters[] = {&launch->args};
    const hipError_t error =
        plan->hip->module_launch_kernel(launch->function, grid->x, grid->y, grid->z, grid->threads,
                                        1, 1, 0, plan->stream, parameters, NULL);
    if (error == hipSuccess)
        return AOTHIP_OK;
    return hip_fail_for(plan->hip, plan->device->images->entries[launch->entry].symbol,
                        "hipModuleLaunchKernel", error, why);
}

/*
 * With its line in the log, and written down if that is asked for and the launch is made: what goes
 * into a HIP graph is not, and waiting for its stream would spoil the graph.
 */
static __attribute__((cold)) enum aothip_status run_watched(const struct plan *plan,
                                                            struct plan_launch *launch,
                                                            const struct call *call,
                                                            struct status *why)
{
    const struct args_grid *grid = &launch->grid;
    const char *root = module_capture(plan->context);
    struct capture *capture = NULL;
    if (module_log(plan->context) >= STATUS_LOG_ALL)
        status_print("device %d: launch %s, grid %u x %u x %u of %u threads", plan->device->number,
                     plan->device->images->entries[launch->entry].symbol, grid->x, grid->y, grid->z,
                     grid->threads);
    if (root && module_is_captured(plan->hip, plan->stream)) {
        if (module_log(plan->context) >= STATUS_LOG_FAILURES)
            status_print("device %d: %s goes into a HIP graph: not written to AOTHIP_CAPTURE",
                         plan->device->number, plan->device->images->entries[launch->entry].symbol);
        root = NULL;
    }
    if (root && begin_capture(root, plan, launch, call, &capture, why))
        return why->code;
    run_launch(plan, launch, why);
    if (capture)
        capture_end(capture, why);
    return why->code;
}

static inline enum aothip_status run_plan(struct plan *plan, const struct call *call,
                                          struct status *why)
{
    for (unsigned i = 0; i < plan->count; i++) {
        struct plan_launch *launch = &plan->launches[i];
        if (plan->watched ? run_watched(plan, launch, call, why) : run_launch(plan, launch, why))
            return why->code;
    }
    return AOTHIP_OK;
}

/* Attention, or its probs alone. */
enum forward { ATTENTION, PROBS };

static inline enum aothip_status run_forward(struct aothip_context *context,
                                             const struct aothip_attn_fwd_params *params,
                                             hipStream_t stream, enum forward what,
                                             struct status *why)
{
    struct validate_fwd checked;
    struct plan plan;
    if (validate_attn_fwd(params, &checked, why))
        return why->code;
    if (what == PROBS && !checked.params->probs.data)
        return status_set(why, AOTHIP_E_ARGUMENT, "probs: data is NULL");
    if (!plan_begin(&plan, context, stream, why) &&
        !(what == PROBS ? plan_attn_probs(&plan, checked.params, why)
                        : plan_attn_fwd(&plan, &checked, why))) {
        const struct call call = {.fwd = checked.params};
        run_plan(&plan, &call, why);
    }
    plan_end(&plan);
    return why->code;
}

static inline enum aothip_status forward(struct aothip_context *context,
                                         const struct aothip_attn_fwd_params *params,
                                         hipStream_t stream, enum forward what)
{
    struct status why;
    if (!context)
        return status_refuse_null("context");
    status_clear(&why);
    if (run_forward(context, params, stream, what, &why) == AOTHIP_OK)
        return AOTHIP_OK;
    return status_publish(&why, module_log(context));
}

enum aothip_status aothip_attn_fwd(struct aothip_context *context,
                                   const struct aothip_attn_fwd_params *params, void *stream)
{
    return forward(context, params, stream, ATTENTION);
}

enum aothip_status aothip_attn_probs(struct aothip_context *context,
                                     const struct aothip_attn_fwd_params *params, void *stream)
{
    return forward(context, params, stream, PROBS);
}

static enum aothip_status attn_bwd(struct aothip_context *context,
                                   const struct aothip_attn_bwd_params *params, hipStream_t stream,
                                   struct status *why)
{
    struct validate_bwd checked;
    struct plan plan;
    if (validate_attn_bwd(params, &checked, why))
        return why->code;
    if (!plan_begin(&plan, context, stream, why) && !plan_attn_bwd(&plan, &checked, why)) {
        const struct call call = {checked.fwd.params, checked.params, NULL};
        run_plan(&plan, &call, why);
    }
    plan_end(&plan);
    return why->code;
}

enum aothip_status aothip_attn_bwd(struct aothip_context *context,
                                   const struct aothip_attn_bwd_params *params, void *stream)
{
    struct status why;
    if (!context)
        return status_refuse_null("context");
    status_clear(&why);
    attn_bwd(context, params, stream, &why);
    return status_publish(&why, module_log(context));
}

static enum aothip_status attn_merge(struct aothip_context *context,
                                     const struct aothip_attn_merge_params *params,
                                     hipStream_t stream, struct status *why)
{
    struct validate_merge checked;
    struct plan plan;
    if (validate_attn_merge(params, &checked, why))
        return why->code;
    if (!plan_begin(&plan, context, stream, why) && !plan_attn_merge(&plan, checked.params, why)) {
        const struct call call = {.merge = checked.params};
        run_plan(&plan, &call, why);
    }
    plan_end(&plan);
    return why->code;
}

enum aothip_status aothip_attn_merge(struct aothip_context *context,
                                     const struct aothip_attn_merge_params *params, void *stream)
{
    struct status why;
    if (!context)
        return status_refuse_null("context");
    status_clear(&why);
    attn_merge(context, params, stream, &why);
    return status_publish(&why, module_log(context));
}

enum aothip_status aothip_attn_fwd_workspace(struct aothip_context *context,
                                             const struct aothip_attn_fwd_params *params,
                                             void *stream, size_t *bytes)
{
    struct validate_fwd checked;
    struct plan plan;
    struct status why;
    if (!context)
        return status_refuse_null("context");
    if (!bytes)
        return status_refuse_null("bytes");
    *bytes = 0;
    status_clear(&why);
    if (!validate_attn_fwd(params, &checked, &why) && !plan_begin(&plan, context, stream, &why))
        *bytes = plan_fwd_workspace(&plan, checked.params);
    return status_publish(&why, module_log(context));
}

enum aothip_status aothip_attn_bwd_workspace(struct aothip_context *context,
                                             const struct aothip_attn_bwd_params *params,
                                             void *stream, size_t *bytes)
{
    struct validate_bwd checked;
    struct plan plan;
    struct status why;
    if (!context)
        return status_refuse_null("context");
    if (!bytes)
        return status_refuse_null("bytes");
    *bytes = 0;
    status_clear(&why);
    if (!validate_attn_bwd(params, &checked, &why) && !plan_begin(&plan, context, stream, &why))
        *bytes = plan_bwd_workspace(&plan, &checked);
    return status_publish(&why, module_log(context));
}
