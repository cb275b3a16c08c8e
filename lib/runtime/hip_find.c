/*
 * Finds the HIP runtime.
 *
 * Streams and addresses mean nothing to any runtime but the one that made them, so what is in the
 * process already comes before anything that could be loaded, under whatever name: ROCm installs
 * libamdhip64.so.7, a PyTorch wheel carries libamdhip64.so, both as its file's and as its SONAME,
 * and Python loads it out of sight of RTLD_DEFAULT.
 */
#include "hip.h"

#include <stdio.h>

#include "variable.h"
#include "loader.h"
#include "status.h"

static const char mark[] = "hipModuleLaunchKernel"; /* what has this is a HIP runtime */

/* The runtime that is in the process, or NULL with an empty origin; NULL is a handle, too. */
static enum aothip_status find_in_process(struct hip *hip, struct status *why)
{
    struct loader_object found[2];
    const int count = loader_find(mark, found);
    hip->handle = NULL;
    if (count < 0)
        return status_set(why, AOTHIP_E_MEMORY, "no memory to look for a HIP runtime");
    if (count > 1)
        return status_set(why, AOTHIP_E_NO_HIP,
                          "two HIP runtimes are in this process, %s and %s; name the one to use in "
                          "AOTHIP_HIP_LIBRARY",
                          found[0].file, found[1].file);
    if (count) {
        snprintf(hip->origin, sizeof(hip->origin), "%s", found[0].file);
        hip->handle = found[0].handle;
    }
    return AOTHIP_OK;
}

/* The file that AOTHIP_HIP_LIBRARY names, unless that would be a second runtime. */
static enum aothip_status find_named(struct hip *hip, const char *file, struct status *why)
{
    void *there = NULL;
    hip->handle = loader_present(file);
    if (!hip->handle) {
        if (find_in_process(hip, why))
            return why->code;
        if (*hip->origin)
            there = loader_present(file); /* another thread may have loaded it meanwhile */
        if (*hip->origin && !there)
            return status_set(why, AOTHIP_E_NO_HIP,
                              "AOTHIP_HIP_LIBRARY is %s, but this process has another HIP runtime "
                              "already, %s, whose streams and memory mean nothing to it",
                              file, loader_file(loader_function(hip->handle, mark), hip->origin));
        hip->handle = there ? there : loader_open(file);
    }
    snprintf(hip->origin, sizeof(hip->origin), "%s", file);
    if (!hip->handle)
        return status_set(why, AOTHIP_E_NO_HIP, "AOTHIP_HIP_LIBRARY: %s", loader_error());
    return AOTHIP_OK;
}

enum aothip_status hip_find(struct hip *hip, struct status *why)
{
    const char *file = variable_get("AOTHIP_HIP_LIBRARY");
    *hip->origin = '\0';
    if (file && *file)
        return find_named(hip, file, why);
    if (find_in_process(hip, why) || *hip->origin)
        return why->code;
    for (const char *const *name = loader_hip_names; *name; name++) {
        hip->handle = loader_open(*name);
        if (hip->handle) {
            snprintf(hip->origin, sizeof(hip->origin), "%s", *name);
            return AOTHIP_OK;
        }
    }
    return status_set(why, AOTHIP_E_NO_HIP,
                      "no HIP runtime is in this process, and %s cannot be loaded: %s",
                      loader_hip_names_told, loader_error());
}

const char *hip_file(const struct hip *hip)
{
    return loader_file((const void *)(uintptr_t)hip->get_device_count, hip->origin);
}

void *hip_function(const struct hip *hip, const char *symbol)
{
    return loader_function(hip->handle, symbol);
}
