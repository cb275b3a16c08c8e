/* The C API but for attention itself: contexts, devices, lists. */
#include <stdlib.h>
#include <string.h>

#include "module.h"
#include "select.h"
#include "status.h"
#include "store.h"

enum aothip_status aothip_open(const char *directory, struct aothip_context **context)
{
    struct status why;
    if (!context)
        return status_refuse_null("context");
    status_clear(&why);
    *context = NULL;
    if (directory && !*directory)
        status_set(&why, AOTHIP_E_ARGUMENT, "directory is \"\"; NULL stands for the default");
    else
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
        return status_refuse_null("context");
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
        return status_refuse_null("context");
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
        return status_refuse_null("context");
    status_clear(&why);
    if (!module_hip(context, &hip, &why) && !module_stream_device(hip, stream, &number, &why) &&
        !module_device(context, hip, number, &device, &why))
        count = device->images->header->entry_count;
    for (uint32_t i = 0; i < count && !why.code; i++) {
        hipFunction_t function;
        if (device->limit && !module_has_room(context, device, i))
            continue;
        if (!module_function(context, hip, device, i, 0, &function, &why) && device->limit)
            module_unpin(device, i);
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
        return status_refuse_null("context");
    if (!info)
        return status_refuse_null("info");
    status_clear(&why);
    if (info->struct_size < sizeof(info->struct_size) + 2 * sizeof(int32_t))
        status_set(&why, AOTHIP_E_ARGUMENT, "info: struct_size is %zu", info->struct_size);
    else if (!module_hip(context, &hip, &why) &&
             !module_stream_device(hip, stream, &number, &why) &&
             !module_describe(hip, number, &found, &why))
        fill_device_info(&found, number, info);
    return status_publish(&why, module_log(context));
}

void *aothip_hip_function(struct aothip_context *context, const char *name)
{
    const struct hip *hip;
    struct status why;
    void *found = NULL;
    if (!context || !name) {
        status_refuse_null(context ? "name" : "context");
        return NULL;
    }
    status_clear(&why);
    if (!module_hip(context, &hip, &why)) {
        found = hip_function(hip, name);
        if (!found)
            status_set(&why, AOTHIP_E_NO_HIP, "the HIP runtime in %s lacks %s", hip->origin, name);
    }
    if (!found)
        status_publish(&why, module_log(context));
    return found;
}

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
            .gpu = store.gpu,
            .file = store.path,
            .symbol = from->symbol,
            .op = select_op_name(from->op),
            .dtype = from->dtype,
            .dim_max = from->dim_max,
            .aligned = (from->features & FORMAT_FEATURE_UNALIGNED) == 0,
            .score = (from->features & FORMAT_FEATURE_SCORE) == FORMAT_FEATURE_SCORE,
            .paged = (from->features & FORMAT_FEATURE_PAGED) != 0,
            .tile_q = from->tile_q,
            .tile_k = from->tile_k,
            .threads = from->threads,
            .lds_bytes = (int32_t)from->lds_size,
            .vgprs = from->vgprs,
            .sgprs = from->sgprs,
            .frame_bytes = from->frame_size,
            .code_bytes = from->bundle_size,
            .dim_v_max = from->dim_v_max ? from->dim_v_max : from->dim_max,
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
        return status_refuse_null("context");
    if (!visit)
        return status_refuse_null("visit");
    status_clear(&why);
    store_list_gpus(module_directory(context), &gpus, &why);
    for (size_t i = 0; i < gpus.count && !stop && !why.code; i++)
        list_gpu(context, gpus.names[i], visit, user, &stop, &why);
    free(gpus.names);
    return status_publish(&why, module_log(context));
}
