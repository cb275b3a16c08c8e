/* The C API: validate, then target, select, module, args, launch. */
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "capture.h"
#include "hip.h"
#include "module.h"
#include "select.h"
#include "status.h"
#include "store.h"
#include "validate.h"

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *aothip_version(void)
{
    return VERSION_TEXT(AOTHIP_VERSION_MAJOR, AOTHIP_VERSION_MINOR, AOTHIP_VERSION_PATCH);
}

/* Calls without a context: AOTHIP_LOG has not been read yet. */
static enum aothip_status refuse_null(const char *name)
{
    struct status why;
    status_clear(&why);
    status_set(&why, AOTHIP_E_ARGUMENT, "%s is NULL", name);
    return status_publish(&why, status_log_level());
}

enum aothip_status aothip_open(const char *directory, struct aothip_context **context)
{
    struct status why;
    if (!context)
        return refuse_null("context");
    status_clear(&why);
    module_open(directory, context, &why);
    return status_publish(&why, why.code ? status_log_level() : STATUS_LOG_OFF);
}

void aothip_close(struct aothip_context *context)
{
    module_close(context);
}

const char *aothip_directory(const struct aothip_context *context)
{
    return context ? module_directory(context) : "";
}

enum aothip_status aothip_check_device(struct aothip_context *context, int device)
{
    struct module_device *found;
    const struct hip *hip;
    struct status why;
    if (!context)
        return refuse_null("context");
    status_clear(&why);
    if (!module_hip(context, &hip, &why) && !module_device(context, hip, device, &found, &why))
        module_check(context, found, &why);
    return status_publish(&why, module_log(context));
}

enum aothip_status aothip_check_stream(struct aothip_context *context, void *stream)
{
    struct module_device *found;
    const struct hip *hip;
    struct status why;
    int number;
    if (!context)
        return refuse_null("context");
    status_clear(&why);
    if (!module_hip(context, &hip, &why) && !module_stream_device(hip, stream, &number, &why) &&
        !module_device(context, hip, number, &found, &why))
        module_check(context, found, &why);
    return status_publish(&why, module_log(context));
}

enum aothip_status aothip_warm_up(struct aothip_context *context, void *stream)
{
    struct module_device *device = NULL;
    const struct hip *hip;
    struct status why;
    uint32_t count = 0;
    int number;
    if (!context)
        return refuse_null("context");
    status_clear(&why);
    if (!module_hip(context, &hip, &why) && !module_stream_device(hip, stream, &number, &why) &&
        !module_device(context, hip, number, &device, &why))
        count = device->images->header->entry_count;
    for (uint32_t i = 0; i < count && !why.code; i++) {
        hipFunction_t function;
        module_function(context, hip, device, i, &function, &why);
    }
    return status_publish(&why, module_log(context));
}

/* Fills as much of the caller's struct as it has room for. */
static void fill_device_info(const struct module_info *from, int number,
                             struct aothip_device_info *info)
{
    struct aothip_device_info all = {.struct_size = info->struct_size};
    _Static_assert(sizeof(all.target) == TARGET_TEXT_MAX, "room for any target ID");
    _Static_assert(sizeof(all.gpu) == sizeof(from->target.gpu), "room for any GPU name");
    _Static_assert(sizeof(all.name) == sizeof(from->properties.name), "room for any name");
    all.device = number;
    all.compute_units = from->properties.compute_units;
    all.memory_bytes = from->properties.memory_bytes;
    target_print(&from->target, all.target);
    memcpy(all.gpu, from->target.gpu, sizeof(all.gpu));
    memcpy(all.name, from->properties.name, sizeof(all.name));
    memcpy(info, &all, info->struct_size < sizeof(all) ? info->struct_size : sizeof(all));
}

enum aothip_status aothip_stream_device(struct aothip_context *context, void *stream,
                                        struct aothip_device_info *info)
{
    const struct hip *hip;
    struct module_info found;
    struct status why;
    int number;
    if (!context)
        return refuse_null("context");
    if (!info)
        return refuse_null("info");
    status_clear(&why);
    if (info->struct_size < sizeof(info->struct_size) + 2 * sizeof(int32_t))
        status_set(&why, AOTHIP_E_ARGUMENT, "info: struct_size is %zu", info->struct_size);
    else if (!module_hip(context, &hip, &why) &&
             !module_stream_device(hip, stream, &number, &why) &&
             !module_describe(hip, number, &found, &why))
        fill_device_info(&found, number, info);
    return status_publish(&why, module_log(context));
}

/* Why select_entry() found nothing, in terms of the arguments. */
static enum aothip_status refuse_unsupported(const struct module_device *device,
                                             const struct select_need *need, struct status *why)
{
    static const char *const names[] = {
        [AOTHIP_F32] = "F32", [AOTHIP_F16] = "F16", [AOTHIP_BF16] = "BF16"};
    return status_set(why, AOTHIP_E_UNSUPPORTED, "q, v: no kernel for %s, head dim %lld%s%s in %s",
                      names[need->dtype], (long long)need->dim,
                      need->features & FORMAT_FEATURE_SCORE ? ", score" : "",
                      need->features & FORMAT_FEATURE_UNALIGNED ? ", unaligned" : "",
                      device->images->path);
}

/* All that a launch needs. */
struct launch {
    const struct hip *hip;
    struct module_device *device;
    uint32_t entry;
    hipFunction_t function;
    hipStream_t stream;
    struct args_grid grid;
    struct attn_fwd_args args;
};

static enum aothip_status begin_capture(const char *root, const struct launch *launch,
                                        const struct aothip_attn_fwd_params *params,
                                        struct capture **capture, struct status *why)
{
    const struct module_kernel *kernel = &launch->device->kernels[launch->entry];
    const int64_t *size = params->q.size;
    const struct aothip_tensor lse = {params->lse,
                                      {size[0], size[1], size[2], 1},
                                      {size[1] * size[2], size[2], 1, 1},
                                      AOTHIP_F32};
    const struct capture_tensor tensors[] = {
        {"q", params->q, offsetof(struct attn_fwd_args, problem.q), 0},
        {"k", params->k, offsetof(struct attn_fwd_args, problem.k), 0},
        {"v", params->v, offsetof(struct attn_fwd_args, problem.v), 0},
        {"o", params->o, offsetof(struct attn_fwd_args, o), 1},
        {"lse", lse, offsetof(struct attn_fwd_args, lse), 1},
    };
    char target[TARGET_TEXT_MAX];
    struct capture_launch all = {
        .symbol = launch->device->images->entries[launch->entry].symbol,
        .target = target_print(&launch->device->target, target),
        .code = kernel->code,
        .code_size = kernel->code_size,
        .kernarg = &launch->args,
        .kernarg_size = sizeof(launch->args),
        .grid = launch->grid,
        .tensor_count = params->lse ? 5 : 4,
    };
    memcpy(all.tensors, tensors, sizeof(tensors));
    return capture_begin(root, launch->hip, launch->stream, &all, capture, why);
}

static enum aothip_status run_launch(const struct aothip_context *context, struct launch *launch,
                                     const struct aothip_attn_fwd_params *params,
                                     struct status *why)
{
    const struct args_grid *grid = &launch->grid;
    const char *symbol = launch->device->images->entries[launch->entry].symbol;
    const char *root = module_capture(context);
    struct capture *capture = NULL;
    void *parameters[] = {&launch->args};
    hipError_t error;
    if (module_log(context) >= STATUS_LOG_ALL)
        status_print("device %d: launch %s, grid %u x %u x %u of %u threads",
                     launch->device->number, symbol, grid->x, grid->y, grid->z, grid->threads);
    if (root && begin_capture(root, launch, params, &capture, why))
        return why->code;
    error =
        launch->hip->module_launch_kernel(launch->function, grid->x, grid->y, grid->z,
                                          grid->threads, 1, 1, 0, launch->stream, parameters, NULL);
    if (error != hipSuccess)
        hip_fail_for(launch->hip, symbol, "hipModuleLaunchKernel", error, why);
    if (capture)
        capture_end(capture, why);
    return why->code;
}

static enum aothip_status attn_fwd(struct aothip_context *context,
                                   const struct aothip_attn_fwd_params *given, hipStream_t stream,
                                   struct status *why)
{
    const struct aothip_attn_fwd_params *params;
    const struct format_entry *entries;
    struct aothip_attn_fwd_params room;
    struct launch launch;
    struct select_need need;
    int number, entry;

    if (validate_attn_fwd(given, &room, &params, why) || module_hip(context, &launch.hip, why) ||
        module_stream_device(launch.hip, stream, &number, why) ||
        module_device(context, launch.hip, number, &launch.device, why))
        return why->code;
    if (validate_is_empty(params))
        return AOTHIP_OK;
    need = select_need_attn_fwd(params);
    entries = launch.device->images->entries;
    entry = select_entry(entries, launch.device->images->header->entry_count, &need);
    if (entry < 0)
        return refuse_unsupported(launch.device, &need, why);
    launch.entry = (uint32_t)entry;
    launch.stream = stream;
    if (args_attn_fwd(params, &entries[entry], &launch.args, &launch.grid, why) ||
        module_function(context, launch.hip, launch.device, launch.entry, &launch.function, why))
        return why->code;
    return run_launch(context, &launch, params, why);
}

enum aothip_status aothip_attn_fwd(struct aothip_context *context,
                                   const struct aothip_attn_fwd_params *params, void *stream)
{
    struct status why;
    if (!context)
        return refuse_null("context");
    status_clear(&why);
    if (attn_fwd(context, params, stream, &why) == AOTHIP_OK)
        return AOTHIP_OK;
    return status_publish(&why, module_log(context));
}

static const char *const op_names[FORMAT_OP_END] = {
    [FORMAT_OP_ATTN_FWD] = "attn_fwd",
    [FORMAT_OP_ATTN_SPLIT] = "attn_split",
    [FORMAT_OP_ATTN_MERGE] = "attn_merge",
    [FORMAT_OP_ATTN_APPEND] = "attn_append",
    [FORMAT_OP_ATTN_PROBS] = "attn_probs",
    [FORMAT_OP_ATTN_BWD_DELTA] = "attn_bwd_delta",
    [FORMAT_OP_ATTN_BWD_DKDV] = "attn_bwd_dkdv",
    [FORMAT_OP_ATTN_BWD_DQ] = "attn_bwd_dq",
    [FORMAT_OP_ATTN_BWD_DBIAS] = "attn_bwd_dbias",
    [FORMAT_OP_ATTN_BWD_DSCALAR] = "attn_bwd_dscalar",
};

/* Visits the entries of one GPU; *stop is what the visitor returned last. */
static enum aothip_status list_gpu(const struct aothip_context *context, const char *gpu,
                                   int (*visit)(const struct aothip_entry *entry, void *user),
                                   void *user, int *stop, struct status *why)
{
    struct store store;
    if (store_open(&store, module_directory(context), gpu, why)) {
        if (why->code == AOTHIP_E_NO_IMAGES) /* a directory that holds other files only */
            status_clear(why);
        return why->code;
    }
    for (uint32_t i = 0; i < store.header->entry_count && !*stop; i++) {
        const struct format_entry *from = &store.entries[i];
        const struct aothip_entry entry = {
            .struct_size = sizeof(entry),
            .gpu = store.header->gpu,
            .file = store.path,
            .symbol = from->symbol,
            .op = op_names[from->op],
            .dtype = from->dtype,
            .dim_max = from->dim_max,
            .aligned = (from->features & FORMAT_FEATURE_UNALIGNED) == 0,
            .score = (from->features & FORMAT_FEATURE_SCORE) != 0,
            .paged = (from->features & FORMAT_FEATURE_PAGED) != 0,
            .tile_q = from->tile_q,
            .tile_k = from->tile_k,
            .threads = from->threads,
            .lds_bytes = (int32_t)from->lds_size,
            .vgprs = from->vgprs + from->agprs,
            .sgprs = from->sgprs,
            .frame_bytes = from->frame_size,
            .code_bytes = from->bundle_size,
        };
        *stop = visit(&entry, user);
    }
    store_close(&store);
    return AOTHIP_OK;
}

enum aothip_status aothip_list(struct aothip_context *context,
                               int (*visit)(const struct aothip_entry *entry, void *user),
                               void *user)
{
    struct store_gpus gpus = {0, NULL};
    struct status why;
    int stop = 0;
    if (!context)
        return refuse_null("context");
    if (!visit)
        return refuse_null("visit");
    status_clear(&why);
    store_list_gpus(module_directory(context), &gpus, &why);
    for (size_t i = 0; i < gpus.count && !stop && !why.code; i++)
        list_gpu(context, gpus.names[i], visit, user, &stop, &why);
    free(gpus.names);
    return status_publish(&why, module_log(context));
}
