/* Libraries in the process and on disk, on Windows. */
#include "loader.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* psapi.h wants it after windows.h */
#include <psapi.h>

#include "wide_windows.h"

/* The driver brings one of these to the system's directory, the HIP SDK its own to its bin. */
const char *const loader_hip_names[] = {"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll", NULL};
const char loader_hip_names_told[] = "amdhip64_7.dll, amdhip64_6.dll or amdhip64.dll";

enum { PATH_ROOM = 32768 }; /* Windows' own bound, in characters */

static _Thread_local char failure[512];

/* The file of a module in UTF-8, for the caller to free, or NULL. */
static char *file_of_module(HMODULE module)
{
    wchar_t *wide = malloc(PATH_ROOM * sizeof(wchar_t));
    const DWORD length = wide ? GetModuleFileNameW(module, wide, PATH_ROOM) : 0;
    char *text = length > 0 && length < PATH_ROOM ? wide_to(wide) : NULL;
    free(wide);
    return text;
}

/* The module that holds `address`, counted as used once more if `keep`; NULL if none does. */
static HMODULE module_at(const void *address, int keep)
{
    DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
    HMODULE module = NULL;
    if (!keep)
        flags |= GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    return GetModuleHandleExW(flags, (const wchar_t *)address, &module) ? module : NULL;
}

/* All modules of the process, for the caller to free, or NULL; others may be loaded meanwhile. */
static HMODULE *list_modules(DWORD *count)
{
    DWORD room = 256 * sizeof(HMODULE), needed = room;
    HMODULE *modules = NULL;
    for (int tries = 0; tries < 16; tries++) {
        free(modules);
        modules = malloc(room);
        if (!modules)
            return NULL;
        if (EnumProcessModules(GetCurrentProcess(), modules, room, &needed) && needed <= room) {
            *count = needed / sizeof(HMODULE);
            return modules;
        }
        if (needed > room)
            room = 2 * needed;
    }
    free(modules);
    return NULL;
}

static void *function_of(HMODULE module, const char *symbol)
{
    return (void *)(uintptr_t)GetProcAddress(module, symbol);
}

int loader_find(const char *mark, struct loader_object found[2])
{
    DWORD modules_count = 0;
    HMODULE *modules = list_modules(&modules_count);
    int count = 0, unnamed = 0;
    memset(found, 0, 2 * sizeof(found[0]));
    if (!modules)
        return -1;
    for (DWORD i = 0; i < modules_count && count < 2; i++) {
        /* a module may pass a call on to another one, which is then the runtime */
        void *function = function_of(modules[i], mark);
        HMODULE owner = function ? module_at(function, 1) : NULL;
        char *file;
        if (!owner || (count && found[0].handle == owner)) {
            if (owner)
                FreeLibrary(owner);
            continue;
        }
        file = file_of_module(owner);
        snprintf(found[count].file, sizeof(found[count].file), "%s", file ? file : "");
        found[count++].handle = owner;
        unnamed |= !file;
        free(file);
    }
    free(modules);
    for (int i = 0; i < count && (count == 2 || unnamed); i++)
        FreeLibrary(found[i].handle);
    return unnamed ? -1 : count;
}

void *loader_present(const char *file)
{
    wchar_t *wide = wide_from(file);
    HMODULE module = NULL;
    for (wchar_t *at = wide; at && *at; at++)
        if (*at == L'/')
            *at = L'\\';
    if (!wide || !GetModuleHandleExW(0, wide, &module))
        module = NULL;
    free(wide);
    return module;
}

/* Among the directories of PATH, which Windows would also search, but only after the current one.
 */
static HMODULE open_on_path(const wchar_t *name)
{
    wchar_t *path = malloc(PATH_ROOM * sizeof(wchar_t)),
            *file = malloc(PATH_ROOM * sizeof(wchar_t));
    HMODULE module = NULL;
    DWORD length = path && file ? GetEnvironmentVariableW(L"PATH", path, PATH_ROOM) : 0;
    if (length > 0 && length < PATH_ROOM) {
        length = SearchPathW(path, name, NULL, PATH_ROOM, file, NULL);
        if (length > 0 && length < PATH_ROOM)
            module = LoadLibraryExW(file, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
        else
            SetLastError(ERROR_MOD_NOT_FOUND);
    }
    free(path);
    free(file);
    return module;
}

void *loader_open(const char *file)
{
    const int bare = !strpbrk(file, "/\\");
    wchar_t *wide = bare ? wide_from(file) : wide_path(file);
    HMODULE module = NULL;
    char reason[400];
    DWORD error;
    if (wide && bare) {
        module = LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
        if (!module && GetLastError() == ERROR_MOD_NOT_FOUND)
            module = open_on_path(wide);
    } else if (wide) {
        module = LoadLibraryExW(wide, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    }
    error = wide ? GetLastError() : ERROR_NOT_ENOUGH_MEMORY;
    free(wide);
    if (!module) {
        wide_error(error, reason, sizeof(reason));
        snprintf(failure, sizeof(failure), "%.100s: %s", file, reason);
    }
    return module;
}

const char *loader_error(void)
{
    return *failure ? failure : "unknown error";
}

void *loader_function(void *handle, const char *symbol)
{
    return function_of(handle, symbol);
}

/* Names that were asked for, one a module, kept for as long as the process. */
struct known_file {
    struct known_file *next;
    HMODULE module;
    char *name;
};

const char *loader_file(const void *address, const char *otherwise)
{
    static struct known_file *known;
    static SRWLOCK lock = SRWLOCK_INIT;
    HMODULE module = address ? module_at(address, 0) : NULL;
    struct known_file *at;
    if (!module)
        return otherwise;
    AcquireSRWLockExclusive(&lock);
    for (at = known; at && at->module != module; at = at->next)
        ;
    if (!at && (at = calloc(1, sizeof(*at)))) {
        at->name = file_of_module(module);
        at->module = module;
        at->next = known;
        known = at;
    }
    ReleaseSRWLockExclusive(&lock);
    return at && at->name ? at->name : otherwise;
}
