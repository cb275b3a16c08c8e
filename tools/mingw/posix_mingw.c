/* The functions of POSIX that mingw-w64 lacks, over those of Windows. */
#define AOTHIP_PROGRAM_MINGW
#include "posix_mingw.h"

#include <windows.h>

#include "wide_windows.h"

#undef fopen
#undef open
#undef stat
#undef rename
#undef unlink
#undef access

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

FILE *posix_fopen(const char *path, const char *mode)
{
    wchar_t *wide = wide_path(path), binary[8];
    FILE *file = NULL;
    swprintf(binary, 8, L"%hs%ls", mode, strchr(mode, 'b') ? L"" : L"b");
    if (wide)
        file = _wfopen(wide, binary);
    else
        errno = EINVAL;
    free(wide);
    return file;
}

int posix_open(const char *path, int flags, int mode)
{
    wchar_t *wide = wide_path(path);
    const int file = wide ? _wopen(wide, flags | _O_BINARY, mode) : -1;
    free(wide);
    return file;
}

int posix_stat(const char *path, struct stat *info)
{
    wchar_t *wide = wide_path(path);
    const DWORD attributes = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    free(wide);
    memset(info, 0, sizeof(*info));
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        errno = ENOENT;
        return -1;
    }
    info->st_mode = attributes & FILE_ATTRIBUTE_DIRECTORY ? S_IFDIR : S_IFREG;
    return 0;
}

struct posix_directory {
    HANDLE list;
    WIN32_FIND_DATAW next;
    int more;
    struct dirent item;
};

DIR *posix_opendir(const char *path)
{
    char *pattern = malloc(strlen(path) + 3);
    DIR *d = calloc(1, sizeof(*d));
    wchar_t *wide = NULL;
    if (pattern && d) {
        sprintf(pattern, "%s/*", path);
        wide = wide_path(pattern);
    }
    if (d)
        d->list = wide ? FindFirstFileW(wide, &d->next) : INVALID_HANDLE_VALUE;
    if (d && d->list == INVALID_HANDLE_VALUE) {
        errno = ENOENT;
        free(d);
        d = NULL;
    }
    if (d)
        d->more = 1;
    free(wide);
    free(pattern);
    return d;
}

struct dirent *posix_readdir(DIR *d)
{
    char *name = d->more ? wide_to(d->next.cFileName) : NULL;
    if (!name)
        return NULL;
    snprintf(d->item.d_name, sizeof(d->item.d_name), "%s", name);
    free(name);
    d->more = FindNextFileW(d->list, &d->next);
    return &d->item;
}

int posix_closedir(DIR *d)
{
    FindClose(d->list);
    free(d);
    return 0;
}

int posix_rename(const char *from, const char *to)
{
    wchar_t *wide_old = wide_path(from), *wide_new = wide_path(to);
    const int done =
        wide_old && wide_new && MoveFileExW(wide_old, wide_new, MOVEFILE_REPLACE_EXISTING);
    free(wide_new);
    free(wide_old);
    if (!done)
        errno = EACCES;
    return done ? 0 : -1;
}

int posix_unlink(const char *path)
{
    wchar_t *wide = wide_path(path);
    const int failed = wide ? _wunlink(wide) : -1;
    free(wide);
    return failed;
}

int posix_access(const char *path, int how)
{
    wchar_t *wide = wide_path(path);
    const int failed = wide ? _waccess(wide, how) : -1;
    free(wide);
    return failed;
}

int posix_mkstemp(char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    char *end = name + strlen(name) - 6;
    for (uint64_t i = GetTickCount64() ^ GetCurrentProcessId(), tries = 0; tries < 1000; tries++) {
        uint64_t number = i = i * UINT64_C(6364136223846793005) + 1442695040888963407u;
        int file;
        for (int k = 0; k < 6; k++, number /= 36)
            end[k] = letters[(number >> 8) % 36];
        file = posix_open(name, _O_RDWR | _O_CREAT | _O_EXCL | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

char *realpath(const char *path, char *whole)
{
    wchar_t *wide = wide_from(path), *full = NULL;
    const DWORD room = wide ? GetFullPathNameW(wide, 0, NULL, NULL) : 0;
    char *text = NULL;
    if (posix_access(path, 0)) {
        errno = ENOENT;
    } else if (room && (full = malloc(room * sizeof(wchar_t))) &&
               GetFullPathNameW(wide, room, full, NULL) < room) {
        text = wide_to(full);
    }
    free(full);
    free(wide);
    if (!text || !whole)
        return text;
    if (strlen(text) < PATH_MAX)
        strcpy(whole, text);
    else
        whole = NULL;
    free(text);
    return whole;
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

int fchmod(int file, mode_t mode)
{
    (void)file;
    (void)mode;
    return 0;
}
