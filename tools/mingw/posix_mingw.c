/* The functions of POSIX that mingw-w64 lacks, over those of Windows. */
#define AOTHIP_PROGRAM_MINGW
#include "posix_mingw.h"

#include <windows.h>

#include "wide_windows.h"

void *mmap(void *address, size_t size, int protection, int flags, int file, int64_t offset)
{
    const int used = protection != PROT_NONE;
    void *pages = VirtualAlloc(NULL, size, used ? MEM_RESERVE | MEM_COMMIT : MEM_RESERVE,
                               used ? PAGE_READWRITE : PAGE_NOACCESS);
    (void)address;
    (void)flags;
    (void)file;
    (void)offset;
    return pages ? pages : MAP_FAILED;
}

int munmap(void *address, size_t size)
{
    (void)size;
    return VirtualFree(address, 0, MEM_RELEASE) ? 0 : -1;
}

int mprotect(void *address, size_t size, int protection)
{
    return VirtualAlloc(address, size, MEM_COMMIT, protection ? PAGE_READWRITE : PAGE_NOACCESS)
               ? 0
               : -1;
}

long sysconf(int name)
{
    (void)name;
    return (long)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    (void)alignment;
    return malloc(size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(memory, bytes);
}

/* The file of a module, with slashes; kept for as long as the process. */
static const char *file_of(HMODULE module)
{
    static struct known {
        struct known *next;
        HMODULE module;
        char *name;
    } * _Atomic known;
    wchar_t *wide;
    struct known *k;
    for (k = known; k; k = k->next)
        if (k->module == module)
            return k->name;
    wide = malloc(32768 * sizeof(wchar_t));
    k = calloc(1, sizeof(*k));
    if (wide && k && GetModuleFileNameW(module, wide, 32768) < 32768)
        k->name = wide_to(wide);
    free(wide);
    if (!k || !k->name) {
        free(k);
        return NULL;
    }
    for (char *at = k->name; *at; at++)
        if (*at == '\\')
            *at = '/';
    k->module = module;
    k->next = known;
    known = k; /* two at once lose one name, which only costs its memory */
    return k->name;
}

static HMODULE module_at(const void *address)
{
    HMODULE module = NULL;
    return GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                  GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                              (const wchar_t *)address, &module)
               ? module
               : NULL;
}

int dladdr(const void *address, Dl_info *info)
{
    HMODULE module = module_at(address);
    info->dli_fbase = module;
    info->dli_fname = module ? file_of(module) : NULL;
    return info->dli_fname != NULL;
}

void *dlopen(const char *file, int flags)
{
    wchar_t *wide = wide_from(file);
    HMODULE module = NULL;
    (void)flags;
    for (wchar_t *at = wide; at && *at; at++)
        if (*at == L'/')
            *at = L'\\';
    if (!wide || !GetModuleHandleExW(0, wide, &module))
        module = NULL;
    free(wide);
    return module;
}

void *dlsym(void *handle, const char *symbol)
{
    return (void *)(uintptr_t)GetProcAddress(handle, symbol);
}

int dlclose(void *handle)
{
    return FreeLibrary(handle) ? 0 : -1;
}

void *memmem(const void *in, size_t in_size, const void *what, size_t size)
{
    const char *at = in;
    for (; in_size >= size; at++, in_size--)
        if (!memcmp(at, what, size))
            return (void *)(uintptr_t)at;
    return NULL;
}

char *strndup(const char *text, size_t most)
{
    const size_t length = strnlen(text, most);
    char *copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *strsep(char **rest, const char *ends)
{
    char *item = *rest, *end;
    if (!item)
        return NULL;
    end = item + strcspn(item, ends);
    *rest = *end ? end + 1 : NULL;
    *end = '\0';
    return item;
}

/* Each value that was asked for is kept, since callers hold several and free none. */
char *posix_getenv(const char *name)
{
    static struct value {
        struct value *next;
        char *text;
    } * values;
    static SRWLOCK lock = SRWLOCK_INIT;
    wchar_t *wide = wide_from(name), *found = malloc(32768 * sizeof(wchar_t));
    struct value *v = NULL;
    char *text = NULL;
    if (wide && found) {
        SetLastError(ERROR_SUCCESS);
        *found = L'\0';
        if (GetEnvironmentVariableW(wide, found, 32768) || GetLastError() == ERROR_SUCCESS)
            text = wide_to(found);
    }
    free(found);
    free(wide);
    if (!text)
        return NULL;
    AcquireSRWLockExclusive(&lock);
    for (v = values; v && strcmp(v->text, text) != 0; v = v->next)
        ;
    if (v) {
        free(text);
    } else if ((v = malloc(sizeof(*v)))) {
        *v = (struct value){values, text};
        values = v;
    }
    ReleaseSRWLockExclusive(&lock);
    return v ? v->text : NULL;
}

int setenv(const char *name, const char *value, int replace)
{
    wchar_t *wide = wide_from(name), *text = wide_from(value);
    int failed = -1;
    if (wide && text)
        failed = !replace && posix_getenv(name) ? 0 : SetEnvironmentVariableW(wide, text) ? 0 : -1;
    free(text);
    free(wide);
    return failed;
}

const char *posix_program(void)
{
    const char *file = file_of(NULL), *slash = file ? strrchr(file, '/') : NULL;
    return slash ? slash + 1 : "aothip";
}

ssize_t readlink(const char *path, char *to, size_t room)
{
    const char *file = file_of(NULL);
    const size_t length = file ? strlen(file) : 0;
    (void)path;
    if (!length || length > room)
        return -1;
    memcpy(to, file, length);
    return (ssize_t)length;
}
