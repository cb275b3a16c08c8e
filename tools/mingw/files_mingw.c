/* POSIX's functions of files that mingw-w64 lacks, or has for names that are not UTF-8. */
#define AOTHIP_PROGRAM_MINGW
#include "posix_mingw.h"

#include <windows.h>

#include "wide_windows.h"

#undef fopen
#undef open
#undef stat
#undef mkdir
#undef rmdir
#undef rename
#undef unlink
#undef access
#undef isatty
#undef strerror

/* For errno: EBUSY is a file that another program has open, which C libraries call EACCES. */
static int fail(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
        errno = ENOENT;
        break;
    case ERROR_SHARING_VIOLATION:
        errno = EBUSY;
        break;
    case ERROR_ALREADY_EXISTS:
    case ERROR_FILE_EXISTS:
        errno = EEXIST;
        break;
    case ERROR_DIR_NOT_EMPTY:
        errno = ENOTEMPTY;
        break;
    case ERROR_DISK_FULL:
        errno = ENOSPC;
        break;
    case ERROR_NOT_ENOUGH_MEMORY:
        errno = ENOMEM;
        break;
    case ERROR_INVALID_NAME:
    case ERROR_NO_UNICODE_TRANSLATION:
        errno = EINVAL;
        break;
    default:
        errno = EACCES;
    }
    return -1;
}

const char *posix_strerror(int error)
{
    return error == EBUSY ? "another program has it open" : strerror(error);
}

FILE *posix_fopen(const char *path, const char *mode)
{
    wchar_t *wide = wide_path(path), binary[8];
    FILE *file = NULL;
    int tries = 0;
    swprintf(binary, 8, L"%hs%ls", mode, strchr(mode, 'b') ? L"" : L"b");
    if (wide)
        while (!(file = _wfopen(wide, binary)) && errno == EACCES && wide_again(&tries))
            ;
    if (!file && (!wide || errno == EACCES))
        fail();
    free(wide);
    return file;
}

int posix_open(const char *path, int flags, int mode)
{
    wchar_t *wide = wide_path(path);
    int file = -1, tries = 0;
    if (wide)
        while ((file = _wopen(wide, flags | _O_BINARY, mode)) < 0 && errno == EACCES &&
               wide_again(&tries))
            ;
    if (file < 0 && (!wide || errno == EACCES))
        fail();
    free(wide);
    return file;
}

int posix_stat(const char *path, struct stat *info)
{
    wchar_t *wide = wide_path(path);
    const DWORD attributes = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    const int failed = attributes == INVALID_FILE_ATTRIBUTES ? fail() : 0;
    free(wide);
    memset(info, 0, sizeof(*info));
    if (failed)
        return failed;
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
        fail();
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
    int failed = 0, tries = 0;
    if (!wide_old || !wide_new)
        failed = fail();
    while (!failed && !MoveFileExW(wide_old, wide_new, MOVEFILE_REPLACE_EXISTING))
        failed = wide_again(&tries) ? 0 : fail();
    free(wide_new);
    free(wide_old);
    return failed;
}

int posix_unlink(const char *path)
{
    wchar_t *wide = wide_path(path);
    const int failed = wide && DeleteFileW(wide) ? 0 : fail();
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

int posix_mkdir(const char *path)
{
    wchar_t *wide = wide_path(path);
    const int failed = wide && CreateDirectoryW(wide, NULL) ? 0 : fail();
    free(wide);
    if (failed && errno == EACCES && !posix_access(path, F_OK)) /* a drive, such as C: */
        errno = EEXIST;
    return failed;
}

int posix_rmdir(const char *path)
{
    wchar_t *wide = wide_path(path);
    const int failed = wide && RemoveDirectoryW(wide) ? 0 : fail();
    free(wide);
    return failed;
}

int alphasort(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Adds a copy of `item` to a list of `count`. */
static int add_item(struct dirent ***list, int count, const struct dirent *item)
{
    struct dirent **longer = realloc(*list, ((size_t)count + 1) * sizeof(*longer));
    if (!longer)
        return -1;
    *list = longer;
    longer[count] = malloc(sizeof(*item));
    if (!longer[count])
        return -1;
    *longer[count] = *item;
    return 0;
}

int scandir(const char *path, struct dirent ***list, int (*wanted)(const struct dirent *),
            int (*order)(const struct dirent **, const struct dirent **))
{
    DIR *directory = posix_opendir(path);
    struct dirent *item;
    int count = 0, failed = directory ? 0 : -1;
    *list = NULL;
    while (!failed && (item = posix_readdir(directory)))
        if (wanted(item) && !(failed = add_item(list, count, item)))
            count++;
    if (directory)
        posix_closedir(directory);
    if (!failed && count)
        qsort(*list, (size_t)count, sizeof(**list), (int (*)(const void *, const void *))order);
    while (failed && count)
        free((*list)[--count]);
    if (failed) {
        free(*list);
        *list = NULL;
    }
    return failed ? -1 : count;
}

int fsync(int file)
{
    return _commit(file);
}

ssize_t getline(char **line, size_t *room, FILE *file)
{
    size_t length = 0;
    int c;
    do {
        c = getc(file);
        if (length + 2 > *room || !*line) {
            char *longer = realloc(*line, 2 * *room + 128);
            if (!longer)
                return -1;
            *line = longer;
            *room = 2 * *room + 128;
        }
        if (c != EOF)
            (*line)[length++] = (char)c;
    } while (c != EOF && c != '\n');
    (*line)[length] = '\0';
    return length ? (ssize_t)length : -1;
}

int posix_isatty(int file)
{
    DWORD mode;
    return GetConsoleMode((HANDLE)_get_osfhandle(file), &mode) &&
           mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING;
}

int fchmod(int file, mode_t mode)
{
    (void)file;
    (void)mode;
    return 0;
}
