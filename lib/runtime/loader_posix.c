/* Libraries in the process and on disk, on POSIX systems with dl_iterate_phdr(). */
#include "loader.h"

#include <dlfcn.h>
#include "old_glibc.h"
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const loader_hip_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                        NULL};
const char loader_hip_names_told[] = "libamdhip64.so.7, .6 or .5";

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
static void *marked_object(void *handle, const char *mark, Dl_info *info)
{
    void *symbol = dlsym(handle, mark), *object = NULL;
    if (symbol && dladdr(symbol, info) && info->dli_fname)
        object = dlopen(info->dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    dlclose(handle); /* only the count that RTLD_NOLOAD raised */
    return object;
}

/* Those among the objects of the process. */
static int search(const struct names *names, const char *mark, struct loader_object found[2])
{
    const void *base = NULL;
    int count = 0;
    for (const char *name = names->text; name < names->text + names->size;
         name += strlen(name) + 1) {
        /* the program itself has no name, and the kernel's object no directory */
        void *opened = strchr(name, '/') ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL, *object;
        Dl_info info;
        object = opened ? marked_object(opened, mark, &info) : NULL;
        if (!object)
            continue;
        if (count && info.dli_fbase == base) {
            dlclose(object);
            continue;
        }
        base = info.dli_fbase;
        found[count].handle = object;
        snprintf(found[count].file, sizeof(found[count].file), "%s", info.dli_fname);
        if (++count == 2)
            break;
    }
    return count;
}

int loader_find(const char *mark, struct loader_object found[2])
{
    struct names names = {0};
    int count = -1;
    memset(found, 0, 2 * sizeof(found[0]));
    if (dlsym(RTLD_DEFAULT, mark)) {
        snprintf(found[0].file, sizeof(found[0].file), "this process");
        found[0].handle = RTLD_DEFAULT;
        return 1;
    }
    dl_iterate_phdr(note_name, &names);
    if (!names.failed)
        count = search(&names, mark, found);
    free(names.text);
    for (int i = 0; i < 2 && count == 2; i++)
        dlclose(found[i].handle);
    return count;
}

void *loader_present(const char *file)
{
    return dlopen(file, RTLD_NOW | RTLD_NOLOAD);
}

void *loader_open(const char *file)
{
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

const char *loader_error(void)
{
    const char *text = dlerror();
    return text ? text : "unknown error";
}

void *loader_function(void *handle, const char *symbol)
{
    return dlsym(handle, symbol);
}

const char *loader_file(const void *address, const char *otherwise)
{
    Dl_info info;
    return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : otherwise;
}
