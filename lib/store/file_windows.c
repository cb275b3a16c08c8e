/* Files and directories on Windows: by their wide names, of any length, and shared with others. */
#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "wide_windows.h"

enum { PATH_ROOM = 32768 }; /* Windows' own bound, in characters */

static enum aothip_status fail(const char *path, const char *what, DWORD error, struct status *why)
{
    char reason[256];
    wide_error(error, reason, sizeof(reason));
    return status_set(why, error == ERROR_NOT_ENOUGH_MEMORY ? AOTHIP_E_MEMORY : AOTHIP_E_IO,
                      "%s: cannot %s: %s", path, what, reason);
}

char *file_beside_code(const char *name)
{
    wchar_t *wide = malloc(PATH_ROOM * sizeof(wchar_t)), *slash = NULL;
    HMODULE module = NULL;
    char *directory, *found;
    if (!wide)
        return NULL;
    if (GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                               GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                           (const wchar_t *)(uintptr_t)&file_beside_code, &module) &&
        GetModuleFileNameW(module, wide, PATH_ROOM) < PATH_ROOM)
        slash = wcsrchr(wide, L'\\');
    if (!slash) {
        free(wide);
        return strdup(name);
    }
    *slash = L'\0';
    directory = wide_to(wide);
    free(wide);
    found = directory ? file_join(directory, strlen(directory), name) : NULL;
    free(directory);
    return found;
}

char *file_absolute(char *path)
{
    wchar_t *wide, *whole;
    char *found = NULL;
    DWORD room;
    if (!path)
        return NULL;
    wide = wide_from(path);
    room = wide ? GetFullPathNameW(wide, 0, NULL, NULL) : 0;
    if (!room && (wide || GetLastError() != ERROR_NOT_ENOUGH_MEMORY)) {
        free(wide);
        return path;
    }
    whole = room ? malloc(room * sizeof(wchar_t)) : NULL;
    if (whole && GetFullPathNameW(wide, room, whole, NULL) < room)
        found = wide_to(whole);
    free(whole);
    free(wide);
    free(path);
    return found;
}

enum aothip_status file_need_directory(const char *path, const char *subject, struct status *why)
{
    wchar_t *wide = wide_path(path);
    const DWORD attributes = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    const DWORD error = GetLastError();
    char reason[256];
    free(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES)
        wide_error(error, reason, sizeof(reason));
    else if (!(attributes & FILE_ATTRIBUTE_DIRECTORY))
        snprintf(reason, sizeof(reason), "%s", "Not a directory");
    else
        return AOTHIP_OK;
    return status_set(why, error == ERROR_NOT_ENOUGH_MEMORY ? AOTHIP_E_MEMORY : AOTHIP_E_NO_IMAGES,
                      "%s: %s", subject, reason);
}

/* Which Windows refuses to open for reading as it would a file that one may not read. */
static int is_directory(const wchar_t *wide)
{
    const DWORD error = GetLastError();
    const DWORD attributes =
        error == ERROR_ACCESS_DENIED ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    SetLastError(error);
    return attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY;
}

/* The file, open for reading beside whoever reads, writes or renames it. */
static HANDLE open_shared(const wchar_t *wide)
{
    HANDLE file;
    int tries = 0;
    do
        file =
            CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                        NULL, OPEN_EXISTING, FILE_FLAG_SEQUENTIAL_SCAN, NULL);
    while (file == INVALID_HANDLE_VALUE && !is_directory(wide) && wide_again(&tries));
    return file;
}

static enum aothip_status read_bytes(const char *path, HANDLE file, size_t size, uint8_t **bytes,
                                     struct status *why)
{
    uint8_t *room = malloc(size);
    size_t have = 0;
    if (!room)
        return status_set(why, AOTHIP_E_MEMORY, "%s: no memory for its %zu bytes", path, size);
    while (have < size) {
        const DWORD chunk = size - have > 1u << 30 ? 1u << 30 : (DWORD)(size - have);
        char reason[256] = "the file was cut meanwhile";
        DWORD more = 0;
        if (!ReadFile(file, room + have, chunk, &more, NULL)) {
            wide_error(GetLastError(), reason, sizeof(reason));
            more = 0;
        }
        if (!more) {
            free(room);
            return status_set(why, AOTHIP_E_IO, "%s: cannot read beyond byte %zu of %zu: %s", path,
                              have, size, reason);
        }
        have += more;
    }
    *bytes = room;
    return AOTHIP_OK;
}

enum aothip_status file_read(const char *path, uint32_t most, uint8_t **bytes, size_t *size,
                             int *absent, struct status *why)
{
    wchar_t *wide = wide_path(path);
    HANDLE file = wide ? open_shared(wide) : INVALID_HANDLE_VALUE;
    const DWORD error = GetLastError();
    LARGE_INTEGER whole;
    const int directory = file == INVALID_HANDLE_VALUE && is_directory(wide);
    free(wide);
    *absent = file == INVALID_HANDLE_VALUE &&
              (error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND);
    if (*absent)
        return AOTHIP_OK;
    if (directory)
        return status_set(why, AOTHIP_E_IO, "%s: not a regular file", path);
    if (file == INVALID_HANDLE_VALUE)
        return fail(path, "open", error, why);
    if (GetFileType(file) != FILE_TYPE_DISK) {
        status_set(why, AOTHIP_E_IO, "%s: not a regular file", path);
    } else if (!GetFileSizeEx(file, &whole)) {
        fail(path, "stat", GetLastError(), why);
    } else if (!file_check_size(path, (uint64_t)whole.QuadPart, most, why)) {
        *size = (size_t)whole.QuadPart;
        read_bytes(path, file, *size, bytes, why);
    }
    CloseHandle(file);
    return why->code;
}

enum aothip_status file_list(const char *directory,
                             void (*note)(void *context, const char *name, struct status *why),
                             void *context, struct status *why)
{
    char *pattern = file_join(directory, strlen(directory), "*");
    wchar_t *wide = pattern ? wide_path(pattern) : NULL;
    WIN32_FIND_DATAW item;
    HANDLE list = wide ? FindFirstFileW(wide, &item) : INVALID_HANDLE_VALUE;
    DWORD error = pattern ? GetLastError() : ERROR_NOT_ENOUGH_MEMORY;
    free(wide);
    free(pattern);
    if (list == INVALID_HANDLE_VALUE)
        return fail(directory, "list", error, why);
    do {
        char *name = wide_to(item.cFileName);
        if (name)
            note(context, name, why);
        else
            fail(directory, "list", GetLastError(), why);
        free(name);
    } while (!why->code && FindNextFileW(list, &item));
    error = GetLastError();
    FindClose(list);
    if (!why->code && error != ERROR_NO_MORE_FILES)
        fail(directory, "list", error, why);
    return why->code;
}
