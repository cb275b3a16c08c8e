/*
 * Finds the HIP runtime: the only file that opens libraries.
 *
 * Streams and addresses mean nothing to any runtime but the one that made them, so what is in the
 * process already comes before anything that could be loaded, under whatever name: ROCm installs
 * libamdhip64.so.7, a PyTorch wheel carries libamdhip64.so, both as its file's and as its SONAME,
 * and Python loads it out of sight of RTLD_DEFAULT.
 */
#include "hip.h"

#include <dlfcn.h>
#include "old_glibc.h"
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

static const char mark[] = "hipModuleLaunchKernel"; /* what has this is a HIP runtime */

/* The file that a symbol is from, or `otherwise`. */
static const char *file_of(const void *symbol, const char *otherwise)
{
    Dl_info info;
    return symbol && dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : otherwise;
}

/* Names of the objects in the process, one behind the other. */
struct names {
    char *text;
    size_t size;
    int failed;
};

/*
 * Only copies. Looking into an object takes the lock of dlopen(), under which a thread there waits
 * for the lock that dl_iterate_phdr() holds here.
 */
static int note_name(struct dl_phdr_info *object, size_t size, void *context)
{
    struct names *names = context;
    const size_t length = strlen(object->dlpi_name) + 1;
    char *more = realloc(names->text, names->size + length);
    (void)size;
    if (!more) {
        names->failed = 1;
        return 1;
    }
    memcpy(more + names->size, object->dlpi_name, length);
    names->text = more;
    names->size += length;
    return 0;
}

/* The object that `handle` has the mark from, by itself or from what it needs; closes `handle`. */
static void *marked_object(void *handle, Dl_info *info)
{
    void *symbol = dlsym(handle, mark), *object = NULL;
    if (symbol && dladdr(symbol, info) && info->dli_fname)
        object = dlopen(info->dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    dlclose(handle); /* only the count that RTLD_NOLOAD raised */
    return object;
}

/* The one runtime among the objects of the process; hip->handle is NULL if there is none. */
static enum aothip_status search(const struct names *names, struct hip *hip, struct status *why)
{
    const void *base = NULL;
    for (const char *name = names->text; name < names->text + names->size;
         name += strlen(name) + 1) {
        /* the program itself has no name, and the kernel's object no directory */
        void *opened = strchr(name, '/') ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL, *object;
        Dl_info info;
        object = opened ? marked_object(opened, &info) : NULL;
        if (!object)
            continue;
        if (!hip->handle) {
            hip->handle = object;
            base = info.dli_fbase;
            snprintf(hip->origin, sizeof(hip->origin), "%s", info.dli_fname);
            continue;
        }
        dlclose(object);
        if (info.dli_fbase != base) {
            dlclose(hip->handle);
            return status_set(why, AOTHIP_E_NO_HIP,
                              "two HIP runtimes are in this process, %s and %s; name the one to "
                              "use in AOTHIP_HIP_LIBRARY",
                              hip->origin, info.dli_fname);
        }
    }
    return AOTHIP_OK;
}

/* The runtime that is in the process, or NULL with an empty origin. RTLD_DEFAULT is NULL too. */
static enum aothip_status find_in_process(struct hip *hip, struct status *why)
{
    struct names names = {0};
    hip->handle = NULL;
    if (dlsym(RTLD_DEFAULT, mark)) {
        snprintf(hip->origin, sizeof(hip->origin), "this process");
        hip->handle = RTLD_DEFAULT;
        return AOTHIP_OK;
    }
    dl_iterate_phdr(note_name, &names);
    if (names.failed)
        status_set(why, AOTHIP_E_MEMORY, "no memory to look for a HIP runtime");
    else
        search(&names, hip, why);
    free(names.text);
    return why->code;
}

/* The file that AOTHIP_HIP_LIBRARY names, unless that would be a second runtime. */
static enum aothip_status find_named(struct hip *hip, const char *file, struct status *why)
{
    hip->handle = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    if (!hip->handle) {
        if (find_in_process(hip, why))
            return why->code;
        if (*hip->origin)
            return status_set(why, AOTHIP_E_NO_HIP,
                              "AOTHIP_HIP_LIBRARY is %s, but this process has another HIP runtime "
                              "already, %s, whose streams and memory mean nothing to it",
                              file, file_of(dlsym(hip->handle, mark), hip->origin));
        hip->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    }
    snprintf(hip->origin, sizeof(hip->origin), "%s", file);
    if (!hip->handle)
        return status_set(why, AOTHIP_E_NO_HIP, "AOTHIP_HIP_LIBRARY: %s", dlerror());
    return AOTHIP_OK;
}

enum aothip_status hip_find(struct hip *hip, struct status *why)
{
    static const char *const sonames[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                          "libamdhip64.so.5"};
    const char *file = secure_getenv("AOTHIP_HIP_LIBRARY");
    *hip->origin = '\0';
    if (file && *file)
        return find_named(hip, file, why);
    if (find_in_process(hip, why) || *hip->origin)
        return why->code;
    for (size_t i = 0; i < sizeof(sonames) / sizeof(sonames[0]); i++) {
        hip->handle = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
        if (hip->handle) {
            snprintf(hip->origin, sizeof(hip->origin), "%s", sonames[i]);
            return AOTHIP_OK;
        }
    }
    return status_set(why, AOTHIP_E_NO_HIP,
                      "no HIP runtime is in this process, and libamdhip64.so.7, .6 or .5 "
                      "cannot be loaded: %s",
                      dlerror());
}

const char *hip_file(const struct hip *hip)
{
    return file_of((const void *)(uintptr_t)hip->get_device_count, hip->origin);
}

void *hip_function(const struct hip *hip, const char *symbol)
{
    return dlsym(hip->handle, symbol);
}
